/* backend.cuh: what backend.cu leaves to other files: what this GPU can do at best, its state, and
 * samples of matrices in its memory. */
#pragma once

#include "spmv_kernel.h"

spmv_status spmv_probe_gpu(spmv_device *d, size_t cache, spmv_rates *out); /* probe.cu */
void spmv_gpu_state(spmv_device *d, spmv_device_state *out);               /* nvml.cu */
spmv_status spmv_sample_gpu(spmv_device *d, const spmv_store *rows,
                            spmv_sample *out); /* sample.cu */

enum { /* of sums: blocks, vectors that are added up at once, and what the backend keeps for them */
       SUMS_BLOCKS = 1024,
       SUMS_VECTORS = SPMV_PANEL_VECTORS,
       SUMS_BYTES = 2 * SUMS_VECTORS * SUMS_BLOCKS * (int)sizeof(double) + 64
};
spmv_status spmv_sum_gpu(spmv_device *d, void *stream, const spmv_sums *s); /* sums.cu */
