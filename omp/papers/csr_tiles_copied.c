/* csr_tiles_copied: as csr_tiles, but each block of columns is a CSR matrix of its own.
 *
 * Source   Di Iorio, csr4; there the blocks are copied inside the timed region.
 * Reads    csr_columns: per column block row_ptr[rows + 1], col_idx, values; x[cols]; y[rows] only
 *          if beta != 0.
 * Writes   partial[rows x grid_cols], then y[rows], each entry once.
 * Work     a tile is one iteration: thread by the OpenMP schedule; one running sum per row and
 *          tile.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + rows grid_cols (sizeof ofs + 2 sizeof real) + (cols
 *          + rows) sizeof real.
 * Weak     as csr_tiles, and it needs a conversion; in return a tile's nonzeros are contiguous.
 * Repeats  bitwise: yes, for equal grid_cols.
 * Params   grid_rows (one per thread), of the format: grid_cols (4); schedule, chunk: of the tile
 *          loop; simd (0).
 */
#include "omp/carry.h"
#include "formats/papers/csr_columns/csr_columns.h"

static size_t partial_bytes(int64_t rows, int64_t ncols) {
    return (size_t)(rows * ncols) * sizeof(real);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return partial_bytes(A->rows, spmv_blocks_of(c->value[SPMV_grid_cols], A->cols));
}

static spmv_status prepare(spmv_plan *p) {
    TRY(make_scratch(p, partial_bytes(p->store->rows, ((const csr_columns *)p->store)->ncols)));
    p->traffic_bytes += 2 * p->scratch_bytes;
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csr_columns *A = (const csr_columns *)p->store;
    real *partial = p->scratch;
    int64_t rows = p->store->rows;
    int64_t nrows = spmv_blocks_of(p->choice.value[SPMV_grid_rows], rows), ncols = A->ncols;
    bool simd = p->choice.value[SPMV_simd];
    schedule before = set_schedule(p, nrows * ncols);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t tile = 0; tile < nrows * ncols; tile++) {
        int64_t b = tile / ncols, j = tile % ncols, end = spmv_split(rows, nrows, b + 1);
        const ofs *row_ptr = A->row_ptr + j * (rows + 1);
        for (int64_t i = spmv_split(rows, nrows, b); i < end; i++)
            partial[i * ncols + j] =
                dot(A->values, A->col_idx, x, row_ptr[i], row_ptr[i + 1], simd);
    }
    restore_schedule(before);
    reduce_partials(p, partial, ncols, alpha, beta, y);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_GRID_ROWS, PARAMS_SCHEDULE, PARAM_SIMD,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_tiles_copied) = {
    .name = "csr_tiles_copied",
    .alias = "csr4",
    .format = "csr_columns",
    .summary = "2-D tiles, each column block a CSR matrix of its own",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
