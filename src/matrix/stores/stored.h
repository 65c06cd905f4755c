/* stored.h: stores of a matrix in host memory and on devices. */
#ifndef SPMV_STORED_H
#define SPMV_STORED_H

#include "matrix/matrix.h"

struct spmv_stored { /* a store of a matrix, and its copy on a device */
    const spmv_format *format;
    spmv_choice choice;        /* only the format's own parameters matter */
    const spmv_device *device; /* device that has copy; NULL: none yet */
    spmv_store *host, *copy;   /* copy: in device memory; on a host backend NULL */
    bool only_on_device;       /* host has sizes but no arrays */
    void *row_ptr;             /* offsets of rows on the device, for new values; NULL: not needed
                                  yet */
    int32_t *order; /* [rows] order of the rows of a store that is only on the device, in host
                       memory; NULL: none */
    /* For each slot of a values array: 1 + index of the given value that the slot holds; 0:
     * padding. NULL: unknown. */
    uint32_t *given[SPMV_MOST_PLACES];
    size_t given_bytes;
    const char *note;                  /* as in spmv_plan_facts */
    double convert_s, upload_s;        /* seconds as if built alone, including rows_s */
    double rows_s;                     /* seconds for sending and converting the rows from which the
                                          device built it */
    double built, placed, rows_placed; /* times by spmv_now */
    struct spmv_stored *next;
};

/* ---- store_cache.c --------------------------------------------------------------------------- */

static inline bool spmv_needs_wide_offsets(int64_t nnz) {
    /* Kernels step past the end of a row by up to one block of threads before they stop. */
    enum { WIDEST_STEP = 4096 };
    return nnz > INT32_MAX - WIDEST_STEP;
}
static inline int spmv_variant_of(spmv_precision precision, bool wide) {
    return precision == SPMV_F32 ? (wide ? SPMV_F32_O64 : SPMV_F32_O32)
                                 : (wide ? SPMV_F64_O64 : SPMV_F64_O32);
}
static inline bool spmv_plan_is_f32(const spmv_plan *plan) {
    return plan->variant == SPMV_F32_O32 || plan->variant == SPMV_F32_O64;
}
static inline size_t spmv_plan_width(const spmv_plan *plan) { /* bytes of a value */
    return spmv_plan_is_f32(plan) ? sizeof(float) : sizeof(double);
}
static inline int spmv_plan_offset_bits(const spmv_plan *plan) {
    return plan->variant == SPMV_F64_O64 || plan->variant == SPMV_F32_O64 ? 64 : 32;
}
/* Returns the bytes of a plan's workspace on its device. */
static inline size_t spmv_plan_scratch(const spmv_plan *plan) {
    return plan->scratch_bytes + plan->panel_bytes +
           (plan->sums_room ? plan->device->backend->sums_bytes : 0);
}
/* Returns the functions by which a backend's devices build the format in their memory; NULL:
 * none. */
const spmv_device_format *spmv_device_builder(const spmv_backend *backend, const char *format,
                                              int variant);
/* Finds or builds the plan's store, on its device. max_bytes: as in spmv_plan_opts; only_quick: as
 * in spmv_plan_make. */
spmv_status spmv_plan_attach(spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                             bool only_quick);
/* Returns whether a store of that many bytes is mostly padding: one giant row makes SELL or ELL
 * read many times the bytes of CSR. Such a store is refused even if it fits, unless max_bytes is
 * set. */
bool spmv_is_padding(const spmv_csr_view *view, int variant, size_t store);
void spmv_stored_free(spmv_ctx *ctx, spmv_stored *list);
/* Frees the store *at of a list; *at is then the next one. */
void spmv_stored_drop(spmv_ctx *ctx, spmv_stored **at);
/* Frees the stores that no plan uses. */
void spmv_stored_drop_unused(spmv_mat *mat);
/* Returns a plan that uses the store; NULL: none. */
const spmv_plan *spmv_stored_plan(const spmv_mat *mat, const spmv_stored *stored);

/* Returns the plan's store. */
const spmv_stored *spmv_stored_of(const spmv_plan *plan);
/* Returns the rows from which the matrix was created, if they are on the plan's device; else
 * NULL. */
const spmv_stored *spmv_source_of(const spmv_plan *plan);
/* bytes in the plan's width of offsets */
static inline size_t spmv_row_ptr_bytes(const spmv_plan *plan) {
    return (size_t)(plan->matrix->csr.rows + 1) * (size_t)spmv_plan_offset_bits(plan) / 8;
}
/* Adds the bytes that the plan and its store own, without borrowed memory. */
void spmv_plan_add_resident(const spmv_plan *plan, size_t *host, size_t *device);
/* Returns the seconds reported for the plan's store that fall after `start`; the second function:
 * only those for sending. */
double spmv_plan_stored_since(const spmv_plan *plan, double start);
double spmv_plan_sent_since(const spmv_plan *plan, double start);

/* ---- store.c --------------------------------------------------------------------------------- */

size_t spmv_store_own_bytes(const spmv_store *store); /* without borrowed arrays */
void *spmv_store_at(const spmv_store *store, int k);  /* array k */
void spmv_store_set(spmv_store *store, int k, void *memory);
/* Evicts all arrays of the store from the caches. Returns false if the backend cannot. */
bool spmv_store_evict(const spmv_backend *backend, spmv_device *device, const spmv_store *store);
/* Overwrites the arrays of `copy` by those of `from`, which is in host memory or the device's
 * own. */
spmv_status spmv_store_rewrite(spmv_device *device, const spmv_store *from, spmv_store *copy);
/* Copies a store from the device to host memory. */
spmv_status spmv_store_download(spmv_device *device, const spmv_store *copy, spmv_store **out);
/* Copies a store, from host memory or the device's own, to the device. */
spmv_status spmv_store_upload(spmv_device *device, const spmv_store *from, spmv_store **out);

#endif
