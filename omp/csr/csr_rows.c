/* csr_rows: CSR with rows distributed over threads by the OpenMP schedule.
 *
 * Source   Di Iorio, spmvRowsBasicCSR, csr1.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the thread that owns the row.
 * Work     one running sum per row.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     equal numbers of rows are not equal numbers of nonzeros: skewed matrices need a dynamic
 *          schedule.
 * Repeats  bitwise: yes.
 * Params   schedule, chunk: of the row loop; simd: the compiler may divide the sum over vector
 *          lanes (0).
 */
#include "omp/csr/csr_plain.h"

/* Returns whether one thread takes less time than waking a team: 7 us, or 30 us if it sleeps. */
static bool is_for_one(const spmv_plan *p) {
    enum { FEW = 1 << 14, FEW_ASLEEP = 1 << 16 };
    const int64_t items = p->host->nnz + p->host->rows;
    if (p->device->threads == 1 || items < FEW) return true;
    return items < FEW_ASLEEP && p->device->backend->waits_asleep(p->device);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csr *A = (const csr *)p->store;
    bool simd = p->choice.value[SPMV_simd];
    if (is_for_one(p)) {
        multiply_rows(A, alpha, x, beta, y, simd);
        return SPMV_OK;
    }
    schedule before = set_schedule(p, A->s.rows);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++)
        put_row(y + i, alpha, dot(A->values, A->col_idx, x, A->row_ptr[i], A->row_ptr[i + 1], simd),
                beta);
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, PARAM_SIMD, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_rows) = {
    .name = "csr_rows",
    .alias = "csr1",
    .format = "csr",
    .summary = "parallel for over rows",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .run = run,
};
