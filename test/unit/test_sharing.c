/* test_sharing.c: one plan in many threads, and bits that depend neither on how many threads a
 * product has nor on the run. */
#include "plan/plan.h"
#include "testing.h"
#include <pthread.h>
#include <sched.h>

enum { CALLERS = 8, PRODUCTS = 30, FEW = 8, SEVERAL = 8 };

/* A symmetric grid of few values, one with a giant row, rows of any length. */
static const char *const sources[] = {"gen:poisson2d:50", "gen:giantrow:900", "gen:rmat:10"};
/* What "auto" may take. */
static const char *const kernels[] = {
    "csr_serial", "csr_rows",  "csr_balanced", "sell16_lanes",           "csell_slices",
    "spc5_rows",  "bsr_lanes", "sss_rows",     "csb_interleaved_blocks", "csell_sym_slices"};

typedef struct shape { /* dimensions of a product */
    int64_t k;
    spmv_layout layout;
} shape;
static const shape shapes[] = {{1, SPMV_COLUMNS}, {SEVERAL, SPMV_COLUMNS}, {SEVERAL, SPMV_ROWS}};

static spmv_mat *load(spmv_ctx *ctx, const char *source) {
    spmv_mat *mat = NULL;
    if (spmv_mat_load(ctx, source, NULL, &mat) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return mat;
}

/* NULL: the kernel is not for this matrix, or not with these options. */
static spmv_plan *plan_with(spmv_mat *mat, spmv_plan_opts opts) {
    spmv_plan *plan = NULL;
    opts.size = sizeof opts;
    const spmv_status status = spmv_plan_create(mat, &opts, &plan);
    assert_true(status == SPMV_OK || status == SPMV_E_UNSUITABLE);
    return plan;
}

static double *multiply(const spmv_plan *plan, const shape *s, const double *x) {
    const size_t n = (size_t)(plan->rows * s->k);
    double *y = malloc(n * sizeof *y);
    const spmv_call call = {.size = sizeof call, .x = x, .z = y, .k = s->k, .layout = s->layout};
    assert_non_null(y);
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    return y;
}

static double *random_x(int64_t n) {
    uint64_t seed = 54;
    double *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (int64_t j = 0; j < n; j++) x[j] = (double)(int64_t)draw(&seed) * 0x1p-63;
    return x;
}

/* ---- one plan in many threads ---------------------------------------------------------------- */

typedef struct job {
    const spmv_plan *plan;
    const shape *s;
    const double *x, *wanted;
    int wrong;
} job;

static void *keep_multiplying(void *arg) {
    job *j = arg;
    for (int n = 0; n < (are_few() ? FEW : PRODUCTS); n++) {
        FREED(double) *y = multiply(j->plan, j->s, j->x);
        j->wrong += memcmp(y, j->wanted, (size_t)(j->plan->rows * j->s->k) * sizeof *y) != 0;
    }
    return NULL;
}

static void share(const spmv_plan *plan, const shape *s) {
    FREED(double) *x = random_x(plan->cols * s->k), *wanted = multiply(plan, s, x);
    job jobs[CALLERS];
    pthread_t thread[CALLERS];
    for (int t = 0; t < CALLERS; t++) {
        jobs[t] = (job){.plan = plan, .s = s, .x = x, .wanted = wanted};
        assert_int_equal(pthread_create(&thread[t], NULL, keep_multiplying, &jobs[t]), 0);
    }
    for (int t = 0; t < CALLERS; t++) {
        pthread_join(thread[t], NULL);
        if (jobs[t].wrong) fail_msg("%s: %d wrong", plan->kernel->name, jobs[t].wrong);
    }
}

TEST(eight_threads_share_a_plan) {
    FREED(spmv_ctx) *ctx = context_of(2);
    int plans = 0;
    for (int m = 0; m < COUNT(sources); m++) {
        FREED(spmv_mat) *mat = load(ctx, sources[m]);
        for (int k = 0; k < COUNT(kernels); k++)
            for (int s = 0; s < COUNT(shapes); s++)
                for (int concurrent = 0; concurrent < 2; concurrent++) {
                    FREED(spmv_plan) *plan =
                        plan_with(mat, (spmv_plan_opts){.kernel = kernels[k],
                                                        .vectors = shapes[s].k,
                                                        .layout = shapes[s].layout,
                                                        .concurrent = concurrent});
                    if (plan) share(plan, &shapes[s]);
                    plans += plan != NULL;
                }
    }
    assert_true(plans >= 6 * (3 * COUNT(kernels) - 4));
}

/* A kernel with structures for one product at a time cannot be concurrent: its plan is refused. */
TEST(a_concurrent_plan_waits_for_nobody) {
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = load(ctx, sources[0]);
    static const char *const turns[] = {"csr_tiles", "coo_segments", "csr5_tiles", "ell_tiles"};
    for (int k = 0; k < COUNT(turns); k++) {
        spmv_plan *plan = plan_with(mat, (spmv_plan_opts){.kernel = turns[k], .concurrent = 1});
        assert_null(plan);
        assert_non_null(strstr(spmv_ctx_error(ctx), turns[k]));
        assert_non_null(strstr(spmv_ctx_error(ctx), "concurrent"));
    }
    for (int k = 0; k < COUNT(kernels); k++) {
        FREED(spmv_plan) *plan =
            plan_with(mat, (spmv_plan_opts){.kernel = kernels[k], .concurrent = 1});
        if (!plan) fail_msg("%s", spmv_ctx_error(ctx));
        assert_true(plan->slots == 0 || plan->slots == SPMV_SLOTS);
    }
}

/* ---- the same bits --------------------------------------------------------------------------- */

static void compare_threads(const char *source, const char *kernel, spmv_op op, const shape *s) {
    static const int threads[] = {1, 2, 3, 8};
    double *first = NULL;
    const char *chosen = NULL;
    for (int t = 0; t < COUNT(threads); t++) {
        FREED(spmv_ctx) *ctx = context_of(threads[t]);
        FREED(spmv_mat) *mat = load(ctx, source);
        FREED(spmv_plan) *plan = plan_with(mat, (spmv_plan_opts){.kernel = kernel,
                                                                 .op = op,
                                                                 .vectors = s->k,
                                                                 .layout = s->layout,
                                                                 .expected_calls = 1000,
                                                                 .reproducible = 1});
        if (plan) {
            double *x = random_x(plan->cols * s->k), *y = multiply(plan, s, x);
            const size_t bytes = (size_t)(plan->rows * s->k) * sizeof *y;
            if (first && memcmp(first, y, bytes) != 0)
                fail_msg("%s: %s with %d threads, op %d, %lld vectors", source, plan->kernel->name,
                         threads[t], op, (long long)s->k);
            if (chosen && chosen != plan->kernel->name)
                fail_msg("%s: %s and %s", source, chosen, plan->kernel->name);
            chosen = plan->kernel->name;
            free(first);
            free(x);
            first = y;
        } else {
            assert_non_null(kernel); /* there is always one to choose */
            assert_null(first);
        }
    }
    free(first);
}

TEST(bits_do_not_depend_on_threads) {
    for (int m = 0; m < COUNT(sources); m++)
        for (int s = 0; s < COUNT(shapes); s++)
            for (int k = -1; k < spmv_omp.nkernels; k++) {
                const char *name = k < 0 ? NULL : spmv_omp.names[k];
                if (k >= 0 && !spmv_repeats(&spmv_omp, spmv_omp.kernels[k][0])) continue;
                compare_threads(sources[m], name, SPMV_AS_IS, &shapes[s]);
                if (k < 0) compare_threads(sources[m], name, SPMV_TRANSPOSE, &shapes[s]);
            }
}

/* Takes large matrices, where the clock would decide. */
TEST(auto_repeats_itself) {
    compare_threads("gen:mesh:60000", "auto", SPMV_AS_IS, &shapes[0]);
    compare_threads("gen:powerlaw:30000", "auto", SPMV_AS_IS, &shapes[1]);
}

TEST(facts_say_what_repeats) {
    static const struct {
        const char *kernel;
        int repeats;
    } said[] = {{"csr_rows", 2}, {"sell16_lanes", 1}, {"csr_balanced", 0}, {"sss_rows", 0}};
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = load(ctx, sources[0]);
    for (int k = 0; k < COUNT(said); k++) {
        spmv_plan *plan = plan_with(mat, (spmv_plan_opts){.kernel = said[k].kernel});
        spmv_plan_facts facts = plan_facts_of(plan);
        assert_int_equal(facts.reproducible, said[k].repeats);
        assert_true(facts.made_s > 0);
        spmv_plan_free(plan);
        plan = plan_with(mat, (spmv_plan_opts){.kernel = said[k].kernel, .reproducible = 1});
        assert_int_equal(plan != NULL, said[k].repeats > 0);
        if (!plan) assert_non_null(strstr(spmv_ctx_error(ctx), "is not reproducible"));
        spmv_plan_free(plan);
    }
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
