/* cusparse_coo.cuh: coordinates for cuSPARSE: columns and values of the CSR, and row indices,
 * computed on the device. */
#pragma once

#include "cusparse.cuh"

static size_t estimate_coo(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return (size_t)A->nnz * sizeof(idx);
}

#ifdef HAVE_CUSPARSE
/* Returns the row of entry k, which is in first, ..., end - 1. */
template <typename OFFSET>
static __device__ int64_t row_of(const OFFSET *__restrict__ row_ptr, int64_t first, int64_t end,
                                 int64_t k) {
    while (end - first > 1) {
        int64_t middle = first + (end - first) / 2;
        if (row_ptr[middle] <= k)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* Each block finds the rows of its first and last entry, between which the other rows are. */
template <typename OFFSET>
static __global__ void find_rows(int64_t rows, int64_t nnz, int64_t entries,
                                 const OFFSET *__restrict__ row_ptr, idx *row_idx) {
    __shared__ int64_t bound[2];
    int64_t first = (int64_t)blockIdx.x * entries, end = min(first + entries, nnz);
    if (threadIdx.x < 2)
        bound[threadIdx.x] = row_of(row_ptr, 0, rows, threadIdx.x ? end - 1 : first);
    __syncthreads();
    for (int64_t k = first + threadIdx.x; k < end; k += blockDim.x)
        row_idx[k] = (idx)row_of(row_ptr, bound[0], bound[1] + 1, k);
}

template <typename OFFSET> static spmv_status put_rows(spmv_plan *p, const csr *A, idx *row_idx) {
    enum { ROW_THREADS = 256, ENTRIES = 1024 }; /* per block */
    find_rows<<<(unsigned)blocks_for(A->s.nnz, ENTRIES), ROW_THREADS, 0, stream_of(p)>>>(
        A->s.rows, A->s.nnz, ENTRIES, (const OFFSET *)A->row_ptr, row_idx);
    return launched(p);
}

/* Coordinates have no offsets, and the API's number of entries is 64-bit. */
static spmv_status describe_coo(spmv_plan *p, peer *t) {
    const csr *A = (const csr *)p->store;
    TRY(take_scratch(p, (size_t)A->s.nnz * sizeof(idx), (void **)&t->row_idx));
    TRY(has_wide_offsets(p) ? put_rows<int64_t>(p, A, t->row_idx)
                            : put_rows<int32_t>(p, A, t->row_idx));
    p->traffic_bytes = (size_t)A->s.nnz * (2 * sizeof(idx) + sizeof(real));
    CUSPARSE(p, t->library, CreateConstCoo, &t->matrix, A->s.rows, A->s.cols, A->s.nnz, t->row_idx,
             A->col_idx, A->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, real_type);
    return SPMV_OK;
}
#endif
