/* sell16_avx2.h: products of sell16 slices with AVX2; the eight sums are two vectors of four. */
#pragma once

#include "sell16.h"

#ifdef __x86_64__
typedef real lanes4 __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real))));
typedef float floats4 __attribute__((vector_size(4 * sizeof(float)), aligned(1)));
typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) lane;
typedef lane mask4 __attribute__((vector_size(4 * sizeof(real))));
typedef int32_t idx4 __attribute__((vector_size(4 * sizeof(int32_t)), aligned(sizeof(int32_t))));

typedef struct lanes8 {
    lanes4 low, high;
} lanes8;

/* Returns four entries of x; gcc generates loads, never a gather. */
AVX2_INLINE lanes4 gather_4(const real *x, const uint16_t *columns, int64_t n, bool wide) {
    uint64_t four;
    if (wide)
        return (lanes4){x_at(x, columns, n, wide), x_at(x, columns, n + 1, wide),
                        x_at(x, columns, n + 2, wide), x_at(x, columns, n + 3, wide)};
    /* one load for four columns, because loads are the bottleneck */
    memcpy(&four, columns + n, sizeof four);
    return (lanes4){x[four & 0xffff], x[columns[n + 1]], x[four >> 32 & 0xffff], x[four >> 48]};
}

AVX2_INLINE lanes4 values_4(const real *codebook, const uint8_t *values, int code) {
    if (code == VALUE_ONE) return (lanes4){codebook[0], codebook[0], codebook[0], codebook[0]};
    if (code == VALUE_CODEBOOK)
        return (lanes4){codebook[values[0]], codebook[values[1]], codebook[values[2]],
                        codebook[values[3]]};
    if (code == VALUE_F32) return __builtin_convertvector(*(const floats4 *)values, lanes4);
    return *(const lanes4 *)(const void *)values;
}

AVX2_INLINE mask4 longer_than(const int32_t *length, int32_t k) {
    idx4 in = *(const idx4 *)length > k;
    return __builtin_convertvector(in, mask4);
}

/* A codebook of at most FEW_256 values in registers: floats in low, or the lower and upper halves
 * of doubles in low and high, because AVX2 permutes 32-bit elements across all lanes. */
enum { FEW_256 = 8 };
typedef struct few_256 {
    __m256i low, high;
} few_256;

AVX2_INLINE few_256 few_of(const real *codebook) {
    uint32_t low[FEW_256], high[FEW_256];
    for (int v = 0; v < FEW_256; v++) {
        uint64_t bits = 0;
        memcpy(&bits, codebook + v, sizeof *codebook);
        low[v] = (uint32_t)bits, high[v] = (uint32_t)(bits >> 32);
    }
    return (few_256){_mm256_loadu_si256((const void *)low), _mm256_loadu_si256((const void *)high)};
}

AVX2_INLINE lanes8 look_up_256(const few_256 *few, const uint8_t *values) {
    __m256i codes = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)values)), found[2];
    lanes8 out;
    /* unpacking interleaves within each 128-bit half */
    if (sizeof(real) == 8) codes = _mm256_permute4x64_epi64(codes, 0xd8);
    found[0] = _mm256_permutevar8x32_epi32(few->low, codes);
    if (sizeof(real) == 8) {
        const __m256i low = found[0], high = _mm256_permutevar8x32_epi32(few->high, codes);
        found[0] = _mm256_unpacklo_epi32(low, high), found[1] = _mm256_unpackhi_epi32(low, high);
    }
    memcpy(&out, found, sizeof out);
    return out;
}

AVX2_INLINE lanes8 values_8(const real *codebook, const few_256 *few, const uint8_t *values,
                            int code) {
    if (few) return look_up_256(few, values);
    return (lanes8){values_4(codebook, values, code),
                    values_4(codebook, values + SELL16_LANES * coded_bytes(code), code)};
}

AVX2_INLINE lanes4 kept_lanes(lanes4 numbers, mask4 lanes) {
    return (lanes4)((mask4)numbers & lanes);
}

/* Adds step k of a slice. Padding has a valid column, so every load is allowed; its value and its x
 * are set to 0, because other products may overflow or be NaN. length = NULL: no padding. */
AVX2_INLINE void add_step(lanes8 *sum, lanes8 a, const uint16_t *columns, const real *x, bool wide,
                          const int32_t *length, int32_t k) {
    prefetch_ahead(columns, HALF_PAGE / 4);
    lanes8 b = {gather_4(x, columns, 0, wide), gather_4(x, columns, SELL16_LANES, wide)};
    if (length) {
        const mask4 low = longer_than(length, k), high = longer_than(length + SELL16_LANES, k);
        a = (lanes8){kept_lanes(a.low, low), kept_lanes(a.high, high)};
        b = (lanes8){kept_lanes(b.low, low), kept_lanes(b.high, high)};
    }
    sum->low += a.low * b.low, sum->high += a.high * b.high;
}

static AVX2 __attribute__((noinline)) void put_any_256(const product *m, int64_t s, lanes8 sum) {
    real out[SELL16_ROWS];
    memcpy(out, &sum, sizeof out);
    put_any(m, s, out);
}

AVX2_INLINE void put_256(const product *m, int64_t s, const int32_t *length, lanes8 sum) {
    const sell16_slices *A = m->A;
    const int64_t i = s * SELL16_ROWS;
    if (!is_plain(m, s, length)) {
        put_any_256(m, s, sum);
        return;
    }
    sum.low *= m->alpha, sum.high *= m->alpha;
    real *y = m->y + (A->perm ? i & ~(A->sigma - 1) : i);
    if (!A->perm) {
        memcpy(y, &sum, sizeof sum);
        return;
    }
    const uint16_t *perm = A->perm + i;
#pragma GCC unroll 4
    for (int r = 0; r < SELL16_LANES; r++) {
        y[perm[r]] = sum.low[r];
        y[perm[SELL16_LANES + r]] = sum.high[r];
    }
}

AVX2_INLINE void slice_256(const product *m, const few_256 *few, int64_t s, int code, bool wide) {
    const sell16_slice *slice = m->A->slice + s;
    const uint8_t *values = m->A->values + slice->slot * coded_bytes(code);
    const uint16_t *columns = m->A->columns + slice->column;
    const int32_t *length = lengths_of(m->A, slice);
    const int32_t width = slice->width, full = length ? length[SELL16_ROWS - 1] : width;
    const int value_step = SELL16_ROWS * coded_bytes(code), step = SELL16_ROWS * (wide ? 2 : 1);
    const real *x = kept(m->x + slice->base), *codebook = m->A->codebook;
    lanes8 sum = {{0}, {0}};
    prefetch_vectors(m, s);
    for (int32_t k = 0; k < full; k++, values += value_step, columns += step) {
        if (coded_bytes(code) > 1) prefetch_ahead(values, HALF_PAGE);
        add_step(&sum, values_8(codebook, few, values, code), columns, x, wide, NULL, k);
    }
    for (int32_t k = full; k < width; k++, values += value_step, columns += step) {
        if (coded_bytes(code) > 1) prefetch_ahead(values, HALF_PAGE);
        add_step(&sum, values_8(codebook, few, values, code), columns, x, wide, length, k);
    }
    put_256(m, s, length, sum);
}

AVX2_INLINE void slices_256(const product *m, const few_256 *few, int64_t first, int64_t end,
                            int code) {
    const sell16_slices A = *m->A; /* a local copy, which stores to y cannot alias */
    const product p = {&A, m->x, m->y, m->alpha, m->beta, m->ahead};
    for (int64_t s = first; s < end; s++)
        if (A.slice[s].wide)
            slice_256(&p, few, s, code, true);
        else
            slice_256(&p, few, s, code, false);
}

static AVX2 void raw_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, NULL, first, end, VALUE_RAW);
}

static AVX2 void f32_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, NULL, first, end, VALUE_F32);
}

static AVX2 void codebook_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, NULL, first, end, VALUE_CODEBOOK);
}

static AVX2 void few_avx2(const product *m, int64_t first, int64_t end) {
    const few_256 few = few_of(m->A->codebook);
    slices_256(m, &few, first, end, VALUE_CODEBOOK);
}

static AVX2 void one_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, NULL, first, end, VALUE_ONE);
}

static multiply_chunk *choose_avx2(const sell16_slices *A) {
    static multiply_chunk *const by_code[] = {[VALUE_RAW] = raw_avx2,
                                              [VALUE_F32] = f32_avx2,
                                              [VALUE_CODEBOOK] = codebook_avx2,
                                              [VALUE_ONE] = one_avx2};
    return A->value_code == VALUE_CODEBOOK && A->nvalues <= FEW_256 ? few_avx2
                                                                    : by_code[A->value_code];
}
#endif
