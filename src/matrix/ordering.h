/* ordering.h: what the orders of rows (spmv_order.h) are made with. */
#ifndef SPMV_MATRIX_ORDERING_H
#define SPMV_MATRIX_ORDERING_H

#include "spmv_order.h"

/* n keys with a number each, and room for both, to be sorted. */
typedef struct spmv_keys {
    uint64_t *key, *other_key; /* [n] */
    idx *number, *other_number;
    int64_t *before; /* [threads][bins of a digit] */
} spmv_keys;
/* Allocates for n keys; on failure there is nothing to free. */
spmv_status spmv_keys_take(spmv_ctx *ctx, int64_t n, int threads, spmv_keys *out);
void spmv_keys_free(spmv_keys *keys);
/* Sorts the n numbers by their keys, stably: radix sort by digits of 11 bits, from the least on;
 * digits in which all keys agree are skipped. */
void spmv_keys_sort(spmv_keys *keys, int64_t n, int threads);

/* Orders the rows of a square matrix (rcm.c). */
spmv_status spmv_order_rcm(spmv_ctx *ctx, const spmv_csr_view *A, int threads, idx *out);

#endif
