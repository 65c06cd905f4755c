/* cg.c: solves A x = b by conjugate gradients with Jacobi's preconditioner, the inverse of the
 * diagonal. A is symmetric positive definite, and b is such that every entry of x is 1.
 *
 *     cg [MATRIX [KERNEL]]
 *
 * MATRIX is a Matrix Market file or a generated matrix. KERNEL "cuda:auto": on a GPU. */
#include "solver.h"

enum { MOST_ITERATIONS = 2000 };

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
    return run_solver(solve, argc, argv);
}
