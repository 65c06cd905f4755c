/* test_session.c: which backend runs where one has no device; limits that a full disk cuts off. */
#include "testing.h"
#include "app/run/session.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_there;

static bool is_present(int which, char *why, size_t size) {
    (void)which;
    if (!is_there) snprintf(why, size, "no usable GPU (there is no NVIDIA driver)");
    return is_there;
}

static const spmv_kernel *const kernels[1][SPMV_NVARIANTS];
static const spmv_backend fake = {.name = "fake", .kernels = kernels, .present = is_present};
static const spmv_backend not_built_in = {.name = "none", .hint = "make it"};

static void a_build_for_gpus_runs_without_one(void **state) {
    (void)state;
    const options o = {.quiet = true};
    is_there = true;
    assert_ptr_equal(backend_that_works(&fake, &o), &fake);
    is_there = false;
    assert_string_equal(backend_that_works(&fake, &o)->name, "omp");
    assert_ptr_equal(backend_that_works(&not_built_in, &o), &not_built_in);
    assert_string_equal(backend_that_works(&spmv_omp, &o)->name, "omp");
}

static void limits_are_whole_or_as_before(void **state) {
    (void)state;
    char folder[] = "/tmp/spmv-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const options o = {.quiet = true, .probe = folder};
    const struct rlimit none = {0, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    spmv_rates saved = {.read = 2e9,
                        .copy = 1e9,
                        .triad = 1e9,
                        .cache_read = 3e9,
                        .cache_bytes = 9,
                        .ngathers = 1,
                        .gather_bytes = {8},
                        .gathers = {1e9}},
               read = {0};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(rates_save(&o, "omp here", &saved), 73);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    assert_int_equal(mkdir(folder, 0777), 0);

    assert_int_equal(rates_save(&o, "omp here", &saved), 0);
    saved.read = 5e9;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    assert_int_equal(rates_save(&o, "omp here", &saved), 73);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_true(rates_load(&o, "omp here", &read));
    assert_true(read.read == 2e9);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_build_for_gpus_runs_without_one),
                                       cmocka_unit_test(limits_are_whole_or_as_before)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
