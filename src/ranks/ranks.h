/* ranks.h: declarations shared by the files of src/ranks, which use the library through spmv.h. */
#ifndef SPMV_RANKS_PRIVATE_H
#define SPMV_RANKS_PRIVATE_H

#include "ranks/exchange/exchange.h"
#include "spmv_environment.h"
#include "spmv_ranks.h"
#include "spmv_pieces.h"
#include <stdbool.h>
#include <string.h>

enum { TEXT_BYTES = 508 };

typedef struct said { /* status and error text of a rank's last step */
    int status;
    char text[TEXT_BYTES];
} said;

struct spmv_ranks {
    const spmv_exchange *by;
    void *state;   /* state of the exchange */
    void *library; /* handle of the loaded exchange; NULL: built in */
    bool began;    /* this library has initialized MPI and must finalize it */
    char mpi[128]; /* name and version of the MPI; "": none */
    spmv_ctx *ctx;
    int rank, size;
    int here; /* ranks on this host */
    said mine;
    said *all; /* [size] */
};

typedef struct ranks_part { /* CSR of own rows, restricted to some columns */
    int64_t *ptr;
    int32_t *idx;
    void *values;
    int64_t nnz;
} ranks_part;

typedef struct
    /* entries of own rows in the file's order, with the transposed entries of symmetric files */
    ranks_own {
    int64_t n;
    int32_t *row, *col; /* row: relative to the first own row */
    double *value;
} ranks_own;

typedef struct ranks_split { /* rows with more entries than the mean per rank */
    int64_t n;               /* rows of the whole matrix, equal on all ranks; 0: none */
    int64_t *row;            /* [n] ascending */
    int *owner;              /* [n] rank that owns the row */
    char *has;               /* [size][n] 1: the rank owns columns of the row's entries */
    ranks_part lent;         /* this rank's entries; arrays of `mat` */
    spmv_mat *mat;           /* [n] rows; NULL: this rank has no entries */
    spmv_halo sums;          /* exchange of the n sums, described like a halo of x */
} ranks_split;

struct spmv_ranks_mat {
    spmv_ranks *ranks;
    spmv_ranks_facts facts;
    size_t width;       /* bytes of a value as given by the caller */
    int64_t *first_col; /* [size + 1] first column of each rank's block of x */
    spmv_mat *local;    /* own rows, own columns; NULL: not divided yet */
    spmv_mat *remote;   /* one column per entry of the halo; NULL: none */
    int32_t *listed;    /* [nlisted] own rows that the remote part stores; NULL: all own rows */
    int64_t nlisted;
    ranks_part lent_local, lent_remote; /* arrays of the parts of a loaded matrix */
    spmv_mat *whole;       /* own rows, all columns; NULL: no plan has used a replicated x yet */
    ranks_part lent_whole; /* arrays of `whole`, or of rows not divided yet */
    uint64_t *remote_bits; /* one bit per given entry: 1 if it is in the remote part */
    spmv_halo halo;
    ranks_split split;
    ranks_own own;              /* kept entries of a loaded matrix */
    int64_t *number;            /* [own_rows] row of the file; NULL: rows are not renumbered */
    spmv_stats stats;           /* statistics of a loaded matrix */
    spmv_ranks_halo halo_asked; /* request for plans created from now on */
};

/* ---- ranks.c -------------------------------------------------------------------------------- */

static inline void ranks_part_free(spmv_ranks *ranks, ranks_part *p) {
    spmv_rows_give(ranks->ctx, p->ptr);
    spmv_rows_give(ranks->ctx, p->idx);
    spmv_rows_give(ranks->ctx, p->values);
    *p = (ranks_part){0};
}

/* Stores an error text and returns `status`. */
spmv_status ranks_fail(spmv_ranks *ranks, spmv_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* If `status` is a failure, copies the context's error text. Returns `status`. */
spmv_status ranks_ctx_failed(spmv_ranks *ranks, spmv_status status);

/* Makes a matrix from a part. flags: SPMV_BORROW if canonical and the part outlives *out. */
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

/* Returns SPMV_OK if `mine` is SPMV_OK on all ranks, otherwise the status of the first rank that
 * failed, whose error text all ranks receive. Collective. */
spmv_status ranks_agree(spmv_ranks *ranks, spmv_status mine);
/* Returns SPMV_OK if `mine` is true on all ranks, otherwise SPMV_E_NOMEM; what: for the error
 * text. Collective. */
spmv_status ranks_agree_memory(spmv_ranks *ranks, bool mine, const char *what);
/* Stores the error text "out of memory for `what`" and returns SPMV_E_NOMEM. */
spmv_status ranks_no_memory(spmv_ranks *ranks, const char *what);
/* Copies a caller's struct, which begins with its size, to ours of `size` bytes; leaves ours
 * unchanged if theirs is NULL. */
spmv_status ranks_read(spmv_ranks *ranks, const char *name, void *ours, size_t size,
                       const void *theirs);

/* Fills a caller's struct, which begins with its size, from ours of `size` bytes. */
spmv_status ranks_fill(spmv_ranks *ranks, const char *name, const void *ours, size_t size,
                       void *theirs);

/* ---- load/read.c ----------------------------------------------------------------------- */

typedef struct ranks_loaded {
    spmv_stats stats;    /* statistics of the whole matrix */
    spmv_some_rows rows; /* own rows */
    int64_t own_cols;
    ranks_own own;
    int64_t *number; /* [rows] row of the file; NULL: not renumbered */
    int64_t nsplit;  /* split rows of the whole matrix */
    int64_t *split;
    int *owner;
    spmv_some_rows pieces; /* [nsplit] rows: entries whose columns this rank owns */
} ranks_loaded;
/* Reads or generates a matrix on all ranks; each rank receives the rows that it owns and, if opts
 * demand, their entries. Collective. */
spmv_status ranks_read_rows(spmv_ranks *ranks, const char *path, const spmv_load_opts *opts,
                            const spmv_ranks_load_opts *how, ranks_loaded *out);
void ranks_loaded_free(spmv_ranks *ranks, ranks_loaded *l);
void ranks_own_free(spmv_ranks *ranks, ranks_own *own);
void ranks_rows_free(spmv_ranks *ranks, spmv_some_rows *rows);

/* ---- parts.c --------------------------------------------------------------------------- */

/* Makes a distributed matrix of loaded rows, whose arrays are moved or freed. Collective. */
spmv_status ranks_mat_of(spmv_ranks *ranks, ranks_loaded *l, spmv_ranks_mat **out);
/* Divides own rows into local and remote part, unless they are divided already. */
spmv_status ranks_parts_make(spmv_ranks_mat *mat);
/* Returns whether some rank needs a quarter of x or more; equal on all ranks. */
static inline bool ranks_needs_much(const spmv_ranks_facts *facts) {
    return facts->cols <= INT32_MAX && facts->most_received > 0 &&
           facts->most_received >= facts->cols / 4;
}

/* ---- split.c -------------------------------------------------------------------------------- */

/* Makes a plan for a part with few rows or entries. If the kernel cannot hold it, uses "auto". */
spmv_status ranks_plan_of_few(spmv_mat *mat, const spmv_plan_opts *opts, spmv_plan **out);
/* Returns a call that stores into sums, [rows][k], instead of z, with beta = 0. */
spmv_call ranks_call_for_sums(const spmv_call *call, void *sums);
/* Adds the sums of listed rows, [nlisted][k], to z, whose leading dimension is ldz. */
void ranks_listed_add(const spmv_ranks_mat *mat, const void *sums, spmv_precision precision,
                      int64_t k, int64_t ldz, void *z);
/* Takes the split rows over from `l`. Collective. */
spmv_status ranks_split_take(spmv_ranks_mat *mat, ranks_loaded *l);
void ranks_split_free(spmv_ranks_mat *mat);

typedef struct ranks_split_plan { /* all NULL if no row is split */
    spmv_plan *plan;              /* NULL: this rank has no entries of split rows */
    void *link;                   /* state of the exchange of sums */
    void *own, *others; /* [split rows][vectors] own sums; [received][vectors] sums received */
} ranks_split_plan;
/* Allocates sums and makes the plan. row: bytes of a row of all vectors. */
spmv_status ranks_split_prepare(const spmv_ranks_mat *mat, const spmv_plan_opts *opts, size_t row,
                                ranks_split_plan *p);
/* Connects the exchange of sums. Collective. */
spmv_status ranks_split_connect(const spmv_ranks_mat *mat, size_t width, int64_t vectors,
                                ranks_split_plan *p);
/* Adds the times and bytes of the plan to *sum. */
spmv_status ranks_split_info(const ranks_split_plan *p, spmv_plan_facts *sum);
void ranks_split_release(const spmv_ranks_mat *mat, ranks_split_plan *p);
/* A product of split rows: `multiply` computes this rank's sums, `start` and `finish` exchange
 * them, ranks_split_add adds them to z. is_right = false: sends NaN. */
spmv_status ranks_split_multiply(const spmv_ranks_mat *mat, const ranks_split_plan *p,
                                 const spmv_call *call);
spmv_status ranks_split_start(const spmv_ranks_mat *mat, const ranks_split_plan *p, int64_t k,
                              bool is_right);
spmv_status ranks_split_finish(const spmv_ranks_mat *mat, const ranks_split_plan *p);
/* Adds all sums of own split rows to z, whose leading dimension is ldz. */
void ranks_split_add(const spmv_ranks_mat *mat, const ranks_split_plan *p, spmv_precision precision,
                     int64_t k, int64_t ldz, void *z);

/* ---- owners.c ------------------------------------------------------------------------------- */

/* Returns whether the partition is by blocks of rows, which need no list of owners. */
static inline bool ranks_is_blocks(spmv_partition by) {
    return by == SPMV_BY_NONZEROS || by == SPMV_BY_ROWS;
}
/* Returns the bytes that this rank needs in addition to its rows, to compute the owners. */
double ranks_owners_bytes(const spmv_ranks *ranks, spmv_partition by, int64_t rows, double nnz);
/* Computes the owner of each row, and renumbers the rows. rows: of this rank, in blocks given by
 * first_row, [size + 1], which is replaced by the blocks of the new numbering. *place: [rows of the
 * whole matrix] new number of each row, malloc'd. Collective. */
spmv_status ranks_number_rows(spmv_ranks *ranks, const spmv_ranks_load_opts *how,
                              const spmv_some_rows *rows, int64_t *first_row, int32_t **place);

/* ---- connect.c ------------------------------------------------------------------------------ */

/* Returns the parameters of an exchange of `width`-byte elements and at most `vectors` vectors. */
spmv_need ranks_need(const spmv_ranks *ranks, const spmv_halo *halo, size_t width, int64_t vectors,
                     void *received);
/* Prepares exchanges by halo lists, or of a replicated x. Collective. */
spmv_status ranks_connect(spmv_ranks *ranks, const spmv_need *need, bool replicates, void **link);
/* Chooses between halo lists and a replicated x for `width`-byte elements: as set, or by a trial if
 * some rank needs much of x. Sets the halo and the trial's times in *out. Collective. */
spmv_status ranks_choose_halo(const spmv_ranks_mat *mat, size_t width, int64_t vectors,
                              spmv_ranks_plan_facts *out);

/* ---- halo.c --------------------------------------------------------------------------------- */

/* Fills mat->halo for the wanted columns, [n] ascending. Collective. */
spmv_status ranks_halo_make(spmv_ranks_mat *mat, const int64_t *wanted, int64_t n);
void ranks_halo_free(spmv_halo *halo);

/* ---- whole.c -------------------------------------------------------------------------------- */

/* Makes mat->whole (all entries except those of split rows) unless it exists. */
spmv_status ranks_whole_make(spmv_ranks_mat *mat);
/* Sets the values of mat->whole or of undivided rows: from the parts if rows are divided, otherwise
 * from `given`, in the order of the rows. */
spmv_status ranks_whole_renew(spmv_ranks_mat *mat, const double *values);
void ranks_whole_free(spmv_ranks_mat *mat);

#endif
