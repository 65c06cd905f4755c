/* spmv_windows.h: how many nonzeros of a window of rows share a column of x, in the order of the
 * matrix and in others: what an order of rows (spmv_order.h) gains, from a sample. */
#ifndef SPMV_WINDOWS_H
#define SPMV_WINDOWS_H

#include "spmv_helpers.h"

enum { SPMV_WINDOW_SIZES = 3 }; /* windows of 8, 32 and 256 rows */

/* Nonzeros per distinct column of windows of these sizes, of at most 64 nonzeros of each row;
 * 0: unknown. */
typedef struct spmv_windows {
    double kept[SPMV_WINDOW_SIZES];    /* in the order of the matrix */
    double by_ends[SPMV_WINDOW_SIZES]; /* of rows whose first and last columns are near */
    double by_walk[SPMV_WINDOW_SIZES]; /* of rows met in a breadth-first walk; 0: not square */
} spmv_windows;

/* Samples windows in the order of the matrix; then, if these have fewer than `enough` nonzeros per
 * column of 8 rows, in the other orders. These read the first and last column of every row, 0.1 to
 * 0.5 times a product. The result is the same for any number of threads. */
SPMV_LINKAGE spmv_status spmv_windows_sample(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                                             double enough, spmv_windows *out);

#endif
