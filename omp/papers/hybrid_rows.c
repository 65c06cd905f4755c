/* hybrid_rows: rows of a hybrid ELL + CSR matrix are handed to threads by the OpenMP schedule.
 *
 * Source   Mahmoud, Hoffmann, Reza, Computation 6 (2018) 45, Algorithm 7, a thread for their warp.
 * Reads    hybrid: ell_col, ell_values[rows x boundary], row_len[rows]; of rows longer than
 *          boundary start, end, rest_col, rest_values; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the thread that owns the row.
 * Work     a running sum over the row's nonzeros in the ELL part, one over those in the CSR part.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + 4 rows + 2 (rows longer than boundary) sizeof ofs +
 *          (cols + rows) sizeof real bytes if x is read once: padding is not read.
 * Weak     two loops per row: short rows pay for both; equal numbers of rows are not equal work.
 * Repeats  bitwise: yes.
 * Params   boundary: the format's; schedule, chunk: of the row loop; simd: the compiler may split
 *          the sums over vector lanes (0).
 */
#include "omp/kernel.h"
#include "formats/papers/hybrid/hybrid.h"

static real multiply_row(const hybrid *A, const real *x, int64_t i, bool simd) {
    int64_t at = i * A->boundary, n = A->row_len[i];
    if (n <= A->boundary) return dot(A->ell_values, A->ell_col, x, at, at + n, simd);
    return dot(A->ell_values, A->ell_col, x, at, at + A->boundary, simd) +
           dot(A->rest_values, A->rest_col, x, A->start[i], A->end[i], simd);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const hybrid *A = (const hybrid *)p->store;
    bool simd = p->choice.value[SPMV_simd];
    schedule before = set_schedule(p, A->s.rows);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++)
        put_row(y + i, alpha, multiply_row(A, x, i, simd), beta);
    restore_schedule(before);
    return SPMV_OK;
}

static spmv_status prepare(spmv_plan *p) {
    const hybrid *A = (const hybrid *)p->host;
    p->choice.value[SPMV_boundary] = A->boundary;
    p->traffic_bytes = (size_t)A->s.nnz * (sizeof(idx) + sizeof(real)) +
                       (size_t)A->s.rows * sizeof(idx) + (size_t)A->long_rows * 2 * sizeof(ofs);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, PARAM_SIMD, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(hybrid_rows) = {
    .name = "hybrid_rows",
    .format = "hybrid",
    .summary = "parallel for over rows, ELL part then CSR part",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_ANY_THREADS,
    .prepare = prepare,
    .run = run,
};
