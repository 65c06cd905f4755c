/* bench/onemkl.c: products of several vectors and with the transpose compared with oneMKL: make
 * bench-onemkl, or bench_onemkl [MATRIX...].
 *
 * auto and oneMKL expect 1,000 products. Both run in turns, one product each, for the transpose
 * also auto on the transpose as a separate matrix; the minimum of ROUNDS counts. A line has a
 * matrix, a form, k, both times and their ratio, with LOSS if the ratio is below 1. Then follow the
 * geometric means. Exits with 1 if a mean is below its target; with 69 without oneMKL, whose times
 * are then missing. */
#include "spmv_bench.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, ROUNDS = 15, CALLS = 1000, NO_PEER = 69 };

/* Chosen before anything was measured. Files are searched in FOLDERS. */
static const char *const usual[] = {"bcsstk25",
                                    "c-62",
                                    "cavity10",
                                    "delaunay_n14",
                                    "memplus",
                                    "mip_map10",
                                    "mip_rail507",
                                    "NotreDame_www",
                                    "rdist2",
                                    "roads_rome",
                                    "soc-Slashdot0902",
                                    "trilinos_nsjac",
                                    "wave",
                                    "xenon1",
                                    "gen:poisson3d:64",
                                    "gen:poisson2d:600",
                                    "gen:box27:40",
                                    "gen:fem3d:22",
                                    "gen:mesh:200000",
                                    "gen:road:300000",
                                    "gen:rmat:15",
                                    "gen:random:100000:16",
                                    "gen:powerlaw:200000:8",
                                    "gen:banded:20000:51"};
static const char *const folders[] = {"../shared/matrices", "shared/matrices"};

typedef struct form {
    const char *name;
    spmv_op op;
    spmv_layout layout;
    int k;
    double bar; /* target of the geometric mean */
    double sum;
    int n, losses;
} form;
static form forms[] = {
    {"rows", SPMV_AS_IS, SPMV_ROWS, 2, 1.3, 0, 0, 0},
    {"rows", SPMV_AS_IS, SPMV_ROWS, 4, 1.3, 0, 0, 0},
    {"rows", SPMV_AS_IS, SPMV_ROWS, 8, 1.3, 0, 0, 0},
    {"rows", SPMV_AS_IS, SPMV_ROWS, 16, 1.15, 0, 0, 0},
    {"rows", SPMV_AS_IS, SPMV_ROWS, 32, 1.15, 0, 0, 0},
    {"columns", SPMV_AS_IS, SPMV_COLUMNS, 2, 1.5, 0, 0, 0},
    {"columns", SPMV_AS_IS, SPMV_COLUMNS, 4, 2.5, 0, 0, 0},
    {"columns", SPMV_AS_IS, SPMV_COLUMNS, 8, 2.5, 0, 0, 0},
    {"columns", SPMV_AS_IS, SPMV_COLUMNS, 16, 2.5, 0, 0, 0},
    {"columns", SPMV_AS_IS, SPMV_COLUMNS, 32, 2.5, 0, 0, 0},
    {"transposed", SPMV_TRANSPOSE, SPMV_COLUMNS, 1, 1.4, 0, 0, 0},
};
/* time of auto on the transpose as a matrix, divided by the time of auto with the transpose */
static form as_matrix = {"as a matrix", SPMV_TRANSPOSE, SPMV_COLUMNS, 1, 1 / 1.05, 0, 0, 0};

static void fail(const spmv_ctx *ctx, const char *what) {
    fprintf(stderr, "%s: %s\n", what, spmv_ctx_error(ctx));
    exit(2);
}

static spmv_plan *plan_of(spmv_mat *mat, const form *f, spmv_op op, const char *kernel) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = kernel;
    opts.op = op;
    opts.layout = f->layout;
    opts.vectors = f->k;
    opts.expected_calls = CALLS;
    return spmv_plan_create(mat, &opts, &plan) == SPMV_OK ? plan : NULL;
}

static void time_in_turns(spmv_plan *const *plan, int k, const double *x, double *z,
                          double *seconds) {
    for (int p = 0; p < 3; p++) seconds[p] = 1e9;
    for (int round = -1; round < ROUNDS; round++)
        for (int p = 0; p < 3; p++) {
            const spmv_product one = {.plan = plan[p], .x = x, .y = z, .k = k};
            double s;
            if (!plan[p] || spmv_exec_timed(&one, 1, 1, 0, &s)) continue;
            if (round >= 0 && s < seconds[p]) seconds[p] = s;
        }
}

static void count(form *f, double ratio) {
    f->sum += log(ratio);
    f->n++;
    f->losses += ratio < 1;
}

static void run_form(spmv_mat *mat, spmv_mat *turned, const char *name, form *f, const double *x,
                     double *z) {
    spmv_plan *plan[3] = {plan_of(mat, f, f->op, "auto"), plan_of(mat, f, f->op, "mkl_csr"),
                          f->op == SPMV_TRANSPOSE ? plan_of(turned, f, SPMV_AS_IS, "auto") : NULL};
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    double s[3];
    time_in_turns(plan, f->k, x, z, s);
    if (plan[0]) spmv_plan_info(plan[0], &facts);
    printf("%-22s %-10s %2d  %-22s %9.1f us", name, f->name, f->k, plan[0] ? facts.kernel : "none",
           1e6 * s[0]);
    if (plan[0] && plan[1]) {
        printf("  oneMKL %9.1f us  %5.2f%s", 1e6 * s[1], s[1] / s[0], s[1] < s[0] ? " LOSS" : "");
        count(f, s[1] / s[0]);
    }
    if (plan[0] && plan[2]) {
        printf("  as a matrix %9.1f us  %5.2f", 1e6 * s[2], s[2] / s[0]);
        count(&as_matrix, s[2] / s[0]);
    }
    putchar('\n');
    fflush(stdout);
    for (int p = 0; p < 3; p++) spmv_plan_free(plan[p]);
}

static spmv_mat *load(spmv_ctx *ctx, const char *name) {
    const spmv_load_opts random = {.size = sizeof random, .values = "random"};
    const bool generated = strncmp(name, "gen:", 4) == 0;
    char path[256];
    spmv_mat *mat = NULL;
    if (spmv_mat_load(ctx, name, generated ? &random : NULL, &mat) == SPMV_OK) return mat;
    for (size_t f = 0; !generated && f < sizeof folders / sizeof *folders; f++) {
        snprintf(path, sizeof path, "%s/%.100s.mtx.gz", folders[f], name);
        if (spmv_mat_load(ctx, path, NULL, &mat) == SPMV_OK) return mat;
    }
    printf("%s: %s\n", name, spmv_ctx_error(ctx));
    return NULL;
}

static void run(spmv_ctx *ctx, const char *name) {
    spmv_mat *mat = load(ctx, name), *turned = NULL;
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    if (!mat) return;
    if (spmv_mat_rows(mat, &A)) fail(ctx, name);
    const spmv_arrays columns = {.size = sizeof columns,
                                 .rows = A.cols,
                                 .cols = A.rows,
                                 .nnz = A.nnz,
                                 .ptr = A.row_ptr,
                                 .idx = A.col_idx,
                                 .values = A.values,
                                 .ptr_bits = 64,
                                 .precision = SPMV_F64,
                                 .by_columns = 1};
    if (spmv_mat_create(ctx, &columns, &turned)) fail(ctx, name);
    const size_t n = (size_t)(A.rows > A.cols ? A.rows : A.cols) * MOST;
    double *x = malloc(n * sizeof *x), *z = calloc(n, sizeof *z);
    if (!x || !z) fail(ctx, "memory");
    for (size_t k = 0; k < n; k++) x[k] = 1 + 1e-3 * (double)(k % 1009);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        run_form(mat, turned, name, &forms[f], x, z);
    free(x);
    free(z);
    spmv_mat_free(turned);
    spmv_mat_free(mat);
}

/* Returns whether the mean is below its target. */
static bool print_mean(const form *f) {
    if (f->n == 0) return false;
    const double mean = exp(f->sum / f->n);
    printf("%-11s %2d  geometric mean %.2f of %d, bar %.2f, %d below 1%s\n", f->name, f->k, mean,
           f->n, f->bar, f->losses, mean < f->bar ? "  MISSED" : "");
    return mean < f->bar;
}

int main(int argc, char **argv) {
    const spmv_ctx_opts opts = SPMV_OPTS(spmv_ctx_opts);
    const int n = argc > 1 ? argc - 1 : (int)(sizeof usual / sizeof *usual);
    spmv_ctx *ctx = NULL;
    bool is_under = false;
    if (spmv_ctx_create(&opts, &ctx)) fail(ctx, "context");
    for (int m = 0; m < n; m++) run(ctx, argc > 1 ? argv[m + 1] : usual[m]);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) is_under |= print_mean(&forms[f]);
    is_under |= print_mean(&as_matrix);
    spmv_ctx_free(ctx);
    return forms[0].n == 0 ? NO_PEER : is_under;
}
