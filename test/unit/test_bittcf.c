/* test_bittcf.c: how bittcf groups the rows of a matrix, and that a GPU's product by such a store
 * puts each row in its place, next to infinite x too. That no entry is lost: test_formats.c. */
#include "context.h"
#include "formats/bittcf/bittcf.h"

enum { ROWS = 4003, WIDTH = 9, STEP = 1571 /* has no factor of ROWS */ };

/* Makes a band of WIDTH diagonals; row i is row i STEP mod ROWS of the band. */
static spmv_mat *shuffled_band(int64_t rows, bool in_order) {
    entries e = {.rows = rows, .cols = rows + WIDTH};
    for (int64_t i = 0; i < rows; i++)
        for (int j = 0; j < WIDTH; j++)
            add_entry(&e, in_order ? i : i * STEP % rows, i + j, (double)(1 + (i + j) % 5));
    spmv_mat *mat = matrix_of(ctx, &e);
    entries_free(&e);
    return mat;
}

static bittcf *build(spmv_mat *mat) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_choice c = {{0}};
    spmv_store *store = NULL;
    spmv_mat_rows(mat, &A);
    assert_int_equal(spmv_format_named("bittcf", SPMV_F64_O32)->build(ctx, &A, &c, 2, &store),
                     SPMV_OK);
    return (bittcf *)store;
}

/* Grouped rows list as few columns as the band's rows in their order: 16 for 8 rows. */
TEST(rows_that_share_columns_are_found) {
    spmv_mat *band = shuffled_band(ROWS, true), *shuffled = shuffled_band(ROWS, false);
    bittcf *as_it_is = build(band), *grouped = build(shuffled);
    assert_null(as_it_is->s.order);
    assert_non_null(grouped->s.order);
    assert_int_equal(grouped->tiles, as_it_is->tiles);
    int64_t sum = 0;
    for (int64_t i = 0; i < ROWS; i++) sum += grouped->s.order[i];
    assert_int_equal(sum, (int64_t)ROWS * (ROWS - 1) / 2);
    spmv_store_free(&as_it_is->s);
    spmv_store_free(&grouped->s);
    spmv_mat_free(band);
    spmv_mat_free(shuffled);
}

/* Ten kinds of rows, each of scattered columns, of which a few are not in the first or last place
 * of all: hashes find them. */
TEST(hashes_find_kinds_of_rows) {
    enum { KINDS = 50, OF_A_KIND = 40, COLUMNS = 12, COLS = 100000 };
    entries e = {.rows = KINDS * OF_A_KIND, .cols = COLS};
    for (int64_t i = 0; i < e.rows; i++) {
        const int64_t kind = i % KINDS;
        add_entry(&e, i, i % 977, 1); /* its own first and last columns */
        add_entry(&e, i, COLS - 1 - i % 983, 1);
        for (int64_t c = 0; c < COLUMNS; c++)
            add_entry(&e, i, 1000 + (kind * 7919 + c * 6151) % (COLS - 2000), 2);
    }
    spmv_mat *mat = matrix_of(ctx, &e);
    bittcf *B = build(mat);
    assert_non_null(B->s.order);
    const double shared = (double)B->s.nnz / (double)(B->tiles * BITTCF_COLS);
    assert_true(shared > 2);
    spmv_store_free(&B->s);
    spmv_mat_free(mat);
    entries_free(&e);
}

/* Values are small integers, so that sums are exact in any order. */
static double expected(const spmv_csr_view *A, const double *x, int64_t i, int64_t c, int64_t k) {
    double sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
        sum += A->values[e] * x[A->col_idx[e] * k + c];
    return sum;
}

static void multiply(spmv_mat *mat, int64_t k) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = "cuda:bittcf_warp", opts.vectors = k, opts.layout = SPMV_ROWS;
    spmv_mat_rows(mat, &A);
    const size_t nx = (size_t)(A.cols * k), nz = (size_t)(A.rows * k);
    double *x = malloc(nx * sizeof *x), *z = malloc(nz * sizeof *z);
    void *there[2] = {NULL, NULL};
    assert_non_null(x);
    assert_non_null(z);
    for (size_t n = 0; n < nx; n++) x[n] = (double)(n % 23) - 11;
    x[100 * k + 1] = INFINITY, x[200 * k] = NAN;
    for (size_t n = 0; n < nz; n++) z[n] = NAN;
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, nx * sizeof *x, &there[0]), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, nz * sizeof *z, &there[1]), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, there[0], x, nx * sizeof *x), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, there[1], z, nz * sizeof *z), SPMV_OK);
    const spmv_call call = {.size = sizeof call,
                            .x = there[0],
                            .y = there[1],
                            .z = there[1],
                            .k = k,
                            .layout = SPMV_ROWS};
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    assert_int_equal(plan->device->backend->order(plan->device, NULL, false), SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, z, there[1], nz * sizeof *z), SPMV_OK);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t c = 0; c < k; c++) {
            const double want = expected(&A, x, i, c, k), got = z[i * k + c];
            if (got != want && !(isnan(got) && isnan(want)))
                fail_msg("k %lld, row %lld, vector %lld: %g, not %g", (long long)k, (long long)i,
                         (long long)c, got, want);
        }
    for (int n = 0; n < 2; n++) spmv_plan_release(plan, there[n]);
    spmv_plan_free(plan);
    free(x);
    free(z);
}

TEST(rows_are_put_in_their_places) {
    static const int64_t vectors[] = {2, 8, 11, 16, 24, 33, 64, 70};
    if (!spmv_backend_available("cuda")) skip();
    for (int long_window = 0; long_window < 2; long_window++) {
        entries e = {.rows = 1001, .cols = 4000};
        for (int64_t i = 0; i < e.rows; i++)
            for (int64_t j = 0; j < (long_window && i == 77 ? e.cols : WIDTH); j++)
                add_entry(&e, i, long_window && i == 77 ? j : i * STEP % e.rows + j,
                          (double)(1 + j % 3));
        spmv_mat *mat = matrix_of(ctx, &e);
        for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++) multiply(mat, vectors[n]);
        spmv_mat_free(mat);
        entries_free(&e);
    }
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
