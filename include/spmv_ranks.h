/* spmv_ranks.h: one sparse matrix distributed over ranks, the processes of an MPI program.
 *
 * Every rank owns some rows of A, the same rows of y, and some entries of x. A product fetches the
 * halo, those entries of x that this rank's rows need and other ranks own, while it multiplies the
 * entries of A that need only own x.
 *
 *     MPI_Comm comm = MPI_COMM_WORLD;
 *     spmv_ranks *ranks = NULL;  spmv_ranks_mat *A = NULL;  spmv_ranks_plan *plan = NULL;
 *     if (spmv_ranks_create(&comm, NULL, &ranks) != SPMV_OK) puts(spmv_ranks_error(NULL));
 *     if (spmv_ranks_mat_load(ranks, "A.mtx", NULL, &A) != SPMV_OK) puts(spmv_ranks_error(ranks));
 *     if (spmv_ranks_plan_create(A, NULL, &plan) != SPMV_OK) puts(spmv_ranks_error(ranks));
 *     spmv_ranks_exec(plan, 1.0, x, 0.0, y);
 *     spmv_ranks_plan_free(plan);  spmv_ranks_mat_free(A);  spmv_ranks_free(ranks);
 *
 * The conventions are those of spmv.h, with an spmv_ranks instead of a context. A function marked
 * "Collective" must be called by all ranks, in the same order. If it fails on one rank it fails on
 * all, with the status of that rank, and the text begins with the rank's number. Only one thread of
 * a rank at a time may use an spmv_ranks and the handles made from it. */
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
    const spmv_ctx_opts *context; /* threads 0: OMP_NUM_THREADS, else the host's cores over ranks */
    /* Library of the exchange. "mpich", "openmpi": libspmv_NAME.so beside this library or in ../lib
     * of its folder; a path with a slash: that file; "self": no exchange, for one rank. NULL: that
     * of the MPI which this process has loaded. */
    const char *exchange;
} spmv_ranks_opts;

/* Makes ranks of the processes of a communicator. communicator: address of an MPI_Comm, which is
 * duplicated; MPI must be initialized. NULL: this process is the only rank; but if opts name the
 * exchange of an MPI, this call initializes that MPI, all its processes are the ranks, and
 * spmv_ranks_free finalizes it. SPMV_E_FEATURE: a rank has no exchange for this MPI. Collective; if
 * only the exchange can call the MPI, ranks do not learn that another rank lacks it. */
spmv_status spmv_ranks_create(const void *communicator, const spmv_ranks_opts *opts,
                              spmv_ranks **out);
/* Frees the ranks; call it before MPI_Finalize and after freeing matrices and plans. Collective. */
void spmv_ranks_free(spmv_ranks *ranks);
/* Returns the text of the last failure, "" if there was none. If ranks is NULL, or the thread's
 * last failure had no spmv_ranks (a NULL matrix or plan, or spmv_ranks_create), returns the text of
 * that failure. */
const char *spmv_ranks_error(const spmv_ranks *ranks);
/* Returns this process's rank, from 0. */
int spmv_ranks_rank(const spmv_ranks *ranks);
/* Returns the number of ranks. */
int spmv_ranks_size(const spmv_ranks *ranks);
/* Returns name and version of the MPI, or "" without one. */
const char *spmv_ranks_mpi(const spmv_ranks *ranks);
/* Terminates all ranks with this exit code; normally does not return. */
void spmv_ranks_abort(spmv_ranks *ranks, int code);
/* Allgather: all[r] receives the `bytes` bytes of rank r, on all ranks. Collective. */
spmv_status spmv_ranks_gather(spmv_ranks *ranks, const void *mine, size_t bytes, void *all);
/* Alltoallv in bytes: sends out_bytes[r] bytes to each rank r and receives in_bytes[r] from it;
 * both buffers are ordered by rank, without gaps. Collective. */
spmv_status spmv_ranks_deal(spmv_ranks *ranks, const void *out, const int64_t *out_bytes, void *in,
                            const int64_t *in_bytes);
/* Returns this rank's context, which the ranks own. */
spmv_ctx *spmv_ranks_ctx(const spmv_ranks *ranks);

/* ---- matrix --------------------------------------------------------------------------------- */

/* Partition of the rows: into blocks of about equal numbers of nonzeros, or of rows; by a library
 * that partitions a square matrix as a graph; or as the caller or a file says. BY_NONZEROS splits a
 * row that has more entries than the mean per rank, and at least 1,024: each rank multiplies the
 * entries whose columns it owns, and the owner of the row adds the sums in ascending order of
 * ranks. Partitions other than blocks renumber the rows, and the columns of a square matrix: those
 * of rank 0 first, then those of rank 1, and so on; within a rank the order is kept. */
typedef enum spmv_partition {
    SPMV_BY_NONZEROS = 0,
    SPMV_BY_ROWS,
    SPMV_BY_METIS,
    SPMV_BY_SCOTCH,
    SPMV_BY_OWNERS
} spmv_partition;

typedef struct spmv_ranks_load_opts {
    size_t size;
    const spmv_load_opts *load; /* as in spmv_mat_load; NULL: defaults */
    spmv_partition partition;
    int keep_entries;       /* 1: keep entries for spmv_ranks_mat_entries, 16 bytes each */
    const int32_t *owner;   /* [owners] SPMV_BY_OWNERS: rank (from 0) of each row; used on rank 0 */
    int64_t owners;         /* number of rows */
    const char *owner_file; /* text file with the owners, read by rank 0 if owner is NULL */
} spmv_ranks_load_opts;

/* CSR of the rows that a rank owns, unsorted and with duplicates, which are added. */
typedef struct spmv_ranks_rows {
    size_t size;
    int64_t rows, cols, nnz; /* own rows; own entries of x, in total A's columns, and equal to rows
                                if y is to be the next x */
    const int64_t *ptr;      /* [rows + 1] */
    const int64_t *idx;      /* [nnz] columns of the whole matrix, from 0 */
    const void *values;      /* [nnz] in `precision` */
    spmv_precision precision;
} spmv_ranks_rows;

/* Loads or generates a matrix like spmv_mat_load, in pieces: no rank stores all entries. Every rank
 * opens a plain file and reads its share of the bytes; any other file is opened by rank 0, which
 * sends text to the others. Of a gen: matrix every rank generates its own rows. x of a square
 * matrix is divided like its rows, otherwise evenly. SPMV_E_ARG: file names differ between ranks
 * (folders may), or plain files differ in length or first bytes. Errors in a file are reported with
 * their line, as by spmv_mat_load, without a rank. If the rows do not fit, the text of SPMV_E_NOMEM
 * says how many ranks would suffice. METIS and Scotch need the pattern of the whole matrix on rank
 * 0. Collective. */
spmv_status spmv_ranks_mat_load(spmv_ranks *ranks, const char *path,
                                const spmv_ranks_load_opts *opts, spmv_ranks_mat **out);
/* Distributes a matrix that rank 0 has loaded into its context of these ranks, and keeps; other
 * ranks pass NULL. opts: as above, except `load`; blocks only. Collective. */
spmv_status spmv_ranks_mat_deal(spmv_ranks *ranks, spmv_mat *mat, const spmv_ranks_load_opts *opts,
                                spmv_ranks_mat **out);
/* Returns the whole matrix's statistics, as spmv_mat_stats; SPMV_E_UNSUITABLE if not loaded. */
spmv_status spmv_ranks_mat_stats(const spmv_ranks_mat *mat, spmv_stats *out);
/* Returns a view of the entries of this rank's rows as in the file. It has both halves of a
 * symmetric matrix. Rows count from the first own one; columns are the file's.
 * SPMV_E_UNSUITABLE: not kept. */
spmv_status spmv_ranks_mat_entries(const spmv_ranks_mat *mat, spmv_coo_view *view);
/* Returns the file's row numbers of own rows, [own_rows] ascending; for a square matrix also those
 * of own columns. NULL: rows are not renumbered. The matrix owns the array. */
const int64_t *spmv_ranks_mat_numbers(const spmv_ranks_mat *mat);
/* Makes a matrix of the rows that each rank has. The arrays are copied. Collective. */
spmv_status spmv_ranks_mat_create(spmv_ranks *ranks, const spmv_ranks_rows *rows,
                                  spmv_ranks_mat **out);
/* Sets new values for the entries of this rank's rows: as many as given, in the same order and
 * precision. For a loaded matrix: f64, by rows and ascending columns, followed by this rank's
 * entries of split rows in the same order. If it fails, the values must be set again before the
 * next product. Collective. */
spmv_status spmv_ranks_mat_set_values(spmv_ranks_mat *mat, const void *values);
/* Exchange of x. LISTS: each rank receives the entries that its rows need. REPLICATE: all ranks
 * receive all of x and multiply all columns of their rows at once. AUTO: if some rank needs a
 * quarter of x or more, a short trial compares the replicated exchange with that by lists plus one
 * pass through y, which the second product of lists needs; otherwise LISTS. AUTO falls back to
 * LISTS if a rank has no memory for a replicated x, or a kernel cannot hold all columns. */
typedef enum spmv_ranks_halo {
    SPMV_HALO_AUTO = 0,
    SPMV_HALO_LISTS,
    SPMV_HALO_REPLICATE
} spmv_ranks_halo;
/* Sets the exchange of later plans. A replicated x has at most 2^31 - 1 entries. Collective. */
spmv_status spmv_ranks_mat_set_halo(spmv_ranks_mat *mat, spmv_ranks_halo halo);
/* Frees a matrix, after its plans. */
void spmv_ranks_mat_free(spmv_ranks_mat *mat);

typedef struct spmv_ranks_facts {
    size_t size;
    int64_t rows, cols, nnz;              /* whole matrix; nnz: entries as given */
    int64_t first_row, own_rows, own_nnz; /* this rank; own_nnz: entries that it multiplies */
    int64_t first_col, own_cols;          /* own block of x */
    int64_t local_nnz, remote_nnz;        /* given entries with own and with other columns */
    int64_t received, sent;               /* entries of x per product, and sums of split rows */
    int receives_from, sends_to;          /* ranks, once for x and once for sums */
    int64_t most_received, most_own_nnz;  /* maximum over all ranks */
} spmv_ranks_facts;
/* Returns the facts of a matrix on this rank. */
spmv_status spmv_ranks_mat_info(const spmv_ranks_mat *mat, spmv_ranks_facts *out);

/* ---- plan ----------------------------------------------------------------------------------- */

/* Prepares products, as spmv_plan_create does. Local entries (own columns) and remote entries
 * (other columns) have a kernel each; if the given kernel cannot hold the remote part, "auto" is
 * used for it. If few rows have remote entries, the remote part has these rows only, whose sums are
 * added to y. With a replicated x one kernel multiplies all entries and must hold own rows and all
 * columns; after plans of both kinds the matrix stores entries twice, 12 bytes each. Several
 * vectors must be in rows (SPMV_ROWS). Transposed products and scalars on a device fail with
 * SPMV_E_UNSUITABLE. Collective. */
spmv_status spmv_ranks_plan_create(spmv_ranks_mat *mat, const spmv_plan_opts *opts,
                                   spmv_ranks_plan **out);
/* Frees a plan. Collective. */
void spmv_ranks_plan_free(spmv_ranks_plan *plan);
/* Returns the facts of the local and remote plan; either may be NULL. With a replicated x local
 * covers all entries. Without a remote plan all remote facts are zero. */
spmv_status spmv_ranks_plan_info(const spmv_ranks_plan *plan, spmv_plan_facts *local,
                                 spmv_plan_facts *remote);

typedef struct spmv_ranks_plan_facts {
    size_t size;
    spmv_ranks_halo halo;        /* SPMV_HALO_LISTS or SPMV_HALO_REPLICATE */
    int64_t received, sent;      /* entries of x per product; replicated: own ones counted once */
    int receives_from, sends_to; /* ranks */
    double lists_s, replicate_s; /* exchange in the trial on the slowest rank; 0: no trial */
    const char *carrier; /* transport: "memory" of a host, "mpi", "memory+mpi"; "": one rank */
} spmv_ranks_plan_facts;
/* Returns what this rank exchanges in a product. */
spmv_status spmv_ranks_plan_exchange(const spmv_ranks_plan *plan, spmv_ranks_plan_facts *out);

/* Order of exchange and product. OVERLAPPED: multiplies the local part during the exchange (a
 * replicated x is always IN_TURN). IN_TURN: exchanges first. For timing: EXCHANGE_ALONE leaves y
 * unchanged; PRODUCT_ALONE uses the previous halo or replicated x, so y is wrong if x has
 * changed. */
typedef enum spmv_ranks_way {
    SPMV_OVERLAPPED = 0,
    SPMV_IN_TURN,
    SPMV_EXCHANGE_ALONE,
    SPMV_PRODUCT_ALONE
} spmv_ranks_way;
/* Sets how later products run. Must be the same on all ranks, which is not checked. */
spmv_status spmv_ranks_plan_set_way(spmv_ranks_plan *plan, spmv_ranks_way way);

/* Multiplies: y <- alpha A x + beta y. x: [own_cols], y: [own_rows], in the plan's precision; they
 * must not overlap. Collective, except that failures are not communicated, which would take longer
 * than many products: a rank that cannot multiply takes part in the exchange and fails alone; if it
 * has no x, the others receive NaN. An infinite alpha may multiply partial sums of a row and make
 * any of them NaN. A call without k exchanges the plan's number of vectors. */
spmv_status spmv_ranks_exec(const spmv_ranks_plan *plan, double alpha, const void *x, double beta,
                            void *y);
/* Multiplies as `call` says, like spmv_apply; k must be the same on all ranks. Dot products, a
 * transpose and several vectors in columns fail with SPMV_E_UNSUITABLE. Collective like
 * spmv_ranks_exec. */
spmv_status spmv_ranks_apply(const spmv_ranks_plan *plan, const spmv_call *call);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
