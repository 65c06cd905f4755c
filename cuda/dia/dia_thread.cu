/* dia_thread: DIA with one thread per row.
 *
 * Source   Bell and Garland, SC'09, their DIA kernel: offsets in shared memory.
 * Reads    dia: offsets[diagonals], values[diagonals x pitch] inside the matrix; x[cols]; y[rows]
 *          only if beta != 0.
 * Writes   y[rows], each element once.
 * Work     thread i multiplies row i diagonal by diagonal, in ascending order of columns: a warp
 *          reads 32 contiguous values and entries of x. Values and x of four diagonals are loaded
 *          before the first is used.
 * Cost     2 nnz flop; slots inside the matrix sizeof real + 4 diagonals per block of threads (from
 *          the caches) + (cols + rows) sizeof real bytes if x is read once.
 * Weak     diagonals that are mostly padding are read whole; few rows leave most of the GPU idle.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256).
 */
#include "cuda/cache_policy.cuh"
#include "formats/dia/dia.h"

enum { KEPT = 256, DEPTH = 4 }; /* offsets in shared memory; diagonals loaded at a time */

/* Adds n diagonals of a row to its sum. value: slot of the first diagonal. */
static __device__ __forceinline__ real add_diagonals(real sum, int64_t row, int64_t cols, int n,
                                                     int64_t pitch, const idx *offset,
                                                     const real *__restrict__ value,
                                                     const real *__restrict__ x,
                                                     cache_policy policy) {
    for (int k = 0; k < n; k += DEPTH, value += DEPTH * pitch) {
        real a[DEPTH], xj[DEPTH];
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            int64_t col = k + u < n ? row + offset[k + u] : -1;
            bool inside = col >= 0 && col < cols;
            a[u] = inside ? load_once(value + u * pitch, policy) : -(real)0;
            xj[u] = inside ? x[col] : 0;
        }
#pragma unroll
        for (int u = 0; u < DEPTH; u++)
            if (!is_padding(a[u])) sum += a[u] * xj[u];
    }
    return sum;
}

/* Threads beyond the last row stay for the barriers; all their columns are outside. */
static __global__ void multiply(int64_t rows, int64_t cols, int64_t diagonals, int64_t pitch,
                                const idx *__restrict__ offsets, const real *__restrict__ values,
                                const real *__restrict__ x, cache_policy policy, result out) {
    __shared__ idx kept[KEPT];
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    real sum = 0;
    for (int64_t first = 0; first < diagonals; first += KEPT) {
        int n = (int)(diagonals - first < KEPT ? diagonals - first : KEPT);
        __syncthreads();
        for (int k = (int)threadIdx.x; k < n; k += (int)blockDim.x) kept[k] = offsets[first + k];
        __syncthreads();
        if (row < rows)
            sum = add_diagonals(sum, row, cols, n, pitch, kept, values + first * pitch + row, x,
                                policy);
    }
    if (row < rows) put_row(out, row, sum);
}

static spmv_status prepare(spmv_plan *p) {
    const dia *A = (const dia *)p->host;
    p->traffic_bytes = (size_t)A->inside * sizeof(real) + (size_t)A->diagonals * sizeof(idx);
    return load_kernel(p, (const void *)multiply);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const dia *A = (const dia *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    if (A->s.rows == 0) return SPMV_OK;
    multiply<<<(unsigned)blocks_for(A->s.rows, block), block, 0, stream_of(v)>>>(
        A->s.rows, A->s.cols, A->diagonals, A->pitch, A->offsets, A->values, (const real *)v->x,
        policy_for(p), result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(dia_thread) = {
    .name = "dia_thread",
    .alias = "dia",
    .format = "dia",
    .summary = "one thread per row, diagonal by diagonal",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .prepare = prepare,
    .run = run,
};
