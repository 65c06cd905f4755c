/* hybrid.h: the ELL and CSR hybrid of Mahmoud, Hoffmann, Reza (Computation 6, 2018, 45): the first
 * `boundary` nonzeros of every row in a row-major ELL part, the other nonzeros of longer rows in a
 * CSR part. It takes sizeof(real) + 4 bytes per slot, 12 in f64, of either part, and 2 sizeof(ofs)
 * + 4 per row. It wins if most rows have the same length and some are longer, as in matrices of
 * configuration interaction.
 *
 * The example matrix of formats/csr/csr.h with boundary = 3, a bar after each row:
 *
 *     ell_col      0 1 6 | 0 1 2 | 1 2 3 | 2 3 4 | 3 4 6 | 0 0 0 | 0 1 2 | 6 7 7
 *     ell_values   4 1 2 | 1 4 1 | 1 4 1 | 1 4 1 | 1 4 2 | 0 0 0 | 2 2 2 | 1 4 0
 *     rest_col     6 | 6 | 6 | 3 4 6 7
 *     rest_values  2 | 2 | 2 | 2 2 4 1
 *     start        0 0 1 2 3 3 3 7
 *     end          0 1 2 3 3 3 7 7
 *     row_len      3 4 4 4 3 0 7 2
 */
#ifndef SPMV_FORMATS_HYBRID_H
#define SPMV_FORMATS_HYBRID_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* The first boundary entries of every row in a row-major ELL part, the rest in a CSR part. */
typedef struct V(hybrid) {
    spmv_store s;
    int64_t boundary, rest_nnz; /* slots per row of the ELL part; nonzeros of the CSR part */
    int64_t long_rows;          /* rows with entries in the CSR part */
    idx *ell_col;      /* [rows * boundary] entry k of row i at i * boundary + k; padding: */
    real *ell_values;  /* [rows * boundary] value 0, a column of that row */
    idx *rest_col;     /* [rest_nnz] */
    real *rest_values; /* [rest_nnz] */
    ofs *start, *end;  /* [rows] row i has start[i] .. end[i] - 1 of the CSR part */
    idx *row_len;      /* [rows] entries of the row in both parts */
} hybrid;
#endif
