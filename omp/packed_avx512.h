/* packed_avx512.h: slices of a packed matrix with AVX-512: the 32 sums in four registers of eight
 * doubles, or two of sixteen floats. */
#ifndef SPMV_OMP_PACKED_AVX512_H
#define SPMV_OMP_PACKED_AVX512_H

#include "packed.h"

#ifdef __x86_64__
enum { LANES_512 = 64 / sizeof(real), VECTORS_512 = PACKED_ROWS / LANES_512 };
typedef real vec512 __attribute__((vector_size(64)));

typedef struct tables_512 { /* the first values of the table */
    vec512 low, high;
} tables_512;

AVX512_INLINE vec512 add_product_512(vec512 sum, vec512 a, vec512 b, __mmask16 mask) {
    return sizeof(real) == 8
               ? (vec512)_mm512_mask3_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)sum, (__mmask8)mask)
               : (vec512)_mm512_mask3_fmadd_ps((__m512)a, (__m512)b, (__m512)sum, mask);
}

AVX512_INLINE vec512 load_512(const real *from, __mmask16 mask) {
    return sizeof(real) == 8 ? (vec512)_mm512_maskz_loadu_pd((__mmask8)mask, from)
                             : (vec512)_mm512_maskz_loadu_ps(mask, from);
}

/* x[at[l]] for every lane l, by as many loads. */
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

/* What LANES_512 codes select of x. */
AVX512_INLINE vec512 select_512(const real *x, const uint8_t *codes, int code) {
    int64_t at[LANES_512];
    for (int l = 0; l < LANES_512; l++) at[l] = distance(codes, code, l);
    return gather_512(x, at);
}

/* Sixteen codes as they stand. */
AVX512_INLINE __m512i load_codes_512(const uint8_t *codes, int code) {
    return code == PACKED_COLUMN_8 ? _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)codes))
           : code == PACKED_COLUMN_16
               ? _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)codes))
               : _mm512_loadu_si512(codes);
}

/* Codes, nothing between them, to the lanes of mask; 0 in other lanes. */
AVX512_INLINE __m512i expand_codes_512(const uint8_t *codes, int code, __mmask16 mask) {
    return _mm512_maskz_expand_epi32(mask, load_codes_512(codes, code));
}

/* Of the rows in mask; 0, which is a column of the step, for others. */
AVX512_INLINE void distances_512(const uint8_t *codes, int code, uint32_t mask, int32_t *at) {
    __mmask16 low = (__mmask16)mask, high = (__mmask16)(mask >> 16);
    const uint8_t *rest = codes + __builtin_popcount(low) * column_bytes(code);
    _mm512_store_si512(at, expand_codes_512(codes, code, low));
    _mm512_store_si512(at + 16, expand_codes_512(rest, code, high));
}

/* 8-bit codes of all 32 rows. */
AVX512_INLINE void widen_512(const uint8_t *codes, int32_t *at) {
    for (int r = 0; r < PACKED_ROWS; r += 16)
        _mm512_store_si512(at + r, load_codes_512(codes + r, PACKED_COLUMN_8));
}

/* Table values of up to two registers. */
AVX512_INLINE vec512 look_up_512(const tables_512 *t, const uint8_t *codes, bool full,
                                 __mmask16 mask) {
    __m512i at;
    if (sizeof(real) == 8) {
        at = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const void *)codes));
        if (!full) at = _mm512_maskz_expand_epi64((__mmask8)mask, at);
        return (vec512)_mm512_permutex2var_pd((__m512d)t->low, at, (__m512d)t->high);
    }
    at = expand_codes_512(codes, PACKED_COLUMN_8, mask);
    return (vec512)_mm512_permutex2var_ps((__m512)t->low, at, (__m512)t->high);
}

/* Values from there on, in the lanes of mask. */
AVX512_INLINE vec512 values_512(const slice_data *d, const tables_512 *t, const uint8_t *values,
                                int code, bool full, __mmask16 mask) {
    int32_t at[16] __attribute__((aligned(64)));
    if (code == PACKED_VALUE_TABLE && t) return look_up_512(t, values, full, mask);
    if (code == PACKED_VALUE_TABLE) {
        if (full) return select_512(d->table, values, PACKED_COLUMN_8);
        _mm512_store_si512(at, expand_codes_512(values, PACKED_COLUMN_8, mask));
        return select_512(d->table, (const uint8_t *)at, PACKED_COLUMN_32);
    }
    if (sizeof(real) == 4)
        return (vec512)(full ? _mm512_loadu_ps(values)
                             : _mm512_maskz_expandloadu_ps(mask, (const void *)values));
    if (code == PACKED_VALUE_F32)
        return (vec512)_mm512_cvtps_pd(
            full ? _mm256_loadu_ps((const void *)values)
                 : _mm256_maskz_expandloadu_ps((__mmask8)mask, (const void *)values));
    return (vec512)(full ? _mm512_loadu_pd(values)
                         : _mm512_maskz_expandloadu_pd((__mmask8)mask, (const void *)values));
}

/* Where a step's codes begin, and what it adds to. */
typedef struct place_512 {
    const uint8_t *columns, *values;
    vec512 sum[VECTORS_512];
} place_512;

/* Step k, which begins at codes; unless it is full (all 32 rows) or on a diagonal, codes are 32-bit
 * distances in their lanes. Codes, t and full are constants in the calls. */
AVX512_INLINE void add_step_512(const slice_data *d, const tables_512 *t, int column_code,
                                int value_code, bool full, int64_t k, const uint8_t *codes,
                                place_512 *p) {
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1);
    const int run = column_code == PACKED_DIAGONAL ? 1 : d->run;
    const uint32_t step_mask = d->step[k].mask;
    const real *x = d->x + d->step[k].base;
    for (int e = 0; e < run; e++, x++) {
        vec512 same = {0};
        if (value_code == PACKED_VALUE_STEP) same += value_of(d, value_code, k * run + e);
        if (value_code == PACKED_VALUE_TABLE) ask_ahead(p->values, PAGE);
#pragma GCC unroll 4
        for (int g = 0; g < VECTORS_512; g++) {
            __mmask16 mask = (__mmask16)(full ? all : step_mask >> g * LANES_512 & all);
            int count = full ? LANES_512 : __builtin_popcount(mask);
            vec512 a = same, b;
            if (value_code != PACKED_VALUE_STEP) {
                a = values_512(d, t, p->values, value_code, full, mask);
                if (value_code == PACKED_VALUE_RAW || value_code == PACKED_VALUE_F32)
                    ask_ahead(p->values, PAGE);
                p->values += count * value_bytes(value_code);
            }
            b = column_code == PACKED_DIAGONAL
                    ? load_512(x + d->first + g * LANES_512, mask)
                    : select_512(x, codes + g * LANES_512 * column_bytes(column_code), column_code);
            p->sum[g] = add_product_512(p->sum[g], a, b, mask);
        }
    }
}

/* A step takes the time of many entries: whether a column code is wide is told as it runs. Only
 * what is decided by a constant at every entry has code of its own: compiling takes long enough. */
AVX512_INLINE void add_gathered_512(const slice_data *d, const tables_512 *t, int value_code,
                                    int64_t k, place_512 *p) {
    int32_t at[PACKED_ROWS] __attribute__((aligned(64)));
    const uint32_t mask = d->step[k].mask;
    const uint8_t *codes = p->columns;
    ask_ahead(codes, PAGE);
    p->columns += __builtin_popcount(mask) * column_bytes(d->column_code);
    if (mask != UINT32_MAX) {
        distances_512(codes, d->column_code, mask, at);
        add_step_512(d, t, PACKED_COLUMN_32, value_code, false, k, (const uint8_t *)at, p);
    } else if (d->column_code == PACKED_COLUMN_16) {
        add_step_512(d, t, PACKED_COLUMN_16, value_code, true, k, codes, p);
    } else {
        if (d->column_code == PACKED_COLUMN_8) {
            widen_512(codes, at);
            codes = (const uint8_t *)at;
        }
        add_step_512(d, t, PACKED_COLUMN_32, value_code, true, k, codes, p);
    }
}

AVX512_INLINE void add_diagonal_512(const slice_data *d, const tables_512 *t, int value_code,
                                    int64_t k, place_512 *p) {
    if (d->step[k].mask == UINT32_MAX)
        add_step_512(d, t, PACKED_DIAGONAL, value_code, true, k, NULL, p);
    else
        add_step_512(d, t, PACKED_DIAGONAL, value_code, false, k, NULL, p);
}

AVX512_INLINE void sum_512(const slice_data *d, const tables_512 *t, bool diagonal, int value_code,
                           real *out) {
    place_512 p = {d->columns, d->values, {{0}}};
    for (int64_t k = 0; k < d->nsteps; k++)
        if (diagonal)
            add_diagonal_512(d, t, value_code, k, &p);
        else
            add_gathered_512(d, t, value_code, k, &p);
    memcpy(out, p.sum, sizeof p.sum);
}

AVX512_INLINE void sum_values_512(const slice_data *d, const tables_512 *t, bool diagonal,
                                  real *sum) {
    switch (d->value_code) {
    case PACKED_VALUE_RAW: sum_512(d, NULL, diagonal, PACKED_VALUE_RAW, sum); break;
    case PACKED_VALUE_F32: sum_512(d, NULL, diagonal, PACKED_VALUE_F32, sum); break;
    case PACKED_VALUE_STEP: sum_512(d, NULL, diagonal, PACKED_VALUE_STEP, sum); break;
    default:
        if (t)
            sum_512(d, t, diagonal, PACKED_VALUE_TABLE, sum);
        else
            sum_512(d, NULL, diagonal, PACKED_VALUE_TABLE, sum);
    }
}

static AVX512 __attribute__((noinline)) void sum_diagonals_512(const slice_data *d,
                                                               const tables_512 *t, real *sum) {
    sum_values_512(d, t, true, sum);
}

static AVX512 __attribute__((noinline)) void sum_gathered_512(const slice_data *d,
                                                              const tables_512 *t, real *sum) {
    sum_values_512(d, t, false, sum);
}

static AVX512 void multiply_avx512(const product *m, int64_t first, int64_t end) {
    int64_t next = first_long_from(m->A, first * PACKED_ROWS);
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1);
    tables_512 table = {load_512(m->A->table, all), load_512(m->A->table + LANES_512, all)};
    const tables_512 *t = m->small_table ? &table : NULL;
    real sum[PACKED_ROWS] __attribute__((aligned(64)));
    for (int64_t k = first; k < end; k++) {
        slice_data d = data_of(m, k);
        if (d.column_code == PACKED_DIAGONAL)
            sum_diagonals_512(&d, t, sum);
        else
            sum_gathered_512(&d, t, sum);
        put_slice(m, k, sum, &next);
    }
}
#endif
#endif
