/* test_limits.c: limits, ranks and flags from records and matrices made by hand; rates kept in
 * files. */
#include "testing.h"
#include "app/run/session.h"
#include <dirent.h>
#include <omp.h>

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
                        .gathers = {4e9, 1e9, 1e8}};
}

static void rates_are_kept_and_found_again(void **state) {
    (void)state;
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

static void damaged_rates_are_none(void **state) {
    static const char *const bodies[] = {
        "spmv-probe/2 omp here\nread 1e10\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread 1e10\n",
        "spmv-probe/1 omp here\nread -1\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread nan\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread 1e10\nspeed 3\ngather 8 1e9\n",
        "spmv-probe/1 omp here\nread 1e10\ngather 80 1e9\ngather 8 1e9\n",
        "",
        "\n"};
    char folder[] = "/tmp/spmv-test-XXXXXX";
    (void)state;
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

static void rates_between_sizes(void **state) {
    (void)state;
    spmv_rates r = sample_rates();
    assert_true(fabs(gather_rate(&r, 10) - 4e9) < 1);
    assert_true(fabs(gather_rate(&r, 1e9) - 1e8) < 1);
    assert_true(fabs(gather_rate(&r, 10000) - 2e9) < 1); /* half way in both logarithms */
    assert_true(fabs(gather_rate(&r, 100000) - 1e9) < 1);
}

/* ---- reads of x ----------------------------------------------------------------------------- */

static reads_of_x reads_of(spmv_ctx *ctx, const char *source) {
    spmv_mat *mat = NULL;
    spmv_csr_view A;
    reads_of_x reads;
    assert_int_equal(spmv_mat_load(ctx, source, NULL, &mat), SPMV_OK);
    spmv_mat_rows(mat, &A);
    assert_true(find_reads_of_x(&A, &reads));
    spmv_mat_free(mat);
    return reads;
}

static void stencils_read_near_and_random_matrices_far(void **state) {
    (void)state;
    spmv_ctx *ctx = context_of(2);
    reads_of_x r = reads_of(ctx, "gen:poisson3d:60");
    assert_true(r.jumps < 0.01);
    r = reads_of(ctx, "gen:banded:20000:50");
    assert_true(r.jumps < 0.01);
    r = reads_of(ctx, "gen:random:400000:8"); /* 3.2 MB of x: 50,000 lines */
    assert_true(r.jumps > 0.5);
    assert_true(r.lines > 40000 && r.lines < 60000);
    r = reads_of(ctx, "gen:dense:10");
    assert_true(r.jumps >= 0 && r.jumps <= 1);
    spmv_ctx_free(ctx);
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

static void faster_than_memory_is_cached_or_suspect(void **state) {
    (void)state;
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

static void a_cache_is_believed_as_measured(void **state) {
    (void)state;
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

static void without_rates_there_are_no_limits(void **state) {
    (void)state;
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

/* ---- ranks ---------------------------------------------------------------------------------- */

static result row(const char *alias, double q1, double median, double q3, double prep) {
    result out = {0};
    record_clear(&out.r);
    out.r.status = "ok";
    out.r.config_alias = alias;
    out.r.config_backend = "omp";
    out.r.config_precision = "f64";
    out.r.config_cache = "warm";
    out.r.timing_q1_s = q1;
    out.r.timing_median_s = median;
    out.r.timing_q3_s = q3;
    out.r.prep_total_s = prep;
    return out;
}

static void ties_and_break_even_by_hand(void **state) {
    (void)state;
    result rows[] = {
        row("csr1", 9, 10, 11, 5),   row(NULL, 4, 5, 6, 30),   row(NULL, 5.5, 6, 7, 5),
        row(NULL, 6.5, 7, 8, 4),     row(NULL, 19, 20, 21, 0), row(NULL, 1, 2, 3, 0),
        row(NULL, 0.1, 0.1, 0.1, 0), row("csr1", 1, 1, 1, 0),  row(NULL, 1, 1, 1, 0),
        row(NULL, 11, 11, 11, 1),
    };
    rows[5].r.perf_verdict = "suspect"; /* faster than can be: not ranked */
    rows[6].r.status = "wrong";
    rows[7].r.config_precision = "f32"; /* has a best, and a csr1, of its own */
    rows[8].r.config_backend = "cuda";
    rows[8].r.status = "skipped";
    rank_results(rows, COUNT(rows));
    static const int best[] = {0, 1, 0, 0, 0, 0, -1, 1, -1, 0},
                     tied[] = {0, 0, 1, 0, 0, 0, -1, 0, -1, 0};
    for (int k = 0; k < COUNT(rows); k++) {
        assert_int_equal(rows[k].r.perf_best, best[k]);
        assert_int_equal(rows[k].r.perf_tied, tied[k]);
    }
    assert_int_equal(rows[0].r.perf_breakeven, 0);
    assert_int_equal(rows[1].r.perf_breakeven, 5); /* 25 more, 5 a product */
    assert_int_equal(rows[2].r.perf_breakeven, 0);
    assert_int_equal(rows[3].r.perf_breakeven, 0); /* cheaper to begin with */
    assert_true(rows[4].r.perf_breakeven == INT64_MIN);
    assert_true(rows[4].r.perf_ahead_until == INT64_MIN); /* half a product ahead */
    assert_true(rows[9].r.perf_breakeven == INT64_MIN);
    assert_int_equal(rows[9].r.perf_ahead_until, 4); /* 4 less, 1 a product lost */
    assert_true(rows[1].r.perf_ahead_until == INT64_MIN);
    assert_int_equal(rows[1].r.perf_ranked, 6); /* f64, a time that can be */
    assert_int_equal(rows[7].r.perf_ranked, 1);
    assert_true(fabs(rows[1].r.perf_speedup_csr1 - 2) < 1e-12);
    assert_true(fabs(rows[7].r.perf_speedup_csr1 - 1) < 1e-12);
    assert_true(isnan(rows[8].r.perf_speedup_csr1));
}

static void above_the_probe_is_ranked(void **state) {
    (void)state;
    result rows[] = {row("csr1", 9, 10, 11, 0), row(NULL, 5, 5, 5, 0), row(NULL, 1, 1, 1, 0)};
    rows[1].r.perf_verdict = "above probe";
    rows[2].r.perf_verdict = "suspect";
    rank_results(rows, COUNT(rows));
    assert_int_equal(rows[1].r.perf_best, 1);
    assert_int_equal(rows[0].r.perf_ranked, 2);
}

static void what_nobody_checked_is_not_ranked(void **state) {
    (void)state;
    result rows[] = {row("csr1", 9, 10, 11, 0), row(NULL, 5, 5, 5, 0)};
    rows[1].r.check_status = "off";
    rank_results(rows, COUNT(rows));
    assert_int_equal(rows[0].r.perf_best, 1);
    assert_int_equal(rows[0].r.perf_ranked, 1);
    assert_int_equal(rows[1].r.perf_best, 0);
    assert_int_equal(rows[1].r.perf_tied, 0);
}

static void where_all_were_disturbed_none_is_best(void **state) {
    (void)state;
    static const char *const flag[] = {"other programs used 1.0 processors"};
    result rows[] = {row("csr1", 9, 10, 11, 0), row(NULL, 5, 5, 12, 0)};
    rows[1].r.timing_flags = (texts){flag, 1};
    rank_results(rows, COUNT(rows));
    assert_int_equal(rows[1].r.perf_best, 1); /* beside one that was not */
    rows[0].r.timing_flags = (texts){flag, 1};
    rank_results(rows, COUNT(rows));
    for (int k = 0; k < COUNT(rows); k++) {
        assert_int_equal(rows[k].r.perf_best, 0);
        assert_int_equal(rows[k].r.perf_tied, 0);
    }
}

static void what_was_not_measured_is_no_row(void **state) {
    (void)state;
    result rows[] = {row("csr1", 9, 10, 11, 0), {.alias = NULL}, row(NULL, 5, 5, 5, 0)};
    rows[0].r.config_kernel = rows[2].r.config_kernel = "some";
    static session run;
    options o = {.caches.count = 1, .quiet = true};
    run.o = &o;
    run.ctx = context_of(2);
    rank_results(rows, COUNT(rows));
    explain_results(&run, rows, COUNT(rows), false);
    assert_int_equal(rows[2].r.perf_best, 1);
    assert_int_equal(rows[2].r.perf_ranked, 2);
    spmv_ctx_free(run.ctx);
}

/* ---- what is said below the table ----------------------------------------------------------- */

/* Whether the table of these rows has no mark on those that are tied. */
static bool is_blurred(const result *rows, int n) {
    table_row shown[16];
    for (int k = 0; k < n; k++) shown[k] = (table_row){&rows[k].r, NULL};
    return table_is_blurred(shown, n);
}

/* Of what explain_results says on stderr. */
static void explained(const session *run, const result *rows, int n, char *out, size_t size) {
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    explain_results(run, rows, n, is_blurred(rows, n));
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = 0;
    fclose(file);
}

static result waiting_row(double median) {
    result out = row(NULL, median, median, median, 0);
    out.r.config_kernel = "some";
    out.nflags = 1;
    out.waits = true;
    out.flags[0] = "threads waited for a core 50% of the time";
    out.r.timing_flags = (texts){out.flags, 1};
    return out;
}

static void the_run_says_what_to_type_against_waits(void **state) {
    (void)state;
    static char *words[] = {"./spmv", "-m", "a b.mtx", "-k", "csr_*"}, *no[] = {"./spmv", "it's"},
                *many[] = {"./spmv", "-t", "9", "-q", "--threads=9", "-t9", "--threads", "9"};
    char *policy = getenv("OMP_WAIT_POLICY"), before[64] = "", said[2000], flag[40];
    if (omp_get_num_procs() < 2) skip();
    if (policy) snprintf(before, sizeof before, "%s", policy);
    static session run;
    options o = {.caches.count = 1, .argv = words, .argc = 5, .command = "run"};
    result rows[] = {waiting_row(5)};
    run.o = &o;
    run.ctx = context_of(2);
    unsetenv("OMP_WAIT_POLICY");
    explained(&run, rows, 1, said, sizeof said);
    assert_non_null(
        strstr(said, "1 of 1 rows: threads waited for a core 50% of the time; so none"));
    assert_non_null(strstr(said,
                           "type, if need be with -t 1 behind it:\n"
                           "    OMP_WAIT_POLICY=passive ./spmv run -m 'a b.mtx' -k 'csr_*'\n"));
    setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
    explained(&run, rows, 1, said, sizeof said);
    assert_non_null(strstr(said, " 'csr_*' -t 1\n"));
    o.argv = no, o.argc = 2;
    explained(&run, rows, 1, said, sizeof said);
    assert_non_null(strstr(said, "type:\n    OMP_WAIT_POLICY=passive (the same command) -t 1\n"));
    unsetenv("OMP_WAIT_POLICY");
    spmv_ctx_free(run.ctx);
    run.ctx = context_of(omp_get_num_procs() + 1);
    o.argv = many, o.argc = COUNT(many);
    snprintf(flag, sizeof flag, "type:\n    ./spmv run -q -t %d\n", omp_get_num_procs());
    explained(&run, rows, 1, said, sizeof said);
    assert_non_null(strstr(said, flag));
    rows[0].r.gpu_name = "a GPU"; /* OpenMP's threads are not what waits */
    explained(&run, rows, 1, said, sizeof said);
    assert_null(strstr(said, "type"));
    unsetenv("OMP_WAIT_POLICY");
    if (*before) setenv("OMP_WAIT_POLICY", before, 1);
    spmv_ctx_free(run.ctx);
}

static void unchecked_results_are_named_and_not_ranked(void **state) {
    (void)state;
    char said[2000];
    static session run;
    options o = {.caches.count = 1, .probe = "off"};
    result rows[] = {row("csr1", 9, 10, 11, 0), row(NULL, 5, 5, 5, 0)};
    run.o = &o;
    run.ctx = context_of(2);
    for (int k = 0; k < COUNT(rows); k++) rows[k].r.config_kernel = k ? "quick" : "slow";
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_string_equal(said, "  cheapest with its preparation (f64): 1 to 10000 products quick\n"
                              "  for many products: quick, 2.00 x csr1, pays off at once\n");
    for (int k = 0; k < COUNT(rows); k++) rows[k].r.check_status = "off";
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_string_equal(said, "  check off: nobody compared these results with the reference, so "
                              "they are not ranked\n");
    spmv_ctx_free(run.ctx);
}

static void the_cheapest_of_disturbed_times_is_called_so(void **state) {
    (void)state;
    char said[2000];
    static session run;
    options o = {.caches.count = 1, .probe = "off"};
    result rows[] = {waiting_row(5), waiting_row(6)};
    for (int k = 0; k < COUNT(rows); k++) rows[k].waits = false;
    run.o = &o;
    run.ctx = context_of(2);
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_non_null(
        strstr(said, "preparation (f64, by disturbed times): 1 to 10000 products some\n"));
    spmv_ctx_free(run.ctx);
}

static void pays_off_is_said_to_one_digit(void **state) {
    (void)state;
    static const struct {
        double prep;
        const char *words;
    } cases[] = {{25, "about 5 products"},    {45, "about 9 products"},
                 {46, "about 10 products"},   {315, "about 60 products"},
                 {745, "about 100 products"}, {750, "about 200 products"}};
    static session run;
    options o = {.caches.count = 1, .probe = "off"};
    run.o = &o;
    run.ctx = context_of(2);
    for (int k = 0; k < COUNT(cases); k++) {
        char said[2000];
        result rows[] = {row("csr1", 10, 10, 10, 0), row(NULL, 5, 5, 5, cases[k].prep)};
        for (int j = 0; j < COUNT(rows); j++) rows[j].r.config_kernel = j ? "quick" : "slow";
        rank_results(rows, COUNT(rows));
        explained(&run, rows, COUNT(rows), said, sizeof said);
        assert_non_null(strstr(said, cases[k].words));
    }
    spmv_ctx_free(run.ctx);
}

static void the_cheapest_is_named_for_as_many_as_are_expected(void **state) {
    (void)state;
    static const struct {
        int64_t expected;
        const char *words;
    } cases[] = {{0, ": 1 product slow, 100 to 10000 products quick\n"},
                 {5, ": 1 to 5 products slow, 100 to 10000 products quick\n"},
                 {7, ": 1 product slow, 7 to 10000 products quick\n"},
                 {20000, ": 1 product slow, 100 to 20000 products quick\n"}};
    static session run;
    result rows[] = {row("csr1", 10, 10, 10, 0), row(NULL, 5, 5, 5, 31)};
    run.ctx = context_of(2);
    for (int j = 0; j < COUNT(rows); j++) rows[j].r.config_kernel = j ? "quick" : "slow";
    rank_results(rows, COUNT(rows));
    for (int k = 0; k < COUNT(cases); k++) {
        char said[2000];
        options o = {.caches.count = 1, .probe = "off", .iters = cases[k].expected};
        run.o = &o;
        explained(&run, rows, COUNT(rows), said, sizeof said);
        assert_non_null(strstr(said, cases[k].words));
    }
    spmv_ctx_free(run.ctx);
}

static void ties_are_said_once_where_nearly_all_are_tied(void **state) {
    (void)state;
    enum { ROWS = 5 };
    char said[2000], table[2000];
    static session run;
    options o = {.caches.count = 1, .probe = "off"};
    result rows[ROWS];
    table_row shown[ROWS];
    run.o = &o;
    run.ctx = context_of(2);
    for (int slower = 0; slower <= 1; slower++) {
        FILE *file = tmpfile();
        for (int k = 0; k < ROWS; k++) {
            rows[k] = row(NULL, 5, 6 + k, 20, 0);
            rows[k].r.config_kernel = "some";
            shown[k] = (table_row){&rows[k].r, NULL};
        }
        if (slower) rows[4] = row(NULL, 30, 30, 30, 0), rows[4].r.config_kernel = "some";
        rank_results(rows, ROWS);
        assert_int_equal(rows[3].r.perf_tied, 1); /* in the log */
        explained(&run, rows, ROWS, said, sizeof said);
        assert_int_equal(strstr(said, "  nearly all are tied") != NULL, !slower);
        assert_int_equal(strstr(said, "  = tied") != NULL, slower);
        table_write(file, shown, ROWS, "median", false, true);
        rewind(file);
        table[fread(table, 1, sizeof table - 1, file)] = 0;
        fclose(file);
        assert_int_equal(strstr(table, "\n= some") != NULL, slower);
    }
    spmv_ctx_free(run.ctx);
}

/* ---- noise ---------------------------------------------------------------------------------- */

static void noise_is_flagged(void **state) {
    (void)state;
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

/* Twice the threads that there are cores, all spinning: some must wait, and noise_now sees it. */
static void waiting_threads_are_seen(void **state) {
    (void)state;
    int threads = 4 * (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (access("/proc/self/schedstat", R_OK) != 0) skip();
    double from = 0, sum = 0;
    noise before = noise_now(), after, n = {0};
    from = before.wall_s;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    for (noise now = before; now.wall_s < from + 0.3; sum++) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        now.wall_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    }
    after = noise_now();
    noise_add(&n, &before, &after);
    assert_true(sum > 0 && n.wall_s >= 0.3 && n.wall_s < 60);
    assert_true(n.waited_s > 0.3 * n.wall_s);
}

static void a_slowed_gpu_is_flagged(void **state) {
    (void)state;
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

static void heat_that_slows_processors_is_flagged(void **state) {
    (void)state;
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

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_kept_and_found_again),
        cmocka_unit_test(damaged_rates_are_none),
        cmocka_unit_test(rates_between_sizes),
        cmocka_unit_test(stencils_read_near_and_random_matrices_far),
        cmocka_unit_test(faster_than_memory_is_cached_or_suspect),
        cmocka_unit_test(a_cache_is_believed_as_measured),
        cmocka_unit_test(without_rates_there_are_no_limits),
        cmocka_unit_test(ties_and_break_even_by_hand),
        cmocka_unit_test(above_the_probe_is_ranked),
        cmocka_unit_test(what_nobody_checked_is_not_ranked),
        cmocka_unit_test(where_all_were_disturbed_none_is_best),
        cmocka_unit_test(what_was_not_measured_is_no_row),
        cmocka_unit_test(the_run_says_what_to_type_against_waits),
        cmocka_unit_test(unchecked_results_are_named_and_not_ranked),
        cmocka_unit_test(the_cheapest_of_disturbed_times_is_called_so),
        cmocka_unit_test(pays_off_is_said_to_one_digit),
        cmocka_unit_test(the_cheapest_is_named_for_as_many_as_are_expected),
        cmocka_unit_test(ties_are_said_once_where_nearly_all_are_tied),
        cmocka_unit_test(noise_is_flagged),
        cmocka_unit_test(waiting_threads_are_seen),
        cmocka_unit_test(a_slowed_gpu_is_flagged),
        cmocka_unit_test(heat_that_slows_processors_is_flagged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
