/* trials.c: the timed part of "auto". A product of a large matrix takes long, so that each
 * candidate gets one, or two where the budget is large, and only those that are close to the best
 * get more, as long as the budget lasts. Products of a small matrix are short, so that a sample
 * times many together, on a GPU as one recording. */
#include "trials.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEWEST_ROUNDS = 2 };
static const double sample_s = 5e-5; /* seconds that a sample takes at least */
/* Where the products of a budget are short it is raised to some milliseconds: nobody notices so
 * little time, and a wrong choice costs more. It never exceeds the time of all expected
 * products. */
static const double least_budget_s = 2e-3; /* seconds of a raised budget on a GPU */
static const double short_s = 9.6e-4; /* on a GPU, where the number is unknown: up to which it is */
static const double least_of_host_s = 3e-3;      /* seconds of any budget on a CPU, at least */
static const double least_for_rounds_s = 6.5e-4; /* seconds: rounds of such a budget on a GPU */
/* Shares of the budget: what is for rounds, since the last one overruns; what a round may always
 * take; what a second first product may take. */
static const double for_rounds = 0.8, cheap_round = 0.1, negligible_share = 0.02;
/* Seconds of a baseline product up to which it is timed twice: waking threads takes up to 4 ms in a
 * virtual machine. */
static const double short_baseline_s = 5e-3;
/* Seconds of a product below which sleeping threads and vector units disturb it. */
static const double sensitive_s = 5e-4;
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

/* Bytes of a vector of n elements, rounded up so that each copy begins at a cache line. */
static size_t vector_bytes(const trials *c, int64_t n) {
    const size_t line = 256;
    size_t width = c->opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    return ((size_t)n * width + line - 1) / line * line;
}

/* The values of x do not change the time as long as they are ordinary numbers: with all bytes 0x3f
 * a double is 4.8e-4 and a float 0.75. On a CPU, where results are checked, they are set
 * properly. */
static spmv_status make_vectors(trials *c) {
    enum { ORDINARY = 0x3f };
    size_t copies = c->copies > 1 ? (size_t)c->copies : 1;
    size_t x = copies * vector_bytes(c, c->mat->csr.cols);
    size_t y = copies * vector_bytes(c, c->mat->csr.rows);
    double start = spmv_now();
    TRY(c->backend->alloc(c->device, x, &c->x));
    TRY(c->backend->alloc(c->device, y, &c->y));
    if (!c->backend->host) c->memory_s += spmv_now() - start; /* the caller's will reuse it */
    TRY(c->backend->fill(c->device, c->y, ORDINARY, y));      /* allocates its pages */
    if (!c->backend->host) return c->backend->fill(c->device, c->x, ORDINARY, x);
    spmv_trials_vary_x(c);
    return SPMV_OK;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Keeps the samples in order. Disturbances only add time: on a CPU, where most samples may be
 * disturbed, the least sample tells more than the lower quartile. */
static void add_sample(candidate *e, double seconds) {
    bool host = e->plan->device->backend->host;
    e->sample[e->nsamples++] = seconds;
    qsort(e->sample, (size_t)e->nsamples, sizeof *e->sample, by_size);
    e->product_s = e->sample[host ? 0 : e->nsamples / 4];
}

/* Puts what a product reads out of the caches; returns false where that cannot be done. Only the
 * kernel knows where its scratch memory is, so scratch stays in the caches if it is small: mostly
 * it is sized for more threads than there are. */
static bool evict(trials *c, const candidate *e) {
    enum { LITTLE = 32, TABLES = 1 << 16 };
    const spmv_plan *p = e->plan;
    size_t x = vector_bytes(c, c->mat->csr.cols), y = vector_bytes(c, c->mat->csr.rows);
    size_t all = spmv_store_bytes(p->store) + x + y;
    if (!c->backend->evict || c->copies > 1 || all > c->flush) return false;
    if (p->scratch_bytes > TABLES && p->scratch_bytes > all / LITTLE) return false;
    return spmv_store_evict(c->backend, c->device, p->store) &&
           c->backend->evict(c->device, c->x, x) && c->backend->evict(c->device, c->y, y);
}

/* Before a short product, code and page tables must leave the near caches, too, and the vector
 * units must go to sleep as they do after 0.7 ms without use; they take 20 us to wake. */
static spmv_status forget_near(trials *c) {
    const double asleep_s = 1e-3;
    const size_t near = (size_t)c->device->threads << 22;
    double start = spmv_now();
    do {
        TRY(c->backend->flush(c->device, near < c->flush ? near : c->flush));
    } while (spmv_now() - start < asleep_s);
    return SPMV_OK;
}

static spmv_status flush(trials *c, const candidate *e) {
    double start = spmv_now();
    if (!evict(c, e))
        TRY(c->backend->flush(c->device, c->flush));
    else if (e->product_s > 0 && e->product_s < sensitive_s)
        TRY(forget_near(c));
    TRY(c->backend->sync(c->device));
    c->flushing_s += spmv_now() - start;
    return SPMV_OK;
}

static spmv_status time_once(trials *c, candidate *e) {
    double seconds = 0;
    if (c->flush) TRY(flush(c, e));
    if (e->batch)
        TRY(spmv_batch_time(e->batch, &seconds));
    else
        TRY(spmv_exec_timed(e->plan, 1, 1, c->x, 0, c->y, &seconds));
    add_sample(e, seconds / e->inner);
    return SPMV_OK;
}

/* Makes the batch of a steady sample: consecutive products over different data. What a kernel saves
 * by starting while the previous one ends is part of its time. */
static spmv_status make_steady_batch(trials *c, candidate *e) {
    spmv_product product[MOST_COPIES];
    double start = spmv_now();
    for (int k = 0; k < c->copies; k++) {
        if (k > 0) TRY(spmv_plan_copy(e->plan, &e->copy[k]));
        product[k] = (spmv_product){k > 0 ? e->copy[k] : e->plan,
                                    (char *)c->x + (size_t)k * vector_bytes(c, c->mat->csr.cols),
                                    (char *)c->y + (size_t)k * vector_bytes(c, c->mat->csr.rows)};
    }
    e->inner = c->copies;
    TRY(spmv_batch_create(product, c->copies, e->inner, 1, 0, &e->batch));
    c->flushing_s += spmv_now() - start;
    return SPMV_OK;
}

/* Puts as many products into a sample as the clock needs, or one if each must find empty caches. */
static spmv_status make_batch(trials *c, candidate *e, double product_s) {
    int most = c->backend->record_start ? 20 : 100; /* recording takes longer than running */
    /* Recording a short product takes as long as three of them. */
    bool little = !c->backend->host && !is_large_budget(c->budget);
    double inner = product_s > 0 ? ceil((little ? sample_s / 2 : sample_s) / product_s) : most;
    spmv_product product = {e->plan, c->x, c->y};
    if (c->copies > 1) return make_steady_batch(c, e);
    e->inner = c->flush ? 1 : inner > most ? most : inner < 1 ? 1 : (int)inner;
    if (e->inner == 1) return SPMV_OK;
    return spmv_batch_create(&product, 1, e->inner, 1, 0, &e->batch);
}

/* Sets the budgets from the time of one baseline product. */
static void set_budget(trials *c, double baseline_s) {
    bool host = c->backend->host;
    double expected_s = c->expected_budget * baseline_s;
    double all_s =
        c->opts->expected_calls ? (double)c->opts->expected_calls * baseline_s : INFINITY;
    bool is_raised = host || c->opts->expected_calls || expected_s < short_s;
    double least_s = is_raised ? fmin(host ? least_of_host_s : least_budget_s, all_s) : 0;
    double rounds_s = fmin(host ? least_of_host_s : least_for_rounds_s, all_s);
    c->budget_s = fmax(expected_s, least_s);
    c->rounds_s = for_rounds * fmax(expected_s, rounds_s);
    c->budget = c->budget_s / baseline_s;
}

/* Whether a first product and a sample after it would take much of the budget. */
static bool is_flushing_expensive(const trials *c) {
    return c->backend->host && c->flush && !is_large_budget(c->budget);
}

/* Times a first product that finds the caches empty. It is a sample, unless it is so short that
 * waking threads and vector units disturbed it. */
static spmv_status time_cold(trials *c, candidate *e) {
    double seconds;
    TRY(flush(c, e));
    TRY(spmv_exec_timed(e->plan, 1, 1, c->x, 0, c->y, &seconds));
    if (seconds >= sensitive_s) add_sample(e, seconds);
    e->inner = 1;
    return SPMV_OK;
}

/* Times the first product of a candidate, or two. The first meets cold pages and sleeping threads,
 * so a second one is timed where that takes little of the budget, or for a short baseline product,
 * which is the unit of the budget. On a GPU the first may take half as long again even after the
 * warm-up: so a slow candidate gets a second product, and with a large budget everyone does. The
 * lesser time counts as a sample where a sample is one product and caches are not emptied. */
static spmv_status time_first_products(trials *c, candidate *e, double baseline_s) {
    enum { PRODUCTS = 2 };
    if (is_flushing_expensive(c)) {
        TRY(time_cold(c, e));
        if (e->nsamples) return SPMV_OK;
    }
    const double fair = 1.5;
    double least = INFINITY, seconds = 0;
    bool gpu = !c->backend->host, large = gpu && is_large_budget(c->budget);
    for (int products = 0; products < PRODUCTS && (large || !(least <= fair * baseline_s));
         products++) {
        TRY(spmv_exec_timed(e->plan, 1, 1, c->x, 0, c->y, &seconds));
        least = seconds < least ? seconds : least;
        double budget_s = c->budget_s > 0 ? c->budget_s : c->budget * least;
        bool may_load = large || (gpu && baseline_s > 0);
        bool may_wake = !gpu && baseline_s == 0 && seconds < short_baseline_s && !c->flush;
        if (!may_load && !may_wake &&
            (baseline_s > 0 ? baseline_s : seconds) > negligible_share * budget_s)
            break;
    }
    TRY(make_batch(c, e, least));
    e->product_s = least;
    if (e->inner == 1 && !c->flush) add_sample(e, least);
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

static void drop_copies(candidate *e) {
    spmv_batch_free(e->batch);
    e->batch = NULL;
    for (int n = 0; n < MOST_COPIES; n++) {
        spmv_plan_free(e->copy[n]);
        e->copy[n] = NULL;
    }
}

/* If there is no room for copies after all, samples are single products after a flush. */
spmv_status spmv_trials_baseline(trials *c, double *baseline_s) {
    candidate *baseline = &c->entry[0];
    spmv_status status = ready(c);
    if (status == SPMV_E_NOMEM && c->copies > 1) {
        drop_copies(baseline);
        drop_vectors(c);
        c->copies = 1;
        status = ready(c);
    }
    TRY(status);
    if (c->flush && baseline->nsamples == 0) TRY(time_once(c, baseline));
    *baseline_s = baseline->product_s > 0 ? baseline->product_s : 1e-9;
    c->expected_budget = c->budget;
    set_budget(c, *baseline_s);
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
    return e->nsamples < 2 ? unseen : e->sample[e->nsamples / 2] / e->sample[0] - 1;
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
        bool once = lenient && e->nsamples < 2;
        e->disqualified = behind > (once ? far_behind : hopeless) + scatter;
        bool settled = behind > 2 * tie + scatter || scatter < tie;
        decided &= e->disqualified || (e->nsamples > 2 && best->nsamples > 2 && settled);
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
        if (!c->entry[k].disqualified) round_s += c->entry[k].inner * c->entry[k].product_s;
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
        spmv_trials_spent_s(c) + fmin(tenth * calls * c->entry[0].product_s, least_of_host_s);
}

/* On a GPU one slow sample does not decide against the baseline kernel, unless a candidate is ahead
 * by more than a first sample can be slow. */
static bool needs_second_sample(const trials *c) {
    const candidate *baseline = &c->entry[0];
    bool far_ahead = false;
    for (int k = 1; k < c->n; k++)
        far_ahead |= baseline->product_s > (1 + far_behind) * c->entry[k].product_s;
    return !c->backend->host && c->n > 1 && baseline->nsamples == 1 && !far_ahead;
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
    if (needs_second_sample(c)) TRY(time_once(c, baseline));
    assure_rounds(c);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        lower_budget(c);
        if (round > 0 && (is_decided(c) || is_spent(c, round))) break;
        for (int k = 0; k < c->n; k++) {
            candidate *e = &c->entry[(k + round) % c->n];
            if (!e->disqualified && e->nsamples <= round)
                TRY(disqualify_failed(c, e, time_once(c, e)));
        }
    }
    return SPMV_OK;
}

void spmv_trials_free(trials *c) {
    for (int k = 0; k < c->n; k++) {
        drop_copies(&c->entry[k]);
        spmv_plan_free(c->entry[k].plan);
    }
    drop_vectors(c);
}
