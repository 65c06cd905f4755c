/* format_bsr.c: block sparse rows: a dense block for every cell of the grid that holds an entry.
 *
 * Slots of a block without an entry are padding, -0.0. A stored zero of either sign becomes 0.0,
 * which differs from padding in its bits, but in no finite sum. A shape larger than the matrix is
 * cut to it. */
#include "bsr.h"
#include <math.h>

enum { LARGEST = 8, NO_COLUMN = INT32_MAX };

typedef struct front { /* the next entry of each row of a block row */
    int n;
    idx column[LARGEST]; /* column of the next entry; NO_COLUMN: none left */
    int64_t next[LARGEST], end[LARGEST];
} front;

/* Inlined, so that the shape can be a constant at each call. */
#define INLINE static inline __attribute__((always_inline))

INLINE front front_of(const spmv_csr_view *A, const bsr_shape *f, int64_t block_row) {
    int64_t first = block_row * f->rows;
    front at = {.n = (int)(A->rows - first < f->rows ? A->rows - first : f->rows)};
    for (int r = 0; r < at.n; r++) {
        at.next[r] = A->row_ptr[first + r];
        at.end[r] = A->row_ptr[first + r + 1];
        at.column[r] = at.next[r] < at.end[r] ? A->col_idx[at.next[r]] : NO_COLUMN;
    }
    return at;
}

INLINE void take_entries(const spmv_csr_view *A, front *at, int r, int64_t n) {
    at->next[r] += n;
    at->column[r] = at->next[r] < at->end[r] ? A->col_idx[at->next[r]] : NO_COLUMN;
}

/* Finds the next block that holds an entry: columns *first to *end - 1. */
INLINE bool find_block(const spmv_csr_view *A, const bsr_shape *f, const front *at, int64_t *first,
                       int64_t *end) {
    idx least = NO_COLUMN;
    for (int r = 0; r < at->n; r++) least = at->column[r] < least ? at->column[r] : least;
    *first = (uint32_t)least / (uint32_t)f->cols * f->cols;
    *end = *first + f->cols < A->cols ? *first + f->cols : A->cols;
    return least != NO_COLUMN;
}

/* Returns whether all cells of the block hold entries. Columns ascend: it tests a row's first and
 * last. */
INLINE bool has_all(const spmv_csr_view *A, const bsr_shape *f, const front *at, int64_t first) {
    bool all = at->n == f->rows;
    for (int r = 0; r < f->rows && all; r++)
        all = at->column[r] == first && at->next[r] + f->cols <= at->end[r] &&
              A->col_idx[at->next[r] + f->cols - 1] == first + f->cols - 1;
    return all;
}

INLINE int64_t count_in(const spmv_csr_view *A, const bsr_shape *f, int64_t block_row) {
    front at = front_of(A, f, block_row);
    int64_t n = 0;
    for (int64_t first, end; find_block(A, f, &at, &first, &end); n++)
        if (has_all(A, f, &at, first))
            for (int r = 0; r < f->rows; r++) take_entries(A, &at, r, f->cols);
        else
            for (int r = 0; r < at.n; r++)
                while (at.column[r] < end) take_entries(A, &at, r, 1);
    return n;
}

static int64_t count_blocks(const spmv_csr_view *A, const bsr_shape *f, int64_t block_row) {
    const int64_t n = f->block_rows;
    if (f->rows == 2 && f->cols == 2) return count_in(A, &(bsr_shape){2, 2, n}, block_row);
    if (f->rows == 3 && f->cols == 3) return count_in(A, &(bsr_shape){3, 3, n}, block_row);
    return count_in(A, f, block_row);
}

static size_t bytes_of(const bsr_shape *f, size_t blocks) {
    return (size_t)(f->block_rows + 1) * sizeof(ofs) +
           blocks * ((size_t)(f->rows * f->cols) * sizeof(real) + sizeof(idx));
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    bsr_shape f = bsr_shape_of(A, c);
    size_t blocks = 0;
    for (int64_t b = 0; b < f.block_rows; b++) blocks += (size_t)count_blocks(A, &f, b);
    return bytes_of(&f, blocks);
}

/* Returns the bytes with one block per entry or with every block of the grid, whichever is less. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    (void)longest;
    bsr_shape f = bsr_shape_of(A, c);
    double grid = (double)f.block_rows * (double)((A->cols + f.cols - 1) / f.cols);
    return bytes_of(&f, (size_t)(grid < (double)A->nnz ? grid : (double)A->nnz));
}

/* There are no more blocks than entries, so offsets can hold their number. */
static void place_blocks(const spmv_csr_view *A, const bsr_shape *f, int threads, bsr *B) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t b = 0; b < f->block_rows; b++) B->block_ptr[b + 1] = (ofs)count_blocks(A, f, b);
    B->block_ptr[0] = 0;
    for (int64_t b = 0; b < f->block_rows; b++) B->block_ptr[b + 1] += B->block_ptr[b];
}

/* Writes a value to its slot; a zero becomes positive. */
static int64_t put_value(double value, real *to) {
    *to = (real)value == 0 ? 0 : (real)value;
    return isinf(*to) && !isinf(value);
}

INLINE int64_t fill_full(const spmv_csr_view *A, const bsr_shape *f, front *at, real *values) {
    int64_t overflows = 0;
    for (int r = 0; r < f->rows; r++, values += f->cols) {
        const double *from = A->values + at->next[r];
        for (int64_t c = 0; c < f->cols; c++) overflows += put_value(from[c], values + c);
        take_entries(A, at, r, f->cols);
    }
    return overflows;
}

INLINE int64_t fill_in(const spmv_csr_view *A, const bsr_shape *f, int64_t block_row, bsr *B) {
    int64_t overflows = 0, size = f->rows * f->cols, k = B->block_ptr[block_row];
    front at = front_of(A, f, block_row);
    for (int64_t first, end; find_block(A, f, &at, &first, &end); k++) {
        real *values = B->values + k * size;
        B->first_col[k] = (idx)(end - f->cols); /* the last block of a row begins early */
        if (has_all(A, f, &at, first)) {
            overflows += fill_full(A, f, &at, values);
            continue;
        }
        for (int64_t cell = 0; cell < size; cell++) values[cell] = (real)-0.0;
        for (int r = 0; r < at.n; r++, values += f->cols)
            for (; at.column[r] < end; take_entries(A, &at, r, 1))
                overflows +=
                    put_value(A->values[at.next[r]], values + at.column[r] - B->first_col[k]);
    }
    return overflows;
}

static int64_t fill_block_row(const spmv_csr_view *A, int64_t block_row, bsr *B) {
    const bsr_shape f = {B->shape_rows, B->shape_cols, B->block_rows};
    if (f.rows == 2 && f.cols == 2)
        return fill_in(A, &(bsr_shape){2, 2, f.block_rows}, block_row, B);
    if (f.rows == 3 && f.cols == 3)
        return fill_in(A, &(bsr_shape){3, 3, f.block_rows}, block_row, B);
    return fill_in(A, &f, block_row, B);
}

/* Uses the static partition of bsr_rows, so that first touch places pages near their thread. */
static int64_t fill_blocks(const spmv_csr_view *A, int threads, bsr *B) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t b = 0; b < B->block_rows; b++) overflows += fill_block_row(A, b, B);
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    bsr_shape f = bsr_shape_of(A, c);
    TRY(spmv_store_new(ctx, "bsr", sizeof(bsr), A, out));
    bsr *B = (bsr *)*out;
    B->block_rows = f.block_rows;
    B->shape_rows = f.rows;
    B->shape_cols = f.cols;
    TRY(STORE_ARRAY(ctx, B, block_ptr, f.block_rows + 1));
    place_blocks(A, &f, threads, B);
    B->nblocks = B->block_ptr[f.block_rows];
    B->s.slots = B->nblocks * f.rows * f.cols;
    TRY(STORE_ARRAY(ctx, B, first_col, B->nblocks));
    TRY(STORE_ARRAY(ctx, B, values, B->s.slots));
    return spmv_fits(ctx, fill_blocks(A, threads, B));
}

/* ---- other values ---------------------------------------------------------------------------- */

/* No entry has the bits of -0.0. */
INLINE bool is_padding(real cell) {
    const real padding = (real)-0.0;
    return memcmp(&cell, &padding, sizeof cell) == 0;
}

INLINE bool is_full(const real *block, int64_t size) {
    int paddings = 0;
    for (int64_t cell = 0; cell < size; cell++) paddings |= is_padding(block[cell]);
    return !paddings;
}

/* Returns the cells that hold entries, one bit each. */
INLINE uint64_t entries_in(const real *block, int64_t size) {
    uint64_t cells = 0;
    for (int64_t cell = 0; cell < size; cell++) cells |= (uint64_t)!is_padding(block[cell]) << cell;
    return cells;
}

/* Writes the one entry of a block, in any cell, without a branch that would be mispredicted. */
INLINE void refill_one(const double *values, int64_t rows, int64_t cols, uint64_t cells,
                       int64_t *next, real *to) {
    int64_t from = 0;
    for (int r = 0; r < rows; r++, cells >>= cols) {
        const bool is_here = (cells & (((uint64_t)1 << cols) - 1)) != 0;
        from += is_here ? next[r] : 0;
        next[r] += is_here;
    }
    *to = (real)values[from] + 0;
}

/* Writes the rows' next values to a block's cells that hold entries. + 0 makes zeros positive. */
INLINE void refill_block(const double *values, int64_t rows, int64_t cols, int64_t *next,
                         real *to) {
    const int64_t size = rows * cols;
    if (is_full(to, size)) {
        for (int r = 0; r < rows; r++) {
            for (int64_t c = 0; c < cols; c++) to[r * cols + c] = (real)values[next[r] + c] + 0;
            next[r] += cols;
        }
        return;
    }
    const uint64_t cells = entries_in(to, size);
    if ((cells & (cells - 1)) == 0)
        refill_one(values, rows, cols, cells, next, to + __builtin_ctzll(cells));
    else
        for (int r = 0; r < rows; r++)
            for (int64_t c = r * cols; c < (r + 1) * cols; c++)
                if (cells >> c & 1) to[c] = (real)values[next[r]++] + 0;
}

INLINE void refill_block_row(const spmv_csr_view *A, int64_t block_row, int64_t rows, int64_t cols,
                             bsr *B) {
    const int64_t size = rows * cols, first = block_row * rows;
    const real *end = B->values + B->block_ptr[block_row + 1] * size;
    int64_t next[LARGEST];
    for (int r = 0; r < rows; r++) next[r] = A->row_ptr[first + r < A->rows ? first + r : A->rows];
    for (real *to = B->values + B->block_ptr[block_row] * size; to < end; to += size)
        refill_block(A->values, rows, cols, next, to);
}

/* Returns whether a block row of 2 x 2 has both rows and, before row `end`, two values more. */
static bool has_two_behind(const spmv_csr_view *A, int64_t block_row, int64_t end) {
    const int64_t behind = 2 * block_row + 2;
    return behind <= end && A->row_ptr[behind] + 2 <= A->row_ptr[end];
}

/* Refills a block row of 2 x 2 without branches, which would be mispredicted. After the last value
 * of a row it reads the next one, so up to one value behind the block row. */
static void refill_2_by_2(const spmv_csr_view *A, int64_t block_row, bsr *B) {
    enum { SIZE = 4, HALF_PAGE = 2048 };
    typedef real block __attribute__((vector_size(SIZE * sizeof(real))));
    typedef double wide __attribute__((vector_size(SIZE * sizeof(double))));
    typedef __typeof__((block){0} == (block){0}) bits;
    const bits padding = (bits)(-(block){0});
    const double *a = A->values + A->row_ptr[2 * block_row];
    const double *b = A->values + A->row_ptr[2 * block_row + 1];
    real *to = B->values + (int64_t)B->block_ptr[block_row] * SIZE;
    for (int64_t k = B->block_ptr[block_row]; k < B->block_ptr[block_row + 1]; k++, to += SIZE) {
        const bool a0 = !is_padding(to[0]), a1 = !is_padding(to[1]);
        const bool b0 = !is_padding(to[2]), b1 = !is_padding(to[3]);
        const wide next = {a[0], a[a0], b[0], b[b0]};
        const bits values = (bits)(__builtin_convertvector(next, block) + 0);
        bits cells;
        /* a processor's own prefetcher stops at the end of the page */
        __builtin_prefetch((const char *)to + HALF_PAGE);
        memcpy(&cells, to, sizeof cells);
        const bits are_entries = cells != padding;
        cells = (values & are_entries) | (padding & ~are_entries);
        memcpy(to, &cells, sizeof cells);
        a += a0 + a1;
        b += b0 + b1;
    }
}

static int64_t rows_together(const spmv_store *store) {
    return ((const bsr *)store)->shape_rows;
}

/* Common shapes are constants in the code. */
static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    bsr *B = (bsr *)store;
    const int64_t rows = B->shape_rows, cols = B->shape_cols;
    for (int64_t b = first / rows; b * rows < end; b++)
        if (rows == 2 && cols == 2 && has_two_behind(A, b, end))
            refill_2_by_2(A, b, B);
        else if (rows == 2 && cols == 2)
            refill_block_row(A, b, 2, 2, B);
        else if (rows == 3 && cols == 3)
            refill_block_row(A, b, 3, 3, B);
        else if (rows == 4 && cols == 4)
            refill_block_row(A, b, 4, 4, B);
        else
            refill_block_row(A, b, rows, cols, B);
}

static int places(const spmv_store *store, spmv_places *out) {
    const bsr *B = (const bsr *)store;
    *out = (spmv_places){B->values, store->slots, sizeof(real), -0.0};
    return 1;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const bsr *A = (const bsr *)store;
    int64_t n = 0;
    for (int64_t b = 0; b < A->block_rows; b++)
        for (int64_t k = A->block_ptr[b]; k < A->block_ptr[b + 1]; k++)
            for (int64_t cell = 0; cell < A->shape_rows * A->shape_cols; cell++) {
                real value = A->values[k * A->shape_rows * A->shape_cols + cell];
                if (value == 0 && signbit(value)) continue;
                row[n] = (int32_t)(b * A->shape_rows + cell / A->shape_cols);
                col[n] = (int32_t)(A->first_col[k] + cell % A->shape_cols);
                values[n++] = (double)value;
            }
}

static const spmv_param params[] = {{SPMV_shape_rows, 2, 1, LARGEST, 1, false},
                                    {SPMV_shape_cols, 2, 1, LARGEST, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(bsr_format) = {
    .name = "bsr",
    .summary = "block sparse rows: dense blocks, row-major, and a column index per block",
    .params = params,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .places = places,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
    .look = spmv_bsr_look,
    .features = spmv_bsr_features,
};
