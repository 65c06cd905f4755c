/* matrix.c: creates a matrix from coordinates in memory, and frees matrices. */
#include "csr.h"
#include "spmv_clock.h"
#include "host/context.h"
#include "host/host.h"
#include "matrix.h"
#include "origin.h"
#include "matrix/arrays/source.h"
#include "spmv_environment.h"
#include "matrix/stores/stored.h"
#include <stdlib.h>

spmv_status spmv_mat_new(spmv_ctx *ctx, spmv_mat **out) {
    spmv_mat *mat = calloc(1, sizeof *mat);
    *out = mat;
    if (!mat) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    mat->ctx = ctx;
    mat->begun = spmv_now();
    ctx->matrices++;
    return SPMV_OK;
}

/* Frees the coordinate arrays that equal arrays of the canonical CSR, and shares the latter. */
static void share_rows(spmv_mat *mat) {
    spmv_coo *coo = &mat->coo;
    if (!mat->borrowed) spmv_host_give(mat->ctx, coo->col);
    if (!mat->borrowed_values) spmv_host_give(mat->ctx, coo->values);
    coo->col = mat->csr.col_idx;
    if (coo->values) coo->values = mat->csr.values;
    mat->borrowed_values = false;
}

static spmv_status build_rows(spmv_mat *mat, int threads) {
    TRY(spmv_csr_fits(mat->ctx, &mat->coo));
    TRY(spmv_csr_build(mat->ctx, &mat->coo, threads, &mat->csr));
    /* A mirrored pair counts as one duplicate: the file holds one of the two entries. */
    const int64_t mirrored = mat->coo.symmetry == SPMV_GENERAL ? 0 : mat->csr.merged_above;
    mat->stats.duplicates = mat->csr.merged - mirrored;
    if (mat->csr.as_given) share_rows(mat);
    return SPMV_OK;
}

static spmv_status finish_matrix(spmv_mat *mat) {
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz + mat->coo.rows);
    if (!mat->csr.row_ptr) TRY(build_rows(mat, threads));
    mat->stats.nnz_file = mat->coo.nnz;
    mat->stats.field = mat->coo.field;
    mat->stats.symmetry = mat->coo.symmetry;
    mat->to_count = true;
    spmv_csr_lengths(&mat->csr, threads, &mat->stats);
    mat->stats.build_s = spmv_now() - mat->begun - mat->stats.read_s;
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

spmv_status spmv_check_dimensions(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz) {
    if (rows >= 0 && cols >= 0 && nnz >= 0 && rows <= INT32_MAX && cols <= INT32_MAX)
        return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "a matrix of %lld x %lld with %lld entries: rows and columns are 0 to "
                     "2^31 - 1, entries 0 or more",
                     (long long)rows, (long long)cols, (long long)nnz);
}

spmv_status spmv_check_symmetry(spmv_ctx *ctx, const char *owner, spmv_symmetry symmetry,
                                int64_t rows, int64_t cols) {
    if (symmetry != SPMV_GENERAL && symmetry != SPMV_SYMMETRIC && symmetry != SPMV_SKEW_SYMMETRIC)
        return spmv_fail(ctx, SPMV_E_ARG, "%s.symmetry is %d, which is unknown", owner, symmetry);
    if (symmetry != SPMV_GENERAL && rows != cols)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "%s.symmetry: a symmetric matrix is square, not %lld x %lld", owner,
                         (long long)rows, (long long)cols);
    return SPMV_OK;
}

/* ---- from entries ---------------------------------------------------------------------------- */

static spmv_status check_entries(spmv_ctx *ctx, const spmv_coo_view *view, int threads) {
    int64_t outside = 0;
    if (view->nnz > 0 && (!view->row || !view->col))
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_coo_view.%s is NULL, of %lld entries",
                         view->row ? "col" : "row", (long long)view->nnz);
    if (view->values && view->field != SPMV_REAL_FIELD && view->field != SPMV_INTEGER_FIELD &&
        view->field != SPMV_PATTERN_FIELD)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_coo_view.field is %d, which is unknown",
                         view->field);
    TRY(spmv_check_symmetry(ctx, "spmv_coo_view", view->symmetry, view->rows, view->cols));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : outside)
    for (int64_t k = 0; k < view->nnz; k++)
        outside += view->row[k] < 0 || view->row[k] >= view->rows || view->col[k] < 0 ||
                   view->col[k] >= view->cols;
    if (outside)
        return spmv_fail(ctx, SPMV_E_ARG, "%lld entr%s outside the %lld x %lld matrix",
                         (long long)outside, outside == 1 ? "y lies" : "ies lie",
                         (long long)view->rows, (long long)view->cols);
    return SPMV_OK;
}

static void *copy_of(spmv_ctx *ctx, const void *from, size_t bytes) {
    void *to = spmv_host_take(ctx, bytes);
    if (to && bytes) memcpy(to, from, bytes);
    return to;
}

static spmv_status take_entries(spmv_mat *mat, const spmv_coo_view *view, unsigned flags) {
    size_t n = (size_t)view->nnz;
    mat->borrowed = mat->borrowed_values = flags & SPMV_BORROW;
    mat->coo = (spmv_coo){.rows = view->rows,
                          .cols = view->cols,
                          .nnz = view->nnz,
                          .symmetry = view->symmetry,
                          .field = view->values ? view->field : SPMV_PATTERN_FIELD};
    if (mat->borrowed) { /* the matrix never writes borrowed arrays */
        mat->coo.row = (int32_t *)(uintptr_t)view->row;
        mat->coo.col = (int32_t *)(uintptr_t)view->col;
        mat->coo.values = (double *)(uintptr_t)view->values;
        return SPMV_OK;
    }
    mat->coo.row = copy_of(mat->ctx, view->row, n * sizeof *view->row);
    mat->coo.col = copy_of(mat->ctx, view->col, n * sizeof *view->col);
    if (view->values) mat->coo.values = copy_of(mat->ctx, view->values, n * sizeof *view->values);
    if (mat->coo.row && mat->coo.col && (mat->coo.values || !view->values)) return SPMV_OK;
    return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for %zu entries", n);
}

spmv_status spmv_mat_coo(spmv_ctx *ctx, const spmv_coo_view *view, unsigned flags, spmv_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_mat *mat = NULL;
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, view);
    spmv_coo_view known = {0};
    TRY(spmv_read_opts(ctx, "spmv_coo_view", &known, sizeof known, view));
    view = &known;
    if (flags & ~(unsigned)SPMV_BORROW)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_mat_coo: flags %#x are neither SPMV_COPY nor SPMV_BORROW", flags);
    TRY(spmv_check_dimensions(ctx, view->rows, view->cols, view->nnz));
    const double begun = spmv_now();
    TRY(check_entries(ctx, view, spmv_threads_for(ctx, view->nnz)));
    TRY(spmv_mat_new(ctx, &mat));
    mat->begun = begun;
    return spmv_mat_finish(mat, take_entries(mat, view, flags), out);
}

size_t spmv_mat_own_bytes(const spmv_mat *mat) {
    const spmv_coo *coo = &mat->coo;
    const spmv_csr *A = &mat->csr;
    const size_t nnz = (size_t)A->nnz, n = (size_t)coo->nnz;
    size_t bytes = spmv_origin_bytes(mat) + (mat->turned ? nnz * sizeof *mat->turned : 0);
    if (!A->row_ptr) return bytes; /* no rows in host memory */
    if (!A->borrowed.row_ptr) bytes += (size_t)(A->rows + 1) * sizeof *A->row_ptr;
    if (!A->borrowed.col_idx) bytes += nnz * sizeof *A->col_idx;
    if (!A->borrowed.values) bytes += nnz * sizeof *A->values;
    if (coo->row && !mat->borrowed) bytes += n * sizeof *coo->row;
    if (coo->col && coo->col != A->col_idx && !mat->borrowed) bytes += n * sizeof *coo->col;
    if (coo->values && coo->values != A->values && !mat->borrowed_values)
        bytes += n * sizeof *coo->values;
    return bytes;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Frees the coordinates, except arrays that the caller or the canonical CSR owns. */
static void free_entries(spmv_mat *mat) {
    spmv_coo *coo = &mat->coo;
    coo->ctx = mat->ctx;
    if (mat->borrowed) coo->row = NULL;
    if (mat->borrowed || coo->col == mat->csr.col_idx) coo->col = NULL;
    if (mat->borrowed_values || coo->values == mat->csr.values) coo->values = NULL;
    spmv_coo_free(coo);
}

void spmv_mat_drop_transpose(spmv_mat *mat) {
    spmv_mat *T = mat->transpose;
    mat->transpose = NULL;
    if (!T) return;
    T->base = NULL;
    T->freed = true;
    if (T->nplans == 0) spmv_mat_put_away(T);
}

void spmv_mat_put_away(spmv_mat *mat) {
    if (!mat) return;
    if (mat->base) mat->base->transpose = NULL; /* a transpose with plans outlives its base */
    spmv_mat_drop_transpose(mat);
    spmv_host_give(mat->ctx, mat->turned);
    spmv_source_forget_order(mat);
    if (mat->live) free(mat->live->room);
    spmv_stored_free(mat->ctx, mat->stores);
    spmv_origin_free(mat->ctx, mat->origin);
    free_entries(mat);
    spmv_csr_free(mat->ctx, &mat->csr);
    mat->ctx->matrices--;
    free(mat);
}

void spmv_mat_free(spmv_mat *mat) {
    if (!mat) return;
    spmv_ctx *ctx = mat->ctx;
    mat->freed = true;
    if (mat->transpose) mat->transpose->freed = true;
    if (mat->nplans > 0) return; /* the last plan frees the matrix */
    spmv_mat_put_away(mat);
    for (int b = 0; spmv_backends[b]; b++)
        if (ctx->opened[b] && ctx->device[b].backend->trim)
            ctx->device[b].backend->trim(&ctx->device[b]);
    if (ctx->freed) spmv_ctx_free(ctx);
}

void spmv_mat_drop_stores(spmv_mat *mat) {
    if (!mat || mat->nplans > 0) return;
    if (!mat->source && spmv_mat_bring(mat))
        return; /* nothing to free: values exist only in a
                   store */
    if (mat->transpose && mat->transpose->nplans == 0) spmv_mat_drop_transpose(mat);
    spmv_stored_drop_unused(mat);
}
