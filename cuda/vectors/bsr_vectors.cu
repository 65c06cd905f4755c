/* bsr_vectors: several vectors times a BSR matrix: a group of lanes multiplies a block row.
 *
 * Source   Yang, Buluc and Owens, Euro-Par 2018, lanes along the rows of x; register blocking: Im
 *          and Yelick, ICCS 2001.
 * Reads    bsr: block_ptr[block rows + 1], first_col[blocks], values[blocks x r x c]; x[cols x k];
 *          y[rows x k] only if beta != 0.
 * Writes   y[rows x k], each entry once.
 * Work     A group has as many lanes, up to a warp, as cover a row of x with 16 bytes per lane, and
 *          multiplies one block row. A lane loads its part of the c rows of x that a block needs
 *          once for all r rows of the block, whose sums it keeps. Columns of x are first copied as
 *          rows to memory of the plan.
 * Cost     2 k nnz flop; blocks (r c sizeof real + 4) + (block rows + 1) sizeof ofs + k (cols +
 *          rows) sizeof real bytes if x is read once; the matrix is read again for every 512 bytes
 *          of a row of x.
 * Weak     Blocks that are mostly padding, which is read but not added, because x may be infinite.
 *          One vector. Block rows of very different lengths.
 * Repeats  bitwise: yes.
 * Params   none.
 */
#include "cuda/vectors.cuh"
#include "formats/bsr/bsr.h"

enum { THREADS = 256, MOST_SIDE = 8 /* maximum number of rows and columns of a block */ };

typedef struct lane_of { /* position of a lane along a row of x */
    const real *x;       /* address of the lane's first element in row 0 */
    int c;               /* vector of this element */
} lane_of;

/* Multiplies DEPTH blocks of R x C; issues all loads first. PADS: some slots are padding. */
template <int R, int C, loading HOW, bool PADS, int DEPTH>
static __device__ __forceinline__ void add_blocks(const vectors &v, const lane_of &lane,
                                                  const idx *first_col, const real *value,
                                                  real (&sum)[R][SIDE]) {
    idx j[DEPTH];
    real a[DEPTH][R * C];
    __align__(16) real x[DEPTH][C][SIDE];
#pragma unroll
    for (int u = 0; u < DEPTH; u++) j[u] = __ldg(first_col + u);
#pragma unroll
    for (int n = 0; n < DEPTH * R * C; n++) a[n / (R * C)][n % (R * C)] = __ldg(value + n);
#pragma unroll
    for (int n = 0; n < DEPTH * C; n++)
        load_numbers<SIDE, HOW>(v, lane.x, j[n / C] + n % C, lane.c, x[n / C][n % C]);
#pragma unroll
    for (int n = 0; n < DEPTH * R * C; n++) {
        const int u = n / (R * C), r = n % (R * C) / C, q = n % C;
#pragma unroll
        for (int s = 0; s < SIDE; s++) {
            const real more = fma(a[u][r * C + q], x[u][q][s], sum[r][s]);
            sum[r][s] = PADS && is_padding(a[u][r * C + q]) ? sum[r][s] : more;
        }
    }
}

template <int R, int C, loading HOW, bool PADS>
static __global__ void __launch_bounds__(THREADS)
    multiply(const __grid_constant__ bsr A, const __grid_constant__ vectors v, int side) {
    enum { DEPTH = 2 };
    const int c = (threadIdx.x & ((1 << side) - 1)) * SIDE;
    const int64_t b = (int64_t)blockIdx.x * (THREADS >> side) + (threadIdx.x >> side);
    if (b >= A.block_rows) return;
    const lane_of lane = {x_of_lane(v, c), c};
    const ofs begin = A.block_ptr[b];
    int left = (int)(A.block_ptr[b + 1] - begin);
    const idx *first_col = A.first_col + begin;
    const real *value = A.values + (int64_t)begin * (R * C);
    real sum[R][SIDE];
#pragma unroll
    for (int n = 0; n < R * SIDE; n++) sum[n / SIDE][n % SIDE] = 0;
#pragma unroll 1
    for (; left >= DEPTH; left -= DEPTH, first_col += DEPTH, value += DEPTH * R * C)
        add_blocks<R, C, HOW, PADS, DEPTH>(v, lane, first_col, value, sum);
    if (left) add_blocks<R, C, HOW, PADS, 1>(v, lane, first_col, value, sum);
#pragma unroll
    for (int r = 0; r < R; r++)
        if (b * R + r < A.s.rows) put_numbers<SIDE>(v, b * R + r, c, sum[r]);
}

/* Kernel for blocks of any shape. */
template <loading HOW>
static __global__ void __launch_bounds__(THREADS)
    multiply_any(const __grid_constant__ bsr A, const __grid_constant__ vectors v, int side) {
    const int c = (threadIdx.x & ((1 << side) - 1)) * SIDE;
    const int64_t b = (int64_t)blockIdx.x * (THREADS >> side) + (threadIdx.x >> side);
    if (b >= A.block_rows) return;
    const int rows = (int)A.shape_rows, cols = (int)A.shape_cols;
    const real *x0 = x_of_lane(v, c);
    const ofs end = A.block_ptr[b + 1];
    real sum[MOST_SIDE][SIDE];
#pragma unroll
    for (int n = 0; n < MOST_SIDE * SIDE; n++) sum[n / SIDE][n % SIDE] = 0;
    for (ofs k = A.block_ptr[b]; k < end; k++) {
        const real *value = A.values + (int64_t)k * rows * cols;
        for (int q = 0; q < cols; q++) {
            __align__(16) real x[SIDE];
            load_numbers<SIDE, HOW>(v, x0, A.first_col[k] + q, c, x);
#pragma unroll
            for (int r = 0; r < MOST_SIDE; r++) {
                if (r >= rows || is_padding(value[r * cols + q])) continue;
#pragma unroll
                for (int s = 0; s < SIDE; s++)
                    sum[r][s] = fma(value[r * cols + q], x[s], sum[r][s]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < MOST_SIDE; r++)
        if (r < rows && b * rows + r < A.s.rows) put_numbers<SIDE>(v, b * rows + r, c, sum[r]);
}

template <loading HOW, bool PADS>
static spmv_status launch(const spmv_plan *p, const vectors &v, cudaStream_t stream) {
    const bsr *A = (const bsr *)p->store;
    const int64_t rows = A->shape_rows, cols = A->shape_cols;
    const int side = exponent_of(blocks_for(v.count, SIDE));
    auto kernel = rows == 2 && cols == 2   ? multiply<2, 2, HOW, PADS>
                  : rows == 3 && cols == 3 ? multiply<3, 3, HOW, PADS>
                                           : multiply_any<HOW>;
    kernel<<<(unsigned)blocks_for(A->block_rows << side, THREADS), THREADS, 0, stream>>>(*A, v,
                                                                                         side);
    return launched(p);
}

static spmv_status run_some(const spmv_plan *p, const vectors &v, cudaStream_t stream) {
    const bsr *A = (const bsr *)p->store;
    const bool pads = A->nblocks * A->shape_rows * A->shape_cols > p->host->nnz;
    return (!v.x_whole ? launch<WHAT_IS_THERE, true>
            : pads     ? launch<AT_ONCE, true>
                       : launch<AT_ONCE, false>)(p, v, stream);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    return run_in_batches(p, v, WARP * SIDE, run_some);
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    return run_in_rows(p, v, run_some);
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(bsr_vectors) = {
    .name = "bsr_vectors",
    .format = "bsr",
    .summary = "several vectors: lanes along rows of x, which all rows of a block share",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PANEL,
    .run = run,
    .run_columns = run_columns,
    .run_rows = run,
};
