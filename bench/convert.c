/* bench/convert.c: the cost of converting compressed rows to every format, in products of csr_rows
 * on the same threads: make bench-convert, or bench_convert [-f FORMAT] [MATRIX ...].
 *
 * The default matrices are larger than any cache. Conversions and rounds of products run in turns,
 * so that disturbances affect both; the result is the median of their ratios. Each conversion
 * allocates new arrays, as in a user's program. Parameters are the defaults, and for SELL and CMRS
 * also those that sort.
 * Exits with 1 if SELL, CMRS or the hybrid take more than MOST products, or fail. */
#include "spmv_clock.h"
#include "matrix/stores/stored.h"
#include "spmv_host.h"
#include "tune/tune.h"
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7, MOST = 10 }; /* MOST: limit, and number of products per round */

static const char *const usual[] = {"gen:poisson3d:128", "gen:mesh:2000000", "gen:fem3d:40:3",
                                    "gen:twin:cant", "gen:rmat:20:16"};
static const char *const limited[] = {"sell", "cmrs", "hybrid"};
static const struct variation { /* a format with parameters other than its defaults */
    const char *format, *words;
    struct {
        spmv_param_id id;
        int64_t value;
    } of[2];
} variations[] = {{"sell", "sigma=all", {{SPMV_sigma, 0}, {SPMV_slice, 32}}},
                  {"cmrs", "sorted", {{SPMV_sorted, 1}, {SPMV_height, 4}}},
                  {"cmrs", "sorted 16", {{SPMV_sorted, 1}, {SPMV_height, 16}}}};

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[n / 2];
}

/* unit of costs: products of csr_rows */
struct yardstick {
    spmv_plan *plan;
    double *x, *y;
};

/* Measures the seconds of one product, from a round of MOST products. */
static spmv_status time_product(struct yardstick *yard, double *out) {
    double start = spmv_now();
    for (int n = 0; n < MOST; n++) TRY(spmv_exec(yard->plan, 1, yard->x, 0, yard->y));
    *out = (spmv_now() - start) / MOST;
    return SPMV_OK;
}

static void free_yardstick(struct yardstick *yard) {
    spmv_plan_free(yard->plan);
    spmv_host_free(yard->x);
    spmv_host_free(yard->y);
}

static spmv_status make_yardstick(spmv_mat *mat, const spmv_stats *stats, struct yardstick *out) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "omp:csr_rows"};
    out->x = spmv_host_alloc((size_t)stats->cols * sizeof *out->x);
    out->y = spmv_host_alloc((size_t)stats->rows * sizeof *out->y);
    if (!out->x || !out->y) return SPMV_E_NOMEM;
    for (int64_t j = 0; j < stats->cols; j++) out->x[j] = 1 + 1e-9 * (double)j;
    return spmv_plan_create(mat, &opts, &out->plan);
}

/* Returns the parameters of a format. varied NULL: the defaults. */
static spmv_choice choice_of(const spmv_format *format, const struct variation *varied) {
    spmv_choice c = {{0}};
    for (const spmv_param *p = format->params; p->id != SPMV_NPARAMS; p++)
        c.value[p->id] = p->default_value;
    for (int k = 0; varied && k < 2; k++) c.value[varied->of[k].id] = varied->of[k].value;
    return c;
}

/* cost of a conversion: seconds; number of products */
struct cost {
    double seconds, products;
};

static spmv_status time_format(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_format *format,
                               const struct variation *varied, struct yardstick *yard,
                               struct cost *out) {
    double seconds[RUNS] = {0}, products[RUNS] = {0};
    spmv_choice c = choice_of(format, varied);
    if (format->estimate(A, &c) > (size_t)(0.5 * (double)spmv_host_free_bytes()))
        return spmv_fail(ctx, SPMV_E_TOOBIG, "needs more than half of the free memory");
    for (int n = 0; n < RUNS; n++) {
        spmv_store *store = NULL;
        double product;
        TRY(time_product(yard, &product));
        double start = spmv_now();
        spmv_status status = format->build(ctx, A, &c, spmv_ctx_threads(ctx), &store);
        seconds[n] = spmv_now() - start;
        products[n] = seconds[n] / product;
        spmv_store_free(store);
        TRY(status);
    }
    *out = (struct cost){median(seconds, RUNS), median(products, RUNS)};
    return SPMV_OK;
}

static bool is_limited(const char *format) {
    for (size_t k = 0; k < sizeof limited / sizeof *limited; k++)
        if (strcmp(format, limited[k]) == 0) return true;
    return false;
}

/* Prints the line of a format; returns 1 if the format exceeds its limit. */
static int bench_format(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_format *format,
                        const struct variation *varied, struct yardstick *yard) {
    struct cost cost = {0};
    char name[32];
    spmv_choice c = choice_of(format, varied);
    snprintf(name, sizeof name, "%s %s", format->name, varied ? varied->words : "");
    if (spmv_is_padding(A, SPMV_F64_O32, format->estimate(A, &c))) {
        printf("  %-14s skipped: most of it is padding\n", name);
        return 0;
    }
    if (time_format(ctx, A, format, varied, yard, &cost) != SPMV_OK) {
        printf("  %-14s %s\n", name, spmv_ctx_error(ctx));
        return is_limited(format->name);
    }
    bool misses = is_limited(format->name) && cost.products > MOST;
    printf("  %-14s %8.1f ms %6.1f products%s\n", name, 1e3 * cost.seconds, cost.products,
           misses ? "  OVER THE LIMIT" : "");
    return misses;
}

/* Returns the number of formats that exceed the limit; -1: the products failed. */
static int bench_formats(spmv_ctx *ctx, const char *source, const spmv_csr_view *A,
                         struct yardstick *yard, const char *only) {
    double product;
    int over = 0;
    for (int warm = 0; warm < 2; warm++)
        if (time_product(yard, &product) != SPMV_OK) return -1;
    printf("%s: %lld nonzeros, %d threads, a product of csr_rows %.2f ms\n", source,
           (long long)A->nnz, spmv_ctx_threads(ctx), 1e3 * product);
    for (int f = 0; f < spmv_format_count(); f++) {
        const spmv_format *format = spmv_format_at(f, SPMV_F64_O32);
        if (only && strcmp(only, format->name) != 0) continue;
        over += bench_format(ctx, A, format, NULL, yard);
        for (size_t v = 0; v < sizeof variations / sizeof *variations; v++)
            if (strcmp(variations[v].format, format->name) == 0)
                over += bench_format(ctx, A, format, &variations[v], yard);
    }
    return over;
}

/* Returns the number of formats that exceed the limit; 1 if the matrix is not available. */
static int bench_matrix(spmv_ctx *ctx, const char *source, const char *only) {
    spmv_mat *mat = NULL;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    struct yardstick yard = {0};
    int over = -1;
    if (spmv_mat_load(ctx, source, NULL, &mat) == SPMV_OK) {
        spmv_mat_stats(mat, &stats);
        spmv_mat_rows(mat, &A);
        if (make_yardstick(mat, &stats, &yard) == SPMV_OK)
            over = bench_formats(ctx, source, &A, &yard, only);
    }
    if (over < 0) fprintf(stderr, "bench_convert: %s\n", spmv_ctx_error(ctx));
    free_yardstick(&yard);
    spmv_mat_free(mat);
    return over < 0 ? 1 : over;
}

int main(int argc, char **argv) {
    spmv_ctx_opts opts = {.size = sizeof opts};
    spmv_ctx *ctx = NULL;
    const char *only = NULL;
    int first = 1, over = 0;
    if (argc > 2 && strcmp(argv[1], "-f") == 0) only = argv[2], first = 3;
    if (only && !spmv_format_named(only, SPMV_F64_O32)) {
        fprintf(stderr, "bench_convert: no format '%s'; 'spmv list formats' shows all\n", only);
        return 64;
    }
    if (spmv_ctx_create(&opts, &ctx) != SPMV_OK) return 1;
    for (int k = first; k < argc; k++) over += bench_matrix(ctx, argv[k], only);
    for (size_t k = 0; first == argc && k < sizeof usual / sizeof *usual; k++)
        over += bench_matrix(ctx, usual[k], only);
    spmv_ctx_free(ctx);
    return over > 0;
}
