/* hasty.cu: planted: a product that lets the next start, and itself reads x and y at once instead
 * of waiting for the product in front. One thread per row, f64. It writes late, so that whoever
 * reads too early surely does. */
#include "cuda/ahead.cuh"
#include "formats/csr/csr.h"

static __global__ void multiply(idx rows, const ofs *row_ptr, const idx *col_idx,
                                const real *values, const real *x, result out) {
    enum { LATE = 20000 }; /* cycles: about 10 us */
    idx row = blockIdx.x * blockDim.x + threadIdx.x;
    long long start = clock64();
    let_next_start();
    if (row >= rows) return;
    real sum = 0, before = out.beta == 0 ? 0 : out.y[row];
    for (ofs k = row_ptr[row]; k < row_ptr[row + 1]; k++) sum += values[k] * x[col_idx[k]];
    while (clock64() - start < LATE) continue;
    out.z[row] = out.alpha * sum + out.beta * before;
}

/* Returns whether products overlap on a GPU of this capability, such as 90. */
extern "C" bool hasty_overlaps(int capability) {
    return code_waits(10 * capability);
}

extern "C" spmv_status hasty_run(const spmv_plan *p, const spmv_operands *v) {
    csr A = *(const csr *)p->store;
    idx rows = (idx)A.s.rows;
    result out = result_of(v);
    void *arguments[] = {&rows, &A.row_ptr, &A.col_idx, &A.values, (void *)&v->x, &out};
    return launch_overlapping(p, stream_of(v), (const void *)multiply,
                              (unsigned)blocks_for(rows, 256), dim3(256), 0, arguments);
}
