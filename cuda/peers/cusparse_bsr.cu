/* cusparse_bsr: cuSPARSE on dense blocks: a peer.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_BSR_ALG1, blocks row-major.
 * Reads    block_ptr[block_rows + 1], block_col[blocks], values[blocks x shape], made by the
 *          library (csr2bsr) of a csr matrix on the device during preparation; x[cols]; y[rows]
 *          only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; blocks (shape sizeof real + 4) + (block_rows + 1) sizeof ofs + (cols + rows)
 *          sizeof real bytes if x is read once.
 * Weak     square blocks of at least 2 x 2, 32-bit offsets; rows and columns must be multiples of
 *          the block, because the library would otherwise access x and y out of bounds.
 * Repeats  bitwise: not guaranteed.
 * Params   shape_rows, shape_cols: of a block (2, 2); cusparse: version of the library (toolkit).
 */
#include "cusparse.cuh"

/* The same blocks as in the format bsr. */
SPMV_LINKAGE const spmv_format V(bsr_format);
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return V(bsr_format).estimate(A, c);
}

#ifdef HAVE_CUSPARSE
static spmv_status check_shape(const spmv_plan *p, int64_t rows, int64_t cols) {
    int64_t n = p->choice.value[SPMV_shape_rows], other = p->choice.value[SPMV_shape_cols];
    if (n != other || n == 1)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "cusparse_bsr: cuSPARSE multiplies square blocks from 2 x 2 on, not "
                         "%lld x %lld",
                         (long long)n, (long long)other);
    if (rows % n || cols % n)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "cusparse_bsr: %lld x %lld is no multiple of blocks of %lld x %lld, and "
                         "cuSPARSE knows whole blocks only",
                         (long long)rows, (long long)cols, (long long)n, (long long)other);
    return check_offsets(p);
}

static spmv_status copy_blocks(spmv_plan *p, const csr *A, int shape, cusparseMatDescr_t general,
                               peer *t) {
    int rows = (int)A->s.rows, cols = (int)A->s.cols;
    const int *row_ptr = (const int *)A->row_ptr;
    if (sizeof(real) == sizeof(double))
        CUSPARSE(p, t->library, Dcsr2bsr, t->handle, CUSPARSE_DIRECTION_ROW, rows, cols, general,
                 (const double *)A->values, row_ptr, A->col_idx, shape, general,
                 (double *)t->values, (int *)t->ptr, t->col_idx);
    else
        CUSPARSE(p, t->library, Scsr2bsr, t->handle, CUSPARSE_DIRECTION_ROW, rows, cols, general,
                 (const float *)A->values, row_ptr, A->col_idx, shape, general, (float *)t->values,
                 (int *)t->ptr, t->col_idx);
    return SPMV_OK;
}

static spmv_status make_blocks(spmv_plan *p, const csr *A, int shape, cusparseMatDescr_t general,
                               peer *t, int *nblocks) {
    size_t cells = (size_t)shape * (size_t)shape;
    TRY(take_scratch(p, (size_t)(A->s.rows / shape + 1) * sizeof(ofs), (void **)&t->ptr));
    CUSPARSE(p, t->library, Xcsr2bsrNnz, t->handle, CUSPARSE_DIRECTION_ROW, (int)A->s.rows,
             (int)A->s.cols, general, (const int *)A->row_ptr, A->col_idx, shape, general,
             (int *)t->ptr, nblocks);
    TRY(check_padding(p, (int64_t)*nblocks * (int64_t)cells));
    TRY(take_scratch(p, (size_t)*nblocks * sizeof(idx), (void **)&t->col_idx));
    TRY(take_scratch(p, (size_t)*nblocks * cells * sizeof(real), (void **)&t->values));
    p->traffic_bytes = p->scratch_bytes;
    return copy_blocks(p, A, shape, general, t);
}

static spmv_status describe_bsr(spmv_plan *p, peer *t) {
    const csr *A = (const csr *)p->store;
    int shape = (int)p->choice.value[SPMV_shape_rows], nblocks = 0;
    cusparseMatDescr_t general = NULL; /* the default: base 0 */
    TRY(check_shape(p, A->s.rows, A->s.cols));
    CUSPARSE(p, t->library, CreateMatDescr, &general);
    spmv_status status = make_blocks(p, A, shape, general, t, &nblocks);
    OF(t->library, DestroyMatDescr)(general);
    TRY(status);
    CUSPARSE(p, t->library, CreateConstBsr, &t->matrix, A->s.rows / shape, A->s.cols / shape,
             nblocks, shape, shape, t->ptr, t->col_idx, t->values, CUSPARSE_INDEX_32I,
             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, real_type, CUSPARSE_ORDER_ROW);
    return SPMV_OK;
}
#endif

enum { LARGEST = 8 };
static const spmv_param params[] = {{SPMV_shape_rows, 2, 1, LARGEST, 1, false},
                                    {SPMV_shape_cols, 2, 1, LARGEST, 1, false},
                                    PARAM_CUSPARSE(CUSPARSE_TOOLKIT),
                                    SPMV_NO_MORE_PARAMS};
CUSPARSE_PARAMS_KERNEL(cusparse_bsr, "csr", "peer: cuSPARSE, dense blocks with preprocess",
                       SPMV_PADS | SPMV_KEEPS_VALUES | SPMV_READS_ROWS, params, estimate,
                       describe_bsr, preprocess<CUSPARSE_SPMV_BSR_ALG1>,
                       run_peer<CUSPARSE_SPMV_BSR_ALG1>);
