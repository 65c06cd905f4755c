/* multigrid.c: solves A x = b by cycles of multigrid: a hierarchy of small matrices, a Laplacian
 * and an interpolation on each level, and products by the transpose of the latter. A is the
 * five-point Laplacian of an N x N grid, and b is such that every entry of x is 1.
 *
 *     multigrid [N [KERNEL]]
 *
 * N is one less than a power of two. Levels of little more than a hundred nonzeros are ready in
 * some microseconds: a plan for each costs less than its first products. */
#include "example.h"
#include <math.h>
#include <string.h>

enum { MOST_LEVELS = 16, MOST_CYCLES = 100, SMOOTHINGS = 2 };

typedef struct entries { /* compressed rows */
    int64_t rows, cols, nnz, *row_ptr;
    int32_t *col_idx;
    double *values;
} entries;

typedef struct level {
    int64_t side; /* points of a row of the grid */
    entries laplacian, interpolation;
    spmv_mat *matrix, *from_coarser;
    product A, P, P_transposed; /* P: from the next coarser level, which the last has not */
    double *x, *b, *r;
} level;

/* Every row has at most `most` entries. */
static entries entries_of(int64_t rows, int64_t cols, int64_t most) {
    entries e = {.rows = rows, .cols = cols};
    e.row_ptr = calloc((size_t)rows + 1, sizeof *e.row_ptr);
    e.col_idx = calloc((size_t)(rows * most), sizeof *e.col_idx);
    e.values = vector(rows * most);
    if (!e.row_ptr || !e.col_idx) exit(71);
    return e;
}

static void add(entries *e, int64_t col, double value) {
    e->col_idx[e->nnz] = (int32_t)col;
    e->values[e->nnz++] = value;
}

/* The matrix borrows the arrays. */
static spmv_mat *matrix_of(spmv_ctx *ctx, const entries *e) {
    const spmv_csr_view view = {.size = sizeof view,
                                .rows = e->rows,
                                .cols = e->cols,
                                .nnz = e->nnz,
                                .row_ptr = e->row_ptr,
                                .col_idx = e->col_idx,
                                .values = e->values};
    spmv_mat *matrix = NULL;
    check(ctx, spmv_mat_csr(ctx, &view, &matrix));
    return matrix;
}

static entries laplacian(int64_t n) {
    entries e = entries_of(n * n, n * n, 5);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = i * n + j;
            if (i > 0) add(&e, at - n, -1);
            if (j > 0) add(&e, at - 1, -1);
            add(&e, at, 4);
            if (j < n - 1) add(&e, at + 1, -1);
            if (i < n - 1) add(&e, at + n, -1);
            e.row_ptr[at + 1] = e.nnz;
        }
    return e;
}

/* Point i of a line is point (i - 1) / 2 of the coarser one, or half-way between two. */
static int neighbours(int64_t i, int64_t coarse, int64_t at[2], double weight[2]) {
    int n = 0;
    if (i % 2) {
        at[0] = i / 2, weight[0] = 1;
        return 1;
    }
    if (i / 2 > 0) at[n] = i / 2 - 1, weight[n++] = 0.5;
    if (i / 2 < coarse) at[n] = i / 2, weight[n++] = 0.5;
    return n;
}

static entries interpolation(int64_t n, int64_t coarse) {
    entries e = entries_of(n * n, coarse * coarse, 4);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t row[2], col[2];
            double by_row[2], by_col[2];
            const int rows = neighbours(i, coarse, row, by_row);
            const int cols = neighbours(j, coarse, col, by_col);
            for (int a = 0; a < rows; a++)
                for (int c = 0; c < cols; c++)
                    add(&e, row[a] * coarse + col[c], by_row[a] * by_col[c]);
            e.row_ptr[i * n + j + 1] = e.nnz;
        }
    return e;
}

static int make_levels(spmv_ctx *ctx, int64_t n, const char *kernel, level *levels) {
    int count = 0;
    for (; n >= 1 && count < MOST_LEVELS; n = (n - 1) / 2) {
        level *l = &levels[count++];
        l->side = n;
        l->laplacian = laplacian(n);
        l->matrix = matrix_of(ctx, &l->laplacian);
        l->A = prepare(ctx, l->matrix, SPMV_AS_IS, kernel, 100, 0);
        l->x = vector(n * n), l->b = vector(n * n), l->r = vector(n * n);
        if (n == 1) break;
        l->interpolation = interpolation(n, (n - 1) / 2);
        l->from_coarser = matrix_of(ctx, &l->interpolation);
        l->P = prepare(ctx, l->from_coarser, SPMV_AS_IS, kernel, 20, 0);
        l->P_transposed = prepare(ctx, l->from_coarser, SPMV_TRANSPOSE, kernel, 20, 0);
    }
    return count;
}

/* r = b - A x */
static void find_residual(level *l) {
    memcpy(l->r, l->b, (size_t)(l->side * l->side) * sizeof *l->r);
    multiply(&l->A, -1.0, l->x, 1.0, l->r);
}

/* Jacobi's iteration, damped: the diagonal is 4. */
static void smooth(level *l) {
    for (int k = 0; k < SMOOTHINGS; k++) {
        find_residual(l);
        for (int64_t i = 0; i < l->side * l->side; i++) l->x[i] += 0.8 / 4 * l->r[i];
    }
}

/* A V-cycle. What the residual weighs on the coarser grid, with twice the distance, is P' of it. */
static void cycle(level *l) {
    level *coarse = l + 1;
    if (l->side == 1) {
        l->x[0] = l->b[0] / 4;
        return;
    }
    smooth(l);
    find_residual(l);
    multiply(&l->P_transposed, 1.0, l->r, 0.0, coarse->b);
    memset(coarse->x, 0, (size_t)(coarse->side * coarse->side) * sizeof *coarse->x);
    cycle(coarse);
    multiply(&l->P, 1.0, coarse->x, 1.0, l->x);
    smooth(l);
}

static double norm(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static void free_level(level *l) {
    if (l->from_coarser) finish(&l->P), finish(&l->P_transposed), spmv_mat_free(l->from_coarser);
    finish(&l->A), spmv_mat_free(l->matrix);
    void *const owned[] = {l->laplacian.row_ptr,
                           l->laplacian.col_idx,
                           l->laplacian.values,
                           l->interpolation.row_ptr,
                           l->interpolation.col_idx,
                           l->interpolation.values,
                           l->x,
                           l->b,
                           l->r};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++) free(owned[k]);
}

int main(int argc, char **argv) {
    const int64_t n = argc > 1 ? atol(argv[1]) : 255;
    const char *kernel = argc > 2 ? argv[2] : "auto";
    spmv_ctx *ctx = NULL;
    level levels[MOST_LEVELS] = {{0}}, *finest = levels;
    double error = 0;
    int cycles = 0;
    if (n < 1 || n > 16383 || (n & (n + 1))) {
        fprintf(stderr, "N must be one less than a power of two, at most 16383\n");
        return 64;
    }
    check(ctx, spmv_ctx_create(NULL, &ctx));
    const int count = make_levels(ctx, n, kernel, levels);

    for (int64_t i = 0; i < n * n; i++) finest->r[i] = 1;
    multiply(&finest->A, 1.0, finest->r, 0.0, finest->b);
    const double limit = 1e-10 * norm(finest->b, n * n);
    for (; cycles < MOST_CYCLES; cycles++) {
        find_residual(finest);
        if (norm(finest->r, n * n) <= limit) break;
        cycle(finest);
    }
    for (int64_t i = 0; i < n * n; i++) error = fmax(error, fabs(finest->x[i] - 1));
    printf("%lld unknowns, %d levels, %d cycles, error %.1e\n", (long long)(n * n), count, cycles,
           error);
    report(&finest->A);

    for (int k = 0; k < count; k++) free_level(&levels[k]);
    spmv_ctx_free(ctx);
    return error < 1e-6 ? 0 : 1;
}
