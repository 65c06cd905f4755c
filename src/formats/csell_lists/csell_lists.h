/* csell_lists.h: compressed SELL (csell) whose slices share lists of steps. On a grid nearly all
 * slices of 32 rows have entries on the same diagonals, so that base and mask of each step are
 * stored once for all these slices. Patterns shared by rows are used in RPCSR (Willcock and
 * Lumsdaine, ICS'06) and CSX (Kourtis et al., PPoPP'11); here 32 rows share a pattern. A slice
 * takes 16 bytes and its values as in csell, but dictionary codes are padded to whole steps, and a
 * value common to a step is in the list. It wins on GPUs where the matrix is a grid's. The rules
 * are in format_csell_lists.c.
 *
 * The example matrix of formats/csr/csr.h is no grid's: its one slice has no list, and is stored in
 * `rest` as in csell, whose header explains these members. "(70 of 0)": the last step's 1, which is
 * 0 in the codebook, 5 up to a multiple of CSELL_ALIGN, and the 64 of CSELL_SPARE.
 *
 *     slice        0 -1 0                     value, ~0 of rest, what
 *     list
 *     base
 *     step_value
 *     rest         0 0 0 7 1 2 1 0
 *     rest_step    0 11111.11 | 1 11111.11 | 2 11111.1. | 3 .111..1. | 4 ......1. | 6 ......1.
 *                | 7 ......1.
 *     columns      0 0 1 2 3 0 6 | 0 0 1 2 3 0 6 | 4 0 1 2 4 0 | 3 3 3 (73 of 0)
 *     values       2 0 0 0 0 1 0 | 0 2 2 2 2 1 2 | 1 0 0 0 1 1 | 1 1 1 1 | 1 | 2 (70 of 0)
 *     codebook     1 2 4 (253 of 0)
 *     even         0
 *     even_code    0
 *     value_codes  4                          a bit, of VALUE_CODEBOOK
 *
 * 80 rows of a diagonal of 2 and its right neighbour of -1, test/unit/test_csell_lists.c, are two
 * slices with one list and half a slice with another, which begins at step 4. In 19 are two steps
 * << 3 and CSELL_VALUE_STEP; the 4 more of 23 say that not every row has all.
 *
 *     slice        0 0 19 | 0 0 19 | 0 4 23   value, list, what
 *     list         0 (32 of 1) 0 0 | 1 (32 of 1) 32 0 | 0 .. 64 0 | 0 .. 64 0 |
 *                  0 (16 of 1) 0 0 | 1 (16 of 1) 16 0 | 0 .. 32 0 | 0 .. 32 0
 *     step_value   2 -1 0 0 | 2 -1 0 0
 */
#ifndef SPMV_FORMATS_CSELL_LISTS_H
#define SPMV_FORMATS_CSELL_LISTS_H

#include "formats/csell/csell.h"

enum {
    CSELL_LISTED = 1 << 16, /* steps of all lists, at most */
    CSELL_LIST_ALIGN = 4,   /* steps: lists begin at multiples, so that bases load by four */
    CSELL_SHORT = 8         /* steps per slice for which `even` may be chosen, at most */
};

typedef struct csell_listed { /* a slice, read with one load */
    int64_t value;            /* offset of its values in bytes */
    int32_t list;             /* offset of its list; negative: no list, the slice is rest[~list] */
    uint32_t what; /* steps << 3 | not every row has all << 2 | value code; without a list 0 */
} csell_listed;
typedef struct csell_list_step { /* zeros behind the end of a list, up to CSELL_LIST_ALIGN */
    int32_t base;                /* as in csell_step of a slice on diagonals */
    uint32_t mask;
    int32_t place, zero; /* place: entries of the steps before */
} csell_list_step;
/* Message for a matrix with rows that are in no slice of a csell store. */
#define CSELL_LISTS_SAY_LONG(store) \
    "csell_lists: rows of more than %lld entries, here %lld, are in no slice: csell_warp, or a " \
    "larger cut", \
        (long long)(store)->cut, (long long)(store)->long_rows

/* VALUE_CODEBOOK values of a slice with a list: one byte for each of the 32 rows in every step, 0
 * where there is no entry. Bytes of four steps form one word per row; up to three steps follow. */
typedef struct V(csell_lists) {
    spmv_store s;            /* slots: nnz; padding of codes does not count */
    int64_t nslices, nsteps; /* nsteps: of all slices, with and without lists */
    int64_t list_steps, nrest, rest_steps, column_bytes, value_bytes;
    int codes;             /* 0: values of all slices are reals */
    int value_codes;       /* bit c: some slice has value code c */
    int even, even_code;   /* steps of nearly all slices, 0: no such number; and their value code */
    csell_listed *slice;   /* [nslices] */
    csell_list_step *list; /* [list_steps] */
    idx *base;             /* [list_steps] the bases of list, without the rest */
    real *step_value;      /* [list_steps] values of CSELL_VALUE_STEP, otherwise 0 */
    csell_slice *rest;     /* [nrest] slices without a list, as in csell */
    csell_step *rest_step; /* [rest_steps] */
    uint8_t *columns;      /* [column_bytes + CSELL_SPARE] columns of rest */
    uint8_t *values;       /* [value_bytes + CSELL_SPARE] */
    real *codebook;        /* [VALUE_CODEBOOK_SIZE] shared by all slices */
} csell_lists;
#endif
