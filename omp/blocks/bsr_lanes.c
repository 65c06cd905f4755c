/* bsr_lanes: BSR with the cells of a block in vector lanes, one sum per cell; block rows in shares
 * of equal bytes, which are divided into chunks that threads take dynamically.
 *
 * Source   this project; the idea of Im and Yelick's register blocking, with a vector for a block.
 * Reads    bsr: block_ptr[block rows + 1], first_col[blocks], values[blocks x r x c]; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the thread that takes the block row.
 * Work     a block is read vector by vector; its c entries of x are loaded once and permuted to its
 *          cells; the r x c sums of a block row are reduced at its end.
 * Cost     2 nnz flop; blocks (r c sizeof real + 4) + (block rows + 1) sizeof ofs + (cols + rows)
 *          sizeof real bytes. Padding is read, but masked: x may be infinite.
 * Weak     blocks that are not full; blocks of a few cells leave lanes empty; a block row as long
 *          as a thread's share keeps the other threads waiting.
 * Repeats  bitwise: yes, for an equal isa.
 * Params   isa: 0 the best, 1 portable, 2 AVX2 (blocks of up to 32 bytes per row), 3 AVX-512.
 */
#include "omp/isa.h"
#include "omp/chunks.h"
#include "formats/bsr/bsr.h"

enum { MOST_CELLS = 64, MOST_VECTORS = 8 };

struct product {
    const bsr *A;
    const real *x;
    real *y, alpha, beta;
};
#include "omp/vectors/columns.h"

/* Reduces the sums of block row b's cells to its rows of y. */
static inline __attribute__((always_inline)) void put_block_row(const product *m, int64_t b,
                                                                const real *cell) {
    const int64_t rows = m->A->shape_rows, cols = m->A->shape_cols, i = b * rows;
    for (int64_t r = 0; r < rows && i + r < m->A->s.rows; r++) {
        real sum = 0;
        for (int64_t c = 0; c < cols; c++) sum += cell[r * cols + c];
        put_row(m->y + i + r, m->alpha, sum, m->beta);
    }
}

static inline bool is_padding(real value) {
    return value == 0 && __builtin_signbit(value);
}

static void blocks_portable(const product *m, int64_t first, int64_t end) {
    const bsr A = *m->A;
    const int64_t cells = A.shape_rows * A.shape_cols;
    for (int64_t b = first; b < end; b++) {
        real sum[MOST_CELLS] = {0};
        for (int64_t k = A.block_ptr[b]; k < A.block_ptr[b + 1]; k++) {
            const real *values = A.values + k * cells, *x = m->x + A.first_col[k];
            for (int64_t l = 0, c = 0; l < cells; l++, c = c + 1 < A.shape_cols ? c + 1 : 0)
                sum[l] += is_padding(values[l]) ? 0 : values[l] * x[c];
        }
        put_block_row(m, b, sum);
    }
}

#ifdef __x86_64__
/* ---- AVX-512 -------------------------------------------------------------------------------- */

enum { LANES_512 = 64 / sizeof(real) };
typedef real vec512 __attribute__((vector_size(64)));

AVX512_INLINE vec512 load_512(const real *from, __mmask16 mask) {
    return sizeof(real) == 8 ? (vec512)_mm512_maskz_loadu_pd((__mmask8)mask, from)
                             : (vec512)_mm512_maskz_loadu_ps(mask, from);
}

/* Returns the lanes without padding (-0). */
AVX512_INLINE __mmask16 entries_512(vec512 a) {
    return sizeof(real) == 8 ? _mm512_cmpneq_epi64_mask((__m512i)a, _mm512_set1_epi64(INT64_MIN))
                             : _mm512_cmpneq_epi32_mask((__m512i)a, _mm512_set1_epi32(INT32_MIN));
}

AVX512_INLINE vec512 permute_512(vec512 x, __m512i at) {
    return sizeof(real) == 8 ? (vec512)_mm512_permutexvar_pd(at, (__m512d)x)
                             : (vec512)_mm512_permutexvar_ps(at, (__m512)x);
}

AVX512_INLINE vec512 add_product_512(vec512 sum, vec512 a, vec512 b, __mmask16 mask) {
    return sizeof(real) == 8
               ? (vec512)_mm512_mask3_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)sum, (__mmask8)mask)
               : (vec512)_mm512_mask3_fmadd_ps((__m512)a, (__m512)b, (__m512)sum, mask);
}

/* n: vectors per block, a constant. */
AVX512_INLINE void blocks_512(const product *m, int64_t first, int64_t end, const int n) {
    const bsr A = *m->A;
    const int64_t cells = A.shape_rows * A.shape_cols;
    const __mmask16 all = (__mmask16)((1 << LANES_512) - 1),
                    of_x = (__mmask16)((1 << A.shape_cols) - 1);
    const __mmask16 last = (__mmask16)(all >> (n * LANES_512 - cells));
    real cell[MOST_VECTORS * LANES_512] __attribute__((aligned(64)));
    __m512i at[MOST_VECTORS];
    for (int v = 0; v < n; v++) {
        __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0,
                                         (int32_t)0)) lane[LANES_512];
        for (int l = 0; l < LANES_512; l++) lane[l] = (v * LANES_512 + l) % (int)A.shape_cols;
        memcpy(&at[v], lane, sizeof lane);
    }
    const real *values = A.values + A.block_ptr[first] * cells;
    for (int64_t b = first; b < end; b++) {
        vec512 sum[MOST_VECTORS] = {{0}};
        for (int64_t k = A.block_ptr[b]; k < A.block_ptr[b + 1]; k++, values += cells) {
            const vec512 x = load_512(m->x + A.first_col[k], of_x);
#pragma GCC unroll 8
            for (int v = 0; v < n; v++) {
                const real *from = values + v * LANES_512;
                const vec512 a = load_512(from, v + 1 < n ? all : last);
                /* once per cache line; more would delay reads of x */
                if (v == 0 || v + 1 < n) prefetch_ahead(from, PAGE);
                sum[v] = add_product_512(sum[v], a, permute_512(x, at[v]),
                                         entries_512(a) & (v + 1 < n ? all : last));
            }
        }
        for (int v = 0; v < n; v++) memcpy(cell + v * LANES_512, &sum[v], sizeof sum[v]);
        put_block_row(m, b, cell);
    }
}

static AVX512 void blocks_avx512(const product *m, int64_t first, int64_t end) {
    int64_t cells = m->A->shape_rows * m->A->shape_cols;
    switch ((cells + LANES_512 - 1) / LANES_512) {
    case 1: blocks_512(m, first, end, 1); break;
    case 2: blocks_512(m, first, end, 2); break;
    case 3: blocks_512(m, first, end, 3); break;
    case 4: blocks_512(m, first, end, 4); break;
    case 5: blocks_512(m, first, end, 5); break;
    case 6: blocks_512(m, first, end, 6); break;
    case 7: blocks_512(m, first, end, 7); break;
    default: blocks_512(m, first, end, MOST_VECTORS);
    }
}

/* ---- AVX2: x of a block in one register ----------------------------------------------------- */

enum { LANES_256 = 32 / sizeof(real), PARTS = sizeof(real) / 4 };
typedef real vec256 __attribute__((vector_size(32)));

/* All ones in the first `count` lanes. */
AVX2_INLINE __m256i first_lanes_256(int64_t count) {
    const __m256i part = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(count * PARTS)), part);
}

AVX2_INLINE vec256 load_256(const real *from, __m256i lanes) {
    return (vec256)_mm256_maskload_epi32((const void *)from, lanes);
}

/* sum + a x in lanes without padding. Padding adds -0 times 0, because an infinite x would raise an
 * exception. */
AVX2_INLINE vec256 add_product_256(vec256 sum, vec256 a, vec256 x) {
    const __m256i bits = (__m256i)a;
    const __m256i padding = sizeof(real) == 8
                                ? _mm256_cmpeq_epi64(bits, _mm256_set1_epi64x(INT64_MIN))
                                : _mm256_cmpeq_epi32(bits, _mm256_set1_epi32(INT32_MIN));
    return sum + a * (vec256)_mm256_andnot_si256(padding, (__m256i)x);
}

AVX2_INLINE void blocks_256(const product *m, int64_t first, int64_t end, const int n) {
    const bsr A = *m->A;
    const int64_t cells = A.shape_rows * A.shape_cols;
    const __m256i of_x = first_lanes_256(A.shape_cols);
    const __m256i last = first_lanes_256(cells - (n - 1) * LANES_256);
    real cell[MOST_VECTORS * LANES_256] __attribute__((aligned(32)));
    __m256i at[MOST_VECTORS];
    for (int v = 0; v < n; v++) {
        int32_t part[8];
        for (int l = 0; l < 8; l++)
            part[l] = (v * LANES_256 + l / PARTS) % (int)A.shape_cols * PARTS + l % PARTS;
        memcpy(&at[v], part, sizeof part);
    }
    const real *values = A.values + A.block_ptr[first] * cells;
    for (int64_t b = first; b < end; b++) {
        vec256 sum[MOST_VECTORS] = {{0}};
        for (int64_t k = A.block_ptr[b]; k < A.block_ptr[b + 1]; k++, values += cells) {
            const vec256 x = load_256(m->x + A.first_col[k], of_x);
#pragma GCC unroll 8
            for (int v = 0; v < n; v++) {
                const real *from = values + v * LANES_256;
                vec256 a, here = (vec256)_mm256_permutevar8x32_ps((__m256)x, at[v]);
                if (v + 1 < n) {
                    memcpy(&a, from, sizeof a);
                } else {
                    a = load_256(from, last);
                    here = (vec256)_mm256_and_si256((__m256i)here, last);
                }
                if (v % 2 == 0) prefetch_ahead(from, PAGE);
                sum[v] = add_product_256(sum[v], a, here);
            }
        }
        for (int v = 0; v < n; v++) memcpy(cell + v * LANES_256, &sum[v], sizeof sum[v]);
        put_block_row(m, b, cell);
    }
}

static AVX2 void blocks_avx2(const product *m, int64_t first, int64_t end) {
    int64_t cells = m->A->shape_rows * m->A->shape_cols;
    switch ((cells + LANES_256 - 1) / LANES_256) {
    case 1: blocks_256(m, first, end, 1); break;
    case 2: blocks_256(m, first, end, 2); break;
    case 3: blocks_256(m, first, end, 3); break;
    case 4: blocks_256(m, first, end, 4); break;
    case 5: blocks_256(m, first, end, 5); break;
    case 6: blocks_256(m, first, end, 6); break;
    case 7: blocks_256(m, first, end, 7); break;
    default: blocks_256(m, first, end, MOST_VECTORS);
    }
}
#endif

/* ---- the kernel ----------------------------------------------------------------------------- */

static multiply_chunk *choose_way(int64_t isa, const bsr *A) {
#ifdef __x86_64__
    if (isa == ISA_AVX512) return blocks_avx512;
    if (isa == ISA_AVX2 && A->shape_cols <= LANES_256) return blocks_avx2;
#endif
    (void)isa, (void)A;
    return blocks_portable;
}

/* Returns the bytes read and written for block rows before b. */
static int64_t bytes_before(const spmv_store *store, int64_t b) {
    const bsr *A = (const bsr *)store;
    const int64_t cells = A->shape_rows * A->shape_cols, width = (int64_t)sizeof(real);
    return A->block_ptr[b] * (cells * width + 4) + b * A->shape_rows * 3 * width;
}

static spmv_status prepare(spmv_plan *p) {
    const bsr *A = (const bsr *)p->store;
    TRY(choose_isa(p));
    return make_chunks(p, sizeof(chunks), choose_way(p->choice.value[SPMV_isa], A), bytes_before,
                       A->block_rows);
}

static product product_of(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    return (product){(const bsr *)p->store, x, y, alpha, beta};
}

static const spmv_param params[] = {PARAM_ISA, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(bsr_lanes) = {
    .name = "bsr_lanes",
    .format = "bsr",
    .summary = "the cells of a block in vector lanes, equal bytes per thread",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .estimate = estimate_chunks,
    .prepare = prepare,
    .run = run_columns,
    .run_columns = run_columns,
    .release = free_scratch,
};
