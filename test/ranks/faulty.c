/* faulty.c: the exchange through MPI with a fault, that of the environment's FAULT, for tests of
 * the check. */
#include "../../src/many/exchange.h"
#include <stdlib.h>
#include <string.h>

#ifndef OTHER_VERSION
#define OTHER_VERSION 0
#endif

/* FAULT=nomem:N: rank 1 gets no memory when it asks for the Nth time. */
static int gets_none(void) {
    static int asked;
    const char *fault = getenv("FAULT"), *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!fault || strncmp(fault, "nomem:", 6) != 0 || !rank || strcmp(rank, "1") != 0) return 0;
    return ++asked == atoi(fault + 6);
}

static void *scarce(size_t n, size_t size) {
    return gets_none() ? NULL : calloc(n, size);
}

#define malloc(size) scarce(1, size)
#define calloc(n, size) scarce(n, size)
#define spmv_exchange_mpi sound
#include "../../src/many/exchange_mpi.c"
#undef spmv_exchange_mpi
#undef malloc
#undef calloc

static char *last_received, *shadow; /* of the link: the last halo, and one beside the plan's */
static void *received_at;
static size_t received_bytes;

static int has(const char *fault) {
    return strcmp(getenv("FAULT"), fault) == 0;
}

static spmv_status connect_faulty(void *state, const spmv_halo *halo, int replicates, size_t width,
                                  int64_t vectors, void **link) {
    const ranks *r = state;
    spmv_halo *mine = (spmv_halo *)(uintptr_t)halo;
    free(last_received);
    free(shadow);
    last_received = calloc((size_t)(halo->received * vectors) + 1, width);
    shadow = calloc((size_t)(halo->received * vectors) + 1, width);
    /* The last entry that the last rank gives is another one. */
    if (has("index") && halo->sent > 1 && r->rank == r->size - 1)
        mine->give[halo->sent - 1] = mine->give[halo->sent - 2];
    if (has("index") && replicates && halo->received > 1 && r->rank == r->size - 1)
        mine->column[halo->received - 1] = mine->column[halo->received - 2];
    const spmv_status status = connect_ranks(state, halo, replicates, width, vectors, link);
    /* What the last rank gives to its first peer, in place, begins one entry too late. */
    if (has("shifted") && status == SPMV_OK && halo->nto && r->rank == r->size - 1) {
        mpi_link *made = *link;
        made->x_at[0]++;
    }
    return status;
}

static spmv_status start_faulty(void *memory, const void *x, int64_t k, int64_t ldx,
                                void *received) {
    const mpi_link *link = memory;
    received_bytes = (size_t)(link->halo->received * k) * link->width;
    received_at = received;
    return start(memory, x, k, ldx, has("late") || has("dropped") ? shadow : received);
}

/* The blocks of the first two peers, as far as both go, in each other's place. */
static void swap_peers(const mpi_link *link) {
    const spmv_halo *halo = link->halo;
    if (halo->nfrom < 2) return;
    const size_t row = received_bytes / (size_t)halo->received;
    char *first = received_at, *second = first + (size_t)link->from_at[1] * row, kept;
    const int least =
        halo->from_count[0] < halo->from_count[1] ? halo->from_count[0] : halo->from_count[1];
    for (size_t b = 0; b < (size_t)least * row; b++)
        kept = first[b], first[b] = second[b], second[b] = kept;
}

static spmv_status finish_faulty(void *memory) {
    const mpi_link *link = memory;
    const spmv_status status = finish(memory);
    const size_t row = link->halo->received ? received_bytes / (size_t)link->halo->received : 0;
    const size_t first = link->halo->nfrom ? (size_t)link->halo->from_count[0] * row : 0;
    if (has("swapped")) swap_peers(link);
    if (has("late") && received_bytes) { /* the last product's halo, as without a wait */
        memcpy(received_at, last_received, received_bytes);
        memcpy(last_received, shadow, received_bytes);
    }
    /* Another halo is received, but not the negative of the one before. */
    if (has("frozen") && received_bytes) {
        if (*(double *)received_at == -*(double *)(void *)last_received)
            memcpy(received_at, last_received, received_bytes);
        else
            memcpy(last_received, received_at, received_bytes);
    }
    if (has("dropped") && received_bytes) /* that of the first peer */
        memcpy((char *)received_at + first, shadow + first, received_bytes - first);
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
                                         .start = start_faulty,
                                         .finish = finish_faulty};
