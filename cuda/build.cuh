/* build.cuh: what the builders of formats share: the matrix sent to the device, arrays of a store
 * in its memory, sums and orders of many numbers (scan.cu). */
#ifndef SPMV_CUDA_BUILD_CUH
#define SPMV_CUDA_BUILD_CUH

#include "device.cuh"

typedef struct sent_rows { /* the matrix, in device memory */
    int64_t *row_ptr;
    idx *col;
    double *value;
} sent_rows;

static inline spmv_status send_array(spmv_device *d, const void *from, size_t bytes, void **out) {
    TRY(d->backend->alloc(d, bytes, out));
    return d->backend->put(d, *out, from, bytes);
}

/* On failure *out is for free_rows. */
static inline spmv_status send_rows(spmv_device *d, const spmv_csr_view *A, sent_rows *out,
                                    double *seconds) {
    *out = {};
    TRY(d->backend->tick(d));
    TRY(send_array(d, A->row_ptr, (size_t)(A->rows + 1) * sizeof *A->row_ptr,
                   (void **)&out->row_ptr));
    TRY(send_array(d, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx, (void **)&out->col));
    TRY(send_array(d, A->values, (size_t)A->nnz * sizeof *A->values, (void **)&out->value));
    return d->backend->tock(d, seconds);
}

static inline void free_rows(spmv_device *d, sent_rows *A) {
    d->backend->release(d, A->row_ptr);
    d->backend->release(d, A->col);
    d->backend->release(d, A->value);
}

/* An array of the copy in device memory; the head lists it, too. */
static inline spmv_status device_array(spmv_device *d, spmv_store *head, spmv_store *copy,
                                       size_t offset, size_t bytes) {
    void *memory = NULL;
    TRY(d->backend->alloc(d, bytes, &memory));
    copy->array[copy->narrays++] = {offset, bytes};
    memcpy((char *)copy + offset, &memory, sizeof memory);
    head->array[head->narrays++] = {offset, bytes};
    return SPMV_OK;
}
#define BUILD_ARRAY(d, head, copy, field, count) \
    device_array(d, &(head)->s, &(copy)->s, (size_t)((char *)&(copy)->field - (char *)(copy)), \
                 (size_t)(count) * sizeof *(copy)->field)

/* scan.cu. In place: each number becomes the sum of those before it. */
spmv_status sum_before(spmv_device *d, int64_t n, int64_t *number);
/* The numbers 0 .. n - 1 by ascending key, of which `bits` count; stable. The keys are lost. */
spmv_status order_by_key(spmv_device *d, int64_t n, uint64_t *key, int bits, idx *out);
#endif
