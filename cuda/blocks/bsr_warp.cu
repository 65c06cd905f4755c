/* bsr_warp: one warp multiplies one block row of a BSR matrix.
 *
 * Source   Eberhardt and Hoemmen, "Optimization of Block Sparse Matrix-Vector Multiplication on
 *          Shared-Memory Parallel Architectures", IPDPSW 2016: one lane per row of a block.
 * Reads    bsr: block_ptr[block rows + 1], first_col[blocks], values[blocks x r x c]; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the first r lanes of the block row's warp.
 * Work     32 / r groups of r lanes: group g multiplies blocks block_ptr[b] + g, + 32 / r, ...;
 *          lane i of a group multiplies row i of the block, c adjacent values, with c known at
 *          compile time. Up to 5 shuffles then add the groups' sums.
 * Cost     2 nnz flop; blocks (r c sizeof real + 4) + (block rows + 1) sizeof ofs + (cols + rows)
 *          sizeof real bytes.
 * Weak     block rows of fewer than 32 / r blocks leave lanes idle; 2 to 4 lanes are idle if r does
 *          not divide 32. Padding is read but not multiplied: x may be infinite.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, 32 R (32x8).
 */
#include "cuda/cache_policy.cuh"
#include "formats/bsr/bsr.h"

template <int COLS>
static __global__ void multiply(unsigned rows, unsigned block_rows, unsigned shape_rows,
                                const ofs *__restrict__ block_ptr,
                                const idx *__restrict__ first_col, const real *__restrict__ values,
                                const real *__restrict__ x, cache_policy policy, result out) {
    unsigned lane = threadIdx.x, b = blockIdx.x * blockDim.y + threadIdx.y;
    if (b >= block_rows) return; /* the whole warp returns: it shares threadIdx.y */
    unsigned groups = WARP / shape_rows, group = lane / shape_rows, r = lane - group * shape_rows;
    int64_t k = block_ptr[b], end = block_ptr[b + 1];
    real sum = 0;
    for (k += group; k < end && group < groups; k += groups) {
        const real *value = values + (k * shape_rows + r) * COLS;
        const real *from = x + load_once(&first_col[k], policy);
        real a[COLS], xj[COLS];
#pragma unroll
        for (int c = 0; c < COLS; c++) a[c] = load_once(&value[c], policy), xj[c] = from[c];
#pragma unroll
        for (int c = 0; c < COLS; c++) sum = is_padding(a[c]) ? sum : sum + a[c] * xj[c];
    }
    /* Lanes behind the last group have the sum 0; no sum is taken from beyond the end of the
     * warp. */
    for (unsigned step = WARP / 2; step > 0; step /= 2) {
        unsigned from = lane + step * shape_rows;
        real other = __shfl_sync(0xffffffffu, sum, (int)(from % WARP));
        if (from < WARP) sum += other;
    }
    unsigned row = b * shape_rows + lane;
    if (lane < shape_rows && row < rows) put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    static decltype(&multiply<1>)
        const by_cols[] = {multiply<1>, multiply<2>, multiply<3>, multiply<4>,
                           multiply<5>, multiply<6>, multiply<7>, multiply<8>};
    const bsr *A = (const bsr *)p->store;
    int warps = (int)p->choice.value[SPMV_block] / WARP;
    if (A->s.rows == 0) return SPMV_OK;
    auto kernel = by_cols[A->shape_cols - 1];
    unsigned grid = (unsigned)blocks_for(A->block_rows, warps);
    kernel<<<grid, dim3(WARP, warps), 0, stream_of(v)>>>(
        (unsigned)A->s.rows, (unsigned)A->block_rows, (unsigned)A->shape_rows, A->block_ptr,
        A->first_col, A->values, (const real *)v->x, policy_for(p), result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_WARP, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(bsr_warp) = {
    .name = "bsr_warp",
    .format = "bsr",
    .summary = "one warp per block row, one lane per row of a block",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_WARP_ROW,
    .run = run,
};
