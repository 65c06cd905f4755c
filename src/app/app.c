/* app.c: picks the command. */
#include "app.h"
#include <fcntl.h>
#include <stdlib.h>
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
    say("spmv: unknown command '%s'", word);
    if (nearest) say(": did you mean '%s'", nearest);
    say(nearest ? "? The commands are" : "; the commands are");
    for (const char *const *name = command_names; *name; name++) say(" %s", *name);
    say(" help. 'spmv --help' describes them; -m names a matrix\n");
    return EXIT_USAGE;
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

/* Opens /dev/null for each of stdin, stdout and stderr that the caller has closed. Else the next
 * file that is opened, a log perhaps, would get its number, and what is printed would go into that
 * file. Who closes stdout wants no results there: that is no failure. */
static void replace_closed_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0)
            _exit(spmv_exit_code(SPMV_E_IO)); /* nobody can be told */
}

int spmv_app(int argc, char **argv, const spmv_backend *backend);

static int run_command(const struct command *command, const options *o,
                       const spmv_backend *backend) {
    int code = 0;
    options_check(o, command->name);
    if (o->topic && strcmp(o->topic, "version") == 0)
        print_version(o);
    else
        code = command->run(o, backend);
    if (code >= EXIT_USAGE) options_name_environment(o);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain(SPMV_E_WRITE, "cannot write to stdout");
    return code;
}

int spmv_app(int argc, char **argv, const spmv_backend *backend) {
    static char help[] = "--help";
    char *first = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL, *of_help[3];
    options o;
    replace_closed_streams();
    talk_as(argv[0]);
    if (first && strcmp(first, "help") == 0) { /* help CMD is CMD --help */
        first = argc > 2 && strcmp(argv[2], "help") != 0 ? argv[2] : NULL;
        if (first && !find_command(first)) return refuse(first);
        of_help[0] = argv[0], of_help[1] = first ? first : help, of_help[2] = help;
        argc = first ? 3 : 2, argv = of_help;
    }
    const struct command *command = first ? find_command(first) : commands;
    if (!command && !is_matrix(first)) return refuse(first);
    if (!command) command = commands, first = NULL;
    if (first) { /* argp sees the line without the command */
        argv[1] = argv[0];
        argc--, argv++;
    }
    if (!command->run) return run_tool(first, argc, argv);
    options_parse(argc, argv, first, &o);
    int code = run_command(command, &o, backend);
    options_free(&o);
    return code;
}
