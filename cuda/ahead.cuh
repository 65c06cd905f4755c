/* ahead.cuh: hides latency in small products, which are chains of dependent waits: for the launch,
 * the row offsets, the entries, x, y. From sm_90 on two things shorten it; older GPUs, and
 * code that was compiled for older ones, do neither.
 *
 * Asking ahead: the first blocks ask the memory for the matrix and x, all at once; every
 * later read then waits for the cache only. On an H200, caches cold: 0.2 to 0.7 us of 4.5 to 8;
 * from 7 MB on it is in the way of what is needed first.
 *
 * Overlapping: of kernels that follow each other in a stream the next starts before the last has
 * ended. Until begin_product it reads nothing but the matrix, which no kernel writes: one whose
 * values change (spmv_values_change) is launched without overlap, since what refreshed them may be
 * the kernel in front, of the library or of the user, which may let the next start at any time. At
 * begin_product it waits until all that was launched before is done and can be seen. Every thread
 * that writes z waits, also for rows without entries. x is not read by way of __ldg or
 * __restrict__: those promise that no one wrote it since the kernel's start. Products queued one
 * behind the other (--cache=steady) took 0.9 to 3.4 us each instead of 2 to 5 below 6 MB. A product
 * on its own takes as long as without. In a solver other kernels stand between products: behind one
 * that does not let the next start, little is gained. */
#pragma once

#include "cache_policy.cuh"

enum { AHEAD_MOST = 7000000, AHEAD_BLOCKS = 264, AHEAD_ARRAYS = 4 };

typedef struct ahead { /* what a product reads, and how many blocks ask for it; 0: none does */
    struct {
        const char *at;
        size_t bytes;
    } array[AHEAD_ARRAYS];
    unsigned blocks;
    cache_policy policy;
} ahead;

static inline ahead ahead_of(const spmv_plan *p, const void *rows, size_t rows_bytes,
                             const idx *col, const real *values, int64_t slots, const real *x,
                             int64_t cols, unsigned grid) {
    ahead all = {{{(const char *)rows, rows_bytes},
                  {(const char *)col, (size_t)slots * sizeof *col},
                  {(const char *)values, (size_t)slots * sizeof *values},
                  {(const char *)x, (size_t)cols * sizeof *x}},
                 grid < AHEAD_BLOCKS ? grid : AHEAD_BLOCKS,
                 policy_for(p)};
    size_t bytes = 0;
    for (int k = 0; k < AHEAD_ARRAYS; k++) bytes += all.array[k].bytes;
    if (bytes > AHEAD_MOST) all.blocks = 0;
    return all;
}

/* Each block asks for its share of each array, a thread per array. Shares begin and end at
 * multiples of 16 bytes, as the instruction wants it; what is left over is not asked for. */
static __device__ __forceinline__ void ask_ahead(const ahead &all, unsigned thread) {
    if (blockIdx.x >= all.blocks || thread >= AHEAD_ARRAYS) return;
    const unsigned line = 128;
    uintptr_t begin = (uintptr_t)all.array[thread].at, end = begin + all.array[thread].bytes;
    unsigned share = ((unsigned)all.array[thread].bytes / all.blocks / line + 1) * line;
    begin = (begin + 15) / 16 * 16 + (uintptr_t)share * blockIdx.x;
    end = min(end / 16 * 16, begin + share);
    if (begin >= end) return;
    NV_IF_TARGET(NV_PROVIDES_SM_90,
                 (asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin),
                               "r"((unsigned)(end - begin)));))
}

/* The next kernel may start once every thread of this one has called it or has ended. */
static __device__ __forceinline__ void let_next_start() {
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.launch_dependents;");))
}

/* A kernel calls this before x is read or y written. */
static __device__ __forceinline__ void begin_product() {
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.wait;" ::: "memory");))
}

/* Says whether begin_product waits in the code that such a GPU runs. A kernel that does not wait
 * must not overlap, and what counts is what it was compiled for: sm_80's code runs on later GPUs
 * too. */
static inline bool code_waits(int capability) {
    const int compiled_for[] = {__CUDA_ARCH_LIST__};
    for (int architecture : compiled_for)
        if (architecture >= 900 && architecture <= capability) return true;
    return false;
}

/* Launches a kernel that calls begin_product, and may start before what is in front of it in the
 * stream has ended if `overlaps`. arguments: the address of each. */
static inline spmv_status launch_early(spmv_device *d, bool overlaps, cudaStream_t stream,
                                       const void *kernel, unsigned grid, dim3 block, size_t shared,
                                       void **arguments) {
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t config = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(grid);
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = overlaps && code_waits(((const cuda_state *)d->state)->capability);
    CU(d->ctx, cudaLaunchKernelExC(&config, kernel, arguments));
    return SPMV_OK;
}

/* Launches a product's kernel. */
static inline spmv_status launch_overlapping(const spmv_plan *p, cudaStream_t stream,
                                             const void *kernel, unsigned grid, dim3 block,
                                             size_t shared, void **arguments) {
    return launch_early(p->device, !spmv_values_change(p->matrix), stream, kernel, grid, block,
                        shared, arguments);
}
