/* cells.c: which kernels in which configurations: the cross product of the lists on the command line, as far as a kernel
 * takes them. */
#include "session.h"
#include <stdlib.h>

typedef struct axis { /* a parameter and the values asked for, one option after the other */
    const char *option, *param;
    spmv_param_id id;
    const list *values;
} axis;
enum { NAXES = 6 };

static void axes_of(const options *o, axis out[NAXES]) {
    const axis all[NAXES] = {
        {"grid", "grid_rows", SPMV_grid_rows, &o->grid_rows}, {"block", "block", SPMV_block, &o->block},
        {"schedule", "schedule", SPMV_schedule, &o->schedule}, {"chunk", "chunk", SPMV_chunk, &o->chunk},
        {"simd", "simd", SPMV_simd, &o->simd}, {"rowlens", "rowlens", SPMV_rowlens, &o->rowlens}};
    memcpy(out, all, sizeof all);
}

/* A value of -b meant for this kernel? 32xR is for kernels with a warp a row; N for all that can take it. */
static bool accepts(const spmv_kernel *kernel, const spmv_param *p, int64_t value) {
    if (p->id == SPMV_block && value >= BLOCK_WARP_ROWS) {
        if (!(kernel->traits & SPMV_WARP_ROW)) return false;
        value -= BLOCK_WARP_ROWS;
    }
    return value >= p->min && value <= p->max && value % p->multiple == 0;
}

static bool same_cell(const cell *a, const cell *b) {
    if (a->kernel.backend != b->kernel.backend || a->kernel.index != b->kernel.index ||
        a->precision != b->precision || a->nsettings != b->nsettings)
        return false;
    for (int s = 0; s < a->nsettings; s++)
        if (strcmp(a->setting[s].name, b->setting[s].name) != 0 || a->setting[s].value != b->setting[s].value)
            return false;
    return true;
}

/* Two options can mean one configuration: 256 and 32x8, or grids that differ only in columns a kernel has none of. */
static spmv_status add_cell(session *r, const cell *c) {
    for (int k = 0; k < r->ncells; k++)
        if (same_cell(&r->cell[k], c)) return SPMV_OK;
    cell *grown = realloc(r->cell, (size_t)(r->ncells + 1) * sizeof *grown);
    if (!grown) return SPMV_E_NOMEM;
    r->cell = grown;
    r->cell[r->ncells++] = *c;
    return SPMV_OK;
}

/* Every combination of the axes from the n-th on. used[n]: some kernel could take a value of axis n. */
static spmv_status expand(session *r, const axis *axes, int n, cell *c, bool *used) {
    if (n == NAXES) return add_cell(r, c);
    const spmv_kernel *kernel = descriptor(c->kernel);
    const spmv_param *p = spmv_param_of(kernel, axes[n].id);
    bool taken = false;
    for (int v = 0; p && v < axes[n].values->count; v++) {
        int64_t value = axes[n].values->value[v];
        if (!accepts(kernel, p, value)) continue;
        taken = used[n] = true;
        cell next = *c;
        next.setting[next.nsettings++] = (spmv_setting){axes[n].param, value % BLOCK_WARP_ROWS};
        if (axes[n].id == SPMV_grid_rows && spmv_param_of(kernel, SPMV_grid_cols))
            next.setting[next.nsettings++] = (spmv_setting){"grid_cols", r->o->grid_cols.value[v]};
        TRY(expand(r, axes, n + 1, &next, used));
    }
    if (taken || (p && axes[n].values->count)) return SPMV_OK; /* no value fits: this kernel has no row */
    return expand(r, axes, n + 1, c, used);
}

static int usage_error(const char *format, const char *a, const char *b) {
    char what[512];
    snprintf(what, sizeof what, format, a, b);
    return complain(SPMV_E_ARG, what);
}

/* The names asked for, in their order, each once. */
static int find_kernels(session *r, spmv_kernel_id *found, int *count) {
    char *copy = strdup(r->o->kernels ? r->o->kernels : "all"), *rest = copy;
    *count = 0;
    if (!copy) return complain(SPMV_E_NOMEM, NULL);
    for (char *name; (name = strsep(&rest, ","));) {
        spmv_kernel_id match[MOST_KERNELS];
        int n = 0;
        spmv_status status = spmv_kernel_find(r->ctx, name, match, MOST_KERNELS, &n);
        if (status != SPMV_OK) {
            free(copy);
            return complain(status, spmv_ctx_error(r->ctx));
        }
        for (int k = 0; k < n && *count < MOST_KERNELS; k++) {
            bool known = !r->o->kernels && (match[k].backend != r->backend || !descriptor(match[k])->alias);
            for (int j = 0; j < *count && !known; j++)
                known = found[j].backend == match[k].backend && found[j].index == match[k].index;
            if (!known) found[(*count)++] = match[k];
        }
    }
    free(copy);
    return 0;
}

int choose_cells(session *r) {
    spmv_kernel_id kernels[MOST_KERNELS];
    int nkernels, code = find_kernels(r, kernels, &nkernels);
    axis axes[NAXES];
    bool used[NAXES] = {false};
    int64_t f64 = SPMV_F64;
    list precisions = r->o->precision.count ? r->o->precision : (list){1, &f64};
    if (code) return code;
    axes_of(r->o, axes);
    for (int k = 0; k < nkernels; k++)
        for (int p = 0; p < precisions.count; p++) {
            cell c = {.kernel = kernels[k], .precision = (spmv_precision)precisions.value[p]};
            spmv_status status = expand(r, axes, 0, &c, used);
            if (status != SPMV_OK) return complain(status, NULL);
        }
    for (int n = 0; n < NAXES; n++)
        if (axes[n].values->count && !used[n])
            return usage_error("--%s: no chosen kernel can use that; 'spmv list kernels -v' shows what each takes%s",
                               axes[n].option, "");
    return r->ncells ? 0 : usage_error("no kernel can run in that configuration%s%s", "", "");
}

