/* ranks.h: what the files of a matrix over many ranks share. They are clients of spmv.h. */
#ifndef SPMV_RANKS_PRIVATE_H
#define SPMV_RANKS_PRIVATE_H

#include "ranks/exchange/exchange.h"
#include "spmv_environment.h"
#include "spmv_ranks.h"
#include "spmv_pieces.h"
#include <stdbool.h>
#include <string.h>

enum { TEXT_BYTES = 508 };

typedef struct said { /* by a rank, of what it has just done */
    int status;
    char text[TEXT_BYTES];
} said;

struct spmv_ranks {
    const spmv_exchange *by;
    void *state;   /* of the exchange */
    void *library; /* that it was loaded from; NULL: it is built in */
    bool began;    /* spmv_ranks_free ends MPI */
    char mpi[128]; /* with its version; "": there is none */
    spmv_ctx *ctx;
    int rank, size;
    int here; /* ranks of this host */
    said mine;
    said *all; /* [size] */
};

typedef struct ranks_part { /* compressed rows of own entries in some of the columns */
    int64_t *ptr;
    int32_t *idx;
    void *values;
    int64_t nnz;
} ranks_part;

typedef struct
    ranks_own { /* entries of own rows, as a file has them, both halves of symmetric ones */
    int64_t n;
    int32_t *row, *col; /* row: from the first own one */
    double *value;
} ranks_own;

typedef struct ranks_split { /* rows with more entries than a rank has in the mean */
    int64_t n;               /* of the whole matrix, the same on all ranks; 0: none */
    int64_t *row;            /* [n] ascending */
    int *owner;              /* [n] ranks */
    char *has;               /* [size][n] 1: the rank has entries of it, with own columns */
    ranks_part lent;         /* those of this rank: arrays of the matrix */
    spmv_mat *mat;           /* [n] rows; NULL: there are no entries */
    spmv_halo sums;          /* of these rows: what ranks get and give, as if it were x */
} ranks_split;

struct spmv_ranks_mat {
    spmv_ranks *ranks;
    spmv_ranks_facts facts;
    size_t width;       /* bytes of a value as it was given */
    int64_t *first_col; /* [size + 1] of each rank's x */
    spmv_mat *local;    /* own rows, own columns; NULL: rows are not divided yet */
    spmv_mat *remote;   /* a column for each entry of the halo; NULL: there is none */
    int32_t *listed;    /* [nlisted] own rows that have these columns, the remote part's; NULL: all
                           own rows are */
    int64_t nlisted;
    ranks_part lent_local, lent_remote; /* arrays of those of a loaded matrix; or nothing */
    spmv_mat *whole;       /* own rows, all columns; NULL: no plan multiplied by all of x yet */
    ranks_part lent_whole; /* its arrays; or those of rows that are not divided yet */
    uint64_t *remote_bits; /* a bit for each entry that was given: it is in the remote part */
    spmv_halo halo;
    ranks_split split;
    ranks_own own;              /* of a loaded matrix, if they were to be kept */
    int64_t *number;            /* [own_rows] in the file; NULL: rows were not numbered anew */
    spmv_stats stats;           /* of a loaded matrix */
    spmv_ranks_halo halo_asked; /* of plans to come */
};

/* ---- ranks.c -------------------------------------------------------------------------------- */

static inline void ranks_part_free(spmv_ranks *ranks, ranks_part *p) {
    spmv_rows_give(ranks->ctx, p->ptr);
    spmv_rows_give(ranks->ctx, p->idx);
    spmv_rows_give(ranks->ctx, p->values);
    *p = (ranks_part){0};
}

/* Notes a text and returns the status. */
spmv_status ranks_fail(spmv_ranks *ranks, spmv_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes what the context says of a failure; returns the status, whichever it is. */
spmv_status ranks_ctx_failed(spmv_ranks *ranks, spmv_status status);

/* Makes a matrix of a part, of so many rows and columns. flags: SPMV_BORROW where rows ascend,
 * without duplicates, and the part outlives it. */
static inline spmv_status ranks_part_matrix(spmv_ranks *ranks, const ranks_part *p, int64_t rows,
                                            int64_t cols, spmv_precision precision, unsigned flags,
                                            spmv_mat **out) {
    const spmv_arrays arrays = {.size = sizeof arrays,
                                .rows = rows,
                                .cols = cols,
                                .nnz = p->nnz,
                                .ptr = p->ptr,
                                .idx = p->idx,
                                .values = p->values,
                                .ptr_bits = 64,
                                .precision = precision,
                                .flags = flags};
    return ranks_ctx_failed(ranks, spmv_mat_create(ranks->ctx, &arrays, out));
}

/* Returns the same on all ranks: SPMV_OK, or the status of the first rank that has another, whose
 * text all get. Collective. */
spmv_status ranks_agree(spmv_ranks *ranks, spmv_status mine);
/* Agrees on whether all ranks got their memory. Collective. */
spmv_status ranks_agree_memory(spmv_ranks *ranks, bool mine, const char *what);
spmv_status ranks_no_memory(spmv_ranks *ranks, const char *what); /* fails */
/* The same as spmv_read_opts and spmv_fill. */
spmv_status ranks_read(spmv_ranks *ranks, const char *name, void *ours, size_t size,
                       const void *theirs);
spmv_status ranks_fill(spmv_ranks *ranks, const char *name, const void *ours, size_t size,
                       void *theirs);

/* ---- load/read.c ----------------------------------------------------------------------- */

typedef struct ranks_loaded {
    spmv_stats stats;    /* of the whole matrix */
    spmv_some_rows rows; /* own */
    int64_t own_cols;
    ranks_own own;
    int64_t *number; /* [rows] in the file; NULL: as they are */
    int64_t
        nsplit; /* rows of the whole matrix that are split, [nsplit] ascending, and their ranks */
    int64_t *split;
    int *owner;
    spmv_some_rows pieces; /* [nsplit] rows: what this rank has of each */
} ranks_loaded;
/* Reads or makes a matrix on all ranks, each a piece, up to the rows that each owns; keep: the
 * entries, too. Collective. */
spmv_status ranks_read_rows(spmv_ranks *ranks, const char *path, const spmv_load_opts *opts,
                            const spmv_ranks_load_opts *how, ranks_loaded *out);
/* These are of entries.c. */
void ranks_loaded_free(spmv_ranks *ranks, ranks_loaded *l);
void ranks_own_free(spmv_ranks *ranks, ranks_own *own);
void ranks_rows_free(spmv_ranks *ranks, spmv_some_rows *rows);

/* ---- parts.c --------------------------------------------------------------------------- */

/* Makes a matrix of rows that were loaded, whose arrays are taken or freed. Collective. */
spmv_status ranks_mat_of(spmv_ranks *ranks, ranks_loaded *l, spmv_ranks_mat **out);
/* Divides own rows into local and remote part, if they are not yet. */
spmv_status ranks_parts_make(spmv_ranks_mat *mat);
/* Says, of facts that all ranks share, whether some rank needs much of x. */
static inline bool ranks_needs_much(const spmv_ranks_facts *facts) {
    return facts->cols <= INT32_MAX && facts->most_received > 0 &&
           facts->most_received >= facts->cols / 4;
}

/* ---- split.c -------------------------------------------------------------------------------- */

/* Makes a plan for few rows or entries: a kernel that cannot hold them gives way to "auto". */
spmv_status ranks_plan_of_few(spmv_mat *mat, const spmv_plan_opts *opts, spmv_plan **out);
/* Returns the same call with sums in the place of z, rows after each other, and without y. */
spmv_call ranks_call_for_sums(const spmv_call *call, void *sums);
/* Adds sums of listed rows, k each, to these; rows of z are ldz apart. */
void ranks_listed_add(const spmv_ranks_mat *mat, const void *sums, spmv_precision precision,
                      int64_t k, int64_t ldz, void *z);
/* Takes the rows that are split. Collective. */
spmv_status ranks_split_take(spmv_ranks_mat *mat, ranks_loaded *l);
void ranks_split_free(spmv_ranks_mat *mat);

typedef struct ranks_split_plan { /* nothing where no row is split */
    spmv_plan *plan;              /* NULL: this rank has no entries of such rows */
    void *link;                   /* of the exchange of sums */
    void *own, *others; /* sums: [split rows][vectors], and those that this rank receives */
} ranks_split_plan;
/* Prepares products; row: bytes of a row of all vectors. The exchange is connected next. */
spmv_status ranks_split_prepare(const spmv_ranks_mat *mat, const spmv_plan_opts *opts, size_t row,
                                ranks_split_plan *p);
/* Collective. */
spmv_status ranks_split_connect(const spmv_ranks_mat *mat, size_t width, int64_t vectors,
                                ranks_split_plan *p);
/* Adds what their plan takes. */
spmv_status ranks_split_info(const ranks_split_plan *p, spmv_plan_facts *sum);
void ranks_split_release(const spmv_ranks_mat *mat, ranks_split_plan *p);
/* Sums what this rank has of split rows; then these sums go to the ranks that own the rows, which
 * add them. is_right: false: others get NaN. */
spmv_status ranks_split_multiply(const spmv_ranks_mat *mat, const ranks_split_plan *p,
                                 const spmv_call *call);
spmv_status ranks_split_start(const spmv_ranks_mat *mat, const ranks_split_plan *p, int64_t k,
                              bool is_right);
spmv_status ranks_split_finish(const spmv_ranks_mat *mat, const ranks_split_plan *p);
/* Adds all sums of own rows to z, whose rows of k numbers are ldz apart. */
void ranks_split_add(const spmv_ranks_mat *mat, const ranks_split_plan *p, spmv_precision precision,
                     int64_t k, int64_t ldz, void *z);

/* ---- owners.c ------------------------------------------------------------------------------- */

/* Says whether rows are in blocks, which need no owners. */
static inline bool ranks_is_blocks(spmv_partition by) {
    return by == SPMV_BY_NONZEROS || by == SPMV_BY_ROWS;
}
/* Returns the bytes that a rank takes, besides its rows, to learn the owners. */
double ranks_owners_bytes(const spmv_ranks *ranks, spmv_partition by, int64_t rows, double nnz);
/* Learns which rank gets each row. rows: of this rank, in blocks that begin at first_row[size + 1],
 * which becomes where those of the partition begin. *place gets the new number of each row, [rows
 * of the whole matrix], malloc'd. Collective. */
spmv_status ranks_number_rows(spmv_ranks *ranks, const spmv_ranks_load_opts *how,
                              const spmv_some_rows *rows, int64_t *first_row, int32_t **place);

/* ---- connect.c ------------------------------------------------------------------------------ */

/* Returns what links of numbers of so many bytes, and of up to so many vectors, need. */
spmv_need ranks_need(const spmv_ranks *ranks, const spmv_halo *halo, size_t width, int64_t vectors,
                     void *received);
/* Prepares exchanges of lists, or of all of x. Collective. */
spmv_status ranks_connect(spmv_ranks *ranks, const spmv_need *need, bool replicates, void **link);
/* Chooses between lists and all of x, of numbers of so many bytes, as asked; auto: by a trial where
 * ranks need much of it. out gets halo, and times of the trial. Collective. */
spmv_status ranks_choose_halo(const spmv_ranks_mat *mat, size_t width, int64_t vectors,
                              spmv_ranks_plan_facts *out);

/* ---- halo.c --------------------------------------------------------------------------------- */

/* Fills mat->halo: asks the owners of `wanted` columns, [n] ascending, for them. Collective. */
spmv_status ranks_halo_make(spmv_ranks_mat *mat, const int64_t *wanted, int64_t n);
void ranks_halo_free(spmv_halo *halo);

/* ---- whole.c -------------------------------------------------------------------------------- */

/* Makes mat->whole, of all entries but those of split rows, if it is not there. */
spmv_status ranks_whole_make(spmv_ranks_mat *mat);
/* Gives it, or rows that are not divided, values: those that the parts have, else those given, in
 * the order of the rows. */
spmv_status ranks_whole_renew(spmv_ranks_mat *mat, const double *values);
void ranks_whole_free(spmv_ranks_mat *mat);

#endif
