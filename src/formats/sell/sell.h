/* sell.h: SELL-C-sigma, sliced ELLPACK (Monakov et al., HiPEAC 2010; Kreutzer et al., SISC 2014):
 * slices of a few successive rows. Each slice is padded to its own longest row and stored column by
 * column, so that a vector of a CPU or a warp of a GPU multiplies one nonzero of each row at once.
 * Inside windows of sigma rows the longest rows come first, so that rows of one slice have similar
 * lengths. It takes sizeof(real) + 4 bytes per slot, 12 in f64, sizeof(ofs) per slice, and 4 bytes
 * per row, or 8 if rows are reordered. It wins where rows are short, with any lengths that sorting
 * can bring together; a few very long rows cost their slices much padding.
 *
 * The example matrix of formats/csr/csr.h with slice = 4 and sigma = 8. Row 6 comes first; a bar
 * stands after each step, which has one slot of each row of the slice:
 *
 *     slice_ptr  0 28 40
 *     perm       6 1 2 3 | 0 4 7 5
 *     row_len    7 4 4 4 | 3 3 2 0
 *     col_idx    0 0 1 2 | 1 1 2 3 | 2 2 3 4 | 3 6 6 6 | 4 6 6 6 | 6 6 6 6 | 7 6 6 6
 *              | 0 3 6 0 | 1 4 7 0 | 6 6 7 0
 *     values     2 1 1 1 | 2 4 4 4 | 2 1 1 1 | 2 2 2 2 | 2 0 0 0 | 4 0 0 0 | 1 0 0 0
 *              | 4 1 1 0 | 1 4 4 0 | 2 2 0 0
 */
#ifndef SPMV_FORMATS_SELL_H
#define SPMV_FORMATS_SELL_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Slices of `slice` rows, of which the last may have fewer, each padded to its own longest row and
 * column-major: slot k of row r of slice s, which has `height` rows, is at slice_ptr[s] + k *
 * height + r. Padding has value 0 and a column of its row. Rows are stored in the order of perm:
 * longest first inside every window of sigma rows. */
typedef struct V(sell) {
    spmv_store s;
    int64_t slice, nslices;
    ofs *slice_ptr; /* [nslices + 1] first slot of each slice */
    idx *row_len;   /* [rows] lengths without padding, in stored order */
    idx *perm;      /* [rows] matrix row of stored row i; NULL (sigma = 1): row i */
    idx *col_idx;   /* [slots] */
    real *values;   /* [slots] */
} sell;
#endif
