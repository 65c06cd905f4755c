/* export.c: the lines that make the plan which auto chose, in C, Python or JSON, for programs that
 * are not to choose again. */
#include "app/options/option_values.h"
#include "app/record/record.h"
#include "export.h"
#include <stdio.h>
#include <string.h>

/* Says whether a number of the record is a setting: what the kernel chooses itself is negative. */
static bool is_setting(const record *r, int k) {
    return r->config_params.number[k] >= 0 && !r->config_params.text[k];
}

static int count_settings(const record *r) {
    int n = 0;
    for (int k = 0; k < r->config_params.count; k++) n += is_setting(r, k);
    return n;
}

/* Writes {"sigma", 1024}, {"isa", 3}, as before, between and after say. */
static void put_settings(const record *r, const char *before, const char *between,
                         const char *after, FILE *file) {
    int n = 0;
    for (int k = 0; k < r->config_params.count; k++)
        if (is_setting(r, k))
            fprintf(file, "%s%s\"%s\"%s%lld%s", n++ ? ", " : "", before, r->config_params.name[k],
                    between, (long long)r->config_params.number[k], after);
}

static void put_c(const record *r, FILE *file) {
    static const char *const caches[] = {"SPMV_WARM", "SPMV_COLD", "SPMV_STEADY"};
    const bool narrow = strcmp(r->config_precision, "f32") == 0, host = r->gpu_name == NULL;
    const int n = count_settings(r);
    int cache = 0;
    while (cache < 2 && strcmp(cache_names[cache], r->config_cache) != 0) cache++;
    fprintf(file, "/* chosen by auto for %s; needs spmv.h */\n", r->matrix_name);
    if (n) {
        fprintf(file, "static const spmv_setting settings[] = {");
        put_settings(r, "{", ", ", "}", file);
        fprintf(file, "};\n");
    }
    fprintf(file,
            "spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);\n"
            "opts.kernel = \"%s:%s\";\n"
            "opts.precision = %s;\nopts.cache = %s;\n",
            r->config_backend, r->config_kernel, narrow ? "SPMV_F32" : "SPMV_F64", caches[cache]);
    if (host) fprintf(file, "opts.threads = %lld;\n", (long long)r->config_threads);
    if (n) fprintf(file, "opts.settings = settings;\nopts.nsettings = %d;\n", n);
    if (strcmp(r->config_op, "as-is") != 0) fprintf(file, "opts.op = SPMV_TRANSPOSE;\n");
    if (r->config_vectors > 1)
        fprintf(file, "opts.vectors = %lld;\nopts.layout = %s;\n", (long long)r->config_vectors,
                strcmp(r->config_layout, "rows") == 0 ? "SPMV_ROWS" : "SPMV_COLUMNS");
    fprintf(file, "spmv_status status = spmv_plan_create(mat, &opts, &plan);\n");
}

static void put_python(const record *r, FILE *file) {
    const bool turned = strcmp(r->config_op, "as-is") != 0;
    fprintf(file, "# chosen by auto for %s; A is a spmv.matrix of %s\nA%s.plan(kernel=\"%s:%s\"",
            r->matrix_name, r->config_precision, turned ? ".T" : "", r->config_backend,
            r->config_kernel);
    if (count_settings(r)) {
        fprintf(file, ", settings={");
        put_settings(r, "", ": ", "", file);
        fprintf(file, "}");
    }
    if (!r->gpu_name) fprintf(file, ", threads=%lld", (long long)r->config_threads);
    if (r->config_vectors > 1)
        fprintf(file, ", vectors=%lld, order=\"%s\"", (long long)r->config_vectors,
                strcmp(r->config_layout, "rows") == 0 ? "C" : "F");
    fprintf(file, ")\n");
}

static void put_json(const record *r, FILE *file) {
    fprintf(file, "{\"kernel\": \"%s:%s\", \"precision\": \"%s\", \"op\": \"%s\", ",
            r->config_backend, r->config_kernel, r->config_precision, r->config_op);
    fprintf(file, "\"cache\": \"%s\", \"vectors\": %lld, \"layout\": \"%s\", ", r->config_cache,
            (long long)r->config_vectors, r->config_layout ? r->config_layout : "columns");
    if (!r->gpu_name) fprintf(file, "\"threads\": %lld, ", (long long)r->config_threads);
    fprintf(file, "\"settings\": {");
    put_settings(r, "", ": ", "", file);
    fprintf(file, "}}\n");
}

void export_choice(const char *language, const record *r, FILE *file) {
    if (strcmp(language, "c") == 0)
        put_c(r, file);
    else if (strcmp(language, "python") == 0)
        put_python(r, file);
    else
        put_json(r, file);
}
