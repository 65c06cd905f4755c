/* csr5_avx512.h: tiles of 8 or 16 lanes with AVX-512: vectors of eight numbers. */
#pragma once

#include "csr5.h"

#ifdef __x86_64__
#define LANES 8
#define NAME(n) n##_avx512
#define ISA AVX512
#define ISA_INLINE AVX512_INLINE
typedef real lanes_avx512 __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real))));
typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) whole_avx512;
typedef whole_avx512 mask_avx512 __attribute__((vector_size(LANES * sizeof(real))));

AVX512_INLINE lanes_avx512 gather_avx512(const real *x, const idx *col, bool instruction) {
    lanes_avx512 out;
    if (!instruction)
        return (lanes_avx512){x[col[0]], x[col[1]], x[col[2]], x[col[3]],
                              x[col[4]], x[col[5]], x[col[6]], x[col[7]]};
    const __m256i places = _mm256_loadu_si256((const void *)col);
    if (sizeof(real) == sizeof(double)) {
        const __m512d found = _mm512_i32gather_pd(places, x, 8);
        memcpy(&out, &found, sizeof out);
    } else {
        const __m256 found = _mm256_i32gather_ps((const float *)(const void *)x, places, 4);
        memcpy(&out, &found, sizeof out);
    }
    return out;
}

AVX512_INLINE uint32_t flags_at_avx512(const uint32_t *desc, int j) {
    return _mm256_test_epi32_mask(_mm256_loadu_si256((const void *)desc),
                                  _mm256_set1_epi32((int32_t)(1u << j)));
}

#include "csr5_lanes.h"
#endif
