/* warm_up.c: the first-use warm-up of a kernel on a GPU. The first use loads the kernel's code or
 * starts a library, which takes as long as dozens of products. Therefore "auto" first builds and
 * runs each candidate on a matrix of a few rows with the same mean length, and on one of short
 * rows, because a kernel may treat long rows differently. once_s has the time. */
#include "spmv_clock.h"
#include "host/context.h"
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "sampler.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 128, LONGEST = 256, SHORT = 8 }; /* number of rows; most and few entries per row */

typedef struct rows {
    int64_t row_ptr[ROWS + 1];
    int32_t col_idx[ROWS * LONGEST];
    double values[ROWS * LONGEST];
} rows;

/* Makes a band matrix with rows of about the mean length, for the same code path. */
static spmv_status make_small(spmv_ctx *ctx, double mean, spmv_mat **out) {
    const int64_t length = mean < 1 ? 1 : mean > LONGEST ? LONGEST : (int64_t)mean;
    rows *r = malloc(sizeof *r);
    if (!r) return SPMV_E_NOMEM;
    for (int64_t i = 0; i <= ROWS; i++) r->row_ptr[i] = i * length;
    for (int64_t k = 0; k < ROWS * length; k++) {
        r->col_idx[k] = (int32_t)(k / length + k % length);
        r->values[k] = 1 / (double)(k + 3);
    }
    const spmv_csr_view A = {.size = sizeof A,
                             .rows = ROWS,
                             .cols = ROWS + length,
                             .nnz = ROWS * length,
                             .row_ptr = r->row_ptr,
                             .col_idx = r->col_idx,
                             .values = r->values};
    spmv_status status = spmv_mat_csr(ctx, &A, out);
    free(r);
    return status;
}

static spmv_status use(const spmv_plan *plan) {
    enum { LAUNCHES = 2 };
    static const double zeros[ROWS + LONGEST];
    problem p = {
        .plan = plan, .rows = ROWS, .cols = ROWS + LONGEST, .alpha = 1, .x = zeros, .y0 = zeros};
    timing t = {.nsamples = 0};
    double seconds;
    spmv_status status = problem_open(&p);
    if (status == SPMV_OK) status = problem_single(&p, &seconds);
    /* the first recording is slow, too */
    if (status == SPMV_OK) status = problem_batch(&p, &t, LAUNCHES);
    if (status == SPMV_OK) status = problem_sample(&p, &t);
    problem_close(&p);
    free(t.sample_s);
    return status;
}

static void use_small(const spmv_mat *mat, double mean, const spmv_plan_opts *opts) {
    spmv_mat *few = NULL;
    spmv_plan *plan = NULL;
    if (make_small(mat->ctx, mean, &few) == SPMV_OK &&
        spmv_plan_make(few, opts, false, &plan) == SPMV_OK)
        use(plan);
    spmv_plan_free(plan);
    spmv_mat_put_away(few);
}

/* Returns whether the kernel was not warmed up before; marks it as warmed up. */
static bool is_new(spmv_ctx *ctx, const spmv_backend *backend, const char *kernel, int variant) {
    int b = 0, k = 0;
    while (spmv_backends[b] != backend) b++;
    while (k < backend->nkernels && strcmp(backend->names[k], kernel) != 0) k++;
    if (k == backend->nkernels) return false;
    uint64_t *done = &ctx->warmed_up[b][variant], bit = (uint64_t)1 << k;
    _Static_assert(SPMV_MOST_KERNELS <= 8 * sizeof bit, "each kernel has a bit of its own");
    const bool was = *done & bit;
    *done |= bit;
    return !was;
}

double spmv_warm_up(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                    const char *kernel) {
    double start = spmv_now();
    spmv_ctx *ctx = mat->ctx;
    spmv_plan_opts small = *opts;
    char before[sizeof ctx->error];
    int variant;
    if (backend->host) return 0;
    snprintf(before, sizeof before, "%s", ctx->error);
    if (spmv_plan_variant(mat, opts, &variant) != SPMV_OK || !is_new(ctx, backend, kernel, variant))
        return 0;
    small.offset_bits = variant == SPMV_F64_O64 || variant == SPMV_F32_O64 ? 64 : 32;
    small.max_bytes = 0;
    use_small(mat, mat->stats.row_mean, &small);
    if (mat->stats.row_mean > SHORT) use_small(mat, SHORT, &small);
    snprintf(ctx->error, sizeof ctx->error, "%s", before);
    return spmv_now() - start;
}
