/* chunks.h: divides the units of a store (slices, strips or block rows) into one share per thread,
 * and large shares into chunks that threads take dynamically. The kernel defines a unit, its cost,
 * the function that multiplies a chunk of units, and struct product, its operands. */
#pragma once

#include "taken.h"

typedef struct product product;

enum { KEPT = 1 << 18 }; /* bytes of units that a core's private cache keeps, besides x and y */

/* Multiplies units first, ..., end - 1. */
typedef void multiply_chunk(const product *m, int64_t first, int64_t end);

/* One share per thread; large shares consist of several chunks. */
typedef struct chunks {
    multiply_chunk *multiply;
    int64_t per_share;              /* chunks per share; 1: undivided */
    int64_t together;               /* units that a private cache keeps between vectors */
    int64_t first[MOST_SHARES + 1]; /* first unit of each chunk; chunks of a share are adjacent */
} chunks;

static inline size_t estimate_chunks(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c;
    return sizeof(chunks);
}

/* Allocates the plan's scratch of `bytes` bytes, which begins with chunks of about equal cost. */
static inline spmv_status make_chunks(spmv_plan *p, size_t bytes, multiply_chunk *multiply,
                                      cost_before *cost, int64_t units) {
    TRY(make_scratch(p, bytes));
    p->slots = 0;
    chunks *t = p->scratch;
    int64_t nshares = shares_of(p);
    const int64_t stored = (int64_t)spmv_store_bytes(p->store);
    t->multiply = multiply;
    t->per_share = count_chunks(stored, nshares);
    t->together = units / (stored / KEPT + 1) + 1;
    cut_shares(p->store, cost, units, nshares * t->per_share, t->first);
    return SPMV_OK;
}

typedef struct products { /* products of one vector each */
    const chunks *chunks;
    const product *const *m;
    int n;
} products;

/* Multiplies a chunk in all products. For several vectors, in groups of units that a cache keeps,
 * so that the matrix is read from memory once. */
static inline void multiply_units(const void *job, int64_t chunk) {
    const products *p = job;
    const chunks *t = p->chunks;
    const int64_t first = t->first[chunk], end = t->first[chunk + 1];
    const int64_t step = p->n > 1 && t->together > 0 ? t->together : end - first;
    for (int64_t u = first; u < end; u += step)
        for (int c = 0; c < p->n; c++) t->multiply(p->m[c], u, u + step < end ? u + step : end);
}

static inline spmv_status multiply_chunks(const spmv_plan *p, const chunks *t,
                                          const product *const *m, int n) {
    const products job = {t, m, n};
    taken_chunks taken;
    begin_chunks(&taken, shares_of(p), t->per_share);
#pragma omp parallel num_threads((int)taken.nshares)
    take_chunks(&taken, multiply_units, &job);
    return SPMV_OK;
}
