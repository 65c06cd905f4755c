/* test_waiting.c: how threads wait for work where other processes use the same cores: when they go
 * to sleep, what this costs, and that products notice it. */
#include "spmv_clock.h"
#include "spmv_waiting.h"
#include "test/calls.h"
#include "threads.h"
#include <dirent.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

static const int64_t ms = 1000000;

/* Decides after that many milliseconds more, in which threads used a share of their cores, and lost
 * them that often. */
static bool decide(spmv_waiting *w, int threads, int64_t after, double share, int switches) {
    spmv_usage now = w->looked;
    w->crowded = true;
    now.now += after * ms;
    now.cpu += (int64_t)(share * (double)(after * ms * threads));
    now.switches += switches;
    w->asleep = spmv_waiting_decide(w, now, threads);
    return w->asleep;
}

TEST(threads_sleep_where_cores_are_shared) {
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

/* Callers may have trapped FE_INEXACT, or may test this flag after exact products. */
TEST(a_decision_raises_no_exception) {
    spmv_waiting w = {.looked = {1000 * ms, 500 * ms, 70}};
    const spmv_usage now = {1030 * ms, 500 * ms + 30000001, 76};
    feclearexcept(FE_ALL_EXCEPT);
    spmv_waiting_decide(&w, now, 4);
    assert_true(w.crowded);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
}

/* The times since the last call decide if they suffice; otherwise the thread's total times. */
TEST(thread_that_waits_for_its_core_shares_it) {
    spmv_waiting w = {.ran = 0};
    assert_false(spmv_waiting_shares_core(&w, 100 * ms, 0));
    assert_false(spmv_waiting_shares_core(&w, 200 * ms, 1 * ms)); /* a system's own threads */
    assert_true(spmv_waiting_shares_core(&w, 210 * ms, 9 * ms));
    assert_false(spmv_waiting_shares_core(&w, 220 * ms, 9 * ms)); /* the other one has ended */
    assert_false(spmv_waiting_shares_core(&w, 220 * ms, 9 * ms + 1));
    spmv_waiting young = {.ran = 0};
    assert_true(spmv_waiting_shares_core(&young, ms / 2, ms / 4));
    assert_true(spmv_waiting_shares_core(&w, 10 * ms, 10 * ms)); /* another thread */
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

/* Measures the processor time that the threads of a team use after a product, while they are idle:
 * least and most. If other processes use the same cores, a thread may have stopped spinning before
 * the caller returns. */
static void time_to_rest(const spmv_plan *plan, double *least, double *most) {
    *least = INFINITY, *most = 0;
    for (int k = 0; k < 5; k++) {
        assert_int_equal(multiply(plan, 1), 0);
        double before = cpu_s();
        usleep(100000);
        double used = cpu_s() - before;
        *least = fmin(*least, used), *most = fmax(*most, used);
    }
}

/* Pretends that the last check was long ago, and that other processes have used the cores since. */
static void pretend_it_is_crowded(spmv_waiting *w) {
    w->crowded = true;
    w->looked.now -= 10;
    w->looked.cpu += 1000000 * ms;
    w->looked.switches -= 1000000;
    w->look_at = 0;
}

/* Checks what the helper's team is for: libgomp's own threads go to sleep. */
TEST(waiting_threads_do_sleep) {
    FREED(spmv_mat) *mat = grid(ctx);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_balanced");
    spmv_waiting w;
    double least, spinning, sleeping, most;
    time_to_rest(plan, &least, &spinning);
    int before = count_threads();
    spmv_waiting_open(&w);
    assert_in_range(w.look_at - w.looked.now, 10 * ms, 100 * ms);
    pretend_it_is_crowded(&w);
    spmv_waiting_look(&w, 1); /* a team of one has no waiting threads */
    assert_int_equal(w.asleep, 0);
    spmv_waiting_look(&w, 2);
    assert_int_equal(w.asleep, 1);
    assert_true(count_threads() > before);
    time_to_rest(plan, &sleeping, &most);
    print_message("processor time after a product: %.0f us spinning, %.0f us sleeping\n",
                  1e6 * spinning, 1e6 * sleeping);
#ifndef __clang__ /* whose OpenMP waits in its own way */
    /* libgomp spins for milliseconds, but hardly where it has found fewer cores than threads. */
    assert_true(sleeping < (spinning > 1e-3 ? spinning / 4 : 1e-3));
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
}

/* Detects that the helper belongs to the parent, and starts a new one. */
static int sleep_in_child(void *w) {
    int before = count_threads();
    spmv_waiting_look(w, 2);
    bool has_helper = before == 1 && count_threads() > 1;
    spmv_waiting_close(w);
    return has_helper ? 0 : 1;
}

#ifndef __SANITIZE_ADDRESS__
/* Memory suffices for the helper, but not for its team. */
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

TEST(a_process_without_room_for_a_helper_goes_on) {
    assert_int_equal(in_child(sleep_without_memory, NULL), 0);
}
#endif

TEST(a_child_has_a_helper_of_its_own) {
    spmv_waiting w;
    spmv_waiting_open(&w);
    pretend_it_is_crowded(&w);
    spmv_waiting_look(&w, 2);
    assert_int_equal(w.asleep, 1);
    w.until = INT64_MAX, w.look_at = 0;
    assert_int_equal(in_child(sleep_in_child, &w), 0);
    w.looking = 1; /* as if another thread was checking during the fork */
    assert_int_equal(in_child(sleep_in_child, &w), 0);
    spmv_waiting_close(&w);
}

/* The user's word on how threads wait is the last. */
TEST(a_chosen_policy_stands) {
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

/* Says whether it has been seen within a minute. */
static bool notices(call how, const spmv_plan *plan, const spmv_csr_view *A) {
    FREED(double) *from = calloc((size_t)A->cols, sizeof *from);
    FREED(double) *to = calloc((size_t)A->rows, sizeof *to);
    spmv_plan_facts facts = {.size = sizeof(spmv_plan_facts), .waits_asleep = 0};
    for (double end = spmv_now() + 60; from && to && !facts.waits_asleep && spmv_now() < end;) {
        for (int k = 0; k < 10; k++) assert_int_equal(multiply_by(how, plan, from, to), SPMV_OK);
        spmv_plan_info(plan, &facts);
    }
    return facts.waits_asleep;
}

/* Runs two competing processes per core: products detect them with any scheduler, and for every
 * kind of call. */
static void notice_competitors(call how) {
    enum { MOST = 512 };
    cpu_set_t allowed;
    pid_t others[MOST];
    int n = 0;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    FREED(spmv_ctx) *own = context_of(CPU_COUNT(&allowed));
    FREED(spmv_mat) *mat = grid(own);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_balanced");
    if (spmv_ctx_threads(own) > 1) {
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            for (int k = 0; k < 2 && CPU_ISSET((size_t)cpu, &allowed) && n < MOST; k++)
                others[n++] = compete(cpu);
        spmv_csr_view A = rows_of(mat);
        const bool have_noticed = notices(how, plan, &A);
        while (n > 0) {
            kill(others[--n], SIGKILL);
            waitpid(others[n], NULL, 0);
        }
        assert_true(have_noticed);
    }
}

TEST(products_notice_competitors) {
    notice_competitors(EXEC);
}

TEST(products_on_a_stream_notice_competitors) {
    notice_competitors(EXEC_ASYNC);
    notice_competitors(APPLY);
}

TEST_MAIN(wait_as_by_default, setup_all, free_all)
