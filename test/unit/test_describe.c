/* test_describe.c: the numbers of a record that follow from others. */
#include "testing.h"
#include "app/run/session.h"

/* 10 rows, 32 entries, half a second a product; bandwidth 100 B/s if any. */
static result timed(const char *precision, int64_t height, double bandwidth) {
    result out;
    memset(&out, 0, sizeof out);
    record_clear(&out.r);
    timing t = {.nsamples = 1, .sample_s = malloc(sizeof(double)), .inner = 1};
    assert_non_null(t.sample_s);
    t.sample_s[0] = 0.5;
    t.s = statistics_of(t.sample_s, 1);
    out.r.matrix_nnz = 32;
    out.r.matrix_rows = 10;
    out.r.perf_flop = 64;
    out.r.perf_bytes_min_B = 1000;
    out.r.config_precision = precision;
    out.r.perf_bw_peak_Bps = bandwidth;
    out.r.perf_bw_peak_source = bandwidth > 0 ? "theory" : NULL;
    if (height) {
        out.r.config_params.name[0] = "height";
        out.r.config_params.number[0] = height;
        out.r.config_params.count = 1;
    }
    const problem p = {.batch = NULL};
    const options o = {.keep_samples = 1000};
    describe_timing(&o, &out, &t, &p);
    describe_rates(&out.r);
    return out;
}

static void rates_follow_the_paper(void **state) {
    (void)state;
    result out = timed("f64", 4, 100);
    assert_true(out.r.perf_flop_per_s == 128);
    assert_true(out.r.perf_flop_per_s_cmrs == 108); /* (2 32 - 10) / 0.5 */
    assert_int_equal(out.r.perf_strips, 3);
    assert_int_equal(out.r.perf_beta_plus_B, 12 * 32 + 4 * 3 + 16 * 10);
    assert_int_equal(out.r.perf_beta_minus_B, 20 * 32 + 4 * 3 + 8 * 10);
    assert_true(fabs(out.r.perf_eta_plus - 556 / 50.0) < 1e-12);
    assert_true(fabs(out.r.perf_eta_minus - 732 / 50.0) < 1e-12);
    assert_string_equal(out.r.perf_eta_bw_source, "theory");
    free(out.samples);
}

/* 2 nnz - M is no count of anything where most rows are empty. */
static void no_rate_below_zero(void **state) {
    (void)state;
    static const struct {
        int64_t nnz;
        bool has_rate;
    } of[] = {{6, true}, {5, false}, {0, false}};
    for (int k = 0; k < COUNT(of); k++) {
        result out = timed("f64", 4, 100);
        out.r.matrix_nnz = of[k].nnz;
        out.r.perf_flop_per_s_cmrs = NAN;
        describe_rates(&out.r);
        assert_int_equal(!isnan(out.r.perf_flop_per_s_cmrs), of[k].has_rate);
        free(out.samples);
    }
}

static void kept_samples_are_spread_over_all(void **state) {
    (void)state;
    result out;
    memset(&out, 0, sizeof out);
    record_clear(&out.r);
    out.r.config_precision = "f64";
    out.r.matrix_nnz = 32;
    out.r.matrix_rows = 10;
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

static void a_kernel_without_strips_counts_rows(void **state) {
    (void)state;
    result out = timed("f64", 0, 100);
    assert_int_equal(out.r.perf_strips, 10);
    free(out.samples);
}

static void what_is_unknown_is_null(void **state) {
    (void)state;
    result host = timed("f64", 4, NAN), single = timed("f32", 4, 100);
    assert_true(isnan(host.r.perf_eta_plus) && isnan(host.r.perf_eta_bw_Bps));
    assert_null(host.r.perf_eta_bw_source);
    assert_int_equal(host.r.perf_beta_plus_B, 556);
    assert_int_equal(single.r.perf_beta_plus_B, INT64_MIN);
    assert_true(isnan(single.r.perf_eta_minus));
    assert_true(single.r.perf_flop_per_s_cmrs == 108);
    free(host.samples);
    free(single.samples);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_follow_the_paper),
        cmocka_unit_test(no_rate_below_zero),
        cmocka_unit_test(kept_samples_are_spread_over_all),
        cmocka_unit_test(a_kernel_without_strips_counts_rows),
        cmocka_unit_test(what_is_unknown_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
