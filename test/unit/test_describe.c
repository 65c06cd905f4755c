/* test_describe.c: the numbers of a record that follow from others. */
#include "app/options/options.h"
#include "app/record/record.h"
#include "testing.h"
#include "app/run/results/describe.h"
#include "app/run/results/result.h"
#include <math.h>

TEST(rates_follow_from_the_median) {
    record r;
    record_clear(&r);
    r.perf_flop = 64;
    r.perf_bytes_min_B = 1000;
    r.timing_median_s = 0.5;
    describe_rates(&r);
    assert_true(r.perf_flop_per_s == 128);
    assert_true(r.perf_B_per_s == 2000);
}

TEST(kept_samples_are_spread_over_all) {
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

/* Every statistic has its own field in the record. */
TEST(statistics_keep_their_names) {
    result out;
    memset(&out, 0, sizeof out);
    record_clear(&out.r);
    timing t = {.nsamples = 9, .sample_s = malloc(9 * sizeof(double)), .inner = 3, .warmup = 4};
    assert_non_null(t.sample_s);
    for (int k = 0; k < 9; k++) t.sample_s[k] = (k * 5 % 9 + 1) * (k * 5 % 9 + 1);
    t.s = statistics_of(t.sample_s, 9);
    const problem p = {.nproducts = 5, .flush = 6, .launch_s = 7};
    const options o = {.keep_samples = 1000};
    describe_timing(&o, &out, &t, &p);
    const record *r = &out.r;
    assert_true(r->timing_min_s == 1 && r->timing_q1_s == 9 && r->timing_median_s == 25);
    assert_true(r->timing_q3_s == 49 && r->timing_max_s == 81 && r->timing_mean_s == 285.0 / 9);
    assert_true(fabs(r->timing_stdev_s - 28.080) < 1e-3);
    assert_true(r->timing_median_low_s == t.s.low && r->timing_median_high_s == t.s.high);
    assert_true(t.s.low < 25 && t.s.high > 25);
    assert_true(r->timing_inner == 3 && r->timing_warmup == 4 && r->timing_copies == 5);
    assert_true(r->timing_flush_B == 6 && r->timing_launch_s == 7 && r->timing_thinned == 0);
    for (int k = 0; k < 9; k++)
        assert_true(r->timing_samples_s.value[k] == (k * 5 % 9 + 1) * (k * 5 % 9 + 1));
    free(out.samples);
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
