/* csr5.h: CSR5 (Liu and Vinter, ICS'15, arXiv:1503.05032): the nonzeros of CSR in tiles of lanes x
 * height (the paper's omega x sigma). Each tile is stored transposed, so that a step of it is one
 * vector, with a descriptor of where rows begin in it. Row lengths do not affect how work is
 * shared. It takes sizeof(real) + 4 bytes per nonzero, 12 in f64, sizeof(ofs) per row and 4 or 8
 * bytes per lane of a tile: 0.3 per nonzero with 12 steps, 1 with 4. It wins over CSR by rows where
 * lengths are very unequal, and loses where rows are shorter than a tile is high; compressed
 * formats read less.
 *
 * The example matrix of formats/csr/csr.h with lanes = 4 and height = 2: three tiles of 8 nonzeros,
 * with a bar after each, and the last three nonzeros as in CSR. Tile 2 begins in row 4 and contains
 * the empty row 5, so the sign bit of its tile_ptr is set (4 - 2^31 instead of 4), and empty_offset
 * says that its two segments are of the rows 0 and 2 after row 4. A descriptor is shown per lane,
 * the lowest bit first: two bits of bit_flag, one per step; two of seg_offset; three of y_offset.
 *
 *     row_ptr      0 3 7 11 15 18 18 25 27
 *     tile_ptr     0 | 2 | -2147483644 | 6
 *     tile_desc    1....... .11.1... .....1.. .1...1.. | 1....... .11.1... .....1.. .1...1.. |
 *                  1....... 1..11... ..1..1.. .....1..
 *     empty_ptr    0 | 0 | 0 | 2
 *     empty_offset 0 2
 *     col_idx      0 6 1 6 1 0 2 1 | 2 6 3 6 3 2 4 3 | 4 0 2 4 6 1 3 6 | 7 6 7
 *     values       4 2 4 2 1 1 1 1 | 4 2 4 2 1 1 1 1 | 4 2 2 2 2 2 2 4 | 1 1 4
 */
#ifndef SPMV_FORMATS_CSR5_H
#define SPMV_FORMATS_CSR5_H

#include "spmv_format.h"
#include "spmv_helpers.h"

/* Tile t has the nonzeros from t * lanes * height on. Its lane l has `height` successive ones, of
 * which step j is stored at j * lanes + l. Nonzeros behind the last whole tile, the tail, are not
 * transposed.
 *
 * A segment is the part of a row that is in a tile. Segment 0 belongs to row tile_ptr[t] (without
 * its sign bit), which may begin earlier; segment n belongs to the n-th row with nonzeros after
 * that. If rows without nonzeros are between, the sign bit is set, and segment n belongs to row
 * tile_ptr[t] + empty_offset[empty_ptr[t] + n]; otherwise to row tile_ptr[t] + n.
 *
 * A lane's descriptor has words x 32 bits, the lower word first; words of a tile's lanes are
 * adjacent. From the lowest bit: bit_flag, one bit per step, set if a segment begins there;
 * seg_offset, the number of consecutive lanes after this one in which none begins; y_offset, the
 * number of segments that begin in earlier lanes. */
enum { CSR5_MOST_LANES = 32, CSR5_MOST_HEIGHT = 32 };
#define CSR5_HAS_EMPTY INT32_MIN

typedef struct csr5_shape {
    int lanes, height;      /* shape of a tile, in nonzeros */
    int words;              /* words of a descriptor */
    int seg_shift, y_shift; /* bits where seg_offset and y_offset begin; bit_flag begins at 0 */
} csr5_shape;

typedef struct V(csr5) {
    spmv_store s;
    csr5_shape shape;
    int64_t tiles, empty_rows;
    ofs *row_ptr;          /* [rows + 1] */
    int32_t *tile_ptr;     /* [tiles + 1]; the last is the tail's, or rows if there is no tail */
    uint32_t *tile_desc;   /* [tiles * words * lanes] */
    ofs *empty_ptr;        /* [tiles + 1]; NULL: no tile has the sign bit */
    int32_t *empty_offset; /* [empty_ptr[tiles]] */
    idx *col_idx;          /* [nnz] */
    real *values;          /* [nnz] */
} csr5;

static inline int csr5_bits(int n) { /* bits that hold 0 .. n - 1 */
    int bits = 0;
    while (1 << bits < n) bits++;
    return bits;
}

/* Returns lanes and height as chosen or, if 0, by the paper's rules: as many lanes as a vector of
 * vector_bytes has numbers; height 16 for vectors of 32 bytes and 12 for 64 (the paper's AVX2 and
 * Xeon Phi). For the 32 lanes of a warp the height depends on the mean row length: 4 up to a mean
 * of 4, the mean up to 32, 32 up to 256, and 4 beyond (the paper's r, s, t, u for NVIDIA). */
static inline csr5_shape csr5_shape_of(const spmv_csr_view *A, const spmv_choice *c,
                                       int vector_bytes) {
    enum { R = 4, S = 32, T = 256, U = 4, OF_AVX2 = 16, OF_WIDER = 12, AVX2_BYTES = 32 };
    int64_t lanes = c->value[SPMV_lanes], height = c->value[SPMV_height];
    if (lanes == 0) lanes = vector_bytes / (int)sizeof(real);
    const int64_t mean = A->rows ? A->nnz / A->rows : 0;
    const int64_t of_cpu = lanes * (int64_t)sizeof(real) > AVX2_BYTES ? OF_WIDER : OF_AVX2;
    const int64_t of_gpu = mean <= R ? R : mean <= S ? mean : mean <= T ? S : U;
    if (height == 0) height = lanes == CSR5_MOST_LANES ? of_gpu : of_cpu;
    csr5_shape out = {.lanes = (int)lanes, .height = (int)height, .seg_shift = (int)height};
    out.y_shift = out.seg_shift + csr5_bits(out.lanes);
    out.words = out.y_shift + csr5_bits(out.lanes * out.height) > 32 ? 2 : 1;
    return out;
}

static inline int64_t csr5_tile_size(const csr5_shape *s) {
    return (int64_t)s->lanes * s->height;
}

/* Returns whether the whole tile is in the row where the next begins: the paper's fast track. */
static inline bool csr5_is_in_one_row(const csr5 *A, int64_t t) {
    return (A->tile_ptr[t] & ~CSR5_HAS_EMPTY) == (A->tile_ptr[t + 1] & ~CSR5_HAS_EMPTY);
}

/* Returns the bytes of a host's store that a product reads: tiles in one row need no descriptor; if
 * no row is empty, row_ptr is read once per tile. */
static inline size_t csr5_bytes_read(const csr5 *A) {
    const size_t desc = (size_t)(A->shape.words * A->shape.lanes) * sizeof *A->tile_desc;
    size_t bytes = spmv_store_bytes(&A->s);
    for (int64_t t = 0; t < A->tiles; t++)
        if (csr5_is_in_one_row(A, t)) bytes -= desc;
    if (A->empty_rows == 0 && A->tiles < A->s.rows)
        bytes -= (size_t)(A->s.rows - A->tiles) * sizeof *A->row_ptr;
    return bytes;
}
#endif
