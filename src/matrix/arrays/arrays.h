/* arrays.h: reading and checking compressed rows or columns in memory. Lines are rows, or columns
 * if by_columns; places are positions in a line: columns, or rows if by_columns. */
#ifndef SPMV_MATRIX_ARRAYS_H
#define SPMV_MATRIX_ARRAYS_H

#include "spmv_kernel.h"

static inline int64_t given_ptr(const spmv_arrays *a, int64_t i) {
    return a->ptr_bits == 32 ? ((const int32_t *)a->ptr)[i] : ((const int64_t *)a->ptr)[i];
}

/* Offset i, counted from 0. Unsigned subtraction of the base is defined for any content. */
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

/* Checks pointers for NULL, widths and flags; does not read the arrays. */
spmv_status spmv_arrays_check(spmv_ctx *ctx, const spmv_arrays *a);
/* Checks offsets and indices, with SPMV_VALIDATE also values and triangles; the message names the
 * first wrong entry. *ascend: whether indices ascend strictly in every line. */
spmv_status spmv_arrays_check_entries(spmv_ctx *ctx, const spmv_arrays *a, bool *ascend);
/* Checks whether arrays may be volatile, and the content of arrays in host memory. */
spmv_status spmv_arrays_check_volatile(spmv_ctx *ctx, const spmv_arrays *a);

#endif
