/* bench/ready.c: seconds until N products are complete, preparation included, of `auto` with N
 * expected products, relative to another kernel: make bench-ready, or bench_ready [-k KERNEL]
 * [MATRIX ...]. Without -k the other kernel is oneMKL with its inspector.
 *
 * Preparation begins with the compressed rows in memory and ends when the plan is complete. The
 * time of N products is N times the mean of the products that were run, up to N and for at most
 * SLICE seconds. The two run in turns ROUNDS times, and the median ratio counts. "unknown" is the
 * preparation without an expected number of products, in products of the other kernel.
 * Exits with 1 if a matrix is above 1.05 at N = 30 or above 1 from N = 100 on, if the geometric
 * mean is above 1 at N = 30, or if preparation without an expected number takes more than MOST
 * products. If the other kernel is not available, the exit code is spmv_exit_code's. */
#include "spmv_bench.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, MOST = 10, NUMBERS = 3 };
static const int64_t numbers[NUMBERS] = {30, 100, 1000};
static const double limits[NUMBERS] = {1.05, 1, 1}, SLICE = 0.1; /* seconds */
static const char *const usual[] = {"gen:poisson3d:64", "gen:poisson2d:1000", "gen:fem3d:30",
                                    "gen:mesh:200000"};

typedef struct bench {
    spmv_mat *mat;
    const char *other;
    double *x, *y;
    double log_sum[NUMBERS], log_ratio[NUMBERS]; /* logarithms of ratios: total, this matrix */
    int matrices, over;
} bench;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values) {
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, ascending);
    return sorted[ROUNDS / 2];
}

typedef struct cost { /* seconds */
    double prepare, product;
    char what[64];
} cost;

/* The mean of products that follow each other. */
static spmv_status time_products(const bench *b, const spmv_plan *plan, int64_t most, double *out) {
    int64_t n = 0;
    double start = spmv_now(), end = start;
    for (; n < most && end - start < SLICE; n++, end = spmv_now()) {
        spmv_status status = spmv_exec(plan, 1, b->x, 0, b->y);
        if (status != SPMV_OK) return status;
    }
    *out = (end - start) / (double)n;
    return SPMV_OK;
}

/* expected 0: unknown. */
static spmv_status measure(const bench *b, const char *kernel, int64_t expected, cost *out) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .expected_calls = expected};
    spmv_plan *plan = NULL;
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    spmv_mat_drop_stores(b->mat);
    double start = spmv_now();
    spmv_status status = spmv_plan_create(b->mat, &opts, &plan);
    out->prepare = spmv_now() - start;
    if (status != SPMV_OK) return status;
    spmv_plan_info(plan, &facts);
    snprintf(out->what, sizeof out->what, "%s, %d", facts.kernel, facts.threads);
    status = time_products(b, plan, expected ? expected : 30, &out->product);
    spmv_plan_free(plan);
    return status;
}

static spmv_status bench_number(bench *b, int k) {
    double ratio[ROUNDS], n = (double)numbers[k];
    cost ours, theirs;
    for (int r = 0; r < ROUNDS; r++) {
        spmv_status status = measure(b, b->other, numbers[k], &theirs);
        if (status == SPMV_OK) status = measure(b, "auto", numbers[k], &ours);
        if (status != SPMV_OK) return status;
        ratio[r] = (ours.prepare + n * ours.product) / (theirs.prepare + n * theirs.product);
    }
    double middle = median(ratio);
    bool over = !(middle <= limits[k]);
    b->log_ratio[k] = log(middle);
    b->over += over;
    printf("  N = %4.0f  %5.2f  ready %8.2f ms, %8.2f; a product %9.1f us, %9.1f; %s%s\n", n,
           middle, 1e3 * ours.prepare, 1e3 * theirs.prepare, 1e6 * ours.product,
           1e6 * theirs.product, ours.what, over ? "  OVER THE LIMIT" : "");
    fflush(stdout);
    return SPMV_OK;
}

static spmv_status bench_unknown(bench *b) {
    double products[ROUNDS];
    cost ours, rows;
    for (int r = 0; r < ROUNDS; r++) {
        spmv_status status = measure(b, "auto", 0, &ours);
        if (status == SPMV_OK) status = measure(b, b->other, 0, &rows);
        if (status != SPMV_OK) return status;
        products[r] = ours.prepare / rows.product;
    }
    double middle = median(products);
    b->over += !(middle <= MOST);
    printf("  unknown   ready in %.1f products of the other; %s%s\n", middle, ours.what,
           middle <= MOST ? "" : "  OVER THE LIMIT");
    return SPMV_OK;
}

static spmv_status bench_matrix(spmv_ctx *ctx, const char *source, bench *b) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_status status = spmv_mat_load(ctx, source, NULL, &b->mat);
    if (status != SPMV_OK) return status;
    spmv_mat_stats(b->mat, &stats);
    printf("%s: %lld nonzeros\n", source, (long long)stats.nnz);
    b->x = calloc((size_t)stats.cols, sizeof *b->x);
    b->y = calloc((size_t)stats.rows, sizeof *b->y);
    status = b->x && b->y ? SPMV_OK : SPMV_E_NOMEM;
    cost lost;
    if (status == SPMV_OK) status = measure(b, b->other, 1, &lost); /* what a process does once */
    for (int k = 0; k < NUMBERS && status == SPMV_OK; k++) status = bench_number(b, k);
    if (status == SPMV_OK) status = bench_unknown(b);
    b->matrices += status == SPMV_OK;
    for (int k = 0; k < NUMBERS && status == SPMV_OK; k++) b->log_sum[k] += b->log_ratio[k];
    free(b->x);
    free(b->y);
    spmv_mat_free(b->mat);
    return status;
}

/* Says whether there is such a kernel, before anything is timed. */
static spmv_status look_for(spmv_ctx *ctx, const char *kernel) {
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel};
    spmv_mat *mat = NULL;
    spmv_plan *plan = NULL;
    spmv_status status = spmv_mat_load(ctx, "gen:diagonal:8", NULL, &mat);
    if (status == SPMV_OK) status = spmv_plan_create(mat, &opts, &plan);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    return status;
}

int main(int argc, char **argv) {
    spmv_ctx_opts opts = {.size = sizeof opts};
    spmv_ctx *ctx = NULL;
    bench b = {.other = "omp:mkl_csr"};
    int first = 1, n = (int)(sizeof usual / sizeof *usual);
    if (argc > 2 && strcmp(argv[1], "-k") == 0) b.other = argv[2], first = 3;
    const char *const *sources = usual;
    if (argc > first) sources = (const char *const *)argv + first, n = argc - first;
    if (spmv_ctx_create(&opts, &ctx) != SPMV_OK) return 1;
    const spmv_status there = look_for(ctx, b.other);
    if (there != SPMV_OK) {
        fprintf(stderr, "bench_ready: %s\n", spmv_ctx_error(ctx));
        spmv_ctx_free(ctx);
        return spmv_exit_code(there);
    }
    printf("%d threads; auto over %s, preparation and N products\n", spmv_ctx_threads(ctx),
           b.other);
    for (int k = 0; k < n; k++)
        if (bench_matrix(ctx, sources[k], &b) != SPMV_OK) {
            fprintf(stderr, "bench_ready: %s: %s\n", sources[k], spmv_ctx_error(ctx));
            b.over++;
        }
    for (int k = 0; k < NUMBERS && b.matrices > 0; k++)
        printf("geometric mean, N = %lld: %.2f\n", (long long)numbers[k],
               exp(b.log_sum[k] / b.matrices));
    b.over += b.log_sum[0] > 0;
    spmv_ctx_free(ctx);
    return b.over > 0;
}
