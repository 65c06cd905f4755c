/* csell.h: compressed SELL of slices of 32 rows: columns are distances from a base in 0, 1, 2 or 4
 * bytes; values are indices into a dictionary, floats or reals; each slice uses the encodings that
 * take the fewest bytes. It follows CSR-DU and CSR-VI (Kourtis, Goumas, Koziris, CF'08) and BRO-ELL
 * (Tang et al., TPDS 2015). It takes from a fraction of a byte to sizeof(real) + 4 bytes per
 * nonzero, 8 bytes per step and 32 per slice, without padding. It wins where memory bandwidth
 * limits and the matrix is regular: a stencil with constant coefficients takes a small part of
 * CSR's bytes. format_csell.c has the rules by which columns and values are encoded.
 *
 * The example matrix of formats/csr/csr.h with cut = 6: row 6 is longer, and stored separately. The
 * other rows are one slice of four steps, with a bar after each step. Row 0 is the leftmost bit of
 * a mask. "(79 of 0)": 79 zeros, which are the last step's 3 columns, 12 up to a multiple of
 * CSELL_ALIGN (column_bytes and value_bytes are 32), and the 64 of CSELL_SPARE.
 *
 *     slice        0 0 0 4 1 2 1 0            step, column, value, nsteps; column_code 1: a byte;
 *                                             value_code 2: a place in codebook; run 1; flags 0
 *     step         0 11111..1 | 1 11111..1 | 2 11111... | 6 .111....
 *     columns      0 0 1 2 3 6 | 0 0 1 2 3 6 | 4 0 1 2 4 | (79 of 0)
 *     values       2 0 0 0 0 0 | 0 2 2 2 2 2 | 1 0 0 0 1 | 1 1 1 (76 of 0)
 *     codebook     1 2 4 (253 of 0)
 *     long_row     6
 *     long_ptr     0 7
 *     long_col     0 1 2 3 4 6 7
 *     long_values  2 2 2 2 2 4 1
 */
#ifndef SPMV_FORMATS_CSELL_H
#define SPMV_FORMATS_CSELL_H

#include "formats/value_codes.h"

/* Slices of CSELL_ROWS rows, each with its own encodings; only nonzeros are stored, so there is no
 * padding. A slice is a list of steps. For every row whose bit is set in mask, a step holds the
 * next entry of that row (if run > 1, the next `run` entries, whose columns are adjacent). Entries
 * are stored step by step, and by ascending row inside a step; a step of runs has the first entry
 * of each run, then the second of each, and one column code per run. Rows longer than cut are in no
 * slice but in the long part: compressed rows with 32-bit offsets in every variant. A matrix with
 * more than CSELL_MOST_LONG nonzeros in such rows is refused. Slices begin at multiples of
 * CSELL_ALIGN bytes in columns and values, and CSELL_SPARE bytes follow the last slice, so that a
 * whole vector can be loaded at any entry. */
enum { CSELL_ROWS = 32, CSELL_ALIGN = 16, CSELL_SPARE = 64 };
enum { CSELL_MOST_LONG = INT32_MAX - 4096 }; /* so that a kernel's index may pass the end by 4096 */
/* The column of an entry of row i: i + base, nothing stored; base + a uint8_t, uint16_t,
 * uint32_t. */
enum csell_columns { CSELL_DIAGONAL, CSELL_COLUMN_8, CSELL_COLUMN_16, CSELL_COLUMN_32 };
/* A value has a code of formats/value_codes.h, except this one: if all rows of each step have the
 * same value, it is stored once per step, as a real (for runs, `run` reals). */
enum { CSELL_VALUE_STEP = VALUE_ONE };
enum { CSELL_FULL = 1 }; /* flag of a slice: it has steps, and every mask has all bits set */
typedef struct csell_slice {
    int64_t step, column, value; /* start: index in step[]; bytes in columns[] and values[] */
    int32_t nsteps;
    uint8_t column_code, value_code, run, flags;
} csell_slice;
typedef struct csell_step {
    int32_t base;
    uint32_t mask; /* bit r: row r of the slice */
} csell_step;
typedef struct V(csell) {
    spmv_store s;
    int64_t nslices, nsteps, column_bytes, value_bytes, cut, long_rows, long_nnz;
    int sign;           /* 0; in the format csell_sym as in sss */
    int codes;          /* 0: values of all slices are reals */
    csell_slice *slice; /* [nslices] */
    csell_step *step;   /* [nsteps] */
    uint8_t *columns;   /* [column_bytes + CSELL_SPARE] */
    uint8_t *values;    /* [value_bytes + CSELL_SPARE] */
    real *codebook;     /* [VALUE_CODEBOOK_SIZE] shared by all slices */
    idx *long_row;      /* [long_rows] ascending */
    int32_t *long_ptr;  /* [long_rows + 1] */
    idx *long_col;      /* [long_nnz] */
    real *long_values;  /* [long_nnz] */
} csell;
/* csell_sym stores half of the entries as csell; csell_lists is built from a csell. */
SPMV_LINKAGE const spmv_format V(csell_format);
SPMV_LINKAGE void spmv_csell_look(const struct sample_slice *w, double *sum);
SPMV_LINKAGE void spmv_csell_features(const spmv_sample *s, const double *sum, spmv_features *f);

/* Returns the index of the first long row that is not before `row`. */
static inline int64_t first_long_from(const csell *A, int64_t row) {
    int64_t low = 0, high = A->long_rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->long_row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
#endif
