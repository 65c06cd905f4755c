/* test_coo_csb.c: where COO, HYB and CSB put entries, by hand; and rows so long that every thread
 * or block of threads has a part of one. */
#include "context.h"
#include "instructions.h"
#include "formats/coo/coo.h"
#include "formats/csb/csb.h"
#include "formats/hyb/hyb.h"

static spmv_status build(const char *format, const spmv_mat *mat, spmv_param_id id, int64_t value,
                         spmv_store **out) {
    spmv_choice c = {{0}};
    if (id < SPMV_NPARAMS) c.value[id] = value;
    spmv_csr_view A = rows_of(mat);
    return spmv_format_named(format, SPMV_F64_O32)->build(ctx, &A, &c, 3, out);
}

static void assert_indices(const idx *got, const idx *expected, int64_t n, const char *what) {
    for (int64_t k = 0; k < n; k++)
        if (got[k] != expected[k])
            fail_msg("%s[%lld] is %d, expected %d", what, (long long)k, got[k], expected[k]);
}

/* ---- layouts -----------------------------------------------------------------------------------
 */

/* 5 x 9: rows of 3, 0, 1, 4 and 2. */
static entries five_rows(void) {
    static const int at[][2] = {{0, 1}, {0, 4}, {0, 8}, {2, 5}, {3, 0},
                                {3, 2}, {3, 3}, {3, 7}, {4, 4}, {4, 6}};
    entries e = {.rows = 5, .cols = 9};
    for (int k = 0; k < COUNT(at); k++) add_entry(&e, at[k][0], at[k][1], 10 * at[k][0] + at[k][1]);
    return e;
}

TEST(coo_is_sorted) {
    static const idx row[] = {0, 0, 0, 2, 3, 3, 3, 3, 4, 4}, col[] = {1, 4, 8, 5, 0, 2, 3, 7, 4, 6};
    FREED(entries) e = five_rows();
    spmv_store *store = NULL;
    shuffle(&e, 3);
    spmv_mat *mat = matrix_of(ctx, &e);
    assert_int_equal(build("coo", mat, SPMV_NPARAMS, 0, &store), SPMV_OK);
    const sorted_coo *A = (const sorted_coo *)store;
    assert_int_equal(spmv_store_bytes(store), 10 * 16);
    assert_indices(A->row_idx, row, 10, "row_idx");
    assert_indices(A->col_idx, col, 10, "col_idx");
    for (int k = 0; k < 10; k++) assert_true(A->values[k] == 10 * row[k] + col[k]);
    spmv_store_free(store);
    spmv_mat_free(mat);
}

TEST(hyb_splits_rows) {
    static const idx slot[2][5] = {{1, -1, 5, 0, 4}, {4, -1, -1, 2, 6}};
    static const idx tail_row[] = {0, 3, 3}, tail_col[] = {8, 3, 7};
    FREED(entries) e = five_rows();
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_store *store = NULL;
    assert_int_equal(build("hyb", mat, SPMV_boundary, 2, &store), SPMV_OK);
    const hyb *A = (const hyb *)store;
    assert_int_equal(A->width, 2);
    assert_int_equal(A->pitch, 32);
    assert_int_equal(A->tail, 3);
    assert_int_equal(store->slots, 2 * 32 + 3);
    assert_int_equal(spmv_store_bytes(store), 2 * 32 * 12 + 3 * 16);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 32; i++) {
            idx expected = i < 5 ? slot[k][i] : -1;
            assert_int_equal(A->ell_col[k * 32 + i], expected);
            assert_true(A->ell_values[k * 32 + i] == (expected < 0 ? 0 : 10 * i + expected));
        }
    assert_indices(A->tail_row, tail_row, 3, "tail_row");
    assert_indices(A->tail_col, tail_col, 3, "tail_col");
    for (int k = 0; k < 3; k++) assert_true(A->tail_values[k] == 10 * tail_row[k] + tail_col[k]);
    spmv_store_free(store);
    assert_int_equal(build("hyb", mat, SPMV_boundary, 1000, &store), SPMV_OK); /* 4 are enough */
    assert_int_equal(((const hyb *)store)->width, 4);
    assert_int_equal(((const hyb *)store)->tail, 0);
    spmv_store_free(store);
}

/* Makes 64 rows of `usual` entries, except two rows of `longer` entries. */
static entries two_long_rows(int64_t usual, int64_t longer) {
    entries e = {.rows = 64, .cols = longer};
    for (int64_t i = 0; i < e.rows; i++) add_row(&e, i, i % 40 == 11 ? longer : usual);
    return e;
}

/* The boundary that -1 stands for is as good as any other, also where lengths have several digits.
 */
TEST(hyb_boundary_is_best) {
    static const int64_t lengths[][2] = {{1, 2},       {3, 10},      {7, 3000},
                                         {2047, 2050}, {2048, 2049}, {4500, 5000}};
    for (int n = 0; n < COUNT(lengths) + 20; n++) {
        bool is_listed = n < COUNT(lengths);
        FREED(entries) e = is_listed ? two_long_rows(lengths[n][0], lengths[n][1])
                                     : random_matrix((uint64_t)n, 40 + n, 60, 1 + 2 * n % 50);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        spmv_csr_view A = rows_of(mat);
        for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
            const spmv_format *format = spmv_format_named("hyb", variant);
            spmv_choice c = {{0}};
            c.value[SPMV_boundary] = -1;
            size_t chosen = format->estimate(&A, &c), entry = variant < SPMV_F32_O32 ? 16 : 12;
            assert_in_range(chosen, 0, (size_t)A.nnz * entry); /* all in COO */
            for (int64_t width = 0; width <= A.cols; width += width < 100 ? 1 : 50) {
                c.value[SPMV_boundary] = width;
                assert_in_range(chosen, 0, format->estimate(&A, &c));
            }
        }
        if (is_listed && n > 0) {
            FREED(spmv_store) *store = NULL;
            assert_int_equal(build("hyb", mat, SPMV_boundary, -1, &store), SPMV_OK);
            assert_int_equal(((const hyb *)store)->width, lengths[n][0]);
        }
    }
}

/* 20 x 40 in tiles of 16: 2 x 3 blocks, of which (0, 1) and (1, 0) are empty. */
TEST(csb_blocks_are_in_order) {
    static const int at[][2] = {{0, 15},  {3, 0},   {3, 2},  {15, 15}, /* block (0, 0) */
                                {0, 32},  {0, 39},  {3, 33},           /* (0, 2) */
                                {16, 16}, {19, 31},                    /* (1, 1) */
                                {17, 32}};                             /* (1, 2) */
    static const ofs ptr[] = {0, 4, 4, 7, 7, 9, 10};
    static const uint32_t local[] = {15, 0x30000, 0x30002, 0xf000f, 0,
                                     7,  0x30001, 0,       0x3000f, 0x10000};
    FREED(entries) e = {.rows = 20, .cols = 40};
    for (int k = 0; k < COUNT(at); k++) add_entry(&e, at[k][0], at[k][1], k);
    shuffle(&e, 4);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    FREED(spmv_store) *store = NULL;
    assert_int_equal(build("csb", mat, SPMV_tile, 16, &store), SPMV_OK);
    const csb *A = (const csb *)store;
    assert_int_equal(A->tile, 16);
    assert_int_equal(A->block_rows, 2);
    assert_int_equal(A->block_cols, 3);
    assert_int_equal(spmv_store_bytes(store), 7 * 4 + 10 * 12);
    assert_indices(A->block_ptr, ptr, 7, "block_ptr");
    for (int k = 0; k < COUNT(at); k++) {
        if (A->local[k] != local[k]) fail_msg("local[%d] is %#x", k, A->local[k]);
        assert_true(A->values[k] == k);
    }
}

TEST(csb_tile_follows_the_dimension) {
    static const int64_t tiles[][3] = {
        {1, 1, 16},         {256, 3, 16},       {257, 3, 32},        {3, 1025, 64},
        {1000000, 9, 1024}, {9, 1048577, 2048}, {1 << 30, 1, 32768}, {INT32_MAX, 1, 32768}};
    for (int n = 0; n < COUNT(tiles); n++)
        assert_int_equal(csb_tile(tiles[n][0], tiles[n][1], 0), tiles[n][2]);
    assert_int_equal(csb_tile(1000000, 1000000, 64), 64);
}

TEST(too_many_csb_blocks_are_refused) {
    FREED(entries) e = {.rows = 100, .cols = 100};
    for (int i = 0; i < 3; i++) add_entry(&e, i, i, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_store *store = NULL;
    assert_int_equal(build("csb", mat, SPMV_tile, 4, &store), SPMV_E_UNSUITABLE);
    assert_non_null(strstr(spmv_ctx_error(ctx), "625"));
    assert_non_null(strstr(spmv_ctx_error(ctx), "203"));
    spmv_store_free(store);
    assert_int_equal(build("csb", mat, SPMV_tile, 8, &store), SPMV_OK); /* 169 */
    spmv_store_free(store);
}

/* ---- products ----------------------------------------------------------------------------------
 */

typedef struct setup {
    const char *kernel, *parameter;
    int64_t value;
} setup;

static const setup setups[] = {
    {"omp:csr_balanced", "isa", 1},     {"omp:csr_balanced", "isa", 2},
    {"omp:csr_balanced", "isa", 3},     {"omp:csr_balanced", NULL, 0},
    {"omp:coo_segments", NULL, 0},      {"omp:hyb_rows", NULL, 0},
    {"omp:hyb_rows", "boundary", 3},    {"omp:csb_blocks", NULL, 0},
    {"omp:csb_blocks", "tile", 16},     {"omp:csb_blocks", "tile", 32768},
    {"cuda:csr_lanes", NULL, 0},        {"cuda:csr_lanes", "lanes", 1},
    {"cuda:csr_lanes", "lanes", 2},     {"cuda:csr_lanes", "lanes", 4},
    {"cuda:csr_lanes", "lanes", 8},     {"cuda:csr_lanes", "lanes", 16},
    {"cuda:csr_lanes", "lanes", 32},    {"cuda:coo_segments", NULL, 0},
    {"cuda:coo_segments", "block", 32}, {"cuda:coo_segments", "block", 512},
    {"cuda:hyb_thread", NULL, 0},       {"cuda:hyb_thread", "boundary", 3},
    {"cuda:hyb_thread", "block", 32},   {"cuda:csb_block", NULL, 0},
    {"cuda:csb_block", "block", 32},    {"cuda:csb_block", "block", 1024},
    {"cuda:csb_block", "tile", 32},
};

typedef struct product {
    spmv_mat *mat;
    int64_t rows, cols;
    double *x, *y0;
    oracle reference;
} product;

static product problem_of(spmv_ctx *owner, const entries *e) {
    product q = {.mat = matrix_of(owner, e), .rows = e->rows, .cols = e->cols};
    q.x = random_vector(1, q.cols);
    q.y0 = random_vector(2, q.rows);
    q.reference = oracle_of(q.mat, q.x, q.cols, SPMV_F64);
    return q;
}

static void problem_free(product *q) {
    oracle_free(&q->reference);
    spmv_mat_free(q->mat);
    free(q->x);
    free(q->y0);
}

/* y from y0, or from NaN if beta = 0. */
static void multiply(const spmv_plan *plan, const product *q, double alpha, double beta,
                     double *y) {
    size_t x_bytes = (size_t)q->cols * sizeof *q->x, y_bytes = (size_t)q->rows * sizeof *y;
    void *device_x = NULL, *device_y = NULL;
    for (int64_t i = 0; i < q->rows; i++) y[i] = beta == 0 ? NAN : q->y0[i];
    assert_int_equal(spmv_plan_alloc(plan, x_bytes, &device_x), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, y_bytes, &device_y), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, device_x, q->x, x_bytes), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, device_y, y, y_bytes), SPMV_OK);
    assert_int_equal(spmv_exec(plan, alpha, device_x, beta, device_y), SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, y, device_y, y_bytes), SPMV_OK);
    spmv_plan_release(plan, device_x);
    spmv_plan_release(plan, device_y);
}

static void assert_right(const product *q, const setup *s) {
    static const double scalings[][2] = {{1, 0}, {2, -1}, {-0.5, 1}};
    spmv_setting setting = {s->parameter, s->value};
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = s->kernel, .settings = &setting,
                               .nsettings = s->parameter != NULL);
    FREED(spmv_plan) *plan = NULL;
    spmv_status status = spmv_plan_create(q->mat, &opts, &plan);
    if (status == SPMV_E_UNSUITABLE) return;
    if (status != SPMV_OK) fail_msg("%s: %s", s->kernel, spmv_ctx_error(q->mat->ctx));
    FREED(double) *y = vector_of(q->y0, q->rows, SPMV_F64),
                  *again = vector_of(q->y0, q->rows, SPMV_F64);
    for (int n = 0; n < COUNT(scalings); n++) {
        double alpha = scalings[n][0], beta = scalings[n][1];
        multiply(plan, q, alpha, beta, y);
        multiply(plan, q, alpha, beta, again);
        verdict v = oracle_check(&q->reference, SPMV_F64, alpha, beta, q->y0, y);
        if (v.bad_rows)
            fail_msg("%s %s=%lld: %lld wrong rows, first %lld", s->kernel,
                     s->parameter ? s->parameter : "", (long long)s->value, (long long)v.bad_rows,
                     (long long)v.first_bad_row);
        assert_memory_equal(y, again, (size_t)q->rows * sizeof *y);
    }
}

static void assert_all_right(const product *q) {
    for (int k = 0; k < COUNT(setups); k++) {
        const setup *s = &setups[k];
        if (s->parameter && strcmp(s->parameter, "isa") == 0 && s->value > best_isa()) continue;
        if (strncmp(s->kernel, "omp:", 4) == 0 || is_usable(q->mat->ctx, &spmv_cuda))
            assert_right(q, s);
    }
}

/* One row of 200,000 entries among rows of at most one entry, then one that ends with a block's
 * part. */
TEST(giant_rows_are_right) {
    static const int threads[] = {1, 2, 5, 64};
    FREED(entries) e = {.rows = 4096 + 17, .cols = 200000};
    for (int64_t i = 0; i < e.rows; i++)
        if (i % 7) add_row(&e, i, i == 1000 ? 200000 : i == 1001 ? 7 * 256 : i == 4000 ? 30000 : 1);
    for (int t = 0; t < COUNT(threads); t++) {
        FREED(spmv_ctx) *owner = context_of(threads[t]);
        product q = problem_of(owner, &e);
        assert_all_right(&q);
        problem_free(&q);
    }
}

/* Every place of a long row in front of, behind and across the ends of parts of 224 items. */
TEST(cuts_are_right_anywhere) {
    for (int64_t before = 200; before < 250; before += 3)
        for (int64_t length = 1; length < 700; length += length < 20 ? 9 : 67) {
            FREED(entries) e = {.rows = before + 40, .cols = 700};
            for (int64_t i = 0; i < e.rows; i++)
                if (i <= before || i % 3) add_row(&e, i, i == before ? length : 1);
            product q = problem_of(ctx, &e);
            assert_all_right(&q);
            problem_free(&q);
        }
}

/* Shares of nothing. */
TEST(more_threads_than_entries) {
    FREED(spmv_ctx) *owner = context_of(40);
    for (int n = 0; n < 4; n++) {
        FREED(entries) e = {.rows = 1 + 2 * n, .cols = 5};
        for (int k = 0; k < n; k++) add_entry(&e, n, k, k + 1);
        product q = problem_of(owner, &e);
        assert_all_right(&q);
        problem_free(&q);
    }
}

TEST(choices_are_reported) {
    FREED(entries) e = two_long_rows(3, 10);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    static const setup expected[] = {{"omp:hyb_rows", "boundary", 3},
                                     {"omp:csb_blocks", "tile", 16},
                                     {"cuda:hyb_thread", "boundary", 3},
                                     {"cuda:csb_block", "tile", 16},
                                     {"cuda:csr_lanes", "lanes", 4}};
    for (int k = 0; k < COUNT(expected); k++) {
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = expected[k].kernel};
        if (expected[k].kernel[0] == 'c' && !is_usable(ctx, &spmv_cuda)) continue;
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        assert_int_equal(spmv_plan_setting(plan, expected[k].parameter), expected[k].value);
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
