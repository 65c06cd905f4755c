/* partition.h: which rank gets which rows of a matrix, and what each would then hold and exchange,
 * by counting, without MPI. */
#ifndef SPMV_RANKS_PARTITION_H
#define SPMV_RANKS_PARTITION_H

#include "spmv_ranks.h"
#include <stdbool.h>

/* Returns the first of the n things that rank r of so many has when they are divided evenly. */
int64_t ranks_even(int64_t n, int r, int ranks);
/* Returns the row before which the nonzeros are nearest to a target; row_ptr: [rows + 1]. */
int64_t ranks_cut(const int64_t *row_ptr, int64_t rows, double target);
/* Writes where each rank's block of rows begins, and the number of rows: first_row[ranks + 1]. */
void ranks_divide(const spmv_csr_view *A, spmv_partition by, int ranks, int64_t *first_row);

/* Returns the least length of a row that is split: more entries than a rank has in the mean, and so
 * many that they take longer than a message. */
static inline int64_t ranks_split_least(int64_t nnz, int ranks) {
    enum { LEAST = 1024 };
    const int64_t mean = nnz / ranks;
    return ranks == 1 ? INT64_MAX : mean < LEAST ? LEAST : mean + 1;
}
/* Writes the same, by nonzeros, for ranks that split such rows: an entry there counts where its
 * column is, if A is square. SPMV_OK or SPMV_E_NOMEM. */
spmv_status ranks_divide_split(const spmv_csr_view *A, int ranks, int64_t *first_row);

/* ---- owners: the rank of each row, [A->rows] ------------------------------------------------- */

void ranks_own_blocks(const int64_t *first_row, int ranks, int32_t *owner);
enum { RANKS_WHY = 320 };
/* Asks a library, "metis" or "scotch", to divide a square matrix so that ranks have about as many
 * nonzeros each and exchange little. It is loaded then. On failure why says what is wrong. */
spmv_status ranks_own_by_library(const char *library, const spmv_csr_view *A, int ranks,
                                 int32_t *owner, char why[RANKS_WHY]);
/* Reads a rank, from 0, for each row, with blanks or newlines between them. */
spmv_status ranks_own_by_file(const char *path, int64_t rows, int ranks, int32_t *owner,
                              char why[RANKS_WHY]);

/* Says whether the remote part of a rank has a list of those rows that have entries there, and not
 * all own rows: a row that is listed moves about twice the bytes of one that is not. */
static inline bool ranks_is_listed(int64_t remote_rows, int64_t rows) {
    return 2 * remote_rows <= rows;
}

/* ---- counting ------------------------------------------------------------------------------- */

typedef struct ranks_share { /* what a rank has of a matrix: as spmv_ranks_facts */
    int64_t rows, cols, nnz;
    int64_t remote_rows, remote_nnz; /* rows with others' columns, and entries there */
    int64_t received, sent;          /* entries of x in a product, and sums of split rows */
    int64_t receives_from, sends_to; /* ranks, those of x and those of sums */
} ranks_share;
/* Counts for every rank, in out[ranks]. A rank has the columns of its rows if A is square, else as
 * many as any. splits: rows of ranks_split_least entries are split. SPMV_OK or SPMV_E_NOMEM. */
spmv_status ranks_count(const spmv_csr_view *A, const int32_t *owner, int ranks, bool splits,
                        int threads, ranks_share *out);

#endif
