/* convert_csr.cuh: converts arrays of compressed rows between types in GPU memory. */
#pragma once

#include "cuda/build.cuh"
#include "formats/csr/csr.h"

enum { THREADS = 256 };

static inline unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

/* Adds a borrowed array to the copy, and its size to the head. */
#define BORROW_ARRAY(head, copy, field, from, count) \
    do { \
        const size_t bytes_ = (size_t)(count) * sizeof *(copy)->field; \
        spmv_store_borrow(&(copy)->s, &(copy)->field, (from), bytes_); \
        spmv_store_borrow(&(head)->s, &(head)->field, NULL, bytes_); \
    } while (0)

template <class From, class To>
static __global__ void shift(int64_t n, const From *__restrict__ from, int base, To *to) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) to[k] = (To)(from[k] - (From)base);
}

static inline spmv_status convert_offsets(spmv_device *d, int64_t n, const void *from, int bits,
                                          int base, ofs *to) {
    if (bits == 32)
        shift<uint32_t, ofs>
            <<<blocks_of(n), THREADS, 0, stream_of(d)>>>(n, (const uint32_t *)from, base, to);
    else
        shift<uint64_t, ofs>
            <<<blocks_of(n), THREADS, 0, stream_of(d)>>>(n, (const uint64_t *)from, base, to);
    return launched(d);
}

static inline spmv_status convert_columns(spmv_device *d, int64_t n, const idx *from, int base,
                                          idx *to) {
    shift<uint32_t, idx>
        <<<blocks_of(n), THREADS, 0, stream_of(d)>>>(n, (const uint32_t *)from, base, to);
    return launched(d);
}

static __global__ void set_ones(int64_t n, real *to) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) to[k] = 1;
}

static inline spmv_status fill_ones(spmv_device *d, int64_t n, real *to) {
    set_ones<<<blocks_of(n), THREADS, 0, stream_of(d)>>>(n, to);
    return launched(d);
}

/* Converts values. *overflows, in GPU memory, is incremented for each value that becomes
 * infinite. */
template <class From>
static __global__ void convert_each(int64_t n, const From *__restrict__ from, real *to,
                                    int *overflows) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    to[k] = (real)from[k];
    if (isinf((real)from[k]) && !isinf(from[k])) atomicAdd(overflows, 1);
}

/* Converts values; fails if one becomes infinite. overflows: a counter in GPU memory. */
template <class From>
static inline spmv_status convert_values(spmv_device *d, int64_t n, const From *from, real *to,
                                         int *overflows) {
    int many = 0;
    CU(d->ctx, cudaMemsetAsync(overflows, 0, sizeof *overflows, stream_of(d)));
    convert_each<From><<<blocks_of(n), THREADS, 0, stream_of(d)>>>(n, from, to, overflows);
    TRY(launched(d));
    TRY(d->backend->get(d, &many, overflows, sizeof many));
    if (many) return spmv_fail(d->ctx, SPMV_E_UNSUITABLE, "%d values are too large for f32", many);
    return SPMV_OK;
}
