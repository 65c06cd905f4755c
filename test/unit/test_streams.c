/* test_streams.c: on a GPU, products on the caller's streams: behind other kernels, in a CUDA
 * graph, beside each other, and of a matrix whose values a kernel in front has just written. */
#include "streams.h"
#include "formats/csr/csr.h"
#include "formats/sell/sell.h"
#include "test/solver.h"

#pragma weak solver_make
#pragma weak solver_free
#pragma weak solver_restart
#pragma weak solver_step
#pragma weak solver_fetch

/* Without a GPU these tests are skipped. */
static spmv_ctx *gpu_context(void) {
    spmv_ctx *ctx = context_of(2);
    if (stream_make && is_usable(ctx, &spmv_cuda)) return ctx;
    spmv_ctx_free(ctx);
    skip();
    return NULL;
}

static spmv_mat *mat_of(spmv_ctx *ctx, const char *source) {
    return must_load(ctx, source);
}

static spmv_plan *plan_on_gpu(spmv_mat *mat, const char *kernel, spmv_place scalars) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .scalars = scalars};
    spmv_plan *plan = NULL;
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    if (status != SPMV_OK) fail_msg("%s: %s", kernel, spmv_ctx_error(mat->ctx));
    return plan;
}

static void *memory_of(const spmv_plan *plan, size_t bytes) {
    void *memory = NULL;
    assert_int_equal(spmv_plan_alloc(plan, bytes, &memory), SPMV_OK);
    return memory;
}

/* ---- behind another kernel, and two of one plan ---------------------------------------------- */

typedef struct queue { /* x and y of two products of one plan, with guards */
    workplace w;
    void *late_x, *second_y;
} queue;

/* Launches two products, which read an x that the preceding kernel writes late; the second waits
 * for nothing else, and uses the same scratch of the plan. */
static void launch_two(const setup *c, const subject *s, const queue *q, bool triggers,
                       void *stream) {
    const size_t guard = GUARD * q->w.width;
    const spmv_plan *plan = q->w.plan;
    const void *x = (char *)q->w.x + guard;
    void *late_x = (char *)q->late_x + guard;
    assert_done(stream_write_late(s->cols, c->precision, x, 1, triggers, late_x, stream));
    if (spmv_exec_async(plan, 2, late_x, -1, (char *)q->w.y + guard, stream) != SPMV_OK ||
        spmv_exec_async(plan, 2, late_x, -1, (char *)q->second_y + guard, stream) != SPMV_OK)
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    assert_done(stream_wait(stream));
}

static void try_queue(const setup *c, const subject *s, spmv_plan *plan, bool triggers) {
    const scaling ab = {2, -1};
    void *stream = NULL;
    queue q = {.w = workplace_of(plan, s, c->precision)};
    q.late_x = memory_of(plan, q.w.x_bytes);
    q.second_y = memory_of(plan, q.w.y_bytes);
    char *poison = malloc(q.w.x_bytes);
    assert_non_null(poison);
    memset(poison, 0xff, q.w.x_bytes); /* NaN */
    assert_int_equal(spmv_plan_put(plan, q.late_x, poison, q.w.x_bytes), SPMV_OK);
    free(poison);
    assert_int_equal(spmv_plan_put(plan, q.w.y, s->before[c->precision], q.w.y_bytes), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, q.second_y, s->before[c->precision], q.w.y_bytes),
                     SPMV_OK);
    assert_done(stream_make(&stream));
    launch_two(c, s, &q, triggers, stream);
    assert_done(stream_free(stream));
    assert_int_equal(spmv_plan_get(plan, q.w.fetched, q.w.y, q.w.y_bytes), SPMV_OK);
    check_result(c, s, &q.w, ab);
    assert_int_equal(spmv_plan_get(plan, q.w.fetched, q.second_y, q.w.y_bytes), SPMV_OK);
    check_result(c, s, &q.w, ab);
    tally.products += 2;
    spmv_plan_release(plan, q.late_x);
    spmv_plan_release(plan, q.second_y);
    workplace_free(&q.w);
}

static void try_kernel(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    (void)kernel;
    for (int variant = 0; !backend->host && variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        FREED(spmv_plan) *plan = plan_of(&c, s);
        for (int triggers = 0; plan && triggers < 2; triggers++)
            try_queue(&c, s, plan, triggers != 0);
    }
}

TEST(products_follow_other_kernels) {
    static const char *const names[] = {"gen:mesh:3000", "gen:giantrow:3000", "gen:poisson2d:200"};
    FREED(spmv_ctx) *ctx = gpu_context();
    for (int n = 0; n < COUNT(names) - is_emulated(); n++) { /* the last is large */
        subject s = random_subject(mat_of(ctx, names[n]), names[n]);
        visit_kernels(try_kernel, &s);
        assert_true(tally.products > 0);
        assert_int_equal(tally.wrong, 0);
        subject_free(&s);
    }
}

/* ---- in a graph ------------------------------------------------------------------------------ */

/* The residual of x, of b's size. */
static double residual(const spmv_mat *mat, const double *b, const double *x) {
    double missing = 0, all = 0;
    for (int64_t i = 0; i < mat->csr.rows; i++) {
        double r = b[i];
        for (int64_t k = mat->csr.row_ptr[i]; k < mat->csr.row_ptr[i + 1]; k++)
            r -= mat->csr.values[k] * x[mat->csr.col_idx[k]];
        missing += r * r, all += b[i] * b[i];
    }
    return sqrt(missing / all);
}

/* An iteration with a memset in front of the product, captured and replayed until x is there; then
 * z = b - A x by scalars on the device, in the same stream. */
static void solve(spmv_mat *mat, const char *kernel) {
    enum { ITERATIONS = 600 };
    const int64_t n = mat->csr.rows;
    FREED(spmv_plan) *plan = plan_on_gpu(mat, kernel, SPMV_DEVICE);
    FREED(double) *b = random_vector(3, n), *x = malloc((size_t)n * sizeof *x);
    const double scalars[] = {-1, 1};
    void *stream = NULL, *graph = NULL, *there = memory_of(plan, sizeof scalars);
    solver s;
    assert_non_null(x);
    assert_int_equal(spmv_plan_put(plan, there, scalars, sizeof scalars), SPMV_OK);
    assert_done(stream_make(&stream));
    assert_done(solver_make(n, b, &s));
    assert_done(solver_restart(&s, stream));
    assert_done(stream_wait(stream));
    assert_done(stream_capture(stream));
    assert_done(stream_clear(s.q, (size_t)n * sizeof *s.q, stream));
    spmv_status status = spmv_exec_async(plan, 1, s.p, 0, s.q, stream);
    assert_done(solver_step(&s, stream));
    assert_done(stream_end_capture(stream, &graph));
    if (status != SPMV_OK) fail_msg("%s: %s", kernel, spmv_ctx_error(mat->ctx));
    for (int k = 0; k < ITERATIONS; k++) assert_done(graph_launch(graph, stream));
    const spmv_call call =
        WITH(spmv_call, .alpha = there, .beta = (double *)there + 1, .x = s.x, .y = s.b, .z = s.q);
    assert_int_equal(spmv_apply(plan, &call, stream), SPMV_OK);
    assert_done(stream_wait(stream));
    assert_done(solver_fetch(n, s.x, x));
    const double by_host = residual(mat, b, x);
    assert_done(solver_fetch(n, s.q, x));
    double by_gpu = 0, all = 0;
    for (int64_t i = 0; i < n; i++) by_gpu += x[i] * x[i], all += b[i] * b[i];
    if (!(by_host < 1e-9) || !(sqrt(by_gpu / all) < 1e-9))
        fail_msg("%s: residual %g, %g by spmv_apply", kernel, by_host, sqrt(by_gpu / all));
    assert_done(graph_free(graph));
    solver_free(&s);
    assert_done(stream_free(stream));
    spmv_plan_release(plan, there);
}

TEST(an_iteration_is_captured_and_replayed) {
    static const char *const kernels[] = {
        "cuda:csr_warp",    "cuda:csr_lanes",   "cuda:csr_balanced", "cuda:sell_thread_ahead",
        "cuda:csell_lists", "cuda:csell_warp",  "cuda:xcache_block", "cuda:hubs",
        "cuda:bsr_warp",    "cuda:ell_thread",  "cuda:hyb_thread",   "cuda:csr5_tiles",
        "cuda:dia_thread",  "cuda:sell_thread", "cuda:coo_segments", "cuda:csr_shares",
        "cuda:auto"};
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(spmv_mat) *mat = mat_of(ctx, "gen:poisson2d:60");
    for (int k = 0; k < COUNT(kernels); k++) solve(mat, kernels[k]);
}

/* ---- different plans on different streams ---------------------------------------------------- */

enum { PLANS = 6, CHAIN = 200 };

typedef struct chain { /* v1 <- A v0 / norm, v0 <- A v1 / norm, ... */
    spmv_plan *plan;
    double *v[2];
    void *stream;
} chain;

static spmv_status launch_link(const chain *c, int link, double norm) {
    return spmv_exec_async(c->plan, 1 / norm, c->v[link % 2], 0.5, c->v[1 - link % 2], c->stream);
}

static void fetch_chain(const chain *c, int64_t n, double *out) {
    for (int k = 0; k < 2; k++)
        assert_int_equal(spmv_plan_get(c->plan, out + k * n, c->v[k], (size_t)n * sizeof(double)),
                         SPMV_OK);
}

static void start_chain(const chain *c, int64_t n, const double *from) {
    for (int k = 0; k < 2; k++)
        assert_int_equal(spmv_plan_put(c->plan, c->v[k], from, (size_t)n * sizeof *from), SPMV_OK);
}

TEST(chains_run_beside_each_other) {
    static const char *const kernels[PLANS] = {"cuda:csr_balanced", "cuda:csr_balanced",
                                               "cuda:hyb_thread",   "cuda:csr5_tiles",
                                               "cuda:hubs",         "cuda:sell_thread_ahead"};
    enum { ROUNDS = 5 };
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(spmv_mat) *mat = mat_of(ctx, "gen:giantrow:20000:9000");
    const int64_t n = mat->csr.rows;
    const size_t bytes = 2 * (size_t)n * sizeof(double);
    FREED(double) *from = random_vector(5, n), *alone = malloc(bytes), *beside = malloc(bytes);
    chain c[PLANS];
    double norm = 0;
    assert_true(alone && beside);
    for (int64_t k = 0; k < mat->csr.nnz; k++) norm += fabs(mat->csr.values[k]);
    for (int p = 0; p < PLANS; p++) {
        c[p].plan = plan_on_gpu(mat, kernels[p], SPMV_HOST);
        for (int k = 0; k < 2; k++) c[p].v[k] = memory_of(c[p].plan, bytes / 2);
        assert_done(stream_make(&c[p].stream));
    }
    for (int round = 0; round < ROUNDS; round++) {
        int failures = 0;
        for (int p = 0; p < PLANS; p++) start_chain(&c[p], n, from);
        if (round % 2) {
#pragma omp parallel for num_threads(PLANS) reduction(+ : failures)
            for (int p = 0; p < PLANS; p++)
                for (int link = 0; link < CHAIN; link++)
                    failures += launch_link(&c[p], link, norm) != SPMV_OK;
        } else {
            for (int link = 0; link < CHAIN; link++)
                for (int p = 0; p < PLANS; p++)
                    failures += launch_link(&c[p], link, norm) != SPMV_OK;
        }
        assert_int_equal(failures, 0);
        for (int p = 0; p < PLANS; p++) {
            assert_done(stream_wait(c[p].stream));
            fetch_chain(&c[p], n, beside);
            start_chain(&c[p], n, from);
            for (int link = 0; link < CHAIN; link++)
                assert_int_equal(
                    spmv_exec(c[p].plan, 1 / norm, c[p].v[link % 2], 0.5, c[p].v[1 - link % 2]),
                    SPMV_OK);
            fetch_chain(&c[p], n, alone);
            assert_memory_equal(alone, beside, bytes);
        }
    }
    for (int p = 0; p < PLANS; p++) {
        for (int k = 0; k < 2; k++) spmv_plan_release(c[p].plan, c[p].v[k]);
        assert_done(stream_free(c[p].stream));
        spmv_plan_free(c[p].plan);
    }
}

/* ---- values that change ---------------------------------------------------------------------- */

/* The store's values where the plan reads them, and how many. */
static double *values_of_plan(const spmv_plan *plan, int64_t *n) {
    *n = plan->store->slots;
    return strcmp(plan->kernel->format, "sell") == 0 ? ((const sell *)plan->store)->values
                                                     : ((const csr *)plan->store)->values;
}

/* A preceding kernel writes the values late, scaled by 1, 2, 4 or 8, and lets the product start at
 * once if triggers. run: replaces the kernel's function; NULL: does not. Returns the number of
 * wrong elements of y. */
static int refresh_and_multiply(spmv_mat *mat, const char *kernel, int times, bool triggers,
                                spmv_status (*run)(const spmv_plan *, const spmv_operands *)) {
    const int64_t rows = mat->csr.rows;
    spmv_plan *plan = plan_on_gpu(mat, kernel, SPMV_HOST);
    const spmv_kernel *shipped = plan->kernel;
    spmv_kernel planted = *shipped;
    double *ones = random_vector(7, mat->csr.cols);
    int64_t n;
    double *refreshed = values_of_plan(plan, &n);
    double *kept = memory_of(plan, (size_t)n * sizeof *kept);
    double *x = memory_of(plan, (size_t)mat->csr.cols * sizeof *x);
    double *y = memory_of(plan, (size_t)rows * sizeof *y);
    double *once = memory_of(plan, (size_t)rows * sizeof *once);
    int *differ = memory_of(plan, sizeof *differ), found = 0;
    void *stream = NULL;
    assert_int_equal(spmv_plan_put(plan, x, ones, (size_t)mat->csr.cols * sizeof *x), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, differ, &found, sizeof found), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, kept, refreshed, (size_t)n * sizeof *kept), SPMV_OK);
    if (run) planted.run = run, plan->kernel = &planted;
    assert_int_equal(spmv_exec(plan, 1, x, 0, once), SPMV_OK);
    assert_done(stream_make(&stream));
    for (int k = 1; k <= times; k++) {
        const double factor = 1 << k % 4;
        assert_done(stream_write_late(n, SPMV_F64, kept, factor, triggers, refreshed, stream));
        assert_int_equal(spmv_exec_async(plan, 1, x, 0, y, stream), SPMV_OK);
        assert_done(stream_compare(rows, y, factor, once, differ, stream));
    }
    assert_done(stream_wait(stream));
    plan->kernel = shipped;
    assert_int_equal(spmv_plan_get(plan, &found, differ, sizeof found), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, refreshed, kept, (size_t)n * sizeof *kept), SPMV_OK);
    assert_done(stream_free(stream));
    void *owned[] = {kept, x, y, once, differ};
    for (int k = 0; k < COUNT(owned); k++) spmv_plan_release(plan, owned[k]);
    spmv_plan_free(plan);
    free(ones);
    return found;
}

TEST(refreshed_values_are_seen) {
    static const char *const kernels[] = {"cuda:csr_warp", "cuda:csr_lanes", "cuda:csr_balanced",
                                          "cuda:sell_thread_ahead"};
    const int times = is_emulated() ? 20 : 10000;
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(spmv_mat) *mat = mat_of(ctx, "gen:mesh:3000");
    mat->values_change = true;
    for (int k = 0; k < COUNT(kernels); k++)
        for (int triggers = 0; triggers < 2; triggers++)
            assert_int_equal(refresh_and_multiply(mat, kernels[k], times, triggers != 0, NULL), 0);
}

/* Calls spmv_mat_set_values after a kernel that writes the values late, then multiplies, on one
 * stream. Returns the number of wrong elements of y. */
static int set_and_multiply(spmv_mat *mat, const char *kernel, int times, bool triggers) {
    const int64_t rows = mat->csr.rows, n = mat->csr.nnz;
    const size_t bytes = (size_t)n * sizeof(double);
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .refill = 1};
    FREED(spmv_plan) *plan = NULL;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) fail_msg("%s", spmv_ctx_error(mat->ctx));
    FREED(double) *ones = random_vector(7, mat->csr.cols), *first = malloc(bytes);
    double *kept = memory_of(plan, bytes), *fresh = memory_of(plan, bytes);
    double *x = memory_of(plan, (size_t)mat->csr.cols * sizeof *x);
    double *y = memory_of(plan, (size_t)rows * sizeof *y);
    double *once = memory_of(plan, (size_t)rows * sizeof *once);
    int *differ = memory_of(plan, sizeof *differ), found = 0;
    void *stream = NULL;
    spmv_csr_view A = rows_of(mat);
    assert_non_null(first);
    memcpy(first, A.values, bytes);
    assert_int_equal(spmv_plan_put(plan, x, ones, (size_t)mat->csr.cols * sizeof *x), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, kept, first, bytes), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, differ, &found, sizeof found), SPMV_OK);
    assert_int_equal(spmv_exec(plan, 1, x, 0, once), SPMV_OK);
    assert_done(stream_make(&stream));
    for (int k = 1; k <= times; k++) {
        const double factor = 1 << k % 4;
        assert_done(stream_write_late(n, SPMV_F64, kept, factor, triggers, fresh, stream));
        assert_int_equal(spmv_mat_set_values(mat, fresh, SPMV_DEVICE, stream), SPMV_OK);
        assert_int_equal(spmv_exec_async(plan, 1, x, 0, y, stream), SPMV_OK);
        assert_done(stream_compare(rows, y, factor, once, differ, stream));
    }
    assert_done(stream_wait(stream));
    assert_int_equal(spmv_plan_get(plan, &found, differ, sizeof found), SPMV_OK);
    spmv_mat_rows(mat, &A); /* they come back to the host */
    for (int64_t k = 0; k < n; k++) found += A.values[k] != (1 << times % 4) * first[k];
    assert_int_equal(spmv_mat_set_values(mat, first, SPMV_HOST, NULL), SPMV_OK);
    assert_done(stream_free(stream));
    void *owned[] = {kept, fresh, x, y, once, differ};
    for (int k = 0; k < COUNT(owned); k++) spmv_plan_release(plan, owned[k]);
    return found;
}

TEST(new_values_are_ordered_on_the_stream) {
    static const char *const kernels[] = {
        "cuda:csr_lanes",  "cuda:csr_balanced", "cuda:sell_thread_ahead",
        "cuda:csell_warp", "cuda:csell_lists",  "cuda:xcache_block",
        "cuda:hubs"};
    const int times = is_emulated() ? 11 : 10001;
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(spmv_mat) *mat = mat_of(ctx, "gen:mesh:3000");
    for (int k = 0; k < COUNT(kernels); k++)
        for (int triggers = 0; triggers < 2; triggers++)
            assert_int_equal(set_and_multiply(mat, kernels[k], times, triggers != 0), 0);
}

/* Planted: hasty.cu, which waits for nothing. */
__attribute__((weak)) spmv_status hasty_run(const spmv_plan *p, const spmv_operands *v);

/* Without the flag that prevents overlap, a kernel that does not wait reads old values. */
TEST(values_read_too_early_are_caught) {
    spmv_ctx *ctx = gpu_context();
    spmv_device_facts facts;
    spmv_mat *mat = mat_of(ctx, "gen:mesh:3000");
    assert_int_equal(spmv_ctx_describe(ctx, &spmv_cuda, &facts), SPMV_OK);
    bool can_overlap = stream_overlaps(facts.cc);
    if (can_overlap) {
        assert_true(refresh_and_multiply(mat, "cuda:csr_warp", 100, true, hasty_run) > 0);
        mat->values_change = true;
        assert_int_equal(refresh_and_multiply(mat, "cuda:csr_warp", 100, true, hasty_run), 0);
    }
    spmv_mat_free(mat);
    spmv_ctx_free(ctx);
    if (!can_overlap) skip();
}

TEST_MAIN(take_backend, NULL, NULL)
