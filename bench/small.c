/* bench/small.c: small matrices, which fit into the caches: make bench-small.
 *
 * Measures the creation of a matrix of borrowed, sorted rows and its plan, and a product, compared
 * with a plain loop over the same arrays; minimum of interleaved samples, with one thread and with
 * all. Then a hierarchy of LEVELS small matrices, as in algebraic multigrid: created, and
 * multiplied in turn.
 * Exits with 1 if the creation takes more than MAKE_S and two plain products, below FEW nonzeros;
 * or if a product takes more than limit_of returns. */
#include "spmv.h"
#include "bars.h"
#include "competitors.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 10000, MANY = 5000, SAMPLES = 300, LEVELS = 100, KINDS = 3 };
static const double MAKE_S = 5e-6, CALL_S = 40e-9;
static double worst_making, worst_small, worst_large; /* relative to the limits */
static const int64_t sizes[] = {100, 300, 1000, 3000, 6000, 9000, 20000, 50000};
enum { SIZES = sizeof sizes / sizeof *sizes };

typedef struct small { /* a matrix of about five nonzeros per row */
    int64_t n, nnz, *ptr;
    int *idx;
    double *values, *x, *y;
} small;

static void make_small(small *s, int64_t nnz) {
    const int64_t n = nnz / 5;
    *s = (small){.n = n,
                 .ptr = malloc((size_t)(n + 1) * sizeof *s->ptr),
                 .idx = malloc((size_t)(5 * n) * sizeof *s->idx),
                 .values = malloc((size_t)(5 * n) * sizeof *s->values),
                 .x = malloc((size_t)n * sizeof *s->x),
                 .y = malloc((size_t)n * sizeof *s->y)};
    const int64_t side = (int64_t)sqrt((double)n), step[] = {-side, -1, 0, 1, side};
    for (int64_t i = 0; i < n; i++) {
        s->ptr[i] = s->nnz;
        s->x[i] = 1 / (double)(i + 1);
        for (int k = 0; k < 5; k++) {
            const int64_t j = i + step[k];
            if (j < 0 || j >= n) continue;
            s->values[s->nnz] = k == 2 ? 4 : -1 - 1 / (double)(i + 2);
            s->idx[s->nnz++] = (int)j;
        }
    }
    s->ptr[n] = s->nnz;
}

static void free_small(small *s) {
    free(s->ptr);
    free(s->idx);
    free(s->values);
    free(s->x);
    free(s->y);
}

__attribute__((noinline)) static void plain(const small *s) {
    const int64_t n = s->n, *ptr = s->ptr;
    const int *idx = s->idx;
    const double *values = s->values, *x = s->x;
    double *restrict y = s->y;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) sum += values[k] * x[idx[k]];
        y[i] = sum;
    }
}

static spmv_mat *matrix_of(spmv_ctx *ctx, const small *s) {
    const spmv_arrays a = {.size = sizeof a,
                           .rows = s->n,
                           .cols = s->n,
                           .nnz = s->nnz,
                           .ptr = s->ptr,
                           .ptr_bits = 64,
                           .idx = s->idx,
                           .values = s->values,
                           .flags = SPMV_BORROW | SPMV_SORTED};
    spmv_mat *mat = NULL;
    return spmv_mat_create(ctx, &a, &mat) == SPMV_OK ? mat : NULL;
}

static spmv_plan *plan_of(spmv_mat *mat, int kind) {
    const spmv_plan_opts rows = {.size = sizeof rows, .kernel = "csr_rows"},
                         often = {.size = sizeof often, .expected_calls = 1000};
    spmv_plan *plan = NULL;
    const spmv_status status = spmv_plan_create(mat,
                                                kind == 0   ? NULL
                                                : kind == 1 ? &rows
                                                            : &often,
                                                &plan);
    return status == SPMV_OK ? plan : NULL;
}

/* Returns the seconds of a product, from as many as the clock needs. plan NULL: the plain loop. */
static double sample(const spmv_plan *plan, const small *s) {
    const int n = (int)(20000 / s->nnz) + 1;
    const double start = spmv_now();
    for (int k = 0; k < n; k++)
        if (plan)
            spmv_exec(plan, 1, s->x, 0, s->y);
        else
            plain(s);
    return (spmv_now() - start) / n;
}

static double limit_of(int64_t nnz, double plain_s) {
    return nnz > MANY ? 1.03 * plain_s : 1.15 * plain_s + CALL_S;
}

static void bench_size(spmv_ctx *ctx, int64_t nnz) {
    static const char *const names[KINDS] = {"NULL", "csr_rows", "auto, 1000"};
    small s;
    spmv_plan *plan[KINDS];
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    double product[KINDS], plain_s = INFINITY, made_s = INFINITY;
    make_small(&s, nnz);
    spmv_mat *mat = matrix_of(ctx, &s);
    for (int k = 0; k < KINDS; k++) plan[k] = plan_of(mat, k), product[k] = INFINITY;
    for (int n = 0; n < SAMPLES; n++) {
        plain_s = fmin(plain_s, sample(NULL, &s));
        for (int k = 0; k < KINDS; k++) product[k] = fmin(product[k], sample(plan[k], &s));
        const double start = spmv_now();
        spmv_mat *other = matrix_of(ctx, &s);
        spmv_plan *its = plan_of(other, 0);
        made_s = fmin(made_s, spmv_now() - start);
        spmv_plan_free(its);
        spmv_mat_free(other);
    }
    const double making = made_s / (MAKE_S + 2 * plain_s);
    const bool slow = s.nnz < FEW && making > 1;
    if (s.nnz < FEW) worst_making = fmax(worst_making, making);
    printf("  %6lld nonzeros, plain %8.2f us; made in %7.2f us (bar %.2f)%s", (long long)s.nnz,
           1e6 * plain_s, 1e6 * made_s, 1e6 * (MAKE_S + 2 * plain_s), slow ? " OVER" : "");
    for (int k = 0; k < KINDS; k++) {
        const double over_limit = product[k] / limit_of(s.nnz, plain_s);
        const bool late = over_limit > 1;
        double *worst = s.nnz > MANY ? &worst_large : &worst_small;
        *worst = fmax(*worst, over_limit);
        spmv_plan_info(plan[k], &facts);
        printf("; %s %.2f%s (%s, %d)", names[k], product[k] / plain_s, late ? " OVER" : "",
               facts.kernel, facts.threads);
        spmv_plan_free(plan[k]);
    }
    printf("\n");
    spmv_mat_free(mat);
    free_small(&s);
}

/* Creates matrices of 40 to 4,000 rows and multiplies them one after the other. */
static void bench_hierarchy(spmv_ctx *ctx) {
    small s[LEVELS];
    spmv_mat *mat[LEVELS];
    spmv_plan *plan[LEVELS];
    double made_s = INFINITY, product_s = INFINITY, plain_s = INFINITY;
    for (int k = 0; k < LEVELS; k++) make_small(&s[k], 200 + 20000 * k / LEVELS);
    for (int r = 0; r < 20; r++) {
        double start = spmv_now();
        for (int k = 0; k < LEVELS; k++)
            mat[k] = matrix_of(ctx, &s[k]), plan[k] = plan_of(mat[k], 0);
        made_s = fmin(made_s, spmv_now() - start);
        for (int n = 0; n < 10; n++) {
            start = spmv_now();
            for (int k = 0; k < LEVELS; k++) spmv_exec(plan[k], 1, s[k].x, 0, s[k].y);
            product_s = fmin(product_s, spmv_now() - start);
            start = spmv_now();
            for (int k = 0; k < LEVELS; k++) plain(&s[k]);
            plain_s = fmin(plain_s, spmv_now() - start);
        }
        for (int k = 0; k < LEVELS; k++) spmv_plan_free(plan[k]), spmv_mat_free(mat[k]);
    }
    for (int k = 0; k < LEVELS; k++) free_small(&s[k]);
    printf("  %d matrices of 200 to 20,000 nonzeros: made in %.0f us, a product of each %.0f us, "
           "plain loops %.0f us\n",
           LEVELS, 1e6 * made_s, 1e6 * product_s, 1e6 * plain_s);
}

int main(void) {
    bool is_missed = false;
    for (int threads = 1; threads >= 0; threads--) {
        const spmv_ctx_opts opts = {.size = sizeof opts, .threads = threads};
        spmv_ctx *ctx = NULL;
        if (spmv_ctx_create(&opts, &ctx) != SPMV_OK) return 1;
        printf("%d thread%s\n", spmv_ctx_threads(ctx), spmv_ctx_threads(ctx) > 1 ? "s" : "");
        for (int k = 0; k < SIZES; k++) bench_size(ctx, sizes[k]);
        bench_hierarchy(ctx);
        spmv_ctx_free(ctx);
    }
    is_missed |= misses_bar("making over 5 us and two plain products", worst_making, 1);
    is_missed |=
        misses_bar("up to 5,000 nonzeros: product over 1.15 plain and 40 ns", worst_small, 1);
    is_missed |= misses_bar("beyond 5,000 nonzeros: product over 1.03 plain", worst_large, 1);
    return is_missed;
}
