/* sampler.h: the timing of products, for records (src/app/run, also spmv tune and sweep) and for
 * the kernel name "auto" (src/tune).
 *
 * A problem is one product: a plan, and k vectors in one layout. A sample is the time per product
 * of `inner` products under one clock reading, cycling through copies of plan and vectors; if
 * `flush` is set the caches are flushed before. A timing is a list of samples and its statistics.
 *
 * Use: open a problem; define a sample (problem_ready, by the state of the caches; or
 * problem_copies and problem_batch); take samples; close the problem. For a record problem_turn
 * decides when samples end; "auto" takes samples one by one while its budget lasts.
 *
 * The problem owns copies, batch, and vectors unless they are borrowed. The caller owns the plan,
 * host data, and the timing's samples (free). */
#ifndef SPMV_SAMPLER_H
#define SPMV_SAMPLER_H

#include "matrix/matrix.h"
#include "spmv_bench.h"
#include "spmv_kernel.h"
#include "statistics.h"

typedef struct sampling { /* what to measure, and the stopping criteria */
    spmv_cache cache;
    int min_samples;
    double min_time_s, max_time_s, max_noise; /* max_noise: of the median, relative */
} sampling;

typedef struct timing {
    int warmup, inner, nsamples, capacity; /* inner: products per sample */
    double *sample_s;                      /* [nsamples] seconds per product, in order; owned */
    double spent_s, next_look_s;           /* wall time of samples with their preparation */
    bool waiting; /* set by the caller before a turn: threads have waited for cores so long that
                     medians may be waiting times */
    bool last;    /* set by the caller: the next sample is the last, to be checked */
    bool done;
    statistics s;
    bool converged; /* IQR / median < max_noise */
    bool settled;   /* median known to within max_noise, and threads did not wait */
} timing;

typedef struct problem { /* one product to verify and time; host data in the plan's precision */
    const spmv_plan *plan;
    spmv_precision precision;
    int64_t rows, cols; /* lengths of y and x */
    int64_t k;          /* vectors per product; 0: 1 */
    spmv_layout layout; /* layout with minimal leading dimensions; 0: the plan's */
    double alpha, beta;
    const void *x, *y0;            /* k vectors each; y0: initial y, NaN if beta = 0 */
    char *borrowed_x, *borrowed_y; /* device vectors of the caller, problem_vector_bytes for each
                                    * product, used in place; NULL: the problem allocates copies of
                                    * x and y0 */
    bool host;                     /* runs on the host, where launches are free */
    size_t cache, bytes;           /* bytes of the device's caches; bytes moved by a product */
    double vectors_s;              /* seconds to transfer x and y0 to the device */
    spmv_product *product;         /* [nproducts]; all but the first use copies of the plan */
    int nproducts;                 /* products that a sample cycles through */
    bool *negated;                 /* [nproducts] the product's x is -x */
    int looks, next_look;          /* calls of problem_look; product that the next call checks */
    uint64_t bits[2];              /* hashes of the first y computed from x, and from -x; 0: none */
    spmv_batch *batch;             /* a sample; NULL: a single product */
    size_t flush;                  /* bytes read before a sample to flush the caches; 0: none */
    double *emptying_s; /* NULL: caches are flushed by reading `flush` bytes. Otherwise evicts only
                           the product's data, if the device can, and adds the seconds taken */
    double product_s;   /* approximate seconds of one product; used with emptying_s; 0: unknown */
    double launch_s;    /* seconds of an empty launch */
} problem;
/* Returns whether a product is so short that sleeping threads and vector units affect its time. */
static inline bool is_sensitive(double seconds) {
    return seconds < 5e-4;
}
/* Returns the bytes of n elements, rounded up to align the borrowed vectors of each product. */
size_t problem_vector_bytes(spmv_precision precision, int64_t n);
spmv_status problem_open(problem *p);
void problem_close(problem *p);
/* Fills y on the device with y0, multiplies once and fetches the result. */
spmv_status problem_once(problem *p, void *y);
/* Times one product without recording a sample. */
spmv_status problem_single(const problem *p, double *seconds);
/* Warms up and defines the sample for the required state of the caches. */
spmv_status problem_ready(problem *p, const sampling *how, timing *t);
/* Takes samples for about slice_s seconds, at least one. Sets t->done after the last turn. */
spmv_status problem_turn(problem *p, const sampling *how, timing *t, double slice_s);
/* Makes copies until there are `count` products. */
spmv_status problem_copies(problem *p, int count);
/* Defines a sample as `inner` products. */
spmv_status problem_batch(problem *p, timing *t, int inner);
/* Before warm samples: fills a GPU's caches with `bytes` bytes of unrelated data, which stay
 * allocated (flush). Does nothing on a CPU, or if that takes over a quarter of the free memory. */
spmv_status problem_fill_caches(const problem *p, size_t bytes);
/* Takes one sample. */
spmv_status problem_sample(problem *p, timing *t);
/* Appends a sample that was measured otherwise. */
spmv_status timing_add(const problem *p, timing *t, double seconds);
/* Copies the y of product k after the last sample; its x is -x if p->negated[k]. */
spmv_status problem_result(problem *p, int k, void *y);
/* Result of comparing the bits of a y with those of the first y of the same x. Always NEW_BITS if
 * the kernel is not deterministic or a peer. */
typedef enum problem_bits { NEW_BITS, SAME_BITS, OTHER_BITS } problem_bits;
/* Between samples: fetches the y of one product, of each in turn, compares its bits, and negates
 * that product's x, so that a product that reuses old results or writes nothing is detected by the
 * next look. *negated: y belongs to -x. */
spmv_status problem_look(problem *p, void *y, bool *negated, problem_bits *bits);
/* Spot check of products y <- A x of k vectors on a CPU (spot_check.c). spot_check_vary sets x such
 * that wrong columns and exchanged vectors are detected; spot_check_wipe sets the checked elements
 * of y to NaN before a product; spot_check compares them after it (SPMV_E_UNSUITABLE: wrong). */
typedef struct spot {
    const spmv_mat *mat; /* with its rows in host memory */
    spmv_precision precision;
    int64_t k;
    spmv_layout layout; /* with minimal leading dimensions */
} spot;
void spot_check_vary(const spot *s, int threads, void *x);
void spot_check_wipe(const spot *s, void *y);
spmv_status spot_check(const spot *s, const void *y);
/* First-use warm-up of a kernel on a GPU (warm_up.c), where its code is loaded at first use: runs
 * it on small matrices, one with the same mean row length, unless the context has done so before.
 * The options name the kernel, too ("backend:name"). Ignores errors. Returns the seconds taken, 0
 * on a CPU. */
double spmv_warm_up(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                    const char *kernel);
#endif
