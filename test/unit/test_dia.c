/* test_dia.c: contents of DIA stores: sizes computed by hand, rectangular matrices, stored zeros
 * beside padding; infinite x affects the rows with an entry in its column and no others; a forecast
 * allocates no memory; too many diagonals are refused before their allocation. */
#include "context.h"
#include "formats/dia/dia.h"

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define CAN_REFUSE 1
extern void *__libc_malloc(size_t bytes);
static size_t most_bytes; /* larger allocations of malloc are refused; 0: none */
static int refused;
void *malloc(size_t bytes) {
    if (!most_bytes || bytes <= most_bytes) return __libc_malloc(bytes);
    refused++;
    return NULL;
}
#else
#define CAN_REFUSE 0
static size_t most_bytes;
static int refused;
#endif

static dia *dia_of(const spmv_mat *mat) {
    const spmv_choice none = {{0}};
    spmv_store *store = NULL;
    spmv_csr_view A = rows_of(mat);
    const spmv_format *f = spmv_format_named("dia", SPMV_F64_O32);
    assert_int_equal(f->build(ctx, &A, &none, 2, &store), SPMV_OK);
    assert_int_equal(f->estimate(&A, &none), spmv_store_bytes(store));
    return (dia *)store;
}

/* Row i has entries in columns i + offset[k], where the matrix has them. */
static spmv_mat *matrix_of_offsets(int64_t rows, int64_t cols, const int64_t *offset, int n) {
    FREED(entries) e = {.rows = rows, .cols = cols};
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < n; k++)
            if (i + offset[k] >= 0 && i + offset[k] < cols)
                add_entry(&e, i, i + offset[k], (double)(100 * i + k + 1));
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

static size_t bytes_read(spmv_mat *mat) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "omp:dia", .offset_bits = 32};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    spmv_plan_facts facts = plan_facts_of(plan);
    return facts.traffic_bytes;
}

TEST(sizes_by_hand) {
    static const struct {
        int64_t rows, cols, offset[3];
        int n;
        int64_t diagonals, pitch, inside;
    } shapes[] = {
        {10, 10, {0}, 1, 1, 16, 10},        {10, 10, {-1, 0, 1}, 3, 3, 16, 28},
        {16, 9, {-12, 0, 5}, 3, 3, 16, 17}, {5, 20, {-4, 0, 18}, 3, 3, 8, 8},
        {8, 8, {-7, 7}, 2, 2, 8, 2},        {3, 3, {9}, 1, 0, 8, 0},
    };
    for (int s = 0; s < COUNT(shapes); s++) {
        FREED(spmv_mat) *mat =
            matrix_of_offsets(shapes[s].rows, shapes[s].cols, shapes[s].offset, shapes[s].n);
        dia *A = dia_of(mat);
        assert_int_equal(A->diagonals, shapes[s].diagonals);
        assert_int_equal(A->pitch, shapes[s].pitch);
        assert_int_equal(A->inside, shapes[s].inside);
        assert_int_equal(A->s.slots, A->diagonals * A->pitch);
        for (int k = 0; k < A->diagonals; k++) assert_int_equal(A->offsets[k], shapes[s].offset[k]);
        assert_int_equal(bytes_read(mat), shapes[s].inside * 8 + shapes[s].diagonals * 4);
        spmv_store_free(&A->s);
    }
}

/* An explicit zero of either sign is an entry; padding is not. */
TEST(zeros_are_entries) {
    int32_t row[3], col[3];
    double values[3];
    FREED(entries) e = {.rows = 6, .cols = 6};
    add_entry(&e, 1, 2, 0.0);
    add_entry(&e, 3, 4, -0.0);
    add_entry(&e, 4, 5, 7);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    dia *A = dia_of(mat);
    assert_int_equal(A->s.nnz, 3);
    assert_int_equal(A->diagonals, 1);
    spmv_format_named("dia", SPMV_F64_O32)->entries(&A->s, row, col, values);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(row[k], e.row[k]);
        assert_int_equal(col[k], e.col[k]);
        assert_true(values[k] == e.values[k]);
    }
    spmv_store_free(&A->s);
}

/* x is infinite in every column: rows of padding only are 0, a stored zero makes NaN. */
TEST(infinities_meet_entries_alone) {
    enum { N = 700 };
    FREED(entries) e = {.rows = N, .cols = N};
    double x[N], y[N];
    for (int64_t i = 0; i < N; i++) {
        x[i] = INFINITY;
        if (i % 3 == 0 && i + 2 < N) add_entry(&e, i, i + 2, i % 2 ? -0.0 : 0.0);
        if (i % 3 == 1) add_entry(&e, i, i, 5);
    }
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "omp:dia"};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
    for (int64_t i = 0; i < N; i++)
        if (i % 3 == 0 && i + 2 < N)
            assert_true(isnan(y[i]));
        else
            assert_true(y[i] == (i % 3 == 1 ? (double)INFINITY : 0));
}

/* Makes the antidiagonal: each entry lies on another diagonal; the diagonals exceed the bitmap on
 * the stack. */
static spmv_mat *one_per_diagonal(int64_t n) {
    FREED(entries) e = {.rows = n, .cols = n};
    for (int64_t i = 0; i < n; i++) add_entry(&e, i, n - 1 - i, 1);
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

TEST(a_forecast_needs_no_memory) {
    enum { N = 100000 };
    const spmv_choice none = {{0}};
    if (!CAN_REFUSE) skip();
    FREED(spmv_mat) *mat = one_per_diagonal(N);
    spmv_csr_view A = rows_of(mat);
    const spmv_format *f = spmv_format_named("dia", SPMV_F64_O32);
    size_t expected = (size_t)N * ((size_t)N * sizeof(double) + sizeof(idx));
    assert_int_equal(f->estimate(&A, &none), expected);
    assert_int_equal(refused, 0);
    most_bytes = 2 * N / 8 - 1;
    size_t forecast = f->estimate(&A, &none);
    most_bytes = 0;
    assert_int_equal(refused, 1);
    assert_int_equal(forecast, expected);
}

TEST(giants_are_refused) {
    FREED(spmv_mat) *mat = one_per_diagonal(1 << 21); /* 35 TB */
    for (int f32 = 0; f32 < 2; f32++) {
        spmv_plan_opts opts =
            WITH(spmv_plan_opts, .kernel = "omp:dia", .precision = f32 ? SPMV_F32 : SPMV_F64,
                 .offset_bits = f32 ? 32 : 64);
        spmv_plan *plan = (spmv_plan *)&opts;
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_TOOBIG);
        assert_null(plan);
        assert_null(mat->stores);
        const char *needs = f32 ? "dia_rows needs 1.759e+04 GB" : "dia_rows needs 3.518e+04 GB";
        assert_non_null(strstr(spmv_ctx_error(ctx), needs));
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
