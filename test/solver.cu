/* solver.cu: the vectors' share of a conjugate-gradient solver, and its clock. A dot has the same
 * bits each time: the last block adds what all blocks have, in order. */
#include "test/solver.h"
#include <algorithm>
#include <cuda_runtime.h>
#include <string.h>

enum { THREADS = 512, BLOCKS = 264, MOST_BLOCKS = 2048 };

#define CHECK(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ != cudaSuccess) return cudaGetErrorString(error_); \
    } while (0)
#define TRY(call) \
    do { \
        const char *wrong_ = (call); \
        if (wrong_) return wrong_; \
    } while (0)

/* ---- vectors --------------------------------------------------------------------------------- */

/* True in one thread, with the sum. */
static __device__ bool dot(const solver &s, const double *a, const double *b, double *out) {
    __shared__ double sums[THREADS];
    double sum = 0;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < s.n;
         i += (int64_t)BLOCKS * THREADS)
        sum += a[i] * b[i];
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        s.partial[blockIdx.x] = sums[0];
        __threadfence();
        is_last = atomicAdd(&s.scalars->done, 1) == BLOCKS - 1;
    }
    __syncthreads();
    if (!is_last) return false;
    __threadfence();
    sums[threadIdx.x] = threadIdx.x < BLOCKS ? __ldcg(s.partial + threadIdx.x) : 0;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x) return false;
    *out = sums[0];
    s.scalars->done = 0;
    return true;
}

static __global__ void begin(solver s) {
    double sum;
    if (dot(s, s.r, s.r, &sum)) s.scalars->rho = sum;
}

static __global__ void find_alpha(solver s) {
    double sum;
    if (dot(s, s.p, s.q, &sum)) s.scalars->alpha = s.scalars->rho / sum;
}

static __global__ void find_beta(solver s) {
    double sum;
    if (!dot(s, s.r, s.r, &sum)) return;
    s.scalars->beta = sum / s.scalars->rho;
    s.scalars->rho = sum;
}

/* y <- sign *factor x + y */
static __global__ void add(int64_t n, double sign, const double *factor, const double *x,
                           double *y) {
    const double a = sign * *factor;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        y[i] += a * x[i];
}

/* y <- x + *factor y */
static __global__ void scale_and_add(int64_t n, const double *factor, const double *x, double *y) {
    const double a = *factor;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        y[i] = x[i] + a * y[i];
}

extern "C" const char *solver_step(const solver *s, void *on) {
    const cudaStream_t stream = (cudaStream_t)on;
    const unsigned grid = (unsigned)std::min((s->n + THREADS - 1) / THREADS, (int64_t)MOST_BLOCKS);
    find_alpha<<<BLOCKS, THREADS, 0, stream>>>(*s);
    add<<<grid, THREADS, 0, stream>>>(s->n, 1, &s->scalars->alpha, s->p, s->x);
    add<<<grid, THREADS, 0, stream>>>(s->n, -1, &s->scalars->alpha, s->q, s->r);
    find_beta<<<BLOCKS, THREADS, 0, stream>>>(*s);
    scale_and_add<<<grid, THREADS, 0, stream>>>(s->n, &s->scalars->beta, s->r, s->p);
    CHECK(cudaGetLastError());
    return NULL;
}

extern "C" const char *solver_restart(const solver *s, void *on) {
    const cudaStream_t stream = (cudaStream_t)on;
    const size_t bytes = (size_t)s->n * sizeof(double);
    CHECK(cudaMemsetAsync(s->x, 0, bytes, stream));
    CHECK(cudaMemcpyAsync(s->q, s->b, bytes, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemcpyAsync(s->r, s->b, bytes, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemcpyAsync(s->p, s->b, bytes, cudaMemcpyDeviceToDevice, stream));
    begin<<<BLOCKS, THREADS, 0, stream>>>(*s);
    CHECK(cudaGetLastError());
    return NULL;
}

extern "C" void solver_free(solver *s) {
    void *owned[] = {(void *)s->b, s->x, s->r, s->p, s->q, s->partial, s->scalars};
    for (void *memory : owned) cudaFree(memory);
    memset(s, 0, sizeof *s);
}

extern "C" const char *solver_make(int64_t n, const double *b, solver *out) {
    const size_t bytes = (size_t)n * sizeof(double);
    void **vectors[] = {(void **)&out->b, (void **)&out->x, (void **)&out->r, (void **)&out->p,
                        (void **)&out->q};
    memset(out, 0, sizeof *out);
    out->n = n;
    for (void **vector : vectors) CHECK(cudaMalloc(vector, bytes));
    CHECK(cudaMalloc(&out->partial, BLOCKS * sizeof(double)));
    CHECK(cudaMalloc(&out->scalars, sizeof *out->scalars));
    CHECK(cudaMemset(out->scalars, 0, sizeof *out->scalars));
    CHECK(cudaMemcpy((void *)out->b, b, bytes, cudaMemcpyHostToDevice));
    return NULL;
}

extern "C" const char *solver_fetch(int64_t n, const double *from, double *to) {
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(to, from, (size_t)n * sizeof *to, cudaMemcpyDeviceToHost));
    return NULL;
}

/* ---- the clock ------------------------------------------------------------------------------- */

typedef struct watch {
    cudaStream_t stream;
    cudaEvent_t start, stop;
    cudaGraphExec_t graph; /* graph of one round */
} watch;

static const char *open_watch(watch *w) {
    memset(w, 0, sizeof *w);
    CHECK(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&w->start));
    CHECK(cudaEventCreate(&w->stop));
    return NULL;
}

static void close_watch(watch *w) {
    if (w->stream) cudaStreamSynchronize(w->stream);
    if (w->graph) cudaGraphExecDestroy(w->graph);
    if (w->start) cudaEventDestroy(w->start);
    if (w->stop) cudaEventDestroy(w->stop);
    if (w->stream) cudaStreamDestroy(w->stream);
}

static const char *iterate(const solver *s, solver_product product, void *arg, int iterations,
                           cudaStream_t stream) {
    for (int k = 0; k < iterations; k++) {
        if (product) TRY(product(s, arg, stream));
        TRY(solver_step(s, stream));
    }
    return NULL;
}

static const char *record(const solver *s, solver_product product, void *arg, int iterations,
                          watch *w) {
    cudaGraph_t graph = NULL;
    CHECK(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
    const char *wrong = iterate(s, product, arg, iterations, w->stream);
    cudaError_t ended = cudaStreamEndCapture(w->stream, &graph);
    TRY(wrong);
    CHECK(ended);
    cudaError_t made = cudaGraphInstantiate(&w->graph, graph, 0);
    cudaGraphDestroy(graph);
    CHECK(made);
    CHECK(cudaGraphUpload(w->graph, w->stream));
    return NULL;
}

static const char *time_rounds(const solver *s, solver_product product, void *arg, int iterations,
                               bool as_graph, watch *w, double *seconds) {
    enum { ROUNDS = 7 };
    if (as_graph) TRY(record(s, product, arg, iterations, w));
    for (int round = 0; round < ROUNDS; round++) {
        float ms = 0;
        TRY(solver_restart(s, w->stream));
        CHECK(cudaStreamSynchronize(w->stream));
        CHECK(cudaEventRecord(w->start, w->stream));
        if (as_graph)
            CHECK(cudaGraphLaunch(w->graph, w->stream));
        else
            TRY(iterate(s, product, arg, iterations, w->stream));
        CHECK(cudaEventRecord(w->stop, w->stream));
        CHECK(cudaEventSynchronize(w->stop));
        CHECK(cudaEventElapsedTime(&ms, w->start, w->stop));
        const double each = 1e-3 * (double)ms / iterations;
        if (round == 0 || each < *seconds) *seconds = each;
    }
    return NULL;
}

extern "C" const char *solver_time(const solver *s, solver_product product, void *arg,
                                   int iterations, bool as_graph, double *seconds) {
    watch w;
    const char *wrong = open_watch(&w);
    if (!wrong) wrong = time_rounds(s, product, arg, iterations, as_graph, &w, seconds);
    close_watch(&w);
    return wrong;
}

/* Waits so that all that is timed is queued before the first of it runs: about 40 us. */
static __global__ void hold() {
    long long start = clock64();
    while (clock64() - start < 80000) continue;
}

static const char *time_products(const solver *s, solver_product product, void *arg, watch *w,
                                 double *seconds) {
    enum { TIMES = 31 };
    double sample[TIMES];
    TRY(solver_restart(s, w->stream));
    for (int k = 0; k < TIMES; k++) {
        float ms = 0;
        hold<<<1, 1, 0, w->stream>>>();
        TRY(solver_step(s, w->stream));
        CHECK(cudaEventRecord(w->start, w->stream));
        TRY(product(s, arg, w->stream));
        CHECK(cudaEventRecord(w->stop, w->stream));
        CHECK(cudaEventSynchronize(w->stop));
        CHECK(cudaEventElapsedTime(&ms, w->start, w->stop));
        sample[k] = 1e-3 * (double)ms;
    }
    std::sort(sample, sample + TIMES);
    *seconds = sample[TIMES / 2];
    return NULL;
}

extern "C" const char *solver_time_product(const solver *s, solver_product product, void *arg,
                                           double *seconds) {
    watch w;
    const char *wrong = open_watch(&w);
    if (!wrong) wrong = time_products(s, product, arg, &w, seconds);
    close_watch(&w);
    return wrong;
}
