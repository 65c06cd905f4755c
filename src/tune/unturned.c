/* unturned.c: "auto" for few products by the transpose: a kernel that multiplies by A' with the CSR
 * of A, because transposing takes longer than these products. */
#include "host/context.h"
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "tune.h"
#include <stdio.h>
#include <stdlib.h>

/* In products of one vector by a transposed CSR, on two cores, over 18 matrices: transposing costs
 * 7 to 20; not transposing adds 0.05 to 0.6 to each product, 0.35 in the mean, and more for several
 * vectors, which are then multiplied one by one. Private copies of y cost more (`apart`). */
static const double turning = 12, more = 0.35, more_of_several = 1;

static const spmv_kernel *kernel_of(const spmv_backend *backend, const char **name) {
    for (int k = 0; k < backend->nkernels; k++) {
        const spmv_kernel *kernel = backend->kernels[k][0];
        *name = backend->names[k];
        if (kernel->traits & SPMV_TRANSPOSES && !(kernel->traits & SPMV_PEER)) return kernel;
    }
    return NULL;
}

/* Returns whether transposing would take longer. apart: bytes of the threads' private copies of y
 * over bytes of the matrix. */
static bool pays(const spmv_plan_opts *opts, double apart) {
    const double k = opts->vectors > 1 ? (double)opts->vectors : 1;
    const double each = (k > 1 ? more_of_several : more) + apart;
    return opts->expected_calls > 0 && k * each * (double)opts->expected_calls < turning;
}

static bool is_turned(const spmv_mat *mat) {
    return mat->transpose && mat->transpose->nplans > 0;
}

static spmv_status explain(spmv_plan *plan, const spmv_plan_opts *opts) {
    plan->tuning = calloc(1, sizeof *plan->tuning);
    if (!plan->tuning) return SPMV_E_NOMEM;
    snprintf(plan->tuning->reason, sizeof plan->tuning->reason,
             "%s: %lld product%s with the rows as they are end%s sooner than the transpose is made",
             plan->kernel->name, (long long)opts->expected_calls,
             opts->expected_calls == 1 ? "" : "s", opts->expected_calls == 1 ? "s" : "");
    return SPMV_OK;
}

static bool make(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                 const char *name, spmv_plan **out) {
    char full[64];
    spmv_plan_opts own = *opts;
    snprintf(full, sizeof full, "%s:%s", backend->name, name);
    own.kernel = full;
    own.op = SPMV_TRANSPOSE;
    if (spmv_plan_make(mat, &own, true, out) != SPMV_OK) return false;
    const double bytes = (double)spmv_store_bytes((*out)->host);
    if (pays(opts, (double)(*out)->scratch_bytes / (bytes + 1)) && explain(*out, opts) == SPMV_OK)
        return true;
    spmv_plan_free(*out);
    *out = NULL;
    return false;
}

bool spmv_auto_unturned(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                        spmv_plan **out) {
    const char *name;
    char before[sizeof mat->ctx->error];
    *out = NULL;
    if (!backend->host || opts->nsettings || is_turned(mat) || !pays(opts, 0)) return false;
    if (!kernel_of(backend, &name)) return false;
    snprintf(before, sizeof before, "%s", mat->ctx->error);
    const bool is_made = make(mat, opts, backend, name, out);
    snprintf(mat->ctx->error, sizeof mat->ctx->error, "%s", before);
    return is_made;
}
