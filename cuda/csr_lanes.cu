/* csr_lanes: a group of T lanes multiplies one row of a CSR matrix.
 *
 * Source   Bell and Garland, SC'09, "CSR (vector)", there with T = 32; T from the mean row length,
 *          as in Kokkos Kernels.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the first lane of its group.
 * Work     lane l of a group takes entries row_ptr[i] + l, + T, ...; then log2(T) shuffles. All
 *          that a small matrix has is asked for at the start; the first entries are read before the
 *          product in front has ended (ahead.cuh).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     rows shorter than T idle lanes; one very long row serialises its group (then csr_merge).
 * Repeats  bitwise: yes, for equal T.
 * Params   block: threads per block, a multiple of 32 (256); lanes: T = 1, 2, 4 .. 32 (0: doubled
 *          from 2 on while 6 T is below the mean row length).
 */
#include "ahead.cuh"

/* Every lane of a warp gets to the shuffles: those behind the last row have an empty one. */
template <int T>
static __global__ void multiply(const __grid_constant__ ahead all, idx rows,
                                const ofs *__restrict__ row_ptr, const idx *__restrict__ col_idx,
                                const real *__restrict__ values, const real *x, real alpha,
                                real beta, real *y) {
    int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / T;
    int lane = threadIdx.x % T;
    let_next_start();
    ask_ahead(all, threadIdx.x);
    bool is_row = row < rows;
    ofs k = is_row ? row_ptr[row] + lane : 0, end = is_row ? row_ptr[row + 1] : 0;
    idx j = k < end ? col_idx[k] : 0;
    real sum = 0, a = k < end ? values[k] : 0;
    begin_product();
    if (k < end) sum = a * x[j];
    for (k += T; k < end; k += T) sum += values[k] * x[col_idx[k]];
    for (int step = T / 2; step > 0; step /= 2) sum += __shfl_down_sync(ALL_LANES, sum, step, T);
    if (is_row && lane == 0) put_row(y + row, alpha, sum, beta);
}

static spmv_status prepare(spmv_plan *p) {
    const spmv_store *A = p->host;
    int64_t *lanes = &p->choice.value[SPMV_lanes];
    if (*lanes) return SPMV_OK;
    for (*lanes = 2; *lanes < WARP && 6 * *lanes * A->rows < A->nnz;) *lanes *= 2;
    return SPMV_OK;
}

static const void *kernel_for(int64_t lanes) {
    switch (lanes) {
    case 1: return (const void *)multiply<1>;
    case 2: return (const void *)multiply<2>;
    case 4: return (const void *)multiply<4>;
    case 8: return (const void *)multiply<8>;
    case 16: return (const void *)multiply<16>;
    default: return (const void *)multiply<32>;
    }
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    csr A = *(const csr *)p->store;
    int64_t block = p->choice.value[SPMV_block], lanes = p->choice.value[SPMV_lanes];
    unsigned grid = (unsigned)blocks_for(A.s.rows, block / lanes);
    idx rows = (idx)A.s.rows;
    real a = (real)alpha, b = (real)beta;
    if (rows == 0) return SPMV_OK;
    ahead all = ahead_of(A.row_ptr, (size_t)(A.s.rows + 1) * sizeof *A.row_ptr, A.col_idx, A.values,
                         A.s.nnz, (const real *)x, A.s.cols, grid);
    void *arguments[] = {&all, &rows, &A.row_ptr, &A.col_idx, &A.values, &x, &a, &b, &y};
    return launch_overlapping(p, kernel_for(lanes), grid, dim3((unsigned)block), 0, arguments);
}

static const spmv_param params[] = {
    PARAM_BLOCK_THREAD, {SPMV_lanes, 0, 0, WARP, 1, true}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_lanes) = {
    /* name, alias  */ "csr_lanes",
    NULL,
    /* format       */ "csr",
    /* summary      */ "a group of lanes a row, as wide as the mean row suggests",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ NULL,
    /* prepare      */ prepare,
    /* run, release */ run,
    NULL,
};
