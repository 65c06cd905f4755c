/* values.h: new values for the entries of a matrix with the same pattern (spmv_mat_set_values):
 * from the given order to that of the canonical CSR, and from there into every store. */
#ifndef SPMV_VALUES_H
#define SPMV_VALUES_H

#include "matrix/stores/ordered.h"
#include "matrix/origin.h"
#include "matrix/stores/stored.h"

/* ---- set_values.c ---------------------------------------------------------------------------- */

/* Return whether new values can be written into what the plan has prepared; the second one also
 * checks its store, and fails with SPMV_E_UNSUITABLE. */
bool spmv_plan_refills(const spmv_plan *plan);
spmv_status spmv_plan_takes_values(const spmv_plan *plan);

/* ---- origin.c -------------------------------------------------------------------------------- */

/* Builds mat->origin if the entries were not given in the order of the canonical CSR. */
spmv_status spmv_origin_find(spmv_mat *mat, int threads);
/* Permutes and sums values into the order of the canonical CSR. Fails if a sum of duplicates
 * overflows. */
spmv_status spmv_origin_arrange(const spmv_mat *mat, const spmv_new_values *v, int threads,
                                double *out);

/* ---- refill_host.c --------------------------------------------------------------------------- */

/* Copies the values of the first n entries as f64, in the given order. */
void spmv_widen(const spmv_new_values *v, int64_t n, int threads, double *out);
/* Writes A's values into a store in host memory. */
void spmv_refill_one(const spmv_csr *A, int threads, const spmv_stored *s);
/* Writes values, in the order of the canonical CSR, into the CSR, unless it owns them, and into the
 * host stores whose rows are in the order of the matrix. */
void spmv_refill_here(const spmv_mat *mat, const spmv_new_values *v, int threads);

/* ---- places.c -------------------------------------------------------------------------------- */

/* Returns whether all stores of mat's transpose can be filled through index lists. */
bool spmv_places_fit(const spmv_mat *mat);
/* Finds the index lists of all stores of mat's transpose. */
spmv_status spmv_places_find(spmv_mat *mat);
/* Writes values, in the given order, into all stores of mat's transpose. */
void spmv_places_set(spmv_mat *mat, const void *values);
/* Returns a store of the transpose with index lists, or NULL; used = true: one that a plan uses. */
const spmv_stored *spmv_places_of(const spmv_mat *T, bool used);
/* Returns the given values in their precision, read back from such a store; to be freed by
 * spmv_host_free. NULL: out of memory. */
void *spmv_places_collect(const spmv_mat *mat);

/* ---- refill_device.c ------------------------------------------------------------------------- */

typedef struct spmv_staging { /* buffers for new values on their way to devices */
    spmv_ctx *ctx;            /* of `ordered`; NULL: there is none */
    spmv_device *device;      /* device of the stores that exist only on a device */
    void *sent[2];            /* [nnz] f64 and [nnz] f32 on the device */
    void *own;                /* new values on the device for a source that had borrowed the
                                 caller's array */
    float *narrow;            /* [nnz] on the host */
    spmv_ordered ordered;     /* rows in another order, for one store after the other */
} spmv_staging;
/* Allocates everything that spmv_stored_refill_all needs, so that it cannot run out of memory.
 * there: the values are on the device. *staging must be freed, whatever the status. */
spmv_status spmv_stored_stage(const spmv_mat *mat, bool there, spmv_staging *staging);
void spmv_stored_unstage(spmv_staging *staging);
/* Writes values into all stores on devices, those with another order of rows, and the copies that
 * plans own. there = NULL: A's values, already written to the other stores in host memory.
 * Otherwise `there` are values in device memory,
 * in the order of A and the precision of all plans, and only A's sizes are read. Fails only with
 * the device. */
spmv_status spmv_stored_refill_all(const spmv_mat *mat, const spmv_csr_view *A, const void *there,
                                   spmv_staging *staging, int threads);

#endif
