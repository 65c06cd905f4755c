/* format_ell_pitched.c: ELLPACK column-major: rows padded to the longest, lines aligned. */
#include "ell_pitched.h"
#include "formats/row_ends.h"
#include "formats/row_order.h"
#include <math.h>

enum { STRIPE = 64 }; /* rows filled together, so that what is read stays in caches */

static int64_t pitch_of(const spmv_csr_view *A) {
    return (A->rows + ELL_PITCH - 1) / ELL_PITCH * ELL_PITCH;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    const size_t width = (size_t)spmv_longest_row(A), lengths = (size_t)A->rows * sizeof(idx);
    const size_t line = (size_t)pitch_of(A) * (sizeof(idx) + sizeof(real));
    return line && width > (SIZE_MAX - lengths) / line ? SIZE_MAX : width * line + lengths;
}

/* Fills one line of a stripe of rows. Padding has the row's last column, which the row reads
 * anyway: this needs no other cache line and brings in no NaN or infinity of another x_j. */
static int64_t fill_line(const spmv_csr_view *A, int64_t k, int64_t first, int64_t end,
                         ell_pitched *out) {
    int64_t overflows = 0;
    for (int64_t i = first; i < end; i++) {
        const int64_t at = k * out->pitch + i, n = i < A->rows ? row_length(A, i) : 0;
        const int64_t from = n ? A->row_ptr[i] + (k < n ? k : n - 1) : 0;
        out->col_idx[at] = n ? A->col_idx[from] : 0;
        out->values[at] = k < n ? (real)A->values[from] : 0;
        overflows += isinf(out->values[at]) && !isinf(A->values[from]);
    }
    return overflows;
}

/* Fills a stripe of rows; the last stripe also has the padding of lines. */
static int64_t fill_stripe(const spmv_csr_view *A, int64_t first, ell_pitched *out) {
    const int64_t end = first + STRIPE < A->rows ? first + STRIPE : A->rows;
    int64_t overflows = 0;
    for (int64_t k = 0; k < out->width; k++)
        overflows += fill_line(A, k, first, end == A->rows ? out->pitch : end, out);
    for (int64_t i = first; i < end; i++) out->row_len[i] = (idx)row_length(A, i);
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    int64_t overflows = 0;
    (void)c;
    TRY(spmv_store_new(ctx, "ell_pitched", sizeof(ell_pitched), A, out));
    ell_pitched *B = (ell_pitched *)*out;
    B->width = spmv_longest_row(A);
    B->pitch = pitch_of(A);
    B->s.slots = B->width * B->pitch;
    TRY(STORE_ARRAY(ctx, B, col_idx, B->s.slots));
    TRY(STORE_ARRAY(ctx, B, values, B->s.slots));
    TRY(STORE_ARRAY(ctx, B, row_len, A->rows));
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t first = 0; first < A->rows; first += STRIPE) overflows += fill_stripe(A, first, B);
    return spmv_fits(ctx, overflows);
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    ell_pitched *B = (ell_pitched *)store;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < A->rows; first += STRIPE) {
        const int64_t end = first + STRIPE < A->rows ? first + STRIPE : A->rows;
        for (int64_t i = first; i < end; i++)
            for (int64_t k = A->row_ptr[i], at = i; k < A->row_ptr[i + 1]; k++, at += B->pitch)
                B->values[at] = (real)A->values[k];
    }
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const ell_pitched *A = (const ell_pitched *)store;
    for (int64_t i = 0, n = 0; i < store->rows; i++)
        for (int64_t k = 0; k < A->row_len[i]; k++, n++) {
            row[n] = (int32_t)i;
            col[n] = A->col_idx[k * A->pitch + i];
            values[n] = (double)A->values[k * A->pitch + i];
        }
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(ell_pitched_format) = {
    .name = "ell_pitched",
    .summary = "ELLPACK column-major: every row padded to the longest, lines of slots aligned",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .refill = refill,
};
