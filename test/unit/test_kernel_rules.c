/* test_kernel_rules.c: what every kernel must keep to besides right products: largest settings
 * work, wrong ones are refused, budgets are kept, NaN and infinity are IEEE's, padding does not
 * show. */
#include "kernels.h"

static void try_largest(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                        const subject *s) {
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
        setup c = setup_of(backend, k, SPMV_F64_O32);
        set(&c, p, p->id == SPMV_isa ? best_isa() : p->max / p->multiple * p->multiple);
        try_setup(&c, s, scalings, 2);
    }
}

TEST(largest_settings_work) {
    FREED(lone_subject) s = fixture_subject("every length", 2);
    visit_kernels(try_largest, &s);
    assert_int_equal(tally.wrong, 0);
}

static void assert_refused(const setup *c, const subject *s, spmv_status expected,
                           const char *part) {
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = c->kernel, .settings = c->setting,
                               .nsettings = c->nsettings);
    spmv_plan *plan = (spmv_plan *)&opts;
    spmv_status status = spmv_plan_create(s->mat, &opts, &plan);
    if (status != expected || plan || !strstr(spmv_ctx_error(s->mat->ctx), part))
        complain_about(c, s, status == SPMV_OK ? "accepted" : spmv_ctx_error(s->mat->ctx));
    if (status == SPMV_OK) spmv_plan_free(plan);
}

static void try_wrong_settings(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                               const subject *s) {
    const setup plain = setup_of(backend, k, SPMV_F64_O32);
    setup c = plain;
    c.setting[c.nsettings++] = (spmv_setting){"no_such_parameter", 1};
    assert_refused(&c, s, SPMV_E_ARG, "no_such_parameter");
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
        const int64_t outside[] = {
            p->min - p->multiple,
            p->max < INT64_MAX - p->multiple ? p->max + p->multiple : p->min - p->multiple,
            INT64_MIN, p->multiple > 1 ? round_up(p->min, p->multiple) + 1 : p->min - 1};
        assert_true(p->min <= p->default_value && p->default_value <= p->max &&
                    p->default_value % p->multiple == 0);
        for (int n = 0; n < COUNT(outside); n++) {
            c = plain;
            set(&c, p, outside[n]);
            assert_refused(&c, s, SPMV_E_ARG, param_names[p->id]);
        }
    }
    for (int id = 0; id < SPMV_NPARAMS; id++) { /* what other kernels take */
        bool is_taken = false;
        for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++)
            is_taken |= (int)p->id == id;
        c = plain;
        c.setting[c.nsettings++] = (spmv_setting){param_names[id], 1};
        if (!is_taken) assert_refused(&c, s, SPMV_E_ARG, param_names[id]);
    }
}

TEST(wrong_settings_are_refused) {
    FREED(lone_subject) s = fixture_subject("long tail", 2);
    visit_kernels(try_wrong_settings, &s);
    assert_int_equal(tally.wrong, 0);
    assert_null(s.mat->stores);
}

/* Settings beside the least and the greatest that make sense: what the tables of parameters say is
 * compared with itself above. */
TEST(senseless_settings_are_refused) {
    static const struct {
        const char *kernel;
        spmv_setting setting;
    } of[] = {
        {"hyb_rows", {"boundary", -2}},   {"hybrid_rows", {"boundary", -2}},
        {"bsr_rows", {"shape_rows", 0}},  {"bsr_rows", {"shape_rows", 9}},
        {"bsr_rows", {"shape_cols", 0}},  {"bsr_rows", {"shape_cols", 9}},
        {"sell_slices", {"slice", 0}},    {"sell_slices", {"sigma", -1}},
        {"cmrs_strips", {"height", 0}},   {"cmrs_strips", {"height", 3}},
        {"cmrs_strips", {"sorted", 2}},   {"spc5_rows", {"height", 3}},
        {"spc5_rows", {"height", 8}},     {"csr5_tiles", {"lanes", -1}},
        {"csr5_tiles", {"lanes", 3}},     {"csell_slices", {"codes", 2}},
        {"csell_slices", {"cut", -1}},    {"sell16_lanes", {"sigma", 4}},
        {"sell16_lanes", {"sigma", 100}}, {"sell16_lanes", {"codes", -1}},
    };
    FREED(lone_subject) s = fixture_subject("long tail", 2);
    if (!is_tested(s.mat->ctx, &spmv_omp)) skip();
    tally = (struct tally){0};
    for (int k = 0; k < COUNT(of); k++) {
        setup c = {.precision = SPMV_F64, .offset_bits = 32, .nsettings = 1};
        snprintf(c.kernel, sizeof c.kernel, "omp:%s", of[k].kernel);
        c.setting[0] = of[k].setting;
        assert_refused(&c, &s, SPMV_E_ARG, of[k].setting.name);
    }
    assert_int_equal(tally.wrong, 0);
}

static void try_instructions_it_lacks(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                                      const subject *s) {
    const spmv_param *p = spmv_param_of(kernel, SPMV_isa);
    for (int64_t isa = best_isa() + 1; p && isa <= p->max; isa++) {
        setup c = setup_of(backend, k, SPMV_F64_O32);
        set(&c, p, isa);
        assert_refused(&c, s, SPMV_E_UNSUITABLE, "this CPU has no AVX");
    }
}

/* Only a processor without AVX-512 shows it. */
TEST(instructions_that_it_lacks_are_refused) {
    FREED(lone_subject) s = fixture_subject("symmetric", 2);
    visit_kernels(try_instructions_it_lacks, &s);
    assert_int_equal(tally.wrong, 0);
}

static void try_budget(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    (void)kernel;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = c.kernel, .precision = c.precision,
                                   .offset_bits = c.offset_bits, .max_bytes = 1);
        spmv_plan *plan = (spmv_plan *)&opts;
        spmv_status status = spmv_plan_create(s->mat, &opts, &plan);
        const char *message = spmv_ctx_error(s->mat->ctx), *needs = strstr(message, "needs ");
        if (status == SPMV_E_UNSUITABLE && c.offset_bits == 64 &&
            strstr(message, "from 32-bit offsets only"))
            continue; /* whatever the budget is */
        bool names_both = needs && strtod(needs + strlen("needs "), NULL) > 1e-6 &&
                          strstr(message, "limit 1e-06 MB");
        if (status != SPMV_E_TOOBIG || plan || !names_both)
            complain_about(&c, s, status == SPMV_OK ? "accepted" : message);
        if (s->mat->stores) complain_about(&c, s, "made the format before refusing it");
        if (status == SPMV_OK) spmv_plan_free(plan);
    }
}

TEST(budgets_are_kept) {
    FREED(lone_subject) s = fixture_subject("long tail", 2);
    visit_kernels(try_budget, &s);
    assert_int_equal(tally.wrong, 0);
}

/* NaN, infinities and zeros meet in every way in A and x, beside rows that must stay finite. few:
 * so few values that formats have a table of them, whose codes padding has, too. */
static subject unfinite_subject(spmv_ctx *ctx, bool few) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0};
    FREED(entries) e = {.rows = 97, .cols = 61};
    double x[61], y0[97];
    for (int j = 0; j < 61; j++) x[j] = j < 4 ? special[j] : random_entry(1, (uint64_t)j);
    for (int i = 0; i < 97; i++)
        y0[i] = i % 24 == 11 ? special[i / 24 % 4] : random_entry(2, (uint64_t)i);
    for (int64_t i = 0; i < e.rows; i++) {
        int in_a = (int)(i % 5),
            in_x = (int)(i / 5 % 6); /* 4: nothing special; a row in six has x's alone */
        if (i % 17 == 6) continue;   /* an empty row is 0, whatever padding would read */
        if (in_x < 4)
            add_entry(&e, i, in_x,
                      in_a < 4 ? special[in_a]
                      : few    ? 3
                               : random_entry(4, (uint64_t)i));
        if (in_x == 5)
            add_entry(&e, i, 1, 1), add_entry(&e, i, 2, i % 2 ? 1 : -1); /* inf - inf, inf + inf */
        if (in_x == 4 && in_a < 4) add_entry(&e, i, 5 + i % 9, special[in_a]);
        for (int64_t j = 15; i % 3 && j < 15 + i % 40; j++) /* else the special one is last */
            add_entry(&e, i, j, few ? (double)(j % 5) : random_entry(5, (uint64_t)(i * 61 + j)));
    }
    subject s = subject_of(matrix_of(ctx, &e), "NaN and infinity", x, y0);
    return s;
}

static void try_unfinite(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                         const subject *s) {
    static const scaling tried[] = {{1, 0}, {2, -1}, {-0.5, 0}, {1, 1}, {0, 0}, {0, 2}};
    /* cuSPARSE leaves out a product of alpha = 0, in which 0 times infinity is NaN (spmv_exec). */
    const int ntried = COUNT(tried) - (strncmp(kernel->name, "cusparse", 8) == 0 ? 2 : 0);
    const spmv_param *rowlens = params_of(kernel);
    while (rowlens->id != SPMV_NPARAMS && rowlens->id != SPMV_rowlens) rowlens++;
    bool takes_rowlens = rowlens->id == SPMV_rowlens;
    if (kernel->traits & SPMV_PADS && !takes_rowlens) return;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        if (takes_rowlens) set(&c, rowlens, 1);
        try_setup(&c, s, tried, ntried);
        for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
            values v = values_of(p, s->rows, s->cols);
            for (int n = 0; n < v.count && p->id != SPMV_rowlens; n++) {
                setup one = c;
                set(&one, p, v.value[n]);
                try_setup(&one, s, tried, 1);
            }
        }
    }
}

TEST(nan_and_infinity_are_ieee) {
    FREED(spmv_ctx) *ctx = context_of(3);
    for (int few = 0; few < 2; few++) {
        FREED(subject) s = unfinite_subject(ctx, few);
        visit_kernels(try_unfinite, &s);
        assert_int_equal(tally.wrong, 0);
    }
}

/* Counts what a plan of these settings keeps: its store and the kernel's own structures; 0: there
 * is none. */
static size_t bytes_of(const subject *s, const setup *c) {
    const spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = c->kernel, .precision = c->precision,
                                     .settings = c->setting, .nsettings = c->nsettings);
    FREED(spmv_plan) *plan = NULL;
    spmv_plan_facts facts = {.size = sizeof(spmv_plan_facts), .kernel = NULL};
    if (spmv_plan_create(s->mat, &opts, &plan) == SPMV_OK) spmv_plan_info(plan, &facts);
    return facts.store_bytes + facts.scratch_bytes;
}

/* Blocks that hold no column would each cost an entry per row: of 4,096, a thousand times what the
 * matrix takes. */
static void try_narrow(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    const setup plain = setup_of(backend, k, SPMV_F64_O32);
    const size_t usual = bytes_of(s, &plain);
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
        setup c = plain;
        set(&c, p, p->max / p->multiple * p->multiple);
        if (bytes_of(s, &c) > 16 * usual + (1 << 16)) complain_about(&c, s, "takes that much");
    }
}

TEST(a_narrow_matrix_takes_little) {
    FREED(spmv_ctx) *ctx = context_of(2);
    subject s = {.name = "20000 x 3"};
    assert_int_equal(spmv_mat_load(ctx, "gen:dense:20000x3", NULL, &s.mat), SPMV_OK);
    visit_kernels(try_narrow, &s);
    assert_int_equal(tally.wrong, 0);
    spmv_mat_free(s.mat);
}

/* Multiplying padding changes no sum. */
static void try_padding(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                        const subject *s) {
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++)
        for (int variant = 0; p->id == SPMV_rowlens && variant < SPMV_NVARIANTS; variant++) {
            double *y[2];
            setup c = setup_of(backend, k, variant);
            for (int rowlens = 0; rowlens < 2; rowlens++) {
                c.nsettings = 0;
                set(&c, p, rowlens);
                FREED(spmv_plan) *plan = plan_of(&c, s);
                assert_non_null(plan);
                FREED(workplace) w = workplace_of(plan, s, c.precision);
                y[rowlens] = malloc((size_t)s->rows * sizeof(double));
                assert_true(y[rowlens] && multiply(&w, s, c.precision, scalings[0]) == SPMV_OK);
                check_result(&c, s, &w, scalings[0]);
                for (int64_t i = 0; i < s->rows; i++)
                    y[rowlens][i] = number_at(w.fetched + GUARD * w.width, c.precision, i);
            }
            for (int64_t i = 0; i < s->rows; i++)
                if (y[0][i] != y[1][i]) complain_about(&c, s, "rowlens changes the result");
            free(y[0]);
            free(y[1]);
        }
}

/* Small whole numbers, which no order of summation and no fused operation rounds. */
TEST(padding_does_not_show) {
    FREED(spmv_ctx) *ctx = context_of(3);
    FREED(entries) e = entries_of(fixture_named("long tail"));
    FREED(double) *x = random_vector(1, e.cols), *y0 = random_vector(2, e.rows);
    for (int64_t k = 0; k < e.nnz; k++) e.values[k] = (double)(k % 9 - 4);
    for (int64_t j = 0; j < e.cols; j++) x[j] = (double)(j % 17 - 8);
    FREED(subject) s = subject_of(matrix_of(ctx, &e), "long tail", x, y0);
    visit_kernels(try_padding, &s);
    assert_int_equal(tally.wrong, 0);
}

/* What is stored whole makes the store large: rows are as long as their mean. */
TEST(padding_is_explained) {
    static const struct {
        const char *kernel, *matrix, *text;
    } cases[] = {{"omp:dia_rows", "gen:random:2500:8", "rows 2500, mean 8"},
                 {"cuda:ell_pitched", "gen:random:1:800000:800000", "rows 1, mean 800000"}};
    FREED(spmv_ctx) *ctx = context_of(2);
    for (int k = 0; k < COUNT(cases); k++) {
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = cases[k].kernel};
        spmv_plan *plan = NULL;
        if (!is_tested(ctx, k ? &spmv_cuda : &spmv_omp)) continue;
        FREED(spmv_mat) *mat = must_load(ctx, cases[k].matrix);
        for (opts.max_bytes = 0; opts.max_bytes <= 1000000; opts.max_bytes += 1000000) {
            assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_TOOBIG);
            if (!strstr(spmv_ctx_error(ctx), cases[k].text) ||
                strstr(spmv_ctx_error(ctx), "longest"))
                fail_msg("%s", spmv_ctx_error(ctx));
        }
    }
}

TEST_MAIN(take_backend, NULL, NULL)
