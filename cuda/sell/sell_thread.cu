/* sell_thread: one thread multiplies one row of a SELL matrix.
 *
 * Source   the SELL(S) kernel for Pascal and Volta of "SELL on GPUs", in which a warp reads the
 *          start of its slice once; with rowlens it is SELL-R.
 * Reads    sell: slice_ptr[slices + 1], col_idx[slots], values[slots], row_len[rows] with rowlens,
 *          perm[rows] if sigma is not 1; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once; if sigma is not 1, scattered inside a window.
 * Work     Thread i multiplies stored row i. The slots of a row are `height of the slice` apart, so
 *          that the lanes of a warp read 32 adjacent slots.
 * Cost     2 nnz flop; slots (sizeof real + 4) + (slices + 1) sizeof ofs + (cols + rows) sizeof
 *          real bytes; with rowlens nnz for slots, and 4 rows; 4 rows more if sigma is not 1.
 * Weak     One slot at a time: on short rows the limit is latency, not bandwidth
 *          (sell_thread_ahead). Slices whose height is no multiple of 32 begin unaligned and share
 *          warps. One thread multiplies even a very long row.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256); rowlens (1).
 */
#include "sell.cuh"

static __global__ void multiply(unsigned rows, unsigned slice, const ofs *__restrict__ slice_ptr,
                                const idx *__restrict__ row_len, const idx *__restrict__ perm,
                                const idx *__restrict__ col_idx, const real *__restrict__ values,
                                const real *__restrict__ x, result out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x; /* does not overflow: rows + block < 2^32 */
    if (i >= rows) return;
    sell_row row = sell_row_of(i, rows, slice, slice_ptr, row_len);
    int64_t at = row.first;
    real sum = 0;
    for (unsigned k = 0; k < row.count; k++, at += row.height) sum += values[at] * x[col_idx[at]];
    put_row(out, perm ? perm[i] : i, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const sell *A = (const sell *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    const idx *row_len = p->choice.value[SPMV_rowlens] ? A->row_len : NULL;
    if (A->s.rows == 0) return SPMV_OK;
    multiply<<<(unsigned)blocks_for(A->s.rows, block), block, 0, stream_of(v)>>>(
        (unsigned)A->s.rows, (unsigned)A->slice, A->slice_ptr, row_len, A->perm, A->col_idx,
        A->values, (const real *)v->x, result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, PARAM_ROWLENS, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sell_thread) = {
    .name = "sell_thread",
    .format = "sell",
    .summary = "one thread per row of a slice",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_PADS,
    .prepare = sell_prepare,
    .run = run,
};
