/* device_scan.cuh of the emulator: the part of CUB that cuda/scan.cu calls. */
#ifndef EMULATED_DEVICE_SCAN_CUH
#define EMULATED_DEVICE_SCAN_CUH
#include <cuda_runtime.h>

namespace cub {
struct DeviceScan {
    template <class T, class N>
    static cudaError_t ExclusiveSum(void *room, size_t &bytes, const T *in, T *out, N n,
                                    cudaStream_t stream) {
        if (!room) {
            bytes = 1;
            return cudaSuccess;
        }
        return emulated::submit(stream, [=] {
            T sum = 0;
            for (N k = 0; k < n; k++) {
                T value = in[k];
                out[k] = sum;
                sum += value;
            }
        });
    }
    template <class T, class Add, class N>
    static cudaError_t InclusiveScan(void *room, size_t &bytes, const T *in, T *out, Add add, N n,
                                     cudaStream_t stream) {
        if (!room) {
            bytes = 1;
            return cudaSuccess;
        }
        return emulated::submit(stream, [=] {
            for (N k = 0; k < n; k++) out[k] = k == 0 ? in[0] : add(out[k - 1], in[k]);
        });
    }
};
} // namespace cub
#endif
