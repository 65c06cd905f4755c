/* host.cuh: shared host code of the CUDA files: errors, streams, scratch memory. Compiles without
 * nvcc, too. */
#pragma once

#include "spmv_kernel.h"
#include "spmv_clock.h"
#include <cuda_runtime.h>
#include <pthread.h>

enum { MOST_LIBRARIES = 2, CACHE_POLICIES = 17, ANSWER_BYTES = 1 << 15 };

typedef uint64_t cache_policy; /* value of PTX's createpolicy; unused before sm_80 */

typedef struct cuda_state { /* state of a device, used by all CUDA files */
    cudaStream_t stream;
    int capability;                      /* 900: sm_90 */
    size_t l2;                           /* bytes of the L2 cache; 0: unknown */
    cache_policy policy[CACHE_POLICIES]; /* [k]: k sixteenths of the lines stay in the cache */
    cudaEvent_t start, stop, order;      /* order: synchronizes streams, without timing */
    cudaMemPool_t pool;                  /* keeps freed memory for later allocations; NULL: none */
    struct {                             /* handles of peers' libraries, made when first needed */
        void *handle;
        void (*close)(void *handle);
    } library[MOST_LIBRARIES];
    pthread_mutex_t turn; /* held during products that use these handles */
    void *answer;         /* [ANSWER_BYTES] pinned, for kernels' results; NULL: none */
    char *flushed;        /* [nflushed] */
    unsigned *sink;
    size_t nflushed;
    char name[256];
} cuda_state;

/* Returns the meaning of an error, for a message. */
static inline const char *cuda_reason(cudaError_t error) {
    return error == cudaErrorInitializationError
               ? "initialization error: a process that was forked after its parent had used CUDA "
                 "has no GPU; start it with exec, in Python with multiprocessing's \"spawn\""
               : cudaGetErrorString(error);
}

/* Stores the error text, and clears CUDA's error, which the next call would report again. */
static inline spmv_status cuda_fail(spmv_ctx *ctx, cudaError_t error, const char *what) {
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        return spmv_fail(ctx, SPMV_E_NOMEM,
                         "out of GPU memory in %s: free some, or choose a smaller format", what);
    return spmv_fail(ctx, SPMV_E_DEVICE, "%s: %s", what, cuda_reason(error));
}
#define CU(ctx, call) \
    do { \
        cudaError_t cuda_error_ = (call); \
        if (cuda_error_ != cudaSuccess) return cuda_fail(ctx, cuda_error_, #call); \
    } while (0)

static inline bool has_wide_offsets(const spmv_plan *p) {
    return p->variant == SPMV_F64_O64 || p->variant == SPMV_F32_O64;
}

/* Returns the stream of a device's own operations. */
static inline cudaStream_t stream_of(const spmv_device *d) {
    return ((const cuda_state *)d->state)->stream;
}

/* Returns the stream in which a plan is prepared. */
static inline cudaStream_t stream_of(const spmv_plan *p) {
    return stream_of(p->device);
}

/* Returns the stream of a product. */
static inline cudaStream_t stream_of(const spmv_operands *v) {
    return (cudaStream_t)v->stream;
}

/* Loads a kernel's code, which would otherwise be part of the first product's time, and counts the
 * time as a one-time cost of the process. */
static inline spmv_status load_kernel(spmv_plan *p, const void *kernel) {
    cudaFuncAttributes loaded;
    const double start = spmv_now();
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    CU(p->device->ctx, cudaFuncGetAttributes(&loaded, kernel));
    p->once_s += spmv_now() - start;
    return SPMV_OK;
}

/* Checks for errors after a launch: a bad configuration shows here, a fault inside the kernel at
 * the next synchronization. */
static inline spmv_status launched(const spmv_device *d) {
    CU(d->ctx, cudaGetLastError());
    return SPMV_OK;
}

static inline spmv_status launched(const spmv_plan *p) {
    return launched(p->device);
}

static inline int64_t blocks_for(int64_t n, int64_t per_block) {
    return (n + per_block - 1) / per_block;
}

/* Allocates uninitialized device memory, counted as the plan's scratch; the kernel frees it. */
static inline spmv_status take_scratch(spmv_plan *p, size_t bytes, void **out) {
    TRY(p->device->backend->alloc(p->device, bytes, out));
    p->scratch_bytes += bytes;
    return SPMV_OK;
}

/* Like take_scratch, filled with zeros in the order of the stream. */
static inline spmv_status clear_scratch(spmv_plan *p, size_t bytes, void **out) {
    TRY(take_scratch(p, bytes, out));
    CU(p->device->ctx, cudaMemsetAsync(*out, 0, bytes, stream_of(p)));
    return SPMV_OK;
}

/* Like take_scratch, filled from host memory. */
static inline spmv_status put_scratch(spmv_plan *p, const void *host, size_t bytes, void **out) {
    TRY(take_scratch(p, bytes, out));
    return p->device->backend->put(p->device, *out, host, bytes);
}
