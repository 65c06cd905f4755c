/* format_ell.c: ELLPACK, every row padded to the longest, row-major. */
#include "ell.h"
#include "formats/row_ends.h"
#include <math.h>

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    size_t row = (size_t)spmv_longest_row(A) * (sizeof(idx) + sizeof(real)) + sizeof(idx);
    return A->rows && row > SIZE_MAX / (size_t)A->rows ? SIZE_MAX : row * (size_t)A->rows;
}

/* Padding has the row's last column, which the row reads anyway: this needs no other cache line and
 * brings in no NaN or infinity of another x_j. Padding of an empty row has column 0. */
static int64_t fill_rows(const spmv_csr_view *A, int threads, ell *out) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t begin = A->row_ptr[i], n = A->row_ptr[i + 1] - begin, at = i * out->width;
        for (int64_t k = 0; k < n; k++) {
            out->col_idx[at + k] = A->col_idx[begin + k];
            out->values[at + k] = (real)A->values[begin + k];
            overflows += isinf(out->values[at + k]) && !isinf(A->values[begin + k]);
        }
        for (int64_t k = n; k < out->width; k++) {
            out->col_idx[at + k] = n ? A->col_idx[begin + n - 1] : 0;
            out->values[at + k] = 0;
        }
        out->row_len[i] = (idx)n;
    }
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    (void)c;
    TRY(spmv_store_new(ctx, "ell", sizeof(ell), A, out));
    ell *B = (ell *)*out;
    B->width = spmv_longest_row(A);
    B->s.slots = A->rows * B->width;
    TRY(STORE_ARRAY(ctx, B, col_idx, B->s.slots));
    TRY(STORE_ARRAY(ctx, B, values, B->s.slots));
    TRY(STORE_ARRAY(ctx, B, row_len, A->rows));
    return spmv_fits(ctx, fill_rows(A, threads, B));
}

static int64_t rows_together(const spmv_store *store) {
    (void)store;
    return 1; /* rows can be refilled one by one */
}

static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    ell *B = (ell *)store;
    for (int64_t i = first; i < end; i++)
        for (int64_t k = A->row_ptr[i], at = i * B->width; k < A->row_ptr[i + 1]; k++, at++)
            B->values[at] = (real)A->values[k];
}

static int places(const spmv_store *store, spmv_places *out) {
    const ell *B = (const ell *)store;
    *out = (spmv_places){B->values, store->slots, sizeof(real), 0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const ell *A = (const ell *)store;
    for (int64_t i = 0, n = 0; i < store->rows; i++)
        for (int64_t k = 0; k < A->row_len[i]; k++, n++) {
            row[n] = (int32_t)i;
            col[n] = A->col_idx[i * A->width + k];
            values[n] = (double)A->values[i * A->width + k];
        }
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(ell_format) = {
    .name = "ell",
    .summary = "ELLPACK: every row padded to the longest, col_idx and values [rows x width]",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .places = places,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
};
