/* ranks_check.c: every rank checks its own rows against sums of the file's entries and of x, which
 * it makes anew by index: no number that was exchanged is in the reference. y holds NaN before a
 * checked product, and before the first one so does every halo, by a product with an x of NaN.
 * Between samples x is turned to its negative, and the last product has half or twice a random x: a
 * halo of the one before shows. The reference of such an x is the same but for a power of 2. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/run/verify.h"
#include "ranks.h"
#include <math.h>
#include <stdlib.h>

static void put(void *array, int64_t n, double value, spmv_precision precision) {
    if (precision == SPMV_F64)
        ((double *)array)[n] = value;
    else
        ((float *)array)[n] = (float)value;
}

static double x_at(const ranks *w, const course *c, int64_t v, int64_t j) {
    const int64_t n = v * w->of.cols + j;
    return c->typed ? w->x[n] : random_entry(w->run->o->seed, (uint64_t)n);
}

void ranks_set_vectors(const ranks *w, course *c, double scale) {
    const options *o = w->run->o;
    c->scale = scale;
    for (int64_t n = 0; n < w->facts.own_cols * c->k; n++)
        put(c->x, n, scale * x_at(w, c, n % c->k, ranks_col(w, n / c->k)), c->precision);
    for (int64_t n = 0; n < w->facts.own_rows * c->k; n++) {
        const int64_t i = n % c->k * w->of.rows + ranks_row(w, n / c->k);
        put(c->y, n, NAN, c->precision);
        put(c->y0, n, o->beta == 0 ? NAN : random_entry(o->seed + 0x5eed, (uint64_t)i),
            c->precision);
    }
}

spmv_status ranks_poison(const ranks *w, course *c) {
    ranks_set_vectors(w, c, NAN);
    TRY(ranks_multiply(w, c, SPMV_OVERLAPPED));
    ranks_set_vectors(w, c, 1);
    return SPMV_OK;
}

/* ---- the reference -------------------------------------------------------------------------- */

typedef struct vector { /* one of a reference */
    const ranks *w;
    const course *c;
    int64_t number;
} vector;

/* No rank holds all of x, unless it was typed. */
static double number_of(const void *of, int64_t j) {
    const vector *v = of;
    const double x = x_at(v->w, v->c, v->number, j);
    return v->c->precision == SPMV_F64 ? x : (double)(float)x;
}

static spmv_status make_right(ranks *w, const course *c) {
    const int64_t vectors = most_vectors(w->run->o);
    oracle *right = calloc((size_t)vectors, sizeof *right);
    spmv_status status = right ? SPMV_OK : SPMV_E_NOMEM;
    w->right[c->typed][c->precision] = right;
    for (int64_t v = 0; v < vectors && status == SPMV_OK; v++) {
        status = oracle_of_entries(&w->own, c->precision, number_of, &(vector){w, c, v},
                                   spmv_ctx_threads(w->run->ctx), &right[v]);
        right[v].random_x = !c->typed;
    }
    return status;
}

/* ---- verdicts ------------------------------------------------------------------------------- */

/* The first bad row of all ranks is the one that stands first in the file. */
static void add_verdict(verdict *sum, const verdict *v) {
    if (v->max_ratio > sum->max_ratio) sum->max_ratio = v->max_ratio;
    if (v->bad_rows && (!sum->bad_rows || v->first_bad_row < sum->first_bad_row)) {
        sum->first_bad_row = v->first_bad_row;
        sum->first_bad_vector = v->first_bad_vector;
        sum->got = v->got;
        sum->expected = v->expected;
    }
    sum->bad_rows += v->bad_rows;
}

int ranks_check(ranks *w, const course *c, verdict *out) {
    const options *o = w->run->o;
    verdict mine = {.first_bad_row = -1}, *all = malloc((size_t)w->size * sizeof *all);
    spmv_status status = all ? SPMV_OK : SPMV_E_NOMEM;
    if (status == SPMV_OK && !w->right[c->typed][c->precision]) status = make_right(w, c);
    *out = mine;
    int code =
        ranks_vote(w, status == SPMV_OK ? 0 : complain(status, "out of memory for the reference"));
    if (!code) {
        mine = oracle_check_all(w->right[c->typed][c->precision], c->k,
                                c->k > 1 ? SPMV_ROWS : SPMV_COLUMNS, c->precision,
                                c->scale * o->alpha, o->beta, c->y0, c->y);
        if (mine.bad_rows) mine.first_bad_row = ranks_row(w, mine.first_bad_row);
        status = spmv_ranks_gather(w->ranks, &mine, sizeof mine, all);
        if (status != SPMV_OK) code = ranks_failed(w, status);
    }
    for (int r = 0; r < w->size && !code; r++) add_verdict(out, &all[r]);
    free(all);
    return code;
}
