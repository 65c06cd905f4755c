/* spmv_order.h: the order of rows: a store may keep the rows of a matrix in another order than the
 * matrix, so that neighbouring rows read the same entries of x. Row i of such a store is row
 * order[i] of the matrix, and kernels write y there (spmv_stored_row). */
#ifndef SPMV_ORDER_H
#define SPMV_ORDER_H

#include "spmv_format.h"
#include "spmv_param.h"

/* The orders that the parameter `order` names. Sorting is stable. */
typedef enum spmv_row_order {
    SPMV_ROWS_KEEP, /* as in the matrix */
    SPMV_ROWS_ENDS, /* by first column, then by last column, descending */
    SPMV_ROWS_HASH, /* by minhash (Broder, 1997); then windows of rows by their first column */
    SPMV_ROWS_RCM,  /* reverse Cuthill-McKee of the graph of A + A'; square matrices only */
    SPMV_ROW_ORDERS
} spmv_row_order;

/* For the parameters of kernels that write y by spmv_stored_row. */
#define SPMV_PARAM_ORDER \
    { SPMV_order, SPMV_ROWS_KEEP, SPMV_ROWS_KEEP, SPMV_ROWS_RCM, 1, false }

enum {
    SPMV_ORDER_WINDOW = 8,    /* rows of a window that SPMV_ROWS_HASH moves together */
    SPMV_ORDER_HASHED = 1024, /* columns of a row that are hashed, at most */
    SPMV_ORDER_HASHES = 3
};

/* Finds an order: a permutation of the rows, the same for any number of threads. A: the pattern
 * alone is read, with columns ascending in each row. SPMV_E_UNSUITABLE: RCM of a matrix that is not
 * square. */
SPMV_LINKAGE spmv_status spmv_order_rows(spmv_ctx *ctx, const spmv_csr_view *A, spmv_row_order how,
                                         int threads, idx *out);

/* Returns the row of the matrix that is row i of the store. */
SPMV_ANYWHERE int64_t spmv_stored_row(const spmv_store *store, int64_t i) {
    return store->order ? store->order[i] : i;
}

/* ---- keys by which rows are sorted ----------------------------------------------------------- */

/* Rows without entries come last. col: the n columns of a row. */
SPMV_ANYWHERE uint64_t spmv_ends_key(const idx *col, int64_t n) {
    return n == 0 ? UINT64_MAX : (uint64_t)col[0] << 32 | (uint32_t)~col[n - 1];
}

/* Hash function number `which` of a column. */
SPMV_ANYWHERE uint32_t spmv_hash_of_column(idx col, int which) {
    uint32_t h = (uint32_t)col ^ 0x9e3779b9u * (uint32_t)(which + 1);
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* least: the least value of each hash function over a row's columns; UINT32_MAX: no columns. */
SPMV_ANYWHERE uint64_t spmv_hash_key(const uint32_t least[SPMV_ORDER_HASHES]) {
    if ((least[0] & least[1] & least[2]) == UINT32_MAX) return UINT64_MAX;
    return (uint64_t)(least[0] >> 10) << 42 | (uint64_t)(least[1] >> 11) << 21 | least[2] >> 11;
}

#endif
