/* origin.h: where the values of the canonical CSR come from, of those that were given. */
#ifndef SPMV_ORIGIN_H
#define SPMV_ORIGIN_H

#include "matrix/matrix.h"
#include <stdlib.h>

typedef struct spmv_new_values { /* in host memory, in the order of the entries */
    const void *values;
    spmv_precision precision;
    const uint32_t *from; /* the entries' values are values[from[0]], ...; NULL: values[0], ... */
    bool stay;            /* a matrix that borrows its values may borrow these */
} spmv_new_values;

struct spmv_origin {
    uint32_t *entry; /* those given, mirrored ones too, in the order of the canonical CSR */
    uint32_t *first; /* [nnz + 1] into entry, where duplicates are several; NULL: there are none */
};

static inline void spmv_origin_free(spmv_ctx *ctx, struct spmv_origin *origin) {
    if (!origin) return;
    spmv_host_give(ctx, origin->entry);
    spmv_host_give(ctx, origin->first);
    free(origin);
}

/* Returns the bytes of host memory that mat->origin takes. */
static inline size_t spmv_origin_bytes(const spmv_mat *mat) {
    const struct spmv_origin *origin = mat->origin;
    if (!origin) return 0;
    const size_t nnz = (size_t)mat->csr.nnz, n = origin->first ? (size_t)origin->first[nnz] : nnz;
    return (n + (origin->first ? nnz + 1 : 0)) * sizeof *origin->entry;
}

#endif
