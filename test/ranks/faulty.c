/* faulty.c: the exchange through MPI with a fault given by the environment variable FAULT, for
 * tests of the check. Two values are no faults, and products must be right: "hosts" assigns ranks
 * of odd numbers to another host, and "unshared" gives rank 1 no memory that others can map. */
#include "../../src/ranks/exchange/mpi/shared.h"
#include <sched.h>
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

/* FAULT=nomem:N: rank 1 gets no memory at its Nth request. */
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

/* Ranks of two hosts are on the same cores here. Each must know that it shares them, or it would
 * spin while it waits for a rank of the other host. */
static int cores_of(pid_t process, size_t size, cpu_set_t *cores) {
    if (!has("hosts")) return sched_getaffinity(process, size, cores);
    CPU_ZERO(cores);
    return 0;
}

static int memory_file(const char *name, unsigned flags) {
    return has("shifted") || (has("unshared") && is_rank_1()) ? -1 : memfd_create(name, flags);
}

#define malloc(size) scarce(1, size)
#define calloc(n, size) scarce(n, size)
#define MPI_Comm_split_type split_hosts
#define sched_getaffinity cores_of
#define spmv_exchange_mpi sound
#include "../../src/ranks/exchange/mpi/exchange_mpi.c"
#undef spmv_exchange_mpi
#undef malloc
#undef calloc
#define link_alloc link_alloc_shared
#define memfd_create memory_file
#include "../../src/ranks/exchange/mpi/memory.c"
#include "../../src/ranks/exchange/mpi/board.c"
#include "../../src/ranks/exchange/mpi/shared.c"
#include "../../src/ranks/exchange/mpi/shared_x.c"

/* A product gets a copy of the received entries, with the fault: ranks of a host share the
 * replicated x, but a fault affects this rank alone. last_seen: the previous exchange. */
static char *seen, *last_seen;

static int64_t entries_of(const mpi_link *link) {
    return link->replicates ? link->halo->first_col[link->ranks->size] : link->halo->received;
}

/* Returns entry k of the halo in x. */
static char *entry(const mpi_link *link, char *x, int64_t k) {
    return x + (size_t)(link->replicates ? link->halo->column[k] : k) * link->row_bytes;
}

static spmv_status connect_faulty(void *state, const spmv_need *need, int replicates, void **out) {
    const ranks *r = state;
    const spmv_halo *halo = need->halo;
    const int64_t columns = halo->first_col[r->size];
    spmv_halo *mine = (spmv_halo *)(uintptr_t)halo;
    if (halo->column) { /* the exchange is of x, not of sums */
        free(seen);
        free(last_seen);
        seen = calloc((size_t)(columns * need->vectors) + 1, need->width);
        last_seen = calloc((size_t)(columns * need->vectors) + 1, need->width);
    }
    /* The last rank sends a wrong last entry. */
    if (has("index") && !replicates && halo->sent > 1 && r->rank == r->size - 1)
        mine->give[halo->sent - 1] = mine->give[halo->sent - 2];
    const spmv_status status = connect_ranks(state, need, replicates, out);
    /* The last rank sends its first peer, in place, a block that begins one entry too late. */
    if (has("shifted") && status == SPMV_OK && halo->nto && r->rank == r->size - 1) {
        mpi_link *link = *out;
        link->x_at[0]++;
    }
    return status;
}

static void swap_bytes(char *a, char *b, size_t bytes) {
    for (size_t k = 0; k < bytes; k++) {
        const char kept = a[k];
        a[k] = b[k], b[k] = kept;
    }
}

/* Exchanges the blocks of the first two peers, up to the shorter length. */
static void swap_peers(const mpi_link *link) {
    const spmv_halo *halo = link->halo;
    if (halo->nfrom < 2) return;
    const int least =
        halo->from_count[0] < halo->from_count[1] ? halo->from_count[0] : halo->from_count[1];
    for (int k = 0; k < least; k++)
        swap_bytes(entry(link, seen, k), entry(link, seen, halo->from_count[0] + k),
                   link->row_bytes);
}

/* Replaces the halo by the previous one, unless it is the negative of that. */
static void freeze(const mpi_link *link, size_t bytes) {
    const char *first = entry(link, seen, 0), *last = entry(link, last_seen, 0);
    if (*(const double *)(const void *)first == -*(const double *)(const void *)last)
        memcpy(seen, last_seen, bytes);
    else
        memcpy(last_seen, seen, bytes);
}

static int is_of_x(const mpi_link *link) {
    return link->halo->received && link->halo->column;
}

static spmv_status finish_faulty(void *memory) {
    const mpi_link *link = memory;
    const spmv_status status = finish(memory);
    const size_t bytes = (size_t)entries_of(link) * link->row_bytes;
    const int64_t last = link->halo->received - 1;
    if (!is_of_x(link)) return status;
    memcpy(seen, latest(memory), bytes);
    if (has("index") && link->replicates && last > 0 && link->ranks->rank == link->ranks->size - 1)
        memcpy(entry(link, seen, last), entry(link, seen, last - 1), link->row_bytes);
    if (has("swapped")) swap_peers(link);
    if (has("late")) swap_bytes(seen, last_seen, bytes); /* like a missing wait */
    if (has("frozen")) freeze(link, bytes);
    /* halo of the first peer */
    for (int k = 0; has("dropped") && k < link->halo->from_count[0]; k++)
        memset(entry(link, seen, k), 0, link->row_bytes);
    return status;
}

static void *latest_faulty(void *memory) {
    return is_of_x(memory) ? seen : latest(memory);
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
                                         .latest = latest_faulty,
                                         .carrier = carrier};
