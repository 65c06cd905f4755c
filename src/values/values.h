/* values.h: other values for the entries of a matrix, in the same places (spmv_mat_set_values).
 * They go from the order in which the entries were given to that of the canonical CSR, and from
 * there into every store of the matrix. */
#ifndef SPMV_VALUES_H
#define SPMV_VALUES_H

#include "matrix/origin.h"
#include "matrix/stored.h"

/* ---- set_values.c ---------------------------------------------------------------------------- */

/* Says whether other values can be written into what the plan made; SPMV_E_UNSUITABLE: not, or not
 * into its store. */
bool spmv_plan_refills(const spmv_plan *plan);
spmv_status spmv_plan_takes_values(const spmv_plan *plan);

/* ---- origin.c -------------------------------------------------------------------------------- */

/* Finds mat->origin when it is first needed, of entries that were not given in the order of the
 * canonical CSR. */
spmv_status spmv_origin_find(spmv_mat *mat, int threads);
/* Writes values in the order of the canonical CSR; returns how many sums of duplicates no double
 * can hold. */
int64_t spmv_origin_arrange(const spmv_mat *mat, const spmv_given *g, int threads, double *out);

/* ---- refill_host.c --------------------------------------------------------------------------- */

/* Copies the first n entries' values as f64, in the order in which they were given. */
void spmv_widen(const spmv_given *given, int64_t n, int threads, double *out);
/* Writes A's values into a store that the host has. */
void spmv_refill_one(const spmv_csr *A, int threads, const spmv_stored *s);
/* Writes values, given in the order of the canonical CSR, into that, unless they are its own, and
 * into all stores in host memory. */
void spmv_refill_here(const spmv_mat *mat, const spmv_given *given, int threads);

/* ---- places.c -------------------------------------------------------------------------------- */

/* Says whether those of all plans of mat's transpose can, so that nothing can refuse them. */
bool spmv_places_fit(const spmv_mat *mat);
/* Finds, for all stores of its transpose, which given values their places hold. */
spmv_status spmv_places_find(spmv_mat *mat);
/* Writes values, given in the order of mat's entries, into all stores of its transpose. */
void spmv_places_set(spmv_mat *mat, const void *values);
/* Returns a store of the transpose where given values have known places, and that a plan uses if it
 * must; NULL: there is none. */
const spmv_stored *spmv_places_of(const spmv_mat *T, bool used);
/* Returns what was given, in its precision, from such a store: spmv_host_free frees it. NULL: out
 * of memory. */
void *spmv_places_collect(const spmv_mat *mat);

/* ---- refill_device.c ------------------------------------------------------------------------- */

typedef struct spmv_staging { /* where new values stand on their way; zero: nowhere */
    spmv_device *device;      /* that of the stores which are on a device alone */
    void *sent[2];            /* there, [nnz] of f64 and f32 */
    void *own;                /* there: for the source, if the caller lends its values until now */
    float *narrow;            /* [nnz] in host memory */
} spmv_staging;
/* Allocates all that spmv_stored_refill_all needs, so that it cannot run out of memory half-way.
 * there: the values are on the device already. Whatever the status, *staging is to be freed. */
spmv_status spmv_stored_stage(const spmv_mat *mat, bool there, spmv_staging *staging);
void spmv_stored_unstage(spmv_staging *staging);
/* Writes values into what devices have of all stores, and into the copies that plans own: A's,
 * which stores in host memory have, or those there, on the device of all the stores, in the order
 * of A and the precision of all the plans. Of A the sizes are read, then. Fails only if the device
 * does. */
spmv_status spmv_stored_refill_all(const spmv_mat *mat, const spmv_csr_view *A, const void *there,
                                   spmv_staging *staging, int threads);

#endif
