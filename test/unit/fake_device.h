/* fake_device.h: a device made here, which stands in for the GPU: its memory is the host's, and
 * time on it is what its kernels say. It builds csr, sell and csell itself. */
#ifndef SPMV_TEST_FAKE_DEVICE_H
#define SPMV_TEST_FAKE_DEVICE_H

#include "context.h"
#include "spmv_clock.h"
#include "matrix/stores/stored.h"
#include "tune/tune.h"
#include <stdio.h>
#include <stdlib.h>

static struct {
    size_t left;            /* free bytes that the device reports */
    size_t gone;            /* bytes of `left` that disappear when the builder of SELL has failed */
    spmv_status answer;     /* status that the builder of SELL returns */
    bool lost;              /* every launch fails */
    const spmv_store *rows; /* argument of the builder */
    int asked;              /* number of calls of the builder */
    int blocks, most;       /* blocks of memory in use; maximum */
    size_t first, largest;  /* bytes of the first and of the largest requested block */
    double pause_s, paused; /* duration of one query of free memory; of all */
    double now, started;    /* its clock */
    double first_s;         /* that the first use of a kernel takes, */
    uint64_t used;          /* a bit a kernel */
    int trimmed;
    int refused;    /* ordinal number of the allocation that fails; 0: none */
    int ordered[2]; /* how often its operations waited for a caller's; a caller's for its own */
    int refilled;   /* stores whose values it wrote */
    int flushes;    /* how often memory was read that nothing else uses, */
    size_t flushed; /* and how much of it there is now; */
    bool keeps;     /* there is none to be had */
    bool away;      /* the machine has no such device */
} device;

static const size_t plenty = (size_t)1 << 30;

static spmv_status nothing(spmv_device *d) {
    (void)d;
    return SPMV_OK;
}

static bool is_present(int asked, char *why, size_t size) {
    if (device.away) snprintf(why, size, "no fake %d: plug it in", asked);
    return !device.away;
}

static void nothing_at_all(spmv_device *d) {
    (void)d;
}

static void trim(spmv_device *d) {
    (void)d;
    device.trimmed++;
}

static spmv_status get_block(spmv_device *d, size_t bytes, void **out) {
    *out = NULL;
    if (device.refused && --device.refused == 0)
        return spmv_fail(d->ctx, SPMV_E_NOMEM, "refused, as it was told");
    if (!device.first) device.first = bytes;
    if (bytes > device.largest) device.largest = bytes;
    device.blocks++;
    device.most = device.blocks > device.most ? device.blocks : device.most;
    *out = malloc(bytes + 1);
    return *out ? SPMV_OK : SPMV_E_NOMEM;
}

static void give_block(spmv_device *d, void *memory) {
    (void)d;
    device.blocks -= memory != NULL;
    free(memory);
}

static spmv_status copy_block(spmv_device *d, void *to, const void *from, size_t bytes) {
    (void)d;
    memcpy(to, from, bytes);
    return SPMV_OK;
}

static spmv_status fill_block(spmv_device *d, void *memory, int byte, size_t bytes) {
    (void)d;
    memset(memory, byte, bytes);
    return SPMV_OK;
}

static size_t what_is_left(spmv_device *d) {
    (void)d;
    for (double end = spmv_now() + device.pause_s; spmv_now() < end;) continue;
    device.paused += device.pause_s;
    return device.left;
}

enum { CACHE = 1000000 };
static void describe(spmv_device *d, spmv_device_facts *out) {
    (void)d;
    memset(out, 0, sizeof *out);
    out->l2 = CACHE;
}

static spmv_status flush(spmv_device *d, size_t bytes) {
    if (device.keeps && bytes) return spmv_fail(d->ctx, SPMV_E_NOMEM, "no room to flush with");
    device.flushes += bytes > 0;
    device.flushed = bytes;
    return SPMV_OK;
}

static spmv_status launch_nothing(spmv_device *d) {
    return device.lost ? spmv_fail(d->ctx, SPMV_E_DEVICE, "lost") : SPMV_OK;
}

static spmv_status order(spmv_device *d, void *stream, bool own_first) {
    (void)d, (void)stream;
    device.ordered[own_first]++;
    return SPMV_OK;
}

static spmv_status tick(spmv_device *d) {
    (void)d;
    device.started = device.now;
    return SPMV_OK;
}

static spmv_status tock(spmv_device *d, double *seconds) {
    (void)d;
    *seconds = device.now - device.started;
    return SPMV_OK;
}

/* Batches are loops then. */
static spmv_status refuse_to_record(spmv_device *d) {
    return spmv_fail(d->ctx, SPMV_E_BACKEND, "nothing is recorded");
}

static void forget(spmv_device *d, void *recording) {
    (void)d, (void)recording;
}

/* ---- its formats and kernels ---- */

enum { WORKING = 1000000 };
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c;
    return WORKING;
}

static spmv_status build(spmv_device *d, const char *name, int variant, const spmv_csr_view *A,
                         const spmv_choice *c, spmv_store **head, spmv_store **copy) {
    spmv_store *made = NULL;
    spmv_status status = spmv_format_named(name, variant)->build(ctx, A, c, 1, &made);
    if (status == SPMV_OK) status = spmv_store_upload(d, made, copy);
    assert_int_equal(spmv_store_new(ctx, name, made->size, A, head), SPMV_OK);
    memcpy(*head, made, made->size);
    for (int k = 0; k < made->narrays; k++)
        memset((char *)*head + made->array[k].offset, 0, sizeof(void *));
    spmv_store_free(made);
    return status;
}

static const double sending_s = 1e-7; /* less than building takes */
static spmv_status build_csr(spmv_device *d, int variant, const spmv_csr_view *A, spmv_store *rows,
                             const spmv_choice *c, spmv_store **head, spmv_store **copy,
                             double *upload_s) {
    assert_null(rows);
    *upload_s = sending_s;
    return build(d, "csr", variant, A, c, head, copy);
}

static spmv_status build_sell(spmv_device *d, int variant, const spmv_csr_view *A, spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              double *upload_s) {
    device.asked++;
    device.rows = rows;
    *upload_s = 0;
    TRY(build(d, "sell", variant, A, c, head, copy));
    if (device.answer == SPMV_OK) return SPMV_OK;
    device.left -= device.gone;
    return spmv_fail(ctx, device.answer, "as it was told");
}

static spmv_status build_csell(spmv_device *d, int variant, const spmv_csr_view *A,
                               spmv_store *rows, const spmv_choice *c, spmv_store **head,
                               spmv_store **copy, double *upload_s) {
    (void)rows;
    *upload_s = 0;
    return build(d, "csell", variant, A, c, head, copy);
}

/* Writes new values as the host does, from values of the variant's types. */
static spmv_status refill(int variant, const void *row_ptr, const void *values, spmv_store *copy) {
    const bool wide = variant == SPMV_F64_O64 || variant == SPMV_F32_O64;
    const size_t rows = (size_t)copy->rows, nnz = (size_t)copy->nnz;
    FREED(int64_t) *ptr = calloc(rows + 1, sizeof *ptr);
    FREED(double) *value = calloc(nnz + 1, sizeof *value);
    assert_true(ptr && value);
    for (size_t i = 0; i <= rows && row_ptr; i++)
        ptr[i] = wide ? ((const int64_t *)row_ptr)[i] : ((const int32_t *)row_ptr)[i];
    for (size_t k = 0; k < nnz; k++)
        value[k] = number_at(values, variant < SPMV_F32_O32 ? SPMV_F64 : SPMV_F32, (int64_t)k);
    const spmv_csr_view A = {
        sizeof(spmv_csr_view), copy->rows, copy->cols, copy->nnz, ptr, NULL, value};
    spmv_format_named(copy->format, variant)->refill(&A, 1, copy);
    device.refilled++;
    return SPMV_OK;
}

#define BUILT(format, variant) \
    static spmv_status build_##format##variant( \
        spmv_device *d, const spmv_csr_view *A, spmv_store *rows, const spmv_choice *c, \
        spmv_store **head, spmv_store **copy, double *upload_s) { \
        return build_##format(d, variant, A, rows, c, head, copy, upload_s); \
    } \
    static spmv_status refill_##format##variant(spmv_device *d, const void *row_ptr, \
                                                const void *values, spmv_store *copy) { \
        (void)d; \
        return refill(variant, row_ptr, values, copy); \
    } \
    static const spmv_device_format format##variant = {.name = #format, \
                                                       .working = working, \
                                                       .build = build_##format##variant, \
                                                       .refill = refill_##format##variant};
#define ALL_BUILT(format) BUILT(format, 0) BUILT(format, 1) BUILT(format, 2) BUILT(format, 3)
ALL_BUILT(csr)
BUILT(sell, 0)
BUILT(sell, 2) ALL_BUILT(csell) static const spmv_device_format no_wide_sell = {.name = "sell"};
static const spmv_device_format *const formats[][SPMV_NVARIANTS] = {
    {&csr0, &csr1, &csr2, &csr3},
    {&sell0, &no_wide_sell, &sell2, &no_wide_sell},
    {&csell0, &csell1, &csell2, &csell3},
    {NULL},
};

/* The baseline kernel takes a second, the others half of that. */
static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    (void)v;
    uint64_t bit = (uint64_t)1 << p->kernel->name[0] % 64;
    double first_s = device.used & bit ? 0 : device.first_s;
    for (double end = spmv_now() + first_s; spmv_now() < end;) continue;
    device.used |= bit;
    device.now += first_s;
    device.now += strcmp(p->kernel->name, "csr_fake") == 0 ? 1 : .5;
    return SPMV_OK;
}

#define FAKE(kernel, of) \
    { .name = kernel, .format = of, .params = NULL, .run = run, .traits = SPMV_DETERMINISTIC }
static const spmv_kernel of_csr = FAKE("csr_fake", "csr"), of_csr_too = FAKE("csr_fast", "csr"),
                         of_sell = FAKE("sell_fake", "sell"),
                         of_csell = FAKE("csell_fake", "csell");
static const char *const names[] = {"csr_fake", "csr_fast", "sell_fake", "csell_fake"};
static const spmv_kernel *const kernels[][SPMV_NVARIANTS] = {
    {&of_csr, &of_csr, &of_csr, &of_csr},
    {&of_csr_too, &of_csr_too, &of_csr_too, &of_csr_too},
    {&of_sell, &of_sell, &of_sell, &of_sell},
    {&of_csell, &of_csell, &of_csell, &of_csell},
};

const spmv_backend spmv_cuda = {
    .name = "cuda",
    .hint = "",
    .names = names,
    .kernels = kernels,
    .nkernels = sizeof names / sizeof *names,
    .formats = formats,
    .present = is_present,
    .open = nothing,
    .close = nothing_at_all,
    .alloc = get_block,
    .release = give_block,
    .trim = trim,
    .put = copy_block,
    .get = copy_block,
    .fill = fill_block,
    .sync = nothing,
    .order = order,
    .tick = tick,
    .tock = tock,
    .free_bytes = what_is_left,
    .describe = describe,
    .flush = flush,
    .nothing = launch_nothing,
    .record_start = refuse_to_record,
    .forget = forget,
};
#endif
