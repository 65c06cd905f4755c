/* source.c: a matrix whose compressed rows are in device memory, as the caller's arrays or copies;
 * plans on that device use them as a store. Rows are copied to the host when the host first reads
 * them. */
#include "matrix/csr.h"
#include "spmv_clock.h"
#include "host/host.h"
#include "matrix/matrix.h"
#include "source.h"
#include "matrix/stores/stored.h"
#include <stdlib.h>

/* ---- whether it is there --------------------------------------------------------------------- */

spmv_status spmv_check_place(const spmv_device *device, const char *name, const void *memory) {
    if (!device->backend->reaches || device->backend->reaches(memory)) return SPMV_OK;
    return spmv_fail(device->ctx, SPMV_E_ARG,
                     "%s, at %p, are in host memory, but place is SPMV_DEVICE", name, memory);
}

spmv_status spmv_arrays_check_place(const spmv_device *device, const spmv_arrays *a) {
    if (a->ptr) TRY(spmv_check_place(device, "spmv_arrays.ptr", a->ptr));
    if (a->nnz > 0 && a->line) TRY(spmv_check_place(device, "spmv_arrays.line", a->line));
    if (a->nnz > 0) TRY(spmv_check_place(device, "spmv_arrays.idx", a->idx));
    return a->nnz > 0 && a->values ? spmv_check_place(device, "spmv_arrays.values", a->values)
                                   : SPMV_OK;
}

/* ---- making it ------------------------------------------------------------------------------- */

static void describe(spmv_mat *mat, const spmv_store *rows, spmv_precision precision,
                     spmv_field field) {
    spmv_stats *stats = &mat->stats;
    mat->precision = precision;
    mat->csr =
        (spmv_csr){.rows = rows->rows, .cols = rows->cols, .nnz = rows->nnz, .as_given = true};
    mat->coo = (spmv_coo){.rows = rows->rows, .cols = rows->cols, .nnz = rows->nnz, .field = field};
    stats->rows = rows->rows;
    stats->cols = rows->cols;
    stats->nnz = stats->nnz_file = rows->nnz;
    stats->field = field;
    mat->to_count = true;
    mat->fetch = spmv_source_fetch;
}

static spmv_stored *new_source(spmv_mat *mat, spmv_device *device, int variant) {
    spmv_stored *source = calloc(1, sizeof *source);
    if (!source) return NULL;
    source->next = mat->stores;
    mat->stores = source;
    source->format = spmv_format_named("csr", variant);
    source->device = device;
    source->only_on_device = true;
    return source;
}

static void take_out(spmv_mat *mat, spmv_stored *source) {
    spmv_stored **at = &mat->stores;
    while (*at != source) at = &(*at)->next;
    *at = source->next;
    source->next = NULL;
    spmv_stored_free(mat->ctx, source);
}

static void is_built(spmv_mat *mat, spmv_stored *source, double start) {
    mat->source = source;
    source->built = source->placed = spmv_now();
    mat->stats.build_s = source->built - start;
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
    spmv_stored *source = new_source(mat, device, variant);
    if (!source) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory for a store");
    spmv_status status =
        own->adopt(device, a, &is_right, &mat->stats, &source->host, &source->copy);
    if (status == SPMV_E_NOMEM) return SPMV_OK; /* the host may have enough memory */
    if (status != SPMV_OK || !is_right) return status;
    describe(mat, source->host, a->precision, a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD);
    is_built(mat, source, start);
    return SPMV_OK;
}

/* ---- its transpose --------------------------------------------------------------------------- */

static int variant_of(const spmv_mat *mat) {
    return spmv_variant_of(mat->precision, spmv_needs_wide_offsets(mat->csr.nnz));
}

static const spmv_device_format *builder_of(const spmv_mat *mat) {
    return spmv_device_builder(mat->source->device->backend, "csr", variant_of(mat));
}

spmv_status spmv_source_transpose(const spmv_mat *mat, spmv_mat *T) {
    const double start = spmv_now();
    spmv_device *device = NULL;
    if (!mat->source || mat->csr.cols == 0 || mat->csr.nnz > UINT32_MAX) return SPMV_OK;
    const spmv_device_format *own = builder_of(mat);
    if (!own || !own->transpose) return SPMV_OK;
    TRY(spmv_source_device(mat, &device));
    spmv_stored *source = new_source(T, device, variant_of(mat));
    if (!source) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory for a store");
    const spmv_status status =
        own->transpose(device, mat->source->copy, &T->stats, &source->host, &source->copy);
    if (status != SPMV_OK) {
        take_out(T, source);
        return status == SPMV_E_NOMEM ? SPMV_OK : status; /* the host may have enough memory */
    }
    describe(T, source->host, mat->precision, mat->coo.field);
    is_built(T, source, start);
    return SPMV_OK;
}

void spmv_source_forget_order(spmv_mat *T) {
    spmv_device *device = NULL; /* already open: the rows are in its memory */
    if (!T->turned_there) return;
    if (spmv_source_device(T, &device) == SPMV_OK)
        device->backend->release(device, T->turned_there);
    T->turned_there = NULL;
}

void spmv_source_drop(spmv_mat *T) {
    spmv_stored *source = (spmv_stored *)(uintptr_t)T->source;
    spmv_source_forget_order(T);
    T->source = NULL;
    take_out(T, source);
}

/* Computes, for each entry of the transpose, its index in mat's rows; stored in T->turned_there. */
static spmv_status order_turned(const spmv_mat *mat, spmv_device *device) {
    spmv_mat *T = mat->transpose;
    void *order = NULL;
    if (T->turned_there) return SPMV_OK;
    TRY(device->backend->alloc(device, (size_t)mat->csr.nnz * sizeof(uint32_t), &order));
    const spmv_status status = builder_of(mat)->order_turned(device, mat->source->copy, order);
    if (status == SPMV_OK)
        T->turned_there = order;
    else
        device->backend->release(device, order);
    return status;
}

spmv_status spmv_source_arrange(const spmv_mat *mat, spmv_device *device, const void *values,
                                void *out) {
    TRY(order_turned(mat, device));
    return builder_of(mat)->arrange(device, mat->csr.nnz, values, mat->transpose->turned_there,
                                    out);
}

/* ---- the rows in host memory ----------------------------------------------------------------- */

static spmv_status get_array(spmv_device *device, const spmv_stored *source, int k, void **out) {
    *out = spmv_host_take(device->ctx, spmv_source_bytes(source, k));
    if (!*out) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory for compressed rows");
    return device->backend->get(device, *out, spmv_store_at(source->copy, k),
                                spmv_source_bytes(source, k));
}

static spmv_status get_row_ptr(spmv_device *device, const spmv_mat *mat, int64_t **out) {
    const int64_t n = mat->csr.rows + 1;
    const int threads = spmv_threads_for(mat->ctx, n);
    void *got;
    spmv_status status = get_array(device, mat->source, SPMV_ROW_PTR, &got);
    *out = got;
    if (status != SPMV_OK || spmv_source_is_wide(mat->source)) return status;
    const int32_t *narrow = got;
    *out = spmv_host_take(device->ctx, (size_t)n * sizeof **out);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < (*out ? n : 0); i++) (*out)[i] = narrow[i];
    spmv_host_give(device->ctx, got);
    return *out ? SPMV_OK : spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory for row_ptr");
}

/* Copies the device's values to out [nnz], converted to f64. */
static spmv_status get_values(spmv_device *device, const spmv_mat *mat, double *out) {
    const int64_t n = mat->csr.nnz;
    const int threads = spmv_threads_for(mat->ctx, n);
    const spmv_stored *source = mat->source;
    if (spmv_source_is_f64(source))
        return device->backend->get(device, out, spmv_store_at(source->copy, SPMV_VALUES),
                                    spmv_source_bytes(source, SPMV_VALUES));
    void *got;
    spmv_status status = get_array(device, source, SPMV_VALUES, &got);
    const float *narrow = got;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < (status == SPMV_OK ? n : 0); k++) out[k] = narrow[k];
    spmv_host_give(device->ctx, got);
    return status;
}

/* Copies rows and values to host memory. Either all arrays change or none, except that values of a
 * failed device are lost. An existing array of values keeps its address, since views refer to
 * it. */
spmv_status spmv_source_fetch(spmv_mat *mat) {
    spmv_csr *A = &mat->csr;
    spmv_device *device = NULL;
    int64_t *row_ptr = A->row_ptr;
    void *col_idx = A->col_idx;
    double *values = A->borrowed.values ? NULL : A->values;
    TRY(spmv_source_device(mat, &device));
    TRY(spmv_csr_fits(mat->ctx, &mat->coo));
    spmv_status status = row_ptr ? SPMV_OK : get_row_ptr(device, mat, &row_ptr);
    if (status == SPMV_OK && !col_idx)
        status = get_array(device, mat->source, SPMV_COL_IDX, &col_idx);
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
    A->borrowed.values = false;
    A->row_ptr = row_ptr, A->col_idx = col_idx, A->values = values;
    mat->coo.col = A->col_idx;
    mat->coo.values = mat->coo.field == SPMV_PATTERN_FIELD ? NULL : A->values;
    mat->fetch = NULL;
    return SPMV_OK;
}
