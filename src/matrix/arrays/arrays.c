/* arrays.c: creates a matrix from compressed rows or columns in memory, after checking them. */
#include "arrays.h"
#include "matrix/csr.h"
#include "spmv_clock.h"
#include "host/context.h"
#include "host/host.h"
#include "volatile.h"
#include "matrix/matrix.h"
#include "source.h"
#include "spmv_environment.h"
#include "matrix/csr_to_csc.h"

/* ---- from any compressed rows or columns ----------------------------------------------------- */

/* Copies compressed lines to coordinates, as a file's entries: unsorted lines are then sorted by
 * the same code. */
static spmv_status take_arrays(spmv_mat *mat, const spmv_arrays *a) {
    spmv_coo *coo = &mat->coo;
    mat->precision = a->precision;
    *coo = (spmv_coo){.rows = a->rows,
                      .cols = a->cols,
                      .nnz = a->nnz,
                      .symmetry = a->symmetry,
                      .field = a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD};
    TRY(spmv_coo_alloc(mat->ctx, coo, a->values));
    const int threads = spmv_threads_for(mat->ctx, a->nnz);
    int32_t *line = a->by_columns ? coo->col : coo->row,
            *place = a->by_columns ? coo->row : coo->col;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t k = ptr_at(a, i); k < ptr_at(a, i + 1); k++) {
            line[k] = (int32_t)i;
            place[k] = a->idx[k] - a->base;
            if (a->values) coo->values[k] = value_at(a, k);
        }
    return SPMV_OK;
}

/* ---- from compressed rows that are canonical ------------------------------------------------- */

/* Removes const from a borrowed array, which the matrix never writes. */
static void *writable(const void *array) {
    return (void *)(uintptr_t)array;
}

static bool borrows_ptr(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->ptr_bits == 64 && a->base == 0;
}

static bool borrows_idx(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->base == 0 && a->nnz > 0;
}

static bool borrows_values(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->nnz > 0 && a->values && a->precision == SPMV_F64;
}

/* Fails if the arrays that are copied do not fit into memory; borrowed arrays need none. Sorting
 * needs more and is checked later. */
static spmv_status check_copies_fit(spmv_ctx *ctx, const spmv_arrays *a) {
    const double row = borrows_ptr(a) ? 0 : 8, index = borrows_idx(a) ? 0 : 4;
    const double need =
        row * (double)a->rows + (index + (borrows_values(a) ? 0 : 8)) * (double)a->nnz;
    return spmv_host_fits(ctx, a->rows, a->cols, a->nnz, need);
}

static bool take_ptr(spmv_ctx *ctx, const spmv_arrays *a, int threads, spmv_csr *A) {
    A->borrowed.row_ptr = borrows_ptr(a);
    if (A->borrowed.row_ptr) {
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
    A->borrowed.col_idx = borrows_idx(a);
    if (A->borrowed.col_idx) {
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
    A->borrowed.values = borrows_values(a);
    if (A->borrowed.values) {
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

static spmv_status lack_room(spmv_ctx *ctx, const spmv_arrays *a) {
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for compressed rows: %.1f GB",
                     1e-9 * (12.0 * (double)a->nnz + 8.0 * (double)a->rows));
}

static void describe(spmv_mat *mat, const spmv_arrays *a) {
    mat->precision = a->precision;
    mat->by_columns = a->by_columns;
    mat->coo = (spmv_coo){.rows = a->rows,
                          .cols = a->cols,
                          .nnz = a->nnz,
                          .field = a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD};
    mat->csr =
        (spmv_csr){.rows = a->rows, .cols = a->cols, .nnz = a->nnz, .as_given = !a->by_columns};
}

/* Borrows or copies compressed rows, in the types of the canonical CSR. Copies use the kernels'
 * static partition, so that first touch places pages near their threads. */
static spmv_status take_rows(spmv_mat *mat, const spmv_arrays *a) {
    const int threads = spmv_threads_for(mat->ctx, a->nnz + a->rows);
    spmv_csr *A = &mat->csr;
    describe(mat, a);
    bool taken = take_ptr(mat->ctx, a, threads, A) && take_idx(mat->ctx, a, threads, A) &&
                 take_values(mat->ctx, a, threads, A);
    mat->coo.col = A->col_idx;
    mat->coo.values = a->values ? A->values : NULL;
    return taken ? SPMV_OK : lack_room(mat->ctx, a);
}

/* ---- from compressed columns that are ------------------------------------------------------- */

/* Returns 64-bit offsets from 0: the caller's array, or *copy, which the caller frees. *copy is
 * NULL if nothing was copied. */
static const int64_t *wide_ptr(const spmv_arrays *a, int64_t **copy) {
    const int64_t lines = lines_of(a);
    *copy = NULL;
    if (a->ptr_bits == 64 && a->base == 0) return a->ptr;
    *copy = spmv_host_alloc((size_t)(lines + 1) * sizeof **copy);
    for (int64_t i = 0; *copy && i <= lines; i++) (*copy)[i] = ptr_at(a, i);
    return *copy;
}

static spmv_status take_columns(spmv_mat *mat, const spmv_arrays *a) {
    spmv_csr *A = &mat->csr;
    int64_t *copy;
    describe(mat, a);
    A->row_ptr = spmv_host_take(mat->ctx, (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    A->col_idx = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *A->col_idx);
    A->values = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *A->values);
    const spmv_csc_conversion t = {.lines = a->cols,
                                   .places = a->rows,
                                   .nnz = a->nnz,
                                   .ptr = wide_ptr(a, &copy),
                                   .idx = a->idx,
                                   .base = a->base,
                                   .values = a->values,
                                   .precision = a->precision,
                                   .out_ptr = A->row_ptr,
                                   .out_idx = A->col_idx,
                                   .out_values = A->values};
    const bool has_room = t.ptr && A->row_ptr && A->col_idx && A->values;
    const spmv_status status = has_room ? spmv_csr_to_csc(mat->ctx, &t) : lack_room(mat->ctx, a);
    spmv_host_free(copy);
    return status;
}

static spmv_status take(spmv_mat *mat, const spmv_arrays *a, bool is_canonical) {
    if (!is_canonical) return take_arrays(mat, a);
    return a->by_columns ? take_columns(mat, a) : take_rows(mat, a);
}

static spmv_status create(spmv_ctx *ctx, const spmv_arrays *a, spmv_mat **out) {
    spmv_mat *mat = NULL;
    bool ascend = false;
    const double begun = spmv_now();
    TRY(check_copies_fit(ctx, a));
    TRY(spmv_arrays_check_entries(ctx, a, &ascend));
    TRY(spmv_mat_new(ctx, &mat));
    mat->begun = begun;
    return spmv_mat_finish(mat, take(mat, a, ascend && a->symmetry == SPMV_GENERAL), out);
}

/* Transfers ownership of borrowed arrays to the matrix: sets the caller's pointers to NULL. */
static void hand_over(spmv_csr *A, void **ptr, void **index, void **values) {
    if (A->borrowed.row_ptr) *ptr = NULL;
    if (A->borrowed.col_idx) *index = NULL;
    if (A->borrowed.values) *values = NULL;
    A->borrowed.row_ptr = A->borrowed.col_idx = A->borrowed.values = false;
}

/* ---- from a file ----------------------------------------------------------------------------- */

/* Makes a matrix of rows what take_columns would have made of its columns. */
static void leave_columns(spmv_mat *mat) {
    mat->by_columns = true;
    mat->csr.as_given = false;
    mat->coo.col = NULL, mat->coo.values = NULL;
}

spmv_status spmv_mat_take_lines(spmv_mat *mat, spmv_lines *lines) {
    spmv_coo *coo = &lines->coo;
    spmv_ctx *ctx = mat->ctx;
    const spmv_field field = coo->field;
    if (!lines->ptr) {
        mat->coo = *coo;
        *coo = (spmv_coo){0};
        return SPMV_OK;
    }
    const spmv_arrays a = {.size = sizeof a,
                           .rows = coo->rows,
                           .cols = coo->cols,
                           .nnz = coo->nnz,
                           .ptr = lines->ptr,
                           .idx = coo->col,
                           .values = coo->values,
                           .ptr_bits = 64,
                           .by_columns = lines->by_columns,
                           .flags = SPMV_BORROW};
    void *ptr = lines->ptr, *index = coo->col, *values = coo->values;
    bool ascend = lines->ascends;
    spmv_status status = lines->is_checked ? SPMV_OK : spmv_arrays_check_entries(ctx, &a, &ascend);
    if (status == SPMV_OK) status = take(mat, &a, ascend);
    if (status == SPMV_OK && lines->from_columns) leave_columns(mat);
    mat->coo.field = field;
    if (status == SPMV_OK) hand_over(&mat->csr, &ptr, &index, &values);
    spmv_host_give(ctx, ptr);
    spmv_host_give(ctx, index);
    spmv_host_give(ctx, values);
    *lines = (spmv_lines){.ptr = NULL};
    return status;
}

/* ---- arrays that may change ------------------------------------------------------------------ */

/* Finds the device of the context's backend, in whose memory the arrays must be. */
static spmv_status device_of_arrays(spmv_ctx *ctx, const spmv_arrays *a, spmv_device **out) {
    const spmv_backend *backend = ctx->default_backend;
    if (backend->host)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.place is SPMV_DEVICE, and the context's backend, %s, has no "
                         "device",
                         backend->name);
    TRY(spmv_ctx_device(ctx, backend, out));
    return spmv_arrays_check_place(*out, a);
}

/* Creates a matrix of volatile arrays. Indices in device memory are checked when a plan is made. */
static spmv_status create_volatile(spmv_ctx *ctx, const spmv_arrays *a, spmv_mat **out) {
    spmv_device *device = NULL;
    TRY(spmv_arrays_check_volatile(ctx, a));
    if (a->place == SPMV_DEVICE) TRY(device_of_arrays(ctx, a, &device));
    return spmv_volatile_create(ctx, a, out);
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

/* Uses arrays in device memory as they are. *out is NULL if the host must read and check them. */
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
    TRY(device_of_arrays(ctx, there, &device));
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
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_arrays a = SPMV_OPTS(spmv_arrays);
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, arrays);
    TRY(spmv_read_opts(ctx, "spmv_arrays", &a, sizeof a, arrays));
    TRY(spmv_check_dimensions(ctx, a.rows, a.cols, a.nnz));
    TRY(spmv_arrays_check(ctx, &a));
    TRY(spmv_check_symmetry(ctx, "spmv_arrays", a.symmetry, a.rows, a.cols));
    if (a.flags & SPMV_VOLATILE) return create_volatile(ctx, &a, out);
    if (a.line || a.block_rows > 1 || a.block_cols > 1 || a.idx_bits == 64)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.%s is for arrays that may change (SPMV_VOLATILE)",
                         a.line             ? "line"
                         : a.idx_bits == 64 ? "idx_bits"
                                            : "block_rows");
    return a.place == SPMV_DEVICE ? create_from_device(ctx, &a, out) : create(ctx, &a, out);
}

spmv_status spmv_mat_csr(spmv_ctx *ctx, const spmv_csr_view *view, spmv_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, view);
    spmv_csr_view known = {0};
    TRY(spmv_read_opts(ctx, "spmv_csr_view", &known, sizeof known, view));
    view = &known;
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
