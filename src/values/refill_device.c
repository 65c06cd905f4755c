/* refill_device.c: writes new values into the stores of a matrix on devices, and into stores that
 * keep the rows in another order, wherever they are. */
#include "host/context.h"
#include "matrix/matrix.h"
#include "matrix/arrays/source.h"
#include "matrix/stores/stored.h"
#include "values.h"

/* ---- other values for them ------------------------------------------------------------------- */

/* Allocates new values for the source if it has borrowed the caller's array of the old values. */
static spmv_status stage_source(const spmv_mat *mat, spmv_staging *staging) {
    TRY(spmv_source_device(mat, &staging->device));
    if (!spmv_source_is_borrowed(mat->source)) return SPMV_OK;
    return staging->device->backend->alloc(
        staging->device, spmv_source_bytes(mat->source, SPMV_VALUES), &staging->own);
}

static spmv_status refill_source(const spmv_mat *mat, const spmv_csr_view *A, const void *there,
                                 spmv_staging *staging) {
    spmv_stored *source = mat->source;
    spmv_device *device = NULL;
    TRY(spmv_source_device(mat, &device));
    if (there && spmv_source_is_borrowed(source)) {
        spmv_store_set(source->copy, SPMV_VALUES, (void *)(uintptr_t)there); /* never written */
        return SPMV_OK;
    }
    if (staging->own) {
        spmv_store_set(source->copy, SPMV_VALUES, staging->own);
        source->copy->array[SPMV_VALUES].borrowed = source->host->array[SPMV_VALUES].borrowed =
            false;
        staging->own = NULL;
    }
    const void *here = spmv_source_is_f64(source) ? (const void *)A->values : staging->narrow;
    return spmv_device_builder(device->backend, "csr",
                               spmv_variant_of(mat->precision, spmv_source_is_wide(source)))
        ->refill(device, NULL, there ? there : here, source->copy);
}

/* ---- other values for all stores ------------------------------------------------------------- */

/* Uploads, once per store, the row offsets, which the store's builder had from the CSR. */
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

/* Returns the row offsets on the device, or NULL if they are not there. */
static const void *row_ptr_of(const spmv_plan *plan, const spmv_stored *stored) {
    const spmv_stored *source = spmv_is_ordered(stored) ? NULL : spmv_source_of(plan);
    const bool fits = source && source->copy->array[SPMV_ROW_PTR].bytes == spmv_row_ptr_bytes(plan);
    return fits ? spmv_store_at(source->copy, SPMV_ROW_PTR) : stored->row_ptr;
}

static bool is_rows(const spmv_stored *stored) {
    return strcmp(stored->format->name, "csr") == 0;
}

/* Returns whether the store is a CSR with another offset width that borrows its values from the
 * source. Stores of other formats borrow nothing. */
static bool borrows_values(const spmv_stored *stored) {
    return stored->copy->narrays > SPMV_VALUES && stored->copy->array[SPMV_VALUES].borrowed;
}

static spmv_status stage_narrow(const spmv_mat *mat, spmv_staging *staging) {
    const size_t nnz = (size_t)mat->csr.nnz;
    if (!staging->narrow) staging->narrow = spmv_host_alloc(nnz * sizeof *staging->narrow);
    return staging->narrow ? SPMV_OK
                           : spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for %zu values", nnz);
}

/* Brings the matrix's rows into the order of a store. */
static spmv_csr_view order_rows_for(const spmv_mat *mat, const spmv_stored *stored, int threads,
                                    spmv_staging *staging) {
    const spmv_csr_view A = spmv_rows_with(mat, mat->csr.values);
    spmv_ordered_fill(&A, spmv_order_of(stored), threads, &staging->ordered);
    return spmv_ordered_view(&A, &staging->ordered);
}

/* Allocates staging memory for a store that exists only on the device and is not the source. */
static spmv_status stage_for(const spmv_plan *plan, bool there, spmv_stored *stored,
                             spmv_staging *staging) {
    spmv_mat *mat = plan->matrix;
    spmv_device *device = staging->device = plan->device;
    const int p = spmv_plan_is_f32(plan);
    if (borrows_values(stored)) return SPMV_OK;
    if (!is_rows(stored) && !row_ptr_of(plan, stored)) {
        if (!mat->csr.row_ptr) TRY(spmv_mat_bring(mat));
        const int64_t *row_ptr = mat->csr.row_ptr;
        if (spmv_is_ordered(stored)) row_ptr = order_rows_for(mat, stored, 1, staging).row_ptr;
        TRY(send_row_ptr(plan, row_ptr, stored));
    }
    if (!there && p) TRY(stage_narrow(mat, staging));
    if (there || is_rows(stored) || staging->sent[p]) return SPMV_OK;
    return device->backend->alloc(device, (size_t)mat->csr.nnz * spmv_plan_width(plan),
                                  &staging->sent[p]);
}

/* Allocates rows in another order if a store has them. */
static spmv_status stage_ordered(const spmv_mat *mat, spmv_staging *staging) {
    const spmv_stored *s = mat->stores;
    while (s && !spmv_is_ordered(s)) s = s->next;
    if (!s) return SPMV_OK;
    staging->ctx = mat->ctx;
    TRY(spmv_mat_bring(mat));
    const spmv_csr_view A = spmv_rows_with(mat, NULL);
    return spmv_ordered_take(mat->ctx, &A, &staging->ordered);
}

spmv_status spmv_stored_stage(const spmv_mat *mat, bool there, spmv_staging *staging) {
    if (mat->source && !there && mat->precision == SPMV_F32) TRY(stage_narrow(mat, staging));
    if (mat->source && !there) TRY(stage_source(mat, staging));
    TRY(stage_ordered(mat, staging));
    for (spmv_stored *s = mat->stores; s; s = s->next)
        if (s->only_on_device && s != mat->source)
            TRY(stage_for(spmv_stored_plan(mat, s), there, s, staging));
    return SPMV_OK;
}

void spmv_stored_unstage(spmv_staging *staging) {
    void *const there[] = {staging->sent[0], staging->sent[1], staging->own};
    for (int k = 0; k < 3; k++)
        if (there[k]) staging->device->backend->release(staging->device, there[k]);
    spmv_host_free(staging->narrow);
    if (staging->ctx) spmv_ordered_free(staging->ctx, &staging->ordered);
}

/* Uploads A's values to the staging memory. */
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

/* Rewrites a store on the device from device memory; a CSR possibly from host memory. */
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
        spmv_store_set(stored->copy, SPMV_VALUES, spmv_store_at(mat->source->copy, SPMV_VALUES));
        return SPMV_OK;
    }
    if (stored->only_on_device)
        return refill_there(spmv_stored_plan(mat, stored), A, there, staging, stored);
    if (!stored->copy) return SPMV_OK;
    TRY(spmv_ctx_device(mat->ctx, stored->device->backend, &device));
    return spmv_store_rewrite(device, stored->host, stored->copy);
}

/* Values of the other order go to memory of the device that the matrix's were sent to before. */
static spmv_status refill_ordered_there(const spmv_mat *mat, const spmv_csr_view *rows, int threads,
                                        const spmv_staging *staging, spmv_stored *stored) {
    spmv_staging one = *staging;
    const int other = !spmv_plan_is_f32(spmv_stored_plan(mat, stored));
    one.sent[other] = NULL;
    TRY(send_values(rows, threads, &one));
    return refill_there(spmv_stored_plan(mat, stored), rows, NULL, &one, stored);
}

static spmv_status refill_ordered(const spmv_mat *mat, int threads, spmv_staging *staging,
                                  spmv_stored *stored) {
    const spmv_csr_view rows = order_rows_for(mat, stored, threads, staging);
    const spmv_csr A = {.rows = rows.rows,
                        .cols = rows.cols,
                        .nnz = rows.nnz,
                        .row_ptr = staging->ordered.row_ptr,
                        .col_idx = staging->ordered.col_idx,
                        .values = staging->ordered.values};
    if (stored->only_on_device) return refill_ordered_there(mat, &rows, threads, staging, stored);
    spmv_refill_one(&A, threads, stored);
    return refill(mat, &rows, NULL, staging, stored);
}

static spmv_status refill_own(const spmv_plan *plan) {
    const spmv_stored *s = spmv_stored_of(plan);
    const bool is_host = plan->device->backend->host; /* the store may exist on host and device */
    return spmv_store_rewrite(plan->device, is_host ? s->host : s->copy, plan->own);
}

spmv_status spmv_stored_refill_all(const spmv_mat *mat, const spmv_csr_view *A, const void *there,
                                   spmv_staging *staging, int threads) {
    TRY(send_values(A, threads, staging));
    if (mat->source) TRY(refill_source(mat, A, there, staging));
    for (spmv_stored *s = mat->stores; s; s = s->next)
        if (s != mat->source && !spmv_is_ordered(s)) TRY(refill(mat, A, there, staging, s));
    for (spmv_stored *s = mat->stores; s; s = s->next)
        if (spmv_is_ordered(s)) TRY(refill_ordered(mat, threads, staging, s));
    for (const spmv_plan *plan = mat->plans; plan; plan = plan->next)
        if (plan->own) TRY(refill_own(plan));
    return SPMV_OK;
}
