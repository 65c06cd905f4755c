/* coo_segments: COO sorted by row, with an equal share of the nonzeros per thread.
 *
 * Source   Bell and Garland, SC'09, "COO", there for GPUs.
 * Reads    coo: row_idx, col_idx, values [nnz]; x[cols]; y[rows].
 * Writes   y[rows]: beta y or 0 first; then each nonempty row once by the share in which it begins,
 *          and once more, serially, for every other share that it extends into.
 * Work     a thread sums along its share and adds to y at each change of row.
 * Cost     2 nnz flop; nnz (sizeof real + 8) + (cols + 3 rows) sizeof real bytes if x is read once.
 * Weak     4 more bytes per nonzero than CSR, and a branch.
 * Repeats  bitwise: yes, for an equal number of threads.
 * Params   none.
 */
#include "coo.h"
#include "formats/coo/coo.h"

static spmv_status prepare(spmv_plan *p) {
    p->traffic_bytes += 2 * (size_t)p->host->rows * sizeof(real); /* y is read and written again */
    return carries_prepare(p);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const sorted_coo *A = (const sorted_coo *)p->store;
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++) scale_row(y + i, beta);
    add_entries(p, A->s.nnz, A->row_idx, A->col_idx, A->values, x, alpha, p->scratch, y);
    return SPMV_OK;
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(coo_segments) = {
    .name = "coo_segments",
    .format = "coo",
    .summary = "equal shares of entries, rows put together from carries",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = carries_estimate,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
