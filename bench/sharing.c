/* bench/sharing.c: one plan in many threads, and the cost of reproducible results: bench_sharing
 * FILE ..., part of make bench-threads.
 *
 * CALLERS threads multiply with one plan, for each kernel that `auto` may choose, with one vector
 * and with several. The cost for a product of one thread is the allocation of a workspace slot, and
 * the difference between a plan with slots for CALLERS and one without. Then `auto` with CALLS
 * expected products runs in turns with the reproducible `auto`. The minima of the samples are
 * compared.
 * Exits with 1 if a product is refused, if a concurrent plan costs more than COST of a product, or
 * if the geometric mean of the ratios is above MEAN. */
#include "bars.h"
#include "competitors.h"
#include "spmv_clock.h"
#include "host/context.h"
#include "matrix/matrix.h"
#include "plan/product.h"
#include "spmv.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CALLERS = 8,
    PRODUCTS = 50,
    SEVERAL = 8,
    CALLS = 1000,
    SAMPLES = 60,
    TURNS = 400,
    CLAIMS = 1000
};
static const double MEAN = 1.15, COST = 0.02;
static const char *const kernels[] = {
    "csr_rows",  "csr_balanced",           "sell16_lanes", "csell_slices",    "spc5_rows",
    "bsr_lanes", "csb_interleaved_blocks", "sss_rows",     "csell_sym_slices"};
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

/* Returns the number of refused products; -1: the kernel cannot multiply this matrix. */
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

/* Returns the seconds for allocating a slot; minimum of several samples. */
static double claim_s(const spmv_plan *plan, const double *x, double *y, int64_t k) {
    double least = INFINITY;
    for (int n = 0; n < SAMPLES; n++) {
        spmv_operands v = spmv_in_place(plan, 1, x, 0, y);
        v.k = k;
        const double start = spmv_now();
        for (int c = 0; c < CLAIMS; c++) {
            if (spmv_product_claim(plan, "bench_sharing", &v) != SPMV_OK) return INFINITY;
            spmv_product_unclaim(plan, &v);
        }
        least = fmin(least, (spmv_now() - start) / CLAIMS);
    }
    return least;
}

static double product_s(const spmv_plan *plan, const double *x, double *y, int64_t k) {
    const spmv_call call = {.size = sizeof call, .x = x, .z = y, .k = k};
    const double start = spmv_now();
    return spmv_apply(plan, &call, NULL) == SPMV_OK ? spmv_now() - start : INFINITY;
}

/* Returns the cost of a concurrent plan as a share of a product; 0: the kernel cannot multiply this
 * matrix. */
static double cost_of(spmv_mat *mat, const char *kernel, int64_t k, const spmv_stats *s) {
    spmv_plan *plan[2];
    double least[2] = {INFINITY, INFINITY}, cost = 0;
    double *x = calloc((size_t)(s->cols * k), sizeof *x);
    double *y = calloc((size_t)(s->rows * k), sizeof *y);
    for (int c = 0; c < 2; c++)
        plan[c] = plan_of(
            mat, (spmv_plan_opts){.kernel = kernel, .vectors = k, .threads = 1, .concurrent = c});
    if (plan[0] && plan[1] && x && y) {
        for (int n = 0; n < 2 * TURNS; n++) {
            const int c = (n + n / 2) % 2; /* each plan is first equally often */
            least[c] = fmin(least[c], product_s(plan[c], x, y, k));
        }
        const double claim = claim_s(plan[1], x, y, k);
        cost = claim / least[0] + least[1] / least[0] - 1;
        printf("  %-22s %d vector%s %8.1f us, a slot %4.0f ns, with slots %.3f, in all %6.3f\n",
               kernel, (int)k, k > 1 ? "s" : " ", 1e6 * least[0], 1e9 * claim, least[1] / least[0],
               cost);
    }
    for (int c = 0; c < 2; c++) spmv_plan_free(plan[c]);
    free(x);
    free(y);
    return cost;
}

static bool bench_sharing(spmv_ctx *ctx) {
    spmv_mat *mat = NULL;
    spmv_stats s = SPMV_OPTS(spmv_stats);
    int refused = 0, products = 0;
    double worst = 0;
    if (spmv_mat_load(ctx, "gen:poisson2d:100", NULL, &mat) != SPMV_OK) return true;
    spmv_mat_stats(mat, &s);
    for (int k = 0; k < KERNELS; k++)
        for (int64_t vectors = 1; vectors <= SEVERAL; vectors += SEVERAL - 1) {
            worst = fmax(worst, cost_of(mat, kernels[k], vectors, &s));
            const int n = share(mat, kernels[k], vectors, &s);
            if (n < 0) continue;
            refused += n;
            products += CALLERS * PRODUCTS;
        }
    spmv_mat_free(mat);
    printf("%d threads on one plan, 1 and %d vectors, %d products of %d kernels\n", CALLERS,
           SEVERAL, products, KERNELS);
    const bool are_refused = misses_bar("products refused", refused, 0);
    return misses_bar("cost of being concurrent over a product", worst, COST) || are_refused;
}

static double sample(const spmv_plan *plan, const double *x, double *y) {
    spmv_exec(plan, 1, x, 0, y);
    const double start = spmv_now();
    spmv_exec(plan, 1, x, 0, y);
    return spmv_now() - start;
}

/* Returns the time of the reproducible choice divided by that of the other; NAN: failure. */
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
    bool is_missed = bench_sharing(ctx);
    for (int k = 1; k < argc; k++) log_sum += log(compare(ctx, argv[k]));
    const double mean = argc > 1 ? exp(log_sum / (argc - 1)) : 1;
    is_missed |= misses_bar("reproducible over auto, mean of the matrices", mean, MEAN);
    spmv_ctx_free(ctx);
    return is_missed;
}
