/* coo.cuh: equal parts of entries sorted by row, for COO and the tail of HYB. */
#pragma once

#include "cuda/segments.cuh"

typedef struct parts {
    int64_t n, nblocks; /* entries; blocks that divide them */
    split_rows split;
} parts;

static inline size_t parts_bytes(int64_t n, const spmv_choice *c) {
    return sizeof(parts) + split_rows_bytes(blocks_for(n, c->value[SPMV_block] * ITEMS));
}

/* open_row[b]: the row that continues from block b into the next one, or -1. */
static __global__ void list_open_rows(int64_t nblocks, int64_t part, int64_t n,
                                      const idx *__restrict__ row, idx *open_row) {
    const int64_t b = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, end = (b + 1) * part;
    if (b < nblocks) open_row[b] = end < n && row[end - 1] == row[end] ? row[end] : -1;
}

/* Copies the open rows to the host. there: [nblocks] scratch memory on the device. */
static inline spmv_status open_rows(const spmv_plan *p, const parts *t, int64_t part,
                                    const idx *row, idx *there, idx *open_row) {
    list_open_rows<<<(unsigned)blocks_for(t->nblocks, ADDING_THREADS), ADDING_THREADS, 0,
                     stream_of(p)>>>(t->nblocks, part, t->n, row, there);
    TRY(launched(p));
    return p->device->backend->get(p->device, open_row, there,
                                   (size_t)t->nblocks * sizeof *open_row);
}

/* Makes the plan's scratch for n entries with these rows, in device memory. */
static inline spmv_status parts_make(spmv_plan *p, int64_t n, const idx *row) {
    spmv_device *d = p->device;
    int64_t part = p->choice.value[SPMV_block] * ITEMS;
    parts *t = (parts *)calloc(1, sizeof *t);
    p->scratch = t;
    if (!t) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    t->n = n;
    t->nblocks = blocks_for(n, part);
    p->scratch_bytes = sizeof *t;
    if (t->nblocks == 0) return SPMV_OK;
    const size_t bytes = (size_t)t->nblocks * sizeof(idx);
    idx *there = NULL, *open_row = (idx *)spmv_host_alloc(bytes);
    if (!open_row) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory for the parts");
    spmv_status status = d->backend->alloc(d, bytes, (void **)&there);
    if (status == SPMV_OK) status = open_rows(p, t, part, row, there, open_row);
    if (status == SPMV_OK) status = split_rows_make(p, open_row, t->nblocks, &t->split);
    d->backend->release(d, there);
    spmv_host_free(open_row);
    return status;
}

static inline void parts_release(spmv_plan *p) {
    split_rows_free(p->device, &((parts *)p->scratch)->split);
    free(p->scratch);
}

/* Each block adds its part of the entries to y. Shared memory has the block's products, its rows,
 * and the row of the next entry. A row is added to y by the thread with its last entry. All threads
 * must reach all barriers. */
static __global__ void add_segments(int64_t n, const idx *__restrict__ row_idx,
                                    const idx *__restrict__ col_idx,
                                    const real *__restrict__ values, const real *__restrict__ x,
                                    real *carry, result out) {
    extern __shared__ real shared[];
    int part = blockDim.x * ITEMS;
    int64_t begin = (int64_t)blockIdx.x * part;
    int count = (int)(n - begin < part ? n - begin : part);
    real *products = shared;
    idx *rows = (idx *)(shared + part);
#pragma unroll
    for (int item = 0; item < ITEMS; item++) {
        int k = item * blockDim.x + threadIdx.x;
        if (k >= count) break;
        products[k] = values[begin + k] * x[col_idx[begin + k]];
        rows[k] = row_idx[begin + k];
    }
    if (threadIdx.x == 0) rows[count] = begin + count < n ? row_idx[begin + count] : -1;
    __syncthreads();
    int k = threadIdx.x * ITEMS, stop = k + ITEMS < count ? k + ITEMS : count;
    idx first = -1;
    real sum = 0, first_sum = 0, open;
    for (; k < stop; k++) {
        sum += products[k];
        if (rows[k] == rows[k + 1]) continue;
        if (first < 0)
            first = rows[k], first_sum = sum;
        else
            add_to_row(out, rows[k], sum);
        sum = 0;
    }
    real before = carry_in(sum, first >= 0, &open);
    if (first >= 0) add_to_row(out, first, before + first_sum);
    if (threadIdx.x == 0) carry[blockIdx.x] = open;
}

/* z += alpha A x for entries in device memory, by two kernels. */
static inline spmv_status parts_add(const spmv_plan *p, const idx *row, const idx *col,
                                    const real *values, const spmv_operands *v) {
    const parts *t = (const parts *)p->scratch;
    int block = (int)p->choice.value[SPMV_block];
    size_t shared_bytes = (size_t)block * ITEMS * (sizeof(real) + sizeof(idx)) + sizeof(idx);
    if (t->nblocks == 0) return SPMV_OK;
    add_segments<<<(unsigned)t->nblocks, block, shared_bytes, stream_of(v)>>>(
        t->n, row, col, values, (const real *)v->x, t->split.carry, result_of(v));
    TRY(launched(p));
    return split_rows_add(p, &t->split, v);
}
