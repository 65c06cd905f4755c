/* context.h: the context, its devices, and the options that callers give. */
#ifndef SPMV_CONTEXT_H
#define SPMV_CONTEXT_H

#include "spmv_backend.h"
#include "spmv_bench.h"
#include "spmv_kernel.h"
#include "spmv_waiting.h"
#include <string.h>

enum { SPMV_WISDOM_NOTE = 400 /* bytes of a note about the wisdom file */ };
struct spmv_ctx {
    const spmv_backend *default_backend; /* whose kernels unprefixed names mean */
    /* Devices stand in the order of spmv_backends; opened when first needed. */
    spmv_device device[SPMV_MOST_BACKENDS];
    bool opened[SPMV_MOST_BACKENDS];
    size_t cache[SPMV_MOST_BACKENDS]; /* last-level, of an opened device; 0: unknown */
    uint64_t warmed_up[SPMV_MOST_BACKENDS][SPMV_NVARIANTS]; /* a bit per kernel: warm_up.c */
    int threads;
    char fewer_threads[160]; /* why threads are fewer than were asked for; "": they are not */
    char *wisdom;            /* file, as in spmv_ctx_opts; owned */
    size_t max_unpacked;     /* as in spmv_ctx_opts */
    spmv_allocator allocator;
    spmv_waiting waiting;      /* how its teams wait */
    struct spmv_block *blocks; /* of host memory, from the allocator: few */
    char wisdom_notes[800];    /* what was noted about it */
    int matrices;              /* alive, and in need of this context */
    bool freed;                /* by its owner: the last matrix frees the memory */
    char error[1024];
    char note[1024]; /* of spmv_ctx_note */
};
/* Returns the device of a backend, which is opened if needed. */
spmv_status spmv_ctx_device(spmv_ctx *ctx, const spmv_backend *backend, spmv_device **out);

/* After it a failure without a context, of this thread's, is the text of no context: a new one has
 * no failure yet. */
void spmv_forget_failure(void);
/* Refuses a call whose argument is missing, and names it. ctx NULL: see spmv_ctx_error. */
#define GIVEN(ctx, argument) \
    do { \
        if (!(argument)) return spmv_fail(ctx, SPMV_E_ARG, "%s: " #argument " is NULL", __func__); \
    } while (0)

#endif
