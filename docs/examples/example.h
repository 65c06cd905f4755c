/* example.h: what the examples share: an end on errors, products of vectors in host memory on a CPU
 * or a GPU, and what the preparation of a plan was worth. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <spmv.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double clock_s(void) {
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

typedef struct product { /* a plan, and what its products took */
    spmv_ctx *ctx;
    spmv_plan *plan;
    size_t x_bytes, y_bytes;
    void *x, *y; /* room for vectors where the plan runs */
    int on_gpu;
    double seconds;
    int64_t count;
} product;

/* Returns a plan for about that many products by the matrix (SPMV_AS_IS) or its transpose
 * (SPMV_TRANSPOSE). refill: the matrix will get other values. */
static inline product prepare(spmv_ctx *ctx, spmv_mat *A, spmv_op op, const char *kernel,
                              int64_t products, int refill) {
    const spmv_plan_opts opts = {.size = sizeof opts,
                                 .op = op,
                                 .kernel = kernel,
                                 .expected_calls = products,
                                 .refill = refill};
    product p = {.ctx = ctx};
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    spmv_stats of = SPMV_OPTS(spmv_stats);
    check(ctx, spmv_mat_stats(A, &of));
    check(ctx, spmv_plan_create(A, &opts, &p.plan));
    check(ctx, spmv_plan_info(p.plan, &facts));
    p.x_bytes = (size_t)(op == SPMV_TRANSPOSE ? of.rows : of.cols) * sizeof(double);
    p.y_bytes = (size_t)(op == SPMV_TRANSPOSE ? of.cols : of.rows) * sizeof(double);
    p.on_gpu = facts.threads == 0;
    check(ctx, spmv_plan_alloc(p.plan, p.x_bytes, &p.x));
    check(ctx, spmv_plan_alloc(p.plan, p.y_bytes, &p.y));
    return p;
}

/* y <- alpha op(A) x + beta y, with x and y where the plan runs; its time is added up. */
static inline void multiply_there(product *p, double alpha, const void *x, double beta, void *y) {
    const double start = clock_s();
    check(p->ctx, spmv_exec(p->plan, alpha, x, beta, y));
    p->seconds += clock_s() - start;
    p->count++;
}

/* y <- alpha op(A) x + beta y, with x and y in host memory. For a GPU they are copied at every
 * product, which usually takes longer than the product and is not part of its time: a real solver
 * keeps all its vectors on the GPU between calls. */
static inline void multiply(product *p, double alpha, const double *x, double beta, double *y) {
    if (!p->on_gpu) {
        multiply_there(p, alpha, x, beta, y);
        return;
    }
    check(p->ctx, spmv_plan_put(p->plan, p->x, x, p->x_bytes));
    if (beta != 0) check(p->ctx, spmv_plan_put(p->plan, p->y, y, p->y_bytes));
    multiply_there(p, alpha, p->x, beta, p->y);
    check(p->ctx, spmv_plan_get(p->plan, y, p->y, p->y_bytes));
}

/* Multiplies as multiply does with alpha 1 and beta 0; returns w'y, and y'y in *yy unless that is
 * NULL, which on a CPU come with the product. */
static inline double multiply_with_sums(product *p, const double *x, double *y, const double *w,
                                        double *yy) {
    double sum = 0, square = 0;
    if (p->on_gpu) {
        multiply(p, 1.0, x, 0.0, y);
        for (size_t i = 0; i < p->y_bytes / sizeof *y; i++)
            sum += w[i] * y[i], square += y[i] * y[i];
        if (yy) *yy = square;
        return sum;
    }
    const spmv_call call = {
        .size = sizeof call, .x = x, .z = y, .w = w, .dot_wz = &sum, .dot_zz = yy};
    const double start = clock_s();
    check(p->ctx, spmv_apply(p->plan, &call, NULL));
    p->seconds += clock_s() - start;
    p->count++;
    return sum;
}

/* Says after how many products the plan took less time than the baseline kernel would have, by the
 * times of the trials. Preparation is what this plan took; what a process does once, such as
 * starting the GPU, is not in it. A product of the solver is timed from call to result; those of
 * the trials follow each other without a wait. */
static inline void report(const product *p) {
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    check(p->ctx, spmv_plan_info(p->plan, &facts));
    const double prepared_s = facts.convert_s + facts.upload_s + facts.prepare_s + facts.tune_s;
    const double saved_s = facts.baseline_product_s - facts.chosen_product_s;
    printf("%s:%s: %lld products of %.1f us from call to result; prepared in %.1f ms, ",
           facts.backend, facts.kernel, (long long)p->count,
           p->count ? p->seconds / (double)p->count * 1e6 : 0, prepared_s * 1e3);
    if (facts.timed == 0) {
        printf("which no trials compare with another kernel\n");
        return;
    }
    if (saved_s < 0.03 * facts.baseline_product_s)
        printf("not paid back: less than 3 %% faster than the baseline kernel");
    else
        printf("%s after %.0f products",
               prepared_s <= saved_s * (double)p->count ? "paid back" : "would be paid back",
               prepared_s / saved_s);
    printf(" (in the trials %.1f us, %s %.1f us)\n", facts.chosen_product_s * 1e6, facts.baseline,
           facts.baseline_product_s * 1e6);
}

static inline void finish(product *p) {
    spmv_plan_release(p->plan, p->x), spmv_plan_release(p->plan, p->y);
    spmv_plan_free(p->plan);
}

#endif
