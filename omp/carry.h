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

/* Of the ends of the rows and the entries, merged into one list: how many rows end among its first
 * `items` items. Row i ends before entry k if row_ptr[i + 1] <= k. */
static inline int64_t rows_ended(const ofs *row_ptr, int64_t rows, int64_t nnz, int64_t items) {
    int64_t low = items > nnz ? items - nnz : 0;
    int64_t high = items < rows ? items : rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (row_ptr[middle + 1] <= items - middle - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Serial, as there is at most one a share; always in the same order, so the result repeats. */
static inline void add_carries(const carry *carries, int64_t shares, real alpha, real *y) {
    for (int64_t s = 0; s < shares; s++)
        if (carries[s].row >= 0) y[carries[s].row] += alpha * carries[s].sum;
}
#endif
