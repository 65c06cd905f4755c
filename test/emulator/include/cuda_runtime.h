/* cuda_runtime.h of the emulator: the part of CUDA's runtime that this project calls, and the
 * launch of kernels. Names and semantics are CUDA's; the values of constants are not. */
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include "emulated_device.h"
#include <functional>
#include <utility>

#define __CUDA_ARCH_LIST__ 800 /* kernels do not overlap here, as on sm_80 */

typedef enum cudaError {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorInvalidConfiguration,
    cudaErrorInvalidDevice,
    cudaErrorInitializationError,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorStreamCaptureInvalidated,
    cudaErrorStreamCaptureUnjoined,
    cudaErrorIllegalState
} cudaError_t;
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
typedef struct emulated_graph *cudaGraph_t, *cudaGraphExec_t;
typedef struct emulated_pool *cudaMemPool_t;

enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum { cudaHostAllocDefault, cudaHostRegisterDefault = 0 };
typedef enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
} cudaMemcpyKind;
typedef enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal
} cudaStreamCaptureMode;
typedef enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize,
    cudaFuncAttributePreferredSharedMemoryCarveout
} cudaFuncAttribute;
typedef enum cudaDeviceAttr {
    cudaDevAttrClockRate,
    cudaDevAttrComputeCapabilityMajor,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrEccEnabled,
    cudaDevAttrGlobalMemoryBusWidth,
    cudaDevAttrL2CacheSize,
    cudaDevAttrMaxPitch,
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor,
    cudaDevAttrMemoryClockRate,
    cudaDevAttrMemoryPoolsSupported,
    cudaDevAttrMultiProcessorCount
} cudaDeviceAttr;
typedef enum cudaMemPoolAttr {
    cudaMemPoolAttrReleaseThreshold,
    cudaMemPoolAttrReservedMemCurrent,
    cudaMemPoolAttrUsedMemCurrent
} cudaMemPoolAttr;
typedef enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
} cudaMemoryType;
enum { cudaMemAllocationTypePinned = 1, cudaMemLocationTypeDevice = 1 };

typedef struct cudaDeviceProp {
    char name[256];
} cudaDeviceProp;
typedef struct cudaFuncAttributes {
    size_t sharedSizeBytes;
    int binaryVersion;
} cudaFuncAttributes;
typedef struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
} cudaPointerAttributes;
typedef struct cudaMemPoolProps {
    int allocType;
    struct {
        int type, id;
    } location;
} cudaMemPoolProps;

typedef enum cudaLaunchAttributeID {
    cudaLaunchAttributeProgrammaticStreamSerialization = 1
} cudaLaunchAttributeID;
typedef struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        int programmaticStreamSerializationAllowed;
    } val;
} cudaLaunchAttribute;
typedef struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

extern "C" {
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out, int device);
cudaError_t cudaDriverGetVersion(int *out);
cudaError_t cudaRuntimeGetVersion(int *out);

cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaFree(void *memory);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *memory);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const cudaMemPoolProps *what);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemset(void *memory, int byte, size_t bytes);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t *out);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t stop);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphUpload(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **arguments);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = NULL);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = NULL);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = NULL);
cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes, cudaStream_t stream = NULL);

namespace emulated {
/* Fails in a process that was forked after its parent had made a call, like CUDA's driver. Every
 * function that returns an error calls it first, except cudaGetLastError. */
cudaError_t unusable();
cudaError_t allocate(void **out, size_t bytes);
cudaError_t allocate_pitch(void **out, size_t *pitch, size_t width, size_t height);
cudaError_t allocate_host(void **out, size_t bytes);
cudaError_t allocate_managed(void **out, size_t bytes);
cudaError_t allocate_from_pool(void **out, size_t bytes, cudaMemPool_t pool);

/* Appends work to a stream. */
cudaError_t submit(cudaStream_t stream, std::function<void()> work);

struct launch {
    const char *name; /* name of the kernel, or of the place where its address was taken */
    const void *kernel;
    dim3 grid, block;
    size_t shared = 0; /* bytes */
    cudaStream_t stream = NULL;
    bool overlaps = false; /* may begin before the previous kernel has ended */
};
/* Checks the configuration and submits the kernel. body: work of one thread. */
cudaError_t submit_kernel(const launch &what, std::function<void()> body);

/* A kernel's address as a const void * is erase{...}->*kernel, which also registers how to call the
 * kernel for cudaLaunchKernel, which gets only the addresses of the arguments. */
typedef std::function<std::function<void()>(void **arguments)> binder;
void note_kernel(const void *kernel, const char *name, binder bind);
cudaError_t allow_shared(const void *kernel, int bytes);

/* Files compiled for several precisions have different types of the same name, so that objects of
 * these types must not be shared between files. */
namespace {
template <class... P> struct configured {
    void (*kernel)(P...);
    launch what;
    void operator()(P... arguments) const {
        static_assert((sizeof(P) + ... + 0) <= 4096, "a kernel's arguments have at most 4 KB");
        submit_kernel(what, [kernel = kernel, arguments...] { kernel(arguments...); });
    }
};
/* kernel<<<grid, block, shared, stream>>> is translated to configure("kernel", kernel, grid, block,
 * shared, stream). */
template <class... P>
configured<P...> configure(const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
                           size_t shared = 0, cudaStream_t stream = NULL) {
    return {kernel, {name, (const void *)kernel, grid, block, shared, stream}};
}

struct erase {
    const char *file;
    int line;
};
template <class... P, size_t... I>
std::function<void()> bound(void (*kernel)(P...), void **arguments, std::index_sequence<I...>) {
    return [kernel, ... values = *(P *)arguments[I]] { kernel(values...); };
}
template <class... P> const void *operator->*(erase at, void (*kernel)(P...)) {
    char name[256];
    snprintf(name, sizeof name, "kernel of %s:%d", at.file, at.line);
    note_kernel((const void *)kernel, name, [kernel](void **arguments) {
        return bound(kernel, arguments, std::index_sequence_for<P...>());
    });
    return (const void *)kernel;
}
template <class T> const void *operator->*(erase, T *data) {
    return (const void *)data;
}
} // namespace
} // namespace emulated

template <class T> cudaError_t cudaMalloc(T **out, size_t bytes) {
    return emulated::allocate((void **)out, bytes);
}
template <class T>
cudaError_t cudaMallocPitch(T **out, size_t *pitch, size_t width, size_t height) {
    return emulated::allocate_pitch((void **)out, pitch, width, height);
}
template <class T> cudaError_t cudaMallocManaged(T **out, size_t bytes) {
    return emulated::allocate_managed((void **)out, bytes);
}
template <class T> cudaError_t cudaHostAlloc(T **out, size_t bytes, unsigned) {
    return emulated::allocate_host((void **)out, bytes);
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T **out, size_t bytes, cudaMemPool_t pool, cudaStream_t) {
    return emulated::allocate_from_pool((void **)out, bytes, pool);
}
template <class F> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, F *) {
    *out = {};
    return emulated::unusable();
}
template <class F> cudaError_t cudaFuncSetAttribute(F *kernel, cudaFuncAttribute which, int value) {
    if (cudaError_t lost = emulated::unusable()) return lost;
    if (which == cudaFuncAttributePreferredSharedMemoryCarveout)
        return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
    return emulated::allow_shared((const void *)kernel, value);
}
static inline cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                                           void **arguments, size_t shared, cudaStream_t stream) {
    cudaLaunchConfig_t config = {grid, block, shared, stream, NULL, 0};
    return cudaLaunchKernelExC(&config, kernel, arguments);
}
#endif
