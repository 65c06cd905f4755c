/* csell_avx512.h: products of csell slices with AVX-512; the 32 sums stay in registers. */
#pragma once

#include "codes_avx512.h"

#ifdef __x86_64__
/* Position in the codes of a slice, and its sums. */
typedef struct place_512 {
    const uint8_t *columns, *values;
    vec512 sum[VECTORS_512];
} place_512;

/* Multiplies step k, whose column codes are at `codes`; for a step that is neither full (all 32
 * rows) nor diagonal these are decoded to 32-bit distances per row. Codes, t and full are
 * constants. */
AVX512_INLINE void add_step_512(const slice_data *d, const codebook_512 *t, int column_code,
                                int value_code, bool full, int64_t k, const uint8_t *codes,
                                place_512 *p) {
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1);
    const int run = column_code == CSELL_DIAGONAL ? 1 : d->run;
    const uint32_t step_mask = d->step[k].mask;
    const real *x = d->x + d->step[k].base;
    for (int e = 0; e < run; e++, x++) {
        vec512 same = {0};
        if (value_code == CSELL_VALUE_STEP) same += value_of(d, value_code, k * run + e);
        if (value_code == VALUE_CODEBOOK) prefetch_ahead(p->values, PAGE);
#pragma GCC unroll 4
        for (int g = 0; g < VECTORS_512; g++) {
            __mmask16 mask = (__mmask16)(full ? all : step_mask >> g * LANES_512 & all);
            int count = full ? LANES_512 : __builtin_popcount(mask);
            vec512 a = same, b;
            if (value_code != CSELL_VALUE_STEP) {
                a = values_512(d, t, p->values, value_code, full, mask);
                if (value_code == VALUE_RAW || value_code == VALUE_F32)
                    prefetch_ahead(p->values, PAGE);
                p->values += count * coded_bytes(value_code);
            }
            b = column_code == CSELL_DIAGONAL
                    ? load_512(x + d->first + g * LANES_512, mask)
                    : select_512(x, codes + g * LANES_512 * column_bytes(column_code), column_code);
            p->sum[g] = add_product_512(p->sum[g], a, b, mask);
        }
    }
}

/* The width of column codes is tested once per step, which has many entries. Only properties tested
 * at every entry are constants, because each constant multiplies compilation time. */
AVX512_INLINE void add_gathered_512(const slice_data *d, const codebook_512 *t, int value_code,
                                    int64_t k, place_512 *p) {
    int32_t at[CSELL_ROWS] __attribute__((aligned(64)));
    const uint32_t mask = d->step[k].mask;
    const uint8_t *codes = p->columns;
    prefetch_ahead(codes, PAGE);
    p->columns += __builtin_popcount(mask) * column_bytes(d->column_code);
    if (mask != UINT32_MAX) {
        distances_512(codes, d->column_code, mask, at);
        add_step_512(d, t, CSELL_COLUMN_32, value_code, false, k, (const uint8_t *)at, p);
    } else if (d->column_code == CSELL_COLUMN_16) {
        add_step_512(d, t, CSELL_COLUMN_16, value_code, true, k, codes, p);
    } else {
        if (d->column_code == CSELL_COLUMN_8) {
            widen_512(codes, at);
            codes = (const uint8_t *)at;
        }
        add_step_512(d, t, CSELL_COLUMN_32, value_code, true, k, codes, p);
    }
}

AVX512_INLINE void add_diagonal_512(const slice_data *d, const codebook_512 *t, int value_code,
                                    int64_t k, place_512 *p) {
    if (d->step[k].mask == UINT32_MAX)
        add_step_512(d, t, CSELL_DIAGONAL, value_code, true, k, NULL, p);
    else
        add_step_512(d, t, CSELL_DIAGONAL, value_code, false, k, NULL, p);
}

AVX512_INLINE void sum_512(const slice_data *d, const codebook_512 *t, bool diagonal,
                           int value_code, real *out) {
    place_512 p = {d->columns, d->values, {{0}}};
    for (int64_t k = 0; k < d->nsteps; k++)
        if (diagonal)
            add_diagonal_512(d, t, value_code, k, &p);
        else
            add_gathered_512(d, t, value_code, k, &p);
    memcpy(out, p.sum, sizeof p.sum);
}

AVX512_INLINE void sum_values_512(const slice_data *d, const codebook_512 *t, bool diagonal,
                                  real *sum) {
    switch (d->value_code) {
    case VALUE_RAW: sum_512(d, NULL, diagonal, VALUE_RAW, sum); break;
    case VALUE_F32: sum_512(d, NULL, diagonal, VALUE_F32, sum); break;
    case CSELL_VALUE_STEP: sum_512(d, NULL, diagonal, CSELL_VALUE_STEP, sum); break;
    default:
        if (t)
            sum_512(d, t, diagonal, VALUE_CODEBOOK, sum);
        else
            sum_512(d, NULL, diagonal, VALUE_CODEBOOK, sum);
    }
}

static AVX512 __attribute__((noinline)) void sum_diagonals_512(const slice_data *d,
                                                               const codebook_512 *t, real *sum) {
    sum_values_512(d, t, true, sum);
}

static AVX512 __attribute__((noinline)) void sum_gathered_512(const slice_data *d,
                                                              const codebook_512 *t, real *sum) {
    sum_values_512(d, t, false, sum);
}

/* Stores whole cache lines without reading them first (non-temporal). */
AVX512_INLINE void put_past_512(const product *m, int64_t k, const real *sum) {
    vec512 *y = (vec512 *)(m->y + k * CSELL_ROWS);
    for (int g = 0; g < VECTORS_512; g++)
        _mm512_stream_si512((__m512i *)(y + g), (__m512i)(((const vec512 *)sum)[g] * m->alpha));
}

static AVX512 void multiply_avx512(const product *m, int64_t first, int64_t end) {
    int64_t next = first_long_from(m->A, first * CSELL_ROWS);
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1);
    codebook_512 codebook = {load_512(m->A->codebook, all),
                             load_512(m->A->codebook + LANES_512, all)};
    const codebook_512 *t = m->small_codebook ? &codebook : NULL;
    real sum[CSELL_ROWS] __attribute__((aligned(64)));
    for (int64_t k = first; k < end; k++) {
        slice_data d = data_of(m, k);
        if (d.column_code == CSELL_DIAGONAL)
            sum_diagonals_512(&d, t, sum);
        else
            sum_gathered_512(&d, t, sum);
        put_long(m, k, sum, &next);
        if (is_past(m, k))
            put_past_512(m, k, sum);
        else
            put_slice(m, k, sum);
    }
    if (m->past) _mm_sfence();
}
#endif
