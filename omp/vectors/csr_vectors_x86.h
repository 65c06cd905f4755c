/* csr_vectors_x86.h: the row functions of csr_vectors.h in AVX2 and AVX-512 vectors, with
 * non-temporal stores of columns. */
#pragma once

#include "csr_vectors_panel.h"
#include "masked.h"
#include "omp/squares.h"

/* ---- whole lines past the caches ------------------------------------------------------------- */

SQUARES(real)

enum { LINE_NUMBERS = 64 / sizeof(real) };

/* Buffer for a column: whole cache lines are written, the rest is kept. */
struct lines {
    real kept[BACK + 2 * LINE_NUMBERS] __attribute__((aligned(64)));
    uintptr_t to; /* address of the line of the first element */
    int skip;     /* elements before the first one in that line */
    int n;        /* elements in the buffer, including skip */
};

AVX2_INLINE void begin_lines(lines *l, const real *z) {
    l->skip = l->n = (int)((uintptr_t)z % 64 / sizeof(real));
    l->to = (uintptr_t)z - (uintptr_t)z % 64;
}

AVX2_INLINE int finish_first_line(lines *l) {
    real *to = (real *)l->to;
    if (l->skip == 0) return 0;
    for (int n = l->skip; n < LINE_NUMBERS; n++) to[n] = l->kept[n];
    l->skip = 0;
    return LINE_NUMBERS;
}

#define PUT_LINES(isa, target, put) \
    static target void put_lines_##isa(lines *l) { \
        const int whole = l->n / LINE_NUMBERS * LINE_NUMBERS; \
        real *to = (real *)l->to; \
        if (whole == 0) return; \
        for (int n = finish_first_line(l); n < whole; n += LINE_NUMBERS) put(to + n, l->kept + n); \
        memcpy(l->kept, l->kept + whole, 64); \
        l->to += (size_t)whole * sizeof(real); \
        l->n -= whole; \
    }

AVX2_INLINE void put_line_256(void *to, const void *from) {
    const __m256i first = _mm256_load_si256(from),
                  second = _mm256_load_si256((const void *)((const char *)from + 32));
    _mm256_stream_si256(to, first);
    _mm256_stream_si256((void *)((char *)to + 32), second);
}

AVX512_INLINE void put_line_512(void *to, const void *from) {
    _mm512_stream_si512(to, _mm512_load_si512(from));
}

PUT_LINES(avx2, AVX2, put_line_256)
PUT_LINES(avx512, AVX512, put_line_512)

AVX2_INLINE void end_lines(lines *l, put_lines_function *put) {
    put(l);
    real *to = (real *)l->to;
    for (int n = l->skip; n < l->n; n++) to[n] = l->kept[n];
}

/* Transposes the rows of sums, in squares, into columns: to the buffers for non-temporal stores, or
 * to z. A square that is not full contains old sums beyond its rows, which are ignored. */
AVX2_INLINE void put_squares(const panel *p, turned_back *t, lines *out) {
    if (p->order || (!p->past && t->n < BACK)) {
        put_back(p, t, true);
        return;
    }
    for (int c = 0; c < p->columns; c += 4)
        for (int r = 0; r < t->n; r += 4) {
            four_real v[4];
            for (int l = 0; l < 4; l++) v[l] = *(const four_real *)(t->sum[r + l] + c);
            transpose_square_real(v);
            for (int l = 0; l < 4 && c + l < p->columns; l++) {
                real *z = p->z + (c + l) * p->ldz + t->first + r;
                const real *y = p->y + (c + l) * p->ldy + t->first + r;
                four_real sum = p->alpha * v[l];
                __asm__("" : "+x"(sum)); /* so that the other product is fused */
                if (p->beta != 0) sum += p->beta * *(const four_real *)y;
                *(four_real *)(p->past ? out[c + l].kept + out[c + l].n + r : z) = sum;
            }
        }
    for (int c = 0; p->past && c < p->columns; c++) {
        out[c].n += t->n;
        p->past(&out[c]);
    }
    t->first += t->n;
    t->n = 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Functions for rows of n vectors of a width and instruction set, the last of which is whole or has
 * `rest` elements. Their arguments are constants in the calls, so that each combination has its own
 * loop with few instructions per row. */

#define ROW_FUNCTIONS(width, set, INLINE) \
    INLINE void sum_row_##width##_##set(const csr *A, const real *x, int64_t ldx, int64_t k, \
                                        int64_t end, const int n, const bool whole, \
                                        const int rest, const int prefetch, bool prefetches_x, \
                                        vec##width *sum) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        const int64_t begin = k, behind = A->s.nnz - ASKED; \
        vec##width even[MOST_VECTORS], odd[MOST_VECTORS]; \
        for (int v = 0; v < n; v++) even[v] = odd[v] = (vec##width){0}; \
        for (; k + 1 < end; k += 2) { \
            const real *even_x = x + A->col_idx[k] * ldx, *odd_x = x + A->col_idx[k + 1] * ldx; \
            if (prefetch == PREFETCH_ENTRIES) { \
                prefetch_ahead(A->values + k, HALF_PAGE); \
                prefetch_ahead(A->col_idx + k, HALF_PAGE / 2); \
            } \
            if ((prefetch == PREFETCH_X || (prefetch == PREFETCH_ENTRIES && prefetches_x)) && \
                k + 1 < behind) \
                for (int v = 0; v < n; v += 64 / (int)sizeof(vec##width)) { \
                    __builtin_prefetch(x + A->col_idx[k + ASKED] * ldx + v * LANES); \
                    __builtin_prefetch(x + A->col_idx[k + 1 + ASKED] * ldx + v * LANES); \
                } \
            _Pragma("GCC unroll 4") for (int v = 0; v < n; v++) { \
                const bool all = v < n - 1 || whole; \
                even[v] += A->values[k] * load_##width##_##set(all, rest, even_x + v * LANES); \
                odd[v] += A->values[k + 1] * load_##width##_##set(all, rest, odd_x + v * LANES); \
            } \
        } \
        if (n == 1 && begin < end) { /* without a branch, which would be mispredicted */ \
            const int64_t at = end - 1; \
            const vec##width more = \
                even[0] + \
                A->values[at] * load_##width##_##set(whole, rest, x + A->col_idx[at] * ldx); \
            even[0] = chosen_##width##_##set((end - begin) % 2, more, even[0]); \
        } else if (n > 1 && k < end) { \
            const real *even_x = x + A->col_idx[k] * ldx; \
            _Pragma("GCC unroll 4") for (int v = 0; v < n; v++) even[v] += \
                A->values[k] * load_##width##_##set(v < n - 1 || whole, rest, even_x + v * LANES); \
        } \
        _Pragma("GCC unroll 4") for (int v = 0; v < n; v++) sum[v] = even[v] + odd[v]; \
    } \
    INLINE void put_row_##width##_##set(const panel *p, int64_t row, const int n, \
                                        const bool whole, const int rest, const vec##width *sum) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        real *z = p->z + row * p->ldz; \
        const real *y = p->y + row * p->ldy; \
        for (int v = 0; v < n; v++, z += LANES, y += LANES) { \
            const bool all = v < n - 1 || whole; \
            vec##width out = p->alpha * sum[v]; \
            __asm__("" : "+v"(out)); /* as in put_squares */ \
            if (p->beta != 0) out += p->beta * load_##width##_##set(all, rest, y); \
            put_##width##_##set(all, rest, z, out); \
        } \
    } \
    INLINE void in_rows_##width##_##set(const panel *given, const share *s, real *carried, \
                                        const int n, const bool whole, const int prefetch) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        const panel p = *given; \
        const csr A = *p.A; \
        const int rest = p.columns - (n - 1) * LANES; \
        const int64_t last = s->last, end = s->end; \
        vec##width sum[MOST_VECTORS]; \
        int64_t k = s->k; \
        for (int64_t i = s->first; i < last; k = A.row_ptr[++i]) { \
            prefetch_row(&A, k); \
            sum_row_##width##_##set(&A, p.x, p.ldx, k, A.row_ptr[i + 1], n, whole, rest, prefetch, \
                                    p.prefetches_x, sum); \
            if (!whole || !p.streams) \
                put_row_##width##_##set(&p, place_in(&p, i), n, whole, rest, sum); \
            else \
                for (int v = 0; v < n; v++) \
                    stream_##width(p.z + i * p.ldz + v * LANES, p.alpha * sum[v]); \
        } \
        if (p.streams) _mm_sfence(); \
        sum_row_##width##_##set(&A, p.x, p.ldx, k, end, n, whole, rest, prefetch, p.prefetches_x, \
                                sum); \
        memcpy(carried, sum, (size_t)p.columns * sizeof *carried); \
    } \
    INLINE void in_columns_##width##_##set(const panel *given, const share *s, real *carried, \
                                           const int n, const bool whole, const int prefetch) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        const panel p = *given; \
        const csr A = *p.A; \
        const int rest = p.columns - (n - 1) * LANES; \
        turned_back back; \
        lines out[TURNED]; \
        vec##width sum[MOST_VECTORS]; \
        int64_t k = s->k; \
        memset(&back, 0, sizeof back); \
        back.first = s->first; \
        for (int c = 0; p.past && c < p.columns; c++) \
            begin_lines(&out[c], p.z + c * p.ldz + s->first); \
        for (int64_t i = s->first; i < s->last; k = A.row_ptr[++i]) { \
            prefetch_row(&A, k); \
            sum_row_##width##_##set(&A, p.x, p.ldx, k, A.row_ptr[i + 1], n, whole, rest, prefetch, \
                                    p.prefetches_x, sum); \
            memcpy(back.sum[back.n], sum, (size_t)n * sizeof *sum); \
            if (++back.n == BACK) put_squares(&p, &back, out); \
        } \
        put_squares(&p, &back, out); \
        for (int c = 0; p.past && c < p.columns; c++) end_lines(&out[c], p.past); \
        if (p.past) _mm_sfence(); \
        sum_row_##width##_##set(&A, p.x, p.ldx, k, s->end, n, whole, rest, prefetch, \
                                p.prefetches_x, sum); \
        memcpy(carried, sum, (size_t)p.columns * sizeof *carried); \
    } \
    INLINE void multiply_##width##_##set(const panel *p, const share *s, real *carried, \
                                         const int n, const int prefetch) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        const bool whole = p->columns == n * LANES; \
        if (n * LANES <= TURNED && p->in_columns && whole) \
            in_columns_##width##_##set(p, s, carried, n, true, prefetch); \
        else if (n * LANES <= TURNED && p->in_columns) \
            in_columns_##width##_##set(p, s, carried, n, false, prefetch); \
        else if (whole) \
            in_rows_##width##_##set(p, s, carried, n, true, prefetch); \
        else \
            in_rows_##width##_##set(p, s, carried, n, false, prefetch); \
    }

#define ROWS_PREFETCHING(width, set, n, target, prefetch) \
    static target void rows_##width##_##set##_##n##_##prefetch(const panel *p, const share *s, \
                                                               real *carried) { \
        multiply_##width##_##set(p, s, carried, n, prefetch); \
    }
/* FEW and MANY define the functions for a number of vectors and their table, indexed by what they
 * prefetch. For many vectors entries, being few bytes, are not prefetched. */
#define MANY(width, set, n, target) \
    ROWS_PREFETCHING(width, set, n, target, PREFETCH_NOTHING) \
    ROWS_PREFETCHING(width, set, n, target, PREFETCH_X) \
    static panel_function *const rows_##width##_##set##_##n[] = { \
        rows_##width##_##set##_##n##_PREFETCH_NOTHING, rows_##width##_##set##_##n##_PREFETCH_X};
#define FEW(width, set, n, target) \
    ROWS_PREFETCHING(width, set, n, target, PREFETCH_NOTHING) \
    ROWS_PREFETCHING(width, set, n, target, PREFETCH_X) \
    ROWS_PREFETCHING(width, set, n, target, PREFETCH_ENTRIES) \
    static panel_function *const rows_##width##_##set##_##n[] = { \
        rows_##width##_##set##_##n##_PREFETCH_NOTHING, rows_##width##_##set##_##n##_PREFETCH_X, \
        rows_##width##_##set##_##n##_PREFETCH_ENTRIES};

ROW_FUNCTIONS(128, avx2, AVX2_INLINE)
ROW_FUNCTIONS(256, avx2, AVX2_INLINE)
ROW_FUNCTIONS(128, avx512, AVX512_INLINE)
ROW_FUNCTIONS(256, avx512, AVX512_INLINE)
ROW_FUNCTIONS(512, avx512, AVX512_INLINE)
FEW(128, avx2, 1, AVX2)
FEW(256, avx2, 1, AVX2)
FEW(256, avx2, 2, AVX2)
MANY(256, avx2, 3, AVX2)
MANY(256, avx2, 4, AVX2)
FEW(128, avx512, 1, AVX512)
FEW(256, avx512, 1, AVX512)
FEW(512, avx512, 1, AVX512)
FEW(512, avx512, 2, AVX512)
MANY(512, avx512, 3, AVX512)
MANY(512, avx512, 4, AVX512)

/* The first two tables are indexed by instruction set, the others by the number of vectors. */
typedef panel_function *const *asking_functions;
static const asking_functions rows_128[] = {rows_128_avx2_1, rows_128_avx512_1},
                              rows_256[] = {rows_256_avx2_1, rows_256_avx512_1},
                              rows_avx2[] = {rows_256_avx2_1, rows_256_avx2_2, rows_256_avx2_3,
                                             rows_256_avx2_4},
                              rows_avx512[] = {rows_512_avx512_1, rows_512_avx512_2,
                                               rows_512_avx512_3, rows_512_avx512_4};
