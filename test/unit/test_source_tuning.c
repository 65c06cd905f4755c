/* test_source_tuning.c: on a GPU, what "auto" makes of compressed rows that lie in its memory. */
#include "arrays_there.h"
#include "spmv_clock.h"
#include "tune/tune.h"

TEST(choosing_leaves_them_there) {
    static const int64_t calls[] = {0, 1, 30, 100};
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(subject) s = random_subject(mat_of(ctx, "gen:poisson2d:60"), "grid");
    lent_arrays t;
    spmv_csr_view A = rows_of(s.mat);
    for (int k = 0; k < COUNT(calls); k++) {
        spmv_arrays arrays = send(&A, 32, 0, SPMV_F64, SPMV_BORROW, &t);
        spmv_mat *mat = create(ctx, &arrays);
        const spmv_plan_opts opts = {.expected_calls = calls[k]};
        spmv_plan *plan = plan_with(mat, &opts, "cuda:auto");
        assert_null(mat->csr.row_ptr);
        assert_multiplies(plan, &s);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        lent_free(&t);
    }
}

/* For few products the least predicted total wins; for an unknown number, only candidates ready
 * within 10 products; for many products candidates are timed. */
TEST(few_products_are_not_timed) {
    static const struct {
        int64_t calls;
        double baseline_s;
        const char *kernel;
    } cases[] = {
        {10, 1e-5, "csr_warp"},           {30, 1e-5, "csr_warp"}, {100, 1e-5, "sell_thread_ahead"},
        {600, 1e-3, "sell_thread_ahead"}, {700, 1e-6, NULL},      {0, 1e-5, "csr_warp"}};
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(spmv_mat) *mat = mat_of(ctx, "gen:mesh:3000");
    for (int k = 0; k < COUNT(cases); k++) {
        const spmv_plan_opts opts = {.size = sizeof opts, .expected_calls = cases[k].calls};
        spmv_proposals all = {.n = 0, .baseline_s = cases[k].baseline_s};
        FREED(spmv_plan) *plan = NULL;
        spmv_propose_kernel(&all, "sell_thread_ahead", 20, 2, "planted");
        spmv_propose_kernel(&all, "csr_warp", 0, 1.2, "planted");
        spmv_propose_kernel(&all, "csr_lanes", 0, 0, "baseline");
        assert_int_equal(spmv_auto_select(mat, &opts, &spmv_cuda, &all, spmv_now(), &plan),
                         SPMV_OK);
        spmv_plan_facts facts = plan_facts_of(plan);
        if (cases[k].kernel) assert_string_equal(facts.kernel, cases[k].kernel);
        if ((facts.timed == 0) != (cases[k].kernel != NULL))
            fail_msg("case %d: %d timed: %s", k, facts.timed, facts.reason);
    }
}

/* Features are those of the same rows in host memory, to the last bit. */
TEST(features_are_the_hosts) {
    static const char *const names[] = {"gen:mesh:3000", "gen:giantrow:3000", "gen:poisson2d:200",
                                        "gen:rmat:12:8", "gen:poisson3d:3"};
    FREED(spmv_ctx) *ctx = gpu_context();
    for (int n = 0; n < COUNT(names); n++)
        for (int k = 0; k < 32; k += 5) {
            const way w = way_of(k);
            spmv_mat *here = mat_of(ctx, names[n]);
            lent_arrays t;
            spmv_csr_view A = rows_of(here);
            spmv_arrays arrays = send(&A, w.bits, w.base, w.precision, w.flags, &t);
            spmv_mat *mat = create(ctx, &arrays);
            for (int depth = SPMV_SAMPLE_NONE; depth <= SPMV_SAMPLE_FULL; depth++) {
                spmv_features f, g;
                memset(&f, 0, sizeof f);
                memset(&g, 0, sizeof g);
                assert_int_equal(spmv_features_of(here, SPMV_F64, (spmv_sampling_depth)depth,
                                                  SPMV_FOR_BOTH, 2, &f),
                                 SPMV_OK);
                assert_int_equal(spmv_features_of(mat, SPMV_F64, (spmv_sampling_depth)depth,
                                                  SPMV_FOR_BOTH, 2, &g),
                                 SPMV_OK);
                g.cv = fabs(g.cv - f.cv) < 1e-12 ? f.cv : g.cv; /* is rounded once, not often */
                if (memcmp(&f, &g, sizeof f) != 0) fail_msg("%s, depth %d", names[n], depth);
            }
            assert_null(mat->csr.row_ptr);
            spmv_mat_free(mat);
            spmv_mat_free(here);
            lent_free(&t);
        }
}

TEST_MAIN(take_backend, NULL, NULL)
