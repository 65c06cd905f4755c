/* test_api.c: spmv.h as the author of a solver uses it, and every way to use it wrongly. Kernels
 * are looked up by name here as users do it: an alias, a glob, a word mistyped. */
#include "api.h"

/* ---- a solver ------------------------------------------------------------------------------- */

static double inner(int64_t n, const double *a, const double *b) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Conjugate gradients until the residual is 1e-10 of the right side's; returns the steps taken. */
static int solve(const spmv_plan *plan, int64_t n, const double *b, double *x) {
    FREED(double) *r = malloc((size_t)n * sizeof *r), *p = malloc((size_t)n * sizeof *p),
                  *q = malloc((size_t)n * sizeof *q);
    int step = 0;
    assert_true(r && p && q);
    memcpy(r, b, (size_t)n * sizeof *r);
    assert_int_equal(spmv_exec(plan, -1, x, 1, r), SPMV_OK); /* r = b - A x */
    memcpy(p, r, (size_t)n * sizeof *p);
    double rho = inner(n, r, r), enough = 1e-20 * inner(n, b, b);
    for (; rho > enough && step < 10 * n; step++) {
        assert_int_equal(spmv_exec(plan, 1, p, 0, q), SPMV_OK);
        double alpha = rho / inner(n, p, q), before = rho;
        for (int64_t i = 0; i < n; i++) x[i] += alpha * p[i], r[i] -= alpha * q[i];
        rho = inner(n, r, r);
        for (int64_t i = 0; i < n; i++) p[i] = r[i] + rho / before * p[i];
    }
    return step;
}

TEST(a_solver_converges) {
    enum { N = 30 * 20 };
    double x[N], b[N] = {0}, wanted[N];
    FREED(spmv_mat) *A = must_load(ctx, "gen:poisson2d:30x20");
    FREED(spmv_plan) *plan = must_plan(A, NULL);
    for (int i = 0; i < N; i++) wanted[i] = sin(i), x[i] = 0;
    assert_int_equal(spmv_exec(plan, 1, wanted, 0, b), SPMV_OK);
    assert_in_range(solve(plan, N, b, x), 2, 200);
    for (int i = 0; i < N; i++) assert_true(fabs(x[i] - wanted[i]) < 1e-7);
}

/* The memory of the plan, which may be a device's; f32; settings; timing. */
TEST(a_plan_has_its_own_memory) {
    enum { N = 100 };
    float ones[N], y[N];
    void *x_there = NULL, *y_there = NULL;
    double seconds = -1;
    const spmv_setting settings[] = {{"grid_rows", 7}, {"simd", 1}};
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "csr_blocks", .precision = SPMV_F32,
                               .settings = settings, .nsettings = 2);
    for (int i = 0; i < N; i++) ones[i] = 1;
    FREED(spmv_mat) *A = must_load(ctx, "gen:banded:100:3");
    FREED(spmv_plan) *plan = must_plan(A, &opts);
    assert_int_equal(spmv_plan_setting(plan, "grid_rows"), 7);
    assert_int_equal(spmv_plan_setting(plan, "simd"), 1);
    assert_int_equal(spmv_plan_setting(plan, "schedule"), 0);
    assert_int_equal(spmv_plan_setting(plan, "block"), -1);
    assert_int_equal(spmv_plan_setting(plan, "no such"), -1);
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_string_equal(facts.backend, "omp");
    assert_string_equal(facts.kernel, "csr_blocks");
    assert_string_equal(facts.format, "csr");
    assert_int_equal(facts.offset_bits, 32);
    assert_int_equal(spmv_plan_alloc(plan, sizeof ones, &x_there), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, sizeof y, &y_there), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, x_there, ones, sizeof ones), SPMV_OK);
    const spmv_product product = {.plan = plan, .x = x_there, .y = y_there};
    assert_int_equal(spmv_exec_timed(&product, 10, 1, 0, &seconds), SPMV_OK);
    assert_true(seconds > 0 && seconds < 10);
    assert_int_equal(spmv_plan_get(plan, y, y_there, sizeof y), SPMV_OK);
    for (int i = 0; i < N; i++) {
        float sum = 0;
        spmv_csr_view rows = rows_of(A);
        for (int64_t k = rows.row_ptr[i]; k < rows.row_ptr[i + 1]; k++)
            sum += (float)rows.values[k];
        assert_true(fabsf(y[i] - sum) <= 1e-5f * (1 + fabsf(sum)));
    }
    spmv_plan_release(plan, x_there);
    spmv_plan_release(plan, y_there);
}

TEST(nothing_may_be_freed) {
    spmv_plan_free(NULL);
    spmv_mat_free(NULL);
    spmv_ctx_free(NULL);
    assert_string_equal(spmv_ctx_error(NULL), "");
}

/* ---- contexts ------------------------------------------------------------------------------- */

TEST(contexts_check_their_options) {
    static const spmv_ctx_opts wrong[] = {
        {.size = sizeof *wrong, .backend = "opencl"}, {.size = sizeof *wrong, .backend = "om"},
        {.size = sizeof *wrong, .backend = ""},       {.size = sizeof *wrong, .threads = -1},
        {.size = sizeof *wrong, .device = -1},
    };
    for (int k = 0; k < COUNT(wrong); k++) {
        spmv_ctx *out = ctx;
        assert_int_equal(spmv_ctx_create(&wrong[k], &out), SPMV_E_ARG);
        assert_null(out);
    }
    spmv_ctx *out = NULL;
    assert_int_equal(spmv_ctx_create(NULL, &out), SPMV_OK);
    assert_true(spmv_ctx_threads(out) >= 1);
    assert_string_equal(spmv_ctx_error(out), "");
    spmv_ctx_free(out);
    assert_int_equal(spmv_ctx_threads(ctx), 2);
}

TEST(every_status_has_a_text_and_an_exit_code) {
    assert_int_equal(spmv_exit_code(SPMV_OK), 0);
    for (int status = SPMV_E_ARG; status >= SPMV_E_DEVICE; status--) {
        assert_true(strlen(spmv_strerror((spmv_status)status)) > 3);
        assert_string_not_equal(spmv_strerror((spmv_status)status), "unknown status");
        assert_in_range(spmv_exit_code((spmv_status)status), 1, 125);
    }
    assert_string_equal(spmv_version(), SPMV_VERSION);
}

/* ---- plans ---------------------------------------------------------------------------------- */

TEST(plans_check_their_options) {
    static const spmv_setting unknown = {"blocks", 1}, too_small = {"grid_cols", 0},
                              simd = {"simd", 2};
    static const struct {
        spmv_plan_opts opts;
        const char *part;
    } wrong[] = {
        {{.size = sizeof(spmv_plan_opts), .kernel = "csr_*"}, "a plan takes one"},
        {{.size = sizeof(spmv_plan_opts), .offset_bits = 16}, "32 or 64"},
        {{.size = sizeof(spmv_plan_opts),
          .kernel = "csr_tiles",
          .settings = &unknown,
          .nsettings = 1},
         "blocks"},
        {{.size = sizeof(spmv_plan_opts),
          .kernel = "csr_tiles",
          .settings = &too_small,
          .nsettings = 1},
         "1 to 4096"},
        {{.size = sizeof(spmv_plan_opts),
          .kernel = "csr_rows",
          .settings = &too_small,
          .nsettings = 1},
         "grid_cols"},
        {{.size = sizeof(spmv_plan_opts), .kernel = "csr_rows", .settings = &simd, .nsettings = 1},
         "0 to 1"},
    };
    FREED(spmv_mat) *A = must_load(ctx, "gen:diagonal:50");
    for (int k = 0; k < COUNT(wrong); k++) {
        spmv_plan *plan = (spmv_plan *)&wrong;
        spmv_status status = spmv_plan_create(A, &wrong[k].opts, &plan);
        assert_failed(status, SPMV_E_ARG, plan, wrong[k].part);
    }
}

TEST(plans_may_run_at_once) {
    enum { N = 2000, PLANS = 4, TIMES = 20 };
    spmv_plan *plan[PLANS] = {NULL};
    FREED(double) *x = malloc(N * sizeof *x), *y = malloc(PLANS * N * sizeof *y);
    int failures = 0;
    assert_true(x && y);
    for (int i = 0; i < N; i++) x[i] = cos(i);
    FREED(spmv_mat) *A = must_load(ctx, "gen:random:2000:6");
    for (int p = 0; p < PLANS; p++) {
        static const char *const kernels[PLANS] = {"csr_rows", "csr_tiles", "csr_serial",
                                                   "ell_tiles"};
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernels[p]};
        assert_int_equal(spmv_plan_create(A, &opts, &plan[p]), SPMV_OK);
    }
#pragma omp parallel for num_threads(PLANS) reduction(+ : failures)
    for (int p = 0; p < PLANS; p++)
        for (int n = 0; n < TIMES; n++)
            failures += spmv_exec(plan[p], 1, x, 0, y + p * N) != SPMV_OK;
    assert_int_equal(failures, 0);
    for (int p = 1; p < PLANS; p++)
        for (int i = 0; i < N; i++) assert_true(fabs(y[p * N + i] - y[i]) < 1e-12);
    for (int p = 0; p < PLANS; p++) spmv_plan_free(plan[p]);
}

/* The OpenMP schedule belongs to the caller: no product changes it, with any schedule of the
 * plan. */
TEST(the_schedule_stays_the_callers) {
    double x[100], y[100];
    for (int j = 0; j < 100; j++) x[j] = 1;
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:10");
    omp_set_schedule(omp_sched_guided, 7);
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        if (!spmv_param_of(spmv_omp.kernels[k][0], SPMV_schedule)) continue;
        spmv_setting dynamic = {"schedule", 2};
        spmv_plan_opts opts = {
            .size = sizeof opts, .kernel = spmv_omp.names[k], .settings = &dynamic, .nsettings = 1};
        omp_sched_t kind;
        int chunk;
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
        omp_get_schedule(&kind, &chunk);
        assert_int_equal(kind, omp_sched_guided);
        assert_int_equal(chunk, 7);
    }
}

TEST(options_without_a_size_are_refused) {
    spmv_ctx *other = NULL;
    FREED(spmv_mat) *mat = NULL;
    spmv_plan *plan = NULL;
    assert_int_equal(spmv_ctx_create(&(spmv_ctx_opts){.threads = 1}, &other), SPMV_E_ARG);
    spmv_status status = spmv_mat_load(ctx, "gen:diagonal:3", &(spmv_load_opts){.seed = 2}, &mat);
    assert_failed(status, SPMV_E_ARG, mat, "size");
    assert_int_equal(spmv_mat_load(ctx, "gen:diagonal:3", NULL, &mat), SPMV_OK);
    status = spmv_plan_create(mat, &(spmv_plan_opts){.kernel = "csr_rows"}, &plan);
    assert_failed(status, SPMV_E_ARG, plan, "size");
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
