/* spmv_bench.h: what a benchmark needs besides spmv.h: products under one clock, copies that do not
 * find their own data in a cache, matrices by name, and the operations of a product. The program
 * spmv is a client of both. The conventions are those of spmv.h. */
#ifndef SPMV_BENCH_H
#define SPMV_BENCH_H

#include "spmv.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- time ----------------------------------------------------------------------------------- */

/* A product under a clock: y <- alpha op(A) x + beta y for k vectors, by A if the plan is for
 * SPMV_BOTH. Leading dimensions are as small as they can be. */
typedef struct spmv_product {
    const spmv_plan *plan;
    const void *x;
    void *y;
    int64_t k;          /* vectors; 0: 1 */
    spmv_layout layout; /* of them; 0: the plan's */
} spmv_product;

/* Multiplies count times (1 or more) back to back; *seconds: the device's own time for all. A
 * device has one clock: one thread at a time may time products of a context's plans, in batches
 * too. */
spmv_status spmv_exec_timed(const spmv_product *product, int count, double alpha, double beta,
                            double *seconds);

/* Products launched back to back, going through a list in turn; on a GPU as one recorded graph, so
 * that the host's launches are not part of the time. launches: of all products together, 1 or more.
 * Plans are of one context and backend. The list is copied; plans, x and y must outlive the batch.
 * Errors: SPMV_E_ARG, SPMV_E_NOMEM. What cannot be recorded is no error: spmv_batch_how says why.
 */
typedef struct spmv_batch spmv_batch;
/* Makes a batch of products. */
spmv_status spmv_batch_create(const spmv_product *products, int nproducts, int launches,
                              double alpha, double beta, spmv_batch **out);
/* Runs a batch; *seconds: the device's own time for all launches. */
spmv_status spmv_batch_time(const spmv_batch *batch, double *seconds);
/* Says how a batch runs: "graph", "loop", or "loop: " and why it could not be recorded. */
const char *spmv_batch_how(const spmv_batch *batch);
/* Frees a batch. */
void spmv_batch_free(spmv_batch *batch);
/* The time of one empty launch, which no sample can be shorter than. */
spmv_status spmv_plan_time_nothing(const spmv_plan *plan, double *seconds);

/* ---- caches --------------------------------------------------------------------------------- */

/* Makes a second plan over copies of the stored matrix and the kernel's structures: for
 * measurements that must not find their own data in a cache. Free it before the first. */
spmv_status spmv_plan_copy(const spmv_plan *plan, spmv_plan **out);
/* Empties caches: reads `bytes` of other memory on the plan's device, so that smaller caches no
 * longer hold the plan's data. It may return before that is done; the plan's next operation waits
 * for it. The device keeps the memory for the next time; bytes = 0 gives it back. */
spmv_status spmv_plan_flush(const spmv_plan *plan, size_t bytes);

/* ---- matrices ------------------------------------------------------------------------------- */

/* Frees every format made of the matrix; no plan of it may be alive. */
void spmv_mat_drop_stores(spmv_mat *mat);
/* Reads a file's header or the arguments of gen: alone: rows, cols, nnz (an estimate) and of a file
 * field and symmetry; the rest is 0. */
spmv_status spmv_mat_peek(spmv_ctx *ctx, const char *path, spmv_stats *out);

typedef struct spmv_generator {
    const char *name, *args, *summary;
} spmv_generator;
/* Returns the generators of matrices. */
const spmv_generator *spmv_generator_list(int *count);
typedef struct spmv_twin { /* of a paper's matrix: gen:twin:NAME */
    const char *name, *source;
    int64_t rows, cols, nnz;
    double sigma; /* NaN: the paper prints none */
} spmv_twin;
/* Returns a twin; NULL: past the last. */
const spmv_twin *spmv_twin_at(int k);

/* ---- words ---------------------------------------------------------------------------------- */

/* Returns the most similar of the candidates (NULL at the end) to word; NULL: none is similar. */
const char *spmv_nearest(const char *word, const char *const *candidates);
/* Puts up to most of the names that are equally near into out: those that begin with the word, else
 * that hold it, else spelt nearly so, else with the same beginning; returns how many. */
int spmv_nearest_names(const char *word, const char *const *candidates, int most, const char **out);

/* ---- numbers of a product -------------------------------------------------------------------- */

/* Returns what this program counts as operations of a product: 2 nnz. */
int64_t spmv_flop(int64_t nnz);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
