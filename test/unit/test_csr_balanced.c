/* test_csr_balanced.c: rows that begin and end wherever a tile of cuda:csr_balanced may be cut.
 * Values and x are small integers, so that sums are exact in any order, and compared as such. */
#include "context.h"

enum { TILE = 896, FRONT = 128, PRODUCTS = 3, MOST_ROWS = 40000 };

typedef struct rows {
    int n, length[MOST_ROWS]; /* nonzeros of each */
} rows;

static void append_row(rows *r, int length) {
    assert_true(r->n < MOST_ROWS);
    r->length[r->n++] = length;
}

static void append_empty(rows *r, int n) {
    while (n-- > 0) append_row(r, 0);
}

static spmv_mat *matrix_with(const rows *r, int64_t cols) {
    entries e = {.rows = r->n, .cols = cols};
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->length[i]; k++)
            add_entry(&e, i, (i + 7 * (int64_t)k) % cols, 1 + (i + k) % 5);
    spmv_mat *mat = matrix_of(ctx, &e);
    entries_free(&e);
    return mat;
}

/* Several products of one plan: what blocks leave for each other is taken away every time. */
static void assert_exact(const rows *r, const char *what) {
    const int64_t cols = 12007;
    spmv_mat *mat = matrix_with(r, cols);
    spmv_csr_view A;
    spmv_plan *plan = NULL;
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = "cuda:csr_balanced"};
    double *x = malloc((size_t)cols * sizeof *x), *y = malloc((size_t)r->n * sizeof *y);
    assert_true(x && y);
    for (int64_t j = 0; j < cols; j++) x[j] = (double)(j % 7) - 3;
    spmv_mat_rows(mat, &A);
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_OK);
    const size_t x_bytes = (size_t)cols * sizeof *x, y_bytes = (size_t)r->n * sizeof *y;
    void *there_x = NULL, *there_y = NULL;
    assert_int_equal(spmv_plan_alloc(plan, x_bytes, &there_x), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, y_bytes, &there_y), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, there_x, x, x_bytes), SPMV_OK);
    for (int p = 1; p <= PRODUCTS; p++) {
        for (int i = 0; i < r->n; i++) y[i] = NAN;
        assert_int_equal(spmv_plan_put(plan, there_y, y, y_bytes), SPMV_OK);
        assert_int_equal(spmv_exec(plan, p, there_x, 0, there_y), SPMV_OK);
        assert_int_equal(spmv_plan_get(plan, y, there_y, y_bytes), SPMV_OK);
        for (int64_t i = 0; i < A.rows; i++) {
            double sum = 0;
            for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
                sum += A.values[k] * x[A.col_idx[k]];
            if (y[i] != p * sum) fail_msg("%s: row %d is %g, not %g", what, (int)i, y[i], p * sum);
        }
    }
    spmv_plan_release(plan, there_x);
    spmv_plan_release(plan, there_y);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    free(x);
    free(y);
}

/* A row end weighs an eighth of a nonzero: 895 nonzeros and 8 row ends fill a tile exactly. */
static void rows_end_where_tiles_do(void **state) {
    static rows r;
    (void)state;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = -2; k <= 2; k++) {
        r.n = 0;
        for (int t = 0; t < 6; t++) append_row(&r, TILE - 1 + k), append_empty(&r, 7);
        assert_exact(&r, "a tile each");
    }
}

static void long_rows_are_joined(void **state) {
    static rows r;
    (void)state;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int tiles = 1; tiles <= 9; tiles++) {
        r.n = 0;
        for (int k = -1; k <= 1; k++)
            append_row(&r, tiles * TILE + k), append_row(&r, 3), append_row(&r, 0);
        assert_exact(&r, "rows of several tiles");
    }
}

/* Up to 128 nonzeros in front of a tile are read by it, too. */
static void what_is_in_front_is_read(void **state) {
    static rows r;
    (void)state;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = FRONT - 2; k <= FRONT + 2; k++) {
        r.n = 0;
        append_row(&r, TILE - k);
        for (int t = 0; t < 5; t++)
            append_row(&r, k + 100), append_row(&r, TILE - 100), append_row(&r, 1);
        append_row(&r, 2 * TILE + k);
        assert_exact(&r, "rows in front");
    }
}

static void empty_rows_are_written(void **state) {
    static rows r;
    (void)state;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    r.n = 0;
    append_empty(&r, 9000);
    append_row(&r, 3 * TILE);
    append_empty(&r, 8 * TILE);
    append_row(&r, 1);
    append_row(&r, 2 * TILE);
    append_empty(&r, 9001);
    assert_exact(&r, "empty rows");
}

static void lengths_by_chance(void **state) {
    static rows r;
    (void)state;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    unsigned seed = 1;
    for (int k = 0; k < 6; k++) {
        r.n = 0;
        while (r.n < 400) {
            seed = seed * 1103515245u + 12345u;
            const unsigned kind = seed >> 16 & 15, some = seed >> 20;
            append_row(&r, (int)(kind == 0   ? some % (3 * TILE)
                                 : kind < 4  ? 0
                                 : kind < 8  ? some % 300
                                 : kind < 10 ? FRONT - 3 + some % 6
                                             : some % 9));
        }
        assert_exact(&r, "by chance");
    }
}

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_end_where_tiles_do),  cmocka_unit_test(long_rows_are_joined),
        cmocka_unit_test(what_is_in_front_is_read), cmocka_unit_test(empty_rows_are_written),
        cmocka_unit_test(lengths_by_chance),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
