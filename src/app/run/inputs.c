/* inputs.c: x, the y before, and the reference, in the precisions that are asked for. */
#include "session.h"
#include <math.h>
#include <stdlib.h>

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
    double limit = 0.9 * (double)spmv_host_free_bytes();
    if (need <= limit) return 0;
    char what[256];
    snprintf(what, sizeof what,
             "out of memory: x, y and the reference of %lld x %lld need %.1f GB, %.1f GB are free",
             (long long)in->rows, (long long)in->cols, 1e-9 * need, 1e-9 * limit);
    return complain(SPMV_E_NOMEM, what);
}

int load_x(session *r, inputs *in) {
    if (!r->o->x_file) {
        in->x = malloc((size_t)(in->cols ? in->cols : 1) * sizeof *in->x);
        for (int64_t j = 0; in->x && j < in->cols; j++)
            in->x[j] = random_entry(r->o->seed, (uint64_t)j);
        return in->x ? 0 : complain(SPMV_E_NOMEM, "out of memory for x");
    }
    int64_t n = 0;
    spmv_status status = spmv_vector_load(r->ctx, r->o->x_file, &n, &in->x);
    if (status != SPMV_OK) return complain(status, spmv_ctx_error(r->ctx));
    if (n == in->cols) return 0;
    char what[512];
    snprintf(what, sizeof what, "%s: holds %lld numbers, the matrix has %lld columns", r->o->x_file,
             (long long)n, (long long)in->cols);
    return complain(SPMV_E_FORMAT, what);
}

/* y starts as NaN, so that what a kernel leaves unwritten shows; with beta != 0 as known random
 * values. */
static void *start_y(session *r, int64_t rows, spmv_precision precision) {
    double *y0 = malloc((size_t)(rows ? rows : 1) * sizeof *y0);
    for (int64_t i = 0; y0 && i < rows; i++)
        y0[i] = r->o->beta == 0 ? NAN : random_entry(r->o->seed + 0x5eed, (uint64_t)i);
    void *out = y0 ? in_precision(y0, rows, precision) : NULL;
    free(y0);
    return out;
}

static int too_large(const session *r, int64_t j, double value) {
    char what[512];
    snprintf(what, sizeof what, "%s: number %lld is %g, too large for f32: -p f64", r->o->x_file,
             (long long)j + 1, value);
    return complain(SPMV_E_FORMAT, what);
}

/* The reference multiplies the very x the kernel gets: for f32 the rounded one. */
int make_precision(session *r, const spmv_mat *mat, inputs *in, spmv_precision precision) {
    double *exact = NULL;
    spmv_status status = SPMV_OK;
    if (in->x_of[precision]) return 0;
    in->x_of[precision] = in_precision(in->x, in->cols, precision);
    in->y0_of[precision] = start_y(r, in->rows, precision);
    exact = malloc((size_t)(in->cols ? in->cols : 1) * sizeof *exact);
    if (!in->x_of[precision] || !in->y0_of[precision] || !exact) status = SPMV_E_NOMEM;
    for (int64_t j = 0; status == SPMV_OK && j < in->cols; j++) {
        exact[j] = precision == SPMV_F64 ? in->x[j] : (double)(float)in->x[j];
        in->infinite[precision] |= !isfinite(exact[j]);
        if (isinf(exact[j]) && !isinf(in->x[j])) {
            free(exact);
            return too_large(r, j, in->x[j]);
        }
    }
    if (status == SPMV_OK && r->o->verify)
        status =
            oracle_make(mat, precision, exact, spmv_ctx_threads(r->ctx), &in->oracle_of[precision]);
    in->oracle_of[precision].random_x = !r->o->x_file;
    free(exact);
    return status == SPMV_OK ? 0 : complain(status, "out of memory for x, y and the reference");
}

void inputs_free(inputs *in) {
    free(in->x);
    for (int p = 0; p < 2; p++) {
        free(in->x_of[p]);
        free(in->y0_of[p]);
        oracle_free(&in->oracle_of[p]);
    }
}
