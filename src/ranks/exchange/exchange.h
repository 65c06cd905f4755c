/* exchange.h: the interface through which ranks communicate: a constant table of functions, one
 * table per implementation (file). Callers depend neither on MPI nor on where vectors lie. */
#ifndef SPMV_RANKS_EXCHANGE_H
#define SPMV_RANKS_EXCHANGE_H

#include "spmv.h"
#include <stdbool.h>

/* The entries of x that a rank receives and sends in one product, grouped by the other rank. */
typedef struct spmv_halo {
    int nfrom, nto;             /* numbers of ranks to receive from, and to send to */
    int *from, *to;             /* [nfrom], [nto] rank numbers, ascending */
    int *from_count, *to_count; /* [nfrom], [nto] entries per rank, at least 1 */
    int32_t *give;              /* [sent] indices into own x: for to[0], then for to[1], ... */
    int64_t received, sent;     /* sums of from_count and to_count */
    int64_t *column;            /* [received] columns of the whole matrix, ascending */
    const int64_t *first_col;   /* [ranks + 1] first column of each rank's block of x; borrowed */
} spmv_halo;

typedef struct spmv_need { /* parameters of the exchanges that `connect` prepares */
    const spmv_halo *halo;
    size_t width;    /* bytes of an element of x */
    int64_t vectors; /* most vectors in one exchange */
    void *received;  /* [halo->received][vectors] buffer that a link by lists may receive into */
    int threads;     /* threads that may pack entries; in_parts runs `work` once on each */
    void (*in_parts)(int threads, void (*work)(void *arg, int part, int parts), void *arg);
} spmv_need;

enum { SPMV_EXCHANGE_VERSION = 6 }; /* version of this table; raise it with every change below */

typedef struct spmv_exchange {
    int version;
    const char *name;
    /* begin: initializes MPI unless it is initialized, and returns the address of a communicator of
     * all its processes. end: finalizes MPI if `begin` has initialized it. */
    spmv_status (*begin)(const void **communicator);
    void (*end)(void);
    /* Writes the name and version of the transport. */
    void (*describe)(char *out, size_t size);
    /* Terminates all ranks with exit code `code`. */
    void (*abort)(void *state, int code);
    /* Opens the exchange on a communicator. All later functions take this `state`. If `open` or a
     * later function runs out of memory on one rank, the call fails on all ranks. */
    spmv_status (*open)(const void *communicator, void **state, int *rank, int *size);
    void (*close)(void *state);
    /* Returns the minimum of the statuses of all ranks: SPMV_OK if all ranks pass SPMV_OK.
     * Allocates nothing, so that a rank that is out of memory can report it. */
    spmv_status (*agree)(void *state, spmv_status mine);
    /* Allgather in host memory: all[r] receives the `bytes` bytes of rank r. */
    spmv_status (*gather)(void *state, const void *mine, size_t bytes, void *all);
    /* Alltoallv in bytes: sends out_bytes[r] bytes to each rank r and receives in_bytes[r] from it.
     * Both buffers are ordered by rank and without gaps. */
    spmv_status (*deal)(void *state, const void *out, const int64_t *out_bytes, void *in,
                        const int64_t *in_bytes);
    /* Prepares exchanges. replicates = 1: every rank receives all of x, at most INT32_MAX entries,
     * and need->received is not used. replicates = 0: each rank receives its halo. The halo and
     * need->received must stay valid until `disconnect`. */
    spmv_status (*connect)(void *state, const spmv_need *need, int replicates, void **link);
    void (*disconnect)(void *link);
    /* Starts to send this rank's entries of x to the other ranks: k vectors in rows, leading
     * dimension ldx. x = NULL sends NaN. x must not change until `finish`. */
    spmv_status (*start)(void *link, const void *x, int64_t k, int64_t ldx);
    spmv_status (*finish)(void *link); /* waits until this rank has received its entries */
    /* Returns the received entries, [halo->received][k], or the replicated x, [columns][k], valid
     * until the next `start`. Before the first `start` the content is undefined. */
    void *(*latest)(void *link);
    /* Returns the transport of this rank's entries: "memory" (shared by the ranks of a host),
     * "mpi", "memory+mpi", or "" if nothing is sent. */
    const char *(*carrier)(const void *link);
} spmv_exchange;

extern const spmv_exchange spmv_exchange_self;
/* Defined in a separate library, which is loaded when a communicator is given. */
extern const spmv_exchange spmv_exchange_mpi;

/* Finds the exchange library of an MPI, "mpich" or "openmpi", in the folder of this program or
 * library, or in ../lib of that folder. Returns true and writes its path, or returns false and
 * writes the folder searched. */
bool ranks_find_exchange(const char *mpi, char *path, size_t size);

#endif
