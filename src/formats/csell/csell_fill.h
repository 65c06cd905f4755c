/* csell_fill.h: writes the values of a csell slice, step by step; for format_csell.c. */
#ifndef SPMV_CSELL_FILL_H
#define SPMV_CSELL_FILL_H

#include "csell_choice.h"
#include "formats/side_by_side.h"

typedef struct output { /* where the next column code and the next value go */
    uint8_t *column, *value;
    int64_t overflows;
} output;

typedef struct sources { /* the next entry of every row */
    const int32_t *col[CSELL_ROWS];
    const double *value[CSELL_ROWS];
} sources;

static inline __attribute__((always_inline)) void put_all(const real *values, int n, int code,
                                                          const value_set *set, output *out) {
    const int bytes = coded_bytes(code);
    for (int k = 0; k < n; k++) put_coded(out->value + k * bytes, set, values[k], code);
    out->value += n * bytes;
}

/* The n values of a step, as the slice's code has them. */
static inline void put_values(const real *values, int n, int code, const value_set *set,
                              output *out) {
    switch (code) {
    case VALUE_RAW: put_all(values, n, VALUE_RAW, set, out); break;
    case VALUE_F32: put_all(values, n, VALUE_F32, set, out); break;
    case VALUE_CODEBOOK: put_all(values, n, VALUE_CODEBOOK, set, out); break;
    default: put_all(values, 1, VALUE_RAW, set, out); /* CSELL_VALUE_STEP */
    }
}

/* The n rows' next values; their sources move on. */
BY_LOADS static inline void take_values(sources *from, const int *row, int n, real *values,
                                        output *out) {
    for (int k = 0; k < n; k++) {
        from->col[row[k]]++;
        double value = *from->value[row[k]]++;
        values[k] = (real)value;
        out->overflows += does_overflow(value);
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

/* Those of a slice that has them as they are: no more than copies. In steps of the same rows, one
 * after the other, values stand as if these were one step of a longer run. */
static inline void copy_values(const slice_rows *s, const csell_slice *slice,
                               const csell_step *step, real *to) {
    const double *next[CSELL_ROWS], *from[CSELL_ROWS];
    int row[CSELL_ROWS];
    for (int r = 0; r < s->nrows; r++) next[r] = s->value[r];
    for (int64_t k = 0, end; k < slice->nsteps; k = end) {
        for (end = k + 1; end < slice->nsteps && step[end].mask == step[k].mask;) end++;
        const int n = list_rows(step[k].mask, row);
        const int64_t length = (end - k) * slice->run;
        for (int j = 0; j < n; j++) from[j] = next[row[j]], next[row[j]] += length;
        put_side_by_side(from, n, length, n, to);
        to += n * length;
    }
}
#endif
