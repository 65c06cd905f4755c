/* test_describe.c: the numbers of a record that follow from others. */
#include "testing.h"
#include "app/run/session.h"

static void rates_follow_from_the_median(void **state) {
    record r;
    (void)state;
    record_clear(&r);
    r.perf_flop = 64;
    r.perf_bytes_min_B = 1000;
    r.timing_median_s = 0.5;
    describe_rates(&r);
    assert_true(r.perf_flop_per_s == 128);
    assert_true(r.perf_B_per_s == 2000);
}

static void kept_samples_are_spread_over_all(void **state) {
    (void)state;
    result out;
    memset(&out, 0, sizeof out);
    record_clear(&out.r);
    timing t = {.nsamples = 100, .sample_s = malloc(100 * sizeof(double)), .inner = 1};
    assert_non_null(t.sample_s);
    for (int k = 0; k < 100; k++) t.sample_s[k] = 1 + k;
    t.s = statistics_of(t.sample_s, 100);
    const problem p = {.batch = NULL};
    const options o = {.keep_samples = 4};
    describe_timing(&o, &out, &t, &p);
    assert_int_equal(out.r.timing_samples, 100);
    assert_int_equal(out.r.timing_thinned, 1);
    assert_int_equal(out.r.timing_samples_s.count, 4);
    for (int k = 0; k < 4; k++) assert_true(out.r.timing_samples_s.value[k] == 1 + 25 * k);
    assert_true(out.r.timing_median_s == 50.5);
    free(out.samples);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_follow_from_the_median),
        cmocka_unit_test(kept_samples_are_spread_over_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
