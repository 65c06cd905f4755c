/* ell.cuh: shared by the row-major ELL kernels of this folder. */
#pragma once

#include "cuda/device.cuh"
#include "formats/papers/ell/ell.h"

/* Returns the bytes of the matrix read by a product; with rowlens entries and lengths, without
 * padding. */
static inline size_t ell_traffic(const ell *A, bool rowlens) {
    return (size_t)(rowlens ? A->s.nnz : A->s.slots) * (sizeof(real) + sizeof(idx)) +
           (rowlens ? (size_t)A->s.rows * sizeof(idx) : 0);
}

static inline spmv_status ell_prepare(spmv_plan *p) {
    p->traffic_bytes = ell_traffic((const ell *)p->host, p->choice.value[SPMV_rowlens] != 0);
    return SPMV_OK;
}
