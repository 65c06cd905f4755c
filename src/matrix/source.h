/* source.h: a matrix whose compressed rows lie on a device (source.c), as a store that its plans
 * use there: mat->source. */
#ifndef SPMV_SOURCE_H
#define SPMV_SOURCE_H

#include "matrix/stored.h"

/* Makes the empty matrix of arrays in the device's memory, which were checked but for their
 * content. mat->source is NULL afterwards: the host has to look at them, since they are not what
 * kernels multiply with, and the matrix is to be put away. */
spmv_status spmv_source_adopt(spmv_mat *mat, spmv_device *device, const spmv_arrays *a);
/* Makes T, empty or without rows, the transpose of a matrix whose rows lie on a device, there.
 * T->source is NULL afterwards if the device cannot, or lacks the memory. */
spmv_status spmv_source_transpose(const spmv_mat *mat, spmv_mat *T);
/* Brings values in mat's order to that of its transpose, which was made so: both [nnz], of mat's
 * precision, in the memory of that device. */
spmv_status spmv_source_arrange(const spmv_mat *mat, spmv_device *device, const void *values,
                                void *out);
/* Frees what spmv_source_arrange keeps, if anything. */
void spmv_source_forget_order(spmv_mat *T);
/* Frees the rows of such a transpose, which no store or plan may read. */
void spmv_source_drop(spmv_mat *T);
/* SPMV_E_ARG if memory that is said to be the device's, and that name names, is the host's. */
spmv_status spmv_check_place(const spmv_device *device, const char *name, const void *memory);
spmv_status spmv_arrays_check_place(const spmv_device *device, const spmv_arrays *a);
/* Brings what csr has not got yet, and the values. */
spmv_status spmv_source_fetch(spmv_mat *mat);

/* The arrays of a store of compressed rows (formats/csr/csr.h). */
enum { SPMV_ROW_PTR, SPMV_COL_IDX, SPMV_VALUES };

static inline size_t spmv_source_bytes(const spmv_stored *source, int k) {
    return source->copy->array[k].bytes;
}
/* Says whether its offsets have 64 bits; whether its values are f64; whether these are the
 * caller's. */
static inline bool spmv_source_is_wide(const spmv_stored *source) {
    return spmv_source_bytes(source, SPMV_ROW_PTR) ==
           (size_t)(source->copy->rows + 1) * sizeof(int64_t);
}
static inline bool spmv_source_is_f64(const spmv_stored *source) {
    return spmv_source_bytes(source, SPMV_VALUES) == (size_t)source->copy->nnz * sizeof(double);
}
static inline bool spmv_source_is_lent(const spmv_stored *source) {
    return source->copy->array[SPMV_VALUES].borrowed;
}
/* Its device, as one that may be used: the matrix's, though the pointer to where it is kept is
 * const. */
static inline spmv_status spmv_source_device(const spmv_mat *mat, spmv_device **out) {
    return spmv_ctx_device(mat->ctx, mat->source->device->backend, out);
}

#endif
