/* measure.c: one product, once for the check and many times for the clock. Conversions and
 * transfers are outside. */
#include "app.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

static size_t bytes_of(const problem *p, int64_t n) {
    return (size_t)n * (p->precision == SPMV_F64 ? sizeof(double) : sizeof(float));
}

spmv_status problem_open(problem *p) {
    struct timespec start, end;
    p->device_x = p->device_y = NULL;
    TRY(spmv_plan_alloc(p->plan, bytes_of(p, p->cols), &p->device_x));
    TRY(spmv_plan_alloc(p->plan, bytes_of(p, p->rows), &p->device_y));
    clock_gettime(CLOCK_MONOTONIC, &start);
    TRY(spmv_plan_put(p->plan, p->device_x, p->x, bytes_of(p, p->cols)));
    TRY(spmv_plan_put(p->plan, p->device_y, p->y0, bytes_of(p, p->rows)));
    clock_gettime(CLOCK_MONOTONIC, &end);
    p->vectors_s =
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    return SPMV_OK;
}

void problem_close(problem *p) {
    if (p->device_x) spmv_plan_release(p->plan, p->device_x);
    if (p->device_y) spmv_plan_release(p->plan, p->device_y);
    p->device_x = p->device_y = NULL;
}

static spmv_status reset_y(problem *p) {
    return spmv_plan_put(p->plan, p->device_y, p->y0, bytes_of(p, p->rows));
}

static spmv_status fetch_y(problem *p, void *y) {
    return spmv_plan_get(p->plan, y, p->device_y, bytes_of(p, p->rows));
}

spmv_status problem_once(problem *p, void *y) {
    TRY(reset_y(p));
    TRY(spmv_exec(p->plan, p->alpha, p->device_x, p->beta, p->device_y));
    return fetch_y(p, y);
}

/* A sample of count products. With beta != 0 each product changes y, so a sample is one product
 * from y0. */
static spmv_status sample(problem *p, int count, double *seconds) {
    if (p->beta != 0) TRY(reset_y(p));
    TRY(spmv_exec_timed(p->plan, count, p->alpha, p->device_x, p->beta, p->device_y, seconds));
    *seconds /= count;
    return SPMV_OK;
}

/* Two products warm caches, page tables and clocks; the second tells how many make a sample the
 * clock resolves. */
static spmv_status warm_up(problem *p, timing *t) {
    enum { MOST_INNER = 10000 };
    const double sample_s = 1e-4, warm_s = 0.02;
    double once = 0, spent = 0;
    do {
        TRY(sample(p, 1, &once));
        spent += once;
        t->warmup++;
    } while (t->warmup < 2 || (spent < warm_s && t->warmup < 1000));
    t->inner = p->beta != 0 || once >= sample_s ? 1
               : once > 0                       ? (int)ceil(sample_s / once)
                                                : MOST_INNER;
    if (t->inner > MOST_INNER) t->inner = MOST_INNER;
    return SPMV_OK;
}

/* The middle half within max_noise of the median; looked at rarely, since it sorts. */
static bool is_quiet(const timing *t, double max_noise) {
    statistics s = statistics_of(t->sample_s, t->nsamples);
    return s.q3 - s.q1 <= max_noise * s.median;
}

spmv_status problem_time(problem *p, const options *o, timing *t, void *y) {
    double spent = 0, next_look = o->min_time_s;
    int capacity = 0;
    *t = (timing){0};
    TRY(warm_up(p, t));
    for (bool last = false; !last;) {
        if (t->nsamples == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            double *grown = realloc(t->sample_s, (size_t)capacity * sizeof *grown);
            if (!grown) return SPMV_E_NOMEM;
            t->sample_s = grown;
        }
        enum { MOST_SAMPLES = 20000 }; /* tiny products with beta != 0 have one product a sample */
        bool enough = t->nsamples + 1 >= o->min_samples &&
                      (spent >= next_look || t->nsamples >= MOST_SAMPLES);
        if (enough) {
            last = t->nsamples == 0 || spent >= o->max_time_s || t->nsamples >= MOST_SAMPLES ||
                   is_quiet(t, o->max_noise);
            next_look = spent * 1.1;
        }
        /* Poison: a product that stopped writing must not pass on an older y. */
        if (last) TRY(reset_y(p));
        TRY(sample(p, t->inner, &t->sample_s[t->nsamples]));
        spent += t->sample_s[t->nsamples++] * t->inner;
    }
    t->s = statistics_of(t->sample_s, t->nsamples);
    t->converged = t->s.q3 - t->s.q1 <= o->max_noise * t->s.median;
    return fetch_y(p, y);
}
