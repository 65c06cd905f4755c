/* test_faults.c: the check is checked. Planted wrong kernels must be caught by it as the program
 * applies it: once before the timing and once after (problem_once, problem_turn, oracle_check);
 * right ones, whatever their order of summation, must pass. The faults of the published program are
 * among the planted. */
#include "context.h"
#include "measure/sampler.h"
#include "planted.h"

/* ---- planting ------------------------------------------------------------------------------- */

static product planted;

/* The vectors of an f32 plan are widened for the product and y is rounded behind it. */
static spmv_status run_planted(const spmv_plan *plan, const spmv_operands *v) {
    spmv_csr_view A = rows_of(plan->matrix);
    run_count++;
    if (plan->variant == SPMV_F64_O32 || plan->variant == SPMV_F64_O64) {
        planted(plan->matrix, v->alpha, v->x, v->beta, v->z);
        return SPMV_OK;
    }
    FREED(double) *wide_x = malloc((size_t)(A.cols + 1) * sizeof *wide_x),
                  *wide_y = malloc((size_t)(A.rows + 1) * sizeof *wide_y);
    assert_true(wide_x && wide_y);
    for (int64_t j = 0; j < A.cols; j++) wide_x[j] = number_at(v->x, SPMV_F32, j);
    for (int64_t i = 0; i < A.rows; i++) wide_y[i] = number_at(v->z, SPMV_F32, i);
    planted(plan->matrix, v->alpha, wide_x, v->beta, wide_y);
    for (int64_t i = 0; i < A.rows; i++) set_number(v->z, SPMV_F32, i, wide_y[i]);
    return SPMV_OK;
}

typedef struct experiment { /* a matrix, its vectors and reference in one precision, a scaling */
    spmv_mat *mat;
    spmv_precision precision;
    double alpha, beta;
    int64_t rows, cols;
    void *x, *y0;
    oracle reference;
} experiment;

/* x: NULL for the program's own random one; y0 is its too. */
static experiment experiment_on(spmv_mat *mat, const double *x, spmv_precision precision,
                                double alpha, double beta) {
    spmv_csr_view A = rows_of(mat);
    experiment t = {.mat = mat,
                    .precision = precision,
                    .alpha = alpha,
                    .beta = beta,
                    .rows = A.rows,
                    .cols = A.cols};
    double *random_x = random_vector(1, A.cols), *y0 = random_vector(1 + 0x5eed, A.rows);
    for (int64_t i = 0; beta == 0 && i < A.rows; i++) y0[i] = NAN;
    t.x = vector_of(x ? x : random_x, A.cols, precision);
    t.y0 = vector_of(y0, A.rows, precision);
    t.reference = oracle_of(mat, x ? x : random_x, A.cols, precision);
    t.reference.random_x = !x;
    free(random_x);
    free(y0);
    return t;
}

static void experiment_free(experiment *t) {
    free(t->x);
    free(t->y0);
    oracle_free(&t->reference);
}

STRUCT_AT_END(experiment, experiment_free)

typedef enum stage {
    FIRST = 1,
    LAST,
    NEVER
} stage; /* which of the program's two checks finds a fault */

static bool passes(const experiment *t, const void *y) {
    return oracle_check(&t->reference, t->precision, t->alpha, t->beta, t->y0, y).bad_rows == 0;
}

/* Does what spmv run does with a kernel: rounds.c; the timing is left out where it can tell
 * nothing. */
static stage check_plan(const spmv_plan *plan, const experiment *t, bool timed) {
    const sampling quick = {.min_samples = 3, .min_time_s = 0, .max_time_s = 1e-3, .max_noise = 1};
    problem p = {.plan = plan,
                 .precision = t->precision,
                 .rows = t->rows,
                 .cols = t->cols,
                 .alpha = t->alpha,
                 .beta = t->beta,
                 .x = t->x,
                 .y0 = t->y0};
    timing time = {0};
    FREED(void) *y = malloc((size_t)(t->rows + 1) * sizeof(double));
    stage caught = NEVER;
    assert_non_null(y);
    assert_int_equal(problem_open(&p), SPMV_OK);
    assert_int_equal(problem_once(&p, y), SPMV_OK);
    if (!passes(t, y)) caught = FIRST;
    if (caught == NEVER && timed) {
        assert_int_equal(problem_ready(&p, &quick, &time), SPMV_OK);
        while (!time.done) assert_int_equal(problem_turn(&p, &quick, &time, 0), SPMV_OK);
        assert_int_equal(problem_result(&p, 0, y), SPMV_OK);
        if (!passes(t, y)) caught = LAST;
        free(time.sample_s);
    }
    problem_close(&p);
    return caught;
}

/* Any kernel will do: the default one. */
static spmv_plan *plan_for(const experiment *t) {
    spmv_plan_opts opts = {.size = sizeof opts, .precision = t->precision};
    spmv_plan *plan = NULL;
    if (spmv_plan_create(t->mat, &opts, &plan) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return plan;
}

/* An honest kernel goes first, so that its right y is in the memory that malloc hands out again. */
static stage check_planted(product p, const experiment *t, bool timed) {
    FREED(spmv_plan) *plan = plan_for(t);
    const spmv_kernel *shipped = plan->kernel;
    spmv_kernel replaced = *shipped;
    assert_int_equal(check_plan(plan, t, false), NEVER);
    replaced.run = run_planted;
    planted = p;
    run_count = 0;
    plan->kernel = &replaced;
    stage caught = check_plan(plan, t, timed);
    plan->kernel = shipped;
    return caught;
}

/* ---- matrices ------------------------------------------------------------------------------- */

static spmv_mat *generated(const char *spec) {
    spmv_mat *mat = NULL;
    if (spmv_mat_load(ctx, spec, NULL, &mat) != SPMV_OK)
        fail_msg("%s: %s", spec, spmv_ctx_error(ctx));
    return mat;
}

static spmv_mat *matrix_named(const char *name) {
    if (strncmp(name, "gen:", 4) == 0) return generated(name);
    FREED(entries) e = entries_of(fixture_named(name));
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

/* ---- what must be caught -------------------------------------------------------------------- */

#define PLAIN "gen:random:2011:9"
#define MILLION "gen:random:1000000:3"
#define HUNDRED_THOUSAND "gen:dense:3x100000"
#define SKEWED "gen:powerlaw:3000:20:2.1"
static const double both_ways[][2] = {{1, 0}, {2, -1}};
enum { ALWAYS = 0, WITH_BETA = 1, WITHOUT_BETA = 2, ONLY_F64 = 4 };

static const struct fault {
    const char *name;
    product planted;
    const char *matrix;
    stage found;
    int when; /* where it is a fault at all */
} faults[] = {
    {"y untouched", write_nothing, PLAIN, FIRST, ALWAYS},
    {"y untouched, a million rows", write_nothing, MILLION, FIRST, ALWAYS},
    {"y zero", write_zero, PLAIN, FIRST, ALWAYS},
    {"last rows skipped", skip_last_rows, PLAIN, FIRST, ALWAYS},
    {"last row skipped", skip_last_row, PLAIN, FIRST, ALWAYS},
    {"first row skipped", skip_first_row, PLAIN, FIRST, ALWAYS},
    {"rows from the wrong axis of the grid", take_rows_from_the_wrong_axis, PLAIN, FIRST, ALWAYS},
    {"empty rows skipped", skip_empty_rows, "empty rows", FIRST, ALWAYS},
    {"writes only the first time", stop_writing, PLAIN, LAST, ALWAYS},
    {"writes one row only the first time", stop_writing_one_row, PLAIN, LAST, ALWAYS},
    {"columns shifted by one", shift_columns, PLAIN, FIRST, ALWAYS},
    {"columns shifted by one, stencil", shift_columns, "gen:poisson2d:40", FIRST, ALWAYS},
    {"one entry dropped", drop_one_entry, PLAIN, FIRST, ALWAYS},
    {"one entry dropped in a million rows", drop_one_entry, MILLION, FIRST, ALWAYS},
    {"one entry dropped of a long row", drop_one_entry, "gen:giantrow:200000:100000", FIRST,
     ONLY_F64},
    {"one heavy entry dropped of a long row", drop_one_heavy_entry, "gen:giantrow:200000:100000",
     FIRST, ALWAYS},
    {"y zero, rows of 100,000", write_zero, HUNDRED_THOUSAND, FIRST, ALWAYS},
    {"half dropped, rows of 100,000", drop_half_of_each_row, HUNDRED_THOUSAND, FIRST, ALWAYS},
    {"last row skipped, rows of 100,000", skip_last_row, HUNDRED_THOUSAND, FIRST, ALWAYS},
    {"y zero, rows of 3 million", write_zero, "gen:dense:1x3000000", FIRST, ALWAYS},
    {"entries beyond the 32nd dropped", drop_entries_beyond_a_warp, SKEWED, FIRST, ALWAYS},
    {"rows run into the next", run_into_the_next_row, PLAIN, FIRST, ALWAYS},
    {"transposed", multiply_transposed, "duplicates", FIRST, ALWAYS},
    {"transposed, skew-symmetric", multiply_transposed, "skew-symmetric", FIRST, ALWAYS},
    {"symmetric read as general", read_as_general, "symmetric", FIRST, ALWAYS},
    {"skew-symmetric read as general", read_as_general, "skew-symmetric", FIRST, ALWAYS},
    {"skew-symmetric read as symmetric", read_as_symmetric, "skew-symmetric", FIRST, ALWAYS},
    {"symmetric read as skew-symmetric", read_as_skew_symmetric, "symmetric", FIRST, ALWAYS},
    {"only the last duplicate kept", keep_last_duplicate, "duplicates", FIRST, ALWAYS},
    {"two rows swapped", swap_two_rows, MILLION, FIRST, ALWAYS},
    {"summed in float", sum_in_float, PLAIN, FIRST, ONLY_F64},
    {"summed in float, stencil", sum_in_float, "gen:poisson2d:40", FIRST, ONLY_F64},
    {"summed in float, long row", sum_in_float, "gen:giantrow:200000:100000", FIRST, ONLY_F64},
    {"computed in float", compute_in_float, PLAIN, FIRST, ONLY_F64},
    {"values rounded to float", round_values, PLAIN, FIRST, ONLY_F64},
    {"x rounded to float", round_x, PLAIN, FIRST, ONLY_F64},
    {"x rounded to float, stencil", round_x, "gen:poisson2d:40", FIRST, ONLY_F64},
    {"result rounded to float", round_result, PLAIN, FIRST, ONLY_F64},
    {"alpha ignored", ignore_alpha, PLAIN, FIRST, WITH_BETA},
    {"beta ignored", ignore_beta, PLAIN, FIRST, WITH_BETA},
    {"y added to", add_to_y, PLAIN, FIRST, ALWAYS},
    {"beta y added twice", add_beta_y_twice, PLAIN, FIRST, WITH_BETA},
    {"beta y scaled by alpha", scale_y_by_alpha_too, PLAIN, FIRST, WITH_BETA},
    {"y read with beta = 0", read_y_when_beta_is_zero, PLAIN, FIRST, WITHOUT_BETA},
    {"NaN in one row", put_nan, MILLION, FIRST, ALWAYS},
    {"infinity in one row", put_infinity, PLAIN, FIRST, ALWAYS},
    {"-infinity in one row", put_minus_infinity, PLAIN, FIRST, ALWAYS},
    {"last row negated", negate_last_row, MILLION, FIRST, ALWAYS},
    {"a low bit flipped", flip_a_low_bit, PLAIN, FIRST, ONLY_F64},
    {"an update lost between threads", lose_an_update, PLAIN, FIRST, ALWAYS},
    {"partial sums kept", keep_partial_sums, PLAIN, LAST, ALWAYS},
};

static bool is_fault_there(const struct fault *f, spmv_precision precision, double beta) {
    return !(f->when & WITH_BETA && beta == 0) && !(f->when & WITHOUT_BETA && beta != 0) &&
           !(f->when & ONLY_F64 && precision == SPMV_F32);
}

static int try_fault(const struct fault *f, spmv_mat *mat) {
    int missed = 0;
    for (int precision = 0; precision < 2; precision++)
        for (int k = 0; k < COUNT(both_ways); k++) {
            const double *ab = both_ways[k];
            if (!is_fault_there(f, (spmv_precision)precision, ab[1])) continue;
            FREED(experiment) t = experiment_on(mat, NULL, (spmv_precision)precision, ab[0], ab[1]);
            stage caught = check_planted(f->planted, &t, f->found == LAST);
            if (caught != f->found) {
                print_error("%s, %s, alpha %g, beta %g: %s\n", f->name, precision ? "f32" : "f64",
                            ab[0], ab[1],
                            caught == NEVER ? "let through" : "found by the other check");
                missed++;
            }
        }
    return missed;
}

/* Faults of one matrix follow each other where the matrix is costly to make. */
TEST(faults_are_caught) {
    bool done[COUNT(faults)] = {false};
    int missed = 0, tried = 0;
    for (int f = 0; f < COUNT(faults); f++) {
        if (done[f] || (are_few() && strcmp(faults[f].matrix, MILLION) == 0)) continue;
        FREED(spmv_mat) *mat = matrix_named(faults[f].matrix);
        for (int g = f; g < COUNT(faults); g++)
            if (strcmp(faults[g].matrix, faults[f].matrix) == 0)
                missed += try_fault(&faults[g], mat), tried++, done[g] = true;
    }
    print_message("%d planted faults, %d let through\n", tried, missed);
    assert_int_equal(missed, 0);
}

/* The kernel before left its right y where the next one, which writes nothing, leaves it. */
TEST(a_result_left_behind_is_caught) {
    FREED(spmv_mat) *mat = matrix_named(PLAIN);
    for (int k = 0; k < COUNT(both_ways); k++) {
        FREED(experiment) t = experiment_on(mat, NULL, SPMV_F64, both_ways[k][0], both_ways[k][1]);
        FREED(spmv_plan) *plan = plan_for(&t);
        const spmv_kernel *shipped = plan->kernel;
        spmv_kernel idle = *shipped;
        problem p = {.plan = plan,
                     .rows = t.rows,
                     .cols = t.cols,
                     .alpha = t.alpha,
                     .beta = t.beta,
                     .x = t.x,
                     .y0 = t.y0};
        FREED(double) *y = random_vector(1, t.rows);
        idle.run = run_planted;
        planted = write_nothing;
        assert_int_equal(problem_open(&p), SPMV_OK);
        assert_int_equal(problem_once(&p, y), SPMV_OK);
        assert_true(passes(&t, y));
        plan->kernel = &idle;
        assert_int_equal(problem_once(&p, y), SPMV_OK);
        assert_false(passes(&t, y));
        plan->kernel = shipped;
        problem_close(&p);
    }
}

/* ---- what must pass ------------------------------------------------------------------------- */

static const struct honest {
    const char *name;
    product planted;
    bool only_f32;
} honest[] = {
    {"forwards", right, false},
    {"backwards", sum_backwards, false},
    {"fused", sum_fused, false},
    {"pairwise", sum_pairwise, false},
    {"in 32 lanes", sum_in_lanes, false},
    {"into y", sum_into_y, false},
    {"entry by entry", sum_entries, false},
    {"float", compute_in_float, true},
    {"float, backwards and fused", compute_in_float_backwards, true},
};

static const double scalings[][2] = {{1, 0},    {2, -1},         {0, 1},        {1, 1},
                                     {-0.5, 0}, {1 / 3.0, 1e-3}, {1e10, -1e-10}};

static int try_honest(const char *matrix, spmv_mat *mat, const double *x, int nscalings) {
    int refused = 0;
    for (int precision = 0; precision < 2; precision++)
        for (int k = 0; k < nscalings; k++) {
            FREED(experiment) t =
                experiment_on(mat, x, (spmv_precision)precision, scalings[k][0], scalings[k][1]);
            for (int h = 0; h < COUNT(honest); h++) {
                if (honest[h].only_f32 && precision == SPMV_F64) continue;
                if (check_planted(honest[h].planted, &t, false) == NEVER) continue;
                print_error("%s on %s, %s, alpha %g, beta %g: refused\n", honest[h].name, matrix,
                            precision ? "f32" : "f64", scalings[k][0], scalings[k][1]);
                refused++;
            }
        }
    return refused;
}

TEST(right_kernels_pass) {
    static const char *const matrices[] = {
        "0 x 0",      "7 x 0",          "1 x 1", "every length", "long tail",  "symmetric",
        "duplicates", "skew-symmetric", "tiny",  "pattern",      "cancelling", "explicit zeros"};
    int refused = 0;
    for (int m = 0; m < COUNT(matrices); m++) {
        FREED(spmv_mat) *mat = matrix_named(matrices[m]);
        refused += try_honest(matrices[m], mat, NULL, COUNT(scalings));
    }
    assert_int_equal(refused, 0);
}

/* 1e16 + 1 - 1e16: by the order 0, 1 or 2, and each is right. */
TEST(cancellation_passes) {
    FREED(spmv_mat) *mat = matrix_named("cancelling");
    double x[31];
    for (int j = 0; j < 31; j++) x[j] = 1;
    assert_int_equal(try_honest("cancellation", mat, x, COUNT(scalings)), 0);
}

TEST(long_rows_pass) {
    FREED(spmv_mat) *mat = generated("gen:dense:2x1000000");
    FREED(double) *same = random_vector(1, 1000000);
    for (int j = 0; j < 1000000; j++)
        same[j] = fabs(same[j]); /* the error of every addition may have one sign */
    assert_int_equal(try_honest("rows of a million", mat, same, 2), 0);
    assert_int_equal(try_honest("rows of a million, random x", mat, NULL, 2), 0);
}

static spmv_mat *diagonal_of(const double *value, int n) {
    FREED(entries) e = {.rows = n, .cols = n};
    for (int i = 0; i < n; i++) add_entry(&e, i, i, value[i]);
    for (int i = 0; i < n; i++) add_entry(&e, i, (i + 1) % n, value[i]);
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

TEST(subnormals_pass) {
    static const double value[] = {5e-324, 2.3e-308, 1e-45, 1.2e-38, 1e-30};
    static const double x[] = {1e-10, 0.5, 1e-20, 1, 1e-7};
    FREED(spmv_mat) *mat = diagonal_of(value, COUNT(value));
    assert_int_equal(try_honest("subnormals", mat, x, COUNT(scalings)), 0);
}

/* Finite numbers whose product is not: infinity by IEEE. In f64 only, since such a matrix has no
 * f32. */
TEST(overflow_passes) {
    static const double value[] = {1.7e308, -1.7e308, 1e300, 1};
    static const double x[] = {1.5, 1.5, 1e10, 3};
    FREED(spmv_mat) *mat = diagonal_of(value, COUNT(value));
    for (int h = 0; h < COUNT(honest); h++) {
        FREED(experiment) t = experiment_on(mat, x, SPMV_F64, 2, 0);
        if (!honest[h].only_f32 && check_planted(honest[h].planted, &t, false) != NEVER)
            fail_msg("%s", honest[h].name);
    }
}

TEST(infinity_and_nan_are_checked) {
    static const double value[] = {INFINITY, -INFINITY, NAN, 1, 2};
    static const double x[] = {1, 0.5, -1, INFINITY, 4};
    FREED(spmv_mat) *mat = diagonal_of(value, COUNT(value));
    assert_int_equal(try_honest("infinity and NaN", mat, x, 2), 0);
    for (int precision = 0; precision < 2; precision++) {
        FREED(experiment) t = experiment_on(mat, x, (spmv_precision)precision, 1, 0);
        assert_int_equal(check_planted(clamp, &t, false), FIRST);
        assert_int_equal(check_planted(put_minus_infinity, &t, false), FIRST);
    }
}

/* A value near the largest number is finite, and infinity in its place is caught. */
TEST(infinity_for_a_large_value_is_caught) {
    static const double value[] = {1e307, 1e307, 1e307, 1e307};
    FREED(spmv_mat) *mat = diagonal_of(value, COUNT(value));
    FREED(experiment) t = experiment_on(mat, NULL, SPMV_F64, 1, 0);
    assert_int_equal(check_planted(put_infinity, &t, false), FIRST);
    assert_int_equal(check_planted(put_minus_infinity, &t, false), FIRST);
    assert_int_equal(check_planted(right, &t, false), NEVER);
}

/* If partial sums may overflow, infinity and NaN are valid results; a wrong finite result is a
 * fault. */
TEST(finite_results_count_where_sums_overflow) {
    FREED(entries) e = {.rows = 1, .cols = 2};
    static const double x[] = {1, -1};
    add_entry(&e, 0, 0, 1.5e308), add_entry(&e, 0, 1, 1e308);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    oracle o;
    assert_int_equal(oracle_make(mat, SPMV_AS_IS, SPMV_F64, x, 1, &o), SPMV_OK);
    static const struct {
        double y;
        int64_t bad_rows;
    } results[] = {{5e307, 0}, {INFINITY, 0}, {NAN, 0}, {0, 1}, {4.9e307, 1}, {-5e307, 1}};
    for (int k = 0; k < COUNT(results); k++)
        assert_int_equal(oracle_check(&o, SPMV_F64, 1, 0, NULL, &results[k].y).bad_rows,
                         results[k].bad_rows);
    oracle_free(&o);
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
