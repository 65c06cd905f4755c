/* cells.c: which kernels in which configurations: the cross product of the lists on the command
 * line, as far as a kernel takes them. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "cells.h"
#include "devices.h"
#include "session.h"
#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the parameter whose values go with those of id (RxC is two), or SPMV_NPARAMS. */
static spmv_param_id partner_of(spmv_param_id id) {
    return params[id].values.pair ? (spmv_param_id)(id + 1) : SPMV_NPARAMS;
}

/* Says whether the value was given as 32xR. */
static bool is_warp_rows(spmv_param_id id, int64_t value) {
    return params[id].values.warps && value >= BLOCK_WARP_ROWS;
}

/* Says whether a value of an option is for this kernel: 32xR is for kernels with one warp per row,
 * other values are for all kernels that can take them. */
static bool accepts(const spmv_kernel *kernel, const spmv_param *p, int64_t value) {
    if (is_warp_rows(p->id, value)) {
        if (!(kernel->traits & SPMV_WARP_ROW)) return false;
        value -= BLOCK_WARP_ROWS;
    }
    return spmv_param_takes(p, value);
}

bool same_configuration(const cell *a, const cell *b) {
    if (a->kernel.backend != b->kernel.backend || a->kernel.index != b->kernel.index ||
        a->precision != b->precision || a->vectors != b->vectors || a->layout != b->layout ||
        a->threads != b->threads || a->nsettings != b->nsettings)
        return false;
    for (int s = 0; s < a->nsettings; s++)
        if (strcmp(a->setting[s].name, b->setting[s].name) != 0 ||
            a->setting[s].value != b->setting[s].value)
            return false;
    return true;
}

bool same_conditions(const cell *a, const cell *b) {
    return a->precision == b->precision && a->cache == b->cache && a->vectors == b->vectors &&
           a->layout == b->layout && a->threads == b->threads && a->ranks == b->ranks;
}

void cell_label(const cell *c, char *out, size_t size) {
    bool usual = c->cache == SPMV_WARM;
    char vectors[64] = "", threads[32] = "", ranks[32] = "";
    if (c->vectors > 1)
        snprintf(vectors, sizeof vectors, " --vectors=%lld --layout=%s", (long long)c->vectors,
                 layout_names[c->layout - SPMV_COLUMNS]);
    if (c->threads) snprintf(threads, sizeof threads, " --threads=%d", c->threads);
    if (c->ranks > 1) snprintf(ranks, sizeof ranks, " --ranks=%d", c->ranks);
    int n = snprintf(out, size, "%s:%s%s%s%s%s%s%s", c->kernel.backend->name,
                     descriptor(c->kernel)->name, c->precision == SPMV_F32 ? " f32" : "",
                     usual ? "" : " ", usual ? "" : cache_names[c->cache], vectors, threads, ranks);
    if (n > 0 && (size_t)n < size)
        settings_flags(c->setting, c->nsettings, out + n, size - (size_t)n);
}

/* Two options can mean one configuration: 256 and 32x8, or grids that differ only in columns a
 * kernel has none of. */
spmv_status add_cell(session *r, const cell *c) {
    for (int k = 0; k < r->ncells; k++)
        if (r->cell[k].cache == c->cache && same_configuration(&r->cell[k], c)) return SPMV_OK;
    cell *grown = realloc(r->cell, (size_t)(r->ncells + 1) * sizeof *grown);
    if (!grown) return SPMV_E_NOMEM;
    r->cell = grown;
    r->cell[r->ncells++] = *c;
    return SPMV_OK;
}

/* One after the other, so that they can share a plan. */
static spmv_status add_states(session *r, cell c) {
    for (int k = 0; k < r->o->caches.count; k++) {
        c.cache = (spmv_cache)r->o->caches.value[k];
        TRY(add_cell(r, &c));
    }
    return SPMV_OK;
}

/* Every combination of the parameters from id on. */
static spmv_status expand(session *r, spmv_param_id id, const cell *c) {
    if (id == SPMV_NPARAMS) return add_states(r, *c);
    const spmv_kernel *kernel = descriptor(c->kernel);
    const spmv_param *p = spmv_param_of(kernel, id);
    const list *values = &r->o->param[id];
    spmv_param_id partner = partner_of(id),
                  next_id = (spmv_param_id)(partner == SPMV_NPARAMS ? id + 1 : partner + 1);
    for (int v = 0; p && v < values->count; v++) {
        if (!accepts(kernel, p, values->value[v])) continue;
        cell next = *c;
        int64_t value =
            values->value[v] - (is_warp_rows(id, values->value[v]) ? BLOCK_WARP_ROWS : 0);
        next.setting[next.nsettings++] = (spmv_setting){params[id].name, value};
        if (partner != SPMV_NPARAMS && spmv_param_of(kernel, partner))
            next.setting[next.nsettings++] =
                (spmv_setting){params[partner].name, r->o->param[partner].value[v]};
        TRY(expand(r, next_id, &next));
    }
    return p && values->count ? SPMV_OK
                              : expand(r, next_id, c); /* no value fits: this kernel has no row */
}

/* A single vector has no layout. */
static spmv_status expand_vectors(session *r, cell c) {
    for (int k = 0; k < r->o->vectors.count; k++)
        for (int l = 0; l < r->o->layout.count; l++) {
            c.vectors = r->o->vectors.value[k];
            c.layout = c.vectors > 1 ? (spmv_layout)r->o->layout.value[l] : SPMV_COLUMNS;
            TRY(expand(r, (spmv_param_id)0, &c));
        }
    return SPMV_OK;
}

/* The smallest number of threads stands for a kernel that has one, the largest for those of a GPU.
 * The machine may have fewer than were asked for. */
static bool takes_threads(const session *r, const cell *c, int v) {
    const list *all = &r->o->threads;
    const bool serial = descriptor(c->kernel)->traits & SPMV_SERIAL;
    int64_t least = all->value[0];
    for (int k = 0; k < all->count; k++)
        if (all->value[k] < least) least = all->value[k];
    if (!c->kernel.backend->host) return all->value[v] == most_threads(r->o);
    return !serial || all->value[v] == least;
}

/* Every number of threads, if there are several. */
static spmv_status expand_threads(session *r, cell c) {
    const list *all = &r->o->threads;
    const int most = spmv_ctx_threads(r->ctx);
    if (all->count < 2) return expand_vectors(r, c);
    for (int v = 0; v < all->count; v++) {
        if (!takes_threads(r, &c, v)) continue;
        c.threads = all->value[v] < most ? (int)all->value[v] : most;
        TRY(expand_vectors(r, c));
    }
    return SPMV_OK;
}

static int refuse(const char *format, const char *a, const char *b) {
    char what[512];
    snprintf(what, sizeof what, format, a, b);
    return complain(SPMV_E_ARG, what);
}

/* Says whether some cell has the value. A kernel that its options do not fit has no cell. */
static bool is_used(const session *r, spmv_param_id id, int64_t value) {
    bool warp_rows = is_warp_rows(id, value);
    if (warp_rows) value -= BLOCK_WARP_ROWS;
    for (int k = 0; k < r->ncells; k++) {
        const cell *c = &r->cell[k];
        if (warp_rows && !(descriptor(c->kernel)->traits & SPMV_WARP_ROW)) continue;
        for (int s = 0; s < c->nsettings; s++)
            if (c->setting[s].value == value && strcmp(c->setting[s].name, params[id].name) == 0)
                return true;
    }
    return false;
}

static bool takes(const spmv_backend *backend, spmv_param_id id) {
    for (int k = 0; backend->kernels && k < backend->nkernels; k++)
        if (spmv_param_of(backend->kernels[k][0], id)) return true;
    return false;
}

/* A parameter that none of the chosen kernels has: of another backend, if none here has it. */
static int refuse_foreign(const session *r, spmv_param_id id) {
    char what[512], why[256] = "";
    const char *option = params[id].option;
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        if (takes(r->backend, id) || *b == r->backend || ((*b)->kernels && !takes(*b, id)))
            continue;
        if (!(*b)->kernels)
            return refuse("--%s belongs to kernels of CUDA, which is not built in: %s", option,
                          (*b)->hint);
        if (!machine_has(r, *b, why, sizeof why)) {
            snprintf(what, sizeof what, "--%s belongs to kernels of %s: %s", option, (*b)->name,
                     why);
            return complain(SPMV_E_BACKEND, what);
        }
        return refuse("--%s belongs to kernels of %s, which a prefix names: -k cuda:NAME", option,
                      (*b)->name);
    }
    return refuse("--%s applies to none of the chosen kernels; 'spmv list -v -k NAME' "
                  "shows what one takes%s",
                  option, "");
}

/* A value that no kernel takes: out of range, if it is a number and one of them has the option. */
static int refuse_value(const session *r, const spmv_kernel_id *kernels, int n, spmv_param_id id,
                        int64_t value) {
    char range[256], step[48] = "";
    const spmv_kernel *kernel = NULL;
    const spmv_param *p = NULL;
    for (int k = 0; k < n && !p; k++) {
        kernel = descriptor(kernels[k]);
        p = spmv_param_of(kernel, id);
        if (p && accepts(kernel, p, value)) p = NULL;
    }
    if (n == 1 && kernels[0].index == SPMV_AUTO)
        return refuse("--%s: auto chooses the kernel and its parameters; -k with the kernel's name "
                      "sets one of them%s",
                      params[id].option, "");
    if (!p) return refuse_foreign(r, id);
    if (param_typed(params[id].name, p->max) || is_warp_rows(id, value))
        return refuse("--%s applies to none of the chosen kernels; 'spmv list -v -k NAME' "
                      "shows what one takes%s",
                      params[id].option, "");
    const char *word = param_typed(params[id].name, p->min); /* which stands for the least number */
    if (p->power_of_two)
        snprintf(step, sizeof step, ", a power of 2");
    else if (p->multiple > 1)
        snprintf(step, sizeof step, ", a multiple of %lld", (long long)p->multiple);
    const char *typed = param_typed(params[id].name, value);
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    snprintf(range, sizeof range, "'%s' is invalid; %s takes %s%s%lld to %lld%s",
             typed ? typed : digits, kernel->name, word ? word : "", word ? " or " : "",
             (long long)p->min + (word != NULL), (long long)p->max, step);
    return refuse("--%s: %s", params[id].option, range);
}

/* Refuses a value that no chosen kernel takes. */
static int check_uses(const session *r, const spmv_kernel_id *kernels, int n) {
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const list *values = &r->o->param[id];
        if (params[id].values.second) continue;
        for (int v = 0; v < values->count; v++)
            if (!is_used(r, (spmv_param_id)id, values->value[v]))
                return refuse_value(r, kernels, n, (spmv_param_id)id, values->value[v]);
    }
    return 0;
}

/* The first paper's kernels of the default backend are those of these formats with a short name. */
static bool is_first_papers(const session *r, spmv_kernel_id id) {
    if (id.backend != r->backend) return false;
    static const char *const formats[] = {"csr", "csr_columns", "ell", "ell_pitched"};
    const spmv_kernel *kernel = descriptor(id);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(kernel->format, formats[k]) == 0) return kernel->alias != NULL;
    return false;
}

static bool is_known(const spmv_kernel_id *found, int count, spmv_kernel_id id) {
    int k = 0;
    while (k < count && (found[k].backend != id.backend || found[k].index != id.index)) k++;
    return k < count;
}

static int refuse_missing(const char *group) {
    char what[128];
    snprintf(what, sizeof what, "-k %s: this machine can run none of them", group);
    return complain(SPMV_E_BACKEND, what);
}

/* Finds the kernels that were asked for, in that order, each once; without -k auto, and the first
 * paper's. */
static int find_kernels(session *r, spmv_kernel_id *found, int *count) {
    const char *asked = r->o->kernels;
    char *copy = strdup(asked ? asked : "auto,papers"), *rest = copy;
    int code = copy ? 0 : complain(SPMV_E_NOMEM, NULL);
    *count = 0;
    for (char *name; !code && (name = strsep(&rest, ","));) {
        spmv_kernel_id match[SPMV_ALL_KERNELS];
        int n = 0;
        spmv_status status = spmv_kernel_find(r->ctx, name, match, SPMV_ALL_KERNELS, &n);
        if (status != SPMV_OK) code = complain(status, spmv_ctx_error(r->ctx));
        if (!code && asked && spmv_kernel_is_group(name)) {
            n = keep_usable(r, name, match, n < SPMV_ALL_KERNELS ? n : SPMV_ALL_KERNELS);
            if (!n) code = refuse_missing(name);
        }
        for (int k = 0; !code && k < n && *count < SPMV_ALL_KERNELS; k++) {
            const bool wanted =
                asked || match[k].index == SPMV_AUTO || is_first_papers(r, match[k]);
            if (wanted && !is_known(found, *count, match[k])) found[(*count)++] = match[k];
        }
    }
    free(copy);
    return code;
}

static bool fits_f32(double value) {
    return value == 0 || (fabs(value) >= FLT_MIN && fabs(value) <= FLT_MAX);
}

sampling sampling_in(const options *o, spmv_cache cache) {
    sampling how = o->sampling;
    how.cache = cache;
    if (!how.min_samples) how.min_samples = cache == SPMV_COLD ? 30 : 10; /* one product each */
    return how;
}

int choose_cells(session *r) {
    spmv_kernel_id kernels[SPMV_ALL_KERNELS];
    int nkernels, code = find_kernels(r, kernels, &nkernels);
    int64_t f64 = SPMV_F64;
    list precisions = r->o->precision.count ? r->o->precision : (list){1, &f64};
    if (code) return code;
    for (int k = 0; k < nkernels; k++)
        for (int p = 0; p < precisions.count; p++) {
            cell c = {.kernel = kernels[k], .precision = (spmv_precision)precisions.value[p]};
            spmv_status status = expand_threads(r, c);
            if (status != SPMV_OK) return complain(status, NULL);
        }
    for (int p = 0; p < precisions.count; p++)
        if (precisions.value[p] == SPMV_F32 && !(fits_f32(r->o->alpha) && fits_f32(r->o->beta)))
            return refuse("--alpha or --beta is outside the range of f32%s%s", "", "");
    code = check_uses(r, kernels, nkernels);
    if (code) return code;
    bool automatic = false;
    for (int k = 0; k < r->ncells; k++) automatic |= r->cell[k].kernel.index == SPMV_AUTO;
    if (!automatic && r->o->nondeterministic)
        return refuse("--repeat=none applies to -k auto only%s%s", "", "");
    return r->ncells ? 0 : refuse("no chosen kernel can run in this configuration%s%s", "", "");
}
