/* test_apply.c: spmv_exec_async and spmv_apply of every kernel: scalars in memory, z apart from y,
 * vectors that must not be read, and every argument that is wrong. */
#include "streams.h"
#include "host/host.h"
#include "matrix/stores/stored.h"
#include "plan/blocks.h"

/* ---- every kernel ---------------------------------------------------------------------------- */

typedef struct bench { /* a plan's vectors, as in workplace, z beside y, scalars where they lie */
    workplace w;
    void *z;
    void *alpha, *beta; /* one number each, in the plan's memory */
} bench;

static bench bench_of(const spmv_plan *plan, const subject *s, spmv_precision precision) {
    bench b = {.w = workplace_of(plan, s, precision)};
    assert_int_equal(spmv_plan_alloc(plan, b.w.y_bytes, &b.z), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, b.w.width, &b.alpha), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, b.w.width, &b.beta), SPMV_OK);
    return b;
}

static void bench_free(bench *b) {
    spmv_plan_release(b->w.plan, b->z);
    spmv_plan_release(b->w.plan, b->alpha);
    spmv_plan_release(b->w.plan, b->beta);
    workplace_free(&b->w);
}

static void put_number(const spmv_plan *plan, void *to, spmv_precision precision, double value) {
    char bits[sizeof(double)];
    set_number(bits, precision, 0, value);
    assert_int_equal(spmv_plan_put(plan, to, bits, width_of(precision)), SPMV_OK);
}

/* y0, or NaN where the vector must not be read; guards around it. */
static void fill_vector(const bench *b, const subject *s, spmv_precision precision, bool poisoned,
                        void *to) {
    memcpy(b->w.fetched, s->before[precision], b->w.y_bytes);
    for (int64_t i = 0; poisoned && i < s->rows; i++)
        set_number(b->w.fetched + GUARD * b->w.width, precision, i, NAN);
    assert_int_equal(spmv_plan_put(b->w.plan, to, b->w.fetched, b->w.y_bytes), SPMV_OK);
}

static void *inside(const bench *b, void *vector) {
    return (char *)vector + GUARD * b->w.width;
}

/* Says how a call gets what: y apart from z, no beta instead of 0, no alpha instead of 1. */
enum { APART = 1, NO_BETA = 2, NO_ALPHA = 4, WAYS = 8 };

static void try_call(const setup *c, const subject *s, const bench *b, scaling ab, int way) {
    _Alignas(double) char host_alpha[sizeof(double)], host_beta[sizeof(double)];
    const bool on_device = b->w.plan->scalars == SPMV_DEVICE;
    bool no_alpha = way & NO_ALPHA && ab.alpha == 1, no_beta = way & NO_BETA && ab.beta == 0;
    set_number(host_alpha, c->precision, 0, ab.alpha);
    set_number(host_beta, c->precision, 0, ab.beta);
    put_number(b->w.plan, b->alpha, c->precision, ab.alpha);
    put_number(b->w.plan, b->beta, c->precision, ab.beta);
    fill_vector(b, s, c->precision, ab.beta == 0, b->w.y);
    fill_vector(b, s, c->precision, true, b->z);
    spmv_call call = SPMV_OPTS(spmv_call);
    void *alpha = no_alpha ? NULL : on_device ? b->alpha : host_alpha;
    void *beta = no_beta ? NULL : on_device ? b->beta : host_beta;
    if (c->precision == SPMV_F32)
        call.alpha_f32 = alpha, call.beta_f32 = beta;
    else
        call.alpha = alpha, call.beta = beta;
    call.x = inside(b, b->w.x);
    call.y = inside(b, b->w.y);
    call.z = way & APART ? inside(b, b->z) : inside(b, b->w.y);
    tally.products++;
    if (spmv_apply(b->w.plan, &call, NULL) != SPMV_OK) {
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
        return;
    }
    settle(b->w.plan);
    assert_int_equal(
        spmv_plan_get(b->w.plan, b->w.fetched, way & APART ? b->z : b->w.y, b->w.y_bytes), SPMV_OK);
    check_result(c, s, &b->w, ab);
    if (!(way & APART) || ab.beta == 0) return;
    assert_int_equal(spmv_plan_get(b->w.plan, b->w.fetched, b->w.y, b->w.y_bytes), SPMV_OK);
    if (memcmp(b->w.fetched, s->before[c->precision], b->w.y_bytes) != 0)
        complain_about(c, s, "wrote into y, which is apart from z");
}

static void try_async(const setup *c, const subject *s, const bench *b, scaling ab) {
    fill_vector(b, s, c->precision, ab.beta == 0, b->w.y);
    tally.products++;
    if (spmv_exec_async(b->w.plan, ab.alpha, inside(b, b->w.x), ab.beta, inside(b, b->w.y), NULL) !=
        SPMV_OK) {
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
        return;
    }
    settle(b->w.plan);
    assert_int_equal(spmv_plan_get(b->w.plan, b->w.fetched, b->w.y, b->w.y_bytes), SPMV_OK);
    check_result(c, s, &b->w, ab);
}

static bool takes_device_scalars(const spmv_backend *backend, const spmv_kernel *kernel) {
    return backend->host || !(kernel->traits & SPMV_PEER);
}

static void try_plan(const setup *c, const subject *s, spmv_place scalars, bool is_taken) {
    spmv_plan_opts opts =
        WITH(spmv_plan_opts, .kernel = c->kernel, .precision = c->precision,
             .offset_bits = c->offset_bits, .max_bytes = budget, .scalars = scalars);
    FREED(spmv_plan) *plan = NULL;
    spmv_status status = spmv_plan_create(s->mat, &opts, &plan);
    if (status == SPMV_OK && !is_taken) complain_about(c, s, "takes scalars of the device");
    if (status == SPMV_OK) {
        bench b = bench_of(plan, s, c->precision);
        for (int k = 0; k < COUNT(scalings); k++) {
            try_async(c, s, &b, scalings[k]);
            for (int way = 0; way < WAYS; way++) try_call(c, s, &b, scalings[k], way);
        }
        bench_free(&b);
    } else if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG) {
        tally.refused++;
    } else {
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    }
}

static void try_kernel(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        const spmv_param *order = spmv_param_of(kernel, SPMV_order);
        try_plan(&c, s, SPMV_HOST, true);
        try_plan(&c, s, SPMV_DEVICE, takes_device_scalars(backend, kernel));
        if (!order) continue;
        set(&c, order, 1 + variant % 2);
        try_plan(&c, s, SPMV_HOST, true);
        try_plan(&c, s, SPMV_DEVICE, takes_device_scalars(backend, kernel));
    }
}

TEST(every_kernel_takes_a_call) {
    static const char *const names[] = {"empty rows", "giant row", "no entries", "one row",
                                        "symmetric",  "long tail", "7 x 0",      "0 x 7"};
    int64_t products = 0;
    for (int n = 0; n < COUNT(names); n++) {
        FREED(lone_subject) s = fixture_subject(names[n], 3);
        visit_kernels(try_kernel, &s);
        products += tally.products;
        assert_int_equal(tally.wrong, 0);
    }
    assert_true(products > 0);
}

/* ---- one vector whose numbers are apart ------------------------------------------------------ */

/* Returns n elements with stride `step`, NULL: NaN; the gaps hold NaN, too. */
static void *spaced(const void *from, int64_t n, int64_t step, spmv_precision precision) {
    char *to = malloc((size_t)(n * step) * width_of(precision));
    assert_non_null(to);
    for (int64_t i = 0; i < n * step; i++)
        set_number(to, precision, i,
                   from && i % step == 0 ? number_at(from, precision, i / step) : NAN);
    return to;
}

/* z <- 2 A x - y. gaps: one bit each for x, y and z; 1: stride 2. */
static void try_gaps(const setup *c, const subject *s, const spmv_plan *plan, int gaps) {
    const int64_t of_x = 1 + (gaps & 1), of_y = 1 + (gaps >> 1 & 1), of_z = 1 + (gaps >> 2);
    const spmv_precision p = c->precision;
    const size_t width = width_of(p), guard = GUARD * width;
    const char *y0 = (const char *)s->before[p] + guard;
    void *x = spaced((const char *)s->x[p] + guard, s->cols, of_x, p);
    void *y = spaced(y0, s->rows, of_y, p), *z = spaced(NULL, s->rows, of_z, p);
    const size_t z_bytes = (size_t)(s->rows * of_z) * width;
    void *there[] = {copy_there(plan, x, (size_t)(s->cols * of_x) * width),
                     copy_there(plan, y, (size_t)(s->rows * of_y) * width),
                     copy_there(plan, z, z_bytes)};
    const double alpha = 2, beta = -1;
    const float alpha_f32 = 2, beta_f32 = -1;
    const spmv_call call =
        WITH(spmv_call, .alpha = p == SPMV_F64 ? &alpha : NULL,
             .beta = p == SPMV_F64 ? &beta : NULL, .alpha_f32 = p == SPMV_F32 ? &alpha_f32 : NULL,
             .beta_f32 = p == SPMV_F32 ? &beta_f32 : NULL, .x = there[0], .y = there[1],
             .z = there[2], .k = 1, .ldx = of_x, .ldy = of_y, .ldz = of_z, .layout = SPMV_ROWS);
    tally.products++;
    if (spmv_apply(plan, &call, NULL) != SPMV_OK) complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    settle(plan);
    assert_int_equal(spmv_plan_get(plan, z, there[2], z_bytes), SPMV_OK);
    double *row = malloc((size_t)s->rows * sizeof *row);
    assert_non_null(row);
    for (int64_t i = 0; i < s->rows; i++) set_number(row, p, i, number_at(z, p, i * of_z));
    if (oracle_check(&s->reference[p], p, alpha, beta, y0, row).bad_rows) {
        char what[80];
        snprintf(what, sizeof what, "wrong where x, y, z of one vector have steps of %d, %d, %d",
                 (int)of_x, (int)of_y, (int)of_z);
        complain_about(c, s, what);
    }
    for (int64_t i = 1; of_z > 1 && i < s->rows * of_z; i += 2)
        if (!isnan(number_at(z, p, i))) complain_about(c, s, "wrote between the numbers of z");
    for (int k = 0; k < COUNT(there); k++) spmv_plan_release(plan, there[k]);
    free(x), free(y), free(z), free(row);
}

static void try_every_gap(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                          const subject *s) {
    (void)kernel;
    for (int variant = SPMV_F64_O32; variant <= SPMV_F32_O32; variant += SPMV_F32_O32) {
        setup c = setup_of(backend, k, variant);
        FREED(spmv_plan) *plan = plan_of(&c, s);
        for (int gaps = 0; plan && gaps < 8; gaps++) try_gaps(&c, s, plan, gaps);
    }
}

TEST(each_leading_dimension_counts) {
    FREED(lone_subject) s = fixture_subject("long tail", 3);
    visit_kernels(try_every_gap, &s);
    assert_true(tally.products > 0);
    assert_int_equal(tally.wrong, 0);
}

/* ---- one kernel ------------------------------------------------------------------------------ */

enum { N = 100 };

typedef struct scene {
    spmv_ctx *ctx;
    spmv_mat *mat;
    spmv_plan *plan;
    double x[N], y[2 * N], z[N], one, half;
} scene;

static scene scene_of(void) {
    scene s = {.ctx = context_of(2), .one = 1, .half = 0.5};
    for (int i = 0; i < N; i++) s.x[i] = cos(i), s.y[i] = sin(i), s.z[i] = NAN;
    assert_int_equal(spmv_mat_load(s.ctx, "gen:poisson2d:10", NULL, &s.mat), SPMV_OK);
    assert_int_equal(spmv_plan_create(s.mat, NULL, &s.plan), SPMV_OK);
    return s;
}

static void scene_free(scene *s) {
    spmv_plan_free(s->plan);
    spmv_mat_free(s->mat);
    spmv_ctx_free(s->ctx);
}

STRUCT_AT_END(scene, scene_free)

static spmv_call call_of(const scene *s) {
    return WITH(spmv_call, .alpha = &s->one, .beta = &s->half, .x = s->x, .y = s->y,
                .z = (double *)s->z);
}

static void assert_refused(const scene *s, const spmv_call *call, spmv_status expected,
                           const char *part) {
    assert_int_equal(spmv_apply(s->plan, call, NULL), expected);
    if (!strstr(spmv_ctx_error(s->ctx), part))
        fail_msg("'%s' does not say '%s'", spmv_ctx_error(s->ctx), part);
    assert_true(isnan(s->z[0]));
}

TEST(wrong_calls_are_refused) {
    FREED(scene) s = scene_of();
    spmv_call call = call_of(&s);
    assert_int_equal(spmv_apply(NULL, &call, NULL), SPMV_E_ARG);
    assert_refused(&s, NULL, SPMV_E_ARG, "call is NULL");
    call.size = 0;
    assert_refused(&s, &call, SPMV_E_ARG, "size");
    call = call_of(&s), call.x = NULL;
    assert_refused(&s, &call, SPMV_E_ARG, "spmv_apply: x is NULL");
    call = call_of(&s), call.y = NULL;
    assert_refused(&s, &call, SPMV_E_ARG, "spmv_apply: y is NULL");
    call = call_of(&s), call.z = NULL;
    assert_refused(&s, &call, SPMV_E_ARG, "spmv_apply: z is NULL");
    call = call_of(&s), call.x = s.z + N / 2;
    assert_refused(&s, &call, SPMV_E_ARG, "spmv_apply: z");
    call = call_of(&s), call.y = s.y, call.z = s.y + 1;
    assert_refused(&s, &call, SPMV_E_ARG, "y and z");
    call = call_of(&s), call.k = -1;
    assert_refused(&s, &call, SPMV_E_ARG, "k is -1");
    call = call_of(&s), call.k = 2, call.ldx = N - 1;
    assert_refused(&s, &call, SPMV_E_ARG, "ldx is 99, must be 100 or more");
    call = call_of(&s), call.k = 2, call.ldy = -1;
    assert_refused(&s, &call, SPMV_E_ARG, "ldy is -1");
    call = call_of(&s), call.k = 4, call.ldz = INT64_MAX / 16;
    assert_refused(&s, &call, SPMV_E_ARG, "ldz is");
    call = call_of(&s), call.ldz = INT64_MAX / 4; /* a single line, too */
    assert_refused(&s, &call, SPMV_E_ARG, "ldz is");
    call = call_of(&s), call.k = INT64_MAX / 8;
    assert_refused(&s, &call, SPMV_E_ARG, "ldx is");
    call = call_of(&s), call.k = 3, call.layout = SPMV_ROWS, call.ldz = 2;
    assert_refused(&s, &call, SPMV_E_ARG, "ldz is 2, must be 3 or more");
    call = call_of(&s), call.layout = (spmv_layout)3;
    assert_refused(&s, &call, SPMV_E_ARG, "layout is 3");
    call = call_of(&s), call.op = SPMV_BOTH;
    assert_refused(&s, &call, SPMV_E_ARG, "op is 3");
    call = call_of(&s), call.op = SPMV_TRANSPOSE;
    assert_refused(&s, &call, SPMV_E_ARG, "op is SPMV_TRANSPOSE, but the plan was made for SPMV_A");
    spmv_plan *as_is = s.plan;
    const spmv_plan_opts transposed = {.size = sizeof transposed, .op = SPMV_TRANSPOSE};
    assert_int_equal(spmv_plan_create(s.mat, &transposed, &s.plan), SPMV_OK);
    call.op = SPMV_AS_IS;
    assert_refused(&s, &call, SPMV_E_ARG, "op is SPMV_AS_IS, but the plan was made for SPMV_T");
    spmv_plan_free(as_is);
}

/* The library would read such scalars as other numbers. */
TEST(scalars_of_the_other_precision_are_refused) {
    FREED(scene) s = scene_of();
    const float two = 2;
    spmv_plan *wide = s.plan, *narrow = NULL;
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "csr_rows", .precision = SPMV_F32};
    assert_int_equal(spmv_plan_create(s.mat, &opts, &narrow), SPMV_OK);
    spmv_call call = call_of(&s);
    call.beta_f32 = &two;
    assert_refused(&s, &call, SPMV_E_ARG,
                   "spmv_apply: beta_f32 is set, but the plan is in f64: set beta");
    call = call_of(&s), call.alpha = NULL, call.alpha_f32 = &two;
    assert_refused(&s, &call, SPMV_E_ARG, "alpha_f32 is set, but the plan is in f64: set alpha");
    s.plan = narrow;
    call = call_of(&s), call.beta = NULL, call.alpha_f32 = &two;
    assert_refused(&s, &call, SPMV_E_ARG, "alpha is set, but the plan is in f32: set alpha_f32");
    call.alpha = NULL, call.beta = &s.half;
    assert_refused(&s, &call, SPMV_E_ARG, "beta is set, but the plan is in f32: set beta_f32");
    spmv_plan_free(narrow);
    s.plan = wide;
}

/* On a GPU these would be read when z may be written already. */
TEST(scalars_on_the_device_lie_apart_from_z) {
    scene s = scene_of();
    spmv_plan *host = s.plan;
    spmv_plan_opts opts = {.size = sizeof opts, .scalars = SPMV_DEVICE};
    assert_int_equal(spmv_plan_create(s.mat, &opts, &s.plan), SPMV_OK);
    spmv_call call = call_of(&s);
    call.alpha = s.z + N - 1;
    assert_refused(&s, &call, SPMV_E_ARG, "spmv_apply: alpha");
    call = call_of(&s), call.beta = s.z;
    assert_refused(&s, &call, SPMV_E_ARG, "spmv_apply: beta");
    call = call_of(&s), call.alpha = s.y, call.z = s.y + 1, call.beta = NULL;
    assert_int_equal(spmv_apply(s.plan, &call, NULL), SPMV_OK);
    call = call_of(&s), call.alpha = call.beta = s.z + 3, s.z[3] = 1;
    assert_int_equal(spmv_apply(host, &call, NULL), SPMV_OK); /* read before */
    spmv_plan_free(host);
    scene_free(&s);
}

/* Under SAN=undefined: no copies from or to NULL. */
TEST(no_rows_need_no_vectors) {
    FREED(spmv_ctx) *ctx = context_of(2);
    const int64_t row_ptr[] = {0};
    const spmv_csr_view none = {.size = sizeof(spmv_csr_view), .cols = 1, .row_ptr = row_ptr};
    FREED(spmv_mat) *mat = NULL;
    double x = 1;
    assert_int_equal(spmv_mat_csr(ctx, &none, &mat), SPMV_OK);
    FREED(spmv_plan) *plan = must_plan(mat, NULL);
    spmv_call call = {.size = sizeof call, .beta = &x, .x = &x, .y = &x, .ldy = 1, .ldz = 1};
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    call.ldz = -1;
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "ldz is -1, must be 1 or more"));
}

TEST(calls_of_a_newer_header_are_taken_if_they_ask_for_nothing_new) {
    FREED(scene) s = scene_of();
    struct {
        spmv_call known;
        int64_t more;
    } newer = {.known = call_of(&s)};
    newer.known.size = sizeof newer;
    newer.more = 1;
    assert_refused(&s, &newer.known, SPMV_E_ARG, "newer header");
    newer.more = 0;
    assert_int_equal(spmv_apply(s.plan, &newer.known, NULL), SPMV_OK);
    assert_true(!isnan(s.z[0]));
}

/* y is also x: z <- A x + x / 2. */
TEST(y_may_be_x) {
    FREED(scene) s = scene_of();
    spmv_call call = call_of(&s);
    call.y = s.x;
    call.k = 1;
    assert_int_equal(spmv_apply(s.plan, &call, NULL), SPMV_OK);
    memcpy(s.y, s.x, sizeof s.x);
    assert_int_equal(spmv_exec(s.plan, 1, s.x, 0.5, s.y), SPMV_OK);
    for (int i = 0; i < N; i++) assert_true(s.y[i] == s.z[i]);
}

TEST(wrong_asynchronous_products_are_refused) {
    FREED(scene) s = scene_of();
    assert_int_equal(spmv_exec_async(NULL, 1, s.x, 0, s.z, NULL), SPMV_E_ARG);
    assert_int_equal(spmv_exec_async(s.plan, 1, NULL, 0, s.z, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(s.ctx), "spmv_exec_async: x is NULL"));
    assert_int_equal(spmv_exec_async(s.plan, 1, s.x, 0, NULL, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(s.ctx), "spmv_exec_async: y is NULL"));
    assert_int_equal(spmv_exec_async(s.plan, 1, s.x, 0, s.x + 1, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(s.ctx), "overlaps"));
    assert_true(isnan(s.z[0]));
    spmv_mat_free(s.mat);
    s.mat = NULL;
    spmv_call call = call_of(&s);
    assert_int_equal(spmv_exec_async(s.plan, 1, s.x, 0, s.z, NULL), SPMV_E_ARG);
    assert_refused(&s, &call, SPMV_E_ARG, "spmv_apply: the plan's matrix was freed");
}

/* ---- where a kernel finds y ------------------------------------------------------------------ */

/* operands of a kernel's first call, and the first element of z at that time */
static struct {
    int calls;
    spmv_operands operands;
    double z;
} seen;

/* Stands for another library's kernel: z <- z + 1, where a host's product has y. */
static spmv_status add_one(const spmv_plan *p, const spmv_operands *v) {
    const spmv_precision precision = spmv_plan_is_f32(p) ? SPMV_F32 : SPMV_F64;
    if (seen.calls++ == 0) seen.operands = *v, seen.z = number_at(v->z, precision, 0);
    for (int64_t i = 0; i < p->rows; i++)
        for (int64_t j = 0; j < v->k; j++) {
            const int64_t at = v->layout == SPMV_ROWS ? i * v->ldz + j : j * v->ldz + i;
            set_number(v->z, precision, at, number_at(v->z, precision, at) + 1);
        }
    return SPMV_OK;
}

typedef struct y_case {
    bool is_host, is_single; /* facts of the backend; the kernel multiplies one column at a time */
    spmv_precision precision;
    spmv_layout layout;
    int64_t k;
} y_case;

/* Checks z after a product with gaps in y and z: on a host y + 1, elsewhere only add_one changed
 * z. */
static void assert_y_arrives(spmv_plan *plan, const y_case *c) {
    enum { ROOM = 6 * (N + 4) };
    _Alignas(double) static char x[ROOM * sizeof(double)], y[sizeof x], z[sizeof x];
    const int64_t least = c->layout == SPMV_ROWS ? c->k : N;
    const float one_f32 = 1;
    const double one = 1;
    const bool is_f32 = c->precision == SPMV_F32;
    const spmv_call call =
        WITH(spmv_call, .beta = is_f32 ? NULL : &one, .beta_f32 = is_f32 ? &one_f32 : NULL, .x = x,
             .y = y, .z = (double *)(void *)z, .k = c->k, .layout = c->layout, .ldx = least,
             .ldy = least + 1, .ldz = least + 3);
    for (int64_t n = 0; n < ROOM; n++)
        set_number(y, c->precision, n, (double)n / 4), set_number(z, c->precision, n, -7);
    seen.calls = 0;
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    assert_int_equal(seen.calls, c->is_single ? c->k : 1);
    if (c->is_host)
        assert_ptr_equal(seen.operands.y, seen.operands.z);
    else
        assert_ptr_equal(seen.operands.y, y);
    if (!c->is_single) assert_int_equal(seen.operands.ldy, c->is_host ? call.ldz : call.ldy);
    assert_true(seen.z == (c->is_host ? 0 : -7));
    for (int64_t n = 0; n < ROOM; n++) {
        const int64_t line = n / call.ldz, in = n % call.ldz;
        const bool is_written = in < least && line < (c->layout == SPMV_ROWS ? N : c->k);
        const double before = c->is_host ? (double)(line * call.ldy + in) / 4 : -7;
        assert_true(number_at(z, c->precision, n) == (is_written ? before + 1 : -7));
        assert_true(number_at(y, c->precision, n) == (double)n / 4);
    }
}

static void try_y(spmv_mat *mat, const y_case *c) {
    const spmv_plan_opts opts = {.size = sizeof opts, .precision = c->precision};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    const spmv_kernel *kernel = plan->kernel;
    const spmv_backend *own = plan->device->backend;
    const spmv_kernel adds = {.name = "add_one",
                              .traits = SPMV_PEER,
                              .run = add_one,
                              .run_columns = c->is_single ? NULL : add_one,
                              .run_rows = add_one};
    spmv_backend backend = *own;
    backend.host = c->is_host;
    plan->kernel = &adds;
    plan->device->backend = &backend;
    assert_y_arrives(plan, c);
    plan->device->backend = own;
    plan->kernel = kernel;
}

/* Host kernels add to z in place, so that y is first copied to z; other kernels read y. */
TEST(a_host_has_y_in_z) {
    FREED(scene) s = scene_of();
    for (int n = 0; n < 8; n++)
        for (int64_t k = 2; k <= 3; k++) {
            y_case c = {n & 1, false, n & 2 ? SPMV_F32 : SPMV_F64, SPMV_ROWS, k};
            if (n & 4) c.layout = SPMV_COLUMNS;
            try_y(s.mat, &c);
            c.is_single = true;
            if (n & 4) try_y(s.mat, &c);
        }
}

/* ---- blocks that overlap --------------------------------------------------------------------- */

enum { MOST_LINES = 3, MOST_LENGTH = 2, MOST_LD = 4, BESIDE = MOST_LINES * MOST_LD };

/* Returns the nth block of 0 to MOST_LINES lines of 0 to MOST_LENGTH elements. */
static block nth_block(const float *at, int n) {
    const int64_t lines = n % (MOST_LINES + 1), length = n / (MOST_LINES + 1) % (MOST_LENGTH + 1);
    return (block){at, lines, length, 1 + n / (MOST_LINES + 1) / (MOST_LENGTH + 1)};
}

static bool have_common_element(const block *a, const block *b) {
    for (int64_t i = 0; i < a->lines * a->length; i++)
        for (int64_t j = 0; j < b->lines * b->length; j++)
            if ((const float *)a->at + i / a->length * a->ld + i % a->length ==
                (const float *)b->at + j / b->length * b->ld + j % b->length)
                return true;
    return false;
}

TEST(blocks_meet_if_they_have_an_element_in_common) {
    enum { BLOCKS = (MOST_LINES + 1) * (MOST_LENGTH + 1) * MOST_LD };
    static const float memory[3 * BESIDE];
    int64_t met = 0;
    for (int n = 0; n < BLOCKS * BLOCKS; n++)
        for (int at = 0; at < 2 * BESIDE; at++) {
            const block a = nth_block(memory + at, n / BLOCKS),
                        b = nth_block(memory + BESIDE, n % BLOCKS);
            const bool do_meet = have_common_element(&a, &b);
            met += do_meet;
            if (meet(&a, &b, sizeof *memory) != do_meet)
                fail_msg("%d x %d, ld %d, at %d, and %d x %d, ld %d, at %d", (int)a.lines,
                         (int)a.length, (int)a.ld, at, (int)b.lines, (int)b.length, (int)b.ld,
                         BESIDE);
        }
    assert_true(met > 1000);
}

/* ---- which function of a kernel multiplies, and in which memory ----------------------------- */

static struct {
    int one, rows;
    spmv_operands operands; /* of the last call */
} called;

static spmv_status note_one(const spmv_plan *plan, const spmv_operands *v) {
    (void)plan;
    called.one++, called.operands = *v;
    return SPMV_OK;
}

static spmv_status note_rows(const spmv_plan *plan, const spmv_operands *v) {
    (void)plan;
    called.rows++, called.operands = *v;
    return SPMV_OK;
}

enum { MOST_COLUMNS = 2 * SPMV_PANEL_VECTORS };
static const double no_numbers[MOST_COLUMNS * N];
static double any_numbers[MOST_COLUMNS * N];

static spmv_call call_with_gaps(int64_t ldx, int64_t ldy, int64_t ldz) {
    static const double one = 1;
    return WITH(spmv_call, .beta = &one, .x = no_numbers, .y = no_numbers, .z = any_numbers,
                .layout = SPMV_ROWS, .ldx = ldx, .ldy = ldy, .ldz = ldz);
}

/* One vector in rows is contiguous unless its leading dimension exceeds 1. */
TEST(rows_of_one_contiguous_vector_are_a_vector) {
    FREED(scene) s = scene_of();
    const spmv_kernel *own = s.plan->kernel,
                      notes = {.name = "notes", .run = note_one, .run_rows = note_rows};
    s.plan->kernel = &notes;
    for (int n = 0; n < 27; n++) {
        const int64_t ldx = n % 3, ldy = n / 3 % 3, ldz = n / 9;
        const spmv_call call = call_with_gaps(ldx, ldy, ldz);
        const bool is_apart = ldx == 2 || ldy == 2 || ldz == 2;
        called.one = called.rows = 0;
        assert_int_equal(spmv_apply(s.plan, &call, NULL), SPMV_OK);
        assert_int_equal(called.rows, is_apart);
        assert_int_equal(called.one, !is_apart);
        /* Rows need no copy of y in z. */
        assert_ptr_equal(called.operands.y, is_apart ? no_numbers : any_numbers);
    }
    s.plan->kernel = own;
}

/* If a kernel needs contiguous vectors, products pack vectors into the panel of their slot; the
 * plan's facts include all panels. */
TEST(each_slot_has_a_panel) {
    enum { BYTES = SPMV_PANEL_VECTORS * 2 * N * sizeof(double) };
    FREED(scene) s = scene_of();
    const spmv_kernel *own = s.plan->kernel, notes = {.name = "notes", .run = note_one};
    const size_t scratch = plan_facts_of(s.plan).scratch_bytes;
    const spmv_call call = call_with_gaps(2, 2, 2);
    s.plan->kernel = &notes;
    s.plan->panels = SPMV_SLOTS;
    for (int slot = 0; slot < SPMV_SLOTS; slot++) {
        assert_int_equal(spmv_apply(s.plan, &call, NULL), SPMV_OK);
        assert_ptr_equal(called.operands.x, (char *)s.plan->panel + (size_t)slot * BYTES);
        assert_ptr_equal(called.operands.z, (const double *)called.operands.x + BYTES / 2 / 8);
        assert_int_equal(s.plan->busy[slot], 0);
        s.plan->busy[slot] = 1 + spmv_host_forks(); /* another product has it from now on */
    }
    s.plan->kernel = own;
    assert_int_equal(plan_facts_of(s.plan).scratch_bytes, scratch + SPMV_SLOTS * BYTES);
}

/* Vectors are packed SPMV_PANEL_VECTORS at a time, the remaining ones last. */
TEST(panels_hold_all_vectors) {
    FREED(scene) s = scene_of();
    const spmv_kernel *own = s.plan->kernel,
                      notes = {.name = "notes", .run = note_one, .run_columns = note_one};
    s.plan->kernel = &notes;
    for (int64_t k = 1; k <= MOST_COLUMNS; k++) {
        spmv_call call = call_with_gaps(k > 1 ? k : 2, 0, 0);
        call.k = k;
        called.one = 0;
        assert_int_equal(spmv_apply(s.plan, &call, NULL), SPMV_OK);
        assert_int_equal(called.one, (k + SPMV_PANEL_VECTORS - 1) / SPMV_PANEL_VECTORS);
        assert_int_equal(called.operands.k, (k - 1) % SPMV_PANEL_VECTORS + 1);
    }
    s.plan->kernel = own;
}

/* ---- what sums are computed in -------------------------------------------------------------- */

enum { SUMS_BYTES = 100 };
static struct {
    int allocations;
    void *memory;
} room;

static spmv_status take_dirty(spmv_device *d, size_t bytes, void **out) {
    const spmv_status status = spmv_omp.alloc(d, bytes, out);
    if (status != SPMV_OK) return status;
    room.allocations++, room.memory = *out;
    memset(*out, 0xff, bytes);
    return SPMV_OK;
}

/* Says whether its room is all 0, and leaves something there. */
static spmv_status sum_nothing(spmv_device *d, void *stream, const spmv_sums *s) {
    static const char zeros[SUMS_BYTES];
    (void)d, (void)stream;
    const bool is_new = s->room && memcmp(s->room, zeros, SUMS_BYTES) == 0;
    *(double *)s->zz = is_new ? 1 : 2;
    if (s->room) memset(s->room, 1, SUMS_BYTES);
    return SPMV_OK;
}

/* A backend's sums use zeroed workspace, which the plan keeps for the next sums. */
TEST(sums_have_a_room_of_the_plan) {
    FREED(scene) s = scene_of();
    const spmv_backend *own = s.plan->device->backend;
    spmv_backend backend = *own;
    double zz[2] = {0};
    backend.alloc = take_dirty, backend.sums = sum_nothing, backend.sums_bytes = SUMS_BYTES;
    s.plan->device->backend = &backend;
    for (int n = 0; n < 2; n++) {
        spmv_call call = call_of(&s);
        call.dot_zz = zz + n;
        assert_int_equal(spmv_apply(s.plan, &call, NULL), SPMV_OK);
        assert_int_equal(room.allocations, 1);
        assert_ptr_equal(s.plan->sums_room, room.memory);
    }
    s.plan->device->backend = own;
    assert_true(zz[0] == 1 && zz[1] == 2);
}

TEST_MAIN(take_backend, NULL, NULL)
