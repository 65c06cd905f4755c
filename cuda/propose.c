/* propose.c: which CUDA kernels should be fast on a matrix; plain C, so that it is tested without a
 * GPU. The model only orders: what it proposes is timed. */
#include "spmv_kernel.h"

static void propose_packed(const spmv_features *f, double width, double plain,
                           spmv_proposals *out) {
    double values = f->value_bytes < width ? f->value_bytes : width;
    double bytes = f->index_bytes + values + width / f->mean;
    spmv_offer(out, "packed_warp", 8, 0.95 * plain / bytes,
               f->diagonal > 0.5
                   ? "%.0f %% of the entries lie on diagonals of their slice, %.1f of %g bytes an "
                     "entry"
                   : "%.0f %% on diagonals; columns and values in %.1f of %g bytes an entry",
               100 * f->diagonal, f->index_bytes + values, width + 4);
}

/* CSR kernels by the length of the rows: a thread a row, some lanes, a warp. They share a store. */
static void propose_rows(const spmv_features *f, spmv_proposals *out) {
    bool even = f->cv < 0.5 && (double)f->row_max < 8 * f->mean + 32;
    spmv_offer(out, "csr_lanes", 0, even ? 1.1 : 0.9, "rows of about %.1f entries", f->mean);
    if (f->mean < 4) spmv_offer(out, "csr_thread", 0, even ? 1.1 : 0.9, "very short rows");
    if (f->mean > 48) spmv_offer(out, "csr_warp", 0, even ? 1.1 : 0.9, "long rows");
}

static void propose_slices(const spmv_features *f, spmv_proposals *out) {
    if (f->padding_32 < 0.05 && f->rows >= 1 << 15)
        spmv_offer(out, "sell_thread_ahead", 4, 1.2, "slices of 32 rows pad %.1f %%",
                   100 * f->padding_32);
}

void spmv_propose_cuda(const spmv_features *f, spmv_proposals *out) {
    double width = f->precision == SPMV_F64 ? 8 : 4;
    if (f->nnz) {
        double plain = width + 4 + (4 + width) / f->mean;
        propose_packed(f, width, plain, out);
        propose_slices(f, out);
        propose_rows(f, out);
    }
    spmv_offer(out, "cusparse_csr_alg2", 0, 0, "cuSPARSE, equal shares of entries");
    spmv_offer(out, "csr_merge", 0, 0, "compressed rows in equal shares of entries and rows");
}
