/* ranks_time.c: a sample is the time of the host that took longest. In each round every way of a
 * product is sampled once: overlapped, in turn, the exchange alone, the product alone. All ranks
 * know all times, and so they end together. */
#include "app/options/options.h"
#include "ranks.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_ROUNDS = 20000 };

static spmv_status multiply_here(const ranks *w, const course *c, spmv_ranks_way way) {
    const double alpha = w->run->o->alpha, beta = w->run->o->beta;
    const float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    spmv_call call = {.size = sizeof call, .x = c->x, .y = c->y0, .z = c->y, .k = c->k};
    if (c->k > 1) call.layout = SPMV_ROWS;
    if (c->precision == SPMV_F64)
        call.alpha = &alpha, call.beta = &beta;
    else
        call.alpha_f32 = &alpha_f32, call.beta_f32 = &beta_f32;
    TRY(spmv_ranks_plan_set_way(c->plan, way));
    return spmv_ranks_apply(c->plan, &call);
}

/* Returns the seconds from the first begin to the last end on the host whose first rank is `first`:
 * its ranks have one clock. Where they share cores they begin one after the other. */
static double time_on_host(const ranks *w, const tick *all, int first) {
    double begin = all[first].begin, end = all[first].end;
    for (int r = first + 1; r < w->size; r++) {
        if (w->host[r] != first) continue;
        begin = fmin(begin, all[r].begin);
        end = fmax(end, all[r].end);
    }
    return end - begin;
}

/* A sample: seconds of a product, on the slowest host. That all ranks tell each other their times
 * makes them begin the next one together. own: of this rank; may be NULL. */
static spmv_status sample(const ranks *w, const course *c, spmv_ranks_way way, int inner,
                          double *slowest, double *own) {
    tick mine = {.begin = spmv_now(), .status = SPMV_OK}, *all = c->ticks;
    for (int k = 0; k < inner; k++) { /* others wait for a rank that ends after a failure */
        const spmv_status status = multiply_here(w, c, way);
        if (mine.status == SPMV_OK) mine.status = status;
    }
    mine.end = spmv_now();
    if (own) *own = (mine.end - mine.begin) / inner;
    TRY(spmv_ranks_gather(w->ranks, &mine, sizeof mine, all));
    *slowest = 0;
    for (int r = 0; r < w->size; r++) {
        if (all[r].status != SPMV_OK) return (spmv_status)all[r].status;
        if (w->host[r] == r) *slowest = fmax(*slowest, time_on_host(w, all, r) / inner);
    }
    return SPMV_OK;
}

spmv_status ranks_multiply(const ranks *w, const course *c, spmv_ranks_way way) {
    double seconds;
    return sample(w, c, way, 1, &seconds, NULL);
}

/* Multiplies until products take no longer than before for some time; *once: seconds of one. */
static spmv_status warm_up(const ranks *w, const course *c, timing *t, double *once) {
    enum { LEAST = 3 };
    const double enough = 0.05;
    double spent = 0, seconds;
    *once = INFINITY;
    while (t->warmup < LEAST || spent < enough) {
        TRY(sample(w, c, t->warmup % 2 ? SPMV_OVERLAPPED : SPMV_IN_TURN, 1, &seconds, NULL));
        *once = fmin(*once, seconds);
        spent += seconds;
        t->warmup++;
    }
    return SPMV_OK;
}

static double least_of(const double *sample, int n) {
    double least = INFINITY;
    for (int k = 0; k < n; k++) least = fmin(least, sample[k]);
    return least;
}

spmv_ranks_way ranks_faster_way(const double *overlapped, const double *in_turn, int n) {
    return least_of(in_turn, n) < least_of(overlapped, n) ? SPMV_IN_TURN : SPMV_OVERLAPPED;
}

double ranks_hidden(double *const slowest[WAYS], int n) {
    const double exchange = least_of(slowest[SPMV_EXCHANGE_ALONE], n),
                 in_turn = least_of(slowest[SPMV_IN_TURN], n),
                 overlapped = least_of(slowest[SPMV_OVERLAPPED], n);
    return exchange > 0 ? fmin(fmax((in_turn - overlapped) / exchange, 0), 1) : NAN;
}

/* Tries both in turn, for longer than another process keeps a core; these products are not among
 * the samples. */
static spmv_status choose_way(const ranks *w, course *c) {
    enum { LEAST = 3, MOST = 256 };
    const double enough = 0.05;
    double overlapped[MOST], in_turn[MOST], spent = 0;
    int n = 0;
    spmv_ranks_plan_facts is = SPMV_OPTS(spmv_ranks_plan_facts);
    TRY(spmv_ranks_plan_exchange(c->plan, &is));
    const bool overlaps = is.halo != SPMV_HALO_REPLICATE; /* else all entries wait for x */
    c->way = !overlaps || w->run->o->overlap == OVERLAP_OFF ? SPMV_IN_TURN : SPMV_OVERLAPPED;
    if (!overlaps || w->run->o->overlap != OVERLAP_AUTO) return SPMV_OK;
    for (; n < LEAST || (n < MOST && spent < enough); n++) {
        TRY(sample(w, c, SPMV_OVERLAPPED, c->inner, &overlapped[n], NULL));
        TRY(sample(w, c, SPMV_IN_TURN, c->inner, &in_turn[n], NULL));
        spent += c->inner * (overlapped[n] + in_turn[n]);
    }
    c->way = ranks_faster_way(overlapped, in_turn, n);
    return SPMV_OK;
}

static bool grow(course *c) {
    if (c->n < c->capacity) return true;
    const int capacity = c->capacity ? 2 * c->capacity : 64;
    bool grown = true;
    for (int k = 0; k <= WAYS; k++) {
        double **times = k < WAYS ? &c->slowest[k] : &c->own;
        double *longer = realloc(*times, (size_t)capacity * sizeof *longer);
        if (longer) *times = longer;
        grown &= longer != NULL;
    }
    if (grown) c->capacity = capacity;
    return grown;
}

/* The ways begin in another order each time: what follows a way may profit from it. */
static spmv_status take_round(const ranks *w, course *c, timing *t) {
    double own;
    for (int k = 0; k < WAYS; k++) {
        const spmv_ranks_way way = (spmv_ranks_way)((k + c->n) % WAYS);
        TRY(sample(w, c, way, c->inner, &c->slowest[way][c->n], &own));
        if (way == c->way) c->own[c->n] = own;
        t->spent_s += c->inner * c->slowest[way][c->n];
    }
    c->n++;
    return SPMV_OK;
}

spmv_status ranks_ready(const ranks *w, course *c, const sampling *how, timing *t) {
    const double least_s = 1e-3; /* of a sample: ranks begin up to 20 us after each other */
    double once;
    *t = (timing){.next_look_s = how->min_time_s};
    TRY(warm_up(w, c, t, &once));
    c->inner = once > 0 ? (int)fmin(1000, ceil(least_s / once)) : 1000;
    t->inner = c->inner;
    return choose_way(w, c);
}

spmv_status ranks_round(const ranks *w, course *c, const sampling *how, timing *t) {
    if (!grow(c)) spmv_ranks_abort(w->ranks, spmv_exit_code(SPMV_E_NOMEM));
    TRY(take_round(w, c, t));
    t->nsamples = c->n;
    if (c->n < how->min_samples || (t->spent_s < t->next_look_s && c->n < MOST_ROUNDS))
        return SPMV_OK;
    t->next_look_s = 1.1 * t->spent_s;
    t->s = statistics_of(c->slowest[c->way], c->n);
    t->settled = median_noise(&t->s) < how->max_noise;
    t->converged = t->s.q3 - t->s.q1 < how->max_noise * t->s.median;
    t->done = t->settled || t->spent_s >= how->max_time_s || c->n >= MOST_ROUNDS;
    return SPMV_OK;
}
