/* help.c: help on the program, its commands, options and parameters, as wide as the terminal. */
#include "app/messages.h"
#include "option_table.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct about { /* a command, or a topic of help */
    const char *name, *words, *help;
} abouts[] = {
#define COMMAND(name, words, help) {#name, words, help},
#define TOOL(name, words, help) COMMAND(name, words, help)
#include "app/commands.def"
#undef COMMAND
#undef TOOL
};

static int width_of_help(void) {
    const int width = page_width(stdout, PAGE_WIDTH);
    return width < LEAST_WIDTH ? LEAST_WIDTH : width;
}

static void print_text(const char *words) {
    print_wrapped(stdout, width_of_help(), 0, 0, words);
}

/* brief: its help up to the newline, which else joins two sentences. */
static void print_option(const struct argp_option *option, bool brief) {
    const int column = width_of_help() < 60 ? 8 : 26;
    const bool optional = option->flags & OPTION_ARG_OPTIONAL;
    char left[80], letter[8] = "    ", all[640];
    if (option->key < 256) snprintf(letter, sizeof letter, "-%c, ", option->key);
    int n =
        snprintf(left, sizeof left, "  %s--%s%s%s%s%s", letter, option->name, optional ? "[" : "",
                 option->arg ? "=" : "", option->arg ? option->arg : "", optional ? "]" : "");
    const int first = (int)strcspn(option->doc, "\n");
    const char *rest = option->doc[first] && !brief ? option->doc + first + 1 : "";
    snprintf(all, sizeof all, "%.*s%s%s", first, option->doc,
             *rest == '(' ? " "
             : *rest      ? "; "
                          : "",
             rest);
    n += printf("%s%*s", left, n + 2 > column ? 2 : column - n, "") - n;
    print_wrapped(stdout, width_of_help(), n, column, all);
}

/* Prints a group's options that the command takes, under its heading. */
static void print_group(const char *command, int group) {
    const char *heading = NULL;
    bool printed = false;
    for (const struct argp_option *option = option_table; option->name || option->doc; option++) {
        if (option->group != group) continue;
        if (!option->name) heading = option->doc;
        if (!option->name || !option_is_taken(command, option)) continue;
        if (!printed) printf("\n"), print_text(heading);
        printed = true;
        print_option(option, false);
    }
}

static void print_usage(const char *command, const char *words) {
    char usage[160];
    snprintf(usage, sizeof usage, "Usage: spmv %s%s[OPTION...]%s%s", command, *command ? " " : "",
             *words ? " " : "", words);
    print_wrapped(stdout, width_of_help(), 0, 4, usage);
}

static void print_command_help(const struct about *about) {
    const char *first = option_taken_by(about->name) ? option_taken_by(about->name)->groups : "";
    char help[160];
    print_usage(about->name, about->words);
    snprintf(help, sizeof help, "%s.", about->help);
    *help = (char)toupper((unsigned char)*help);
    print_text(help);
    for (const char *group = first; *group; group++)
        if (*group != '0' + PARAMETERS) print_group(about->name, *group - '0');
    for (int group = 1; group < PARAMETERS; group++)
        if (!strchr(first, '0' + group)) print_group(about->name, group);
    for (const struct argp_option *option = option_table; option->name || option->doc; option++)
        if (option->group == PARAMETERS && option->name && option_is_taken(about->name, option)) {
            printf("\n");
            print_text("Parameters of kernels are options, too: 'spmv help kernels'.");
            break;
        }
}

static void print_common(void) {
    print_usage("[COMMAND]", "[FILE.mtx ...]");
    print_text("Multiply a sparse matrix by a vector with every chosen kernel; check, time and log "
               "every result.");
    print_text("Commands; 'spmv help COMMAND' says more of each:");
    for (size_t k = 0; k < sizeof abouts / sizeof *abouts; k++) {
        const int n = printf("  %-9s", abouts[k].name);
        print_wrapped(stdout, width_of_help(), n, n, abouts[k].help);
    }
    print_text("Options that most people need ('spmv help options' has all):");
    for (const struct argp_option *option = option_table; option->name || option->doc; option++)
        if (option->flags & COMMON) print_option(option, true);
    print_text("'spmv help kernels': parameters of kernels.");
}

static void print_all_options(void) {
    print_usage("[COMMAND]", "[FILE.mtx ...]");
    for (int group = 1; group < PARAMETERS; group++) print_group(NULL, group);
    printf("\n");
    print_text("Parameters of kernels are options, too: 'spmv help kernels'. Every long option can "
               "be set in the environment: SPMV_MAX_MEM=4G stands for --max-mem=4G.");
    print_text(
        "GFLOP/s = 2 * nonzeros * vectors / median time; GB/s = bytes of the matrix as read + x "
        "once + y, over the median.");
    print_text(
        "Exit status: 0 success, 1 wrong result, 2 compare found a loss, 3 some failed, 64 usage, "
        "65 bad matrix, 66 cannot open, 69 backend or feature absent, 71 out of memory, 73 cannot "
        "write, 130 and 143 interrupted.");
}

static void print_parameters(void) {
    print_usage("", "[FILE.mtx ...] -k NAME --PARAMETER=VALUE");
    print_text("'spmv list -v -k NAME' shows which of them a kernel takes, and their ranges.");
    print_group(NULL, PARAMETERS);
}

bool help_print(const char *topic) {
    if (!topic) return print_common(), true;
    if (strcmp(topic, "options") == 0) return print_all_options(), true;
    if (strcmp(topic, "kernels") == 0) return print_parameters(), true;
    for (size_t k = 0; k < sizeof abouts / sizeof *abouts; k++)
        if (strcmp(abouts[k].name, topic) == 0) return print_command_help(&abouts[k]), true;
    return false;
}
