/* device_radix_sort.cuh of the emulator: the part of CUB that cuda/scan.cu calls. */
#ifndef EMULATED_DEVICE_RADIX_SORT_CUH
#define EMULATED_DEVICE_RADIX_SORT_CUH
#include <algorithm>
#include <cuda_runtime.h>
#include <vector>

namespace cub {
struct DeviceRadixSort {
    template <class K, class V, class N>
    static cudaError_t SortPairs(void *room, size_t &bytes, const K *keys, K *sorted,
                                 const V *values, V *out, N n, int first_bit, int end_bit,
                                 cudaStream_t stream) {
        if (!room) {
            bytes = 1;
            return cudaSuccess;
        }
        return emulated::submit(stream, [=] {
            const K low = first_bit ? ~(K)0 << first_bit : ~(K)0;
            const K mask = end_bit < (int)(8 * sizeof(K)) ? low & (((K)1 << end_bit) - 1) : low;
            std::vector<std::pair<K, V>> all;
            for (N k = 0; k < n; k++) all.push_back({keys[k], values[k]});
            std::stable_sort(all.begin(), all.end(),
                             [mask](const std::pair<K, V> &a, const std::pair<K, V> &b) {
                                 return (a.first & mask) < (b.first & mask);
                             });
            for (N k = 0; k < n; k++)
                sorted[k] = all[(size_t)k].first, out[k] = all[(size_t)k].second;
        });
    }
};
} // namespace cub
#endif
