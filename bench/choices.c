/* bench/choices.c: choices of `auto` beside a competing process on each core: bench_choices [-n
 * RUNS] FILE ..., part of make bench-threads.
 *
 * Determines the BEST fastest kernels of each matrix without competitors. Then `auto`, with CALLS
 * expected products, chooses RUNS times beside the competitors; each choice runs in turns with
 * those kernels, and the minima of the samples are compared. Preparation is the processor time of
 * this process's threads, divided by that of CALLS products by the choice.
 * Exits with 1 unless a share GOOD of the choices is within NEAR of the best, none is above FAR,
 * and preparation takes at most SHARE of the products in all. */
#include "spmv.h"
#include "bars.h"
#include "competitors.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 1000, BEST = 5, SAMPLES = 100, MOST_RUNS = 100, MOST_MATRICES = 100 };
static const double GOOD = 0.9, NEAR = 1.1, FAR = 1.5, SHARE = 0.15;
static const char *const kernels[] = {
    "csr_rows",  "csr_balanced", "sell16_lanes", "csell_slices",           "csell_sym_slices",
    "spc5_rows", "bsr_lanes",    "sss_rows",     "csb_interleaved_blocks", "sell_slices"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

typedef struct candidate {
    spmv_plan *plan;
    double least_s;
} candidate;

typedef struct totals {
    int choices, good, matrices;
    double worst, prepare_s, products_s;
} totals;

static spmv_plan *plan_of(spmv_mat *mat, const char *kernel, int64_t calls) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .expected_calls = calls};
    spmv_plan *plan = NULL;
    return spmv_plan_create(mat, &opts, &plan) == SPMV_OK ? plan : NULL;
}

/* Takes a sample: as many products as the clock needs, after one untimed product. */
static void sample(candidate *c, const double *x, double *y) {
    const double shortest = 2e-5;
    int n = 0;
    if (!c->plan || spmv_exec(c->plan, 1, x, 0, y) != SPMV_OK) return;
    const double start = spmv_now();
    double end = start;
    for (; end - start < shortest; end = spmv_now(), n++) spmv_exec(c->plan, 1, x, 0, y);
    c->least_s = fmin(c->least_s, (end - start) / n);
}

/* Runs the candidates in turns, each turn in another order: a kernel that always follows a similar
 * one finds x and y in the caches, and appears up to 1.3 times as fast as in another position. */
static void take_turns(candidate *c, int n, const double *x, double *y) {
    int order[KERNELS];
    for (int k = 0; k < n; k++) c[k].least_s = INFINITY, order[k] = k;
    for (int r = 0; r < SAMPLES; r++) {
        for (int k = n - 1; k > 0; k--) {
            const int other = rand() % (k + 1), kept = order[k];
            order[k] = order[other], order[other] = kept;
        }
        for (int k = 0; k < n; k++) sample(&c[order[k]], x, y);
    }
}

static int by_time(const void *a, const void *b) {
    return ascending(&((const candidate *)a)->least_s, &((const candidate *)b)->least_s);
}

/* Moves the BEST fastest candidates to the front; frees the others. */
static void find_best(spmv_mat *mat, candidate *all, const double *x, double *y) {
    for (int k = 0; k < KERNELS; k++) all[k].plan = plan_of(mat, kernels[k], 0);
    take_turns(all, KERNELS, x, y);
    qsort(all, KERNELS, sizeof *all, by_time);
    for (int k = BEST; k < KERNELS; k++) spmv_plan_free(all[k].plan);
}

/* Returns the time of one choice divided by the best time. */
static double choose(spmv_mat *mat, candidate *all, const double *x, double *y, totals *t) {
    candidate turns[BEST + 1];
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    const double cpu = spmv_clock_s(CLOCK_PROCESS_CPUTIME_ID), start = spmv_now();
    spmv_plan *chosen = plan_of(mat, "auto", CALLS);
    const double took = spmv_clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu, wall = spmv_now() - start;
    if (!chosen) return INFINITY;
    memcpy(turns, all, BEST * sizeof *turns);
    turns[BEST].plan = chosen;
    take_turns(turns, BEST + 1, x, y);
    double best = INFINITY;
    int winner = 0;
    for (int k = 0; k < BEST; k++)
        if (turns[k].least_s < best) best = turns[k].least_s, winner = k;
    spmv_plan_info(chosen, &facts);
    const double ratio = turns[BEST].least_s / best;
    const double products_s = CALLS * facts.threads * turns[BEST].least_s;
    spmv_plan_facts other = SPMV_OPTS(spmv_plan_facts);
    spmv_plan_info(turns[winner].plan, &other);
    printf("  %-18s %d  %8.1f us, %.2f of %s; prepared in %.0f ms, of processors %.3f of the "
           "products%s\n",
           facts.kernel, facts.threads, 1e6 * turns[BEST].least_s, ratio, other.kernel, 1e3 * wall,
           took / products_s, ratio > NEAR ? "  SLOW" : "");
    if (ratio > NEAR && getenv("BENCH_REASONS")) printf("    %s\n", facts.reason);
    t->prepare_s += took;
    t->products_s += products_s;
    spmv_plan_free(chosen);
    return ratio;
}

/* Measures one matrix, with a new context for each choice, as in a new process. */
static int bench_file(const char *file, int runs, int threads, totals *t) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = threads};
    spmv_ctx *ctx = NULL;
    spmv_mat *mat = NULL;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    candidate all[KERNELS];
    if (spmv_ctx_create(&opts, &ctx) != SPMV_OK) return -1;
    if (spmv_mat_load(ctx, file, NULL, &mat) != SPMV_OK) {
        fprintf(stderr, "bench_choices: %s\n", spmv_ctx_error(ctx));
        spmv_ctx_free(ctx);
        return -1;
    }
    spmv_mat_stats(mat, &stats);
    double *x = malloc((size_t)stats.cols * sizeof *x), *y = calloc((size_t)stats.rows, sizeof *y);
    for (int64_t j = 0; j < stats.cols; j++) x[j] = 1 / (double)(j + 1);
    find_best(mat, all, x, y);
    const char *name = strrchr(file, '/');
    printf("%s, %lld nonzeros, %d threads\n", name ? name + 1 : file, (long long)stats.nnz,
           spmv_ctx_threads(ctx));
    begin_competition();
    for (int r = 0; r < runs; r++) {
        const double ratio = choose(mat, all, x, y, t);
        t->choices++;
        t->good += ratio <= NEAR;
        t->worst = fmax(t->worst, ratio);
        fflush(stdout);
    }
    end_competition();
    t->matrices++;
    for (int k = 0; k < BEST; k++) spmv_plan_free(all[k].plan);
    spmv_mat_free(mat);
    spmv_ctx_free(ctx);
    free(x);
    free(y);
    return 0;
}

int main(int argc, char **argv) {
    int runs = 10, threads = 0, first = 1, failed = 0;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        *(argv[first][1] == 't' ? &threads : &runs) = atoi(argv[first + 1]);
    totals t = {.choices = 0};
    for (int k = first; k < argc; k++) failed |= bench_file(argv[k], runs, threads, &t) != 0;
    if (t.choices == 0) return 1;
    printf("%d choices for %d matrices beside a busy process on each core\n", t.choices,
           t.matrices);
    const double slow = 1 - (double)t.good / t.choices;
    failed |= misses_bar("share of choices that are over 1.10 of the best kernel", slow, 1 - GOOD);
    failed |= misses_bar("worst choice over the best kernel", t.worst, FAR);
    failed |= misses_bar("preparation over the products", t.prepare_s / t.products_s, SHARE);
    return failed;
}
