/* masked.h: vectors of 16, 32 and 64 bytes of reals that may be partial: loads, stores and
 * selection for AVX2 and AVX-512, and non-temporal stores. */
#pragma once

#include "omp/isa.h"
#include "omp/kernel.h"

#ifdef __x86_64__
typedef real vec128 __attribute__((vector_size(16), aligned(sizeof(real))));
typedef real vec256 __attribute__((vector_size(32), aligned(sizeof(real))));
typedef real vec512 __attribute__((vector_size(64), aligned(sizeof(real))));

/* load and put transfer the first `there` elements, or all if whole; missing elements are 0 and not
 * written. chosen returns its first vector or the second, without a branch. */
AVX2_INLINE vec128 load_128_avx2(const bool whole, int there, const real *from) {
    if (whole) return *(const vec128 *)from;
    if (sizeof(real) == sizeof(double)) {
        const __m128i mask = _mm_cmpgt_epi64(_mm_set1_epi64x(there), _mm_set_epi64x(1, 0));
        return (vec128)_mm_maskload_pd((const double *)(const void *)from, mask);
    }
    const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32(there), _mm_set_epi32(3, 2, 1, 0));
    return (vec128)_mm_maskload_ps((const float *)(const void *)from, mask);
}

AVX2_INLINE vec256 load_256_avx2(const bool whole, int there, const real *from) {
    if (whole) return *(const vec256 *)from;
    if (sizeof(real) == sizeof(double)) {
        const __m256i mask =
            _mm256_cmpgt_epi64(_mm256_set1_epi64x(there), _mm256_set_epi64x(3, 2, 1, 0));
        return (vec256)_mm256_maskload_pd((const double *)(const void *)from, mask);
    }
    const __m256i mask =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(there), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    return (vec256)_mm256_maskload_ps((const float *)(const void *)from, mask);
}

/* Elements are stored one by one, because AVX2's masked store may take tens of cycles. */
#define PUT_AND_CHOOSE_AVX2(width, blend) \
    AVX2_INLINE void put_##width##_avx2(const bool whole, int there, real *to, vec##width v) { \
        real numbers[sizeof v / sizeof(real)]; \
        if (whole) { \
            *(vec##width *)to = v; \
            return; \
        } \
        memcpy(numbers, &v, sizeof v); \
        for (int c = 0; c < there; c++) to[c] = numbers[c]; \
    } \
    AVX2_INLINE vec##width chosen_##width##_avx2(bool first, vec##width a, vec##width b) { \
        typedef int64_t bits __attribute__((vector_size(width / 8))); \
        const bits mask = (bits){0} - (int64_t)first; \
        return (vec##width)blend((__m##width##d)b, (__m##width##d)a, (__m##width##d)mask); \
    }
PUT_AND_CHOOSE_AVX2(128, _mm_blendv_pd)
PUT_AND_CHOOSE_AVX2(256, _mm256_blendv_pd)

/* AVX-512 masks cost nothing, for vectors of every width. */
#define LOAD_PUT_CHOOSE_AVX512(width, prefix, mask_of_floats) \
    AVX512_INLINE vec##width load_##width##_avx512(const bool whole, int there, \
                                                   const real *from) { \
        const unsigned mask = (1U << there) - 1; \
        if (whole) return *(const vec##width *)from; \
        return sizeof(real) == sizeof(double) \
                   ? (vec##width)prefix##_maskz_loadu_pd((__mmask8)mask, from) \
                   : (vec##width)prefix##_maskz_loadu_ps((mask_of_floats)mask, from); \
    } \
    AVX512_INLINE void put_##width##_avx512(const bool whole, int there, real *to, vec##width v) { \
        const unsigned mask = (1U << there) - 1; \
        if (whole) \
            *(vec##width *)to = v; \
        else if (sizeof(real) == sizeof(double)) \
            prefix##_mask_storeu_pd(to, (__mmask8)mask, (__m##width##d)v); \
        else \
            prefix##_mask_storeu_ps(to, (mask_of_floats)mask, (__m##width)v); \
    } \
    AVX512_INLINE vec##width chosen_##width##_avx512(bool first, vec##width a, vec##width b) { \
        return (vec##width)prefix##_mask_mov_pd((__m##width##d)b, (__mmask8)(0 - first), \
                                                (__m##width##d)a); \
    }
LOAD_PUT_CHOOSE_AVX512(128, _mm, __mmask8)
LOAD_PUT_CHOOSE_AVX512(256, _mm256, __mmask8)
LOAD_PUT_CHOOSE_AVX512(512, _mm512, __mmask16)

AVX2_INLINE void stream_128(real *to, vec128 v) {
    _mm_stream_si128((__m128i *)(void *)to, (__m128i)v);
}
AVX2_INLINE void stream_256(real *to, vec256 v) {
    _mm256_stream_si256((__m256i *)(void *)to, (__m256i)v);
}
AVX512_INLINE void stream_512(real *to, vec512 v) {
    _mm512_stream_si512((void *)to, (__m512i)v);
}
#endif
