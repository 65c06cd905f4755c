/* bench/threads.c: the cost of products beside a competing process on each core, relative to an
 * idle machine: make bench-threads, or bench_threads [KERNEL ...].
 *
 * Products of about 30 us, 1 ms and 10 ms, by a plan created on the idle machine and by one created
 * beside the competitors, which spin, each bound to a core. Compares medians of all products in
 * SECONDS, including the first ones. A loop does nothing but multiply, by each of the three
 * functions that multiply.
 * Exits with 1 if a median beside competitors exceeds MOST times the idle one. */
#include "spmv_bench.h"
#include "bars.h"
#include "test/calls.h"
#include "competitors.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 5, MOST_PRODUCTS = 1 << 18 };
static const double SECONDS = 2;
static double worst; /* median beside competitors over the idle one */
static const char *const usual[] = {"auto", "csr_rows", "csr_balanced"};
static const char *const matrices[] = {"gen:mesh:10000", "gen:mesh:200000", "gen:random:200000:16"};

/* ---- products ------------------------------------------------------------------------------- */

static const char *const beside_by[] = {"beside: spmv_exec", "beside: spmv_exec_async",
                                        "beside: spmv_apply"};

/* Returns the median of the seconds of products; negative: a product failed. */
static double multiply(call how, const spmv_plan *plan, const double *x, double *y) {
    static double taken[MOST_PRODUCTS];
    int n = 0;
    for (double start = spmv_now(), before = start;
         before - start < SECONDS && n < MOST_PRODUCTS;) {
        if (multiply_by(how, plan, x, y) != SPMV_OK) return -1;
        double after = spmv_now();
        taken[n++] = after - before;
        before = after;
    }
    qsort(taken, (size_t)n, sizeof *taken, ascending);
    return taken[n / 2];
}

/* Waits until the threads spin again: they keep sleeping for seconds after the competitors have
 * ended. */
static void wake_up(const spmv_plan *plan, const double *x, double *y) {
    const double longest = 20;
    spmv_plan_facts facts = {.size = sizeof(spmv_plan_facts), .waits_asleep = 1};
    for (double start = spmv_now(); facts.waits_asleep && spmv_now() - start < longest;) {
        if (multiply_by(EXEC, plan, x, y) != SPMV_OK) return;
        spmv_plan_info(plan, &facts);
    }
}

/* Prints a line; returns 1 if it exceeds the limit. */
static int report(const char *when, const spmv_plan *plan, double quiet, double median) {
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    spmv_plan_info(plan, &facts);
    bool over = !(median <= MOST * quiet);
    worst = fmax(worst, median / quiet);
    printf("  %-24s %-16s %2d thread%s %9.1f us %6.2f x%s%s\n", when, facts.kernel, facts.threads,
           facts.threads == 1 ? " " : "s", 1e6 * median, median / quiet,
           facts.waits_asleep ? "  asleep" : "", over ? "  OVER THE LIMIT" : "");
    fflush(stdout);
    return over;
}

/* Returns the number of lines that exceed the limit; -1: failure. */
static int bench_kernel(spmv_mat *mat, const char *kernel, const double *x, double *y) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .expected_calls = 1000};
    spmv_plan *plan = NULL, *later = NULL;
    int over = -1;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) return -1;
    wake_up(plan, x, y);
    double quiet = multiply(EXEC, plan, x, y), beside = 0;
    report("quiet", plan, quiet, quiet);
    over = 0;
    for (call how = EXEC; how < CALLS && beside >= 0; how++) {
        wake_up(plan, x, y); /* each function must detect the competitors by itself */
        begin_competition();
        beside = multiply(how, plan, x, y);
        over += report(beside_by[how], plan, quiet, beside);
        end_competition();
    }
    begin_competition();
    double start = spmv_now(), made = -1;
    if (spmv_plan_create(mat, &opts, &later) == SPMV_OK) {
        double ready = spmv_now() - start;
        made = multiply(EXEC, later, x, y);
        over += report("made beside them", later, quiet, made);
        printf("  %-24s %.1f ms\n", "made in", 1e3 * ready);
    }
    end_competition();
    spmv_plan_free(later);
    spmv_plan_free(plan);
    return quiet < 0 || beside < 0 || made < 0 ? -1 : over;
}

static int bench_matrix(spmv_ctx *ctx, const char *source, const char *const *kernels, int n) {
    spmv_mat *mat = NULL;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    int over = 0;
    if (spmv_mat_load(ctx, source, NULL, &mat) != SPMV_OK) return -1;
    spmv_mat_stats(mat, &stats);
    double *x = calloc((size_t)stats.cols, sizeof *x), *y = calloc((size_t)stats.rows, sizeof *y);
    for (int k = 0; x && y && k < n && over >= 0; k++) {
        printf("%s, %lld nonzeros, %s\n", source, (long long)stats.nnz, kernels[k]);
        int lines = bench_kernel(mat, kernels[k], x, y);
        over = lines < 0 ? -1 : over + lines;
    }
    free(x);
    free(y);
    spmv_mat_free(mat);
    return over;
}

int main(int argc, char **argv) {
    spmv_ctx_opts opts = {.size = sizeof opts};
    spmv_ctx *ctx = NULL;
    int over = 0, n = argc > 1 ? argc - 1 : 3;
    const char *const *kernels = argc > 1 ? (const char *const *)argv + 1 : usual;
    if (spmv_ctx_create(&opts, &ctx) != SPMV_OK) return 1;
    printf("%d threads\n", spmv_ctx_threads(ctx));
    for (size_t k = 0; k < sizeof matrices / sizeof *matrices && over >= 0; k++) {
        int lines = bench_matrix(ctx, matrices[k], kernels, n);
        if (lines < 0) fprintf(stderr, "bench_threads: %s\n", spmv_ctx_error(ctx));
        over = lines < 0 ? -1 : over + lines;
    }
    spmv_ctx_free(ctx);
    misses_bar("products beside others: worst median over the quiet one", worst, MOST);
    return over != 0;
}
