/* origin.c: maps the given values to those of the canonical CSR, whose entries are ordered by rows;
 * entries of a symmetric matrix appear twice, and duplicates are summed. */
#include "host/context.h"
#include "matrix/csr.h"
#include "matrix/matrix.h"
#include "matrix/csr_to_csc.h"
#include "spmv_sum.h"
#include "values.h"
#include <math.h>
#include <stdlib.h>

/* ---- where the values of the canonical CSR come from ----------------------------------------- */

/* Writes the indices in the canonical CSR of entry k and, if the matrix is symmetric, of its
 * transposed entry. Returns how many there are. */
static int places_of(const spmv_mat *mat, int64_t k, int64_t *place) {
    const spmv_coo *coo = &mat->coo;
    const spmv_csr_view A = spmv_rows_with(mat, NULL);
    place[0] = spmv_first_from(&A, coo->row[k], coo->col[k]);
    if (coo->symmetry == SPMV_GENERAL || coo->row[k] == coo->col[k]) return 1;
    place[1] = spmv_first_from(&A, coo->col[k], coo->row[k]);
    return 2;
}

/* Counts the entries of each value of the CSR into first, as exclusive prefix sums; returns the
 * total. */
static int64_t count_entries(const spmv_mat *mat, int threads, uint32_t *first) {
    const int64_t nnz = mat->csr.nnz;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int64_t at = 0; at <= nnz; at++) first[at] = 0;
#pragma omp for schedule(static)
        for (int64_t k = 0; k < mat->coo.nnz; k++) {
            int64_t place[2];
            for (int n = places_of(mat, k, place); n > 0; n--) {
#pragma omp atomic
                first[place[n - 1] + 1]++;
            }
        }
    }
    for (int64_t at = 0; at < nnz; at++) first[at + 1] += first[at];
    return first[nnz];
}

/* Lists the entries of each value of the CSR. On return first[i] is the end of value i's entries.
 * Threads append atomically, so duplicates have no fixed order. */
static void list_entries(const spmv_mat *mat, int threads, uint32_t *first, uint32_t *entry) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < mat->coo.nnz; k++) {
        int64_t place[2];
        for (int n = places_of(mat, k, place); n > 0; n--) {
            uint32_t at;
#pragma omp atomic capture
            at = first[place[n - 1]]++;
            entry[at] = (uint32_t)k;
        }
    }
}

static spmv_status fill_origin(spmv_mat *mat, int threads, struct spmv_origin *out) {
    const int64_t nnz = mat->csr.nnz;
    out->first = spmv_host_take(mat->ctx, (size_t)(nnz + 1) * sizeof *out->first);
    if (!out->first) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    const int64_t n = count_entries(mat, threads, out->first);
    out->entry = spmv_host_take(mat->ctx, (size_t)n * sizeof *out->entry);
    if (!out->entry) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    list_entries(mat, threads, out->first, out->entry);
    if (n > nnz) {
        memmove(out->first + 1, out->first, (size_t)nnz * sizeof *out->first);
        out->first[0] = 0;
        return SPMV_OK;
    }
    spmv_host_give(mat->ctx, out->first);
    out->first = NULL;
    return SPMV_OK;
}

/* For a matrix given as CSC: the permutation of the conversion to CSR. */
static spmv_status fill_from_columns(spmv_mat *mat, struct spmv_origin *out) {
    const spmv_csr *A = &mat->csr;
    spmv_csc_conversion t = spmv_conversion_of_rows(A, NULL);
    int64_t *ptr = t.out_ptr = spmv_host_alloc((size_t)(A->cols + 1) * sizeof *ptr);
    t.to = out->entry = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *out->entry);
    spmv_status status = ptr && out->entry
                             ? spmv_csr_to_csc(mat->ctx, &t)
                             : spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for new values");
    spmv_host_free(ptr);
    return status;
}

spmv_status spmv_origin_find(spmv_mat *mat, int threads) {
    if (mat->csr.as_given || mat->origin) return SPMV_OK;
    if (mat->coo.nnz > UINT32_MAX / 2)
        return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                         "%lld entries, not in the order of compressed rows, are too many for new "
                         "values",
                         (long long)mat->coo.nnz);
    mat->origin = calloc(1, sizeof *mat->origin);
    if (!mat->origin) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    spmv_status status = mat->by_columns ? fill_from_columns(mat, mat->origin)
                                         : fill_origin(mat, threads, mat->origin);
    if (status == SPMV_OK) return SPMV_OK;
    spmv_origin_free(mat->ctx, mat->origin);
    mat->origin = NULL;
    return status;
}

/* ---- the order of the canonical CSR ---------------------------------------------------------- */

static inline double given_value(const spmv_new_values *v, int64_t k) {
    return v->precision == SPMV_F32 ? ((const float *)v->values)[k]
                                    : ((const double *)v->values)[k];
}

/* Returns the value of entry k in row i (negated for the transposed entry if skew-symmetric). */
static double value_in_row(const spmv_mat *mat, const spmv_new_values *v, int64_t i, int64_t k) {
    const double value = given_value(v, k);
    return mat->coo.symmetry == SPMV_SKEW_SYMMETRIC && mat->coo.row[k] != i ? -value : value;
}

typedef struct duplicates { /* the entries of one value of the CSR, in row i */
    const spmv_mat *mat;
    const spmv_new_values *v;
    int64_t i;
} duplicates;

static int compare_bits(const void *a, const void *b, void *which) {
    const duplicates *d = which;
    uint64_t p = spmv_bits(value_in_row(d->mat, d->v, d->i, *(const uint32_t *)a));
    uint64_t q = spmv_bits(value_in_row(d->mat, d->v, d->i, *(const uint32_t *)b));
    return (p > q) - (p < q);
}

/* Sorts entries by the bits of their values, as when the matrix was made: sums have equal bits. */
static void sort_duplicates(duplicates *d, uint32_t *entry, int64_t n) {
    enum { SHORT = 48 };
    if (n > SHORT) {
        qsort_r(entry, (size_t)n, sizeof *entry, compare_bits, d);
        return;
    }
    for (int64_t k = 1; k < n; k++) {
        const uint32_t moved = entry[k];
        int64_t hole = k;
        for (; hole > 0 && compare_bits(&entry[hole - 1], &moved, d) > 0; hole--)
            entry[hole] = entry[hole - 1];
        entry[hole] = moved;
    }
}

/* Returns the sum, rounded once, of row i's values entry[begin], ..., entry[end - 1]. */
static double sum_entries(const spmv_mat *mat, const spmv_new_values *v, int64_t i, int64_t begin,
                          int64_t end, int64_t *overflows) {
    uint32_t *entry = mat->origin->entry;
    duplicates d = {mat, v, i};
    if (end - begin > 2) sort_duplicates(&d, entry + begin, end - begin);
    spmv_sum sum = {.whole = value_in_row(mat, v, i, entry[begin])};
    bool finite = isfinite(sum.whole);
    for (int64_t at = begin + 1; at < end; at++) {
        double value = value_in_row(mat, v, i, entry[at]);
        finite &= isfinite(value) != 0;
        spmv_sum_add(&sum, value);
    }
    const double total = spmv_sum_total(&sum);
    *overflows += finite && !isfinite(total);
    return total;
}

spmv_status spmv_origin_arrange(const spmv_mat *mat, const spmv_new_values *v, int threads,
                                double *out) {
    const spmv_csr *A = &mat->csr;
    const uint32_t *first = mat->origin ? mat->origin->first : NULL;
    int64_t overflows = 0;
    if (A->as_given) {
        spmv_widen(v, A->nnz, threads, out);
        return SPMV_OK;
    }
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            out[k] = sum_entries(mat, v, i, first ? first[k] : k, first ? first[k + 1] : k + 1,
                                 &overflows);
    return overflows ? spmv_fail(mat->ctx, SPMV_E_FORMAT,
                                 "duplicates in %lld places have a sum that no double can hold",
                                 (long long)overflows)
                     : SPMV_OK;
}
