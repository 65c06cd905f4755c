/* spmv.h: the library's public interface: sparse matrix times dense vector, y <- alpha A x + beta
 * y, in many formats, on CPUs (OpenMP) and NVIDIA GPUs (CUDA).
 *
 * There are three handles. A context holds the backend, device, thread count and the last error
 * text. A matrix describes A, of which only the values may change, and owns every format built from
 * it. A plan is one kernel ready to multiply.
 *
 *     spmv_ctx *ctx = NULL;  spmv_mat *A = NULL;  spmv_plan *plan = NULL;
 *     if (spmv_ctx_create(NULL, &ctx) != SPMV_OK) puts(spmv_ctx_error(NULL));
 *     if (spmv_mat_load(ctx, "thermal2.mtx", NULL, &A) != SPMV_OK) puts(spmv_ctx_error(ctx));
 *     if (spmv_plan_create(A, NULL, &plan) != SPMV_OK) puts(spmv_ctx_error(ctx));
 *     spmv_exec(plan, 1.0, x, 0.0, y);
 *     spmv_plan_free(plan);  spmv_mat_free(A);  spmv_ctx_free(ctx);
 *
 * Errors. A function that can fail returns a status and stores its result through the last pointer,
 * NULL on failure; spmv_ctx_error(ctx) is the text. The library never prints, exits or aborts, but
 * the OpenMP runtime may if it cannot create a thread (docs/howto/c.md). A missing or impossible
 * argument is SPMV_E_ARG and named in the text, as far as that is visible without reading arrays. A
 * call that waits for a pipe fails with SPMV_E_IO or SPMV_E_WRITE if its thread gets a signal whose
 * handler was installed without SA_RESTART; Python's handlers are, so that Ctrl-C ends the wait.
 *
 * Structs begin with their size: spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts). A size that is
 * not set is SPMV_E_ARG. In a struct with options every other member may be zero, which means the
 * default. A caller with a newer header may pass members that this library does not know: zero is
 * ignored, anything else fails. A struct that the library fills gets the members that its size
 * covers; if the call fails, they are zero.
 *
 * Units. Rows, columns and indices are int64_t and start at 0, also in texts; lines of files start
 * at 1, as in matrix.mtx:7. Sizes are size_t in bytes; times are seconds.
 *
 * Threads. Different plans may execute in several threads at once, also inside a parallel region of
 * the caller. So may one plan on a CPU, where products run one after another if the kernel keeps
 * structures in the plan; on a GPU the second product fails with SPMV_E_ARG. Otherwise a context
 * and the handles made from it may be used by one thread at a time. After fork() a child may use
 * handles that its parent made on a CPU. The child cannot use a GPU if its parent has started
 * CUDA's driver, through this library or another one: calls fail with SPMV_E_BACKEND, or with
 * SPMV_E_DEVICE if they use a handle of the parent, and the text says why.
 *
 * Floating-point environment. Traps, rounding modes and the flushing of subnormal numbers set by
 * the caller affect products alone (spmv_exec, spmv_exec_async, spmv_apply). A product computes as
 * each thread of the team is set, whatever the stored form of the values; only arithmetic on the
 * given numbers raises exceptions, and multiplying padding by an infinite x if the kernel says that
 * it does so. All other calls, and functions of the caller that these call, run in the default
 * environment, and leave the caller's environment and exception flags unchanged. */
#ifndef SPMV_H
#define SPMV_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SPMV_VERSION "0.1.0"

/* Status codes; src/host/status.def has the text and exit code of each. */
typedef enum spmv_status {
    SPMV_OK = 0,
    SPMV_E_ARG = -1,        /* a wrong argument or an unknown name */
    SPMV_E_FORMAT = -2,     /* the content of the file is wrong */
    SPMV_E_IO = -3,         /* cannot open or read */
    SPMV_E_WRITE = -4,      /* cannot create or write */
    SPMV_E_NOMEM = -5,      /* out of host or device memory */
    SPMV_E_TOOBIG = -6,     /* the forecast exceeds the memory limit; nothing was allocated */
    SPMV_E_UNSUITABLE = -7, /* the kernel or format cannot hold this matrix; the text says why */
    SPMV_E_BACKEND = -8,    /* the backend is not built in, or has no device, or too old a device */
    SPMV_E_FEATURE = -9,    /* an optional library is not built in; the text names the package */
    SPMV_E_DEVICE = -10     /* the device failed while running */
} spmv_status;

typedef enum spmv_precision { SPMV_F64 = 0, SPMV_F32 = 1 } spmv_precision;
typedef enum spmv_symmetry { SPMV_GENERAL, SPMV_SYMMETRIC, SPMV_SKEW_SYMMETRIC } spmv_symmetry;
typedef enum spmv_place { SPMV_HOST = 0, SPMV_DEVICE } spmv_place; /* memory of an array */
/* The matrix of a product: A, its transpose, or either, chosen by each call. */
typedef enum spmv_op { SPMV_AS_IS = 1, SPMV_TRANSPOSE, SPMV_BOTH } spmv_op;
/* Layout of several vectors. COLUMNS: each vector is contiguous. ROWS: the elements of one row, one
 * per vector, are contiguous. */
typedef enum spmv_layout { SPMV_COLUMNS = 1, SPMV_ROWS } spmv_layout;
typedef enum spmv_field { SPMV_REAL_FIELD, SPMV_INTEGER_FIELD, SPMV_PATTERN_FIELD } spmv_field;

typedef struct spmv_ctx spmv_ctx;
typedef struct spmv_mat spmv_mat;
typedef struct spmv_plan spmv_plan;

/* ---- context -------------------------------------------------------------------------------- */

/* Allocates memory of a GPU (place SPMV_DEVICE) and of the host (SPMV_HOST). GPU memory is used and
 * released in the order of the stream, a cudaStream_t, from the thread that uses the context. alloc
 * returns NULL if it has no memory: the call then fails with SPMV_E_NOMEM, or the host does the
 * work of the GPU. Host memory is for arrays that matrices, stores and plans keep, and for
 * spmv_plan_alloc on a CPU. The stream is NULL, any alignment is sufficient, and huge pages are
 * left to the allocator. The library makes one call at a time, but possibly from another thread
 * while a file is read. Handles, and arrays needed during one call only, come from malloc. */
typedef struct spmv_allocator {
    void *(*alloc)(void *user, spmv_place place, size_t bytes, void *stream);
    void (*release)(void *user, spmv_place place, void *memory, size_t bytes, void *stream);
    void *user;
} spmv_allocator;

typedef struct spmv_ctx_opts {
    size_t size;
    /* "omp" or "cuda": the backend of kernel names without a prefix; NULL: "omp". SPMV_E_BACKEND if
     * it is not built in or has no such device. "cuda" starts CUDA's driver; a child forked later
     * cannot use a GPU. */
    const char *backend;
    int device; /* number of the GPU */
    /* OpenMP team size, at most 1024; 0: OMP_NUM_THREADS, else the cores this process may use. If
     * the process can create fewer, spmv_ctx_threads returns their number, and spmv_plan_facts.note
     * says why; up to 16 threads are not tried. */
    int threads;
    /* Path of a file that stores the choices of "auto" for this process and later ones; copied. A
     * plan of a stored choice is made without sampling and trials. NULL: none. A problem with the
     * file fails no call; spmv_plan_facts.note describes it once. */
    const char *wisdom;
    const spmv_allocator *allocator; /* copied; NULL: the library's own allocator */
    /* Limit in bytes for the contents of a compressed file, because a small file may expand to any
     * size; a larger one fails with SPMV_E_FORMAT. 0: no limit. */
    size_t max_unpacked;
} spmv_ctx_opts;

/* Opens a context; opts may be NULL. */
spmv_status spmv_ctx_create(const spmv_ctx_opts *opts, spmv_ctx **out);
/* Frees a context. Matrices of the context may still exist; the last of them frees its memory. */
void spmv_ctx_free(spmv_ctx *ctx);
/* Returns the text of the last failure, "" if there was none. If ctx is NULL, or the thread's last
 * failure had no context (a NULL matrix or plan, or spmv_ctx_create), returns the text of that
 * failure, until a context is created. */
const char *spmv_ctx_error(const spmv_ctx *ctx);
/* Returns notes on the last file read, one line each: what its format leaves open, and the meaning
 * that was assumed. "" if there are none. */
const char *spmv_ctx_note(const spmv_ctx *ctx);
int spmv_ctx_threads(const spmv_ctx *ctx); /* returns the size of the team */
/* Returns 1 if the backend is built in and has a device, else 0. Opens no device and sets no error
 * text. "cuda" starts CUDA's driver, after which a forked child cannot use a GPU; a program that
 * forks should call this in a child. */
int spmv_backend_available(const char *name);

/* ---- matrix --------------------------------------------------------------------------------- */

/* Entries as in a file: one triangle of a symmetric matrix, in any order, with duplicates. */
typedef struct spmv_coo_view {
    size_t size;
    int64_t rows, cols, nnz;
    const int32_t *row, *col; /* [nnz], from 0 */
    const double *values;     /* [nnz]; NULL: every entry is 1 */
    spmv_symmetry symmetry;
    spmv_field field;
} spmv_coo_view;

/* CSR with ascending columns, no duplicates, and symmetry expanded. */
typedef struct spmv_csr_view {
    size_t size;
    int64_t rows, cols, nnz;
    const int64_t *row_ptr; /* [rows + 1] */
    const int32_t *col_idx; /* [nnz] */
    const double *values;   /* [nnz] */
} spmv_csr_view;

/* SPMV_COPY: the arrays are copied and may be freed at once. SPMV_BORROW: the caller keeps the
 * arrays until the matrix is freed. SPMV_SORTED: the caller guarantees that columns ascend in every
 * row, without duplicates. SPMV_VALIDATE: order, triangles and values are checked. SPMV_VOLATILE:
 * the arrays are borrowed, may change between products, and are read by each product. */
enum { SPMV_COPY = 0, SPMV_BORROW = 1, SPMV_SORTED = 2, SPMV_VALIDATE = 4, SPMV_VOLATILE = 8 };

/* A caller's CSR or CSC; unsorted and with duplicates, which are added, unless the flags say
 * more. */
typedef struct spmv_arrays {
    size_t size;
    int64_t rows, cols, nnz;
    const void *ptr;    /* [rows + 1], or [cols + 1] if by_columns, of ptr_bits (32 or 64) each */
    const int32_t *idx; /* [nnz] */
    const void *values; /* [nnz] in `precision`; NULL: every entry is 1 */
    int ptr_bits, base; /* base: 0 or 1, the first index in ptr and idx */
    spmv_precision precision;
    spmv_symmetry symmetry; /* symmetry; unless general, one triangle is given */
    int by_columns;         /* 1: CSC */
    unsigned flags;         /* SPMV_COPY and so on */
    spmv_place place;       /* memory of all three arrays; SPMV_DEVICE: of the context's device */
    /* only with SPMV_VOLATILE: */
    const int32_t *line; /* [nnz] row of each entry (by_columns: column), in any order, instead of
                            ptr */
    /* Size of the dense blocks that nnz, ptr and idx count, each stored row by row; 0: 1. */
    int block_rows, block_cols;
    int idx_bits; /* 64: idx and line are int64_t arrays in host memory; 0: 32 */
} spmv_arrays;

typedef struct spmv_load_opts {
    size_t size;
    uint64_t seed;      /* seed of gen: matrices; 0: 1 */
    const char *values; /* gen: matrices: "random", "symmetric", "few:K", "pattern"; NULL: own */
    /* Called from the calling thread with done from 0 to 1; may be NULL. */
    void (*progress)(void *progress_arg, double done);
    void *progress_arg;
} spmv_load_opts;

/* Loads or generates a matrix. path: a file, plain or compressed; a .tar.gz with a file of the
 * archive's name; "-" for standard input; or "gen:NAME:ARGS" (spmv_generator_list). The format is
 * recognised by the content: Matrix Market, SciPy's .npz, MATLAB's .mat, PETSc's binary,
 * Rutherford-Boeing, or Octave's, Binsparse and AnnData in HDF5. "FILE:NAME" selects one of several
 * matrices; "FILE:symmetric" reads a PETSc file as the upper half of a symmetric matrix. */
spmv_status spmv_mat_load(spmv_ctx *ctx, const char *path, const spmv_load_opts *opts,
                          spmv_mat **out);
/* Makes a matrix from entries in any order. flags: SPMV_COPY or SPMV_BORROW. */
spmv_status spmv_mat_coo(spmv_ctx *ctx, const spmv_coo_view *view, unsigned flags, spmv_mat **out);
/* Makes a matrix from CSR with 64-bit offsets; the arrays are copied. */
spmv_status spmv_mat_csr(spmv_ctx *ctx, const spmv_csr_view *view, spmv_mat **out);
/* Makes a matrix from arrays in host or device memory. Arrays that would make the library read out
 * of bounds are always refused; the text names row (or column) and index, from 0. SPMV_VALIDATE
 * also refuses infinite values and NaN, violations of SPMV_SORTED, entries in both triangles of a
 * symmetric matrix (otherwise added as duplicates), and a skew-symmetric diagonal that is not 0.
 *
 * SPMV_BORROW: the arrays are used in place if possible, and must only be changed by
 * spmv_mat_set_values; otherwise they may be freed after this call. Possible are: CSR with
 * ascending columns, no duplicates and base 0; in host memory 64-bit ptr and f64 values; on a
 * device ptr in the plans' offset width (32 bits if nnz allows) and values of either precision.
 * Arrays on a device are read after earlier work on CUDA's default stream, and stay on the device.
 * They are copied to the host when needed there: for spmv_mat_rows, for a format that no device
 * builds, or if columns do not ascend.
 *
 * SPMV_VOLATILE (base 0, not symmetric, with values): nothing is derived from the arrays; a product
 * multiplies what they hold when it begins. Values, indices and offsets may change, ptr may end
 * anywhere up to nnz, and columns need not ascend. The arrays must not change during a product.
 * Indices are checked by this call, or on a device when a plan is made, and never again: a wrong
 * index written later makes a product access x or y out of bounds. An end of ptr that has become
 * wrong is SPMV_E_ARG of the product; on a device, entries beyond nnz are ignored. Plans exist for
 * "auto" only, where the arrays are, in their precision, and are concurrent, on a device on any
 * number of streams. In host memory the sums of a row are in the order of its entries. On a device
 * blocks are not supported, and products of CSC and of coordinates, and of a transposed CSR, sum in
 * any order. spmv_mat_set_values replaces the array of values, in the same kind of memory, for
 * later products, without a copy. Calls that need an immutable matrix (spmv_mat_rows,
 * spmv_mat_stats, spmv_mat_save, other kernels) fail with SPMV_E_UNSUITABLE. */
spmv_status spmv_mat_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out);
/* Sets new values of the same entries: as many as were given, in the same order and precision (f64
 * for files and coo), with symmetric halves and duplicates as before. Infinite values and NaN are
 * accepted unless a store's codes cannot represent them. Every plan of the matrix uses the new
 * values from its next product on. If a plan cannot, the status is SPMV_E_UNSUITABLE, and the text
 * says why. After any failure except SPMV_E_DEVICE (a GPU that no longer works) matrix and plans
 * are unchanged. place: memory of the values; SPMV_DEVICE: of the plans' device. On a GPU the call
 * is ordered on the stream (see spmv_exec_async): earlier products on it use the old values, later
 * ones the new ones, and values on the device are read in that order. The array may be overwritten
 * afterwards, on a device in stream order, unless SPMV_BORROW was given for values in the same kind
 * of memory: then this array is borrowed instead, and a product in a CUDA graph captured before
 * still reads the array of its capture. */
spmv_status spmv_mat_set_values(spmv_mat *mat, const void *values, spmv_place place, void *stream);
/* Writes a general matrix with all bits. The path's ending selects the format: .npz, .mat (version
 * 5), .petsc, .h5 (Binsparse), and Matrix Market for any other. */
spmv_status spmv_mat_save(const spmv_mat *mat, const char *path);
/* Frees a matrix. Its memory stays while plans of it exist; their products fail (SPMV_E_ARG). */
void spmv_mat_free(spmv_mat *mat);
/* Returns views of the entries that the matrix was made from, and of its CSR. The arrays are valid
 * as long as the matrix, or as the arrays that it has borrowed. After spmv_mat_set_values, call
 * again for the new values. SPMV_E_NOMEM: no memory for the arrays; SPMV_E_DEVICE: the device that
 * has the values failed. */
spmv_status spmv_mat_entries(const spmv_mat *mat, spmv_coo_view *view);
spmv_status spmv_mat_rows(const spmv_mat *mat, spmv_csr_view *view);
typedef struct spmv_stats {
    size_t size;
    int64_t rows, cols, nnz; /* nnz: entries after expansion and merging */
    int64_t nnz_file, duplicates, explicit_zeros;
    int64_t row_min, row_max, empty_rows, bandwidth; /* bandwidth: max |i - j| */
    double row_mean, row_std;
    uint64_t hash; /* hash of dimensions, columns and value bits in row order */
    spmv_field field;
    spmv_symmetry symmetry;
    double read_s;  /* parsing of the file, or generation */
    double build_s; /* conversion of entries to CSR, with checks */
} spmv_stats;
/* Returns the statistics of the matrix. */
spmv_status spmv_mat_stats(const spmv_mat *mat, spmv_stats *out);

/* Reads a dense vector from a file: Matrix Market (n x 1 or 1 x n; a coordinate file's missing
 * elements are 0), the dense array of a file in another format, column by column, or raw doubles if
 * the name ends in .f64. The caller frees *out with free(). *n is set on success only. */
spmv_status spmv_vector_load(spmv_ctx *ctx, const char *path, int64_t *n, double **out);
/* Writes a dense vector as raw doubles if the name ends in .f64, and as Matrix Market otherwise. */
spmv_status spmv_vector_save(spmv_ctx *ctx, const char *path, int64_t n, const double *x);

/* ---- plan ----------------------------------------------------------------------------------- */

typedef struct spmv_setting {
    const char *name; /* a parameter of a kernel: "block", "grid_rows", ... */
    int64_t value;
} spmv_setting;

/* State of the caches at the start of a product. WARM: they hold what fits, as in a solver that
 * does little else between products. COLD: nothing. STEADY: what consecutive products over more
 * data than the caches hold leave behind. */
typedef enum spmv_cache { SPMV_WARM = 0, SPMV_COLD, SPMV_STEADY } spmv_cache;

typedef struct spmv_plan_opts {
    size_t size;
    const char *kernel; /* name or alias, "omp:" or "cuda:" before it picks the backend; NULL or
                           "auto": the fastest that the library finds */
    spmv_precision precision;
    int offset_bits;  /* width of offsets into the nonzeros, 32 or 64; 0: 32 if nnz allows */
    size_t max_bytes; /* limit for store and scratch; 0: 80 % of the device's free memory */
    const spmv_setting *settings;
    int nsettings;
    /* for "auto": */
    /* Expected number of products. Preparation takes at most 0.15 of their time if they are enough
     * for trials: 267 on a CPU, 667 on a GPU. With fewer, nothing is timed, and a conversion is
     * only made if it should save more than it costs. If the products on a CPU are too short to pay
     * for a sample of the matrix, nothing is timed or converted. 0: unknown; preparation takes at
     * most the time of 10. */
    int64_t expected_calls;
    int nondeterministic; /* 1: allows kernels whose results may differ in bits in every run */
    spmv_cache cache;     /* state of the caches in use. If the matrix could fit, trials flush the
                             caches before each sample for COLD and STEADY, and load the matrix
                             before each sample for WARM */
    int threads; /* threads per product, 1 to the context's; 0: the context's, or fewer if "auto"
                    finds them as fast. Not for GPUs */
    spmv_place scalars; /* memory of the scalars of spmv_call; SPMV_DEVICE: the plan's, read when
                           the product runs; cuSPARSE's kernels refuse that (SPMV_E_UNSUITABLE) */
    int refill; /* 1: the values will change (spmv_mat_set_values). Refuses kernels that cannot do
                   that (SPMV_E_UNSUITABLE) and stores values unencoded */
    /* 0: SPMV_AS_IS. The matrix makes its transpose when the first plan needs it; a symmetric
     * matrix needs none. Below, rows and cols are those of op(A), or of A for SPMV_BOTH. */
    spmv_op op;
    int64_t vectors;    /* typical number of vectors per product; 0: 1; others are allowed */
    spmv_layout layout; /* layout of the vectors; 0: SPMV_COLUMNS */
    /* 1: products of up to eight threads run at the same time; the plan allocates memory for each,
     * if products need any. Kernels with memory for one product, and all on GPUs, fail with
     * SPMV_E_UNSUITABLE. 0: on a CPU products may wait for each other. */
    int concurrent;
    /* 1: results have the same bits in every run and for any number of threads, for one build and
     * backend: "auto" chooses by the matrix, not by timing, among kernels whose sums do not depend
     * on the number of threads. Others fail with SPMV_E_UNSUITABLE. */
    int reproducible;
} spmv_plan_opts;

/* Prepares products: builds the format unless the matrix owns it already; "auto" chooses a kernel.
 * Errors: SPMV_E_ARG, SPMV_E_NOMEM, SPMV_E_TOOBIG, SPMV_E_UNSUITABLE, SPMV_E_BACKEND,
 * SPMV_E_FEATURE, SPMV_E_DEVICE. */
spmv_status spmv_plan_create(spmv_mat *mat, const spmv_plan_opts *opts, spmv_plan **out);
/* Frees a plan. */
void spmv_plan_free(spmv_plan *plan);

typedef struct spmv_plan_facts {
    size_t size;
    const char *backend, *kernel, *format;
    const char *values; /* encoding of the values: "constant", "dictionary" or "floats"; NULL: none,
                           or one private to the kernel */
    int offset_bits;
    int64_t slots;                   /* stored entries with padding */
    size_t store_bytes;              /* bytes of the format */
    size_t host_bytes, device_bytes; /* memory of matrix, store and plan, without arrays that the
                                        caller owns and without other plans */
    size_t scratch_bytes;            /* structures of the kernel */
    size_t traffic_bytes;            /* bytes of the matrix read by a product, without x and y */
    double convert_s;                /* CSR to format, with computing its size */
    double upload_s;                 /* transfer of matrix or format to the device */
    double prepare_s;                /* building the kernel's structures (tiles, pitch) */
    /* Time from CSR in the device's memory until ready: conversion and prepare_s. Negative: the
     * host converts, and the result is uploaded. */
    double from_rows_s;
    /* One-time costs of the process, in none of the other times: starting a library, first-use
     * warm-up. */
    double once_s;
    /* The following are set for plans chosen by "auto", otherwise NULL and 0. */
    const char *reason;        /* one sentence on why this kernel was chosen */
    double tune_s;             /* sampling, building of rejected candidates, and trials */
    int timed;                 /* candidates in the trials; 0: no trials */
    const char *baseline;      /* the baseline kernel of the trials */
    double chosen_product_s;   /* time of a product of the chosen kernel in the trials */
    double baseline_product_s; /* time of a product of the baseline kernel in the trials */
    /* Bytes read before each sample of the trials to flush the caches, if the device cannot evict
     * only the data of a product; 0: none (a GPU's caches are filled once for WARM). */
    size_t flush_bytes;
    const char *wisdom; /* date of a choice stored in the wisdom file (RFC 3339) */
    size_t free_bytes;  /* free device memory in bytes when the plan was made; 0: unknown (volatile
                           arrays) */
    const char *note;   /* remark on anything unusual in making the plan; NULL: none */
    int threads;        /* per product; 0: on a GPU */
    int concurrent;     /* 1: several threads may use this plan at once; products may wait */
    int refills;        /* 1: spmv_mat_set_values can write new values into the plan's data */
    int waits_asleep;   /* 1: the plan's threads currently sleep while they wait for each other,
                           because other processes use the same cores */
    /* Peak bytes of arrays in use while the plan was made, less those in use before; includes what
     * the plan keeps. The host's value covers the whole process. 0 for spmv_plan_copy. */
    size_t peak_host_bytes, peak_device_bytes;
    /* Kernel and format of the product by the transpose in a plan for SPMV_BOTH; NULL and 0 if it
     * is the same kernel, as for a symmetric matrix. Bytes, seconds and counts above are those of
     * the product by A. */
    const char *transposed_kernel, *transposed_format;
    size_t transposed_store_bytes, transposed_scratch_bytes;
    /* 1 or 2: results have the same bits in every run and for any number of threads, 1 with the
     * same vector instructions, 2 with any. 0: they may differ between numbers of threads, or for
     * some kernels in every run. */
    int reproducible;
    double made_s; /* time of spmv_plan_create in total, with waiting for cores */
} spmv_plan_facts;
/* Returns the plan's kernel and costs. Strings in *out belong to the plan or the library. */
spmv_status spmv_plan_info(const spmv_plan *plan, spmv_plan_facts *out);
/* Returns the value of a parameter in use; -1: the kernel has no such parameter. */
int64_t spmv_plan_setting(const spmv_plan *plan, const char *name);

/* Multiplies by one vector: y <- alpha op(A) x + beta y, with op(A) = A if the plan is for
 * SPMV_BOTH. x[cols] and y[rows] are in the plan's precision and in memory of its device, and must
 * not overlap (SPMV_E_ARG). beta = 0 never reads y. Returns when y is complete. alpha multiplies
 * the sum of every row, which is 0 for an empty row: NaN if alpha is NaN or infinite. On a GPU an
 * infinite alpha may multiply partial sums, so that other rows may become NaN, too. alpha = 0
 * multiplies as well: 0 times infinity is NaN, as in oneMKL, librsb and AOCL-Sparse; cuSPARSE skips
 * the product. */
spmv_status spmv_exec(const spmv_plan *plan, double alpha, const void *x, double beta, void *y);

/* Like spmv_exec, but asynchronous on a stream: a cudaStream_t of the plan's GPU, which becomes the
 * calling thread's device; NULL: CUDA's default stream. Only launches kernels, without allocation
 * or waiting, so that it can be captured in a CUDA graph. (cuSPARSE's kernels serialize on their
 * shared handle, and copy y if it is not z.) A fault during execution is reported by a later call,
 * as in CUDA. A plan may be used in one stream at a time, including replayed graphs: overlapping
 * products of one plan on a GPU give wrong results, then and later. Different plans may run in
 * several streams. plan, x and y must stay valid until the product is complete. On a CPU this is
 * spmv_exec. */
spmv_status spmv_exec_async(const spmv_plan *plan, double alpha, const void *x, double beta,
                            void *y, void *stream);

/* z <- alpha op(A) x + beta y for k vectors at once. x is cols x k, y and z are rows x k, all in
 * one layout. A leading dimension is the distance, in elements, between vectors, or between rows
 * with SPMV_ROWS. z must not share elements with x; vectors of x and z may be interleaved in one
 * array. */
typedef struct spmv_call {
    size_t size;
    /* One scalar each, in the memory given by the plan's option `scalars`; on a device not within
     * z. NULL: alpha = 1, beta = 0. beta = 0 never reads y. The pointers of the other precision
     * must be NULL (SPMV_E_ARG). */
    const double *alpha, *beta;
    const float *alpha_f32, *beta_f32;
    const void *x;
    const void *y; /* either z with an equal leading dimension, or disjoint from z; not read if beta
                      is NULL */
    void *z;
    int64_t k;             /* vectors; 0: 1 */
    int64_t ldx, ldy, ldz; /* leading dimensions in elements; 0: minimal */
    spmv_layout layout;    /* 0: the plan's; another layout may take time, and scratch memory that
                              the plan keeps */
    spmv_op op;            /* 0: the plan's op, or A for SPMV_BOTH; other values only for a plan
                              with SPMV_BOTH */
    /* Dot products of each vector with the new z, computed with the product. They are summed in
     * double precision, in an order that depends on the length of z alone. */
    const void *w; /* layout as z; z itself or disjoint from z, for example x */
    int64_t ldw;   /* 0: minimal */
    void *dot_wz;  /* [k] w'z, in the plan's precision and memory, disjoint; NULL: not computed */
    void *dot_zz;  /* [k] z'z, as dot_wz */
} spmv_call;
/* Multiplies by one vector or several as `call` says. Asynchronous on the stream, as is
 * spmv_exec_async; scalars in host memory and *call are read before it returns. A plan made for
 * several vectors in this layout allocates nothing. Other plans may allocate at their first product
 * of several vectors; a GPU's plan also at its first product with dot products, and a peer's kernel
 * at its first product of one vector with gaps; such a product cannot be captured in a graph. The
 * bits of a vector's result do not depend on the other vectors nor, for k >= 2, on k. */
spmv_status spmv_apply(const spmv_plan *plan, const spmv_call *call, void *stream);

/* Allocates memory where the plan runs (on a CPU ordinary host memory), or fails with SPMV_E_NOMEM.
 * Free it with spmv_plan_release of the same plan, before the plan is freed. */
spmv_status spmv_plan_alloc(const spmv_plan *plan, size_t bytes, void **out);
/* Frees memory of spmv_plan_alloc. */
void spmv_plan_release(const spmv_plan *plan, void *memory);
/* Copy bytes to such memory, and back; return when the copy is complete. Work queued in a stream,
 * even NULL, may still be running: synchronize the stream before. */
spmv_status spmv_plan_put(const spmv_plan *plan, void *device, const void *host, size_t bytes);
spmv_status spmv_plan_get(const spmv_plan *plan, void *host, const void *device, size_t bytes);

/* Returns the text of a status. */
const char *spmv_strerror(spmv_status status);
/* Returns a program's exit code for a status (sysexits numbers). */
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
