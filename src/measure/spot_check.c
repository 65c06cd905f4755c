/* spot_check.c: checks a product that "auto" timed on a CPU. Some elements of y are compared with
 * sums over the CSR in extended precision, so few that the cost is negligible. This detects a
 * kernel that fails on this matrix, but maybe not one that fails in a single row; spmv run verifies
 * all rows. Not done on a GPU, where fetching y takes as long as several products. */
#include "matrix/csr.h"
#include "matrix/matrix.h"
#include "sampler.h"
#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    ENTRIES = 1 << 12, /* entries that are summed, approximately */
    ROWS = 1 << 14     /* most rows that are checked */
};

/* Returns the distance between checked rows; the last row is always checked. */
static int64_t step_of(const spmv_csr *A) {
    const int64_t by_entries = A->nnz / ENTRIES, by_rows = A->rows / ROWS;
    return 1 + (by_entries > by_rows ? by_entries : by_rows);
}

/* Returns x[j] of vector v: in [0.5, 1), exact in both precisions, and different for neighbouring j
 * and v, so that a wrong column or vector is detected. */
static double entry_of_x(int64_t j, int64_t v) {
    const uint32_t mixed = (uint32_t)j * 2654435769U + (uint32_t)v * 2246822519U;
    return 0.5 + (double)(mixed >> 16) * 0x1p-17;
}

/* Returns the index of element i of vector v, for vectors of length n. */
static int64_t place(const spot *s, int64_t n, int64_t i, int64_t v) {
    return s->layout == SPMV_ROWS ? i * s->k + v : v * n + i;
}

static void put(spmv_precision precision, void *all, int64_t at, double value) {
    if (precision == SPMV_F64)
        ((double *)all)[at] = value;
    else
        ((float *)all)[at] = (float)value;
}

void spot_check_vary(const spot *s, int threads, void *x) {
    const int64_t cols = s->mat->csr.cols;
    const int team = s->k * cols > 1 << 13 ? threads : 1;
#pragma omp parallel for num_threads(team) schedule(static)
    for (int64_t j = 0; j < cols; j++)
        for (int64_t v = 0; v < s->k; v++)
            put(s->precision, x, place(s, cols, j, v), entry_of_x(j, v));
}

void spot_check_wipe(const spot *s, void *y) {
    const spmv_csr *A = &s->mat->csr;
    for (int64_t i = A->rows - 1; i >= 0; i -= step_of(A))
        for (int64_t v = 0; v < s->k; v++) put(s->precision, y, place(s, A->rows, i, v), NAN);
}

/* Returns whether element i of vector v of y is within twice the rounding error of any order of
 * summation. A row whose sum overflows or has infinity or NaN is not checked. */
static bool is_row_right(const spot *s, const void *all, int64_t i, int64_t v) {
    const spmv_csr *A = &s->mat->csr;
    const bool is_f64 = s->precision == SPMV_F64;
    const int64_t at = place(s, A->rows, i, v);
    const long double unit = is_f64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    const long double least = is_f64 ? DBL_TRUE_MIN : FLT_TRUE_MIN;
    const double y = is_f64 ? ((const double *)all)[at] : (double)((const float *)all)[at];
    long double sum = 0, mass = 0, n = (long double)(A->row_ptr[i + 1] - A->row_ptr[i]) + 2;
    if (n > ENTRIES) return true;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
        long double term = (long double)A->values[k] * entry_of_x(A->col_idx[k], v);
        sum += term;
        mass += fabsl(term);
    }
    if (!(mass <= (is_f64 ? DBL_MAX : (double)FLT_MAX))) return true;
    return fabsl((long double)y - sum) <= 2 * n * (unit * mass + least);
}

spmv_status spot_check(const spot *s, const void *y) {
    const spmv_csr *A = &s->mat->csr;
    for (int64_t i = A->rows - 1; i >= 0; i -= step_of(A))
        for (int64_t v = 0; v < s->k; v++) {
            if (is_row_right(s, y, i, v)) continue;
            char of[48] = "";
            if (s->k > 1) snprintf(of, sizeof of, " of vector %lld", (long long)v);
            return spmv_fail(s->mat->ctx, SPMV_E_UNSUITABLE,
                             "its product is wrong in row %lld%s (from 0)", (long long)i, of);
        }
    return SPMV_OK;
}
