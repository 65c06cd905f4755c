/* csell_entries.h: decodes slices of csell; for format_csell.c and format_csell_lists.c. */
#ifndef SPMV_CSELL_ENTRIES_H
#define SPMV_CSELL_ENTRIES_H

#include "csell.h"

typedef struct entry_list { /* n entries written so far */
    int32_t *row, *col;
    double *values;
    int64_t n;
} entry_list;

static inline int32_t column_at(const csell_slice *slice, const csell_step *step,
                                const uint8_t *columns, int64_t row, int64_t run) {
    uint16_t two;
    uint32_t four;
    switch (slice->column_code) {
    case CSELL_DIAGONAL: return (int32_t)row + step->base;
    case CSELL_COLUMN_8: return step->base + columns[run];
    case CSELL_COLUMN_16: memcpy(&two, columns + 2 * run, sizeof two); return step->base + two;
    default:
        memcpy(&four, columns + 4 * run, sizeof four);
        return (int32_t)(four + (uint32_t)step->base);
    }
}

/* Returns value n of a slice, which is in step `step`; values: where the slice's begin. */
static inline double value_at(int value_code, const uint8_t *values, const real *codebook,
                              int64_t n, int64_t step) {
    const bool is_step = value_code == CSELL_VALUE_STEP;
    return (double)coded_value(values, codebook, is_step ? step : n,
                               is_step ? VALUE_RAW : value_code);
}

/* Decodes a slice whose rows begin at `first`; step, columns, values: where the slice's begin. */
static inline void slice_entries(const csell_slice *slice, int64_t first, const csell_step *step,
                                 const uint8_t *columns, const uint8_t *values,
                                 const real *codebook, entry_list *out) {
    int64_t begin = out->n, runs = 0;
    for (int64_t t = 0; t < slice->nsteps; t++, step++) {
        for (int e = 0; e < slice->run; e++) {
            int64_t r = runs;
            for (uint32_t rest = step->mask; rest; rest &= rest - 1, out->n++, r++) {
                int64_t n = out->n, row = first + __builtin_ctz(rest);
                out->row[n] = (int32_t)row;
                out->col[n] = column_at(slice, step, columns, row, r) + e;
                out->values[n] =
                    value_at(slice->value_code, values, codebook, n - begin, t * slice->run + e);
            }
        }
        runs += __builtin_popcount(step->mask);
    }
}
#endif
