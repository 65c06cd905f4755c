/* turn.h: compressed rows to compressed columns, and back (turn.c). */
#ifndef SPMV_TURN_H
#define SPMV_TURN_H

#include "matrix/csr.h"

/* Lines are rows and places columns, or the other way round. */
typedef struct spmv_turn {
    int64_t lines, places, nnz;
    const int64_t *ptr; /* [lines + 1], from 0 */
    const int32_t *idx; /* [nnz], counted from base */
    int base;
    const void *values; /* [nnz] in the precision; NULL: all are 1 */
    spmv_precision precision;
    int64_t *out_ptr;   /* [places + 1] */
    int32_t *out_idx;   /* [nnz] from 0, ascending in each place; as the following, or NULL */
    double *out_values; /* [nnz] */
    uint32_t *from;     /* [nnz] which entry each entry of the result is */
    uint32_t *to;       /* [nnz] which entry of the result each entry is */
} spmv_turn;
/* Returns one of the rows, without results. */
static inline spmv_turn spmv_turn_of(const spmv_csr *A, const void *values) {
    return (spmv_turn){.lines = A->rows,
                       .places = A->cols,
                       .nnz = A->nnz,
                       .ptr = A->row_ptr,
                       .idx = A->col_idx,
                       .values = values,
                       .precision = SPMV_F64};
}
/* Writes what is not NULL of the results. */
spmv_status spmv_turn_lines(spmv_ctx *ctx, const spmv_turn *t);

#endif
