/* stored.h: stores of a matrix, in host memory and on devices. */
#ifndef SPMV_STORED_H
#define SPMV_STORED_H

#include "matrix/matrix.h"

struct spmv_stored { /* a store made of a matrix, and its copy on a device */
    const spmv_format *format;
    spmv_choice choice;        /* only the format's own parameters matter */
    const spmv_device *device; /* of copy; NULL: none yet */
    spmv_store *host, *copy;   /* copy: on a device with memory of its own; else NULL */
    bool only_on_device;       /* host describes the store, without arrays */
    void *row_ptr;             /* on the device, for new values; NULL: not needed yet */
    /* For each place of its values: which given value it holds, from 1; 0: padding. NULL: not
     * known. */
    uint32_t *given[SPMV_MOST_PLACES];
    size_t given_bytes;
    const char *note;           /* as in spmv_plan_facts */
    double convert_s, upload_s; /* as if built alone, including rows_s */
    double rows_s;              /* seconds of the rows on the device that it was built from */
    double built, placed, rows_placed; /* when, by spmv_now */
    struct spmv_stored *next;
};

/* ---- store_cache.c --------------------------------------------------------------------------- */

static inline bool spmv_needs_wide_offsets(int64_t nnz) {
    /* Kernels step past the end of a row by up to a block of threads before they stop. */
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
/* Bytes of a plan's own memory where it runs. */
static inline size_t spmv_plan_scratch(const spmv_plan *plan) {
    return plan->scratch_bytes + plan->panel_bytes +
           (plan->sums_room ? plan->device->backend->sums_bytes : 0);
}
/* Says how a backend's devices build the format in their own memory; NULL: they cannot. */
const spmv_device_format *spmv_device_builder(const spmv_backend *backend, const char *format,
                                              int variant);
/* Finds the plan's store where its kernel runs, or builds it if it fits. max_bytes: as in
 * spmv_plan_opts; only_quick: as above. */
spmv_status spmv_plan_attach(spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                             bool only_quick);
/* Says whether a store of that many bytes is mostly padding: one giant row makes SELL or ELL read
 * many times what CSR reads. It is refused though it would fit; with max_bytes it is built
 * nevertheless. */
bool spmv_is_padding(const spmv_csr_view *view, int variant, size_t store);
void spmv_stored_free(spmv_ctx *ctx, spmv_stored *list);
/* Frees the store at that place of a list, where the next one is then. */
void spmv_stored_drop(spmv_ctx *ctx, spmv_stored **at);
/* Frees the stores that no plan uses. */
void spmv_stored_drop_unused(spmv_mat *mat);
/* Returns a plan that uses the store; NULL: none does. */
const spmv_plan *spmv_stored_plan(const spmv_mat *mat, const spmv_stored *stored);

/* The plan's store. */
const spmv_stored *spmv_stored_of(const spmv_plan *plan);
/* Returns the rows of which the matrix was made, if they are on the plan's device; NULL: they are
 * not. */
const spmv_stored *spmv_source_of(const spmv_plan *plan);
static inline size_t spmv_row_ptr_bytes(const spmv_plan *plan) { /* in the plan's width */
    return (size_t)(plan->matrix->csr.rows + 1) * (size_t)spmv_plan_offset_bits(plan) / 8;
}
/* Adds the bytes that the plan and its store keep, without what they borrow. */
void spmv_plan_add_resident(const spmv_plan *plan, size_t *host, size_t *device);
/* The part after start of the seconds that the plan reports for its store; of these, sending it. */
double spmv_plan_stored_since(const spmv_plan *plan, double start);
double spmv_plan_sent_since(const spmv_plan *plan, double start);

/* ---- store.c --------------------------------------------------------------------------------- */

size_t spmv_store_own_bytes(const spmv_store *store); /* without those it borrows */
void *spmv_store_at(const spmv_store *store, int k);  /* its k-th array */
void spmv_store_set(spmv_store *store, int k, void *memory);
/* Puts all arrays of the store out of the caches; returns false if the backend cannot. */
bool spmv_store_evict(const spmv_backend *backend, spmv_device *device, const spmv_store *store);
/* Writes the arrays of a store, in host memory or the device's own, over those of its copy. */
spmv_status spmv_store_rewrite(spmv_device *device, const spmv_store *from, spmv_store *copy);
/* Copies a store from the device to host memory. */
spmv_status spmv_store_download(spmv_device *device, const spmv_store *copy, spmv_store **out);
/* Copies a store, in host memory or the device's own, to the device. */
spmv_status spmv_store_upload(spmv_device *device, const spmv_store *from, spmv_store **out);

#endif
