/* rounds.c: prepares and checks every chosen kernel on one matrix, times them in turns (A B C,
 * C A B, ...) so that a drift of the machine affects all of them alike, checks again and logs. A
 * kernel that is measured leaves the turns: its row is final, but for its rank. */
#include "app/messages.h"
#include "app/options/options.h"
#include "app/record/log.h"
#include "app/record/record.h"
#include "app/record/write_table.h"
#include "app/run/cells.h"
#include "app/run/inputs.h"
#include "app/run/results/describe.h"
#include "app/run/results/notes.h"
#include "app/run/results/ranking.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include "app/run/verify.h"
#include "noise.h"
#include "rounds.h"
#include "spmv_clock.h"
#include "stop.h"
#include "turns.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct group { /* candidates whose plans are in memory together */
    session *run;
    spmv_mat *mat;
    inputs *in;
    result *results;      /* [run->ncells] */
    candidate *candidate; /* candidates whose first product was right */
    int count, done;
    bool in_rounds; /* not before all are prepared */
    void *y;
    int code;                  /* exit code of the first row that could not be logged */
    double started_s, spent_s; /* when the turns began; what candidates had been measured by then */
    double announced_s;        /* seconds after started_s by which all was to be final */
} group;

static int keep(group *g, int k);

/* ---- right or wrong ------------------------------------------------------------------------- */

/* True: the result is right. negated: it is that of -x, which is that of x and -alpha. */
static bool check(group *g, candidate *e, const void *y, bool negated, const char *stage) {
    const options *o = g->run->o;
    result *out = &g->results[e->cell];
    spmv_precision precision = e->p.precision;
    double worst = e->stage ? e->check.max_ratio : NAN;
    e->stage = stage;
    if (!o->verify) return true;
    verdict v = oracle_check_all(g->in->oracle_of[precision], e->p.k, e->p.layout, precision,
                                 negated ? -o->alpha : o->alpha, o->beta, e->p.y0, y);
    char of[48] = "";
    e->check = v;
    if (worst > v.max_ratio) e->check.max_ratio = worst;
    if (!v.bad_rows) return true;
    if (e->p.k > 1) snprintf(of, sizeof of, " of vector %lld", (long long)v.first_bad_vector);
    snprintf(out->reason, sizeof out->reason,
             "%lld of %lld %s differ in %s %s product, first row %lld%s (from 0): got %.17g, "
             "expected %.17g",
             (long long)v.bad_rows, (long long)(e->p.k * g->in->rows),
             e->p.k > 1 ? "numbers" : "rows", strcmp(stage, "later") == 0 ? "a" : "the", stage,
             (long long)v.first_bad_row, of, v.got, v.expected);
    return false;
}

/* Looks at the last product before or between samples, and sets *right. The first looks are for
 * all: at two products, at the end of the warm-up, after a turn. Others take a hundredth of the
 * time of the samples. */
static spmv_status look(group *g, candidate *e, bool *right) {
    enum { LEAST = 4 };
    const char *stage = e->p.looks ? "later" : "first";
    const double start = spmv_now();
    problem_bits bits;
    bool negated;
    *right = true;
    if (!g->run->o->verify || (e->p.looks >= LEAST && e->looked_s > 0.01 * e->t.spent_s))
        return SPMV_OK;
    TRY(problem_look(&e->p, g->y, &negated, &bits));
    if (bits != SAME_BITS) *right = check(g, e, g->y, negated, stage);
    e->wavers = *right && bits == OTHER_BITS;
    if (e->wavers)
        snprintf(g->results[e->cell].reason, sizeof g->results[e->cell].reason,
                 "a later product has other bits than one of the same x before it, though the "
                 "kernel is deterministic");
    *right &= !e->wavers;
    e->looked_s += spmv_now() - start;
    return SPMV_OK;
}

/* Returns the word of a log for it. */
static const char *fail_row(session *run, result *out, spmv_status status) {
    bool skipped = status == SPMV_E_TOOBIG || status == SPMV_E_UNSUITABLE;
    if (!*out->reason)
        spell(*spmv_ctx_error(run->ctx) ? in_options(spmv_ctx_error(run->ctx))
                                        : spmv_strerror(status),
              out->reason, sizeof out->reason);
    if (!skipped) run->last_failure = spmv_exit_code(status);
    return skipped ? "skipped" : status == SPMV_E_NOMEM ? "out of memory" : "failed";
}

/* Makes a row final but for its rank. right: as far as it was checked. */
static void settle(group *g, candidate *e, spmv_status status, bool right) {
    result *out = &g->results[e->cell];
    const char *word = status != SPMV_OK ? fail_row(g->run, out, status) : right ? "ok" : "wrong";
    describe_row(g->run, g->in, e, word, out);
}

/* Vectors one after the other, whatever their layout is. */
static spmv_status save_y(group *g, const problem *p) {
    const void *y = g->y;
    const int64_t rows = p->rows, all = p->k * rows;
    double *wide = malloc((size_t)(all ? all : 1) * sizeof *wide);
    if (!wide) return SPMV_E_NOMEM;
    for (int64_t n = 0; n < all; n++) {
        const int64_t at = p->layout == SPMV_ROWS ? n % rows * p->k + n / rows : n;
        wide[n] =
            p->precision == SPMV_F64 ? ((const double *)y)[at] : (double)((const float *)y)[at];
    }
    spmv_status status = spmv_vector_save(g->run->ctx, g->run->o->y_file, all, wide);
    free(wide);
    g->run->wrote_y = status == SPMV_OK;
    return status;
}

/* ---- admission ------------------------------------------------------------------------------- */

static void release(const group *g, candidate *e) {
    bool last = true;
    for (int k = 0; k < g->count; k++)
        last &= &g->candidate[k] == e || g->candidate[k].plan != e->plan;
    problem_close(&e->p);
    free(e->t.sample_s);
    if (last) spmv_plan_free(e->plan);
    e->plan = NULL;
}

/* Returns a plan that was prepared for another state of the caches; NULL: none. What auto chooses
 * depends on the state. */
static spmv_plan *find_plan(const group *g, const cell *c) {
    for (int k = 0; k < g->count && c->kernel.index != SPMV_AUTO; k++)
        if (same_configuration(&g->run->cell[g->candidate[k].cell], c)) return g->candidate[k].plan;
    return NULL;
}

/* Returns the size of the last-level cache of a backend's device; 0: unknown. */
static size_t cache_of(const session *run, const spmv_backend *backend) {
    spmv_device_facts facts = {0};
    if (backend->host) return run->machine.llc > 0 ? (size_t)run->machine.llc : 0;
    spmv_ctx_describe(run->ctx, backend, &facts);
    return facts.l2;
}

static spmv_status make_plan(group *g, const cell *c, result *out, candidate *e) {
    const session *run = g->run;
    const inputs *in = g->in;
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    const void *x, *y0;
    if (make_layout(g->in, c, &x, &y0)) return SPMV_E_NOMEM;
    snprintf(out->kernel, sizeof out->kernel, "%s:%s", c->kernel.backend->name,
             descriptor(c->kernel)->name);
    spmv_plan_opts opts = {.size = sizeof opts,
                           .kernel = out->kernel,
                           .precision = c->precision,
                           .offset_bits = run->o->offset_bits,
                           .max_bytes = run->o->max_mem,
                           .settings = c->setting,
                           .nsettings = c->nsettings,
                           .expected_calls = run->o->iters,
                           .nondeterministic = run->o->nondeterministic,
                           .reproducible = run->o->reproducible,
                           .cache = c->cache,
                           .op = run->o->op,
                           .vectors = c->vectors,
                           .layout = c->layout};
    if (c->kernel.backend->host && threads_of(run, c) < spmv_ctx_threads(run->ctx))
        opts.threads = c->threads;
    e->plan = find_plan(g, c);
    bool is_new = !e->plan;
    if (is_new) TRY(spmv_plan_create(g->mat, &opts, &e->plan));
    TRY(spmv_plan_info(e->plan, &facts));
    if (facts.note && is_new && !run->o->quiet) say("  note: %s: %s\n", facts.kernel, facts.note);
    const size_t width = c->precision == SPMV_F64 ? sizeof(double) : sizeof(float),
                 of_vectors = (size_t)c->vectors * (size_t)(in->cols + in->rows);
    e->p = (problem){.plan = e->plan,
                     .precision = c->precision,
                     .rows = in->rows,
                     .cols = in->cols,
                     .k = c->vectors,
                     .layout = c->layout,
                     .alpha = run->o->alpha,
                     .beta = run->o->beta,
                     .x = x,
                     .y0 = y0,
                     .host = c->kernel.backend->host,
                     .cache = cache_of(run, c->kernel.backend),
                     .bytes = facts.traffic_bytes + width * of_vectors};
    return SPMV_OK;
}

/* Makes two products, of x and of -x. Sets *right if they were, so that samples can be taken. */
static spmv_status try_once(group *g, candidate *e, bool *right) {
    TRY(problem_open(&e->p));
    TRY(problem_once(&e->p, g->y));
    TRY(look(g, e, right));
    if (!*right) return SPMV_OK;
    if (g->run->o->y_file && !g->run->wrote_y) TRY(save_y(g, &e->p));
    if (g->run->o->verify) TRY(problem_once(&e->p, g->y));
    TRY(look(g, e, right));
    if (!*right) return SPMV_OK;
    TRY(problem_ready(&e->p, &e->how, &e->t));
    return look(g, e, right);
}

static bool multiplies_padding(const group *g, const cell *c, result *out) {
    int64_t rowlens = setting_of(g->run, c, SPMV_rowlens);
    if (!g->in->infinite[c->precision] || !(descriptor(c->kernel)->traits & SPMV_PADS) ||
        rowlens == 1)
        return false;
    snprintf(out->reason, sizeof out->reason,
             "x holds infinity or NaN, and padding multiplies 0 by it%s",
             rowlens == 0 ? ": use --rowlens=on" : "");
    return true;
}

/* Returns nonzero if the run must stop: a usage error, no device, y that cannot be written. Sets
 * *later if the plan does not fit beside those in memory but may fit alone. */
static int admit(group *g, int k, bool *later) {
    session *run = g->run;
    const cell *c = &run->cell[k];
    result *out = &g->results[k];
    candidate *e = &g->candidate[g->count];
    bool right = false;
    int code = make_precision(run, g->mat, g->in, c->precision);
    if (code) return code;
    *e = (candidate){.cell = k, .how = sampling_in(run->o, c->cache)};
    spmv_status status =
        multiplies_padding(g, c, out) ? SPMV_E_UNSUITABLE : make_plan(g, c, out, e);
    if (status == SPMV_E_ARG || status == SPMV_E_BACKEND)
        return complain(status, spmv_ctx_error(run->ctx));
    if (status == SPMV_OK) status = try_once(g, e, &right);
    if (status == SPMV_OK && right) {
        g->count++;
        return 0;
    }
    *later = g->count > 0 &&
             (status == SPMV_E_NOMEM || (status == SPMV_E_TOOBIG && run->o->max_mem == 0));
    if (status == SPMV_E_WRITE)
        code = complain(status, spmv_ctx_error(run->ctx));
    else if (!*later)
        settle(g, e, status, right);
    if (e->plan) release(g, e);
    return code;
}

/* ---- timing --------------------------------------------------------------------------------- */

static const spmv_backend *backend_of(const group *g, const candidate *e) {
    return g->run->cell[e->cell].kernel.backend;
}

static surroundings look_around(const group *g, const spmv_backend *backend) {
    surroundings now = {.load = load_now()};
    now.known = spmv_ctx_state(g->run->ctx, backend, &now.device);
    return now;
}

static double spent(const group *g) {
    double sum = 0;
    for (int k = 0; k < g->count; k++) sum += g->candidate[k].t.spent_s;
    return sum;
}

/* Seconds that the candidates still in turn take at least and at most. What turns take besides
 * their samples, as waiting for a core, is taken to go on. */
static void time_left(const group *g, double *least, double *most) {
    const double measured = spent(g) - g->spent_s, elapsed = spmv_now() - g->started_s;
    const double stretch = g->in_rounds && measured > 0 ? fmax(1, elapsed / measured) : 1;
    *least = *most = 0;
    for (int k = 0; k < g->count; k++) {
        const candidate *e = &g->candidate[k];
        if (!e->plan) continue;
        *least += fmax(0, e->how.min_time_s - e->t.spent_s);
        *most += fmax(0, e->how.max_time_s - e->t.spent_s);
    }
    *least *= stretch;
    *most *= stretch;
}

/* A table that comes soon needs no announcement, and no rows before it. */
static bool is_long(const group *g) {
    enum { LONG_S = 20 };
    return g->run->ncells * g->run->o->sampling.max_time_s >= LONG_S;
}

static bool is_announced(const group *g) {
    return !g->run->o->quiet && is_long(g);
}

/* Shows an interim result, once for each kernel whose timing goes on, as soon as it has that many
 * samples. */
static void show_so_far(const group *g, candidate *e, int least) {
    char median[TIME_TEXT], width[NOISE_TEXT], interval[NOISE_TEXT + 8] = "";
    if (e->shown || !is_announced(g) || e->t.nsamples < least) return;
    statistics so_far = statistics_of(e->t.sample_s, e->t.nsamples);
    time_text(so_far.median, median);
    char name[CELL_LABEL];
    cell_label(&g->run->cell[e->cell], name, sizeof name);
    noise_text(median_noise(&so_far), width);
    if (isfinite(median_noise(&so_far))) snprintf(interval, sizeof interval, ", +/- %s", width);
    say("%s  %s  %s, check %s%s so far\n", g->run->o->progress ? "\r\033[K" : "", name, median,
        g->run->o->verify ? "ok" : "off", interval);
    e->shown = true;
}

/* Shows a result as soon as it is final, unless an interim result of it was shown: the table
 * follows when all are final. */
static void show_final(const group *g, const candidate *e) {
    const int k = e->cell;
    const options *o = g->run->o;
    const record *r = &g->results[k].r;
    char median[TIME_TEXT], name[CELL_LABEL];
    if (e->shown || !is_announced(g)) return;
    cell_label(&g->run->cell[k], name, sizeof name);
    time_text(r->timing_median_s, median);
    bool ok = strcmp(r->status, "ok") == 0;
    say("%s  %d of %d: %s  %s%s%s%s\n", o->progress ? "\r\033[K" : "", g->done, g->count, name,
        ok ? median : status_text(r->status), ok ? ", check " : "", ok ? r->check_status : "",
        ok && r->timing_settled != 1 ? ", not settled" : "");
}

/* right: what was looked at so far. */
static void finish(group *g, candidate *e, spmv_status status, bool right) {
    right &= status == SPMV_OK;
    for (int k = 0; right && k < e->p.nproducts; k++) {
        status = problem_result(&e->p, k, g->y);
        right = status == SPMV_OK && check(g, e, g->y, e->p.negated[k], "last");
    }
    if (right) e->after = look_around(g, backend_of(g, e));
    settle(g, e, status, right);
    release(g, e);
    g->done++;
    show_final(g, e);
    if (!g->run->pass) return;
    int code = keep(g, e->cell);
    if (!g->code) g->code = code;
}

static void duration_left(const group *g, char out[DURATION]) {
    double least, most;
    time_left(g, &least, &most);
    duration_text(least, most, out);
}

static void show_round(const group *g, int round) {
    char duration[DURATION];
    if (!g->run->o->progress || g->run->o->quiet) return;
    duration_left(g, duration);
    say("\rround %d: %d of %d final, %s left\033[K", round + 1, g->done, g->count, duration);
}

/* Says how long it will take, for those who see no progress; and again when that does not hold. */
static void say_duration(group *g) {
    char duration[DURATION];
    double least, most;
    const double late = 1.25, elapsed = g->in_rounds ? spmv_now() - g->started_s : 0;
    if (g->run->o->progress || g->run->o->quiet || !is_long(g)) return;
    if (g->in_rounds && (g->done == g->count || elapsed < late * g->announced_s + 1)) return;
    time_left(g, &least, &most);
    duration_text(least, most, duration);
    if (g->in_rounds)
        say("  longer than announced: %d of %d final after %.0f s, %s left\n", g->done, g->count,
            elapsed, duration);
    else
        say("timing %d kernel%s: %s\n", g->count, g->count == 1 ? "" : "s in turns", duration);
    g->announced_s = elapsed + most;
}

static void watch_step(const session *run, int k) {
    if (run->watch.step) run->watch.step(run->watch.arg, k);
}

/* A host's kernel is measured on, up to its time, while its samples may be waits. */
static void mind_waits(candidate *e) {
    e->t.waiting = e->p.host && noise_is_waits(&e->noise);
    if (e->t.waiting) e->t.settled = false;
}

/* A slice on a CPU is short, so that the turns of a round are near each other and what disturbs
 * them is alike: twenty or more make up the least time. In warm caches the first sample of a turn
 * is lost: it takes no more than a tenth of the turn, or ten turns make up the least time, as on a
 * GPU, which nobody else uses meanwhile. */
static double slice_of(const group *g, const candidate *e) {
    const double short_s = 0.01;
    const timing *t = &e->t;
    bool warm = e->how.cache == SPMV_WARM;
    double lost_s = warm && t->nsamples ? t->inner * t->sample_s[t->nsamples - 1] : 0;
    double longest_s = e->how.min_time_s / (warm || !e->p.host ? 10 : 20);
    double timeout = g->run->o->timeout_s;
    double patience = timeout > 0 ? timeout / 4 : 60; /* seconds between two signs of life */
    return fmin(fmin(fmax(short_s, 10 * lost_s), longest_s), patience);
}

static void take_turn(group *g, candidate *e) {
    enum { LEAST_FOR_AN_INTERVAL = 6 };
    int first = e->t.nsamples;
    bool right = true;
    double slice_s = slice_of(g, e), spent_s = e->t.spent_s;
    watch_step(g->run, e->cell);
    noise before = noise_now();
    spmv_status status = problem_turn(&e->p, &e->how, &e->t, slice_s);
    noise after = noise_now();
    noise_add(&e->noise, &before, &after);
    mind_waits(e);
    if (status == SPMV_OK && g->in_rounds) add_turn(e, first, e->t.spent_s - spent_s, slice_s);
    if (status == SPMV_OK && !e->t.done) status = look(g, e, &right);
    if (status != SPMV_OK || e->t.done || !right)
        finish(g, e, status, right);
    else
        show_so_far(g, e, LEAST_FOR_AN_INTERVAL);
}

static int time_rounds(group *g) {
    int *order = malloc((size_t)(g->count ? g->count : 1) * sizeof *order);
    if (!order) return complain(SPMV_E_NOMEM, NULL);
    for (int k = 0; k < g->count; k++) order[k] = k;
    for (int round = 0; g->done < g->count && !g->code && !stop_code(); round++) {
        uint64_t seed = spmv_mix(g->run->o->seed + (uint64_t)g->run->pass);
        order_turns(g->run, g->candidate, order, g->count, seed + ((uint64_t)round << 32));
        show_round(g, round);
        say_duration(g);
        for (int k = 0; k < g->count && !stop_code(); k++)
            if (g->candidate[order[k]].plan) take_turn(g, &g->candidate[order[k]]);
    }
    free(order);
    return 0;
}

/* A user who waits sees soon that something is right: the first kernel has a turn before the others
 * are prepared. It is not its last, as it takes a tenth of the least time at most. */
static void take_first_turn(group *g) {
    candidate *e = &g->candidate[0];
    if (g->run->pass || !is_announced(g) || e->how.min_time_s == 0) return;
    take_turn(g, e);
    if (e->plan) show_so_far(g, e, 1);
}

/* Keeps of a sweep only what has had its least time: --resume measures the rest, as the rule
 * says. */
static bool is_worth_keeping(const group *g, const candidate *e) {
    return e->plan && e->t.nsamples > 0 &&
           (!g->run->pass ||
            (e->t.nsamples >= e->how.min_samples && e->t.spent_s >= e->how.min_time_s));
}

/* Rows that are not final when somebody stops the run: their intervals say how little is known. */
static void finish_early(group *g) {
    for (int k = 0; k < g->count; k++) {
        candidate *e = &g->candidate[k];
        e->t.last = true;
        if (is_worth_keeping(g, e)) finish(g, e, problem_turn(&e->p, &e->how, &e->t, 0), true);
    }
}

static int time_rounds_watched(group *g) {
    for (int k = 0; k < g->count; k++) { /* each device is looked at once */
        candidate *e = &g->candidate[k];
        int same = 0;
        while (backend_of(g, &g->candidate[same]) != backend_of(g, e)) same++;
        e->before = same < k ? g->candidate[same].before : look_around(g, backend_of(g, e));
    }
    g->started_s = spmv_now();
    g->spent_s = spent(g);
    say_duration(g);
    g->in_rounds = true;
    int code = time_rounds(g);
    finish_early(g);
    return code;
}

/* ---- groups --------------------------------------------------------------------------------- */

static void count_status(session *run, const record *r) {
    int *counter = strcmp(r->status, "ok") == 0        ? &run->nok
                   : strcmp(r->status, "wrong") == 0   ? &run->nwrong
                   : strcmp(r->status, "skipped") == 0 ? &run->nskipped
                                                       : &run->nfailed;
    ++*counter;
}

static void say_result(const group *g, const result *out) {
    const record *r = &out->r;
    say("  %s: %s", out->kernel, r->reason ? r->reason : r->status);
    if (r->perf_speedup_csr1 > 0) say_against_csr1(g->results, g->run->ncells, r);
    say("\n");
}

int keep_result(session *run, result *out) {
    out->finished = true;
    count_status(run, &out->r);
    int code = log_append(&run->log, record_fields(), &out->r);
    out->logged = !code && run->log.file >= 0;
    return code;
}

static int keep(group *g, int k) {
    session *run = g->run;
    result *out = &g->results[k];
    int code = keep_result(run, out);
    if (!run->o->quiet && run->o->verbose) say_result(g, out);
    if (run->watch.arg) run->watch.finished(run->watch.arg, k, out);
    return code;
}

/* Keeps also what was measured before somebody stopped the run. Where one row cannot be logged, the
 * others are kept all the same: the table shows them. */
static int keep_group(group *g, const bool *later) {
    int code = 0;
    for (int k = 0; k < g->run->ncells; k++) {
        if (g->results[k].finished || later[k] || !g->results[k].r.status) continue;
        int failed = keep(g, k);
        if (!code) code = failed;
    }
    return code;
}

static void show_admission(const session *run, int k) {
    char name[CELL_LABEL];
    if (!run->o->progress || run->o->quiet) return;
    cell_label(&run->cell[k], name, sizeof name);
    say("\r%3d of %d: %s\033[K", k + 1, run->ncells, name);
}

/* Admits as many unfinished cells as fit in memory, times and logs them. */
static int run_group(group *g) {
    const session *run = g->run;
    int code = 0;
    bool *later = calloc((size_t)g->run->ncells, sizeof *later);
    if (!later) return complain(SPMV_E_NOMEM, NULL);
    g->count = g->done = 0;
    g->in_rounds = false;
    g->run->group++;
    for (int k = 0; k < g->run->ncells && !code && !stop_code(); k++) {
        if (g->results[k].finished) continue;
        show_admission(run, k);
        watch_step(g->run, k);
        int admitted = g->count;
        code = admit(g, k, &later[k]);
        if (admitted == 0 && g->count == 1) take_first_turn(g);
        if (!code && g->run->pass && g->results[k].r.status && !later[k]) code = keep(g, k);
    }
    if (!code) code = time_rounds_watched(g);
    for (int k = 0; k < g->count; k++)
        if (g->candidate[k].plan) release(g, &g->candidate[k]);
    if (g->run->o->progress && !g->run->o->quiet) say("\r\033[K");
    rank_results(g->results, g->run->ncells);
    if (!code) code = keep_group(g, later);
    if (!code) code = g->code ? g->code : stop_code();
    spmv_mat_drop_stores(g->mat);
    free(later);
    return code;
}

static int count_unfinished(const group *g) {
    int n = 0;
    for (int k = 0; k < g->run->ncells; k++) n += !g->results[k].finished;
    return n;
}

int run_rounds(session *run, spmv_mat *mat, inputs *in, result *results) {
    group g = {.run = run, .mat = mat, .in = in, .results = results};
    int code = 0, left = run->ncells;
    g.candidate = calloc((size_t)run->ncells, sizeof *g.candidate);
    g.y = malloc((size_t)(in->rows ? in->vectors * in->rows : 1) * sizeof(double));
    if (!g.candidate || !g.y) code = complain(SPMV_E_NOMEM, NULL);
    stop_watch();
    while (left && !code) {
        code = run_group(&g);
        left = count_unfinished(&g);
        if (left && !code && run->o->verbose)
            say("  note: what does not fit beside the others, %d of %d, is tried by itself\n", left,
                run->ncells);
    }
    stop_unwatch();
    free(g.candidate);
    free(g.y);
    return code;
}
