/* spmv_bench.h: interface for benchmarks, in addition to spmv.h: timing of products, copies of a
 * plan that share no cached data, matrices by name, and the operation count of a product. The
 * program spmv uses both headers. The conventions are those of spmv.h. */
#ifndef SPMV_BENCH_H
#define SPMV_BENCH_H

#include "spmv.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- time ----------------------------------------------------------------------------------- */

/* A product to be timed: y <- alpha op(A) x + beta y for k vectors, by A if the plan is for
 * SPMV_BOTH. Leading dimensions are minimal. */
typedef struct spmv_product {
    const spmv_plan *plan;
    const void *x;
    void *y;
    int64_t k;          /* vectors; 0: 1 */
    spmv_layout layout; /* 0: the plan's */
} spmv_product;

/* Multiplies `count` times (at least once) back to back; *seconds: total time on the device. A
 * device has one clock, so only one thread at a time may time products of a context's plans,
 * including batches. */
spmv_status spmv_exec_timed(const spmv_product *product, int count, double alpha, double beta,
                            double *seconds);

/* Products launched back to back, cycling through a list; on a GPU as one recorded graph, so that
 * launches by the host are not timed. launches: total number of products, at least 1. All plans
 * belong to one context and backend. The list is copied; plans, x and y must outlive the batch.
 * Errors: SPMV_E_ARG, SPMV_E_NOMEM. Products that cannot be recorded are no error; spmv_batch_how
 * says why. */
typedef struct spmv_batch spmv_batch;
/* Makes a batch of products. */
spmv_status spmv_batch_create(const spmv_product *products, int nproducts, int launches,
                              double alpha, double beta, spmv_batch **out);
/* Runs a batch; *seconds: total time of all launches on the device. */
spmv_status spmv_batch_time(const spmv_batch *batch, double *seconds);
/* Returns how a batch runs: "graph", "loop", or "loop: " and why it could not be recorded. */
const char *spmv_batch_how(const spmv_batch *batch);
/* Frees a batch. */
void spmv_batch_free(spmv_batch *batch);
/* Measures the time of an empty launch, the minimum of any sample. */
spmv_status spmv_plan_time_nothing(const spmv_plan *plan, double *seconds);

/* ---- caches --------------------------------------------------------------------------------- */

/* Makes a second plan with copies of the store and the kernel's structures. It is for measurements
 * whose products must not find data of the previous one in a cache. Free it before the first. */
spmv_status spmv_plan_copy(const spmv_plan *plan, spmv_plan **out);
/* Flushes caches: reads `bytes` bytes of other memory on the plan's device, so that smaller caches
 * no longer hold the plan's data. May be asynchronous; the plan's next operation waits. The memory
 * is kept for the next call; bytes = 0 frees it. */
spmv_status spmv_plan_flush(const spmv_plan *plan, size_t bytes);

/* ---- matrices ------------------------------------------------------------------------------- */

/* Frees every format of the matrix; it must not have plans. */
void spmv_mat_drop_stores(spmv_mat *mat);
/* Reads the header of a file, or the arguments of gen: rows, cols, nnz (an estimate), and for a
 * file field and symmetry; the rest is 0. */
spmv_status spmv_mat_peek(spmv_ctx *ctx, const char *path, spmv_stats *out);

/* Writes what a file holds into text, a line for each variable, cut to size; "" of a format whose
 * files hold one matrix. */
spmv_status spmv_file_list(spmv_ctx *ctx, const char *path, char *text, size_t size);

typedef struct spmv_generator {
    const char *name, *args, *summary;
} spmv_generator;
/* Returns the list of matrix generators. */
const spmv_generator *spmv_generator_list(int *count);
typedef struct spmv_twin { /* gen:twin:NAME, a generated substitute of a paper's matrix */
    const char *name, *source;
    int64_t rows, cols, nnz;
    double sigma; /* standard deviation of the row length; NaN: not in the paper */
} spmv_twin;
/* Returns twin k; NULL beyond the last. */
const spmv_twin *spmv_twin_at(int k);

/* ---- words ---------------------------------------------------------------------------------- */

/* Returns the most similar candidate, or NULL if none is similar. candidates ends with NULL. */
const char *spmv_nearest(const char *word, const char *const *candidates);
/* Writes up to `most` names of the nearest class to out and returns their number. Classes, in
 * order: begins with the word, contains it, is spelt almost like it, has the same beginning. */
int spmv_nearest_names(const char *word, const char *const *candidates, int most, const char **out);

/* ---- numbers of a product -------------------------------------------------------------------- */

/* Returns the floating-point operations of a product: 2 nnz. */
int64_t spmv_flop(int64_t nnz);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
