/* columns.c: converts CSC in a file to CSR by a counting sort that reads the file twice: the first
 * pass counts the entries of each row, the second writes each entry to its row. The columns need no
 * memory. Each thread reads a range of columns; the result does not depend on the number of
 * threads. */
#include "held.h"
#include "host/host.h"
#include <stdlib.h>

typedef struct columns {
    const spmv_held *h;
    const int64_t *ptr; /* [cols + 1] from 0 */
    int64_t n;
    int threads;
    int64_t *row_ptr; /* the resulting CSR */
    int32_t *col_idx;
    double *values;
    /* [threads][rows]: a thread's entries in a row; where its next entry of the row goes */
    uint32_t *count, *next;
    int64_t descents; /* pairs of indices in a column that do not ascend */
    int64_t outside;  /* position of the first index that is no row; n: there is none */
    spmv_found found; /* in the values */
} columns;

enum { AHEAD = 16 }; /* prefetch distance, entries */

typedef struct piece { /* buffers of one thread */
    /* behind the last entry: any valid rows, which are prefetched */
    int32_t index[SPMV_PIECE + AHEAD];
    double value[SPMV_PIECE];
    unsigned char raw[8 * SPMV_PIECE];
} piece;

/* Returns the first column of a thread; all threads have about the same number of entries. */
static int64_t first_column(const columns *c, int thread) {
    if (thread == c->threads) return c->h->cols;
    return spmv_line_behind(c->ptr, c->h->cols, spmv_split(c->n, c->threads, thread) - 1);
}

/* Returns the thread's row of `all`, which is c->count or c->next. */
static uint32_t *of_thread(const columns *c, uint32_t *all, int thread) {
    return all + (size_t)thread * (size_t)c->h->rows;
}

static void keep_least(int64_t *least, int64_t k) {
#pragma omp critical(spmv_columns_found)
    if (k < *least) *least = k;
}

/* Reads n indices into p->index. *found: number of indices before the first that is no row; n: all
 * are rows. */
static spmv_status read_indices(columns *c, int64_t first, int64_t n, piece *p, int64_t *found) {
    const spmv_wanted w = {.part = &c->h->idx,
                           .role = SPMV_INDICES,
                           .to = p->index,
                           .base = c->h->base,
                           .limit = c->h->rows};
    TRY(spmv_part_raw(w.part, first, n, p->raw));
    *found = spmv_convert(&w, p->raw, 0, n).bad;
    if (*found < n) keep_least(&c->outside, first + *found);
    return SPMV_OK;
}

static spmv_status read_values(columns *c, int64_t first, int64_t n, piece *p) {
    const spmv_wanted w = {.part = &c->h->values, .role = SPMV_VALUES, .to = p->value};
    TRY(spmv_part_raw(w.part, first, n, p->raw));
    const spmv_found found = spmv_convert(&w, p->raw, 0, n);
    if (found.bad < n) keep_least(&c->found.bad, first + found.bad);
    if (found.rounded < n) keep_least(&c->found.rounded, first + found.rounded);
    return SPMV_OK;
}

/* Counts the entries of each row in a thread's columns, and the pairs that do not ascend. */
static spmv_status count_rows(columns *c, int thread, piece *p) {
    uint32_t *count = of_thread(c, c->count, thread);
    const int64_t end = c->ptr[first_column(c, thread + 1)];
    int64_t descents = 0, found;
    int32_t last[2] = {0}; /* last index of the previous piece, first index of this piece */
    memset(count, 0, (size_t)c->h->rows * sizeof *count);
    for (int64_t first = c->ptr[first_column(c, thread)], k = first; k < end; k += SPMV_PIECE) {
        const int64_t n = end - k < SPMV_PIECE ? end - k : SPMV_PIECE;
        TRY(read_indices(c, k, n, p, &found));
        if (found < n) return SPMV_OK;
        for (int64_t j = 0; j < n; j++) count[p->index[j]]++;
        descents += spmv_count_descents(p->index, k, n, c->ptr, c->h->cols);
        last[1] = p->index[0];
        if (k > first) descents += spmv_count_descents(last, k - 1, 2, c->ptr, c->h->cols);
        last[0] = p->index[n - 1];
    }
#pragma omp atomic
    c->descents += descents;
    return SPMV_OK;
}

/* Prefix sums: row_ptr from the counts, and `next` over the threads of each row. */
static void add_up(columns *c) {
    const int64_t rows = c->h->rows;
    int64_t *ptr = c->row_ptr;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t i = 0; i < rows; i++) {
        ptr[i + 1] = 0;
        for (int t = 0; t < c->threads; t++) ptr[i + 1] += of_thread(c, c->count, t)[i];
    }
    ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) ptr[i + 1] += ptr[i];
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t i = 0; i < rows; i++) {
        uint32_t at = (uint32_t)ptr[i];
        for (int t = 0; t < c->threads; t++) {
            of_thread(c, c->next, t)[i] = at;
            at += of_thread(c, c->count, t)[i];
        }
    }
}

/* First touch of every huge page of the result by exactly one thread: two threads that fault on one
 * page at the same time both clear it. */
static void touch_pages(const columns *c) {
    const int64_t n = c->n, step = SPMV_RUN / 8;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t k = 0; k < n; k += step) {
        c->values[k] = 0;
        c->col_idx[k] = 0;
    }
}

/* Writes n entries of a column to their rows; returns false if an entry would be outside the
 * arrays. */
static inline bool place_column(const columns *c, uint32_t *next, const int32_t *index,
                                const double *value, int64_t n, int32_t column) {
    int32_t *col_idx = c->col_idx;
    double *values = c->values;
    const uint32_t all = (uint32_t)c->n;
    for (int64_t j = 0; j < n; j++) {
        const uint32_t soon = next[index[j + AHEAD]], at = next[index[j]]++;
        __builtin_prefetch(&col_idx[soon], 1);
        __builtin_prefetch(&values[soon], 1);
        if (at >= all) return false;
        col_idx[at] = column;
        values[at] = value[j];
    }
    return true;
}

/* Writes the entries of a thread's columns to their rows. If the file has changed since the first
 * pass, no entry is written outside the arrays, and was_changed returns true. */
static spmv_status place_entries(columns *c, int thread, piece *p) {
    uint32_t *next = of_thread(c, c->next, thread);
    const int64_t end = c->ptr[first_column(c, thread + 1)];
    int64_t column = first_column(c, thread), found;
    for (int64_t k = c->ptr[column]; k < end; k += SPMV_PIECE) {
        const int64_t n = end - k < SPMV_PIECE ? end - k : SPMV_PIECE;
        TRY(read_indices(c, k, n, p, &found));
        if (found < n) return SPMV_OK;
        TRY(read_values(c, k, n, p));
        for (int64_t j = 0, stop; j < n; j = stop) {
            while (c->ptr[column + 1] <= k + j) column++;
            stop = c->ptr[column + 1] - k < n ? c->ptr[column + 1] - k : n;
            if (!place_column(c, next, p->index + j, p->value + j, stop - j, (int32_t)column))
                return SPMV_OK; /* was_changed will return true */
        }
    }
    return SPMV_OK;
}

/* True if a thread has written more or fewer entries to a row than it has counted. */
static bool was_changed(const columns *c) {
    const int64_t rows = c->h->rows;
    int64_t wrong = 0;
#pragma omp parallel for schedule(static) num_threads(c->threads) reduction(+ : wrong)
    for (int64_t i = 0; i < rows; i++) {
        uint32_t at = (uint32_t)c->row_ptr[i];
        for (int t = 0; t < c->threads; t++) {
            at += of_thread(c, c->count, t)[i];
            wrong += of_thread(c, c->next, t)[i] != at;
        }
    }
    return wrong > 0;
}

/* Calls work(c, thread, piece) for each thread. */
static spmv_status by_threads(columns *c, spmv_status (*work)(columns *, int, piece *)) {
    spmv_status status = SPMV_OK;
#pragma omp parallel for schedule(static, 1) num_threads(c->threads)
    for (int thread = 0; thread < c->threads; thread++) {
        piece *p = calloc(1, sizeof *p);
        const spmv_status own = p ? work(c, thread, p) : SPMV_E_NOMEM;
        free(p);
        if (own != SPMV_OK) {
#pragma omp atomic write
            status = own;
        }
    }
    return status == SPMV_E_NOMEM ? spmv_no_memory_for(c->h->idx.in->ctx, c->h->idx.in->path)
                                  : status;
}

static spmv_status check_outside(const columns *c) {
    const spmv_part *part = &c->h->idx;
    int64_t index = 0;
    if (c->outside == c->n) return SPMV_OK;
    TRY(spmv_part_integers(part, c->outside, 1, &index));
    return spmv_refuse_element(part, c->outside, index, c->h->base, c->h->rows - 1 + c->h->base);
}

static spmv_status make_rows(columns *c, spmv_ctx *ctx, bool *ascend) {
    const size_t rows = (size_t)c->h->rows, n = (size_t)c->n;
    c->count = spmv_host_alloc(2 * (size_t)c->threads * rows * sizeof *c->count);
    if (!c->count) return spmv_no_memory_for(ctx, c->h->idx.in->path);
    c->next = c->count + (size_t)c->threads * rows;
    TRY(by_threads(c, count_rows));
    TRY(check_outside(c));
    *ascend = c->descents == 0;
    if (!*ascend) return SPMV_OK;
    c->row_ptr = spmv_host_take(ctx, (rows + 1) * sizeof *c->row_ptr);
    c->col_idx = spmv_host_take(ctx, n * sizeof *c->col_idx);
    c->values = spmv_host_take(ctx, n * sizeof *c->values);
    if (!c->row_ptr || !c->col_idx || !c->values)
        return spmv_no_memory_for(ctx, c->h->idx.in->path);
    add_up(c);
    touch_pages(c);
    TRY(by_threads(c, place_entries));
    TRY(check_outside(c));
    return was_changed(c) ? spmv_refuse(c->h->idx.in, "other %s than before: the file has changed",
                                        c->h->idx.name)
                          : SPMV_OK;
}

spmv_status spmv_read_columns(const spmv_bytes *in, const spmv_held *h, const int64_t *ptr,
                              int threads, spmv_found *found, spmv_lines *out, bool *ascend) {
    /* threads, which limits the memory for counts to that of the entries */
    const int64_t n = ptr[h->cols], most = 1 + n / (h->rows + SPMV_PIECE);
    columns c = {.h = h, .ptr = ptr, .n = n, .threads = threads < most ? threads : (int)most};
    c.found = (spmv_found){n, n};
    c.outside = n;
    spmv_waiting_prepare(&in->ctx->waiting, c.threads);
    const spmv_status status = make_rows(&c, in->ctx, ascend);
    spmv_host_free(c.count);
    if (status != SPMV_OK) {
        spmv_host_give(in->ctx, c.row_ptr);
        spmv_host_give(in->ctx, c.col_idx);
        spmv_host_give(in->ctx, c.values);
        return status;
    }
    *found = c.found;
    out->ptr = c.row_ptr;
    out->coo.col = c.col_idx;
    out->coo.values = c.values;
    return SPMV_OK;
}
