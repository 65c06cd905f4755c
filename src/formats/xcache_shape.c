/* xcache_shape.c: chooses the shape of the format xcache before it is built: rows per block, and
 * whether the columns and segments of a block fit. */
#include "formats/xcache/xcache.h"
#include "row_ends.h"
#include <math.h>

enum {
    HEIGHTS = 6,      /* XCACHE_LEAST rows, doubled up to XCACHE_HIGHEST */
    ENTRIES = 1 << 15 /* entries read in one place, at most */
};

static int64_t rows_at(int k) {
    return (int64_t)XCACHE_LEAST << k;
}

typedef struct growth { /* numbers of columns that the first rows need, as rows are added */
    int n;              /* heights counted */
    int64_t count[HEIGHTS];
} growth;

int64_t spmv_xcache_span(const spmv_csr_view *A, int64_t first, int64_t end, int32_t *base) {
    int32_t least = INT32_MAX, most = -1;
    for (int64_t i = first; i < end; i++) {
        if (A->row_ptr[i] == A->row_ptr[i + 1]) continue;
        int32_t low = A->col_idx[A->row_ptr[i]], high = A->col_idx[A->row_ptr[i + 1] - 1];
        least = low < least ? low : least;
        most = high > most ? high : most;
    }
    *base = most < 0 ? 0 : least;
    return most < 0 ? 0 : (int64_t)most - least + 1;
}

static growth count_columns(const spmv_csr_view *A) {
    growth g = {.n = 0};
    int64_t end = 0, count = 0;
    int32_t base;
    for (int n = 0;
         n < HEIGHTS && rows_at(n) <= A->rows && A->row_ptr[rows_at(n)] - A->row_ptr[0] <= ENTRIES;)
        end = rows_at(n++);
    int64_t span = spmv_xcache_span(A, 0, end, &base);
    if (span == 0 || span > XCACHE_SPAN) return g;
    uint64_t seen[XCACHE_SPAN / 64 + 1]; /* one bit for each column, from base on */
    memset(seen, 0, ((size_t)span / 64 + 1) * sizeof *seen);
    for (int64_t i = 0; i < end; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            uint32_t at = (uint32_t)(A->col_idx[k] - base);
            count += (seen[at / 64] >> at % 64 & 1) == 0;
            seen[at / 64] |= (uint64_t)1 << at % 64;
        }
        if (i + 1 == rows_at(g.n)) g.count[g.n++] = count;
    }
    return g;
}

/* Returns the number of columns of a block of this height, by power laws between counted
 * heights. */
static double columns_of(const growth *g, double height) {
    int k = 0;
    while (k + 2 < g->n && ((double)rows_at(k + 1) < height || g->count[k] == 0)) k++;
    double low = (double)g->count[k], high = (double)g->count[k + (g->n > 1)];
    double power = g->n > 1 && low > 0 ? log2(high / low) : 1;
    return low * pow(height / (double)rows_at(k), power);
}

static int64_t times_in(int64_t n, int64_t part) {
    return (n + part - 1) / part;
}

/* One block per multiprocessor of an H200, if all rows are then multiplied at once; otherwise the
 * greatest height that leaves room for two blocks, lowered so that the last blocks end together. A
 * block may contain the longest row, too. */
int64_t spmv_xcache_height(const spmv_csr_view *middle, int64_t rows, int64_t longest,
                           double *columns) {
    enum { ALONE = 26500, ROOM = 13000 /* columns */, SMS = 132, AT_ONCE = 2 * SMS };
    const growth g = count_columns(middle);
    int64_t height = times_in(rows, SMS), allowed = XCACHE_HIGHEST;
    *columns = INFINITY;
    if (g.n &&
        (height > XCACHE_HIGHEST || columns_of(&g, (double)height) + (double)longest > ALONE)) {
        while (allowed > XCACHE_LEAST && columns_of(&g, (double)allowed) + (double)longest > ROOM)
            allowed -= XCACHE_SLICE;
        height = times_in(rows, AT_ONCE * times_in(rows, AT_ONCE * allowed));
    }
    if (height < XCACHE_LEAST) height = XCACHE_LEAST;
    if (height > XCACHE_HIGHEST) height = XCACHE_HIGHEST;
    if (g.n) *columns = columns_of(&g, (double)height) / (double)height;
    return height;
}

/* If a block has fewer rows than threads, a thread has one or two segments; otherwise it has
 * several, and only rows that would end last are cut. */
static int64_t cut_for(int64_t entries, int64_t height) {
    enum { THREADS = 1024, STEP = 8, LEAST = 32, SHORT = 64, LONG = 128 };
    int64_t share = times_in(entries, THREADS), most = share > LONG ? share : LONG;
    int64_t cut = height < THREADS / 2 ? share * 3 / 2 : share * 5 / 2;
    if (height < THREADS / 2) most = SHORT;
    if (cut > most) cut = most;
    cut = times_in(cut, STEP) * STEP;
    return cut < LEAST ? LEAST : cut > XCACHE_LONGEST ? XCACHE_LONGEST : cut;
}

static int64_t height_for(const spmv_csr_view *A) {
    const int64_t first = A->rows / 2;
    const spmv_csr_view middle = {
        .rows = A->rows - first, .row_ptr = A->row_ptr + first, .col_idx = A->col_idx};
    double columns;
    return spmv_xcache_height(&middle, A->rows, spmv_longest_row(A), &columns);
}

spmv_xcache_shape spmv_xcache_shape_for(const spmv_csr_view *A, const spmv_choice *c) {
    spmv_xcache_shape s = {.height = c->value[SPMV_height], .cut = c->value[SPMV_cut]};
    if (s.height == 0) s.height = height_for(A);
    s.nblocks = times_in(A->rows, s.height);
    if (s.cut == 0) s.cut = cut_for(s.nblocks ? A->nnz / s.nblocks : 0, s.height);
    s.segments = A->rows + times_in(A->nnz, s.cut);
    s.cuts = times_in(A->nnz, s.cut) + s.nblocks;
    s.slices = s.segments / XCACHE_SLICE + s.nblocks;
    return s;
}

/* Returns the weight of a row in entries: at least the cost of its length and y, and enough that no
 * block has more rows than XCACHE_HIGHEST. */
int64_t spmv_xcache_weight(const spmv_csr_view *A, int64_t height) {
    enum { LEAST_WEIGHT = 4, LEAST_SPARE = 32 };
    int64_t spare = XCACHE_HIGHEST - height > LEAST_SPARE ? XCACHE_HIGHEST - height : LEAST_SPARE;
    int64_t weight = times_in(times_in(A->nnz, A->rows) * height, spare);
    return weight > LEAST_WEIGHT ? weight : LEAST_WEIGHT;
}

/* Returns the first row from `low` on before which weights sum up to `much`; tests every step-th
 * row, then bisects. */
static int64_t row_behind(const spmv_csr_view *A, int64_t weight, int64_t much, int64_t low,
                          int64_t step) {
    int64_t high = low;
    while (high < A->rows && A->row_ptr[high] + weight * high < much) {
        low = high + 1;
        high = high + step < A->rows ? high + step : A->rows;
    }
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->row_ptr[middle] + weight * middle < much)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A row of n entries has at most 1 + n / cut segments, so that rows + entries / cut, of all earlier
 * blocks, bounds the segments before a block. */
void spmv_xcache_split(const spmv_csr_view *A, const spmv_xcache_shape *shape,
                       xcache_block *block) {
    const int64_t n = shape->nblocks, weight = n ? spmv_xcache_weight(A, shape->height) : 0;
    const int64_t all = A->nnz + weight * A->rows;
    for (int64_t b = 0, row = 0; b < n; b++) {
        int64_t end = b + 1 < n
                          ? row_behind(A, weight, spmv_split(all, n, b + 1), row, shape->height)
                          : A->rows;
        int64_t cuts = times_in(A->row_ptr[row], shape->cut);
        block[b] = (xcache_block){.segment = row + cuts,
                                  .cut = cuts + b,
                                  .row = (int32_t)row,
                                  .rows = (int32_t)(end - row)};
        row = end;
    }
}

spmv_status spmv_xcache_fits(spmv_ctx *ctx, int64_t height, const spmv_xcache_facts *most) {
    if (most->segments > XCACHE_SEGMENTS)
        return spmv_fail(
            ctx, SPMV_E_UNSUITABLE,
            "a block of rows is cut into %lld segments, xcache has room for %d: a lower "
            "height, or a larger cut",
            (long long)most->segments, XCACHE_SEGMENTS);
    if (most->span > XCACHE_SPAN)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "the columns of %lld rows span %lld, xcache has room for %d: "
                         "another format, or a lower height where columns are near rows",
                         (long long)height, (long long)most->span, XCACHE_SPAN);
    if (most->columns > XCACHE_COLUMNS)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "%lld rows need %lld columns, xcache has room for %d: a lower height, or "
                         "another format",
                         (long long)height, (long long)most->columns, XCACHE_COLUMNS);
    return SPMV_OK;
}
