/* kernels.h: what the tests of kernels share: a matrix with its vectors, one plan's products
 * against the program's own check, the values of its parameters, a visit of every kernel of every
 * backend at hand. The programs take the name of a backend: that one's kernels alone.
 * SPMV_REQUIRE_CUDA=1 makes a GPU that does not open a failure. */
#ifndef SPMV_TEST_KERNELS_H
#define SPMV_TEST_KERNELS_H

#include "instructions.h"

enum { GUARD = 64, MOST_PRINTED = 20, MOST_VALUES = 24 };
static const size_t budget = 256 << 20; /* so that what is refused does not depend on the machine */

typedef struct scaling {
    double alpha, beta;
} scaling;
static const scaling scalings[] = {{1, 0}, {2, -1}, {0, 1}, {1, 1}, {-0.5, 0}, {0.75, 2}};

static const char *const param_names[] = {
#define PARAM(name, ...) #name,
#include "params.def"
#undef PARAM
};

static struct tally {
    int64_t products, refused, wrong;
    int64_t refused_wide; /* refused matrices with 64-bit offsets */
} tally;

/* ---- a matrix with its vectors -------------------------------------------------------------- */

typedef struct subject {
    const char *name;
    spmv_mat *mat;
    int64_t rows, cols;
    void *x[2], *before[2]; /* for each precision: guards, x, guards; y0 with beta != 0 */
    oracle reference[2];
} subject;

/* Returns n elements between two guards of GUARD elements filled with `byte`. value NULL: elements
 * are NaN. */
static inline void *with_guards(const double *value, int64_t n, spmv_precision precision,
                                int byte) {
    size_t width = width_of(precision), bytes = (size_t)(n + 2 * GUARD) * width;
    char *v = malloc(bytes);
    assert_non_null(v);
    memset(v, byte, bytes);
    for (int64_t i = 0; i < n; i++)
        set_number(v + GUARD * width, precision, i, value ? value[i] : NAN);
    return v;
}

/* The guard of x is NaN (0xff), which spoils every sum that includes it; the guard of y holds small
 * numbers (0xa5). */
static inline subject subject_of(spmv_mat *mat, const char *name, const double *x,
                                 const double *y0) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_mat_stats(mat, &stats);
    subject s = {.name = name, .mat = mat, .rows = stats.rows, .cols = stats.cols};
    for (int p = 0; p < 2; p++) {
        s.x[p] = with_guards(x, s.cols, (spmv_precision)p, 0xff);
        s.before[p] = with_guards(y0, s.rows, (spmv_precision)p, 0xa5);
        s.reference[p] = oracle_of(mat, x, s.cols, (spmv_precision)p);
    }
    return s;
}

static inline subject random_subject(spmv_mat *mat, const char *name) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_mat_stats(mat, &stats);
    FREED(double) *x = random_vector(1, stats.cols), *y0 = random_vector(2, stats.rows);
    subject s = subject_of(mat, name, x, y0);
    s.reference[0].random_x = s.reference[1].random_x = true;
    return s;
}

static inline void subject_free(subject *s) {
    for (int p = 0; p < 2; p++) {
        free(s->x[p]);
        free(s->before[p]);
        oracle_free(&s->reference[p]);
    }
    spmv_mat_free(s->mat);
}

STRUCT_AT_END(subject, subject_free)

/* ---- one plan ------------------------------------------------------------------------------- */

typedef struct setup { /* a kernel in one configuration */
    char kernel[64];
    spmv_precision precision;
    int offset_bits, nsettings;
    spmv_setting setting[SPMV_NPARAMS];
} setup;

static inline void complain_about(const setup *c, const subject *s, const char *what) {
    if (tally.wrong++ >= MOST_PRINTED) return;
    print_error("%s %s o%d, %d threads, on '%s'", c->kernel,
                c->precision == SPMV_F64 ? "f64" : "f32", c->offset_bits,
                spmv_ctx_threads(s->mat->ctx), s->name);
    for (int k = 0; k < c->nsettings; k++)
        print_error(" %s=%lld", c->setting[k].name, (long long)c->setting[k].value);
    print_error(": %s\n", what);
}

/* NULL: the kernel refuses this matrix, as it may, or fails, as it may not. */
static inline spmv_plan *plan_of(const setup *c, const subject *s) {
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = c->kernel, .precision = c->precision,
                               .offset_bits = c->offset_bits, .max_bytes = budget,
                               .settings = c->setting, .nsettings = c->nsettings);
    spmv_plan *plan = NULL;
    spmv_status status = spmv_plan_create(s->mat, &opts, &plan);
    if (status == SPMV_OK) return plan;
    if (plan) complain_about(c, s, "a plan in spite of an error");
    if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG)
        tally.refused++, tally.refused_wide += c->offset_bits == 64;
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

static inline workplace workplace_of(const spmv_plan *plan, const subject *s,
                                     spmv_precision precision) {
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

static inline void workplace_free(workplace *w) {
    spmv_plan_release(w->plan, w->x);
    spmv_plan_release(w->plan, w->y);
    free(w->fetched);
}

STRUCT_AT_END(workplace, workplace_free)

/* Multiplies from y0, or from NaN when beta = 0, and fetches y with its guards. */
static inline spmv_status multiply(const workplace *w, const subject *s, spmv_precision precision,
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

static inline bool guards_are_whole(const workplace *w, const subject *s,
                                    spmv_precision precision) {
    size_t guard = GUARD * w->width;
    const char *before = s->before[precision];
    return memcmp(w->fetched, before, guard) == 0 &&
           memcmp(w->fetched + w->y_bytes - guard, before + w->y_bytes - guard, guard) == 0;
}

static inline void check_result(const setup *c, const subject *s, const workplace *w, scaling ab) {
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

static inline void try_product(const setup *c, const subject *s, const workplace *w, scaling ab) {
    tally.products++;
    if (multiply(w, s, c->precision, ab) == SPMV_OK)
        check_result(c, s, w, ab);
    else
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
}

/* The last product again. */
static inline void try_to_repeat(const setup *c, const subject *s, const workplace *w, scaling ab) {
    if (!(w->plan->kernel->traits & SPMV_DETERMINISTIC)) return;
    FREED(char) *first = malloc(w->y_bytes);
    assert_non_null(first);
    memcpy(first, w->fetched, w->y_bytes);
    if (multiply(w, s, c->precision, ab) != SPMV_OK || memcmp(first, w->fetched, w->y_bytes) != 0)
        complain_about(c, s, "claims to be deterministic, but the second product has other bits");
}

static inline void try_setup(const setup *c, const subject *s, const scaling *ab, int nscalings) {
    FREED(spmv_plan) *plan = plan_of(c, s);
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
}

/* ---- settings ------------------------------------------------------------------------------- */

typedef struct values {
    int64_t value[MOST_VALUES];
    int count;
} values;

/* A kernel's own parameters and its format's, as one list; good until the next call. */
static inline const spmv_param *params_of(const spmv_kernel *kernel) {
    static spmv_param all[SPMV_NPARAMS + 1];
    int n = 0;
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        if (p) all[n++] = *p;
    }
    all[n] = (spmv_param)SPMV_NO_MORE_PARAMS;
    return all;
}

static inline int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

static inline void offer(values *v, const spmv_param *p, int64_t value) {
    if (!spmv_param_takes(p, value) || v->count == MOST_VALUES) return;
    if (p->id == SPMV_isa && value > best_isa()) return;
    for (int k = 0; k < v->count; k++)
        if (v->value[k] == value) return;
    v->value[v->count++] = value;
}

/* Returns every value of a short range, and powers of two where it must be one; else the least, the
 * default, an odd one, and more than there are rows and columns. */
static inline values values_of(const spmv_param *p, int64_t rows, int64_t cols) {
    enum { SHORT = 8 };
    values v = {.count = 0};
    int64_t least = round_up(p->min, p->multiple);
    if (p->max - p->min <= SHORT * p->multiple)
        for (int64_t value = least; value <= p->max; value += p->multiple) offer(&v, p, value);
    for (int64_t power = 1; p->power_of_two && power <= 64; power *= 2) offer(&v, p, power);
    offer(&v, p, least);
    offer(&v, p, p->default_value);
    offer(&v, p, least + 3 * p->multiple);
    offer(&v, p, 4);
    offer(&v, p, round_up(rows + 3, p->multiple));
    offer(&v, p, round_up(cols + 3, p->multiple));
    return v;
}

static inline void set(setup *c, const spmv_param *p, int64_t value) {
    c->setting[c->nsettings++] = (spmv_setting){param_names[p->id], value};
}

static inline setup setup_of(const spmv_backend *backend, int kernel, int variant) {
    setup c = {.precision =
                   variant == SPMV_F32_O32 || variant == SPMV_F32_O64 ? SPMV_F32 : SPMV_F64,
               .offset_bits = variant == SPMV_F64_O64 || variant == SPMV_F32_O64 ? 64 : 32};
    full_name(backend, kernel, c.kernel);
    return c;
}

/* ---- visits --------------------------------------------------------------------------------- */

static const char *only_backend; /* NULL: all */
static const char *only_kernel;  /* name of the kernel to test; NULL: all */

/* BACKEND, or BACKEND:KERNEL. */
static inline void take_backend(int argc, char **argv) {
    static char name[64]; /* argv stays: the program may start itself again */
    const char *colon = argc > 1 ? strchr(argv[1], ':') : NULL;
    if (argc > 1) snprintf(name, sizeof name, "%.*s", (int)strcspn(argv[1], ":"), argv[1]);
    if (argc > 1) only_backend = name;
    if (colon) only_kernel = colon + 1;
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        if (!only_backend || strcmp(only_backend, (*b)->name) == 0)
            return wait_without_spinning(argc, argv);
    fprintf(stderr, "%s: no backend '%s'\n", argv[0], only_backend);
    exit(64);
}

static inline bool is_tested(spmv_ctx *ctx, const spmv_backend *backend) {
    return (!only_backend || strcmp(only_backend, backend->name) == 0) && is_usable(ctx, backend);
}

static inline bool is_wanted(const spmv_backend *backend, int k) {
    return !only_kernel || strcmp(only_kernel, k == SPMV_AUTO ? "auto" : backend->names[k]) == 0;
}

/* The callback for one kernel: its backend, its index, its descriptor in the f64, 32-bit
 * variant. */
typedef void (*visit)(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                      const subject *s);

static inline void visit_kernels(visit call, const subject *s) {
    tally = (struct tally){0};
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; is_tested(s->mat->ctx, *b) && k < (*b)->nkernels; k++)
            if (is_here(*b, k) && is_wanted(*b, k)) call(*b, k, (*b)->kernels[k][0], s);
}

/* Returns a copy where the plan's kernel reads and writes; spmv_plan_release frees it. */
static inline void *copy_there(const spmv_plan *plan, const void *here, size_t bytes) {
    void *memory = NULL;
    assert_int_equal(spmv_plan_alloc(plan, bytes, &memory), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, memory, here, bytes), SPMV_OK);
    return memory;
}

static inline subject fixture_subject(const char *name, int threads) {
    FREED(entries) e = entries_of(fixture_named(name));
    subject s = random_subject(matrix_of(context_of(threads), &e), name);
    return s;
}

/* Frees the subject with its context. */
static inline void fixture_subject_free(subject *s) {
    spmv_ctx *ctx = s->mat->ctx;
    subject_free(s);
    spmv_ctx_free(ctx);
}

typedef subject lone_subject; /* a subject that owns its context */
STRUCT_AT_END(lone_subject, fixture_subject_free)

#endif
