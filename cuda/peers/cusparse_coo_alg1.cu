/* cusparse_coo_alg1: cuSPARSE on this project's COO matrix, its default algorithm: a peer to
 * compare with.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_COO_ALG1.
 * Reads    coo: row_idx[nnz], col_idx[nnz], values[nnz];
 *          the library's buffer; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; nnz (sizeof real + 8) + (cols + rows) sizeof real bytes if x is read once.
 * Weak     a matrix without nonzeros is not given to it.
 * Repeats  bitwise: not guaranteed for this algorithm.
 * Params   none.
 */
#include "cusparse.cuh"

CUSPARSE_KERNEL(cusparse_coo_alg1, "coo", "peer: cuSPARSE, COO_ALG1 with preprocess", 0, NULL,
                describe_coo, CUSPARSE_SPMV_COO_ALG1);
