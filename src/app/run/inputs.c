/* inputs.c: x, y0 and the reference, in the precisions of all cells. */
#include "app/messages.h"
#include "cells.h"
#include "inputs.h"
#include "session.h"
#include "spmv_host.h"
#include "verify.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *in_precision(const double *v, int64_t n, spmv_precision precision) {
    size_t width = precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    void *out = malloc((size_t)(n ? n : 1) * width);
    for (int64_t i = 0; out && i < n; i++)
        if (precision == SPMV_F64)
            ((double *)out)[i] = v[i];
        else
            ((float *)out)[i] = (float)v[i];
    return out;
}

int check_room(const inputs *in) {
    enum { X_COPIES = 4, Y_COPIES = 4, ORACLE_ROW = 4 * sizeof(long double) + sizeof(int32_t) };
    double need = (double)in->cols * X_COPIES * sizeof(double);
    need += (double)in->rows * (Y_COPIES * sizeof(double) + ORACLE_ROW);
    need *= (double)in->vectors;
    double limit = 0.9 * (double)spmv_host_free_bytes();
    if (need <= limit) return 0;
    char what[256];
    snprintf(what, sizeof what,
             "out of memory: x, y and the reference of %lld x %lld need %.1f GB, %.1f GB are free",
             (long long)in->rows, (long long)in->cols, 1e-9 * need, 1e-9 * limit);
    return complain(SPMV_E_NOMEM, what);
}

int load_x(session *r, inputs *in) {
    const int64_t all = in->vectors * in->cols;
    if (!r->o->x_file) {
        in->x = malloc((size_t)(all ? all : 1) * sizeof *in->x);
        for (int64_t j = 0; in->x && j < all; j++) in->x[j] = random_entry(r->o->seed, (uint64_t)j);
        return in->x ? 0 : complain(SPMV_E_NOMEM, "out of memory for x");
    }
    int64_t n = 0;
    spmv_status status = spmv_vector_load(r->ctx, r->o->x_file, &n, &in->x);
    if (status != SPMV_OK) return complain(status, spmv_ctx_error(r->ctx));
    say_note(spmv_ctx_note(r->ctx), r->o->quiet);
    if (n == all) return 0;
    char what[512], each[48] = "";
    if (in->vectors > 1)
        snprintf(each, sizeof each, " for each of %lld vectors", (long long)in->vectors);
    snprintf(what, sizeof what, "%s: holds %lld numbers, the matrix has %lld %s%s", r->o->x_file,
             (long long)n, (long long)in->cols, r->o->op == SPMV_TRANSPOSE ? "rows" : "columns",
             each);
    return complain(SPMV_E_FORMAT, what);
}

/* y starts as NaN, so that what a kernel leaves unwritten shows; with beta != 0 as known random
 * values. */
static void *start_y(session *r, int64_t n, spmv_precision precision) {
    double *y0 = malloc((size_t)(n ? n : 1) * sizeof *y0);
    for (int64_t i = 0; y0 && i < n; i++)
        y0[i] = r->o->beta == 0 ? NAN : random_entry(r->o->seed + 0x5eed, (uint64_t)i);
    void *out = y0 ? in_precision(y0, n, precision) : NULL;
    free(y0);
    return out;
}

int x_too_large(const session *r, int64_t j, double value) {
    char what[512];
    snprintf(what, sizeof what, "%s: number %lld is %g, too large for f32: -p f64", r->o->x_file,
             (long long)j + 1, value);
    return complain(SPMV_E_FORMAT, what);
}

/* A reference for each vector; out [in->vectors]. */
static spmv_status make_oracles(session *r, const spmv_mat *mat, const inputs *in,
                                spmv_precision precision, const double *x, oracle *out) {
    for (int64_t v = 0; v < in->vectors; v++) {
        TRY(oracle_make(mat, r->o->op, precision, x + v * in->cols, spmv_ctx_threads(r->ctx),
                        &out[v]));
        out[v].random_x = !r->o->x_file;
    }
    return SPMV_OK;
}

/* The reference multiplies the very x the kernel gets: for f32 the rounded one. */
int make_precision(session *r, const spmv_mat *mat, inputs *in, spmv_precision precision) {
    const int64_t all = in->vectors * in->cols;
    double *exact = NULL;
    spmv_status status = SPMV_OK;
    if (in->x_of[precision]) return 0;
    in->x_of[precision] = in_precision(in->x, all, precision);
    in->y0_of[precision] = start_y(r, in->vectors * in->rows, precision);
    in->oracle_of[precision] = calloc((size_t)in->vectors, sizeof *in->oracle_of[precision]);
    exact = malloc((size_t)(all ? all : 1) * sizeof *exact);
    if (!in->x_of[precision] || !in->y0_of[precision] || !in->oracle_of[precision] || !exact)
        status = SPMV_E_NOMEM;
    for (int64_t j = 0; status == SPMV_OK && j < all; j++) {
        exact[j] = precision == SPMV_F64 ? in->x[j] : (double)(float)in->x[j];
        in->infinite[precision] |= !isfinite(exact[j]);
        if (isinf(exact[j]) && !isinf(in->x[j])) {
            free(exact);
            return x_too_large(r, j, in->x[j]);
        }
    }
    if (status == SPMV_OK && r->o->verify)
        status = make_oracles(r, mat, in, precision, exact, in->oracle_of[precision]);
    free(exact);
    return status == SPMV_OK ? 0 : complain(status, "out of memory for x, y and the reference");
}

/* From k vectors of n numbers, one after the other, to rows of k. NULL: out of memory. */
static void *turned(const void *columns, int64_t n, int64_t k, size_t width) {
    char *out = malloc((size_t)(n ? n * k : 1) * width);
    for (int64_t i = 0; out && i < n; i++)
        for (int64_t v = 0; v < k; v++)
            memcpy(out + (size_t)(i * k + v) * width,
                   (const char *)columns + (size_t)(v * n + i) * width, width);
    return out;
}

int make_layout(inputs *in, const cell *c, const void **x, const void **y0) {
    const size_t width = c->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    in_rows *of = in->in_rows;
    *x = in->x_of[c->precision], *y0 = in->y0_of[c->precision];
    if (c->layout == SPMV_COLUMNS) return 0;
    while (of && (of->precision != c->precision || of->k != c->vectors)) of = of->next;
    if (!of) {
        of = calloc(1, sizeof *of);
        if (!of) return complain(SPMV_E_NOMEM, NULL);
        *of = (in_rows){c->precision, c->vectors, turned(*x, in->cols, c->vectors, width),
                        turned(*y0, in->rows, c->vectors, width), in->in_rows};
        in->in_rows = of;
    }
    *x = of->x, *y0 = of->y0;
    return of->x && of->y0 ? 0 : complain(SPMV_E_NOMEM, "out of memory for x and y");
}

void inputs_free(inputs *in) {
    free(in->x);
    for (int p = 0; p < 2; p++) {
        free(in->x_of[p]);
        free(in->y0_of[p]);
        for (int64_t v = 0; in->oracle_of[p] && v < in->vectors; v++)
            oracle_free(&in->oracle_of[p][v]);
        free(in->oracle_of[p]);
    }
    for (in_rows *next, *of = in->in_rows; of; of = next) {
        next = of->next;
        free(of->x);
        free(of->y0);
        free(of);
    }
}
