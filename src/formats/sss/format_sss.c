/* format_sss.c: the diagonal and the part below it of a matrix that equals its transpose, or minus
 * its transpose off the diagonal. This is tested on the values, bit by bit, not read from a
 * file. */
#include "formats/symmetry.h"
#include "spmv_sample.h"
#include "sss.h"
#include <math.h>

/* Returns whether every entry is less than 2^16 columns from the diagonal. */
static bool is_near(const spmv_csr_view *A) {
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i] < A->row_ptr[i + 1] && i - A->col_idx[A->row_ptr[i]] > UINT16_MAX)
            return false;
    return true;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    size_t half = 0;
    (void)c;
    for (int64_t i = 0; i < A->rows; i++) half += (size_t)count_row(A, i);
    return (size_t)(A->rows + 1) * sizeof(ofs) +
           half * (sizeof(real) + (is_near(A) ? sizeof(uint16_t) : sizeof(idx)));
}

/* Returns the bytes if all entries were below the diagonal and columns took 32 bits. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    (void)c, (void)longest;
    return (size_t)(A->rows + 1) * sizeof(ofs) + (size_t)A->nnz * (sizeof(real) + sizeof(idx));
}

static int64_t fill_row(const spmv_csr_view *A, int64_t i, sss *B) {
    int64_t overflows = 0, to = B->row_ptr[i], from = A->row_ptr[i];
    for (int64_t end = B->row_ptr[i + 1]; to < end; to++, from++) {
        int64_t col = A->col_idx[from];
        if (B->near)
            B->distance[to] = (uint16_t)(i - col);
        else
            B->col_idx[to] = (idx)col;
        B->values[to] = (real)A->values[from];
        overflows += isinf(B->values[to]) && !isinf(A->values[from]);
    }
    return overflows;
}

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, int threads, sss *B) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t i = 0; i < A->rows; i++) overflows += fill_row(A, i, B);
    return spmv_fits(ctx, overflows);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    (void)c;
    int sign = 0;
    TRY(check_symmetry(ctx, A, threads, &sign));
    TRY(spmv_store_new(ctx, "sss", sizeof(sss), A, out));
    sss *B = (sss *)*out;
    B->s.slots = A->nnz;
    B->sign = sign;
    B->near = is_near(A);
    TRY(STORE_ARRAY(ctx, B, row_ptr, A->rows + 1));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) B->row_ptr[i + 1] = (ofs)count_row(A, i);
    B->row_ptr[0] = 0;
    for (int64_t i = 0; i < A->rows; i++) B->row_ptr[i + 1] += B->row_ptr[i];
    B->half = B->row_ptr[A->rows];
    if (B->near)
        TRY(STORE_ARRAY(ctx, B, distance, B->half));
    else
        TRY(STORE_ARRAY(ctx, B, col_idx, B->half));
    TRY(STORE_ARRAY(ctx, B, values, B->half));
    return fill(ctx, A, threads, B);
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    sss *B = (sss *)store;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t to = B->row_ptr[i], k = A->row_ptr[i]; to < B->row_ptr[i + 1]; to++, k++)
            B->values[to] = (real)A->values[k];
}

static spmv_status holds(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store) {
    return check_same_symmetry(ctx, A, threads, ((const sss *)store)->sign);
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const sss *A = (const sss *)store;
    int64_t n = 0;
    for (int64_t i = 0; i < A->s.rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            int32_t j = A->near ? (int32_t)(i - A->distance[k]) : A->col_idx[k];
            row[n] = (int32_t)i, col[n] = j, values[n++] = (double)A->values[k];
            if (j == i) continue;
            row[n] = j, col[n] = (int32_t)i, values[n++] = A->sign * (double)A->values[k];
        }
}

/* Computes the rows from a slice's least column to its first row: mirrored entries add to these. */
static void look(const sample_slice *w, double *sum) {
    int64_t least = w->first;
    for (int r = 0; r < w->rows; r++)
        if (w->len[r] && w->col_idx[w->begin[r]] < least) least = w->col_idx[w->begin[r]];
    sum[0] = (double)(w->first - least);
}

static void features(const spmv_sample *s, const double *sum, spmv_features *f) {
    f->symmetric = sample_share((double)s->mirrored, (double)s->pairs);
    f->reach = sample_share(sum[0], (double)f->rows * s->size.taken);
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(sss_format) = {
    .name = "sss",
    .summary = "the diagonal and below of a symmetric or skew-symmetric matrix, as compressed rows",
    .params = params,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .refill = refill,
    .holds = holds,
    .look = look,
    .features = features,
};
