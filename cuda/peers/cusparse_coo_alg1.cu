/* cusparse_coo_alg1: cuSPARSE on coordinates, its default algorithm: a peer.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_COO_ALG1.
 * Reads    csr: col_idx[nnz], values[nnz]; row_idx[nnz], computed from row_ptr on the device during
 *          preparation; the library's buffer; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; nnz (sizeof real + 8) + (cols + rows) sizeof real bytes if x is read once.
 * Weak     refuses a matrix without nonzeros.
 * Repeats  bitwise: not guaranteed for this algorithm.
 * Params   cusparse: version of the library (toolkit).
 */
#include "cusparse_coo.cuh"

CUSPARSE_KERNEL(cusparse_coo_alg1, "csr", "peer: cuSPARSE, COO_ALG1 with preprocess", 0,
                CUSPARSE_TOOLKIT, estimate_coo, describe_coo, preprocess<CUSPARSE_SPMV_COO_ALG1>,
                run_peer<CUSPARSE_SPMV_COO_ALG1>);
