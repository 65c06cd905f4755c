/* transpose_csr.cuh: transposes compressed rows in GPU memory: a stable sort by column gives the
 * permutation of the entries. Deterministic. */
#pragma once

#include "adopt_csr.cuh"

/* Writes the index of each row at its first entry; other elements are zero. */
static __global__ void mark_rows(csr A, idx *row) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < A.s.rows && A.row_ptr[i] < A.row_ptr[i + 1]) row[A.row_ptr[i]] = (idx)i;
}

/* Finds the start of each column in the sorted column indices. */
static __global__ void find_ends(int64_t cols, int64_t nnz, const idx *sorted, ofs *ptr) {
    const int64_t c = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t low = 0, high = nnz;
    if (c > cols) return;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (sorted[middle] < c)
            low = middle + 1;
        else
            high = middle;
    }
    ptr[c] = (ofs)low;
}

/* out[k] = from[order[k]] */
template <class T>
static __global__ void gather(int64_t n, const T *__restrict__ from,
                              const uint32_t *__restrict__ order, T *out) {
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (k < n) out[k] = from[order[k]];
}

static int bits_of_columns(int64_t cols) {
    int bits = 1;
    while ((int64_t)1 << bits < cols) bits++;
    return bits;
}

typedef struct transpose_scratch { /* temporary arrays in GPU memory, [nnz] each */
    idx *sorted, *row;
    uint32_t *order;
} transpose_scratch;

static spmv_status transpose_rows(spmv_device *d, const csr *A, const transpose_scratch *t,
                                  csr *out) {
    const int64_t rows = A->s.rows, cols = A->s.cols, nnz = A->s.nnz;
    cudaStream_t stream = stream_of(d);
    TRY(order_columns(d, nnz, A->col_idx, bits_of_columns(cols), t->sorted, t->order));
    CU(d->ctx, cudaMemsetAsync(t->row, 0, (size_t)nnz * sizeof *t->row, stream));
    mark_rows<<<blocks_of(rows), THREADS, 0, stream>>>(*A, t->row);
    TRY(launched(d));
    TRY(greatest_until(d, nnz, t->row));
    find_ends<<<blocks_of(cols + 1), THREADS, 0, stream>>>(cols, nnz, t->sorted, out->row_ptr);
    TRY(launched(d));
    gather<idx><<<blocks_of(nnz), THREADS, 0, stream>>>(nnz, t->row, t->order, out->col_idx);
    TRY(launched(d));
    gather<real><<<blocks_of(nnz), THREADS, 0, stream>>>(nnz, A->values, t->order, out->values);
    return launched(d);
}

static spmv_status compute_stats(spmv_device *d, const csr *A, spmv_stats *stats) {
    findings *seen = (findings *)((cuda_state *)d->state)->answer;
    spmv_arrays a = {};
    if (!seen) return spmv_fail(d->ctx, SPMV_E_NOMEM, "no pinned host memory");
    a.rows = A->s.rows, a.cols = A->s.cols, a.nnz = A->s.nnz;
    a.ptr = A->row_ptr, a.idx = A->col_idx, a.values = A->values;
    a.ptr_bits = 8 * sizeof(ofs);
    TRY(launch_check(d, &a, seen));
    TRY(d->backend->sync(d));
    const findings all = sum_of(seen, check_blocks(&a));
    count_rows(&a, &all, stats);
    return SPMV_OK;
}

static spmv_status transpose(spmv_device *d, const spmv_store *rows, spmv_stats *stats,
                             spmv_store **head_out, spmv_store **copy_out) {
    const csr *A = (const csr *)rows;
    const spmv_csr_view sizes = {sizeof(spmv_csr_view), rows->cols, rows->rows, rows->nnz};
    const size_t n = (size_t)rows->nnz;
    transpose_scratch t = {NULL};
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), &sizes, head_out));
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), &sizes, copy_out));
    csr *head = (csr *)*head_out, *copy = (csr *)*copy_out;
    head->s.slots = copy->s.slots = sizes.nnz;
    TRY(BUILD_ARRAY(d, head, copy, row_ptr, sizes.rows + 1));
    TRY(BUILD_ARRAY(d, head, copy, col_idx, sizes.nnz));
    TRY(BUILD_ARRAY(d, head, copy, values, sizes.nnz));
    spmv_status status = d->backend->alloc(d, n * sizeof *t.sorted, (void **)&t.sorted);
    if (status == SPMV_OK) status = d->backend->alloc(d, n * sizeof *t.row, (void **)&t.row);
    if (status == SPMV_OK) status = d->backend->alloc(d, n * sizeof *t.order, (void **)&t.order);
    if (status == SPMV_OK) status = transpose_rows(d, A, &t, copy);
    d->backend->release(d, t.sorted);
    d->backend->release(d, t.row);
    d->backend->release(d, t.order);
    return status == SPMV_OK ? compute_stats(d, copy, stats) : status;
}

static spmv_status order_turned(spmv_device *d, const spmv_store *rows, uint32_t *order) {
    idx *sorted = NULL;
    TRY(d->backend->alloc(d, (size_t)rows->nnz * sizeof *sorted, (void **)&sorted));
    const spmv_status status = order_columns(d, rows->nnz, ((const csr *)rows)->col_idx,
                                             bits_of_columns(rows->cols), sorted, order);
    d->backend->release(d, sorted);
    return status;
}

static spmv_status arrange(spmv_device *d, int64_t n, const void *values, const uint32_t *order,
                           void *out) {
    gather<real>
        <<<blocks_of(n), THREADS, 0, stream_of(d)>>>(n, (const real *)values, order, (real *)out);
    return launched(d);
}
