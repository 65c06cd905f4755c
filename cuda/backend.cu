/* backend.cu: an NVIDIA GPU as a device: memory, events, kernels. */
#include "backend.cuh"
#include "device.cuh"
#include <stdio.h>
#include <stdlib.h>

#define KERNEL(name) SPMV_DECLARE_VARIANTS(spmv_kernel, cuda_##name)
#include "kernels.def"
#undef KERNEL
#define KERNEL(name) SPMV_OF_VARIANTS(cuda_##name),
static const spmv_kernel *const kernels[][SPMV_NVARIANTS] = {
#include "kernels.def"
};
#undef KERNEL
#define KERNEL(name) #name,
static const char *const names[] = {
#include "kernels.def"
};
#undef KERNEL
static_assert(sizeof names / sizeof *names <= SPMV_MOST_KERNELS, "sets of kernels have no room");

#define COST(name, idle, setup) #name,
static const char *const proposed[] = {
#include "cost.def"
    NULL};
#undef COST

SPMV_DECLARE_VARIANTS(spmv_kernel, cuda_in_place)
static const spmv_kernel *const in_place[SPMV_NVARIANTS] = SPMV_OF_VARIANTS(cuda_in_place);

#define FORMAT(name) SPMV_DECLARE_VARIANTS(spmv_device_format, cuda_build_##name)
#include "formats.def"
#undef FORMAT
#define FORMAT(name) SPMV_OF_VARIANTS(cuda_build_##name),
static const spmv_device_format *const formats[][SPMV_NVARIANTS] = {
#include "formats.def"
    {NULL}};
#undef FORMAT

typedef struct block { /* a block of allocated memory */
    void *memory;
    size_t bytes;
    struct block *next;
} block;

typedef struct gpu {   /* d->state points to this */
    cuda_state shared; /* used by all CUDA files; must be first */
    size_t memory;     /* bytes of the device's memory */
    size_t available;  /* free bytes, in the pool or not, at the last query of the driver */
    double asked;      /* time of that query (now()); 0: never */
    upload_ring *ring; /* NULL: no large copy yet */
    block *blocks;     /* a short list: stores, scratch and vectors */
} gpu;

static cuda_state *state_of(spmv_device *d) {
    return (cuda_state *)d->state;
}

/* An empty kernel, by which open_gpu tests whether the binary has code for this GPU. */
static __global__ void probe() {
}

static spmv_status check_code(spmv_device *d) {
    cudaFuncAttributes attributes;
    int major = 0, minor = 0;
    cudaError_t error = cudaFuncGetAttributes(&attributes, probe);
    if (error == cudaSuccess) return SPMV_OK;
    cudaGetLastError();
    CU(d->ctx, cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d->number));
    CU(d->ctx, cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, d->number));
    return spmv_fail(d->ctx, SPMV_E_BACKEND,
                     "GPU %d is sm_%d%d and this binary holds no code for it (%s). Rebuild: "
                     "make cuda CUDA_ARCH=sm_%d%d",
                     d->number, major, minor, cudaGetErrorString(error), major, minor);
}

static spmv_status list_block(spmv_device *d, void *memory, size_t bytes) {
    gpu *g = (gpu *)d->state;
    block *b = (block *)malloc(sizeof *b);
    if (!b) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    *b = {memory, bytes, g->blocks};
    g->blocks = b;
    d->used += bytes;
    if (d->used > d->most) d->most = d->used;
    return SPMV_OK;
}

/* Removes a block from the list. Returns its bytes, or 0 if it was not allocated here. */
static size_t strike_block(spmv_device *d, const void *memory) {
    block **at = &((gpu *)d->state)->blocks;
    while (*at && (*at)->memory != memory) at = &(*at)->next;
    block *b = *at;
    if (!b) return 0;
    const size_t bytes = b->bytes;
    *at = b->next;
    free(b);
    d->used -= bytes;
    return bytes;
}

static spmv_status take_memory(spmv_device *d, size_t bytes, void **out) {
    const spmv_allocator *theirs = d->allocator;
    cuda_state *s = state_of(d);
    CU(d->ctx, cudaSetDevice(d->number));
    if (theirs) {
        *out = theirs->alloc(theirs->user, SPMV_DEVICE, bytes, s->stream);
        if (*out) return SPMV_OK;
        return spmv_fail(d->ctx, SPMV_E_NOMEM,
                         "spmv_ctx_opts.allocator has no %zu bytes of GPU memory", bytes);
    }
    if (s->pool)
        CU(d->ctx, cudaMallocFromPoolAsync(out, bytes, s->pool, s->stream));
    else
        CU(d->ctx, cudaMalloc(out, bytes));
    return SPMV_OK;
}

static void give_memory(spmv_device *d, void *memory, size_t bytes) {
    const spmv_allocator *theirs = d->allocator;
    cuda_state *s = state_of(d);
    if (cudaSetDevice(d->number) != cudaSuccess) return;
    if (theirs) {
        theirs->release(theirs->user, SPMV_DEVICE, memory, bytes, s->stream);
        return;
    }
    if (s->pool && cudaFreeAsync(memory, s->stream) == cudaSuccess) return;
    cudaGetLastError();
    cudaFree(memory);
}

/* Allocates at least one byte, so that an empty array has an address. */
static spmv_status alloc_gpu(spmv_device *d, size_t bytes, void **out) {
    if (bytes == 0) bytes = 1;
    *out = NULL;
    TRY(take_memory(d, bytes, out));
    spmv_status status = list_block(d, *out, bytes);
    if (status == SPMV_OK) return SPMV_OK;
    give_memory(d, *out, bytes);
    *out = NULL;
    return status;
}

static void release_gpu(spmv_device *d, void *memory) {
    if (memory) give_memory(d, memory, strike_block(d, memory));
}

/* Returns the bytes that the pool always keeps: the driver takes 1.3 us per MB that it allocates,
 * so that memory for a matrix of 100 MB would take as long as several of its products. */
static size_t reserve_of(const spmv_device *d) {
    enum { PART = 256 }; /* fraction of the device's memory: 550 MB on an H200 */
    return ((const gpu *)d->state)->memory / PART;
}

/* Returns unused memory of the pool to the driver, after earlier work is complete, because releases
 * are ordered on the stream. */
static void trim_gpu(spmv_device *d) {
    cuda_state *s = state_of(d);
    if (!s->pool || cudaSetDevice(d->number) != cudaSuccess) return;
    if (cudaStreamSynchronize(s->stream) != cudaSuccess ||
        cudaMemPoolTrimTo(s->pool, reserve_of(d)))
        cudaGetLastError();
}

/* Makes a pool that keeps its memory until a matrix is freed, because allocating from the driver
 * takes as long as several products. If that is impossible, there is no pool. */
static cudaError_t open_pool(spmv_device *d) {
    int has_pools = 0;
    uint64_t all = UINT64_MAX;
    cudaMemPoolProps what = {};
    what.allocType = cudaMemAllocationTypePinned;
    what.location.type = cudaMemLocationTypeDevice;
    what.location.id = d->number;
    cudaError_t error =
        cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, d->number);
    if (error != cudaSuccess || !has_pools) return error;
    if (cudaMemPoolCreate(&state_of(d)->pool, &what) != cudaSuccess) {
        cudaGetLastError();
        state_of(d)->pool = NULL;
        return cudaSuccess;
    }
    return cudaMemPoolSetAttribute(state_of(d)->pool, cudaMemPoolAttrReleaseThreshold, &all);
}

/* Closes a device, even if opening it has failed half-way. */
static void close_gpu(spmv_device *d) {
    cuda_state *s = state_of(d);
    for (int k = 0; k < MOST_LIBRARIES; k++)
        if (s->library[k].handle) s->library[k].close(s->library[k].handle);
    if (s->start) cudaEventDestroy(s->start);
    if (s->stop) cudaEventDestroy(s->stop);
    if (s->order) cudaEventDestroy(s->order);
    release_gpu(d, s->flushed);
    release_gpu(d, s->sink);
    cudaFreeHost(s->answer);
    upload_close(((gpu *)s)->ring);
    if (s->stream) cudaStreamDestroy(s->stream);
    if (s->pool) cudaMemPoolDestroy(s->pool);
    pthread_mutex_destroy(&s->turn);
    free(s);
    d->state = NULL;
}

static spmv_status copy(spmv_device *d, void *to, const void *from, size_t bytes,
                        cudaMemcpyKind kind) {
    CU(d->ctx, cudaSetDevice(d->number));
    if (bytes) CU(d->ctx, cudaMemcpyAsync(to, from, bytes, kind, state_of(d)->stream));
    CU(d->ctx, cudaStreamSynchronize(state_of(d)->stream));
    return SPMV_OK;
}

static spmv_status put(spmv_device *d, void *device, const void *from, size_t bytes) {
    bool done;
    TRY(upload(d, &((gpu *)d->state)->ring, device, from, bytes, &done));
    return done ? SPMV_OK : copy(d, device, from, bytes, cudaMemcpyDefault);
}

static spmv_status get(spmv_device *d, void *host, const void *device, size_t bytes) {
    return copy(d, host, device, bytes, cudaMemcpyDeviceToHost);
}

static spmv_status fill(spmv_device *d, void *memory, int byte, size_t bytes) {
    CU(d->ctx, cudaSetDevice(d->number));
    if (bytes) CU(d->ctx, cudaMemsetAsync(memory, byte, bytes, state_of(d)->stream));
    return SPMV_OK;
}

enum { STRIP = 256, NARROW = 8 }; /* lines and elements of a strip that a block transposes */

/* Transposes n lines of w <= NARROW elements through shared memory, so that reads and writes are
 * both coalesced. Element j of line i is from[i * from_line + j * from_number]; one of both strides
 * is 1. Blocks loop over the strips, because a grid may have fewer blocks. */
template <typename T>
static __global__ void transpose_strips(int64_t n, int w, const T *from, int64_t from_line,
                                        int64_t from_number, T *to, int64_t to_line,
                                        int64_t to_number) {
    __shared__ T strip[STRIP][NARROW + 1];
    for (int64_t first = (int64_t)blockIdx.x * STRIP; first < n; first += gridDim.x * STRIP) {
        const int lines = (int)min((int64_t)STRIP, n - first);
        for (int e = threadIdx.x; e < lines * w; e += STRIP) {
            const int i = from_line == 1 ? e % lines : e / w,
                      j = from_line == 1 ? e / lines : e % w;
            strip[i][j] = from[(first + i) * from_line + j * from_number];
        }
        __syncthreads();
        for (int e = threadIdx.x; e < lines * w; e += STRIP) {
            const int i = to_line == 1 ? e % lines : e / w, j = to_line == 1 ? e / lines : e % w;
            to[(first + i) * to_line + j * to_number] = strip[i][j];
        }
        __syncthreads();
    }
}

template <typename T>
static void transpose_all(cudaStream_t stream, int64_t m, int64_t n, const T *from, int64_t from_ld,
                          T *to, int64_t to_ld) {
    const int64_t most = 1 << 16, strips = blocks_for(m < n ? n : m, STRIP);
    const unsigned blocks = (unsigned)(strips < most ? strips : most);
    for (int64_t k = 0; k < (m < n ? m : n); k += NARROW) { /* k: along the shorter side */
        const int w = (int)min((int64_t)NARROW, (m < n ? m : n) - k);
        if (m < n)
            transpose_strips<T><<<blocks, STRIP, 0, stream>>>(n, w, from + k * from_ld, 1, from_ld,
                                                              to + k, to_ld, 1);
        else
            transpose_strips<T><<<blocks, STRIP, 0, stream>>>(m, w, from + k, from_ld, 1,
                                                              to + k * to_ld, 1, to_ld);
    }
}

static spmv_status relayout_gpu(spmv_device *d, void *stream, size_t width, int64_t m, int64_t n,
                                const void *from, int64_t from_ld, void *to, int64_t to_ld) {
    if (m == 0 || n == 0) return SPMV_OK;
    if (width == sizeof(uint32_t))
        transpose_all((cudaStream_t)stream, m, n, (const uint32_t *)from, from_ld, (uint32_t *)to,
                      to_ld);
    else
        transpose_all((cudaStream_t)stream, m, n, (const uint64_t *)from, from_ld, (uint64_t *)to,
                      to_ld);
    return launched(d);
}

static bool reaches_gpu(const void *memory) {
    return !is_pageable(memory);
}

static spmv_status sync_gpu(spmv_device *d) {
    CU(d->ctx, cudaStreamSynchronize(state_of(d)->stream));
    return SPMV_OK;
}

/* Usually changes nothing, and is allowed during stream capture. */
static spmv_status enter_gpu(spmv_device *d) {
    int current = -1;
    CU(d->ctx, cudaGetDevice(&current));
    if (current != d->number) CU(d->ctx, cudaSetDevice(d->number));
    return SPMV_OK;
}

static spmv_status order(spmv_device *d, void *stream, bool own_first) {
    cuda_state *s = state_of(d);
    cudaStream_t theirs = (cudaStream_t)stream;
    CU(d->ctx, cudaSetDevice(d->number));
    CU(d->ctx, cudaEventRecord(s->order, own_first ? s->stream : theirs));
    CU(d->ctx, cudaStreamWaitEvent(own_first ? theirs : s->stream, s->order, 0));
    return SPMV_OK;
}

/* Keeps the stream busy while the host launches what is timed next; otherwise the clock would
 * include waiting for the host. 40,000 cycles are about 20 us. */
static __global__ void hold() {
    long long start = clock64();
    while (clock64() - start < 40000) continue;
}

static spmv_status tick(spmv_device *d) {
    CU(d->ctx, cudaSetDevice(d->number));
    hold<<<1, 1, 0, state_of(d)->stream>>>();
    CU(d->ctx, cudaEventRecord(state_of(d)->start, state_of(d)->stream));
    return SPMV_OK;
}

static spmv_status tock(spmv_device *d, double *seconds) {
    float ms = 0;
    CU(d->ctx, cudaEventRecord(state_of(d)->stop, state_of(d)->stream));
    CU(d->ctx, cudaEventSynchronize(state_of(d)->stop));
    CU(d->ctx, cudaEventElapsedTime(&ms, state_of(d)->start, state_of(d)->stop));
    *seconds = 1e-3 * (double)ms;
    return SPMV_OK;
}

/* Returns a property of the memory pool in bytes; 0 if there is no pool. */
static size_t of_pool(const cuda_state *s, cudaMemPoolAttr what) {
    uint64_t bytes = 0;
    if (!s->pool || cudaMemPoolGetAttribute(s->pool, what, &bytes) != cudaSuccess) return 0;
    return (size_t)bytes;
}

/* Returns the free bytes. A query of the driver takes up to 90 us, so its result is kept for a
 * moment; memory taken by the pool meanwhile counts as free until it is used. */
static size_t free_gpu_bytes(spmv_device *d) {
    const double moment_s = 0.1;
    gpu *g = (gpu *)d->state;
    const cuda_state *s = &g->shared;
    size_t available = 0, total = 0, used = of_pool(s, cudaMemPoolAttrUsedMemCurrent);
    if (!s->pool || g->asked == 0 || spmv_now() - g->asked > moment_s) {
        if (cudaSetDevice(d->number) != cudaSuccess ||
            cudaMemGetInfo(&available, &total) != cudaSuccess)
            return 0;
        g->memory = total;
        g->available = available + of_pool(s, cudaMemPoolAttrReservedMemCurrent);
        g->asked = spmv_now();
    }
    return g->available > used ? g->available - used : 0;
}

static int attribute(spmv_device *d, cudaDeviceAttr which) {
    int value = -1;
    if (cudaDeviceGetAttribute(&value, which, d->number) != cudaSuccess) cudaGetLastError();
    return value;
}

/* Reads the GPU's name once, because gathering all properties takes long. */
static bool read_name(spmv_device *d) {
    cudaDeviceProp properties;
    char *name = state_of(d)->name;
    if (*name) return true;
    if (cudaGetDeviceProperties(&properties, d->number) != cudaSuccess) return false;
    snprintf(name, sizeof state_of(d)->name, "%s", properties.name);
    return true;
}

static void describe(spmv_device *d, spmv_device_facts *out) {
    memset(out, 0, sizeof *out);
    if (cudaSetDevice(d->number) != cudaSuccess || !read_name(d)) return;
    out->name = state_of(d)->name;
    out->cc = state_of(d)->capability / 10;
    out->sms = attribute(d, cudaDevAttrMultiProcessorCount);
    out->l2 = state_of(d)->l2;
    out->ecc = attribute(d, cudaDevAttrEccEnabled);
    out->clock_sm_kHz = attribute(d, cudaDevAttrClockRate);
    out->clock_memory_kHz = attribute(d, cudaDevAttrMemoryClockRate);
    int bus_bits = attribute(d, cudaDevAttrGlobalMemoryBusWidth);
    if (out->clock_memory_kHz > 0 && bus_bits > 0) /* double data rate */
        out->bandwidth = 2e3 * out->clock_memory_kHz * bus_bits / 8;
    cudaMemGetInfo(&out->memory_free, &out->memory);
    cudaDriverGetVersion(&out->driver);
    cudaRuntimeGetVersion(&out->runtime);
}

/* Reads rather than writes, because dirty cache lines would be written back during the next
 * product. */
static __global__ void read_all(const uint4 *from, size_t n, unsigned *sink) {
    unsigned sum = 0;
    for (size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x; k < n;
         k += gridDim.x * (size_t)blockDim.x) {
        uint4 v = from[k];
        sum |= v.x | v.y | v.z | v.w;
    }
    if (sum) *sink = sum; /* never true, because the memory is zero */
}

static spmv_status flush_gpu(spmv_device *d, size_t bytes) {
    enum { THREADS = 512, MOST = 2048 * THREADS };
    cuda_state *s = state_of(d);
    const size_t n = bytes / sizeof(uint4);
    if (n == 0 || s->nflushed < bytes) {
        release_gpu(d, s->flushed);
        s->flushed = NULL, s->nflushed = 0;
    }
    if (n == 0) return SPMV_OK;
    CU(d->ctx, cudaSetDevice(d->number));
    if (!s->flushed) {
        TRY(alloc_gpu(d, bytes, (void **)&s->flushed));
        if (!s->sink) TRY(alloc_gpu(d, sizeof *s->sink, (void **)&s->sink));
        CU(d->ctx, cudaMemsetAsync(s->flushed, 0, bytes, s->stream));
        s->nflushed = bytes;
    }
    const unsigned blocks = (unsigned)blocks_for((int64_t)(n < MOST ? n : MOST), THREADS);
    read_all<<<blocks, THREADS, 0, s->stream>>>((const uint4 *)s->flushed, n, s->sink);
    return launched(d);
}

static spmv_status nothing(spmv_device *d) {
    CU(d->ctx, cudaSetDevice(d->number));
    probe<<<1, WARP, 0, state_of(d)->stream>>>();
    return launched(d);
}

static spmv_status record_start(spmv_device *d) {
    CU(d->ctx, cudaSetDevice(d->number));
    CU(d->ctx, cudaStreamBeginCapture(state_of(d)->stream, cudaStreamCaptureModeThreadLocal));
    return SPMV_OK;
}

static spmv_status record_stop(spmv_device *d, void **recording) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    *recording = NULL;
    cudaError_t error = cudaStreamEndCapture(state_of(d)->stream, &graph);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&ready, graph, 0);
    if (graph) cudaGraphDestroy(graph);
    if (error == cudaSuccess) error = cudaGraphUpload(ready, state_of(d)->stream);
    *recording = ready;
    CU(d->ctx, error);
    return SPMV_OK;
}

static spmv_status replay(spmv_device *d, void *recording) {
    CU(d->ctx, cudaGraphLaunch((cudaGraphExec_t)recording, state_of(d)->stream));
    return SPMV_OK;
}

static void forget(spmv_device *d, void *recording) {
    if (recording && cudaSetDevice(d->number) == cudaSuccess)
        cudaGraphExecDestroy((cudaGraphExec_t)recording);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Makes the device's first allocation from the pool (12 ms on an H200) and first launch of this
 * file, so that they are not charged to a plan. */
static spmv_status first_use(spmv_device *d) {
    double seconds;
    void *memory = NULL;
    free_gpu_bytes(d);
    if (state_of(d)->pool && alloc_gpu(d, reserve_of(d), &memory) == SPMV_OK)
        release_gpu(d, memory);
    d->most = d->used;
    state_of(d)->answer = pinned_memory(ANSWER_BYTES);
    TRY(nothing(d));
    TRY(make_cache_policies(d));
    TRY(tick(d));
    return tock(d, &seconds);
}

static bool is_present(int number, char *why, size_t size) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInitializationError) {
        cudaGetLastError();
        snprintf(why, size, "%s", cuda_reason(error));
        return false;
    }
    if (error != cudaSuccess || count == 0) {
        int driver = 0;
        cudaDriverGetVersion(&driver); /* 0: no driver */
        cudaGetLastError();
        snprintf(why, size,
                 "no usable GPU (%s): check nvidia-smi, or run the OpenMP kernels (backend omp)",
                 driver == 0            ? "there is no NVIDIA driver"
                 : error == cudaSuccess ? "none found"
                                        : cudaGetErrorString(error));
        return false;
    }
    if (number >= count)
        snprintf(why, size, "no GPU %d: this machine has %d, numbered from 0", number, count);
    return number < count;
}

static spmv_status open_gpu(spmv_device *d) {
    char why[256];
    if (!is_present(d->number, why, sizeof why))
        return spmv_fail(d->ctx, SPMV_E_BACKEND, "%s", why);
    CU(d->ctx, cudaSetDevice(d->number));
    TRY(check_code(d));
    cuda_state *s = (cuda_state *)calloc(1, sizeof(gpu));
    if (!s) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    cudaError_t made = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
    if (made == cudaSuccess) made = cudaEventCreate(&s->start);
    if (made == cudaSuccess) made = cudaEventCreate(&s->stop);
    if (made == cudaSuccess) made = cudaEventCreateWithFlags(&s->order, cudaEventDisableTiming);
    pthread_mutex_init(&s->turn, NULL);
    d->state = s;
    d->stream = s->stream;
    s->capability = 100 * attribute(d, cudaDevAttrComputeCapabilityMajor) +
                    10 * attribute(d, cudaDevAttrComputeCapabilityMinor);
    s->l2 = (size_t)max(attribute(d, cudaDevAttrL2CacheSize), 0);
    if (made == cudaSuccess && !d->allocator) made = open_pool(d);
    if (made != cudaSuccess) {
        close_gpu(d);
        return cuda_fail(d->ctx, made, "opening the GPU");
    }
    spmv_status status = first_use(d);
    if (status != SPMV_OK) close_gpu(d);
    return status;
}

#define TEXT(...) #__VA_ARGS__
#define WORDS(...) TEXT(__VA_ARGS__)
extern "C" const spmv_backend spmv_cuda = {
    .name = "cuda",
    .hint = "make cuda",
    .clock = "cuda_event",
    .build = "nvcc " WORDS(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                           __CUDACC_VER_BUILD__) " for " WORDS(__CUDA_ARCH_LIST__),
    .names = names,
    .kernels = kernels,
    .nkernels = sizeof names / sizeof *names,
    .in_place = in_place,
    .formats = formats,
    .present = is_present,
    .open = open_gpu,
    .close = close_gpu,
    .alloc = alloc_gpu,
    .release = release_gpu,
    .trim = trim_gpu,
    .put = put,
    .get = get,
    .turn = relayout_gpu,
    .sums = spmv_sum_gpu,
    .sums_bytes = SUMS_BYTES,
    .fill = fill,
    .sync = sync_gpu,
    .reaches = reaches_gpu,
    .enter = enter_gpu,
    .order = order,
    .tick = tick,
    .tock = tock,
    .free_bytes = free_gpu_bytes,
    .describe = describe,
    .propose = spmv_propose_cuda,
    .proposed = proposed,
    .flush = flush_gpu,
    .nothing = nothing,
    .record_start = record_start,
    .record_stop = record_stop,
    .replay = replay,
    .forget = forget,
    .probe = spmv_probe_gpu,
    .state = spmv_gpu_state,
    .sample = spmv_sample_gpu,
};
