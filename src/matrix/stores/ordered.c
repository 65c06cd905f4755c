/* ordered.c: compressed rows of a matrix in another order. A format that builds a store of them
 * needs not know: the store has the order as an array more, which its kernel reads. */
#include "ordered.h"
#include "host/context.h"
#include "host/host.h"

spmv_status spmv_ordered_take(spmv_ctx *ctx, const spmv_csr_view *A, spmv_ordered *out) {
    const size_t rows = (size_t)A->rows, nnz = (size_t)A->nnz;
    *out = (spmv_ordered){.row_ptr = spmv_host_take(ctx, (rows + 1) * sizeof *out->row_ptr),
                          .col_idx = spmv_host_take(ctx, nnz * sizeof *out->col_idx),
                          .values = spmv_host_take(ctx, nnz * sizeof *out->values)};
    if (out->row_ptr && out->col_idx && out->values) return SPMV_OK;
    spmv_ordered_free(ctx, out);
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: rows in another order take %.1f MB",
                     1e-6 * (12.0 * (double)nnz + 8.0 * (double)rows));
}

void spmv_ordered_free(spmv_ctx *ctx, spmv_ordered *rows) {
    spmv_host_give(ctx, rows->row_ptr);
    spmv_host_give(ctx, rows->col_idx);
    spmv_host_give(ctx, rows->values);
    spmv_host_give(ctx, rows->order);
    *rows = (spmv_ordered){.row_ptr = NULL};
}

static void place_rows(const spmv_csr_view *A, const int32_t *order, int64_t *row_ptr) {
    row_ptr[0] = 0;
    for (int64_t i = 0; i < A->rows; i++)
        row_ptr[i + 1] = row_ptr[i] + A->row_ptr[order[i] + 1] - A->row_ptr[order[i]];
}

void spmv_ordered_fill(const spmv_csr_view *A, const int32_t *order, int threads,
                       spmv_ordered *out) {
    enum { AHEAD = 8 }; /* rows */
    place_rows(A, order, out->row_ptr);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t from = A->row_ptr[order[i]], to = out->row_ptr[i];
        const size_t n = (size_t)(out->row_ptr[i + 1] - to);
        if (i + AHEAD < A->rows) {
            const int64_t next = A->row_ptr[order[i + AHEAD]];
            __builtin_prefetch(A->col_idx + next);
            __builtin_prefetch(A->values + next);
        }
        if (n == 0) continue;
        memcpy(out->col_idx + to, A->col_idx + from, n * sizeof *out->col_idx);
        memcpy(out->values + to, A->values + from, n * sizeof *out->values);
    }
}

spmv_csr_view spmv_ordered_view(const spmv_csr_view *A, const spmv_ordered *rows) {
    spmv_csr_view view = *A;
    view.row_ptr = rows->row_ptr, view.col_idx = rows->col_idx, view.values = rows->values;
    return view;
}

spmv_status spmv_ordered_make(const spmv_plan *plan, spmv_ordered *out) {
    spmv_mat *mat = plan->matrix;
    const spmv_row_order how = spmv_order_in(&plan->choice);
    *out = (spmv_ordered){.row_ptr = NULL};
    TRY(spmv_mat_bring(mat));
    const spmv_csr_view A = spmv_rows_with(mat, mat->csr.values);
    const int threads = spmv_threads_for(mat->ctx, A.nnz + A.rows);
    int32_t *order = spmv_host_take(mat->ctx, (size_t)A.rows * sizeof *order);
    spmv_status status = order ? spmv_order_rows(mat->ctx, &A, how, threads, order)
                               : spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory: ordering rows");
    if (status == SPMV_OK) status = spmv_ordered_take(mat->ctx, &A, out);
    if (status == SPMV_OK) spmv_ordered_fill(&A, order, threads, out);
    if (status == SPMV_OK)
        out->order = order;
    else
        spmv_host_give(mat->ctx, order);
    return status;
}

/* A store in host memory owns then what it has borrowed of these rows. */
static void own_arrays(spmv_ordered *rows, spmv_store *store) {
    void **const arrays[] = {(void **)&rows->row_ptr, (void **)&rows->col_idx,
                             (void **)&rows->values};
    for (int k = 0; k < store->narrays; k++)
        for (int a = 0; a < 3; a++)
            if (store->array[k].borrowed && spmv_store_at(store, k) == *arrays[a]) {
                store->array[k].borrowed = false;
                *arrays[a] = NULL;
            }
}

static void list_order(spmv_store *store, size_t bytes) {
    store->array[store->narrays++] =
        (spmv_array){.offset = offsetof(spmv_store, order), .bytes = bytes};
}

spmv_status spmv_ordered_keep(const spmv_plan *plan, spmv_ordered *rows, spmv_stored *stored) {
    const size_t bytes = (size_t)stored->host->rows * sizeof *rows->order;
    spmv_device *device = plan->device;
    void *there = NULL;
    if (!stored->only_on_device) {
        own_arrays(rows, stored->host);
        stored->host->order = rows->order;
        list_order(stored->host, bytes);
        rows->order = NULL;
        return SPMV_OK;
    }
    TRY(device->backend->alloc(device, bytes, &there));
    stored->copy->order = there;
    list_order(stored->copy, bytes);
    list_order(stored->host, bytes);
    stored->order = rows->order;
    rows->order = NULL;
    return device->backend->put(device, there, stored->order, bytes);
}
