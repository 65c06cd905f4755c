/* csell_sym_avx2.h: products of csell_sym slices with AVX2. */
#pragma once

#include "omp/csell/codes_avx2.h"
#include "csell_sym.h"

#ifdef __x86_64__
AVX2_INLINE void store_lanes_256(real *to, vec256 v, const lanes_256 *lanes) {
    if (sizeof(real) == 8)
        _mm256_maskstore_pd((void *)to, lanes->all_ones, (__m256d)v);
    else
        _mm256_maskstore_ps((void *)to, lanes->all_ones, (__m256)v);
}

/* See add_csell_sym_512. Unused lanes have a = x = 0, because 0 times infinity is invalid. */
AVX2_INLINE void add_csell_sym_256(half_slice *h, int value_code, bool full, int64_t k, real *to,
                                   vec256 *sum) {
    const slice_data *d = &h->d;
    const uint32_t step_mask = d->step[k].mask;
    const real *x = d->x + d->first + d->step[k].base;
    vec256 same = {0};
    if (value_code == CSELL_VALUE_STEP) same += value_of(d, value_code, k);
    prefetch_ahead(h->values, PAGE);
#pragma GCC unroll 8
    for (int g = 0; g < VECTORS_256; g++) {
        uint32_t mask = step_mask >> g * LANES_256 & ((1u << LANES_256) - 1);
        lanes_256 lanes = {0};
        vec256 a = same, b, mirror = load_256(h->mirror + g * LANES_256);
        real *there = to ? to + g * LANES_256 : NULL;
        if (!full) {
            if (!mask) continue;
            lanes = lanes_of_256(mask);
            mirror = (vec256)_mm256_and_ps((__m256)mirror, (__m256)lanes.all_ones);
        }
        if (value_code != CSELL_VALUE_STEP) {
            a = values_256(d, h->values, value_code, full, mask, &lanes);
            if (g % 2) prefetch_ahead(h->values, PAGE);
            h->values += (full ? LANES_256 : __builtin_popcount(mask)) * coded_bytes(value_code);
        } else if (!full) {
            a = (vec256)_mm256_and_ps((__m256)a, (__m256)lanes.all_ones);
        }
        b = full ? load_256(x + g * LANES_256) : load_lanes_256(x + g * LANES_256, &lanes);
        sum[g] = add_product_256(sum[g], a, b);
        if (!there) continue;
        b = full ? load_256(there) : load_lanes_256(there, &lanes);
        b = add_product_256(b, a, mirror);
        if (full)
            memcpy(there, &b, sizeof b);
        else
            store_lanes_256(there, b, &lanes);
    }
}

AVX2_INLINE void mirror_diagonals_256(half_slice *h, int value_code) {
    vec256 sum[VECTORS_256] = {{0}};
    for (int64_t k = 0; k < h->d.nsteps; k++) {
        const csell_step *step = h->d.step + k;
        real *to = step->base ? target_of_step(h, step) : NULL;
        if (step->base && !to)
            add_step_portable(h, k);
        else if (step->mask == UINT32_MAX)
            add_csell_sym_256(h, value_code, true, k, to, sum);
        else
            add_csell_sym_256(h, value_code, false, k, to, sum);
    }
    for (int g = 0; g < VECTORS_256; g++) {
        sum[g] += load_256(h->sum + g * LANES_256); /* sums of the steps processed entry by entry */
        memcpy(h->sum + g * LANES_256, &sum[g], sizeof sum[g]);
    }
}

static AVX2 __attribute__((noinline)) void mirror_slice_256(half_slice *h) {
    switch (h->d.value_code) {
    case VALUE_RAW: mirror_diagonals_256(h, VALUE_RAW); break;
    case VALUE_F32: mirror_diagonals_256(h, VALUE_F32); break;
    case CSELL_VALUE_STEP: mirror_diagonals_256(h, CSELL_VALUE_STEP); break;
    default: mirror_diagonals_256(h, VALUE_CODEBOOK);
    }
}
#endif
