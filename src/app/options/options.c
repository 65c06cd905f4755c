/* options.c: the command line, as option_table.c has its options. The environment variable
 * SPMV_<OPTION> sets any long option; the command line overrides it. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/ranks/launcher.h"
#include "option_table.h"
#include "option_values.h"
#include "options.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *argp_program_version = NULL; /* --version is ours: with -v it says more */

static bool is_heading(const struct argp_option *option) {
    return !option->name && option->doc;
}

/* ---- parsing -------------------------------------------------------------------------------- */

/* Keeps the option as it is or could have been typed: --NAME=VALUE. */
static void keep_typed(options *o, const struct argp_option *option, const char *value,
                       const char ***list_of, int *n) {
    char *typed = NULL;
    if (asprintf(&typed, "--%s%s%s", option->name, value ? "=" : "", value ? value : "") >= 0)
        add_text(list_of, n, keep_copy(o, typed));
    free(typed);
}

/* A word of the line: a matrix, where the command takes some; else what it is about. */
static void take_word(options *o, const char *word) {
    add_text(&o->words, &o->nwords, word);
    if (!o->matrix_words) {
        if (!o->topic) o->topic = word;
        return;
    }
    for (const char *const *name = command_names; *name && !o->command; name++)
        if (strcmp(word, *name) == 0)
            usage_error("'%s' comes first: 'spmv %s', then the options", word, word);
    add_text(&o->matrices, &o->nmatrices, word);
    keep_typed(o, option_of('m'), word, &o->given, &o->ngiven);
}

static const struct argp_option *option_typed(const char *word);

/* Kernels of -k: all that are typed count, and replace those of the environment. */
static void add_kernels(options *o, char *names, bool typed) {
    char *all = NULL;
    if (typed && o->kernels_typed && asprintf(&all, "%s,%s", o->kernels, names) < 0) all = NULL;
    o->kernels = all ? keep_copy(o, all) : names;
    o->kernels_typed = typed;
    free(all);
}

/* Each of the parts below takes an option, or returns false: it is of another part. */

/* What is multiplied. */
static bool take_operands(options *o, int key, char *arg) {
    switch (key) {
    case 'm': add_text(&o->matrices, &o->nmatrices, arg); break;
    case 'x': o->x_file = arg; break;
    case 'y': o->y_file = arg; break;
    case 'T': o->op = SPMV_TRANSPOSE; break;
    case KEY_ALPHA: o->alpha = real_of("alpha", arg, -1e300); break;
    case KEY_BETA: o->beta = real_of("beta", arg, -1e300); break;
    case KEY_SEED: o->seed = (uint64_t)whole_of("seed", arg, 1, INT64_MAX); break;
    case KEY_VALUES: o->values = arg; break;
    case KEY_WRITE: o->write_file = arg; break;
    case KEY_MAX_UNPACKED: o->max_unpacked = size_of("max-unpacked", arg); break;
    default: return false;
    }
    return true;
}

/* Kernels, and what all of them have. */
static bool take_choice(options *o, int key, char *arg, bool typed) {
    static const char *const index_words[] = {"auto", "32", "64", NULL};
    static const char *const backend_words[] = {"omp", "cuda", NULL};
    switch (key) {
    case 'k': add_kernels(o, arg, typed); break;
    case 't': take_threads(o, arg); break;
    case 'p': take_precisions(o, arg); break;
    case KEY_BACKEND: o->backend = backend_words[word_of("backend", arg, backend_words)]; break;
    case KEY_DEVICE: o->device = (int)whole_of("device", arg, 0, 1024); break;
    case KEY_INDEX: o->offset_bits = (int)(32 * word_of("index", arg, index_words)); break;
    case KEY_ITERS: o->iters = whole_of("iters", arg, 1, INT64_MAX / 4); break;
    case KEY_REPEAT: take_repeat(o, arg); break;
    case KEY_WISDOM: o->wisdom = arg ? arg : ""; break;
    case KEY_MAX_MEM: o->max_mem = size_of("max-mem", arg); break;
    case KEY_VECTORS: take_vectors(o, arg); break;
    case KEY_LAYOUT: take_layouts(o, arg); break;
    default: return false;
    }
    return true;
}

static bool take_measuring(options *o, int key, char *arg) {
    static const char *const verify_words[] = {"off", "full", NULL};
    switch (key) {
    case 'n': o->sampling.min_samples = (int)whole_of("samples", arg, 1, 1000000); break;
    case KEY_VERIFY: o->verify = word_of("verify", arg, verify_words); break;
    case KEY_CACHE: take_caches(o, arg); break;
    case KEY_PROBE:
        if (arg)
            o->probe = arg;
        else
            o->measure_limits = true;
        break;
    case KEY_MIN_TIME: o->sampling.min_time_s = seconds_of("min-time", arg); break;
    case KEY_MAX_TIME: o->sampling.max_time_s = seconds_of("max-time", arg); break;
    case KEY_MAX_NOISE: o->sampling.max_noise = share_of("max-noise", arg); break;
    case KEY_PASSES: o->passes = (int)whole_of("passes", arg, 1, 1000000); break;
    case KEY_TIMEOUT: o->timeout_s = seconds_of("timeout", arg); break;
    case KEY_RETRY: o->retry = o->resume = true; break;
    case KEY_RESUME: o->resume = true; break;
    case KEY_DRY_RUN: o->dry_run = true; break;
    case KEY_TUNE: o->tune = true; break;
    default: return false;
    }
    return true;
}

/* What is shown and kept. */
static bool take_showing(options *o, int key, char *arg) {
    static const char *const format_words[] = {"table", "csv", "jsonl", "json", NULL};
    static const char *const export_words[] = {"c", "python", "json", NULL};
    static const char *const stat_words[] = {"median", "min", "max", "mean", NULL};
    switch (key) {
    case 'o': o->output_file = arg; break;
    case 'q': o->quiet = true; break;
    case 'v': o->verbose = true; break;
    case 'V': o->topic = "version"; break;
    case KEY_FORMAT: o->format = format_words[word_of("format", arg, format_words)]; break;
    case KEY_CELLS: o->cells = (int)whole_of("cells", arg, 1, 1024); break;
    case KEY_EXPORT: o->export = export_words[word_of("export", arg, export_words)]; break;
    case KEY_STAT: o->stat = stat_words[word_of("stat", arg, stat_words)]; break;
    case KEY_LOG: take_log(o, arg); break;
    case KEY_NO_LOG: o->no_log = true; break;
    case KEY_TAG: add_tag(o, arg); break;
    case KEY_KEEP_SAMPLES: o->keep_samples = (int)whole_of("keep-samples", arg, 0, 1000000); break;
    case KEY_PROGRESS: o->progress = is_on("progress", arg, o->progress); break;
    case KEY_COLOR: o->color = is_on("color", arg, o->color); break;
    default: return false;
    }
    return true;
}

static bool take_of_ranks(options *o, int key, char *arg) {
    static const char *const exchange_words[] = {"auto", "mpi", NULL};
    switch (key) {
    case KEY_RANKS: take_ranks(o, arg); break;
    case KEY_PARTITION: take_partition(o, arg); break;
    case KEY_NETWORK: take_network(o, arg); break;
    case KEY_HALO: o->halo = (spmv_ranks_halo)word_of("halo", arg, halo_names); break;
    case KEY_EXCHANGE: word_of("exchange", arg, exchange_words); break;
    case KEY_OVERLAP: o->overlap = (overlapping)word_of("overlap", arg, overlap_names); break;
    default: return false;
    }
    return true;
}

/* Refuses an empty value, and one that is meant as the next option. */
static void check_value(const struct argp_option *option, const char *arg,
                        const struct argp_state *state) {
    if (arg && !*arg)
        usage_error("%s%s: the value is empty", option ? "--" : "",
                    option ? option->name : "argument");
    if (state->argv && option && arg && arg == state->argv[state->next - 1] && arg[0] == '-' &&
        arg[1] && option_typed(arg))
        usage_error("--%s requires a value, and '%s' is an option; --%s=%s takes it for the value",
                    option->name, arg, option->name, arg);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    const struct argp_option *option = option_of(key);
    options *o = state->input;
    o->next = state->next;
    check_value(option, arg, state);
    if (state->argv && option) keep_typed(o, option, arg, &o->given, &o->ngiven);
    if (key == 'h') usage_exit(options_help(o->command));
    if (key == ARGP_KEY_ARG)
        take_word(o, arg);
    else if (!take_operands(o, key, arg) && !take_choice(o, key, arg, state->argv != NULL) &&
             !take_measuring(o, key, arg) && !take_showing(o, key, arg) &&
             !take_of_ranks(o, key, arg)) {
        if (option_param(key) == SPMV_NPARAMS) return ARGP_ERR_UNKNOWN;
        take_param(o, option_param(key), arg);
    }
    return 0;
}

/* SPMV_MAX_MEM of max-mem. */
static void name_variable(const char *option, char *out, size_t size) {
    size_t n = (size_t)snprintf(out, size, "SPMV_");
    for (; *option && n + 1 < size; option++)
        out[n++] = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
    out[n] = 0;
}

/* Says whether the environment's option counts. A sweep measures choices: it reads none from a
 * file, unless that is typed. */
static bool is_meant(const options *o, const struct argp_option *option, const char *value) {
    bool needs_value = option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
    if (option->key == 'V' || option->key == 'h') return false;
    if (option->key == KEY_WISDOM && o->command && strcmp(o->command, "sweep") == 0) return false;
    return needs_value || strcmp(value, "0") != 0;
}

/* SPMV_MAX_MEM=4G stands for --max-mem=4G: the names are made from the table. */
static void parse_environment(options *o, struct argp_state *state) {
    for (const struct argp_option *option = option_table;
         option->name || option->key || option->doc; option++) {
        char name[64];
        if (!option->name) continue;
        name_variable(option->name, name, sizeof name);
        const char *value = getenv(name);
        if (!value || !is_meant(o, option, value)) continue;
        const bool means_yes =
            !option->arg || (option->flags & OPTION_ARG_OPTIONAL && strcmp(value, "1") == 0);
        if (means_yes && *value) value = NULL; /* an empty one is refused below */
        /* The parser cuts lists up, and options point into what it gets. */
        char *copy = value ? keep_copy(o, value) : NULL;
        usage_blame(name);
        parse(option->key, copy, state);
        usage_blame(NULL);
        keep_typed(o, option, value, &o->from_environment, &o->nfrom_environment);
    }
}

int options_help(const char *topic) {
    option_table_fill();
    if (!help_print(topic)) return EXIT_USAGE;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    return complain(SPMV_E_WRITE, "cannot write to stdout");
}

static const struct argp_option *option_of_letter(const char *letters) {
    for (const struct argp_option *option = option_table;
         option->name || option->key || option->doc; option++)
        if (option->name && option->key == *letters)
            return option->arg || !letters[1] ? option : option_of_letter(letters + 1);
    return NULL;
}

/* The option that the word names in full, or with the last of its letters. NULL: none. */
static const struct argp_option *option_typed(const char *word) {
    if (word[1] != '-') return option_of_letter(word + 1);
    size_t n = strcspn(word + 2, "=");
    for (const struct argp_option *option = option_table;
         option->name || option->key || option->doc; option++)
        if (option->name && strlen(option->name) == n && strncmp(option->name, word + 2, n) == 0)
            return option;
    return NULL;
}

/* Returns the long option that is most like the word; NULL: none is. Short words are like many:
 * only one with the same first letter is meant. */
static const char *nearest_option(const char *word) {
    enum { LONG_WORD = 5 };
    const char *names[MOST_OPTIONS];
    char name[64];
    int n = 0;
    if (strncmp(word, "--", 2) != 0) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (const struct argp_option *option = option_table; option->name || option->doc; option++)
        if (!is_heading(option)) names[n++] = option->name;
    names[n] = NULL;
    const char *nearest = spmv_nearest(name, names);
    return nearest && (nearest[0] == name[0] || strlen(name) >= LONG_WORD) ? nearest : NULL;
}

/* argp says only that it could not take the word. */
static _Noreturn void refuse_word(const char *command, const char *word) {
    const struct argp_option *option = option_typed(word);
    const char *nearest = nearest_option(word);
    if (is_among(word, "--reproducible --nondeterministic"))
        usage_error("'%s' is --repeat=%s now", word, word[2] == 'r' ? "threads" : "none");
    if (option && option->arg) usage_error("option '%s' requires a value", word);
    if (option) usage_error("option '%s' takes no value", word);
    usage_error("unknown option '%s'%s%s%s 'spmv help %s' lists %s", word,
                nearest ? ": did you mean '--" : "", nearest ? nearest : "", nearest ? "'?" : ";",
                command ? command : "options", command ? "those it takes" : "them");
}

/* Returns the word that argp could not parse. That is the one before `next`, unless argp stopped
 * inside a word of several short options, which is then the word at `next`. */
static const char *refused(int argc, char **argv, int next) {
    const char *before = argv[next > 1 ? next - 1 : argc > 1],
               *after = next > 0 && next < argc ? argv[next] : "";
    bool inside = after[0] == '-' && after[1] != '-' && !option_typed(after);
    return inside && (before[0] != '-' || next == 1 || option_typed(before)) ? after : before;
}

static bool takes_matrices(const char *command) {
    return !command || is_among(command, "run info");
}

void options_parse(int argc, char **argv, const char *command, options *o) {
    static const struct argp argp = {option_table, parse, NULL, NULL, NULL, NULL, NULL};
    struct argp_state environment = {
        .root_argp = &argp, .name = "spmv", .input = o, .err_stream = stderr, .out_stream = stdout};
    bool terminal = isatty(STDERR_FILENO);
    option_table_fill();
    *o = (options){.op = SPMV_AS_IS,
                   .alpha = 1,
                   .timeout_s = -1,
                   .seed = 1,
                   .verify = true,
                   .keep_samples = 1000,
                   .sampling.min_time_s = 0.5,
                   .sampling.max_time_s = 5,
                   .sampling.max_noise = 0.01,
                   .format = "table",
                   .stat = "median",
                   .partition = "nnz",
                   .latency_s = 2e-6,
                   .message_s = 4e-7,
                   .network_Bps = 12.5e9,
                   .progress = terminal,
                   .command = command,
                   .matrix_words = takes_matrices(command),
                   .argc = argc,
                   .argv = argv};
    o->color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    parse_environment(o, &environment);
    int from_environment = o->nmatrices;
    if (argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, o) != 0)
        refuse_word(command, refused(argc, argv, o->next));
    if (from_environment &&
        o->nmatrices > from_environment) { /* -m given: it replaces SPMV_MATRIX */
        memmove(o->matrices, o->matrices + from_environment,
                (size_t)(o->nmatrices - from_environment) * sizeof *o->matrices);
        o->nmatrices -= from_environment;
    }
    if (!o->caches.count) take_caches(o, "warm");
    if (!o->vectors.count) take_vectors(o, "1");
    if (!o->layout.count) take_layouts(o, "columns");
    if (o->sampling.max_time_s < o->sampling.min_time_s)
        o->sampling.max_time_s = o->sampling.min_time_s;
}

static bool is_in(const char **typed, int n, const char *name) {
    int k = 0;
    while (k < n && strcmp(option_typed(typed[k])->name, name) != 0) k++;
    return k < n;
}

bool options_on_line(const options *o, const char *name) {
    return is_in(o->given, o->ngiven, name);
}

bool options_given(const options *o, const char *name) {
    return options_on_line(o, name) || is_in(o->from_environment, o->nfrom_environment, name);
}

const char **options_words(const options *o, const char *without, const char *also) {
    const int all = o->nfrom_environment + o->ngiven;
    const char **words = malloc(((size_t)all + 1) * sizeof *words);
    int n = 0;
    for (int k = 0; words && k < all; k++) {
        const char *typed =
            k < o->nfrom_environment ? o->from_environment[k] : o->given[k - o->nfrom_environment];
        const struct argp_option *option = option_typed(typed);
        const bool is_typed =
            k < o->nfrom_environment && options_on_line(o, option->name); /* comes later */
        if (is_typed || option_param(option->key) != SPMV_NPARAMS ||
            is_among(option->name, without) ||
            (option->group > MEASURE && !is_among(option->name, also)))
            continue;
        words[n++] = typed;
    }
    if (words) words[n] = NULL;
    return words;
}

void options_write(const options *o, const char *without, FILE *out) {
    const char **words = options_words(o, without, "");
    for (const char **word = words; words && *word; word++) {
        fputc(' ', out);
        write_word(*word, out);
    }
    free(words);
}

/* '-' is standard input, which can be read once. */
static void check_standard_input(const options *o, const char *command) {
    int readers = o->x_file && strcmp(o->x_file, "-") == 0;
    for (int k = 0; k < o->nmatrices; k++) readers += strcmp(o->matrices[k], "-") == 0;
    if (readers > 1) usage_error("'-' is standard input, which is read once");
    for (int k = 0; k < o->nwords; k++) readers += strcmp(o->words[k], "-") == 0;
    if (readers && strcmp(command, "sweep") == 0)
        usage_error("'-': a sweep reads its matrices more than once, and standard input only once");
}

/* A pattern that was not quoted has become the names of files. */
static void check_patterns(const options *o) {
    char *names = o->kernels_typed && o->nmatrices ? strdup(o->kernels) : NULL, *rest = names;
    for (char *name; (name = strsep(&rest, ","));)
        if (access(name, F_OK) == 0 && (strchr(name, '.') || is_folder(name)))
            usage_error("--kernel: '%s' is a file: a pattern is quoted, as in -k '*'", name);
    free(names);
}

void options_check(const options *o, const char *command) {
    for (int g = 0; g < o->ngiven; g++) {
        const struct argp_option *option = option_typed(o->given[g]);
        if (option->group == RANKS && strcmp(command, "run") == 0 && !launcher_is_there())
            usage_error("--%s is of several ranks: mpirun -n 4 spmv ... starts them", option->name);
        if (option->group == RANKS && strcmp(command, "sweep") == 0 && !o->ranks.count)
            usage_error("--%s is of several ranks: --ranks=2,4 starts so many", option->name);
        if (option_is_taken(command, option) ||
            is_among(option->name, option_taken_by(command)->not ))
            continue;
        if (option->group == SWEEP) usage_error("--%s applies to 'spmv sweep' only", option->name);
        usage_error("%s does not take --%s; 'spmv help %s' lists what it takes", command,
                    option->name, command);
    }
    check_standard_input(o, command);
    check_patterns(o);
    if (strcmp(o->format, "json") == 0 && !is_among(command, "list info doctor"))
        usage_error("--format=json is of list, info and doctor; jsonl has a record in each line");
    if (o->measure_limits && strcmp(command, "doctor") != 0)
        usage_error("--probe: 'spmv doctor --probe' measures; --probe=DIR names a folder, "
                    "--probe=off none");
    if (o->measure_limits && (o->output_file || strcmp(o->format, "json") == 0))
        usage_error("doctor --probe takes --format=table, csv or jsonl, and no --output");
    if (strcmp(command, "list") == 0 && !is_among(o->format, "table json"))
        usage_error("list: --format is table or json");
    if (o->export && (!o->kernels || !strstr(o->kernels, "auto")))
        usage_error("--export is of what auto chooses: -k auto");
    if (o->threads.count > 1 && (launcher_of() || !is_among(command, "run sweep")))
        usage_error("--threads: several numbers are an axis of run and sweep, in one process");
    if (options_on_line(o, "layout") && most_vectors(o) == 1)
        usage_error("--layout is of several vectors: --vectors=K says how many");
    if (strcmp(command, "sweep") == 0) return;
    if (!o->matrix_words && o->nwords > 1) usage_error("unexpected argument '%s'", o->words[1]);
    if (o->matrix_words) refuse_folders(o, command);
}

void options_name_environment(const options *o) {
    bool first = true;
    for (int k = 0; k < o->nfrom_environment; k++) {
        const char *name = option_typed(o->from_environment[k])->name,
                   *value = strchr(o->from_environment[k], '=');
        char variable[64];
        name_variable(name, variable, sizeof variable);
        if (options_on_line(o, name)) continue;
        say("%s %s%s", first ? "  from the environment:" : ",", variable, value ? value : "");
        first = false;
    }
    if (!first) say("\n");
}

void options_leave_environment(const options *o) {
    for (int k = 0; k < o->nfrom_environment; k++) {
        char variable[64];
        name_variable(option_typed(o->from_environment[k])->name, variable, sizeof variable);
        unsetenv(variable);
    }
}

void options_free(options *o) {
    free(o->matrices);
    free(o->words);
    free(o->given);
    free(o->from_environment);
    free(o->tags);
    for (int k = 0; k < o->ncopies; k++) free(o->copies[k]);
    free(o->copies);
    free(o->precision.value);
    free(o->caches.value);
    free(o->vectors.value);
    free(o->threads.value);
    free(o->layout.value);
    free(o->ranks.value);
    for (int id = 0; id < SPMV_NPARAMS; id++) free(o->param[id].value);
}
