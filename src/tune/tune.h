/* tune.h: the kernel name "auto": features of the matrix, trials of the kernels that the backend
 * proposes for them, and the choice. */
#ifndef SPMV_TUNE_H
#define SPMV_TUNE_H

#include "matrix/matrix.h"
#include "matrix/sampling.h"
#include "spmv_sample.h"

/* Fills in all features that the readers (SPMV_FOR_...) look at, except cache and evicted, which
 * belong to the device. Without entries or sampling only statistics; the others stay 0. */
spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_sampling_depth depth,
                             int readers, int threads, spmv_features *f);
/* Makes the plan for the kernel name "auto". */
spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out);
/* Does so from the given proposals, which it sorts; start: when sampling the matrix began, by
 * spmv_now. */
spmv_status spmv_auto_select(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                             spmv_proposals *all, double start, spmv_plan **out);
/* Makes a plan by the transpose that converts nothing, and says so, if it does: where too few
 * products follow to pay for making the transpose. */
bool spmv_auto_unturned(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                        spmv_plan **out);
#endif
