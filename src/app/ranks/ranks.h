/* ranks.h: spmv run as several ranks, the processes that an MPI's launcher starts: launcher.c (who
 * started it), ranks_world.c (what they agree on), run_ranks.c (the invocation), ranks_matrix.c (a
 * matrix is read, each rank a piece), ranks_check.c (the check of each rank's rows), ranks_time.c
 * (products, and when they end), ranks_record.c (the record). Rank 0 prints and logs; the others
 * say nothing. */
#ifndef SPMV_APP_RANKS_H
#define SPMV_APP_RANKS_H

#include "app/run/inputs.h"
#include "app/run/results/describe.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include "app/run/timing/noise.h"
#include "app/run/verify.h"

typedef struct sheet { /* sizes of the whole matrix */
    int64_t rows, cols, nnz;
} sheet;

typedef struct ranks {
    session *run;
    spmv_ranks *ranks;
    int rank, size;
    int *host; /* [size] the first rank of the host that each is on */
    ranks_team team;
    void *votes; /* buffer of ranks_vote */
    sheet of;
    spmv_ranks_mat *mat;
    spmv_ranks_facts facts, *all; /* facts of this rank; [size] of all ranks */
    const int64_t *number;        /* indices of own rows in the file, of mat; NULL: consecutive */
    spmv_coo_view own;            /* entries of own rows, borrowed from mat; none without a check */
    double *x;           /* [vectors][of.cols] of -x; NULL: numbers are made by their index */
    oracle *right[2][2]; /* [x was typed][precision], of each vector; NULL: not made yet */
} ranks;

enum { WAYS = SPMV_PRODUCT_ALONE + 1 };
typedef struct tick { /* a rank's sample */
    double begin, end;
    int64_t status;
} tick;

typedef struct course { /* products of one cell */
    spmv_ranks_plan *plan;
    spmv_precision precision;
    int64_t k;
    void *x, *y, *y0;
    spmv_ranks_way way;     /* overlapped, or exchange and product in turn */
    bool typed;             /* x is that of -x */
    double scale;           /* factor of x: a power of 2 or its negative */
    int inner, n, capacity; /* products of a sample, samples */
    double *slowest[WAYS];  /* [n] seconds of a product, on the host that took longest */
    double *own;            /* [n] of this rank, in that way */
    tick *ticks;            /* [size] */
} course;

static inline bool is_first(const ranks *w) {
    return w->rank == 0;
}

/* Returns the number that an own row has in the file. */
static inline int64_t ranks_row(const ranks *w, int64_t i) {
    return w->number ? w->number[i] : w->facts.first_row + i;
}

/* Returns the number that an own entry of x has: rows and columns of square matrices have the
 * same. */
static inline int64_t ranks_col(const ranks *w, int64_t j) {
    return w->number && w->of.rows == w->of.cols ? w->number[j] : w->facts.first_col + j;
}

/* ---- ranks_world.c -------------------------------------------------------------------------- */

/* Starts MPI, and fills all of ranks but `run` that does not depend on a matrix. */
int ranks_open(ranks *w, const spmv_ctx_opts *context);
void ranks_close(ranks *w);
/* Lets a rank that ends without a matrix tell the others so, which may have been started otherwise:
 * they would wait for it. Returns the code, for all of them. */
int ranks_leave(int code);
/* Returns, on all ranks, the first exit code that is not 0; rank 0 has printed the reason.
 * Collective. */
int ranks_vote(ranks *w, int code);
/* The exit code of a failure of all ranks, whose text rank 0 prints. */
int ranks_failed(const ranks *w, spmv_status status);
/* Refuses ranks that were started otherwise than rank 0, or have another hash of x. Collective. */
int ranks_compare(ranks *w, uint64_t x);
uint64_t ranks_hash(const void *from, size_t n);

/* ---- ranks_matrix.c ------------------------------------------------------------------------- */

/* Reads what multiplies and what the check needs. in: of rank 0, filled as for a run alone; stats
 * live as long as the matrix. Each returns an exit code. Collective. */
int ranks_load_source(ranks *w, const char *source, spmv_stats *stats, inputs *in);
void ranks_unload(ranks *w);
/* Writes y, dealt out in rows of k numbers, to the file of --result. Collective. */
int ranks_save_y(ranks *w, const course *c);

/* ---- ranks_check.c -------------------------------------------------------------------------- */

/* Sets own x, as typed or made of its index, times a power of 2, its negative or NaN, and y0 of a
 * course, and poisons y. */
void ranks_set_vectors(const ranks *w, course *c, double scale);
/* Multiplies by NaN, so that every halo holds it, and then sets vectors. Collective. */
spmv_status ranks_poison(const ranks *w, course *c);
/* Checks own rows of y; a verdict of all rows, the same on all ranks. Collective. */
int ranks_check(ranks *w, const course *c, verdict *out);

/* ---- ranks_time.c --------------------------------------------------------------------------- */

/* Multiplies once. A failure of one rank is one of all. Collective. */
spmv_status ranks_multiply(const ranks *w, const course *c, spmv_ranks_way way);
/* Returns the way with the least of n samples, which others disturb least; both were taken in turn.
 */
spmv_ranks_way ranks_faster_way(const double *overlapped, const double *in_turn, int n);
/* Returns the share of the exchange that overlapping hides, 0 to 1, likewise; NaN: it takes no
 * time. */
double ranks_hidden(double *const slowest[WAYS], int n);
/* Warms up, and chooses how products go and how many a sample has. Collective. */
spmv_status ranks_ready(const ranks *w, course *c, const sampling *how, timing *t);
/* Samples every way once; t->done: it was the last round. Collective. */
spmv_status ranks_round(const ranks *w, course *c, const sampling *how, timing *t);

/* ---- ranks_record.c ------------------------------------------------------------------------- */

/* Adds up what ranks of rank 0's host did and waited. Collective. */
int ranks_add_noise(ranks *w, noise *n);
/* Makes the record of a row on rank 0, as describe_row does. Collective. */
int ranks_describe(ranks *w, inputs *in, candidate *e, course *c, const char *status, result *out);
void ranks_introduce(const ranks *w);
/* Says under the table what became of the exchange. */
void ranks_explain(const result *out);

#endif
