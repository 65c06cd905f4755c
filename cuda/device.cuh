/* device.cuh: shared by the CUDA files, besides host.cuh: storing a row's result, sums over a
 * warp. */
#pragma once

#include "host.cuh"

enum { WARP = 32 };
static const unsigned ALL_LANES = 0xffffffffu; /* lane mask for shuffles */

/* Returns whether a slot of a dense block or diagonal is padding: -0.0, which no nonzero is. */
static __device__ __forceinline__ bool is_padding(real a) {
    return a == 0 && signbit(a);
}

/* Returns a value as a slot of a dense block or diagonal stores it: -0.0 becomes 0. */
static __device__ __forceinline__ real as_entry(real value) {
    return value == 0 ? (real)0 : value;
}

/* Destination of the sums of rows: z <- alpha (A x) + beta y; y may be z. alpha_at, beta_at: both
 * scalars in device memory, read when the product runs; alpha is then a factor of *alpha_at, 1 or
 * -1. NULL: alpha and beta are used. */
typedef struct result {
    real *z;
    const real *y, *alpha_at, *beta_at;
    real alpha, beta;
} result;

static inline result result_of(const spmv_operands *v) {
    return {(real *)v->z,   (const real *)v->y, (const real *)v->alpha_at, (const real *)v->beta_at,
            (real)v->alpha, (real)v->beta};
}

/* Stores a row. beta = 0 never reads y, which may hold anything. The rounding is the same wherever
 * this is inlined, so that a row has the same bits in every kernel. One branch covers both scalars:
 * two branches took 4 to 8 more registers per thread. */
static __device__ __forceinline__ void put_row(const result &out, int64_t row, real sum) {
    if (out.alpha_at) {
        const real beta = *out.beta_at, scaled = out.alpha * *out.alpha_at * sum;
        out.z[row] = beta == 0 ? scaled : fma(beta, out.y[row], scaled);
    } else {
        const real scaled = out.alpha * sum;
        out.z[row] = out.beta == 0 ? scaled : fma(out.beta, out.y[row], scaled);
    }
}

/* Adds to a row that put_row has stored. */
static __device__ __forceinline__ void add_to_row(const result &out, int64_t row, real sum) {
    out.z[row] += (out.alpha_at ? out.alpha * *out.alpha_at : out.alpha) * sum;
}

/* Returns the sum over the 32 lanes, in lane 0. Every lane must call. */
static __device__ __forceinline__ real warp_sum(real sum) {
    for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_down_sync(ALL_LANES, sum, step);
    return sum;
}

/* Reductions over the 32 lanes of a warp. Every lane must call and gets the result. From sm_80 on a
 * single instruction, in a third of the time. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define WARP_REDUCTION(name, instruction, operation) \
    static __device__ __forceinline__ int name(int value) { \
        return instruction(ALL_LANES, value); \
    }
#else
#define WARP_REDUCTION(name, instruction, operation) \
    static __device__ __forceinline__ int name(int value) { \
        for (int step = WARP / 2; step > 0; step /= 2) { \
            const int other = __shfl_xor_sync(ALL_LANES, value, step); \
            value = operation; \
        } \
        return value; \
    }
#endif
WARP_REDUCTION(warp_total, __reduce_add_sync, value + other)
WARP_REDUCTION(warp_least, __reduce_min_sync, min(value, other))
WARP_REDUCTION(warp_greatest, __reduce_max_sync, max(value, other))
#undef WARP_REDUCTION

/* Returns the bytes of shared memory that a block may have, less what the system and a kernel's
 * static 1 KB take. */
static inline spmv_status shared_room(spmv_device *d, int *bytes) {
    enum { SPARE = 2048 };
    CU(d->ctx, cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->number));
    *bytes -= SPARE;
    return SPMV_OK;
}

/* fills the policies of the device's state (cache_policy.cu) */
spmv_status make_cache_policies(spmv_device *d);

/* Returns pinned host memory, to be freed by cudaFreeHost, or NULL. */
void *pinned_memory(size_t bytes);
/* Uploads from pageable memory (upload.cu). */
bool is_pageable(const void *from);     /* neither pinned, registered, managed nor a device's */
typedef struct upload_ring upload_ring; /* pinned buffers of one device */
/* Copies through pinned buffers, and returns when the copy is complete, if the source is large and
 * pageable, and enough was uploaded before that pinning pays off. Otherwise sets *done to false; a
 * plain copy is then best. *ring: NULL at first; made when needed. */
spmv_status upload(spmv_device *d, upload_ring **ring, void *to, const void *from, size_t bytes,
                   bool *done);
void upload_close(upload_ring *ring); /* accepts NULL */

#define PARAM_BLOCK_THREAD \
    { SPMV_block, 256, 32, 1024, 32, false }
#define PARAM_BLOCK_WARP \
    { SPMV_block, 256, 32, 1024, WARP, false }
#define PARAM_ROWLENS \
    { SPMV_rowlens, 1, 0, 1, 1, false }
