/* mkl_csr_plain: oneMKL on this project's CSR matrix in place, without its inspector: a peer.
 *
 * Source   Intel oneMKL, "Inspector-executor Sparse BLAS": create_csr, mv, mm for several vectors
 *          in either layout. By the transpose: the same rows with the library's transposed
 *          operation.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library, with the plan's threads.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     as mkl_csr; nothing is known of the matrix when a product begins. By the transpose 16
 *          vectors in rows take five times as long as 16 single products.
 * Repeats  bitwise: not guaranteed.
 * Params   none.
 */
#include "omp/kernel.h"

#ifdef HAVE_MKL
#include "onemkl.h"

#define HOOKS \
    .prepare = create_matrix, .run = multiply, .run_columns = multiply_many, \
    .run_rows = multiply_many, .release = release, .library = library
#else
#define HOOKS .absent = "oneMKL: make deps-peers (or set MKLROOT), then make again"
#endif

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(mkl_csr_plain) = {
    .name = "mkl_csr_plain",
    .format = "csr",
    .summary = "peer: oneMKL on CSR as it is, without its inspector",
    .params = params,
    .traits = SPMV_PEER | SPMV_KEEPS_VALUES | SPMV_TRANSPOSES,
    HOOKS,
};
