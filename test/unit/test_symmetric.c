/* test_symmetric.c: half storage, as sss and csell_sym: products of symmetric and skew-symmetric
 * matrices, near the diagonal and far from it, on diagonals and not, for several thread counts and
 * every instruction set; and that no other matrix gets in. */
#include "instructions.h"

static void add_pair(entries *e, int64_t i, int64_t j, double sign) {
    add_random(e, i, j);
    add_entry(e, j, i, sign * e->values[e->nnz - 1]);
}

/* About three entries per row, at most reach columns from the diagonal, and one that is as far,
 * mirrored, and most of the diagonal. */
static entries mirrored(int64_t rows, int64_t reach, double sign) {
    entries e = {.rows = rows, .cols = rows};
    for (int64_t i = 0; i < rows; i++) {
        if (i % 7) add_random(&e, i, i);
        if (i == reach) add_pair(&e, i, 0, sign);
        for (int64_t n = 0, last = i == reach ? 0 : -1; n < i % 4; n++) {
            uint64_t at = spmv_mix((uint64_t)(4 * i + n + 1));
            int64_t j = i - 1 - (int64_t)(at % (uint64_t)reach);
            if (j <= last) continue;
            last = j;
            add_pair(&e, i, j, sign);
        }
    }
    return e;
}

/* Entries lie on diagonals that reach into the slice itself, others and other threads' rows (31 and
 * 63: but for the last row), all rows or most; values of one rule a csell slice has a code for. */
static double rule_any(int64_t i, int64_t j) {
    return random_entry(5, (uint64_t)(i * 70000 + j));
}

static double rule_float(int64_t i, int64_t j) {
    return (double)(float)rule_any(i, j);
}

static double rule_five(int64_t i, int64_t j) {
    static const double five[] = {0.1, -0.0, 3e-310, -7.25, 1e3};
    return five[(i * 3 + j) % 5];
}

static double rule_many(int64_t i, int64_t j) {
    return 0.1 * (double)((i * 31 + j * 17) % 200);
}

static double rule_step(int64_t i, int64_t j) {
    return 1 / (3.0 + (double)((i - j) % 7));
}

static double (*const rules[])(int64_t, int64_t) = {rule_any, rule_float, rule_five, rule_many,
                                                    rule_step};

static entries diagonals(int64_t rows, int64_t ragged, int rule, double sign) {
    static const int64_t distance[] = {0, 1, 2, 7, 31, 33, 63, 64, 65, 500};
    entries e = {.rows = rows, .cols = rows};
    for (int64_t i = 0; i < rows; i++)
        for (int n = 0; n < COUNT(distance); n++) {
            int64_t j = i - distance[n];
            if (j < 0 || (ragged && (i * i + n) % 7 == 3)) continue;
            add_entry(&e, i, j, rules[rule](i, j));
            if (i != j) add_entry(&e, j, i, sign * rules[rule](i, j));
        }
    return e;
}

/* Rows of runs, in no order, and one with its diagonal that is longer than a slice takes. */
static entries runs(int64_t rows, int rule, double sign) {
    entries e = {.rows = rows, .cols = rows};
    for (int64_t i = 0; i < rows; i++) {
        int64_t first = i == rows - 9 ? 3
                        : i < 4       ? 0
                                      : (int64_t)(spmv_mix((uint64_t)i) % (uint64_t)(i - 3));
        int64_t end = i == rows - 9 ? 603 : i < 4 ? i + 1 : first + 3;
        for (int64_t j = first; j < end; j++) {
            add_entry(&e, i, j, rules[rule](i, j));
            if (i != j) add_entry(&e, j, i, sign * rules[rule](i, j));
        }
    }
    add_entry(&e, rows - 9, rows - 9, rules[rule](rows - 9, rows - 9));
    return e;
}

/* isa 0: the best there is, or the kernel takes none. */
static void assert_product_by(const char *kernel, int64_t isa, spmv_mat *mat, int64_t n,
                              spmv_precision precision, double alpha, double beta) {
    double *x = random_vector(1, n), *y0 = random_vector(2, n);
    void *px = vector_of(x, n, precision), *before = vector_of(y0, n, precision);
    void *y = vector_of(y0, n, precision);
    oracle o = oracle_of(mat, x, n, precision);
    const spmv_setting setting = {"isa", isa};
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel, .precision = precision,
                               .settings = &setting, .nsettings = isa > 0);
    spmv_plan *plan = must_plan(mat, &opts);
    assert_int_equal(spmv_exec(plan, alpha, px, beta, y), SPMV_OK);
    verdict v = oracle_check(&o, precision, alpha, beta, before, y);
    if (v.bad_rows)
        fail_msg("%s, isa %d: %lld wrong rows, first %lld", kernel, (int)isa, (long long)v.bad_rows,
                 (long long)v.first_bad_row);
    spmv_plan_free(plan);
    oracle_free(&o);
    free(x), free(y0), free(px), free(before), free(y);
}

static void assert_product(spmv_mat *mat, int64_t n, spmv_precision precision, double alpha,
                           double beta) {
    assert_product_by("sss_rows", 0, mat, n, precision, alpha, beta);
    assert_product_by("csell_sym_slices", 0, mat, n, precision, alpha, beta);
}

TEST(products_are_right) {
    static const int64_t shape[][2] = {
        {400, 3}, {400, 399}, {70000, 500}, {70000, 65536}, {70000, 69999}};
    static const int threads[] = {1, 2, 5, 64};
    for (int s = 0; s < COUNT(shape); s++)
        for (int t = 0; t < COUNT(threads); t++)
            for (int turn = 0; turn < 2; turn++) {
                FREED(spmv_ctx) *ctx = context_of(threads[t]);
                FREED(entries) e = mirrored(shape[s][0], shape[s][1], turn ? -1 : 1);
                FREED(spmv_mat) *mat = matrix_of(ctx, &e);
                assert_product(mat, e.rows, turn ? SPMV_F32 : SPMV_F64, 1.25, turn ? 0 : -0.5);
                assert_product(mat, e.rows, turn ? SPMV_F64 : SPMV_F32, -1, turn ? 1 : 0);
            }
}

static entries shape_of(int shape, int rule, double sign) {
    enum { ROWS = 32 * 45 + 13 };
    return shape == 2 ? runs(ROWS, rule, sign) : diagonals(ROWS, shape, rule, sign);
}

TEST(codes_and_instruction_sets_agree) {
    for (int shape = 0; shape < 3; shape++)
        for (int rule = 0; rule < COUNT(rules); rule++)
            for (int turn = 0; turn < 4; turn++) {
                FREED(spmv_ctx) *ctx = context_of(1 + 2 * turn);
                FREED(entries) e = shape_of(shape, rule, turn % 2 ? -1 : 1);
                FREED(spmv_mat) *mat = matrix_of(ctx, &e);
                for (int64_t isa = ISA_PORTABLE; isa <= best_isa(); isa++) {
                    assert_product_by("csell_sym_slices", isa, mat, e.rows, SPMV_F64, 1.5,
                                      turn > 1 ? 0 : -0.5);
                    assert_product_by("csell_sym_slices", isa, mat, e.rows, SPMV_F32, 1.5,
                                      turn > 1 ? -0.5 : 0);
                }
            }
}

/* An infinite element of x affects only the rows that have an entry in its column. */
TEST(infinite_x_stays_where_it_is) {
    enum { AT = 300 };
    spmv_ctx *ctx = context_of(3);
    entries e = shape_of(1, 0, 1);
    spmv_mat *mat = matrix_of(ctx, &e);
    double *x = random_vector(1, e.rows), *y = random_vector(2, e.rows);
    bool *reached = calloc((size_t)e.rows, sizeof *reached);
    assert_non_null(reached);
    for (int64_t k = 0; k < e.nnz; k++)
        if (e.col[k] == AT) reached[e.row[k]] = true;
    x[AT] = INFINITY;
    for (int64_t isa = ISA_PORTABLE; isa <= best_isa(); isa++) {
        const spmv_setting setting = {"isa", isa};
        spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "csell_sym_slices",
                                   .settings = &setting, .nsettings = 1);
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
        for (int64_t i = 0; i < e.rows; i++) assert_int_equal(!isfinite(y[i]), reached[i]);
    }
    spmv_mat_free(mat);
    entries_free(&e);
    spmv_ctx_free(ctx);
    free(x), free(y), free(reached);
}

static void assert_plan(const entries *e, spmv_status expected) {
    static const char *const kernels[] = {"sss_rows", "csell_sym_slices"};
    FREED(spmv_ctx) *ctx = context_of(3);
    FREED(spmv_mat) *mat = matrix_of(ctx, e);
    for (int k = 0; k < COUNT(kernels); k++) {
        FREED(spmv_plan) *plan = NULL;
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernels[k]};
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), expected);
        if (expected != SPMV_OK) assert_non_null(strstr(spmv_ctx_error(ctx), "symmetric"));
    }
}

TEST(one_difference_is_enough) {
    for (int64_t k = 0; k < 60; k++) { /* the last bit of one value, wherever it is */
        entries e = mirrored(40, 20, k % 2 ? -1 : 1);
        assert_plan(&e, SPMV_OK);
        if (k >= e.nnz) fail_msg("too few entries");
        e.values[k] = nextafter(e.values[k], 4);
        assert_plan(&e, e.row[k] == e.col[k] ? SPMV_OK : SPMV_E_UNSUITABLE);
        entries_free(&e);
    }
}

TEST(a_missing_mirror_is_enough) {
    for (int turn = 0; turn < 2; turn++) { /* an entry too many below, above */
        entries e = mirrored(40, 20, 1);
        add_entry(&e, turn ? 0 : 39, turn ? 39 : 0, 1);
        assert_plan(&e, SPMV_E_UNSUITABLE);
        add_entry(&e, turn ? 39 : 0, turn ? 0 : 39, 1);
        assert_plan(&e, SPMV_OK);
        entries_free(&e);
    }
    entries moved = {.rows = 3, .cols = 3}; /* as many below as above, not mirrored */
    add_entry(&moved, 1, 0, 1), add_entry(&moved, 1, 2, 1);
    assert_plan(&moved, SPMV_E_UNSUITABLE);
    entries_free(&moved);
    entries mixed = {.rows = 3, .cols = 3}; /* one pair equal, one opposite */
    add_entry(&mixed, 1, 0, 1), add_entry(&mixed, 0, 1, 1);
    add_entry(&mixed, 2, 0, 1), add_entry(&mixed, 0, 2, -1);
    assert_plan(&mixed, SPMV_E_UNSUITABLE);
    entries_free(&mixed);
    FREED(entries) wide = {.rows = 2, .cols = 3};
    add_entry(&wide, 0, 0, 1);
    assert_plan(&wide, SPMV_E_UNSUITABLE);
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
