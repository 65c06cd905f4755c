/* xcache.h: row blocks with explicit caching of x, similar to Chen's EHYB (arXiv 2204.06666), which
 * partitions a graph. Each block of successive rows lists the columns that it needs, and a nonzero
 * names its column by a 16-bit index into this list. A GPU copies that part of x to shared memory
 * once. Rows are cut into segments of at most `cut` nonzeros, sorted by length and stored as
 * SELL-32. It takes 2 bytes and 0, 1, 4 or 8 bytes of value per slot (formats/value_codes.h), 10 in
 * f64, 3 with a dictionary, 2 or 4 per listed column and 3 per segment. It wins on GPUs where rows
 * of a block need the same columns, as meshes in a good order do.
 *
 * The example matrix of formats/csr/csr.h with height = 8 and cut = 4: one block. Row 6 is cut into
 * two segments, 8 and 9, of nonzeros 0, 2, 4, 6 and 1, 3, 5. There is one slice of four steps, with
 * a bar after each; the first nine of its 32 lanes have a segment. "(24 of 0)": 24 zeros.
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

/* Blocks of successive rows, `height` in the mean, have about equally many nonzeros. Each lists the
 * columns that it needs, ascending; a nonzero has an index into that list. A row of more than `cut`
 * nonzeros is cut into the fewest equal segments that are no longer: of p segments the q-th has
 * nonzeros q, q + p, ... Any other row is one segment. The segments of a block are sorted, longest
 * first and stable, in slices of XCACHE_SLICE, each padded to its longest: slot k of segment i of
 * block b is at the block's slot + slice[segment / XCACHE_SLICE + b + i / XCACHE_SLICE] + k *
 * XCACHE_SLICE + i % XCACHE_SLICE. Padding, which no kernel multiplies, has index 0 and a value
 * whose bits are all 0. Values are encoded as formats/value_codes.h describes. Where blocks begin
 * in order, cuts and slice follows from the nonzeros before them, so that all blocks can be filled
 * at once; gaps between blocks are 0. */
enum { XCACHE_SLICE = 32, XCACHE_LEAST = 128, XCACHE_HIGHEST = 4096, XCACHE_LONGEST = UINT8_MAX };
enum {
    XCACHE_SEGMENTS = 4608 /* maximum per block */,
    XCACHE_COLUMNS = 28000,
    XCACHE_SPAN = 1 << 19
};
typedef struct xcache_block {
    int64_t slot, need;     /* first slot; begin of its list, in units of 16 bits */
    int64_t segment, cut;   /* first segment, and first of its rows that are cut */
    int32_t row, rows;      /* first row; number of rows */
    int32_t base, count;    /* first column; number of columns in the list */
    int32_t wide;           /* 1: the list has column - base as uint32_t; 0: as uint16_t */
    int32_t segments, cuts; /* numbers of segments, and of rows that are cut */
    int32_t cut_segments;   /* segments of rows that are cut */
} xcache_block;
typedef struct V(xcache_rows) {
    spmv_store s;
    int64_t height, nblocks, cut, segments;
    int64_t most;  /* columns + cut_segments of a block, at most */
    int64_t units; /* length of all lists in units of 16 bits */
    int value_code, value_bytes;
    xcache_block *block; /* [nblocks] */
    uint32_t *slice;     /* a slice's first slot, counted from the block's first */
    uint32_t *cuts;      /* per cut row: row in the block | first segment << 16; then an end */
    uint16_t *order;     /* a segment's row in the block; of a cut row, rows + segment's index */
    uint8_t *length;     /* length of a segment */
    uint16_t *need;      /* [units] */
    uint16_t *place;     /* [slots] */
    uint8_t *values;     /* [slots * value_bytes] */
    real *codebook; /* [VALUE_CODEBOOK_SIZE] for VALUE_CODEBOOK and VALUE_ONE; otherwise zeros */
} xcache_rows;
typedef struct spmv_xcache_facts { /* the greatest numbers of all blocks */
    int64_t segments, span, columns;
} spmv_xcache_facts;
typedef struct spmv_xcache_shape {
    int64_t height, nblocks, cut;
    int64_t segments, cuts, slices; /* room for segments, cut rows and slices of all blocks */
} spmv_xcache_shape;
/* Returns SPMV_E_UNSUITABLE if a block exceeds a limit. */
SPMV_LINKAGE spmv_status spmv_xcache_fits(spmv_ctx *ctx, int64_t height,
                                          const spmv_xcache_facts *most);
/* Returns the height for a matrix of `rows` rows of which the longest has `longest` entries,
 * estimated from at most 4,096 rows and 2^15 entries of `middle`, its rows from the middle on.
 * *columns: columns per row of a block; infinite: unknown. */
SPMV_LINKAGE int64_t spmv_xcache_height(const spmv_csr_view *middle, int64_t rows, int64_t longest,
                                        double *columns);
/* Returns the chosen shape; a height or cut of 0 is chosen: the cut gives about as many segments as
 * threads. */
SPMV_LINKAGE spmv_xcache_shape spmv_xcache_shape_for(const spmv_csr_view *A, const spmv_choice *c);
/* Returns the weight of a row, besides its entries, when blocks get about equal weights. */
SPMV_LINKAGE int64_t spmv_xcache_weight(const spmv_csr_view *A, int64_t height);
/* Finds where blocks begin (row, rows, segment, cut); all other members become 0. */
SPMV_LINKAGE void spmv_xcache_split(const spmv_csr_view *A, const spmv_xcache_shape *shape,
                                    xcache_block *block);
/* Returns the number of columns from the first to the last that rows first..end - 1 need; *base:
 * the first. 0: the rows are empty. Columns ascend in a row. */
SPMV_LINKAGE int64_t spmv_xcache_span(const spmv_csr_view *A, int64_t first, int64_t end,
                                      int32_t *base);

#ifndef XCACHE_SHARED /* cuda/xcache/xcache.cuh compiles this function for a GPU, too */
#define XCACHE_SHARED static inline
#endif

typedef struct xcache_entries { /* row in the block; first entry; distance of entries */
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
