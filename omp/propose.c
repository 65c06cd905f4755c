/* propose.c: which OpenMP kernels should be fast on a matrix. A model in bytes: what the safe
 * kernel reads an entry over what another would read, times how near to its limit that kernel was
 * measured. The model only orders: what it proposes is timed. */
#include "spmv_kernel.h"

/* Where x is read in no order and lies beyond the near caches, a product waits for x, and fewer
 * bytes of the matrix save little. */
static bool is_gather_bound(const spmv_features *f) {
    const double near_cache = 1 << 20;
    double width = f->precision == SPMV_F64 ? 8 : 4;
    return f->lines > 0.5 && width * (double)f->cols > near_cache * f->threads;
}

static double percent(double share) {
    return 100 * share;
}

static void propose_packed(const spmv_features *f, double width, double plain,
                           spmv_proposals *out) {
    double values = f->value_bytes < width ? f->value_bytes : width;
    double bytes = f->index_bytes + values + (1.5 * width + 1) / f->mean;
    double gain = plain / bytes * (f->diagonal > 0.5 ? 0.9 : 0.75);
    if (is_gather_bound(f) || f->long_share > 0.5) gain = 0.95;
    if (f->diagonal > 0.5)
        spmv_offer(out, "packed_slices", 9, gain,
                   "%.0f %% of the entries lie on diagonals of their slice, %.1f of %g bytes an "
                   "entry",
                   percent(f->diagonal), f->index_bytes + values, width + 4);
    else
        spmv_offer(out, "packed_slices", 9, gain, "columns and values in %.1f of %g bytes an entry",
                   f->index_bytes + values, width + 4);
}

static void propose_masked(const spmv_features *f, double width, double plain,
                           spmv_proposals *out) {
    const double block_bytes[3] = {4 + 1, 4 + 2, 4 + 4}; /* a column and masks */
    int best = 0;
    for (int k = 1; k < 3; k++)
        if (block_bytes[k] / f->per_block[k] < block_bytes[best] / f->per_block[best]) best = k;
    double bytes = width + block_bytes[best] / f->per_block[best] + 1.5 * width / f->mean;
    double gain = f->per_block[0] < 2.5 ? 0.9 : 0.9 * plain / bytes;
    spmv_offer(out, "masked_rows", 9, gain, "%.1f entries in a block of %d x 8", f->per_block[best],
               1 << best);
}

void spmv_propose_omp(const spmv_features *f, spmv_proposals *out) {
    double width = f->precision == SPMV_F64 ? 8 : 4;
    if (f->nnz) {
        double plain = width + 4 + (4 + 1.5 * width) / f->mean; /* y: fetched, then written back */
        propose_packed(f, width, plain, out);
        propose_masked(f, width, plain, out);
        if (f->symmetric == 1 && !is_gather_bound(f))
            spmv_offer(out, "symmetric_rows", 9, 1.5, "symmetric: half of it stored");
        spmv_offer(out, "csr_rows", 0, 1.01, "rows in equal shares");
    }
    spmv_offer(out, "csr_balanced", 0, 0, "compressed rows in equal shares of entries");
    spmv_offer(out, "csr_merge", 0, 0, "compressed rows in equal shares of entries and rows");
}
