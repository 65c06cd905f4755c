/* auto.c: the kernel name "auto". The backend proposes kernels for the matrix's features; how many
 * of them are built and timed depends on how many products the caller promises. Whatever the model
 * says, what is chosen was timed on the device itself against the safe kernel, unless so few
 * products follow that nothing may be converted, or no other could be had or paid. */
#include "trials.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Products of the safe kernel. On a GPU it takes 0.5 to 0.95 of cuSPARSE's on compressed rows, of
 * which ten are meant. */
static const double budget_unknown = 10, budget_unknown_gpu = 12, budget_most = 100,
                    budget_to_convert = 10;
static const double worth_a_look = 1.1; /* expected gain of a kernel that needs no conversion */
static const double worth_converting = 1.05, cheap = 0.1; /* of the budget */
static const double in_sight = 0.4, in_reach = 0.9;       /* of the gain promised by another */

/* ---- contenders ----------------------------------------------------------------------------- */

static const spmv_kernel *kernel_named(const spmv_backend *backend, const char *name) {
    for (int k = 0; k < backend->nkernels; k++)
        if (strcmp(backend->names[k], name) == 0) return backend->kernels[k][0];
    return NULL;
}

static bool is_allowed(const contest *c, const spmv_proposal *p) {
    const spmv_kernel *kernel = kernel_named(c->backend, p->kernel);
    return kernel && !kernel->absent &&
           (kernel->traits & SPMV_DETERMINISTIC || c->opts->nondeterministic);
}

/* Padding times an infinite x is NaN: only what never multiplies padding is right for any x. */
static bool multiplies_padding(const spmv_plan *plan) {
    return plan->kernel->traits & SPMV_PADS && plan->choice.value[SPMV_rowlens] != 1 &&
           plan->host->slots != plan->host->nnz;
}

/* False: it cannot be had, and *why says so. */
static bool enter(contest *c, const spmv_proposal *p, spmv_status *status) {
    contender *e = &c->entry[c->n];
    char name[64];
    spmv_plan_opts opts = *c->opts;
    snprintf(name, sizeof name, "%s:%s", c->backend->name, p->kernel);
    opts.kernel = name;
    opts.settings = p->setting;
    opts.nsettings = p->nsettings;
    *e = (contender){.proposal = p};
    if (c->budget >= budget_to_convert) /* else nothing is timed */
        c->once_s += spmv_rehearse(c->mat, &opts, c->backend, p);
    double start = spmv_now();
    *status = spmv_plan_make(c->mat, &opts, c->n > 0, &e->plan);
    if (*status == SPMV_OK) {
        c->once_s += e->plan->once_s;
        if (c->n == 0) c->sent_s = spmv_plan_sent_since(e->plan, start);
    }
    if (*status == SPMV_OK && !multiplies_padding(e->plan)) {
        c->n++;
        return true;
    }
    spmv_contest_pass_over(c, p, *status == SPMV_OK ? "it pads" : spmv_ctx_error(c->mat->ctx));
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
            TRY(spmv_contest_go_on(c, status));
        }
    if (first != SPMV_OK) return spmv_fail(ctx, first, "%s", message);
    return spmv_fail(ctx, SPMV_E_BACKEND, "auto: none of the kernels it knows is built in");
}

/* ---- the choice ----------------------------------------------------------------------------- */

/* A third of what follows, up to 100; more only as a hundredth of it. */
static double budget_of(int64_t calls, const spmv_backend *backend) {
    double third = (double)calls / 3, hundredth = (double)calls / 100;
    if (calls == 0) return backend->host ? budget_unknown : budget_unknown_gpu;
    if (hundredth > budget_most) return hundredth;
    return third > budget_most ? budget_most : third < 1 ? 1 : third;
}

/* Whether there is time for one more: with little to spend one that needs no conversion, if it
 * promises enough beside the best of them all, and one that does; where there is neither, any. */
static bool has_time_for(const contest *c, const spmv_proposal *p, double best) {
    enum { MOST_PLAIN = 3 };
    int plain = 0;
    double first = c->n > 1 ? c->entry[1].proposal->gain : 0;
    for (int k = 1; k < c->n; k++) plain += c->entry[k].proposal->prep == 0;
    if (is_plenty(c->budget)) return p->prep > 0 || plain < MOST_PLAIN;
    if (p->prep > 0) return c->n - 1 == plain && p->gain >= in_reach * first;
    return plain == 0 && p->gain >= worth_a_look && p->gain >= in_sight * best;
}

/* In products of the safe kernel: its preparation, and a look at it and at each that was not yet
 * looked at. The first that takes a tenth of the budget at most is never too dear: what was spent
 * until then, as on waking threads, is no word on it. */
static bool is_affordable(const contest *c, const spmv_proposal *p, double unit_s) {
    double products = p->prep + 1 / p->gain;
    if (c->n == 1 && products <= cheap * c->budget) return true;
    for (int k = 1; k < c->n; k++) products += 1 / c->entry[k].proposal->gain;
    return products <= (c->budget_s - spmv_contest_spent_s(c)) / unit_s;
}

static spmv_status enter_rival(contest *c, const spmv_proposal *p, double unit_s) {
    spmv_status status;
    if (!is_affordable(c, p, unit_s))
        spmv_contest_pass_over(
            c, p, p->prep > 0 ? "its preparation would not pay" : "no time was left to try it");
    else if (!enter(c, p, &status))
        return spmv_contest_go_on(c, status);
    return SPMV_OK;
}

static bool promises_to_pay(const contest *c, const spmv_proposal *p) {
    return p != c->entry[0].proposal && is_allowed(c, p) &&
           p->gain > (p->prep > 0 ? worth_converting : 1);
}

/* Those that there is time for, best first: of those that need no conversion, that do, or all. */
static spmv_status enter_those(contest *c, const spmv_proposal *p, int n, double unit_s, bool plain,
                               bool converted) {
    double best = 0;
    for (int k = 0; k < n; k++)
        if (is_allowed(c, &p[k]) && p[k].gain > best && is_affordable(c, &p[k], unit_s))
            best = p[k].gain;
    for (int k = 0; k < n && c->n < MOST_CONTENDERS; k++)
        if ((p[k].prep > 0 ? converted : plain) && promises_to_pay(c, &p[k]) &&
            has_time_for(c, &p[k], best))
            TRY(enter_rival(c, &p[k], unit_s));
    return SPMV_OK;
}

/* On a CPU first those that need no conversion, which cost a product or two; on a GPU in the order
 * of their promises, since a look at them there takes the time that the best conversion needs
 * (box27 told nothing: csell_warp 2.3, what is left 1.03 times the best of cuSPARSE). */
static spmv_status enter_rivals(contest *c, const spmv_proposal *p, int n, double unit_s) {
    bool host = c->backend->host;
    if (host) TRY(enter_those(c, p, n, unit_s, true, false));
    TRY(enter_those(c, p, n, unit_s, !host, true));
    for (int k = 0; k < n && c->n == 1; k++) /* else any that needs none */
        if (p[k].prep == 0 && promises_to_pay(c, &p[k])) TRY(enter_rival(c, &p[k], unit_s));
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
    if (safe->product_s <= 0) return;
    t->timed = rival ? c->n : 0;
    t->safe = safe->plan->kernel->name;
    t->safe_product_s = safe->product_s;
    t->flush_bytes = c->flush;
    t->chosen_product_s = chosen->product_s;
}

/* What of the contest's time is no tuning: what the chosen plan books as its own preparation, also
 * where an earlier contender made its store, and what a process does once. */
static double charged_apart(const contest *c, const spmv_plan *chosen, double start) {
    return spmv_plan_stored_since(chosen, start) + chosen->prepare_s + c->once_s + c->room_s;
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

/* Whether the caches would otherwise keep much of the matrix, and its use will not. */
static bool is_evicted(const spmv_mat *mat, const spmv_plan_opts *opts, size_t cache) {
    const double much = 2; /* times the cache: less than half of it is kept */
    double width = opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    double bytes = (double)mat->hub.nnz * (width + sizeof(int32_t)) +
                   (double)(mat->hub.rows + mat->hub.cols) * width;
    return opts->cache != SPMV_WARM && bytes < much * (double)cache;
}

/* Enough that the caches forget, and no more, since it takes longer than most products: twice a
 * processor's; four times a GPU's, since an H200 keeps up to 100 MB though it says 63. */
static size_t bytes_to_flush(const contest *c) {
    size_t line = 4096, bytes = (c->backend->host ? 2 : 4) * c->cache;
    if (!is_evicted(c->mat, c->opts, c->cache)) return 0;
    size_t most = c->backend->free_bytes(c->device) / 4;
    return (bytes < most ? bytes : most) / line * line;
}

/* Products one after the other on a GPU overlap, which a single one does not show: for that they
 * need data of their own. No more of it than exceeds the caches, or a quarter of what is free. */
static int count_copies(const contest *c) {
    const spmv_plan *safe = c->entry[0].plan;
    if (!c->flush || c->opts->cache != SPMV_STEADY || !c->backend->record_start) return 1;
    double vectors = 8 * (double)(c->mat->hub.rows + c->mat->hub.cols);
    double each = 1.5 * (double)(spmv_store_bytes(safe->host) + safe->scratch_bytes) + vectors;
    double n = 4 * (double)c->cache / each;
    double most = (double)c->backend->free_bytes(c->device) / 4 / MOST_CONTENDERS / each;
    n = n < most ? n : most;
    return n > MOST_COPIES ? MOST_COPIES : n < 2 ? 1 : (int)n;
}

/* What a device's driver gives at once it gives in half the time: before the rows are sent, room
 * for them, the vectors and another format of one and a half times their size. It is part of the
 * sending, as the driver's time for the rows alone would be. */
static void make_room(contest *c, const spmv_proposal *p, int n) {
    const double most = 0.25; /* of what is free */
    const spmv_rows *A = &c->mat->hub;
    double width = c->opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    double rows = (double)A->nnz * (width + sizeof(int32_t)) + (double)A->rows * sizeof(int32_t);
    double all = 2.5 * rows + (double)(A->rows + A->cols) * width, start = spmv_now();
    bool converts = false;
    void *room = NULL;
    for (int k = 0; k < n; k++) converts |= p[k].prep > 0 && promises_to_pay(c, &p[k]);
    if (c->backend->host || !converts || c->mat->stores) return;
    if (all > most * (double)c->backend->free_bytes(c->device)) return;
    if (c->backend->alloc(c->device, (size_t)all, &room) == SPMV_OK)
        c->backend->release(c->device, room);
    c->room_s = spmv_now() - start;
}

static spmv_status hold(contest *c, const spmv_proposal *p, int n) {
    double unit_s = 0;
    TRY(spmv_ctx_device(c->mat->ctx, c->backend, &c->device));
    if (c->budget < budget_to_convert) return choose_quickly(c, p, n);
    make_room(c, p, n);
    TRY(enter_safe(c, p, n));
    c->sent_s += c->room_s;
    c->device = c->entry[0].plan->device;
    c->cache = c->mat->ctx->cache[c->device - c->mat->ctx->device];
    if (n == 1 || c->mat->hub.nnz == 0) return SPMV_OK;
    c->flush = bytes_to_flush(c);
    c->copies = count_copies(c);
    TRY(spmv_contest_unit(c, &unit_s));
    TRY(enter_rivals(c, p, n, unit_s));
    return c->n > 1 ? spmv_contest_run_off(c) : SPMV_OK;
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
                 .budget = budget_of(opts->expected_calls, backend)};
    const spmv_stored *before = mat->stores;
    spmv_tuning *tuning = calloc(1, sizeof *tuning);
    *out = NULL;
    if (!tuning) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    sort_by_gain(all);
    spmv_status status = hold(&c, all->list, all->n);
    contender *chosen = status == SPMV_OK ? spmv_contest_fastest(&c) : NULL;
    if (chosen) explain(&c, chosen, tuning);
    double charged_s = chosen ? charged_apart(&c, chosen->plan, start) : 0;
    spmv_plan *plan = chosen ? chosen->plan : NULL;
    if (chosen) chosen->plan = NULL, plan->once_s = c.once_s, plan->upload_s += c.room_s;
    spmv_contest_free(&c);
    drop_losers(mat, before, plan ? plan->host : NULL);
    if (!plan) {
        free(tuning);
        return status;
    }
    tuning->tune_s = spmv_now() - start - charged_s;
    plan->tuning = tuning;
    *out = plan;
    return SPMV_OK;
}

spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out) {
    char before[sizeof mat->ctx->error];
    spmv_proposals proposals = {.n = 0};
    spmv_features features;
    spmv_device *device = NULL;
    if (opts->nsettings)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "auto takes no parameter '%s'; name a kernel for it",
                         opts->settings[0].name);
    if (opts->expected_calls < 0)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "expected_calls is %lld, must be 0 or more",
                         (long long)opts->expected_calls);
    snprintf(before, sizeof before, "%s", mat->ctx->error);
    TRY(spmv_ctx_device(mat->ctx, backend, &device));
    double budget = budget_of(opts->expected_calls, backend);
    spmv_look look = is_plenty(budget) ? SPMV_LOOK : SPMV_GLANCE;
    if (backend->host) look = budget < budget_to_convert ? SPMV_NO_LOOK : SPMV_STUDY;
    double start = spmv_now();
    TRY(spmv_features_of(mat, opts->precision, look, &features));
    features.cache = mat->ctx->cache[device - mat->ctx->device];
    features.evicted = is_evicted(mat, opts, features.cache);
    backend->propose(&features, &proposals);
    TRY(spmv_auto_contest(mat, opts, backend, &proposals, start, out));
    snprintf(mat->ctx->error, sizeof mat->ctx->error, "%s", before); /* of those passed over */
    return SPMV_OK;
}
