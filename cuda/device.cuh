/* device.cuh: what the CUDA files share: errors, the stream, one row's result, the sum over a warp.
 */
#ifndef SPMV_CUDA_DEVICE_CUH
#define SPMV_CUDA_DEVICE_CUH

#include "spmv_kernel.h"
#include <cuda_runtime.h>
#include <pthread.h>
#include <time.h>

enum { WARP = 32, MOST_LIBRARIES = 2 };
static const unsigned ALL_LANES = 0xffffffffu; /* of a warp, in a shuffle */

typedef struct cuda_state { /* a device's state */
    cudaStream_t stream;
    int capability;                 /* 900: sm_90 */
    cudaEvent_t start, stop, order; /* order: of streams; measures nothing */
    cudaMemPool_t pool; /* keeps what is freed for what is allocated next; NULL: the GPU has none */
    struct {            /* peers' libraries: a handle, made when first needed, */
        void *handle;
        void (*close)(void *handle);
    } library[MOST_LIBRARIES];
    pthread_mutex_t turn; /* of products with their handles */
    char *flushed;        /* [nflushed] */
    unsigned *sink;
    size_t nflushed;
    char name[256];
} cuda_state;

/* Writes the message where the facts are known and clears the error, or the next call would report
 * it again. */
static inline spmv_status cuda_fail(spmv_ctx *ctx, cudaError_t error, const char *what) {
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        return spmv_fail(ctx, SPMV_E_NOMEM,
                         "out of GPU memory in %s: free some, or choose a smaller format", what);
    return spmv_fail(ctx, SPMV_E_DEVICE, "%s: %s", what, cudaGetErrorString(error));
}
#define CU(ctx, call) \
    do { \
        cudaError_t cuda_error_ = (call); \
        if (cuda_error_ != cudaSuccess) return cuda_fail(ctx, cuda_error_, #call); \
    } while (0)

/* SPMV_EXPORT_KERNEL of a kernel that reads no offsets, or can do with narrow ones. It is compiled
 * for 32-bit offsets alone (Makefile), and plans of 64-bit offsets have it, too: under their name
 * stands the same kernel. */
#define WIDE_f64_o32 f64_o64
#define WIDE_f32_o32 f32_o64
#define SYMBOL_IN(name, suffix) SPMV_JOIN(cuda_##name, suffix)
#define QUOTED2(symbol) #symbol
#define QUOTED(symbol) QUOTED2(symbol)
#define EXPORT_ANY_OFFSETS_KERNEL(name) \
    extern "C" const spmv_kernel SYMBOL_IN(name, SPMV_JOIN(WIDE, SPMV_SUFFIX)) \
        __attribute__((alias(QUOTED(SPMV_KERNEL_SYMBOL(name))))); \
    SPMV_EXPORT_KERNEL(name)
static inline bool has_wide_offsets(const spmv_plan *p) {
    return p->variant == SPMV_F64_O64 || p->variant == SPMV_F32_O64;
}

/* Where a plan is prepared. */
static inline cudaStream_t stream_of(const spmv_plan *p) {
    return (cudaStream_t)p->device->stream;
}

/* Where a product runs. */
static inline cudaStream_t stream_of(const spmv_operands *v) {
    return (cudaStream_t)v->stream;
}

/* Before the first product, which would be timed with it. A process loads a kernel's code once: it
 * is booked apart. */
static inline spmv_status load_kernel(spmv_plan *p, const void *kernel) {
    cudaFuncAttributes loaded;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    CU(p->device->ctx, cudaFuncGetAttributes(&loaded, kernel));
    clock_gettime(CLOCK_MONOTONIC, &end);
    p->once_s += (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    return SPMV_OK;
}

/* After a launch: a bad configuration shows here, a fault inside the kernel at the next
 * synchronisation. */
static inline spmv_status launched(const spmv_plan *p) {
    CU(p->device->ctx, cudaGetLastError());
    return SPMV_OK;
}

static inline int64_t blocks_for(int64_t n, int64_t per_block) {
    return (n + per_block - 1) / per_block;
}

/* Device memory, counted to the plan's scratch; the kernel frees it. Anything may be in it. */
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

/* What the host's memory has. */
static inline spmv_status put_scratch(spmv_plan *p, const void *host, size_t bytes, void **out) {
    TRY(take_scratch(p, bytes, out));
    return p->device->backend->put(p->device, *out, host, bytes);
}

/* Where the sums of rows go: z <- alpha (A x) + beta y; y may be z. Scalars in device memory are
 * read when the product runs: alpha_at, beta_at; where these are NULL, alpha and beta hold. */
typedef struct result {
    real *z;
    const real *y, *alpha_at, *beta_at;
    real alpha, beta;
} result;

static inline result result_of(const spmv_operands *v) {
    return {(real *)v->z,   (const real *)v->y, (const real *)v->alpha_at, (const real *)v->beta_at,
            (real)v->alpha, (real)v->beta};
}

static __device__ __forceinline__ real alpha_of(const result &out) {
    return out.alpha_at ? *out.alpha_at : out.alpha;
}

/* beta = 0 never reads y, which may hold anything. Rounded in one way wherever it is inlined: a
 * row has the same bits, whichever way it is multiplied. */
static __device__ __forceinline__ void put_row(const result &out, int64_t row, real sum) {
    const real beta = out.beta_at ? *out.beta_at : out.beta, scaled = alpha_of(out) * sum;
    out.z[row] = beta == 0 ? scaled : fma(beta, out.y[row], scaled);
}

/* To a row that was put before. */
static __device__ __forceinline__ void add_to_row(const result &out, int64_t row, real sum) {
    out.z[row] += alpha_of(out) * sum;
}

/* The sum over the 32 lanes, in lane 0; every lane of the warp must call. */
static __device__ __forceinline__ real warp_sum(real sum) {
    for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_down_sync(ALL_LANES, sum, step);
    return sum;
}

/* Over the 32 lanes, in every lane; every lane of the warp must call. By shuffles, because the
 * instructions for it (__reduce_add_sync, ...) begin with sm_80. */
static __device__ __forceinline__ int warp_total(int value) {
    for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL_LANES, value, step);
    return value;
}

static __device__ __forceinline__ int warp_least(int value) {
    for (int step = WARP / 2; step > 0; step /= 2)
        value = min(value, __shfl_xor_sync(ALL_LANES, value, step));
    return value;
}

static __device__ __forceinline__ int warp_greatest(int value) {
    for (int step = WARP / 2; step > 0; step /= 2)
        value = max(value, __shfl_xor_sync(ALL_LANES, value, step));
    return value;
}

/* Shared memory that a block may have, without what the system keeps of it and 1 KB of a kernel's
 * own. */
static inline spmv_status shared_room(spmv_device *d, int *bytes) {
    enum { SPARE = 2048 };
    CU(d->ctx, cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->number));
    *bytes -= SPARE;
    return SPMV_OK;
}

#define PARAM_BLOCK_THREAD \
    { SPMV_block, 256, 32, 1024, 32, false }
#define PARAM_BLOCK_WARP \
    { SPMV_block, 256, 32, 1024, WARP, false }
#define PARAM_ROWLENS \
    { SPMV_rowlens, 1, 0, 1, 1, false }
#endif
