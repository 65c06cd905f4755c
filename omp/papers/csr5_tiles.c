/* csr5_tiles: equal shares of the tiles of CSR5, lanes of a tile in vector registers, rows combined
 * by a segmented sum.
 *
 * Source   Liu and Vinter, ICS'15, "CSR5: An Efficient Storage Format for Cross-Platform Sparse
 *          Matrix-Vector Multiplication", from the description. Here sums of lanes are added
 *          directly: the difference of two prefix sums, as published, would let a row's rounding
 *          error, infinity or NaN into its neighbours.
 * Reads    csr5: tile_ptr[tiles + 1], tile_desc[tiles x words x lanes], col_idx[nnz], values[nnz],
 *          row_ptr once per tile and for the tail, and all of it if rows are empty; empty_ptr and
 *          empty_offset of tiles with empty rows; x[cols]; y[rows] if beta != 0, and of rows in
 *          several tiles.
 * Writes   y[rows]: each row by the tile in which it begins, and again by every other tile of the
 *          same share that has a part of it; then one carry per share, serially, for rows that
 *          began in an earlier share; empty rows separately.
 * Work     A tile within one row is a dot product (the paper's fast track). In other tiles a lane
 *          stores the sums of rows that begin and end in it; the sums at its top and bottom are
 *          combined with the neighbouring lanes'. The tail behind the last whole tile is multiplied
 *          row by row.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + tiles (4 words lanes + 4 + sizeof ofs) + (cols +
 *          rows) sizeof real bytes if x is read once, without 4 words lanes for a tile in one row,
 *          and (rows + 1) sizeof ofs if rows are empty.
 * Weak     rows shorter than the height of a tile: segments end at nearly every step.
 * Repeats  bitwise: yes, for an equal number of threads and isa.
 * Params   lanes, height: of a tile, of the format (omega and sigma of the paper), 0: as the paper
 *          chooses; isa: 0 the best, 1 portable, 2 AVX2 (4 or 8 lanes), 3 AVX-512 (8 or 16).
 */
#include "csr5_avx512.h"
#include "csr5_avx2.h"
#include "csr5_portable.h"

typedef struct shares {
    multiply_tiles *multiply;
    carry carries[MOST_SHARES];
} shares;

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* independent of both */
    return sizeof(shares);
}

static multiply_tiles *choose_way(int64_t isa, const csr5 *A) {
    multiply_tiles *out = NULL;
#ifdef __x86_64__
    if (isa == ISA_AVX512) out = choose_avx512(&A->shape, spmv_gather_pays(ISA_AVX512));
    if (!out && isa != ISA_PORTABLE) out = choose_avx2(&A->shape, spmv_gather_pays(ISA_AVX2));
#endif
    (void)isa, (void)A;
    return out ? out : multiply_portable;
}

static spmv_status prepare(spmv_plan *p) {
    const csr5 *A = (const csr5 *)p->store;
    TRY(choose_isa(p));
    p->choice.value[SPMV_lanes] = A->shape.lanes;
    p->choice.value[SPMV_height] = A->shape.height;
    p->traffic_bytes = csr5_bytes_read(A);
    TRY(make_scratch(p, sizeof(shares)));
    shares *t = p->scratch;
    t->multiply = choose_way(p->choice.value[SPMV_isa], A);
    return SPMV_OK;
}

/* Returns the carry of a share that begins at entry k in row `row`: none if the row begins at k. */
static carry carry_of(const csr5 *A, int64_t row, int64_t k) {
    return (carry){k < A->s.nnz && A->row_ptr[row] != k ? row : -1, 0};
}

static void multiply_tail(const product *m) {
    const csr5 *A = m->A;
    int64_t k = A->tiles * csr5_tile_size(&A->shape);
    for (int64_t i = A->tile_ptr[A->tiles]; k < A->s.nnz; i++) {
        const int64_t end = A->row_ptr[i + 1];
        if (k < end) put_first(m, i, k, dot(A->values, A->col_idx, m->x, k, end, false));
        k = end;
    }
}

static void scale_empty_rows(const csr5 *A, real beta, real *y) {
#pragma omp for schedule(static) nowait
    for (int64_t i = 0; i < A->s.rows; i++)
        if (A->row_ptr[i] == A->row_ptr[i + 1]) scale_row(y + i, beta);
}

/* Multiplies tiles first to end - 1 and, in the last share, the tail. */
static void multiply_share(const product *m, multiply_tiles *multiply, int64_t first, int64_t end,
                           bool is_last) {
    const csr5 *A = m->A;
    *m->open = (carry){-1, 0};
    if (first == end && !is_last) return;
    *m->open = carry_of(A, A->tile_ptr[first] & ~CSR5_HAS_EMPTY, first * csr5_tile_size(&A->shape));
    multiply(m, first, end);
    if (is_last) multiply_tail(m);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csr5 *A = (const csr5 *)p->store;
    shares *t = p->scratch;
    const int64_t nshares = shares_of(p);
#pragma omp parallel num_threads((int)nshares)
    {
        if (A->empty_rows) scale_empty_rows(A, beta, y);
#pragma omp for schedule(static, 1)
        for (int64_t s = 0; s < nshares; s++) {
            const product m = {A, x, y, alpha, beta, t->carries + s};
            multiply_share(&m, t->multiply, spmv_split(A->tiles, nshares, s),
                           spmv_split(A->tiles, nshares, s + 1), s == nshares - 1);
        }
    }
    add_carries(t->carries, nshares, alpha, y);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_ISA, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr5_tiles) = {
    .name = "csr5_tiles",
    .alias = "csr5",
    .format = "csr5",
    .summary = "equal shares of transposed tiles, rows put together by a segmented sum",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
