/* owners.c: partitions other than blocks of rows. METIS or Scotch compute one on rank 0, which
 * needs the pattern of the whole matrix; or the caller or a file gives the owner of each row. Rows
 * are renumbered: those of rank 0 first, then those of rank 1, ...; each rank's rows keep their
 * order. */
#include "partition.h"
#include "ranks/ranks.h"
#include <stdlib.h>

static bool is_first(const spmv_ranks *ranks) {
    return ranks->rank == 0;
}

static bool is_library(spmv_partition by) {
    return by == SPMV_BY_METIS || by == SPMV_BY_SCOTCH;
}

/* Rank 0 stores the pattern (4 bytes per nonzero, 8 per row), twice that for the graph, and about
 * as much again in the library. Every rank stores two 4-byte numbers per row. */
double ranks_owners_bytes(const spmv_ranks *ranks, spmv_partition by, int64_t rows, double nnz) {
    if (ranks_is_blocks(by)) return 0;
    return 8.0 * (double)rows +
           (is_library(by) && is_first(ranks) ? 30 * nnz + 60 * (double)rows : 0);
}

/* ---- the pattern of the whole matrix --------------------------------------------------------- */

typedef struct gathering { /* the pattern of all ranks, gathered on rank 0 */
    spmv_csr_view whole;
    int64_t *row_ptr;  /* [rows + 1] on rank 0 */
    int32_t *col_idx;  /* [nnz] on rank 0 */
    int64_t *nnz;      /* [size] nonzeros of each rank */
    int64_t *out, *in; /* [size] bytes of messages */
} gathering;

static void gathering_free(gathering *g) {
    free(g->row_ptr);
    free(g->col_idx);
    free(g->nnz);
    free(g->out);
    free(g->in);
}

static spmv_status gathering_alloc(spmv_ranks *ranks, gathering *g) {
    const size_t bytes = (size_t)ranks->size * sizeof *g->nnz;
    g->nnz = malloc(bytes);
    g->out = calloc(1, bytes);
    g->in = calloc(1, bytes);
    return g->nnz && g->out && g->in ? SPMV_OK : ranks_no_memory(ranks, "the pattern of a matrix");
}

/* Sends own_bytes bytes to rank 0, which receives g->in[r] bytes from each rank r (MPI_Gatherv). */
static spmv_status send_first(spmv_ranks *ranks, gathering *g, const void *mine, int64_t own_bytes,
                              void *all) {
    g->out[0] = own_bytes;
    const spmv_status status = ranks->by->deal(ranks->state, mine, g->out, all, g->in);
    return status == SPMV_OK ? status : ranks_fail(ranks, status, "the pattern was lost");
}

/* Gathers row offsets (relative to the rank's own entries) and columns. */
static spmv_status gather_pattern(spmv_ranks *ranks, const spmv_some_rows *rows,
                                  const int64_t *first_row, gathering *g) {
    const int size = ranks->size;
    int64_t nnz = 0, before = 0;
    spmv_status status = ranks_agree(ranks, gathering_alloc(ranks, g));
    if (status != SPMV_OK) return status;
    status = ranks->by->gather(ranks->state, &rows->nnz, sizeof rows->nnz, g->nnz);
    for (int r = 0; r < size && status == SPMV_OK; r++) nnz += g->nnz[r];
    if (status == SPMV_OK && is_first(ranks)) {
        g->row_ptr = malloc(((size_t)first_row[size] + 1) * sizeof *g->row_ptr);
        g->col_idx = malloc(((size_t)nnz + 1) * sizeof *g->col_idx);
        if (!g->row_ptr || !g->col_idx) status = ranks_no_memory(ranks, "the pattern of a matrix");
    }
    status = ranks_agree(ranks, status);
    if (status != SPMV_OK) return status;
    for (int r = 0; is_first(ranks) && r < size; r++)
        g->in[r] = (first_row[r + 1] - first_row[r]) * (int64_t)sizeof *g->row_ptr;
    status = send_first(ranks, g, rows->row_ptr + 1, rows->rows * (int64_t)sizeof *g->row_ptr,
                        g->row_ptr ? g->row_ptr + 1 : NULL);
    for (int r = 0; is_first(ranks) && r < size; r++)
        g->in[r] = g->nnz[r] * (int64_t)sizeof *g->col_idx;
    if (status == SPMV_OK)
        status = send_first(ranks, g, rows->col_idx, rows->nnz * (int64_t)sizeof *g->col_idx,
                            g->col_idx);
    if (status != SPMV_OK || !is_first(ranks)) return ranks_agree(ranks, status);
    g->row_ptr[0] = 0;
    for (int r = 0; r < size; r++) {
        for (int64_t i = first_row[r]; i < first_row[r + 1]; i++) g->row_ptr[i + 1] += before;
        before += g->nnz[r];
    }
    g->whole = (spmv_csr_view){.size = sizeof g->whole,
                               .rows = first_row[size],
                               .cols = rows->cols,
                               .nnz = nnz,
                               .row_ptr = g->row_ptr,
                               .col_idx = g->col_idx};
    return ranks_agree(ranks, status);
}

/* ---- owners, on rank 0 ---------------------------------------------------------------------- */

static spmv_status copy_owners(spmv_ranks *ranks, const spmv_ranks_load_opts *how, int64_t rows,
                               int32_t *owner) {
    if (how->owners != rows)
        return ranks_fail(ranks, SPMV_E_ARG,
                          "spmv_ranks_load_opts.owners is %lld, and the matrix has %lld rows",
                          (long long)how->owners, (long long)rows);
    for (int64_t i = 0; i < rows; i++)
        if (how->owner[i] < 0 || how->owner[i] >= ranks->size)
            return ranks_fail(ranks, SPMV_E_ARG,
                              "spmv_ranks_load_opts.owner[%lld] is %d, of %d ranks", (long long)i,
                              (int)how->owner[i], ranks->size);
    if (rows) memcpy(owner, how->owner, (size_t)rows * sizeof *owner);
    return SPMV_OK;
}

static spmv_status choose_owners(spmv_ranks *ranks, const spmv_ranks_load_opts *how,
                                 const spmv_csr_view *whole, int64_t rows, int32_t *owner) {
    static const char *const library[] = {[SPMV_BY_METIS] = "metis", [SPMV_BY_SCOTCH] = "scotch"};
    char why[RANKS_WHY] = "";
    if (how->owner) return copy_owners(ranks, how, rows, owner);
    const spmv_status status =
        is_library(how->partition)
            ? ranks_own_by_library(library[how->partition], whole, ranks->size, owner, why)
            : ranks_own_by_file(how->owner_file, rows, ranks->size, owner, why);
    if (status == SPMV_OK) return status;
    if (!is_library(how->partition)) return ranks_fail(ranks, status, "%s", why);
    return ranks_fail(ranks, status, "%s: %s", library[how->partition], why);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Rank 0 scatters even shares of `owner`, and an allgather distributes all shares to all ranks.
 * room: [size * most] scratch; most: rows of the largest share. */
static spmv_status share_owners(spmv_ranks *ranks, int64_t rows, int64_t most, int32_t *owner,
                                int32_t *mine, int32_t *room, int64_t *bytes) {
    const int size = ranks->size;
    int64_t *out = bytes, *in = bytes + size;
    for (int r = 0; r < size; r++) {
        const int64_t n = ranks_even(rows, r + 1, size) - ranks_even(rows, r, size);
        out[r] = is_first(ranks) ? n * (int64_t)sizeof *owner : 0;
        in[r] = 0;
        if (r == ranks->rank) in[0] = n * (int64_t)sizeof *owner;
    }
    spmv_status status = ranks->by->deal(ranks->state, owner, out, mine, in);
    if (status == SPMV_OK)
        status = ranks->by->gather(ranks->state, mine, (size_t)most * sizeof *mine, room);
    for (int r = 0; r < size && status == SPMV_OK; r++) {
        const int64_t first = ranks_even(rows, r, size), n = ranks_even(rows, r + 1, size) - first;
        if (n) memcpy(owner + first, room + r * most, (size_t)n * sizeof *owner);
    }
    return status == SPMV_OK ? status : ranks_fail(ranks, status, "the partition was lost");
}

/* Broadcasts `owner` from rank 0, in two steps because an exchange has no broadcast. */
static spmv_status spread_owners(spmv_ranks *ranks, int64_t rows, int32_t *owner) {
    const size_t size = (size_t)ranks->size;
    const int64_t most = rows / ranks->size + 1;
    int32_t *mine = calloc((size_t)most, sizeof *mine),
            *room = malloc(size * (size_t)most * sizeof *room);
    int64_t *bytes = malloc(2 * size * sizeof *bytes);
    spmv_status status =
        mine && room && bytes ? SPMV_OK : ranks_no_memory(ranks, "numbers of rows");
    if (most > INT32_MAX / (int64_t)sizeof *owner) /* MPI counts bytes with int */
        status = ranks_fail(ranks, SPMV_E_TOOBIG, "%lld rows of a partition: take more ranks",
                            (long long)rows);
    status = ranks_agree(ranks, status);
    if (status == SPMV_OK)
        status = ranks_agree(ranks, share_owners(ranks, rows, most, owner, mine, room, bytes));
    free(mine);
    free(room);
    free(bytes);
    return status;
}

/* Replaces each row's owner by its new number. first_row: [size + 1] new blocks. */
static spmv_status number(spmv_ranks *ranks, int64_t rows, int32_t *owner, int64_t *first_row) {
    int64_t *next = calloc((size_t)ranks->size + 1, sizeof *next), sum = 0;
    const spmv_status status = ranks_agree_memory(ranks, next, "numbers of rows");
    if (status == SPMV_OK) {
        for (int64_t i = 0; i < rows; i++) next[owner[i]]++;
        for (int r = 0; r <= ranks->size; r++) {
            const int64_t n = next[r];
            first_row[r] = next[r] = sum;
            sum += n;
        }
        for (int64_t i = 0; i < rows; i++) owner[i] = (int32_t)next[owner[i]]++;
    }
    free(next);
    return status;
}

spmv_status ranks_number_rows(spmv_ranks *ranks, const spmv_ranks_load_opts *how,
                              const spmv_some_rows *rows, int64_t *first_row, int32_t **place) {
    const int64_t all = first_row[ranks->size];
    gathering g = {.nnz = NULL};
    *place = malloc((size_t)all * sizeof **place + 1);
    spmv_status status = ranks_agree_memory(ranks, *place, "numbers of rows");
    if (status == SPMV_OK && is_library(how->partition))
        status = gather_pattern(ranks, rows, first_row, &g);
    if (status == SPMV_OK) {
        if (is_first(ranks)) status = choose_owners(ranks, how, &g.whole, all, *place);
        if (ranks_agree(ranks, status) != SPMV_OK) /* an error of the partition names no rank */
            status = ranks_fail(ranks, (spmv_status)ranks->all[0].status, "%s", ranks->all[0].text);
    }
    gathering_free(&g);
    if (status == SPMV_OK) status = spread_owners(ranks, all, *place);
    if (status == SPMV_OK) status = number(ranks, all, *place, first_row);
    if (status == SPMV_OK) return status;
    free(*place);
    *place = NULL;
    return status;
}
