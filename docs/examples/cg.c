/* cg.c: solves A x = b by conjugate gradients with Jacobi's preconditioner, the inverse of the
 * diagonal. A is symmetric positive definite, and b is such that every entry of x is 1.
 *
 *     cg [MATRIX [KERNEL]]
 *
 * MATRIX is a Matrix Market file or a generated matrix. KERNEL "cuda:auto": on a GPU. */
#include "example.h"
#include <math.h>

enum { MOST_ITERATIONS = 2000 };

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

/* Two loops follow the product in an iteration. They move eight vectors from or to memory, and the
 * preconditioner twice. */
typedef struct sums {
    double rr, rho; /* r'r; r'z, where z is the preconditioned r */
} sums;

/* r -= alpha q */
static sums update_residual(int64_t n, double alpha, const double *q, const double *inverse,
                            double *r) {
    double rr = 0, rho = 0;
#pragma omp parallel for simd reduction(+ : rr, rho)
    for (int64_t i = 0; i < n; i++) {
        const double now = r[i] - alpha * q[i];
        r[i] = now;
        rr += now * now;
        rho += inverse[i] * now * now;
    }
    return (sums){rr, rho};
}

/* x += alpha p, p = z + beta p */
static void update_x_and_p(int64_t n, double alpha, double beta, const double *r,
                           const double *inverse, double *x, double *p) {
#pragma omp parallel for simd
    for (int64_t i = 0; i < n; i++) {
        const double before = p[i];
        x[i] += alpha * before;
        p[i] = inverse[i] * r[i] + beta * before;
    }
}

typedef struct course { /* of a solver */
    int iterations;
    double seconds, products_s;
} course;

/* Solves to a relative residual. */
static course solve(product *A, int64_t n, const double *inverse, const double *b, double tolerance,
                    double *x) {
    double *r = vector(n), *p = vector(n), *q = vector(n);
    int iterations = 0;
    for (int64_t i = 0; i < n; i++) x[i] = 0, r[i] = b[i], p[i] = inverse[i] * b[i];
    sums now = update_residual(n, 0, q, inverse, r); /* q is 0 */
    const double limit = tolerance * tolerance * now.rr, start = clock_s(), before = A->seconds;
    while (now.rr > limit && iterations < MOST_ITERATIONS) {
        const double pq = multiply_with_sums(A, p, q, p, NULL); /* q = A p */
        if (!(pq > 0)) break; /* A is not positive definite, or NaN */
        const double alpha = now.rho / pq, last = now.rho;
        now = update_residual(n, alpha, q, inverse, r);
        update_x_and_p(n, alpha, now.rho / last, r, inverse, x, p);
        iterations++;
    }
    const double seconds = clock_s() - start;
    free(r), free(p), free(q);
    return (course){iterations, seconds, A->seconds - before};
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
