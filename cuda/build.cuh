/* build.cuh: shared by the builders of formats: arrays of a store in device memory, prefix sums and
 * sorting (scan.cu). */
#pragma once

#include "device.cuh"

/* Usage: EXPORT_BUILDER(bsr) = { ... }; defines how a device builds a format, in one variant. */
#define EXPORT_BUILDER(format) \
    extern "C" const spmv_device_format V(cuda_build_##format); \
    const spmv_device_format V(cuda_build_##format)

/* Exports a builder that reads rows with 32-bit offsets only, and is compiled for these only
 * (Makefile). The 64-bit variants have no build function, so plans for them are refused
 * (spmv_device_format). */
#define EXPORT_NARROW_BUILDER(format) \
    extern "C" const spmv_device_format SPMV_WIDE_SYMBOL(cuda_build_##format); \
    const spmv_device_format SPMV_WIDE_SYMBOL(cuda_build_##format) = {.name = #format}; \
    EXPORT_BUILDER(format)

/* Allocates an array of the copy in device memory, and lists it in copy and head. */
static inline spmv_status device_array(spmv_device *d, spmv_store *head, spmv_store *copy,
                                       size_t offset, size_t bytes) {
    void *memory = NULL;
    TRY(d->backend->alloc(d, bytes, &memory));
    copy->array[copy->narrays++] = {offset, bytes, false};
    memcpy((char *)copy + offset, &memory, sizeof memory);
    head->array[head->narrays++] = {offset, bytes, false};
    return SPMV_OK;
}
#define BUILD_ARRAY(d, head, copy, field, count) \
    device_array(d, &(head)->s, &(copy)->s, (size_t)((char *)&(copy)->field - (char *)(copy)), \
                 (size_t)(count) * sizeof *(copy)->field)

/* Frees an array of temporary rows (rows->passing) after its last use; other rows keep theirs. */
static inline void done_with(spmv_device *d, spmv_store *rows, const void *array) {
    for (int k = 0; k < rows->narrays && rows->passing; k++) {
        char *at = (char *)rows + rows->array[k].offset;
        void *memory;
        memcpy(&memory, at, sizeof memory);
        if (memory != array || rows->array[k].borrowed) continue;
        d->backend->release(d, memory);
        memset(at, 0, sizeof memory);
    }
}

/* Exclusive prefix sum in place (scan.cu, as all below). */
spmv_status sum_before(spmv_device *d, int64_t n, int64_t *number);
/* Inclusive prefix maximum in place. */
spmv_status greatest_until(spmv_device *d, int64_t n, idx *number);
/* Stable sort: out is the permutation of 0, ..., n - 1 that orders the keys, of which the lowest
 * `bits` bits count. */
spmv_status order_by_key(spmv_device *d, int64_t n, const uint64_t *key, int bits, idx *out);
/* Stable sort of n < 2^32 columns of `bits` bits: sorted[k] = column[out[k]]. */
spmv_status order_columns(spmv_device *d, int64_t n, const idx *column, int bits, idx *sorted,
                          uint32_t *out);
