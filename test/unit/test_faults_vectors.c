/* test_faults_vectors.c: the check of several vectors is checked, as test_faults.c does it for one:
 * planted wrong kernels must be caught by it as the program applies it, in both layouts, by the
 * matrix and by its transpose; a right one must pass. What only leading dimensions show:
 * test_vectors.c. */
#include "context.h"
#include "measure/sampler.h"
#include "planted_vectors.h"

enum { MOST = 100 };
static const int64_t counts[] = {1, 3, 7, 17, 33, 64, 100};
static const double both_ways[][2] = {{1, 0}, {2, -1}};

typedef struct experiment { /* products of k vectors by op(A) */
    spmv_mat *mat;
    spmv_op op;
    int64_t k, rows, cols; /* dimensions of op(A) */
    spmv_layout layout;
    double alpha, beta;
    double *x, *y0; /* in the layout */
    oracle *reference;
} experiment;

/* From vectors of n numbers, one after the other. */
static double *laid_out(const experiment *t, const double *columns, int64_t n) {
    double *out = malloc((size_t)(t->k * n + 1) * sizeof *out);
    assert_non_null(out);
    for (int64_t j = 0; j < t->k; j++)
        for (int64_t i = 0; i < n; i++)
            out[t->layout == SPMV_ROWS ? i * t->k + j : j * n + i] = columns[j * n + i];
    return out;
}

static experiment experiment_of(spmv_mat *mat, spmv_op op, int64_t k, spmv_layout layout,
                                const double ab[2]) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_mat_stats(mat, &stats);
    const bool turned = op == SPMV_TRANSPOSE;
    experiment t = {.mat = mat,
                    .op = op,
                    .k = k,
                    .layout = layout,
                    .rows = turned ? stats.cols : stats.rows,
                    .cols = turned ? stats.rows : stats.cols,
                    .alpha = ab[0],
                    .beta = ab[1]};
    double *x = random_vector(1, k * t.cols), *y0 = random_vector(2, k * t.rows);
    for (int64_t i = 0; ab[1] == 0 && i < k * t.rows; i++) y0[i] = NAN;
    t.x = laid_out(&t, x, t.cols);
    t.y0 = laid_out(&t, y0, t.rows);
    t.reference = calloc(MOST, sizeof *t.reference);
    assert_non_null(t.reference);
    for (int64_t j = 0; j < k; j++) {
        assert_int_equal(oracle_make(mat, op, SPMV_F64, x + j * t.cols, 1, &t.reference[j]),
                         SPMV_OK);
        t.reference[j].random_x = true;
    }
    free(x);
    free(y0);
    return t;
}

static void experiment_free(experiment *t) {
    for (int64_t j = 0; j < t->k; j++) oracle_free(&t->reference[j]);
    free(t->reference);
    free(t->x);
    free(t->y0);
}

STRUCT_AT_END(experiment, experiment_free)

typedef enum stage { FIRST = 1, LAST, NEVER } stage;

static verdict verdict_on(const experiment *t, const double *y) {
    return oracle_check_all(t->reference, t->k, t->layout, SPMV_F64, t->alpha, t->beta, t->y0, y);
}

/* Does what spmv run does with a kernel. early: the fault is there from the first product on, not
 * only in those that are timed. */
static stage check_planted(const experiment *t, vector_fault fault, bool early) {
    const sampling quick = {.min_samples = 2, .max_noise = 1};
    const spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "omp:csr_serial", .op = t->op,
                                     .vectors = t->k, .layout = t->layout);
    spmv_kernel kernel;
    timing time = {0};
    stage caught = NEVER;
    FREED(double) *y = malloc((size_t)(t->k * t->rows + 1) * sizeof *y);
    assert_non_null(y);
    FREED(spmv_plan) *plan = must_plan(t->mat, &opts);
    problem p = {.plan = plan,
                 .rows = t->rows,
                 .cols = t->cols,
                 .k = t->k,
                 .layout = t->layout,
                 .alpha = t->alpha,
                 .beta = t->beta,
                 .x = t->x,
                 .y0 = t->y0};
    plant_vectors(plan, &kernel, early ? fault : NO_FAULT);
    assert_int_equal(problem_open(&p), SPMV_OK);
    assert_int_equal(problem_once(&p, y), SPMV_OK);
    if (verdict_on(t, y).bad_rows) caught = FIRST;
    planted_fault = fault;
    if (caught == NEVER) {
        assert_int_equal(problem_ready(&p, &quick, &time), SPMV_OK);
        while (!time.done) assert_int_equal(problem_turn(&p, &quick, &time, 0), SPMV_OK);
        assert_int_equal(problem_result(&p, 0, y), SPMV_OK);
        if (verdict_on(t, y).bad_rows) caught = LAST;
        free(time.sample_s);
    }
    problem_close(&p);
    return caught;
}

/* ---- what must be caught -------------------------------------------------------------------- */

static const struct fault {
    const char *name;
    vector_fault fault;
    const char *matrix;
    spmv_op op;
} faults[] = {
    {"one vector wrong beyond 16", WRONG_BEYOND_16, "every length", SPMV_AS_IS},
    {"values taken as 1", VALUES_ARE_ONE, "every length", SPMV_AS_IS},
    {"vector 0 wrong when k changes", FIRST_OF_ANOTHER_K, "every length", SPMV_AS_IS},
    {"z not cleared", ADDS_TO_Z, "every length", SPMV_AS_IS},
    {"the last k mod 8 left", LEAVES_REMAINDER, "every length", SPMV_AS_IS},
    {"two vectors swapped", SWAPS_VECTORS, "every length", SPMV_AS_IS},
    {"the other layout", OTHER_LAYOUT, "every length", SPMV_AS_IS},
    {"duplicates lost", LOSES_DUPLICATES, "duplicates", SPMV_TRANSPOSE},
    {"empty rows lost", LOSES_EMPTY_ROWS, "empty rows", SPMV_AS_IS},
    {"empty rows of the transpose lost", LOSES_EMPTY_ROWS, "empty columns", SPMV_TRANSPOSE},
};

static bool is_there(vector_fault fault, int64_t k, double beta) {
    return !(fault == WRONG_BEYOND_16 && k <= 16) && !(fault == ADDS_TO_Z && beta != 0) &&
           !(fault == LEAVES_REMAINDER && k % 8 == 0) &&
           !((fault == SWAPS_VECTORS || fault == OTHER_LAYOUT) && k == 1);
}

/* Its columns are empty where rows of "empty rows" are. */
static spmv_mat *matrix_named(const char *name) {
    const bool turns = strcmp(name, "empty columns") == 0;
    FREED(entries) e = entries_of(fixture_named(turns ? "empty rows" : name));
    int32_t *row = e.row;
    int64_t rows = e.rows;
    if (turns) e.row = e.col, e.col = row, e.rows = e.cols, e.cols = rows;
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

/* early: as check_planted has it. Returns whether it ended as it must. */
static bool try_fault(const struct fault *f, spmv_mat *mat, int64_t k, spmv_layout layout,
                      const double ab[2], bool early) {
    experiment t = experiment_of(mat, f->op, k, layout, ab);
    const bool is_fault = is_there(f->fault, k, ab[1]);
    const stage expected = !is_fault ? NEVER : early ? FIRST : LAST;
    const stage caught = check_planted(&t, f->fault, early);
    if (caught != expected)
        print_error("%s, k %lld in %s, beta %g: %s\n", f->name, (long long)k,
                    layout == SPMV_ROWS ? "rows" : "columns", ab[1],
                    is_fault ? caught == NEVER ? "let through" : "found by the other check"
                             : "right, but not let through");
    experiment_free(&t);
    return caught == expected;
}

TEST(faults_of_several_vectors_are_caught) {
    int missed = 0;
    for (int f = 0; f < COUNT(faults); f++) {
        FREED(spmv_mat) *mat = matrix_named(faults[f].matrix);
        for (int k = 0; k < COUNT(counts); k++)
            for (int n = 0; n < 4; n++)
                missed += !try_fault(&faults[f], mat, counts[k], n % 2 ? SPMV_ROWS : SPMV_COLUMNS,
                                     both_ways[n / 2], true);
    }
    assert_int_equal(missed, 0);
}

/* The kernel was right in its first check. */
TEST(faults_of_timed_products_are_caught) {
    static const struct fault late = {"late", WRONG_BEYOND_16, "every length", SPMV_AS_IS};
    FREED(spmv_mat) *mat = matrix_named(late.matrix);
    assert_true(try_fault(&late, mat, 17, SPMV_ROWS, both_ways[0], false));
    assert_true(try_fault(&late, mat, 33, SPMV_COLUMNS, both_ways[1], false));
}

TEST(more_blocks_than_a_grid_has_are_caught) {
    static const struct fault blocks = {"more than 65,535 blocks", LEAVES_LAST_BLOCKS, "",
                                        SPMV_AS_IS};
    FREED(spmv_mat) *mat = must_load(ctx, "gen:random:65536:2");
    assert_true(try_fault(&blocks, mat, 3, SPMV_ROWS, both_ways[0], true));
    assert_true(try_fault(&blocks, mat, 3, SPMV_COLUMNS, both_ways[1], true));
}

/* ---- what must pass, and what is said ------------------------------------------------------- */

TEST(right_products_pass) {
    static const char *const names[] = {"every length", "duplicates", "skew-symmetric", "symmetric",
                                        "empty rows",   "7 x 0",      "0 x 7"};
    for (int f = 0; f < COUNT(names); f++) {
        FREED(spmv_mat) *mat = matrix_named(names[f]);
        for (int k = 0; k < COUNT(counts); k++)
            for (int n = 0; n < 8; n++) {
                FREED(experiment) t =
                    experiment_of(mat, n / 4 ? SPMV_TRANSPOSE : SPMV_AS_IS, counts[k],
                                  n % 2 ? SPMV_ROWS : SPMV_COLUMNS, both_ways[n / 2 % 2]);
                assert_int_equal(check_planted(&t, NO_FAULT, true), NEVER);
            }
    }
}

/* The message names the first wrong element of the first vector with one; all wrong elements are
 * counted. */
TEST(wrong_numbers_are_named) {
    enum { K = 5 };
    FREED(spmv_mat) *mat = matrix_named("every length");
    for (int n = 0; n < 2; n++) {
        FREED(experiment) t =
            experiment_of(mat, SPMV_AS_IS, K, n ? SPMV_ROWS : SPMV_COLUMNS, both_ways[0]);
        FREED(double) *columns = malloc((size_t)(K * t.rows) * sizeof *columns);
        assert_non_null(columns);
        for (int64_t j = 0; j < K; j++)
            for (int64_t i = 0; i < t.rows; i++)
                columns[j * t.rows + i] = (double)t.reference[j].sum[i];
        for (int wrong = 0; wrong < 4; wrong++) {
            static const int64_t at[][2] = {{4, 2}, {3, 7}, {3, 5}}; /* vector, row */
            double *y = laid_out(&t, columns, t.rows);
            const verdict v = verdict_on(&t, y);
            free(y);
            assert_int_equal(v.bad_rows, wrong);
            assert_int_equal(v.first_bad_row, wrong ? at[wrong - 1][1] : -1);
            if (wrong) assert_int_equal(v.first_bad_vector, at[wrong - 1][0]);
            assert_true(wrong ? v.max_ratio > 1 && v.got == v.expected + 1 : v.max_ratio <= 1);
            if (wrong < 3) columns[at[wrong][0] * t.rows + at[wrong][1]] += 1;
        }
    }
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
