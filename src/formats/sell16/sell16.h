/* sell16.h: SELL-8-sigma (Kreutzer et al., SISC 2014) with 16-bit columns, which are distances from
 * the least column of the slice, and values in the fewest bytes that hold all of the matrix
 * (formats/value_codes.h). Rows longer than most of their slice store the rest behind it without
 * padding. It takes 2 bytes per slot (4 if a slice spans more than 65,536 columns) and 0, 1, 4 or 8
 * bytes of value, and 32 bytes per slice: 10 bytes per nonzero in f64, 3 with a dictionary. It wins
 * on CPUs with vectors where rows are short and the matrix does not fit the caches.
 *
 * The example matrix of formats/csr/csr.h with sigma = 8: one slice of four steps, with a bar after
 * each step, and the three remaining nonzeros of row 6 at the end, whose columns are filled up with
 * 0. "(253 of 0)": 253 zeros.
 *
 *     slice    0 0 0 4 0 0            slot, column, base, width, uneven, wide
 *     perm     6 1 2 3 0 4 7 5
 *     length   7 4 4 4 3 3 2 0
 *     columns  0 0 1 2 0 3 6 0 | 1 1 2 3 1 4 7 0 | 2 2 3 4 6 6 0 0 | 3 6 6 6 0 0 0 0
 *            | 4 6 7 0 0 0 0 0
 *     values   1 0 0 0 2 0 0 0 | 1 2 2 2 0 2 2 0 | 1 0 0 0 1 1 0 0 | 1 1 1 1 0 0 0 0 | 1 2 0
 *     codebook 1 2 4 (253 of 0)
 *     value_code 2 is VALUE_CODEBOOK
 */
#ifndef SPMV_FORMATS_SELL16_H
#define SPMV_FORMATS_SELL16_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Slices of SELL16_ROWS rows (missing rows of the last have no entries): step k holds the k-th
 * entry of each row. The longest rows come first inside every window of sigma rows, so that rows of
 * a slice have similar lengths; there are as many steps as the fourth longest row has entries. The
 * remaining entries of longer rows, their tails, follow the steps, row by row. Padding has a column
 * of the slice and any value. Columns are distances from the slice's least, of 16 bits or (wide)
 * 32. All values have one code: reals; floats, if they hold every value (spmv_is_float); uint8_t
 * indices into the codebook; or nothing, if all are codebook[0]. */
enum { SELL16_ROWS = 8, SELL16_LANES = 4, SELL16_MOST_SIGMA = 1 << 16 };
typedef struct sell16_slice {
    int64_t slot, column; /* start of the slice: first slot; index in columns[], a multiple of 8 */
    int32_t base, width;  /* least column; number of steps */
    int32_t uneven;       /* index of its elements in length[]; -1: all rows have width entries */
    int32_t wide;
} sell16_slice;
typedef struct V(sell16) {
    spmv_store s;
    int64_t sigma, nslices, nuneven, units; /* a unit: 16 bits of columns */
    int value_code, value_bytes, nvalues;   /* nvalues: number of values in the codebook */
    sell16_slice *slice;                    /* [nslices] */
    uint16_t *perm;    /* [rows] position in its window of the row stored there; NULL: its own */
    int32_t *length;   /* [nuneven * SELL16_ROWS] */
    uint16_t *columns; /* [units] */
    uint8_t *values;   /* [slots * value_bytes] */
    real *codebook;    /* [VALUE_CODEBOOK_SIZE] used by VALUE_CODEBOOK and VALUE_ONE */
} sell16_slices;
#endif
