/* exchange_mpi.c: the exchange through MPI, for vectors in host memory. It is a separate library,
 * libspmv_NAME.so, which ranks.c loads, so that the rest of the library does not depend on MPI.
 * Between ranks of one host x goes through shared memory (shared.c) instead of messages. */
#include "shared.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call) \
    do { \
        if ((call) != MPI_SUCCESS) return SPMV_E_DEVICE; \
    } while (0)

/* BLOCK: largest message in bytes, because MPI counts with int */
enum { BLOCK = 1 << 30, TAG = 1 };

typedef struct ranks {
    MPI_Comm comm;
    int rank, size;
    shared_host host;
    shared_board *board; /* shared by all ranks if all are on one host, otherwise NULL */
} ranks;

typedef struct peers { /* ranks to which messages go, or from which they come */
    int n;
    int *rank, *count; /* [n] rank numbers; entries for or from each */
    int *first;        /* [n] index of the first of these entries in the halo */
} peers;

typedef struct mpi_link {
    const ranks *ranks;
    shared_link *shared; /* memory shared with ranks of this host; NULL: not shared */
    shared_x *shared_x;  /* memory with the replicated x; NULL: not shared by all ranks */
    peers from, to;
    MPI_Comm graph; /* communicator of the messages: neighbor graph of the halo; if x is replicated,
                       a duplicate of all ranks */
    MPI_Request request;
    MPI_Datatype row; /* k elements */
    const spmv_halo *halo;
    size_t width;
    char *sent;   /* [halo->sent][vectors] packed entries; if x is replicated, packed own x */
    int *x_at;    /* [to.n] index in x of each rank's first entry */
    int in_place; /* 1: the entries for each rank are contiguous in x, so none are packed */
    int replicates;
    int *cols, *first_col; /* [ranks] size and first column of each rank's x */
    char *whole;           /* [columns][vectors] the replicated x */
    char *received;        /* the caller's buffer, used if all entries come in messages */
    size_t row_bytes;      /* bytes of a row of k elements in the current exchange */
} mpi_link;

/* ---- beginning and end ---------------------------------------------------------------------- */

static int began;

static spmv_status begin(const void **communicator) {
    static MPI_Comm all;
    int is_begun = 0, level;
    CHECK(MPI_Initialized(&is_begun));
    if (!is_begun) CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
    began |= !is_begun;
    all = MPI_COMM_WORLD;
    *communicator = &all;
    return SPMV_OK;
}

static void end(void) {
    if (began) MPI_Finalize();
    began = 0;
}

/* Writes the first line of the MPI's version text, up to the first comma, after which build options
 * follow. */
static void describe(char *out, size_t size) {
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(words, &length);
    words[strcspn(words, ",\n")] = 0;
    for (char *c = words; *c; c++)
        if (*c == '\t') *c = ' ';
    snprintf(out, size, "%s", words);
}

static void abort_all(void *state, int code) {
    const ranks *r = state;
    MPI_Abort(r->comm, code);
}

/* Waits for all requests. MPI_Wait would spin; if ranks share cores, this function sleeps between
 * tests so that other ranks can run. */
static spmv_status wait_for(const ranks *r, int n, MPI_Request *request) {
    const struct timespec pause = {.tv_nsec = 10000};
    int done = 0, code = MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
    while (code == MPI_SUCCESS && !done) {
        if (r->host.crowded) nanosleep(&pause, NULL);
        code = MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
    }
    return code == MPI_SUCCESS ? SPMV_OK : SPMV_E_DEVICE;
}

typedef struct place { /* cores on which a rank may run */
    int rank;
    cpu_set_t cores;
} place;

/* Returns whether this rank's cores are fewer than the ranks (with this one) that may only run on
 * these cores. */
static int must_share(const place *mine, const place *all, int n) {
    int confined = 0;
    for (int k = 0; k < n; k++) {
        cpu_set_t both;
        CPU_AND(&both, &mine->cores, &all[k].cores);
        confined += CPU_EQUAL(&both, &all[k].cores) != 0;
    }
    return confined > CPU_COUNT(&mine->cores);
}

/* Finds the ranks of this host. If that fails, assumes that ranks share cores (which makes waits
 * longer) and shares no memory. number: [ranks], allocated and freed by the caller. */
static void meet_host(ranks *r, int *number) {
    shared_host *host = &r->host;
    place mine = {.rank = r->rank};
    int whole, all_whole = 0;
    *host = (shared_host){.comm = MPI_COMM_NULL, .n = 1, .number = number, .crowded = 1};
    for (int k = 0; k < r->size; k++) number[k] = -1;
    sched_getaffinity(0, sizeof mine.cores, &mine.cores);
    if (MPI_Comm_split_type(r->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host->comm) !=
        MPI_SUCCESS)
        return;
    MPI_Comm_set_errhandler(host->comm, MPI_ERRORS_RETURN);
    MPI_Comm_size(host->comm, &host->n);
    MPI_Comm_rank(host->comm, &host->me);
    place *all = malloc((size_t)host->n * sizeof *all);
    whole = all != NULL;
    MPI_Allreduce(&whole, &all_whole, 1, MPI_INT, MPI_MIN, host->comm);
    if (all_whole && MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE,
                                   host->comm) == MPI_SUCCESS) {
        for (int k = 0; k < host->n; k++) number[all[k].rank] = k;
        host->crowded = must_share(&mine, all, host->n);
    } else {
        MPI_Comm_free(&host->comm);
        host->n = 1, host->me = 0;
    }
    free(all);
}

static spmv_status agree(void *state, spmv_status mine) {
    const ranks *r = state;
    const int status = mine;
    int least = SPMV_E_DEVICE;
    MPI_Request request;
    if (r->board) return (spmv_status)shared_least(r->board, status);
    CHECK(MPI_Iallreduce(&status, &least, 1, MPI_INT, MPI_MIN, r->comm, &request));
    const spmv_status waited = wait_for(r, 1, &request);
    return waited == SPMV_OK ? (spmv_status)least : waited;
}

static void close_mpi(void *state) {
    ranks *r = state;
    shared_board_close(r->board);
    if (r->host.comm != MPI_COMM_NULL) MPI_Comm_free(&r->host.comm);
    MPI_Comm_free(&r->comm);
    free(r->host.number);
    free(r);
}

static spmv_status open_mpi(const void *communicator, void **state, int *rank, int *size) {
    ranks here = {.host = {.comm = MPI_COMM_NULL, .crowded = 1}}, *r = malloc(sizeof *r);
    if (MPI_Comm_dup(*(const MPI_Comm *)communicator, &here.comm) != MPI_SUCCESS) {
        free(r);
        return SPMV_E_DEVICE;
    }
    /* the default handler would terminate the process */
    MPI_Comm_set_errhandler(here.comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(here.comm, &here.rank);
    MPI_Comm_size(here.comm, &here.size);
    int *number = malloc((size_t)here.size * sizeof *number);
    const spmv_status status = agree(&here, r && number ? SPMV_OK : SPMV_E_NOMEM);
    if (status != SPMV_OK) {
        MPI_Comm_free(&here.comm);
        free(number);
        free(r);
        return status;
    }
    meet_host(&here, number);
    *rank = here.rank;
    *size = here.size;
    *r = here;
    if (r->size > 1 && r->host.n == r->size) r->board = shared_board_open(&r->host);
    *state = r;
    return SPMV_OK;
}

static spmv_status gather(void *state, const void *mine, size_t bytes, void *all) {
    const ranks *r = state;
    MPI_Request request;
    if (r->board) {
        shared_gather(r->board, mine, bytes, all);
        return SPMV_OK;
    }
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

/* Starts all sends to, or receives from, the other ranks. Returns the number of requests. */
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
    const spmv_status agreed = agree(state, request ? SPMV_OK : SPMV_E_NOMEM);
    if (agreed != SPMV_OK) {
        free(request);
        return agreed;
    }
    int n = start_messages(r, in, in_bytes, 1, request);
    n += start_messages(r, (char *)(uintptr_t)out, out_bytes, 0, request + n);
    copy_own(r, out, out_bytes, in, in_bytes);
    const spmv_status status = wait_for(r, n, request);
    free(request);
    return status;
}

/* ---- the halo ------------------------------------------------------------------------------- */

static void peers_free(peers *p) {
    free(p->rank);
    free(p->count);
    free(p->first);
}

static void disconnect(void *memory) {
    mpi_link *link = memory;
    if (link->graph != MPI_COMM_NULL) MPI_Comm_free(&link->graph);
    if (link->row != MPI_DATATYPE_NULL) MPI_Type_free(&link->row);
    shared_disconnect(link->shared);
    shared_x_disconnect(link->shared_x);
    peers_free(&link->from);
    peers_free(&link->to);
    free(link->sent);
    free(link->x_at);
    free(link->cols);
    free(link->first_col);
    free(link->whole);
    free(link);
}

static bool peers_alloc(peers *p, int n) {
    const size_t bytes = ((size_t)n + 1) * sizeof(int);
    p->rank = malloc(bytes);
    p->count = malloc(bytes);
    p->first = malloc(bytes);
    return p->rank && p->count && p->first;
}

/* Lists those of n ranks with which no memory is shared. */
static void list_peers(const mpi_link *link, int n, const int *rank, const int *count, peers *p) {
    int first = 0;
    for (int k = 0; k < n; first += count[k++]) {
        if (link->shared && link->ranks->host.number[rank[k]] >= 0) continue;
        p->rank[p->n] = rank[k];
        p->count[p->n] = count[k];
        p->first[p->n++] = first;
    }
}

/* Allocates the replicated x and fills each rank's number of columns and first column. Returns
 * whether the allocation succeeded. */
static int place_x(const ranks *r, mpi_link *link, int64_t vectors) {
    const int64_t *first = link->halo->first_col;
    link->cols = malloc((size_t)r->size * sizeof *link->cols);
    link->first_col = malloc((size_t)r->size * sizeof *link->first_col);
    link->whole = malloc((size_t)(first[r->size] * vectors + 1) * link->width);
    for (int k = 0; link->cols && link->first_col && k < r->size; k++) {
        link->cols[k] = (int)(first[k + 1] - first[k]);
        link->first_col[k] = (int)first[k];
    }
    return link->cols && link->first_col && link->whole;
}

/* Finds where each rank's entries begin in x, and whether they are contiguous for all ranks. */
static void place_given(mpi_link *link) {
    const int32_t *give = link->halo->give;
    link->in_place = 1;
    for (int r = 0; r < link->to.n; r++) {
        const int first = link->to.first[r], n = link->to.count[r];
        link->x_at[r] = give[first];
        link->in_place &= give[first + n - 1] - give[first] == n - 1;
    }
}

static mpi_link *link_alloc(const ranks *r, const spmv_need *need, int replicates) {
    const spmv_halo *halo = need->halo;
    mpi_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->graph = MPI_COMM_NULL;
    link->row = MPI_DATATYPE_NULL;
    link->halo = halo;
    link->width = need->width;
    link->received = need->received;
    link->x_at = malloc(((size_t)halo->nto + 1) * sizeof *link->x_at);
    link->ranks = r;
    link->replicates = replicates;
    if (peers_alloc(&link->from, halo->nfrom) && peers_alloc(&link->to, halo->nto) && link->x_at)
        return link;
    disconnect(link);
    return NULL;
}

/* Returns whether messages are sent: between hosts, or if memory is not shared. */
static bool sends_messages(const mpi_link *link) {
    return !link->shared_x && (!link->shared || link->ranks->host.n < link->ranks->size);
}

/* Allocates the buffers of the messages: packed entries, and the replicated x. */
static bool take_room(const ranks *r, mpi_link *link, int64_t vectors) {
    const int64_t *first = link->halo->first_col;
    const int64_t sent = link->replicates ? first[r->rank + 1] - first[r->rank] : link->halo->sent;
    if (!sends_messages(link)) return true;
    link->sent = malloc((size_t)(sent + 1) * (size_t)vectors * link->width);
    return link->sent && (!link->replicates || place_x(r, link, vectors));
}

static spmv_status make_comm(const ranks *r, mpi_link *link) {
    if (!sends_messages(link)) return SPMV_OK;
    if (link->replicates)
        CHECK(MPI_Comm_dup(r->comm, &link->graph));
    else
        CHECK(MPI_Dist_graph_create_adjacent(r->comm, link->from.n, link->from.rank, MPI_UNWEIGHTED,
                                             link->to.n, link->to.rank, MPI_UNWEIGHTED,
                                             MPI_INFO_NULL, 0, &link->graph));
    MPI_Comm_set_errhandler(link->graph, MPI_ERRORS_RETURN);
    return SPMV_OK;
}

static spmv_status connect_ranks(void *state, const spmv_need *need, int replicates, void **out) {
    const ranks *r = state;
    const spmv_halo *halo = need->halo;
    mpi_link *link = link_alloc(r, need, replicates);
    spmv_status status = agree(state, link ? SPMV_OK : SPMV_E_NOMEM);
    if (status == SPMV_OK && !replicates) link->shared = shared_connect(&r->host, need);
    if (status == SPMV_OK && replicates && r->host.n == r->size)
        link->shared_x = shared_x_connect(&r->host, need);
    if (status == SPMV_OK)
        status = agree(state, take_room(r, link, need->vectors) ? SPMV_OK : SPMV_E_NOMEM);
    if (status == SPMV_OK) {
        list_peers(link, halo->nfrom, halo->from, halo->from_count, &link->from);
        list_peers(link, halo->nto, halo->to, halo->to_count, &link->to);
        place_given(link);
        status = make_comm(r, link);
    }
    if (status == SPMV_OK)
        *out = link;
    else if (link)
        disconnect(link);
    return status;
}

/* Packs the entries that messages carry: entry k of halo->give goes to index k of link->sent. */
static void pack(const mpi_link *link, const char *x, size_t row, size_t apart) {
    const int32_t *give = link->halo->give;
    for (int r = 0; r < link->to.n; r++) {
        const size_t first = (size_t)link->to.first[r], n = (size_t)link->to.count[r];
        if (!x) shared_set_nan(link->sent + first * row, n * row);
        for (size_t k = first; x && k < first + n; k++)
            shared_copy(link->sent + k * row, x + (size_t)give[k] * apart, row);
    }
}

/* Returns own x with contiguous rows: x itself, or a packed copy. */
static const char *own_rows(const mpi_link *link, const char *x, size_t row, size_t apart) {
    const size_t n = (size_t)link->cols[link->ranks->rank];
    if (x && apart == row) return x;
    if (!x) shared_set_nan(link->sent, n * row);
    for (size_t k = 0; x && k < n; k++) memcpy(link->sent + k * row, x + k * apart, row);
    return link->sent;
}

static spmv_status replicate(mpi_link *link, const void *x, size_t row, size_t apart) {
    const ranks *r = link->ranks;
    CHECK(MPI_Iallgatherv(own_rows(link, x, row, apart), link->cols[r->rank], link->row,
                          link->whole, link->cols, link->first_col, link->row, link->graph,
                          &link->request));
    return SPMV_OK;
}

static void *latest(void *memory) {
    const mpi_link *link = memory;
    if (link->shared_x) return shared_x_latest(link->shared_x);
    if (link->shared) return shared_inbox(link->shared);
    return link->replicates ? link->whole : link->received;
}

static const char *carrier(const void *memory) {
    const mpi_link *link = memory;
    if (link->ranks->size == 1) return "";
    if (!link->shared && !link->shared_x) return "mpi";
    return sends_messages(link) ? "memory+mpi" : "memory";
}

static spmv_status send_messages(mpi_link *link, const void *x, size_t row, size_t apart) {
    const int in_place = link->in_place && x && apart == row;
    CHECK(MPI_Type_contiguous((int)row, MPI_BYTE, &link->row));
    CHECK(MPI_Type_commit(&link->row));
    if (link->replicates) return replicate(link, x, row, apart);
    if (!in_place) pack(link, x, row, apart);
    CHECK(MPI_Ineighbor_alltoallv(in_place ? x : link->sent, link->to.count,
                                  in_place ? link->x_at : link->to.first, link->row, latest(link),
                                  link->from.count, link->from.first, link->row, link->graph,
                                  &link->request));
    return SPMV_OK;
}

static spmv_status start(void *memory, const void *x, int64_t k, int64_t ldx) {
    mpi_link *link = memory;
    const size_t row = (size_t)k * link->width, apart = (size_t)ldx * link->width;
    link->row_bytes = row;
    if (link->shared) shared_start(link->shared, x, row, apart);
    if (link->shared_x) shared_x_start(link->shared_x, x, row, apart);
    return sends_messages(link) ? send_messages(link, x, row, apart) : SPMV_OK;
}

static spmv_status finish(void *memory) {
    mpi_link *link = memory;
    if (link->shared) shared_finish(link->shared);
    if (link->shared_x) shared_x_finish(link->shared_x);
    if (!sends_messages(link)) return SPMV_OK;
    const spmv_status status = wait_for(link->ranks, 1, &link->request);
    if (status != SPMV_OK) return status;
    CHECK(MPI_Type_free(&link->row));
    return SPMV_OK;
}

__attribute__((visibility("default")))
const spmv_exchange spmv_exchange_mpi = {.version = SPMV_EXCHANGE_VERSION,
                                         .name = "mpi",
                                         .begin = begin,
                                         .end = end,
                                         .describe = describe,
                                         .abort = abort_all,
                                         .open = open_mpi,
                                         .close = close_mpi,
                                         .agree = agree,
                                         .gather = gather,
                                         .deal = deal,
                                         .connect = connect_ranks,
                                         .disconnect = disconnect,
                                         .start = start,
                                         .finish = finish,
                                         .latest = latest,
                                         .carrier = carrier};
