/* spmv_format.h: what a format is, which makes stores of a matrix. What a matrix looks like in one
 * is in formats/NAME/NAME.h. row_ptr, col_idx, values are PSBLAS's IRP, JA, AS. */
#ifndef SPMV_FORMAT_H
#define SPMV_FORMAT_H

#include "spmv.h"
#include "spmv_param.h"
#include "spmv_variant.h"

/* ---- stores: a matrix in one format and precision ------------------------------------------- */

typedef struct spmv_array { /* offset of the pointer in its struct; bytes that it points to */
    size_t offset, bytes;
    bool borrowed; /* owned by the matrix, which outlives the store, or by who lent it that */
} spmv_array;
typedef struct spmv_store {         /* head of every format struct: scalars and a list of arrays */
    const char *format, *values;    /* values: NULL, or in which code (formats/value_codes.h) */
    int64_t rows, cols, nnz, slots; /* slots: stored entries, padding included */
    size_t size;                    /* of the whole struct */
    spmv_ctx *ctx;                  /* whose host memory its arrays are, if they are there */
    bool passing; /* only for another store to be built of it, whose builder may free its arrays */
    int narrays;
    spmv_array array[16];
} spmv_store;

SPMV_LINKAGE spmv_status spmv_store_new(spmv_ctx *ctx, const char *format, size_t size,
                                        const spmv_csr_view *A, spmv_store **out);
spmv_status spmv_store_array(spmv_ctx *ctx, spmv_store *store, size_t offset, size_t bytes);
SPMV_LINKAGE void spmv_store_free(spmv_store *store);
SPMV_LINKAGE size_t spmv_store_bytes(const spmv_store *store); /* of all its arrays */
/* Allocates (aligned, not cleared) and lists in the store what member `field` points to. */
#define STORE_ARRAY(ctx, A, field, count) \
    spmv_store_array(ctx, &(A)->s, (size_t)((char *)&(A)->field - (char *)(A)), \
                     (size_t)(count) * sizeof *(A)->field)
/* Lists an array of the matrix that the store uses as it is; member: the store's pointer to it. */
SPMV_LINKAGE void spmv_store_borrow(spmv_store *store, void *member, const void *array,
                                    size_t bytes);
/* Refuses (SPMV_E_UNSUITABLE) if any values, `overflows` of them, are too large for f32. */
spmv_status spmv_fits(spmv_ctx *ctx, int64_t overflows);

/* An array of a store where each place holds the value of an entry, as it is, or padding. */
typedef struct spmv_places {
    void *values; /* [n] of width bytes each */
    int64_t n, width;
    double padding; /* 0; or -0, where values are added to 0, so that none is padding */
} spmv_places;
enum { SPMV_MOST_PLACES = 2 }; /* such arrays of a store */

typedef struct spmv_features spmv_features; /* spmv_propose.h */
typedef struct spmv_sample spmv_sample;     /* spmv_sample.h */
typedef struct sample_slice sample_slice;
typedef struct spmv_format {
    const char *name, *summary;
    const spmv_param *params; /* of the store; its kernels take these besides their own */
    bool at_most; /* the estimate is an upper bound: the exact size is known when it is built */
    /* Exact bytes of what build allocates; SIZE_MAX: overflow. */
    size_t (*estimate)(const spmv_csr_view *A, const spmv_choice *c);
    /* An upper bound of that, from the length of the longest row alone; NULL: none. */
    size_t (*bound)(const spmv_csr_view *A, const spmv_choice *c, int64_t longest);
    /* On failure *out holds what was allocated; may return SPMV_E_UNSUITABLE. */
    spmv_status (*build)(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out);
    /* The way back, for tests and conversions: the store's nnz entries, in any order, padding left
     * out. */
    void (*entries)(const spmv_store *store, int32_t *row, int32_t *col, double *values);
    /* Writes other values into a store that was built of the same pattern. NULL: it cannot be done
     * in place, or refill_rows does. */
    void (*refill)(const spmv_csr_view *A, int threads, spmv_store *store);
    /* Does the same as refill, for rows first to end - 1 only, whose values are in a near cache;
     * other threads refill other rows. first and end are multiples of rows_together, except that
     * end may be the number of rows. */
    void (*refill_rows)(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store);
    int64_t (*rows_together)(const spmv_store *store); /* 0: refill takes all */
    /* Fills in the arrays that have all values of the store, in host memory, and returns how many
     * there are; 0: values are encoded. NULL: they may be. */
    int (*places)(const spmv_store *store, spmv_places out[SPMV_MOST_PLACES]);
    /* Says whether they can be written as the store's are encoded; SPMV_E_UNSUITABLE: no. NULL: all
     * can or, if holds_any says no, none. */
    spmv_status (*holds)(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store);
    /* Says whether all can, seen from the store's numbers alone; NULL: only holds knows. */
    bool (*holds_any)(const spmv_store *store);
    /* The features from which "auto" predicts the cost of this format, and of others like it, made
     * of a sample of the matrix (spmv_sample.h). look writes what one slice adds to the sums,
     * sum[SAMPLE_SUMS], which are 0 before; threads look at different slices at once. features
     * fills in members of f, from the sample and the sums over all slices (NULL without look); the
     * sizes of the matrix and f->sampled are already there. What none of the sample's readers
     * needs may stay 0. Neither can fail, and those of the variant SPMV_F64_O32 are called for all.
     * NULL: nothing to add up, no features. */
    void (*look)(const sample_slice *slice, double *sum);
    void (*features)(const spmv_sample *s, const double *sum, spmv_features *f);
} spmv_format;

int spmv_format_count(void);
const spmv_format *spmv_format_at(int k, int variant);
const spmv_format *spmv_format_named(const char *name, int variant); /* NULL: none */

#endif
