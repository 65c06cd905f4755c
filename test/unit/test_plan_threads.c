/* test_plan_threads.c: plans of fewer threads than their context has. */
#include "api.h"

TEST(a_plan_may_have_fewer_threads) {
    enum { N = 30 * 30 };
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = 5};
    FREED(spmv_ctx) *five = NULL;
    double x[N], y[N];
    for (int j = 0; j < N; j++) x[j] = sin(j);
    assert_int_equal(spmv_ctx_create(&opts, &five), SPMV_OK);
    FREED(spmv_mat) *mat = must_load(five, "gen:poisson2d:30");
    spmv_csr_view rows = rows_of(mat);
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        if (spmv_omp.kernels[k][0]->absent) continue;
        bool serial = spmv_omp.kernels[k][0]->traits & SPMV_SERIAL;
        for (int threads = 0; threads <= 5; threads++) {
            spmv_plan_opts of = {
                .size = sizeof of, .kernel = spmv_omp.names[k], .threads = threads};
            spmv_plan *plan[2] = {NULL};
            spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
            spmv_status status = spmv_plan_create(mat, &of, &plan[0]);
            if (status == SPMV_E_UNSUITABLE) break;
            if (status) fail_msg("%s: %s", of.kernel, spmv_ctx_error(five));
            assert_int_equal(spmv_plan_copy(plan[0], &plan[1]), SPMV_OK);
            for (int c = 1; c >= 0; c--) {
                spmv_plan_info(plan[c], &facts);
                assert_int_equal(facts.threads, serial ? 1 : threads ? threads : 5);
                assert_int_equal(spmv_exec(plan[c], 2, x, 0, y), SPMV_OK);
                for (int i = 0; i < N; i++) {
                    double sum = 0;
                    for (int64_t e = rows.row_ptr[i]; e < rows.row_ptr[i + 1]; e++)
                        sum += 2 * rows.values[e] * x[rows.col_idx[e]];
                    if (fabs(sum - y[i]) > 1e-12) fail_msg("%s, %d threads", of.kernel, threads);
                }
                spmv_plan_free(plan[c]);
            }
        }
    }
    spmv_plan *none = (spmv_plan *)mat;
    spmv_plan_opts more = {.size = sizeof more, .threads = 6};
    assert_names(spmv_plan_create(mat, &more, &none), five, "threads is 6, must be 1 to 5");
    more.threads = -1;
    assert_names(spmv_plan_create(mat, &more, &none), five, "threads is -1");
}

/* The behaviour of auto for a state of the caches does not depend on the number of threads. */
TEST(auto_with_fewer_threads_knows_the_caches) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = 5};
    FREED(spmv_ctx) *five = NULL;
    double flushed[6];
    assert_int_equal(spmv_ctx_create(&opts, &five), SPMV_OK);
    FREED(spmv_mat) *mat = must_load(five, "gen:poisson2d:100");
    for (int threads = 0; threads <= 5; threads++) {
        spmv_plan_opts of = WITH(spmv_plan_opts, .kernel = "auto", .cache = SPMV_COLD,
                                 .expected_calls = 1000000, .threads = threads);
        FREED(spmv_plan) *plan = must_plan(mat, &of);
        spmv_plan_facts facts = plan_facts_of(plan);
        if (threads) assert_int_equal(facts.threads, threads);
        flushed[threads] = (double)facts.flush_bytes; /* a share of what is free, at most */
        if (fabs(flushed[threads] - flushed[0]) > 0.2 * flushed[0])
            fail_msg("%d threads: %g bytes, not %g", threads, flushed[threads], flushed[0]);
    }
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
