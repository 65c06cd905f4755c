/* bsr.h: BSR, block sparse rows (Im and Yelick, ICCS 2001, register blocking): a grid of small
 * dense blocks. A block with a nonzero is stored whole, with one column index. It takes
 * sizeof(real) bytes per slot and 4 bytes per block: 9 bytes per nonzero in f64 if 2 x 2 blocks are
 * full. It wins where nonzeros form dense blocks, as with several unknowns per node of a mesh;
 * elsewhere most of it is padding.
 *
 * The example matrix of formats/csr/csr.h with blocks of 2 x 2, with a bar after each block.
 * Padding is -0, which no nonzero is:
 *
 *     block_ptr  0 3 7 10 14
 *     first_col  0 2 6 | 0 2 4 6 | 2 4 6 | 0 2 4 6
 *     values     4 1 1 4 | -0 -0 1 -0 | 2 -0 2 -0
 *              | -0 1 -0 -0 | 4 1 1 4 | -0 -0 1 -0 | 2 -0 2 -0
 *              | -0 1 -0 -0 | 4 -0 -0 -0 | 2 -0 -0 -0
 *              | 2 2 -0 -0 | 2 2 -0 -0 | 2 -0 -0 -0 | 4 1 1 4
 */
#ifndef SPMV_FORMATS_BSR_H
#define SPMV_FORMATS_BSR_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Dense blocks of shape_rows x shape_cols, row-major; the blocks of a block row are in the order of
 * their columns. Block row b begins at row b * shape_rows; rows of the last block row beyond the
 * matrix are stored as padding. A block begins at a multiple of shape_cols, but never beyond column
 * cols - shape_cols, so that no kernel reads past the end of x. Padding has value -0.0, which no
 * nonzero has. */
typedef struct V(bsr) {
    spmv_store s;
    int64_t block_rows, shape_rows, shape_cols, nblocks;
    ofs *block_ptr; /* [block_rows + 1] index of its first block */
    idx *first_col; /* [nblocks] */
    real *values;   /* [nblocks * shape_rows * shape_cols] */
} bsr;

typedef struct bsr_shape {
    int64_t rows, cols, block_rows;
} bsr_shape;

/* Returns the shape of a choice, cut to the size of the matrix. */
static inline bsr_shape bsr_shape_of(const spmv_csr_view *A, const spmv_choice *c) {
    bsr_shape f = {c->value[SPMV_shape_rows], c->value[SPMV_shape_cols], 0};
    if (f.rows > A->rows) f.rows = A->rows ? A->rows : 1;
    if (f.cols > A->cols) f.cols = A->cols ? A->cols : 1;
    f.block_rows = (A->rows + f.rows - 1) / f.rows;
    return f;
}
SPMV_LINKAGE void spmv_bsr_look(const struct sample_slice *w, double *sum);
SPMV_LINKAGE void spmv_bsr_features(const spmv_sample *s, const double *sum, spmv_features *f);
#endif
