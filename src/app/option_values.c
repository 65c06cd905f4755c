/* option_values.c: numbers, sizes, words and lists of them, as they are typed; the syntax of every
 * kernel parameter in one table. */
#include "option_values.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

static const char *blamed;

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
    exit(EXIT_USAGE);
}

static _Noreturn void out_of_memory(void) {
    exit(complain(SPMV_E_NOMEM, "out of memory"));
}

/* ---- one value ------------------------------------------------------------------------------ */

double real_of(const char *option, const char *arg, double least) {
    char *end;
    double value = strtod(arg, &end);
    if (end == arg || *end || !(value >= least && value <= 1e300))
        usage_error("--%s: '%s' is not a valid number", option, arg);
    return value;
}

int64_t whole_of(const char *option, const char *arg, int64_t least, int64_t most) {
    char *end;
    errno = 0;
    long long value = strtoll(arg, &end, 10);
    if (end == arg || *end || errno || value < least || value > most)
        usage_error("--%s: '%s' is not a whole number from %lld to %lld", option, arg,
                    (long long)least, (long long)most);
    return value;
}

double share_of(const char *option, const char *arg) {
    char *end;
    double value = strtod(arg, &end);
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

static const char *const off_on[] = {"off", "on", NULL};

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
    static const char *const words[] = {"f64", "f32", NULL};
    take_words(o, "precision", arg, words, &o->precision);
}

void take_caches(options *o, const char *arg) {
    static const char *const words[] = {"warm", "cold", "steady", NULL};
    take_words(o, "cache", arg, words, &o->caches);
}

/* ---- parameters of kernels ------------------------------------------------------------------ */

static const char *const schedules[] = {"auto", "static", "dynamic", "guided", NULL};
static const char *const isas[] = {"auto", "portable", "avx2", "avx512", NULL};
static const char *const gathers[] = {"auto", "loads", "instruction", NULL};
static const char *const cusparses[] = {"toolkit", "fetched", NULL};

/* A value is a word, its place the number; AxB, for a parameter and the next; or N and
 * FROM:TO:STEP, where a word may stand for a number, which then is none to type. */
static const struct syntax {
    const char *const *words;
    const char *pair; /* what AxB is, for the error */
    const char *word;
    int64_t number;          /* what the word stands for: below all that may be typed */
    int64_t most, most_next; /* of A and B */
} syntaxes[SPMV_NPARAMS] = {
    [SPMV_grid_rows] = {.pair = "ROWSxCOLS, such as 10x4, or auto",
                        .word = "auto",
                        .most = 1 << 20,
                        .most_next = 4096},
    [SPMV_schedule] = {.words = schedules},
    [SPMV_simd] = {.words = off_on},
    [SPMV_rowlens] = {.words = off_on},
    [SPMV_isa] = {.words = isas},
    [SPMV_gather] = {.words = gathers},
    [SPMV_block] = {.word = "auto"},
    [SPMV_lanes] = {.word = "auto"},
    [SPMV_sigma] = {.word = "all"},
    [SPMV_height] = {.word = "auto"},
    [SPMV_sorted] = {.words = off_on},
    [SPMV_boundary] = {.word = "auto", .number = -1},
    [SPMV_tile] = {.word = "auto"},
    [SPMV_cut] = {.word = "auto"},
    [SPMV_codes] = {.words = off_on},
    [SPMV_shape_rows] = {.pair = "ROWSxCOLUMNS of a block, such as 3x3",
                         .most = 64,
                         .most_next = 64},
    [SPMV_warps] = {.word = "auto"},
    [SPMV_hubs] = {.word = "auto"},
    [SPMV_cusparse] = {.words = cusparses},
};

static const char *const options_of[] = {
#define PARAM(name, option, help) option,
#include "params.def"
#undef PARAM
};

static void take_pair(options *o, spmv_param_id id, const struct syntax *s, const char *item) {
    int64_t first = 0, second = 1;
    if (!s->word || strcmp(item, s->word) != 0) {
        char copy[64], *rest = copy;
        snprintf(copy, sizeof copy, "%s", item);
        char *start = strsep(&rest, "x");
        if (!rest) usage_error("--%s: '%s' is not %s", options_of[id], item, s->pair);
        first = whole_of(options_of[id], start, 1, s->most);
        second = whole_of(options_of[id], rest, 1, s->most_next);
    }
    append(&o->param[id], first);
    append(&o->param[id + 1], second);
}

static void take_block(options *o, const char *item) {
    if (strncmp(item, "32x", 3) == 0)
        append(&o->param[SPMV_block], BLOCK_WARP_ROWS + 32 * whole_of("block", item + 3, 1, 32));
    else if (strcmp(item, syntaxes[SPMV_block].word) == 0)
        append(&o->param[SPMV_block], 0);
    else if (strchr(item, 'x'))
        usage_error("--block: '%s': two-dimensional blocks are 32xR, a warp for each of R rows",
                    item);
    else
        append_range("block", item, 1, 1024, &o->param[SPMV_block]);
}

static void take_item(options *o, spmv_param_id id, const char *item) {
    const struct syntax *s = &syntaxes[id];
    if (id == SPMV_block)
        take_block(o, item);
    else if (s->pair)
        take_pair(o, id, s, item);
    else if (s->words)
        append(&o->param[id], word_of(options_of[id], item, s->words));
    else if (s->word && strcmp(item, s->word) == 0)
        append(&o->param[id], s->number);
    else
        append_range(options_of[id], item, s->word ? s->number + 1 : 0, INT32_MAX, &o->param[id]);
}

/* Of a copy, since the record keeps the line as typed. */
void take_param(options *o, spmv_param_id id, const char *arg) {
    char *rest = keep_copy(o, arg);
    o->param[id].count = 0;
    if (syntaxes[id].pair) o->param[id + 1].count = 0;
    for (char *item; (item = strsep(&rest, ","));) take_item(o, id, item);
}

const char *option_of(spmv_param_id id) {
    return options_of[id];
}

static int id_of(const char *param) {
    static const char *const names[] = {
#define PARAM(name, option, help) #name,
#include "params.def"
#undef PARAM
    };
    int id = 0;
    while (strcmp(names[id], param) != 0) id++;
    return id;
}

const char *param_typed(const char *param, int64_t value) {
    const struct syntax *s = &syntaxes[id_of(param)];
    if (s->words) return s->words[value];
    return s->word && value == s->number ? s->word : NULL;
}

const char *param_word(const char *param, int64_t value) {
    const char *const *words = syntaxes[id_of(param)].words;
    return words && words != off_on ? words[value] : NULL;
}

/* What sets the parameter to value, and the one that goes with it, if one does, to next. */
static void param_flag(const char *param, int64_t value, int64_t next, char *out, size_t size) {
    int id = id_of(param);
    const struct syntax *s = &syntaxes[id];
    if (s->words)
        snprintf(out, size, "--%s=%s", options_of[id], s->words[value]);
    else if (s->word && value == s->number)
        snprintf(out, size, "--%s=%s", options_of[id], s->word);
    else if (s->pair)
        snprintf(out, size, "--%s=%lldx%lld", options_of[id], (long long)value, (long long)next);
    else
        snprintf(out, size, "--%s=%lld", options_of[id], (long long)value);
}

void settings_flags(const spmv_setting *setting, int count, char *out, size_t size) {
    *out = 0;
    for (int k = 0; k < count; k++) {
        char flag[80];
        bool pair = k + 1 < count && strstr(setting[k + 1].name, "_cols");
        size_t n = strlen(out);
        param_flag(setting[k].name, setting[k].value, pair ? setting[k + 1].value : 1, flag,
                   sizeof flag);
        snprintf(out + n, size - n, " %s", flag);
        k += pair;
    }
}
