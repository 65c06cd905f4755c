/* format_symmetric.c: of a matrix that equals its transpose, or minus its transpose off the
 * diagonal, the part below the diagonal and the diagonal. Whether it does is seen in the numbers,
 * bit by bit, not in what a file says of itself. */
#include "spmv_kernel.h"
#include <math.h>

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The first of row i's entries, from begin on, in column at least col. */
static int64_t first_from(const spmv_csr_view *A, int64_t i, int64_t col) {
    int64_t low = A->row_ptr[i], high = A->row_ptr[i + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A->col_idx[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

typedef struct part { /* rows first..end - 1, with entries below the diagonal from column low on */
    int64_t first, end, low;
} part;

static part part_of(const spmv_csr_view *A, int nparts, int n) {
    part p = {spmv_split(A->rows, nparts, n), spmv_split(A->rows, nparts, n + 1), 0};
    p.low = p.end;
    for (int64_t i = p.first; i < p.end; i++)
        if (A->row_ptr[i] < A->row_ptr[i + 1] && A->col_idx[A->row_ptr[i]] < p.low)
            p.low = A->col_idx[A->row_ptr[i]];
    return p;
}

typedef struct finding { /* how many entries below and above the diagonal; those with a mirror */
    int64_t below, above, same, opposite;
    bool no_memory;
} finding;

/* Rows are taken in order, so the mirrors of a column's entries, which are in one row, are met in
 * order too: next[j] is where row j's next one is. */
static void find_mirrors(const spmv_csr_view *A, const part *p, int64_t *next, finding *f) {
    for (int64_t j = p->low; j < p->end; j++)
        next[j - p->low] = first_from(A, j, j < p->first ? p->first : j + 1);
    for (int64_t i = p->first; i < p->end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            int64_t j = A->col_idx[k];
            f->above += j > i;
            f->below += j < i;
            if (j >= i) continue;
            int64_t m = next[j - p->low];
            if (m == A->row_ptr[j + 1] || A->col_idx[m] != i) return; /* counts cannot agree */
            uint64_t a = bits_of(A->values[k]), b = bits_of(A->values[m]);
            f->same += a == b;
            f->opposite += a == (b ^ 1ull << 63);
            next[j - p->low]++;
        }
}

static finding find_symmetry(const spmv_csr_view *A, int threads) {
    int64_t below = 0, above = 0, same = 0, opposite = 0, failures = 0;
#pragma omp parallel for schedule(static, 1) num_threads(threads) \
    reduction(+ : below, above, same, opposite, failures)
    for (int n = 0; n < threads; n++) {
        finding f = {0};
        part p = part_of(A, threads, n);
        int64_t *next = spmv_host_alloc((size_t)(p.end - p.low) * sizeof *next);
        if (next) find_mirrors(A, &p, next, &f);
        failures += !next;
        spmv_host_free(next);
        below += f.below, above += f.above, same += f.same, opposite += f.opposite;
    }
    return (finding){below, above, same, opposite, failures != 0};
}

/* 1: symmetric, -1: skew-symmetric off the diagonal, 0: neither. */
static int sign_of(const finding *f) {
    if (f->below != f->above) return 0;
    return f->same == f->below ? 1 : f->opposite == f->below ? -1 : 0;
}

/* How many entries of row i are not above the diagonal. */
static int64_t count_row(const spmv_csr_view *A, int64_t i) {
    return i < A->cols ? first_from(A, i, i + 1) - A->row_ptr[i]
                       : A->row_ptr[i + 1] - A->row_ptr[i];
}

/* Whether every entry is less than 2^16 columns from the diagonal. */
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

/* As if all entries were below the diagonal, and far from it. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    (void)c, (void)longest;
    return (size_t)(A->rows + 1) * sizeof(ofs) + (size_t)A->nnz * (sizeof(real) + sizeof(idx));
}

static int64_t fill_row(const spmv_csr_view *A, int64_t i, symmetric *B) {
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

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, int threads, symmetric *B) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t i = 0; i < A->rows; i++) overflows += fill_row(A, i, B);
    return spmv_fits(ctx, overflows);
}

static spmv_status check(spmv_ctx *ctx, const spmv_csr_view *A, int threads, int *sign) {
    if (A->rows != A->cols)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE, "%lld x %lld is not square, so not symmetric",
                         (long long)A->rows, (long long)A->cols);
    finding f = find_symmetry(A, threads);
    if (f.no_memory) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    *sign = sign_of(&f);
    if (*sign) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                     "the matrix is neither symmetric nor skew-symmetric: an entry below the "
                     "diagonal has no mirror of equal or opposite value, or one above has none");
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    (void)c;
    int sign = 0;
    TRY(check(ctx, A, threads, &sign));
    TRY(spmv_store_new(ctx, "symmetric", sizeof(symmetric), A, out));
    symmetric *B = (symmetric *)*out;
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

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const symmetric *A = (const symmetric *)store;
    int64_t n = 0;
    for (int64_t i = 0; i < A->s.rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            int32_t j = A->near ? (int32_t)(i - A->distance[k]) : A->col_idx[k];
            row[n] = (int32_t)i, col[n] = j, values[n++] = (double)A->values[k];
            if (j == i) continue;
            row[n] = j, col[n] = (int32_t)i, values[n++] = A->sign * (double)A->values[k];
        }
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(symmetric_format) = {
    .name = "symmetric",
    .summary = "the diagonal and below of a symmetric or skew-symmetric matrix, as compressed rows",
    .params = params,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
};
