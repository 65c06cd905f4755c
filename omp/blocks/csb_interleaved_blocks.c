/* csb_interleaved_blocks: csb_interleaved with rows of blocks distributed over threads by the
 * OpenMP schedule.
 *
 * Source   this project; csb_blocks (Buluc and others, SPAA'09) with sell16's encoding of values,
 *          in an order in which consecutive additions to y are independent.
 * Reads    csb_interleaved: first_row[block_rows + 1], block_ptr[block_rows x block_cols + 1],
 *          local[nnz], values, codebook; x[cols]; y[rows].
 * Writes   y[rows]: beta y or 0 first, then each block's contribution is added, by the thread that
 *          owns the row of blocks.
 * Work     block after block, nonzeros are added to y one by one; eight consecutive nonzeros belong
 *          to eight different parts of the block.
 * Cost     2 nnz flop; nnz (4 + 0, 1, 4 or sizeof real) + 4 blocks + (cols + rows) sizeof real
 *          bytes if x is read once: tile entries of x and twice as many of y stay in the L2 cache.
 * Weak     hypersparse blocks cost a pointer each; a very long row keeps one thread busy.
 * Repeats  bitwise: yes; equal with and without a dictionary.
 * Params   tile: columns of a block (128 KB of x); codes: encode values in fewer bytes, of the
 *          format; schedule, chunk: of the loop over rows of blocks (dynamic, 1).
 */
#include "omp/isa.h"
#include "omp/kernel.h"
#include "formats/value_codes.h"
#include "formats/csb_interleaved/csb_interleaved.h"

#define INLINE static inline __attribute__((always_inline))

static spmv_status prepare(spmv_plan *p) {
    p->choice.value[SPMV_tile] = ((const csb_interleaved *)p->host)->tile;
    return SPMV_OK;
}

INLINE void add_entry(const csb_interleaved *A, int64_t k, int code, const real *x, real alpha,
                      real *y) {
    uint32_t at = A->local[k];
    y[at >> 16] += alpha * (coded_value(A->values, A->codebook, k, code) * x[at & 0xffff]);
}

/* y += alpha A x for entries k, ..., end - 1 of one block; x and y start at the block. */
INLINE void add_block(const csb_interleaved *A, int64_t k, int64_t end, int code, const real *x,
                      real alpha, real *y) {
    for (; k + CSB_INTERLEAVED_LANES <= end; k += CSB_INTERLEAVED_LANES) {
        if (code == VALUE_RAW || code == VALUE_F32)
            prefetch_ahead(A->values + k * A->value_bytes, HALF_PAGE);
        prefetch_ahead(A->local + k, HALF_PAGE / 2);
        for (int l = 0; l < CSB_INTERLEAVED_LANES; l++) add_entry(A, k + l, code, x, alpha, y);
    }
    for (; k < end; k++) add_entry(A, k, code, x, alpha, y);
}

/* Multiplies row b of blocks. */
INLINE void add_blocks(const csb_interleaved *matrix, int64_t b, int code, const real *x,
                       real alpha, real *y) {
    const csb_interleaved A = *matrix; /* a local copy, which stores to y cannot alias */
    const int32_t *ptr = A.block_ptr + b * A.block_cols;
    for (int64_t c = 0; c < A.block_cols; c++)
        add_block(&A, ptr[c], ptr[c + 1], code, x + c * A.tile, alpha, y);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *out = v->z;
    const csb_interleaved *A = (const csb_interleaved *)p->store;
    schedule before = set_dynamic_schedule(p, A->block_rows);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t b = 0; b < A->block_rows; b++) {
        real *y = out + A->first_row[b];
        for (int64_t i = A->first_row[b]; i < A->first_row[b + 1]; i++) scale_row(out + i, beta);
        switch (A->value_code) {
        case VALUE_ONE: add_blocks(A, b, VALUE_ONE, x, alpha, y); break;
        case VALUE_CODEBOOK: add_blocks(A, b, VALUE_CODEBOOK, x, alpha, y); break;
        case VALUE_F32: add_blocks(A, b, VALUE_F32, x, alpha, y); break;
        default: add_blocks(A, b, VALUE_RAW, x, alpha, y);
        }
    }
    restore_schedule(before);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(csb_interleaved_blocks) = {
    .name = "csb_interleaved_blocks",
    .format = "csb_interleaved",
    .summary = "parallel for over rows of blocks, in an order that does not wait for y",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .prepare = prepare,
    .run = run,
};
