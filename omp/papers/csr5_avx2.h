/* csr5_avx2.h: tiles of 4 or 8 lanes with AVX2: vectors of four numbers. */
#pragma once

#include "csr5.h"

#ifdef __x86_64__
#define LANES 4
#define NAME(n) n##_avx2
#define ISA AVX2
#define ISA_INLINE AVX2_INLINE
typedef real lanes_avx2 __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real))));
typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) whole_avx2;
typedef whole_avx2 mask_avx2 __attribute__((vector_size(LANES * sizeof(real))));

AVX2_INLINE lanes_avx2 gather_avx2(const real *x, const idx *col, bool instruction) {
    lanes_avx2 out;
    if (!instruction) return (lanes_avx2){x[col[0]], x[col[1]], x[col[2]], x[col[3]]};
    const __m128i places = _mm_loadu_si128((const void *)col);
    if (sizeof(real) == sizeof(double)) {
        const __m256d found = _mm256_i32gather_pd((const double *)(const void *)x, places, 8);
        memcpy(&out, &found, sizeof out);
    } else {
        const __m128 found = _mm_i32gather_ps((const float *)(const void *)x, places, 4);
        memcpy(&out, &found, sizeof out);
    }
    return out;
}

AVX2_INLINE uint32_t flags_at_avx2(const uint32_t *desc, int j) {
    const __m128i all = _mm_loadu_si128((const void *)desc);
    const __m128i signs = _mm_sll_epi32(all, _mm_cvtsi32_si128(31 - j));
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(signs));
}

#include "csr5_lanes.h"
#endif
