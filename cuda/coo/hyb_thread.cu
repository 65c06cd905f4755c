/* hyb_thread: one thread multiplies one row of the ELL part of a HYB matrix; then the COO part is
 * added.
 *
 * Source   Bell and Garland, SC'09, "HYB"; the COO part as in coo_segments.
 * Reads    hyb: ell_col, ell_values [width x pitch], tail_row, tail_col, tail_values [tail];
 *          x[cols]; y[rows] if beta != 0 or the row has a tail.
 * Writes   y[rows], each element by its thread; in a second kernel rows with a tail, by the block
 *          in which the tail ends; in a third kernel rows with a tail that began in an earlier
 *          block.
 * Work     Thread i multiplies the slots of row i: a warp reads 32 adjacent slots from an aligned
 *          address; padding has column -1 and is skipped.
 * Cost     2 nnz flop; width pitch 4 + (nnz - tail) sizeof real + tail (sizeof real + 8) + (cols +
 *          rows) sizeof real bytes if x is read once, and y of rows with a tail once more.
 * Weak     three launches dominate the time of a small matrix.
 * Repeats  bitwise: yes, for an equal block.
 * Params   block: threads per block, a multiple of 32 up to 512 (256); boundary: of the format.
 */
#include "coo.cuh"
#include "formats/hyb/hyb.h"

/* Upper bound for any boundary: all entries are in the tail. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return parts_bytes(A->nnz, c);
}

static spmv_status prepare(spmv_plan *p) {
    const hyb *A = (const hyb *)p->store;
    p->choice.value[SPMV_boundary] = A->width;
    /* Padding: kernels read the column only. */
    p->traffic_bytes -= (size_t)(A->s.slots - A->s.nnz) * sizeof(real);
    return parts_make(p, A->tail, A->tail_row);
}

static __global__ void multiply_ell(idx rows, idx width, int64_t pitch,
                                    const idx *__restrict__ ell_col,
                                    const real *__restrict__ ell_values, const real *__restrict__ x,
                                    result out) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    real sum = 0;
#pragma unroll 4
    for (idx k = 0; k < width; k++) {
        idx j = ell_col[k * pitch + row];
        if (j >= 0) sum += ell_values[k * pitch + row] * x[j];
    }
    put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const hyb *A = (const hyb *)p->store;
    int block = (int)p->choice.value[SPMV_block];
    if (A->s.rows == 0) return SPMV_OK;
    multiply_ell<<<(unsigned)blocks_for(A->s.rows, block), block, 0, stream_of(v)>>>(
        (idx)A->s.rows, (idx)A->width, A->pitch, A->ell_col, A->ell_values, (const real *)v->x,
        result_of(v));
    TRY(launched(p));
    return parts_add(p, A->tail_row, A->tail_col, A->tail_values, v);
}

static const spmv_param params[] = {PARAM_BLOCK_CUT, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(hyb_thread) = {
    .name = "hyb_thread",
    .format = "hyb",
    .summary = "one thread per row of the ELL part, then a segmented scan of the COO part",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = parts_release,
};
