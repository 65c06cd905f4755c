/* sell_slices: SELL with slices distributed over threads by the OpenMP schedule.
 *
 * Source   Monakov et al., HiPEAC 2010, sliced ELLPACK; Kreutzer et al., SISC 2014, SELL-C-sigma;
 *          with rowlens SELL-R.
 * Reads    sell: slice_ptr[slices + 1], col_idx[slots], values[slots], row_len[rows] with rowlens,
 *          perm[rows] if sigma is not 1, order[rows] if the store has one; x[cols]; y[rows] only if
 *          beta != 0.
 * Writes   y[rows], each element once, by the thread that owns the slice.
 * Work     slot after slot, the rows of a slice side by side, with a sum each: in registers for 1,
 *          2, 4, 8, 16 or 32 rows, otherwise in the L1 cache. With rowlens unmasked up to the
 *          shortest row of the slice, masked up to the longest.
 * Cost     2 nnz flop; slots (sizeof real + 4) + (slices + 1) sizeof ofs + (cols + rows) sizeof
 *          real bytes; with rowlens nnz instead of slots (although padding is read), and 4 rows
 *          more; with sigma 4 rows more.
 * Weak     a long row beside short ones fills its slice with padding: sort (sigma). Slices of other
 *          heights than those above, especially below 8 rows, are slow.
 * Repeats  bitwise: yes.
 * Params   schedule, chunk: of the slice loop; rowlens: 1 reads 4 more bytes per row and allows
 *          infinity in x (1); order: of the rows in the store.
 */
#include "omp/isa.h"
#include "omp/kernel.h"
#include "formats/sell/sell.h"
#include "spmv_order.h"

enum { TALLEST = 1024 }; /* rows in a slice: the format's limit */

typedef struct product { /* operands common to all slices */
    const sell *A;
    const real *x;
    real *y, alpha, beta;
    bool rowlens;
} product;

/* Multiplies the n rows of a slice, from stored row i on, with slots begin, ..., end - 1. If n is a
 * constant in the call, the sums stay in registers. */
static inline __attribute__((always_inline)) void
multiply_slice(const product *m, int64_t i, int64_t begin, int64_t end, int n) {
    const idx *length = m->A->row_len + i, *perm = m->A->perm, *col_idx = m->A->col_idx + begin;
    const real *values = m->A->values + begin, *x = m->x;
    idx shortest, longest, k = 0;
    real sum[TALLEST];
    for (int r = 0; r < n; r++) sum[r] = 0;
    if (m->rowlens) {
        shortest = longest = length[0];
        for (int r = 1; r < n; r++) {
            shortest = length[r] < shortest ? length[r] : shortest;
            longest = length[r] > longest ? length[r] : longest;
        }
    } else {
        shortest = longest = (idx)((end - begin) / n);
    }
    for (; k < shortest; k++, values += n, col_idx += n)
#pragma omp simd
        for (int r = 0; r < n; r++) sum[r] += values[r] * x[col_idx[r]];
    /* Padding has a valid column, so every load is allowed; only its product is omitted. */
    for (; k < longest; k++, values += n, col_idx += n)
#pragma omp simd
        for (int r = 0; r < n; r++) sum[r] += k < length[r] ? values[r] * x[col_idx[r]] : 0;
    if (m->A->s.order)
        for (int r = 0; r < n; r++)
            put_row(m->y + m->A->s.order[perm ? perm[i + r] : i + r], m->alpha, sum[r], m->beta);
    else
        for (int r = 0; r < n; r++)
            put_row(m->y + (perm ? perm[i + r] : i + r), m->alpha, sum[r], m->beta);
}

static inline __attribute__((always_inline)) void multiply_any_slice(const product *m, int64_t s) {
    const sell *A = m->A;
    int64_t i = s * A->slice, begin = A->slice_ptr[s], end = A->slice_ptr[s + 1];
    int64_t height = A->s.rows - i < A->slice ? A->s.rows - i : A->slice;
    switch (height) {
    case 1: multiply_slice(m, i, begin, end, 1); break;
    case 2: multiply_slice(m, i, begin, end, 2); break;
    case 4: multiply_slice(m, i, begin, end, 4); break;
    case 8: multiply_slice(m, i, begin, end, 8); break;
    case 16: multiply_slice(m, i, begin, end, 16); break;
    case 32: multiply_slice(m, i, begin, end, 32); break;
    default: multiply_slice(m, i, begin, end, (int)height);
    }
}

/* The same loops, compiled for each instruction set and chosen by the CPU. */
typedef void multiply_one(const product *m, int64_t s);
static void slice_portable(const product *m, int64_t s) {
    multiply_any_slice(m, s);
}

#ifdef __x86_64__
AVX2 static void slice_256(const product *m, int64_t s) {
    multiply_any_slice(m, s);
}

AVX512 static void slice_512(const product *m, int64_t s) {
    multiply_any_slice(m, s);
}

static multiply_one *best_way(void) {
    int64_t isa = isa_of_cpu();
    return isa == ISA_AVX512 ? slice_512 : isa == ISA_AVX2 ? slice_256 : slice_portable;
}
#else
static multiply_one *best_way(void) {
    return slice_portable;
}
#endif

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const sell *A = (const sell *)p->store;
    const product m = {A, x, y, alpha, beta, p->choice.value[SPMV_rowlens]};
    multiply_one *multiply = best_way();
    schedule before = set_schedule(p, A->nslices);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t s = 0; s < A->nslices; s++) multiply(&m, s);
    restore_schedule(before);
    return SPMV_OK;
}

/* With rowlens padding does not count as traffic. */
static spmv_status prepare(spmv_plan *p) {
    const sell *A = (const sell *)p->host;
    bool rowlens = p->choice.value[SPMV_rowlens];
    size_t lists = (size_t)rowlens + (A->perm != NULL) + (A->s.order != NULL);
    p->traffic_bytes = (size_t)(rowlens ? A->s.nnz : A->s.slots) * (sizeof(real) + sizeof(idx)) +
                       (size_t)(A->nslices + 1) * sizeof(ofs) +
                       lists * (size_t)A->s.rows * sizeof(idx);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, PARAM_ROWLENS, SPMV_PARAM_ORDER,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sell_slices) = {
    .name = "sell_slices",
    .format = "sell",
    .summary = "parallel for over slices, rows of a slice side by side in vector registers",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER | SPMV_ANY_THREADS | SPMV_PADS,
    .prepare = prepare,
    .run = run,
};
