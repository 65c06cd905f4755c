/* csr_tiles_copied: as csr_tiles, but each block of columns is a CSR matrix of its own.
 *
 * Source   Di Iorio, csr4; there the blocks are copied inside the timed region.
 * Reads    per column block: row_ptr[rows + 1], col_idx, values; x[cols]; y[rows] only if beta !=
 *          0.
 * Writes   partial[rows x grid_cols], then y[rows], each entry once.
 * Work     a tile is one iteration: thread by the OpenMP schedule; one running sum per row and
 *          tile.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + rows grid_cols (sizeof ofs + 2 sizeof real) + (cols
 *          + rows) sizeof real.
 * Weak     as csr_tiles, and it holds the matrix twice; in return a tile's nonzeros are contiguous.
 * Repeats  bitwise: yes, for equal grid_cols.
 * Params   grid_rows (one per thread), grid_cols (4); schedule, chunk: of the tile loop; simd (0).
 */
#include "tiles.h"

typedef struct tiles {
    ofs *row_ptr;  /* [grid_cols x (rows + 1)] into col_idx and values, block after block */
    idx *col_idx;  /* [nnz] */
    real *values;  /* [nnz] */
    real *partial; /* [rows x grid_cols] */
} tiles;

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    size_t ncols = (size_t)c->value[SPMV_grid_cols], rows = (size_t)A->rows, nnz = (size_t)A->nnz;
    return sizeof(tiles) + ncols * (rows + 1) * sizeof(ofs) + nnz * (sizeof(idx) + sizeof(real)) +
           rows * ncols * sizeof(real);
}

static void release(spmv_plan *p) {
    tiles *t = p->scratch;
    spmv_host_free(t->row_ptr);
    spmv_host_free(t->col_idx);
    spmv_host_free(t->values);
    spmv_host_free(t->partial);
    free(t);
}

static spmv_status allocate(spmv_plan *p, int64_t ncols) {
    size_t rows = (size_t)p->store->rows, nnz = (size_t)p->store->nnz;
    tiles *t = p->scratch = calloc(1, sizeof *t);
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    t->row_ptr = spmv_host_alloc((size_t)ncols * (rows + 1) * sizeof *t->row_ptr);
    t->col_idx = spmv_host_alloc(nnz * sizeof *t->col_idx);
    t->values = spmv_host_alloc(nnz * sizeof *t->values);
    t->partial = spmv_host_alloc(rows * (size_t)ncols * sizeof *t->partial);
    if (t->row_ptr && t->col_idx && t->values && t->partial) return SPMV_OK;
    return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for the copied tiles");
}

/* row_ptr + j (rows + 1) first holds, at i + 1, how many entries row i has in block j. */
static void count_cells(const spmv_plan *p, const csr *A, int64_t ncols, ofs *row_ptr) {
    int64_t stride = A->s.rows + 1;
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++) {
        ofs k = A->row_ptr[i];
        for (int64_t j = 0; j < ncols; j++) {
            ofs first = k;
            k = find_column(A, k, A->row_ptr[i + 1], spmv_split(A->s.cols, ncols, j + 1));
            row_ptr[j * stride + i + 1] = k - first;
        }
    }
    ofs sum = 0;
    for (int64_t j = 0; j < ncols; j++) {
        row_ptr[j * stride] = sum;
        for (int64_t i = 1; i <= A->s.rows; i++)
            row_ptr[j * stride + i] = sum += row_ptr[j * stride + i];
    }
}

static void copy_cells(const spmv_plan *p, const csr *A, int64_t ncols, tiles *t) {
    int64_t stride = A->s.rows + 1;
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t i = 0; i < A->s.rows; i++) {
        ofs from = A->row_ptr[i];
        for (int64_t j = 0; j < ncols; j++)
            for (ofs k = t->row_ptr[j * stride + i]; k < t->row_ptr[j * stride + i + 1];
                 k++, from++) {
                t->col_idx[k] = A->col_idx[from];
                t->values[k] = A->values[from];
            }
    }
}

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->store;
    int64_t ncols = p->choice.value[SPMV_grid_cols];
    size_t cells = (size_t)(A->s.rows * ncols),
           entries = (size_t)A->s.nnz * (sizeof(real) + sizeof(idx));
    TRY(allocate(p, ncols));
    tiles *t = p->scratch;
    count_cells(p, A, ncols, t->row_ptr);
    copy_cells(p, A, ncols, t);
    p->scratch_bytes =
        sizeof *t + (cells + (size_t)ncols) * sizeof(ofs) + entries + cells * sizeof(real);
    p->traffic_bytes = entries + cells * (sizeof(ofs) + 2 * sizeof(real));
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const tiles *t = p->scratch;
    int64_t rows = p->store->rows;
    int64_t nrows = p->choice.value[SPMV_grid_rows], ncols = p->choice.value[SPMV_grid_cols];
    bool simd = p->choice.value[SPMV_simd];
    schedule before = set_schedule(p, nrows * ncols);
#pragma omp parallel for schedule(runtime) num_threads(p->device->threads)
    for (int64_t tile = 0; tile < nrows * ncols; tile++) {
        int64_t b = tile / ncols, j = tile % ncols, end = spmv_split(rows, nrows, b + 1);
        const ofs *row_ptr = t->row_ptr + j * (rows + 1);
        for (int64_t i = spmv_split(rows, nrows, b); i < end; i++)
            t->partial[i * ncols + j] =
                dot(t->values, t->col_idx, x, row_ptr[i], row_ptr[i + 1], simd);
    }
    restore_schedule(before);
    reduce_partials(p, t->partial, ncols, alpha, beta, y);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_GRID_ROWS, PARAM_GRID_COLS, PARAMS_SCHEDULE, PARAM_SIMD,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_tiles_copied) = {
    .name = "csr_tiles_copied",
    .alias = "csr4",
    .format = "csr",
    .summary = "2-D tiles, each column block a CSR matrix of its own",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_KEEPS_VALUES,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
