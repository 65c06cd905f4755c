/* team.c: how many threads a product has, where "auto" may choose. It has all of the context's
 * unless half of them, or one, are not slower: where there is little to do, where other processes
 * use the cores, or where fewer threads read as much from memory. The clock decides: after the
 * trials their winner is timed again with fewer threads. Medians count, since with all threads the
 * least sample is the one in which no other process was in the way. */
#include "trials.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 5, FEWEST = 2 };
static const double tie = 0.01; /* a time that much longer is not slower */

static double median_of(candidate *e) {
    if (e->t.nsamples == 0) return INFINITY;
    sort_samples(e->t.sample_s, e->t.nsamples);
    return e->t.sample_s[e->t.nsamples / 2];
}

/* The winner with that many threads: its store is the same, its plan and samples are its own. */
static spmv_status narrow(const trials *c, const candidate *winner, int threads, candidate *out) {
    *out = (candidate){.proposal = winner->proposal, .p = winner->p};
    const spmv_plan_opts opts = spmv_candidate_opts(c, out, threads);
    out->p.batch = NULL, out->p.product = NULL, out->p.nproducts = 0;
    TRY(spmv_plan_make(c->mat, &opts, true, &out->plan));
    out->p.plan = out->plan;
    return problem_open(&out->p);
}

/* Whether that many seconds more are within the budget, or so few that a large one has them even if
 * it was spent on waiting for cores. */
static bool is_affordable(const trials *c, double seconds) {
    const double little = 0.05;
    return spmv_trials_spent_s(c) + seconds < c->budget_s ||
           (is_large_budget(c->budget) && seconds < little * c->budget_s);
}

/* Adds samples until there are enough or, if all are longer than hopeless_s, a few. */
static spmv_status sample(const trials *c, candidate *e, double expected_s, double hopeless_s) {
    double least = INFINITY;
    int n = e->t.nsamples;
    for (; n < FEWEST || (n < SAMPLES && least <= hopeless_s); n++) {
        if (!is_affordable(c, (e->t.nsamples ? 1 : FEWEST) * expected_s)) break;
        TRY(problem_sample(&e->p, &e->t));
        least = fmin(least, e->t.sample_s[n]);
    }
    return SPMV_OK;
}

/* A product before the samples meets new threads and their cold caches. */
static spmv_status time_narrow(const trials *c, candidate *e, int inner, double expected_s,
                               double hopeless_s) {
    double lost;
    e->t.inner = 1;
    TRY(problem_single(&e->p, &lost));
    if (inner > 1) TRY(problem_batch(&e->p, &e->t, inner));
    return sample(c, e, expected_s, hopeless_s);
}

/* Puts the winner with that many threads in its place if that is not slower. Returns the new time
 * over the old one; 0: it was slower, or that is not known. */
static double replace(const trials *c, candidate *winner, int threads) {
    double slower = (double)winner->plan->device->threads / threads;
    double sample_s = winner->t.inner * winner->product_s, expected_s = slower * sample_s;
    candidate e;
    if (sample(c, winner, sample_s, INFINITY) != SPMV_OK || winner->t.nsamples == 0) return 0;
    if (!is_affordable(c, FEWEST * expected_s)) return 0;
    double with_more_s = median_of(winner), most_s = (1 + tie) * with_more_s;
    spmv_status status = narrow(c, winner, threads, &e);
    if (status == SPMV_OK) status = time_narrow(c, &e, winner->t.inner, expected_s, most_s);
    double product_s = status == SPMV_OK ? median_of(&e) : INFINITY;
    bool replaces = product_s <= most_s;
    if (replaces) {
        candidate with_more = *winner;
        *winner = e;
        winner->product_s = e.t.sample_s[0];
        e = with_more;
    }
    spmv_trials_close(&e);
    return replaces ? product_s / with_more_s : 0;
}

void spmv_trials_reduce_team(trials *c, candidate *winner) {
    const spmv_plan *plan = winner->plan;
    int all = plan->device->threads, half = all > 3 ? all / 2 : 1;
    if (!c->backend->host || all == 1 || c->opts->threads || !(winner->product_s > 0)) return;
    if (plan->kernel->traits & SPMV_SERIAL) return;
    double of_all = replace(c, winner, half), of_half = 0;
    if (of_all > 0 && half > 1) of_half = replace(c, winner, 1);
    if (of_all > 0)
        snprintf(c->team, sizeof c->team, "; %d of %d threads in %.2f of their time",
                 winner->plan->device->threads, all, of_half > 0 ? of_half * of_all : of_all);
}
