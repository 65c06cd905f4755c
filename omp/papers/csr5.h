/* csr5.h: shared by the implementations for tiles of CSR5: portable C, AVX2, AVX-512. */
#pragma once

#include "omp/carry.h"
#include "omp/isa.h"
#include "formats/papers/csr5/csr5.h"

/* A share of the tiles. Its sum of a row that begins in an earlier share is its carry. */
typedef struct product {
    const csr5 *A;
    const real *x;
    real *y, alpha, beta;
    carry *open;
} product;

/* Multiplies tiles first to end - 1 of a share. */
typedef void multiply_tiles(const product *m, int64_t first, int64_t end);

#define INLINE static inline __attribute__((always_inline))

/* Adds a tile's sum of a row. sum: over the entries from k on, all that the tile has of the row. If
 * the row begins at k, the sum is stored; otherwise it is added to the carry or to y, to which no
 * other share writes. */
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
    const int32_t *offset; /* rows of the segments, relative to `row`; NULL: consecutive rows */
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
