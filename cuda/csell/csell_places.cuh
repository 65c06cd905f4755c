/* csell_places.cuh: offsets of the parts of a slice: exclusive prefix sums over slices, of several
 * sizes at once; for the builders of csell and csell_lists. */
#pragma once

#include "cuda/build.cuh"

enum { SCAN_THREADS = 1024, SIZES = 5 };
typedef struct sizes { /* sizes of a slice, or their prefix sums */
    int64_t of[SIZES];
} sizes;

/* Exclusive prefix sum over the threads of a block. Must be called by every thread. */
static __device__ int64_t block_before(int64_t value, int64_t *total) {
    __shared__ int64_t sums[SCAN_THREADS / WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int64_t sum = value, before = 0;
    for (int step = 1; step < WARP; step *= 2) {
        int64_t other = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == WARP - 1) sums[warp] = sum;
    __syncthreads();
    *total = 0;
    for (int v = 0; v < SCAN_THREADS / WARP; v++) {
        if (v == warp) before = *total;
        *total += sums[v];
    }
    __syncthreads();
    return before + sum - value;
}

/* Scans each block's sizes in place; writes the blocks' sums to totals. */
static __global__ void scan_blocks(sizes *size, int64_t n, sizes *totals) {
    int64_t k = (int64_t)blockIdx.x * SCAN_THREADS + threadIdx.x;
    for (int c = 0; c < SIZES; c++) {
        int64_t total, before = block_before(k < n ? size[k].of[c] : 0, &total);
        if (k < n) size[k].of[c] = before;
        if (threadIdx.x == 0) totals[blockIdx.x].of[c] = total;
    }
}

/* Scans the totals by one block; writes the sum of all to totals[n]. */
static __global__ void scan_totals(sizes *totals, int64_t n) {
    for (int c = 0; c < SIZES; c++) {
        int64_t all = 0;
        for (int64_t first = 0; first < n; first += SCAN_THREADS) {
            int64_t k = first + threadIdx.x, total;
            int64_t before = block_before(k < n ? totals[k].of[c] : 0, &total);
            if (k < n) totals[k].of[c] = all + before;
            all += total;
        }
        if (threadIdx.x == 0) totals[n].of[c] = all;
    }
}

/* Exclusive prefix sum of n sizes in two levels. The total follows the blocks' totals. */
static inline void scan(sizes *size, int64_t n, sizes *totals, cudaStream_t stream) {
    const int64_t blocks = blocks_for(n, SCAN_THREADS);
    if (n) scan_blocks<<<(unsigned)blocks, SCAN_THREADS, 0, stream>>>(size, n, totals);
    scan_totals<<<1, SCAN_THREADS, 0, stream>>>(totals, blocks);
}

static __device__ __forceinline__ sizes place_of(const sizes *place, const sizes *totals,
                                                 int64_t s) {
    sizes begin = place[s];
    for (int c = 0; c < SIZES; c++) begin.of[c] += totals[s / SCAN_THREADS].of[c];
    return begin;
}
