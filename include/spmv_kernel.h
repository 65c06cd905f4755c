/* spmv_kernel.h: what a kernel is, and the plan that it prepares and multiplies with. */
#ifndef SPMV_KERNEL_H
#define SPMV_KERNEL_H

#include "spmv_backend.h"
#include "spmv_helpers.h"

enum spmv_trait {
    SPMV_DETERMINISTIC = 1,   /* a plan's results have the same bits in every run */
    SPMV_SERIAL = 2,          /* one thread, whatever the context's number is */
    SPMV_PADS = 8,            /* may multiply padding by x: needs a finite x unless rowlens = 1 */
    SPMV_PAPER = 4,           /* a paper describes it, though without a short name (alias) */
    SPMV_WARP_ROW = 16,       /* CUDA blocks are 32 x R: one warp per row */
    SPMV_PEER = 32,           /* another library's kernel, for comparison */
    SPMV_NEEDS_SYMMETRY = 64, /* any other matrix is SPMV_E_UNSUITABLE */
    SPMV_KEEPS_VALUES = 128, /* prepare makes something of the values: other ones need a new plan */
    SPMV_PANEL = 512,        /* run_columns needs the plan's panel */
    SPMV_READS_ROWS = 256,   /* of a GPU's: estimate or prepare reads row_ptr in host memory */
    /* A plan with transposes multiplies by the transpose of its own matrix, as the kernel's library
     * does it: none is made. Other kernels get the transpose as their matrix. */
    SPMV_TRANSPOSES = 1024,
    SPMV_ANY_THREADS = 2048 /* of a host's: the bits of results do not depend on how many threads */
};

/* The operands of one product, z <- alpha A x + beta y, in memory of the plan's device, of k
 * vectors: x is cols x k, y and z are rows x k. */
typedef struct spmv_operands {
    double alpha, beta;
    /* On a GPU both scalars may lie in its memory, in the plan's precision: they are read when the
     * product runs, and alpha above is the sign of the other. NULL: those above hold. A host's
     * kernels and peers get none. */
    const void *alpha_at, *beta_at;
    const void *x, *y; /* y is z or apart from it; of a host's kernels it is z but in run_rows of
                          those that are ours */
    void *z;
    void *stream;             /* that the product is ordered on, a cudaStream_t; a host has none */
    int64_t k, ldx, ldy, ldz; /* as in spmv_call, where 0 is replaced; one vector: 1, and no ld */
    spmv_layout layout;
    int slot;    /* of the plan that this caller has, for what a product needs for itself */
    void *panel; /* of this slot; NULL: the product needs none */
} spmv_operands;

/* Callers at a time for which a plan has memory of their own, if it is to be concurrent. */
enum { SPMV_SLOTS = 8 };

enum { SPMV_PANEL_VECTORS = 8 }; /* packed at a time: a cache line of f64 */

struct spmv_kernel {
    const char *name, *alias, *format, *summary;
    const spmv_param *params;
    unsigned traits;
    size_t (*estimate)(const spmv_csr_view *A,
                       const spmv_choice *c); /* scratch bytes; NULL: none */
    spmv_status (*prepare)(spmv_plan *p); /* NULL: nothing to do; may return SPMV_E_UNSUITABLE */
    spmv_status (*run)(const spmv_plan *p, const spmv_operands *v); /* of one vector */
    /* These multiply any number of vectors in that layout; NULL: it is done one by one. */
    spmv_status (*run_columns)(const spmv_plan *p, const spmv_operands *v);
    spmv_status (*run_rows)(const spmv_plan *p, const spmv_operands *v);
    void (*release)(spmv_plan *p); /* frees what prepare made; NULL: nothing */
    const char *absent;            /* a peer's library: how to get it; NULL: built in */
    /* Writes name and version of the library that multiplies with these values ("oneMKL 2026.2"),
     * as it says itself, without a device; "" where it cannot be asked. NULL: the kernel is ours.
     */
    void (*library)(const spmv_choice *c, char *text, size_t bytes);
};
/* Returns the parameter of a kernel or of its format; NULL: not taken. */
SPMV_LINKAGE const spmv_param *spmv_param_of(const spmv_kernel *kernel, spmv_param_id id);
/* Stands for "auto" in lists; it has no functions of its own. */
SPMV_LINKAGE const spmv_kernel spmv_auto_kernel;

/* ---- arrays that may change ------------------------------------------------------------------ */

typedef struct spmv_room { /* free() frees it */
    size_t bytes;
    unsigned char memory[] __attribute__((aligned(64)));
} spmv_room;
typedef struct spmv_live { /* the store of a matrix of such arrays (SPMV_VOLATILE): they alone */
    spmv_store s;
    spmv_arrays arrays; /* block_rows and block_cols are 1 or more */
    spmv_room *room;    /* memory that a product left for the next one; NULL: there is none */
} spmv_live;
/* Returns how many lines ptr is of, or how many entries have coordinates. */
static inline int64_t spmv_live_lines(const spmv_arrays *a) {
    return a->line ? a->nnz : a->by_columns ? a->cols : a->rows / a->block_rows;
}

/* ---- plans ---------------------------------------------------------------------------------- */

struct spmv_plan { /* prepare sets scratch, scratch_bytes and, if not the store's, traffic_bytes */
    spmv_device *device;
    const spmv_kernel *kernel;
    spmv_mat *matrix;
    int64_t rows, cols;             /* of the products: lengths of z and x */
    const spmv_store *host, *store; /* in host memory; where it runs */
    spmv_choice choice;
    int variant;
    void *scratch;
    size_t scratch_bytes, traffic_bytes;
    double convert_s, upload_s, prepare_s, once_s; /* once_s: as in spmv_plan_facts */
    double made_s;                                 /* as in spmv_plan_facts */
    size_t free_bytes;                             /* as in spmv_plan_facts */
    double rows_to_store_s; /* of convert_s, what begins with rows on the device; < 0: the host */
    const char *note;       /* what was done otherwise than usual; NULL: nothing */
    struct spmv_tuning *tuning; /* how "auto" chose this plan; NULL: its kernel was named */
    spmv_store *own;            /* a copied plan's store, which it owns; NULL: the matrix owns it */
    spmv_device narrowed;       /* device, if the plan has fewer threads than the context */
    int concurrent;             /* as in spmv_plan_opts */
    /* For how many callers at a time the scratch has memory that a product writes to; 0: products
     * only read it. 1 before prepare, which may set it, to `most` with a part for each. */
    int slots, most_slots;
    int busy[SPMV_SLOTS];          /* of slots in use: 1 + forks of the process in which it runs */
    spmv_place scalars;            /* as in spmv_plan_opts */
    spmv_plan *next;               /* of the matrix */
    size_t peak_host, peak_device; /* bytes, as in spmv_plan_facts */
    void *one_zero;   /* 1 and 0 in a GPU's memory, for scalars there that a call leaves out */
    spmv_op op;       /* as in spmv_plan_opts; matrix is the transpose, unless it is its own or the
                         plan transposes */
    spmv_plan *other; /* of SPMV_BOTH, by the transpose; owned. NULL: this one, or another op */
    int64_t vectors;  /* as in spmv_plan_opts, 1 or more */
    spmv_layout layout;
    bool refill;     /* as in spmv_plan_opts */
    bool transposes; /* the kernel multiplies by the transpose of matrix: SPMV_TRANSPOSES; of arrays
                        that may change: by that of the lines that they are compressed to */
    void *panel; /* for each slot that has one, SPMV_PANEL_VECTORS of x and of z; NULL: not needed
                    yet */
    int panels;
    size_t panel_bytes; /* all */
    void *sums_room;    /* of the backend's sums; NULL: none needs it yet */
};

/* Says whether kernels in a stream may write the matrix's values, so that they change between
 * products: one that reads them before the kernel in front is done would mix old and new
 * (ahead.cuh). */
SPMV_LINKAGE bool spmv_values_change(const spmv_mat *mat);
SPMV_LINKAGE int64_t spmv_longest(const spmv_mat *mat); /* entries of the longest row */

#endif
