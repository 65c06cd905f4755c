/* isa.h: which vector instructions a kernel may use, decided at run time: one binary, whatever it
 * was built for, takes the best of the CPU it runs on. Code for one instruction set stands in
 * functions marked AVX2 or AVX512, in one #ifdef __x86_64__ a file; all else is portable C. */
#pragma once

#include "spmv_kernel.h"

enum isa { ISA_BEST, ISA_PORTABLE, ISA_AVX2, ISA_AVX512 }; /* values of the parameter isa */

#ifdef __x86_64__
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2,fma,bmi,bmi2,popcnt")))
#define AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,popcnt")))
/* Is for what is called in inner loops: without optimisation too. */
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

/* For prepare: makes the plan's isa what will be used. */
static inline spmv_status choose_isa(spmv_plan *p) {
    static const char *const names[] = {"", "", "AVX2", "AVX-512"};
    int64_t *isa = &p->choice.value[SPMV_isa], best = isa_of_cpu();
    if (*isa > best)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "this CPU has no %s: isa 0 takes the best it has", names[*isa]);
    if (*isa == ISA_BEST) *isa = best;
    return SPMV_OK;
}

/* A processor's own prefetching stops at the end of a page and begins anew: what streams from
 * memory through vector registers comes up to a quarter faster when it is asked for half a page or
 * a page ahead. What is behind the end of an array is asked for in vain, and no error. */
enum { HALF_PAGE = 2048, PAGE = 4096 };
static inline __attribute__((always_inline)) void ask_ahead(const void *from, uintptr_t bytes) {
    __builtin_prefetch((const void *)((uintptr_t)from + bytes));
}

/* gather.c: whether the CPU's gather instruction of that set (ISA_AVX2, ISA_AVX512) is faster than
 * as many loads from the nearest cache: measured when first asked, about a millisecond. */
bool spmv_gather_pays(int64_t isa);

#define PARAM_ISA \
    { SPMV_isa, ISA_BEST, ISA_BEST, ISA_AVX512, 1, false }
