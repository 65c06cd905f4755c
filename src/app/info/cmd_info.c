/* cmd_info.c: spmv info: facts about matrices, and what every format would take, at its default
 * parameters or those given. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/record/record.h"
#include "app/record/write_csv.h"
#include "app/record/write_jsonl.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "facts.h"
#include "info_ranks.h"
#include "spmv_host.h"
#include "thumbnail.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

int cmd_info(const options *o, const spmv_backend *backend);

enum { HELP = 46, INDENT = 4 };            /* the columns where texts begin: of facts, of reasons */
enum { REASON = 256, WIDEST_STEP = 4096 }; /* the step: as of plan.c, where 64-bit offsets begin */

static const spmv_param *find_param(const spmv_format *format, spmv_param_id id) {
    for (const spmv_param *p = spmv_param_list(format->params); p->id != SPMV_NPARAMS; p++)
        if (p->id == id) return p;
    return NULL;
}

/* Finds what is given of the format's parameters, the others at their defaults; false, and why in
 * reason, if the format does not take it. */
static bool choose(const options *o, const spmv_format *format, spmv_choice *out, char *reason) {
    *out = (spmv_choice){{0}};
    for (const spmv_param *p = spmv_param_list(format->params); p->id != SPMV_NPARAMS; p++) {
        const list *given = &o->param[p->id];
        out->value[p->id] = given->count ? given->value[0] : p->default_value;
        if (given->count && !spmv_param_takes(p, given->value[0])) {
            const char *word = param_typed(params[p->id].name, given->value[0]);
            char digits[24];
            snprintf(digits, sizeof digits, "%lld", (long long)given->value[0]);
            snprintf(reason, REASON, "not with --%s=%s", params[p->id].option,
                     word ? word : digits);
            return false;
        }
    }
    return true;
}

/* A value that no format takes, or several, are no facts of a matrix. */
static int check_params(const options *o) {
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        bool used = o->param[id].count == 0;
        for (int f = 0; f < spmv_format_count() && !used; f++) {
            const spmv_param *p = find_param(spmv_format_at(f, 0), (spmv_param_id)id);
            used = p && spmv_param_takes(p, o->param[id].value[0]);
        }
        if (!used) {
            say("spmv: info: --%s applies to no format\n", params[id].option);
            return EXIT_USAGE;
        }
        if (o->param[id].count > 1) {
            say("spmv: info: --%s takes one value here\n", params[id].option);
            return EXIT_USAGE;
        }
    }
    const char *several = o->precision.count > 1 ? "precision"
                          : o->vectors.count > 1 ? "vectors"
                          : o->layout.count > 1  ? "layout"
                                                 : NULL;
    if (several) say("spmv: info: --%s takes one value here\n", several);
    return several ? EXIT_USAGE : 0;
}

static bool is_f32(const options *o) {
    return o->precision.count && o->precision.value[0] == SPMV_F32;
}

static void print_value(const field *f, const void *of) {
    const void *at = (const char *)of + f->offset;
    char value[64] = "-";
    if (f->type == TYPE_pairs) return;                        /* the table of formats */
    if (f->offset == offsetof(matrix_facts, pattern)) return; /* a picture */
    if (f->type == TYPE_whole && *(const whole *)at != INT64_MIN)
        snprintf(value, sizeof value, "%" PRId64, *(const whole *)at);
    if (f->type == TYPE_number && isfinite(*(const number *)at))
        snprintf(value, sizeof value, "%.6g", *(const number *)at);
    const char *word = f->type == TYPE_text ? *(const text *)at : value;
    int head = printf("  %-26s %-16s ", f->key, word ? word : "-");
    print_wrapped(stdout, page_width(stdout, PAGE_WIDTH), head, HELP, f->help);
}

/* Says whether it is what a run refuses, too: much, and many times what the entries take. */
static bool is_padding(const spmv_csr_view *A, size_t bytes) {
    enum { MOST_TIMES = 4, NEGLIGIBLE = 64000000, ENTRY = sizeof(double) + sizeof(idx) };
    return bytes > NEGLIGIBLE && bytes / MOST_TIMES > (size_t)A->nnz * ENTRY + (size_t)A->rows * 4;
}

/* Bytes and slots of the format, or why there are none in reason. */
static void find_format(spmv_ctx *ctx, const options *o, const spmv_csr_view *A,
                        const spmv_format *format, size_t budget, int64_t *bytes, int64_t *slots,
                        char *reason) {
    spmv_choice c;
    spmv_store *store = NULL;
    *bytes = *slots = 0;
    if (!choose(o, format, &c, reason)) return;
    size_t forecast = format->estimate(A, &c);
    if (forecast > INT64_MAX) {
        snprintf(reason, REASON, "more bytes than can be counted");
        return;
    }
    *bytes = (int64_t)forecast;
    if (!o->max_mem && is_padding(A, forecast)) {
        snprintf(reason, REASON, "mostly padding, so not built (--max-mem builds it)");
        return;
    }
    if (forecast > budget) {
        snprintf(reason, REASON, "over the memory limit of %.4g MB (--max-mem)",
                 1e-6 * (double)budget);
        return;
    }
    if (format->build(ctx, A, &c, spmv_ctx_threads(ctx), &store) == SPMV_OK) {
        *bytes = (int64_t)spmv_store_bytes(store);
        *slots = store->slots;
    } else {
        *bytes = 0;
        snprintf(reason, REASON, "%s", in_options(spmv_ctx_error(ctx)));
    }
    spmv_store_free(store);
}

/* Marks the format of that name and its variants: "csr" is csr and csr_columns. Returns false if
 * there is none. */
static bool want_format(const char *name, bool wanted[MOST_PAIRS]) {
    const size_t n = strlen(name);
    bool any = false;
    for (int f = 0; f < spmv_format_count() && f < MOST_PAIRS; f++) {
        const char *format = spmv_format_at(f, 0)->name;
        const bool is_one =
            n && strncasecmp(format, name, n) == 0 && (!format[n] || format[n] == '_');
        wanted[f] |= is_one;
        any |= is_one;
    }
    return any;
}

/* Marks the formats that the kernels of a name read; all formats for auto, which may choose any. */
static spmv_status want_kernels(spmv_ctx *ctx, const char *name, bool wanted[MOST_PAIRS]) {
    spmv_kernel_id found[SPMV_ALL_KERNELS];
    int n = 0;
    TRY(spmv_kernel_find(ctx, name, found, SPMV_ALL_KERNELS, &n));
    for (int f = 0; f < spmv_format_count() && f < MOST_PAIRS; f++)
        for (int k = 0; k < n; k++)
            wanted[f] |= found[k].index == SPMV_AUTO ||
                         (found[k].backend->kernels &&
                          strcmp(descriptor(found[k])->format, spmv_format_at(f, 0)->name) == 0);
    return SPMV_OK;
}

/* The formats of -k, which names formats or kernels; all without -k. */
static spmv_status choose_formats(spmv_ctx *ctx, const options *o, bool wanted[MOST_PAIRS]) {
    spmv_status status = SPMV_OK;
    char *names = strdup(o->kernels ? o->kernels : "auto"), *rest = names;
    if (!names) return SPMV_E_NOMEM;
    for (char *name; status == SPMV_OK && (name = strsep(&rest, ","));)
        if (!want_format(name, wanted)) status = want_kernels(ctx, name, wanted);
    free(names);
    return status;
}

/* What a format takes is forecast; its padding is counted by building it, if it fits the budget. */
static void find_formats(spmv_ctx *ctx, const options *o, const bool wanted[MOST_PAIRS],
                         const spmv_csr_view *A, char (*reason)[REASON], matrix_facts *out) {
    pairs *bytes = &out->format_bytes, *slots = &out->format_slots;
    size_t budget = o->max_mem ? o->max_mem : (size_t)(0.8 * (double)spmv_host_free_bytes());
    bool wide = A->nnz > INT32_MAX - WIDEST_STEP || o->offset_bits == 64;
    int variant =
        is_f32(o) ? (wide ? SPMV_F32_O64 : SPMV_F32_O32) : (wide ? SPMV_F64_O64 : SPMV_F64_O32);
    for (int id = 0, f = 0; id < spmv_format_count() && id < MOST_PAIRS; id++) {
        const spmv_format *format = spmv_format_at(id, variant);
        if (!wanted[id]) continue;
        reason[f][0] = 0;
        find_format(ctx, o, A, format, budget, &bytes->number[f], &slots->number[f], reason[f]);
        bytes->name[f] = slots->name[f] = format->name;
        if (reason[f][0]) slots->text[f] = reason[f];
        if (reason[f][0] && !bytes->number[f]) bytes->text[f] = reason[f];
        bytes->count = slots->count = ++f;
    }
}

/* Names the square blocks that take the fewest bytes, if those are not the usual ones; a size that
 * was given is kept. */
static void print_best_block(const options *o, const matrix_facts *facts) {
    enum { USUAL = 2, INDEX = 4 };
    const struct {
        int edge;
        double fill;
    } known[] = {{2, facts->fill_2}, {3, facts->fill_3}, {4, facts->fill_4}, {8, facts->fill_8}};
    const double width = is_f32(o) ? sizeof(float) : sizeof(double);
    double least = INFINITY;
    int best = 0;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const double cells = known[k].edge * known[k].edge;
        const double bytes = (double)facts->nnz / known[k].fill * (width + INDEX / cells);
        if (bytes < least) least = bytes, best = known[k].edge;
    }
    for (const spmv_param *p = spmv_param_list(spmv_format_named("bsr", 0)->params);
         p->id != SPMV_NPARAMS; p++)
        if (o->param[p->id].count) return;
    if (best == 0 || best == USUAL) return;
    printf("%*sof square blocks, %dx%d take the fewest bytes, about %.2f MB: --shape=%dx%d\n",
           INDENT, "", best, best, 1e-6 * least, best, best);
}

static void print_formats(const options *o, const matrix_facts *facts, const char *size) {
    printf("  %-15s %12s %10s %9s\n", "format", size, "bytes/nnz", "padding");
    for (int f = 0; f < facts->format_bytes.count; f++) {
        double nnz = (double)facts->nnz, bytes = (double)facts->format_bytes.number[f];
        const char *reason = facts->format_slots.text[f];
        char share[32] = "-", padding[32] = "-", size_MB[32] = "-";
        if (!facts->format_bytes.text[f]) snprintf(size_MB, sizeof size_MB, "%.2f", 1e-6 * bytes);
        if (facts->nnz && !facts->format_bytes.text[f])
            snprintf(share, sizeof share, "%.2f", bytes / nnz);
        if (facts->nnz && !reason)
            snprintf(padding, sizeof padding, "%.1f%%",
                     100 * ((double)facts->format_slots.number[f] / nnz - 1));
        printf("  %-15s %12s %10s %9s\n", facts->format_bytes.name[f], size_MB, share, padding);
        if (strcmp(facts->format_bytes.name[f], "bsr") == 0) print_best_block(o, facts);
        if (!reason) continue;
        printf("%*s", INDENT, "");
        print_wrapped(stdout, page_width(stdout, PAGE_WIDTH), INDENT, INDENT, reason);
    }
}

static int shown; /* matrices, of --format=json */

static int print_facts(const options *o, const matrix_facts *facts) {
    fields table = matrix_facts_fields();
    if (strcmp(o->format, "jsonl") == 0) return jsonl_print(stdout, table, facts);
    if (strcmp(o->format, "json") == 0) return json_item(stdout, table, facts, shown++);
    if (strcmp(o->format, "csv") == 0) {
        csv_write(stdout, table, facts, true);
        return 0;
    }
    for (int k = 0; k < table.count; k++) print_value(&table.field[k], facts);
    print_formats(o, facts, is_f32(o) ? "MB (f32)" : "MB (f64)");
    return 0;
}

/* Options that would have no effect, with --ranks or without it. */
static int check_ranks(const options *o) {
    static const char *const without[] = {"kernel", "cells", "max-mem", NULL}, *const with[] = {
                                                                                   "partition",
                                                                                   "network",
                                                                                   "probe", NULL};
    for (const char *const *name = o->ranks.count ? without : with; *name; name++)
        if (options_on_line(o, *name)) {
            say(o->ranks.count ? "spmv: info: --ranks prints no formats, and does not take --%s\n"
                               : "spmv: info: --%s is of --ranks\n",
                *name);
            return EXIT_USAGE;
        }
    return 0;
}

/* Reads the matrix; *stats: what is of the file. By the transpose, that is the matrix. */
static spmv_status load(spmv_ctx *ctx, const options *o, const char *source, spmv_mat **mat,
                        spmv_stats *stats) {
    spmv_mat *read = NULL;
    spmv_load_opts opts = {.size = sizeof opts, .seed = o->seed, .values = o->values};
    TRY(spmv_mat_load(ctx, source, &opts, &read));
    *mat = read;
    spmv_status status = spmv_mat_stats(read, stats);
    if (status != SPMV_OK || o->op != SPMV_TRANSPOSE) return status;
    status = transpose_of(ctx, read, mat);
    spmv_mat_free(read);
    spmv_stats turned = SPMV_OPTS(spmv_stats);
    if (status == SPMV_OK) status = spmv_mat_stats(*mat, &turned);
    turned.nnz_file = stats->nnz_file;
    turned.explicit_zeros = stats->explicit_zeros;
    turned.duplicates = stats->duplicates;
    turned.field = stats->field;
    turned.symmetry = stats->symmetry;
    *stats = turned;
    return status;
}

static void describe_product(const options *o, matrix_facts *facts) {
    const int64_t k = o->vectors.value[0], width = is_f32(o) ? sizeof(float) : sizeof(double);
    facts->op = o->op == SPMV_TRANSPOSE ? "transpose" : "as-is";
    facts->vectors = k;
    facts->layout = layout_names[o->layout.value[0] - SPMV_COLUMNS];
    facts->vector_bytes = k * width * (facts->rows + facts->cols);
    facts->flop = k * spmv_flop(facts->nnz);
}

/* Prints the variables of a file that holds several. */
static void print_holds(spmv_ctx *ctx, const char *source) {
    enum { LONGEST = 4000 };
    struct stat facts;
    char held[LONGEST], *rest = held;
    if (stat(source, &facts) != 0 || !S_ISREG(facts.st_mode)) return; /* a pipe is read once */
    if (spmv_file_list(ctx, source, held, sizeof held) != SPMV_OK || !strchr(held, '\n')) return;
    for (char *line; (line = strsep(&rest, "\n"));) printf("  holds %s\n", line);
}

static int inform(spmv_ctx *ctx, const options *o, const bool wanted[MOST_PAIRS],
                  const char *source) {
    spmv_mat *mat = NULL;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    matrix_facts facts;
    char hash[20], name[256], base[512];
    spmv_status status = load(ctx, o, source, &mat, &stats);
    if (status == SPMV_OK) status = spmv_mat_rows(mat, &A);
    if (status != SPMV_OK) {
        spmv_mat_free(mat);
        return complain(status, spmv_ctx_error(ctx));
    }
    say_note(spmv_ctx_note(ctx), o->quiet);
    matrix_name(source, o->values, name, sizeof name);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)stats.hash);
    if (o->ranks.count) {
        const int code = inform_ranks(ctx, o, &A, name, &shown);
        spmv_mat_free(mat);
        return code;
    }
    char reason[MOST_PAIRS][REASON];
    int code = 0;
    if (!matrix_facts_of(ctx, &A, &stats, &facts))
        code = complain(SPMV_E_NOMEM, "out of memory: some facts remain unknown");
    find_formats(ctx, o, wanted, &A, reason, &facts);
    facts.name = name;
    spell(base_name(source), base, sizeof base);
    facts.source = base;
    facts.hash = hash;
    facts.field = field_name(stats.field);
    facts.symmetry = symmetry_name(stats.symmetry);
    describe_product(o, &facts);
    char *pattern = o->cells ? pattern_of(&A, o->cells) : NULL;
    facts.pattern = pattern;
    if (strcmp(o->format, "table") == 0) print_holds(ctx, source);
    int printed = print_facts(o, &facts);
    free(pattern);
    if (!code) code = printed;
    spmv_mat_free(mat);
    return code;
}

int cmd_info(const options *o, const spmv_backend *backend) {
    /* Facts do not depend on the backend, but names of kernels do. */
    spmv_ctx_opts opts = {.size = sizeof opts,
                          .threads = most_threads(o),
                          .max_unpacked = o->max_unpacked,
                          .backend = o->backend ? o->backend : backend->name};
    spmv_ctx *ctx = NULL;
    bool wanted[MOST_PAIRS] = {false};
    if (o->topic || o->nmatrices == 0) {
        say("spmv: info: name matrices, such as 'spmv info thermal2.mtx gen:mesh:100000'\n");
        return EXIT_USAGE;
    }
    if (check_params(o) || check_ranks(o)) return EXIT_USAGE;
    if (spmv_ctx_create_lazily(&opts, &ctx) != SPMV_OK) return complain(SPMV_E_NOMEM, NULL);
    spmv_status status = choose_formats(ctx, o, wanted);
    int code = status == SPMV_OK ? 0 : complain(status, spmv_ctx_error(ctx));
    for (int k = 0; k < o->nmatrices && !code; k++) code = inform(ctx, o, wanted, o->matrices[k]);
    if (strcmp(o->format, "json") == 0 && (shown || !code)) json_end(stdout, shown);
    spmv_ctx_free(ctx);
    return code;
}
