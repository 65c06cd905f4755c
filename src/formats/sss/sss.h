/* sss.h: half of a symmetric or skew-symmetric matrix, the nonzeros on and below the diagonal as
 * compressed rows: the symmetric sparse skyline format (Saad, SPARSKIT, 1990), except that the
 * diagonal is stored among the nonzeros of its row. It takes sizeof(real) + 4 bytes per stored
 * nonzero, or sizeof(real) + 2 if all columns are near the diagonal: about 6 or 5 bytes per nonzero
 * of the matrix in f64. It wins where the matrix does not fit the caches, because only half of it
 * is read; but each nonzero adds to two elements of y, so that threads need extra work where they
 * share y.
 *
 * The example matrix of formats/csr/csr.h, with a bar after each row. The distance is row - column:
 *
 *     sign      1
 *     row_ptr   0 1 3 5 7 9 9 15 17
 *     distance  0 | 1 0 | 1 0 | 1 0 | 1 0 | | 6 5 4 3 2 0 | 1 0
 *     values    4 | 1 4 | 1 4 | 1 4 | 1 4 | | 2 2 2 2 2 4 | 1 4
 */
#ifndef SPMV_FORMATS_SSS_H
#define SPMV_FORMATS_SSS_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* The entries on and below the diagonal of a square matrix A, row by row in column order; above the
 * diagonal a_ij = sign a_ji. Columns are stored as distances i - j if all are below 2^16 (near). */
typedef struct V(sss) {
    spmv_store s;
    int64_t half; /* entries stored */
    int sign;     /* 1; or -1: skew-symmetric off the diagonal */
    bool near;
    ofs *row_ptr;       /* [rows + 1] */
    uint16_t *distance; /* [half] if near */
    idx *col_idx;       /* [half] otherwise */
    real *values;       /* [half] */
} sss;
#endif
