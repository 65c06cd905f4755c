/* matrix_views.c: views of a matrix: borrowed arrays and numbers, nothing computed. */
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

bool spmv_values_change(const spmv_mat *mat) {
    return mat->values_change;
}

spmv_status spmv_mat_stats(const spmv_mat *mat, spmv_stats *out) {
    GIVEN(mat ? mat->ctx : NULL, out);
    *out = (spmv_stats){0};
    GIVEN(NULL, mat);
    *out = mat->stats;
    return SPMV_OK;
}
