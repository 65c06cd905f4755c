/* bicgstab.c: solves A x = b by BiCGStab with Jacobi's preconditioner, the inverse of the diagonal,
 * from the right, for matrices that are not symmetric. b is such that every entry of x is 1.
 *
 *     bicgstab [MATRIX [KERNEL]]
 *
 * MATRIX is a Matrix Market file or a generated matrix, such as gen:poisson2d:300, of which any
 * diagonal entry is nonzero. KERNEL "cuda:auto": on a GPU. */
#include "solver.h"

enum { MOST_ITERATIONS = 2000 };

/* The loops work on these, [n] each: p_hat and s_hat are p and r behind the preconditioner, v and t
 * their products; r is also s, half-way. */
typedef struct vectors {
    int64_t n;
    const double *inverse, *shadow;
    double *x, *r, *p, *v, *t, *p_hat, *s_hat;
} vectors;

/* s = r - alpha v, in the place of r; returns s's. */
static double go_half(const vectors *of, double alpha) {
    const double *v = of->v, *inverse = of->inverse;
    double *r = of->r, *s_hat = of->s_hat, ss = 0;
#pragma omp parallel for simd reduction(+ : ss)
    for (int64_t i = 0; i < of->n; i++) {
        const double now = r[i] - alpha * v[i];
        r[i] = now;
        s_hat[i] = inverse[i] * now;
        ss += now * now;
    }
    return ss;
}

typedef struct sums {
    double rr, rho; /* r'r; r' times the shadow of the first r */
} sums;

/* x += alpha p + omega s, r = s - omega t */
static sums update_x_and_r(const vectors *of, double alpha, double omega) {
    const double *t = of->t, *p_hat = of->p_hat, *s_hat = of->s_hat, *shadow = of->shadow;
    double *x = of->x, *r = of->r, rr = 0, rho = 0;
#pragma omp parallel for simd reduction(+ : rr, rho)
    for (int64_t i = 0; i < of->n; i++) {
        const double now = r[i] - omega * t[i];
        x[i] += alpha * p_hat[i] + omega * s_hat[i];
        r[i] = now;
        rr += now * now;
        rho += shadow[i] * now;
    }
    return (sums){rr, rho};
}

/* p = r + beta (p - omega v) */
static void update_p(const vectors *of, double beta, double omega) {
    const double *r = of->r, *v = of->v, *inverse = of->inverse;
    double *p = of->p, *p_hat = of->p_hat;
#pragma omp parallel for simd
    for (int64_t i = 0; i < of->n; i++) {
        const double now = r[i] + beta * (p[i] - omega * v[i]);
        p[i] = now;
        p_hat[i] = inverse[i] * now;
    }
}

static course solve(product *A, int64_t n, const double *inverse, const double *b, double tolerance,
                    double *x) {
    const vectors of = {.n = n,
                        .inverse = inverse,
                        .shadow = b,
                        .x = x,
                        .r = vector(n),
                        .p = vector(n),
                        .v = vector(n),
                        .t = vector(n),
                        .p_hat = vector(n),
                        .s_hat = vector(n)};
    double bb = 0;
    int iterations = 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0;
        of.r[i] = of.p[i] = b[i];
        of.p_hat[i] = inverse[i] * b[i];
        of.s_hat[i] = 0;
        bb += b[i] * b[i];
    }
    const double limit = tolerance * tolerance * bb, start = clock_s(), before = A->seconds;
    sums now = {bb, bb};
    while (now.rr > limit && iterations < MOST_ITERATIONS) {
        const double last = now.rho;
        const double alpha = last / multiply_with_sums(A, of.p_hat, of.v, of.shadow, NULL);
        if (!isfinite(alpha)) break; /* it broke down */
        go_half(&of, alpha);
        double tt, st = multiply_with_sums(A, of.s_hat, of.t, of.r, &tt);
        const double omega = tt > 0 ? st / tt : 0; /* 0: s is 0, and x + alpha p solves it */
        now = update_x_and_r(&of, alpha, omega);
        update_p(&of, now.rho / last * (alpha / omega), omega);
        iterations++;
    }
    const double seconds = clock_s() - start;
    free(of.r), free(of.p), free(of.v), free(of.t), free(of.p_hat), free(of.s_hat);
    return (course){iterations, seconds, A->seconds - before};
}

int main(int argc, char **argv) {
    return run_solver(solve, argc, argv);
}
