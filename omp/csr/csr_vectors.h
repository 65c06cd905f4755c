/* csr_vectors.h: several vectors at a time by csr_balanced. Each number of the matrix is read once
 * for all columns of a panel; a row's sums are in registers. All ways that are here add the even
 * and the odd entries of a row apart, so that a column has the same bits whichever way it is
 * multiplied.
 *
 * In rows      x[col ldx ..] is loaded as vectors, the last one under a mask; where most reads jump
 *              from line to line they are asked for some entries ahead, and so are all entries of
 *              a large matrix with long rows; z is written past the caches where these could not
 *              keep it.
 * In columns   one or two columns of near entries are read where they lie; otherwise eight columns
 *              of x at a time are turned into rows, in memory of the plan, and 32 rows of sums at a
 *              time are turned back.
 */
#pragma once

#include "omp/carry.h"
#include "omp/squares.h"
#include "formats/csr/csr.h"

typedef struct share { /* rows first..last - 1 end in it, entries k..end - 1 */
    int64_t first, last, k, end;
    int64_t begun; /* the row last, if the share has some of it; else -1 */
} share;

enum {
    TURNED = 16,      /* columns that are turned into rows at a time, at most */
    DIRECT = 2,       /* columns that are read where they lie, at most */
    BACK = 32,        /* rows that are turned back at a time */
    MOST_VECTORS = 4, /* registers for a row's even entries, as many for its odd ones */
    MOST_COLUMNS = MOST_VECTORS * 64 / sizeof(real), /* columns of the widest panel */
    ASKED = 16                                       /* entries that x is asked for ahead */
};

/* Says what a function asks for ahead: with the entries it asks for x, too, if the panel does. */
enum { ASK_NOTHING, ASK_X, ASK_ENTRIES };

typedef struct lines lines;
typedef void put_lines_function(lines *l); /* writes whole lines */

typedef struct panel { /* some columns of a product z <- alpha A x + beta y */
    const csr *A;
    const real *x, *y;
    real *z;
    int64_t ldx, ldy, ldz;
    real alpha, beta;
    int columns;
    bool in_columns;          /* y and z; x is in rows, unless it is read directly */
    bool asks_entries;        /* all entries are asked for ahead */
    bool asks_x;              /* rows of x are */
    bool streams;             /* whole rows of z, aligned, go past the caches */
    put_lines_function *past; /* how columns of z go past the caches; NULL: they do not */
} panel;

/* Multiplies one share of a panel, and leaves what it has of row begun in carried. */
typedef void panel_function(const panel *p, const share *s, real *carried);

/* ---- where sums go --------------------------------------------------------------------------- */

/* Compilers fuse a product with a sum as they see fit, in loops otherwise than beside them. So that
 * columns have the same bits everywhere it is written which ones are: all, where the processor can.
 */
#ifdef __FP_FAST_FMA
enum { PORTABLE_FUSES = true };
#else
enum { PORTABLE_FUSES = false };
#endif

static inline __attribute__((always_inline)) real added(real a, real b, real sum,
                                                        const bool fuses) {
    if (!fuses) return a * b + sum;
    return sizeof(real) == sizeof(double) ? (real)__builtin_fma(a, b, sum)
                                          : (real)__builtin_fmaf((float)a, (float)b, (float)sum);
}

static inline __attribute__((always_inline)) real combined(real alpha, real sum, real beta,
                                                           const real *y, const bool fuses) {
    const real scaled = alpha * sum;
    return beta == 0 ? scaled : added(beta, *y, scaled, fuses);
}

static inline __attribute__((always_inline)) void put_sums(const panel *p, int64_t row,
                                                           const real *sum) {
    real *z = p->z + row * p->ldz;
    const real *y = p->y + row * p->ldy;
    for (int c = 0; c < p->columns; c++)
        z[c] = combined(p->alpha, sum[c], p->beta, y + c, PORTABLE_FUSES);
}

typedef struct turned_back { /* rows of sums that go into columns together */
    real sum[BACK][TURNED];
    int64_t first;
    int n;
} turned_back;

static inline __attribute__((always_inline)) void put_back(const panel *p, turned_back *t,
                                                           const bool fuses) {
    for (int c = 0; c < p->columns; c++) {
        real *z = p->z + c * p->ldz + t->first;
        const real *y = p->y + c * p->ldy + t->first;
        for (int r = 0; r < t->n; r++)
            z[r] = combined(p->alpha, t->sum[r][c], p->beta, y + r, fuses);
    }
    t->first += t->n;
    t->n = 0;
}

/* ---- columns where they lie ------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void
sum_direct(const panel *p, int64_t k, int64_t end, const int columns, real *sum, const bool fuses) {
    const idx *col = p->A->col_idx;
    const real *value = p->A->values, *x = p->x;
    real even[DIRECT] = {0}, odd[DIRECT] = {0};
    for (; k + 1 < end; k += 2)
        for (int c = 0; c < columns; c++) {
            even[c] = added(value[k], x[c * p->ldx + col[k]], even[c], fuses);
            odd[c] = added(value[k + 1], x[c * p->ldx + col[k + 1]], odd[c], fuses);
        }
    for (int c = 0; k < end && c < columns; c++)
        even[c] = added(value[k], x[c * p->ldx + col[k]], even[c], fuses);
    for (int c = 0; c < columns; c++) sum[c] = even[c] + odd[c];
}

static inline __attribute__((always_inline)) void share_direct(const panel *given, const share *s,
                                                               real *carried, const int columns,
                                                               const bool fuses) {
    const panel p = *given;
    int64_t k = s->k;
    for (int64_t i = s->first; i < s->last; k = p.A->row_ptr[++i]) {
        real sum[DIRECT];
        ask_ahead(p.A->values + k, HALF_PAGE);
        ask_ahead(p.A->col_idx + k, HALF_PAGE / 2);
        sum_direct(&p, k, p.A->row_ptr[i + 1], columns, sum, fuses);
        for (int c = 0; c < columns; c++)
            p.z[c * p.ldz + i] = combined(p.alpha, sum[c], p.beta, p.y + c * p.ldy + i, fuses);
    }
    sum_direct(&p, k, s->end, columns, carried, fuses);
}

#define DIRECT_FUNCTIONS(isa, target, fuses) \
    static target void direct_1_##isa(const panel *p, const share *s, real *carried) { \
        share_direct(p, s, carried, 1, fuses); \
    } \
    static target void direct_2_##isa(const panel *p, const share *s, real *carried) { \
        share_direct(p, s, carried, 2, fuses); \
    } \
    static panel_function *const direct_##isa[DIRECT + 1] = {NULL, direct_1_##isa, direct_2_##isa};

/* ---- rows, in portable C --------------------------------------------------------------------- */

static inline void sum_portable(const panel *p, int64_t k, int64_t end, real *sum) {
    const idx *col = p->A->col_idx;
    const real *value = p->A->values;
    real odd[MOST_COLUMNS];
    for (int c = 0; c < p->columns; c++) sum[c] = odd[c] = 0;
    for (; k + 1 < end; k += 2) {
        const real *x = p->x + col[k] * p->ldx, *other = p->x + col[k + 1] * p->ldx;
        for (int c = 0; c < p->columns; c++) {
            sum[c] = added(value[k], x[c], sum[c], PORTABLE_FUSES);
            odd[c] = added(value[k + 1], other[c], odd[c], PORTABLE_FUSES);
        }
    }
    if (k < end)
        for (int c = 0; c < p->columns; c++)
            sum[c] = added(value[k], p->x[col[k] * p->ldx + c], sum[c], PORTABLE_FUSES);
    for (int c = 0; c < p->columns; c++) sum[c] += odd[c];
}

static void rows_portable(const panel *p, const share *s, real *carried) {
    turned_back back = {.first = s->first};
    int64_t k = s->k;
    for (int64_t i = s->first; i < s->last; k = p->A->row_ptr[++i]) {
        real sum[MOST_COLUMNS];
        sum_portable(p, k, p->A->row_ptr[i + 1], p->in_columns ? back.sum[back.n] : sum);
        if (!p->in_columns)
            put_sums(p, i, sum);
        else if (++back.n == BACK)
            put_back(p, &back, PORTABLE_FUSES);
    }
    put_back(p, &back, PORTABLE_FUSES);
    sum_portable(p, k, s->end, carried);
}

DIRECT_FUNCTIONS(portable, , PORTABLE_FUSES)

#ifdef __x86_64__
/* ---- rows, in vectors ------------------------------------------------------------------------ */

typedef real vec128 __attribute__((vector_size(16), aligned(sizeof(real))));
typedef real vec256 __attribute__((vector_size(32), aligned(sizeof(real))));
typedef real vec512 __attribute__((vector_size(64), aligned(sizeof(real))));

/* Load and store `there` numbers of a vector, or all where it is whole; what is not there is 0, and
 * is not written. chosen: the first of two vectors, or the other, without a branch. */
AVX2_INLINE vec128 load_128_avx2(const bool whole, int there, const real *from) {
    if (whole) return *(const vec128 *)from;
    if (sizeof(real) == sizeof(double)) {
        const __m128i mask = _mm_cmpgt_epi64(_mm_set1_epi64x(there), _mm_set_epi64x(1, 0));
        return (vec128)_mm_maskload_pd((const double *)(const void *)from, mask);
    }
    const __m128i mask = _mm_cmpgt_epi32(_mm_set1_epi32(there), _mm_set_epi32(3, 2, 1, 0));
    return (vec128)_mm_maskload_ps((const float *)(const void *)from, mask);
}

AVX2_INLINE vec256 load_256_avx2(const bool whole, int there, const real *from) {
    if (whole) return *(const vec256 *)from;
    if (sizeof(real) == sizeof(double)) {
        const __m256i mask =
            _mm256_cmpgt_epi64(_mm256_set1_epi64x(there), _mm256_set_epi64x(3, 2, 1, 0));
        return (vec256)_mm256_maskload_pd((const double *)(const void *)from, mask);
    }
    const __m256i mask =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(there), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    return (vec256)_mm256_maskload_ps((const float *)(const void *)from, mask);
}

/* A store of AVX2 with a mask takes tens of cycles on some processors: numbers go one by one. */
#define PUT_AND_CHOOSE_AVX2(width, blend) \
    AVX2_INLINE void put_##width##_avx2(const bool whole, int there, real *to, vec##width v) { \
        real numbers[sizeof v / sizeof(real)]; \
        if (whole) { \
            *(vec##width *)to = v; \
            return; \
        } \
        memcpy(numbers, &v, sizeof v); \
        for (int c = 0; c < there; c++) to[c] = numbers[c]; \
    } \
    AVX2_INLINE vec##width chosen_##width##_avx2(bool first, vec##width a, vec##width b) { \
        typedef int64_t bits __attribute__((vector_size(width / 8))); \
        const bits mask = (bits){0} - (int64_t)first; \
        return (vec##width)blend((__m##width##d)b, (__m##width##d)a, (__m##width##d)mask); \
    }
PUT_AND_CHOOSE_AVX2(128, _mm_blendv_pd)
PUT_AND_CHOOSE_AVX2(256, _mm256_blendv_pd)

/* AVX-512 has masks of its own, which cost nothing, for vectors of every width. */
#define LOAD_PUT_CHOOSE_AVX512(width, prefix, mask_of_floats) \
    AVX512_INLINE vec##width load_##width##_avx512(const bool whole, int there, \
                                                   const real *from) { \
        const unsigned mask = (1U << there) - 1; \
        if (whole) return *(const vec##width *)from; \
        return sizeof(real) == sizeof(double) \
                   ? (vec##width)prefix##_maskz_loadu_pd((__mmask8)mask, from) \
                   : (vec##width)prefix##_maskz_loadu_ps((mask_of_floats)mask, from); \
    } \
    AVX512_INLINE void put_##width##_avx512(const bool whole, int there, real *to, vec##width v) { \
        const unsigned mask = (1U << there) - 1; \
        if (whole) \
            *(vec##width *)to = v; \
        else if (sizeof(real) == sizeof(double)) \
            prefix##_mask_storeu_pd(to, (__mmask8)mask, (__m##width##d)v); \
        else \
            prefix##_mask_storeu_ps(to, (mask_of_floats)mask, (__m##width)v); \
    } \
    AVX512_INLINE vec##width chosen_##width##_avx512(bool first, vec##width a, vec##width b) { \
        return (vec##width)prefix##_mask_mov_pd((__m##width##d)b, (__mmask8)(0 - first), \
                                                (__m##width##d)a); \
    }
LOAD_PUT_CHOOSE_AVX512(128, _mm, __mmask8)
LOAD_PUT_CHOOSE_AVX512(256, _mm256, __mmask8)
LOAD_PUT_CHOOSE_AVX512(512, _mm512, __mmask16)

/* ---- whole lines past the caches ------------------------------------------------------------- */

SQUARES(real)

enum { LINE_NUMBERS = 64 / sizeof(real) };

/* Numbers of a column on their way: those of whole lines are written, and the rest is kept. */
struct lines {
    real kept[BACK + 2 * LINE_NUMBERS] __attribute__((aligned(64)));
    uintptr_t to; /* the line in which the first one belongs */
    int skip;     /* numbers in front of it in that line */
    int n;        /* with these */
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

/* Turns all that there is, in whole squares, into columns of lines: past the caches, or where they
 * lie. Squares that are not full have sums of earlier rows, or none, behind their rows. */
AVX2_INLINE void put_squares(const panel *p, turned_back *t, lines *out) {
    if (!p->past && t->n < BACK) {
        put_back(p, t, true);
        return;
    }
    for (int c = 0; c < p->columns; c += 4)
        for (int r = 0; r < t->n; r += 4) {
            four_real v[4];
            for (int l = 0; l < 4; l++) v[l] = *(const four_real *)(t->sum[r + l] + c);
            turn_square_real(v);
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

AVX2_INLINE void stream_128(real *to, vec128 v) {
    _mm_stream_si128((__m128i *)(void *)to, (__m128i)v);
}
AVX2_INLINE void stream_256(real *to, vec256 v) {
    _mm256_stream_si256((__m256i *)(void *)to, (__m256i)v);
}
AVX512_INLINE void stream_512(real *to, vec512 v) {
    _mm512_stream_si512((void *)to, (__m512i)v);
}

/* Functions for rows of n vectors of a width by an instruction set, of which the last is whole or
 * holds `rest` numbers. Their arguments are constants where they are called, so that each way has a
 * loop of its own, whose row costs few instructions. */

#define ROW_FUNCTIONS(width, set, INLINE) \
    INLINE void sum_row_##width##_##set( \
        const csr *A, const real *x, int64_t ldx, int64_t k, int64_t end, const int n, \
        const bool whole, const int rest, const int asks, bool asks_x, vec##width *sum) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        const int64_t begin = k, behind = A->s.nnz - ASKED; \
        vec##width even[MOST_VECTORS], odd[MOST_VECTORS]; \
        for (int v = 0; v < n; v++) even[v] = odd[v] = (vec##width){0}; \
        for (; k + 1 < end; k += 2) { \
            const real *even_x = x + A->col_idx[k] * ldx, *odd_x = x + A->col_idx[k + 1] * ldx; \
            if (asks == ASK_ENTRIES) { \
                ask_ahead(A->values + k, HALF_PAGE); \
                ask_ahead(A->col_idx + k, HALF_PAGE / 2); \
            } \
            if ((asks == ASK_X || (asks == ASK_ENTRIES && asks_x)) && k + 1 < behind) \
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
        if (n == 1 && begin < end) { /* no branch, which none could guess: it may count or not */ \
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
                                        const int n, const bool whole, const int asks) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        const panel p = *given; \
        const csr A = *p.A; \
        const int rest = p.columns - (n - 1) * LANES; \
        const int64_t last = s->last, end = s->end; \
        vec##width sum[MOST_VECTORS]; \
        int64_t k = s->k; \
        for (int64_t i = s->first; i < last; k = A.row_ptr[++i]) { \
            ask_ahead(A.values + k, HALF_PAGE); \
            ask_ahead(A.col_idx + k, HALF_PAGE / 2); \
            sum_row_##width##_##set(&A, p.x, p.ldx, k, A.row_ptr[i + 1], n, whole, rest, asks, \
                                    p.asks_x, sum); \
            if (!whole || !p.streams) \
                put_row_##width##_##set(&p, i, n, whole, rest, sum); \
            else \
                for (int v = 0; v < n; v++) \
                    stream_##width(p.z + i * p.ldz + v * LANES, p.alpha * sum[v]); \
        } \
        if (p.streams) _mm_sfence(); \
        sum_row_##width##_##set(&A, p.x, p.ldx, k, end, n, whole, rest, asks, p.asks_x, sum); \
        memcpy(carried, sum, (size_t)p.columns * sizeof *carried); \
    } \
    INLINE void in_columns_##width##_##set(const panel *given, const share *s, real *carried, \
                                           const int n, const bool whole, const int asks) { \
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
            ask_ahead(A.values + k, HALF_PAGE); \
            ask_ahead(A.col_idx + k, HALF_PAGE / 2); \
            sum_row_##width##_##set(&A, p.x, p.ldx, k, A.row_ptr[i + 1], n, whole, rest, asks, \
                                    p.asks_x, sum); \
            memcpy(back.sum[back.n], sum, (size_t)n * sizeof *sum); \
            if (++back.n == BACK) put_squares(&p, &back, out); \
        } \
        put_squares(&p, &back, out); \
        for (int c = 0; p.past && c < p.columns; c++) end_lines(&out[c], p.past); \
        if (p.past) _mm_sfence(); \
        sum_row_##width##_##set(&A, p.x, p.ldx, k, s->end, n, whole, rest, asks, p.asks_x, sum); \
        memcpy(carried, sum, (size_t)p.columns * sizeof *carried); \
    } \
    INLINE void multiply_##width##_##set(const panel *p, const share *s, real *carried, \
                                         const int n, const int asks) { \
        enum { LANES = sizeof(vec##width) / sizeof(real) }; \
        const bool whole = p->columns == n * LANES; \
        if (n * LANES <= TURNED && p->in_columns && whole) \
            in_columns_##width##_##set(p, s, carried, n, true, asks); \
        else if (n * LANES <= TURNED && p->in_columns) \
            in_columns_##width##_##set(p, s, carried, n, false, asks); \
        else if (whole) \
            in_rows_##width##_##set(p, s, carried, n, true, asks); \
        else \
            in_rows_##width##_##set(p, s, carried, n, false, asks); \
    }

#define ROWS_ASKING(width, set, n, target, asks) \
    static target void rows_##width##_##set##_##n##_##asks(const panel *p, const share *s, \
                                                           real *carried) { \
        multiply_##width##_##set(p, s, carried, n, asks); \
    }
/* FEW and MANY make the functions of a number of vectors, and the table of them by what they ask
 * for ahead. Of many vectors the entries are not asked for: they take less than the vectors do. */
#define MANY(width, set, n, target) \
    ROWS_ASKING(width, set, n, target, ASK_NOTHING) \
    ROWS_ASKING(width, set, n, target, ASK_X) \
    static panel_function *const rows_##width##_##set##_##n[] = { \
        rows_##width##_##set##_##n##_ASK_NOTHING, rows_##width##_##set##_##n##_ASK_X};
#define FEW(width, set, n, target) \
    ROWS_ASKING(width, set, n, target, ASK_NOTHING) \
    ROWS_ASKING(width, set, n, target, ASK_X) \
    ROWS_ASKING(width, set, n, target, ASK_ENTRIES) \
    static panel_function *const rows_##width##_##set##_##n[] = { \
        rows_##width##_##set##_##n##_ASK_NOTHING, rows_##width##_##set##_##n##_ASK_X, \
        rows_##width##_##set##_##n##_ASK_ENTRIES};

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
DIRECT_FUNCTIONS(avx2, AVX2, true)

/* The first two tables are by instruction set, AVX2 and AVX-512, the others by the number of
 * vectors. */
typedef panel_function *const *asking_functions;
static const asking_functions rows_128[] = {rows_128_avx2_1, rows_128_avx512_1},
                              rows_256[] = {rows_256_avx2_1, rows_256_avx512_1},
                              rows_avx2[] = {rows_256_avx2_1, rows_256_avx2_2, rows_256_avx2_3,
                                             rows_256_avx2_4},
                              rows_avx512[] = {rows_512_avx512_1, rows_512_avx512_2,
                                               rows_512_avx512_3, rows_512_avx512_4};

/* The narrowest vectors that hold the columns, for the fewest lines are read then. */
static panel_function *rows_function(int64_t isa, const panel *p) {
    const int columns = p->columns, narrow = 16 / (int)sizeof(real),
              middle = 32 / (int)sizeof(real), wide = 64 / (int)sizeof(real);
    const bool few = columns <= 2 * (isa == ISA_AVX2 ? middle : wide);
    const int asks = few && p->asks_entries ? ASK_ENTRIES : p->asks_x ? ASK_X : ASK_NOTHING;
    if (isa == ISA_PORTABLE) return rows_portable;
    if (columns <= narrow) return rows_128[isa == ISA_AVX512][asks];
    if (columns <= middle) return rows_256[isa == ISA_AVX512][asks];
    return isa == ISA_AVX2 ? rows_avx2[(columns - 1) / middle][asks]
                           : rows_avx512[(columns - 1) / wide][asks];
}

static panel_function *direct_function(int64_t isa, int columns) {
    return isa == ISA_PORTABLE ? direct_portable[columns] : direct_avx2[columns];
}

static put_lines_function *way_past(int64_t isa) {
    return isa == ISA_AVX512 ? put_lines_avx512 : isa == ISA_AVX2 ? put_lines_avx2 : NULL;
}

/* Columns of the widest panel. */
static int most_columns(int64_t isa) {
    return MOST_VECTORS * (isa == ISA_AVX512 ? 64 : 32) / (int)sizeof(real);
}

/* Bytes of the vectors in which that many columns are. */
static size_t vector_bytes(int64_t isa, int columns) {
    const size_t bytes = (size_t)columns * sizeof(real);
    return bytes <= 16 ? 16 : bytes <= 32 || isa == ISA_AVX2 ? 32 : 64;
}
#else
static panel_function *rows_function(int64_t isa, const panel *p) {
    (void)isa, (void)p;
    return rows_portable;
}

static panel_function *direct_function(int64_t isa, int columns) {
    (void)isa;
    return direct_portable[columns];
}

static put_lines_function *way_past(int64_t isa) {
    (void)isa;
    return NULL;
}

static int most_columns(int64_t isa) {
    (void)isa;
    return MOST_COLUMNS;
}

static size_t vector_bytes(int64_t isa, int columns) {
    (void)isa, (void)columns;
    return 0; /* there is no way past the caches */
}
#endif
