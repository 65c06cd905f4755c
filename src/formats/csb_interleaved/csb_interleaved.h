/* csb_interleaved.h: blocks as in CSB (Buluc et al., SPAA'09; formats/csb/csb.h) of `tile` columns
 * and up to twice as many rows, fewer where rows have many nonzeros. The nonzeros of a block are
 * interleaved, so that adjacent ones belong to different rows and additions to y do not wait for
 * each other. Values take the fewest bytes that hold all of the matrix (formats/value_codes.h). It
 * takes 4 bytes and 0, 1, 4 or 8 bytes of value per nonzero, 12 in f64, 5 with a dictionary, and 4
 * per block. It wins on CPUs where columns are scattered over an x that does not fit the L1 and L2
 * caches.
 *
 * The example matrix of formats/csr/csr.h with tile = 8, as row,column in the block: one block of
 * 27 nonzeros, cut into eight lanes of three. A bar stands after the first, second and third
 * nonzero of every lane; the three remaining nonzeros follow. "(253 of 0)": 253 zeros.
 *
 *     first_row   0 8
 *     block_ptr   0 27
 *     local       0,0 1,0 1,6 2,3 3,3 4,3 6,0 6,3 | 0,1 1,1 2,1 2,6 3,4 4,4 6,1 6,4
 *               | 0,6 1,2 2,2 3,2 3,6 4,6 6,2 6,6 | 6,7 7,6 7,7
 *     values      2 0 1 0 2 0 1 1 | 0 2 0 1 0 2 1 1 | 1 0 2 0 1 1 1 2 | 0 0 2
 *     codebook    1 2 4 (253 of 0)
 *     value_code  2 is VALUE_CODEBOOK
 */
#ifndef SPMV_FORMATS_CSB_INTERLEAVED_H
#define SPMV_FORMATS_CSB_INTERLEAVED_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Blocks of `tile` columns and at most CSB_INTERLEAVED_ROWS tiles of rows, fewer if they have many
 * entries; block row b begins at row first_row[b]. The first entry of block (b, c) is block_ptr[b *
 * block_cols + c]. Its n entries in row order are cut into CSB_INTERLEAVED_LANES parts of n /
 * CSB_INTERLEAVED_LANES entries, stored interleaved: the first of each part, then the second of
 * each, and so on. The remaining entries follow. Adjacent entries are therefore mostly in different
 * rows. Values are encoded as in sell16. */
enum { CSB_INTERLEAVED_ROWS = 2, CSB_INTERLEAVED_LANES = 8 };
typedef struct V(csb_interleaved) {
    spmv_store s;
    int64_t tile, block_rows, block_cols;
    int value_code, value_bytes;
    idx *first_row;     /* [block_rows + 1] */
    int32_t *block_ptr; /* [block_rows * block_cols + 1] */
    uint32_t *local;    /* [nnz] row in the block << 16 | column in the block */
    uint8_t *values;    /* [nnz * value_bytes] */
    real *codebook;     /* [VALUE_CODEBOOK_SIZE] with VALUE_CODEBOOK and VALUE_ONE */
} csb_interleaved;
#endif
