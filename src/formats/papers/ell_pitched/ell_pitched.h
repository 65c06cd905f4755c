/* ell_pitched.h: ELL column-major (Bell and Garland, SC'09; transposed and pitched, Di Iorio's
 * ell0): the k-th nonzeros of all rows are adjacent, so that adjacent threads of a GPU, one per
 * row, read adjacent slots. Lines of slots are padded to a multiple of 128 rows, 512 bytes of
 * col_idx, and begin aligned. It takes sizeof(real) + 4 bytes per slot, 12 in f64, and 4 bytes per
 * row. It wins where all rows have the same length. One long row makes it many times as large as
 * CSR, and so does a matrix of fewer than 128 rows.
 *
 * The example matrix of formats/csr/csr.h, with a bar after each line. 8 rows are padded to 128;
 * runs of zeros are counted across line ends:
 *
 *     width    7
 *     pitch    128
 *     col_idx  0 0 1 2 3 0 0 6 (120 of 0) | 1 1 2 3 4 0 1 7 (120 of 0) | 6 2 3 4 6 0 2 7 (120 of 0)
 *            | 6 6 6 6 6 0 3 7 (120 of 0) | 6 6 6 6 6 0 4 7 (120 of 0) | 6 6 6 6 6 0 6 7 (120 of 0)
 *            | 6 6 6 6 6 0 7 7 (120 of 0)
 *     values   4 1 1 1 1 0 2 1 (120 of 0) | 1 4 4 4 4 0 2 4 (120 of 0) | 2 1 1 1 2 0 2 (122 of 0)
 *              2 2 2 0 0 2 (127 of 0) 2 (127 of 0) 4 (127 of 0) 1 (121 of 0)
 *     row_len  3 4 4 4 3 0 7 2
 */
#ifndef SPMV_FORMATS_ELL_PITCHED_H
#define SPMV_FORMATS_ELL_PITCHED_H

#include "spmv_format.h"
#include "spmv_helpers.h"

enum { ELL_PITCH = 128 }; /* lines are padded to multiples of this */

/* Nonzero k of row i is at k * pitch + i. Padding has value 0 and a column of its row, or column 0
 * in an empty row. */
typedef struct V(ell_pitched) {
    spmv_store s;
    int64_t width, pitch; /* slots per row, and per line */
    idx *col_idx;         /* [width * pitch] */
    real *values;         /* [width * pitch] */
    idx *row_len;         /* [rows] lengths without padding */
} ell_pitched;
#endif
