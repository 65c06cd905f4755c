/* coo_segments: COO sorted by row, with an equal part of the nonzeros per thread.
 *
 * Source   Bell and Garland, SC'09, "COO": a segmented reduction, here over blocks; the sums that
 *          blocks leave open are added by a second kernel instead of by atomics.
 * Reads    coo: row_idx, col_idx, values [nnz]; x[cols]; y[rows].
 * Writes   y[rows]: beta y or 0 first; then each nonempty row once, by the block in which it ends;
 *          carry[blocks]; then once more the rows that began in an earlier block.
 * Work     7 nonzeros per thread, through shared memory; a scan over the block combines the
 *          threads' sums of a row; a warp for each row that blocks share.
 * Cost     2 nnz flop; nnz (sizeof real + 8) + (cols + 3 rows) sizeof real bytes if x is read once.
 * Weak     4 more bytes per nonzero than CSR; y is written and read again between the kernels.
 * Repeats  bitwise: yes, for an equal block.
 * Params   block: threads per block, a multiple of 32 up to 512 (256).
 */
#include "coo.cuh"
#include "formats/coo/coo.h"

enum { SCALING_THREADS = 256 };

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return parts_bytes(A->nnz, c);
}

static spmv_status prepare(spmv_plan *p) {
    p->traffic_bytes += 2 * (size_t)p->host->rows * sizeof(real); /* y is read and written again */
    return parts_make(p, p->host->nnz, ((const sorted_coo *)p->store)->row_idx);
}

static __global__ void scale(int64_t rows, result out) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) put_row(out, row, 0);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const sorted_coo *A = (const sorted_coo *)p->store;
    if (A->s.rows == 0) return SPMV_OK;
    scale<<<(unsigned)blocks_for(A->s.rows, SCALING_THREADS), SCALING_THREADS, 0, stream_of(v)>>>(
        A->s.rows, result_of(v));
    TRY(launched(p));
    return parts_add(p, A->row_idx, A->col_idx, A->values, v);
}

static const spmv_param params[] = {PARAM_BLOCK_CUT, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(coo_segments) = {
    .name = "coo_segments",
    .format = "coo",
    .summary = "equal parts of entries, rows put together by a segmented scan",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = parts_release,
};
