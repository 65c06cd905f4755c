/* bittcf_merge.cuh: 8 lanes merge the rows of a window of BitTCF, a lane for each row. */
#pragma once

#include "cuda/build.cuh"
#include "formats/bittcf/bittcf.h"
#include "formats/csr/csr.h"

enum {
    THREADS = 256,
    GROUP = BITTCF_ROWS,  /* lanes: rows of a window */
    NO_COLUMN = INT32_MAX /* greater than all columns */
};

static unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

/* state of a group of lanes that merges a segment of a window */
typedef struct merge {
    int64_t next, end; /* next entry of the lane's row in the segment, and end of these entries */
    int64_t window, segment, segments;
} merge;

static __device__ __forceinline__ unsigned lanes_of_group() {
    return 0xffu << threadIdx.x % WARP / GROUP * GROUP;
}

template <class T> static __device__ __forceinline__ T total_of_group(T value) {
    for (int step = GROUP / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(lanes_of_group(), value, step);
    return value;
}

static __device__ __forceinline__ int least_of_group(int value) {
    for (int step = GROUP / 2; step > 0; step /= 2)
        value = min(value, __shfl_xor_sync(ALL_LANES, value, step));
    return value;
}

/* Returns the first of entries begin to end - 1 whose column is at least `least`. */
static __device__ int64_t first_from(const idx *col, int64_t begin, int64_t end, int64_t least) {
    while (begin < end) {
        const int64_t middle = (begin + end) / 2;
        if (col[middle] < least)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Returns the first entry of a lane's row in a segment. All rows are divided at the same column,
 * before which the rows have about segment / segments of the window's nonzeros, at most. */
static __device__ int64_t begin_of_segment(const csr &A, int64_t begin, int64_t end,
                                           int64_t segment, int64_t segments) {
    const int64_t target = total_of_group(end - begin) * segment / segments;
    int64_t low = 0, high = A.s.cols; /* range that contains the column */
    if (segment == 0) return begin;
    if (segment == segments) return end;
    const int64_t first = begin;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2, at = first_from(A.col_idx, begin, end, middle);
        if (total_of_group(at - first) > target) {
            high = middle - 1, end = at;
        } else {
            low = middle, begin = at;
        }
    }
    return begin;
}

/* Returns the last i < n with begin[i] <= k; begin[0] is 0. */
template <class T>
static __device__ __forceinline__ int64_t last_until(const T *begin, int64_t n, int64_t k) {
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (begin[middle] <= k)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Returns the merge state for a segment. order: order of the rows; NULL: not permuted.
 * first_segment: first segment of each window; NULL: one segment per window. */
static __device__ merge merge_of(const csr &A, const idx *order, int64_t windows,
                                 const int64_t *first_segment, int64_t segment) {
    merge m = {0, 0, segment, 0, 1};
    if (first_segment) {
        m.window = last_until(first_segment, windows, segment);
        m.segment = segment - first_segment[m.window];
        m.segments = first_segment[m.window + 1] - first_segment[m.window];
    }
    const int64_t i = m.window * BITTCF_ROWS + threadIdx.x % GROUP;
    const int64_t row = order && i < A.s.rows ? order[i] : i;
    const int64_t begin = row < A.s.rows ? A.row_ptr[row] : 0;
    const int64_t end = row < A.s.rows ? A.row_ptr[row + 1] : 0;
    m.next = begin_of_segment(A, begin, end, m.segment, m.segments);
    m.end = begin_of_segment(A, begin, end, m.segment + 1, m.segments);
    return m;
}
