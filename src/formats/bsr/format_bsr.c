/* format_bsr.c: block sparse rows: a dense block for every place of the grid that holds an entry.
 *
 * What a block has besides entries is padding, -0.0. A stored zero, of either sign, becomes 0.0, so
 * that the two can be told apart; no finite sum tells them apart. A shape larger than the matrix is
 * cut to it. */
#include "bsr.h"
#include <math.h>

enum { LARGEST = 8, NO_COLUMN = INT32_MAX };

typedef struct front { /* how far each row of a block row has been taken */
    int n;
    idx column[LARGEST]; /* of the next entry; NO_COLUMN, which is none: the row is taken */
    int64_t next[LARGEST], end[LARGEST];
} front;

static front front_of(const spmv_csr_view *A, const bsr_shape *f, int64_t block_row) {
    int64_t first = block_row * f->rows;
    front at = {.n = (int)(A->rows - first < f->rows ? A->rows - first : f->rows)};
    for (int r = 0; r < at.n; r++) {
        at.next[r] = A->row_ptr[first + r];
        at.end[r] = A->row_ptr[first + r + 1];
        at.column[r] = at.next[r] < at.end[r] ? A->col_idx[at.next[r]] : NO_COLUMN;
    }
    return at;
}

static void take_entry(const spmv_csr_view *A, front *at, int r) {
    at->column[r] = ++at->next[r] < at->end[r] ? A->col_idx[at->next[r]] : NO_COLUMN;
}

/* Finds the next block of the grid that holds an entry: its columns are *first..*end - 1. */
static bool find_block(const spmv_csr_view *A, const bsr_shape *f, const front *at, int64_t *first,
                       int64_t *end) {
    idx least = NO_COLUMN;
    for (int r = 0; r < at->n; r++) least = at->column[r] < least ? at->column[r] : least;
    *first = (uint32_t)least / (uint32_t)f->cols * f->cols;
    *end = *first + f->cols < A->cols ? *first + f->cols : A->cols;
    return least != NO_COLUMN;
}

static int64_t count_blocks(const spmv_csr_view *A, const bsr_shape *f, int64_t block_row) {
    front at = front_of(A, f, block_row);
    int64_t n = 0;
    for (int64_t first, end; find_block(A, f, &at, &first, &end); n++)
        for (int r = 0; r < at.n; r++)
            while (at.column[r] < end) take_entry(A, &at, r);
    return n;
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

/* An entry a block, or every block of the grid. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    (void)longest;
    bsr_shape f = bsr_shape_of(A, c);
    double grid = (double)f.block_rows * (double)((A->cols + f.cols - 1) / f.cols);
    return bytes_of(&f, (size_t)(grid < (double)A->nnz ? grid : (double)A->nnz));
}

/* There are no more blocks than entries, so their numbers fit the offsets. */
static void place_blocks(const spmv_csr_view *A, const bsr_shape *f, int threads, bsr *B) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t b = 0; b < f->block_rows; b++) B->block_ptr[b + 1] = (ofs)count_blocks(A, f, b);
    B->block_ptr[0] = 0;
    for (int64_t b = 0; b < f->block_rows; b++) B->block_ptr[b + 1] += B->block_ptr[b];
}

/* A value in its place of a block: a zero is made positive. */
static int64_t put_value(double value, real *to) {
    *to = (real)value == 0 ? 0 : (real)value;
    return isinf(*to) && !isinf(value);
}

static int64_t fill_block_row(const spmv_csr_view *A, int64_t block_row, bsr *B) {
    const bsr_shape f = {B->shape_rows, B->shape_cols, B->block_rows};
    int64_t overflows = 0, size = f.rows * f.cols, k = B->block_ptr[block_row];
    front at = front_of(A, &f, block_row);
    for (int64_t first, end; find_block(A, &f, &at, &first, &end); k++) {
        real *values = B->values + k * size;
        B->first_col[k] = (idx)(end - f.cols); /* the last block begins early */
        for (int64_t cell = 0; cell < size; cell++) values[cell] = (real)-0.0;
        for (int r = 0; r < at.n; r++, values += f.cols)
            for (; at.column[r] < end; take_entry(A, &at, r))
                overflows +=
                    put_value(A->values[at.next[r]], values + at.column[r] - B->first_col[k]);
    }
    return overflows;
}

/* By the static partition that bsr_rows multiplies with: first touch places the pages. */
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

/* Row i of a block, all of whose entries are there. */
static inline __attribute__((always_inline)) void put_full(const double *from, int64_t cols,
                                                           real *to) {
    for (int64_t c = 0; c < cols; c++) put_value(from[c], to + c);
}

/* Blocks of a block row, and entries of a row, ascend. */
static inline __attribute__((always_inline)) void refill_row(const spmv_csr_view *A, int64_t i,
                                                             int64_t rows, int64_t cols, bsr *B) {
    const int64_t end = A->row_ptr[i + 1];
    int64_t e = A->row_ptr[i];
    for (int64_t k = B->block_ptr[i / rows]; e < end; k++) {
        const idx first = B->first_col[k], last = first + (idx)cols - 1;
        real *to = B->values + (k * rows + i % rows) * cols;
        if (end - e >= cols && A->col_idx[e] == first && A->col_idx[e + cols - 1] == last) {
            put_full(A->values + e, cols, to);
            e += cols;
        } else
            for (; e < end && A->col_idx[e] <= last; e++)
                put_value(A->values[e], to + A->col_idx[e] - first);
    }
}

/* The usual shapes are constants in the code. */
static void refill_block_row(const spmv_csr_view *A, int64_t block_row, bsr *B) {
    const int64_t rows = B->shape_rows, cols = B->shape_cols, first = block_row * rows;
    const int64_t end = first + rows < A->rows ? first + rows : A->rows;
    for (int64_t i = first; i < end; i++)
        if (rows == 2 && cols == 2)
            refill_row(A, i, 2, 2, B);
        else if (rows == 3 && cols == 3)
            refill_row(A, i, 3, 3, B);
        else if (rows == 4 && cols == 4)
            refill_row(A, i, 4, 4, B);
        else
            refill_row(A, i, rows, cols, B);
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    bsr *B = (bsr *)store;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t b = 0; b < B->block_rows; b++) refill_block_row(A, b, B);
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
    .summary = "block sparse rows: dense blocks, row-major, and a column index a block",
    .params = params,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .refill = refill,
};
