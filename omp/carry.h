/* carry.h: products cut into equal shares wherever rows end: a row that several shares hold is
 * written by one of them, and what the others have of it is added afterwards, in order. */
#pragma once

#include "kernel.h"

enum { MOST_SHARES = 1024 }; /* so that the forecast need not know the threads */

typedef struct carry { /* what a share has of a row that another share writes */
    int64_t row;       /* -1: nothing */
    real sum;
} carry;

/* Each thread has one share. */
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

/* Returns what the units of a store (slices, strips, block rows, nonzeros) before unit k cost
 * together. It ascends with k, which goes from 0 to the number of units. */
typedef int64_t cost_before(const spmv_store *A, int64_t k);

/* Units first[s] .. first[s + 1] - 1 become share s: whole units, about equal costs. */
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

/* Serial, as there is at most one a share; always in the same order, so the result repeats. */
static inline void add_carries(const carry *carries, int64_t shares, real alpha, real *y) {
    for (int64_t s = 0; s < shares; s++)
        if (carries[s].row >= 0) y[carries[s].row] += alpha * carries[s].sum;
}
