/* format_bittcf.c: windows of 8 rows, the columns of each listed once, in tiles of four columns. */
#include "bittcf.h"
#include <math.h>
#include <string.h>

enum { NO_COLUMN = INT32_MAX };

typedef struct front { /* position in each row of a window */
    int rows;
    idx column[BITTCF_ROWS]; /* next column of each row; NO_COLUMN: none left */
    int64_t next[BITTCF_ROWS], end[BITTCF_ROWS];
} front;

typedef struct tile {
    int columns; /* number of listed columns: 0 to BITTCF_COLS */
    idx column[BITTCF_COLS];
    uint32_t mask;
    int64_t entry[BITTCF_ROWS * BITTCF_COLS]; /* index in A for each bit of the mask */
} tile;

/* Returns the start of a window. order: order of the rows; NULL: original order. */
static front front_of(const spmv_csr_view *A, const idx *order, int64_t window) {
    const int64_t first = window * BITTCF_ROWS, left = A->rows - first;
    front at = {.rows = (int)(left < BITTCF_ROWS ? left : BITTCF_ROWS)};
    for (int r = 0; r < at.rows; r++) {
        const int64_t row = order ? order[first + r] : first + r;
        at.next[r] = A->row_ptr[row];
        at.end[r] = A->row_ptr[row + 1];
        at.column[r] = at.next[r] < at.end[r] ? A->col_idx[at.next[r]] : NO_COLUMN;
    }
    return at;
}

static int64_t entries_of(const front *at) {
    int64_t n = 0;
    for (int r = 0; r < at->rows; r++) n += at->end[r] - at->next[r];
    return n;
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

static int64_t count_columns(const spmv_csr_view *A, front at) {
    tile t;
    int64_t columns = 0;
    while (read_tile(A, &at, &t)) columns += t.columns;
    return columns;
}

static int64_t tiles_of(int64_t columns) {
    return columns > BITTCF_COLS ? (columns + BITTCF_COLS - 1) / BITTCF_COLS : 1;
}

/* ---- the order of rows ----------------------------------------------------------------------- */

static bittcf_sample sample_order(const spmv_csr_view *A, const idx *order) {
    const int64_t windows = bittcf_windows(A->rows), stride = bittcf_stride(windows);
    bittcf_sample all = {0, 0};
    for (int64_t w = 0; w < windows; w += stride) {
        const front at = front_of(A, order, w);
        const int64_t entries = entries_of(&at);
        if (entries > BITTCF_LONG_SAMPLE) continue;
        all.entries += entries;
        all.columns += count_columns(A, at);
    }
    return all;
}

/* Finds the best order of the rows among those by keys, which becomes an array of the store unless
 * it is their own. */
static spmv_status order_rows(spmv_ctx *ctx, const spmv_csr_view *A, int threads, bittcf *B) {
    bittcf_sample of[BITTCF_ORDERS] = {sample_order(A, NULL)};
    idx *order[BITTCF_ORDERS] = {NULL};
    spmv_status status = SPMV_OK;
    for (int k = SPMV_ROWS_ENDS; k < BITTCF_ORDERS && status == SPMV_OK; k++) {
        order[k] = spmv_host_alloc((size_t)A->rows * sizeof *order[k]);
        status = order[k] ? spmv_order_rows(ctx, A, (spmv_row_order)k, threads, order[k])
                          : spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: ordering rows");
        if (status == SPMV_OK) of[k] = sample_order(A, order[k]);
    }
    const int best = status == SPMV_OK ? bittcf_best(of) : SPMV_ROWS_KEEP;
    if (order[best]) status = STORE_ARRAY(ctx, B, s.order, A->rows);
    if (order[best] && status == SPMV_OK)
        memcpy(B->s.order, order[best], (size_t)A->rows * sizeof(idx));
    for (int k = SPMV_ROWS_ENDS; k < BITTCF_ORDERS; k++) spmv_host_free(order[k]);
    return status;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return bittcf_bytes(A->rows, A->nnz, bittcf_most_tiles(A->rows, A->nnz), true);
}

/* Stores the values of a tile; returns the number of values that overflow in f32. */
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

/* Fills the tiles of a window; a window without entries has one tile without entries. value_ptr of
 * the window's first tile is set on entry. */
static int64_t fill_window(const spmv_csr_view *A, int64_t window, bittcf *B) {
    front at = front_of(A, B->s.order, window);
    int64_t overflows = 0, value = B->value_ptr[B->tile_ptr[window]];
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
    int64_t overflows = 0, before = 0;
    for (int64_t w = 0; w < B->windows; w++) {
        const front at = front_of(A, B->s.order, w);
        B->value_ptr[B->tile_ptr[w]] = (ofs)before;
        before += entries_of(&at);
    }
    B->value_ptr[B->tiles] = (ofs)before;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t w = 0; w < B->windows; w++) overflows += fill_window(A, w, B);
    return overflows;
}

static void place_tiles(const spmv_csr_view *A, int threads, bittcf *B) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t w = 0; w < B->windows; w++)
        B->tile_ptr[w + 1] = (ofs)tiles_of(count_columns(A, front_of(A, B->s.order, w)));
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
    if (A->rows > 0) TRY(order_rows(ctx, A, threads, B));
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

/* Writes new values of a window: each bit of a mask is the next entry of its row. */
static void refill_window(const spmv_csr_view *A, int64_t window, bittcf *B) {
    front at = front_of(A, B->s.order, window);
    real *to = B->values + B->value_ptr[B->tile_ptr[window]];
    for (int64_t n = B->tile_ptr[window]; n < B->tile_ptr[window + 1]; n++)
        for (uint32_t left = B->mask[n]; left; left &= left - 1)
            *to++ = (real)A->values[at.next[__builtin_ctz(left) / BITTCF_COLS]++];
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    bittcf *B = (bittcf *)store;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t w = 0; w < B->windows; w++) refill_window(A, w, B);
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
                row[k] = (int32_t)bittcf_row(B, w, bit / BITTCF_COLS);
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
    .refill = refill,
    .look = spmv_bittcf_look,
    .features = spmv_bittcf_features,
};
