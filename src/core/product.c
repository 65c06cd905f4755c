/* product.c: the one door through which every product runs: of callers, samples and trials. */
#include "product.h"

static inline bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* What is wrong with x and the vector that is written, which the call names: off the path of a
 * product. An empty vector may lie anywhere. */
static spmv_status refuse(const spmv_plan *plan, const char *call, const char *written,
                          const spmv_operands *v) {
    spmv_ctx *ctx = plan->device->ctx;
    if (plan->matrix->freed)
        return spmv_fail(ctx, SPMV_E_ARG, "%s: the plan's matrix was freed", call);
    if ((!v->x && plan->cols > 0) || (!v->z && plan->rows > 0))
        return spmv_fail(ctx, SPMV_E_ARG, "%s: %s is NULL", call, v->x ? written : "x");
    if (plan->cols == 0 || plan->rows == 0) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%s: %s, %lld numbers at %p, overlaps x, %lld at %p", call,
                     written, (long long)plan->rows, v->z, (long long)plan->cols, v->x);
}

spmv_status spmv_product_check(const spmv_plan *plan, const char *call, const char *written,
                               const spmv_operands *v) {
    const size_t width = spmv_plan_width(plan);
    bool meet = overlap(v->x, (size_t)plan->cols * width, v->z, (size_t)plan->rows * width);
    return plan->matrix->freed || !v->x || !v->z || meet ? refuse(plan, call, written, v) : SPMV_OK;
}

/* Says that a product of the plan runs. Callers see a const plan, but it was allocated as a mutable
 * object, so the cast is valid. */
spmv_status spmv_product_claim(const spmv_plan *plan, const char *call) {
    spmv_device *device = plan->device;
    if (device->backend->enter) TRY(device->backend->enter(device));
    /* The child has only the word of a product that a parent process had begun at a fork(). */
    const int here = 1 + spmv_host_forks();
    if (plan->concurrent ||
        __atomic_exchange_n(&((spmv_plan *)(uintptr_t)plan)->busy, here, __ATOMIC_ACQUIRE) != here)
        return SPMV_OK;
    return spmv_fail(device->ctx, SPMV_E_ARG,
                     "%s: the plan multiplies in another thread, and %s keeps structures in it: "
                     "make a plan for each thread",
                     call, plan->kernel->name);
}

void spmv_product_unclaim(const spmv_plan *plan) {
    if (!plan->concurrent)
        __atomic_store_n(&((spmv_plan *)(uintptr_t)plan)->busy, 0, __ATOMIC_RELEASE);
}

/* A host's kernels add to what lies where they write: so y is copied there. */
static void bring_y(const spmv_plan *plan, spmv_operands *v) {
    const size_t bytes = (size_t)plan->rows * spmv_plan_width(plan);
    const int threads = plan->device->threads;
    if (v->y == v->z || !plan->device->backend->host || bytes == 0) return;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        size_t begin = (size_t)spmv_split((int64_t)bytes, threads, t);
        size_t end = (size_t)spmv_split((int64_t)bytes, threads, t + 1);
        memcpy((char *)v->z + begin, (const char *)v->y + begin, end - begin);
    }
    v->y = v->z;
}

spmv_status spmv_product_run(const spmv_plan *plan, const spmv_operands *v) {
    spmv_operands own = *v;
    bring_y(plan, &own);
    return plan->kernel->run(plan, &own);
}

/* waits: for the end of the product. A host's has ended then in any case; its sync waits for
 * nothing, but looks whether other processes use the cores. */
static spmv_status launch(const spmv_plan *plan, const char *call, const spmv_operands *v,
                          bool waits) {
    const spmv_backend *backend = plan->device->backend;
    TRY(spmv_product_claim(plan, call));
    spmv_status status = spmv_product_run(plan, v);
    if (status == SPMV_OK && (waits || backend->host)) status = backend->sync(plan->device);
    spmv_product_unclaim(plan);
    return status;
}

spmv_status spmv_exec(const spmv_plan *plan, double alpha, const void *x, double beta, void *y) {
    GIVEN(NULL, plan);
    spmv_operands v = spmv_in_place(plan, alpha, x, beta, y);
    TRY(spmv_product_check(plan, __func__, "y", &v));
    return launch(plan, __func__, &v, true);
}

spmv_status spmv_exec_async(const spmv_plan *plan, double alpha, const void *x, double beta,
                            void *y, void *stream) {
    GIVEN(NULL, plan);
    spmv_operands v = spmv_in_place(plan, alpha, x, beta, y);
    v.stream = stream;
    TRY(spmv_product_check(plan, __func__, "y", &v));
    return launch(plan, __func__, &v, false);
}

/* A scalar in host memory; NULL: what it is then. */
static double number_at(const spmv_plan *plan, const void *at, double otherwise) {
    if (!at) return otherwise;
    return spmv_plan_is_f32(plan) ? *(const float *)at : *(const double *)at;
}

/* On a GPU scalars of the device stay there. Where beta is known to be 0 there is no y. */
static spmv_operands operands_of(const spmv_plan *plan, const spmv_call *call, void *stream) {
    spmv_operands v = {.alpha = 1, .x = call->x, .y = call->z, .z = call->z, .stream = stream};
    if (plan->one_zero && (call->alpha || call->beta)) {
        v.alpha_at = call->alpha ? call->alpha : plan->one_zero;
        v.beta_at = call->beta ? call->beta : (const char *)plan->one_zero + spmv_plan_width(plan);
    } else {
        v.alpha = number_at(plan, call->alpha, 1);
        v.beta = number_at(plan, call->beta, 0);
    }
    if (call->beta && (v.beta_at || v.beta != 0)) v.y = call->y;
    return v;
}

/* On a GPU they are read while z is written. */
static spmv_status check_scalars(const spmv_plan *plan, const spmv_call *call, size_t z_bytes) {
    const void *const scalar[] = {call->alpha, call->beta};
    static const char *const name[] = {"alpha", "beta"};
    for (int k = 0; k < 2; k++)
        if (scalar[k] && overlap(scalar[k], spmv_plan_width(plan), call->z, z_bytes))
            return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                             "spmv_apply: %s, at %p on the device, lies in z, at %p", name[k],
                             scalar[k], call->z);
    return SPMV_OK;
}

static spmv_status check_call(const spmv_plan *plan, const spmv_call *call) {
    spmv_ctx *ctx = plan->device->ctx;
    const int64_t rows = plan->rows;
    const size_t bytes = (size_t)rows * spmv_plan_width(plan);
    if (call->k < 0 || call->k > 1)
        return spmv_fail(ctx, call->k < 0 ? SPMV_E_ARG : SPMV_E_UNSUITABLE,
                         "spmv_apply: k is %lld: this library multiplies one vector at a time",
                         (long long)call->k);
    if (rows == 0) return SPMV_OK;
    if (plan->scalars == SPMV_DEVICE) TRY(check_scalars(plan, call, bytes));
    if (!call->beta) return SPMV_OK;
    if (!call->y) return spmv_fail(ctx, SPMV_E_ARG, "spmv_apply: y is NULL, and beta is not");
    if (call->y != call->z && overlap(call->y, bytes, call->z, bytes))
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_apply: y and z, %lld numbers at %p and %p, overlap in part",
                         (long long)rows, call->y, call->z);
    return SPMV_OK;
}

spmv_status spmv_apply(const spmv_plan *plan, const spmv_call *call, void *stream) {
    spmv_call known = SPMV_OPTS(spmv_call);
    GIVEN(NULL, plan);
    GIVEN(plan->device->ctx, call);
    TRY(spmv_read_opts(plan->device->ctx, "spmv_call", &known, sizeof known, call));
    TRY(check_call(plan, &known));
    spmv_operands v = operands_of(plan, &known, stream);
    TRY(spmv_product_check(plan, __func__, "z", &v));
    return launch(plan, __func__, &v, false);
}
