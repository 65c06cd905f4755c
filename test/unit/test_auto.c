/* test_auto.c: the kernel name "auto": what it sees in a matrix, what it makes of proposals that
 * are slow, impossible or forbidden, and what it says of its choice. That its products are right is
 * test_kernels.c's. */
#include "context.h"

/* ---- features of matrices whose features are known ------------------------------------------ */

static spmv_features features_of_entries(entries *e, spmv_precision precision) {
    spmv_mat *mat = matrix_of(ctx, e);
    spmv_features f;
    assert_int_equal(spmv_features_of(mat, precision, &f), SPMV_OK);
    spmv_mat_free(mat);
    entries_free(e);
    return f;
}

static spmv_features features_of(const char *source, const char *values) {
    spmv_load_opts opts = {.size = sizeof opts, .values = values};
    spmv_mat *mat = NULL;
    spmv_features f;
    assert_int_equal(spmv_mat_load(ctx, source, &opts, &mat), SPMV_OK);
    assert_int_equal(spmv_features_of(mat, SPMV_F64, &f), SPMV_OK);
    spmv_mat_free(mat);
    return f;
}

#define ASSERT_NEAR(value, expected, within) \
    do { \
        double value_ = (value), expected_ = (expected); \
        if (!(fabs(value_ - expected_) <= (within))) \
            fail_msg(#value " is %g, expected %g", value_, expected_); \
    } while (0)

static void a_tridiagonal_matrix_is_all_diagonals(void **state) {
    (void)state;
    enum { N = 4000 };
    entries e = {.rows = N, .cols = N};
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++)
            add_entry(&e, i, j, i == j ? 2 : -1);
    spmv_features f = features_of_entries(&e, SPMV_F64);
    assert_int_equal(f.nnz, 3 * N - 2);
    ASSERT_NEAR(f.mean, 3, 0.01);
    ASSERT_NEAR(f.cv, 0, 0.02);
    ASSERT_NEAR(f.diagonal, 1, 0);
    ASSERT_NEAR(f.near_8, 1, 0);
    ASSERT_NEAR(f.contiguous, 2. / 3, 0.01);
    ASSERT_NEAR(f.index_bytes, 8. / 32, 0.01); /* a step for 32 entries */
    ASSERT_NEAR(f.value_bytes, 8. / 32, 0.01); /* and one value for it */
    ASSERT_NEAR(f.symmetric, 1, 0);
    ASSERT_NEAR(f.exact_f32, 1, 0);
    ASSERT_NEAR(f.padding_32, 0, 0.01);
    ASSERT_NEAR(f.per_block[0], 3, 0.05);
    assert_int_equal(f.distinct, 2);
    assert_true(f.lines < 0.08);
}

static void dense_blocks_are_seen(void **state) {
    (void)state;
    enum { N = 300, EDGE = 3 };
    entries e = {.rows = N * EDGE, .cols = N * EDGE};
    uint64_t seed = 1;
    for (int64_t b = 0; b < N; b++)
        for (int part = 0; part < 4; part++) {
            int64_t c = spmv_split(N, 4, part) + draw_below(&seed, N / 4);
            for (int r = 0; r < EDGE; r++)
                for (int k = 0; k < EDGE; k++) add_random(&e, b * EDGE + r, c * EDGE + k);
        }
    spmv_features f = features_of_entries(&e, SPMV_F64);
    ASSERT_NEAR(f.mean, 12, 0);
    ASSERT_NEAR(f.fill_3, 1, 0);
    assert_true(f.fill_2 < 0.8);
    assert_true(f.per_block[0] >= 3 && f.per_block[0] < 3.3);
    ASSERT_NEAR(f.contiguous, 2. / 3, 0.02);
    assert_true(f.distinct > SPMV_FEW_VALUES);
    ASSERT_NEAR(f.value_bytes, 8, 0);
    ASSERT_NEAR(f.exact_f32, 0, 0.01);
    ASSERT_NEAR(f.symmetric, 0, 0);
}

static void order_and_disorder_of_columns_are_told_apart(void **state) {
    (void)state;
    spmv_features f = features_of("gen:random:300000:8", NULL);
    assert_true(f.lines > 0.9);
    assert_true(f.diagonal < 0.01 && f.contiguous < 0.01);
    assert_true(f.near_16 > 0.2 && f.near_16 < 0.8);
    assert_true(f.index_bytes > 2);
    spmv_features g = features_of("gen:poisson2d:500", NULL);
    assert_true(g.lines < 0.2);
    assert_true(g.diagonal > 0.99 && g.index_bytes < 0.5);
}

static void values_are_counted(void **state) {
    (void)state;
    ASSERT_NEAR((double)features_of("gen:random:5000:8", "few:7").distinct, 7, 0);
    ASSERT_NEAR(features_of("gen:random:5000:8", "few:7").value_bytes, 1, 0);
    ASSERT_NEAR((double)features_of("gen:random:5000:8", "pattern").distinct, 1, 0);
    ASSERT_NEAR((double)features_of("gen:random:5000:8", "few:5000").distinct, SPMV_FEW_VALUES + 1,
                0);
}

static void uneven_rows_are_seen(void **state) {
    (void)state;
    enum { N = 3000 };
    entries e = {.rows = N, .cols = N};
    for (int64_t i = 0; i < N; i++) add_row(&e, i, i == 7 ? N : i % 2);
    spmv_features f = features_of_entries(&e, SPMV_F64);
    ASSERT_NEAR(f.empty_share, 0.5, 0.001);
    ASSERT_NEAR(f.long_share, 2. / 3, 0.001);
    ASSERT_NEAR(f.padding_32, (double)(31 * N + N / 2 - 15) / (4500. - 1), 0.7);
    assert_int_equal(f.row_max, N);
    assert_true(f.cv > 10);
}

/* Whatever the shape, and the same for any number of threads. */
static void features_are_finite_and_repeat(void **state) {
    (void)state;
    for (int n = 0; n < COUNT(fixtures); n++) {
        entries e = entries_of(&fixtures[n]);
        spmv_features f[2];
        for (int t = 0; t < 2; t++) {
            spmv_ctx *other = context_of(1 + 3 * t);
            spmv_mat *mat = matrix_of(other, &e);
            memset(&f[t], 0, sizeof f[t]);
            assert_int_equal(spmv_features_of(mat, SPMV_F32, &f[t]), SPMV_OK);
            f[t].threads = 0;
            spmv_mat_free(mat);
            spmv_ctx_free(other);
        }
        if (memcmp(&f[0], &f[1], sizeof f[0]) != 0)
            fail_msg("%s: other features with 4 threads", fixtures[n].name);
        const double share[] = {f->mean,       f->cv,          f->empty_share, f->long_share,
                                f->padding_32, f->near_8,      f->near_16,     f->diagonal,
                                f->contiguous, f->fill_2,      f->fill_3,      f->exact_f32,
                                f->symmetric,  f->index_bytes, f->value_bytes, f->lines};
        for (int k = 0; k < COUNT(share); k++)
            if (!(isfinite(share[k]) && share[k] >= 0))
                fail_msg("%s: feature %d is %g", fixtures[n].name, k, share[k]);
        entries_free(&e);
    }
}

/* ---- contests of planted proposals ---------------------------------------------------------- */

static spmv_mat *load(const char *source) {
    spmv_mat *mat = NULL;
    assert_int_equal(spmv_mat_load(ctx, source, NULL, &mat), SPMV_OK);
    return mat;
}

static spmv_plan *contest(spmv_mat *mat, spmv_proposals *all, spmv_plan_opts opts) {
    spmv_plan *plan = NULL;
    opts.size = sizeof opts;
    assert_int_equal(spmv_auto_contest(mat, &opts, &spmv_omp, all, spmv_now(), &plan), SPMV_OK);
    return plan;
}

static void assert_chosen(const spmv_plan *plan, const char *kernel, const char *part) {
    spmv_plan_facts f;
    spmv_plan_info(plan, &f);
    if (strcmp(f.kernel, kernel) != 0 || !strstr(f.reason, part))
        fail_msg("chosen %s, expected %s: %s (expected %s)", f.kernel, kernel, f.reason, part);
}

/* A tiling into a thousand column blocks is slow beyond doubt. */
static spmv_proposal *offer_slow(spmv_proposals *all, double gain) {
    spmv_proposal *slow = spmv_offer(all, "csr_tiles", 1, gain, "planted");
    slow->setting[slow->nsettings++] = (spmv_setting){"grid_cols", 1000};
    return slow;
}

static void the_safe_kernel_beats_a_slow_proposal(void **state) {
    (void)state;
    spmv_mat *mat = load("gen:poisson2d:40");
    for (int64_t calls = 0; calls <= 1000; calls += 1000) {
        spmv_proposals all = {.n = 0};
        offer_slow(&all, 100);
        spmv_offer(&all, "csr_rows", 0, 0, "safe");
        spmv_plan *plan = contest(mat, &all, (spmv_plan_opts){.expected_calls = calls});
        assert_chosen(plan, "csr_rows", "csr_tiles (planted) reached 0.");
        spmv_plan_facts f;
        spmv_plan_info(plan, &f);
        assert_string_equal(f.safe, "csr_rows");
        assert_true(f.safe_product_s > 0 && f.safe_product_s == f.chosen_product_s);
        assert_true(f.tune_s > f.safe_product_s);
        spmv_plan_free(plan);
    }
    spmv_mat_free(mat);
}

static void a_fast_proposal_beats_the_safe_kernel(void **state) {
    (void)state;
    spmv_mat *mat = load("gen:poisson2d:40");
    spmv_proposals all = {.n = 0};
    offer_slow(&all, 0);
    spmv_offer(&all, "csr_rows", 1, 2, "planted well");
    spmv_plan *plan = contest(mat, &all, (spmv_plan_opts){.kernel = NULL});
    assert_chosen(plan, "csr_rows", "csr_rows: planted well; ");
    assert_chosen(plan, "csr_rows", " x csr_tiles in the run-off");
    spmv_plan_facts f;
    spmv_plan_info(plan, &f);
    assert_true(f.chosen_product_s < f.safe_product_s);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

/* More of them are timed the more products follow. */
static void promises_decide_how_many_are_timed(void **state) {
    (void)state;
    static const struct {
        int64_t calls;
        int timed;
        const char *part;
    } cases[] = {{1, 0, "csr_merge: first"},
                 {20, 0, "csr_merge: first"},
                 {0, 2, "in the run-off"},
                 {60, 2, "in the run-off"},
                 {300, 4, "in the run-off"}};
    spmv_mat *mat = load("gen:poisson2d:400");
    for (int k = 0; k < COUNT(cases); k++) {
        spmv_proposals all = {.n = 0};
        spmv_plan_facts f;
        spmv_offer(&all, "csr_rows", 0, 0, "safe");
        spmv_offer(&all, "csr_blocks", 0, 1.08, "second");
        spmv_offer(&all, "csr_merge", 0, 1.2, "first");
        spmv_offer(&all, "csr_serial", 0, 1.05, "third");
        spmv_offer(&all, "coo_segments", 0, 0.9, "not even expected to be faster");
        spmv_plan *plan = contest(mat, &all, (spmv_plan_opts){.expected_calls = cases[k].calls});
        spmv_plan_info(plan, &f);
        if (f.timed != cases[k].timed || !strstr(f.reason, cases[k].part))
            fail_msg("%lld products: %d timed: %s", (long long)cases[k].calls, f.timed, f.reason);
        spmv_plan_free(plan);
    }
    spmv_mat_free(mat);
}

/* With little to spend one kernel that needs conversion, and three that need none. */
static void few_conversions_are_tried(void **state) {
    (void)state;
    spmv_mat *mat = load("gen:poisson2d:400");
    spmv_proposals all = {.n = 0};
    spmv_plan_facts f;
    spmv_offer(&all, "csr_rows", 0, 0, "safe");
    spmv_offer(&all, "coo_segments", 5, 2, "converted");
    spmv_offer(&all, "sell_slices", 5, 1.9, "converted, too");
    spmv_offer(&all, "csr_blocks", 0, 1.5, "first");
    spmv_offer(&all, "csr_merge", 0, 1.4, "second");
    spmv_offer(&all, "csr_serial", 0, 1.3, "third");
    spmv_offer(&all, "csr_balanced", 0, 1.2, "fourth");
    spmv_plan *plan = contest(mat, &all, (spmv_plan_opts){.expected_calls = 0});
    spmv_plan_info(plan, &f);
    if (f.timed != 5) fail_msg("%d timed: %s", f.timed, f.reason);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

static void what_cannot_be_had_is_passed_over(void **state) {
    (void)state;
    entries e = entries_of(fixture_named("giant row"));
    spmv_mat *mat = matrix_of(ctx, &e);
    spmv_proposals all = {.n = 0};
    spmv_offer(&all, "no_such_kernel", 0, 4, "planted");
    spmv_offer(&all, "ell_rows", 0, 3, "planted"); /* 3 rows of the longest's length */
    spmv_proposal *odd = spmv_offer(&all, "csr_tiles", 0, 2, "planted");
    odd->setting[odd->nsettings++] = (spmv_setting){"grid_cols", -5};
    spmv_offer(&all, "csr_rows", 0, 0, "safe");
    spmv_plan *plan =
        contest(mat, &all, (spmv_plan_opts){.max_bytes = 600000, .expected_calls = 10000});
    assert_chosen(plan, "csr_rows", "csr_rows: safe; passed over ell_rows: ell_rows needs ");
    assert_chosen(plan, "csr_rows", "passed over csr_tiles: ");
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    entries_free(&e);
}

/* When the safe kernel does not fit, what fits is better than nothing; when nothing fits, its error
 * stands. */
static void without_the_safe_kernel_another_serves(void **state) {
    (void)state;
    entries e = entries_of(fixture_named("giant row"));
    spmv_mat *mat = matrix_of(ctx, &e);
    spmv_proposals all = {.n = 0};
    spmv_plan *plan = (spmv_plan *)&all;
    spmv_offer(&all, "ell_rows", 0, 0, "does not fit");
    spmv_offer(&all, "csr_rows", 0, 2, "fits");
    spmv_plan_opts opts = {.size = sizeof opts, .max_bytes = 600000};
    plan = contest(mat, &all, opts);
    assert_chosen(plan, "csr_rows", "csr_rows: fits; passed over ell_rows: ");
    spmv_plan_free(plan);
    spmv_mat_drop_stores(mat);
    opts.max_bytes = 10;
    assert_int_equal(spmv_auto_contest(mat, &opts, &spmv_omp, &all, spmv_now(), &plan),
                     SPMV_E_TOOBIG);
    assert_null(plan);
    assert_null(mat->stores);
    assert_non_null(strstr(spmv_ctx_error(ctx), "ell_rows needs "));
    spmv_mat_free(mat);
    entries_free(&e);
}

/* No padding is multiplied: x may hold infinity. */
static void padding_is_passed_over(void **state) {
    (void)state;
    entries e = entries_of(fixture_named("every length"));
    spmv_mat *mat = matrix_of(ctx, &e);
    spmv_proposals all = {.n = 0};
    spmv_proposal *padded = spmv_offer(&all, "ell_rows", 0, 3, "planted");
    padded->setting[padded->nsettings++] = (spmv_setting){"rowlens", 0};
    spmv_offer(&all, "csr_rows", 0, 0, "safe");
    spmv_plan *plan = contest(mat, &all, (spmv_plan_opts){.expected_calls = 10000});
    assert_chosen(plan, "csr_rows", "passed over ell_rows: it pads");
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    entries_free(&e);
}

/* A backend like omp whose csr_rows does not repeat its bits. */
static void what_does_not_repeat_is_asked_for(void **state) {
    (void)state;
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
    spmv_mat *mat = load("gen:poisson2d:40");
    for (int allowed = 0; allowed < 2; allowed++) {
        spmv_proposals all = {.n = 0};
        spmv_plan *plan = NULL;
        spmv_plan_opts opts = {.size = sizeof opts, .nondeterministic = allowed};
        spmv_offer(&all, "csr_rows", 0, 5, "fast");
        offer_slow(&all, 0);
        assert_int_equal(spmv_auto_contest(mat, &opts, &other, &all, spmv_now(), &plan), SPMV_OK);
        assert_chosen(plan, allowed ? "csr_rows" : "csr_tiles", "");
        spmv_plan_free(plan);
    }
    spmv_mat_free(mat);
}

static int count_stores(const spmv_mat *mat) {
    int n = 0;
    for (const spmv_stored *s = mat->stores; s; s = s->next) n++;
    return n;
}

/* What lost is freed; what was there before, or is in use, is not. */
static void losers_leave_no_store(void **state) {
    (void)state;
    spmv_mat *mat = load("gen:poisson2d:60");
    double x[3600] = {1}, y[3600];
    spmv_proposals all = {.n = 0};
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "coo_segments"};
    spmv_plan *mine = NULL;
    assert_int_equal(spmv_plan_create(mat, &opts, &mine), SPMV_OK);
    spmv_offer(&all, "ell_rows", 0, 3, "planted");
    spmv_offer(&all, "coo_segments", 0, 2, "planted");
    spmv_offer(&all, "csr_rows", 0, 0, "planted");
    spmv_plan *plan = contest(mat, &all, (spmv_plan_opts){.expected_calls = 100000});
    assert_int_equal(count_stores(mat), strcmp(plan->kernel->name, "coo_segments") == 0 ? 1 : 2);
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
    assert_int_equal(spmv_exec(mine, 1, x, 0, y), SPMV_OK);
    spmv_plan_free(plan);
    spmv_plan_free(mine);
    spmv_mat_free(mat);
}

/* ---- the name ------------------------------------------------------------------------------- */

static void the_name_is_found_by_itself_only(void **state) {
    (void)state;
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

static void wrong_options_are_refused(void **state) {
    (void)state;
    static const spmv_setting setting = {"grid_rows", 2};
    static const struct {
        spmv_plan_opts opts;
        const char *part;
    } wrong[] = {{{.settings = &setting, .nsettings = 1}, "auto takes no parameter 'grid_rows'"},
                 {{.expected_calls = -1}, "expected_calls is -1"},
                 {{.offset_bits = 7}, "32 or 64"}};
    spmv_mat *mat = load("gen:poisson2d:10");
    for (int k = 0; k < COUNT(wrong); k++) {
        spmv_plan_opts opts = wrong[k].opts;
        spmv_plan *plan = (spmv_plan *)&opts;
        opts.size = sizeof opts;
        opts.kernel = "auto";
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_ARG);
        assert_null(plan);
        if (!strstr(spmv_ctx_error(ctx), wrong[k].part))
            fail_msg("'%s' lacks '%s'", spmv_ctx_error(ctx), wrong[k].part);
    }
    spmv_mat_free(mat);
}

/* Both backends' models, also where the other backend's device is absent. */
static void proposals_name_real_kernels(void **state) {
    (void)state;
    static const char *const sources[] = {"gen:poisson2d:60",       "gen:random:3000:8",
                                          "gen:giantrow:3000:1500", "gen:fem3d:6:3",
                                          "gen:banded:2000:100",    "gen:powerlaw:3000:8"};
    for (int k = 0; k < COUNT(sources); k++)
        for (const spmv_backend *const *b = spmv_backends; *b; b++) {
            spmv_features f = features_of(sources[k], NULL);
            spmv_proposals all = {.n = 0};
            int safe = 0;
            (*b == &spmv_omp ? spmv_propose_omp : spmv_propose_cuda)(&f, &all);
            assert_in_range(all.n, 2, SPMV_MOST_PROPOSED);
            for (int p = 0; p < all.n; p++) {
                const spmv_proposal *one = &all.list[p];
                assert_true(isfinite(one->gain) && one->gain >= 0 && one->prep >= 0);
                assert_true(strlen(one->why) + 1 < sizeof one->why && strlen(one->why) > 5);
                for (int n = 0; n < (*b)->nkernels; n++)
                    safe += one->gain == 0 && strcmp(one->kernel, (*b)->names[n]) == 0;
            }
            assert_true(safe > 0);
        }
}

/* A sample may hold no entry: then nothing that rests on it is proposed, least of all as safe. */
static void an_empty_sample_proposes_nothing(void **state) {
    (void)state;
    entries e = {.rows = 1000000, .cols = 1000000};
    for (int64_t j = 0; j < 100000; j++) add_entry(&e, 3, 10 * j, 1);
    spmv_mat *mat = matrix_of(ctx, &e);
    spmv_features f;
    assert_int_equal(spmv_features_of(mat, SPMV_F64, &f), SPMV_OK);
    assert_int_equal(f.sampled, 0);
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        spmv_proposals all = {.n = 0};
        (*b == &spmv_omp ? spmv_propose_omp : spmv_propose_cuda)(&f, &all);
        for (int p = 0; p < all.n; p++) {
            const char *name = all.list[p].kernel;
            assert_false(strncmp(name, "packed", 6) == 0 || strcmp(name, "masked_rows") == 0);
            assert_true(isfinite(all.list[p].gain));
            if (*b == &spmv_omp && all.list[p].gain == 0)
                assert_true(strcmp(name, "csr_balanced") == 0 || strcmp(name, "csr_merge") == 0);
        }
    }
    spmv_mat_free(mat);
    entries_free(&e);
}

static const spmv_proposal *proposal_of(const spmv_proposals *all, const char *kernel) {
    for (int k = 0; k < all->n; k++)
        if (strcmp(all->list[k].kernel, kernel) == 0) return &all->list[k];
    return NULL;
}

/* Blocks are for reads of x that are far and in no order; the settings proposed can be had. */
static void far_reads_of_x_are_blocked(void **state) {
    (void)state;
    static const char *const sources[] = {"gen:random:1000000:4", "gen:poisson2d:600"};
    for (int k = 0; k < COUNT(sources); k++) {
        spmv_mat *mat = load(sources[k]);
        spmv_features f = features_of(sources[k], NULL);
        spmv_proposals all = {.n = 0};
        spmv_plan *plan;
        f.threads = 1;
        spmv_propose_omp(&f, &all);
        const spmv_proposal *blocked = proposal_of(&all, "csb_blocks");
        assert_true(proposal_of(&all, "sell_lanes")->nsettings == 2);
        if (k == 1) {
            assert_null(blocked);
            spmv_mat_free(mat);
            continue;
        }
        assert_true(blocked && blocked->gain > 1.5);
        spmv_plan_opts opts = {.size = sizeof opts,
                               .kernel = "omp:csb_blocks",
                               .settings = blocked->setting,
                               .nsettings = blocked->nsettings};
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_OK);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tridiagonal_matrix_is_all_diagonals),
        cmocka_unit_test(dense_blocks_are_seen),
        cmocka_unit_test(order_and_disorder_of_columns_are_told_apart),
        cmocka_unit_test(values_are_counted),
        cmocka_unit_test(uneven_rows_are_seen),
        cmocka_unit_test(features_are_finite_and_repeat),
        cmocka_unit_test(the_safe_kernel_beats_a_slow_proposal),
        cmocka_unit_test(a_fast_proposal_beats_the_safe_kernel),
        cmocka_unit_test(promises_decide_how_many_are_timed),
        cmocka_unit_test(few_conversions_are_tried),
        cmocka_unit_test(what_cannot_be_had_is_passed_over),
        cmocka_unit_test(without_the_safe_kernel_another_serves),
        cmocka_unit_test(padding_is_passed_over),
        cmocka_unit_test(what_does_not_repeat_is_asked_for),
        cmocka_unit_test(losers_leave_no_store),
        cmocka_unit_test(the_name_is_found_by_itself_only),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(proposals_name_real_kernels),
        cmocka_unit_test(an_empty_sample_proposes_nothing),
        cmocka_unit_test(far_reads_of_x_are_blocked),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
