/* spc5.h: SPC5's blocks beta(height, 8) (Bramas and Kus, PeerJ CS 2018): blocks of a few rows and
 * eight columns that begin at any nonzero, with a byte of mask for each row instead of padding. It
 * takes sizeof(real) bytes per nonzero, 4 + height bytes per block and 2 sizeof(ofs) per strip: in
 * f64 with one row per block 8.6 bytes per nonzero if blocks are full, 13 if each has one nonzero.
 * It wins on CPUs that load or expand a vector under a mask, where rows have several nonzeros near
 * each other.
 *
 * The example matrix of formats/csr/csr.h with height = 2, with a bar after each strip of two rows.
 * Every strip is one block here; column 0 is the leftmost bit of a mask. "(8 of 0)": eight zeros.
 *
 *     first_col  0 | 0 | 0 | 0
 *     mask       11....1. 111...1. | .111..1. ..111.1. | ...11.1. ........ | 11111.11 ......11
 *     block_ptr  0 1 2 3 4
 *     value_ptr  0 7 15 18 27
 *     values     4 1 2 1 4 1 2 | 1 4 1 2 1 4 1 2 | 1 4 2 | 2 2 2 2 2 4 1 1 4 (8 of 0)
 */
#ifndef SPMV_FORMATS_SPC5_H
#define SPMV_FORMATS_SPC5_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Strips of `height` rows, of which the last may have fewer; each is a list of blocks of height x 8
 * cells. Only entries are stored: block after block, row after row, by column. Bit j of mask[b *
 * height + r] is set if row r of the strip has an entry in column first_col[b] + j. If cols >= 8,
 * first_col[b] + 8 <= cols. */
enum { SPC5_WIDTH = 8, SPC5_HIGHEST = 4 };
typedef struct V(spc5) {
    spmv_store s;
    int64_t height, strips, nblocks; /* height: 1, 2 or 4 */
    ofs *block_ptr;                  /* [strips + 1] each strip's first block */
    ofs *value_ptr;                  /* [strips + 1] each strip's first value */
    idx *first_col;                  /* [nblocks] */
    uint8_t *mask;                   /* [nblocks * height] */
    real *values;                    /* [nnz + SPC5_WIDTH] eight may be read from any entry on */
} spc5;
SPMV_LINKAGE void spmv_spc5_look(const struct sample_slice *w, double *sum);
SPMV_LINKAGE void spmv_spc5_features(const spmv_sample *s, const double *sum, spmv_features *f);
#endif
