/* format_csell_sym.c: the diagonal and the part below it of a symmetric or skew-symmetric matrix,
 * stored with the bytes that csell has for that part. */
#include "formats/csell/csell_rows.h"
#include "formats/symmetry.h"
#include "csell_sym.h"
#include "formats/row_ends.h"

typedef struct half { /* compressed rows of the stored half */
    int64_t *row_ptr;
    int32_t *col_idx;
    double *values;
} half;

static void release(half *h) {
    spmv_host_free(h->row_ptr);
    spmv_host_free(h->col_idx);
    spmv_host_free(h->values);
}

static bool allocate(const spmv_csr_view *A, int threads, half *h) {
    h->row_ptr = spmv_host_alloc((size_t)(A->rows + 1) * sizeof *h->row_ptr);
    if (!h->row_ptr) return false;
    h->row_ptr[0] = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) h->row_ptr[i + 1] = count_row(A, i);
    for (int64_t i = 0; i < A->rows; i++) h->row_ptr[i + 1] += h->row_ptr[i];
    h->col_idx = spmv_host_alloc((size_t)h->row_ptr[A->rows] * sizeof *h->col_idx);
    h->values = spmv_host_alloc((size_t)h->row_ptr[A->rows] * sizeof *h->values);
    return h->col_idx && h->values;
}

/* Copies the half, because the csell builder expects contiguous rows. */
static spmv_status take_half(spmv_ctx *ctx, const spmv_csr_view *A, int threads, half *h,
                             spmv_csr_view *out) {
    if (!allocate(A, threads, h)) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) {
        int64_t from = A->row_ptr[i], to = h->row_ptr[i];
        size_t n = (size_t)(h->row_ptr[i + 1] - to);
        memcpy(h->col_idx + to, A->col_idx + from, n * sizeof *h->col_idx);
        memcpy(h->values + to, A->values + from, n * sizeof *h->values);
    }
    *out = (spmv_csr_view){.rows = A->rows,
                           .cols = A->cols,
                           .nnz = h->row_ptr[A->rows],
                           .row_ptr = h->row_ptr,
                           .col_idx = h->col_idx,
                           .values = h->values};
    return SPMV_OK;
}

/* Bounds a matrix with a full diagonal. Without a diagonal the cut may be lower, so that more rows
 * are long; the added term counts these. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    enum { LEAST_CUT = 64 };
    const spmv_csr_view most = {.rows = A->rows, .cols = A->cols, .nnz = (A->nnz + A->rows) / 2};
    return V(csell_format).bound(&most, c, longest) +
           (size_t)(most.nnz / LEAST_CUT) * (sizeof(idx) + sizeof(int32_t));
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return bound(A, c, spmv_longest_row(A));
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    half h = {0};
    spmv_csr_view lower;
    int sign;
    TRY(check_symmetry(ctx, A, threads, &sign));
    spmv_status status = take_half(ctx, A, threads, &h, &lower);
    if (status == SPMV_OK) status = V(csell_format).build(ctx, &lower, c, threads, out);
    release(&h);
    TRY(status);
    csell *B = (csell *)*out;
    B->s.format = "csell_sym";
    B->s.nnz = B->s.slots = A->nnz;
    B->sign = sign;
    return SPMV_OK;
}

/* In each row the stored entries come first, so csell's refill finds them. */
static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    V(csell_format).refill(A, threads, store);
}

static spmv_status holds(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store) {
    TRY(check_same_symmetry(ctx, A, threads, ((const csell *)store)->sign));
    return V(csell_format).holds(ctx, A, threads, store);
}

static int64_t stored_of(const csell *A) {
    int64_t stored = A->long_nnz;
    for (int64_t k = 0; k < A->nslices; k++)
        for (int32_t t = 0; t < A->slice[k].nsteps; t++)
            stored += A->slice[k].run * __builtin_popcount(A->step[A->slice[k].step + t].mask);
    return stored;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csell *A = (const csell *)store;
    int64_t stored = stored_of(A), n = stored;
    V(csell_format).entries(store, row, col, values);
    for (int64_t k = 0; k < stored; k++)
        if (row[k] != col[k]) {
            row[n] = col[k], col[n] = row[k];
            values[n++] = A->sign * values[k];
        }
}

static const spmv_param params[] = {{SPMV_codes, 1, 0, 1, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(csell_sym_format) = {
    .name = "csell_sym",
    .summary = "the diagonal and below of a symmetric or skew-symmetric matrix, as csell",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .refill = refill,
    .holds = holds,
};
