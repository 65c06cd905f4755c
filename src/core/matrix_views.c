/* matrix_views.c: views of a matrix: borrowed arrays, and its numbers. */
#include "internal.h"

void spmv_mat_entries(const spmv_mat *mat, spmv_coo_view *view) {
    if (!view) return;
    *view = (spmv_coo_view){0};
    if (!mat) return;
    *view = (spmv_coo_view){mat->coo.rows, mat->coo.cols,   mat->coo.nnz,      mat->coo.row,
                            mat->coo.col,  mat->coo.values, mat->coo.symmetry, mat->coo.field};
}

void spmv_mat_rows(const spmv_mat *mat, spmv_csr_view *view) {
    if (!view) return;
    *view = (spmv_csr_view){0};
    if (!mat) return;
    *view = (spmv_csr_view){mat->csr.rows,    mat->csr.cols,    mat->csr.nnz,
                            mat->csr.row_ptr, mat->csr.col_idx, mat->csr.values};
}

/* Those that depend on the values: when they are asked for. */
static void count_again(spmv_mat *mat) {
    int64_t zeros = 0;
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : zeros)
    for (int64_t k = 0; k < mat->coo.nnz; k++) zeros += mat->coo.values[k] == 0;
    mat->stats.explicit_zeros = zeros;
    spmv_csr_stats(&mat->csr, threads, &mat->stats);
    mat->new_values = false;
}

spmv_status spmv_mat_stats(const spmv_mat *mat, spmv_stats *out) {
    GIVEN(mat ? mat->ctx : NULL, out);
    *out = (spmv_stats){0};
    GIVEN(NULL, mat);
    if (mat->new_values) count_again((spmv_mat *)(uintptr_t)mat); /* it never was const */
    *out = mat->stats;
    return SPMV_OK;
}
