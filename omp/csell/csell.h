/* csell.h: shared by the products of csell slices in portable C, AVX2 and AVX-512. */
#pragma once

#include "omp/isa.h"
#include "omp/chunks.h"
#include "formats/csell/csell.h"
#include "formats/value_codes.h"

/* Long rows are divided into PARTS parts for any number of threads, so that sums do not depend on
 * the number of threads. */
enum { PARTS = 128 };

typedef struct work { /* scratch of the plan */
    chunks slices;
    bool past;                     /* y exceeds the caches: use non-temporal stores if possible */
    int64_t first_long[PARTS + 1]; /* long row in which each part begins */
    real long_sum[];               /* [slots][long_rows]; if few, they are on the stack instead */
} work;

/* Sums of the long rows of one product. */
typedef struct long_sums {
    carry carries[PARTS];
    real *sum; /* [long_rows] */
} long_sums;

struct product { /* operands common to all slices */
    const csell *A;
    const real *x;
    real *y, alpha, beta;
    const real *long_sum; /* [long_rows] */
    bool small_codebook;  /* the values in use fit into two AVX-512 registers */
    bool past;            /* store y past the caches: beta = 0, and y is aligned to a cache line */
};

/* The arrays of one slice: row `first` on, from its first step, column code and value code on. */
typedef struct slice_data {
    const csell_step *step;
    const uint8_t *columns, *values;
    const real *x, *codebook;
    int64_t nsteps, first;
    int run, column_code, value_code;
} slice_data;

static inline slice_data data_of(const product *m, int64_t k) {
    const csell *A = m->A;
    const csell_slice *slice = A->slice + k;
    return (slice_data){.step = A->step + slice->step,
                        .columns = A->columns + slice->column,
                        .values = A->values + slice->value,
                        .x = m->x,
                        .codebook = A->codebook,
                        .nsteps = slice->nsteps,
                        .first = k * CSELL_ROWS,
                        .run = slice->run,
                        .column_code = slice->column_code,
                        .value_code = slice->value_code};
}

static inline int column_bytes(int code) {
    return code == CSELL_DIAGONAL    ? 0
           : code == CSELL_COLUMN_8  ? 1
           : code == CSELL_COLUMN_16 ? 2
                                     : 4;
}

/* Returns the distance of column code n from the step's base. Codes are unaligned. */
static inline __attribute__((always_inline)) int64_t distance(const uint8_t *codes, int code,
                                                              int64_t n) {
    uint16_t two;
    uint32_t four;
    if (code == CSELL_COLUMN_8) return codes[n];
    if (code == CSELL_COLUMN_16) {
        memcpy(&two, codes + 2 * n, sizeof two);
        return two;
    }
    memcpy(&four, codes + 4 * n, sizeof four);
    return four;
}

/* Returns value n of a slice, or of step n if values are per step. */
static inline __attribute__((always_inline)) real value_of(const slice_data *d, int code,
                                                           int64_t n) {
    return coded_value(d->values, d->codebook, n, code == CSELL_VALUE_STEP ? VALUE_RAW : code);
}

/* Inserts the sums of long rows, computed before, into those of slice k. *next: index of the first
 * long row that is not before slice k. */
static inline __attribute__((always_inline)) void put_long(const product *m, int64_t k, real *sum,
                                                           int64_t *next) {
    const csell *A = m->A;
    int64_t first = k * CSELL_ROWS;
    for (; *next < A->long_rows && A->long_row[*next] < first + CSELL_ROWS; ++*next)
        sum[A->long_row[*next] - first] = m->long_sum[*next];
}

/* Stores the rows of slice k: y <- alpha sum + beta y. */
static inline __attribute__((always_inline)) void put_slice(const product *m, int64_t k,
                                                            const real *sum) {
    int64_t first = k * CSELL_ROWS, rows = m->A->s.rows - first;
    const idx *order = m->A->s.order;
    if (order)
        for (int r = 0; r < CSELL_ROWS && r < rows; r++)
            put_row(m->y + order[first + r], m->alpha, sum[r], m->beta);
    else if (rows >= CSELL_ROWS)
        for (int r = 0; r < CSELL_ROWS; r++) put_row(m->y + first + r, m->alpha, sum[r], m->beta);
    else
        for (int r = 0; r < rows; r++) put_row(m->y + first + r, m->alpha, sum[r], m->beta);
}

static inline bool is_past(const product *m, int64_t k) {
    return m->past && (k + 1) * CSELL_ROWS <= m->A->s.rows;
}

/* Returns the bytes read and written for slices before k. */
static inline int64_t bytes_before(const spmv_store *store, int64_t k) {
    const csell *A = (const csell *)store;
    const csell_slice *slice = A->slice + k;
    const int64_t fixed = (int64_t)(sizeof *slice + 2 * CSELL_ROWS * sizeof(real));
    bool is_end = k == A->nslices;
    int64_t steps = is_end ? A->nsteps : slice->step;
    return k * fixed + steps * (int64_t)sizeof(csell_step) +
           (is_end ? A->column_bytes + A->value_bytes : slice->column + slice->value);
}

static inline bool is_small(const csell *A) {
    enum { TWO_REGISTERS = 128 / sizeof(real) };
    static const real none[VALUE_CODEBOOK_SIZE] = {0};
    return memcmp(A->codebook + TWO_REGISTERS, none, sizeof none - TWO_REGISTERS * sizeof *none) ==
           0;
}
