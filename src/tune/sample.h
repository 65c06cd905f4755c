/* sample.h: takes the sample of a matrix (spmv_sample.h) on a CPU, and frees any. */
#ifndef SPMV_SAMPLE_H
#define SPMV_SAMPLE_H

#include "spmv_sample.h"
#include "tune.h"

/* How much is taken of a matrix that is not empty. */
sample_size spmv_sample_size(int64_t rows, int64_t nnz, spmv_sampling_depth depth, int readers);
/* Takes it from rows in the host's memory. On failure there is nothing to free. */
spmv_status spmv_sample_take(spmv_ctx *ctx, const spmv_csr_view *A, const sample_size *size,
                             int threads, spmv_sample *out);
void spmv_sample_free(spmv_sample *sample);

#endif
