/* ranks_matrix.c: ranks read a matrix, each a piece, and get what multiplies, and for the check the
 * entries of their rows as the file has them. */
#include "app/info/thumbnail.h"
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/run/cmd_run.h"
#include "app/run/inputs.h"
#include "app/run/session.h"
#include "app/run/verify.h"
#include "ranks.h"
#include <stdlib.h>
#include <string.h>

/* ---- a matrix ------------------------------------------------------------------------------- */

/* Draws the pattern from what all ranks count, if they have entries. */
static int draw(ranks *w, inputs *in) {
    if (!w->run->o->verify) return 0;
    const size_t each = THUMBNAIL_CELLS * sizeof(int64_t);
    int64_t *mine = calloc(1, each), *all = malloc((size_t)w->size * each);
    int code = ranks_vote(w, mine && all ? 0 : complain(SPMV_E_NOMEM, NULL));
    if (!code) {
        thumbnail_count(&w->own, w->number, w->facts.first_row, w->of.rows, mine);
        const spmv_status status = spmv_ranks_gather(w->ranks, mine, each, all);
        if (status != SPMV_OK) code = ranks_failed(w, status);
    }
    for (size_t k = THUMBNAIL_CELLS; k < (size_t)w->size * THUMBNAIL_CELLS && !code; k++)
        all[k % THUMBNAIL_CELLS] += all[k];
    if (!code) thumbnail_draw(all, w->of.rows, w->of.cols, in->thumbnail);
    free(mine);
    free(all);
    return code;
}

/* Rank 0 writes the file of --write, of a matrix that it reads for that alone. */
static int write_whole(session *run, const char *source) {
    spmv_mat *mat = NULL;
    int code = load_matrix(run, source, &mat);
    if (!code && spmv_mat_save(mat, run->o->write_file) != SPMV_OK)
        code = complain(SPMV_E_WRITE, spmv_ctx_error(run->ctx));
    spmv_mat_free(mat);
    return code;
}

static spmv_status get_facts(ranks *w, spmv_stats *stats) {
    w->facts = SPMV_OPTS(spmv_ranks_facts);
    w->own = SPMV_OPTS(spmv_coo_view);
    TRY(spmv_ranks_mat_info(w->mat, &w->facts));
    TRY(spmv_ranks_mat_stats(w->mat, stats));
    if (w->run->o->verify) TRY(spmv_ranks_mat_entries(w->mat, &w->own));
    w->number = spmv_ranks_mat_numbers(w->mat);
    w->of = (sheet){stats->rows, stats->cols, stats->nnz};
    return spmv_ranks_gather(w->ranks, &w->facts, sizeof w->facts, w->all);
}

static spmv_partition partition_of(const char *word) {
    static const char *const words[] = {"nnz", "rows", "metis", "scotch"};
    for (int k = SPMV_BY_NONZEROS; k < SPMV_BY_OWNERS; k++)
        if (strcmp(word, words[k]) == 0) return (spmv_partition)k;
    return SPMV_BY_OWNERS;
}

int ranks_load_source(ranks *w, const char *source, spmv_stats *stats, inputs *in) {
    session *run = w->run;
    double start;
    const spmv_load_opts load = load_options(run, source, &start);
    spmv_ranks_load_opts opts = SPMV_OPTS(spmv_ranks_load_opts);
    opts.load = &load;
    opts.partition = partition_of(run->o->partition);
    opts.owner_file = run->o->partition;
    opts.keep_entries = run->o->verify;
    spmv_status status = spmv_ranks_mat_load(w->ranks, source, &opts, &w->mat);
    if (status == SPMV_OK) status = spmv_ranks_mat_set_halo(w->mat, run->o->halo);
    if (status == SPMV_OK) status = get_facts(w, stats);
    if (status != SPMV_OK) return ranks_failed(w, status);
    in->rows = w->of.rows;
    in->cols = w->of.cols;
    if (is_first(w)) {
        introduce_matrix(run, in->name, stats, false);
        say_note(spmv_ctx_note(run->ctx), run->o->quiet);
    }
    const int code = draw(w, in);
    if (code || !run->o->write_file) return code;
    return ranks_vote(w, is_first(w) ? write_whole(run, source) : 0);
}

void ranks_unload(ranks *w) {
    for (int k = 0; k < 4; k++) {
        oracle **right = &w->right[k / 2][k % 2];
        const int64_t n = *right ? most_vectors(w->run->o) : 0;
        for (int64_t v = 0; v < n; v++) oracle_free(&(*right)[v]);
        free(*right);
        *right = NULL;
    }
    free(w->x);
    w->x = NULL;
    spmv_ranks_mat_free(w->mat);
    w->mat = NULL;
}

/* ---- y -------------------------------------------------------------------------------------- */

enum { ROWS = 1 << 14 }; /* of each rank that are gathered at a time */

/* Puts rows of all ranks, from number `from` of each on, to their places among all vectors. */
static void place_y(const ranks *w, int64_t k, int64_t from, const double *got, double *y) {
    for (int r = 0; r < w->size; r++) {
        const spmv_ranks_facts *f = &w->all[r];
        for (int64_t i = from; i < from + ROWS && i < f->own_rows; i++) {
            const double *row = got + (r * ROWS + i - from) * (k + 1);
            for (int64_t v = 0; v < k; v++) y[v * w->of.rows + (int64_t)row[k]] = row[v];
        }
    }
}

/* Widens own rows, and puts the number of each behind it. */
static void widen(const ranks *w, const course *c, int64_t from, double *out) {
    const int64_t k = c->k;
    memset(out, 0, (size_t)(ROWS * (k + 1)) * sizeof *out);
    for (int64_t i = from; i < from + ROWS && i < w->facts.own_rows; i++, out += k + 1) {
        for (int64_t v = 0; v < k; v++)
            out[v] = c->precision == SPMV_F64 ? ((const double *)c->y)[i * k + v]
                                              : (double)((const float *)c->y)[i * k + v];
        out[k] = (double)ranks_row(w, i);
    }
}

int ranks_save_y(ranks *w, const course *c) {
    session *run = w->run;
    const size_t block = (size_t)(ROWS * (c->k + 1));
    const int64_t all = w->of.rows * c->k;
    int64_t most = 0;
    double *mine = malloc(block * sizeof *mine),
           *got = malloc((size_t)w->size * block * sizeof *got),
           *y = malloc(is_first(w) ? ((size_t)all + 1) * sizeof *y : 1);
    int code = ranks_vote(w, mine && got && y ? 0 : complain(SPMV_E_NOMEM, NULL));
    for (int r = 0; r < w->size; r++)
        if (w->all[r].own_rows > most) most = w->all[r].own_rows;
    for (int64_t from = 0; from < most && !code; from += ROWS) {
        widen(w, c, from, mine);
        const spmv_status status = spmv_ranks_gather(w->ranks, mine, block * sizeof *mine, got);
        if (status != SPMV_OK) code = ranks_failed(w, status);
        if (is_first(w) && !code) place_y(w, c->k, from, got, y);
    }
    if (!code && is_first(w) && spmv_vector_save(run->ctx, run->o->y_file, all, y) != SPMV_OK)
        code = complain(SPMV_E_WRITE, spmv_ctx_error(run->ctx));
    run->wrote_y = true;
    free(mine);
    free(got);
    free(y);
    return ranks_vote(w, code);
}
