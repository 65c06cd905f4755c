/* test_limits.c: limits and verdicts from records and matrices made by hand; rates kept in
 * files. */
#include "app/options/options.h"
#include "app/record/record.h"
#include "app/run/limits/knee.h"
#include "app/run/limits/rates.h"
#include "app/run/limits/reads_of_x.h"
#include "testing.h"
#include "app/run/limits/limits.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include <dirent.h>

/* A folder of files alone, with them. */
static void remove_files(const char *folder) {
    DIR *dir = opendir(folder);
    char path[400];
    assert_non_null(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        snprintf(path, sizeof path, "%.100s/%.255s", folder, d->d_name);
        if (d->d_name[0] != '.') assert_int_equal(unlink(path), 0);
    }
    closedir(dir);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- rates ---------------------------------------------------------------------------------- */

static spmv_rates sample_rates(void) {
    return (spmv_rates){.read = 2e10,
                        .copy = 1e10,
                        .triad = 1.5e10,
                        .cache_read = 4e10,
                        .cache_bytes = 1 << 24,
                        .ngathers = 3,
                        .gather_bytes = {1000, 100000, 10000000},
                        .gathers = {4e9, 1e9, 1e8},
                        .nrows = 2,
                        .row_bytes = {16, 64},
                        .rows_near = {8e9, 2e9},
                        .rows_far = {3e9, 1e9}};
}

/* Under sanitizers a probe of this machine's caches would take minutes: one of 1 MB does not. */
TEST(a_small_cache_is_probed) {
    FREED(spmv_ctx) *ctx = context_of(2);
    spmv_rates found;
    assert_int_equal(spmv_ctx_probe(ctx, &spmv_omp, 1 << 20, &found), SPMV_OK);
    assert_true(found.read > 0 && found.copy > 0 && found.triad > 0 && found.cache_read > 0);
    assert_int_equal(found.cache_bytes, 1 << 19);
    assert_in_range(found.ngathers, 5, SPMV_GATHERS);
    for (int k = 0; k < found.ngathers; k++) {
        assert_int_equal(found.gather_bytes[k], (size_t)1 << (15 + 2 * k));
        assert_true(found.gathers[k] > 0);
    }
}

TEST(rates_are_kept_and_found_again) {
    char folder[] = "/tmp/spmv-test-XXXXXX", deep[64], name[128];
    assert_non_null(mkdtemp(folder));
    snprintf(deep, sizeof deep, "%s/new/er", folder);
    const options o = {.probe = deep, .quiet = true}, off = {.probe = "off"};
    spmv_rates kept = sample_rates(), found;
    assert_false(rates_load(&o, "omp here", &found));
    assert_int_equal(rates_save(&o, "omp here", &kept), 0);
    assert_true(rates_load(&o, "omp here", &found));
    assert_memory_equal(&found, &kept, sizeof kept);
    assert_false(rates_load(&o, "omp elsewhere", &found)); /* another machine's are no use */
    assert_false(rates_load(&off, "omp here", &found));
    remove_files(deep);
    snprintf(name, sizeof name, "%s/new", folder);
    assert_int_equal(rmdir(name), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(damaged_rates_are_none) {
    static const char *const bodies[] = {
        "spmv-probe/2 omp here\nread 1e10\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread 1e10\n",
        "spmv-probe/1 omp here\nread -1\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread nan\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread 1e10\nspeed 3\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread 1e10\ngather 80 1e9\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread 1e10\ngather 8 1e9\nrows 64 1e9 1e9\nrows 16 1e9 1e9\n",
        "",
        "\n"};
    char folder[] = "/tmp/spmv-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const options o = {.probe = folder};
    spmv_rates rates = sample_rates();
    char path[200] = "";
    assert_int_equal(rates_save(&o, "omp here", &rates), 0);
    FILE *file = NULL;
    DIR *dir = opendir(folder);
    for (struct dirent *d; (d = readdir(dir));)
        if (d->d_name[0] != '.') snprintf(path, sizeof path, "%.60s/%.100s", folder, d->d_name);
    closedir(dir);
    for (int k = 0; k < COUNT(bodies); k++) {
        file = fopen(path, "w");
        fputs(bodies[k], file);
        fclose(file);
        assert_false(rates_load(&o, "omp here", &rates));
    }
    remove_files(folder);
}

TEST(rates_between_sizes) {
    spmv_rates r = sample_rates();
    assert_true(fabs(gather_rate(&r, 10, 8) - 4e9) < 1);
    assert_true(fabs(gather_rate(&r, 1e9, 8) - 1e8) < 1);
    assert_true(fabs(gather_rate(&r, 10000, 8) - 2e9) < 1); /* half way in both logarithms */
    assert_true(fabs(gather_rate(&r, 100000, 8) - 1e9) < 1);
}

TEST(wide_rows_take_longer) {
    spmv_rates r = sample_rates();
    assert_true(fabs(gather_rate(&r, 10, 8) - 4e9) < 1); /* a number costs what a short row does */
    assert_true(fabs(gather_rate(&r, 10, 32) - 2e9) < 1);
    assert_true(fabs(gather_rate(&r, 10, 640) - 1e9) < 1);
    assert_true(fabs(gather_rate(&r, 1e9, 64) - 1e8 / 3) < 1); /* beyond the cache */
    r.nrows = 0;
    assert_true(fabs(gather_rate(&r, 10, 512) - 4e9) < 1); /* rows were not measured */
}

/* ---- reads of x ----------------------------------------------------------------------------- */

static reads_of_x reads_of(spmv_ctx *ctx, const char *source) {
    reads_of_x reads;
    FREED(spmv_mat) *mat = must_load(ctx, source);
    spmv_csr_view A = rows_of(mat);
    assert_true(find_reads_of_x(&A, &reads));
    return reads;
}

TEST(stencils_read_near_and_random_matrices_far) {
    FREED(spmv_ctx) *ctx = context_of(2);
    reads_of_x r = reads_of(ctx, "gen:poisson3d:60");
    assert_true(r.jumps < 0.01);
    r = reads_of(ctx, "gen:banded:20000:50");
    assert_true(r.jumps < 0.01);
    r = reads_of(ctx, "gen:random:400000:8"); /* 3.2 MB of x: 50,000 lines */
    assert_true(r.jumps > 0.5);
    assert_true(r.lines > 40000 && r.lines < 60000);
    r = reads_of(ctx, "gen:dense:10");
    assert_true(r.jumps >= 0 && r.jumps <= 1);
}

/* ---- shares and verdicts -------------------------------------------------------------------- */

static void one_verdict(const char *cache, double llc_ratio, double median_s, const char *expected,
                        double share) {
    static session run;
    result out = {0};
    record *r = &out.r;
    reads_of_x reads = {.jumps = 0.5, .lines = 100000 / 64.0};
    run.rates[0] = sample_rates();
    run.rated[0] = true;
    record_clear(r);
    r->config_cache = cache;
    r->config_precision = "f64";
    r->matrix_nnz = 1000000;
    r->perf_bytes_min_B = 20000000; /* 1 ms */
    r->store_llc_ratio = llc_ratio;
    r->timing_median_s = median_s;
    describe_limits(&run, &out, spmv_backends[0], &reads);
    assert_true(fabs(r->perf_limit_stream_s - 1e-3) < 1e-9);
    assert_true(fabs(r->perf_limit_gather_s - 0.5e-3) < 1e-9);
    assert_string_equal(r->perf_limit_binds, "stream");
    assert_true(fabs(r->perf_bw_fraction - share) < 1e-9);
    assert_true(fabs(r->perf_gather_fraction - share / 2) < 1e-9);
    assert_string_equal(r->perf_verdict, expected);
}

TEST(faster_than_memory_is_cached_or_suspect) {
    one_verdict("warm", 8, 1.25e-3, "ok", 0.8);
    one_verdict("warm", 8, 0.95e-3, "ok", 1 / 0.95); /* within the noise of two measurements */
    one_verdict("warm", 8, 0.85e-3, "above probe", 1 / 0.85); /* the probe was too low */
    one_verdict("cold", 8, 0.81e-3, "above probe", 1 / 0.81);
    one_verdict("cold", 8, 0.79e-3, "suspect", 1 / 0.79);
    one_verdict("warm", 8, 0.5e-3, "suspect", 2);
    one_verdict("warm", 2, 0.8e-3, "in cache", 1.25); /* half of it, at twice the rate: 0.75 ms */
    one_verdict("warm", 2, 0.5e-3, "suspect", 2);
    one_verdict("warm", 5, 0.75e-3, "suspect", 1 / 0.75);
    one_verdict("warm", 0.5, 0.5e-3, "in cache", 2);
    one_verdict("warm", 0.5, 2e-3, "in cache", 0.5);
    one_verdict("cold", 0.5, 2e-3, "ok", 0.5);
    one_verdict("cold", 0.5, 0.5e-3, "suspect", 2);
    one_verdict("steady", 0.5, 0.5e-3, "suspect", 2);
    one_verdict("warm", NAN, 0.5e-3, "suspect", 2);
}

TEST(a_cache_is_believed_as_measured) {
    spmv_rates rates = sample_rates();
    assert_int_equal(knee_of(&rates), 100000);
    rates.gathers[1] = 1.4e8; /* as slow as memory, nearly */
    assert_int_equal(knee_of(&rates), 1000);
    rates.ngathers = 0;
    assert_int_equal(knee_of(&rates), 0);
    static session run;
    reads_of_x reads = {.jumps = 0};
    static const struct {
        int64_t bytes;
        double median_s;
        const char *verdict;
    } of[] = {{400000, 2e-3, "ok"},
              {399999, 2e-3, "in cache"},
              {400000, 0.5e-3, "in cache"}}; /* faster than memory */
    run.rates[0] = sample_rates();
    run.rated[0] = true;
    for (int k = 0; k < COUNT(of); k++) { /* said to hold twice what the product works on */
        result out = {0};
        record_clear(&out.r);
        out.r.config_cache = "warm";
        out.r.config_precision = "f64";
        out.r.perf_bytes_min_B = 20000000; /* 1 ms */
        out.r.store_working_set_B = of[k].bytes;
        out.r.store_llc_ratio = 0.5;
        out.r.timing_median_s = of[k].median_s;
        describe_limits(&run, &out, spmv_backends[0], &reads);
        assert_string_equal(out.r.perf_verdict, of[k].verdict);
    }
}

TEST(the_rate_of_a_cache_is_logged_if_it_is_faster) {
    static session run;
    reads_of_x reads = {0};
    memset(&run, 0, sizeof run);
    run.rates[0] = sample_rates();
    run.rated[0] = true;
    for (int faster = 0; faster < 2; faster++) {
        result out = {0};
        record_clear(&out.r);
        out.r.config_cache = "warm";
        out.r.config_precision = "f64";
        out.r.perf_bytes_min_B = 1000;
        out.r.timing_median_s = 1;
        run.rates[0].cache_read = run.rates[0].read * (faster ? 3 : 0.9);
        describe_limits(&run, &out, spmv_backends[0], &reads);
        if (faster)
            assert_true(out.r.perf_cache_Bps == run.rates[0].cache_read);
        else
            assert_true(isnan(out.r.perf_cache_Bps));
    }
}

TEST(without_rates_there_are_no_limits) {
    static session run;
    result out = {0};
    reads_of_x reads = {0};
    memset(&run, 0, sizeof run);
    record_clear(&out.r);
    out.r.config_cache = "warm";
    out.r.config_precision = "f64";
    out.r.perf_bytes_min_B = 1000;
    out.r.timing_median_s = 1;
    describe_limits(&run, &out, spmv_backends[0], &reads);
    assert_true(isnan(out.r.perf_bw_fraction) && !out.r.perf_verdict);
    out.r.gpu_bw_theory_Bps = 1e6; /* a GPU says something of itself: a share, but no verdict */
    describe_limits(&run, &out, spmv_backends[0], &reads);
    assert_true(fabs(out.r.perf_bw_fraction - 1e-3) < 1e-12);
    assert_string_equal(out.r.perf_bw_peak_source, "theory");
    assert_null(out.r.perf_verdict);
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
