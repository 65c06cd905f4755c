/* test_refill.c: new values for a matrix of many chunks, with a row longer than a chunk: products
 * are bit for bit equal to those of a new matrix with these values. */
#include "context.h"
#include "walled.h"

enum { ROWS = 60000, LONGEST = 20000, LONG_ROW = 31234 };

typedef struct pattern {
    int64_t row_ptr[ROWS + 1];
    int32_t *col_idx;
} pattern;

static int64_t length_of(int64_t i) {
    return i == LONG_ROW ? LONGEST : i % 7 == 3 ? 0 : 8 + i * i % 37;
}

static pattern *make_pattern(void) {
    pattern *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < ROWS; i++) p->row_ptr[i + 1] = p->row_ptr[i] + length_of(i);
    p->col_idx = malloc((size_t)p->row_ptr[ROWS] * sizeof *p->col_idx);
    assert_non_null(p->col_idx);
    for (int64_t i = 0; i < ROWS; i++) {
        int32_t j = (int32_t)(i / 6 * 5 % (ROWS - 2 * LONGEST));
        for (int64_t k = p->row_ptr[i]; k < p->row_ptr[i + 1]; k++, j += k % 5 == i % 3 ? 2 : 1)
            p->col_idx[k] = j;
    }
    return p;
}

/* Makes values of either precision, each with a zero of both signs now and then. */
static void *make_values(const pattern *p, spmv_precision precision, int seed) {
    const int64_t nnz = p->row_ptr[ROWS];
    void *values = malloc((size_t)nnz * sizeof(double));
    assert_non_null(values);
    for (int64_t k = 0; k < nnz; k++) {
        const int kind = (int)((k + seed) % 97);
        const double value = kind == 0   ? 0.0
                             : kind == 1 ? -0.0
                                         : 1.0 / (double)(1 + (k * 31 + seed) % 1009);
        if (precision == SPMV_F32)
            ((float *)values)[k] = (float)value;
        else
            ((double *)values)[k] = value;
    }
    return values;
}

static spmv_mat *matrix_with(const pattern *p, const void *values, spmv_precision precision) {
    const spmv_arrays a = ARRAYS(ROWS, ROWS, p->row_ptr[ROWS], p->row_ptr, 64, p->col_idx, values,
                                 .precision = precision, .flags = SPMV_SORTED);
    spmv_mat *mat = NULL;
    assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
    return mat;
}

static spmv_plan *plan_of(spmv_mat *mat, const char *kernel, spmv_precision precision, int refill) {
    spmv_plan_opts opts =
        WITH(spmv_plan_opts, .kernel = kernel, .precision = precision, .refill = refill);
    return must_plan(mat, &opts);
}

/* Bytes of y = A x, from an x of either precision. */
static void *product_of(const spmv_plan *plan, spmv_precision precision) {
    void *x = malloc(ROWS * sizeof(double)), *y = calloc(ROWS, sizeof(double));
    assert_true(x && y);
    for (int64_t j = 0; j < ROWS; j++)
        if (precision == SPMV_F32)
            ((float *)x)[j] = 1 + (float)(j % 13);
        else
            ((double *)x)[j] = 1 + (double)(j % 13);
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
    free(x);
    return y;
}

static const char *const kernels[] = {"csr_rows",     "sell_slices", "bsr_rows",
                                      "coo_segments", "spc5_rows",   "csell_slices"};

/* All plans of one matrix receive the values in one call; one plan uses the compressed rows. */
static void check(spmv_precision given, spmv_precision precision) {
    pattern *p = make_pattern();
    void *old = make_values(p, given, 1), *new = make_values(p, given, 2);
    spmv_mat *mat = matrix_with(p, old, given), *other = matrix_with(p, new, given);
    for (int first = 0; first < COUNT(kernels); first++) {
        FREED(spmv_plan) *plan = plan_of(mat, kernels[first], precision, 1);
        FREED(spmv_plan) *beside =
            plan_of(mat, kernels[(first + 1) % COUNT(kernels)], precision, 1);
        FREED(spmv_plan) *reference = plan_of(other, kernels[first], precision, 1);
        FREED(spmv_plan) *reference_beside =
            plan_of(other, kernels[(first + 1) % COUNT(kernels)], precision, 1);
        for (int k = 0; k < 3; k++)
            assert_int_equal(spmv_mat_set_values(mat, k % 2 ? old : new, SPMV_HOST, NULL), SPMV_OK);
        const size_t bytes = ROWS * (precision == SPMV_F32 ? sizeof(float) : sizeof(double));
        void *y[] = {product_of(plan, precision), product_of(reference, precision),
                     product_of(beside, precision), product_of(reference_beside, precision)};
        assert_memory_equal(y[0], y[1], bytes);
        assert_memory_equal(y[2], y[3], bytes);
        for (int k = 0; k < COUNT(y); k++) free(y[k]);
        spmv_csr_view A = SPMV_OPTS(spmv_csr_view), B = A;
        spmv_mat_rows(mat, &A);
        spmv_mat_rows(other, &B);
        assert_memory_equal(A.values, B.values, (size_t)A.nnz * sizeof *A.values);
        assert_int_equal(spmv_mat_set_values(mat, old, SPMV_HOST, NULL), SPMV_OK);
    }
    spmv_mat_free(mat);
    spmv_mat_free(other);
    free(old);
    free(new);
    free(p->col_idx);
    free(p);
}

TEST(chunks_of_f64) {
    check(SPMV_F64, SPMV_F64);
    check(SPMV_F64, SPMV_F32);
}

TEST(chunks_of_f32) {
    check(SPMV_F32, SPMV_F32);
    check(SPMV_F32, SPMV_F64);
}

static double *make_floats(const pattern *p, int seed) {
    double *values = make_values(p, SPMV_F64, seed);
    for (int64_t k = 0; k < p->row_ptr[ROWS]; k++) values[k] = (float)values[k];
    return values;
}

static void assert_same_product(const spmv_plan *a, const spmv_plan *b) {
    double *y[] = {product_of(a, SPMV_F64), product_of(b, SPMV_F64)};
    assert_memory_equal(y[0], y[1], ROWS * sizeof(double));
    free(y[0]);
    free(y[1]);
}

/* Slices of floats accept other floats only. */
TEST(floats_stay_floats) {
    pattern *p = make_pattern();
    double *old = make_floats(p, 1), *new = make_floats(p, 2), *wide = make_values(p, SPMV_F64, 2);
    spmv_mat *mat = matrix_with(p, old, SPMV_F64), *other = matrix_with(p, new, SPMV_F64);
    spmv_plan *plan = plan_of(mat, "csell_slices", SPMV_F64, 0);
    spmv_plan *reference = plan_of(other, "csell_slices", SPMV_F64, 0);
    assert_int_equal(spmv_mat_set_values(mat, new, SPMV_HOST, NULL), SPMV_OK);
    assert_same_product(plan, reference);
    assert_int_equal(spmv_mat_set_values(mat, wide, SPMV_HOST, NULL), SPMV_E_UNSUITABLE);
    assert_same_product(plan, reference);
    spmv_plan_free(plan);
    spmv_plan_free(reference);
    spmv_mat_free(mat);
    spmv_mat_free(other);
    free(old);
    free(new);
    free(wide);
    free(p->col_idx);
    free(p);
}

TEST(nothing_behind_the_values_is_read) {
    pattern *p = make_pattern();
    for (spmv_precision given = SPMV_F64; given <= SPMV_F32; given++) {
        const size_t width = given == SPMV_F32 ? sizeof(float) : sizeof(double);
        FREED(void) *values = make_values(p, given, 1);
        walled w = walled_off((size_t)p->row_ptr[ROWS] * width);
        memcpy(w.bytes, values, (size_t)p->row_ptr[ROWS] * width);
        spmv_mat *mat = matrix_with(p, values, given);
        for (int k = 0; k < COUNT(kernels); k++) {
            FREED(spmv_plan) *plan = plan_of(mat, kernels[k], given, 1);
            assert_int_equal(spmv_mat_set_values(mat, w.bytes, SPMV_HOST, NULL), SPMV_OK);
        }
        spmv_mat_free(mat);
        munmap(w.all, w.size);
    }
    free(p->col_idx);
    free(p);
}

/* A chunk of as many entries as fit the room for them (ROOM in store.c), whose last row has one
 * alone and whose row before it has all others. Where a block of two rows ends with that one,
 * nothing behind the room is read: a sanitizer would say so. */
TEST(nothing_behind_the_room_is_read) {
    enum { PAIRS = 40, CHUNK_ROOM = 16384, LESS = 8190, COLUMNS = 20000 };
    int64_t *ptr = calloc(2 * PAIRS + 1, sizeof *ptr), n = 0;
    FREED(int32_t) *columns = calloc(PAIRS * (LESS + 1) + CHUNK_ROOM, sizeof *columns);
    FREED(float) *values = calloc(PAIRS * (LESS + 1) + CHUNK_ROOM, sizeof *values);
    for (int pair = 0; pair < PAIRS; pair++) {
        const int many = pair ? LESS : CHUNK_ROOM - 1;
        for (int k = 0; k < many; k++, n++) columns[n] = 100 + k, values[n] = (float)(n % 3);
        ptr[2 * pair + 1] = n;
        values[n++] = 1;
        ptr[2 * pair + 2] = n;
    }
    const spmv_arrays a =
        ARRAYS(2 * PAIRS, COLUMNS, n, ptr, 64, columns, values, .precision = SPMV_F32);
    FREED(spmv_mat) *mat = NULL;
    assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
    for (int height = 1; height <= 4; height *= 2) {
        const spmv_setting setting = {"height", height};
        const spmv_plan_opts opts =
            WITH(spmv_plan_opts, .kernel = "spc5_rows", .precision = SPMV_F32, .settings = &setting,
                 .nsettings = 1);
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        assert_int_equal(spmv_mat_set_values(mat, values, SPMV_HOST, NULL), SPMV_OK);
    }
    free(ptr);
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
