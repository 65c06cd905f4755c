/* sweep_ranks.c: the process that lets several ranks measure a cell for spmv sweep. It starts an
 * MPI's launcher, which starts this program as a user would, and makes the record that rank 0
 * prints one of the sweep. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/ranks/launcher.h"
#include "app/record/log.h"
#include "app/record/write_jsonl.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "sweep.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 48, LONG_WORD = 256 };
typedef struct line { /* what is typed for a cell */
    const char **word, **given;
    char self[PATH_MAX], text[WORDS][LONG_WORD], settings[CELL_LABEL], *matrix;
    int n, ntexts;
} line;

static void line_free(line *l) {
    free(l->word);
    free(l->given);
    free(l->matrix);
    free(l);
}

static void put(line *l, const char *word) {
    l->word[l->n++] = word;
}

/* The caller passes no more than WORDS of them, parameters apart. */
static void put_text(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_text(line *l, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(l->text[l->ntexts], LONG_WORD, format, arguments);
    va_end(arguments);
    put(l, l->text[l->ntexts++]);
}

/* The matrix and the configuration are the cell's; all else is as it was typed for the sweep. */
static void put_cell(line *l, const cell *c) {
    put_text(l, "--kernel=%s:%s", c->kernel.backend->name, descriptor(c->kernel)->name);
    put_text(l, "--precision=%s", c->precision == SPMV_F32 ? "f32" : "f64");
    put_text(l, "--vectors=%lld", (long long)c->vectors);
    if (c->vectors > 1) put_text(l, "--layout=%s", layout_names[c->layout - SPMV_COLUMNS]);
    settings_flags(c->setting, c->nsettings, l->settings, sizeof l->settings);
    char *rest = l->settings;
    for (char *flag; (flag = strsep(&rest, " "));)
        if (*flag) put(l, flag);
}

/* Returns NULL without memory. */
static line *make_line(const assignment *a) {
    const sweep *s = a->sweep;
    const cell *c = &s->run.cell[a->cells[0]];
    line *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->given = options_words(s->run.o, "matrix kernel threads precision vectors layout cache",
                             "partition halo exchange overlap keep-samples tag");
    int ngiven = 0;
    while (l->given && l->given[ngiven]) ngiven++;
    l->word = calloc((size_t)ngiven + WORDS + 2 * SPMV_NPARAMS, sizeof *l->word);
    if (asprintf(&l->matrix, "--matrix=%s", s->source[a->m].path) < 0) l->matrix = NULL;
    const ssize_t length = readlink("/proc/self/exe", l->self, sizeof l->self - 1);
    if (!l->given || !l->word || !l->matrix || length <= 0) {
        line_free(l);
        return NULL;
    }
    put(l, s->launcher);
    put(l, "-n");
    put_text(l, "%d", c->ranks);
    put(l, l->self);
    put(l, l->matrix);
    if (options_given(s->run.o, "threads")) put_text(l, "--threads=%d", threads_of(&s->run, c));
    put_cell(l, c);
    for (int k = 0; k < ngiven; k++) put(l, l->given[k]);
    put(l, "--format=jsonl");
    put(l, "--no-log");
    put(l, "--quiet");
    return l;
}

/* The launcher is told to end, and ends its ranks, when this process dies. */
static pid_t start(const assignment *a, const line *l, int out, int err) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(spmv_exit_code(SPMV_E_WRITE));
    signal(SIGPIPE, SIG_DFL);
    close(a->pipe); /* whose end tells the sweep that this process has ended */
    options_leave_environment(a->sweep->run.o);
    launcher_allow();
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvp(l->word[0], (char **)(uintptr_t)l->word);
    _exit(127);
}

/* ---- what it says --------------------------------------------------------------------------- */

/* Logs and reports the record, if the line is one: *found. Returns an exit code. */
static int take_record(const assignment *a, const char *said, bool *found) {
    sweep *s = a->sweep;
    char identity[20], *in_sweep = NULL;
    logged_cell of;
    report r = {.kind = FINISHED, .cell = a->cells[0]};
    cell_identity(s, a->pass, a->m, a->cells[0], identity);
    if (*found || *said != '{' ||
        !jsonl_put_in_sweep(said, a->pass, identity, &in_sweep, r.reason, sizeof r.reason))
        return 0;
    const int code = jsonl_sweep_cell(in_sweep, &of) ? log_append_line(&s->run.log, in_sweep) : 0;
    *found = true;
    r.logged = !code && s->run.log.file >= 0;
    r.time = of.time;
    r.median_s = of.time.median_s;
    snprintf(r.status, sizeof r.status, "%s", of.status);
    free(in_sweep);
    sweep_tell(a, &r);
    return code;
}

static int read_records(const assignment *a, int from, bool *found) {
    FILE *file = fdopen(from, "r");
    char *said = NULL;
    size_t room = 0;
    int code = file ? 0 : complain(SPMV_E_NOMEM, NULL);
    *found = false;
    while (file && !code && getline(&said, &room, file) >= 0) code = take_record(a, said, found);
    free(said);
    if (file) fclose(file);
    return code;
}

/* Finds why ranks ended without a record: what the program said first, or else the last words of
 * the launcher. */
static void find_reason(FILE *err, char *out, size_t size) {
    static const char ours[] = "spmv: ";
    char said[REASON_SIZE];
    *out = 0;
    rewind(err);
    while (fgets(said, sizeof said, err)) {
        said[strcspn(said, "\n")] = 0;
        const bool is_ours = strncmp(said, ours, strlen(ours)) == 0;
        if (is_ours || said[strspn(said, " -=|:")])
            spell(is_ours ? said + strlen(ours) : said, out, size);
        if (is_ours) return;
    }
}

/* Ranks that end without a record have failed. */
static void tell_failed(const assignment *a, FILE *err, int status) {
    report r = {.kind = REFUSED};
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    find_reason(err, r.reason, sizeof r.reason);
    if (!*r.reason || code == 127)
        snprintf(r.reason, sizeof r.reason, "%s ended with exit code %d", a->sweep->launcher, code);
    snprintf(r.status, sizeof r.status, "%s",
             code == spmv_exit_code(SPMV_E_NOMEM) ? "out of memory" : "failed");
    sweep_tell(a, &r);
}

/* ---- the cell ------------------------------------------------------------------------------- */

int measure_over_ranks(const assignment *a) {
    int ends[2], status = 0;
    bool found = false;
    FILE *err = tmpfile();
    line *l = make_line(a);
    if (!err || !l || pipe2(ends, O_CLOEXEC) != 0)
        return complain(SPMV_E_NOMEM, "cannot start a launcher");
    sweep_tell(a, &(report){.kind = STEP, .cell = a->cells[0]});
    const pid_t started = start(a, l, ends[1], fileno(err));
    close(ends[1]);
    if (started < 0) return complain(SPMV_E_NOMEM, "cannot start a launcher");
    const int code = read_records(a, ends[0], &found);
    while (waitpid(started, &status, 0) < 0 && errno == EINTR)
        ;
    if (!found && !code) tell_failed(a, err, status);
    fclose(err);
    line_free(l);
    return code;
}
