/* streams.cu: what the tests need of CUDA: streams, a kernel that writes late, graphs. Every
 * function returns NULL, or what went wrong. */
#include "cuda/ahead.cuh"

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) return cudaGetErrorString(error_); \
    } while (0)

extern "C" const char *stream_make(void **out) {
    CHECK(cudaStreamCreateWithFlags((cudaStream_t *)out, cudaStreamNonBlocking));
    return NULL;
}

extern "C" const char *stream_free(void *stream) {
    CHECK(cudaStreamDestroy((cudaStream_t)stream));
    return NULL;
}

/* Returns whether products overlap on a GPU of this capability, such as 90. */
extern "C" bool stream_overlaps(int capability) {
    return code_waits(10 * capability);
}

/* stream NULL: CUDA's default stream. */
extern "C" const char *stream_wait(void *stream) {
    CHECK(cudaStreamSynchronize((cudaStream_t)stream));
    return NULL;
}

/* One thread per element. Lets the next kernel start at once, and writes about 10 us later. */
template <class T>
static __global__ void write_late(int64_t n, const T *from, T factor, bool lets_next_start, T *to) {
    enum { LATE = 20000 }; /* cycles */
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    long long start = clock64();
    if (lets_next_start) let_next_start();
    while (clock64() - start < LATE) continue;
    if (i < n) to[i] = factor * from[i];
}

template <class T>
static void launch_late(int64_t n, const void *from, double factor, bool lets_next_start, void *to,
                        void *stream) {
    enum { BLOCK = 256 };
    write_late<T><<<(unsigned)blocks_for(n, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        n, (const T *)from, (T)factor, lets_next_start, (T *)to);
}

/* to <- factor from, n numbers. */
extern "C" const char *stream_write_late(int64_t n, spmv_precision precision, const void *from,
                                         double factor, bool lets_next_start, void *to,
                                         void *stream) {
    if (precision == SPMV_F64)
        launch_late<double>(n, from, factor, lets_next_start, to, stream);
    else
        launch_late<float>(n, from, factor, lets_next_start, to, stream);
    CHECK(cudaGetLastError());
    return NULL;
}

static __global__ void count_others(int64_t n, const double *a, double factor, const double *b,
                                    int *differ) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n && a[i] != factor * b[i]) atomicAdd(differ, 1);
}

/* *differ, in device memory, grows by how many of a are not factor b. */
extern "C" const char *stream_compare(int64_t n, const double *a, double factor, const double *b,
                                      int *differ, void *stream) {
    enum { BLOCK = 256 };
    count_others<<<(unsigned)blocks_for(n, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(n, a, factor,
                                                                                     b, differ);
    CHECK(cudaGetLastError());
    return NULL;
}

extern "C" const char *stream_clear(void *memory, size_t bytes, void *stream) {
    CHECK(cudaMemsetAsync(memory, 0, bytes, (cudaStream_t)stream));
    return NULL;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

extern "C" const char *stream_capture(void *stream) {
    CHECK(cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeGlobal));
    return NULL;
}

extern "C" const char *stream_end_capture(void *stream, void **graph) {
    cudaGraph_t captured = NULL;
    *graph = NULL;
    CHECK(cudaStreamEndCapture((cudaStream_t)stream, &captured));
    cudaError_t error = cudaGraphInstantiate((cudaGraphExec_t *)graph, captured, 0);
    cudaGraphDestroy(captured);
    CHECK(error);
    return NULL;
}

extern "C" const char *graph_launch(void *graph, void *stream) {
    CHECK(cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream));
    return NULL;
}

extern "C" const char *graph_free(void *graph) {
    CHECK(cudaGraphExecDestroy((cudaGraphExec_t)graph));
    return NULL;
}
