/* loading.h: a matrix that all ranks read together: what file.c reads of a file, each rank a
 * piece, entries.c brings to the ranks that own the rows, and read.c makes rows of;
 * move.c brings them to others. */
#ifndef SPMV_RANKS_LOADING_H
#define SPMV_RANKS_LOADING_H

#include "ranks/ranks.h"

typedef struct loading {
    spmv_ranks *ranks;
    const char *path;
    const spmv_load_opts *opts;
    spmv_partition by;
    const spmv_ranks_load_opts *how;
    spmv_reading *file; /* or NULL */
    spmv_making *made;  /* or NULL */
    spmv_reading_head head;
    spmv_piece *pieces;            /* [size] */
    int64_t entries, lines, zeros; /* in the file, so far */
    spmv_chunk *chunks;            /* this rank's entries of the file */
    int64_t *even, *first_row;     /* [size + 1] rows of each rank, evenly and as they are owned */
    int64_t *ptr;          /* of even rows, [rows + 1]: where they begin among all entries */
    int64_t *each, *bytes; /* [size], [2 size] */
    int64_t nnz;           /* of all rows */
    ranks_own own;
    int64_t *next;      /* [size] where the next entry of each rank's piece goes in own */
    uint64_t sent, got; /* sums of hashes of entries, to other ranks and from them */
} loading;

static inline bool is_first(const loading *l) {
    return l->ranks->rank == 0;
}

/* Returns the first row of those that this rank counts. */
static inline int64_t own_even(const loading *l) {
    return l->even[l->ranks->rank];
}

/* ---- file.c ---------------------------------------------------------------------------- */

/* Agrees as ranks_agree does; but what is wrong in a file is so for all ranks: none is named. */
spmv_status ranks_agree_on_file(spmv_ranks *ranks, spmv_status mine);
/* Opens the file, and gets its header. Collective. */
spmv_status ranks_file_open(loading *l);
/* Refuses a matrix, of a file or a generated one, that some rank has no memory for. Collective. */
spmv_status ranks_check_room(loading *l);
/* Reads this rank's pieces into chunks. The file is closed then. Collective. */
spmv_status ranks_file_read(loading *l);

/* ---- entries.c ------------------------------------------------------------------------- */

/* Counts what this rank's even share of the rows has, of what all have read, into ptr[i + 1].
 * Collective. */
spmv_status ranks_count_rows(loading *l);
/* Sends entries to the ranks that own their rows, and frees the chunks. Own entries are in the
 * file's order: of rank 0's piece, of rank 1's, and so on. Collective. */
spmv_status ranks_send_entries(loading *l);
/* Allocates so many own entries. */
spmv_status ranks_own_alloc(loading *l, int64_t n);
void ranks_chunks_free(spmv_chunk *c);
/* Makes compressed rows of own entries. Collective. */
spmv_status ranks_build_rows(loading *l, spmv_some_rows *out);

/* ---- blocks.c -------------------------------------------------------------------------- */

/* From lengths of even rows, in ptr[i + 1], to where they begin among all entries. Collective. */
spmv_status ranks_sum_rows(loading *l);
/* Cuts rows into blocks of about as many entries each, which ptr says, or of as many rows:
 * first_row[size + 1]. Each cut is found by the rank whose even rows it falls into; all get all.
 * Collective. */
spmv_status ranks_cut_rows(loading *l, int64_t *first_row);
/* Sends numbers of rows from the ranks that have them to those that shall, in blocks both: from,
 * to: [size + 1]. Collective. */
spmv_status ranks_relay(loading *l, const int64_t *from, const int64_t *to, const int64_t *out,
                        int64_t *in);

/* ---- long_rows.c ---------------------------------------------------------------------------- */

/* Splits rows that have more entries than a rank in the mean. Collective. */
spmv_status ranks_split_long(loading *l, ranks_loaded *out);

/* ---- move.c ---------------------------------------------------------------------------- */

/* Sends own entries, whose rows are those of the whole matrix, to the ranks that own these now.
 * Collective. */
spmv_status ranks_move_entries(loading *l);
/* Brings rows from blocks to the ranks that a partition names, in new numbers. Collective. */
spmv_status ranks_move_rows(loading *l, ranks_loaded *out);

#endif
