/* csell_fill.h: writes the values of a csell slice, step by step; for format_csell.c. */
#ifndef SPMV_CSELL_FILL_H
#define SPMV_CSELL_FILL_H

#include "csell_choice.h"
#include "formats/side_by_side.h"

static inline int list_rows(uint32_t mask, int *row) {
    int n = 0;
    for (; mask; mask &= mask - 1) row[n++] = __builtin_ctz(mask);
    return n;
}

/* Where the values of a slice come from, if its steps exist. Successive steps of the same rows are
 * treated as one step of a longer run. */
typedef struct rows_walk {
    const double *next[CSELL_ROWS]; /* next value of every row */
    const double *from[CSELL_ROWS]; /* `length` values of each of n rows */
    int64_t length;
    int n;
    int32_t step; /* index of the next step */
} rows_walk;

static inline rows_walk walk_rows(const slice_rows *s) {
    rows_walk w = {.step = 0};
    for (int r = 0; r < s->nrows; r++) w.next[r] = s->value[r];
    return w;
}

/* Takes the next values of the rows of a step; all 32 rows at once with vectors. */
static inline void take_rows(rows_walk *w, uint32_t mask) {
    int row[CSELL_ROWS];
    if (mask == ~0u) {
        w->n = CSELL_ROWS;
        memcpy(w->from, w->next, sizeof w->from);
        for (int r = 0; r < CSELL_ROWS; r++) w->next[r] += w->length;
        return;
    }
    w->n = list_rows(mask, row);
    for (int j = 0; j < w->n; j++) {
        w->from[j] = w->next[row[j]];
        w->next[row[j]] += w->length;
    }
}

static inline bool next_rows(rows_walk *w, const csell_slice *slice, const csell_step *step) {
    int32_t k = w->step, end = k + 1;
    if (k >= slice->nsteps) return false;
    while (end < slice->nsteps && step[end].mask == step[k].mask) end++;
    w->step = end;
    w->length = (int64_t)(end - k) * slice->run;
    take_rows(w, step[k].mask);
    return true;
}

static inline __attribute__((always_inline)) void
put_coded_rows(const rows_walk *w, int code, const value_set *set, uint8_t *to) {
    for (int j = 0; j < w->n; j++)
        for (int64_t k = 0; k < w->length; k++)
            put_coded(to + (k * w->n + j) * coded_bytes(code), set, w->from[j][k], code);
}

/* Writes the next value of each row of a step. */
static inline __attribute__((always_inline)) uint8_t *
put_next(const double **next, uint32_t mask, int code, const value_set *set, uint8_t *to) {
    for (; mask; mask &= mask - 1, to += coded_bytes(code))
        put_coded(to, set, *next[__builtin_ctz(mask)]++, code);
    return to;
}

static inline uint8_t *fill_step(const double **next, uint32_t mask, int code, const value_set *set,
                                 uint8_t *to) {
    if (code == VALUE_RAW) return put_next(next, mask, VALUE_RAW, set, to);
    if (code == VALUE_F32) return put_next(next, mask, VALUE_F32, set, to);
    return put_next(next, mask, VALUE_CODEBOOK, set, to);
}

/* Returns whether the next step has one value per row and other rows than the step behind it. */
static inline bool is_alone(const rows_walk *w, const csell_slice *slice, const csell_step *step) {
    const int32_t k = w->step;
    return slice->run == 1 && slice->value_code != CSELL_VALUE_STEP && k < slice->nsteps &&
           (k + 1 == slice->nsteps || step[k].mask != step[k + 1].mask);
}

/* Writes the values of a slice whose steps exist; returns where they end. */
static inline uint8_t *fill_values(const slice_rows *s, const csell_slice *slice,
                                   const csell_step *step, const value_set *set, uint8_t *to) {
    const int code = slice->value_code;
    rows_walk w = walk_rows(s);
    for (;;) {
        while (is_alone(&w, slice, step))
            to = fill_step(w.next, step[w.step++].mask, code, set, to);
        if (!next_rows(&w, slice, step)) return to;
        const int one = code == CSELL_VALUE_STEP; /* one row's value stands for all rows */
        if (one || code == VALUE_RAW)
            put_side_by_side(w.from, one ? 1 : w.n, w.length, one ? 1 : w.n, (real *)(void *)to);
        else if (code == VALUE_F32)
            put_coded_rows(&w, VALUE_F32, set, to);
        else
            put_coded_rows(&w, VALUE_CODEBOOK, set, to);
        to += w.length * (one ? (int64_t)sizeof(real) : w.n * coded_bytes(code));
    }
}
#endif
