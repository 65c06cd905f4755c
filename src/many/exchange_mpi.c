/* exchange_mpi.c: the exchange through MPI, of vectors in host memory. It is a library of its own,
 * libspmv_NAME.so, which world.c loads: the rest of the library needs no MPI. */
#include "exchange.h"
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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
    int crowded; /* 1: ranks share cores */
} ranks;

typedef struct mpi_link {
    const ranks *world;
    MPI_Comm graph; /* of who gets what from whom; or, where x is replicated, of all */
    MPI_Request request;
    MPI_Datatype row; /* k numbers */
    const spmv_halo *halo;
    size_t width;
    int *from_at, *to_at; /* where each rank's entries begin */
    char *sent;           /* [halo->sent][vectors], packed; or own x */
    int *x_at;            /* [halo->nto] where each rank's entries begin in x */
    int in_place;         /* 1: they lie there after each other: none is packed */
    int replicates;
    int *cols, *first_col; /* [ranks] of x, where it is replicated */
    char *whole;           /* [columns][vectors] likewise */
    char *received;        /* the caller's, of an exchange that has started */
    size_t row_bytes;      /* likewise */
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

/* The first line, without what follows a comma: how it was built. */
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

/* MPI waits with a core to itself. Where ranks share one, who waits must let others run. It sleeps
 * for moments, which the kernel would prolong by 50 us if it might. */
static spmv_status wait_for(const ranks *r, int n, MPI_Request *request) {
    const struct timespec pause = {.tv_nsec = 10000};
    int done = 0, code = MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
    const int slack = r->crowded && !done ? prctl(PR_GET_TIMERSLACK) : 0; /* the caller's */
    if (slack > 0) prctl(PR_SET_TIMERSLACK, 1);
    while (code == MPI_SUCCESS && !done) {
        if (r->crowded) nanosleep(&pause, NULL);
        code = MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
    }
    if (slack > 0) prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
    return code == MPI_SUCCESS ? SPMV_OK : SPMV_E_DEVICE;
}

/* Says whether there are fewer cores than ranks that must run on cores of this one's: those whose
 * cores are all among its own, itself included. */
static int must_share(const cpu_set_t *mine, const cpu_set_t *all, int n) {
    int confined = 0;
    for (int k = 0; k < n; k++) {
        cpu_set_t both;
        CPU_AND(&both, mine, &all[k]);
        confined += CPU_EQUAL(&both, &all[k]) != 0;
    }
    return confined > CPU_COUNT(mine);
}

/* Without memory for the others' cores ranks are taken to share them: waits are longer then. */
static int is_crowded(MPI_Comm comm) {
    MPI_Comm host;
    int here = 1, crowded = 1, whole, all_whole = 0;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) != MPI_SUCCESS)
        return 0;
    MPI_Comm_size(host, &here);
    cpu_set_t *all = malloc((size_t)here * sizeof *all);
    whole = all != NULL;
    MPI_Allreduce(&whole, &all_whole, 1, MPI_INT, MPI_MIN, host);
    if (all_whole && MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE,
                                   host) == MPI_SUCCESS)
        crowded = must_share(&mine, all, here);
    free(all);
    MPI_Comm_free(&host);
    return crowded;
}

static spmv_status agree(void *state, spmv_status mine) {
    const ranks *r = state;
    const int status = mine;
    int least = SPMV_E_DEVICE;
    MPI_Request request;
    CHECK(MPI_Iallreduce(&status, &least, 1, MPI_INT, MPI_MIN, r->comm, &request));
    const spmv_status waited = wait_for(r, 1, &request);
    return waited == SPMV_OK ? (spmv_status)least : waited;
}

static spmv_status open_mpi(const void *communicator, void **state, int *rank, int *size) {
    ranks here = {.crowded = 1}, *r = malloc(sizeof *r);
    spmv_status status = r ? SPMV_OK : SPMV_E_NOMEM;
    if (MPI_Comm_dup(*(const MPI_Comm *)communicator, &here.comm) != MPI_SUCCESS) {
        free(r);
        return SPMV_E_DEVICE;
    }
    MPI_Comm_set_errhandler(here.comm, MPI_ERRORS_RETURN); /* by default the process would end */
    status = agree(&here, status);
    if (status != SPMV_OK) {
        MPI_Comm_free(&here.comm);
        free(r);
        return status;
    }
    MPI_Comm_rank(here.comm, &here.rank);
    MPI_Comm_size(here.comm, &here.size);
    here.crowded = is_crowded(here.comm);
    *rank = here.rank;
    *size = here.size;
    *r = here;
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

static void disconnect(void *memory) {
    mpi_link *link = memory;
    if (link->graph != MPI_COMM_NULL) MPI_Comm_free(&link->graph);
    if (link->row != MPI_DATATYPE_NULL) MPI_Type_free(&link->row);
    free(link->from_at);
    free(link->to_at);
    free(link->sent);
    free(link->x_at);
    free(link->cols);
    free(link->first_col);
    free(link->whole);
    free(link);
}

static int *sums_of(const int *count, int n) {
    int *at = malloc(((size_t)n + 1) * sizeof *at);
    if (!at) return NULL;
    at[0] = 0;
    for (int k = 0; k < n; k++) at[k + 1] = at[k] + count[k];
    return at;
}

/* Notes where each rank's x lies in that of all; returns whether there was memory. */
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

/* Notes where entries that a rank is given begin in x, and whether they lie there after each other;
 * returns whether there was memory. */
static int place_given(mpi_link *link) {
    const spmv_halo *halo = link->halo;
    const int *at = link->to_at;
    link->x_at = malloc(((size_t)halo->nto + 1) * sizeof *link->x_at);
    if (!link->x_at || !at) return 0;
    link->in_place = 1;
    for (int r = 0; r < halo->nto; r++) {
        const int32_t first = halo->give[at[r]], last = halo->give[at[r + 1] - 1];
        link->x_at[r] = first;
        link->in_place &= last - first == at[r + 1] - at[r] - 1;
    }
    return 1;
}

static mpi_link *link_alloc(const ranks *r, const spmv_halo *halo, int replicates, size_t width,
                            int64_t vectors) {
    const int64_t *first = halo->first_col;
    const int64_t sent = replicates ? first[r->rank + 1] - first[r->rank] : halo->sent;
    mpi_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->graph = MPI_COMM_NULL;
    link->row = MPI_DATATYPE_NULL;
    link->halo = halo;
    link->width = width;
    link->from_at = sums_of(halo->from_count, halo->nfrom);
    link->to_at = sums_of(halo->to_count, halo->nto);
    link->sent = malloc((size_t)(sent * vectors + 1) * width);
    link->world = r;
    link->replicates = replicates;
    if (link->from_at && link->sent && place_given(link) &&
        (!replicates || place_x(r, link, vectors)))
        return link;
    disconnect(link);
    return NULL;
}

static int make_comm(const ranks *r, const spmv_halo *halo, mpi_link *link) {
    if (link->replicates) return MPI_Comm_dup(r->comm, &link->graph);
    return MPI_Dist_graph_create_adjacent(r->comm, halo->nfrom, halo->from, MPI_UNWEIGHTED,
                                          halo->nto, halo->to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                          &link->graph);
}

static spmv_status connect_ranks(void *state, const spmv_halo *halo, int replicates, size_t width,
                                 int64_t vectors, void **out) {
    const ranks *r = state;
    mpi_link *link = link_alloc(r, halo, replicates, width, vectors);
    spmv_status status = agree(state, link ? SPMV_OK : SPMV_E_NOMEM);
    if (status == SPMV_OK) {
        if (make_comm(r, halo, link) == MPI_SUCCESS) {
            MPI_Comm_set_errhandler(link->graph, MPI_ERRORS_RETURN);
            *out = link;
            return SPMV_OK;
        }
        status = SPMV_E_DEVICE;
    }
    if (link) disconnect(link);
    return status;
}

/* One number in a row is the usual, and a copy of 8 or 4 bytes is no call. */
static inline void copy_row(char *to, const char *from, size_t row) {
    if (row == sizeof(double))
        memcpy(to, from, sizeof(double));
    else if (row == sizeof(float))
        memcpy(to, from, sizeof(float));
    else
        memcpy(to, from, row);
}

static void pack(const mpi_link *link, const char *x, size_t row, size_t apart) {
    const spmv_halo *halo = link->halo;
    if (!x) memset(link->sent, 0xff, (size_t)halo->sent * row); /* NaN of either precision */
    for (int64_t k = 0; x && k < halo->sent; k++)
        copy_row(link->sent + (size_t)k * row, x + (size_t)halo->give[k] * apart, row);
}

/* Returns own x with its rows after each other. */
static const char *own_rows(const mpi_link *link, const char *x, size_t row, size_t apart) {
    const size_t n = (size_t)link->cols[link->world->rank];
    if (x && apart == row) return x;
    if (!x) memset(link->sent, 0xff, n * row);
    for (size_t k = 0; x && k < n; k++) memcpy(link->sent + k * row, x + k * apart, row);
    return link->sent;
}

static spmv_status replicate(mpi_link *link, const void *x, size_t row, size_t apart) {
    const ranks *r = link->world;
    CHECK(MPI_Iallgatherv(own_rows(link, x, row, apart), link->cols[r->rank], link->row,
                          link->whole, link->cols, link->first_col, link->row, link->graph,
                          &link->request));
    return SPMV_OK;
}

/* Takes the halo from all of x. */
static void take_halo(const mpi_link *link) {
    const spmv_halo *halo = link->halo;
    const size_t row = link->row_bytes;
    for (int64_t k = 0; k < halo->received; k++)
        copy_row(link->received + (size_t)k * row, link->whole + (size_t)halo->column[k] * row,
                 row);
}

static spmv_status start(void *memory, const void *x, int64_t k, int64_t ldx, void *received) {
    mpi_link *link = memory;
    const spmv_halo *halo = link->halo;
    const size_t row = (size_t)k * link->width;
    link->received = received;
    link->row_bytes = row;
    CHECK(MPI_Type_contiguous((int)row, MPI_BYTE, &link->row));
    CHECK(MPI_Type_commit(&link->row));
    const size_t apart = (size_t)ldx * link->width;
    if (link->replicates) return replicate(link, x, row, apart);
    const int in_place = link->in_place && x && apart == row;
    if (!in_place) pack(link, x, row, apart);
    CHECK(MPI_Ineighbor_alltoallv(
        in_place ? x : link->sent, halo->to_count, in_place ? link->x_at : link->to_at, link->row,
        received, halo->from_count, link->from_at, link->row, link->graph, &link->request));
    return SPMV_OK;
}

static spmv_status finish(void *memory) {
    mpi_link *link = memory;
    const spmv_status status = wait_for(link->world, 1, &link->request);
    if (status != SPMV_OK) return status;
    CHECK(MPI_Type_free(&link->row));
    if (link->replicates) take_halo(link);
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
                                         .finish = finish};
