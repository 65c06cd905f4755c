/* loading.h: reading of one matrix by all ranks. file.c reads a piece of the file per rank,
 * entries.c sends the entries to the owners of their rows, read.c builds rows, and move.c
 * redistributes entries to other owners. */
#ifndef SPMV_RANKS_LOADING_H
#define SPMV_RANKS_LOADING_H

#include "ranks/ranks.h"

typedef struct loading {
    spmv_ranks *ranks;
    const char *path;
    const spmv_load_opts *opts;
    spmv_partition by;
    const spmv_ranks_load_opts *how;
    spmv_reading *file; /* the file; NULL: generated matrix */
    spmv_making *made;  /* the generator; NULL: file */
    spmv_reading_head head;
    spmv_piece *pieces;            /* [size] pieces of the current round */
    int64_t entries, lines, zeros; /* totals of the file up to now */
    spmv_chunk *chunks;            /* entries that this rank has read */
    int64_t *even, *first_row;     /* [size + 1] first row of each even share, and of each block */
    int64_t *ptr;          /* [rows of the even share + 1] index of each row's first entry */
    int64_t *each, *bytes; /* scratch, [size] and [2 size] */
    int64_t nnz;           /* entries of the whole matrix */
    ranks_own own;
    int64_t *next;      /* [size] index in `own` of the next entry from each rank */
    uint64_t sent, got; /* sums of hashes of the entries sent to and received from other ranks */
} loading;

static inline bool is_first(const loading *l) {
    return l->ranks->rank == 0;
}

/* Returns the first row of this rank's even share. */
static inline int64_t own_even(const loading *l) {
    return l->even[l->ranks->rank];
}

/* ---- file.c ---------------------------------------------------------------------------- */

/* Like ranks_agree, but the text of a file error names no rank. */
spmv_status ranks_agree_on_file(spmv_ranks *ranks, spmv_status mine);
/* Opens the file and reads its header. Collective. */
spmv_status ranks_file_open(loading *l);
/* Fails if the matrix, read or generated, does not fit into the memory of some rank. Collective. */
spmv_status ranks_check_room(loading *l);
/* Reads this rank's pieces into chunks and closes the file. Collective. */
spmv_status ranks_file_read(loading *l);

/* ---- entries.c ------------------------------------------------------------------------- */

/* Counts the entries of all ranks in row i of this rank's even share: ptr[i + 1]. Collective. */
spmv_status ranks_count_rows(loading *l);
/* Sends each entry to the rank that owns its row, and frees the chunks. Own entries are ordered by
 * the rank that has read them, and then as in the file. Collective. */
spmv_status ranks_send_entries(loading *l);
/* Allocates memory for n own entries. */
spmv_status ranks_own_alloc(loading *l, int64_t n);
void ranks_chunks_free(spmv_chunk *c);
/* Converts own entries to CSR. Collective. */
spmv_status ranks_build_rows(loading *l, spmv_some_rows *out);

/* ---- blocks.c -------------------------------------------------------------------------- */

/* Converts row lengths in ptr[i + 1] to offsets in the whole matrix (prefix sum). Collective. */
spmv_status ranks_sum_rows(loading *l);
/* Cuts rows into blocks of about equal numbers of entries, by the offsets in ptr, or of equal
 * numbers of rows. first_row: [size + 1]. The rank whose even share contains a cut finds it; all
 * ranks receive all cuts. Collective. */
spmv_status ranks_cut_rows(loading *l, int64_t *first_row);
/* Redistributes a number per row from blocks `from` to blocks `to`, [size + 1] each. Collective. */
spmv_status ranks_relay(loading *l, const int64_t *from, const int64_t *to, const int64_t *out,
                        int64_t *in);

/* ---- long_rows.c ---------------------------------------------------------------------------- */

/* Splits rows that are longer than the mean number of entries per rank. Collective. */
spmv_status ranks_split_long(loading *l, ranks_loaded *out);

/* ---- move.c ---------------------------------------------------------------------------- */

/* Sends own entries, whose row indices are those of the whole matrix, to the owners according to
 * the current first_row. Collective. */
spmv_status ranks_move_entries(loading *l);
/* Moves rows from blocks to the ranks that a partition assigns, and renumbers them. Collective. */
spmv_status ranks_move_rows(loading *l, ranks_loaded *out);

#endif
