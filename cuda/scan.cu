/* scan.cu: prefix sums and sorting for the builders of formats, by CUB, which is part of the CUDA
 * toolkit. Compiled once, because nothing depends on the variant. */
#include "build.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

enum { THREADS = 256 };

/* Calls CUB twice, as CUB requires: for the size of its temporary storage, and with the storage. */
template <class CALL> static spmv_status with_room(spmv_device *d, CALL call) {
    void *room = NULL;
    size_t bytes = 0;
    CU(d->ctx, call(NULL, bytes));
    TRY(d->backend->alloc(d, bytes, &room));
    const cudaError_t error = call(room, bytes);
    d->backend->release(d, room);
    CU(d->ctx, error);
    return SPMV_OK;
}

spmv_status sum_before(spmv_device *d, int64_t n, int64_t *number) {
    if (n == 0) return SPMV_OK;
    return with_room(d, [=](void *room, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(room, bytes, number, number, n, stream_of(d));
    });
}

namespace {
struct greater {
    __device__ __forceinline__ idx operator()(idx a, idx b) const {
        return a > b ? a : b;
    }
};
} // namespace

spmv_status greatest_until(spmv_device *d, int64_t n, idx *number) {
    if (n == 0) return SPMV_OK;
    return with_room(d, [=](void *room, size_t &bytes) {
        return cub::DeviceScan::InclusiveScan(room, bytes, number, number, greater(), n,
                                              stream_of(d));
    });
}

template <class T> static __global__ void count_up(int64_t n, T *out) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) out[k] = (T)k;
}

/* Stable sort: *out is the permutation of 0, ..., n - 1 that orders the keys. */
template <class KEY, class T>
static spmv_status order(spmv_device *d, int64_t n, const KEY *key, int bits, KEY *sorted, T *out) {
    T *number = NULL;
    if (n == 0) return SPMV_OK;
    TRY(d->backend->alloc(d, (size_t)n * sizeof *number, (void **)&number));
    count_up<T><<<(unsigned)blocks_for(n, THREADS), THREADS, 0, stream_of(d)>>>(n, number);
    const spmv_status status = with_room(d, [=](void *room, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(room, bytes, key, sorted, number, out, n, 0, bits,
                                               stream_of(d));
    });
    d->backend->release(d, number);
    return status;
}

spmv_status order_columns(spmv_device *d, int64_t n, const idx *column, int bits, idx *sorted,
                          uint32_t *out) {
    return order(d, n, (const uint32_t *)column, bits, (uint32_t *)sorted, out);
}

spmv_status order_by_key(spmv_device *d, int64_t n, const uint64_t *key, int bits, idx *out) {
    uint64_t *sorted = NULL;
    if (n == 0) return SPMV_OK;
    TRY(d->backend->alloc(d, (size_t)n * sizeof *sorted, (void **)&sorted));
    spmv_status status = order(d, n, key, bits, sorted, out);
    if (status == SPMV_OK) status = d->backend->sync(d);
    d->backend->release(d, sorted);
    return status;
}
