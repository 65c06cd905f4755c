/* sell16_avx512.h: products of sell16 slices with AVX-512: a small codebook stays in registers; all
 * else as with AVX2, because loads fill a vector of eight doubles no faster than two of four. */
#pragma once

#include "sell16_avx2.h"

#ifdef __x86_64__
enum { IN_REGISTERS = 16 };

typedef real lanes16 __attribute__((vector_size(IN_REGISTERS * sizeof(real)), aligned(64)));

AVX512_INLINE lanes8 look_up(const lanes16 *codebook, const uint8_t *values) {
    __m128i codes = _mm_loadl_epi64((const void *)values);
    lanes8 out;
    if (sizeof(real) == sizeof(double)) {
        __m512d part[2], found;
        memcpy(part, codebook, sizeof part);
        found = _mm512_permutex2var_pd(part[0], _mm512_cvtepu8_epi64(codes), part[1]);
        memcpy(&out, &found, sizeof out);
    } else {
        __m256 part[2], found;
        memcpy(part, codebook, sizeof part);
        found = _mm256_permutex2var_ps(part[0], _mm256_cvtepu8_epi32(codes), part[1]);
        memcpy(&out, &found, sizeof out);
    }
    return out;
}

AVX512_INLINE void slice_512(const product *m, const lanes16 *codebook, int64_t s, bool wide) {
    const sell16_slice *slice = m->A->slice + s;
    const uint8_t *values = m->A->values + slice->slot;
    const uint16_t *columns = m->A->columns + slice->column;
    const int32_t *length = lengths_of(m->A, slice);
    const int32_t width = slice->width, full = length ? length[SELL16_ROWS - 1] : width;
    const int step = SELL16_ROWS * (wide ? 2 : 1);
    const real *x = kept(m->x + slice->base);
    lanes8 sum = {{0}, {0}};
    prefetch_vectors(m, s);
    for (int32_t k = 0; k < full; k++, values += SELL16_ROWS, columns += step)
        add_step(&sum, look_up(codebook, values), columns, x, wide, NULL, k);
    for (int32_t k = full; k < width; k++, values += SELL16_ROWS, columns += step)
        add_step(&sum, look_up(codebook, values), columns, x, wide, length, k);
    put_256(m, s, length, sum);
}

static AVX512 void registers_avx512(const product *m, int64_t first, int64_t end) {
    const sell16_slices A = *m->A;
    const product p = {&A, m->x, m->y, m->alpha, m->beta, m->ahead};
    lanes16 codebook;
    memcpy(&codebook, A.codebook, sizeof codebook);
    for (int64_t s = first; s < end; s++)
        if (A.slice[s].wide)
            slice_512(&p, &codebook, s, true);
        else
            slice_512(&p, &codebook, s, false);
}
#endif
