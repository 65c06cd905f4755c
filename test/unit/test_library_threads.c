/* test_library_threads.c: the library among other threads: the caller's own teams and pthreads, a
 * plan in two threads, fork(), and teams that cannot be had. */
#include "spmv_clock.h"
#include "spmv_host.h"
#include "threads.h"
#include <limits.h>
#include <omp.h>
#include <pthread.h>

/* ---- the caller's threads ------------------------------------------------------------------- */

enum { CALLERS = 3 };
static const spmv_plan *plans[CALLERS];

static void *multiply_in_thread(void *plan) {
    return (void *)(intptr_t)multiply(plan, TIMES);
}

static int multiply_in_pthreads(void) {
    pthread_t thread[CALLERS];
    int wrong = 0;
    for (int t = 0; t < CALLERS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, multiply_in_thread, (void *)plans[t]), 0);
    for (int t = 0; t < CALLERS; t++) {
        void *failures = NULL;
        pthread_join(thread[t], &failures);
        wrong += (int)(intptr_t)failures;
    }
    return wrong;
}

/* levels 1: a product inside has one thread; 2: it has a team of its own. */
static int multiply_in_region(int levels, bool dynamic) {
    int wrong = 0, before = omp_get_max_active_levels(), was_dynamic = omp_get_dynamic();
    omp_set_max_active_levels(levels);
    omp_set_dynamic(dynamic);
#pragma omp parallel for num_threads(CALLERS) schedule(static, 1) reduction(+ : wrong)
    for (int t = 0; t < CALLERS; t++) wrong += multiply(plans[t], TIMES);
    wrong += multiply(plans[0], 1);
    omp_set_max_active_levels(before);
    omp_set_dynamic(was_dynamic);
    return wrong;
}

TEST(products_inside_the_callers_threads) {
    FREED(spmv_mat) *mat = grid(ctx);
    int kernels = 0;
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        const char *name = spmv_omp.names[k];
        if (spmv_omp.kernels[k][0]->absent || spmv_omp.kernels[k][0]->traits & SPMV_PEER) continue;
        for (int t = 0; t < CALLERS; t++) plans[t] = plan_of(mat, name);
        if (plans[0]) {
            kernels++;
            if (multiply_in_region(1, false)) fail_msg("%s in a parallel region", name);
            if (multiply_in_region(2, false)) fail_msg("%s in a nested team", name);
            if (multiply_in_region(1, true)) fail_msg("%s with a dynamic team", name);
            if (multiply_in_pthreads()) fail_msg("%s in pthreads", name);
        }
        for (int t = 0; t < CALLERS; t++) spmv_plan_free((spmv_plan *)plans[t]);
    }
    assert_true(kernels > 20);
}

/* Shares of a large store are cut into chunks; the one thread that a product has inside a region
 * takes those of all shares. */
TEST(one_thread_takes_the_chunks_of_all_shares) {
    enum { ROWS = 20000 };
    static const char *const kernels[] = {"csell_slices", "sell16_lanes", "spc5_rows", "bsr_lanes",
                                          "csr_balanced"};
    static double operand[ROWS], outside[ROWS], inside[ROWS];
    const int before = omp_get_max_active_levels();
    FREED(spmv_mat) *mat = must_load(ctx, "gen:random:20000:12");
    for (int j = 0; j < ROWS; j++) operand[j] = cos(j);
    omp_set_max_active_levels(1);
    for (int k = 0; k < COUNT(kernels); k++) {
        FREED(spmv_plan) *plan = plan_of(mat, kernels[k]);
        assert_non_null(plan);
        for (int i = 0; i < ROWS; i++) inside[i] = outside[i] = NAN;
        assert_int_equal(spmv_exec(plan, 1, operand, 0, outside), SPMV_OK);
#pragma omp parallel num_threads(2)
#pragma omp single
        spmv_exec(plan, 1, operand, 0, inside);
        if (memcmp(inside, outside, sizeof inside) != 0) fail_msg("%s", kernels[k]);
    }
    omp_set_max_active_levels(before);
}

/* ---- one plan in two threads ---------------------------------------------------------------- */

static int busy, wrong_products;

static void *insist(void *plan) {
    double y[N];
    for (int n = 0; n < 50 * TIMES; n++) {
        spmv_status status = spmv_exec(plan, 1, x, 0, y);
        if (status == SPMV_E_ARG)
            __atomic_add_fetch(&busy, 1, __ATOMIC_RELAXED);
        else if (status != SPMV_OK || !is_right(y))
            __atomic_add_fetch(&wrong_products, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* One reads its scratch alone, one writes to it, so that products take turns. */
TEST(one_plan_in_two_threads) {
    static const char *const kernels[] = {"csr_rows", "csr_balanced", "csr_tiles"};
    FREED(spmv_mat) *mat = grid(ctx);
    for (int k = 0; k < COUNT(kernels); k++) {
        FREED(spmv_plan) *plan = plan_of(mat, kernels[k]);
        pthread_t thread[2];
        spmv_plan_facts facts = plan_facts_of(plan);
        assert_int_equal(facts.concurrent, 1);
        busy = wrong_products = 0;
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_create(&thread[t], NULL, insist, plan), 0);
        for (int t = 0; t < 2; t++) pthread_join(thread[t], NULL);
        assert_int_equal(wrong_products + busy, 0);
        assert_int_equal(multiply(plan, 1), 0); /* and it is free again */
    }
}

static void *end_product(void *plan) {
    usleep(50000);
    __atomic_store_n(&((spmv_plan *)plan)->busy[0], 0, __ATOMIC_RELEASE);
    return NULL;
}

/* It is chance whether threads meet: here a product is under way for certain. */
TEST(a_product_waits_for_its_turn) {
    FREED(spmv_mat) *mat = grid(ctx);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_tiles"), *copy = NULL;
    pthread_t other;
    double y[N];
    plan->busy[0] = 1;
    assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
    assert_int_equal(multiply(copy, 1), 0);
    const double start = spmv_now();
    assert_int_equal(pthread_create(&other, NULL, end_product, plan), 0);
    assert_int_equal(multiply(plan, 1), 0);
    assert_true(spmv_now() - start > 0.04);
    pthread_join(other, NULL);
    assert_int_equal(spmv_exec(plan, 1, NULL, 0, y), SPMV_E_ARG); /* a refused call holds nothing */
    assert_int_equal(multiply(plan, 2), 0);
}

/* What a product writes to it has for itself, or for its turn. */
TEST(concurrent_plans_are_right_in_several_threads) {
    FREED(spmv_mat) *mat = grid(ctx);
    int kernels = 0;
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        if (spmv_omp.kernels[k][0]->absent) continue;
        FREED(spmv_plan) *plan = plan_of(mat, spmv_omp.names[k]);
        spmv_plan_facts facts = plan_facts_of(plan);
        for (int t = 0; t < CALLERS; t++) plans[t] = plan;
        if (facts.concurrent && ++kernels && multiply_in_pthreads())
            fail_msg("%s", spmv_omp.names[k]);
    }
    assert_true(kernels >= 20);
}

/* ---- fork ----------------------------------------------------------------------------------- */

static int use_plan_and_fork(void *plan) {
    return multiply(plan, TIMES) + in_child(use_plan_and_make_another, plan);
}

TEST(a_child_of_fork_multiplies) {
    FREED(spmv_mat) *mat = grid(ctx);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_balanced");
    assert_int_equal(multiply(plan, TIMES), 0); /* its team is there */
    assert_int_equal(in_child(use_plan_and_make_another, plan), 0);
    assert_int_equal(multiply(plan, TIMES), 0);
    assert_int_equal(in_child(use_plan_and_fork, plan), 0);
    int failures = 0;
#pragma omp parallel num_threads(2) reduction(+ : failures)
#pragma omp single
    failures += in_child(use_plan_and_make_another, plan); /* from inside a region */
    assert_int_equal(failures, 0);
    assert_int_equal(multiply(plan, TIMES), 0);
}

typedef struct loop { /* a thread that multiplies until it shall stop */
    spmv_plan *plan;
    int stop;
} loop;

static void *go_on_multiplying(void *of) {
    loop *l = of;
    while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) multiply(l->plan, 1);
    return NULL;
}

/* The child has the plan as it was in the middle of a product, which nobody there will end. */
TEST(a_child_multiplies_though_its_parent_does) {
    FREED(spmv_mat) *mat = grid(ctx);
    loop l = {.plan = plan_of(mat, "csr_balanced")};
    pthread_t other;
    int failures = 0;
    assert_int_equal(pthread_create(&other, NULL, go_on_multiplying, &l), 0);
    for (int k = 0; k < 10; k++) failures += in_child(use_plan_and_make_another, l.plan);
    __atomic_store_n(&l.stop, 1, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    assert_int_equal(failures, 0);
    spmv_plan_free(l.plan);
}

static void *go_on_reading(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) spmv_host_free_bytes();
    return NULL;
}

static int read_free_bytes(void *unused) {
    (void)unused;
    return spmv_host_free_bytes() == 0;
}

TEST(a_child_finds_free_bytes_though_its_parent_does) {
    pthread_t other;
    int stop = 0, failures = 0;
    assert_int_equal(pthread_create(&other, NULL, go_on_reading, &stop), 0);
    for (int k = 0; k < 200 && !failures; k++) failures += in_child(read_free_bytes, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    assert_int_equal(failures, 0);
}

/* ---- teams that cannot be had --------------------------------------------------------------- */

#ifndef __SANITIZE_ADDRESS__
/* A process that has memory for a few stacks: it would end where libgomp gets no thread. */
static int ask_for_more_than_there_are(void *asked) {
    const int threads = *(const int *)asked, most = threads < 40 ? threads : threads / 5;
    size_t each = 0;
    char instead[64];
    pthread_attr_t usual;
    if (pthread_getattr_default_np(&usual) || pthread_attr_getstacksize(&usual, &each)) return 5;
    const size_t stacks = (size_t)most / 2 * each;
    struct rlimit limit = {virtual_bytes() + stacks, virtual_bytes() + stacks};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    snprintf(instead, sizeof instead, "instead of %d: this process gets no more", threads);
    spmv_ctx *few = context_of(threads);
    spmv_mat *mat = grid(few);
    spmv_plan *plan = plan_of(mat, "csr_rows");
    int wrong = multiply(plan, 2);
    spmv_plan_facts facts = plan_facts_of(plan);
    bool said =
        facts.threads > 1 && facts.threads < most && facts.note && strstr(facts.note, instead);
    if (!said) print_error("%d: %s\n", facts.threads, facts.note ? facts.note : "-");
    return wrong ? 3 : said ? 0 : 4;
}

TEST(a_process_may_get_fewer_threads) {
    int many = 200, few = 15; /* libgomp would also end it with a small team */
    assert_int_equal(in_child(ask_for_more_than_there_are, &many), 0);
    assert_int_equal(in_child(ask_for_more_than_there_are, &few), 0);
}
#endif

TEST(threads_are_bounded) {
    static const int many[] = {50000, 100000, INT_MAX};
    for (int k = 0; k < COUNT(many); k++) {
        FREED(spmv_ctx) *large = context_of(many[k]);
        FREED(spmv_mat) *mat = grid(large);
        FREED(spmv_plan) *plan = plan_of(mat, "csr_balanced");
        char begin[64];
        spmv_plan_facts facts = plan_facts_of(plan);
        snprintf(begin, sizeof begin, "%d threads instead of %d: ", facts.threads, many[k]);
        assert_in_range(facts.threads, 2, SPMV_MOST_THREADS);
        assert_int_equal(facts.threads, spmv_ctx_threads(large));
        assert_true(facts.note && strncmp(facts.note, begin, strlen(begin)) == 0);
        assert_int_equal(multiply(plan, 1), 0);
    }
    FREED(spmv_mat) *mat = grid(ctx);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_rows");
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_null(facts.note);
}

TEST_MAIN(wait_as_by_default, setup_all, free_all)
