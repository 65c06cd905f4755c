/* csell_portable.h: products of csell slices in portable C. */
#pragma once

#include "csell.h"

/* Codes are constants in the calls, so that their branches are resolved at compile time. */
static inline __attribute__((always_inline)) void
sum_portable(const slice_data *d, int column_code, int value_code, bool full, real *sum) {
    int64_t n = 0, runs = 0;
    for (int64_t t = 0; t < d->nsteps; t++) {
        uint32_t mask = d->step[t].mask;
        int64_t base = d->step[t].base, count = full ? CSELL_ROWS : __builtin_popcount(mask);
        for (int e = 0; e < d->run; e++, n += count) {
            const real *x = d->x + base + e;
            const uint8_t *codes = d->columns + runs * column_bytes(column_code);
            int64_t step = t * d->run + e;
            int64_t k = 0;
            if (full) {
                for (int r = 0; r < CSELL_ROWS; r++)
                    sum[r] +=
                        value_of(d, value_code, value_code == CSELL_VALUE_STEP ? step : n + r) *
                        x[column_code == CSELL_DIAGONAL ? d->first + r
                                                        : distance(codes, column_code, r)];
                continue;
            }
            for (uint32_t rest = mask; rest; rest &= rest - 1, k++) {
                int r = __builtin_ctz(rest);
                sum[r] += value_of(d, value_code, value_code == CSELL_VALUE_STEP ? step : n + k) *
                          x[column_code == CSELL_DIAGONAL ? d->first + r
                                                          : distance(codes, column_code, k)];
            }
        }
        runs += count;
    }
}

static inline __attribute__((always_inline)) void
sum_portable_columns(const slice_data *d, int column_code, int value_code, bool full, real *sum) {
    switch (value_code) {
    case VALUE_RAW: sum_portable(d, column_code, VALUE_RAW, full, sum); break;
    case VALUE_F32: sum_portable(d, column_code, VALUE_F32, full, sum); break;
    case VALUE_CODEBOOK: sum_portable(d, column_code, VALUE_CODEBOOK, full, sum); break;
    default: sum_portable(d, column_code, CSELL_VALUE_STEP, full, sum);
    }
}

static void multiply_portable(const product *m, int64_t first, int64_t end) {
    int64_t next = first_long_from(m->A, first * CSELL_ROWS);
    for (int64_t k = first; k < end; k++) {
        const csell_slice *slice = m->A->slice + k;
        slice_data d = data_of(m, k);
        bool full = slice->flags & CSELL_FULL;
        int value = slice->value_code;
        real sum[CSELL_ROWS] = {0};
        if (slice->column_code == CSELL_DIAGONAL && full)
            sum_portable_columns(&d, CSELL_DIAGONAL, value, true, sum);
        else if (slice->column_code == CSELL_DIAGONAL)
            sum_portable_columns(&d, CSELL_DIAGONAL, value, false, sum);
        else if (slice->column_code == CSELL_COLUMN_8)
            sum_portable_columns(&d, CSELL_COLUMN_8, value, false, sum);
        else if (slice->column_code == CSELL_COLUMN_16)
            sum_portable_columns(&d, CSELL_COLUMN_16, value, false, sum);
        else
            sum_portable_columns(&d, CSELL_COLUMN_32, value, false, sum);
        put_long(m, k, sum, &next);
        put_slice(m, k, sum);
    }
}
