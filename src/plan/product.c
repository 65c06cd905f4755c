/* product.c: the one door through which every product runs: of callers, samples and trials. It
 * alone knows of several vectors, their layouts and leading dimensions, and of transposes: a kernel
 * that says no more multiplies one contiguous vector. */
#include "host/context.h"
#include "host/host.h"
#include "matrix/stored.h"
#include "plan.h"
#include "product.h"
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* ---- where numbers lie ----------------------------------------------------------------------- */

typedef struct block { /* lines of numbers: vectors, or rows of them */
    const void *at;
    int64_t lines, length, ld; /* numbers of a line; from one to the next */
} block;

static bool is_empty(const block *b) {
    return b->lines == 0 || b->length == 0;
}

static size_t span(const block *b) { /* in numbers, of a block that is not empty */
    return (size_t)(b->lines - 1) * (size_t)b->ld + (size_t)b->length;
}

static inline bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Says whether a line of b has a number in common with these bytes. */
static bool meets_line(const block *b, size_t width, uintptr_t first, uintptr_t end) {
    const uintptr_t at = (uintptr_t)b->at, step = (uintptr_t)b->ld * width;
    const uintptr_t length = (uintptr_t)b->length * width;
    uintptr_t line = step == 0 || first < at ? 0 : (first - at) / step; /* the last not behind it */
    if (line >= (uintptr_t)b->lines) line = (uintptr_t)b->lines - 1;
    if (at + line * step < end && first < at + line * step + length) return true;
    return ++line < (uintptr_t)b->lines && at + line * step < end; /* it begins behind first */
}

/* Says whether they have a number in common. Their lines may lie between each other: then each
 * line of one is looked for in the other. */
static bool meet(const block *a, const block *b, size_t width) {
    if (is_empty(a) || is_empty(b)) return false;
    if (!overlap(a->at, span(a) * width, b->at, span(b) * width)) return false;
    for (int64_t i = 0; i < a->lines; i++) {
        const uintptr_t first = (uintptr_t)a->at + (uintptr_t)(i * a->ld) * width;
        if (meets_line(b, width, first, first + (uintptr_t)a->length * width)) return true;
    }
    return false;
}

/* n numbers of each of k vectors. */
static block block_of(const spmv_operands *v, const void *at, int64_t n, int64_t ld) {
    return v->layout == SPMV_ROWS ? (block){at, n, v->k, ld} : (block){at, v->k, n, ld};
}

/* Returns the least leading dimension of n numbers of each vector. */
static int64_t least_ld(const spmv_operands *v, int64_t n) {
    const int64_t least = v->layout == SPMV_ROWS ? v->k : n;
    return least > 0 ? least : 1;
}

/* Returns the one that a call gives; 0: the least. */
static int64_t ld_of(const spmv_operands *v, int64_t n, int64_t given) {
    return given ? given : least_ld(v, n);
}

/* ---- whether a product may run --------------------------------------------------------------- */

/* What is wrong with x and the vector that is written, which the call names: off the path of a
 * product. An empty vector may lie anywhere. */
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

/* Says whether the numbers of a vector are apart. */
static bool is_apart(const spmv_operands *v) {
    return v->layout == SPMV_ROWS && (v->ldx > 1 || v->ldy > 1 || v->ldz > 1);
}

/* Says whether the product packs vectors into memory of the plan, for its kernel takes only those
 * of which the numbers are contiguous, or packs them itself. */
static bool needs_panel(const spmv_plan *plan, const spmv_operands *v) {
    return spmv_kernel_packs(plan->kernel, is_apart(v) ? SPMV_ROWS : SPMV_COLUMNS, v->k) &&
           plan->rows > 0;
}

/* Bytes of a slot's panel. */
static size_t panel_bytes(const spmv_plan *plan) {
    return SPMV_PANEL_VECTORS * (size_t)(plan->cols + plan->rows) * spmv_plan_width(plan);
}

/* Returns of how many slots a product takes one; 0: it needs none. A panel that was not made with
 * the plan is for one caller at a time. */
static int slots_for(const spmv_plan *plan, const spmv_operands *v) {
    if (!needs_panel(plan, v)) return plan->slots;
    const int panels = plan->panels > 1 ? plan->panels : 1;
    return plan->slots > 0 && plan->slots < panels ? plan->slots : panels;
}

/* Returns a slot that was free; -1: none is. The child has only the word of a product that a parent
 * process had begun at a fork(). */
static int take_slot(spmv_plan *plan, int slots, int here) {
    for (int s = 0; s < slots; s++)
        if (__atomic_exchange_n(&plan->busy[s], here, __ATOMIC_ACQUIRE) != here) return s;
    return -1;
}

/* A product may be short, or its caller may have lost its core. */
static void rest(int tries) {
    enum { SHORT = 64 };
    const struct timespec pause = {.tv_nsec = 20000};
    if (tries < SHORT)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

/* Says that a product of the plan runs. Callers see a const plan, but it was allocated as a mutable
 * object, so the cast is valid. */
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

/* A host's kernels add to what lies where they write: so y is copied there. */
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

/* Another library's kernels on a host add to z in place, too. */
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
    const size_t bytes = (size_t)(plan->panels > 1 ? plan->panels : 1) * panel_bytes(plan);
    if (plan->panel || bytes == 0) return SPMV_OK;
    TRY(plan->device->backend->alloc(plan->device, bytes, &plan->panel));
    plan->panel_bytes = bytes;
    return plan->device->backend->sync(plan->device); /* for any stream */
}

/* Vectors of which the numbers are apart are packed, some at a time, so that each is contiguous. */
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

/* Returns a number of an array in the plan's precision. */
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

/* An alpha that is not finite multiplies the sum of every row, 0 where the row has no entries. So
 * sums come first: kernels that add alpha times parts of a row to beta y would make other numbers
 * of them. */
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

/* Allocates what sums on the plan's device need, unless it is there. */
static spmv_status make_room_for_sums(spmv_plan *plan) {
    spmv_device *device = plan->device;
    const size_t bytes = device->backend->sums_bytes;
    if (plan->sums_room || bytes == 0) return SPMV_OK;
    TRY(device->backend->alloc(device, bytes, &plan->sums_room));
    TRY(device->backend->fill(device, plan->sums_room, 0, bytes));
    return device->backend->sync(device); /* for any stream */
}

/* No kernel adds up what it writes, so that sums are a pass of their own over w and z. */
static spmv_status run_with_sums(const spmv_plan *plan, const spmv_operands *v,
                                 const spmv_sums *wanted) {
    spmv_sums sums = *wanted;
    if (!sums.wz && !sums.zz) return spmv_product_run(plan, v);
    TRY(make_room_for_sums((spmv_plan *)(uintptr_t)plan));
    TRY(spmv_product_run(plan, v));
    sums.room = plan->sums_room;
    return plan->device->backend->sums(plan->device, v->stream, &sums);
}

/* waits: for the end of the product. A host's has ended then in any case; its sync waits for
 * nothing, but looks whether other processes use the cores. */
static spmv_status launch(const spmv_plan *plan, const char *call, spmv_operands *v,
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
    return launch(plan, __func__, &v, &no_sums, true);
}

spmv_status spmv_exec_async(const spmv_plan *plan, double alpha, const void *x, double beta,
                            void *y, void *stream) {
    GIVEN(NULL, plan);
    spmv_operands v = spmv_in_place(plan, alpha, x, beta, y);
    v.stream = stream;
    TRY(spmv_product_check(plan, __func__, "y", &v));
    return launch(plan, __func__, &v, &no_sums, false);
}

/* ---- a product as the caller describes it ---------------------------------------------------- */

typedef struct scalars { /* of a call, in the plan's precision; NULL: 1 and 0 */
    const void *alpha, *beta;
} scalars;

/* Refuses those of the other precision. */
static spmv_status scalars_of(const spmv_plan *plan, const spmv_call *call, scalars *out) {
    const bool is_f32 = spmv_plan_is_f32(plan);
    const scalars f64 = {call->alpha, call->beta}, f32 = {call->alpha_f32, call->beta_f32};
    const scalars other = is_f32 ? f64 : f32;
    const char *name = other.alpha ? "alpha" : "beta";
    *out = is_f32 ? f32 : f64;
    if (!other.alpha && !other.beta) return SPMV_OK;
    return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                     "spmv_apply: %s%s is set, but the plan is in %s: set %s%s", name,
                     is_f32 ? "" : "_f32", is_f32 ? "f32" : "f64", name, is_f32 ? "_f32" : "");
}

/* A scalar in host memory; NULL: what it is then. */
static double number_at(const spmv_plan *plan, const void *at, double otherwise) {
    if (!at) return otherwise;
    return spmv_plan_is_f32(plan) ? *(const float *)at : *(const double *)at;
}

/* On a GPU scalars of the device stay there. Where beta is known to be 0 there is no y. sign: that
 * the matrix has in this product. */
static spmv_operands operands_of(const spmv_plan *plan, const spmv_call *call, scalars s,
                                 double sign, void *stream) {
    spmv_operands v = {.alpha = sign,
                       .x = call->x,
                       .y = call->z,
                       .z = call->z,
                       .stream = stream,
                       .k = call->k > 0 ? call->k : 1,
                       .layout = call->layout ? call->layout : plan->layout};
    if (plan->one_zero && (s.alpha || s.beta)) {
        v.alpha_at = s.alpha ? s.alpha : plan->one_zero;
        v.beta_at = s.beta ? s.beta : (const char *)plan->one_zero + spmv_plan_width(plan);
    } else {
        v.alpha = sign * number_at(plan, s.alpha, 1);
        v.beta = number_at(plan, s.beta, 0);
    }
    if (s.beta && (v.beta_at || v.beta != 0)) v.y = call->y;
    v.ldx = ld_of(&v, plan->cols, call->ldx);
    v.ldz = ld_of(&v, plan->rows, call->ldz);
    v.ldy = v.y != call->y ? v.ldz : ld_of(&v, plan->rows, call->ldy);
    return v;
}

/* A leading dimension, of n numbers of each vector: whether vectors do not overlap, and end within
 * the addresses there are. */
static spmv_status check_ld(const spmv_plan *plan, const spmv_operands *v, const char *name,
                            int64_t n, int64_t ld) {
    const int64_t least = least_ld(v, n), lines = v->layout == SPMV_ROWS ? n : v->k;
    const int64_t most = INT64_MAX / (int64_t)spmv_plan_width(plan);
    int64_t numbers;
    if (ld < least)
        return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                         "spmv_apply: %s is %lld, must be %lld or more", name, (long long)ld,
                         (long long)least);
    if (lines > 0 && (__builtin_mul_overflow(lines, ld, &numbers) || numbers > most))
        return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                         "spmv_apply: %s is %lld: %lld times that are more than memory can have",
                         name, (long long)ld, (long long)lines);
    return SPMV_OK;
}

/* A scalar in a GPU's memory is read while z is written. */
static spmv_status check_scalar(const spmv_plan *plan, const char *name, const void *scalar,
                                const block *z) {
    const block one = {scalar, 1, 1, 1};
    if (!scalar || !meet(&one, z, spmv_plan_width(plan))) return SPMV_OK;
    return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                     "spmv_apply: %s, at %p on the device, lies in z, at %p", name, scalar, z->at);
}

static spmv_status check_y(const spmv_plan *plan, const spmv_call *call, const spmv_operands *v,
                           const block *z) {
    spmv_ctx *ctx = plan->device->ctx;
    const int64_t ldy = ld_of(v, plan->rows, call->ldy);
    const block y = block_of(v, call->y, plan->rows, ldy);
    if (!call->y) return spmv_fail(ctx, SPMV_E_ARG, "spmv_apply: y is NULL, and beta is not");
    if (call->y == call->z && (ldy == v->ldz || z->lines == 1)) return SPMV_OK;
    if (!meet(&y, z, spmv_plan_width(plan))) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "spmv_apply: y and z, %lld numbers at %p and %p, overlap in part",
                     (long long)plan->rows * v->k, call->y, call->z);
}

/* What does not depend on where the numbers lie. */
static spmv_status check_call(const spmv_plan *plan, const spmv_call *call) {
    spmv_ctx *ctx = plan->device->ctx;
    if (call->k < 0)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_apply: k is %lld, must be 0 or more",
                         (long long)call->k);
    TRY(spmv_check_layout(ctx, "spmv_call", call->layout));
    if (call->op != 0 && call->op != SPMV_AS_IS && call->op != SPMV_TRANSPOSE)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_apply: op is %d, must be 0, SPMV_AS_IS (%d) or SPMV_TRANSPOSE (%d)",
                         call->op, SPMV_AS_IS, SPMV_TRANSPOSE);
    if (call->op == 0 || call->op == plan->op || plan->op == SPMV_BOTH) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "spmv_apply: op is %s, but the plan was made for %s: make it for SPMV_BOTH",
                     call->op == SPMV_TRANSPOSE ? "SPMV_TRANSPOSE" : "SPMV_AS_IS",
                     plan->op == SPMV_TRANSPOSE ? "SPMV_TRANSPOSE" : "SPMV_AS_IS");
}

static spmv_status check_operands(const spmv_plan *plan, const spmv_call *call, scalars s,
                                  const spmv_operands *v) {
    const block z = block_of(v, call->z, plan->rows, v->ldz);
    TRY(check_ld(plan, v, "ldx", plan->cols, v->ldx));
    TRY(check_ld(plan, v, "ldz", plan->rows, v->ldz));
    if (s.beta) TRY(check_ld(plan, v, "ldy", plan->rows, ld_of(v, plan->rows, call->ldy)));
    if (plan->rows == 0) return SPMV_OK;
    if (plan->scalars == SPMV_DEVICE) {
        TRY(check_scalar(plan, "alpha", s.alpha, &z));
        TRY(check_scalar(plan, "beta", s.beta, &z));
    }
    return s.beta ? check_y(plan, call, v, &z) : SPMV_OK;
}

static spmv_sums sums_of(const spmv_plan *plan, const spmv_call *call, const spmv_operands *v) {
    const bool in_rows = v->layout == SPMV_ROWS;
    const int64_t ldw = ld_of(v, plan->rows, call->ldw);
    return (spmv_sums){.width = spmv_plan_width(plan),
                       .n = plan->rows,
                       .k = v->k,
                       .w = call->w,
                       .z = v->z,
                       .w_row = in_rows ? ldw : 1,
                       .w_vector = in_rows ? 1 : ldw,
                       .z_row = in_rows ? v->ldz : 1,
                       .z_vector = in_rows ? 1 : v->ldz,
                       .wz = call->dot_wz,
                       .zz = call->dot_zz};
}

static spmv_status check_w(const spmv_plan *plan, const spmv_call *call, const spmv_operands *v,
                           const block *w, const block *z) {
    spmv_ctx *ctx = plan->device->ctx;
    if (!call->w && plan->rows > 0)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_apply: w is NULL, and dot_wz is not");
    TRY(check_ld(plan, v, "ldw", plan->rows, w->ld));
    if (call->w == call->z && (w->ld == v->ldz || z->lines == 1)) return SPMV_OK;
    if (!meet(w, z, spmv_plan_width(plan))) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "spmv_apply: w and z, %lld numbers at %p and %p, overlap in part",
                     (long long)plan->rows * v->k, call->w, call->z);
}

/* They are written while w and z are read. */
static spmv_status check_sums(const spmv_plan *plan, const spmv_call *call,
                              const spmv_operands *v) {
    const size_t width = spmv_plan_width(plan);
    const block z = block_of(v, call->z, plan->rows, v->ldz),
                w = block_of(v, call->w, plan->rows, ld_of(v, plan->rows, call->ldw)),
                dots[] = {{call->dot_wz, 1, v->k, v->k}, {call->dot_zz, 1, v->k, v->k}};
    static const char *const name[] = {"dot_wz", "dot_zz"};
    if (call->dot_wz) TRY(check_w(plan, call, v, &w, &z));
    for (int d = 0; d < 2; d++) {
        const char *other = !dots[d].at                                 ? NULL
                            : meet(&dots[d], &z, width)                 ? "z"
                            : call->dot_wz && meet(&dots[d], &w, width) ? "w"
                            : d == 1 && meet(&dots[0], &dots[1], width) ? "dot_wz"
                                                                        : NULL;
        if (other)
            return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                             "spmv_apply: %s, %lld numbers at %p, overlaps %s", name[d],
                             (long long)v->k, dots[d].at, other);
    }
    return SPMV_OK;
}

spmv_status spmv_apply(const spmv_plan *plan, const spmv_call *call, void *stream) {
    spmv_call known = SPMV_OPTS(spmv_call);
    GIVEN(NULL, plan);
    GIVEN(plan->device->ctx, call);
    TRY(spmv_read_opts(plan->device->ctx, "spmv_call", &known, sizeof known, call));
    scalars s;
    TRY(scalars_of(plan, &known, &s));
    TRY(check_call(plan, &known));
    const spmv_op op = known.op ? known.op : plan->op;
    const spmv_plan *by = op == SPMV_TRANSPOSE && plan->other ? plan->other : plan;
    spmv_operands v = operands_of(by, &known, s, spmv_plan_sign(by, op), stream);
    TRY(check_operands(by, &known, s, &v));
    TRY(spmv_product_check(by, __func__, "z", &v));
    TRY(check_sums(by, &known, &v));
    const spmv_sums sums = sums_of(by, &known, &v);
    return launch(by, __func__, &v, &sums, false);
}
