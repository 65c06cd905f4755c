/* sss_rows: the lower half of a symmetric matrix in ranges of rows; every entry is multiplied
 * twice, as itself and as its mirror (transposed entry).
 *
 * Source   the usual half storage; Batista, Ainsworth, Ribeiro, 2010, "Parallel structurally
 *          symmetric sparse matrix-vector products", for one window of y per thread.
 * Reads    sss: row_ptr[rows + 1], distance[half] or col_idx[half], values[half]; x[cols]; y[rows]
 *          only if beta != 0.
 * Writes   y[rows]: a row's own sum first, then the mirrors from later rows; mirrors in another
 *          thread's rows are summed in a window, which that thread adds at the end.
 * Work     an entry below the diagonal is read once: sum of row i += a x_j, y_j += a x_i.
 * Cost     2 nnz flop; half (sizeof real + 2 or 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof
 *          real bytes if x and y are read once, + twice the windows.
 * Weak     nonzeros far from the diagonal make windows wide: if they exceeded rows + nnz / 4, fewer
 *          threads are used.
 * Repeats  bitwise: yes, for an equal number of threads.
 * Params   none.
 */
#include "omp/isa.h"
#include "mirror.h"
#include "formats/sss/sss.h"

static int64_t first_column(const sss *A, int64_t i) {
    int64_t k = A->row_ptr[i];
    return k == A->row_ptr[i + 1] ? i : A->near ? i - A->distance[k] : A->col_idx[k];
}

/* Returns the first row of range s of `count` ranges of about equally many rows plus entries. */
static int64_t first_row(const sss *A, int64_t count, int64_t s) {
    int64_t items = spmv_split(A->half + A->s.rows, count, s), low = 0, high = A->s.rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->row_ptr[middle + 1] + middle + 1 <= items)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void cut(const spmv_store *store, int64_t count, range *out) {
    const sss *A = (const sss *)store;
    for (int64_t s = 0; s < count; s++) {
        int64_t first = first_row(A, count, s), last = first_row(A, count, s + 1), low = first;
        for (int64_t i = first; i < last; i++)
            if (first_column(A, i) < low) low = first_column(A, i);
        out[s] = (range){.first = first, .last = last, .low = low};
    }
}

static spmv_status prepare(spmv_plan *p) {
    return prepare_ranges(p, cut);
}

struct product {
    const sss *A;
    const real *x;
    real alpha, beta, *y;
};

/* Returns the sum of entries begin, ..., end - 1 of row i, all below the diagonal, and adds their
 * mirrors to y. x and y point to element i. */
static inline real add_near(const real *values, const uint16_t *distance, int64_t begin,
                            int64_t end, const real *x, real mirror, real *y) {
    real a = 0, b = 0;
    int64_t k = begin;
    for (; k + 2 <= end; k += 2) {
        int64_t d = -(int64_t)distance[k], e = -(int64_t)distance[k + 1];
        real u = values[k], v = values[k + 1];
        prefetch_ahead(values + k, PAGE);
        a += u * x[d], b += v * x[e];
        y[d] += u * mirror;
        y[e] += v * mirror;
    }
    if (k < end) {
        a += values[k] * x[-(int64_t)distance[k]];
        y[-(int64_t)distance[k]] += values[k] * mirror;
    }
    return a + b;
}

/* The same with column indices; y points to element `low`. */
static inline real add_far(const real *values, const idx *col, int64_t begin, int64_t end,
                           const real *x, real mirror, real *y, int64_t low) {
    real a = 0;
    for (int64_t k = begin; k < end; k++) {
        a += values[k] * x[col[k]];
        y[col[k] - low] += values[k] * mirror;
    }
    return a;
}

/* near is a constant in the calls. */
static inline __attribute__((always_inline)) void put_range(const product *p, const range *s,
                                                            const bool near) {
    const sss A = *p->A;
    const real *x = p->x, alpha = p->alpha, beta = p->beta, scale = alpha * (real)A.sign;
    real *y = p->y, *window = s->window;
    const int64_t first = s->first, low = s->low;
    for (int64_t j = low; j < first; j++) window[j - low] = 0;
    for (int64_t i = first, k = A.row_ptr[first]; i < s->last; i++) {
        const int64_t next = A.row_ptr[i + 1];
        int64_t end = next;
        real sum = 0, xi = x[i], mirror = scale * xi;
        if (k < end && (near ? A.distance[end - 1] == 0 : A.col_idx[end - 1] == i))
            sum = A.values[--end] * xi;
        int64_t middle = k; /* first entry whose mirror is in a row >= first */
        while (middle < end && (near ? i - A.distance[middle] : A.col_idx[middle]) < first)
            middle++;
        if (near) {
            if (k < middle)
                sum += add_near(A.values, A.distance, k, middle, x + i, mirror, window + (i - low));
            sum += add_near(A.values, A.distance, middle, end, x + i, mirror, y + i);
        } else {
            sum += add_far(A.values, A.col_idx, k, middle, x, mirror, window, low);
            sum += add_far(A.values, A.col_idx, middle, end, x, mirror, y, 0);
        }
        put_row(y + i, alpha, sum, beta);
        k = next;
    }
}

static void put_near(const product *p, const range *s) {
    put_range(p, s, true);
}

static void put_far(const product *p, const range *s) {
    put_range(p, s, false);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const product all = {(const sss *)p->store, x, alpha, beta, y};
    return multiply_ranges(p->scratch, &all, p->device->threads, all.A->near ? put_near : put_far,
                           v->slot, y);
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sss_rows) = {
    .name = "sss_rows",
    .format = "sss",
    .summary = "ranges of rows of the lower half, every entry used twice",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_NEEDS_SYMMETRY,
    .estimate = estimate_ranges,
    .prepare = prepare,
    .run = run,
    .release = release_ranges,
};
