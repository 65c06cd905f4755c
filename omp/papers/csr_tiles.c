/* csr_tiles: a CSR matrix is cut into grid_rows x grid_cols tiles found through an offset array;
 * each tile leaves one partial sum per row, which a second loop adds up.
 *
 * Source   Di Iorio, spmvTilesCSR, csr3; there the offsets are made inside the timed region and the
 *          last loop is serial.
 * Reads    csr: col_idx[nnz], values[nnz]; offsets[rows x grid_cols + 1]; x[cols]; y[rows] only if
 *          beta != 0.
 * Writes   partial[rows x grid_cols], then y[rows], each entry once.
 * Work     a tile is one iteration: thread by the OpenMP schedule; one running sum per row and
 *          tile.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + rows grid_cols (sizeof ofs + 2 sizeof real) + (cols
 *          + rows) sizeof real.
 * Weak     short rows: a row of 7 in 4 tiles pays 4 offsets and 4 partial sums. Pays when a block
 *          of x fits a cache.
 * Repeats  bitwise: yes, for equal grid_cols.
 * Params   grid_rows (one per thread), grid_cols (4); schedule, chunk: of the tile loop; simd (0).
 */
#include "omp/kernel.h"
#include "formats/csr/csr.h"
#include "formats/row_ends.h"

typedef struct tiles {
    int64_t ncols; /* blocks of columns, none empty */
    ofs *offsets;  /* [rows x ncols + 1] where column block j of row i starts in col_idx */
    real *partial; /* [rows x ncols] */
} tiles;

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    size_t cells = (size_t)(A->rows * spmv_blocks_of(c->value[SPMV_grid_cols], A->cols));
    return sizeof(tiles) + (cells + 1) * sizeof(ofs) + cells * sizeof(real);
}

static void release(spmv_plan *p) {
    tiles *t = p->scratch;
    spmv_host_give(p->device->ctx, t->offsets);
    spmv_host_give(p->device->ctx, t->partial);
    spmv_host_give(p->device->ctx, t);
}

static void find_offsets(const spmv_plan *p, const csr *A, int64_t ncols, ofs *offsets) {
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++) {
        ofs k = A->row_ptr[i];
        for (int64_t j = 0; j < ncols; j++) {
            k = (ofs)spmv_reach_column(A->col_idx, k, A->row_ptr[i + 1],
                                       spmv_split(A->s.cols, ncols, j));
            offsets[i * ncols + j] = k;
        }
    }
    offsets[A->s.rows * ncols] = A->row_ptr[A->s.rows];
}

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->store;
    int64_t ncols = spmv_blocks_of(p->choice.value[SPMV_grid_cols], A->s.cols);
    size_t cells = (size_t)(A->s.rows * ncols);
    spmv_ctx *ctx = p->device->ctx;
    tiles *t = p->scratch = spmv_host_take(ctx, sizeof *t);
    if (t) *t = (tiles){.ncols = ncols};
    if (t) t->offsets = spmv_host_take(ctx, (cells + 1) * sizeof *t->offsets);
    if (t) t->partial = spmv_host_take(ctx, cells * sizeof *t->partial);
    if (!t || !t->offsets || !t->partial)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for the tiles of %zu cells", cells);
    find_offsets(p, A, ncols, t->offsets);
    p->scratch_bytes = sizeof *t + (cells + 1) * sizeof(ofs) + cells * sizeof(real);
    p->traffic_bytes =
        (size_t)A->s.nnz * (sizeof(real) + sizeof(idx)) + cells * (sizeof(ofs) + 2 * sizeof(real));
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csr *A = (const csr *)p->store;
    const tiles *t = p->scratch;
    int64_t nrows = spmv_blocks_of(p->choice.value[SPMV_grid_rows], A->s.rows), ncols = t->ncols;
    bool simd = p->choice.value[SPMV_simd];
    schedule before = set_schedule(p, nrows * ncols);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t tile = 0; tile < nrows * ncols; tile++) {
        int64_t b = tile / ncols, j = tile % ncols, end = spmv_split(A->s.rows, nrows, b + 1);
        for (int64_t i = spmv_split(A->s.rows, nrows, b); i < end; i++) {
            int64_t cell = i * ncols + j;
            t->partial[cell] =
                dot(A->values, A->col_idx, x, t->offsets[cell], t->offsets[cell + 1], simd);
        }
    }
    restore_schedule(before);
    reduce_partials(p, t->partial, ncols, alpha, beta, y);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_GRID_ROWS, PARAM_GRID_COLS, PARAMS_SCHEDULE, PARAM_SIMD,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_tiles) = {
    .name = "csr_tiles",
    .alias = "csr3",
    .format = "csr",
    .summary = "2-D tiles of one CSR matrix, found through offsets",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_ANY_THREADS,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
