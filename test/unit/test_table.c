/* test_table.c: the table of a run. */
#include "app/record/record.h"
#include "app/record/write_table.h"
#include "testing.h"

static const char *const disturbed[] = {"load"};

/* Makes a record of a kernel that took a second, within 10 %. */
static record timed(truth settled, int flags) {
    record r;
    record_clear(&r);
    r.status = r.check_status = "ok";
    r.config_kernel = "csr_rows", r.config_backend = "omp", r.config_cache = "warm";
    r.timing_median_low_s = 0.9, r.timing_median_s = 1, r.timing_median_high_s = 1.1;
    r.perf_bytes_min_B = 1000000;
    r.timing_settled = settled;
    r.timing_flags = (texts){disturbed, flags};
    return r;
}

/* Whatever marks stand behind it, the noise of every row ends in one column. */
TEST(noise_is_aligned) {
    const record records[] = {timed(1, 0), timed(0, 0), timed(1, 1), timed(0, 1)};
    table_row rows[COUNT(records)];
    char page[2000] = "", *line = page;
    FILE *out = fmemopen(page, sizeof page, "w");
    assert_non_null(out);
    for (int k = 0; k < COUNT(records); k++) rows[k] = (table_row){&records[k], NULL, NULL};
    table_write(out, rows, COUNT(rows), "median", false, true);
    fclose(out);
    const ptrdiff_t column = strchr(page, '%') - strchr(page, '\n') - 1;
    for (int k = 0; k < COUNT(records); k++) {
        line = strchr(line, '\n') + 1;
        if (strchr(line, '%') - line != column) fail_msg("%s", page);
    }
}

/* The fastest of several rows is marked; a lone row, or one of another precision, is not. */
TEST(a_lone_row_is_not_marked) {
    record r = timed(1, 0);
    r.perf_best = 1;
    const table_row row = {&r, NULL, NULL};
    for (int ranked = 1; ranked <= 2; ranked++) {
        char page[2000] = "";
        FILE *out = fmemopen(page, sizeof page, "w");
        assert_non_null(out);
        r.perf_ranked = ranked;
        table_write(out, &row, 1, "median", false, true);
        fclose(out);
        assert_true((strstr(page, "* csr_rows") != NULL) == (ranked > 1));
    }
}

static void write_table(record *records, int count, const char *alias, char *page, size_t size) {
    table_row rows[4];
    FILE *out = fmemopen(page, size, "w");
    assert_non_null(out);
    for (int k = 0; k < count; k++) rows[k] = (table_row){&records[k], alias, NULL};
    table_write(out, rows, count, "median", false, false);
    fclose(out);
}

/* The short name follows the kernel's name if the columns of measurements leave enough space. */
TEST(short_names_stand_in_brackets) {
    record records[] = {timed(1, 0), timed(1, 0)};
    char page[2000] = "";
    setenv("COLUMNS", "80", 1);
    write_table(records, 2, "csr1", page, sizeof page);
    assert_non_null(strstr(page, "\n  csr_rows (csr1)  "));
    assert_null(strstr(page, "alias"));
    setenv("COLUMNS", "48", 1);
    write_table(records, 2, "csr1", page, sizeof page);
    assert_null(strstr(page, "csr1"));
    assert_non_null(strstr(page, "csr_rows"));
    unsetenv("COLUMNS");
}

/* A millionth has its letter where the locale does, and columns stay in line. */
TEST(microseconds_have_their_letter) {
    record records[] = {timed(1, 0), timed(1, 0)};
    char page[2000] = "", said[TIME_TEXT];
    const char *found = getenv("LC_ALL");
    FREED(char) *before = found ? strdup(found) : NULL;
    records[0].timing_median_s = 2.1e-5;
    setenv("LC_ALL", "C", 1);
    time_text(2.1e-5, said);
    assert_string_equal(said, "21.00 us");
    setenv("LC_ALL", "de_DE.utf8", 1);
    time_text(2.1e-5, said);
    assert_string_equal(said, "21.00 µs");
    write_table(records, 2, NULL, page, sizeof page);
    const char *first = strchr(page, '\n') + 1, *second = strchr(first, '\n') + 1;
    assert_int_equal(strstr(first, "µs") - first, strstr(second, " s ") - second);
    if (before)
        setenv("LC_ALL", before, 1);
    else
        unsetenv("LC_ALL");
}

/* A note that applies to all rows stands once, below the table. */
TEST(that_all_are_in_cache_is_not_said_in_every_row) {
    record records[] = {timed(1, 0), timed(1, 0)};
    char page[2000] = "";
    records[0].perf_verdict = records[1].perf_verdict = "in cache";
    write_table(records, 2, NULL, page, sizeof page);
    assert_null(strstr(page, "in cache"));
    records[1].perf_verdict = "ok";
    write_table(records, 2, NULL, page, sizeof page);
    assert_non_null(strstr(page, "  ok, in cache\n"));
}

/* At 80 columns the choice of auto is named, and its threads and rates are there. */
TEST(what_matters_fits_80_columns) {
    record records[] = {timed(1, 0), timed(0, 1)};
    table_row rows[COUNT(records)];
    char page[2000] = "";
    for (int k = 0; k < COUNT(records); k++) {
        record *r = &records[k];
        r->config_kernel = k ? "csb_interleaved_blocks" : "sell16_lanes";
        r->config_requested = k ? "csb_interleaved_blocks" : "auto";
        r->config_threads = k ? 16 : 1, r->omp_threads = 16;
        r->config_params.count = 1;
        r->config_params.name[0] = "sigma", r->config_params.number[0] = 4096;
        r->perf_flop_per_s = 1.23e9, r->perf_B_per_s = 9e9, r->prep_total_s = 0.0123;
        rows[k] = (table_row){r, k ? NULL : "auto", NULL};
    }
    setenv("COLUMNS", "80", 1);
    FILE *out = fmemopen(page, sizeof page, "w");
    assert_non_null(out);
    table_write(out, rows, COUNT(rows), "median", false, false);
    fclose(out);
    unsetenv("COLUMNS");
    assert_non_null(strstr(page, "sell16_lanes (auto)"));
    if (!strstr(page, "threads=1")) fail_msg("%s", page);
    assert_non_null(strstr(page, "GFLOP/s"));
    assert_non_null(strstr(page, " 1.23 "));
    for (const char *line = page; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
