/* spc5_rows: SPC5's masked blocks: strips of rows in chunks that threads take dynamically; a
 * block's masks expand its nonzeros to eight lanes, matching eight neighbours of x.
 *
 * Source   Bramas and Kus, PeerJ CS 2018, SPC5's beta(r, VS); here x is never read past its end,
 *          and lanes outside the mask are never multiplied.
 * Reads    spc5: block_ptr[strips + 1], first_col[nblocks], mask[nblocks x height], values[nnz];
 *          x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the thread that takes its strip.
 * Work     height vectors of eight sums per strip; a row of a block is one expanding load.
 * Cost     2 nnz flop; nnz sizeof real + blocks (4 + height) + 2 (strips + 1) sizeof ofs + (cols +
 *          rows) sizeof real bytes if x is read once: no column index per nonzero.
 * Weak     isolated nonzeros: each is a block. A very long row keeps one thread busy.
 * Repeats  bitwise: yes, for equal instructions.
 * Params   height: of the format, 0: chosen from a sample; isa: 0 the best, 1 portable, 2 AVX2, 3
 *          AVX-512 (AVX2 cannot expand and uses portable C).
 */
#include "omp/isa.h"
#include "omp/chunks.h"
#include "formats/spc5/spc5.h"

struct product {
    const spc5 *A;
    const real *x;
    real alpha, beta, *y;
};
#include "omp/vectors/columns.h"

/* ---- portable: an entry at a time ----------------------------------------------------------- */

static void strips_portable(const product *p, int64_t first, int64_t last) {
    const spc5 A = *p->A;
    for (int64_t s = first; s < last; s++) {
        const real *value = A.values + A.value_ptr[s];
        real sum[SPC5_HIGHEST] = {0};
        for (int64_t b = A.block_ptr[s]; b < A.block_ptr[s + 1]; b++)
            for (int64_t r = 0; r < A.height; r++)
                for (unsigned mask = A.mask[b * A.height + r]; mask; mask &= mask - 1)
                    sum[r] += *value++ * p->x[A.first_col[b] + __builtin_ctz(mask)];
        for (int64_t r = 0; r < A.height && s * A.height + r < A.s.rows; r++)
            put_row(p->y + s * A.height + r, p->alpha, sum[r], p->beta);
    }
}

#ifdef __x86_64__
/* ---- AVX-512 -------------------------------------------------------------------------------- */

typedef real lanes8 __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real))));

/* *sum += values under mask times x; advances *value by the number of values. */
AVX512_INLINE void add_row(lanes8 *sum, const real **value, const real *x, uint8_t mask) {
    if (sizeof(real) == sizeof(double)) {
        __m512d total, a = _mm512_maskz_expandloadu_pd(mask, *value), b = _mm512_loadu_pd(x);
        memcpy(&total, sum, sizeof *sum);
        total = _mm512_mask3_fmadd_pd(a, b, total, mask);
        memcpy(sum, &total, sizeof *sum);
    } else {
        __m256 total, a = _mm256_maskz_expandloadu_ps(mask, *value),
                      b = _mm256_loadu_ps((const float *)(const void *)x);
        memcpy(&total, sum, sizeof *sum);
        total = _mm256_mask3_fmadd_ps(a, b, total, mask);
        memcpy(sum, &total, sizeof *sum);
    }
    prefetch_ahead(*value, PAGE);
    *value += __builtin_popcount(mask);
}

AVX512_INLINE real total_of(lanes8 a) {
    typedef real lanes4 __attribute__((vector_size(4 * sizeof(real))));
    lanes4 b =
        __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    b += __builtin_shufflevector(b, b, 2, 3, 2, 3);
    return b[0] + b[1];
}

AVX512_INLINE void strips_512(const product *p, int64_t first, int64_t last, int height) {
    const spc5 A = *p->A;
    const real alpha = p->alpha, beta = p->beta, *x = p->x;
    const real *value = A.values + A.value_ptr[first];
    const uint8_t *mask = A.mask + A.block_ptr[first] * height;
    real *y = p->y + first * height;
    for (int64_t s = first; s < last; s++, y += height) {
        lanes8 sum[SPC5_HIGHEST] = {{0}};
        for (int64_t b = A.block_ptr[s], end = A.block_ptr[s + 1]; b < end; b++, mask += height)
            for (int r = 0; r < height; r++) add_row(&sum[r], &value, x + A.first_col[b], mask[r]);
        int64_t left = A.s.rows - s * height;
        for (int r = 0; r < height && r < left; r++) put_row(y + r, alpha, total_of(sum[r]), beta);
    }
}

static AVX512 void strips_avx512_1(const product *p, int64_t first, int64_t last) {
    strips_512(p, first, last, 1);
}

static AVX512 void strips_avx512_2(const product *p, int64_t first, int64_t last) {
    strips_512(p, first, last, 2);
}

static AVX512 void strips_avx512_4(const product *p, int64_t first, int64_t last) {
    strips_512(p, first, last, 4);
}

static multiply_chunk *function_of(int64_t isa, const spc5 *A) {
    if (isa != ISA_AVX512 || A->s.cols < SPC5_WIDTH) return strips_portable;
    return A->height == 1 ? strips_avx512_1 : A->height == 2 ? strips_avx512_2 : strips_avx512_4;
}
#else
static multiply_chunk *function_of(int64_t isa, const spc5 *A) {
    (void)isa, (void)A;
    return strips_portable;
}
#endif

/* ---- the kernel ----------------------------------------------------------------------------- */

static int64_t bytes_before(const spmv_store *store, int64_t strip) {
    const spc5 *A = (const spc5 *)store;
    return A->block_ptr[strip] * (4 + A->height) + A->value_ptr[strip] * (int64_t)sizeof(real) +
           strip * A->height * (int64_t)sizeof(real);
}

static spmv_status prepare(spmv_plan *p) {
    const spc5 *A = (const spc5 *)p->store;
    TRY(choose_isa(p));
    p->choice.value[SPMV_height] = A->height;
    return make_chunks(p, sizeof(chunks), function_of(p->choice.value[SPMV_isa], A), bytes_before,
                       A->strips);
}

static product product_of(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    return (product){(const spc5 *)p->store, x, alpha, beta, y};
}

static const spmv_param params[] = {PARAM_ISA, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(spc5_rows) = {
    .name = "spc5_rows",
    .format = "spc5",
    .summary = "chunks of strips of spc5 blocks, entries expanded into vector lanes",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .estimate = estimate_chunks,
    .prepare = prepare,
    .run = run_columns,
    .run_columns = run_columns,
    .release = free_scratch,
};
