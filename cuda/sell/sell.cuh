/* sell.cuh: functions shared by the SELL kernels. */
#pragma once

#include "cuda/device.cuh"
#include "formats/sell/sell.h"

/* Sets the traffic: with rowlens padding is not read and does not count (padding that shares a
 * cache line with entries is neglected). */
static inline spmv_status sell_prepare(spmv_plan *p) {
    const sell *A = (const sell *)p->store;
    bool rowlens = p->choice.value[SPMV_rowlens] != 0;
    size_t lists = (size_t)rowlens + (A->perm != NULL || A->s.order != NULL);
    p->traffic_bytes = (size_t)(rowlens ? A->s.nnz : A->s.slots) * (sizeof(real) + sizeof(idx)) +
                       (size_t)(A->nslices + 1) * sizeof(ofs) +
                       lists * (size_t)A->s.rows * sizeof(idx);
    return SPMV_OK;
}

typedef struct sell_row { /* position of the slots of a stored row */
    int64_t first;
    unsigned height, count; /* slots from one entry of the row to the next; number of slots */
} sell_row;

/* Returns the position of stored row i < rows. Without row_len the row has as many slots as its
 * slice is wide. Lanes of a warp with rows of one slice read the same slice_ptr, in one
 * transaction. The division is 32-bit, because row indices are. */
static __device__ __forceinline__ sell_row sell_row_of(unsigned i, unsigned rows, unsigned slice,
                                                       const ofs *__restrict__ slice_ptr,
                                                       const idx *__restrict__ row_len) {
    unsigned s = i / slice, r = i - s * slice;
    unsigned height = min(slice, rows - s * slice);
    ofs begin = slice_ptr[s];
    unsigned count =
        row_len ? (unsigned)row_len[i] : (unsigned)((slice_ptr[s + 1] - begin) / (ofs)height);
    return {(int64_t)begin + r, height, count};
}

/* Returns the same if all slices have `steps` slots per row: no load is needed. */
static __device__ __forceinline__ sell_row sell_equal_row(unsigned i, unsigned rows, unsigned slice,
                                                          unsigned steps,
                                                          const idx *__restrict__ row_len) {
    unsigned s = i / slice, r = i - s * slice;
    unsigned height = min(slice, rows - s * slice);
    return {(int64_t)s * slice * steps + r, height, row_len ? (unsigned)row_len[i] : steps};
}
