/* whole.c: own rows as one matrix with all columns, for a replicated x. Rows that have been divided
 * are merged from the local and the remote part: in each row, remote columns below the own ones,
 * own columns, remote columns above. */
#include "ranks/ranks.h"
#include <stdlib.h>
#include <string.h>

typedef struct parts {
    const spmv_ranks_mat *mat;
    spmv_csr_view local, remote; /* remote: may have listed rows only, or be empty */
    int64_t *first;              /* [own rows + 1] offset of each row in the remote part */
} parts;

static spmv_status read_part(spmv_ranks *ranks, const spmv_mat *mat, spmv_csr_view *view) {
    *view = (spmv_csr_view)SPMV_OPTS(spmv_csr_view);
    return mat ? ranks_ctx_failed(ranks, spmv_mat_rows(mat, view)) : SPMV_OK;
}

/* A row that is not listed has an empty range in the remote part. */
static spmv_status read_parts(const spmv_ranks_mat *mat, parts *p) {
    spmv_ranks *ranks = mat->ranks;
    *p = (parts){.mat = mat};
    spmv_status status = read_part(ranks, mat->local, &p->local);
    if (status == SPMV_OK) status = read_part(ranks, mat->remote, &p->remote);
    if (status != SPMV_OK) return status;
    const int64_t rows = mat->facts.own_rows;
    p->first = malloc(((size_t)rows + 1) * sizeof *p->first);
    if (!p->first)
        return ranks_fail(ranks, SPMV_E_NOMEM, "out of memory for %lld rows", (long long)rows);
    for (int64_t i = 0, r = 0; i <= rows; i++) {
        while (mat->listed && r < mat->nlisted && mat->listed[r] < i) r++;
        p->first[i] = mat->remote ? p->remote.row_ptr[mat->listed ? r : i] : 0;
    }
    return SPMV_OK;
}

/* Returns the offset of a row in the merged matrix: the sum of its offsets in both parts. */
static int64_t begin_of(const parts *p, int64_t row) {
    return p->local.row_ptr[row] + p->first[row];
}

static void copy_values(double *to, const double *from, int64_t n) {
    if (n) memcpy(to, from, (size_t)n * sizeof *to);
}

/* Fills a row's values and, unless idx is NULL, its columns. */
static void fill_row(const parts *p, int64_t row, int32_t *idx, double *values) {
    const int64_t first_col = p->mat->facts.first_col, *column = p->mat->halo.column;
    const int64_t begin = p->first[row], end = p->first[row + 1], at = begin_of(p, row);
    const int64_t own = p->local.row_ptr[row], nown = p->local.row_ptr[row + 1] - own;
    int64_t before = begin;
    while (before < end && column[p->remote.col_idx[before]] < first_col) before++;
    const int64_t middle = at + before - begin, behind = middle + nown;
    copy_values(values + at, p->remote.values + begin, before - begin);
    copy_values(values + middle, p->local.values + own, nown);
    copy_values(values + behind, p->remote.values + before, end - before);
    if (!idx) return;
    for (int64_t k = begin; k < end; k++)
        idx[(k < before ? at - begin : behind - before) + k] =
            (int32_t)column[p->remote.col_idx[k]];
    for (int64_t k = 0; k < nown; k++)
        idx[middle + k] = (int32_t)(first_col + p->local.col_idx[own + k]);
}

static void fill_rows(const parts *p, int32_t *idx, double *values) {
    const int64_t rows = p->mat->facts.own_rows;
#pragma omp parallel for num_threads(spmv_ctx_threads(p->mat->ranks->ctx))
    for (int64_t i = 0; i < rows; i++) fill_row(p, i, idx, values);
}

static spmv_status merge(const spmv_ranks_mat *mat, const parts *p, ranks_part *w) {
    spmv_ranks *ranks = mat->ranks;
    const int64_t rows = mat->facts.own_rows;
    w->nnz = p->local.nnz + p->remote.nnz;
    w->ptr = spmv_rows_take(ranks->ctx, ((size_t)rows + 1) * sizeof *w->ptr);
    w->idx = spmv_rows_take(ranks->ctx, ((size_t)w->nnz + 1) * sizeof *w->idx);
    w->values = spmv_rows_take(ranks->ctx, ((size_t)w->nnz + 1) * sizeof(double));
    if (!w->ptr || !w->idx || !w->values)
        return ranks_fail(ranks, SPMV_E_NOMEM, "out of memory for %lld entries", (long long)w->nnz);
    for (int64_t i = 0; i <= rows; i++) w->ptr[i] = begin_of(p, i);
    fill_rows(p, w->idx, w->values);
    return SPMV_OK;
}

static spmv_status merge_parts(spmv_ranks_mat *mat) {
    parts p;
    spmv_status status = read_parts(mat, &p);
    if (status == SPMV_OK) status = merge(mat, &p, &mat->lent_whole);
    free(p.first);
    return status;
}

spmv_status ranks_whole_make(spmv_ranks_mat *mat) {
    spmv_status status = mat->whole || mat->lent_whole.ptr ? SPMV_OK : merge_parts(mat);
    if (status != SPMV_OK) ranks_part_free(mat->ranks, &mat->lent_whole);
    if (status != SPMV_OK || mat->whole) return status;
    return ranks_part_matrix(mat->ranks, &mat->lent_whole, mat->facts.own_rows, mat->facts.cols,
                             SPMV_F64, SPMV_BORROW | SPMV_SORTED, &mat->whole);
}

/* Fills the values of the merged matrix. */
static spmv_status fill_values(const spmv_ranks_mat *mat, const double *given, double *values) {
    parts p;
    if (!mat->local) {
        copy_values(values, given, mat->lent_whole.nnz);
        return SPMV_OK;
    }
    const spmv_status status = read_parts(mat, &p);
    if (status == SPMV_OK) fill_rows(&p, NULL, values);
    free(p.first);
    return status;
}

spmv_status ranks_whole_renew(spmv_ranks_mat *mat, const double *given) {
    spmv_ranks *ranks = mat->ranks;
    ranks_part *w = &mat->lent_whole;
    if (!w->ptr) return SPMV_OK;
    double *values = spmv_rows_take(ranks->ctx, ((size_t)w->nnz + 1) * sizeof *values);
    spmv_status status =
        values ? fill_values(mat, given, values) : ranks_no_memory(ranks, "new values");
    if (status == SPMV_OK && mat->whole)
        status = ranks_ctx_failed(ranks, spmv_mat_set_values(mat->whole, values, SPMV_HOST, NULL));
    if (status == SPMV_OK) {
        spmv_rows_give(ranks->ctx, w->values);
        w->values = values;
        values = NULL;
    }
    spmv_rows_give(ranks->ctx, values);
    return status;
}

void ranks_whole_free(spmv_ranks_mat *mat) {
    spmv_mat_free(mat->whole);
    ranks_part_free(mat->ranks, &mat->lent_whole);
    mat->whole = NULL;
}
