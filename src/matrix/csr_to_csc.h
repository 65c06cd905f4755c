/* csr_to_csc.h: converts CSR to CSC and back. */
#ifndef SPMV_CSR_TO_CSC_H
#define SPMV_CSR_TO_CSC_H

#include "csr.h"

/* Transposition of compressed lines: CSR to CSC if lines are rows and places columns, and vice
 * versa. */
typedef struct spmv_csc_conversion {
    int64_t lines, places, nnz;
    const int64_t *ptr; /* [lines + 1] offsets from 0 */
    const int32_t *idx; /* [nnz] indices from base */
    int base;
    const void *values; /* [nnz] in the precision; NULL: all values are 1 */
    spmv_precision precision;
    int64_t *out_ptr;   /* [places + 1] */
    int32_t *out_idx;   /* [nnz] from 0, ascending within each line. NULL: not wanted, also below */
    double *out_values; /* [nnz] in the order of the result */
    uint32_t *from;     /* [nnz] index of each entry of the result in the source */
    uint32_t *to;       /* [nnz] index of each source entry in the result */
} spmv_csc_conversion;
/* Returns the transposition of compressed rows, without outputs. */
static inline spmv_csc_conversion spmv_conversion_of_rows(const spmv_csr *A, const void *values) {
    return (spmv_csc_conversion){.lines = A->rows,
                                 .places = A->cols,
                                 .nnz = A->nnz,
                                 .ptr = A->row_ptr,
                                 .idx = A->col_idx,
                                 .values = values,
                                 .precision = SPMV_F64};
}
/* Writes the outputs that are not NULL. */
spmv_status spmv_csr_to_csc(spmv_ctx *ctx, const spmv_csc_conversion *t);

#endif
