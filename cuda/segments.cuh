/* segments.cuh: row sums over a list of nonzeros that is divided into equal parts, one per block
 * and thread, regardless of row boundaries. A scan inside a block and a second kernel across blocks
 * add the parts of a row; there are no atomics, so the order of every sum is fixed by the
 * division. */
#pragma once

#include "device.cuh"
#include <stdlib.h>

enum {
    ITEMS = 7,              /* per thread; odd, so that parts of a warp begin in different banks */
    MOST_CUT_THREADS = 512, /* per block; its part fits the 48 KiB that every GPU has */
    MOST_CUT_WARPS = MOST_CUT_THREADS / WARP,
    ADDING_THREADS = 256
};
#define PARAM_BLOCK_CUT \
    { SPMV_block, 256, 32, MOST_CUT_THREADS, WARP, false }

/* Exclusive segmented sum over the threads of a block. sum: the thread's sum behind the last row
 * end in its part, or over the whole part if no row ends in it. Returns the sum of earlier threads
 * for the row in which this thread's part begins; *open: the block's sum of the row in which its
 * part ends. Must be called by every thread of the block, and only once per block, because its
 * shared arrays are not guarded. */
static __device__ __forceinline__ real carry_in(real sum, bool has_end, real *open) {
    __shared__ real warp_sums[MOST_CUT_WARPS];
    __shared__ int warp_has_end[MOST_CUT_WARPS];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, nwarps = blockDim.x / WARP;
    int ended = has_end;
    /* inclusive scan: sum, ended over lanes 0 to this one */
    for (int step = 1; step < WARP; step *= 2) {
        real sum_before = __shfl_up_sync(ALL_LANES, sum, step);
        int ended_before = __shfl_up_sync(ALL_LANES, ended, step);
        if (lane >= step) {
            if (!ended) sum += sum_before;
            ended |= ended_before;
        }
    }
    real sum_before = __shfl_up_sync(ALL_LANES, sum, 1);
    int ended_before = __shfl_up_sync(ALL_LANES, ended, 1);
    if (lane == WARP - 1) warp_sums[warp] = sum, warp_has_end[warp] = ended;
    if (lane == 0) sum_before = 0, ended_before = 0;
    __syncthreads();
    real all = 0, warps_before = 0;
    for (int w = 0; w < nwarps; w++) {
        if (w == warp) warps_before = all;
        all = warp_has_end[w] ? warp_sums[w] : all + warp_sums[w];
    }
    *open = all;
    return ended_before ? sum_before : warps_before + sum_before;
}

/* Rows that several blocks multiply, in device memory. The last of these blocks writes row[r];
 * blocks begin[r] .. end[r] - 1 leave their sums in carry, which add_carries adds. */
typedef struct split_rows {
    idx count;
    idx *row, *begin, *end; /* [count] */
    real *carry;            /* [nblocks] */
} split_rows;

/* Returns the most bytes that split_rows_make allocates. */
static inline size_t split_rows_bytes(int64_t nblocks) {
    return (size_t)nblocks * (3 * sizeof(idx) + sizeof(real));
}

/* Lists the rows that several blocks multiply. open_row[b]: the row that block b begins or
 * continues and a later block ends, or -1. On failure call split_rows_free on *out. */
static inline spmv_status split_rows_make(spmv_plan *p, const idx *open_row, int64_t nblocks,
                                          split_rows *out) {
    spmv_device *d = p->device;
    idx *runs = (idx *)spmv_host_alloc(3 * (size_t)nblocks * sizeof *runs), n = 0;
    idx *row = runs, *begin = runs + nblocks, *end = runs + 2 * nblocks;
    if (!runs) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory for the rows that are cut");
    for (int64_t b = 0; b < nblocks; b++) {
        if (open_row[b] < 0) continue;
        if (b == 0 || open_row[b] != open_row[b - 1]) row[n] = open_row[b], begin[n++] = (idx)b;
        end[n - 1] = (idx)(b + 1);
    }
    out->count = n;
    size_t bytes = (size_t)n * sizeof *runs;
    spmv_status status =
        take_scratch(p, (size_t)nblocks * sizeof *out->carry, (void **)&out->carry);
    if (status == SPMV_OK) status = put_scratch(p, row, bytes, (void **)&out->row);
    if (status == SPMV_OK) status = put_scratch(p, begin, bytes, (void **)&out->begin);
    if (status == SPMV_OK) status = put_scratch(p, end, bytes, (void **)&out->end);
    spmv_host_free(runs);
    return status;
}

static inline void split_rows_free(spmv_device *d, split_rows *s) {
    d->backend->release(d, s->row);
    d->backend->release(d, s->begin);
    d->backend->release(d, s->end);
    d->backend->release(d, s->carry);
}

/* One warp per row: lane l adds carry[begin[r] + l], carry[begin[r] + l + 32], ... */
static __global__ void add_carries(split_rows s, result out) {
    int64_t r = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (r >= s.count) return; /* the whole warp returns */
    real sum = 0;
    for (int64_t b = s.begin[r] + threadIdx.x % WARP; b < s.end[r]; b += WARP) sum += s.carry[b];
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) add_to_row(out, s.row[r], sum);
}

/* Launches the kernel that adds the carries, after the kernel that wrote z and s->carry. */
static inline spmv_status split_rows_add(const spmv_plan *p, const split_rows *s,
                                         const spmv_operands *v) {
    if (s->count == 0) return SPMV_OK;
    add_carries<<<(unsigned)blocks_for(s->count, ADDING_THREADS / WARP), ADDING_THREADS, 0,
                  stream_of(v)>>>(*s, result_of(v));
    return launched(p);
}
