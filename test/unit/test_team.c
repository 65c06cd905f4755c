/* test_team.c: how many threads "auto" gives to a product. What products take is planted: it
 * depends on their number of threads alone. And the loop schedule that a product has. */
#include "spmv_clock.h"
#include "omp/kernel.h"
#include "testing.h"
#include "tune/trials.h"
#include <math.h>

enum { ALL = 8, SIDE = 120 }; /* a grid whose products are not short */
static int side = SIDE;
static double price_s[ALL + 1]; /* seconds of a product with that many threads */
static int all = ALL;           /* threads of the context */
static int samples, disturbed;  /* every so many samples one takes ten times as long; 0: none */

static spmv_status planted_tick(spmv_device *d) {
    (void)d;
    return SPMV_OK;
}

static spmv_status planted_tock(spmv_device *d, double *seconds) {
    bool slow = disturbed && ++samples % disturbed == 0;
    *seconds = price_s[d->threads] * (slow ? 10 : 1);
    return SPMV_OK;
}

/* Takes as long as it says. */
static spmv_status waiting_tock(spmv_device *d, double *seconds) {
    TRY(planted_tock(d, seconds));
    for (const double start = spmv_now(); spmv_now() < start + *seconds;) continue;
    return SPMV_OK;
}

static bool always_asleep(spmv_device *d) {
    (void)d;
    return true;
}

typedef struct scene {
    spmv_ctx *ctx;
    spmv_mat *mat;
    spmv_backend backend;
    spmv_plan_opts opts;
    spmv_proposal proposal;
    double *x, *y;
    trials c;
} scene;

/* Opens the scene of a trial that a kernel with all threads has won. */
static void open_scene(scene *s, const char *kernel, int threads, double budget) {
    spmv_ctx_opts ctx_opts = {.size = sizeof ctx_opts, .threads = all};
    *s = (scene){.backend = spmv_omp,
                 .opts = {.size = sizeof s->opts, .kernel = kernel, .threads = threads},
                 .proposal = {.kernel = kernel}};
    s->backend.tick = planted_tick, s->backend.tock = planted_tock;
    assert_int_equal(spmv_ctx_create(&ctx_opts, &s->ctx), SPMV_OK);
    char source[32];
    const int64_t rows = (int64_t)side * side;
    snprintf(source, sizeof source, "gen:poisson2d:%d", side);
    assert_int_equal(spmv_mat_load(s->ctx, source, NULL, &s->mat), SPMV_OK);
    s->x = random_vector(1, rows), s->y = random_vector(2, rows);
    s->c = (trials){.mat = s->mat,
                    .opts = &s->opts,
                    .backend = &s->backend,
                    .start = spmv_now(),
                    .budget = budget,
                    .x = s->x,
                    .y = s->y,
                    .n = 1};
    candidate *e = &s->c.entry[0];
    *e = (candidate){.proposal = &s->proposal, .t.inner = 1, .product_s = price_s[all]};
    assert_int_equal(spmv_plan_create(s->mat, &s->opts, &e->plan), SPMV_OK);
    s->c.device = e->plan->device;
    s->c.device->backend = &s->backend;
    e->p = (problem){.plan = e->plan,
                     .rows = rows,
                     .cols = rows,
                     .alpha = 1,
                     .borrowed_x = (char *)s->x,
                     .borrowed_y = (char *)s->y};
    assert_int_equal(problem_open(&e->p), SPMV_OK);
    samples = 0;
}

static void close_scene(scene *s) {
    spmv_trials_close(&s->c.entry[0]);
    s->c.device->backend = &spmv_omp;
    spmv_mat_free(s->mat);
    spmv_ctx_free(s->ctx);
    free(s->x);
    free(s->y);
}

/* Returns the winner's final number of threads; *said: the note about it. */
static int threads_of_winner(scene *s, char *said, size_t size) {
    const candidate *e = &s->c.entry[0];
    spmv_trials_reduce_team(&s->c, &s->c.entry[0]);
    spmv_plan_facts facts = plan_facts_of(e->plan);
    assert_true(e->product_s == price_s[facts.threads]);
    assert_ptr_equal(e->p.plan, e->plan);
    assert_ptr_equal(s->mat->stores->host, e->plan->host);
    assert_null(s->mat->stores->next);
    snprintf(said, size, "%s", s->c.team);
    return facts.threads;
}

static void set_prices(double of_all, double of_half, double of_one) {
    for (int t = 0; t <= ALL; t++) price_s[t] = NAN;
    price_s[ALL] = of_all, price_s[ALL / 2] = of_half, price_s[1] = of_one;
}

/* Other programs use cores during the comparison: all threads take as long as half of them; in the
 * trials before, all threads took half of that. */
TEST(a_burst_takes_no_threads) {
    for (int k = 0; k < 2; k++) {
        scene s;
        set_prices(1e-3, 1e-3, 2e-3);
        open_scene(&s, "csr_balanced", 0, 1e6);
        candidate *e = &s.c.entry[0];
        for (int n = 0; n < 5; n++)
            assert_int_equal(timing_add(&e->p, &e->t, k == 0 ? 0.5e-3 : 1e-3), SPMV_OK);
        spmv_trials_reduce_team(&s.c, e);
        assert_int_equal(e->plan->device->threads, k == 0 ? ALL : ALL / 2);
        close_scene(&s);
    }
}

TEST(fewer_threads_that_are_not_slower) {
    static const struct {
        double all, half, one;
        int threads;
        const char *said;
    } cases[] = {
        {1e-3, 1.005e-3, 1e-3, 1, "; run by 1 of 8 threads, in 1.00 of the time that all take"},
        {1e-3, 5e-4, 1e-4, 1, "; run by 1 of 8 threads, in 0.10 of the time that all take"},
        {1e-3, 9e-4, 2e-3, 4, "; run by 4 of 8 threads, in 0.90 of the time that all take"},
        {1e-3, 1.02e-3, 2e-3, 8, ""},
        {1e-3, 2e-3, 8e-3, 8, ""}};
    for (int k = 0; k < COUNT(cases); k++)
        for (disturbed = 0; disturbed < 4; disturbed += 3) { /* medians do not see it */
            scene s;
            char said[64];
            set_prices(cases[k].all, cases[k].half, cases[k].one);
            open_scene(&s, "csr_balanced", 0, 1e6);
            int threads = threads_of_winner(&s, said, sizeof said);
            if (threads != cases[k].threads || strcmp(said, cases[k].said) != 0)
                fail_msg("case %d: %d threads%s", k, threads, said);
            close_scene(&s);
        }
    disturbed = 0;
}

/* If half of the threads is one or not an integer, auto tries one thread. */
TEST(of_two_or_three_threads_one_may_be_best) {
    for (all = 2; all <= 3; all++)
        for (int one_is_better = 0; one_is_better < 2; one_is_better++) {
            scene s;
            char said[64];
            for (int t = 0; t <= ALL; t++) price_s[t] = NAN;
            price_s[all] = 1e-3, price_s[1] = one_is_better ? 9e-4 : 2e-3;
            open_scene(&s, "csr_balanced", 0, 1e6);
            assert_int_equal(threads_of_winner(&s, said, sizeof said), one_is_better ? 1 : all);
            close_scene(&s);
        }
    all = ALL;
}

/* Trials keep a team awake, callers let it sleep: for a short product, all threads must be faster
 * by a quarter, else one thread multiplies, also if no time is left for a comparison. Beside other
 * processes one thread always multiplies. */
TEST(a_short_product_has_one_thread) {
    static const struct {
        double one;
        double budget;
        bool is_beside;
        int threads;
    } cases[] = {{1.3e-3, 1e6, false, 1}, {1.4e-3, 1e6, false, 2}, {1.3e-3, 2, false, 1},
                 {1.4e-3, 2, false, 2},   {1.9e-3, 1e6, true, 1},  {1.9e-3, 2, true, 1}};
    all = 2;
    for (side = 50; side <= SIDE; side += SIDE - 50)
        for (int k = 0; k < COUNT(cases); k++) {
            scene s;
            char said[64];
            for (int t = 0; t <= ALL; t++) price_s[t] = NAN;
            price_s[2] = 1e-3, price_s[1] = cases[k].one;
            open_scene(&s, "csr_balanced", 0, cases[k].budget);
            if (cases[k].is_beside) s.backend.waits_asleep = always_asleep;
            const int threads = threads_of_winner(&s, said, sizeof said);
            assert_int_equal(threads, side == SIDE ? 2 : cases[k].threads);
            close_scene(&s);
        }
    side = SIDE, all = ALL;
}

TEST(threads_are_left_as_they_are) {
    static const struct {
        const char *kernel;
        int threads;
        double budget;
    } cases[] = {{"csr_serial", 0, 1e6}, /* has one anyway */
                 {"csr_rows", ALL, 1e6}, /* as asked for */
                 {"csr_rows", 0, 2}};    /* a sample of each would take twice that */
    set_prices(1e-3, 1e-4, 1e-4);
    for (int k = 0; k < COUNT(cases); k++) {
        scene s;
        open_scene(&s, cases[k].kernel, cases[k].threads, cases[k].budget);
        const spmv_plan *before = s.c.entry[0].plan;
        spmv_trials_reduce_team(&s.c, &s.c.entry[0]);
        assert_ptr_equal(s.c.entry[0].plan, before);
        assert_string_equal(s.c.team, "");
        close_scene(&s);
    }
}

/* The products of fewer threads took what there was: the winner, whose samples are batches and of
 * which none was taken yet, has nothing to be compared with. */
TEST(nothing_is_compared_without_samples) {
    scene s;
    set_prices(1e-2, 1e-1, 1e-1);
    open_scene(&s, "csr_balanced", 0, 8);
    const spmv_plan *before = s.c.entry[0].plan;
    s.backend.tock = waiting_tock;
    spmv_trials_reduce_team(&s.c, &s.c.entry[0]);
    assert_ptr_equal(s.c.entry[0].plan, before);
    assert_string_equal(s.c.team, "");
    close_scene(&s);
}

typedef struct schedule_case { /* what a plan's parameters say, and what comes of it */
    int64_t kind, chunk;
    schedule used;
} schedule_case;

/* The schedule that a loop of 1,000 iterations gets of a plan of two threads; what it was before is
 * there again. */
static void assert_used(schedule set(const spmv_plan *, int64_t), schedule_case c) {
    spmv_device device = {.threads = 2};
    spmv_plan plan = {.device = &device};
    schedule users, used, after;
    omp_get_schedule(&users.kind, &users.chunk);
    plan.choice.value[SPMV_schedule] = c.kind;
    plan.choice.value[SPMV_chunk] = c.chunk;
    const schedule before = set(&plan, 1000);
    omp_get_schedule(&used.kind, &used.chunk);
    restore_schedule(before);
    omp_get_schedule(&after.kind, &after.chunk);
    assert_int_equal(used.kind & ~omp_sched_monotonic, c.used.kind);
    assert_int_equal(used.chunk, c.used.chunk);
    assert_int_equal(after.kind & ~omp_sched_monotonic, users.kind & ~omp_sched_monotonic);
    assert_int_equal(after.chunk, users.chunk);
}

/* OMP_SCHEDULE applies unless the plan's parameters set a schedule; a chunk size belongs to its
 * kind. */
TEST(chunks_are_used_with_the_users_schedule) {
    static const schedule_case cases[] = {{0, 0, {omp_sched_dynamic, 64}},
                                          {0, 8, {omp_sched_dynamic, 8}},
                                          {omp_sched_guided, 8, {omp_sched_guided, 8}}};
    setenv("OMP_SCHEDULE", "dynamic,64", 1);
    omp_set_schedule(omp_sched_dynamic, 64);
    for (int k = 0; k < COUNT(cases); k++) assert_used(set_schedule, cases[k]);
    unsetenv("OMP_SCHEDULE");
}

/* Block rows of CSB are scheduled dynamically one by one, unless a schedule is set. */
TEST(rows_of_blocks_are_taken_one_by_one) {
    static const schedule_case cases[] = {{0, 0, {omp_sched_dynamic, 1}},
                                          {0, 8, {omp_sched_dynamic, 8}},
                                          {omp_sched_static, 0, {omp_sched_static, 0}},
                                          {omp_sched_dynamic, 0, {omp_sched_dynamic, 125}}};
    for (int k = 0; k < COUNT(cases); k++) assert_used(set_dynamic_schedule, cases[k]);
    setenv("OMP_SCHEDULE", "guided,7", 1); /* stands, as of other kernels */
    omp_set_schedule(omp_sched_guided, 7);
    assert_used(set_dynamic_schedule, (schedule_case){0, 0, {omp_sched_guided, 7}});
    unsetenv("OMP_SCHEDULE");
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
