/* cmrs.h: CMRS, compressed multi-row storage (Koza, Matyka, Szkoda, Miroslaw, arXiv:1203.2946):
 * rows in strips of a few. Only the beginning of each strip is stored; each nonzero names its row
 * in the strip in four bits of its column index. It takes sizeof(real) + 4 bytes per nonzero, 12 in
 * f64, and sizeof(ofs) per strip. It wins, mainly on GPUs, where rows are very short: a warp
 * multiplies a strip with one nonzero per lane.
 *
 * The example matrix of formats/csr/csr.h with height = 4 and sorted = 0, as column,row in the
 * strip; with sorted = 1 the pairs of each strip are in ascending order:
 *
 *     strip_ptr  0 15 27
 *     packed     0,0 1,0 6,0 | 0,1 1,1 2,1 6,1 | 1,2 2,2 3,2 6,2 | 2,3 3,3 4,3 6,3
 *              | 3,0 4,0 6,0 | 0,2 1,2 2,2 3,2 4,2 6,2 7,2 | 6,3 7,3
 *     values     4 1 2 | 1 4 1 2 | 1 4 1 2 | 1 4 1 2 | 1 4 2 | 2 2 2 2 2 4 1 | 1 4
 */
#ifndef SPMV_FORMATS_CMRS_H
#define SPMV_FORMATS_CMRS_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Strips of `height` rows, of which the last may have fewer; a strip's entries are contiguous. */
enum { CMRS_ROW_BITS = 4, CMRS_COL_BITS = 28, CMRS_HIGHEST = 1 << CMRS_ROW_BITS };
typedef struct V(cmrs) {
    spmv_store s;
    int64_t height, strips; /* 1, 2, 4, 8 or 16 rows per strip */
    ofs *strip_ptr;         /* [strips + 1] */
    uint32_t *packed;       /* [nnz] column << CMRS_ROW_BITS | row in the strip */
    real *values;           /* [nnz] */
} cmrs;
#endif
