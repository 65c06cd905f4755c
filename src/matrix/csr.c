/* csr.c: entries as coordinates, and the canonical CSR of a matrix. All formats are built from the
 * canonical CSR: N formats need N converters instead of N squared. */
#include "csr.h"
#include "host/context.h"
#include "spmv_host.h"
#include "spmv_sum.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>

spmv_status spmv_coo_alloc(spmv_ctx *ctx, spmv_coo *coo, bool with_values) {
    size_t n = (size_t)coo->nnz;
    coo->ctx = ctx;
    coo->row = spmv_host_take(ctx, n * sizeof *coo->row);
    coo->col = spmv_host_take(ctx, n * sizeof *coo->col);
    coo->values = with_values ? spmv_host_take(ctx, n * sizeof *coo->values) : NULL;
    if (coo->row && coo->col && (coo->values || !with_values)) return SPMV_OK;
    spmv_coo_free(coo);
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for %zu matrix entries (%.1f GB)", n,
                     1e-9 * (double)n * (with_values ? 16 : 8));
}

void spmv_coo_free(spmv_coo *coo) {
    spmv_host_give(coo->ctx, coo->row);
    spmv_host_give(coo->ctx, coo->col);
    spmv_host_give(coo->ctx, coo->values);
    *coo = (spmv_coo){0};
}

void spmv_lines_free(spmv_lines *lines) {
    spmv_host_give(lines->coo.ctx, lines->ptr);
    spmv_coo_free(&lines->coo);
    *lines = (spmv_lines){.ptr = NULL};
}

void spmv_csr_free(spmv_ctx *ctx, spmv_csr *A) {
    if (!A->borrowed.row_ptr) spmv_host_give(ctx, A->row_ptr);
    if (!A->borrowed.col_idx) spmv_host_give(ctx, A->col_idx);
    if (!A->borrowed.values) spmv_host_give(ctx, A->values);
    *A = (spmv_csr){0};
}

/* Fails if `need` bytes exceed the free memory. Linux overcommits and kills the process that
 * touches the memory. Asking takes 0.1 ms, so small amounts are not checked. */
spmv_status spmv_host_fits(spmv_ctx *ctx, int64_t rows, int64_t cols, int64_t nnz, double need) {
    enum { LITTLE = 16 << 20 };
    if (need <= LITTLE) return SPMV_OK;
    double limit = 0.9 * (double)spmv_host_free_bytes();
    if (need <= limit) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_NOMEM,
                     "out of memory: compressed rows of %lld x %lld with %lld entries need "
                     "%.1f GB, %.1f GB are free",
                     (long long)rows, (long long)cols, (long long)nnz, 1e-9 * need, 1e-9 * limit);
}

/* Checks the memory for sorting: 16 bytes per row even if there are few entries, since a file of
 * one line may declare 2^31 rows. */
spmv_status spmv_csr_fits(spmv_ctx *ctx, const spmv_coo *coo) {
    int copies = coo->symmetry == SPMV_GENERAL ? 1 : 2;
    double need = 16.0 * (double)coo->rows + 12.0 * copies * (double)coo->nnz;
    return spmv_host_fits(ctx, coo->rows, coo->cols, coo->nnz, need);
}

static double value_of(const spmv_coo *coo, int64_t k) {
    return coo->values ? coo->values[k] : 1.0;
}

static bool has_mirror_image(const spmv_coo *coo, int64_t k) {
    return coo->symmetry != SPMV_GENERAL && coo->row[k] != coo->col[k];
}

/* Returns whether the entries are in the order of the canonical CSR: general symmetry, row by row,
 * columns strictly ascending. Entries from generators and from files written row by row are, and
 * need no sorting. */
static bool is_in_row_order(const spmv_coo *coo, int threads) {
    if (coo->symmetry != SPMV_GENERAL) return false;
    int64_t disorder = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : disorder)
    for (int64_t k = 1; k < coo->nnz; k++) {
        bool ascends = coo->row[k] > coo->row[k - 1] ||
                       (coo->row[k] == coo->row[k - 1] && coo->col[k] > coo->col[k - 1]);
        disorder += !ascends;
    }
    return disorder == 0;
}

static void copy_in_order(const spmv_coo *coo, int threads, spmv_csr *out) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < coo->nnz; k++) {
        int64_t before = k ? coo->row[k - 1] : -1;
        for (int64_t i = before + 1; i <= coo->row[k]; i++)
            out->row_ptr[i] = k; /* includes empty rows */
        out->col_idx[k] = coo->col[k];
        out->values[k] = value_of(coo, k);
    }
    int64_t last = coo->nnz ? coo->row[coo->nnz - 1] : -1;
    for (int64_t i = last + 1; i <= coo->rows; i++) out->row_ptr[i] = coo->nnz;
}

/* Counts entries per row into row_ptr[i + 1]; then the prefix sum: row_ptr[i] is the start of row
 * i. */
static void count_rows(const spmv_coo *coo, int threads, int64_t *row_ptr) {
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (int64_t i = 0; i <= coo->rows; i++) row_ptr[i] = 0;
#pragma omp for schedule(static)
        for (int64_t k = 0; k < coo->nnz; k++) {
#pragma omp atomic
            row_ptr[coo->row[k] + 1]++;
            if (has_mirror_image(coo, k)) {
#pragma omp atomic
                row_ptr[coo->col[k] + 1]++;
            }
        }
    }
    for (int64_t i = 0; i < coo->rows; i++) row_ptr[i + 1] += row_ptr[i];
}

static void place(spmv_csr *out, int64_t *next, int32_t row, int32_t col, double value) {
    int64_t k;
#pragma omp atomic capture
    k = next[row]++;
    out->col_idx[k] = col;
    out->values[k] = value;
}

/* Copies entries and their mirror images into their rows. Threads compete for slots in a row;
 * sort_row makes the order independent of the threads. */
static void scatter(const spmv_coo *coo, int threads, int64_t *next, spmv_csr *out) {
    double mirror_sign = coo->symmetry == SPMV_SKEW_SYMMETRIC ? -1.0 : 1.0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < coo->nnz; k++) {
        place(out, next, coo->row[k], coo->col[k], value_of(coo, k));
        if (has_mirror_image(coo, k))
            place(out, next, coo->col[k], coo->row[k], mirror_sign * value_of(coo, k));
    }
}

typedef struct entry {
    int32_t col;
    double value;
} entry;

/* Orders by column, then by the value's bits, so that duplicates are summed in the same order for
 * any number of threads. */
static int compare_entries(const void *a, const void *b) {
    const entry *p = a, *q = b;
    if (p->col != q->col) return p->col < q->col ? -1 : 1;
    const uint64_t u = spmv_bits(p->value), v = spmv_bits(q->value);
    return (u > v) - (u < v);
}

static bool sort_long_row(int32_t *col, double *value, int64_t n) {
    entry *e = malloc((size_t)n * sizeof *e);
    if (!e) return false;
    for (int64_t k = 0; k < n; k++) e[k] = (entry){col[k], value[k]};
    qsort(e, (size_t)n, sizeof *e, compare_entries);
    for (int64_t k = 0; k < n; k++) col[k] = e[k].col, value[k] = e[k].value;
    free(e);
    return true;
}

static void sort_short_row(int32_t *col, double *value, int64_t n) {
    for (int64_t k = 1; k < n; k++) {
        entry e = {col[k], value[k]};
        int64_t hole = k;
        for (; hole > 0; hole--) {
            entry before = {col[hole - 1], value[hole - 1]};
            if (compare_entries(&before, &e) <= 0) break;
            col[hole] = before.col, value[hole] = before.value;
        }
        col[hole] = e.col, value[hole] = e.value;
    }
}

/* Sorts a row by column. Returns false if out of memory. */
static bool sort_row(int32_t *col, double *value, int64_t n) {
    enum { SHORT = 48 };
    bool sorted = true;
    for (int64_t k = 1; k < n; k++) sorted &= col[k] > col[k - 1];
    if (sorted) return true;
    if (n > SHORT) return sort_long_row(col, value, n);
    sort_short_row(col, value, n);
    return true;
}

/* Sums duplicates exactly, rounding once, and moves the sums to the front of the row. Returns the
 * number of remaining entries. */
static int64_t merge_row(int32_t *col, double *value, int64_t n, int64_t *overflows) {
    int64_t kept = 0;
    for (int64_t k = 0; k < n;) {
        spmv_sum sum = {.whole = value[k]};
        bool finite = isfinite(value[k]);
        int64_t end = k + 1;
        for (; end < n && col[end] == col[k]; end++) {
            spmv_sum_add(&sum, value[end]);
            finite &= isfinite(value[end]) != 0;
        }
        col[kept] = col[k];
        value[kept] = spmv_sum_total(&sum);
        *overflows += finite && !isfinite(value[kept]);
        kept++;
        k = end;
    }
    return kept;
}

/* Sorts every row and sums duplicates; row_len[i] is the resulting length of row i. */
static spmv_status finish_rows(spmv_ctx *ctx, const spmv_coo *coo, int threads, spmv_csr *out,
                               int64_t *row_len) {
    int64_t failures = 0, merged = 0, merged_above = 0, overflows = 0, first = INT64_MAX;
#pragma omp parallel for schedule(dynamic, 512) num_threads(threads) \
    reduction(+ : failures, merged, merged_above, overflows) reduction(min : first)
    for (int64_t i = 0; i < out->rows; i++) {
        int64_t begin = out->row_ptr[i], n = out->row_ptr[i + 1] - begin;
        failures += !sort_row(out->col_idx + begin, out->values + begin, n);
        for (int64_t k = begin + 1; k < begin + n; k++)
            merged_above +=
                out->col_idx[k] == out->col_idx[k - 1] && out->col_idx[k] > coo->first_row + i;
        int64_t before = overflows;
        row_len[i] = merge_row(out->col_idx + begin, out->values + begin, n, &overflows);
        if (overflows > before && i < first) first = i;
        merged += n - row_len[i];
    }
    if (failures) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while sorting rows");
    if (overflows)
        return spmv_fail(ctx, SPMV_E_FORMAT,
                         "duplicates in row %lld (from 0) have a sum that no double can hold (such "
                         "places: %lld)",
                         (long long)(coo->first_row + first), (long long)overflows);
    out->merged = merged;
    out->merged_above = merged_above;
    out->nnz -= merged;
    return SPMV_OK;
}

/* Closes the gaps between shortened rows. Rows only move forward, so one pass in ascending order
 * overwrites nothing that is still needed. */
static void close_gaps(spmv_csr *out, const int64_t *row_len) {
    int64_t to = 0;
    for (int64_t i = 0; i < out->rows; i++) {
        int64_t from = out->row_ptr[i];
        out->row_ptr[i] = to;
        if (from != to) {
            memmove(out->col_idx + to, out->col_idx + from,
                    (size_t)row_len[i] * sizeof *out->col_idx);
            memmove(out->values + to, out->values + from, (size_t)row_len[i] * sizeof *out->values);
        }
        to += row_len[i];
    }
    out->row_ptr[out->rows] = to;
}

static spmv_status build_from_disorder(spmv_ctx *ctx, const spmv_coo *coo, int threads,
                                       spmv_csr *out) {
    /* next free slot of each row; later the length of each row */
    int64_t *next = spmv_host_alloc((size_t)(coo->rows + 1) * sizeof *next);
    if (!next)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for %lld rows", (long long)coo->rows);
    count_rows(coo, threads, out->row_ptr);
    memcpy(next, out->row_ptr, (size_t)coo->rows * sizeof *next);
    scatter(coo, threads, next, out);
    spmv_status status = finish_rows(ctx, coo, threads, out, next);
    if (status == SPMV_OK && out->nnz != out->row_ptr[out->rows]) close_gaps(out, next);
    spmv_host_free(next);
    return status;
}

spmv_status spmv_csr_build(spmv_ctx *ctx, const spmv_coo *coo, int threads, spmv_csr *out) {
    int64_t mirrored = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : mirrored)
    for (int64_t k = 0; k < coo->nnz; k++) mirrored += has_mirror_image(coo, k);
    *out = (spmv_csr){.rows = coo->rows, .cols = coo->cols, .nnz = coo->nnz + mirrored};
    out->row_ptr = spmv_host_take(ctx, (size_t)(out->rows + 1) * sizeof *out->row_ptr);
    out->col_idx = spmv_host_take(ctx, (size_t)out->nnz * sizeof *out->col_idx);
    out->values = spmv_host_take(ctx, (size_t)out->nnz * sizeof *out->values);
    spmv_status status = SPMV_OK;
    if (!out->row_ptr || !out->col_idx || !out->values)
        status = spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for compressed rows: %.1f GB",
                           1e-9 * (12.0 * (double)out->nnz + 8.0 * (double)out->rows));
    else if ((out->as_given = is_in_row_order(coo, threads)))
        copy_in_order(coo, threads, out);
    else
        status = build_from_disorder(ctx, coo, threads, out);
    if (status != SPMV_OK) spmv_csr_free(ctx, out);
    return status;
}
