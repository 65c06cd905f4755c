/* csell_sym.h: shared by the products of csell_sym slices in all instruction sets, and the product
 * in portable C. The mirror of an entry is its transposed entry. */
#pragma once

#include "mirror.h"
#include "omp/csell/csell.h"
#include "formats/csell_sym/csell_sym.h"

/* State of the slice being multiplied: its sums, alpha times the sign times x of its rows (the
 * factor of the mirrors), and the position in the codes. */
typedef struct half_slice {
    slice_data d;
    bool small_codebook; /* as in product */
    const range *s;
    real *y, *sum, *mirror; /* sum, mirror: [CSELL_ROWS] */
    const uint8_t *columns, *values;
} half_slice;

/* Returns the address to which mirrors in a row add: y, or the window for rows before the range. */
static inline real *target_of(const half_slice *h, int64_t row) {
    return row < h->s->first ? h->s->window + (row - h->s->low) : h->y + row;
}

static inline real half_value(const half_slice *h, int64_t k, int e, int64_t n) {
    const slice_data *d = &h->d;
    slice_data here = *d;
    if (d->value_code == CSELL_VALUE_STEP) return value_of(d, CSELL_VALUE_STEP, k * d->run + e);
    here.values = h->values;
    return value_of(&here, d->value_code, n);
}

/* Adds step k entry by entry. */
static inline void add_step_portable(half_slice *h, int64_t k) {
    const slice_data *d = &h->d;
    const csell_step *step = d->step + k;
    const bool diagonal = d->column_code == CSELL_DIAGONAL;
    const int count = __builtin_popcount(step->mask);
    for (int e = 0; e < d->run; e++) {
        int64_t n = 0;
        for (uint32_t rest = step->mask; rest; rest &= rest - 1, n++) {
            int r = __builtin_ctz(rest);
            int64_t row = d->first + r,
                    from = diagonal ? row : distance(h->columns, d->column_code, n);
            int64_t col = step->base + e + from;
            real a = half_value(h, k, e, n);
            h->sum[r] += a * d->x[col];
            if (col != row) *target_of(h, col) += a * h->mirror[r];
        }
        h->values += count * coded_bytes(d->value_code);
    }
    h->columns += count * column_bytes(d->column_code);
}

/* Initializes the slice and scales its rows of y, to which mirrors add from now on. */
static inline void begin_slice(const product *m, int64_t k, half_slice *h) {
    const int64_t first = k * CSELL_ROWS, rest = m->A->s.rows - first;
    const int64_t rows = rest < CSELL_ROWS ? rest : CSELL_ROWS;
    const real scale = m->alpha * (real)m->A->sign;
    h->d = data_of(m, k);
    h->y = m->y;
    h->columns = h->d.columns;
    h->values = h->d.values;
    if (rows == CSELL_ROWS)
        for (int r = 0; r < CSELL_ROWS; r++) h->sum[r] = 0, h->mirror[r] = scale * m->x[first + r];
    else
        for (int r = 0; r < CSELL_ROWS; r++)
            h->sum[r] = 0, h->mirror[r] = r < rows ? scale * m->x[first + r] : 0;
    for (int64_t r = 0; r < rows; r++) scale_row(m->y + first + r, m->beta);
}

/* Adds long row n, which is row r of the slice. */
static inline void add_long(const csell *A, int64_t n, int64_t r, half_slice *h) {
    for (int32_t k = A->long_ptr[n]; k < A->long_ptr[n + 1]; k++) {
        int64_t col = A->long_col[k];
        h->sum[r] += A->long_values[k] * h->d.x[col];
        if (col != h->d.first + r) *target_of(h, col) += A->long_values[k] * h->mirror[r];
    }
}

/* Adds the slice's sums to y. *next: first long row >= the slice's first row. */
static inline void end_slice(const product *m, half_slice *h, int64_t *next) {
    const csell *A = m->A;
    const int64_t first = h->d.first, rest = A->s.rows - first;
    for (; *next < A->long_rows && A->long_row[*next] < first + CSELL_ROWS; ++*next)
        add_long(A, *next, A->long_row[*next] - first, h);
    if (rest >= CSELL_ROWS)
        for (int r = 0; r < CSELL_ROWS; r++) m->y[first + r] += m->alpha * h->sum[r];
    else
        for (int64_t r = 0; r < rest; r++) m->y[first + r] += m->alpha * h->sum[r];
}

/* Returns the address of the mirror of lane 0 of a diagonal step; NULL if the mirrors are on both
 * sides of the range's first row. */
static inline real *target_of_step(const half_slice *h, const csell_step *step) {
    const int64_t at = h->d.first + step->base;
    if (at + __builtin_ctz(step->mask) >= h->s->first) return h->y + at;
    if (at + 31 - __builtin_clz(step->mask) < h->s->first) return h->s->window + (at - h->s->low);
    return NULL;
}

/* Multiplies a diagonal slice with one instruction set. */
typedef void mirror_slice(half_slice *h);

static void mirror_slice_portable(half_slice *h) {
    for (int64_t k = 0; k < h->d.nsteps; k++) add_step_portable(h, k);
}

static inline __attribute__((always_inline)) void mirror_range(const product *m, const range *s,
                                                               mirror_slice *on_diagonals) {
    int64_t next = first_long_from(m->A, s->first);
    real sum[CSELL_ROWS] __attribute__((aligned(64)));
    real mirror[CSELL_ROWS] __attribute__((aligned(64)));
    half_slice h = {.small_codebook = m->small_codebook, .s = s, .sum = sum, .mirror = mirror};
    for (int64_t i = s->low; i < s->first; i++) s->window[i - s->low] = 0;
    for (int64_t k = s->begin; k < s->end; k++) {
        begin_slice(m, k, &h);
        (h.d.column_code == CSELL_DIAGONAL ? on_diagonals : mirror_slice_portable)(&h);
        end_slice(m, &h, &next);
    }
}
