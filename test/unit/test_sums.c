/* test_sums.c: sums that spmv_apply makes on the way, w'z and z'z: against sums in long double, in
 * both layouts, with leading dimensions, by the transpose, with every w there may be; the same bits
 * whatever threads and other vectors there are; in graphs; and every argument that is wrong. */
#include "streams.h"

enum { MOST = 17 /* vectors */, AROUND = 3 /* numbers that must stay */ };

typedef enum which { W_OTHER, W_IS_X, W_IS_Y, W_IS_Z, NO_W, WHICH } which;

typedef struct trial {
    spmv_precision precision;
    spmv_layout layout;
    int64_t k, padding;
    which w;
    spmv_op op;
    double alpha, beta;
    bool wants_wz, wants_zz;
} trial;

typedef struct vectors { /* there and here; [n] of each of MOST vectors, with room between them */
    const spmv_plan *plan;
    int64_t rows, cols; /* dimensions of the product */
    size_t bytes, width;
    void *there[4]; /* x, y, z, w */
    char *here[4];
    void *dots[2]; /* w'z and z'z, with AROUND numbers in front and behind */
    char *got[2];
} vectors;
enum { X, Y, Z, W };

static int64_t ld_of(const trial *t, int64_t n) {
    return (t->layout == SPMV_ROWS ? t->k : n) + t->padding;
}

static int64_t place(const trial *t, int64_t n, int64_t i, int64_t j) {
    return t->layout == SPMV_ROWS ? i * ld_of(t, n) + j : j * ld_of(t, n) + i;
}

/* Vector j has the same elements for all k and layouts; the gaps are NaN. */
static vectors vectors_of(const spmv_plan *plan, const trial *t, int64_t longest) {
    const bool is_turned = plan->op == SPMV_BOTH && t->op == SPMV_TRANSPOSE;
    vectors v = {.plan = plan,
                 .rows = is_turned ? plan->cols : plan->rows,
                 .cols = is_turned ? plan->rows : plan->cols,
                 .width = width_of(t->precision)};
    v.bytes = (size_t)((longest + MOST + 8) * (MOST + 8)) * v.width;
    for (int a = 0; a < 4; a++) {
        const int64_t n = a == X ? v.cols : v.rows;
        v.here[a] = malloc(v.bytes);
        assert_non_null(v.here[a]);
        memset(v.here[a], 0xff, v.bytes); /* NaN */
        for (int64_t j = 0; j < t->k; j++)
            for (int64_t i = 0; i < n; i++)
                set_number(v.here[a], t->precision, place(t, n, i, j),
                           sin(1.0 + (double)i * (1 + 0.25 * a) + 3 * (double)j));
        assert_int_equal(spmv_plan_alloc(plan, v.bytes, &v.there[a]), SPMV_OK);
        assert_int_equal(spmv_plan_put(plan, v.there[a], v.here[a], v.bytes), SPMV_OK);
    }
    for (int d = 0; d < 2; d++) {
        v.got[d] = malloc((MOST + 2 * AROUND) * v.width);
        assert_non_null(v.got[d]);
        memset(v.got[d], 0xa5, (MOST + 2 * AROUND) * v.width);
        assert_int_equal(spmv_plan_alloc(plan, (MOST + 2 * AROUND) * v.width, &v.dots[d]), SPMV_OK);
        assert_int_equal(spmv_plan_put(plan, v.dots[d], v.got[d], (MOST + 2 * AROUND) * v.width),
                         SPMV_OK);
    }
    return v;
}

static void vectors_free(vectors *v) {
    for (int a = 0; a < 4; a++) {
        free(v->here[a]);
        spmv_plan_release(v->plan, v->there[a]);
    }
    for (int d = 0; d < 2; d++) {
        free(v->got[d]);
        spmv_plan_release(v->plan, v->dots[d]);
    }
}

static int array_of(which w) {
    return w == W_IS_X ? X : w == W_IS_Y ? Y : w == W_IS_Z ? Z : W;
}

static spmv_call call_of(const vectors *v, const trial *t, const float *scalars_f32) {
    const int64_t rows = v->rows, cols = v->cols;
    const bool is_f32 = t->precision == SPMV_F32;
    return WITH(spmv_call, .alpha = is_f32 ? NULL : &t->alpha, .beta = is_f32 ? NULL : &t->beta,
                .alpha_f32 = is_f32 ? &scalars_f32[0] : NULL,
                .beta_f32 = is_f32 ? &scalars_f32[1] : NULL, .x = v->there[X], .y = v->there[Y],
                .z = v->there[Z], .k = t->k, .ldx = ld_of(t, cols), .ldy = ld_of(t, rows),
                .ldz = ld_of(t, rows), .layout = t->layout, .op = t->op,
                .w = t->w == NO_W ? NULL : v->there[array_of(t->w)], .ldw = ld_of(t, rows),
                .dot_wz = t->wants_wz ? (char *)v->dots[0] + AROUND * v->width : NULL,
                .dot_zz = t->wants_zz ? (char *)v->dots[1] + AROUND * v->width : NULL);
}

/* A GPU's products are on the default stream. */
static void fetch(vectors *v) {
    settle(v->plan);
    assert_int_equal(spmv_plan_get(v->plan, v->here[Z], v->there[Z], v->bytes), SPMV_OK);
    for (int d = 0; d < 2; d++)
        assert_int_equal(
            spmv_plan_get(v->plan, v->got[d], v->dots[d], (MOST + 2 * AROUND) * v->width), SPMV_OK);
}

/* Counts errors of sums: sums are rounded in double precision along some path of additions, and
 * once to the plan's precision; elements around them must not change. */
static int wrong_sums(const vectors *v, const trial *t) {
    const int64_t n = v->rows;
    const double path = 64 + (double)n / 64, last = t->precision == SPMV_F32 ? 0x1p-23 : 0x1p-52;
    int wrong = 0;
    for (int d = 0; d < 2; d++) {
        const bool is_wanted = d == 0 ? t->wants_wz : t->wants_zz;
        const char *w = v->here[d == 1 ? Z : array_of(t->w)];
        for (int64_t j = 0; j < MOST + 2 * AROUND; j++) {
            char blank[sizeof(double)];
            memset(blank, 0xa5, sizeof blank);
            const int64_t vector = j - AROUND;
            if (!is_wanted || vector < 0 || vector >= t->k) {
                wrong += memcmp(v->got[d] + (size_t)j * v->width, blank, v->width) != 0;
                continue;
            }
            long double sum = 0, mass = 0;
            for (int64_t i = 0; i < n; i++) {
                const int64_t at = place(t, n, i, vector);
                const long double term = (long double)number_at(w, t->precision, at) *
                                         number_at(v->here[Z], t->precision, at);
                sum += term, mass += fabsl(term);
            }
            const double got = number_at(v->got[d], t->precision, j);
            wrong += !(fabsl(got - sum) <= path * 0x1p-53L * mass + last * fabsl(sum));
        }
    }
    return wrong;
}

static int try_once(const spmv_plan *plan, const trial *t, int64_t longest) {
    const float scalars[] = {(float)t->alpha, (float)t->beta};
    vectors v = vectors_of(plan, t, longest);
    const spmv_call call = call_of(&v, t, scalars);
    int wrong = 0;
    for (int again = 0; again < 2; again++) { /* in the same room */
        const spmv_status status = spmv_apply(plan, &call, NULL);
        if (status != SPMV_OK) fail_msg("%s", spmv_ctx_error(plan->device->ctx));
        fetch(&v);
        wrong += wrong_sums(&v, t);
    }
    vectors_free(&v);
    return wrong;
}

/* ---- what is tried --------------------------------------------------------------------------- */

static spmv_plan *plan_by(spmv_mat *mat, const char *kernel, spmv_precision precision, spmv_op op,
                          int threads) {
    const spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel, .precision = precision,
                                     .op = op, .threads = threads);
    spmv_plan *plan = NULL;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) fail_msg("%s", spmv_ctx_error(mat->ctx));
    return plan;
}

static spmv_mat *mat_of(spmv_ctx *ctx, const char *source) {
    spmv_mat *mat = NULL;
    if (spmv_mat_load(ctx, source, NULL, &mat) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return mat;
}

static const char *const kernels[] = {"omp:csr_rows", "omp:csr_serial", "omp:sell_slices",
                                      "cuda:csr_warp", "cuda:csell_warp"};

/* Returns whether the kernel's backend is tested and has it. */
static bool is_tried(spmv_ctx *ctx, const char *kernel) {
    spmv_kernel_id id;
    int count = 0;
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        if (strncmp(kernel, (*b)->name, strlen((*b)->name)) == 0 && is_tested(ctx, *b) &&
            spmv_kernel_find(ctx, kernel, &id, 1, &count) == SPMV_OK)
            return true;
    return false;
}

/* Returns how many sums are wrong of all ways to ask for them. */
static int try_all(spmv_plan *plan, spmv_precision precision, bool is_square, int64_t longest) {
    static const int64_t counts[] = {1, 3, 8, MOST};
    int wrong = 0, n = 0;
    for (int op = SPMV_AS_IS; op <= SPMV_TRANSPOSE; op++)
        for (int c = 0; c < COUNT(counts); c++)
            for (int layout = SPMV_COLUMNS; layout <= SPMV_ROWS; layout++)
                for (int w = 0; w < WHICH; w++, n++) {
                    if (plan->op != SPMV_BOTH && plan->op != (spmv_op)op) continue;
                    if (w == W_IS_X && !is_square) continue;
                    const trial t = {.precision = precision,
                                     .layout = (spmv_layout)layout,
                                     .k = counts[c],
                                     .padding = n % 3,
                                     .w = (which)w,
                                     .op = (spmv_op)op,
                                     .alpha = 1.5,
                                     .beta = n % 2,
                                     .wants_wz = w != NO_W,
                                     .wants_zz = w == NO_W || n % 3 != 1};
                    wrong += try_once(plan, &t, longest);
                }
    return wrong;
}

TEST(sums_are_right) {
    static const struct {
        const char *source;
        int64_t longest;
        bool is_square;
        spmv_op op;
    } some[] = {{"gen:poisson2d:31x23", 713, true, SPMV_AS_IS},
                {"gen:random:300:3:211", 300, false, SPMV_BOTH},
                {"gen:mesh:1500", 1500, true, SPMV_TRANSPOSE},
                {"gen:poisson2d:100x43", 4300, true, SPMV_AS_IS},
                {"gen:poisson2d:1", 1, true, SPMV_AS_IS}};
    FREED(spmv_ctx) *ctx = context_of(3);
    const int matrices = is_emulated() ? 3 : COUNT(some); /* the others take long */
    int tried = 0;
    for (int k = 0; k < COUNT(kernels); k++)
        for (int m = 0; is_tried(ctx, kernels[k]) && m < matrices; m++) {
            FREED(spmv_mat) *mat = mat_of(ctx, some[m].source);
            for (int p = 0; p < 2; p++, tried++) {
                FREED(spmv_plan) *plan = plan_by(mat, kernels[k], (spmv_precision)p, some[m].op, 0);
                assert_int_equal(
                    try_all(plan, (spmv_precision)p, some[m].is_square, some[m].longest), 0);
            }
        }
    assert_true(tried > 0);
}

/* No rows: sums of nothing are 0. */
TEST(sums_of_nothing_are_zero) {
    FREED(spmv_ctx) *ctx = context_of(2);
    const int64_t row_ptr[] = {0};
    const spmv_csr_view none = {.size = sizeof(spmv_csr_view), .cols = 1, .row_ptr = row_ptr};
    FREED(spmv_mat) *mat = NULL;
    assert_int_equal(spmv_mat_csr(ctx, &none, &mat), SPMV_OK);
    for (int k = 0; k < COUNT(kernels); k++) {
        if (!is_tried(ctx, kernels[k])) continue;
        FREED(spmv_plan) *plan = plan_by(mat, kernels[k], SPMV_F64, SPMV_AS_IS, 0);
        const trial t = {.k = 3, .layout = SPMV_COLUMNS, .wants_wz = true, .wants_zz = true};
        vectors v = vectors_of(plan, &t, 1);
        const spmv_call call = {
            .size = sizeof call, .x = v.there[X], .k = 3, .dot_wz = v.dots[0], .dot_zz = v.dots[1]};
        assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
        fetch(&v);
        for (int d = 0; d < 2; d++)
            for (int64_t j = 0; j < 3; j++) assert_true(number_at(v.got[d], SPMV_F64, j) == 0);
        vectors_free(&v);
    }
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* z is y, so that its bits do not depend on the kernel. */
static void bits_of(spmv_mat *mat, const char *kernel, int threads, const trial *t, char *out) {
    FREED(spmv_plan) *plan = plan_by(mat, kernel, t->precision, SPMV_AS_IS, threads);
    const float scalars[] = {(float)t->alpha, (float)t->beta};
    vectors v = vectors_of(plan, t, plan->rows);
    const spmv_call call = call_of(&v, t, scalars);
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    fetch(&v);
    assert_int_equal(wrong_sums(&v, t), 0);
    for (int d = 0; d < 2; d++)
        memcpy(out + (size_t)d * MOST * v.width, v.got[d] + AROUND * v.width,
               (size_t)t->k * v.width);
    vectors_free(&v);
}

TEST(bits_depend_on_the_length_alone) {
    static const int64_t counts[] = {1, 2, 8, 9};
    FREED(spmv_ctx) *ctx = context_of(5);
    /* More rows than one thread adds up. */
    FREED(spmv_mat) *mat =
        mat_of(ctx, is_emulated() ? "gen:poisson2d:41x31" : "gen:poisson2d:97x131");
    for (int k = 0; k < COUNT(kernels); k++)
        for (int p = 0; is_tried(ctx, kernels[k]) && p < 2; p++) {
            const size_t width = width_of((spmv_precision)p);
            char first[2 * MOST * sizeof(double)], other[2 * MOST * sizeof(double)];
            trial t = {.precision = (spmv_precision)p,
                       .layout = SPMV_COLUMNS,
                       .k = MOST,
                       .op = SPMV_AS_IS,
                       .beta = 1,
                       .wants_wz = true,
                       .wants_zz = true};
            bits_of(mat, kernels[k], 1, &t, first);
            for (int n = 0; n < 2 * COUNT(counts); n++) {
                t.k = counts[n / 2];
                t.layout = n % 2 ? SPMV_ROWS : SPMV_COLUMNS;
                t.padding = n % 3;
                bits_of(mat, kernels[k], 1 + n % 5, &t, other);
                for (int d = 0; d < 2; d++)
                    assert_memory_equal(first + (size_t)d * MOST * width,
                                        other + (size_t)d * MOST * width, (size_t)t.k * width);
            }
        }
}

/* ---- the check is checked -------------------------------------------------------------------- */

typedef enum sums_fault {
    NO_FAULT,
    SWAPS_KINDS,
    LOSES_LAST_ROW,
    IGNORES_ROW_STEP,
    IGNORES_VECTOR_STEP,
    ADDS_IN_FLOAT,
    LOSES_LAST_VECTOR,
    TAKES_Z_FOR_W,
    WRITES_UNWANTED,
    FAULTS
} sums_fault;

static sums_fault planted;
static spmv_status (*real_sums)(spmv_device *d, void *stream, const spmv_sums *s);

static spmv_status planted_sums(spmv_device *d, void *stream, const spmv_sums *s) {
    spmv_sums own = *s;
    if (planted == SWAPS_KINDS && s->wz && s->zz) own.wz = s->zz, own.zz = s->wz;
    if (planted == LOSES_LAST_ROW) own.n--;
    if (planted == IGNORES_ROW_STEP) own.w_row = own.z_row = 1;
    if (planted == IGNORES_VECTOR_STEP && s->w_row == 1) own.w_vector = own.z_vector = s->n;
    if (planted == LOSES_LAST_VECTOR) own.k--;
    if (planted == TAKES_Z_FOR_W) own.w = s->z;
    if (planted == WRITES_UNWANTED && s->wz && !s->zz && s->k <= AROUND)
        own.zz = (char *)s->wz + (size_t)s->k * s->width;
    TRY(real_sums(d, stream, &own));
    if (planted == ADDS_IN_FLOAT && s->width == sizeof(double) && s->wz)
        ((double *)s->wz)[0] *= 1 + 0x1p-24;
    return SPMV_OK;
}

/* On a CPU, whose sums the test can reach. */
TEST(planted_faults_are_caught) {
    if (only_backend && strcmp(only_backend, "omp") != 0) skip();
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = mat_of(ctx, "gen:mesh:700");
    FREED(spmv_plan) *plan = plan_by(mat, "omp:csr_rows", SPMV_F64, SPMV_AS_IS, 0);
    spmv_device device = *plan->device, *before = plan->device;
    spmv_backend backend = *device.backend;
    real_sums = backend.sums;
    backend.sums = planted_sums;
    device.backend = &backend;
    plan->device = &device;
    for (int fault = NO_FAULT; fault < FAULTS; fault++) {
        planted = (sums_fault)fault;
        const int wrong = try_all(plan, SPMV_F64, true, 700);
        if ((fault == NO_FAULT) != (wrong == 0)) fail_msg("fault %d: %d are wrong", fault, wrong);
    }
    plan->device = before;
}

/* ---- graphs and memory ----------------------------------------------------------------------- */

/* Each launch of a graph computes the sums again; the plan owns their workspace, and its facts
 * include it. */
TEST(sums_are_made_in_graphs) {
    spmv_ctx *ctx = context_of(2);
    if (!stream_make || !is_tested(ctx, &spmv_cuda)) {
        spmv_ctx_free(ctx);
        skip();
    }
    spmv_mat *mat = mat_of(ctx, "gen:mesh:3000");
    spmv_plan *plan = plan_by(mat, "cuda:csr_warp", SPMV_F64, SPMV_AS_IS, 0);
    const trial t = {.k = 1,
                     .layout = SPMV_COLUMNS,
                     .op = SPMV_AS_IS,
                     .alpha = 1,
                     .w = W_IS_X,
                     .wants_wz = true,
                     .wants_zz = true};
    vectors v = vectors_of(plan, &t, 3000);
    spmv_call call = call_of(&v, &t, NULL);
    void *stream = NULL, *graph = NULL;
    spmv_plan_facts facts = plan_facts_of(plan);
    const size_t without = facts.scratch_bytes;
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    fetch(&v);
    spmv_plan_info(plan, &facts);
    assert_int_equal(facts.scratch_bytes, without + spmv_cuda.sums_bytes);
    assert_done(stream_make(&stream));
    assert_done(stream_capture(stream));
    for (int n = 0; n < 3; n++) assert_int_equal(spmv_apply(plan, &call, stream), SPMV_OK);
    assert_done(stream_end_capture(stream, &graph));
    for (int round = 1; round < 4; round++) {
        for (int64_t i = 0; i < 3000; i++)
            set_number(v.here[X], SPMV_F64, i, cos((double)(i * round)));
        assert_int_equal(spmv_plan_put(plan, v.there[X], v.here[X], v.bytes), SPMV_OK);
        assert_done(graph_launch(graph, stream));
        assert_done(stream_wait(stream));
        fetch(&v);
        assert_int_equal(wrong_sums(&v, &t), 0);
    }
    assert_done(graph_free(graph));
    assert_done(stream_free(stream));
    vectors_free(&v);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    spmv_ctx_free(ctx);
}

/* ---- wrong arguments ------------------------------------------------------------------------- */

TEST(wrong_sums_are_refused) {
    enum { N = 100 };
    static double x[2 * N], z[2 * N], w[3 * N], dots[4];
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = mat_of(ctx, "gen:poisson2d:10");
    FREED(spmv_plan) *plan = plan_by(mat, "omp:csr_rows", SPMV_F64, SPMV_AS_IS, 0);
    const spmv_call right = {
        .size = sizeof right, .x = x, .z = z, .k = 2, .w = w, .dot_wz = dots, .dot_zz = dots + 2};
    spmv_call call[9];
    static const char *const says[][2] = {
        {"w is NULL, and dot_wz is not", ""},        {"ldw is 99, must be 100 or more", ""},
        {"w and z, 200 numbers", "overlap in part"}, {"w and z, 200 numbers", "overlap in part"},
        {"dot_wz, 2 numbers", "overlaps z"},         {"dot_zz, 2 numbers", "overlaps z"},
        {"dot_zz, 2 numbers", "overlaps w"},         {"dot_zz, 2 numbers", "overlaps dot_wz"},
        {"ldw is", "more than memory can have"}};
    for (int n = 0; n < 9; n++) call[n] = right;
    call[0].w = NULL;
    call[1].ldw = N - 1;
    call[2].w = z + 1;
    call[3].w = z, call[3].ldw = N + 1; /* z itself, but with other steps */
    call[4].dot_wz = z + 2 * N - 1;
    call[5].dot_zz = z;
    call[6].dot_zz = w + N;
    call[7].dot_zz = dots + 1;
    call[8].ldw = INT64_MAX / 8;
    z[0] = 5;
    for (int n = 0; n < 9; n++) {
        assert_int_equal(spmv_apply(plan, &call[n], NULL), SPMV_E_ARG);
        for (int part = 0; part < 2; part++)
            if (!strstr(spmv_ctx_error(ctx), says[n][part]))
                fail_msg("'%s' does not say '%s'", spmv_ctx_error(ctx), says[n][part]);
        assert_true(z[0] == 5); /* nothing ran */
    }
    assert_int_equal(spmv_apply(plan, &right, NULL), SPMV_OK);
    call[0].dot_wz = NULL; /* z'z alone needs no w */
    assert_int_equal(spmv_apply(plan, &call[0], NULL), SPMV_OK);
    FREED(spmv_mat) *one = mat_of(ctx, "gen:diagonal:1");
    FREED(spmv_plan) *of_one = plan_by(one, "omp:csr_rows", SPMV_F64, SPMV_AS_IS, 0);
    call[0].k = 1, call[0].dot_wz = dots;
    assert_int_equal(spmv_apply(of_one, &call[0], NULL), SPMV_E_ARG);
}

TEST_MAIN(take_backend, NULL, NULL)
