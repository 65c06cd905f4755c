/* spmv_kernel.h: for authors of kernels, formats and backends. What a matrix looks like in a format
 * is in formats/NAME/NAME.h. row_ptr, col_idx, values are PSBLAS's IRP, JA, AS. A file that
 * computes is compiled once per variant: real (double, float) x ofs (32-bit, 64-bit positions in
 * nnz), with -DSPMV_REAL -DSPMV_OFS -DSPMV_SUFFIX; V(name) is the variant's symbol. Columns and
 * rows are always 32-bit. */
#ifndef SPMV_KERNEL_H
#define SPMV_KERNEL_H

#include "spmv.h"
#include <stdbool.h>
#include <string.h>

/* C++ means a .cu file. */
#ifdef __cplusplus
#define SPMV_LINKAGE extern "C"
#else
#define SPMV_LINKAGE extern
#endif

#ifndef SPMV_SUFFIX
#define SPMV_REAL double
#define SPMV_OFS int32_t
#define SPMV_SUFFIX f64_o32
#endif
#define SPMV_JOIN2(a, b) a##_##b
#define SPMV_JOIN(a, b) SPMV_JOIN2(a, b)
#define V(name) SPMV_JOIN(name, SPMV_SUFFIX)
typedef SPMV_REAL real;
typedef SPMV_OFS ofs;
typedef int32_t idx;
enum { SPMV_F64_O32, SPMV_F64_O64, SPMV_F32_O32, SPMV_F32_O64, SPMV_NVARIANTS };

/* ---- parameters ----------------------------------------------------------------------------- */

#define PARAM(name, ...) SPMV_##name,
typedef enum spmv_param_id {
#include "params.def"
    SPMV_NPARAMS
} spmv_param_id;
#undef PARAM

typedef struct spmv_param { /* a kernel's parameter; a list ends with SPMV_NO_MORE_PARAMS */
    spmv_param_id id;
    int64_t default_value, min, max, multiple; /* values: min..max, divisible by multiple */
    bool power_of_two;                         /* values are powers of two, or 0 if min is 0 */
} spmv_param;
#define SPMV_NO_MORE_PARAMS \
    { SPMV_NPARAMS, 0, 0, 0, 1, false }
static inline bool spmv_param_takes(const spmv_param *p, int64_t value) {
    return value >= p->min && value <= p->max && value % p->multiple == 0 &&
           (!p->power_of_two || (value & (value - 1)) == 0);
}

typedef struct spmv_choice { /* the chosen values; 0 for parameters that a kernel does not take */
    int64_t value[SPMV_NPARAMS];
} spmv_choice;

#include "spmv_format.h" /* stores and formats */

/* ---- kernels -------------------------------------------------------------------------------- */

enum spmv_trait {
    SPMV_DETERMINISTIC = 1,   /* a plan's results have the same bits in every run */
    SPMV_SERIAL = 2,          /* one thread, whatever the context's number is */
    SPMV_PADS = 8,            /* may multiply padding by x: needs a finite x unless rowlens = 1 */
    SPMV_WARP_ROW = 16,       /* CUDA blocks are 32 x R: one warp per row */
    SPMV_PEER = 32,           /* another library's kernel, for comparison */
    SPMV_NEEDS_SYMMETRY = 64, /* any other matrix is SPMV_E_UNSUITABLE */
    SPMV_KEEPS_VALUES = 128, /* prepare makes something of the values: other ones need a new plan */
    SPMV_READS_ROWS = 256    /* of a GPU's: estimate or prepare reads row_ptr in host memory */
};

/* The operands of one product, z <- alpha A x + beta y, in memory of the plan's device. */
typedef struct spmv_operands {
    double alpha, beta;
    /* On a GPU both scalars may lie in its memory, in the plan's precision: they are read when the
     * product runs. NULL: those above hold. A host's kernels and peers get none. */
    const void *alpha_at, *beta_at;
    const void *x, *y; /* y is z or apart from it; for a host's kernels it is z */
    void *z;
    void *stream; /* that the product is ordered on, a cudaStream_t; a host has none */
} spmv_operands;

typedef struct spmv_kernel {
    const char *name, *alias, *format, *summary;
    const spmv_param *params;
    unsigned traits;
    size_t (*estimate)(const spmv_csr_view *A,
                       const spmv_choice *c); /* scratch bytes; NULL: none */
    spmv_status (*prepare)(spmv_plan *p); /* NULL: nothing to do; may return SPMV_E_UNSUITABLE */
    spmv_status (*run)(const spmv_plan *p, const spmv_operands *v);
    void (*release)(spmv_plan *p); /* frees what prepare made; NULL: nothing */
    const char *absent;            /* a peer's library: how to get it; NULL: built in */
    /* Writes name and version of the library that multiplies with these values ("oneMKL 2026.2"),
     * as it says itself, without a device; "" where it cannot be asked. NULL: the kernel is ours.
     */
    void (*library)(const spmv_choice *c, char *text, size_t bytes);
} spmv_kernel;
/* The parameter of a kernel or of its format; NULL: not taken. */
SPMV_LINKAGE const spmv_param *spmv_param_of(const spmv_kernel *kernel, spmv_param_id id);
#include "spmv_export.h"  /* the one symbol of a kernel or format file */
#include "spmv_backend.h" /* devices, what a backend is, and what "auto" asks of it */

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
    double rows_to_store_s; /* of convert_s, what begins with rows on the device; < 0: the host */
    const char *note;       /* what was done otherwise than usual; NULL: nothing */
    struct spmv_tuning *tuning; /* how "auto" chose this plan; NULL: its kernel was named */
    spmv_store *own;            /* a copied plan's store, which it owns; NULL: the matrix owns it */
    spmv_device narrowed;       /* device, if the plan has fewer threads than the context */
    int concurrent, busy; /* as in spmv_plan_facts; 1 + forks of the process in which it runs */
    spmv_place scalars;   /* as in spmv_plan_opts */
    spmv_plan *next;      /* of the matrix */
    size_t peak_host, peak_device; /* bytes, as in spmv_plan_facts */
    void *one_zero; /* 1 and 0 in a GPU's memory, for scalars there that a call leaves out */
};

/* Says whether kernels in a stream may write the matrix's values, so that they change between
 * products: one that reads them before the kernel in front is done would mix old and new
 * (ahead.cuh). */
SPMV_LINKAGE bool spmv_values_change(const spmv_mat *mat);

/* ---- shared helpers ------------------------------------------------------------------------- */

/* Writes the context's error text and returns code: say what, which value, and what to do. */
SPMV_LINKAGE spmv_status spmv_fail(spmv_ctx *ctx, spmv_status code, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
#define TRY(call) \
    do { \
        spmv_status try_status_ = (call); \
        if (try_status_ != SPMV_OK) return try_status_; \
    } while (0)
SPMV_LINKAGE int64_t spmv_longest(const spmv_mat *mat); /* entries of the longest row */
/* Host memory: 64-byte aligned, huge pages when large, not cleared; NULL when there is none. */
SPMV_LINKAGE void *spmv_host_alloc(size_t bytes);
SPMV_LINKAGE void spmv_host_free(void *memory);
/* The same for what a matrix, a store or a plan keeps: from the caller's allocator, if the context
 * has one. By one thread at a time. */
SPMV_LINKAGE void *spmv_host_take(spmv_ctx *ctx, size_t bytes);
SPMV_LINKAGE void spmv_host_give(spmv_ctx *ctx, void *memory);

/* First of the block-th of nblocks nearly equal parts of 0..n-1: sizes differ by at most one, the
 * larger first. */
static inline int64_t spmv_split(int64_t n, int64_t nblocks, int64_t block) {
    int64_t size = n / nblocks, rest = n % nblocks;
    return block * size + (block < rest ? block : rest);
}

/* Says how many blocks n are cut into where so many are asked for: none is empty, and one is
 * there. */
static inline int64_t spmv_blocks_of(int64_t asked, int64_t n) {
    return asked < n ? asked : n > 0 ? n : 1;
}

/* Returns the first entry of row i, whose columns ascend, in column at least col, or the row's
 * end. */
static inline int64_t spmv_first_from(const spmv_csr_view *A, int64_t i, int64_t col) {
    int64_t low = A->row_ptr[i], high = A->row_ptr[i + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A->col_idx[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The place of entry (i, j); -1: there is none. */
static inline int64_t spmv_find_entry(const spmv_csr_view *A, int64_t i, int64_t j) {
    int64_t k = spmv_first_from(A, i, j);
    return k < A->row_ptr[i + 1] && A->col_idx[k] == j ? k : -1;
}

/* Returns the bits by which values are told apart: 0 from -0, and one NaN from another. */
static inline uint64_t spmv_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* splitmix64's finaliser: every bit affects every bit. */
static inline uint64_t spmv_mix(uint64_t h) {
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}
#endif
