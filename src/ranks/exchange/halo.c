/* halo.c: builds the halo lists. Each rank requests the columns that its rows need from the owners
 * of those columns; the requests tell each owner which entries of x to send. */
#include "ranks/ranks.h"
#include <stdlib.h>
#include <string.h>

typedef struct asking {
    int64_t *ask, *asked; /* [size] entries requested from each rank, and by each rank */
    int64_t *out, *in;    /* [size] bytes of messages */
    int64_t *wanted_here; /* [halo->sent] columns that other ranks request from this one */
} asking;

static void asking_free(asking *a) {
    free(a->ask);
    free(a->asked);
    free(a->out);
    free(a->in);
    free(a->wanted_here);
}

static spmv_status asking_alloc(spmv_ranks *ranks, asking *a) {
    const size_t bytes = (size_t)ranks->size * sizeof *a->ask;
    a->ask = calloc(1, bytes);
    a->asked = malloc(bytes);
    a->out = malloc(bytes);
    a->in = malloc(bytes);
    return a->ask && a->asked && a->out && a->in ? SPMV_OK
                                                 : ranks_no_memory(ranks, "the lists of a halo");
}

/* Counts the requested columns per owner and sends each owner its count. */
static spmv_status count(const spmv_ranks_mat *mat, const int64_t *wanted, int64_t n, asking *a) {
    spmv_ranks *ranks = mat->ranks;
    int owner = 0;
    for (int64_t k = 0; k < n; k++) {
        while (wanted[k] >= mat->first_col[owner + 1]) owner++;
        a->ask[owner]++;
    }
    for (int r = 0; r < ranks->size; r++) a->out[r] = a->in[r] = sizeof *a->ask;
    return ranks->by->deal(ranks->state, a->ask, a->out, a->asked, a->in);
}

static int64_t sum(const int64_t *count, int n, int *positive) {
    int64_t all = 0;
    for (int r = 0; r < n; r++) all += count[r], *positive += count[r] > 0;
    return all;
}

static spmv_status lists_alloc(spmv_ranks *ranks, asking *a, spmv_halo *halo) {
    halo->received = sum(a->ask, ranks->size, &halo->nfrom);
    halo->sent = sum(a->asked, ranks->size, &halo->nto);
    if (halo->sent > INT32_MAX)
        return ranks_fail(ranks, SPMV_E_TOOBIG, "other ranks need %lld entries of x of this one",
                          (long long)halo->sent);
    halo->from = malloc((size_t)halo->nfrom * sizeof *halo->from + 1);
    halo->from_count = malloc((size_t)halo->nfrom * sizeof *halo->from_count + 1);
    halo->to = malloc((size_t)halo->nto * sizeof *halo->to + 1);
    halo->to_count = malloc((size_t)halo->nto * sizeof *halo->to_count + 1);
    halo->give = malloc((size_t)halo->sent * sizeof *halo->give + 1);
    halo->column = malloc((size_t)halo->received * sizeof *halo->column + 1);
    a->wanted_here = malloc((size_t)halo->sent * sizeof *a->wanted_here + 1);
    const bool whole = halo->from && halo->from_count && halo->to && halo->to_count && halo->give &&
                       halo->column && a->wanted_here;
    return whole ? SPMV_OK : ranks_no_memory(ranks, "the lists of a halo");
}

static void list_ranks(const int64_t *count_of, int size, int *rank, int *count_in) {
    for (int r = 0; r < size; r++)
        if (count_of[r]) *rank++ = r, *count_in++ = (int)count_of[r];
}

static spmv_status name_entries(const spmv_ranks_mat *mat, const int64_t *wanted, asking *a,
                                spmv_halo *halo) {
    spmv_ranks *ranks = mat->ranks;
    for (int r = 0; r < ranks->size; r++) {
        a->out[r] = a->ask[r] * (int64_t)sizeof *wanted;
        a->in[r] = a->asked[r] * (int64_t)sizeof *wanted;
    }
    const spmv_status status = ranks->by->deal(ranks->state, wanted, a->out, a->wanted_here, a->in);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "the lists of a halo were lost");
    list_ranks(a->ask, ranks->size, halo->from, halo->from_count);
    list_ranks(a->asked, ranks->size, halo->to, halo->to_count);
    memcpy(halo->column, wanted, (size_t)halo->received * sizeof *wanted);
    halo->first_col = mat->first_col;
    for (int64_t k = 0; k < halo->sent; k++)
        halo->give[k] = (int32_t)(a->wanted_here[k] - mat->first_col[ranks->rank]);
    return SPMV_OK;
}

spmv_status ranks_halo_make(spmv_ranks_mat *mat, const int64_t *wanted, int64_t n) {
    asking a = {0};
    spmv_ranks *ranks = mat->ranks;
    spmv_status status = ranks_agree(ranks, asking_alloc(ranks, &a));
    if (status == SPMV_OK) {
        status = count(mat, wanted, n, &a);
        if (status == SPMV_OK) status = lists_alloc(ranks, &a, &mat->halo);
        status = ranks_agree(ranks, status);
    }
    if (status == SPMV_OK) status = ranks_agree(ranks, name_entries(mat, wanted, &a, &mat->halo));
    asking_free(&a);
    return status;
}

void ranks_halo_free(spmv_halo *halo) {
    free(halo->from);
    free(halo->from_count);
    free(halo->to);
    free(halo->to_count);
    free(halo->give);
    free(halo->column);
}
