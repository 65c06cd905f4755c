/* csr_serial: CSR, row after row on one thread.
 *
 * Source   The serial product of A. Di Iorio, "SpMV: implementazioni OMP e CUDA", csr0; textbook
 *          CSR.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once.
 * Work     one running sum per row, in column order.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     one core does not saturate the memory bandwidth.
 * Repeats  bitwise: yes.
 * Params   simd: the compiler may divide the sum over vector lanes (0).
 */
#include "omp/csr/csr_plain.h"

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    multiply_rows(A, (real)v->alpha, v->x, (real)v->beta, v->z, p->choice.value[SPMV_simd]);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_SIMD, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_serial) = {
    .name = "csr_serial",
    .alias = "csr0",
    .format = "csr",
    .summary = "rows one after the other, by one thread",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS | SPMV_SERIAL,
    .run = run,
};
