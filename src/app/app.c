/* app.c: picks the command. */
#include "app.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define COMMAND(name, help) int cmd_##name(const options *o, const spmv_backend *backend);
#define TOOL(name, help)
#include "commands.def"
#undef COMMAND
#undef TOOL

static const struct command {
    const char *name;
    int (*run)(const options *o, const spmv_backend *backend); /* NULL: a tool */
} commands[] = {
#define COMMAND(name, help) {#name, cmd_##name},
#define TOOL(name, help) {#name, NULL},
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
    say("spmv: unknown command '%s'; the commands are", word);
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) say(" %s", commands[k].name);
    say(". 'spmv --help' describes them; -m names a matrix\n");
    return EXIT_USAGE;
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

int spmv_app(int argc, char **argv, const spmv_backend *backend) {
    const struct command *command = NULL;
    char *first = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    options o;
    replace_closed_streams();
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        if (!first || strcmp(first, commands[k].name) == 0) {
            command = &commands[k];
            break;
        }
    if (!command) return refuse(first);
    if (first) { /* argp sees the line without the command */
        argv[1] = argv[0];
        argc--, argv++;
    }
    if (!command->run) return run_tool(first, argc, argv);
    options_parse(argc, argv, &o);
    o.command = first;
    options_check(&o, command->name);
    if (o.topic && strcmp(o.topic, "version") == 0) {
        print_version(&o);
        options_free(&o);
        return 0;
    }
    int code = command->run(&o, backend);
    options_free(&o);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain(SPMV_E_WRITE, "cannot write to stdout");
    return code;
}
