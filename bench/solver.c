/* bench/solver.c: the cost of a conjugate-gradient iteration on a GPU with our products: make
 * bench-solver, or bench_solver [-n ITERATIONS] [MATRIX ...]; the default matrices are measured
 * first.
 *
 * An iteration consists of a product, two dot products and three vector updates, with scalars on
 * the device. The product is cuSPARSE's CSR_ALG1 with preprocess, through our plan, or the choice
 * of `auto` for this number of products, or none. Iterations are launched one by one, or captured
 * as one CUDA graph. The time of the product alone is measured between the other kernels of an
 * iteration. Before timing some iterations are run with either product, and b - A x, computed by
 * the host, is compared with the solver's residual. For a rectangular matrix only the second line
 * is printed, and its product is not compared.
 * Targets: an iteration takes at most one without a product + 1.05 of our product + 2 us, and no
 * more than with cuSPARSE.
 *
 * A second line has the time to readiness for a matrix of borrowed arrays on the device: creating
 * the matrix and the plan of `auto` for an expected number of products N, compared with cuSPARSE's
 * plan, each the minimum of several tries, and the time of products between the other kernels of an
 * iteration. Targets: from N = 100 on preparation and N products take less than with cuSPARSE; for
 * N = 30 at most 1.05 of it, and less in the geometric mean over all matrices; for an unknown N
 * preparation takes at most 10 of cuSPARSE's products. Exits with 1 if a target is missed. */
#include "spmv_clock.h"
#include "host/context.h"
#include "matrix/matrix.h"
#include "test/solver.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 500, CHECKED = 5 };

static const char *const usual[] = {"gen:poisson3d:64", "gen:poisson2d:1000", "gen:poisson3d:180",
                                    "gen:fem3d:60", "gen:mesh:2000000"};

static const char *const ours = "cuda:auto", *const peer = "cuda:cusparse_csr_alg1";

typedef enum product { NONE, CUSPARSE, OURS, PRODUCTS } product;
typedef enum way { PLAIN, GRAPH, WAYS } way;

typedef struct result { /* seconds */
    double iteration[WAYS][PRODUCTS], product[PRODUCTS], ready[PRODUCTS], upload;
    bool is_square;
} result;

enum { UNKNOWN, NUMBERS = 5, PEER = NUMBERS, BEGINNINGS, TRIES = 3 };
static const int numbers[NUMBERS] = {[UNKNOWN] = 0, 30, 100, 300, 1000}; /* expected products */

typedef struct beginning { /* preparation from arrays on the device for a number of products */
    char kernel[32];
    double ready, product; /* seconds */
} beginning;

typedef struct arrays_there { /* owned by the plan that they were allocated with */
    const spmv_plan *plan;
    void *array[3];
} arrays_there;

static double log_of_ratios; /* sum of the logarithms of ratios at N = 30 */
static int ratios;           /* number of these ratios */

static const char *fail(const char *what, const char *why) {
    static char text[1200];
    snprintf(text, sizeof text, "%s: %s", what, why);
    return text;
}

static const char *multiply(const solver *s, void *plan, void *stream) {
    const spmv_plan *p = plan;
    if (spmv_exec_async(p, 1, s->p, 0, s->q, stream) == SPMV_OK) return NULL;
    return spmv_ctx_error(p->device->ctx);
}

/* ---- whether it is right --------------------------------------------------------------------- */

/* Returns the maximum difference between r and b - A x, relative to the maximum sum of absolute
 * terms of either. Serial. */
static double difference(const spmv_csr_view *A, const double *b, const double *x,
                         const double *r) {
    double most = 0, mass_most = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = b[i], mass = fabs(b[i]);
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            double term = A->values[k] * x[A->col_idx[k]];
            sum -= term, mass += fabs(term);
        }
        const double gap = fabs(sum - r[i]);
        if (gap > most || isnan(gap)) most = gap; /* NaN is kept */
        if (mass > mass_most) mass_most = mass;
    }
    return most / mass_most;
}

static const char *check(const spmv_csr_view *A, const double *b, const solver *s,
                         spmv_plan *plan) {
    const double enough = 1e-10;
    double *x = malloc((size_t)A->rows * sizeof *x), *r = malloc((size_t)A->rows * sizeof *r);
    const char *wrong = x && r ? solver_restart(s, NULL) : "out of memory";
    for (int k = 0; !wrong && k < CHECKED; k++) {
        wrong = multiply(s, plan, NULL);
        if (!wrong) wrong = solver_step(s, NULL);
    }
    if (!wrong) wrong = solver_fetch(s->n, s->x, x);
    if (!wrong) wrong = solver_fetch(s->n, s->r, r);
    if (!wrong && !(difference(A, b, x, r) <= enough)) wrong = "b - A x is not the residual";
    free(x);
    free(r);
    return wrong ? fail(plan->kernel->name, wrong) : NULL;
}

/* ---- a matrix -------------------------------------------------------------------------------- */

/* Creates a plan. *seconds: without one-time costs of the process. */
static const char *make_plan(spmv_mat *mat, const char *kernel, int calls, double *seconds,
                             spmv_plan **out) {
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .expected_calls = calls};
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    double start = spmv_now();
    if (spmv_plan_create(mat, &opts, out) != SPMV_OK) return fail(kernel, spmv_ctx_error(mat->ctx));
    *seconds = spmv_now() - start;
    spmv_plan_info(*out, &facts);
    *seconds -= facts.once_s;
    return NULL;
}

static const char *time_all(const solver *s, spmv_plan *const *plan, int iterations, result *out) {
    for (int how = 0; how < WAYS && out->is_square; how++)
        for (int k = 0; k < PRODUCTS; k++) {
            const char *wrong = solver_time(s, k == NONE ? NULL : multiply, plan[k], iterations,
                                            how == GRAPH, &out->iteration[how][k]);
            if (wrong) return wrong;
        }
    for (int k = CUSPARSE; k < PRODUCTS; k++) {
        const char *wrong = solver_time_product(s, multiply, plan[k], &out->product[k]);
        if (wrong) return wrong;
    }
    return NULL;
}

/* Measures the iterations. The rows are sent beforehand by a plan of csr_warp, which needs nothing
 * else. */
static const char *measure(spmv_mat *mat, int iterations, spmv_plan **plan, solver *s,
                           result *out) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_mat_rows(mat, &A);
    const int64_t longer = A.rows > A.cols ? A.rows : A.cols;
    double *b = malloc((size_t)longer * sizeof *b);
    if (!b) return "out of memory";
    out->is_square = A.rows == A.cols;
    for (int64_t i = 0; i < longer; i++) b[i] = 1 + 1e-3 * (double)(i % 1000);
    const char *wrong = make_plan(mat, "cuda:csr_warp", iterations, &out->upload, &plan[NONE]);
    if (!wrong) wrong = make_plan(mat, peer, iterations, &out->ready[CUSPARSE], &plan[CUSPARSE]);
    if (!wrong) wrong = make_plan(mat, ours, iterations, &out->ready[OURS], &plan[OURS]);
    if (!wrong) wrong = solver_make(longer, b, s);
    for (int k = CUSPARSE; !wrong && out->is_square && k < PRODUCTS; k++)
        wrong = check(&A, b, s, plan[k]);
    if (!wrong) wrong = time_all(s, plan, iterations, out);
    free(b);
    return wrong;
}

/* ---- from arrays on the device --------------------------------------------------------------- */

static const char *send(arrays_there *t, int k, const void *from, size_t bytes) {
    bool done = spmv_plan_alloc(t->plan, bytes, &t->array[k]) == SPMV_OK &&
                spmv_plan_put(t->plan, t->array[k], from, bytes) == SPMV_OK;
    return done ? NULL : "no room for arrays on the device";
}

static const char *send_all(const spmv_csr_view *A, arrays_there *t) {
    int32_t *ptr = malloc((size_t)(A->rows + 1) * sizeof *ptr);
    if (!ptr) return "out of memory";
    for (int64_t i = 0; i <= A->rows; i++) ptr[i] = (int32_t)A->row_ptr[i];
    const char *wrong = send(t, 0, ptr, (size_t)(A->rows + 1) * sizeof *ptr);
    if (!wrong) wrong = send(t, 1, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx);
    if (!wrong) wrong = send(t, 2, A->values, (size_t)A->nnz * sizeof *A->values);
    free(ptr);
    return wrong;
}

static void drop_all(arrays_there *t) {
    for (int k = 0; k < 3 && t->plan; k++) spmv_plan_release(t->plan, t->array[k]);
}

/* Returns the minimum of several tries; objects are kept until the end, like a program's memory
 * pool would. The time to create the matrix counts for `auto` alone: a program that calls cuSPARSE
 * does not create ours. */
static const char *time_start(const spmv_csr_view *A, const arrays_there *t, const char *kernel,
                              int calls, const solver *s, beginning *out) {
    const spmv_arrays a = {.size = sizeof a,
                           .rows = A->rows,
                           .cols = A->cols,
                           .nnz = A->nnz,
                           .ptr = t->array[0],
                           .idx = t->array[1],
                           .values = t->array[2],
                           .ptr_bits = 32,
                           .flags = SPMV_BORROW,
                           .place = SPMV_DEVICE};
    spmv_mat *mat[TRIES] = {NULL};
    spmv_plan *plan[TRIES] = {NULL};
    spmv_ctx *ctx = t->plan->device->ctx;
    const char *wrong = NULL;
    out->ready = INFINITY;
    for (int n = 0; n < TRIES && !wrong; n++) {
        double begin = spmv_now(), seconds;
        if (spmv_mat_create(ctx, &a, &mat[n]) != SPMV_OK) wrong = spmv_ctx_error(ctx);
        double made = strcmp(kernel, ours) == 0 ? spmv_now() - begin : 0;
        if (!wrong) wrong = make_plan(mat[n], kernel, calls, &seconds, &plan[n]);
        if (!wrong && made + seconds < out->ready) out->ready = made + seconds;
    }
    if (!wrong) wrong = solver_time_product(s, multiply, plan[0], &out->product);
    if (!wrong) snprintf(out->kernel, sizeof out->kernel, "%s", plan[0]->kernel->name);
    for (int n = 0; n < TRIES; n++) {
        spmv_plan_free(plan[n]);
        spmv_mat_free(mat[n]);
    }
    return wrong;
}

static const char *time_starts(spmv_mat *mat, const spmv_plan *plan, const solver *s,
                               beginning out[BEGINNINGS]) {
    arrays_there t = {.plan = plan};
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_mat_rows(mat, &A);
    const char *wrong = send_all(&A, &t);
    if (!wrong) wrong = time_start(&A, &t, peer, 0, s, &out[PEER]);
    for (int n = 0; n < NUMBERS && !wrong; n++)
        wrong = time_start(&A, &t, ours, numbers[n], s, &out[n]);
    drop_all(&t);
    return wrong;
}

/* Returns the ratio of the two times for this number of products. */
static double ratio_of(const beginning *one, const beginning *other, double calls) {
    return (one->ready + calls * one->product) / (other->ready + calls * other->product);
}

/* Prints the times to readiness; returns the number of missed targets. */
static int print_starts(const beginning *all) {
    const beginning *other = &all[PEER];
    int missed = 0;
    printf("    cuSPARSE: ready %.3f ms, %.1f us", 1e3 * other->ready, 1e6 * other->product);
    for (int n = 0; n < NUMBERS; n++) {
        const double calls = numbers[n], gain = other->product - all[n].product;
        const double even = gain > 0 ? (all[n].ready - other->ready) / gain : INFINITY;
        const double ratio = ratio_of(&all[n], other, calls);
        bool holds =
            n == UNKNOWN ? all[n].ready <= 10 * other->product : ratio <= (calls < 100 ? 1.05 : 1);
        if (n == UNKNOWN)
            printf("; N unknown: %s, ready %.3f ms, %.1f products of cuSPARSE%s", all[n].kernel,
                   1e3 * all[n].ready, all[n].ready / other->product, holds ? "" : " (!)");
        else
            printf("; N = %d: %s, ready %.3f ms, %.1f us, ahead from N = %.0f, %.3f of cuSPARSE%s",
                   numbers[n], all[n].kernel, 1e3 * all[n].ready, 1e6 * all[n].product,
                   even > 0 ? even : 0, ratio, holds ? "" : " (!)");
        missed += !holds;
        if (numbers[n] == 30) log_of_ratios += log(ratio), ratios++;
    }
    printf("\n");
    fflush(stdout);
    return missed;
}

static int print_mean(void) {
    const double mean = ratios ? exp(log_of_ratios / ratios) : 1;
    printf("N = 30: %.2f of cuSPARSE in the geometric mean of %d matrices%s\n", mean, ratios,
           mean < 1 ? "" : " (!)");
    return mean >= 1;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static void print_head(int iterations) {
    printf("Microseconds of an iteration (least of 7 rounds of %d) and of the product in it "
           "(median); ms until ready\nfrom compressed rows on the device, and of sending these.\n",
           iterations);
    printf("%-28s %-18s %23s  %23s  %15s  %15s %6s\n", "", "", "launched one by one",
           "as one graph", "product", "ready", "send");
    printf("%-28s %-18s %7s %7s %7s  %7s %7s %7s  %7s %7s  %7s %7s\n", "matrix", "auto", "without",
           "cuSP.", "auto", "without", "cuSP.", "auto", "cuSP.", "auto", "cuSP.", "auto");
}

/* Prints the iteration times; returns how many of the four targets are missed. */
static int print_result(const char *source, const char *kernel, const result *r) {
    const double us = 1e6, ms = 1e3;
    int missed = 0;
    printf("%-28.28s %-18s", source, kernel);
    for (int how = 0; how < WAYS; how++) {
        for (int k = 0; k < PRODUCTS; k++)
            if (r->is_square)
                printf(" %7.1f", us * r->iteration[how][k]);
            else
                printf(" %7s", "-");
        printf(" ");
    }
    printf(" %7.1f %7.1f  %7.1f %7.1f %6.0f ", us * r->product[CUSPARSE], us * r->product[OURS],
           ms * r->ready[CUSPARSE], ms * r->ready[OURS], ms * r->upload);
    for (int how = 0; how < WAYS && r->is_square; how++) {
        const double *t = r->iteration[how];
        const double most = t[NONE] + 1.05 * r->product[OURS] + 2e-6;
        const char *name = how == GRAPH ? "graph" : "plain";
        if (t[OURS] > most) missed++, printf(" %s: over the bar, %.1f us", name, us * most);
        if (t[OURS] > t[CUSPARSE]) missed++, printf(" %s: slower than cuSPARSE", name);
    }
    printf("%s\n", missed ? "" : " ok");
    fflush(stdout);
    return missed;
}

/* Returns the number of missed targets; 1 if the matrix cannot be measured. */
static int bench_matrix(spmv_ctx *ctx, const char *source, int iterations) {
    spmv_mat *mat = NULL;
    spmv_plan *plan[PRODUCTS] = {NULL};
    solver s = {0};
    result r = {.upload = 0};
    const char *wrong = NULL;
    int missed = 1;
    if (spmv_mat_load(ctx, source, NULL, &mat) != SPMV_OK) wrong = spmv_ctx_error(ctx);
    beginning starts[BEGINNINGS] = {{.ready = 0}};
    if (!wrong) wrong = measure(mat, iterations, plan, &s, &r);
    if (!wrong) wrong = time_starts(mat, plan[NONE], &s, starts);
    if (wrong)
        fprintf(stderr, "bench_solver: %s: %s\n", source, wrong);
    else
        missed = print_result(source, plan[OURS]->kernel->name, &r) + print_starts(starts);
    solver_free(&s);
    for (int k = 0; k < PRODUCTS; k++) spmv_plan_free(plan[k]);
    spmv_mat_free(mat);
    return missed;
}

int main(int argc, char **argv) {
    const spmv_ctx_opts opts = {.size = sizeof opts, .backend = "cuda"};
    spmv_ctx *ctx = NULL;
    int iterations = ITERATIONS, first = 1, missed = 0;
    if (argc > 2 && strcmp(argv[1], "-n") == 0) iterations = atoi(argv[2]), first = 3;
    if (iterations < 1) {
        fprintf(stderr, "bench_solver: -n %s: how many iterations?\n", argv[2]);
        return 64;
    }
    if (spmv_ctx_create(&opts, &ctx) != SPMV_OK) return 1;
    print_head(iterations);
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
        missed += bench_matrix(ctx, usual[k], iterations);
    for (int k = first; k < argc; k++) missed += bench_matrix(ctx, argv[k], iterations);
    missed += print_mean();
    spmv_ctx_free(ctx);
    return missed > 0;
}
