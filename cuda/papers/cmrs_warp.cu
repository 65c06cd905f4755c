/* cmrs_warp: CMRS with one warp per strip.
 *
 * Source   Koza, Matyka, Szkoda, Miroslaw, Compressed Multiple-Row Storage Format, Algorithm 1,
 *          with registers and shuffles for its buffer in shared memory.
 * Reads    cmrs: strip_ptr[strips + 1], packed[nnz], values[nnz]; x[cols]; y[rows] only if beta !=
 *          0.
 * Writes   y[rows], each element once: row r of the strip by lane r of the strip's warp.
 * Work     blocks are 32 x R: lane = threadIdx.x, strip = blockIdx.x R + threadIdx.y; lane l
 *          multiplies nonzeros strip_ptr[s] + l, + 32, ... with a sum for each row of the strip;
 *          the sums of a height of 1, 2, 4, 8, 16 are reduced in 5, 5, 6, 9, 16 shuffles.
 * Cost     2 nnz flop (an entry costs height predicated instructions); nnz (sizeof real + 4) +
 *          (strips + 1) sizeof ofs + (cols + rows) sizeof real bytes if x is read once.
 * Weak     strips of fewer than 32 nonzeros idle lanes; one very long row serializes its warp.
 * Repeats  bitwise: yes.
 * Params   height, sorted: the format's; block: threads per block, 32 R (32x8).
 */
#include "cuda/device.cuh"
#include "formats/papers/cmrs/cmrs.h"

/* Step of a reduction: lanes that are HALF apart exchange half of their 2 HALF sums, and each adds
 * what it receives to the half that it keeps. */
template <int HALF> static __device__ __forceinline__ void share(real *sum, int lane) {
    bool keeps_upper = lane & HALF;
#pragma unroll
    for (int r = 0; r < HALF; r++) {
        real lower = sum[r], upper = sum[r + HALF];
        real given = keeps_upper ? lower : upper, kept = keeps_upper ? upper : lower;
        sum[r] = kept + __shfl_xor_sync(0xffffffffu, given, HALF);
    }
}

/* Reduces the sums of all lanes so that lane r has the sum of row r. Every lane must call. */
template <int HEIGHT> static __device__ __forceinline__ real sum_of_row(real *sum, int lane) {
    if (HEIGHT >= 16) share<8>(sum, lane);
    if (HEIGHT >= 8) share<4>(sum, lane);
    if (HEIGHT >= 4) share<2>(sum, lane);
    if (HEIGHT >= 2) share<1>(sum, lane);
    real total = sum[0];
#pragma unroll
    for (int step = WARP / 2; step >= HEIGHT; step /= 2)
        total += __shfl_down_sync(0xffffffffu, total, step);
    return total;
}

/* Limits registers so that the largest block can run. For 16 sums the bound of one block per
 * multiprocessor prevents ptxas from spilling in order to fit two; 0 leaves the choice to ptxas. */
template <int HEIGHT>
static __global__ void __launch_bounds__(1024, HEIGHT < 16 ? 0 : 1)
    multiply(unsigned rows, unsigned strips, const ofs *__restrict__ strip_ptr,
             const uint32_t *__restrict__ packed, const real *__restrict__ values,
             const real *__restrict__ x, result out) {
    int lane = threadIdx.x;
    unsigned strip = blockIdx.x * blockDim.y + threadIdx.y;
    if (strip >= strips) return; /* the whole warp, because it shares threadIdx.y */
    real sum[HEIGHT];
#pragma unroll /* = {0} would clear a large array in memory */
    for (int r = 0; r < HEIGHT; r++) sum[r] = 0;
    ofs end = strip_ptr[strip + 1];
    for (ofs k = strip_ptr[strip] + lane; k < end; k += WARP) {
        uint32_t word = packed[k];
        real product = values[k] * x[word >> CMRS_ROW_BITS];
        int row = word % HEIGHT;
#pragma unroll /* sum[row], or a branch, would put the sums into memory */
        for (int r = 0; r < HEIGHT; r++) sum[r] += row == r ? product : 0;
    }
    real total = sum_of_row<HEIGHT>(sum, lane);
    unsigned row = strip * HEIGHT + lane;
    if (lane < HEIGHT && row < rows) put_row(out, row, total);
}

template <int HEIGHT> static void launch(const spmv_plan *p, const spmv_operands *v) {
    const cmrs *A = (const cmrs *)p->store;
    int strips_per_block = (int)p->choice.value[SPMV_block] / WARP;
    unsigned nblocks = (unsigned)blocks_for(A->strips, strips_per_block);
    multiply<HEIGHT><<<nblocks, dim3(WARP, strips_per_block), 0, stream_of(v)>>>(
        (unsigned)A->s.rows, (unsigned)A->strips, A->strip_ptr, A->packed, A->values,
        (const real *)v->x, result_of(v));
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    static void (*const launches[])(const spmv_plan *, const spmv_operands *) = {
        launch<1>, launch<2>, launch<4>, launch<8>, launch<16>};
    const cmrs *A = (const cmrs *)p->store;
    int log2_height = 0;
    while (1 << log2_height < A->height) log2_height++;
    if (A->strips == 0) return SPMV_OK;
    launches[log2_height](p, v);
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_WARP, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(cmrs_warp) = {
    .name = "cmrs_warp",
    .format = "cmrs",
    .summary = "one warp per strip, a sum in registers for each of its rows",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_WARP_ROW,
    .run = run,
};
