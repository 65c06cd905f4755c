/* batch.c: times many products with one clock reading: as one recorded graph if launches cost host
 * time, otherwise in a loop. */
#include "host/context.h"
#include "matrix/stores/stored.h"
#include "plan/plan.h"
#include "plan/product.h"
#include "spmv_environment.h"
#include <stdio.h>
#include <stdlib.h>

struct spmv_batch {
    spmv_device *device;
    spmv_product *product; /* [nproducts] */
    int nproducts, launches;
    double alpha, beta;
    void *recording; /* NULL: loop */
    char how[256];
};

static spmv_operands operands_of(const spmv_product *p, double alpha, double beta) {
    spmv_operands v = spmv_in_place(p->plan, alpha, p->x, beta, p->y);
    v.k = p->k > 0 ? p->k : 1;
    v.layout = p->layout ? p->layout : p->plan->layout;
    if (v.layout == SPMV_ROWS) v.ldx = v.ldy = v.ldz = v.k;
    return v;
}

static spmv_status check_product(const spmv_product *p, const spmv_operands *v, const char *call) {
    spmv_ctx *ctx = p->plan->device->ctx;
    const int64_t longest = p->plan->rows > p->plan->cols ? p->plan->rows : p->plan->cols;
    const int64_t most = INT64_MAX / (int64_t)spmv_plan_width(p->plan);
    if (p->k < 0)
        return spmv_fail(ctx, SPMV_E_ARG, "%s: k is %lld, must be 0 or more", call,
                         (long long)p->k);
    if (longest > 0 && p->k > most / longest)
        return spmv_fail(ctx, SPMV_E_ARG, "%s: k is %lld: more than memory can have", call,
                         (long long)p->k);
    TRY(spmv_check_layout(ctx, "spmv_product", p->layout));
    return spmv_product_check(p->plan, call, "y", v);
}

/* Runs `count` products while the plan is claimed once. count = 0: only allocates. */
static spmv_status launch(const spmv_batch *b, const spmv_product *p, int count, const char *call) {
    spmv_operands v = operands_of(p, b->alpha, b->beta);
    spmv_status status = SPMV_OK;
    TRY(spmv_product_claim(p->plan, call, &v));
    for (int n = 0; status == SPMV_OK && n < count; n++) status = spmv_product_run(p->plan, &v);
    spmv_product_unclaim(p->plan, &v);
    return status;
}

static spmv_status launch_all(const spmv_batch *b, const char *call) {
    if (b->nproducts == 1) return launch(b, b->product, b->launches, call);
    for (int k = 0; k < b->launches; k++) TRY(launch(b, &b->product[k % b->nproducts], 1, call));
    return SPMV_OK;
}

/* Runs each plan's preparation before recording, because nothing can be allocated during it. */
static spmv_status start_recording(const spmv_batch *b, const char *call) {
    for (int k = 0; k < b->nproducts; k++) TRY(launch(b, &b->product[k], 0, call));
    return b->device->backend->record_start(b->device);
}

/* Falls back to a loop if a kernel cannot be recorded (it waits or allocates); b->how says why. */
static void record(spmv_batch *b, const char *call) {
    const spmv_backend *backend = b->device->backend;
    snprintf(b->how, sizeof b->how, "loop");
    if (!backend->record_start || b->launches < 2) return;
    spmv_status status = start_recording(b, call);
    if (status == SPMV_OK) {
        spmv_status launched = launch_all(b, call);
        char why[200];
        snprintf(why, sizeof why, "%s", spmv_ctx_error(b->device->ctx));
        status = backend->record_stop(b->device, &b->recording);
        if (launched != SPMV_OK) {
            status = launched;
            spmv_fail(b->device->ctx, status, "%s", why);
        }
    }
    if (status == SPMV_OK) {
        snprintf(b->how, sizeof b->how, "graph");
        return;
    }
    backend->forget(b->device, b->recording);
    b->recording = NULL;
    snprintf(b->how, sizeof b->how, "loop: %.200s", spmv_ctx_error(b->device->ctx));
}

static spmv_status check(const spmv_batch *b, const char *call) {
    for (int k = 0; k < b->nproducts; k++) {
        const spmv_product *p = &b->product[k];
        /* A context has one device per backend, but a plan with fewer threads has a copy of it. */
        if (!p->plan || p->plan->device->ctx != b->device->ctx ||
            p->plan->device->backend != b->device->backend)
            return spmv_fail(b->device->ctx, SPMV_E_ARG, "%s: the plan of product %d is %s", call,
                             k, p->plan ? "of another device" : "NULL");
        const spmv_operands v = operands_of(p, b->alpha, b->beta);
        TRY(check_product(p, &v, call));
    }
    return SPMV_OK;
}

spmv_status spmv_batch_create(const spmv_product *products, int nproducts, int launches,
                              double alpha, double beta, spmv_batch **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(NULL, out);
    *out = NULL;
    GIVEN(NULL, products);
    GIVEN(NULL, products->plan);
    spmv_device *device = products->plan->device;
    if (nproducts < 1 || launches < 1)
        return spmv_fail(device->ctx, SPMV_E_ARG,
                         "%s: %d launches of %d products, both must be 1 or more", __func__,
                         launches, nproducts);
    spmv_batch *b = calloc(1, sizeof *b);
    if (!b) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory");
    *b = (spmv_batch){.device = device,
                      .product = malloc((size_t)nproducts * sizeof *b->product),
                      .nproducts = nproducts,
                      .launches = launches,
                      .alpha = alpha,
                      .beta = beta};
    if (!b->product) {
        free(b);
        return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory");
    }
    memcpy(b->product, products, (size_t)nproducts * sizeof *b->product);
    spmv_status status = check(b, __func__);
    if (status == SPMV_OK) {
        record(b, __func__);
        *out = b;
    } else {
        spmv_batch_free(b);
    }
    return status;
}

spmv_status spmv_batch_time(const spmv_batch *b, double *seconds) {
    GIVEN(b ? b->device->ctx : NULL, seconds);
    *seconds = 0;
    GIVEN(NULL, b);
    TRY(check(b, __func__));
    const spmv_backend *backend = b->device->backend;
    TRY(backend->tick(b->device));
    if (b->recording)
        TRY(backend->replay(b->device, b->recording));
    else
        TRY(launch_all(b, __func__));
    return backend->tock(b->device, seconds);
}

const char *spmv_batch_how(const spmv_batch *b) {
    return b ? b->how : NULL;
}

void spmv_batch_free(spmv_batch *b) {
    if (!b) return;
    if (b->recording) b->device->backend->forget(b->device, b->recording);
    free(b->product);
    free(b);
}

static spmv_status run_timed(const spmv_plan *plan, int count, const spmv_operands *v,
                             double *seconds) {
    spmv_device *device = plan->device;
    TRY(device->backend->tick(device));
    for (int n = 0; n < count; n++) TRY(spmv_product_run(plan, v));
    return device->backend->tock(device, seconds);
}

spmv_status spmv_exec_timed(const spmv_product *product, int count, double alpha, double beta,
                            double *seconds) {
    const spmv_plan *plan = product ? product->plan : NULL;
    GIVEN(plan ? plan->device->ctx : NULL, seconds);
    *seconds = 0;
    GIVEN(NULL, product);
    GIVEN(NULL, plan);
    if (count < 1)
        return spmv_fail(plan->device->ctx, SPMV_E_ARG, "%s: count is %d, must be 1 or more",
                         __func__, count);
    spmv_operands v = operands_of(product, alpha, beta);
    TRY(check_product(product, &v, __func__));
    TRY(spmv_product_claim(plan, __func__, &v));
    spmv_status status = run_timed(plan, count, &v, seconds);
    spmv_product_unclaim(plan, &v);
    return status;
}

spmv_status spmv_plan_time_nothing(const spmv_plan *plan, double *seconds) {
    GIVEN(plan ? plan->device->ctx : NULL, seconds);
    *seconds = 0;
    GIVEN(NULL, plan);
    spmv_device *device = plan->device;
    TRY(device->backend->tick(device));
    TRY(device->backend->nothing(device));
    return device->backend->tock(device, seconds);
}
