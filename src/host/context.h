/* context.h: the context, its devices, and reading and filling of structs that callers pass. */
#ifndef SPMV_CONTEXT_H
#define SPMV_CONTEXT_H

#include "spmv_backend.h"
#include "spmv_bench.h"
#include "spmv_kernel.h"
#include "spmv_opts.h"
#include "spmv_waiting.h"
#include <string.h>

enum { SPMV_WISDOM_NOTE = 400 /* bytes of a note about the wisdom file */ };
struct spmv_ctx {
    const spmv_backend *default_backend; /* backend of kernel names without a prefix */
    /* Indexed like spmv_backends; opened when first needed. */
    spmv_device device[SPMV_MOST_BACKENDS];
    bool opened[SPMV_MOST_BACKENDS];
    size_t cache[SPMV_MOST_BACKENDS]; /* bytes of an opened device's last-level cache; 0: unknown */
    uint64_t warmed_up[SPMV_MOST_BACKENDS][SPMV_NVARIANTS]; /* one bit per kernel (warm_up.c) */
    int threads;
    char fewer_threads[160]; /* explanation if the process cannot create as many threads as asked
                                for; otherwise "" */
    char *wisdom;            /* path, as in spmv_ctx_opts; owned */
    size_t max_unpacked;     /* as in spmv_ctx_opts */
    spmv_allocator allocator;
    spmv_waiting waiting;      /* waiting strategy of its threads */
    struct spmv_block *blocks; /* host memory from the caller's allocator; a short list */
    char wisdom_notes[800];    /* notes about the wisdom file */
    int matrices;              /* number of matrices that use this context */
    bool freed;                /* freed by its owner; the last matrix frees the memory */
    char error[1024];
    char note[1024]; /* text of spmv_ctx_note */
};
/* Returns the device of a backend, and opens it if needed. */
spmv_status spmv_ctx_device(spmv_ctx *ctx, const spmv_backend *backend, spmv_device **out);

/* Forgets this thread's failure of a call without a context, so that a new context reports none. */
void spmv_forget_failure(void);
/* Fails with SPMV_E_ARG if the argument is NULL. ctx = NULL: see spmv_ctx_error. */
#define GIVEN(ctx, argument) \
    do { \
        if (!(argument)) return spmv_fail(ctx, SPMV_E_ARG, "%s: " #argument " is NULL", __func__); \
    } while (0)

static inline spmv_status spmv_read_opts(spmv_ctx *ctx, const char *name, void *known, size_t size,
                                         const void *from) {
    char why[SPMV_WHY];
    if (spmv_opts_read(name, known, size, from, why)) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%s", why);
}

static inline spmv_status spmv_fill(spmv_ctx *ctx, const char *name, const void *known, size_t size,
                                    void *to) {
    char why[SPMV_WHY];
    if (spmv_opts_fill(name, known, size, to, why)) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%s", why);
}

#endif
