/* format_coo.c: coordinates: one entry at a time, sorted by row. */
#include "coo.h"
#include <math.h>

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return (size_t)A->nnz * (2 * sizeof(idx) + sizeof(real));
}

static int64_t copy_entries(const spmv_csr_view *A, int threads, sorted_coo *out) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            out->row_idx[k] = (idx)i;
            out->col_idx[k] = A->col_idx[k];
            out->values[k] = (real)A->values[k];
            overflows += isinf(out->values[k]) && !isinf(A->values[k]);
        }
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    (void)c;
    TRY(spmv_store_new(ctx, "coo", sizeof(sorted_coo), A, out));
    sorted_coo *B = (sorted_coo *)*out;
    B->s.slots = A->nnz;
    TRY(STORE_ARRAY(ctx, B, row_idx, A->nnz));
    TRY(STORE_ARRAY(ctx, B, col_idx, A->nnz));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz));
    return spmv_fits(ctx, copy_entries(A, threads, B));
}

static int64_t rows_together(const spmv_store *store) {
    (void)store;
    return 1;
}

static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    sorted_coo *B = (sorted_coo *)store;
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++) B->values[k] = (real)A->values[k];
}

static int places(const spmv_store *store, spmv_places *out) {
    const sorted_coo *B = (const sorted_coo *)store;
    *out = (spmv_places){B->values, store->nnz, sizeof(real), 0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const sorted_coo *A = (const sorted_coo *)store;
    for (int64_t k = 0; k < store->nnz; k++) {
        row[k] = A->row_idx[k];
        col[k] = A->col_idx[k];
        values[k] = (double)A->values[k];
    }
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(coo_format) = {
    .name = "coo",
    .summary = "coordinates sorted by row: row_idx, col_idx, values [nnz]",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .places = places,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
};
