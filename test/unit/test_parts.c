/* test_parts.c: kernels whose threads take over chunks of each other's shares: every row is
 * multiplied once, to the same bits, whatever the threads, by a team smaller than the plan's, and
 * with every instruction set.
 */
#include "generate/generate.h"
#include "instructions.h"
#include "omp/symmetric/mirror.h"
#include "omp/chunks.h"

enum { THREADS = 3 };

/* isa 0: the best there is, or the kernel takes none. */
static spmv_plan *plan_of(spmv_mat *mat, const char *kernel, int64_t isa) {
    const spmv_setting settings[] = {{"isa", isa}, {"shape_rows", 3}, {"shape_cols", 3}};
    const bool blocked = !strcmp(kernel, "bsr_lanes");
    const spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel, .settings = settings,
                                     .nsettings = blocked ? 3 : isa > 0);
    spmv_plan *plan = NULL;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) fail_msg("%s: no plan", kernel);
    return plan;
}

/* y <- A x + y / 2, so that a row multiplied twice shows; to be freed. */
static double *multiply(const spmv_plan *plan, int64_t rows, int64_t cols) {
    double *x = malloc((size_t)cols * sizeof *x), *y = malloc((size_t)rows * sizeof *y);
    assert_true(x && y);
    for (int64_t k = 0; k < cols; k++) x[k] = random_entry(5, (uint64_t)k);
    for (int64_t k = 0; k < rows; k++) y[k] = random_entry(6, (uint64_t)k);
    assert_int_equal(spmv_exec(plan, 1, x, 0.5, y), SPMV_OK);
    free(x);
    return y;
}

/* A parallel region inside another has one thread. */
static double *multiply_alone(const spmv_plan *plan, int64_t rows, int64_t cols) {
    double *y = NULL;
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp single
    y = multiply(plan, rows, cols);
    omp_set_max_active_levels(levels);
    return y;
}

/* All have the same bits, and are freed. */
static void check_products(const char *kernel, int64_t isa, double **y, int count, int64_t rows,
                           const double *expected) {
    for (int64_t i = 0; i < rows; i++) assert_true(fabs(y[0][i] - expected[i]) < 1e-12);
    for (int n = 1; n < count; n++)
        if (memcmp(y[n], y[0], (size_t)rows * sizeof **y))
            fail_msg("%s, isa %d: product %d has other bits", kernel, (int)isa, n);
    for (int n = 0; n < count; n++) free(y[n]);
}

static spmv_mat *load(int threads) {
    return must_load(context_of(threads), "gen:mesh:40000:3");
}

static void drop(spmv_mat *mat) {
    spmv_ctx *ctx = mat->ctx;
    spmv_mat_free(mat);
    spmv_ctx_free(ctx);
}

static void try_chunks(spmv_mat *one, spmv_mat *many, const char *kernel, int64_t isa,
                       const spmv_stats *s, const double *expected) {
    spmv_plan *of_one = plan_of(one, kernel, isa), *of_many = plan_of(many, kernel, isa);
    if (((chunks *)of_many->scratch)->per_share < 2) fail_msg("%s: shares are not cut", kernel);
    double *y[] = {multiply(of_one, s->rows, s->cols), multiply(of_many, s->rows, s->cols),
                   multiply(of_many, s->rows, s->cols), multiply_alone(of_many, s->rows, s->cols)};
    check_products(kernel, isa, y, COUNT(y), s->rows, expected);
    spmv_plan_free(of_one);
    spmv_plan_free(of_many);
}

/* Shares of 8 MB and more are cut into many chunks. */
TEST(chunks_are_multiplied_once) {
    static const char *const kernels[] = {"csell_slices", "sell16_lanes", "spc5_rows", "bsr_lanes"};
    spmv_mat *one = load(1), *many = load(THREADS);
    spmv_stats s = stats_of(one);
    spmv_plan *plan = plan_of(one, "csr_serial", 0);
    double *expected = multiply(plan, s.rows, s.cols);
    spmv_plan_free(plan);
    for (int k = 0; k < COUNT(kernels); k++)
        for (int64_t isa = ISA_PORTABLE; isa <= best_isa(); isa++)
            try_chunks(one, many, kernels[k], isa, &s, expected);
    free(expected);
    drop(one);
    drop(many);
}

static spmv_mat *load_symmetric(int threads) {
    spmv_ctx *ctx = context_of(threads);
    spmv_mat *mat = NULL;
    spmv_coo coo;
    assert_int_equal(spmv_generate(ctx, "poisson2d:64x5000", 1, "symmetric", 1, &coo), SPMV_OK);
    spmv_coo_view view = COO_VIEW(coo.rows, coo.cols, coo.nnz, coo.row, coo.col, coo.values);
    assert_int_equal(spmv_mat_coo(ctx, &view, SPMV_COPY, &mat), SPMV_OK);
    spmv_coo_free(&coo);
    return mat;
}

static void try_ranges(spmv_mat *mat, const char *kernel, int64_t isa, const spmv_stats *s,
                       const double *expected) {
    spmv_plan *plan = plan_of(mat, kernel, isa);
    if (((ranges *)plan->scratch)->count <= THREADS) fail_msg("%s: no turns", kernel);
    double *y[] = {multiply(plan, s->rows, s->cols), multiply(plan, s->rows, s->cols),
                   multiply_alone(plan, s->rows, s->cols)};
    check_products(kernel, isa, y, COUNT(y), s->rows, expected);
    spmv_plan_free(plan);
}

/* Ranges with windows, more than threads: the bits of the result depend on the ranges only. */
TEST(ranges_are_multiplied_once) {
    spmv_mat *mat = load_symmetric(THREADS);
    spmv_stats s = stats_of(mat);
    spmv_plan *plan = plan_of(mat, "csr_serial", 0);
    double *expected = multiply(plan, s.rows, s.cols);
    spmv_plan_free(plan);
    try_ranges(mat, "sss_rows", 0, &s, expected);
    for (int64_t isa = ISA_PORTABLE; isa <= best_isa(); isa++)
        try_ranges(mat, "csell_sym_slices", isa, &s, expected);
    free(expected);
    drop(mat);
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
