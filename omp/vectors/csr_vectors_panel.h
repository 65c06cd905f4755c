/* csr_vectors_panel.h: shared by all variants of csr_vectors.h: a panel of columns of a product of
 * several vectors, and the store of the sums of its rows. */
#pragma once

#include "omp/isa.h"
#include "omp/csr/csr_shares.h"

enum {
    TURNED = 16,      /* most columns transposed at a time */
    DIRECT = 2,       /* most columns read in place */
    BACK = 32,        /* rows transposed back at a time */
    MOST_VECTORS = 4, /* registers for the even entries' sums of a row, and for the odd ones' */
    MOST_COLUMNS = MOST_VECTORS * 64 / sizeof(real), /* columns of the widest panel */
    ASKED = 16                                       /* prefetch distance of x in entries */
};

/* What a function prefetches; PREFETCH_ENTRIES includes x if the panel says so. */
enum { PREFETCH_NOTHING, PREFETCH_X, PREFETCH_ENTRIES };

typedef struct lines lines;
typedef void put_lines_function(lines *l); /* writes whole cache lines */

typedef struct panel { /* some columns of a product z <- alpha A x + beta y */
    const csr *A;
    const real *x, *y;
    real *z;
    int64_t ldx, ldy, ldz;
    real alpha, beta;
    int columns;
    bool in_columns;          /* y and z are in columns; x is in rows, unless it is read in place */
    bool prefetches_entries;  /* prefetch all entries */
    bool prefetches_x;        /* prefetch rows of x */
    bool streams;             /* write rows of z by non-temporal stores (whole and aligned) */
    put_lines_function *past; /* non-temporal stores of columns of z; NULL: ordinary ones */
    const idx *order;         /* rows of y and z of the rows of A; NULL: the same */
} panel;

static inline __attribute__((always_inline)) int64_t place_in(const panel *p, int64_t i) {
    return p->order ? p->order[i] : i;
}

/* Multiplies a share or chunk of a panel; carried receives the carry of each column. */
typedef void panel_function(const panel *p, const share *s, real *carried);

/* Prefetches entries, once per row, the first of which is k; nearer ones of long rows are on their
 * way. */
static inline __attribute__((always_inline)) void prefetch_row(const csr *A, int64_t k) {
    prefetch_ahead(A->values + k, PAGE);
    prefetch_ahead(A->col_idx + k, HALF_PAGE);
}

/* ---- where sums go --------------------------------------------------------------------------- */

/* a b + c is fused explicitly if the processor can, because compilers fuse in some loops only, and
 * columns must have equal bits in all. */
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

static inline __attribute__((always_inline)) void put_sums(const panel *p, int64_t i,
                                                           const real *sum) {
    const int64_t row = place_in(p, i);
    real *z = p->z + row * p->ldz;
    const real *y = p->y + row * p->ldy;
    for (int c = 0; c < p->columns; c++)
        z[c] = combined(p->alpha, sum[c], p->beta, y + c, PORTABLE_FUSES);
}

typedef struct turned_back { /* rows of sums that are transposed to columns together */
    real sum[BACK][TURNED];
    int64_t first;
    int n;
} turned_back;

static inline __attribute__((always_inline)) void put_back(const panel *p, turned_back *t,
                                                           const bool fuses) {
    for (int c = 0; p->order && c < p->columns; c++)
        for (int r = 0; r < t->n; r++) {
            const int64_t row = p->order[t->first + r];
            p->z[c * p->ldz + row] =
                combined(p->alpha, t->sum[r][c], p->beta, p->y + c * p->ldy + row, fuses);
        }
    for (int c = 0; !p->order && c < p->columns; c++) {
        real *z = p->z + c * p->ldz + t->first;
        const real *y = p->y + c * p->ldy + t->first;
        for (int r = 0; r < t->n; r++)
            z[r] = combined(p->alpha, t->sum[r][c], p->beta, y + r, fuses);
    }
    t->first += t->n;
    t->n = 0;
}
