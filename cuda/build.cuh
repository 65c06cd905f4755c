/* build.cuh: what the builders of formats share: arrays of a store in the device's memory, sums and
 * orders of many numbers (scan.cu). */
#pragma once

#include "device.cuh"

/* EXPORT_BUILDER(bsr) = { ... }; how a device builds a format, in one variant. */
#define EXPORT_BUILDER(format) \
    extern "C" const spmv_device_format V(cuda_build_##format); \
    const spmv_device_format V(cuda_build_##format)

/* Exports a builder that reads rows with 32-bit offsets only, and is compiled for these alone
 * (Makefile). Its variants of 64-bit offsets have no build function, so their plans are refused
 * (spmv_device_format). */
#define EXPORT_NARROW_BUILDER(format) \
    extern "C" const spmv_device_format SPMV_WIDE_SYMBOL(cuda_build_##format); \
    const spmv_device_format SPMV_WIDE_SYMBOL(cuda_build_##format) = {.name = #format}; \
    EXPORT_BUILDER(format)

/* An array of the copy in device memory; the head lists it, too. */
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

/* An array of the rows was read for the last time. Frees it if nobody else reads it. */
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

/* scan.cu. In place: each number becomes the sum of those before it. */
spmv_status sum_before(spmv_device *d, int64_t n, int64_t *number);
/* In place: each number becomes the greatest of those up to it. */
spmv_status greatest_until(spmv_device *d, int64_t n, idx *number);
/* Sorts the numbers 0 .. n - 1 by ascending key, of which `bits` count; stable. */
spmv_status order_by_key(spmv_device *d, int64_t n, const uint64_t *key, int bits, idx *out);
/* Orders n < 2^32 columns of `bits` bits, stably: sorted[k] is column[out[k]]. */
spmv_status order_columns(spmv_device *d, int64_t n, const idx *column, int bits, idx *sorted,
                          uint32_t *out);
