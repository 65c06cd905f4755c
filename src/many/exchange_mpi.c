/* exchange_mpi.c: the exchange through MPI, of vectors in host memory. It is a library of its own,
 * libspmv_NAME.so, which world.c loads: the rest of the library needs no MPI. */
#include "exchange.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call) \
    do { \
        if ((call) != MPI_SUCCESS) return SPMV_E_DEVICE; \
    } while (0)

enum { BLOCK = 1 << 30, TAG = 1 }; /* BLOCK: bytes of one message, which MPI counts with an int */

typedef struct ranks {
    MPI_Comm comm;
    int rank, size;
    int crowded; /* 1: more ranks than cores are on this host */
} ranks;

typedef struct mpi_link {
    const ranks *world;
    MPI_Comm graph; /* of who gets what from whom */
    MPI_Request request;
    MPI_Datatype row; /* k numbers */
    const spmv_halo *halo;
    size_t width;
    int *from_at, *to_at; /* where each rank's entries begin */
    char *sent;           /* [halo->sent][vectors], packed */
} mpi_link;

/* MPI waits with a core to itself. Where ranks share one, who waits must let others run. */
static spmv_status wait_for(const ranks *r, int n, MPI_Request *request) {
    const struct timespec pause = {.tv_nsec = 10000};
    int done = 0;
    while (!done) {
        CHECK(MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE));
        if (!done && r->crowded) nanosleep(&pause, NULL);
    }
    return SPMV_OK;
}

static int is_crowded(MPI_Comm comm) {
    MPI_Comm host;
    int here = 1;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) != MPI_SUCCESS)
        return 0;
    MPI_Comm_size(host, &here);
    MPI_Comm_free(&host);
    return here > sysconf(_SC_NPROCESSORS_ONLN);
}

static spmv_status open_mpi(const void *communicator, void **state, int *rank, int *size) {
    ranks *r = malloc(sizeof *r);
    if (!r) return SPMV_E_NOMEM;
    if (MPI_Comm_dup(*(const MPI_Comm *)communicator, &r->comm) != MPI_SUCCESS) {
        free(r);
        return SPMV_E_DEVICE;
    }
    MPI_Comm_set_errhandler(r->comm, MPI_ERRORS_RETURN); /* by default the process would end */
    MPI_Comm_rank(r->comm, &r->rank);
    MPI_Comm_size(r->comm, &r->size);
    r->crowded = is_crowded(r->comm);
    *rank = r->rank;
    *size = r->size;
    *state = r;
    return SPMV_OK;
}

static void close_mpi(void *state) {
    ranks *r = state;
    MPI_Comm_free(&r->comm);
    free(r);
}

static spmv_status gather(void *state, const void *mine, size_t bytes, void *all) {
    const ranks *r = state;
    MPI_Request request;
    CHECK(MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, r->comm, &request));
    return wait_for(r, 1, &request);
}

/* ---- deal ----------------------------------------------------------------------------------- */

static int64_t blocks_of(int64_t bytes) {
    return (bytes + BLOCK - 1) / BLOCK;
}

static int block_bytes(int64_t bytes, int64_t at) {
    return (int)(bytes - at < BLOCK ? bytes - at : BLOCK);
}

/* Starts all messages to or from other ranks; returns how many. */
static int start_messages(const ranks *r, char *memory, const int64_t *bytes, int receive,
                          MPI_Request *request) {
    int n = 0;
    for (int other = 0; other < r->size; memory += bytes[other], other++) {
        if (other == r->rank) continue;
        for (int64_t at = 0; at < bytes[other]; at += BLOCK, n++)
            if (receive)
                MPI_Irecv(memory + at, block_bytes(bytes[other], at), MPI_BYTE, other, TAG, r->comm,
                          &request[n]);
            else
                MPI_Isend(memory + at, block_bytes(bytes[other], at), MPI_BYTE, other, TAG, r->comm,
                          &request[n]);
    }
    return n;
}

static void copy_own(const ranks *r, const char *out, const int64_t *out_bytes, char *in,
                     const int64_t *in_bytes) {
    for (int other = 0; other < r->rank; other++) out += out_bytes[other], in += in_bytes[other];
    if (in_bytes[r->rank]) memcpy(in, out, (size_t)in_bytes[r->rank]);
}

static spmv_status deal(void *state, const void *out, const int64_t *out_bytes, void *in,
                        const int64_t *in_bytes) {
    const ranks *r = state;
    int64_t most = 0;
    for (int other = 0; other < r->size; other++)
        most += blocks_of(out_bytes[other]) + blocks_of(in_bytes[other]);
    MPI_Request *request = malloc((size_t)(most + 1) * sizeof *request);
    if (!request) return SPMV_E_NOMEM;
    int n = start_messages(r, in, in_bytes, 1, request);
    n += start_messages(r, (char *)(uintptr_t)out, out_bytes, 0, request + n);
    copy_own(r, out, out_bytes, in, in_bytes);
    const spmv_status status = wait_for(r, n, request);
    free(request);
    return status;
}

/* ---- the halo ------------------------------------------------------------------------------- */

static void disconnect(void *memory) {
    mpi_link *link = memory;
    if (link->graph != MPI_COMM_NULL) MPI_Comm_free(&link->graph);
    if (link->row != MPI_DATATYPE_NULL) MPI_Type_free(&link->row);
    free(link->from_at);
    free(link->to_at);
    free(link->sent);
    free(link);
}

static int *sums_of(const int *count, int n) {
    int *at = malloc(((size_t)n + 1) * sizeof *at);
    if (!at) return NULL;
    at[0] = 0;
    for (int k = 0; k < n; k++) at[k + 1] = at[k] + count[k];
    return at;
}

static spmv_status connect_ranks(void *state, const spmv_halo *halo, size_t width, int64_t vectors,
                                 void **out) {
    const ranks *r = state;
    mpi_link *link = calloc(1, sizeof *link);
    if (!link) return SPMV_E_NOMEM;
    link->graph = MPI_COMM_NULL;
    link->row = MPI_DATATYPE_NULL;
    link->world = r;
    link->halo = halo;
    link->width = width;
    link->from_at = sums_of(halo->from_count, halo->nfrom);
    link->to_at = sums_of(halo->to_count, halo->nto);
    link->sent = malloc((size_t)(halo->sent * vectors + 1) * width);
    const int whole = link->from_at && link->to_at && link->sent;
    if (MPI_Dist_graph_create_adjacent(r->comm, halo->nfrom, halo->from, MPI_UNWEIGHTED, halo->nto,
                                       halo->to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                       &link->graph) == MPI_SUCCESS &&
        whole) {
        MPI_Comm_set_errhandler(link->graph, MPI_ERRORS_RETURN);
        *out = link;
        return SPMV_OK;
    }
    disconnect(link);
    return whole ? SPMV_E_DEVICE : SPMV_E_NOMEM;
}

static void pack(const mpi_link *link, const char *x, size_t row, size_t apart) {
    const spmv_halo *halo = link->halo;
    if (!x) memset(link->sent, 0xff, (size_t)halo->sent * row); /* NaN of either precision */
    for (int64_t k = 0; x && k < halo->sent; k++)
        memcpy(link->sent + (size_t)k * row, x + (size_t)halo->give[k] * apart, row);
}

static spmv_status start(void *memory, const void *x, int64_t k, int64_t ldx, void *received) {
    mpi_link *link = memory;
    const spmv_halo *halo = link->halo;
    const size_t row = (size_t)k * link->width;
    pack(link, x, row, (size_t)ldx * link->width);
    CHECK(MPI_Type_contiguous((int)row, MPI_BYTE, &link->row));
    CHECK(MPI_Type_commit(&link->row));
    CHECK(MPI_Ineighbor_alltoallv(link->sent, halo->to_count, link->to_at, link->row, received,
                                  halo->from_count, link->from_at, link->row, link->graph,
                                  &link->request));
    return SPMV_OK;
}

static spmv_status finish(void *memory) {
    mpi_link *link = memory;
    const spmv_status status = wait_for(link->world, 1, &link->request);
    if (status != SPMV_OK) return status;
    CHECK(MPI_Type_free(&link->row));
    return SPMV_OK;
}

__attribute__((visibility("default")))
const spmv_exchange spmv_exchange_mpi = {.name = "mpi",
                                         .open = open_mpi,
                                         .close = close_mpi,
                                         .gather = gather,
                                         .deal = deal,
                                         .connect = connect_ranks,
                                         .disconnect = disconnect,
                                         .start = start,
                                         .finish = finish};
