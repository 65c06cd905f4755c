/* arrays.h: reading and checking compressed rows or columns in memory. Lines are the rows, or with
 * by_columns the columns; places are where their entries lie. */
#ifndef SPMV_MATRIX_ARRAYS_H
#define SPMV_MATRIX_ARRAYS_H

#include "spmv_kernel.h"

static inline int64_t given_ptr(const spmv_arrays *a, int64_t i) {
    return a->ptr_bits == 32 ? ((const int32_t *)a->ptr)[i] : ((const int64_t *)a->ptr)[i];
}

/* Counted from 0; whatever the number is, subtracting the base is defined. */
static inline int64_t ptr_at(const spmv_arrays *a, int64_t i) {
    return (int64_t)((uint64_t)given_ptr(a, i) - (uint64_t)a->base);
}

static inline double value_at(const spmv_arrays *a, int64_t k) {
    return a->precision == SPMV_F32 ? ((const float *)a->values)[k]
                                    : ((const double *)a->values)[k];
}

/* Scalar CSR is BSR with 1 x 1 blocks. */
static inline int64_t blocks_of(int64_t numbers, int size) {
    return size > 1 ? numbers / size : numbers;
}

static inline int64_t lines_of(const spmv_arrays *a) {
    return a->by_columns ? a->cols : blocks_of(a->rows, a->block_rows);
}

static inline int64_t places_of(const spmv_arrays *a) {
    return a->by_columns ? a->rows : blocks_of(a->cols, a->block_cols);
}

static inline const char *line_name(const spmv_arrays *a) {
    return a->by_columns ? "column" : "row";
}

/* Says whether pointers, widths and flags could be right: nothing behind the pointers is read. */
spmv_status spmv_arrays_check(spmv_ctx *ctx, const spmv_arrays *a);
/* Says whether offsets and indices are right, with SPMV_VALIDATE values and triangles, too; names
 * the first entry that is not. *ascend: whether the indices do in all lines, without duplicates. */
spmv_status spmv_arrays_check_entries(spmv_ctx *ctx, const spmv_arrays *a, bool *ascend);
/* Says whether arrays may be volatile, and whether those in host memory are right. */
spmv_status spmv_arrays_check_volatile(spmv_ctx *ctx, const spmv_arrays *a);

#endif
