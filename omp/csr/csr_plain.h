/* csr_plain.h: a serial loop over the rows of a CSR matrix, for csr_serial and small csr_rows. */
#pragma once

#include "omp/kernel.h"
#include "formats/csr/csr.h"

/* alpha = 1 and beta = 0. A separate function, because otherwise the compiler keeps the general
 * case's operands in registers, which costs 5 to 10 %. */
static __attribute__((noinline)) void overwrite_rows(const ofs *row_ptr, const idx *col_idx,
                                                     const real *values, const real *x, real *y,
                                                     int64_t rows) {
    for (int64_t i = 0, k = row_ptr[0]; i < rows; i++) {
        const int64_t end = row_ptr[i + 1];
        real sum = 0;
        for (; k < end; k++) sum += values[k] * x[col_idx[k]];
        y[i] = sum;
    }
}

static inline void multiply_rows(const csr *A, real alpha, const real *x, real beta, real *y,
                                 bool simd) {
    if (!simd && alpha == 1 && beta == 0)
        overwrite_rows(A->row_ptr, A->col_idx, A->values, x, y, A->s.rows);
    else
        for (int64_t i = 0; i < A->s.rows; i++)
            put_row(y + i, alpha,
                    dot(A->values, A->col_idx, x, A->row_ptr[i], A->row_ptr[i + 1], simd), beta);
}
