/* format_bittcf.c: windows of 8 rows, the columns of each listed once, in tiles of four columns. */
#include "bittcf.h"
#include <math.h>

enum { NO_COLUMN = INT32_MAX };

typedef struct front { /* how far each row of a window has been read */
    int rows;
    idx column[BITTCF_ROWS]; /* each row's next column; NO_COLUMN: none is left */
    int64_t next[BITTCF_ROWS], end[BITTCF_ROWS];
} front;

typedef struct tile {
    int columns; /* that are listed: 0 to BITTCF_COLS */
    idx column[BITTCF_COLS];
    uint32_t mask;
    int64_t entry[BITTCF_ROWS * BITTCF_COLS]; /* for each bit of the mask its index in A */
} tile;

static front front_of(const spmv_csr_view *A, int64_t window) {
    const int64_t first = window * BITTCF_ROWS, left = A->rows - first;
    front at = {.rows = (int)(left < BITTCF_ROWS ? left : BITTCF_ROWS)};
    for (int r = 0; r < at.rows; r++) {
        at.next[r] = A->row_ptr[first + r];
        at.end[r] = A->row_ptr[first + r + 1];
        at.column[r] = at.next[r] < at.end[r] ? A->col_idx[at.next[r]] : NO_COLUMN;
    }
    return at;
}

/* Adds the entries of the window's next column to a tile. Returns false if there is none. */
static bool read_column(const spmv_csr_view *A, front *at, tile *t) {
    idx least = NO_COLUMN;
    for (int r = 0; r < at->rows; r++) least = at->column[r] < least ? at->column[r] : least;
    if (least == NO_COLUMN) return false;
    for (int r = 0; r < at->rows; r++) {
        if (at->column[r] != least) continue;
        const int bit = r * BITTCF_COLS + t->columns;
        t->mask |= 1u << bit;
        t->entry[bit] = at->next[r]++;
        at->column[r] = at->next[r] < at->end[r] ? A->col_idx[at->next[r]] : NO_COLUMN;
    }
    t->column[t->columns++] = least;
    return true;
}

/* Reads the window's next columns. Returns false if there are none. */
static bool read_tile(const spmv_csr_view *A, front *at, tile *t) {
    t->columns = 0, t->mask = 0;
    while (t->columns < BITTCF_COLS && read_column(A, at, t)) {
    }
    return t->columns > 0;
}

static int64_t count_tiles(const spmv_csr_view *A, int64_t window) {
    front at = front_of(A, window);
    tile t;
    int64_t n = 0;
    while (read_tile(A, &at, &t)) n++;
    return n > 0 ? n : 1;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return bittcf_bytes(A->rows, A->nnz, bittcf_most_tiles(A->rows, A->nnz));
}

/* Returns how many of the tile's values f32 cannot hold. */
static int64_t put_values(const spmv_csr_view *A, const tile *t, real *to) {
    int64_t overflows = 0;
    for (uint32_t left = t->mask; left; left &= left - 1, to++) {
        const double value = A->values[t->entry[__builtin_ctz(left)]];
        *to = (real)value;
        overflows += isinf(*to) && !isinf(value);
    }
    return overflows;
}

static void put_columns(const tile *t, idx *to) {
    const idx last = t->columns > 0 ? t->column[t->columns - 1] : 0;
    for (int c = 0; c < BITTCF_COLS; c++) to[c] = c < t->columns ? t->column[c] : last;
}

/* A window without entries has a tile without entries. */
static int64_t fill_window(const spmv_csr_view *A, int64_t window, bittcf *B) {
    front at = front_of(A, window);
    int64_t overflows = 0, value = A->row_ptr[window * BITTCF_ROWS];
    for (int64_t n = B->tile_ptr[window]; n < B->tile_ptr[window + 1]; n++) {
        tile t;
        read_tile(A, &at, &t);
        put_columns(&t, B->col_idx + n * BITTCF_COLS);
        overflows += put_values(A, &t, B->values + value);
        B->mask[n] = t.mask;
        B->value_ptr[n] = (ofs)value;
        value += __builtin_popcount(t.mask);
    }
    return overflows;
}

static int64_t fill_windows(const spmv_csr_view *A, int threads, bittcf *B) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t w = 0; w < B->windows; w++) overflows += fill_window(A, w, B);
    B->value_ptr[B->tiles] = (ofs)A->nnz;
    return overflows;
}

static void place_tiles(const spmv_csr_view *A, int threads, bittcf *B) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t w = 0; w < B->windows; w++) B->tile_ptr[w + 1] = (ofs)count_tiles(A, w);
    B->tile_ptr[0] = 0;
    for (int64_t w = 0; w < B->windows; w++) {
        const ofs tiles = B->tile_ptr[w + 1];
        B->longest = tiles > B->longest ? tiles : B->longest;
        B->tile_ptr[w + 1] = B->tile_ptr[w] + tiles;
    }
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    (void)c;
    TRY(spmv_store_new(ctx, "bittcf", sizeof(bittcf), A, out));
    bittcf *B = (bittcf *)*out;
    B->s.slots = A->nnz;
    B->windows = bittcf_windows(A->rows);
    TRY(STORE_ARRAY(ctx, B, tile_ptr, B->windows + 1));
    place_tiles(A, threads, B);
    B->tiles = B->tile_ptr[B->windows];
    TRY(STORE_ARRAY(ctx, B, value_ptr, B->tiles + 1));
    TRY(STORE_ARRAY(ctx, B, col_idx, B->tiles * BITTCF_COLS));
    TRY(STORE_ARRAY(ctx, B, mask, B->tiles));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz));
    return spmv_fits(ctx, fill_windows(A, threads, B));
}

/* ---- other values ---------------------------------------------------------------------------- */

static int64_t rows_together(const spmv_store *store) {
    (void)store;
    return BITTCF_ROWS;
}

/* A bit of a mask is the next entry of its row. */
static void refill_window(const spmv_csr_view *A, int64_t window, bittcf *B) {
    int64_t next[BITTCF_ROWS];
    for (int64_t r = 0; r < BITTCF_ROWS; r++) {
        const int64_t row = window * BITTCF_ROWS + r;
        next[r] = A->row_ptr[row < A->rows ? row : A->rows];
    }
    real *to = B->values + B->value_ptr[B->tile_ptr[window]];
    for (int64_t n = B->tile_ptr[window]; n < B->tile_ptr[window + 1]; n++)
        for (uint32_t left = B->mask[n]; left; left &= left - 1)
            *to++ = (real)A->values[next[__builtin_ctz(left) / BITTCF_COLS]++];
}

static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    for (int64_t w = first / BITTCF_ROWS; w * BITTCF_ROWS < end; w++)
        refill_window(A, w, (bittcf *)store);
}

static int places(const spmv_store *store, spmv_places *out) {
    *out = (spmv_places){((const bittcf *)store)->values, store->nnz, sizeof(real), 0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const bittcf *B = (const bittcf *)store;
    int64_t k = 0;
    for (int64_t w = 0; w < B->windows; w++)
        for (int64_t n = B->tile_ptr[w]; n < B->tile_ptr[w + 1]; n++)
            for (uint32_t left = B->mask[n]; left; left &= left - 1, k++) {
                const int bit = __builtin_ctz(left);
                row[k] = (int32_t)(w * BITTCF_ROWS + bit / BITTCF_COLS);
                col[k] = B->col_idx[n * BITTCF_COLS + bit % BITTCF_COLS];
                values[k] = (double)B->values[k];
            }
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(bittcf_format) = {
    .name = "bittcf",
    .summary = "tiles of 8 x 4 for tensor cores: listed columns, a bit mask and packed values",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .places = places,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
    .look = spmv_bittcf_look,
    .features = spmv_bittcf_features,
};
