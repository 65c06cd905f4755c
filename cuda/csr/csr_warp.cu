/* csr_warp: one warp multiplies one row of a CSR matrix.
 *
 * Source   Di Iorio, csr1; Bell and Garland, SC'09, "CSR (vector)".
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by lane 0 of the row's warp.
 * Work     Blocks are 32 x R: lane = threadIdx.x, row = blockIdx.x R + threadIdx.y (the published
 *          kernel used blockIdx.y and computed only the first R rows). Lane l multiplies nonzeros
 *          row_ptr[i] + l, + 32, ...; 5 shuffles add the lanes' sums. A small matrix is prefetched
 *          at the start, and the first nonzeros are read before the previous product has ended
 *          (ahead.cuh).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     rows shorter than 32 leave lanes idle; one very long row serialises its warp.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, 32 R (32x8).
 */
#include "cuda/ahead.cuh"
#include "formats/csr/csr.h"

static __global__ void multiply(const __grid_constant__ ahead all, idx rows,
                                const ofs *__restrict__ row_ptr, const idx *__restrict__ col_idx,
                                const real *__restrict__ values, const real *x, result out) {
    int lane = threadIdx.x;
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    let_next_start();
    prefetch_ahead(all, threadIdx.y * WARP + lane);
    if (row >= rows) return; /* the whole warp returns: it shares threadIdx.y */
    ofs k = row_ptr[row] + lane, end = row_ptr[row + 1];
    idx j = k < end ? load_once(&col_idx[k], all.policy) : 0;
    real sum = 0, a = k < end ? load_once(&values[k], all.policy) : 0;
    begin_product();
    if (k < end) sum = a * x[j];
    for (k += WARP; k < end; k += WARP)
        sum += load_once(&values[k], all.policy) * x[load_once(&col_idx[k], all.policy)];
    sum = warp_sum(sum);
    if (lane == 0) put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    csr A = *(const csr *)p->store;
    unsigned rows_per_block = (unsigned)p->choice.value[SPMV_block] / WARP;
    unsigned grid = (unsigned)blocks_for(A.s.rows, rows_per_block);
    idx rows = (idx)A.s.rows;
    result out = result_of(v);
    if (rows == 0) return SPMV_OK;
    ahead all = ahead_of(p, A.row_ptr, (size_t)(A.s.rows + 1) * sizeof *A.row_ptr, A.col_idx,
                         A.values, A.s.nnz, (const real *)v->x, A.s.cols, grid);
    void *arguments[] = {&all, &rows, &A.row_ptr, &A.col_idx, &A.values, (void *)&v->x, &out};
    return launch_overlapping(p, stream_of(v), (const void *)multiply, grid,
                              dim3(WARP, rows_per_block), 0, arguments);
}

static const spmv_param params[] = {PARAM_BLOCK_WARP, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_warp) = {
    .name = "csr_warp",
    .alias = "csr1",
    .format = "csr",
    .summary = "one warp per row, sums reduced in registers",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_WARP_ROW,
    .run = run,
};
