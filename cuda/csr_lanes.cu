/* csr_lanes: a group of T lanes multiplies one row of a CSR matrix.
 *
 * Source   Bell and Garland, SC'09, "CSR (vector)", there with T = 32; T from the mean row length,
 *          as in Kokkos Kernels.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the first lane of its group.
 * Work     lane l of a group takes entries row_ptr[i] + l, + T, ...; then log2(T) shuffles.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     rows shorter than T idle lanes; one very long row serialises its group (then csr_merge).
 * Repeats  bitwise: yes, for equal T.
 * Params   block: threads per block, a multiple of 32 (256); lanes: T = 1, 2, 4 .. 32 (0: doubled
 *          from 2 on while 6 T is below the mean row length).
 */
#include "device.cuh"

/* Every lane of a warp gets to the shuffles: those behind the last row have an empty one. */
template <int T>
static __global__ void multiply(idx rows, const ofs *__restrict__ row_ptr,
                                const idx *__restrict__ col_idx, const real *__restrict__ values,
                                const real *__restrict__ x, real alpha, real beta, real *y) {
    int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / T;
    int lane = threadIdx.x % T;
    bool is_row = row < rows;
    ofs end = is_row ? row_ptr[row + 1] : 0;
    real sum = 0;
    for (ofs k = is_row ? row_ptr[row] + lane : 0; k < end; k += T)
        sum += values[k] * x[col_idx[k]];
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

template <int T>
static spmv_status launch(const spmv_plan *p, real alpha, const real *x, real beta, real *y) {
    const csr *A = (const csr *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    if (A->s.rows == 0) return SPMV_OK;
    multiply<T><<<(unsigned)blocks_for(A->s.rows, block / T), block, 0, stream_of(p)>>>(
        (idx)A->s.rows, A->row_ptr, A->col_idx, A->values, x, alpha, beta, y);
    return launched(p);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    real a = (real)alpha, b = (real)beta;
    switch (p->choice.value[SPMV_lanes]) {
    case 1: return launch<1>(p, a, (const real *)x, b, (real *)y);
    case 2: return launch<2>(p, a, (const real *)x, b, (real *)y);
    case 4: return launch<4>(p, a, (const real *)x, b, (real *)y);
    case 8: return launch<8>(p, a, (const real *)x, b, (real *)y);
    case 16: return launch<16>(p, a, (const real *)x, b, (real *)y);
    default: return launch<32>(p, a, (const real *)x, b, (real *)y);
    }
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
