/* trials.c: the timed part of "auto". Each candidate runs two products; those close to the best run
 * more, until the budget is spent. For a small matrix one sample covers many products, on a GPU as
 * a graph. */
#include "spmv_clock.h"
#include "host/context.h"
#include "matrix/matrix.h"
#include "trials.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_ROUNDS = 20,
    MOST_INNER = 20, /* most products per sample */
    MOST_FIRST = 6,  /* most first products of a kernel */
    FEWEST = 3       /* samples on a CPU before a kernel may be disqualified */
};
static const double sample_s = 5e-5; /* least seconds of a sample */
/* seconds of flushing that do not count towards the budget */
static const double most_flushing_s = 0.05;
/* most seconds of rounds added after expensive conversions */
static const double most_assured_s = 3e-3;
/* excess over the best, beyond the scatter, that disqualifies */
static const double hopeless = 0.15;
static const double unseen = 0.5; /* scatter assumed for a single sample */

void spmv_trials_note(trials *c, const char *what, const spmv_proposal *p, const char *why) {
    size_t used = strlen(c->passed);
    snprintf(c->passed + used, sizeof c->passed - used, "; %s %s: %s", what, p->kernel, why);
}

static double waited_s(const trials *c) {
    if (c->wall == 0) return 0;
    return fmax(spmv_now() - c->wall - (spmv_thread_now() - c->cpu), 0);
}

double spmv_trials_spent_s(const trials *c) {
    return spmv_now() - c->start - waited_s(c) - c->flushing_s - c->unpaid_s - c->once_s;
}

bool spmv_trials_are_disturbed(const trials *c) {
    const double part = 0.125; /* fraction of the thread's CPU time */
    if (c->backend->waits_asleep && c->backend->waits_asleep(c->device)) return true;
    return c->wall > 0 && waited_s(c) > part * (spmv_thread_now() - c->cpu);
}

double spmv_trials_budget_s(const trials *c) {
    return c->budget * c->entry[0].product_s;
}

/* ---- samples -------------------------------------------------------------------------------- */

static spot spot_of(const trials *c) {
    const spmv_plan_opts *o = c->opts;
    return (spot){c->mat, o->precision, o->vectors > 0 ? o->vectors : 1,
                  o->layout ? o->layout : SPMV_COLUMNS};
}

/* Any normal numbers in x give the same time: with all bytes 0x3f a double is 4.8e-4 and a float
 * 0.75. On a CPU, where results are checked, x is set by spot_check_vary. */
static spmv_status make_vectors(trials *c) {
    enum { ORDINARY = 0x3f };
    size_t copies = c->copies > 1 ? (size_t)c->copies : 1;
    const spot s = spot_of(c);
    size_t x = copies * problem_vector_bytes(s.precision, s.k * c->mat->csr.cols);
    size_t y = copies * problem_vector_bytes(s.precision, s.k * c->mat->csr.rows);
    double start = spmv_now();
    TRY(c->backend->alloc(c->device, x, &c->x));
    TRY(c->backend->alloc(c->device, y, &c->y));
    /* the caller's allocation will reuse this memory */
    if (!c->backend->host) c->unpaid_s += spmv_now() - start;
    TRY(c->backend->fill(c->device, c->y, ORDINARY, y)); /* touches the pages */
    if (!c->backend->host) return c->backend->fill(c->device, c->x, ORDINARY, x);
    spot_check_vary(&s, c->device->threads, c->x);
    return SPMV_OK;
}

/* Sets the representative time. Noise only adds time; on a CPU, where most samples may be noisy,
 * the least sample is more reliable than the lower quartile. */
static void judge(candidate *e) {
    sort_samples(e->t.sample_s, e->t.nsamples);
    e->product_s = e->t.sample_s[e->plan->device->backend->host ? 0 : e->t.nsamples / 4];
}

/* Other candidates ran in between: an untimed product brings the matrix back into the caches. */
spmv_status spmv_trials_sample(const trials *c, candidate *e) {
    double lost_s;
    e->p.product_s = e->product_s;
    if (c->is_kept) TRY(problem_single(&e->p, &lost_s));
    TRY(problem_sample(&e->p, &e->t));
    judge(e);
    return SPMV_OK;
}

/* Chooses the products of a sample: as many as the clock's resolution needs; one if each must find
 * empty caches; or one per copy, so that the overlap of consecutive products counts. Preparing
 * copies is not charged to the budget. */
static spmv_status make_batch(trials *c, candidate *e, double product_s) {
    double inner = product_s > 0 ? ceil(sample_s / product_s) : MOST_INNER;
    double start = spmv_now();
    if (c->copies > 1) {
        TRY(problem_copies(&e->p, c->copies));
        TRY(problem_batch(&e->p, &e->t, c->copies));
        c->flushing_s += spmv_now() - start;
        return SPMV_OK;
    }
    if (c->flush || inner <= 1) return SPMV_OK;
    return problem_batch(&e->p, &e->t, inner > MOST_INNER ? MOST_INNER : (int)inner);
}

static spmv_status open_problem(trials *c, candidate *e) {
    const spot s = spot_of(c);
    e->t.inner = 1;
    e->p = (problem){.plan = e->plan,
                     .precision = s.precision,
                     .rows = c->mat->csr.rows,
                     .cols = c->mat->csr.cols,
                     .k = s.k,
                     .layout = s.layout,
                     .alpha = 1,
                     .borrowed_x = c->x,
                     .borrowed_y = c->y,
                     .flush = c->flush,
                     .emptying_s = &c->flushing_s};
    return problem_open(&e->p);
}

/* Times the first products. Two are timed, because the first one meets cold pages and sleeping
 * threads, and on a GPU may take 1.5 times as long even after the warm-up. On a CPU more are timed
 * until the two least agree, because another process may have had a core. */
static spmv_status time_first(const trials *c, candidate *e) {
    const double same = 1.1;
    double least_s = INFINITY, second_s = INFINITY, next_s;
    e->is_steady = false;
    for (int n = 0; n < 2 || (c->backend->host && n < MOST_FIRST && !e->is_steady); n++) {
        TRY(problem_single(&e->p, &next_s));
        second_s = fmin(second_s, fmax(least_s, next_s));
        least_s = fmin(least_s, next_s);
        e->is_steady = second_s <= same * least_s;
    }
    e->product_s = least_s;
    return SPMV_OK;
}

/* The least first product is a sample if a sample is one product and caches are not flushed. */
spmv_status spmv_trials_begin(trials *c, candidate *e) {
    TRY(open_problem(c, e));
    TRY(time_first(c, e));
    TRY(make_batch(c, e, e->product_s));
    if (e->t.inner > 1 || c->flush || (c->is_kept && !c->backend->host)) return SPMV_OK;
    TRY(timing_add(&e->p, &e->t, e->product_s));
    judge(e);
    return SPMV_OK;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static spmv_status ready(trials *c) {
    TRY(make_vectors(c));
    return spmv_trials_begin(c, &c->entry[0]);
}

/* With flushed caches no first product counts as a sample, so one is taken. */
static spmv_status take_first_sample(const trials *c, candidate *e) {
    return c->flush && e->t.nsamples == 0 ? spmv_trials_sample(c, e) : SPMV_OK;
}

static void drop_vectors(trials *c) {
    if (c->is_kept && !c->backend->host) c->backend->flush(c->device, 0);
    if (c->x) c->backend->release(c->device, c->x);
    if (c->y) c->backend->release(c->device, c->y);
    c->x = c->y = NULL;
}

/* If memory for copies is lacking after all, samples are single products after a flush. */
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
    TRY(take_first_sample(c, baseline));
    baseline->product_s = fmax(baseline->product_s, 1e-9);
    return SPMV_OK;
}

candidate *spmv_trials_fastest(trials *c) {
    candidate *best = &c->entry[0];
    for (int k = 1; k < c->n; k++)
        if (c->entry[k].product_s < (best == &c->entry[0] ? 1 - tie : 1) * best->product_s)
            best = &c->entry[k];
    return best;
}

/* Returns the relative excess of the median sample over the least. */
static double scatter_of(const candidate *e) {
    const timing *t = &e->t;
    return t->nsamples < 2 ? unseen : t->sample_s[t->nsamples / 2] / t->sample_s[0] - 1;
}

/* Returns whether there are enough samples to disqualify a candidate. On a CPU another process may
 * have had a core during some. */
static bool is_known(const trials *c, const candidate *e) {
    return !c->backend->host || e->is_steady || e->t.nsamples >= FEWEST;
}

/* Returns whether more samples could not change the winner: all others are behind by more than
 * their own scatter plus the winner's. Disqualifies those far behind. */
static bool is_decided(trials *c) {
    const candidate *best = spmv_trials_fastest(c);
    bool decided = true;
    for (int k = 0; k < c->n; k++) {
        candidate *e = &c->entry[k];
        if (e == best || e->disqualified) continue;
        double behind = e->product_s / best->product_s - 1;
        double scatter = scatter_of(e) + scatter_of(best);
        e->disqualified = behind > hopeless + scatter && is_known(c, e);
        bool settled = behind > 2 * tie + scatter || scatter < tie;
        decided &= e->disqualified || (e->t.nsamples > 2 && best->t.nsamples > 2 && settled);
    }
    return decided;
}

/* Returns whether the device has become unusable. A refused launch alone does not make it so. */
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

/* Disqualifies a candidate that failed or computed a wrong result. Returns the status, which ends
 * the trials, only if the device is lost or the baseline kernel failed. */
static spmv_status disqualify_failed(trials *c, candidate *e, spmv_status status) {
    if (status == SPMV_OK || e == &c->entry[0]) return status;
    TRY(spmv_trials_go_on(c, status));
    spmv_trials_note(c, "disqualified", e->proposal, spmv_ctx_error(c->mat->ctx));
    e->disqualified = true;
    e->product_s = INFINITY;
    return SPMV_OK;
}

/* Returns whether another round would exceed the budget. Flushing is free up to a limit. */
static bool is_spent(const trials *c) {
    double round_s = 0, flushing_s = c->flushing_s > most_flushing_s ? c->flushing_s : 0;
    for (int k = 0; k < c->n; k++)
        if (!c->entry[k].disqualified)
            round_s += (c->entry[k].t.inner + c->is_kept) * c->entry[k].product_s;
    double most_s = fmin(c->budget, for_trials) * c->entry[0].product_s;
    return spmv_trials_spent_s(c) + flushing_s + round_s > fmax(most_s, c->assured_s);
}

/* Grants extra time for rounds, because converting a small matrix may take the whole budget: 0.8 of
 * the budget on a CPU, 0.2 on a GPU, where samples scatter less; most_assured_s at most. */
static void assure_rounds(trials *c) {
    const double part = c->backend->host ? 0.8 : 0.2;
    c->assured_s = spmv_trials_spent_s(c) + fmin(part * spmv_trials_budget_s(c), most_assured_s);
}

spmv_status spmv_trials_first(trials *c, candidate *e) {
    const spot s = spot_of(c);
    if (c->backend->host) spot_check_wipe(&s, c->y);
    spmv_status status = spmv_trials_begin(c, e);
    if (status == SPMV_OK) status = take_first_sample(c, e);
    if (status == SPMV_OK && c->backend->host) status = spot_check(&s, c->y);
    return disqualify_failed(c, e, status);
}

spmv_status spmv_trials_run(trials *c) {
    if (c->is_kept) TRY(problem_fill_caches(&c->entry[0].p, 2 * c->cache));
    assure_rounds(c);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        if (round > 0 && (is_decided(c) || is_spent(c))) break;
        for (int k = 0; k < c->n; k++) {
            candidate *e = &c->entry[(k + round) % c->n];
            if (!e->disqualified && e->t.nsamples <= round)
                TRY(disqualify_failed(c, e, spmv_trials_sample(c, e)));
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
    drop_vectors(c); /* first, because the device may belong to a plan with fewer threads */
    for (int k = 0; k < c->n; k++) spmv_trials_close(&c->entry[k]);
}
