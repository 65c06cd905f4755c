/* cmd_info.c: spmv info: facts about matrices, and what every format would take at its default
 * parameters. */
#include "session.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

int cmd_info(const options *o, const spmv_backend *backend);

static spmv_choice defaults_of(const spmv_format *format) {
    spmv_choice c = {{0}};
    for (const spmv_param *p = format->params; p->id != SPMV_NPARAMS; p++)
        c.value[p->id] = p->fallback;
    return c;
}

static void print_value(const field *f, const void *of) {
    const void *at = (const char *)of + f->offset;
    char value[64] = "-";
    if (f->type == TYPE_pairs) return; /* the table of formats */
    if (f->type == TYPE_whole && *(const whole *)at != INT64_MIN)
        snprintf(value, sizeof value, "%" PRId64, *(const whole *)at);
    if (f->type == TYPE_number && isfinite(*(const number *)at))
        snprintf(value, sizeof value, "%.6g", *(const number *)at);
    const char *word = f->type == TYPE_text ? *(const text *)at : value;
    printf("  %-28s %-20s %s\n", f->key, word ? word : "-", f->help);
}

/* What a format takes is forecast; its padding is counted by building it, if it fits the budget. */
static void find_formats(spmv_ctx *ctx, const spmv_csr_view *A, size_t budget, matrix_facts *out) {
    pairs *bytes = &out->format_bytes, *slots = &out->format_slots;
    for (int f = 0; f < spmv_format_count() && f < MOST_PAIRS; f++) {
        const spmv_format *format =
            spmv_format_at(f, A->nnz > INT32_MAX / 2 ? SPMV_F64_O64 : SPMV_F64_O32);
        spmv_choice c = defaults_of(format);
        spmv_store *store = NULL;
        size_t forecast = format->estimate(A, &c);
        spmv_status status = forecast > budget ? SPMV_E_TOOBIG : SPMV_OK;
        if (status == SPMV_OK) status = format->build(ctx, A, &c, spmv_ctx_threads(ctx), &store);
        bytes->name[f] = slots->name[f] = format->name;
        bytes->number[f] = (int64_t)(status == SPMV_OK ? spmv_store_bytes(store) : forecast);
        if (status == SPMV_OK)
            slots->number[f] = store->slots;
        else
            slots->text[f] = spmv_strerror(status);
        spmv_store_free(store);
        bytes->count = slots->count = f + 1;
    }
}

static void print_formats(const matrix_facts *facts) {
    printf("  %-10s %12s %10s %9s\n", "format", "MiB (f64)", "bytes/nnz", "padding");
    for (int f = 0; f < facts->format_bytes.count; f++) {
        double nnz = (double)facts->nnz, bytes = (double)facts->format_bytes.number[f];
        const char *reason = facts->format_slots.text[f];
        char share[32] = "-", padding[32] = "-";
        if (facts->nnz) snprintf(share, sizeof share, "%.2f", bytes / nnz);
        if (facts->nnz && !reason)
            snprintf(padding, sizeof padding, "%.1f%%",
                     100 * ((double)facts->format_slots.number[f] / nnz - 1));
        printf("  %-10s %12.2f %10s %9s%s%s\n", facts->format_bytes.name[f], bytes / 0x1p20, share,
               padding, reason ? "  " : "", reason ? reason : "");
    }
}

static int print_facts(const options *o, const matrix_facts *facts) {
    fields table = matrix_facts_fields();
    if (strcmp(o->format, "jsonl") == 0) {
        char *line = NULL;
        spmv_status status = jsonl_format(table, facts, &line);
        if (status != SPMV_OK)
            return complain(status,
                            "--format=jsonl is not built in: install libjansson-dev (Debian) or "
                            "jansson-devel (Fedora), then make again");
        fputs(line, stdout);
        free(line);
        return 0;
    }
    if (strcmp(o->format, "csv") == 0) {
        csv_write(stdout, table, facts, true);
        return 0;
    }
    for (int k = 0; k < table.count; k++) print_value(&table.field[k], facts);
    print_formats(facts);
    return 0;
}

static int inform(spmv_ctx *ctx, const options *o, const char *source) {
    spmv_mat *mat = NULL;
    spmv_load_opts opts = {.size = sizeof opts, .seed = o->seed, .values = o->values};
    spmv_status status = spmv_mat_load(ctx, source, &opts, &mat);
    if (status != SPMV_OK) return complain(status, spmv_ctx_error(ctx));
    spmv_stats stats;
    spmv_csr_view A;
    matrix_facts facts;
    char hash[20], name[256];
    spmv_mat_stats(mat, &stats);
    spmv_mat_rows(mat, &A);
    matrix_name(source, o->values, name, sizeof name);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)stats.hash);
    int code = matrix_facts_of(&A, &stats, &facts)
                   ? 0
                   : complain(SPMV_E_NOMEM, "out of memory for the facts");
    size_t budget = o->max_mem ? o->max_mem : (size_t)(0.8 * (double)spmv_omp.free_bytes(NULL));
    if (!code) find_formats(ctx, &A, budget, &facts);
    facts.name = name;
    facts.source = base_name(source);
    facts.hash = hash;
    facts.field = field_name(stats.field);
    facts.symmetry = symmetry_name(stats.symmetry);
    if (!code) code = print_facts(o, &facts);
    spmv_mat_free(mat);
    return code;
}

int cmd_info(const options *o, const spmv_backend *backend) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = o->threads};
    spmv_ctx *ctx = NULL;
    int code = 0;
    (void)backend; /* facts do not depend on it */
    if (o->topic || o->nmatrices == 0) {
        say("spmv: info: name matrices with -m, such as -m thermal2.mtx or -m gen:mesh:100000\n");
        return EXIT_USAGE;
    }
    if (spmv_ctx_create(&opts, &ctx) != SPMV_OK) return complain(SPMV_E_NOMEM, NULL);
    for (int k = 0; k < o->nmatrices && !code; k++) code = inform(ctx, o, o->matrices[k]);
    spmv_ctx_free(ctx);
    return code;
}
