/* test_kernels.c: the acceptance gate: every kernel of every backend at hand, whatever their names,
 * on every fixture, with every alpha and beta, setting, precision, offset width and number of
 * threads, against the program's own check. A new kernel is tested without a change here.
 * SPMV_REQUIRE_CUDA=1 makes a GPU that does not open a failure. */
#include "testing.h"

enum { GUARD = 64, MOST_PRINTED = 20, MOST_VALUES = 24, NTHREADS = 4 };
static const int thread_counts[NTHREADS] = {1, 2, 3, 5};
static const size_t budget = 256 << 20; /* so that what is refused does not depend on the machine */

typedef struct scaling {
    double alpha, beta;
} scaling;
static const scaling scalings[] = {{1, 0}, {2, -1}, {0, 1}, {1, 1}, {-0.5, 0}};

static const char *const param_names[] = {
#define PARAM(name, option, help) #name,
#include "params.def"
#undef PARAM
};

static struct tally { int64_t products, refused, wrong; } tally;

/* ---- a matrix with its vectors -------------------------------------------------------------- */

typedef struct subject {
    const char *name;
    spmv_mat *mat;
    int64_t rows, cols;
    void *x[2], *before[2]; /* of each precision: guards, x, guards; y0 with beta != 0 */
    oracle reference[2];
} subject;

/* GUARD cells of a byte, the n numbers, GUARD cells more. NULL: NaN. */
static void *with_guards(const double *value, int64_t n, spmv_precision precision, int byte) {
    size_t width = width_of(precision), bytes = (size_t)(n + 2 * GUARD) * width;
    char *v = malloc(bytes);
    assert_non_null(v);
    memset(v, byte, bytes);
    for (int64_t i = 0; i < n; i++)
        set_number(v + GUARD * width, precision, i, value ? value[i] : NAN);
    return v;
}

/* x is guarded by NaN (0xff), which spoils every sum it gets into; y by small numbers (0xa5). */
static subject subject_of(spmv_mat *mat, const char *name, const double *x, const double *y0) {
    spmv_stats stats;
    spmv_mat_stats(mat, &stats);
    subject s = {.name = name, .mat = mat, .rows = stats.rows, .cols = stats.cols};
    for (int p = 0; p < 2; p++) {
        s.x[p] = with_guards(x, s.cols, (spmv_precision)p, 0xff);
        s.before[p] = with_guards(y0, s.rows, (spmv_precision)p, 0xa5);
        s.reference[p] = oracle_of(mat, x, s.cols, (spmv_precision)p);
    }
    return s;
}

static subject random_subject(spmv_mat *mat, const char *name) {
    spmv_stats stats;
    spmv_mat_stats(mat, &stats);
    double *x = random_vector(1, stats.cols), *y0 = random_vector(2, stats.rows);
    subject s = subject_of(mat, name, x, y0);
    s.reference[0].random_x = s.reference[1].random_x = true;
    free(x);
    free(y0);
    return s;
}

static void subject_free(subject *s) {
    for (int p = 0; p < 2; p++) {
        free(s->x[p]);
        free(s->before[p]);
        oracle_free(&s->reference[p]);
    }
    spmv_mat_free(s->mat);
}

/* ---- one plan ------------------------------------------------------------------------------- */

typedef struct setup { /* a kernel in one configuration */
    char kernel[64];
    spmv_precision precision;
    int offset_bits, nsettings;
    spmv_setting setting[SPMV_NPARAMS];
} setup;

static void complain_about(const setup *c, const subject *s, const char *what) {
    if (tally.wrong++ >= MOST_PRINTED) return;
    print_error("%s %s o%d, %d threads, on '%s'", c->kernel,
                c->precision == SPMV_F64 ? "f64" : "f32", c->offset_bits,
                spmv_ctx_threads(s->mat->ctx), s->name);
    for (int k = 0; k < c->nsettings; k++)
        print_error(" %s=%lld", c->setting[k].name, (long long)c->setting[k].value);
    print_error(": %s\n", what);
}

/* NULL: the kernel refuses this matrix, as it may, or fails, as it may not. */
static spmv_plan *plan_of(const setup *c, const subject *s) {
    spmv_plan_opts opts = {.size = sizeof opts,
                           .kernel = c->kernel,
                           .precision = c->precision,
                           .offset_bits = c->offset_bits,
                           .max_bytes = budget,
                           .settings = c->setting,
                           .nsettings = c->nsettings};
    spmv_plan *plan = NULL;
    spmv_status status = spmv_plan_create(s->mat, &opts, &plan);
    if (status == SPMV_OK) return plan;
    if (plan) complain_about(c, s, "a plan in spite of an error");
    if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG)
        tally.refused++;
    else
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    return NULL;
}

typedef struct workplace { /* a plan's x and y on its device, guards included, and y fetched */
    const spmv_plan *plan;
    void *x, *y;
    char *fetched;
    size_t width, x_bytes, y_bytes;
} workplace;

static workplace workplace_of(const spmv_plan *plan, const subject *s, spmv_precision precision) {
    size_t width = width_of(precision);
    workplace w = {.plan = plan,
                   .width = width,
                   .x_bytes = (size_t)(s->cols + 2 * GUARD) * width,
                   .y_bytes = (size_t)(s->rows + 2 * GUARD) * width};
    assert_int_equal(spmv_plan_alloc(plan, w.x_bytes, &w.x), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, w.y_bytes, &w.y), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, w.x, s->x[precision], w.x_bytes), SPMV_OK);
    w.fetched = malloc(w.y_bytes);
    assert_non_null(w.fetched);
    return w;
}

static void workplace_free(workplace *w) {
    spmv_plan_release(w->plan, w->x);
    spmv_plan_release(w->plan, w->y);
    free(w->fetched);
}

/* Multiplies from y0, or from NaN when beta = 0, and fetches y with its guards. */
static spmv_status multiply(const workplace *w, const subject *s, spmv_precision precision,
                            scaling ab) {
    memcpy(w->fetched, s->before[precision], w->y_bytes);
    if (ab.beta == 0)
        for (int64_t i = 0; i < s->rows; i++)
            set_number(w->fetched + GUARD * w->width, precision, i, NAN);
    TRY(spmv_plan_put(w->plan, w->y, w->fetched, w->y_bytes));
    TRY(spmv_exec(w->plan, ab.alpha, (const char *)w->x + GUARD * w->width, ab.beta,
                  (char *)w->y + GUARD * w->width));
    return spmv_plan_get(w->plan, w->fetched, w->y, w->y_bytes);
}

static bool guards_are_whole(const workplace *w, const subject *s, spmv_precision precision) {
    size_t guard = GUARD * w->width;
    const char *before = s->before[precision];
    return memcmp(w->fetched, before, guard) == 0 &&
           memcmp(w->fetched + w->y_bytes - guard, before + w->y_bytes - guard, guard) == 0;
}

static void check_result(const setup *c, const subject *s, const workplace *w, scaling ab) {
    char what[256];
    size_t guard = GUARD * w->width;
    verdict v = oracle_check(&s->reference[c->precision], c->precision, ab.alpha, ab.beta,
                             (const char *)s->before[c->precision] + guard, w->fetched + guard);
    if (v.bad_rows) {
        snprintf(what, sizeof what,
                 "alpha %g, beta %g: %lld wrong rows, first %lld: got %.17g, expected %.17g, %.3g "
                 "bounds away",
                 ab.alpha, ab.beta, (long long)v.bad_rows, (long long)v.first_bad_row, v.got,
                 v.expected, v.max_ratio);
        complain_about(c, s, what);
    }
    if (!guards_are_whole(w, s, c->precision))
        complain_about(c, s, "wrote in front of y or behind it");
}

static void try_product(const setup *c, const subject *s, const workplace *w, scaling ab) {
    tally.products++;
    if (multiply(w, s, c->precision, ab) == SPMV_OK)
        check_result(c, s, w, ab);
    else
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
}

/* The last product again. */
static void try_to_repeat(const setup *c, const subject *s, const workplace *w, scaling ab) {
    if (!(w->plan->kernel->traits & SPMV_DETERMINISTIC)) return;
    char *first = malloc(w->y_bytes);
    assert_non_null(first);
    memcpy(first, w->fetched, w->y_bytes);
    if (multiply(w, s, c->precision, ab) != SPMV_OK || memcmp(first, w->fetched, w->y_bytes) != 0)
        complain_about(c, s, "claims to be deterministic, but the second product has other bits");
    free(first);
}

static void try_setup(const setup *c, const subject *s, const scaling *ab, int nscalings) {
    spmv_plan *plan = plan_of(c, s);
    if (!plan) return;
    workplace w = workplace_of(plan, s, c->precision);
    for (int k = 0; k < nscalings; k++) try_product(c, s, &w, ab[k]);
    try_to_repeat(c, s, &w, ab[nscalings - 1]);
    char *x = malloc(w.x_bytes);
    assert_non_null(x);
    if (spmv_plan_get(plan, x, w.x, w.x_bytes) != SPMV_OK ||
        memcmp(x, s->x[c->precision], w.x_bytes) != 0)
        complain_about(c, s, "x is not what it was");
    free(x);
    workplace_free(&w);
    spmv_plan_free(plan);
}

/* ---- settings ------------------------------------------------------------------------------- */

typedef struct values {
    int64_t value[MOST_VALUES];
    int count;
} values;

/* A kernel's own parameters and its format's, as one list; good until the next call. */
static const spmv_param *params_of(const spmv_kernel *kernel) {
    static spmv_param all[SPMV_NPARAMS + 1];
    int n = 0;
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        if (p) all[n++] = *p;
    }
    all[n] = (spmv_param)SPMV_NO_MORE_PARAMS;
    return all;
}

static int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static void offer(values *v, const spmv_param *p, int64_t value) {
    if (!spmv_param_takes(p, value) || v->count == MOST_VALUES) return;
    for (int k = 0; k < v->count; k++)
        if (v->value[k] == value) return;
    v->value[v->count++] = value;
}

/* Every value of a short range; else the least, the default, an odd one, and more than there are
 * rows and columns. */
static values values_of(const spmv_param *p, int64_t rows, int64_t cols) {
    enum { SHORT = 8 };
    values v = {.count = 0};
    int64_t least = round_up(p->min, p->multiple);
    if (p->max - p->min <= SHORT * p->multiple)
        for (int64_t value = least; value <= p->max; value += p->multiple) offer(&v, p, value);
    offer(&v, p, least);
    offer(&v, p, p->fallback);
    offer(&v, p, least + 3 * p->multiple);
    offer(&v, p, 4);
    offer(&v, p, round_up(rows + 3, p->multiple));
    offer(&v, p, round_up(cols + 3, p->multiple));
    return v;
}

static void set(setup *c, const spmv_param *p, int64_t value) {
    c->setting[c->nsettings++] = (spmv_setting){param_names[p->id], value};
}

/* Each parameter varied alone, then a few of all at once. */
static void try_settings(const setup *plain, const spmv_kernel *kernel, const subject *s,
                         uint64_t seed) {
    enum { COMBINATIONS = 3 };
    int turn = (int)(seed % COUNT(scalings));
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
        values v = values_of(p, s->rows, s->cols);
        for (int k = 0; k < v.count; k++) {
            setup c = *plain;
            set(&c, p, v.value[k]);
            try_setup(&c, s, &scalings[turn++ % COUNT(scalings)], 1);
        }
    }
    for (int n = 0; n < COMBINATIONS; n++) {
        setup c = *plain;
        for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
            values v = values_of(p, s->rows, s->cols);
            set(&c, p, v.value[draw_below(&seed, v.count)]);
        }
        try_setup(&c, s, &scalings[turn++ % COUNT(scalings)], 1);
    }
}

static setup setup_of(const spmv_backend *backend, int kernel, int variant) {
    setup c = {.precision =
                   variant == SPMV_F32_O32 || variant == SPMV_F32_O64 ? SPMV_F32 : SPMV_F64,
               .offset_bits = variant == SPMV_F64_O64 || variant == SPMV_F32_O64 ? 64 : 32};
    full_name(backend, kernel, c.kernel);
    return c;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void backends_say_whether_they_are_here(void **state) {
    (void)state;
    spmv_ctx *ctx = context_of(1);
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        bool usable = is_usable(ctx, *b);
        print_message("%s: %d kernels, %s\n", (*b)->name, (*b)->nkernels,
                      usable          ? "tested"
                      : (*b)->kernels ? spmv_ctx_error(ctx)
                                      : "not built in: not tested");
        if ((*b)->host) assert_true(usable);
        for (int k = 0; usable && k < (*b)->nkernels; k++)
            for (int v = 0; v < SPMV_NVARIANTS; v++)
                assert_string_equal((*b)->kernels[k][v]->name, (*b)->names[k]);
    }
    spmv_ctx_free(ctx);
}

/* Every variant with its defaults; settings with every other one, which turns with the threads, to
 * save time. */
static void try_kernel(const spmv_backend *backend, int k, const subject *s, int turn) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup plain = setup_of(backend, k, variant);
        try_setup(&plain, s, scalings, COUNT(scalings));
        if (!backend->host || (variant + turn) % 2)
            try_settings(&plain, backend->kernels[k][variant], s,
                         (uint64_t)(turn * SPMV_NVARIANTS + variant));
    }
}

/* auto is a kernel as any other to who asks for it, and it refuses nothing. */
static void try_auto(const spmv_backend *backend, const subject *s) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, 0, variant);
        snprintf(c.kernel, sizeof c.kernel, "%s:auto", backend->name);
        int64_t refused = tally.refused;
        try_setup(&c, s, scalings, COUNT(scalings));
        if (tally.refused != refused) complain_about(&c, s, "refused");
    }
}

/* A kernel that refuses nearly everything would pass without being tested. */
static void try_backend(const spmv_backend *backend) {
    int64_t products = 0, refused = 0, wrong = 0;
    for (int k = SPMV_AUTO; k < backend->nkernels; k++) {
        if (k != SPMV_AUTO && !is_here(backend, k)) continue;
        bool peer = k != SPMV_AUTO && backend->kernels[k][0]->traits & SPMV_PEER;
        tally = (struct tally){0};
        for (int t = 0; t < NTHREADS; t++) {
            if (!backend->host && thread_counts[t] != 3)
                continue; /* only the host counts threads */
            spmv_ctx *ctx = context_of(thread_counts[t]);
            for (int f = 0; f < COUNT(fixtures); f++) {
                entries e = entries_of(&fixtures[f]);
                subject s = random_subject(matrix_of(ctx, &e), fixtures[f].name);
                if (k == SPMV_AUTO)
                    try_auto(backend, &s);
                else
                    try_kernel(backend, k, &s, f * NTHREADS + t);
                subject_free(&s);
                entries_free(&e);
            }
            spmv_ctx_free(ctx);
        }
        bool choosy = k >= 0 && backend->kernels[k][0]->traits & SPMV_NEEDS_SYMMETRY;
        if (tally.products < (peer || choosy ? 1 : tally.refused)) /* those take what they can */
            print_error("%s: refuses most of it\n", k < 0 ? "auto" : backend->names[k]), wrong++;
        products += tally.products, refused += tally.refused, wrong += tally.wrong;
    }
    print_message("%s: %lld products of %d kernels and of auto checked, %lld configurations "
                  "refused, %lld wrong\n",
                  backend->name, (long long)products, count_here(backend), (long long)refused,
                  (long long)wrong);
    assert_int_equal(wrong, 0);
}

static void every_product_is_right(void **state) {
    (void)state;
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        spmv_ctx *ctx = context_of(1);
        bool usable = is_usable(ctx, *b);
        spmv_ctx_free(ctx);
        if (usable) try_backend(*b);
    }
}

/* What one visit of every kernel does: its backend, its number, its descriptor in the f64, 32-bit
 * variant. */
typedef void (*visit)(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                      const subject *s);

static void visit_kernels(visit call, const subject *s) {
    tally = (struct tally){0};
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; is_usable(s->mat->ctx, *b) && k < (*b)->nkernels; k++)
            if (is_here(*b, k)) call(*b, k, (*b)->kernels[k][0], s);
}

static subject fixture_subject(const char *name, int threads) {
    entries e = entries_of(fixture_named(name));
    subject s = random_subject(matrix_of(context_of(threads), &e), name);
    entries_free(&e);
    return s;
}

/* With its context. */
static void fixture_subject_free(subject *s) {
    spmv_ctx *ctx = s->mat->ctx;
    subject_free(s);
    spmv_ctx_free(ctx);
}

static void try_largest(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                        const subject *s) {
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
        setup c = setup_of(backend, k, SPMV_F64_O32);
        set(&c, p, p->max / p->multiple * p->multiple);
        try_setup(&c, s, scalings, 2);
    }
}

static void largest_settings_work(void **state) {
    (void)state;
    subject s = fixture_subject("every length", 2);
    visit_kernels(try_largest, &s);
    assert_int_equal(tally.wrong, 0);
    fixture_subject_free(&s);
}

static void assert_refused(const setup *c, const subject *s, spmv_status expected,
                           const char *part) {
    spmv_plan_opts opts = {.size = sizeof opts,
                           .kernel = c->kernel,
                           .settings = c->setting,
                           .nsettings = c->nsettings};
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
        assert_true(p->min <= p->fallback && p->fallback <= p->max &&
                    p->fallback % p->multiple == 0);
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

static void wrong_settings_are_refused(void **state) {
    (void)state;
    subject s = fixture_subject("long tail", 2);
    visit_kernels(try_wrong_settings, &s);
    assert_int_equal(tally.wrong, 0);
    assert_null(s.mat->stores);
    fixture_subject_free(&s);
}

static void try_budget(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    (void)kernel;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        spmv_plan_opts opts = {.size = sizeof opts,
                               .kernel = c.kernel,
                               .precision = c.precision,
                               .offset_bits = c.offset_bits,
                               .max_bytes = 1};
        spmv_plan *plan = (spmv_plan *)&opts;
        spmv_status status = spmv_plan_create(s->mat, &opts, &plan);
        const char *message = spmv_ctx_error(s->mat->ctx), *needs = strstr(message, "needs ");
        bool names_both = needs && strtod(needs + strlen("needs "), NULL) > 1e-6 &&
                          strstr(message, "limit 1e-06 MB");
        if (status != SPMV_E_TOOBIG || plan || !names_both)
            complain_about(&c, s, status == SPMV_OK ? "accepted" : message);
        if (s->mat->stores) complain_about(&c, s, "made the format before refusing it");
        if (status == SPMV_OK) spmv_plan_free(plan);
    }
}

static void budgets_are_kept(void **state) {
    (void)state;
    subject s = fixture_subject("long tail", 2);
    visit_kernels(try_budget, &s);
    assert_int_equal(tally.wrong, 0);
    fixture_subject_free(&s);
}

/* NaN, infinities and zeros meet in every way in A and x, beside rows that must stay finite. */
static subject unfinite_subject(spmv_ctx *ctx) {
    static const double special[] = {NAN, INFINITY, -INFINITY, 0};
    entries e = {.rows = 97, .cols = 61};
    double x[61], y0[97];
    for (int j = 0; j < 61; j++) x[j] = j < 4 ? special[j] : random_entry(1, (uint64_t)j);
    for (int i = 0; i < 97; i++)
        y0[i] = i % 24 == 11 ? special[i / 24 % 4] : random_entry(2, (uint64_t)i);
    for (int64_t i = 0; i < e.rows; i++) {
        int in_a = (int)(i % 5),
            in_x = (int)(i / 5 % 6); /* 4: nothing special; a row in six has x's alone */
        if (i % 17 == 6) continue;   /* an empty row is 0, whatever padding would read */
        if (in_x < 4)
            add_entry(&e, i, in_x, in_a < 4 ? special[in_a] : random_entry(4, (uint64_t)i));
        if (in_x == 5)
            add_entry(&e, i, 1, 1), add_entry(&e, i, 2, i % 2 ? 1 : -1); /* inf - inf, inf + inf */
        if (in_x == 4 && in_a < 4) add_entry(&e, i, 5 + i % 9, special[in_a]);
        for (int64_t j = 15; i % 3 && j < 15 + i % 40; j++)
            add_random(&e, i, j); /* else the special one is last */
    }
    subject s = subject_of(matrix_of(ctx, &e), "NaN and infinity", x, y0);
    entries_free(&e);
    return s;
}

static void try_unfinite(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                         const subject *s) {
    static const scaling nonzero[] = {{1, 0}, {2, -1}, {-0.5, 0}, {1, 1}};
    const spmv_param *rowlens = params_of(kernel);
    while (rowlens->id != SPMV_NPARAMS && rowlens->id != SPMV_rowlens) rowlens++;
    bool takes_rowlens = rowlens->id == SPMV_rowlens;
    if (kernel->traits & SPMV_PADS && !takes_rowlens) return;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        if (takes_rowlens) set(&c, rowlens, 1);
        try_setup(&c, s, nonzero, COUNT(nonzero));
        for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
            values v = values_of(p, s->rows, s->cols);
            for (int n = 0; n < v.count && p->id != SPMV_rowlens; n++) {
                setup one = c;
                set(&one, p, v.value[n]);
                try_setup(&one, s, nonzero, 1);
            }
        }
    }
}

static void nan_and_infinity_are_ieee(void **state) {
    (void)state;
    spmv_ctx *ctx = context_of(3);
    subject s = unfinite_subject(ctx);
    visit_kernels(try_unfinite, &s);
    assert_int_equal(tally.wrong, 0);
    subject_free(&s);
    spmv_ctx_free(ctx);
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
                spmv_plan *plan = plan_of(&c, s);
                assert_non_null(plan);
                workplace w = workplace_of(plan, s, c.precision);
                y[rowlens] = malloc((size_t)s->rows * sizeof(double));
                assert_true(y[rowlens] && multiply(&w, s, c.precision, scalings[0]) == SPMV_OK);
                check_result(&c, s, &w, scalings[0]);
                for (int64_t i = 0; i < s->rows; i++)
                    y[rowlens][i] = number_at(w.fetched + GUARD * w.width, c.precision, i);
                workplace_free(&w);
                spmv_plan_free(plan);
            }
            for (int64_t i = 0; i < s->rows; i++)
                if (y[0][i] != y[1][i]) complain_about(&c, s, "rowlens changes the result");
            free(y[0]);
            free(y[1]);
        }
}

/* Small whole numbers, which no order of summation and no fused operation rounds. */
static void padding_does_not_show(void **state) {
    (void)state;
    spmv_ctx *ctx = context_of(3);
    entries e = entries_of(fixture_named("long tail"));
    double *x = random_vector(1, e.cols), *y0 = random_vector(2, e.rows);
    for (int64_t k = 0; k < e.nnz; k++) e.values[k] = (double)(k % 9 - 4);
    for (int64_t j = 0; j < e.cols; j++) x[j] = (double)(j % 17 - 8);
    subject s = subject_of(matrix_of(ctx, &e), "long tail", x, y0);
    visit_kernels(try_padding, &s);
    assert_int_equal(tally.wrong, 0);
    free(x);
    free(y0);
    entries_free(&e);
    subject_free(&s);
    spmv_ctx_free(ctx);
}

/* Plans of every kernel live at once on one matrix, host and device taking turns, and are freed in
 * either order. */
static void plans_share_a_matrix(void **state) {
    (void)state;
    subject s = fixture_subject("empty rows", 2);
    enum { MOST = 256 };
    spmv_plan *plan[MOST];
    setup c[MOST];
    int n = 0;
    tally = (struct tally){0};
    for (int k = 0, more = 1; more; k++) {
        more = 0;
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            for (int v = 0;
                 k < (*b)->nkernels && is_usable(s.mat->ctx, *b) && v < SPMV_NVARIANTS && n < MOST;
                 v++) {
                more = 1;
                if (!is_here(*b, k)) continue;
                c[n] = setup_of(*b, k, v);
                plan[n] = plan_of(&c[n], &s);
                n += plan[n] != NULL;
            }
    }
    for (int k = 0; k < n; k++) {
        int p = k % 2 ? n - k / 2 - 1 : k / 2; /* from both ends to the middle */
        workplace w = workplace_of(plan[p], &s, c[p].precision);
        try_product(&c[p], &s, &w, scalings[1]);
        workplace_free(&w);
        spmv_plan_free(plan[p]);
    }
    assert_int_equal(tally.wrong, 0);
    fixture_subject_free(&s);
}

/* So many products, each of the y of the one before; waited for one at a time, or at the end. */
static void run_chain(const subject *s, const spmv_plan *plan, const setup *c, bool queued,
                      char *out) {
    enum { LINKS = 40 };
    const spmv_backend *backend = plan->device->backend;
    size_t width = width_of(c->precision), bytes = (size_t)s->rows * width;
    void *v[2] = {NULL};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(spmv_plan_alloc(plan, bytes, &v[k]), SPMV_OK);
        const char *from = s->x[c->precision];
        assert_int_equal(spmv_plan_put(plan, v[k], from + GUARD * width, bytes), SPMV_OK);
    }
    for (int l = 0; l < LINKS; l++) {
        spmv_status status = plan->kernel->run(plan, 0.3, v[l % 2], 0, v[1 - l % 2]);
        if (status == SPMV_OK && !queued) status = backend->sync(plan->device);
        if (status != SPMV_OK) complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    }
    assert_int_equal(backend->sync(plan->device), SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, out, v[LINKS % 2], bytes), SPMV_OK);
    for (int k = 0; k < 2; k++) spmv_plan_release(plan, v[k]);
}

/* A kernel that starts before the one in front of it has ended reads nothing too early. */
static void try_chain(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                      const subject *s) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        spmv_plan *plan = kernel->traits & SPMV_DETERMINISTIC ? plan_of(&c, s) : NULL;
        size_t bytes = (size_t)s->rows * width_of(c.precision);
        if (!plan) continue;
        char *one = malloc(bytes), *queued = malloc(bytes);
        assert_true(one && queued);
        run_chain(s, plan, &c, false, one);
        for (int turn = 0; turn < 3; turn++) {
            run_chain(s, plan, &c, true, queued);
            tally.products++;
            if (memcmp(one, queued, bytes)) complain_about(&c, s, "read before it was written");
        }
        free(one);
        free(queued);
        spmv_plan_free(plan);
    }
}

/* Rows without entries, alone between long ones: they have nothing to wait for but each other. */
static spmv_mat *rows_apart(spmv_ctx *ctx) {
    enum { ROWS = 900, LONG = 260 };
    entries e = {.rows = ROWS, .cols = ROWS};
    for (int64_t i = 0; i < ROWS; i += 2)
        for (int64_t k = 0; k < LONG; k++)
            add_entry(&e, i, (i + 3 * k) % ROWS, 0.01 * (double)(k % 7 + 1));
    spmv_mat *mat = matrix_of(ctx, &e);
    entries_free(&e);
    return mat;
}

static void products_wait_for_each_other(void **state) {
    (void)state;
    static const char *const names[] = {"gen:poisson2d:9", "gen:mesh:3000", "gen:giantrow:3000",
                                        "gen:poisson2d:200", "rows apart"};
    spmv_ctx *ctx = context_of(2);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        spmv_mat *mat = NULL;
        if (strncmp(names[n], "gen:", 4) == 0)
            assert_int_equal(spmv_mat_load(ctx, names[n], NULL, &mat), SPMV_OK);
        else
            mat = rows_apart(ctx);
        subject s = random_subject(mat, names[n]);
        visit_kernels(try_chain, &s);
        assert_true(tally.products > 0);
        assert_int_equal(tally.wrong, 0);
        subject_free(&s);
    }
    spmv_ctx_free(ctx);
}

/* Memory of a device other than the host comes back, also when host and device plans take turns. */
static void device_memory_comes_back(void **state) {
    (void)state;
    subject s = fixture_subject("giant row", 2);
    tally = (struct tally){0};
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        enum { ROUNDS = 200 };
        const size_t noise = 32 << 20;
        spmv_device *device = NULL;
        size_t before = 0;
        if ((*b)->host || !is_usable(s.mat->ctx, *b)) continue;
        assert_int_equal(spmv_ctx_device(s.mat->ctx, *b, &device), SPMV_OK);
        for (int round = 0; round < ROUNDS; round++) {
            if (round == 1) before = (*b)->free_bytes(device); /* the first loads the code */
            for (int k = 0; k < (*b)->nkernels; k++) {
                setup on_host =
                    setup_of(spmv_backends[0], k % spmv_backends[0]->nkernels, SPMV_F64_O32);
                setup on_device = setup_of(*b, k, SPMV_F64_O32);
                if (is_here(spmv_backends[0], k % spmv_backends[0]->nkernels))
                    spmv_plan_free(plan_of(&on_host, &s));
                if (is_here(*b, k)) spmv_plan_free(plan_of(&on_device, &s));
            }
        }
        spmv_mat_drop_stores(s.mat);
        assert_in_range((*b)->free_bytes(device) + noise, before, SIZE_MAX);
    }
    assert_int_equal(tally.wrong, 0);
    fixture_subject_free(&s);
}

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backends_say_whether_they_are_here),
        cmocka_unit_test(every_product_is_right),
        cmocka_unit_test(largest_settings_work),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(budgets_are_kept),
        cmocka_unit_test(nan_and_infinity_are_ieee),
        cmocka_unit_test(padding_does_not_show),
        cmocka_unit_test(plans_share_a_matrix),
        cmocka_unit_test(products_wait_for_each_other),
        cmocka_unit_test(device_memory_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
