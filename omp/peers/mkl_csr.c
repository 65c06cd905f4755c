/* mkl_csr: oneMKL's inspector-executor on this project's CSR matrix: a peer.
 *
 * Source   Intel oneMKL, "Inspector-executor Sparse BLAS": create_csr, set_mv_hint or set_mm_hint,
 *          optimize, mv, mm for several vectors in either layout. By the transpose: the same rows
 *          with the library's transposed operation.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz], or what optimize made of them;
 *          x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library, with a hint of 1000 products and the plan's threads.
 * Cost     2 nnz flop; the bytes of CSR; what optimize copies is unknown.
 * Weak     32-bit offsets only: the 64-bit interface needs 64-bit columns, too, which would be a
 *          second matrix; refuses a matrix without nonzeros.
 * Repeats  bitwise: not guaranteed.
 * Params   none.
 */
#include "omp/kernel.h"

#ifdef HAVE_MKL
#include "onemkl.h"

static spmv_status prepare(spmv_plan *p) {
    TRY(create_matrix(p));
    team before = take_team(p);
    sparse_status_t status = give_hint(p);
    if (status == SPARSE_STATUS_SUCCESS) status = mkl_sparse_optimize(p->scratch);
    restore_team(before);
    return mkl_status(p, status, "mkl_sparse_optimize");
}

#define HOOKS \
    .prepare = prepare, .run = multiply, .run_columns = multiply_many, .run_rows = multiply_many, \
    .release = release, .library = library
#else
#define HOOKS .absent = "oneMKL: make deps-peers (or set MKLROOT), then make again"
#endif

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(mkl_csr) = {
    .name = "mkl_csr",
    .format = "csr",
    .summary = "peer: oneMKL's inspector-executor, told to expect 1000 products",
    .params = params,
    .traits = SPMV_PEER | SPMV_KEEPS_VALUES | SPMV_TRANSPOSES,
    HOOKS,
};
