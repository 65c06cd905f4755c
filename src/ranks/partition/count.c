/* count.c: counts what each rank would store, receive and send, in one pass over the entries, in
 * parallel over ranks. A stamp per column tells whether the current rank owns or has counted it. */
#include "partition.h"
#include <stdlib.h>
#include <string.h>

typedef struct groups { /* items grouped by rank, ascending within a rank */
    int64_t *first;     /* [ranks + 1] first item of each rank */
    int32_t *item;      /* [n] */
} groups;

static void groups_free(groups *g) {
    free(g->first);
    free(g->item);
}

static spmv_status groups_make(const int32_t *owner, int64_t n, int ranks, groups *g) {
    g->first = calloc((size_t)ranks + 2, sizeof *g->first);
    g->item = malloc((size_t)n * sizeof *g->item + 1);
    if (!g->first || !g->item) return SPMV_E_NOMEM;
    int64_t *next = g->first + 1; /* index of the rank's next item; finally the end of its items */
    for (int64_t k = 0; k < n; k++) next[owner[k] + 1]++;
    for (int r = 0; r < ranks; r++) next[r + 1] += next[r];
    for (int64_t k = 0; k < n; k++) g->item[next[owner[k]]++] = (int32_t)k;
    return SPMV_OK;
}

typedef struct scene { /* read by all threads */
    const spmv_csr_view *A;
    const int32_t *owner; /* [cols] owner of each column */
    groups rows, cols;
    int64_t least; /* least length of a row that is split */
} scene;

typedef struct notes { /* scratch of a thread */
    int32_t *stamp;    /* [cols] 2 r: rank r owns it; 2 r + 1: rank r receives it */
    int64_t *from;     /* [ranks] entries received from each; 0 between two ranks */
    int32_t *peer;     /* [ranks] the ranks with from > 0 */
} notes;

static void notes_free(notes *n) {
    free(n->stamp);
    free(n->from);
    free(n->peer);
}

static spmv_status notes_make(int64_t cols, int ranks, notes *n) {
    const size_t bytes = (size_t)cols * sizeof *n->stamp;
    n->stamp = malloc(bytes + 1);
    n->from = calloc((size_t)ranks, sizeof *n->from);
    n->peer = malloc((size_t)ranks * sizeof *n->peer);
    if (!n->stamp || !n->from || !n->peer) return SPMV_E_NOMEM;
    memset(n->stamp, -1, bytes);
    return SPMV_OK;
}

/* Counts an entry of rank r whose column another rank owns. */
static void meet(const scene *s, int r, int32_t col, notes *n, ranks_share *mine) {
    mine->remote_nnz++;
    if (n->stamp[col] == 2 * r + 1) return;
    n->stamp[col] = 2 * r + 1;
    mine->received++;
    const int32_t q = s->owner[col];
    if (n->from[q]++ == 0) n->peer[mine->receives_from++] = q;
}

static void read_rows(const scene *s, int r, notes *n, ranks_share *mine) {
    const spmv_csr_view *A = s->A;
    const int32_t own = 2 * r;
    for (int64_t k = s->rows.first[r]; k < s->rows.first[r + 1]; k++) {
        const int64_t i = s->rows.item[k], before = mine->remote_nnz;
        if (A->row_ptr[i + 1] - A->row_ptr[i] >= s->least) continue;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++)
            if (n->stamp[A->col_idx[e]] != own) meet(s, r, A->col_idx[e], n, mine);
        mine->nnz += A->row_ptr[i + 1] - A->row_ptr[i];
        mine->remote_rows += mine->remote_nnz > before;
    }
}

/* Counts for rank r, and adds to the `sent` counts of the ranks that it receives from. Other
 * threads add to the same counts, therefore the atomic updates. */
static void count_rank(const scene *s, int r, notes *n, ranks_share *out) {
    ranks_share mine = {.rows = s->rows.first[r + 1] - s->rows.first[r],
                        .cols = s->cols.first[r + 1] - s->cols.first[r]};
    for (int64_t k = s->cols.first[r]; k < s->cols.first[r + 1]; k++)
        n->stamp[s->cols.item[k]] = 2 * r;
    read_rows(s, r, n, &mine);
    for (int64_t k = 0; k < mine.receives_from; k++) {
        ranks_share *sender = &out[n->peer[k]];
#pragma omp atomic
        sender->sent += n->from[n->peer[k]];
#pragma omp atomic
        sender->sends_to++;
        n->from[n->peer[k]] = 0;
    }
    ranks_share *to = &out[r]; /* sent and sends_to are updated by other threads */
    to->rows = mine.rows;
    to->cols = mine.cols;
    to->nnz = mine.nnz;
    to->remote_rows = mine.remote_rows;
    to->remote_nnz = mine.remote_nnz;
    to->received = mine.received;
    to->receives_from = mine.receives_from;
}

/* Limits the threads so that their stamps, [cols] each, use less memory than the entries. */
static int team(const spmv_csr_view *A, int ranks, int threads) {
    const int64_t most = A->cols ? 2 * A->nnz / A->cols : 1;
    if (threads > ranks) threads = ranks;
    if (threads > most) threads = (int)most;
    return threads > 1 ? threads : 1;
}

static spmv_status count_all(const scene *s, int ranks, int threads, ranks_share *out) {
    spmv_status status = SPMV_OK;
    memset(out, 0, (size_t)ranks * sizeof *out);
#pragma omp parallel num_threads(team(s->A, ranks, threads))
    {
        notes n = {0};
        const spmv_status mine = notes_make(s->A->cols, ranks, &n);
        if (mine != SPMV_OK)
#pragma omp atomic write
            status = mine;
#pragma omp barrier
        if (status == SPMV_OK)
#pragma omp for schedule(dynamic)
            for (int r = 0; r < ranks; r++) count_rank(s, r, &n, out);
        notes_free(&n);
    }
    return status;
}

/* Counts the entries of split rows at the owners of their columns, and the sums that these ranks
 * send to the owner of the row. row_owner: [rows], ascending. met: [2][ranks] the last row in which
 * a rank has an entry, and the last rank to which it sends a sum. */
static void count_split(const scene *s, const int32_t *row_owner, int64_t *met, ranks_share *out,
                        int ranks) {
    const spmv_csr_view *A = s->A;
    for (int64_t i = 0; i < A->rows; i++) {
        const int32_t to = row_owner[i];
        if (A->row_ptr[i + 1] - A->row_ptr[i] < s->least) continue;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int32_t r = s->owner[A->col_idx[k]];
            out[r].nnz++;
            if (r == to || met[r] == i) continue;
            met[r] = i;
            out[r].sent++;
            out[to].received++;
            if (met[ranks + r] == to) continue;
            met[ranks + r] = to;
            out[r].sends_to++;
            out[to].receives_from++;
        }
    }
}

static spmv_status count_sums(const scene *s, const int32_t *row_owner, int ranks,
                              ranks_share *out) {
    int64_t *met = malloc(2 * (size_t)ranks * sizeof *met);
    if (!met) return SPMV_E_NOMEM;
    memset(met, -1, 2 * (size_t)ranks * sizeof *met);
    count_split(s, row_owner, met, out, ranks);
    free(met);
    return SPMV_OK;
}

spmv_status ranks_count(const spmv_csr_view *A, const int32_t *owner, int ranks, bool splits,
                        int threads, ranks_share *out) {
    int32_t *even = NULL; /* owners of the columns if the matrix is not square */
    scene s = {.A = A, .owner = owner};
    s.least = splits ? ranks_split_least(A->nnz, ranks) : INT64_MAX;
    spmv_status status = groups_make(owner, A->rows, ranks, &s.rows);
    if (status == SPMV_OK && A->rows != A->cols) {
        s.owner = even = malloc((size_t)A->cols * sizeof *even + 1);
        if (!even) status = SPMV_E_NOMEM;
        for (int r = 0; even && r < ranks; r++)
            for (int64_t j = ranks_even(A->cols, r, ranks); j < ranks_even(A->cols, r + 1, ranks);
                 j++)
                even[j] = r;
        if (even) status = groups_make(even, A->cols, ranks, &s.cols);
    } else {
        s.cols = s.rows;
    }
    if (status == SPMV_OK) status = count_all(&s, ranks, threads, out);
    if (status == SPMV_OK && s.least < INT64_MAX) status = count_sums(&s, owner, ranks, out);
    if (even) groups_free(&s.cols);
    groups_free(&s.rows);
    free(even);
    return status;
}
