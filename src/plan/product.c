/* product.c: the product entry point: all products of callers, samples and trials run here. Several
 * vectors, their layouts and leading dimensions, packing, and an alpha that is not finite are
 * handled here once for all kernels; a minimal kernel multiplies one contiguous vector. */
#include "blocks.h"
#include "host/context.h"
#include "host/host.h"
#include "matrix/stores/stored.h"
#include "plan.h"
#include "product.h"
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* ---- whether a product may run --------------------------------------------------------------- */

/* Reports what is wrong with x or z; `written` is the call's name of z. Kept out of the path of a
 * correct product. An empty vector may have any address. */
static spmv_status refuse(const spmv_plan *plan, const char *call, const char *written,
                          const spmv_operands *v) {
    spmv_ctx *ctx = plan->device->ctx;
    if (plan->matrix->freed)
        return spmv_fail(ctx, SPMV_E_ARG, "%s: the plan's matrix was freed", call);
    if ((!v->x && plan->cols > 0) || (!v->z && plan->rows > 0))
        return spmv_fail(ctx, SPMV_E_ARG, "%s: %s is NULL", call,
                         !v->x && plan->cols > 0 ? "x" : written);
    if (plan->cols == 0 || plan->rows == 0) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%s: %s, %lld numbers at %p, overlaps x, %lld at %p", call,
                     written, (long long)plan->rows * v->k, v->z, (long long)plan->cols * v->k,
                     v->x);
}

spmv_status spmv_product_check(const spmv_plan *plan, const char *call, const char *written,
                               const spmv_operands *v) {
    const block x = block_of(v, v->x, plan->cols, v->ldx),
                z = block_of(v, v->z, plan->rows, v->ldz);
    const bool is_wrong =
        plan->matrix->freed || !v->x || !v->z || meet(&x, &z, spmv_plan_width(plan));
    return is_wrong ? refuse(plan, call, written, v) : SPMV_OK;
}

/* Returns whether the elements of a vector are strided. */
static bool is_apart(const spmv_operands *v) {
    return v->layout == SPMV_ROWS && (v->ldx > 1 || v->ldy > 1 || v->ldz > 1);
}

/* Returns whether the product packs vectors into the plan's panel: the kernel needs contiguous
 * vectors, or uses the panel itself. */
static bool needs_panel(const spmv_plan *plan, const spmv_operands *v) {
    return spmv_kernel_packs(plan->kernel, is_apart(v) ? SPMV_ROWS : SPMV_COLUMNS, v->k) &&
           plan->rows > 0;
}

/* Bytes of the panel of one slot: x and z of SPMV_PANEL_VECTORS vectors. */
static size_t panel_bytes(const spmv_plan *plan) {
    return SPMV_PANEL_VECTORS * (size_t)(plan->cols + plan->rows) * spmv_plan_width(plan);
}

/* Returns the number of workspace slots of the plan from which this product allocates one. 0: none
 * needed. A panel that was not created with the plan has one slot. */
static int slots_for(const spmv_plan *plan, const spmv_operands *v) {
    return needs_panel(plan, v) ? plan->panels : plan->slots;
}

/* Claims a free slot and returns its index; -1: all are in use. A slot that a product of the parent
 * process held at a fork() counts as free in the child. */
static int take_slot(spmv_plan *plan, int slots, int here) {
    for (int s = 0; s < slots; s++)
        if (__atomic_exchange_n(&plan->busy[s], here, __ATOMIC_ACQUIRE) != here) return s;
    return -1;
}

/* Waits for a slot: yields at first, since a product may be short, then sleeps, since the other
 * thread may have lost its core. */
static void rest(int tries) {
    enum { SHORT = 64 };
    const struct timespec pause = {.tv_nsec = 20000};
    if (tries < SHORT)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

/* Allocates a workspace slot for a product. Callers pass a const plan, but the plan was allocated
 * as a mutable object, so the cast is valid. */
spmv_status spmv_product_claim(const spmv_plan *plan, const char *call, spmv_operands *v) {
    spmv_device *device = plan->device;
    if (device->backend->enter) TRY(device->backend->enter(device));
    const int here = 1 + spmv_host_forks();
    spmv_plan *own = (spmv_plan *)(uintptr_t)plan;
    const int slots = slots_for(plan, v);
    if (slots == 0) return SPMV_OK;
    for (int tries = 0; (v->slot = take_slot(own, slots, here)) < 0; tries++) {
        if (!device->backend->host)
            return spmv_fail(
                device->ctx, SPMV_E_ARG,
                "%s: the plan multiplies in another thread, and %s keeps structures in "
                "it: make a plan for each thread",
                call, plan->kernel->name);
        rest(tries);
    }
    if (!needs_panel(plan, v)) return SPMV_OK;
    const spmv_status status = spmv_product_make_room(own);
    v->panel = plan->panel ? (char *)plan->panel + (size_t)v->slot * panel_bytes(plan) : NULL;
    if (status != SPMV_OK) spmv_product_unclaim(plan, v);
    return status;
}

void spmv_product_unclaim(const spmv_plan *plan, const spmv_operands *v) {
    if (slots_for(plan, v) > 0)
        __atomic_store_n(&((spmv_plan *)(uintptr_t)plan)->busy[v->slot], 0, __ATOMIC_RELEASE);
}

/* ---- running it ------------------------------------------------------------------------------ */

/* Copies y to z if the two differ: host kernels accumulate into z in place. */
static void bring_y(const spmv_plan *plan, spmv_operands *v) {
    const size_t bytes = (size_t)plan->rows * spmv_plan_width(plan);
    const int threads = plan->device->threads;
    if (v->y == v->z || !plan->device->backend->host) return;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        size_t begin = (size_t)spmv_split((int64_t)bytes, threads, t);
        size_t end = (size_t)spmv_split((int64_t)bytes, threads, t + 1);
        memcpy((char *)v->z + begin, (const char *)v->y + begin, end - begin);
    }
    v->y = v->z;
}

static void bring_columns(const spmv_plan *plan, spmv_operands *v) {
    const size_t width = spmv_plan_width(plan);
    if (v->y == v->z || !plan->device->backend->host) return;
    for (int64_t j = 0; j < v->k; j++) {
        spmv_operands one = {.y = (const char *)v->y + (size_t)(j * v->ldy) * width,
                             .z = (char *)v->z + (size_t)(j * v->ldz) * width};
        bring_y(plan, &one);
    }
    v->y = v->z;
    v->ldy = v->ldz;
}

static void bring_rows(const spmv_plan *plan, spmv_operands *v) {
    const size_t width = spmv_plan_width(plan);
    const int threads = plan->device->threads;
    if (v->y == v->z || !plan->device->backend->host) return;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < plan->rows; i++)
        memcpy((char *)v->z + (size_t)(i * v->ldz) * width,
               (const char *)v->y + (size_t)(i * v->ldy) * width, (size_t)v->k * width);
    v->y = v->z;
    v->ldy = v->ldz;
}

/* Runs a product of several vectors in rows. Peers on a host accumulate into z in place, so y is
 * copied first. */
static spmv_status run_rows(const spmv_plan *plan, const spmv_operands *v) {
    spmv_operands own = *v;
    if (plan->kernel->traits & SPMV_PEER) bring_rows(plan, &own);
    return plan->kernel->run_rows(plan, &own);
}

static spmv_status run_one(const spmv_plan *plan, const spmv_operands *v) {
    spmv_operands own = *v;
    bring_y(plan, &own);
    return plan->kernel->run(plan, &own);
}

static spmv_status run_columns(const spmv_plan *plan, const spmv_operands *v) {
    const size_t width = spmv_plan_width(plan);
    spmv_operands one = *v;
    if (v->k == 1) return run_one(plan, v);
    if (plan->kernel->run_columns) {
        bring_columns(plan, &one);
        return plan->kernel->run_columns(plan, &one);
    }
    one.k = 1;
    for (int64_t j = 0; j < v->k; j++) {
        one.x = (const char *)v->x + (size_t)(j * v->ldx) * width;
        one.y = (const char *)v->y + (size_t)(j * v->ldy) * width;
        one.z = (char *)v->z + (size_t)(j * v->ldz) * width;
        TRY(run_one(plan, &one));
    }
    return SPMV_OK;
}

enum { PANEL = SPMV_PANEL_VECTORS };

spmv_status spmv_product_make_room(spmv_plan *plan) {
    const size_t bytes = (size_t)plan->panels * panel_bytes(plan);
    if (plan->panel || bytes == 0) return SPMV_OK;
    TRY(plan->device->backend->alloc(plan->device, bytes, &plan->panel));
    plan->panel_bytes = bytes;
    return plan->device->backend->sync(plan->device); /* so that products in any stream can use
                                                         the panel */
}

/* Multiplies strided vectors: packs up to PANEL vectors at a time into the slot's panel, multiplies
 * contiguous vectors there, and unpacks z. */
static spmv_status run_packed(const spmv_plan *plan, const spmv_operands *v) {
    spmv_device *device = plan->device;
    const size_t width = spmv_plan_width(plan);
    const int64_t rows = plan->rows, cols = plan->cols;
    char *x = v->panel, *z = x + PANEL * (size_t)cols * width;
    spmv_operands packed = *v;
    packed.layout = SPMV_COLUMNS;
    packed.x = x, packed.y = packed.z = z;
    packed.ldx = cols, packed.ldy = packed.ldz = rows;
    for (int64_t j = 0; j < v->k; j += PANEL) {
        const size_t at = (size_t)j * width;
        packed.k = v->k - j < PANEL ? v->k - j : PANEL;
        TRY(device->backend->turn(device, v->stream, width, cols, packed.k, (const char *)v->x + at,
                                  v->ldx, x, cols));
        if (v->beta_at || v->beta != 0)
            TRY(device->backend->turn(device, v->stream, width, rows, packed.k,
                                      (const char *)v->y + at, v->ldy, z, rows));
        TRY(run_columns(plan, &packed));
        TRY(device->backend->turn(device, v->stream, width, packed.k, rows, z, rows,
                                  (char *)v->z + at, v->ldz));
    }
    return SPMV_OK;
}

static spmv_status run_in_layout(const spmv_plan *plan, const spmv_operands *v) {
    if (!is_apart(v)) return run_columns(plan, v);
    return needs_panel(plan, v) ? run_packed(plan, v) : run_rows(plan, v);
}

/* Rounds a scalar to the plan's precision, as kernels do. */
static double rounded(const spmv_plan *plan, double scalar) {
    return spmv_plan_is_f32(plan) ? (float)scalar : scalar;
}

/* Returns element i of an array in the plan's precision. */
static double number_in(const spmv_plan *plan, const void *array, int64_t i) {
    return spmv_plan_is_f32(plan) ? ((const float *)array)[i] : ((const double *)array)[i];
}

/* z <- alpha sums + beta y for an alpha that is not finite. */
static void put_unfinite(const spmv_plan *plan, const spmv_operands *v, const spmv_operands *sums) {
    const block z = block_of(v, v->z, plan->rows, v->ldz);
    const double alpha = rounded(plan, v->alpha), beta = rounded(plan, v->beta);
    for (int64_t line = 0; line < z.lines; line++)
        for (int64_t n = 0; n < z.length; n++) {
            double out = alpha * number_in(plan, sums->z, line * sums->ldz + n);
            if (beta != 0) out += beta * number_in(plan, v->y, line * v->ldy + n);
            if (spmv_plan_is_f32(plan))
                ((float *)v->z)[line * z.ld + n] = (float)out;
            else
                ((double *)v->z)[line * z.ld + n] = out;
        }
}

/* z <- alpha A x + beta y for an infinite or NaN alpha. Computes all row sums A x first, then
 * multiplies them by alpha: a row without entries must give alpha * 0 = NaN, and kernels that add
 * alpha times partial sums to beta y would give other results. */
static spmv_status run_unfinite(const spmv_plan *plan, const spmv_operands *v) {
    spmv_operands sums = *v;
    void *memory = NULL;
    sums.alpha = 1, sums.beta = 0;
    if (v->beta != 0) {
        sums.ldz = least_ld(v, plan->rows);
        const int64_t lines = v->layout == SPMV_ROWS ? plan->rows : v->k;
        sums.z = memory = calloc((size_t)(lines * sums.ldz), spmv_plan_width(plan));
        if (!memory)
            return spmv_fail(plan->device->ctx, SPMV_E_NOMEM, "out of memory for a product");
    }
    sums.y = sums.z, sums.ldy = sums.ldz;
    const spmv_status status = run_in_layout(plan, &sums);
    if (status == SPMV_OK) put_unfinite(plan, v, &sums);
    free(memory);
    return status;
}

spmv_status spmv_product_run(const spmv_plan *plan, const spmv_operands *v) {
    if (plan->rows == 0) return SPMV_OK;
    if (plan->device->backend->host && !isfinite(rounded(plan, v->alpha)))
        return run_unfinite(plan, v);
    return run_in_layout(plan, v);
}

/* Allocates the backend's workspace for dot products, unless the plan has it already. */
static spmv_status make_room_for_sums(spmv_plan *plan) {
    spmv_device *device = plan->device;
    const size_t bytes = device->backend->sums_bytes;
    if (plan->sums_room || bytes == 0) return SPMV_OK;
    TRY(device->backend->alloc(device, bytes, &plan->sums_room));
    TRY(device->backend->fill(device, plan->sums_room, 0, bytes));
    return device->backend->sync(device); /* so that products in any stream can use the workspace */
}

/* Runs a product, then the requested dot products as a separate pass over w and z: no kernel
 * computes them on the way. */
static spmv_status run_with_sums(const spmv_plan *plan, const spmv_operands *v,
                                 const spmv_sums *wanted) {
    spmv_sums sums = *wanted;
    if (!sums.wz && !sums.zz) return spmv_product_run(plan, v);
    TRY(make_room_for_sums((spmv_plan *)(uintptr_t)plan));
    TRY(spmv_product_run(plan, v));
    sums.room = plan->sums_room;
    return plan->device->backend->sums(plan->device, v->stream, &sums);
}

spmv_status spmv_product_launch(const spmv_plan *plan, const char *call, spmv_operands *v,
                                const spmv_sums *sums, bool waits) {
    const spmv_backend *backend = plan->device->backend;
    TRY(spmv_product_claim(plan, call, v));
    spmv_status status = run_with_sums(plan, v, sums);
    if (status == SPMV_OK && (waits || backend->host)) status = backend->sync(plan->device);
    spmv_product_unclaim(plan, v);
    return status;
}

static const spmv_sums no_sums = {0};

spmv_status spmv_exec(const spmv_plan *plan, double alpha, const void *x, double beta, void *y) {
    GIVEN(NULL, plan);
    spmv_operands v = spmv_in_place(plan, alpha, x, beta, y);
    TRY(spmv_product_check(plan, __func__, "y", &v));
    return spmv_product_launch(plan, __func__, &v, &no_sums, true);
}

spmv_status spmv_exec_async(const spmv_plan *plan, double alpha, const void *x, double beta,
                            void *y, void *stream) {
    GIVEN(NULL, plan);
    spmv_operands v = spmv_in_place(plan, alpha, x, beta, y);
    v.stream = stream;
    TRY(spmv_product_check(plan, __func__, "y", &v));
    return spmv_product_launch(plan, __func__, &v, &no_sums, false);
}
