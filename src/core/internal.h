/* internal.h: prototypes private to the library (src/, list lib_src of the Makefile). */
#ifndef SPMV_INTERNAL_H
#define SPMV_INTERNAL_H

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
    const spmv_backend *fallback; /* where unprefixed names are looked up */
    spmv_device
        device[SPMV_MAX_BACKENDS]; /* in the order of spmv_backends; opened when first needed */
    bool opened[SPMV_MAX_BACKENDS];
    size_t cache[SPMV_MAX_BACKENDS]; /* last-level, of an opened device; 0: unknown */
    uint64_t rehearsed[SPMV_MAX_BACKENDS][SPMV_NVARIANTS]; /* kernels, a bit each: rehearse.c */
    int threads;
    char error[1024];
};
/* threads.c: OMP_NUM_THREADS, else the least of affinity, cgroup quota and physical cores. */
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

/* ---- mmio.c: Matrix Market ------------------------------------------------------------------ */

typedef void (*spmv_progress)(void *arg, double done);
/* path: a file, compressed or not (archive.c), or a pipe. progress may be NULL. On failure *out is
 * zeroed. */
spmv_status spmv_read_matrix_market(spmv_ctx *ctx, const char *path, int threads,
                                    spmv_progress progress, void *arg, spmv_coo *out);
/* What the header announces; nnz with both halves of a symmetric matrix. */
spmv_status spmv_read_header(spmv_ctx *ctx, const char *path, spmv_stats *out);
/* Writes a general coordinate file in the narrowest field, not narrower than field, that holds the
 * values. */
spmv_status spmv_write_matrix_market(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                                     spmv_field field);
/* Reads or writes an n x 1 array file, or raw little-endian doubles when path ends in .f64; *out is
 * malloc's. */
spmv_status spmv_read_vector(spmv_ctx *ctx, const char *path, int64_t *n, double **out);
spmv_status spmv_write_vector(spmv_ctx *ctx, const char *path, int64_t n, const double *x);

/* ---- archive.c: text out of compressed files and tar archives ------------------------------- */

enum { SPMV_MAGIC_BYTES = 512 }; /* of a file's beginning, enough for spmv_is_archive */
typedef struct spmv_archive spmv_archive;
/* Whether a file that begins so is compressed or a tar archive. */
bool spmv_is_archive(const unsigned char *head, size_t nhead);
/* Opens what stands in fd behind head, which was read from it already (nhead <= SPMV_MAGIC_BYTES),
 * and chooses the entry of a tar archive; fd stays the caller's. */
spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, int fd, const unsigned char *head,
                              size_t nhead, spmv_archive **out);
/* The next bytes of the text, at most capacity; 0 at its end, -1 when it is damaged:
 * spmv_archive_error says how. */
ptrdiff_t spmv_archive_read(spmv_archive *archive, char *text, size_t capacity);
const char *spmv_archive_error(spmv_archive *archive);
void spmv_archive_close(spmv_archive *archive);

/* ---- number.c: decimal text to the nearest double ------------------------------------------- */

enum {
    SPMV_TEXT_PAD = 16
}; /* bytes that must be readable behind any text scanned, the first no digit */
enum {
    SPMV_MIN_Q = -342,
    SPMV_MAX_Q = 308
}; /* w 10^q, 0 < w < 2^64, is 0 below and infinite above */
typedef struct spmv_powers {
    uint64_t five[SPMV_MAX_Q - SPMV_MIN_Q + 1][2]; /* leading 128 bits of 5^q, high half first */
} spmv_powers;
void spmv_powers_init(spmv_powers *powers);
/* Scans [+-] digits[.digits][e|E|d|D[+-]digits], inf, infinity or nan in any case, whatever the
 * locale. Returns the first character behind the number, or NULL when there is none. */
const char *spmv_scan_double(const spmv_powers *powers, const char *text, double *out);
/* Whether text begins with word, given in lower case; ASCII letters of either case match, whatever
 * the locale. */
bool spmv_begins_with(const char *text, const char *word);

/* Counts the digits, at most 8, that text begins with, and puts their value in *value: no loop,
 * hence no branch that depends on how many there are. Eight characters are one 64-bit word, the
 * first in its lowest byte. */
static inline int spmv_scan_8_digits(const char *text, uint64_t *value) {
    uint64_t x;
    memcpy(&x, text, sizeof x);
    x ^= 0x3030303030303030; /* digits become 0..9; adding 0x76 sets the top bit of every other byte
                              */
    uint64_t other = ((x + 0x7676767676767676) | x) & 0x8080808080808080;
    int n = other ? __builtin_ctzll(other) >> 3 : 8;
    x = x << 4 * (8 - n)
          << 4 * (8 - n);  /* in two steps: n may be 0. Zeros enter in front of the digits. */
    x = 10 * x + (x >> 8); /* pairs, in bytes 0, 2, 4, 6 */
    x = (x & 0x000000ff000000ff) * (100 + (1000000ull << 32)) +
        (x >> 16 & 0x000000ff000000ff) * (1 + (10000ull << 32));
    *value = x >> 32;
    return n;
}

/* ---- api.c ---------------------------------------------------------------------------------- */

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

/* ---- plan.c, stores.c ------------------------------------------------------------------------ */

/* spmv_plan_create of options that were read. only_quick: what the host would have to convert for a
 * device, which has no room to do it itself, is refused. */
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
/* What went by after start of the time that the plan books for its store; of that, sending it. */
double spmv_plan_stored_since(const spmv_plan *plan, double start);
double spmv_plan_sent_since(const spmv_plan *plan, double start);

/* ---- store.c -------------------------------------------------------------------------------- */

/* Puts all its arrays out of the caches; false: the backend cannot. */
bool spmv_store_evict(const spmv_backend *backend, spmv_device *device, const spmv_store *store);
/* Of a store in host memory, or in the device's own. */
spmv_status spmv_store_upload(spmv_device *device, const spmv_store *from, spmv_store **out);
void spmv_store_free_on(spmv_device *device, spmv_store *copy);
void spmv_stored_free(spmv_ctx *ctx, spmv_stored *list);

/* ---- select.c ------------------------------------------------------------------------------- */

/* The nearest of candidates (NULL at the end) to word, or NULL when none is near. */
const char *spmv_nearest(const char *word, const char *const *candidates);

/* ---- features.c, auto.c: the kernel name "auto" ---------------------------------------------- */

typedef struct spmv_tuning { /* how a plan came to be chosen: as in spmv_plan_facts */
    char reason[1400];
    const char *safe;
    int timed;
    double tune_s, chosen_product_s, safe_product_s;
    size_t flush_bytes;
} spmv_tuning;
/* Uses the kernel once, on a small matrix with rows of that length, unless the process did: on a
 * GPU its code is loaded then. What fails is not said. Returns the seconds it took. */
double spmv_rehearse(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                     const spmv_proposal *p);
typedef enum spmv_look {
    SPMV_NO_LOOK,
    SPMV_GLANCE, /* at a part of the sample, by one thread */
    SPMV_LOOK,
    SPMV_STUDY /* blocks and symmetry, too, which take half of the time */
} spmv_look;
/* All but the cache. */
spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_look look,
                             spmv_features *f);
spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out);
/* The same from given proposals, which it sorts; start: when looking at the matrix began. */
spmv_status spmv_auto_contest(spmv_mat *mat, const spmv_plan_opts *opts,
                              const spmv_backend *backend, spmv_proposals *all, double start,
                              spmv_plan **out);

/* ---- generate.c: gen:NAME:ARGS -------------------------------------------------------------- */

/* spec: without the "gen:"; values: NULL or as in spmv_load_opts. The entries are sorted, distinct
 * and the same bits for any number of threads. */
spmv_status spmv_generate(spmv_ctx *ctx, const char *spec, uint64_t seed, const char *values,
                          int threads, spmv_coo *out);
spmv_status spmv_generate_peek(spmv_ctx *ctx, const char *spec, spmv_stats *out);

#endif
