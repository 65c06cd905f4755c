/* xcache.h: row blocks with explicit caching of x (near Chen's EHYB, arXiv 2204.06666, there of a
 * partitioned graph): each block of successive rows lists the columns that it needs, and a nonzero
 * names a place in the list with 16 bits. A GPU copies that part of x into shared memory once. Rows
 * are cut into segments of at most `cut` nonzeros, sorted by length and stored as SELL-32. It takes
 * 2 bytes and 0, 1, 4 or 8 bytes of value per slot (formats/value_codes.h), 10 in f64, 3 with a
 * dictionary, 2 or 4 per listed column and 3 per segment. It wins on GPUs where rows of a block
 * need the same columns, as meshes in a good order do.
 *
 * The example matrix of formats/csr/csr.h with height = 8 and cut = 4: one block. Row 6 is cut into
 * two segments, 8 and 9, of nonzeros 0, 2, 4, 6 and 1, 3, 5. One slice of four steps, with a bar
 * after each; of its 32 lanes the first nine have a segment. "(24 of 0)": 24 zeros.
 *
 *     block    0 0 0 0 | 0 8 | 0 7 | 0 | 9 1 2       slot, need, segment, cut; row, rows;
 *                                                    base, count; wide; segments, cuts,
 *                                                    cut_segments
 *     need     0 1 2 3 4 6 7 0
 *     order    1 2 3 8 0 4 9 7 5 0 0 0 0 0 0         row 1, 2, 3, the first segment of row 6, row 0
 *     length   4 4 4 4 3 3 3 2 0 0 0 0 0 0 0
 *     cuts     0,6 2,0 0,0 0,0 0,0 0,0 0,0 0,0       first segment,row; then how many
 *     slice    0
 *     place    0 1 2 0 0 3 1 5 (24 of 0) | 1 2 3 2 1 4 3 6 (24 of 0)
 *            | 2 3 4 4 5 5 5 (25 of 0) | 5 5 5 6 (28 of 0)
 *     values   0 0 0 1 2 0 1 (25 of 0) | 2 2 2 1 0 2 1 2 (27 of 0) | 1 1 1 2 (25 of 0)
 *            | 1 1 1 (29 of 0)
 *     codebook 1 2 4 (253 of 0)
 *     value_code 2 is VALUE_CODEBOOK
 */
#ifndef SPMV_FORMATS_XCACHE_H
#define SPMV_FORMATS_XCACHE_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Blocks of successive rows, `height` on average, have about equally many nonzeros each, and each
 * lists the columns that it needs, ascending; a nonzero names a place in that list. A row of more
 * than `cut` nonzeros is cut into as few equal segments as are no longer: of p segments the q-th
 * has nonzeros q, q + p, ... Another row is one segment. The segments of a block stand longest
 * first, in a stable order, in slices of XCACHE_SLICE, each padded to its longest: slot k of the
 * i-th segment of block b is at the block's slot
 * + slice[segment / XCACHE_SLICE + b + i / XCACHE_SLICE] + k * XCACHE_SLICE + i % XCACHE_SLICE.
 * Padding, which no kernel multiplies, is place 0 and a value whose bits are all 0. Values are
 * encoded as formats/value_codes.h says. Where blocks begin in order, cuts and slice follows from
 * the nonzeros before, so that all can be filled at once; what is between blocks is 0. */
enum { XCACHE_SLICE = 32, XCACHE_LEAST = 128, XCACHE_HIGHEST = 4096, XCACHE_LONGEST = UINT8_MAX };
enum { XCACHE_SEGMENTS = 4608 /* of a block */, XCACHE_COLUMNS = 28000, XCACHE_SPAN = 1 << 19 };
typedef struct xcache_block {
    int64_t slot, need;     /* first of its slots; of its list, in units of 16 bits */
    int64_t segment, cut;   /* first of its segments, and of its rows that are cut */
    int32_t row, rows;      /* the first; how many */
    int32_t base, count;    /* first column; columns of the list */
    int32_t wide;           /* the list is of uint32_t, not uint16_t: columns - base */
    int32_t segments, cuts; /* how many; how many rows are cut */
    int32_t cut_segments;   /* segments of the rows that are cut */
} xcache_block;
typedef struct V(xcache_rows) {
    spmv_store s;
    int64_t height, nblocks, cut, segments;
    int64_t most;  /* columns + cut_segments of a block, at most */
    int64_t units; /* of all lists, 16 bits each */
    int value_code, value_bytes;
    xcache_block *block; /* [nblocks] */
    uint32_t *slice;     /* a slice's first slot, from the block's */
    uint32_t *cuts; /* rows that are cut: which of the block's | first segment << 16; and the end */
    uint16_t *order; /* of a segment: its row in the block; if cut, rows + which of cut_segments */
    uint8_t *length; /* of a segment */
    uint16_t *need;  /* [units] */
    uint16_t *place; /* [slots] */
    uint8_t *values; /* [slots * value_bytes] */
    real *codebook;  /* [VALUE_CODEBOOK_SIZE] with VALUE_CODEBOOK and VALUE_ONE; else zeros */
} xcache_rows;
typedef struct spmv_xcache_facts { /* the most that a block has */
    int64_t segments, span, columns;
} spmv_xcache_facts;
typedef struct spmv_xcache_shape {
    int64_t height, nblocks, cut;
    int64_t segments, cuts, slices; /* room for all of them */
} spmv_xcache_shape;
/* xcache_shape.c. SPMV_E_UNSUITABLE if that is too much. */
SPMV_LINKAGE spmv_status spmv_xcache_fits(spmv_ctx *ctx, int64_t height,
                                          const spmv_xcache_facts *most);
/* Returns the height for a matrix of so many rows whose longest row is so long, estimated from its
 * rows from the middle on, of which no more than 4,096, and than hold 2^15 entries, are looked at;
 * *columns: of a block, per row; infinite: nothing is known. */
SPMV_LINKAGE int64_t spmv_xcache_height(const spmv_csr_view *middle, int64_t rows, int64_t longest,
                                        double *columns);
/* Returns the shape that is asked for, or one with that height and about as many segments as
 * threads. */
SPMV_LINKAGE spmv_xcache_shape spmv_xcache_shape_for(const spmv_csr_view *A, const spmv_choice *c);
/* Returns the weight of a row where blocks get about equal weights: so many entries, besides its
 * own. */
SPMV_LINKAGE int64_t spmv_xcache_weight(const spmv_csr_view *A, int64_t height);
/* Finds where blocks begin: row, rows, segment, cut; all else 0. */
SPMV_LINKAGE void spmv_xcache_split(const spmv_csr_view *A, const spmv_xcache_shape *shape,
                                    xcache_block *block);
/* Says how many columns lie between the first and the last that rows first..end - 1 need, which
 * ascend in a row, and the first; 0: the rows are empty. */
SPMV_LINKAGE int64_t spmv_xcache_span(const spmv_csr_view *A, int64_t first, int64_t end,
                                      int32_t *base);

#ifndef XCACHE_SHARED /* cuda/xcache/xcache.cuh has a GPU compile it, too */
#define XCACHE_SHARED static inline
#endif

typedef struct xcache_entries { /* which of the block's rows; its first; from one to the next */
    int32_t row, first, step;
} xcache_entries;

/* order: of a segment; cuts: the block's. */
XCACHE_SHARED xcache_entries xcache_entries_of(const xcache_block *block, const uint32_t *cuts,
                                               uint16_t order) {
    xcache_entries all = {order, 0, 1};
    int32_t q = order - block->rows, low = 0, high = block->cuts;
    if (q < 0) return all;
    while (high - low > 1) {
        int32_t middle = (low + high) / 2;
        if ((int32_t)(cuts[middle] >> 16) <= q)
            low = middle;
        else
            high = middle;
    }
    int32_t first = (int32_t)(cuts[low] >> 16);
    xcache_entries every = {(int32_t)(cuts[low] & 0xffff), q - first,
                            (int32_t)(cuts[low + 1] >> 16) - first};
    return every;
}
#endif
