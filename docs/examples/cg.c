/* cg.c: solves A x = b by conjugate gradients with Jacobi's preconditioner, the inverse of the
 * diagonal. A is symmetric positive definite, and b is such that every entry of x is 1.
 *
 *     cg [MATRIX [KERNEL]]
 *
 * MATRIX is a Matrix Market file or a generated matrix. KERNEL "cuda:auto": on a GPU. */
#include "example.h"
#include <math.h>

enum { MOST_ITERATIONS = 2000 };

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Returns the inverse of each diagonal entry. */
static double *invert_diagonal(const spmv_ctx *ctx, const spmv_mat *A) {
    spmv_csr_view rows = SPMV_OPTS(spmv_csr_view);
    check(ctx, spmv_mat_rows(A, &rows));
    double *inverse = vector(rows.rows);
    for (int64_t i = 0; i < rows.rows; i++)
        for (int64_t k = rows.row_ptr[i]; k < rows.row_ptr[i + 1]; k++)
            if (rows.col_idx[k] == i) inverse[i] = 1 / rows.values[k];
    return inverse;
}

/* Solves to a relative residual; returns the number of iterations. */
static int solve(product *A, int64_t n, const double *inverse, const double *b, double tolerance,
                 double *x) {
    double *r = vector(n), *z = vector(n), *p = vector(n), *q = vector(n);
    const double limit = tolerance * sqrt(dot(n, b, b));
    double rho = 0;
    int iterations = 0;
    for (int64_t i = 0; i < n; i++) x[i] = 0, r[i] = b[i];
    while (sqrt(dot(n, r, r)) > limit && iterations < MOST_ITERATIONS) {
        for (int64_t i = 0; i < n; i++) z[i] = inverse[i] * r[i];
        const double last = rho;
        rho = dot(n, r, z);
        const double beta = iterations ? rho / last : 0;
        for (int64_t i = 0; i < n; i++) p[i] = z[i] + beta * p[i];
        multiply(A, 1.0, p, 0.0, q); /* q = A p */
        iterations++;
        const double alpha = rho / dot(n, p, q);
        for (int64_t i = 0; i < n; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
    }
    free(r), free(z), free(p), free(q);
    return iterations;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "gen:poisson2d:300";
    const char *kernel = argc > 2 ? argv[2] : "auto";
    spmv_ctx *ctx = NULL;
    spmv_mat *matrix = NULL;
    spmv_stats of = SPMV_OPTS(spmv_stats);
    double error = 0;
    check(ctx, spmv_ctx_create(NULL, &ctx));
    check(ctx, spmv_mat_load(ctx, path, NULL, &matrix));
    check(ctx, spmv_mat_stats(matrix, &of));
    product A = prepare(ctx, matrix, SPMV_AS_IS, kernel, 500, 0);

    double *x = vector(of.rows), *b = vector(of.rows), *inverse = invert_diagonal(ctx, matrix);
    for (int64_t i = 0; i < of.cols; i++) x[i] = 1;
    multiply(&A, 1.0, x, 0.0, b);
    const int iterations = solve(&A, of.rows, inverse, b, 1e-10, x);
    for (int64_t i = 0; i < of.rows; i++) error = fmax(error, fabs(x[i] - 1));
    printf("%lld unknowns, %d iterations, error %.1e\n", (long long)of.rows, iterations, error);
    report(&A);

    free(x), free(b), free(inverse);
    finish(&A), spmv_mat_free(matrix), spmv_ctx_free(ctx);
    return error < 1e-6 ? 0 : 1;
}
