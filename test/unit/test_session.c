/* test_session.c: which backend runs where one has no device; limits that a full disk cuts off. */
#include "app/options/options.h"
#include "app/run/devices.h"
#include "app/run/limits/rates.h"
#include "testing.h"
#include "app/run/session.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_there, crashes;
static int asked; /* in this process */

static bool is_present(int which, char *why, size_t size) {
    (void)which;
    asked++;
    if (crashes) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (!is_there) snprintf(why, size, "no usable GPU (there is no NVIDIA driver)");
    return is_there;
}

static const spmv_kernel *const kernels[1][SPMV_NVARIANTS];
static const spmv_backend fake = {.name = "fake", .kernels = kernels, .present = is_present};
static const spmv_backend not_built_in = {.name = "none", .hint = "make it"};

static const spmv_backend *that_works(const spmv_backend *usual, bool forks) {
    const options o = {.quiet = true};
    return backend_that_works(&(session){.o = &o, .backend = usual, .forks = forks});
}

TEST(a_build_for_gpus_runs_without_one) {
    for (int forks = 0; forks < 2; forks++) {
        is_there = true;
        assert_ptr_equal(that_works(&fake, forks), &fake);
        is_there = false;
        assert_string_equal(that_works(&fake, forks)->name, "omp");
        assert_ptr_equal(that_works(&not_built_in, forks), &not_built_in);
        assert_string_equal(that_works(&spmv_omp, forks)->name, "omp");
    }
}

/* A group omits the kernels of an absent device, with one message. */
TEST(groups_do_without_a_device) {
    const options any = {.quiet = true}, on_omp = {.quiet = true, .backend = "omp"},
                  on_fake = {.quiet = true, .backend = "fake"};
    const spmv_kernel_id all[] = {{&spmv_omp, 0}, {&fake, 0}, {&spmv_omp, 1}, {&fake, 1}};
    for (int there = 0; there < 2; there++) {
        session run = {.o = &any, .backend = &spmv_omp};
        spmv_kernel_id found[4];
        is_there = there;
        asked = 0;
        memcpy(found, all, sizeof all);
        assert_int_equal(keep_usable(&run, "all", found, 4), there ? 4 : 2);
        for (int k = 0; k < 2 && !there; k++) {
            assert_ptr_equal(found[k].backend, &spmv_omp);
            assert_int_equal(found[k].index, k);
        }
        assert_int_equal(asked, there ? 2 : 1); /* asking a driver takes long */
        assert_int_equal(run.told_missing, !there);
        run.o = &on_omp;
        memcpy(found, all, sizeof all);
        assert_int_equal(keep_usable(&run, "all", found, 4), 2);
        run.o = &on_fake, run.backend = &fake; /* who insists learns what is missing */
        memcpy(found, all, sizeof all);
        assert_int_equal(keep_usable(&run, "all", found, 4), 2);
        assert_ptr_equal(found[0].backend, &fake);
    }
}

/* A driver that has started works in no process that is forked later. */
TEST(a_session_that_forks_asks_no_driver_itself) {
    const options o = {.quiet = true};
    session run = {.o = &o, .backend = &fake, .forks = true};
    char why[256];
    asked = 0, is_there = true;
    assert_true(machine_has(&run, &fake, why, sizeof why));
    assert_int_equal(asked, 0);
    is_there = false;
    assert_false(machine_has(&run, &fake, why, sizeof why));
    assert_string_equal(why, "no usable GPU (there is no NVIDIA driver)");
    crashes = true;
    assert_false(machine_has(&run, &fake, why, sizeof why));
    assert_non_null(strstr(why, "ended with signal 11"));
    crashes = false;
    assert_int_equal(asked, 0);
    run.forks = false;
    assert_false(machine_has(&run, &fake, why, sizeof why));
    assert_int_equal(asked, 1);
}

TEST(limits_are_whole_or_as_before) {
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

TEST_MAIN(begin_as_it_is, NULL, NULL)
