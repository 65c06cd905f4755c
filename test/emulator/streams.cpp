/* streams.cpp: streams, events and graphs. Submitted work runs when the host waits for it, and
 * then no more runs than was waited for: a result for which nobody waited is missing.
 * EMULATED_EAGER=1: all work runs when it is submitted. */
#include "state.h"
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <stdlib.h>
#include <string>
#include <time.h>
#include <vector>

typedef std::function<void()> work;
struct emulated_graph {
    std::vector<work> steps; /* in the order of their submission, which respects every dependency */
};
struct capture {
    emulated_graph graph;
    cudaStream_t origin;
    bool invalid;
};
struct emulated_stream {
    std::deque<work> waiting;
    uint64_t submitted, done;      /* how many */
    std::shared_ptr<capture> into; /* NULL: nothing is captured */
    bool to_join;                  /* something was captured since the last event */
};
struct emulated_event {
    cudaStream_t stream; /* NULL: not recorded */
    uint64_t number;     /* number of the stream's operation */
    std::shared_ptr<capture> into;
    std::shared_ptr<double> ms; /* when its turn came */
};

extern "C" {
extern const bool emulated_gpu;
const bool emulated_gpu = true; /* the tests ask for it */
}

namespace emulated {
static std::recursive_mutex mutex;
static emulated_stream default_stream;
static std::set<cudaStream_t> streams = {&default_stream};
static thread_local cudaError_t last;
static thread_local std::shared_ptr<capture> mine; /* what this thread captures */

locked::locked() {
    mutex.lock();
}

locked::~locked() {
    mutex.unlock();
}

cudaError_t failed(cudaError_t error) {
    if (error != cudaSuccess) last = error;
    return error;
}

static std::atomic<bool> called, is_child; /* is_child: of a process that had made a call */
static const int watched = pthread_atfork(NULL, NULL, [] { is_child = is_child || called; });

cudaError_t unusable() {
    (void)watched;
    called = true;
    return is_child ? failed(cudaErrorInitializationError) : cudaSuccess;
}

unsigned seed() {
    static const char *text = getenv("EMULATED_SEED");
    return text ? (unsigned)atoi(text) : 0;
}

static bool is_eager() {
    static const bool eager = getenv("EMULATED_EAGER") != NULL;
    return eager;
}

static double now_ms() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

cudaError_t forbidden_in_capture() {
    if (!mine) return cudaSuccess;
    mine->invalid = true;
    return failed(cudaErrorStreamCaptureUnsupported);
}

static cudaStream_t known(cudaStream_t stream) {
    if (!stream) return &default_stream;
    if (!streams.count(stream)) stop("no stream: %p", (void *)stream);
    return stream;
}

static void run_until(cudaStream_t stream, uint64_t number) {
    device_open open;
    while (stream->done < number) {
        work next = std::move(stream->waiting.front());
        stream->waiting.pop_front();
        next(); /* may run what another stream has in front of it */
        stream->done++;
    }
}

void finish_all() {
    for (cudaStream_t stream : streams) run_until(stream, stream->submitted);
}

static uint64_t add(cudaStream_t stream, work what) {
    stream->waiting.push_back(std::move(what));
    return ++stream->submitted;
}

cudaError_t submit(cudaStream_t at, work what) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    cudaStream_t stream = known(at);
    if (stream->into) {
        stream->into->graph.steps.push_back(std::move(what));
        stream->to_join = true;
        return cudaSuccess;
    }
    const uint64_t number = add(stream, std::move(what));
    if (is_eager()) run_until(stream, number);
    return cudaSuccess;
}

/* ---- kernels -------------------------------------------------------------------------------- */

struct erased_kernel {
    std::string name;
    binder bind;
};
static std::map<const void *, erased_kernel> &erased() {
    static std::map<const void *, erased_kernel> all;
    return all;
}
static std::map<const void *, int> allowed; /* dynamic shared memory, in bytes */

void note_kernel(const void *kernel, const char *name, binder bind) {
    locked now;
    erased().insert({kernel, {name, bind}});
}

cudaError_t allow_shared(const void *kernel, int bytes) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (bytes < 0 || bytes > MOST_SHARED) return failed(cudaErrorInvalidValue);
    allowed[kernel] = bytes;
    return cudaSuccess;
}

static bool is_valid(const launch &l) {
    const dim3 g = l.grid, t = l.block;
    const uint64_t threads = (uint64_t)t.x * t.y * t.z;
    return g.x && g.y && g.z && g.x <= INT32_MAX && g.y <= UINT16_MAX && g.z <= UINT16_MAX &&
           threads && threads <= MOST_THREADS && t.x <= 1024 && t.y <= 1024 && t.z <= 64;
}

cudaError_t submit_kernel(const launch &what, work body) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    auto more = allowed.find(what.kernel);
    const size_t most = more == allowed.end() ? (size_t)PLAIN_SHARED : (size_t)more->second;
    if (!is_valid(what)) return failed(cudaErrorInvalidConfiguration);
    if (what.shared > most && what.shared > PLAIN_SHARED) return failed(cudaErrorInvalidValue);
    return submit(what.stream, [what, body = std::move(body)] { run_grid(what, body); });
}
} // namespace emulated

using namespace emulated;

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *kernel, void **arguments) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    auto found = erased().find(kernel);
    if (found == erased().end()) return failed(cudaErrorInvalidValue);
    const bool overlaps = c->numAttrs && c->attrs->val.programmaticStreamSerializationAllowed;
    const launch what = {found->second.name.c_str(), kernel,    c->gridDim, c->blockDim,
                         c->dynamicSmemBytes,        c->stream, overlaps};
    return submit_kernel(what, found->second.bind(arguments));
}

/* ---- copies --------------------------------------------------------------------------------- */

static bool is_pageable(const void *memory) {
    return type_of(memory) == cudaMemoryTypeUnregistered;
}

static void check_kind(const void *to, const void *from, cudaMemcpyKind kind) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind == cudaMemcpyDefault) return;
    if ((type_of(to) == cudaMemoryTypeHost || is_pageable(to)) == to_device)
        stop("a copy's kind is not where it goes to");
    if ((type_of(from) == cudaMemoryTypeHost || is_pageable(from)) == from_device)
        stop("a copy's kind is not where it comes from");
}

/* Copies like CUDA: pageable source memory is read at once, and a copy to pageable memory is
 * complete when the call returns. */
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t at) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    cudaStream_t stream = known(at);
    check_kind(to, from, kind);
    if (is_pageable(from) && !stream->into) {
        std::vector<char> taken(width * height);
        for (size_t r = 0; r < height; r++)
            memcpy(taken.data() + r * width, (const char *)from + r * from_pitch, width);
        submit(stream, [=, taken = std::move(taken)] {
            for (size_t r = 0; r < height; r++)
                memcpy((char *)to + r * to_pitch, taken.data() + r * width, width);
        });
    } else {
        submit(stream, [=] {
            for (size_t r = 0; r < height; r++)
                memcpy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width);
        });
    }
    if (is_pageable(to) && !stream->into) run_until(stream, stream->submitted);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (cudaError_t lost = unusable()) return lost;
    return bytes ? cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream) : cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (cudaError_t unsafe = forbidden_in_capture()) return unsafe;
    cudaMemcpyAsync(to, from, bytes, kind, NULL);
    return cudaStreamSynchronize(NULL);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (cudaError_t unsafe = forbidden_in_capture()) return unsafe;
    cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, NULL);
    return cudaStreamSynchronize(NULL);
}

cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes, cudaStream_t stream) {
    if (cudaError_t lost = unusable()) return lost;
    return bytes ? submit(stream, [=] { memset(memory, byte, bytes); }) : cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int byte, size_t bytes) {
    if (cudaError_t lost = unusable()) return lost;
    return cudaMemsetAsync(memory, byte, bytes, NULL);
}

/* ---- streams and events --------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    *out = new emulated_stream{};
    streams.insert(*out);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    run_until(known(stream), stream->submitted);
    streams.erase(stream);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t at) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    cudaStream_t stream = known(at);
    if (stream->into) {
        stream->into->invalid = true;
        return failed(cudaErrorStreamCaptureUnsupported);
    }
    run_until(stream, stream->submitted);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (cudaError_t unsafe = forbidden_in_capture()) return unsafe;
    finish_all();
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned) {
    if (cudaError_t lost = unusable()) return lost;
    *out = new emulated_event{};
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) {
    if (cudaError_t lost = unusable()) return lost;
    return cudaEventCreateWithFlags(out, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (cudaError_t lost = unusable()) return lost;
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t at) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    cudaStream_t stream = known(at);
    event->into = stream->into;
    event->stream = stream;
    if (stream->into) {
        stream->to_join = false;
        return cudaSuccess;
    }
    auto ms = std::make_shared<double>(0);
    event->ms = ms;
    event->number = add(stream, [ms] { *ms = now_ms(); });
    if (is_eager()) run_until(stream, event->number);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (event->into) return failed(cudaErrorIllegalState);
    if (event->stream && streams.count(event->stream)) run_until(event->stream, event->number);
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t stop) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (!start->ms || !stop->ms || *start->ms == 0 || *stop->ms == 0)
        return failed(cudaErrorInvalidValue);
    *ms = (float)(*stop->ms - *start->ms);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t at, cudaEvent_t event, unsigned) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    cudaStream_t stream = known(at), other = event->stream;
    const uint64_t number = event->number;
    if (event->into) {
        if (stream->into && stream->into != event->into) return failed(cudaErrorIllegalState);
        if (stream->waiting.size()) run_until(stream, stream->submitted);
        stream->into = event->into;
        return cudaSuccess;
    }
    if (stream->into && other) { /* what is outside a graph cannot be waited for inside */
        stream->into->invalid = true;
        return failed(cudaErrorIllegalState);
    }
    if (!other || other == stream) return cudaSuccess;
    return submit(stream, [other, number] {
        if (streams.count(other)) run_until(other, number);
    });
}

/* ---- graphs --------------------------------------------------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t at, cudaStreamCaptureMode) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    cudaStream_t stream = known(at);
    if (stream == &default_stream || stream->into) return failed(cudaErrorStreamCaptureUnsupported);
    stream->into = mine = std::make_shared<capture>();
    stream->into->origin = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t at, cudaGraph_t *out) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    cudaStream_t stream = known(at);
    std::shared_ptr<capture> ended = stream->into;
    bool is_joined = true;
    *out = NULL;
    mine = NULL;
    if (!ended || ended->origin != stream) return failed(cudaErrorIllegalState);
    for (cudaStream_t other : streams) {
        if (other->into != ended) continue;
        is_joined = is_joined && (other == stream || !other->to_join);
        other->into = NULL, other->to_join = false;
    }
    if (ended->invalid) return failed(cudaErrorStreamCaptureInvalidated);
    if (!is_joined) return failed(cudaErrorStreamCaptureUnjoined);
    *out = new emulated_graph(ended->graph);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long) {
    if (cudaError_t lost = unusable()) return lost;
    *out = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
    if (cudaError_t lost = unusable()) return lost;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    if (cudaError_t lost = unusable()) return lost;
    return submit(stream, [steps = graph->steps] {
        for (const work &step : steps) step();
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    if (cudaError_t lost = unusable()) return lost;
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    if (cudaError_t lost = unusable()) return lost;
    delete graph;
    return cudaSuccess;
}

/* ---- the device: the least that runs all code of ours --------------------------------------- */

cudaError_t cudaGetLastError() {
    const cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error) {
    static const char *const texts[] = {"no error",
                                        "invalid argument",
                                        "out of memory",
                                        "invalid configuration argument",
                                        "invalid device ordinal",
                                        "initialization error",
                                        "operation not permitted when stream is capturing",
                                        "operation failed due to a previous error during capture",
                                        "capture was not joined to the original stream",
                                        "the operation cannot be performed in the present state"};
    return texts[error];
}

cudaError_t cudaGetDeviceCount(int *count) {
    if (cudaError_t lost = unusable()) return lost;
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    if (cudaError_t lost = unusable()) return lost;
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (cudaError_t lost = unusable()) return lost;
    return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int) {
    if (cudaError_t lost = unusable()) return lost;
    switch (which) {
    case cudaDevAttrClockRate: *value = 1000000; break; /* kHz */
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrEccEnabled: *value = 1; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 128; break;
    case cudaDevAttrL2CacheSize: *value = 1 << 18; break;
    case cudaDevAttrMaxPitch: *value = INT32_MAX; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = MOST_SHARED; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = MOST_SHARED; break;
    case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrMultiProcessorCount: *value = 4; break;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int) {
    if (cudaError_t lost = unusable()) return lost;
    snprintf(out, (size_t)size, "none");
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int) {
    if (cudaError_t lost = unusable()) return lost;
    snprintf(out->name, sizeof out->name, "emulated");
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *out) {
    if (cudaError_t lost = unusable()) return lost;
    *out = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *out) {
    if (cudaError_t lost = unusable()) return lost;
    *out = 13000;
    return cudaSuccess;
}
