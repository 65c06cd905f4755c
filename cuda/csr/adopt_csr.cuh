/* adopt_csr.cuh: makes a store of compressed rows that a caller has in GPU memory: borrows the
 * caller's arrays if allowed and if they have the store's types, else copies them. Checks the
 * arrays and computes the statistics of row lengths. One kernel checks everything while copies are
 * made; the host waits once, and combines the results of the blocks of threads. */
#pragma once

#include "convert_csr.cuh"
#include <math.h>

enum {
    CHECK_THREADS = 1024,
    MOST_CHECK_BLOCKS = 512 /* blocks: two per multiprocessor of most GPUs */
};

typedef unsigned long long count64; /* operand type of the atomics */

typedef struct __align__(64) findings { /* counts of a thread, a block, or all; initially 0 */
    count64 wrong;    /* errors: decreasing offsets, indices out of range, values that are NaN */
    count64 descents; /* entries whose index does not exceed that of the entry before, */
    count64 allowed;  /* and how many of these begin a row */
    count64 longest, shortest; /* shortest: bitwise complement of the length */
    count64 empty, squares;    /* number of empty rows; sum of the squared lengths */
}
findings;
static_assert(MOST_CHECK_BLOCKS * sizeof(findings) <= ANSWER_BYTES, "an answer is too small");

typedef struct given { /* the caller's arrays, unchecked; members as in spmv_arrays */
    int64_t rows, cols, nnz;
    const void *ptr, *values;
    const int32_t *idx;
    int base;
} given;

/* Counts for row i. Reads no entries if an offset is out of range. */
template <class P>
static __device__ __forceinline__ void count_row(const given &a, int64_t i, findings *mine) {
    const P *ptr = (const P *)a.ptr;
    const int64_t begin = (int64_t)ptr[i] - a.base, end = (int64_t)ptr[i + 1] - a.base;
    if (begin < 0 || end < begin || end > a.nnz || (i == 0 && begin != 0) ||
        (i == a.rows - 1 && end != a.nnz)) {
        mine->wrong++;
        return;
    }
    const count64 length = (count64)(end - begin);
    mine->longest = max(mine->longest, length);
    mine->shortest = max(mine->shortest, ~length);
    mine->empty += length == 0;
    mine->squares += length * length;
    if (length && begin) mine->allowed += a.idx[begin] <= a.idx[begin - 1];
}

template <class V>
static __device__ __forceinline__ void count_entry(const given &a, int64_t k, bool values,
                                                   findings *mine) {
    const int64_t column = (int64_t)a.idx[k] - a.base;
    mine->wrong += column < 0 || column >= a.cols;
    if (k) mine->descents += a.idx[k] <= a.idx[k - 1];
    if (values) mine->wrong += !isfinite(((const V *)a.values)[k]);
}

static __device__ __forceinline__ count64 warp_sum(count64 n) {
    for (int step = WARP / 2; step > 0; step /= 2) n += __shfl_xor_sync(ALL_LANES, n, step);
    return n;
}

static __device__ __forceinline__ count64 warp_most(count64 n) {
    for (int step = WARP / 2; step > 0; step /= 2)
        n = max(n, (count64)__shfl_xor_sync(ALL_LANES, n, step));
    return n;
}

/* Adds a thread's counts to the block's counts in shared memory. */
static __device__ __forceinline__ void add_findings(const findings &from, findings *to) {
    atomicAdd(&to->wrong, from.wrong);
    atomicAdd(&to->descents, from.descents);
    atomicAdd(&to->allowed, from.allowed);
    atomicMax(&to->longest, from.longest);
    atomicMax(&to->shortest, from.shortest);
    atomicAdd(&to->empty, from.empty);
    atomicAdd(&to->squares, from.squares);
}

static __device__ __forceinline__ findings sum_in_warp(const findings &mine) {
    return {warp_sum(mine.wrong),    warp_sum(mine.descents),  warp_sum(mine.allowed),
            warp_most(mine.longest), warp_most(mine.shortest), warp_sum(mine.empty),
            warp_sum(mine.squares)};
}

/* Counts for all rows and entries. seen [blocks]: in host memory; eight threads write a block's
 * counts together. */
template <class P, class V>
static __global__ void __launch_bounds__(CHECK_THREADS)
    check_arrays(given a, bool values, findings *seen) {
    enum { WORDS = sizeof(findings) / sizeof(count64) };
    __shared__ findings block;
    const int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    findings mine = {};
    if (threadIdx.x == 0) block = {};
    __syncthreads();
    for (int64_t i = first; i < a.rows; i += step) count_row<P>(a, i, &mine);
#pragma unroll 4
    for (int64_t k = first; k < a.nnz; k += step) count_entry<V>(a, k, values, &mine);
    mine = sum_in_warp(mine);
    if (threadIdx.x % WARP == 0) add_findings(mine, &block);
    __syncthreads();
    if (threadIdx.x < WORDS)
        ((count64 *)&seen[blockIdx.x])[threadIdx.x] = ((const count64 *)&block)[threadIdx.x];
}

/* ---- on the host ----------------------------------------------------------------------------- */

static int64_t check_blocks(const spmv_arrays *a) {
    const int64_t blocks = blocks_for(a->rows > a->nnz ? a->rows : a->nnz, CHECK_THREADS);
    return blocks < MOST_CHECK_BLOCKS ? blocks : MOST_CHECK_BLOCKS;
}

static spmv_status launch_check(spmv_device *d, const spmv_arrays *a, findings *seen) {
    const given g = {a->rows, a->cols, a->nnz, a->ptr, a->values, a->idx, a->base};
    const bool values = a->flags & SPMV_VALIDATE && a->values;
    const unsigned blocks = (unsigned)check_blocks(a);
    CU(d->ctx, cudaSetDevice(d->number));
    if (a->ptr_bits == 32)
        check_arrays<int32_t, real><<<blocks, CHECK_THREADS, 0, stream_of(d)>>>(g, values, seen);
    else
        check_arrays<int64_t, real><<<blocks, CHECK_THREADS, 0, stream_of(d)>>>(g, values, seen);
    return launched(d);
}

static findings sum_of(const findings *seen, int64_t n) {
    findings all = {};
    for (const findings *one = seen; one < seen + n; one++) {
        all.wrong += one->wrong;
        all.descents += one->descents;
        all.allowed += one->allowed;
        all.longest = max(all.longest, one->longest);
        all.shortest = max(all.shortest, one->shortest);
        all.empty += one->empty;
        all.squares += one->squares;
    }
    return all;
}

/* Computes the statistics of rows. The variance is computed in integers, and rounded once. */
static void count_rows(const spmv_arrays *a, const findings *all, spmv_stats *out) {
    const double rows = (double)a->rows;
    const unsigned __int128 whole = (unsigned __int128)all->squares * (uint64_t)a->rows;
    const unsigned __int128 square = (unsigned __int128)(uint64_t)a->nnz * (uint64_t)a->nnz;
    out->row_min = (int64_t)~all->shortest;
    out->row_max = (int64_t)all->longest;
    out->empty_rows = (int64_t)all->empty;
    out->row_mean = (double)a->nnz / rows;
    out->row_std = whole > square ? sqrt((double)(whole - square)) / rows : 0;
}

/* Makes the store's arrays: borrows the caller's or copies them. */
static spmv_status place_given(spmv_device *d, const spmv_arrays *a, csr *head, csr *copy) {
    const bool borrows = a->flags & SPMV_BORROW, is_zero_based = a->base == 0;
    const int64_t n = a->rows + 1;
    if (borrows && is_zero_based && (size_t)a->ptr_bits == 8 * sizeof(ofs))
        BORROW_ARRAY(head, copy, row_ptr, a->ptr, n);
    else {
        TRY(BUILD_ARRAY(d, head, copy, row_ptr, n));
        TRY(convert_offsets(d, n, a->ptr, a->ptr_bits, a->base, copy->row_ptr));
    }
    if (borrows && is_zero_based)
        BORROW_ARRAY(head, copy, col_idx, a->idx, a->nnz);
    else {
        TRY(BUILD_ARRAY(d, head, copy, col_idx, a->nnz));
        TRY(convert_columns(d, a->nnz, a->idx, a->base, copy->col_idx));
    }
    if (borrows && a->values) {
        BORROW_ARRAY(head, copy, values, a->values, a->nnz);
        return SPMV_OK;
    }
    TRY(BUILD_ARRAY(d, head, copy, values, a->nnz));
    if (!a->values) return fill_ones(d, a->nnz, copy->values);
    CU(d->ctx, cudaMemcpyAsync(copy->values, a->values, (size_t)a->nnz * sizeof(real),
                               cudaMemcpyDeviceToDevice, stream_of(d)));
    return SPMV_OK;
}

static spmv_status adopt(spmv_device *d, const spmv_arrays *a, bool *is_right, spmv_stats *stats,
                         spmv_store **head, spmv_store **copy) {
    const spmv_csr_view sizes = {sizeof(spmv_csr_view), a->rows, a->cols, a->nnz};
    findings *seen = (findings *)((cuda_state *)d->state)->answer;
    *is_right = false;
    if (!seen) return spmv_fail(d->ctx, SPMV_E_NOMEM, "no pinned host memory");
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), &sizes, head));
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), &sizes, copy));
    (*head)->slots = (*copy)->slots = a->nnz;
    spmv_status status = launch_check(d, a, seen);
    if (status == SPMV_OK) status = place_given(d, a, (csr *)*head, (csr *)*copy);
    TRY(d->backend->sync(d)); /* also after a failure: the next matrix uses the same memory */
    TRY(status);
    const findings all = sum_of(seen, check_blocks(a));
    *is_right = all.wrong == 0 && all.descents == all.allowed;
    if (*is_right) count_rows(a, &all, stats);
    return SPMV_OK;
}
