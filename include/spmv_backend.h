/* spmv_backend.h: the interface of a backend, which owns devices, their memory and their clocks: a
 * constant table of functions on devices that it has opened, without global state. */
#ifndef SPMV_BACKEND_H
#define SPMV_BACKEND_H

#include "spmv_format.h"
#include "spmv_propose.h"

typedef struct spmv_backend spmv_backend;
typedef struct spmv_kernel spmv_kernel;
typedef struct spmv_sample spmv_sample;
typedef struct spmv_device { /* an opened device */
    const spmv_backend *backend;
    spmv_ctx *ctx; /* receives error texts */
    int number;    /* index in the backend's numbering */
    int threads;   /* OpenMP team size; on a GPU, of the host's share of the work */
    void *stream;  /* GPU: the cudaStream_t of the device's own operations */
    void *state;   /* owned by the backend */
    const spmv_allocator *allocator; /* as in spmv_ctx_opts; NULL: the backend's own */
    /* Bytes allocated in device memory: current, and maximum since most was last set to used. */
    size_t used, most;
} spmv_device;

/* Builder of a format in device memory, so that the host need not hold the format. rows: the store
 * of format "csr" of the same variant on the device. If the builder builds "csr" itself: a store of
 * "csr" of any variant, which outlives the new store and whose arrays are borrowed if possible, or
 * NULL: A is uploaded. Otherwise only the sizes of A are read, unless reads_rows says otherwise. If
 * rows->passing, the builder frees arrays after reading them, even if it fails later, to reduce
 * peak memory. *head: the store's header with array sizes, without arrays; *upload_s: seconds of
 * the upload. On failure *head and *copy hold what was allocated; on success the device may still
 * be working. */
typedef struct spmv_device_format {
    const char *name;
    /* Returns the most bytes of device memory that building needs in addition to the store. */
    size_t (*working)(const spmv_csr_view *A, const spmv_choice *c);
    /* NULL: this variant is not built, and kernels that need it are refused. */
    spmv_status (*build)(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                         const spmv_choice *c, spmv_store **head, spmv_store **copy,
                         double *upload_s);
    /* Writes new values, unencoded, into a store of the same pattern that can hold any values; the
     * device may still be working afterwards. values: [nnz] in the order of the rows and the
     * variant's precision; row_ptr: [rows + 1] in the variant's width; both in device memory. "csr"
     * also takes values in host memory, and no row_ptr. */
    spmv_status (*refill)(spmv_device *d, const void *row_ptr, const void *values,
                          spmv_store *copy);
    /* Returns whether building reads the arrays of A, too; NULL: false. */
    bool (*reads_rows)(const spmv_choice *c);
    /* Only the builder of "csr" has this: makes a store from arrays in device memory. a->precision
     * is the variant's; a->rows and a->nnz are not 0. Borrows the arrays if a->flags have
     * SPMV_BORROW and the store can use them in place, otherwise copies them before it returns.
     * *is_right: whether the rows are ascending and without duplicates, with SPMV_VALIDATE also of
     * finite values. If not, the caller frees the results; nothing outside the arrays was read.
     * *stats: the members that follow from row_ptr are set. */
    spmv_status (*adopt)(spmv_device *d, const spmv_arrays *a, bool *is_right, spmv_stats *stats,
                         spmv_store **head, spmv_store **copy);
    /* Only "csr": makes the CSR of the transpose, for less than 2^32 nonzeros; *stats as above. */
    spmv_status (*transpose)(spmv_device *d, const spmv_store *rows, spmv_stats *stats,
                             spmv_store **head, spmv_store **copy);
    /* Only "csr": sets order[k], [nnz] in device memory, to the index that the transpose's entry k
     * has in the rows. */
    spmv_status (*order_turned)(spmv_device *d, const spmv_store *rows, uint32_t *order);
    /* Sets out[k] = values[order[k]] for k < n, all in device memory. */
    spmv_status (*arrange)(spmv_device *d, int64_t n, const void *values, const uint32_t *order,
                           void *out);
    /* Runs the first part of build, as far as needed to know the bytes of the store. *head and
     * *copy, NULL before, receive the arrays built for that; the caller frees them, also on
     * failure. NULL: the format's bound is close enough. */
    spmv_status (*measure)(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                           const spmv_choice *c, spmv_store **head, spmv_store **copy,
                           size_t *bytes);
} spmv_device_format;

/* Frees a store whose arrays are in device memory. */
SPMV_LINKAGE void spmv_store_free_on(spmv_device *device, spmv_store *copy);

typedef struct spmv_device_facts { /* NULL, 0 or negative: unknown */
    const char *name;              /* owned by the device */
    int cc, sms, driver, runtime, ecc, clock_sm_kHz, clock_memory_kHz;
    size_t memory, memory_free, l2;
    double bandwidth; /* theoretical, bytes per second */
} spmv_device_facts;

typedef struct spmv_device_state { /* current state; 0: unknown */
    double clock_Hz;               /* clock of a GPU's multiprocessors; mean of a host's cores */
    double clock_memory_Hz, power_W, power_limit_W;
    int temperature_C;
    long throttled;            /* a host's counter of thermal throttling */
    int mig;                   /* 1: the GPU is partitioned (MIG); -1: unknown */
    int busy_percent;          /* share of the last second in which a kernel ran; -1: unknown */
    unsigned long long slowed; /* NVML's bits of reasons for reduced clocks */
} spmv_device_state;

enum { SPMV_GATHERS = 16, SPMV_ROW_WIDTHS = 6 };
typedef struct spmv_rates {   /* best measured rates of a device */
    double others;            /* processors that other programs used meanwhile; 0: hardly any */
    double read, copy, triad; /* bytes per second of memory; copy counts two streams, triad three */
    double cache_read;        /* rate of a buffer of cache_bytes that the last-level cache holds */
    size_t cache_bytes;
    int ngathers;
    size_t gather_bytes[SPMV_GATHERS]; /* sizes of x, ascending */
    double gathers[SPMV_GATHERS]; /* random 8-byte reads of x, with their indices, per second */
    int nrows;                    /* 0: not measured */
    size_t row_bytes[SPMV_ROW_WIDTHS]; /* bytes of a row of x (several vectors), ascending */
    /* Random reads of such rows per second, from the last-level cache and from memory. */
    double rows_near[SPMV_ROW_WIDTHS], rows_far[SPMV_ROW_WIDTHS];
} spmv_rates;

/* Dot products w'z, z'z of k vectors; element i of vector j of w is w[i * w_row + j * w_vector]. */
typedef struct spmv_sums {
    size_t width; /* bytes of an element: 4 or 8 */
    int64_t n, k; /* elements per vector; vectors */
    const void *w, *z;
    int64_t w_row, w_vector, z_row, z_vector;
    void *wz, *zz; /* [k] results; NULL: not computed. w is not read if wz is NULL */
    void *room;    /* [sums_bytes] scratch of the backend, zero before its first use */
} spmv_sums;

/* ---- backends ------------------------------------------------------------------------------- */

enum {
    SPMV_AUTO = -1, /* index of "auto" in a spmv_kernel_id; in no backend's table */
    SPMV_MOST_BACKENDS = 4,
    SPMV_MOST_KERNELS = 64, /* per backend: a 64-bit word holds a set of kernels */
    SPMV_ALL_KERNELS = SPMV_MOST_BACKENDS * SPMV_MOST_KERNELS, /* maximum over all backends */
    SPMV_MOST_THREADS = 1024 /* threads of a context, and so shares of a product */
};
struct spmv_backend {
    const char *name, *hint;  /* hint: what to do if it is not built in */
    const char *clock;        /* that times its products, for records; NULL: the host's monotonic */
    const char *build;        /* compiler of the kernels, with its target; NULL: as the rest */
    const char *const *names; /* [nkernels] */
    const spmv_kernel *const (*kernels)[SPMV_NVARIANTS]; /* [nkernels]; NULL: not built in */
    int nkernels;
    const spmv_kernel *const
        *in_place; /* [SPMV_NVARIANTS] kernels for volatile arrays, in no list; NULL: none */
    const spmv_device_format *const (
        *formats)[SPMV_NVARIANTS]; /* formats that it builds; ends with NULL */
    bool host;                     /* its memory is host memory, so nothing is uploaded */
    /* Returns whether the machine has device `number`, without opening it. If not, why[size] says
     * what to do. NULL: always true. */
    bool (*present)(int number, char *why, size_t size);
    spmv_status (*open)(spmv_device *d);
    void (*close)(spmv_device *d);
    /* The device may use the memory at once, others after sync. */
    spmv_status (*alloc)(spmv_device *d, size_t bytes, void **out);
    void (*release)(spmv_device *d, void *memory);
    /* Frees memory that was kept for later allocations; NULL: none is kept. */
    void (*trim)(spmv_device *d);
    /* put and get copy to and from device memory; the other side may be host or device memory. */
    spmv_status (*put)(spmv_device *d, void *device, const void *from, size_t bytes);
    spmv_status (*get)(spmv_device *d, void *host, const void *device, size_t bytes);
    /* Transposes elements of `width` bytes, 4 or 8, on the stream: to[j * to_ld + i] <- from[i *
     * from_ld + j] for i < m, j < n. The arrays do not overlap. */
    spmv_status (*turn)(spmv_device *d, void *stream, size_t width, int64_t m, int64_t n,
                        const void *from, int64_t from_ld, void *to, int64_t to_ld);
    /* Computes dot products in double precision on the stream. The order of summation depends on n
     * alone, not on threads or k. Calls with the same room must not overlap in time. */
    spmv_status (*sums)(spmv_device *d, void *stream, const spmv_sums *s);
    size_t sums_bytes; /* bytes of room; 0: none */
    /* Sets every byte; may be asynchronous, but the device's next operation waits. */
    spmv_status (*fill)(spmv_device *d, void *memory, int byte, size_t bytes);
    spmv_status (*sync)(spmv_device *d);
    /* Returns whether kernels can read this memory: device, managed or pinned. NULL: always. */
    bool (*reaches)(const void *memory);
    /* Makes the device current in the calling thread, for launches; NULL: not needed. */
    spmv_status (*enter)(spmv_device *d);
    /* Makes the device's next operations wait for earlier work on a caller's stream, or, if
     * own_first, later work on that stream wait for the device. NULL: there are no streams. */
    spmv_status (*order)(spmv_device *d, void *stream, bool own_first);
    spmv_status (*tick)(spmv_device *d);
    spmv_status (*tock)(spmv_device *d, double *seconds);
    size_t (*free_bytes)(spmv_device *d);
    void (*describe)(spmv_device *d, spmv_device_facts *out);
    void (*propose)(const spmv_features *f, spmv_proposals *out);
    const char *const *proposed; /* kernels that `propose` names by cost; ends with NULL */
    /* Reads `bytes` bytes of otherwise unused memory, to flush smaller caches; may be asynchronous,
     * but the device's next operation waits. The memory is kept for the next call; bytes = 0 frees
     * it and cannot fail. */
    spmv_status (*flush)(spmv_device *d, size_t bytes);
    spmv_status (*nothing)(spmv_device *d); /* launches an empty kernel */
    /* Launches between record_start and record_stop are recorded instead of executed; NULL:
     * launches cost nothing. replay is asynchronous. */
    spmv_status (*record_start)(spmv_device *d);
    spmv_status (*record_stop)(spmv_device *d, void **recording); /* also after a failed launch */
    spmv_status (*replay)(spmv_device *d, void *recording);
    void (*forget)(spmv_device *d, void *recording);
    /* Measures the device's rates, in seconds. cache: bytes of the last-level cache, or 0. */
    spmv_status (*probe)(spmv_device *d, size_t cache, spmv_rates *out);
    void (*state)(spmv_device *d, spmv_device_state *out); /* NULL: not available */
    bool (*waits_asleep)(spmv_device *d);                  /* as in spmv_plan_facts; NULL: false */
    /* Evicts only this memory from the caches, in time proportional to its size. NULL or returns
     * false if the device cannot. */
    bool (*evict)(spmv_device *d, const void *memory, size_t bytes);
    /* Samples a store of "csr" in device memory; out->size says how much. NULL: the host samples.
     * On failure there is nothing to free. */
    spmv_status (*sample)(spmv_device *d, const spmv_store *rows, spmv_sample *out);
};
typedef struct spmv_kernel_id {
    const spmv_backend *backend;
    int index; /* into names and, if built in, kernels; or SPMV_AUTO */
} spmv_kernel_id;
/* Finds the kernels named by "[BACKEND:]WORD", ignoring case: a name or alias, a glob of these, a
 * format (all its kernels except peers), or a group: "all" (kernels that `propose` names, and those
 * with an alias), "papers" (described by papers), "peers", "everything". Without a prefix a group
 * covers every backend; other words are looked up on the context's backend first. No match:
 * SPMV_E_ARG. */
SPMV_LINKAGE spmv_status spmv_kernel_find(spmv_ctx *ctx, const char *pattern, spmv_kernel_id *found,
                                          int capacity, int *count);

/* Returns whether the word, without a prefix, names a group. */
SPMV_LINKAGE bool spmv_kernel_is_group(const char *word);

SPMV_LINKAGE const spmv_backend spmv_omp;
SPMV_LINKAGE const spmv_backend spmv_cuda;
SPMV_LINKAGE const spmv_backend *const spmv_backends[];                /* ends with NULL */
SPMV_LINKAGE const spmv_backend *spmv_backend_named(const char *name); /* NULL: none */
/* Like spmv_ctx_create, but checks for a device only when one is used: looking up kernel names, or
 * using another backend, needs none. */
SPMV_LINKAGE spmv_status spmv_ctx_create_lazily(const spmv_ctx_opts *opts, spmv_ctx **out);
/* Describes a backend's device, and opens it if needed. */
SPMV_LINKAGE spmv_status spmv_ctx_describe(spmv_ctx *ctx, const spmv_backend *backend,
                                           spmv_device_facts *out);

/* Measures a backend's device. */
SPMV_LINKAGE spmv_status spmv_ctx_probe(spmv_ctx *ctx, const spmv_backend *backend, size_t cache,
                                        spmv_rates *out);
/* Reads the state of a backend's device; returns false if it has none. */
SPMV_LINKAGE bool spmv_ctx_state(spmv_ctx *ctx, const spmv_backend *backend,
                                 spmv_device_state *out);

#endif
