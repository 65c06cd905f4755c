/* bench_sharing.c: one plan in many threads, and what the same bits cost: bench_sharing FILE ...,
 * part of make bench-threads.
 *
 * CALLERS threads multiply with one plan, of each kernel that "auto" may take, one vector and
 * several. Then "auto" with CALLS expected products takes turns with "auto" that is reproducible;
 * the least samples count.
 * Exit 1 if a product is refused, or if the geometric mean of the ratios is over MEAN. */
#include "spmv.h"
#include "test/competitors.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLERS = 8, PRODUCTS = 50, SEVERAL = 8, CALLS = 1000, SAMPLES = 60 };
static const double MEAN = 1.15;
static const char *const kernels[] = {
    "csr_rows",  "csr_balanced", "sell16_lanes",           "csell_slices",
    "spc5_rows", "bsr_lanes",    "csb_interleaved_blocks", "sss_rows",
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct caller {
    const spmv_plan *plan;
    const double *x;
    double *y;
    int64_t k;
    int refused;
} caller;

static void *multiply(void *arg) {
    caller *c = arg;
    const spmv_call call = {.size = sizeof call, .x = c->x, .z = c->y, .k = c->k};
    for (int n = 0; n < PRODUCTS; n++) c->refused += spmv_apply(c->plan, &call, NULL) != SPMV_OK;
    return NULL;
}

static spmv_plan *plan_of(spmv_mat *mat, spmv_plan_opts opts) {
    spmv_plan *plan = NULL;
    opts.size = sizeof opts;
    return spmv_plan_create(mat, &opts, &plan) == SPMV_OK ? plan : NULL;
}

/* Returns how many products are refused; -1: the kernel is not for this matrix. */
static int share(spmv_mat *mat, const char *kernel, int64_t k, const spmv_stats *s) {
    spmv_plan *plan = plan_of(mat, (spmv_plan_opts){.kernel = kernel, .vectors = k});
    double *x = calloc((size_t)(s->cols * k), sizeof *x);
    caller callers[CALLERS];
    pthread_t thread[CALLERS];
    int refused = plan && x ? 0 : -1;
    for (int t = 0; t < CALLERS && refused == 0; t++) {
        double *y = malloc((size_t)(s->rows * k) * sizeof *y);
        callers[t] = (caller){plan, x, y, k, 0};
        pthread_create(&thread[t], NULL, multiply, &callers[t]);
    }
    for (int t = 0; t < CALLERS && plan && x; t++) {
        pthread_join(thread[t], NULL);
        refused += callers[t].refused;
        free(callers[t].y);
    }
    free(x);
    spmv_plan_free(plan);
    return refused;
}

static int bench_sharing(spmv_ctx *ctx) {
    spmv_mat *mat = NULL;
    spmv_stats s = SPMV_OPTS(spmv_stats);
    int refused = 0, products = 0;
    if (spmv_mat_load(ctx, "gen:poisson2d:100", NULL, &mat) != SPMV_OK) return 1;
    spmv_mat_stats(mat, &s);
    for (int k = 0; k < KERNELS; k++)
        for (int64_t vectors = 1; vectors <= SEVERAL; vectors += SEVERAL - 1) {
            const int n = share(mat, kernels[k], vectors, &s);
            if (n < 0) continue;
            refused += n;
            products += CALLERS * PRODUCTS;
        }
    spmv_mat_free(mat);
    printf("%d threads on one plan, 1 and %d vectors: %d of %d products refused (bar 0)\n", CALLERS,
           SEVERAL, refused, products);
    return refused > 0;
}

static double sample(const spmv_plan *plan, const double *x, double *y) {
    spmv_exec(plan, 1, x, 0, y);
    const double start = now();
    spmv_exec(plan, 1, x, 0, y);
    return now() - start;
}

/* Returns the time of the reproducible choice over that of the other; NAN: it failed. */
static double compare(spmv_ctx *ctx, const char *file) {
    spmv_mat *mat = NULL;
    spmv_stats s = SPMV_OPTS(spmv_stats);
    if (spmv_mat_load(ctx, file, NULL, &mat) != SPMV_OK) return NAN;
    spmv_mat_stats(mat, &s);
    double *x = calloc((size_t)s.cols, sizeof *x), *y = malloc((size_t)s.rows * sizeof *y);
    double least[2] = {INFINITY, INFINITY};
    spmv_plan *plan[2];
    spmv_plan_facts facts[2] = {SPMV_OPTS(spmv_plan_facts), SPMV_OPTS(spmv_plan_facts)};
    for (int r = 0; r < 2; r++) {
        plan[r] = plan_of(mat, (spmv_plan_opts){.expected_calls = CALLS,
                                                .threads = spmv_ctx_threads(ctx),
                                                .reproducible = r});
        if (plan[r]) spmv_plan_info(plan[r], &facts[r]);
    }
    for (int n = 0; n < SAMPLES && plan[0] && plan[1]; n++)
        for (int r = 0; r < 2; r++)
            least[(r + n) % 2] = fmin(least[(r + n) % 2], sample(plan[(r + n) % 2], x, y));
    const double ratio = plan[0] && plan[1] ? least[1] / least[0] : NAN;
    printf("  %-34s %8.1f us %-22s reproducible: %8.1f us %-22s %.2f\n", strrchr(file, '/') + 1,
           1e6 * least[0], facts[0].kernel, 1e6 * least[1], facts[1].kernel, ratio);
    for (int r = 0; r < 2; r++) spmv_plan_free(plan[r]);
    spmv_mat_free(mat);
    free(x);
    free(y);
    return ratio;
}

int main(int argc, char **argv) {
    spmv_ctx *ctx = NULL;
    double log_sum = 0;
    if (spmv_ctx_create(NULL, &ctx) != SPMV_OK) return 1;
    int missed = bench_sharing(ctx);
    for (int k = 1; k < argc; k++) log_sum += log(compare(ctx, argv[k]));
    const double mean = argc > 1 ? exp(log_sum / (argc - 1)) : 1;
    printf("reproducible over auto, %d matrices: %.3f in the mean (bar %.2f)\n", argc - 1, mean,
           MEAN);
    spmv_ctx_free(ctx);
    return missed || !(mean <= MEAN);
}
