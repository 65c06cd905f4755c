/* test_library_threads.c: the library among other threads: the caller's own teams and pthreads, a
 * plan in two threads, fork(), teams that cannot be had, and other processes on the same cores. */
#include "testing.h"
#include "omp/waiting.h"
#include <dirent.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { N = 40 * 40, TIMES = 20 };

static spmv_ctx *ctx; /* of two threads */
static double x[N], wanted[N];

static spmv_mat *grid(spmv_ctx *of) {
    spmv_mat *mat = NULL;
    assert_int_equal(spmv_mat_load(of, "gen:poisson2d:40", NULL, &mat), SPMV_OK);
    return mat;
}

static spmv_plan *plan_of(spmv_mat *mat, const char *kernel) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel};
    spmv_plan *plan = NULL;
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    assert_true(status == SPMV_OK || status == SPMV_E_UNSUITABLE);
    return plan;
}

static int setup_all(void **state) {
    (void)state;
    ctx = context_of(2);
    spmv_mat *mat = grid(ctx);
    setenv("GOMP_SPINCOUNT", "", 1); /* this context does not look for competitors */
    spmv_plan *plan = plan_of(mat, "csr_serial");
    unsetenv("GOMP_SPINCOUNT");
    for (int j = 0; j < N; j++) x[j] = cos(j);
    assert_int_equal(spmv_exec(plan, 1, x, 0, wanted), SPMV_OK);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    return 0;
}

static int free_all(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return 0;
}

static bool is_right(const double *y) {
    for (int i = 0; i < N; i++)
        if (!(fabs(y[i] - wanted[i]) < 1e-12)) return false;
    return true;
}

/* Products that went wrong. */
static int multiply(const spmv_plan *plan, int times) {
    double y[N];
    int wrong = 0;
    for (int n = 0; n < times; n++) {
        for (int i = 0; i < N; i++) y[i] = NAN;
        wrong += spmv_exec(plan, 1, x, 0, y) != SPMV_OK || !is_right(y);
    }
    return wrong;
}

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

static void products_inside_the_callers_threads(void **state) {
    (void)state;
    spmv_mat *mat = grid(ctx);
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
    spmv_mat_free(mat);
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

static void one_plan_in_two_threads(void **state) {
    (void)state;
    static const char *const kernels[] = {"csr_rows", "csr_balanced"};
    spmv_mat *mat = grid(ctx);
    for (int k = 0; k < COUNT(kernels); k++) {
        spmv_plan *plan = plan_of(mat, kernels[k]);
        spmv_plan_facts facts;
        pthread_t thread[2];
        spmv_plan_info(plan, &facts);
        assert_int_equal(facts.concurrent, k == 0);
        busy = wrong_products = 0;
        for (int t = 0; t < 2; t++)
            assert_int_equal(pthread_create(&thread[t], NULL, insist, plan), 0);
        for (int t = 0; t < 2; t++) pthread_join(thread[t], NULL);
        assert_int_equal(wrong_products, 0);
        if (facts.concurrent) assert_int_equal(busy, 0);
        assert_int_equal(multiply(plan, 1), 0); /* and it is free again */
        spmv_plan_free(plan);
    }
    spmv_mat_free(mat);
}

/* Whether threads meet is chance: here a product is under way for certain. */
static void a_plan_that_multiplies_refuses(void **state) {
    (void)state;
    spmv_mat *mat = grid(ctx);
    spmv_plan *plan = plan_of(mat, "csr_balanced"), *copy = NULL;
    double y[N], seconds;
    plan->busy = 1;
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "csr_balanced"));
    assert_non_null(strstr(spmv_ctx_error(ctx), "in another thread"));
    assert_int_equal(spmv_exec_timed(plan, 1, 1, x, 0, y, &seconds), SPMV_E_ARG);
    assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
    assert_int_equal(multiply(copy, 1), 0);
    plan->busy = 0;
    assert_int_equal(spmv_exec(plan, 1, NULL, 0, y), SPMV_E_ARG); /* a refused call holds nothing */
    assert_int_equal(spmv_exec_timed(plan, 1, 1, x, 0, y, &seconds), SPMV_OK);
    assert_int_equal(multiply(plan, 2), 0);
    spmv_plan_free(copy);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

/* What a kernel does not keep in scratch it must not keep at all, or two threads would meet. */
static void concurrent_plans_are_right_in_several_threads(void **state) {
    (void)state;
    spmv_mat *mat = grid(ctx);
    int kernels = 0;
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        if (spmv_omp.kernels[k][0]->absent) continue;
        spmv_plan *plan = plan_of(mat, spmv_omp.names[k]);
        spmv_plan_facts facts;
        spmv_plan_info(plan, &facts);
        for (int t = 0; t < CALLERS; t++) plans[t] = plan;
        if (facts.concurrent && ++kernels && multiply_in_pthreads())
            fail_msg("%s", spmv_omp.names[k]);
        spmv_plan_free(plan);
    }
    assert_true(kernels >= 8);
    spmv_mat_free(mat);
}

/* ---- fork ----------------------------------------------------------------------------------- */

/* Runs the work in a child of fork(), which has a minute; returns its result. */
static int in_child(int (*work)(void *), void *arg) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(work(arg));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int use_plan_and_make_another(void *plan) {
    int wrong = multiply(plan, TIMES);
    spmv_ctx *own = context_of(2);
    spmv_mat *mat = grid(own);
    spmv_plan *mine = plan_of(mat, "auto");
    wrong += multiply(mine, TIMES);
    spmv_plan_free(mine);
    spmv_mat_free(mat);
    spmv_ctx_free(own);
    return wrong;
}

static int use_plan_and_fork(void *plan) {
    return multiply(plan, TIMES) + in_child(use_plan_and_make_another, plan);
}

static void a_child_of_fork_multiplies(void **state) {
    (void)state;
    spmv_mat *mat = grid(ctx);
    spmv_plan *plan = plan_of(mat, "csr_balanced");
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
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

/* ---- teams that cannot be had --------------------------------------------------------------- */

#ifndef __SANITIZE_ADDRESS__
static size_t virtual_bytes(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A process that has memory for a few stacks: it would end where libgomp gets no thread. */
static int ask_for_more_than_there_are(void *unused) {
    (void)unused;
    const size_t stacks = 20 * (size_t)(8 << 20);
    struct rlimit limit = {virtual_bytes() + stacks, virtual_bytes() + stacks};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    spmv_ctx *few = context_of(200);
    spmv_mat *mat = grid(few);
    spmv_plan *plan = plan_of(mat, "csr_rows");
    spmv_plan_facts facts;
    int wrong = multiply(plan, 2);
    spmv_plan_info(plan, &facts);
    bool said = facts.threads > 1 && facts.threads < 40 && facts.note &&
                strstr(facts.note, "instead of 200: this process gets no more");
    if (!said) print_error("%d: %s\n", facts.threads, facts.note ? facts.note : "-");
    return wrong ? 3 : said ? 0 : 4;
}

static void a_process_may_get_fewer_threads(void **state) {
    (void)state;
    assert_int_equal(in_child(ask_for_more_than_there_are, NULL), 0);
}
#endif

static void threads_are_bounded(void **state) {
    (void)state;
    static const int many[] = {50000, 100000, INT_MAX};
    for (int k = 0; k < COUNT(many); k++) {
        spmv_ctx *large = context_of(many[k]);
        spmv_mat *mat = grid(large);
        spmv_plan *plan = plan_of(mat, "csr_balanced");
        spmv_plan_facts facts;
        char begin[64];
        spmv_plan_info(plan, &facts);
        snprintf(begin, sizeof begin, "%d threads instead of %d: ", facts.threads, many[k]);
        assert_in_range(facts.threads, 2, SPMV_MOST_THREADS);
        assert_int_equal(facts.threads, spmv_ctx_threads(large));
        assert_true(facts.note && strncmp(facts.note, begin, strlen(begin)) == 0);
        assert_int_equal(multiply(plan, 1), 0);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        spmv_ctx_free(large);
    }
    spmv_mat *mat = grid(ctx);
    spmv_plan *plan = plan_of(mat, "csr_rows");
    spmv_plan_facts facts;
    spmv_plan_info(plan, &facts);
    assert_null(facts.note);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

/* ---- other processes on the same cores ------------------------------------------------------ */

static const int64_t ms = 1000000;

/* After that many milliseconds more, in which threads used a share of their cores, and lost them
 * that often. */
static bool decide(spmv_waiting *w, int threads, int64_t after, double share, int switches) {
    spmv_usage now = w->looked;
    w->crowded = true;
    now.now += after * ms;
    now.cpu += (int64_t)(share * (double)(after * ms * threads));
    now.switches += switches;
    w->asleep = spmv_waiting_decide(w, now, threads);
    return w->asleep;
}

static void threads_sleep_where_cores_are_shared(void **state) {
    (void)state;
    spmv_waiting w = {.looked = {1000 * ms, 500 * ms, 70}};
    assert_false(decide(&w, 4, 30, 1.0, 0));
    assert_false(decide(&w, 4, 30, 1.0, 9)); /* they lose cores for a moment only */
    assert_false(decide(&w, 4, 30, 0.8, 9));
    assert_false(decide(&w, 4, 30, 0.1, 1));      /* they wait for the caller's own work */
    assert_false(decide(&w, 64, 30, 0.5, 9));     /* few of many */
    assert_false(decide(&w, 4, 60000, 0.01, 50)); /* long ago */
    assert_false(decide(&w, 4, 300, 0.5, 60));    /* most of it was the caller's work */
    assert_true(decide(&w, 4, 30, 0.5, 6));
    for (int k = 0; k < 16; k++) assert_true(decide(&w, 4, 30, 0.01, 0));
    assert_false(decide(&w, 4, 30, 0.01, 0)); /* half a second is over: they try */
    assert_true(decide(&w, 4, 30, 0.5, 6));   /* and are disturbed at once: for a second */
    for (int k = 0; k < 33; k++) assert_true(decide(&w, 4, 30, 0.01, 0));
    assert_false(decide(&w, 4, 30, 0.01, 0));
    for (int k = 0; k < 10; k++) assert_false(decide(&w, 4, 30, 1.0, 0));
    assert_true(decide(&w, 4, 30, 0.5, 6)); /* after a while without: for half a second */
    assert_true(decide(&w, 4, 480, 0.5, 6));
    assert_false(decide(&w, 4, 30, 0.5, 6));
    w.crowded = false;
    spmv_usage once = {w.looked.now + 30 * ms, w.looked.cpu, w.looked.switches + 6};
    assert_false(spmv_waiting_decide(&w, once, 4)); /* once may be chance */
    once.now += 30 * ms, once.switches += 6;
    assert_true(w.asleep = spmv_waiting_decide(&w, once, 4));
    assert_false(decide(&w, 4, 8001, 0.5, 6));
    int64_t longest = 0;
    for (int k = 0; k < 20; k++) {
        assert_true(decide(&w, 4, 30, 0.5, 6));
        longest = w.hold;
        assert_false(decide(&w, 4, longest / ms + 1, 0.5, 6));
    }
    assert_true(longest == 8000 * ms);
}

static int count_threads(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *d; dir && (d = readdir(dir));) n += d->d_name[0] != '.';
    if (dir) closedir(dir);
    return n;
}

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time that the threads of a team use after a product, while nobody needs them. */
static double time_to_rest(const spmv_plan *plan) {
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(multiply(plan, 1), 0);
        double before = cpu_s();
        usleep(200000);
        least = fmin(least, cpu_s() - before);
    }
    return least;
}

/* As if the last look had been long ago, and the cores others' since. */
static void pretend_it_is_crowded(spmv_waiting *w) {
    w->crowded = true;
    w->looked.now -= 10;
    w->looked.cpu += 1000000 * ms;
    w->looked.switches -= 1000000;
    w->look_at = 0;
}

/* What the helper's team is for: libgomp's own threads go to sleep. */
static void waiting_threads_do_sleep(void **state) {
    (void)state;
    spmv_mat *mat = grid(ctx);
    spmv_plan *plan = plan_of(mat, "csr_balanced");
    spmv_waiting w;
    double spinning = time_to_rest(plan);
    int before = count_threads();
    spmv_waiting_open(&w);
    assert_in_range(w.look_at - w.looked.now, 10 * ms, 100 * ms);
    pretend_it_is_crowded(&w);
    spmv_waiting_look(&w, 1); /* one thread waits for nobody */
    assert_int_equal(w.asleep, 0);
    spmv_waiting_look(&w, 2);
    assert_int_equal(w.asleep, 1);
    assert_true(count_threads() > before);
    double sleeping = time_to_rest(plan);
    print_message("processor time after a product: %.0f us spinning, %.0f us sleeping\n",
                  1e6 * spinning, 1e6 * sleeping);
#ifndef __clang__ /* whose OpenMP waits in its own way */
    assert_true(sleeping < spinning / 4);
#endif
    assert_int_equal(in_child(use_plan_and_make_another, plan), 0);
    w.until = 0, w.look_at = 0;
    spmv_waiting_look(&w, 2);
    assert_int_equal(w.asleep, 0);
    for (int k = 0; k < 1000 && count_threads() > before; k++) usleep(10000); /* they end */
    assert_true(count_threads() <= before);
    pretend_it_is_crowded(&w);
    spmv_waiting_look(&w, 2);
    spmv_waiting_close(&w); /* as a context does that is freed meanwhile */
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

/* Finds that the helper is the parent's, and makes one of its own. */
static int sleep_in_child(void *w) {
    int before = count_threads();
    spmv_waiting_look(w, 2);
    bool has_helper = before == 1 && count_threads() > 1;
    spmv_waiting_close(w);
    return has_helper ? 0 : 1;
}

#ifndef __SANITIZE_ADDRESS__
/* There is memory for the helper, but not for its team. */
static int sleep_without_memory(void *unused) {
    (void)unused;
    const size_t stack = (size_t)256 << 20; /* none that is kept is as large */
    pthread_attr_t large;
    spmv_waiting w;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, stack);
    if (pthread_setattr_default_np(&large) != 0) return 2;
    struct rlimit limit = {virtual_bytes() + stack * 3 / 2, virtual_bytes() + stack * 3 / 2};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 3;
    spmv_waiting_open(&w);
    pretend_it_is_crowded(&w);
    spmv_waiting_look(&w, 2);
    return w.asleep == 0 && w.look_at == INT64_MAX ? 0 : 4;
}

static void a_process_without_room_for_a_helper_goes_on(void **state) {
    (void)state;
    assert_int_equal(in_child(sleep_without_memory, NULL), 0);
}
#endif

static void a_child_has_a_helper_of_its_own(void **state) {
    (void)state;
    spmv_waiting w;
    spmv_waiting_open(&w);
    pretend_it_is_crowded(&w);
    spmv_waiting_look(&w, 2);
    assert_int_equal(w.asleep, 1);
    w.until = INT64_MAX, w.look_at = 0;
    assert_int_equal(in_child(sleep_in_child, &w), 0);
    spmv_waiting_close(&w);
}

/* The user's word on how threads wait is the last. */
static void a_chosen_policy_stands(void **state) {
    (void)state;
    static const char *const names[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"};
    for (int k = 0; k < COUNT(names); k++) {
        spmv_waiting w;
        setenv(names[k], k ? "1000" : "active", 1);
        spmv_waiting_open(&w);
        unsetenv(names[k]);
        spmv_waiting_look(&w, 2);
        assert_true(w.look_at == INT64_MAX && !w.asleep);
    }
}

static pid_t compete(int cpu) {
    pid_t child = fork();
    if (child != 0) return child;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    alarm(60);
    for (volatile int k = 0;; k = k + 1) {
    }
}

/* Two processes on each core that the test may use: products notice it, whatever the scheduler. */
static void products_notice_competitors(void **state) {
    (void)state;
    enum { MOST = 512 };
    cpu_set_t allowed;
    pid_t others[MOST];
    int n = 0;
    spmv_plan_facts facts = {.waits_asleep = 0};
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    spmv_ctx *own = context_of(CPU_COUNT(&allowed));
    spmv_mat *mat = grid(own);
    spmv_plan *plan = plan_of(mat, "csr_balanced");
    if (spmv_ctx_threads(own) > 1) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            for (int k = 0; k < 2 && CPU_ISSET((size_t)cpu, &allowed) && n < MOST; k++)
                others[n++] = compete(cpu);
        for (double end = spmv_now() + 60; !facts.waits_asleep && spmv_now() < end;) {
            assert_int_equal(multiply(plan, 10), 0);
            spmv_plan_info(plan, &facts);
        }
        while (n > 0) {
            kill(others[--n], SIGKILL);
            waitpid(others[n], NULL, 0);
        }
        assert_int_equal(facts.waits_asleep, 1);
    }
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    spmv_ctx_free(own);
}

/* The opposite of wait_without_spinning: here it matters how threads wait by default. */
static void wait_as_by_default(char **argv) {
    if (!getenv("OMP_WAIT_POLICY") && !getenv("GOMP_SPINCOUNT")) return;
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv) {
    (void)argc;
    wait_as_by_default(argv);
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__ /* which needs all addresses */
        cmocka_unit_test(a_process_may_get_fewer_threads),
        cmocka_unit_test(a_process_without_room_for_a_helper_goes_on),
#endif
        cmocka_unit_test(products_inside_the_callers_threads),
        cmocka_unit_test(one_plan_in_two_threads),
        cmocka_unit_test(a_plan_that_multiplies_refuses),
        cmocka_unit_test(concurrent_plans_are_right_in_several_threads),
        cmocka_unit_test(a_child_of_fork_multiplies),
        cmocka_unit_test(threads_sleep_where_cores_are_shared),
        cmocka_unit_test(waiting_threads_do_sleep),
        cmocka_unit_test(a_child_has_a_helper_of_its_own),
        cmocka_unit_test(a_chosen_policy_stands),
        cmocka_unit_test(products_notice_competitors),
        cmocka_unit_test(threads_are_bounded),
    };
    return cmocka_run_group_tests(tests, setup_all, free_all);
}
