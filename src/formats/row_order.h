/* row_order.h: sorts the rows of a matrix by length, window by window; for formats that store rows
 * of similar length together. */
#ifndef SPMV_ROW_ORDER_H
#define SPMV_ROW_ORDER_H

#include "spmv_format.h"
#include "spmv_helpers.h"

enum { DIGIT = 8, BINS = 1 << DIGIT };

static inline int64_t row_length(const spmv_csr_view *A, int64_t i) {
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

static inline int64_t longest_between(const spmv_csr_view *A, int64_t first, int64_t end) {
    int64_t longest = 0;
    for (int64_t i = first; i < end; i++)
        if (row_length(A, i) > longest) longest = row_length(A, i);
    return longest;
}

/* One stable pass of the sort below: n rows by one digit of their length, descending. */
static inline void sort_by_digit(const spmv_csr_view *A, const idx *from, int64_t n, int shift,
                                 idx *to) {
    int64_t place[BINS] = {0}, before = 0;
    for (int64_t i = 0; i < n; i++) place[row_length(A, from[i]) >> shift & (BINS - 1)]++;
    for (int bin = BINS - 1; bin >= 0; bin--) {
        int64_t count = place[bin];
        place[bin] = before;
        before += count;
    }
    for (int64_t i = 0; i < n; i++)
        to[place[row_length(A, from[i]) >> shift & (BINS - 1)]++] = from[i];
}

/* Sorts rows first..end - 1, longest first, by digits from the least on: mostly one or two
 * passes. */
static inline void sort_window(const spmv_csr_view *A, int64_t first, int64_t end, idx *scratch,
                               idx *perm) {
    int64_t longest = longest_between(A, first, end);
    int digits = 1;
    while (longest >> (digits * DIGIT)) digits++;
    idx *from = digits % 2 ? scratch : perm, *to = digits % 2 ? perm : scratch; /* ends in perm */
    for (int64_t i = first; i < end; i++) from[i] = (idx)i;
    for (int digit = 0; digit < digits; digit++) {
        sort_by_digit(A, from + first, end - first, digit * DIGIT, to + first);
        idx *other = from;
        from = to, to = other;
    }
}

/* Returns false if out of memory. sigma = 0: one window of all rows. */
static inline bool sort_rows(const spmv_csr_view *A, int64_t sigma, int threads, idx *perm) {
    idx *scratch = spmv_host_alloc((size_t)A->rows * sizeof *scratch);
    if (!scratch) return false;
    if (sigma == 0 || sigma > A->rows) sigma = A->rows ? A->rows : 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < A->rows; first += sigma)
        sort_window(A, first, first + sigma < A->rows ? first + sigma : A->rows, scratch, perm);
    spmv_host_free(scratch);
    return true;
}

/* Does the same with *perm allocated, which the caller frees with spmv_host_free(). */
static inline spmv_status sorted_rows(spmv_ctx *ctx, const spmv_csr_view *A, int64_t sigma,
                                      int threads, idx **perm) {
    *perm = spmv_host_alloc((size_t)A->rows * sizeof **perm);
    if (*perm && sort_rows(A, sigma, threads, *perm)) return SPMV_OK;
    spmv_host_free(*perm);
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: sorting rows takes %.1f MB",
                     2e-6 * (double)A->rows * sizeof(idx));
}
#endif
