/* store_cache.c: the stores of a matrix: finds an existing one, checks that a new one fits, and
 * builds it on the host or on the device that uses it. */
#include "spmv_clock.h"
#include "host/context.h"
#include "host/host.h"
#include "matrix/matrix.h"
#include "ordered.h"
#include "stored.h"
#include <stdio.h>
#include <stdlib.h>

static const char host_converted[] = "converted by the host: the device has no room for that";

/* Stores differ by format, variant, order of rows and the parameters of the format, but not by
 * those of the kernel. */
static bool same_shape(const spmv_format *format, const spmv_choice *a, const spmv_choice *b) {
    if (spmv_order_in(a) != spmv_order_in(b)) return false;
    for (const spmv_param *p = spmv_param_list(format->params); p->id != SPMV_NPARAMS; p++)
        if (a->value[p->id] != b->value[p->id]) return false;
    return true;
}

/* Finds a store. device: where its copy must be; NULL: its arrays must be in host memory. */
static spmv_stored *find_stored(const spmv_plan *plan, const spmv_format *format,
                                const spmv_device *device) {
    for (spmv_stored *s = plan->matrix->stores; s; s = s->next)
        if (s->format == format && same_shape(format, &s->choice, &plan->choice) &&
            (device ? s->device == device : !s->only_on_device))
            return s;
    return NULL;
}

/* Finds the store that the plan needs, or one in host memory to copy from. NULL: none. */
static spmv_stored *find_own(const spmv_plan *plan, const spmv_format *format) {
    spmv_stored *there = find_stored(plan, format, plan->device);
    return there ? there : find_stored(plan, format, NULL);
}

const spmv_device_format *spmv_device_builder(const spmv_backend *backend, const char *format,
                                              int variant) {
    for (int k = 0; backend->formats && backend->formats[k][0]; k++)
        if (strcmp(backend->formats[k][0]->name, format) == 0) return backend->formats[k][variant];
    return NULL;
}

/* Returns the functions by which the plan's device builds the format in its memory; NULL: none. */
static const spmv_device_format *builder_of(const spmv_plan *plan, const char *format) {
    return spmv_device_builder(plan->device->backend, format, plan->variant);
}

/* Returns the rows from which the matrix was created, if they are on the plan's device; else
 * NULL. */
const spmv_stored *spmv_source_of(const spmv_plan *plan) {
    const spmv_stored *source = plan->matrix->source;
    return source && source->device == plan->device ? source : NULL;
}

/* Returns the view without copying rows to the host: sizes, and arrays that were copied before. */
static spmv_csr_view outline_of(const spmv_mat *mat) {
    return spmv_rows_with(mat, mat->csr.values);
}

/* Gets the rows, in host memory if building the store or preparing the kernel reads them there. */
static spmv_status get_rows(const spmv_plan *plan, const spmv_device_format *own,
                            spmv_csr_view *out) {
    if (plan->ordered) {
        *out = *plan->ordered;
        return SPMV_OK;
    }
    bool stays = own && spmv_source_of(plan) && !(plan->kernel->traits & SPMV_READS_ROWS) &&
                 !(own->reads_rows && own->reads_rows(&plan->choice));
    if (!stays) TRY(spmv_mat_bring(plan->matrix));
    *out = outline_of(plan->matrix);
    return SPMV_OK;
}

static spmv_status check_offsets(const spmv_plan *plan, const spmv_device_format *own) {
    if (!own || own->build) return SPMV_OK;
    return spmv_fail(plan->device->ctx, SPMV_E_UNSUITABLE,
                     "%s: the device builds %s from 32-bit offsets only: offset_bits=32 with fewer "
                     "than 2^31 nonzeros, else a kernel of csr or sell",
                     plan->kernel->name, own->name);
}

void spmv_stored_free(spmv_ctx *ctx, spmv_stored *list) {
    while (list) {
        spmv_stored *next = list->next;
        if (list->copy && list->copy != list->host) {
            spmv_device *device = NULL; /* already open: the copy is in its memory */
            if (spmv_ctx_device(ctx, list->device->backend, &device) == SPMV_OK) {
                spmv_store_free_on(device, list->copy);
                device->backend->release(device, list->row_ptr);
            }
        }
        for (int k = 0; k < SPMV_MOST_PLACES; k++) spmv_host_give(ctx, list->given[k]);
        spmv_host_give(ctx, list->order);
        spmv_store_free(list->host);
        free(list);
        list = next;
    }
}

void spmv_stored_drop(spmv_ctx *ctx, spmv_stored **at) {
    spmv_stored *stored = *at;
    *at = stored->next;
    stored->next = NULL;
    spmv_stored_free(ctx, stored);
}

/* ---- whether it fits ------------------------------------------------------------------------- */

static size_t sum_or_max(size_t a, size_t b) {
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static const spmv_format *rows_format(const spmv_plan *plan) {
    return spmv_format_named("csr", plan->variant);
}

bool spmv_is_padding(const spmv_csr_view *view, int variant, size_t store) {
    enum { MOST_TIMES = 4, NEGLIGIBLE = 64000000 };
    size_t plain = spmv_format_named("csr", variant)->estimate(view, &(spmv_choice){{0}});
    return store >= NEGLIGIBLE && store / MOST_TIMES >= plain;
}

/* Says what makes a store large: the longest row, or, if that explains less than half of its size,
 * the shape of the format. */
static void say_shape(const spmv_plan *plan, size_t store, char text[120]) {
    const spmv_stats *stats = &plan->matrix->stats;
    const double slot = (double)(sizeof(idx) + spmv_plan_width(plan));
    if (slot * (double)stats->rows * (double)stats->row_max >= 0.5 * (double)store)
        snprintf(text, 120, "longest row %lld, mean %.1f", (long long)stats->row_max,
                 stats->row_mean);
    else
        snprintf(text, 120,
                 "rows %lld, mean %.1f: whole lines, slices, blocks or diagonals are stored",
                 (long long)stats->rows, stats->row_mean);
}

static spmv_status refuse_padding(const spmv_plan *plan, const spmv_csr_view *view, size_t store) {
    size_t plain = rows_format(plan)->estimate(view, &plan->choice);
    char shape[120];
    say_shape(plan, store, shape);
    return spmv_fail(plan->device->ctx, SPMV_E_TOOBIG,
                     "%s: %.4g MB, %.0f times what csr takes: most of it is padding (%s); "
                     "max_bytes=SIZE builds it if it fits",
                     plan->kernel->name, 1e-6 * (double)store, (double)store / (double)plain,
                     shape);
}

/* Fails because memory is too small. A failed device reports no free memory: its own error comes
 * first. */
static spmv_status refuse(const spmv_plan *plan, size_t need, size_t limit, const char *where) {
    char shape[120];
    TRY(plan->device->backend->sync(plan->device));
    say_shape(plan, need, shape);
    return spmv_fail(plan->device->ctx, SPMV_E_TOOBIG, "%s needs %.4g %s (%s), limit %.4g %s%s",
                     plan->kernel->name, (double)need * (need >= 1000000000 ? 1e-9 : 1e-6),
                     need >= 1000000000 ? "GB" : "MB", shape,
                     (double)limit * (limit >= 1000000000 ? 1e-9 : 1e-6),
                     limit >= 1000000000 ? "GB" : "MB", where);
}

static size_t most_of(size_t bytes) {
    return (size_t)(0.8 * (double)bytes);
}

/* Returns the bytes that may be allocated on a device. Asking takes 0.15 ms on a host, as long as
 * ten products of a small matrix, so that small requests are not checked; up to 0.09 ms on a
 * GPU. */
static size_t most_on(spmv_device *device, size_t need) {
    enum { LITTLE = 16 << 20 };
    if (need == 0 || (device->backend->host && need <= LITTLE)) return LITTLE;
    return most_of(device->backend->free_bytes(device));
}

/* Returns the bytes that the device needs to build the store, besides the store: workspace, and
 * compressed rows if they are not there yet. */
static size_t working_bytes(const spmv_plan *plan, const spmv_csr_view *view,
                            const spmv_device_format *own) {
    const spmv_format *rows = rows_format(plan);
    const spmv_device_format *first = builder_of(plan, rows->name);
    size_t bytes = own->working(view, &plan->choice);
    if (own == first || find_stored(plan, rows, plan->device)) return bytes;
    size_t sent = rows->estimate(view, &plan->choice);
    size_t sending = sum_or_max(sent, first->working(view, &plan->choice));
    return sum_or_max(sent, bytes) > sending ? sum_or_max(sent, bytes) : sending;
}

typedef struct room { /* bytes needed to build a store, and their limit */
    size_t need, limit;
    const char *where;
    bool by_device; /* the device has memory to build the store there */
} room;

/* Returns the bytes of the order of the rows, which the format does not know of. */
static size_t order_bytes(const spmv_plan *plan) {
    return plan->ordered ? (size_t)plan->ordered->rows * sizeof(int32_t) : 0;
}

/* Compares the bytes that the store needs with the limits: of the device, and of the host if it
 * builds the store. */
static room find_room(const spmv_plan *plan, const spmv_csr_view *view, size_t store,
                      size_t max_bytes, const spmv_device_format *own) {
    store = sum_or_max(store, order_bytes(plan));
    spmv_device *device = plan->device;
    bool is_host = device->backend->host;
    size_t scratch = plan->kernel->estimate ? plan->kernel->estimate(view, &plan->choice) : 0;
    room r = {sum_or_max(store, scratch), max_bytes, is_host ? "" : " on the device", false};
    if (max_bytes && (is_host || !own || r.need > max_bytes)) return r;
    size_t there = most_on(device, r.need);
    r.by_device = own && sum_or_max(r.need, working_bytes(plan, view, own)) <= there;
    if (max_bytes) return r;
    r.limit = there;
    if (is_host || r.by_device || r.need > there) return r;
    size_t here = most_of(spmv_host_free_bytes());
    if (store > here) r.need = store, r.limit = here, r.where = " on the host";
    return r;
}

/* Computes the exact bytes of the store: on the device if the rows are there; else on the host,
 * which copies all rows first. */
static spmv_status exact_bytes(const spmv_plan *plan, const spmv_format *format,
                               const spmv_device_format *own, spmv_csr_view *view, size_t *out) {
    const spmv_stored *rows =
        own && own->measure ? find_stored(plan, rows_format(plan), plan->device) : NULL;
    if (rows) {
        spmv_store *head = NULL, *copy = NULL;
        spmv_status status =
            own->measure(plan->device, view, rows->copy, &plan->choice, &head, &copy, out);
        spmv_store_free_on(plan->device, copy);
        spmv_store_free(head);
        if (status != SPMV_E_NOMEM) return status;
    }
    if (format != rows_format(plan)) TRY(get_rows(plan, NULL, view));
    *out = format->estimate(view, &plan->choice);
    return SPMV_OK;
}

/* Fails before the store is allocated if it does not fit: padded formats can exceed any memory. The
 * exact size needs a pass over all rows, on a device also memory per row; it is computed only if an
 * upper bound does not fit. */
static spmv_status check_budget(const spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                                const spmv_device_format *own, bool *by_device) {
    spmv_csr_view view;
    size_t store;
    TRY(get_rows(plan, own, &view));
    *by_device = true;
    if (format->bound) {
        size_t most = format->bound(&view, &plan->choice, plan->matrix->stats.row_max);
        room r = find_room(plan, &view, most, max_bytes, own);
        if (r.need <= r.limit && r.by_device == (own != NULL) &&
            (max_bytes || !spmv_is_padding(&view, plan->variant, most)))
            return SPMV_OK;
    }
    TRY(exact_bytes(plan, format, own, &view, &store));
    room r = find_room(plan, &view, store, max_bytes, own);
    *by_device = r.by_device;
    if (r.need > r.limit) return refuse(plan, r.need, r.limit, r.where);
    return max_bytes || !spmv_is_padding(&view, plan->variant, store)
               ? SPMV_OK
               : refuse_padding(plan, &view, store);
}

/* Checks the memory of a plan whose store exists or is only copied to its device. max_bytes limits
 * the store too. */
static spmv_status check_rest(const spmv_plan *plan, const spmv_stored *stored, size_t max_bytes) {
    spmv_csr_view view;
    const bool is_host = plan->device->backend->host;
    TRY(get_rows(plan, builder_of(plan, stored->format->name), &view));
    size_t need = plan->kernel->estimate ? plan->kernel->estimate(&view, &plan->choice) : 0;
    if (max_bytes || (!is_host && stored->device != plan->device))
        need = sum_or_max(need, spmv_store_bytes(stored->host));
    size_t limit = max_bytes ? max_bytes : most_on(plan->device, need);
    if (need <= limit) return SPMV_OK;
    return refuse(plan, need, limit, is_host ? "" : " on the device");
}

/* ---- building it ----------------------------------------------------------------------------- */

/* Builds the store in device memory from compressed rows there. Rows that are not there are sent,
 * and freed after use. Their cost is always included, so that a store's cost does not depend on
 * which plan sent the rows. On failure the caller frees *out. */
static spmv_status build_there(const spmv_plan *plan, const spmv_csr_view *view,
                               const spmv_device_format *own, spmv_stored *out) {
    spmv_device *device = plan->device;
    const spmv_device_format *first = builder_of(plan, "csr");
    const spmv_stored *there = own == first ? NULL : find_stored(plan, rows_format(plan), device);
    const spmv_stored *source = plan->ordered ? NULL : spmv_source_of(plan);
    spmv_stored sent = {.host = NULL};
    spmv_store *rows = there ? there->copy : source ? source->copy : NULL;
    spmv_status status = SPMV_OK;
    out->device = device;
    out->only_on_device = true;
    if (own != first && !there) {
        status =
            first->build(device, view, rows, &plan->choice, &sent.host, &sent.copy, &sent.upload_s);
        rows = sent.copy;
        if (rows) rows->passing = true;
    }
    if (status == SPMV_OK)
        status =
            own->build(device, view, rows, &plan->choice, &out->host, &out->copy, &out->upload_s);
    if (status == SPMV_OK) status = device->backend->sync(device);
    out->upload_s += sent.upload_s;
    if (there) {
        out->upload_s += there->upload_s;
        out->rows_s = there->convert_s + there->upload_s;
        out->rows_placed = there->placed;
    }
    spmv_store_free_on(device, sent.copy);
    spmv_store_free(sent.host);
    return status;
}

/* Builds the store on the device if own is not NULL, else on the host. */
static spmv_status build_store(const spmv_plan *plan, const spmv_format *format,
                               const spmv_device_format *own, spmv_stored **out) {
    spmv_mat *mat = plan->matrix;
    spmv_csr_view view;
    spmv_stored *stored;
    *out = NULL;
    TRY(get_rows(plan, own, &view));
    const int threads = spmv_threads_for(mat->ctx, view.nnz);
    stored = calloc(1, sizeof *stored);
    if (!stored) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    spmv_status status =
        own ? build_there(plan, &view, own, stored)
            : format->build(mat->ctx, &view, &plan->choice, threads, &stored->host);
    if (status != SPMV_OK) { /* the list element owns what was allocated */
        spmv_stored_free(mat->ctx, stored);
        return status;
    }
    stored->format = format;
    stored->choice = plan->choice;
    stored->built = spmv_now();
    stored->placed = own ? stored->built : 0;
    stored->next = mat->stores;
    *out = mat->stores = stored;
    return SPMV_OK;
}

/* ---- a plan's store -------------------------------------------------------------------------- */

const spmv_stored *spmv_stored_of(const spmv_plan *plan) {
    const spmv_stored *s = plan->matrix->stores;
    while (s && s->host != plan->host) s = s->next;
    return s;
}

/* Copies the store to the device; a host backend uses the store itself. */
static spmv_status place_store(spmv_stored *stored, spmv_device *device) {
    if (stored->device == device) return SPMV_OK;
    double start = spmv_now();
    TRY(spmv_store_upload(device, stored->host, &stored->copy));
    stored->placed = spmv_now();
    stored->upload_s = stored->placed - start;
    stored->device = device;
    return SPMV_OK;
}

/* Builds the store, on the host if the device lacks memory. Other failures would stop the host
 * too. */
static spmv_status build_anywhere(const spmv_plan *plan, const spmv_format *format,
                                  size_t max_bytes, const spmv_device_format *own, bool only_quick,
                                  spmv_stored **out) {
    bool by_device;
    spmv_status status = build_store(plan, format, own, out);
    if (!own || only_quick || (status != SPMV_E_NOMEM && status != SPMV_E_TOOBIG)) return status;
    TRY(plan->device->backend->sync(plan->device)); /* completes pending frees */
    TRY(check_budget(plan, format, max_bytes, NULL, &by_device));
    TRY(build_store(plan, format, NULL, out));
    (*out)->note = host_converted;
    return SPMV_OK;
}

static spmv_status build_as_it_is(spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                                  const spmv_device_format *own, bool only_quick,
                                  spmv_stored **out) {
    bool by_device;
    TRY(check_budget(plan, format, max_bytes, own, &by_device));
    if (own && !by_device && only_quick)
        return spmv_fail(plan->device->ctx, SPMV_E_TOOBIG,
                         "%s: no room to convert on the device: %s has the host convert",
                         plan->kernel->name, plan->kernel->name);
    TRY(build_anywhere(plan, format, max_bytes, by_device ? own : NULL, only_quick, out));
    if (own && !by_device) (*out)->note = host_converted;
    return SPMV_OK;
}

/* Builds the store of the matrix's rows in another order, which is made for it. */
static spmv_status build_ordered(spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                                 const spmv_device_format *own, bool only_quick,
                                 spmv_stored **out) {
    spmv_mat *mat = plan->matrix;
    spmv_ordered rows;
    TRY(spmv_ordered_make(plan, &rows));
    const spmv_csr_view A = outline_of(mat), view = spmv_ordered_view(&A, &rows);
    plan->ordered = &view;
    spmv_status status = build_as_it_is(plan, format, max_bytes, own, only_quick, out);
    plan->ordered = NULL;
    if (status == SPMV_OK) status = spmv_ordered_keep(plan, &rows, *out);
    if (status != SPMV_OK && *out) spmv_stored_drop(mat->ctx, &mat->stores);
    spmv_ordered_free(mat->ctx, &rows);
    return status;
}

static spmv_status find_or_build(spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                                 bool only_quick, spmv_stored **out) {
    const spmv_device_format *own = builder_of(plan, format->name);
    double start = spmv_now();
    TRY(check_offsets(plan, own));
    *out = find_own(plan, format);
    if (*out) return check_rest(plan, *out, max_bytes);
    const bool is_ordered = spmv_order_in(&plan->choice) != SPMV_ROWS_KEEP;
    TRY((is_ordered ? build_ordered : build_as_it_is)(plan, format, max_bytes, own, only_quick,
                                                      out));
    (*out)->convert_s = spmv_now() - start + (*out)->rows_s - (*out)->upload_s;
    return SPMV_OK;
}

double spmv_plan_sent_since(const spmv_plan *plan, double start) {
    const spmv_stored *s = spmv_stored_of(plan);
    return s && s->placed >= start ? plan->upload_s : 0;
}

double spmv_plan_stored_since(const spmv_plan *plan, double start) {
    const spmv_stored *s = spmv_stored_of(plan);
    double seconds = spmv_plan_sent_since(plan, start);
    if (!s || s->built < start) return seconds;
    return seconds + s->convert_s - (s->rows_placed < start ? s->rows_s : 0);
}

/* Returns the seconds from compressed rows on the device to the store; -1: the host converts. 0 for
 * a store of compressed rows itself. */
static double rows_to_store_s(const spmv_plan *plan, const spmv_stored *stored) {
    bool is_there = plan->device->backend->host || stored->only_on_device;
    if (!is_there) return -1;
    return stored->format == rows_format(plan) ? 0 : stored->convert_s;
}

spmv_status spmv_plan_attach(spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                             bool only_quick) {
    spmv_stored *stored;
    TRY(find_or_build(plan, format, max_bytes, only_quick, &stored));
    plan->host = stored->host;
    plan->convert_s = stored->convert_s;
    plan->rows_to_store_s = rows_to_store_s(plan, stored);
    plan->note = stored->note;
    plan->traffic_bytes = spmv_store_bytes(stored->host);
    if (plan->device->backend->host) {
        plan->store = stored->host;
        return SPMV_OK;
    }
    TRY(place_store(stored, plan->device));
    plan->store = stored->copy;
    plan->upload_s = stored->upload_s;
    return SPMV_OK;
}

const spmv_plan *spmv_stored_plan(const spmv_mat *mat, const spmv_stored *stored) {
    const spmv_plan *plan = mat->plans;
    while (plan && plan->host != stored->host) plan = plan->next;
    return plan;
}

void spmv_stored_drop_unused(spmv_mat *mat) {
    for (spmv_stored **at = &mat->stores; *at;)
        if (*at == mat->source || spmv_stored_plan(mat, *at))
            at = &(*at)->next;
        else
            spmv_stored_drop(mat->ctx, at);
}

void spmv_plan_add_resident(const spmv_plan *plan, size_t *host, size_t *device) {
    const spmv_stored *s = spmv_stored_of(plan);
    size_t *here = plan->device->backend->host ? host : device;
    if (!s->only_on_device) *host += spmv_store_own_bytes(s->host) + s->given_bytes;
    if (s->order) *host += (size_t)s->host->rows * sizeof *s->order;
    const spmv_stored *source = spmv_source_of(plan);
    if (s->copy) *device += spmv_store_own_bytes(s->copy);
    if (source && source != s) *device += spmv_store_own_bytes(source->copy);
    if (s->row_ptr) *device += spmv_row_ptr_bytes(plan);
    if (plan->own) *here += spmv_store_bytes(plan->own);
    *here += spmv_plan_scratch(plan);
}
