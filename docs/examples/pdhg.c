/* pdhg.c: a transport problem, solved as a linear program by the primal-dual hybrid gradient method
 * (PDHG): G factories supply G markets at the least cost. It multiplies by A and by its transpose,
 * with a plan of the same matrix for each: minimise c'x where A x = b and x >= 0, with x[G i + j]
 * what factory i sends to market j.
 *
 *     pdhg [G [KERNEL]]
 *
 * Costs are made from a solution, so that the least cost is known. KERNEL "cuda:auto": on a GPU. */
#include "example.h"
#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 50, STEPS = 200 }; /* a round starts from the averages of the last one */

/* Column G i + j has a one in row i, that of the factory, and in row G + j, that of the market. */
static spmv_mat *make(spmv_ctx *ctx, int64_t g) {
    const int64_t n = g * g;
    spmv_mat *A = NULL;
    int64_t *ptr = malloc((size_t)(n + 1) * sizeof *ptr);
    int32_t *idx = malloc((size_t)(2 * n) * sizeof *idx);
    if (!ptr || !idx) exit(71);
    for (int64_t k = 0; k <= n; k++) ptr[k] = 2 * k;
    for (int64_t k = 0; k < n; k++)
        idx[2 * k] = (int32_t)(k / g), idx[2 * k + 1] = (int32_t)(g + k % g);
    const spmv_arrays arrays = {.size = sizeof arrays,
                                .rows = 2 * g,
                                .cols = n,
                                .nnz = 2 * n,
                                .ptr = ptr,
                                .ptr_bits = 64,
                                .idx = idx,
                                .by_columns = 1};
    check(ctx, spmv_mat_create(ctx, &arrays, &A));
    free(ptr), free(idx);
    return A;
}

/* y <- start - op(A) x */
static void subtract(product *A, const double *start, const double *x, double *y) {
    memcpy(y, start, A->y_bytes);
    multiply(A, -1.0, x, 1.0, y);
}

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

int main(int argc, char **argv) {
    const int64_t g = argc > 1 ? atoll(argv[1]) : 100, n = g * g, m = 2 * g;
    const char *kernel = argc > 2 ? argv[2] : "auto";
    spmv_ctx *ctx = NULL;
    check(ctx, spmv_ctx_create(NULL, &ctx));
    spmv_mat *matrix = make(ctx, g);
    product A = prepare(ctx, matrix, SPMV_AS_IS, kernel, 2000, 0);
    product At = prepare(ctx, matrix, SPMV_TRANSPOSE, kernel, 2000, 0);

    double *b = vector(m), *c = vector(n), least = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = k / g, j = k % g;
        const int used = (i + j) % g < 3 || i == j;
        const double amount = used ? (double)(1 + (i + 2 * j) % 4) : 0;
        c[k] = 2 + sin((double)i) + cos((double)j) +
               (used ? 0 : (double)((7 * i + 3 * j) % 5 + 1) / 5);
        b[i] += amount, b[g + j] += amount, least += c[k] * amount;
    }

    double *x = vector(n), *y = vector(m), *next = vector(n), *z = vector(n), *row = vector(m),
           *sum_x = vector(n), *sum_y = vector(m), error = 1, cost = 0;
    const double step = 1 / sqrt((double)m); /* 1 / the norm of A */
    for (int round = 0; round < MOST_ROUNDS && error > 1e-6; round++) {
        memset(sum_x, 0, (size_t)n * sizeof *x), memset(sum_y, 0, (size_t)m * sizeof *y);
        for (int s = 0; s < STEPS; s++) {
            subtract(&At, c, y, next);
            for (int64_t k = 0; k < n; k++) {
                next[k] = fmax(0, x[k] - step * next[k]);
                z[k] = 2 * next[k] - x[k];
                x[k] = next[k], sum_x[k] += next[k];
            }
            subtract(&A, b, z, row);
            for (int64_t i = 0; i < m; i++) y[i] += step * row[i], sum_y[i] += y[i];
        }
        for (int64_t k = 0; k < n; k++) x[k] = sum_x[k] / STEPS;
        for (int64_t i = 0; i < m; i++) y[i] = sum_y[i] / STEPS;
        subtract(&A, b, x, row);
        cost = dot(n, c, x);
        error = fmax(sqrt(dot(m, row, row) / dot(m, b, b)), fabs(cost - dot(m, b, y)) / cost);
    }
    printf("%lld variables, %lld steps, error %.1e, cost %.6f for %.6f\n", (long long)n,
           (long long)At.count, error, cost, least);
    printf("A:  "), report(&A);
    printf("A': "), report(&At);

    free(b), free(c), free(x), free(y), free(next), free(z), free(row), free(sum_x), free(sum_y);
    finish(&A), finish(&At);
    spmv_mat_free(matrix), spmv_ctx_free(ctx);
    return fabs(cost - least) < 1e-4 * least ? 0 : 1;
}
