/* spmv_format.h: the interface of a format, which builds stores of a matrix. The layout of a
 * format's stores is in formats/NAME/NAME.h. row_ptr, col_idx, values are PSBLAS's IRP, JA, AS. */
#ifndef SPMV_FORMAT_H
#define SPMV_FORMAT_H

#include "spmv.h"
#include "spmv_param.h"
#include "spmv_variant.h"

/* ---- stores: a matrix in one format and precision ------------------------------------------- */

typedef struct spmv_array { /* offset of the pointer in its struct; bytes of the array */
    size_t offset, bytes;
    bool borrowed; /* owned by the matrix, which outlives the store, or by its lender */
} spmv_array;
/* header of every format's struct: scalars and a list of arrays */
typedef struct spmv_store {
    const char *format, *values;    /* values: their encoding (formats/value_codes.h), or NULL */
    int64_t rows, cols, nnz, slots; /* slots: stored entries with padding */
    size_t size;                    /* bytes of the whole struct */
    spmv_ctx *ctx;                  /* context whose memory the arrays use, if on the host */
    int32_t *order; /* [rows] matrix row of stored row i (spmv_order.h); NULL: rows are in the
                       order of the matrix */
    bool passing;   /* temporary: the builder of another store may free its arrays */
    int narrays;
    spmv_array array[16];
} spmv_store;

SPMV_LINKAGE spmv_status spmv_store_new(spmv_ctx *ctx, const char *format, size_t size,
                                        const spmv_csr_view *A, spmv_store **out);
spmv_status spmv_store_array(spmv_ctx *ctx, spmv_store *store, size_t offset, size_t bytes);
SPMV_LINKAGE void spmv_store_free(spmv_store *store);
SPMV_LINKAGE size_t spmv_store_bytes(const spmv_store *store); /* sum over its arrays */
/* Allocates an array for member `field`, aligned and not cleared, and lists it in the store. */
#define STORE_ARRAY(ctx, A, field, count) \
    spmv_store_array(ctx, &(A)->s, (size_t)((char *)&(A)->field - (char *)(A)), \
                     (size_t)(count) * sizeof *(A)->field)
/* Lists an array of the matrix that the store uses in place; member: the store's pointer to it. */
SPMV_LINKAGE void spmv_store_borrow(spmv_store *store, void *member, const void *array,
                                    size_t bytes);
/* Fails with SPMV_E_UNSUITABLE if `overflows`, a number of values too large for f32, is not 0. */
spmv_status spmv_fits(spmv_ctx *ctx, int64_t overflows);

/* An array of a store in which each slot holds an unencoded value or padding. */
typedef struct spmv_places {
    void *values; /* [n] of width bytes each */
    int64_t n, width;
    double padding; /* 0; or -0 if values are added to 0, so that no value equals padding */
} spmv_places;
enum { SPMV_MOST_PLACES = 2 }; /* such arrays per store */

typedef struct spmv_features spmv_features;
typedef struct spmv_sample spmv_sample;
typedef struct sample_slice sample_slice;
typedef struct spmv_format {
    const char *name, *summary;
    const spmv_param *params; /* parameters of the store, which its kernels take too */
    bool at_most;             /* `estimate` is an upper bound; build determines the exact size */
    /* Returns the exact bytes that build allocates; SIZE_MAX: overflow. */
    size_t (*estimate)(const spmv_csr_view *A, const spmv_choice *c);
    /* Returns an upper bound of that from the length of the longest row; NULL: none. */
    size_t (*bound)(const spmv_csr_view *A, const spmv_choice *c, int64_t longest);
    /* On failure *out holds what was allocated; may return SPMV_E_UNSUITABLE. */
    spmv_status (*build)(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out);
    /* Converts back to COO for tests and conversions: nnz entries in any order, without padding. */
    void (*entries)(const spmv_store *store, int32_t *row, int32_t *col, double *values);
    /* Writes new values into a store of the same pattern. NULL: see refill_rows, or impossible. */
    void (*refill)(const spmv_csr_view *A, int threads, spmv_store *store);
    /* Like refill, for rows first to end - 1, whose values are in a near cache; other threads
     * refill other rows. first and end are multiples of rows_together, or end = rows. */
    void (*refill_rows)(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store);
    int64_t (*rows_together)(const spmv_store *store); /* 0: only refill works */
    /* Describes the arrays with the store's values, in host memory, and returns their number; 0:
     * the values are encoded. NULL: they may be. */
    int (*places)(const spmv_store *store, spmv_places out[SPMV_MOST_PLACES]);
    /* Returns SPMV_E_UNSUITABLE if new values cannot be encoded as the store's are. NULL: all can,
     * or none if holds_any returns false. */
    spmv_status (*holds)(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store);
    /* Returns whether any values can, judging by the store's scalars; NULL: ask `holds`. */
    bool (*holds_any)(const spmv_store *store);
    /* Computation of the features of this format and similar ones, for "auto", from a sample of the
     * matrix (spmv_sample.h). look writes the contributions of one slice to sum[SAMPLE_SUMS], which
     * is zero before; different slices run in parallel. features sets members of f from the sample
     * and the sums over all slices (NULL without look); the sizes of the matrix and f->sampled are
     * already set. Features that no reader of the sample needs may stay 0. Neither can fail, and
     * the functions of the variant SPMV_F64_O32 are used for all variants. NULL: no sums, no
     * features. */
    void (*look)(const sample_slice *slice, double *sum);
    void (*features)(const spmv_sample *s, const double *sum, spmv_features *f);
} spmv_format;

int spmv_format_count(void);
const spmv_format *spmv_format_at(int k, int variant);
const spmv_format *spmv_format_named(const char *name, int variant); /* NULL: none */

#endif
