/* cache_policy.cuh: how a product reads the matrix, each entry once, and which part of the matrix
 * the L2 cache keeps for the next product.
 *
 * If matrix, x and y fill a small part of the cache, the matrix is read normally: it replaces data
 * of earlier kernels, and the next product finds it. Of a larger matrix only some lines, the fewer
 * the larger it is, are read like that, chosen by the GPU by address. All other lines are marked
 * evict-first, so that they displace neither these nor x. On an H200, for 31 matrices of 9 to 54
 * MB, consecutive products take 7 to 20 % less time than with all lines evict-first, in f32 11 to
 * 25 %; a single product takes as long (docs/notebook/experiments.md).
 *
 * A policy is a kernel argument, because making it in the kernel would take registers. */
#pragma once

#include "device.cuh"
#include <nv/target>

/* Returns the policy for a plan: all lines stay if matrix, x and y fill at most the share KEPT of
 * the cache; none if they fill the whole cache or its size is unknown; in between a fraction. */
static inline cache_policy policy_for(const spmv_plan *p) {
    const double KEPT = 0.3; /* the rest is for the caller's other kernels */
    const cuda_state *s = (const cuda_state *)p->device->state;
    const double cache = (double)s->l2;
    const double bytes =
        (double)p->traffic_bytes + (double)(p->host->rows + p->host->cols) * sizeof(real);
    const double share = cache > 0 ? (cache - bytes) / ((1 - KEPT) * cache) : 0;
    const int most = CACHE_POLICIES - 1;
    return s->policy[share >= 1 ? most : share <= 0 ? 0 : (int)(share * most + 0.5)];
}

/* An unsigned type of BYTES bytes. */
template <size_t BYTES> struct as_word;
template <> struct as_word<1> { typedef uint8_t type; };
template <> struct as_word<2> { typedef uint16_t type; };
template <> struct as_word<4> { typedef uint32_t type; };
template <> struct as_word<8> { typedef uint64_t type; };
template <> struct as_word<16> { typedef uint4 type; };

static __device__ __forceinline__ void load_word(const uint8_t *at, cache_policy p, uint8_t *out) {
    unsigned word;
    asm("ld.global.L1::evict_first.L2::cache_hint.u8 %0, [%1], %2;" : "=r"(word) : "l"(at), "l"(p));
    *out = (uint8_t)word;
}
static __device__ __forceinline__ void load_word(const uint16_t *at, cache_policy p,
                                                 uint16_t *out) {
    asm("ld.global.L1::evict_first.L2::cache_hint.u16 %0, [%1], %2;"
        : "=h"(*out)
        : "l"(at), "l"(p));
}
static __device__ __forceinline__ void load_word(const uint32_t *at, cache_policy p,
                                                 uint32_t *out) {
    asm("ld.global.L1::evict_first.L2::cache_hint.b32 %0, [%1], %2;"
        : "=r"(*out)
        : "l"(at), "l"(p));
}
static __device__ __forceinline__ void load_word(const uint64_t *at, cache_policy p,
                                                 uint64_t *out) {
    asm("ld.global.L1::evict_first.L2::cache_hint.b64 %0, [%1], %2;"
        : "=l"(*out)
        : "l"(at), "l"(p));
}
static __device__ __forceinline__ void load_word(const uint4 *at, cache_policy p, uint4 *out) {
    asm("ld.global.L1::evict_first.L2::cache_hint.v4.b32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(out->x), "=r"(out->y), "=r"(out->z), "=r"(out->w)
        : "l"(at), "l"(p));
}

/* Loads data that the product reads once and no kernel writes meanwhile. The line is also the first
 * to leave the L1 cache, as with __ldcs. */
template <class T> static __device__ __forceinline__ T load_once(const T *at, cache_policy policy) {
    T value;
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_80,
                      (typedef typename as_word<sizeof(T)>::type word; word loaded;
                       load_word((const word *)at, policy, &loaded);
                       memcpy(&value, &loaded, sizeof value);),
                      (value = __ldcs(at);))
    return value;
}
