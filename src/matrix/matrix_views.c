/* matrix_views.c: views of a matrix, borrowed by the caller, and its statistics. */
#include "csr.h"
#include "host/context.h"
#include "host/host.h"
#include "matrix.h"
#include "spmv_environment.h"
#include "csr_to_csc.h"

spmv_status spmv_mat_bring(const spmv_mat *mat) {
    spmv_mat *own = (spmv_mat *)(uintptr_t)mat; /* matrices are allocated as mutable objects */
    return mat->fetch ? mat->fetch(own) : SPMV_OK;
}

/* Lists the entries of a matrix given as compressed columns, in the given order. False: no
 * memory. */
static bool list_columns(spmv_mat *mat) {
    const spmv_csr *A = &mat->csr;
    const bool has_values = mat->coo.field != SPMV_PATTERN_FIELD;
    spmv_coo all = mat->coo;
    spmv_csc_conversion t = spmv_conversion_of_rows(A, A->values);
    int64_t *ptr = t.out_ptr = spmv_host_alloc((size_t)(A->cols + 1) * sizeof *ptr);
    bool listed = spmv_coo_alloc(mat->ctx, &all, has_values) == SPMV_OK;
    t.out_idx = all.row, t.out_values = all.values;
    listed = listed && ptr && spmv_csr_to_csc(mat->ctx, &t) == SPMV_OK;
    for (int64_t j = 0; j < (listed ? A->cols : 0); j++)
        for (int64_t k = ptr[j]; k < ptr[j + 1]; k++) all.col[k] = (int32_t)j;
    spmv_host_free(ptr);
    if (listed)
        mat->coo = all;
    else
        spmv_coo_free(&all);
    return listed;
}

/* Creates coordinates when they are first read: row indices if the matrix was given as compressed
 * rows, all entries if as compressed columns. Returns false if out of memory. */
static bool list_entries(spmv_mat *mat) {
    const spmv_csr *A = &mat->csr;
    if (mat->coo.row || A->nnz == 0) return true;
    if (mat->by_columns) return list_columns(mat);
    mat->coo.row = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *mat->coo.row);
    for (int64_t i = 0; mat->coo.row && i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) mat->coo.row[k] = (int32_t)i;
    return mat->coo.row != NULL;
}

spmv_status spmv_mat_entries(const spmv_mat *mat, spmv_coo_view *view) {
    SPMV_DEFAULT_ENVIRONMENT;
    static const spmv_coo_view none;
    spmv_ctx *ctx = mat ? mat->ctx : NULL;
    GIVEN(ctx, view);
    TRY(spmv_fill(ctx, "spmv_coo_view", &none, sizeof none, view));
    GIVEN(NULL, mat);
    TRY(spmv_mat_bring(mat));
    if (!list_entries((spmv_mat *)(uintptr_t)mat))
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for a list of %lld entries",
                         (long long)mat->csr.nnz);
    const spmv_coo *A = &mat->coo;
    const spmv_coo_view all = {.rows = A->rows,
                               .cols = A->cols,
                               .nnz = A->nnz,
                               .row = A->row,
                               .col = A->col,
                               .values = A->values,
                               .symmetry = A->symmetry,
                               .field = A->field};
    return spmv_fill(ctx, "spmv_coo_view", &all, sizeof all, view);
}

spmv_csr_view spmv_rows_with(const spmv_mat *mat, const double *values) {
    const spmv_csr *A = &mat->csr;
    return (spmv_csr_view){.size = sizeof(spmv_csr_view),
                           .rows = A->rows,
                           .cols = A->cols,
                           .nnz = A->nnz,
                           .row_ptr = A->row_ptr,
                           .col_idx = A->col_idx,
                           .values = values};
}

spmv_status spmv_mat_rows(const spmv_mat *mat, spmv_csr_view *view) {
    SPMV_DEFAULT_ENVIRONMENT;
    static const spmv_csr_view none;
    spmv_ctx *ctx = mat ? mat->ctx : NULL;
    GIVEN(ctx, view);
    TRY(spmv_fill(ctx, "spmv_csr_view", &none, sizeof none, view));
    GIVEN(NULL, mat);
    TRY(spmv_mat_bring(mat));
    const spmv_csr_view all = spmv_rows_with(mat, mat->csr.values);
    return spmv_fill(ctx, "spmv_csr_view", &all, sizeof all, view);
}

bool spmv_values_change(const spmv_mat *mat) {
    return mat->values_change;
}

/* Computes the statistics that need all entries, when they are first read. */
static void count(spmv_mat *mat) {
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz);
    const bool is_pattern = mat->coo.field == SPMV_PATTERN_FIELD;
    const double *values = !mat->by_columns ? mat->coo.values : is_pattern ? NULL : mat->csr.values;
    int64_t zeros = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : zeros)
    for (int64_t k = 0; k < (values ? mat->coo.nnz : 0); k++) zeros += values[k] == 0;
    mat->stats.explicit_zeros = zeros;
    spmv_csr_count(&mat->csr, threads, &mat->stats);
    mat->to_count = false;
}

spmv_status spmv_mat_stats(const spmv_mat *mat, spmv_stats *out) {
    SPMV_DEFAULT_ENVIRONMENT;
    static const spmv_stats none;
    spmv_ctx *ctx = mat ? mat->ctx : NULL;
    GIVEN(ctx, out);
    TRY(spmv_fill(ctx, "spmv_stats", &none, sizeof none, out));
    GIVEN(NULL, mat);
    TRY(spmv_mat_bring(mat));
    if (mat->to_count) count((spmv_mat *)(uintptr_t)mat);
    return spmv_fill(ctx, "spmv_stats", &mat->stats, sizeof mat->stats, out);
}

int64_t spmv_longest(const spmv_mat *mat) {
    return mat->stats.row_max;
}
