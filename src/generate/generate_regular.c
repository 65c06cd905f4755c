/* generate_regular.c: classes with columns that depend on the row index alone: stencils, bands,
 * dense, diagonal. */
#include "generate.h"

static spmv_status check_rows(const spmv_args *args, int64_t rows) {
    if (rows <= INT32_MAX) return SPMV_OK;
    return spmv_args_refuse(args, "%lld rows, at most %d", (long long)rows, INT32_MAX);
}

/* ---- boxes of n[0] x n[1] x n[2] nodes, n[0] fastest, n[3] rows a node ---------------------- */

enum { POISSON2D_N = 1000, POISSON3D_N = 128, BOX27_N = 100, FEM3D_N = 32, FEM3D_DOF = 3 };

typedef struct node {
    int64_t x, y, z;
} node;

/* Returns the node of index p. 32-bit division takes a third of the time of 64-bit division, and
 * divisions dominate the cost of a short row. */
static node node_at(const spmv_recipe *r, int64_t p) {
    uint32_t line = (uint32_t)p / (uint32_t)r->n[0], plane = line / (uint32_t)r->n[1];
    return (node){p - line * r->n[0], line - plane * r->n[1], plane};
}

/* Reads naxes sizes from as many arguments, or one size for all axes. Checks n[0] n[1] n[2] < 2^31
 * after each factor, so that the product cannot overflow. */
static spmv_status read_box(const spmv_args *args, int nsizes, int naxes, int64_t default_value,
                            spmv_recipe *r) {
    int64_t rows = 1;
    if (nsizes > 1 && nsizes != naxes)
        return spmv_args_refuse(args, "%d sizes for %d dimensions", nsizes, naxes);
    r->n[0] = r->n[1] = r->n[2] = r->n[3] = 1;
    for (int d = 0; d < naxes; d++) {
        TRY(spmv_arg_size(args, nsizes > 1 ? d : 0, default_value, INT32_MAX, &r->n[d]));
        rows *= r->n[d];
        TRY(check_rows(args, rows));
    }
    r->rows = r->cols = rows;
    return SPMV_OK;
}

static int64_t poisson_length(const spmv_recipe *r, int64_t i) {
    node p = node_at(r, i);
    return 1 + (p.x > 0) + (p.x + 1 < r->n[0]) + (p.y > 0) + (p.y + 1 < r->n[1]) + (p.z > 0) +
           (p.z + 1 < r->n[2]);
}

static int64_t fill_poisson(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                            int32_t *scratch) {
    node p = node_at(r, i);
    int32_t row = (int32_t)i, line = (int32_t)r->n[0], plane = (int32_t)(r->n[0] * r->n[1]);
    (void)scratch;
    if (p.z > 0) *col++ = row - plane;
    if (p.y > 0) *col++ = row - line;
    if (p.x > 0) *col++ = row - 1;
    *col++ = row;
    if (p.x + 1 < r->n[0]) *col++ = row + 1;
    if (p.y + 1 < r->n[1]) *col++ = row + line;
    if (p.z + 1 < r->n[2]) *col++ = row + plane;
    return length;
}

static spmv_status read_poisson(const spmv_args *args, int naxes, int64_t default_value,
                                spmv_recipe *r) {
    TRY(read_box(args, args->count, naxes, default_value, r));
    r->expected = (double)r->rows * (2 * naxes + 1);
    r->constant = true;
    r->diagonal = 2 * naxes;
    r->others = -1;
    r->row_length = poisson_length;
    r->fill_row = fill_poisson;
    return SPMV_OK;
}

spmv_status spmv_recipe_poisson2d(const spmv_args *args, spmv_recipe *r) {
    return read_poisson(args, 2, POISSON2D_N, r);
}

spmv_status spmv_recipe_poisson3d(const spmv_args *args, spmv_recipe *r) {
    return read_poisson(args, 3, POISSON3D_N, r);
}

/* Range of the nodes coupled to node x on one axis: x and its neighbours. */
static int64_t first_near(int64_t x) {
    return x > 0 ? x - 1 : 0;
}

static int64_t last_near(int64_t x, int64_t n) {
    return x + 1 < n ? x + 1 : x;
}

static int64_t count_near(int64_t x, int64_t n) {
    return last_near(x, n) - first_near(x) + 1;
}

static int64_t cube_length(const spmv_recipe *r, int64_t i) {
    node p = node_at(r, (uint32_t)i / (uint32_t)r->n[3]);
    return count_near(p.x, r->n[0]) * count_near(p.y, r->n[1]) * count_near(p.z, r->n[2]) * r->n[3];
}

/* Fills a row of at most 9 runs of consecutive columns, one per line of neighbours along x. */
static int64_t fill_cube(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                         int32_t *scratch) {
    node p = node_at(r, (uint32_t)i / (uint32_t)r->n[3]);
    int64_t run = count_near(p.x, r->n[0]) * r->n[3];
    (void)scratch;
    for (int64_t z = first_near(p.z); z <= last_near(p.z, r->n[2]); z++)
        for (int64_t y = first_near(p.y); y <= last_near(p.y, r->n[1]); y++) {
            int64_t start = ((z * r->n[1] + y) * r->n[0] + first_near(p.x)) * r->n[3];
            for (int64_t k = 0; k < run; k++) *col++ = (int32_t)(start + k);
        }
    return length;
}

spmv_status spmv_recipe_box27(const spmv_args *args, spmv_recipe *r) {
    TRY(read_box(args, args->count, 3, BOX27_N, r));
    r->expected = 27 * (double)r->rows;
    r->constant = true;
    r->diagonal = 26;
    r->others = -1;
    r->row_length = cube_length;
    r->fill_row = fill_cube;
    return SPMV_OK;
}

/* Arguments: N, N:DOF, N1xN2xN3 or N1xN2xN3:DOF. */
spmv_status spmv_recipe_fem3d(const spmv_args *args, spmv_recipe *r) {
    enum { MOST_DOF = 1024 };
    int nsizes = args->count > 2 ? 3 : 1;
    TRY(read_box(args, nsizes, 3, FEM3D_N, r));
    TRY(spmv_arg_size(args, nsizes, FEM3D_DOF, MOST_DOF, &r->n[3]));
    r->rows *= r->n[3];
    TRY(check_rows(args, r->rows));
    r->cols = r->rows;
    r->expected = 27 * (double)r->n[3] * (double)r->rows;
    r->row_length = cube_length;
    r->fill_row = fill_cube;
    return SPMV_OK;
}

/* ---- one run of columns per row ------------------------------------------------------------- */

/* Band of n[0] columns before and n[1] columns after the diagonal, cut off at the matrix's
 * edges. */
static int64_t band_start(const spmv_recipe *r, int64_t i) {
    return i > r->n[0] ? i - r->n[0] : 0;
}

static int64_t band_length(const spmv_recipe *r, int64_t i) {
    int64_t last = i + r->n[1] < r->cols ? i + r->n[1] : r->cols - 1;
    return last - band_start(r, i) + 1;
}

static int64_t fill_band(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                         int32_t *scratch) {
    int32_t start = (int32_t)band_start(r, i);
    (void)scratch;
    for (int64_t k = 0; k < length; k++) col[k] = start + (int32_t)k;
    return length;
}

static void make_band(spmv_recipe *r, int64_t rows, int64_t cols, int64_t before, int64_t after,
                      double width) {
    r->rows = rows;
    r->cols = cols;
    r->n[0] = before;
    r->n[1] = after;
    r->expected = (double)rows * width;
    r->row_length = band_length;
    r->fill_row = fill_band;
}

spmv_status spmv_recipe_banded(const spmv_args *args, spmv_recipe *r) {
    int64_t rows, width;
    TRY(spmv_args_at_most(args, 2));
    TRY(spmv_arg_size(args, 0, 60000, INT32_MAX, &rows));
    TRY(spmv_arg_size(args, 1, rows < 101 ? rows : 101, rows, &width));
    make_band(r, rows, rows, (width - 1) / 2, width / 2, (double)width);
    return SPMV_OK;
}

spmv_status spmv_recipe_dense(const spmv_args *args, spmv_recipe *r) {
    int64_t rows, cols;
    TRY(spmv_args_at_most(args, 2));
    TRY(spmv_arg_size(args, 0, 1000, INT32_MAX, &rows));
    TRY(spmv_arg_size(args, 1, rows, INT32_MAX, &cols));
    make_band(r, rows, cols, rows, cols, (double)cols);
    return SPMV_OK;
}

spmv_status spmv_recipe_diagonal(const spmv_args *args, spmv_recipe *r) {
    int64_t rows;
    TRY(spmv_args_at_most(args, 1));
    TRY(spmv_arg_size(args, 0, 1000000, INT32_MAX, &rows));
    make_band(r, rows, rows, 0, 0, 1);
    return SPMV_OK;
}
