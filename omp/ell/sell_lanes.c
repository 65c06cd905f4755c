/* sell_lanes: rows of a SELL slice eight at a time in the lanes of vector registers, x by loads,
 * slices in shares of equal slots, which are cut into chunks that threads take dynamically.
 *
 * Source   Kreutzer et al., SISC 2014, SELL-C-sigma; loads for the gather instruction, which many
 *          CPUs run several times slower.
 * Reads    sell: slice_ptr[slices + 1], col_idx[slots], values[slots], row_len[rows], perm[rows] if
 *          sigma is not 1; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the thread that takes the slice.
 * Work     eight rows side by side, a sum each: unmasked up to the shortest of them, masked after
 *          multiplying up to the longest. Rows beyond a multiple of eight in a slice one by one.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (slices + 1) sizeof ofs + 4 rows + (cols + rows)
 *          sizeof real bytes, 4 rows more with sigma; padding is read all the same.
 * Weak     lengths that differ among eight rows compute padding: sort (sigma); a row as long as a
 *          thread's share keeps the others waiting.
 * Repeats  bitwise: yes.
 * Params   isa: 0 the best, 1 portable, 2 and 3 AVX2.
 */
#include "omp/isa.h"
#include "omp/chunks.h"
#include "formats/sell/sell.h"

enum { GROUP = 8 };

struct product {
    const sell *A;
    const real *x;
    real *y, alpha, beta;
};

static void put_sum(const product *m, int64_t i, real sum) {
    put_row(m->y + (m->A->perm ? m->A->perm[i] : i), m->alpha, sum, m->beta);
}

/* Stored row i, whose slots begin at `at`, height apart. */
static void multiply_row(const product *m, int64_t i, int64_t at, int64_t height) {
    const sell *A = m->A;
    real sum = 0;
    for (idx k = 0; k < A->row_len[i]; k++, at += height)
        sum += A->values[at] * m->x[A->col_idx[at]];
    put_sum(m, i, sum);
}

static void multiply_portable(const product *m, int64_t first, int64_t end) {
    const sell *A = m->A;
    for (int64_t s = first; s < end; s++) {
        int64_t i = s * A->slice, rest = A->s.rows - i;
        int64_t height = rest < A->slice ? rest : A->slice;
        for (int64_t r = 0; r < height; r++) multiply_row(m, i + r, A->slice_ptr[s] + r, height);
    }
}

#ifdef __x86_64__
typedef real lanes4 __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real))));
typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) lane;
typedef lane mask4 __attribute__((vector_size(4 * sizeof(real))));
typedef idx idx4 __attribute__((vector_size(4 * sizeof(idx)), aligned(sizeof(idx))));

/* values times x at four places; gcc makes loads of it, never the gather instruction. */
AVX2_INLINE lanes4 multiply_4(const real *values, const idx *at, const real *x) {
    return *(const lanes4 *)values * (lanes4){x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
}

AVX2_INLINE idx shortest_of(const idx *length) {
    idx shortest = length[0];
    for (int r = 1; r < GROUP; r++) shortest = length[r] < shortest ? length[r] : shortest;
    return shortest;
}

AVX2_INLINE mask4 longer_than(const idx *length, idx k) {
    idx4 in = *(const idx4 *)length > k;
    return __builtin_convertvector(in, mask4);
}

/* Stored rows i to i + 7, whose slots begin at values and col_idx and end at `end`. */
AVX2_INLINE void multiply_group(const product *m, int64_t i, const real *values, const idx *col_idx,
                                const real *end, int64_t height) {
    const sell *A = m->A;
    const idx *length = A->row_len + i;
    const real *x = m->x;
    lanes4 low = {0}, high = {0};
    idx k = 0, shortest = shortest_of(length);
    for (; k < shortest; k++, values += height, col_idx += height) {
        ask_ahead(values, HALF_PAGE);
        ask_ahead(col_idx, HALF_PAGE / 2);
        low += multiply_4(values, col_idx, x);
        high += multiply_4(values + 4, col_idx + 4, x);
    }
    /* Padding has a column too, so every load is allowed and only its product is left out. */
    for (; values < end; k++, values += height, col_idx += height) {
        low += (lanes4)((mask4)multiply_4(values, col_idx, x) & longer_than(length, k));
        high +=
            (lanes4)((mask4)multiply_4(values + 4, col_idx + 4, x) & longer_than(length + 4, k));
    }
    for (int r = 0; r < 4; r++) put_sum(m, i + r, low[r]);
    for (int r = 0; r < 4; r++) put_sum(m, i + 4 + r, high[r]);
}

static AVX2 void multiply_avx2(const product *m, int64_t first, int64_t end) {
    const sell *A = m->A;
    for (int64_t s = first; s < end; s++) {
        int64_t i = s * A->slice, rest = A->s.rows - i, r = 0;
        int64_t height = rest < A->slice ? rest : A->slice;
        int64_t at = A->slice_ptr[s], behind = A->slice_ptr[s + 1];
        if (height == GROUP) { /* as a constant */
            multiply_group(m, i, A->values + at, A->col_idx + at, A->values + behind, GROUP);
            continue;
        }
        for (; r + GROUP <= height; r += GROUP)
            multiply_group(m, i + r, A->values + at + r, A->col_idx + at + r, A->values + behind,
                           height);
        for (; r < height; r++) multiply_row(m, i + r, at + r, height);
    }
}
#endif

static multiply_chunk *choose_way(int64_t isa) {
#ifdef __x86_64__
    if (isa != ISA_PORTABLE) return multiply_avx2;
#endif
    (void)isa;
    return multiply_portable;
}

/* What slices cost: their slots, and about four times as many for what a row costs besides. */
static int64_t slots_before(const spmv_store *store, int64_t k) {
    const sell *A = (const sell *)store;
    return A->slice_ptr[k] + 4 * k * A->slice;
}

static spmv_status prepare(spmv_plan *p) {
    const sell *A = (const sell *)p->store;
    int64_t lists = 1 + (A->perm != NULL);
    TRY(choose_isa(p));
    TRY(make_chunks(p, sizeof(chunks), choose_way(p->choice.value[SPMV_isa]), slots_before,
                    A->nslices));
    p->traffic_bytes = (size_t)A->s.nnz * (sizeof(real) + sizeof(idx)) +
                       (size_t)(A->nslices + 1) * sizeof(ofs) +
                       (size_t)(lists * A->s.rows) * sizeof(idx);
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const product m = {(const sell *)p->store, x, y, alpha, beta};
    return multiply_chunks(p, p->scratch, &m);
}

static const spmv_param params[] = {PARAM_ISA, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sell_lanes) = {
    .name = "sell_lanes",
    .format = "sell",
    .summary = "eight rows of a slice side by side, x by loads, equal slots a thread",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate_chunks,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
