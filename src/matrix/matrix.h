/* matrix.h: what a matrix is. */
#ifndef SPMV_MATRIX_H
#define SPMV_MATRIX_H

#include "host/context.h"
#include "matrix/csr.h"

typedef struct spmv_stored spmv_stored; /* stored.h */

struct spmv_mat {
    spmv_ctx *ctx;
    spmv_coo coo;
    spmv_csr csr;
    bool borrowed, borrowed_values; /* the caller owns the entries' places; their values */
    bool freed;                     /* by its owner: the last plan frees the memory */
    bool by_columns;                /* its entries are those of csr, but in the order of columns:
                                       coo has them once they were asked for */
    bool values_change;             /* as spmv_values_change: before new ones are first written */
    bool to_count;                  /* stats that all entries are read for are not there yet */
    int nplans;                     /* alive, and in need of this matrix */
    spmv_plan *plans;               /* they */
    spmv_precision precision;       /* of the values that were given */
    /* Brings csr, or its values, from the device, which alone has them; NULL: they are here. */
    spmv_status (*fetch)(spmv_mat *mat);
    spmv_stored *source; /* one of stores: the rows on a device, of which the matrix was made */
    struct spmv_origin *origin; /* of the values of csr in those given; NULL: not needed yet */
    double begun;               /* when it was, by spmv_now */
    spmv_stats stats;
    spmv_stored *stores;
    spmv_mat *transpose; /* owned; NULL: not needed yet */
    spmv_mat *base;      /* of which this is the transpose; NULL: of none, or it was freed */
    uint32_t *turned;    /* [nnz] of a transpose: the entries of base's rows; NULL: not kept */
    void *turned_there;  /* the same in the memory of source's device; NULL: not asked for yet */
    spmv_live *live;     /* one of stores: arrays that may change; NULL: they do not */
};

/* Allocates a matrix without entries. */
spmv_status spmv_mat_new(spmv_ctx *ctx, spmv_mat **out);
/* Finishes a matrix after mat->coo was filled with this status: *out gets the matrix with its
 * canonical CSR, or it is freed. */
spmv_status spmv_mat_finish(spmv_mat *mat, spmv_status status, spmv_mat **out);
/* Moves the entries of a file into a matrix without entries, also on failure. */
spmv_status spmv_mat_take_lines(spmv_mat *mat, spmv_lines *lines);
/* Checks what is asked of every matrix. */
spmv_status spmv_check_dimensions(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz);
spmv_status spmv_check_symmetry(spmv_ctx *ctx, spmv_symmetry symmetry, int64_t rows, int64_t cols);
/* Brings the rows to host memory, if a device alone has them or their values: before views are
 * relied on. */
spmv_status spmv_mat_bring(const spmv_mat *mat);
/* Returns the canonical CSR with values in its order. */
spmv_csr_view spmv_rows_with(const spmv_mat *mat, const double *values);
/* Frees as spmv_mat_free does, but devices keep the released memory for later allocations, and no
 * plan may be alive. */
void spmv_mat_put_away(spmv_mat *mat);
/* Frees the transpose, if there is one, or leaves that to its last plan. */
void spmv_mat_drop_transpose(spmv_mat *mat);
size_t spmv_mat_own_bytes(const spmv_mat *mat); /* in host memory, without what the caller lent */

#endif
