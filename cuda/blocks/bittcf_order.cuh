/* bittcf_order.cuh: chooses the order of the rows of BitTCF: of several, the one whose sampled
 * windows have the fewest columns. */
#pragma once

#include "bittcf_merge.cuh"

/* Computes a row's hashes of columns (MinHash) by a group of lanes. */
static __global__ void hash_rows(csr A, uint64_t *key) {
    const int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / GROUP;
    if (row >= A.s.rows) return; /* the whole group returns */
    const int64_t begin = A.row_ptr[row],
                  end = min((int64_t)A.row_ptr[row + 1], begin + SPMV_ORDER_HASHED);
    uint32_t least[SPMV_ORDER_HASHES] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    for (int64_t k = begin + threadIdx.x % GROUP; k < end; k += GROUP)
        for (int i = 0; i < SPMV_ORDER_HASHES; i++)
            least[i] = min(least[i], spmv_hash_of_column(A.col_idx[k], i));
    for (int i = 0; i < SPMV_ORDER_HASHES; i++)
        for (int step = GROUP / 2; step > 0; step /= 2)
            least[i] = min(least[i], __shfl_xor_sync(lanes_of_group(), least[i], step));
    if (threadIdx.x % GROUP == 0) key[row] = spmv_hash_key(least);
}

static __global__ void key_rows(csr A, uint64_t *key) {
    const int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row >= A.s.rows) return;
    const int64_t begin = A.row_ptr[row];
    key[row] = spmv_ends_key(A.col_idx + begin, A.row_ptr[row + 1] - begin);
}

/* Computes a window's key: its first column; a window of fewer rows is last. */
static __global__ void key_windows(csr A, int64_t windows, const idx *order, uint64_t *key) {
    const int64_t w = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (w >= windows) return;
    idx first = NO_COLUMN;
    for (int64_t i = w * BITTCF_ROWS;
         i < (w + 1) * BITTCF_ROWS && (w + 1) * BITTCF_ROWS <= A.s.rows; i++) {
        const int64_t begin = A.row_ptr[order[i]];
        if (begin < A.row_ptr[order[i] + 1]) first = min(first, A.col_idx[begin]);
    }
    key[w] = (uint64_t)first;
}

static __global__ void order_windows(int64_t rows, const idx *from, const idx *window, idx *to) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < rows) to[i] = from[(int64_t)window[i / BITTCF_ROWS] * BITTCF_ROWS + i % BITTCF_ROWS];
}

/* Counts entries and columns of one sampled window per group of lanes. */
static __global__ void sample_windows(csr A, const idx *order, int64_t windows, int64_t stride,
                                      bittcf_sample *all) {
    const int64_t n = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / GROUP;
    const bool is_there = n * stride < windows;
    merge m = {0, 0, 0, 0, 1};
    if (is_there) m = merge_of(A, order, windows, NULL, n * stride);
    const int64_t entries = total_of_group(m.end - m.next);
    if (entries > BITTCF_LONG_SAMPLE) m.end = m.next;
    int64_t columns = 0;
    for (;; columns++) {
        const idx col = m.next < m.end ? A.col_idx[m.next] : NO_COLUMN, least = least_of_group(col);
        if (!__any_sync(ALL_LANES, least != NO_COLUMN)) break;
        if (least == NO_COLUMN) columns--; /* other groups of the warp may have columns left */
        m.next += col == least;
    }
    if (!is_there || threadIdx.x % GROUP > 0 || entries > BITTCF_LONG_SAMPLE) return;
    atomicAdd((unsigned long long *)&all->entries, (unsigned long long)entries);
    atomicAdd((unsigned long long *)&all->columns, (unsigned long long)columns);
}

typedef struct grouping { /* memory for the candidate orders of rows */
    uint64_t *key;
    idx *order[BITTCF_ORDERS], *hashed, *window;
    bittcf_sample *sample;
} grouping;

static spmv_status sort_rows(spmv_device *d, const csr *A, int64_t windows, const grouping *g) {
    const int64_t rows = A->s.rows;
    cudaStream_t stream = stream_of(d);
    key_rows<<<blocks_of(rows), THREADS, 0, stream>>>(*A, g->key);
    TRY(launched(d));
    TRY(order_by_key(d, rows, g->key, 64, g->order[SPMV_ROWS_ENDS]));
    hash_rows<<<blocks_of(rows * GROUP), THREADS, 0, stream>>>(*A, g->key);
    TRY(launched(d));
    TRY(order_by_key(d, rows, g->key, 64, g->hashed));
    key_windows<<<blocks_of(windows), THREADS, 0, stream>>>(*A, windows, g->hashed, g->key);
    TRY(launched(d));
    TRY(order_by_key(d, windows, g->key, 32, g->window));
    order_windows<<<blocks_of(rows), THREADS, 0, stream>>>(rows, g->hashed, g->window,
                                                           g->order[SPMV_ROWS_HASH]);
    return launched(d);
}

static spmv_status find_best(spmv_device *d, const csr *A, int64_t windows, grouping *g,
                             int *best) {
    const int64_t stride = bittcf_stride(windows), rows = A->s.rows;
    bittcf_sample of[BITTCF_ORDERS];
    const size_t bytes = (size_t)rows * sizeof(idx);
    TRY(d->backend->alloc(d, (size_t)rows * sizeof *g->key, (void **)&g->key));
    TRY(d->backend->alloc(d, bytes, (void **)&g->order[SPMV_ROWS_ENDS]));
    TRY(d->backend->alloc(d, bytes, (void **)&g->order[SPMV_ROWS_HASH]));
    TRY(d->backend->alloc(d, bytes, (void **)&g->hashed));
    TRY(d->backend->alloc(d, (size_t)windows * sizeof *g->window, (void **)&g->window));
    TRY(d->backend->alloc(d, sizeof of, (void **)&g->sample));
    TRY(sort_rows(d, A, windows, g));
    CU(d->ctx, cudaMemsetAsync(g->sample, 0, sizeof of, stream_of(d)));
    for (int k = 0; k < BITTCF_ORDERS; k++)
        sample_windows<<<blocks_of(blocks_for(windows, stride) * GROUP), THREADS, 0,
                         stream_of(d)>>>(*A, g->order[k], windows, stride, g->sample + k);
    TRY(launched(d));
    TRY(d->backend->get(d, of, g->sample, sizeof of));
    *best = bittcf_best(of);
    return SPMV_OK;
}

/* Chooses the order of the rows, and stores it as an array unless it is the original order. */
static spmv_status order_rows(spmv_device *d, const csr *A, bittcf *head, bittcf *copy) {
    grouping g = {};
    int best = SPMV_ROWS_KEEP;
    spmv_status status = copy->windows > 0 ? find_best(d, A, copy->windows, &g, &best) : SPMV_OK;
    if (status == SPMV_OK && g.order[best]) status = BUILD_ARRAY(d, head, copy, s.order, A->s.rows);
    if (status == SPMV_OK && g.order[best] &&
        cudaMemcpyAsync(copy->s.order, g.order[best], (size_t)A->s.rows * sizeof(idx),
                        cudaMemcpyDeviceToDevice, stream_of(d)) != cudaSuccess)
        status = launched(d);
    if (status == SPMV_OK) status = d->backend->sync(d);
    idx *const order[] = {g.order[SPMV_ROWS_ENDS], g.order[SPMV_ROWS_HASH], g.hashed, g.window};
    for (idx *memory : order) d->backend->release(d, memory);
    d->backend->release(d, g.key);
    d->backend->release(d, g.sample);
    return status;
}
