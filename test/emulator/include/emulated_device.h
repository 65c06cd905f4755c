/* emulated_device.h: CUDA C++'s functions and variables for kernels. A thread is a fiber; the
 * fibers of a warp synchronize in CUDA's *_sync functions (block.cpp). */
#ifndef EMULATED_DEVICE_H
#define EMULATED_DEVICE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : x(nx), y(ny), z(nz) {
    }
};
struct alignas(2) uchar2 {
    unsigned char x, y;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
static inline double2 make_double2(double x, double y) {
    return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
enum { warpSize = 32 };

namespace emulated {
struct where { /* position in the source */
    const char *file;
    int line;
};
enum meeting { SYNCWARP, SHUFFLE, BALLOT, MATCH, ADD };
/* Waits until every lane of the mask that has not ended is here. Returns the lane's result.
 * SHUFFLE: the value of lane `source`; BALLOT: mask of the lanes with a nonzero value; MATCH: mask
 * of the lanes with the same value; ADD: the sum. */
uint64_t meet(meeting kind, unsigned mask, uint64_t value, int source, where at);
int meet_block(int predicate, where at); /* returns the number of threads with a nonzero
                                            predicate */
int lane_of_thread();
void *dynamic_shared();
/* Fills a variable in shared memory with uninitialised data, once per block. */
void fresh(void *variable, size_t bytes, unsigned *block);
long long clock();
extern unsigned char shared_base[]; /* base of 32-bit shared addresses */
static inline void *shared_at(unsigned address) {
    return shared_base + (int)address;
}

template <class T> static uint64_t bits(T value) {
    static_assert(sizeof(T) <= 8, "a lane has 64 bits to give");
    uint64_t all = 0;
    memcpy(&all, &value, sizeof value);
    return all;
}
template <class T> static T from_bits(uint64_t all) {
    T value;
    memcpy(&value, &all, sizeof value);
    return value;
}
template <class T> static T shuffle(unsigned mask, T value, int source, where at) {
    return from_bits<T>(meet(SHUFFLE, mask, bits(value), source, at));
}
} // namespace emulated
#define EMULATED_AT emulated::where at = {__builtin_FILE(), __builtin_LINE()}

/* ---- threads that meet ----------------------------------------------------------------------- */

static inline void __syncthreads(EMULATED_AT) {
    emulated::meet_block(0, at);
}
static inline int __syncthreads_count(int predicate, EMULATED_AT) {
    return emulated::meet_block(predicate, at);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATED_AT) {
    emulated::meet(emulated::SYNCWARP, mask, 0, 0, at);
}
/* CUDA may return any set of lanes that contains the caller: this one is the smallest. */
static inline unsigned __activemask() {
    return 1u << emulated::lane_of_thread();
}
template <class T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, EMULATED_AT) {
    int first = emulated::lane_of_thread() / width * width;
    return emulated::shuffle(mask, value, first + (source & (width - 1)), at);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned step, int width = 32, EMULATED_AT) {
    int lane = emulated::lane_of_thread(), source = lane - (int)step;
    return emulated::shuffle(mask, value, source < lane / width * width ? lane : source, at);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned step, int width = 32,
                                 EMULATED_AT) {
    int lane = emulated::lane_of_thread(), source = lane + (int)step;
    return emulated::shuffle(mask, value, source / width != lane / width ? lane : source, at);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, EMULATED_AT) {
    int lane = emulated::lane_of_thread(), source = lane ^ bits;
    return emulated::shuffle(mask, value, source / width > lane / width ? lane : source, at);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATED_AT) {
    return (unsigned)emulated::meet(emulated::BALLOT, mask, predicate != 0, 0, at);
}
static inline int __any_sync(unsigned mask, int predicate, EMULATED_AT) {
    return __ballot_sync(mask, predicate, at) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, EMULATED_AT) {
    return __ballot_sync(mask, !predicate, at) == 0;
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T value, EMULATED_AT) {
    return (unsigned)emulated::meet(emulated::MATCH, mask, emulated::bits(value), 0, at);
}
static inline unsigned __reduce_add_sync(unsigned mask, unsigned value, EMULATED_AT) {
    return (unsigned)emulated::meet(emulated::ADD, mask, value, 0, at);
}

/* ---- memory: one fiber at a time runs, and stops only where threads meet --------------------- */

static inline void __threadfence() {
}
template <class T> static inline T __ldg(const T *at) {
    return *at;
}
template <class T> static inline T __ldcs(const T *at) {
    return *at;
}
template <class T> static inline T __ldcg(const T *at) {
    return *at;
}
/* CUDA defines atomics for these types, and no others. */
#define EMULATED_ATOMIC(name, T, result) \
    static inline T name(T *at, T value) { \
        T before = *at; \
        *at = result; \
        return before; \
    }
#define EMULATED_ATOMICS(T) \
    EMULATED_ATOMIC(atomicAdd, T, before + value) \
    EMULATED_ATOMIC(atomicMax, T, before > value ? before : value) \
    EMULATED_ATOMIC(atomicMin, T, before < value ? before : value) \
    EMULATED_ATOMIC(atomicOr, T, before | value) \
    EMULATED_ATOMIC(atomicExch, T, value) \
    static inline T atomicCAS(T *at, T expected, T value) { \
        T before = *at; \
        if (before == expected) *at = value; \
        return before; \
    }
EMULATED_ATOMICS(int)
EMULATED_ATOMICS(unsigned)
EMULATED_ATOMICS(unsigned long long)
EMULATED_ATOMIC(atomicMax, long long, before > value ? before : value)
EMULATED_ATOMIC(atomicAdd, float, before + value)
EMULATED_ATOMIC(atomicAdd, double, before + value)
static inline size_t __cvta_generic_to_shared(const void *at) {
    return (unsigned)((const unsigned char *)at - emulated::shared_base);
}
static inline long long clock64() {
    return emulated::clock();
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

template <class A, class B> static inline typename std::common_type<A, B>::type min(A a, B b) {
    typedef typename std::common_type<A, B>::type T;
    return (T)b < (T)a ? (T)b : (T)a;
}
template <class A, class B> static inline typename std::common_type<A, B>::type max(A a, B b) {
    typedef typename std::common_type<A, B>::type T;
    return (T)a < (T)b ? (T)b : (T)a;
}
static inline int __popc(unsigned v) {
    return __builtin_popcount(v);
}
static inline int __clz(int v) {
    return v ? __builtin_clz((unsigned)v) : 32;
}
static inline int __ffs(int v) {
    return __builtin_ffs(v);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline long long __double_as_longlong(double v) {
    return emulated::from_bits<long long>(emulated::bits(v));
}
static inline unsigned __float_as_uint(float v) {
    return emulated::from_bits<unsigned>(emulated::bits(v));
}

/* ---- assembly: asm("ld.shared.f64 ...") is ld_shared(...): compile.py ----------------------- */

namespace emulated {
template <class T> static void ld_shared(T &out, unsigned at) {
    memcpy(&out, shared_at(at), sizeof out);
}
template <class T> static void setp_ne_fma_rn(T &sum, T a, T b, unsigned wanted) {
    if (wanted) sum = fma(a, b, sum);
}
static inline void prefetch_global(const void *) {
}
/* Caches are not emulated: all policies are equal, and a load with a policy must get one. */
static const uint64_t A_POLICY = 0x9e3779b97f4a7c15;
static inline void createpolicy_fractional(uint64_t &policy, float share) {
    if (!(share > 0 && share <= 1)) abort();
    policy = A_POLICY;
}
template <class OUT, class T> static inline void ld_global(OUT &out, const T *at, uint64_t policy) {
    if (policy != A_POLICY) abort();
    out = *at;
}
static inline void ld_global(unsigned &x, unsigned &y, unsigned &z, unsigned &w, const uint4 *at,
                             uint64_t policy) {
    if (policy != A_POLICY) abort();
    x = at->x, y = at->y, z = at->z, w = at->w;
}
static inline void cp_async(uintptr_t, unsigned) {
}
static inline void atom_release(int &before, int *at) {
    before = atomicAdd(at, 1);
}
void griddepcontrol_launch_dependents();
void griddepcontrol_wait();
/* D = A B + C with A 8 x 4, B 4 x 8 by mma.sync.m8n8k4 of f64. A lane has A[lane / 4][lane % 4],
 * B[lane % 4][lane / 4] and C[lane / 4][2 (lane % 4) + 0 or 1]. */
static inline void mma_sync(double &c0, double &c1, double a, double b, EMULATED_AT) {
    const int row = lane_of_thread() / 4, col = lane_of_thread() % 4 * 2;
    for (int k = 0; k < 4; k++) {
        const double from_a = shuffle(0xffffffffu, a, 4 * row + k, at);
        c0 = fma(from_a, shuffle(0xffffffffu, b, 4 * col + k, at), c0);
        c1 = fma(from_a, shuffle(0xffffffffu, b, 4 * (col + 1) + k, at), c1);
    }
}
/* A barrier in shared memory, and a copy that signals it. Nothing is copied before a thread
 * waits. */
void mbarrier_init_fence_mbarrier_init(unsigned barrier);
void fence_proxy_mbarrier_arrive_cp_async(unsigned barrier, unsigned bytes, unsigned to,
                                          const void *from);
void mbarrier_try_wait_selp_u32(unsigned &done, unsigned barrier);
} // namespace emulated
#endif
