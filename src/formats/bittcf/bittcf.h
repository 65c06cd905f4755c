/* bittcf.h: BitTCF, tiles for tensor cores with bit masks (Zhao and others, PPoPP 2025, Acc-SpMM;
 * windows and condensed columns of Wang, Feng and Ding, USENIX ATC 2023, TC-GNN). A window has 8
 * rows. The columns with a nonzero in any of them are listed once. Four such columns make a tile of
 * 8 x 4, whose nonzeros are a mask of 32 bits and packed values. With n nonzeros in a tile it takes
 * sizeof(real) + (20 + sizeof(ofs)) / n bytes per nonzero: in f64 8.75 where tiles are full, 14 if
 * no two rows of a window share a column. A product of several vectors reads a row of X once for
 * each window that uses it instead of once for each nonzero. It wins on GPUs that multiply f64 on
 * tensor cores, where rows share columns.
 *
 * Rows are grouped where windows then list fewer columns: by their first and last columns, or by
 * three hashes of their columns of which each is the least (Broder, 1997, minhash), with windows in
 * the order of their first columns. A sample of windows decides.
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
#include "spmv_order.h"

enum {
    BITTCF_ROWS = 8, /* a tile is 8 x 4 */
    BITTCF_COLS = 4,
    BITTCF_SAMPLE = 2048,     /* windows that are sampled, about */
    BITTCF_LONG_SAMPLE = 4096 /* nonzeros of a window: with more it is no sample */
};

/* Window w has the stored rows BITTCF_ROWS * w on; the last window may have fewer. A window has one
 * tile at least, whose mask may be 0, so that every row is of a tile. The listed columns of a
 * window ascend. Slots behind its last column repeat that column (0: there is none), and no row
 * uses them. */
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

/* Returns row r of window w, or a number of at least `rows` if there is no such row. */
SPMV_ANYWHERE int64_t bittcf_row(const bittcf *B, int64_t w, int64_t r) {
    const int64_t i = w * BITTCF_ROWS + r;
    return i < B->s.rows ? spmv_stored_row(&B->s, i) : i;
}

/* Orders that are tried: those of spmv_row_order up to this one. */
enum { BITTCF_ORDERS = SPMV_ROWS_HASH + 1 };

typedef struct bittcf_sample { /* totals of the sampled windows of one order */
    int64_t entries, columns;
} bittcf_sample;

/* Returns the stride of sampled windows. */
static inline int64_t bittcf_stride(int64_t windows) {
    return windows / BITTCF_SAMPLE > 0 ? windows / BITTCF_SAMPLE : 1;
}

/* Returns the order with the fewest columns per window. An order that moves rows must be better by
 * 5 %, and hashes, which separate neighbouring rows, by 10 % more. */
static inline int bittcf_best(const bittcf_sample *of) {
    static const double worth[BITTCF_ORDERS] = {1, 1 / 1.05, 1 / 1.155};
    int best = 0;
    double most = 0;
    for (int k = 0; k < BITTCF_ORDERS; k++) {
        const double shared =
            of[k].columns > 0 ? worth[k] * (double)of[k].entries / (double)of[k].columns : 0;
        if (shared > most) most = shared, best = k;
    }
    return best;
}

/* features_bittcf.c */
SPMV_LINKAGE void spmv_bittcf_look(const struct sample_slice *w, double *sum);
SPMV_LINKAGE void spmv_bittcf_features(const spmv_sample *s, const double *sum, spmv_features *f);

/* Returns an upper bound of the tiles: no two nonzeros of a window share a column. */
static inline int64_t bittcf_most_tiles(int64_t rows, int64_t nnz) {
    return nnz / BITTCF_COLS + bittcf_windows(rows);
}

/* Returns the bytes of a store. grouped: rows are not in the original order. */
static inline size_t bittcf_bytes(int64_t rows, int64_t nnz, int64_t tiles, bool grouped) {
    return (size_t)(bittcf_windows(rows) + tiles + 2) * sizeof(ofs) +
           (grouped ? (size_t)rows * sizeof(idx) : 0) +
           (size_t)tiles * (BITTCF_COLS * sizeof(idx) + sizeof(uint32_t)) +
           (size_t)nnz * sizeof(real);
}
#endif
