/* sell_thread_ahead: one thread multiplies one row of a SELL matrix, 4 or 8 slots ahead.
 *
 * Source   sell_thread; Volkov, GTC 2010: hide latency by loads in flight. On an H200 a loop that
 *          waits for each slot reached 72 to 78 percent of the bandwidth at 5 to 7 entries a row,
 *          one that does not 85 to 93.
 * Reads    sell: slice_ptr[slices + 1], col_idx[slots], values[slots], row_len[rows] with rowlens,
 *          perm[rows] if sigma is not 1; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once; with sigma scattered inside a window.
 * Work     thread i takes stored row i in steps of DEPTH slots: it asks for DEPTH columns, then
 *          values, then entries of x, and sums in order; a step past the end asks for the last slot
 *          again and leaves it out. DEPTH is 8, or 4 where the mean row, padding included, is no
 *          longer.
 * Cost     2 nnz flop; slots (sizeof real + 4) + (slices + 1) sizeof ofs + (cols + rows) sizeof
 *          real bytes; with rowlens nnz for slots, and 4 rows; 4 rows more with sigma.
 * Weak     40 to 64 registers a thread; empty rows beside long ones; one very long row is one
 *          thread's.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256); rowlens (1).
 */
#include "sell.cuh"

/* The matrix is read once and leaves the cache first, so that x stays. The bounds let the compiler
 * take 64 registers: on its own it takes 32 and waits for each load. */
template <int DEPTH>
static __global__ void __launch_bounds__(1024, 1)
    multiply(unsigned rows, unsigned slice, const ofs *__restrict__ slice_ptr,
             const idx *__restrict__ row_len, const idx *__restrict__ perm,
             const idx *__restrict__ col_idx, const real *__restrict__ values,
             const real *__restrict__ x, real alpha, real beta, real *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x; /* rows + a block fit 32 bits */
    if (i >= rows) return;
    sell_row row = sell_row_of(i, rows, slice, slice_ptr, row_len);
    const idx *col = col_idx + row.first;
    const real *value = values + row.first;
    real sum = 0;
#pragma unroll 1
    for (int left = (int)row.count; left > 0; left -= DEPTH) {
        idx j[DEPTH];
        real a[DEPTH], xj[DEPTH];
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            unsigned at = (unsigned)min(u, left - 1) * row.height; /* or the last again */
            j[u] = __ldcs(col + at);
            a[u] = __ldcs(value + at);
        }
#pragma unroll
        for (int u = 0; u < DEPTH; u++) xj[u] = x[j[u]];
#pragma unroll
        for (int u = 0; u < DEPTH; u++)
            if (u < left) sum += a[u] * xj[u];
        col += (int64_t)DEPTH * row.height;
        value += (int64_t)DEPTH * row.height;
    }
    put_row(y + (perm ? perm[i] : i), alpha, sum, beta);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const sell *A = (const sell *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    unsigned grid = (unsigned)blocks_for(A->s.rows, block);
    const idx *row_len = p->choice.value[SPMV_rowlens] ? A->row_len : NULL;
    if (A->s.rows == 0) return SPMV_OK;
    auto kernel = A->s.slots > 4 * A->s.rows ? multiply<8> : multiply<4>;
    kernel<<<grid, block, 0, stream_of(p)>>>((unsigned)A->s.rows, (unsigned)A->slice, A->slice_ptr,
                                             row_len, A->perm, A->col_idx, A->values,
                                             (const real *)x, (real)alpha, (real)beta, (real *)y);
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, PARAM_ROWLENS, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sell_thread_ahead) = {
    /* name, alias  */ "sell_thread_ahead",
    NULL,
    /* format       */ "sell",
    /* summary      */ "one thread a row of a slice, 4 or 8 slots loaded ahead",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC | SPMV_PADS,
    /* estimate     */ NULL,
    /* prepare      */ sell_prepare,
    /* run, release */ run,
    NULL,
};
