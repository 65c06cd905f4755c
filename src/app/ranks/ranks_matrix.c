/* ranks_matrix.c: rank 0 reads a matrix and deals it out twice: compressed rows, which multiply,
 * and the entries as the file has them, for the check. No other rank holds more than its rows;
 * rank 0 holds the whole matrix until it is dealt out. */
#include "app/option_values.h"
#include "ranks.h"
#include <stdlib.h>

/* ---- entries for the check ------------------------------------------------------------------ */

typedef struct entry {
    int32_t row, col; /* of the whole matrix */
    double value;
} entry;

enum { BLOCK = 1 << 16 }; /* entries of the file that are dealt out at a time */

typedef struct dealing {
    int64_t *first_row; /* [size + 1] */
    int64_t *count;     /* [size] entries for each rank */
    int64_t *out, *in;  /* [size] bytes */
    entry *sent, *got;  /* [2 BLOCK] */
} dealing;

static int owner_of(const dealing *d, int size, int64_t row) {
    int low = 0, high = size - 1;
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (d->first_row[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The entry that k of the file stands for by itself, and the one that it is mirrored to. */
static int entries_at(const spmv_coo_view *A, int64_t k, entry out[2]) {
    const int32_t i = A->row[k], j = A->col[k];
    const double a = A->values ? A->values[k] : 1;
    out[0] = (entry){i, j, a};
    if (A->symmetry == SPMV_GENERAL || i == j) return 1;
    out[1] = (entry){j, i, A->symmetry == SPMV_SKEW_SYMMETRIC ? -a : a};
    return 2;
}

static void count_block(const ranks *w, const dealing *d, const spmv_coo_view *A, int64_t from,
                        int64_t to) {
    entry some[2];
    memset(d->count, 0, (size_t)w->size * sizeof *d->count);
    for (int64_t k = from; k < to; k++)
        for (int e = entries_at(A, k, some) - 1; e >= 0; e--)
            d->count[owner_of(d, w->size, some[e].row)]++;
}

/* Sorts a block by owner, each one's in the order of the file. */
static void sort_block(const ranks *w, const dealing *d, const spmv_coo_view *A, int64_t from,
                       int64_t to) {
    entry some[2];
    int64_t at = 0;
    for (int r = 0; r < w->size; r++) { /* `in` is not needed yet: where each rank's begin */
        d->in[r] = at;
        at += d->count[r];
        d->out[r] = d->count[r] * (int64_t)sizeof(entry);
    }
    for (int64_t k = from; k < to; k++) {
        const int n = entries_at(A, k, some);
        for (int e = 0; e < n; e++) d->sent[d->in[owner_of(d, w->size, some[e].row)]++] = some[e];
    }
}

/* Tells every rank a number that rank 0 has for it, in d->count. */
static spmv_status tell(const ranks *w, const dealing *d, int64_t *mine) {
    for (int r = 0; r < w->size; r++) {
        d->out[r] = is_first(w) ? (int64_t)sizeof *mine : 0;
        d->in[r] = r == 0 ? (int64_t)sizeof *mine : 0;
    }
    return spmv_world_deal(w->world, d->count, d->out, mine, d->in);
}

/* A: rank 0's. */
static spmv_status deal_block(ranks *w, const dealing *d, const spmv_coo_view *A, int64_t from,
                              int64_t to) {
    int64_t mine = 0;
    if (is_first(w)) count_block(w, d, A, from, to);
    TRY(tell(w, d, &mine));
    memset(d->out, 0, (size_t)w->size * sizeof *d->out);
    if (is_first(w)) sort_block(w, d, A, from, to);
    memset(d->in, 0, (size_t)w->size * sizeof *d->in);
    d->in[0] = mine * (int64_t)sizeof(entry);
    TRY(spmv_world_deal(w->world, d->sent, d->out, d->got, d->in));
    for (int64_t k = 0; k < mine; k++, w->own.n++) {
        w->own.row[w->own.n] = (int32_t)(d->got[k].row - w->facts.first_row);
        w->own.col[w->own.n] = d->got[k].col;
        w->own.value[w->own.n] = d->got[k].value;
    }
    return SPMV_OK;
}

static bool dealing_alloc(const ranks *w, dealing *d) {
    const size_t each = (size_t)w->size * sizeof(int64_t), block = 2 * BLOCK * sizeof(entry);
    d->first_row = malloc(each + sizeof(int64_t));
    d->count = malloc(each);
    d->out = malloc(each);
    d->in = malloc(each);
    d->sent = malloc(is_first(w) ? block : 1);
    d->got = malloc(block);
    return d->first_row && d->count && d->out && d->in && d->sent && d->got;
}

static void dealing_free(dealing *d) {
    free(d->first_row);
    free(d->count);
    free(d->out);
    free(d->in);
    free(d->sent);
    free(d->got);
}

static bool own_alloc(entries *own, int64_t n) {
    own->row = malloc(((size_t)n + 1) * sizeof *own->row);
    own->col = malloc(((size_t)n + 1) * sizeof *own->col);
    own->value = malloc(((size_t)n + 1) * sizeof *own->value);
    return own->row && own->col && own->value;
}

static int deal_entries(ranks *w, const spmv_mat *mat) {
    dealing d = {0};
    spmv_coo_view A = SPMV_OPTS(spmv_coo_view);
    int64_t mine = 0;
    spmv_status status = mat ? spmv_mat_entries(mat, &A) : SPMV_OK;
    if (status == SPMV_OK && !dealing_alloc(w, &d)) status = SPMV_E_NOMEM;
    int code = ranks_agree(w, status == SPMV_OK ? 0 : complain(status, NULL));
    if (!code) {
        for (int r = 0; r < w->size; r++) d.first_row[r] = w->all[r].first_row;
        d.first_row[w->size] = w->of.rows;
        if (mat) count_block(w, &d, &A, 0, A.nnz);
        status = tell(w, &d, &mine);
        if (status == SPMV_OK && !own_alloc(&w->own, mine)) status = SPMV_E_NOMEM;
        code = ranks_agree(w, status == SPMV_OK ? 0 : complain(status, NULL));
    }
    for (int64_t k = 0; k < w->of.stored && !code; k += BLOCK) {
        status = deal_block(w, &d, &A, k, k + BLOCK < w->of.stored ? k + BLOCK : w->of.stored);
        if (status != SPMV_OK) code = ranks_failed(w, status);
    }
    dealing_free(&d);
    return code;
}

/* ---- a matrix ------------------------------------------------------------------------------- */

/* Rank 0's part. */
static int read_matrix(ranks *w, const char *source, spmv_stats *stats, inputs *in,
                       spmv_mat **mat) {
    session *run = w->run;
    int code = load_matrix(run, source, mat);
    if (code) return code;
    spmv_status status = spmv_mat_stats(*mat, stats);
    if (status != SPMV_OK) return complain(status, spmv_ctx_error(run->ctx));
    introduce_matrix(run, in->name, stats, false);
    say_note(spmv_ctx_note(run->ctx), run->o->quiet);
    draw_thumbnail(run, *mat, in);
    if (run->o->write_file && spmv_mat_save(*mat, run->o->write_file) != SPMV_OK)
        return complain(SPMV_E_WRITE, spmv_ctx_error(run->ctx));
    spmv_coo_view A = SPMV_OPTS(spmv_coo_view);
    status = spmv_mat_entries(*mat, &A);
    w->of = (sheet){stats->rows, stats->cols, stats->nnz, A.nnz};
    return status == SPMV_OK ? 0 : complain(status, spmv_ctx_error(run->ctx));
}

static int tell_sheet(ranks *w) {
    sheet *all = malloc((size_t)w->size * sizeof *all);
    int code = ranks_agree(w, all ? 0 : complain(SPMV_E_NOMEM, NULL));
    if (!code) {
        const spmv_status status = spmv_world_gather(w->world, &w->of, sizeof w->of, all);
        if (status != SPMV_OK)
            code = ranks_failed(w, status);
        else
            w->of = all[0];
    }
    free(all);
    return code;
}

int ranks_load(ranks *w, const char *source, spmv_stats *stats, inputs *in) {
    spmv_mat *mat = NULL;
    spmv_many_load_opts opts = SPMV_OPTS(spmv_many_load_opts);
    const bool by_rows = strcmp(w->run->o->partition, "rows") == 0;
    opts.partition = by_rows ? SPMV_BY_ROWS : SPMV_BY_NONZEROS;
    int code = ranks_agree(w, is_first(w) ? read_matrix(w, source, stats, in, &mat) : 0);
    if (!code) code = tell_sheet(w);
    if (!code) {
        spmv_status status = spmv_many_mat_deal(w->world, mat, &opts, &w->mat);
        w->facts = SPMV_OPTS(spmv_many_facts);
        if (status == SPMV_OK) status = spmv_many_mat_info(w->mat, &w->facts);
        if (status == SPMV_OK)
            status = spmv_world_gather(w->world, &w->facts, sizeof w->facts, w->all);
        if (status != SPMV_OK) code = ranks_failed(w, status);
    }
    if (!code && w->run->o->verify) code = deal_entries(w, mat);
    spmv_mat_free(mat);
    in->rows = w->of.rows;
    in->cols = w->of.cols;
    return code;
}

void ranks_unload(ranks *w) {
    for (int k = 0; k < NXS; k++)
        for (int p = 0; p < 2; p++) {
            const int64_t n = w->right[k][p] ? most_vectors(w->run->o) : 0;
            for (int64_t v = 0; v < n; v++) oracle_free(&w->right[k][p][v]);
            free(w->right[k][p]);
            w->right[k][p] = NULL;
        }
    free(w->own.row);
    free(w->own.col);
    free(w->own.value);
    free(w->x);
    w->own = (entries){0};
    w->x = NULL;
    spmv_many_mat_free(w->mat);
    w->mat = NULL;
}

/* ---- y -------------------------------------------------------------------------------------- */

enum { ROWS = 1 << 14 }; /* of each rank that are gathered at a time */

/* Puts rows of all ranks, from number `from` of each on, to their places among all vectors. */
static void place_y(const ranks *w, int64_t k, int64_t from, const double *got, double *y) {
    for (int r = 0; r < w->size; r++) {
        const spmv_many_facts *f = &w->all[r];
        for (int64_t i = from; i < from + ROWS && i < f->own_rows; i++)
            for (int64_t v = 0; v < k; v++)
                y[v * w->of.rows + f->first_row + i] = got[((r * ROWS) + i - from) * k + v];
    }
}

static void widen(const course *c, int64_t from, int64_t rows, double *out) {
    for (int64_t n = 0; n < ROWS * c->k; n++) {
        const int64_t at = from * c->k + n;
        out[n] = at >= rows * c->k          ? 0
                 : c->precision == SPMV_F64 ? ((const double *)c->y)[at]
                                            : (double)((const float *)c->y)[at];
    }
}

int ranks_save_y(ranks *w, const course *c) {
    session *run = w->run;
    const size_t block = (size_t)(ROWS * c->k);
    const int64_t all = w->of.rows * c->k;
    int64_t most = 0;
    double *mine = malloc(block * sizeof *mine),
           *got = malloc((size_t)w->size * block * sizeof *got),
           *y = malloc(is_first(w) ? ((size_t)all + 1) * sizeof *y : 1);
    int code = ranks_agree(w, mine && got && y ? 0 : complain(SPMV_E_NOMEM, NULL));
    for (int r = 0; r < w->size; r++)
        if (w->all[r].own_rows > most) most = w->all[r].own_rows;
    for (int64_t from = 0; from < most && !code; from += ROWS) {
        widen(c, from, w->facts.own_rows, mine);
        const spmv_status status = spmv_world_gather(w->world, mine, block * sizeof *mine, got);
        if (status != SPMV_OK) code = ranks_failed(w, status);
        if (is_first(w) && !code) place_y(w, c->k, from, got, y);
    }
    if (!code && is_first(w) && spmv_vector_save(run->ctx, run->o->y_file, all, y) != SPMV_OK)
        code = complain(SPMV_E_WRITE, spmv_ctx_error(run->ctx));
    run->wrote_y = true;
    free(mine);
    free(got);
    free(y);
    return ranks_agree(w, code);
}
