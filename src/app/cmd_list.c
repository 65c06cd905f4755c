/* cmd_list.c: spmv list: prints the tables of kernels, formats, generators and twins. */
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/record/record.h"
#include "app/record/write_jsonl.h"
#include "exit_codes.h"
#include "messages.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int cmd_list(const options *o, const spmv_backend *backend);

/* words in the columns from indent on, of which `column` are written. */
static void put(int column, int indent, const char *words) {
    print_wrapped(stdout, page_width(stdout, PAGE_WIDTH), column, indent, words);
}

static void list_value(FILE *out, const char *name, int64_t value) {
    const char *word = param_typed(name, value);
    if (word)
        fprintf(out, "%s", word);
    else
        fprintf(out, "%lld", (long long)value);
}

/* Words where the option takes words: for all values, or for the least. */
static void list_values(FILE *out, const char *name, const spmv_param *p) {
    bool all = param_typed(name, p->max) != NULL, least = param_typed(name, p->min) != NULL;
    if (least && !all) fprintf(out, "%s|", param_typed(name, p->min));
    for (int64_t v = p->min; all && v <= p->max; v++)
        fprintf(out, "%s%s", v == p->min ? "" : "|", param_typed(name, v));
    if (!all) fprintf(out, "%lld..%lld", (long long)p->min + least, (long long)p->max);
    fprintf(out, ", default ");
    list_value(out, name, p->default_value);
}

static void list_param(const spmv_param *p, int id, bool pair) {
    enum { HEAD = 20 }; /* columns before the text */
    char line[512] = "";
    FILE *out = fmemopen(line, sizeof line, "w");
    if (!out) return;
    if (pair) fprintf(out, "AxB: ");
    list_values(out, params[id].name, p);
    fprintf(out, ": %s", params[id].meaning);
    fclose(out);
    if (params[id].values.second)
        printf("%*s", HEAD, "x ");
    else
        printf("        --%-9s ", params[id].option);
    put(HEAD, HEAD + 2, line);
}

static void list_params(const spmv_kernel *kernel) {
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        bool pair = params[id].values.pair && spmv_param_of(kernel, (spmv_param_id)(id + 1));
        if (p) list_param(p, id, pair);
    }
}

static void list_library(const spmv_kernel *kernel) {
    spmv_choice choice = {{0}};
    char library[64] = "";
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        if (p) choice.value[id] = p->default_value;
    }
    if (kernel->library) kernel->library(&choice, library, sizeof library);
    if (!*library) return;
    printf("        library: ");
    put(17, 17, library);
}

/* The short name stands in brackets behind the kernel's. */
static void list_kernel(const spmv_kernel *kernel) {
    enum { HEAD = 29 };
    const char *alias = kernel->alias;
    char name[64];
    snprintf(name, sizeof name, "%s%s%s%s", kernel->name, alias ? " (" : "", alias ? alias : "",
             alias ? ")" : "");
    printf("  %-25s  ", name);
    put(HEAD, HEAD, kernel->summary);
    if (!kernel->absent) return;
    char absent[256];
    snprintf(absent, sizeof absent, "(not built in: %s)", kernel->absent);
    printf("%*s", HEAD, "");
    put(HEAD, HEAD, absent);
}

/* Their names alone are known, and stand further in than those of kernels that can be used. */
static void list_absent(const spmv_backend *backend) {
    char names[2048] = "";
    size_t n = 0;
    for (int k = 0; k < backend->nkernels && n < sizeof names; k++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", k ? " " : "", backend->names[k]);
    printf("    ");
    put(4, 4, names);
}

typedef struct selection { /* of kernels, by backend in the order of spmv_backends */
    bool has[SPMV_MOST_BACKENDS][SPMV_MOST_KERNELS], automatic[SPMV_MOST_BACKENDS];
    bool everything; /* the names of backends that are not built in, too */
} selection;

static int place_of(const spmv_backend *backend) {
    int b = 0;
    while (spmv_backends[b] != backend) b++;
    return b;
}

/* Adds what a word of -k names. Unlike in a run, "everything" and "peers" are also those whose
 * library is not built in. */
static spmv_status select_word(spmv_ctx *ctx, const char *word, selection *out) {
    const bool everything = strcasecmp(word, "everything") == 0,
               peers = strcasecmp(word, "peers") == 0;
    spmv_kernel_id found[SPMV_ALL_KERNELS];
    int n = 0;
    out->everything |= everything;
    if (!everything && !peers) TRY(spmv_kernel_find(ctx, word, found, SPMV_ALL_KERNELS, &n));
    for (int k = 0; k < n; k++)
        if (found[k].index == SPMV_AUTO)
            out->automatic[place_of(found[k].backend)] = true;
        else
            out->has[place_of(found[k].backend)][found[k].index] = true;
    for (int b = 0; spmv_backends[b]; b++)
        for (int k = 0; spmv_backends[b]->kernels && k < spmv_backends[b]->nkernels; k++)
            out->has[b][k] |=
                everything || (peers && spmv_backends[b]->kernels[k][0]->traits & SPMV_PEER);
    return SPMV_OK;
}

/* Finds the kernels of -k; without it "all" and "auto", as JSON everything. */
static int select_kernels(const options *o, const spmv_backend *backend, selection *out) {
    const spmv_ctx_opts opts = {.size = sizeof opts, .backend = backend->name};
    const char *usual = strcmp(o->format, "json") == 0 ? "everything" : "all";
    char *words = strdup(o->kernels ? o->kernels : usual), *rest = words;
    spmv_ctx *ctx = NULL;
    spmv_status status = words ? spmv_ctx_create_lazily(&opts, &ctx) : SPMV_E_NOMEM;
    int code = status == SPMV_OK ? 0 : complain(status, NULL);
    *out = (selection){.everything = false};
    for (char *word; !code && (word = strsep(&rest, ","));) {
        status = select_word(ctx, word, out);
        if (status != SPMV_OK) code = complain(status, spmv_ctx_error(ctx));
    }
    for (int b = 0; spmv_backends[b]; b++)
        out->automatic[b] |= spmv_backends[b]->kernels && (!o->kernels || out->everything);
    spmv_ctx_free(ctx);
    free(words);
    return code;
}

static void list_backend(const options *o, const spmv_backend *backend, const char *kind,
                         const selection *s) {
    const int b = place_of(backend);
    bool any = s->automatic[b];
    for (int k = 0; k < backend->nkernels; k++) any |= s->has[b][k];
    if (!any) return;
    printf("%s%s\n", backend->name, kind);
    if (s->automatic[b]) list_kernel(&spmv_auto_kernel);
    for (int k = 0; k < backend->nkernels; k++) {
        const spmv_kernel *kernel = backend->kernels[k][0];
        if (!s->has[b][k]) continue;
        list_kernel(kernel);
        if (o->verbose) list_library(kernel);
        if (o->verbose) list_params(kernel);
    }
}

static int list_kernels(const options *o, const spmv_backend *default_backend) {
    selection s;
    const int code = select_kernels(o, default_backend, &s);
    for (const spmv_backend *const *b = spmv_backends; !code && *b; b++) {
        const bool is_here = (*b)->kernels, is_named = !o->kernels || s.everything;
        if (is_here) list_backend(o, *b, *b == default_backend ? " (default)" : "", &s);
        if (!is_here && is_named) printf("%s (not built in: %s)\n", (*b)->name, (*b)->hint);
        if (!is_here && s.everything) list_absent(*b);
    }
    if (!code && !o->kernels && !o->quiet)
        put(0, 2,
            "These can be the fastest, or have a paper's short name; -k everything lists all, "
            "-k papers, -k peers or -k FORMAT those.");
    return code;
}

static void list_matrices(void) {
    int count = 0;
    const spmv_generator *g = spmv_generator_list(&count);
    enum { HEAD = 15 };
    put(0, 0,
        "gen:NAME:ARGS generates a matrix; --seed and --values=random|symmetric|few:K|pattern "
        "apply to all");
    for (int k = 0; k < count; k++) {
        printf("  %-12s ", g[k].name);
        put(HEAD, HEAD, g[k].args);
        printf("%*s", HEAD, "");
        put(HEAD, HEAD, g[k].summary);
    }
}

static void list_twins(void) {
    const spmv_twin *t;
    put(0, 0,
        "gen:twin:NAME is generated with the rows, nonzeros and sigma that a paper reports of "
        "NAME (-: it reports none, and rows are as equal as possible). Values, columns and the "
        "order of rows are not those of NAME. The last column: the paper and the row of its "
        "table.");
    printf("  %-18s %8s %8s %9s %6s %8s  %s\n", "name", "rows", "columns", "nonzeros", "mu",
           "sigma", "paper, row");
    for (int k = 0; (t = spmv_twin_at(k)); k++) {
        char sigma[32] = "-";
        if (t->sigma >= 0) snprintf(sigma, sizeof sigma, "%.4g", t->sigma);
        printf("  %-18s %8lld %8lld %9lld %6.1f %8s  %s\n", t->name, (long long)t->rows,
               (long long)t->cols, (long long)t->nnz, (double)t->nnz / (double)t->rows, sigma,
               t->source);
    }
}

static void list_format(const spmv_format *format) {
    enum { HEAD = 18 };
    printf("  %-15s ", format->name);
    put(HEAD, HEAD, format->summary);
}

static void list_formats(void) {
    for (int f = 0; f < spmv_format_count(); f++) list_format(spmv_format_at(f, 0));
}

/* ---- as JSON -------------------------------------------------------------------------------- */

typedef struct listed { /* a kernel, format, generator or twin */
    text backend, name, alias, format, summary, not_built_in, arguments, paper;
    truth repeats, of_paper, peer;
    whole rows, cols, nnz;
    number sigma;
    pairs parameters; /* with their values and meanings, as the terminal shows them */
} listed;
#define OF(type, member, key) \
    { TYPE_##type, offsetof(listed, member), key, "", "" }
static const field of_kernel[] = {
    OF(text, backend, "backend"),
    OF(text, name, "name"),
    OF(text, alias, "alias"),
    OF(text, format, "format"),
    OF(text, summary, "summary"),
    OF(truth, repeats, "repeats"),
    OF(truth, of_paper, "paper"),
    OF(truth, peer, "other_library"),
    OF(text, not_built_in, "not_built_in"),
    OF(pairs, parameters, "parameters"),
};
static const field of_format[] = {OF(text, name, "name"), OF(text, summary, "summary")};
static const field of_generator[] = {OF(text, name, "name"), OF(text, arguments, "arguments"),
                                     OF(text, summary, "summary")};
static const field of_twin[] = {OF(text, name, "name"),     OF(whole, rows, "rows"),
                                OF(whole, cols, "cols"),    OF(whole, nnz, "nnz"),
                                OF(number, sigma, "sigma"), OF(text, paper, "paper")};
#undef OF
#define ALL_OF(table) ((fields){table, sizeof(table) / sizeof *(table)})

static int put_kernel(const spmv_backend *backend, const spmv_kernel *kernel, int k) {
    static char values[MOST_PAIRS][512];
    listed l = {.backend = backend->name,
                .name = kernel->name,
                .alias = kernel->alias,
                .format = kernel->format,
                .summary = kernel->summary,
                .not_built_in = kernel->absent,
                .repeats = (kernel->traits & SPMV_DETERMINISTIC) != 0,
                .of_paper = kernel->alias != NULL || (kernel->traits & SPMV_PAPER) != 0,
                .peer = (kernel->traits & SPMV_PEER) != 0};
    for (int id = 0; id < SPMV_NPARAMS && l.parameters.count < MOST_PAIRS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        FILE *out = p ? fmemopen(values[l.parameters.count], sizeof *values, "w") : NULL;
        if (!out) continue;
        list_values(out, params[id].name, p);
        fprintf(out, ": %s", params[id].meaning);
        fclose(out);
        l.parameters.name[l.parameters.count] = params[id].name;
        l.parameters.text[l.parameters.count] = values[l.parameters.count];
        l.parameters.count++;
    }
    return json_item(stdout, ALL_OF(of_kernel), &l, k);
}

static int put_kernels(const options *o, const spmv_backend *default_backend) {
    selection s;
    int code = select_kernels(o, default_backend, &s), n = 0;
    for (int b = 0; spmv_backends[b]; b++)
        for (int k = 0; k < spmv_backends[b]->nkernels && !code; k++)
            if (s.has[b][k])
                code = put_kernel(spmv_backends[b], spmv_backends[b]->kernels[k][0], n++);
    json_end(stdout, n);
    return code;
}

static int put_formats(const options *o, const spmv_backend *default_backend) {
    (void)o, (void)default_backend;
    int code = 0, n = 0;
    for (; n < spmv_format_count() && !code; n++) {
        const spmv_format *f = spmv_format_at(n, 0);
        code = json_item(stdout, ALL_OF(of_format),
                         &(listed){.name = f->name, .summary = f->summary}, n);
    }
    json_end(stdout, n);
    return code;
}

static int put_generators(const options *o, const spmv_backend *default_backend) {
    (void)o, (void)default_backend;
    int code = 0, n = 0, count = 0;
    const spmv_generator *g = spmv_generator_list(&count);
    for (; n < count && !code; n++)
        code = json_item(
            stdout, ALL_OF(of_generator),
            &(listed){.name = g[n].name, .arguments = g[n].args, .summary = g[n].summary}, n);
    json_end(stdout, n);
    return code;
}

static int put_twins(const options *o, const spmv_backend *default_backend) {
    (void)o, (void)default_backend;
    int code = 0, n = 0;
    const spmv_twin *t;
    for (; !code && (t = spmv_twin_at(n)); n++)
        code = json_item(stdout, ALL_OF(of_twin),
                         &(listed){.name = t->name,
                                   .rows = t->rows,
                                   .cols = t->cols,
                                   .nnz = t->nnz,
                                   .sigma = t->sigma >= 0 ? t->sigma : NAN,
                                   .paper = t->source},
                         n);
    json_end(stdout, n);
    return code;
}

/* An array for a topic; without one an object of three. */
static int list_as_json(const options *o, const spmv_backend *backend, const char *topic) {
    static const struct {
        const char *topic;
        int (*put)(const options *o, const spmv_backend *default_backend);
    } known[] = {{"kernels", put_kernels},
                 {"formats", put_formats},
                 {"matrices", put_generators},
                 {"twins", put_twins}};
    enum { WITHOUT_TOPIC = 3 };
    int code = jsonl_print(NULL, ALL_OF(of_format), &(listed){.name = ""});
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (topic && !code && strcmp(topic, known[k].topic) == 0) return known[k].put(o, backend);
    if (topic || code) return code ? code : -1;
    for (int k = 0; k < WITHOUT_TOPIC && !code; k++) {
        printf("%s\"%s\":", k ? "," : "{", known[k].topic);
        code = known[k].put(o, backend);
    }
    printf("}\n");
    return code;
}

int cmd_list(const options *o, const spmv_backend *backend) {
    const char *topic = o->topic ? o->topic : o->kernels ? "kernels" : NULL;
    bool all = !topic, known = all;
    int code = 0;
    if (strcmp(o->format, "json") == 0) {
        code = list_as_json(o, backend, topic);
        if (code >= 0) return code;
    }
    if (all || strcmp(topic, "kernels") == 0) known = true, code = list_kernels(o, backend);
    if (all) printf("\n");
    if (all || strcmp(topic, "formats") == 0) known = true, list_formats();
    if (all) printf("\n");
    if (all || strcmp(topic, "matrices") == 0) known = true, list_matrices();
    if (!all && strcmp(topic, "twins") == 0) known = true, list_twins();
    if (known) return code;
    say("spmv: list: unknown topic '%s'; the topics are kernels, formats, matrices, twins\n",
        topic);
    return EXIT_USAGE;
}
