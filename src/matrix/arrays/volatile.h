/* volatile.h: matrices of volatile arrays (SPMV_VOLATILE). */
#ifndef SPMV_MATRIX_VOLATILE_H
#define SPMV_MATRIX_VOLATILE_H

#include "matrix/matrix.h"

/* Creates a matrix that aliases checked arrays. */
spmv_status spmv_volatile_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out);
/* Sets the array of values that later products read. */
spmv_status spmv_volatile_set_values(spmv_mat *mat, const void *values, spmv_place place);
/* Fails if the options or the kernel cannot be used with volatile arrays. */
spmv_status spmv_volatile_check(const spmv_mat *mat, const spmv_plan_opts *opts, spmv_kernel_id id);
spmv_status spmv_volatile_variant(const spmv_mat *mat, const spmv_plan_opts *opts, int *out);
void spmv_volatile_attach(spmv_plan *plan); /* sets the plan's store */
/* Fails with SPMV_E_UNSUITABLE: the requested operation needs a matrix that does not change. */
spmv_status spmv_volatile_refuse(spmv_mat *mat);

#endif
