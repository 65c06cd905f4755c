/* xcache.cuh: sums over a block of threads, a bitmap in shared memory of the columns that a block
 * of rows needs, and a sort of its segments by length; for build_xcache.cu. */
#pragma once

#include "cuda/values/value_set.cuh"
#define XCACHE_SHARED static inline __host__ __device__
#include "formats/xcache/xcache.h"

enum {
    XCACHE_THREADS = 1024, /* threads of every kernel of the builder */
    XCACHE_WARPS = XCACHE_THREADS / WARP,
    DIGITS = XCACHE_LONGEST + 1,
    WORD = 32 /* bits of a word */
};

/* Returns the sum over the threads before this one; every thread of the block calls. */
static __device__ unsigned block_before(unsigned value, unsigned *total) {
    __shared__ unsigned sums[XCACHE_WARPS];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    unsigned sum = value, before = 0;
    for (int step = 1; step < WARP; step *= 2) {
        unsigned other = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == WARP - 1) sums[warp] = sum;
    __syncthreads();
    *total = 0;
    for (int v = 0; v < XCACHE_WARPS; v++) {
        if (v == warp) before = *total;
        *total += sums[v];
    }
    __syncthreads();
    return before + sum - value;
}

static __device__ int block_greatest(int value) {
    __shared__ int all[XCACHE_WARPS];
    value = warp_greatest(value);
    if (threadIdx.x % WARP == 0) all[threadIdx.x / WARP] = value;
    __syncthreads();
    value = warp_greatest(all[threadIdx.x % WARP]);
    __syncthreads();
    return value;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Clears the bitmap and sets the bits of the columns of entries first .. end - 1. Every thread of
 * the block calls. */
static __device__ void mark_columns(const idx *__restrict__ col, int64_t first, int64_t end,
                                    idx base, int words, unsigned *bits) {
    for (int w = (int)threadIdx.x; w < words; w += XCACHE_THREADS) bits[w] = 0;
    __syncthreads();
#pragma unroll 4
    for (int64_t k = first + (int64_t)threadIdx.x; k < end; k += XCACHE_THREADS) {
        unsigned at = (unsigned)(col[k] - base), bit = 1u << at % WORD;
        if (!(*(volatile unsigned *)(bits + at / WORD) & bit)) atomicOr(bits + at / WORD, bit);
    }
    __syncthreads();
}

/* A thread's share of the words: adjacent ones. */
typedef struct word_share {
    int begin, end;
} word_share;
static __device__ __forceinline__ word_share share_of(int words) {
    int each = (words + XCACHE_THREADS - 1) / XCACHE_THREADS, begin = (int)threadIdx.x * each;
    return {min(begin, words), min(begin + each, words)};
}

static __device__ unsigned count_marks(const unsigned *bits, word_share mine) {
    unsigned count = 0;
    for (int w = mine.begin; w < mine.end; w++) count += (unsigned)__popc(bits[w]);
    return count;
}

static __device__ __forceinline__ uint16_t place_in(const unsigned *bits, const uint16_t *before,
                                                    unsigned at) {
    unsigned lower = bits[at / WORD] & ((1u << at % WORD) - 1);
    return (uint16_t)(before[at / WORD] + __popc(lower));
}

/* ---- segments -------------------------------------------------------------------------------- */

/* A stable sort of n segments, longest first. Each warp counts the segments of its share by length,
 * then reads them again and writes their order. Every thread of the block calls. */
static __device__ void sort_by_length(const uint8_t *length, int n, uint16_t *counts,
                                      uint16_t *to) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int share = (n + XCACHE_THREADS - 1) / XCACHE_THREADS * WARP, begin = warp * share;
    int end = min(begin + share, n);
    for (int k = (int)threadIdx.x; k < DIGITS * XCACHE_WARPS; k += XCACHE_THREADS) counts[k] = 0;
    __syncthreads();
    for (int pass = 0; pass < 2; pass++) {
        for (int k = begin + lane; k - lane < end; k += WARP) {
            bool on = k < end;
            int digit = on ? XCACHE_LONGEST - length[k] : DIGITS;
            unsigned same = __match_any_sync(ALL_LANES, digit);
            int rank = __popc(same & ((1u << lane) - 1)), cell = digit * XCACHE_WARPS + warp;
            int at = on ? counts[cell] : 0; /* no other warp uses this cell */
            __syncwarp();
            if (on && pass) to[at + rank] = (uint16_t)k;
            if (on && rank == 0) counts[cell] = (uint16_t)(at + __popc(same));
            __syncwarp();
        }
        __syncthreads();
        if (pass) break;
        const int each = DIGITS * XCACHE_WARPS / XCACHE_THREADS;
        unsigned sum = 0, total;
        for (int k = 0; k < each; k++) sum += counts[threadIdx.x * each + k];
        sum = block_before(sum, &total);
        for (int k = 0; k < each; k++) {
            unsigned here = counts[threadIdx.x * each + k];
            counts[threadIdx.x * each + k] = (uint16_t)sum;
            sum += here;
        }
        __syncthreads();
    }
}
