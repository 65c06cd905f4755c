/* cusparse_coo_alg2: cuSPARSE on coordinates, its deterministic algorithm: a peer.
 *
 * Source   NVIDIA cuSPARSE, generic API: cusparseSpMV_preprocess, cusparseSpMV,
 *          CUSPARSE_SPMV_COO_ALG2.
 * Reads    csr: col_idx[nnz], values[nnz]; row_idx[nnz], computed from row_ptr on the device during
 *          preparation; the library's buffer; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library.
 * Cost     2 nnz flop; nnz (sizeof real + 8) + (cols + rows) sizeof real bytes if x is read once.
 * Weak     refuses a matrix without nonzeros.
 * Repeats  bitwise: yes, as documented.
 * Params   cusparse: version of the library (toolkit).
 */
#include "cusparse_coo.cuh"

CUSPARSE_KERNEL(cusparse_coo_alg2, "csr", "peer: cuSPARSE, COO_ALG2 with preprocess",
                SPMV_DETERMINISTIC, CUSPARSE_TOOLKIT, estimate_coo, describe_coo,
                preprocess<CUSPARSE_SPMV_COO_ALG2>, run_peer<CUSPARSE_SPMV_COO_ALG2>);
