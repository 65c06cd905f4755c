/* test_small.c: what a small matrix and its plan do not do: they open no file, start no thread, and
 * run no trials. This program's fopen, open and pthread_create stand before the C library's, and
 * count: of whatever library calls them, since they are visible. */
#include "testing.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

static int opened, started;

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    return found;
}

VISIBLE FILE *fopen(const char *path, const char *mode) {
    opened++;
    return ((FILE * (*)(const char *, const char *)) next("fopen"))(path, mode);
}

VISIBLE int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    opened++;
    return ((int (*)(const char *, int, ...))next("open"))(path, flags, mode);
}

VISIBLE int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                           void *arg) {
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    started++;
    return ((create *)next("pthread_create"))(thread, how, run, arg);
}

/* ---- a matrix of borrowed rows --------------------------------------------------------------- */

enum { MOST = 9000 }; /* nonzeros */
static int64_t ptr[MOST / 3 + 1];
static int32_t columns[MOST];
static double values[MOST], x[MOST / 3], y[MOST / 3];

static spmv_mat *matrix_of_rows(spmv_ctx *ctx, int64_t n) {
    const spmv_arrays a =
        ARRAYS(n, n, 3 * n, ptr, 64, columns, values, .flags = SPMV_BORROW | SPMV_SORTED);
    spmv_mat *mat = NULL;
    assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
    return mat;
}

/* Three entries per row. */
static void fill(int64_t n) {
    for (int64_t i = 0; i <= n; i++) ptr[i] = 3 * i;
    for (int64_t k = 0; k < 3 * n; k++) {
        const int64_t i = k / 3, first = i < 1 ? 0 : i > n - 2 ? n - 3 : i - 1;
        columns[k] = (int32_t)(first + k % 3);
        values[k] = 1 + 1 / (double)(k + 1);
    }
    for (int64_t i = 0; i < n; i++) x[i] = 1;
}

static void assert_multiplies(const spmv_plan *plan, int64_t n) {
    assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs(y[i] - values[3 * i] - values[3 * i + 1] - values[3 * i + 2]) < 1e-14);
}

static void make_one(spmv_ctx *ctx) {
    FREED(spmv_mat) *mat = matrix_of_rows(ctx, MOST / 3);
    FREED(spmv_plan) *plan = must_plan(mat, NULL);
}

/* The context is warm: it has made a matrix and a plan. With NULL options and csr_rows. After a
 * pause, since what was read a moment ago is not read again. */
TEST(no_file_is_opened_and_no_thread_started) {
    const spmv_ctx_opts two = {.size = sizeof two, .threads = 2, .backend = "omp"};
    const spmv_plan_opts rows = {.size = sizeof rows, .kernel = "csr_rows"};
    FREED(spmv_ctx) *ctx = NULL;
    assert_int_equal(spmv_ctx_create(&two, &ctx), SPMV_OK);
    fill(MOST / 3);
    make_one(ctx);
    usleep(60000);
    opened = started = 0;
    for (int64_t n = 30; n <= MOST / 3; n *= 10)
        for (int named = 0; named < 2; named++) {
            fill(n);
            FREED(spmv_mat) *mat = matrix_of_rows(ctx, n);
            FREED(spmv_plan) *plan = must_plan(mat, named ? &rows : NULL);
            spmv_plan_facts facts = plan_facts_of(plan);
            assert_int_equal(opened, 0);
            assert_int_equal(started, 0);
            assert_true(facts.timed == 0); /* no trials */
            assert_multiplies(plan, n);
        }
}

/* The functions above are the ones that the library calls. There are more threads than any matrix
 * has had here, so that some must be started. */
TEST(files_and_threads_are_counted) {
    enum { N = 90000 };
    const spmv_ctx_opts many = {.size = sizeof many, .threads = 6, .backend = "omp"};
    const spmv_plan_opts balanced = {.size = sizeof balanced, .kernel = "csr_balanced"};
    FREED(double) *vectors = calloc(2 * N, sizeof *vectors);
    FREED(spmv_ctx) *ctx = NULL;
    assert_non_null(vectors);
    opened = started = 0;
    assert_int_equal(spmv_ctx_create(&many, &ctx), SPMV_OK);
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:300");
    FREED(spmv_plan) *plan = must_plan(mat, &balanced);
    assert_int_equal(spmv_exec(plan, 1, vectors, 0, vectors + N), SPMV_OK);
    assert_true(opened > 0);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* they have their own */
    assert_true(started > 0);
#endif
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
