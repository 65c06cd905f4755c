/* test_auto.c: the kernel name "auto": what it makes of proposals that are slow, impossible or
 * forbidden, and what it says of its choice. That its products are right is test_kernels.c's. */
#include "context.h"
#include "spmv_clock.h"
#include "matrix/stores/stored.h"

/* ---- trials of planted proposals ------------------------------------------------------------ */

static spmv_plan *choose(spmv_mat *mat, spmv_proposals *all, spmv_plan_opts opts) {
    spmv_plan *plan = NULL;
    opts.size = sizeof opts;
    assert_int_equal(spmv_auto_select(mat, &opts, &spmv_omp, all, spmv_now(), &plan), SPMV_OK);
    return plan;
}

static void assert_chosen(const spmv_plan *plan, const char *kernel, const char *part) {
    spmv_plan_facts f = plan_facts_of(plan);
    if (strcmp(f.kernel, kernel) != 0 || !strstr(f.reason, part))
        fail_msg("chosen %s, expected %s: %s (expected %s)", f.kernel, kernel, f.reason, part);
}

/* A tiling into a thousand column blocks is slow beyond doubt, and cheap enough for any budget. */
static spmv_proposal *propose_slow(spmv_proposals *all, double predicted_speedup) {
    spmv_proposal *slow = spmv_propose_kernel(all, "csr_tiles", .5, predicted_speedup, "planted");
    slow->setting[slow->nsettings++] = (spmv_setting){"grid_cols", 1000};
    return slow;
}

static const int64_t many = 1000000000; /* whatever else the machine does, time enough */

TEST(the_baseline_kernel_beats_a_slow_proposal) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:40");
    spmv_proposals all = {.n = 0};
    propose_slow(&all, 100);
    spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
    FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = many});
    assert_chosen(plan, "csr_rows", "csr_tiles (planted) was ");
    spmv_plan_facts f = plan_facts_of(plan);
    assert_string_equal(f.baseline, "csr_rows");
    assert_true(f.baseline_product_s > 0 && f.baseline_product_s == f.chosen_product_s);
    assert_true(f.tune_s > f.baseline_product_s);
}

TEST(a_fast_proposal_beats_the_baseline_kernel) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:40");
    spmv_proposals all = {.n = 0};
    propose_slow(&all, 0);
    spmv_propose_kernel(&all, "csr_rows", 1, 2, "planted well");
    FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = many});
    assert_chosen(plan, "csr_rows", "csr_rows: planted well; ");
    assert_chosen(plan, "csr_rows", " times as fast as csr_tiles in the trials");
    spmv_plan_facts f = plan_facts_of(plan);
    assert_true(f.chosen_product_s < f.baseline_product_s);
}

/* With few products, or an unknown number, the prediction decides; a kernel that cannot be faster
 * even with the model's error is never timed. */
TEST(expected_products_decide_whether_kernels_are_timed) {
    static const int64_t calls[] = {1, 20, 0, 250, 300};
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:400");
    for (int k = 0; k < COUNT(calls); k++) {
        const bool is_timed = calls[k] > 250;
        spmv_proposals all = {.n = 0};
        spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
        spmv_propose_kernel(&all, "csr_blocks", 0, 1.08, "second");
        spmv_propose_kernel(&all, "csr_balanced", 0, 1.2, "first");
        spmv_propose_kernel(&all, "csr_serial", 0, 1.05, "third");
        spmv_propose_kernel(&all, "coo_segments", 0, 0.3, "hopeless");
        FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = calls[k]});
        spmv_plan_facts f = plan_facts_of(plan);
        if (is_timed ? f.timed < 2 || f.timed > 4 || strstr(f.reason, "coo_segments")
                     : f.timed > 0 || !strstr(f.reason, "csr_balanced: first"))
            fail_msg("%lld products: %d timed: %s", (long long)calls[k], f.timed, f.reason);
    }
}

/* If the number of products is unknown, the set-up takes at most ten products, sampling
 * included. */
TEST(an_unknown_number_pays_for_a_short_set_up) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:1000");
    for (int k = 0; k < 2; k++) {
        spmv_proposals all = {.n = 0};
        spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
        spmv_propose_kernel(&all, "coo_segments", k == 0 ? 10 : 2, 3, "converted");
        FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.kernel = NULL});
        assert_chosen(plan, k == 0 ? "csr_rows" : "coo_segments",
                      "only what is ready within 10 was");
    }
}

/* A set-up must cost less than all products could save, compared with the best so far: 1,200 of
 * 1,000 products never does, 5 do even if a burst makes the best ten times as fast. */
TEST(what_could_not_pay_is_not_tried) {
    static const struct {
        double setup;
        int timed;
    } cases[] = {{1200, 2}, {5, 3}};
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:1000");
    for (int k = 0; k < COUNT(cases); k++) {
        spmv_proposals all = {.n = 0};
        spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
        spmv_propose_kernel(&all, "csr_balanced", 0, 20, "best");
        spmv_propose_kernel(&all, "coo_segments", cases[k].setup, 10, "converted");
        FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = 1000});
        spmv_plan_facts f = plan_facts_of(plan);
        if (f.timed != cases[k].timed) fail_msg("%d timed: %s", f.timed, f.reason);
    }
}

/* A model that counts seconds may be wrong about the baseline kernel: its product is timed, and the
 * set-up takes the seconds that it takes. */
TEST(a_set_up_is_paid_in_seconds) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:1500");
    for (int k = 0; k < 2; k++) {
        const double fast_s = 1e-9, slow_s = 1e9;
        spmv_proposals all = {.n = 0, .baseline_s = k == 0 ? fast_s : slow_s};
        spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
        spmv_propose_kernel(&all, "coo_segments", k == 0 ? 1000 : .1, 2, "planted");
        FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = 1000});
        spmv_plan_facts f = plan_facts_of(plan);
        bool is_refused = strstr(f.reason, "passed over coo_segments: its set-up would not pay");
        if (is_refused != (k == 1)) fail_msg("case %d: %s", k, f.reason);
    }
}

/* Sampling the matrix and the baseline kernel's own preparation and product are paid from it,
 * too. */
TEST(a_budget_is_not_overdrawn) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:1500");
    for (int64_t calls = 300; calls <= 1000; calls += 700) { /* 45 products, 150 */
        spmv_proposals all = {.n = 0};
        spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
        spmv_propose_kernel(&all, "coo_segments", calls > 300 ? 149.5 : 44.5, 2, "dear");
        spmv_plan *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = calls});
        assert_chosen(plan, "csr_rows", "passed over coo_segments: no time was left to try it");
        spmv_plan_free(plan);
    }
}

/* Says how many are timed where much time was spent before. */
static void assert_timed_late(spmv_proposals *all, int timed) {
    const double late_s = 100;
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:40");
    spmv_plan_opts opts = {.size = sizeof opts, .expected_calls = 1000};
    FREED(spmv_plan) *plan = NULL;
    assert_int_equal(spmv_auto_select(mat, &opts, &spmv_omp, all, spmv_now() - late_s, &plan),
                     SPMV_OK);
    spmv_plan_facts f = plan_facts_of(plan);
    if (f.timed != timed) fail_msg("%d timed: %s", f.timed, f.reason);
}

/* Time spent before the trials, for example on starting threads, excludes neither a first candidate
 * that needs little of the budget nor one without set-up. */
TEST(a_late_start_leaves_cheap_candidates) {
    spmv_proposals all = {.n = 0};
    spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
    spmv_propose_kernel(&all, "csr_blocks", 1, 100, "first");
    spmv_propose_kernel(&all, "ell_rows", 3, 90, "second");
    spmv_propose_kernel(&all, "csr_serial", 0, 80, "without a set-up");
    assert_timed_late(&all, 3);
}

/* Timing decides between the two kernels with the best predictions, after any expense. */
TEST(the_two_best_are_both_tried) {
    spmv_proposals all = {.n = 0};
    spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
    spmv_propose_kernel(&all, "csr_blocks", 20, 100, "first");
    spmv_propose_kernel(&all, "ell_rows", 30, 90, "second");
    spmv_propose_kernel(&all, "sell_slices", 40, 80, "third");
    assert_timed_late(&all, 3);
}

/* A product of many empty rows takes long, even with few nonzeros. */
TEST(empty_rows_take_time) {
    FREED(entries) e = {.rows = 1000000, .cols = 3};
    for (int k = 0; k < 3; k++) add_entry(&e, k * (e.rows / 3), k, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "auto", .expected_calls = 1000};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    spmv_plan_facts f = plan_facts_of(plan);
    if (!f.baseline) fail_msg("nothing was timed: %s", f.reason);
}

/* On a CPU auto times nothing without a sample, which may take 0.4 of the budget, 150 products:
 * products of 2.5 us and longer, half a nanosecond per nonzero and row, pay for a quick sample. */
TEST(long_products_pay_for_a_sample) {
    for (int pays = 0; pays < 2; pays++) {
        FREED(spmv_mat) *mat = must_load(ctx, pays ? "gen:diagonal:3500" : "gen:diagonal:2000");
        spmv_plan_opts opts = {
            .size = sizeof opts, .kernel = "omp:auto", .threads = 1, .expected_calls = 1000};
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        spmv_plan_facts f = plan_facts_of(plan);
        if ((f.baseline != NULL) != pays) fail_msg("%d: %s", pays, f.reason);
    }
}

TEST(what_cannot_be_had_is_passed_over) {
    FREED(entries) e = entries_of(fixture_named("giant row"));
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_proposals all = {.n = 0};
    spmv_propose_kernel(&all, "no_such_kernel", 0, 4, "planted");
    spmv_propose_kernel(&all, "ell_rows", 0, 3, "planted"); /* 3 rows of the longest's length */
    spmv_proposal *odd = spmv_propose_kernel(&all, "csr_tiles", 0, 2, "planted");
    odd->setting[odd->nsettings++] = (spmv_setting){"grid_cols", -5};
    spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
    FREED(spmv_plan) *plan = choose(
        mat, &all, (spmv_plan_opts){.max_bytes = 600000, .expected_calls = many, .threads = 3});
    assert_chosen(plan, "csr_rows", "csr_rows: baseline; passed over ell_rows: ell_rows needs ");
    assert_chosen(plan, "csr_rows", "passed over csr_tiles: ");
}

/* If the baseline kernel does not fit, auto chooses another that fits; if none fits, the baseline
 * kernel's error is returned. */
TEST(without_the_baseline_kernel_another_serves) {
    FREED(entries) e = entries_of(fixture_named("giant row"));
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_proposals all = {.n = 0};
    spmv_plan *plan = (spmv_plan *)&all;
    spmv_propose_kernel(&all, "ell_rows", 0, 0, "does not fit");
    spmv_propose_kernel(&all, "csr_rows", 0, 2, "fits");
    spmv_plan_opts opts = {.size = sizeof opts, .max_bytes = 600000, .expected_calls = many};
    plan = choose(mat, &all, opts);
    assert_chosen(plan, "csr_rows", "csr_rows: fits; ");
    assert_chosen(plan, "csr_rows", "; passed over ell_rows: ");
    spmv_plan_free(plan);
    spmv_mat_drop_stores(mat);
    opts.max_bytes = 10;
    assert_int_equal(spmv_auto_select(mat, &opts, &spmv_omp, &all, spmv_now(), &plan),
                     SPMV_E_TOOBIG);
    assert_null(plan);
    assert_null(mat->stores);
    assert_non_null(strstr(spmv_ctx_error(ctx), "ell_rows needs "));
}

/* No padding is multiplied: x may hold infinity. */
TEST(padding_is_passed_over) {
    FREED(entries) e = entries_of(fixture_named("every length"));
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_proposals all = {.n = 0};
    spmv_proposal *padded = spmv_propose_kernel(&all, "ell_rows", 0, 3, "planted");
    padded->setting[padded->nsettings++] = (spmv_setting){"rowlens", 0};
    spmv_propose_kernel(&all, "csr_rows", 0, 0, "baseline");
    FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = many});
    assert_chosen(plan, "csr_rows", "passed over ell_rows: it pads");
}

/* A backend like omp, whose csr_rows is not deterministic. */
TEST(what_does_not_repeat_is_asked_for) {
    spmv_kernel unsteady = *spmv_omp.kernels[0][0];
    const spmv_kernel *kernels[64][SPMV_NVARIANTS];
    spmv_backend other = spmv_omp;
    assert_true(spmv_omp.nkernels <= COUNT(kernels));
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        memcpy(kernels[k], spmv_omp.kernels[k], sizeof kernels[k]);
        if (strcmp(spmv_omp.names[k], "csr_rows") != 0) continue;
        unsteady = *spmv_omp.kernels[k][0];
        unsteady.traits &= ~(unsigned)SPMV_DETERMINISTIC;
        kernels[k][0] = &unsteady;
    }
    other.kernels = (const spmv_kernel *const(*)[SPMV_NVARIANTS])kernels;
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:40");
    for (int allowed = 0; allowed < 2; allowed++) {
        spmv_proposals all = {.n = 0};
        FREED(spmv_plan) *plan = NULL;
        /* For one product predictions decide, not a clock. */
        spmv_plan_opts opts = {
            .size = sizeof opts, .nondeterministic = allowed, .expected_calls = 1};
        spmv_propose_kernel(&all, "csr_rows", 0, 5, "fast");
        propose_slow(&all, 0);
        assert_int_equal(spmv_auto_select(mat, &opts, &other, &all, spmv_now(), &plan), SPMV_OK);
        assert_chosen(plan, allowed ? "csr_rows" : "csr_tiles", "");
    }
}

static int count_stores(const spmv_mat *mat) {
    int n = 0;
    for (const spmv_stored *s = mat->stores; s; s = s->next) n++;
    return n;
}

/* Stores of losing candidates are freed; stores that existed before, or are in use, are not. */
TEST(losers_leave_no_store) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:60");
    double x[3600] = {1}, y[3600];
    spmv_proposals all = {.n = 0};
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "coo_segments"};
    FREED(spmv_plan) *mine = must_plan(mat, &opts);
    spmv_propose_kernel(&all, "ell_rows", 0, 3, "planted");
    spmv_propose_kernel(&all, "coo_segments", 0, 2, "planted");
    spmv_propose_kernel(&all, "csr_rows", 0, 0, "planted");
    FREED(spmv_plan) *plan = choose(mat, &all, (spmv_plan_opts){.expected_calls = 100000});
    assert_int_equal(count_stores(mat), strcmp(plan->kernel->name, "coo_segments") == 0 ? 1 : 2);
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
    assert_int_equal(spmv_exec(mine, 1, x, 0, y), SPMV_OK);
}

/* ---- the name ------------------------------------------------------------------------------- */

TEST(the_name_is_found_by_itself_only) {
    spmv_kernel_id id[64];
    int n = 0;
    assert_int_equal(spmv_kernel_find(ctx, "auto", id, 64, &n), SPMV_OK);
    assert_true(n == 1 && id[0].backend == &spmv_omp && id[0].index == SPMV_AUTO);
    assert_int_equal(spmv_kernel_find(ctx, "omp:auto", id, 64, &n), SPMV_OK);
    assert_true(n == 1 && id[0].index == SPMV_AUTO);
    assert_int_equal(spmv_kernel_find(ctx, "all", id, 64, &n), SPMV_OK);
    for (int k = 0; k < n && k < 64; k++) assert_true(id[k].index >= 0);
    assert_int_equal(spmv_kernel_find(ctx, "aut*", id, 64, &n), SPMV_E_ARG);
    assert_int_equal(spmv_kernel_find(ctx, "atuo", id, 64, &n), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "did you mean 'auto'"));
}

/* Trials of all these vectors would exceed the memory. */
TEST(more_vectors_than_fit_are_a_hint_too) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:30");
    spmv_plan_opts opts = {.size = sizeof opts, .vectors = INT64_MAX, .expected_calls = many};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
}

TEST(wrong_options_are_refused) {
    static const spmv_setting setting = {"grid_rows", 2};
    static const struct {
        spmv_plan_opts opts;
        const char *part;
    } wrong[] = {{{.settings = &setting, .nsettings = 1}, "auto takes no parameter 'grid_rows'"},
                 {{.settings = &setting, .nsettings = -1}, "spmv_plan_opts.nsettings is -1, must"},
                 {{.nsettings = 2}, "spmv_plan_opts.settings is NULL, and nsettings 2"},
                 {{.expected_calls = -5}, "spmv_plan_opts.expected_calls is -5, must be 0 or"},
                 {{.offset_bits = 7}, "spmv_plan_opts.offset_bits is 7, must be 0, 32 or 64"},
                 {{.precision = (spmv_precision)7}, "spmv_plan_opts.precision is 7, must be"},
                 {{.cache = (spmv_cache)7}, "spmv_plan_opts.cache is 7, must be"},
                 {{.scalars = (spmv_place)2}, "spmv_plan_opts.scalars is 2, must be"},
                 {{.op = (spmv_op)4}, "spmv_plan_opts.op is 4, must be"},
                 {{.vectors = -1}, "spmv_plan_opts.vectors is -1, must be 0 or more"},
                 {{.layout = (spmv_layout)3}, "spmv_plan_opts.layout is 3, must be"},
                 {{.threads = -1}, "spmv_plan_opts.threads is -1, must be"}};
    static const char *const kernels[] = {"auto", "csr_rows"};
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:10");
    for (int n = 0; n < 2 * COUNT(wrong); n++) {
        const char *part = wrong[n / 2].part;
        spmv_plan_opts opts = wrong[n / 2].opts;
        spmv_plan *plan = (spmv_plan *)&opts;
        opts.size = sizeof opts;
        opts.kernel = kernels[n % 2];
        if (n == 1) part = "csr_rows takes no parameter 'grid_rows'";
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_ARG);
        assert_null(plan);
        if (!strstr(spmv_ctx_error(ctx), part))
            fail_msg("%s: '%s' lacks '%s'", opts.kernel, spmv_ctx_error(ctx), part);
    }
}

/* "auto" need not be named, and chooses the same when it is. */
TEST(a_plan_without_options_is_chosen) {
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:40");
    const spmv_plan_opts by_name = {.size = sizeof by_name, .kernel = "auto"};
    const spmv_plan_opts *const ways[] = {NULL, &(spmv_plan_opts){.size = sizeof by_name},
                                          &by_name};
    char kernel[64];
    for (int k = 0; k < COUNT(ways); k++) {
        spmv_plan_facts f = SPMV_OPTS(spmv_plan_facts);
        FREED(spmv_plan) *plan = must_plan(mat, ways[k]);
        assert_int_equal(spmv_plan_info(plan, &f), SPMV_OK);
        assert_non_null(f.reason);
        assert_int_equal(f.timed, 0);
        if (k == 0) snprintf(kernel, sizeof kernel, "%s", f.kernel);
        assert_string_equal(f.kernel, kernel);
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
