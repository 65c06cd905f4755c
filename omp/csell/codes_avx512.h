/* codes_avx512.h: decodes columns and values of a csell matrix into AVX-512 registers: 32 rows are
 * four vectors of eight doubles, or two of sixteen floats. */
#pragma once

#include "csell.h"

#ifdef __x86_64__
enum { LANES_512 = 64 / sizeof(real), VECTORS_512 = CSELL_ROWS / LANES_512 };
typedef real vec512 __attribute__((vector_size(64)));

typedef struct codebook_512 { /* a codebook that fits into two registers */
    vec512 low, high;
} codebook_512;

AVX512_INLINE vec512 add_product_512(vec512 sum, vec512 a, vec512 b, __mmask16 mask) {
    return sizeof(real) == 8
               ? (vec512)_mm512_mask3_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)sum, (__mmask8)mask)
               : (vec512)_mm512_mask3_fmadd_ps((__m512)a, (__m512)b, (__m512)sum, mask);
}

AVX512_INLINE vec512 load_512(const real *from, __mmask16 mask) {
    return sizeof(real) == 8 ? (vec512)_mm512_maskz_loadu_pd((__mmask8)mask, from)
                             : (vec512)_mm512_maskz_loadu_ps(mask, from);
}

/* Returns x[at[l]] for every lane l, by scalar loads. */
AVX512_INLINE vec512 gather_512(const real *x, const int64_t *at) {
    if (sizeof(real) == 8)
        return (vec512)_mm512_set_pd((double)x[at[7]], (double)x[at[6]], (double)x[at[5]],
                                     (double)x[at[4]], (double)x[at[3]], (double)x[at[2]],
                                     (double)x[at[1]], (double)x[at[0]]);
    return (vec512)_mm512_set_ps(
        (float)x[at[15 % LANES_512]], (float)x[at[14 % LANES_512]], (float)x[at[13 % LANES_512]],
        (float)x[at[12 % LANES_512]], (float)x[at[11 % LANES_512]], (float)x[at[10 % LANES_512]],
        (float)x[at[9 % LANES_512]], (float)x[at[8 % LANES_512]], (float)x[at[7]], (float)x[at[6]],
        (float)x[at[5]], (float)x[at[4]], (float)x[at[3]], (float)x[at[2]], (float)x[at[1]],
        (float)x[at[0]]);
}

/* Loads the entries of x at LANES_512 column codes. */
AVX512_INLINE vec512 select_512(const real *x, const uint8_t *codes, int code) {
    int64_t at[LANES_512];
    for (int l = 0; l < LANES_512; l++) at[l] = distance(codes, code, l);
    return gather_512(x, at);
}

/* Loads sixteen packed codes. */
AVX512_INLINE __m512i load_codes_512(const uint8_t *codes, int code) {
    return code == CSELL_COLUMN_8 ? _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)codes))
           : code == CSELL_COLUMN_16
               ? _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)codes))
               : _mm512_loadu_si512(codes);
}

/* Expands packed codes to the lanes of mask; 0 in other lanes. */
AVX512_INLINE __m512i expand_codes_512(const uint8_t *codes, int code, __mmask16 mask) {
    return _mm512_maskz_expand_epi32(mask, load_codes_512(codes, code));
}

/* Decodes the distances of the rows in mask; 0, which is a valid column, in other rows. */
AVX512_INLINE void distances_512(const uint8_t *codes, int code, uint32_t mask, int32_t *at) {
    __mmask16 low = (__mmask16)mask, high = (__mmask16)(mask >> 16);
    const uint8_t *rest = codes + __builtin_popcount(low) * column_bytes(code);
    _mm512_store_si512(at, expand_codes_512(codes, code, low));
    _mm512_store_si512(at + 16, expand_codes_512(rest, code, high));
}

/* Decodes the 8-bit codes of all 32 rows. */
AVX512_INLINE void widen_512(const uint8_t *codes, int32_t *at) {
    for (int r = 0; r < CSELL_ROWS; r += 16)
        _mm512_store_si512(at + r, load_codes_512(codes + r, CSELL_COLUMN_8));
}

/* Looks values up in a codebook in two registers. */
AVX512_INLINE vec512 look_up_512(const codebook_512 *t, const uint8_t *codes, bool full,
                                 __mmask16 mask) {
    __m512i at;
    if (sizeof(real) == 8) {
        at = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)codes));
        if (!full) at = _mm512_maskz_expand_epi64((__mmask8)mask, at);
        return (vec512)_mm512_permutex2var_pd((__m512d)t->low, at, (__m512d)t->high);
    }
    at = expand_codes_512(codes, CSELL_COLUMN_8, mask);
    return (vec512)_mm512_permutex2var_ps((__m512)t->low, at, (__m512)t->high);
}

/* Decodes values to the lanes of mask. */
AVX512_INLINE vec512 values_512(const slice_data *d, const codebook_512 *t, const uint8_t *values,
                                int code, bool full, __mmask16 mask) {
    int32_t at[16] __attribute__((aligned(64)));
    if (code == VALUE_CODEBOOK && t) return look_up_512(t, values, full, mask);
    if (code == VALUE_CODEBOOK) {
        if (full) return select_512(d->codebook, values, CSELL_COLUMN_8);
        _mm512_store_si512(at, expand_codes_512(values, CSELL_COLUMN_8, mask));
        return select_512(d->codebook, (const uint8_t *)at, CSELL_COLUMN_32);
    }
    if (sizeof(real) == 4)
        return (vec512)(full ? _mm512_loadu_ps(values)
                             : _mm512_maskz_expandloadu_ps(mask, (const void *)values));
    if (code == VALUE_F32)
        return (vec512)_mm512_cvtps_pd(
            full ? _mm256_loadu_ps((const void *)values)
                 : _mm256_maskz_expandloadu_ps((__mmask8)mask, (const void *)values));
    return (vec512)(full ? _mm512_loadu_pd(values)
                         : _mm512_maskz_expandloadu_pd((__mmask8)mask, (const void *)values));
}
#endif
