/* format_hubs.c: rows in slices of one warp each, with nonzeros in hot columns stored separately.
 * The store is a function of the matrix, hubs and codes alone; cuda/hubs/build_hubs.cu makes the
 * same bytes. */
#include "formats/value_set.h"
#include "hubs.h"

/* ---- which columns are hot ------------------------------------------------------------------- */

static void count_degrees(const spmv_csr_view *A, int threads, int32_t *degree) {
    memset(degree, 0, (size_t)A->cols * sizeof *degree);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < A->nnz; k++)
        __atomic_fetch_add(degree + A->col_idx[k], 1, __ATOMIC_RELAXED);
}

static uint32_t degree_of(int32_t entries) {
    return entries < HUBS_DEGREE ? (uint32_t)entries : HUBS_DEGREE;
}

static hubs_rule choose_rule(const int32_t *degree, int64_t cols, int64_t most, bool given) {
    uint32_t columns[HUBS_DEGREE + 1] = {0};
    for (int64_t j = 0; j < cols; j++)
        if (degree[j] > 1) columns[degree_of(degree[j])]++; /* a column used once is not hot */
    return hubs_rule_for(columns, most, given);
}

/* Turns degree[j] into 1 + the index of column j among the hot ones, or 0. */
static void take_hubs(hubs_rule rule, int64_t cols, int32_t *degree, idx *hot) {
    int32_t n = 0;
    for (int64_t j = 0; j < cols; j++) {
        const uint32_t d = degree_of(degree[j]);
        const bool is_tie = d + 1 == rule.least && rule.ties > 0, is_hot = d >= rule.least;
        rule.ties -= is_tie;
        if (is_hot || is_tie) hot[n++] = (idx)j;
        degree[j] = is_hot || is_tie ? n : 0;
    }
}

/* ---- rows and slices ------------------------------------------------------------------------- */

typedef struct work { /* memory while a store is built */
    int32_t *place;   /* [cols] degree, then the result of take_hubs */
    idx *hot;         /* [rows] entries in hot columns */
    uint16_t *key;    /* [rows] */
    uint32_t rows[HUBS_CLASSES];
} work;

static void classify_rows(const spmv_csr_view *A, int threads, work *w) {
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) {
        idx hot = 0;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            hot += w->place[A->col_idx[k]] != 0;
        hubs_shape s = hubs_shape_of(hot, A->row_ptr[i + 1] - A->row_ptr[i] - hot);
        w->hot[i] = hot;
        w->key[i] = (uint16_t)hubs_key_of(&s);
    }
}

/* Sorts by ascending key; stable. */
static void sort_rows(int64_t rows, work *w, idx *order) {
    int64_t place[HUBS_KEYS + 1] = {0};
    for (int64_t i = 0; i < rows; i++) {
        place[w->key[i] + 1]++;
        w->rows[w->key[i] >> HUBS_CLASS_SHIFT]++;
    }
    for (int k = 0; k < HUBS_KEYS; k++) place[k + 1] += place[k];
    for (int64_t i = 0; i < rows; i++) order[place[w->key[i]]++] = (idx)i;
}

static hubs_cut entries_of(const spmv_csr_view *A, const work *w, idx row) {
    const int64_t hot = w->hot[row];
    return (hubs_cut){hot, A->row_ptr[row + 1] - A->row_ptr[row] - hot};
}

static int segments_of(const hubs_cut *cut) {
    return hubs_shape_of(cut->hot, cut->rest).segments;
}

static void list_segments(hubs *B) {
    hubs_segment *to = B->segment;
    for (int64_t p = 0; p < B->ncuts; p++) {
        const int n = segments_of(B->cut + p);
        const idx first = (idx)(to - B->segment);
        for (int q = 0; q < n; q++) *to++ = (hubs_segment){B->order[p], first, n, (int32_t)p};
    }
}

static hubs_slice segment_at(const hubs *B, int64_t s) {
    const hubs_segment *t = B->segment + s;
    const hubs_cut *e = B->cut + t->cut;
    const int64_t q = s - t->first, n = t->segments;
    int64_t rest = hubs_segment_begins(e->rest, n, q + 1) - hubs_segment_begins(e->rest, n, q);
    int64_t hot = hubs_segment_begins(e->hot, n, q + 1) - hubs_segment_begins(e->hot, n, q);
    return (hubs_slice){.row = (uint32_t)s,
                        .rest = (uint8_t)hubs_rounded_up(rest, HUBS_LANES),
                        .pairs = (uint8_t)hubs_rounded_up(hot, 2 * HUBS_LANES),
                        .rows = 1};
}

/* Returns slice s of class c, whose lanes are as long as its longest row needs. */
static hubs_slice slice_at(const spmv_csr_view *A, const work *w, const hubs *B,
                           const hubs_classes *all, int c, int64_t s) {
    const int64_t each = HUBS_LANES / hubs_lanes_of(c);
    const int64_t first = all->row[c] + (s - all->slice[c]) * each, left = all->row[c + 1] - first;
    hubs_slice t = {.row = (uint32_t)first,
                    .lanes = (uint8_t)hubs_lanes_of(c),
                    .rows = (uint8_t)(left < each ? left : each)};
    for (int64_t p = first; p < first + t.rows; p++) {
        const hubs_cut e = entries_of(A, w, B->order[p]);
        const hubs_shape shape = hubs_shape_of(e.hot, e.rest);
        if (shape.rest > t.rest) t.rest = (uint8_t)shape.rest;
        if (shape.pairs > t.pairs) t.pairs = (uint8_t)shape.pairs;
    }
    return t;
}

static void measure_slices(const spmv_csr_view *A, const work *w, const hubs_classes *all,
                           int threads, hubs *B) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t s = 0; s < B->nsegments; s++) B->slice[s] = segment_at(B, s);
    for (int c = 1; c < HUBS_CLASSES; c++)
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t s = all->slice[c]; s < all->slice[c + 1]; s++)
            B->slice[s] = slice_at(A, w, B, all, c, s);
    for (int64_t s = 0; s < B->nslices; s++) {
        hubs_slice *t = B->slice + s;
        t->word = (uint32_t)B->words, t->value = (uint32_t)B->values;
        B->words += t->rest + t->pairs;
        B->values += t->rest + 2 * t->pairs;
    }
}

/* ---- the entries of a row -------------------------------------------------------------------- */

/* Returns how many rows begin in slice s; a row that is cut begins in its first segment. */
static int rows_in(const hubs *B, int64_t s) {
    const hubs_slice *t = B->slice + s;
    return t->lanes ? t->rows : B->segment[s].first == s;
}

/* Returns the number of values that overflow. */
static int64_t fill_row(const spmv_csr_view *A, const work *w, const value_set *set,
                        const hubs_row *r, hubs *B) {
    int64_t ranks[2] = {0, 0}, overflows = 0;
    for (int64_t k = A->row_ptr[r->row]; k < A->row_ptr[r->row + 1]; k++) {
        const uint32_t place = (uint32_t)w->place[A->col_idx[k]];
        const bool is_hot = place != 0;
        const hubs_slot at = hubs_slot_of(B, r, is_hot, ranks[is_hot]++);
        B->word[at.word] |= is_hot ? place << 16 * at.half : (uint32_t)A->col_idx[k] + 1;
        overflows +=
            put_coded(B->value + at.value * B->value_bytes, set, A->values[k], B->value_code);
    }
    return overflows;
}

static int64_t fill_slices(const spmv_csr_view *A, const work *w, const value_set *set, int threads,
                           hubs *B) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads) reduction(+ : overflows)
    for (int64_t s = 0; s < B->nslices; s++)
        for (int n = 0; n < rows_in(B, s); n++) {
            const hubs_row r = hubs_row_in(B, s, n);
            overflows += fill_row(A, w, set, &r, B);
        }
    return overflows;
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Returns an upper bound. A row has at most twice as many slots as entries. A slice is as long as
 * its longest row; because rows are sorted by length, this adds at most BETWEEN slots in all. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    enum { BETWEEN = 1 << 18, SLICE = 3 * HUBS_REST * HUBS_GROWS * HUBS_LANES };
    const size_t n = (size_t)A->nnz, r = (size_t)A->rows, most = (size_t)hubs_most(c);
    const size_t segments = hubs_most_segments(A), cuts = segments / HUBS_GROWS;
    const size_t slices = hubs_most_slices(A);
    const size_t between = SLICE * slices < BETWEEN ? SLICE * slices : BETWEEN;
    return (2 * n + between) * (sizeof(uint32_t) + sizeof(real)) + slices * sizeof(hubs_slice) +
           segments * sizeof(hubs_segment) + cuts * sizeof(hubs_cut) + r * sizeof(idx) +
           (most < n ? most : n) * sizeof(idx) + VALUE_CODEBOOK_SIZE * sizeof(real);
}

static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    (void)longest;
    return estimate(A, c);
}

static spmv_status choose_hubs(spmv_ctx *ctx, const spmv_csr_view *A, bool given, int threads,
                               work *w, hubs *B) {
    count_degrees(A, threads, w->place);
    const hubs_rule rule = choose_rule(w->place, A->cols, B->most, given);
    B->nhubs = rule.nhubs;
    TRY(STORE_ARRAY(ctx, B, hot, B->nhubs));
    take_hubs(rule, A->cols, w->place, B->hot);
    return SPMV_OK;
}

static spmv_status make_slices(spmv_ctx *ctx, const spmv_csr_view *A, int threads, work *w,
                               hubs *B) {
    TRY(STORE_ARRAY(ctx, B, order, A->rows));
    classify_rows(A, threads, w);
    sort_rows(A->rows, w, B->order);
    B->ncuts = w->rows[0];
    TRY(STORE_ARRAY(ctx, B, cut, B->ncuts));
    for (int64_t p = 0; p < B->ncuts; p++) {
        B->cut[p] = entries_of(A, w, B->order[p]);
        B->nsegments += segments_of(B->cut + p);
    }
    TRY(STORE_ARRAY(ctx, B, segment, B->nsegments));
    list_segments(B);
    const hubs_classes all = hubs_place_classes(w->rows, B->nsegments);
    B->nslices = all.slice[HUBS_CLASSES];
    TRY(STORE_ARRAY(ctx, B, slice, B->nslices));
    measure_slices(A, w, &all, threads, B);
    B->s.slots = B->values * HUBS_LANES;
    return SPMV_OK;
}

/* Chooses the value code and writes the codebook: zeros if the code has none. */
static int choose_values(const spmv_csr_view *A, bool codes, int threads, value_set *set, hubs *B) {
    real codebook[VALUE_CODEBOOK_SIZE];
    const int code = choose_code(A, codes, threads, codebook, set);
    const bool is_listed = code == VALUE_CODEBOOK || code == VALUE_ONE;
    if (hubs_code(code, codebook, set->count) != code) return choose_values(A, false, 1, set, B);
    memset(B->codebook, 0, sizeof codebook);
    if (is_listed) memcpy(B->codebook, codebook, sizeof codebook);
    return code;
}

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, bool codes, int threads,
                        const work *w, hubs *B) {
    value_set set;
    TRY(STORE_ARRAY(ctx, B, codebook, VALUE_CODEBOOK_SIZE));
    B->value_code = choose_values(A, codes, threads, &set, B);
    B->value_bytes = coded_bytes(B->value_code);
    B->s.values = code_word(B->value_code);
    TRY(STORE_ARRAY(ctx, B, word, B->words * HUBS_LANES));
    TRY(STORE_ARRAY(ctx, B, value, B->s.slots * B->value_bytes));
    memset(B->word, 0, (size_t)(B->words * HUBS_LANES) * sizeof *B->word);
    memset(B->value, 0, (size_t)(B->s.slots * B->value_bytes));
    return spmv_fits(ctx, fill_slices(A, w, &set, threads, B));
}

static spmv_status build_with(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c,
                              int threads, work *w, hubs *B) {
    w->place = spmv_host_alloc((size_t)A->cols * sizeof *w->place);
    w->hot = spmv_host_alloc((size_t)A->rows * sizeof *w->hot);
    w->key = spmv_host_alloc((size_t)A->rows * sizeof *w->key);
    if (!w->place || !w->hot || !w->key)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: sorting rows and columns");
    TRY(choose_hubs(ctx, A, c->value[SPMV_hubs] != 0, threads, w, B));
    TRY(make_slices(ctx, A, threads, w, B));
    return fill(ctx, A, c->value[SPMV_codes] != 0, threads, w, B);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    work w = {.place = NULL};
    TRY(spmv_store_new(ctx, "hubs", sizeof(hubs), A, out));
    hubs *B = (hubs *)*out;
    B->most = hubs_most(c);
    spmv_status status = build_with(ctx, A, c, threads, &w, B);
    spmv_host_free(w.place);
    spmv_host_free(w.hot);
    spmv_host_free(w.key);
    return status;
}

/* ---- other values ---------------------------------------------------------------------------- */

static bool holds_any(const spmv_store *store) {
    return ((const hubs *)store)->value_code == VALUE_RAW;
}

static spmv_status holds(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store) {
    const int code = ((const hubs *)store)->value_code;
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    TRY(check_code(ctx, A, code, VALUE_CODEBOOK_SIZE, threads));
    code_holds(A, code, VALUE_CODEBOOK_SIZE, threads, codebook, &set);
    if (hubs_code(code, codebook, set.count) == code) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                     "a dictionary that padding refers to holds no infinite values or "
                     "NaN; " SPMV_SAY_REFILL);
}

/* Tests for each entry whether it is the next in a hot column: both kinds are in column order. */
static void refill_row(const spmv_csr_view *A, const value_set *set, const hubs_row *r, hubs *B) {
    int64_t ranks[2] = {0, 0};
    for (int64_t k = A->row_ptr[r->row]; k < A->row_ptr[r->row + 1]; k++) {
        const bool is_hot = hubs_column_of(B, r, true, ranks[1]) == A->col_idx[k];
        const hubs_slot at = hubs_slot_of(B, r, is_hot, ranks[is_hot]++);
        put_coded(B->value + at.value * B->value_bytes, set, A->values[k], B->value_code);
    }
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    hubs *B = (hubs *)store;
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    code_holds(A, B->value_code, VALUE_CODEBOOK_SIZE, threads, codebook, &set);
    memcpy(B->codebook, codebook, sizeof codebook);
#pragma omp parallel for schedule(dynamic, 64) num_threads(threads)
    for (int64_t s = 0; s < B->nslices; s++)
        for (int n = 0; n < rows_in(B, s); n++) {
            const hubs_row r = hubs_row_in(B, s, n);
            refill_row(A, &set, &r, B);
        }
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const hubs *A = (const hubs *)store;
    int64_t n = 0;
    for (int64_t s = 0; s < A->nslices; s++)
        for (int which = 0; which < rows_in(A, s); which++) {
            const hubs_row r = hubs_row_in(A, s, which);
            idx j;
            for (int is_hot = 0; is_hot < 2; is_hot++)
                for (int64_t k = 0; (j = hubs_column_of(A, &r, is_hot, k)) >= 0; k++, n++) {
                    const int64_t at = hubs_slot_of(A, &r, is_hot, k).value;
                    row[n] = r.row, col[n] = j;
                    values[n] = (double)coded_value(A->value, A->codebook, at, A->value_code);
                }
        }
}

static const spmv_param params[] = {
    {SPMV_hubs, 0, 0, HUBS_MOST, 1, false}, {SPMV_codes, 1, 0, 1, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(hubs_format) = {
    .name = "hubs",
    .summary = "slices of rows of about one length, columns used most in 16 bits apart from the "
               "rest, values in the fewest bytes",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .refill = refill,
    .holds = holds,
    .holds_any = holds_any,
    .features = spmv_hubs_features,
};
