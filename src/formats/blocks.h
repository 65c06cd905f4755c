/* blocks.h: functions shared by formats of sparse blocks. */
#ifndef SPMV_BLOCKS_H
#define SPMV_BLOCKS_H

#include "spmv_format.h"
#include "spmv_helpers.h"

static inline int64_t parts_of(int64_t n, int64_t tile) {
    return (n + tile - 1) / tile;
}

/* Refuses a grid of more blocks than nonzeros + rows + columns, because empty blocks cost
 * pointers. */
static inline spmv_status blocks_are_few(spmv_ctx *ctx, const spmv_csr_view *A, const char *edges,
                                         int64_t tile, int64_t nblocks) {
    const int64_t most = A->nnz + A->rows + A->cols;
    if (nblocks <= most) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                     "blocks of %lld %s would be %lld, over the %lld of nonzeros + rows + "
                     "columns: choose a larger tile",
                     (long long)tile, edges, (long long)nblocks, (long long)most);
}
#endif
