/* long_rows.c: splits rows that have more entries than the mean per rank: each rank receives the
 * entries whose columns it owns. The blocks of rows are cut again, with these entries counted at
 * the owners of their columns. */
#include "loading.h"
#include "ranks/partition/partition.h"
#include "ranks/exchange/shuffle.h"
#include <stdlib.h>

typedef struct longs { /* the rows to split */
    int64_t n;
    int64_t *row;                   /* [n] indices in the whole matrix, ascending */
    int32_t *number;                /* [own rows of the old blocks] index in `row`; -1: not split */
    int64_t *first_row, *first_col; /* [size + 1] first row and column of each new block */
} longs;

static void longs_free(longs *s) {
    free(s->row);
    free(s->number);
    free(s->first_row);
    free(s->first_col);
}

static int64_t length_of(const spmv_some_rows *rows, int64_t i) {
    return rows->row_ptr[i + 1] - rows->row_ptr[i];
}

/* Lists the long rows of all ranks in ascending order. Scratch: mine[size], all[size][size]. */
static spmv_status list_all(loading *l, const spmv_some_rows *rows, int64_t least, int64_t *mine,
                            int64_t *all, longs *s) {
    spmv_ranks *ranks = l->ranks;
    const int size = ranks->size;
    int64_t n = 0;
    for (int64_t i = 0; i < rows->rows; i++)
        if (length_of(rows, i) >= least) mine[n++] = l->first_row[ranks->rank] + i;
    const spmv_status status =
        ranks->by->gather(ranks->state, mine, (size_t)size * sizeof *mine, all);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "long rows were lost");
    for (int64_t k = 0; k < (int64_t)size * size; k++) s->n += all[k] >= 0;
    s->row = malloc(((size_t)s->n + 1) * sizeof *s->row);
    if (!s->row) return ranks_no_memory(ranks, "long rows");
    s->n = 0;
    for (int64_t k = 0; k < (int64_t)size * size; k++)
        if (all[k] >= 0) s->row[s->n++] = all[k];
    for (int64_t k = 0; k < s->n; k++) {
        const int64_t i = s->row[k] - l->first_row[ranks->rank];
        if (i >= 0 && i < rows->rows) s->number[i] = (int32_t)k;
    }
    return SPMV_OK;
}

/* A rank has fewer long rows than there are ranks, so [size] entries per rank suffice. */
static spmv_status find_long(loading *l, const spmv_some_rows *rows, longs *s) {
    spmv_ranks *ranks = l->ranks;
    const size_t size = (size_t)ranks->size;
    int64_t *mine = malloc(size * sizeof *mine), *all = malloc(size * size * sizeof *all), nnz = 0;
    s->number = malloc(((size_t)rows->rows + 1) * sizeof *s->number);
    s->first_row = malloc((size + 1) * sizeof *s->first_row);
    s->first_col = malloc((size + 1) * sizeof *s->first_col);
    const bool fits = mine && all && s->number && s->first_row && s->first_col;
    spmv_status status = ranks_agree_memory(ranks, fits, "long rows");
    const bool agreed = status != SPMV_OK;
    if (status == SPMV_OK)
        status = ranks->by->gather(ranks->state, &rows->nnz, sizeof rows->nnz, all);
    for (size_t r = 0; r < size && status == SPMV_OK; r++) nnz += all[r];
    for (size_t r = 0; r < size && status == SPMV_OK; r++) mine[r] = -1;
    for (int64_t i = 0; i < rows->rows && status == SPMV_OK; i++) s->number[i] = -1;
    if (status == SPMV_OK)
        status = list_all(l, rows, ranks_split_least(nnz, ranks->size), mine, all, s);
    free(mine);
    free(all);
    return agreed ? status : ranks_agree(ranks, status);
}

/* ---- where entries count -------------------------------------------------------------------- */

typedef struct columns { /* iterator over the columns of this rank's entries in long rows */
    loading *l;
    const spmv_some_rows *rows;
    const longs *s;
    int64_t i, k; /* row, and index of the entry in the row */
    int hint;
} columns;

static bool send_columns(void *arg, ranks_boxes *boxes) {
    columns *c = arg;
    for (; c->i < c->rows->rows; c->i++, c->k = 0) {
        if (c->s->number[c->i] < 0) continue;
        const int64_t begin = c->rows->row_ptr[c->i], n = length_of(c->rows, c->i);
        for (; c->k < n; c->k++) {
            const int32_t col = c->rows->col_idx[begin + c->k];
            c->hint = ranks_owner(c->l->even, c->l->ranks->size, col, c->hint);
            if (!ranks_put(boxes, c->hint, &col)) return true;
        }
    }
    return false;
}

static void take_columns(void *arg, int from, const void *items, int64_t n) {
    const loading *l = ((const columns *)arg)->l;
    const int32_t *col = items;
    (void)from;
    for (int64_t k = 0; k < n; k++) l->ptr[col[k] - own_even(l) + 1]++;
}

/* Cuts rows into blocks of about equal numbers of multiplied entries. An entry of a long row counts
 * at the owner of its column if the matrix is square; otherwise x is divided evenly. */
static spmv_status cut_anew(loading *l, const spmv_some_rows *rows, longs *s) {
    spmv_ranks *ranks = l->ranks;
    const bool square = l->head.rows == l->head.cols;
    int64_t *length = malloc(((size_t)rows->rows + 1) * sizeof *length);
    spmv_status status = ranks_agree_memory(ranks, length != NULL, "blocks of rows");
    if (status == SPMV_OK) {
        for (int64_t i = 0; i < rows->rows; i++)
            length[i] = s->number[i] < 0 ? length_of(rows, i) : 0;
        status = ranks_agree(ranks, ranks_relay(l, l->first_row, l->even, length, l->ptr + 1));
    }
    columns c = {.l = l, .rows = rows, .s = s};
    const ranks_shuffle shuffle = {sizeof(int32_t), send_columns, take_columns, &c};
    if (status == SPMV_OK && square) status = ranks_shuffle_all(ranks, &shuffle);
    if (status == SPMV_OK) status = ranks_sum_rows(l);
    if (status == SPMV_OK) status = ranks_cut_rows(l, s->first_row);
    for (int r = 0; r <= ranks->size; r++)
        s->first_col[r] = square ? s->first_row[r] : ranks_even(l->head.cols, r, ranks->size);
    free(length);
    return status;
}

/* ---- entries on their way -------------------------------------------------------------------- */

/* Extracts own entries in long rows. out->row is the column, because the column determines the
 * receiver; out->col is the index of the long row. */
static spmv_status take_long(loading *l, const longs *s, ranks_own *out) {
    const ranks_own all = l->own;
    int64_t n = 0;
    for (int64_t k = 0; k < all.n; k++) n += s->number[all.row[k]] >= 0;
    const spmv_status status = ranks_own_alloc(l, n);
    *out = l->own;
    l->own = all;
    if (status != SPMV_OK) return status;
    n = 0;
    for (int64_t k = 0; k < all.n; k++) {
        if (s->number[all.row[k]] < 0) continue;
        out->row[n] = all.col[k];
        out->col[n] = s->number[all.row[k]];
        out->value[n++] = all.value[k];
    }
    return SPMV_OK;
}

/* Removes the entries of long rows from own rows. */
static void drop_long(const longs *s, int64_t first_row, spmv_some_rows *rows) {
    int64_t begin = 0, to = 0, k = 0;
    while (k < s->n && s->row[k] < first_row) k++;
    for (int64_t i = 0; i < rows->rows; i++) {
        const int64_t end = rows->row_ptr[i + 1], n = end - begin;
        if (k < s->n && s->row[k] == first_row + i) {
            k++;
        } else {
            memmove(rows->col_idx + to, rows->col_idx + begin, (size_t)n * sizeof *rows->col_idx);
            memmove(rows->values + to, rows->values + begin, (size_t)n * sizeof *rows->values);
            to += n;
        }
        rows->row_ptr[i + 1] = to;
        begin = end;
    }
    rows->nnz = to;
}

static void set_blocks(loading *l, const int64_t *first) {
    memcpy(l->first_row, first, ((size_t)l->ranks->size + 1) * sizeof *first);
}

/* Sends the entries of long rows to the owners of their columns, and converts them to CSR. */
static spmv_status move_long(loading *l, const longs *s, ranks_own *mine, spmv_some_rows *out) {
    spmv_ranks *ranks = l->ranks;
    const ranks_own rows = l->own;
    l->own = *mine;
    *mine = (ranks_own){0};
    set_blocks(l, s->first_col);
    spmv_status status = ranks_move_entries(l);
    if (status == SPMV_OK) {
        const spmv_coo_view A = {.size = sizeof A,
                                 .rows = s->n,
                                 .cols = s->first_col[ranks->rank + 1] - s->first_col[ranks->rank],
                                 .nnz = l->own.n,
                                 .row = l->own.col,
                                 .col = l->own.row,
                                 .values = l->own.value};
        status =
            ranks_agree(ranks, ranks_ctx_failed(ranks, spmv_rows_build(ranks->ctx, &A, 0, out)));
    }
    ranks_own_free(ranks, &l->own);
    l->own = rows;
    set_blocks(l, s->first_row);
    return status;
}

/* Moves all entries to the owners of their rows (the check needs them), and entries of long rows
 * also to the owners of their columns. */
static spmv_status split(loading *l, longs *s, ranks_loaded *out) {
    spmv_ranks *ranks = l->ranks;
    const int64_t before = l->first_row[ranks->rank];
    ranks_own mine = {0};
    spmv_status status = cut_anew(l, &out->rows, s);
    if (status == SPMV_OK) status = ranks_agree(ranks, take_long(l, s, &mine));
    ranks_rows_free(ranks, &out->rows);
    if (status == SPMV_OK) {
        for (int64_t k = 0; k < l->own.n; k++) l->own.row[k] += (int32_t)before;
        set_blocks(l, s->first_row);
        status = ranks_move_entries(l);
    }
    if (status == SPMV_OK) status = ranks_build_rows(l, &out->rows);
    if (status == SPMV_OK) {
        drop_long(s, l->first_row[ranks->rank], &out->rows);
        status = move_long(l, s, &mine, &out->pieces);
    }
    ranks_own_free(ranks, &mine);
    return status;
}

spmv_status ranks_split_long(loading *l, ranks_loaded *out) {
    spmv_ranks *ranks = l->ranks;
    longs s = {0};
    if (ranks->size == 1 || l->by != SPMV_BY_NONZEROS) return SPMV_OK;
    spmv_status status = find_long(l, &out->rows, &s);
    if (status == SPMV_OK && s.n) {
        status = split(l, &s, out);
        out->owner = malloc((size_t)s.n * sizeof *out->owner);
        if (status == SPMV_OK) status = ranks_agree_memory(ranks, out->owner, "long rows");
        for (int64_t k = 0; k < s.n && status == SPMV_OK; k++)
            out->owner[k] = ranks_owner(l->first_row, ranks->size, s.row[k], 0);
        out->nsplit = s.n;
        out->split = s.row;
        s.row = NULL;
    }
    longs_free(&s);
    return status;
}
