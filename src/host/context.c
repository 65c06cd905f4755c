/* context.c: creates and frees contexts; opens the device of a backend when it is first needed. */
#include "context.h"
#include "host.h"
#include "spmv_environment.h"
#include <stdio.h>
#include <stdlib.h>

static spmv_status check_options(const spmv_ctx_opts *opts) {
    if (opts->backend && !spmv_backend_named(opts->backend))
        return spmv_fail(NULL, SPMV_E_ARG, "spmv_ctx_opts.backend: there is no '%s'",
                         opts->backend);
    if (opts->threads < 0)
        return spmv_fail(NULL, SPMV_E_ARG, "spmv_ctx_opts.threads is %d", opts->threads);
    if (opts->device < 0)
        return spmv_fail(NULL, SPMV_E_ARG, "spmv_ctx_opts.device is %d", opts->device);
    if (opts->allocator && (!opts->allocator->alloc || !opts->allocator->release))
        return spmv_fail(NULL, SPMV_E_ARG, "spmv_ctx_opts.allocator: %s is NULL",
                         opts->allocator->alloc ? "release" : "alloc");
    return SPMV_OK;
}

/* Sets the number of threads, at most as many as the process can create; if these are fewer than
 * wanted, fewer_threads says why. */
static void get_threads(spmv_ctx *ctx, int wanted) {
    int most = wanted < SPMV_MOST_THREADS ? wanted : SPMV_MOST_THREADS;
    ctx->threads = spmv_host_try_threads(most);
    if (ctx->threads == wanted) return;
    snprintf(ctx->fewer_threads, sizeof ctx->fewer_threads, "%d threads instead of %d: %s",
             ctx->threads, wanted,
             ctx->threads < most
                 ? "this process gets no more (ulimit -u, -v, pids.max, OMP_THREAD_LIMIT)"
                 : "the most that a product is divided among");
}

/* Returns whether the backend is built in and has the device. If not, why[size] says what to do. */
static bool is_available(const spmv_backend *backend, int device, char *why, size_t size) {
    if (backend->kernels) return !backend->present || backend->present(device, why, size);
    snprintf(why, size, "%s is not built in: %s", backend->name, backend->hint);
    return false;
}

int spmv_backend_available(const char *name) {
    char why[256];
    const spmv_backend *backend = name ? spmv_backend_named(name) : NULL;
    return backend && is_available(backend, 0, why, sizeof why);
}

spmv_status spmv_ctx_create_lazily(const spmv_ctx_opts *opts, spmv_ctx **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_ctx_opts known = SPMV_OPTS(spmv_ctx_opts);
    GIVEN(NULL, out);
    *out = NULL;
    TRY(spmv_read_opts(NULL, "spmv_ctx_opts", &known, sizeof known, opts));
    opts = &known;
    TRY(check_options(opts));
    spmv_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx) return spmv_fail(NULL, SPMV_E_NOMEM, "out of memory");
    spmv_host_prepare_process();
    spmv_waiting_open(&ctx->waiting);
    ctx->wisdom = opts->wisdom ? strdup(opts->wisdom) : NULL;
    if (opts->wisdom && !ctx->wisdom) {
        free(ctx);
        return spmv_fail(NULL, SPMV_E_NOMEM, "out of memory");
    }
    ctx->max_unpacked = opts->max_unpacked;
    if (opts->allocator) ctx->allocator = *opts->allocator;
    ctx->default_backend = spmv_backend_named(opts->backend ? opts->backend : "omp");
    get_threads(ctx, opts->threads ? opts->threads : spmv_default_threads());
    for (int b = 0; spmv_backends[b]; b++)
        ctx->device[b] = (spmv_device){.backend = spmv_backends[b],
                                       .ctx = ctx,
                                       .number = spmv_backends[b]->host ? 0 : opts->device,
                                       .threads = ctx->threads,
                                       .allocator = opts->allocator ? &ctx->allocator : NULL};
    *out = ctx;
    return SPMV_OK;
}

static spmv_status check_device(const spmv_ctx *ctx) {
    const spmv_device *device = ctx->device;
    char why[256];
    while (device->backend != ctx->default_backend) device++;
    if (is_available(device->backend, device->number, why, sizeof why)) return SPMV_OK;
    return spmv_fail(NULL, SPMV_E_BACKEND, "spmv_ctx_opts.backend: %s", why);
}

spmv_status spmv_ctx_create(const spmv_ctx_opts *opts, spmv_ctx **out) {
    GIVEN(NULL, out);
    TRY(spmv_ctx_create_lazily(opts, out));
    spmv_status status = check_device(*out);
    if (status == SPMV_OK) {
        spmv_forget_failure();
        return SPMV_OK;
    }
    spmv_ctx_free(*out);
    *out = NULL;
    return status;
}

spmv_status spmv_ctx_device(spmv_ctx *ctx, const spmv_backend *backend, spmv_device **out) {
    for (int b = 0; spmv_backends[b]; b++) {
        if (spmv_backends[b] != backend) continue;
        if (!ctx->opened[b]) {
            spmv_device_facts facts;
            TRY(backend->open(&ctx->device[b]));
            backend->describe(&ctx->device[b], &facts); /* takes as long as many products */
            ctx->cache[b] = backend->host ? spmv_host_cache() : facts.l2;
        }
        ctx->opened[b] = true;
        *out = &ctx->device[b];
    }
    return SPMV_OK;
}

spmv_status spmv_ctx_describe(spmv_ctx *ctx, const spmv_backend *backend, spmv_device_facts *out) {
    spmv_device *device = NULL;
    TRY(spmv_ctx_device(ctx, backend, &device));
    backend->describe(device, out);
    return SPMV_OK;
}

spmv_status spmv_ctx_probe(spmv_ctx *ctx, const spmv_backend *backend, size_t cache,
                           spmv_rates *out) {
    spmv_device *device = NULL;
    TRY(spmv_ctx_device(ctx, backend, &device));
    return backend->probe(device, cache, out);
}

bool spmv_ctx_state(spmv_ctx *ctx, const spmv_backend *backend, spmv_device_state *out) {
    spmv_device *device = NULL;
    if (!backend->state || spmv_ctx_device(ctx, backend, &device) != SPMV_OK) return false;
    backend->state(device, out);
    return true;
}

void spmv_ctx_free(spmv_ctx *ctx) {
    if (!ctx) return;
    ctx->freed = true;
    if (ctx->matrices > 0) return; /* the last matrix frees the context */
    for (int b = 0; spmv_backends[b]; b++)
        if (ctx->opened[b]) spmv_backends[b]->close(&ctx->device[b]);
    spmv_waiting_close(&ctx->waiting);
    free(ctx->wisdom);
    free(ctx);
}

int spmv_ctx_threads(const spmv_ctx *ctx) {
    return ctx ? ctx->threads : 0;
}
