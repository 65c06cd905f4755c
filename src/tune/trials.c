/* trials.c: the timed part of "auto". A product of a large matrix takes long, so that each
 * candidate gets one, or two where the budget is large, and only those that are close to the best
 * get more, as long as the budget lasts. Products of a small matrix are short, so that a sample
 * times many together, on a GPU as one recording. */
#include "trials.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEWEST_ROUNDS = 2 };
static const double sample_s = 5e-5;       /* seconds that a sample takes at least */
static const double most_assured_s = 3e-3; /* seconds: assured rounds on a CPU */
/* Shares of the budget: what is for rounds, since the last one overruns; what a round may always
 * take; what a second first product may take. */
static const double most_products = 100; /* of the baseline kernel that rounds take */
static const double for_rounds = 0.8, cheap_round = 0.1, negligible_share = 0.02;
/* Seconds of a baseline product up to which it is timed twice: waking threads takes up to 4 ms in a
 * virtual machine. */
static const double short_baseline_s = 5e-3;
static const double most_flushing_s = 0.05; /* seconds of flushing that are not paid for */
static const double tie = 0.01;             /* excess over the best time that does not matter */
static const double hopeless = 0.15;        /* excess beyond the scatter that disqualifies */
static const double far_behind = 1;         /* excess that disqualifies after a single sample */
static const double unseen = 0.1;           /* scatter that is assumed of a single sample */
static const double slow = 3;               /* times the baseline product: disqualifies at once */

static void note(trials *c, const char *what, const spmv_proposal *p, const char *why) {
    size_t used = strlen(c->passed);
    snprintf(c->passed + used, sizeof c->passed - used, "; %s %s: %s", what, p->kernel, why);
}

void spmv_trials_pass_over(trials *c, const spmv_proposal *p, const char *why) {
    note(c, "passed over", p, why);
}

double spmv_trials_spent_s(const trials *c) {
    return spmv_now() - c->start - c->flushing_s - c->sent_s - c->memory_s - c->once_s;
}

/* ---- samples -------------------------------------------------------------------------------- */

/* The values of x do not change the time as long as they are ordinary numbers: with all bytes 0x3f
 * a double is 4.8e-4 and a float 0.75. On a CPU, where results are checked, they are set
 * properly. */
static spmv_status make_vectors(trials *c) {
    enum { ORDINARY = 0x3f };
    size_t copies = c->copies > 1 ? (size_t)c->copies : 1;
    size_t x = copies * problem_vector_bytes(c->opts->precision, c->mat->csr.cols);
    size_t y = copies * problem_vector_bytes(c->opts->precision, c->mat->csr.rows);
    double start = spmv_now();
    TRY(c->backend->alloc(c->device, x, &c->x));
    TRY(c->backend->alloc(c->device, y, &c->y));
    if (!c->backend->host) c->memory_s += spmv_now() - start; /* the caller's will reuse it */
    TRY(c->backend->fill(c->device, c->y, ORDINARY, y));      /* allocates its pages */
    if (!c->backend->host) return c->backend->fill(c->device, c->x, ORDINARY, x);
    spmv_trials_vary_x(c);
    return SPMV_OK;
}

/* Disturbances only add time: on a CPU, where most samples may be disturbed, the least sample tells
 * more than the lower quartile. */
static void judge(candidate *e) {
    sort_samples(e->t.sample_s, e->t.nsamples);
    e->product_s = e->t.sample_s[e->plan->device->backend->host ? 0 : e->t.nsamples / 4];
}

static spmv_status time_once(candidate *e) {
    e->p.product_s = e->product_s;
    TRY(problem_sample(&e->p, &e->t));
    judge(e);
    return SPMV_OK;
}

/* Puts as many products into a sample as the clock needs, or one if each must find empty caches, or
 * one of each copy: what a kernel saves by starting while the previous product ends is part of its
 * time. Of such a sample getting ready is not paid for. */
static spmv_status make_batch(trials *c, candidate *e, double product_s) {
    int most = c->backend->record_start ? 20 : 100; /* recording takes longer than running */
    double inner = product_s > 0 ? ceil(sample_s / product_s) : most;
    double start = spmv_now();
    if (c->copies > 1) {
        TRY(problem_copies(&e->p, c->copies));
        TRY(problem_batch(&e->p, &e->t, c->copies));
        c->flushing_s += spmv_now() - start;
        return SPMV_OK;
    }
    if (c->flush || inner <= 1) return SPMV_OK;
    return problem_batch(&e->p, &e->t, inner > most ? most : (int)inner);
}

/* Sets the budgets from the time of one baseline product. */
static void set_budget(trials *c, double baseline_s) {
    c->budget_s = c->budget * baseline_s;
    c->rounds_s = for_rounds * fmin(c->budget, most_products) * baseline_s;
}

/* Whether a first product and a sample after it would take much of the budget. */
static bool is_flushing_expensive(const trials *c) {
    return c->backend->host && c->flush && !is_large_budget(c->budget);
}

static spmv_status open_problem(trials *c, candidate *e) {
    e->t.inner = 1;
    e->p = (problem){.plan = e->plan,
                     .precision = c->opts->precision,
                     .rows = c->mat->csr.rows,
                     .cols = c->mat->csr.cols,
                     .alpha = 1,
                     .lent_x = c->x,
                     .lent_y = c->y,
                     .flush = c->flush,
                     .emptying_s = &c->flushing_s};
    return problem_open(&e->p);
}

/* Times the first product of a candidate, or two. The first meets cold pages and sleeping threads,
 * so a second one is timed where that takes little of the budget, or for a short baseline product,
 * which is the unit of the budget. On a GPU, where the first may take half as long again even
 * after the warm-up, everyone gets two. The lesser time counts as a sample where a sample is one
 * product and caches are not emptied. Where flushing is expensive, the first product finds empty
 * caches and is the sample. */
static spmv_status time_first_products(trials *c, candidate *e, double baseline_s) {
    enum { PRODUCTS = 2 };
    TRY(open_problem(c, e));
    if (is_flushing_expensive(c)) {
        TRY(time_once(e));
        if (!is_sensitive(e->product_s)) return SPMV_OK;
        e->t.nsamples = 0, e->product_s = 0; /* waking threads and vector units disturbed it */
    }
    const double fair = 1.5;
    double least = INFINITY, seconds = 0;
    const bool gpu = !c->backend->host;
    for (int products = 0; products < PRODUCTS && (gpu || !(least <= fair * baseline_s));
         products++) {
        TRY(problem_single(&e->p, &seconds));
        least = seconds < least ? seconds : least;
        double budget_s = c->budget_s > 0 ? c->budget_s : c->budget * least;
        bool may_wake = baseline_s == 0 && seconds < short_baseline_s && !c->flush;
        if (!gpu && !may_wake &&
            (baseline_s > 0 ? baseline_s : seconds) > negligible_share * budget_s)
            break;
    }
    TRY(make_batch(c, e, least));
    e->product_s = least;
    if (e->t.inner == 1 && !c->flush) {
        TRY(timing_add(&e->t, least));
        judge(e);
    }
    e->disqualified = baseline_s > 0 && least > slow * baseline_s && !c->flush;
    return SPMV_OK;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static spmv_status ready(trials *c) {
    TRY(make_vectors(c));
    return time_first_products(c, &c->entry[0], 0);
}

static void drop_vectors(trials *c) {
    if (c->x) c->backend->release(c->device, c->x);
    if (c->y) c->backend->release(c->device, c->y);
    c->x = c->y = NULL;
}

/* If there is no room for copies after all, samples are single products after a flush. */
spmv_status spmv_trials_baseline(trials *c) {
    candidate *baseline = &c->entry[0];
    spmv_status status = ready(c);
    if (status == SPMV_E_NOMEM && c->copies > 1) {
        problem_close(&baseline->p);
        drop_vectors(c);
        c->copies = 1;
        status = ready(c);
    }
    TRY(status);
    if (c->flush && baseline->t.nsamples == 0) TRY(time_once(baseline));
    baseline->product_s = fmax(baseline->product_s, 1e-9);
    set_budget(c, baseline->product_s);
    return SPMV_OK;
}

candidate *spmv_trials_fastest(trials *c) {
    candidate *best = &c->entry[0];
    for (int k = 1; k < c->n; k++)
        if (c->entry[k].product_s < (best == &c->entry[0] ? 1 - tie : 1) * best->product_s)
            best = &c->entry[k];
    return best;
}

/* The excess of the median sample over the least. */
static double scatter_of(const candidate *e) {
    const timing *t = &e->t;
    return t->nsamples < 2 ? unseen : t->sample_s[t->nsamples / 2] / t->sample_s[0] - 1;
}

/* Whether more samples could not change which candidate is fastest, since all others are behind by
 * more than their scatter and that of the best. Disqualifies those far behind. Another program that
 * takes a core for a while shows in one sample, which says nothing about the kernel: on a CPU with
 * a large budget no candidate is disqualified for a single sample unless it is very slow. */
static bool is_decided(trials *c) {
    const candidate *best = spmv_trials_fastest(c);
    bool decided = true, lenient = c->backend->host && is_large_budget(c->budget);
    for (int k = 0; k < c->n; k++) {
        candidate *e = &c->entry[k];
        if (e == best || e->disqualified) continue;
        double behind = e->product_s / best->product_s - 1;
        double scatter = scatter_of(e) + scatter_of(best);
        bool once = lenient && e->t.nsamples < 2;
        e->disqualified = behind > (once ? far_behind : hopeless) + scatter;
        bool settled = behind > 2 * tie + scatter || scatter < tie;
        decided &= e->disqualified || (e->t.nsamples > 2 && best->t.nsamples > 2 && settled);
    }
    return decided;
}

/* Whether the device is unusable. One failure does not mean that: a refused launch leaves it
 * usable. */
static bool is_lost(const trials *c) {
    return c->backend->sync(c->device) != SPMV_OK || c->backend->nothing(c->device) != SPMV_OK ||
           c->backend->sync(c->device) != SPMV_OK;
}

spmv_status spmv_trials_go_on(trials *c, spmv_status status) {
    char message[sizeof c->mat->ctx->error];
    if (status != SPMV_E_DEVICE) return SPMV_OK;
    snprintf(message, sizeof message, "%s", spmv_ctx_error(c->mat->ctx));
    return is_lost(c) ? spmv_fail(c->mat->ctx, status, "%s", message) : SPMV_OK;
}

/* Disqualifies a candidate that failed or is wrong. A lost device, or a failure of the baseline
 * kernel, ends the trials: then the status is returned. */
static spmv_status disqualify_failed(trials *c, candidate *e, spmv_status status) {
    if (status == SPMV_OK || e == &c->entry[0]) return status;
    TRY(spmv_trials_go_on(c, status));
    note(c, "disqualified", e->proposal, spmv_ctx_error(c->mat->ctx));
    e->disqualified = true;
    e->product_s = INFINITY;
    return SPMV_OK;
}

/* A baseline product that was disturbed made the budget too large; a faster one lowers it. */
static void lower_budget(trials *c) {
    double baseline_s = c->entry[0].product_s;
    if (c->backend->host && baseline_s > 0 && baseline_s * c->budget < c->budget_s)
        set_budget(c, baseline_s);
}

/* Whether another round would take more than the rest of the budget. One round is always allowed
 * where products are short. Time spent on flushing is free up to a limit, then it is paid for; on a
 * CPU with a small budget it is paid for at once, since one flush takes as long as several
 * products. */
static bool is_spent(const trials *c, int round) {
    double free_s = is_flushing_expensive(c) ? 0 : most_flushing_s;
    double round_s = 0, flushing_s = c->flushing_s > free_s ? c->flushing_s : 0;
    for (int k = 0; k < c->n; k++)
        if (!c->entry[k].disqualified) round_s += c->entry[k].t.inner * c->entry[k].product_s;
    if (round < FEWEST_ROUNDS && !is_flushing_expensive(c) && round_s < cheap_round * c->budget_s)
        return false;
    return spmv_trials_spent_s(c) + flushing_s + round_s > fmax(c->rounds_s, c->assured_s);
}

/* On a CPU conversions of a small matrix may take the whole budget, and a few products of it
 * measure little. Where many products follow, a tenth of their time, up to what nobody notices, is
 * kept for rounds. */
static void assure_rounds(trials *c) {
    const double tenth = 0.1;
    double calls = (double)c->opts->expected_calls;
    if (!c->backend->host || !is_large_budget(c->budget)) return;
    c->assured_s =
        spmv_trials_spent_s(c) + fmin(tenth * calls * c->entry[0].product_s, most_assured_s);
}

spmv_status spmv_trials_run(trials *c) {
    candidate *baseline = &c->entry[0];
    /* A first product finds warm caches, so it compares with the baseline only without flushes. */
    double baseline_s = c->flush ? 0 : baseline->product_s;
    for (int k = 1; k < c->n; k++) {
        candidate *e = &c->entry[k];
        spmv_trials_wipe(c);
        spmv_status status = time_first_products(c, e, baseline_s);
        TRY(disqualify_failed(c, e, status == SPMV_OK ? spmv_trials_check(c) : status));
    }
    assure_rounds(c);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        lower_budget(c);
        if (round > 0 && (is_decided(c) || is_spent(c, round))) break;
        for (int k = 0; k < c->n; k++) {
            candidate *e = &c->entry[(k + round) % c->n];
            if (!e->disqualified && e->t.nsamples <= round)
                TRY(disqualify_failed(c, e, time_once(e)));
        }
    }
    return SPMV_OK;
}

void spmv_trials_close(candidate *e) {
    problem_close(&e->p);
    free(e->t.sample_s);
    spmv_plan_free(e->plan);
}

void spmv_trials_free(trials *c) {
    drop_vectors(c); /* first: the device may be a plan's, with fewer threads */
    for (int k = 0; k < c->n; k++) spmv_trials_close(&c->entry[k]);
}
