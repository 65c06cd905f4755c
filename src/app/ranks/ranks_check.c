/* ranks_check.c: every rank checks its own rows against sums of the file's entries and of x, which
 * it makes anew by index: no number that was exchanged is in the reference. y holds NaN before a
 * checked product, and before the first one so does every halo, by a product with an x of NaN.
 * Between samples x is turned to its negative, and the last product has another x: a halo of the
 * one before shows. */
#include "app/option_values.h"
#include "ranks.h"
#include <math.h>
#include <stdlib.h>

static void put(void *array, int64_t n, double value, spmv_precision precision) {
    if (precision == SPMV_F64)
        ((double *)array)[n] = value;
    else
        ((float *)array)[n] = (float)value;
}

double ranks_x_at(const ranks *w, xs which, int64_t v, int64_t j) {
    enum { OTHER = 0x1a57 };
    const int64_t n = v * w->of.cols + j;
    if (which == FIRST_X && w->x) return w->x[n];
    return random_entry(w->run->o->seed + (which == FIRST_X ? 0 : OTHER), (uint64_t)n);
}

static void set_x(const ranks *w, const course *c, xs which, bool poison) {
    const spmv_many_facts *f = &w->facts;
    for (int64_t n = 0; n < f->own_cols * c->k; n++)
        put(c->x, n, poison ? NAN : ranks_x_at(w, which, n % c->k, ranks_col(w, n / c->k)),
            c->precision);
}

void ranks_set_vectors(const ranks *w, course *c, xs which) {
    const spmv_many_facts *f = &w->facts;
    const options *o = w->run->o;
    set_x(w, c, which, false);
    c->turned = false;
    for (int64_t n = 0; n < f->own_rows * c->k; n++) {
        const int64_t i = n % c->k * w->of.rows + ranks_row(w, n / c->k);
        put(c->y, n, NAN, c->precision);
        put(c->y0, n, o->beta == 0 ? NAN : random_entry(o->seed + 0x5eed, (uint64_t)i),
            c->precision);
    }
}

void ranks_turn_x(const ranks *w, course *c) {
    const spmv_many_facts *f = &w->facts;
    c->turned = !c->turned;
    for (int64_t n = 0; n < f->own_cols * c->k; n++)
        if (c->precision == SPMV_F64)
            ((double *)c->x)[n] = -((double *)c->x)[n];
        else
            ((float *)c->x)[n] = -((float *)c->x)[n];
    for (int64_t n = 0; n < f->own_rows * c->k; n++) put(c->y, n, NAN, c->precision);
}

spmv_status ranks_poison(const ranks *w, course *c, xs which) {
    ranks_set_vectors(w, c, which);
    set_x(w, c, which, true);
    TRY(ranks_multiply(w, c, SPMV_OVERLAPPED));
    ranks_set_vectors(w, c, which);
    return SPMV_OK;
}

/* ---- the reference -------------------------------------------------------------------------- */

static spmv_status make_right(ranks *w, spmv_precision precision, xs which, int64_t vectors) {
    oracle *right = calloc((size_t)vectors, sizeof *right);
    double *x = malloc(((size_t)w->of.cols + 1) * sizeof *x);
    spmv_status status = right && x ? SPMV_OK : SPMV_E_NOMEM;
    w->right[which][precision] = right;
    for (int64_t v = 0; v < vectors && status == SPMV_OK; v++) {
        for (int64_t j = 0; j < w->of.cols; j++) {
            const double x_j = ranks_x_at(w, which, v, j);
            x[j] = precision == SPMV_F64 ? x_j : (double)(float)x_j;
        }
        status = oracle_of_entries(&w->own, precision, x, spmv_ctx_threads(w->run->ctx), &right[v]);
        right[v].random_x = which == LAST_X || !w->x;
    }
    free(x);
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

int ranks_check(ranks *w, const course *c, xs which, verdict *out) {
    const options *o = w->run->o;
    verdict mine = {.first_bad_row = -1}, *all = malloc((size_t)w->size * sizeof *all);
    spmv_status status = all ? SPMV_OK : SPMV_E_NOMEM;
    if (status == SPMV_OK && !w->right[which][c->precision])
        status = make_right(w, c->precision, which, most_vectors(o));
    *out = mine;
    int code =
        ranks_agree(w, status == SPMV_OK ? 0 : complain(status, "out of memory for the reference"));
    if (!code) {
        mine = oracle_check_all(w->right[which][c->precision], c->k,
                                c->k > 1 ? SPMV_ROWS : SPMV_COLUMNS, c->precision,
                                c->turned ? -o->alpha : o->alpha, o->beta, c->y0, c->y);
        if (mine.bad_rows) mine.first_bad_row = ranks_row(w, mine.first_bad_row);
        status = spmv_world_gather(w->world, &mine, sizeof mine, all);
        if (status != SPMV_OK) code = ranks_failed(w, status);
    }
    for (int r = 0; r < w->size && !code; r++) add_verdict(out, &all[r]);
    free(all);
    return code;
}
