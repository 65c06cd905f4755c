/* format_csb_interleaved.c: sparse blocks as in CSB, so that the parts of x and y that a block uses
 * stay in a cache near the core; nonzeros in an order in which additions to y do not wait for each
 * other; values encoded in the fewest bytes. */
#include "formats/value_set.h"
#include "formats/blocks.h"
#include "formats/csb/csb.h"
#include "formats/row_ends.h"
#include "csb_interleaved.h"
#include <omp.h>

/* A block row ends when it has a share of the entries, so that all threads get work for any row
 * lengths, but not earlier, because every block row reads all of x. 128 KB of x per block were the
 * best of 64 to 256 KB on random, R-MAT and power-law matrices. */
enum { SHARES = 64, LEAST_SHARE = 1 << 20, X_BYTES = 1 << 17 /* bytes of x per block */ };

static int64_t tile_of(const spmv_choice *c) {
    return c->value[SPMV_tile] ? c->value[SPMV_tile] : X_BYTES / (int64_t)sizeof(real);
}

/* Any two successive block rows that were cut for their entries have more than a share. */
static int64_t most_block_rows(const spmv_csr_view *A, int64_t tile) {
    return parts_of(A->rows, CSB_INTERLEAVED_ROWS * tile) + 2 * SHARES;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t tile = tile_of(c);
    size_t rows = (size_t)most_block_rows(A, tile), cols = (size_t)parts_of(A->cols, tile);
    size_t entry_bytes = (size_t)A->nnz * (sizeof(uint32_t) + sizeof(real));
    return (rows * cols + 1) * sizeof(int32_t) + (rows + 1) * sizeof(idx) + entry_bytes +
           VALUE_CODEBOOK_SIZE * sizeof(real);
}

/* Computes the first rows of block rows; first_row may be NULL. Returns the number of block
 * rows. */
static int64_t cut_rows(const spmv_csr_view *A, int64_t tile, idx *first_row) {
    const int64_t share = A->nnz / SHARES > LEAST_SHARE ? A->nnz / SHARES : LEAST_SHARE;
    int64_t n = 0;
    for (int64_t i = 0, first; i < A->rows; n++) {
        if (first_row) first_row[n] = (idx)i;
        first = i++;
        while (i < A->rows && i - first < CSB_INTERLEAVED_ROWS * tile &&
               A->row_ptr[i + 1] - A->row_ptr[first] <= share)
            i++;
    }
    if (first_row) first_row[n] = (idx)A->rows;
    return n;
}

/* A block while it is filled. */
typedef struct block_cursor {
    int32_t begin, next; /* positions of its first entry and of the next one written */
    int32_t part, left;  /* entries per part; entries still to be written in this part */
    int lane;            /* current part; CSB_INTERLEAVED_LANES: the entries behind all parts */
} block_cursor;

static block_cursor begin_block(int32_t begin, int32_t end) {
    int32_t part = (end - begin) / CSB_INTERLEAVED_LANES;
    return (block_cursor){begin, begin, part, part, part ? 0 : CSB_INTERLEAVED_LANES};
}

/* Returns the position of the next entry. */
static int32_t take_place(block_cursor *w) {
    int32_t place = w->next++;
    if (w->lane == CSB_INTERLEAVED_LANES) return place; /* behind all parts */
    w->next += CSB_INTERLEAVED_LANES - 1;
    if (--w->left == 0) {
        w->left = w->part;
        w->lane++;
        w->next = w->begin + (w->lane < CSB_INTERLEAVED_LANES ? (int32_t)w->lane
                                                              : CSB_INTERLEAVED_LANES * w->part);
    }
    return place;
}

/* Counts the entries of each block, computes the starts of blocks by a prefix sum, then writes the
 * entries. Returns the number of values that overflow. */
static int64_t fill_block_row(const spmv_csr_view *A, int64_t b, const value_set *set,
                              block_cursor *cursors, csb_interleaved *out) {
    const int64_t first = out->first_row[b], end = out->first_row[b + 1], cols = out->block_cols;
    const int shift = __builtin_ctzll((unsigned long long)out->tile);
    int32_t *ptr = out->block_ptr + b * cols, at = (int32_t)A->row_ptr[first];
    int64_t overflows = 0;
    for (int64_t c = 0; c < cols; c++) ptr[c] = 0;
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++) ptr[A->col_idx[k] >> shift]++;
    for (int64_t c = 0; c < cols; c++) {
        cursors[c] = begin_block(at, at + ptr[c]);
        at += ptr[c];
        ptr[c] = cursors[c].begin;
    }
    for (int64_t i = first; i < end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            uint32_t col = (uint32_t)A->col_idx[k];
            int32_t to = take_place(cursors + (col >> shift));
            out->local[to] = (uint32_t)(i - first) << 16 | (col & (uint32_t)(out->tile - 1));
            overflows += put_coded(out->values + (int64_t)to * out->value_bytes, set, A->values[k],
                                   out->value_code);
        }
    return overflows;
}

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, const value_set *set, int threads,
                        csb_interleaved *out) {
    int64_t overflows = 0, cols = out->block_cols;
    block_cursor *cursors = spmv_host_alloc((size_t)(threads * cols + 1) * sizeof *cursors);
    if (!cursors)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: a list of %lld blocks per thread",
                         (long long)cols);
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : overflows)
    for (int64_t b = 0; b < out->block_rows; b++)
        overflows += fill_block_row(A, b, set, cursors + omp_get_thread_num() * cols, out);
    out->block_ptr[out->block_rows * cols] = (int32_t)A->nnz;
    spmv_host_free(cursors);
    return spmv_fits(ctx, overflows);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    if (A->nnz > INT32_MAX - CSB_INTERLEAVED_LANES)
        return spmv_fail(
            ctx, SPMV_E_UNSUITABLE,
            "csb_interleaved has 32-bit offsets, too narrow for %lld nonzeros: a kernel "
            "of csb or csr",
            (long long)A->nnz);
    TRY(spmv_store_new(ctx, "csb_interleaved", sizeof(csb_interleaved), A, out));
    csb_interleaved *B = (csb_interleaved *)*out;
    B->s.slots = A->nnz;
    B->tile = tile_of(c);
    B->block_rows = cut_rows(A, B->tile, NULL);
    B->block_cols = parts_of(A->cols, B->tile);
    const int64_t nblocks = B->block_rows * B->block_cols;
    TRY(blocks_are_few(ctx, A, "columns", B->tile, nblocks));
    B->value_code = choose_code(A, c->value[SPMV_codes], threads, codebook, &set);
    B->value_bytes = coded_bytes(B->value_code);
    B->s.values = code_word(B->value_code);
    TRY(STORE_ARRAY(ctx, B, first_row, B->block_rows + 1));
    cut_rows(A, B->tile, B->first_row);
    TRY(STORE_ARRAY(ctx, B, block_ptr, nblocks + 1));
    TRY(STORE_ARRAY(ctx, B, local, A->nnz));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz * B->value_bytes));
    if (set.count) {
        TRY(STORE_ARRAY(ctx, B, codebook, VALUE_CODEBOOK_SIZE));
        memcpy(B->codebook, codebook, sizeof codebook);
    }
    return fill(ctx, A, &set, threads, B);
}

/* Writes the values of blocks first to end - 1 of block row b. TOGETHER_BLOCKS nearly always covers
 * the block row. */
enum { TOGETHER_BLOCKS = 1024 };
static void refill_blocks(const spmv_csr_view *A, int64_t b, int64_t first, int64_t end,
                          const value_set *set, csb_interleaved *B) {
    block_cursor cursors[TOGETHER_BLOCKS];
    const int shift = __builtin_ctzll((unsigned long long)B->tile);
    const int32_t *ptr = B->block_ptr + b * B->block_cols;
    for (int64_t c = first; c < end; c++) cursors[c - first] = begin_block(ptr[c], ptr[c + 1]);
    for (int64_t i = B->first_row[b]; i < B->first_row[b + 1]; i++)
        for (int64_t k = first ? spmv_first_from(A, i, first << shift) : A->row_ptr[i];
             k < A->row_ptr[i + 1] && A->col_idx[k] >> shift < end; k++) {
            int32_t to = take_place(cursors + (A->col_idx[k] >> shift) - first);
            put_coded(B->values + (int64_t)to * B->value_bytes, set, A->values[k], B->value_code);
        }
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    csb_interleaved *B = (csb_interleaved *)store;
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    code_holds(A, B->value_code, VALUE_CODEBOOK_SIZE, threads, codebook, &set);
    if (B->codebook) memcpy(B->codebook, codebook, sizeof codebook);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t b = 0; b < B->block_rows; b++)
        for (int64_t c = 0; c < B->block_cols; c += TOGETHER_BLOCKS)
            refill_blocks(A, b, c,
                          c + TOGETHER_BLOCKS < B->block_cols ? c + TOGETHER_BLOCKS : B->block_cols,
                          &set, B);
}

static bool holds_any(const spmv_store *store) {
    return ((const csb_interleaved *)store)->value_code == VALUE_RAW;
}

static spmv_status holds(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store) {
    const csb_interleaved *B = (const csb_interleaved *)store;
    return check_code(ctx, A, B->value_code, VALUE_CODEBOOK_SIZE, threads);
}

static int places(const spmv_store *store, spmv_places *out) {
    const csb_interleaved *B = (const csb_interleaved *)store;
    *out = (spmv_places){B->values, store->nnz, sizeof(real), 0};
    return B->value_code == VALUE_RAW;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csb_interleaved *A = (const csb_interleaved *)store;
    for (int64_t block = 0; block < A->block_rows * A->block_cols; block++)
        for (int64_t k = A->block_ptr[block]; k < A->block_ptr[block + 1]; k++) {
            row[k] = A->first_row[block / A->block_cols] + (int32_t)(A->local[k] >> 16);
            col[k] = (int32_t)(block % A->block_cols * A->tile + (A->local[k] & 0xffff));
            values[k] = (double)coded_value(A->values, A->codebook, k, A->value_code);
        }
}

static const spmv_param params[] = {{SPMV_tile, 0, 0, CSB_MOST_TILE, 1, true},
                                    {SPMV_codes, 1, 0, 1, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(csb_interleaved_format) = {
    .name = "csb_interleaved",
    .summary = "sparse blocks, entries of eight parts of a block in turns, values in fewest bytes",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .places = places,
    .refill = refill,
    .holds = holds,
    .holds_any = holds_any,
};
