/* scan.cu: sums and orders of many numbers for the builders of formats, by CUB, which comes with
 * the CUDA compiler. Compiled once: nothing here depends on the variant. */
#include "build.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

enum { THREADS = 256 };

spmv_status sum_before(spmv_device *d, int64_t n, int64_t *number) {
    void *room = NULL;
    size_t bytes = 0;
    if (n == 0) return SPMV_OK;
    CU(d->ctx, cub::DeviceScan::ExclusiveSum(NULL, bytes, number, number, n, stream_of(d)));
    TRY(d->backend->alloc(d, bytes, &room));
    cudaError_t error = cub::DeviceScan::ExclusiveSum(room, bytes, number, number, n, stream_of(d));
    d->backend->release(d, room);
    CU(d->ctx, error);
    return SPMV_OK;
}

namespace {
struct greater {
    __device__ __forceinline__ idx operator()(idx a, idx b) const {
        return a > b ? a : b;
    }
};
} // namespace

spmv_status greatest_until(spmv_device *d, int64_t n, idx *number) {
    void *room = NULL;
    size_t bytes = 0;
    if (n == 0) return SPMV_OK;
    CU(d->ctx,
       cub::DeviceScan::InclusiveScan(NULL, bytes, number, number, greater(), n, stream_of(d)));
    TRY(d->backend->alloc(d, bytes, &room));
    cudaError_t error =
        cub::DeviceScan::InclusiveScan(room, bytes, number, number, greater(), n, stream_of(d));
    d->backend->release(d, room);
    CU(d->ctx, error);
    return SPMV_OK;
}

static __global__ void count_up(int64_t n, idx *out) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) out[k] = (idx)k;
}

spmv_status order_columns(spmv_device *d, int64_t n, const idx *column, int bits, idx *sorted,
                          uint32_t *out) {
    void *room[2] = {NULL}; /* CUB's, the numbers */
    size_t bytes = 0;
    if (n == 0) return SPMV_OK;
    CU(d->ctx,
       cub::DeviceRadixSort::SortPairs(NULL, bytes, (const uint32_t *)column, (uint32_t *)sorted,
                                       out, out, n, 0, bits, stream_of(d)));
    spmv_status status = d->backend->alloc(d, bytes, &room[0]);
    if (status == SPMV_OK) status = d->backend->alloc(d, (size_t)n * sizeof *out, &room[1]);
    if (status == SPMV_OK) {
        uint32_t *number = (uint32_t *)room[1];
        count_up<<<(unsigned)blocks_for(n, THREADS), THREADS, 0, stream_of(d)>>>(n, (idx *)number);
        const cudaError_t error = cub::DeviceRadixSort::SortPairs(
            room[0], bytes, (const uint32_t *)column, (uint32_t *)sorted, number, out, n, 0, bits,
            stream_of(d));
        if (error != cudaSuccess) status = cuda_fail(d->ctx, error, "sorting columns");
    }
    for (int k = 0; k < 2; k++) d->backend->release(d, room[k]);
    return status;
}

spmv_status order_by_key(spmv_device *d, int64_t n, uint64_t *key, int bits, idx *out) {
    void *room[3] = {NULL}; /* CUB's, sorted keys, the numbers */
    size_t bytes = 0;
    if (n == 0) return SPMV_OK;
    CU(d->ctx,
       cub::DeviceRadixSort::SortPairs(NULL, bytes, key, key, out, out, n, 0, bits, stream_of(d)));
    spmv_status status = d->backend->alloc(d, bytes, &room[0]);
    if (status == SPMV_OK) status = d->backend->alloc(d, (size_t)n * sizeof *key, &room[1]);
    if (status == SPMV_OK) status = d->backend->alloc(d, (size_t)n * sizeof *out, &room[2]);
    if (status == SPMV_OK) {
        idx *number = (idx *)room[2];
        count_up<<<(unsigned)blocks_for(n, THREADS), THREADS, 0, stream_of(d)>>>(n, number);
        cudaError_t error = cub::DeviceRadixSort::SortPairs(
            room[0], bytes, key, (uint64_t *)room[1], number, out, n, 0, bits, stream_of(d));
        if (error == cudaSuccess) error = cudaStreamSynchronize(stream_of(d));
        if (error != cudaSuccess) status = cuda_fail(d->ctx, error, "sorting rows");
    }
    for (int k = 0; k < 3; k++) d->backend->release(d, room[k]);
    return status;
}
