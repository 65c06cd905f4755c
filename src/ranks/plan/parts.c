/* parts.c: a distributed matrix. Own rows are divided into two ordinary matrices: the local part
 * (own columns) and the remote part (one column per entry of the halo). For a replicated x whole.c
 * merges them. */
#include "ranks/partition/columns.h"
#include "ranks/ranks.h"
#include "ranks/partition/partition.h"
#include <stdlib.h>
#include <string.h>

typedef struct given { /* own rows, passed by the caller or loaded */
    int64_t rows, cols, nnz;
    const int64_t *ptr, *idx;
    const int32_t *narrow; /* columns of loaded rows; idx is NULL then */
    const void *values;
    spmv_precision precision;
    spmv_some_rows *loaded; /* owner of ptr, narrow and values, which the parts may take over; NULL:
                               they are borrowed */
} given;

typedef struct division {
    ranks_part local, remote;
    ranks_columns *halo; /* columns of the remote part, numbers of the whole matrix */
    int64_t *columns;    /* [nhalo] the same as a list, ascending */
    int64_t nhalo;
    int64_t remote_rows; /* rows that the remote part stores */
} division;

static bool take_indices(spmv_ranks *ranks, int64_t rows, ranks_part *p) {
    p->ptr = spmv_rows_take(ranks->ctx, ((size_t)rows + 1) * sizeof *p->ptr);
    if (!p->idx) p->idx = spmv_rows_take(ranks->ctx, ((size_t)p->nnz + 1) * sizeof *p->idx);
    return p->ptr && p->idx;
}

static bool take_values(spmv_ranks *ranks, size_t width, ranks_part *p) {
    if (!p->values) p->values = spmv_rows_take(ranks->ctx, ((size_t)p->nnz + 1) * width);
    return p->values;
}

static inline int64_t column_of(const given *g, int64_t k) {
    return g->narrow ? g->narrow[k] : g->idx[k];
}

/* ---- what was given ------------------------------------------------------------------------- */

static spmv_status check_rows(spmv_ranks *ranks, const spmv_ranks_rows *r) {
    if (r->rows < 0 || r->cols < 0 || r->nnz < 0)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_rows: %lld rows, %lld cols, %lld nnz",
                          (long long)r->rows, (long long)r->cols, (long long)r->nnz);
    if (r->precision != SPMV_F64 && r->precision != SPMV_F32)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_rows.precision is %d", (int)r->precision);
    if (!r->ptr || (r->nnz && (!r->idx || !r->values)))
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_rows.%s is NULL",
                          !r->ptr   ? "ptr"
                          : !r->idx ? "idx"
                                    : "values");
    for (int64_t i = 0; i < r->rows; i++)
        if (r->ptr[i + 1] < r->ptr[i])
            return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_rows.ptr descends after own row %lld",
                              (long long)i);
    if (r->ptr[0] == 0 && r->ptr[r->rows] == r->nnz) return SPMV_OK;
    return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_rows.ptr goes from %lld to %lld, not 0 to nnz",
                      (long long)r->ptr[0], (long long)r->ptr[r->rows]);
}

typedef struct shape {
    int64_t rows, cols, nnz;
} shape;

/* Computes the size of the whole matrix, and the first column of each rank's block of x. */
static spmv_status place_blocks(spmv_ranks_mat *mat, const given *r, shape *all) {
    spmv_ranks *ranks = mat->ranks;
    spmv_ranks_facts *f = &mat->facts;
    const shape mine = {r->rows, r->cols, r->nnz};
    const spmv_status status = ranks->by->gather(ranks->state, &mine, sizeof mine, all);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "the ranks' shapes were lost");
    for (int k = 0; k < ranks->size; k++) {
        if (k == ranks->rank) f->first_row = f->rows, f->first_col = f->cols;
        mat->first_col[k] = f->cols;
        f->rows += all[k].rows;
        f->cols += all[k].cols;
        f->nnz += all[k].nnz;
        if (all[k].nnz > f->most_own_nnz) f->most_own_nnz = all[k].nnz;
    }
    mat->first_col[ranks->size] = f->cols;
    f->own_rows = r->rows;
    f->own_cols = r->cols;
    f->own_nnz = r->nnz;
    return SPMV_OK;
}

/* ---- division ------------------------------------------------------------------------------- */

static bool is_own(const spmv_ranks_facts *f, int64_t col) {
    return col >= f->first_col && col < f->first_col + f->own_cols;
}

static spmv_status lack_columns(spmv_ranks *ranks) {
    return ranks_no_memory(ranks, "the columns of other ranks");
}

/* Marks the remote entries and collects their columns. */
static spmv_status mark_remote(spmv_ranks_mat *mat, const given *g, division *d) {
    const spmv_ranks_facts *f = &mat->facts;
    mat->remote_bits = calloc((size_t)g->nnz / 64 + 1, sizeof *mat->remote_bits);
    d->halo = ranks_columns_new(f->cols);
    if (!mat->remote_bits || !d->halo) return lack_columns(mat->ranks);
    for (int64_t i = 0; i < g->rows; i++)
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            const int64_t col = column_of(g, k);
            if (col < 0 || col >= f->cols)
                return ranks_fail(mat->ranks, SPMV_E_ARG,
                                  "spmv_ranks_rows.idx[%lld] in row %lld is %lld, of %lld columns",
                                  (long long)k, (long long)(f->first_row + i), (long long)col,
                                  (long long)f->cols);
            if (is_own(f, col)) continue;
            mat->remote_bits[k / 64] |= (uint64_t)1 << (k % 64);
            d->remote.nnz++;
            if (!ranks_columns_add(d->halo, col)) return lack_columns(mat->ranks);
        }
    d->local.nnz = g->nnz - d->remote.nnz;
    return SPMV_OK;
}

static bool is_remote(const spmv_ranks_mat *mat, int64_t k) {
    return mat->remote_bits[k / 64] >> (k % 64) & 1;
}

/* Renumbers the columns: in the local part from the first own column, in the remote part by their
 * index in the halo. */
static void divide_indices(const spmv_ranks_mat *mat, const given *g, division *d) {
    int64_t local = 0, remote = 0;
    d->local.ptr[0] = d->remote.ptr[0] = 0;
    for (int64_t i = 0; i < g->rows; i++) {
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            const int64_t col = column_of(g, k);
            if (is_remote(mat, k))
                d->remote.idx[remote++] = ranks_columns_number(d->halo, col);
            else
                d->local.idx[local++] = (int32_t)(col - mat->facts.first_col);
        }
        d->local.ptr[i + 1] = local;
        d->remote.ptr[i + 1] = remote;
    }
}

/* If few rows have remote entries, the remote part stores these rows only, so that a product reads
 * and writes only their elements of y. */
static spmv_status list_rows(spmv_ranks_mat *mat, division *d) {
    spmv_ranks *ranks = mat->ranks;
    const int64_t *ptr = d->remote.ptr, rows = mat->facts.own_rows;
    int64_t n = 0;
    free(mat->listed); /* left by an earlier attempt that ran out of memory */
    mat->listed = NULL;
    mat->nlisted = 0;
    for (int64_t i = 0; i < rows; i++) n += ptr[i + 1] > ptr[i];
    d->remote_rows = rows;
    if (!ranks_is_listed(n, rows)) return SPMV_OK;
    int64_t *listed_ptr = spmv_rows_take(ranks->ctx, ((size_t)n + 1) * sizeof *listed_ptr);
    mat->listed = malloc((size_t)n * sizeof *mat->listed + 1);
    if (!listed_ptr || !mat->listed) {
        spmv_rows_give(ranks->ctx, listed_ptr);
        return ranks_no_memory(ranks, "a list of rows");
    }
    listed_ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (ptr[i + 1] == ptr[i]) continue;
        mat->listed[mat->nlisted++] = (int32_t)i;
        listed_ptr[mat->nlisted] = ptr[i + 1];
    }
    spmv_rows_give(ranks->ctx, d->remote.ptr);
    d->remote.ptr = listed_ptr;
    d->remote_rows = n;
    return SPMV_OK;
}

/* Returns the index of the first remote entry >= k, or `all` if there is none. */
static int64_t next_remote(const spmv_ranks_mat *mat, int64_t k, int64_t all) {
    while (k < all) {
        const uint64_t left = mat->remote_bits[k / 64] >> (k % 64);
        if (left) return k + __builtin_ctzll(left);
        k = (k / 64 + 1) * 64;
    }
    return all;
}

/* Divides values, which are in the order of the given entries. `local` may be equal to `values`. */
static void divide_values(const spmv_ranks_mat *mat, const char *values, char *local,
                          char *remote) {
    const size_t width = mat->width;
    const int64_t all = mat->facts.own_nnz - mat->split.lent.nnz;
    for (int64_t from = 0, to; from < all; from = to + 1) {
        to = next_remote(mat, from, all);
        const size_t bytes = (size_t)(to - from) * width;
        const char *begin = values + (size_t)from * width;
        if (bytes && local != begin) memmove(local, begin, bytes);
        local += bytes;
        if (to == all) break;
        memcpy(remote, values + (size_t)to * width, width);
        remote += width;
    }
}

/* Avoids a second copy of loaded rows. If nearly all entries are local, the local part reuses their
 * arrays; otherwise indices are freed before the values of the parts are allocated. */
static void take_over(const given *g, division *d) {
    enum {
        MOST_REMOTE = 4
    }; /* at most one entry in 4: the arrays of the local part waste that
                                 much */
    if (!g->loaded || MOST_REMOTE * d->remote.nnz > g->nnz) return;
    d->local.idx = g->loaded->col_idx;
    d->local.values = g->loaded->values;
    g->loaded->col_idx = NULL;
    g->loaded->values = NULL;
}

static void drop_indices(spmv_ranks *ranks, spmv_some_rows *loaded) {
    if (!loaded) return;
    spmv_rows_give(ranks->ctx, loaded->col_idx);
    spmv_rows_give(ranks->ctx, loaded->row_ptr);
    loaded->col_idx = NULL;
    loaded->row_ptr = NULL;
}

/* Lists the columns of the halo. */
static spmv_status find_halo(spmv_ranks_mat *mat, const given *g, division *d) {
    spmv_ranks *ranks = mat->ranks;
    const spmv_status status = mark_remote(mat, g, d);
    if (status != SPMV_OK) return status;
    d->nhalo = ranks_columns_count(d->halo);
    d->columns = malloc(((size_t)d->nhalo + 1) * sizeof *d->columns);
    if (!d->columns) return lack_columns(ranks);
    if (d->nhalo > INT32_MAX || g->cols > INT32_MAX)
        return ranks_fail(ranks, SPMV_E_TOOBIG,
                          "%lld own entries of x and %lld of other ranks: take more ranks",
                          (long long)g->cols, (long long)d->nhalo);
    ranks_columns_list(d->halo, d->columns);
    mat->facts.local_nnz = d->local.nnz;
    mat->facts.remote_nnz = d->remote.nnz;
    return SPMV_OK;
}

static spmv_status divide(spmv_ranks_mat *mat, const given *g, division *d) {
    spmv_ranks *ranks = mat->ranks;
    take_over(g, d);
    if (!take_indices(ranks, g->rows, &d->local) || !take_indices(ranks, g->rows, &d->remote))
        return ranks_no_memory(ranks, "the entries of a part");
    divide_indices(mat, g, d);
    const spmv_status status = list_rows(mat, d);
    if (status != SPMV_OK) return status;
    ranks_columns_free(d->halo);
    d->halo = NULL;
    drop_indices(ranks, g->loaded);
    if (!take_values(ranks, mat->width, &d->local) || !take_values(ranks, mat->width, &d->remote))
        return ranks_no_memory(ranks, "the entries of a part");
    divide_values(mat, g->values, d->local.values, d->remote.values);
    if (g->loaded) {
        spmv_rows_give(ranks->ctx, g->loaded->values);
        g->loaded->values = NULL;
    }
    return SPMV_OK;
}

static void division_free(spmv_ranks *ranks, division *d) {
    ranks_part_free(ranks, &d->local);
    ranks_part_free(ranks, &d->remote);
    ranks_columns_free(d->halo);
    free(d->columns);
}

/* ---- the two matrices ----------------------------------------------------------------------- */

static spmv_status make_parts(spmv_ranks_mat *mat, const given *g, division *d) {
    spmv_status status = divide(mat, g, d);
    if (status != SPMV_OK) return status;
    const unsigned flags = g->loaded ? SPMV_BORROW : SPMV_COPY; /* loaded rows are canonical CSR */
    status = ranks_part_matrix(mat->ranks, &d->local, mat->facts.own_rows, mat->facts.own_cols,
                               g->precision, flags, &mat->local);
    if (status == SPMV_OK && d->remote.nnz)
        status = ranks_part_matrix(mat->ranks, &d->remote, d->remote_rows, d->nhalo, g->precision,
                                   flags, &mat->remote);
    if (status != SPMV_OK) {
        spmv_mat_free(mat->local);
        mat->local = NULL;
    }
    if (status != SPMV_OK || !g->loaded) return status;
    mat->lent_local = d->local;
    d->local = (ranks_part){0};
    if (mat->remote) {
        mat->lent_remote = d->remote;
        d->remote = (ranks_part){0};
    }
    return SPMV_OK;
}

static spmv_status note_halo(spmv_ranks_mat *mat, shape *all) {
    spmv_ranks *ranks = mat->ranks;
    spmv_ranks_facts *f = &mat->facts;
    f->received = mat->halo.received;
    f->sent = mat->halo.sent;
    f->receives_from = mat->halo.nfrom;
    f->sends_to = mat->halo.nto;
    const shape mine = {.nnz = f->received};
    const spmv_status status = ranks->by->gather(ranks->state, &mine, sizeof mine, all);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "the sizes of halos were lost");
    for (int k = 0; k < ranks->size; k++)
        if (all[k].nnz > f->most_received) f->most_received = all[k].nnz;
    return SPMV_OK;
}

/* Keeps loaded rows undivided. */
static void keep(spmv_ranks_mat *mat, spmv_some_rows *loaded) {
    mat->lent_whole = (ranks_part){loaded->row_ptr, loaded->col_idx, loaded->values, loaded->nnz};
    *loaded = (spmv_some_rows){0};
}

/* Loaded rows stay undivided if plans are likely to use a replicated x. Only a plan that uses halo
 * lists divides them, because memory may not suffice for both forms. */
static spmv_status fill(spmv_ranks_mat *mat, const given *g, shape *all) {
    spmv_ranks *ranks = mat->ranks;
    division d = {.halo = NULL};
    spmv_status status = place_blocks(mat, g, all);
    if (status == SPMV_OK) status = find_halo(mat, g, &d);
    status = ranks_agree(ranks, status);
    if (status == SPMV_OK) status = ranks_halo_make(mat, d.columns, d.nhalo);
    if (status == SPMV_OK) status = ranks_agree(ranks, note_halo(mat, all));
    if (status == SPMV_OK && g->loaded && ranks_needs_much(&mat->facts))
        keep(mat, g->loaded);
    else if (status == SPMV_OK)
        status = ranks_agree(ranks, make_parts(mat, g, &d));
    division_free(ranks, &d);
    return status;
}

/* Restores the numbering of the halo's columns. */
static spmv_status recall_halo(const spmv_ranks_mat *mat, division *d) {
    d->nhalo = mat->halo.received;
    d->local.nnz = mat->facts.local_nnz - mat->split.lent.nnz;
    d->remote.nnz = mat->facts.remote_nnz;
    d->halo = ranks_columns_new(mat->facts.cols);
    if (!d->halo) return lack_columns(mat->ranks);
    for (int64_t k = 0; k < d->nhalo; k++)
        if (!ranks_columns_add(d->halo, mat->halo.column[k])) return lack_columns(mat->ranks);
    return ranks_columns_count(d->halo) == d->nhalo ? SPMV_OK : lack_columns(mat->ranks);
}

spmv_status ranks_parts_make(spmv_ranks_mat *mat) {
    ranks_part *w = &mat->lent_whole;
    division d = {.halo = NULL};
    if (mat->local) return SPMV_OK;
    if (!w->ptr)
        return ranks_fail(mat->ranks, SPMV_E_NOMEM, "rows were lost when there was no memory");
    spmv_some_rows rows = {.row_ptr = w->ptr, .col_idx = w->idx, .values = w->values};
    const given g = {.rows = mat->facts.own_rows,
                     .cols = mat->facts.own_cols,
                     .nnz = w->nnz,
                     .ptr = w->ptr,
                     .narrow = w->idx,
                     .values = w->values,
                     .loaded = mat->whole ? NULL : &rows};
    spmv_status status = recall_halo(mat, &d);
    if (status == SPMV_OK) status = make_parts(mat, &g, &d);
    /* arrays that the parts have not taken over are no longer needed; after a failure, neither are
     * the others */
    if (!mat->whole) {
        *w = (ranks_part){rows.row_ptr, rows.col_idx, rows.values, 0};
        ranks_part_free(mat->ranks, w);
    }
    division_free(mat->ranks, &d);
    return status;
}

static spmv_status begin(spmv_ranks *ranks, const given *g, shape **all, spmv_ranks_mat **out) {
    *all = malloc((size_t)ranks->size * sizeof **all);
    *out = calloc(1, sizeof **out);
    if (*out) {
        (*out)->ranks = ranks;
        (*out)->width = g->precision == SPMV_F32 ? sizeof(float) : sizeof(double);
        (*out)->first_col = malloc(((size_t)ranks->size + 1) * sizeof(int64_t));
    }
    if (*all && *out && (*out)->first_col) return SPMV_OK;
    return ranks_fail(ranks, SPMV_E_NOMEM, "out of memory");
}

/* Creates the matrix if `status`, of earlier steps on this rank, is SPMV_OK on all ranks. */
static spmv_status create(spmv_ranks *ranks, spmv_status status, const given *g,
                          spmv_ranks_mat **out) {
    spmv_ranks_mat *mat = NULL;
    shape *all = NULL;
    *out = NULL;
    if (status == SPMV_OK) status = begin(ranks, g, &all, &mat);
    status = ranks_agree(ranks, status);
    if (status == SPMV_OK) status = fill(mat, g, all);
    if (status == SPMV_OK)
        *out = mat;
    else
        spmv_ranks_mat_free(mat);
    free(all);
    return status;
}

spmv_status spmv_ranks_mat_create(spmv_ranks *ranks, const spmv_ranks_rows *rows,
                                  spmv_ranks_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_ranks_rows r = SPMV_OPTS(spmv_ranks_rows);
    if (!ranks || !out)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_mat_create: %s is NULL",
                          ranks ? "out" : "ranks");
    spmv_status status = rows
                             ? ranks_read(ranks, "spmv_ranks_rows", &r, sizeof r, rows)
                             : ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_mat_create: rows is NULL");
    if (status == SPMV_OK) status = check_rows(ranks, &r);
    const given g = {.rows = r.rows,
                     .cols = r.cols,
                     .nnz = r.nnz,
                     .ptr = r.ptr,
                     .idx = r.idx,
                     .values = r.values,
                     .precision = r.precision};
    return create(ranks, status, &g, out);
}

spmv_status ranks_mat_of(spmv_ranks *ranks, ranks_loaded *l, spmv_ranks_mat **out) {
    spmv_some_rows *rows = &l->rows;
    const given g = {.rows = rows->rows,
                     .cols = l->own_cols,
                     .nnz = rows->nnz,
                     .ptr = rows->row_ptr,
                     .narrow = rows->col_idx,
                     .values = rows->values,
                     .loaded = rows};
    spmv_status status = create(ranks, SPMV_OK, &g, out);
    if (status == SPMV_OK) status = ranks_split_take(*out, l);
    if (status == SPMV_OK) return status;
    spmv_ranks_mat_free(*out);
    *out = NULL;
    return status;
}

void spmv_ranks_mat_free(spmv_ranks_mat *mat) {
    if (!mat) return;
    spmv_mat_free(mat->local);
    spmv_mat_free(mat->remote);
    ranks_whole_free(mat);
    ranks_split_free(mat);
    ranks_halo_free(&mat->halo);
    ranks_part_free(mat->ranks, &mat->lent_local);
    ranks_part_free(mat->ranks, &mat->lent_remote);
    ranks_own_free(mat->ranks, &mat->own);
    free(mat->remote_bits);
    free(mat->listed);
    free(mat->first_col);
    free(mat->number);
    free(mat);
}

spmv_status spmv_ranks_mat_info(const spmv_ranks_mat *mat, spmv_ranks_facts *out) {
    if (!mat) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_mat_info: mat is NULL");
    return ranks_fill(mat->ranks, "spmv_ranks_facts", &mat->facts, sizeof mat->facts, out);
}

/* ---- what plans are to do ------------------------------------------------------------------- */

static spmv_status set_halo(spmv_ranks_mat *mat, spmv_ranks_halo halo) {
    if (halo < SPMV_HALO_AUTO || halo > SPMV_HALO_REPLICATE)
        return ranks_fail(mat->ranks, SPMV_E_ARG, "spmv_ranks_mat_set_halo: halo is %d", (int)halo);
    if (halo == SPMV_HALO_REPLICATE && mat->facts.cols > INT32_MAX)
        return ranks_fail(mat->ranks, SPMV_E_TOOBIG,
                          "spmv_ranks_mat_set_halo: x has %lld entries, more than are replicated",
                          (long long)mat->facts.cols);
    mat->halo_asked = halo;
    return SPMV_OK;
}

spmv_status spmv_ranks_mat_set_halo(spmv_ranks_mat *mat, spmv_ranks_halo halo) {
    SPMV_DEFAULT_ENVIRONMENT;
    if (!mat) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_mat_set_halo: mat is NULL");
    return ranks_agree(mat->ranks, set_halo(mat, halo));
}

/* ---- new values ----------------------------------------------------------------------------- */

/* Sets new values of one part. Swaps *values with an array that the matrix borrows. */
static spmv_status renew(spmv_ranks *ranks, spmv_mat *mat, ranks_part *lent, void **values) {
    const spmv_status status =
        ranks_ctx_failed(ranks, spmv_mat_set_values(mat, *values, SPMV_HOST, NULL));
    if (status != SPMV_OK || !lent->ptr) return status;
    void *before = lent->values;
    lent->values = *values;
    *values = before;
    return SPMV_OK;
}

static spmv_status set_values(spmv_ranks_mat *mat, const void *values) {
    spmv_ranks *ranks = mat->ranks;
    const size_t width = mat->width;
    if (!values && mat->facts.own_nnz)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_mat_set_values: values is NULL");
    const bool divided = mat->local;
    const int64_t nlocal = divided ? mat->facts.local_nnz : 0,
                  nremote = divided ? mat->facts.remote_nnz : 0;
    void *local = spmv_rows_take(ranks->ctx, ((size_t)nlocal + 1) * width);
    void *remote = spmv_rows_take(ranks->ctx, ((size_t)nremote + 1) * width);
    const size_t split_bytes = (size_t)mat->split.lent.nnz * width;
    void *split = spmv_rows_take(ranks->ctx, split_bytes + width);
    spmv_status status = local && remote && split ? SPMV_OK : ranks_no_memory(ranks, "new values");
    if (status == SPMV_OK && divided) {
        divide_values(mat, values, local, remote);
        status = renew(ranks, mat->local, &mat->lent_local, &local);
    }
    if (status == SPMV_OK && mat->split.mat) {
        const size_t all = (size_t)mat->facts.own_nnz * width;
        memcpy(split, (const char *)values + all - split_bytes, split_bytes);
        status = renew(ranks, mat->split.mat, &mat->split.lent, &split);
    }
    if (status == SPMV_OK && mat->remote)
        status = renew(ranks, mat->remote, &mat->lent_remote, &remote);
    if (status == SPMV_OK) status = ranks_whole_renew(mat, values);
    spmv_rows_give(ranks->ctx, local);
    spmv_rows_give(ranks->ctx, remote);
    spmv_rows_give(ranks->ctx, split);
    return status;
}

spmv_status spmv_ranks_mat_set_values(spmv_ranks_mat *mat, const void *values) {
    SPMV_DEFAULT_ENVIRONMENT;
    if (!mat) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_mat_set_values: mat is NULL");
    return ranks_agree(mat->ranks, set_values(mat, values));
}
