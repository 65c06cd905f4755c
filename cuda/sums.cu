/* sums.cu: scalar products of vectors, with the same bits each time: every thread sums its numbers,
 * and the block that ends last adds the sums of all blocks in order. Vectors are read from the end,
 * because the product wrote their last numbers last and the cache still has them (H200,
 * poisson3d:180: 69 us with the product instead of 75). The kernel starts before that product has
 * ended. Compiled once. */
#include "ahead.cuh"
#include "backend.cuh"

enum { THREADS = 256, WARPS = THREADS / WARP, EACH = 4 /* numbers per thread, at least */ };

/* Adds up the sums of all threads of a block: thread q < n returns the total of own[q]. */
template <int n> static __device__ __forceinline__ double over_block(const double (&own)[n]) {
    __shared__ double of_warp[WARPS][n];
    double all = 0;
    __syncthreads(); /* before of_warp is overwritten */
#pragma unroll
    for (int q = 0; q < n; q++) {
        double sum = own[q];
        for (int step = WARP / 2; step > 0; step /= 2)
            sum += __shfl_down_sync(ALL_LANES, sum, step);
        if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP][q] = sum;
    }
    __syncthreads();
    for (int warp = 0; warp < WARPS && threadIdx.x < n; warp++) all += of_warp[warp][threadIdx.x];
    return all;
}

/* Adds up m <= M vectors: sum q is w'z of vector q, sum M + q is z'z of vector q. part: room for
 * the sums of all blocks, one kind after the other. *done: how many blocks have ended; 0 before and
 * after. */
template <class T, int M>
static __global__ void __launch_bounds__(THREADS)
    add_up(spmv_sums s, int m, double *part, unsigned *done) {
    __shared__ bool is_last;
    const T *w = (const T *)s.w, *z = (const T *)s.z;
    double own[2 * M] = {};
    begin_product();
#pragma unroll 4
    for (int64_t i = s.n - 1 - blockIdx.x * (int64_t)THREADS - threadIdx.x; i >= 0;
         i -= (int64_t)gridDim.x * THREADS)
#pragma unroll
        for (int j = 0; j < M; j++)
            if (M == 1 || j < m) {
                const double a = (double)w[i * s.w_row + j * s.w_vector],
                             b = (double)z[i * s.z_row + j * s.z_vector];
                own[j] = fma(a, b, own[j]);
                own[M + j] = fma(b, b, own[M + j]);
            }
    const double of_block = over_block<2 * M>(own);
    if (threadIdx.x < 2 * M) {
        part[threadIdx.x * gridDim.x + blockIdx.x] = of_block;
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
#pragma unroll
    for (int q = 0; q < 2 * M; q++) {
        own[q] = 0;
        for (unsigned b = threadIdx.x; b < gridDim.x; b += THREADS)
            own[q] += __ldcg(part + q * gridDim.x + b);
    }
    const double all = over_block<2 * M>(own);
    const int q = (int)threadIdx.x, j = q % M;
    void *to = q < M ? s.wz : s.zz;
    if (q < 2 * M && j < m && to) ((T *)to)[j] = (T)all;
    if (q == 0) *done = 0;
}

template <class T> static spmv_status add_all(spmv_device *d, cudaStream_t stream, spmv_sums s) {
    const int64_t whole = blocks_for(s.n, THREADS * EACH);
    const unsigned blocks = (unsigned)max((int64_t)1, min(whole, (int64_t)SUMS_BLOCKS));
    double *part = (double *)s.room;
    unsigned *done = (unsigned *)(part + 2 * SUMS_VECTORS * SUMS_BLOCKS);
    for (int64_t left = s.k; left > 0; left -= SUMS_VECTORS) {
        int m = (int)min(left, (int64_t)SUMS_VECTORS);
        void *arguments[] = {&s, &m, &part, &done};
        const void *const kernel =
            m == 1 ? (const void *)add_up<T, 1> : (const void *)add_up<T, SUMS_VECTORS>;
        TRY(launch_early(d, true, stream, kernel, blocks, dim3(THREADS), 0, arguments));
        s.w = (const T *)s.w + SUMS_VECTORS * s.w_vector;
        s.z = (const T *)s.z + SUMS_VECTORS * s.z_vector;
        if (s.wz) s.wz = (T *)s.wz + SUMS_VECTORS;
        if (s.zz) s.zz = (T *)s.zz + SUMS_VECTORS;
    }
    return SPMV_OK;
}

spmv_status spmv_sum_gpu(spmv_device *d, void *stream, const spmv_sums *wanted) {
    spmv_sums s = *wanted;
    if (!s.wz) s.w = s.z, s.w_row = s.z_row, s.w_vector = s.z_vector;
    return s.width == sizeof(float) ? add_all<float>(d, (cudaStream_t)stream, s)
                                    : add_all<double>(d, (cudaStream_t)stream, s);
}
