/* ell_rows: rows of an ELL matrix are handed to threads by the OpenMP schedule.
 *
 * Source   Di Iorio, spmvRowsBasicELL, ell0.
 * Reads    ell: col_idx[rows x width], values[rows x width], row_len[rows] with rowlens; x[cols]; y
 *          if beta != 0.
 * Writes   y[rows], each entry once, by the thread that owns the row.
 * Work     one running sum per row, over width slots or, with rowlens, the row's nonzeros.
 * Cost     2 nnz flop; rows width (sizeof real + 4) + (cols + rows) sizeof real bytes; with rowlens
 *          nnz for rows width, and 4 rows.
 * Weak     one long row pads all others; without rowlens padding multiplies 0 by x, so x must be
 *          finite.
 * Repeats  bitwise: yes.
 * Params   schedule, chunk: of the row loop; simd (0); rowlens (1).
 */
#include "ell.h"

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const ell *A = (const ell *)p->store;
    bool simd = p->choice.value[SPMV_simd], rowlens = p->choice.value[SPMV_rowlens];
    schedule before = set_schedule(p, A->s.rows);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++)
        put_row(y + i, alpha, ell_dot(A, x, i, 0, A->width, rowlens, simd), beta);
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, PARAM_SIMD, PARAM_ROWLENS,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(ell_rows) = {
    .name = "ell_rows",
    .alias = "ell0",
    .format = "ell",
    .summary = "parallel for over ELL rows",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS | SPMV_PADS,
    .prepare = ell_prepare,
    .run = run,
};
