/* threads.h: for tests of threads: a context of two threads, a grid and its product; children of
 * fork(). */
#ifndef SPMV_TEST_THREADS_H
#define SPMV_TEST_THREADS_H

#include "testing.h"
#include <sys/resource.h>
#include <sys/wait.h>

enum { N = 40 * 40, TIMES = 20 };

static spmv_ctx *ctx; /* shared by two threads */
static double x[N], wanted[N];

static inline spmv_mat *grid(spmv_ctx *of) {
    return must_load(of, "gen:poisson2d:40");
}

static inline spmv_plan *plan_of(spmv_mat *mat, const char *kernel) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel};
    spmv_plan *plan = NULL;
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    assert_true(status == SPMV_OK || status == SPMV_E_UNSUITABLE);
    return plan;
}

static inline int setup_all(void **state) {
    (void)state;
    setenv("GOMP_SPINCOUNT", "", 1); /* this context does not look for competitors */
    ctx = context_of(2);
    unsetenv("GOMP_SPINCOUNT");
    FREED(spmv_mat) *mat = grid(ctx);
    FREED(spmv_plan) *plan = plan_of(mat, "csr_serial");
    for (int j = 0; j < N; j++) x[j] = cos(j);
    assert_int_equal(spmv_exec(plan, 1, x, 0, wanted), SPMV_OK);
    return 0;
}

static inline int free_all(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return 0;
}

static inline bool is_right(const double *y) {
    for (int i = 0; i < N; i++)
        if (!(fabs(y[i] - wanted[i]) < 1e-12)) return false;
    return true;
}

/* Counts products that went wrong. */
static inline int multiply(const spmv_plan *plan, int times) {
    double y[N];
    int wrong = 0;
    for (int n = 0; n < times; n++) {
        for (int i = 0; i < N; i++) y[i] = NAN;
        wrong += spmv_exec(plan, 1, x, 0, y) != SPMV_OK || !is_right(y);
    }
    return wrong;
}

/* Runs the work in a child of fork(), which has a minute; returns its result. */
static inline int in_child(int (*work)(void *), void *arg) {
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

static inline int use_plan_and_make_another(void *plan) {
    int wrong = multiply(plan, TIMES);
    FREED(spmv_ctx) *own = context_of(2);
    FREED(spmv_mat) *mat = grid(own);
    FREED(spmv_plan) *mine = plan_of(mat, "auto");
    wrong += multiply(mine, TIMES);
    return wrong;
}

/* Returns the bytes of address space that this process has. */
static inline size_t virtual_bytes(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The opposite of wait_without_spinning: here it matters how threads wait by default. */
static inline void wait_as_by_default(int argc, char **argv) {
    (void)argc;
    if (!getenv("OMP_WAIT_POLICY") && !getenv("GOMP_SPINCOUNT")) return;
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("GOMP_SPINCOUNT");
    execv("/proc/self/exe", argv);
}
#endif
