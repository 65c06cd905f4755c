/* transpose.h: the transpose of a matrix, a matrix that the former owns. */
#ifndef SPMV_TRANSPOSE_H
#define SPMV_TRANSPOSE_H

#include "matrix/origin.h"

/* The matrix that multiplies by the transpose: another one, which this one owns, with its rows in
 * host memory; or, if it is symmetric or skew-symmetric, itself. */
spmv_status spmv_transpose_of(spmv_mat *mat, spmv_mat **out);
/* Frees what plans of the transpose, if there is one, do not need of it: rows that can be made
 * again. */
void spmv_transpose_settle(spmv_mat *mat);

/* Brings the rows of mat's transpose. *out: the entries of mat's rows that its entries are; NULL:
 * that is not kept, since no plan says that values change. */
spmv_status spmv_transpose_turned(spmv_mat *mat, const uint32_t **out);
/* The stores have new values; has: the rows of T have them, too, if they are here. */
void spmv_transpose_has_values(spmv_mat *T, bool has);
/* Writes values for the transpose in the order of its rows, which are here; v: in that of mat's
 * rows. */
spmv_status spmv_transpose_values(spmv_mat *mat, const spmv_new_values *v, double *out);

#endif
