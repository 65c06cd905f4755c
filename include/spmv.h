/* spmv.h: the library's public interface: sparse matrix times dense vector,
 * y <- alpha A x + beta y, in many formats, on CPUs (OpenMP) and NVIDIA GPUs (CUDA).
 *
 * Three handles. A context holds the backend, device, thread count and the last error text. A
 * matrix is a description of A, of which only the values may change, and owns every format made of
 * it. A plan is one kernel ready to multiply.
 *
 *     spmv_ctx *ctx = NULL;  spmv_mat *A = NULL;  spmv_plan *plan = NULL;
 *     if (spmv_ctx_create(NULL, &ctx) != SPMV_OK) puts(spmv_ctx_error(NULL));
 *     if (spmv_mat_load(ctx, "thermal2.mtx", NULL, &A) != SPMV_OK) puts(spmv_ctx_error(ctx));
 *     if (spmv_plan_create(A, NULL, &plan) != SPMV_OK) puts(spmv_ctx_error(ctx));
 *     spmv_exec(plan, 1.0, x, 0.0, y);
 *     spmv_plan_free(plan);  spmv_mat_free(A);  spmv_ctx_free(ctx);
 *
 * Conventions: every function that can fail returns a status and leaves its result in the last
 * pointer, NULL on failure; the text of the failure is spmv_ctx_error(ctx). Nothing prints, exits
 * or aborts, but OpenMP's runtime may where it gets no thread (docs/howto/c.md). Structs start
 * with their size: spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts). In one with options zero in
 * every other member means the default. A caller with a newer header may pass members that this
 * library does not know: it ignores them if they are zero and refuses the call if they are not. A
 * struct that is filled for the caller gets the members that its size covers; if the call fails
 * they are zero. A size that is not set is SPMV_E_ARG. Rows, columns and positions are int64_t
 * and start at 0, also in texts, which say so; lines of files start at 1, as in matrix.mtx:7.
 * A call that waits for a pipe fails with SPMV_E_IO or SPMV_E_WRITE when its thread gets a signal
 * whose handler was set up without SA_RESTART: Python's are, so that Ctrl-C ends the wait.
 * Bytes are size_t; times are seconds. A missing or impossible argument is SPMV_E_ARG and named
 * in the text, as far as one can see without going through arrays. Different plans may execute in
 * several threads at once, also inside a parallel region of the caller's. So may one plan on a
 * CPU, where products take turns if its kernel keeps structures in it; on a GPU the second gets
 * SPMV_E_ARG. Otherwise one thread at a time may use a context and the handles made from it. After
 * fork() a child may use what its parent made on a CPU. It cannot use a GPU if its parent has
 * started CUDA's driver, by this library or another one: calls fail with SPMV_E_BACKEND, or with
 * SPMV_E_DEVICE if they use a handle of the parent's, and the text says why.
 * Traps, rounding modes and the flushing of subnormal numbers that a caller has enabled concern
 * products alone (of spmv_exec, spmv_exec_async and spmv_apply), which compute as each thread of
 * the team is set, whatever values are stored as; an exception is raised only by arithmetic on the
 * numbers given, and where kernels say that padding multiplies 0 by an infinite x. All other calls
 * compute in the default floating-point environment, and so do a caller's functions that these
 * call; they leave the caller's environment and exception flags as they were. */
#ifndef SPMV_H
#define SPMV_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SPMV_VERSION "0.1.0"

/* Status codes; src/host/status.def gives each its text and the program's exit code. */
typedef enum spmv_status {
    SPMV_OK = 0,
    SPMV_E_ARG = -1,        /* a wrong argument, an unknown name */
    SPMV_E_FORMAT = -2,     /* the file's content is wrong */
    SPMV_E_IO = -3,         /* cannot open or read */
    SPMV_E_WRITE = -4,      /* cannot create or write */
    SPMV_E_NOMEM = -5,      /* out of host or device memory */
    SPMV_E_TOOBIG = -6,     /* the forecast exceeds the memory limit; nothing was allocated */
    SPMV_E_UNSUITABLE = -7, /* this kernel or format cannot hold this matrix; the text says why */
    SPMV_E_BACKEND = -8,    /* backend not built in, no device, device too old for the build */
    SPMV_E_FEATURE = -9,    /* optional library not built in; the text names the package */
    SPMV_E_DEVICE = -10     /* the device failed while running */
} spmv_status;

typedef enum spmv_precision { SPMV_F64 = 0, SPMV_F32 = 1 } spmv_precision;
typedef enum spmv_symmetry { SPMV_GENERAL, SPMV_SYMMETRIC, SPMV_SKEW_SYMMETRIC } spmv_symmetry;
typedef enum spmv_place { SPMV_HOST = 0, SPMV_DEVICE } spmv_place; /* where numbers lie */
/* What a plan multiplies by: A, its transpose, or either in turns. */
typedef enum spmv_op { SPMV_AS_IS = 1, SPMV_TRANSPOSE, SPMV_BOTH } spmv_op;
/* Says how several vectors lie. COLUMNS: the numbers of a vector are contiguous. ROWS: those of
 * a row are, one of each vector. */
typedef enum spmv_layout { SPMV_COLUMNS = 1, SPMV_ROWS } spmv_layout;
typedef enum spmv_field { SPMV_REAL_FIELD, SPMV_INTEGER_FIELD, SPMV_PATTERN_FIELD } spmv_field;

typedef struct spmv_ctx spmv_ctx;
typedef struct spmv_mat spmv_mat;
typedef struct spmv_plan spmv_plan;

/* ---- context -------------------------------------------------------------------------------- */

/* Supplies the memory of a GPU (place is SPMV_DEVICE) and of the host (SPMV_HOST). A GPU's is used
 * in the order of the stream, a cudaStream_t, and is released in it, from the thread that uses the
 * context. alloc returns NULL if there is none: what needed it fails with SPMV_E_NOMEM, or, on a
 * GPU, is done by the host.
 * Host memory holds the arrays that matrices, stores and plans keep, and what spmv_plan_alloc gives
 * on a CPU; the stream is NULL, any alignment will do, and huge pages are the allocator's affair.
 * The library makes one call at a time; while a file is read the calls may come from another
 * thread. Handles, and arrays that are needed during one call alone, come from malloc. */
typedef struct spmv_allocator {
    void *(*alloc)(void *user, spmv_place place, size_t bytes, void *stream);
    void (*release)(void *user, spmv_place place, void *memory, size_t bytes, void *stream);
    void *user;
} spmv_allocator;

typedef struct spmv_ctx_opts {
    size_t size;
    /* "omp" or "cuda": where unprefixed kernel names are looked up; NULL: "omp". SPMV_E_BACKEND if
     * it is not built in or has no such device. "cuda" starts CUDA's driver, and a child that is
     * forked after that cannot use a GPU. */
    const char *backend;
    int device; /* GPU number */
    /* OpenMP team size; 0: OMP_NUM_THREADS, else the cores this process may use. At most 1024. If
     * the process gets fewer, spmv_ctx_threads says how many, and spmv_plan_facts.note why; up to
     * 16 are not tried. */
    int threads;
    /* A file in which the choices of "auto" are remembered, for this process and later ones: a plan
     * of a remembered choice is made without sampling and trials. NULL: none. The path is copied.
     * Trouble with the file fails no call; spmv_plan_facts.note says what it is, once. */
    const char *wisdom;
    const spmv_allocator *allocator; /* is copied; NULL: a memory pool of the library's own */
    /* Bytes to which a compressed file may unpack: a small one may hold any number. One that has
     * more is refused with SPMV_E_FORMAT. 0: no limit. */
    size_t max_unpacked;
} spmv_ctx_opts;

/* Opens a context, with which everything begins; opts may be NULL. */
spmv_status spmv_ctx_create(const spmv_ctx_opts *opts, spmv_ctx **out);
/* Ends a context. It may be called while matrices of the context are alive; its memory is freed
 * with the last of them. */
void spmv_ctx_free(spmv_ctx *ctx);
/* Returns the text of the last failure, "" when there was none. With NULL, or if the last call that
 * failed in this thread had no context, as one whose matrix or plan is NULL or a failed
 * spmv_ctx_create: the text of that call, until a context is made. */
const char *spmv_ctx_error(const spmv_ctx *ctx);
/* Returns what the last file that was read spells in a way that its format does not know. The text
 * says what that was taken for, a line for each kind; "": nothing. */
const char *spmv_ctx_note(const spmv_ctx *ctx);
int spmv_ctx_threads(const spmv_ctx *ctx); /* returns the team's size */
/* Returns 1 if the backend of that name is built in and has a device, else 0. No device is opened,
 * and no text of a failure is left. "cuda" starts CUDA's driver, and a child that is forked after
 * that cannot use a GPU: a program that forks asks in a child. */
int spmv_backend_available(const char *name);

/* ---- matrix --------------------------------------------------------------------------------- */

/* Entries as a file holds them: one triangle of a symmetric matrix, in any order, duplicates
 * allowed. */
typedef struct spmv_coo_view {
    size_t size;
    int64_t rows, cols, nnz;
    const int32_t *row, *col; /* [nnz], from 0 */
    const double *values;     /* [nnz]; NULL: every entry is 1 */
    spmv_symmetry symmetry;
    spmv_field field;
} spmv_coo_view;

/* Compressed rows, columns ascending in a row, no duplicates, symmetry expanded. */
typedef struct spmv_csr_view {
    size_t size;
    int64_t rows, cols, nnz;
    const int64_t *row_ptr; /* [rows + 1] */
    const int32_t *col_idx; /* [nnz] */
    const double *values;   /* [nnz] */
} spmv_csr_view;

/* SPMV_COPY: the arrays are copied and may be freed at once. SPMV_BORROW: the caller keeps them
 * until the matrix is freed. SPMV_SORTED: the caller vouches that columns ascend in every row,
 * without duplicates. SPMV_VALIDATE: order, triangles and values are checked. SPMV_VOLATILE: they
 * are borrowed, may change between two products, and are read anew by each. */
enum { SPMV_COPY = 0, SPMV_BORROW = 1, SPMV_SORTED = 2, SPMV_VALIDATE = 4, SPMV_VOLATILE = 8 };

/* Compressed rows as a caller has them: unsorted and with duplicates (they are
 * added) unless the flags say otherwise. */
typedef struct spmv_arrays {
    size_t size;
    int64_t rows, cols, nnz;
    const void *ptr;    /* [rows + 1], of columns with by_columns; ptr_bits 32 or 64 */
    const int32_t *idx; /* [nnz] */
    const void *values; /* [nnz] in precision; NULL: every entry is 1 */
    int ptr_bits, base; /* base 0 or 1: what ptr and idx count from */
    spmv_precision precision;
    spmv_symmetry symmetry; /* not general: one triangle is given */
    int by_columns;         /* 1: compressed columns (CSC) */
    unsigned flags;         /* of those above */
    spmv_place place;       /* where all three lie: SPMV_DEVICE, on the context's */
    /* with SPMV_VOLATILE only: */
    const int32_t *line; /* [nnz] rows (columns with by_columns) of entries in any order; then ptr
                            is NULL */
    /* Entries are dense blocks of that size, row after row, which nnz, ptr and idx count; 0: 1 */
    int block_rows, block_cols;
    int idx_bits; /* 64, in host memory: idx and line are arrays of int64_t; 0: 32 */
} spmv_arrays;

typedef struct spmv_load_opts {
    size_t size;
    uint64_t seed;      /* of gen: matrices; 0: 1 */
    const char *values; /* gen: "random", "symmetric", "few:K", "pattern"; NULL: own */
    /* done: 0..1, from the calling thread; may be NULL */
    void (*progress)(void *progress_arg, double done);
    void *progress_arg;
} spmv_load_opts;

/* Loads or generates a matrix. path: a Matrix Market file, plain or compressed, a .tar.gz holding
 * one of the archive's name, "-" for standard input, or "gen:NAME:ARGS" (spmv_generator_list). */
spmv_status spmv_mat_load(spmv_ctx *ctx, const char *path, const spmv_load_opts *opts,
                          spmv_mat **out);
/* Makes a matrix of entries in any order. flags: SPMV_COPY or SPMV_BORROW. */
spmv_status spmv_mat_coo(spmv_ctx *ctx, const spmv_coo_view *view, unsigned flags, spmv_mat **out);
/* Makes a matrix of compressed rows with 64-bit offsets, which are always copied. */
spmv_status spmv_mat_csr(spmv_ctx *ctx, const spmv_csr_view *view, spmv_mat **out);
/* Makes a matrix of arrays of many kinds, in host or device memory. What would make the library
 * read outside the arrays is always refused; the text names row (or column) and position, counted
 * from 0. SPMV_VALIDATE also refuses infinite values, NaN, what breaks SPMV_SORTED, entries in both
 * triangles of a symmetric matrix (without it they are added as duplicates) and a skew-symmetric
 * diagonal that is not 0. The arrays may be freed afterwards unless SPMV_BORROW is among the flags:
 * then those are used as they are where they can be, and must not change but by
 * spmv_mat_set_values: compressed rows, ascending, without duplicates, base 0; in host memory ptr
 * of 64 bits and values f64, on a device ptr of the plans' offset width (32 bits if nnz allows it)
 * and values of either precision. Arrays on a device are read after what was put on CUDA's default
 * stream before, and stay there: the host gets them when something that it does needs them, as
 * spmv_mat_rows, a format that no device builds, or rows that are not ascending.
 * With SPMV_VOLATILE (base 0, not symmetric, with values) nothing is made of the arrays. Whatever
 * they hold when a product begins is multiplied: values, indices and offsets may have changed, ptr
 * may end anywhere up to nnz, and rows need not ascend. They must not change while a product runs.
 * Indices are checked here, on a device when a plan is made, and never again: who writes wrong ones
 * later makes a product read outside of x, or write outside of y. Ends of ptr that became wrong are
 * SPMV_E_ARG of the product; on a device, entries that would lie behind nnz are left out. Plans are
 * made for "auto" alone, where the arrays are, in their precision, and are concurrent, on a device
 * on any number of streams. In host memory sums of a row are added in the order of its entries. On
 * a device there are no blocks, and products by columns and coordinates, and by the transpose of
 * rows, add in any order. spmv_mat_set_values gives the products that begin after it another array
 * of values, in the same kind of memory, and copies nothing. What needs a matrix that stays
 * (spmv_mat_rows, spmv_mat_stats, spmv_mat_save, other kernels) is SPMV_E_UNSUITABLE. */
spmv_status spmv_mat_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out);
/* Gives the same entries other values: as many as were given, in that order and precision (of files
 * and coo: f64), symmetric halves and duplicates as they were; infinite ones and NaN are taken
 * unless a store's codes cannot hold them. Every plan of the matrix multiplies with them from its
 * next product on; if one cannot, for which the text says why, the status is SPMV_E_UNSUITABLE.
 * After this and any other failure but SPMV_E_DEVICE, of a GPU that no longer works, matrix and
 * plans are as they were. place: where the values lie, SPMV_DEVICE for memory of the plans'
 * device. On a GPU this is ordered on the stream (as of spmv_exec_async): products put on it
 * before have the old values, those after it the new ones, and values on the device are read then.
 * Values may be overwritten, on a device in the stream's order, unless SPMV_BORROW was given for
 * those in the same kind of memory: then these are borrowed in turn, and a product in a CUDA graph
 * that was captured before still reads the array it was captured with. */
spmv_status spmv_mat_set_values(spmv_mat *mat, const void *values, spmv_place place, void *stream);
/* Writes a Matrix Market file: general, with full precision. */
spmv_status spmv_mat_save(const spmv_mat *mat, const char *path);
/* Frees a matrix. While plans of it are alive the memory stays, and their products are refused with
 * SPMV_E_ARG. */
void spmv_mat_free(spmv_mat *mat);
/* Lends the entries the matrix was made from, and its compressed rows: the arrays stay while the
 * matrix does, or what was lent to it. After spmv_mat_set_values an array of values may have the
 * old ones until this is called again. SPMV_E_NOMEM: there is no memory for them; SPMV_E_DEVICE:
 * the device that has the values failed. */
spmv_status spmv_mat_entries(const spmv_mat *mat, spmv_coo_view *view);
spmv_status spmv_mat_rows(const spmv_mat *mat, spmv_csr_view *view);
typedef struct spmv_stats {
    size_t size;
    int64_t rows, cols, nnz; /* nnz: entries in use, after expansion and merging */
    int64_t nnz_file, duplicates, explicit_zeros;
    int64_t row_min, row_max, empty_rows, bandwidth; /* bandwidth: max |i - j| */
    double row_mean, row_std;
    uint64_t hash; /* of dimensions, columns and value bits in row order */
    spmv_field field;
    spmv_symmetry symmetry;
    double read_s;  /* text to entries, or generation */
    double build_s; /* entries to compressed rows, and checking them */
} spmv_stats;
/* Says how large the matrix is and how its rows are filled. */
spmv_status spmv_mat_stats(const spmv_mat *mat, spmv_stats *out);

/* Reads a dense vector from a file: Matrix Market (n x 1 or 1 x n; what a coordinate file leaves
 * out is 0), or raw doubles if the name ends in .f64. The caller frees *out with free(); *n is set
 * on success only. */
spmv_status spmv_vector_load(spmv_ctx *ctx, const char *path, int64_t *n, double **out);
/* Writes a dense vector to a file of the same kinds. */
spmv_status spmv_vector_save(spmv_ctx *ctx, const char *path, int64_t n, const double *x);

/* ---- plan ----------------------------------------------------------------------------------- */

typedef struct spmv_setting {
    const char *name; /* of a kernel's parameter: "block", "grid_rows", ... */
    int64_t value;
} spmv_setting;

/* Says what a product finds in the caches. WARM: what fits, as in a solver that does little else
 * between two products. COLD: nothing. STEADY: what is left by products that follow each other over
 * more data than the caches hold. */
typedef enum spmv_cache { SPMV_WARM = 0, SPMV_COLD, SPMV_STEADY } spmv_cache;

typedef struct spmv_plan_opts {
    size_t size;
    const char *kernel; /* name or alias, "omp:" or "cuda:" before it picks the backend; "auto": the
                           fastest that the library finds; NULL: "auto" */
    spmv_precision precision;
    int offset_bits;  /* of positions in nnz: 32 or 64; 0: 32 if nnz allows it */
    size_t max_bytes; /* limit for the stored matrix and scratch; 0: 80 % of the device's free
                         memory */
    const spmv_setting *settings;
    int nsettings;
    /* for "auto": */
    /* Number of products that will follow. Preparation takes at most 0.15 of their time if they are
     * enough for trials: 267 on a CPU, 667 on a GPU. For fewer nothing is timed, and a conversion
     * is made only if it should save more than it costs. Where products on a CPU are too short to
     * pay for a sample of the matrix, nothing is timed or converted. 0: unknown, at most the time
     * of 10. */
    int64_t expected_calls;
    int nondeterministic; /* 1: also kernels whose results may differ in bits every time */
    spmv_cache cache;     /* how it will be used. Of a matrix that the caches could hold, trials
                               empty them before each sample for SPMV_COLD and SPMV_STEADY, and
                               bring it back into them for SPMV_WARM, on a GPU after they were
                               filled once */
    int threads; /* that a product has, 1 to the context's; 0: as many, or fewer if "auto" finds
                    them as fast. Not of a GPU's plan */
    spmv_place scalars; /* of spmv_call: SPMV_DEVICE: in the plan's memory, read when the product
                           runs. cuSPARSE's kernels refuse that (SPMV_E_UNSUITABLE) */
    int refill; /* 1: the values will change (spmv_mat_set_values): a kernel that cannot take
                    others is SPMV_E_UNSUITABLE, and values are stored as they are (codes off) */
    /* 0: SPMV_AS_IS. The transpose is made of the matrix when the first plan needs it; a symmetric
     * matrix needs none. In what follows rows and cols are those of op(A), of A for SPMV_BOTH. */
    spmv_op op;
    int64_t vectors;    /* that are multiplied at a time, about; 0: 1. Any number may be */
    spmv_layout layout; /* of them; 0: SPMV_COLUMNS */
    /* 1: products of up to eight threads at once do not wait for each other: the plan has memory
     * for each where a product needs any. A kernel that has it for one, and any on a GPU, is
     * SPMV_E_UNSUITABLE. 0: they may take turns on a CPU. */
    int concurrent;
    /* 1: the same bits in every run and for every number of threads, on one build and backend:
     * "auto" chooses by what the matrix is, not by the clock, among kernels whose sums do not
     * depend on the number of threads; one whose sums do is SPMV_E_UNSUITABLE. */
    int reproducible;
} spmv_plan_opts;

/* Prepares products: builds the format if the matrix does not own it yet, and for "auto" chooses.
 * Errors: SPMV_E_ARG, SPMV_E_NOMEM, SPMV_E_TOOBIG, SPMV_E_UNSUITABLE, SPMV_E_BACKEND,
 * SPMV_E_FEATURE, SPMV_E_DEVICE. */
spmv_status spmv_plan_create(spmv_mat *mat, const spmv_plan_opts *opts, spmv_plan **out);
/* Frees a plan. */
void spmv_plan_free(spmv_plan *plan);

typedef struct spmv_plan_facts {
    size_t size;
    const char *backend, *kernel, *format;
    const char *values; /* stored in fewer bytes than the precision's: "constant", "dictionary" or
                           "floats"; NULL: as they are, or the kernel's own affair */
    int offset_bits;
    int64_t slots;                   /* stored entries, padding included */
    size_t store_bytes;              /* the format */
    size_t host_bytes, device_bytes; /* that the matrix, its store and the plan keep in memory,
                                        without arrays that the caller owns and other plans' */
    size_t scratch_bytes;            /* the kernel's own structures */
    size_t traffic_bytes;            /* matrix bytes one product must read, without x and y */
    double convert_s;                /* compressed rows to format, and finding its size */
    double upload_s;                 /* matrix or format to device */
    double prepare_s;                /* the kernel's own structures (tiles, pitch) */
    /* The time from compressed rows in the device's memory until ready: conversion and prepare_s;
     * negative: the host converts, and the result is uploaded. */
    double from_rows_s;
    /* The time of what a process does once, in none of the others: starting a library, the
     * first-use warm-up of "auto". */
    double once_s;
    /* of a plan that "auto" chose; NULL and 0 otherwise */
    const char *reason;        /* one sentence: why this kernel */
    double tune_s;             /* sampling the matrix, building candidates not chosen, and trials */
    int timed;                 /* candidates in the trials; 0: there were no trials */
    const char *baseline;      /* the baseline kernel, which the candidates were timed against */
    double chosen_product_s;   /* a product of the chosen kernel in the trials */
    double baseline_product_s; /* a product of the baseline kernel in the trials */
    /* Bytes read before each sample of the trials to empty the caches, where the device cannot put
     * out of them only what a product touches; 0: none, though a GPU's are filled once for WARM. */
    size_t flush_bytes;
    const char *wisdom; /* when the choice was made (RFC 3339), if the wisdom file remembered it */
    size_t free_bytes;  /* on the device when the plan was made; 0: of arrays that may change */
    const char *note;   /* what was done otherwise than usual; NULL: nothing */
    int threads;        /* of a product; 0: it runs on a GPU */
    int concurrent;     /* 1: several threads may multiply with this plan at once, maybe in turns */
    int refills;        /* 1: spmv_mat_set_values writes new values into what the plan made */
    int waits_asleep; /* 1: just now the threads of a product sleep while they wait for each other,
                          because other processes use the same cores */
    /* Most bytes of arrays in use at one time while the plan was made, beyond what was in use
     * before; what the plan keeps is included. The host's counts the whole process. 0 for
     * spmv_plan_copy. */
    size_t peak_host_bytes, peak_device_bytes;
    /* These name what multiplies by the transpose in a plan for SPMV_BOTH; NULL and 0: nothing
     * else does, as of a symmetric matrix. Bytes, seconds and counts above are of the product by A.
     * */
    const char *transposed_kernel, *transposed_format;
    size_t transposed_store_bytes, transposed_scratch_bytes;
    /* 1 and 2: results have the same bits in every run and for every number of threads, 1 with the
     * same vector instructions, 2 with any. 0: they may differ with the number of threads or, of
     * kernels that say so, every time. */
    int reproducible;
    double made_s; /* spmv_plan_create as a whole, waits for a core included */
} spmv_plan_facts;
/* Says which kernel a plan has and what that took. Strings in *out belong to the plan or the
 * library. */
spmv_status spmv_plan_info(const spmv_plan *plan, spmv_plan_facts *out);
/* Returns the value in use of a parameter; -1: the kernel does not take it. */
int64_t spmv_plan_setting(const spmv_plan *plan, const char *name);

/* Multiplies with one vector: y <- alpha op(A) x + beta y, by A if the plan is for SPMV_BOTH.
 * x[cols] and y[rows] are in the plan's precision, in memory of its device, and do not overlap
 * (SPMV_E_ARG). beta = 0 never reads y. Returns when y is complete.
 * alpha multiplies the sum of every row, 0 in a row without entries: NaN if alpha is NaN or
 * infinite. On a GPU an infinite alpha may multiply parts of a row, so that other rows are NaN,
 * too. alpha = 0 multiplies as well: 0 times infinity is NaN, as in oneMKL, librsb and AOCL-Sparse;
 * cuSPARSE leaves the product out. */
spmv_status spmv_exec(const spmv_plan *plan, double alpha, const void *x, double beta, void *y);

/* Multiplies as spmv_exec does, but ordered on a stream: a cudaStream_t of the plan's GPU, which
 * becomes the calling thread's device; NULL: CUDA's default stream. It launches kernels and does
 * nothing else: no allocation, no wait; so it may be captured in a CUDA graph. (Kernels of cuSPARSE
 * take turns with the handle that they share, and copy a y that is apart from z.) A fault while it
 * runs is a status of a later call, as in CUDA. A plan is in one stream at a time, also in graphs
 * that are replayed: products of one plan that overlap on a GPU are wrong, and so may be its later
 * ones. Different plans may be in several at once. plan, x and y stay until the product is
 * complete. On a CPU it is spmv_exec. */
spmv_status spmv_exec_async(const spmv_plan *plan, double alpha, const void *x, double beta,
                            void *y, void *stream);

/* z <- alpha op(A) x + beta y for k vectors at once. x is op(A)'s cols x k, y and z are rows x k,
 * all in one layout. A leading dimension counts the numbers from one vector to the next, or from
 * one row to the next with SPMV_ROWS. z shares no number with x; vectors of x and z may lie between
 * each other in one array. */
typedef struct spmv_call {
    size_t size;
    /* One number each, where the plan's option `scalars` says, on a device apart from z; NULL: 1
     * and 0. beta = 0 never reads y. Those of the other precision than the plan's are NULL, or the
     * call is SPMV_E_ARG. */
    const double *alpha, *beta;
    const float *alpha_f32, *beta_f32;
    const void *x;
    const void *y; /* z itself, with the same leading dimension, or apart from it; not read if there
                      is no beta, and otherwise not NULL */
    void *z;
    int64_t k;             /* vectors; 0: 1 */
    int64_t ldx, ldy, ldz; /* leading dimensions, in numbers; 0: as small as they can be */
    spmv_layout layout;    /* 0: the plan's. Vectors in another may take scratch memory, which
                                 the plan keeps, and time */
    spmv_op op;            /* 0: the plan's, A for SPMV_BOTH; another one only of a plan for
                                 SPMV_BOTH */
    /* Sums on the way, of each vector with the z that the call writes. They are added up in double
     * precision, in an order that depends on the length of z alone. */
    const void *w; /* as z lies; z itself, or what shares no number with it, such as x, or a y that
                      is apart from z */
    int64_t ldw;   /* 0: as small as it can be */
    void *dot_wz;  /* [k] w'z, in the plan's precision and where it runs, apart from z, w and the
                      other; NULL: not wanted */
    void *dot_zz;  /* [k] z'z, likewise */
} spmv_call;
/* Multiplies as the call says, one vector or several, ordered on the stream as spmv_exec_async is;
 * scalars in host memory are read before it returns. The struct is not needed afterwards. A plan
 * made for several vectors in this layout allocates nothing; one that was not may do so at its
 * first product of several, and a GPU's plan at its first product with sums. Another library's
 * kernel may at its first product of one vector with gaps. None of these can be captured in a
 * graph. The bits of a vector's result are the same whatever the other vectors are and, for
 * k >= 2, whatever k is. */
spmv_status spmv_apply(const spmv_plan *plan, const spmv_call *call, void *stream);

/* Allocates memory where the plan runs, on a CPU plain host memory, or fails with SPMV_E_NOMEM.
 * Free it with spmv_plan_release of the same plan, before the plan. */
spmv_status spmv_plan_alloc(const spmv_plan *plan, size_t bytes, void **out);
/* Frees memory of spmv_plan_alloc. */
void spmv_plan_release(const spmv_plan *plan, void *memory);
/* Copies bytes to such memory, or back (get); returns when the copy is complete. What was queued in
 * a stream, NULL too, may still run then: wait for the stream before. */
spmv_status spmv_plan_put(const spmv_plan *plan, void *device, const void *host, size_t bytes);
spmv_status spmv_plan_get(const spmv_plan *plan, void *host, const void *device, size_t bytes);

/* Returns a text for a status. */
const char *spmv_strerror(spmv_status status);
/* Returns what a program should exit with (sysexits numbers). */
int spmv_exit_code(spmv_status status);
/* Returns the version of the library. */
const char *spmv_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}

namespace spmv {
template <typename type> inline type sized() {
    type all = type();
    all.size = sizeof(type);
    return all;
}
} /* namespace spmv */
#define SPMV_OPTS(type) spmv::sized<type>()
#else
#define SPMV_OPTS(type) ((type){.size = sizeof(type)})
#endif
#endif
