/* librsb_tuned: librsb's recursive sparse blocks, autotuned once: a peer.
 *
 * Source   Martone, librsb 1.3, rsb_mtx_alloc_from_csr_const, rsb_tune_spmm, rsb_spmv, rsb_spmm for
 *          several vectors in either layout. By the transpose: the same blocks with the library's
 *          transposed operation.
 * Reads    librsb's own copy of the csr matrix; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library: a quadtree of COO and CSR blocks, distributed over the plan's
 *          threads.
 * Cost     2 nnz flop; the bytes of its blocks, as librsb reports them.
 * Weak     32-bit offsets only; tuning takes tens to hundreds of products, at most a second.
 * Repeats  bitwise: not guaranteed, because blocks of a row end in any order.
 * Params   none.
 */
#include "omp/kernel.h"

#ifdef HAVE_LIBRSB
#include "librsb.h"

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->host;
    TRY(check_librsb(p));
    return make_matrix(p, A->row_ptr, A->col_idx, A->values, RSB_FLAG_NOFLAGS);
}
#define HOOKS \
    .prepare = prepare, .run = multiply, .run_columns = multiply_many, .run_rows = multiply_many, \
    .release = release, .library = library
#else
#define HOOKS .absent = "librsb: make deps-peers (Debian: librsb-dev), then make again"
#endif

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(librsb_tuned) = {
    .name = "librsb_tuned",
    .format = "csr",
    .summary = "peer: librsb's recursive sparse blocks, autotuned once",
    .params = params,
    .traits = SPMV_PEER | SPMV_KEEPS_VALUES | SPMV_TRANSPOSES,
    HOOKS,
};
