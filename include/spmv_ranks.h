/* spmv_ranks.h: one sparse matrix over many ranks, the processes of an MPI program.
 *
 * Every rank owns a block of rows of A, the same rows of y, and a block of x; ranks follow each
 * other in the order of rows. A product fetches those entries of x that other ranks own and this
 * one's rows need, its halo, while it multiplies what needs none.
 *
 *     MPI_Comm comm = MPI_COMM_WORLD;
 *     spmv_ranks *ranks = NULL;  spmv_ranks_mat *A = NULL;  spmv_ranks_plan *plan = NULL;
 *     if (spmv_ranks_create(&comm, NULL, &ranks) != SPMV_OK) puts(spmv_ranks_error(NULL));
 *     if (spmv_ranks_mat_load(ranks, "A.mtx", NULL, &A) != SPMV_OK) puts(spmv_ranks_error(ranks));
 *     if (spmv_ranks_plan_create(A, NULL, &plan) != SPMV_OK) puts(spmv_ranks_error(ranks));
 *     spmv_ranks_exec(plan, 1.0, x, 0.0, y);
 *     spmv_ranks_plan_free(plan);  spmv_ranks_mat_free(A);  spmv_ranks_free(ranks);
 *
 * The conventions are those of spmv.h, with an spmv_ranks in the place of a context. The comment of
 * a collective function says so: all ranks call such functions, in the same order. When one of them
 * fails on one rank it fails on all, with that rank's status, and the text begins with that rank.
 * At most one thread of a rank at a time uses an spmv_ranks and what was made from it. */
#ifndef SPMV_RANKS_H
#define SPMV_RANKS_H

#include "spmv.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct spmv_ranks spmv_ranks;
typedef struct spmv_ranks_mat spmv_ranks_mat;
typedef struct spmv_ranks_plan spmv_ranks_plan;

/* ---- ranks ---------------------------------------------------------------------------------- */

typedef struct spmv_ranks_opts {
    size_t size;
    const spmv_ctx_opts *context; /* of this rank. Threads: NULL or 0: OMP_NUM_THREADS, else the
                                     cores of this host, divided among its ranks */
    /* Names what ranks talk through. "mpich", "openmpi": libspmv_NAME.so beside this library or in
     * ../lib of it; with a slash: that file. "self": nothing, for one rank. NULL: that of the MPI
     * which this process has loaded. */
    const char *exchange;
} spmv_ranks_opts;

/* Makes *out of the processes of a communicator. communicator: the address of an MPI_Comm, which is
 * duplicated; MPI_Init was called. NULL: this process alone; but if opts name the exchange of an
 * MPI, this call initializes that MPI, all its processes are the ranks, and spmv_ranks_free
 * finalizes it. SPMV_E_FEATURE: some rank has no exchange for this MPI. Collective; an MPI that
 * only the exchange can call cannot tell the other ranks that one rank has no exchange. */
spmv_status spmv_ranks_create(const void *communicator, const spmv_ranks_opts *opts,
                              spmv_ranks **out);
/* Frees the ranks, before MPI is finalized and after what was made from them. Collective. */
void spmv_ranks_free(spmv_ranks *ranks);
/* Returns the text of the last failure, "" when there was none. With NULL, or if the last call that
 * failed in this thread had no spmv_ranks, as one whose matrix or plan is NULL or a failed
 * spmv_ranks_create: the text of that call. */
const char *spmv_ranks_error(const spmv_ranks *ranks);
/* Returns this process's rank, from 0. */
int spmv_ranks_rank(const spmv_ranks *ranks);
/* Returns the number of ranks. */
int spmv_ranks_size(const spmv_ranks *ranks);
/* Returns name and version of its MPI; "": it has none. */
const char *spmv_ranks_mpi(const spmv_ranks *ranks);
/* Ends all ranks, with that exit code; does not return, as a rule. */
void spmv_ranks_abort(spmv_ranks *ranks, int code);
/* Gathers as many bytes of each rank: all[size] gets them, on all ranks. Collective. */
spmv_status spmv_ranks_gather(spmv_ranks *ranks, const void *mine, size_t bytes, void *all);
/* Sends bytes to each rank, those for rank 0 first, and gets others, in the same order: out_bytes
 * and in_bytes, [size], say how many. Collective. */
spmv_status spmv_ranks_deal(spmv_ranks *ranks, const void *out, const int64_t *out_bytes, void *in,
                            const int64_t *in_bytes);
/* Lends this rank's context. */
spmv_ctx *spmv_ranks_ctx(const spmv_ranks *ranks);

/* ---- matrix --------------------------------------------------------------------------------- */

/* Says how rows are divided: into blocks of about as many nonzeros each, or of as many rows; by a
 * library, which divides a square matrix as a graph; or as the caller or a file says. By nonzeros,
 * a row with more than a rank has in the mean, and with 1,024 or more, is split: each rank
 * multiplies what has its own columns, and the rank that owns the row adds the sums in the ranks'
 * order. All but
 * blocks number rows anew, and with them the columns of a square matrix: those of rank 0 come
 * first, then those of rank 1, and so on, and in each rank they keep their order. */
typedef enum spmv_partition {
    SPMV_BY_NONZEROS = 0,
    SPMV_BY_ROWS,
    SPMV_BY_METIS,
    SPMV_BY_SCOTCH,
    SPMV_BY_OWNERS
} spmv_partition;

typedef struct spmv_ranks_load_opts {
    size_t size;
    const spmv_load_opts *load; /* as of spmv_mat_load; NULL: none */
    spmv_partition partition;
    int keep_entries;       /* 1: of own rows, for spmv_ranks_mat_entries: 16 bytes each */
    const int32_t *owner;   /* [owners] of SPMV_BY_OWNERS: the rank of each row of the matrix, from
                               0; rank 0's are taken, and others may give NULL */
    int64_t owners;         /* as many as rows */
    const char *owner_file; /* where owner is NULL: rank 0 reads them from it, as text */
} spmv_ranks_load_opts;

/* The rows that a rank owns, as compressed rows: unsorted and with duplicates (they are added). */
typedef struct spmv_ranks_rows {
    size_t size;
    int64_t rows, cols, nnz; /* own rows; own entries of x, whose sum over the ranks is A's columns,
                                and which are as many as the rows where y is to be the next x */
    const int64_t *ptr;      /* [rows + 1] */
    const int64_t *idx;      /* [nnz] columns of the whole matrix, from 0 */
    const void *values;      /* [nnz] in precision */
    spmv_precision precision;
} spmv_ranks_rows;

/* Loads or generates a matrix, as spmv_mat_load does, in pieces: no rank has all entries. Every
 * rank reads its share of the bytes of a plain file, which all of them open; any other one rank 0
 * opens alone, and deals out its text. Of a gen: matrix every rank makes its own rows. A square
 * matrix has x divided as its rows are, another one evenly. SPMV_E_ARG: ranks name files of other
 * names, wherever these lie, or their plain files differ in length or in their first bytes. What is
 * wrong in a file is said with its line, as spmv_mat_load does, and names no rank. Where the rows
 * do not fit, SPMV_E_NOMEM says how many ranks would do. METIS and Scotch need the pattern of the
 * whole matrix on rank 0. Collective. */
spmv_status spmv_ranks_mat_load(spmv_ranks *ranks, const char *path,
                                const spmv_ranks_load_opts *opts, spmv_ranks_mat **out);
/* Deals out a matrix that rank 0 has loaded into its context of these ranks, and keeps; others give
 * NULL. opts: as above, but for `load`, and in blocks only. Collective. */
spmv_status spmv_ranks_mat_deal(spmv_ranks *ranks, spmv_mat *mat, const spmv_ranks_load_opts *opts,
                                spmv_ranks_mat **out);
/* Says of the whole of a loaded matrix what spmv_mat_stats does; of others SPMV_E_UNSUITABLE. */
spmv_status spmv_ranks_mat_stats(const spmv_ranks_mat *mat, spmv_stats *out);
/* Lends the entries of this rank's rows as the file has them, both halves of a symmetric matrix:
 * rows count from the first own one, columns are those of the whole matrix, numbered as the file
 * numbers them. SPMV_E_UNSUITABLE: they were not kept. */
spmv_status spmv_ranks_mat_entries(const spmv_ranks_mat *mat, spmv_coo_view *view);
/* Lends the numbers that own rows have in the file, [own_rows] ascending; those of own columns are
 * the same, if the matrix is square. NULL: rows were not numbered anew. */
const int64_t *spmv_ranks_mat_numbers(const spmv_ranks_mat *mat);
/* Makes a matrix of the rows that each rank has. They are copied. Collective. */
spmv_status spmv_ranks_mat_create(spmv_ranks *ranks, const spmv_ranks_rows *rows,
                                  spmv_ranks_mat **out);
/* Gives the entries of this rank's rows other values: as many as were given, in that order and
 * precision; of a loaded matrix in f64, by rows and in them by columns, and then likewise what it
 * multiplies of split rows. If one rank cannot, all fail, and the matrix must get values again
 * before a product is right. Collective. */
spmv_status spmv_ranks_mat_set_values(spmv_ranks_mat *mat, const void *values);
/* Says what ranks get of x: each those entries that its rows need, or all of them all of x, by
 * which they multiply all columns of their rows at once. Or plans take what is faster in a short
 * trial, where some rank needs a quarter of x, and lists elsewhere: all of x if its exchange takes
 * no longer than that by lists and a pass through y, which a second product needs. Lists are taken,
 * too, where a rank has no memory for all of x, or a kernel cannot have all columns. */
typedef enum spmv_ranks_halo {
    SPMV_HALO_AUTO = 0,
    SPMV_HALO_LISTS,
    SPMV_HALO_REPLICATE
} spmv_ranks_halo;
/* Sets it for plans that are made from here on; all of x, on every rank, is no more than 2^31 - 1
 * entries. Collective. */
spmv_status spmv_ranks_mat_set_halo(spmv_ranks_mat *mat, spmv_ranks_halo halo);
/* Frees a matrix, after its plans. */
void spmv_ranks_mat_free(spmv_ranks_mat *mat);

typedef struct spmv_ranks_facts {
    size_t size;
    int64_t rows, cols, nnz;              /* of the whole matrix; nnz counts what was given */
    int64_t first_row, own_rows, own_nnz; /* of this rank; of split rows, what it multiplies */
    int64_t first_col, own_cols;          /* of x */
    int64_t local_nnz, remote_nnz;        /* given entries with own columns, and with others' */
    int64_t received, sent;               /* entries of x in a product, and sums of split rows */
    int receives_from, sends_to;          /* ranks, once for x and once for sums */
    int64_t most_received, most_own_nnz;  /* of any rank */
} spmv_ranks_facts;
/* Says what this rank has of a matrix. */
spmv_status spmv_ranks_mat_info(const spmv_ranks_mat *mat, spmv_ranks_facts *out);

/* ---- plan ----------------------------------------------------------------------------------- */

/* Prepares products, as spmv_plan_create does. Entries with own columns, and those with others',
 * have a kernel each; one that cannot hold the latter gives way to "auto" for these. Where few
 * rows have others', that is a matrix of these rows alone, whose sums are added to y. Where a rank
 * gets all of x it has one kernel for all entries, which must hold a matrix of own rows and all
 * columns; the matrix keeps entries twice, 12 bytes each, once plans of both kinds were made.
 * Several vectors are in rows (SPMV_ROWS). Transposed products are SPMV_E_UNSUITABLE, and so are
 * scalars on a device. Collective. */
spmv_status spmv_ranks_plan_create(spmv_ranks_mat *mat, const spmv_plan_opts *opts,
                                   spmv_ranks_plan **out);
/* Frees a plan. Collective. */
void spmv_ranks_plan_free(spmv_ranks_plan *plan);
/* Says how this rank multiplies entries with own columns, and with others'; either may be NULL.
 * Where it gets all of x, local is of all entries. Without a halo, and then, every remote fact is
 * zero. */
spmv_status spmv_ranks_plan_info(const spmv_ranks_plan *plan, spmv_plan_facts *local,
                                 spmv_plan_facts *remote);

typedef struct spmv_ranks_plan_facts {
    size_t size;
    spmv_ranks_halo halo;        /* lists, or replicate */
    int64_t received, sent;      /* entries of x in a product; replicated: own ones count once */
    int receives_from, sends_to; /* ranks */
    double lists_s, replicate_s; /* of an exchange in the trial, of the slowest rank; 0: none */
    const char *carrier; /* what x goes through: "memory" that ranks of a host share, "mpi", or
                            "memory+mpi"; "": there is one rank */
} spmv_ranks_plan_facts;
/* Says what this rank exchanges in a product. */
spmv_status spmv_ranks_plan_exchange(const spmv_ranks_plan *plan, spmv_ranks_plan_facts *out);

/* Says how products go: own columns while the halo is on its way, or after it has come, as always
 * where ranks get all of x; or, to be timed alone, the exchange without a product, which leaves y
 * as it is, or the product without an exchange, with the last halo, or all of the last x, whose y
 * is wrong where x has changed. */
typedef enum spmv_ranks_way {
    SPMV_OVERLAPPED = 0,
    SPMV_IN_TURN,
    SPMV_EXCHANGE_ALONE,
    SPMV_PRODUCT_ALONE
} spmv_ranks_way;
/* Sets how products of a plan go from here on: the same on all ranks, which do not agree on it. */
spmv_status spmv_ranks_plan_set_way(spmv_ranks_plan *plan, spmv_ranks_way way);

/* Multiplies: y <- alpha A x + beta y. x: own_cols numbers, y: own_rows, in the plan's precision;
 * they do not overlap. Collective; but a product agrees on nothing, which would take longer than
 * many a product. A rank that cannot multiply still takes part, and fails alone; if it has no x
 * the others get NaN from it. An infinite alpha may multiply parts of a row, and make NaN of any.
 * Where its call does not say k, it takes part with the plan's number of vectors. */
spmv_status spmv_ranks_exec(const spmv_ranks_plan *plan, double alpha, const void *x, double beta,
                            void *y);
/* Multiplies as the call says, as spmv_apply does; k is the same on all ranks. Sums on the way, a
 * transpose and several vectors in columns are SPMV_E_UNSUITABLE. Collective, as spmv_ranks_exec
 * is. */
spmv_status spmv_ranks_apply(const spmv_ranks_plan *plan, const spmv_call *call);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
