/* test_alpha.c: alpha = NaN, an infinite one and 0 by every kernel: alpha multiplies the sum of
 * every row, which is 0 in a row without entries. One vector and several in both layouts, by the
 * matrix and its transpose, with and without beta, and sums on the way. */
#include "kernels.h"

enum { VECTORS = 3, ROWS = 83, COLS = 59 };

/* Positive entries, so that an infinite alpha makes no NaN of a row; two rows in five and a column
 * in four are empty, and some rows are long. */
static entries positive_entries(spmv_symmetry symmetry) {
    const int64_t cols = symmetry == SPMV_GENERAL ? COLS : ROWS;
    entries e = {.rows = ROWS, .cols = cols, .symmetry = symmetry};
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < (symmetry == SPMV_GENERAL ? cols : i + 1); j++) {
            const bool is_empty =
                symmetry == SPMV_GENERAL ? i % 5 < 2 || j % 4 == 1 : i % 4 == 1 || j % 4 == 1;
            if (!is_empty && (i % 7 == 3 || (i + j) % 9 == 0))
                add_entry(&e, i, j, 1 + (double)((i + j) % 5));
        }
    return e;
}

/* one product of a plan, and the expected length of each row */
typedef struct trial {
    const setup *c;
    const subject *s;
    spmv_plan *plan;
    spmv_op op;
    spmv_layout layout;
    int64_t k, rows, cols;
    double alpha, beta;
    const int64_t *length; /* entries of each row of op(A) */
} trial;

static bool is_same_kind(double a, double b) {
    return isnan(a) ? isnan(b) : isinf(a) ? isinf(b) && (a > 0) == (b > 0) : a == b;
}

static double y_of(int64_t row) {
    return row % 6 == 4 ? NAN : row % 6 == 1 ? INFINITY : -2;
}

/* Returns the expected element of the product if all elements of x are 1. */
static double expected_of(const trial *t, int64_t row) {
    const double sum = t->length[row] ? 1 : 0;
    return t->alpha * sum + (t->beta == 0 ? 0 : t->beta * y_of(row));
}

static void check_rows(const trial *t, const char *z, const double *zz) {
    const spmv_precision precision = t->c->precision;
    char what[160];
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < t->k; j++) {
            const int64_t at = t->layout == SPMV_ROWS ? i * t->k + j : j * t->rows + i;
            const double got = number_at(z, precision, at), expected = expected_of(t, i);
            if (is_same_kind(expected, got)) continue;
            /* A GPU's kernels may multiply parts of a row by an infinite alpha. */
            if (!t->plan->device->backend->host && isinf(t->alpha) && isnan(got)) continue;
            snprintf(
                what, sizeof what,
                "alpha %g, beta %g, op %d, %d vectors, layout %d: row %d, of %d entries, is %g",
                t->alpha, t->beta, t->op, (int)t->k, t->layout, (int)i, (int)t->length[i], got);
            complain_about(t->c, t->s, what);
            return;
        }
    for (int64_t j = 0; j < t->k && zz; j++)
        if (!isnan(zz[j])) complain_about(t->c, t->s, "z'z is not NaN");
}

/* A call with sums; its scalars lie where the plan has them. */
static void try_call(const trial *t, spmv_place scalars) {
    const spmv_precision precision = t->c->precision;
    const bool is_f32 = precision == SPMV_F32;
    const size_t width = width_of(precision), x_bytes = (size_t)(t->cols * t->k) * width,
                 z_bytes = (size_t)(t->rows * t->k) * width, dots = VECTORS * width;
    FREED(char) *here = malloc(x_bytes + z_bytes + dots);
    double zz[VECTORS];
    assert_non_null(here);
    for (int64_t n = 0; n < t->cols * t->k; n++) set_number(here, precision, n, 1);
    for (int64_t n = 0; n < t->rows * t->k; n++)
        set_number(here + x_bytes, precision, n,
                   y_of(t->layout == SPMV_ROWS ? n / t->k : n % t->rows));
    double alpha[2] = {t->alpha, t->beta};
    float alpha_f32[2] = {(float)t->alpha, (float)t->beta};
    char *x = copy_there(t->plan, here, x_bytes), *z = copy_there(t->plan, here + x_bytes, z_bytes);
    char *dot = copy_there(t->plan, here, dots);
    void *at = is_f32 ? (void *)alpha_f32 : (void *)alpha, *there = NULL;
    if (scalars == SPMV_DEVICE) at = there = copy_there(t->plan, at, 2 * width);
    spmv_call call = WITH(spmv_call, .x = x, .y = z, .z = z, .k = t->k, .layout = t->layout,
                          .op = t->op, .dot_zz = dot);
    if (is_f32)
        call.alpha_f32 = at, call.beta_f32 = t->beta == 0 ? NULL : (float *)at + 1;
    else
        call.alpha = at, call.beta = t->beta == 0 ? NULL : (double *)at + 1;
    spmv_device *device = t->plan->device;
    tally.products++;
    if (spmv_apply(t->plan, &call, device->stream) != SPMV_OK ||
        device->backend->sync(device) != SPMV_OK ||
        spmv_plan_get(t->plan, here, z, z_bytes) != SPMV_OK ||
        spmv_plan_get(t->plan, here + z_bytes, dot, dots) != SPMV_OK)
        complain_about(t->c, t->s, spmv_ctx_error(t->s->mat->ctx));
    for (int64_t j = 0; j < t->k; j++) zz[j] = number_at(here + z_bytes, precision, j);
    check_rows(t, here, isfinite(t->alpha) ? NULL : zz);
    spmv_plan_release(t->plan, there);
    spmv_plan_release(t->plan, dot);
    spmv_plan_release(t->plan, z);
    spmv_plan_release(t->plan, x);
}

/* The sum of a row counts in the check as 1 or 0: of alpha = 0 and of an infinite one that is all
 * the same. */
static void try_plan(const setup *c, const subject *s, spmv_op op, spmv_place scalars) {
    static const double alphas[] = {NAN, INFINITY, -INFINITY, 0};
    int64_t length[ROWS] = {0};
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_plan_opts opts =
        WITH(spmv_plan_opts, .kernel = c->kernel, .precision = c->precision,
             .offset_bits = c->offset_bits, .settings = c->setting, .nsettings = c->nsettings,
             .vectors = VECTORS, .op = op, .scalars = scalars);
    trial t = {.c = c, .s = s, .op = op, .rows = s->rows, .cols = s->cols, .length = length};
    if (op == SPMV_TRANSPOSE) t.rows = s->cols, t.cols = s->rows;
    assert_int_equal(spmv_mat_rows(s->mat, &A), SPMV_OK);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            length[op == SPMV_TRANSPOSE ? A.col_idx[k] : i]++;
    if (spmv_plan_create(s->mat, &opts, &t.plan) != SPMV_OK) return; /* as it may */
    for (int a = 0; a < COUNT(alphas); a++)
        for (int way = 0; way < 6; way++) {
            t.alpha = alphas[a], t.beta = way % 2 == 0 ? 0 : a % 2 ? 1 : -0.5;
            t.k = way < 2 ? 1 : VECTORS;
            t.layout = way < 4 ? SPMV_COLUMNS : SPMV_ROWS;
            try_call(&t, scalars);
        }
    spmv_plan_free(t.plan);
}

static void try_alphas(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    (void)kernel;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant += is_emulated() ? 2 : 1)
        for (int op = SPMV_AS_IS; op <= SPMV_TRANSPOSE; op++)
            for (int scalars = SPMV_HOST; scalars <= (backend->host ? SPMV_HOST : SPMV_DEVICE);
                 scalars++) {
                const setup c = setup_of(backend, k, variant);
                try_plan(&c, s, (spmv_op)op, (spmv_place)scalars);
            }
}

static void try_matrix(spmv_symmetry symmetry, int threads) {
    FREED(entries) e = positive_entries(symmetry);
    FREED(spmv_ctx) *ctx = context_of(threads);
    FREED(subject) s = random_subject(matrix_of(ctx, &e), symmetry ? "symmetric" : "general");
    visit_kernels(try_alphas, &s);
    print_message("%lld products\n", (long long)tally.products);
    assert_true(tally.products > 0);
    assert_int_equal(tally.wrong, 0);
}

TEST(alpha_reaches_rows_without_entries) {
    for (int threads = 1; threads <= 3; threads += 2) try_matrix(SPMV_GENERAL, threads);
}

TEST(alpha_reaches_rows_of_symmetric_matrices) {
    try_matrix(SPMV_SYMMETRIC, 3);
}

TEST_MAIN(take_backend, NULL, NULL)
