/* csr_blocks: a CSR matrix is cut into blocks of rows, sizes differing by at most one; a block is
 * one iteration.
 *
 * Source   Di Iorio, spmvRowsBlocksCSR, csr2.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the thread that owns the row's block.
 * Work     one running sum per row; threads take blocks by the OpenMP schedule.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     as csr_rows: blocks are equal in rows, not in nonzeros.
 * Repeats  bitwise: yes.
 * Params   grid_rows: number of blocks (one per thread); schedule, chunk: of the block loop; simd
 *          (0).
 */
#include "omp/kernel.h"
#include "formats/csr/csr.h"

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csr *A = (const csr *)p->store;
    int64_t nblocks = p->choice.value[SPMV_grid_rows];
    bool simd = p->choice.value[SPMV_simd];
    schedule before = set_schedule(p, nblocks);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t end = spmv_split(A->s.rows, nblocks, b + 1);
        for (int64_t i = spmv_split(A->s.rows, nblocks, b); i < end; i++)
            put_row(y + i, alpha,
                    dot(A->values, A->col_idx, x, A->row_ptr[i], A->row_ptr[i + 1], simd), beta);
    }
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_GRID_ROWS, PARAMS_SCHEDULE, PARAM_SIMD,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_blocks) = {
    .name = "csr_blocks",
    .alias = "csr2",
    .format = "csr",
    .summary = "parallel for over blocks of rows",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .run = run,
};
