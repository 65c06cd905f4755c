/* backend.cuh: what backend.cu leaves to other files: what this GPU can do at best, its state, and
 * samples of matrices in its memory. */
#pragma once

#include "spmv_backend.h"

spmv_status spmv_probe_gpu(spmv_device *d, size_t cache, spmv_rates *out); /* probe.cu */
void spmv_gpu_state(spmv_device *d, spmv_device_state *out);               /* nvml.cu */
spmv_status spmv_sample_gpu(spmv_device *d, const spmv_store *rows,
                            spmv_sample *out); /* sample.cu */
