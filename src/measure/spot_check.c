/* spot_check.c: whether a product that "auto" timed on a CPU is right. Some rows of it are compared
 * with sums over the compressed rows in extended precision. They are so few that this costs next to
 * nothing: it finds a kernel that is wrong on this matrix, but maybe not one that is wrong in a
 * single row; spmv run verifies all rows. On a GPU y would have to be fetched, which takes as long
 * as several products. */
#include "core/internal.h"
#include "sampler.h"
#include <float.h>
#include <math.h>

enum {
    ENTRIES = 1 << 12, /* about so many entries are summed */
    ROWS = 1 << 14     /* and at most so many rows are looked at */
};

/* Returns the distance between checked rows; the last row is always checked. */
static int64_t step_of(const spmv_csr *A) {
    const int64_t by_entries = A->nnz / ENTRIES, by_rows = A->rows / ROWS;
    return 1 + (by_entries > by_rows ? by_entries : by_rows);
}

/* Exact in both precisions, 0.5 to 1, and different between neighbours, so that a wrong column
 * shows. */
static double entry_of_x(int64_t j) {
    return 0.5 + (double)((uint32_t)j * 2654435769U >> 16) * 0x1p-17;
}

static void put(spmv_precision precision, void *v, int64_t k, double value) {
    if (precision == SPMV_F64)
        ((double *)v)[k] = value;
    else
        ((float *)v)[k] = (float)value;
}

void spot_check_vary(const spmv_mat *mat, spmv_precision precision, int threads, void *x) {
    const int64_t cols = mat->csr.cols;
    const int team = cols > 1 << 13 ? threads : 1;
#pragma omp parallel for num_threads(team) schedule(static)
    for (int64_t j = 0; j < cols; j++) put(precision, x, j, entry_of_x(j));
}

void spot_check_wipe(const spmv_mat *mat, spmv_precision precision, void *y) {
    const spmv_csr *A = &mat->csr;
    for (int64_t i = A->rows - 1; i >= 0; i -= step_of(A)) put(precision, y, i, NAN);
}

/* Says whether v[i] of y is within twice the rounding error of any order of summation. A row whose
 * sums overflow, or that holds infinity or NaN, depends on the order and counts as right. */
static bool is_row_right(const spmv_csr *A, spmv_precision precision, const void *v, int64_t i) {
    const bool is_f64 = precision == SPMV_F64;
    const long double unit = is_f64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    const long double least = is_f64 ? DBL_TRUE_MIN : FLT_TRUE_MIN;
    const double y = is_f64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
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

spmv_status spot_check(const spmv_mat *mat, spmv_precision precision, const void *y) {
    const spmv_csr *A = &mat->csr;
    for (int64_t i = A->rows - 1; i >= 0; i -= step_of(A))
        if (!is_row_right(A, precision, y, i))
            return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                             "its product is wrong in row %lld (from 0)", (long long)i);
    return SPMV_OK;
}
