/* shared.h: what ranks of one host give each other of x. Each has an inbox: memory that the others
 * map, where they write what it gets, in the place from which its product reads it. Or all of x is
 * in memory that all of them map. */
#ifndef SPMV_RANKS_SHARED_H
#define SPMV_RANKS_SHARED_H

#include "ranks/exchange/exchange.h"
#include <mpi.h>

typedef struct shared_host { /* the ranks of this host */
    MPI_Comm comm;           /* of them; MPI_COMM_NULL: it is not known who they are, n is 1 */
    int n, me;               /* how many they are, and which of them this one is */
    int *number;             /* [all ranks] which of them a rank is; -1: it is elsewhere */
    int crowded;             /* 1: ranks share cores, so that who waits lets others run */
} shared_host;

/* Returns whether it is true on all ranks of the host; false, too, where MPI fails. Collective
 * among them, as what follows is. */
bool shared_on_all(const shared_host *host, bool mine);
/* Returns memory of so many bytes, one for all ranks of the host; munmap frees it. NULL, on all of
 * them: one of them cannot have it, or is not ready. */
void *shared_in_common(const shared_host *host, bool is_ready, size_t bytes);

/* ---- board.c -------------------------------------------------------------------------------- */

typedef struct shared_board shared_board;

/* Opens a board for what ranks of the host tell each other. NULL, on all of them: one of them
 * cannot share memory. The host stays until shared_board_close. */
shared_board *shared_board_open(const shared_host *host);
void shared_board_close(shared_board *b);
/* all[host->n]: the same number of bytes of each rank. */
void shared_gather(shared_board *b, const void *mine, size_t bytes, void *all);
/* Returns the least number of those that the ranks give. */
int shared_least(shared_board *b, int mine);

/* ---- shared.c ------------------------------------------------------------------------------- */

typedef struct shared_link shared_link;

/* Prepares exchanges between ranks of the host. NULL, on all of them: one of them cannot share
 * memory. The halo stays until shared_disconnect. */
shared_link *shared_connect(const shared_host *host, const spmv_need *need);
void shared_disconnect(shared_link *link);
/* Gives ranks of the host what they get from x, whose entries of row bytes are `apart` bytes apart;
 * x is NULL: they get NaN, of as many vectors as they expect. Waits for ranks that have not begun
 * the exchange before this one. */
void shared_start(shared_link *link, const char *x, size_t row, size_t apart);
/* Waits until the entries of all ranks of the host are there. */
void shared_finish(shared_link *link);
/* Returns the entries of the exchange that began last, [halo->received] after each other: NaN
 * before the first one. Those of ranks elsewhere are the caller's to write. */
char *shared_inbox(const shared_link *link);

typedef struct shared_writing { /* entries of x into shared memory, after each other */
    char *to;
    const char *x;
    const int32_t *give; /* [count] which of x; NULL: the first ones */
    int64_t count;
    size_t row, apart; /* bytes of an entry, and from one to the next in x */
} shared_writing;
/* Writes them, with the need's threads where there are many. */
void shared_write(const spmv_need *need, const shared_writing *w);

/* ---- shared_x.c ----------------------------------------------------------------------------- */

typedef struct shared_x shared_x;

/* Prepares exchanges of all of x between ranks that are all on this host. NULL, on all of them: one
 * of them cannot share memory. The halo stays until shared_x_disconnect. */
shared_x *shared_x_connect(const shared_host *host, const spmv_need *need);
void shared_x_disconnect(shared_x *x);
/* Gives the ranks this one's x, whose entries of row bytes are `apart` bytes apart; NULL: NaN. */
void shared_x_start(shared_x *x, const char *own, size_t row, size_t apart);
/* Waits until all of x is there. */
void shared_x_finish(shared_x *x);
/* Returns all of x of the exchange that began last. */
char *shared_x_latest(const shared_x *x);

/* Fills memory with NaN of either precision. */
static inline void shared_set_nan(char *to, size_t bytes) {
    __builtin_memset(to, 0xff, bytes);
}

/* Copies an entry of x. A copy of 8 or 4 bytes, one number, is no call. */
static inline void shared_copy(char *to, const char *from, size_t row) {
    if (row == sizeof(double))
        __builtin_memcpy(to, from, sizeof(double));
    else if (row == sizeof(float))
        __builtin_memcpy(to, from, sizeof(float));
    else
        __builtin_memcpy(to, from, row);
}

#endif
