/* exchange.h: what ranks talk through, a constant table of functions; one file each makes one. Code
 * above it knows neither MPI nor where vectors lie. */
#ifndef SPMV_RANKS_EXCHANGE_H
#define SPMV_RANKS_EXCHANGE_H

#include "spmv.h"
#include <stdbool.h>

/* The entries of x that a rank's product gets from others and gives to them, by rank. */
typedef struct spmv_halo {
    int nfrom, nto;             /* ranks that it gets from, and gives to */
    int *from, *to;             /* their numbers, ascending */
    int *from_count, *to_count; /* entries, at least 1 each */
    int32_t *give;              /* own entries of x: those for the first of `to`, and so on */
    int64_t received, sent;     /* the sums of both counts */
    int64_t *column;            /* [received] of the whole matrix, ascending */
    const int64_t *first_col;   /* [ranks + 1] of each rank's x; not owned */
} spmv_halo;

typedef struct spmv_need { /* what exchanges are prepared for */
    const spmv_halo *halo;
    size_t width;    /* bytes of a number */
    int64_t vectors; /* of an exchange, at most; their bytes do not overflow */
    void *received;  /* [halo->received][vectors], where a link of lists may put them */
    int threads;     /* that may pack entries, each a part: in_parts runs them */
    void (*in_parts)(int threads, void (*work)(void *arg, int part, int parts), void *arg);
} spmv_need;

enum { SPMV_EXCHANGE_VERSION = 6 }; /* of the table: one more whenever what follows changes */

typedef struct spmv_exchange {
    int version;
    const char *name;
    /* Starts MPI, if it is not; the address of a communicator of all its processes. end: ends MPI,
     * if begin has started it. */
    spmv_status (*begin)(const void **communicator);
    void (*end)(void);
    /* Writes what carries the messages, with its version. */
    void (*describe)(char *out, size_t size);
    /* Ends all ranks, with that exit code. */
    void (*abort)(void *state, int code);
    /* Starts talking to the ranks of a communicator. A state is given to all that follows. This and
     * what follows fails on all ranks if it fails for lack of memory on one. */
    spmv_status (*open)(const void *communicator, void **state, int *rank, int *size);
    void (*close)(void *state);
    /* Returns the least status of all ranks: SPMV_OK if all are. It needs no memory, so that ranks
     * that got none can say so. */
    spmv_status (*agree)(void *state, spmv_status mine);
    /* all[size]: the same number of bytes of each rank, in host memory. */
    spmv_status (*gather)(void *state, const void *mine, size_t bytes, void *all);
    /* Sends each rank bytes, those for rank 0 first, and gets as many as it sends, likewise. */
    spmv_status (*deal)(void *state, const void *out, const int64_t *out_bytes, void *in,
                        const int64_t *in_bytes);
    /* Prepares exchanges. replicates: every rank gets all of x, which has no more than INT32_MAX
     * entries, and needs no room for what is received. Else each gets what it needs. The halo and
     * that room stay until disconnect. */
    spmv_status (*connect)(void *state, const spmv_need *need, int replicates, void **link);
    void (*disconnect)(void *link);
    /* Starts to give others their entries of x, whose rows of k numbers are ldx apart; x is NULL:
     * others get NaN. Until finish x stays as it is. */
    spmv_status (*start)(void *link, const void *x, int64_t k, int64_t ldx);
    spmv_status (*finish)(void *link); /* returns when this rank has its entries */
    /* Returns where they are, [halo->received][k], or all of x, [columns][k], until the next start.
     * Where none was started yet, what lies there means nothing. */
    void *(*latest)(void *link);
    /* Returns what this rank's entries go through: "memory" that ranks of a host share, "mpi", or
     * "memory+mpi"; "": none go anywhere. */
    const char *(*carrier)(const void *link);
} spmv_exchange;

extern const spmv_exchange spmv_exchange_self;
/* This one is in a library that is loaded when a communicator is given. */
extern const spmv_exchange spmv_exchange_mpi;

/* Writes the path of that library for an MPI, "mpich" or "openmpi", beside the program or library
 * that asks, or in ../lib of it. false: it is not there, and path is the folder that was asked. */
bool ranks_find_exchange(const char *mpi, char *path, size_t size);

#endif
