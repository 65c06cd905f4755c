/* format_csb.c: compressed sparse blocks: Buluc and others, SPAA'09; "CSB" of the third paper.
 * Blocks are square, so that the parts of x and y that a block uses stay in a cache near the core,
 * and 16 bits hold a row or column inside it. Entries of a block are in row order, not in the
 * paper's Z order, so that the sum of a row can stay in a register. */
#include "formats/blocks.h"
#include "csb.h"
#include <math.h>

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t tile = csb_tile(A->rows, A->cols, c->value[SPMV_tile]);
    size_t nblocks = (size_t)parts_of(A->rows, tile) * (size_t)parts_of(A->cols, tile);
    size_t entry_bytes = (size_t)A->nnz * (sizeof(uint32_t) + sizeof(real));
    return nblocks >= (SIZE_MAX - entry_bytes) / sizeof(ofs)
               ? SIZE_MAX
               : (nblocks + 1) * sizeof(ofs) + entry_bytes;
}

/* Counts the entries of each block of block row b, computes the starts of blocks (ptr) by a prefix
 * sum, and advances ptr while entries are written, so that each ends at the start of the next
 * block. */
static int64_t fill_block_row(const spmv_csr_view *A, int64_t b, csb *out) {
    int64_t first = b * out->tile, overflows = 0;
    int64_t end = first + out->tile < A->rows ? first + out->tile : A->rows;
    int shift = __builtin_ctzll((unsigned long long)out->tile);
    ofs *ptr = out->block_ptr + b * out->block_cols, at = (ofs)A->row_ptr[first];
    for (int64_t c = 0; c < out->block_cols; c++) ptr[c] = 0;
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++) ptr[A->col_idx[k] >> shift]++;
    for (int64_t c = 0; c < out->block_cols; c++) {
        ofs count = ptr[c];
        ptr[c] = at;
        at += count;
    }
    for (int64_t i = first; i < end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            uint32_t col = (uint32_t)A->col_idx[k];
            ofs to = ptr[col >> shift]++;
            out->local[to] = (uint32_t)(i - first) << 16 | (col & (uint32_t)(out->tile - 1));
            out->values[to] = (real)A->values[k];
            overflows += isinf(out->values[to]) && !isinf(A->values[k]);
        }
    for (int64_t c = out->block_cols - 1; c > 0; c--) ptr[c] = ptr[c - 1];
    if (out->block_cols) ptr[0] = (ofs)A->row_ptr[first];
    return overflows;
}

static int64_t fill(const spmv_csr_view *A, int threads, csb *out) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : overflows)
    for (int64_t b = 0; b < out->block_rows; b++) overflows += fill_block_row(A, b, out);
    out->block_ptr[out->block_rows * out->block_cols] = (ofs)A->nnz;
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "csb", sizeof(csb), A, out));
    csb *B = (csb *)*out;
    B->s.slots = A->nnz;
    B->tile = csb_tile(A->rows, A->cols, c->value[SPMV_tile]);
    B->block_rows = parts_of(A->rows, B->tile);
    B->block_cols = parts_of(A->cols, B->tile);
    const int64_t nblocks = B->block_rows * B->block_cols;
    TRY(blocks_are_few(ctx, A, "rows", B->tile, nblocks));
    TRY(STORE_ARRAY(ctx, B, block_ptr, nblocks + 1));
    TRY(STORE_ARRAY(ctx, B, local, A->nnz));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz));
    return spmv_fits(ctx, fill(A, threads, B));
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csb *A = (const csb *)store;
    for (int64_t block = 0; block < A->block_rows * A->block_cols; block++)
        for (int64_t k = A->block_ptr[block]; k < A->block_ptr[block + 1]; k++) {
            row[k] = (int32_t)(block / A->block_cols * A->tile + (A->local[k] >> 16));
            col[k] = (int32_t)(block % A->block_cols * A->tile + (A->local[k] & 0xffff));
            values[k] = (double)A->values[k];
        }
}

static const spmv_param params[] = {{SPMV_tile, 0, 0, CSB_MOST_TILE, 1, true}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(csb_format) = {
    .name = "csb",
    .summary = "square blocks in a grid, 16-bit rows and columns inside a block",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
};
