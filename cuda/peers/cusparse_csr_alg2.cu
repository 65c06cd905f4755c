/* cusparse_csr_alg2: cuSPARSE on this project's CSR matrix, its deterministic algorithm: a peer.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_CSR_ALG2.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; the library's buffer; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     32-bit offsets only, because the library requires offsets as wide as columns; refuses a
 *          matrix without nonzeros.
 * Repeats  bitwise: yes, as documented.
 * Params   cusparse: version of the library (toolkit).
 */
#include "cusparse.cuh"

CUSPARSE_KERNEL(cusparse_csr_alg2, "csr", "peer: cuSPARSE, CSR_ALG2 with preprocess",
                SPMV_DETERMINISTIC, CUSPARSE_TOOLKIT, NULL, describe_csr,
                preprocess<CUSPARSE_SPMV_CSR_ALG2>, run_peer<CUSPARSE_SPMV_CSR_ALG2>);
