/* ordered.h: compressed rows of a matrix in another order (spmv_order.h), of which stores are built
 * and to which new values are brought. */
#ifndef SPMV_ORDERED_H
#define SPMV_ORDERED_H

#include "matrix/stores/stored.h"
#include "spmv_order.h"

typedef struct spmv_ordered { /* memory of the matrix's context; members may be NULL */
    int64_t *row_ptr;         /* [rows + 1] */
    int32_t *col_idx;         /* [nnz] */
    double *values;           /* [nnz] */
    int32_t *order;           /* [rows] as in spmv_store; or NULL if another one is used */
} spmv_ordered;

static inline spmv_row_order spmv_order_in(const spmv_choice *c) {
    return (spmv_row_order)c->value[SPMV_order];
}
static inline bool spmv_is_ordered(const spmv_stored *s) {
    return spmv_order_in(&s->choice) != SPMV_ROWS_KEEP;
}
/* Returns the matrix rows of the rows of an ordered store, in host memory. */
static inline const int32_t *spmv_order_of(const spmv_stored *s) {
    return s->order ? s->order : s->host->order;
}

/* Allocates rows of the sizes of A; on failure there is nothing to free. */
spmv_status spmv_ordered_take(spmv_ctx *ctx, const spmv_csr_view *A, spmv_ordered *out);
void spmv_ordered_free(spmv_ctx *ctx, spmv_ordered *rows);
/* Copies A's rows in that order. */
void spmv_ordered_fill(const spmv_csr_view *A, const int32_t *order, int threads,
                       spmv_ordered *out);
spmv_csr_view spmv_ordered_view(const spmv_csr_view *A, const spmv_ordered *rows);
/* Finds an order, and copies the rows of the plan's matrix in that order. */
spmv_status spmv_ordered_make(const spmv_plan *plan, spmv_ordered *out);
/* Gives a new store the order of its rows, and the arrays of these rows that it has borrowed. */
spmv_status spmv_ordered_keep(const spmv_plan *plan, spmv_ordered *rows, spmv_stored *stored);

#endif
