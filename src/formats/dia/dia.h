/* dia.h: DIA, storage by diagonals (Saad, Iterative Methods for Sparse Linear Systems, 3.4; on GPUs
 * Bell and Garland, SC'09): every diagonal that holds a nonzero is stored whole, one value per row,
 * with its distance from the main diagonal. It takes sizeof(real) bytes per slot, 8 in f64, 4 bytes
 * per diagonal, and nothing for columns. It wins where nearly all nonzeros are on a few full
 * diagonals (stencils on grids in their natural order, narrow bands) and values do not repeat. A
 * nonzero alone on its diagonal costs as much as a full diagonal, so that any other matrix takes
 * many times the bytes of CSR.
 *
 * The example matrix of formats/csr/csr.h, with a bar after each diagonal. Slots of a diagonal that
 * hold no nonzero are padding, -0:
 *
 *     pitch    8
 *     inside   62
 *     offsets  -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6
 *     values   -0 -0 -0 -0 -0 -0 2 -0 | -0 -0 -0 -0 -0 -0 2 -0 | -0 -0 -0 -0 -0 -0 2 -0
 *            | -0 -0 -0 -0 -0 -0 2 -0 | -0 -0 -0 -0 -0 -0 2 -0 | -0 1 1 1 1 -0 -0 1
 *            | 4 4 4 4 4 -0 4 4 | 1 1 1 1 -0 -0 1 -0 | -0 -0 -0 -0 2 -0 -0 -0
 *            | -0 -0 -0 2 -0 -0 -0 -0 | -0 -0 2 -0 -0 -0 -0 -0 | -0 2 -0 -0 -0 -0 -0 -0
 *            | 2 -0 -0 -0 -0 -0 -0 -0
 */
#ifndef SPMV_FORMATS_DIA_H
#define SPMV_FORMATS_DIA_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Column-major: the slot of row i on diagonal k, in column i + offsets[k], is at k * pitch + i.
 * Padding is -0.0, also where that column is outside the matrix; a stored zero of either sign is
 * 0.0, which differs from -0.0 in no sum. Kernels can therefore skip padding, where x may be
 * infinite. */
typedef struct V(dia) {
    spmv_store s;
    int64_t diagonals;
    int64_t pitch;  /* rows, rounded up to a multiple of DIA_ALIGN */
    int64_t inside; /* slots whose column is inside the matrix: what kernels read */
    idx *offsets;   /* [diagonals] column - row, ascending */
    real *values;   /* [diagonals * pitch] */
} dia;
enum { DIA_ALIGN = 8 }; /* 32 bytes of floats: the least that a GPU reads from memory */

typedef struct dia_span { /* rows or diagonals first..end - 1 */
    int64_t first, end;
} dia_span;

/* Returns the rows of first..end - 1 whose column on the diagonal is inside the matrix; end <=
 * first if there is none. */
static inline dia_span dia_rows_inside(int64_t cols, int64_t offset, int64_t first, int64_t end) {
    dia_span in = {first > -offset ? first : -offset, end < cols - offset ? end : cols - offset};
    return in;
}
#endif
