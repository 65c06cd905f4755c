/* format_csr.c: compressed sparse rows in the variant's precision and offset width. Arrays that the
 * matrix has in that width are borrowed, not copied: columns always, values in f64. */
#include "csr.h"
#include "spmv_order.h"
#include <math.h>

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return (size_t)(A->rows + 1) * sizeof(ofs) + (size_t)A->nnz * (sizeof(idx) + sizeof(real));
}

static void narrow_row_ptr(const spmv_csr_view *A, int threads, ofs *out) {
    if (threads == 1) /* starting threads takes as long as a product of a small matrix */
        for (int64_t i = 0; i <= A->rows; i++) out[i] = (ofs)A->row_ptr[i];
    else
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t i = 0; i <= A->rows; i++) out[i] = (ofs)A->row_ptr[i];
}

/* Uses the static partition of csr_rows, so that first touch places pages near their thread. */
static int64_t narrow_values(const spmv_csr_view *A, int threads, real *out) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            out[k] = (real)A->values[k];
            overflows += isinf(out[k]) && !isinf(A->values[k]);
        }
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    (void)c;
    TRY(spmv_store_new(ctx, "csr", sizeof(csr), A, out));
    csr *B = (csr *)*out;
    B->s.slots = A->nnz;
    if (sizeof(ofs) == sizeof *A->row_ptr) {
        spmv_store_borrow(&B->s, &B->row_ptr, A->row_ptr,
                          (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    } else {
        TRY(STORE_ARRAY(ctx, B, row_ptr, A->rows + 1));
        narrow_row_ptr(A, threads, B->row_ptr);
    }
    spmv_store_borrow(&B->s, &B->col_idx, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx);
    if (sizeof(real) == sizeof *A->values) {
        spmv_store_borrow(&B->s, &B->values, A->values, (size_t)A->nnz * sizeof *A->values);
        return SPMV_OK;
    }
    TRY(STORE_ARRAY(ctx, B, values, A->nnz));
    return spmv_fits(ctx, narrow_values(A, threads, B->values));
}

enum { VALUES = 2 }; /* index of the last array */

static int64_t rows_together(const spmv_store *store) {
    return !store->array[VALUES].borrowed;
}

static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    csr *B = (csr *)store;
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++) B->values[k] = (real)A->values[k];
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    csr *B = (csr *)store;
    if (store->array[VALUES].borrowed)
        B->values = (real *)(uintptr_t)A->values; /* the matrix may have replaced its array */
    else
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t k = 0; k < A->nnz; k++) B->values[k] = (real)A->values[k];
}

static int places(const spmv_store *store, spmv_places *out) {
    const csr *B = (const csr *)store;
    *out = (spmv_places){B->values, store->nnz, sizeof(real), 0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csr *A = (const csr *)store;
    for (int64_t i = 0; i < store->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            row[k] = (int32_t)spmv_stored_row(store, i);
            col[k] = A->col_idx[k];
            values[k] = (double)A->values[k];
        }
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(csr_format) = {
    .name = "csr",
    .summary = "compressed sparse rows: row_ptr[rows + 1], col_idx[nnz], values[nnz]",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .places = places,
    .refill = refill,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
};
