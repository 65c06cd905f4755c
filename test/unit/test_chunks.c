/* test_chunks.c: products whose shares are cut into chunks that threads take: rows longer than a
 * share, rows that begin in an earlier chunk, empty rows where one is cut. Values and x are small
 * integers, so that sums are exact in any order, and compared as such. */
#include "testing.h"

enum { MOST_ROWS = 40000, MOST_VECTORS = 70 };
static const char *const kernels[] = {"csr_balanced", "sell16_lanes", "csell_slices", "bsr_lanes",
                                      "spc5_rows"};
static const struct form {
    spmv_layout layout;
    int k;
} forms[] = {{SPMV_COLUMNS, 1}, {SPMV_ROWS, 3},    {SPMV_ROWS, 17},
             {SPMV_ROWS, 70},   {SPMV_COLUMNS, 2}, {SPMV_COLUMNS, 7}};

typedef struct shape {
    const char *name;
    int64_t cols;
    int n, length[MOST_ROWS]; /* nonzeros of each row */
} shape;

typedef struct workplace {
    const shape *of;
    spmv_mat *mat;
    spmv_csr_view A;
    double *x, *z; /* all vectors, rows of the vectors */
} workplace;

static void append(shape *s, int rows, int length) {
    while (rows-- > 0) {
        assert_true(s->n < MOST_ROWS && length <= s->cols);
        s->length[s->n++] = length;
    }
}

static double x_at(int64_t j, int c) {
    return (double)((7 * j + 3 * c) % 11) - 5;
}

static double y_at(int64_t i, int c) {
    return (double)((i + 2 * c) % 5);
}

static int64_t at(const struct form *f, int64_t n, int64_t i, int c) {
    return f->layout == SPMV_ROWS ? i * f->k + c : c * n + i;
}

static double wanted(const workplace *w, int64_t i, int c) {
    double sum = 0;
    for (int64_t k = w->A.row_ptr[i]; k < w->A.row_ptr[i + 1]; k++)
        sum += w->A.values[k] * x_at(w->A.col_idx[k], c);
    return 2 * sum - y_at(i, c);
}

static void try_form(const workplace *w, const spmv_plan *plan, const char *what,
                     const struct form *f) {
    const double alpha = 2, beta = -1;
    const int64_t rows = w->A.rows, cols = w->A.cols;
    for (int c = 0; c < f->k; c++) {
        for (int64_t j = 0; j < cols; j++) w->x[at(f, cols, j, c)] = x_at(j, c);
        for (int64_t i = 0; i < rows; i++) w->z[at(f, rows, i, c)] = y_at(i, c);
    }
    const spmv_call call = WITH(spmv_call, .alpha = &alpha, .beta = &beta, .x = w->x, .y = w->z,
                                .z = w->z, .k = f->k, .layout = f->layout);
    if (spmv_apply(plan, &call, NULL)) fail_msg("%s: %s", what, spmv_ctx_error(w->mat->ctx));
    for (int c = 0; c<f->k; c += f->k> 7 ? 11 : 1)
        for (int64_t i = 0; i < rows; i++)
            if (w->z[at(f, rows, i, c)] != wanted(w, i, c))
                fail_msg("%s, %s, %d vectors: row %d of vector %d is %g, not %g", what, w->of->name,
                         f->k, (int)i, c, w->z[at(f, rows, i, c)], wanted(w, i, c));
}

/* Returns the plan for a form; NULL: the kernel does not suit the matrix. */
static spmv_plan *plan_for(const workplace *w, const char *kernel, const struct form *f) {
    const spmv_plan_opts opts = {
        .size = sizeof opts, .kernel = kernel, .vectors = f->k, .layout = f->layout};
    spmv_plan *plan = NULL;
    const spmv_status made = spmv_plan_create(w->mat, &opts, &plan);
    assert_true(made == SPMV_OK || made == SPMV_E_UNSUITABLE || made == SPMV_E_TOOBIG);
    return plan;
}

static void try_kernels(const workplace *w) {
    for (int k = 0; k < COUNT(kernels); k++)
        for (int f = 0; f < COUNT(forms); f++) {
            FREED(spmv_plan) *plan = plan_for(w, kernels[k], &forms[f]);
            if (plan) try_form(w, plan, kernels[k], &forms[f]);
        }
}

static void try_shape(const shape *s) {
    const int64_t most = s->n > s->cols ? s->n : s->cols;
    FREED(entries) e = {.rows = s->n, .cols = s->cols};
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->length[i]; k++)
            add_entry(&e, i, (i + 7 * (int64_t)k) % s->cols, 1 + (i + k) % 5);
    for (int threads = 2; threads <= 8; threads += 3) {
        FREED(spmv_ctx) *ctx = context_of(threads);
        workplace w = {.of = s,
                       .mat = matrix_of(ctx, &e),
                       .A = SPMV_OPTS(spmv_csr_view),
                       .x = malloc((size_t)most * MOST_VECTORS * sizeof *w.x),
                       .z = malloc((size_t)most * MOST_VECTORS * sizeof *w.z)};
        assert_true(w.x && w.z);
        assert_int_equal(spmv_mat_rows(w.mat, &w.A), SPMV_OK);
        try_kernels(&w);
        free(w.x);
        free(w.z);
        spmv_mat_free(w.mat);
    }
}

TEST(a_row_is_longer_than_shares) {
    static shape s = {.name = "a long row among short ones", .cols = 90001};
    append(&s, 300, 20);
    append(&s, 1, 90000);
    append(&s, 900, 10);
    append(&s, 1, 20000);
    append(&s, 3, 0);
    try_shape(&s);
}

TEST(a_row_is_all) {
    static shape s = {.name = "one row", .cols = 120011};
    append(&s, 1, 120000);
    try_shape(&s);
}

TEST(chunks_are_cut_at_empty_rows) {
    static shape s = {.name = "empty rows", .cols = 5003};
    append(&s, 7000, 0);
    for (int k = 0; k < 40; k++) append(&s, 1, 2500 + k), append(&s, 600, 0);
    append(&s, 3000, 3);
    append(&s, 2000, 0);
    try_shape(&s);
}

/* Each chunk needs few columns besides its own; only these are transposed for it. */
TEST(windows_of_a_band) {
    static shape s = {.name = "a band", .cols = 20111};
    append(&s, 9000, 8);
    append(&s, 1, 0);
    append(&s, 10999, 9);
    try_shape(&s);
}

TEST(lengths_by_chance) {
    static shape s = {.name = "by chance", .cols = 12007};
    unsigned seed = 1;
    for (int64_t nnz = 0; nnz < 130000; nnz += s.length[s.n - 1]) {
        seed = seed * 1103515245u + 12345u;
        const unsigned kind = seed >> 16 & 63, some = seed >> 20;
        append(&s, 1,
               (int)(kind == 0   ? 3 * some
                     : kind < 20 ? 0
                     : kind < 30 ? some % 300
                                 : some % 9));
    }
    try_shape(&s);
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
