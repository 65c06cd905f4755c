/* run_off.c: the timed part of "auto". A product of a large matrix is dear, so that each contender
 * gets one, or two where there is plenty to spend, and only those that are close get more, as long
 * as the budget lasts; products of a small one are short, so that many are timed together, on a GPU
 * as one recording. */
#include "trials.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FEWEST_ROUNDS = 2 };
static const double sample_s = 5e-5; /* so much at least makes a sample */
/* Where the products of the budget are short: nobody waits for so little, and a wrong kernel costs
 * more; but never more than all that were promised take. Rounds only make sure and take less. */
static const double short_s = 9.6e-4, least_budget_s = 2e-3, least_of_host_s = 3e-3,
                    least_for_rounds_s = 6.5e-4;
void spmv_contest_pass_over(contest *c, const spmv_proposal *p, const char *why) {
    size_t used = strlen(c->passed);
    snprintf(c->passed + used, sizeof c->passed - used, "; passed over %s: %s", p->kernel, why);
}

static const double for_rounds = 0.8;  /* of the budget: the clock is read behind what it is for */
static const double cheap_round = 0.1; /* of the budget */
static const double short_look = 0.02; /* of the budget: costs nothing to do twice */
static const double short_unit_s = 5e-3; /* waking a team takes up to 4 ms on a virtual machine */
static const double most_flushing_s = 0.05;      /* beside the budget */
static const double tie = 0.01, hopeless = 0.15, /* behind the best */
    far_behind = 1,                              /* by chance alone too seldom for a second look */
    unseen = 0.1,                                /* scatter of what was timed once */
    slow = 3;

double spmv_contest_spent_s(const contest *c) {
    return spmv_now() - c->start - c->flushing_s - c->sent_s - c->memory_s - c->once_s;
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Of one of the copies: each begins a cache line. */
static size_t vector_bytes(const contest *c, int64_t n) {
    const size_t line = 256;
    size_t width = c->opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    return ((size_t)n * width + line - 1) / line * line;
}

/* What x holds does not matter to the clock as long as it is ordinary: of bytes 0x3f double is
 * 4.8e-4 and float 0.75. On a host results are checked, and there it matters. */
static spmv_status make_vectors(contest *c) {
    enum { ORDINARY = 0x3f };
    size_t copies = c->copies > 1 ? (size_t)c->copies : 1;
    size_t x = copies * vector_bytes(c, c->mat->hub.cols);
    size_t y = copies * vector_bytes(c, c->mat->hub.rows);
    double start = spmv_now();
    TRY(c->backend->alloc(c->device, x, &c->x));
    TRY(c->backend->alloc(c->device, y, &c->y));
    if (!c->backend->host) c->memory_s += spmv_now() - start; /* the caller's take it over */
    TRY(c->backend->fill(c->device, c->y, ORDINARY, y));      /* gives it pages */
    if (!c->backend->host) return c->backend->fill(c->device, c->x, ORDINARY, x);
    spmv_contest_vary_x(c);
    return SPMV_OK;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kept in order. What disturbs only adds time: on a host, where it may disturb most samples, the
 * least tells more than the lower quartile. */
static void add_sample(contender *e, double seconds) {
    bool host = e->plan->device->backend->host;
    e->sample[e->nsamples++] = seconds;
    qsort(e->sample, (size_t)e->nsamples, sizeof *e->sample, by_size);
    e->product_s = e->sample[host ? 0 : e->nsamples / 4];
}

/* What a product reads, out of the caches. Scratch, of which only the kernel knows where it is,
 * stays, if it is little: most have tables for more threads than there are. */
static bool evict(contest *c, const contender *e) {
    enum { LITTLE = 32, TABLES = 1 << 16 };
    const spmv_plan *p = e->plan;
    size_t x = vector_bytes(c, c->mat->hub.cols), y = vector_bytes(c, c->mat->hub.rows);
    size_t all = spmv_store_bytes(p->store) + x + y;
    if (!c->backend->evict || c->copies > 1 || all > c->flush) return false;
    if (p->scratch_bytes > TABLES && p->scratch_bytes > all / LITTLE) return false;
    return spmv_store_evict(c->backend, c->device, p->store) &&
           c->backend->evict(c->device, c->x, x) && c->backend->evict(c->device, c->y, y);
}

/* A short product also meets code and tables of pages that are not in the near caches, and vector
 * units that fell asleep, which they do in 0.7 ms without use, and take 20 us to wake. */
static spmv_status forget_near(contest *c) {
    const double asleep_s = 1e-3;
    const size_t near = (size_t)c->device->threads << 22;
    double start = spmv_now();
    do {
        TRY(c->backend->flush(c->device, near < c->flush ? near : c->flush));
    } while (spmv_now() - start < asleep_s);
    return SPMV_OK;
}

static const double notices_s = 5e-4;

static spmv_status flush(contest *c, const contender *e) {
    double start = spmv_now();
    if (!evict(c, e))
        TRY(c->backend->flush(c->device, c->flush));
    else if (e->product_s > 0 && e->product_s < notices_s)
        TRY(forget_near(c));
    TRY(c->backend->sync(c->device));
    c->flushing_s += spmv_now() - start;
    return SPMV_OK;
}

static spmv_status time_once(contest *c, contender *e) {
    double seconds = 0;
    if (c->flush) TRY(flush(c, e));
    if (e->batch)
        TRY(spmv_batch_time(e->batch, &seconds));
    else
        TRY(spmv_exec_timed(e->plan, 1, 1, c->x, 0, c->y, &seconds));
    add_sample(e, seconds / e->inner);
    return SPMV_OK;
}

/* Products that follow each other over different data, as they will: what a kernel gains by
 * starting while the one in front ends belongs to its time. */
static spmv_status make_steady_batch(contest *c, contender *e) {
    spmv_product product[MOST_COPIES];
    double start = spmv_now();
    for (int k = 0; k < c->copies; k++) {
        if (k > 0) TRY(spmv_plan_copy(e->plan, &e->copy[k]));
        product[k] = (spmv_product){k > 0 ? e->copy[k] : e->plan,
                                    (char *)c->x + (size_t)k * vector_bytes(c, c->mat->hub.cols),
                                    (char *)c->y + (size_t)k * vector_bytes(c, c->mat->hub.rows)};
    }
    e->inner = c->copies;
    TRY(spmv_batch_create(product, c->copies, e->inner, 1, 0, &e->batch));
    c->flushing_s += spmv_now() - start;
    return SPMV_OK;
}

/* As many products in a sample as the clock needs, unless each must find the caches empty. */
static spmv_status make_batch(contest *c, contender *e, double product_s) {
    int most = c->backend->record_start ? 20 : 100; /* recording a product takes longer than one */
    bool little = !c->backend->host && !is_plenty(c->budget); /* and as long as three of these */
    double inner = product_s > 0 ? ceil((little ? sample_s / 2 : sample_s) / product_s) : most;
    spmv_product product = {e->plan, c->x, c->y};
    if (c->copies > 1) return make_steady_batch(c, e);
    e->inner = c->flush ? 1 : inner > most ? most : inner < 1 ? 1 : (int)inner;
    if (e->inner == 1) return SPMV_OK;
    return spmv_batch_create(&product, 1, e->inner, 1, 0, &e->batch);
}

/* Budgets are in products of the safe kernel. */
static void set_budget(contest *c, double unit_s) {
    bool host = c->backend->host;
    double promised_s = c->promised * unit_s, least_s = 0, rounds_s = 0;
    double all_s = c->opts->expected_calls ? (double)c->opts->expected_calls * unit_s : INFINITY;
    if (host || promised_s < short_s) {
        least_s = fmin(host ? least_of_host_s : least_budget_s, all_s);
        rounds_s = fmin(host ? least_of_host_s : least_for_rounds_s, all_s);
    }
    c->budget_s = promised_s > least_s ? promised_s : least_s;
    c->rounds_s = for_rounds * (promised_s > rounds_s ? promised_s : rounds_s);
    c->budget = c->budget_s / unit_s;
    /* Enough that one conversion fits is not plenty where products are not that short. */
    if (!host && promised_s > short_s / 2 && promised_s < least_s) c->budget = c->promised;
}

/* Where a look and a sample after it cost much of what may be spent. */
static bool is_dear(const contest *c) {
    return c->backend->host && c->flush && !is_plenty(c->budget);
}

/* A look that finds the caches empty is a sample, unless a short product was still disturbed by
 * what has to wake. */
static spmv_status look_cold(contest *c, contender *e) {
    double seconds;
    TRY(flush(c, e));
    TRY(spmv_exec_timed(e->plan, 1, 1, c->x, 0, c->y, &seconds));
    if (seconds >= notices_s) add_sample(e, seconds);
    e->inner = 1;
    return SPMV_OK;
}

/* The first product meets cold pages and sleeping threads: where that costs little of the budget,
 * or is the budget's unit and short, it is looked at again, unless it is as fast as any. On a GPU
 * it may be slower by half than the next, whatever was rehearsed: there a rival that is slow, and
 * where there is plenty to spend everyone, is looked at again. What stays is as good as a
 * sample. */
static spmv_status warm_up(contest *c, contender *e, double unit_s) {
    enum { LOOKS = 2 };
    if (is_dear(c)) {
        TRY(look_cold(c, e));
        if (e->nsamples) return SPMV_OK;
    }
    const double fair = 1.5;
    double least = INFINITY, seconds = 0;
    bool gpu = !c->backend->host, plenty = gpu && is_plenty(c->budget);
    for (int looks = 0; looks < LOOKS && (plenty || !(least <= fair * unit_s)); looks++) {
        TRY(spmv_exec_timed(e->plan, 1, 1, c->x, 0, c->y, &seconds));
        least = seconds < least ? seconds : least;
        double budget_s = c->budget_s > 0 ? c->budget_s : c->budget * least;
        bool may_load = plenty || (gpu && unit_s > 0);
        bool may_wake = !gpu && unit_s == 0 && seconds < short_unit_s && !c->flush;
        if (!may_load && !may_wake && (unit_s > 0 ? unit_s : seconds) > short_look * budget_s)
            break;
    }
    TRY(make_batch(c, e, least));
    e->product_s = least;
    if (e->inner == 1 && !c->flush) add_sample(e, least);
    e->given_up = unit_s > 0 && least > slow * unit_s && !c->flush;
    return SPMV_OK;
}

/* ---- turns ---------------------------------------------------------------------------------- */

static spmv_status ready(contest *c) {
    TRY(make_vectors(c));
    return warm_up(c, &c->entry[0], 0);
}

static void drop_vectors(contest *c) {
    if (c->x) c->backend->release(c->device, c->x);
    if (c->y) c->backend->release(c->device, c->y);
    c->x = c->y = NULL;
}

static void drop_copies(contender *e) {
    spmv_batch_free(e->batch);
    e->batch = NULL;
    for (int n = 0; n < MOST_COPIES; n++) {
        spmv_plan_free(e->copy[n]);
        e->copy[n] = NULL;
    }
}

/* Where there is no room for copies after all, single products after a flush must do. */
spmv_status spmv_contest_unit(contest *c, double *unit_s) {
    contender *safe = &c->entry[0];
    spmv_status status = ready(c);
    if (status == SPMV_E_NOMEM && c->copies > 1) {
        drop_copies(safe);
        drop_vectors(c);
        c->copies = 1;
        status = ready(c);
    }
    TRY(status);
    if (c->flush && safe->nsamples == 0) TRY(time_once(c, safe));
    *unit_s = safe->product_s > 0 ? safe->product_s : 1e-9;
    c->promised = c->budget;
    set_budget(c, *unit_s);
    return SPMV_OK;
}

contender *spmv_contest_fastest(contest *c) {
    contender *best = &c->entry[0];
    for (int k = 1; k < c->n; k++)
        if (c->entry[k].product_s < (best == &c->entry[0] ? 1 - tie : 1) * best->product_s)
            best = &c->entry[k];
    return best;
}

/* How far the median lies above the least. */
static double scatter_of(const contender *e) {
    return e->nsamples < 2 ? unseen : e->sample[e->nsamples / 2] / e->sample[0] - 1;
}

/* Whether more samples could not change who is first: all others are behind by more than their
 * samples and the best's scatter. Where another program took a core for a while a sample shows
 * that, not the kernel: on a host none is given up for one unless there is little to spend. */
static bool is_decided(contest *c) {
    const contender *best = spmv_contest_fastest(c);
    bool decided = true, lenient = c->backend->host && is_plenty(c->budget);
    for (int k = 0; k < c->n; k++) {
        contender *e = &c->entry[k];
        if (e == best || e->given_up) continue;
        double behind = e->product_s / best->product_s - 1;
        double scatter = scatter_of(e) + scatter_of(best);
        bool once = lenient && e->nsamples < 2;
        e->given_up = behind > (once ? far_behind : hopeless) + scatter;
        bool settled = behind > 2 * tie + scatter || scatter < tie;
        decided &= e->given_up || (e->nsamples > 2 && best->nsamples > 2 && settled);
    }
    return decided;
}

/* A device that fails once may be well: a launch that it refuses leaves it so. */
static bool is_lost(const contest *c) {
    return c->backend->sync(c->device) != SPMV_OK || c->backend->nothing(c->device) != SPMV_OK ||
           c->backend->sync(c->device) != SPMV_OK;
}

spmv_status spmv_contest_go_on(contest *c, spmv_status status) {
    char message[sizeof c->mat->ctx->error];
    if (status != SPMV_E_DEVICE) return SPMV_OK;
    snprintf(message, sizeof message, "%s", spmv_ctx_error(c->mat->ctx));
    return is_lost(c) ? spmv_fail(c->mat->ctx, status, "%s", message) : SPMV_OK;
}

/* A rival that fails, or is wrong, is out of the contest; a device that is lost, or the safe
 * kernel, ends it. */
static spmv_status settle(contest *c, contender *e, spmv_status status) {
    if (status == SPMV_OK || e == &c->entry[0]) return status;
    TRY(spmv_contest_go_on(c, status));
    spmv_contest_pass_over(c, e->proposal, spmv_ctx_error(c->mat->ctx));
    e->given_up = true;
    e->product_s = INFINITY;
    return SPMV_OK;
}

/* A unit that was disturbed made the budget too large. */
static void lower_budget(contest *c) {
    double unit_s = c->entry[0].product_s;
    if (c->backend->host && unit_s > 0 && unit_s * c->budget < c->budget_s) set_budget(c, unit_s);
}

/* Whether another round would take more than is left; one round costs little of short products.
 * Flushes are free for a while, then they are paid like products; at once on a host with little to
 * spend, where one takes as long as several products. */
static bool is_spent(const contest *c, int round) {
    double free_s = is_dear(c) ? 0 : most_flushing_s;
    double round_s = 0, flushing_s = c->flushing_s > free_s ? c->flushing_s : 0;
    for (int k = 0; k < c->n; k++)
        if (!c->entry[k].given_up) round_s += c->entry[k].inner * c->entry[k].product_s;
    if (round < FEWEST_ROUNDS && !is_dear(c) && round_s < cheap_round * c->budget_s) return false;
    return spmv_contest_spent_s(c) + flushing_s + round_s > fmax(c->rounds_s, c->assured_s);
}

/* On a host conversions of a small matrix may take all of the budget, and a few products of it are
 * no measure: where many follow, a tenth of what they take, but no more than nobody waits for, is
 * for products. */
static void assure_rounds(contest *c) {
    const double tenth = 0.1;
    double calls = (double)c->opts->expected_calls;
    if (!c->backend->host || !is_plenty(c->budget)) return;
    c->assured_s =
        spmv_contest_spent_s(c) + fmin(tenth * calls * c->entry[0].product_s, least_of_host_s);
}

/* On a GPU the safe kernel is not given up for one slow look, unless another is ahead by more than
 * a look can be slow. */
static bool needs_another_look(const contest *c) {
    const contender *safe = &c->entry[0];
    bool far_ahead = false;
    for (int k = 1; k < c->n; k++)
        far_ahead |= safe->product_s > (1 + far_behind) * c->entry[k].product_s;
    return !c->backend->host && c->n > 1 && safe->nsamples == 1 && !far_ahead;
}

spmv_status spmv_contest_run_off(contest *c) {
    contender *safe = &c->entry[0];
    double unit_s = c->flush ? 0 : safe->product_s; /* caches are still warm */
    for (int k = 1; k < c->n; k++) {
        contender *e = &c->entry[k];
        spmv_contest_wipe(c);
        spmv_status status = warm_up(c, e, unit_s);
        TRY(settle(c, e, status == SPMV_OK ? spmv_contest_check(c) : status));
    }
    if (needs_another_look(c)) TRY(time_once(c, safe));
    assure_rounds(c);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        lower_budget(c);
        if (round > 0 && (is_decided(c) || is_spent(c, round))) break;
        for (int k = 0; k < c->n; k++) {
            contender *e = &c->entry[(k + round) % c->n];
            if (!e->given_up && e->nsamples <= round) TRY(settle(c, e, time_once(c, e)));
        }
    }
    return SPMV_OK;
}

void spmv_contest_free(contest *c) {
    for (int k = 0; k < c->n; k++) {
        drop_copies(&c->entry[k]);
        spmv_plan_free(c->entry[k].plan);
    }
    drop_vectors(c);
}
