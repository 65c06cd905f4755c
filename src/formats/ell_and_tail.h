/* ell_and_tail.h: shared by HYB and the hybrid of ELL and CSR: the first `width` entries of every
 * row in an ELL part, and the other entries of longer rows in a tail, in the order of rows. */
#ifndef SPMV_FORMATS_ELL_AND_TAIL_H
#define SPMV_FORMATS_ELL_AND_TAIL_H

#include "spmv_backend.h"
#include "spmv_format.h"
#include "spmv_helpers.h"
#include <math.h>

typedef struct ell_and_tail {    /* arrays of a store; NULL: the format has none */
    int64_t width, rows;         /* rows: rows of the ELL part, including padding behind the last
                                    row */
    int64_t row_step, slot_step; /* entry k of row i is at i * row_step + k * slot_step */
    bool repeats;                /* padding has the last column of its row, or 0; else -1 */
    idx *ell_col, *tail_col;
    real *ell_values, *tail_values;
    idx *tail_row;    /* row of each entry of the tail */
    ofs *start, *end; /* range of each row in the tail */
    idx *row_len;     /* length of each row, both parts together */
} ell_and_tail;

static inline int64_t length_of(const spmv_csr_view *A, int64_t i) {
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

/* Counts the entries of rows first to end - 1 beyond the width. */
static inline int64_t tail_of(const spmv_csr_view *A, int64_t width, int64_t first, int64_t end) {
    int64_t tail = 0;
    for (int64_t i = first; i < end; i++)
        if (length_of(A, i) > width) tail += length_of(A, i) - width;
    return tail;
}

/* Stores a value; returns whether it overflows. */
static inline bool put_value(real *to, double from) {
    *to = (real)from;
    return isinf(*to) && !isinf(from);
}

/* Fills slot k of rows first to end - 1; returns the number of overflows. */
static inline int64_t fill_slots(const spmv_csr_view *A, int64_t k, int64_t first, int64_t end,
                                 const ell_and_tail *out) {
    int64_t overflows = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t begin = i < A->rows ? A->row_ptr[i] : 0;
        const int64_t n = i < A->rows ? A->row_ptr[i + 1] - begin : 0;
        const int64_t at = i * out->row_step + k * out->slot_step;
        out->ell_col[at] = k < n ? A->col_idx[begin + k] : -1;
        out->ell_values[at] = 0;
        if (k < n) overflows += put_value(&out->ell_values[at], A->values[begin + k]);
        if (k >= n && out->repeats) out->ell_col[at] = n ? A->col_idx[begin + n - 1] : 0;
    }
    return overflows;
}

/* Fills the tail of rows first to end - 1 from its entry `at` on; returns the number of
 * overflows. */
static inline int64_t fill_tail(const spmv_csr_view *A, int64_t first, int64_t end, int64_t at,
                                const ell_and_tail *out) {
    int64_t overflows = 0;
    for (int64_t i = first; i < end; i++) {
        if (out->row_len) out->row_len[i] = (idx)length_of(A, i);
        if (out->start) out->start[i] = (ofs)at;
        for (int64_t k = A->row_ptr[i] + out->width; k < A->row_ptr[i + 1]; k++, at++) {
            if (out->tail_row) out->tail_row[at] = (idx)i;
            out->tail_col[at] = A->col_idx[k];
            overflows += put_value(&out->tail_values[at], A->values[k]);
        }
        if (out->end) out->end[i] = (ofs)at;
    }
    return overflows;
}

/* Fills all arrays; returns the number of overflows. If slots of a row are not adjacent, a stripe
 * of rows is filled at a time, so that a cache line is used for all slots. */
static inline int64_t fill_ell_and_tail(const spmv_csr_view *A, int threads,
                                        const ell_and_tail *out) {
    const int64_t stripe = out->slot_step == 1 ? 1 : 64;
    int64_t overflows = 0, tail[SPMV_MOST_THREADS];
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int part = 0; part < threads; part++)
        tail[part] = tail_of(A, out->width, spmv_split(A->rows, threads, part),
                             spmv_split(A->rows, threads, part + 1));
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : overflows)
    for (int part = 0; part < threads; part++) {
        const int64_t stop = spmv_split(out->rows, threads, part + 1);
        int64_t before = 0;
        for (int p = 0; p < part; p++) before += tail[p];
        for (int64_t first = spmv_split(out->rows, threads, part); first < stop; first += stripe) {
            const int64_t end = first + stripe < stop ? first + stripe : stop;
            for (int64_t k = 0; k < out->width; k++) overflows += fill_slots(A, k, first, end, out);
        }
        overflows += fill_tail(A, spmv_split(A->rows, threads, part),
                               spmv_split(A->rows, threads, part + 1), before, out);
    }
    return overflows;
}

#endif
