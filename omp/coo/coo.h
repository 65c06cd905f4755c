/* coo.h: equal shares of entries sorted by row, for COO and the tail of HYB. */
#pragma once

#include "omp/carry.h"

/* Returns the sum over the entries of one row from *k on, up to `end` at most; advances *k. */
static inline real sum_row(const idx *row, const idx *col, const real *values, const real *x,
                           int64_t *k, int64_t end) {
    real sum = 0;
    int64_t at = *k;
    idx i = row[at];
    do {
        sum += values[at] * x[col[at]];
        at++;
    } while (at < end && row[at] == i);
    *k = at;
    return sum;
}

/* y += alpha A x. A share adds to the rows that begin in it; its part of a row that began in an
 * earlier share becomes a carry. */
static inline void add_entries(const spmv_plan *p, int64_t n, const idx *row, const idx *col,
                               const real *values, const real *x, real alpha, carry *carries,
                               real *y) {
    int64_t shares = shares_of(p);
#pragma omp parallel for schedule(static, 1) num_threads((int)shares)
    for (int64_t s = 0; s < shares; s++) {
        int64_t k = spmv_split(n, shares, s), end = spmv_split(n, shares, s + 1);
        bool is_inside = k > 0 && k < end && row[k - 1] == row[k];
        carries[s].row = is_inside ? row[k] : -1;
        if (is_inside) carries[s].sum = sum_row(row, col, values, x, &k, end);
        while (k < end) {
            idx i = row[k];
            y[i] += alpha * sum_row(row, col, values, x, &k, end);
        }
    }
    add_carries(carries, shares, alpha, y);
}

static inline size_t carries_estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c;
    return MOST_SHARES * sizeof(carry);
}

static inline spmv_status carries_prepare(spmv_plan *p) {
    return make_scratch(p, MOST_SHARES * sizeof(carry));
}
