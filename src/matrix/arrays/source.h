/* source.h: a matrix whose compressed rows are in device memory, as a store: mat->source. */
#ifndef SPMV_SOURCE_H
#define SPMV_SOURCE_H

#include "matrix/stores/stored.h"

/* Creates the matrix of arrays in device memory, of which all but the content was checked.
 * mat->source is NULL afterwards if kernels cannot use the arrays: the caller then frees the
 * matrix, and the host has to read and convert the arrays. */
spmv_status spmv_source_adopt(spmv_mat *mat, spmv_device *device, const spmv_arrays *a);
/* Transposes a matrix whose rows are in device memory, on the device. T is empty or without rows.
 * T->source is NULL afterwards if the device cannot transpose or lacks memory. */
spmv_status spmv_source_transpose(const spmv_mat *mat, spmv_mat *T);
/* Permutes values from mat's order into the order of its transpose: both [nnz], in mat's precision,
 * in the memory of the device. The transpose was made by spmv_source_transpose. */
spmv_status spmv_source_arrange(const spmv_mat *mat, spmv_device *device, const void *values,
                                void *out);
/* Frees the permutation that spmv_source_arrange keeps, if any. */
void spmv_source_forget_order(spmv_mat *T);
/* Frees the rows of a transpose in device memory; no store or plan may use them. */
void spmv_source_drop(spmv_mat *T);
/* Fails with SPMV_E_ARG if `memory` is host memory; name: the array's name in the message. */
spmv_status spmv_check_place(const spmv_device *device, const char *name, const void *memory);
spmv_status spmv_arrays_check_place(const spmv_device *device, const spmv_arrays *a);
/* Copies the missing arrays of csr, and the values, to host memory. */
spmv_status spmv_source_fetch(spmv_mat *mat);

/* Indices of the arrays in a store of compressed rows (formats/csr/csr.h). */
enum { SPMV_ROW_PTR, SPMV_COL_IDX, SPMV_VALUES };

static inline size_t spmv_source_bytes(const spmv_stored *source, int k) {
    return source->copy->array[k].bytes;
}
/* Returns whether the source has 64-bit offsets; f64 values; values borrowed from the caller. */
static inline bool spmv_source_is_wide(const spmv_stored *source) {
    return spmv_source_bytes(source, SPMV_ROW_PTR) ==
           (size_t)(source->copy->rows + 1) * sizeof(int64_t);
}
static inline bool spmv_source_is_f64(const spmv_stored *source) {
    return spmv_source_bytes(source, SPMV_VALUES) == (size_t)source->copy->nnz * sizeof(double);
}
static inline bool spmv_source_is_borrowed(const spmv_stored *source) {
    return source->copy->array[SPMV_VALUES].borrowed;
}
/* Returns the source's device as a mutable object, from the matrix's context. */
static inline spmv_status spmv_source_device(const spmv_mat *mat, spmv_device **out) {
    return spmv_ctx_device(mat->ctx, mat->source->device->backend, out);
}

#endif
