/* origin.h: maps values as given by the caller to values of the canonical CSR. */
#ifndef SPMV_ORIGIN_H
#define SPMV_ORIGIN_H

#include "matrix/matrix.h"
#include <stdlib.h>

typedef struct spmv_new_values { /* new values in host memory, in the order of the given entries */
    const void *values;
    spmv_precision precision;
    const uint32_t *from; /* value of entry i is values[from[i]]; NULL: values[i] */
    bool stay;            /* the array outlives the matrix, which may borrow it instead of
                             copying */
} spmv_new_values;

struct spmv_origin {
    uint32_t *entry; /* index of the given entry for each CSR entry, mirror images included */
    uint32_t *first; /* [nnz + 1] offsets into entry, if there are duplicates; NULL: no
                        duplicates */
};

static inline void spmv_origin_free(spmv_ctx *ctx, struct spmv_origin *origin) {
    if (!origin) return;
    spmv_host_give(ctx, origin->entry);
    spmv_host_give(ctx, origin->first);
    free(origin);
}

/* Returns the bytes of mat->origin in host memory. */
static inline size_t spmv_origin_bytes(const spmv_mat *mat) {
    const struct spmv_origin *origin = mat->origin;
    if (!origin) return 0;
    const size_t nnz = (size_t)mat->csr.nnz, n = origin->first ? (size_t)origin->first[nnz] : nnz;
    return (n + (origin->first ? nnz + 1 : 0)) * sizeof *origin->entry;
}

#endif
