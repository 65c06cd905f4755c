/* chunks.h: divides the units of a store (its slices, strips or block rows) into one share per
 * thread, and large shares into chunks that threads take dynamically. The kernel decides what a
 * unit is, what it costs and which function multiplies a chunk of them; it also defines struct
 * product, which holds the other operands of that function. */
#pragma once

#include "taken.h"

typedef struct product product;

enum { KEPT = 1 << 18 }; /* bytes of units that a core's own cache keeps, beside x and y */

/* Multiplies units first..end - 1. */
typedef void multiply_chunk(const product *m, int64_t first, int64_t end);

/* Each thread has one share; large shares are cut into chunks. */
typedef struct chunks {
    multiply_chunk *multiply;
    int64_t per_share; /* how many chunks a share has; 1: it is not cut */
    int64_t
        together; /* units that a core's own cache keeps while vector after vector is multiplied */
    int64_t first[MOST_SHARES + 1]; /* each chunk's first unit; chunks of a share are adjacent */
} chunks;

static inline size_t estimate_chunks(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* the same for all */
    return sizeof(chunks);
}

/* Allocates the plan's scratch, `bytes` long; it begins with chunks of about equal cost. */
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

typedef struct products { /* of a vector each */
    const chunks *chunks;
    const product *const *m;
    int n;
} products;

/* Multiplies a chunk in all products. Of several vectors so many units come together that they are
 * read from memory once. */
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
