/* csr_scatter: multiplies by the transpose of a CSR matrix without transposing it. Each thread adds
 * to its own window of y; the windows are summed at the end.
 *
 * Source   the usual product by the transpose of compressed rows (Saad, 2003, "Iterative Methods
 *          for Sparse Linear Systems", 3.5); windows as in Batista, Ainsworth, Ribeiro, 2010.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[rows]; y[cols] only if beta != 0.
 *          Not transposed: x[cols] and y[rows].
 * Writes   y[cols], from the windows in the order of their threads; one thread writes y itself.
 * Work     transposed, each thread has equally many entries, which may cut rows; its window extends
 *          from its least column to its greatest. Not transposed, each thread has whole rows of
 *          about equally many entries, with one running sum per row.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if y is written once, + four times the windows.
 * Weak     windows are written entry by entry; if columns are scattered, a window is as long as y.
 *          If all windows together exceeded nnz + 2 cols, fewer threads are used.
 * Repeats  bitwise: yes, for an equal number of threads.
 * Params   none.
 */
#include "omp/carry.h"
#include "omp/isa.h"
#include "formats/csr/csr.h"

/* share of a thread: entries k, ..., end - 1; entry k is in row `first` */
typedef struct part {
    int64_t first, last, k, end; /* rows first, ..., last - 1 have entries of the share */
    int64_t low, high;           /* columns low, ..., high - 1 */
    real *window;                /* [high - low] */
} part;

typedef struct parts {
    int64_t count;
    part part[MOST_SHARES];
    real windows[];
} parts;

static int64_t most_cells(int64_t nnz, int64_t cols) {
    return nnz + 2 * cols;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return sizeof(parts) + (size_t)most_cells(A->nnz, A->cols) * sizeof(real);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Returns the row of entry k, or the number of rows if k = nnz. */
static int64_t row_of(const csr *A, int64_t k) {
    int64_t low = 0, high = A->s.rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (A->row_ptr[middle + 1] <= k)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Columns ascend in a row, so only the first and last entry of each row are read. */
static void find_window(const csr *A, part *s) {
    s->low = A->s.cols;
    for (int64_t i = s->first; i < s->last; i++) {
        const int64_t begin = A->row_ptr[i] > s->k ? A->row_ptr[i] : s->k;
        const int64_t end = A->row_ptr[i + 1] < s->end ? A->row_ptr[i + 1] : s->end;
        if (begin >= end) continue;
        if (A->col_idx[begin] < s->low) s->low = A->col_idx[begin];
        if (A->col_idx[end - 1] >= s->high) s->high = (int64_t)A->col_idx[end - 1] + 1;
    }
    if (s->low > s->high) s->low = s->high;
}

static void cut(const spmv_plan *p, int64_t count, parts *t) {
    const csr *A = (const csr *)p->store;
    t->count = count;
#pragma omp parallel for schedule(static, 1) num_threads((int)count) if (A->s.rows > 1 << 16)
    for (int64_t s = 0; s < count; s++) {
        const int64_t k = spmv_split(A->s.nnz, count, s), end = spmv_split(A->s.nnz, count, s + 1);
        part own = {.first = s ? row_of(A, k) : 0, .last = row_of(A, end), .k = k, .end = end};
        if (p->transposes) {
            if (own.last < A->s.rows && A->row_ptr[own.last] < end) own.last++;
            find_window(A, &own);
        }
        t->part[s] = own;
    }
}

static int64_t count_cells(const parts *t) {
    int64_t cells = 0;
    for (int64_t s = 0; t->count > 1 && s < t->count; s++)
        cells += t->part[s].high - t->part[s].low;
    return cells;
}

static spmv_status prepare(spmv_plan *p) {
    int64_t count = shares_of(p);
    parts planned;
    cut(p, count, &planned);
    while (count_cells(&planned) > most_cells(p->store->nnz, p->store->cols))
        cut(p, count = (count + 1) / 2, &planned);
    TRY(make_scratch(p, sizeof planned + (size_t)count_cells(&planned) * sizeof(real)));
    parts *t = p->scratch;
    memcpy(t, &planned, sizeof planned);
    real *window = t->windows;
    for (int64_t s = 0; s < count; s++) {
        t->part[s].window = window;
        window += t->part[s].high - t->part[s].low;
    }
    return SPMV_OK;
}

/* ---- by the transpose ------------------------------------------------------------------------ */

/* Adds the products of the part's entries; to[0] is column `low`. */
static void scatter(const csr *A, const part *s, int64_t low, real alpha, const real *x, real *to) {
    const real *values = A->values;
    const idx *col = A->col_idx;
    int64_t k = s->k;
    for (int64_t i = s->first; i < s->last; i++) {
        const int64_t end = A->row_ptr[i + 1] < s->end ? A->row_ptr[i + 1] : s->end;
        const real xi = alpha * x[i];
        prefetch_ahead(values + k, HALF_PAGE);
        prefetch_ahead(col + k, HALF_PAGE / 2);
        for (; k < end; k++) to[col[k] - low] += values[k] * xi;
    }
}

/* Sums the windows for columns first, ..., end - 1. */
static void join(const parts *t, int64_t first, int64_t end, real beta, real *y) {
    for (int64_t j = first; j < end; j++) scale_row(y + j, beta);
    for (int64_t s = 0; s < t->count; s++) {
        const part *w = &t->part[s];
        const int64_t from = w->low > first ? w->low : first, to = w->high < end ? w->high : end;
        for (int64_t j = from; j < to; j++) y[j] += w->window[j - w->low];
    }
}

static void multiply_transposed(const spmv_plan *p, const parts *t, real alpha, const real *x,
                                real beta, real *y) {
    const csr *A = (const csr *)p->store;
    const int64_t cols = A->s.cols, count = t->count;
    if (count == 1) {
        for (int64_t j = 0; j < cols; j++) scale_row(y + j, beta);
        scatter(A, &t->part[0], 0, alpha, x, y);
        return;
    }
#pragma omp parallel num_threads((int)count)
    {
#pragma omp for schedule(static, 1)
        for (int64_t s = 0; s < count; s++) {
            const part *own = &t->part[s];
            memset(own->window, 0, (size_t)(own->high - own->low) * sizeof(real));
            scatter(A, own, own->low, alpha, x, own->window);
        }
#pragma omp for schedule(static, 1)
        for (int64_t s = 0; s < count; s++)
            join(t, spmv_split(cols, count, s), spmv_split(cols, count, s + 1), beta, y);
    }
}

/* ---- as it is -------------------------------------------------------------------------------- */

static void multiply(const spmv_plan *p, const parts *t, real alpha, const real *x, real beta,
                     real *y) {
    const csr *A = (const csr *)p->store;
#pragma omp parallel for schedule(static, 1) num_threads((int)t->count)
    for (int64_t s = 0; s < t->count; s++)
        for (int64_t i = t->part[s].first; i < t->part[s].last; i++)
            put_row(y + i, alpha,
                    dot(A->values, A->col_idx, x, A->row_ptr[i], A->row_ptr[i + 1], false), beta);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const parts *t = p->scratch;
    if (p->transposes)
        multiply_transposed(p, t, (real)v->alpha, v->x, (real)v->beta, v->z);
    else
        multiply(p, t, (real)v->alpha, v->x, (real)v->beta, v->z);
    return SPMV_OK;
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_scatter) = {
    .name = "csr_scatter",
    .format = "csr",
    .summary = "the transpose from the rows that are there: threads add to windows of y",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_TRANSPOSES,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
