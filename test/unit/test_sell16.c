/* test_sell16.c: the codes and the order that the sell16 format chooses, its padding and tails;
 * that no entry is lost, padding never reaches y, and each instruction set multiplies every
 * code. */
#include "context.h"
#include "instructions.h"
#include "formats/sell16/sell16.h"
#include "formats/value_codes.h"
#include <math.h>

static sell16_slices *store_of(const entries *e, int variant, int64_t sigma, spmv_mat **mat) {
    spmv_store *store = NULL;
    spmv_choice c = {{0}};
    c.value[SPMV_sigma] = sigma;
    c.value[SPMV_codes] = 1;
    *mat = matrix_of(ctx, e);
    spmv_csr_view A = rows_of(*mat);
    assert_int_equal(spmv_format_named("sell16", variant)->build(ctx, &A, &c, 2, &store), SPMV_OK);
    return (sell16_slices *)store;
}

static void drop(sell16_slices *A, spmv_mat *mat, entries *e) {
    spmv_store_free(&A->s);
    spmv_mat_free(mat);
    entries_free(e);
}

/* Makes eight rows of 3, 1, 2, 0, 2, 1, 2 and 5 entries, from column 10 on. */
static entries ragged_rows(void) {
    static const int lengths[SELL16_ROWS] = {3, 1, 2, 0, 2, 1, 2, 5};
    entries e = {.rows = SELL16_ROWS, .cols = 100};
    for (int i = 0; i < SELL16_ROWS; i++)
        for (int k = 0; k < lengths[i]; k++) add_entry(&e, i, 10 + i + 3 * k, i + 0.1 * k);
    return e;
}

/* The fourth longest has 2: two steps, and tails of 3 and 1 entries of the two longer rows. */
TEST(a_slice_by_hand) {
    static const uint16_t perm[] = {7, 0, 2, 4, 6, 1, 5, 3};
    static const int32_t length[] = {5, 3, 2, 2, 2, 1, 1, 0};
    static const uint16_t columns[] = {7,  0,  2,  4, 6, 1, 5, 0, /* the shortest row is padded */
                                       10, 3,  5,  7, 9, 0, 0, 0, /* and the two of one entry */
                                       13, 16, 19, 6};
    spmv_mat *mat;
    entries e = ragged_rows();
    sell16_slices *A = store_of(&e, SPMV_F64_O32, 8, &mat);
    assert_int_equal(A->slice[0].width, 2);
    assert_int_equal(A->slice[0].base, 10);
    assert_int_equal(A->slice[0].wide, 0);
    assert_int_equal(A->s.slots, 20);
    assert_int_equal(A->nuneven, 1);
    assert_memory_equal(A->perm, perm, sizeof perm);
    assert_memory_equal(A->length, length, sizeof length);
    assert_memory_equal(A->columns, columns, sizeof columns);
    drop(A, mat, &e);
}

static double any_value(int64_t k) {
    return random_entry(3, (uint64_t)k);
}

static double float_value(int64_t k) {
    return (double)(float)any_value(k);
}

static double one_of_99(int64_t k) {
    return 0.1 * (double)(k % 99);
}

static double one_of_16(int64_t k) {
    return 0.1 * (double)(1 + k * 5 % 16);
}

static double one_of_8(int64_t k) {
    return -1.7 * (double)(1 + k * 3 % 8);
}

static double two_zeros(int64_t k) {
    return k % 2 ? -0.0 : 0.0;
}

static double one_value(int64_t k) {
    (void)k;
    return 0.1;
}

TEST(values_get_the_fewest_bytes) {
    static const struct {
        double (*value)(int64_t k);
        int code_f64, code_f32, distinct;
    } cases[] = {{any_value, VALUE_RAW, VALUE_RAW, 0},
                 {float_value, VALUE_F32, VALUE_RAW, 0},
                 {one_of_99, VALUE_CODEBOOK, VALUE_CODEBOOK, 99},
                 {two_zeros, VALUE_CODEBOOK, VALUE_CODEBOOK, 2},
                 {one_value, VALUE_ONE, VALUE_ONE, 1}};
    for (int c = 0; c < COUNT(cases); c++)
        for (int f32 = 0; f32 < 2; f32++) {
            spmv_mat *mat;
            entries e = {.rows = 400, .cols = 400};
            for (int64_t k = 0; k < 1200; k++) add_entry(&e, k / 3, k % 3, cases[c].value(k));
            sell16_slices *A = store_of(&e, f32 ? SPMV_F32_O32 : SPMV_F64_O32, 8, &mat);
            assert_int_equal(A->value_code, f32 ? cases[c].code_f32 : cases[c].code_f64);
            assert_int_equal(A->nvalues, cases[c].distinct);
            assert_null(A->perm); /* rows of one length stay where they are */
            drop(A, mat, &e);
        }
}

/* Makes rows of 0 to 12 entries: steps with and without padding, and tails. wide: columns too far
 * apart for 16 bits. */
static entries uneven_rows(double (*value)(int64_t k), bool wide) {
    entries e = {.rows = 61, .cols = 300000};
    for (int i = 0; i < e.rows; i++)
        for (int k = 0; k < i * 7 % 13; k++)
            add_entry(&e, i, i + (wide ? 20000 : 3) * k, value(e.nnz));
    return e;
}

static void assert_same_rows(const sell16_slices *A, int variant, const spmv_csr_view *rows) {
    int32_t *row = malloc((size_t)rows->nnz * sizeof *row);
    int32_t *col = malloc((size_t)rows->nnz * sizeof *col);
    double *values = malloc((size_t)rows->nnz * sizeof *values);
    int64_t next[64];
    assert_true(row && col && values);
    for (int64_t i = 0; i < rows->rows; i++) next[i] = rows->row_ptr[i];
    spmv_format_named("sell16", variant)->entries(&A->s, row, col, values);
    for (int64_t n = 0; n < rows->nnz; n++) {
        int64_t k = next[row[n]]++;
        double value = rows->values[k];
        if (variant == SPMV_F32_O32) value = (double)(float)value;
        assert_int_equal(col[n], rows->col_idx[k]);
        assert_memory_equal(values + n, &value, sizeof value);
    }
    free(row), free(col), free(values);
}

TEST(every_code_keeps_every_entry) {
    double (*const value[])(int64_t k) = {any_value, float_value, one_of_99, two_zeros, one_value};
    for (int c = 0; c < COUNT(value); c++)
        for (int turn = 0; turn < 4; turn++) {
            int variant = turn & 1 ? SPMV_F32_O32 : SPMV_F64_O32;
            spmv_mat *mat;
            entries e = uneven_rows(value[c], turn & 2);
            sell16_slices *A = store_of(&e, variant, 16, &mat);
            assert_true(A->nuneven > 0 && A->s.slots > A->s.nnz);
            assert_int_equal(A->slice[0].wide, (turn & 2) != 0);
            spmv_csr_view rows = rows_of(mat);
            assert_same_rows(A, variant, &rows);
            drop(A, mat, &e);
        }
}

TEST(values_that_f32_cannot_hold_are_counted) {
    spmv_store *store = NULL;
    spmv_choice c = {{0}};
    c.value[SPMV_sigma] = SELL16_ROWS;
    entries e = {.rows = SELL16_ROWS + 1, .cols = 4}; /* eight of steps, one of tails */
    for (int i = 0; i < e.rows; i++)
        for (int j = 0; j < 4; j++) add_entry(&e, i, j, j == 3 ? INFINITY : j == 2 ? 1 : -1e300);
    spmv_mat *mat = matrix_of(ctx, &e);
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(spmv_format_named("sell16", SPMV_F32_O32)->build(ctx, &A, &c, 2, &store),
                     SPMV_E_UNSUITABLE);
    assert_string_equal(spmv_ctx_error(ctx), "18 values are too large for f32");
    spmv_store_free(store);
    spmv_mat_free(mat);
    entries_free(&e);
}

/* 16 bits hold a span of 65,536 columns and no more; slices differ in that. */
TEST(wide_slices_get_wide_columns) {
    spmv_mat *mat;
    entries e = {.rows = 16, .cols = 200000};
    for (int i = 0; i < 16; i++) {
        add_entry(&e, i, 1000, 1);
        add_entry(&e, i, 1000 + UINT16_MAX + (i == 15), 2);
    }
    sell16_slices *A = store_of(&e, SPMV_F64_O32, 8, &mat);
    assert_int_equal(A->slice[0].wide, 0);
    assert_int_equal(A->slice[1].wide, 1);
    assert_int_equal(A->units, 8 * 2 + 8 * 2 * 2);
    drop(A, mat, &e);
}

/* Asserts that a product with these vector instructions is right, by sums in long double. */
static void assert_right(spmv_mat *mat, const entries *e, int64_t isa, spmv_precision precision) {
    const double unit = precision == SPMV_F32 ? 0x1p-24 : 0x1p-53;
    const size_t bytes = precision == SPMV_F32 ? sizeof(float) : sizeof(double);
    long double sum[64] = {0}, size[64] = {0};
    void *x = malloc((size_t)e->cols * bytes), *y = malloc((size_t)e->rows * bytes);
    spmv_plan *plan = plan_with_isa(mat, "sell16_lanes", precision, isa);
    assert_true(x && y);
    for (int64_t j = 0; j < e->cols; j++) {
        const double of_j = random_entry(9, (uint64_t)j);
        if (precision == SPMV_F32)
            ((float *)x)[j] = (float)of_j;
        else
            ((double *)x)[j] = of_j;
    }
    for (int64_t n = 0; n < e->nnz; n++) {
        const int32_t j = e->col[n];
        const long double product = (long double)e->values[n] *
                                    (precision == SPMV_F32 ? ((float *)x)[j] : ((double *)x)[j]);
        sum[e->row[n]] += product, size[e->row[n]] += fabsl(product);
    }
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
    spmv_plan_free(plan);
    for (int64_t i = 0; i < e->rows; i++) {
        const double of_i = precision == SPMV_F32 ? ((float *)y)[i] : ((double *)y)[i];
        assert_true(fabsl(of_i - sum[i]) <= 20 * unit * size[i]);
    }
    free(x), free(y);
}

TEST(every_instruction_set_multiplies_every_code) {
    double (*const value[])(int64_t k) = {any_value, float_value, one_of_99,
                                          one_of_16, one_of_8,    one_value};
    for (int c = 0; c < COUNT(value); c++)
        for (int wide = 0; wide < 2; wide++) {
            FREED(entries) e = uneven_rows(value[c], wide);
            FREED(spmv_mat) *mat = matrix_of(ctx, &e);
            for (int64_t isa = ISA_BEST; isa <= best_isa(); isa++) {
                assert_right(mat, &e, isa, SPMV_F64);
                assert_right(mat, &e, isa, SPMV_F32);
            }
        }
}

/* x is infinite where padding of other rows points. */
TEST(padding_does_not_reach_y) {
    enum { ROWS = SELL16_ROWS };
    double x[100], y[ROWS];
    FREED(entries) e = ragged_rows();
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    for (int j = 0; j < 100; j++) x[j] = 1;
    x[10] = INFINITY; /* in row 0 only, and the slice's least column */
    for (int64_t isa = ISA_BEST; isa <= best_isa(); isa++) {
        spmv_plan *plan = plan_with_isa(mat, "sell16_lanes", SPMV_F64, isa);
        assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
        spmv_plan_free(plan);
        for (int i = 0; i < ROWS; i++) assert_true(i == 0 ? !isfinite(y[i]) : isfinite(y[i]));
        assert_true(fabs(y[7] - 36) < 1e-13); /* 7 five times, and 0.1 + .. + 0.4 */
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
