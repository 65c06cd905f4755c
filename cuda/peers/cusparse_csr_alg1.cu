/* cusparse_csr_alg1: cuSPARSE on this project's CSR matrix, its default algorithm: a peer.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_CSR_ALG1; of several vectors cusparseSpMM_preprocess, cusparseSpMM,
 *          CUSPARSE_SPMM_CSR_ALG1 to 3. By the transpose: the same rows with the library's
 *          transposed operation.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; the library's buffer; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     32-bit offsets only, because the library requires offsets as wide as columns; refuses a
 *          matrix without nonzeros; more than 256 vectors are multiplied in shares.
 * Repeats  bitwise: not guaranteed for this algorithm.
 * Params   cusparse: version of the library (toolkit); spmm: the algorithm for several vectors,
 *          auto: 1 in columns, 2 in rows.
 */
#include "cusparse.cuh"

static const spmv_param params[] = {
    PARAM_CUSPARSE(CUSPARSE_TOOLKIT), {SPMV_spmm, 0, 0, 3, 1, false}, SPMV_NO_MORE_PARAMS};
CUSPARSE_PARAMS_KERNEL(cusparse_csr_alg1, "csr", "peer: cuSPARSE, CSR_ALG1 with preprocess",
                       SPMV_TRANSPOSES, params, NULL, describe_csr,
                       preprocess_all<CUSPARSE_SPMV_CSR_ALG1>, run_peer<CUSPARSE_SPMV_CSR_ALG1>,
                       run_several);
