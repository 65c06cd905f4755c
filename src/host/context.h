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

/* Reads the size that a caller's struct begins with. */
static inline spmv_status spmv_read_size(spmv_ctx *ctx, const char *name, const void *theirs,
                                         size_t *out) {
    enum { LARGEST = 1 << 12 }; /* no struct is that large: the size is not one */
    memcpy(out, theirs, sizeof *out);
    if (*out >= sizeof *out && *out <= LARGEST) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%s.size is %zu, not set: write %s s = SPMV_OPTS(%s)", name,
                     *out, name, name);
}

/* Copies options to *known, which holds the defaults: members that a caller of an older header does
 * not have keep them; those that only a newer header has must be zero. from NULL: all defaults. */
static inline spmv_status spmv_read_opts(spmv_ctx *ctx, const char *name, void *known, size_t size,
                                         const void *from) {
    size_t given = size;
    if (from) TRY(spmv_read_size(ctx, name, from, &given));
    for (size_t k = size; k < given; k++)
        if (((const char *)from)[k])
            return spmv_fail(ctx, SPMV_E_ARG,
                             "%s has %zu bytes, of which this library knows %zu, and byte %zu "
                             "is set: it is of a newer header",
                             name, given, size, k);
    if (from) memcpy(known, from, given < size ? given : size);
    return SPMV_OK;
}

/* Fills a caller's struct from *known, without the members that an older header does not have; its
 * size stays. */
static inline spmv_status spmv_fill(spmv_ctx *ctx, const char *name, const void *known, size_t size,
                                    void *to) {
    size_t given;
    TRY(spmv_read_size(ctx, name, to, &given));
    const size_t end = given < size ? given : size;
    memcpy((char *)to + sizeof given, (const char *)known + sizeof given, end - sizeof given);
    return SPMV_OK;
}

#endif
