/* candidates.c: builds the plan of a proposed kernel as a candidate, and frees the stores of
 * candidates that were not chosen. */
#include "spmv_clock.h"
#include "matrix/matrix.h"
#include "matrix/stores/stored.h"
#include "plan/plan.h"
#include "trials.h"
#include <stdio.h>

static const spmv_kernel *kernel_named(const spmv_backend *backend, const char *name) {
    for (int k = 0; k < backend->nkernels; k++)
        if (strcmp(backend->names[k], name) == 0) return backend->kernels[k][0];
    return NULL;
}

bool spmv_candidate_is_allowed(const trials *c, const spmv_proposal *p) {
    const spmv_kernel *kernel = kernel_named(c->backend, p->kernel);
    return kernel && !kernel->absent &&
           (kernel->traits & SPMV_DETERMINISTIC || c->opts->nondeterministic) &&
           (!c->opts->reproducible || spmv_repeats(c->backend, kernel));
}

/* Returns whether the plan multiplies padding: padding times an infinite x would be NaN. */
static bool multiplies_padding(const spmv_plan *plan) {
    return plan->kernel->traits & SPMV_PADS && plan->choice.value[SPMV_rowlens] != 1 &&
           plan->host->slots != plan->host->nnz;
}

spmv_plan_opts spmv_candidate_opts(const trials *c, candidate *e, int threads) {
    spmv_plan_opts opts = *c->opts;
    snprintf(e->name, sizeof e->name, "%s:%s", c->backend->name, e->proposal->kernel);
    opts.kernel = e->name;
    opts.settings = e->proposal->setting;
    opts.nsettings = e->proposal->nsettings;
    if (threads) opts.threads = threads;
    return opts;
}

bool spmv_candidate_admit(trials *c, const spmv_proposal *p, spmv_status *status) {
    candidate *e = &c->entry[c->n];
    *e = (candidate){.proposal = p};
    const spmv_plan_opts opts = spmv_candidate_opts(c, e, p->threads);
    if (c->is_timed) c->once_s += spmv_warm_up(c->mat, &opts, c->backend, p->kernel);
    double start = spmv_now();
    *status = spmv_plan_make(c->mat, &opts, c->n > 0, &e->plan);
    if (*status == SPMV_OK) {
        c->once_s += e->plan->once_s;
        if (c->n == 0) c->unpaid_s += spmv_plan_sent_since(e->plan, start);
    }
    if (*status == SPMV_OK && !multiplies_padding(e->plan)) {
        c->n++;
        return true;
    }
    spmv_trials_note(c, "passed over", p,
                     *status == SPMV_OK ? "it pads" : spmv_ctx_error(c->mat->ctx));
    spmv_plan_free(e->plan);
    return false;
}

void spmv_candidate_drop_others(spmv_mat *mat, const spmv_stored *before, const spmv_store *keep) {
    for (spmv_stored **at = &mat->stores; *at && *at != before;)
        if ((*at)->host == keep)
            at = &(*at)->next;
        else
            spmv_stored_drop(mat->ctx, at);
}
