/* test_csr_balanced.c: rows that begin and end wherever a tile of cuda:csr_balanced may be cut.
 * Values and x are small integers, so that sums are exact in any order, and compared as such. */
#include "context.h"

enum { TILE = 896, TILE_ROWS = 4096, FRONT = 128, MOST_ROWS = 40000 };

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
    FREED(entries) e = {.rows = r->n, .cols = cols};
    for (int i = 0; i < r->n; i++)
        for (int k = 0; k < r->length[i]; k++)
            add_entry(&e, i, (i + 7 * (int64_t)k) % cols, 1 + (i + k) % 5);
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

typedef struct workplace {
    spmv_csr_view A;
    spmv_plan *plan;
    double *x, *y; /* [cols], [rows], and on the device: */
    void *there_x, *there_y;
} workplace;

/* y <- alpha A x, where y held 7. */
static void multiply(const workplace *w, double alpha) {
    const size_t x_bytes = (size_t)w->A.cols * sizeof *w->x,
                 y_bytes = (size_t)w->A.rows * sizeof *w->y;
    for (int64_t i = 0; i < w->A.rows; i++) w->y[i] = 7;
    assert_int_equal(spmv_plan_put(w->plan, w->there_x, w->x, x_bytes), SPMV_OK);
    assert_int_equal(spmv_plan_put(w->plan, w->there_y, w->y, y_bytes), SPMV_OK);
    assert_int_equal(spmv_exec(w->plan, alpha, w->there_x, 0, w->there_y), SPMV_OK);
    assert_int_equal(spmv_plan_get(w->plan, w->y, w->there_y, y_bytes), SPMV_OK);
}

static void assert_numbers(const workplace *w, double alpha, const char *what) {
    for (int64_t j = 0; j < w->A.cols; j++) w->x[j] = (double)(j % 7) - 3;
    multiply(w, alpha);
    for (int64_t i = 0; i < w->A.rows; i++) {
        double sum = 0;
        for (int64_t k = w->A.row_ptr[i]; k < w->A.row_ptr[i + 1]; k++)
            sum += w->A.values[k] * w->x[w->A.col_idx[k]];
        if (w->y[i] != alpha * sum)
            fail_msg("%s: row %d is %g, not %g", what, (int)i, w->y[i], alpha * sum);
    }
}

/* A NaN with all bits set is what the kernel writes where no sum waits for another. */
static void assert_nans(const workplace *w, const char *what) {
    memset(w->x, 0xff, (size_t)w->A.cols * sizeof *w->x);
    multiply(w, 1);
    for (int64_t i = 0; i < w->A.rows; i++)
        if (w->A.row_ptr[i] < w->A.row_ptr[i + 1] ? !isnan(w->y[i]) : w->y[i] != 0)
            fail_msg("%s: with NaN in x row %d is %g", what, (int)i, w->y[i]);
}

/* Several products of one plan: what blocks leave for each other is taken away every time. */
static void assert_exact(const rows *r, const char *what) {
    const int64_t cols = 12007;
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = "cuda:csr_balanced"};
    spmv_mat *mat = matrix_with(r, cols);
    workplace w = {.A = SPMV_OPTS(spmv_csr_view),
                   .x = malloc((size_t)cols * sizeof *w.x),
                   .y = malloc((size_t)r->n * sizeof *w.y)};
    assert_true(w.x && w.y);
    spmv_mat_rows(mat, &w.A);
    assert_int_equal(spmv_plan_create(mat, &opts, &w.plan), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(w.plan, (size_t)cols * sizeof *w.x, &w.there_x), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(w.plan, (size_t)r->n * sizeof *w.y, &w.there_y), SPMV_OK);
    assert_numbers(&w, 1, what);
    assert_numbers(&w, 2, what);
    assert_nans(&w, what);
    assert_numbers(&w, 3, what);
    spmv_plan_release(w.plan, w.there_x);
    spmv_plan_release(w.plan, w.there_y);
    spmv_plan_free(w.plan);
    spmv_mat_free(mat);
    free(w.x);
    free(w.y);
}

TEST(rows_end_where_tiles_do) {
    static rows r;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = -2; k <= 2; k++) {
        r.n = 0;
        for (int t = 0; t < 6; t++) append_row(&r, TILE + k), append_empty(&r, 7);
        assert_exact(&r, "a tile each");
    }
}

TEST(long_rows_are_joined) {
    static rows r;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int tiles = 1; tiles <= 9; tiles++) {
        r.n = 0;
        for (int k = -1; k <= 1; k++)
            append_row(&r, tiles * TILE + k), append_row(&r, 3), append_row(&r, 0);
        assert_exact(&r, "rows of several tiles");
    }
}

/* Up to 128 nonzeros in front of a tile are read by it, too. */
TEST(what_is_in_front_is_read) {
    static rows r;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = FRONT - 2; k <= FRONT + 2; k++) {
        r.n = 0;
        append_row(&r, TILE - k);
        for (int t = 0; t < 5; t++)
            append_row(&r, k + 100), append_row(&r, TILE - 100), append_row(&r, 1);
        append_row(&r, 2 * TILE + k);
        assert_exact(&r, "rows in front");
        r.n = 0;
        append_row(&r, TILE - k), append_row(&r, k + 3 * TILE);
        assert_exact(&r, "a long row in front");
    }
}

TEST(empty_rows_are_written) {
    static rows r;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    r.n = 0;
    append_empty(&r, 9000);
    append_row(&r, 3 * TILE);
    append_empty(&r, 8 * TILE);
    append_row(&r, 1);
    append_row(&r, 2 * TILE);
    append_empty(&r, 9001);
    assert_exact(&r, "empty rows");
    r.n = 0;
    append_row(&r, TILE + 5);
    append_empty(&r, 2 * TILE_ROWS - 100);
    while (r.n < 2 * TILE_ROWS + 300) append_row(&r, 1);
    append_empty(&r, 2 * TILE_ROWS);
    append_row(&r, 3 * TILE);
    assert_exact(&r, "two tiles begin at rows between the same nonzeros");
}

/* A tile begins at every TILE_ROWS-th row, or moves to where the tile of its nonzeros begins: in
 * front of a long row, inside of one, among short and among empty rows. */
TEST(tiles_begin_at_rows) {
    static rows r;
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = -2; k <= 2; k++)
        for (int front = 0; front <= 200; front += 100) {
            r.n = 0;
            append_row(&r, front);
            while (r.n < TILE_ROWS + k) append_row(&r, 1);
            append_row(&r, 2 * TILE + 5);
            while (r.n < 2 * TILE_ROWS + k) append_row(&r, r.n % 3);
            append_row(&r, 2 * TILE - front);
            append_empty(&r, TILE_ROWS + k);
            append_row(&r, TILE + front);
            append_empty(&r, TILE_ROWS - 300);
            append_row(&r, 5);
            assert_exact(&r, "tiles begin at rows");
        }
}

TEST(lengths_by_chance) {
    static rows r;
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

TEST_MAIN(wait_without_spinning, open_context, close_context)
