/* cmd_list.c: spmv list: prints the tables of kernels, formats, generators and twins. */
#include "option_values.h"
#include <stdlib.h>

int cmd_list(const options *o, const spmv_backend *backend);

static const char *const param_name[] = {
#define PARAM(name, option, help) #name,
#include "params.def"
#undef PARAM
};
static const char *const param_help[] = {
#define PARAM(name, option, help) help,
#include "params.def"
#undef PARAM
};

static void list_value(const char *name, int64_t value) {
    const char *word = param_typed(name, value);
    if (word)
        printf("%s", word);
    else
        printf("%lld", (long long)value);
}

/* Words where the option takes words: for all values, or for the least. */
static void list_values(const char *name, const spmv_param *p) {
    bool all = param_typed(name, p->max) != NULL, least = param_typed(name, p->min) != NULL;
    if (least && !all) printf("%s|", param_typed(name, p->min));
    for (int64_t v = p->min; all && v <= p->max; v++)
        printf("%s%s", v == p->min ? "" : "|", param_typed(name, v));
    if (!all) printf("%lld..%lld", (long long)p->min + least, (long long)p->max);
    printf(", default ");
    list_value(name, p->default_value);
}

/* Two parameters of one option are typed AxB. */
static bool is_second(int id) {
    return id > 0 && strcmp(option_of((spmv_param_id)id), option_of((spmv_param_id)(id - 1))) == 0;
}

static void list_params(const spmv_kernel *kernel) {
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
        bool pair = id + 1 < SPMV_NPARAMS && is_second(id + 1) &&
                    spmv_param_of(kernel, (spmv_param_id)(id + 1));
        if (!p) continue;
        if (is_second(id))
            printf("%20s x ", "");
        else
            printf("        --%-9s %s", option_of((spmv_param_id)id), pair ? "AxB: " : "");
        list_values(param_name[id], p);
        printf(": %s\n", param_help[id]);
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
    if (*library) printf("        library: %s\n", library);
}

static void list_kernels(const options *o, const spmv_backend *default_backend) {
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        printf("%s%s\n", (*b)->name,
               !(*b)->kernels          ? " (not built in: make cuda)"
               : *b == default_backend ? " (default)"
                                       : "");
        printf("  %-22s %-6s %s\n", spmv_auto_kernel.name, "", spmv_auto_kernel.summary);
        for (int k = 0; k < (*b)->nkernels; k++) {
            const spmv_kernel *kernel = (*b)->kernels ? (*b)->kernels[k][0] : NULL;
            printf("  %-22s %-6s %s\n", (*b)->names[k],
                   kernel && kernel->alias ? kernel->alias : "", kernel ? kernel->summary : "");
            if (kernel && kernel->absent)
                printf("  %-29s (not built in: %s)\n", "", kernel->absent);
            if (kernel && o->verbose) list_library(kernel);
            if (kernel && o->verbose) list_params(kernel);
        }
    }
}

static void list_matrices(void) {
    int count = 0;
    const spmv_generator *g = spmv_generator_list(&count);
    printf("gen:NAME:ARGS generates a matrix; --seed and --values=random|symmetric|few:K|pattern "
           "apply "
           "to all\n");
    for (int k = 0; k < count; k++)
        printf("  %-12s %-22s %s\n", g[k].name, g[k].args, g[k].summary);
}

static void list_twins(void) {
    const spmv_twin *t;
    printf("gen:twin:NAME is generated with the rows, nonzeros and sigma that a paper reports of "
           "NAME (-: "
           "it reports none,\nand rows are as equal as possible). Values, columns and the order of "
           "rows are not those of NAME.\n");
    printf("  %-22s %9s %9s %10s %8s %8s  %s\n", "name", "rows", "columns", "nonzeros", "mu",
           "sigma", "paper and row of its table");
    for (int k = 0; (t = spmv_twin_at(k)); k++) {
        char sigma[32] = "-";
        if (t->sigma >= 0) snprintf(sigma, sizeof sigma, "%.4g", t->sigma);
        printf("  %-22s %9lld %9lld %10lld %8.1f %8s  %s\n", t->name, (long long)t->rows,
               (long long)t->cols, (long long)t->nnz, (double)t->nnz / (double)t->rows, sigma,
               t->source);
    }
}

static void list_formats(void) {
    for (int f = 0; f < spmv_format_count(); f++)
        printf("  %-15s %s\n", spmv_format_at(f, 0)->name, spmv_format_at(f, 0)->summary);
}

int cmd_list(const options *o, const spmv_backend *backend) {
    const char *topic = o->topic;
    bool all = !topic, known = all;
    if (all || strcmp(topic, "kernels") == 0) known = true, list_kernels(o, backend);
    if (all) printf("\n");
    if (all || strcmp(topic, "formats") == 0) known = true, list_formats();
    if (all) printf("\n");
    if (all || strcmp(topic, "matrices") == 0) known = true, list_matrices();
    if (!all && strcmp(topic, "twins") == 0) known = true, list_twins();
    if (known) return 0;
    say("spmv: list: unknown topic '%s'; the topics are kernels, matrices, formats, twins\n",
        topic);
    return EXIT_USAGE;
}
