/* hyb.h: HYB (Bell and Garland, SC'09): the first `width` nonzeros of every row in an ELL part,
 * column by column, the other nonzeros of longer rows in a COO part. It takes sizeof(real) + 4
 * bytes per slot of the ELL part, 12 in f64, and sizeof(real) + 8 per nonzero of the COO part, 16.
 * It wins on GPUs if most rows are short and about equally long, and a few are not.
 *
 * The example matrix of formats/csr/csr.h with boundary = 3, a bar after the first, second and
 * third nonzeros of the rows. Rows are rounded up to 32; padding has column -1. "(24 of 0)": 24
 * zeros.
 *
 *     pitch        32
 *     ell_col      0 0 1 2 3 -1 0 6 (24 of -1) | 1 1 2 3 4 -1 1 7 (24 of -1)
 *                | 6 2 3 4 6 -1 2 (25 of -1)
 *     ell_values   4 1 1 1 1 0 2 1 (24 of 0) | 1 4 4 4 4 0 2 4 (24 of 0) | 2 1 1 1 2 0 2 (25 of 0)
 *     tail_row     1 2 3 6 6 6 6
 *     tail_col     6 6 6 3 4 6 7
 *     tail_values  2 2 2 2 2 4 1
 */
#ifndef SPMV_FORMATS_HYB_H
#define SPMV_FORMATS_HYB_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* The first `width` entries of each row in an ELL part, the other entries of longer rows in a COO
 * part. ELL is column-major: entry k of row i at k * pitch + i; padding: value 0, column -1. */
typedef struct V(hyb) {
    spmv_store s;
    int64_t width, pitch; /* pitch: rows, rounded up to HYB_ALIGN */
    int64_t tail;         /* entries of the COO part */
    idx *ell_col;         /* [width * pitch] */
    real *ell_values;     /* [width * pitch] */
    idx *tail_row;        /* [tail] ascending */
    idx *tail_col;        /* [tail] */
    real *tail_values;    /* [tail] */
} hyb;
enum { HYB_ALIGN = 32 };
/* features_hyb.c */
SPMV_LINKAGE void spmv_hyb_features(const spmv_sample *s, const double *sum, spmv_features *f);
#endif
