/* coo.c: entries as a file holds them. */
#include "internal.h"

spmv_status spmv_coo_alloc(spmv_ctx *ctx, spmv_coo *coo, bool with_values) {
    size_t n = (size_t)coo->nnz;
    coo->row = spmv_host_alloc(n * sizeof *coo->row);
    coo->col = spmv_host_alloc(n * sizeof *coo->col);
    coo->values = with_values ? spmv_host_alloc(n * sizeof *coo->values) : NULL;
    if (coo->row && coo->col && (coo->values || !with_values)) return SPMV_OK;
    spmv_coo_free(coo);
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for %zu matrix entries (%.1f GB)", n,
                     1e-9 * (double)n * (with_values ? 16 : 8));
}

void spmv_coo_free(spmv_coo *coo) {
    spmv_host_free(coo->row);
    spmv_host_free(coo->col);
    spmv_host_free(coo->values);
    *coo = (spmv_coo){0};
}
