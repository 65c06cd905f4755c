/* carry.h: products divided into equal shares that may cut rows. One share writes such a row; the
 * sums of the others (carries) are added afterwards, in order. */
#pragma once

#include "kernel.h"

/* a constant, so that the size estimate does not depend on the number of threads */
enum { MOST_SHARES = 1024 };

typedef struct carry { /* a share's sum of a row that another share writes */
    int64_t row;       /* -1: none */
    real sum;
} carry;

/* Returns the number of shares: one per thread. */
static inline int64_t shares_of(const spmv_plan *p) {
    return p->device->threads < MOST_SHARES ? p->device->threads : MOST_SHARES;
}

/* Allocates the plan's scratch as one block, which free_scratch frees. */
static inline spmv_status make_scratch(spmv_plan *p, size_t bytes) {
    p->scratch = spmv_host_take(p->device->ctx, bytes);
    if (!p->scratch) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = bytes;
    return SPMV_OK;
}

static inline void free_scratch(spmv_plan *p) {
    spmv_host_give(p->device->ctx, p->scratch);
}

/* Returns the total cost of units 0, ..., k - 1 of a store (slices, strips, block rows, nonzeros);
 * nondecreasing in k, for k up to the number of units. */
typedef int64_t cost_before(const spmv_store *A, int64_t k);

/* Divides units into shares of about equal cost: share s has units first[s] to first[s + 1] - 1. */
static inline void cut_shares(const spmv_store *A, cost_before *cost, int64_t units,
                              int64_t nshares, int64_t *first) {
    int64_t all = cost(A, units);
    for (int64_t s = 0; s < nshares; s++) {
        int64_t low = 0, high = units, part = spmv_split(all, nshares, s);
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (cost(A, middle) < part)
                low = middle + 1;
            else
                high = middle;
        }
        first[s] = low;
    }
    first[nshares] = units;
}

/* y += alpha carries, serially (at most one per share) and in order, so that results are
 * reproducible. */
static inline void add_carries(const carry *carries, int64_t shares, real alpha, real *y) {
    for (int64_t s = 0; s < shares; s++)
        if (carries[s].row >= 0) y[carries[s].row] += alpha * carries[s].sum;
}
