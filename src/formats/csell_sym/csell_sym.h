/* csell_sym.h: half of a symmetric or skew-symmetric matrix, the nonzeros on and below the
 * diagonal, in the struct and by the rules of the format csell (formats/csell/csell.h names their
 * sources). The member sign gives the sign of nonzeros above the diagonal, as in formats/sss/sss.h,
 * and no row is long. It takes half of csell's bytes for each nonzero of the matrix. It wins on
 * symmetric matrices for which csell wins. As in sss, each nonzero adds to two elements of y.
 *
 * The example matrix of formats/csr/csr.h, with bars after steps. The slice is on diagonals: a step
 * has the nonzeros of one j - i, which is its base, and no columns are stored. "(64 of 0)": 64
 * zeros.
 *
 *     sign         1
 *     slice        0 0 0 7 0 2 1 0            nsteps 7; column_code 0: on diagonals; as in csell.h
 *     step         -6 ......1. | -5 ......1. | -4 ......1. | -3 ......1. | -2 ......1.
 *                | -1 .1111..1 | 0 11111.11
 *     columns      (64 of 0)
 *     values       1 | 1 | 1 | 1 | 1 | 0 0 0 0 0 | 2 2 2 2 2 2 2 | (79 of 0)
 *     codebook     1 2 4 (253 of 0)
 *     long_row
 *     long_ptr     0
 *     long_col
 *     long_values
 */
#ifndef SPMV_FORMATS_CSELL_SYM_H
#define SPMV_FORMATS_CSELL_SYM_H

#include "formats/csell/csell.h"
#endif
