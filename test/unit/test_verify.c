/* test_verify.c: the check by several threads. What it lets through and what it does not:
 * test_faults.c. */
#include "testing.h"
#include "context.h"

/* Threads share the rows: any number of threads finds the same faults, also in several shares and
 * at their edges. */
TEST(any_number_of_threads_finds_the_same) {
    enum { N = 40001 };
    static const int64_t wrong[] = {N - 1, N / 2, N / 3, N / 3 - 1, 7};
    FREED(spmv_mat) *mat = must_load(ctx, "gen:random:40001:3");
    FREED(double) *x = random_vector(1, N), *y = malloc(N * sizeof *y);
    oracle alone, shared;
    assert_non_null(y);
    assert_int_equal(oracle_make(mat, SPMV_AS_IS, SPMV_F64, x, 1, &alone), SPMV_OK);
    for (int threads = 2; threads <= 5; threads++) {
        assert_int_equal(oracle_make(mat, SPMV_AS_IS, SPMV_F64, x, threads, &shared), SPMV_OK);
        assert_memory_equal(alone.len, shared.len, N * sizeof *alone.len);
        for (int i = 0; i < N; i++) {
            assert_true(alone.sum[i] == shared.sum[i] && alone.mass[i] == shared.mass[i] &&
                        alone.square[i] == shared.square[i]);
            y[i] = (double)alone.sum[i];
        }
        for (int k = 0; k <= COUNT(wrong); k++) {
            verdict v = oracle_check(&shared, SPMV_F64, 1, 0, NULL, y);
            verdict w = oracle_check(&alone, SPMV_F64, 1, 0, NULL, y);
            assert_true(v.bad_rows == k && v.first_bad_row == (k ? wrong[k - 1] : -1));
            assert_true(v.max_ratio == w.max_ratio && v.bad_rows == w.bad_rows &&
                        v.first_bad_row == w.first_bad_row && v.got == w.got &&
                        v.expected == w.expected);
            if (k < COUNT(wrong)) y[wrong[k]] += 1 + k;
        }
        oracle_free(&shared);
    }
    oracle_free(&alone);
}

/* Only the sum of duplicates meets infinity, in the reference as in every kernel. */
TEST(duplicates_that_meet_infinity_are_summed_first) {
    static const double x[] = {INFINITY, 1, NAN};
    for (int both = 0; both < 2; both++) {
        FREED(entries) e = {.rows = 3, .cols = 3, .symmetry = both ? SPMV_SYMMETRIC : SPMV_GENERAL};
        add_entry(&e, 0, 0, 1), add_entry(&e, 1, 0, 2), add_entry(&e, 0, 0, -3);
        add_entry(&e, 1, 0, -1), add_entry(&e, 1, 1, 5);
        add_entry(&e, 2, 1, 1), add_entry(&e, 2, 1, -1);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        FREED(oracle) o = oracle_of(mat, x, 3, SPMV_F64);
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = "omp:csr_serial"};
        double y[3];
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
        assert_int_equal(oracle_check(&o, SPMV_F64, 1, 0, NULL, y).bad_rows, 0);
        assert_true(y[0] == -INFINITY && (both ? isnan(y[1]) : y[1] == INFINITY));
        y[0] = NAN;
        assert_int_equal(oracle_check(&o, SPMV_F64, 1, 0, NULL, y).first_bad_row, 0);
    }
}

/* The sum of duplicates that meets infinity is the matrix's element, 1, also after cancellation of
 * large duplicates. */
TEST(what_duplicates_leave_meets_infinity) {
    const double x[] = {INFINITY};
    FREED(entries) e = {.rows = 1, .cols = 1};
    add_entry(&e, 0, 0, 1e300), add_entry(&e, 0, 0, 1), add_entry(&e, 0, 0, -1e300);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    FREED(oracle) o = oracle_of(mat, x, 1, SPMV_F64);
    assert_true(o.sum[0] == INFINITY);
}

/* Alpha x may be multiplied first, as BLAS does by columns: it underflows, or overflows. */
TEST(alpha_may_meet_x_first) {
    static const struct {
        double a, x, alpha;
    } extreme[] = {{1e300, 3e-310, 1e-8}, {1e-8, 1e300, 1e10}};
    for (int n = 0; n < COUNT(extreme); n++) {
        const double x = extreme[n].x, alpha = extreme[n].alpha;
        FREED(entries) e = {.rows = 1, .cols = 1};
        add_entry(&e, 0, 0, extreme[n].a);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        FREED(oracle) o = oracle_of(mat, &x, 1, SPMV_F64);
        const volatile double first = alpha * x;
        const double y = extreme[n].a * first, wrong = 1.1 * extreme[n].a * alpha * x;
        assert_int_equal(oracle_check(&o, SPMV_F64, alpha, 0, NULL, &y).bad_rows, 0);
        assert_int_equal(oracle_check(&o, SPMV_F64, alpha, 0, NULL, &wrong).bad_rows, 1);
    }
}

/* A value that f32 rounds to 0 meets infinity as 0 there, in every kernel: NaN. */
TEST(what_f32_rounds_to_zero_times_infinity_is_nan) {
    static const double x[] = {INFINITY, 1};
    FREED(entries) e = {.rows = 2, .cols = 2};
    add_entry(&e, 0, 0, 1e-60), add_entry(&e, 1, 1, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    for (int p = 0; p < 2; p++) {
        spmv_precision precision = p ? SPMV_F32 : SPMV_F64;
        spmv_plan_opts opts = {
            .size = sizeof opts, .kernel = "omp:csr_rows", .precision = precision};
        FREED(oracle) o = oracle_of(mat, x, 2, precision);
        const float x_f32[] = {INFINITY, 1};
        double y[2] = {0};
        const void *given = p ? (const void *)x_f32 : x;
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        assert_int_equal(spmv_exec(plan, 1, given, 0, y), SPMV_OK);
        assert_int_equal(oracle_check(&o, precision, 1, 0, NULL, y).bad_rows, 0);
        const float wrong[] = {INFINITY, 1};
        if (p) assert_int_equal(oracle_check(&o, precision, 1, 0, NULL, wrong).first_bad_row, 0);
    }
}

/* 98 terms of 1: the bound is 2 (98 + 2) u 98, which is 153 units in the last place of 98. */
TEST(what_is_above_the_bound_is_wrong) {
    enum { TERMS = 98 };
    const double ulp = 0x1p-46, bound = 200 * TERMS * 0x1p-53;
    double x[TERMS];
    FREED(entries) e = {.rows = 1, .cols = TERMS};
    for (int j = 0; j < TERMS; j++) {
        add_entry(&e, 0, j, 1);
        x[j] = 1;
    }
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    FREED(oracle) o = oracle_of(mat, x, TERMS, SPMV_F64);
    for (int sign = -1; sign <= 1; sign += 2)
        for (int units = 0; units < 400; units++) {
            const double y = TERMS + sign * units * ulp;
            const verdict v = oracle_check(&o, SPMV_F64, 1, 0, NULL, &y);
            assert_true(fabs(v.max_ratio - units * ulp / bound) <= 1e-9 * v.max_ratio);
            assert_int_equal(v.bad_rows, units * ulp > bound);
        }
}

/* Ten million equal terms: a plain sum in extended precision is off by 1,000 roundings of a double,
 * in the reference as in the matrix. */
TEST(ten_million_duplicates_are_right) {
    enum { MANY = 10000000 };
    const double value = 0.1, x[] = {1.0 / 3, 1.0 / 3};
    const long double exact = 1e6L + 5.551115123125783e-11L; /* ten million times 0.1's double */
    for (int both = 0; both < 2; both++) {
        const int at = both; /* below the diagonal, mirrored */
        FREED(entries) e = {.rows = 2, .cols = 2, .symmetry = both ? SPMV_SYMMETRIC : SPMV_GENERAL};
        for (int k = 0; k < MANY; k++) add_entry(&e, at, 0, value);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        spmv_csr_view A = rows_of(mat);
        FREED(oracle) o = oracle_of(mat, x, 2, SPMV_F64);
        assert_true(A.values[0] == (double)exact);
        assert_true(fabsl(o.sum[at] - exact * x[0]) <= 0x1p-60 * exact);
        assert_int_equal(spmv_mat_set_values(mat, e.values, SPMV_HOST, NULL), SPMV_OK);
        spmv_mat_rows(mat, &A);
        assert_true(A.values[0] == (double)exact);
    }
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
