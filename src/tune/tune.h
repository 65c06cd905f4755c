/* tune.h: the kernel name "auto": features of the matrix, trials of kernels, and the choice. */
#ifndef SPMV_TUNE_H
#define SPMV_TUNE_H

#include "matrix/matrix.h"
#include "matrix/sampling.h"
#include "spmv_sample.h"

/* Fills in all features that the readers (SPMV_FOR_...) need, except cache and evicted, which
 * depend on the device. Without entries or sampling only those from statistics; the others are
 * 0. */
spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_sampling_depth depth,
                             int readers, int threads, spmv_features *f);
/* Makes a plan for the kernel name "auto". */
spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out);
/* The same from given proposals, sorted in place. start: when sampling began (spmv_now). */
spmv_status spmv_auto_select(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                             spmv_proposals *all, double start, spmv_plan **out);
/* Makes a plan that multiplies by the transpose without transposing the matrix, and returns true,
 * if so few products follow that transposing would not pay off. */
bool spmv_auto_unturned(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                        spmv_plan **out);
#endif
