/* write_table.c: the terminal's table. */
#include "app.h"
#include <math.h>

enum { NCOLUMNS = 10, CELL = 64 };
static const char *const heads[NCOLUMNS] = {"kernel", "alias",   "config", "prep",    "median",
                                            "IQR",    "GFLOP/s", "GB/s",   "padding", "check"};

/* Three or four significant digits with a unit: 52.4 us, 1.34 ms. */
static void time_text(double s, char *out) {
    if (!isfinite(s))
        snprintf(out, CELL, "-");
    else if (s < 1e-6)
        snprintf(out, CELL, "%.1f ns", s * 1e9);
    else if (s < 1e-3)
        snprintf(out, CELL, "%.*f us", s < 1e-4 ? 2 : 1, s * 1e6);
    else if (s < 1)
        snprintf(out, CELL, "%.*f ms", s < 1e-1 ? 2 : 1, s * 1e3);
    else
        snprintf(out, CELL, "%.2f s", s);
}

static void share_text(double share, char *out) {
    if (isfinite(share))
        snprintf(out, CELL, "%.1f%%", 100 * share);
    else
        snprintf(out, CELL, "-");
}

static void rate_text(double rate, char *out) {
    if (isfinite(rate))
        snprintf(out, CELL, "%.*f", rate < 100e9 ? 2 : 0, rate * 1e-9);
    else
        snprintf(out, CELL, "-");
}

static void append(char *out, const char *prefix, const char *word) {
    size_t n = strlen(out);
    snprintf(out + n, CELL - n, "%s%s%s", n ? " " : "", prefix, word);
}

/* Parameters that shape the store; what has a field of its own in the record is shown by that. */
static bool is_shown(const char *name) {
    static const char *const shown[] = {"lanes", "slice",    "sigma", "height", "sorted",
                                        "tile",  "boundary", "warps", "isa",    "gather"};
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
        if (strcmp(name, shown[k]) == 0) return true;
    return false;
}

static void append_param(char *out, const char *name, int64_t value) {
    char digits[24], prefix[24];
    if (!is_shown(name)) return;
    snprintf(prefix, sizeof prefix, "%s=", name);
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    append(out, prefix, digits);
}

static void config_text(const record *r, char *out) {
    out[0] = 0;
    if (r->config_grid) append(out, "", r->config_grid);
    if (r->config_block) append(out, "", r->config_block);
    if (r->config_shape) append(out, "", r->config_shape);
    if (r->config_schedule && strcmp(r->config_schedule, "static") != 0)
        append(out, "", r->config_schedule);
    if (r->config_chunk > 0) {
        char chunk[24];
        snprintf(chunk, sizeof chunk, "%lld", (long long)r->config_chunk);
        append(out, "chunk=", chunk);
    }
    if (r->config_simd == 1) append(out, "", "simd");
    if (r->config_rowlens == 0) append(out, "", "no-rowlens");
    for (int k = 0; k < r->config_params.count; k++)
        append_param(out, r->config_params.name[k], r->config_params.number[k]);
    if (r->config_precision && strcmp(r->config_precision, "f64") != 0)
        append(out, "", r->config_precision);
    if (r->config_index_bits == 64) append(out, "", "ofs64");
    if (!*out) snprintf(out, CELL, "-");
}

static void fill(const table_row *row, char cell[NCOLUMNS][CELL]) {
    const record *r = row->r;
    bool ok = strcmp(r->status, "ok") == 0;
    snprintf(cell[0], CELL, "%s%s", row->best ? "* " : "  ", r->config_kernel);
    snprintf(cell[1], CELL, "%s", row->alias ? row->alias : "");
    config_text(r, cell[2]);
    time_text(ok ? r->prep_total_s : NAN, cell[3]);
    time_text(ok ? r->timing_median_s : NAN, cell[4]);
    share_text(ok ? (r->timing_q3_s - r->timing_q1_s) / r->timing_median_s : NAN, cell[5]);
    rate_text(ok ? r->perf_flop_per_s : NAN, cell[6]);
    rate_text(ok ? r->perf_B_per_s : NAN, cell[7]);
    share_text(r->store_padding > 0 ? r->store_padding : NAN, cell[8]);
    snprintf(cell[9], CELL, "%s", ok ? r->check_status : r->status);
}

void table_write(FILE *file, const table_row *rows, int count, bool color) {
    char cell[NCOLUMNS][CELL];
    int width[NCOLUMNS];
    for (int c = 0; c < NCOLUMNS; c++) width[c] = (int)strlen(heads[c]) + (c == 0 ? 2 : 0);
    for (int k = 0; k < count; k++) {
        fill(&rows[k], cell);
        for (int c = 0; c < NCOLUMNS; c++)
            if ((int)strlen(cell[c]) > width[c]) width[c] = (int)strlen(cell[c]);
    }
    fprintf(file, "  %-*s", width[0] - 2, heads[0]);
    for (int c = 1; c < 3; c++) fprintf(file, "  %-*s", width[c], heads[c]);
    for (int c = 3; c < 9; c++) fprintf(file, "  %*s", width[c], heads[c]);
    fprintf(file, "  %s\n", heads[9]);
    for (int k = 0; k < count; k++) {
        fill(&rows[k], cell);
        bool bold = color && rows[k].best;
        fprintf(file, "%s%-*s", bold ? "\033[1m" : "", width[0], cell[0]);
        for (int c = 1; c < 3; c++) fprintf(file, "  %-*s", width[c], cell[c]);
        for (int c = 3; c < 9; c++) fprintf(file, "  %*s", width[c], cell[c]);
        const char *reason = rows[k].r->reason;
        fprintf(file, "  %s%s%s%s\n", cell[9], reason ? ": " : "", reason ? reason : "",
                bold ? "\033[0m" : "");
    }
}
