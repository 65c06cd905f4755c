/* tune.h: the kernel name "auto": features of the matrix, trials of the kernels that the backend
 * proposes for them, and the choice. */
#ifndef SPMV_TUNE_H
#define SPMV_TUNE_H

#include "core/internal.h"

/* Uses the kernel once, on a small matrix with rows of that length, unless the process did: on a
 * GPU its code is loaded then. What fails is not said. Returns the seconds it took. */
double spmv_rehearse(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                     const spmv_proposal *p);
typedef enum spmv_look {
    SPMV_NO_LOOK,
    SPMV_GLANCE, /* at a part of the sample, by one thread */
    SPMV_LOOK,
    SPMV_STUDY /* blocks and symmetry, too, which take half of the time */
} spmv_look;
/* All but the cache. */
spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_look look,
                             spmv_features *f);
spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out);
/* The same from given proposals, which it sorts; start: when looking at the matrix began. */
spmv_status spmv_auto_contest(spmv_mat *mat, const spmv_plan_opts *opts,
                              const spmv_backend *backend, spmv_proposals *all, double start,
                              spmv_plan **out);
#endif
