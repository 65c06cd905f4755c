/* cusparse_spmvop_alg2: cuSPARSE's SpMVOp on this project's CSR matrix: a peer.
 *
 * Source   NVIDIA cuSPARSE 12.9.4, experimental API: cusparseSpMVOp_bufferSize, _createDescr,
 *          _createPlan without code of the caller's, cusparseSpMVOp; CUSPARSE_SPMVOP_ALG2.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; the library's buffer; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library, which links its code for the plan (nvJitLink).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     needs the one release whose interface is known here; 32-bit offsets only; refuses a
 *          matrix without nonzeros; needs a finite x: infinite sums become NaN (seen on an H200).
 * Repeats  bitwise: not guaranteed.
 * Params   cusparse: version of the library (fetched: the toolkit's may have no SpMVOp).
 */
#include "cusparse.cuh"

CUSPARSE_KERNEL(cusparse_spmvop_alg2, "csr", "peer: cuSPARSE, SpMVOp ALG2, planned for the matrix",
                SPMV_PADS | SPMV_KEEPS_VALUES, CUSPARSE_FETCHED, NULL, describe_csr,
                plan_spmvop<SPMVOP_ALG2>, run_spmvop);
