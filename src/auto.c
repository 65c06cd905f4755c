/* auto.c: the kernel name "auto". The backend proposes kernels for the matrix's features; how many
 * of them are built and timed depends on how many products the caller promises. Whatever the model
 * says, what is chosen was timed on the device itself against the safe kernel, unless so few
 * products follow that nothing may be converted. */
#include "internal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_CONTENDERS = 6, MOST_PLAIN = 3, MOST_ROUNDS = 64, FEWEST_ROUNDS = 2 };
static const double budget_unknown = 10, budget_most = 100, /* products of the safe kernel */
    budget_to_convert = 10, budget_for_three = 33;
static const double sample_s = 1e-4;       /* so much at least makes a sample */
static const double least_budget_s = 1e-3; /* when nobody said how many products follow */
static const double worth_a_look = 1.1;    /* expected gain of a kernel that needs no conversion */
static const double worth_converting = 1.05;
static const double tie = 0.01, hopeless = 0.25; /* behind the best */

static const spmv_param no_params[] = {SPMV_NO_MORE_PARAMS};
const spmv_kernel spmv_auto_kernel = {
    .name = "auto",
    .format = "csr", /* which has no parameters either */
    .summary = "chosen for the matrix: candidates by its features, then a timed run-off",
    .params = no_params,
    .traits = SPMV_DETERMINISTIC,
};

typedef struct contender {
    const spmv_proposal *proposal;
    spmv_plan *plan;
    double made_s, sample[MOST_ROUNDS];
    int inner, nsamples;
    double product_s; /* lower quartile: what disturbs only adds time */
    bool given_up;    /* far behind: not timed further */
} contender;

typedef struct contest {
    spmv_mat *mat;
    const spmv_plan_opts *opts;
    const spmv_backend *backend;
    double start, budget, budget_s;
    contender entry[MOST_CONTENDERS]; /* the safe one first */
    int n;
    void *x, *y;
    char passed[256]; /* who was passed over, and why */
} contest;

/* ---- contenders ----------------------------------------------------------------------------- */

/* index: nkernels where there is none of that name. */
static spmv_kernel_id id_of(const spmv_backend *backend, const char *name) {
    spmv_kernel_id id = {.backend = backend};
    while (id.index < backend->nkernels && strcmp(backend->names[id.index], name) != 0) id.index++;
    return id;
}

static bool is_allowed(const contest *c, const spmv_proposal *p) {
    int index = id_of(c->backend, p->kernel).index;
    const spmv_kernel *kernel = index < c->backend->nkernels ? c->backend->kernels[index][0] : NULL;
    return kernel && (kernel->traits & SPMV_DETERMINISTIC || c->opts->nondeterministic);
}

/* Padding times an infinite x is NaN: only what never multiplies padding is right for any x. */
static bool multiplies_padding(const spmv_plan *plan) {
    return plan->kernel->traits & SPMV_PADS && plan->choice.value[SPMV_rowlens] != 1 &&
           plan->host->slots != plan->host->nnz;
}

static void pass_over(contest *c, const spmv_proposal *p, const char *why) {
    size_t used = strlen(c->passed);
    snprintf(c->passed + used, sizeof c->passed - used, "; passed over %s: %s", p->kernel, why);
}

/* False: it cannot be had, and *why says so. */
static bool enter(contest *c, const spmv_proposal *p, spmv_status *status) {
    contender *e = &c->entry[c->n];
    spmv_plan_opts opts = *c->opts;
    opts.settings = p->setting;
    opts.nsettings = p->nsettings;
    *e = (contender){.proposal = p};
    double start = spmv_now();
    *status = spmv_plan_make(c->mat, &opts, id_of(c->backend, p->kernel), c->n > 0, &e->plan);
    e->made_s = spmv_now() - start;
    if (*status == SPMV_OK && !multiplies_padding(e->plan)) {
        c->n++;
        return true;
    }
    pass_over(c, p, *status == SPMV_OK ? "it pads" : spmv_ctx_error(c->mat->ctx));
    spmv_plan_free(e->plan);
    return false;
}

/* Keeps the first failure: the others are of kernels that were only tried for want of it. */
static void keep_first(const spmv_ctx *ctx, spmv_status status, spmv_status *first, char *message,
                       size_t size) {
    if (*first != SPMV_OK) return;
    *first = status;
    snprintf(message, size, "%s", spmv_ctx_error(ctx));
}

/* The first safe kernel that can be had; else any kernel: a matrix that fits the device in one
 * format only gets its product too. */
static spmv_status enter_safe(contest *c, const spmv_proposal *p, int n) {
    spmv_ctx *ctx = c->mat->ctx;
    spmv_status status, first = SPMV_OK;
    char message[sizeof ctx->error];
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < n; k++) {
            if ((p[k].gain == 0) != (turn == 0) || !is_allowed(c, &p[k])) continue;
            if (enter(c, &p[k], &status)) return SPMV_OK;
            keep_first(ctx, status == SPMV_OK ? SPMV_E_UNSUITABLE : status, &first, message,
                       sizeof message);
            if (status == SPMV_E_DEVICE) return status;
        }
    if (first != SPMV_OK) return spmv_fail(ctx, first, "%s", message);
    return spmv_fail(ctx, SPMV_E_BACKEND, "auto: none of the kernels it knows is built in");
}

/* ---- the run-off ---------------------------------------------------------------------------- */

static double spent_s(const contest *c) {
    return spmv_now() - c->start;
}

static spmv_status make_vectors(contest *c) {
    const spmv_plan *plan = c->entry[0].plan;
    size_t width = c->opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    int64_t cols = c->mat->hub.cols, rows = c->mat->hub.rows;
    TRY(spmv_plan_alloc(plan, (size_t)cols * width, &c->x));
    TRY(spmv_plan_alloc(plan, (size_t)rows * width, &c->y));
    char *x = spmv_host_alloc((size_t)cols * width);
    if (!x) return spmv_fail(c->mat->ctx, SPMV_E_NOMEM, "out of memory");
#pragma omp parallel for schedule(static) num_threads(c->mat->ctx->threads) if (cols > 1 << 14)
    for (int64_t j = 0; j < cols; j++) {
        double value = (double)(spmv_mix((uint64_t)j + 1) >> 11) * 0x1p-53 + 0.5;
        if (width == sizeof(double))
            ((double *)(void *)x)[j] = value;
        else
            ((float *)(void *)x)[j] = (float)value;
    }
    spmv_status status = spmv_plan_put(plan, c->x, x, (size_t)cols * width);
    spmv_host_free(x);
    return status;
}

static void free_vectors(contest *c) {
    if (c->x) spmv_plan_release(c->entry[0].plan, c->x);
    if (c->y) spmv_plan_release(c->entry[0].plan, c->y);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One sample more, kept in order. */
static spmv_status time_once(contest *c, contender *e) {
    double seconds = 0;
    TRY(spmv_exec_timed(e->plan, e->inner, 1, c->x, 0, c->y, &seconds));
    e->sample[e->nsamples++] = seconds / e->inner;
    qsort(e->sample, (size_t)e->nsamples, sizeof *e->sample, by_size);
    e->product_s = e->sample[e->nsamples / 4];
    return SPMV_OK;
}

/* The first product meets cold pages. */
static spmv_status warm_up(contest *c, contender *e) {
    enum { MOST_INNER = 100 };
    double seconds = 0;
    TRY(spmv_exec_timed(e->plan, 1, 1, c->x, 0, c->y, &seconds));
    double inner = seconds > 0 ? ceil(sample_s / seconds) : MOST_INNER;
    e->inner = inner > MOST_INNER ? MOST_INNER : (int)inner;
    e->product_s = seconds;
    return SPMV_OK;
}

static contender *fastest(contest *c) {
    contender *best = &c->entry[0];
    for (int k = 1; k < c->n; k++)
        if (c->entry[k].product_s < (best == &c->entry[0] ? 1 - tie : 1) * best->product_s)
            best = &c->entry[k];
    return best;
}

/* Whether more samples could not change who is first: all others are behind by more than their
 * samples and the best's scatter. One sample each tells nothing: it may have been disturbed. */
static bool is_decided(contest *c) {
    const contender *best = fastest(c);
    bool decided = true;
    for (int k = 0; k < c->n; k++) {
        contender *e = &c->entry[k];
        if (e == best || e->given_up) continue;
        if (e->nsamples < 2 || best->nsamples < 2) return false;
        double behind = e->product_s / best->product_s - 1;
        double scatter = e->sample[e->nsamples / 2] / e->sample[0] +
                         best->sample[best->nsamples / 2] / best->sample[0] - 2;
        e->given_up = behind > hopeless + scatter;
        bool settled = behind > 2 * tie + scatter || scatter < tie;
        decided &= e->given_up || (e->nsamples > 2 && settled);
    }
    return decided;
}

/* A rival that fails is out of the contest; a device that fails, or the safe kernel, ends it. */
static spmv_status settle(contest *c, contender *e, spmv_status status) {
    if (status == SPMV_OK || e == &c->entry[0] || status == SPMV_E_DEVICE) return status;
    pass_over(c, e->proposal, spmv_ctx_error(c->mat->ctx));
    e->given_up = true;
    e->product_s = INFINITY;
    return SPMV_OK;
}

static spmv_status run_off(contest *c) {
    for (int k = 1; k < c->n; k++) { /* the safe one is warm */
        contender *e = &c->entry[k];
        TRY(settle(c, e, warm_up(c, e)));
    }
    for (int round = 0; round < MOST_ROUNDS; round++) {
        for (int k = 0; k < c->n; k++) {
            contender *e = &c->entry[(k + round) % c->n];
            if (!e->given_up) TRY(settle(c, e, time_once(c, e)));
        }
        if (is_decided(c)) break;
        if (round + 1 >= FEWEST_ROUNDS && spent_s(c) > c->budget_s) break;
    }
    return SPMV_OK;
}

/* ---- the choice ----------------------------------------------------------------------------- */

/* A third of what follows, up to 100; more only as a hundredth of it. */
static double budget_of(int64_t calls) {
    double third = (double)calls / 3, hundredth = (double)calls / 100;
    if (calls == 0) return budget_unknown;
    if (hundredth > budget_most) return hundredth;
    return third > budget_most ? budget_most : third < 1 ? 1 : third;
}

/* A product of the safe kernel, undisturbed, is the unit of the budget. */
static spmv_status measure_unit(contest *c, double *unit_s) {
    TRY(make_vectors(c));
    TRY(warm_up(c, &c->entry[0]));
    double cold_s = c->entry[0].product_s;
    TRY(warm_up(c, &c->entry[0]));
    if (cold_s < c->entry[0].product_s) c->entry[0].product_s = cold_s;
    *unit_s = c->entry[0].product_s > 0 ? c->entry[0].product_s : 1e-9;
    return SPMV_OK;
}

/* Whether there is time for one more: with little to spend one that needs conversion; of those that
 * need none, which cost a few products, several if they promise much. */
static bool has_time_for(const contest *c, const spmv_proposal *p) {
    int plain = 0;
    bool rich = c->budget >= budget_for_three;
    for (int k = 1; k < c->n; k++) plain += c->entry[k].proposal->prep == 0;
    if (p->prep > 0) return c->n - 1 - plain < (rich ? MOST_CONTENDERS : 1);
    return c->n == 1 || (plain < MOST_PLAIN && (rich || p->gain >= worth_a_look));
}

/* Those of the others that promise to pay, best first. */
static spmv_status enter_rivals(contest *c, const spmv_proposal *p, int n, double unit_s) {
    for (int k = 0; k < n && c->n < MOST_CONTENDERS; k++) {
        spmv_status status;
        double left = c->budget - spent_s(c) / unit_s;
        bool affordable =
            p[k].prep <= left || (c->opts->expected_calls == 0 && p[k].prep <= c->budget);
        if (&p[k] == c->entry[0].proposal || !is_allowed(c, &p[k])) continue;
        if (p[k].gain <= (p[k].prep > 0 ? worth_converting : 1) || !has_time_for(c, &p[k]))
            continue;
        if (!affordable) {
            pass_over(c, &p[k], "its preparation would not pay");
            continue;
        }
        if (!enter(c, &p[k], &status) && status == SPMV_E_DEVICE) return status;
    }
    return SPMV_OK;
}

static void explain(const contest *c, const contender *chosen, spmv_tuning *t) {
    const contender *safe = &c->entry[0], *rival = NULL;
    for (int k = 1; k < c->n; k++)
        if (!rival || c->entry[k].product_s < rival->product_s) rival = &c->entry[k];
    const char *name = chosen->plan->kernel->name;
    if (chosen != safe)
        snprintf(t->reason, sizeof t->reason, "%s: %s; %.2f x %s in the run-off%s", name,
                 chosen->proposal->why, safe->product_s / chosen->product_s,
                 safe->plan->kernel->name, c->passed);
    else if (rival)
        snprintf(t->reason, sizeof t->reason,
                 "%s: %s (%s) reached %.2f x its speed in the run-off%s", name,
                 rival->plan->kernel->name, rival->proposal->why,
                 safe->product_s / rival->product_s, c->passed);
    else
        snprintf(t->reason, sizeof t->reason, "%s: %s%s", name, chosen->proposal->why, c->passed);
    if (!rival) return;
    t->timed = c->n;
    t->safe = safe->plan->kernel->name;
    t->safe_product_s = safe->product_s;
    t->chosen_product_s = chosen->product_s;
}

/* What of the contest's time is no tuning: preparing what was chosen, the way of the matrix to the
 * device also where the safe kernel sent it, and starting libraries, which is charged to nobody. */
static double charged_s(const contest *c, const spmv_plan *chosen) {
    double seconds = chosen->convert_s + chosen->upload_s + chosen->prepare_s;
    for (int k = 0; k < c->n; k++) seconds += c->entry[k].plan->once_s;
    return seconds;
}

/* Stores that were made for the contest and lost it. */
static void drop_losers(spmv_mat *mat, const spmv_stored *before, const spmv_store *keep) {
    for (spmv_stored **at = &mat->stores; *at && *at != before;) {
        spmv_stored *stored = *at;
        if (stored->host == keep) {
            at = &stored->next;
            continue;
        }
        *at = stored->next;
        stored->next = NULL;
        spmv_stored_free(mat->ctx, stored);
    }
}

/* Untimed: the first that needs no conversion and should be faster, or the safe kernel. */
static spmv_status choose_quickly(contest *c, const spmv_proposal *p, int n) {
    spmv_status status;
    for (int k = 0; k < n; k++)
        if (p[k].prep == 0 && p[k].gain > 1 && is_allowed(c, &p[k]) && enter(c, &p[k], &status))
            return SPMV_OK;
    return enter_safe(c, p, n);
}

static spmv_status hold(contest *c, const spmv_proposal *p, int n) {
    double unit_s = 0;
    if (c->budget < budget_to_convert) return choose_quickly(c, p, n);
    TRY(enter_safe(c, p, n));
    if (n == 1 || c->mat->hub.nnz == 0) return SPMV_OK;
    c->start += c->entry[0].made_s; /* the budget is for what the safe kernel would not cost */
    TRY(measure_unit(c, &unit_s));
    c->budget_s = c->budget * unit_s;
    if (c->opts->expected_calls == 0 && c->budget_s < least_budget_s) c->budget_s = least_budget_s;
    c->budget = c->budget_s / unit_s;
    TRY(enter_rivals(c, p, n, unit_s));
    return c->n > 1 ? run_off(c) : SPMV_OK;
}

spmv_proposal *spmv_offer(spmv_proposals *all, const char *kernel, double prep, double gain,
                          const char *why, ...) {
    spmv_proposal *p = &all->list[all->n++];
    va_list args;
    *p = (spmv_proposal){.kernel = kernel, .prep = prep, .gain = gain};
    va_start(args, why);
    vsnprintf(p->why, sizeof p->why, why, args);
    va_end(args);
    return p;
}

/* Stable, the greater gain first, the safe ones last. */
static void sort_by_gain(spmv_proposals *all) {
    for (int k = 1; k < all->n; k++) {
        spmv_proposal p = all->list[k];
        int at = k;
        for (; at > 0 && all->list[at - 1].gain < p.gain; at--) all->list[at] = all->list[at - 1];
        all->list[at] = p;
    }
}

spmv_status spmv_auto_contest(spmv_mat *mat, const spmv_plan_opts *opts,
                              const spmv_backend *backend, spmv_proposals *all, double start,
                              spmv_plan **out) {
    contest c = {.mat = mat,
                 .opts = opts,
                 .backend = backend,
                 .start = start,
                 .budget = budget_of(opts->expected_calls)};
    const spmv_stored *before = mat->stores;
    spmv_tuning *tuning = calloc(1, sizeof *tuning);
    *out = NULL;
    if (!tuning) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    sort_by_gain(all);
    spmv_status status = hold(&c, all->list, all->n);
    if (c.n) free_vectors(&c);
    if (status == SPMV_OK) {
        contender *chosen = fastest(&c);
        explain(&c, chosen, tuning);
        tuning->tune_s = spmv_now() - start - charged_s(&c, chosen->plan);
        *out = chosen->plan;
        chosen->plan = NULL;
        (*out)->tuning = tuning;
    } else {
        free(tuning);
    }
    for (int k = 0; k < c.n; k++) spmv_plan_free(c.entry[k].plan);
    drop_losers(mat, before, *out ? (*out)->host : NULL);
    return status;
}

/* The last-level cache: the device's, or the host's own. */
static size_t cache_of(const spmv_backend *backend, const spmv_device_facts *facts) {
    long host = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (!backend->host) return facts->l2;
    return host > 0 ? (size_t)host : 0;
}

spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out) {
    char before[sizeof mat->ctx->error];
    spmv_proposals proposals = {.n = 0};
    spmv_features features;
    spmv_device_facts facts;
    double start = spmv_now();
    if (opts->nsettings)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "auto takes no parameter '%s'; name a kernel for it",
                         opts->settings[0].name);
    if (opts->expected_calls < 0)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "expected_calls is %lld, must be 0 or more",
                         (long long)opts->expected_calls);
    snprintf(before, sizeof before, "%s", mat->ctx->error);
    TRY(spmv_ctx_describe(mat->ctx, backend, &facts));
    TRY(spmv_features_of(mat, opts->precision, &features));
    features.cache = cache_of(backend, &facts);
    backend->propose(&features, &proposals);
    TRY(spmv_auto_contest(mat, opts, backend, &proposals, start, out));
    snprintf(mat->ctx->error, sizeof mat->ctx->error, "%s", before); /* of those passed over */
    return SPMV_OK;
}
