/* cusparse_sell: cuSPARSE on a sliced ELL matrix in its own layout: a peer to compare with.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_SELL_ALG1.
 * Reads    slice_ptr[slices + 1], col_idx and values [slots] of the sell store, laid out anew;
 *          x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library. It wants the last slice as high as the others and -1 for the
 *          columns of padding; preparation is charged for making that of the sell store's slices.
 * Cost     2 nnz flop; slots (sizeof real + 4) + (slices + 1) sizeof ofs + (cols + rows) sizeof
 *          real bytes if x is read once.
 * Weak     a long row pads its slice; rows are not sorted: sigma must be 1; 32-bit offsets only.
 * Repeats  bitwise: not relied upon.
 * Params   none of its own; slice (32) and sigma (1) of the format.
 */
#include "cusparse.cuh"
#include "formats/sell/sell.h"

#ifdef HAVE_CUSPARSE
/* The last slice is as high as the others. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t slice = c->value[SPMV_slice], slots = 0;
    for (int64_t first = 0; first < A->rows; first += slice) {
        int64_t end = first + slice < A->rows ? first + slice : A->rows, width = 0;
        for (int64_t i = first; i < end; i++)
            if (A->row_ptr[i + 1] - A->row_ptr[i] > width)
                width = A->row_ptr[i + 1] - A->row_ptr[i];
        slots += width * slice;
    }
    size_t fixed = sizeof(peer) + (size_t)(A->rows / slice + 2) * sizeof(ofs);
    size_t slot = sizeof(idx) + sizeof(real); /* slots fit: rows and widths are 32-bit */
    return (size_t)slots > (SIZE_MAX - fixed) / slot ? SIZE_MAX : fixed + (size_t)slots * slot;
}

static int64_t height_of(const sell *A, int64_t s) {
    return (s + 1) * A->slice < A->s.rows ? A->slice : A->s.rows - s * A->slice;
}

/* Slice s of our layout into cuSPARSE's, which begins at the same place: only the last slice is
 * higher there. */
static void lay_out(const sell *A, int64_t s, idx *col_idx, real *values) {
    int64_t height = height_of(A, s), begin = A->slice_ptr[s];
    int64_t width = height ? (A->slice_ptr[s + 1] - begin) / height : 0;
    for (int64_t k = 0; k < width; k++)
        for (int64_t r = 0; r < A->slice; r++) {
            bool is_entry = r < height && k < A->row_len[s * A->slice + r];
            int64_t from = begin + k * height + r, to = begin + k * A->slice + r;
            col_idx[to] = is_entry ? A->col_idx[from] : -1;
            values[to] = is_entry ? A->values[from] : 0;
        }
}

typedef struct layout { /* in host memory */
    ofs *slice_ptr;
    idx *col_idx;
    real *values;
} layout;

static spmv_status fill_layout(spmv_plan *p, const sell *A, int64_t slots, layout *out) {
    out->slice_ptr = (ofs *)spmv_host_alloc((size_t)(A->nslices + 1) * sizeof(ofs));
    out->col_idx = (idx *)spmv_host_alloc((size_t)slots * sizeof(idx));
    out->values = (real *)spmv_host_alloc((size_t)slots * sizeof(real));
    if (!out->slice_ptr || !out->col_idx || !out->values)
        return spmv_fail(p->device->ctx, SPMV_E_NOMEM,
                         "out of host memory for cuSPARSE's layout of the slices");
    memcpy(out->slice_ptr, A->slice_ptr, (size_t)(A->nslices + 1) * sizeof(ofs));
    out->slice_ptr[A->nslices] = (ofs)slots;
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t s = 0; s < A->nslices; s++) lay_out(A, s, out->col_idx, out->values);
    return SPMV_OK;
}

static spmv_status put_layout(spmv_plan *p, const sell *A, int64_t slots, const layout *from,
                              peer *t) {
    size_t ptr_bytes = (size_t)(A->nslices + 1) * sizeof(ofs);
    TRY(put_scratch(p, from->slice_ptr, ptr_bytes, (void **)&t->ptr));
    TRY(put_scratch(p, from->col_idx, (size_t)slots * sizeof(idx), (void **)&t->col_idx));
    TRY(put_scratch(p, from->values, (size_t)slots * sizeof(real), (void **)&t->values));
    p->traffic_bytes = p->scratch_bytes;
    return SPMV_OK;
}

static spmv_status describe_sell(spmv_plan *p, peer *t) {
    const sell *A = (const sell *)p->host;
    layout of = {NULL, NULL, NULL};
    TRY(check_offsets(p));
    if (A->perm)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "cusparse_sell: cuSPARSE leaves the rows in their order: --sigma=1");
    int64_t last = A->nslices - 1, height = height_of(A, last);
    int64_t width = (A->slice_ptr[last + 1] - A->slice_ptr[last]) / height;
    int64_t slots = A->slice_ptr[last] + width * A->slice;
    if (slots > INT32_MAX)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "cusparse_sell: %lld slots, padding included, need 64-bit offsets",
                         (long long)slots);
    spmv_status status = fill_layout(p, A, slots, &of);
    if (status == SPMV_OK) status = put_layout(p, A, slots, &of, t);
    spmv_host_free(of.slice_ptr);
    spmv_host_free(of.col_idx);
    spmv_host_free(of.values);
    TRY(status);
    CUSPARSE(p, cusparseCreateConstSlicedEll(&t->matrix, A->s.rows, A->s.cols, A->s.nnz, slots,
                                             A->slice, t->ptr, t->col_idx, t->values,
                                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                             CUSPARSE_INDEX_BASE_ZERO, real_type));
    return SPMV_OK;
}
#endif

CUSPARSE_KERNEL(cusparse_sell, "sell", "peer: cuSPARSE, sliced ELL with preprocess",
                SPMV_PADS | SPMV_OWN_COPY, estimate, describe_sell, CUSPARSE_SPMV_SELL_ALG1);
