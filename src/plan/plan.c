/* plan.c: creates and frees plans: a kernel, a store and parameters, ready to multiply. */
#include "spmv_clock.h"
#include "host/context.h"
#include "matrix/arrays/volatile.h"
#include "matrix/matrix.h"
#include "matrix/stores/stored.h"
#include "plan.h"
#include "product.h"
#include "spmv_environment.h"
#include "values/values.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- parameters ----------------------------------------------------------------------------- */

static const char *const param_names[] = {
#define PARAM(name, ...) #name,
#include "params.def"
#undef PARAM
    NULL};

static const spmv_param *in_list(const spmv_param *list, spmv_param_id id) {
    for (list = spmv_param_list(list); list->id != SPMV_NPARAMS; list++)
        if (list->id == id) return list;
    return NULL;
}

const spmv_param *spmv_param_of(const spmv_kernel *kernel, spmv_param_id id) {
    const spmv_param *own = in_list(kernel->params, id);
    return own ? own : in_list(spmv_format_named(kernel->format, 0)->params, id);
}

static const spmv_param *find_param(const spmv_kernel *kernel, const char *name) {
    for (int id = 0; id < SPMV_NPARAMS; id++)
        if (strcmp(param_names[id], name) == 0) return spmv_param_of(kernel, (spmv_param_id)id);
    return NULL;
}

/* Fails with the list of the kernel's parameters; `name` is not among them. */
static spmv_status refuse_param(spmv_ctx *ctx, const spmv_kernel *kernel, const char *name) {
    char known[256] = "";
    size_t n = 0;
    for (int id = 0; id < SPMV_NPARAMS && n < sizeof known; id++)
        if (spmv_param_of(kernel, (spmv_param_id)id))
            n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "",
                                  param_names[id]);
    return spmv_fail(ctx, SPMV_E_ARG, "%s takes no parameter '%s': it takes %s", kernel->name, name,
                     n ? known : "none");
}

static spmv_status choose(spmv_ctx *ctx, const spmv_kernel *kernel, const spmv_plan_opts *opts,
                          int threads, spmv_choice *out) {
    *out = (spmv_choice){{0}};
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        if (p) out->value[id] = p->default_value;
    }
    if (opts->refill) out->value[SPMV_codes] = 0;
    for (int s = 0; s < opts->nsettings; s++) {
        const spmv_setting *setting = &opts->settings[s];
        if (!setting->name)
            return spmv_fail(ctx, SPMV_E_ARG, "spmv_plan_opts.settings[%d].name is NULL", s);
        const spmv_param *p = find_param(kernel, setting->name);
        if (!p) return refuse_param(ctx, kernel, setting->name);
        if (!spmv_param_takes(p, setting->value))
            return spmv_fail(ctx, SPMV_E_ARG, "%s: %s is %lld, must be %lld to %lld, a %s %lld",
                             kernel->name, setting->name, (long long)setting->value,
                             (long long)p->min, (long long)p->max,
                             p->power_of_two ? "power of" : "multiple of",
                             p->power_of_two ? 2LL : (long long)p->multiple);
        out->value[p->id] = setting->value;
    }
    if (find_param(kernel, "grid_rows") && out->value[SPMV_grid_rows] == 0)
        out->value[SPMV_grid_rows] = threads;
    return SPMV_OK;
}

/* ---- plans ---------------------------------------------------------------------------------- */

spmv_status spmv_plan_variant(spmv_mat *mat, const spmv_plan_opts *opts, int *out) {
    if (opts->precision != SPMV_F64 && opts->precision != SPMV_F32)
        return spmv_fail(mat->ctx, SPMV_E_ARG,
                         "spmv_plan_opts.precision is %d, must be SPMV_F64 (%d) or SPMV_F32 (%d)",
                         opts->precision, SPMV_F64, SPMV_F32);
    if (opts->cache != SPMV_WARM && opts->cache != SPMV_COLD && opts->cache != SPMV_STEADY)
        return spmv_fail(mat->ctx, SPMV_E_ARG,
                         "spmv_plan_opts.cache is %d, must be SPMV_WARM (%d), SPMV_COLD (%d) or "
                         "SPMV_STEADY (%d)",
                         opts->cache, SPMV_WARM, SPMV_COLD, SPMV_STEADY);
    if (opts->scalars != SPMV_HOST && opts->scalars != SPMV_DEVICE)
        return spmv_fail(mat->ctx, SPMV_E_ARG,
                         "spmv_plan_opts.scalars is %d, must be SPMV_HOST (%d) or SPMV_DEVICE (%d)",
                         opts->scalars, SPMV_HOST, SPMV_DEVICE);
    if (opts->op < 0 || opts->op > SPMV_BOTH)
        return spmv_fail(mat->ctx, SPMV_E_ARG,
                         "spmv_plan_opts.op is %d, must be SPMV_AS_IS (%d), SPMV_TRANSPOSE (%d) or "
                         "SPMV_BOTH (%d), or 0",
                         opts->op, SPMV_AS_IS, SPMV_TRANSPOSE, SPMV_BOTH);
    if (opts->vectors < 0)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "spmv_plan_opts.vectors is %lld, must be 0 or more",
                         (long long)opts->vectors);
    TRY(spmv_check_layout(mat->ctx, "spmv_plan_opts", opts->layout));
    if (opts->expected_calls < 0)
        return spmv_fail(mat->ctx, SPMV_E_ARG,
                         "spmv_plan_opts.expected_calls is %lld, must be 0 or more",
                         (long long)opts->expected_calls);
    if (mat->live) return spmv_volatile_variant(mat, opts, out);
    bool wide = spmv_needs_wide_offsets(mat->csr.nnz) || opts->offset_bits == 64;
    if (opts->offset_bits != 0 && opts->offset_bits != 32 && opts->offset_bits != 64)
        return spmv_fail(mat->ctx, SPMV_E_ARG,
                         "spmv_plan_opts.offset_bits is %d, must be 0, 32 or 64",
                         opts->offset_bits);
    if (opts->offset_bits == 32 && wide)
        return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                         "spmv_plan_opts.offset_bits is 32, and %lld entries need 64",
                         (long long)mat->csr.nnz);
    *out = spmv_variant_of(opts->precision, wide);
    return SPMV_OK;
}

spmv_status spmv_plan_kernel(spmv_ctx *ctx, const char *name, spmv_kernel_id *out) {
    int count = 0;
    if (!name) { /* no name: auto */
        *out = (spmv_kernel_id){ctx->default_backend, SPMV_AUTO};
        if (ctx->default_backend->kernels) return SPMV_OK;
        name = spmv_auto_kernel.name;
    }
    TRY(spmv_kernel_find(ctx, name, out, 1, &count));
    if (count > 1)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_plan_opts.kernel: '%s' names %d kernels; a plan takes one", name,
                         count);
    return SPMV_OK;
}

int spmv_repeats(const spmv_backend *backend, const spmv_kernel *kernel) {
    const unsigned needed = SPMV_DETERMINISTIC | (backend->host ? SPMV_ANY_THREADS : 0);
    if ((kernel->traits & needed) != needed) return 0;
    return backend->host && !spmv_param_of(kernel, SPMV_isa) ? 2 : 1;
}

/* Fails if a concurrent plan has fewer workspace slots than SPMV_SLOTS: products of several threads
 * would wait for each other. */
static spmv_status check_slots(const spmv_plan *plan) {
    if (!plan->concurrent || plan->slots == 0 || plan->slots == SPMV_SLOTS) return SPMV_OK;
    return spmv_fail(
        plan->device->ctx, SPMV_E_UNSUITABLE,
        "%s keeps structures in the plan for one product at a time, and the plan is to "
        "be concurrent",
        plan->kernel->name);
}

/* Returns whether the vectors that the plan is made for have to be packed into its panel. */
static bool packs(const spmv_plan *plan) {
    return plan->vectors > 1 && spmv_kernel_packs(plan->kernel, plan->layout, plan->vectors);
}

/* Sets where the plan's products read alpha and beta. Host kernels read host memory. For cuSPARSE
 * the place is a setting of its handle, which all plans of the device share. */
static spmv_status place_scalars(spmv_plan *plan, spmv_place where) {
    const double f64[] = {1, 0};
    const float f32[] = {1, 0};
    const size_t bytes = 2 * spmv_plan_width(plan);
    spmv_device *device = plan->device;
    plan->scalars = where;
    if (where == SPMV_HOST || device->backend->host) return SPMV_OK;
    if (plan->kernel->traits & SPMV_PEER)
        return spmv_fail(device->ctx, SPMV_E_UNSUITABLE,
                         "%s is another library's kernel, and takes scalars from the host alone",
                         plan->kernel->name);
    TRY(device->backend->alloc(device, bytes, &plan->one_zero));
    return device->backend->put(device, plan->one_zero,
                                bytes == sizeof f64 ? (const void *)f64 : f32, bytes);
}

static spmv_status prepare_kernel(spmv_plan *plan) {
    if (!plan->kernel->prepare) return SPMV_OK;
    plan->once_s = 0; /* a copied plan starts with the value of its original */
    double start = spmv_now();
    TRY(plan->kernel->prepare(plan));
    TRY(plan->device->backend->sync(plan->device));
    plan->prepare_s = spmv_now() - start - plan->once_s;
    return SPMV_OK;
}

/* Prepares the kernel and sets the number of workspace slots. slots = 0: no workspace, so products
 * may run concurrently. */
static spmv_status prepare(spmv_plan *plan) {
    const bool host = plan->device->backend->host;
    plan->slots = 1;
    plan->most_slots = plan->panels = host && plan->concurrent ? SPMV_SLOTS : 1;
    TRY(prepare_kernel(plan));
    if (host && !plan->scratch && !(plan->kernel->traits & SPMV_PEER)) plan->slots = 0;
    TRY(check_slots(plan));
    if (packs(plan)) return spmv_product_make_room(plan);
    plan->panels = 1;
    return SPMV_OK;
}

/* Gives the plan its own number of threads: kernels read it from the plan's device. On a GPU the
 * number applies to work on the host only. */
static spmv_status narrow(spmv_plan *plan, int threads) {
    spmv_ctx *ctx = plan->matrix->ctx;
    if (threads < 0 || threads > ctx->threads)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_plan_opts.threads is %d, must be 1 to %d, the context's, or 0",
                         threads, ctx->threads);
    if (threads == 0 || threads == ctx->threads || !plan->device->backend->host) return SPMV_OK;
    plan->narrowed = *plan->device;
    plan->narrowed.threads = threads;
    plan->device = &plan->narrowed;
    return SPMV_OK;
}

static void enlist(spmv_plan *plan) {
    plan->next = plan->matrix->plans;
    plan->matrix->plans = plan;
    plan->matrix->nplans++;
}

static void strike_out(const spmv_plan *plan) {
    spmv_plan **at = &plan->matrix->plans;
    while (*at != plan) at = &(*at)->next;
    *at = plan->next;
    plan->matrix->nplans--;
}

static spmv_status plan_init(spmv_plan *plan, const spmv_plan_opts *opts, spmv_kernel_id id,
                             bool only_quick) {
    spmv_ctx *ctx = plan->matrix->ctx;
    TRY(spmv_plan_variant(plan->matrix, opts, &plan->variant));
    TRY(spmv_ctx_device(ctx, id.backend, &plan->device));
    plan->kernel = plan->matrix->live ? id.backend->in_place[plan->variant]
                                      : id.backend->kernels[id.index][plan->variant];
    plan->op = opts->op ? opts->op : SPMV_AS_IS;
    plan->vectors = opts->vectors > 0 ? opts->vectors : 1;
    plan->layout = opts->layout ? opts->layout : SPMV_COLUMNS;
    plan->refill = opts->refill;
    plan->concurrent = opts->concurrent;
    if (opts->reproducible && !spmv_repeats(id.backend, plan->kernel))
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "%s is not reproducible: its results depend on the number of threads, or "
                         "on chance",
                         plan->kernel->name);
    TRY(narrow(plan, opts->threads));
    TRY(place_scalars(plan, opts->scalars));
    TRY(choose(ctx, plan->kernel, opts, plan->device->threads, &plan->choice));
    if (plan->matrix->live) {
        spmv_volatile_attach(plan);
        return prepare(plan);
    }
    if (opts->refill) TRY(spmv_plan_takes_values(plan));
    const spmv_format *format = spmv_format_named(plan->kernel->format, plan->variant);
    TRY(spmv_plan_attach(plan, format, opts->max_bytes, only_quick));
    /* the store must be known for this check */
    if (opts->refill) TRY(spmv_plan_takes_values(plan));
    return prepare(plan);
}

spmv_status spmv_plan_make(spmv_mat *mat, const spmv_plan_opts *opts, bool only_quick,
                           spmv_plan **out) {
    spmv_kernel_id id;
    *out = NULL;
    TRY(spmv_plan_kernel(mat->ctx, opts->kernel, &id));
    spmv_plan *plan = calloc(1, sizeof *plan);
    if (!plan) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    plan->matrix = mat;
    plan->transposes = opts->op == SPMV_TRANSPOSE;
    plan->rows = plan->transposes ? mat->csr.cols : mat->csr.rows;
    plan->cols = plan->transposes ? mat->csr.rows : mat->csr.cols;
    if (mat->live && mat->live->arrays.by_columns) plan->transposes = !plan->transposes;
    enlist(plan);
    spmv_status status = plan_init(plan, opts, id, only_quick);
    if (status == SPMV_OK)
        *out = plan;
    else
        spmv_plan_free(plan);
    return status;
}

void spmv_plan_free(spmv_plan *plan) {
    if (!plan) return;
    spmv_mat *mat = plan->matrix;
    spmv_plan_free(plan->other);
    if (plan->kernel && plan->kernel->release && plan->scratch) plan->kernel->release(plan);
    free(plan->tuning);
    spmv_store_free_on(plan->device, plan->own);
    strike_out(plan);
    if (plan->one_zero) plan->device->backend->release(plan->device, plan->one_zero);
    if (plan->panel) plan->device->backend->release(plan->device, plan->panel);
    if (plan->sums_room) plan->device->backend->release(plan->device, plan->sums_room);
    free(plan);
    if (mat->freed) spmv_mat_free(mat);
}

static spmv_status copy_into(spmv_plan *copy, const spmv_plan *plan) {
    if (plan->store) {
        TRY(spmv_store_upload(plan->device, plan->store, &copy->own));
        copy->store = copy->own;
    }
    TRY(place_scalars(copy, plan->scalars));
    return prepare(copy);
}

spmv_status spmv_plan_copy(const spmv_plan *plan, spmv_plan **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(plan ? plan->device->ctx : NULL, out);
    *out = NULL;
    GIVEN(NULL, plan);
    spmv_plan *copy = malloc(sizeof *copy);
    if (!copy) return spmv_fail(plan->device->ctx, SPMV_E_NOMEM, "out of memory");
    *copy = *plan;
    enlist(copy);
    if (plan->device == &plan->narrowed) copy->device = &copy->narrowed;
    memset(copy->busy, 0, sizeof copy->busy);
    copy->own = NULL;
    if (plan->tuning && plan->note == plan->tuning->note) copy->note = NULL;
    copy->tuning = NULL;
    copy->scratch = NULL;
    copy->one_zero = NULL;
    copy->other = NULL;
    copy->panel = NULL;
    copy->panel_bytes = 0;
    copy->sums_room = NULL;
    copy->scratch_bytes = 0;
    copy->peak_host = copy->peak_device = 0;
    copy->traffic_bytes = spmv_store_bytes(plan->host);
    spmv_status status = copy_into(copy, plan);
    if (status == SPMV_OK)
        *out = copy;
    else
        spmv_plan_free(copy);
    return status;
}

spmv_status spmv_plan_flush(const spmv_plan *plan, size_t bytes) {
    GIVEN(NULL, plan);
    return plan->device->backend->flush(plan->device, bytes);
}

/* Adds the memory kept for a transposed product. If both directions use one store, only the
 * kernel's workspace is added. */
static void add_resident_of(const spmv_plan *other, spmv_plan_facts *out) {
    size_t *here = other->device->backend->host ? &out->host_bytes : &out->device_bytes;
    if (other->transposes) {
        *here += spmv_plan_scratch(other);
        return;
    }
    out->host_bytes += spmv_mat_own_bytes(other->matrix);
    spmv_plan_add_resident(other, &out->host_bytes, &out->device_bytes);
}

/* Adds the facts of the plan that multiplies by the transpose. */
static void add_transposed(const spmv_plan *other, spmv_plan_facts *out) {
    out->transposed_kernel = other->kernel->name;
    out->transposed_format = other->kernel->format;
    out->transposed_store_bytes = spmv_store_bytes(other->host);
    out->transposed_scratch_bytes = spmv_plan_scratch(other);
    add_resident_of(other, out);
    out->refills = out->refills && spmv_plan_refills(other);
    const int repeats = spmv_repeats(other->device->backend, other->kernel);
    if (repeats < out->reproducible) out->reproducible = repeats;
}

static spmv_plan_facts facts_of(const spmv_plan *plan) {
    spmv_device *device = plan->device;
    const char *fewer = *device->ctx->fewer_threads ? device->ctx->fewer_threads : NULL;
    spmv_plan_facts facts = {
        .backend = device->backend->name,
        .kernel = plan->kernel->name,
        .format = plan->kernel->format,
        .values = plan->host->values,
        .offset_bits = spmv_plan_offset_bits(plan),
        .slots = plan->host->slots,
        .store_bytes = spmv_store_bytes(plan->host),
        .scratch_bytes = spmv_plan_scratch(plan),
        .traffic_bytes = plan->traffic_bytes,
        .convert_s = plan->convert_s,
        .upload_s = plan->upload_s,
        .prepare_s = plan->prepare_s,
        .from_rows_s = plan->rows_to_store_s < 0 ? -1 : plan->rows_to_store_s + plan->prepare_s,
        .once_s = plan->once_s,
        .free_bytes = plan->free_bytes,
        .note = plan->note ? plan->note : fewer,
        .threads = !device->backend->host               ? 0
                   : plan->kernel->traits & SPMV_SERIAL ? 1
                                                        : device->threads,
        .concurrent = device->backend->host,
        .peak_host_bytes = plan->peak_host,
        .peak_device_bytes = plan->peak_device,
        .refills = spmv_plan_refills(plan),
        .reproducible = spmv_repeats(device->backend, plan->kernel),
        .made_s = plan->made_s,
        .waits_asleep = device->backend->waits_asleep && device->backend->waits_asleep(device),
    };
    const spmv_mat *base = plan->matrix->base;
    facts.host_bytes = spmv_mat_own_bytes(plan->matrix) + (base ? spmv_mat_own_bytes(base) : 0);
    spmv_plan_add_resident(plan, &facts.host_bytes, &facts.device_bytes);
    if (plan->other) add_transposed(plan->other, &facts);
    const spmv_tuning *t = plan->tuning;
    if (!t) return facts;
    facts.reason = t->reason;
    facts.wisdom = *t->date ? t->date : NULL;
    facts.tune_s = t->tune_s;
    facts.timed = t->timed;
    facts.baseline = t->baseline;
    facts.chosen_product_s = t->chosen_product_s;
    facts.baseline_product_s = t->baseline_product_s;
    facts.flush_bytes = t->flush_bytes;
    return facts;
}

spmv_status spmv_plan_info(const spmv_plan *plan, spmv_plan_facts *out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_ctx *ctx = plan ? plan->device->ctx : NULL;
    spmv_plan_facts facts = {0};
    GIVEN(ctx, out);
    TRY(spmv_fill(ctx, "spmv_plan_facts", &facts, sizeof facts, out));
    GIVEN(NULL, plan);
    facts = facts_of(plan);
    return spmv_fill(ctx, "spmv_plan_facts", &facts, sizeof facts, out);
}

int64_t spmv_plan_setting(const spmv_plan *plan, const char *name) {
    const spmv_param *p = plan && name ? find_param(plan->kernel, name) : NULL;
    return p ? plan->choice.value[p->id] : -1;
}

/* ---- memory where the plan runs ------------------------------------------------------------- */

spmv_status spmv_plan_alloc(const spmv_plan *plan, size_t bytes, void **out) {
    GIVEN(plan ? plan->device->ctx : NULL, out);
    *out = NULL;
    GIVEN(NULL, plan);
    TRY(plan->device->backend->alloc(plan->device, bytes, out));
    return plan->device->backend->sync(plan->device);
}

void spmv_plan_release(const spmv_plan *plan, void *memory) {
    if (plan) plan->device->backend->release(plan->device, memory);
}

spmv_status spmv_plan_put(const spmv_plan *plan, void *device, const void *host, size_t bytes) {
    GIVEN(NULL, plan);
    if (bytes > 0) GIVEN(plan->device->ctx, device);
    if (bytes > 0) GIVEN(plan->device->ctx, host);
    return plan->device->backend->put(plan->device, device, host, bytes);
}

spmv_status spmv_plan_get(const spmv_plan *plan, void *host, const void *device, size_t bytes) {
    GIVEN(NULL, plan);
    if (bytes > 0) GIVEN(plan->device->ctx, host);
    if (bytes > 0) GIVEN(plan->device->ctx, device);
    return plan->device->backend->get(plan->device, host, device, bytes);
}
