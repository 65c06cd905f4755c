/* spmv_backend.h: what a backend is, which owns devices, their memory and their clocks. It is a
 * constant table of functions over devices it opened; nothing is global. */
#ifndef SPMV_BACKEND_H
#define SPMV_BACKEND_H

#include "spmv_format.h"
#include "spmv_propose.h"

typedef struct spmv_backend spmv_backend;
typedef struct spmv_kernel spmv_kernel; /* spmv_kernel.h */
typedef struct spmv_sample spmv_sample; /* spmv_sample.h */
typedef struct spmv_device {            /* one opened device */
    const spmv_backend *backend;
    spmv_ctx *ctx; /* its error text gets the messages */
    int number;    /* as the backend numbers its devices */
    int threads;   /* OpenMP team size; on a GPU that of the host's share of the work */
    void *stream;  /* of a GPU, what its own operations are ordered on: a cudaStream_t */
    void *state;   /* owned by the backend */
    const spmv_allocator *allocator; /* as in spmv_ctx_opts; NULL: the backend's own */
    /* Bytes allocated in the device's own memory: now, and the largest value of used since most was
     * last reset to it. */
    size_t used, most;
} spmv_device;

/* A format that a device builds in its own memory, so that the host need not hold it. rows: the
 * store of format "csr" and the same variant on the device. Of "csr" itself: one of any variant,
 * which outlives the store, and whose arrays it borrows where it can; NULL: A is sent. Else only
 * the sizes of A are read, unless reads_rows says otherwise. Of rows that are only passing the
 * builder frees what it has read, even if it fails later, to have less in use at its end. *head:
 * the store with its arrays' sizes but without the arrays; *upload_s: the seconds that sending
 * took. On failure *head and *copy hold what was allocated; on success the device may still be
 * working. */
typedef struct spmv_device_format {
    const char *name;
    /* Bytes of device memory that building takes besides the store, at most. */
    size_t (*working)(const spmv_csr_view *A, const spmv_choice *c);
    /* NULL: the device does not make it in this variant, and its kernels of it are refused. */
    spmv_status (*build)(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                         const spmv_choice *c, spmv_store **head, spmv_store **copy,
                         double *upload_s);
    /* Writes other values, as they are, into a store of the same pattern, which can hold any; the
     * device may still be working.
     * values: [nnz] in the order of the rows and the variant's precision, in its memory, as
     * row_ptr: [rows + 1] in the variant's width. "csr" takes values in host memory too, and no
     * row_ptr. */
    spmv_status (*refill)(spmv_device *d, const void *row_ptr, const void *values,
                          spmv_store *copy);
    /* Says whether building reads the arrays of A, too; NULL: it does not. */
    bool (*reads_rows)(const spmv_choice *c);
    /* The builder of "csr" alone has this: it makes the store of compressed rows in the device's
     * memory, a->precision being the variant's, a->rows and a->nnz not 0: of the arrays themselves
     * where a->flags say SPMV_BORROW and the store can have them so, else of copies, which are
     * complete when it returns. *is_right: whether they are such rows, ascending and without
     * duplicates, with SPMV_VALIDATE of finite values; if not, the rest of what it gives is for the
     * caller to free, and nothing outside the arrays was read. *stats: its members that follow from
     * row_ptr. */
    spmv_status (*adopt)(spmv_device *d, const spmv_arrays *a, bool *is_right, spmv_stats *stats,
                         spmv_store **head, spmv_store **copy);
    /* It also makes the rows of the transpose, of less than 2^32 nonzeros; *stats as above. */
    spmv_status (*transpose)(spmv_device *d, const spmv_store *rows, spmv_stats *stats,
                             spmv_store **head, spmv_store **copy);
    /* Writes into order, [nnz] in the device's memory, which entry of the rows each of the
     * transpose's is. */
    spmv_status (*order_turned)(spmv_device *d, const spmv_store *rows, uint32_t *order);
    /* Sets out[k] = values[order[k]] for k < n, all in the device's memory. */
    spmv_status (*arrange)(spmv_device *d, int64_t n, const void *values, const uint32_t *order,
                           void *out);
    /* The first part of build, as far as it takes to know the bytes of the whole store. *head and
     * *copy, NULL before, hold the arrays that were built for it; the caller frees them, also on
     * failure. NULL: the format's bound is close enough. */
    spmv_status (*measure)(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                           const spmv_choice *c, spmv_store **head, spmv_store **copy,
                           size_t *bytes);
} spmv_device_format;

/* Frees a store whose arrays are in the device's memory. */
SPMV_LINKAGE void spmv_store_free_on(spmv_device *device, spmv_store *copy);

typedef struct spmv_device_facts { /* NULL, 0 or negative: unknown */
    const char *name;              /* owned by the device */
    int cc, sms, driver, runtime, ecc, clock_sm_kHz, clock_memory_kHz;
    size_t memory, memory_free, l2;
    double bandwidth; /* theoretical, bytes per second */
} spmv_device_facts;

typedef struct spmv_device_state { /* at this moment; 0: unknown */
    double clock_Hz;               /* of a GPU's multiprocessors; the mean of a host's cores */
    double clock_memory_Hz, power_W, power_limit_W;
    int temperature_C;
    long throttled;            /* grows when heat slows a host's processors down */
    int mig;                   /* the GPU is cut into parts; -1: unknown */
    int busy_percent;          /* share of the last second that a kernel ran; -1: unknown */
    unsigned long long slowed; /* NVML's reasons why clocks are not at their highest */
} spmv_device_state;

enum { SPMV_GATHERS = 16, SPMV_ROW_WIDTHS = 6 };
typedef struct spmv_rates {   /* the measured best rates of a device */
    double read, copy, triad; /* memory, bytes per second; copy counts two, triad three streams */
    double cache_read;        /* of a buffer of cache_bytes, which the last-level cache holds */
    size_t cache_bytes;
    int ngathers;
    size_t gather_bytes[SPMV_GATHERS]; /* sizes of x, ascending */
    double gathers[SPMV_GATHERS]; /* random 8-byte reads of it, and their indices, per second */
    int nrows;                    /* 0: not measured */
    size_t row_bytes[SPMV_ROW_WIDTHS]; /* of a row of x with several vectors, ascending */
    /* Such rows read at random places per second: of what the last-level cache holds, and not. */
    double rows_near[SPMV_ROW_WIDTHS], rows_far[SPMV_ROW_WIDTHS];
} spmv_rates;

/* Sums w'z and z'z of k vectors. Number i of vector j of w is w[i * w_row + j * w_vector]. */
typedef struct spmv_sums {
    size_t width; /* bytes of a number: 4 or 8 */
    int64_t n, k; /* numbers of a vector; vectors */
    const void *w, *z;
    int64_t w_row, w_vector, z_row, z_vector;
    void *wz, *zz; /* [k]; NULL: not wanted; w is not read if wz is */
    void *room;    /* [sums_bytes] of the backend's, zeros before the first sums that use it */
} spmv_sums;

/* ---- backends ------------------------------------------------------------------------------- */

enum {
    SPMV_AUTO = -1, /* index of "auto" in a spmv_kernel_id: it is in no backend's table */
    SPMV_MOST_BACKENDS = 4,
    SPMV_MOST_KERNELS = 64, /* of a backend: sets of them are the bits of a number */
    SPMV_ALL_KERNELS = SPMV_MOST_BACKENDS * SPMV_MOST_KERNELS, /* of all backends, at most */
    SPMV_MOST_THREADS = 1024 /* of a context: kernels divide a product among no more */
};
struct spmv_backend {
    const char *name, *hint; /* hint: what to do when it is not built in */
    const char *build; /* the compiler of its kernels and what it compiled for; NULL: as the rest */
    const char *const *names;                            /* [nkernels] */
    const spmv_kernel *const (*kernels)[SPMV_NVARIANTS]; /* [nkernels]; NULL: not built in */
    int nkernels;
    const spmv_kernel *const
        *in_place; /* [SPMV_NVARIANTS] that multiply arrays that may change, and
                                           are in no list; NULL: none */
    const spmv_device_format *const (
        *formats)[SPMV_NVARIANTS]; /* those it builds; NULL at the end */
    bool host;                     /* its memory is host memory: nothing to upload */
    /* Returns whether the machine has the device of that number, which is not opened. If not, why,
     * [size], gets what to do. NULL: it has. */
    bool (*present)(int number, char *why, size_t size);
    spmv_status (*open)(spmv_device *d);
    void (*close)(spmv_device *d);
    /* Operations of the device may use the memory at once, others after sync. */
    spmv_status (*alloc)(spmv_device *d, size_t bytes, void **out);
    void (*release)(spmv_device *d, void *memory);
    /* Gives back released memory that is kept for later allocations; NULL: nothing is kept. */
    void (*trim)(spmv_device *d);
    /* `from` and `host` may be host memory or the device's own. */
    spmv_status (*put)(spmv_device *d, void *device, const void *from, size_t bytes);
    spmv_status (*get)(spmv_device *d, void *host, const void *device, size_t bytes);
    /* Transposes numbers of so many bytes, 4 or 8, on the stream:
     * to[j * to_ld + i] <- from[i * from_ld + j] for i < m, j < n. The arrays are apart. */
    spmv_status (*turn)(spmv_device *d, void *stream, size_t width, int64_t m, int64_t n,
                        const void *from, int64_t from_ld, void *to, int64_t to_ld);
    /* Adds up in double precision, ordered on the stream, in an order that depends on n alone:
     * neither on threads nor on k. Sums that share their room do not overlap in time. */
    spmv_status (*sums)(spmv_device *d, void *stream, const spmv_sums *s);
    size_t sums_bytes; /* that they need; 0: none */
    /* Sets every byte; may return before it is done; the device's next operation waits. */
    spmv_status (*fill)(spmv_device *d, void *memory, int byte, size_t bytes);
    spmv_status (*sync)(spmv_device *d);
    /* Says whether its kernels may read this memory: a device's own, managed or pinned. NULL:
     * any. */
    bool (*reaches)(const void *memory);
    /* Makes it the calling thread's device, on which kernels are launched; NULL: nothing to do. */
    spmv_status (*enter)(spmv_device *d);
    /* The device's next operations wait for what was put on a caller's stream; or, if own_first,
     * what is put on it next waits for the device's. NULL: there are no streams. */
    spmv_status (*order)(spmv_device *d, void *stream, bool own_first);
    spmv_status (*tick)(spmv_device *d);
    spmv_status (*tock)(spmv_device *d, double *seconds);
    size_t (*free_bytes)(spmv_device *d);
    void (*describe)(spmv_device *d, spmv_device_facts *out);
    void (*propose)(const spmv_features *f, spmv_proposals *out);
    const char *const *proposed; /* kernels that propose names by cost; NULL at the end */
    /* For measuring: reads `bytes` of memory that nothing else uses, so that smaller caches no
     * longer hold anything else; may return before it is done; the device's next operation
     * waits. The memory is kept for the next time; bytes = 0 gives it back, and does not fail. */
    spmv_status (*flush)(spmv_device *d, size_t bytes);
    spmv_status (*nothing)(spmv_device *d); /* launches an empty kernel */
    /* Launches between start and stop are recorded, not run; NULL where a launch costs nothing.
     * replay does not wait. */
    spmv_status (*record_start)(spmv_device *d);
    spmv_status (*record_stop)(spmv_device *d, void **recording); /* also after a failed launch */
    spmv_status (*replay)(spmv_device *d, void *recording);
    void (*forget)(spmv_device *d, void *recording);
    /* cache: bytes of the last-level cache, 0: unknown. Takes seconds. */
    spmv_status (*probe)(spmv_device *d, size_t cache, spmv_rates *out);
    void (*state)(spmv_device *d, spmv_device_state *out); /* NULL: nothing to read */
    bool (*waits_asleep)(spmv_device *d);                  /* as in spmv_plan_facts; NULL: never */
    /* Puts only this memory out of the caches, in a time by its size, not by theirs. Returns false,
     * or is NULL, if the device cannot. */
    bool (*evict)(spmv_device *d, const void *memory, size_t bytes);
    /* Takes the sample of compressed rows, a store of "csr", in the device's memory: out->size is
     * how much. NULL: the host has to. On failure there is nothing to free. */
    spmv_status (*sample)(spmv_device *d, const spmv_store *rows, spmv_sample *out);
};
typedef struct spmv_kernel_id {
    const spmv_backend *backend;
    int index; /* into names and, when built in, kernels; or SPMV_AUTO */
} spmv_kernel_id;
/* Kernels that "[BACKEND:]WORD" names, in any case: a name or alias, a glob of them, a format (all
 * its kernels but peers), or a group: "all" (those that propose names and those with an alias),
 * "papers" (those that papers describe), "peers", "everything". Without a prefix a group is of
 * every backend, and other words are the context's backend's first. None: SPMV_E_ARG. */
SPMV_LINKAGE spmv_status spmv_kernel_find(spmv_ctx *ctx, const char *pattern, spmv_kernel_id *found,
                                          int capacity, int *count);

/* Says whether the word, without a prefix, names a group. */
SPMV_LINKAGE bool spmv_kernel_is_group(const char *word);

SPMV_LINKAGE const spmv_backend spmv_omp;
SPMV_LINKAGE const spmv_backend spmv_cuda;
SPMV_LINKAGE const spmv_backend *const spmv_backends[]; /* every backend, NULL at the end */
SPMV_LINKAGE const spmv_backend *spmv_backend_named(const char *name); /* NULL: none */
/* Creates a context as spmv_ctx_create does, but refuses a backend without a device only when one
 * is needed: none is to look up names of kernels, or to run those of another backend. */
SPMV_LINKAGE spmv_status spmv_ctx_create_lazily(const spmv_ctx_opts *opts, spmv_ctx **out);
/* Facts of a backend's device, which is opened. */
SPMV_LINKAGE spmv_status spmv_ctx_describe(spmv_ctx *ctx, const spmv_backend *backend,
                                           spmv_device_facts *out);

/* Measures a backend's device. */
SPMV_LINKAGE spmv_status spmv_ctx_probe(spmv_ctx *ctx, const spmv_backend *backend, size_t cache,
                                        spmv_rates *out);
/* False: the device says nothing. */
SPMV_LINKAGE bool spmv_ctx_state(spmv_ctx *ctx, const spmv_backend *backend,
                                 spmv_device_state *out);

#endif
