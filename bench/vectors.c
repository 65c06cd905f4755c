/* bench/vectors.c: time of a product of k vectors, k = 1 to 34: make bench-vectors, or
 * bench_vectors [KERNEL [MATRIX...]].
 *
 * Each k has a separate plan, created for 1,000 products of k vectors; the default kernel is
 * `auto`. A sample is one product; all k run in turns, and the minimum of ROUNDS counts. A step is
 * the ratio of times for k and k - 1 divided by the ratio of bytes, where each number counts once.
 * Exits with 1 if k vectors take longer than k single products, or if steps exceed MEAN_STEP in the
 * mean or LONGEST_STEP. */
#include "spmv_bench.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 34, ROUNDS = 25, CALLS = 1000 };
static const double MEAN_STEP = 1.35, LONGEST_STEP = 1.7;
static const char *const usual[] = {"gen:poisson3d:80", "gen:fem3d:28", "gen:mesh:400000",
                                    "gen:rmat:16"};
static const char *const layout_names[] = {"", "columns", "rows"};

typedef struct bench {
    spmv_ctx *ctx;
    spmv_mat *mat;
    spmv_csr_view A;
    double *x, *z; /* [MOST] vectors each */
    spmv_plan *plan[MOST + 1];
    double seconds[MOST + 1];
} bench;

static void fail(const bench *b, const char *what) {
    fprintf(stderr, "%s: %s\n", what, spmv_ctx_error(b->ctx));
    exit(2);
}

static void make_plans(bench *b, const char *kernel, spmv_layout layout) {
    for (int k = 1; k <= MOST; k++) {
        spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
        opts.kernel = kernel;
        opts.expected_calls = CALLS;
        opts.vectors = k;
        opts.layout = layout;
        b->seconds[k] = 1e9;
        if (spmv_plan_create(b->mat, &opts, &b->plan[k])) fail(b, "plan");
    }
}

static void time_plans(bench *b) {
    for (int round = -1; round < ROUNDS; round++)
        for (int k = 1; k <= MOST; k++) {
            const spmv_product one = {.plan = b->plan[k], .x = b->x, .y = b->z, .k = k};
            double s;
            if (spmv_exec_timed(&one, 1, 1, 0, &s)) fail(b, "product");
            if (round >= 0 && s < b->seconds[k]) b->seconds[k] = s;
        }
}

static double bytes_of(const bench *b, int k) {
    return 12.0 * (double)b->A.nnz + 4.0 * (double)b->A.rows +
           8.0 * k * (double)(b->A.rows + b->A.cols);
}

/* Prints a line for each k, and a summary. Returns whether a limit is exceeded. */
static bool print(bench *b, const char *name, spmv_layout layout) {
    double sum = 0, longest = 0, dearest = 0;
    for (int k = 1; k <= MOST; k++) {
        spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
        const double singles = b->seconds[k] / (k * b->seconds[1]);
        const double step =
            k == 1 ? 1 : b->seconds[k] / b->seconds[k - 1] / (bytes_of(b, k) / bytes_of(b, k - 1));
        if (spmv_plan_info(b->plan[k], &facts)) fail(b, "facts");
        printf("%-16s %-7s %2d %-22s %8.0f us  of k single products %.2f  step %.2f\n", name,
               layout_names[layout], k, facts.kernel, 1e6 * b->seconds[k], singles, step);
        if (k > 1) sum += step;
        if (step > longest) longest = step;
        if (singles > dearest) dearest = singles;
        spmv_plan_free(b->plan[k]);
    }
    printf("%-16s %-7s steps: mean %.2f, longest %.2f; of k single products %.2f at most\n", name,
           layout_names[layout], sum / (MOST - 1), longest, dearest);
    return sum / (MOST - 1) > MEAN_STEP || longest > LONGEST_STEP || dearest > 1;
}

static bool run(bench *b, const char *name, const char *kernel) {
    bool is_over = false;
    b->A = SPMV_OPTS(spmv_csr_view);
    const spmv_load_opts random = {.size = sizeof random, .values = "random"};
    const bool generated = strncmp(name, "gen:", 4) == 0;
    if (spmv_mat_load(b->ctx, name, generated ? &random : NULL, &b->mat) ||
        spmv_mat_rows(b->mat, &b->A))
        fail(b, name);
    b->x = calloc((size_t)(MOST * b->A.cols + 1), sizeof *b->x);
    b->z = calloc((size_t)(MOST * b->A.rows + 1), sizeof *b->z);
    if (!b->x || !b->z) fail(b, "memory");
    for (int64_t k = 0; k < MOST * b->A.cols; k++) b->x[k] = 1 + 1e-3 * (double)(k % 1009);
    for (int l = SPMV_COLUMNS; l <= SPMV_ROWS; l++) {
        make_plans(b, kernel, (spmv_layout)l);
        time_plans(b);
        is_over |= print(b, name, (spmv_layout)l);
    }
    free(b->x);
    free(b->z);
    spmv_mat_free(b->mat);
    return is_over;
}

int main(int argc, char **argv) {
    const spmv_ctx_opts opts = SPMV_OPTS(spmv_ctx_opts);
    const int n = argc > 2 ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    bench b = {.ctx = NULL};
    bool is_over = false;
    if (spmv_ctx_create(&opts, &b.ctx)) fail(&b, "context");
    for (int m = 0; m < n; m++)
        is_over |= run(&b, argc > 2 ? argv[m + 2] : usual[m], argc > 1 ? argv[1] : "auto");
    spmv_ctx_free(b.ctx);
    return is_over;
}
