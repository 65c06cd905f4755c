/* sell16_lanes: SELL-8-sigma with 16-bit columns and values in the fewest bytes: eight rows of
 * similar length in vector lanes; shares of equal bytes, which are divided into chunks that threads
 * take dynamically.
 *
 * Source   this project: SELL-C-sigma (Kreutzer et al., SISC 2014) with csell's encodings; loads
 *          instead of the gather instruction, which many CPUs run several times slower. Few
 *          distinct values are looked up in vector registers, after CSR&RV (Yang and others,
 *          AVX-512).
 * Reads    sell16: slice[slices], perm[rows] and order[rows] unless the rows' order is the
 *          matrix's, length of uneven slices, columns, values, codebook; x[cols]; y[rows] only if
 *          beta != 0.
 * Writes   y[rows], each element once, by the thread that takes the slice.
 * Work     a step is one nonzero of each of eight rows, with one sum per row; beyond the shortest
 *          row the products of padding are masked out. The remaining nonzeros of at most three
 *          longer rows follow.
 * Cost     2 nnz flop; nnz (2 or 4 + 0, 1, 4 or sizeof real) + 6 rows for slices and perm + (cols +
 *          rows) sizeof real bytes; padding is read, too.
 * Weak     slices whose columns span more than 65,536 take 32 bits per column; padding is computed
 *          if lengths differ within a window; a row as long as a thread's share keeps the other
 *          threads waiting.
 * Repeats  bitwise: yes, for an equal isa; equal with and without a dictionary.
 * Params   isa: 0 the best, 1 portable, 2 AVX2, 3 AVX-512 (at most 8 and 16 values are looked up in
 *          registers); order: of the rows in the store.
 */
#include "sell16_avx512.h"
#include "omp/vectors/columns.h"
#include <math.h>

typedef struct lanes {
    chunks all;
    int64_t ahead;
} lanes;

/* Returns a b + c, explicitly fused if the build's processor can, because compilers fuse in some
 * loops only, and y would then depend on the encoding of values. */
static inline real multiply_add(real a, real b, real c) {
#ifdef FP_FAST_FMA
    return sizeof(real) == sizeof(double) ? (real)fma(a, b, c)
                                          : (real)fmaf((float)a, (float)b, (float)c);
#else
    return a * b + c;
#endif
}

static void multiply_portable(const product *m, int64_t first, int64_t end) {
    const sell16_slices *A = m->A;
    for (int64_t s = first; s < end; s++) {
        const sell16_slice *slice = A->slice + s;
        const uint16_t *columns = A->columns + slice->column;
        const int32_t *length = lengths_of(A, slice);
        real sum[SELL16_ROWS] = {0};
        for (int r = 0; r < SELL16_ROWS; r++) {
            int64_t steps = length && length[r] < slice->width ? length[r] : slice->width;
            for (int64_t k = 0, at = r; k < steps; k++, at += SELL16_ROWS)
                sum[r] = multiply_add(value_at(A, slice->slot + at, A->value_code),
                                      x_at(m->x + slice->base, columns, at, slice->wide), sum[r]);
        }
        put_any(m, s, sum);
    }
}

static multiply_chunk *choose_way(int64_t isa, const sell16_slices *A) {
#ifdef __x86_64__
    if (isa == ISA_AVX512 && A->value_code == VALUE_CODEBOOK && A->nvalues <= IN_REGISTERS)
        return registers_avx512;
    if (isa != ISA_PORTABLE) return choose_avx2(A);
#endif
    (void)isa, (void)A;
    return multiply_portable;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

/* Returns the bytes read and written for slices before k. */
static int64_t bytes_before(const spmv_store *store, int64_t k) {
    const sell16_slices *A = (const sell16_slices *)store;
    const int64_t row = 4 + 2 + 2 * (int64_t)sizeof(real); /* slice, perm, x and y */
    bool is_end = k == A->nslices;
    return k * SELL16_ROWS * row + 2 * (is_end ? A->units : A->slice[k].column) +
           A->value_bytes * (is_end ? A->s.slots : A->slice[k].slot);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c;
    return sizeof(lanes);
}

/* Returns the distance from a slice's rows to its greatest column. */
static int64_t reach_of(const sell16_slices *A, int64_t s) {
    const sell16_slice *slice = A->slice + s;
    uint16_t highest = 0;
    for (int64_t n = 0; n < (int64_t)slice->width * SELL16_ROWS; n++)
        if (A->columns[slice->column + n] > highest) highest = A->columns[slice->column + n];
    return slice->base + highest - s * SELL16_ROWS;
}

static int compare_reach(const void *a, const void *b) {
    const int64_t *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* Returns the prefetch distance of x: the reach of 7/8 of the sampled slices, and LITTLE; 0 if the
 * columns of most are not near the diagonal, or the near caches hold x. */
static int64_t ahead_of(const sell16_slices *A) {
    enum { LOOKS = 64, LITTLE = 1024, NEAR = 1 << 16 };
    int64_t reach[LOOKS], n = 0;
    if (A->s.rows != A->s.cols || A->s.rows < NEAR) return 0;
    for (int64_t l = 0; l < LOOKS; l++) {
        int64_t s = spmv_split(A->nslices, LOOKS, l);
        int64_t below = s * SELL16_ROWS - A->slice[s].base;
        if (!A->slice[s].wide && A->slice[s].width && below < NEAR && below > -NEAR)
            reach[n++] = reach_of(A, s);
    }
    if (n < LOOKS * 3 / 4) return 0;
    qsort(reach, (size_t)n, sizeof *reach, compare_reach);
    return reach[n * 7 / 8] > 0 ? reach[n * 7 / 8] + LITTLE : LITTLE;
}

static spmv_status prepare(spmv_plan *p) {
    const sell16_slices *A = (const sell16_slices *)p->store;
    TRY(choose_isa(p));
    TRY(make_chunks(p, sizeof(lanes), choose_way(p->choice.value[SPMV_isa], A), bytes_before,
                    A->nslices));
    lanes *t = p->scratch;
    t->ahead = ahead_of(A);
    return SPMV_OK;
}

static product product_of(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const lanes *t = p->scratch;
    return (product){(const sell16_slices *)p->store, x, y, alpha, beta, t->ahead};
}

static const spmv_param params[] = {PARAM_ISA, SPMV_PARAM_ORDER, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(sell16_lanes) = {
    .name = "sell16_lanes",
    .format = "sell16",
    .summary = "eight rows side by side, 16-bit columns and coded values, equal bytes per thread",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .estimate = estimate,
    .prepare = prepare,
    .run = run_columns,
    .run_columns = run_columns,
    .release = free_scratch,
};
