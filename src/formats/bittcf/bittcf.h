/* bittcf.h: BitTCF, tiles for tensor cores with bit masks (Zhao and others, PPoPP 2025, Acc-SpMM;
 * windows and condensed columns of Wang, Feng and Ding, USENIX ATC 2023, TC-GNN). A window has 8
 * rows. The columns with a nonzero in any of them are listed once. Four such columns make a tile of
 * 8 x 4, whose nonzeros are a mask of 32 bits and packed values. With n nonzeros in a tile it takes
 * sizeof(real) + (20 + sizeof(ofs)) / n bytes per nonzero: in f64 8.75 where tiles are full, 14 if
 * no two rows of a window share a column. A product of several vectors reads a row of X once for
 * each window that uses it instead of once for each nonzero. It wins on GPUs that multiply f64 on
 * tensor cores, where neighbouring rows share columns.
 *
 * The example matrix of formats/csr/csr.h, one window of two tiles, has a bar after each tile. In
 * the mask bit 4 r + c is row r and listed column c; values are in the order of these bits. The
 * last tile has one column less, and repeats the last:
 *
 *     tile_ptr   0 2
 *     value_ptr  0 15 27
 *     col_idx    0 1 2 3 | 4 6 7 7
 *     mask       0x0f08ce73 | 0x67033222
 *     values     4 1 1 4 1 1 4 1 1 4 1 2 2 2 2 | 2 2 2 1 2 4 2 2 4 1 1 4
 */
#ifndef SPMV_FORMATS_BITTCF_H
#define SPMV_FORMATS_BITTCF_H

#include "spmv_format.h"
#include "spmv_helpers.h"

enum { BITTCF_ROWS = 8, BITTCF_COLS = 4 }; /* a tile is 8 x 4 */

/* Window w has rows BITTCF_ROWS * w on; the last window may have fewer. A window has one tile at
 * least, whose mask may be 0, so that every row is of a tile. The listed columns of a window
 * ascend. Slots behind its last column repeat that column (0: there is none), and no row uses
 * them. */
typedef struct V(bittcf) {
    spmv_store s;
    int64_t windows, tiles, longest; /* longest: tiles of a window, at most */
    ofs *tile_ptr;                   /* [windows + 1] first tile */
    ofs *value_ptr;                  /* [tiles + 1] first value */
    idx *col_idx;                    /* [tiles * BITTCF_COLS] */
    uint32_t *mask;                  /* [tiles] */
    real *values;                    /* [nnz] */
} bittcf;

static inline int64_t bittcf_windows(int64_t rows) {
    return (rows + BITTCF_ROWS - 1) / BITTCF_ROWS;
}

/* features_bittcf.c */
SPMV_LINKAGE void spmv_bittcf_look(const struct sample_slice *w, double *sum);
SPMV_LINKAGE void spmv_bittcf_features(const spmv_sample *s, const double *sum, spmv_features *f);

/* Returns an upper bound of the tiles: no two nonzeros of a window share a column. */
static inline int64_t bittcf_most_tiles(int64_t rows, int64_t nnz) {
    return nnz / BITTCF_COLS + bittcf_windows(rows);
}

static inline size_t bittcf_bytes(int64_t rows, int64_t nnz, int64_t tiles) {
    return (size_t)(bittcf_windows(rows) + tiles + 2) * sizeof(ofs) +
           (size_t)tiles * (BITTCF_COLS * sizeof(idx) + sizeof(uint32_t)) +
           (size_t)nnz * sizeof(real);
}
#endif
