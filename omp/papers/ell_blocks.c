/* ell_blocks: an ELL matrix is cut into blocks of rows, sizes differing by at most one; a block is
 * one iteration.
 *
 * Source   Di Iorio, spmvRowsBlocksELL, ell1.
 * Reads    ell: col_idx[rows x width], values[rows x width], row_len[rows] with rowlens; x[cols]; y
 *          if beta != 0.
 * Writes   y[rows], each entry once, by the thread that owns the row's block.
 * Work     one running sum per row; threads take blocks by the OpenMP schedule.
 * Cost     2 nnz flop; rows width (sizeof real + 4) + (cols + rows) sizeof real bytes; with rowlens
 *          nnz for rows width, and 4 rows.
 * Weak     one long row pads all others; without rowlens padding multiplies 0 by x, so x must be
 *          finite.
 * Repeats  bitwise: yes.
 * Params   grid_rows: number of blocks (one per thread); schedule, chunk: of the block loop; simd
 *          (0); rowlens (1).
 */
#include "ell.h"

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const ell *A = (const ell *)p->store;
    int64_t nblocks = p->choice.value[SPMV_grid_rows];
    bool simd = p->choice.value[SPMV_simd], rowlens = p->choice.value[SPMV_rowlens];
    schedule before = set_schedule(p, nblocks);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t end = spmv_split(A->s.rows, nblocks, b + 1);
        for (int64_t i = spmv_split(A->s.rows, nblocks, b); i < end; i++)
            put_row(y + i, alpha, ell_dot(A, x, i, 0, A->width, rowlens, simd), beta);
    }
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_GRID_ROWS, PARAMS_SCHEDULE, PARAM_SIMD, PARAM_ROWLENS,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(ell_blocks) = {
    .name = "ell_blocks",
    .alias = "ell1",
    .format = "ell",
    .summary = "parallel for over blocks of ELL rows",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS | SPMV_PADS,
    .prepare = ell_prepare,
    .run = run,
};
