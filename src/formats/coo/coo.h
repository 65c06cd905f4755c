/* coo.h: COO, coordinates (for GPUs Bell and Garland, SC'09): each nonzero with its row and column,
 * sorted by row, then column. It takes sizeof(real) + 8 bytes per nonzero, 16 in f64, and nothing
 * for rows. It wins where nearly all rows are empty or lengths differ extremely, because equal
 * shares of the nonzeros are equal work; elsewhere it reads a third more than CSR.
 *
 * The example matrix of formats/csr/csr.h, with a bar after each row:
 *
 *     row_idx  0 0 0 | 1 1 1 1 | 2 2 2 2 | 3 3 3 3 | 4 4 4 | 6 6 6 6 6 6 6 | 7 7
 *     col_idx  0 1 6 | 0 1 2 6 | 1 2 3 6 | 2 3 4 6 | 3 4 6 | 0 1 2 3 4 6 7 | 6 7
 *     values   4 1 2 | 1 4 1 2 | 1 4 1 2 | 1 4 1 2 | 1 4 2 | 2 2 2 2 2 4 1 | 1 4
 */
#ifndef SPMV_FORMATS_COO_H
#define SPMV_FORMATS_COO_H

#include "spmv_format.h"
#include "spmv_helpers.h"

typedef struct V(coo) { /* entries sorted by row, then column */
    spmv_store s;
    idx *row_idx; /* [nnz] */
    idx *col_idx; /* [nnz] */
    real *values; /* [nnz] */
} sorted_coo;
#endif
