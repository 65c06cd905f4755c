/* test_file_formats.c: files in formats other than Matrix Market, written and read by this library;
 * test/python/test_files.py has those of other programs. */
#include "io/formats.h"
#include "reading.h"
#include "spmv_bench.h"

enum { ROWS = 300, COLS = 200, EACH = 7 };
#ifdef HAVE_HDF5
static const char *const endings[] = {".npz", ".mat", ".petsc", ".h5"};
#else
static const char *const endings[] = {".npz", ".mat", ".petsc"};
#endif

/* Makes a matrix with values of any bits but NaN and infinity, and rows without entries. */
static spmv_mat *make_matrix(void) {
    static int64_t ptr[ROWS + 1];
    static int32_t columns[ROWS * EACH];
    static double values[ROWS * EACH];
    spmv_mat *mat = NULL;
    int64_t n = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < EACH && i % 3; k++) {
            columns[n] = (int32_t)(k * 25 + i % 20);
            const uint64_t bits = random_bits();
            memcpy(&values[n], &bits, sizeof bits);
            if (!isfinite(values[n])) values[n] = 0;
            n++;
        }
        ptr[i + 1] = n;
    }
    const spmv_arrays a = {.size = sizeof a,
                           .rows = ROWS,
                           .cols = COLS,
                           .nnz = n,
                           .ptr = ptr,
                           .idx = columns,
                           .values = values,
                           .ptr_bits = 64,
                           .idx_bits = 32};
    assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
    return mat;
}

static void assert_same(const spmv_mat *a, const spmv_mat *b) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view), B = A;
    assert_int_equal(spmv_mat_rows(a, &A), SPMV_OK);
    assert_int_equal(spmv_mat_rows(b, &B), SPMV_OK);
    assert_true(A.rows == B.rows && A.cols == B.cols && A.nnz == B.nnz);
    assert_memory_equal(A.row_ptr, B.row_ptr, (size_t)(A.rows + 1) * sizeof *A.row_ptr);
    assert_memory_equal(A.col_idx, B.col_idx, (size_t)A.nnz * sizeof *A.col_idx);
    assert_memory_equal(A.values, B.values, (size_t)A.nnz * sizeof *A.values);
}

static char *bytes_of(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = allocate(*n);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

/* Loads a matrix from bytes that come through a pipe. */
static spmv_mat *load_piped(const char *bytes, size_t n) {
    int ends[2];
    pthread_t writer;
    char path[64];
    spmv_mat *mat = NULL;
    assert_int_equal(pipe(ends), 0);
    pipe_job job = {ends[1], bytes, n};
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(pthread_create(&writer, NULL, fill_pipe, &job), 0);
    assert_int_equal(spmv_mat_load(ctx, path, NULL, &mat), SPMV_OK);
    close(ends[0]);
    pthread_join(writer, NULL);
    return mat;
}

TEST(what_is_written_is_read_with_the_same_bits) {
    spmv_mat *mat = make_matrix();
    for (size_t k = 0; k < LENGTH(endings); k++) {
        spmv_mat *read = NULL;
        size_t n;
        snprintf(name, sizeof name, "%s/a%s", folder, endings[k]);
        assert_int_equal(spmv_mat_save(mat, name), SPMV_OK);
        assert_int_equal(spmv_mat_load(ctx, name, NULL, &read), SPMV_OK);
        assert_same(mat, read);
        spmv_mat_free(read);
        char *bytes = bytes_of(name, &n);
        read = load_piped(bytes, n);
        assert_same(mat, read);
        spmv_mat_free(read);
        free(bytes);
        unlink(name);
    }
    spmv_mat_free(mat);
}

/* Arrays of size 0, and arrays of equal sizes. */
TEST(the_smallest_matrices) {
    const int64_t ptr[] = {0, 1, 3}, none[] = {0, 0, 0};
    const int32_t columns[] = {1, 0, 1};
    const double values[] = {1.5, -2.5, 3.5};
    for (int k = 0; k < 2; k++)
        for (size_t e = 0; e < LENGTH(endings); e++) {
            const spmv_arrays a = {.size = sizeof a,
                                   .rows = 2,
                                   .cols = 2,
                                   .nnz = k ? 3 : 0,
                                   .ptr = k ? ptr : none,
                                   .idx = columns,
                                   .values = values,
                                   .ptr_bits = 64,
                                   .idx_bits = 32};
            spmv_mat *mat = NULL, *read = NULL;
            assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
            snprintf(name, sizeof name, "%s/a%s", folder, endings[e]);
            assert_int_equal(spmv_mat_save(mat, name), SPMV_OK);
            assert_int_equal(spmv_mat_load(ctx, name, NULL, &read), SPMV_OK);
            assert_same(mat, read);
            spmv_mat_free(mat);
            spmv_mat_free(read);
            unlink(name);
        }
}

/* Limits the size of files: the disk is full. */
static void limit_files(rlim_t most) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

TEST(a_full_disk_leaves_the_old_file) {
    spmv_mat *mat = make_matrix();
    signal(SIGXFSZ, SIG_IGN);
    for (size_t k = 0; k < LENGTH(endings); k++) {
        size_t n;
        char file[16];
        snprintf(file, sizeof file, "a%s", endings[k]);
        write_bytes(file, "old", 3);
        limit_files(4096);
        const spmv_status status = spmv_mat_save(mat, name);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, SPMV_E_WRITE);
        assert_non_null(strstr(spmv_ctx_error(ctx), name));
        char *bytes = bytes_of(name, &n);
        assert_int_equal(n, 3);
        assert_memory_equal(bytes, "old", 3);
        free(bytes);
        unlink(name);
    }
    signal(SIGXFSZ, SIG_DFL);
    spmv_mat_free(mat);
}

TEST(a_file_that_becomes_shorter_is_refused) {
    char wanted[400], got[200];
    write_bytes("a", "0123456789", 10);
    const int fd = open(name, O_RDONLY);
    const spmv_bytes in = {.ctx = ctx, .path = name, .fd = fd, .size = 100};
    assert_int_equal(spmv_bytes_read(&in, "values", 4, 50, got), SPMV_E_FORMAT);
    snprintf(wanted, sizeof wanted,
             "%s: found the end at byte 10 in values: the file became shorter", name);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    close(fd);
    unlink(name);
}

/* ---- compressed lines ------------------------------------------------------------------------ */

enum { LINES = 40000, PLACES = 5000, MOST = 20 }; /* more entries than one run of indices has */
typedef struct lines_in_memory {
    int64_t ptr[LINES + 1];
    int32_t idx[LINES * MOST];
    double values[LINES * MOST];
} lines_in_memory;

/* Makes lines of 0 to MOST entries. */
static lines_in_memory *make_lines(void) {
    lines_in_memory *all = allocate(sizeof *all);
    int64_t n = all->ptr[0] = 0;
    for (int32_t i = 0; i < LINES; i++) {
        for (int32_t k = 0; k < MOST && i % 11; k++)
            if ((i + k) % 9) {
                all->idx[n] = i % 13 + 240 * k;
                all->values[n] = (double)n;
                n++;
            }
        all->ptr[i + 1] = n;
    }
    return all;
}

/* Reads the lines as a file would hold them. */
static spmv_status read_lines(const lines_in_memory *all, spmv_shape shape, int threads,
                              spmv_lines *out) {
    const spmv_bytes in = {.ctx = ctx,
                           .path = "memory",
                           .memory = (const unsigned char *)all,
                           .size = (int64_t)sizeof *all};
    const bool by_columns = shape == SPMV_HELD_COLUMNS;
    spmv_held h = {
        .shape = shape, .rows = by_columns ? PLACES : LINES, .cols = by_columns ? LINES : PLACES};
    const int64_t n = all->ptr[LINES];
    assert_int_equal(spmv_part_set(&in, &h.ptr, "ptr", NULL, 0, LINES + 1, SPMV_I64), SPMV_OK);
    assert_int_equal(spmv_part_set(&in, &h.idx, "idx", NULL, offsetof(lines_in_memory, idx), n,
                                   (spmv_element){'i', 4, false}),
                     SPMV_OK);
    assert_int_equal(spmv_part_set(&in, &h.values, "values", NULL,
                                   offsetof(lines_in_memory, values), n, SPMV_F64_ELEMENT),
                     SPMV_OK);
    return spmv_held_read(&in, &h, threads, NULL, NULL, out);
}

/* Each row's next entry must be that of the next column that has the row. */
static void assert_transposed(const lines_in_memory *all, const spmv_lines *rows) {
    int64_t *next = allocate(PLACES * sizeof *next);
    memcpy(next, rows->ptr, PLACES * sizeof *next);
    assert_true(rows->ptr[0] == 0 && rows->ptr[PLACES] == all->ptr[LINES]);
    for (int32_t j = 0; j < LINES; j++)
        for (int64_t k = all->ptr[j]; k < all->ptr[j + 1]; k++) {
            const int64_t at = next[all->idx[k]]++;
            assert_true(rows->coo.col[at] == j && rows->coo.values[at] == all->values[k]);
        }
    for (int64_t i = 0; i < PLACES; i++) assert_int_equal(next[i], rows->ptr[i + 1]);
    free(next);
}

TEST(columns_are_read_as_rows_by_any_number_of_threads) {
    lines_in_memory *all = make_lines();
    for (int threads = 1; threads <= 5; threads += 2) {
        spmv_lines lines;
        assert_int_equal(read_lines(all, SPMV_HELD_COLUMNS, threads, &lines), SPMV_OK);
        assert_true(lines.from_columns && !lines.by_columns && lines.is_checked && lines.ascends);
        assert_transposed(all, &lines);
        spmv_lines_free(&lines);
    }
    free(all);
}

/* A pair of indices that does not ascend is found wherever it is, also where pieces (of 16,384) and
 * runs (of 524,288) meet; entries then stay as the file has them. None of these begins a line. */
TEST(lines_that_do_not_ascend_are_found) {
    static const int64_t places[] = {1, 7, 16383, 16384, 16385, 32768, 524287, 524288, 600001};
    lines_in_memory *all = make_lines();
    for (size_t k = 0; k < 2 * LENGTH(places); k++) {
        const int64_t at = places[k / 2];
        const int32_t before = all->idx[at];
        spmv_lines lines;
        all->idx[at] = all->idx[at - 1];
        assert_int_equal(read_lines(all, k % 2 ? SPMV_HELD_COLUMNS : SPMV_HELD_ROWS, 2, &lines),
                         SPMV_OK);
        assert_true(lines.is_checked && !lines.ascends && !lines.from_columns);
        assert_true(lines.by_columns == k % 2);
        assert_memory_equal(lines.coo.col, all->idx, (size_t)all->ptr[LINES] * sizeof *all->idx);
        all->idx[at] = before;
        spmv_lines_free(&lines);
    }
    free(all);
}

TEST(a_row_outside_is_refused_in_columns) {
    lines_in_memory *all = make_lines();
    spmv_lines lines;
    all->idx[all->ptr[LINES] - 3] = -1;
    all->idx[100] = PLACES; /* the first that is wrong is named, whichever thread ends first */
    assert_int_equal(read_lines(all, SPMV_HELD_COLUMNS, 2, &lines), SPMV_E_FORMAT);
    assert_non_null(
        strstr(spmv_ctx_error(ctx), "idx[100] (byte 320408) that is 5000, expected 0 to"));
    assert_null(lines.ptr);
    free(all);
}

/* A small file that claims many rows takes no memory for them when it is read. */
TEST(many_rows_of_few_entries_stay_columns) {
    const struct {
        int64_t ptr[2];
        double value;
        int32_t idx;
    } all = {{0, 1}, 1.5, INT32_MAX - 1};
    const spmv_bytes in = {.ctx = ctx,
                           .path = "memory",
                           .memory = (const unsigned char *)&all,
                           .size = (int64_t)sizeof all};
    spmv_held h = {.shape = SPMV_HELD_COLUMNS, .rows = INT32_MAX, .cols = 1};
    spmv_lines lines;
    assert_int_equal(spmv_part_set(&in, &h.ptr, "ptr", NULL, 0, 2, SPMV_I64), SPMV_OK);
    assert_int_equal(spmv_part_set(&in, &h.values, "values", NULL, 16, 1, SPMV_F64_ELEMENT),
                     SPMV_OK);
    assert_int_equal(spmv_part_set(&in, &h.idx, "idx", NULL, 24, 1, (spmv_element){'i', 4, false}),
                     SPMV_OK);
    assert_int_equal(spmv_held_read(&in, &h, 2, NULL, NULL, &lines), SPMV_OK);
    assert_true(lines.by_columns && !lines.from_columns && lines.coo.col[0] == INT32_MAX - 1);
    spmv_lines_free(&lines);
}

/* The entries of a file of columns are listed, and get new values, in the order of columns. */
TEST(entries_of_columns_stay_in_their_order) {
    spmv_mat *mat = make_matrix(), *read = NULL;
    spmv_coo_view entries = SPMV_OPTS(spmv_coo_view);
    snprintf(name, sizeof name, "%s/a.mat", folder);
    assert_int_equal(spmv_mat_save(mat, name), SPMV_OK);
    assert_int_equal(spmv_mat_load(ctx, name, NULL, &read), SPMV_OK);
    assert_int_equal(spmv_mat_entries(read, &entries), SPMV_OK);
    double *values = allocate((size_t)entries.nnz * sizeof *values);
    for (int64_t k = 0; k < entries.nnz; k++) {
        if (k) assert_true(entries.col[k - 1] <= entries.col[k]);
        values[k] = 1000.0 * entries.row[k] + entries.col[k];
    }
    assert_int_equal(spmv_mat_set_values(read, values, SPMV_HOST, NULL), SPMV_OK);
    spmv_csr_view rows = SPMV_OPTS(spmv_csr_view);
    assert_int_equal(spmv_mat_rows(read, &rows), SPMV_OK);
    for (int64_t i = 0; i < rows.rows; i++)
        for (int64_t k = rows.row_ptr[i]; k < rows.row_ptr[i + 1]; k++)
            assert_true(rows.values[k] == 1000.0 * (double)i + rows.col_idx[k]);
    free(values);
    spmv_mat_free(read);
    spmv_mat_free(mat);
    unlink(name);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Reads a column of numbers of one type. */
static double *numbers_of(const void *bytes, size_t n, spmv_element as) {
    const spmv_bytes in = {.ctx = ctx, .path = "memory", .memory = bytes, .size = (int64_t)n};
    spmv_held h = {.shape = SPMV_HELD_BY_COLUMNS, .rows = (int64_t)n / as.bytes, .cols = 1};
    double *x = NULL;
    int64_t count = 0;
    *ctx->note = 0;
    assert_int_equal(spmv_part_set(&in, &h.values, "values", NULL, 0, h.rows, as), SPMV_OK);
    assert_int_equal(spmv_held_vector(&in, &h, &count, &x), SPMV_OK);
    assert_int_equal(count, h.rows);
    return x;
}

#define CHECK_NUMBERS(type, letter, ...) \
    do { \
        const type all[] = {__VA_ARGS__}; \
        for (int swapped = 0; swapped < (sizeof(type) > 1 ? 2 : 1); swapped++) { \
            unsigned char bytes[sizeof all]; \
            for (size_t b = 0; b < sizeof all; b++) \
                bytes[swapped \
                          ? b / sizeof(type) * sizeof(type) + sizeof(type) - 1 - b % sizeof(type) \
                          : b] = ((const unsigned char *)all)[b]; \
            double *x = \
                numbers_of(bytes, sizeof bytes, (spmv_element){letter, sizeof(type), swapped}); \
            for (size_t k = 0; k < LENGTH(all); k++) assert_true(x[k] == (double)all[k]); \
            free(x); \
        } \
    } while (0)

TEST(numbers_of_every_type_and_byte_order) {
    CHECK_NUMBERS(int8_t, 'i', INT8_MIN, -1, 0, 1, INT8_MAX);
    CHECK_NUMBERS(uint8_t, 'u', 0, 1, UINT8_MAX);
    CHECK_NUMBERS(int16_t, 'i', INT16_MIN, -2, 0, INT16_MAX);
    CHECK_NUMBERS(uint16_t, 'u', 0, 258, UINT16_MAX);
    CHECK_NUMBERS(int32_t, 'i', INT32_MIN, -3, 0, INT32_MAX);
    CHECK_NUMBERS(uint32_t, 'u', 0, 16909060, UINT32_MAX);
    CHECK_NUMBERS(float, 'f', -1.5f, FLT_MIN, FLT_MAX);
    CHECK_NUMBERS(double, 'f', -1.5, DBL_MIN, DBL_MAX, 5e-324);
    CHECK_NUMBERS(int64_t, 'i', -4, 0, INT64_C(1) << 53, INT64_MIN);
    assert_string_equal(ctx->note, "");
}

TEST(integers_that_no_double_holds_are_noted) {
    const int64_t odd[] = {INT64_C(1) << 53, (INT64_C(1) << 53) + 1, INT64_MAX};
    const uint64_t large[] = {UINT64_MAX, 1};
    free(numbers_of(odd, sizeof odd, SPMV_I64));
    assert_non_null(strstr(ctx->note, "beyond 2^53 is read as the nearest double, here first: "
                                      "values[1] (byte 8)"));
    free(numbers_of(large, sizeof large, (spmv_element){'u', 8, false}));
    assert_non_null(strstr(ctx->note, "values[0] (byte 0)"));
}

TEST_MAIN(begin_as_it_is, set_up, tear_down)
