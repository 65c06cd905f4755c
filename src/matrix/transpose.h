/* transpose.h: the transpose of a matrix, owned by the matrix. */
#ifndef SPMV_TRANSPOSE_H
#define SPMV_TRANSPOSE_H

#include "matrix/origin.h"

/* Returns the matrix that multiplies by the transpose, with rows in host memory or on the device of
 * mat's rows: owned by mat, or mat itself if it is symmetric or skew-symmetric. */
spmv_status spmv_transpose_of(spmv_mat *mat, spmv_mat **out);
/* Frees the parts of the transpose that its plans do not need and that can be created again. */
void spmv_transpose_settle(spmv_mat *mat);

/* Creates the rows of mat's transpose in host memory. *out: for each of its entries the index in
 * mat's rows; NULL: not kept, because no plan has values that change. */
spmv_status spmv_transpose_turned(spmv_mat *mat, const uint32_t **out);
/* Notes that the stores have new values. has: the rows of T, if in host memory, have the new values
 * too. */
void spmv_transpose_has_values(spmv_mat *T, bool has);
/* Writes values in the order of the transpose's rows, which are in host memory. v: values in the
 * order of mat's rows. */
spmv_status spmv_transpose_values(spmv_mat *mat, const spmv_new_values *v, double *out);

#endif
