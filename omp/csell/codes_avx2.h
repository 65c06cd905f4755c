/* codes_avx2.h: decodes columns and values of a csell matrix into AVX2 registers: 32 rows are eight
 * vectors of four doubles, or four of eight floats. */
#pragma once

#include "csell.h"

#ifdef __x86_64__
enum { LANES_256 = 32 / sizeof(real), VECTORS_256 = CSELL_ROWS / LANES_256 };
typedef real vec256 __attribute__((vector_size(32)));

/* Expansion of packed entries to the lanes of a mask by a permutation; AVX2 has no expanding
 * load. */
typedef struct lanes_256 {
    __m256i all_ones; /* all ones in the lanes of the mask, otherwise 0 */
    __m256i place;    /* index of each lane's 32-bit parts among the packed entries; 0 outside the
                         mask */
} lanes_256;

AVX2_INLINE __m256i parts_256(uint32_t mask, uint64_t of_eight_bytes) {
    uint64_t bytes = _pdep_u64(mask, 0x0101010101010101u) * 255;
    return _mm256_cvtepi8_epi32(_mm_cvtsi64_si128((int64_t)_pdep_u64(of_eight_bytes, bytes)));
}

AVX2_INLINE lanes_256 lanes_of_256(uint32_t mask) {
    uint32_t parts = sizeof(real) == 8 ? _pdep_u32(mask, 0x55) * 3 : mask;
    return (lanes_256){parts_256(parts, ~0ull), parts_256(parts, 0x0706050403020100u)};
}

AVX2_INLINE vec256 add_product_256(vec256 sum, vec256 a, vec256 b) {
    return sizeof(real) == 8 ? (vec256)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)sum)
                             : (vec256)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)sum);
}

AVX2_INLINE vec256 load_256(const void *from) {
    vec256 v;
    memcpy(&v, from, sizeof v);
    return v;
}

AVX2_INLINE vec256 load_lanes_256(const real *from, const lanes_256 *lanes) {
    return sizeof(real) == 8 ? (vec256)_mm256_maskload_pd((const void *)from, lanes->all_ones)
                             : (vec256)_mm256_maskload_ps((const void *)from, lanes->all_ones);
}

AVX2_INLINE vec256 expand_256(vec256 v, const lanes_256 *lanes) {
    return (vec256)_mm256_and_ps(_mm256_permutevar8x32_ps((__m256)v, lanes->place),
                                 (__m256)lanes->all_ones);
}

AVX2_INLINE vec256 gather_256(const real *x, const int64_t *at) {
    if (sizeof(real) == 8)
        return (vec256)_mm256_set_pd((double)x[at[3]], (double)x[at[2]], (double)x[at[1]],
                                     (double)x[at[0]]);
    return (vec256)_mm256_set_ps((float)x[at[7 % LANES_256]], (float)x[at[6 % LANES_256]],
                                 (float)x[at[5 % LANES_256]], (float)x[at[4 % LANES_256]],
                                 (float)x[at[3]], (float)x[at[2]], (float)x[at[1]],
                                 (float)x[at[0]]);
}

/* Loads the entries of x at LANES_256 column codes. */
AVX2_INLINE vec256 select_256(const real *x, const uint8_t *codes, int code) {
    int64_t at[LANES_256];
    for (int l = 0; l < LANES_256; l++) at[l] = distance(codes, code, l);
    return gather_256(x, at);
}

/* Loads eight packed codes. */
AVX2_INLINE __m256i load_codes_256(const uint8_t *codes, int code) {
    return code == CSELL_COLUMN_8    ? _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)codes))
           : code == CSELL_COLUMN_16 ? _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)codes))
                                     : _mm256_loadu_si256((const void *)codes);
}

/* Expands packed codes to the lanes of an 8-bit mask; 0 in other lanes. */
AVX2_INLINE __m256i expand_codes_256(const uint8_t *codes, int code, uint32_t mask) {
    __m256i together = load_codes_256(codes, code);
    __m256i place = parts_256(mask, 0x0706050403020100u), all_ones = parts_256(mask, ~0ull);
    return _mm256_and_si256(_mm256_permutevar8x32_epi32(together, place), all_ones);
}

/* Decodes the distances of the rows in mask; 0, which is a valid column, in other rows. */
AVX2_INLINE void distances_256(const uint8_t *codes, int code, uint32_t mask, int32_t *at) {
    for (int r = 0; r < CSELL_ROWS; r += 8) {
        uint32_t eight = mask >> r & 255;
        _mm256_store_si256((void *)(at + r), expand_codes_256(codes, code, eight));
        codes += __builtin_popcount(eight) * column_bytes(code);
    }
}

/* Decodes the 8-bit codes of all 32 rows. */
AVX2_INLINE void widen_256(const uint8_t *codes, int32_t *at) {
    for (int r = 0; r < CSELL_ROWS; r += 8)
        _mm256_store_si256((void *)(at + r), load_codes_256(codes + r, CSELL_COLUMN_8));
}

/* Loads n floats as doubles, 0 in the other lanes, because what follows may be a signaling NaN. */
AVX2_INLINE __m256d widen_floats_256(const uint8_t *from, int n) {
    const __m128i is_one = _mm_cmpgt_epi32(_mm_set1_epi32(n), _mm_setr_epi32(0, 1, 2, 3));
    return _mm256_cvtps_pd(_mm_and_ps(_mm_loadu_ps((const void *)from), (__m128)is_one));
}

/* Decodes values to the lanes of the mask, 0 in other lanes. */
AVX2_INLINE vec256 values_256(const slice_data *d, const uint8_t *values, int code, bool full,
                              uint32_t mask, const lanes_256 *lanes) {
    int32_t at[8] __attribute__((aligned(32)));
    vec256 v;
    if (code == VALUE_CODEBOOK) {
        if (full) return select_256(d->codebook, values, CSELL_COLUMN_8);
        _mm256_store_si256((void *)at, expand_codes_256(values, CSELL_COLUMN_8, mask));
        v = select_256(d->codebook, (const uint8_t *)at, CSELL_COLUMN_32);
        return (vec256)_mm256_and_ps((__m256)v, (__m256)lanes->all_ones);
    }
    if (sizeof(real) == 8 && code == VALUE_F32)
        v = full ? (vec256)_mm256_cvtps_pd(_mm_loadu_ps((const void *)values))
                 : (vec256)widen_floats_256(values, __builtin_popcount(mask));
    else
        v = load_256(values);
    return full ? v : expand_256(v, lanes);
}
#endif
