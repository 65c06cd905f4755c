/* block_cg.c: solves A X = B for eight right-hand sides at once by block conjugate gradients
 * (O'Leary 1980), with residuals that are kept orthonormal (Dubrulle 2001). Every product reads the
 * matrix once for all eight, and fewer iterations are needed than for one right-hand side. A is
 * symmetric positive definite, and B is such that X is known.
 *
 *     block_cg [MATRIX [KERNEL]]
 *
 * The eight numbers of a row are contiguous (SPMV_ROWS). KERNEL is one of a CPU: on a GPU the
 * product is put on a stream, for which a program waits with CUDA's own functions; block_cg.py does
 * that with CuPy. */
#include "example.h"
#include <math.h>
#include <string.h>

enum { K = 8, MOST_ITERATIONS = 1000 };

typedef struct square { /* a K x K matrix, by rows */
    double at[K][K];
} square;

/* Q <- A P, for all vectors at once. */
static void multiply_block(product *A, const double *P, double *Q) {
    const spmv_call call = {.size = sizeof call, .x = P, .z = Q, .k = K, .layout = SPMV_ROWS};
    const double start = clock_s();
    check(A->ctx, spmv_apply(A->plan, &call, NULL));
    A->seconds += clock_s() - start;
    A->count++;
}

/* Returns X' Y. */
static square inner(int64_t n, const double *X, const double *Y) {
    square sum = {{{0}}};
    double *const all = &sum.at[0][0];
#pragma omp parallel for reduction(+ : all[:K * K])
    for (int64_t i = 0; i < n; i++)
        for (int a = 0; a < K; a++)
            for (int b = 0; b < K; b++) all[K * a + b] += X[K * i + a] * Y[K * i + b];
    return sum;
}

/* Z <- Y + X s */
static void add_multiple(int64_t n, const double *X, const square *s, const double *Y, double *Z) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double row[K];
        memcpy(row, Y + K * i, sizeof row);
        for (int a = 0; a < K; a++)
            for (int b = 0; b < K; b++) row[b] += X[K * i + a] * s->at[a][b];
        memcpy(Z + K * i, row, sizeof row);
    }
}

/* Returns the upper triangle R of a symmetric positive definite s = R' R. */
static square factor(const square *s) {
    square R = {{{0}}};
    for (int a = 0; a < K; a++)
        for (int b = a; b < K; b++) {
            double rest = s->at[a][b];
            for (int c = 0; c < a; c++) rest -= R.at[c][a] * R.at[c][b];
            R.at[a][b] = a == b ? sqrt(rest) : rest / R.at[a][a];
        }
    return R;
}

/* Returns the inverse of an upper triangle. */
static square invert(const square *R) {
    square inverse = {{{0}}};
    for (int b = 0; b < K; b++)
        for (int a = b; a >= 0; a--) {
            double rest = a == b;
            for (int c = a + 1; c <= b; c++) rest -= R->at[a][c] * inverse.at[c][b];
            inverse.at[a][b] = rest / R->at[a][a];
        }
    return inverse;
}

static square transpose(const square *s) {
    square t;
    for (int a = 0; a < K; a++)
        for (int b = 0; b < K; b++) t.at[a][b] = s->at[b][a];
    return t;
}

/* Returns scale times s t. */
static square times(double scale, const square *s, const square *t) {
    square u = {{{0}}};
    for (int a = 0; a < K; a++)
        for (int b = 0; b < K; b++)
            for (int c = 0; c < K; c++) u.at[a][b] += scale * s->at[a][c] * t->at[c][b];
    return u;
}

/* Makes the columns of Q orthonormal; returns R, with Q before = Q after times R. */
static square orthonormalise(int64_t n, double *Q, double *room) {
    const square gram = inner(n, Q, Q), R = factor(&gram), inverse = invert(&R);
    memset(room, 0, (size_t)(K * n) * sizeof *room);
    add_multiple(n, Q, &inverse, room, room);
    memcpy(Q, room, (size_t)(K * n) * sizeof *Q);
    return R;
}

/* The largest norm of a column. */
static double largest(const square *s) {
    double most = 0;
    for (int b = 0; b < K; b++) {
        double sum = 0;
        for (int a = 0; a < K; a++) sum += s->at[a][b] * s->at[a][b];
        most = fmax(most, sqrt(sum));
    }
    return most;
}

/* Solves to a residual relative to the largest right-hand side; returns the number of
 * iterations. The residual is Q C, with Q orthonormal. */
static int solve(product *A, int64_t n, const double *B, double tolerance, double *X) {
    double *Q = vector(K * n), *S = vector(K * n), *T = vector(K * n), *room = vector(K * n);
    const size_t bytes = (size_t)(K * n) * sizeof *Q;
    int iterations = 0;
    memset(X, 0, bytes), memcpy(Q, B, bytes);
    square C = orthonormalise(n, Q, room);
    const double limit = tolerance * largest(&C);
    memcpy(S, Q, bytes);
    for (; largest(&C) > limit && iterations < MOST_ITERATIONS; iterations++) {
        multiply_block(A, S, T); /* T = A S */
        const square curvature = inner(n, S, T), R = factor(&curvature), U = invert(&R),
                     Ut = transpose(&U), step = times(1, &U, &Ut), of_X = times(1, &step, &C),
                     of_Q = times(-1, &U, &Ut);
        add_multiple(n, S, &of_X, X, X);
        add_multiple(n, T, &of_Q, Q, Q);
        const square Z = orthonormalise(n, Q, room), Zt = transpose(&Z);
        add_multiple(n, S, &Zt, Q, S);
        C = times(1, &Z, &C);
    }
    free(Q), free(S), free(T), free(room);
    return iterations;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "gen:poisson2d:300";
    const spmv_plan_opts opts = {.size = sizeof opts,
                                 .kernel = argc > 2 ? argv[2] : "auto",
                                 .expected_calls = 300,
                                 .vectors = K,
                                 .layout = SPMV_ROWS};
    spmv_mat *matrix = NULL;
    spmv_stats of = SPMV_OPTS(spmv_stats);
    product A = {.ctx = NULL};
    double error = 0;
    check(NULL, spmv_ctx_create(NULL, &A.ctx));
    check(A.ctx, spmv_mat_load(A.ctx, path, NULL, &matrix));
    check(A.ctx, spmv_mat_stats(matrix, &of));
    check(A.ctx, spmv_plan_create(matrix, &opts, &A.plan));

    double *X = vector(K * of.rows), *B = vector(K * of.rows), *right = vector(K * of.rows);
    for (int64_t i = 0; i < K * of.rows; i++) right[i] = sin((double)(i * i % 1009));
    multiply_block(&A, right, B);
    const int iterations = solve(&A, of.rows, B, 1e-10, X);
    for (int64_t i = 0; i < K * of.rows; i++) error = fmax(error, fabs(X[i] - right[i]));
    printf("%lld unknowns, %d right-hand sides, %d iterations, error %.1e\n", (long long)of.rows, K,
           iterations, error);
    report(&A);

    free(X), free(B), free(right);
    finish(&A), spmv_mat_free(matrix), spmv_ctx_free(A.ctx);
    return error < 1e-6 ? 0 : 1;
}
