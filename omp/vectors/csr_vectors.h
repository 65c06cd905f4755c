/* csr_vectors.h: products of several vectors by csr_balanced. Each entry of the matrix is read once
 * for all columns of a panel; a row's sums stay in registers. All variants sum the even and the odd
 * entries of a row separately, so that a column has the same bits in each.
 *
 * In rows      x[col ldx ..] is loaded as vectors, the last one masked; x is prefetched if most
 *              reads jump between lines, and so are the entries of a large matrix with long rows; z
 *              is written by non-temporal stores if caches could not keep it.
 * In columns   one or two columns of near entries are read in place; otherwise columns of x are
 *              transposed to rows, in memory of the plan, and 32 rows of sums at a time are
 *              transposed back. If chunks of the matrix need few columns beside their own, each
 *              chunk transposes a cache line of each just before its product; otherwise up to 16
 *              columns are transposed for all chunks. */
#pragma once

#include "csr_vectors_panel.h"
#include "omp/isa.h"

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
        prefetch_row(p.A, k);
        sum_direct(&p, k, p.A->row_ptr[i + 1], columns, sum, fuses);
        const int64_t row = place_in(&p, i);
        for (int c = 0; c < columns; c++)
            p.z[c * p.ldz + row] = combined(p.alpha, sum[c], p.beta, p.y + c * p.ldy + row, fuses);
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
#include "csr_vectors_x86.h"

DIRECT_FUNCTIONS(avx2, AVX2, true)

/* Chooses the narrowest vectors that hold the columns, because these read the fewest lines. */
static panel_function *rows_function(int64_t isa, const panel *p) {
    const int columns = p->columns, narrow = 16 / (int)sizeof(real),
              middle = 32 / (int)sizeof(real), wide = 64 / (int)sizeof(real);
    const bool few = columns <= 2 * (isa == ISA_AVX2 ? middle : wide);
    const int prefetch = few && p->prefetches_entries ? PREFETCH_ENTRIES
                         : p->prefetches_x            ? PREFETCH_X
                                                      : PREFETCH_NOTHING;
    if (isa == ISA_PORTABLE) return rows_portable;
    if (columns <= narrow) return rows_128[isa == ISA_AVX512][prefetch];
    if (columns <= middle) return rows_256[isa == ISA_AVX512][prefetch];
    return isa == ISA_AVX2 ? rows_avx2[(columns - 1) / middle][prefetch]
                           : rows_avx512[(columns - 1) / wide][prefetch];
}

static panel_function *direct_function(int64_t isa, int columns) {
    return isa == ISA_PORTABLE ? direct_portable[columns] : direct_avx2[columns];
}

static put_lines_function *way_past(int64_t isa) {
    return isa == ISA_AVX512 ? put_lines_avx512 : isa == ISA_AVX2 ? put_lines_avx2 : NULL;
}

/* Returns the columns of the widest panel. */
static int most_columns(int64_t isa) {
    return MOST_VECTORS * (isa == ISA_AVX512 ? 64 : 32) / (int)sizeof(real);
}

/* Returns the bytes of the vectors used for rows of a cache line or more. */
static size_t vector_bytes(int64_t isa) {
    return isa == ISA_AVX2 ? 32 : 64;
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

static size_t vector_bytes(int64_t isa) {
    (void)isa;
    return 0; /* no non-temporal stores */
}
#endif
