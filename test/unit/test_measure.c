/* test_measure.c: copies of plans, batches, cache states, when sampling stops, spot checks. */
#include "app/run/session.h"
#include "spmv_clock.h"
#include "scene.h"

/* ---- copies --------------------------------------------------------------------------------- */

TEST(a_copy_multiplies_from_memory_of_its_own) {
    static const char *const kernels[] = {"omp:csr_rows", "omp:csr_tiles_copied", "omp:ell_tiles",
                                          "omp:sell_slices", "omp:csr_balanced"};
    for (int k = 0; k < COUNT(kernels); k++) {
        spmv_plan *copy = NULL;
        FREED(scene) s = scene_of(kernels[k]);
        assert_int_equal(spmv_plan_copy(s.plan, &copy), SPMV_OK);
        if (s.plan->store) assert_ptr_not_equal(copy->store, s.plan->store);
        if (s.plan->scratch) assert_ptr_not_equal(copy->scratch, s.plan->scratch);
        assert_int_equal(copy->traffic_bytes, s.plan->traffic_bytes);
        assert_int_equal(copy->scratch_bytes, s.plan->scratch_bytes);
        assert_int_equal(spmv_exec(copy, 1, s.x, 0, s.y), SPMV_OK);
        assert_memory_equal(s.y, s.once, sizeof s.y);
        spmv_plan_free(copy);
        assert_int_equal(spmv_exec(s.plan, 1, s.x, 0, s.y), SPMV_OK); /* the first still stands */
        assert_memory_equal(s.y, s.once, sizeof s.y);
    }
}

/* ---- batches -------------------------------------------------------------------------------- */

TEST(a_batch_launches_in_turn_as_often_as_asked) {
    double other[ROWS], seconds = -1;
    spmv_batch *batch = NULL;
    FREED(scene) s = scene_of("omp:csr_rows");
    for (int i = 0; i < ROWS; i++) s.y[i] = other[i] = 0;
    spmv_product products[] = {{.plan = s.plan, .x = s.x, .y = s.y},
                               {.plan = s.plan, .x = s.x, .y = other}};
    assert_int_equal(spmv_batch_create(products, 2, 5, 1, 1, &batch), SPMV_OK);
    assert_int_equal(spmv_batch_time(batch, &seconds), SPMV_OK);
    assert_true(seconds >= 0 && seconds < 60);
    assert_string_equal(spmv_batch_how(batch), "loop");
    for (int i = 0; i < ROWS; i++) { /* y += A x three times and twice */
        assert_true(fabs(s.y[i] - 3 * s.once[i]) <= 1e-14);
        assert_true(fabs(other[i] - 2 * s.once[i]) <= 1e-14);
    }
    spmv_batch_free(batch);
}

/* A backend that records: launches are run once more at replay, here by the test. */
static struct {
    int starts, stops, replays, forgets;
    bool fail;
} tape;

static spmv_status tape_start(spmv_device *d) {
    (void)d;
    tape.starts++;
    return SPMV_OK;
}

static spmv_status tape_stop(spmv_device *d, void **recording) {
    tape.stops++;
    *recording = tape.fail ? NULL : &tape;
    return tape.fail ? spmv_fail(d->ctx, SPMV_E_DEVICE, "a kernel that waits") : SPMV_OK;
}

static spmv_status tape_replay(spmv_device *d, void *recording) {
    (void)d;
    assert_ptr_equal(recording, &tape);
    tape.replays++;
    return SPMV_OK;
}

static void tape_forget(spmv_device *d, void *recording) {
    (void)d;
    if (recording) tape.forgets++;
}

TEST(a_batch_is_recorded_once_or_says_why_not) {
    FREED(scene) s = scene_of("omp:csr_rows");
    spmv_device *device = s.plan->device;
    const spmv_backend *real_backend = device->backend;
    spmv_backend recorder = *real_backend;
    recorder.record_start = tape_start;
    recorder.record_stop = tape_stop;
    recorder.replay = tape_replay;
    recorder.forget = tape_forget;
    device->backend = &recorder;
    for (int fail = 0; fail < 2; fail++) {
        spmv_product product = {.plan = s.plan, .x = s.x, .y = s.y};
        spmv_batch *batch = NULL, *single = NULL;
        double seconds;
        memset(&tape, 0, sizeof tape);
        tape.fail = fail;
        assert_int_equal(spmv_batch_create(&product, 1, 20, 1, 0, &batch), SPMV_OK);
        for (int k = 0; k < 3; k++) assert_int_equal(spmv_batch_time(batch, &seconds), SPMV_OK);
        assert_string_equal(spmv_batch_how(batch), fail ? "loop: a kernel that waits" : "graph");
        assert_int_equal(spmv_batch_create(&product, 1, 1, 1, 0, &single), SPMV_OK);
        assert_string_equal(spmv_batch_how(single), "loop"); /* one launch: nothing to save */
        spmv_batch_free(single);
        spmv_batch_free(batch);
        assert_int_equal(tape.starts, 1);
        assert_int_equal(tape.stops, 1);
        assert_int_equal(tape.replays, fail ? 0 : 3);
        assert_int_equal(tape.forgets, fail ? 0 : 1);
        assert_memory_equal(s.y, s.once, sizeof s.y);
    }
    device->backend = real_backend;
}

/* ---- several vectors ------------------------------------------------------------------------- */

enum { K = 18 };

static int64_t place_of(spmv_layout layout, int64_t n, int64_t i, int64_t v) {
    return layout == SPMV_ROWS ? i * K + v : v * n + i;
}

/* Number i of vector v of x: that of the scene's, times v + 1. */
static double *x_of(const scene *s, spmv_layout layout) {
    double *x = malloc(COLS * K * sizeof *x);
    assert_non_null(x);
    for (int64_t j = 0; j < COLS; j++)
        for (int64_t v = 0; v < K; v++) x[place_of(layout, COLS, j, v)] = (double)(v + 1) * s->x[j];
    return x;
}

static void assert_block(const scene *s, spmv_layout layout, const double *y, double times) {
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t v = 0; v < K; v++)
            assert_true(fabs(y[place_of(layout, ROWS, i, v)] -
                             times * (double)(v + 1) * s->once[i]) <= 1e-12);
}

/* Once, as samples and as a batch over copies; the plan is made for one vector. */
TEST(vectors_are_multiplied_in_both_layouts) {
    static const char *const kernels[] = {"omp:csr_rows", "omp:csr_balanced"};
    for (int n = 0; n < 2 * COUNT(kernels); n++) {
        const spmv_layout layout = n % 2 ? SPMV_ROWS : SPMV_COLUMNS;
        timing t = {.inner = 0};
        double *y0 = calloc(ROWS * K, sizeof *y0), *y = malloc(ROWS * K * sizeof *y), seconds;
        assert_true(y0 && y);
        scene s = scene_of(kernels[n / 2]);
        FREED(double) *x = x_of(&s, layout);
        problem p = {.plan = s.plan,
                     .rows = ROWS,
                     .cols = COLS,
                     .k = K,
                     .layout = layout,
                     .alpha = 2,
                     .beta = 1,
                     .x = x,
                     .y0 = y0};
        assert_int_equal(problem_open(&p), SPMV_OK);
        assert_int_equal(problem_once(&p, y), SPMV_OK);
        assert_block(&s, layout, y, 2);
        assert_int_equal(problem_single(&p, &seconds), SPMV_OK);
        assert_int_equal(problem_result(&p, 0, y), SPMV_OK);
        assert_block(&s, layout, y, 4);
        assert_int_equal(problem_copies(&p, 3), SPMV_OK);
        assert_int_equal(problem_batch(&p, &t, 6), SPMV_OK);
        assert_int_equal(problem_sample(&p, &t), SPMV_OK);
        for (int c = 0; c < 3; c++) {
            assert_int_equal(problem_result(&p, c, y), SPMV_OK);
            assert_block(&s, layout, y, 4);
        }
        problem_close(&p);
        scene_close(&s);
        free(t.sample_s);
        free(y0);
        free(y);
    }
}

static spot spot_of(const scene *s, spmv_precision precision, spmv_layout layout) {
    return (spot){s->mat, precision, K, layout};
}

static void put_number(spmv_precision precision, void *all, int64_t at, double value) {
    if (precision == SPMV_F64)
        ((double *)all)[at] = value;
    else
        ((float *)all)[at] = (float)value;
}

/* A right product passes; one number of one vector does not, nor vectors that change places, nor
 * one that was not written. */
TEST(spot_checks_look_at_every_vector) {
    FREED(scene) s = scene_of("omp:csr_rows");
    for (int n = 0; n < 4; n++) {
        const spmv_precision precision = (spmv_precision)(n % 2);
        const spmv_layout layout = n / 2 ? SPMV_ROWS : SPMV_COLUMNS;
        const spot check = spot_of(&s, precision, layout);
        const spmv_plan_opts opts = {
            .size = sizeof opts, .kernel = "omp:csr_serial", .precision = precision};
        FREED(double) *x = malloc(COLS * K * sizeof *x), *y = malloc(ROWS * K * sizeof *y);
        double *kept = malloc(ROWS * K * sizeof *kept), seconds;
        assert_true(x && y && kept);
        FREED(spmv_plan) *plan = must_plan(s.mat, &opts);
        const spmv_product product = {.plan = plan, .x = x, .y = y, .k = K, .layout = layout};
        spot_check_vary(&check, 2, x);
        spot_check_wipe(&check, y);
        assert_int_equal(spot_check(&check, y), SPMV_E_UNSUITABLE);
        assert_int_equal(spmv_exec_timed(&product, 1, 1, 0, &seconds), SPMV_OK);
        assert_int_equal(spot_check(&check, y), SPMV_OK);
        memcpy(kept, y, ROWS * K * sizeof *y);
        for (int64_t v = 0; v < K; v++) {
            for (int row = 0; row < ROWS; row++) { /* all rows of a small matrix are checked */
                char said[48];
                put_number(precision, y, place_of(layout, ROWS, row, v), 0);
                assert_int_equal(spot_check(&check, y), SPMV_E_UNSUITABLE);
                snprintf(said, sizeof said, "row %d of vector %d", row, (int)v);
                assert_non_null(strstr(spmv_ctx_error(ctx), said));
                memcpy(y, kept, ROWS * K * sizeof *y);
            }
        }
        const spot other = {s.mat, precision, K, layout == SPMV_ROWS ? SPMV_COLUMNS : SPMV_ROWS};
        assert_int_equal(spot_check(&other, y), SPMV_E_UNSUITABLE);
        free(kept);
    }
}

/* ---- cache states --------------------------------------------------------------------------- */

typedef spmv_status (*run_function)(const spmv_plan *, const spmv_operands *);
static run_function shipped_run;
static const spmv_plan *first_plan;
static int flushes, products, since; /* since: products after the last flush */
static bool on_gpu;                  /* the host passes for one */
static double most_s;                /* longest of a kernel's samples */

static spmv_status counted_flush(spmv_device *d, size_t bytes) {
    (void)d;
    assert_true(bytes >= 8 * (size_t)1000000);
    flushes++, since = 0;
    return SPMV_OK;
}

static spmv_status counted_run(const spmv_plan *p, const spmv_operands *v) {
    products++, since++;
    return shipped_run(p, v);
}

/* Right on the plan the user made, silent on its copies. */
static spmv_status run_on_first_only(const spmv_plan *p, const spmv_operands *v) {
    products++;
    return p == first_plan ? shipped_run(p, v) : SPMV_OK;
}

static problem problem_on(const scene *s, const double *y0, double beta) {
    return (problem){.plan = s->plan,
                     .rows = ROWS,
                     .cols = COLS,
                     .alpha = 1,
                     .beta = beta,
                     .x = s->x,
                     .y0 = y0,
                     .host = !on_gpu,
                     .cache = 1000000,
                     .bytes = 400000};
}

/* A problem's samples with a kernel and a flush of the test's, one a turn. Returns how many
 * products one is. */
static int take_samples(scene *s, spmv_cache cache, double beta, run_function run, problem *p) {
    const sampling o = {.cache = cache, .min_samples = 4, .max_noise = 1, .max_time_s = most_s};
    static double y0[ROWS];
    static spmv_kernel kernel;
    static spmv_backend backend;
    timing t;
    spmv_device *device = s->plan->device;
    const spmv_backend *real_backend = device->backend;
    const spmv_kernel *real_kernel = s->plan->kernel;
    for (int i = 0; i < ROWS; i++) y0[i] = beta == 0 ? NAN : 1;
    backend = *real_backend;
    backend.flush = counted_flush;
    backend.host = !on_gpu;
    kernel = *real_kernel;
    shipped_run = kernel.run;
    kernel.run = run;
    first_plan = s->plan;
    device->backend = &backend;
    s->plan->kernel = &kernel;
    flushes = products = 0;
    *p = problem_on(s, y0, beta);
    assert_int_equal(problem_open(p), SPMV_OK);
    assert_int_equal(problem_ready(p, &o, &t), SPMV_OK);
    int before = products;
    while (!t.done) assert_int_equal(problem_turn(p, &o, &t, 0), SPMV_OK);
    products -= before;
    assert_int_equal(t.nsamples, 4);
    assert_int_equal(products, (cache == SPMV_WARM ? 8 : 4) * t.inner); /* a warm turn loses one */
    if (cache == SPMV_WARM && flushes) assert_int_equal(since, 2 * t.inner);
    free(t.sample_s);
    device->backend = real_backend;
    s->plan->kernel = real_kernel;
    return t.inner;
}

static void assert_results(problem *p, const scene *s, double beta) {
    double y[ROWS];
    for (int k = 0; k < p->nproducts; k++) {
        assert_int_equal(problem_result(p, k, y), SPMV_OK);
        for (int i = 0; i < ROWS; i++) assert_true(fabs(y[i] - (s->once[i] + beta)) <= 1e-14);
    }
}

TEST(cold_flushes_before_every_product) {
    for (int beta = 0; beta < 2; beta++) {
        FREED(scene) s = scene_of("omp:csr_rows");
        FREED(problem) p = {.plan = NULL};
        assert_int_equal(take_samples(&s, SPMV_COLD, beta, counted_run, &p), 1);
        assert_int_equal(flushes, 4);
        assert_int_equal(p.nproducts, 1);
        assert_results(&p, &s, beta);
    }
}

TEST(warm_never_flushes) {
    FREED(scene) s = scene_of("omp:csr_rows");
    FREED(problem) p = {.plan = NULL};
    most_s = 1e-9;
    assert_true(take_samples(&s, SPMV_WARM, 0, counted_run, &p) >= 1);
    most_s = 0;
    assert_int_equal(flushes, 0);
    assert_int_equal(p.nproducts, 1);
    assert_results(&p, &s, 0);
}

/* Previous contents of a GPU's L2 cache would change warm times: each turn fills the cache first,
 * unless nothing is timed. */
TEST(turns_of_a_gpu_begin_with_full_caches) {
    on_gpu = true;
    for (int timed = 0; timed < 2; timed++) {
        FREED(scene) s = scene_of("omp:csr_rows");
        FREED(problem) p = {.plan = NULL};
        most_s = timed ? 1e-9 : 0;
        take_samples(&s, SPMV_WARM, 0, counted_run, &p);
        assert_int_equal(flushes, timed ? 4 : 0);
        assert_results(&p, &s, 0);
    }
    on_gpu = false, most_s = 0;
}

/* Returns what is spent on warming up and batches before a measurement of at most max_time_s. */
static timing made_ready(double max_time_s) {
    timing t;
    double y0[ROWS] = {0};
    const sampling o = {.min_samples = 1, .max_time_s = max_time_s, .cache = SPMV_WARM};
    FREED(scene) s = scene_of("omp:csr_serial");
    FREED(problem) p = problem_on(&s, y0, 0);
    assert_int_equal(problem_open(&p), SPMV_OK);
    assert_int_equal(problem_ready(&p, &o, &t), SPMV_OK);
    return t;
}

/* A run that only checks spends nothing on warming up and batches. */
TEST(no_time_is_no_time) {
    timing t = made_ready(0);
    assert_true(t.warmup == 2 && t.inner == 1);
    for (int k = 0; k < 100; k++) { /* another process may have used the core for 20 ms */
        t = made_ready(1);
        if (t.warmup > 2 && t.inner > 1) return;
    }
    fail();
}

/* 64 MB of copies of 0.4 MB would be 160: 20 are made, each touched once after a flush. */
TEST(steady_goes_through_copies) {
    for (int beta = 0; beta < 2; beta++) {
        FREED(scene) s = scene_of("omp:csr_rows");
        FREED(problem) p = {.plan = NULL};
        assert_int_equal(take_samples(&s, SPMV_STEADY, beta, counted_run, &p), 20);
        assert_int_equal(p.nproducts, 20);
        assert_int_equal(flushes, 4);
        for (int k = 1; k < 20; k++) {
            assert_ptr_not_equal(p.product[k].x, p.product[0].x);
            assert_ptr_not_equal(p.product[k].y, p.product[k - 1].y);
            assert_ptr_not_equal(p.product[k].plan->store, p.product[k - 1].plan->store);
        }
        assert_results(&p, &s, beta);
    }
}

/* Poison and check reach every copy, not the first alone. */
TEST(a_copy_that_writes_nothing_shows) {
    double y[ROWS];
    FREED(scene) s = scene_of("omp:csr_rows");
    FREED(problem) p = {.plan = NULL};
    take_samples(&s, SPMV_STEADY, 0, run_on_first_only, &p);
    assert_int_equal(problem_result(&p, 0, y), SPMV_OK);
    assert_memory_equal(y, s.once, sizeof y);
    assert_int_equal(problem_result(&p, p.nproducts - 1, y), SPMV_OK);
    assert_true(isnan(y[0]) && isnan(y[ROWS - 1]));
}

/* Samples times their products do not exceed the elapsed time. */
TEST(a_sample_is_the_time_of_one_product) {
    enum { INNER = 1000 };
    static double y0[ROWS];
    FREED(scene) s = scene_of("omp:csr_rows");
    FREED(problem) p = problem_on(&s, y0, 0);
    timing t = {0};
    assert_int_equal(problem_open(&p), SPMV_OK);
    assert_int_equal(problem_batch(&p, &t, INNER), SPMV_OK);
    const double start = spmv_now();
    assert_int_equal(problem_sample(&p, &t), SPMV_OK);
    assert_true(t.sample_s[0] > 0 && t.sample_s[0] * INNER <= spmv_now() - start);
    free(t.sample_s);
}

/* ---- looks between samples ------------------------------------------------------------------ */

static int wrong_from, wrong_to; /* numbers of products */

static spmv_status run_wrong_between(const spmv_plan *p, const spmv_operands *v) {
    spmv_status status = counted_run(p, v);
    double *y = v->z;
    if (products >= wrong_from && products <= wrong_to) y[7] += fabs(y[7]) * 0x1p-52;
    return status;
}

static spmv_status run_once_and_remember(const spmv_plan *p, const spmv_operands *v) {
    static double kept[ROWS];
    spmv_status status = products ? SPMV_OK : shipped_run(p, v);
    if (!products++) memcpy(kept, v->z, sizeof kept);
    memcpy(v->z, kept, sizeof kept);
    return status;
}

/* Looks at each of 20 samples of so many copies and returns the first whose bits are others than
 * those of a sample before it with the same x, from 1; 0: none. y: of the last sample. */
static int first_other(scene *s, int copies, double beta, run_function run, unsigned traits,
                       double *y) {
    static double y0[ROWS];
    static spmv_kernel kernel;
    const spmv_kernel *real_kernel = s->plan->kernel;
    problem p = problem_on(s, y0, beta);
    timing t = {.inner = 1};
    int found = 0;
    for (int i = 0; i < ROWS; i++) y0[i] = beta == 0 ? NAN : 1;
    kernel = *real_kernel;
    shipped_run = kernel.run;
    kernel.run = run;
    kernel.traits = traits;
    s->plan->kernel = &kernel;
    products = 0;
    assert_int_equal(problem_open(&p), SPMV_OK);
    assert_int_equal(problem_copies(&p, copies), SPMV_OK);
    assert_int_equal(problem_batch(&p, &t, copies), SPMV_OK);
    for (int n = 1; n <= 20; n++) {
        const int k = (n - 1) % copies;
        problem_bits bits;
        bool negated;
        assert_int_equal(problem_sample(&p, &t), SPMV_OK);
        assert_int_equal(problem_look(&p, y, &negated, &bits), SPMV_OK);
        assert_int_equal(negated, (n - 1) / copies % 2);
        assert_int_equal(p.negated[k], !negated);
        const double *x = p.product[k].x;
        for (int j = 0; j < COLS; j++) assert_true(x[j] == (negated ? s->x[j] : -s->x[j]));
        if (bits == OTHER_BITS && !found) found = n;
        if (run != counted_run || beta != 0) continue;
        for (int i = 0; i < ROWS; i++) assert_true(y[i] == (negated ? -s->once[i] : s->once[i]));
    }
    problem_close(&p);
    free(t.sample_s);
    s->plan->kernel = real_kernel;
    return found;
}

TEST(looks_find_the_wrong_product) {
    const unsigned repeats = SPMV_DETERMINISTIC;
    double y[ROWS];
    FREED(scene) s = scene_of("omp:csr_rows");
    for (int copies = 1; copies <= 3; copies += 2)
        for (int beta = 0; beta < 2; beta++) {
            assert_int_equal(first_other(&s, copies, beta, counted_run, repeats, y), 0);
            for (int n = 2 * copies + 1; n <= 20; n++) { /* index of the sample with the fault */
                wrong_from = wrong_to = (n - 1) * copies + (n - 1) % copies + 1;
                assert_int_equal(first_other(&s, copies, beta, run_wrong_between, repeats, y), n);
            }
            wrong_from = wrong_to = 10 * copies + 1;
            assert_int_equal(first_other(&s, copies, beta, run_wrong_between, 0, y), 0);
            assert_int_equal(
                first_other(&s, copies, beta, run_wrong_between, repeats | SPMV_PEER, y), 0);
        }
    /* A kernel that repeats its first result also does so for -x. All samples then agree; only the
     * reference finds the fault. */
    assert_int_equal(first_other(&s, 1, 0, run_once_and_remember, repeats, y), 0);
    assert_memory_equal(y, s.once, sizeof y);
}

TEST(a_flush_empties_nothing_it_should_not) {
    FREED(scene) s = scene_of("omp:csr_rows");
    for (size_t bytes = 0; bytes <= 3 << 20; bytes += 1 << 20)
        assert_int_equal(spmv_plan_flush(s.plan, bytes), SPMV_OK);
    assert_int_equal(spmv_plan_flush(s.plan, (size_t)1 << 60), SPMV_E_NOMEM);
    assert_int_equal(spmv_plan_flush(s.plan, 4096), SPMV_OK);
    spmv_device *host = NULL;
    assert_int_equal(spmv_ctx_device(ctx, &spmv_omp, &host), SPMV_OK);
    for (size_t k = 0; k < sizeof s.x; k += 40) /* lines that are shared with others, or empty */
        spmv_omp.evict(host, (const char *)s.x + k, k % 3 * (sizeof s.x - k) / 2);
    assert_int_equal(spmv_exec(s.plan, 1, s.x, 0, s.y), SPMV_OK);
    assert_memory_equal(s.y, s.once, sizeof s.y);
}

/* ---- stopping ------------------------------------------------------------------------------- */

/* Measures after `equal` samples of a clock that says a second each time. */
static timing measured(bool waiting, double max_noise, int equal) {
    timing t;
    double y0[ROWS] = {0};
    const sampling o = {
        .min_samples = 6, .max_time_s = 0.5, .max_noise = max_noise, .cache = SPMV_WARM};
    FREED(scene) s = scene_of("omp:csr_serial");
    FREED(problem) p = problem_on(&s, y0, 0);
    assert_int_equal(problem_open(&p), SPMV_OK);
    assert_int_equal(problem_ready(&p, &o, &t), SPMV_OK);
    t.waiting = waiting;
    for (int i = 0; i < equal; i++) assert_int_equal(timing_add(&p, &t, 1), SPMV_OK);
    while (!t.done) assert_int_equal(problem_turn(&p, &o, &t, 0.01), SPMV_OK);
    free(t.sample_s);
    return t;
}

TEST(samples_end_when_the_median_is_known_and_no_wait) {
    const double any = 1e9; /* any interval is narrow enough */
    timing quiet = measured(false, any, 0), waits = measured(true, any, 0);
    assert_true(quiet.settled && quiet.nsamples >= 6 && quiet.spent_s < 0.5);
    assert_true(quiet.s.low <= quiet.s.median && quiet.s.median <= quiet.s.high);
    assert_false(waits.settled);
    assert_true(waits.spent_s >= 0.5 || waits.nsamples >= 20000);
}

TEST(no_noise_is_below_zero) {
    assert_true(measured(false, 1e-9, 20000).settled);
    assert_false(measured(false, 0, 20000).settled);
}

/* Somebody stops a run: one more sample, after poison, so that what it leaves can be checked. */
TEST(a_last_sample_can_be_asked_for) {
    timing t;
    double y0[ROWS], y[ROWS];
    const sampling o = {.min_samples = 100, .min_time_s = 60, .max_time_s = 60};
    FREED(scene) s = scene_of("omp:csr_serial");
    for (int i = 0; i < ROWS; i++) y0[i] = NAN;
    FREED(problem) p = problem_on(&s, y0, 0);
    assert_int_equal(problem_open(&p), SPMV_OK);
    assert_int_equal(problem_ready(&p, &o, &t), SPMV_OK);
    assert_int_equal(problem_turn(&p, &o, &t, 0), SPMV_OK);
    assert_true(t.nsamples == 1 && !t.done);
    spmv_kernel idle = *s.plan->kernel;
    idle.run = run_on_first_only; /* and its plan is no other's first: it writes nothing */
    first_plan = NULL;
    s.plan->kernel = &idle;
    t.last = true;
    assert_int_equal(problem_turn(&p, &o, &t, 60), SPMV_OK);
    assert_true(t.nsamples == 2 && t.done && t.s.median > 0);
    assert_int_equal(problem_result(&p, 0, y), SPMV_OK);
    assert_true(isnan(y[0]) && isnan(y[ROWS - 1]));
    free(t.sample_s);
}

/* ---- spot checks ---------------------------------------------------------------------------- */

/* The sample has enough rows, also if most are empty and all rows together have few entries. */
TEST(few_rows_are_checked) {
    enum { N = 1 << 21, MOST = 1 << 14 };
    const spmv_mat mat = {.csr = {.rows = N, .cols = 1, .nnz = 100}};
    FREED(float) *y = calloc(N, sizeof *y);
    int64_t wiped = 0;
    assert_non_null(y);
    spot_check_wipe(&(spot){&mat, SPMV_F32, 1, SPMV_COLUMNS}, y);
    for (int64_t i = 0; i < N; i++) wiped += isnan(y[i]) != 0;
    assert_true(wiped > MOST / 4 && wiped <= MOST);
    assert_true(isnan(y[N - 1]));
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
