/* source.c: a matrix whose compressed rows lie in a device's memory, the caller's arrays or copies
 * of them, as a store that its plans use there. The host gets the rows when it first asks. And how
 * other values get into the stores of a matrix, wherever they lie. */
#include "internal.h"
#include <stdlib.h>

enum {
    ROW_PTR,
    COL_IDX,
    VALUES
}; /* the arrays of a store of compressed rows (formats/csr/csr.h) */

static size_t bytes_of(const spmv_stored *source, int k) {
    return source->copy->array[k].bytes;
}

static bool is_wide(const spmv_stored *source) {
    return bytes_of(source, ROW_PTR) == (size_t)(source->copy->rows + 1) * sizeof(int64_t);
}

static bool is_f64(const spmv_stored *source) {
    return bytes_of(source, VALUES) == (size_t)source->copy->nnz * sizeof(double);
}

static bool is_lent(const spmv_stored *source) {
    return source->copy->array[VALUES].borrowed;
}

/* The matrix's, though the pointer to where it is kept is const. */
static spmv_status find_device(const spmv_mat *mat, spmv_device **out) {
    return spmv_ctx_device(mat->ctx, mat->source->device->backend, out);
}

/* ---- whether it is there --------------------------------------------------------------------- */

spmv_status spmv_check_place(const spmv_device *device, const char *name, const void *memory) {
    if (!device->backend->reaches || device->backend->reaches(memory)) return SPMV_OK;
    return spmv_fail(device->ctx, SPMV_E_ARG,
                     "%s, at %p, are in host memory, but place is SPMV_DEVICE", name, memory);
}

spmv_status spmv_arrays_check_place(const spmv_device *device, const spmv_arrays *a) {
    TRY(spmv_check_place(device, "spmv_arrays.ptr", a->ptr));
    if (a->nnz > 0) TRY(spmv_check_place(device, "spmv_arrays.idx", a->idx));
    return a->nnz > 0 && a->values ? spmv_check_place(device, "spmv_arrays.values", a->values)
                                   : SPMV_OK;
}

/* ---- making it ------------------------------------------------------------------------------- */

static void describe(spmv_mat *mat, const spmv_arrays *a) {
    spmv_stats *stats = &mat->stats;
    mat->precision = a->precision;
    mat->csr = (spmv_csr){.rows = a->rows, .cols = a->cols, .nnz = a->nnz, .as_given = true};
    mat->coo = (spmv_coo){.rows = a->rows,
                          .cols = a->cols,
                          .nnz = a->nnz,
                          .field = a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD};
    stats->rows = a->rows;
    stats->cols = a->cols;
    stats->nnz = stats->nnz_file = a->nnz;
    stats->field = mat->coo.field;
    mat->to_count = true;
    mat->fetch = spmv_source_fetch;
}

static bool may_adopt(const spmv_device_format *own, const spmv_arrays *a) {
    return own && own->adopt && !a->by_columns && a->symmetry == SPMV_GENERAL && a->rows > 0 &&
           a->nnz > 0;
}

spmv_status spmv_source_adopt(spmv_mat *mat, spmv_device *device, const spmv_arrays *a) {
    const int variant = spmv_variant_of(a->precision, spmv_needs_wide_offsets(a->nnz));
    const spmv_device_format *own = spmv_device_builder(device->backend, "csr", variant);
    const double start = spmv_now();
    bool is_right = false;
    if (!may_adopt(own, a)) return SPMV_OK;
    spmv_stored *source = mat->stores = calloc(1, sizeof *source);
    if (!source) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory for a store");
    source->format = spmv_format_named("csr", variant);
    source->device = device;
    source->only_on_device = true;
    spmv_status status =
        own->adopt(device, a, &is_right, &mat->stats, &source->host, &source->copy);
    if (status == SPMV_E_NOMEM) return SPMV_OK; /* the host may have more */
    if (status != SPMV_OK || !is_right) return status;
    mat->source = source;
    describe(mat, a);
    source->built = source->placed = spmv_now();
    mat->stats.build_s = source->built - start;
    return SPMV_OK;
}

/* ---- the rows in host memory ----------------------------------------------------------------- */

static spmv_status get_array(spmv_device *device, const spmv_stored *source, int k, void **out) {
    *out = spmv_host_take(device->ctx, bytes_of(source, k));
    if (!*out) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory for compressed rows");
    return device->backend->get(device, *out, spmv_store_at(source->copy, k), bytes_of(source, k));
}

static spmv_status get_row_ptr(spmv_device *device, const spmv_mat *mat, int64_t **out) {
    const int64_t n = mat->csr.rows + 1;
    const int threads = spmv_threads_for(mat->ctx, n);
    void *got;
    spmv_status status = get_array(device, mat->source, ROW_PTR, &got);
    *out = got;
    if (status != SPMV_OK || is_wide(mat->source)) return status;
    const int32_t *narrow = got;
    *out = spmv_host_take(device->ctx, (size_t)n * sizeof **out);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < (*out ? n : 0); i++) (*out)[i] = narrow[i];
    spmv_host_give(device->ctx, got);
    return *out ? SPMV_OK : spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory for row_ptr");
}

/* Into an array that has room. */
static spmv_status get_values(spmv_device *device, const spmv_mat *mat, double *out) {
    const int64_t n = mat->csr.nnz;
    const int threads = spmv_threads_for(mat->ctx, n);
    const spmv_stored *source = mat->source;
    if (is_f64(source))
        return device->backend->get(device, out, spmv_store_at(source->copy, VALUES),
                                    bytes_of(source, VALUES));
    void *got;
    spmv_status status = get_array(device, source, VALUES, &got);
    const float *narrow = got;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < (status == SPMV_OK ? n : 0); k++) out[k] = narrow[k];
    spmv_host_give(device->ctx, got);
    return status;
}

/* Either all of it or nothing changes, but that values which a failed device had are lost. Values
 * that were here stay where they are: views of the matrix show them. */
spmv_status spmv_source_fetch(spmv_mat *mat) {
    spmv_csr *A = &mat->csr;
    spmv_device *device = NULL;
    int64_t *row_ptr = A->row_ptr;
    void *col_idx = A->col_idx;
    double *values = A->lent.values ? NULL : A->values;
    TRY(find_device(mat, &device));
    TRY(spmv_csr_fits(mat->ctx, &mat->coo));
    spmv_status status = row_ptr ? SPMV_OK : get_row_ptr(device, mat, &row_ptr);
    if (status == SPMV_OK && !col_idx) status = get_array(device, mat->source, COL_IDX, &col_idx);
    if (status == SPMV_OK && !values)
        values = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *values);
    if (status == SPMV_OK && !values)
        status = spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for values");
    if (status == SPMV_OK) status = get_values(device, mat, values);
    if (status != SPMV_OK) {
        if (row_ptr != A->row_ptr) spmv_host_give(mat->ctx, row_ptr);
        if (col_idx != A->col_idx) spmv_host_give(mat->ctx, col_idx);
        if (values != A->values) spmv_host_give(mat->ctx, values);
        return status;
    }
    A->lent.values = false;
    A->row_ptr = row_ptr, A->col_idx = col_idx, A->values = values;
    mat->coo.col = A->col_idx;
    mat->coo.values = mat->coo.field == SPMV_PATTERN_FIELD ? NULL : A->values;
    mat->fetch = NULL;
    return SPMV_OK;
}

/* ---- other values for them ------------------------------------------------------------------- */

/* What the source borrows is the caller's, who has the old values in it. */
static spmv_status stage_source(const spmv_mat *mat, spmv_staging *staging) {
    TRY(find_device(mat, &staging->device));
    if (!is_lent(mat->source)) return SPMV_OK;
    return staging->device->backend->alloc(staging->device, bytes_of(mat->source, VALUES),
                                           &staging->own);
}

static spmv_status refill_source(const spmv_mat *mat, const spmv_csr_view *A, const void *there,
                                 spmv_staging *staging) {
    spmv_stored *source = mat->source;
    spmv_device *device = NULL;
    TRY(find_device(mat, &device));
    if (there && is_lent(source)) {
        spmv_store_set(source->copy, VALUES, (void *)(uintptr_t)there); /* only read */
        return SPMV_OK;
    }
    if (staging->own) {
        spmv_store_set(source->copy, VALUES, staging->own);
        source->copy->array[VALUES].borrowed = source->host->array[VALUES].borrowed = false;
        staging->own = NULL;
    }
    const void *here = is_f64(source) ? (const void *)A->values : staging->narrow;
    return spmv_device_builder(device->backend, "csr",
                               spmv_variant_of(mat->precision, is_wide(source)))
        ->refill(device, NULL, there ? there : here, source->copy);
}

bool spmv_source_is_fixed(const spmv_plan *plan) {
    const spmv_stored *source = plan->matrix->source;
    return source && is_lent(source) && plan->kernel->traits & SPMV_PEER &&
           strcmp(plan->host->format, source->host->format) == 0;
}

/* ---- other values for all stores ------------------------------------------------------------- */

/* One that uses the store. */
static const spmv_plan *plan_of(const spmv_mat *mat, const spmv_stored *stored) {
    const spmv_plan *plan = mat->plans;
    while (plan && plan->host != stored->host) plan = plan->next;
    return plan;
}

void spmv_stored_drop_unused(spmv_mat *mat) {
    for (spmv_stored **at = &mat->stores; *at;)
        if (*at == mat->source || plan_of(mat, *at))
            at = &(*at)->next;
        else
            spmv_stored_drop(mat->ctx, at);
}

bool spmv_stored_holds_any(const spmv_stored *stored) {
    const spmv_format *format = stored->format;
    return format->holds_any ? format->holds_any(stored->host) : !format->holds;
}

spmv_status spmv_stored_takes_values(const spmv_plan *plan) {
    const spmv_stored *stored = spmv_stored_of(plan);
    if (!stored || !stored->only_on_device || spmv_stored_holds_any(stored)) return SPMV_OK;
    return spmv_fail(plan->device->ctx, SPMV_E_UNSUITABLE,
                     "%s: values are stored in fewer bytes on the device, which cannot write "
                     "others so: a plan made with spmv_plan_opts.refill, and without codes=1, "
                     "stores them as they are",
                     plan->kernel->name);
}

/* Once for a store: where rows begin, which its builder had from compressed rows. */
static spmv_status send_row_ptr(const spmv_plan *plan, const int64_t *row_ptr,
                                spmv_stored *stored) {
    spmv_device *device = plan->device;
    const bool wide = spmv_plan_offset_bits(plan) == 64;
    const size_t n = (size_t)plan->matrix->csr.rows + 1, bytes = spmv_row_ptr_bytes(plan);
    void *there = NULL;
    int32_t *narrow = wide ? NULL : spmv_host_alloc(bytes);
    if (!wide && !narrow) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n && narrow; i++) narrow[i] = (int32_t)row_ptr[i];
    spmv_status status = device->backend->alloc(device, bytes, &there);
    if (status == SPMV_OK)
        status = device->backend->put(device, there, wide ? (const void *)row_ptr : narrow, bytes);
    spmv_host_free(narrow);
    if (status == SPMV_OK)
        stored->row_ptr = there;
    else
        device->backend->release(device, there);
    return status;
}

/* Where rows begin, on the device, if it is known there. */
static const void *row_ptr_of(const spmv_plan *plan, const spmv_stored *stored) {
    const spmv_stored *source = spmv_source_of(plan);
    const bool fits = source && source->copy->array[ROW_PTR].bytes == spmv_row_ptr_bytes(plan);
    return fits ? spmv_store_at(source->copy, ROW_PTR) : stored->row_ptr;
}

static bool is_rows(const spmv_stored *stored) {
    return strcmp(stored->format->name, "csr") == 0;
}

/* Whether they are rows in another width of offsets, of which the source has the rest: stores of
 * other formats borrow nothing. */
static bool borrows_values(const spmv_stored *stored) {
    return stored->copy->narrays > VALUES && stored->copy->array[VALUES].borrowed;
}

static spmv_status stage_narrow(const spmv_mat *mat, spmv_staging *staging) {
    const size_t nnz = (size_t)mat->csr.nnz;
    if (!staging->narrow) staging->narrow = spmv_host_alloc(nnz * sizeof *staging->narrow);
    return staging->narrow ? SPMV_OK
                           : spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for %zu values", nnz);
}

/* Of a store on a device alone, which is not the source. */
static spmv_status stage_for(const spmv_plan *plan, bool there, spmv_stored *stored,
                             spmv_staging *staging) {
    spmv_mat *mat = plan->matrix;
    spmv_device *device = staging->device = plan->device;
    const int p = spmv_plan_is_f32(plan);
    if (borrows_values(stored)) return SPMV_OK;
    if (!is_rows(stored) && !row_ptr_of(plan, stored)) {
        if (!mat->csr.row_ptr) TRY(spmv_mat_bring(mat));
        TRY(send_row_ptr(plan, mat->csr.row_ptr, stored));
    }
    if (!there && p) TRY(stage_narrow(mat, staging));
    if (there || is_rows(stored) || staging->sent[p]) return SPMV_OK;
    return device->backend->alloc(device, (size_t)mat->csr.nnz * spmv_plan_width(plan),
                                  &staging->sent[p]);
}

spmv_status spmv_stored_stage(const spmv_mat *mat, bool there, spmv_staging *staging) {
    if (mat->source && !there && mat->precision == SPMV_F32) TRY(stage_narrow(mat, staging));
    if (mat->source && !there) TRY(stage_source(mat, staging));
    for (spmv_stored *s = mat->stores; s; s = s->next)
        if (s->only_on_device && s != mat->source)
            TRY(stage_for(plan_of(mat, s), there, s, staging));
    return SPMV_OK;
}

void spmv_stored_unstage(spmv_staging *staging) {
    void *const there[] = {staging->sent[0], staging->sent[1], staging->own};
    for (int k = 0; k < 3; k++)
        if (there[k]) staging->device->backend->release(staging->device, there[k]);
    spmv_host_free(staging->narrow);
}

/* Brings A's values to the staging memory. */
static spmv_status send_values(const spmv_csr_view *A, int threads, const spmv_staging *staging) {
    const void *from[2] = {A->values, staging->narrow};
    const size_t width[2] = {sizeof *A->values, sizeof *staging->narrow};
#pragma omp parallel for schedule(static) num_threads(threads) if (staging->narrow != NULL)
    for (int64_t k = 0; k < (staging->narrow ? A->nnz : 0); k++)
        staging->narrow[k] = (float)A->values[k];
    for (int p = 0; p < 2; p++)
        if (staging->sent[p])
            TRY(staging->device->backend->put(staging->device, staging->sent[p], from[p],
                                              (size_t)A->nnz * width[p]));
    return SPMV_OK;
}

/* The device places values from its own memory; compressed rows may get them from the host. */
static spmv_status refill_there(const spmv_plan *plan, const spmv_csr_view *A, const void *there,
                                const spmv_staging *staging, const spmv_stored *stored) {
    const int p = spmv_plan_is_f32(plan);
    const void *here = p ? (const void *)staging->narrow : A->values;
    const void *values = there ? there : staging->sent[p] ? staging->sent[p] : here;
    return spmv_device_builder(plan->device->backend, stored->format->name, plan->variant)
        ->refill(plan->device, row_ptr_of(plan, stored), values, stored->copy);
}

static spmv_status refill(const spmv_mat *mat, const spmv_csr_view *A, const void *there,
                          const spmv_staging *staging, spmv_stored *stored) {
    spmv_device *device = NULL;
    if (stored->only_on_device && borrows_values(stored)) {
        spmv_store_set(stored->copy, VALUES, spmv_store_at(mat->source->copy, VALUES));
        return SPMV_OK;
    }
    if (stored->only_on_device)
        return refill_there(plan_of(mat, stored), A, there, staging, stored);
    if (!stored->copy) return SPMV_OK;
    TRY(spmv_ctx_device(mat->ctx, stored->device->backend, &device));
    return spmv_store_rewrite(device, stored->host, stored->copy);
}

static spmv_status refill_own(const spmv_plan *plan) {
    const spmv_stored *s = spmv_stored_of(plan);
    const bool is_host = plan->device->backend->host; /* the store may be on both sides */
    return spmv_store_rewrite(plan->device, is_host ? s->host : s->copy, plan->own);
}

spmv_status spmv_stored_refill_all(const spmv_mat *mat, const spmv_csr_view *A, const void *there,
                                   spmv_staging *staging, int threads) {
    TRY(send_values(A, threads, staging));
    if (mat->source) TRY(refill_source(mat, A, there, staging));
    for (spmv_stored *s = mat->stores; s; s = s->next)
        if (s != mat->source) TRY(refill(mat, A, there, staging, s));
    for (const spmv_plan *plan = mat->plans; plan; plan = plan->next)
        if (plan->own) TRY(refill_own(plan));
    return SPMV_OK;
}

spmv_status spmv_stored_fetch(const spmv_mat *mat, const spmv_stored *stored, spmv_store **out) {
    spmv_device *device = NULL;
    TRY(spmv_ctx_device(mat->ctx, stored->device->backend, &device));
    return spmv_store_download(device, stored->copy, out);
}
