/* app.c: picks the command. */
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/ranks/launcher.h"
#include "app/ranks/ranks.h"
#include "app/ranks/run_ranks.h"
#include "app/record/log.h"
#include "app/record/record.h"
#include "cmd_tools.h"
#include "crashes.h"
#include "exit_codes.h"
#include "messages.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND(name, words, help) int cmd_##name(const options *o, const spmv_backend *backend);
#define TOOL(name, words, help)
#include "commands.def"
#undef COMMAND
#undef TOOL

static const struct command {
    const char *name;
    int (*run)(const options *o, const spmv_backend *backend); /* NULL: a tool */
} commands[] = {
#define COMMAND(name, words, help) {#name, cmd_##name},
#define TOOL(name, words, help) {#name, NULL},
#include "commands.def"
#undef COMMAND
#undef TOOL
};

static void print_version(const options *o) {
    record r;
    record_clear(&r);
    record_build(&r);
    printf("spmv %s\n", r.build_version);
    if (!o->verbose) return;
    printf("commit     %s%s\n", r.build_commit ? r.build_commit : "unknown",
           r.build_dirty == 1 ? " (changed)" : "");
    printf("compiler   %s\nflags      %s\n", r.build_cc, r.build_cflags);
    if (r.build_nvcc)
        printf("nvcc       %s\nflags      %s\nCUDA archs %s\n", r.build_nvcc, r.build_nvccflags,
               r.build_cuda_archs);
    printf("features  ");
    for (int k = 0; k < r.build_features.count; k++) printf(" %s", r.build_features.value[k]);
    printf("%s\n", r.build_features.count ? "" : " none");
}

static int refuse(const char *word) {
    const char *nearest = spmv_nearest(word, command_names);
    if (strcmp(word, "tune") == 0) {
        say("spmv: 'spmv tune FILE' is 'spmv sweep FILE --tune' now\n");
        return ranks_leave(EXIT_USAGE);
    }
    say("spmv: unknown command '%s'", word);
    if (nearest) say(": did you mean '%s'", nearest);
    say(nearest ? "? The commands are" : "; the commands are");
    for (const char *const *name = command_names; *name; name++) say(" %s", *name);
    say(" help. 'spmv --help' describes them; -m names a matrix\n");
    return ranks_leave(EXIT_USAGE);
}

/* NULL: no command's name. */
static const struct command *find_command(const char *name) {
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        if (strcmp(name, commands[k].name) == 0) return &commands[k];
    return NULL;
}

/* Says whether a first word that names no command names a matrix: a file that is there, or what no
 * command will ever be called. */
static bool is_matrix(const char *word) {
    return strpbrk(word, "./:") || access(word, F_OK) == 0;
}

static bool stdout_was_closed;

/* Opens /dev/null for each of stdin, stdout and stderr that the caller has closed. Else the next
 * file that is opened, a log perhaps, would get its number, and what is printed would go into that
 * file. Stdout's cannot be written to: results that go nowhere are a failure, unless a log has
 * them. */
static void replace_closed_streams(void) {
    stdout_was_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0)
            _exit(spmv_exit_code(SPMV_E_IO)); /* no stream is left for a message */
}

/* ---- SIGINT and SIGTERM ---------------------------------------------------------------------- */

static bool on_terminal; /* stderr is a terminal, which may show a line of progress */
static bool one_speaks;  /* another rank prints the messages */

/* What is printed and logged by then is whole lines, and stays. A rank ends by the signal itself:
 * MPICH's launcher takes any exit before MPI has begun for a good one, and the others wait. */
static void end_interrupted(int which) {
    static const char said[] = "\r\033[Kspmv: interrupted\n";
    const size_t cursor = on_terminal ? 0 : 4;
    const bool wrote = one_speaks || talk_is_over() ||
                       write(STDERR_FILENO, said + cursor, sizeof said - 1 - cursor) > 0;
    if (!wrote || !launcher_of()) _exit(128 + which);
    signal(which, SIG_DFL);
    raise(which);
}

/* Where nothing watches for them (run/stop.c), as while a matrix is read. A program started in the
 * background by a shell without job control ignores SIGINT, and goes on to. */
static void watch_for_interrupts(void) {
    static const int signals[] = {SIGINT, SIGTERM};
    struct sigaction before, mine = {.sa_handler = end_interrupted};
    on_terminal = isatty(STDERR_FILENO);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    for (int k = 0; k < 2; k++)
        if (sigaction(signals[k], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[k], &mine, NULL);
}

int spmv_app(int argc, char **argv, const spmv_backend *backend);

/* Other commands than run, typed or not, are those of one process. */
static bool is_for_ranks(const char *command) {
    const bool is_other = command && find_command(command) && strcmp(command, "run") != 0;
    if (is_other)
        say("spmv: %s is for one process, not for %d ranks: type it without the launcher\n",
            command, launcher_of()->size);
    return !is_other;
}

static int run_command(const struct command *command, const options *o,
                       const spmv_backend *backend) {
    int code = 0;
    options_check(o, command->name);
    if (o->topic && strcmp(o->topic, "version") == 0) {
        print_version(o);
        code = ranks_leave(0);
    } else
        code = (launcher_of() ? run_ranks : command->run)(o, backend);
    if (code >= EXIT_USAGE) options_name_environment(o);
    if ((fflush(stdout) == 0 && !ferror(stdout)) || (stdout_was_closed && log_has_records()))
        return code;
    return complain(SPMV_E_WRITE, stdout_was_closed ? "cannot write to stdout: it is closed"
                                                    : "cannot write to stdout");
}

int spmv_app(int argc, char **argv, const spmv_backend *backend) {
    static char help[] = "--help", doctor[] = "doctor";
    char *first = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL, *of_help[3];
    options o;
    replace_closed_streams();
    ends_watch();
    talk_as(argv[0]);
    launcher_begin(argc, argv); /* before: a signal ends a process that is not known as a rank */
    watch_for_interrupts();
    usage_exits_by(ranks_leave);
    one_speaks = launcher_of() && launcher_of()->rank > 0;
    if (launcher_of() && !is_for_ranks(first)) return ranks_leave(EXIT_USAGE);
    if (first && strcmp(first, "help") == 0) { /* help CMD is CMD --help */
        first = argc > 2 && strcmp(argv[2], "help") != 0 ? argv[2] : NULL;
        if (first && strcmp(first, "probe") == 0) first = doctor;
        if (!first || !find_command(first) || find_command(first)->run) {
            const int code = options_help(first);
            return code == EXIT_USAGE ? refuse(first) : ranks_leave(code);
        }
        of_help[0] = argv[0], of_help[1] = first, of_help[2] = help;
        argc = 3, argv = of_help;
    }
    const bool probe = first && strcmp(first, "probe") == 0; /* the name that it had */
    if (probe) first = doctor;
    const struct command *command = first ? find_command(first) : commands;
    if (!command && !is_matrix(first)) return refuse(first);
    if (!command) command = commands, first = NULL;
    if (first) { /* argp sees the line without the command */
        argv[1] = argv[0];
        argc--, argv++;
    }
    if (!command->run) return run_tool(first, argc, argv);
    options_parse(argc, argv, first, &o);
    o.measure_limits |= probe;
    int code = run_command(command, &o, backend);
    options_free(&o);
    ends_return();
    return code;
}
