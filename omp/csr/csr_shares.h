/* csr_shares.h: equal shares of the rows plus nonzeros of a CSR matrix, one per thread, which may
 * cut a row, and the chunks of whole rows into which large shares are divided. */
#pragma once

#include "omp/taken.h"
#include "formats/csr/csr.h"
#include "spmv_order.h"

typedef struct share { /* rows first, ..., last - 1 end in it; it has entries k, ..., end - 1 */
    int64_t first, last, k, end;
    int64_t begun; /* last, if the share has a part of this row, otherwise -1 */
} share;

enum { LONG_ROW = 16 }; /* nonzeros */

typedef struct shares {
    int64_t per_share;        /* chunks per share; 1: undivided */
    int64_t row[MOST_SHARES]; /* first row of each chunk, except the first of a share */
    share share[MOST_SHARES];
} shares;

/* Merges row ends and entries into one list, in which row i ends before entry k if row_ptr[i + 1]
 * <= k. Returns how many rows end among its first `items` items. */
static inline int64_t rows_ended(const csr *A, int64_t items) {
    int64_t low = items > A->s.nnz ? items - A->s.nnz : 0;
    int64_t high = items < A->s.rows ? items : A->s.rows;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (A->row_ptr[middle + 1] <= items - middle - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Divides each share between rows into chunks of about equal rows plus entries. */
static inline void cut_chunks(const csr *A, int64_t nshares, shares *t) {
    for (int64_t c = 0; c < nshares * t->per_share; c++) {
        const share *s = &t->share[c / t->per_share];
        const int64_t items = s->last + s->end - s->first - s->k;
        const int64_t before = spmv_split(items, t->per_share, c % t->per_share);
        t->row[c] = rows_ended(A, s->first + s->k + before);
    }
}

/* Returns the first entry of the share in row i or later. */
static inline int64_t entry_of(const share *s, const csr *A, int64_t i) {
    return A->row_ptr[i] > s->k ? A->row_ptr[i] : s->k;
}

/* Returns a chunk. The first chunk of a share begins at the start of the share, maybe within a row;
 * the last chunk ends at its end. */
static inline share chunk_of(const shares *t, const csr *A, int64_t chunk) {
    const share *s = &t->share[chunk / t->per_share];
    const int64_t c = chunk % t->per_share;
    share part = *s;
    if (c > 0) part.first = t->row[chunk], part.k = entry_of(s, A, part.first);
    if (c < t->per_share - 1) part.last = t->row[chunk + 1], part.end = entry_of(s, A, part.last);
    return part;
}

/* Returns the share whose last chunk this is, or -1. */
static inline int64_t share_ended(const shares *t, int64_t chunk) {
    return (chunk + 1) % t->per_share == 0 ? chunk / t->per_share : -1;
}

static inline void cut_into_shares(const csr *A, int64_t nshares, shares *t) {
    const int64_t items = A->s.rows + A->s.nnz;
    for (int64_t s = 0; s < nshares; s++) {
        int64_t begin = spmv_split(items, nshares, s), end = spmv_split(items, nshares, s + 1);
        int64_t first = rows_ended(A, begin);
        int64_t last = rows_ended(A, end);
        int64_t begun = first < last ? A->row_ptr[last] : begin - first;
        t->share[s] =
            (share){first, last, begin - first, end - last, begun < end - last ? last : -1};
    }
    t->per_share = count_chunks((int64_t)spmv_store_bytes(&A->s), nshares);
    cut_chunks(A, nshares, t);
}

static inline void multiply_chunks(const shares *t, int64_t nshares, chunk_function *multiply,
                                   const void *job) {
    taken_chunks taken;
    begin_chunks(&taken, nshares, t->per_share);
#pragma omp parallel num_threads((int)nshares)
    take_chunks(&taken, multiply, job);
}
