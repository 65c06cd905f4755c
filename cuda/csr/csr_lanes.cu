/* csr_lanes: a group of T lanes multiplies one row of a CSR matrix, 4 or 8 nonzeros per lane at a
 * time.
 *
 * Source   Bell and Garland, SC'09, "CSR (vector)", there with T = 32; T from the mean row length,
 *          as in Kokkos Kernels; loads in flight: Volkov, GTC 2010.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz], order[rows] if rows are in another
 *          order; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the first lane of its group.
 * Work     Lane l of a group multiplies nonzeros row_ptr[i] + l, + T, ...: it loads 4 columns and
 *          values (8 if the mean row length exceeds 4 T and the matrix is large), then their
 *          entries of x; log2(T) shuffles add the lanes' sums. Most rows need one such step (H200,
 *          us, one nonzero at a time and so: road:12000000 196 and 139, bcsstk25 7.1 and 5.4,
 *          random:2000000:20:20000 234 and 161). Rows of more than 128 nonzeros are multiplied by
 *          the whole warp, one after the other. A small matrix is prefetched at the start, and the
 *          first nonzeros are read before the previous product has ended (ahead.cuh).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     rows shorter than T leave lanes idle; rows of thousands of nonzeros serialise their warp
 *          (then csr_balanced).
 * Repeats  bitwise: yes, for equal T.
 * Params   block: threads per block, a multiple of 32 (256); lanes: T = 1, 2, 4 .. 32 (0: by the
 *          mean row length, more if the matrix is small); order: of the rows in the store.
 */
#include "cuda/ahead.cuh"
#include "formats/csr/csr.h"
#include "spmv_order.h"
#include <math.h>

enum {
    LONG = 4 * WARP,
    FEW = 4,    /* entries that a lane loads at a time, */
    MANY = 8,   /* in large matrices with long rows, */
    OF_LONG = 2 /* and in rows of more than LONG, where more would cost registers */
};

typedef struct operands {
    const idx *col;
    const real *value, *x;
    cache_policy policy;
} operands;

/* Returns the sum of products of entries k, k + STEP, ... among the next `left`; loads DEPTH at a
 * time. *begun: x may be read. */
template <int STEP, int DEPTH>
static __device__ __forceinline__ real sum_entries(const operands &A, int64_t k, ofs left,
                                                   bool *begun) {
    real sum = 0;
    const idx *col = A.col + k;
    const real *value = A.value + k;
#pragma unroll 1
    for (; left > 0; left -= STEP * DEPTH) {
        idx j[DEPTH];
        real a[DEPTH], xj[DEPTH];
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            j[u] = 0, a[u] = 0;
            if (u * STEP < left) {
                j[u] = load_once(col + u * STEP, A.policy);
                a[u] = load_once(value + u * STEP, A.policy);
            }
        }
        col += STEP * DEPTH, value += STEP * DEPTH;
        if (!*begun) begin_product();
        *begun = true;
#pragma unroll
        for (int u = 0; u < DEPTH; u++) xj[u] = u * STEP < left ? A.x[j[u]] : 0;
#pragma unroll
        for (int u = 0; u < DEPTH; u++)
            if (u * STEP < left) sum += a[u] * xj[u];
    }
    return sum;
}

/* All lanes of a warp reach the shuffles: lanes behind the last row have an empty row. ORDERED: row
 * i of the store is row order[i] of y. */
template <int T, int DEPTH, bool ORDERED>
static __global__ void multiply(const __grid_constant__ ahead all, idx rows,
                                const ofs *__restrict__ row_ptr, const idx *__restrict__ col_idx,
                                const real *__restrict__ values, const real *x,
                                const idx *__restrict__ order, result out) {
    /* rows plus a block does not overflow */
    unsigned row = blockIdx.x * (blockDim.x / T) + threadIdx.x / T;
    int lane = threadIdx.x % WARP, first = lane % T;
    let_next_start();
    prefetch_ahead(all, threadIdx.x);
    const operands A = {col_idx, values, x, all.policy};
    bool is_row = row < (unsigned)rows, begun = false;
    ofs begin = is_row ? row_ptr[row] : 0, count = is_row ? row_ptr[row + 1] - begin : 0;
    bool is_long = T < WARP && count > LONG;
    real sum =
        sum_entries<T, DEPTH>(A, (int64_t)begin + first, is_long ? 0 : count - first, &begun);
    if (!begun) begin_product();
    begun = true;
    for (int step = T / 2; step > 0; step /= 2) sum += __shfl_down_sync(ALL_LANES, sum, step, T);
    unsigned todo = T < WARP ? __ballot_sync(ALL_LANES, is_long && first == 0) : 0;
#pragma unroll 1
    for (; todo; todo &= todo - 1) {
        int owner = __ffs((int)todo) - 1;
        /* row_ptr is read again, to save registers */
        unsigned of = row + (unsigned)((owner - lane + first) / T);
        begin = row_ptr[of], count = row_ptr[of + 1] - begin;
        real whole =
            warp_sum(sum_entries<WARP, OF_LONG>(A, (int64_t)begin + lane, count - lane, &begun));
        whole = __shfl_sync(ALL_LANES, whole, 0);
        if (lane == owner) sum = whole;
    }
    if (is_row && first == 0) put_row(out, ORDERED ? order[row] : row, sum);
}

/* ---- how many lanes -------------------------------------------------------------------------- */

typedef struct shape { /* number of lanes for mean row lengths up to `mean` */
    double mean;
    int lanes;
} shape;

/* Returns whether the time is limited by the latency of dependent reads, not by bandwidth. */
static bool is_small(const spmv_store *A) {
    return A->nnz < 1 << 20;
}

static double mean_of(const spmv_store *A) {
    return (double)A->nnz / (double)(A->rows ? A->rows : 1);
}

static int64_t lanes_for(const spmv_store *A) {
    static const shape of_small[] = {{2, 1}, {8, 4}, {12, 8}, {96, 16}, {INFINITY, 32}};
    static const shape of_large[] = {{8, 1}, {12, 4}, {96, 8}, {192, 16}, {INFINITY, 32}};
    const shape *s = is_small(A) ? of_small : of_large;
    while (mean_of(A) > s->mean) s++;
    return s->lanes;
}

#define BOTH(lanes, ordered) \
    { (const void *)multiply<lanes, FEW, ordered>, (const void *)multiply<lanes, MANY, ordered> }
#define ALL(ordered) \
    { \
        BOTH(1, ordered), BOTH(2, ordered), BOTH(4, ordered), BOTH(8, ordered), BOTH(16, ordered), \
            BOTH(32, ordered) \
    }

static const void *kernel_for(const spmv_plan *p, int64_t lanes) {
    static const void *const kernels[][6][2] = {ALL(false), ALL(true)};
    const spmv_store *A = p->host;
    int k = 0;
    while (1 << k < lanes) k++;
    return kernels[p->store->order != NULL][k][!is_small(A) && mean_of(A) > FEW * (double)lanes];
}

static spmv_status prepare(spmv_plan *p) {
    int64_t *lanes = &p->choice.value[SPMV_lanes];
    if (!*lanes) *lanes = lanes_for(p->host);
    return load_kernel(p, kernel_for(p, *lanes));
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    csr A = *(const csr *)p->store;
    int64_t block = p->choice.value[SPMV_block], lanes = p->choice.value[SPMV_lanes];
    unsigned grid = (unsigned)blocks_for(A.s.rows, block / lanes);
    idx rows = (idx)A.s.rows;
    result out = result_of(v);
    if (rows == 0) return SPMV_OK;
    ahead all = ahead_of(p, A.row_ptr, (size_t)(A.s.rows + 1) * sizeof *A.row_ptr, A.col_idx,
                         A.values, A.s.nnz, (const real *)v->x, A.s.cols, grid);
    void *arguments[] = {&all,      &rows,         &A.row_ptr, &A.col_idx,
                         &A.values, (void *)&v->x, &A.s.order, &out};
    return launch_overlapping(p, stream_of(v), kernel_for(p, lanes), grid, dim3((unsigned)block), 0,
                              arguments);
}

static const spmv_param params[] = {
    PARAM_BLOCK_THREAD, {SPMV_lanes, 0, 0, WARP, 1, true}, SPMV_PARAM_ORDER, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_lanes) = {
    .name = "csr_lanes",
    .format = "csr",
    .summary = "a group of lanes per row, as wide as the mean row suggests",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .prepare = prepare,
    .run = run,
};
