/* sell.cuh: what the SELL kernels of this folder share. */
#pragma once

#include "cuda/device.cuh"
#include "formats/sell/sell.h"

/* With rowlens the padding stays in memory and is not counted, but for what shares its lines. */
static inline spmv_status sell_prepare(spmv_plan *p) {
    const sell *A = (const sell *)p->store;
    bool rowlens = p->choice.value[SPMV_rowlens] != 0;
    size_t lists = (size_t)rowlens + (A->perm != NULL);
    p->traffic_bytes = (size_t)(rowlens ? A->s.nnz : A->s.slots) * (sizeof(real) + sizeof(idx)) +
                       (size_t)(A->nslices + 1) * sizeof(ofs) +
                       lists * (size_t)A->s.rows * sizeof(idx);
    return SPMV_OK;
}

typedef struct sell_row { /* where a stored row's slots are */
    int64_t first;
    unsigned height, count; /* slots from one entry of the row to the next; how many */
} sell_row;

/* Describes stored row i, which is less than rows. Without row_len it ends with its slice. All
 * lanes of a warp within one slice ask for the same slice_ptr, which is one read per warp. Rows are
 * 32-bit, so is the division. */
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

/* The same where all slices have so many steps: nothing is waited for. */
static __device__ __forceinline__ sell_row sell_equal_row(unsigned i, unsigned rows, unsigned slice,
                                                          unsigned steps,
                                                          const idx *__restrict__ row_len) {
    unsigned s = i / slice, r = i - s * slice;
    unsigned height = min(slice, rows - s * slice);
    return {(int64_t)s * slice * steps + r, height, row_len ? (unsigned)row_len[i] : steps};
}
