/* hubs.cuh: the format hubs on a GPU, with the rules of formats/hubs/hubs.h compiled for the GPU,
 * too. */
#pragma once

#define HUBS_SHARED static __host__ __device__ __forceinline__
#include "cuda/values/value_codes.cuh"
#include "formats/hubs/hubs.h"

/* Returns the bytes of one 0 and x of the hot columns, rounded up to 16. */
static inline __host__ __device__ size_t hubs_bytes(int64_t nhubs) {
    return ((size_t)(nhubs + 1) * sizeof(real) / sizeof(int4) + 1) * sizeof(int4);
}

/* Returns the most hot columns whose x fits into a block's shared memory. */
static inline spmv_status hubs_fitting(spmv_device *d, int64_t *most) {
    int room = 0;
    TRY(shared_room(d, &room));
    *most = hubs_fitting(room);
    return SPMV_OK;
}
