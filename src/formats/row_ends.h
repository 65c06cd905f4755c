/* row_ends.h: functions of row_ptr: the longest row, equal shares of rows and nonzeros together
 * (Merrill and Garland, SC'16), and the first entry of a row from a column on. */
#ifndef SPMV_FORMATS_ROW_ENDS_H
#define SPMV_FORMATS_ROW_ENDS_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Merges row ends and entries into one list, in which row i ends before entry k if row_ptr[i + 1]
 * <= k. Returns how many rows end among its first `items` items. */
static inline int64_t spmv_rows_ended(const spmv_csr_view *A, int64_t items) {
    int64_t low = items > A->nnz ? items - A->nnz : 0;
    int64_t high = items < A->rows ? items : A->rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->row_ptr[middle + 1] <= items - middle - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the first entry from k on with column >= first; end: the end of the row. */
static inline int64_t spmv_reach_column(const int32_t *col_idx, int64_t k, int64_t end,
                                        int64_t first) {
    while (k < end && col_idx[k] < first) k++;
    return k;
}

static inline int64_t spmv_longest_row(const spmv_csr_view *A) {
    int64_t longest = 0;
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i + 1] - A->row_ptr[i] > longest)
            longest = A->row_ptr[i + 1] - A->row_ptr[i];
    return longest;
}

/* Prefetch the values or columns of rows first..end - 1, which are contiguous: a loop that reads
 * several rows at a time would wait for each. Always inlined, because gcc drops calls to functions
 * that only prefetch. */
static inline __attribute__((always_inline)) void prefetch_values(const spmv_csr_view *A,
                                                                  int64_t first, int64_t end) {
    enum { LINE = 64 / sizeof *A->values };
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k += LINE)
        __builtin_prefetch(A->values + k);
}
static inline __attribute__((always_inline)) void prefetch_columns(const spmv_csr_view *A,
                                                                   int64_t first, int64_t end) {
    enum { LINE = 64 / sizeof *A->col_idx };
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k += LINE)
        __builtin_prefetch(A->col_idx + k);
}
#endif
