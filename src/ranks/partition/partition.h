/* partition.h: assigns the rows of a matrix to ranks, and counts what each rank would then store
 * and exchange, without MPI. */
#ifndef SPMV_RANKS_PARTITION_H
#define SPMV_RANKS_PARTITION_H

#include "spmv_ranks.h"
#include <stdbool.h>

/* Returns the first of n items that belongs to rank r if the items are divided evenly. */
int64_t ranks_even(int64_t n, int r, int ranks);
/* Returns the row i for which row_ptr[i] is nearest to `target`. row_ptr: [rows + 1]. */
int64_t ranks_cut(const int64_t *row_ptr, int64_t rows, double target);
/* Writes the first row of each rank's block: first_row[ranks + 1]. */
void ranks_divide(const spmv_csr_view *A, spmv_partition by, int ranks, int64_t *first_row);

/* Returns the least length of a row that is split: more than the mean number of entries per rank,
 * and at least 1,024, below which a message takes longer than the entries. */
static inline int64_t ranks_split_least(int64_t nnz, int ranks) {
    enum { LEAST = 1024 };
    const int64_t mean = nnz / ranks;
    return ranks == 1 ? INT64_MAX : mean < LEAST ? LEAST : mean + 1;
}
/* Like ranks_divide by nonzeros, for ranks that split long rows: an entry of a long row counts at
 * the owner of its column, if A is square. Returns SPMV_OK or SPMV_E_NOMEM. */
spmv_status ranks_divide_split(const spmv_csr_view *A, int ranks, int64_t *first_row);

/* ---- owners: the rank of each row, [A->rows] ------------------------------------------------- */

void ranks_own_blocks(const int64_t *first_row, int ranks, int32_t *owner);
enum { RANKS_WHY = 320 };
/* Partitions a square matrix by "metis" or "scotch", so that ranks have about equal numbers of
 * nonzeros and exchange little. Loads the library. On failure `why` receives the reason. */
spmv_status ranks_own_by_library(const char *library, const spmv_csr_view *A, int ranks,
                                 int32_t *owner, char why[RANKS_WHY]);
/* Reads the rank (from 0) of each row from a text file of numbers separated by white space. */
spmv_status ranks_own_by_file(const char *path, int64_t rows, int ranks, int32_t *owner,
                              char why[RANKS_WHY]);

/* Returns whether the remote part of a rank stores only the rows that have remote entries, together
 * with a list of these rows. A listed row moves about twice the bytes of an unlisted one. */
static inline bool ranks_is_listed(int64_t remote_rows, int64_t rows) {
    return 2 * remote_rows <= rows;
}

/* ---- counting ------------------------------------------------------------------------------- */

/* sizes of what a rank stores and exchanges; members as in spmv_ranks_facts */
typedef struct ranks_share {
    int64_t rows, cols, nnz;
    int64_t remote_rows, remote_nnz; /* rows with remote entries; remote entries */
    int64_t received, sent;          /* entries of x in a product, and sums of split rows */
    int64_t receives_from, sends_to; /* ranks, once for x and once for sums */
} ranks_share;
/* Counts for every rank: out[ranks]. If A is square, the owner of row i also owns column i;
 * otherwise columns are divided evenly. splits: rows of at least ranks_split_least entries are
 * split. Returns SPMV_OK or SPMV_E_NOMEM. */
spmv_status ranks_count(const spmv_csr_view *A, const int32_t *owner, int ranks, bool splits,
                        int threads, ranks_share *out);

#endif
