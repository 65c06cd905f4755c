/* csr_thread: CSR with one thread per row.
 *
 * Source   Di Iorio, cudaSpMVRowsCSR, csr0; Bell and Garland, SC'09, "CSR (scalar)".
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once.
 * Work     thread i multiplies row i.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     the reads of neighbouring threads are a row length apart: long rows fetch a sector for
 *          every entry (then csr_warp).
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256).
 */
#include "cuda/device.cuh"
#include "formats/csr/csr.h"

static __global__ void multiply(idx rows, const ofs *__restrict__ row_ptr,
                                const idx *__restrict__ col_idx, const real *__restrict__ values,
                                const real *__restrict__ x, result out) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    real sum = 0;
    for (ofs k = row_ptr[row]; k < row_ptr[row + 1]; k++) sum += values[k] * x[col_idx[k]];
    put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    if (A->s.rows == 0) return SPMV_OK;
    multiply<<<(unsigned)blocks_for(A->s.rows, block), block, 0, stream_of(v)>>>(
        (idx)A->s.rows, A->row_ptr, A->col_idx, A->values, (const real *)v->x, result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_thread) = {
    .name = "csr_thread",
    .alias = "csr0",
    .format = "csr",
    .summary = "one thread per row",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .run = run,
};
