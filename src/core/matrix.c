/* matrix.c: makes a matrix from entries or compressed rows in memory, and frees it. */
#include "arrays.h"
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

/* Entries in the order of the compressed rows are not kept twice. */
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
    TRY(spmv_csr_build(mat->ctx, &mat->coo, threads, &mat->csr, &mat->stats));
    if (mat->csr.as_given) share_rows(mat);
    return SPMV_OK;
}

static spmv_status finish_matrix(spmv_mat *mat) {
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz + mat->coo.rows);
    double start = spmv_now();
    if (!mat->csr.row_ptr) TRY(build_rows(mat, threads));
    mat->stats.build_s = spmv_now() - start;
    mat->stats.nnz_file = mat->coo.nnz;
    mat->stats.field = mat->coo.field;
    mat->stats.symmetry = mat->coo.symmetry;
    mat->to_count = true;
    spmv_csr_lengths(&mat->csr, threads, &mat->stats);
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
    if (mat->borrowed) { /* the matrix only reads them */
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

/* ---- from compressed rows that are canonical ------------------------------------------------- */

/* A borrowed array is only read. */
static void *writable(const void *array) {
    return (void *)(uintptr_t)array;
}

static bool lends_ptr(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->ptr_bits == 64 && a->base == 0;
}

static bool lends_idx(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->base == 0 && a->nnz > 0;
}

static bool lends_values(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->values && a->precision == SPMV_F64;
}

/* Of what is not lent; entries that have to be sorted take more. */
static spmv_status check_copies_fit(spmv_ctx *ctx, const spmv_arrays *a) {
    const double row = lends_ptr(a) ? 0 : 8, index = lends_idx(a) ? 0 : 4;
    const double need =
        row * (double)a->rows + (index + (lends_values(a) ? 0 : 8)) * (double)a->nnz;
    return spmv_host_fits(ctx, a->rows, a->cols, a->nnz, need);
}

static bool take_ptr(spmv_ctx *ctx, const spmv_arrays *a, int threads, spmv_csr *A) {
    A->lent.row_ptr = lends_ptr(a);
    if (A->lent.row_ptr) {
        A->row_ptr = writable(a->ptr);
        return true;
    }
    A->row_ptr = spmv_host_take(ctx, (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    if (!A->row_ptr) return false;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i <= A->rows; i++) A->row_ptr[i] = ptr_at(a, i);
    return true;
}

static bool take_idx(spmv_ctx *ctx, const spmv_arrays *a, int threads, spmv_csr *A) {
    A->lent.col_idx = lends_idx(a);
    if (A->lent.col_idx) {
        A->col_idx = writable(a->idx);
        return true;
    }
    A->col_idx = spmv_host_take(ctx, (size_t)A->nnz * sizeof *A->col_idx);
    if (!A->col_idx) return false;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            A->col_idx[k] = a->idx[k] - a->base;
    return true;
}

static bool take_values(spmv_ctx *ctx, const spmv_arrays *a, int threads, spmv_csr *A) {
    A->lent.values = lends_values(a);
    if (A->lent.values) {
        A->values = writable(a->values);
        return true;
    }
    A->values = spmv_host_take(ctx, (size_t)A->nnz * sizeof *A->values);
    if (!A->values) return false;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            A->values[k] = a->values ? value_at(a, k) : 1;
    return true;
}

/* As they are, or in the types of the canonical CSR. By the static partition that kernels multiply
 * with: first touch places the pages. */
static spmv_status take_rows(spmv_mat *mat, const spmv_arrays *a) {
    const int threads = spmv_threads_for(mat->ctx, a->nnz + a->rows);
    spmv_csr *A = &mat->csr;
    mat->precision = a->precision;
    mat->coo = (spmv_coo){.rows = a->rows,
                          .cols = a->cols,
                          .nnz = a->nnz,
                          .field = a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD};
    *A = (spmv_csr){.rows = a->rows, .cols = a->cols, .nnz = a->nnz, .as_given = true};
    bool taken = take_ptr(mat->ctx, a, threads, A) && take_idx(mat->ctx, a, threads, A) &&
                 take_values(mat->ctx, a, threads, A);
    mat->coo.col = A->col_idx;
    mat->coo.values = a->values ? A->values : NULL;
    if (taken) return SPMV_OK;
    return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for compressed rows: %.1f GB",
                     1e-9 * (12.0 * (double)a->nnz + 8.0 * (double)a->rows));
}

static spmv_status create(spmv_ctx *ctx, const spmv_arrays *a, spmv_mat **out) {
    spmv_mat *mat = NULL;
    bool ascend = false;
    TRY(check_copies_fit(ctx, a));
    TRY(spmv_arrays_check_entries(ctx, a, &ascend));
    TRY(spmv_mat_new(ctx, &mat));
    const bool canonical = ascend && a->symmetry == SPMV_GENERAL && !a->by_columns;
    return spmv_mat_finish(mat, canonical ? take_rows(mat, a) : take_arrays(mat, a), out);
}

/* ---- from a device's memory ------------------------------------------------------------------ */

static spmv_status fetch(spmv_device *device, const void *from, size_t bytes, void **out) {
    *out = NULL;
    if (!from) return SPMV_OK;
    *out = spmv_host_take(device->ctx, bytes);
    if (!*out)
        return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory: an array takes %.1f MB",
                         1e-6 * (double)bytes);
    return device->backend->get(device, *out, from, bytes);
}

/* What the matrix would have borrowed is its own. */
static void hand_over(spmv_csr *A, void **ptr, void **index, void **values) {
    if (A->lent.row_ptr) *ptr = NULL;
    if (A->lent.col_idx) *index = NULL;
    if (A->lent.values) *values = NULL;
    A->lent.row_ptr = A->lent.col_idx = A->lent.values = false;
}

/* *out NULL: the host has to look at the arrays. */
static spmv_status adopt(spmv_device *device, const spmv_arrays *a, spmv_mat **out) {
    spmv_mat *mat = NULL;
    TRY(spmv_mat_new(device->ctx, &mat));
    spmv_status status = spmv_source_adopt(mat, device, a);
    if (mat->source)
        *out = mat;
    else
        spmv_mat_put_away(mat);
    return status;
}

static spmv_status create_from_device(spmv_ctx *ctx, const spmv_arrays *there, spmv_mat **out) {
    const spmv_backend *backend = ctx->default_backend;
    const size_t n = (size_t)there->nnz, lines = (size_t)lines_of(there);
    spmv_device *device = NULL;
    void *ptr = NULL, *index = NULL, *values = NULL;
    spmv_arrays a = *there;
    if (backend->host)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.place is SPMV_DEVICE, and the context's backend, %s, has no "
                         "device",
                         backend->name);
    TRY(spmv_ctx_device(ctx, backend, &device));
    TRY(spmv_arrays_check_place(device, there));
    if (backend->order) TRY(backend->order(device, NULL, false));
    TRY(adopt(device, there, out));
    if (*out) return SPMV_OK;
    spmv_status status = fetch(device, a.ptr, (lines + 1) * (size_t)a.ptr_bits / 8, &ptr);
    if (status == SPMV_OK) status = fetch(device, a.idx, n * sizeof *a.idx, &index);
    if (status == SPMV_OK)
        status = fetch(device, a.values, n * (a.precision == SPMV_F32 ? 4 : 8), &values);
    a.ptr = ptr, a.idx = index, a.values = values;
    a.flags |= SPMV_BORROW;
    if (status == SPMV_OK) status = create(ctx, &a, out);
    if (status == SPMV_OK) hand_over(&(*out)->csr, &ptr, &index, &values);
    spmv_host_give(ctx, ptr);
    spmv_host_give(ctx, index);
    spmv_host_give(ctx, values);
    return status;
}

spmv_status spmv_mat_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out) {
    spmv_arrays a = SPMV_OPTS(spmv_arrays);
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, arrays);
    TRY(spmv_read_opts(ctx, "spmv_arrays", &a, sizeof a, arrays));
    TRY(check_dimensions(ctx, a.rows, a.cols, a.nnz));
    TRY(spmv_arrays_check(ctx, &a));
    TRY(check_symmetry(ctx, a.symmetry, a.rows, a.cols));
    return a.place == SPMV_DEVICE ? create_from_device(ctx, &a, out) : create(ctx, &a, out);
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

/* But what the caller or the compressed rows own. */
static void free_entries(spmv_mat *mat) {
    spmv_coo *coo = &mat->coo;
    coo->ctx = mat->ctx;
    if (mat->borrowed) coo->row = NULL;
    if (mat->borrowed || coo->col == mat->csr.col_idx) coo->col = NULL;
    if (mat->borrowed_values || coo->values == mat->csr.values) coo->values = NULL;
    spmv_coo_free(coo);
}

void spmv_mat_put_away(spmv_mat *mat) {
    if (!mat) return;
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
    if (mat->nplans > 0) return; /* the last one frees it */
    spmv_mat_put_away(mat);
    for (int b = 0; spmv_backends[b]; b++)
        if (ctx->opened[b] && ctx->device[b].backend->trim)
            ctx->device[b].backend->trim(&ctx->device[b]);
    if (ctx->freed) spmv_ctx_free(ctx);
}

void spmv_mat_drop_stores(spmv_mat *mat) {
    if (!mat || mat->nplans > 0) return;
    if (!mat->source && spmv_mat_bring(mat)) return; /* only a store has them */
    spmv_stored_drop_unused(mat);
}
