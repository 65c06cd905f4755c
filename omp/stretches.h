/* stretches.h: the pieces of a store (slices, strips, block rows) in stretches, taken by turns, by
 * the function of an instruction set. What a piece is, what it costs and how it is multiplied is
 * the kernel's; so is struct product, what its function takes besides. */
#ifndef SPMV_OMP_STRETCHES_H
#define SPMV_OMP_STRETCHES_H

#include "carry.h"

typedef struct product product;

/* Pieces first..end - 1. */
typedef void multiply_pieces(const product *m, int64_t first, int64_t end);

/* A share a thread. Equal shares do not take equally long where other programs use a processor, or
 * the other half of a core: on such a host the slowest thread made products take 1.2 to 1.5 times
 * as long. So large shares are cut into parts, which threads that are done with theirs take. */
typedef struct stretches {
    multiply_pieces *multiply;
    int64_t parts;                  /* of a share */
    int64_t first[MOST_SHARES + 1]; /* piece; the parts of a share follow each other */
    int64_t taken[MOST_SHARES];     /* of the parts of a share, in this product */
} stretches;

static inline size_t estimate_stretches(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* whatever they are */
    return sizeof(stretches);
}

/* How many parts of at least 64 KiB, long for a prefetcher still, a share is cut into; one where
 * that makes few. */
static inline int64_t count_parts(int64_t bytes, int64_t nshares) {
    enum { MOST_PARTS = 32, FEWEST_PARTS = 8, PART_BYTES = 1 << 16 };
    int64_t parts = bytes / nshares / PART_BYTES;
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    if (parts > MOST_SHARES / nshares) parts = MOST_SHARES / nshares;
    return parts < FEWEST_PARTS ? 1 : parts;
}

/* The plan's scratch: so many bytes that begin with stretches of about equal cost. */
static inline spmv_status make_stretches(spmv_plan *p, size_t bytes, multiply_pieces *multiply,
                                         cost_before *cost, int64_t pieces) {
    TRY(make_scratch(p, bytes));
    stretches *t = p->scratch;
    int64_t nshares = shares_of(p);
    t->multiply = multiply;
    t->parts = count_parts((int64_t)spmv_store_bytes(p->store), nshares);
    cut_shares(p->store, cost, pieces, nshares * t->parts, t->first);
    return SPMV_OK;
}

/* By a thread of the team: the parts of share s in order, then what is left of the others'. */
static inline void multiply_parts(stretches *t, const product *m, int64_t nshares, int64_t s) {
    for (int64_t k = 0; k < nshares; k++) {
        int64_t of = (s + k) % nshares, part;
        for (;;) {
#pragma omp atomic capture
            part = t->taken[of]++;
            if (part >= t->parts) break;
            const int64_t *first = t->first + of * t->parts + part;
            t->multiply(m, first[0], first[1]);
        }
    }
}

/* Before the team begins: nothing is taken. */
static inline void begin_stretches(stretches *t, int64_t nshares) {
    memset(t->taken, 0, (size_t)nshares * sizeof *t->taken);
}

/* By all threads of a team, whatever its size. */
static inline void multiply_shares(stretches *t, const product *m, int64_t nshares) {
    if (t->parts > 1)
        multiply_parts(t, m, nshares, omp_get_thread_num());
    else
#pragma omp for schedule(static, 1) nowait
        for (int64_t s = 0; s < nshares; s++) t->multiply(m, t->first[s], t->first[s + 1]);
}

static inline spmv_status multiply_stretches(const spmv_plan *p, stretches *t, const product *m) {
    int64_t nshares = shares_of(p);
    begin_stretches(t, nshares);
#pragma omp parallel num_threads((int)nshares)
    multiply_shares(t, m, nshares);
    return SPMV_OK;
}
#endif
