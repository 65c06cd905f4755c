/* csell_slices: compressed SELL (delta-indexed, dictionary-coded): slices of 32 rows in shares of
 * equal bytes, which are divided into chunks that threads take dynamically.
 *
 * Source   this project; the encodings after CSR-DU and CSR-VI (Kourtis, Goumas, Koziris, CF'08),
 *          and BRO-ELL (Tang et al., TPDS'15); the expanding loads after SPC5 (Bramas and Kus,
 *          PeerJ CS 2018).
 * Reads    csell: slice[slices], step[steps], columns, values, codebook; the long part; order[rows]
 *          if rows are in another order; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the thread that takes the slice; by non-temporal stores
 *          if caches cannot hold the data of a product and beta = 0.
 * Work     the long rows come first, in 128 parts of equally many nonzeros; the partial sums of a
 *          row are added in order. Then each thread multiplies slices step by step with one sum for
 *          each of the 32 rows, in vector registers if the CPU has AVX2 or AVX-512. Diagonals need
 *          no gather.
 * Cost     2 nnz flop; the encoded columns and values + 32 bytes per slice + 8 per step + (cols +
 *          rows) sizeof real bytes.
 * Weak     rows of very different lengths in a slice: its last steps hold few nonzeros.
 * Repeats  bitwise: yes, for any number of threads and an equal isa; equal with and without a
 *          dictionary.
 * Params   isa: vector instructions (0: the best of this CPU); order: of the rows in the store.
 */
#include "csell_avx2.h"
#include "csell_avx512.h"
#include "csell_portable.h"
#include "omp/vectors/columns.h"
#include "spmv_host.h"
#include "spmv_order.h"

enum { LINE = 64, STACKED = 2048 /* most sums of long rows on the stack */ };

/* Returns the number of sums of long rows in scratch, per slot. */
static int64_t sums_of(int64_t long_rows) {
    return long_rows > STACKED ? long_rows : 0;
}

/* Bounds the number of long rows by the number of entries. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    enum { LEAST_CUT = 64 }; /* least cut that the format chooses */
    int64_t cut = c->value[SPMV_cut] ? c->value[SPMV_cut] : LEAST_CUT;
    int64_t most = A->nnz / (cut + 1) < A->rows ? A->nnz / (cut + 1) : A->rows;
    return sizeof(work) + (size_t)sums_of(most) * sizeof(real);
}

/* Returns the long row that contains entry k of the long part. */
static int64_t long_row_of(const csell *A, int64_t k) {
    int64_t low = 0, high = A->long_rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->long_ptr[middle + 1] <= k)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static multiply_chunk *choose_way(int64_t isa) {
#ifdef __x86_64__
    if (isa == ISA_AVX512) return multiply_avx512;
    if (isa == ISA_AVX2) return multiply_avx2;
#endif
    (void)isa;
    return multiply_portable;
}

/* Returns whether caches cannot keep y for the next reader. Then y is stored past them, without
 * reading its lines first, which saves 4 to 13 % on grids with few values, 2 to 5 % on others. */
static bool exceeds_caches(const csell *A) {
    size_t cache = spmv_host_cache();
    return cache &&
           spmv_store_bytes(&A->s) + (size_t)(A->s.rows + A->s.cols) * sizeof(real) > cache;
}

static spmv_status prepare(spmv_plan *p) {
    const csell *A = (const csell *)p->store;
    TRY(choose_isa(p));
    const size_t sums = (size_t)p->most_slots * (size_t)sums_of(A->long_rows);
    TRY(make_chunks(p, sizeof(work) + sums * sizeof(real), choose_way(p->choice.value[SPMV_isa]),
                    bytes_before, A->nslices));
    if (sums > 0) p->slots = p->most_slots;
    work *t = p->scratch;
    t->past = exceeds_caches(A);
    for (int64_t s = 0; s <= PARTS; s++)
        t->first_long[s] = long_row_of(A, spmv_split(A->long_nnz, PARTS, s));
    return SPMV_OK;
}

/* Uses four independent sums, because an addition has latency. */
static real sum_long(const csell *A, const real *x, int64_t begin, int64_t end) {
    enum { SUMS = 4 };
    real sum[SUMS] = {0};
    int64_t k = begin;
    for (; k + SUMS <= end; k += SUMS)
        for (int l = 0; l < SUMS; l++) sum[l] += A->long_values[k + l] * x[A->long_col[k + l]];
    for (; k < end; k++) sum[0] += A->long_values[k] * x[A->long_col[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Sums part s of the entries of long rows: whole sums of rows that end in it, and a carry. */
static void multiply_long(const csell *A, const real *x, int64_t s, const work *t, long_sums *out) {
    int64_t k = spmv_split(A->long_nnz, PARTS, s), end = spmv_split(A->long_nnz, PARTS, s + 1);
    int64_t row = t->first_long[s];
    for (; row < t->first_long[s + 1]; k = A->long_ptr[++row])
        out->sum[row] = sum_long(A, x, k, A->long_ptr[row + 1]);
    out->carries[s] = (carry){k < end ? row : -1, sum_long(A, x, k, end)};
}

/* Returns the operands without long_sum. */
static product product_of(const spmv_plan *p, const spmv_operands *v) {
    const csell *A = (const csell *)p->store;
    const work *t = p->scratch;
    const bool past = t->past && !A->s.order && v->beta == 0 && (uintptr_t)v->z % LINE == 0;
    return (product){A, v->x, v->z, (real)v->alpha, (real)v->beta, NULL, is_small(A), past};
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csell *A = (const csell *)p->store;
    work *t = p->scratch;
    real stacked[STACKED];
    long_sums sums;
    sums.sum = A->long_rows > STACKED ? t->long_sum + v->slot * A->long_rows : stacked;
    product one = product_of(p, v);
    one.long_sum = sums.sum;
    const product *m = &one;
    const products job = {&t->slices, &m, 1};
    int64_t nshares = shares_of(p);
    taken_chunks taken;
    begin_chunks(&taken, nshares, t->slices.per_share);
#pragma omp parallel num_threads((int)nshares)
    {
        if (A->long_rows) {
#pragma omp for schedule(static)
            for (int64_t s = 0; s < PARTS; s++) multiply_long(A, one.x, s, t, &sums);
#pragma omp single
            add_carries(sums.carries, PARTS, 1, sums.sum);
        }
        take_chunks(&taken, multiply_units, &job);
    }
    return SPMV_OK;
}

/* If there are long rows, vectors are multiplied one by one: scratch has sums for one vector. */
static spmv_status run_several(const spmv_plan *p, const spmv_operands *v) {
    if (((const csell *)p->store)->long_rows == 0) return run_columns(p, v);
    for (int64_t j = 0; j < v->k; j++) {
        const spmv_operands one = column_of(v, j);
        TRY(run(p, &one));
    }
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_ISA, SPMV_PARAM_ORDER, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(csell_slices) = {
    .name = "csell_slices",
    .format = "csell",
    .summary = "32 rows side by side in vector registers, columns and values decoded on the way",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .run_columns = run_several,
    .release = free_scratch,
};
