/* test_transpose.c: plans by the transpose, and by both: what is kept of it, new values, facts,
 * the end of the matrix, and vectors that lie between each other. */
#include "host/context.h"
#include "matrix/matrix.h"
#include "testing.h"
#include <math.h>

/* 4 x 3, with a duplicate, an empty row and an empty column. */
static const int32_t rows[] = {0, 0, 1, 3, 3, 3}, cols[] = {2, 0, 2, 0, 0, 2};
static const double first[] = {1, 2, 3, 4, 5, 6}, second[] = {-1, 7, 0.5, 2, 2, 9};
enum { ROWS = 4, COLS = 3, NNZ = 6 };

static spmv_mat *small(spmv_ctx *ctx) {
    const spmv_coo_view view =
        COO_VIEW(ROWS, COLS, NNZ, rows, cols, first, .field = SPMV_REAL_FIELD);
    spmv_mat *mat = NULL;
    assert_int_equal(spmv_mat_coo(ctx, &view, SPMV_COPY, &mat), SPMV_OK);
    return mat;
}

static spmv_plan *plan_of(spmv_mat *mat, const char *kernel, spmv_op op, int refill) {
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .op = op, .refill = refill};
    spmv_plan *plan = NULL;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK)
        fail_msg("%s: %s", kernel, spmv_ctx_error(mat->ctx));
    return plan;
}

/* Asserts the product. The elements are small integers: sums are exact in any order. */
static void assert_multiplies(const spmv_plan *plan, spmv_op op, const double *values) {
    const double x[ROWS] = {1, 2, -1, 3};
    double z[ROWS], expected[ROWS] = {0};
    const int m = op == SPMV_TRANSPOSE ? COLS : ROWS;
    for (int k = 0; k < NNZ; k++) {
        if (op == SPMV_TRANSPOSE)
            expected[cols[k]] += values[k] * x[rows[k]];
        else
            expected[rows[k]] += values[k] * x[cols[k]];
    }
    const spmv_call call = {.size = sizeof call, .x = x, .z = z, .op = op};
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    for (int i = 0; i < m; i++) assert_true(z[i] == expected[i]);
}

TEST(rows_of_the_transpose_are_freed) {
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = small(ctx);
    FREED(spmv_plan) *sell = plan_of(mat, "sell_slices", SPMV_TRANSPOSE, 0);
    assert_non_null(mat->transpose);
    assert_null(mat->transpose->csr.row_ptr);
    assert_multiplies(sell, SPMV_TRANSPOSE, first);
    spmv_plan *csr = plan_of(mat, "csr_rows", SPMV_TRANSPOSE, 0); /* makes them again, to keep */
    assert_non_null(mat->transpose->csr.row_ptr);
    assert_multiplies(csr, SPMV_TRANSPOSE, first);
    assert_multiplies(sell, SPMV_TRANSPOSE, first);
    spmv_plan_free(csr);
}

/* Parts of threads are joined in the right places, whether entries are near the diagonal or not. */
TEST(any_number_of_threads_transposes) {
    static const char *const matrices[] = {"gen:poisson2d:150", "gen:random:15000:5"},
                             *const kernels[] = {"csr_scatter", "csr_rows"};
    for (int threads = 1; threads <= 13; threads++)
        for (int m = 0; m < 2; m++) {
            FREED(spmv_ctx) *ctx = context_of(threads);
            oracle reference;
            FREED(spmv_mat) *mat = must_load(ctx, matrices[m]);
            const int64_t n = mat->csr.rows;
            FREED(double) *x = random_vector(1, n), *z = malloc((size_t)n * sizeof *z);
            assert_non_null(z);
            assert_int_equal(oracle_make(mat, SPMV_TRANSPOSE, SPMV_F64, x, 1, &reference), SPMV_OK);
            for (int k = 0; k < 2; k++) {
                FREED(spmv_plan) *plan = plan_of(mat, kernels[k], SPMV_TRANSPOSE, 0);
                const spmv_call call = {.size = sizeof call, .x = x, .z = z, .op = SPMV_TRANSPOSE};
                assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
                assert_int_equal(oracle_check(&reference, SPMV_F64, 1, 0, NULL, z).bad_rows, 0);
            }
            oracle_free(&reference);
        }
}

/* With and without refill, in the plans of both, also after plans of the old ones were freed. */
/* Each column of a row lies in exactly one window, for any number of threads that share the row. */
TEST(windows_of_a_row_do_not_overlap) {
    enum { N = 100000, THREADS = 4 };
    FREED(spmv_ctx) *ctx = context_of(THREADS);
    FREED(entries) e = {.rows = 3, .cols = N};
    for (int j = 0; j < N; j++) add_entry(&e, 1, j, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_scatter", SPMV_TRANSPOSE, 0);
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_in_range(facts.scratch_bytes, N * sizeof(double), (N + N / 8) * sizeof(double));
}

TEST(new_values_reach_the_transpose) {
    for (int refill = 0; refill < 2; refill++) {
        FREED(spmv_ctx) *ctx = context_of(2);
        FREED(spmv_mat) *mat = small(ctx);
        spmv_plan *both = plan_of(mat, "sell_slices", SPMV_BOTH, refill);
        spmv_plan *csr = plan_of(mat, "csr_rows", SPMV_TRANSPOSE, refill);
        for (int turn = 0; turn < 3; turn++) {
            const double *values = turn % 2 ? first : second;
            assert_int_equal(spmv_mat_set_values(mat, values, SPMV_HOST, NULL), SPMV_OK);
            assert_multiplies(both, SPMV_AS_IS, values);
            assert_multiplies(both, SPMV_TRANSPOSE, values);
            assert_multiplies(csr, SPMV_TRANSPOSE, values);
        }
        spmv_plan_free(csr);
        spmv_plan_free(both);
        assert_int_equal(spmv_mat_set_values(mat, first, SPMV_HOST, NULL), SPMV_OK);
        both = plan_of(mat, "csr_rows", SPMV_BOTH, refill);
        assert_multiplies(both, SPMV_TRANSPOSE, first);
        spmv_plan_free(both);
    }
}

/* f32 holds 1e300 in no plan: matrix and plans stay as they were. */
TEST(refused_values_change_nothing) {
    FREED(spmv_ctx) *ctx = context_of(1);
    FREED(spmv_mat) *mat = small(ctx);
    spmv_plan *as_is = plan_of(mat, "csr_rows", SPMV_AS_IS, 0),
              *turned = plan_of(mat, "csr_rows", SPMV_TRANSPOSE, 0), *narrow[2];
    double large[NNZ];
    memcpy(large, second, sizeof large);
    large[1] = 1e300;
    for (int t = 0; t < 2; t++) {
        const spmv_plan_opts opts =
            WITH(spmv_plan_opts, .kernel = "csr_rows", .precision = SPMV_F32,
                 .op = t ? SPMV_TRANSPOSE : SPMV_AS_IS);
        assert_int_equal(spmv_plan_create(mat, &opts, &narrow[t]), SPMV_OK);
        assert_int_equal(spmv_mat_set_values(mat, large, SPMV_HOST, NULL), SPMV_E_UNSUITABLE);
        assert_multiplies(as_is, SPMV_AS_IS, first);
        assert_multiplies(turned, SPMV_TRANSPOSE, first);
        spmv_plan_free(narrow[t]);
    }
    spmv_plan_free(turned);
    spmv_plan_free(as_is);
}

TEST(facts_name_both) {
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = small(ctx), *symmetric = NULL;
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    spmv_plan *both = plan_of(mat, "csr_rows", SPMV_BOTH, 0);
    assert_int_equal(spmv_plan_info(both, &facts), SPMV_OK);
    assert_string_equal(facts.transposed_kernel, "csr_rows");
    assert_string_equal(facts.transposed_format, "csr");
    assert_true(facts.transposed_store_bytes > 0);
    spmv_plan_free(both);
    const spmv_coo_view triangle =
        COO_VIEW(ROWS, ROWS, 2, rows + 2, cols + 3, NULL, .symmetry = SPMV_SYMMETRIC);
    assert_int_equal(spmv_mat_coo(ctx, &triangle, SPMV_COPY, &symmetric), SPMV_OK);
    both = plan_of(symmetric, "csr_rows", SPMV_BOTH, 0);
    assert_int_equal(spmv_plan_info(both, &facts), SPMV_OK);
    assert_null(facts.transposed_kernel);
    spmv_plan_free(both);
}

/* Peers multiply by the transpose of the rows, without a transposed copy. */
TEST(libraries_get_no_transpose) {
    int tried = 0;
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        const spmv_kernel *kernel = spmv_omp.kernels[k][SPMV_F64_O32];
        if (!(kernel->traits & SPMV_TRANSPOSES) || kernel->traits & SPMV_NEEDS_SYMMETRY ||
            kernel->absent)
            continue;
        spmv_ctx *ctx = context_of(1);
        spmv_mat *mat = small(ctx);
        spmv_plan *plan = plan_of(mat, kernel->name, SPMV_BOTH, 0);
        spmv_plan *turned = plan_of(mat, kernel->name, SPMV_TRANSPOSE, 0);
        spmv_plan_facts one = SPMV_OPTS(spmv_plan_facts), both = SPMV_OPTS(spmv_plan_facts);
        assert_null(mat->transpose);
        assert_multiplies(plan, SPMV_AS_IS, first);
        assert_multiplies(plan, SPMV_TRANSPOSE, first);
        assert_multiplies(turned, SPMV_TRANSPOSE, first);
        assert_int_equal(spmv_plan_info(turned, &one), SPMV_OK);
        assert_int_equal(spmv_plan_info(plan, &both), SPMV_OK);
        assert_string_equal(both.transposed_kernel, kernel->name);
        assert_true(both.host_bytes == one.host_bytes + both.transposed_scratch_bytes);
        spmv_plan_free(turned);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        spmv_ctx_free(ctx);
        tried++;
    }
    if (tried == 0) skip();
}

static spmv_plan *auto_of(spmv_mat *mat, spmv_op op, int64_t calls, int64_t vectors) {
    const spmv_plan_opts opts = {
        .size = sizeof opts, .op = op, .expected_calls = calls, .vectors = vectors, .refill = 1};
    return must_plan(mat, &opts);
}

/* The number of products decides whether the matrix is transposed, not the clock. */
TEST(few_products_convert_nothing) {
    FREED(spmv_ctx) *ctx = context_of(1); /* no thread adds anything apart */
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    FREED(spmv_mat) *mat = must_load(ctx, "gen:random:8000:40");
    spmv_plan *few = auto_of(mat, SPMV_TRANSPOSE, 10, 1);
    assert_null(mat->transpose);
    assert_int_equal(spmv_plan_info(few, &facts), SPMV_OK);
    assert_string_equal(facts.kernel, "csr_scatter");
    assert_non_null(strstr(facts.reason, "10 products with"));
    assert_true(facts.scratch_bytes > 0);
    spmv_plan *both = auto_of(mat, SPMV_BOTH, 3, 1);
    assert_null(mat->transpose);
    spmv_plan_free(both);
    spmv_plan_free(few);
    spmv_plan *several = auto_of(mat, SPMV_TRANSPOSE, 10, 8);
    assert_non_null(mat->transpose);
    few = auto_of(mat, SPMV_TRANSPOSE, 10, 1); /* the transpose is there */
    assert_int_equal(spmv_plan_info(few, &facts), SPMV_OK);
    assert_string_not_equal(facts.kernel, "csr_scatter");
    spmv_plan_free(few);
    spmv_plan_free(several);
    FREED(spmv_plan) *unknown = auto_of(mat, SPMV_TRANSPOSE, 0, 1),
                     *many = auto_of(mat, SPMV_BOTH, 60, 1);
    assert_int_equal(spmv_plan_info(unknown, &facts), SPMV_OK);
    assert_string_not_equal(facts.kernel, "csr_scatter");
    assert_int_equal(spmv_plan_info(many, &facts), SPMV_OK);
    assert_string_not_equal(facts.transposed_kernel, "csr_scatter");
}

TEST(products_end_with_the_matrix) {
    FREED(spmv_ctx) *ctx = context_of(2);
    spmv_mat *mat = small(ctx);
    FREED(spmv_plan) *turned = plan_of(mat, "csr_rows", SPMV_TRANSPOSE, 0),
                     *both = plan_of(mat, "sell_slices", SPMV_BOTH, 0);
    double x[ROWS] = {0}, y[ROWS];
    spmv_mat_free(mat);
    assert_int_equal(spmv_exec(turned, 1, x, 0, y), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "freed"));
    assert_int_equal(spmv_exec(both, 1, x, 0, y), SPMV_E_ARG);
}

/* The transpose goes with its last plan, the matrix with the last of all, whichever that is. */
TEST(plans_of_a_freed_matrix_end_in_any_order) {
    static const int order[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int k = 0; k < COUNT(order); k++) {
        FREED(spmv_ctx) *ctx = context_of(2);
        spmv_mat *mat = small(ctx);
        spmv_plan *const plan[] = {plan_of(mat, "csr_rows", SPMV_AS_IS, 0),
                                   plan_of(mat, "csr_rows", SPMV_TRANSPOSE, 0),
                                   plan_of(mat, "sell_slices", SPMV_BOTH, 0)};
        assert_int_equal(ctx->matrices, 2);
        spmv_mat_free(mat);
        for (int j = 0; j < 3; j++) spmv_plan_free(plan[order[k][j]]);
        assert_int_equal(ctx->matrices, 0);
    }
}

/* x and z in one array: alternating vectors, or alternating elements of rows. */
TEST(vectors_may_lie_between_each_other) {
    enum { K = 3, N = 5, LD = 2 * N };
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = NULL;
    const int64_t row_ptr[] = {0, 1, 2, 3, 4, 5};
    const int32_t col_idx[] = {1, 2, 3, 4, 0};
    const double values[] = {1, 2, 3, 4, 5};
    const spmv_csr_view view = CSR_VIEW(N, N, N, row_ptr, col_idx, values);
    assert_int_equal(spmv_mat_csr(ctx, &view, &mat), SPMV_OK);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_rows", SPMV_AS_IS, 0);
    double array[LD * LD];
    spmv_call call = WITH(spmv_call, .x = array, .z = array + N, .k = K, .ldx = LD, .ldz = LD,
                          .layout = SPMV_COLUMNS);
    for (int k = 0; k < LD * LD; k++) array[k] = k;
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    for (int j = 0; j < K; j++)
        for (int i = 0; i < N; i++)
            assert_true(array[j * LD + N + i] == values[i] * (j * LD + col_idx[i]));
    call.layout = SPMV_ROWS, call.ldx = call.ldz = 2 * K, call.z = array + K;
    for (int k = 0; k < LD * LD; k++) array[k] = k;
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < K; j++)
            assert_true(array[i * 2 * K + K + j] == values[i] * (col_idx[i] * 2 * K + j));
    call.z = array + K - 1; /* one number in common */
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "overlaps x"));
    call.z = array + K, call.ldz = 2 * K + 1; /* meets x some rows on */
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_E_ARG);
    /* y has its own leading dimension, also where beta is 0 and nothing reads it. */
    const double zero = 0;
    double x[2 * N] = {0};
    call = WITH(spmv_call, .x = x, .beta = &zero, .y = array, .ldy = N, .z = array + 2 * N,
                .ldz = LD, .k = 2, .layout = SPMV_COLUMNS);
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    call.ldy = N - 1;
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "ldy"));
}

/* ---- new values, from each order in which they can be given ------------------------------- */

enum { ORDER_ROWS, ORDER_COLUMNS, ORDER_LENT, ORDER_NONE, ORDERS };

typedef struct scattered { /* a matrix whose values are small integers: sums are exact */
    enum { MATRIX_ROWS = 200, MATRIX_COLS = 150, MATRIX_NNZ = 1500 } unused;
    int32_t row[MATRIX_NNZ], col[MATRIX_NNZ]; /* as they are given */
    int64_t ptr[MATRIX_ROWS + 1];
    double f64[3][MATRIX_NNZ];
    float f32[3][MATRIX_NNZ];
} scattered;

/* Makes lines of different lengths, one of them long; ORDER_NONE: entries in random order. */
static void scatter(int order, scattered *s) {
    const int lines = order == ORDER_COLUMNS ? MATRIX_COLS : MATRIX_ROWS;
    const int places = order == ORDER_COLUMNS ? MATRIX_ROWS : MATRIX_COLS;
    int n = 0;
    *s = (scattered){.unused = 0};
    for (int i = 0; i < lines; i++) {
        const int length = i == 7 ? places : (i * 7) % 14;
        for (int k = 0; k < length && n < MATRIX_NNZ; k++, n++) {
            s->row[n] = i;
            s->col[n] = length == places ? k : (i + k * (places / 15)) % places;
        }
        for (int k = n - 1; k > s->ptr[i]; k--) /* ascending: one piece goes round the end */
            for (int64_t at = s->ptr[i]; at < k; at++)
                if (s->col[at] > s->col[at + 1]) {
                    const int32_t other = s->col[at];
                    s->col[at] = s->col[at + 1], s->col[at + 1] = other;
                }
        s->ptr[i + 1] = n;
    }
    for (int k = 0; order == ORDER_NONE && k < n; k++) {
        const int other = (int)((k * 7919LL) % n);
        const int32_t row = s->row[k], col = s->col[k];
        s->row[k] = s->row[other], s->col[k] = s->col[other];
        s->row[other] = row, s->col[other] = col;
    }
    for (int t = 0; t < 3; t++)
        for (int k = 0; k < n; k++)
            s->f64[t][k] = s->f32[t][k] = (float)((k * 31 + t * 7) % 19 - 9);
}

static spmv_mat *matrix_in(spmv_ctx *ctx, int order, spmv_precision p, const scattered *s) {
    const int lines = order == ORDER_COLUMNS ? MATRIX_COLS : MATRIX_ROWS;
    const spmv_arrays lists = ARRAYS(MATRIX_ROWS, MATRIX_COLS, s->ptr[lines], s->ptr, 64, s->col,
                                     p == SPMV_F32 ? (const void *)s->f32[0] : s->f64[0],
                                     .precision = p, .by_columns = order == ORDER_COLUMNS,
                                     .flags = order == ORDER_LENT ? SPMV_BORROW : SPMV_COPY);
    const spmv_coo_view unordered =
        COO_VIEW(MATRIX_ROWS, MATRIX_COLS, s->ptr[lines], s->row, s->col, s->f64[0]);
    spmv_mat *mat = NULL;
    const spmv_status status = order == ORDER_NONE ? spmv_mat_coo(ctx, &unordered, SPMV_COPY, &mat)
                                                   : spmv_mat_create(ctx, &lists, &mat);
    assert_int_equal(status, SPMV_OK);
    return mat;
}

/* Multiplies by A or its transpose, with the values that were set last. */
static void assert_scattered(const spmv_plan *plan, bool transposed, spmv_precision p, int order,
                             const scattered *s, int t) {
    double expected[MATRIX_ROWS] = {0}, x[MATRIX_ROWS], z[MATRIX_ROWS];
    float x32[MATRIX_ROWS], z32[MATRIX_ROWS];
    for (int i = 0; i < MATRIX_ROWS; i++) x[i] = x32[i] = (float)(i % 11 - 5);
    const int lines = order == ORDER_COLUMNS ? MATRIX_COLS : MATRIX_ROWS;
    for (int64_t k = 0; k < s->ptr[lines]; k++) {
        const int i = order == ORDER_COLUMNS ? s->col[k] : s->row[k];
        const int j = order == ORDER_COLUMNS ? s->row[k] : s->col[k];
        expected[transposed ? j : i] += s->f64[t][k] * x[transposed ? i : j];
    }
    const bool narrow = p == SPMV_F32;
    assert_int_equal(spmv_exec(plan, 1, narrow ? (void *)x32 : x, 0, narrow ? (void *)z32 : z),
                     SPMV_OK);
    for (int i = 0; i < (transposed ? MATRIX_COLS : MATRIX_ROWS); i++)
        assert_true((narrow ? (double)z32[i] : z[i]) == expected[i]);
}

static void give(spmv_mat *mat, spmv_precision p, const scattered *s, int t) {
    const void *values = p == SPMV_F32 ? (const void *)s->f32[t] : s->f64[t];
    assert_int_equal(spmv_mat_set_values(mat, values, SPMV_HOST, NULL), SPMV_OK);
}

/* Values of the matrix itself, which only a plan of the transpose may have. */
static void assert_has_values(spmv_mat *mat, int order, const scattered *s, int t) {
    FREED(spmv_plan) *as_is = plan_of(mat, "csr_rows", SPMV_AS_IS, 1);
    assert_scattered(as_is, false, SPMV_F64, order, s, t);
}

static void give_to_kernel(const char *kernel, int order, spmv_precision p, const scattered *s) {
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = matrix_in(ctx, order, p, s);
    const spmv_plan_opts opts = {
        .size = sizeof opts, .kernel = kernel, .precision = p, .op = SPMV_TRANSPOSE, .refill = 1};
    spmv_plan *plan = NULL, *other = NULL;
    if (spmv_plan_create(mat, &opts, &plan) == SPMV_OK) {
        for (int t = 0; t < 3; t++) {
            give(mat, p, s, t);
            assert_scattered(plan, true, p, order, s, t);
        }
        assert_has_values(mat, order, s, 2);
        give(mat, p, s, 1);
        other = plan_of(mat, "coo_segments", SPMV_TRANSPOSE, 1); /* rows are made again */
        assert_scattered(other, true, SPMV_F64, order, s, 1);
        give(mat, p, s, 0);
        assert_scattered(plan, true, p, order, s, 0);
        assert_scattered(other, true, SPMV_F64, order, s, 0);
        spmv_plan_free(other);
        give(mat, p, s, 2);
        spmv_plan_free(plan);
        assert_has_values(mat, order, s, 2); /* after its last plan */
        give(mat, p, s, 0);
        assert_has_values(mat, order, s, 0);
    }
}

TEST(new_values_come_in_any_order) {
    scattered s;
    for (int order = 0; order < ORDERS; order++) {
        scatter(order, &s);
        for (int k = 0; k < spmv_omp.nkernels; k++)
            for (int p = SPMV_F64; p <= (order == ORDER_NONE ? SPMV_F64 : SPMV_F32); p++)
                if (!(spmv_omp.kernels[k][0]->traits & SPMV_PEER))
                    give_to_kernel(spmv_omp.names[k], order, (spmv_precision)p, &s);
    }
}

/* A plan with new values keeps only its store and the positions of the values in it. */
TEST(rows_are_freed_once_values_are_placed) {
    scattered s;
    scatter(ORDER_ROWS, &s);
    FREED(spmv_ctx) *ctx = context_of(1);
    FREED(spmv_mat) *mat = matrix_in(ctx, ORDER_ROWS, SPMV_F64, &s);
    FREED(spmv_plan) *plan = plan_of(mat, "coo_segments", SPMV_TRANSPOSE, 1);
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    give(mat, SPMV_F64, &s, 1);
    assert_null(mat->transpose->csr.row_ptr);
    assert_null(mat->transpose->turned);
    assert_int_equal(spmv_plan_info(plan, &facts), SPMV_OK);
    assert_int_equal(facts.host_bytes, spmv_mat_own_bytes(mat) + facts.store_bytes +
                                           facts.scratch_bytes +
                                           (size_t)mat->csr.nnz * sizeof(uint32_t));
    /* While the matrix has an untransposed plan, new values pass through its rows and through those
     * of its transpose; neither is rebuilt each time. */
    spmv_plan *as_is = plan_of(mat, "csr_rows", SPMV_AS_IS, 1);
    give(mat, SPMV_F64, &s, 2);
    const int64_t *kept = mat->transpose->csr.row_ptr;
    assert_non_null(kept);
    give(mat, SPMV_F64, &s, 0);
    assert_ptr_equal(mat->transpose->csr.row_ptr, kept);
    spmv_plan_free(as_is);
    give(mat, SPMV_F64, &s, 1);
    assert_null(mat->transpose->csr.row_ptr);
}

/* More entries than stay in the caches; the caller's order is that of rows. */
TEST(many_new_values_reach_the_transpose) {
    static const char *const kernels[] = {"csr_balanced", "sell16_lanes", "csr_tiles_copied"};
    enum { N = 3000 };
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *from = must_load(ctx, "gen:random:3000:400");
    spmv_csr_view A = rows_of(from);
    double *x = random_vector(5, N), y[N], *f64 = random_vector(7, A.nnz);
    FREED(float) *f32 = malloc((size_t)A.nnz * sizeof *f32);
    for (int64_t k = 0; k < A.nnz; k++) f64[k] = f32[k] = (float)f64[k];
    for (int p = SPMV_F64; p <= SPMV_F32; p++)
        for (int k = 0; k < COUNT(kernels); k++) {
            const void *values = p == SPMV_F32 ? (void *)f32 : f64;
            FREED(double) *zero = calloc((size_t)A.nnz, sizeof *zero);
            const spmv_arrays a =
                ARRAYS(N, N, A.nnz, A.row_ptr, 64, A.col_idx, zero, .precision = (spmv_precision)p);
            const spmv_plan_opts opts = {
                .size = sizeof opts, .kernel = kernels[k], .op = SPMV_TRANSPOSE, .refill = 1};
            FREED(spmv_mat) *mat = NULL;
            assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
            FREED(spmv_plan) *plan = must_plan(mat, &opts);
            assert_int_equal(spmv_mat_set_values(mat, values, SPMV_HOST, NULL), SPMV_OK);
            assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
            for (int64_t i = 0; i < N; i++)
                for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
                    y[A.col_idx[e]] -= f64[e] * x[i];
            for (int j = 0; j < N; j++) assert_true(fabs(y[j]) < 1e-11);
        }
    free(f64);
    free(x);
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
