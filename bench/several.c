/* bench/several.c: products of several vectors on a GPU beside cuSPARSE's: make bench-vectors
 * BUILD=cuda, or bench_several [MATRIX...].
 *
 * f64, cold: FLUSHED bytes are read before each product. "auto" is told of 1,000 products.
 * cuSPARSE's time is the least of its three SpMM algorithms in each version that is there: the CUDA
 * toolkit's and the fetched one (make deps-peers, or SPMV_CUSPARSE_FILE). All kernels take turns;
 * the fastest of ROUNDS products counts. A line has the matrix, the layout, k, the kernel of
 * "auto", its time, cuSPARSE's, their ratio, the time of "auto" over that of our fastest kernel
 * (regret), the nonzeros of a listed column of bittcf, and the times of all others in us. Exit 1
 * where a bar is missed, 69 without cuSPARSE. */
#include "bars.h"
#include "formats/bittcf/bittcf.h"
#include "spmv_bench.h"
#include "spmv_kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 5,
    CALLS = 1000,
    MOST = 64,
    NO_PEER = 69,
    OURS = 8,
    PEERS = 6,
    FLUSHED = 256 << 20
};

static const char *const usual[] = {
    "gen:poisson3d:100", "gen:fem3d:40",         "gen:fem3d:30:4",       "gen:box27:64",
    "gen:mesh:700000",   "gen:mesh:300000:3",    "gen:banded:100000:51", "gen:road:1000000",
    "gen:rmat:18",       "gen:random:300000:16", "gen:powerlaw:600000:8"};

typedef struct form {
    const char *name;
    spmv_layout layout;
    int k;
    double bar, shared_bar, least;      /* 0: none */
    double sum, shared_sum, regret_sum; /* sums of logarithms */
    double worst;
    int n, shared;
} form;

static form forms[] = {
    {"rows", SPMV_ROWS, 2, 1.9, 0, 0.97, 0, 0, 0, INFINITY, 0, 0},
    {"rows", SPMV_ROWS, 8, 1.5, 1.8, 0.97, 0, 0, 0, INFINITY, 0, 0},
    {"rows", SPMV_ROWS, 16, 1.5, 1.8, 0.97, 0, 0, 0, INFINITY, 0, 0},
    {"rows", SPMV_ROWS, 32, 1.5, 1.8, 0.97, 0, 0, 0, INFINITY, 0, 0},
    {"rows", SPMV_ROWS, 64, 1.5, 1.8, 0.97, 0, 0, 0, INFINITY, 0, 0},
    {"columns", SPMV_COLUMNS, 8, 2.6, 0, 1, 0, 0, 0, INFINITY, 0, 0},
    {"columns", SPMV_COLUMNS, 32, 2.6, 0, 1, 0, 0, 0, INFINITY, 0, 0},
};
static const double most_regret = 1.03, shares = 2;

typedef struct candidate {
    const char *kernel;
    spmv_setting setting[2];
    int nsettings;
} candidate;

/* "auto" is the first. */
static const candidate ours[OURS] = {
    {"cuda:auto", {{NULL, 0}}, 0},
    {"cuda:csr_vectors", {{NULL, 0}}, 0},
    {"cuda:csr_vectors", {{"lanes", 2}}, 1},
    {"cuda:csr_vectors", {{"lanes", 4}}, 1},
    {"cuda:csr_shares", {{NULL, 0}}, 0},
    {"cuda:bsr_vectors", {{"shape_rows", 2}, {"shape_cols", 2}}, 2},
    {"cuda:bsr_vectors", {{"shape_rows", 3}, {"shape_cols", 3}}, 2},
    {"cuda:bittcf_warp", {{NULL, 0}}, 0}};

typedef struct bench {
    spmv_ctx *ctx;
    spmv_mat *mat;
    int64_t rows, cols;
    double shared; /* nonzeros per listed column of bittcf */
    void *x, *z;   /* MOST vectors, of the first plan */
    spmv_plan *plan[OURS + PEERS];
    double seconds[OURS + PEERS];
} bench;

static void fail(const spmv_ctx *ctx, const char *what) {
    fprintf(stderr, "%s: %s\n", what, spmv_ctx_error(ctx));
    exit(2);
}

/* Returns NULL for what is not there or does not suit. */
static spmv_plan *plan_of(bench *b, const form *f, const candidate *c) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = c->kernel;
    opts.settings = c->setting;
    opts.nsettings = c->nsettings;
    opts.layout = f->layout;
    opts.vectors = f->k;
    opts.cache = SPMV_COLD;
    opts.expected_calls = CALLS;
    return spmv_plan_create(b->mat, &opts, &plan) == SPMV_OK ? plan : NULL;
}

static void make_plans(bench *b, const form *f) {
    for (int p = 0; p < OURS; p++) b->plan[p] = plan_of(b, f, &ours[p]);
    for (int p = 0; p < PEERS; p++) {
        const candidate peer = {
            "cuda:cusparse_csr_alg1", {{"cusparse", p / 3}, {"spmm", p % 3 + 1}}, 2};
        b->plan[OURS + p] = plan_of(b, f, &peer);
    }
    if (!b->plan[0]) fail(b->ctx, "auto");
}

/* Vectors in the memory of plan[0]'s device. */
static void make_vectors(bench *b) {
    const size_t nx = (size_t)(MOST * b->cols), nz = (size_t)(MOST * b->rows);
    double *x = malloc((nx + 1) * sizeof *x);
    uint64_t bits = 1;
    if (!x || spmv_plan_alloc(b->plan[0], (nx + 1) * sizeof *x, &b->x) ||
        spmv_plan_alloc(b->plan[0], (nz + 1) * sizeof *x, &b->z))
        fail(b->ctx, "memory");
    for (size_t k = 0; k < nx; k++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        x[k] = (double)(bits >> 11) * 0x1p-53 - 0.5;
    }
    if (spmv_plan_put(b->plan[0], b->x, x, nx * sizeof *x)) fail(b->ctx, "memory");
    free(x);
}

static void time_in_turns(bench *b, int k) {
    for (int p = 0; p < OURS + PEERS; p++) b->seconds[p] = INFINITY;
    for (int round = -1; round < ROUNDS; round++)
        for (int p = 0; p < OURS + PEERS; p++) {
            const spmv_product one = {.plan = b->plan[p], .x = b->x, .y = b->z, .k = k};
            double s;
            if (!b->plan[p] || spmv_plan_flush(b->plan[p], FLUSHED)) continue;
            if (spmv_exec_timed(&one, 1, 1, 0, &s)) continue;
            if (round >= 0 && s < b->seconds[p]) b->seconds[p] = s;
        }
}

static double least_of(const double *seconds, int n) {
    double least = INFINITY;
    for (int p = 0; p < n; p++) least = fmin(least, seconds[p]);
    return least;
}

static void note_sharing(bench *b) {
    const spmv_plan *plan = b->plan[OURS - 1];
    if (!plan) return;
    const bittcf *B = (const bittcf *)plan->store;
    b->shared = (double)B->s.nnz / fmax((double)B->tiles * BITTCF_COLS, 1);
}

static void run_form(bench *b, const char *name, form *f) {
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    make_plans(b, f);
    if (!b->x) make_vectors(b);
    note_sharing(b);
    time_in_turns(b, f->k);
    const double own = b->seconds[0], theirs = least_of(b->seconds + OURS, PEERS);
    const double regret = own / least_of(b->seconds, OURS);
    spmv_plan_info(b->plan[0], &facts);
    printf("%-28s %-7s %2d  %-14s %8.1f us  cuSPARSE %8.1f us  %5.2f  regret %.2f  shared %.2f ",
           name, f->name, f->k, facts.kernel, 1e6 * own, 1e6 * theirs, theirs / own, regret,
           b->shared);
    for (int p = 1; p < OURS + PEERS; p++) printf(" %.1f", 1e6 * b->seconds[p]);
    putchar('\n');
    fflush(stdout);
    if (theirs < INFINITY) {
        const double gain = log(theirs / own);
        f->sum += gain, f->regret_sum += log(regret), f->n++;
        if (b->shared >= shares) f->shared_sum += gain, f->shared++;
        f->worst = fmin(f->worst, theirs / own);
    }
    /* x and z are of the first form's first plan, which stays until the end. */
    for (int p = f == forms ? 1 : 0; p < OURS + PEERS; p++) spmv_plan_free(b->plan[p]);
}

static void run(bench *b, const char *name) {
    const spmv_load_opts random = {.size = sizeof random, .values = "random"};
    const bool generated = strncmp(name, "gen:", 4) == 0;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_plan *first = NULL;
    const char *slash = strrchr(name, '/');
    if (spmv_mat_load(b->ctx, name, generated ? &random : NULL, &b->mat)) fail(b->ctx, name);
    spmv_mat_stats(b->mat, &stats);
    b->rows = stats.rows, b->cols = stats.cols;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        run_form(b, slash ? slash + 1 : name, &forms[f]);
        if (f == 0) first = b->plan[0];
    }
    spmv_plan_release(first, b->x);
    spmv_plan_release(first, b->z);
    b->x = b->z = NULL;
    spmv_plan_free(first);
    spmv_mat_free(b->mat);
}

/* Returns whether a bar is missed. */
static bool print_bars(void) {
    bool is_missed = false;
    double regret = 0;
    int n = 0;
    char what[100];
    for (form *f = forms; f < forms + sizeof forms / sizeof *forms; f++) {
        snprintf(what, sizeof what, "%s, k = %d: geometric mean", f->name, f->k);
        is_missed |= misses_least(what, exp(f->sum / f->n), f->bar);
        if (f->shared_bar > 0 && f->shared > 0) {
            snprintf(what, sizeof what, "%s, k = %d: of %d whose rows share columns", f->name, f->k,
                     f->shared);
            is_missed |= misses_least(what, exp(f->shared_sum / f->shared), f->shared_bar);
        }
        snprintf(what, sizeof what, "%s, k = %d: the least", f->name, f->k);
        is_missed |= misses_least(what, f->worst, f->least);
        regret += f->regret_sum, n += f->n;
    }
    is_missed |= misses_bar("regret beside our own kernels", exp(regret / n), most_regret);
    return is_missed;
}

int main(int argc, char **argv) {
    spmv_ctx_opts opts = SPMV_OPTS(spmv_ctx_opts);
    bench b = {.ctx = NULL};
    const int n = argc > 1 ? argc - 1 : (int)(sizeof usual / sizeof *usual);
    opts.backend = "cuda";
    if (spmv_ctx_create(&opts, &b.ctx)) fail(b.ctx, "context");
    for (int m = 0; m < n; m++) run(&b, argc > 1 ? argv[m + 1] : usual[m]);
    spmv_ctx_free(b.ctx);
    if (forms[0].n == 0) {
        fprintf(stderr, "no cuSPARSE: make deps-peers, make cuda\n");
        return NO_PEER;
    }
    return print_bars();
}
