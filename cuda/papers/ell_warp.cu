/* ell_warp: row-major ELL with one warp per row.
 *
 * Source   Di Iorio, cudaSpMVWarpsPerRowELLNTrasposed, ell2.
 * Reads    ell: col_idx[rows x width], values[rows x width], row_len[rows] with rowlens; x[cols]; y
 *          if beta != 0.
 * Writes   y[rows], each element once, by lane 0 of the row's warp.
 * Work     blocks are 32 x R: lane = threadIdx.x, row = blockIdx.x R + threadIdx.y; lane l
 *          multiplies slots l, l + 32, ...
 * Cost     2 nnz flop; rows width (sizeof real + 4) + (cols + rows) sizeof real bytes; with rowlens
 *          nnz instead of rows width, and 4 rows more.
 * Weak     rows shorter than 32 idle lanes.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, 32 R (32x8); rowlens (1).
 */
#include "ell.cuh"

static __global__ void multiply(idx rows, int64_t width, const idx *__restrict__ row_len,
                                const idx *__restrict__ col_idx, const real *__restrict__ values,
                                const real *__restrict__ x, result out) {
    int lane = threadIdx.x;
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return; /* the whole warp, because it shares threadIdx.y */
    int64_t end = row * width + (row_len ? row_len[row] : width);
    real sum = 0;
    for (int64_t k = row * width + lane; k < end; k += WARP) sum += values[k] * x[col_idx[k]];
    sum = warp_sum(sum);
    if (lane == 0) put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const ell *A = (const ell *)p->store;
    int rows_per_block = (int)p->choice.value[SPMV_block] / WARP;
    const idx *row_len = p->choice.value[SPMV_rowlens] ? A->row_len : NULL;
    if (A->s.rows == 0) return SPMV_OK;
    multiply<<<(unsigned)blocks_for(A->s.rows, rows_per_block), dim3(WARP, rows_per_block), 0,
               stream_of(v)>>>((idx)A->s.rows, A->width, row_len, A->col_idx, A->values,
                               (const real *)v->x, result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_WARP, PARAM_ROWLENS, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(ell_warp) = {
    .name = "ell_warp",
    .alias = "ell2",
    .format = "ell",
    .summary = "ELL as stored (row-major), one warp per row",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PADS | SPMV_WARP_ROW,
    .prepare = ell_prepare,
    .run = run,
};
