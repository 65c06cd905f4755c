/* sell16.h: shared by the products of sell16 slices in portable C, AVX2 and AVX-512. */
#pragma once

#include "omp/isa.h"
#include "omp/chunks.h"
#include "formats/sell16/sell16.h"
#include "formats/value_codes.h"
#include "spmv_order.h"

struct product {
    const sell16_slices *A;
    const real *x;
    real *y, alpha, beta;
    int64_t ahead; /* prefetch distance of x in columns; 0: no prefetch */
};

#define INLINE static inline __attribute__((always_inline))

INLINE real value_at(const sell16_slices *A, int64_t slot, int code) {
    return coded_value(A->values, A->codebook, slot, code);
}

/* Returns x at column code n of a slice. */
INLINE real x_at(const real *x, const uint16_t *columns, int64_t n, bool wide) {
    return x[wide ? ((const uint32_t *)(const void *)columns)[n] : columns[n]];
}

/* Returns the lengths of a slice's rows, longest first; NULL: all have `width` entries. */
INLINE const int32_t *lengths_of(const sell16_slices *A, const sell16_slice *slice) {
    return slice->uneven < 0 ? NULL : A->length + slice->uneven * SELL16_ROWS;
}

/* Adds to sum[] the entries of rows that are longer than the slice's steps. */
INLINE void add_coded_tails(const product *m, const sell16_slice *slice, int code, bool wide,
                            real *sum) {
    enum { SUMS = 4 };
    const sell16_slices *A = m->A;
    const int32_t *length = lengths_of(A, slice);
    const uint16_t *columns = A->columns + slice->column;
    const real *x = m->x + slice->base;
    int64_t at = (int64_t)slice->width * SELL16_ROWS;
    for (int r = 0; r < SELL16_LANES - 1 && length[r] > slice->width; r++) {
        real part[SUMS] = {0};
        int64_t end = at + length[r] - slice->width;
        for (; at + SUMS <= end; at += SUMS)
            for (int l = 0; l < SUMS; l++)
                part[l] += value_at(A, slice->slot + at + l, code) * x_at(x, columns, at + l, wide);
        for (; at < end; at++)
            part[0] += value_at(A, slice->slot + at, code) * x_at(x, columns, at, wide);
        sum[r] += (part[0] + part[1]) + (part[2] + part[3]);
    }
}

INLINE void add_wide_or_not(const product *m, const sell16_slice *slice, int code, real *sum) {
    if (slice->wide)
        add_coded_tails(m, slice, code, true, sum);
    else
        add_coded_tails(m, slice, code, false, sum);
}

INLINE void add_tails(const product *m, const sell16_slice *slice, real *sum) {
    switch (m->A->value_code) {
    case VALUE_RAW: add_wide_or_not(m, slice, VALUE_RAW, sum); break;
    case VALUE_F32: add_wide_or_not(m, slice, VALUE_F32, sum); break;
    case VALUE_CODEBOOK: add_wide_or_not(m, slice, VALUE_CODEBOOK, sum); break;
    default: add_wide_or_not(m, slice, VALUE_ONE, sum);
    }
}

/* Completes slice s in the general case: adds tails, permutes, and stores any number of rows. */
INLINE void put_any(const product *m, int64_t s, real *sum) {
    const sell16_slices *A = m->A;
    const int64_t i = s * SELL16_ROWS;
    if (A->slice[s].uneven >= 0) add_tails(m, A->slice + s, sum);
    for (int r = 0; r < SELL16_ROWS && i + r < A->s.rows; r++) {
        int64_t row = A->perm ? (i & ~(A->sigma - 1)) + A->perm[i + r] : i + r;
        put_row(m->y + spmv_stored_row(&A->s, row), m->alpha, sum[r], m->beta);
    }
}

/* Returns whether slice s is stored as alpha times its sums: beta = 0, eight rows of the order of
 * the matrix, no tails. */
INLINE bool is_plain(const product *m, int64_t s, const int32_t *length) {
    const sell16_slice *slice = m->A->slice + s;
    return m->beta == 0 && !m->A->s.order && (s + 1) * SELL16_ROWS <= m->A->s.rows &&
           (!length || length[0] == slice->width);
}

/* Prefetches x and y once per slice. Rows near the diagonal read x line by line, in row order or
 * not; the line prefetched is the one that later rows will read. */
INLINE void prefetch_vectors(const product *m, int64_t s) {
    enum { SECOND_CACHE = 2, Y_AHEAD = 2048 };
    if (!m->ahead) return;
    __builtin_prefetch(m->x + s * SELL16_ROWS + m->ahead, 0, SECOND_CACHE);
    __builtin_prefetch(m->y + s * SELL16_ROWS + Y_AHEAD, 1);
}

/* Hides from the compiler that x was computed, because it would otherwise compute x again at every
 * entry. */
INLINE const real *kept(const real *x) {
    __asm__("" : "+r"(x));
    return x;
}
