/* matrix.h: the struct of a matrix, and functions that create and free one. */
#ifndef SPMV_MATRIX_H
#define SPMV_MATRIX_H

#include "host/context.h"
#include "matrix/csr.h"

typedef struct spmv_stored spmv_stored; /* stored.h */

struct spmv_mat {
    spmv_ctx *ctx;
    spmv_coo coo;
    spmv_csr csr;
    bool borrowed, borrowed_values; /* the caller owns coo.row and coo.col; coo.values */
    bool freed;                     /* freed by its owner: the last plan frees the memory */
    bool by_columns;                /* given as compressed columns: csr has the same entries, and
                                       coo gets them in the given order when they are first read */
    bool values_change;             /* value of spmv_values_change */
    bool to_count;                  /* statistics that need all entries are not computed yet */
    int nplans;                     /* number of plans that use this matrix */
    spmv_plan *plans;               /* list of these plans */
    spmv_precision precision;       /* precision of the given values */
    /* Copies csr, or its values, from the device that alone has them. NULL: host memory has all. */
    spmv_status (*fetch)(spmv_mat *mat);
    spmv_stored *source;        /* one of stores: rows in device memory from which the matrix was
                                   created; NULL: none */
    struct spmv_origin *origin; /* maps given values to csr's values; NULL: not needed yet */
    double begun;               /* time at which creation began, by spmv_now */
    spmv_stats stats;
    spmv_stored *stores;
    spmv_mat *transpose; /* owned; NULL: not needed yet */
    spmv_mat *base;      /* matrix of which this is the transpose; NULL: none, or freed */
    uint32_t *turned;    /* [nnz] of a transpose: source index of each entry in base's rows;
                            NULL: not kept */
    void *turned_there;  /* the same array in the memory of source's device; NULL: not needed yet */
    spmv_volatile *live; /* one of stores: the caller's volatile arrays; NULL: none */
};

/* Allocates a matrix without entries. */
spmv_status spmv_mat_new(spmv_ctx *ctx, spmv_mat **out);
/* Completes a matrix whose mat->coo was filled with this status: builds the canonical CSR and sets
 * *out, or frees the matrix. */
spmv_status spmv_mat_finish(spmv_mat *mat, spmv_status status, spmv_mat **out);
/* Moves the entries of a file into an empty matrix. Empties *lines even on failure. */
spmv_status spmv_mat_take_lines(spmv_mat *mat, spmv_lines *lines);
/* Check the dimensions and the symmetry of a new matrix. */
spmv_status spmv_check_dimensions(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz);
spmv_status spmv_check_symmetry(spmv_ctx *ctx, const char *owner, spmv_symmetry symmetry,
                                int64_t rows, int64_t cols);
/* Copies rows and values to host memory if only a device has them. Call before reading views. */
spmv_status spmv_mat_bring(const spmv_mat *mat);
/* Returns a view of the canonical CSR with other values, in its order. */
spmv_csr_view spmv_rows_with(const spmv_mat *mat, const double *values);
/* Frees a matrix like spmv_mat_free, but devices keep the memory for later allocations. No plan may
 * exist. */
void spmv_mat_put_away(spmv_mat *mat);
/* Frees the transpose, if any, or marks it to be freed with its last plan. */
void spmv_mat_drop_transpose(spmv_mat *mat);
size_t spmv_mat_own_bytes(const spmv_mat *mat); /* host memory, without borrowed arrays */

#endif
