/* notes.c: the notes below the table: what disturbed the times, and in the last line the fastest
 * kernel. */
#include "app/messages.h"
#include "app/record/record.h"
#include "app/record/write_table.h"
#include "app/run/session.h"
#include "notes.h"
#include "ranking.h"
#include "result.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- rows and ratios ------------------------------------------------------------------------ */

static double cost(const record *r, double products) {
    return r->prep_total_s + products * r->timing_median_s;
}

/* Prints the kernel, with backend and configuration where the name alone is ambiguous. */
static void say_which(const result *results, int n, const record *r) {
    bool mixed = false;
    int rows = 0;
    for (int k = 0; k < n; k++) {
        const record *other = &results[k].r;
        if (!other->status) continue;
        bool beside = strcmp(other->config_backend, r->config_backend) == 0;
        mixed |= !beside;
        rows += beside && strcmp(other->config_kernel, r->config_kernel) == 0 &&
                are_ranked_together(other, r);
    }
    char all[CONFIGURATION];
    configuration_text(r, all, sizeof all);
    say(" %s%s%s%s", mixed ? r->config_backend : "", mixed ? ":" : "",
        rows > 1 ? all : r->config_kernel, is_chosen(r) ? " (auto)" : "");
}

/* Rounds to one digit: the preparation, measured once, is not known better. */
static long long rounded(long long products) {
    long long unit = 1;
    while (products / unit >= 10) unit *= 10;
    return (products / unit + (products % unit >= (unit + 1) / 2)) * unit;
}

static bool is_doubtful(const record *r) {
    return r->timing_settled == 0 || r->timing_flags.count > 0;
}

/* Says how many times as fast as the other r is, at least and at most. False: both times are known,
 * and so is their ratio. */
static bool ratio_is_rough(const record *r, const record *other, double *least, double *most) {
    const statistics mine = record_times(r), others = record_times(other);
    ratio_range(&others, &mine, least, most);
    return is_doubtful(r) || is_doubtful(other);
}

/* No more digits than the intervals of both medians leave, and two decimals at most. */
static int digits_of(const record *r, const record *other) {
    const double ratio = other->timing_median_s / r->timing_median_s;
    const statistics s = record_times(r), t = record_times(other);
    const double error = ratio * ratio_noise(&s, &t);
    return error >= 1 ? 0 : error >= 0.1 ? 1 : 2;
}

/* "2.97 times as fast as csr_rows"; with the bounds of the ratio if the times are in doubt. False:
 * they are about as fast as each other, as far as is known. */
static bool say_ratio(const record *r, const record *other) {
    const double ratio = other->timing_median_s / r->timing_median_s;
    double least, most;
    if (!ratio_is_rough(r, other, &least, &most)) {
        say(", %.*f times as fast as %s", digits_of(r, other), ratio, other->config_kernel);
        return true;
    }
    if (fabs(ratio - 1) < 0.05) {
        say(", about as fast as %s", other->config_kernel);
        return false;
    }
    say(", about %.*f times (%.*f to %.*f) as fast as %s", ratio < 10, ratio, least < 10, least,
        most < 10, most, other->config_kernel);
    return true;
}

void say_against_csr1(const result *results, int n, const record *r) {
    const record *csr1 = csr1_beside(results, n, r);
    const long long products = r->perf_breakeven, ahead = r->perf_ahead_until;
    if (!csr1 || r == csr1) return;
    if (!say_ratio(r, csr1)) return;
    if (products > 0)
        say("; pays off after about %lld product%s", rounded(products), products == 1 ? "" : "s");
    else if (products == 0)
        say("; pays off at once");
    else if (ahead > 0)
        say("; ahead with its preparation up to about %lld product%s", rounded(ahead),
            ahead == 1 ? "" : "s");
    else
        say("; never pays off");
}

/* ---- preparation included ------------------------------------------------------------------- */

/* Lists 1, 100 and 10,000 products, and as many as are expected. Returns how many of these. */
static int products_to_name(int64_t expected, int64_t *products) {
    static const int64_t usual[] = {1, 100, 10000};
    int count = 0;
    for (int k = 0; k < 3; k++) {
        if (expected > 0 && expected < usual[k]) products[count++] = expected;
        if (expected <= usual[k]) expected = 0;
        products[count++] = usual[k];
    }
    if (expected > 0) products[count++] = expected;
    return count;
}

/* Returns the ranked row that takes least for that many products, preparation included, of those
 * under the conditions of first; there is at least one. */
static const record *fastest(const result *results, int n, const record *first, int64_t products) {
    const record *best = NULL;
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        if (is_ranked(&results[k]) && are_ranked_together(r, first) &&
            (!best || cost(r, (double)products) < cost(best, (double)products)))
            best = r;
    }
    return best;
}

/* Says whether another may take less for that many products, since one of their times is in
 * doubt. */
static bool is_in_question(const result *results, int n, const record *best, int64_t products) {
    const statistics mine = record_times(best);
    const double dearest = best->prep_total_s + (double)products * mine.high;
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        if (r == best || !is_ranked(&results[k]) || !are_ranked_together(r, best)) continue;
        const statistics its = record_times(r);
        const double cheapest = r->prep_total_s + (double)products * its.low;
        if ((is_doubtful(best) || is_doubtful(r)) && !(dearest < cheapest)) return true;
    }
    return false;
}

/* first: of those under its conditions; expected: number of products, 0: unknown. */
static void say_fastest(const result *results, int n, const record *first, bool states,
                        int64_t expected) {
    int64_t products[4];
    const int count = products_to_name(expected, products);
    const record *last = NULL;
    if (ranked_with(results, n, first) < 2) return;
    char vectors[64] = "";
    if (first->config_vectors > 1)
        snprintf(vectors, sizeof vectors, ", %lld vectors in %s", (long long)first->config_vectors,
                 first->config_layout);
    say("  fastest including preparation (%s%s%s%s%s):", first->config_precision,
        states ? ", " : "", states ? first->config_cache : "", vectors,
        best_beside(results, n, first) ? "" : "; all times were disturbed");
    for (int p = 0; p < count; p++) {
        const record *best = fastest(results, n, first, products[p]);
        int64_t from = products[p];
        const bool question = is_in_question(results, n, best, from);
        while (p + 1 < count && fastest(results, n, first, products[p + 1]) == best &&
               is_in_question(results, n, best, products[p + 1]) == question)
            p++;
        say("%s", last ? "," : "");
        if (question) say(" perhaps");
        say_which(results, n, best);
        say(" for ");
        if (from < products[p]) say("%lld to ", (long long)from);
        say("%lld product%s", (long long)products[p], products[p] == 1 ? "" : "s");
        last = best;
    }
    say("\n");
}

/* ---- who is fastest ------------------------------------------------------------------------- */

/* Returns the ranked row of least time under the conditions of first, but for rows that did the
 * same as one; NULL: none. */
static const record *least_beside(const result *results, int n, const record *first,
                                  const record *but) {
    const record *best = NULL;
    char skipped[CONFIGURATION] = "", other[CONFIGURATION];
    if (but) configuration_text(but, skipped, sizeof skipped);
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        if (!r->status) continue;
        configuration_text(r, other, sizeof other);
        if (strcmp(other, skipped) != 0 && is_ranked(&results[k]) &&
            are_ranked_together(r, first) && (!best || r->timing_median_s < best->timing_median_s))
            best = r;
    }
    return best;
}

/* Names what is tied with the fastest; returns how many are. */
static int say_ties(const result *results, int n, const record *best) {
    enum { FEW = 2 };
    int tied = 0, named = 0;
    for (int k = 0; k < n; k++)
        tied += results[k].r.perf_tied == 1 && are_ranked_together(&results[k].r, best);
    if (tied > FEW) say(", tied (=) with %d others", tied);
    for (int k = 0; k < n && tied && tied <= FEW; k++) {
        if (results[k].r.perf_tied != 1 || !are_ranked_together(&results[k].r, best)) continue;
        say(named++ ? " and" : ", tied (=) with");
        say_which(results, n, &results[k].r);
    }
    return tied;
}

/* Writes what tells the rows of one comparison from those of others, in brackets. */
static void conditions_text(const session *run, const record *r, char *out, size_t size) {
    char vectors[64] = "", threads[32] = "";
    const bool precisions = run->o->precision.count > 1, states = run->o->caches.count > 1;
    if (run->o->threads.count > 1)
        snprintf(threads, sizeof threads, "%s%d thread%s", precisions || states ? ", " : "",
                 (int)r->omp_threads, r->omp_threads == 1 ? "" : "s");
    if (run->o->vectors.count > 1 || run->o->layout.count > 1)
        snprintf(vectors, sizeof vectors, "%s%lld vectors in %s",
                 precisions || states || *threads ? ", " : "", (long long)r->config_vectors,
                 r->config_layout);
    snprintf(out, size, "%s%s%s%s%s", precisions ? r->config_precision : "",
             precisions && states ? ", " : "", states ? r->config_cache : "", threads, vectors);
}

/* Returns the fastest of the rows that differ from r in nothing but kernels and threads. */
static const record *fastest_of_threads(const result *results, int n, const record *r) {
    const record *best = NULL;
    for (int k = 0; k < n; k++) {
        record other = results[k].r;
        other.omp_threads = r->omp_threads;
        if (results[k].r.status && is_ranked(&results[k]) && are_ranked_together(&other, r) &&
            (!best || other.timing_median_s < best->timing_median_s))
            best = &results[k].r;
    }
    return best;
}

/* first: of those under its conditions. */
static void say_winner(const session *run, const result *results, int n, const record *first) {
    const record *best = least_beside(results, n, first, NULL), *second;
    const int64_t iters = run->o->iters;
    char conditions[128];
    if (ranked_with(results, n, first) < 2 && run->o->threads.count < 2) return;
    if (run->o->verbose) say_fastest(results, n, first, run->o->caches.count > 1, iters);
    if (iters && fastest(results, n, first, iters) != best) {
        say("  for %lld product%s, preparation included:", (long long)iters, iters == 1 ? "" : "s");
        say_which(results, n, fastest(results, n, first, iters));
        say("\n");
    }
    conditions_text(run, first, conditions, sizeof conditions);
    say("fastest%s%s%s:%s", *conditions ? " (" : "", conditions, *conditions ? ")" : "",
        best_beside(results, n, first) ? "" : " perhaps");
    say_which(results, n, best);
    const int tied = say_ties(results, n, best);
    const record *csr1 = csr1_beside(results, n, best);
    second = least_beside(results, n, first, best);
    if (csr1 && csr1 != best)
        say_against_csr1(results, n, best);
    else if (!tied && second)
        say_ratio(best, second);
    say("\n");
}

void say_winners(const session *run, const result *results, int n) {
    if (run->o->quiet || strcmp(run->o->format, "table") != 0) return;
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        bool is_first = r->status != NULL;
        for (int j = 0; j < k && is_first; j++)
            is_first = !results[j].r.status || !are_ranked_together(&results[j].r, r);
        const record *best = is_first ? fastest_of_threads(results, n, r) : NULL;
        if (best && are_ranked_together(best, r)) say_winner(run, results, n, r);
    }
}

/* ---- what is wrong with times --------------------------------------------------------------- */

static bool any(const result *results, int n, const char *which) {
    for (int k = 0; k < n; k++)
        if (results[k].r.perf_verdict && strcmp(results[k].r.perf_verdict, which) == 0) return true;
    return false;
}

static bool any_unchecked(const result *results, int n) {
    for (int k = 0; k < n; k++)
        if (is_ok(&results[k]) && !is_checked(&results[k])) return true;
    return false;
}

/* Where the threads of a team wait for each other by spinning, one that lost its core costs all:
 * waiting should leave the core to others, else fewer threads wait. That there are more threads
 * than cores was said before. */
static void say_what_helps(const session *run) {
    const char *policy = getenv("OMP_WAIT_POLICY");
    const int threads = spmv_ctx_threads(run->ctx), cores = omp_get_num_procs();
    const bool passive = policy && strcasecmp(policy, "passive") == 0;
    if (threads > cores) return;
    if (!passive)
        say(": OMP_WAIT_POLICY=passive helps");
    else if (threads > 1)
        say(": -t %d helps", threads - 1);
}

/* Kernels take turns, so that the flags of the first disturbed one stand for all. That its threads
 * waited is what the others come to. */
static void say_flags(const session *run, const result *results, int n) {
    int first = -1, count = 0, rows = 0, unsettled = 0;
    bool waits = false;
    for (int k = n - 1; k >= 0; k--) {
        rows += is_ok(&results[k]);
        waits |= results[k].waits && results[k].r.config_threads > 1 &&
                 !results[k].r.gpu_name; /* on a GPU the host does not compute */
        if (!results[k].nflags) continue;
        first = k, count++;
        unsettled += is_ok(&results[k]) && results[k].r.timing_settled == 0;
    }
    if (first < 0) return;
    const int shown = results[first].waits && !run->o->verbose ? 1 : results[first].nflags;
    say("  %s! ", unsettled ? "~ " : "");
    if (count < rows) say("%d of %d rows: ", count, rows);
    for (int f = 0; f < shown; f++) say("%s%s", f ? ", " : "", results[first].flags[f]);
    if (waits && !run->team) say_what_helps(run);
    say("\n");
}

/* Names undisturbed rows whose times have not settled: more samples help. */
static void say_unsettled(const session *run, const result *results, int n) {
    const sampling *how = &run->o->sampling;
    int count = 0;
    for (int k = 0; k < n; k++)
        count += is_ok(&results[k]) && results[k].r.timing_settled == 0 && !results[k].nflags;
    if (!count) return;
    say("  ~ not settled, %d row%s: the median is not known to within %g%% after %g s; "
        "--max-time=%g measures longer\n",
        count, count == 1 ? "" : "s", 100 * how->max_noise, how->max_time_s,
        fmax(1, 4 * how->max_time_s));
}

/* Only for cold samples on a GPU: warm ones hold many products, steady ones are a graph. */
static void say_launch(const result *results, int n) {
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        if (!is_ok(&results[k]) || !r->gpu_name || strcmp(r->config_cache, "cold") != 0) continue;
        char launch[TIME_TEXT];
        time_text(r->timing_launch_s, launch);
        say("  every time includes one kernel launch (%s when empty)\n", launch);
        return;
    }
}

/* Says of all rows together what their table leaves out for that. */
static void say_cached(const result *results, int n) {
    int rows = 0, cached = 0;
    for (int k = 0; k < n; k++) {
        const char *found = results[k].r.perf_verdict;
        rows += is_ok(&results[k]);
        cached += is_ok(&results[k]) && found && strcmp(found, "in cache") == 0;
    }
    if (cached)
        say("  %sin cache; --cache=cold or steady measures memory\n",
            cached == rows && rows > 1 ? "all " : "");
}

static void say_unknown_limits(const session *run) {
    const int threads = spmv_ctx_threads(run->ctx);
    bool rated = false;
    for (int b = 0; spmv_backends[b]; b++) rated |= run->rated[b];
    if (!rated && !run->team && !(run->o->probe && strcmp(run->o->probe, "off") == 0))
        say("  this machine's limits are not known for %d thread%s: 'spmv doctor --probe' measures "
            "them\n",
            threads, threads == 1 ? "" : "s");
}

void explain_results(const session *run, const result *results, int n, bool blurred) {
    if (blurred)
        say("  nearly all are tied with the fastest: the noise is larger than the differences; "
            "'spmv doctor' says what disturbs\n");
    say_cached(results, n);
    if (any(results, n, "above probe"))
        say("  above probe: up to a quarter faster than the probed memory bandwidth allows: the "
            "probe was too low, or fewer bytes moved than counted; 'spmv doctor --probe' measures "
            "again\n");
    if (any(results, n, "suspect"))
        say("  SUSPECT: more than a quarter faster than the probed memory bandwidth allows, and so "
            "not ranked; 'spmv doctor --probe' measures again\n");
    if (any_unchecked(results, n))
        say("  check off: nobody compared these results with the reference, so they are not "
            "ranked\n");
    say_flags(run, results, n);
    say_unsettled(run, results, n);
    say_launch(results, n);
    if (run->o->verbose) say_unknown_limits(run);
}
