/* chunks.h: divides the units of a store (its slices, strips or block rows) into one share per
 * thread, and large shares into chunks that threads take dynamically. The kernel decides what a
 * unit is, what it costs and which function multiplies a chunk of them; it also defines struct
 * product, which holds the other operands of that function. */
#pragma once

#include "carry.h"

typedef struct product product;

enum { KEPT = 1 << 18 }; /* bytes of units that a core's own cache keeps, beside x and y */

/* Multiplies units first..end - 1. */
typedef void multiply_chunk(const product *m, int64_t first, int64_t end);

/* Each thread has one share. Equal shares do not take equally long where other programs use a
 * processor, or the other half of a core: on such a host the slowest thread made products take 1.2
 * to 1.5 times as long. So large shares are cut into chunks, and a thread that has finished its own
 * share takes chunks of the others'. */
typedef struct chunks {
    multiply_chunk *multiply;
    int64_t per_share; /* how many chunks a share has; 1: it is not cut */
    int64_t
        together; /* units that a core's own cache keeps while vector after vector is multiplied */
    int64_t first[MOST_SHARES + 1]; /* each chunk's first unit; chunks of a share are adjacent */
} chunks;

/* Counts how many chunks of each share a product has taken, on its caller's stack. */
typedef struct taken_chunks {
    int64_t of[MOST_SHARES];
} taken_chunks;

static inline size_t estimate_chunks(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* the same for all */
    return sizeof(chunks);
}

/* Says how many chunks a share is cut into. A chunk has at least 64 KiB, which is still long for a
 * hardware prefetcher; a share that would have fewer than 8 such chunks is not cut. */
static inline int64_t count_chunks(int64_t bytes, int64_t nshares) {
    enum { MOST_CHUNKS = 32, FEWEST_CHUNKS = 8, CHUNK_BYTES = 1 << 16 };
    int64_t count = bytes / nshares / CHUNK_BYTES;
    if (count > MOST_CHUNKS) count = MOST_CHUNKS;
    if (count > MOST_SHARES / nshares) count = MOST_SHARES / nshares;
    return count < FEWEST_CHUNKS ? 1 : count;
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

/* Multiplies units first..end - 1 in n products, of a vector each. Of several vectors so many units
 * come together that they are read from memory once. */
static inline void multiply_units(const chunks *t, const product *const *m, int n, int64_t first,
                                  int64_t end) {
    const int64_t step = n > 1 && t->together > 0 ? t->together : end - first;
    for (int64_t u = first; u < end; u += step)
        for (int c = 0; c < n; c++) t->multiply(m[c], u, u + step < end ? u + step : end);
}

/* Every thread of the team calls this: it takes the chunks of share s in order, then those that are
 * left of the other shares. */
static inline void take_chunks(const chunks *t, taken_chunks *taken, const product *const *m, int n,
                               int64_t nshares, int64_t s) {
    for (int64_t k = 0; k < nshares; k++) {
        int64_t of = (s + k) % nshares, chunk;
        for (;;) {
#pragma omp atomic capture
            chunk = taken->of[of]++;
            if (chunk >= t->per_share) break;
            const int64_t *first = t->first + of * t->per_share + chunk;
            multiply_units(t, m, n, first[0], first[1]);
        }
    }
}

/* Is called before the team begins: no chunk is taken yet. */
static inline void begin_chunks(taken_chunks *taken, int64_t nshares) {
    memset(taken->of, 0, (size_t)nshares * sizeof *taken->of);
}

/* All threads of the team call this, whatever the size of the team. */
static inline void multiply_shares(const chunks *t, taken_chunks *taken, const product *const *m,
                                   int n, int64_t nshares) {
    if (t->per_share > 1)
        take_chunks(t, taken, m, n, nshares, omp_get_thread_num());
    else
#pragma omp for schedule(static, 1) nowait
        for (int64_t s = 0; s < nshares; s++) multiply_units(t, m, n, t->first[s], t->first[s + 1]);
}

static inline spmv_status multiply_chunks(const spmv_plan *p, const chunks *t,
                                          const product *const *m, int n) {
    int64_t nshares = shares_of(p);
    taken_chunks taken;
    begin_chunks(&taken, nshares);
#pragma omp parallel num_threads((int)nshares)
    multiply_shares(t, &taken, m, n, nshares);
    return SPMV_OK;
}

enum { COLUMNS = 8 }; /* vectors that are multiplied together, at most */

/* The operands of vector j. */
static inline spmv_operands column_of(const spmv_operands *v, int64_t j) {
    spmv_operands one = *v;
    one.k = 1;
    one.x = (const real *)v->x + j * v->ldx;
    one.y = one.z = (real *)v->z + j * v->ldz;
    return one;
}
