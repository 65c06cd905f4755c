/* solver.h: what solvers of A x = b share: Jacobi's preconditioner, and a program that makes b such
 * that every entry of x is 1, and says how the solver got there. */
#ifndef SOLVER_H
#define SOLVER_H

#include "example.h"
#include <math.h>

/* Returns the inverse of each diagonal entry. */
static inline double *invert_diagonal(const spmv_ctx *ctx, const spmv_mat *A) {
    spmv_csr_view rows = SPMV_OPTS(spmv_csr_view);
    check(ctx, spmv_mat_rows(A, &rows));
    double *inverse = vector(rows.rows);
    for (int64_t i = 0; i < rows.rows; i++)
        for (int64_t k = rows.row_ptr[i]; k < rows.row_ptr[i + 1]; k++)
            if (rows.col_idx[k] == i) inverse[i] = 1 / rows.values[k];
    return inverse;
}

typedef struct course { /* progress of a solver */
    int iterations;
    double seconds, products_s;
} course;

/* Solves to a relative residual, from x = 0. inverse: of the diagonal of A. */
typedef course solver(product *A, int64_t n, const double *inverse, const double *b,
                      double tolerance, double *x);

/* Is the main function: takes [MATRIX [KERNEL]], and returns what the program should exit with. */
static inline int run_solver(solver *solve, int argc, char **argv) {
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
    const course c = solve(&A, of.rows, inverse, b, 1e-10, x);
    for (int64_t i = 0; i < of.rows; i++) error = fmax(error, fabs(x[i] - 1));
    printf("%lld unknowns, %d iterations, error %.1e\n", (long long)of.rows, c.iterations, error);
    printf("an iteration takes %.1f us, %.1f of them beside its products\n",
           c.seconds / c.iterations * 1e6, (c.seconds - c.products_s) / c.iterations * 1e6);
    report(&A);

    free(x), free(b), free(inverse);
    finish(&A), spmv_mat_free(matrix), spmv_ctx_free(ctx);
    return error < 1e-6 ? 0 : 1;
}

#endif
