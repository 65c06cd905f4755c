/* cmd_sweep.c: spmv sweep: matrices x kernels x configurations x passes. A child process measures
 * each matrix, all its cells in turns, as spmv run does. This process starts no driver, opens no
 * device, starts no thread and watches the child: a crash or a hang loses one cell only. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/options/options.h"
#include "app/record/log.h"
#include "app/record/write_table.h"
#include "app/run/cells.h"
#include "app/run/session.h"
#include "spmv_clock.h"
#include "sweep.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int cmd_sweep(const options *o, const spmv_backend *backend);

static volatile sig_atomic_t stopped_by;

static void note_signal(int which) {
    stopped_by = which;
}

/* ---- progress ------------------------------------------------------------------------------- */

static int finished_count(const sweep *s) {
    return s->reused + s->ok + s->skipped + s->wrong + s->failed;
}

/* One line that is written over, on a terminal. */
static void show_progress(const sweep *s, int m, int active) {
    char label[256] = "reading", left[48] = "";
    int now = finished_count(s) - s->reused, todo = s->total - s->reused;
    if (!s->run.o->progress || s->run.o->quiet) return;
    if (active >= 0) cell_label(&s->run.cell[active], label, sizeof label);
    if (now)
        snprintf(left, sizeof left, ", about %.0f s left",
                 (spmv_now() - s->start_s) / now * (todo - now));
    say("\r[%4d/%d] %3d %%%s  %.24s %.40s\033[K", finished_count(s), s->total,
        100 * finished_count(s) / s->total, left, s->source[m].name, label);
}

/* Prints a line for a cell that ended; with -q only for errors. */
static void say_finished(const sweep *s, int m, const report *r) {
    char label[256], median[TIME_TEXT], head[64];
    const bool ok = strcmp(r->status, "ok") == 0;
    const bool is_error = !ok && strcmp(r->status, "skipped") != 0;
    if (s->failing || (s->run.o->quiet && !is_error) ||
        (ok && s->run.o->progress && !s->run.o->verbose))
        return;
    cell_label(&s->run.cell[r->cell], label, sizeof label);
    if (s->run.o->progress) say("\r\033[K");
    time_text(r->median_s, median);
    snprintf(head, sizeof head, "[%4d/%d] %.32s", finished_count(s), s->total, s->source[m].name);
    const int room =
        page_width(stderr, NO_LIMIT) - (int)strlen(head) - (int)strlen("   ok 123.4 us");
    if (ok && room > 8 && (int)strlen(label) > room) snprintf(label + room - 2, 3, "..");
    say("%s %s  %s%s%s\n", head, label, status_text(r->status), ok ? " " : ": ",
        ok ? median : r->reason);
}

/* ---- children ------------------------------------------------------------------------------- */

typedef struct outcome { /* of a child */
    enum { ENDED, CRASHED, TIMED_OUT, INTERRUPTED } how;
    int code;   /* ENDED: exit code; CRASHED: signal */
    int active; /* cell it was at; -1: none yet */
    bool read;  /* the matrix was */
    spmv_stats stats;
    report refused; /* the matrix was, if its status is not empty */
} outcome;

typedef int (*child_work)(const assignment *a, void *arg);

/* The child dies with its parent: else it would go on measuring beside the sweep that resumes. */
static pid_t start(assignment *a, child_work work, void *arg, int *from) {
    int ends[2];
    pid_t parent = getpid();
    fflush(NULL);
    if (pipe(ends) != 0) return -1;
    pid_t child = fork();
    if (child != 0) {
        close(ends[1]);
        *from = ends[0];
        if (child < 0) close(ends[0]);
        return child;
    }
    close(ends[0]);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(spmv_exit_code(SPMV_E_WRITE));
    a->pipe = ends[1];
    int code = work(a, arg);
    fflush(NULL);
    _exit(code);
}

static void take_report(sweep *s, const assignment *a, const report *r, outcome *out) {
    switch (r->kind) {
    case STEP: out->active = r->cell; break;
    case READ:
        out->read = true;
        out->stats = r->stats;
        if (*r->note && s->run.o->progress && !s->run.o->quiet) say("\r\033[K");
        say_note(r->note, s->run.o->quiet || s->source[a->m].noted);
        s->source[a->m].noted = true;
        break;
    case REFUSED: out->refused = *r; break;
    case FINISHED: {
        int *counter = strcmp(r->status, "ok") == 0        ? &s->ok
                       : strcmp(r->status, "wrong") == 0   ? &s->wrong
                       : strcmp(r->status, "skipped") == 0 ? &s->skipped
                                                           : &s->failed;
        ++*counter;
        *sweep_done(s, a->pass, a->m, r->cell) = true;
        s->time[sweep_place(s, a->pass, a->m, r->cell)] = r->time;
        s->run.log.records += r->logged;
        log_count(r->logged);
        say_finished(s, a->m, r);
    }
    }
}

enum { PATIENCE_S = 5, PATIENCE_WITH_KILLED_S = 60 };

/* Reads reports until the child closes the pipe, exceeds the time limit, or the sweep is
 * interrupted. */
static void listen_to(sweep *s, const assignment *a, pid_t child, int from, outcome *out) {
    double last = spmv_now();
    for (;;) {
        report r;
        struct pollfd end = {.fd = from, .events = POLLIN};
        int ready = poll(&end, 1, 500);
        if (stopped_by && out->how != INTERRUPTED) { /* it logs what it has measured */
            out->how = INTERRUPTED;
            kill(child, SIGTERM);
            last = spmv_now();
        }
        if (stopped_by && spmv_now() - last > PATIENCE_S) return;
        if (ready > 0) {
            if (read(from, &r, sizeof r) != (ssize_t)sizeof r) return; /* its end */
            take_report(s, a, &r, out);
            last = spmv_now();
        } else if (!stopped_by && s->timeout_s > 0 && spmv_now() - last > s->timeout_s) {
            out->how = TIMED_OUT;
            return;
        }
        show_progress(s, a->m, out->active);
    }
}

/* Waits until the child has ended and returns true. One that closed its end may still hang, in a
 * driver perhaps, and is killed like one that is silent. One that a kill does not end, since the
 * kernel waits for a device or a file system, is left behind: false. */
static bool see_it_end(const sweep *s, pid_t child, outcome *out, int *status) {
    struct timespec pause = {.tv_nsec = 1000000};
    double last = spmv_now();
    if (out->how != ENDED) kill(child, SIGKILL);
    while (waitpid(child, status, WNOHANG) == 0) {
        const double waited_s = spmv_now() - last;
        const bool late = s->timeout_s > 0 && waited_s > s->timeout_s;
        if (out->how == ENDED && (stopped_by || late)) {
            out->how = stopped_by ? INTERRUPTED : TIMED_OUT;
            kill(child, SIGKILL);
            last = spmv_now();
        } else if (out->how != ENDED &&
                   waited_s > (stopped_by ? PATIENCE_S : PATIENCE_WITH_KILLED_S)) {
            say("note: process %ld was killed and does not end; it is left behind\n", (long)child);
            return false;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 100000000) pause.tv_nsec *= 2;
    }
    return true;
}

/* Kills what this process is the parent of, by now. */
static void kill_children(void) {
    FILE *file = fopen("/proc/thread-self/children", "r");
    long child;
    while (file && fscanf(file, "%ld", &child) == 1) kill((pid_t)child, SIGKILL);
    if (file) fclose(file);
}

/* Waits until the launcher and its ranks have ended, whose parent this process has become when
 * theirs ended. A launcher whose parent dies is told to end its ranks; what has not ended so is
 * killed. */
static void see_ranks_end(void) {
    struct timespec pause = {.tv_nsec = 1000000};
    const double last = spmv_now();
    for (;;) {
        const pid_t ended = waitpid(-1, NULL, WNOHANG);
        if (ended < 0) return; /* none is left */
        if (ended > 0) continue;
        const double waited_s = spmv_now() - last;
        if (waited_s > PATIENCE_S) kill_children();
        if (waited_s > 2 * PATIENCE_S) {
            say("note: ranks were killed and do not end; they are left behind\n");
            return;
        }
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 100000000) pause.tv_nsec *= 2;
    }
}

static outcome run_child(sweep *s, assignment *a, child_work work, void *arg) {
    outcome out = {.how = ENDED, .active = -1};
    int from = -1, status = 0;
    pid_t child = start(a, work, arg, &from);
    if (child < 0) {
        out.code = complain(SPMV_E_NOMEM, "cannot start a process");
        return out;
    }
    listen_to(s, a, child, from, &out);
    close(from);
    const bool gone = see_it_end(s, child, &out, &status);
    if (s->launcher) see_ranks_end();
    if (!gone || out.how != ENDED) return out;
    out.how = WIFSIGNALED(status) ? CRASHED : ENDED;
    out.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return out;
}

/* Chooses the cells to do, of all that need no ranks, or one; returns their number. */
static int choose_todo(const sweep *s, const assignment *a, bool one, int *todo) {
    int count = 0;
    for (int k = 0; k < s->run.ncells && !(one && count); k++) {
        if (*sweep_done(s, a->pass, a->m, k) || (count && is_over_ranks(s, k))) continue;
        todo[count++] = k;
        one |= is_over_ranks(s, k);
    }
    return count;
}

static int drop_done(const sweep *s, const assignment *a, int *todo) {
    int count = 0;
    for (int k = 0; k < a->count; k++)
        if (!*sweep_done(s, a->pass, a->m, todo[k])) todo[count++] = todo[k];
    return count;
}

static int do_measure(const assignment *a, void *arg) {
    (void)arg;
    return is_over_ranks(a->sweep, a->cells[0]) ? measure_over_ranks(a) : measure_cells(a);
}

static int do_open(const assignment *a, void *arg) {
    (void)arg;
    return open_devices(&a->sweep->run);
}

typedef struct failure {
    const spmv_stats *stats; /* NULL: unknown */
    const char *status, *reason;
} failure;

static int do_record(const assignment *a, void *arg) {
    const failure *f = arg;
    return record_failures(a, f->stats, f->status, f->reason);
}

/* ---- one matrix in one pass ----------------------------------------------------------------- */

/* Prints why no cell of a matrix was measured, also with -q. */
static void say_failed(const sweep *s, int m, const char *status, const char *reason) {
    if (s->run.o->progress) say("\r\033[K");
    say("[%4d/%d] %s  %s: %s\n", finished_count(s), s->total, s->source[m].name, status, reason);
}

/* Returns an exit code. Whatever happens, the assignment's cells are done after it. */
static int fail_cells(sweep *s, assignment *a, const outcome *was, const char *status,
                      const char *reason) {
    failure f = {was->read ? &was->stats : NULL, status, reason};
    s->failing = a->count > 1;
    outcome out = run_child(s, a, do_record, &f);
    for (int k = 0; k < a->count; k++) {
        if (*sweep_done(s, a->pass, a->m, a->cells[k])) continue;
        *sweep_done(s, a->pass, a->m, a->cells[k]) = out.how != INTERRUPTED;
        s->failed += out.how != INTERRUPTED;
    }
    if (s->failing && out.how != INTERRUPTED) say_failed(s, a->m, status, reason);
    s->failing = false;
    return out.how == ENDED ? out.code : 0;
}

/* Explains what went wrong with the child, as status and reason. */
static const char *explain(const sweep *s, const outcome *was, char *reason, size_t size) {
    const char *where = was->read || was->active >= 0 ? "" : " while the matrix was read";
    if (*was->refused.status) {
        snprintf(reason, size, "%s", was->refused.reason);
        return was->refused.status;
    }
    if (was->how == TIMED_OUT) {
        snprintf(reason, size, "no progress for %g s (--timeout)%s", s->timeout_s, where);
        return "timeout";
    }
    if (was->how == CRASHED && was->code == SIGKILL) {
        snprintf(reason, size, "killed%s, probably because memory ran out", where);
        return "out of memory";
    }
    if (was->how == CRASHED) {
        snprintf(reason, size, "signal %d, %s%s", was->code, strsignal(was->code), where);
        return "crashed";
    }
    snprintf(reason, size, "exit code %d%s; stderr has the reason", was->code, where);
    return was->code == spmv_exit_code(SPMV_E_NOMEM) ? "out of memory" : "failed";
}

/* Without a log to write to, or without the device, all that follows would fail, too. */
static bool ends_all(const outcome *was) {
    return was->how == ENDED && !*was->refused.status &&
           (was->code == spmv_exit_code(SPMV_E_WRITE) ||
            was->code == spmv_exit_code(SPMV_E_BACKEND));
}

/* After a crash the cells not logged run one by one, so that only the one that crashes is lost.
 * After a hang the child's last report names the cell. */
static int run_unit(sweep *s, int pass, int m, int *todo) {
    bool alone = false;
    int code = 0;
    assignment a = {.sweep = s, .pass = pass, .m = m, .cells = todo};
    while (!code && !stopped_by && (a.count = choose_todo(s, &a, alone, todo)) > 0) {
        char reason[REASON_SIZE];
        outcome out = run_child(s, &a, do_measure, NULL);
        bool lone = a.count == 1;
        if (out.how == INTERRUPTED) return 0;
        if (ends_all(&out)) return out.code;
        a.count = drop_done(s, &a, todo);
        if (!a.count) continue;
        if (out.how == TIMED_OUT && out.active >= 0) {
            todo[0] = out.active;
            a.count = 1;
        } else if (out.read && !lone) {
            alone = true;
            continue;
        }
        const char *status = explain(s, &out, reason, sizeof reason);
        code = fail_cells(s, &a, &out, status, reason);
    }
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int refuse_options(const options *o) {
    const char *given = o->output_file                    ? "output"
                        : o->y_file                       ? "result"
                        : o->write_file                   ? "write"
                        : strcmp(o->format, "table") != 0 ? "format"
                        : options_given(o, "stat")        ? "stat"
                        : o->resume && o->no_log          ? "resume and --no-log"
                                                          : NULL;
    if (!given) return 0;
    say("spmv: sweep does not take --%s: results go to the log; 'spmv table' and 'spmv report' "
        "show "
        "them\n",
        given);
    return EXIT_USAGE;
}

static int make_plan(sweep *s) {
    if (s->run.o->tune && s->run.o->ranks.count)
        return complain(SPMV_E_ARG, "--tune is of one process, not of --ranks");
    int code = choose_session(&s->run);
    if (!code && s->run.o->tune) code = vary_cells(&s->run);
    if (!code) code = spread_over_ranks(s);
    if (!code) code = find_sources(s);
    if (code) return code;
    if ((double)s->passes * s->nsources * s->run.ncells > 1e8) {
        say("spmv: sweep: the plan has more than 10^8 runs\n");
        return EXIT_USAGE;
    }
    s->total = s->passes * s->nsources * s->run.ncells;
    if (s->run.o->dry_run) /* writes nothing */
        log_name(s->run.o, &s->run.machine, &s->run.log);
    else
        code = log_open(s->run.o, &s->run.machine, &s->run.log);
    return code ? code : find_done(s);
}

static int go(sweep *s) {
    struct sigaction stop = {.sa_handler = note_signal};
    int *todo = calloc((size_t)s->run.ncells, sizeof *todo);
    if (!todo) return complain(SPMV_E_NOMEM, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (s->launcher) prctl(PR_SET_CHILD_SUBREAPER, 1); /* of ranks: see_ranks_end */
    s->start_s = spmv_now();
    outcome devices = run_child(s, &(assignment){.sweep = s}, do_open, NULL);
    int code = devices.how == ENDED ? devices.code : 0;
    for (int pass = 1; pass <= s->passes && !code; pass++)
        for (int m = 0; m < s->nsources && !code && !stopped_by; m++)
            code = run_unit(s, pass, m, todo);
    free(todo);
    return code;
}

static void conclude(const sweep *s) {
    if (s->run.o->quiet) return;
    if (s->run.o->progress) say("\r\033[K");
    say("%d ok, %d skipped, %d wrong, %d failed, %d reused", s->ok, s->skipped, s->wrong, s->failed,
        s->reused);
    if (s->reused_wrong + s->reused_failed)
        say(" (%d of them wrong or failed%s)", s->reused_wrong + s->reused_failed,
            s->reused_failed ? "; --retry repeats the failed ones" : "");
    if (finished_count(s) < s->total) say(", %d not run", s->total - finished_count(s));
    if (s->run.log.file >= 0) say(". %s (+%d)", s->run.log.path, s->run.log.records);
    say("\n");
    if (stopped_by)
        say("spmv: interrupted%s\n",
            s->run.log.file >= 0 ? "; the same command with --resume continues with what is not in "
                                   "the log"
                                 : "");
}

static int exit_code(const sweep *s) {
    if (stopped_by) return 128 + stopped_by;
    if (s->wrong + s->reused_wrong) return EXIT_WRONG;
    if (s->failed + s->reused_failed) return EXIT_SOME_FAILED;
    return s->ok || s->reused || !s->skipped ? 0 : EXIT_SOME_FAILED;
}

int cmd_sweep(const options *o, const spmv_backend *backend) {
    options mine = *o;
    if (!o->log && !o->no_log) mine.log = "log"; /* hours of work are kept */
    sweep s = {.run = {.o = &mine,
                       .backend = backend,
                       .output = stdout,
                       .log = {.file = -1},
                       .forks = true},
               .passes = o->passes ? o->passes : 1,
               .timeout_s = o->timeout_s >= 0 ? o->timeout_s : 600};
    int code = refuse_options(o);
    if (!code) code = make_plan(&s);
    if (!code && o->dry_run) {
        print_plan(&s, stdout, true);
    } else if (!code) {
        if (!o->quiet) print_plan(&s, stderr, o->verbose);
        code = go(&s);
        conclude(&s);
        print_summary(&s, stopped_by, stdout);
        if (!code) code = exit_code(&s);
    }
    sweep_free(&s);
    close_session(&s.run);
    return code;
}
