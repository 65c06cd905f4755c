/* bench_solver.c: what a conjugate-gradient iteration costs on a GPU with our products: make
 * bench-solver, or bench_solver [-n ITERATIONS] [MATRIX ...], which follow the usual ones.
 *
 * An iteration is a product, two dots and three updates of vectors, with scalars on the device; the
 * product is cuSPARSE's CSR_ALG1 with preprocess, by way of our plan, what "auto" chooses for so
 * many products, or none. Iterations are launched one by one, or recorded as one CUDA graph. The
 * product's own time is taken between the other kernels of an iteration. Before anything is timed
 * some iterations are made with either product, and b - A x, added up by the host, is compared with
 * the solver's own residual.
 * The bar: an iteration costs at most the one without a product + 1.05 of our product + 2 us, and
 * no more than with cuSPARSE. Exit 1 where it does not hold. */
#include "core/internal.h"
#include "test/solver.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITERATIONS = 500, CHECKED = 5 };

static const char *const usual[] = {"gen:poisson3d:64", "gen:poisson2d:1000", "gen:poisson3d:180",
                                    "gen:fem3d:60", "gen:mesh:2000000"};

typedef enum product { NONE, CUSPARSE, OURS, PRODUCTS } product;
typedef enum way { PLAIN, GRAPH, WAYS } way;

typedef struct result { /* seconds */
    double iteration[WAYS][PRODUCTS], product[PRODUCTS], ready[PRODUCTS], upload;
} result;

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

/* The greatest difference between r and b - A x, over the greatest sum of terms that either is made
 * of. Serial. */
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
        if (gap > most || isnan(gap)) most = gap; /* NaN stays */
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

/* *seconds: without what a process does once. */
static const char *make_plan(spmv_mat *mat, const char *kernel, int calls, double *seconds,
                             spmv_plan **out) {
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .expected_calls = calls};
    spmv_plan_facts facts;
    double start = spmv_now();
    if (spmv_plan_create(mat, &opts, out) != SPMV_OK) return fail(kernel, spmv_ctx_error(mat->ctx));
    *seconds = spmv_now() - start;
    spmv_plan_info(*out, &facts);
    *seconds -= facts.once_s;
    return NULL;
}

static const char *time_all(const solver *s, spmv_plan *const *plan, int iterations, result *out) {
    for (int how = 0; how < WAYS; how++)
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

/* The rows are sent before either is prepared, by csr_warp, which needs nothing else. */
static const char *measure(spmv_mat *mat, int iterations, spmv_plan **plan, solver *s,
                           result *out) {
    spmv_csr_view A;
    spmv_mat_rows(mat, &A);
    if (A.rows != A.cols) return "it is not square";
    double *b = malloc((size_t)A.rows * sizeof *b);
    if (!b) return "out of memory";
    for (int64_t i = 0; i < A.rows; i++) b[i] = 1 + 1e-3 * (double)(i % 1000);
    const char *wrong = make_plan(mat, "cuda:csr_warp", iterations, &out->upload, &plan[NONE]);
    if (!wrong)
        wrong = make_plan(mat, "cuda:cusparse_csr_alg1", iterations, &out->ready[CUSPARSE],
                          &plan[CUSPARSE]);
    if (!wrong) wrong = make_plan(mat, "cuda:auto", iterations, &out->ready[OURS], &plan[OURS]);
    if (!wrong) wrong = solver_make(A.rows, b, s);
    for (int k = CUSPARSE; !wrong && k < PRODUCTS; k++) wrong = check(&A, b, s, plan[k]);
    if (!wrong) wrong = time_all(s, plan, iterations, out);
    free(b);
    return wrong;
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

/* How many of the four conditions do not hold. */
static int print_result(const char *source, const char *kernel, const result *r) {
    const double us = 1e6, ms = 1e3;
    int missed = 0;
    printf("%-28.28s %-18s", source, kernel);
    for (int how = 0; how < WAYS; how++) {
        for (int k = 0; k < PRODUCTS; k++) printf(" %7.1f", us * r->iteration[how][k]);
        printf(" ");
    }
    printf(" %7.1f %7.1f  %7.1f %7.1f %6.0f ", us * r->product[CUSPARSE], us * r->product[OURS],
           ms * r->ready[CUSPARSE], ms * r->ready[OURS], ms * r->upload);
    for (int how = 0; how < WAYS; how++) {
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

/* Conditions that do not hold; one, if it cannot be measured. */
static int bench_matrix(spmv_ctx *ctx, const char *source, int iterations) {
    spmv_mat *mat = NULL;
    spmv_plan *plan[PRODUCTS] = {NULL};
    solver s = {0};
    result r = {.upload = 0};
    const char *wrong = NULL;
    int missed = 1;
    if (spmv_mat_load(ctx, source, NULL, &mat) != SPMV_OK) wrong = spmv_ctx_error(ctx);
    if (!wrong) wrong = measure(mat, iterations, plan, &s, &r);
    if (wrong)
        fprintf(stderr, "bench_solver: %s: %s\n", source, wrong);
    else
        missed = print_result(source, plan[OURS]->kernel->name, &r);
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
    spmv_ctx_free(ctx);
    return missed > 0;
}
