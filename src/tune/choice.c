/* choice.c: the kernel name "auto". The backend proposes kernels for the matrix's features; how
 * many of them are built and timed depends on the expected number of products. Whatever the model
 * predicts, the chosen kernel was timed on the device itself against the baseline kernel, unless so
 * few products follow that nothing may be converted, or no other kernel could be built or paid. */
#include "trials.h"
#include "wisdom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Budgets are in baseline product times. On a GPU the baseline kernel takes 0.5 to 0.95 of the time
 * of cuSPARSE's CSR kernel; 12 of its products are about ten of cuSPARSE's. */
static const double budget_unknown = 10, budget_unknown_gpu = 12; /* unknown number of products */
static const double budget_most = 100;      /* up to where a third of the products may be spent */
static const double budget_to_convert = 10; /* with less, nothing is converted or timed */
/* Predicted speed-ups over the baseline kernel that a candidate must have on a CPU: with a small
 * budget and no conversion; with conversion; of the best of all candidates; of the first admitted.
 * And on a GPU, whose model is within a fifth for most kernels: over the baseline, of the best. */
static const double worth_a_trial = 1.1, worth_converting = 1.05, least_of_best = 0.4,
                    least_of_first = 0.9, worth_a_trial_gpu = 0.8, least_of_best_gpu = 0.75;
static const double cheap_setup = 0.1; /* share of the budget that is always affordable */

/* ---- candidates ----------------------------------------------------------------------------- */

static const spmv_kernel *kernel_named(const spmv_backend *backend, const char *name) {
    for (int k = 0; k < backend->nkernels; k++)
        if (strcmp(backend->names[k], name) == 0) return backend->kernels[k][0];
    return NULL;
}

static bool is_allowed(const trials *c, const spmv_proposal *p) {
    const spmv_kernel *kernel = kernel_named(c->backend, p->kernel);
    return kernel && !kernel->absent &&
           (kernel->traits & SPMV_DETERMINISTIC || c->opts->nondeterministic);
}

/* Padding times an infinite x is NaN: only a kernel that never multiplies padding is right for
 * every x. */
static bool multiplies_padding(const spmv_plan *plan) {
    return plan->kernel->traits & SPMV_PADS && plan->choice.value[SPMV_rowlens] != 1 &&
           plan->host->slots != plan->host->nnz;
}

/* Builds the kernel's plan and makes it a candidate. Returns false if it cannot be used: then it is
 * passed over, and *status says whether building failed. */
static bool admit(trials *c, const spmv_proposal *p, spmv_status *status) {
    candidate *e = &c->entry[c->n];
    char name[64];
    spmv_plan_opts opts = *c->opts;
    snprintf(name, sizeof name, "%s:%s", c->backend->name, p->kernel);
    opts.kernel = name;
    opts.settings = p->setting;
    opts.nsettings = p->nsettings;
    *e = (candidate){.proposal = p};
    if (c->budget >= budget_to_convert) /* otherwise nothing is timed */
        c->once_s += spmv_warm_up(c->mat, &opts, c->backend, p);
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
    spmv_trials_pass_over(c, p, *status == SPMV_OK ? "it pads" : spmv_ctx_error(c->mat->ctx));
    spmv_plan_free(e->plan);
    return false;
}

/* Keeps the first failure: later ones are of kernels that were only tried because of it. */
static void keep_first(const spmv_ctx *ctx, spmv_status status, spmv_status *first, char *message,
                       size_t size) {
    if (*first != SPMV_OK) return;
    *first = status;
    snprintf(message, size, "%s", spmv_ctx_error(ctx));
}

/* Admits the first baseline kernel that can be built, or any kernel if there is none: a matrix that
 * fits the device in a single format is multiplied, too. */
static spmv_status admit_baseline(trials *c, const spmv_proposal *p, int n) {
    spmv_ctx *ctx = c->mat->ctx;
    spmv_status status, first = SPMV_OK;
    char message[sizeof ctx->error];
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n; k++) {
            if ((p[k].predicted_speedup == 0) != (pass == 0) || !is_allowed(c, &p[k])) continue;
            if (admit(c, &p[k], &status)) return SPMV_OK;
            keep_first(ctx, status == SPMV_OK ? SPMV_E_UNSUITABLE : status, &first, message,
                       sizeof message);
            TRY(spmv_trials_go_on(c, status));
        }
    if (first != SPMV_OK) return spmv_fail(ctx, first, "%s", message);
    return spmv_fail(ctx, SPMV_E_BACKEND, "auto: none of the kernels it knows is built in");
}

/* ---- the choice ----------------------------------------------------------------------------- */

/* A third of the expected number of products, up to 100; more only if that is a hundredth of it. */
static double budget_of(int64_t calls, const spmv_backend *backend) {
    double third = (double)calls / 3, hundredth = (double)calls / 100;
    if (calls == 0) return backend->host ? budget_unknown : budget_unknown_gpu;
    if (hundredth > budget_most) return hundredth;
    return third > budget_most ? budget_most : third < 1 ? 1 : third;
}

/* Whether there is time for one more candidate. On a CPU, with a small budget, there is time for
 * one that needs a conversion, and for one that needs none, if its prediction is not far behind the
 * best. best: the greatest predicted speed-up, on a CPU of all that one can afford, on a GPU of
 * those admitted. */
static bool has_time_for(const trials *c, const spmv_proposal *p, double best) {
    enum { MOST_PLAIN = 3 };
    int plain = 0;
    double first = c->n > 1 ? c->entry[1].proposal->predicted_speedup : 0;
    if (!c->backend->host) return p->predicted_speedup >= least_of_best_gpu * best;
    for (int k = 1; k < c->n; k++) plain += c->entry[k].proposal->predicted_setup == 0;
    if (is_large_budget(c->budget)) return p->predicted_setup > 0 || plain < MOST_PLAIN;
    if (p->predicted_setup > 0)
        return c->n - 1 == plain && p->predicted_speedup >= least_of_first * first;
    return plain == 0 && p->predicted_speedup >= worth_a_trial &&
           p->predicted_speedup >= least_of_best * best;
}

/* Whether the rest of the budget pays for the set-up of the candidate and for one product of it and
 * of each candidate not yet timed, all in baseline product times. The first one that takes at most
 * a tenth of the budget is always affordable: what was spent before it, as on waking threads, says
 * nothing about it. */
static bool is_affordable(const trials *c, const spmv_proposal *p, double baseline_s) {
    double unit = c->predicted_s > 0 ? c->predicted_s / baseline_s : 1;
    double products = unit * p->predicted_setup + 1 / p->predicted_speedup;
    if (c->n == 1 && products <= cheap_setup * c->budget) return true;
    for (int k = 1; k < c->n; k++) products += 1 / c->entry[k].proposal->predicted_speedup;
    return products <= (c->budget_s - spmv_trials_spent_s(c)) / baseline_s;
}

static spmv_status admit_if_affordable(trials *c, const spmv_proposal *p, double baseline_s) {
    spmv_status status;
    if (!is_affordable(c, p, baseline_s))
        spmv_trials_pass_over(c, p,
                              p->predicted_setup > 0 ? "its set-up would not pay"
                                                     : "no time was left to try it");
    else if (!admit(c, p, &status))
        return spmv_trials_go_on(c, status);
    return SPMV_OK;
}

static bool is_predicted_to_pay(const trials *c, const spmv_proposal *p) {
    double least = !c->backend->host        ? worth_a_trial_gpu
                   : p->predicted_setup > 0 ? worth_converting
                                            : 1;
    return p != c->entry[0].proposal && is_allowed(c, p) && p->predicted_speedup > least;
}

/* Admits candidates for which there is time, best prediction first: those that need no conversion
 * if plain, those that need one if converted. */
static spmv_status admit_by_setup(trials *c, const spmv_proposal *p, int n, double baseline_s,
                                  bool plain, bool converted) {
    double best = 0;
    for (int k = 0; c->backend->host && k < n; k++)
        if (is_allowed(c, &p[k]) && is_affordable(c, &p[k], baseline_s))
            best = fmax(best, p[k].predicted_speedup);
    for (int k = 0; k < n && c->n < MOST_CANDIDATES; k++) {
        if (c->n > 1) best = fmax(best, c->entry[1].proposal->predicted_speedup);
        if ((p[k].predicted_setup > 0 ? converted : plain) && is_predicted_to_pay(c, &p[k]) &&
            has_time_for(c, &p[k], best))
            TRY(admit_if_affordable(c, &p[k], baseline_s));
    }
    return SPMV_OK;
}

/* On a CPU those that need no conversion come first, since they cost a product or two. On a GPU the
 * order is that of the predictions, since one product of each takes the time that the best
 * conversion needs (box27, number of products unknown: csell_warp reaches 2.3 times the speed of
 * the best of cuSPARSE, what is affordable after plain candidates 1.03 times). */
static spmv_status admit_candidates(trials *c, const spmv_proposal *p, int n, double baseline_s) {
    bool host = c->backend->host;
    if (host) TRY(admit_by_setup(c, p, n, baseline_s, true, false));
    TRY(admit_by_setup(c, p, n, baseline_s, !host, true));
    for (int k = 0; k < n && c->n == 1; k++) /* otherwise any that needs no conversion */
        if (p[k].predicted_setup == 0 && is_predicted_to_pay(c, &p[k]))
            TRY(admit_if_affordable(c, &p[k], baseline_s));
    return SPMV_OK;
}

static void explain(const trials *c, const candidate *chosen, spmv_tuning *t) {
    const candidate *baseline = &c->entry[0], *other = NULL;
    for (int k = 1; k < c->n; k++)
        if (!other || c->entry[k].product_s < other->product_s) other = &c->entry[k];
    const char *name = chosen->plan->kernel->name;
    if (chosen != baseline)
        snprintf(t->reason, sizeof t->reason, "%s: %s; %.2f x %s in the trials%s", name,
                 chosen->proposal->why, baseline->product_s / chosen->product_s,
                 baseline->plan->kernel->name, c->passed);
    else if (other)
        snprintf(t->reason, sizeof t->reason,
                 "%s: %s (%s) reached %.2f x its speed in the trials%s", name,
                 other->plan->kernel->name, other->proposal->why,
                 baseline->product_s / other->product_s, c->passed);
    else
        snprintf(t->reason, sizeof t->reason, "%s: %s%s", name, chosen->proposal->why, c->passed);
    if (baseline->product_s <= 0) return;
    t->timed = other ? c->n : 0;
    t->baseline = baseline->plan->kernel->name;
    t->baseline_product_s = baseline->product_s;
    t->flush_bytes = c->flush;
    t->chosen_product_s = chosen->product_s;
}

/* The part of the time since start that is not tuning: what the chosen plan reports as its own
 * preparation, even where an earlier candidate built its store, and what a process does once. */
static double charged_apart(const trials *c, const spmv_plan *chosen, double start) {
    return spmv_plan_stored_since(chosen, start) + chosen->prepare_s + c->once_s + c->room_s;
}

/* Frees the stores that were built for candidates which were not chosen. */
static void drop_unchosen(spmv_mat *mat, const spmv_stored *before, const spmv_store *keep) {
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

/* Without timing: the best prediction that needs no conversion, or the baseline kernel. */
static spmv_status choose_untimed(trials *c, const spmv_proposal *p, int n) {
    spmv_status status;
    for (int k = 0; k < n; k++)
        if (p[k].predicted_setup == 0 && p[k].predicted_speedup > 1 && is_allowed(c, &p[k]) &&
            admit(c, &p[k], &status))
            return SPMV_OK;
    return admit_baseline(c, p, n);
}

/* Whether caches could keep much of the matrix between timed products, but will not in its use. */
static bool is_evicted(const spmv_mat *mat, const spmv_plan_opts *opts, size_t cache) {
    const double much = 2; /* times the cache: of a larger matrix less than half is kept */
    double width = opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    double bytes = (double)mat->csr.nnz * (width + sizeof(int32_t)) +
                   (double)(mat->csr.rows + mat->csr.cols) * width;
    return opts->cache != SPMV_WARM && bytes < much * (double)cache;
}

/* Bytes that empty the caches when they are read, and no more, since that takes longer than most
 * products: twice a processor's cache; four times a GPU's, since an H200 keeps up to 100 MB
 * although it reports 63. */
static size_t bytes_to_flush(const trials *c) {
    size_t line = 4096, bytes = (c->backend->host ? 2 : 4) * c->cache;
    if (!is_evicted(c->mat, c->opts, c->cache)) return 0;
    size_t most = c->backend->free_bytes(c->device) / 4;
    return (bytes < most ? bytes : most) / line * line;
}

/* How many copies of the data a steady sample goes through. Consecutive products on a GPU overlap,
 * which a single one does not show; for that they need data of their own. The copies take no more
 * than is needed to exceed the caches, nor than a quarter of the free memory. */
static int count_copies(const trials *c) {
    const spmv_plan *baseline = c->entry[0].plan;
    if (!c->flush || c->opts->cache != SPMV_STEADY || !c->backend->record_start) return 1;
    double vectors = 8 * (double)(c->mat->csr.rows + c->mat->csr.cols);
    double each =
        1.5 * (double)(spmv_store_bytes(baseline->host) + baseline->scratch_bytes) + vectors;
    double n = 4 * (double)c->cache / each;
    double most = (double)c->backend->free_bytes(c->device) / 4 / MOST_CANDIDATES / each;
    n = n < most ? n : most;
    return n > MOST_COPIES ? MOST_COPIES : n < 2 ? 1 : (int)n;
}

/* A device's driver allocates memory in half the time when it is asked for all of it at once. So
 * this asks, before the rows are sent, for room for them, the vectors, and another format of one
 * and a half times the size of the rows. The time counts as sending, as that of allocating the rows
 * would. */
static void make_room(trials *c, const spmv_proposal *p, int n) {
    const double most = 0.25; /* of the free memory */
    const spmv_csr *A = &c->mat->csr;
    double width = c->opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    double rows = (double)A->nnz * (width + sizeof(int32_t)) + (double)A->rows * sizeof(int32_t);
    double all = 2.5 * rows + (double)(A->rows + A->cols) * width, start = spmv_now();
    bool converts = false;
    void *room = NULL;
    for (int k = 0; k < n; k++)
        converts |= p[k].predicted_setup > 0 && is_predicted_to_pay(c, &p[k]);
    if (c->backend->host || !converts || c->mat->stores) return;
    if (all > most * (double)c->backend->free_bytes(c->device)) return;
    if (c->backend->alloc(c->device, (size_t)all, &room) == SPMV_OK)
        c->backend->release(c->device, room);
    c->room_s = spmv_now() - start;
}

static spmv_status run_trials(trials *c, const spmv_proposal *p, int n) {
    double baseline_s = 0;
    TRY(spmv_ctx_device(c->mat->ctx, c->backend, &c->device));
    if (c->budget < budget_to_convert) return choose_untimed(c, p, n);
    make_room(c, p, n);
    TRY(admit_baseline(c, p, n));
    c->sent_s += c->room_s;
    spmv_device *whole = NULL; /* a plan with fewer threads has a device of its own */
    c->device = c->entry[0].plan->device;
    TRY(spmv_ctx_device(c->mat->ctx, c->device->backend, &whole));
    c->cache = c->mat->ctx->cache[whole - c->mat->ctx->device];
    if (n == 1 || c->mat->csr.nnz == 0) return SPMV_OK;
    c->flush = bytes_to_flush(c);
    c->copies = count_copies(c);
    TRY(spmv_trials_baseline(c, &baseline_s));
    TRY(admit_candidates(c, p, n, baseline_s));
    return c->n > 1 ? spmv_trials_run(c) : SPMV_OK;
}

/* Sorts by predicted speed-up, the greatest first and baseline kernels last; equal ones keep their
 * order. */
static void sort_by_speedup(spmv_proposals *all) {
    for (int k = 1; k < all->n; k++) {
        spmv_proposal p = all->list[k];
        int at = k;
        for (; at > 0 && all->list[at - 1].predicted_speedup < p.predicted_speedup; at--)
            all->list[at] = all->list[at - 1];
        all->list[at] = p;
    }
}

/* ---- remembered choices ---------------------------------------------------------------------- */

/* Adds to the plan's note what was not noted before. */
static void note_wisdom(spmv_plan *plan, const char *what) {
    spmv_ctx *ctx = plan->matrix->ctx;
    char *note = plan->tuning->note, *said = ctx->wisdom_notes;
    const char *before = plan->note ? plan->note : ctx->fewer_threads;
    if (!*what || strstr(said, what)) return;
    snprintf(said + strlen(said), sizeof ctx->wisdom_notes - strlen(said), "%s", what);
    if (before != note) snprintf(note, sizeof plan->tuning->note, "%s", before);
    snprintf(note + strlen(note), sizeof plan->tuning->note - strlen(note), "%s%s",
             *note ? "; " : "", what);
    plan->note = note;
}

/* Only what was timed is worth remembering. What was passed over is left out of the reason. */
static void remember(const trials *c, const spmv_proposal *choice, spmv_plan *plan) {
    const spmv_tuning *t = plan->tuning;
    const char *path = c->mat->ctx->wisdom;
    char reason[sizeof t->reason], note[SPMV_WISDOM_NOTE];
    wisdom_key key;
    if (!path || !t->baseline) return;
    snprintf(reason, sizeof reason, "%.*s", (int)(strlen(t->reason) - strlen(c->passed)),
             t->reason);
    spmv_wisdom_key(c->mat, c->opts, c->backend, &key);
    spmv_wisdom_add(path, &key, choice, reason, note);
    note_wisdom(plan, note);
}

/* Makes the plan of a remembered choice, as for its trials. NULL: it cannot be made now, and the
 * note says why. */
static spmv_plan *remake(trials *c, const wisdom *w, char *note) {
    const spmv_stored *before = c->mat->stores;
    spmv_status status;
    spmv_tuning *t = calloc(1, sizeof *t);
    if (!t || !is_allowed(c, &w->choice) || !admit(c, &w->choice, &status)) {
        snprintf(note, SPMV_WISDOM_NOTE, "wisdom %.200s: its choice is not used%.160s",
                 c->mat->ctx->wisdom, *c->passed ? c->passed : "; there is no such kernel");
        drop_unchosen(c->mat, before, NULL);
        free(t);
        return NULL;
    }
    spmv_plan *plan = c->entry[0].plan;
    snprintf(t->date, sizeof t->date, "%s", w->date);
    snprintf(t->reason, sizeof t->reason, "%.1200s (remembered from %.10s)", w->reason, w->date);
    t->tune_s = spmv_now() - c->start - charged_apart(c, plan, c->start);
    plan->tuning = t;
    return plan;
}

/* Makes the plan of the choice that the wisdom file has for it; NULL: there is none. */
static spmv_plan *recall(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                         char *note) {
    trials c = {.mat = mat, .opts = opts, .backend = backend, .start = spmv_now()};
    wisdom_key key;
    wisdom w;
    *note = 0;
    if (!mat->ctx->wisdom) return NULL;
    spmv_wisdom_key(mat, opts, backend, &key);
    bool found = spmv_wisdom_find(mat->ctx->wisdom, &key, &w, note);
    spmv_plan *plan = found ? remake(&c, &w, note) : NULL;
    free(w.text);
    return plan;
}

/* ---- the whole ------------------------------------------------------------------------------ */

spmv_status spmv_auto_select(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                             spmv_proposals *all, double start, spmv_plan **out) {
    trials c = {.mat = mat,
                .opts = opts,
                .backend = backend,
                .start = start,
                .predicted_s = all->baseline_s,
                .budget = budget_of(opts->expected_calls, backend)};
    const spmv_stored *before = mat->stores;
    spmv_tuning *tuning = calloc(1, sizeof *tuning);
    *out = NULL;
    if (!tuning) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    sort_by_speedup(all);
    spmv_status status = run_trials(&c, all->list, all->n);
    candidate *chosen = status == SPMV_OK ? spmv_trials_fastest(&c) : NULL;
    if (chosen) explain(&c, chosen, tuning);
    double charged_s = chosen ? charged_apart(&c, chosen->plan, start) : 0;
    spmv_plan *plan = chosen ? chosen->plan : NULL;
    if (chosen) chosen->plan = NULL, plan->once_s = c.once_s, plan->upload_s += c.room_s;
    spmv_trials_free(&c);
    drop_unchosen(mat, before, plan ? plan->host : NULL);
    if (!plan) {
        free(tuning);
        return status;
    }
    tuning->tune_s = spmv_now() - start - charged_s;
    plan->tuning = tuning;
    remember(&c, chosen->proposal, plan);
    *out = plan;
    return SPMV_OK;
}

/* Of values that will change nothing is known but that they are symmetric if they are given so. */
static void forget_values(const spmv_mat *mat, spmv_features *f) {
    f->value_bytes = f->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    f->distinct = SPMV_FEW_VALUES + 1;
    f->exact_f32 = 0;
    if (mat->coo.symmetry == SPMV_GENERAL) f->symmetric = 0;
}

static spmv_status choose(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                          const spmv_device *device, spmv_plan **out) {
    spmv_proposals proposals = {.n = 0};
    spmv_features features;
    double budget = budget_of(opts->expected_calls, backend);
    spmv_sampling_depth depth = is_large_budget(budget) ? SPMV_SAMPLE_STANDARD : SPMV_SAMPLE_QUICK;
    if (budget > budget_most) depth = SPMV_SAMPLE_ALL;
    if (backend->host) depth = budget < budget_to_convert ? SPMV_SAMPLE_NONE : SPMV_SAMPLE_THOROUGH;
    double start = spmv_now();
    TRY(spmv_features_of(mat, opts->precision, depth, &features));
    if (opts->refill) forget_values(mat, &features);
    features.cache = mat->ctx->cache[device - mat->ctx->device];
    features.evicted = is_evicted(mat, opts, features.cache);
    backend->propose(&features, &proposals);
    return spmv_auto_select(mat, opts, backend, &proposals, start, out);
}

spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out) {
    char before[sizeof mat->ctx->error], note[SPMV_WISDOM_NOTE];
    spmv_device *device = NULL;
    int variant;
    if (opts->nsettings)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "auto takes no parameter '%s'; name a kernel for it",
                         opts->settings[0].name);
    if (opts->expected_calls < 0)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "expected_calls is %lld, must be 0 or more",
                         (long long)opts->expected_calls);
    TRY(spmv_plan_variant(mat, opts, &variant)); /* precision and cache are among those there are */
    snprintf(before, sizeof before, "%s", mat->ctx->error);
    TRY(spmv_ctx_device(mat->ctx, backend, &device));
    *out = recall(mat, opts, backend, note);
    if (!*out) TRY(choose(mat, opts, backend, device, out));
    note_wisdom(*out, note);
    /* Drops the messages of kernels that were passed over. */
    snprintf(mat->ctx->error, sizeof mat->ctx->error, "%s", before);
    return SPMV_OK;
}
