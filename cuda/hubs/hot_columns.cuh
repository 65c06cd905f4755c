/* hot_columns.cuh: selects the hot columns of a matrix and marks the entries in them, for
 * build_hubs.cu. */
#pragma once

#include "hubs.cuh"
#include "cuda/values/value_set.cuh"

/* ---- which columns are hot ------------------------------------------------------------------- */

static __global__ void count_columns(int64_t nnz, const idx *__restrict__ col, unsigned *degree) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += stride)
        atomicAdd(degree + col[k], 1u);
}

/* Counts columns by degree. Each block first counts small degrees in shared memory, because most
 * degrees are small and global atomics would be serialized. */
static __global__ void count_degrees(int64_t cols, const unsigned *__restrict__ degree,
                                     unsigned *columns) {
    enum { SMALL = 1 << 10 };
    __shared__ unsigned mine[SMALL];
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (unsigned d = threadIdx.x; d < SMALL; d += blockDim.x) mine[d] = 0;
    __syncthreads();
    for (int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += stride) {
        unsigned d = min(degree[j], (unsigned)HUBS_DEGREE);
        /* a column used once is never hot */
        if (d > 1) atomicAdd(d < SMALL ? mine + d : columns + d, 1u);
    }
    __syncthreads();
    for (unsigned d = threadIdx.x; d < SMALL; d += blockDim.x)
        if (mine[d]) atomicAdd(columns + d, mine[d]);
}

/* one prefix sum counts both: hot columns in its upper half, ties in the lower half */
enum { ABOVE_SHIFT = 32 };

static __device__ __forceinline__ int64_t kind_of_column(const hubs_rule &rule, unsigned degree) {
    unsigned d = min(degree, (unsigned)HUBS_DEGREE);
    return d >= rule.least ? (int64_t)1 << ABOVE_SHIFT : d + 1 == rule.least;
}

static __global__ void flag_hubs(int64_t cols, hubs_rule rule, const int *__restrict__ degree,
                                 int64_t *before) {
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < cols) before[j] = kind_of_column(rule, (unsigned)degree[j]);
}

/* Lists the hot columns in ascending order, and replaces degrees by 1 + the index of a hot column,
 * or 0. */
static __global__ void take_hubs(int64_t cols, hubs_rule rule, const int64_t *__restrict__ before,
                                 int *degree, idx *hot) {
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= cols) return;
    int64_t kind = kind_of_column(rule, (unsigned)degree[j]), above = before[j] >> ABOVE_SHIFT;
    int64_t ties = before[j] & UINT32_MAX, place = above + min(ties, rule.ties);
    bool is_hot = kind > 1 || (kind == 1 && ties < rule.ties);
    if (is_hot) hot[place] = (idx)j;
    degree[j] = is_hot ? (int)place + 1 : 0;
}

/* ---- which entries are in them --------------------------------------------------------------- */

typedef struct marks { /* a bit per entry: 1 if its column is hot; and one more word */
    int64_t words;
    uint32_t *bits;
    int64_t *before; /* number of bits set in the words before */
} marks;

static __global__ void mark_entries(int64_t nnz, const idx *__restrict__ col,
                                    const int *__restrict__ place, marks m) {
    int lane = threadIdx.x % WARP;
    int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
    for (int64_t w = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP; w < m.words;
         w += warps) {
        int64_t k = w * WARP + lane;
        unsigned on = __ballot_sync(ALL_LANES, k < nnz && place[col[k]] != 0);
        if (lane) continue;
        m.bits[w] = on;
        m.before[w] = __popc(on);
    }
}

static __device__ __forceinline__ int64_t marks_before(const marks &m, int64_t k) {
    return m.before[k / WARP] + __popc(m.bits[k / WARP] & ((1u << k % WARP) - 1));
}

typedef struct row_entries {
    int64_t begin, marked, hot, rest; /* marked: hot entries before the row */
} row_entries;

static __device__ __forceinline__ row_entries entries_of(const rows &A, const marks &m, idx row) {
    int64_t begin = A.row_ptr[row], end = A.row_ptr[row + 1];
    int64_t marked = marks_before(m, begin), hot = marks_before(m, end) - marked;
    return {begin, marked, hot, end - begin - hot};
}
