/* csr_merge: each thread takes an equal part of the rows plus nonzeros of a CSR matrix, wherever
 * that cuts a row.
 *
 * Source   Merrill and Garland, SC'16, "Merge-based parallel sparse matrix-vector multiplication".
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; first_row[blocks + 1]; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows], each entry by the block where the row ends; carry[blocks]; then, in a second
 *          kernel, the rows that began in an earlier block once more.
 * Work     the ends of the rows and the nonzeros are merged into one list of rows + nnz items, 7
 *          per thread: where a block's part begins is found in prepare, where a thread's does in
 *          shared memory. Products get there a warp's width at a time; so do sums on their way out.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once, and for each block 4 + sizeof real of its own and at most
 *          2 sizeof real of y.
 * Weak     two searches and three barriers per block: regular matrices do better by the row.
 * Repeats  bitwise: yes, for an equal block.
 * Params   block: threads per block, a multiple of 32 up to 512 (256).
 */
#include "cuda/segments.cuh"
#include "formats/csr/csr.h"
#include "formats/row_ends.h"

typedef struct parts {
    idx *first_row; /* [nblocks + 1] the row a block's part begins in; device memory */
    int64_t nblocks;
    split_rows split;
} parts;

static int64_t nblocks_of(int64_t rows, int64_t nnz, const spmv_choice *c) {
    return blocks_for(rows + nnz, c->value[SPMV_block] * ITEMS);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t nblocks = nblocks_of(A->rows, A->nnz, c);
    return sizeof(parts) + (size_t)(nblocks + 1) * sizeof(idx) + split_rows_bytes(nblocks);
}

static void release(spmv_plan *p) {
    parts *t = (parts *)p->scratch;
    p->device->backend->release(p->device, t->first_row);
    split_rows_free(p->device, &t->split);
    free(t);
}

/* Block b holds a part of the row it ends in if entries of the row lie in front of its end, and in
 * its own part. */
static void find_parts(const spmv_plan *p, const spmv_csr_view *A, idx *first_row, idx *open_row) {
    int64_t items = A->rows + A->nnz, part = p->choice.value[SPMV_block] * ITEMS;
    int64_t nblocks = blocks_for(items, part);
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t b = 0; b <= nblocks; b++)
        first_row[b] = (idx)spmv_rows_ended(A, b < nblocks ? b * part : items);
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t b = 0; b < nblocks; b++) {
        idx row = first_row[b + 1];
        int64_t end = (b + 1 < nblocks ? (b + 1) * part : items) - row;
        bool has_entries = end > b * part - first_row[b];
        open_row[b] = row < A->rows && has_entries && A->row_ptr[row] < end ? row : -1;
    }
}

static spmv_status prepare(spmv_plan *p) {
    spmv_csr_view A;
    parts *t = (parts *)calloc(1, sizeof *t);
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    spmv_mat_rows(p->matrix, &A);
    t->nblocks = nblocks_of(A.rows, A.nnz, &p->choice);
    p->scratch_bytes = sizeof *t;
    idx *rows = (idx *)spmv_host_alloc((size_t)(2 * t->nblocks + 1) * sizeof *rows);
    if (!rows) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for the parts");
    idx *open_row = rows + t->nblocks + 1;
    find_parts(p, &A, rows, open_row);
    spmv_status status =
        put_scratch(p, rows, (size_t)(t->nblocks + 1) * sizeof *rows, (void **)&t->first_row);
    if (status == SPMV_OK) status = split_rows_make(p, open_row, t->nblocks, &t->split);
    spmv_host_free(rows);
    p->traffic_bytes += p->scratch_bytes + (size_t)t->split.count * 2 * sizeof(real);
    return status;
}

/* Shared memory: the block's products, then the sums of the rows that end in it, then where these
 * end; one cell an item for the first two together. Every thread gets to every barrier. */
static __global__ void multiply(int64_t items, const idx *__restrict__ first_row,
                                const ofs *__restrict__ row_ptr, const idx *__restrict__ col_idx,
                                const real *__restrict__ values, const real *__restrict__ x,
                                real alpha, real beta, real *carry, real *y) {
    extern __shared__ real shared[];
    int part = blockDim.x * ITEMS;
    int64_t begin = (int64_t)blockIdx.x * part;
    int count = (int)(items - begin < part ? items - begin : part);
    idx row0 = first_row[blockIdx.x];
    int nrows = first_row[blockIdx.x + 1] - row0, n = count - nrows;
    int64_t k0 = begin - row0;
    real *products = shared, *row_sums = shared + n;
    int *row_end = (int *)(shared + part);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        int k = item * blockDim.x + threadIdx.x;
        if (k < n) products[k] = values[k0 + k] * x[col_idx[k0 + k]];
    }
    for (int i = threadIdx.x; i < nrows; i += blockDim.x)
        row_end[i] = (int)(row_ptr[(int64_t)row0 + i + 1] - k0);
    __syncthreads();
    int at = threadIdx.x * ITEMS, stop = at + ITEMS < count ? at + ITEMS : count;
    if (at > count) at = count;
    int i = at > n ? at - n : 0, high = at < nrows ? at : nrows;
    while (i < high) {
        int middle = (i + high) / 2;
        if (row_end[middle] <= at - middle - 1)
            i = middle + 1;
        else
            high = middle;
    }
    int k = at - i, first = -1;
    real sum = 0, first_sum = 0, open;
    for (; at < stop; at++) {
        if (i == nrows || row_end[i] > k) {
            sum += products[k++];
            continue;
        }
        if (first < 0)
            first = i, first_sum = sum;
        else
            row_sums[i] = sum;
        sum = 0;
        i++;
    }
    real before = carry_in(sum, first >= 0, &open);
    if (first >= 0) row_sums[first] = before + first_sum;
    if (threadIdx.x == 0) carry[blockIdx.x] = open;
    __syncthreads();
    for (i = threadIdx.x; i < nrows; i += blockDim.x)
        put_row(y + row0 + i, alpha, row_sums[i], beta);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const csr *A = (const csr *)p->store;
    const parts *t = (const parts *)p->scratch;
    int block = (int)p->choice.value[SPMV_block];
    size_t shared_bytes = (size_t)block * ITEMS * (sizeof(real) + sizeof(int));
    if (t->nblocks == 0) return SPMV_OK;
    multiply<<<(unsigned)t->nblocks, block, shared_bytes, stream_of(p)>>>(
        A->s.rows + A->s.nnz, t->first_row, A->row_ptr, A->col_idx, A->values, (const real *)x,
        (real)alpha, (real)beta, t->split.carry, (real *)y);
    TRY(launched(p));
    return split_rows_add(p, &t->split, (real)alpha, (real *)y);
}

static const spmv_param params[] = {PARAM_BLOCK_CUT, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_merge) = {
    /* name, alias  */ "csr_merge",
    NULL,
    /* format       */ "csr",
    /* summary      */ "equal parts of rows plus entries, which no long row can stop",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
