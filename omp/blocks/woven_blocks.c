/* woven_blocks: rows of blocks of a woven matrix are handed to threads by the OpenMP schedule.
 *
 * Source   own; csb_blocks (Buluc and others, SPAA'09) with narrow's value codes, in an order that
 *          keeps an addition to y from waiting for the one before.
 * Reads    woven: first_row[block_rows + 1], block_ptr[block_rows x block_cols + 1], local[nnz],
 *          values, table; x[cols]; y[rows].
 * Writes   y[rows]: beta y or 0 first, then the row's part of each block is added, all by
 *          the thread that owns the row of blocks.
 * Work     block after block, an entry at a time is added to y; eight neighbours are of eight parts
 *          of the block.
 * Cost     2 nnz flop; nnz (4 + 0, 1, 4 or sizeof real) + blocks sizeof ofs + (cols + rows) sizeof
 *          real bytes if x is read once: tile entries of x and twice as many of y stay in the
 *          second cache.
 * Weak     hypersparse blocks cost a pointer each; a giant row keeps one thread busy.
 * Repeats  bitwise: yes; with and without codes alike.
 * Params   tile: columns of a block (128 KB of x); codes: of the format; schedule, chunk: of the
 *          loop over rows of blocks.
 */
#include "omp/isa.h"
#include "omp/kernel.h"
#include "formats/value_codes.h"
#include "formats/woven/woven.h"

#define INLINE static inline __attribute__((always_inline))

static spmv_status prepare(spmv_plan *p) {
    p->choice.value[SPMV_tile] = ((const woven *)p->host)->tile;
    return SPMV_OK;
}

INLINE void add_entry(const woven *A, int64_t k, int code, const real *x, real alpha, real *y) {
    uint32_t at = A->local[k];
    y[at >> 16] += alpha * (coded_value(A->values, A->table, k, code) * x[at & 0xffff]);
}

/* y += alpha A x for the entries k..end-1 of one block; x and y begin with the block's. */
INLINE void add_block(const woven *A, int64_t k, int64_t end, int code, const real *x, real alpha,
                      real *y) {
    for (; k + WOVEN_LANES <= end; k += WOVEN_LANES) {
        if (code == NARROW_RAW || code == NARROW_F32)
            ask_ahead(A->values + k * A->value_bytes, HALF_PAGE);
        ask_ahead(A->local + k, HALF_PAGE / 2);
        for (int l = 0; l < WOVEN_LANES; l++) add_entry(A, k + l, code, x, alpha, y);
    }
    for (; k < end; k++) add_entry(A, k, code, x, alpha, y);
}

/* Row b of blocks. */
INLINE void add_blocks(const woven *matrix, int64_t b, int code, const real *x, real alpha,
                       real *y) {
    const woven A = *matrix; /* its own: else every y written might be of it */
    const ofs *ptr = A.block_ptr + b * A.block_cols;
    for (int64_t c = 0; c < A.block_cols; c++)
        add_block(&A, ptr[c], ptr[c + 1], code, x + c * A.tile, alpha, y);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *out) {
    const woven *A = (const woven *)p->store;
    schedule before = set_schedule(p, A->block_rows);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t b = 0; b < A->block_rows; b++) {
        real *y = (real *)out + A->first_row[b];
        for (int64_t i = A->first_row[b]; i < A->first_row[b + 1]; i++)
            scale_row((real *)out + i, (real)beta);
        switch (A->value_code) {
        case NARROW_ONE: add_blocks(A, b, NARROW_ONE, x, (real)alpha, y); break;
        case NARROW_TABLE: add_blocks(A, b, NARROW_TABLE, x, (real)alpha, y); break;
        case NARROW_F32: add_blocks(A, b, NARROW_F32, x, (real)alpha, y); break;
        default: add_blocks(A, b, NARROW_RAW, x, (real)alpha, y);
        }
    }
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(woven_blocks) = {
    .name = "woven_blocks",
    .format = "woven",
    .summary = "parallel for over rows of blocks, in an order that does not wait for y",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .prepare = prepare,
    .run = run,
};
