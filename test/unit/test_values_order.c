/* test_values_order.c: spmv_mat_set_values takes the values in the order in which the matrix was
 * given, whatever order the library keeps. */
#include "new_values.h"

/* 3 x 3, compressed columns from 1, unsorted, one place twice:  . 5 . / 3 1+2 . / . 4 6 */
TEST(columns_keep_their_order) {
    static const int64_t ptr[] = {1, 2, 6, 7};
    static const int32_t row[] = {2, 3, 2, 1, 2, 3};
    static const float old[] = {1, 1, 1, 1, 1, 1}, new[] = {3, 4, 1, 5, 2, 6};
    static const double x[] = {1, 10, 100}, expected[] = {50, 33, 640};
    spmv_arrays arrays =
        ARRAYS(3, 3, 6, ptr, 64, row, old, .base = 1, .precision = SPMV_F32, .by_columns = 1);
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = NULL;
    spmv_coo_view back = SPMV_OPTS(spmv_coo_view);
    double y[3];
    assert_int_equal(spmv_mat_create(ctx, &arrays, &mat), SPMV_OK);
    FREED(spmv_plan) *plan = plan_with(mat, "csr_rows", SPMV_F64, 0);
    assert_int_equal(set_values(mat, new), SPMV_OK);
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
    assert_memory_equal(y, expected, sizeof y);
    spmv_mat_entries(mat, &back);
    for (int k = 0; k < 6; k++) assert_true(back.values[k] == new[k]);
}

enum { ROWS = 70, COLS = 50, MOST = ROWS * COLS };

typedef struct columns { /* ascending, without duplicates, counted from `base` */
    int32_t narrow[COLS + 1], row[MOST];
    int64_t wide[COLS + 1];
    double f64[2][MOST];
    float f32[2][MOST];
    spmv_arrays arrays;
} columns;

/* Bits of the case: offsets of 64 bits, base 1, f64, values at all. */
static void make_columns(int is, columns *c) {
    const int base = is >> 1 & 1, f64 = is >> 2 & 1;
    int64_t n = 0;
    for (int j = 0; j < COLS; j++) {
        c->wide[j] = c->narrow[j] = (int32_t)n + base;
        for (int i = 0; i < ROWS; i++)
            if (j % 7 && (i * 31 + j * 17) % 5 == 0) c->row[n++] = i + base;
    }
    c->wide[COLS] = c->narrow[COLS] = (int32_t)n + base;
    for (int64_t k = 0; k < n; k++)
        for (int v = 0; v < 2; v++) c->f64[v][k] = c->f32[v][k] = (float)(1 + k + 10000 * v);
    c->arrays =
        ARRAYS(ROWS, COLS, n, is & 1 ? (void *)c->wide : c->narrow, is & 1 ? 64 : 32, c->row,
               !(is >> 3) ? NULL
               : f64      ? (void *)c->f64[0]
                          : c->f32[0],
               .base = base, .precision = f64 ? SPMV_F64 : SPMV_F32, .by_columns = 1);
}

/* Checks the entries, in their order, and the rows; values NULL: all are 1. */
static void check_columns(const spmv_mat *mat, const columns *c, bool lists, const double *values) {
    spmv_coo_view all = SPMV_OPTS(spmv_coo_view);
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    const int base = c->arrays.base;
    spmv_stats stats = stats_of(mat);
    assert_int_equal(stats.explicit_zeros, 0);
    assert_int_equal(spmv_mat_rows(mat, &A), SPMV_OK);
    if (lists) assert_int_equal(spmv_mat_entries(mat, &all), SPMV_OK);
    if (lists) assert_true(all.nnz == c->arrays.nnz && (all.values != NULL) == (values != NULL));
    for (int64_t j = 0; j < COLS; j++)
        for (int64_t k = c->wide[j] - base; k < c->wide[j + 1] - base; k++) {
            const int64_t i = c->row[k] - base, at = spmv_find_entry(&A, i, (int32_t)j);
            assert_true(at >= 0 && A.values[at] == (values ? values[k] : 1));
            if (!lists) continue;
            assert_true(all.row[k] == i && all.col[k] == j);
            if (values) assert_true(all.values[k] == values[k]);
        }
}

/* Ascending columns become rows without a list of the entries; a request makes the list: before new
 * values, after them, or never. */
TEST(sorted_columns_keep_their_order) {
    FREED(spmv_ctx) *ctx = context_of(2);
    columns *c = malloc(sizeof *c);
    for (int is = 0; is < 16; is++)
        for (int listed = 0; listed < 4; listed++) {
            FREED(spmv_mat) *mat = NULL;
            make_columns(is, c);
            const double *old = c->arrays.values ? c->f64[0] : NULL;
            assert_int_equal(spmv_mat_create(ctx, &c->arrays, &mat), SPMV_OK);
            const size_t n = (size_t)c->arrays.nnz, bytes = spmv_mat_own_bytes(mat);
            assert_int_equal(bytes, 8 * (ROWS + 1) + 12 * n);
            check_columns(mat, c, listed & 1, old);
            const void *new = is >> 2 & 1 ? (void *)c->f64[1] : c->f32[1];
            assert_int_equal(spmv_mat_set_values(mat, new, SPMV_HOST, NULL), SPMV_OK);
            if (!listed) assert_int_equal(spmv_mat_own_bytes(mat), bytes + 4 * n);
            check_columns(mat, c, listed & 2, c->f64[1]);
            check_columns(mat, c, listed & 1, c->f64[1]);
        }
    free(c);
}

/* The bits of a sum depend on the order even in extended precision, and those of a zero on the
 * initial value: setting the same values changes no bits, for any number of duplicates. */
TEST(the_same_values_keep_their_bits) {
    enum { MANY = 60 };
    FREED(entries) e = {.rows = 3, .cols = 3, .symmetry = SPMV_SKEW_SYMMETRIC};
    add_entry(&e, 2, 1, -0.0);
    add_entry(&e, 2, 0, 1e20);
    for (int k = 0; k < MANY; k++) add_random(&e, 1, 0);
    for (int k = 1; k <= 4; k++) add_entry(&e, 2, 0, k);
    add_entry(&e, 2, 0, -1e20);
    for (int threads = 1; threads <= 3; threads += 2) {
        FREED(spmv_ctx) *ctx = context_of(threads);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        const uint64_t hash = hash_of(mat);
        assert_int_equal(set_values(mat, e.values), SPMV_OK);
        assert_true(hash_of(mat) == hash);
    }
}

TEST(borrowed_arrays_are_only_read) {
    FREED(spmv_ctx) *ctx = context_of(2);
    for (int sorted = 0; sorted <= 1; sorted++) {
        FREED(entries) e = entries_of(fixture_named(sorted ? "dense" : "duplicates"));
        FREED(double) *fresh = values_for(&e, few_values), *old = values_for(&e, random_value);
        memcpy(e.values, old, (size_t)e.nnz * sizeof *old);
        spmv_coo_view view = view_of(&e), back = SPMV_OPTS(spmv_coo_view);
        FREED(spmv_mat) *mat = NULL;
        assert_int_equal(spmv_mat_coo(ctx, &view, SPMV_BORROW, &mat), SPMV_OK);
        assert_int_equal(set_values(mat, fresh), SPMV_OK);
        assert_memory_equal(e.values, old, (size_t)e.nnz * sizeof *old);
        spmv_mat_entries(mat, &back);
        assert_memory_equal(back.values, fresh, (size_t)e.nnz * sizeof *fresh);
    }
}

TEST(no_entries_have_no_values) {
    FREED(spmv_ctx) *ctx = context_of(2);
    const int64_t ptr[] = {0, 0};
    const int32_t index = 0;
    const double value = 0;
    for (unsigned flags = SPMV_COPY; flags <= SPMV_BORROW; flags++) {
        const spmv_arrays a = {.size = sizeof a,
                               .rows = 1,
                               .cols = 1,
                               .ptr = ptr,
                               .idx = &index,
                               .values = &value,
                               .ptr_bits = 64,
                               .flags = flags};
        FREED(spmv_mat) *mat = NULL;
        assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
        assert_int_equal(set_values(mat, NULL), SPMV_OK);
    }
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
