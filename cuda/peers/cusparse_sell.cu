/* cusparse_sell: cuSPARSE on a sliced ELL matrix in its own layout: a peer.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_SELL_ALG1.
 * Reads    slice_ptr[slices + 1], col_idx and values [slots], made of a csr matrix on the device
 *          during preparation; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library. The library requires the last slice to be as high as the others,
 *          and column -1 for padding; the conversion from CSR counts as preparation.
 * Cost     2 nnz flop; slots (sizeof real + 4) + (slices + 1) sizeof ofs + (cols + rows) sizeof
 *          real bytes if x is read once.
 * Weak     a long row pads its slice; rows are not sorted; 32-bit offsets only.
 * Repeats  bitwise: not guaranteed.
 * Params   slice: rows in a slice (32); cusparse: version of the library (toolkit).
 */
#include "cuda/sell/slices.cuh"
#include "cusparse.cuh"

/* The last slice is as high as the others. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t slice = c->value[SPMV_slice], slots = 0;
    for (int64_t first = 0; first < A->rows; first += slice) {
        int64_t end = first + slice < A->rows ? first + slice : A->rows, width = 0;
        for (int64_t i = first; i < end; i++)
            if (A->row_ptr[i + 1] - A->row_ptr[i] > width)
                width = A->row_ptr[i + 1] - A->row_ptr[i];
        slots += width * slice;
    }
    size_t fixed = (size_t)(A->rows / slice + 2) * (sizeof(ofs) + sizeof(int64_t));
    size_t slot = sizeof(idx) + sizeof(real); /* slots cannot overflow: both factors < 2^31 */
    return (size_t)slots > (SIZE_MAX - fixed) / slot ? SIZE_MAX : fixed + (size_t)slots * slot;
}

#ifdef HAVE_CUSPARSE
static spmv_status lay_out(spmv_plan *p, const csr *A, sell *B, peer *t) {
    int widest = 0;
    TRY(take_scratch(p, (size_t)(B->nslices + 1) * sizeof(ofs), (void **)&t->ptr));
    B->slice_ptr = t->ptr;
    TRY(place_slices(p->device, A, true, B, &widest));
    if (B->s.slots > INT32_MAX)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "cusparse_sell: %lld slots, padding included, need 64-bit offsets",
                         (long long)B->s.slots);
    TRY(check_padding(p, B->s.slots));
    TRY(take_scratch(p, (size_t)B->s.slots * sizeof(idx), (void **)&t->col_idx));
    TRY(take_scratch(p, (size_t)B->s.slots * sizeof(real), (void **)&t->values));
    B->col_idx = t->col_idx;
    B->values = t->values;
    p->traffic_bytes = p->scratch_bytes;
    return fill_slices<true, true>(p->device, A, true, B, widest);
}

static spmv_status describe_sell(spmv_plan *p, peer *t) {
    const csr *A = (const csr *)p->store;
    sell B = {A->s}; /* borrows all arrays */
    TRY(check_offsets(p));
    B.slice = p->choice.value[SPMV_slice];
    B.nslices = blocks_for(A->s.rows, B.slice);
    TRY(lay_out(p, A, &B, t));
    CUSPARSE(p, t->library, CreateConstSlicedEll, &t->matrix, A->s.rows, A->s.cols, A->s.nnz,
             B.s.slots, B.slice, t->ptr, t->col_idx, t->values, CUSPARSE_INDEX_32I,
             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, real_type);
    return SPMV_OK;
}
#endif

static const spmv_param params[] = {
    {SPMV_slice, 32, 1, 1024, 1, false}, PARAM_CUSPARSE(CUSPARSE_TOOLKIT), SPMV_NO_MORE_PARAMS};
CUSPARSE_PARAMS_KERNEL(cusparse_sell, "csr", "peer: cuSPARSE, sliced ELL with preprocess",
                       SPMV_PADS | SPMV_KEEPS_VALUES | SPMV_READS_ROWS, params, estimate,
                       describe_sell, preprocess<CUSPARSE_SPMV_SELL_ALG1>,
                       run_peer<CUSPARSE_SPMV_SELL_ALG1>);
