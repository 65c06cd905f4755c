/* ell_tiles: the rows x width array of an ELL matrix is cut into grid_rows x grid_cols tiles; each
 * leaves one partial sum per row, which a second loop adds up.
 *
 * Source   Di Iorio, spmvTilesELL, ell2. Column blocks cut the slots of a row, not the columns of
 *          the matrix.
 * Reads    ell: col_idx[rows x width], values[rows x width], row_len[rows] with rowlens; x[cols]; y
 *          if beta != 0.
 * Writes   partial[rows x grid_cols], then y[rows], each entry once.
 * Work     a tile is one iteration: thread by the OpenMP schedule; one running sum per row and
 *          tile.
 * Cost     2 nnz flop; rows width (sizeof real + 4) + 2 rows grid_cols sizeof real + (cols + rows)
 *          sizeof real bytes; with rowlens nnz for rows width, and 4 rows grid_cols.
 * Weak     as ell_rows; partial sums cost as much as two more nonzeros per row and tile.
 * Repeats  bitwise: yes, for equal grid_cols.
 * Params   grid_rows (one per thread), grid_cols (4); schedule, chunk: of the tile loop; simd (0);
 *          rowlens (1).
 */
#include "ell.h"
#include "formats/row_ends.h"
#include "omp/carry.h"

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    const int64_t ncols = spmv_blocks_of(c->value[SPMV_grid_cols], spmv_longest_row(A));
    return (size_t)(A->rows * ncols) * sizeof(real);
}

static int64_t slot_blocks(const spmv_plan *p) {
    return spmv_blocks_of(p->choice.value[SPMV_grid_cols], ((const ell *)p->store)->width);
}

static spmv_status prepare(spmv_plan *p) {
    size_t rows = (size_t)p->store->rows, ncols = (size_t)slot_blocks(p);
    TRY(ell_prepare(p));
    TRY(make_scratch(p, rows * ncols * sizeof(real)));
    p->traffic_bytes += 2 * p->scratch_bytes +
                        (p->choice.value[SPMV_rowlens] ? rows * (ncols - 1) * sizeof(idx) : 0);
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const ell *A = (const ell *)p->store;
    real *partial = p->scratch;
    int64_t nrows = spmv_blocks_of(p->choice.value[SPMV_grid_rows], A->s.rows);
    int64_t ncols = slot_blocks(p);
    bool simd = p->choice.value[SPMV_simd], rowlens = p->choice.value[SPMV_rowlens];
    schedule before = set_schedule(p, nrows * ncols);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t tile = 0; tile < nrows * ncols; tile++) {
        int64_t b = tile / ncols, j = tile % ncols, end = spmv_split(A->s.rows, nrows, b + 1);
        int64_t first = spmv_split(A->width, ncols, j), last = spmv_split(A->width, ncols, j + 1);
        for (int64_t i = spmv_split(A->s.rows, nrows, b); i < end; i++)
            partial[i * ncols + j] = ell_dot(A, x, i, first, last, rowlens, simd);
    }
    restore_schedule(before);
    reduce_partials(p, partial, ncols, alpha, beta, y);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_GRID_ROWS, PARAM_GRID_COLS, PARAMS_SCHEDULE,
                                    PARAM_SIMD,      PARAM_ROWLENS,   SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(ell_tiles) = {
    .name = "ell_tiles",
    .alias = "ell2",
    .format = "ell",
    .summary = "2-D tiles of the padded ELL array",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS | SPMV_PADS,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
