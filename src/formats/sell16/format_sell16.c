/* format_sell16.c: slices of eight rows sorted by length, columns in 16 bits if the column range of
 * the slice allows it, values in the fewest bytes that hold them all. */
#include "formats/row_order.h"
#include "spmv_order.h"
#include "formats/value_set.h"
#include "sell16.h"

static int64_t slices_of(int64_t rows) {
    return (rows + SELL16_ROWS - 1) / SELL16_ROWS;
}

/* ---- slices ---------------------------------------------------------------------------------- */

typedef struct slice_rows { /* the rows of a slice, longest first */
    const int32_t *col[SELL16_ROWS];
    const double *value[SELL16_ROWS];
    int32_t length[SELL16_ROWS];
} slice_rows;

/* order: the rows of the matrix in stored order; NULL: that of B. */
static slice_rows rows_of(const spmv_csr_view *A, const idx *order, const sell16_slices *B,
                          int64_t slice) {
    slice_rows s = {.length = {0}};
    for (int r = 0; r < SELL16_ROWS && slice * SELL16_ROWS + r < A->rows; r++) {
        int64_t at = slice * SELL16_ROWS + r;
        int64_t i = order ? order[at] : B->perm ? at / B->sigma * B->sigma + B->perm[at] : at;
        s.col[r] = A->col_idx + A->row_ptr[i];
        s.value[r] = A->values + A->row_ptr[i];
        s.length[r] = (int32_t)row_length(A, i);
    }
    return s;
}

/* Returns the slots of the slice: its steps and tails. */
static int64_t slots_of(const slice_rows *s, int64_t width) {
    int64_t slots = SELL16_ROWS * width;
    for (int r = 0; r < SELL16_ROWS; r++) slots += s->length[r] > width ? s->length[r] - width : 0;
    return slots;
}

/* Describes a slice. out.slot: number of its slots; out.column: of its units of columns. */
static sell16_slice describe_slice(const slice_rows *s) {
    sell16_slice out = {.base = INT32_MAX, .width = s->length[SELL16_LANES - 1], .uneven = -1};
    int32_t highest = 0;
    for (int r = 0; r < SELL16_ROWS; r++) {
        if (s->length[r] != out.width) out.uneven = 0;
        if (s->length[r] == 0) continue;
        int32_t low = s->col[r][0], high = s->col[r][s->length[r] - 1];
        out.base = low < out.base ? low : out.base;
        highest = high > highest ? high : highest;
    }
    if (out.base == INT32_MAX) out.base = 0; /* no entries */
    out.wide = highest - out.base > UINT16_MAX;
    out.slot = slots_of(s, out.width);
    out.column = (out.slot * (1 + out.wide) + SELL16_ROWS - 1) / SELL16_ROWS * SELL16_ROWS;
    return out;
}

static void describe_slices(const spmv_csr_view *A, const idx *order, int threads,
                            sell16_slices *B) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < B->nslices; k++) {
        slice_rows s = rows_of(A, order, B, k);
        B->slice[k] = describe_slice(&s);
    }
}

/* Turns the numbers of slots and units into where slices begin. */
static void place_slices(sell16_slices *B) {
    for (int64_t k = 0; k < B->nslices; k++) {
        sell16_slice *slice = B->slice + k;
        int64_t slots = slice->slot, units = slice->column;
        slice->slot = B->s.slots;
        slice->column = B->units;
        if (slice->uneven == 0) slice->uneven = (int32_t)B->nuneven++;
        B->s.slots += slots;
        B->units += units;
    }
}

/* Stores the order within windows, unless it is the matrix's. */
static spmv_status place_rows(spmv_ctx *ctx, const spmv_csr_view *A, const idx *order, int threads,
                              sell16_slices *B) {
    int64_t moved = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : moved)
    for (int64_t i = 0; i < A->rows; i++) moved += order[i] != i;
    if (moved == 0) return SPMV_OK;
    TRY(STORE_ARRAY(ctx, B, perm, A->rows));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) B->perm[i] = (uint16_t)(order[i] & (B->sigma - 1));
    return SPMV_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static spmv_status choose_values(spmv_ctx *ctx, const spmv_csr_view *A, bool codes, int threads,
                                 sell16_slices *B, value_set *set) {
    real codebook[VALUE_CODEBOOK_SIZE];
    B->value_code = choose_code(A, codes, threads, codebook, set);
    B->value_bytes = coded_bytes(B->value_code);
    B->s.values = code_word(B->value_code);
    B->nvalues = set->count;
    if (set->count == 0) return SPMV_OK;
    TRY(STORE_ARRAY(ctx, B, codebook, VALUE_CODEBOOK_SIZE));
    memcpy(B->codebook, codebook, sizeof codebook);
    return SPMV_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

typedef struct target { /* destination of the rest of a slice; columns NULL: values only */
    uint16_t *columns;
    uint8_t *values;
    int32_t base;
} target;

INLINE void put_column(target *t, int32_t col, bool wide) {
    if (!t->columns) return;
    const uint32_t distance = (uint32_t)(col - t->base);
    const uint16_t low = (uint16_t)distance;
    memcpy(t->columns, wide ? (const void *)&distance : &low, wide ? 4 : 2);
    t->columns += wide ? 2 : 1;
}

/* Returns 1 if the value overflows the precision. */
INLINE int put_entry(target *t, const value_set *set, int32_t col, double value, int code,
                     bool wide) {
    put_column(t, col, wide);
    int overflow = put_coded(t->values, set, value, code);
    t->values += coded_bytes(code);
    return overflow;
}

INLINE void put_padding(target *t, int code, bool wide) {
    put_column(t, t->base, wide);
    memset(t->values, 0, (size_t)coded_bytes(code));
    t->values += coded_bytes(code);
}

/* Writes steps, then tails, in the order of memory. Returns the number of values that overflow. */
INLINE int64_t fill_slice(target t, const slice_rows *rows, const value_set *set, int32_t width,
                          int code, bool wide) {
    /* a copy: the compiler must assume that bytes written may alias *rows */
    const slice_rows s = *rows;
    const int32_t full = s.length[SELL16_ROWS - 1]; /* steps without padding */
    int64_t overflows = 0;
    for (int32_t n = 0; n < full; n++)
        for (int r = 0; r < SELL16_ROWS; r++)
            overflows += put_entry(&t, set, s.col[r][n], s.value[r][n], code, wide);
    for (int32_t n = full; n < width; n++)
        for (int r = 0; r < SELL16_ROWS; r++)
            if (n < s.length[r])
                overflows += put_entry(&t, set, s.col[r][n], s.value[r][n], code, wide);
            else
                put_padding(&t, code, wide);
    for (int r = 0; r < SELL16_LANES; r++)
        for (int32_t n = width; n < s.length[r]; n++)
            overflows += put_entry(&t, set, s.col[r][n], s.value[r][n], code, wide);
    return overflows;
}

/* Compiles the loops above once for every code and width of columns: to test these for every entry
 * takes longer than to write it. */
INLINE int64_t fill_coded(target t, const slice_rows *s, const value_set *set,
                          const sell16_slice *slice, int code) {
    if (!t.columns) {
        t.columns = NULL; /* so that the compiler knows it */
        return fill_slice(t, s, set, slice->width, code, false);
    }
    return slice->wide ? fill_slice(t, s, set, slice->width, code, true)
                       : fill_slice(t, s, set, slice->width, code, false);
}

/* Clears the last unit of a slice's columns: a slice has a multiple of SELL16_ROWS units, and may
 * use only part of the last ones. */
static void clear_last(const sell16_slices *B, int64_t k) {
    const int64_t end = k + 1 < B->nslices ? B->slice[k + 1].column : B->units;
    if (end > B->slice[k].column)
        memset(B->columns + end - SELL16_ROWS, 0, SELL16_ROWS * sizeof *B->columns);
}

static int64_t fill_one(const sell16_slices *B, int64_t k, const slice_rows *s,
                        const value_set *set, bool pattern) {
    const sell16_slice *slice = B->slice + k;
    const target t = {pattern ? B->columns + slice->column : NULL,
                      B->values + slice->slot * B->value_bytes, slice->base};
    if (pattern) clear_last(B, k);
    if (pattern && slice->uneven >= 0)
        memcpy(B->length + slice->uneven * SELL16_ROWS, s->length, sizeof s->length);
    switch (B->value_code) {
    case VALUE_RAW: return fill_coded(t, s, set, slice, VALUE_RAW);
    case VALUE_F32: return fill_coded(t, s, set, slice, VALUE_F32);
    case VALUE_CODEBOOK: return fill_coded(t, s, set, slice, VALUE_CODEBOOK);
    default: return fill_coded(t, s, set, slice, VALUE_ONE);
    }
}

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, const idx *order,
                        const value_set *set, int threads, sell16_slices *B) {
    int64_t overflows = 0;
    TRY(STORE_ARRAY(ctx, B, length, B->nuneven * SELL16_ROWS));
    TRY(STORE_ARRAY(ctx, B, columns, B->units));
    TRY(STORE_ARRAY(ctx, B, values, B->s.slots * B->value_bytes));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t k = 0; k < B->nslices; k++) {
        const slice_rows s = rows_of(A, order, B, k);
        overflows += fill_one(B, k, &s, set, true);
    }
    return spmv_fits(ctx, overflows);
}

static bool holds_any(const spmv_store *store) {
    return ((const sell16_slices *)store)->value_code == VALUE_RAW;
}

/* A longer codebook might not fit the registers in which the kernel keeps it. */
static spmv_status holds(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store) {
    const sell16_slices *B = (const sell16_slices *)store;
    return check_code(ctx, A, B->value_code, B->nvalues, threads);
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    sell16_slices *B = (sell16_slices *)store;
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    code_holds(A, B->value_code, B->nvalues, threads, codebook, &set);
    if (B->codebook) memcpy(B->codebook, codebook, sizeof codebook);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < B->nslices; k++) {
        const slice_rows s = rows_of(A, NULL, B, k);
        fill_one(B, k, &s, &set, false);
    }
}

/* ---- the format ------------------------------------------------------------------------------ */

/* At least half of the slots of a step hold entries. Columns and values count in full width. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    size_t slot = sizeof(real) + sizeof(idx), slices = (size_t)slices_of(A->rows);
    size_t fixed = slices * (sizeof(sell16_slice) + SELL16_ROWS * sizeof(int32_t) +
                             SELL16_ROWS * sizeof(uint16_t)) +
                   (size_t)A->rows * sizeof(uint16_t) + VALUE_CODEBOOK_SIZE * sizeof(real);
    (void)c;
    return (size_t)A->nnz * 2 * slot + fixed;
}

static spmv_status build_in_order(spmv_ctx *ctx, const spmv_csr_view *A, bool codes,
                                  const idx *order, int threads, sell16_slices *B) {
    value_set set;
    describe_slices(A, order, threads, B);
    place_slices(B);
    TRY(place_rows(ctx, A, order, threads, B));
    TRY(choose_values(ctx, A, codes, threads, B, &set));
    return fill(ctx, A, order, &set, threads, B);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "sell16", sizeof(sell16_slices), A, out));
    sell16_slices *B = (sell16_slices *)*out;
    B->sigma = c->value[SPMV_sigma];
    B->nslices = slices_of(A->rows);
    TRY(STORE_ARRAY(ctx, B, slice, B->nslices));
    idx *order;
    TRY(sorted_rows(ctx, A, B->sigma, threads, &order));
    spmv_status status = build_in_order(ctx, A, c->value[SPMV_codes], order, threads, B);
    spmv_host_free(order);
    return status;
}

/* Returns the slot of entry k of row r of a slice; tail: tail slots of the rows before it. */
static int64_t place_of(const sell16_slice *slice, int r, int64_t k, int64_t tail) {
    return k < slice->width ? k * SELL16_ROWS + r
                            : slice->width * SELL16_ROWS + tail + k - slice->width;
}

static int32_t column_at(const sell16_slices *A, const sell16_slice *slice, int64_t at) {
    const uint16_t *from = A->columns + slice->column;
    uint32_t distance;
    if (!slice->wide) return slice->base + from[at];
    memcpy(&distance, from + 2 * at, sizeof distance);
    return slice->base + (int32_t)distance;
}

static int places(const spmv_store *store, spmv_places *out) {
    const sell16_slices *B = (const sell16_slices *)store;
    *out = (spmv_places){B->values, store->slots, sizeof(real), 0};
    return B->value_code == VALUE_RAW;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const sell16_slices *A = (const sell16_slices *)store;
    int64_t n = 0;
    for (int64_t k = 0; k < A->nslices; k++) {
        const sell16_slice *slice = A->slice + k;
        int64_t tail = 0;
        for (int r = 0; r < SELL16_ROWS && k * SELL16_ROWS + r < store->rows; r++) {
            int64_t i = k * SELL16_ROWS + r, first = i & ~(A->sigma - 1);
            int64_t length =
                slice->uneven < 0 ? slice->width : A->length[slice->uneven * SELL16_ROWS + r];
            for (int64_t e = 0; e < length; e++, n++) {
                int64_t at = place_of(slice, r, e, tail);
                row[n] = (int32_t)spmv_stored_row(store, A->perm ? first + A->perm[i] : i);
                col[n] = column_at(A, slice, at);
                values[n] =
                    (double)coded_value(A->values, A->codebook, slice->slot + at, A->value_code);
            }
            if (length > slice->width) tail += length - slice->width;
        }
    }
}

static const spmv_param params[] = {{SPMV_sigma, 1024, SELL16_ROWS, SELL16_MOST_SIGMA, 1, true},
                                    {SPMV_codes, 1, 0, 1, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(sell16_format) = {
    .name = "sell16",
    .summary = "slices of eight rows sorted by length, 16-bit columns, values in the fewest bytes",
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
