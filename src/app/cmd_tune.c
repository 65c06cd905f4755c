/* cmd_tune.c: spmv tune: finds the parameters of kernels for one matrix. Each parameter in turn is
 * tried with all its values, the others as found by then, and keeps a value that is clearly faster;
 * then the kernels are timed against each other, with parameters as before and as found, in turns,
 * and this comparison decides. Nothing is stored: it prints the command line to type. */
#include "option_values.h"
#include "app/run/session.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdlib.h>

int cmd_tune(const options *o, const spmv_backend *backend);

enum { MOST_VALUES = 24 };
/* This is a share of the time: a parameter that gains less is not worth typing. */
static const double CLEARLY = 0.02;
typedef struct choice { /* of a parameter, or of a pair that one option gives */
    spmv_param_id id;
    int width, count; /* parameters; values */
    int64_t value[MOST_VALUES][2];
} choice;

typedef struct trial { /* a parameter's values, timed against each other */
    session *run;      /* the session that the trial is for: its log gets only wrong results */
    const cell *cells; /* of the trial */
    int code;          /* exit code of writing the log */
} trial;

static void note_wrong(trial *c, const cell *tried, const result *out) {
    char flags[512];
    settings_flags(tried->setting, tried->nsettings, flags, sizeof flags);
    if (!c->run->o->quiet)
        say("%s  %s%s: WRONG: %s\n", c->run->o->progress ? "\r\033[K" : "", out->r.config_kernel,
            flags, out->reason);
    c->run->nwrong++;
    if (!c->code) c->code = log_append(&c->run->log, record_fields(), &out->r);
}

static void note_finished(void *arg, int k, const result *out) {
    trial *c = arg;
    if (strcmp(out->r.status, "wrong") == 0) note_wrong(c, &c->cells[k], out);
    c->run->ndisturbed += c->cells[k].ok && out->nflags > 0;
}

/* ---- what a parameter can be ---------------------------------------------------------------- */

static void add_value(choice *c, const spmv_param *p, int64_t first, int64_t second) {
    if (c->count == MOST_VALUES || !spmv_param_takes(p, first)) return;
    for (int k = 0; k < c->count; k++)
        if (c->value[k][0] == first && c->value[k][1] == second) return;
    c->value[c->count][0] = first;
    c->value[c->count++][1] = second;
}

/* A few row blocks per thread, with columns undivided and divided. */
static void add_grids(choice *c, const spmv_param *p, int threads) {
    for (int64_t rows = threads; rows <= 64 * (int64_t)threads; rows *= 4)
        for (int64_t cols = 1; cols <= 16; cols *= 4) add_value(c, p, rows, cols);
}

/* Lists all values if there are few; powers of two; or multiples and fractions of the default. A
 * parameter whose default is 0, which the kernel then chooses itself, keeps it if it could be any
 * number. */
static void add_values(choice *c, const spmv_param *p) {
    static const int64_t windows[] = {1, 256, 4096, 0};
    if (p->id == SPMV_sigma) {
        for (size_t k = 0; k < sizeof windows / sizeof *windows; k++)
            add_value(c, p, windows[k], 0);
    } else if (p->max - p->min < 8) {
        for (int64_t v = p->min; v <= p->max; v++) add_value(c, p, v, v);
    } else if (p->power_of_two) {
        for (int64_t v = p->min > 0 ? p->min : 1; v <= p->max && v <= 1 << 16; v *= 2)
            add_value(c, p, v, v);
    } else {
        for (int64_t v = p->default_value / 4; v && v <= 4 * p->default_value; v *= 2)
            add_value(c, p, v, v);
    }
}

/* Returns false if the kernel does not take the parameter, the user gave it, or it has one
 * value. */
static bool choices_of(const session *run, const cell *c, spmv_param_id id, choice *out) {
    const spmv_kernel *kernel = descriptor(c->kernel);
    const spmv_param *p = spmv_param_of(kernel, id);
    if (!p || run->o->param[id].count || params[id].values.second) return false;
    *out = (choice){.id = id, .width = 1};
    if (params[id].values.pair && spmv_param_of(kernel, (spmv_param_id)(id + 1))) out->width = 2;
    if (id == SPMV_grid_rows)
        add_grids(out, p, spmv_ctx_threads(run->ctx));
    else
        add_values(out, p);
    return out->count > 1;
}

/* ---- trials --------------------------------------------------------------------------------- */

/* Says how long tune takes. What the last comparison takes its run announces, when it begins. */
typedef struct schedule {
    int trials, done; /* of one value of one parameter */
    double started_s, announced_s;
} schedule;

typedef struct finding { /* what the trials of a cell have found so far */
    cell cell;           /* as before, and what they added */
    double looked;       /* its time as a share of the time before, as trials saw it (time_ratio) */
} finding;

/* 0: only found has a right result; infinity: it has none. */
static double time_ratio(const cell *before, const cell *found) {
    return !found->ok ? INFINITY : before->ok ? found->times.median / before->times.median : 0;
}

static const sampling TRIAL = {.min_time_s = 0.02, .max_time_s = 0.06};

static schedule plan_trials(const session *run) {
    schedule out = {.started_s = spmv_now()};
    choice choices;
    for (int k = 0; k < run->ncells; k++)
        for (int id = 0; id < SPMV_NPARAMS; id++)
            if (choices_of(run, &run->cell[k], (spmv_param_id)id, &choices))
                out.trials += choices.count + 1;
    return out;
}

/* Seconds that trials and the last comparison take at least and at most: the former as those before
 * did, which also made the stores. */
static void time_left(const session *run, const schedule *s, double *least, double *most) {
    const double each = s->done ? (spmv_now() - s->started_s) / s->done : 0;
    const int left = s->trials - s->done;
    *least = left * fmax(TRIAL.min_time_s, 0.7 * each);
    *most = left * fmax(each > 0 ? 0 : TRIAL.max_time_s, 1.4 * each);
    for (int k = 0; k < run->ncells; k++) {
        const sampling how = sampling_in(run->o, run->cell[k].cache);
        *least += how.min_time_s;
        *most += 2 * how.max_time_s; /* as before, and as found */
    }
}

/* Says how long it takes before the first trial, and again when that does not hold. */
static void say_schedule(const session *run, schedule *s) {
    const double long_s = 2, late = 1.25, elapsed = spmv_now() - s->started_s;
    char duration[DURATION];
    double least, most;
    time_left(run, s, &least, &most);
    if (run->o->quiet || run->o->progress || s->done == s->trials) return;
    if (s->done ? elapsed + most < late * s->announced_s + 1 : most < long_s) return;
    duration_text(least, most, duration);
    if (s->done)
        say("  longer than announced: %d of %d trials after %.0f s, %s left\n", s->done, s->trials,
            elapsed, duration);
    else
        say("tuning %d kernel%s by %d trials and a comparison: %s\n", run->ncells,
            run->ncells == 1 ? "" : "s", s->trials, duration);
    s->announced_s = elapsed + most;
}

static cell untimed(const cell *c) {
    cell out = *c;
    out.ok = false;
    out.times = (statistics){0};
    return out;
}

static void set(cell *c, spmv_param_id id, int64_t value) {
    c->setting[c->nsettings++] = (spmv_setting){params[id].name, value};
}

/* Times the cell as it is and with every value; *best becomes the fastest. */
static int try_values(session *run, spmv_mat *mat, const choice *choices, finding *best) {
    cell cells[MOST_VALUES + 1];
    trial of = {.run = run, .cells = cells};
    options quick = *run->o;
    session timed = *run;
    int winner = 0;
    quick.quiet = true;
    quick.sampling.min_time_s = TRIAL.min_time_s;
    quick.sampling.max_time_s = TRIAL.max_time_s;
    quick.format = "table";
    timed.o = &quick;
    timed.log.file = -1;
    timed.cell = cells;
    timed.ncells = choices->count + 1;
    timed.watch = (watcher){.arg = &of, .finished = note_finished};
    memset(timed.rated, 0, sizeof timed.rated);
    for (int k = 0; k < timed.ncells; k++) {
        cells[k] = untimed(&best->cell);
        for (int w = 0; k && w < choices->width; w++)
            set(&cells[k], (spmv_param_id)((int)choices->id + w), choices->value[k - 1][w]);
    }
    int code = run_on(&timed, mat, run->o->matrices[0]);
    for (int k = 1; k < timed.ncells && !code; k++)
        if (cells[k].ok &&
            (!cells[winner].ok || is_faster(&cells[k].times, &cells[winner].times, CLEARLY)))
            winner = k;
    if (winner) best->looked *= time_ratio(&cells[0], &cells[winner]);
    best->cell = cells[winner];
    return code ? code : of.code;
}

static int tune_cell(session *run, spmv_mat *mat, int place, schedule *plan, finding *found) {
    const char *name = descriptor(found->cell.kernel)->name;
    int code = 0;
    for (int id = 0; id < SPMV_NPARAMS && !code; id++) {
        choice choices;
        if (!choices_of(run, &found->cell, (spmv_param_id)id, &choices)) continue;
        if (run->o->progress && !run->o->quiet) {
            char duration[DURATION];
            double least, most;
            time_left(run, plan, &least, &most);
            duration_text(least, most, duration);
            say("\r%d of %d kernels: %s: --%s, %s left\033[K", place, run->ncells, name,
                params[choices.id].option, duration);
        }
        say_schedule(run, plan);
        code = try_values(run, mat, &choices, found);
        plan->done += choices.count + 1;
    }
    if (run->o->progress && !run->o->quiet) say("\r\033[K");
    return code;
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Returns the command that multiplies with that cell, measured as here, as it is typed; to be
 * freed. NULL: out of memory. */
static char *command_of(const session *run, const cell *c) {
    const options *o = run->o;
    char flags[512], *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    if (!file) return NULL;
    fprintf(file, "%s -m ", program_typed());
    write_word(o->matrices[0], file);
    fprintf(file, " -k %s:%s", c->kernel.backend->name, descriptor(c->kernel)->name);
    if (options_given(o, "precision"))
        fprintf(file, " -p %s", c->precision == SPMV_F32 ? "f32" : "f64");
    if (options_given(o, "cache")) fprintf(file, " --cache=%s", cache_names[c->cache]);
    if (options_given(o, "vectors")) fprintf(file, " --vectors=%lld", (long long)c->vectors);
    if (c->vectors > 1 && options_given(o, "layout"))
        fprintf(file, " --layout=%s", layout_names[c->layout - SPMV_COLUMNS]);
    settings_flags(c->setting, c->nsettings, flags, sizeof flags);
    fputs(flags, file);
    /* The options of the cell are there, and auto alone takes the last. */
    options_write(o, "matrix kernel precision cache vectors layout repeat", file);
    fclose(file);
    return out;
}

/* Says whether what the trials found holds: they are short, and now and then one finds a gain that
 * is not there. */
static bool is_confirmed(const cell *before, const cell *found) {
    if (!before->ok) return found->ok;
    return found->ok && is_faster(&found->times, &before->times, CLEARLY) &&
           found->times.high < before->times.low; /* false where an interval is not known */
}

/* Says how many per cent less time it took, or more: of times that are in doubt at least and at
 * most, if that is certain. */
static void spell_times(const cell *before, const cell *found, char *out, size_t size) {
    const statistics *a = &found->times, *b = &before->times;
    const double ratio = a->median / b->median;
    const char *doubt = *found->doubt ? found->doubt : before->doubt, *sense = "less";
    double least = ratio, most = ratio;
    int digits = 0;
    if (*doubt)
        ratio_range(a, b, &least, &most);
    else
        digits = ratio * ratio_noise(a, b) < 0.001;
    double low = 100 * (1 - most), high = 100 * (1 - least);
    if (high < 0) {
        const double swapped = low;
        low = -high, high = -swapped, sense = "more";
    }
    const double unit = digits ? 10 : 1;
    low = round(unit * low) / unit, high = round(unit * high) / unit;
    if (*doubt && low <= 0)
        snprintf(out, size, "was not surely faster or slower, %s", doubt);
    else if (high <= 0)
        snprintf(out, size, "took as long");
    else if (low < high)
        snprintf(out, size, "took about %.*f to %.*f%% %s time, %s", digits, low, digits, high,
                 sense, doubt);
    else
        snprintf(out, size, "took %s%.*f%% %s time%s%s", *doubt ? "about " : "", digits, low, sense,
                 *doubt ? ", " : "", doubt);
}

/* Says how the last comparison came out for what was found. */
static void spell_last(const cell *before, const cell *found, char *out, size_t size) {
    if (before->ok && found->ok)
        spell_times(before, found, out, size);
    else
        snprintf(out, size, "had %s right result", found->ok ? "the only" : "no");
}

static void print_command_of(const session *run, const cell *c) {
    char *command = command_of(run, c);
    print_command(stdout, page_width(stdout, NO_LIMIT), 4,
                  command ? command : spmv_strerror(SPMV_E_NOMEM));
    free(command);
}

static bool are_alike(const session *run, int n) {
    for (int k = 1; k < n; k++)
        if (!same_conditions(&run->cell[k], &run->cell[0])) return false;
    return true;
}

/* The kernel; where several conditions are tuned for, with those of the cell. */
static void spell_name(const session *run, const cell *c, char *out, size_t size) {
    if (are_alike(run, run->ncells))
        snprintf(out, size, "%s", descriptor(c->kernel)->name);
    else
        cell_label(c, out, size);
}

/* before and found with their results of the last comparison; the same cell if trials found
 * nothing. */
static void print_answer(const session *run, const cell *before, const cell *found, double looked) {
    char flags[512], last[128], name[640];
    settings_flags(found->setting + before->nsettings, found->nsettings - before->nsettings, flags,
                   sizeof flags);
    spell_last(before, found, last, sizeof last);
    spell_name(run, before, name, sizeof name);
    if (!before->ok && !found->ok)
        printf_wrapped(stdout, 2,
                       strcmp(before->status, "skipped") == 0
                           ? "%s: skipped"
                           : "%s: no result was right, so no command is recommended",
                       name);
    else if (found == before)
        printf_wrapped(stdout, 2, "%s: nothing is clearly faster than it is", name);
    else if (!is_confirmed(before, found))
        printf_wrapped(stdout, 2,
                       "%s: not confirmed:%s %s in short trials; in the last comparison it %s%s",
                       name, flags, looked == 0 ? "had the only right result" : "was faster", last,
                       found->ok && before->ok && time_ratio(before, found) < 1 - CLEARLY &&
                               !*before->doubt && !*found->doubt
                           ? ", of too few or too noisy samples"
                           : "");
    else {
        printf_wrapped(stdout, 2, "%s: confirmed:%s %s in the last comparison; to type:", name,
                       flags, last);
        print_command_of(run, found);
    }
}

/* Says which of several kernels in the same conditions won the last comparison, which are not
 * surely slower, and what to type. chosen [n]: each as it is best; NULL: without a right result. */
static void print_winner(const session *run, const cell *const *chosen, int n) {
    enum { MOST_NAMED = 3 };
    const cell *best = NULL;
    char flags[512], median[TIME_TEXT], others[256] = "";
    int tied = 0, right = 0, disturbed = 0;
    if (!are_alike(run, n)) return;
    for (int k = 0; k < n; k++) {
        right += chosen[k] != NULL;
        disturbed += chosen[k] && chosen[k]->disturbed;
        if (chosen[k] && (!best || chosen[k]->times.median < best->times.median)) best = chosen[k];
    }
    if (right < 2) return;
    settings_flags(best->setting, best->nsettings, flags, sizeof flags);
    time_text(best->times.median, median);
    for (int k = 0; k < n; k++) {
        if (!chosen[k] || chosen[k] == best || is_faster(&best->times, &chosen[k]->times, 0))
            continue;
        const size_t written = strlen(others);
        if (tied++ < MOST_NAMED)
            snprintf(others + written, sizeof others - written, "%s%s",
                     written ? ", " : "; not surely faster than ",
                     descriptor(chosen[k]->kernel)->name);
    }
    const size_t written = strlen(others);
    if (tied > MOST_NAMED)
        snprintf(others + written, sizeof others - written, " and %d more", tied - MOST_NAMED);
    printf_wrapped(stdout, 2, "%s of %d: %s%s, %s%s; to type:",
                   disturbed == right ? "all were disturbed; the least median" : "fastest", right,
                   descriptor(best->kernel)->name, flags, median, others);
    print_command_of(run, best);
}

static bool is_found(const cell *before, const finding *found) {
    return found->cell.nsettings > before->nsettings;
}

/* Says what the trials had found when somebody stopped them. */
static void say_found(const session *run, const finding *found, int n) {
    int count = 0;
    for (int k = 0; k < n; k++) count += is_found(&run->cell[k], &found[k]);
    say("spmv: tune: interrupted; %s until then%s\n",
        count ? "not confirmed by a last comparison, but found in short trials"
              : "nothing was found",
        count ? ":" : "");
    for (int k = 0; k < n; k++) {
        if (!is_found(&run->cell[k], &found[k])) continue;
        char *command = command_of(run, &found[k].cell);
        say("    %s\n", command ? command : spmv_strerror(SPMV_E_NOMEM));
        free(command);
    }
}

/* Times the cells as before, and as found where that differs, in turns. */
static int compare(session *run, spmv_mat *mat, const finding *found, int n) {
    cell *all = calloc(2 * (size_t)n, sizeof *all);
    session last = *run;
    if (!all) return complain(SPMV_E_NOMEM, NULL);
    last.cell = all;
    last.ncells = 0;
    last.ndisturbed = 0; /* but for those of trials */
    for (int k = 0; k < n; k++) {
        all[last.ncells++] = untimed(&run->cell[k]);
        if (is_found(&run->cell[k], &found[k])) all[last.ncells++] = untimed(&found[k].cell);
    }
    int code = run_on(&last, mat, run->o->matrices[0]);
    const cell *first = all, **chosen = calloc((size_t)(n > 0 ? n : 1), sizeof *chosen);
    if (!chosen && !code) code = complain(SPMV_E_NOMEM, NULL);
    for (int k = 0; k < n && !code; k++) {
        const cell *second = first + is_found(&run->cell[k], &found[k]);
        print_answer(run, first, second, found[k].looked);
        chosen[k] = second->ok && is_confirmed(first, second) ? second : first->ok ? first : NULL;
        first = second + 1;
    }
    if (!code) print_winner(run, chosen, n);
    free(chosen);
    if (!code && last.nwrong && !run->o->quiet)
        say("spmv: tune: %d WRONG result%s\n", last.nwrong, last.nwrong == 1 ? "" : "s");
    const int ndisturbed = run->ndisturbed + last.ndisturbed;
    if (!code && ndisturbed)
        say("spmv: tune: %d times were disturbed by other programs: trust this only if it comes "
            "out again on a quiet machine ('spmv doctor')\n",
            ndisturbed);
    if (!code && last.nwrong) code = EXIT_WRONG;
    if (!code && !last.nok) code = EXIT_SOME_FAILED;
    free(all);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int tune(session *run) {
    const options *o = run->o;
    spmv_mat *mat = NULL;
    spmv_load_opts opts = {.size = sizeof opts, .seed = o->seed, .values = o->values};
    finding *found = malloc((size_t)run->ncells * sizeof *found);
    if (!found) return complain(SPMV_E_NOMEM, NULL);
    spmv_status status = spmv_mat_load(run->ctx, o->matrices[0], &opts, &mat);
    int code = status == SPMV_OK ? 0 : complain(status, spmv_ctx_error(run->ctx)), tuned = 0;
    if (!code) say_note(spmv_ctx_note(run->ctx), o->quiet);
    stop_watch(); /* also between trials */
    schedule plan = plan_trials(run);
    for (; tuned < run->ncells && !code; tuned++) {
        found[tuned] = (finding){run->cell[tuned], 1};
        code = tune_cell(run, mat, tuned + 1, &plan, &found[tuned]);
    }
    if (!code) code = compare(run, mat, found, run->ncells);
    if (code > 128 && !o->quiet) say_found(run, found, tuned);
    stop_unwatch();
    spmv_mat_free(mat);
    free(found);
    return code;
}

static int refuse_options(const options *o) {
    if (o->topic) {
        say("spmv: tune takes no word '%s'; -m names a matrix\n", o->topic);
        return EXIT_USAGE;
    }
    if (o->nmatrices != 1 || !o->kernels) {
        say("spmv: tune: name one matrix and the kernels, such as 'spmv tune FILE.mtx -k "
            "sell_slices'\n");
        return EXIT_USAGE;
    }
    const char *given = o->output_file                    ? "output"
                        : o->y_file                       ? "result"
                        : o->write_file                   ? "write"
                        : strcmp(o->format, "table") != 0 ? "format"
                        : !o->verify                      ? "verify=off"
                                                          : NULL;
    if (given) say("spmv: tune cannot use --%s\n", given);
    return given ? EXIT_USAGE : 0;
}

int cmd_tune(const options *o, const spmv_backend *backend) {
    session run = {.o = o, .backend = backend, .output = stdout, .log = {.file = -1}};
    int code = refuse_options(o);
    if (!code) code = choose_session(&run);
    if (!code) code = open_devices(&run);
    if (!code) code = log_open(o, &run.machine, &run.log);
    if (!code) code = tune(&run);
    if (!code) log_say(o, &run.log);
    close_session(&run);
    return code;
}
