/* write_table.c: the terminal's table. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "record.h"
#include "write_table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 128 };
typedef enum column {
    KERNEL,
    CONFIG,
    PREP,
    MEDIAN,
    STAT,
    NOISE,
    SPEEDUP,
    GFLOPS,
    GBPS,
    MEGABYTES,
    PADDING,
    STREAM,
    GATHER,
    CHECK,
    NCOLUMNS
} column;
static const char *const heads[NCOLUMNS] = {"kernel",  "config",   "prep",    "median", "",
                                            "+/-",     "speed-up", "GFLOP/s", "GB/s",   "MB",
                                            "padding", "stream",   "gather",  "check"};

/* Computes what --stat shows beside the median, under its own name. */
static double statistic(const record *r, const char *stat) {
    return strcmp(stat, "min") == 0    ? r->timing_min_s
           : strcmp(stat, "max") == 0  ? r->timing_max_s
           : strcmp(stat, "mean") == 0 ? r->timing_mean_s
                                       : NAN;
}

/* The unit of a millionth of a second, in letters that the user's locale has. */
static const char *micro(void) {
    const char *locale = getenv("LC_ALL");
    if (!locale || !*locale) locale = getenv("LC_CTYPE");
    if (!locale || !*locale) locale = getenv("LANG");
    return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8")) ? "µs" : "us";
}

void time_text(double s, char *out) {
    if (!isfinite(s))
        snprintf(out, TIME_TEXT, "-");
    else if (s < 1e-6)
        snprintf(out, TIME_TEXT, "%.1f ns", s * 1e9);
    else if (s < 1e-3)
        snprintf(out, TIME_TEXT, "%.*f %s", s < 1e-4 ? 2 : 1, s * 1e6, micro());
    else if (s < 1)
        snprintf(out, TIME_TEXT, "%.*f ms", s < 1e-1 ? 2 : 1, s * 1e3);
    else
        snprintf(out, TIME_TEXT, "%.2f s", s);
}

static void share_text(double share, char *out) {
    if (isfinite(share))
        snprintf(out, CELL, "%.1f%%", 100 * share);
    else
        snprintf(out, CELL, "-");
}

void noise_text(double noise, char *out) {
    if (noise > 1)
        snprintf(out, NOISE_TEXT, ">100%%");
    else if (isfinite(noise))
        snprintf(out, NOISE_TEXT, "%.1f%%", 100 * noise);
    else
        snprintf(out, NOISE_TEXT, "-");
}

void speedup_text(double base_s, int base_threads, double s, int threads, char *out) {
    const double speedup = base_s / s;
    if (isfinite(speedup))
        snprintf(out, SPEEDUP_TEXT, "%.2f (%.0f%%)", speedup,
                 100 * speedup * base_threads / threads);
    else
        snprintf(out, SPEEDUP_TEXT, "-");
}

/* Returns the decimals that leave three significant digits, or more: 0.00123, 1.30, 55.70, 557. */
static int decimals_of(double value) {
    if (!(value > 0)) return 2;
    if (value >= 100) return 0;
    if (value >= 1) return 2;
    double digits = 2 - floor(log10(value));
    return digits > 12 ? 12 : (int)digits;
}

static void rate_text(double rate, char *out) {
    if (isfinite(rate))
        snprintf(out, CELL, "%.*f", decimals_of(1e-9 * rate), 1e-9 * rate);
    else
        snprintf(out, CELL, "-");
}

static void append(char *out, const char *prefix, const char *word) {
    size_t n = strlen(out);
    snprintf(out + n, CELL - n, "%s%s%s", n ? " " : "", prefix, word);
}

/* Says which of the record's parameters it is; -1: the kernel does not take it. */
static int place_of(const record *r, const param *p) {
    int k = r->config_params.count - 1;
    while (k >= 0 && strcmp(r->config_params.name[k], p->name) != 0) k--;
    return k;
}

static bool is_given(const record *r, const param *p) {
    int k = place_of(r, p);
    return k >= 0 && r->config_params.given[k];
}

/* Appends it as it is typed; a switch with a usual state by its name alone. */
static void append_value(const record *r, const param *p, int64_t value, char *out) {
    const char *word = param_typed(p->name, value);
    char digits[48], prefix[24];
    int second = p->values.pair ? place_of(r, p + 1) : -1;
    if (value == p->usual && !is_given(r, p)) return;
    snprintf(prefix, sizeof prefix, "%s=", p->option);
    int n = snprintf(digits, sizeof digits, "%lld", (long long)value);
    if (second >= 0)
        snprintf(digits + n, sizeof digits - (size_t)n, "x%lld",
                 (long long)r->config_params.number[second]);
    if (param_is_switch(p) && p->usual != INT64_MIN)
        append(out, value ? "" : "no-", p->option);
    else
        append(out, prefix, word ? word : digits);
}

/* What the record says in words needs no name: 10x4, 32x8, dynamic. */
static void append_text(const record *r, const param *p, const char *words, char *out) {
    const char *usual = p->usual == INT64_MIN ? NULL : param_typed(p->name, p->usual);
    if (!words || (usual && strcmp(words, usual) == 0 && !is_given(r, p))) return;
    append(out, "", words);
}

/* Returns the parameter that a field of its own in the record holds, a pair's first; NULL: none. */
static const param *param_in(const field *f) {
    static const char group[] = "config.";
    if (strncmp(f->key, group, strlen(group)) != 0) return NULL;
    for (int id = 0; id < SPMV_NPARAMS; id++)
        if (strcmp(f->key + strlen(group), params[id].option) == 0) return &params[id];
    return NULL;
}

static bool has_own_field(const param *p) {
    fields all = record_fields();
    for (const field *f = all.field; f < all.field + all.count; f++) {
        const param *held = param_in(f);
        if (held && strcmp(held->option, p->option) == 0) return true;
    }
    return false;
}

static void append_field(const record *r, const field *f, char *out) {
    const void *at = (const char *)r + f->offset;
    const param *p = param_in(f);
    if (!p) return;
    if (f->type == TYPE_text) append_text(r, p, *(const text *)at, out);
    if (f->type == TYPE_whole && *(const whole *)at != INT64_MIN)
        append_value(r, p, *(const whole *)at, out);
    if (f->type == TYPE_truth && *(const truth *)at >= 0)
        append_value(r, p, *(const truth *)at, out);
}

bool is_chosen(const record *r) {
    return r->config_requested && strcmp(r->config_requested, "auto") == 0;
}

/* Says whether "auto" chose to leave some of the team out. */
static bool has_fewer_threads(const record *r) {
    return is_chosen(r) && r->config_threads < r->omp_threads;
}

static void config_text(const record *r, char *out) {
    fields all = record_fields();
    out[0] = 0;
    if (has_fewer_threads(r)) {
        char digits[24];
        snprintf(digits, sizeof digits, "%d", (int)r->config_threads);
        append(out, "threads=", digits);
    }
    for (const field *f = all.field; f < all.field + all.count; f++) append_field(r, f, out);
    for (int k = 0; k < r->config_params.count; k++) {
        const param *p = &params[param_named(r->config_params.name[k])];
        if (!has_own_field(p) && !p->values.second)
            append_value(r, p, r->config_params.number[k], out);
    }
    if (r->config_vectors > 1) {
        char several[48];
        snprintf(several, sizeof several, "vectors=%lld %s", (long long)r->config_vectors,
                 r->config_layout);
        append(out, "", several);
    }
    if (r->config_op && strcmp(r->config_op, "as-is") != 0) append(out, "", r->config_op);
    if (r->config_precision && strcmp(r->config_precision, "f64") != 0)
        append(out, "", r->config_precision);
    if (r->config_index_bits == 64) append(out, "", "ofs64");
    if (r->store_values) append(out, "", r->store_values);
    if (!*out) snprintf(out, CELL, "-");
}

void table_config(const record *r, char *out, size_t size) {
    char all[CELL];
    config_text(r, all);
    snprintf(out, size, "%s", all);
}

void configuration_text(const record *r, char *out, size_t size) {
    char all[CELL];
    record used = *r; /* what was given is no other configuration than the usual one */
    memset(used.config_params.given, 0, sizeof used.config_params.given);
    config_text(&used, all);
    snprintf(out, size, "%s%s%s", r->config_kernel, strcmp(all, "-") ? " " : "",
             strcmp(all, "-") ? all : "");
}

/* Writes a limit in whole percents: <55% if it was measured beside other programs. */
static void limit_text(const record *r, double share, char *out) {
    const bool beside =
        r->perf_bw_peak_source && strcmp(r->perf_bw_peak_source, "measured-beside") == 0;
    if (strcmp(r->status, "ok") == 0 && isfinite(share) && isfinite(r->perf_gather_fraction))
        snprintf(out, CELL, "%s%.0f%%", beside ? "<" : "",
                 beside ? floor(100 * share) + 1 : 100 * share);
    else
        snprintf(out, CELL, "-");
}

const char *status_text(const char *status) {
    return strcmp(status, "wrong") == 0 ? "WRONG" : status;
}

static bool is_cached(const record *r) {
    return r->perf_verdict && strcmp(r->perf_verdict, "in cache") == 0;
}

/* all_cached: it is said once of all rows. */
static void check_text(const record *r, bool all_cached, char *out) {
    bool ok = strcmp(r->status, "ok") == 0;
    snprintf(out, CELL, "%s", ok ? r->check_status : status_text(r->status));
    if (!ok || !r->perf_verdict || strcmp(r->perf_verdict, "ok") == 0 || all_cached) return;
    bool suspect = strcmp(r->perf_verdict, "suspect") == 0;
    snprintf(out, CELL, "%s, %s", r->check_status, suspect ? "SUSPECT" : r->perf_verdict);
}

typedef struct mixture { /* what a row says, mostly because it is not the same in all of them */
    bool backends;       /* names stand for kernels of both */
    bool states;         /* of the caches */
    bool teams;          /* numbers of threads */
    bool ties;           /* some are tied, and not nearly all */
    bool shorts;         /* short names behind those of kernels */
    bool cached;         /* all are in cache, and none needs to say it */
    int marks;           /* behind the noise, at most */
} mixture;

bool table_is_blurred(const table_row *rows, int count) {
    enum { LEAST = 4 }; /* rows; fewer are marked even if all are tied */
    int others = 0, tied = 0;
    for (int k = 0; k < count; k++) {
        const record *r = rows[k].r;
        if (strcmp(r->status, "ok") != 0 || r->perf_best == 1) continue;
        others++;
        tied += r->perf_tied == 1;
    }
    return others >= LEAST && tied >= 0.9 * others;
}

enum { MARKS = sizeof "~ !" };

/* Writes the marks that stand behind the noise: not settled, disturbed. Returns their length. */
static int mark_noise(const record *r, char out[MARKS]) {
    const statistics s = record_times(r);
    const bool ok = strcmp(r->status, "ok") == 0, disturbed = ok && r->timing_flags.count;
    const bool unsettled = ok && isfinite(median_noise(&s)) && r->timing_settled == 0;
    return snprintf(out, MARKS, "%s%s%s", unsettled ? "~" : "", unsettled && disturbed ? " " : "",
                    disturbed ? "!" : "");
}

static mixture mixture_of(const table_row *rows, int count) {
    mixture found = {.ties = !table_is_blurred(rows, count), .shorts = true, .cached = true};
    for (int k = 0; k < count; k++) {
        char marks[MARKS];
        const int n = mark_noise(rows[k].r, marks);
        if (n > found.marks) found.marks = n;
        found.backends |= strcmp(rows[k].r->config_backend, rows[0].r->config_backend) != 0;
        found.teams |= rows[k].r->omp_threads != rows[0].r->omp_threads;
        found.states |= strcmp(rows[k].r->config_cache, rows[0].r->config_cache) != 0;
        if (strcmp(rows[k].r->status, "ok") == 0) found.cached &= is_cached(rows[k].r);
    }
    return found;
}

static void add_state(const record *r, char *out) {
    if (strcmp(out, "-") == 0) *out = 0;
    append(out, "", r->config_cache);
}

/* In front: what is cut short keeps it. */
static void add_team(const record *r, char *out) {
    char rest[CELL];
    memcpy(rest, out, CELL);
    const bool alone = strcmp(out, "-") == 0;
    const int n = snprintf(out, CELL, "threads=%d%s", (int)r->omp_threads, alone ? "" : " ");
    if (!alone) snprintf(out + n, (size_t)(CELL - n), "%.*s", CELL - 1 - n, rest);
}

static void config_cell(const record *r, mixture mixed, char *out) {
    config_text(r, out);
    if (mixed.states) add_state(r, out);
    if (mixed.teams && !has_fewer_threads(r)) add_team(r, out);
}

static bool has_word(const char *words, const char *word, size_t length) {
    for (const char *p = words; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        if (n == length && memcmp(p, word, n) == 0) return true;
        p += n;
    }
    return false;
}

/* Puts the settings that all rows of the kernel share behind those that tell row k from the others:
 * what is cut short begins with the latter. */
static void put_distinct_first(const table_row *rows, int count, int k, mixture mixed, char *cell) {
    char own[CELL] = "", shared[CELL] = "", other[CELL];
    for (const char *p = cell; *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        bool all = true;
        for (int j = 0; j < count && all; j++) {
            if (strcmp(rows[j].r->config_kernel, rows[k].r->config_kernel) != 0) continue;
            config_cell(rows[j].r, mixed, other);
            all = has_word(other, p, n);
        }
        char *to = all ? shared : own;
        const size_t used = strlen(to);
        snprintf(to + used, CELL - used, "%s%.*s", used ? " " : "", (int)n, p);
        p += n;
    }
    if (*own && snprintf(cell, CELL, "%s%s%s", own, *shared ? " " : "", shared) >= CELL)
        cell[CELL - 1] = 0; /* both came from one cell, and fit */
}

/* Says whether a row is marked as the fastest: others ran that it could be faster than. */
static bool is_marked(const record *r) {
    return r->perf_best == 1 && r->perf_ranked > 1;
}

static void fill(const table_row *row, mixture mixed, const char *stat, char cell[NCOLUMNS][CELL]) {
    const record *r = row->r;
    bool ok = strcmp(r->status, "ok") == 0;
    const char *name = is_chosen(r) || mixed.shorts ? row->alias : NULL;
    snprintf(cell[KERNEL], CELL, "%s%s%s%s%s%s%s",
             is_marked(r)                      ? "* "
             : mixed.ties && r->perf_tied == 1 ? "= "
                                               : "  ",
             mixed.backends ? r->config_backend : "", mixed.backends ? ":" : "", r->config_kernel,
             name ? " (" : "", name ? name : "", name ? ")" : "");
    config_cell(r, mixed, cell[CONFIG]);
    time_text(ok ? r->prep_total_s : NAN, cell[PREP]);
    time_text(ok ? r->timing_median_s : NAN, cell[MEDIAN]);
    time_text(ok ? statistic(r, stat) : NAN, cell[STAT]);
    const statistics s = record_times(r);
    noise_text(ok ? median_noise(&s) : NAN, cell[NOISE]);
    char *marks = cell[NOISE] + strlen(cell[NOISE]);
    const int n = mark_noise(r, marks);
    snprintf(marks + n, (size_t)(MARKS - n), "%.*s", mixed.marks - n, "   ");
    if (mixed.teams)
        speedup_text(row->fewest->timing_median_s, (int)row->fewest->omp_threads,
                     ok ? r->timing_median_s : NAN, (int)r->omp_threads, cell[SPEEDUP]);
    else
        *cell[SPEEDUP] = 0;
    rate_text(ok ? r->perf_flop_per_s : NAN, cell[GFLOPS]);
    rate_text(ok ? r->perf_B_per_s : NAN, cell[GBPS]);
    double bytes = ok ? (double)r->perf_bytes_min_B : NAN;
    if (isfinite(bytes))
        snprintf(cell[MEGABYTES], CELL, "%.*f",
                 bytes < 1e6   ? decimals_of(1e-6 * bytes)
                 : bytes < 1e8 ? 1
                               : 0,
                 1e-6 * bytes);
    else
        snprintf(cell[MEGABYTES], CELL, "-");
    share_text(r->store_padding > 0 ? r->store_padding : NAN, cell[PADDING]);
    limit_text(r, r->perf_bw_fraction, cell[STREAM]);
    limit_text(r, r->perf_gather_fraction, cell[GATHER]);
    check_text(r, mixed.cached, cell[CHECK]);
}

static bool is_empty(const char *s) {
    return !*s || strcmp(s, "-") == 0;
}

/* Finds the width of each column; 0: nobody has anything there, and it is left out. */
static void find_widths(const table_row *rows, int count, mixture mixed, const char *stat,
                        int width[NCOLUMNS]) {
    char cell[NCOLUMNS][CELL];
    for (int c = 0; c < NCOLUMNS; c++) width[c] = 0;
    for (int k = 0; k < count; k++) {
        fill(&rows[k], mixed, stat, cell);
        for (int c = 0; c < NCOLUMNS; c++)
            if (!is_empty(cell[c]) && columns_of(cell[c]) > width[c])
                width[c] = columns_of(cell[c]);
    }
    for (int c = 0; c < NCOLUMNS; c++) {
        int head = (int)strlen(heads[c]) + (c == KERNEL ? 2 : 0);
        bool optional =
            c == CONFIG || c == STAT || c == SPEEDUP || c == PADDING || c == STREAM || c == GATHER;
        if (width[c] < head && (width[c] || !optional)) width[c] = head;
    }
}

static int table_width(const int width[NCOLUMNS]) {
    int sum = width[KERNEL] + 2 + width[CHECK];
    for (int c = CONFIG; c < CHECK; c++) sum += width[c] ? 2 + width[c] : 0;
    return sum;
}

enum { LEAST_CONFIG = 10 }; /* threads=16 */

/* Returns the number of columns by which the settings, which are the longest, can be cut short. */
static int config_to_cut(const int width[NCOLUMNS]) {
    return width[CONFIG] > LEAST_CONFIG ? width[CONFIG] - LEAST_CONFIG : 0;
}

/* Leaves out columns until the table fits, those first that follow from others. Then settings are
 * cut short. What remains is needed: who, with how many threads, how fast, and whether it is
 * right. */
static void fit_widths(int most, int width[NCOLUMNS], bool left_out[NCOLUMNS]) {
    const bool scales = width[SPEEDUP] > 0; /* then more important than the rate */
    const column least[] = {PADDING,
                            MEGABYTES,
                            GATHER,
                            STREAM,
                            GBPS,
                            PREP,
                            scales ? GFLOPS : NOISE,
                            scales ? NOISE : GFLOPS};
    for (size_t k = 0; k < sizeof least / sizeof *least; k++) {
        bool last = least[k] == PREP || least[k] == NOISE || least[k] == GFLOPS;
        int cut = last ? config_to_cut(width) : 0;
        if (table_width(width) - cut <= most) break;
        left_out[least[k]] = width[least[k]] > 0;
        width[least[k]] = 0;
    }
    int over = table_width(width) - most, cut = config_to_cut(width);
    if (over > 0) width[CONFIG] -= over < cut ? over : cut;
}

/* Longer cells end with two dots; but the first setting, as the number of threads, stays whole
 * where it fits. */
static void cut(char *cell, int width) {
    const int first = (int)strcspn(cell, " ");
    if ((int)strlen(cell) <= width || width <= 2) return;
    if (first > width - 2 && first <= width)
        cell[first] = 0;
    else
        snprintf(cell + width - 2, 3, "..");
}

/* Says whether what was left out is more than what follows from other columns, which -v shows. */
static bool is_missed(const bool left_out[NCOLUMNS], int c) {
    return left_out[c] && (c == PREP || c == NOISE || c == GFLOPS);
}

static void name_left_out(FILE *file, const bool left_out[NCOLUMNS]) {
    int n = 0;
    for (int c = 0; c < NCOLUMNS; c++)
        if (is_missed(left_out, c)) fprintf(file, "%s %s", n++ ? "," : "  not shown:", heads[c]);
    if (n) fprintf(file, " (-v)\n");
}

static void put_row(FILE *file, char cell[NCOLUMNS][CELL], const int width[NCOLUMNS]) {
    fprintf(file, "%-*s", width[KERNEL], cell[KERNEL]);
    for (int c = CONFIG; c < CHECK; c++) { /* printf would pad to bytes */
        const int gap = width[c] > columns_of(cell[c]) ? width[c] - columns_of(cell[c]) : 0;
        if (width[c] && c == CONFIG)
            fprintf(file, "  %s%*s", cell[c], gap, "");
        else if (width[c])
            fprintf(file, "  %*s%s", gap, "", cell[c]);
    }
    fprintf(file, "  %s", cell[CHECK]);
}

/* The end of a row of so many columns: its reason, if it has one, below it where it would not fit.
 */
static void put_reason(FILE *file, const char *reason, int most, int written) {
    enum { INDENT = 4 };
    bool fits = !reason || written + 2 + (int)strlen(reason) <= most;
    if (fits) {
        fprintf(file, "%s%s\n", reason ? ": " : "", reason ? reason : "");
        return;
    }
    fprintf(file, "\n%*s", INDENT, "");
    print_wrapped(file, most, INDENT, INDENT, reason);
}

/* The reason of row k; that of the row above, but for the kernel's name, is not said twice. */
static const char *reason_of(const table_row *rows, int k) {
    const record *r = rows[k].r, *above = k ? rows[k - 1].r : NULL;
    const size_t n = strlen(r->config_kernel);
    if (!r->reason || !above || !above->reason) return r->reason;
    const size_t m = strlen(above->config_kernel);
    const bool named = strncmp(r->reason, r->config_kernel, n) == 0 &&
                       strncmp(above->reason, above->config_kernel, m) == 0;
    return named && strcmp(r->reason + n, above->reason + m) == 0 ? "as above" : r->reason;
}

void table_write(FILE *file, const table_row *rows, int count, const char *stat, bool color,
                 bool all) {
    char cell[NCOLUMNS][CELL];
    int width[NCOLUMNS], most = all ? NO_LIMIT : page_width(file, NO_LIMIT);
    bool left_out[NCOLUMNS] = {false};
    mixture mixed = mixture_of(rows, count);
    find_widths(rows, count, mixed, stat, width);
    fit_widths(most, width, left_out);
    for (int c = 0; c < NCOLUMNS; c++) mixed.shorts &= !is_missed(left_out, c);
    if (!mixed.shorts) { /* short names go before what is measured */
        memset(left_out, 0, sizeof left_out);
        find_widths(rows, count, mixed, stat, width);
        fit_widths(most, width, left_out);
    }
    for (int c = 0; c < NCOLUMNS; c++)
        snprintf(cell[c], CELL, "%s%s", c == KERNEL ? "  " : "", c == STAT ? stat : heads[c]);
    put_row(file, cell, width);
    fputc('\n', file);
    for (int k = 0; k < count; k++) {
        fill(&rows[k], mixed, stat, cell);
        if ((int)strlen(cell[CONFIG]) > width[CONFIG])
            put_distinct_first(rows, count, k, mixed, cell[CONFIG]);
        cut(cell[CONFIG], width[CONFIG]);
        bool bold = color && is_marked(rows[k].r);
        if (bold) fputs("\033[1m", file);
        put_row(file, cell, width);
        if (bold) fputs("\033[0m", file);
        put_reason(file, reason_of(rows, k), most,
                   table_width(width) - width[CHECK] + (int)strlen(cell[CHECK]));
    }
    name_left_out(file, left_out);
}
