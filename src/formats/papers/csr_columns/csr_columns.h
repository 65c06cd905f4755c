/* csr_columns.h: CSR cut into blocks of columns, each a CSR matrix of its own (cache blocking: Im
 * and Yelick, 2001; Di Iorio's csr4), so that a block's x stays in the caches. It takes
 * sizeof(real) + 4 bytes per nonzero and sizeof(ofs) per row and block. It wins where rows are long
 * and x does not fit the caches.
 *
 * The example matrix of formats/csr/csr.h with grid_cols = 2, columns 0 to 3 and 4 to 7, with a bar
 * between the blocks:
 *
 *     row_ptr  0 2 5 8 10 11 11 15 15 | 15 16 17 18 20 22 22 25 27
 *     col_idx  0 1 0 1 2 1 2 3 2 3 3 0 1 2 3 | 6 6 6 4 6 4 6 4 6 7 6 7
 *     values   4 1 1 4 1 1 4 1 1 4 1 2 2 2 2 | 2 2 2 1 2 4 2 2 4 1 1 4
 */
#ifndef SPMV_FORMATS_CSR_COLUMNS_H
#define SPMV_FORMATS_CSR_COLUMNS_H

#include "spmv_format.h"
#include "spmv_helpers.h"

typedef struct V(csr_columns) {
    spmv_store s;
    int64_t ncols; /* blocks of columns, as spmv_split cuts them; none is empty */
    ofs *row_ptr;  /* [ncols * (rows + 1)] indices into col_idx and values, block after block */
    idx *col_idx;  /* [nnz] columns of the whole matrix */
    real *values;  /* [nnz] */
} csr_columns;
#endif
