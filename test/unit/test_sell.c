/* test_sell.c: contents of SELL and BSR stores of a small matrix, slot by slot; a sorted SELL gives
 * y in the matrix's order; more slots than 32 bits count are refused before allocation. */
#include "context.h"
#include "instructions.h"
#include "formats/bsr/bsr.h"
#include "formats/sell/sell.h"

/* Row i has length[i] entries from column i % 3 on, valued 10 i + 1, 10 i + 2, ... */
static spmv_mat *matrix_of_lengths(const int *length, int rows, int cols) {
    FREED(entries) e = {.rows = rows, .cols = cols};
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < length[i]; k++) add_entry(&e, i, i % 3 + k, 10 * i + k + 1);
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

static spmv_store *store_of(const spmv_mat *mat, const char *format, const spmv_choice *c) {
    spmv_store *store = NULL;
    const spmv_format *f = spmv_format_named(format, SPMV_F64_O32);
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(f->build(ctx, &A, c, 2, &store), SPMV_OK);
    assert_int_equal(f->estimate(&A, c), spmv_store_bytes(store));
    return store;
}

static spmv_choice sell_choice(int64_t slice, int64_t sigma) {
    spmv_choice c = {{0}};
    c.value[SPMV_slice] = slice;
    c.value[SPMV_sigma] = sigma;
    return c;
}

static spmv_choice bsr_choice(int64_t rows, int64_t cols) {
    spmv_choice c = {{0}};
    c.value[SPMV_shape_rows] = rows;
    c.value[SPMV_shape_cols] = cols;
    return c;
}

static void assert_ints(const int32_t *is, const int32_t *expected, int n) {
    for (int k = 0; k < n; k++) assert_int_equal(is[k], expected[k]);
}

/* ---- SELL ----------------------------------------------------------------------------------- */

enum { ROWS = 5, COLS = 6 };
static const int lengths[ROWS] = {1, 3, 0, 2, 3};

/* Slices {0, 1}, {2, 3}, {4}: 3, 2 and 3 wide, the last of one row and not padded to two. */
TEST(slices_by_hand) {
    static const int32_t slice_ptr[] = {0, 6, 10, 13};
    static const int32_t row_len[] = {1, 3, 0, 2, 3};
    static const int32_t col_idx[] = {0, 1, 0, 2, 0, 3, 0, 0, 0, 1, 1, 2, 3};
    static const double values[] = {1, 11, 0, 12, 0, 13, 0, 31, 0, 32, 41, 42, 43};
    FREED(spmv_mat) *mat = matrix_of_lengths(lengths, ROWS, COLS);
    const spmv_choice c = sell_choice(2, 1);
    sell *A = (sell *)store_of(mat, "sell", &c);
    assert_int_equal(A->nslices, 3);
    assert_int_equal(A->s.slots, 13);
    assert_null(A->perm);
    assert_ints(A->slice_ptr, slice_ptr, COUNT(slice_ptr));
    assert_ints(A->row_len, row_len, COUNT(row_len));
    assert_ints(A->col_idx, col_idx, COUNT(col_idx));
    for (int k = 0; k < COUNT(values); k++) assert_true(A->values[k] == values[k]);
    spmv_store_free(&A->s);
}

static void assert_sorted(int64_t slice, int64_t sigma, const int32_t *perm, int64_t slots) {
    FREED(spmv_mat) *mat = matrix_of_lengths(lengths, ROWS, COLS);
    const spmv_choice c = sell_choice(slice, sigma);
    sell *A = (sell *)store_of(mat, "sell", &c);
    assert_int_equal(A->s.slots, slots);
    assert_ints(A->perm, perm, ROWS);
    for (int i = 0; i < ROWS; i++) assert_int_equal(A->row_len[i], lengths[perm[i]]);
    spmv_store_free(&A->s);
}

/* Rows of equal length keep their order; a window that is not a multiple of the slice is padded to
 * the longer part. */
TEST(windows_by_hand) {
    static const int32_t all[] = {1, 4, 3, 0, 2}, of_2[] = {1, 0, 3, 2, 4},
                         of_3[] = {1, 0, 2, 4, 3};
    assert_sorted(2, 0, all, 3 * 2 + 2 * 2 + 0);
    assert_sorted(2, INT32_MAX, all, 10);
    assert_sorted(2, 2, of_2, 3 * 2 + 2 * 2 + 3);
    assert_sorted(2, 3, of_3, 3 * 2 + 3 * 2 + 2);
    assert_sorted(1, 0, all, 9);
    assert_sorted(1024, 0, all, 3 * 5);
}

/* Lengths of several digits in base 256: the sort takes more than one pass. */
TEST(long_rows_are_sorted) {
    static const int length[] = {255, 256, 300, 65536, 1, 65535, 300, 0, 257, 70000};
    static const int32_t perm[] = {9, 3, 5, 2, 6, 8, 1, 0, 4, 7};
    FREED(spmv_mat) *mat = matrix_of_lengths(length, COUNT(length), 70010);
    const spmv_choice c = sell_choice(4, 0);
    sell *A = (sell *)store_of(mat, "sell", &c);
    assert_ints(A->perm, perm, COUNT(perm));
    spmv_store_free(&A->s);
}

/* x = 1, and the sum of row i is i + 1, in any order of the stored rows. */
TEST(y_is_in_the_order_of_rows) {
    enum { MANY = 1000 };
    static double x[MANY], y[MANY];
    FREED(entries) e = {.rows = MANY, .cols = MANY};
    for (int i = 0; i < MANY; i++) {
        int n = 1 + i * 37 % 50;
        for (int k = 0; k < n; k++) add_entry(&e, i, (i + 7 * k) % MANY, k ? 1 : i + 2 - n);
        x[i] = 1;
    }
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    static const int64_t choices[][2] = {{32, 0}, {32, 128}, {7, 100}, {1024, 0}, {1, 0},
                                         {32, 1}, {2, 0},    {4, 0},   {8, 0},    {16, 0}};
    const int64_t best = best_isa();
    for (int n = 0; n < COUNT(choices) * best; n++) {
        const int64_t *c = choices[n / best];
        const spmv_setting settings[] = {{"slice", c[0]}, {"sigma", c[1]}};
        spmv_plan_opts opts = {
            .size = sizeof opts, .kernel = "omp:sell_slices", .settings = settings, .nsettings = 2};
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        memset(y, 0xff, sizeof y);
        pretend_isa(1 + n % best); /* the kernel takes the best that it finds */
        assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
        for (int i = 0; i < MANY; i++) assert_true(y[i] == i + 1);
    }
    pretend_isa(best);
}

/* One long row makes 1024 padded rows: more slots than 32 bits count; the forecast must still count
 * them. */
TEST(slots_beyond_32_bits_are_refused) {
    enum { TALL = 1024, LONG = INT32_MAX / TALL + 2 };
    static int64_t row_ptr[TALL + 1];
    FREED(int32_t) *col_idx = malloc(LONG * sizeof *col_idx);
    FREED(double) *values = calloc(LONG, sizeof *values);
    assert_true(col_idx && values);
    for (int32_t k = 0; k < LONG; k++) col_idx[k] = k;
    for (int i = 1; i <= TALL; i++) row_ptr[i] = LONG;
    const spmv_csr_view A = CSR_VIEW(TALL, LONG, LONG, row_ptr, col_idx, values);
    const spmv_choice c = sell_choice(TALL, 1);
    const spmv_format *f = spmv_format_named("sell", SPMV_F64_O32);
    FREED(spmv_store) *store = NULL;
    assert_int_equal(f->estimate(&A, &c), (size_t)TALL * LONG * 12 + 2 * 4 + TALL * 4);
    assert_int_equal(f->build(ctx, &A, &c, 2, &store), SPMV_E_UNSUITABLE);
    assert_non_null(strstr(spmv_ctx_error(ctx), "offset_bits=64"));
}

/* ---- BSR ------------------------------------------------------------------------------------ */

/* 3 x 5 in blocks of 2 x 2: the last block row has a row too many, the last block begins a column
 * early. */
TEST(blocks_by_hand) {
    FREED(entries) e = {.rows = 3, .cols = 5};
    add_entry(&e, 0, 0, 1), add_entry(&e, 0, 4, 2), add_entry(&e, 1, 1, 3), add_entry(&e, 1, 3, 0);
    add_entry(&e, 2, 4, 5);
    static const int32_t block_ptr[] = {0, 3, 4}, first_col[] = {0, 2, 3, 3};
    static const double values[] = {1,    -0.0, -0.0, 3,    /**/ -0.0, -0.0, -0.0, 0, /**/
                                    -0.0, 2,    -0.0, -0.0, /**/ -0.0, 5,    -0.0, -0.0};
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    const spmv_choice c = bsr_choice(2, 2);
    bsr *A = (bsr *)store_of(mat, "bsr", &c);
    assert_int_equal(A->block_rows, 2);
    assert_int_equal(A->nblocks, 4);
    assert_int_equal(A->s.slots, COUNT(values));
    assert_ints(A->block_ptr, block_ptr, COUNT(block_ptr));
    assert_ints(A->first_col, first_col, COUNT(first_col));
    for (int k = 0; k < COUNT(values); k++)
        assert_true(A->values[k] == values[k] && !signbit(A->values[k]) == !signbit(values[k]));
    spmv_store_free(&A->s);
}

/* Stored zeros, positive and negative, come back as entries; padding does not. */
TEST(stored_zeros_are_entries) {
    FREED(entries) e = {.rows = 4, .cols = 4};
    add_entry(&e, 0, 0, 0), add_entry(&e, 1, 1, -0.0), add_entry(&e, 3, 2, 7),
        add_entry(&e, 3, 3, -0.0);
    static const int32_t rows[] = {0, 1, 3, 3}, cols[] = {0, 1, 2, 3};
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    const spmv_choice c = bsr_choice(3, 2);
    FREED(spmv_store) *store = store_of(mat, "bsr", &c);
    int32_t row[16], col[16];
    double values[16];
    row[4] = -1;
    spmv_format_named("bsr", SPMV_F64_O32)->entries(store, row, col, values);
    assert_ints(row, rows, COUNT(rows));
    assert_ints(col, cols, COUNT(cols));
    assert_int_equal(row[4], -1);
    assert_true(values[2] == 7 && values[0] == 0 && values[1] == 0 && values[3] == 0);
}

/* Cells stored of a tridiagonal matrix of 12 rows: whole blocks on the diagonal, corners beside it.
 */
TEST(fill_by_hand) {
    static const struct {
        int64_t rows, cols, blocks;
    } shapes[] = {{1, 1, 34},     {2, 2, 16}, {3, 3, 10},       {4, 4, 7},
                  {1, 4, 12 + 4}, {6, 6, 4},  {4, 1, 5 + 6 + 5}};
    FREED(entries) e = {.rows = 12, .cols = 12};
    for (int i = 0; i < 12; i++)
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < 12; j++) add_entry(&e, i, j, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    for (int n = 0; n < COUNT(shapes); n++) {
        const spmv_choice c = bsr_choice(shapes[n].rows, shapes[n].cols);
        FREED(spmv_store) *store = store_of(mat, "bsr", &c);
        assert_int_equal(store->slots, shapes[n].blocks * shapes[n].rows * shapes[n].cols);
    }
}

/* Makes entries of which some stand in blocks, the last rows and columns too; a row is empty. */
static entries blocky(int64_t rows, int64_t cols) {
    entries e = {.rows = rows, .cols = cols};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols && i != 9; j++)
            if (spmv_mix((uint64_t)(i / 3 * 64 + j / 3 + 1)) % 4 == 0 || (i * 7 + j) % 23 == 0)
                add_random(&e, i, j);
    return e;
}

static void *blocks_product(spmv_mat *mat, int64_t rows, int64_t cols, int64_t isa,
                            spmv_precision precision, const void *x, const void *y0, int64_t n) {
    const spmv_setting settings[] = {{"shape_rows", rows}, {"shape_cols", cols}, {"isa", isa}};
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "omp:bsr_lanes", .precision = precision,
                               .settings = settings, .nsettings = COUNT(settings));
    spmv_plan *plan = must_plan(mat, &opts);
    void *y = malloc((size_t)n * width_of(precision));
    assert_non_null(y);
    memcpy(y, y0, (size_t)n * width_of(precision));
    assert_int_equal(spmv_exec(plan, 1.5, x, -0.5, y), SPMV_OK);
    spmv_plan_free(plan);
    return y;
}

/* Every shape by every instruction set; column `infinite` of x, if any, reaches the rows that have
 * an entry there and no other. */
static void assert_blocks(spmv_mat *mat, const entries *e, spmv_precision precision,
                          int64_t infinite) {
    double *x = random_vector(1, e->cols), *y0 = random_vector(2, e->rows);
    bool *reached = calloc((size_t)e->rows, sizeof *reached);
    assert_non_null(reached);
    for (int64_t k = 0; k < e->nnz; k++)
        if (e->col[k] == infinite) reached[e->row[k]] = true;
    oracle o = oracle_of(mat, x, e->cols, precision);
    if (infinite >= 0) x[infinite] = INFINITY;
    void *px = vector_of(x, e->cols, precision), *before = vector_of(y0, e->rows, precision);
    for (int64_t shape = 0; shape < 64; shape++)
        for (int64_t isa = ISA_PORTABLE; isa <= best_isa(); isa++) {
            FREED(void) *y = blocks_product(mat, 1 + shape / 8, 1 + shape % 8, isa, precision, px,
                                            before, e->rows);
            if (infinite < 0) {
                verdict v = oracle_check(&o, precision, 1.5, -0.5, before, y);
                if (v.bad_rows)
                    fail_msg("shape %d x %d, isa %d: %lld wrong rows", 1 + (int)shape / 8,
                             1 + (int)shape % 8, (int)isa, (long long)v.bad_rows);
            }
            for (int64_t i = 0; i < e->rows; i++)
                assert_int_equal(
                    !isfinite(precision == SPMV_F64 ? ((double *)y)[i] : (double)((float *)y)[i]),
                    reached[i]);
        }
    oracle_free(&o);
    free(x), free(y0), free(px), free(before), free(reached);
}

TEST(blocks_in_lanes_are_right) {
    static const int64_t sizes[][2] = {{64, 64}, {61, 43}, {5, 3}};
    for (int n = 0; n < COUNT(sizes); n++) {
        FREED(entries) e = blocky(sizes[n][0], sizes[n][1]);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        for (int64_t infinite = -1; infinite < e.cols; infinite += 17) {
            assert_blocks(mat, &e, SPMV_F64, infinite);
            assert_blocks(mat, &e, SPMV_F32, infinite);
        }
    }
}

/* New values reach the same cells as in newly built blocks. */
TEST(blocks_of_every_shape_take_new_values) {
    enum { TALL = 61, WIDE = 43 };
    static double fresh[TALL * WIDE];
    FREED(entries) e = blocky(TALL, WIDE);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_csr_view before = rows_of(mat);
    spmv_csr_view after = before;
    after.values = fresh;
    for (int64_t k = 0; k < before.nnz; k++) fresh[k] = (double)(k % 100 - 50);
    for (int64_t shape = 0; shape < 64 * SPMV_NVARIANTS; shape++) {
        const spmv_format *f = spmv_format_named("bsr", (int)(shape / 64));
        const spmv_choice c = bsr_choice(1 + shape % 64 / 8, 1 + shape % 8);
        FREED(spmv_store) *is = NULL, *expected = NULL;
        assert_int_equal(f->build(ctx, &before, &c, 2, &is), SPMV_OK);
        assert_int_equal(f->build(ctx, &after, &c, 2, &expected), SPMV_OK);
        f->refill_rows(&after, 0, TALL, is);
        assert_memory_equal(((bsr *)is)->values, ((bsr *)expected)->values,
                            (size_t)is->slots * (shape / 64 < SPMV_F32_O32 ? 8 : 4));
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
