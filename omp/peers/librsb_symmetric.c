/* librsb_symmetric: librsb's recursive sparse blocks of the lower half of a symmetric matrix,
 * autotuned once: a peer.
 *
 * Source   Martone, librsb 1.3, rsb_mtx_alloc_from_csr_const with RSB_FLAG_LOWER_SYMMETRIC,
 *          rsb_tune_spmm, rsb_spmv, rsb_spmm for several vectors in either layout.
 * Reads    librsb's own copy of the entries on and below the diagonal; x[cols]; y[rows] only if
 *          beta != 0.
 * Writes   y[rows].
 * Work     that of the library: each entry of a block is used twice; blocks are distributed over
 *          the plan's threads.
 * Cost     2 nnz flop; the bytes of its blocks, as librsb reports them.
 * Weak     as librsb_tuned; refuses skew-symmetric matrices, for which librsb has no flag.
 * Repeats  bitwise: not guaranteed, because blocks of a row end in any order.
 * Params   none.
 */
#include "omp/kernel.h"

#ifdef HAVE_LIBRSB
#include "formats/symmetry.h"
#include "librsb.h"

typedef struct half { /* entries on and below the diagonal, until librsb has copied them */
    ofs *row_ptr;
    idx *col_idx;
    real *values;
} half;

static void half_free(half *h) {
    spmv_host_free(h->row_ptr);
    spmv_host_free(h->col_idx);
    spmv_host_free(h->values);
}

/* Counts the entries of each row; h->row_ptr is allocated, the other arrays are not. */
static void count_half(const spmv_csr_view *view, int threads, half *h) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < view->rows; i++) h->row_ptr[i + 1] = (ofs)count_row(view, i);
    h->row_ptr[0] = 0;
    for (int64_t i = 0; i < view->rows; i++) h->row_ptr[i + 1] += h->row_ptr[i];
}

static spmv_status take_half(const spmv_plan *p, const spmv_csr_view *view, half *h) {
    const csr *A = (const csr *)p->host;
    h->row_ptr = spmv_host_alloc((size_t)(A->s.rows + 1) * sizeof(ofs));
    if (!h->row_ptr) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    count_half(view, p->device->threads, h);
    const size_t entries = (size_t)h->row_ptr[A->s.rows];
    h->col_idx = spmv_host_alloc(entries * sizeof(idx));
    h->values = spmv_host_alloc(entries * sizeof(real));
    if (!h->col_idx || !h->values) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++) {
        const size_t count = (size_t)(h->row_ptr[i + 1] - h->row_ptr[i]);
        memcpy(h->col_idx + h->row_ptr[i], A->col_idx + A->row_ptr[i], count * sizeof(idx));
        memcpy(h->values + h->row_ptr[i], A->values + A->row_ptr[i], count * sizeof(real));
    }
    return SPMV_OK;
}

static spmv_status prepare(spmv_plan *p) {
    spmv_csr_view view = SPMV_OPTS(spmv_csr_view);
    half h = {.row_ptr = NULL};
    int sign = 0;
    TRY(check_librsb(p));
    TRY(spmv_mat_rows(p->matrix, &view));
    TRY(check_symmetry(p->device->ctx, &view, p->device->threads, &sign));
    if (sign < 0)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "librsb_symmetric: librsb has no skew-symmetric matrices");
    spmv_status status = take_half(p, &view, &h);
    if (status == SPMV_OK)
        status = make_matrix(p, h.row_ptr, h.col_idx, h.values, RSB_FLAG_LOWER_SYMMETRIC);
    half_free(&h);
    return status;
}
#define HOOKS \
    .prepare = prepare, .run = multiply, .run_columns = multiply_many, .run_rows = multiply_many, \
    .release = release, .library = library
#else
#define HOOKS .absent = "librsb: make deps-peers (Debian: librsb-dev), then make again"
#endif

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(librsb_symmetric) = {
    .name = "librsb_symmetric",
    .format = "csr",
    .summary = "peer: librsb's recursive sparse blocks of the lower half, autotuned once",
    .params = params,
    .traits = SPMV_PEER | SPMV_NEEDS_SYMMETRY | SPMV_KEEPS_VALUES | SPMV_TRANSPOSES,
    HOOKS,
};
