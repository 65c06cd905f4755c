/* memory.cpp: device memory. Arrays of up to LARGE bytes are in one range of addresses that is
 * accessible only in kernels and copies: other accesses by the host are stopped. Larger arrays
 * stay accessible, because changing the protection of their pages takes too long. */
#include "emulator.h"
#include "state.h"
#include <map>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(at, bytes) __asan_poison_memory_region(at, bytes)
#define ALLOW(at, bytes) __asan_unpoison_memory_region(at, bytes)
#else
#define FORBID(at, bytes) ((void)(at), (void)(bytes))
#define ALLOW(at, bytes) ((void)(at), (void)(bytes))
#endif

struct emulated_pool {
    size_t used, reserved;
};

namespace emulated {
enum { PAGE = 4096 };
static const size_t DEVICE_BYTES = (size_t)8 << 30;
static const size_t LARGE = (size_t)1 << 18; /* bytes, including the page behind an array */
/* Maximum bytes of an array that are filled with uninitialised data: filling larger arrays takes
 * too long. */
static const size_t MOST_RUBBISH = (size_t)1 << 20;

struct area {
    size_t bytes;
    cudaMemoryType type;
    cudaMemPool_t pool;
};
static std::map<char *, area> areas;
static std::multimap<size_t, char *> unused; /* addresses of freed arrays, by size */
/* The first CLOSED bytes of the range are protected from the host; large arrays follow. */
static const size_t CLOSED = (size_t)1 << 36, RANGE = (size_t)1 << 41;
static char *range, *top, *large_top;
static size_t taken; /* bytes in arrays that belong to no pool */
static size_t reserved_by_pools;
static int opened;

static void touched(int, siginfo_t *about, void *) {
    char *at = (char *)about->si_addr;
    if (range && at >= range && at < range + RANGE)
        fprintf(stderr, "emulated GPU: the host reads or writes the device's memory at %p\n",
                (void *)at);
    signal(SIGSEGV, SIG_DFL); /* the instruction is tried again */
}

static void make_range() {
    struct sigaction action = {};
    void *at = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) stop("no range of addresses for the device's memory");
    range = top = (char *)at;
    large_top = range + CLOSED;
#ifndef __SANITIZE_ADDRESS__ /* it has its own report */
    action.sa_sigaction = touched;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
#endif
    (void)action, (void)touched;
}

static void protect(int how) {
    if (top > range && mprotect(range, (size_t)(top - range), how)) stop("mprotect failed");
}

device_open::device_open() {
    if (opened++ == 0) protect(PROT_READ | PROT_WRITE);
}

device_open::~device_open() {
    if (--opened == 0) protect(PROT_NONE);
}

static bool is_device(const void *memory) {
    return range && (const char *)memory >= range && (const char *)memory < range + RANGE;
}

static size_t in_pages(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static char *addresses(size_t bytes) {
    auto found = unused.find(bytes);
    if (found != unused.end()) {
        char *at = found->second;
        unused.erase(found);
        return at;
    }
    const bool is_large = bytes > LARGE;
    char *at = is_large ? large_top : top;
    (is_large ? large_top : top) += bytes;
    if (top > range + CLOSED || large_top > range + RANGE)
        stop("all addresses of the device are used up");
    if (mprotect(at, bytes, PROT_READ | PROT_WRITE)) stop("mprotect failed");
    return at;
}

/* Allocates an array, followed by an inaccessible page. */
static cudaError_t take(void **out, size_t bytes, cudaMemPool_t pool) {
    device_open open;
    *out = NULL;
    if (bytes == 0) return cudaSuccess;
    size_t available, total;
    available_bytes(&available, &total);
    if (pool) available += pool->reserved - pool->used;
    if (bytes > available) return cudaErrorMemoryAllocation;
    if (!range) make_range();
    const size_t whole = in_pages(bytes) + PAGE;
    char *at = addresses(whole);
    ALLOW(at, bytes);
    fill_with_rubbish(at, bytes < MOST_RUBBISH ? bytes : MOST_RUBBISH);
    FORBID(at + bytes, whole - bytes);
    areas[at] = {bytes, cudaMemoryTypeDevice, pool};
    if (pool) {
        pool->used += bytes;
        if (pool->used > pool->reserved)
            reserved_by_pools += pool->used - pool->reserved, pool->reserved = pool->used;
    } else {
        taken += bytes;
    }
    *out = at;
    return cudaSuccess;
}

void give_back(void *memory) {
    auto found = areas.find((char *)memory);
    if (found == areas.end()) stop("freed, but not allocated (or twice): %p", memory);
    const area a = found->second;
    areas.erase(found);
    if (a.type != cudaMemoryTypeDevice) {
        free(memory);
        return;
    }
    (a.pool ? a.pool->used : taken) -= a.bytes;
    if (a.bytes > MOST_RUBBISH) madvise(memory, in_pages(a.bytes), MADV_DONTNEED);
    unused.insert({in_pages(a.bytes) + PAGE, (char *)memory});
    FORBID(memory, a.bytes);
}

void available_bytes(size_t *available, size_t *total) {
    *total = DEVICE_BYTES;
    *available = DEVICE_BYTES - taken - reserved_by_pools;
}

cudaMemoryType type_of(const void *memory) {
    if (is_device(memory)) return cudaMemoryTypeDevice;
    auto after = areas.upper_bound((char *)memory);
    if (after == areas.begin()) return cudaMemoryTypeUnregistered;
    --after;
    return (const char *)memory < after->first + after->second.bytes ? after->second.type
                                                                     : cudaMemoryTypeUnregistered;
}

static cudaError_t take_on_host(void **out, size_t bytes, cudaMemoryType type) {
    *out = aligned_alloc(PAGE, in_pages(bytes));
    if (!*out) return cudaErrorMemoryAllocation;
    areas[(char *)*out] = {bytes, type, NULL};
    return cudaSuccess;
}

cudaError_t allocate(void **out, size_t bytes) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (cudaError_t unsafe = forbidden_in_capture()) return unsafe;
    return failed(take(out, bytes, NULL));
}

cudaError_t allocate_pitch(void **out, size_t *pitch, size_t width, size_t height) {
    if (cudaError_t lost = unusable()) return lost;
    *pitch = (width + 511) / 512 * 512;
    return allocate(out, *pitch * height);
}

cudaError_t allocate_host(void **out, size_t bytes) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (cudaError_t unsafe = forbidden_in_capture()) return unsafe;
    return failed(take_on_host(out, bytes, cudaMemoryTypeHost));
}

cudaError_t allocate_managed(void **out, size_t bytes) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    return failed(take_on_host(out, bytes, cudaMemoryTypeManaged));
}

cudaError_t allocate_from_pool(void **out, size_t bytes, cudaMemPool_t pool) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    return failed(take(out, bytes, pool));
}
} // namespace emulated

using namespace emulated;

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    available_bytes(available, total);
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (!memory) return cudaSuccess;
    if (cudaError_t unsafe = forbidden_in_capture()) return unsafe;
    finish_all();
    give_back(memory);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory) {
    if (cudaError_t lost = unusable()) return lost;
    return cudaFree(memory);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
    if (cudaError_t lost = unusable()) return lost;
    return submit(stream, [memory] { give_back(memory); });
}

cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    areas[(char *)memory] = {bytes, cudaMemoryTypeHost, NULL};
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    return failed(areas.erase((char *)memory) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *out, const void *memory) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    *out = {type_of(memory), 0};
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const cudaMemPoolProps *) {
    if (cudaError_t lost = unusable()) return lost;
    *out = new emulated_pool{};
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    if (pool->used) finish_all();
    if (pool->used) stop("a pool is destroyed of which %zu bytes are used", pool->used);
    reserved_by_pools -= pool->reserved;
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    const size_t least = pool->used > bytes ? pool->used : bytes;
    if (pool->reserved > least) reserved_by_pools -= pool->reserved - least, pool->reserved = least;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) {
    if (cudaError_t lost = unusable()) return lost;
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void *value) {
    if (cudaError_t lost = unusable()) return lost;
    locked now;
    *(uint64_t *)value = which == cudaMemPoolAttrUsedMemCurrent ? pool->used : pool->reserved;
    return cudaSuccess;
}
