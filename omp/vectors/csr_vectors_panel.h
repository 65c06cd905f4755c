/* csr_vectors_panel.h: a panel of columns of a product of several vectors, and where the sums of
 * its rows go: what all ways of csr_vectors.h share. */
#pragma once

#include "omp/isa.h"
#include "omp/csr/csr_shares.h"

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

/* Multiplies a share of a panel, or a chunk of it, and leaves in carried, for each column,
 * what it begins of a row. */
typedef void panel_function(const panel *p, const share *s, real *carried);

/* Asks for some entries, once for each row, of which k is the first. Nearer ones would be on their
 * way already where rows are long. */
static inline __attribute__((always_inline)) void ask_for_row(const csr *A, int64_t k) {
    ask_ahead(A->values + k, PAGE);
    ask_ahead(A->col_idx + k, HALF_PAGE);
}

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
