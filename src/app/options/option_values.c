/* option_values.c: numbers, sizes, words and lists of them, as they are typed; the parameters of
 * kernels, from params.def. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/record/record.h"
#include "option_values.h"
#include "options.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const command_names[] = {
#define COMMAND(name, words, help) #name,
#define TOOL(name, words, help) #name,
#include "app/commands.def"
#undef COMMAND
#undef TOOL
    NULL};

static const char *blamed;
static int (*at_exit)(int code);

void usage_exits_by(int (*leave)(int code)) {
    at_exit = leave;
}

_Noreturn void usage_exit(int code) {
    exit(at_exit ? at_exit(code) : code);
}

void usage_blame(const char *variable) {
    blamed = variable;
}

/* One line that says what is wrong and what would be right; argp's own second line would only say
 * where to read on. */
_Noreturn void usage_error(const char *format, ...) {
    va_list args;
    char what[2048];
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    say("spmv: %s%s%s\n", blamed ? blamed : "", blamed ? " in the environment: " : "", what);
    usage_exit(EXIT_USAGE);
}

static _Noreturn void out_of_memory(void) {
    exit(complain(SPMV_E_NOMEM, "out of memory"));
}

/* ---- one value ------------------------------------------------------------------------------ */

double real_of(const char *option, const char *arg, double least) {
    char *end;
    double value = strtod(arg, &end);
    if (end != arg && !*end && value >= least && value <= 1e300) return value;
    if (least > -1e300) usage_error("--%s: '%s' is not a number from %g", option, arg, least);
    usage_error("--%s: '%s' is not a number", option, arg);
}

/* Digits, or a number that is whole, such as 1e6 or 2.5e3. */
static bool is_whole(const char *arg, int64_t least, int64_t most, int64_t *out) {
    char *end;
    errno = 0;
    long long value = strtoll(arg, &end, 10);
    if (end != arg && *end && strspn(arg, "+-.0123456789eE") == strlen(arg)) {
        const double exact = strtod(arg, &end);
        if (*end || fabs(exact) >= 0x1p53 || exact != floor(exact)) return false;
        value = (long long)exact;
    }
    *out = value;
    return end != arg && !*end && !errno && value >= least && value <= most;
}

int64_t whole_of(const char *option, const char *arg, int64_t least, int64_t most) {
    int64_t value;
    if (!is_whole(arg, least, most, &value))
        usage_error("--%s: '%s' is not a whole number from %lld to %lld", option, arg,
                    (long long)least, (long long)most);
    return value;
}

double seconds_of(const char *option, const char *arg) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1},   {"s", 1},    {"ms", 1e-3}, {"us", 1e-6},
                 {"m", 60}, {"min", 60}, {"h", 3600}};
    char *end;
    const double value = strtod(arg, &end);
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (end != arg && strcmp(end, units[k].unit) == 0 && value >= 0 && value <= 1e9)
            return value * units[k].seconds;
    usage_error("--%s: '%s' is not a time such as 0.5, 20ms, 30s, 1m or 1h", option, arg);
}

double share_of(const char *option, const char *arg) {
    char *end;
    double value = strtod(arg, &end);
    if (end != arg && !*end && value >= 1)
        usage_error("--%s: '%s' would be %g%%: type %s%% or %g", option, arg, 100 * value, arg,
                    value / 100);
    if (end == arg || (*end && strcmp(end, "%") != 0) || !(value >= 0))
        usage_error("--%s: '%s' is not a share such as 1%% or 0.01", option, arg);
    return *end ? value / 100 : value;
}

/* 4G, 512M, 1.5g, 100000: powers of 1000, as everything this program prints. */
size_t size_of(const char *option, const char *arg) {
    char *end;
    double value = strtod(arg, &end), unit = 1;
    const char *units = "KMGT", *found = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (found)
        for (const char *u = units; u <= found; u++) unit *= 1000;
    if (found) end += end[1] == 'B' || end[1] == 'b' ? 2 : 1;
    if (end == arg || *end || !(value >= 0) || value * unit > 0x1p62)
        usage_error("--%s: '%s' is not a size such as 4G or 512M", option, arg);
    return (size_t)(value * unit);
}

int64_t word_of(const char *option, const char *arg, const char *const *words) {
    char legal[128] = "";
    for (int64_t k = 0; words[k]; k++) {
        if (strcmp(arg, words[k]) == 0) return k;
        strncat(legal, k ? ", " : "", sizeof legal - strlen(legal) - 1);
        strncat(legal, words[k], sizeof legal - strlen(legal) - 1);
    }
    usage_error("--%s: '%s' is not one of %s", option, arg, legal);
}

bool is_on(const char *option, const char *arg, bool automatic) {
    static const char *const words[] = {"off", "on", "auto", NULL};
    int64_t word = word_of(option, arg, words);
    return word == 2 ? automatic : word == 1;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void append(list *l, int64_t value) {
    int64_t *grown = realloc(l->value, (size_t)(l->count + 1) * sizeof *grown);
    if (!grown) out_of_memory();
    l->value = grown;
    l->value[l->count++] = value;
}

char *keep_copy(options *o, const char *arg) {
    char **grown = realloc(o->copies, (size_t)(o->ncopies + 1) * sizeof *grown);
    if (!grown) out_of_memory();
    o->copies = grown;
    char *copy = o->copies[o->ncopies] = strdup(arg);
    if (!copy) out_of_memory();
    o->ncopies++;
    return copy;
}

void add_text(const char ***list_of, int *n, const char *arg) {
    const char **grown = realloc(*list_of, (size_t)(*n + 1) * sizeof *grown);
    if (!grown) out_of_memory();
    *list_of = grown;
    (*list_of)[(*n)++] = arg;
}

/* A later value of a key replaces the earlier one. */
void add_tag(options *o, const char *arg) {
    char *key = keep_copy(o, arg), *equals = strchr(key, '=');
    if (!equals || equals == key) usage_error("--tag: '%s' is not KEY=VALUE", arg);
    if (!o->tags && !(o->tags = calloc(1, sizeof *o->tags))) out_of_memory();
    pairs *p = o->tags;
    int k = 0;
    *equals = 0;
    while (k < p->count && strcmp(p->name[k], key) != 0) k++;
    if (k == MOST_PAIRS) usage_error("--tag: more than %d tags", MOST_PAIRS);
    if (k == p->count) p->count++;
    p->name[k] = key;
    p->text[k] = equals + 1;
}

/* N or FROM:TO:STEP */
static void append_range(const char *option, const char *item, int64_t least, int64_t most,
                         list *l) {
    int64_t part[3] = {0, 0, 1};
    int n = 0;
    char copy[64], *rest = copy;
    if (strlen(item) >= sizeof copy) usage_error("--%s: '%s' is too long", option, item);
    snprintf(copy, sizeof copy, "%s", item);
    for (char *p; (p = strsep(&rest, ":")) && n < 3; n++)
        part[n] = whole_of(option, p, least, most);
    if (rest || (n == 3 && part[2] <= 0))
        usage_error("--%s: '%s' is not N or FROM:TO:STEP", option, item);
    if (n == 1) part[1] = part[0];
    if (part[0] > part[1]) usage_error("--%s: '%s' is an empty range", option, item);
    if ((part[1] - part[0]) / part[2] > 10000)
        usage_error("--%s: '%s' makes too many values", option, item);
    for (int64_t v = part[0]; v <= part[1]; v += part[2]) append(l, v);
}

static void take_words(options *o, const char *option, const char *arg, const char *const *words,
                       list *out) {
    char *rest = keep_copy(o, arg);
    out->count = 0;
    for (char *item; (item = strsep(&rest, ","));) append(out, word_of(option, item, words));
}

void take_precisions(options *o, const char *arg) {
    if (is_among(arg, "double single float f16 half"))
        usage_error("--precision: '%s': double precision is f64, single precision f32; there is no "
                    "other",
                    arg);
    static const char *const words[] = {"f64", "f32", NULL};
    take_words(o, "precision", arg, words, &o->precision);
}

const char *const cache_names[] = {
    [SPMV_WARM] = "warm", [SPMV_COLD] = "cold", [SPMV_STEADY] = "steady", NULL};

void take_caches(options *o, const char *arg) {
    take_words(o, "cache", arg, cache_names, &o->caches);
}

void take_repeat(options *o, const char *arg) {
    static const char *const words[] = {"run", "threads", "none", NULL};
    const int64_t word = word_of("repeat", arg, words);
    o->reproducible = word == 1;
    o->nondeterministic = word == 2;
}

bool is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* A log is a folder, or a file of records; other endings mean a file of another kind. */
void take_log(options *o, const char *arg) {
    static const char *const others[] = {".csv", ".json", ".txt", ".log", ".md", ".tex", ".html"};
    const size_t n = strlen(arg);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        const size_t m = strlen(others[k]);
        if (n > m && strcmp(arg + n - m, others[k]) == 0 && !is_folder(arg))
            usage_error("--log: '%s': a log is a folder or a .jsonl file; --format=csv -o FILE "
                        "writes a table",
                        arg);
    }
    o->log = arg;
    o->no_log = false;
}

void take_vectors(options *o, const char *arg) {
    enum { MOST = 1 << 20 };
    char *rest = keep_copy(o, arg);
    o->vectors.count = 0;
    for (char *item; (item = strsep(&rest, ","));)
        append_range("vectors", item, 1, MOST, &o->vectors);
}

void take_threads(options *o, const char *arg) {
    char *rest = keep_copy(o, arg);
    o->threads.count = 0;
    for (char *item; (item = strsep(&rest, ","));)
        append_range("threads", item, 1, SPMV_MOST_THREADS, &o->threads);
}

const char *const layout_names[] = {"columns", "rows", NULL};
const char *const halo_names[] = {"auto", "lists", "replicate", NULL};
const char *const overlap_names[] = {"auto", "on", "off", NULL};

void take_layouts(options *o, const char *arg) {
    take_words(o, "layout", arg, layout_names, &o->layout);
    for (int k = 0; k < o->layout.count; k++) o->layout.value[k] += SPMV_COLUMNS;
}

void take_ranks(options *o, const char *arg) {
    enum { MOST_RANKS = 1 << 20, MOST_NUMBERS = 16 };
    char *rest = keep_copy(o, arg);
    o->ranks.count = 0;
    for (char *item; (item = strsep(&rest, ","));) {
        append_range("ranks", item, 1, MOST_RANKS, &o->ranks);
        if (o->ranks.count > MOST_NUMBERS)
            usage_error("--ranks: '%s' names more than %d numbers of ranks", arg, MOST_NUMBERS);
    }
}

void take_partition(options *o, const char *arg) {
    if (!is_among(arg, "rows nnz metis scotch") && access(arg, R_OK) != 0)
        usage_error("--partition: '%s' is not rows, nnz, metis, scotch or a file that can be read",
                    arg);
    o->partition = arg;
}

void take_network(options *o, const char *arg) {
    char *rate = keep_copy(o, arg);
    const char *latency = strsep(&rate, ":"), *message = strsep(&rate, ":");
    if (!rate) usage_error("--network: '%s' is not US:US:GBPS, such as 2:0.4:12.5", arg);
    o->latency_s = 1e-6 * real_of("network", latency, 0);
    o->message_s = 1e-6 * real_of("network", message, 0);
    o->network_Bps = 1e9 * real_of("network", rate, 1e-6);
}

static int64_t most_of(list l, int64_t least) {
    for (int k = 0; k < l.count; k++)
        if (l.value[k] > least) least = l.value[k];
    return least;
}

int64_t most_vectors(const options *o) {
    return most_of(o->vectors, 1);
}

int most_threads(const options *o) {
    return (int)most_of(o->threads, 0);
}

/* ---- parameters of kernels ------------------------------------------------------------------ */

#define NUMBER \
    { .words = NULL }
#define NUMBER_OR(typed, value) \
    { .word = (typed), .number = (value) }
#define WARPS_OR(typed, value) \
    { .word = (typed), .number = (value), .warps = true }
#define WORDS(...) \
    { \
        .words = (const char *const[]) { \
            __VA_ARGS__, NULL \
        } \
    }
#define PAIR_OR(typed, value, example, a, b) \
    { \
        .word = (typed), .number = (value), .pair = (example), .most = {(a), (b) } \
    }
#define PAIR(...) PAIR_OR(NULL, 0, __VA_ARGS__)
#define SECOND \
    { .second = true }
#define NONE INT64_MIN
#define PARAM(name, ...) {#name, __VA_ARGS__},
const param params[SPMV_NPARAMS] = {
#include "params.def"
};
#undef PARAM

static void take_pair(options *o, spmv_param_id id, const char *item) {
    const param *p = &params[id];
    int64_t first = p->values.number, second = 1;
    if (!p->values.word || strcmp(item, p->values.word) != 0) {
        char copy[64], *rest = copy;
        snprintf(copy, sizeof copy, "%s", item);
        char *start = strsep(&rest, "x");
        if (!rest)
            usage_error("--%s: '%s' is not %s%s%s", p->option, item, p->values.pair,
                        p->values.word ? ", or " : "", p->values.word ? p->values.word : "");
        first = whole_of(p->option, start, 1, p->values.most[0]);
        second = whole_of(p->option, rest, 1, p->values.most[1]);
    }
    append(&o->param[id], first);
    append(&o->param[id + 1], second);
}

/* N or FROM:TO:STEP; the error names the word that might have been meant. */
static void take_numbers(options *o, spmv_param_id id, const char *item) {
    const param *p = &params[id];
    int64_t value, least = p->values.word ? p->values.number + 1 : 0,
                   most = p->values.warps ? 1024 : INT32_MAX;
    const bool is_range = strchr(item, ':');
    if (p->values.word && !p->values.warps && !is_range) { /* how many, the kernel knows */
        if (!is_whole(item, least, INT64_MAX, &value))
            usage_error("--%s: '%s' is neither %s nor a whole number above %lld", p->option, item,
                        p->values.word, (long long)least - 1);
        append(&o->param[id], value);
        return;
    }
    if (p->values.word && !is_range && !is_whole(item, least, most, &value))
        usage_error("--%s: '%s' is not a whole number from %lld to %lld, 32xR or %s", p->option,
                    item, (long long)least, (long long)most, p->values.word);
    append_range(p->option, item, least, most, &o->param[id]);
}

static void take_warps(options *o, spmv_param_id id, const char *item) {
    const char *option = params[id].option;
    if (strncmp(item, "32x", 3) == 0)
        append(&o->param[id], BLOCK_WARP_ROWS + 32 * whole_of(option, item + 3, 1, 32));
    else if (strchr(item, 'x'))
        usage_error("--%s: '%s': two-dimensional blocks are 32xR, a warp for each of R rows",
                    option, item);
    else
        take_numbers(o, id, item);
}

static void take_item(options *o, spmv_param_id id, const char *item) {
    const struct values *v = &params[id].values;
    if (v->pair)
        take_pair(o, id, item);
    else if (v->words)
        append(&o->param[id], word_of(params[id].option, item, v->words));
    else if (v->word && strcmp(item, v->word) == 0)
        append(&o->param[id], v->number);
    else if (v->warps)
        take_warps(o, id, item);
    else
        take_numbers(o, id, item);
}

/* Reads a copy, since the record keeps the line as typed. */
void take_param(options *o, spmv_param_id id, const char *arg) {
    char *rest = keep_copy(o, arg);
    o->param[id].count = 0;
    if (params[id].values.pair) o->param[id + 1].count = 0;
    for (char *item; (item = strsep(&rest, ","));) take_item(o, id, item);
}

spmv_param_id param_named(const char *name) {
    int id = 0;
    while (id < SPMV_NPARAMS && strcmp(params[id].name, name) != 0) id++;
    return (spmv_param_id)id;
}

bool param_is_switch(const param *p) {
    return p->values.words && strcmp(p->values.words[0], "off") == 0;
}

const char *param_typed(const char *name, int64_t value) {
    const struct values *v = &params[param_named(name)].values;
    if (v->words) return v->words[value];
    return v->word && value == v->number ? v->word : NULL;
}

const char *param_word(const char *name, int64_t value) {
    const param *p = &params[param_named(name)];
    return p->values.words && !param_is_switch(p) ? p->values.words[value] : NULL;
}

int64_t param_number(const param *p, const char *word) {
    int64_t k = 0;
    while (p->values.words && p->values.words[k] && strcmp(p->values.words[k], word) != 0) k++;
    return p->values.words && p->values.words[k] ? k : p->values.number;
}

/* Writes what sets the parameter to value, and the one that goes with it, if one does, to next. */
static void param_flag(const param *p, int64_t value, int64_t next, char *out, size_t size) {
    const char *typed = param_typed(p->name, value);
    if (typed)
        snprintf(out, size, "--%s=%s", p->option, typed);
    else if (p->values.pair)
        snprintf(out, size, "--%s=%lldx%lld", p->option, (long long)value, (long long)next);
    else
        snprintf(out, size, "--%s=%lld", p->option, (long long)value);
}

void settings_flags(const spmv_setting *setting, int count, char *out, size_t size) {
    *out = 0;
    for (int k = 0; k < count; k++) {
        char flag[80];
        bool pair = k + 1 < count && params[param_named(setting[k + 1].name)].values.second;
        size_t n = strlen(out);
        param_flag(&params[param_named(setting[k].name)], setting[k].value,
                   pair ? setting[k + 1].value : 1, flag, sizeof flag);
        snprintf(out + n, size - n, " %s", flag);
        k += pair;
    }
}

void refuse_folders(const options *o, const char *command) {
    for (int k = 0; k < o->nmatrices; k++) {
        const char *path = o->matrices[k];
        if (strncmp(path, "gen:", 4) == 0 || !is_folder(path)) continue;
        if (strcmp(command, "run") == 0)
            usage_error("%s is a folder: 'spmv sweep %s' runs every matrix in it", path, path);
        usage_error("%s is a folder: %s takes the files in it", path, command);
    }
}

bool is_among(const char *name, const char *words) {
    size_t n = strlen(name);
    for (const char *at = words; (at = strstr(at, name)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}
