/* hybrid_warp: one warp multiplies one row of a hybrid ELL + CSR matrix.
 *
 * Source   Mahmoud, Hoffmann, Reza, Computation 6 (2018) 45, Algorithm 7, with shuffles for its
 *          sums in shared memory.
 * Reads    hybrid: ell_col, ell_values[rows x boundary], row_len[rows]; of rows longer than
 *          boundary start, end, rest_col, rest_values; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by lane 0 of the row's group.
 * Work     row = thread / 32, lane = thread % 32; lane l multiplies slots l, l + 32, ... of the row
 *          in the ELL part, without padding, then 5 shuffles; then the same in the CSR part if
 *          row_len > boundary; the two sums are added. A block of 16, the smallest in the paper, is
 *          half a warp: 16 lanes multiply a row, in steps of 16 (as printed, the halves of a row
 *          would be in two blocks, and one half would be lost).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + 4 rows + 2 (rows longer than boundary) sizeof ofs +
 *          (cols + rows) sizeof real bytes if x is read once: padding is not read.
 * Weak     parts shorter than 32 leave lanes idle; blocks of 16 leave half of every warp idle.
 * Repeats  bitwise: yes.
 * Params   boundary: the format's; block: threads per block, 16, 32, 64 .. 1024 (256).
 */
#include "cuda/device.cuh"
#include "formats/papers/hybrid/hybrid.h"

/* Returns the sum over a row's LANES lanes, in its lane 0. LANES: a whole warp, or all threads of a
 * block of half a warp. Must be called by all these lanes. */
template <int LANES> static __device__ __forceinline__ real group_sum(real sum) {
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffffu >> (WARP - LANES), sum, step, LANES);
    return sum;
}

template <int LANES>
static __global__ void multiply(idx rows, int64_t boundary, const idx *__restrict__ row_len,
                                const idx *__restrict__ ell_col,
                                const real *__restrict__ ell_values, const ofs *__restrict__ start,
                                const ofs *__restrict__ end, const idx *__restrict__ rest_col,
                                const real *__restrict__ rest_values, const real *__restrict__ x,
                                result out) {
    int lane = threadIdx.x % LANES;
    int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    if (row >= rows) return; /* all lanes of the row return */
    int64_t len = row_len[row], first = row * boundary;
    int64_t ell_end = first + (len < boundary ? len : boundary);
    real sum = 0;
    for (int64_t k = first + lane; k < ell_end; k += LANES) sum += ell_values[k] * x[ell_col[k]];
    sum = group_sum<LANES>(sum);
    if (len > boundary) {
        real rest = 0;
        ofs rest_end = end[row];
        for (ofs k = start[row] + lane; k < rest_end; k += LANES)
            rest += rest_values[k] * x[rest_col[k]];
        sum += group_sum<LANES>(rest);
    }
    if (lane == 0) put_row(out, row, sum);
}

template <int LANES> static void launch(const spmv_plan *p, const spmv_operands *v) {
    const hybrid *A = (const hybrid *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    multiply<LANES><<<(unsigned)blocks_for(A->s.rows, block / LANES), block, 0, stream_of(v)>>>(
        (idx)A->s.rows, A->boundary, A->row_len, A->ell_col, A->ell_values, A->start, A->end,
        A->rest_col, A->rest_values, (const real *)v->x, result_of(v));
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    bool is_half_warp = p->choice.value[SPMV_block] < WARP;
    if (p->store->rows == 0) return SPMV_OK;
    if (is_half_warp)
        launch<WARP / 2>(p, v);
    else
        launch<WARP>(p, v);
    return launched(p);
}

static spmv_status prepare(spmv_plan *p) {
    const hybrid *A = (const hybrid *)p->host;
    p->choice.value[SPMV_boundary] = A->boundary;
    p->traffic_bytes = (size_t)A->s.nnz * (sizeof(idx) + sizeof(real)) +
                       (size_t)A->s.rows * sizeof(idx) + (size_t)A->long_rows * 2 * sizeof(ofs);
    return SPMV_OK;
}

static const spmv_param params[] = {{SPMV_block, 256, WARP / 2, 1024, WARP / 2, true},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(hybrid_warp) = {
    .name = "hybrid_warp",
    .format = "hybrid",
    .summary = "one warp per row, ELL part then CSR part",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER,
    .prepare = prepare,
    .run = run,
};
