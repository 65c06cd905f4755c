/* matrix.c: makes a matrix from entries or compressed rows in memory, and frees it. */
#include "internal.h"
#include <stdlib.h>

spmv_status spmv_mat_new(spmv_ctx *ctx, spmv_mat **out) {
    spmv_mat *mat = calloc(1, sizeof *mat);
    *out = mat;
    if (!mat) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    mat->ctx = ctx;
    return SPMV_OK;
}

/* Checks before anything is allocated that the canonical CSR fits: Linux grants memory that it does
 * not have and kills the process that touches it. While it is sorted it takes 16 bytes per row,
 * however few the entries: a file of one line may declare 2^31 rows. */
static spmv_status check_csr_fits(spmv_ctx *ctx, const spmv_coo *coo) {
    int copies = coo->symmetry == SPMV_GENERAL ? 1 : 2;
    double need = 16.0 * (double)coo->rows + 12.0 * copies * (double)coo->nnz;
    double limit = 0.9 * (double)spmv_host_free_bytes();
    if (need <= limit) return SPMV_OK;
    return spmv_fail(
        ctx, SPMV_E_NOMEM,
        "out of memory: compressed rows of %lld x %lld with %lld entries need %.1f GB, "
        "%.1f GB are free",
        (long long)coo->rows, (long long)coo->cols, (long long)coo->nnz, 1e-9 * need, 1e-9 * limit);
}

static spmv_status finish_matrix(spmv_mat *mat) {
    double start = spmv_now();
    TRY(check_csr_fits(mat->ctx, &mat->coo));
    TRY(spmv_csr_build(mat->ctx, &mat->coo, mat->ctx->threads, &mat->csr, &mat->stats));
    mat->stats.build_s = spmv_now() - start;
    mat->stats.field = mat->coo.field;
    mat->stats.symmetry = mat->coo.symmetry;
    spmv_csr_stats(&mat->csr, mat->ctx->threads, &mat->stats);
    return SPMV_OK;
}

spmv_status spmv_mat_finish(spmv_mat *mat, spmv_status status, spmv_mat **out) {
    if (status == SPMV_OK) status = finish_matrix(mat);
    if (status == SPMV_OK)
        *out = mat;
    else
        spmv_mat_free(mat);
    return status;
}

static spmv_status check_dimensions(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz) {
    if (rows >= 0 && cols >= 0 && nnz >= 0 && rows <= INT32_MAX && cols <= INT32_MAX)
        return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "a matrix of %lld x %lld with %lld entries: sizes are 0 to 2^31 - 1",
                     (long long)rows, (long long)cols, (long long)nnz);
}

static spmv_status check_entries(spmv_ctx *ctx, const spmv_coo_view *view, int threads) {
    int64_t outside = 0;
    if (view->nnz > 0 && (!view->row || !view->col))
        return spmv_fail(ctx, SPMV_E_ARG, "%lld entries without rows or columns",
                         (long long)view->nnz);
    if (view->symmetry != SPMV_GENERAL && view->symmetry != SPMV_SYMMETRIC &&
        view->symmetry != SPMV_SKEW_SYMMETRIC)
        return spmv_fail(ctx, SPMV_E_ARG, "symmetry %d is unknown", view->symmetry);
    if (view->symmetry != SPMV_GENERAL && view->rows != view->cols)
        return spmv_fail(ctx, SPMV_E_ARG, "a symmetric matrix is square, not %lld x %lld",
                         (long long)view->rows, (long long)view->cols);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : outside)
    for (int64_t k = 0; k < view->nnz; k++)
        outside += view->row[k] < 0 || view->row[k] >= view->rows || view->col[k] < 0 ||
                   view->col[k] >= view->cols;
    if (outside)
        return spmv_fail(ctx, SPMV_E_ARG, "%lld entries lie outside the %lld x %lld matrix",
                         (long long)outside, (long long)view->rows, (long long)view->cols);
    return SPMV_OK;
}

static void *copy_of(const void *from, size_t bytes) {
    void *to = spmv_host_alloc(bytes);
    if (to && bytes) memcpy(to, from, bytes);
    return to;
}

static spmv_status take_entries(spmv_mat *mat, const spmv_coo_view *view, unsigned flags) {
    size_t n = (size_t)view->nnz;
    mat->borrowed = flags & SPMV_BORROW;
    mat->coo = (spmv_coo){.rows = view->rows,
                          .cols = view->cols,
                          .nnz = view->nnz,
                          .symmetry = view->symmetry,
                          .field = view->values ? view->field : SPMV_PATTERN_FIELD};
    if (mat->borrowed) { /* the matrix only reads them */
        mat->coo.row = (int32_t *)(uintptr_t)view->row;
        mat->coo.col = (int32_t *)(uintptr_t)view->col;
        mat->coo.values = (double *)(uintptr_t)view->values;
        return SPMV_OK;
    }
    mat->coo.row = copy_of(view->row, n * sizeof *view->row);
    mat->coo.col = copy_of(view->col, n * sizeof *view->col);
    mat->coo.values = view->values ? copy_of(view->values, n * sizeof *view->values) : NULL;
    if (mat->coo.row && mat->coo.col && (mat->coo.values || !view->values)) return SPMV_OK;
    return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for %zu entries", n);
}

spmv_status spmv_mat_coo(spmv_ctx *ctx, const spmv_coo_view *view, unsigned flags, spmv_mat **out) {
    spmv_mat *mat = NULL;
    *out = NULL;
    TRY(check_dimensions(ctx, view->rows, view->cols, view->nnz));
    TRY(check_entries(ctx, view, ctx->threads));
    TRY(spmv_mat_new(ctx, &mat));
    return spmv_mat_finish(mat, take_entries(mat, view, flags), out);
}

static spmv_status check_rows(spmv_ctx *ctx, const spmv_csr_view *A) {
    if (!A->row_ptr || (A->nnz > 0 && !A->col_idx))
        return spmv_fail(ctx, SPMV_E_ARG, "compressed rows without row_ptr or col_idx");
    if (A->row_ptr[0] != 0 || A->row_ptr[A->rows] != A->nnz)
        return spmv_fail(
            ctx, SPMV_E_ARG, "row_ptr runs from %lld to %lld, must run from 0 to nnz = %lld",
            (long long)A->row_ptr[0], (long long)A->row_ptr[A->rows], (long long)A->nnz);
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i] > A->row_ptr[i + 1])
            return spmv_fail(ctx, SPMV_E_ARG, "row_ptr decreases at row %lld", (long long)i);
    return SPMV_OK;
}

/* Converts compressed rows to entries first: they may be unsorted, and this way sorting and
 * checking are written once. */
spmv_status spmv_mat_csr(spmv_ctx *ctx, const spmv_csr_view *view, spmv_mat **out) {
    *out = NULL;
    TRY(check_dimensions(ctx, view->rows, view->cols, view->nnz));
    TRY(check_rows(ctx, view));
    int32_t *row = spmv_host_alloc((size_t)view->nnz * sizeof *row);
    if (!row)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for %lld entries", (long long)view->nnz);
    for (int64_t i = 0; i < view->rows; i++)
        for (int64_t k = view->row_ptr[i]; k < view->row_ptr[i + 1]; k++) row[k] = (int32_t)i;
    spmv_coo_view entries = {.rows = view->rows,
                             .cols = view->cols,
                             .nnz = view->nnz,
                             .row = row,
                             .col = view->col_idx,
                             .values = view->values,
                             .field = SPMV_REAL_FIELD};
    spmv_status status = spmv_mat_coo(ctx, &entries, SPMV_COPY, out);
    spmv_host_free(row);
    return status;
}

void spmv_mat_put_away(spmv_mat *mat) {
    if (!mat) return;
    spmv_mat_drop_stores(mat);
    if (!mat->borrowed) spmv_coo_free(&mat->coo);
    spmv_csr_free(&mat->csr);
    free(mat);
}

void spmv_mat_free(spmv_mat *mat) {
    if (!mat) return;
    spmv_ctx *ctx = mat->ctx;
    spmv_mat_put_away(mat);
    for (int b = 0; spmv_backends[b]; b++)
        if (ctx->opened[b] && ctx->device[b].backend->trim)
            ctx->device[b].backend->trim(&ctx->device[b]);
}

void spmv_mat_drop_stores(spmv_mat *mat) {
    spmv_stored_free(mat->ctx, mat->stores);
    mat->stores = NULL;
}
