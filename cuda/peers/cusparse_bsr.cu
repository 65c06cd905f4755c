/* cusparse_bsr: cuSPARSE on this project's BSR matrix: a peer to compare with.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_BSR_ALG1, blocks row-major.
 * Reads    bsr: block_ptr[block_rows + 1], values[blocks x shape]; block_col[blocks], which
 *          cuSPARSE counts in blocks; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; blocks (shape sizeof real + 4) + (block_rows + 1) sizeof ofs + (cols + rows)
 *          sizeof real bytes if x is read once.
 * Weak     square blocks from 2 x 2 on, 32-bit offsets; rows and columns must be multiples of the
 *          block, or it would read past x and write past y.
 * Repeats  bitwise: not relied upon.
 * Params   none of its own; shape_rows, shape_cols (2, 2) of the format.
 */
#include "cusparse.cuh"
#include "formats/bsr/bsr.h"

#ifdef HAVE_CUSPARSE
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c; /* there are no more blocks than entries */
    return sizeof(peer) + (size_t)A->nnz * sizeof(idx);
}

static spmv_status put_columns(spmv_plan *p, const bsr *A, peer *t) {
    size_t bytes = (size_t)A->nblocks * sizeof(idx);
    idx *block_col = (idx *)spmv_host_alloc(bytes);
    if (!block_col)
        return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of host memory for block columns");
    for (int64_t k = 0; k < A->nblocks; k++) block_col[k] = A->first_col[k] / (idx)A->shape_cols;
    spmv_status status = put_scratch(p, block_col, bytes, (void **)&t->col_idx);
    spmv_host_free(block_col);
    return status;
}

static spmv_status describe_bsr(spmv_plan *p, peer *t) {
    const bsr *host = (const bsr *)p->host, *A = (const bsr *)p->store;
    TRY(check_offsets(p));
    if (A->shape_rows != A->shape_cols || A->shape_rows == 1)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "cusparse_bsr: cuSPARSE multiplies square blocks from 2 x 2 on, not "
                         "--shape=%lldx%lld",
                         (long long)A->shape_rows, (long long)A->shape_cols);
    if (A->s.rows % A->shape_rows || A->s.cols % A->shape_cols)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "cusparse_bsr: %lld x %lld is no multiple of --shape=%lldx%lld, and "
                         "cuSPARSE knows whole blocks only",
                         (long long)A->s.rows, (long long)A->s.cols, (long long)A->shape_rows,
                         (long long)A->shape_cols);
    TRY(put_columns(p, host, t));
    CUSPARSE(p, cusparseCreateConstBsr(
                    &t->matrix, A->block_rows, A->s.cols / A->shape_cols, A->nblocks, A->shape_rows,
                    A->shape_cols, A->block_ptr, t->col_idx, A->values, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, real_type, CUSPARSE_ORDER_ROW));
    return SPMV_OK;
}
#endif

CUSPARSE_KERNEL(cusparse_bsr, "bsr", "peer: cuSPARSE, BSR with preprocess", SPMV_PADS, estimate,
                describe_bsr, CUSPARSE_SPMV_BSR_ALG1);
