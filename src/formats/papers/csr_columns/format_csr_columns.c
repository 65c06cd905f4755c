/* format_csr_columns.c: blocks of columns as CSR matrices, one behind the other. */
#include "csr_columns.h"
#include "formats/row_ends.h"
#include <math.h>

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    const size_t ncols = (size_t)spmv_blocks_of(c->value[SPMV_grid_cols], A->cols);
    return ncols * (size_t)(A->rows + 1) * sizeof(ofs) +
           (size_t)A->nnz * (sizeof(idx) + sizeof(real));
}

/* row_ptr + j (rows + 1) first holds, at i + 1, the number of entries of row i in block j. */
static void count_entries(const spmv_csr_view *A, int threads, csr_columns *B) {
    const int64_t stride = A->rows + 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t k = A->row_ptr[i];
        for (int64_t j = 0; j < B->ncols; j++) {
            const int64_t first = k;
            k = spmv_reach_column(A->col_idx, k, A->row_ptr[i + 1],
                                  spmv_split(A->cols, B->ncols, j + 1));
            B->row_ptr[j * stride + i + 1] = (ofs)(k - first);
        }
    }
    ofs sum = 0;
    for (int64_t j = 0; j < B->ncols; j++) {
        B->row_ptr[j * stride] = sum;
        for (int64_t i = 1; i <= A->rows; i++)
            B->row_ptr[j * stride + i] = sum += B->row_ptr[j * stride + i];
    }
}

/* Keeps the order of a row's entries. Returns the number of values that overflow. */
static int64_t copy_entries(const spmv_csr_view *A, int threads, csr_columns *B) {
    const int64_t stride = A->rows + 1;
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t from = A->row_ptr[i];
        for (int64_t j = 0; j < B->ncols; j++) {
            const ofs end = B->row_ptr[j * stride + i + 1];
            for (ofs k = B->row_ptr[j * stride + i]; k < end; k++, from++) {
                B->col_idx[k] = A->col_idx[from];
                B->values[k] = (real)A->values[from];
                overflows += isinf(B->values[k]) && !isinf(A->values[from]);
            }
        }
    }
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "csr_columns", sizeof(csr_columns), A, out));
    csr_columns *B = (csr_columns *)*out;
    B->s.slots = A->nnz;
    B->ncols = spmv_blocks_of(c->value[SPMV_grid_cols], A->cols);
    TRY(STORE_ARRAY(ctx, B, row_ptr, B->ncols * (A->rows + 1)));
    TRY(STORE_ARRAY(ctx, B, col_idx, A->nnz));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz));
    count_entries(A, threads, B);
    return spmv_fits(ctx, copy_entries(A, threads, B));
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    copy_entries(A, threads, (csr_columns *)store);
}

static int places(const spmv_store *store, spmv_places *out) {
    *out = (spmv_places){((const csr_columns *)store)->values, store->nnz, sizeof(real), 0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csr_columns *A = (const csr_columns *)store;
    for (int64_t j = 0; j < A->ncols; j++)
        for (int64_t i = 0; i < store->rows; i++) {
            const ofs *row_ptr = A->row_ptr + j * (store->rows + 1) + i;
            for (ofs k = row_ptr[0]; k < row_ptr[1]; k++) {
                row[k] = (int32_t)i;
                col[k] = A->col_idx[k];
                values[k] = (double)A->values[k];
            }
        }
}

static const spmv_param params[] = {{SPMV_grid_cols, 4, 1, 4096, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(csr_columns_format) = {
    .name = "csr_columns",
    .summary = "blocks of columns, each a CSR matrix of its own",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .places = places,
    .refill = refill,
};
