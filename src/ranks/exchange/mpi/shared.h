/* shared.h: exchanges of x between ranks of one host. For halo lists each rank has an inbox: memory
 * that the other ranks map, and into which they write the entries that this rank needs, where its
 * product reads them. A replicated x is in memory that all map. */
#ifndef SPMV_RANKS_SHARED_H
#define SPMV_RANKS_SHARED_H

#include "ranks/exchange/exchange.h"
#include <mpi.h>

typedef struct shared_host { /* the ranks of this host */
    MPI_Comm comm;           /* communicator; MPI_COMM_NULL: ranks of this host unknown, n = 1 */
    int n, me;               /* number of ranks, and this rank's index among them */
    int *number;             /* [all ranks] index of each rank on this host; -1: on another host */
    int crowded;             /* 1: ranks share cores, so that waiting threads must not spin */
} shared_host;

/* Returns whether `mine` is true on all ranks of the host; false, too, if MPI fails. This and all
 * functions below are collective over the ranks of the host. */
bool shared_on_all(const shared_host *host, bool mine);
/* Returns `bytes` bytes shared by all ranks of the host, to be freed by munmap; NULL on all ranks
 * if one rank is not ready or cannot map the memory. */
void *shared_in_common(const shared_host *host, bool is_ready, size_t bytes);

/* ---- board.c -------------------------------------------------------------------------------- */

typedef struct shared_board shared_board;

/* Opens a board: buffers for small collective operations among the ranks of the host. Returns NULL
 * on all ranks if one of them cannot share memory. The host must outlive the board. */
shared_board *shared_board_open(const shared_host *host);
void shared_board_close(shared_board *b);
/* Allgather: all[r] receives the `bytes` bytes of rank r of the host. */
void shared_gather(shared_board *b, const void *mine, size_t bytes, void *all);
/* Returns the minimum over the ranks of the host. */
int shared_least(shared_board *b, int mine);

/* ---- shared.c ------------------------------------------------------------------------------- */

typedef struct shared_link shared_link;

/* Prepares exchanges by halo lists between ranks of the host. Returns NULL on all ranks if one of
 * them cannot share memory. The halo must stay valid until shared_disconnect. */
shared_link *shared_connect(const shared_host *host, const spmv_need *need);
void shared_disconnect(shared_link *link);
/* Writes the entries of x into the inboxes of the ranks of the host. Entries are `row` bytes each,
 * with a stride of `apart` bytes; x = NULL sends NaN for as many vectors as the receiver expects.
 * Waits for ranks that have not started the previous exchange. */
void shared_start(shared_link *link, const char *x, size_t row, size_t apart);
/* Waits until the entries from all ranks of the host have arrived. */
void shared_finish(shared_link *link);
/* Returns the entries of the last exchange started, [halo->received], contiguous; NaN before the
 * first one. The caller writes the entries of ranks on other hosts. */
char *shared_inbox(const shared_link *link);

typedef struct shared_writing { /* a contiguous copy of entries of x into shared memory */
    char *to;
    const char *x;
    const int32_t *give; /* [count] indices into x; NULL: the first `count` entries */
    int64_t count;
    size_t row, apart; /* bytes of an entry, and stride in x in bytes */
} shared_writing;
/* Performs the copy, in parallel if it is large. */
void shared_write(const spmv_need *need, const shared_writing *w);

/* ---- shared_x.c ----------------------------------------------------------------------------- */

typedef struct shared_x shared_x;

/* Prepares exchanges of a replicated x. All ranks must be on this host. Returns NULL on all ranks
 * if one of them cannot share memory. The halo must stay valid until shared_x_disconnect. */
shared_x *shared_x_connect(const shared_host *host, const spmv_need *need);
void shared_x_disconnect(shared_x *x);
/* Writes this rank's block of x: entries of `row` bytes, `apart` bytes apart. own = NULL: NaN. */
void shared_x_start(shared_x *x, const char *own, size_t row, size_t apart);
/* Waits until all blocks of x are complete. */
void shared_x_finish(shared_x *x);
/* Returns the replicated x of the last exchange started. */
char *shared_x_latest(const shared_x *x);

/* Fills memory with bytes 0xff, which are NaN in both precisions. */
static inline void shared_set_nan(char *to, size_t bytes) {
    __builtin_memset(to, 0xff, bytes);
}

/* Copies an entry of x. Constant sizes for one element avoid a call of memcpy. */
static inline void shared_copy(char *to, const char *from, size_t row) {
    if (row == sizeof(double))
        __builtin_memcpy(to, from, sizeof(double));
    else if (row == sizeof(float))
        __builtin_memcpy(to, from, sizeof(float));
    else
        __builtin_memcpy(to, from, row);
}

#endif
