/* sampler.h: the one way in which products are timed, for records (src/app/run, also those of spmv
 * tune and sweep) and for the kernel name "auto" (src/tune).
 *
 * A problem is one product: a plan, and vectors for it, k of them in one layout. A sample is the
 * time per product of `inner` of them under one clock, through copies of plan and vectors in turn,
 * after the caches were emptied if `flush` says so. A timing is a list of samples and what they
 * say.
 *
 * Who measures opens a problem, decides what a sample is (problem_ready does by the state of the
 * caches; else problem_copies, problem_batch), takes samples and closes the problem. For a record
 * samples end by problem_turn's rule; "auto" takes them one by one while its budget lasts.
 *
 * The problem owns copies, batch, and vectors unless they were lent; the caller owns the plan, the
 * data on the host, and the timing's samples (free). */
#ifndef SPMV_SAMPLER_H
#define SPMV_SAMPLER_H

#include "matrix/matrix.h"
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
    double *sample_s;                      /* [nsamples] seconds per product, as taken; owned */
    double spent_s, next_look_s;           /* wall time of samples with what comes before each */
    bool waiting; /* so far threads waited for cores so long that medians may be their waits: the
                     caller's word, before a turn */
    bool last; /* the caller's word, too: the next sample is the last, so that it can be checked */
    bool done;
    statistics s;
    bool converged; /* IQR / median < max_noise */
    bool settled;   /* the median is known to within max_noise, and is not made of waits */
} timing;

typedef struct problem { /* one product to verify and time: host data in the plan's precision */
    const spmv_plan *plan;
    spmv_precision precision;
    int64_t rows, cols; /* lengths of y and x */
    int64_t k;          /* vectors that are multiplied at once; 0: 1 */
    spmv_layout layout; /* of them, with the least leading dimensions; 0: the plan's */
    double alpha, beta;
    const void *x, *y0;    /* of k vectors; y0: what y holds before, NaN when beta = 0 */
    char *lent_x, *lent_y; /* on the device, of problem_vector_bytes for each product, to be used as
                              they are; NULL: it makes vectors of its own, from x and y0 */
    bool host;             /* it runs on the host, where a launch costs nothing */
    size_t cache, bytes;   /* of the device's caches; moved by a product */
    double vectors_s;      /* host to device for x and y0 */
    spmv_product *product; /* [nproducts]; all but the first of copies of the plan */
    int nproducts;         /* that a sample goes through in turn */
    bool *negated;         /* [nproducts]: the product's x is -x */
    int looks, next_look;  /* that problem_look had; the product that it looks at next */
    uint64_t bits[2];      /* of y, of x and of -x, in the first look at each; 0: there was none */
    spmv_batch *batch;     /* a sample; NULL: it is a single product */
    size_t flush;          /* bytes read before a sample to empty the caches; 0: none */
    double *emptying_s; /* of who must save time: the caches are emptied of the product's data alone
                           if the device can do that, and the seconds are added here; NULL: by
                           reading `flush` bytes */
    double product_s;   /* for emptying_s: of a product, about; 0: unknown */
    double launch_s;    /* the clock on an empty launch */
} problem;
/* Says whether sleeping threads and vector units disturb a product that takes so long. */
static inline bool is_sensitive(double seconds) {
    return seconds < 5e-4;
}
/* Returns the bytes of lent vectors of n elements in all: those of each product begin at a cache
 * line. */
size_t problem_vector_bytes(spmv_precision precision, int64_t n);
spmv_status problem_open(problem *p);
void problem_close(problem *p);
/* Fills y on the device with y0, multiplies once and fetches the result. */
spmv_status problem_once(problem *p, void *y);
/* Times one product that is no sample. */
spmv_status problem_single(const problem *p, double *seconds);
/* Warms up and readies samples for that state of the caches. */
spmv_status problem_ready(problem *p, const sampling *how, timing *t);
/* Takes samples for about slice_s, at least one; t->done: it was the last turn. */
spmv_status problem_turn(problem *p, const sampling *how, timing *t, double slice_s);
/* Makes copies until there are count products. */
spmv_status problem_copies(problem *p, int count);
/* From here on a sample is so many products. */
spmv_status problem_batch(problem *p, timing *t, int inner);
/* Before warm samples: fills a GPU's caches with so many bytes that nothing else uses, if they are
 * to be had and no more than a quarter of what is free; the device keeps them (flush). On a CPU it
 * does nothing. */
spmv_status problem_fill_caches(const problem *p, size_t bytes);
/* Takes one sample. */
spmv_status problem_sample(problem *p, timing *t);
/* A sample that was taken otherwise. */
spmv_status timing_add(const problem *p, timing *t, double seconds);
/* Copies what the last timed sample left in the y of product k, with x or -x as p->negated says. */
spmv_status problem_result(problem *p, int k, void *y);
/* What the bits of a y are to those of the first that was looked at of the same x. Those of a
 * kernel that is not deterministic, or another library's, are new every time. */
typedef enum problem_bits { NEW_BITS, SAME_BITS, OTHER_BITS } problem_bits;
/* Between samples: copies the last y of one product, of each in turn, and compares its bits. From
 * now on that product's x is the negative of what it was, so that a product which keeps to what it
 * computed before, or writes nothing, is seen by the next look. *negated: y is that of -x. */
spmv_status problem_look(problem *p, void *y, bool *negated, problem_bits *bits);
/* spot_check.c. Of products y <- A x of k vectors on a CPU: sets x, by so many threads, so that
 * wrong columns show, of the matrix and among the vectors; marks y before a product; checks some
 * rows of y, of every vector, after it (SPMV_E_UNSUITABLE: one is wrong). */
typedef struct spot {
    const spmv_mat *mat; /* has its rows in the host's memory */
    spmv_precision precision;
    int64_t k;
    spmv_layout layout; /* with the least leading dimensions */
} spot;
void spot_check_vary(const spot *s, int threads, void *x);
void spot_check_wipe(const spot *s, void *y);
spmv_status spot_check(const spot *s, const void *y);
/* warm_up.c. First-use warm-up of a backend's kernel, which the options name, too ("backend:name"):
 * runs it on small matrices, one with rows of the same mean length, unless the context did so
 * before; on a GPU its code is loaded then. On a CPU nothing is done. Errors are ignored. Returns
 * the seconds it took. */
double spmv_warm_up(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                    const char *kernel);
#endif
