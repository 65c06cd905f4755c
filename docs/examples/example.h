/* example.h: what the examples share: a clock, an end on errors, and what a plan's preparation was
 * worth. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <spmv.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ends the program unless the call succeeded. */
static inline void check(const spmv_ctx *ctx, spmv_status status) {
    if (status == SPMV_OK) return;
    fprintf(stderr, "%s\n", spmv_ctx_error(ctx));
    exit(spmv_exit_code(status));
}

static inline double *vector(int64_t n) {
    double *x = calloc((size_t)n, sizeof *x);
    if (!x) {
        fprintf(stderr, "out of memory\n");
        exit(71);
    }
    return x;
}

/* A plan for about that many products, timed. refill: the matrix will get other values. */
static inline spmv_plan *prepare(spmv_ctx *ctx, spmv_mat *A, const char *kernel, int64_t products,
                                 int refill, double *seconds) {
    const spmv_plan_opts opts = {
        .size = sizeof opts, .kernel = kernel, .expected_calls = products, .refill = refill};
    spmv_plan *plan = NULL;
    const double start = now();
    check(ctx, spmv_plan_create(A, &opts, &plan));
    *seconds = now() - start;
    return plan;
}

/* What the plan took, and after how many products it took less than the baseline kernel would have,
 * by the times of the trials. */
static inline void report(const spmv_plan *plan, double prepared_s, int64_t products,
                          double products_s) {
    spmv_plan_facts facts;
    spmv_plan_info(plan, &facts);
    const double saved_s = facts.baseline_product_s - facts.chosen_product_s;
    printf("%s: %lld products of %.1f us; prepared in %.1f ms", facts.kernel, (long long)products,
           products_s / (double)products * 1e6, prepared_s * 1e3);
    if (facts.timed > 0 && saved_s > 0)
        printf(", paid back after %.0f products (in the trials %.1f us, %s %.1f us)\n",
               prepared_s / saved_s, facts.chosen_product_s * 1e6, facts.baseline,
               facts.baseline_product_s * 1e6);
    else
        printf(", which nothing pays back: no kernel was faster than the baseline\n");
}

#endif
