/* choice.c: the kernel name "auto". The backend proposes kernels for the features of the matrix,
 * with predicted times of set-up and product. Candidates that may pay off are built and timed
 * against the baseline kernel until the budget is spent. If the products are too few to pay for
 * trials, or their number is unknown, the prediction decides. */
#include "spmv_clock.h"
#include "host/context.h"
#include "matrix/csr.h"
#include "matrix/matrix.h"
#include "matrix/sampling.h"
#include "matrix/stores/stored.h"
#include "plan/plan.h"
#include "trials.h"
#include "wisdom/wisdom.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Tuning takes at most `share` of the time of the expected products. If their number is unknown,
 * the choice assumes unknown_calls products, and the budget is the time of `few` products. */
static const double share = 0.15, unknown_calls = 1000, few = 10;
static const double for_sampling = 0.2, for_sampling_host = 0.4; /* largest shares of the budget */
static const double trials_host = 40; /* least budget for trials on a CPU */
static const double optimism = 1.3;   /* a kernel may be this many times as fast as predicted */
/* factor by which an untimed kernel must be predicted faster than the baseline */
static const double margin = 1.03;

/* Most vectors in a trial: kernels process at most 64 at a time, so larger trials show nothing new
 * and might not fit into memory. */
enum { MOST_TRIED = 256 };

/* The first candidate, and any without a set-up, is tried if that takes at most this share of the
 * budget, however much was spent before. */
static const double cheap = 0.1;

/* ---- the baseline kernel -------------------------------------------------------------------- */

/* Admits the first baseline kernel that can be built, or any other kernel if none can. On failure
 * reports the first error; later ones concern kernels that were tried only because of it. */
static spmv_status admit_baseline(trials *c, const spmv_proposal *p, int n) {
    spmv_ctx *ctx = c->mat->ctx;
    spmv_status status, first = SPMV_OK;
    char message[sizeof ctx->error] = "auto: none of the kernels it knows is built in";
    for (int k = 0; k < n; k++) {
        if (!spmv_candidate_is_allowed(c, &p[k])) continue;
        if (spmv_candidate_admit(c, &p[k], &status)) return SPMV_OK;
        if (first == SPMV_OK) {
            first = status == SPMV_OK ? SPMV_E_UNSUITABLE : status;
            snprintf(message, sizeof message, "%s", spmv_ctx_error(ctx));
        }
        TRY(spmv_trials_go_on(c, status));
    }
    return spmv_fail(ctx, first == SPMV_OK ? SPMV_E_BACKEND : first, "%s", message);
}

/* ---- the budget ------------------------------------------------------------------------------ */

static double calls_of(const spmv_plan_opts *opts) {
    return opts->expected_calls ? (double)opts->expected_calls : unknown_calls;
}

/* Returns the budget in baseline product times. */
static double budget_of(const spmv_plan_opts *opts) {
    return opts->expected_calls ? share * (double)opts->expected_calls : few;
}

/* Returns whether candidates are timed: the budget must pay for trials. */
static bool is_timed(const spmv_backend *backend, double budget) {
    return budget >= (backend->host ? trials_host : for_trials);
}

/* The machine assumed by reproducible choices: number of threads and bytes of cache. */
enum { USUAL_THREADS = 2, USUAL_CACHE = 1 << 25 };

static int threads_of(const spmv_mat *mat, const spmv_plan_opts *opts) {
    if (opts->reproducible) return USUAL_THREADS;
    return opts->threads ? opts->threads : mat->ctx->threads;
}

/* Returns the estimated seconds of a product on a CPU: 0.5 ns per nonzero and per row on one
 * thread, half of that for each further vector. */
static double host_product_s(const spmv_mat *mat, const spmv_plan_opts *opts) {
    const double entry_s = 5e-10;
    const double vectors = fmax(1, (1 + (double)opts->vectors) / 2);
    return entry_s * vectors * (double)(mat->csr.nnz + mat->csr.rows) / threads_of(mat, opts);
}

/* Returns the estimated seconds of a product before sampling; on a GPU by the model, assuming that
 * reads of x are contiguous. */
static double expected_product_s(const spmv_mat *mat, const spmv_plan_opts *opts,
                                 const spmv_backend *backend, const spmv_features *unsampled) {
    spmv_proposals all = {.n = 0};
    if (backend->host) return host_product_s(mat, opts);
    backend->propose(unsampled, &all);
    return all.baseline_s;
}

/* Returns the deepest sampling that its share of the budget pays for. */
static spmv_sampling_depth depth_for(const spmv_mat *mat, const spmv_plan_opts *opts,
                                     const spmv_backend *backend, const spmv_features *unsampled) {
    const double quick_s = 1.5e-4, full_s = 4.5e-4; /* on one thread */
    const double most_s = (backend->host ? for_sampling_host : for_sampling) * budget_of(opts) *
                          expected_product_s(mat, opts, backend, unsampled);
    const double windows = 0.5; /* products that sampling them takes */
    const double windows_s = 2 * full_s + windows * host_product_s(mat, opts);
    return most_s < quick_s                       ? SPMV_SAMPLE_NONE
           : most_s < full_s                      ? SPMV_SAMPLE_QUICK
           : most_s < windows_s || !backend->host ? SPMV_SAMPLE_FULL
                                                  : SPMV_SAMPLE_WINDOWS;
}

/* ---- the order ------------------------------------------------------------------------------ */

/* Returns the predicted time of set-up and `calls` products in baseline product times; -1 for a
 * baseline kernel. */
static double predicted_total(const spmv_proposal *p, double calls) {
    return p->predicted_speedup > 0 ? p->predicted_setup + calls / p->predicted_speedup : -1;
}

/* Sorts: baseline kernels first, in their order; then by predicted total time. */
static void sort(spmv_proposals *all, double calls) {
    for (int k = 1; k < all->n; k++) {
        const spmv_proposal p = all->list[k];
        int at = k;
        for (; at > 0 && predicted_total(&all->list[at - 1], calls) > predicted_total(&p, calls);
             at--)
            all->list[at] = all->list[at - 1];
        all->list[at] = p;
    }
}

/* ---- without timing ------------------------------------------------------------------------- */

/* Returns the most time for a set-up, in baseline product times. If the number of products is
 * unknown, this is the rest of the budget. */
static double most_setup(const trials *c) {
    const double likely = 0.9; /* allows for hosts slower than predicted */
    if (c->opts->expected_calls) return INFINITY;
    if (c->opts->reproducible) return likely * c->budget;
    const double product_s = c->predicted_s > 0 ? c->predicted_s : host_product_s(c->mat, c->opts);
    return likely * c->budget - spmv_trials_spent_s(c) / product_s;
}

/* Chooses the kernel of least predicted total time, if it beats the baseline kernel by `margin`. */
static spmv_status choose_untimed(trials *c, const spmv_proposal *p, int n) {
    const double most = most_setup(c), calls = calls_of(c->opts);
    spmv_status status;
    for (int k = 0; k < n; k++)
        if (p[k].predicted_speedup > 0 && p[k].predicted_setup <= most &&
            margin * predicted_total(&p[k], calls) < calls && spmv_candidate_is_allowed(c, &p[k]) &&
            spmv_candidate_admit(c, &p[k], &status))
            return SPMV_OK;
    return admit_baseline(c, p, n);
}

/* ---- admission ------------------------------------------------------------------------------ */

/* Returns the predicted seconds of a product. *trying_s: set-up and first product. */
static double predicted_s(const trials *c, const spmv_proposal *p, double *trying_s) {
    const double baseline_s = c->entry[0].product_s, product_s = baseline_s / p->predicted_speedup;
    *trying_s = p->predicted_setup * (c->predicted_s > 0 ? c->predicted_s : baseline_s) + product_s;
    return product_s;
}

/* Returns whether there is time to try a kernel. On a CPU the two best predictions are tried if the
 * budget allows either alone, so that the clock decides between them. */
static bool fits(const trials *c, const spmv_proposal *p, double trying_s) {
    enum { BEST = 3 }; /* candidates, including the baseline kernel */
    const double budget_s = spmv_trials_budget_s(c), half = 0.5;
    if (spmv_trials_spent_s(c) + trying_s <= budget_s) return true;
    if (c->backend->host && c->n < BEST && trying_s <= half * budget_s) return true;
    return (c->n == 1 || p->predicted_setup == 0) && trying_s <= cheap * budget_s;
}

/* Admits candidates in the given order and times each at once. A candidate is tried if there is
 * time and if, being `optimism` times as fast as predicted, it would save more time than its trial
 * costs, compared with the fastest so far. A candidate that turns out slower than predicted does
 * not exclude later ones; nor does one that turns out faster, because the baseline's time may be
 * too long by noise. */
static spmv_status admit_candidates(trials *c, const spmv_proposal *p, int n) {
    double best_s = c->entry[0].product_s, trying_s;
    spmv_status status = SPMV_OK;
    for (int k = 0; k < n && c->n < MOST_CANDIDATES; k++) {
        if (p[k].predicted_speedup == 0 || &p[k] == c->entry[0].proposal) continue;
        const double product_s = predicted_s(c, &p[k], &trying_s);
        if (!spmv_candidate_is_allowed(c, &p[k])) continue;
        bool pays = calls_of(c->opts) * (best_s - product_s / optimism) > trying_s;
        const bool has_time = fits(c, &p[k], trying_s);
        if (pays && has_time && spmv_candidate_admit(c, &p[k], &status)) {
            TRY(spmv_trials_first(c, &c->entry[c->n - 1]));
            best_s = fmin(best_s, fmax(product_s, c->entry[c->n - 1].product_s));
        } else if (pays && has_time)
            TRY(spmv_trials_go_on(c, status));
        else if (product_s < best_s)
            spmv_trials_note(c, "passed over", &p[k],
                             pays ? "no time was left to try it" : "its set-up would not pay");
    }
    return SPMV_OK;
}

/* ---- how it is timed ------------------------------------------------------------------------ */

/* Returns the bytes of x and y, all vectors together. */
static double vector_bytes(const spmv_mat *mat, const spmv_plan_opts *opts) {
    const double width = opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    return width * fmax(1, (double)opts->vectors) * (double)(mat->csr.rows + mat->csr.cols);
}

/* Returns whether caches could keep much of the matrix between products. */
static bool may_be_kept(const spmv_mat *mat, const spmv_plan_opts *opts, size_t cache) {
    const double much = 2; /* times the cache: less than half of a larger matrix is kept */
    double width = opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    double bytes = (double)mat->csr.nnz * (width + sizeof(int32_t)) + vector_bytes(mat, opts);
    return bytes < much * (double)cache;
}

/* Returns the bytes to read in order to flush the caches: twice a CPU's cache; four times a GPU's,
 * because an H200 keeps up to 100 MB although it reports 63. */
static size_t bytes_to_flush(const trials *c) {
    size_t line = 4096, bytes = (c->backend->host ? 2 : 4) * c->cache;
    size_t most = c->backend->free_bytes(c->device) / 4;
    return (bytes < most ? bytes : most) / line * line;
}

/* Returns how many copies of the data a steady sample cycles through, so that consecutive products
 * on a GPU can overlap as in real use. At most four times the cache, or a quarter of the free
 * memory. */
static int count_copies(const trials *c) {
    const spmv_plan *baseline = c->entry[0].plan;
    if (!c->flush || c->opts->cache != SPMV_STEADY || !c->backend->record_start) return 1;
    double vectors = vector_bytes(c->mat, c->opts);
    double each = 1.5 * (double)(spmv_store_bytes(baseline->host) + baseline->scratch_bytes);
    double room = (double)c->backend->free_bytes(c->device) / 4 / MOST_CANDIDATES;
    return (int)fmax(1, fmin(fmin(4 * (double)c->cache, room) / (each + vectors), MOST_COPIES));
}

/* Allocates and frees, before the rows are uploaded, enough memory for them, the vectors and a
 * format 1.5 times as large: one large allocation takes half as long as many. The time counts as
 * upload. */
static void make_room(trials *c, const spmv_proposal *p, int n) {
    const double most = 0.25; /* fraction of the free memory */
    const spmv_csr *A = &c->mat->csr;
    double width = c->opts->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    double rows = (double)A->nnz * (width + sizeof(int32_t)) + (double)A->rows * sizeof(int32_t);
    double all = 2.5 * rows + vector_bytes(c->mat, c->opts), start = spmv_now();
    bool converts = false;
    void *room = NULL;
    for (int k = 0; k < n; k++) converts |= p[k].predicted_setup > 0 && p[k].predicted_speedup > 1;
    if (c->backend->host || !converts || c->mat->stores) return;
    if (all > most * (double)c->backend->free_bytes(c->device)) return;
    if (c->backend->alloc(c->device, (size_t)all, &room) == SPMV_OK)
        c->backend->release(c->device, room);
    c->room_s = spmv_now() - start;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void explain(const trials *c, const candidate *chosen, spmv_tuning *t) {
    const candidate *baseline = &c->entry[0], *other = NULL;
    for (int k = 1; k < c->n; k++)
        if (!other || c->entry[k].product_s < other->product_s) other = &c->entry[k];
    const candidate *said = chosen != baseline || !other ? chosen : other;
    /* A burst of noise in few samples can make a slow kernel's ratio any number. */
    const double most = 10, timed_s = said->product_s;
    const double speedup = timed_s > 0 ? fmin(baseline->product_s / timed_s, most) : 1;
    const bool disturbed = c->is_timed && c->device && spmv_trials_are_disturbed(c);
    const char *more = speedup >= most ? "more than " : disturbed ? "about " : "";
    const char *doubt = disturbed ? ", disturbed" : "", *why = said->proposal->why;
    const int digits = speedup >= most ? 0 : !disturbed || speedup < 0.1 ? 2 : speedup < 2;
    const char *name = chosen->plan->kernel->name;
    const char *unknown =
        "; the number of products is unknown: only what is ready within 10 was considered";
    if (chosen != baseline)
        snprintf(t->reason, sizeof t->reason,
                 "%s: %s; %s%.*f times as fast as %s in the trials%s%s%s", name, why, more, digits,
                 speedup, baseline->plan->kernel->name, doubt, c->team, c->passed);
    else if (other)
        snprintf(t->reason, sizeof t->reason,
                 "%s: %s (%s) was %s%.*f times as fast in the trials%s%s%s", name,
                 other->plan->kernel->name, why, more, digits, speedup, doubt, c->team, c->passed);
    else
        snprintf(t->reason, sizeof t->reason, "%s: %s%s%s%s", name, why, c->team,
                 c->is_timed || c->opts->expected_calls ? "" : unknown, c->passed);
    if (baseline->product_s <= 0) return;
    t->timed = other ? c->n : 0;
    t->baseline = baseline->plan->kernel->name;
    t->baseline_product_s = baseline->product_s;
    t->flush_bytes = c->flush;
    t->chosen_product_s = chosen->product_s;
}

static spmv_status run_trials(trials *c, const spmv_proposal *p, int n) {
    TRY(spmv_ctx_device(c->mat->ctx, c->backend, &c->device));
    if (!c->is_timed) return choose_untimed(c, p, n);
    c->cache = c->mat->ctx->cache[c->device - c->mat->ctx->device];
    make_room(c, p, n);
    TRY(admit_baseline(c, p, n));
    c->unpaid_s += c->room_s;
    c->device = c->entry[0].plan->device; /* a plan with fewer threads has its own device */
    if (n == 1 || c->mat->csr.nnz == 0) return SPMV_OK;
    const bool is_warm = c->opts->cache == SPMV_WARM, fits = may_be_kept(c->mat, c->opts, c->cache);
    c->is_kept = fits && is_warm;
    c->flush = fits && !is_warm ? bytes_to_flush(c) : 0;
    c->copies = count_copies(c);
    TRY(spmv_trials_baseline(c));
    TRY(admit_candidates(c, p, n));
    return c->n > 1 ? spmv_trials_run(c) : SPMV_OK;
}

/* Stores a timed choice as wisdom, without the list of kernels passed over. */
static void remember(const trials *c, const spmv_proposal *chosen, spmv_plan *plan) {
    spmv_proposal choice = *chosen;
    char reason[sizeof plan->tuning->reason];
    if (!plan->tuning->baseline) return;
    if (*c->team) choice.threads = plan->device->threads;
    snprintf(reason, sizeof reason, "%.*s", (int)(strlen(plan->tuning->reason) - strlen(c->passed)),
             plan->tuning->reason);
    spmv_wisdom_remember(plan, c->opts, c->backend, &choice, reason);
}

/* Moves the chosen plan out of the trials and frees everything else. Tuning time excludes the
 * plan's own preparation, even if an earlier candidate has built its store, and one-time costs of
 * the process. before: the stores that existed before. Returns NULL if chosen is NULL. */
static spmv_plan *finish(trials *c, candidate *chosen, spmv_tuning *tuning,
                         const spmv_stored *before) {
    spmv_plan *plan = chosen ? chosen->plan : NULL;
    if (plan) {
        tuning->tune_s = spmv_now() - c->start - spmv_plan_stored_since(plan, c->start) -
                         plan->prepare_s - c->once_s - c->room_s;
        chosen->plan = NULL, plan->once_s = c->once_s, plan->upload_s += c->room_s;
        plan->tuning = tuning;
    } else
        free(tuning);
    spmv_trials_free(c);
    spmv_candidate_drop_others(c->mat, before, plan ? plan->host : NULL);
    return plan;
}

spmv_status spmv_auto_select(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                             spmv_proposals *all, double start, spmv_plan **out) {
    const double budget = budget_of(opts);
    trials c = {.mat = mat,
                .opts = opts,
                .backend = backend,
                .start = start,
                .predicted_s = all->baseline_s,
                .budget = budget,
                .is_timed = is_timed(backend, budget) && !opts->reproducible};
    if (backend->host && c.is_timed) c.wall = spmv_now(), c.cpu = spmv_thread_now();
    const spmv_stored *before = mat->stores;
    spmv_tuning *tuning = calloc(1, sizeof *tuning);
    *out = NULL;
    if (!tuning) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    sort(all, calls_of(opts));
    spmv_status status = run_trials(&c, all->list, all->n);
    candidate *chosen = status == SPMV_OK ? spmv_trials_fastest(&c) : NULL;
    if (chosen) spmv_trials_reduce_team(&c, chosen);
    if (chosen) explain(&c, chosen, tuning);
    *out = finish(&c, chosen, tuning, before);
    if (chosen) remember(&c, chosen->proposal, *out);
    return status;
}

/* Builds the plan of a choice from wisdom. Returns NULL if that fails; the note says why. */
static spmv_plan *remake(trials *c, const wisdom *w, char *note) {
    const spmv_stored *before = c->mat->stores;
    spmv_status status;
    spmv_tuning *t = calloc(1, sizeof *t);
    const char *otherwise = t ? "; there is no such kernel" : "; out of memory";
    const bool is_made = t && spmv_candidate_is_allowed(c, &w->choice) &&
                         spmv_candidate_admit(c, &w->choice, &status);
    if (is_made) {
        snprintf(t->date, sizeof t->date, "%s", w->date);
        snprintf(t->reason, sizeof t->reason, "%.1200s (remembered from %.10s)", w->reason,
                 w->date);
    } else
        snprintf(note, SPMV_WISDOM_NOTE, "wisdom %.200s: its choice is not used%.160s",
                 c->mat->ctx->wisdom, *c->passed ? c->passed : otherwise);
    return finish(c, is_made ? &c->entry[0] : NULL, t, before);
}

/* Builds the plan that the wisdom file has for this request. If it has none, returns NULL with an
 * empty note. */
static spmv_plan *recall(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                         char *note) {
    trials c = {
        .mat = mat, .opts = opts, .backend = backend, .start = spmv_now(), .is_timed = true};
    wisdom w;
    *note = 0;
    if (opts->reproducible) return NULL; /* independent of any file */
    bool found = spmv_wisdom_recall(mat, opts, backend, &w, note);
    spmv_plan *plan = found ? remake(&c, &w, note) : NULL;
    free(w.text);
    return plan;
}

/* Removes what depends on values from the features, because the values will change; only a symmetry
 * declared by the caller stays. */
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
    double start = spmv_now();
    TRY(spmv_features_of(mat, opts->precision, SPMV_SAMPLE_NONE, 0, 1, &features));
    const spmv_sampling_depth depth = depth_for(mat, opts, backend, &features);
    const bool is_sampled = depth != SPMV_SAMPLE_NONE;
    const double cpu = is_sampled ? spmv_thread_now() : 0;
    spmv_plan_opts known = *opts;
    if (known.vectors > MOST_TRIED) known.vectors = MOST_TRIED;
    if (backend->host && depth == SPMV_SAMPLE_NONE) known.expected_calls = 1; /* prevents trials */
    /* A sleeping team is not woken for what one thread does in 0.5 ms: waking 16 took 10 ms. */
    const int threads = backend->host && depth >= SPMV_SAMPLE_FULL ? mat->ctx->threads : 1;
    if (backend->host && depth != SPMV_SAMPLE_NONE)
        spmv_waiting_prepare(&mat->ctx->waiting, mat->ctx->threads);
    TRY(spmv_features_of(mat, opts->precision, depth, backend->host ? SPMV_FOR_HOST : SPMV_FOR_GPU,
                         threads, &features));
    if (opts->refill) forget_values(mat, &features);
    if (backend->host) features.threads = threads_of(mat, opts);
    features.vectors = known.vectors, features.layout = opts->layout;
    features.cache = backend->host && opts->reproducible
                         ? USUAL_CACHE
                         : mat->ctx->cache[device - mat->ctx->device];
    features.evicted = opts->cache != SPMV_WARM && may_be_kept(mat, opts, features.cache);
    backend->propose(&features, &proposals);
    if (backend->host && is_sampled)
        start = fmax(start, spmv_now() - (spmv_thread_now() - cpu)); /* excludes waiting */
    return spmv_auto_select(mat, &known, backend, &proposals, start, out);
}

spmv_status spmv_auto_plan(spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                           spmv_plan **out) {
    char before[sizeof mat->ctx->error], note[SPMV_WISDOM_NOTE];
    spmv_device *device = NULL;
    int variant;
    if (opts->nsettings)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "auto takes no parameter '%s'; name a kernel for it",
                         opts->settings[0].name);
    TRY(spmv_plan_variant(mat, opts, &variant)); /* fails for options that no plan may have */
    snprintf(before, sizeof before, "%s", mat->ctx->error);
    TRY(spmv_ctx_device(mat->ctx, backend, &device));
    *out = recall(mat, opts, backend, note);
    if (!*out) TRY(choose(mat, opts, backend, device, out));
    spmv_wisdom_note(*out, note);
    /* Removes the messages of kernels that were passed over. */
    snprintf(mat->ctx->error, sizeof mat->ctx->error, "%s", before);
    return SPMV_OK;
}
