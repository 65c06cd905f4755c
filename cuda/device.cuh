/* device.cuh: what the CUDA files share besides host.cuh: one row's result, the sum over a warp. */
#pragma once

#include "host.cuh"

enum { WARP = 32 };
static const unsigned ALL_LANES = 0xffffffffu; /* of a warp, in a shuffle */

/* Says whether a slot of a dense block or diagonal is padding, -0.0, which no nonzero is. */
static __device__ __forceinline__ bool is_padding(real a) {
    return a == 0 && signbit(a);
}

/* Returns a nonzero's value as such a slot holds it: zeros are positive there. */
static __device__ __forceinline__ real as_entry(real value) {
    return value == 0 ? (real)0 : value;
}

/* Says where the sums of rows go: z <- alpha (A x) + beta y; y may be z. alpha_at, beta_at: both
 * scalars lie in device memory, and are read when the product runs, alpha being the sign of the
 * other; NULL: they are alpha and beta. */
typedef struct result {
    real *z;
    const real *y, *alpha_at, *beta_at;
    real alpha, beta;
} result;

static inline result result_of(const spmv_operands *v) {
    return {(real *)v->z,   (const real *)v->y, (const real *)v->alpha_at, (const real *)v->beta_at,
            (real)v->alpha, (real)v->beta};
}

/* beta = 0 never reads y, which may hold anything. Rounded in one way wherever it is inlined: a row
 * has the same bits, whichever way it is multiplied. One branch for both scalars: one for each took
 * 4 to 8 registers per thread from every product. */
static __device__ __forceinline__ void put_row(const result &out, int64_t row, real sum) {
    if (out.alpha_at) {
        const real beta = *out.beta_at, scaled = out.alpha * *out.alpha_at * sum;
        out.z[row] = beta == 0 ? scaled : fma(beta, out.y[row], scaled);
    } else {
        const real scaled = out.alpha * sum;
        out.z[row] = out.beta == 0 ? scaled : fma(out.beta, out.y[row], scaled);
    }
}

/* Adds to a row that was put before. */
static __device__ __forceinline__ void add_to_row(const result &out, int64_t row, real sum) {
    out.z[row] += (out.alpha_at ? out.alpha * *out.alpha_at : out.alpha) * sum;
}

/* Returns the sum over the 32 lanes, in lane 0; every lane of the warp must call. */
static __device__ __forceinline__ real warp_sum(real sum) {
    for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_down_sync(ALL_LANES, sum, step);
    return sum;
}

/* Reductions over the 32 lanes of a warp: every lane must call, and gets the result. From sm_80 on
 * one instruction does it, in a third of the time. */
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

/* Finds how much shared memory a block may have, without what the system keeps of it and 1 KB of a
 * kernel's own. */
static inline spmv_status shared_room(spmv_device *d, int *bytes) {
    enum { SPARE = 2048 };
    CU(d->ctx, cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->number));
    *bytes -= SPARE;
    return SPMV_OK;
}

spmv_status make_cache_policies(spmv_device *d); /* of its state (cache_policy.cu) */

/* Returns pinned host memory, for cudaFreeHost; NULL: there is none to be had. */
void *pinned_memory(size_t bytes);
/* Copies from memory that is not pinned (upload.cu). */
bool is_pageable(const void *from);     /* not pinned, registered, managed or a device's */
typedef struct upload_ring upload_ring; /* pinned buffers of one device */
/* Copies if the source is large and not pinned, and enough such were sent before that pinning pays;
 * returns when it is done; else *done is false, and a plain copy is best. ring: NULL at first; made
 * here when it is first needed. */
spmv_status upload(spmv_device *d, upload_ring **ring, void *to, const void *from, size_t bytes,
                   bool *done);
void upload_close(upload_ring *ring); /* NULL: nothing */

#define PARAM_BLOCK_THREAD \
    { SPMV_block, 256, 32, 1024, 32, false }
#define PARAM_BLOCK_WARP \
    { SPMV_block, 256, 32, 1024, WARP, false }
#define PARAM_ROWLENS \
    { SPMV_rowlens, 1, 0, 1, 1, false }
