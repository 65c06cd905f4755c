/* ell_thread: row-major ELL with one thread per row.
 *
 * Source   Di Iorio, ell1 (not transposed).
 * Reads    ell: col_idx[rows x width], values[rows x width], row_len[rows] with rowlens; x[cols]; y
 *          if beta != 0.
 * Writes   y[rows], each element once.
 * Work     thread i multiplies row i: width slots or, with rowlens, its nonzeros.
 * Cost     2 nnz flop; rows width (sizeof real + 4) + (cols + rows) sizeof real bytes; with rowlens
 *          nnz instead of rows width, and 4 rows more.
 * Weak     the reads of neighbouring threads are `width` apart: uncoalesced. Shows the benefit of
 *          transposing (ell_pitched).
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256); rowlens (1).
 */
#include "ell.cuh"

static __global__ void multiply(idx rows, int64_t width, const idx *__restrict__ row_len,
                                const idx *__restrict__ col_idx, const real *__restrict__ values,
                                const real *__restrict__ x, result out) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    int64_t len = row_len ? row_len[row] : width;
    real sum = 0;
    for (int64_t k = row * width; k < row * width + len; k++) sum += values[k] * x[col_idx[k]];
    put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const ell *A = (const ell *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    const idx *row_len = p->choice.value[SPMV_rowlens] ? A->row_len : NULL;
    if (A->s.rows == 0) return SPMV_OK;
    multiply<<<(unsigned)blocks_for(A->s.rows, block), block, 0, stream_of(v)>>>(
        (idx)A->s.rows, A->width, row_len, A->col_idx, A->values, (const real *)v->x, result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, PARAM_ROWLENS, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(ell_thread) = {
    .name = "ell_thread",
    .alias = "ell1",
    .format = "ell",
    .summary = "ELL as stored (row-major), one thread per row",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PADS,
    .prepare = ell_prepare,
    .run = run,
};
