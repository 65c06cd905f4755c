/* row_order.c: orders of rows by keys. */
#include "ordering.h"
#include "spmv_helpers.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t hash_key_of(const spmv_csr_view *A, int64_t row) {
    const idx *col = A->col_idx + A->row_ptr[row];
    const int64_t length = A->row_ptr[row + 1] - A->row_ptr[row];
    const int64_t n = length < SPMV_ORDER_HASHED ? length : SPMV_ORDER_HASHED;
    uint32_t least[SPMV_ORDER_HASHES];
    for (int which = 0; which < SPMV_ORDER_HASHES; which++) {
        uint32_t of_all = UINT32_MAX;
        for (int64_t k = 0; k < n; k++) {
            const uint32_t h = spmv_hash_of_column(col[k], which);
            of_all = h < of_all ? h : of_all;
        }
        least[which] = of_all;
    }
    return spmv_hash_key(least);
}

static void sort_rows(const spmv_csr_view *A, spmv_row_order how, int threads, spmv_keys *keys) {
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t begin = A->row_ptr[i];
        keys->key[i] = how == SPMV_ROWS_HASH
                           ? hash_key_of(A, i)
                           : spmv_ends_key(A->col_idx + begin, A->row_ptr[i + 1] - begin);
        keys->number[i] = (idx)i;
    }
    spmv_keys_sort(keys, A->rows, threads);
}

/* Returns the first column of the window that begins with row order[first]; a window of fewer rows
 * or without entries comes last. */
static uint64_t window_key(const spmv_csr_view *A, const idx *order, int64_t first) {
    idx least = INT32_MAX;
    if (first + SPMV_ORDER_WINDOW > A->rows) return (uint64_t)least;
    for (int64_t i = first; i < first + SPMV_ORDER_WINDOW; i++) {
        const int64_t begin = A->row_ptr[order[i]], end = A->row_ptr[order[i] + 1];
        if (begin < end && A->col_idx[begin] < least) least = A->col_idx[begin];
    }
    return (uint64_t)least;
}

/* Sorts windows of rows in the order `from` by their first columns. */
static void sort_windows(const spmv_csr_view *A, const idx *from, int threads, spmv_keys *keys,
                         idx *out) {
    enum { WINDOW = SPMV_ORDER_WINDOW };
    const int64_t windows = (A->rows + WINDOW - 1) / WINDOW;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t w = 0; w < windows; w++) {
        keys->key[w] = window_key(A, from, w * WINDOW);
        keys->number[w] = (idx)w;
    }
    spmv_keys_sort(keys, windows, threads);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++)
        out[i] = from[(int64_t)keys->number[i / WINDOW] * WINDOW + i % WINDOW];
}

static spmv_status sort_by_hash(spmv_ctx *ctx, const spmv_csr_view *A, int threads, spmv_keys *keys,
                                idx *out) {
    const size_t bytes = (size_t)A->rows * sizeof *out;
    idx *by_hash = spmv_host_alloc(bytes);
    if (!by_hash)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: ordering rows takes %.1f MB",
                         1e-6 * (double)bytes);
    sort_rows(A, SPMV_ROWS_HASH, threads, keys);
    memcpy(by_hash, keys->number, bytes);
    sort_windows(A, by_hash, threads, keys, out);
    spmv_host_free(by_hash);
    return SPMV_OK;
}

static void keep_rows(int64_t rows, int threads, idx *out) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows; i++) out[i] = (idx)i;
}

spmv_status spmv_order_rows(spmv_ctx *ctx, const spmv_csr_view *A, spmv_row_order how, int threads,
                            idx *out) {
    spmv_keys keys;
    if (A->rows == 0) return SPMV_OK;
    if (how == SPMV_ROWS_RCM) return spmv_order_rcm(ctx, A, threads, out);
    if (how == SPMV_ROWS_KEEP) {
        keep_rows(A->rows, threads, out);
        return SPMV_OK;
    }
    TRY(spmv_keys_take(ctx, A->rows, threads, &keys));
    spmv_status status = SPMV_OK;
    if (how == SPMV_ROWS_HASH) {
        status = sort_by_hash(ctx, A, threads, &keys, out);
    } else {
        sort_rows(A, how, threads, &keys);
        memcpy(out, keys.number, (size_t)A->rows * sizeof *out);
    }
    spmv_keys_free(&keys);
    return status;
}
