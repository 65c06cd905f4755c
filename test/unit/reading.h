/* reading.h: what the tests of reading and writing files share: a folder of their own, matrices in
 * words, a pipe. */
#ifndef SPMV_TEST_READING_H
#define SPMV_TEST_READING_H

#include "io/io.h"
#include <fcntl.h>
#include "objects.h"
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define REAL "%%MatrixMarket matrix coordinate real general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"

static spmv_ctx *ctx;
static char folder[64];
static char name[256]; /* name of the file last written */

static inline int set_up(void **state) {
    (void)state;
    strcpy(folder, "/tmp/spmv-test-XXXXXX");
    return mkdtemp(folder) == NULL || spmv_ctx_create(NULL, &ctx) != SPMV_OK;
}

static inline int tear_down(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return rmdir(folder); /* fails when a test left a file behind */
}

/* sprintf, out of the sight of a compiler that suspects NULL in every pointer the sanitizer checks.
 */
static int append(char *to, const char *format, ...)
    __attribute__((format(printf, 2, 3), noinline, unused));

static int append(char *to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsprintf(to, format, args);
    va_end(args);
    return n;
}

static inline void *allocate(size_t n) {
    void *memory = malloc(n);
    if (!memory)
        abort(); /* noreturn, unlike cmocka's assertions: the compiler need not warn of NULL */
    return memory;
}

static inline const char *write_bytes(const char *file, const void *bytes, size_t n) {
    snprintf(name, sizeof name, "%s/%s", folder, file);
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return name;
}

static inline spmv_status read_matrix(const char *path, int threads, spmv_coo *coo) {
    return spmv_read_matrix_market(ctx, path, threads, NULL, NULL, coo);
}

static inline void assert_zeroed(const spmv_coo *coo) {
    spmv_coo nothing;
    memset(&nothing, 0, sizeof nothing);
    assert_true(coo->row == NULL && coo->col == NULL && coo->values == NULL && coo->nnz == 0 &&
                coo->rows == 0);
}

/* Returns a matrix in words: "2x3 real general 1,1=1.5 2,3=-2". */
static inline const char *words_of(const spmv_coo *coo) {
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

static inline bool same_entries(const spmv_coo *a, const spmv_coo *b) {
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

static inline void *fill_pipe(void *argument) {
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

static inline spmv_status read_piped(const char *bytes, size_t n, int threads, spmv_coo *coo) {
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

static uint64_t random_state = 88172645463325252;

static inline uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static inline void check_refused(const char *text, size_t n, const char *expected) {
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

enum { MANY = 400000 };
typedef struct many_text {
    char *bytes;
    size_t n;
} many_text;

/* Makes a real file of about 9 MiB; line number line[k] (from 1) is replaced by bad[k]. */
static inline many_text many_lines(int64_t entries, const int64_t line[2],
                                   const char *const bad[2]) {
    many_text t = {allocate(MANY * 48 + 1000), 0};
    random_state = 42;
    t.n = (size_t)append(t.bytes, "%s%% comment\n1000000 1000000 %" PRId64 "\n", REAL, entries);
    for (int64_t k = 4; k < MANY + 4; k++) { /* one line per entry, or a comment or blank line */
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

static spmv_powers powers;

/* Scans text as the reader does: the bytes behind it belong to no number. */
static inline const char *scan(const char *text, double *value, size_t *length) {
    static char padded[4000];
    size_t n = strlen(text);
    assert_true(n + SPMV_TEXT_PAD < sizeof padded);
    memcpy(padded, text, n);
    memset(padded + n, 0, SPMV_TEXT_PAD);
    const char *end = spmv_scan_double(&powers, padded, value);
    *length = end ? (size_t)(end - padded) : 0;
    return end;
}

#endif
