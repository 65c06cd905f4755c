/* internal.h: declarations of core for the library itself, hidden from its callers. */
#ifndef SPMV_INTERNAL_H
#define SPMV_INTERNAL_H

#include "spmv_bench.h"
#include "spmv_environment.h"
#include "spmv_host.h"
#include "spmv_kernel.h"
#include "spmv_sum.h"
#include "spmv_waiting.h"
#include <math.h>
#include <time.h>

/* ---- csr.c: entries as a file holds them ---------------------------------------------------- */

typedef struct spmv_coo {
    int64_t rows, cols, nnz;
    int32_t *row, *col; /* [nnz], from 0; owned */
    double *values;     /* [nnz]; NULL: every entry is 1 */
    spmv_symmetry symmetry;
    spmv_field field;
    spmv_ctx *ctx;     /* whose memory they are */
    int64_t first_row; /* where these rows begin in a larger matrix; usually 0 */
} spmv_coo;
/* Allocates the arrays for rows, cols, nnz already set; with_values false leaves values NULL. */
spmv_status spmv_coo_alloc(spmv_ctx *ctx, spmv_coo *coo, bool with_values);
void spmv_coo_free(spmv_coo *coo); /* frees the arrays and zeroes the struct */

/* ---- the handles ---------------------------------------------------------------------------- */

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

typedef struct spmv_csr { /* the canonical CSR: as spmv_csr_view, but owned */
    int64_t rows, cols, nnz;
    int64_t *row_ptr;
    int32_t *col_idx;
    double *values;
    bool as_given; /* the entries that it was made of are its own, in its order */
    struct {
        bool row_ptr, col_idx, values;
    } lent;                       /* by the caller, who owns them */
    int64_t merged, merged_above; /* duplicates that were added; of these, above the diagonal */
} spmv_csr;

typedef struct spmv_stored { /* a store made of a matrix, and its copy on a device */
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
} spmv_stored;

struct spmv_mat {
    spmv_ctx *ctx;
    spmv_coo coo;
    spmv_csr csr;
    bool borrowed, borrowed_values; /* the caller owns the entries' places; their values */
    bool freed;                     /* by its owner: the last plan frees the memory */
    bool by_columns;                /* its entries are those of csr, but in the order of columns:
                                       coo has them once they were asked for */
    bool values_change;             /* as spmv_values_change: before new ones are first written */
    bool to_count;                  /* stats that all entries are read for are not there yet */
    int nplans;                     /* alive, and in need of this matrix */
    spmv_plan *plans;               /* they */
    spmv_precision precision;       /* of the values that were given */
    /* Brings csr, or its values, from the device, which alone has them; NULL: they are here. */
    spmv_status (*fetch)(spmv_mat *mat);
    spmv_stored *source; /* one of stores: the rows on a device, of which the matrix was made */
    struct spmv_origin *origin; /* of the values of csr in those given; NULL: not needed yet */
    double begun;               /* when it was, by spmv_now */
    spmv_stats stats;
    spmv_stored *stores;
    spmv_mat *transpose; /* owned; NULL: not needed yet */
    spmv_mat *base;      /* of which this is the transpose; NULL: of none, or it was freed */
    uint32_t *turned;    /* [nnz] of a transpose: the entries of base's rows; NULL: not kept */
    void *turned_there;  /* the same in the memory of source's device; NULL: not asked for yet */
    spmv_live *live;     /* one of stores: arrays that may change; NULL: they do not */
};

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

static inline double spmv_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the seconds that the calling thread had a core so far. */
static inline double spmv_thread_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Says whether entry k, of row i, has a mirror image with the same bits. */
static inline bool is_mirrored(const spmv_csr_view *A, int64_t i, int64_t k) {
    int64_t j = A->col_idx[k], other = j < A->rows ? spmv_find_entry(A, j, i) : -1;
    return other >= 0 && spmv_bits(A->values[other]) == spmv_bits(A->values[k]);
}

/* ---- host.c: memory -------------------------------------------------------------------------- */

/* From now on spmv_host_most is counted; returns the bytes that spmv_host_alloc gave and that are
 * in use, by the whole process. */
size_t spmv_host_watch(void);
size_t spmv_host_most(void); /* the most in use since */

/* ---- host.c ---------------------------------------------------------------------------------- */

/* OMP_NUM_THREADS, else the least of affinity, cgroup quota and physical cores. */
int spmv_default_threads(void);
/* Once for a process: after it fork() leaves parent and child with an OpenMP that works, and the
 * OpenMP runtime, in which the threads of its teams wait, is never unloaded. */
void spmv_host_prepare_process(void);
int spmv_host_forks(void); /* since then, between the first process and this one */

/* ---- waiting.c ------------------------------------------------------------------------------ */

/* Returns how many threads prepare that many rows and entries. A team that comes waits asleep where
 * cores are shared. */
int spmv_threads_for(spmv_ctx *ctx, int64_t items);

/* ---- matrix.c ------------------------------------------------------------------------------- */

/* Allocates a matrix without entries. */
spmv_status spmv_mat_new(spmv_ctx *ctx, spmv_mat **out);
/* Finishes a matrix after mat->coo was filled with this status: *out gets the matrix with its
 * canonical CSR, or it is freed. */
spmv_status spmv_mat_finish(spmv_mat *mat, spmv_status status, spmv_mat **out);
/* Checks what is asked of every matrix. */
spmv_status spmv_check_dimensions(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz);
spmv_status spmv_check_symmetry(spmv_ctx *ctx, spmv_symmetry symmetry, int64_t rows, int64_t cols);
/* Brings the rows to host memory, if a device alone has them or their values: before views are
 * relied on. */
spmv_status spmv_mat_bring(const spmv_mat *mat);
/* Returns the canonical CSR with values in its order. */
spmv_csr_view spmv_rows_with(const spmv_mat *mat, const double *values);
/* Frees as spmv_mat_free does, but devices keep the released memory for later allocations, and no
 * plan may be alive. */
void spmv_mat_put_away(spmv_mat *mat);
/* Frees the transpose, if there is one, or leaves that to its last plan. */
void spmv_mat_drop_transpose(spmv_mat *mat);
size_t spmv_mat_own_bytes(const spmv_mat *mat); /* in host memory, without what the caller lent */

/* ---- sample.c: what is sampled of a matrix for its features (spmv_sample.h) ------------------ */

typedef enum spmv_sampling_depth {
    SPMV_SAMPLE_NONE,
    SPMV_SAMPLE_QUICK, /* 3,000 entries */
    SPMV_SAMPLE_FULL   /* 16,000 entries; for a GPU columns that repeat, else symmetry */
} spmv_sampling_depth;
/* Samples a matrix that has entries: by so many threads of the host or, if its rows lie on a device
 * alone, there. readers: SPMV_FOR_...; depth: not NONE. Lasts as long as the matrix's rows; on
 * failure (SPMV_E_NOMEM, SPMV_E_DEVICE) there is nothing to free. */
spmv_status spmv_sample_take(spmv_mat *mat, spmv_sampling_depth depth, int readers, int threads,
                             spmv_sample *out);
void spmv_sample_free(spmv_sample *sample);

/* ---- csr.c: the canonical CSR --------------------------------------------------------------- */

/* Expands symmetry, sorts each row by column and sums duplicates. On failure *out holds nothing. */
spmv_status spmv_csr_build(spmv_ctx *ctx, const spmv_coo *coo, int threads, spmv_csr *out);
/* SPMV_E_NOMEM: so many bytes, for compressed rows of these sizes, are more than are free. */
spmv_status spmv_host_fits(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz, double need);
/* Checks before anything is allocated that it fits the host's memory. */
spmv_status spmv_csr_fits(spmv_ctx *ctx, const spmv_coo *coo);
void spmv_csr_free(spmv_ctx *ctx,
                   spmv_csr *A); /* frees the arrays that are its own and zeroes the struct */

/* ---- tally.c -------------------------------------------------------------------------------- */

/* Fills in what row_ptr says of the finished CSR; the bandwidth and the hash. */
void spmv_csr_lengths(const spmv_csr *A, int threads, spmv_stats *stats);
void spmv_csr_count(const spmv_csr *A, int threads, spmv_stats *stats);

/* ---- plan.c, store_cache.c ------------------------------------------------------------------- */

typedef struct spmv_tuning { /* how a plan came to be chosen: as in spmv_plan_facts */
    char reason[1400];
    const char *baseline;
    int timed;
    double tune_s, chosen_product_s, baseline_product_s;
    size_t flush_bytes;
    char date[24];                   /* when the choice was made, if it was remembered; else "" */
    char note[2 * SPMV_WISDOM_NOTE]; /* what the plan's note points to, if that is about wisdom */
} spmv_tuning;

/* Says whether the kernel's results are the same in every run, as spmv_plan_facts.reproducible. */
int spmv_repeats(const spmv_backend *backend, const spmv_kernel *kernel);
/* Finds the one kernel that the name means; NULL: "auto". */
spmv_status spmv_plan_kernel(spmv_ctx *ctx, const char *name, spmv_kernel_id *out);
/* Makes a plan as spmv_plan_create does, of options that were read and a kernel other than "auto";
 * by the transpose only of a kernel that transposes (SPMV_TRANSPOSES).
 * only_quick: refuses if the device has no room to convert, so that the host would have to. */
spmv_status spmv_plan_make(spmv_mat *mat, const spmv_plan_opts *opts, bool only_quick,
                           spmv_plan **out);
static inline bool spmv_needs_wide_offsets(int64_t nnz) {
    /* Kernels step past the end of a row by up to a block of threads before they stop. */
    enum { WIDEST_STEP = 4096 };
    return nnz > INT32_MAX - WIDEST_STEP;
}
static inline int spmv_variant_of(spmv_precision precision, bool wide) {
    return precision == SPMV_F32 ? (wide ? SPMV_F32_O64 : SPMV_F32_O32)
                                 : (wide ? SPMV_F64_O64 : SPMV_F64_O32);
}
/* Returns the variant (precision and width of offsets) that a plan of these options would have. */
spmv_status spmv_plan_variant(spmv_mat *mat, const spmv_plan_opts *opts, int *out);
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

/* SPMV_E_ARG unless it is 0 or a layout; owner: the struct that has it. */
static inline spmv_status spmv_check_layout(spmv_ctx *ctx, const char *owner, spmv_layout layout) {
    if (layout == 0 || layout == SPMV_COLUMNS || layout == SPMV_ROWS) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "%s.layout is %d, must be 0, SPMV_COLUMNS (%d) or SPMV_ROWS (%d)", owner,
                     layout, SPMV_COLUMNS, SPMV_ROWS);
}

/* ---- transpose.c ----------------------------------------------------------------------------- */

/* The matrix that multiplies by the transpose: another one, which this one owns, with its rows in
 * host memory; or, if it is symmetric or skew-symmetric, itself. */
spmv_status spmv_transpose_of(spmv_mat *mat, spmv_mat **out);
/* Frees what plans of the transpose, if there is one, do not need of it: rows that can be made
 * again. */
void spmv_transpose_settle(spmv_mat *mat);

/* ---- live.c: matrices of arrays that may change --------------------------------------------- */

/* Makes one of arrays that were checked. */
spmv_status spmv_live_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out);
/* Gives products that begin from here on another array of values. */
spmv_status spmv_live_set_values(spmv_mat *mat, const void *values, spmv_place place);
/* Refuses plans that there are not of such a matrix. */
spmv_status spmv_live_check(const spmv_mat *mat, const spmv_plan_opts *opts, spmv_kernel_id id);
spmv_status spmv_live_variant(const spmv_mat *mat, const spmv_plan_opts *opts, int *out);
void spmv_live_attach(spmv_plan *plan); /* gives the plan its store */
/* Returns SPMV_E_UNSUITABLE with a text: what was asked for needs a matrix that stays. */
spmv_status spmv_live_refuse(spmv_mat *mat);

/* ---- store.c -------------------------------------------------------------------------------- */

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
