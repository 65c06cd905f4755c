/* matrix_views.c: views of a matrix: borrowed arrays, and its numbers. */
#include "internal.h"

spmv_status spmv_mat_bring(const spmv_mat *mat) {
    spmv_mat *own = (spmv_mat *)(uintptr_t)mat; /* no matrix is const where it is made */
    return mat->fetch ? mat->fetch(own) : SPMV_OK;
}

/* The rows of entries that were given as compressed rows: when they are asked for. */
static bool list_rows(spmv_mat *mat) {
    const spmv_csr *A = &mat->csr;
    if (mat->coo.row || A->nnz == 0) return true;
    mat->coo.row = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *mat->coo.row);
    for (int64_t i = 0; mat->coo.row && i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) mat->coo.row[k] = (int32_t)i;
    return mat->coo.row != NULL;
}

void spmv_mat_entries(const spmv_mat *mat, spmv_coo_view *view) {
    if (!view) return;
    *view = (spmv_coo_view){0};
    if (!mat || spmv_mat_bring(mat) || !list_rows((spmv_mat *)(uintptr_t)mat)) return;
    *view = (spmv_coo_view){mat->coo.rows, mat->coo.cols,   mat->coo.nnz,      mat->coo.row,
                            mat->coo.col,  mat->coo.values, mat->coo.symmetry, mat->coo.field};
}

void spmv_mat_rows(const spmv_mat *mat, spmv_csr_view *view) {
    if (!view) return;
    *view = (spmv_csr_view){0};
    if (!mat || spmv_mat_bring(mat)) return;
    *view = (spmv_csr_view){mat->csr.rows,    mat->csr.cols,    mat->csr.nnz,
                            mat->csr.row_ptr, mat->csr.col_idx, mat->csr.values};
}

bool spmv_values_change(const spmv_mat *mat) {
    return mat->values_change;
}

/* Counts what all entries must be read for, when it is asked for. */
static void count(spmv_mat *mat) {
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz);
    const double *values = mat->coo.values;
    int64_t zeros = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : zeros)
    for (int64_t k = 0; k < (values ? mat->coo.nnz : 0); k++) zeros += values[k] == 0;
    mat->stats.explicit_zeros = zeros;
    spmv_csr_count(&mat->csr, threads, &mat->stats);
    mat->to_count = false;
}

spmv_status spmv_mat_stats(const spmv_mat *mat, spmv_stats *out) {
    GIVEN(mat ? mat->ctx : NULL, out);
    *out = (spmv_stats){0};
    GIVEN(NULL, mat);
    TRY(spmv_mat_bring(mat));
    if (mat->to_count) count((spmv_mat *)(uintptr_t)mat);
    *out = mat->stats;
    return SPMV_OK;
}

int64_t spmv_longest(const spmv_mat *mat) {
    return mat->stats.row_max;
}
