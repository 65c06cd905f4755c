/* csr5.h: what the ways to multiply tiles of CSR5 share: portable C, AVX2, AVX-512. */
#pragma once

#include "omp/carry.h"
#include "omp/isa.h"
#include "formats/papers/csr5/csr5.h"

/* A share of the tiles. What it has of a row that begins in an earlier share is its carry. */
typedef struct product {
    const csr5 *A;
    const real *x;
    real *y, alpha, beta;
    carry *open;
} product;

/* Multiplies tiles first..end - 1 of a share. */
typedef void multiply_tiles(const product *m, int64_t first, int64_t end);

#define INLINE static inline __attribute__((always_inline))

/* sum: of the entries from k on, all that a tile has of the row. Where the row begins is who writes
 * it first; no other share does. */
INLINE void put_first(const product *m, int64_t row, int64_t k, real sum) {
    if (m->A->row_ptr[row] == k)
        put_row(m->y + row, m->alpha, sum, m->beta);
    else if (row == m->open->row)
        m->open->sum += sum;
    else
        m->y[row] += m->alpha * sum;
}

typedef struct tile { /* start of a tile, and the rows of its segments */
    int64_t k, row;
    const int32_t *offset; /* NULL: row and those after it */
} tile;

INLINE tile tile_at(const csr5 *A, int64_t t, int64_t size) {
    const int32_t first = A->tile_ptr[t];
    return (tile){t * size, first & ~CSR5_HAS_EMPTY,
                  first < 0 ? A->empty_offset + A->empty_ptr[t] : NULL};
}

INLINE void put_segment(const product *m, const tile *t, int64_t segment, real sum) {
    if (segment == 0)
        put_first(m, t->row, t->k, sum);
    else
        put_row(m->y + t->row + (t->offset ? t->offset[segment] : segment), m->alpha, sum, m->beta);
}
