/* format_xcache.c: builds row blocks with explicit caching of x: a block lists the columns it
 * needs, so that its x is fetched once and a nonzero's column takes 16 bits. Rows of a block are
 * cut into segments, which are sorted by length; values are encoded in the fewest bytes. */
#include "formats/row_order.h"
#include "formats/value_set.h"
#include "spmv_sample.h"
#include "xcache.h"
#include "formats/row_ends.h"
#include <stdlib.h>

enum { WORD = 32 /* bits */ };

static int64_t blocks_of(int64_t n, int64_t size) {
    return (n + size - 1) / size;
}

/* ---- forecast -------------------------------------------------------------------------------- */

/* Returns an upper bound. Slots: lengths of a block's segments descend, so that padding is less
 * than the longest one times XCACHE_SLICE. Columns: at most as many as entries and as
 * XCACHE_COLUMNS, with 32 bits. */
static size_t most_bytes(const spmv_csr_view *A, const spmv_xcache_shape *s, int64_t longest) {
    size_t blocks = (size_t)s->nblocks, segments = (size_t)s->segments;
    size_t slots = (size_t)A->nnz + blocks * XCACHE_SLICE * (size_t)longest;
    size_t columns =
        blocks * XCACHE_COLUMNS < (size_t)A->nnz ? blocks * XCACHE_COLUMNS : (size_t)A->nnz;
    return blocks * sizeof(xcache_block) + (size_t)(s->slices + s->cuts) * sizeof(uint32_t) +
           segments * (sizeof(uint16_t) + sizeof(uint8_t)) + columns * sizeof(uint32_t) +
           slots * (sizeof(uint16_t) + sizeof(real)) + VALUE_CODEBOOK_SIZE * sizeof(real);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    spmv_xcache_shape s = spmv_xcache_shape_for(A, c);
    int64_t longest = spmv_longest_row(A);
    return most_bytes(A, &s, longest < s.cut ? longest : s.cut);
}

/* Returns an upper bound without reading the matrix, which determines the height: the lowest takes
 * the most. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    spmv_choice least = *c;
    if (least.value[SPMV_height] == 0) least.value[SPMV_height] = XCACHE_LEAST;
    spmv_xcache_shape s = spmv_xcache_shape_for(A, &least);
    return most_bytes(A, &s, longest < XCACHE_LONGEST ? longest : XCACHE_LONGEST);
}

/* ---- segments -------------------------------------------------------------------------------- */

typedef struct segments { /* segments of a block, in the order of its rows */
    uint8_t length[XCACHE_SEGMENTS];
    uint16_t order[XCACHE_SEGMENTS];
} segments;

/* Counts a block's segments and lists at most XCACHE_SEGMENTS. */
static void list_segments(const spmv_csr_view *A, int64_t cut, xcache_block *block, uint32_t *cuts,
                          segments *out) {
    int64_t count = 0, in_cuts = 0;
    for (int64_t r = 0; r < block->rows; r++) {
        int64_t n = row_length(A, block->row + r), p = n > cut ? blocks_of(n, cut) : 1;
        for (int64_t q = 0; q < p && count + q < XCACHE_SEGMENTS; q++) {
            out->length[count + q] = (uint8_t)blocks_of(n - q, p);
            out->order[count + q] = (uint16_t)(p > 1 ? block->rows + in_cuts + q : r);
        }
        count += p;
        if (p == 1) continue;
        cuts[block->cuts++] = (uint32_t)r | (uint32_t)in_cuts << 16;
        in_cuts += p;
    }
    cuts[block->cuts] = (uint32_t)in_cuts << 16;
    block->segments = (int32_t)count, block->cut_segments = (int32_t)in_cuts;
}

/* Sorts segments, longest first, and finds where slices begin; returns the number of slots. */
static int64_t sort_segments(const segments *from, int64_t b, xcache_rows *B) {
    const xcache_block *block = B->block + b;
    uint32_t place[XCACHE_LONGEST + 2] = {0}, slots = 0;
    uint32_t *slice = B->slice + block->segment / XCACHE_SLICE + b;
    for (int i = 0; i < block->segments; i++) place[XCACHE_LONGEST - from->length[i] + 1]++;
    for (int k = 0; k <= XCACHE_LONGEST; k++) place[k + 1] += place[k];
    for (int i = 0; i < block->segments; i++) {
        uint32_t to = place[XCACHE_LONGEST - from->length[i]]++;
        B->order[block->segment + to] = from->order[i];
        B->length[block->segment + to] = from->length[i];
    }
    for (int i = 0; i < block->segments; i += XCACHE_SLICE) {
        slice[i / XCACHE_SLICE] = slots;
        slots += XCACHE_SLICE * (uint32_t)B->length[block->segment + i];
    }
    return slots;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct marks { /* bits of the columns from base on that a block needs */
    uint32_t bits[XCACHE_SPAN / WORD];
    uint16_t before[XCACHE_SPAN / WORD]; /* number of bits set in earlier words */
    int32_t base;
    int64_t span, count;
} marks;

static void find_span(const spmv_csr_view *A, const xcache_block *block, marks *m) {
    m->span = spmv_xcache_span(A, block->row, block->row + block->rows, &m->base);
    m->count = 0;
}

/* Marks and counts the columns that a block needs. */
static void mark(const spmv_csr_view *A, const xcache_block *block, marks *m) {
    const int64_t words = blocks_of(m->span, WORD);
    const int64_t first = A->row_ptr[block->row], end = A->row_ptr[block->row + block->rows];
    memset(m->bits, 0, (size_t)words * sizeof *m->bits);
    for (int64_t k = first; k < end; k++) {
        uint32_t at = (uint32_t)(A->col_idx[k] - m->base);
        m->bits[at / WORD] |= 1u << at % WORD;
    }
    for (int64_t w = 0; w < words; w++) {
        m->before[w] = (uint16_t)m->count;
        m->count += __builtin_popcount(m->bits[w]);
    }
}

static uint16_t place_of(const marks *m, int32_t col) {
    uint32_t at = (uint32_t)(col - m->base);
    uint32_t lower = m->bits[at / WORD] & ((1u << at % WORD) - 1);
    return (uint16_t)(m->before[at / WORD] + __builtin_popcount(lower));
}

static int64_t units_of(const xcache_block *block) {
    return block->wide ? 2 * (int64_t)block->count : (block->count + 1) / 2 * 2;
}

static void keep_most(int64_t value, int64_t *most) {
    if (value > *most) *most = value;
}

static void describe_block(const spmv_csr_view *A, int64_t b, marks *m, segments *list,
                           xcache_rows *B, spmv_xcache_facts *most) {
    xcache_block *block = B->block + b;
    list_segments(A, B->cut, block, B->cuts + block->cut, list);
    keep_most(block->segments, &most->segments);
    if (block->segments > XCACHE_SEGMENTS) return; /* build refuses this height */
    find_span(A, block, m);
    if (m->span <= XCACHE_SPAN) mark(A, block, m);
    block->slot = sort_segments(list, b, B);
    block->base = m->base, block->count = (int32_t)m->count;
    block->wide = m->span > UINT16_MAX + 1;
    keep_most(m->span, &most->span);
    keep_most(m->count, &most->columns);
}

/* Describes blocks; place_blocks adds up their slots. Returns false if out of memory. */
static bool describe_blocks(const spmv_csr_view *A, int threads, xcache_rows *B,
                            spmv_xcache_facts *most) {
    bool has_room = true;
#pragma omp parallel num_threads(threads)
    {
        struct {
            marks m;
            segments list;
        } *room = malloc(sizeof *room);
        spmv_xcache_facts mine = {0, 0, 0};
#pragma omp for schedule(dynamic) nowait
        for (int64_t b = 0; b < B->nblocks; b++)
            if (room) describe_block(A, b, &room->m, &room->list, B, &mine);
#pragma omp critical(xcache)
        {
            has_room &= room != NULL;
            keep_most(mine.segments, &most->segments);
            keep_most(mine.span, &most->span);
            keep_most(mine.columns, &most->columns);
        }
        free(room);
    }
    return has_room;
}

static void place_blocks(xcache_rows *B) {
    for (int64_t b = 0; b < B->nblocks; b++) {
        xcache_block *block = B->block + b;
        int64_t slots = block->slot;
        block->slot = B->s.slots;
        block->need = B->units;
        B->s.slots += slots;
        B->units += units_of(block);
        B->segments += block->segments;
        keep_most(block->count + block->cut_segments, &B->most);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

static void list_columns(const marks *m, const xcache_block *block, uint16_t *need) {
    int64_t n = 0;
    for (int64_t w = 0; w < blocks_of(m->span, WORD); w++)
        for (uint32_t bits = m->bits[w]; bits; bits &= bits - 1, n++) {
            uint32_t distance = (uint32_t)(w * WORD + __builtin_ctz(bits));
            if (block->wide)
                memcpy(need + 2 * n, &distance, sizeof distance);
            else
                need[n] = (uint16_t)distance;
        }
    if (n % 2 && !block->wide) need[n] = 0;
}

/* Fills the slice that begins with the block's segment i and at slot `at`; m NULL: values only.
 * Returns the number of values that overflow. */
static int64_t fill_slice(const spmv_csr_view *A, const marks *m, const value_set *set,
                          const xcache_block *block, int i, int64_t at, xcache_rows *B) {
    const int64_t first = block->segment + i, n = block->segments - i;
    int64_t overflows = 0;
    for (int r = 0; r < XCACHE_SLICE; r++) {
        xcache_entries segment = {0, 0, 1};
        if (r < n) segment = xcache_entries_of(block, B->cuts + block->cut, B->order[first + r]);
        for (int64_t k = 0; k < B->length[first]; k++) {
            int64_t to = at + k * XCACHE_SLICE + r;
            uint8_t *value = B->values + to * B->value_bytes;
            bool is_entry = r < n && k < B->length[first + r];
            int64_t from =
                is_entry ? A->row_ptr[block->row + segment.row] + segment.first + k * segment.step
                         : 0;
            if (m) B->place[to] = is_entry ? place_of(m, A->col_idx[from]) : 0;
            if (is_entry)
                overflows += put_coded(value, set, A->values[from], B->value_code);
            else
                memset(value, 0, (size_t)B->value_bytes);
        }
    }
    return overflows;
}

static int64_t fill_block(const spmv_csr_view *A, const value_set *set, int64_t b, marks *m,
                          xcache_rows *B) {
    const xcache_block *block = B->block + b;
    const uint32_t *slice = B->slice + block->segment / XCACHE_SLICE + b;
    int64_t overflows = 0;
    find_span(A, block, m);
    mark(A, block, m);
    list_columns(m, block, B->need + block->need);
    for (int i = 0; i < block->segments; i += XCACHE_SLICE)
        overflows += fill_slice(A, m, set, block, i, block->slot + slice[i / XCACHE_SLICE], B);
    return overflows;
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    xcache_rows *B = (xcache_rows *)store;
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    code_holds(A, B->value_code, VALUE_CODEBOOK_SIZE, threads, codebook, &set);
    memcpy(B->codebook, codebook, sizeof codebook);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int64_t b = 0; b < B->nblocks; b++) {
        const xcache_block *block = B->block + b;
        const uint32_t *slice = B->slice + block->segment / XCACHE_SLICE + b;
        for (int i = 0; i < block->segments; i += XCACHE_SLICE)
            fill_slice(A, NULL, &set, block, i, block->slot + slice[i / XCACHE_SLICE], B);
    }
}

static bool holds_any(const spmv_store *store) {
    return ((const xcache_rows *)store)->value_code == VALUE_RAW;
}

static spmv_status holds(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store) {
    return check_code(ctx, A, ((const xcache_rows *)store)->value_code, VALUE_CODEBOOK_SIZE,
                      threads);
}

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, const value_set *set, int threads,
                        xcache_rows *B) {
    int64_t overflows = 0;
    bool has_room = true;
    TRY(STORE_ARRAY(ctx, B, need, B->units));
    TRY(STORE_ARRAY(ctx, B, place, B->s.slots));
    TRY(STORE_ARRAY(ctx, B, values, B->s.slots * B->value_bytes));
#pragma omp parallel num_threads(threads) reduction(+ : overflows) reduction(&& : has_room)
    {
        marks *m = malloc(sizeof *m);
        has_room = m != NULL;
#pragma omp for schedule(dynamic) nowait
        for (int64_t b = 0; b < B->nblocks; b++)
            if (m) overflows += fill_block(A, set, b, m, B);
        free(m);
    }
    return has_room ? spmv_fits(ctx, overflows) : spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Allocates the arrays whose size the shape bounds. */
static spmv_status take_room(spmv_ctx *ctx, const spmv_xcache_shape *shape, xcache_rows *B) {
    TRY(STORE_ARRAY(ctx, B, block, shape->nblocks));
    TRY(STORE_ARRAY(ctx, B, slice, shape->slices));
    TRY(STORE_ARRAY(ctx, B, cuts, shape->cuts));
    TRY(STORE_ARRAY(ctx, B, order, shape->segments));
    TRY(STORE_ARRAY(ctx, B, length, shape->segments));
    TRY(STORE_ARRAY(ctx, B, codebook, VALUE_CODEBOOK_SIZE));
    memset(B->slice, 0, (size_t)shape->slices * sizeof *B->slice);
    memset(B->cuts, 0, (size_t)shape->cuts * sizeof *B->cuts);
    memset(B->order, 0, (size_t)shape->segments * sizeof *B->order);
    memset(B->length, 0, (size_t)shape->segments * sizeof *B->length);
    return SPMV_OK;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    const spmv_xcache_shape shape = spmv_xcache_shape_for(A, c);
    spmv_xcache_facts most = {0, 0, 0};
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    TRY(spmv_store_new(ctx, "xcache", sizeof(xcache_rows), A, out));
    xcache_rows *B = (xcache_rows *)*out;
    B->height = shape.height, B->nblocks = shape.nblocks, B->cut = shape.cut;
    TRY(take_room(ctx, &shape, B));
    spmv_xcache_split(A, &shape, B->block);
    if (!describe_blocks(A, threads, B, &most))
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    TRY(spmv_xcache_fits(ctx, B->height, &most));
    place_blocks(B);
    B->value_code = choose_code(A, c->value[SPMV_codes], threads, codebook, &set);
    B->value_bytes = coded_bytes(B->value_code);
    B->s.values = code_word(B->value_code);
    memcpy(B->codebook, codebook, sizeof codebook);
    return fill(ctx, A, &set, threads, B);
}

static int32_t column_at(const xcache_rows *A, const xcache_block *block, uint16_t place) {
    const uint16_t *need = A->need + block->need;
    uint32_t distance;
    if (!block->wide) return block->base + need[place];
    memcpy(&distance, need + 2 * place, sizeof distance);
    return block->base + (int32_t)distance;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const xcache_rows *A = (const xcache_rows *)store;
    int64_t n = 0;
    for (int64_t b = 0; b < A->nblocks; b++) {
        const xcache_block *block = A->block + b;
        for (int i = 0; i < block->segments; i++) {
            xcache_entries segment =
                xcache_entries_of(block, A->cuts + block->cut, A->order[block->segment + i]);
            int64_t at =
                block->slot + A->slice[block->segment / XCACHE_SLICE + b + i / XCACHE_SLICE];
            at += i % XCACHE_SLICE;
            for (int k = 0; k < A->length[block->segment + i]; k++, n++, at += XCACHE_SLICE) {
                row[n] = block->row + segment.row;
                col[n] = column_at(A, block, A->place[at]);
                values[n] = (double)coded_value(A->values, A->codebook, at, A->value_code);
            }
        }
    }
}

static void features(const spmv_sample *s, const double *sum, spmv_features *f) {
    (void)sum;
    if (s->size.readers & SPMV_FOR_GPU)
        f->block_rows = spmv_xcache_height(&s->middle, f->rows, f->row_max, &f->block_columns);
}

static const spmv_param params[] = {{SPMV_height, 0, 0, XCACHE_HIGHEST, 1, false},
                                    {SPMV_cut, 0, 0, XCACHE_LONGEST, 1, false},
                                    {SPMV_codes, 1, 0, 1, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(xcache_format) = {
    .name = "xcache",
    .summary = "blocks of rows with a list of the columns they need, 16-bit places in it, rows of "
               "a block cut into segments and sorted by length, values in the fewest bytes",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .refill = refill,
    .holds = holds,
    .holds_any = holds_any,
    .features = features,
};
