/* test_ranks.c: ranks of results made by hand, and what is said of them below the table; and what
 * times of the ranks of an MPI program tell. */
#include "app/options/options.h"
#include "app/record/record.h"
#include "app/record/write_table.h"
#include "app/run/results/notes.h"
#include "testing.h"
#include "app/ranks/ranks.h"
#include "app/run/results/ranking.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include <omp.h>

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

TEST(ties_and_break_even_by_hand) {
    result rows[] = {
        row("csr1", 9, 10, 11, 5),   row(NULL, 4, 5, 6, 30),   row(NULL, 5.5, 6, 7, 5),
        row(NULL, 6.5, 7, 8, 4),     row(NULL, 19, 20, 21, 0), row(NULL, 1, 2, 3, 0),
        row(NULL, 0.1, 0.1, 0.1, 0), row("csr1", 1, 1, 1, 0),  row(NULL, 1, 1, 1, 0),
        row(NULL, 11, 11, 11, 1),
    };
    rows[5].r.perf_verdict = "suspect"; /* faster than can be: not ranked */
    rows[6].r.status = "wrong";
    rows[7].r.config_precision = "f32"; /* another precision: has its own best kernel and csr1 */
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

TEST(above_the_probe_is_ranked) {
    result rows[] = {row("csr1", 9, 10, 11, 0), row(NULL, 5, 5, 5, 0), row(NULL, 1, 1, 1, 0)};
    rows[1].r.perf_verdict = "above probe";
    rows[2].r.perf_verdict = "suspect";
    rank_results(rows, COUNT(rows));
    assert_int_equal(rows[1].r.perf_best, 1);
    assert_int_equal(rows[0].r.perf_ranked, 2);
}

TEST(what_nobody_checked_is_not_ranked) {
    result rows[] = {row("csr1", 9, 10, 11, 0), row(NULL, 5, 5, 5, 0)};
    rows[1].r.check_status = "off";
    rank_results(rows, COUNT(rows));
    assert_int_equal(rows[0].r.perf_best, 1);
    assert_int_equal(rows[0].r.perf_ranked, 1);
    assert_int_equal(rows[1].r.perf_best, 0);
    assert_int_equal(rows[1].r.perf_tied, 0);
}

TEST(where_all_were_disturbed_none_is_best) {
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

TEST(what_was_not_measured_is_no_row) {
    result rows[] = {row("csr1", 9, 10, 11, 0), {.alias = NULL}, row(NULL, 5, 5, 5, 0)};
    rows[0].r.config_kernel = rows[2].r.config_kernel = "some";
    static session run;
    options o = {.caches.count = 1, .quiet = true, .format = "table"};
    run.o = &o;
    run.ctx = context_of(2);
    rank_results(rows, COUNT(rows));
    explain_results(&run, rows, COUNT(rows), false);
    assert_int_equal(rows[2].r.perf_best, 1);
    assert_int_equal(rows[2].r.perf_ranked, 2);
    spmv_ctx_free(run.ctx);
}

/* ---- what is said below the table ----------------------------------------------------------- */

/* Says whether the table of these rows has no mark on those that are tied. */
static bool is_blurred(const result *rows, int n) {
    table_row shown[16];
    for (int k = 0; k < n; k++) shown[k] = (table_row){&rows[k].r, NULL, NULL};
    return table_is_blurred(shown, n);
}

/* Captures the notes on the rows from stderr. */
static void explained(const session *run, const result *rows, int n, char *out, size_t size) {
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    explain_results(run, rows, n, is_blurred(rows, n));
    say_winners(run, rows, n);
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
    out.r.config_threads = 2;
    out.flags[0] = "threads waited for a core 50% of the time";
    out.r.timing_flags = (texts){out.flags, 1};
    return out;
}

/* One line names the disturbance and the remedy; -v adds details. */
TEST(the_run_says_what_helps_against_waits) {
    char *policy = getenv("OMP_WAIT_POLICY"), before[64] = "", said[2000];
    if (omp_get_num_procs() < 2) skip();
    if (policy) snprintf(before, sizeof before, "%s", policy);
    static session run;
    options o = {.caches.count = 1, .format = "table"};
    result rows[] = {waiting_row(5), waiting_row(6)};
    run.o = &o;
    run.ctx = context_of(2);
    unsetenv("OMP_WAIT_POLICY");
    explained(&run, rows, 1, said, sizeof said);
    assert_string_equal(said, "  ! threads waited for a core 50% of the time: "
                              "OMP_WAIT_POLICY=passive helps\n");
    rows[0].flags[1] = "other programs used 1.0 processors";
    rows[0].nflags = 2;
    explained(&run, rows, 1, said, sizeof said); /* what the waits came from */
    assert_null(strstr(said, "other programs"));
    o.verbose = true;
    explained(&run, rows, 1, said, sizeof said);
    assert_non_null(strstr(said, "of the time, other programs used 1.0 processors: OMP"));
    o.verbose = false;
    rows[0].r.timing_settled = 0;
    rows[1].nflags = 0, rows[1].r.timing_flags = (texts){NULL, 0};
    explained(&run, rows, 2, said, sizeof said);
    assert_non_null(strstr(said, "  ~ ! 1 of 2 rows: threads waited"));
    assert_null(strstr(said, "is not known to within")); /* more time would not help */
    setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
    explained(&run, rows, 1, said, sizeof said);
    assert_non_null(strstr(said, "of the time: -t 1 helps\n"));
    unsetenv("OMP_WAIT_POLICY");
    spmv_ctx_free(run.ctx);
    run.ctx = context_of(omp_get_num_procs() + 1);
    explained(&run, rows, 1, said, sizeof said);
    assert_non_null(strstr(said, "of the time\n")); /* it was said that -t helps */
    rows[0].r.config_threads = 1;                   /* with one thread, no other thread waits for
                                                       it */
    explained(&run, rows, 1, said, sizeof said);
    assert_null(strstr(said, "-t "));
    rows[0].r.config_threads = 2;
    rows[0].r.gpu_name = "a GPU"; /* OpenMP's threads are not what waits */
    explained(&run, rows, 1, said, sizeof said);
    assert_null(strstr(said, "-t "));
    if (*before) setenv("OMP_WAIT_POLICY", before, 1);
    spmv_ctx_free(run.ctx);
}

TEST(unchecked_results_are_named_and_not_ranked) {
    char said[2000];
    static session run;
    options o = {.caches.count = 1, .format = "table"};
    result rows[] = {row("csr1", 9, 10, 11, 0), row(NULL, 5, 5, 5, 0)};
    run.o = &o;
    run.ctx = context_of(2);
    for (int k = 0; k < COUNT(rows); k++) rows[k].r.config_kernel = k ? "quick" : "slow";
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_string_equal(said, "fastest: quick, 2.00 times as fast as slow; pays off at once\n");
    for (int k = 0; k < COUNT(rows); k++) rows[k].r.check_status = "off";
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_string_equal(said, "  check off: nobody compared these results with the reference, so "
                              "they are not ranked\n");
    spmv_ctx_free(run.ctx);
}

TEST(the_fastest_of_disturbed_times_is_called_so) {
    char said[2000];
    static session run;
    options o = {.caches.count = 1, .format = "table", .verbose = true};
    result rows[] = {waiting_row(5), waiting_row(6)};
    for (int k = 0; k < COUNT(rows); k++) rows[k].waits = false;
    run.o = &o;
    run.ctx = context_of(2);
    rows[1].r.config_kernel = "other";
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_non_null(strstr(said, "\nfastest: perhaps some, about 1.2 times (1.2 to 1.2) as fast as "
                                 "other\n"));
    rows[1].r.config_kernel = "some";
    assert_non_null(strstr(
        said,
        "preparation (f64; all times were disturbed): perhaps some for 1 to 10000 products\n"));
    /* Nobody knows which of two in doubt is faster; that one is ready sooner is known. */
    rows[0].r.config_kernel = "later", rows[0].r.prep_total_s = 50;
    for (int k = 0; k < COUNT(rows); k++) {
        rows[k].r.timing_median_low_s = 4, rows[k].r.timing_median_high_s = 8;
        rows[k].r.timing_settled = 0;
    }
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_non_null(
        strstr(said, ": some for 1 product, perhaps later for 100 to 10000 products\n"));
    spmv_ctx_free(run.ctx);
}

/* The ratio of two noisy times is printed as a range; the number of products that pays is one
 * number. */
TEST(a_ratio_of_times_in_doubt_has_a_range) {
    char said[2000];
    static const char *const flag[] = {"other programs used 1.0 processors"};
    static session run;
    options o = {.caches.count = 1, .format = "table"};
    result rows[] = {row("csr1", 60, 100, 110, 0), row(NULL, 7, 8.72, 12, 6000)};
    run.o = &o;
    run.ctx = context_of(2);
    for (int k = 0; k < COUNT(rows); k++) rows[k].r.config_kernel = k ? "quick" : "slow";
    rows[1].r.timing_median_low_s = 6, rows[1].r.timing_median_high_s = 11;
    rows[1].r.timing_flags = (texts){flag, 1};
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_non_null(strstr(said, "fastest: quick, about 11 times (5.0 to 18) as fast as slow; "
                                 "pays off after about 70 products\n"));
    rows[1].r.timing_q3_s = 61; /* perhaps it is slower */
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_non_null(strstr(said, "about 11 times (1.0 to 18) as fast as slow; pays off after"));
    rows[1].r.timing_flags = (texts){NULL, 0}; /* settled, to the 30 % of its interval */
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_non_null(strstr(said, "quick, 11 times as fast as slow; pays off after about 70"));
    spmv_ctx_free(run.ctx);
}

/* The last line gives the speed-up over csr1; if csr1 wins or did not run, over the second. */
TEST(the_winner_is_compared_with_csr1_or_the_second) {
    char said[2000];
    static session run;
    options o = {.caches.count = 1, .format = "table"};
    result rows[] = {row("csr1", 10, 10, 10, 0), row(NULL, 5, 5, 5, 0), row(NULL, 20, 20, 20, 0)};
    static const char *const names[] = {"csr_rows", "quick", "slow"};
    run.o = &o;
    run.ctx = context_of(2);
    for (int k = 0; k < COUNT(rows); k++) rows[k].r.config_kernel = names[k];
    rank_results(rows, COUNT(rows));
    explained(&run, rows, COUNT(rows), said, sizeof said);
    assert_string_equal(said, "fastest: quick, 2.00 times as fast as csr_rows; pays off at once\n");
    rank_results(rows + 1, 2);
    explained(&run, rows + 1, 2, said, sizeof said);
    assert_string_equal(said, "fastest: quick, 4.00 times as fast as slow\n");
    rows[1] = rows[2];
    rank_results(rows, 2);
    explained(&run, rows, 2, said, sizeof said);
    assert_string_equal(said, "fastest: csr_rows, 2.00 times as fast as slow\n");
    rows[1] = row(NULL, 9, 10, 11, 0);
    rows[1].r.config_kernel = "alike";
    rank_results(rows, 2);
    explained(&run, rows, 2, said, sizeof said);
    assert_string_equal(said, "fastest: csr_rows, tied (=) with alike\n");
    o.quiet = true;
    explained(&run, rows, 2, said, sizeof said);
    assert_string_equal(said, "");
    spmv_ctx_free(run.ctx);
}

TEST(pays_off_is_said_to_one_digit) {
    static const struct {
        double prep;
        const char *words;
    } cases[] = {{25, "about 5 products"},    {45, "about 9 products"},
                 {46, "about 10 products"},   {315, "about 60 products"},
                 {745, "about 100 products"}, {750, "about 200 products"}};
    static session run;
    options o = {.caches.count = 1, .format = "table"};
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

TEST(the_fastest_is_named_for_as_many_as_are_expected) {
    static const struct {
        int64_t expected;
        const char *words;
    } cases[] = {{0, ": slow for 1 product, quick for 100 to 10000 products\n"},
                 {5, ": slow for 1 to 5 products, quick for 100 to 10000 products\n"},
                 {7, ": slow for 1 product, quick for 7 to 10000 products\n"},
                 {20000, ": slow for 1 product, quick for 100 to 20000 products\n"}};
    static session run;
    result rows[] = {row("csr1", 10, 10, 10, 0), row(NULL, 5, 5, 5, 31)};
    run.ctx = context_of(2);
    for (int j = 0; j < COUNT(rows); j++) rows[j].r.config_kernel = j ? "quick" : "slow";
    rank_results(rows, COUNT(rows));
    for (int k = 0; k < COUNT(cases); k++) {
        char said[2000];
        options o = {
            .caches.count = 1, .format = "table", .verbose = true, .iters = cases[k].expected};
        run.o = &o;
        explained(&run, rows, COUNT(rows), said, sizeof said);
        assert_non_null(strstr(said, cases[k].words));
    }
    spmv_ctx_free(run.ctx);
}

TEST(ties_are_said_once_where_nearly_all_are_tied) {
    enum { ROWS = 5 };
    char said[2000], table[2000];
    static session run;
    options o = {.caches.count = 1, .format = "table"};
    result rows[ROWS];
    table_row shown[ROWS];
    run.o = &o;
    run.ctx = context_of(2);
    for (int slower = 0; slower <= 1; slower++) {
        FILE *file = tmpfile();
        for (int k = 0; k < ROWS; k++) {
            rows[k] = row(NULL, 5, 6 + k, 20, 0);
            rows[k].r.config_kernel = "some";
            shown[k] = (table_row){&rows[k].r, NULL, NULL};
        }
        if (slower) rows[4] = row(NULL, 30, 30, 30, 0), rows[4].r.config_kernel = "some";
        rank_results(rows, ROWS);
        assert_int_equal(rows[3].r.perf_tied, 1); /* in the log */
        explained(&run, rows, ROWS, said, sizeof said);
        assert_int_equal(strstr(said, "  nearly all are tied") != NULL, !slower);
        assert_non_null(
            strstr(said, slower ? ", tied (=) with 3 others" : ", tied (=) with 4 others"));
        table_write(file, shown, ROWS, "median", false, true);
        rewind(file);
        table[fread(table, 1, sizeof table - 1, file)] = 0;
        fclose(file);
        assert_int_equal(strstr(table, "\n= some") != NULL, slower);
    }
    spmv_ctx_free(run.ctx);
}

/* ---- ranks of an MPI program ---------------------------------------------------------------- */

TEST(others_disturb_neither_choice_nor_share) {
    double overlapped[] = {9, 9, 5, 9, 9}, in_turn[] = {70, 6, 6, 6, 6},
           exchange[] = {2, 90, 2, 4, 2}, product[] = {4, 4, 4, 4, 4};
    double *slowest[WAYS] = {overlapped, in_turn, exchange, product};
    assert_int_equal(ranks_faster_way(overlapped, in_turn, 5), SPMV_OVERLAPPED);
    assert_int_equal(ranks_faster_way(overlapped, in_turn, 2), SPMV_IN_TURN);
    assert_true(ranks_hidden(slowest, 5) == 0.5);
    assert_true(ranks_hidden(slowest, 2) == 0); /* overlapped takes longer: nothing is hidden */
    in_turn[2] = in_turn[1] = in_turn[3] = in_turn[4] = 60;
    assert_true(ranks_hidden(slowest, 5) == 1); /* no more than there is */
    for (int k = 0; k < 5; k++) exchange[k] = 0;
    assert_true(isnan(ranks_hidden(slowest, 5)));
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
