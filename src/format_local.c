/* format_local.c: blocks of rows that list the columns they need, so that x of a block is fetched
 * once and an entry's column takes 16 bits; rows of a block sorted by length; coded values. */
#include "row_order.h"
#include "value_set.h"
#include <stdlib.h>

enum { WORD = 32 /* bits */ };

static int64_t blocks_of(int64_t rows, int64_t height) {
    return (rows + height - 1) / height;
}

static int64_t end_of(const spmv_csr_view *A, int64_t height, int64_t b) {
    return (b + 1) * height < A->rows ? (b + 1) * height : A->rows;
}

/* ---- forecast -------------------------------------------------------------------------------- */

/* Slots: rows of a block descend in length, so that padding is less than its longest row times the
 * rows of a slice. Columns: no more than entries, nor than fit, of 32 bits. */
static size_t most_bytes(const spmv_csr_view *A, int64_t height, int64_t padding) {
    size_t rows = (size_t)A->rows, blocks = (size_t)blocks_of(A->rows, height);
    size_t slices = blocks * (size_t)blocks_of(height, LOCAL_SLICE);
    size_t slots = (size_t)A->nnz + (size_t)padding;
    size_t columns =
        blocks * LOCAL_COLUMNS < (size_t)A->nnz ? blocks * LOCAL_COLUMNS : (size_t)A->nnz;
    return blocks * sizeof(local_block) + slices * sizeof(uint32_t) + rows * 2 * sizeof(uint16_t) +
           columns * sizeof(uint32_t) + slots * (sizeof(uint16_t) + sizeof(real)) +
           PACKED_TABLE_SIZE * sizeof(real);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t height = spmv_local_height_for(A, c), padding = 0;
    for (int64_t b = 0; b < blocks_of(A->rows, height); b++)
        padding += LOCAL_SLICE * longest_between(A, b * height, end_of(A, height, b));
    return most_bytes(A, height, padding);
}

/* Without a look at the matrix for its height: the lower, the more bytes. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    int64_t height = c->value[SPMV_height] ? c->value[SPMV_height] : LOCAL_LEAST;
    return most_bytes(A, height, LOCAL_SLICE * longest * blocks_of(A->rows, height));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The order and lengths of a block's rows, and where its slices begin; returns its slots. */
static int64_t place_rows(const spmv_csr_view *A, const idx *perm, int64_t b, local_rows *B) {
    const int64_t first = b * B->height, end = end_of(A, B->height, b);
    uint32_t *slice = B->slice + b * B->slices, slots = 0;
    for (int64_t s = 0; s < B->slices; s++) {
        int64_t top = first + s * LOCAL_SLICE;
        slice[s] = slots;
        if (top < end) slots += LOCAL_SLICE * (uint32_t)row_length(A, perm[top]);
    }
    for (int64_t i = first; i < end; i++) {
        B->order[i] = (uint16_t)(perm[i] - first);
        B->length[i] = (uint16_t)row_length(A, perm[i]);
    }
    return slots;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct marks { /* of the columns from base on: those that a block needs */
    uint32_t bits[LOCAL_SPAN / WORD];
    uint16_t before[LOCAL_SPAN / WORD]; /* how many of them are in the words before */
    int32_t base;
    int64_t span, count;
} marks;

static void find_span(const spmv_csr_view *A, int64_t first, int64_t end, marks *m) {
    m->span = spmv_local_span(A, first, end, &m->base);
    m->count = 0;
}

/* No more than are counted if there are too many. */
static void mark(const spmv_csr_view *A, int64_t first, int64_t end, marks *m) {
    const int64_t words = blocks_of(m->span, WORD);
    memset(m->bits, 0, (size_t)words * sizeof *m->bits);
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++) {
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

static int64_t units_of(const local_block *block) {
    return block->wide ? 2 * (int64_t)block->count : (block->count + 1) / 2 * 2;
}

static void keep_most(int64_t value, int64_t *most) {
    if (value > *most) *most = value;
}

/* Blocks with what they take, not yet where they begin. False: out of memory. */
static bool look_at_blocks(const spmv_csr_view *A, const idx *perm, int threads, local_rows *B,
                           spmv_local_facts *most) {
    bool has_room = true;
#pragma omp parallel num_threads(threads)
    {
        marks *m = malloc(sizeof *m);
        spmv_local_facts mine = {0, 0, 0};
#pragma omp for schedule(dynamic) nowait
        for (int64_t b = 0; b < B->nblocks; b++) {
            const int64_t first = b * B->height, end = end_of(A, B->height, b);
            if (!m) continue;
            keep_most(row_length(A, perm[first]), &mine.longest);
            if (mine.longest > LOCAL_LONGEST) continue;
            find_span(A, first, end, m);
            if (m->span <= LOCAL_SPAN) mark(A, first, end, m);
            keep_most(m->span, &mine.span);
            keep_most(m->count, &mine.columns);
            B->block[b] = (local_block){.slot = place_rows(A, perm, b, B),
                                        .base = m->base,
                                        .count = (int32_t)m->count,
                                        .wide = m->span > UINT16_MAX + 1};
        }
#pragma omp critical(local)
        {
            has_room &= m != NULL;
            keep_most(mine.longest, &most->longest);
            keep_most(mine.span, &most->span);
            keep_most(mine.columns, &most->columns);
        }
        free(m);
    }
    return has_room;
}

static void place_blocks(local_rows *B) {
    for (int64_t b = 0; b < B->nblocks; b++) {
        local_block *block = B->block + b;
        int64_t slots = block->slot;
        block->slot = B->s.slots;
        block->need = B->units;
        B->s.slots += slots;
        B->units += units_of(block);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

static void list_columns(const marks *m, const local_block *block, uint16_t *need) {
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

/* A slice, whose slots begin at `at`. How many values f32 cannot hold. */
static int64_t fill_slice(const spmv_csr_view *A, const marks *m, const value_set *set,
                          const int64_t *row, int rows, int64_t at, local_rows *B) {
    const int64_t width = row_length(A, row[0]);
    int64_t overflows = 0;
    for (int64_t k = 0; k < width; k++)
        for (int r = 0; r < LOCAL_SLICE; r++, at++) {
            uint8_t *value = B->values + at * B->value_bytes;
            bool is_entry = r < rows && k < row_length(A, row[r]);
            int64_t from = is_entry ? A->row_ptr[row[r]] + k : 0;
            B->place[at] = is_entry ? place_of(m, A->col_idx[from]) : 0;
            if (is_entry)
                overflows += put_coded(value, set, A->values[from], B->value_code);
            else
                memset(value, 0, (size_t)B->value_bytes);
        }
    return overflows;
}

static int64_t fill_block(const spmv_csr_view *A, const value_set *set, int64_t b, marks *m,
                          local_rows *B) {
    const local_block *block = B->block + b;
    const int64_t first = b * B->height, end = end_of(A, B->height, b);
    int64_t overflows = 0;
    find_span(A, first, end, m);
    mark(A, first, end, m);
    list_columns(m, block, B->need + block->need);
    for (int64_t top = first; top < end; top += LOCAL_SLICE) {
        int64_t row[LOCAL_SLICE];
        int n = (int)(end - top < LOCAL_SLICE ? end - top : LOCAL_SLICE);
        for (int r = 0; r < n; r++) row[r] = first + B->order[top + r];
        int64_t slice = b * B->slices + (top - first) / LOCAL_SLICE;
        overflows += fill_slice(A, m, set, row, n, block->slot + B->slice[slice], B);
    }
    return overflows;
}

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, const value_set *set, int threads,
                        local_rows *B) {
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

static spmv_status build_in_order(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c,
                                  const idx *perm, int threads, local_rows *B) {
    spmv_local_facts most = {0, 0, 0};
    real table[PACKED_TABLE_SIZE];
    value_set set;
    if (!look_at_blocks(A, perm, threads, B, &most))
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    TRY(spmv_local_fits(ctx, B->height, &most));
    B->most = most.columns;
    place_blocks(B);
    B->value_code = choose_code(A, c->value[SPMV_codes], threads, table, &set);
    B->value_bytes = coded_bytes(B->value_code);
    memcpy(B->table, table, sizeof table);
    return fill(ctx, A, &set, threads, B);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "local", sizeof(local_rows), A, out));
    local_rows *B = (local_rows *)*out;
    B->height = spmv_local_height_for(A, c);
    B->nblocks = blocks_of(A->rows, B->height);
    B->slices = blocks_of(B->height, LOCAL_SLICE);
    TRY(STORE_ARRAY(ctx, B, block, B->nblocks));
    TRY(STORE_ARRAY(ctx, B, slice, B->nblocks * B->slices));
    TRY(STORE_ARRAY(ctx, B, order, A->rows));
    TRY(STORE_ARRAY(ctx, B, length, A->rows));
    TRY(STORE_ARRAY(ctx, B, table, PACKED_TABLE_SIZE));
    idx *perm;
    TRY(sorted_rows(ctx, A, B->height, threads, &perm));
    spmv_status status = build_in_order(ctx, A, c, perm, threads, B);
    spmv_host_free(perm);
    return status;
}

static int32_t column_at(const local_rows *A, const local_block *block, uint16_t place) {
    const uint16_t *need = A->need + block->need;
    uint32_t distance;
    if (!block->wide) return block->base + need[place];
    memcpy(&distance, need + 2 * place, sizeof distance);
    return block->base + (int32_t)distance;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const local_rows *A = (const local_rows *)store;
    for (int64_t i = 0, n = 0; i < store->rows; i++) {
        int64_t b = i / A->height, r = i % A->height;
        const local_block *block = A->block + b;
        int64_t at = block->slot + A->slice[b * A->slices + r / LOCAL_SLICE] + r % LOCAL_SLICE;
        for (int64_t k = 0; k < A->length[i]; k++, n++, at += LOCAL_SLICE) {
            row[n] = (int32_t)(b * A->height + A->order[i]);
            col[n] = column_at(A, block, A->place[at]);
            values[n] = (double)coded_value(A->values, A->table, at, A->value_code);
        }
    }
}

static const spmv_param params[] = {{SPMV_height, 0, 0, LOCAL_HIGHEST, LOCAL_SLICE, false},
                                    {SPMV_codes, 1, 0, 1, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(local_format) = {
    .name = "local",
    .summary = "blocks of rows with a list of the columns they need, 16-bit places in it, rows of "
               "a block sorted by length, values in the fewest bytes",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
};
