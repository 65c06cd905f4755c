/* symmetry.h: tests whether a matrix equals its transpose, or minus its transpose off the diagonal;
 * for formats that store half of it. */
#ifndef SPMV_SYMMETRY_H
#define SPMV_SYMMETRY_H

#include "row_ends.h"

/* rows first..end - 1, whose entries below the diagonal begin at column low */
typedef struct part {
    int64_t first, end, low;
} part;

static inline part part_of(const spmv_csr_view *A, int nparts, int n) {
    part p = {spmv_split(A->rows, nparts, n), spmv_split(A->rows, nparts, n + 1), 0};
    p.low = p.end;
    for (int64_t i = p.first; i < p.end; i++)
        if (A->row_ptr[i] < A->row_ptr[i + 1] && A->col_idx[A->row_ptr[i]] < p.low)
            p.low = A->col_idx[A->row_ptr[i]];
    return p;
}

/* numbers of entries: below and above the diagonal, with an equal or opposite mirror */
typedef struct finding {
    int64_t below, above, same, opposite;
    bool no_memory;
} finding;

/* Rows are visited in order, so that the mirrors of column j's entries, all in row j, are met in
 * order, too: next[j - p->low] is the next one. */
static inline void find_mirrors(const spmv_csr_view *A, const part *p, int64_t *next, finding *f) {
    for (int64_t j = p->low; j < p->end; j++)
        next[j - p->low] = spmv_first_from(A, j, j < p->first ? p->first : j + 1);
    for (int64_t i = p->first; i < p->end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            int64_t j = A->col_idx[k];
            f->above += j > i;
            f->below += j < i;
            if (j >= i) continue;
            int64_t m = next[j - p->low];
            if (m == A->row_ptr[j + 1] || A->col_idx[m] != i) return; /* the counts will differ */
            uint64_t a = spmv_bits(A->values[k]), b = spmv_bits(A->values[m]);
            f->same += a == b;
            f->opposite += a == (b ^ 1ull << 63);
            next[j - p->low]++;
        }
}

static inline finding find_symmetry(const spmv_csr_view *A, int threads) {
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

/* Returns 1: symmetric, -1: skew-symmetric off the diagonal, 0: neither. */
static inline int sign_of(const finding *f) {
    if (f->below != f->above) return 0;
    return f->same == f->below ? 1 : f->opposite == f->below ? -1 : 0;
}

/* Returns the number of entries of row i on and below the diagonal. */
static inline int64_t count_row(const spmv_csr_view *A, int64_t i) {
    return i < A->cols ? spmv_first_from(A, i, i + 1) - A->row_ptr[i]
                       : A->row_ptr[i + 1] - A->row_ptr[i];
}

/* *sign: as sign_of. */
static inline spmv_status check_symmetry(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                                         int *sign) {
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

/* Refuses values whose symmetry differs from the stored half's. */
static inline spmv_status check_same_symmetry(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                                              int sign) {
    int now = 0;
    TRY(check_symmetry(ctx, A, threads, &now));
    if (now == sign) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_UNSUITABLE, "the values are %s, those before were not",
                     now > 0 ? "symmetric" : "skew-symmetric");
}
#endif
