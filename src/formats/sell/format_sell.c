/* format_sell.c: sliced ELLPACK, SELL-S-sigma: slices of S rows, each padded to its longest row.
 *
 * Inside windows of sigma rows a stable sort puts the longest rows first, so that rows of a slice
 * have similar lengths. sigma and S need not be multiples of each other: a slice in two windows is
 * padded to its longest row. Kernels undo the order when they write y. */
#include "formats/row_order.h"
#include "formats/side_by_side.h"
#include "sell.h"
#include "spmv_order.h"
#include "spmv_sample.h"
#include <math.h>

enum { TOGETHER = 16 };

static int64_t longest_row(const spmv_csr_view *A, const idx *perm, int64_t first, int64_t end) {
    int64_t longest = 0;
    for (int64_t i = first; i < end; i++) {
        int64_t length = row_length(A, perm ? perm[i] : i);
        if (length > longest) longest = length;
    }
    return longest;
}

static int64_t slice_end(const spmv_csr_view *A, int64_t slice, int64_t s) {
    return (s + 1) * slice < A->rows ? (s + 1) * slice : A->rows;
}

/* ---- forecast -------------------------------------------------------------------------------- */

static int64_t count_slots(const spmv_csr_view *A, const idx *perm, int64_t slice) {
    int64_t slots = 0;
    for (int64_t first = 0, s = 0; first < A->rows; first += slice, s++) {
        int64_t end = slice_end(A, slice, s);
        slots += longest_row(A, perm, first, end) * (end - first);
    }
    return slots;
}

/* Sorts, because the padding that sigma saves is known only then. Returns SIZE_MAX if memory for
 * the sort is lacking; the store would need more. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t slice = c->value[SPMV_slice], sigma = c->value[SPMV_sigma];
    size_t slot = sizeof(idx) + sizeof(real), rows = (size_t)A->rows;
    size_t fixed =
        ((rows + (size_t)slice - 1) / (size_t)slice + 1) * sizeof(ofs) + rows * sizeof(idx);
    idx *perm = sigma == 1 ? NULL : spmv_host_alloc(rows * sizeof *perm);
    if (sigma != 1) {
        fixed += rows * sizeof *perm;
        if (!perm || !sort_rows(A, sigma, 1, perm)) {
            spmv_host_free(perm);
            return SIZE_MAX;
        }
    }
    size_t slots = (size_t)count_slots(A, perm, slice);
    spmv_host_free(perm);
    return slots > (SIZE_MAX - fixed) / slot ? SIZE_MAX : slots * slot + fixed;
}

/* Returns the bytes with every slice as wide as the longest row. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    size_t slot = sizeof(idx) + sizeof(real), rows = (size_t)A->rows;
    size_t slices = rows / (size_t)c->value[SPMV_slice] + 2;
    size_t fixed = slices * sizeof(ofs) + rows * 2 * sizeof(idx), row = (size_t)longest * slot;
    return rows && row > (SIZE_MAX - fixed) / rows ? SIZE_MAX : rows * row + fixed;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* Finds where slices begin: first their widths, which any offset can hold, then the sums, if
 * offsets can hold these. */
static spmv_status place_slices(spmv_ctx *ctx, const spmv_csr_view *A, int threads, sell *B) {
    int64_t slots = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : slots)
    for (int64_t s = 0; s < B->nslices; s++) {
        int64_t first = s * B->slice, end = slice_end(A, B->slice, s);
        int64_t width = longest_row(A, B->perm, first, end);
        B->slice_ptr[s + 1] = (ofs)width;
        slots += width * (end - first);
    }
    B->s.slots = slots;
    if (sizeof(ofs) < sizeof(int64_t) && slots > INT32_MAX)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "%lld slots, padding included, need 64-bit offsets: offset_bits=64",
                         (long long)slots);
    B->slice_ptr[0] = 0;
    for (int64_t s = 0; s < B->nslices; s++) {
        ofs height = (ofs)(slice_end(A, B->slice, s) - s * B->slice);
        B->slice_ptr[s + 1] = B->slice_ptr[s] + B->slice_ptr[s + 1] * height;
    }
    return SPMV_OK;
}

/* Fills n rows from stored row i on, whose first slots begin at `at`, together, so that whole cache
 * lines are written. Padding has the row's last column: this needs no other cache line and brings
 * in no NaN or infinity of another x_j. Padding of an empty row has column 0. */
static int64_t fill_rows(const spmv_csr_view *A, int64_t i, int n, int64_t at, int64_t end,
                         int64_t height, sell *B) {
    const idx *cols[TOGETHER];
    const double *values[TOGETHER];
    idx length[TOGETHER], padding[TOGETHER];
    int64_t overflows = 0;
    for (int r = 0; r < n; r++) {
        int64_t row = B->perm ? B->perm[i + r] : i + r;
        cols[r] = A->col_idx + A->row_ptr[row];
        values[r] = A->values + A->row_ptr[row];
        B->row_len[i + r] = length[r] = (idx)row_length(A, row);
        padding[r] = length[r] ? cols[r][length[r] - 1] : 0;
    }
    for (idx k = 0; at < end; k++, at += height)
        for (int r = 0; r < n; r++) {
            bool is_entry = k < length[r];
            real value = is_entry ? (real)values[r][k] : 0;
            overflows += isinf(value) && !isinf(values[r][k]);
            B->values[at + r] = value;
            B->col_idx[at + r] = is_entry ? cols[r][k] : padding[r];
        }
    return overflows;
}

/* Uses the static partition of sell_slices, so that first touch places pages near their thread. */
static int64_t fill_slices(const spmv_csr_view *A, int threads, sell *B) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t s = 0; s < B->nslices; s++) {
        int64_t first = s * B->slice, height = slice_end(A, B->slice, s) - first;
        for (int64_t r = 0; r < height; r += TOGETHER) {
            int n = (int)(height - r < TOGETHER ? height - r : TOGETHER);
            overflows +=
                fill_rows(A, first + r, n, B->slice_ptr[s] + r, B->slice_ptr[s + 1], height, B);
        }
    }
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    int64_t sigma = c->value[SPMV_sigma];
    TRY(spmv_store_new(ctx, "sell", sizeof(sell), A, out));
    sell *B = (sell *)*out;
    B->slice = c->value[SPMV_slice];
    B->nslices = (A->rows + B->slice - 1) / B->slice;
    TRY(STORE_ARRAY(ctx, B, slice_ptr, B->nslices + 1));
    TRY(STORE_ARRAY(ctx, B, row_len, A->rows));
    if (sigma != 1) {
        TRY(STORE_ARRAY(ctx, B, perm, A->rows));
        if (!sort_rows(A, sigma, threads, B->perm))
            return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: sorting rows takes %.1f MB",
                             1e-6 * (double)A->rows * sizeof(idx));
    }
    TRY(place_slices(ctx, A, threads, B));
    TRY(STORE_ARRAY(ctx, B, col_idx, B->s.slots));
    TRY(STORE_ARRAY(ctx, B, values, B->s.slots));
    return spmv_fits(ctx, fill_slices(A, threads, B));
}

/* Writes the values of n rows; arguments as of fill_rows. */
static void refill_few(const spmv_csr_view *A, int64_t i, int n, int64_t at, int64_t end,
                       int64_t height, sell *B) {
    const double *values[TOGETHER];
    idx shortest = INT32_MAX;
    for (int r = 0; r < n; r++) {
        values[r] = A->values + A->row_ptr[B->perm ? B->perm[i + r] : i + r];
        shortest = B->row_len[i + r] < shortest ? B->row_len[i + r] : shortest;
    }
    put_side_by_side(values, n, shortest, height, B->values + at);
    at += shortest * height;
    for (idx k = shortest; at < end; k++, at += height)
        for (int r = 0; r < n; r++)
            if (k < B->row_len[i + r]) B->values[at + r] = (real)values[r][k];
}

static void refill_slice(const spmv_csr_view *A, int64_t s, sell *B) {
    const int64_t first = s * B->slice, height = slice_end(A, B->slice, s) - first;
    for (int64_t r = 0; r < height; r += TOGETHER) {
        const int n = (int)(height - r < TOGETHER ? height - r : TOGETHER);
        refill_few(A, first + r, n, B->slice_ptr[s] + r, B->slice_ptr[s + 1], height, B);
    }
}

static int64_t rows_together(const spmv_store *store) {
    const sell *B = (const sell *)store;
    return B->perm ? 0 : B->slice;
}

static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    sell *B = (sell *)store;
    for (int64_t s = first / B->slice; s * B->slice < end; s++) refill_slice(A, s, B);
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    sell *B = (sell *)store;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t s = 0; s < B->nslices; s++) refill_slice(A, s, B);
}

static int places(const spmv_store *store, spmv_places *out) {
    const sell *B = (const sell *)store;
    *out = (spmv_places){B->values, store->slots, sizeof(real), 0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const sell *A = (const sell *)store;
    for (int64_t i = 0, n = 0; i < store->rows; i++) {
        int64_t s = i / A->slice, first = s * A->slice;
        int64_t height = store->rows - first < A->slice ? store->rows - first : A->slice;
        for (int64_t k = 0; k < A->row_len[i]; k++, n++) {
            int64_t at = A->slice_ptr[s] + k * height + i - first;
            row[n] = (int32_t)spmv_stored_row(store, A->perm ? A->perm[i] : i);
            col[n] = A->col_idx[at];
            values[n] = (double)A->values[at];
        }
    }
}

/* Computes the padding of slices of 32 rows in the matrix's order. */
static void features(const spmv_sample *s, const double *sum, spmv_features *f) {
    (void)sum;
    f->padding_32 = s->entries ? (double)s->slots / (double)s->entries - 1 : 0;
}

static const spmv_param params[] = {{SPMV_slice, 32, 1, 1024, 1, false},
                                    {SPMV_sigma, 1, 0, INT32_MAX, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(sell_format) = {
    .name = "sell",
    .summary = "sliced ELLPACK: slices of rows, each padded to its longest, columns first; rows "
               "sorted inside windows",
    .params = params,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .places = places,
    .refill = refill,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
    .features = features,
};
