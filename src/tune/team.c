/* team.c: how many threads a product has, where "auto" may choose: all of the context's unless half
 * of them, or one, are not slower, as where there is little to do or fewer threads read as much
 * from memory. The winner with fewer threads is timed in turns with it. Beside other processes
 * it has to be faster by a quarter, as where waking the others takes longer than the product: while
 * they have a core, one thread does the work of all in the same time, but they come and go, and the
 * plan stays. A product that takes one thread some microseconds is another case: trials multiply
 * again and again, so that threads never sleep, but a caller who does something in between wakes
 * them each time. There all threads have to be faster by a quarter; and beside other processes,
 * where they sleep at once, it has one thread. */
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "trials.h"
#include <math.h>
#include <stdio.h>

enum { SAMPLES = 5, FEWEST = 2 };
static const double clearly = 0.75; /* of the time, beside other processes */
static const double far = 0.25;     /* excess that no further sample is expected to undo */

/* Says whether a product takes one thread about 30 us at most. */
static bool is_short(const trials *c) {
    const double few = 65536; /* nonzeros and rows, of all vectors */
    const double vectors = fmax(1, (double)c->opts->vectors);
    return vectors * (double)(c->mat->csr.nnz + c->mat->csr.rows) < few;
}

/* Returns how long fewer threads may take to replace all, in the time of all. */
static double most_of(const trials *c) {
    const bool is_disturbed = spmv_trials_are_disturbed(c);
    if (is_short(c)) return is_disturbed ? INFINITY : 1 / clearly;
    return is_disturbed ? clearly : 1 + tie;
}

static double least_of(const candidate *e) {
    return e->t.nsamples ? e->t.sample_s[0] : INFINITY;
}

/* Says whether that many seconds more are within the budget, or so few that they are taken even if
 * it was spent on waiting for cores. */
static bool is_affordable(const trials *c, double seconds) {
    const double little = 0.05;
    return spmv_trials_spent_s(c) + seconds < spmv_trials_budget_s(c) ||
           seconds < little * spmv_trials_budget_s(c);
}

/* Takes samples of both in turns until there are enough of e or, if all of them are far longer than
 * those of the winner, a few. round_s: what one of each may take. */
static spmv_status compare(const trials *c, candidate *winner, candidate *e, double round_s) {
    while (e->t.nsamples < SAMPLES && is_affordable(c, round_s)) {
        if (e->t.nsamples >= FEWEST && least_of(e) > (1 + far) * least_of(winner)) break;
        TRY(spmv_trials_sample(c, winner));
        TRY(spmv_trials_sample(c, e));
    }
    return SPMV_OK;
}

/* Puts the winner with that many threads, of the same store, in its place if that is not slower.
 * Returns the new time over the old one; 0: it was slower, or that is not known. */
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
