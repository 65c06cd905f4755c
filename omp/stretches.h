/* stretches.h: the pieces of a store (slices, strips, block rows) in stretches, one a thread, by
 * the function of an instruction set. What a piece is, what it costs and how it is multiplied is
 * the kernel's; so is struct product, what its function takes besides. */
#ifndef SPMV_OMP_STRETCHES_H
#define SPMV_OMP_STRETCHES_H

#include "carry.h"

typedef struct product product;

/* Pieces first..end - 1. */
typedef void multiply_pieces(const product *m, int64_t first, int64_t end);

typedef struct stretches {
    multiply_pieces *multiply;
    int64_t first[MOST_SHARES + 1]; /* piece */
} stretches;

static inline size_t estimate_stretches(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* whatever they are */
    return sizeof(stretches);
}

/* The plan's scratch: so many bytes that begin with stretches of about equal cost. */
static inline spmv_status make_stretches(spmv_plan *p, size_t bytes, multiply_pieces *multiply,
                                         cost_before *cost, int64_t pieces) {
    TRY(make_scratch(p, bytes));
    stretches *t = p->scratch;
    t->multiply = multiply;
    cut_shares(p->store, cost, pieces, shares_of(p), t->first);
    return SPMV_OK;
}

static inline spmv_status multiply_stretches(const spmv_plan *p, const stretches *t,
                                             const product *m) {
    int64_t nshares = shares_of(p);
#pragma omp parallel for schedule(static, 1) num_threads((int)nshares)
    for (int64_t s = 0; s < nshares; s++) t->multiply(m, t->first[s], t->first[s + 1]);
    return SPMV_OK;
}
#endif
