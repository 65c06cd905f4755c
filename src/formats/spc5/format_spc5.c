/* format_spc5.c: blocks of height x 8 cells that store only their entries, with a column per block
 * and a byte of mask per row. Bramas and Kus, PeerJ CS 2018, "Computing the sparse matrix vector
 * product using block-based kernels without zero padding on processors with AVX-512" (SPC5).
 *
 * A block begins at the first remaining entry of its strip of rows, but never beyond column cols -
 * 8, so that eight columns of x can always be read. */
#include "spc5.h"
#include <math.h>

enum { NO_COLUMN = INT32_MAX };

typedef struct front { /* the next entry of each row of a strip */
    int height;
    idx column[SPC5_HIGHEST]; /* column of the next entry; NO_COLUMN: none left */
    int64_t next[SPC5_HIGHEST], end[SPC5_HIGHEST];
} front;

static front front_of(const spmv_csr_view *A, int64_t height, int64_t strip) {
    int64_t first = strip * height;
    front at = {.height = (int)(A->rows - first < height ? A->rows - first : height)};
    for (int r = 0; r < at.height; r++) {
        at.next[r] = A->row_ptr[first + r];
        at.end[r] = A->row_ptr[first + r + 1];
        at.column[r] = at.next[r] < at.end[r] ? A->col_idx[at.next[r]] : NO_COLUMN;
    }
    return at;
}

static bool find_block(const front *at, int64_t cols, int64_t *first) {
    idx least = NO_COLUMN;
    for (int r = 0; r < at->height; r++) least = at->column[r] < least ? at->column[r] : least;
    *first = least <= cols - SPC5_WIDTH ? least : cols < SPC5_WIDTH ? 0 : cols - SPC5_WIDTH;
    return least != NO_COLUMN;
}

/* Returns which of the eight columns from `first` on have entries k .. end - 1, one bit each. Uses
 * vectors if eight entries can be read, because branches would mispredict. */
static unsigned mask_of(const spmv_csr_view *A, int64_t k, int64_t end, int64_t first) {
    const int32_t *col = A->col_idx + k;
    const uint32_t left = (uint32_t)(end - k < SPC5_WIDTH ? end - k : SPC5_WIDTH);
    unsigned mask = 0;
    if (k + SPC5_WIDTH > A->nnz) {
        for (uint32_t j = 0; j < left && col[j] < first + SPC5_WIDTH; j++)
            mask |= 1u << (col[j] - first);
        return mask;
    }
#pragma GCC unroll 1
    for (uint32_t j = 0; j < SPC5_WIDTH; j++) {
        uint32_t place = (uint32_t)col[j] - (uint32_t)first;
        mask |= (place < SPC5_WIDTH && j < left ? 1u : 0u) << (place % SPC5_WIDTH);
    }
    return mask;
}

/* Takes row r's entries of the block that begins at column `first`; returns their mask. */
static uint8_t take_row(const spmv_csr_view *A, front *at, int r, int64_t first) {
    unsigned mask = mask_of(A, at->next[r], at->end[r], first);
    at->next[r] += __builtin_popcount(mask);
    at->column[r] = at->next[r] < at->end[r] ? A->col_idx[at->next[r]] : NO_COLUMN;
    return (uint8_t)mask;
}

static int64_t count_blocks(const spmv_csr_view *A, int64_t height, int64_t strip) {
    front at = front_of(A, height, strip);
    int64_t n = 0;
    for (int64_t first; find_block(&at, A->cols, &first); n++)
        for (int r = 0; r < at.height; r++)
            if (at.column[r] < first + SPC5_WIDTH) take_row(A, &at, r, first);
    return n;
}

/* Returns the height with the least modelled time: bytes over a core's bandwidth, or the work per
 * row of a block, whichever is more. Samples about SAMPLE strips or, if rows are long, up to
 * ENTRIES. */
static int64_t choose_height(const spmv_csr_view *A) {
    enum { SAMPLE = 2048, ENTRIES = 1 << 17 };
    double least = INFINITY;
    int64_t best = 1, tall = (A->rows + SPC5_HIGHEST - 1) / SPC5_HIGHEST;
    int64_t step = tall / SAMPLE + 1;
    if (step < A->nnz / ENTRIES) step = A->nnz / ENTRIES;
    for (int64_t height = 1; height <= SPC5_HIGHEST; height *= 2) {
        int64_t blocks = 0, entries = 0;
        for (int64_t t = 0; t < tall; t += step)
            for (int64_t s = t * (SPC5_HIGHEST / height);
                 s < (t + 1) * (SPC5_HIGHEST / height) && s * height < A->rows; s++) {
                int64_t end = (s + 1) * height < A->rows ? (s + 1) * height : A->rows;
                blocks += count_blocks(A, height, s);
                entries += A->row_ptr[end] - A->row_ptr[s * height];
            }
        double bytes = (double)blocks * (double)(4 + height) + (double)entries * sizeof(real);
        double steps = (double)(blocks * (height + 1));
        double cost = bytes / 5 > steps * 5 ? bytes / 5 : steps * 5;
        if (cost < least) least = cost, best = height;
    }
    return best;
}

static size_t bytes_of(int64_t rows, int64_t nnz, int64_t height, size_t blocks) {
    size_t strips = (size_t)((rows + height - 1) / height);
    return 2 * (strips + 1) * sizeof(ofs) + blocks * (sizeof(idx) + (size_t)height) +
           (size_t)(nnz + SPC5_WIDTH) * sizeof(real);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t height = c->value[SPMV_height] ? c->value[SPMV_height] : choose_height(A);
    size_t blocks = 0;
    for (int64_t s = 0; s * height < A->rows; s++) blocks += (size_t)count_blocks(A, height, s);
    return bytes_of(A->rows, A->nnz, height, blocks);
}

/* Returns the bytes with one entry per block, of the greatest height, and the most strips. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    (void)c, (void)longest;
    return bytes_of(A->rows, A->nnz, 1, (size_t)A->nnz) + (size_t)A->nnz * (SPC5_HIGHEST - 1);
}

/* There are no more blocks than entries, so offsets can hold their number. */
static void place_blocks(const spmv_csr_view *A, int threads, spc5 *B) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t s = 0; s < B->strips; s++) {
        int64_t end = (s + 1) * B->height < A->rows ? (s + 1) * B->height : A->rows;
        B->block_ptr[s + 1] = (ofs)count_blocks(A, B->height, s);
        B->value_ptr[s + 1] = (ofs)A->row_ptr[end];
    }
    B->block_ptr[0] = B->value_ptr[0] = 0;
    for (int64_t s = 0; s < B->strips; s++) B->block_ptr[s + 1] += B->block_ptr[s];
}

/* Copies the next n values from entry k on; entries from `last` on are not read. Copies eight at
 * once if both arrays have room, because n is unpredictable to branches. */
static void copy_values(const spmv_csr_view *A, int64_t k, int64_t last, int n, real *to,
                        const real *end) {
    if (k + SPC5_WIDTH <= last && end - to >= SPC5_WIDTH) {
        real all[SPC5_WIDTH]; /* all are read before any is written: gives vectors */
        for (int j = 0; j < SPC5_WIDTH; j++) all[j] = (real)A->values[k + j];
        memcpy(to, all, sizeof all);
    } else
        for (int j = 0; j < n; j++) to[j] = (real)A->values[k + j];
}

static void fill_strip(const spmv_csr_view *A, int64_t strip, spc5 *B) {
    front at = front_of(A, B->height, strip);
    int64_t b = B->block_ptr[strip];
    real *value = B->values + B->value_ptr[strip], *end = B->values + B->value_ptr[strip + 1];
    for (int64_t first; find_block(&at, A->cols, &first); b++) {
        B->first_col[b] = (idx)first;
        for (int r = 0; r < B->height; r++) {
            uint8_t mask = 0;
            if (r < at.height) {
                int64_t from = at.next[r];
                mask = take_row(A, &at, r, first);
                copy_values(A, from, A->nnz, __builtin_popcount(mask), value, end);
            }
            B->mask[b * B->height + r] = mask;
            value += __builtin_popcount(mask);
        }
    }
}

/* Writes the values of existing blocks without reading columns; entries from `last` on are not
 * read. A constant height lets the compiler keep next[] in registers. */
static inline __attribute__((always_inline)) void
refill_strip(const spmv_csr_view *A, int64_t height, int64_t strip, int64_t last, spc5 *B) {
    const uint8_t *mask = B->mask + B->block_ptr[strip] * height;
    real *value = B->values + B->value_ptr[strip], *end = B->values + B->value_ptr[strip + 1];
    int64_t next[SPC5_HIGHEST];
    for (int64_t r = 0; r < height; r++) {
        const int64_t row = strip * height + r;
        next[r] = A->row_ptr[row < A->rows ? row : A->rows];
    }
    for (int64_t b = B->block_ptr[strip]; b < B->block_ptr[strip + 1]; b++, mask += height)
        for (int64_t r = 0; r < height; r++) {
            int n = __builtin_popcount(mask[r]);
            copy_values(A, next[r], last, n, value, end);
            next[r] += n;
            value += n;
        }
}

static int64_t rows_together(const spmv_store *store) {
    return ((const spc5 *)store)->height;
}

static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    spc5 *B = (spc5 *)store;
    const int64_t height = B->height, last = A->row_ptr[end];
    for (int64_t s = first / height; s * height < end; s++)
        if (height == 4)
            refill_strip(A, 4, s, last, B);
        else if (height == 2)
            refill_strip(A, 2, s, last, B);
        else
            refill_strip(A, 1, s, last, B);
}

static int64_t count_overflows(const spmv_csr_view *A, int threads) {
    int64_t overflows = 0;
    if (sizeof(real) == sizeof(double)) return 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t k = 0; k < A->nnz; k++)
        overflows += isinf((real)A->values[k]) && !isinf(A->values[k]);
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "spc5", sizeof(spc5), A, out));
    spc5 *B = (spc5 *)*out;
    B->s.slots = A->nnz;
    B->height = c->value[SPMV_height] ? c->value[SPMV_height] : choose_height(A);
    B->strips = (A->rows + B->height - 1) / B->height;
    TRY(STORE_ARRAY(ctx, B, block_ptr, B->strips + 1));
    TRY(STORE_ARRAY(ctx, B, value_ptr, B->strips + 1));
    place_blocks(A, threads, B);
    B->nblocks = B->block_ptr[B->strips];
    TRY(STORE_ARRAY(ctx, B, first_col, B->nblocks));
    TRY(STORE_ARRAY(ctx, B, mask, B->nblocks * B->height));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz + SPC5_WIDTH));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t s = 0; s < B->strips; s++) fill_strip(A, s, B);
    for (int64_t k = 0; k < SPC5_WIDTH; k++) B->values[A->nnz + k] = 0;
    return spmv_fits(ctx, count_overflows(A, threads));
}

static int places(const spmv_store *store, spmv_places *out) {
    const spc5 *B = (const spc5 *)store;
    *out = (spmv_places){B->values, store->nnz, sizeof(real), 0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const spc5 *A = (const spc5 *)store;
    int64_t n = 0;
    for (int64_t s = 0; s < A->strips; s++)
        for (int64_t b = A->block_ptr[s]; b < A->block_ptr[s + 1]; b++)
            for (int64_t r = 0; r < A->height; r++)
                for (int j = 0; j < SPC5_WIDTH; j++)
                    if (A->mask[b * A->height + r] >> j & 1) {
                        row[n] = (int32_t)(s * A->height + r);
                        col[n] = A->first_col[b] + j;
                        values[n] = (double)A->values[n];
                        n++;
                    }
}

static const spmv_param params[] = {{SPMV_height, 0, 0, SPC5_HIGHEST, 1, true},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(spc5_format) = {
    .name = "spc5",
    .summary = "blocks of 1, 2 or 4 rows x 8 columns: a column, a byte of mask a row, the entries",
    .params = params,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .places = places,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
    .look = spmv_spc5_look,
    .features = spmv_spc5_features,
};
