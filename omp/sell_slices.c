/* sell_slices: slices of a SELL matrix are handed to threads by the OpenMP schedule.
 *
 * Source   Kreutzer et al., SISC 2014, SELL-C-sigma; Monakov et al., HiPEAC 2010, sliced ELLPACK. The length of each
 *          row (SELL-R) is kept apart.
 * Reads    sell: slice_ptr[slices + 1], col_idx[slots], values[slots], row_len[rows] with rowlens, perm[rows] if
 *          sigma is not 1; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the thread that owns the slice.
 * Work     16, 8 or 4 rows of a slice side by side, a partial sum each in vector registers, slot after slot; with
 *          rowlens unmasked up to the shortest of them, masked up to the longest, so padding that no row of the
 *          group needs is not read.
 * Cost     2 nnz flop; slots (sizeof real + 4) + (slices + 1) sizeof ofs + (cols + rows) sizeof real bytes; with
 *          rowlens nnz for slots, and 4 rows; 4 rows more with sigma.
 * Weak     slices of fewer than 4 rows are multiplied a row at a time; a long row beside short ones fills a slice
 *          with padding: sort (sigma).
 * Repeats  bitwise: yes.
 * Params   schedule, chunk: of the slice loop; rowlens: 1 costs a read of 4 bytes a row and saves more padding than
 *          that on most matrices, and x may hold infinity (1).
 */
#include "omp.h"

enum { WIDE = 16 }; /* rows a group: two registers of 512 bits in double precision */

typedef struct product { /* what a slice needs besides itself */
    const sell *A;
    const real *x;
    real *y, alpha, beta;
    bool rowlens;
} product;

/* n rows from stored row i on, n a constant at every call; their first slots begin at `at`. */
static inline __attribute__((always_inline)) void multiply_rows(const product *m, int64_t i, int64_t at,
                                                                int64_t height, idx width, int n) {
    const idx *length = m->A->row_len + i, *perm = m->A->perm;
    const real *x = m->x, *values = m->A->values + at;
    const idx *col_idx = m->A->col_idx + at;
    idx shortest = width, longest = width, k = 0;
    real sum[WIDE] = {0};
    if (m->rowlens) {
        shortest = longest = length[0];
        for (int r = 1; r < n; r++) {
            shortest = length[r] < shortest ? length[r] : shortest;
            longest = length[r] > longest ? length[r] : longest;
        }
    }
    for (; k < shortest; k++, values += height, col_idx += height)
#pragma omp simd
        for (int r = 0; r < n; r++) sum[r] += values[r] * x[col_idx[r]];
    for (; k < longest; k++, values += height, col_idx += height) /* padding has a column too: nothing to step over */
#pragma omp simd
        for (int r = 0; r < n; r++) sum[r] += k < length[r] ? values[r] * x[col_idx[r]] : 0;
    for (int r = 0; r < n; r++) put_row(m->y + (perm ? perm[i + r] : i + r), m->alpha, sum[r], m->beta);
}

static inline void multiply_slice(const product *m, int64_t s) {
    const sell *A = m->A;
    int64_t first = s * A->slice, at = A->slice_ptr[s], r = 0;
    int64_t height = A->s.rows - first < A->slice ? A->s.rows - first : A->slice;
    idx width = (idx)((A->slice_ptr[s + 1] - at) / height);
    for (; height - r >= WIDE; r += WIDE) multiply_rows(m, first + r, at + r, height, width, WIDE);
    for (; height - r >= 8; r += 8) multiply_rows(m, first + r, at + r, height, width, 8);
    for (; height - r >= 4; r += 4) multiply_rows(m, first + r, at + r, height, width, 4);
    for (; r < height; r++) multiply_rows(m, first + r, at + r, height, width, 1);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const sell *A = (const sell *)p->store;
    const product m = {A, x, y, (real)alpha, (real)beta, p->choice.value[SPMV_rowlens]};
    set_schedule(p, A->nslices);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t s = 0; s < A->nslices; s++) multiply_slice(&m, s);
    return SPMV_OK;
}

/* With rowlens the padding stays in memory, as far as whole groups of rows end early; it is not counted. */
static spmv_status prepare(spmv_plan *p) {
    const sell *A = (const sell *)p->host;
    bool rowlens = p->choice.value[SPMV_rowlens];
    size_t lists = (size_t)rowlens + (A->perm != NULL);
    p->traffic_bytes = (size_t)(rowlens ? A->s.nnz : A->s.slots) * (sizeof(real) + sizeof(idx)) +
                       (size_t)(A->nslices + 1) * sizeof(ofs) + lists * (size_t)A->s.rows * sizeof(idx);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAMS_SCHEDULE, PARAM_ROWLENS, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sell_slices) = {
    .name = "sell_slices",
    .format = "sell",
    .summary = "parallel for over slices, rows of a slice side by side in vector registers",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PADS,
    .prepare = prepare,
    .run = run,
};
