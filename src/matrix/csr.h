/* csr.h: the entries of a matrix as coordinates, and its canonical CSR. */
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
    spmv_ctx *ctx;     /* allocator of the arrays */
    int64_t first_row; /* index of row 0 in a larger matrix; usually 0 */
} spmv_coo;
/* Allocates the arrays for the rows, cols and nnz that are set. with_values false: values stay
 * NULL. */
spmv_status spmv_coo_alloc(spmv_ctx *ctx, spmv_coo *coo, bool with_values);
void spmv_coo_free(spmv_coo *coo); /* frees the arrays and zeroes the struct */

typedef struct spmv_lines { /* entries of a file: coordinates, or compressed rows or columns */
    spmv_coo coo;
    /* [rows + 1], or [cols + 1] if by_columns: offsets of compressed lines. coo.row is then NULL,
     * coo.col holds the indices, all in range, and the symmetry is general. NULL: coordinates in
     * any order. */
    int64_t *ptr;
    bool by_columns;
    bool from_columns;        /* rows, whose entries the file has in the order of columns */
    bool is_checked, ascends; /* whether indices ascend in each line, if that is known */
} spmv_lines;
void spmv_lines_free(spmv_lines *lines);

typedef struct spmv_csr { /* canonical CSR: as spmv_csr_view, but owned */
    int64_t rows, cols, nnz;
    int64_t *row_ptr;
    int32_t *col_idx;
    double *values;
    bool as_given; /* one entry per given entry, in the given order */
    struct {
        bool row_ptr, col_idx, values;
    } borrowed;                   /* borrowed from the caller */
    int64_t merged, merged_above; /* duplicates that were summed; of these, above the diagonal */
} spmv_csr;

/* Expands symmetry, sorts rows by column and sums duplicates. On failure *out owns nothing. */
spmv_status spmv_csr_build(spmv_ctx *ctx, const spmv_coo *coo, int threads, spmv_csr *out);
/* Fails with SPMV_E_NOMEM if `need` bytes exceed the free memory; the sizes are for the message. */
spmv_status spmv_host_fits(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz, double need);
/* Checks that building the canonical CSR fits into the host's memory, before it is allocated. */
spmv_status spmv_csr_fits(spmv_ctx *ctx, const spmv_coo *coo);
void spmv_csr_free(spmv_ctx *ctx, spmv_csr *A); /* frees the arrays that A owns and zeroes *A */

/* Compute statistics of a finished CSR: row lengths from row_ptr; bandwidth and hash from all
 * entries. */
void spmv_csr_lengths(const spmv_csr *A, int threads, spmv_stats *stats);
void spmv_csr_count(const spmv_csr *A, int threads, spmv_stats *stats);

/* Returns whether entry k, in row i, has a mirror image with equal bits. */
static inline bool is_mirrored(const spmv_csr_view *A, int64_t i, int64_t k) {
    int64_t j = A->col_idx[k], other = j < A->rows ? spmv_find_entry(A, j, i) : -1;
    return other >= 0 && spmv_bits(A->values[other]) == spmv_bits(A->values[k]);
}

#endif
