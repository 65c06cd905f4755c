/* test_mmio.c: number.c, mmio.c and archive.c: every legal kind of file, every refusal with its
 * text. */
#include "internal.h"
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"

static spmv_ctx *ctx;
static char folder[64];
static char name[256]; /* of the file last written */

static int set_up(void **state) {
    (void)state;
    strcpy(folder, "/tmp/spmv-test-XXXXXX");
    return mkdtemp(folder) == NULL || spmv_ctx_create(NULL, &ctx) != SPMV_OK;
}

static int tear_down(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return rmdir(folder); /* fails when a test left a file behind */
}

/* sprintf, out of the sight of a compiler that suspects NULL in every pointer the sanitizer checks.
 */
static int append(char *to, const char *format, ...)
    __attribute__((format(printf, 2, 3), noinline));

static int append(char *to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsprintf(to, format, args);
    va_end(args);
    return n;
}

static void *allocate(size_t n) {
    void *memory = malloc(n);
    if (!memory)
        abort(); /* noreturn, unlike cmocka's assertions: the compiler need not warn of NULL */
    return memory;
}

static const char *write_bytes(const char *file, const void *bytes, size_t n) {
    snprintf(name, sizeof name, "%s/%s", folder, file);
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return name;
}

static spmv_status read_matrix(const char *path, int threads, spmv_coo *coo) {
    return spmv_read_matrix_market(ctx, path, threads, NULL, NULL, coo);
}

static void assert_zeroed(const spmv_coo *coo) {
    spmv_coo nothing;
    memset(&nothing, 0, sizeof nothing);
    assert_true(coo->row == NULL && coo->col == NULL && coo->values == NULL && coo->nnz == 0 &&
                coo->rows == 0);
}

/* A matrix in words: "2x3 real general 1,1=1.5 2,3=-2". */
static const char *words_of(const spmv_coo *coo) {
    static const char *const fields[] = {[SPMV_REAL_FIELD] = "real",
                                         [SPMV_INTEGER_FIELD] = "integer",
                                         [SPMV_PATTERN_FIELD] = "pattern"};
    static const char *const symmetries[] = {
        [SPMV_GENERAL] = "general", [SPMV_SYMMETRIC] = "symmetric", [SPMV_SKEW_SYMMETRIC] = "skew"};
    static char text[1000];
    int n = snprintf(text, sizeof text, "%" PRId64 "x%" PRId64 " %s %s", coo->rows, coo->cols,
                     fields[coo->field], symmetries[coo->symmetry]);
    for (int64_t k = 0; k < coo->nnz; k++) {
        n +=
            snprintf(text + n, sizeof text - (size_t)n, " %d,%d", coo->row[k] + 1, coo->col[k] + 1);
        if (coo->values) n += snprintf(text + n, sizeof text - (size_t)n, "=%.17g", coo->values[k]);
    }
    return text;
}

static bool same_entries(const spmv_coo *a, const spmv_coo *b) {
    size_t n = (size_t)a->nnz;
    return a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->field == b->field &&
           a->symmetry == b->symmetry && !a->values == !b->values &&
           memcmp(a->row, b->row, n * sizeof *a->row) == 0 &&
           memcmp(a->col, b->col, n * sizeof *a->col) == 0 &&
           (!a->values || memcmp(a->values, b->values, n * sizeof *a->values) == 0);
}

/* ---- a pipe --------------------------------------------------------------------------------- */

typedef struct pipe_job {
    int fd;
    const char *bytes;
    size_t n;
} pipe_job;

static void *fill_pipe(void *argument) {
    pipe_job *job = argument;
    while (job->n > 0) { /* in odd pieces, as a slow program would write */
        ssize_t put = write(job->fd, job->bytes, job->n < 777 ? job->n : 777);
        if (put < 0) break; /* the reader gave up */
        job->bytes += put;
        job->n -= (size_t)put;
    }
    close(job->fd);
    return NULL;
}

static spmv_status read_piped(const char *bytes, size_t n, int threads, spmv_coo *coo) {
    int ends[2];
    pthread_t writer;
    char path[64];
    assert_int_equal(pipe(ends), 0);
    pipe_job job = {ends[1], bytes, n};
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(pthread_create(&writer, NULL, fill_pipe, &job), 0);
    spmv_status status = read_matrix(path, threads, coo);
    close(ends[0]);
    pthread_join(writer, NULL);
    return status;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static spmv_powers powers;
static uint64_t random_state = 88172645463325252;

static uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Scans text as the reader would: with bytes behind it that belong to no number. */
static const char *scan(const char *text, double *value, size_t *length) {
    static char padded[4000];
    size_t n = strlen(text);
    assert_true(n + SPMV_TEXT_PAD < sizeof padded);
    memcpy(padded, text, n);
    memset(padded + n, 0, SPMV_TEXT_PAD);
    const char *end = spmv_scan_double(&powers, padded, value);
    *length = end ? (size_t)(end - padded) : 0;
    return end;
}

static void check_number(const char *text) {
    double value = -1, expected = strtod(text, NULL);
    size_t length;
    scan(text, &value, &length);
    if (length != strlen(text) || memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("'%s' gave %a, strtod %a", text, value, expected);
}

static void test_numbers_random(void **state) {
    (void)state;
    char text[3000];
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = random_bits();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        static const int digits[] = {17, 4, 16, 15, 25};
        for (size_t k = 0; k < LENGTH(digits); k++) {
            snprintf(text, sizeof text, "%.*g", digits[k], value);
            check_number(text);
        }
        snprintf(text, sizeof text, "%.3e", value);
        check_number(text);
        snprintf(text, sizeof text, "%.17g", ldexp((double)(int64_t)bits, -63)); /* -1 .. 1 */
        check_number(text);
        snprintf(text, sizeof text, "%" PRIu64 "e%d", bits >> bits % 61,
                 (int)(random_bits() % 700) - 350);
        check_number(text);
        snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64 "%" PRIu64, bits >> 20, random_bits(),
                 random_bits());
        check_number(text);
        bits = (bits & ((1ull << 52) - 1)) >> bits % 52; /* denormal */
        memcpy(&value, &bits, sizeof value);
        snprintf(text, sizeof text, "%.17g", value);
        check_number(text);
    }
}

/* Exactly between two doubles, and a hair beside it. */
static void test_numbers_halfway(void **state) {
    (void)state;
    char text[3000];
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_bits() & ~(1ull << 63);
        double value;
        if (i % 4 == 0) bits &= (1ull << 52) - 1;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || !isfinite(nextafter(value, INFINITY))) continue;
        long double middle = ((long double)value + (long double)nextafter(value, INFINITY)) / 2;
        snprintf(text, sizeof text, "%.1100Le", middle);
        check_number(text);
        char *last = strchr(text, 'e') - 1;
        *last = '1';
        check_number(text);
        snprintf(text, sizeof text, "%.20Le", middle);
        check_number(text);
        uint64_t odd = (1ull << 53) + 1 + 2 * (random_bits() % (1ull << 52));
        snprintf(text, sizeof text, "%" PRIu64, odd << random_bits() % 10);
        check_number(text);
        snprintf(text, sizeof text, "%.30f", (double)odd / 1024 + 0.5 / 1024);
        check_number(text);
    }
}

static void test_numbers_spellings(void **state) {
    (void)state;
    static const char *const plain[] = {"0",
                                        "-0",
                                        "+0",
                                        "1",
                                        "-1",
                                        "+1",
                                        ".5",
                                        "5.",
                                        "-.5e1",
                                        "1e5",
                                        "1.E+05",
                                        "00000000000000000000000001",
                                        "0.00000000000000000000000000000000000001",
                                        "1e-400",
                                        "-1e-400",
                                        "1e400",
                                        "-1e400",
                                        "1e99999999999999999999",
                                        "1e-99999999999999999999",
                                        "0e99999999999999999999",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "2.2250738585072011e-308",
                                        "2.2250738585072014e-308",
                                        "1.7976931348623157e308",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "179769313486231580793728971405301e276",
                                        "9007199254740993",
                                        "9007199254740992.999999999999999999",
                                        "1.00000000000000011102230246251565404236316680908203125",
                                        "1.00000000000000011102230246251565404236316680908203126",
                                        "7.3177701707893310e+15",
                                        "inf",
                                        "INF",
                                        "-inf",
                                        "+Infinity",
                                        "123456789012345678901234567890",
                                        "18446744073709551615",
                                        "18446744073709551616e-300",
                                        "8.988465674311579538e307",
                                        "1e23",
                                        "8.5e22",
                                        "1e22",
                                        "1e-22",
                                        "3e-23",
                                        "0.1e-6",
                                        "12345678",
                                        "123456789",
                                        "1234567812345678",
                                        "12345678.12345678"};
    static const char *const refused[] = {"",   "+",   "-",   ".",   "-.", "e5", ".e5",
                                          "1e", "1e+", "1d",  "1d-", "x",  " 1", "+-1",
                                          "in", "na",  "--1", "_1",  ","};
    static const struct {
        const char *text;
        size_t length;
    } prefixes[] = {{"0x10", 1},    {"1.2.3", 3}, {"1,5", 1}, {"nan(1)", 3},
                    {"infinit", 3}, {"1f", 1},    {"1 2", 1}};
    static const char *const fortran[] = {"1D+05", "1d5", "1.d5", "+1D05", "100000D0"};
    double value;
    size_t length;
    for (size_t k = 0; k < LENGTH(plain); k++) check_number(plain[k]);
    for (size_t k = 0; k < LENGTH(refused); k++)
        if (scan(refused[k], &value, &length)) fail_msg("'%s' taken for a number", refused[k]);
    for (size_t k = 0; k < LENGTH(prefixes); k++) {
        assert_non_null(scan(prefixes[k].text, &value, &length));
        assert_int_equal(length, prefixes[k].length);
    }
    for (size_t k = 0; k < LENGTH(fortran); k++) {
        assert_non_null(scan(fortran[k], &value, &length));
        assert_int_equal(length, strlen(fortran[k]));
        assert_true(value == 1e5);
    }
    assert_non_null(scan("-NaN", &value, &length));
    assert_true(isnan(value) && length == 4);
}

static void test_numbers_long(void **state) {
    (void)state;
    char text[3800];
    for (int zeros = 0; zeros < 1500; zeros += 37) { /* 0.000...1e<zeros> and 1000...e-<zeros> */
        snprintf(text, sizeof text, "0.%0*d1e%d", zeros + 1, 0, zeros);
        check_number(text);
        snprintf(text, sizeof text, "1%0*de-%d", zeros + 1, 0, zeros);
        check_number(text);
        snprintf(text, sizeof text, "9007199254740993.%0*d1", zeros + 1, 0);
        check_number(text);
    }
}

/* ---- legal files ---------------------------------------------------------------------------- */

static const struct {
    const char *text, *expected;
} legal[] = {
    {REAL "2 3 2\n1 1 1.5\n2 3 -2\n", "2x3 real general 1,1=1.5 2,3=-2"},
    {REAL "2 3 2\n2 3 -2\n1 1 1.5", "2x3 real general 2,3=-2 1,1=1.5"},
    {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n3 1 2\n2 3 3\n",
     "3x3 real symmetric 1,1=1 3,1=2 2,3=3"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 3\n2 1 1\n1 3 2\n2 2 0\n",
     "3x3 real skew 2,1=1 1,3=2 2,2=0"},
    {INTEGER "2 2 4\n1 1 -7\n1 2 +3\n2 1 9007199254740993\n2 2 36893488147419103232\n",
     "2x2 integer general 1,1=-7 1,2=3 2,1=9007199254740992 2,2=3.6893488147419103e+19"},
    {"%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 5\n",
     "1x1 integer symmetric 1,1=5"},
    {"%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n",
     "2x2 integer skew 2,1=5"},
    {PATTERN "2 2 2\n1 1\n2 1\n", "2x2 pattern general 1,1 2,1"},
    {PATTERN
     "12345678 123456789 2\n12345678 123456789\n0000000001 00000001", /* eight digits and more */
     "12345678x123456789 pattern general 12345678,123456789 1,1"},
    {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n",
     "2x2 pattern symmetric 2,1"},
    {"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
     "2x3 real general 1,1=1 2,1=2 1,2=3 2,2=4 1,3=5 2,3=6"},
    {"%%MatrixMarket matrix array integer general\n2 1\n0\n-4\n",
     "2x1 integer general 1,1=0 2,1=-4"},
    {"%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
     "3x3 real symmetric 1,1=1 2,1=2 3,1=3 2,2=4 3,2=5 3,3=6"},
    {"%%MatrixMarket matrix array integer symmetric\n1 1\n9", "1x1 integer symmetric 1,1=9"},
    {"%%MatrixMarket matrix array real skew-symmetric\n4 4\n1\n2\n3\n4\n5\n6\n",
     "4x4 real skew 2,1=1 3,1=2 4,1=3 3,2=4 4,2=5 4,3=6"},
    {"%%MatrixMarket matrix array integer skew-symmetric\n2 2\n8\n", "2x2 integer skew 2,1=8"},
    {"%%MatrixMarket matrix array real skew-symmetric\n1 1\n", "1x1 real skew"},
    {"%%MatrixMarket matrix array real general\n0 5\n", "0x5 real general"},
    {"%%MatrixMarket matrix array real skew-symmetric\n0 0\n", "0x0 real skew"},
    {"%%matrixmarket MATRIX Coordinate REAL General\n1 1 1\n1 1 1\n", "1x1 real general 1,1=1"},
    {REAL "0 0 0\n", "0x0 real general"},
    {REAL "0 7 0", "0x7 real general"},
    {REAL "7 0 0\n\n%\n", "7x0 real general"},
    {REAL "2147483647 2147483647 1\n2147483647 2147483647 1\n",
     "2147483647x2147483647 real general 2147483647,2147483647=1"},
    {"%%MatrixMarket matrix coordinate real general\r\n% c\r\n2 2 2\r\n1 1 1\r\n\r\n2 2 2\r\n",
     "2x2 real general 1,1=1 2,2=2"},
    {"%%MatrixMarket\tmatrix  coordinate real general  \n%a\n\n \t\n  2\t2 2 \n\t1 \t1\t1 \n%b\n\n "
     "  %c\n2 2 2\n%",
     "2x2 real general 1,1=1 2,2=2"},
    {REAL "1 1 3\n1 1 1\n1 1 1\n1 1 0\n",
     "1x1 real general 1,1=1 1,1=1 1,1=0"}, /* duplicates and zeros stay */
    {REAL "+3 03 3\n+1 01 +1\n2 2 .5\n3 3 5.\n", "3x3 real general 1,1=1 2,2=0.5 3,3=5"},
    {REAL "1 9 9\n1 1 1e5\n1 2 1.E+05\n1 3 1D+05\n1 4 1d5\n1 5 -0\n1 6 inf\n1 7 -Infinity\n1 8 "
          "-0.0\n1 9 1e-999\n",
     "1x9 real general 1,1=100000 1,2=100000 1,3=100000 1,4=100000 1,5=-0 1,6=inf 1,7=-inf 1,8=-0 "
     "1,9=0"},
    {REAL
     "1 1 1\n1 1 "
     "0.100000000000000005551115123125782702118158340454101562500000000000000000000000000001\n",
     "1x1 real general 1,1=0.10000000000000001"},
};

static void test_legal(void **state) {
    (void)state;
    for (size_t k = 0; k < LENGTH(legal); k++)
        for (int threads = 1; threads <= 4; threads++)
            for (int piped = 0; piped < 2; piped++) {
                spmv_coo coo;
                size_t n = strlen(legal[k].text);
                spmv_status status =
                    piped ? read_piped(legal[k].text, n, threads, &coo)
                          : read_matrix(write_bytes("a.mtx", legal[k].text, n), threads, &coo);
                if (status != SPMV_OK) fail_msg("%s\n%s", spmv_ctx_error(ctx), legal[k].text);
                assert_string_equal(words_of(&coo), legal[k].expected);
                assert_true(coo.row != NULL && coo.col != NULL);
                spmv_coo_free(&coo);
            }
    unlink(name);
}

/* ---- refused files -------------------------------------------------------------------------- */

#define BANNER_WANTED "'%%MatrixMarket matrix coordinate real general'"
static const struct {
    const char *text, *expected; /* the message behind the path */
} refused[] = {
    {"", ":1: found an empty file, expected " BANNER_WANTED " or the like"},
    {"\n", ":1: found '', expected " BANNER_WANTED " or the like: is this a Matrix Market file?"},
    {"hello world\n",
     ":1: found 'hello', expected " BANNER_WANTED " or the like: is this a Matrix Market file?"},
    {"%MatrixMarket matrix coordinate real general\n1 1 0\n",
     ":1: found '%MatrixMarket', expected " BANNER_WANTED
     " or the like: is this a Matrix Market file?"},
    {"\x7f"
     "ELF\x02\x01\x01 abcdefghijklmnopqrstuvwxyz0123456789\n",
     ":1: found '\\x7FELF\\x02\\x01\\x01', expected " BANNER_WANTED
     " or the like: is this a Matrix Market file?"},
    {"abcdefghijklmnopqrstuvwxyz\n",
     ":1: found 'abcdefghijklmnopqrstuvwx...', expected " BANNER_WANTED
     " or the like: is this a Matrix Market file?"},
    {"%%MatrixMarket matrix coordinate real\n1 1 0\n",
     ":1: found a banner of 4 words, expected 5, as in " BANNER_WANTED},
    {"%%MatrixMarket matrix coordinate real general x\n",
     ":1: found a banner of 6 words, expected 5, as in " BANNER_WANTED},
    {"%%MatrixMarket vector coordinate real general\n", ":1: found 'vector', expected 'matrix'"},
    {"%%MatrixMarket matrix coordinates real general\n",
     ":1: found 'coordinates', expected 'coordinate' or 'array'"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
     ":1: found a complex matrix, expected real, integer or pattern: complex values are not "
     "supported"},
    {"%%MatrixMarket matrix coordinate real hermitian\n",
     ":1: found a hermitian matrix, expected general, symmetric or skew-symmetric: complex values "
     "are not supported"},
    {"%%MatrixMarket matrix coordinate double general\n",
     ":1: found 'double', expected 'real', 'integer' or 'pattern'"},
    {"%%MatrixMarket matrix coordinate real diagonal\n",
     ":1: found 'diagonal', expected 'general', 'symmetric' or 'skew-symmetric'"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n",
     ":1: found a pattern array, expected real or integer: an array has no pattern"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n",
     ":1: found a skew-symmetric pattern, expected real or integer: a pattern has no signs"},
    {REAL, ":1: found the end of the file, expected a line with the matrix's size"},
    {REAL "% only\n\n%comments",
     ":4: found the end of the file, expected a line with the matrix's size"},
    {REAL "1 1\n", ":2: found 2 words, expected 'rows columns entries'"},
    {REAL "%\n1\n", ":3: found 1 word, expected 'rows columns entries'"},
    {REAL "1 1 1 1\n", ":2: found 4 words, expected 'rows columns entries'"},
    {"%%MatrixMarket matrix array real general\n1 1 1\n",
     ":2: found 3 words, expected 'rows columns'"},
    {REAL "x 1 1\n", ":2: found 'x' as the number of rows, expected an integer from 0"},
    {REAL "1 1.0 1\n", ":2: found '1.0' as the number of columns, expected an integer from 0"},
    {REAL "1 1 -1\n", ":2: found '-1' as the number of entries, expected an integer from 0"},
    {REAL "-1 1 1\n", ":2: found '-1' as the number of rows, expected an integer from 0"},
    {REAL "2147483648 1 1\n",
     ":2: found '2147483648' as the number of rows, expected at most 2147483647: rows and "
     "columns are numbered in 32 bits"},
    {REAL "1 99999999999999999999 1\n",
     ":2: found '99999999999999999999' as the number of columns, expected at most "
     "2147483647: rows and columns are numbered in 32 bits"},
    {REAL "1 1 99999999999999999999\n",
     ":2: found '99999999999999999999' as the number of entries, expected an integer from 0"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
     ":2: found a symmetric matrix of 2 rows and 3 columns, expected as many"},
    {"%%MatrixMarket matrix array real skew-symmetric\n3 2\n1\n",
     ":2: found a skew-symmetric matrix of 3 rows and 2 columns, expected as many"},
    {REAL "0 5 1\n1 1 1\n", ":2: found 1 entries, expected 0 in a matrix without rows or columns"},
    {REAL "2 2 1\nx 1 1\n", ":3: found 'x' as the row, expected an integer from 1 to 2"},
    {REAL "2 2 1\n3 1 1\n", ":3: found '3' as the row, expected an integer from 1 to 2"},
    {REAL "2 2 1\n0 1 1\n", ":3: found '0' as the row, expected an integer from 1 to 2"},
    {REAL "2 2 1\n-1 1 1\n", ":3: found '-1' as the row, expected an integer from 1 to 2"},
    {REAL "2 2 1\n1. 1 1\n", ":3: found '1.' as the row, expected an integer from 1 to 2"},
    {REAL "2 9 1\n1 10 1\n", ":3: found '10' as the column, expected an integer from 1 to 9"},
    {REAL "2 9 1\n1 4294967297 1\n",
     ":3: found '4294967297' as the column, expected an integer from 1 to 9"},
    {REAL "2 9 1\n1 18446744073709551617 1\n",
     ":3: found '18446744073709551617' as the column, expected an integer from 1 to 9"},
    {REAL "2 2 1\n1 1 x\n", ":3: found 'x' as the value, expected a number"},
    {REAL "2 2 1\n1 1 0x1p3\n", ":3: found '0x1p3' as the value, expected a number"},
    {REAL "2 2 1\n1 1 1e\n", ":3: found '1e' as the value, expected a number"},
    {REAL "2 2 1\n1 1 1.2.3\n", ":3: found '1.2.3' as the value, expected a number"},
    {REAL "2 2 1\n1 1 1,5\n", ":3: found '1,5' as the value, expected a number"},
    {REAL "2 2 1\n1 1 nano\n", ":3: found 'nano' as the value, expected a number"},
    {REAL "2 2 1\n1 1 1%\n", ":3: found '1%' as the value, expected a number"},
    {REAL "2 2 2\n1 1 1\n1\t2\n% long enough\n", ":4: found 2 words, expected 'row column value'"},
    {REAL "2 2 2\n1 1 1\n1\n2 3\n% long enough\n", ":4: found 1 word, expected 'row column value'"},
    {REAL "2 2 1\n1 1 1 1\n", ":3: found 4 words, expected 'row column value'"},
    {REAL "2 2 1\n1 1 1 % no\n", ":3: found 5 words, expected 'row column value'"},
    {PATTERN "2 2 1\n1 1 1\n", ":3: found 3 words, expected 'row column'"},
    {PATTERN "2 2 1\n1 2x\n", ":3: found '2x' as the column, expected an integer from 1 to 2"},
    {INTEGER "2 2 1\n1 1 1.5\n", ":3: found '1.5' as the value, expected an integer"},
    {INTEGER "2 2 1\n1 1 1e3\n", ":3: found '1e3' as the value, expected an integer"},
    {INTEGER "2 2 1\n1 1 nan\n", ":3: found 'nan' as the value, expected an integer"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\n2 3\n",
     ":4: found 2 words, expected 'value'"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\n.\n",
     ":4: found '.' as the value, expected a number"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1\n3 3 1e-300\n",
     ":4: found '1e-300' on the diagonal, expected 0 in a skew-symmetric matrix"},
    {REAL "2 2 1\n1 1 1\n% c\n2 2 1\n",
     ":5: found an entry more than the 1 of line 2, expected the end of the file"},
    {REAL "2 2 1\n1 1 1\nrubbish\n", ":4: found 1 word, expected 'row column value'"},
    {REAL "2 2 0\n1 1 1\n",
     ":3: found an entry more than the 0 of line 2, expected the end of the file"},
    {REAL "2 2 3\n1 1 1\n%%%%%%%%%%%%%\n1 2 1\n",
     ":5: found the end of the file after 2 entries, expected 3 as line 2 says"},
    {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3.0000\n\n",
     ":6: found the end of the file after 3 entries, expected 4 as line 2 says"},
};

static void check_refused(const char *text, size_t n, const char *expected) {
    char wanted[600];
    for (int threads = 1; threads <= 4; threads++)
        for (int piped = 0; piped < 2; piped++) {
            spmv_coo coo = {.rows = 77};
            spmv_status status = piped
                                     ? read_piped(text, n, threads, &coo)
                                     : read_matrix(write_bytes("bad.mtx", text, n), threads, &coo);
            assert_int_equal(status, SPMV_E_FORMAT);
            assert_zeroed(&coo);
            const char *message = spmv_ctx_error(ctx);
            if (piped) { /* the path is /proc/self/fd/N */
                const char *colon = strchr(message, ':');
                assert_non_null(colon);
                assert_string_equal(colon, expected);
            } else {
                snprintf(wanted, sizeof wanted, "%s%s", name, expected);
                assert_string_equal(message, wanted);
                unlink(name);
            }
        }
}

static void test_refused(void **state) {
    (void)state;
    for (size_t k = 0; k < LENGTH(refused); k++)
        check_refused(refused[k].text, strlen(refused[k].text), refused[k].expected);
    static const char zero[] = REAL "2 2 1\n1 1 1\0\n";
    check_refused(zero, sizeof zero - 1, ":3: found '1\\x00' as the value, expected a number");
    static const char alone[] = REAL "2 2 1\n\0 1 1 \n";
    check_refused(alone, sizeof alone - 1,
                  ":3: found '\\x00' as the row, expected an integer from 1 to 2");
}

/* What a file's size alone refutes is refused before memory is asked for; a stream just ends too
 * early. */
static void test_impossible_size(void **state) {
    (void)state;
    static const char huge[] = REAL "2147483647 2147483647 4611686018427387904\n1 1 1\n";
    spmv_coo coo;
    char wanted[600];
    assert_int_equal(read_matrix(write_bytes("huge.mtx", huge, strlen(huge)), 2, &coo),
                     SPMV_E_FORMAT);
    snprintf(wanted, sizeof wanted,
             "%s:2: found a size of 4611686018427387904 entries, expected at most 1 in the 6 bytes "
             "that follow: is the file cut short?",
             name);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_zeroed(&coo);
    unlink(name);
    assert_int_equal(read_piped(huge, strlen(huge), 2, &coo), SPMV_E_FORMAT);
    assert_non_null(
        strstr(spmv_ctx_error(ctx),
               ":3: found the end of the file after 1 entries, expected 4611686018427387904"));

    static const char array[] =
        "%%MatrixMarket matrix array real symmetric\n2147483647 2147483647\n1\n";
    assert_int_equal(read_matrix(write_bytes("huge.mtx", array, strlen(array)), 2, &coo),
                     SPMV_E_FORMAT);
    assert_non_null(
        strstr(spmv_ctx_error(ctx),
               ":2: found a size of 2305843008139952128 entries, expected at most 1 in"));
    unlink(name);
}

static void test_no_file(void **state) {
    (void)state;
    spmv_coo coo;
    char wanted[600], path[200];
    snprintf(path, sizeof path, "%s/absent.mtx", folder);
    assert_int_equal(read_matrix(path, 1, &coo), SPMV_E_IO);
    snprintf(wanted, sizeof wanted, "%s: No such file or directory", path);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_int_equal(read_matrix(folder, 1, &coo), SPMV_E_FORMAT);
    snprintf(wanted, sizeof wanted, "%s: found a directory, expected a Matrix Market file", folder);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_zeroed(&coo);
}

/* ---- many blocks ---------------------------------------------------------------------------- */

enum { MANY = 400000 };
typedef struct text {
    char *bytes;
    size_t n;
} text;

/* A real file of about 9 MiB; line number line[k] (from 1) is replaced by bad[k]. */
static text many_lines(int64_t entries, const int64_t line[2], const char *const bad[2]) {
    text t = {allocate(MANY * 48 + 1000), 0};
    random_state = 42;
    t.n = (size_t)append(t.bytes, "%s%% comment\n1000000 1000000 %" PRId64 "\n", REAL, entries);
    for (int64_t k = 4; k < MANY + 4; k++) { /* one line each, some of them comments or blank */
        uint64_t bits = random_bits();
        const char *other = k == line[0] ? bad[0] : k == line[1] ? bad[1] : NULL;
        if (other)
            t.n += (size_t)append(t.bytes + t.n, "%s\n", other);
        else if (k % 1000 == 0)
            t.n += (size_t)append(t.bytes + t.n, k % 2000 ? "\n" : "%% here\n");
        else
            t.n +=
                (size_t)append(t.bytes + t.n, "%d %d %.12g\n", (int)(bits % 1000000) + 1,
                               (int)(bits >> 44) % 1000000 + 1, ldexp((double)(int64_t)bits, -63));
    }
    assert_true(t.n > 8 << 20);
    return t;
}

static void test_many_blocks(void **state) {
    (void)state;
    const int64_t none[2] = {0, 0};
    const char *const nothing[2] = {NULL, NULL};
    text t = many_lines(MANY - MANY / 1000, none, nothing);
    spmv_coo first = {0}, coo;
    write_bytes("many.mtx", t.bytes, t.n);
    for (int threads = 1; threads <= 4; threads++)
        for (int piped = 0; piped < 2; piped++) {
            spmv_status status =
                piped ? read_piped(t.bytes, t.n, threads, &coo) : read_matrix(name, threads, &coo);
            if (status != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
            if (threads == 1 && !piped) {
                /* against a reader that cannot be wrong in the same way */
                char *p = t.bytes;
                for (int k = 0; k < 3; k++) p = strchr(p, '\n') + 1;
                for (int64_t k = 0; k < coo.nnz; p = strchr(p, '\n') + 1) {
                    if (*p == '%' || *p == '\n') continue;
                    assert_true(strtol(p, &p, 10) == coo.row[k] + 1 &&
                                strtol(p, &p, 10) == coo.col[k] + 1);
                    assert_true(strtod(p, &p) == coo.values[k]);
                    k++;
                }
                first = coo;
                continue;
            }
            assert_true(same_entries(&first, &coo));
            spmv_coo_free(&coo);
        }
    /* without the last line's end, the number stands before what the buffer held earlier */
    for (size_t k = 0; k < 8; k++) {
        char *end = t.bytes + t.n - 1 - k;
        assert_int_equal(
            read_matrix(write_bytes("many.mtx", t.bytes, (size_t)(end - t.bytes)), 1, &coo),
            SPMV_OK);
        *end = 0;
        assert_true(coo.nnz == first.nnz &&
                    coo.values[coo.nnz - 1] == strtod(strrchr(t.bytes, ' '), NULL));
        spmv_coo_free(&coo);
    }
    spmv_coo_free(&first);
    unlink(name);
    free(t.bytes);
}

static void check_late(int64_t entries, int64_t line0, const char *bad0, int64_t line1,
                       const char *bad1, const char *expected) {
    const int64_t line[2] = {line0, line1};
    const char *const bad[2] = {bad0, bad1};
    text t = many_lines(entries, line, bad);
    check_refused(t.bytes, t.n, expected);
    free(t.bytes);
}

static void test_late_errors(void **state) {
    (void)state;
    int64_t all = MANY - MANY / 1000;
    check_late(all, 399990, "1 2 x", 0, NULL, ":399990: found 'x' as the value, expected a number");
    check_late(all, 399001, "0 1 1", 399002, "1 0 1",
               ":399001: found '0' as the row, expected an integer from 1 to 1000000");
    check_late(all, 1234, "1 1", 399002, "1 0 1",
               ":1234: found 2 words, expected 'row column value'");
    check_late(all, 7, "1 1", 8, "1 0 1", ":7: found 2 words, expected 'row column value'");
    check_late(all, 200001, "1 1 1 1", 390001, "",
               ":200001: found 4 words, expected 'row column value'");
    check_late(
        all, 399990, "% one less", 0, NULL,
        ":400003: found the end of the file after 399599 entries, expected 399600 as line 3 says");
    check_late(
        all - 1, 0, NULL, 0, NULL,
        ":400003: found an entry more than the 399599 of line 3, expected the end of the file");
    /* too many entries, and before that a bad line; a bad line behind the one too many */
    check_late(200000, 150001, "1 1 z", 0, NULL,
               ":150001: found 'z' as the value, expected a number");
    check_late(
        199800, 200300, "1 1 z", 0, NULL,
        ":200004: found an entry more than the 199800 of line 3, expected the end of the file");
    check_late(
        199799, 200004, "1 1 z", 0, NULL,
        ":200003: found an entry more than the 199799 of line 3, expected the end of the file");
}

/* A stream whose announced size is not believed at once: its arrays grow and move while threads
 * copy. */
static void test_growing_stream(void **state) {
    (void)state;
    enum { N = 2500000 };
    char *bytes = allocate(N * 10 + 100);
    size_t n = (size_t)append(bytes, "%s999 999 %d\n", PATTERN, N);
    for (int k = 0; k < N; k++) {
        int row = k % 999 + 1, col = k / 999 % 999 + 1;
        n += (size_t)append(bytes + n, "%d %d\n", row, col);
    }
    for (int threads = 1; threads <= 4; threads++) {
        spmv_coo coo;
        if (read_piped(bytes, n, threads, &coo) != SPMV_OK) fail_msg("%s", ctx->error);
        assert_int_equal(coo.nnz, N);
        for (int k = 0; k < N; k++)
            assert_true(coo.row[k] == k % 999 && coo.col[k] == k / 999 % 999);
        spmv_coo_free(&coo);
    }
    free(bytes);
}

/* Comments may be as long as a block and longer, up to a limit. */
static void test_long_lines(void **state) {
    (void)state;
    static const size_t lengths[] = {1000, 262143, 262144, 262145, 600000, 1000000};
    char *bytes = allocate(8 << 20);
    for (size_t k = 0; k < LENGTH(lengths); k++)
        for (int place = 0; place < 3; place++)
            for (int threads = 1; threads <= 3; threads += 2)
                for (int piped = 0; piped < 2; piped++) {
                    spmv_coo coo;
                    char *p = bytes;
                    for (int part = 0; part < 3; part++) {
                        static const char *const parts[] = {REAL, "2 2 2\n1 1 1\n", "2 2 2\n"};
                        p += append(p, "%s", parts[part]);
                        if (part != place) continue;
                        memset(p, '%', lengths[k]);
                        p += lengths[k];
                        *p++ = '\n';
                    }
                    size_t n = (size_t)(p - bytes);
                    spmv_status status =
                        piped ? read_piped(bytes, n, threads, &coo)
                              : read_matrix(write_bytes("long.mtx", bytes, n), threads, &coo);
                    if (status != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
                    assert_string_equal(words_of(&coo), "2x2 real general 1,1=1 2,2=2");
                    spmv_coo_free(&coo);
                }
    unlink(name);
    size_t n = (size_t)append(bytes, "%s2 2 2\n1 1 1\n", REAL);
    memset(bytes + n, '%', 7 << 20);
    check_refused(bytes, n + (7 << 20),
                  ":4: found a line longer than 1048576 bytes, expected an entry");
    n = (size_t)append(bytes, "%s", REAL);
    memset(bytes + n, '%', 7 << 20);
    check_refused(bytes, n + (7 << 20),
                  ":2: found a line longer than 1048576 bytes, expected the size line");
    free(bytes);
}

/* Blocks cut at every possible place of the text around the cut. */
static void test_cuts(void **state) {
    (void)state;
    enum { LINES = 100001 }; /* three blocks; the last line ends in a digit */
    char *bytes = allocate(LINES * 8 + 1000);
    for (int shift = 0; shift < 24; shift++) {
        spmv_coo coo;
        int n = append(bytes, "%s%%%.*s\n99 99 %d\n", PATTERN, shift, "abcdefghijklmnopqrstuvwxyz",
                       LINES);
        for (int k = 0; k < LINES; k++)
            n += append(bytes + n, k % 3 ? "%d %d\n" : "%d %d\r\n", k % 99 + 1, k / 99 % 99 + 1);
        write_bytes("cut.mtx", bytes, (size_t)n - (shift % 2 ? 1 : 0));
        assert_int_equal(read_matrix(name, 1 + shift % 3, &coo), SPMV_OK);
        for (int k = 0; k < LINES; k++)
            assert_true(coo.row[k] == k % 99 && coo.col[k] == k / 99 % 99);
        spmv_coo_free(&coo);
    }
    unlink(name);
    free(bytes);
}

/* Positions of array entries when blocks start in the middle of columns. */
static void test_large_arrays(void **state) {
    (void)state;
    static const struct {
        const char *symmetry;
        int first; /* row of column j: first * j + second */
        int second;
    } kinds[] = {{"general", 0, 0}, {"symmetric", 1, 0}, {"skew-symmetric", 1, 1}};
    enum { N = 700 };
    char *bytes = allocate(N * N * 8 + 1000);
    for (size_t s = 0; s < LENGTH(kinds); s++) {
        spmv_coo coo;
        int n = append(bytes, "%%%%MatrixMarket matrix array integer %s\n%d %d\n",
                       kinds[s].symmetry, N, N);
        for (int j = 0; j < N; j++)
            for (int i = kinds[s].first * j + kinds[s].second; i < N; i++)
                n += append(bytes + n, "%d\n", i * N + j);
        write_bytes("array.mtx", bytes, (size_t)n);
        for (int threads = 1; threads <= 4; threads++) {
            assert_int_equal(read_matrix(name, threads, &coo), SPMV_OK);
            int64_t k = 0;
            for (int j = 0; j < N; j++)
                for (int i = kinds[s].first * j + kinds[s].second; i < N; i++, k++)
                    assert_true(coo.row[k] == i && coo.col[k] == j && coo.values[k] == i * N + j);
            assert_true(k == coo.nnz);
            spmv_coo_free(&coo);
        }
    }
    unlink(name);
    free(bytes);
}

typedef struct calls {
    pthread_t thread;
    int count;
    double last;
    bool wrong;
} calls;

static void note_progress(void *argument, double done) {
    calls *c = argument;
    c->wrong |= done < c->last || done > 1 || !pthread_equal(c->thread, pthread_self());
    c->last = done;
    c->count++;
}

static void test_progress(void **state) {
    (void)state;
    const int64_t none[2] = {0, 0};
    const char *const nothing[2] = {NULL, NULL};
    text t = many_lines(MANY - MANY / 1000, none, nothing);
    calls c = {.thread = pthread_self()};
    spmv_coo coo;
    assert_int_equal(spmv_read_matrix_market(ctx, write_bytes("p.mtx", t.bytes, t.n), 2,
                                             note_progress, &c, &coo),
                     SPMV_OK);
    assert_true(!c.wrong && c.count >= 2 && c.count <= 101 && c.last == 1);
    spmv_coo_free(&coo);
    unlink(name);
    free(t.bytes);
}

/* ---- compressed files ----------------------------------------------------------------------- */

#ifdef HAVE_LIBARCHIVE
typedef struct member {
    const char *path, *bytes;
    size_t n;
    bool folder;
} member;

/* filter: as libarchive names it, NULL: none. members == 1 without a path: the plain compressed
 * text. */
static const char *compress_to(const char *file, const char *filter, const member *members,
                               int nmembers) {
    snprintf(name, sizeof name, "%s/%s", folder, file);
    struct archive *a = archive_write_new();
    if (filter) assert_int_equal(archive_write_add_filter_by_name(a, filter), ARCHIVE_OK);
    if (filter) archive_write_set_filter_option(a, NULL, "compression-level", "1");
    assert_int_equal(members[0].path ? archive_write_set_format_ustar(a)
                                     : archive_write_set_format_raw(a),
                     ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, name), ARCHIVE_OK);
    for (int k = 0; k < nmembers; k++) {
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, members[k].path ? members[k].path : "data");
        archive_entry_set_filetype(entry, members[k].folder ? AE_IFDIR : AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_size(entry, (la_int64_t)members[k].n);
        assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
        if (members[k].n)
            assert_int_equal(archive_write_data(a, members[k].bytes, members[k].n), members[k].n);
        archive_entry_free(entry);
    }
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return name;
}

static char *slurp(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    char *bytes = allocate(32 << 20);
    assert_non_null(f);
    *n = fread(bytes, 1, 32 << 20, f);
    fclose(f);
    return bytes;
}

static const char *const filters[] = {"gzip", "xz", "zstd", "bzip2"};

static void test_compressed(void **state) {
    (void)state;
    const int64_t none[2] = {0, 0}, bad_line[2] = {399990, 399995};
    const char *const nothing[2] = {NULL, NULL}, *const bad[2] = {"1 2 x", "1 0 1"};
    text t = many_lines(MANY - MANY / 1000, none, nothing);
    text wrong = many_lines(MANY - MANY / 1000, bad_line, bad);
    spmv_coo plain, coo;
    assert_int_equal(read_matrix(write_bytes("many.mtx", t.bytes, t.n), 1, &plain), SPMV_OK);
    unlink(name);
    for (size_t f = 0; f < LENGTH(filters); f++) {
        compress_to("matrix.anything", filters[f], &(member){.bytes = t.bytes, .n = t.n}, 1);
        for (int threads = 1; threads <= 4; threads++) {
            if (read_matrix(name, threads, &coo) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
            assert_true(same_entries(&plain, &coo));
            spmv_coo_free(&coo);
        }
        /* the same through a pipe, then cut off, then with one byte changed */
        size_t n;
        char *bytes = slurp(name, &n);
        if (read_piped(bytes, n, 2, &coo) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
        assert_true(same_entries(&plain, &coo));
        spmv_coo_free(&coo);
        for (int part = 1; part < 8; part++) {
            write_bytes("cut", bytes, n * (size_t)part / 8);
            assert_int_equal(read_matrix(name, 2, &coo), SPMV_E_FORMAT);
            assert_non_null(strstr(spmv_ctx_error(ctx), name));
            assert_zeroed(&coo);
        }
        unlink(name);
        bytes[n / 2] ^= 0x55;
        bytes[n / 2 + 1] ^= 0x55;
        write_bytes("changed", bytes, n);
        assert_int_equal(read_matrix(name, 2, &coo), SPMV_E_FORMAT);
        assert_non_null(strstr(spmv_ctx_error(ctx), name));
        unlink(name);
        free(bytes);

        compress_to("matrix.anything", filters[f], &(member){.bytes = wrong.bytes, .n = wrong.n},
                    1);
        assert_int_equal(read_matrix(name, 3, &coo), SPMV_E_FORMAT);
        assert_non_null(
            strstr(spmv_ctx_error(ctx), ":399990: found 'x' as the value, expected a number"));
        unlink(name);
    }
    /* one digit changed where it stands as it is: only the checksum tells */
    static const unsigned char stored[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03\x01\x3a\0\xc5\xff" REAL
                                          "1 1 1\n1 1 7\n\xfa\xda\xc4\xdd\x3a\0\0";
    unsigned char changed[sizeof stored];
    memcpy(changed, stored, sizeof stored);
    if (read_matrix(write_bytes("stored.gz", changed, sizeof changed), 1, &coo) != SPMV_OK)
        fail_msg("%s", ctx->error);
    assert_string_equal(words_of(&coo), "1x1 real general 1,1=7");
    spmv_coo_free(&coo);
    changed[sizeof changed - 10] = '9';
    assert_int_equal(read_matrix(write_bytes("stored.gz", changed, sizeof changed), 1, &coo),
                     SPMV_E_FORMAT);
    assert_string_equal(ctx->error + strlen(name),
                        ": found damaged or cut compressed data (wrong checksum)");
    unlink(name);
    /* two parts, each with a checksum of its own */
    const member half = {.bytes = REAL "2 2 2\n1 1 1\n", .n = strlen(REAL) + 12},
                 rest = {.bytes = "2 2 2\n", .n = 6};
    size_t nhalf, nrest;
    char *parts = slurp(compress_to("half.gz", "gzip", &half, 1), &nhalf);
    unlink(name);
    char *second = slurp(compress_to("rest.gz", "gzip", &rest, 1), &nrest);
    unlink(name);
    memcpy(parts + nhalf, second, nrest);
    if (read_matrix(write_bytes("parts.gz", parts, nhalf + nrest), 1, &coo) != SPMV_OK)
        fail_msg("%s", ctx->error);
    assert_string_equal(words_of(&coo), "2x2 real general 1,1=1 2,2=2");
    spmv_coo_free(&coo);
    unlink(name);
    free(parts);
    free(second);

    compress_to("empty.mtx.gz", "gzip", &(member){.bytes = "", .n = 0}, 1);
    assert_int_equal(read_matrix(name, 1, &coo), SPMV_E_FORMAT);
    assert_non_null(strstr(spmv_ctx_error(ctx), "empty.mtx.gz:1: found an empty file, expected "));
    unlink(name);
    spmv_coo_free(&plain);
    free(t.bytes);
    free(wrong.bytes);
}

static void test_tar(void **state) {
    (void)state;
#define MEMBER(path, text) \
    { path, text, sizeof text - 1, false }
    const member decoy =
        MEMBER("thermal2/thermal2_b.mtx", "%%MatrixMarket matrix array real general\n1 1\n5\n");
    const member own = MEMBER("thermal2/thermal2.mtx", REAL "2 2 1\n2 1 7\n");
    const member readme = MEMBER("thermal2/README.txt", "read me");
    const member dir = {"thermal2/", NULL, 0, true};
    const member dir_mtx = {"odd.mtx/", NULL, 0, true};
    const struct {
        const char *file;
        member members[4];
        int n;
        const char *expected; /* words of the matrix, or message behind the path */
    } cases[] = {
        {"thermal2.tar.gz", {dir, decoy, own, readme}, 4, "2x2 real general 2,1=7"},
        {"thermal2.tgz", {own, decoy}, 2, "2x2 real general 2,1=7"},
        {"thermal2.tar", {decoy, own}, 2, "2x2 real general 2,1=7"},
        {"other.tar.gz", {readme, dir_mtx, own}, 3, "2x2 real general 2,1=7"},
        {"other.tar.gz",
         {decoy, own},
         2,
         ": found 'thermal2_b.mtx', 'thermal2.mtx' in the archive, expected 'other.mtx' or a "
         "single .mtx file"},
        {"thermal2.tar.gz",
         {readme, dir},
         2,
         ": found no .mtx file in the archive, expected 'thermal2.mtx' or a single .mtx file"},
    };
    static const char *const tar_filters[] = {"gzip", "xz", "zstd", "bzip2", NULL};
    for (size_t k = 0; k < LENGTH(cases); k++)
        for (size_t f = 0; f < LENGTH(tar_filters); f++) {
            spmv_coo coo;
            compress_to(cases[k].file, tar_filters[f], cases[k].members, cases[k].n);
            spmv_status status = read_matrix(name, 2, &coo);
            if (cases[k].expected[0] == ':') {
                assert_int_equal(status, SPMV_E_FORMAT);
                assert_string_equal(spmv_ctx_error(ctx) + strlen(name), cases[k].expected);
            } else {
                if (status != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
                assert_string_equal(words_of(&coo), cases[k].expected);
                spmv_coo_free(&coo);
            }
            unlink(name);
        }
}
#else
static void test_compressed(void **state) {
    (void)state;
    spmv_coo coo;
    write_bytes("a.mtx.gz", "\x1f\x8b\x08", 3);
    assert_int_equal(read_matrix(name, 1, &coo), SPMV_E_FEATURE);
    assert_string_equal(
        spmv_ctx_error(ctx) + strlen(name),
        ": compressed input is not built in: install libarchive-dev (Debian) or libarchive-devel "
        "(Fedora), then make again");
    unlink(name);
    print_message("compressed files: not tested, this build has no libarchive\n");
    skip();
}

static void test_tar(void **state) {
    (void)state;
    print_message("tar archives: not tested, this build has no libarchive\n");
    skip();
}
#endif

/* ---- writing -------------------------------------------------------------------------------- */

/* A matrix of n rows; row i has i % 7 entries. */
static void make_rows(int64_t n, int kind, spmv_csr_view *A) {
    int64_t *row_ptr = allocate((size_t)(n + 1) * sizeof *row_ptr);
    int32_t *col_idx = allocate((size_t)(6 * n + 1) * sizeof *col_idx);
    double *values = allocate((size_t)(6 * n + 1) * sizeof *values);
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        row_ptr[i] = k;
        for (int j = 0; j < i % 7; j++, k++) {
            uint64_t bits = random_bits();
            col_idx[k] = (int32_t)(5 * j + i % 5);
            memcpy(&values[k], &bits, sizeof bits);
            if (k % 3 == 0 || !isfinite(values[k])) values[k] = (double)(bits % 1000) / 8;
            if (kind == SPMV_INTEGER_FIELD) values[k] = (double)((int64_t)bits >> bits % 50 >> 14);
            if (kind == SPMV_PATTERN_FIELD) values[k] = 1;
        }
    }
    row_ptr[n] = k;
    *A = (spmv_csr_view){
        .rows = n, .cols = 40, .nnz = k, .row_ptr = row_ptr, .col_idx = col_idx, .values = values};
}

static void free_rows(const spmv_csr_view *A) {
    free((void *)A->row_ptr);
    free((void *)A->col_idx);
    free((void *)A->values);
}

static void test_round_trip(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 5, 3000, 30001};
    for (int kind = SPMV_REAL_FIELD; kind <= SPMV_PATTERN_FIELD; kind++)
        for (size_t s = 0; s < LENGTH(sizes); s++)
            for (int threads = 1; threads <= 4; threads++) {
                spmv_csr_view A;
                spmv_coo coo;
                make_rows(sizes[s], kind, &A);
                snprintf(name, sizeof name, "%s/out.mtx", folder);
                ctx->threads = threads;
                if (spmv_write_matrix_market(ctx, name, &A, (spmv_field)kind) != SPMV_OK)
                    fail_msg("%s", ctx->error);
                if (read_matrix(name, threads, &coo) != SPMV_OK) fail_msg("%s", ctx->error);
                assert_true(coo.rows == A.rows && coo.cols == A.cols && coo.nnz == A.nnz);
                assert_int_equal(coo.field, kind);
                for (int64_t i = 0, k = 0; i < A.rows; i++)
                    for (; k < A.row_ptr[i + 1]; k++) {
                        assert_true(coo.row[k] == i && coo.col[k] == A.col_idx[k]);
                        if (coo.values)
                            assert_memory_equal(&coo.values[k], &A.values[k], sizeof(double));
                    }
                spmv_coo_free(&coo);
                free_rows(&A);
                unlink(name);
            }
}

static void check_file(const char *path, const char *expected) {
    char bytes[1000] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    bytes[fread(bytes, 1, sizeof bytes - 1, f)] = 0;
    fclose(f);
    assert_string_equal(bytes, expected);
}

/* check_number would ask strtod, which now wants a comma. */
static void check_number_in_c(const char *number, double expected) {
    double value = -1;
    size_t length;
    scan(number, &value, &length);
    assert_true(length == strlen(number) && value == expected);
}

static void test_written_text(void **state) {
    (void)state;
    const int64_t row_ptr[] = {0, 2, 2, 4};
    const int32_t col_idx[] = {0, 2, 0, 1};
    double values[] = {0.1, -0.0, 1.0 / 3, INFINITY};
    spmv_csr_view A = {3, 3, 4, row_ptr, col_idx, values};
    snprintf(name, sizeof name, "%s/out.mtx", folder);
    /* another locale must not change the point */
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        print_message("de_DE.UTF-8 is not installed: locale not tested\n");
    assert_int_equal(spmv_write_matrix_market(ctx, name, &A, SPMV_REAL_FIELD), SPMV_OK);
    spmv_coo coo;
    assert_int_equal(read_matrix(name, 1, &coo), SPMV_OK);
    assert_true(coo.nnz == 4 && coo.values[0] == 0.1 && coo.values[2] == 1.0 / 3);
    spmv_coo_free(&coo);
    check_number_in_c("0.1000000000000000055511151231257827021181583404541015625000000001", 0.1);
    setlocale(LC_ALL, "C");
    check_file(name, REAL "3 3 4\n1 1 0.1\n1 3 -0\n3 1 0.3333333333333333\n3 2 inf\n");
    for (int k = 0; k < 4; k++) values[k] = 1;
    assert_int_equal(spmv_write_matrix_market(ctx, name, &A, SPMV_PATTERN_FIELD), SPMV_OK);
    check_file(name, PATTERN "3 3 4\n1 1\n1 3\n3 1\n3 2\n");
    values[1] = 2; /* two merged entries: no pattern any more */
    assert_int_equal(spmv_write_matrix_market(ctx, name, &A, SPMV_PATTERN_FIELD), SPMV_OK);
    check_file(name, INTEGER "3 3 4\n1 1 1\n1 3 2\n3 1 1\n3 2 1\n");
    unlink(name);
}

static void test_write_errors(void **state) {
    (void)state;
    spmv_csr_view A;
    char wanted[400];
    make_rows(30001, SPMV_REAL_FIELD, &A);
    assert_int_equal(spmv_write_matrix_market(ctx, "/dev/full", &A, SPMV_REAL_FIELD), SPMV_E_WRITE);
    assert_string_equal(spmv_ctx_error(ctx), "/dev/full: No space left on device");
    assert_int_equal(access("/dev/full", F_OK), 0);
    snprintf(name, sizeof name, "%s/no/out.mtx", folder);
    assert_int_equal(spmv_write_matrix_market(ctx, name, &A, SPMV_REAL_FIELD), SPMV_E_WRITE);
    snprintf(wanted, sizeof wanted, "%s: No such file or directory", name);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_int_equal(spmv_write_vector(ctx, folder, 1, A.values), SPMV_E_WRITE);
    /* a file that may not grow further, as on a full disk, is removed */
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){300000, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    snprintf(name, sizeof name, "%s/out.mtx", folder);
    spmv_status status = spmv_write_matrix_market(ctx, name, &A, SPMV_REAL_FIELD);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, SPMV_E_WRITE);
    snprintf(wanted, sizeof wanted, "%s: File too large", name);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_int_equal(access(name, F_OK), -1);
    free_rows(&A);
}

/* ---- vectors -------------------------------------------------------------------------------- */

static void test_vectors(void **state) {
    (void)state;
    static const char *const files[] = {"x.mtx", "x.f64"};
    const double x[] = {1, -0.0, 0.1, 1e300, 5e-324, 1.0 / 3};
    double *back = NULL;
    int64_t n = -1;
    for (size_t f = 0; f < LENGTH(files); f++)
        for (int64_t length = 0; length <= 6; length += 6) {
            snprintf(name, sizeof name, "%s/%s", folder, files[f]);
            assert_int_equal(spmv_write_vector(ctx, name, length, x), SPMV_OK);
            if (spmv_read_vector(ctx, name, &n, &back) != SPMV_OK) fail_msg("%s", ctx->error);
            assert_int_equal(n, length);
            assert_non_null(back);
            assert_memory_equal(back, x, (size_t)length * sizeof *x);
            free(back);
            unlink(name);
        }
    static const char row[] = "%%MatrixMarket matrix array integer general\n1 3\n4\n5\n6\n";
    assert_int_equal(spmv_read_vector(ctx, write_bytes("x.mtx", row, strlen(row)), &n, &back),
                     SPMV_OK);
    assert_true(n == 3 && back[0] == 4 && back[2] == 6);
    free(back);

    static const struct {
        const char *text, *expected;
    } bad[] = {
        {REAL "3 1 1\n1 1 1\n", ":2: found a coordinate matrix of 3 rows and 1 columns, expected a "
                                "vector: a general array "
                                "of one column or one row"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
         ":2: found an array of 2 rows and 2 columns, expected a vector: a general array of one "
         "column or one row"},
        {"%%MatrixMarket matrix array real general\n2 1\n1\nx\n",
         ":4: found 'x' as the value, expected a number"},
    };
    for (size_t k = 0; k < LENGTH(bad); k++) {
        write_bytes("x.mtx", bad[k].text, strlen(bad[k].text));
        assert_int_equal(spmv_read_vector(ctx, name, &n, &back), SPMV_E_FORMAT);
        assert_string_equal(spmv_ctx_error(ctx) + strlen(name), bad[k].expected);
        assert_null(back);
    }
    unlink(name);
    write_bytes("x.f64", "123456789", 9);
    assert_int_equal(spmv_read_vector(ctx, name, &n, &back), SPMV_E_FORMAT);
    assert_string_equal(spmv_ctx_error(ctx) + strlen(name),
                        ": found 9 bytes, expected doubles: a multiple of 8");
    unlink(name);
    assert_int_equal(spmv_read_vector(ctx, name, &n, &back), SPMV_E_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_random),
        cmocka_unit_test(test_numbers_halfway),
        cmocka_unit_test(test_numbers_spellings),
        cmocka_unit_test(test_numbers_long),
        cmocka_unit_test(test_legal),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_impossible_size),
        cmocka_unit_test(test_no_file),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_late_errors),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_growing_stream),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_large_arrays),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_tar),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_written_text),
        cmocka_unit_test(test_write_errors),
        cmocka_unit_test(test_vectors),
    };
    signal(SIGPIPE, SIG_IGN); /* the reader gives up before a pipe is empty */
    spmv_powers_init(&powers);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
