/* backend.cuh: functions of the CUDA backend that other files than backend.cu define: rates, state,
 * samples and dot products. */
#pragma once

#include "spmv_kernel.h"

spmv_status spmv_probe_gpu(spmv_device *d, size_t cache, spmv_rates *out); /* probe.cu */
void spmv_gpu_state(spmv_device *d, spmv_device_state *out);               /* nvml.cu */
spmv_status spmv_sample_gpu(spmv_device *d, const spmv_store *rows,
                            spmv_sample *out); /* sample.cu */

enum { /* dot products: most blocks, vectors summed together, and bytes of scratch */
       SUMS_BLOCKS = 1024,
       SUMS_VECTORS = SPMV_PANEL_VECTORS,
       SUMS_BYTES = 2 * SUMS_VECTORS * SUMS_BLOCKS * (int)sizeof(double) + 64
};
spmv_status spmv_sum_gpu(spmv_device *d, void *stream, const spmv_sums *s); /* sums.cu */
