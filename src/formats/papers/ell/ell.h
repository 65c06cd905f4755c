/* ell.h: ELL, after ELLPACK (Rice and Boisvert, 1985; on GPUs Bell and Garland, SC'09): every row
 * is padded to the length of the longest, so that where a row begins need not be stored. It takes
 * sizeof(real) + 4 bytes per slot, 12 in f64, rows x width slots, and 4 bytes per row. It wins
 * where all rows have the same length; one long row makes it many times as large as CSR.
 *
 * The example matrix of formats/csr/csr.h, with a bar after each row:
 *
 *     width    7
 *     col_idx  0 1 6 6 6 6 6 | 0 1 2 6 6 6 6 | 1 2 3 6 6 6 6 | 2 3 4 6 6 6 6 | 3 4 6 6 6 6 6
 *            | (8 of 0) | 1 2 3 4 6 7 | 6 7 7 7 7 7 7
 *     values   4 1 2 0 0 0 0 | 1 4 1 2 0 0 0 | 1 4 1 2 0 0 0 | 1 4 1 2 0 0 0 | 1 4 2
 *            | (11 of 0) | 2 2 2 2 2 4 1 | 1 4 0 0 0 0 0
 *     row_len  3 4 4 4 3 0 7 2
 *
 * "(8 of 0)", eight zeros, are the empty row 5 and the first column of row 6; "(11 of 0)" are the
 * padding of rows 4 and 5. */
#ifndef SPMV_FORMATS_ELL_H
#define SPMV_FORMATS_ELL_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Row-major: nonzero k of row i is at i * width + k. Padding: value 0, a column of its row. */
typedef struct V(ell) {
    spmv_store s;
    int64_t width; /* slots per row */
    idx *col_idx;  /* [rows * width] */
    real *values;  /* [rows * width] */
    idx *row_len;  /* [rows] lengths without padding */
} ell;
#endif
