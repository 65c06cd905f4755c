/* spmv_kernel.h: the interface of a kernel, and the plan that it prepares and multiplies with. */
#ifndef SPMV_KERNEL_H
#define SPMV_KERNEL_H

#include "spmv_backend.h"
#include "spmv_helpers.h"

enum spmv_trait {
    SPMV_DETERMINISTIC = 1,   /* a plan's results have the same bits in every run */
    SPMV_SERIAL = 2,          /* uses one thread, whatever the context's number */
    SPMV_PADS = 8,            /* may multiply padding by x: needs a finite x unless rowlens = 1 */
    SPMV_PAPER = 4,           /* described by a paper, although it has no short name (alias) */
    SPMV_WARP_ROW = 16,       /* CUDA blocks are 32 x R: one warp per row */
    SPMV_PEER = 32,           /* a kernel of another library, for comparison */
    SPMV_NEEDS_SYMMETRY = 64, /* other matrices fail with SPMV_E_UNSUITABLE */
    SPMV_KEEPS_VALUES = 128,  /* prepare derives data from values: new values need a new plan */
    SPMV_PANEL = 512,         /* run_columns needs the plan's panel */
    SPMV_READS_ROWS = 256,    /* GPU: estimate or prepare reads row_ptr in host memory */
    /* Multiplies by the transpose of the plan's matrix without transposing it, by its library's
     * means, if plan->transposes. Other kernels get the transpose as their matrix. */
    SPMV_TRANSPOSES = 1024,
    SPMV_ANY_THREADS = 2048 /* CPU: bits of results do not depend on the number of threads */
};

/* Operands of z <- alpha A x + beta y in memory of the plan's device, for k vectors: x is cols x k,
 * y and z are rows x k. */
typedef struct spmv_operands {
    double alpha, beta;
    /* On a GPU both scalars may be in device memory, in the plan's precision, and are read when the
     * product runs; alpha above is then a factor of *alpha_at, 1 or -1. NULL: alpha and beta above
     * are used. Never set for kernels of a host and for peers. */
    const void *alpha_at, *beta_at;
    const void *x, *y; /* y is z or disjoint from z; for kernels of a host y is z, except in
                          run_rows of our own kernels */
    void *z;
    void *stream;             /* cudaStream_t that orders the product; unused on a host */
    int64_t k, ldx, ldy, ldz; /* as in spmv_call with 0 replaced; one vector: k = 1, ld unused */
    spmv_layout layout;
    int slot;    /* index of the plan's workspace slot that this product uses */
    void *panel; /* panel of this slot; NULL: not needed */
} spmv_operands;

/* Most workspace slots of a concurrent plan, and so products at a time. */
enum { SPMV_SLOTS = 8 };

enum { SPMV_PANEL_VECTORS = 8 }; /* vectors packed at a time: a cache line of f64 */

struct spmv_kernel {
    const char *name, *alias, *format, *summary;
    const spmv_param *params;
    unsigned traits;
    size_t (*estimate)(const spmv_csr_view *A,
                       const spmv_choice *c); /* scratch bytes; NULL: none */
    spmv_status (*prepare)(spmv_plan *p); /* may return SPMV_E_UNSUITABLE; NULL: nothing to do */
    spmv_status (*run)(const spmv_plan *p, const spmv_operands *v); /* one vector */
    /* Multiply any number of vectors in that layout; NULL: vectors are multiplied one by one. */
    spmv_status (*run_columns)(const spmv_plan *p, const spmv_operands *v);
    spmv_status (*run_rows)(const spmv_plan *p, const spmv_operands *v);
    void (*release)(spmv_plan *p); /* frees what prepare has made; NULL: nothing */
    const char *absent;            /* how to get a peer's library; NULL: built in */
    /* Writes name and version of the peer's library for these parameters ("oneMKL 2026.2"), as it
     * reports them without a device; "" if it cannot. NULL: the kernel is ours. */
    void (*library)(const spmv_choice *c, char *text, size_t bytes);
};
/* Returns the parameter of a kernel or of its format; NULL: not taken. */
SPMV_LINKAGE const spmv_param *spmv_param_of(const spmv_kernel *kernel, spmv_param_id id);
/* Stands for "auto" in lists; has no functions. */
SPMV_LINKAGE const spmv_kernel spmv_auto_kernel;

/* ---- arrays that may change ------------------------------------------------------------------ */

typedef struct spmv_room { /* freed by free() */
    size_t bytes;
    unsigned char memory[] __attribute__((aligned(64)));
} spmv_room;
/* store of a matrix of volatile arrays (SPMV_VOLATILE): the arrays themselves */
typedef struct spmv_volatile {
    spmv_store s;
    spmv_arrays arrays; /* block_rows and block_cols are at least 1 */
    spmv_room *room;    /* memory kept from one product for the next; NULL: none */
} spmv_volatile;
/* Returns the length of the dimension that ptr compresses; for coordinates, the number of
 * entries. */
static inline int64_t spmv_volatile_lines(const spmv_arrays *a) {
    return a->line ? a->nnz : a->by_columns ? a->cols : a->rows / a->block_rows;
}

/* ---- plans ---------------------------------------------------------------------------------- */

/* prepare sets scratch, scratch_bytes and, unless equal to the store's, traffic_bytes */
struct spmv_plan {
    spmv_device *device;
    const spmv_kernel *kernel;
    spmv_mat *matrix;
    int64_t rows, cols;             /* lengths of z and x */
    const spmv_store *host, *store; /* in host memory; where the plan runs */
    spmv_choice choice;
    int variant;
    const spmv_csr_view *ordered; /* rows in the order that the choice names, while a store is built
                                     of them; NULL: they are built of the matrix's */
    void *scratch;
    size_t scratch_bytes, traffic_bytes;
    double convert_s, upload_s, prepare_s, once_s; /* as in spmv_plan_facts */
    double made_s;                                 /* as in spmv_plan_facts */
    size_t free_bytes;                             /* as in spmv_plan_facts */
    double rows_to_store_s;     /* part of convert_s that starts with rows in device memory; < 0:
                                   the host converts */
    const char *note;           /* remark on anything unusual in making the plan; NULL: none */
    struct spmv_tuning *tuning; /* how "auto" chose this plan; NULL: the kernel was named */
    spmv_store *own;            /* store of a copied plan, owned; NULL: the matrix owns the store */
    spmv_device narrowed;       /* device, if the plan has fewer threads than the context */
    int concurrent;             /* as in spmv_plan_opts */
    /* Number of workspace slots in scratch, one per concurrent product; 0: products only read
     * scratch. 1 before prepare, which may set slots up to most_slots. */
    int slots, most_slots;
    int busy[SPMV_SLOTS];          /* slots in use: 1 + number of forks of the process; 0: free */
    spmv_place scalars;            /* as in spmv_plan_opts */
    spmv_plan *next;               /* list of the matrix */
    size_t peak_host, peak_device; /* bytes, as in spmv_plan_facts */
    void *one_zero;                /* 1 and 0 in GPU memory, for device scalars that a call omits */
    spmv_op op;       /* as in spmv_plan_opts; the member matrix is the transpose if the product
                         needs one */
    spmv_plan *other; /* SPMV_BOTH: the plan that multiplies by the transpose, owned; NULL: this
                         plan does, or op is not SPMV_BOTH */
    int64_t vectors;  /* as in spmv_plan_opts, at least 1 */
    spmv_layout layout;
    bool refill;        /* as in spmv_plan_opts */
    bool transposes;    /* the kernel multiplies by the transpose of matrix (SPMV_TRANSPOSES), or of
                        volatile arrays */
    void *panel;        /* [panels] of SPMV_PANEL_VECTORS of x and of z; NULL: not needed yet */
    int panels;         /* 1 or SPMV_SLOTS; a product that packs uses one */
    size_t panel_bytes; /* size of all panels */
    void *sums_room;    /* scratch of the backend's sums; NULL: not needed yet */
};

/* Returns whether kernels in a stream may write the matrix's values between products. Then a
 * product must not read values before the previous kernel is complete (ahead.cuh). */
SPMV_LINKAGE bool spmv_values_change(const spmv_mat *mat);
SPMV_LINKAGE int64_t spmv_longest(const spmv_mat *mat); /* entries of the longest row */

#endif
