/* csell_fill.h: writes the values of a csell slice, step by step; for format_csell.c. */
#ifndef SPMV_CSELL_FILL_H
#define SPMV_CSELL_FILL_H

#include "csell_choice.h"

typedef struct output { /* where the next column code and the next value go */
    uint8_t *column, *value;
    int64_t overflows;
} output;

typedef struct sources { /* the next entry of every row */
    const int32_t *col[CSELL_ROWS];
    const double *value[CSELL_ROWS];
} sources;

/* n values, decoded, as the code has them. */
static inline void put_values(const real *values, int n, int code, const value_set *set,
                              output *out) {
    if (code == CSELL_VALUE_RAW) {
        memcpy(out->value, values, (size_t)n * sizeof *values);
        out->value += (size_t)n * sizeof *values;
    } else if (code == CSELL_VALUE_F32) {
        float *narrow = (float *)(void *)out->value;
        for (int k = 0; k < n; k++) narrow[k] = (float)values[k];
        out->value += (size_t)n * sizeof *narrow;
    } else if (code == CSELL_VALUE_CODEBOOK) {
        for (int k = 0; k < n; k++) *out->value++ = set->place[slot_of(set, bits_of(values[k]))];
    } else {
        memcpy(out->value, values, sizeof *values);
        out->value += sizeof *values;
    }
}

/* The n rows' next values; their sources move on. */
BY_LOADS static inline void take_values(sources *from, const int *row, int n, real *values,
                                        output *out) {
    for (int k = 0; k < n; k++) {
        from->col[row[k]]++;
        double value = *from->value[row[k]]++;
        values[k] = (real)value;
        if (sizeof(real) < sizeof value) out->overflows += isinf(values[k]) && !isinf(value);
    }
}

static inline int list_rows(uint32_t mask, int *row) {
    int n = 0;
    for (; mask; mask &= mask - 1) row[n++] = __builtin_ctz(mask);
    return n;
}

/* Those of a slice whose steps are there. */
static inline void fill_values(const slice_rows *s, const csell_slice *slice,
                               const csell_step *step, const value_set *set, output *out) {
    sources from;
    real values[CSELL_ROWS];
    int row[CSELL_ROWS], n = 0;
    uint32_t mask = 0;
    for (int r = 0; r < s->nrows; r++) from.col[r] = s->col[r], from.value[r] = s->value[r];
    for (int64_t k = 0; k < slice->nsteps; k++) {
        if (step[k].mask != mask) n = list_rows(mask = step[k].mask, row);
        for (int e = 0; e < slice->run; e++) {
            take_values(&from, row, n, values, out);
            put_values(values, n, slice->value_code, set, out);
        }
    }
}
#endif
