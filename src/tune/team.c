/* team.c: chooses the number of threads of the winning kernel, if "auto" may. All threads of the
 * context are used unless half of them, or one, are no slower, for example if there is little work
 * or if fewer threads saturate the memory. The smaller team is timed in alternation with the full
 * one.
 *
 * If other processes compete for the cores, the smaller team must be faster by a quarter, because
 * the competitors may leave, but the plan stays. A product that takes one thread at most about 30
 * us is an exception: the full team must be faster by a quarter, because trials keep threads awake,
 * whereas a caller may let them fall asleep between products; and with competitors such a product
 * gets one thread. */
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "trials.h"
#include <math.h>
#include <stdio.h>

enum { SAMPLES = 5, FEWEST = 2 };
static const double clearly = 0.75; /* ratio of times required beside other processes */
static const double far = 0.25;     /* excess that further samples are not expected to undo */

/* Returns whether a product takes one thread at most about 30 us. */
static bool is_short(const trials *c) {
    const double few = 65536; /* nonzeros and rows, times vectors */
    const double vectors = fmax(1, (double)c->opts->vectors);
    return vectors * (double)(c->mat->csr.nnz + c->mat->csr.rows) < few;
}

/* Returns the largest ratio of times at which fewer threads replace all. */
static double most_of(const trials *c) {
    const bool is_disturbed = spmv_trials_are_disturbed(c);
    if (is_short(c)) return is_disturbed ? INFINITY : 1 / clearly;
    return is_disturbed ? clearly : 1 + tie;
}

static double least_of(const candidate *e) {
    return e->t.nsamples ? e->t.sample_s[0] : INFINITY;
}

/* Returns whether these seconds fit into the budget, or are so few that they may exceed it. */
static bool is_affordable(const trials *c, double seconds) {
    const double little = 0.05;
    return spmv_trials_spent_s(c) + seconds < spmv_trials_budget_s(c) ||
           seconds < little * spmv_trials_budget_s(c);
}

/* Samples both in alternation until e has SAMPLES samples, or FEWEST if all are far slower than the
 * winner. round_s: expected seconds of one sample of each. */
static spmv_status compare(const trials *c, candidate *winner, candidate *e, double round_s) {
    while (e->t.nsamples < SAMPLES && is_affordable(c, round_s)) {
        if (e->t.nsamples >= FEWEST && least_of(e) > (1 + far) * least_of(winner)) break;
        TRY(spmv_trials_sample(c, winner));
        TRY(spmv_trials_sample(c, e));
    }
    return SPMV_OK;
}

/* Replaces the winner by a plan of the same store with `threads` threads, if that is not slower.
 * Returns the ratio of the new time to the old one, or 0 if the winner stays. */
static double replace(trials *c, candidate *winner, int threads) {
    double slower = (double)winner->plan->device->threads / threads;
    double round_s = (1 + slower) * (winner->t.inner + c->is_kept) * winner->product_s;
    candidate e = {.proposal = winner->proposal};
    const spmv_plan_opts opts = spmv_candidate_opts(c, &e, threads);
    const bool is_compared = is_affordable(c, FEWEST * round_s);
    if (!is_compared && !is_short(c)) return 0;
    spmv_status status = spmv_plan_make(c->mat, &opts, true, &e.plan);
    if (status == SPMV_OK) status = spmv_trials_begin(c, &e);
    if (status == SPMV_OK && is_compared) status = compare(c, winner, &e, round_s);
    double ratio = is_short(c)          ? e.product_s / winner->product_s
                   : winner->t.nsamples ? least_of(&e) / least_of(winner)
                                        : INFINITY;
    bool replaces = status == SPMV_OK && ratio <= most_of(c);
    if (replaces) {
        candidate with_more = *winner;
        *winner = e;
        e = with_more;
    }
    spmv_trials_close(&e);
    return replaces ? ratio : 0;
}

void spmv_trials_reduce_team(trials *c, candidate *winner) {
    const spmv_plan *plan = winner->plan;
    int all = plan->device->threads, half = all > 3 ? all / 2 : 1;
    if (!c->backend->host || all == 1 || c->opts->threads || !(winner->product_s > 0)) return;
    if (plan->kernel->traits & SPMV_SERIAL) return;
    const double of_all = replace(c, winner, half),
                 of_half = of_all > 0 && half > 1 ? replace(c, winner, 1) : 0;
    if (of_all > 0)
        snprintf(c->team, sizeof c->team,
                 "; run by %d of %d threads, in %.2f of the time that all take",
                 winner->plan->device->threads, all, of_half > 0 ? of_half * of_all : of_all);
}
