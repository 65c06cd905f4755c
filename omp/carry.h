/* carry.h: products cut into equal shares wherever rows end: a row that several shares hold is
 * written by one of them, and what the others have of it is added afterwards, in order. */
#ifndef SPMV_OMP_CARRY_H
#define SPMV_OMP_CARRY_H

#include "omp.h"

enum { MOST_SHARES = 1024 }; /* so that the forecast need not know the threads */

typedef struct carry { /* what a share has of a row that another share writes */
    int64_t row;       /* -1: nothing */
    real sum;
} carry;

/* A share a thread. */
static inline int64_t shares_of(const spmv_plan *p) {
    return p->device->threads < MOST_SHARES ? p->device->threads : MOST_SHARES;
}

/* Serial, as there is at most one a share; always in the same order, so the result repeats. */
static inline void add_carries(const carry *carries, int64_t shares, real alpha, real *y) {
    for (int64_t s = 0; s < shares; s++)
        if (carries[s].row >= 0) y[carries[s].row] += alpha * carries[s].sum;
}
#endif
