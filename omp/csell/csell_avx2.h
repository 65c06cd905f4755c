/* csell_avx2.h: products of csell slices with AVX2; the 32 sums stay in registers. */
#pragma once

#include "codes_avx2.h"

#ifdef __x86_64__
/* Position in the codes of a slice, and its sums. */
typedef struct place_256 {
    const uint8_t *columns, *values;
    vec256 sum[VECTORS_256];
} place_256;

/* Loads x for the lanes of the mask, 0 in others, because an infinite x must not be multiplied. */
AVX2_INLINE vec256 x_256(const real *x, const uint8_t *codes, int code, bool full,
                         const lanes_256 *lanes) {
    if (code == CSELL_DIAGONAL) return full ? load_256(x) : load_lanes_256(x, lanes);
    vec256 v = select_256(x, codes, code);
    return full ? v : (vec256)_mm256_and_ps((__m256)v, (__m256)lanes->all_ones);
}

/* See add_step_512. */
AVX2_INLINE void add_step_256(const slice_data *d, int column_code, int value_code, bool full,
                              int64_t k, const uint8_t *codes, place_256 *p) {
    const bool diagonal = column_code == CSELL_DIAGONAL;
    const int run = diagonal ? 1 : d->run;
    const uint32_t step_mask = d->step[k].mask;
    const real *x = d->x + d->step[k].base;
    for (int e = 0; e < run; e++, x++) {
        vec256 same = {0};
        if (value_code == CSELL_VALUE_STEP) same += value_of(d, value_code, k * run + e);
        if (value_code == VALUE_CODEBOOK) prefetch_ahead(p->values, PAGE);
#pragma GCC unroll 8
        for (int g = 0; g < VECTORS_256; g++) {
            uint32_t mask = step_mask >> g * LANES_256 & ((1u << LANES_256) - 1);
            int count = full ? LANES_256 : __builtin_popcount(mask);
            lanes_256 lanes = {0};
            vec256 a = same, b;
            if (!full) {
                if (!mask) continue;
                lanes = lanes_of_256(mask);
            }
            if (value_code != CSELL_VALUE_STEP) {
                a = values_256(d, p->values, value_code, full, mask, &lanes);
                if (g % 2 == 0 && (value_code == VALUE_RAW || value_code == VALUE_F32))
                    prefetch_ahead(p->values, PAGE);
                p->values += count * coded_bytes(value_code);
            } else if (!full) {
                a = (vec256)_mm256_and_ps((__m256)a, (__m256)lanes.all_ones);
            }
            b = x_256(diagonal ? x + d->first + g * LANES_256 : x,
                      codes + g * LANES_256 * column_bytes(column_code), column_code, full, &lanes);
            p->sum[g] = add_product_256(p->sum[g], a, b);
        }
    }
}

AVX2_INLINE void add_gathered_256(const slice_data *d, int value_code, int64_t k, place_256 *p) {
    int32_t at[CSELL_ROWS] __attribute__((aligned(64)));
    const uint32_t mask = d->step[k].mask;
    const uint8_t *codes = p->columns;
    prefetch_ahead(codes, PAGE);
    p->columns += __builtin_popcount(mask) * column_bytes(d->column_code);
    if (mask != UINT32_MAX) {
        distances_256(codes, d->column_code, mask, at);
        add_step_256(d, CSELL_COLUMN_32, value_code, false, k, (const uint8_t *)at, p);
    } else if (d->column_code == CSELL_COLUMN_16) {
        add_step_256(d, CSELL_COLUMN_16, value_code, true, k, codes, p);
    } else {
        if (d->column_code == CSELL_COLUMN_8) {
            widen_256(codes, at);
            codes = (const uint8_t *)at;
        }
        add_step_256(d, CSELL_COLUMN_32, value_code, true, k, codes, p);
    }
}

AVX2_INLINE void add_diagonal_256(const slice_data *d, int value_code, int64_t k, place_256 *p) {
    if (d->step[k].mask == UINT32_MAX)
        add_step_256(d, CSELL_DIAGONAL, value_code, true, k, NULL, p);
    else
        add_step_256(d, CSELL_DIAGONAL, value_code, false, k, NULL, p);
}

AVX2_INLINE void sum_256(const slice_data *d, bool diagonal, int value_code, real *out) {
    place_256 p = {d->columns, d->values, {{0}}};
    for (int64_t k = 0; k < d->nsteps; k++)
        if (diagonal)
            add_diagonal_256(d, value_code, k, &p);
        else
            add_gathered_256(d, value_code, k, &p);
    memcpy(out, p.sum, sizeof p.sum);
}

AVX2_INLINE void sum_values_256(const slice_data *d, bool diagonal, real *sum) {
    switch (d->value_code) {
    case VALUE_RAW: sum_256(d, diagonal, VALUE_RAW, sum); break;
    case VALUE_F32: sum_256(d, diagonal, VALUE_F32, sum); break;
    case CSELL_VALUE_STEP: sum_256(d, diagonal, CSELL_VALUE_STEP, sum); break;
    default: sum_256(d, diagonal, VALUE_CODEBOOK, sum);
    }
}

static AVX2 __attribute__((noinline)) void sum_diagonals_256(const slice_data *d, real *sum) {
    sum_values_256(d, true, sum);
}

static AVX2 __attribute__((noinline)) void sum_gathered_256(const slice_data *d, real *sum) {
    sum_values_256(d, false, sum);
}

/* Stores whole cache lines without reading them first (non-temporal). */
AVX2_INLINE void put_past_256(const product *m, int64_t k, const real *sum) {
    vec256 *y = (vec256 *)(m->y + k * CSELL_ROWS);
    for (int g = 0; g < VECTORS_256; g++)
        _mm256_stream_si256((__m256i *)(y + g), (__m256i)(((const vec256 *)sum)[g] * m->alpha));
}

static AVX2 void multiply_avx2(const product *m, int64_t first, int64_t end) {
    int64_t next = first_long_from(m->A, first * CSELL_ROWS);
    real sum[CSELL_ROWS] __attribute__((aligned(32)));
    for (int64_t k = first; k < end; k++) {
        slice_data d = data_of(m, k);
        if (d.column_code == CSELL_DIAGONAL)
            sum_diagonals_256(&d, sum);
        else
            sum_gathered_256(&d, sum);
        put_long(m, k, sum, &next);
        if (is_past(m, k))
            put_past_256(m, k, sum);
        else
            put_slice(m, k, sum);
    }
    if (m->past) _mm_sfence();
}
#endif
