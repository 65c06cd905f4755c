/* cmrs_strips: strips of a CMRS matrix are handed to threads by the OpenMP schedule.
 *
 * Source   Koza, Matyka, Szkoda, Miroslaw, Compressed Multiple-Row Storage Format, Algorithm 1, a
 *          thread for their warp.
 * Reads    cmrs: strip_ptr[strips + 1], packed[nnz], values[nnz]; x[cols]; y[rows] only if
 *          beta != 0.
 * Writes   y[rows], each entry once, by the thread that owns the strip.
 * Work     a partial sum for each row of the strip, four times: neighbours in memory often belong
 *          to one row, and an addition waits for the one before it only if both share a sum.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (strips + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     sums live in memory, not in registers; a strip is the least a thread can take.
 * Repeats  bitwise: yes.
 * Params   height, sorted: the format's; schedule, chunk: of the strip loop.
 */
#include "omp/kernel.h"
#include "formats/papers/cmrs/cmrs.h"

enum { SUMS = 4 }; /* partial sums per row */

static void multiply_strip(const cmrs *A, int64_t strip, const real *x, real alpha, real beta,
                           real *y) {
    int64_t first = strip * A->height, k = A->strip_ptr[strip], end = A->strip_ptr[strip + 1];
    int64_t rows = first + A->height < A->s.rows ? A->height : A->s.rows - first;
    real sum[CMRS_HIGHEST][SUMS];
    for (int64_t r = 0; r < rows; r++)
        for (int n = 0; n < SUMS; n++) sum[r][n] = 0;
    for (; k + SUMS <= end; k += SUMS)
        for (int n = 0; n < SUMS; n++) {
            uint32_t word = A->packed[k + n];
            sum[word % CMRS_HIGHEST][n] += A->values[k + n] * x[word >> CMRS_ROW_BITS];
        }
    for (int n = 0; k < end; k++, n++) {
        uint32_t word = A->packed[k];
        sum[word % CMRS_HIGHEST][n] += A->values[k] * x[word >> CMRS_ROW_BITS];
    }
    for (int64_t r = 0; r < rows; r++)
        put_row(y + first + r, alpha, (sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]), beta);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const cmrs *A = (const cmrs *)p->store;
    schedule before = set_schedule(p, A->strips);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t strip = 0; strip < A->strips; strip++) multiply_strip(A, strip, x, alpha, beta, y);
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(cmrs_strips) = {
    .name = "cmrs_strips",
    .format = "cmrs",
    .summary = "parallel for over CMRS strips",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_ANY_THREADS,
    .run = run,
};
