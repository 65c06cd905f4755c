/* isa.h: vector instructions, chosen at run time: a binary uses the best of the CPU on which it
 * runs. Code for an instruction set is in functions marked AVX2 or AVX512, in one #ifdef __x86_64__
 * per file; all else is portable C. */
#pragma once

#include "spmv_kernel.h"

enum isa { ISA_BEST, ISA_PORTABLE, ISA_AVX2, ISA_AVX512 }; /* values of the parameter isa */

#ifdef __x86_64__
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2,fma,bmi,bmi2,popcnt")))
#define AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt")))
/* For functions called in inner loops; inlined without optimization, too. */
#define AVX2_INLINE static inline AVX2 __attribute__((always_inline))
#define AVX512_INLINE static inline AVX512 __attribute__((always_inline))

static inline int64_t isa_of_cpu(void) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2"))
        return ISA_PORTABLE;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
               ? ISA_AVX512
               : ISA_AVX2;
}
#else
static inline int64_t isa_of_cpu(void) {
    return ISA_PORTABLE;
}
#endif

/* Called by prepare: sets the plan's isa to the one that will be used. */
static inline spmv_status choose_isa(spmv_plan *p) {
    static const char *const names[] = {"", "", "AVX2", "AVX-512"};
    int64_t *isa = &p->choice.value[SPMV_isa], best = isa_of_cpu();
    if (*isa > best)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "this CPU has no %s: isa 0 takes the best it has", names[*isa]);
    if (*isa == ISA_BEST) *isa = best;
    return SPMV_OK;
}

/* Prefetches `bytes` bytes ahead. The hardware prefetcher stops at the end of each page; streams
 * from memory to vector registers are up to a quarter faster if they are prefetched half a page or
 * a page ahead. Prefetching beyond an array is harmless. */
enum { HALF_PAGE = 2048, PAGE = 4096 };
static inline __attribute__((always_inline)) void prefetch_ahead(const void *from,
                                                                 uintptr_t bytes) {
    __builtin_prefetch((const void *)((uintptr_t)from + bytes));
}

/* Returns whether the gather instruction of an instruction set (ISA_AVX2, ISA_AVX512) is faster
 * than loads from the L1 cache; measured at the first call, about 1 ms (gather.c). */
bool spmv_gather_pays(int64_t isa);

#define PARAM_ISA \
    { SPMV_isa, ISA_BEST, ISA_BEST, ISA_AVX512, 1, false }
