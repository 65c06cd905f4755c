/* live.h: matrices of arrays that may change (SPMV_VOLATILE). */
#ifndef SPMV_MATRIX_LIVE_H
#define SPMV_MATRIX_LIVE_H

#include "matrix/matrix.h"

/* Makes one of arrays that were checked. */
spmv_status spmv_live_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out);
/* Gives products that begin from here on another array of values. */
spmv_status spmv_live_set_values(spmv_mat *mat, const void *values, spmv_place place);
/* Refuses plans that there are not of such a matrix. */
spmv_status spmv_live_check(const spmv_mat *mat, const spmv_plan_opts *opts, spmv_kernel_id id);
spmv_status spmv_live_variant(const spmv_mat *mat, const spmv_plan_opts *opts, int *out);
void spmv_live_attach(spmv_plan *plan); /* gives the plan its store */
/* Returns SPMV_E_UNSUITABLE with a text: what was asked for needs a matrix that stays. */
spmv_status spmv_live_refuse(spmv_mat *mat);

#endif
