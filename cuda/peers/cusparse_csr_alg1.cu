/* cusparse_csr_alg1: cuSPARSE on this project's CSR matrix, its default algorithm: a peer to
 * compare with.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_CSR_ALG1.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz];
 *          the library's buffer; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     32-bit offsets only: it wants them as wide as the columns; a matrix without nonzeros is
 *          not given to it.
 * Repeats  bitwise: not guaranteed for this algorithm.
 * Params   cusparse: which version of the library (toolkit).
 */
#include "cusparse.cuh"

CUSPARSE_KERNEL(cusparse_csr_alg1, "csr", "peer: cuSPARSE, CSR_ALG1 with preprocess", 0,
                CUSPARSE_TOOLKIT, NULL, describe_csr, preprocess<CUSPARSE_SPMV_CSR_ALG1>,
                run_peer<CUSPARSE_SPMV_CSR_ALG1>);
