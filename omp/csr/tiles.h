/* tiles.h: what the kernels share that cut a CSR matrix into tiles. */
#ifndef SPMV_OMP_TILES_H
#define SPMV_OMP_TILES_H

#include "omp/kernel.h"
#include "formats/csr/csr.h"

/* Where the entries from k of the row that ends at `end` reach column `first`. */
static inline ofs find_column(const csr *A, ofs k, ofs end, int64_t first) {
    while (k < end && A->col_idx[k] < first) k++;
    return k;
}
#endif
