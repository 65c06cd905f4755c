/* set_values.c: spmv_mat_set_values permutes new values from the given order to that of the
 * canonical CSR and writes them into the store of every plan. All checks run before the first
 * write. */
#include "host/context.h"
#include "host/host.h"
#include "matrix/csr.h"
#include "matrix/arrays/volatile.h"
#include "matrix/matrix.h"
#include "matrix/origin.h"
#include "matrix/arrays/source.h"
#include "matrix/stores/stored.h"
#include "matrix/transpose.h"
#include "spmv_environment.h"
#include "values.h"
#include <math.h>

/* ---- who may refuse -------------------------------------------------------------------------- */

/* Returns whether the store can hold any values within f32's range (its pattern is fixed). */
static bool holds_any(const spmv_stored *stored) {
    const spmv_format *format = stored->format;
    return format->holds_any ? format->holds_any(stored->host) : !format->holds;
}

/* Returns whether the plan's kernel, a peer, may have kept the address of the caller's values. */
static bool is_fixed(const spmv_plan *plan) {
    const spmv_stored *source = plan->matrix->source;
    return source && spmv_source_is_borrowed(source) && plan->kernel->traits & SPMV_PEER &&
           strcmp(plan->host->format, source->host->format) == 0;
}

static bool format_refills(const spmv_format *format) {
    return format->refill || format->refill_rows;
}

bool spmv_plan_refills(const spmv_plan *plan) {
    if (plan->matrix->live) return false;
    const spmv_stored *stored = plan->host ? spmv_stored_of(plan) : NULL;
    if (stored && is_fixed(plan)) return false;
    if (stored && !stored->format->holds && !holds_any(stored)) return false;
    return format_refills(spmv_format_named(plan->kernel->format, plan->variant)) &&
           !(plan->kernel->traits & SPMV_KEEPS_VALUES);
}

/* Fails if the plan's store exists only on a device and cannot be rewritten there. */
static spmv_status store_takes_values(const spmv_plan *plan) {
    const spmv_stored *stored = spmv_stored_of(plan);
    if (!stored || !stored->only_on_device || holds_any(stored)) return SPMV_OK;
    return spmv_fail(plan->device->ctx, SPMV_E_UNSUITABLE,
                     "%s: values are stored in fewer bytes on the device, which cannot write "
                     "others so: a plan made with spmv_plan_opts.refill, and without codes=1, "
                     "stores them as they are",
                     plan->kernel->name);
}

spmv_status spmv_plan_takes_values(const spmv_plan *plan) {
    if (spmv_plan_refills(plan)) return store_takes_values(plan);
    return spmv_fail(plan->device->ctx, SPMV_E_UNSUITABLE,
                     "%s: new values cannot be written into what it made of the old ones: free "
                     "the plan before, and make it again",
                     plan->kernel->name);
}

/* Returns whether f64 values, or sums of f32 duplicates, may exceed the range of an f32 store. */
static bool may_exceed_f32(const spmv_mat *mat) {
    bool may = false, fits = mat->precision == SPMV_F32 && !(mat->origin && mat->origin->first);
    for (const spmv_plan *plan = mat->plans; plan; plan = plan->next)
        may |= spmv_plan_is_f32(plan) && !fits;
    return may;
}

static bool may_refuse(const spmv_mat *mat) {
    bool may = may_exceed_f32(mat) || (mat->origin && mat->origin->first);
    for (const spmv_stored *s = mat->stores; s; s = s->next) may |= !holds_any(s);
    return may;
}

static spmv_status check_range(const spmv_mat *mat, const spmv_csr_view *A, int threads) {
    int64_t overflows = 0;
    if (!may_exceed_f32(mat)) return SPMV_OK;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t k = 0; k < A->nnz; k++)
        overflows += isinf((float)A->values[k]) && !isinf(A->values[k]);
    return spmv_fits(mat->ctx, overflows);
}

static spmv_status check_store(const spmv_mat *mat, const spmv_csr_view *A, int threads,
                               const spmv_stored *s) {
    spmv_ordered rows;
    if (!spmv_is_ordered(s)) return s->format->holds(mat->ctx, A, threads, s->host);
    TRY(spmv_ordered_take(mat->ctx, A, &rows));
    spmv_ordered_fill(A, spmv_order_of(s), threads, &rows);
    const spmv_csr_view view = spmv_ordered_view(A, &rows);
    const spmv_status status = s->format->holds(mat->ctx, &view, threads, s->host);
    spmv_ordered_free(mat->ctx, &rows);
    return status;
}

static spmv_status check_stores(const spmv_mat *mat, const spmv_csr_view *A, int threads) {
    TRY(check_range(mat, A, threads));
    for (spmv_stored *s = mat->stores; s; s = s->next)
        if (!holds_any(s)) TRY(check_store(mat, A, threads, s));
    return SPMV_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Allocates an array for the values in the given order, unless that is the order of the CSR or the
 * entries were never read; then *out is NULL. */
static spmv_status make_room(const spmv_mat *mat, double **out) {
    *out = NULL;
    if (mat->csr.as_given || (mat->by_columns && !mat->coo.row)) return SPMV_OK;
    *out = mat->coo.values && !mat->borrowed_values
               ? mat->coo.values
               : spmv_host_take(mat->ctx, (size_t)mat->coo.nnz * sizeof **out);
    if (*out) return SPMV_OK;
    return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for %lld values",
                     (long long)mat->coo.nnz);
}

/* Records that the matrix has numerical values, whatever it was made of. */
static void has_values(spmv_mat *mat) {
    mat->coo.field = mat->stats.field = SPMV_REAL_FIELD;
    mat->to_count = true;
}

static void keep_entries(spmv_mat *mat, const spmv_new_values *v, int threads, double *room) {
    mat->fetch = NULL;
    if (room) spmv_widen(v, mat->coo.nnz, threads, room);
    mat->coo.values = room || mat->by_columns ? room : mat->csr.values;
    mat->borrowed_values = false;
    has_values(mat);
}

/* Chooses the array for the CSR's values: the old one, unless that is the caller's. */
static spmv_status place_values(spmv_mat *mat, const spmv_new_values *v) {
    spmv_csr *A = &mat->csr;
    if (!A->borrowed.values) return SPMV_OK;
    double *values = v->stay ? (double *)(uintptr_t)v->values /* never written */
                             : spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *values);
    if (!values) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    A->values = values;
    A->borrowed.values = v->stay;
    return SPMV_OK;
}

/* sorted: the values in the order of the canonical CSR, or NULL to permute them now. room: array
 * for the values in the given order, or NULL. */
static spmv_status write_into(spmv_mat *mat, const spmv_new_values *v, const double *sorted,
                              int threads, double *room, spmv_staging *staging) {
    spmv_new_values in_rows = {.values = sorted ? sorted : mat->csr.values, .precision = SPMV_F64};
    if (!sorted && mat->csr.as_given)
        in_rows = *v;
    else if (!sorted)
        TRY(spmv_origin_arrange(mat, v, threads, mat->csr.values));
    spmv_refill_here(mat, &in_rows, threads);
    keep_entries(mat, v, threads, room);
    const spmv_csr_view A = spmv_rows_with(mat, mat->csr.values);
    TRY(spmv_stored_refill_all(mat, &A, NULL, staging, threads));
    for (const spmv_plan *plan = mat->plans; plan; plan = plan->next)
        TRY(plan->device->backend->sync(plan->device));
    return SPMV_OK;
}

/* Allocates everything before the first write, so that no failure leaves some plans with old values
 * and others with new ones. */
static spmv_status write_all(spmv_mat *mat, const spmv_new_values *v, const double *sorted,
                             int threads) {
    spmv_staging staging = {.device = NULL};
    double *room = NULL;
    spmv_status status = spmv_stored_stage(mat, false, &staging);
    if (status == SPMV_OK) status = make_room(mat, &room);
    /* allocates nothing if make_room has allocated */
    if (status == SPMV_OK) status = place_values(mat, v);
    if (status == SPMV_OK) status = write_into(mat, v, sorted, threads, room, &staging);
    spmv_stored_unstage(&staging);
    return status;
}

/* Fails if a store cannot hold the values. *sorted: v in the order of the canonical CSR, if v has
 * another order. */
static spmv_status check_values(const spmv_mat *mat, const spmv_new_values *v, int threads,
                                double **sorted) {
    spmv_csr_view A = spmv_rows_with(mat, v->values);
    if (!mat->csr.as_given || v->precision != SPMV_F64 || v->from) {
        A.values = *sorted = spmv_host_alloc((size_t)A.nnz * sizeof **sorted);
        if (!*sorted) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
        TRY(spmv_origin_arrange(mat, v, threads, *sorted));
    }
    return check_stores(mat, &A, threads);
}

/* Gives one matrix, its stores and its plans new values. */
static spmv_status set_one(spmv_mat *mat, const spmv_new_values *v) {
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz);
    double *sorted = NULL;
    if (mat->source) TRY(spmv_mat_bring(mat)); /* needs the pattern on the host */
    TRY(spmv_origin_find(mat, threads));
    spmv_status status = may_refuse(mat) ? check_values(mat, v, threads, &sorted) : SPMV_OK;
    if (status == SPMV_OK) status = write_all(mat, v, sorted, threads);
    spmv_host_free(sorted);
    return status;
}

/* ---- from a device's memory ------------------------------------------------------------------ */

/* Returns whether the values need not come to the host: all stores and plans are on this device, in
 * the precision of the given values. */
static bool can_stay(const spmv_mat *mat, const spmv_device *device) {
    bool can = mat->csr.as_given && (mat->plans || mat->source);
    for (const spmv_plan *plan = mat->plans; plan; plan = plan->next)
        can =
            can && plan->device == device && spmv_plan_is_f32(plan) == (mat->precision == SPMV_F32);
    for (const spmv_stored *s = mat->stores; s; s = s->next)
        can = can && s->only_on_device && !spmv_is_ordered(s);
    return can;
}

static spmv_status read_back(spmv_mat *mat, const spmv_stored *stored, const spmv_store *here) {
    const size_t n = (size_t)mat->csr.nnz;
    const spmv_csr_view A = spmv_rows_with(mat, NULL);
    int32_t *row = spmv_host_alloc(n * sizeof *row), *col = spmv_host_alloc(n * sizeof *col);
    double *values = spmv_host_alloc(n * sizeof *values);
    bool has_room = row && col && values;
    if (has_room) stored->format->entries(here, row, col, values);
    for (size_t k = 0; has_room && k < n; k++)
        mat->csr.values[spmv_first_from(&A, row[k], col[k])] = values[k];
    spmv_host_free(row);
    spmv_host_free(col);
    spmv_host_free(values);
    return has_room ? SPMV_OK : spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
}

/* Fetches the values from the first store on the device. */
static spmv_status fetch(spmv_mat *mat) {
    const spmv_new_values copied = {.stay = false};
    spmv_device *device = NULL;
    spmv_store *here = NULL;
    TRY(place_values(mat, &copied));
    mat->coo.values = mat->csr.values;
    TRY(spmv_ctx_device(mat->ctx, mat->stores->device->backend, &device));
    spmv_status status = spmv_store_download(device, mat->stores->copy, &here);
    if (status == SPMV_OK) status = read_back(mat, mat->stores, here);
    spmv_store_free(here);
    if (status == SPMV_OK) mat->fetch = NULL;
    return status;
}

static spmv_status stay(spmv_mat *mat, spmv_device *device, const void *values, void *stream) {
    const spmv_csr_view A = spmv_rows_with(mat, NULL);
    spmv_staging none = {.device = NULL}; /* row offsets only */
    TRY(spmv_stored_stage(mat, true, &none));
    mat->values_change = true; /* the stream may change them at any time */
    TRY(spmv_stored_refill_all(mat, &A, values, &none, 1));
    has_values(mat);
    mat->fetch = mat->source ? spmv_source_fetch : fetch;
    return device->backend->order(device, stream, true);
}

/* Returns the bytes of all given values. */
static size_t values_bytes(const spmv_mat *mat) {
    const size_t width = mat->precision == SPMV_F32 ? sizeof(float) : sizeof(double);
    return (size_t)mat->coo.nnz * width;
}

/* Returns whether values on the device need not come to the host for mat or its transpose. */
static bool both_can_stay(const spmv_mat *mat, const spmv_device *device) {
    const spmv_mat *T = mat->transpose;
    return mat->source && T->source && can_stay(mat, device) && can_stay(T, device);
}

static spmv_status stay_in_both(spmv_mat *mat, spmv_device *device, const void *values,
                                void *stream) {
    void *turned = NULL;
    TRY(device->backend->alloc(device, values_bytes(mat), &turned));
    spmv_status status = spmv_source_arrange(mat, device, values, turned);
    if (status == SPMV_OK) status = stay(mat->transpose, device, turned, stream);
    device->backend->release(device, turned);
    return status == SPMV_OK ? stay(mat, device, values, stream) : status;
}

/* Gets values of a device into host memory, to be freed with spmv_host_free. */
static spmv_status get_here(const spmv_mat *mat, spmv_device *device, const void *values,
                            void **here) {
    *here = spmv_host_alloc(values_bytes(mat));
    if (*here) return device->backend->get(device, *here, values, values_bytes(mat));
    return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for %lld values",
                     (long long)mat->coo.nnz);
}

/* ---- before anything is written -------------------------------------------------------------- */

/* Finds the GPU of the plans; a context has at most one. If no plan is on a GPU, the device of the
 * default backend for values in device memory, otherwise NULL. */
static spmv_status find_device(const spmv_mat *mat, spmv_place place, spmv_device **out) {
    const spmv_plan *plan = mat->plans;
    *out = NULL;
    while (plan && plan->device->backend->host) plan = plan->next;
    if (!plan && place == SPMV_DEVICE)
        return spmv_ctx_device(mat->ctx, mat->ctx->default_backend, out);
    if (plan) *out = plan->device;
    return SPMV_OK;
}

static spmv_status ask_plans(spmv_mat *mat) {
    spmv_stored_drop_unused(mat);
    for (const spmv_plan *plan = mat->plans; plan; plan = plan->next)
        TRY(spmv_plan_takes_values(plan));
    return SPMV_OK;
}

static spmv_status begin(spmv_mat *mat, const void *values, spmv_place place, void *stream,
                         spmv_device **device) {
    /* the only copy of the values may be in a store that ask_plans frees */
    if (!mat->plans && !mat->source) TRY(spmv_mat_bring(mat));
    TRY(ask_plans(mat));
    TRY(find_device(mat, place, device));
    if (place == SPMV_DEVICE && mat->coo.nnz > 0)
        TRY(spmv_check_place(*device, "spmv_mat_set_values: values", values));
    if (!*device || !(*device)->backend->order) return SPMV_OK;
    return (*device)->backend->order(*device, stream,
                                     false); /* earlier products use the old values */
}

/* ---- those of the transpose, too ------------------------------------------------------------- */

/* Allocates values in the order of the CSR, to be freed by spmv_host_give. */
static spmv_status take_room(const spmv_mat *mat, double **out) {
    *out = spmv_host_take(mat->ctx, (size_t)mat->csr.nnz * sizeof **out);
    return *out ? SPMV_OK : spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for values");
}

/* Permutes values to the order of mat's CSR, into *room if that differs. */
static spmv_status to_rows(spmv_mat *mat, const spmv_new_values *v, double **room,
                           spmv_new_values *out) {
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz);
    *out = *v;
    TRY(spmv_mat_bring(mat));
    TRY(spmv_origin_find(mat, threads));
    if (mat->csr.as_given) return SPMV_OK;
    TRY(take_room(mat, room));
    *out = (spmv_new_values){.values = *room, .precision = SPMV_F64};
    return spmv_origin_arrange(mat, v, threads, *room);
}

/* Sets the values of the transpose, given in the order of mat's CSR. */
static spmv_status set_transpose(spmv_mat *mat, const spmv_new_values *in_rows, void *stream) {
    spmv_mat *T = mat->transpose;
    spmv_new_values v = {.values = in_rows->values, .precision = in_rows->precision};
    spmv_device *device = NULL;
    double *room = NULL;
    TRY(begin(T, NULL, SPMV_HOST, stream, &device));
    TRY(spmv_transpose_turned(mat, &v.from));
    if (!v.from) TRY(take_room(mat, &room));
    spmv_status status = room ? spmv_transpose_values(mat, in_rows, room) : SPMV_OK;
    if (room) v = (spmv_new_values){.values = room, .precision = SPMV_F64};
    if (status == SPMV_OK) status = set_one(T, &v);
    spmv_host_give(mat->ctx, room);
    return status;
}

/* Restores the old values of the transpose after the matrix has refused the new ones. */
static spmv_status set_back(spmv_mat *mat, spmv_status refused, void *stream) {
    const spmv_new_values old = {.values = mat->csr.values, .precision = SPMV_F64};
    char why[sizeof mat->ctx->error];
    memcpy(why, mat->ctx->error, sizeof why);
    TRY(set_transpose(mat, &old, stream));
    return spmv_fail(mat->ctx, refused, "%s", why);
}

/* Reads the values of a matrix without plans back from the stores of its transpose. */
static spmv_status fetch_places(spmv_mat *mat) {
    const spmv_new_values v = {.values = spmv_places_collect(mat), .precision = mat->precision};
    if (!v.values)
        return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for the matrix's values");
    mat->fetch = NULL;
    const spmv_status status = set_one(mat, &v);
    if (status != SPMV_OK) mat->fetch = fetch_places;
    spmv_host_free((void *)(uintptr_t)v.values);
    return status;
}

/* Reads the values back if no plan uses these stores, which are then dropped. */
static spmv_status keep_values(spmv_mat *mat) {
    const bool are_kept = mat->fetch != fetch_places || spmv_places_of(mat->transpose, true);
    return are_kept ? SPMV_OK : spmv_mat_bring(mat);
}

/* Writes the values into the stores of the transpose only; nothing can fail after the lists are
 * found. The matrix reads the values back when needed, or borrows the caller's array if it had
 * borrowed the previous one. */
static spmv_status set_places(spmv_mat *mat, const spmv_new_values *v) {
    const spmv_status status = spmv_places_find(mat);
    if (status == SPMV_OK) {
        spmv_stored_drop_unused(mat);
        spmv_places_set(mat, v->values);
        mat->fetch = fetch_places;
        has_values(mat);
        if (mat->csr.borrowed.values) set_one(mat, v); /* allocates nothing */
    }
    spmv_transpose_settle(mat);
    return status;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Sets values in host memory, those of the transpose first: if that fails, nothing has changed.
 * there: the same values on the device if mat's stay there, or NULL. */
static spmv_status set_both(spmv_mat *mat, const spmv_new_values *v, spmv_device *device,
                            const void *there, void *stream) {
    double *room = NULL;
    spmv_new_values in_rows;
    spmv_status status = to_rows(mat, v, &room, &in_rows);
    if (status == SPMV_OK) status = set_transpose(mat, &in_rows, stream);
    if (status == SPMV_OK) {
        status = there ? stay(mat, device, there, stream) : set_one(mat, v);
        if (status != SPMV_OK && status != SPMV_E_DEVICE) status = set_back(mat, status, stream);
    }
    spmv_host_give(mat->ctx, room);
    spmv_transpose_settle(mat);
    return status;
}

static spmv_status set(spmv_mat *mat, const void *values, spmv_place place, void *stream) {
    spmv_mat *T = mat->coo.nnz > 0 ? mat->transpose : NULL;
    spmv_new_values v = {.values = values, .precision = mat->precision, .stay = true};
    spmv_device *device = NULL;
    void *here = NULL;
    if (T) TRY(ask_plans(T));
    if (T && place == SPMV_HOST && !mat->source) {
        TRY(spmv_origin_find(mat, spmv_threads_for(mat->ctx, mat->coo.nnz)));
        if (spmv_places_fit(mat)) return set_places(mat, &v);
    }
    TRY(begin(mat, values, place, stream, &device));
    const bool is_there = place == SPMV_DEVICE && !device->backend->host;
    const void *there = is_there && device->backend->order && can_stay(mat, device) ? values : NULL;
    if (there && !T) return stay(mat, device, there, stream);
    if (there && both_can_stay(mat, device)) return stay_in_both(mat, device, there, stream);
    spmv_status status = SPMV_OK;
    if (is_there) {
        status = get_here(mat, device, values, &here);
        v.values = here, v.stay = false;
    }
    if (status == SPMV_OK) status = T ? set_both(mat, &v, device, there, stream) : set_one(mat, &v);
    spmv_host_free(here);
    return status;
}

spmv_status spmv_mat_set_values(spmv_mat *mat, const void *values, spmv_place place, void *stream) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(NULL, mat);
    if (mat->freed) return spmv_fail(mat->ctx, SPMV_E_ARG, "%s: mat was freed", __func__);
    if (mat->coo.nnz > 0) GIVEN(mat->ctx, values);
    if (mat->live) return spmv_volatile_set_values(mat, values, place);
    if (place != SPMV_HOST && place != SPMV_DEVICE)
        return spmv_fail(mat->ctx, SPMV_E_ARG,
                         "spmv_mat_set_values: place is %d, must be SPMV_HOST or SPMV_DEVICE",
                         place);
    TRY(keep_values(mat));
    if (mat->transpose && mat->transpose->nplans == 0) spmv_mat_drop_transpose(mat);
    return set(mat, values, place, stream);
}
