/* test_table.c: the table of a run. */
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
static void noise_is_aligned(void **state) {
    (void)state;
    const record records[] = {timed(1, 0), timed(0, 0), timed(1, 1), timed(0, 1)};
    table_row rows[COUNT(records)];
    char page[2000] = "", *line = page;
    FILE *out = fmemopen(page, sizeof page, "w");
    assert_non_null(out);
    for (int k = 0; k < COUNT(records); k++) rows[k] = (table_row){&records[k], NULL};
    table_write(out, rows, COUNT(rows), "median", false, true);
    fclose(out);
    const ptrdiff_t column = strchr(page, '%') - strchr(page, '\n') - 1;
    for (int k = 0; k < COUNT(records); k++) {
        line = strchr(line, '\n') + 1;
        if (strchr(line, '%') - line != column) fail_msg("%s", page);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(noise_is_aligned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
