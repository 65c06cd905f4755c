/* csell_sym_avx512.h: products of csell_sym slices with AVX-512. */
#pragma once

#include "omp/csell/codes_avx512.h"
#include "csell_sym.h"

#ifdef __x86_64__
AVX512_INLINE void store_512(real *to, vec512 v, __mmask16 mask) {
    if (sizeof(real) == 8)
        _mm512_mask_storeu_pd(to, (__mmask8)mask, (__m512d)v);
    else
        _mm512_mask_storeu_ps(to, mask, (__m512)v);
}

/* Multiplies step k. to: address of the mirrors of a diagonal below the main one; NULL: main
 * diagonal. Codes, t and full are constants in the calls. */
AVX512_INLINE void add_csell_sym_512(half_slice *h, const codebook_512 *t, int value_code,
                                     bool full, int64_t k, real *to, const vec512 *mirror,
                                     vec512 *sum) {
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1);
    const slice_data *d = &h->d;
    const uint32_t step_mask = d->step[k].mask;
    const real *x = d->x + d->first + d->step[k].base;
    const uint8_t *values = h->values;
    vec512 same = {0};
    if (value_code == CSELL_VALUE_STEP) same += value_of(d, value_code, k);
    if (value_code == VALUE_CODEBOOK) prefetch_ahead(values, PAGE);
#pragma GCC unroll 4
    for (int g = 0; g < VECTORS_512; g++) {
        __mmask16 mask = (__mmask16)(full ? all : step_mask >> g * LANES_512 & all);
        vec512 a = same;
        if (value_code != CSELL_VALUE_STEP) {
            a = values_512(d, t, values, value_code, full, mask);
            if (value_code != VALUE_CODEBOOK) prefetch_ahead(values, PAGE);
            values += (full ? LANES_512 : __builtin_popcount(mask)) * coded_bytes(value_code);
        }
        sum[g] = add_product_512(sum[g], a, load_512(x + g * LANES_512, mask), mask);
        if (to) {
            vec512 b = add_product_512(load_512(to + g * LANES_512, mask), a, mirror[g], mask);
            store_512(to + g * LANES_512, b, mask);
        }
    }
    h->values = values;
}

AVX512_INLINE void mirror_diagonals_512(half_slice *h, const codebook_512 *t, int value_code) {
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1);
    vec512 sum[VECTORS_512] = {{0}}, mirror[VECTORS_512];
    for (int g = 0; g < VECTORS_512; g++) mirror[g] = load_512(h->mirror + g * LANES_512, all);
    for (int64_t k = 0; k < h->d.nsteps; k++) {
        const csell_step *step = h->d.step + k;
        real *to = step->base ? target_of_step(h, step) : NULL;
        if (step->base && !to)
            add_step_portable(h, k);
        else if (step->mask == UINT32_MAX)
            add_csell_sym_512(h, t, value_code, true, k, to, mirror, sum);
        else
            add_csell_sym_512(h, t, value_code, false, k, to, mirror, sum);
    }
    for (int g = 0; g < VECTORS_512; g++) {
        vec512 rest = load_512(h->sum + g * LANES_512, all); /* from entry-by-entry steps */
        store_512(h->sum + g * LANES_512, sum[g] + rest, all);
    }
}

static AVX512 __attribute__((noinline)) void mirror_slice_512(half_slice *h) {
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1);
    const real *codebook = h->d.codebook;
    const codebook_512 t = {load_512(codebook, all), load_512(codebook + LANES_512, all)};
    switch (h->d.value_code) {
    case VALUE_RAW: mirror_diagonals_512(h, NULL, VALUE_RAW); break;
    case VALUE_F32: mirror_diagonals_512(h, NULL, VALUE_F32); break;
    case CSELL_VALUE_STEP: mirror_diagonals_512(h, NULL, CSELL_VALUE_STEP); break;
    default:
        if (h->small_codebook)
            mirror_diagonals_512(h, &t, VALUE_CODEBOOK);
        else
            mirror_diagonals_512(h, NULL, VALUE_CODEBOOK);
    }
}
#endif
