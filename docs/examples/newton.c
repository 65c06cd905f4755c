/* newton.c: Newton's method for Bratu's problem, -u'' = lambda exp(u) on the unit square, u = 0 on
 * its boundary. Every step has a Jacobian of new values and of the same pattern: the plan gets the
 * new values instead of being made again.
 *
 *     newton [N [KERNEL]]
 *
 * There are N x N unknowns. KERNEL "cuda:auto": on a GPU. */
#include "example.h"
#include <math.h>

static const double lambda = 6;
enum { MOST_STEPS = 20, MOST_ITERATIONS = 3000 };

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* f <- h^2 lambda exp(u) - L u, with L the five-point Laplacian; its norm. */
static double evaluate(int64_t n, const double *u, double *f) {
    const double h = 1 / (double)(n + 1);
    for (int64_t i = 0; i < n * n; i++)
        f[i] = h * h * lambda * exp(u[i]) - 4 * u[i] + (i >= n ? u[i - n] : 0) +
               (i < n * n - n ? u[i + n] : 0) + (i % n ? u[i - 1] : 0) +
               (i % n < n - 1 ? u[i + 1] : 0);
    return sqrt(dot(n * n, f, f));
}

/* Computes the values of L - h^2 lambda diag(exp(u)), in the order of L's entries. */
static void fill_jacobian(const spmv_csr_view *L, int64_t n, const double *u, double *values) {
    const double h = 1 / (double)(n + 1);
    for (int64_t i = 0; i < L->rows; i++)
        for (int64_t k = L->row_ptr[i]; k < L->row_ptr[i + 1]; k++)
            values[k] = L->col_idx[k] == i ? 4 - h * h * lambda * exp(u[i]) : -1;
}

/* Conjugate gradients for J d = f, which leave the residual in f. */
static void solve(product *J, int64_t n, double *f, double *d) {
    double *p = vector(n), *q = vector(n), rho = dot(n, f, f);
    const double limit = 1e-12 * rho;
    for (int64_t i = 0; i < n; i++) d[i] = 0, p[i] = f[i];
    for (int k = 0; rho > limit && k < MOST_ITERATIONS; k++) {
        multiply(J, 1.0, p, 0.0, q); /* q = J p */
        const double alpha = rho / dot(n, p, q), last = rho;
        for (int64_t i = 0; i < n; i++) d[i] += alpha * p[i], f[i] -= alpha * q[i];
        rho = dot(n, f, f);
        for (int64_t i = 0; i < n; i++) p[i] = f[i] + rho / last * p[i];
    }
    free(p), free(q);
}

int main(int argc, char **argv) {
    const int64_t n = argc > 1 ? atoll(argv[1]) : 200, unknowns = n * n;
    const char *kernel = argc > 2 ? argv[2] : "auto";
    char name[64];
    spmv_ctx *ctx = NULL;
    spmv_mat *laplacian = NULL, *jacobian = NULL;
    spmv_csr_view L = SPMV_OPTS(spmv_csr_view);
    double refill_s = 0;
    snprintf(name, sizeof name, "gen:poisson2d:%lld", (long long)n);
    check(ctx, spmv_ctx_create(NULL, &ctx));
    check(ctx, spmv_mat_load(ctx, name, NULL, &laplacian));
    check(ctx, spmv_mat_rows(laplacian, &L));

    double *u = vector(unknowns), *f = vector(unknowns), *d = vector(unknowns),
           *values = vector(L.nnz);
    fill_jacobian(&L, n, u, values);
    L.values = values;
    check(ctx, spmv_mat_csr(ctx, &L, &jacobian));
    product J = prepare(ctx, jacobian, SPMV_AS_IS, kernel, 1000, 1);
    int steps = 0;
    const double first = evaluate(n, u, f);
    double rest = first;
    for (; rest > 1e-10 * first && steps < MOST_STEPS; steps++) {
        const double start = clock_s();
        fill_jacobian(&L, n, u, values);
        check(ctx, spmv_mat_set_values(jacobian, values, SPMV_HOST, NULL));
        refill_s += clock_s() - start;
        solve(&J, unknowns, f, d);
        for (int64_t i = 0; i < unknowns; i++) u[i] += d[i];
        rest = evaluate(n, u, f);
    }
    printf("%lld unknowns, %d Newton steps, residual %.1e of the first, new values in %.2f ms\n",
           (long long)unknowns, steps, rest / first, refill_s / steps * 1e3);
    report(&J);

    free(u), free(f), free(d), free(values);
    finish(&J), spmv_mat_free(jacobian), spmv_mat_free(laplacian), spmv_ctx_free(ctx);
    return rest <= 1e-10 * first ? 0 : 1;
}
