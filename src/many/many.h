/* many.h: what the files of a matrix over many ranks share. They are clients of spmv.h. */
#ifndef SPMV_MANY_PRIVATE_H
#define SPMV_MANY_PRIVATE_H

#include "exchange.h"
#include "spmv_many.h"
#include <stdbool.h>

enum { TEXT_BYTES = 508 };

typedef struct said { /* by a rank, of what it has just done */
    int status;
    char text[TEXT_BYTES];
} said;

struct spmv_world {
    const spmv_exchange *by;
    void *state;   /* of the exchange */
    void *library; /* that it was loaded from; NULL: it is built in */
    bool began;    /* MPI is this world's to end */
    char mpi[128]; /* with its version; "": there is none */
    spmv_ctx *ctx;
    int rank, size;
    said mine;
    said *all; /* [size] */
};

struct spmv_many_mat {
    spmv_world *world;
    spmv_many_facts facts;
    size_t width;       /* bytes of a value as it was given */
    int64_t *first_col; /* [size + 1] of each rank's x */
    spmv_mat *local;    /* own rows, own columns */
    spmv_mat *remote;   /* own rows, a column for each entry of the halo; NULL: there is none */
    int64_t *remote_at; /* [facts.remote_nnz] positions among the entries that were given */
    spmv_halo halo;
};

/* ---- world.c -------------------------------------------------------------------------------- */

/* Notes a text and returns the status. */
spmv_status many_fail(spmv_world *world, spmv_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes what the context says of a failure; returns the status, whichever it is. */
spmv_status many_ctx_failed(spmv_world *world, spmv_status status);
/* Returns the same on all ranks: SPMV_OK, or the status of the first rank that has another, whose
 * text all get. Collective. */
spmv_status many_agree(spmv_world *world, spmv_status mine);
/* Copies a caller's struct, which begins with its size, to one of ours; NULL: ours stays. */
spmv_status many_read(spmv_world *world, const char *name, void *ours, size_t size,
                      const void *theirs);

/* ---- halo.c --------------------------------------------------------------------------------- */

/* Fills mat->halo: asks the owners of `wanted` columns, [n] ascending, for them. Collective. */
spmv_status many_halo_make(spmv_many_mat *mat, const int64_t *wanted, int64_t n);
void many_halo_free(spmv_halo *halo);

#endif
