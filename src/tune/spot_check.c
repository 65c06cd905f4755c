/* spot_check.c: whether a candidate of "auto" multiplies correctly on a CPU. Some rows of a product
 * made in the trials are compared with sums over the compressed rows in extended precision. They
 * are so few that this costs next to nothing: it finds a kernel that is wrong on this matrix, but
 * maybe not one that is wrong in a single row; spmv run verifies all rows. On a GPU y would have to
 * be fetched, which takes as long as several products. */
#include "trials.h"
#include <float.h>
#include <math.h>

enum { ENTRIES = 1 << 12 }; /* about so many entries are summed */

/* The distance between checked rows; the last row is always checked. */
static int64_t step_of(const spmv_csr *A) {
    return 1 + A->nnz / ENTRIES;
}

/* Exact in both precisions, 0.5 to 1, and different between neighbours, so that a wrong column
 * shows. */
static double entry_of_x(int64_t j) {
    return 0.5 + (double)((uint32_t)j * 2654435769U >> 16) * 0x1p-17;
}

static void put(const trials *c, void *v, int64_t k, double value) {
    if (c->opts->precision == SPMV_F64)
        ((double *)v)[k] = value;
    else
        ((float *)v)[k] = (float)value;
}

void spmv_trials_vary_x(trials *c) {
    const int64_t cols = c->mat->csr.cols;
    const int team = cols > 1 << 13 ? c->device->threads : 1;
#pragma omp parallel for num_threads(team) schedule(static)
    for (int64_t j = 0; j < cols; j++) put(c, c->x, j, entry_of_x(j));
}

void spmv_trials_wipe(trials *c) {
    if (!c->backend->host) return;
    for (int64_t i = c->mat->csr.rows - 1; i >= 0; i -= step_of(&c->mat->csr)) put(c, c->y, i, NAN);
}

/* Whether y[i] is within twice the rounding error of any order of summation. A row whose sums
 * overflow, or that holds infinity or NaN, depends on the order and counts as right. */
static bool is_row_right(const trials *c, int64_t i) {
    const spmv_csr *A = &c->mat->csr;
    const bool is_f64 = c->opts->precision == SPMV_F64;
    const long double unit = is_f64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    const long double least = is_f64 ? DBL_TRUE_MIN : FLT_TRUE_MIN;
    const double y = is_f64 ? ((const double *)c->y)[i] : (double)((const float *)c->y)[i];
    long double sum = 0, mass = 0, n = (long double)(A->row_ptr[i + 1] - A->row_ptr[i]) + 2;
    if (n > ENTRIES) return true;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        long double term = (long double)A->values[k] * entry_of_x(A->col_idx[k]);
        sum += term;
        mass += fabsl(term);
    }
    if (!(mass <= (is_f64 ? DBL_MAX : (double)FLT_MAX))) return true;
    return fabsl((long double)y - sum) <= 2 * n * (unit * mass + least);
}

spmv_status spmv_trials_check(const trials *c) {
    if (!c->backend->host) return SPMV_OK;
    for (int64_t i = c->mat->csr.rows - 1; i >= 0; i -= step_of(&c->mat->csr))
        if (!is_row_right(c, i))
            return spmv_fail(c->mat->ctx, SPMV_E_UNSUITABLE, "its product is wrong in row %lld",
                             (long long)i);
    return SPMV_OK;
}
