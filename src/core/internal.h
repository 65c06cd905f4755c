/* internal.h: what the files of core share with the rest of the library, and with nobody else. */
#ifndef SPMV_INTERNAL_H
#define SPMV_INTERNAL_H

#include "spmv_bench.h"
#include "spmv_kernel.h"
#include <time.h>

/* ---- coo.c: entries as a file holds them ---------------------------------------------------- */

typedef struct spmv_coo {
    int64_t rows, cols, nnz;
    int32_t *row, *col; /* [nnz], from 0; owned, spmv_host_alloc */
    double *values;     /* [nnz]; NULL: every entry is 1 */
    spmv_symmetry symmetry;
    spmv_field field;
} spmv_coo;
/* Allocates the arrays for rows, cols, nnz already set; with_values false leaves values NULL. */
spmv_status spmv_coo_alloc(spmv_ctx *ctx, spmv_coo *coo, bool with_values);
void spmv_coo_free(spmv_coo *coo); /* frees the arrays and zeroes the struct */

/* ---- the handles ---------------------------------------------------------------------------- */

enum { SPMV_MAX_BACKENDS = 4 };
struct spmv_ctx {
    const spmv_backend *default_backend; /* where unprefixed names are looked up */
    spmv_device
        device[SPMV_MAX_BACKENDS]; /* in the order of spmv_backends; opened when first needed */
    bool opened[SPMV_MAX_BACKENDS];
    size_t cache[SPMV_MAX_BACKENDS]; /* last-level, of an opened device; 0: unknown */
    uint64_t rehearsed[SPMV_MAX_BACKENDS][SPMV_NVARIANTS]; /* kernels, a bit each: warm_up.c */
    int threads;
    char error[1024];
};
/* host.c: OMP_NUM_THREADS, else the least of affinity, cgroup quota and physical cores. */
int spmv_default_threads(void);
/* The opened device of a backend. */
spmv_status spmv_ctx_device(spmv_ctx *ctx, const spmv_backend *backend, spmv_device **out);

typedef struct spmv_rows { /* the hub: as spmv_csr_view, owned */
    int64_t rows, cols, nnz;
    int64_t *row_ptr;
    int32_t *col_idx;
    double *values;
} spmv_rows;

typedef struct spmv_stored { /* a store made of a matrix, and its copy on a device */
    const spmv_format *format;
    spmv_choice choice;         /* the format's own parameters count */
    const spmv_device *device;  /* of copy; NULL: none yet */
    spmv_store *host, *copy;    /* on a host backend copy == host */
    bool only_on_device;        /* host: what the store is, without its arrays */
    const char *note;           /* as in spmv_plan_facts */
    double convert_s, upload_s; /* what it costs alone: with rows_s */
    double rows_s;              /* of the compressed rows on the device that it was built from */
    double built, placed, rows_placed; /* when, by spmv_now */
    struct spmv_stored *next;
} spmv_stored;

struct spmv_mat {
    spmv_ctx *ctx;
    spmv_coo coo;
    spmv_rows hub;
    bool borrowed; /* the caller owns the arrays the matrix was made from */
    spmv_stats stats;
    spmv_stored *stores;
};

/* Options as this library knows them: members a caller of an older header does not have keep their
 * defaults in *known. from NULL: all defaults. False: the size was not set. */
static inline bool spmv_read_opts(void *known, size_t size, const void *from) {
    size_t given = size;
    if (from) memcpy(&given, from, sizeof given);
    if (given < sizeof given) return false;
    if (from) memcpy(known, from, given < size ? given : size);
    return true;
}

static inline double spmv_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- matrix.c ------------------------------------------------------------------------------- */

/* A matrix without entries yet. */
spmv_status spmv_mat_new(spmv_ctx *ctx, spmv_mat **out);
/* Once mat->coo is filled, which went so: *out gets the matrix with its compressed rows, or it is
 * freed. */
spmv_status spmv_mat_finish(spmv_mat *mat, spmv_status status, spmv_mat **out);
/* spmv_mat_free, but devices keep the memory for what follows. */
void spmv_mat_put_away(spmv_mat *mat);

/* ---- csr.c: the hub ------------------------------------------------------------------------- */

/* Expands symmetry, sorts each row by column, sums duplicates. Fills the counts of *stats that come
 * from it. */
spmv_status spmv_rows_build(spmv_ctx *ctx, const spmv_coo *coo, int threads, spmv_rows *out,
                            spmv_stats *stats);
void spmv_rows_free(spmv_rows *rows);
/* Row lengths, bandwidth and hash of the finished rows. */
void spmv_rows_stats(const spmv_rows *rows, int threads, spmv_stats *stats);

/* ---- plan.c, store_cache.c ------------------------------------------------------------------- */

typedef struct spmv_tuning { /* how a plan came to be chosen: as in spmv_plan_facts */
    char reason[1400];
    const char *safe;
    int timed;
    double tune_s, chosen_product_s, safe_product_s;
    size_t flush_bytes;
} spmv_tuning;

/* The one kernel that a plan's options name; NULL: the default of the context's backend. */
spmv_status spmv_plan_kernel(spmv_ctx *ctx, const char *name, spmv_kernel_id *out);
/* spmv_plan_create of options that were read and of a kernel that is not "auto". only_quick: what
 * the host would have to convert for a device, which has no room to do it itself, is refused. */
spmv_status spmv_plan_make(spmv_mat *mat, const spmv_plan_opts *opts, bool only_quick,
                           spmv_plan **out);
/* The precision and width of offsets that a plan of these options would have. */
spmv_status spmv_plan_variant(spmv_mat *mat, const spmv_plan_opts *opts, int *out);
/* Finds the plan's store where its kernel runs or builds it, if it fits; max_bytes: as in
 * spmv_plan_opts. */
spmv_status spmv_plan_attach(spmv_plan *plan, const spmv_format *format, size_t max_bytes,
                             bool only_quick);
/* A store of that size is mostly padding: one giant row makes SELL or ELL read many times what CSR
 * reads. Refused though it would fit; --max-mem is the word of who wants it nevertheless. */
bool spmv_is_padding(const spmv_csr_view *view, int variant, size_t store);
void spmv_stored_free(spmv_ctx *ctx, spmv_stored *list);
/* What went by after start of the time that the plan books for its store; of that, sending it. */
double spmv_plan_stored_since(const spmv_plan *plan, double start);
double spmv_plan_sent_since(const spmv_plan *plan, double start);

/* ---- store.c -------------------------------------------------------------------------------- */

/* Puts all its arrays out of the caches; false: the backend cannot. */
bool spmv_store_evict(const spmv_backend *backend, spmv_device *device, const spmv_store *store);
/* Of a store in host memory, or in the device's own. */
spmv_status spmv_store_upload(spmv_device *device, const spmv_store *from, spmv_store **out);
void spmv_store_free_on(spmv_device *device, spmv_store *copy);

/* ---- names.c -------------------------------------------------------------------------------- */

/* The nearest of candidates (NULL at the end) to word, or NULL when none is near. */
const char *spmv_nearest(const char *word, const char *const *candidates);

#endif
