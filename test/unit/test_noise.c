/* test_noise.c: what disturbed a measurement is flagged, from numbers made by hand and from
 * threads that wait. */
#include "app/record/record.h"
#include "testing.h"
#include "spmv_clock.h"
#include "app/run/results/describe.h"
#include "app/run/timing/noise.h"
#include "app/run/results/result.h"
#include <time.h>

TEST(noise_is_flagged) {
    static result out;
    record_clear(&out.r);
    const candidate calm = {.noise = {.wall_s = 1, .cpu_s = 2, .waited_s = 0.001, .busy_s = 2.01},
                            .p = {.host = true, .flush = 1}};
    describe_noise(&calm, 2, &out);
    assert_int_equal(out.r.timing_flags.count, 0);
    candidate rough = calm;
    rough.noise = (noise){.wall_s = 1, .cpu_s = 1, .waited_s = 1, .busy_s = 2.5, .stolen_s = 0.5};
    describe_noise(&rough, 2, &out);
    assert_int_equal(out.r.timing_flags.count, 3);
    assert_string_equal(out.r.timing_flags.value[0], "threads waited for a core 50% of the time");
    assert_string_equal(out.r.timing_flags.value[2], "other programs used 1.5 processors");
    assert_true(fabs(out.r.timing_others_s - 1.5) < 1e-12);
}

/* An H100 with a 16-core host: other programs used 0.8 of a core, and times of the GPU's kernels
 * were known to 0.0 %. */
TEST(a_busy_host_does_not_disturb_a_gpu) {
    static result out;
    record_clear(&out.r);
    candidate e = {.noise = {.wall_s = 1, .cpu_s = 1, .busy_s = 1.8, .stolen_s = 0.5}};
    describe_noise(&e, 16, &out);
    assert_int_equal(out.r.timing_flags.count, 0);
    assert_true(fabs(out.r.timing_others_s - 0.8) < 1e-12);
    e.noise.waited_s = 0.1; /* the thread that launches */
    describe_noise(&e, 16, &out);
    assert_int_equal(out.r.timing_flags.count, 1);
}

/* Twice the threads that there are cores, all spinning: some must wait, and noise_now sees it. */
TEST(waiting_threads_are_seen) {
    int threads = 4 * (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (access("/proc/self/schedstat", R_OK) != 0) skip();
    double from = 0, sum = 0;
    noise before = noise_now(), after, n = {0};
    from = before.wall_s;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    for (noise now = before; now.wall_s < from + 0.3; sum++) now.wall_s = spmv_now();
    after = noise_now();
    noise_add(&n, &before, &after);
    assert_true(sum > 0 && n.wall_s >= 0.3 && n.wall_s < 60);
    assert_true(n.waited_s > 0.3 * n.wall_s);
}

TEST(a_slowed_gpu_is_flagged) {
    static result out;
    record_clear(&out.r);
    candidate e = {
        .noise.wall_s = 1,
        .before = {.known = true, .device = {.clock_Hz = 1.98e9, .temperature_C = 40}},
        .after = {.known = true, .device = {.clock_Hz = 1.97e9, .temperature_C = 60, .slowed = 1}}};
    describe_noise(&e, 2, &out); /* 1: idle, no reason to worry */
    assert_int_equal(out.r.timing_flags.count, 0);
    assert_true(out.r.timing_temperature_after_C == 60 && out.r.gpu_mig == 0);
    assert_true(isnan(out.r.gpu_power_limit_W));
    e.after.device.clock_Hz = 1.2e9;
    e.after.device.slowed = 0x24;
    describe_noise(&e, 2, &out);
    assert_int_equal(out.r.timing_flags.count, 2);
    assert_string_equal(out.r.timing_flags.value[0], "the GPU was slowed down: software power cap");
    assert_int_equal(out.r.gpu_throttle.count, 2);
}

TEST(heat_that_slows_processors_is_flagged) {
    static result out;
    record_clear(&out.r);
    const surroundings before = {.known = true,
                                 .device = {.clock_Hz = 3e9, .temperature_C = 60, .throttled = 7}};
    candidate e = {
        .noise.wall_s = 1, .p = {.host = true, .flush = 1}, .before = before, .after = before};
    describe_noise(&e, 2, &out); /* what was before the rounds is no fault of theirs */
    assert_int_equal(out.r.timing_flags.count, 0);
    assert_true(out.r.timing_clk_cpu_before_Hz == 3e9 && out.r.timing_temperature_after_C == 60);
    e.after.device.throttled = 9;
    describe_noise(&e, 2, &out);
    assert_int_equal(out.r.timing_flags.count, 1);
    assert_string_equal(out.r.timing_flags.value[0], "heat slowed processors down");
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
