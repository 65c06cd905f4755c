/* test_values.c: spmv_mat_set_values: every kernel multiplies with the new values, or, when they
 * are refused, with the old ones. */
#include "kernels.h"
#include "new_values.h"

/* Returns the same entries with other values, in another matrix. */
static subject subject_with(spmv_ctx *ctx, const entries *e, double *fresh, const char *name) {
    entries other = *e;
    other.values = fresh;
    other.pattern = false;
    return random_subject(matrix_of(ctx, &other), name);
}

/* ---- every kernel --------------------------------------------------------------------------- */

static const scaling plain = {1, 0};

static void check_product(const setup *c, const workplace *w, const subject *s,
                          const subject *now) {
    tally.products++;
    if (multiply(w, s, c->precision, plain) == SPMV_OK)
        check_result(c, now, w, plain);
    else
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
}

/* Sets the values of s, the subject of this plan. The product is then that of `after`, or, if the
 * values are refused, still that of `before`. Returns whether the values were accepted. */
static bool try_values(const setup *c, const workplace *w, const subject *s, const subject *before,
                       const subject *after, const double *fresh) {
    spmv_plan_facts facts = plan_facts_of(w->plan);
    spmv_status status = spmv_mat_set_values(s->mat, fresh, SPMV_HOST, NULL);
    if (status == SPMV_OK && !facts.refills) complain_about(c, s, "refills what it says it cannot");
    if (status != SPMV_OK && status != SPMV_E_UNSUITABLE)
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    check_product(c, w, s, status == SPMV_OK ? after : before);
    return status == SPMV_OK;
}

/* Returns whether a plan must accept all values: it stores them uncoded, in full. */
static bool must_take(const spmv_plan *plan, const setup *c) {
    const spmv_format *format = spmv_format_named(plan->kernel->format, plan->variant);
    spmv_plan_facts facts = plan_facts_of(plan);
    if (!facts.refills || !format->holds) return facts.refills;
    return c->nsettings && !(plan->kernel->traits & SPMV_NEEDS_SYMMETRY);
}

static void try_kernel_on(const setup *c, const entries *e, subject *s, const subject *before,
                          const subject *after, const double *fresh) {
    spmv_plan *plan = plan_of(c, s);
    if (!plan) return;
    workplace w = workplace_of(plan, s, c->precision);
    check_product(c, &w, s, before);
    bool taken = try_values(c, &w, s, before, after, fresh);
    if (!taken && must_take(plan, c)) complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    if (taken && !try_values(c, &w, s, after, before, e->values))
        complain_about(c, s, "takes new values, but not the old ones again");
    workplace_free(&w);
    spmv_plan_free(plan);
}

static void try_fixture(spmv_ctx *ctx, const fixture *f, double (*value)(int64_t k)) {
    FREED(entries) e = entries_of(f);
    FREED(double) *fresh = values_for(&e, value);
    if (e.pattern)
        for (int64_t k = 0; k < e.nnz; k++) e.values[k] = 1;
    FREED(subject) s = random_subject(matrix_of(ctx, &e), f->name);
    FREED(subject) before = random_subject(matrix_of(ctx, &e), f->name);
    FREED(subject) after = subject_with(ctx, &e, fresh, f->name);
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; is_tested(ctx, *b) && k < (*b)->nkernels; k++)
            for (int variant = 0; is_here(*b, k) && variant < SPMV_NVARIANTS; variant++) {
                setup c = setup_of(*b, k, variant);
                try_kernel_on(&c, &e, &s, &before, &after, fresh);
                const spmv_param *codes = spmv_param_of((*b)->kernels[k][variant], SPMV_codes);
                if (!codes) continue;
                set(&c, codes, 0);
                try_kernel_on(&c, &e, &s, &before, &after, fresh);
            }
}

TEST(every_kernel_takes_new_values_or_keeps_the_old) {
    FREED(spmv_ctx) *ctx = context_of(3);
    tally = (struct tally){0};
    for (int f = 0; f < COUNT(fixtures); f++) {
        if (fixtures[f].rows > 1 << 16) continue;
        try_fixture(ctx, &fixtures[f], random_value);
        try_fixture(ctx, &fixtures[f], few_values);
    }
    print_message("%lld products, %lld wrong\n", (long long)tally.products, (long long)tally.wrong);
    assert_int_equal(tally.wrong, 0);
}

/* Tests every value of each parameter separately. Codes, which may refuse values, are off. */
static void try_settings_on(const setup *plain_setup, const spmv_kernel *kernel, const entries *e,
                            subject *s, const subject *before, const subject *after,
                            const double *fresh) {
    const spmv_param *codes = spmv_param_of(kernel, SPMV_codes);
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        if (!p || id == SPMV_codes) continue;
        const values v = values_of(p, s->rows, s->cols);
        for (int n = 0; n < v.count; n++) {
            setup c = *plain_setup;
            if (codes) set(&c, codes, 0);
            set(&c, p, v.value[n]);
            try_kernel_on(&c, e, s, before, after, fresh);
        }
    }
}

TEST(whatever_its_settings_are) {
    FREED(spmv_ctx) *ctx = context_of(3);
    FREED(entries) e = entries_of(fixture_named("runs"));
    FREED(double) *fresh = values_for(&e, random_value);
    FREED(subject) s = random_subject(matrix_of(ctx, &e), "runs");
    FREED(subject) before = random_subject(matrix_of(ctx, &e), "runs");
    FREED(subject) after = subject_with(ctx, &e, fresh, "runs");
    tally = (struct tally){0};
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; is_tested(ctx, *b) && k < (*b)->nkernels; k++)
            for (int variant = SPMV_F64_O32; variant <= SPMV_F32_O32 && is_here(*b, k);
                 variant += SPMV_F32_O32) {
                const setup c = setup_of(*b, k, variant);
                try_settings_on(&c, (*b)->kernels[k][variant], &e, &s, &before, &after, fresh);
            }
    assert_true(tally.products > 0);
    assert_int_equal(tally.wrong, 0);
}

/* ---- one matrix, several plans -------------------------------------------------------------- */

/* The plan's product is that of the matrix. */
static void assert_multiplies(const spmv_plan *plan, const subject *s) {
    tally = (struct tally){0};
    setup c = {.precision = plan->variant < SPMV_F32_O32 ? SPMV_F64 : SPMV_F32};
    snprintf(c.kernel, sizeof c.kernel, "%s", plan->kernel->name);
    workplace w = workplace_of(plan, s, c.precision);
    check_product(&c, &w, s, s);
    workplace_free(&w);
    assert_int_equal(tally.wrong, 0);
}

typedef struct pair { /* a matrix, and others of its entries with the fresh before and after */
    spmv_ctx *ctx;
    entries e;
    double *fresh;
    spmv_mat *mat;
    subject before, after;
} pair;

static pair pair_of(const char *name, double (*old)(int64_t k), double (*new)(int64_t k)) {
    pair p = {.ctx = context_of(2), .e = entries_of(fixture_named(name))};
    double *fresh = values_for(&p.e, old);
    memcpy(p.e.values, fresh, (size_t)p.e.nnz * sizeof *fresh);
    free(fresh);
    p.fresh = values_for(&p.e, new);
    p.mat = matrix_of(p.ctx, &p.e);
    p.before = subject_with(p.ctx, &p.e, p.e.values, name);
    p.after = subject_with(p.ctx, &p.e, p.fresh, name);
    return p;
}

static void pair_free(pair *p) {
    spmv_mat_free(p->mat);
    subject_free(&p->before);
    subject_free(&p->after);
    free(p->fresh);
    entries_free(&p->e);
    spmv_ctx_free(p->ctx);
}

STRUCT_AT_END(pair, pair_free)

TEST(a_refusal_changes_nothing) {
    FREED(pair) p = pair_of("runs", few_values, random_value);
    const uint64_t hash = hash_of(p.mat);
    spmv_plan *rows = plan_with(p.mat, "csr_rows", SPMV_F64, 0);
    spmv_plan *coded = plan_with(p.mat, "csell_slices", SPMV_F64, 0);
    FREED(spmv_plan) *last = plan_with(p.mat, "sell_slices", SPMV_F64, 0);
    assert_int_equal(set_values(p.mat, p.fresh), SPMV_E_UNSUITABLE);
    assert_non_null(strstr(spmv_ctx_error(p.ctx), "spmv_plan_opts.refill"));
    assert_multiplies(rows, &p.before);
    assert_multiplies(coded, &p.before);
    assert_multiplies(last, &p.before);
    assert_true(hash_of(p.mat) == hash);
    spmv_plan_free(coded);
    coded = plan_with(p.mat, "csell_slices", SPMV_F64, 1);
    assert_int_equal(set_values(p.mat, p.fresh), SPMV_OK);
    assert_multiplies(rows, &p.after);
    assert_multiplies(coded, &p.after);
    assert_multiplies(last, &p.after);
    assert_true(hash_of(p.mat) == hash_of(p.after.mat));
    spmv_plan_free(rows);
    spmv_plan_free(coded);
}

static double huge_value(int64_t k) {
    return k == 7 ? 1e300 : 1;
}

TEST(what_f32_cannot_hold_is_refused) {
    FREED(pair) p = pair_of("dense row", random_value, huge_value);
    FREED(spmv_plan) *wide = plan_with(p.mat, "csr_rows", SPMV_F64, 1);
    spmv_plan *narrow = plan_with(p.mat, "csr_rows", SPMV_F32, 1);
    assert_int_equal(set_values(p.mat, p.fresh), SPMV_E_UNSUITABLE);
    assert_multiplies(wide, &p.before);
    assert_multiplies(narrow, &p.before);
    spmv_plan_free(narrow);
    assert_int_equal(set_values(p.mat, p.fresh), SPMV_OK);
    assert_multiplies(wide, &p.after);
}

/* Stores are kept for later plans. */
TEST(later_plans_have_the_new_values) {
    static const char *const kernels[] = {"csr_rows", "sell_slices", "csell_slices",
                                          "csr_tiles_copied"};
    FREED(pair) p = pair_of("long tail", few_values, random_value);
    for (int k = 0; k < COUNT(kernels); k++) {
        spmv_plan *plan = plan_with(p.mat, kernels[k], SPMV_F32, 0);
        spmv_plan_free(plan);
        assert_int_equal(set_values(p.mat, p.fresh), SPMV_OK);
        plan = plan_with(p.mat, kernels[k], SPMV_F32, 0);
        assert_multiplies(plan, &p.after);
        spmv_plan_free(plan);
        assert_int_equal(set_values(p.mat, p.e.values), SPMV_OK);
    }
}

TEST(copies_of_a_plan_have_the_new_values) {
    FREED(pair) p = pair_of("every length", random_value, few_values);
    FREED(spmv_plan) *plan = plan_with(p.mat, "csr_rows", SPMV_F64, 0), *copy = NULL;
    assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
    assert_int_equal(set_values(p.mat, p.fresh), SPMV_OK);
    assert_multiplies(plan, &p.after);
    assert_multiplies(copy, &p.after);
}

/* Few values, which "auto" would store as a dictionary. */
TEST(auto_chooses_what_can_be_refilled) {
    FREED(spmv_ctx) *ctx = context_of(2);
    spmv_coo_view view = SPMV_OPTS(spmv_coo_view);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_mat *mat = must_load(ctx, "gen:poisson2d:200");
    opts.kernel = "auto";
    opts.expected_calls = 100000;
    opts.refill = 1;
    spmv_plan *plan = must_plan(mat, &opts);
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_int_equal(facts.refills, 1);
    spmv_mat_entries(mat, &view);
    FREED(double) *fresh = random_vector(5, view.nnz);
    assert_int_equal(set_values(mat, fresh), SPMV_OK);
    subject s = random_subject(mat, "poisson2d");
    assert_multiplies(plan, &s);
    spmv_plan_free(plan);
    subject_free(&s);
}

TEST(what_cannot_be_refilled_is_refused_beforehand) {
    FREED(spmv_ctx) *ctx = context_of(1);
    FREED(entries) e = entries_of(fixture_named("dense"));
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = "csr5_tiles";
    opts.refill = 1;
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE);
    assert_null(plan);
}

/* ---- where values lie, and what is refused -------------------------------------------------- */

TEST(values_may_lie_on_the_device) {
    static const char *const kernels[] = {"csr_lanes",   "csr_balanced", "sell_thread_ahead",
                                          "csell_warp",  "xcache_block", "bsr_warp",
                                          "coo_segments"};
    static const char *const fixtures_of_both[] = {"dense row", "duplicates"}; /* orders */
    spmv_ctx_opts opts = {.size = sizeof opts, .backend = "cuda", .threads = 2};
    spmv_ctx *ctx = NULL;
    if (spmv_ctx_create_lazily(&opts, &ctx) != SPMV_OK || !is_usable(ctx, &spmv_cuda)) {
        spmv_ctx_free(ctx);
        skip();
    }
    for (int f = 0; f < COUNT(fixtures_of_both); f++) {
        FREED(entries) e = entries_of(fixture_named(fixtures_of_both[f]));
        FREED(double) *fresh = values_for(&e, few_values);
        const size_t bytes = (size_t)e.nnz * sizeof *fresh;
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        FREED(subject) after = subject_with(ctx, &e, fresh, fixtures_of_both[f]);
        for (int k = 0; k < COUNT(kernels); k++) {
            FREED(spmv_plan) *plan = plan_with(mat, kernels[k], SPMV_F64, 1);
            void *there = NULL;
            assert_int_equal(spmv_plan_alloc(plan, bytes, &there), SPMV_OK);
            assert_int_equal(spmv_plan_put(plan, there, fresh, bytes), SPMV_OK);
            assert_int_equal(spmv_mat_set_values(mat, there, SPMV_DEVICE, NULL), SPMV_OK);
            assert_multiplies(plan, &after);
            assert_int_equal(set_values(mat, e.values), SPMV_OK);
            spmv_plan_release(plan, there);
        }
    }
    spmv_ctx_free(ctx);
}

static spmv_status fetch_nothing(spmv_mat *mat) {
    return spmv_fail(mat->ctx, SPMV_E_NOMEM, "no memory");
}

/* Calls fail if the values exist only on a device and cannot be fetched. */
TEST(values_that_cannot_be_fetched_fail_the_call) {
    FREED(pair) p = pair_of("dense", random_value, few_values);
    spmv_plan *plan = plan_with(p.mat, "csr_rows", SPMV_F64, 0), *other = NULL;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_plan_free(plan);
    p.mat->fetch = fetch_nothing;
    assert_int_equal(spmv_plan_create(p.mat, NULL, &other), SPMV_E_NOMEM);
    assert_int_equal(spmv_mat_stats(p.mat, &stats), SPMV_E_NOMEM);
    assert_int_equal(spmv_mat_save(p.mat, "/dev/null"), SPMV_E_NOMEM);
    spmv_csr_view rows = rows_of(p.mat);
    assert_null(rows.row_ptr);
    spmv_mat_drop_stores(p.mat);
    assert_non_null(p.mat->stores);
}

TEST(a_freed_matrix_takes_no_values) {
    FREED(pair) p = pair_of("dense", random_value, few_values);
    spmv_plan *plan = plan_with(p.mat, "csr_rows", SPMV_F64, 0);
    spmv_mat_free(p.mat);
    assert_int_equal(set_values(p.mat, p.fresh), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(p.ctx), "mat was freed"));
    spmv_plan_free(plan);
    p.mat = NULL;
}

TEST(wrong_arguments_are_refused) {
    FREED(pair) p = pair_of("dense", random_value, few_values);
    assert_int_equal(set_values(NULL, p.fresh), SPMV_E_ARG);
    assert_int_equal(set_values(p.mat, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(p.ctx), "values is NULL"));
    assert_int_equal(spmv_mat_set_values(p.mat, p.fresh, (spmv_place)7, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(p.ctx), "place is 7"));
}

TEST_MAIN(take_backend, NULL, NULL)
