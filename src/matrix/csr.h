/* csr.h: the entries that a matrix is made of, and its canonical CSR. */
#ifndef SPMV_CANONICAL_CSR_H
#define SPMV_CANONICAL_CSR_H

#include "spmv_helpers.h"
#include <stdbool.h>

typedef struct spmv_coo {
    int64_t rows, cols, nnz;
    int32_t *row, *col; /* [nnz], from 0; owned */
    double *values;     /* [nnz]; NULL: every entry is 1 */
    spmv_symmetry symmetry;
    spmv_field field;
    spmv_ctx *ctx;     /* whose memory they are */
    int64_t first_row; /* where these rows begin in a larger matrix; usually 0 */
} spmv_coo;
/* Allocates the arrays for rows, cols, nnz already set; with_values false leaves values NULL. */
spmv_status spmv_coo_alloc(spmv_ctx *ctx, spmv_coo *coo, bool with_values);
void spmv_coo_free(spmv_coo *coo); /* frees the arrays and zeroes the struct */

typedef struct spmv_lines { /* the entries of a file */
    spmv_coo coo;
    /* [rows + 1], or [cols + 1] by columns: lines are compressed, coo.row is NULL and coo.col has
     * their indices, all inside; symmetry is general. NULL: entries in any order. */
    int64_t *ptr;
    bool by_columns;
} spmv_lines;
void spmv_lines_free(spmv_lines *lines);

typedef struct spmv_csr { /* the canonical CSR: as spmv_csr_view, but owned */
    int64_t rows, cols, nnz;
    int64_t *row_ptr;
    int32_t *col_idx;
    double *values;
    bool as_given; /* the entries that it was made of are its own, in its order */
    struct {
        bool row_ptr, col_idx, values;
    } lent;                       /* by the caller, who owns them */
    int64_t merged, merged_above; /* duplicates that were added; of these, above the diagonal */
} spmv_csr;

/* Expands symmetry, sorts each row by column and sums duplicates. On failure *out holds nothing. */
spmv_status spmv_csr_build(spmv_ctx *ctx, const spmv_coo *coo, int threads, spmv_csr *out);
/* SPMV_E_NOMEM: so many bytes, for compressed rows of these sizes, are more than are free. */
spmv_status spmv_host_fits(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz, double need);
/* Checks before anything is allocated that it fits the host's memory. */
spmv_status spmv_csr_fits(spmv_ctx *ctx, const spmv_coo *coo);
void spmv_csr_free(spmv_ctx *ctx,
                   spmv_csr *A); /* frees the arrays that are its own and zeroes the struct */

/* Fills in what row_ptr says of the finished CSR; the bandwidth and the hash. */
void spmv_csr_lengths(const spmv_csr *A, int threads, spmv_stats *stats);
void spmv_csr_count(const spmv_csr *A, int threads, spmv_stats *stats);

/* Says whether entry k, of row i, has a mirror image with the same bits. */
static inline bool is_mirrored(const spmv_csr_view *A, int64_t i, int64_t k) {
    int64_t j = A->col_idx[k], other = j < A->rows ? spmv_find_entry(A, j, i) : -1;
    return other >= 0 && spmv_bits(A->values[other]) == spmv_bits(A->values[k]);
}

#endif
