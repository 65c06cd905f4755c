/* load.c: creates a distributed matrix from a file that all ranks read, or from a matrix of rank 0,
 * whose rows it sends to the others. */
#include "ranks/ranks.h"
#include "ranks/partition/partition.h"
#include <stdlib.h>
#include <string.h>

typedef struct block { /* size of a rank's block of rows, sent by rank 0 */
    int64_t rows, cols, nnz;
} block;

/* on rank 0: the matrix and its blocks */
typedef struct dealer {
    spmv_csr_view csr;
    int64_t *first_row; /* [size + 1] first row of each block */
    block *of;          /* [size] blocks */
    int64_t *length;    /* [rows] entries per row */
} dealer;

typedef struct hand { /* data that a rank receives */
    block mine;
    int64_t *ptr, *idx;
    int32_t *col;
    double *values;
    int64_t *out, *in; /* [size] bytes of messages */
} hand;

static bool is_dealer(const spmv_ranks *ranks) {
    return ranks->rank == 0;
}

/* ---- partition ------------------------------------------------------------------------------ */

static void divide_rows(dealer *d, spmv_partition by, int size) {
    const spmv_csr_view *csr = &d->csr;
    ranks_divide(csr, by, size, d->first_row);
    for (int r = 0; r < size; r++) {
        const int64_t first = d->first_row[r], end = d->first_row[r + 1];
        d->of[r].rows = end - first;
        d->of[r].nnz = csr->row_ptr[end] - csr->row_ptr[first];
        d->of[r].cols = csr->rows == csr->cols
                            ? end - first
                            : ranks_even(csr->cols, r + 1, size) - ranks_even(csr->cols, r, size);
    }
    for (int64_t i = 0; i < csr->rows; i++) d->length[i] = csr->row_ptr[i + 1] - csr->row_ptr[i];
}

/* ---- dealing -------------------------------------------------------------------------------- */

static spmv_status divide_matrix(spmv_ranks *ranks, const spmv_mat *mat,
                                 const spmv_ranks_load_opts *opts, dealer *d) {
    const spmv_status status = ranks_ctx_failed(ranks, spmv_mat_rows(mat, &d->csr));
    if (status != SPMV_OK) return status;
    d->first_row = malloc(((size_t)ranks->size + 1) * sizeof *d->first_row);
    d->of = malloc((size_t)ranks->size * sizeof *d->of);
    d->length = malloc(((size_t)d->csr.rows + 1) * sizeof *d->length);
    if (!d->first_row || !d->of || !d->length)
        return ranks_no_memory(ranks, "the rows of a matrix");
    divide_rows(d, opts->partition, ranks->size);
    return SPMV_OK;
}

static void dealer_free(dealer *d) {
    free(d->first_row);
    free(d->of);
    free(d->length);
    *d = (dealer){0};
}

/* Sends to each rank count(block) items of `bytes` bytes from rank 0 (MPI_Scatterv). */
static spmv_status deal(spmv_ranks *ranks, const dealer *d, hand *h, const void *items,
                        size_t bytes, int64_t (*count)(const block *), void *mine) {
    memset(h->in, 0, (size_t)ranks->size * sizeof *h->in);
    memset(h->out, 0, (size_t)ranks->size * sizeof *h->out);
    h->in[0] = count(&h->mine) * (int64_t)bytes;
    for (int r = 0; is_dealer(ranks) && r < ranks->size; r++)
        h->out[r] = count(&d->of[r]) * (int64_t)bytes;
    const spmv_status status = ranks->by->deal(ranks->state, items, h->out, mine, h->in);
    return status == SPMV_OK ? status : ranks_fail(ranks, status, "rows of a matrix were lost");
}

static int64_t one(const block *b) {
    (void)b;
    return 1;
}
static int64_t rows_of(const block *b) {
    return b->rows;
}
static int64_t nnz_of(const block *b) {
    return b->nnz;
}

static spmv_status hand_alloc(spmv_ranks *ranks, hand *h) {
    h->ptr = calloc((size_t)h->mine.rows + 1, sizeof *h->ptr);
    h->idx = malloc(((size_t)h->mine.nnz + 1) * sizeof *h->idx);
    h->col = malloc(((size_t)h->mine.nnz + 1) * sizeof *h->col);
    h->values = malloc(((size_t)h->mine.nnz + 1) * sizeof *h->values);
    return h->ptr && h->idx && h->col && h->values ? SPMV_OK
                                                   : ranks_no_memory(ranks, "the rows of a matrix");
}

static void hand_free(hand *h) {
    free(h->ptr);
    free(h->idx);
    free(h->col);
    free(h->values);
    free(h->out);
    free(h->in);
}

static spmv_status deal_rows(spmv_ranks *ranks, const dealer *d, hand *h) {
    spmv_status status = deal(ranks, d, h, d->length, sizeof *h->ptr, rows_of, h->ptr + 1);
    if (status == SPMV_OK)
        status = deal(ranks, d, h, d->csr.col_idx, sizeof *h->col, nnz_of, h->col);
    if (status == SPMV_OK)
        status = deal(ranks, d, h, d->csr.values, sizeof *h->values, nnz_of, h->values);
    for (int64_t i = 0; i < h->mine.rows; i++) h->ptr[i + 1] += h->ptr[i];
    for (int64_t k = 0; k < h->mine.nnz; k++) h->idx[k] = h->col[k];
    return status;
}

static spmv_status get_rows(spmv_ranks *ranks, const spmv_mat *mat,
                            const spmv_ranks_load_opts *opts, dealer *d, hand *h) {
    h->in = malloc((size_t)ranks->size * sizeof *h->in);
    h->out = malloc((size_t)ranks->size * sizeof *h->out);
    spmv_status status = h->in && h->out ? SPMV_OK : ranks_no_memory(ranks, "the rows of a matrix");
    if (status == SPMV_OK && is_dealer(ranks)) status = divide_matrix(ranks, mat, opts, d);
    status = ranks_agree(ranks, status);
    if (status != SPMV_OK) return status;
    status = deal(ranks, d, h, d->of, sizeof h->mine, one, &h->mine);
    if (status == SPMV_OK) status = hand_alloc(ranks, h);
    status = ranks_agree(ranks, status);
    if (status == SPMV_OK) status = ranks_agree(ranks, deal_rows(ranks, d, h));
    dealer_free(d);
    return status;
}

static spmv_status check_options(spmv_ranks *ranks, const spmv_ranks_load_opts *given,
                                 spmv_ranks_load_opts *opts) {
    const spmv_status status = ranks_read(ranks, "spmv_ranks_load_opts", opts, sizeof *opts, given);
    if (status != SPMV_OK) return status;
    if (opts->partition < SPMV_BY_NONZEROS || opts->partition > SPMV_BY_OWNERS)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_load_opts.partition is %d",
                          (int)opts->partition);
    if (opts->partition == SPMV_BY_OWNERS && ranks->rank == 0 && !opts->owner && !opts->owner_file)
        return ranks_fail(ranks, SPMV_E_ARG,
                          "spmv_ranks_load_opts: neither owner nor owner_file is there");
    return SPMV_OK;
}

spmv_status spmv_ranks_mat_load(spmv_ranks *ranks, const char *path,
                                const spmv_ranks_load_opts *opts, spmv_ranks_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_ranks_load_opts known = SPMV_OPTS(spmv_ranks_load_opts);
    spmv_load_opts load = SPMV_OPTS(spmv_load_opts);
    ranks_loaded l = {.own_cols = 0};
    if (!ranks || !out)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_mat_load: %s is NULL",
                          ranks ? "out" : "ranks");
    *out = NULL;
    spmv_status status = check_options(ranks, opts, &known);
    if (status == SPMV_OK && !path)
        status = ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_mat_load: path is NULL");
    if (status == SPMV_OK)
        status = ranks_read(ranks, "spmv_load_opts", &load, sizeof load, known.load);
    status = ranks_agree(ranks, status);
    if (status == SPMV_OK) status = ranks_read_rows(ranks, path, &load, &known, &l);
    if (status == SPMV_OK) status = ranks_mat_of(ranks, &l, out);
    if (status == SPMV_OK) {
        (*out)->stats = l.stats;
        (*out)->own = l.own;
        (*out)->number = l.number;
        l.own = (ranks_own){0};
        l.number = NULL;
    }
    ranks_loaded_free(ranks, &l);
    return status;
}

static spmv_status deal_out(spmv_ranks *ranks, const spmv_mat *mat,
                            const spmv_ranks_load_opts *opts, spmv_ranks_mat **out) {
    dealer d = {.csr = SPMV_OPTS(spmv_csr_view)};
    hand h = {.ptr = NULL};
    spmv_status status = get_rows(ranks, mat, opts, &d, &h);
    if (status == SPMV_OK) {
        free(h.col);
        h.col = NULL;
        const spmv_ranks_rows rows = {.size = sizeof rows,
                                      .rows = h.mine.rows,
                                      .cols = h.mine.cols,
                                      .nnz = h.mine.nnz,
                                      .ptr = h.ptr,
                                      .idx = h.idx,
                                      .values = h.values};
        status = spmv_ranks_mat_create(ranks, &rows, out);
    }
    dealer_free(&d);
    hand_free(&h);
    return status;
}

spmv_status spmv_ranks_mat_deal(spmv_ranks *ranks, spmv_mat *mat, const spmv_ranks_load_opts *opts,
                                spmv_ranks_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_ranks_load_opts known = SPMV_OPTS(spmv_ranks_load_opts);
    if (!ranks || !out)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_mat_deal: %s is NULL",
                          ranks ? "out" : "ranks");
    *out = NULL;
    spmv_status status = check_options(ranks, opts, &known);
    if (status == SPMV_OK && is_dealer(ranks) && !mat)
        status = ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_mat_deal: mat is NULL");
    if (status == SPMV_OK && !ranks_is_blocks(known.partition))
        status = ranks_fail(ranks, SPMV_E_UNSUITABLE, "spmv_ranks_mat_deal: rows go out in blocks");
    status = ranks_agree(ranks, status);
    return status == SPMV_OK ? deal_out(ranks, mat, &known, out) : status;
}

/* ---- of a loaded matrix --------------------------------------------------------------------- */

spmv_status spmv_ranks_mat_stats(const spmv_ranks_mat *mat, spmv_stats *out) {
    SPMV_DEFAULT_ENVIRONMENT;
    if (!mat) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_mat_stats: mat is NULL");
    if (!mat->stats.field && !mat->stats.rows && !mat->stats.hash)
        return ranks_fail(mat->ranks, SPMV_E_UNSUITABLE,
                          "spmv_ranks_mat_stats: only of a matrix that was loaded");
    return ranks_fill(mat->ranks, "spmv_stats", &mat->stats, sizeof mat->stats, out);
}

const int64_t *spmv_ranks_mat_numbers(const spmv_ranks_mat *mat) {
    return mat ? mat->number : NULL;
}

spmv_status spmv_ranks_mat_entries(const spmv_ranks_mat *mat, spmv_coo_view *view) {
    SPMV_DEFAULT_ENVIRONMENT;
    if (!mat) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_mat_entries: mat is NULL");
    if (!mat->own.row)
        return ranks_fail(mat->ranks, SPMV_E_UNSUITABLE,
                          "spmv_ranks_mat_entries: they were not kept "
                          "(spmv_ranks_load_opts.keep_entries)");
    const spmv_coo_view own = {.rows = mat->facts.own_rows,
                               .cols = mat->facts.cols,
                               .nnz = mat->own.n,
                               .row = mat->own.row,
                               .col = mat->own.col,
                               .values = mat->own.value};
    return ranks_fill(mat->ranks, "spmv_coo_view", &own, sizeof own, view);
}
