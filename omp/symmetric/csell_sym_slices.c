/* csell_sym_slices: half of a symmetric matrix as compressed SELL, in ranges of slices; every
 * nonzero is multiplied twice, as itself and as its mirror (transposed entry).
 *
 * Source   this project; one window of y per thread as in sss_rows, slices as in csell_slices.
 * Reads    csell_sym: slice[slices], step[steps], columns, values, codebook; the long part;
 *          x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows]: a row's slice first, then the mirrors from later slices; mirrors in another
 *          thread's rows are summed in a window, which that thread adds at the end.
 * Work     each step computes sum += a x_j and y_j += a x_i for 32 entries. On a diagonal both
 *          operands are contiguous and use vector registers with AVX2 or AVX-512; otherwise nonzero
 *          by nonzero.
 * Cost     2 nnz flop; the encoded half of the nonzeros + 32 bytes per slice + 8 per step + (cols +
 *          2 rows) sizeof real bytes, + twice the windows.
 * Weak     slices that are not diagonal; windows as in sss_rows; long rows, each of which belongs
 *          to one thread.
 * Repeats  bitwise: yes, for an equal number of threads and isa.
 * Params   isa: vector instructions (0: the best of this CPU).
 */
#include "csell_sym_avx2.h"
#include "csell_sym_avx512.h"

/* Returns the least row of the slice's mirrors. */
static int64_t lowest_of(const csell *A, int64_t k) {
    const csell_slice *slice = A->slice + k;
    int64_t first = k * CSELL_ROWS, low = first;
    for (int32_t n = 0; n < slice->nsteps; n++) {
        const csell_step *step = A->step + slice->step + n;
        int64_t col = step->base;
        if (slice->column_code == CSELL_DIAGONAL) col += first + __builtin_ctz(step->mask);
        if (col < low) low = col;
    }
    return low;
}

static void cut(const spmv_store *store, int64_t count, range *out) {
    const csell *A = (const csell *)store;
    int64_t begin[MOST_RANGES + 1];
    cut_shares(store, bytes_before, A->nslices, count, begin);
    for (int64_t s = 0; s < count; s++) {
        int64_t first = begin[s] * CSELL_ROWS, last = begin[s + 1] * CSELL_ROWS;
        if (first > A->s.rows) first = A->s.rows;
        if (last > A->s.rows) last = A->s.rows;
        int64_t low = first;
        for (int64_t k = begin[s]; k < begin[s + 1]; k++)
            if (lowest_of(A, k) < low) low = lowest_of(A, k);
        for (int64_t n = first_long_from(A, first); n < first_long_from(A, last); n++)
            if (A->long_col[A->long_ptr[n]] < low) low = A->long_col[A->long_ptr[n]];
        out[s] = (range){first, last, low, begin[s], begin[s + 1], NULL};
    }
}

static void range_portable(const product *m, const range *s) {
    mirror_range(m, s, mirror_slice_portable);
}

#ifdef __x86_64__
AVX2 static void range_256(const product *m, const range *s) {
    mirror_range(m, s, mirror_slice_256);
}

AVX512 static void range_512(const product *m, const range *s) {
    mirror_range(m, s, mirror_slice_512);
}

static multiply_range *choose_way(int64_t isa) {
    return isa == ISA_AVX512 ? range_512 : isa == ISA_AVX2 ? range_256 : range_portable;
}
#else
static multiply_range *choose_way(int64_t isa) {
    (void)isa;
    return range_portable;
}
#endif

static spmv_status prepare(spmv_plan *p) {
    TRY(choose_isa(p));
    return prepare_ranges(p, cut);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csell *A = (const csell *)p->store;
    const product m = {A, x, y, alpha, beta, NULL, is_small(A), false};
    return multiply_ranges(p->scratch, &m, p->device->threads,
                           choose_way(p->choice.value[SPMV_isa]), v->slot, y);
}

static const spmv_param params[] = {PARAM_ISA, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(csell_sym_slices) = {
    .name = "csell_sym_slices",
    .format = "csell_sym",
    .summary = "slices of the lower half, as csell, every entry used twice",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_NEEDS_SYMMETRY,
    .estimate = estimate_ranges,
    .prepare = prepare,
    .run = run,
    .release = release_ranges,
};
