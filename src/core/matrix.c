/* matrix.c: makes a matrix from entries or compressed rows in memory, and frees it. */
#include "internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

spmv_status spmv_mat_new(spmv_ctx *ctx, spmv_mat **out) {
    spmv_mat *mat = calloc(1, sizeof *mat);
    *out = mat;
    if (!mat) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    mat->ctx = ctx;
    ctx->matrices++;
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

/* Entries in the order of the compressed rows are not kept twice. */
static void share_rows(spmv_mat *mat) {
    spmv_coo *coo = &mat->coo;
    if (!mat->borrowed) spmv_host_free(coo->col);
    if (!mat->borrowed_values) spmv_host_free(coo->values);
    coo->col = mat->csr.col_idx;
    if (coo->values) coo->values = mat->csr.values;
    mat->borrowed_values = false;
}

static spmv_status finish_matrix(spmv_mat *mat) {
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz + mat->coo.rows);
    double start = spmv_now();
    TRY(check_csr_fits(mat->ctx, &mat->coo));
    TRY(spmv_csr_build(mat->ctx, &mat->coo, threads, &mat->csr, &mat->stats));
    if (mat->csr.as_given) share_rows(mat);
    mat->stats.build_s = spmv_now() - start;
    mat->stats.field = mat->coo.field;
    mat->stats.symmetry = mat->coo.symmetry;
    spmv_csr_stats(&mat->csr, threads, &mat->stats);
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

static spmv_status check_symmetry(spmv_ctx *ctx, spmv_symmetry symmetry, int64_t rows,
                                  int64_t cols) {
    if (symmetry != SPMV_GENERAL && symmetry != SPMV_SYMMETRIC && symmetry != SPMV_SKEW_SYMMETRIC)
        return spmv_fail(ctx, SPMV_E_ARG, "symmetry %d is unknown", symmetry);
    if (symmetry != SPMV_GENERAL && rows != cols)
        return spmv_fail(ctx, SPMV_E_ARG, "a symmetric matrix is square, not %lld x %lld",
                         (long long)rows, (long long)cols);
    return SPMV_OK;
}

/* ---- from entries ---------------------------------------------------------------------------- */

static spmv_status check_entries(spmv_ctx *ctx, const spmv_coo_view *view, int threads) {
    int64_t outside = 0;
    if (view->nnz > 0 && (!view->row || !view->col))
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_coo_view.%s is NULL, of %lld entries",
                         view->row ? "col" : "row", (long long)view->nnz);
    TRY(check_symmetry(ctx, view->symmetry, view->rows, view->cols));
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
    mat->borrowed = mat->borrowed_values = flags & SPMV_BORROW;
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
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, view);
    if (flags & ~(unsigned)SPMV_BORROW)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_mat_coo: flags %#x are neither SPMV_COPY nor SPMV_BORROW", flags);
    TRY(check_dimensions(ctx, view->rows, view->cols, view->nnz));
    TRY(check_entries(ctx, view, ctx->threads));
    TRY(spmv_mat_new(ctx, &mat));
    return spmv_mat_finish(mat, take_entries(mat, view, flags), out);
}

/* ---- from compressed rows or columns --------------------------------------------------------- */

static int64_t given_ptr(const spmv_arrays *a, int64_t i) {
    return a->ptr_bits == 32 ? ((const int32_t *)a->ptr)[i] : ((const int64_t *)a->ptr)[i];
}

/* Counted from 0; whatever the number is, subtracting the base is defined. */
static int64_t ptr_at(const spmv_arrays *a, int64_t i) {
    return (int64_t)((uint64_t)given_ptr(a, i) - (uint64_t)a->base);
}

static double value_at(const spmv_arrays *a, int64_t k) {
    return a->precision == SPMV_F32 ? ((const float *)a->values)[k]
                                    : ((const double *)a->values)[k];
}

/* Lines are the rows, or with by_columns the columns; places are where their entries lie. */
static int64_t lines_of(const spmv_arrays *a) {
    return a->by_columns ? a->cols : a->rows;
}

static int64_t places_of(const spmv_arrays *a) {
    return a->by_columns ? a->rows : a->cols;
}

static const char *line_name(const spmv_arrays *a) {
    return a->by_columns ? "column" : "row";
}

static spmv_status check_arrays(spmv_ctx *ctx, const spmv_arrays *a) {
    const unsigned known = SPMV_BORROW | SPMV_SORTED | SPMV_VALIDATE;
    TRY(check_dimensions(ctx, a->rows, a->cols, a->nnz));
    if (!a->ptr || (a->nnz > 0 && !a->idx))
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.%s is NULL", a->ptr ? "idx" : "ptr");
    if (a->ptr_bits != 32 && a->ptr_bits != 64)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.ptr_bits is %d, must be 32 or 64",
                         a->ptr_bits);
    if (a->base != 0 && a->base != 1)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.base is %d, must be 0 or 1", a->base);
    if (a->precision != SPMV_F64 && a->precision != SPMV_F32)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.precision %d is neither f64 nor f32",
                         a->precision);
    if (a->flags & ~known)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.flags: %#x is unknown", a->flags & ~known);
    return SPMV_OK;
}

static spmv_status check_ptr(spmv_ctx *ctx, const spmv_arrays *a) {
    const int64_t lines = lines_of(a);
    if (ptr_at(a, 0) != 0 || ptr_at(a, lines) != a->nnz)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "ptr runs from %lld to %lld, must run from %d, the base, over nnz = %lld",
                         (long long)given_ptr(a, 0), (long long)given_ptr(a, lines), a->base,
                         (long long)a->nnz);
    for (int64_t i = 0; i < lines; i++)
        if (ptr_at(a, i) > ptr_at(a, i + 1))
            return spmv_fail(ctx, SPMV_E_ARG, "ptr decreases after %s %lld: ptr[%lld] is %lld",
                             line_name(a), (long long)i, (long long)i + 1,
                             (long long)given_ptr(a, i + 1));
    return SPMV_OK;
}

static bool is_outside(const spmv_arrays *a, int64_t k) {
    return a->idx[k] < a->base || a->idx[k] - a->base >= places_of(a);
}

static bool is_unsorted(const spmv_arrays *a, int64_t first, int64_t k) {
    return a->flags & SPMV_SORTED && k > first && a->idx[k] <= a->idx[k - 1];
}

static bool is_no_number(const spmv_arrays *a, int64_t k) {
    return a->values && !isfinite(value_at(a, k));
}

/* The first entry that is wrong; nnz: none is. ptr is right. */
static int64_t first_wrong(const spmv_arrays *a, int threads) {
    const bool all = a->flags & SPMV_VALIDATE;
    int64_t first = a->nnz;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : first)
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t begin = ptr_at(a, i), k = begin; k < ptr_at(a, i + 1); k++)
            if (k < first &&
                (is_outside(a, k) || (all && (is_unsorted(a, begin, k) || is_no_number(a, k)))))
                first = k;
    return first;
}

static spmv_status check_idx(spmv_ctx *ctx, const spmv_arrays *a) {
    const int64_t k = first_wrong(a, ctx->threads);
    int64_t i = 0;
    char where[80];
    if (k == a->nnz) return SPMV_OK;
    while (ptr_at(a, i + 1) <= k) i++;
    snprintf(where, sizeof where, "%s %lld, entry %lld", line_name(a), (long long)i, (long long)k);
    if (is_outside(a, k))
        return spmv_fail(ctx, SPMV_E_ARG, "%s: idx[%lld] is %d, must be %d to %lld", where,
                         (long long)k, a->idx[k], a->base, (long long)(places_of(a) - 1 + a->base));
    if (is_unsorted(a, ptr_at(a, i), k))
        return spmv_fail(ctx, SPMV_E_ARG,
                         "%s: idx[%lld] is %d after %d, but SPMV_SORTED says that they ascend",
                         where, (long long)k, a->idx[k], a->idx[k - 1]);
    return spmv_fail(ctx, SPMV_E_ARG, "%s: values[%lld] is %g", where, (long long)k,
                     value_at(a, k));
}

/* The lines' entries as a file would hold them: they may be unsorted, and this way sorting is
 * written once. */
static spmv_status take_arrays(spmv_mat *mat, const spmv_arrays *a) {
    spmv_coo *coo = &mat->coo;
    mat->precision = a->precision;
    *coo = (spmv_coo){.rows = a->rows,
                      .cols = a->cols,
                      .nnz = a->nnz,
                      .symmetry = a->symmetry,
                      .field = a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD};
    TRY(spmv_coo_alloc(mat->ctx, coo, a->values));
    int32_t *line = a->by_columns ? coo->col : coo->row,
            *place = a->by_columns ? coo->row : coo->col;
#pragma omp parallel for schedule(static) num_threads(mat->ctx->threads)
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t k = ptr_at(a, i); k < ptr_at(a, i + 1); k++) {
            line[k] = (int32_t)i;
            place[k] = a->idx[k] - a->base;
            if (a->values) coo->values[k] = value_at(a, k);
        }
    return SPMV_OK;
}

spmv_status spmv_mat_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out) {
    spmv_arrays a = SPMV_OPTS(spmv_arrays);
    spmv_mat *mat = NULL;
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, arrays);
    TRY(spmv_read_opts(ctx, "spmv_arrays", &a, sizeof a, arrays));
    TRY(check_arrays(ctx, &a));
    TRY(check_symmetry(ctx, a.symmetry, a.rows, a.cols));
    TRY(check_ptr(ctx, &a));
    TRY(check_idx(ctx, &a));
    TRY(spmv_mat_new(ctx, &mat));
    return spmv_mat_finish(mat, take_arrays(mat, &a), out);
}

spmv_status spmv_mat_csr(spmv_ctx *ctx, const spmv_csr_view *view, spmv_mat **out) {
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, view);
    const spmv_arrays arrays = {.size = sizeof arrays,
                                .rows = view->rows,
                                .cols = view->cols,
                                .nnz = view->nnz,
                                .ptr = view->row_ptr,
                                .idx = view->col_idx,
                                .values = view->values,
                                .ptr_bits = 64};
    return spmv_mat_create(ctx, &arrays, out);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* But what the caller owns, or the compressed rows. */
static void free_entries(spmv_mat *mat) {
    spmv_coo *coo = &mat->coo;
    if (mat->borrowed) coo->row = NULL;
    if (mat->borrowed || coo->col == mat->csr.col_idx) coo->col = NULL;
    if (mat->borrowed_values || coo->values == mat->csr.values) coo->values = NULL;
    spmv_coo_free(coo);
}

void spmv_mat_put_away(spmv_mat *mat) {
    if (!mat) return;
    spmv_mat_drop_stores(mat);
    spmv_origin_free(mat->origin);
    free_entries(mat);
    spmv_csr_free(&mat->csr);
    mat->ctx->matrices--;
    free(mat);
}

void spmv_mat_free(spmv_mat *mat) {
    if (!mat) return;
    spmv_ctx *ctx = mat->ctx;
    mat->freed = true;
    if (mat->nplans > 0) return; /* the last one frees it */
    spmv_mat_put_away(mat);
    for (int b = 0; spmv_backends[b]; b++)
        if (ctx->opened[b] && ctx->device[b].backend->trim)
            ctx->device[b].backend->trim(&ctx->device[b]);
    if (ctx->freed) spmv_ctx_free(ctx);
}

void spmv_mat_drop_stores(spmv_mat *mat) {
    if (!mat || mat->nplans > 0) return;
    spmv_stored_free(mat->ctx, mat->stores);
    mat->stores = NULL;
}
