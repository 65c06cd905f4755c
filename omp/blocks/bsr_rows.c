/* bsr_rows: BSR with block rows distributed over threads by the OpenMP schedule.
 *
 * Source   Im and Yelick, "Optimizing Sparse Matrix Computations for Register Reuse in SPARSITY",
 *          ICCS 2001.
 * Reads    bsr: block_ptr[block rows + 1], first_col[blocks], values[blocks x r x c]; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the thread that owns the block row.
 * Work     r running sums per block row, in registers: r and c are constants in the code for shapes
 *          up to 4 x 4.
 * Cost     2 nnz flop; blocks (r c sizeof real + 4) + (block rows + 1) sizeof ofs + (cols + rows)
 *          sizeof real bytes.
 * Weak     blocks that are not full: a single entry is stored and multiplied as r c cells. Padding
 *          multiplies 0 by x: a block row whose sums are not finite is summed again without
 *          padding, but an infinite x raises the exception of an invalid operation.
 * Repeats  bitwise: yes.
 * Params   schedule, chunk: of the loop over block rows.
 */
#include "omp/kernel.h"
#include "formats/bsr/bsr.h"
#include <math.h>

enum { TALLEST = 8 };

typedef struct product { /* operands common to all block rows */
    const bsr *A;
    const real *x;
    real *y, alpha, beta;
} product;

/* Sums a block row without padding, because padding times an infinite x is NaN. */
static void sum_entries(const product *m, int64_t b, real *sum) {
    const bsr *A = m->A;
    const int64_t rows = A->shape_rows, cols = A->shape_cols;
    for (int64_t r = 0; r < rows; r++) sum[r] = 0;
    for (int64_t k = A->block_ptr[b]; k < A->block_ptr[b + 1]; k++)
        for (int64_t slot = 0; slot < rows * cols; slot++) {
            const real value = A->values[k * rows * cols + slot];
            const bool is_padding = value == 0 && signbit(value);
            if (!is_padding) sum[slot / cols] += value * m->x[A->first_col[k] + slot % cols];
        }
}

/* If rows and cols are constants in the call, loops over a block are unrolled and sums stay in
 * registers. */
static inline __attribute__((always_inline)) void multiply_blocks(const product *m, int64_t b,
                                                                  int rows, int cols) {
    const bsr *A = m->A;
    int64_t first = b * A->shape_rows, begin = A->block_ptr[b], end = A->block_ptr[b + 1];
    const real *values = A->values + begin * rows * cols;
    real sum[TALLEST] = {0};
    for (int64_t k = begin; k < end; k++, values += rows * cols) {
        const real *x = m->x + A->first_col[k];
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < cols; c++) sum[r] += values[r * cols + c] * x[c];
    }
    real zero = 0;
    for (int r = 0; r < rows; r++) zero += 0 * sum[r];
    if (zero != 0) sum_entries(m, b, sum); /* a sum is infinite or NaN */
    for (int r = 0; r < rows && first + r < A->s.rows; r++)
        put_row(m->y + first + r, m->alpha, sum[r], m->beta);
}

static void multiply_block_row(const product *m, int64_t b) {
    int rows = (int)m->A->shape_rows, cols = (int)m->A->shape_cols;
    switch (10 * rows + cols) {
    case 11: multiply_blocks(m, b, 1, 1); break;
    case 12: multiply_blocks(m, b, 1, 2); break;
    case 13: multiply_blocks(m, b, 1, 3); break;
    case 14: multiply_blocks(m, b, 1, 4); break;
    case 21: multiply_blocks(m, b, 2, 1); break;
    case 22: multiply_blocks(m, b, 2, 2); break;
    case 23: multiply_blocks(m, b, 2, 3); break;
    case 24: multiply_blocks(m, b, 2, 4); break;
    case 31: multiply_blocks(m, b, 3, 1); break;
    case 32: multiply_blocks(m, b, 3, 2); break;
    case 33: multiply_blocks(m, b, 3, 3); break;
    case 34: multiply_blocks(m, b, 3, 4); break;
    case 41: multiply_blocks(m, b, 4, 1); break;
    case 42: multiply_blocks(m, b, 4, 2); break;
    case 43: multiply_blocks(m, b, 4, 3); break;
    case 44: multiply_blocks(m, b, 4, 4); break;
    default: multiply_blocks(m, b, rows, cols);
    }
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const bsr *A = (const bsr *)p->store;
    const product m = {A, x, y, alpha, beta};
    schedule before = set_schedule(p, A->block_rows);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t b = 0; b < A->block_rows; b++) multiply_block_row(&m, b);
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(bsr_rows) = {
    .name = "bsr_rows",
    .format = "bsr",
    .summary = "parallel for over block rows, blocks unrolled",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_ANY_THREADS,
    .run = run,
};
