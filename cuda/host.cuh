/* host.cuh: what the CUDA files' host code shares: errors, the stream, scratch memory. It compiles
 * without nvcc, too. */
#pragma once

#include "spmv_kernel.h"
#include "spmv_clock.h"
#include <cuda_runtime.h>
#include <pthread.h>

enum { MOST_LIBRARIES = 2, CACHE_POLICIES = 17, ANSWER_BYTES = 1 << 15 };

typedef uint64_t cache_policy; /* as PTX's createpolicy makes it; GPUs before sm_80 have none */

typedef struct cuda_state { /* a device's state */
    cudaStream_t stream;
    int capability;                      /* 900: sm_90 */
    size_t l2;                           /* bytes of the second-level cache; 0: unknown */
    cache_policy policy[CACHE_POLICIES]; /* [k]: k sixteenths of the lines stay */
    cudaEvent_t start, stop, order;      /* order: of streams; measures nothing */
    cudaMemPool_t pool; /* keeps what is freed for what is allocated next; NULL: the GPU has none */
    struct {            /* peers' libraries: a handle, made when first needed, */
        void *handle;
        void (*close)(void *handle);
    } library[MOST_LIBRARIES];
    pthread_mutex_t turn; /* of products with their handles */
    void *answer;         /* [ANSWER_BYTES] pinned host memory: a kernel writes there what the host
                             waits for, which arrives sooner than by a copy; NULL: there is none */
    char *flushed;        /* [nflushed] */
    unsigned *sink;
    size_t nflushed;
    char name[256];
} cuda_state;

/* Returns what an error means, for a message. */
static inline const char *cuda_reason(cudaError_t error) {
    return error == cudaErrorInitializationError
               ? "initialization error: a process that was forked after its parent had used CUDA "
                 "has no GPU; start it with exec, in Python with multiprocessing's \"spawn\""
               : cudaGetErrorString(error);
}

/* Writes the message where the facts are known and clears the error, or the next call would report
 * it again. */
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

/* Returns the stream where a device's own operations are. */
static inline cudaStream_t stream_of(const spmv_device *d) {
    return ((const cuda_state *)d->state)->stream;
}

/* Returns the stream where a plan is prepared. */
static inline cudaStream_t stream_of(const spmv_plan *p) {
    return stream_of(p->device);
}

/* Returns the stream where a product runs. */
static inline cudaStream_t stream_of(const spmv_operands *v) {
    return (cudaStream_t)v->stream;
}

/* Is called before the first product, which would be timed with it. A process loads a kernel's code
 * once: it is booked apart. */
static inline spmv_status load_kernel(spmv_plan *p, const void *kernel) {
    cudaFuncAttributes loaded;
    const double start = spmv_now();
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    CU(p->device->ctx, cudaFuncGetAttributes(&loaded, kernel));
    p->once_s += spmv_now() - start;
    return SPMV_OK;
}

/* Is called after a launch: a bad configuration shows here, a fault inside the kernel at the next
 * synchronisation. */
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

/* Allocates device memory, counted to the plan's scratch; the kernel frees it. Anything may be in
 * it. */
static inline spmv_status take_scratch(spmv_plan *p, size_t bytes, void **out) {
    TRY(p->device->backend->alloc(p->device, bytes, out));
    p->scratch_bytes += bytes;
    return SPMV_OK;
}

/* Zeros are in it, for what the stream does next. */
static inline spmv_status clear_scratch(spmv_plan *p, size_t bytes, void **out) {
    TRY(take_scratch(p, bytes, out));
    CU(p->device->ctx, cudaMemsetAsync(*out, 0, bytes, stream_of(p)));
    return SPMV_OK;
}

/* Copies bytes of the host's memory into the plan's scratch. */
static inline spmv_status put_scratch(spmv_plan *p, const void *host, size_t bytes, void **out) {
    TRY(take_scratch(p, bytes, out));
    return p->device->backend->put(p->device, *out, host, bytes);
}
