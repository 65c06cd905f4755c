/* ell.h: what the ELL kernels of this folder share. */
#pragma once

#include "omp/kernel.h"
#include "formats/papers/ell/ell.h"

/* Sums slots first..last of row i, as far as they are the row's: with rowlens it ends where its
 * entries do. */
static inline real ell_dot(const ell *A, const real *x, int64_t i, int64_t first, int64_t last,
                           bool rowlens, bool simd) {
    if (rowlens && last > A->row_len[i]) last = A->row_len[i];
    return dot(A->values + i * A->width, A->col_idx + i * A->width, x, first, last, simd);
}

/* With rowlens the padding stays in memory: only the entries and the lengths are read. */
static inline spmv_status ell_prepare(spmv_plan *p) {
    const ell *A = (const ell *)p->host;
    bool rowlens = p->choice.value[SPMV_rowlens];
    p->traffic_bytes = (size_t)(rowlens ? A->s.nnz : A->s.slots) * (sizeof(real) + sizeof(idx)) +
                       (rowlens ? (size_t)A->s.rows * sizeof(idx) : 0);
    return SPMV_OK;
}
