/* hyb_rows: stripes of rows of the ELL part of a HYB matrix, then equal shares of its COO part.
 *
 * Source   Bell and Garland, SC'09, "HYB", there for GPUs.
 * Reads    hyb: ell_col, ell_values [width x pitch], tail_row, tail_col, tail_values [tail];
 *          x[cols]; y[rows] if beta != 0 or the row has a tail.
 * Writes   y[rows], each entry by the thread of its stripe; then rows with a tail once by the share
 *          their tail begins in, and once more for every other share it reaches into, serially.
 * Work     in a stripe of 64 rows slot after slot, one running sum per row; padding is skipped.
 * Cost     2 nnz flop; width pitch 4 + (nnz - tail) sizeof real + tail (sizeof real + 8) +
 *          (cols + rows) sizeof real bytes if x is read once, and y of rows with a tail once more.
 * Weak     many streams at once: two for each slot of the ELL part.
 * Repeats  bitwise: yes, for an equal number of threads.
 * Params   boundary: of the format.
 */
#include "coo.h"
#include "formats/hyb/hyb.h"

enum { STRIPE = 64 }; /* rows: of 256 and more, a 7-point grid took 1.7 times as long */

static spmv_status prepare(spmv_plan *p) {
    const hyb *A = (const hyb *)p->host;
    p->choice.value[SPMV_boundary] = A->width;
    /* Padding: kernels read the column only. */
    p->traffic_bytes -= (size_t)(A->s.slots - A->s.nnz) * sizeof(real);
    return carries_prepare(p);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const hyb *A = (const hyb *)p->store;
    const real *from = x;
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t first = 0; first < A->s.rows; first += STRIPE) {
        int64_t n = A->s.rows - first < STRIPE ? A->s.rows - first : STRIPE;
        real sum[STRIPE] = {0};
        for (int64_t k = 0; k < A->width; k++) {
            const idx *col = A->ell_col + k * A->pitch + first;
            const real *values = A->ell_values + k * A->pitch + first;
            for (int64_t i = 0; i < n; i++)
                if (col[i] >= 0) sum[i] += values[i] * from[col[i]];
        }
        for (int64_t i = 0; i < n; i++) put_row(y + first + i, alpha, sum[i], beta);
    }
    add_entries(p, A->tail, A->tail_row, A->tail_col, A->tail_values, x, alpha, p->scratch, y);
    return SPMV_OK;
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(hyb_rows) = {
    .name = "hyb_rows",
    .format = "hyb",
    .summary = "stripes of rows of the ELL part, then equal shares of the COO part",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER,
    .estimate = carries_estimate,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
