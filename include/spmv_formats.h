/* spmv_formats.h: what a matrix looks like in each format; part of spmv_kernel.h, which includes it
 * once its types are there. Every struct begins with the head that lets store.c treat all alike.
 * Pointers are host or device memory. */
#ifndef SPMV_FORMATS_H
#define SPMV_FORMATS_H

typedef struct V(csr) {
    spmv_store s;
    ofs *row_ptr; /* [rows + 1] */
    idx *col_idx; /* [nnz] */
    real *values; /* [nnz] */
} csr;

typedef struct V(ell) { /* row-major: entry k of row i at i * width + k; padding: value 0, a column
                           of that row */
    spmv_store s;
    int64_t width; /* entries a row, padding included */
    idx *col_idx;  /* [rows * width] */
    real *values;  /* [rows * width] */
    idx *row_len;  /* [rows] true lengths */
} ell;

/* Slices of `slice` rows, the last with the rows that are left, each padded to its own longest row
 * and column-major: slot k of row r of slice s, which has `height` rows, is at slice_ptr[s] + k *
 * height + r. Padding: value 0, a column of that row. Rows are stored in the order of perm: longest
 * first inside every window of sigma rows. */
typedef struct V(sell) {
    spmv_store s;
    int64_t slice, nslices;
    ofs *slice_ptr; /* [nslices + 1] first slot */
    idx *row_len;   /* [rows] true lengths, as stored */
    idx *perm;      /* [rows] which row of the matrix stored row i is; NULL (sigma = 1): row i */
    idx *col_idx;   /* [slots] */
    real *values;   /* [slots] */
} sell;

/* Dense blocks of shape_rows x shape_cols, row-major, blocks of a block row in the order of their
 * columns. Block row b begins at row b * shape_rows; the rows its last one has too many are stored,
 * and are padding. A block begins at a multiple of shape_cols, except that one which would reach
 * over the last column begins so much earlier: no kernel reads past the end of x. Padding: value
 * -0.0, which no entry has. */
typedef struct V(bsr) {
    spmv_store s;
    int64_t block_rows, shape_rows, shape_cols, nblocks;
    ofs *block_ptr; /* [block_rows + 1] first block */
    idx *first_col; /* [nblocks] */
    real *values;   /* [nblocks * shape_rows * shape_cols] */
} bsr;
/* Rows in strips of height, the last strip may have fewer; a strip's entries stand together. */
enum { CMRS_ROW_BITS = 4, CMRS_COL_BITS = 28, CMRS_HIGHEST = 1 << CMRS_ROW_BITS };
typedef struct V(cmrs) {
    spmv_store s;
    int64_t height, strips; /* 1, 2, 4, 8 or 16 rows a strip */
    ofs *strip_ptr;         /* [strips + 1] */
    uint32_t *packed;       /* [nnz] column << CMRS_ROW_BITS | row in the strip */
    real *values;           /* [nnz] */
} cmrs;

/* The first boundary entries of every row in a row-major ELL part, the rest in a CSR part. */
typedef struct V(hybrid) {
    spmv_store s;
    int64_t boundary, rest_nnz; /* entries a row of the ELL part, entries of the CSR part */
    int64_t long_rows;          /* rows with entries in the CSR part */
    idx *ell_col;      /* [rows * boundary] entry k of row i at i * boundary + k; padding: */
    real *ell_values;  /* [rows * boundary] value 0, a column of that row */
    idx *rest_col;     /* [rest_nnz] */
    real *rest_values; /* [rest_nnz] */
    ofs *start, *end;  /* [rows] row i has start[i] .. end[i] - 1 of the CSR part */
    idx *row_len;      /* [rows] entries of the row in both parts */
} hybrid;

typedef struct V(coo) { /* entries sorted by row, then column */
    spmv_store s;
    idx *row_idx; /* [nnz] */
    idx *col_idx; /* [nnz] */
    real *values; /* [nnz] */
} sorted_coo;

/* The first width entries of each row in an ELL part, what is left of longer rows in a COO part.
 * ELL is column-major: entry k of row i at k * pitch + i; padding: value 0, column -1. */
typedef struct V(hyb) {
    spmv_store s;
    int64_t width, pitch; /* pitch: rows, rounded up to HYB_ALIGN */
    int64_t tail;         /* entries of the COO part */
    idx *ell_col;         /* [width * pitch] */
    real *ell_values;     /* [width * pitch] */
    idx *tail_row;        /* [tail] ascending */
    idx *tail_col;        /* [tail] */
    real *tail_values;    /* [tail] */
} hyb;
enum { HYB_ALIGN = 32 };

enum { CSB_LEAST_TILE = 16, CSB_MOST_TILE = 1 << 15 };
/* The tile a setting means. 0: about the square root of the dimension, as the format's authors have
 * it: the grid then has about as many blocks as the matrix rows, and x of a block is near. */
static inline int64_t csb_tile(int64_t rows, int64_t cols, int64_t setting) {
    int64_t dimension = rows > cols ? rows : cols, tile = CSB_LEAST_TILE;
    while (tile < CSB_MOST_TILE && tile * tile < dimension) tile *= 2;
    return setting ? setting : tile;
}

/* Square blocks of tile rows and columns, block by block along each row of blocks, row by row in a
 * block. The first entry of block (b, c) is block_ptr[b * block_cols + c]. */
typedef struct V(csb) {
    spmv_store s;
    int64_t tile, block_rows, block_cols;
    ofs *block_ptr;  /* [block_rows * block_cols + 1] */
    uint32_t *local; /* [nnz] row in the block << 16 | column in the block */
    real *values;    /* [nnz] */
} csb;

/* The entries on and below the diagonal of a square matrix A, row by row in the order of columns;
 * above it a_ij = sign a_ji. Columns are distances i - j if all are below 2^16 (near). */
typedef struct V(symmetric) {
    spmv_store s;
    int64_t half; /* entries stored */
    int sign;     /* 1, or -1: skew-symmetric off the diagonal */
    bool near;
    ofs *row_ptr;       /* [rows + 1] */
    uint16_t *distance; /* [half] if near */
    idx *col_idx;       /* [half] otherwise */
    real *values;       /* [half] */
} symmetric;

/* Strips of height rows (the last may have fewer), each a list of blocks of height x 8 places; only
 * entries are stored: block after block, row after row, by column. Bit j of mask[b * height + r]:
 * row r of the strip has an entry in column first_col[b] + j. Where the matrix is that wide,
 * first_col[b] + 8 <= cols. */
enum { MASKED_WIDTH = 8, MASKED_HIGHEST = 4 };
typedef struct V(masked) {
    spmv_store s;
    int64_t height, strips, nblocks; /* height: 1, 2 or 4 */
    ofs *block_ptr;                  /* [strips + 1] first block */
    ofs *value_ptr;                  /* [strips + 1] first value */
    idx *first_col;                  /* [nblocks] */
    uint8_t *mask;                   /* [nblocks * height] */
    real *values;                    /* [nnz + MASKED_WIDTH] eight may be read at any entry */
} masked;

/* Slices of PACKED_ROWS rows, each with codes of its own; nothing but entries is stored, so there
 * is no padding. A slice is a list of steps. A step holds, of every row whose bit is set in mask,
 * the next entry of that row (with run > 1 the next run of that many entries in adjacent columns).
 * What steps hold stands step after step, inside a step by ascending row; a step of runs holds the
 * first entry of each run, then the second of each, and has one column code a run. Rows longer than
 * cut are in no slice but in the long part, as compressed rows. Slices begin at multiples of
 * PACKED_ALIGN bytes in columns and values, and PACKED_SPARE bytes follow the last, so that a
 * whole vector can be loaded wherever an entry is. */
enum { PACKED_ROWS = 32, PACKED_ALIGN = 16, PACKED_SPARE = 64, PACKED_TABLE_SIZE = 256 };
/* The column of an entry of row i: i + base, nothing stored; base + uint8_t, uint16_t, uint32_t. */
enum packed_columns { PACKED_DIAGONAL, PACKED_COLUMN_8, PACKED_COLUMN_16, PACKED_COLUMN_32 };
/* The value: a real; a float, if every value of the slice survives the round trip bit for bit; a
 * uint8_t, its place in table; one real a step (of runs: run of them), the same for all rows. */
enum packed_values { PACKED_VALUE_RAW, PACKED_VALUE_F32, PACKED_VALUE_TABLE, PACKED_VALUE_STEP };
enum { PACKED_FULL = 1 }; /* flag of a slice: it has steps, and every mask has all bits set */
typedef struct packed_slice {
    int64_t step, column, value; /* where it begins: in step[], in columns and values (bytes) */
    int32_t nsteps;
    uint8_t column_code, value_code, run, flags;
} packed_slice;
typedef struct packed_step {
    int32_t base;
    uint32_t mask; /* bit r: row r of the slice */
} packed_step;
typedef struct V(packed) {
    spmv_store s;
    int64_t nslices, nsteps, column_bytes, value_bytes, cut, long_rows, long_nnz;
    int sign;            /* 0; of the format mirrored, which holds what symmetric does: as there */
    packed_slice *slice; /* [nslices] */
    packed_step *step;   /* [nsteps] */
    uint8_t *columns;    /* [column_bytes + PACKED_SPARE] */
    uint8_t *values;     /* [value_bytes + PACKED_SPARE] */
    real *table;         /* [PACKED_TABLE_SIZE] the same for all slices */
    idx *long_row;       /* [long_rows] ascending */
    ofs *long_ptr;       /* [long_rows + 1] */
    idx *long_col;       /* [long_nnz] */
    real *long_values;   /* [long_nnz] */
} packed;

/* Slices of NARROW_ROWS rows (the last one's missing rows have no entries), side by side: step k
 * holds the k-th entry of each. Longest rows first inside every window of sigma rows, so that rows
 * of a slice are about equally long; there are as many steps as the fourth longest has entries.
 * What the longer ones have besides, their tails, follows the steps, row by row. Padding: a column
 * of the slice, any value. Columns are distances from the slice's least, of 16 bits or (wide) 32;
 * values are all as the code says: reals; floats, if every value survives the round trip bit for
 * bit; uint8_t, their places in table; nothing, if all are table[0]. */
enum { NARROW_ROWS = 8, NARROW_LANES = 4, NARROW_MOST_SIGMA = 1 << 16 };
enum narrow_values { NARROW_RAW, NARROW_F32, NARROW_TABLE, NARROW_ONE };
static inline __attribute__((always_inline)) int coded_bytes(int code) {
    return code == NARROW_RAW   ? (int)sizeof(real)
           : code == NARROW_F32 ? (int)sizeof(float)
           : code == NARROW_ONE ? 0
                                : 1;
}
static inline __attribute__((always_inline)) real
coded_value(const uint8_t *values, const real *table, int64_t slot, int code) {
    real raw;
    float narrowed;
    if (code == NARROW_ONE) return table[0];
    if (code == NARROW_TABLE) return table[values[slot]];
    if (code == NARROW_F32) {
        memcpy(&narrowed, values + slot * (int64_t)sizeof narrowed, sizeof narrowed);
        return (real)narrowed;
    }
    memcpy(&raw, values + slot * (int64_t)sizeof raw, sizeof raw);
    return raw;
}
typedef struct narrow_slice {
    int64_t slot, column; /* where it begins: its first entry; in columns[], a multiple of 8 */
    int32_t base, width;  /* least column; steps */
    int32_t uneven;       /* which eight of length[] its rows' are; -1: all have width entries */
    int32_t wide;
} narrow_slice;
typedef struct V(narrow) {
    spmv_store s;
    int64_t sigma, nslices, nuneven, units; /* a unit: 16 bits of columns */
    int value_code, value_bytes, nvalues;   /* nvalues: in the table */
    narrow_slice *slice;                    /* [nslices] */
    uint16_t *perm;  /* [rows] place in its window of the row that is stored there; NULL: its own */
    int32_t *length; /* [nuneven * NARROW_ROWS] */
    uint16_t *columns; /* [units] */
    uint8_t *values;   /* [slots * value_bytes] */
    real *table;       /* [PACKED_TABLE_SIZE] with the codes TABLE and ONE */
} narrow_slices;

/* Blocks of tile columns and of as many rows as WOVEN_ROWS tiles at most, fewer where they hold
 * many entries: from first_row[b] on. The first entry of block (b, c) is block_ptr[b * block_cols +
 * c]. Its n entries, row by row, are cut into WOVEN_LANES parts of n / WOVEN_LANES, which stand
 * interleaved: an entry of each part, the next of each; the rest, fewer than WOVEN_LANES, follows.
 * So neighbours are of different rows, mostly. Values are coded as in narrow. */
enum { WOVEN_ROWS = 2, WOVEN_LANES = 8 };
typedef struct V(woven) {
    spmv_store s;
    int64_t tile, block_rows, block_cols;
    int value_code, value_bytes;
    idx *first_row;  /* [block_rows + 1] */
    ofs *block_ptr;  /* [block_rows * block_cols + 1] */
    uint32_t *local; /* [nnz] row in the block << 16 | column in the block */
    uint8_t *values; /* [nnz * value_bytes] */
    real *table;     /* [PACKED_TABLE_SIZE] with the codes TABLE and ONE */
} woven;

/* Blocks of successive rows, `height` in the mean, with about as many entries each, and the list of
 * the columns that each needs, ascending; an entry names a place in it. A row of more than `cut`
 * entries is cut into as few equal pieces as are no longer: of p pieces the q-th has entries q, q +
 * p, ... The pieces of a block (other rows are one) stand longest first, stable, in slices of
 * LOCAL_SLICE, each padded to its longest: slot k of the i-th piece of block b is at the block's
 * slot + slice[piece / LOCAL_SLICE + b + i / LOCAL_SLICE] + k * LOCAL_SLICE + i % LOCAL_SLICE.
 * Padding, which no kernel multiplies: place 0, all bits of the value 0. Values are coded as in
 * narrow. Where blocks begin in order, cuts and slice follows from the entries before, so that all
 * can be filled at once; what is between blocks is 0. */
enum { LOCAL_SLICE = 32, LOCAL_LEAST = 128, LOCAL_HIGHEST = 4096, LOCAL_LONGEST = UINT8_MAX };
enum { LOCAL_PIECES = 4608 /* of a block */, LOCAL_COLUMNS = 28000, LOCAL_SPAN = 1 << 19 };
typedef struct local_block {
    int64_t slot, need;          /* first of its slots; of its list, in units of 16 bits */
    int64_t piece, cut;          /* first of its pieces, and of its rows that are cut */
    int32_t row, rows;           /* the first; how many */
    int32_t base, count;         /* first column; columns of the list */
    int32_t wide;                /* the list is of uint32_t, not uint16_t: columns - base */
    int32_t pieces, cuts, parts; /* parts: the pieces of the rows that are cut */
} local_block;
typedef struct V(local_rows) {
    spmv_store s;
    int64_t height, nblocks, cut, pieces;
    int64_t most, units; /* columns and parts of a block, at most; 16 bits each, of all lists */
    int value_code, value_bytes;
    local_block *block; /* [nblocks] */
    uint32_t *slice;    /* a slice's first slot, from the block's */
    uint32_t *cuts;  /* rows that are cut: which of the block's | first part << 16; and the end */
    uint16_t *order; /* of a piece: which of the block's rows it is; if cut, rows + which part */
    uint8_t *length; /* of a piece */
    uint16_t *need;  /* [units] */
    uint16_t *place; /* [slots] */
    uint8_t *values; /* [slots * value_bytes] */
    real *table;     /* [PACKED_TABLE_SIZE] of the codes TABLE and ONE; else zeros */
} local_rows;
typedef struct spmv_local_facts { /* the most that a block has */
    int64_t pieces, span, columns;
} spmv_local_facts;
typedef struct spmv_local_shape {
    int64_t height, nblocks, cut;
    int64_t pieces, cuts, slices; /* room for all of them */
} spmv_local_shape;
/* local.c. SPMV_E_UNSUITABLE if that is too much. */
SPMV_LINKAGE spmv_status spmv_local_fits(spmv_ctx *ctx, int64_t height,
                                         const spmv_local_facts *most);
/* The height where the longest row is so long, by a look at a few blocks; *columns: of a block, per
 * row; infinite: nothing is known. */
SPMV_LINKAGE int64_t spmv_local_height(const spmv_csr_view *A, int64_t longest, double *columns);
/* As asked for, or with that height and pieces that are about as many as threads. */
SPMV_LINKAGE spmv_local_shape spmv_local_shape_for(const spmv_csr_view *A, const spmv_choice *c);
/* Where blocks begin: row, rows, piece, cut; all else 0. */
SPMV_LINKAGE void spmv_local_split(const spmv_csr_view *A, const spmv_local_shape *shape,
                                   local_block *block);
/* How many columns lie between the first and the last that rows first..end - 1 need, which ascend
 * in a row, and the first; 0: the rows are empty. */
SPMV_LINKAGE int64_t spmv_local_span(const spmv_csr_view *A, int64_t first, int64_t end,
                                     int32_t *base);

/* Of the ends of the rows and the entries, merged into one list: how many rows end among its first
 * `items` items. Row i ends before entry k if row_ptr[i + 1] <= k. */
static inline int64_t spmv_rows_ended(const spmv_csr_view *A, int64_t items) {
    int64_t low = items > A->nnz ? items - A->nnz : 0;
    int64_t high = items < A->rows ? items : A->rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->row_ptr[middle + 1] <= items - middle - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static inline int64_t spmv_longest_row(const spmv_csr_view *A) {
    int64_t longest = 0;
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i + 1] - A->row_ptr[i] > longest)
            longest = A->row_ptr[i + 1] - A->row_ptr[i];
    return longest;
}

/* SPMV_OK if f32 holds every value but `overflows` of them, 0; else refused. */
spmv_status spmv_fits(spmv_ctx *ctx, int64_t overflows);
/* Lists an array of the matrix that the store takes as it is; member: of the store, will point. */
void spmv_store_borrow(spmv_store *store, void *member, const void *array, size_t bytes);

#endif
