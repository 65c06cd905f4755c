/* sweep_summary.c: how a sweep ends: who was fastest on each matrix, who is over all of them, and
 * what to type next. Each precision, state of the caches, number of vectors, layout and
 * number of ranks has an end of its own. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/record/write_jsonl.h"
#include "app/record/write_table.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "app/run/results/scaling.h"
#include "app/run/session.h"
#include "sweep.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 256, MOST_LISTED = 5, LISTED_IN_BRIEF = 3, LONGEST_NAME = 32 };

typedef struct ending { /* of cells under the same conditions */
    const sweep *s;
    cell_time *time;   /* [nsources][ncells] of all cells: all passes together */
    const cell *first; /* of them */
    bool backends;     /* names stand for kernels of several */
    bool brief;        /* the sweep was interrupted */
} ending;

/* ---- times ---------------------------------------------------------------------------------- */

static int by_median(const void *a, const void *b) {
    double x = ((const cell_time *)a)->median_s, y = ((const cell_time *)b)->median_s;
    return (x > y) - (x < y);
}

/* Sorts n times of one cell: their median, with the furthest quartiles. */
static cell_time together(cell_time *of, int n) {
    qsort(of, (size_t)n, sizeof *of, by_median);
    cell_time all = of[n / 2];
    if (n % 2 == 0) {
        all.median_s = (of[n / 2 - 1].median_s + of[n / 2].median_s) / 2;
        all.flop_per_s *= of[n / 2].median_s / all.median_s;
    }
    for (int k = 0; k < n; k++) {
        all.q1_s = fmin(all.q1_s, of[k].q1_s);
        all.q3_s = fmax(all.q3_s, of[k].q3_s);
        all.disturbed |= of[k].disturbed;
        all.unsettled |= of[k].unsettled;
    }
    return all;
}

static cell_time *all_times(const sweep *s) {
    int cells = s->nsources * s->run.ncells;
    cell_time *all = calloc((size_t)cells, sizeof *all);
    cell_time *passes = calloc((size_t)s->passes, sizeof *passes);
    for (int place = 0; all && passes && place < cells; place++) {
        int n = 0;
        for (int pass = 0; pass < s->passes; pass++) {
            const cell_time *t = &s->time[pass * cells + place];
            if (isfinite(t->median_s)) passes[n++] = *t;
        }
        all[place] = n ? together(passes, n) : (cell_time){.median_s = NAN};
    }
    if (!passes) {
        free(all);
        all = NULL;
    }
    free(passes);
    return all;
}

static const cell_time *time_of(const ending *e, int m, int k) {
    return &e->time[m * e->s->run.ncells + k];
}

static bool is_here(const ending *e, int k) {
    return same_conditions(&e->s->run.cell[k], e->first);
}

static bool is_timed(const ending *e, int m, int k) {
    return is_here(e, k) && isfinite(time_of(e, m, k)->median_s);
}

/* Says whether only one configuration ran, which is no winner. */
static bool is_alone(const ending *e) {
    int n = 0;
    for (int k = 0; k < e->s->run.ncells; k++) n += is_here(e, k);
    return n < 2;
}

/* What auto ran may have been timed under its own name, too: which of the two is ahead is noise. */
static bool is_same(const ending *e, int m, int k, int other) {
    const cell *of = e->s->run.cell;
    return k == other ||
           (of[k].kernel.backend == of[other].kernel.backend &&
            strcmp(time_of(e, m, k)->configuration, time_of(e, m, other)->configuration) == 0);
}

/* Returns the cell of least time, but for those of one configuration; -1: none. */
static int fastest(const ending *e, int m, int but) {
    int best = -1;
    for (int k = 0; k < e->s->run.ncells; k++)
        if (is_timed(e, m, k) && !(but >= 0 && is_same(e, m, k, but)) &&
            (best < 0 || time_of(e, m, k)->median_s < time_of(e, m, best)->median_s))
            best = k;
    return best;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Writes the configuration as it is typed, without what its heading says; of a matrix, what auto
 * chose. */
static void put_label(const ending *e, int m, int k, char *out) {
    cell plain = e->s->run.cell[k];
    char all[LABEL];
    plain.precision = SPMV_F64, plain.cache = SPMV_WARM, plain.vectors = 1, plain.ranks = 1,
    plain.threads = 0;
    cell_label(&plain, all, sizeof all);
    const char *name = e->backends ? all : strchr(all, ':') + 1;
    if (m >= 0 && plain.kernel.index == SPMV_AUTO)
        snprintf(out, LABEL, "%s%s%s (auto)", e->backends ? plain.kernel.backend->name : "",
                 e->backends ? ":" : "", time_of(e, m, k)->configuration);
    else
        snprintf(out, LABEL, "%s", name);
}

static void rate_text(double flop_per_s, char out[TIME_TEXT]) {
    double rate = 1e-9 * flop_per_s;
    snprintf(out, TIME_TEXT, rate >= 100 ? "%.0f" : "%.3g", rate);
}

/* Shortens it to so many columns, at least those of a name. */
static void cut_text(char *words, int most) {
    enum { LEAST = 12 };
    if (most < LEAST) most = LEAST;
    if ((int)strlen(words) > most) snprintf(words + most - 2, 3, "..");
}

/* Names come from files, and may be long. */
static void put_name(const char *name, int most, char out[LONGEST_NAME + 1]) {
    snprintf(out, LONGEST_NAME + 1, "%.*s", LONGEST_NAME, name);
    if ((int)strlen(name) > most) cut_text(out, most);
    if (strlen(name) > LONGEST_NAME) snprintf(out + LONGEST_NAME - 2, 3, "..");
}

/* Returns the columns of the longest name, a quarter of the page's at most. */
static int name_width(const sweep *s, int page) {
    const int quarter = page / 4 < 12 ? 12 : page / 4,
              most = quarter < LONGEST_NAME ? quarter : LONGEST_NAME;
    int width = (int)strlen("matrix");
    for (int m = 0; m < s->nsources; m++)
        if ((int)strlen(s->source[m].name) > width) width = (int)strlen(s->source[m].name);
    return width < most ? width : most;
}

/* ---- the fastest on each matrix ------------------------------------------------------------- */

static bool is_doubtful(const cell_time *t) {
    return t->disturbed || t->unsettled;
}

/* Writes who comes after the best, and how many times as long it takes: of times in doubt, what the
 * middle half of their samples allows. plainly: without its settings. */
static void next_text(const ending *e, int m, int best, int next, bool plainly, char *out) {
    char label[LABEL];
    const cell_time *first = time_of(e, m, best), *second = time_of(e, m, next);
    put_label(e, m, next, label);
    if (plainly) label[strcspn(label, " ")] = 0;
    if (second->q1_s <= first->q3_s)
        snprintf(out, 2 * LABEL, "= %s", label);
    else if (is_doubtful(first) || is_doubtful(second)) {
        char least[TIME_TEXT], most[TIME_TEXT];
        snprintf(least, sizeof least, "%.1f", second->q1_s / first->q3_s);
        snprintf(most, sizeof most, "%.1f", second->q3_s / first->q1_s);
        bool same = strcmp(least, most) == 0;
        snprintf(out, 2 * LABEL, "%s%s%sx %s", same ? "about " : least, same ? "" : "-", most,
                 label);
    } else
        snprintf(out, 2 * LABEL, "%.2fx %s", second->median_s / first->median_s, label);
}

/* Returns the columns that are left for kernels and their settings. */
static int room_for_labels(int wide, FILE *file) {
    return page_width(file, NO_LIMIT) - wide - (int)strlen("  123.4 us~ !  GFLOP/s  ") - 2;
}

static bool has_room_for_second(int room) {
    return room >= 34;
}

/* Shortens the second label, then the first, so that both fit. Returns the columns of the first, 20
 * where there is room. */
static int fit_labels(char *first, char *second, int room) {
    enum { LEAST = 12, USUAL = 20 };
    cut_text(second, room - 2 - LEAST);
    const int left = room - (*second ? 2 + (int)strlen(second) : 0);
    cut_text(first, left);
    return left < USUAL ? left : USUAL;
}

/* wide: columns of the names of matrices. Where a row is wider than the terminal, the second goes
 * without its settings. */
static void print_winner(const ending *e, int m, int wide, int best, FILE *file) {
    char name[LONGEST_NAME + 1], label[LABEL], second[2 * LABEL] = "", median[TIME_TEXT],
                                                          rate[TIME_TEXT];
    put_name(e->s->source[m].name, wide, name);
    if (best < 0) {
        fprintf(file, "%-*s  %9s    %7s  none\n", wide, name, "-", "-");
        return;
    }
    const int room = room_for_labels(wide, file),
              next = has_room_for_second(room) ? fastest(e, m, best) : -1;
    const cell_time *first = time_of(e, m, best);
    put_label(e, m, best, label);
    time_text(first->median_s, median);
    rate_text(first->flop_per_s, rate);
    if (next >= 0) next_text(e, m, best, next, false, second);
    int column = fit_labels(label, second, room);
    if (next >= 0 && column < 20) {
        put_label(e, m, best, label);
        next_text(e, m, best, next, true, second);
        column = fit_labels(label, second, room);
    }
    fprintf(file, "%-*s  %*s%s%-3s %7s  ", wide, name, 9 - columns_of(median), "", median,
            first->disturbed && first->unsettled ? "~ !"
            : first->disturbed                   ? "!"
            : first->unsettled                   ? "~"
                                                 : "",
            rate);
    if (next < 0)
        fprintf(file, "%s\n", label);
    else
        fprintf(file, "%-*s  %s\n", column, label, second);
}

static int count_timed(const ending *e) {
    int timed = 0;
    for (int m = 0; m < e->s->nsources; m++) timed += fastest(e, m, -1) >= 0;
    return timed;
}

/* In brief it leaves out matrices without a time. */
static void print_winners(const ending *e, FILE *file) {
    const int wide = name_width(e->s, page_width(file, NO_LIMIT));
    const bool alone = is_alone(e);
    const bool seconds = !alone && has_room_for_second(room_for_labels(wide, file));
    fprintf(file, seconds ? "%-*s  %9s    %7s  %-20s  second\n" : "%-*s  %9s    %7s  %s\n", wide,
            "matrix", "median", "GFLOP/s", alone ? "kernel" : "fastest");
    for (int m = 0; m < e->s->nsources; m++) {
        const int best = fastest(e, m, -1);
        if (best >= 0 || !e->brief) print_winner(e, m, wide, best, file);
    }
}

/* ---- what to type --------------------------------------------------------------------------- */

/* Returns the cell with the fewest flags among the fastest and those tied with it; -1: none. */
static int plainest(const ending *e, int m) {
    int best = fastest(e, m, -1);
    const cell_time *first = best < 0 ? NULL : time_of(e, m, best);
    for (int k = 0; first && k < e->s->run.ncells; k++)
        if (is_timed(e, m, k) && time_of(e, m, k)->q1_s <= first->q3_s &&
            e->s->run.cell[k].nsettings < e->s->run.cell[best].nsettings)
            best = k;
    return best;
}

/* Writes the command that multiplies with that cell, measured as here. */
static void write_command(const sweep *s, int m, const cell *c, FILE *file) {
    const options *o = s->run.o;
    char flags[512];
    fprintf(file, "%s -m ", program_typed());
    write_word(s->source[m].path, file);
    fprintf(file, " -k %s:%s", c->kernel.backend->name, descriptor(c->kernel)->name);
    if (options_given(o, "precision"))
        fprintf(file, " -p %s", c->precision == SPMV_F32 ? "f32" : "f64");
    if (options_given(o, "cache")) fprintf(file, " --cache=%s", cache_names[c->cache]);
    if (options_given(o, "vectors")) fprintf(file, " --vectors=%lld", (long long)c->vectors);
    if (c->vectors > 1 && options_given(o, "layout"))
        fprintf(file, " --layout=%s", layout_names[c->layout - SPMV_COLUMNS]);
    if (options_given(o, "threads")) fprintf(file, " -t %d", threads_of(&s->run, c));
    settings_flags(c->setting, c->nsettings, flags, sizeof flags);
    fputs(flags, file);
    options_write(o, "matrix kernel threads precision cache vectors layout", file);
}

/* Prints the command of each matrix's fastest configuration. */
static void print_commands(const ending *e, FILE *file) {
    fprintf(file, "to type:\n");
    for (int m = 0; m < e->s->nsources; m++) {
        char *line = NULL;
        size_t size;
        const int best = plainest(e, m);
        FILE *memory = best < 0 ? NULL : open_memstream(&line, &size);
        if (!memory) continue;
        write_command(e->s, m, &e->s->run.cell[best], memory);
        if (fclose(memory) == 0) print_command(file, page_width(file, NO_LIMIT), 4, line);
        free(line);
    }
}

/* ---- over all matrices ---------------------------------------------------------------------- */

typedef struct standing { /* of a configuration */
    int cell, timed, wins;
    int doubtful;      /* of these times, or of the fastest beside them */
    double slower;     /* geometric mean of its time over the fastest */
    double flop_per_s; /* geometric mean; NaN: it has not all times */
} standing;

/* A time that is missing counts as ten times the fastest, or as the slowest. */
static double missing_s(const ending *e, int m, double least_s) {
    double most = 10 * least_s;
    for (int k = 0; k < e->s->run.ncells; k++)
        if (is_timed(e, m, k)) most = fmax(most, time_of(e, m, k)->median_s);
    return most;
}

static standing standing_of(const ending *e, int k) {
    standing of = {.cell = k};
    double slower = 0, rate = 0;
    int n = 0;
    for (int m = 0; m < e->s->nsources; m++) {
        int best = fastest(e, m, -1);
        if (best < 0) continue;
        double least = time_of(e, m, best)->median_s;
        bool timed = is_timed(e, m, k);
        slower += log((timed ? time_of(e, m, k)->median_s : missing_s(e, m, least)) / least);
        if (timed) rate += log(time_of(e, m, k)->flop_per_s);
        of.timed += timed;
        of.doubtful += is_doubtful(time_of(e, m, best)) || (timed && is_doubtful(time_of(e, m, k)));
        of.wins += timed && is_same(e, m, k, best);
        n++;
    }
    of.doubtful = 10 * of.doubtful > n ? of.doubtful : 0; /* as units/means.py has it */
    of.slower = exp(slower / n);
    of.flop_per_s = of.timed == n ? exp(rate / n) : NAN;
    return of;
}

static int by_standing(const void *a, const void *b) {
    const standing *x = a, *y = b;
    return x->slower != y->slower ? (x->slower > y->slower) - (x->slower < y->slower)
                                  : x->cell - y->cell;
}

static void print_standing(const ending *e, const standing *of, FILE *file) {
    char label[LABEL], rate[TIME_TEXT] = "-";
    put_label(e, -1, of->cell, label);
    cut_text(label, page_width(file, NO_LIMIT) - 36);
    if (isfinite(of->flop_per_s)) rate_text(of->flop_per_s, rate);
    if (is_alone(e)) {
        printf_wrapped(file, 4, "%7s%s %6d  %s", rate, of->doubtful ? "!" : " ", of->timed, label);
        return;
    }
    printf_wrapped(file, 4, "%7s  %6.*fx%s %10d  %5d  %s", rate, of->doubtful ? 1 : 2, of->slower,
                   of->doubtful ? "!" : " ", of->wins, of->timed, label);
}

static void print_means(const ending *e, int timed, FILE *file) {
    standing *all = calloc((size_t)e->s->run.ncells, sizeof *all);
    int n = 0;
    for (int k = 0; all && k < e->s->run.ncells; k++)
        if (is_here(e, k)) all[n++] = standing_of(e, k);
    if (n) qsort(all, (size_t)n, sizeof *all, by_standing);
    if (n && is_alone(e))
        fprintf(file, "over %d matrices, geometric mean of the rate\n%7s  %6s\n", timed, "GFLOP/s",
                "timed");
    else if (n) {
        printf_wrapped(
            file, 4,
            "over %d matrices, geometric means of the rate and of the time over the fastest",
            timed);
        fprintf(file, "%7s  %7s  %10s  %5s\n", "GFLOP/s", "time", "fastest on", "timed");
    }
    const int most = e->brief ? LISTED_IN_BRIEF : MOST_LISTED;
    for (int k = 0; k < n && k < most; k++) print_standing(e, &all[k], file);
    if (n > most && !e->brief) fprintf(file, "and %d slower configurations\n", n - most);
    free(all);
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Returns the geometric mean of a cell's times on all matrices that have times; NaN: it has not all
 * of them. */
static double mean_s(const void *of, int k) {
    const ending *e = of;
    double sum = 0;
    int n = 0;
    for (int m = 0; m < e->s->nsources; m++) {
        bool timed = false;
        for (int j = 0; j < e->s->run.ncells; j++) timed |= isfinite(time_of(e, m, j)->median_s);
        if (timed) sum += log(time_of(e, m, k)->median_s), n++;
    }
    return exp(sum / n);
}

static bool is_first(const sweep *s, int k) { /* under its conditions */
    for (int j = 0; j < k; j++)
        if (same_conditions(&s->run.cell[j], &s->run.cell[k])) return false;
    return true;
}

/* Says whether the fastest cell on average is of the same number of threads as cell k, among those
 * that differ from k in nothing but kernels and threads. */
static bool has_best_threads(const ending *e, int k) {
    const session *run = &e->s->run;
    int best = k;
    for (int j = 0; j < run->ncells; j++) {
        cell other = run->cell[j];
        other.threads = run->cell[k].threads;
        if (same_conditions(&other, &run->cell[k]) && !(mean_s(e, j) >= mean_s(e, best))) best = j;
    }
    return run->cell[best].threads == run->cell[k].threads;
}

static void print_ending(const ending *e, bool several, FILE *file) {
    char vectors[64] = "", threads[32] = "", ranks[32] = "";
    const cell *of = e->first;
    if (of->threads)
        snprintf(threads, sizeof threads, ", %d thread%s", of->threads,
                 of->threads == 1 ? "" : "s");
    if (of->ranks > 1) snprintf(ranks, sizeof ranks, ", %d ranks", of->ranks);
    if (of->vectors > 1)
        snprintf(vectors, sizeof vectors, ", %lld vectors in %s", (long long)of->vectors,
                 layout_names[of->layout - SPMV_COLUMNS]);
    if (several)
        fprintf(file, "\n%s, %s caches%s%s%s\n", of->precision == SPMV_F32 ? "f32" : "f64",
                cache_names[of->cache], threads, vectors, ranks);
    const int timed = count_timed(e);
    if (!e->brief || timed == 1) print_winners(e, file);
    if (timed > 1) print_means(e, timed, file);
    if (timed && !e->brief && e->s->run.o->tune) print_commands(e, file);
}

/* The marks of what stands above, and the commands to type. */
static void say_next(const sweep *s, bool alone) {
    if (s->run.o->quiet) return;
    if (alone)
        say("!: disturbed; ~: not settled\n");
    else
        say("second: how many times as long it takes; =: tied with the fastest; !: disturbed; ~: "
            "not settled; of such times a range\n");
    if (s->run.log.file < 0 || s->run.log.records + s->reused == 0) return; /* a full disk */
    say("next:\n");
    say("    %s table %s --mean   # -o table.tex: for a paper\n", program_typed(), s->run.log.path);
    say("    %s report %s -o report.html   # charts\n", program_typed(), s->run.log.path);
}

void print_summary(const sweep *s, bool brief, FILE *file) {
    ending e = {.s = s, .time = all_times(s), .brief = brief};
    int groups = 0, timed = 0;
    bool alone = true;
    if (!e.time) return; /* all is in the log */
    for (int k = 0; k < s->run.ncells; k++) {
        groups += is_first(s, k);
        e.backends |= s->run.cell[k].kernel.backend != s->run.cell[0].kernel.backend;
    }
    for (int k = 0; k < s->nsources * s->run.ncells; k++) timed += isfinite(e.time[k].median_s);
    for (int k = 0; k < s->run.ncells && timed; k++) {
        if (!is_first(s, k) || (brief ? k > 0 : !has_best_threads(&e, k))) continue;
        e.first = &s->run.cell[k];
        print_ending(&e, groups > 1 && !brief, file);
        alone &= is_alone(&e);
    }
    if (timed && !brief && s->run.o->threads.count > 1) print_scaling(&s->run, mean_s, &e, file);
    fflush(file);
    if (!timed && !s->run.o->verify) say("--verify=off: what is not verified is not ranked\n");
    if (timed && !brief) say_next(s, alone);
    free(e.time);
}
