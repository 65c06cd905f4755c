/* coded.cuh: values in the encoding of the fewest bytes, chosen and written on the GPU; it does for
 * build_xcache.cu and hubs_build.cuh what src/formats/value_set.h does on the host. */
#ifndef SPMV_CUDA_CODED_CUH
#define SPMV_CUDA_CODED_CUH

#include "cuda/csell/csell_codebook.cuh"
#include "formats/value_codes.h"

typedef struct value_facts {
    int misfits, values; /* some value is no float's; distinct values, 0: too many */
} value_facts;

static __global__ void find_misfits(rows A, value_facts *found) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < A.nnz; k += stride) {
        double value = A.value[k];
        if (*(volatile int *)&found->misfits) return;
        if (__double_as_longlong((double)(float)value) != __double_as_longlong(value))
            found->misfits = 1;
    }
}

static __global__ void tell_values(const value_set *set, value_facts *found) {
    found->values = set->count;
}

/* The distinct values, and whether all are floats: what the encoding of the values depends on.
 * *found is 0 before. */
static inline spmv_status look_at_values(spmv_device *d, const rows &A, value_set *set,
                                         value_facts *found, real *codebook) {
    enum { THREADS = 256 };
    cudaStream_t stream = ((const cuda_state *)d->state)->stream;
    int sms = 0;
    CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
    empty_set<<<1, THREADS, 0, stream>>>(set);
    TRY(collect_codebook(d, A, set, codebook));
    tell_values<<<1, 1, 0, stream>>>(set, found);
    if (sizeof(real) > sizeof(float))
        find_misfits<<<(unsigned)(8 * sms), THREADS, 0, stream>>>(A, found);
    CU(d->ctx, cudaGetLastError());
    return SPMV_OK;
}

static inline int code_for(const value_facts *found) {
    return found->values > 1                                 ? VALUE_CODEBOOK
           : found->values == 1                              ? VALUE_ONE
           : sizeof(real) > sizeof(float) && !found->misfits ? VALUE_F32
                                                             : VALUE_RAW;
}

typedef struct coded { /* where and how values are written */
    uint8_t *to;
    const real *codebook;
    int code, count;
} coded;

static __device__ __forceinline__ void put_value(const coded &c, int64_t at, bool on, real value) {
    if (c.code == VALUE_RAW) ((real *)c.to)[at] = on ? value : 0;
    if (c.code == VALUE_F32) ((float *)c.to)[at] = on ? (float)value : 0;
    if (c.code == VALUE_CODEBOOK)
        c.to[at] = on ? (uint8_t)place_of(c.codebook, c.count, bits_of(value)) : 0;
}
#endif
