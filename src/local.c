/* local.c: what the format local needs to know before it is built: how many rows a block should
 * have, and whether what they need fits. */
#include "internal.h"
#include <math.h>
#include <stdlib.h>

enum {
    HEIGHTS = 6,      /* LOCAL_LEAST rows and each twice as many as the last, to LOCAL_HIGHEST */
    ENTRIES = 1 << 15 /* looked at in one place, at most */
};

static int64_t rows_at(int k) {
    return (int64_t)LOCAL_LEAST << k;
}

typedef struct growth { /* of the columns that the rows from one on need, as rows are added */
    int n;              /* heights counted */
    int64_t count[HEIGHTS];
} growth;

int64_t spmv_local_span(const spmv_csr_view *A, int64_t first, int64_t end, int32_t *base) {
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

static growth count_columns(const spmv_csr_view *A, int64_t first) {
    growth g = {.n = 0};
    int64_t end = first, count = 0;
    int32_t base;
    for (int n = 0; n < HEIGHTS && first + rows_at(n) <= A->rows &&
                    A->row_ptr[first + rows_at(n)] - A->row_ptr[first] <= ENTRIES;)
        end = first + rows_at(n++);
    int64_t span = spmv_local_span(A, first, end, &base);
    if (span == 0 || span > LOCAL_SPAN) return g;
    uint64_t *seen = calloc((size_t)span / 64 + 1, sizeof *seen);
    for (int64_t i = first; seen && i < end; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            uint32_t at = (uint32_t)(A->col_idx[k] - base);
            count += (seen[at / 64] >> at % 64 & 1) == 0;
            seen[at / 64] |= (uint64_t)1 << at % 64;
        }
        if (i + 1 - first == rows_at(g.n)) g.count[g.n++] = count;
    }
    free(seen);
    return g;
}

/* Columns of a block so high: in between, and further than was looked, they grow by a power. */
static double columns_of(const growth *g, double height) {
    int k = 0;
    while (k + 2 < g->n && (double)rows_at(k + 1) < height) k++;
    double low = (double)g->count[k], high = (double)g->count[k + (g->n > 1)];
    double power = g->n > 1 && low > 0 ? log2(high / low) : 1;
    return low * pow(height / (double)rows_at(k), power);
}

static int64_t rounded_up(int64_t n, int64_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

/* As high as leaves room for two blocks on a multiprocessor, then so that the blocks of two on each
 * of an H200's end together. */
int64_t spmv_local_height(const spmv_csr_view *A, double *columns) {
    enum { ROOM = 13000 /* columns */, AT_ONCE = 2 * 132 };
    const growth g = count_columns(A, A->rows / 2);
    int64_t allowed = LOCAL_HIGHEST;
    *columns = INFINITY;
    while (g.n && allowed > LOCAL_LEAST && columns_of(&g, (double)allowed) > ROOM)
        allowed -= LOCAL_SLICE;
    int64_t waves = rounded_up(A->rows, AT_ONCE * allowed) / (AT_ONCE * allowed);
    int64_t height = waves ? rounded_up(A->rows, AT_ONCE * waves) / (AT_ONCE * waves) : 0;
    height = rounded_up(height > LOCAL_LEAST ? height : LOCAL_LEAST, LOCAL_SLICE);
    if (g.n) *columns = columns_of(&g, (double)height) / (double)height;
    return height;
}

spmv_status spmv_local_fits(spmv_ctx *ctx, int64_t height, const spmv_local_facts *most) {
    if (most->longest > LOCAL_LONGEST)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "a row has %lld entries, local has room for %d: 16 bits a length",
                         (long long)most->longest, LOCAL_LONGEST);
    if (most->span > LOCAL_SPAN)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "the columns of %lld rows span %lld, local has room for %d: "
                         "another format, or a lower --height where columns are near rows",
                         (long long)height, (long long)most->span, LOCAL_SPAN);
    if (most->columns > LOCAL_COLUMNS)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "%lld rows need %lld columns, local has room for %d: lower --height, or "
                         "another format",
                         (long long)height, (long long)most->columns, LOCAL_COLUMNS);
    return SPMV_OK;
}
