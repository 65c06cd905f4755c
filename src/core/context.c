/* context.c: a context: its backends' devices, opened when first needed. */
#include "internal.h"
#include <stdlib.h>

spmv_status spmv_ctx_create(const spmv_ctx_opts *opts, spmv_ctx **out) {
    spmv_ctx_opts known = SPMV_OPTS(spmv_ctx_opts);
    *out = NULL;
    if (!spmv_read_opts(&known, sizeof known, opts)) return SPMV_E_ARG;
    opts = &known;
    const spmv_backend *chosen = spmv_backend_named(opts->backend ? opts->backend : "omp");
    if (!chosen || opts->threads < 0 || opts->device < 0) return SPMV_E_ARG;
    spmv_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx) return SPMV_E_NOMEM;
    ctx->default_backend = chosen;
    ctx->threads = opts->threads ? opts->threads : spmv_default_threads();
    for (int b = 0; spmv_backends[b]; b++)
        ctx->device[b] = (spmv_device){.backend = spmv_backends[b],
                                       .ctx = ctx,
                                       .number = spmv_backends[b]->host ? 0 : opts->device,
                                       .threads = ctx->threads};
    *out = ctx;
    return SPMV_OK;
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
    for (int b = 0; spmv_backends[b]; b++)
        if (ctx->opened[b]) spmv_backends[b]->close(&ctx->device[b]);
    free(ctx);
}

int spmv_ctx_threads(const spmv_ctx *ctx) {
    return ctx->threads;
}
