/* csr.h: CSR, compressed sparse rows (Tinney and Walker, Proc. IEEE 1967; PSBLAS's IRP, JA, AS):
 * the nonzeros row by row, and where each row begins. It takes sizeof(real) + 4 bytes per nonzero,
 * 12 in f64, and sizeof(ofs) per row, for any row lengths; columns, and in f64 values, are not
 * copied but borrowed from the matrix. It wins where rows are long or very unequal and the matrix
 * has no regularity. Where it has (equal lengths, dense blocks, few values), other formats take
 * fewer bytes or multiply whole vectors.
 *
 * The example matrix of all these headers: symmetric, with three distinct values, one long row and
 * one empty row.
 *
 *          0  1  2  3  4  5  6  7
 *      0   4  1  .  .  .  .  2  .
 *      1   1  4  1  .  .  .  2  .
 *      2   .  1  4  1  .  .  2  .
 *      3   .  .  1  4  1  .  2  .
 *      4   .  .  .  1  4  .  2  .
 *      5   .  .  .  .  .  .  .  .
 *      6   2  2  2  2  2  .  4  1
 *      7   .  .  .  .  .  .  1  4
 *
 * As CSR, with a bar after each row:
 *
 *     row_ptr  0 3 7 11 15 18 18 25 27
 *     col_idx  0 1 6 | 0 1 2 6 | 1 2 3 6 | 2 3 4 6 | 3 4 6 | | 0 1 2 3 4 6 7 | 6 7
 *     values   4 1 2 | 1 4 1 2 | 1 4 1 2 | 1 4 1 2 | 1 4 2 | | 2 2 2 2 2 4 1 | 1 4
 */
#ifndef SPMV_FORMATS_CSR_H
#define SPMV_FORMATS_CSR_H

#include "spmv_format.h"
#include "spmv_helpers.h"

typedef struct V(csr) {
    spmv_store s;
    ofs *row_ptr; /* [rows + 1] */
    idx *col_idx; /* [nnz] */
    real *values; /* [nnz] */
} csr;
#endif
