/* csr_shares.h: equal shares of the rows plus nonzeros of a CSR matrix, one for each thread, which
 * may cut a row; and the chunks of whole rows that large shares are divided into. */
#pragma once

#include "omp/taken.h"
#include "formats/csr/csr.h"
#include "formats/row_ends.h"

typedef struct share { /* rows first..last - 1 end in it, entries k..end - 1 */
    int64_t first, last, k, end;
    int64_t begun; /* the row last, if the share has some of it; else -1 */
} share;

enum { LONG_ROW = 16 }; /* nonzeros */

typedef struct shares {
    int64_t per_share;        /* how many chunks a share has; 1: it is not cut */
    int64_t row[MOST_SHARES]; /* first of each chunk; those between are whole */
    share share[MOST_SHARES];
} shares;

/* Cuts each share into chunks of about as many rows plus entries, between rows. */
static inline void cut_chunks(const spmv_csr_view *A, int64_t nshares, shares *t) {
    for (int64_t c = 0; c < nshares * t->per_share; c++) {
        const share *s = &t->share[c / t->per_share];
        const int64_t items = s->last + s->end - s->first - s->k;
        const int64_t before = spmv_split(items, t->per_share, c % t->per_share);
        t->row[c] = spmv_rows_ended(A, s->first + s->k + before);
    }
}

/* Returns the first of a share's entries that are in row i, or in later ones. */
static inline int64_t entry_of(const share *s, const csr *A, int64_t i) {
    return A->row_ptr[i] > s->k ? A->row_ptr[i] : s->k;
}

/* Returns a chunk: the first one of a share begins where the share does, maybe within a row, and
 * the last one ends where it does. */
static inline share chunk_of(const shares *t, const csr *A, int64_t chunk) {
    const share *s = &t->share[chunk / t->per_share];
    const int64_t c = chunk % t->per_share;
    share part = *s;
    if (c > 0) part.first = t->row[chunk], part.k = entry_of(s, A, part.first);
    if (c < t->per_share - 1) part.last = t->row[chunk + 1], part.end = entry_of(s, A, part.last);
    return part;
}

/* Returns the share that ends with a chunk; -1: none does. */
static inline int64_t share_ended(const shares *t, int64_t chunk) {
    return (chunk + 1) % t->per_share == 0 ? chunk / t->per_share : -1;
}

static inline void cut_into_shares(const csr *A, const spmv_csr_view *view, int64_t nshares,
                                   shares *t) {
    const int64_t items = A->s.rows + A->s.nnz;
    for (int64_t s = 0; s < nshares; s++) {
        int64_t begin = spmv_split(items, nshares, s), end = spmv_split(items, nshares, s + 1);
        int64_t first = spmv_rows_ended(view, begin);
        int64_t last = spmv_rows_ended(view, end);
        int64_t begun = first < last ? A->row_ptr[last] : begin - first;
        t->share[s] =
            (share){first, last, begin - first, end - last, begun < end - last ? last : -1};
    }
    t->per_share = count_chunks((int64_t)spmv_store_bytes(&A->s), nshares);
    cut_chunks(view, nshares, t);
}

static inline void multiply_chunks(const shares *t, int64_t nshares, chunk_function *multiply,
                                   const void *job) {
    taken_chunks taken;
    begin_chunks(&taken, nshares, t->per_share);
#pragma omp parallel num_threads((int)nshares)
    take_chunks(&taken, multiply, job);
}
