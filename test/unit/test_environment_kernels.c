/* test_environment_kernels.c: every kernel of the host in the floating-point environments that
 * callers have, with each of its settings: products of finite numbers raise no exception, products
 * of normal numbers are the same where subnormal numbers are flushed, and what is built in any
 * environment is the same. With SPMV_FEW_PRODUCTS set each case has one number of threads, each
 * shape infinite numbers in one place, and is built in one precision. */
#include "environments.h"

/* ---- what is multiplied --------------------------------------------------------------------- */

/* Magnitudes are 2^(value (s_i + s_j)) in the matrix and 2^(-x s_j) in x, where s is 1 or -1: each
 * product is finite, and one of an entry and another entry's element of x may overflow. */
enum { MIXED = -1 };
typedef struct scales {
    const char *name;
    spmv_precision precision;
    int value, x, digits; /* digits: bits of a value; 0: values have three magnitudes */
} scales;
static const scales all_scales[] = {{"f64, few values", SPMV_F64, 450, 900, 0},
                                    {"f64", SPMV_F64, 450, 900, 52},
                                    {"f64, floats", SPMV_F64, 63, 900, 20},
                                    {"f64, few floats", SPMV_F64, 63, 900, 0},
                                    {"f64, mixed", SPMV_F64, 63, 900, MIXED},
                                    {"f32, few values", SPMV_F32, 50, 100, 0},
                                    {"f32", SPMV_F32, 50, 100, 20}};

static int sign_of(int64_t j) {
    return spmv_mix((uint64_t)j + 1) & 1 ? 1 : -1;
}

/* Returns a number from 1 to 2 with `digits` random bits. */
static double random_significand(uint64_t seed, int digits) {
    return 1 + ldexp((double)(spmv_mix(seed) >> 12 >> (52 - digits)), -digits);
}

/* Large values are positive and others negative, so that a dictionary, which is sorted by bits,
 * begins with a large one. MIXED: every other 32 rows have floats, and the others values of which
 * the lower halves are signaling NaNs of f32. */
static void scale(entries *e, const scales *by) {
    for (int64_t k = 0; k < e->nnz; k++) {
        const bool is_wide = by->digits == MIXED && e->row[k] / 32 % 2;
        const int exponent = by->value * (sign_of(e->row[k]) + sign_of(e->col[k]));
        const int digits = by->digits == MIXED ? 20 : by->digits;
        double value = ldexp(random_significand((uint64_t)k + 9, digits), exponent);
        const uint64_t bits = (spmv_bits(value) & ~(uint64_t)UINT32_MAX) | 0x7fa00000;
        if (is_wide) memcpy(&value, &bits, sizeof value);
        e->values[k] = exponent > 0 ? value : -value;
    }
}

static double *scaled_x(int64_t n, const scales *by) {
    double *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (int64_t j = 0; j < n; j++)
        x[j] = ldexp(random_significand((uint64_t)j, 3), -by->x * sign_of(j));
    return x;
}

static const char *const shapes[] = {"long tail",      "symmetric", "runs",
                                     "32 k + 31 rows", "dense row", "skew-symmetric"};

/* ---- every kernel with every setting -------------------------------------------------------- */

typedef void (*try_plan)(const setup *c, const subject *s, void *arg);

/* Each parameter is varied alone. */
static void for_settings(const spmv_backend *backend, int k, int variant, const subject *s,
                         try_plan call, void *arg) {
    const setup plain = setup_of(backend, k, variant);
    call(&plain, s, arg);
    for (const spmv_param *p = params_of(backend->kernels[k][variant]); p->id != SPMV_NPARAMS;
         p++) {
        const values v = values_of(p, s->rows, s->cols);
        for (int n = 0; n < v.count; n++) {
            setup c = plain;
            set(&c, p, v.value[n]);
            call(&c, s, arg);
        }
    }
}

static void for_kernels(const subject *s, spmv_precision precision, try_plan call, void *arg) {
    const spmv_backend *host = &spmv_omp;
    for (int k = 0; k < host->nkernels; k++) {
        const bool is_ours = is_here(host, k) && !(host->kernels[k][0]->traits & SPMV_PEER);
        const int variant = precision == SPMV_F64 ? SPMV_F64_O32 : SPMV_F32_O32;
        if (is_ours && is_wanted(host, k)) for_settings(host, k, variant, s, call, arg);
    }
}

/* ---- exceptions ----------------------------------------------------------------------------- */

enum { VECTORS = 3 };

/* Multiplies VECTORS copies of x and y in the given layout. */
static spmv_status multiply_several(const spmv_plan *plan, const subject *s,
                                    spmv_precision precision, spmv_layout layout) {
    const size_t width = width_of(precision);
    char *x = malloc((size_t)s->cols * VECTORS * width), *z = malloc((size_t)s->rows * 8 * width);
    const char *one = (const char *)s->x[precision] + GUARD * width;
    const bool rows = layout == SPMV_ROWS;
    assert_true(x && z);
    for (int64_t j = 0; j < s->cols; j++)
        for (int64_t v = 0; v < VECTORS; v++)
            memcpy(x + (size_t)(rows ? j * VECTORS + v : v * s->cols + j) * width,
                   one + (size_t)j * width, width);
    const spmv_call call = {.size = sizeof call, .x = x, .z = z, .k = VECTORS, .layout = layout};
    const spmv_status status = spmv_apply(plan, &call, NULL);
    free(x);
    free(z);
    return status;
}

static void complain_of(const setup *c, const subject *s, const char *product, int exceptions) {
    char what[96];
    snprintf(what, sizeof what, "%s raised%s%s%s", product,
             exceptions & FE_INVALID ? " invalid" : "", exceptions & FE_OVERFLOW ? " overflow" : "",
             exceptions & FE_DIVBYZERO ? " division by zero" : "");
    complain_about(c, s, what);
}

static void raises_nothing(const setup *c, const subject *s, void *arg) {
    static const scaling some[] = {{1, 0}, {2, -1}};
    FREED(spmv_plan) *plan = plan_of(c, s);
    int exceptions;
    (void)arg;
    if (!plan) return;
    FREED(workplace) w = workplace_of(plan, s, c->precision);
    for (int k = 0; k < COUNT(some); k++) {
        raised();
        assert_int_equal(multiply(&w, s, c->precision, some[k]), SPMV_OK);
        if ((exceptions = raised())) complain_of(c, s, "a product", exceptions);
        tally.products++;
    }
    for (spmv_layout layout = SPMV_COLUMNS; layout <= SPMV_ROWS; layout++) {
        assert_int_equal(multiply_several(plan, s, c->precision, layout), SPMV_OK);
        if ((exceptions = raised())) complain_of(c, s, "several vectors", exceptions);
    }
}

static subject scaled_subject(spmv_ctx *ctx, const char *shape, const scales *by) {
    FREED(entries) e = entries_of(fixture_named(shape));
    scale(&e, by);
    FREED(double) *x = scaled_x(e.cols, by), *y0 = random_vector(2, e.rows);
    spmv_mat *mat = matrix_of(ctx, &e);
    raised();
    subject s = subject_of(mat, shape, x, y0);
    for (int64_t i = 0; i < 2 * GUARD + s.cols && by->precision == SPMV_F64; i++)
        if (i < GUARD || i >= GUARD + s.cols)
            memcpy((double *)s.x[0] + i, &(uint64_t){0x7ff4000000000000}, sizeof(double));
    return s;
}

TEST(products_of_finite_numbers_raise_nothing) {
    int64_t wrong = 0, products = 0;
    for (int threads = 1; threads <= TEAM; threads += TEAM - 1) {
        FREED(spmv_ctx) *ctx = poisoned_context(threads);
        for (int f = 0; f < COUNT(shapes); f++)
            for (int k = 0; k < COUNT(all_scales); k++) {
                if (are_few() && (f + k) % 2 == (threads == 1)) continue;
                FREED(subject) s = scaled_subject(ctx, shapes[f], &all_scales[k]);
                tally = (struct tally){0};
                for_kernels(&s, all_scales[k].precision, raises_nothing, NULL);
                if (tally.wrong) print_error("%s, %s\n", shapes[f], all_scales[k].name);
                wrong += tally.wrong, products += tally.products;
            }
    }
    print_message("%lld products\n", (long long)products);
    assert_int_equal(wrong, 0);
}

/* Positive entries times numbers of which every fourth is infinite, from `first` on. */
static subject infinite_subject(spmv_ctx *ctx, const char *shape, int64_t first) {
    FREED(entries) e = entries_of(fixture_named(shape));
    for (int64_t k = 0; k < e.nnz; k++) e.values[k] = random_significand((uint64_t)k, 20);
    FREED(double) *x = malloc((size_t)e.cols * sizeof *x), *y0 = random_vector(2, e.rows);
    assert_non_null(x);
    for (int64_t j = 0; j < e.cols; j++) x[j] = j % 4 == first ? INFINITY : 1;
    subject s = subject_of(matrix_of(ctx, &e), shape, x, y0);
    return s;
}

/* Kernels without rowlens want finite numbers, and bsr_rows multiplies padding by infinity. */
static void raises_nothing_of_padding(const setup *c, const subject *s, void *arg) {
    for (int k = 0; k < c->nsettings; k++)
        if (strcmp(c->setting[k].name, "rowlens") == 0 && c->setting[k].value == 0) return;
    if (!strstr(c->kernel, "bsr_rows")) raises_nothing(c, s, arg);
}

TEST(products_with_infinite_numbers_raise_nothing) {
    spmv_ctx *ctx = poisoned_context(TEAM);
    int64_t wrong = 0;
    for (int f = 0; f < COUNT(shapes) && strcmp(shapes[f], "skew-symmetric") != 0; f++)
        for (int64_t first = 0; first < 4; first++) {
            if (are_few() && first != f % 4) continue;
            FREED(subject) s = infinite_subject(ctx, shapes[f], first);
            tally = (struct tally){0};
            for_kernels(&s, SPMV_F64, raises_nothing_of_padding, NULL);
            for_kernels(&s, SPMV_F32, raises_nothing_of_padding, NULL);
            assert_true(tally.products > 0);
            wrong += tally.wrong;
        }
    spmv_ctx_free(ctx);
    assert_int_equal(wrong, 0);
}

/* ---- subnormal numbers ---------------------------------------------------------------------- */

/* Values that float represents, most of them as subnormal numbers; in double they are normal. */
static void fill_small(entries *e, int digits) {
    for (int64_t k = 0; k < e->nnz; k++)
        e->values[k] = ldexp(1 + (double)(k % (1 << digits)), (int)(k % 20) - 149);
}

static void is_the_same_flushed(const setup *c, const subject *s, void *arg) {
    FREED(spmv_plan) *plan = plan_of(c, s);
    (void)arg;
    if (!plan) return;
    FREED(workplace) w = workplace_of(plan, s, c->precision);
    FREED(char) *expected = malloc(w.y_bytes);
    assert_non_null(expected);
    assert_int_equal(multiply(&w, s, c->precision, scalings[0]), SPMV_OK);
    memcpy(expected, w.fetched, w.y_bytes);
    set_mode(FLUSH);
    assert_int_equal(multiply(&w, s, c->precision, scalings[0]), SPMV_OK);
    set_mode(DEFAULT);
    if (w.plan->kernel->traits & SPMV_DETERMINISTIC)
        if (memcmp(expected, w.fetched, w.y_bytes) != 0)
            complain_about(c, s, "the product is another one where subnormal numbers are flushed");
    check_result(c, s, &w, scalings[0]);
    tally.products++;
}

TEST(products_of_normal_numbers_are_the_same_flushed) {
    static const int digits[] = {0, 1, 8, 12};
    int64_t wrong = 0, products = 0;
    for (int threads = 1; threads <= TEAM; threads += TEAM - 1) {
        FREED(spmv_ctx) *ctx = context_of(threads);
        for (int f = 0; f < COUNT(shapes); f++)
            for (int d = 0; d < COUNT(digits); d++) {
                if (are_few() && (f + d) % 2 == (threads == 1)) continue;
                FREED(entries) e = entries_of(fixture_named(shapes[f]));
                fill_small(&e, digits[d]);
                FREED(double) *x = random_vector(4, e.cols), *y0 = random_vector(2, e.rows);
                for (int64_t j = 0; j < e.cols; j++) x[j] = ldexp(x[j], 140);
                FREED(subject) s = subject_of(matrix_of(ctx, &e), shapes[f], x, y0);
                tally = (struct tally){0};
                for_kernels(&s, SPMV_F64, is_the_same_flushed, NULL);
                wrong += tally.wrong, products += tally.products;
            }
    }
    print_message("%lld products\n", (long long)products);
    assert_int_equal(wrong, 0);
}

/* ---- what is built -------------------------------------------------------------------------- */

/* Values whose f32 is rounded, is subnormal, 0 or infinite, and duplicates whose sum is rounded. */
static void fill_awkward(entries *e) {
    static const double odd[] = {1e-310, 1e-40, 1e300, -1e39, 3e-39, 1e-46, 0.1, -1e-320};
    const int64_t n = e->nnz;
    for (int64_t k = 0; k < n; k++)
        e->values[k] = k % 3 == 0 ? odd[k / 3 % COUNT(odd)] : random_entry(5, (uint64_t)k);
    for (int64_t k = 0; k < n; k += 5) add_entry(e, e->row[k], e->col[k], 1.0 / (double)(k + 3));
}

typedef struct built {
    const entries *e;
    mode mode;
} built;

/* Multiplies with a plan that is made in that environment, of a matrix that is. */
static char *product_in(const setup *c, const subject *s, const entries *e, mode m) {
    subject other = *s;
    set_mode(m);
    other.mat = matrix_of(s->mat->ctx, e);
    spmv_plan *plan = plan_of(c, &other);
    set_mode(DEFAULT);
    char *y = NULL;
    if (plan) {
        FREED(workplace) w = workplace_of(plan, s, c->precision);
        assert_int_equal(multiply(&w, s, c->precision, scalings[0]), SPMV_OK);
        y = malloc(w.y_bytes);
        assert_non_null(y);
        memcpy(y, w.fetched, w.y_bytes);
    }
    spmv_plan_free(plan);
    spmv_mat_free(other.mat);
    return y;
}

static void is_built_the_same(const setup *c, const subject *s, void *arg) {
    const entries *e = arg;
    const size_t bytes = (size_t)(s->rows + 2 * GUARD) * width_of(c->precision);
    FREED(char) *expected = product_in(c, s, e, DEFAULT);
    for (mode m = TRAPS; m < MODES; m++) {
        char what[64], *y = product_in(c, s, e, m);
        snprintf(what, sizeof what, "is built otherwise: %s", mode_names[m]);
        if (!y != !expected || (y && memcmp(y, expected, bytes) != 0)) complain_about(c, s, what);
        free(y);
        tally.products++;
    }
}

TEST(what_is_built_is_the_same) {
    int64_t wrong = 0;
    spmv_ctx *ctx = context_of(1); /* so that sums have one order */
    for (int f = 0; f < 2; f++) {
        FREED(entries) e = entries_of(fixture_named(shapes[f]));
        fill_awkward(&e);
        FREED(subject) s = random_subject(matrix_of(ctx, &e), shapes[f]);
        tally = (struct tally){0};
        if (!are_few() || f == 0) for_kernels(&s, SPMV_F64, is_built_the_same, &e);
        if (!are_few() || f == 1) for_kernels(&s, SPMV_F32, is_built_the_same, &e);
        wrong += tally.wrong;
        assert_true(tally.products > 0);
    }
    spmv_ctx_free(ctx);
    assert_int_equal(wrong, 0);
}

TEST_MAIN(take_backend, NULL, NULL)
