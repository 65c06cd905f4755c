/* run_ranks.c: one invocation of spmv run as several ranks. All of them have the same options, and
 * take the same steps; what fails on one ends all, with the same exit code. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/run/cells.h"
#include "app/run/cmd_run.h"
#include "app/run/inputs.h"
#include "app/run/results/describe.h"
#include "app/run/results/notes.h"
#include "app/run/results/ranking.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include "app/run/timing/noise.h"
#include "app/run/timing/rounds.h"
#include "app/run/verify.h"
#include "ranks.h"
#include "run_ranks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const char *what) {
    say("spmv: over ranks %s\n", what);
    return EXIT_USAGE;
}

int ranks_check_options(const options *o) {
    if (o->op == SPMV_TRANSPOSE) return refuse("there are no products by the transpose (-T)");
    for (int k = 0; k < o->caches.count; k++)
        if (o->caches.value[k] != SPMV_WARM) return refuse("--cache is warm");
    if (o->export) return refuse("each rank has a plan of its own: --export writes one");
    if (o->reproducible)
        return refuse("sums depend on how many there are: there is no --repeat=threads");
    if (o->backend && strcmp(o->backend, "omp") != 0)
        return refuse("kernels are those of --backend=omp");
    if (o->x_file && strcmp(o->x_file, "-") == 0)
        return refuse("x is a file that each of them reads, not '-'");
    return 0;
}

static int check_options(const options *o) {
    if (o->nmatrices == 0) return refuse("a matrix is named: -m FILE, or -m gen:poisson3d:100");
    return ranks_check_options(o);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

typedef struct machine_name { /* a clock is that of a kernel since its start */
    char host[256], boot[64];
} machine_name;

static machine_name name_machine(const char *host) {
    machine_name name;
    memset(&name, 0, sizeof name);
    snprintf(name.host, sizeof name.host, "%s", host);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && !fgets(name.boot, sizeof name.boot, file)) *name.boot = 0;
    if (file) fclose(file);
    return name;
}

static int find_hosts(ranks *w) {
    const machine_name mine = name_machine(w->run->machine.hostname);
    machine_name *all = calloc((size_t)w->size, sizeof *all);
    w->host = calloc((size_t)w->size, sizeof *w->host);
    int code = ranks_vote(w, all && w->host ? 0 : complain(SPMV_E_NOMEM, NULL));
    if (!code && spmv_ranks_gather(w->ranks, &mine, sizeof mine, all) != SPMV_OK)
        code = complain(SPMV_E_DEVICE, "the ranks' hosts were lost");
    for (int r = 0; r < w->size && !code; r++) {
        int same = 0;
        while (memcmp(&all[same], &all[r], sizeof *all) != 0) same++;
        w->team.hosts += same == r;
        w->host[r] = same;
    }
    free(all);
    return code;
}

ranks_team ranks_team_asked(const options *o, int count) {
    return (ranks_team){.count = count,
                        .exchange = "mpi",
                        .partition = base_name(o->partition),
                        .halo = halo_names[o->halo],
                        .overlap = overlap_names[o->overlap]};
}

static int open_all(ranks *w, const options *o, const spmv_backend *backend) {
    spmv_ctx_opts context = SPMV_OPTS(spmv_ctx_opts);
    context.backend = backend->name;
    context.threads = most_threads(o);
    context.max_unpacked = o->max_unpacked;
    int code = ranks_open(w, &context);
    if (code) return code;
    w->run->ctx = spmv_ranks_ctx(w->ranks);
    w->team = ranks_team_asked(o, w->size);
    w->team.mpi = spmv_ranks_mpi(w->ranks);
    w->run->team = &w->team;
    code = ranks_compare(w, 0);
    if (!code) code = ranks_vote(w, check_options(o));
    if (!code) code = ranks_vote(w, choose_in_context(w->run));
    if (!code) code = find_hosts(w);
    if (!code) code = ranks_vote(w, check_format(o));
    if (!code) code = ranks_vote(w, is_first(w) ? open_outputs(w->run) : 0); /* they are rank 0's */
    return code;
}

static int close_all(ranks *w, int code) {
    session *run = w->run;
    if (code) talk_end();
    if (run->output != stdout) code = close_output(run, code);
    run->ctx = NULL; /* that of the ranks, which spmv_ranks_free ends */
    close_session(run);
    ranks_close(w);
    return code;
}

/* ---- a cell --------------------------------------------------------------------------------- */

static bool course_alloc(const ranks *w, course *c) {
    const size_t cols = (size_t)(w->facts.own_cols * c->k) + 1,
                 rows = (size_t)(w->facts.own_rows * c->k) + 1;
    c->x = malloc(cols * sizeof(double));
    c->y = malloc(rows * sizeof(double));
    c->y0 = malloc(rows * sizeof(double));
    c->ticks = malloc((size_t)w->size * sizeof *c->ticks);
    return c->x && c->y && c->y0 && c->ticks;
}

static void course_free(course *c) {
    spmv_ranks_plan_free(c->plan);
    free(c->x);
    free(c->y);
    free(c->y0);
    free(c->ticks);
    free(c->own);
    for (int k = 0; k < WAYS; k++) free(c->slowest[k]);
}

static spmv_status make_plan(const ranks *w, const cell *asked, course *c) {
    const options *o = w->run->o;
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s:%s", asked->kernel.backend->name,
             descriptor(asked->kernel)->name);
    const spmv_plan_opts opts = {.size = sizeof opts,
                                 .kernel = kernel,
                                 .precision = asked->precision,
                                 .offset_bits = o->offset_bits,
                                 .max_bytes = o->max_mem,
                                 .settings = asked->setting,
                                 .nsettings = asked->nsettings,
                                 .expected_calls = o->iters,
                                 .nondeterministic = o->nondeterministic,
                                 .vectors = asked->vectors,
                                 .layout = asked->layout};
    return spmv_ranks_plan_create(w->mat, &opts, &c->plan);
}

static void note_wrong(const ranks *w, const course *c, const candidate *e, result *out) {
    snprintf(out->reason, sizeof out->reason,
             "%lld of %lld %s differ in the %s product, first row %lld (from 0): got %.17g, "
             "expected %.17g",
             (long long)e->check.bad_rows, (long long)(c->k * w->of.rows),
             c->k > 1 ? "numbers" : "rows", e->stage, (long long)e->check.first_bad_row,
             e->check.got, e->check.expected);
}

/* Checks a product; *right: it was. */
static int check(ranks *w, const course *c, candidate *e, const char *stage, result *out,
                 bool *right) {
    verdict v;
    const double worst = e->stage ? e->check.max_ratio : 0;
    e->stage = stage;
    *right = true;
    if (!w->run->o->verify) return 0;
    const int code = ranks_check(w, c, &v);
    if (code) return code;
    e->check = v;
    if (worst > v.max_ratio) e->check.max_ratio = worst;
    *right = v.bad_rows == 0;
    if (!*right) note_wrong(w, c, e, out);
    return 0;
}

static surroundings look_around(void) {
    return (surroundings){.load = load_now()};
}

/* Takes samples. After rounds 1, 2, 4, 8, ... a product of -x is looked at. */
static int sample(ranks *w, course *c, candidate *e, result *out, spmv_status *status,
                  bool *right) {
    int code = 0;
    *status = ranks_ready(w, c, &e->how, &e->t);
    while (*status == SPMV_OK && !code && *right && !e->t.done) {
        *status = ranks_round(w, c, &e->how, &e->t);
        if (*status != SPMV_OK || (c->n & (c->n - 1))) continue;
        ranks_set_vectors(w, c, -c->scale);
        *status = ranks_multiply(w, c, c->way);
        if (*status == SPMV_OK) code = check(w, c, e, "later", out, right);
    }
    return code;
}

/* Makes a first product, samples, and a last product of another x. */
static int follow(ranks *w, course *c, candidate *e, result *out, spmv_status *status,
                  bool *right) {
    session *run = w->run;
    *status = ranks_poison(w, c);
    if (*status == SPMV_OK) *status = ranks_multiply(w, c, SPMV_OVERLAPPED);
    if (*status != SPMV_OK) return 0;
    int code = check(w, c, e, "first", out, right);
    if (!code && *right && run->o->y_file && !run->wrote_y) code = ranks_save_y(w, c);
    if (code || !*right) return code;
    e->before = look_around();
    const noise before = noise_now();
    code = sample(w, c, e, out, status, right);
    const noise after = noise_now();
    if (*status != SPMV_OK || code || !*right) return code;
    noise_add(&e->noise, &before, &after);
    e->after = look_around();
    code = ranks_add_noise(w, &e->noise);
    if (code) return code;
    c->typed = false; /* of ones, say, entries in wrong places would not show */
    ranks_set_vectors(w, c, fabs(run->o->alpha) > 1 ? 0.5 : 2); /* alpha times it is exact */
    *status = ranks_multiply(w, c, c->way);
    return *status == SPMV_OK ? check(w, c, e, "last", out, right) : 0;
}

static const char *word_for(const ranks *w, spmv_status status, bool right, result *out) {
    if (status == SPMV_OK) return right ? "ok" : "wrong";
    spell(in_options(spmv_ranks_error(w->ranks)), out->reason, sizeof out->reason);
    if (status == SPMV_E_TOOBIG || status == SPMV_E_UNSUITABLE) return "skipped";
    w->run->last_failure = spmv_exit_code(status);
    return status == SPMV_E_NOMEM ? "out of memory" : "failed";
}

static int run_cell(ranks *w, inputs *in, int k, result *out) {
    session *run = w->run;
    const cell *asked = &run->cell[k];
    course c = {.precision = asked->precision, .k = asked->vectors, .typed = w->x != NULL};
    candidate e = {.cell = k, .how = sampling_in(run->o, asked->cache)};
    bool right = false;
    int code = ranks_vote(w, course_alloc(w, &c) ? 0 : complain(SPMV_E_NOMEM, NULL));
    spmv_status status = code ? SPMV_OK : make_plan(w, asked, &c);
    if (!code && (status == SPMV_E_ARG || status == SPMV_E_BACKEND)) code = ranks_failed(w, status);
    if (!code && status == SPMV_OK) code = follow(w, &c, &e, out, &status, &right);
    run->group++;
    if (!code) code = ranks_describe(w, in, &e, &c, word_for(w, status, right, out), out);
    if (!code && is_first(w)) code = keep_result(run, out);
    if (!code) code = ranks_vote(w, code);
    free(e.t.sample_s);
    course_free(&c);
    return code;
}

/* ---- a matrix ------------------------------------------------------------------------------- */

/* Reads -x on every rank: the check needs all of it. */
static int load_own_x(ranks *w, int64_t vectors) {
    session *run = w->run;
    inputs in = {.rows = w->of.rows, .cols = w->of.cols, .vectors = vectors};
    const int code = load_x(run, &in);
    w->x = in.x;
    bool is_f32 = false;
    for (int k = 0; k < run->ncells; k++) is_f32 |= run->cell[k].precision == SPMV_F32;
    for (int64_t j = 0; j < vectors * w->of.cols && !code; j++) {
        if (!isfinite(in.x[j])) return refuse("the numbers of -x are finite");
        if (is_f32 && !isfinite((float)in.x[j])) return x_too_large(run, j, in.x[j]);
    }
    return code;
}

static int read_x(ranks *w, int64_t vectors) {
    if (!w->run->o->x_file) return 0;
    const int code = ranks_vote(w, load_own_x(w, vectors));
    if (code) return code;
    return ranks_compare(w, ranks_hash(w->x, (size_t)(vectors * w->of.cols) * sizeof *w->x));
}

static int run_cells(ranks *w, inputs *in) {
    session *run = w->run;
    result *results = calloc((size_t)run->ncells, sizeof *results);
    int code = ranks_vote(w, results ? 0 : complain(SPMV_E_NOMEM, NULL));
    for (int k = 0; k < run->ncells && !code; k++) code = run_cell(w, in, k, &results[k]);
    if (results && is_first(w)) {
        rank_results(results, run->ncells);
        const int shown = show_results(run, results, run->ncells);
        for (int k = 0; k < run->ncells && !run->o->quiet; k++) ranks_explain(&results[k]);
        say_winners(run, results, run->ncells);
        if (!code) code = shown;
    }
    for (int k = 0; k < run->ncells && results; k++) {
        free(results[k].samples);
        free(results[k].of_ranks);
    }
    free(results);
    return ranks_vote(w, code);
}

static int run_matrix(ranks *w, const char *source) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    char name[256];
    inputs in = {.name = name, .source = base_name(source), .stats = &stats};
    matrix_name(source, w->run->o->values, name, sizeof name);
    in.vectors = most_vectors(w->run->o);
    int code = ranks_load_source(w, source, &stats, &in);
    if (!code) code = read_x(w, in.vectors);
    if (!code) code = run_cells(w, &in);
    ranks_unload(w);
    return code;
}

/* Exchanges have vectors in host memory, also of a build for GPUs. */
static const spmv_backend *host_backend(const spmv_backend *usual) {
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        if ((*b)->host && (*b)->kernels) return *b;
    return usual;
}

int run_ranks(const options *o, const spmv_backend *usual) {
    const spmv_backend *backend = host_backend(usual);
    session run = {.o = o, .backend = backend, .output = stdout, .log = {.file = -1}};
    ranks w = {.run = &run};
    int code = open_all(&w, o, backend);
    if (!w.ranks) return code;
    if (!code && is_first(&w) && !o->quiet) {
        run_introduce(&run);
        ranks_introduce(&w);
    }
    for (int k = 0; k < o->nmatrices && !code; k++) code = run_matrix(&w, o->matrices[k]);
    if (is_first(&w) && !o->quiet) run_conclude(&run);
    if (!code) code = ranks_vote(&w, is_first(&w) ? run_exit_code(&run) : 0);
    return close_all(&w, code);
}
