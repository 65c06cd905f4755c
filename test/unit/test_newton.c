/* test_newton.c: Newton's method: a plan is made once, every step has new values. The equation is
 * -laplace u + u^3 = f on a square of N x N points at distance H, times H^2, whose solution is
 * known; each linear system is solved by conjugate gradients with the diagonal as
 * preconditioner. */
#include "api.h"

enum { N = 40, ROWS = N * N, MOST_STEPS = 8, MOST_ITERATIONS = 400 };

static const double H2 = 1.0 / ((N + 1) * (N + 1)); /* H^2 */

typedef struct problem {
    int64_t ptr[ROWS + 1];
    int32_t idx[5 * ROWS];
    double laplace[5 * ROWS], jacobian[5 * ROWS]; /* the same pattern */
    double solution[ROWS], f[ROWS], u[ROWS];
} problem;

static void add_entry(problem *p, int64_t *k, int i, int j, double value) {
    if (i < 0 || i >= N || j < 0 || j >= N) return;
    p->idx[*k] = i * N + j;
    p->laplace[(*k)++] = value;
}

static void fill_pattern(problem *p) {
    int64_t k = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            p->ptr[i * N + j] = k;
            add_entry(p, &k, i - 1, j, -1);
            add_entry(p, &k, i, j - 1, -1);
            add_entry(p, &k, i, j, 4);
            add_entry(p, &k, i, j + 1, -1);
            add_entry(p, &k, i + 1, j, -1);
        }
    p->ptr[ROWS] = k;
}

/* y = laplace x */
static void apply_laplace(const problem *p, const double *x, double *y) {
    for (int r = 0; r < ROWS; r++) {
        y[r] = 0;
        for (int64_t k = p->ptr[r]; k < p->ptr[r + 1]; k++) y[r] += p->laplace[k] * x[p->idx[k]];
    }
}

static problem *make_problem(void) {
    const double pi = 3.14159265358979323846;
    problem *p = calloc(1, sizeof *p);
    assert_non_null(p);
    fill_pattern(p);
    for (int r = 0; r < ROWS; r++)
        p->solution[r] = 2 * sin(pi * (r / N + 1) / (N + 1)) * sin(2 * pi * (r % N + 1) / (N + 1));
    apply_laplace(p, p->solution, p->f);
    for (int r = 0; r < ROWS; r++) p->f[r] += H2 * pow(p->solution[r], 3);
    return p;
}

/* jacobian = laplace + diag(3 H^2 u^2) */
static void assemble(problem *p, double *diagonal) {
    for (int r = 0; r < ROWS; r++)
        for (int64_t k = p->ptr[r]; k < p->ptr[r + 1]; k++) {
            bool is_diagonal = p->idx[k] == r;
            p->jacobian[k] = p->laplace[k] + (is_diagonal ? 3 * H2 * p->u[r] * p->u[r] : 0);
            if (is_diagonal) diagonal[r] = p->jacobian[k];
        }
}

static double dot(const double *a, const double *b) {
    double sum = 0;
    for (int r = 0; r < ROWS; r++) sum += a[r] * b[r];
    return sum;
}

/* Solves A x = b for x, which begins as 0. */
static void solve(const spmv_plan *plan, const double *diagonal, const double *b, double *x) {
    double r[ROWS], z[ROWS], d[ROWS], q[ROWS];
    for (int k = 0; k < ROWS; k++) x[k] = 0, r[k] = b[k], d[k] = z[k] = r[k] / diagonal[k];
    const double least = 1e-24 * dot(b, b);
    double rz = dot(r, z);
    for (int n = 0; n < MOST_ITERATIONS && dot(r, r) > least; n++) {
        assert_int_equal(spmv_exec(plan, 1, d, 0, q), SPMV_OK);
        double alpha = rz / dot(d, q), before = rz;
        for (int k = 0; k < ROWS; k++) x[k] += alpha * d[k], r[k] -= alpha * q[k];
        for (int k = 0; k < ROWS; k++) z[k] = r[k] / diagonal[k];
        rz = dot(r, z);
        for (int k = 0; k < ROWS; k++) d[k] = z[k] + rz / before * d[k];
    }
    assert_true(dot(r, r) <= least);
}

static double error_of(const problem *p) {
    double most = 0;
    for (int r = 0; r < ROWS; r++) most = fmax(most, fabs(p->u[r] - p->solution[r]));
    return most;
}

/* Returns how many steps it took. */
static int run_newton(problem *p, spmv_mat *mat, const spmv_plan *plan) {
    double residual[ROWS], diagonal[ROWS], correction[ROWS];
    memset(p->u, 0, sizeof p->u);
    for (int step = 0; step < MOST_STEPS; step++) {
        apply_laplace(p, p->u, residual);
        for (int r = 0; r < ROWS; r++) residual[r] = p->f[r] - residual[r] - H2 * pow(p->u[r], 3);
        if (dot(residual, residual) < 1e-24) return step;
        assemble(p, diagonal);
        assert_int_equal(spmv_mat_set_values(mat, p->jacobian, SPMV_HOST, NULL), SPMV_OK);
        solve(plan, diagonal, residual, correction);
        for (int r = 0; r < ROWS; r++) p->u[r] += correction[r];
    }
    return MOST_STEPS;
}

/* With the values of the first step alone it takes more than twice as many. */
TEST(newton_converges_with_every_kernel) {
    static const char *const kernels[] = {
        "auto",     "csr_rows",     "csr_balanced", "sell_slices", "bsr_rows", "coo_segments",
        "ell_rows", "csell_slices", "sell16_lanes", "spc5_rows",   "sss_rows"};
    problem *p = make_problem();
    spmv_arrays arrays =
        ARRAYS(ROWS, ROWS, p->ptr[ROWS], p->ptr, 64, p->idx, p->laplace, .flags = SPMV_SORTED);
    FREED(spmv_mat) *mat = NULL;
    assert_int_equal(spmv_mat_create(ctx, &arrays, &mat), SPMV_OK);
    for (int k = 0; k < COUNT(kernels); k++) {
        spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernels[k],
                                   .expected_calls = MOST_STEPS * MOST_ITERATIONS, .refill = 1);
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        int steps = run_newton(p, mat, plan);
        if (steps >= MOST_STEPS || error_of(p) > 1e-9)
            fail_msg("%s: %d steps, error %g", kernels[k], steps, error_of(p));
    }
    free(p);
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
