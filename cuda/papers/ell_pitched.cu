/* ell_pitched: ELL, transposed and pitched, with one thread per row.
 *
 * Source   Di Iorio, cudaSpMVRowsELL, ell0; Bell and Garland, SC'09, "ELL".
 * Reads    ell_pitched: col_idx, values [width x pitch]; row_len[rows] with rowlens; x[cols]; y if
 *          beta != 0.
 * Writes   y[rows], each element once.
 * Work     thread i multiplies column i of the transposed array: a warp reads 32 contiguous slots,
 *          and every line of slots starts aligned.
 * Cost     2 nnz flop; width rows (sizeof real + 4) + (cols + rows) sizeof real bytes; with rowlens
 *          nnz instead of width rows, and 4 rows more.
 * Weak     one long row pads all others; lines of fewer than 128 rows are mostly padding.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256); rowlens (1).
 */
#include "cuda/device.cuh"
#include "formats/papers/ell_pitched/ell_pitched.h"

/* Sets the traffic: with rowlens no padding; without rowlens the padding of rows, but never that of
 * lines. */
static spmv_status prepare(spmv_plan *p) {
    const ell_pitched *A = (const ell_pitched *)p->host;
    const bool rowlens = p->choice.value[SPMV_rowlens] != 0;
    const size_t slots = (size_t)(rowlens ? A->s.nnz : A->width * A->s.rows);
    p->traffic_bytes = slots * (sizeof(real) + sizeof(idx));
    if (rowlens) p->traffic_bytes += (size_t)A->s.rows * sizeof(idx);
    return SPMV_OK;
}

static __global__ void multiply(idx rows, idx width, const idx *__restrict__ row_len,
                                const idx *__restrict__ col_idx, const real *__restrict__ values,
                                int64_t pitch, const real *__restrict__ x, result out) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    idx len = row_len ? row_len[row] : width;
    real sum = 0;
    for (idx k = 0; k < len; k++) sum += values[k * pitch + row] * x[col_idx[k * pitch + row]];
    put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const ell_pitched *A = (const ell_pitched *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    const idx *row_len = p->choice.value[SPMV_rowlens] ? A->row_len : NULL;
    if (A->s.rows == 0) return SPMV_OK;
    multiply<<<(unsigned)blocks_for(A->s.rows, block), block, 0, stream_of(v)>>>(
        (idx)A->s.rows, (idx)A->width, row_len, A->col_idx, A->values, A->pitch, (const real *)v->x,
        result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, PARAM_ROWLENS, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(ell_pitched) = {
    .name = "ell_pitched",
    .alias = "ell0",
    .format = "ell_pitched",
    .summary = "ELL transposed and pitched, one thread per row",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PADS,
    .prepare = prepare,
    .run = run,
};
