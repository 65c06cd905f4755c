/* test_files.c: archive.c and mmio_write.c: compressed files and archives; what is written, and
 * read again. */
#include "reading.h"
#include "spmv_host.h"
#include <errno.h>
#include <sys/syscall.h>
#if defined HAVE_LIBARCHIVE && defined HAVE_ZLIB
#include <archive.h>
#include <archive_entry.h>
#endif

/* ---- compressed files ----------------------------------------------------------------------- */

#if defined HAVE_LIBARCHIVE && defined HAVE_ZLIB
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

TEST(test_compressed) {
    const int64_t none[2] = {0, 0}, bad_line[2] = {399990, 399995};
    const char *const nothing[2] = {NULL, NULL}, *const bad[2] = {"1 2 x", "1 0 1"};
    many_text t = many_lines(MANY - MANY / 1000, none, nothing);
    many_text wrong = many_lines(MANY - MANY / 1000, bad_line, bad);
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
            strstr(spmv_ctx_error(ctx), ":399990:5: found 'x' as the value, expected a number"));
        unlink(name);
    }
    compress_to("empty.mtx.gz", "gzip", &(member){.bytes = "", .n = 0}, 1);
    assert_int_equal(read_matrix(name, 1, &coo), SPMV_E_FORMAT);
    assert_non_null(strstr(spmv_ctx_error(ctx), "empty.mtx.gz:1: found an empty file, expected "));
    unlink(name);
    spmv_coo_free(&plain);
    free(t.bytes);
    free(wrong.bytes);
}

TEST(test_tar) {
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
TEST(test_compressed) {
    spmv_coo coo;
    write_bytes("a.mtx.gz", "\x1f\x8b\x08", 3);
    assert_int_equal(read_matrix(name, 1, &coo), SPMV_E_FEATURE);
    assert_string_equal(
        spmv_ctx_error(ctx) + strlen(name),
        ": compressed input is not built in: install libarchive-dev and zlib1g-dev (Debian) or "
        "libarchive-devel and zlib-devel (Fedora), then make again");
    unlink(name);
    print_message("compressed files: not tested, this build lacks libarchive or zlib\n");
    skip();
}

TEST(test_tar) {
    print_message("tar archives: not tested, this build lacks libarchive or zlib\n");
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
    *A = CSR_VIEW(n, 40, k, row_ptr, col_idx, values);
}

static void free_rows(const spmv_csr_view *A) {
    free((void *)A->row_ptr);
    free((void *)A->col_idx);
    free((void *)A->values);
}

TEST(test_round_trip) {
    static const int64_t sizes[] = {0, 1, 5, 3000, 30001};
    for (int kind = SPMV_REAL_FIELD; kind <= SPMV_PATTERN_FIELD; kind++)
        for (size_t s = 0; s < LENGTH(sizes); s++)
            for (int threads = 1; threads <= 4; threads++) {
                spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
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

TEST(test_written_text) {
    const int64_t row_ptr[] = {0, 2, 3, 5};
    const int32_t col_idx[] = {0, 2, 1, 0, 1};
    double values[] = {0.1, -0.0, 1e15, 1.0 / 3, INFINITY}; /* whole numbers of 16 digits: %g's */
    spmv_csr_view A = {sizeof(spmv_csr_view), 3, 3, 5, row_ptr, col_idx, values};
    snprintf(name, sizeof name, "%s/out.mtx", folder);
    /* another locale must not change the point */
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        print_message("de_DE.UTF-8 is not installed: locale not tested\n");
    assert_int_equal(spmv_write_matrix_market(ctx, name, &A, SPMV_REAL_FIELD), SPMV_OK);
    spmv_coo coo;
    assert_int_equal(read_matrix(name, 1, &coo), SPMV_OK);
    assert_true(coo.nnz == 5 && coo.values[0] == 0.1 && coo.values[3] == 1.0 / 3);
    spmv_coo_free(&coo);
    check_number_in_c("0.1000000000000000055511151231257827021181583404541015625000000001", 0.1);
    setlocale(LC_ALL, "C");
    check_file(name, REAL "3 3 5\n1 1 0.1\n1 3 -0\n2 2 1e+15\n3 1 0.3333333333333333\n3 2 inf\n");
    for (int k = 0; k < 5; k++) values[k] = 1;
    assert_int_equal(spmv_write_matrix_market(ctx, name, &A, SPMV_PATTERN_FIELD), SPMV_OK);
    check_file(name, PATTERN "3 3 5\n1 1\n1 3\n2 2\n3 1\n3 2\n");
    values[1] = 2; /* two merged entries: no pattern any more */
    assert_int_equal(spmv_write_matrix_market(ctx, name, &A, SPMV_PATTERN_FIELD), SPMV_OK);
    check_file(name, INTEGER "3 3 5\n1 1 1\n1 3 2\n2 2 1\n3 1 1\n3 2 1\n");
    unlink(name);
}

TEST(test_write_errors) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
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

TEST(test_vectors) {
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
        {REAL "3 2 1\n1 1 1\n", ":2: found a coordinate matrix of 3 rows and 2 columns, expected a "
                                "vector: general, of one column or one row"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
         ":2: found an array of 2 rows and 2 columns, expected a vector: general, of one column "
         "or one row"},
        {"%%MatrixMarket matrix array real general\n2 1\n1\nx\n",
         ":4:1: found 'x' as the value, expected a number"},
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

/* Entries and compressed rows that fit one by one, but not together, are refused before any entry
 * is read: the file has zeros in their place, which would be refused otherwise. A symmetric matrix
 * has rows of both halves; those of a pattern have values, its entries none. */
TEST(test_what_does_not_fit_is_not_read) {
    static const struct {
        const char *kind;
        int bytes; /* bytes per entry */
    } kinds[] = {{"real general", 16 + 12},
                 {"pattern general", 8 + 12},
                 {"real symmetric", 16 + 24},
                 {"pattern symmetric", 8 + 24}};
    char path[128], need[64];
    const long long entries = (long long)(spmv_host_free_bytes() / 20);
    snprintf(path, sizeof path, "%s/large.mtx", folder);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        spmv_mat *mat = NULL;
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "%%%%MatrixMarket matrix coordinate %s\n1000000 1000000 %lld\n",
                kinds[k].kind, entries);
        assert_int_equal(fclose(file), 0);
        if (truncate(path, 12 * (off_t)entries) != 0) { /* a file system may hold none as large */
            unlink(path);
            skip();
        }
        assert_int_equal(spmv_mat_load(ctx, path, NULL, &mat), SPMV_E_NOMEM);
        assert_null(mat);
        snprintf(need, sizeof need, "need %.1f GB",
                 1e-9 * (kinds[k].bytes * (double)entries + 16e6));
        assert_non_null(strstr(spmv_ctx_error(ctx), need));
        assert_non_null(strstr(spmv_ctx_error(ctx), "GB are free"));
        unlink(path);
    }
}

/* ---- reads that fail ------------------------------------------------------------------------- */

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define OTHER_READ 1 /* value of the sanitizer */
#else
#define OTHER_READ 0
#endif

typedef struct failing { /* what the next calls return, with errno */
    int calls;
    ssize_t result;
    int error;
} failing;
static failing next_read, next_pread;

#if !OTHER_READ
static bool fails(failing *next) {
    if (next->calls == 0) return false;
    next->calls--;
    errno = next->error;
    return true;
}

ssize_t read(int fd, void *to, size_t n) {
    return fails(&next_read) ? next_read.result : syscall(SYS_read, fd, to, n);
}

ssize_t pread(int fd, void *to, size_t n, off_t from) {
    return fails(&next_pread) ? next_pread.result : syscall(SYS_pread64, fd, to, n, from);
}
#endif

static void assert_ended(spmv_status status, spmv_status expected, const char *why) {
    assert_int_equal(status, expected);
    if (why) assert_non_null(strstr(spmv_ctx_error(ctx), why));
}

/* A signal's interruption is no failure; what errno was before says nothing of a file's end. */
TEST(test_reads_that_fail) {
    const struct {
        failing next;
        spmv_status expected;
        const char *why;
    } cases[] = {
        {{1, -1, EINTR}, SPMV_OK, NULL},
        {{-1, -1, EIO}, SPMV_E_IO, strerror(EIO)},
        {{-1, 0, EINTR}, SPMV_E_IO, "the file became shorter while it was read"},
    };
    static const double numbers[] = {1, 2, 3};
    if (OTHER_READ) skip();
    for (size_t k = 0; k < LENGTH(cases); k++) {
        double *x = NULL;
        int64_t n;
        spmv_coo coo;
        write_bytes("x.f64", numbers, sizeof numbers);
        next_read = cases[k].next;
        const spmv_status of_numbers = spmv_read_vector(ctx, name, &n, &x);
        next_read.calls = 0;
        assert_ended(of_numbers, cases[k].expected, cases[k].why);
        free(x);
        unlink(name);
        write_bytes("a.mtx", REAL "1 1 1\n1 1 7\n", strlen(REAL "1 1 1\n1 1 7\n"));
        next_pread = cases[k].next;
        const spmv_status of_rows = read_matrix(name, 1, &coo);
        next_pread.calls = 0;
        assert_ended(of_rows, cases[k].expected, cases[k].why);
        spmv_coo_free(&coo);
        unlink(name);
    }
}

int main(void) {
    signal(SIGPIPE, SIG_IGN); /* the reader gives up before a pipe is empty */
    spmv_powers_init(&powers);
    return run_suite(set_up, tear_down);
}
