/* dia_rows: DIA with blocks of rows, whose sums stay in the L1 cache, distributed over threads by
 * the OpenMP schedule; within a block diagonal by diagonal.
 *
 * Source   Saad, Iterative Methods for Sparse Linear Systems, 3.5, by diagonals; with blocks, y
 *          does not pass through memory once per diagonal.
 * Reads    dia: offsets[diagonals], values[diagonals x pitch] inside the matrix; x[cols]; y[rows]
 *          only if beta != 0.
 * Writes   y[rows], each element once, by the thread that owns the row's block.
 * Work     a row's sum adds its diagonals in ascending order of columns; neighbouring rows are
 *          vector lanes, and read contiguous entries of x.
 * Cost     2 nnz flop; slots inside the matrix sizeof real + 4 diagonals + (cols + rows) sizeof
 *          real bytes if x is read once.
 * Weak     diagonals that are mostly padding are read whole, so few diagonals are best.
 * Repeats  bitwise: yes.
 * Params   schedule, chunk: of the loop over blocks.
 */
#include "omp/kernel.h"
#include "formats/dia/dia.h"

enum { BLOCK = 256 }; /* rows; longer blocks took 1.1 to 1.6 times as long with 3 to 7 diagonals */

typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) number;
typedef number __attribute__((may_alias)) bits;

/* sum[i] += values[i] x[i] for 0 <= i < n, except padding, because 0 times infinity is NaN. */
static void add_diagonal(const real *values, const real *x, int64_t n, real *sum) {
    const number padding = sizeof(real) == 8 ? (number)INT64_MIN : (number)INT32_MIN; /* -0.0 */
    const bits *of = (const bits *)values;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        real added = sum[i] + values[i] * x[i];
        sum[i] = of[i] == padding ? sum[i] : added;
    }
}

static void multiply_block(const dia *A, int64_t first, int64_t end, real alpha, const real *x,
                           real beta, real *y) {
    real sum[BLOCK] = {0};
    for (int64_t k = 0; k < A->diagonals; k++) {
        dia_span in = dia_rows_inside(A->s.cols, A->offsets[k], first, end);
        if (in.first < in.end)
            add_diagonal(A->values + k * A->pitch + in.first, x + in.first + A->offsets[k],
                         in.end - in.first, sum + (in.first - first));
    }
    for (int64_t i = first; i < end; i++) put_row(y + i, alpha, sum[i - first], beta);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const dia *A = (const dia *)p->store;
    const int64_t nblocks = (A->s.rows + BLOCK - 1) / BLOCK;
    schedule before = set_schedule(p, nblocks);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t end = (b + 1) * BLOCK < A->s.rows ? (b + 1) * BLOCK : A->s.rows;
        multiply_block(A, b * BLOCK, end, alpha, x, beta, y);
    }
    restore_schedule(before);
    return SPMV_OK;
}

static spmv_status prepare(spmv_plan *p) {
    const dia *A = (const dia *)p->host;
    p->traffic_bytes = (size_t)A->inside * sizeof(real) + (size_t)A->diagonals * sizeof(idx);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(dia_rows) = {
    .name = "dia_rows",
    .alias = "dia",
    .format = "dia",
    .summary = "parallel for over blocks of rows, diagonal by diagonal",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .prepare = prepare,
    .run = run,
};
