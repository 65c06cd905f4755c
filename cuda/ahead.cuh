/* ahead.cuh: hides latency in small products, which are chains of dependent waits for the launch,
 * the row offsets, the entries, x, and y. Both methods need sm_90 in GPU and code; otherwise
 * nothing is done.
 *
 * Prefetch: the first blocks prefetch the matrix and x into the L2 cache at once, so that later
 * reads only wait for the cache. On an H200 with cold caches this saves 0.2 to 0.7 us of 4.5 to 8;
 * from 7 MB on it delays what is needed first.
 *
 * Overlap: a kernel may start before the previous one in the stream has ended (programmatic
 * dependent launch). Until begin_product it reads only the matrix, which no kernel writes; if the
 * matrix's values change (spmv_values_change), it is launched without overlap, because the previous
 * kernel, of the library or of the user, may be writing them. begin_product waits until all earlier
 * work is complete and visible. Every thread that writes z waits, also for empty rows. x must not
 * be read through __ldg or __restrict__, which promise that x was not written since the kernel's
 * start. Consecutive products (--cache=steady) took 0.9 to 3.4 us each instead of 2 to 5 below 6
 * MB. A single product is not faster. In a solver other kernels run between products: after a
 * kernel that does not allow overlap, little is saved. */
#pragma once

#include "cache_policy.cuh"

enum { AHEAD_MOST = 7000000, AHEAD_BLOCKS = 264, AHEAD_ARRAYS = 4 };

/* arrays that a product reads, and the number of blocks that prefetch them; 0: none */
typedef struct ahead {
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

/* Each block prefetches its share of each array, with one thread per array. The instruction needs
 * multiples of 16 bytes; the remaining bytes are not prefetched. */
static __device__ __forceinline__ void prefetch_ahead(const ahead &all, unsigned thread) {
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

/* Allows the next kernel to start once every thread of this one has called this or has ended. */
static __device__ __forceinline__ void let_next_start() {
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.launch_dependents;");))
}

/* Call this before x is read or y is written. */
static __device__ __forceinline__ void begin_product() {
    NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.wait;" ::: "memory");))
}

/* Returns whether begin_product waits in the code that such a GPU runs; a kernel that does not wait
 * must not overlap. This depends on the architectures compiled for, because sm_80's code runs on
 * later GPUs, too. */
static inline bool code_waits(int capability) {
    const int compiled_for[] = {__CUDA_ARCH_LIST__};
    for (int architecture : compiled_for)
        if (architecture >= 900 && architecture <= capability) return true;
    return false;
}

/* Launches a kernel that calls begin_product. overlaps: it may start before earlier work in the
 * stream has ended. arguments: addresses of the kernel's arguments. */
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

/* Launches the kernel of a product. */
static inline spmv_status launch_overlapping(const spmv_plan *p, cudaStream_t stream,
                                             const void *kernel, unsigned grid, dim3 block,
                                             size_t shared, void **arguments) {
    return launch_early(p->device, !spmv_values_change(p->matrix), stream, kernel, grid, block,
                        shared, arguments);
}
