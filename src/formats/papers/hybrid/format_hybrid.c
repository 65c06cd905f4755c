/* format_hybrid.c: ELL for the first entries of every row, compressed rows for what is left: for
 * matrices of which a part, such as the reference region of configuration interaction, has rows of
 * equal length. */
#include "hybrid.h"
#include "formats/row_ends.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>

static int64_t length_of(const spmv_csr_view *A, int64_t i) {
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

static int64_t rest_of(const spmv_csr_view *A, int64_t i, int64_t boundary) {
    int64_t n = length_of(A, i);
    return n > boundary ? n - boundary : 0;
}

/* The parts hold sum_i max(n_i, boundary) entries together. No boundary up to the shortest row pads
 * and every longer one does, so the shortest row is the largest boundary of fewest bytes. Beyond
 * the longest row there would be nothing but padding. */
static int64_t boundary_of(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t shortest = A->rows ? INT64_MAX : 0, wish = c->value[SPMV_boundary];
    if (wish >= 0) {
        int64_t longest = spmv_longest_row(A);
        return wish < longest ? wish : longest;
    }
    for (int64_t i = 0; i < A->rows; i++)
        if (length_of(A, i) < shortest) shortest = length_of(A, i);
    return shortest;
}

/* Counts entries of the CSR part; *long_rows of the rows have some. */
static int64_t count_rest(const spmv_csr_view *A, int64_t boundary, int64_t *long_rows) {
    int64_t nnz = 0;
    *long_rows = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        nnz += rest_of(A, i, boundary);
        *long_rows += rest_of(A, i, boundary) > 0;
    }
    return nnz;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t boundary = boundary_of(A, c), long_rows;
    size_t slots = (size_t)(A->rows * boundary + count_rest(A, boundary, &long_rows));
    size_t slot = sizeof(idx) + sizeof(real), row = 2 * sizeof(ofs) + sizeof(idx);
    size_t rows = row * (size_t)A->rows;
    return slots > (SIZE_MAX - rows) / slot ? SIZE_MAX : slot * slots + rows;
}

/* Padding as in format_ell.c: the row's last column, which is read anyway. */
static void fill_ell_row(const spmv_csr_view *A, int64_t i, const hybrid *out) {
    int64_t begin = A->row_ptr[i], n = length_of(A, i), at = i * out->boundary;
    int64_t stop = n < out->boundary ? n : out->boundary;
    for (int64_t k = 0; k < stop; k++) {
        out->ell_col[at + k] = A->col_idx[begin + k];
        out->ell_values[at + k] = (real)A->values[begin + k];
    }
    for (int64_t k = stop; k < out->boundary; k++) {
        out->ell_col[at + k] = n ? A->col_idx[begin + n - 1] : 0;
        out->ell_values[at + k] = 0;
    }
}

static void fill_rest_row(const spmv_csr_view *A, int64_t i, const hybrid *out) {
    int64_t from = A->row_ptr[i + 1] - (out->end[i] - out->start[i]),
            n = out->end[i] - out->start[i];
    for (int64_t k = 0; k < n; k++) {
        out->rest_col[out->start[i] + k] = A->col_idx[from + k];
        out->rest_values[out->start[i] + k] = (real)A->values[from + k];
    }
}

/* Rows first..end-1, whose share of the CSR part begins at `at`. */
static int64_t fill_rows(const spmv_csr_view *A, int64_t first, int64_t end, int64_t at,
                         const hybrid *out) {
    int64_t overflows = 0;
    for (int64_t i = first; i < end; i++) {
        out->row_len[i] = (idx)length_of(A, i);
        out->start[i] = (ofs)at;
        at += rest_of(A, i, out->boundary);
        out->end[i] = (ofs)at;
        fill_ell_row(A, i, out);
        fill_rest_row(A, i, out);
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            overflows += isinf((real)A->values[k]) && !isinf(A->values[k]);
    }
    return overflows;
}

/* Each thread counts its rows' share of the CSR part, then fills behind those before it. share has
 * a number per thread. */
static int64_t fill(const spmv_csr_view *A, int threads, int64_t *share, const hybrid *out) {
    int64_t overflows = 0;
#pragma omp parallel num_threads(threads) reduction(+ : overflows)
    {
        int self = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t first = spmv_split(A->rows, team, self), end = spmv_split(A->rows, team, self + 1);
        int64_t mine = 0, before = 0;
        for (int64_t i = first; i < end; i++) mine += rest_of(A, i, out->boundary);
        share[self] = mine;
#pragma omp barrier
        for (int t = 0; t < self; t++) before += share[t];
        overflows += fill_rows(A, first, end, before, out);
    }
    return overflows;
}

static spmv_status allocate(spmv_ctx *ctx, hybrid *B) {
    TRY(STORE_ARRAY(ctx, B, ell_col, B->s.rows * B->boundary));
    TRY(STORE_ARRAY(ctx, B, ell_values, B->s.rows * B->boundary));
    TRY(STORE_ARRAY(ctx, B, rest_col, B->rest_nnz));
    TRY(STORE_ARRAY(ctx, B, rest_values, B->rest_nnz));
    TRY(STORE_ARRAY(ctx, B, start, B->s.rows));
    TRY(STORE_ARRAY(ctx, B, end, B->s.rows));
    return STORE_ARRAY(ctx, B, row_len, B->s.rows);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "hybrid", sizeof(hybrid), A, out));
    hybrid *B = (hybrid *)*out;
    B->boundary = boundary_of(A, c);
    B->rest_nnz = count_rest(A, B->boundary, &B->long_rows);
    B->s.slots = A->rows * B->boundary + B->rest_nnz;
    TRY(allocate(ctx, B));
    int64_t *share = malloc((size_t)threads * sizeof *share);
    if (!share) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    int64_t overflows = fill(A, threads, share, B);
    free(share);
    return spmv_fits(ctx, overflows);
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const hybrid *A = (const hybrid *)store;
    for (int64_t i = 0, n = 0; i < store->rows; i++)
        for (int64_t k = 0; k < A->row_len[i]; k++, n++) {
            bool in_ell = k < A->boundary;
            int64_t at = in_ell ? i * A->boundary + k : A->start[i] + k - A->boundary;
            row[n] = (int32_t)i;
            col[n] = in_ell ? A->ell_col[at] : A->rest_col[at];
            values[n] = (double)(in_ell ? A->ell_values[at] : A->rest_values[at]);
        }
}

static const spmv_param params[] = {{SPMV_boundary, -1, -1, INT32_MAX, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(hybrid_format) = {
    .name = "hybrid",
    .summary = "the first entries of every row in ELL, row-major, the rest in CSR",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
};
