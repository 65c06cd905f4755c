/* format_bittcf.c: windows of 8 rows, the columns of each listed once, in tiles of four columns. */
#include "bittcf.h"
#include <math.h>
#include <stdlib.h>
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

typedef struct keyed { /* a row or a window, with its sort key */
    uint64_t key;
    idx number;
} keyed;

static int by_key(const void *a, const void *b) {
    const keyed *p = a, *q = b;
    return p->key != q->key ? (p->key > q->key) - (p->key < q->key)
                            : (p->number > q->number) - (p->number < q->number);
}

static uint64_t hash_key_of(const spmv_csr_view *A, int64_t row) {
    const int64_t begin = A->row_ptr[row], n = A->row_ptr[row + 1] - begin;
    uint32_t least[BITTCF_HASHES] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    for (int64_t k = 0; k < n && k < BITTCF_HASHED; k++)
        for (int i = 0; i < BITTCF_HASHES; i++) {
            const uint32_t h = bittcf_hash(A->col_idx[begin + k], i);
            least[i] = h < least[i] ? h : least[i];
        }
    return bittcf_hash_key(least);
}

static void sort_rows(const spmv_csr_view *A, int how, keyed *of, idx *order) {
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t begin = A->row_ptr[i], n = A->row_ptr[i + 1] - begin;
        of[i] = (keyed){how == BITTCF_BY_ENDS ? bittcf_ends_key(A->col_idx + begin, n)
                                              : hash_key_of(A, i),
                        (idx)i};
    }
    qsort(of, (size_t)A->rows, sizeof *of, by_key);
    for (int64_t i = 0; i < A->rows; i++) order[i] = of[i].number;
}

/* Sorts windows by their first columns. from: an order of rows. */
static void sort_windows(const spmv_csr_view *A, const idx *from, keyed *of, idx *to) {
    const int64_t windows = bittcf_windows(A->rows);
    for (int64_t w = 0; w < windows; w++) {
        const front at = front_of(A, from, w);
        of[w] = (keyed){NO_COLUMN, (idx)w};
        for (int r = 0; r < at.rows && at.rows == BITTCF_ROWS; r++)
            if ((uint64_t)at.column[r] < of[w].key) of[w].key = (uint64_t)at.column[r];
    }
    qsort(of, (size_t)windows, sizeof *of, by_key);
    for (int64_t i = 0; i < A->rows; i++)
        to[i] = from[of[i / BITTCF_ROWS].number * (int64_t)BITTCF_ROWS + i % BITTCF_ROWS];
}

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

typedef struct grouping { /* memory for the candidate orders */
    keyed *of;
    idx *order[BITTCF_ORDERS], *scratch;
} grouping;

/* Returns the best order; NULL: original order. */
static const idx *group_rows(const spmv_csr_view *A, grouping *g) {
    bittcf_sample of[BITTCF_ORDERS] = {sample_order(A, NULL)};
    sort_rows(A, BITTCF_BY_ENDS, g->of, g->order[BITTCF_BY_ENDS]);
    sort_rows(A, BITTCF_BY_HASH, g->of, g->scratch);
    sort_windows(A, g->scratch, g->of, g->order[BITTCF_BY_HASH]);
    for (int k = BITTCF_BY_ENDS; k < BITTCF_ORDERS; k++) of[k] = sample_order(A, g->order[k]);
    return g->order[bittcf_best(of)];
}

/* Chooses the order of the rows, and stores it as an array unless it is the original order. */
static spmv_status order_rows(spmv_ctx *ctx, const spmv_csr_view *A, bittcf *B) {
    const size_t n = (size_t)A->rows;
    grouping g = {
        .of = spmv_host_alloc(n * sizeof *g.of),
        .order = {NULL, spmv_host_alloc(n * sizeof(idx)), spmv_host_alloc(n * sizeof(idx))},
        .scratch = spmv_host_alloc(n * sizeof(idx))};
    spmv_status status = SPMV_OK;
    if (n > 0 && (!g.of || !g.order[BITTCF_BY_ENDS] || !g.order[BITTCF_BY_HASH] || !g.scratch)) {
        status = spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: grouping rows takes %.1f MB",
                           1e-6 * (double)n * (sizeof *g.of + 3 * sizeof(idx)));
    } else if (n > 0) {
        const idx *best = group_rows(A, &g);
        if (best) status = STORE_ARRAY(ctx, B, row, A->rows);
        if (best && status == SPMV_OK) memcpy(B->row, best, n * sizeof *best);
    }
    spmv_host_free(g.of);
    spmv_host_free(g.order[BITTCF_BY_ENDS]);
    spmv_host_free(g.order[BITTCF_BY_HASH]);
    spmv_host_free(g.scratch);
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
    front at = front_of(A, B->row, window);
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
        const front at = front_of(A, B->row, w);
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
        B->tile_ptr[w + 1] = (ofs)tiles_of(count_columns(A, front_of(A, B->row, w)));
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
    TRY(order_rows(ctx, A, B));
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
    front at = front_of(A, B->row, window);
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
