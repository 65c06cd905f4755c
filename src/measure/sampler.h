/* sampler.h: one product, once for the check and many times for the clock. */
#ifndef SPMV_SAMPLER_H
#define SPMV_SAMPLER_H

#include "spmv_bench.h"
#include "spmv_kernel.h"
#include "statistics.h"

typedef struct sampling { /* what is measured of a product, and until when */
    spmv_cache cache;
    int min_samples;
    double min_time_s, max_time_s, max_noise; /* max_noise: of the median, to stop at */
} sampling;

typedef struct timing {
    int warmup, inner, nsamples, capacity; /* inner: products per sample */
    double *sample_s;                      /* [nsamples] seconds per product; owned */
    double spent_s, next_look_s;           /* wall time of samples with what comes before each */
    bool waiting; /* so far threads waited for cores so long that medians may be their waits: the
                     caller's word, before a turn */
    bool done;
    statistics s;
    estimate median;
    bool converged; /* IQR / median <= max_noise */
    bool settled;   /* the median is known to within max_noise, and is not made of waits */
} timing;

typedef struct problem { /* one product to verify and time: host data in the plan's precision */
    const spmv_plan *plan;
    spmv_precision precision;
    int64_t rows, cols;
    double alpha, beta;
    const void *x, *y0;    /* y0: what y holds before, NaN when beta = 0 */
    bool host;             /* it runs on the host, where a launch costs nothing */
    size_t cache, bytes;   /* of the device's caches; moved by a product */
    double vectors_s;      /* host to device for x and y0 */
    spmv_product *product; /* [nproducts]; all but the first of copies of the plan */
    int nproducts;         /* that a sample goes through in turn */
    spmv_batch *batch;     /* a sample */
    size_t flush;          /* bytes read before a sample; 0: none */
    double launch_s;       /* the clock on an empty launch */
} problem;
spmv_status problem_open(problem *p);
void problem_close(problem *p);
/* Fills y on the device with y0, multiplies once and fetches the result. */
spmv_status problem_once(problem *p, void *y);
/* Readies samples for that state of the caches. */
spmv_status problem_ready(problem *p, const sampling *how, timing *t);
/* Takes samples for about slice_s, at least one; t->done: it was the last turn. */
spmv_status problem_turn(problem *p, const sampling *how, timing *t, double slice_s);
/* Ends what has samples before its time, with one more: what it leaves can be checked. */
spmv_status problem_stop(problem *p, const sampling *how, timing *t);
/* What the last timed sample left in the y of product k. */
spmv_status problem_result(problem *p, int k, void *y);
#endif
