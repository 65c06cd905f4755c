/* csb.h: CSB, compressed sparse blocks (Buluc, Fineman, Frigo, Gilbert, Leiserson, SPAA'09): a grid
 * of large square blocks, each a list of its nonzeros with 16 bits for the row and 16 for the
 * column inside the block. It takes sizeof(real) + 4 bytes per nonzero, 12 in f64, and sizeof(ofs)
 * per block, empty blocks included. It wins where columns are scattered, because the parts of x and
 * y that a block uses stay in the L1 or L2 cache.
 *
 * The example matrix of formats/csr/csr.h with tile = 4, as row,column in the block, with a bar
 * after each of the four blocks:
 *
 *     block_ptr  0 10 15 20 27
 *     local      0,0 0,1 1,0 1,1 1,2 2,1 2,2 2,3 3,2 3,3 | 0,2 1,2 2,2 3,0 3,2
 *              | 0,3 2,0 2,1 2,2 2,3 | 0,0 0,2 2,0 2,2 2,3 3,2 3,3
 *     values     4 1 1 4 1 1 4 1 1 4 | 2 2 2 1 2 | 1 2 2 2 2 | 4 2 2 4 1 1 4
 */
#ifndef SPMV_FORMATS_CSB_H
#define SPMV_FORMATS_CSB_H

#include "spmv_format.h"
#include "spmv_helpers.h"

enum { CSB_LEAST_TILE = 16, CSB_MOST_TILE = 1 << 15 };
/* Returns the tile for a setting. 0: about the square root of the dimension, as in the paper: the
 * grid then has about as many blocks as the matrix has rows, and x of a block fits a cache. */
static inline int64_t csb_tile(int64_t rows, int64_t cols, int64_t setting) {
    int64_t dimension = rows > cols ? rows : cols, tile = CSB_LEAST_TILE;
    while (tile < CSB_MOST_TILE && tile * tile < dimension) tile *= 2;
    return setting ? setting : tile;
}

/* Square blocks of tile rows and columns, in row-major order of the grid; entries of a block are
 * row by row. The first entry of block (b, c) is block_ptr[b * block_cols + c]. */
typedef struct V(csb) {
    spmv_store s;
    int64_t tile, block_rows, block_cols;
    ofs *block_ptr;  /* [block_rows * block_cols + 1] */
    uint32_t *local; /* [nnz] row in the block << 16 | column in the block */
    real *values;    /* [nnz] */
} csb;
#endif
