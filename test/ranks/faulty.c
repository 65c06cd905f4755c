/* faulty.c: the exchange through MPI with a fault, that of the environment's FAULT, for tests of
 * the check. Two are none, and products must be right: "hosts", ranks of odd numbers are on another
 * host, and "unshared", rank 1 has no memory that others can map. */
#include "../../src/many/mpi/shared.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef OTHER_VERSION
#define OTHER_VERSION 0
#endif

static int has(const char *fault) {
    const char *of = getenv("FAULT");
    return of && strcmp(of, fault) == 0;
}

static int is_rank_1(void) {
    const char *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank && strcmp(rank, "1") == 0;
}

/* FAULT=nomem:N: rank 1 gets no memory when it asks for the Nth time. */
static int gets_none(void) {
    static int asked;
    const char *fault = getenv("FAULT");
    if (!fault || strncmp(fault, "nomem:", 6) != 0 || !is_rank_1()) return 0;
    return ++asked == atoi(fault + 6);
}

static void *scarce(size_t n, size_t size) {
    return gets_none() ? NULL : calloc(n, size);
}

static int split_hosts(MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *host) {
    int rank;
    if (!has("hosts")) return MPI_Comm_split_type(comm, kind, key, info, host);
    MPI_Comm_rank(comm, &rank);
    return MPI_Comm_split(comm, rank % 2, key, host);
}

static int memory_file(const char *name, unsigned flags) {
    return has("shifted") || (has("unshared") && is_rank_1()) ? -1 : memfd_create(name, flags);
}

#define malloc(size) scarce(1, size)
#define calloc(n, size) scarce(n, size)
#define MPI_Comm_split_type split_hosts
#define spmv_exchange_mpi sound
#include "../../src/many/mpi/exchange_mpi.c"
#undef spmv_exchange_mpi
#undef malloc
#undef calloc
#define link_alloc link_alloc_shared
#define memfd_create memory_file
#include "../../src/many/mpi/memory.c"
#include "../../src/many/mpi/board.c"
#include "../../src/many/mpi/shared.c"

static char *last_received; /* of x, in the exchange before */

static spmv_status connect_faulty(void *state, const spmv_need *need, int replicates, void **out) {
    const ranks *r = state;
    const spmv_halo *halo = need->halo;
    spmv_halo *mine = (spmv_halo *)(uintptr_t)halo;
    if (halo->column) { /* it is of x, not of sums */
        free(last_received);
        last_received = calloc((size_t)(halo->received * need->vectors) + 1, need->width);
    }
    /* The last entry that the last rank gives is another one. */
    if (has("index") && halo->sent > 1 && r->rank == r->size - 1)
        mine->give[halo->sent - 1] = mine->give[halo->sent - 2];
    if (has("index") && replicates && halo->received > 1 && r->rank == r->size - 1)
        mine->column[halo->received - 1] = mine->column[halo->received - 2];
    const spmv_status status = connect_ranks(state, need, replicates, out);
    /* The last rank sends its first peer, in place, a block that begins one entry too late. */
    if (has("shifted") && status == SPMV_OK && halo->nto && r->rank == r->size - 1) {
        mpi_link *link = *out;
        link->x_at[0]++;
    }
    return status;
}

/* The blocks of the first two peers, as far as both go, in each other's place. */
static void swap_peers(const spmv_halo *halo, char *first, size_t row) {
    if (halo->nfrom < 2) return;
    char *second = first + (size_t)halo->from_count[0] * row, kept;
    const int least =
        halo->from_count[0] < halo->from_count[1] ? halo->from_count[0] : halo->from_count[1];
    for (size_t b = 0; b < (size_t)least * row; b++)
        kept = first[b], first[b] = second[b], second[b] = kept;
}

static void swap_bytes(char *a, char *b, size_t bytes) {
    for (size_t k = 0; k < bytes; k++) {
        const char kept = a[k];
        a[k] = b[k], b[k] = kept;
    }
}

static spmv_status finish_faulty(void *memory) {
    const mpi_link *link = memory;
    const spmv_halo *halo = link->halo;
    const spmv_status status = finish(memory);
    char *received = latest(memory);
    const size_t row = link->row_bytes, received_bytes = (size_t)halo->received * row;
    if (!received_bytes || !halo->column) return status;
    if (has("swapped")) swap_peers(halo, received, row);
    /* the last product's halo, as without a wait */
    if (has("late")) swap_bytes(received, last_received, received_bytes);
    /* Another halo is received, but not the negative of the one before. */
    if (has("frozen")) {
        if (*(double *)(void *)received == -*(double *)(void *)last_received)
            memcpy(received, last_received, received_bytes);
        else
            memcpy(last_received, received, received_bytes);
    }
    if (has("dropped"))
        memset(received, 0, (size_t)halo->from_count[0] * row); /* the first peer's */
    return status;
}

__attribute__((visibility("default")))
const spmv_exchange spmv_exchange_mpi = {.version = SPMV_EXCHANGE_VERSION + OTHER_VERSION,
                                         .name = "faulty",
                                         .begin = begin,
                                         .end = end,
                                         .describe = describe,
                                         .abort = abort_all,
                                         .open = open_mpi,
                                         .close = close_mpi,
                                         .agree = agree,
                                         .gather = gather,
                                         .deal = deal,
                                         .connect = connect_faulty,
                                         .disconnect = disconnect,
                                         .start = start,
                                         .finish = finish_faulty,
                                         .latest = latest,
                                         .carrier = carrier};
