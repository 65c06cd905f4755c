/* csb_blocks: CSB with rows of blocks distributed over threads by the OpenMP schedule.
 *
 * Source   Buluc, Fineman, Frigo, Gilbert, Leiserson, SPAA'09, without their split of long rows of
 *          blocks; "CSB" of the third paper.
 * Reads    csb: block_ptr[block_rows x block_cols + 1], local[nnz], values[nnz]; x[cols]; y[rows].
 * Writes   y[rows]: beta y or 0 first, then each block's contribution is added, by the thread that
 *          owns the row of blocks.
 * Work     block after block: entries are added to y one by one, or row by row in blocks of at
 *          least 4 nonzeros per row.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + blocks sizeof ofs + (cols + rows) sizeof real bytes
 *          if x is read once: tile entries of x and of y stay in the nearest cache.
 * Weak     hypersparse blocks cost a pointer each; a very long row keeps one thread busy.
 * Repeats  bitwise: yes.
 * Params   tile: of the format; schedule, chunk: of the loop over rows of blocks (dynamic, 1).
 */
#include "omp/isa.h"
#include "omp/kernel.h"
#include "formats/csb/csb.h"

enum { LONG_RUN = 4 }; /* mean entries per row of a block */
enum { TOGETHER = 8 }; /* entries: a cache line of values */

static spmv_status prepare(spmv_plan *p) {
    p->choice.value[SPMV_tile] = ((const csb *)p->host)->tile;
    return SPMV_OK;
}

static inline void add_entry(const csb *A, int64_t k, const real *x, real alpha, real *y) {
    uint32_t at = A->local[k];
    y[at >> 16] += alpha * (A->values[k] * x[at & 0xffff]);
}

/* y += alpha A x for entries k, ..., end - 1 of one block; x and y start at the block. If rows are
 * long, the sum of a row stays in a register; if they are short, mispredicting their ends would
 * cost more than y in the nearest cache. */
static void add_block(const csb *A, int64_t k, int64_t end, const real *x, real alpha, real *y) {
    if (end - k < LONG_RUN * A->tile) {
        for (; k + TOGETHER <= end; k += TOGETHER) {
            prefetch_ahead(A->values + k, HALF_PAGE);
            prefetch_ahead(A->local + k, HALF_PAGE / 2);
            for (int l = 0; l < TOGETHER; l++) add_entry(A, k + l, x, alpha, y);
        }
        for (; k < end; k++) add_entry(A, k, x, alpha, y);
        return;
    }
    while (k < end) {
        uint32_t row = A->local[k] >> 16;
        real sum = 0;
        do {
            sum += A->values[k] * x[A->local[k] & 0xffff];
            k++;
        } while (k < end && A->local[k] >> 16 == row);
        y[row] += alpha * sum;
    }
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csb *A = (const csb *)p->store;
    schedule before = set_dynamic_schedule(p, A->block_rows);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t b = 0; b < A->block_rows; b++) {
        int64_t first = b * A->tile;
        int64_t end = first + A->tile < A->s.rows ? first + A->tile : A->s.rows;
        const ofs *ptr = A->block_ptr + b * A->block_cols;
        for (int64_t i = first; i < end; i++) scale_row(y + i, beta);
        for (int64_t c = 0; c < A->block_cols; c++)
            add_block(A, ptr[c], ptr[c + 1], x + c * A->tile, alpha, y + first);
    }
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csb_blocks) = {
    .name = "csb_blocks",
    .format = "csb",
    .summary = "parallel for over rows of blocks",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_ANY_THREADS,
    .prepare = prepare,
    .run = run,
};
