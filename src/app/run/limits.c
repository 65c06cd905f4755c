/* limits.c: how fast the machine could have been: what a product must stream, and what it must read
 * at random places of x, over the rates that `spmv probe` measured; then who is fastest, who is
 * tied with it, and what changing over from csr1 costs. */
#include "session.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <strings.h>

/* ---- where x is read ------------------------------------------------------------------------ */

enum { LINE = 8, WINDOW = 1 << 13, MOST_WINDOWS = 256 }; /* numbers on a line; entries */

typedef struct bits { /* a line of x each */
    uint64_t *word;
} bits;

static bool has(const bits *b, int64_t line) {
    return line >= 0 && b->word[line >> 6] >> (line & 63) & 1;
}

/* Lines read among the WINDOW/2 entries before, or beside such a line, are near: a cache or its
 * prefetcher has them. Returns how many of the window's second half are not. */
static int64_t walk(const spmv_csr_view *A, int64_t from, int64_t to, const bits *seen,
                    const bits *jumped, int64_t *distinct) {
    int64_t jumps = 0;
    for (int64_t k = from; k < to; k++) {
        int64_t line = A->col_idx[k] / LINE;
        bool near = has(seen, line) || has(seen, line - 1) || has(seen, line + 1);
        seen->word[line >> 6] |= (uint64_t)1 << (line & 63);
        if (near || k - from < (to - from) / 2) continue;
        jumps++;
        *distinct += !has(jumped, line);
        jumped->word[line >> 6] |= (uint64_t)1 << (line & 63);
    }
    for (int64_t k = from; k < to; k++) seen->word[A->col_idx[k] / LINE >> 6] = 0;
    return jumps;
}

/* Says how many lines n random reads come from when they met so many distinct ones: m (1 -
 * exp(-n/m)) = distinct, by bisection. */
static double population(double n, double distinct, double most) {
    double low = distinct, high = most > distinct ? most : distinct;
    for (int k = 0; k < 60 && low < high; k++) {
        double m = 0.5 * (low + high);
        if (m * -expm1(-n / m) < distinct)
            low = m;
        else
            high = m;
    }
    return high;
}

bool find_reads_of_x(const spmv_csr_view *A, reads_of_x *out) {
    int64_t lines = (A->cols + LINE - 1) / LINE, words = (lines + 1) / 64 + 2;
    int64_t windows = A->nnz / WINDOW, jumps = 0, distinct = 0, looked_at = 0;
    bits seen = {calloc((size_t)words, 8)}, jumped = {calloc((size_t)words, 8)};
    bool fine = seen.word && jumped.word;
    *out = (reads_of_x){0, 0};
    windows = windows < 1 ? 1 : windows > MOST_WINDOWS ? MOST_WINDOWS : windows;
    for (int64_t w = 0; fine && w < windows; w++) {
        int64_t from = spmv_split(A->nnz, windows, w), to = spmv_split(A->nnz, windows, w + 1);
        if (to > from + WINDOW) to = from + WINDOW;
        jumps += walk(A, from, to, &seen, &jumped, &distinct);
        looked_at += to - from - (to - from) / 2;
    }
    if (looked_at) out->jumps = (double)jumps / (double)looked_at;
    if (jumps) out->lines = population((double)jumps, (double)distinct, (double)lines);
    free(seen.word);
    free(jumped.word);
    return fine;
}

/* ---- limits --------------------------------------------------------------------------------- */

/* A little over the limit is the noise of two measurements. Some more is a probe that was too low:
 * the machine was slower then, or a product reads memory better than the probe's loops do, or moves
 * fewer bytes than are counted, as a library whose store nobody can look into may. That is fast,
 * and ranked; what is beyond it no such thing explains. */
static const double OVER = 1.1, TOO_LOW = 1.25;

/* Warm, a cache that holds a part of the working set gives that part at its own rate. One that is
 * said to hold all of it, but was measured to hold a quarter at most, is not believed unless the
 * product is faster than memory. */
/* Returns the least time that memory and caches together allow. NaN: nothing is known of the cache,
 * or it is too small to help. */
static double least_time(const record *r, const spmv_rates *rates) {
    double held = 1 / r->store_llc_ratio, bytes = (double)r->perf_bytes_min_B;
    if (!(rates->cache_read > rates->read) || !(held > 0.25)) return NAN;
    return bytes * (held / rates->cache_read + (1 - held) / rates->read);
}

static const char *verdict_of(const record *r, const spmv_rates *rates, bool host) {
    bool warm = strcmp(r->config_cache, "warm") == 0;
    bool streams = host && (double)r->store_working_set_B >= 4.0 * (double)knee_of(rates);
    if (warm && r->store_llc_ratio <= 1 && !(streams && r->perf_bw_fraction <= OVER))
        return "in cache";
    if (r->perf_bw_fraction <= OVER) return "ok";
    if (warm && least_time(r, rates) <= OVER * r->timing_median_s) return "in cache";
    return r->perf_bw_fraction <= TOO_LOW ? "above probe" : "suspect";
}

void describe_limits(const session *run, result *out, const spmv_backend *backend,
                     const reads_of_x *reads) {
    record *r = &out->r;
    const spmv_rates *rates = NULL;
    for (int b = 0; spmv_backends[b]; b++)
        if (spmv_backends[b] == backend && run->rated[b]) rates = &run->rates[b];
    if (rates) {
        r->perf_bw_peak_Bps = rates->read;
        r->perf_bw_peak_source = "measured-read";
    } else if (r->gpu_bw_theory_Bps > 0) {
        r->perf_bw_peak_Bps = r->gpu_bw_theory_Bps;
        r->perf_bw_peak_source = "theory";
    }
    if (!(r->perf_bw_peak_Bps > 0)) return;
    r->perf_limit_stream_s = (double)r->perf_bytes_min_B / r->perf_bw_peak_Bps;
    r->perf_bw_fraction = r->perf_limit_stream_s / r->timing_median_s;
    if (!rates) return;
    /* A random read brings the numbers of all vectors, which lie side by side at best. */
    double jumps = reads->jumps * (double)r->matrix_nnz,
           width = r->config_precision[1] == '6' ? 8 : 4;
    if (r->config_vectors > 1) width *= (double)r->config_vectors;
    r->matrix_x_jumps = reads->jumps;
    r->matrix_x_jump_B = (whole)(reads->lines * LINE * width);
    r->perf_limit_gather_s =
        jumps > 0 ? jumps / gather_rate(rates, reads->lines * LINE * width, width) : 0;
    r->perf_limit_binds = r->perf_limit_gather_s > r->perf_limit_stream_s ? "gather" : "stream";
    r->perf_gather_fraction = r->perf_limit_gather_s / r->timing_median_s;
    if (r->timing_median_s >= 0) r->perf_verdict = verdict_of(r, rates, backend->host);
}

/* ---- who is fastest ------------------------------------------------------------------------- */

static bool is_ok(const result *out) {
    return out->r.status && strcmp(out->r.status, "ok") == 0;
}

static bool is_checked(const result *out) {
    return !(out->r.check_status && strcmp(out->r.check_status, "off") == 0);
}

bool is_ranked(const result *out) {
    const record *r = &out->r;
    return is_ok(out) && is_checked(out) &&
           !(r->perf_verdict && strcmp(r->perf_verdict, "suspect") == 0);
}

static bool is_disturbed(const result *out) {
    return out->r.timing_flags.count > 0;
}

static bool are_compared(const record *a, const record *b) {
    return strcmp(a->config_precision, b->config_precision) == 0 &&
           strcmp(a->config_cache, b->config_cache) == 0 &&
           a->config_vectors == b->config_vectors &&
           (a->config_vectors <= 1 || strcmp(a->config_layout, b->config_layout) == 0);
}

/* Single precision moves half the bytes, cold caches are slower, and several vectors take longer:
 * each precision, state, number of vectors and layout has a best of its own. */
static const record *best_beside(const result *results, int n, const record *r) {
    const record *best = NULL;
    bool calm = false;
    for (int k = 0; k < n; k++) {
        if (!is_ranked(&results[k]) || !are_compared(&results[k].r, r)) continue;
        calm |= !is_disturbed(&results[k]);
        if (!best || results[k].r.timing_median_s < best->timing_median_s) best = &results[k].r;
    }
    return calm ? best : NULL; /* where all were disturbed, none is said to be the fastest */
}

/* Returns the number of rows ranked with r, r included. It is less than what the log holds if a
 * sweep was resumed, or ran its cells one by one after a crash. */
static int ranked_with(const result *results, int n, const record *r) {
    int count = 0;
    for (int k = 0; k < n; k++) count += is_ranked(&results[k]) && are_compared(&results[k].r, r);
    return count;
}

/* Returns the papers' csr1 on the same backend, in its fastest configuration. */
static const record *csr1_beside(const result *results, int n, const record *r) {
    const record *csr1 = NULL;
    for (int k = 0; k < n; k++) {
        const record *other = &results[k].r;
        if (is_ok(&results[k]) && are_compared(other, r) && other->config_alias &&
            strcmp(other->config_alias, "csr1") == 0 &&
            strcmp(other->config_backend, r->config_backend) == 0 &&
            (!csr1 || other->timing_median_s < csr1->timing_median_s))
            csr1 = other;
    }
    return csr1;
}

/* Returns the number of products after which r, prepared, has cost no more than csr1, prepared;
 * INT64_MIN: never. A quotient that is whole but for its rounding is not rounded up. */
static int64_t breakeven(const record *r, const record *csr1) {
    double more = r->prep_total_s - csr1->prep_total_s;
    double saved = csr1->timing_median_s - r->timing_median_s;
    if (more <= 0) return saved >= 0 ? 0 : INT64_MIN;
    if (saved <= 0) return INT64_MIN;
    return more / saved < 1e18 ? (int64_t)ceil(more / saved * (1 - 1e-12)) : INT64_MIN;
}

/* Says for what is slower, but needs less preparation, up to how many products it has cost no more
 * than csr1; INT64_MIN: none, or there is no end. */
static int64_t ahead_until(const record *r, const record *csr1) {
    double less = csr1->prep_total_s - r->prep_total_s;
    double loss = r->timing_median_s - csr1->timing_median_s;
    double products = less > 0 && loss > 0 ? floor(less / loss * (1 + 1e-12)) : 0;
    return products >= 1 && products < 1e18 ? (int64_t)products : INT64_MIN;
}

void rank_results(result *results, int n) {
    for (int k = 0; k < n; k++) {
        record *r = &results[k].r;
        if (!is_ok(&results[k])) continue;
        const record *best = best_beside(results, n, r), *csr1 = csr1_beside(results, n, r);
        r->perf_best = r == best;
        r->perf_ranked = ranked_with(results, n, r);
        const statistics mine = record_times(r), least = record_times(best ? best : r);
        r->perf_tied = best && r != best && is_ranked(&results[k]) && !is_faster(&least, &mine, 0);
        if (!csr1) continue;
        r->perf_speedup_csr1 = csr1->timing_median_s / r->timing_median_s;
        r->perf_breakeven = breakeven(r, csr1);
        r->perf_ahead_until = ahead_until(r, csr1);
    }
}

/* ---- notes below the table ------------------------------------------------------------------ */

static double cost(const record *r, double products) {
    return r->prep_total_s + products * r->timing_median_s;
}

/* Prints the kernel, with backend and configuration where the name alone is ambiguous; of what auto
 * chose the configuration that it is. */
static void say_which(const result *results, int n, const record *r) {
    bool mixed = false;
    int rows = 0;
    for (int k = 0; k < n; k++) {
        const record *other = &results[k].r;
        if (!other->status) continue;
        bool beside = strcmp(other->config_backend, r->config_backend) == 0;
        mixed |= !beside;
        rows += beside && strcmp(other->config_kernel, r->config_kernel) == 0 &&
                strcmp(other->config_cache, r->config_cache) == 0;
    }
    char all[CONFIGURATION];
    configuration_text(r, all, sizeof all);
    say(" %s%s%s%s", mixed ? r->config_backend : "", mixed ? ":" : "",
        rows > 1 || is_chosen(r) ? all : r->config_kernel, is_chosen(r) ? " (auto)" : "");
}

/* Rounds to one digit: the preparation, measured once, is not known better. */
static long long rounded(long long products) {
    long long unit = 1;
    while (products / unit >= 10) unit *= 10;
    return (products / unit + (products % unit >= (unit + 1) / 2)) * unit;
}

const char *doubt_of(const record *r) {
    bool unsettled = r->timing_settled == 0, disturbed = r->timing_flags.count > 0;
    return unsettled && disturbed ? "disturbed and not settled"
           : disturbed            ? "disturbed"
           : unsettled            ? "not settled"
                                  : "";
}

/* Says how many times as fast as the other r is, at least and at most. False: both times are known,
 * and so is their ratio. */
static bool ratio_is_rough(const record *r, const record *other, double *least, double *most) {
    const statistics mine = record_times(r), others = record_times(other);
    ratio_range(&others, &mine, least, most);
    return *doubt_of(r) || *doubt_of(other);
}

/* No more digits than the intervals of both medians leave, and two decimals at most. */
static int digits_of(const record *r, const record *other) {
    const double ratio = other->timing_median_s / r->timing_median_s;
    const statistics s = record_times(r), t = record_times(other);
    const double error = ratio * ratio_noise(&s, &t);
    return error >= 1 ? 0 : error >= 0.1 ? 1 : 2;
}

void say_against_csr1(const result *results, int n, const record *r) {
    const record *csr1 = csr1_beside(results, n, r);
    long long products = r->perf_breakeven, ahead = r->perf_ahead_until;
    double least, most;
    if (!csr1 || r == csr1) return;
    if (ratio_is_rough(r, csr1, &least, &most)) {
        if (least > 1 || most < 1)
            say(", about %.*f to %.*f times as fast as %s, %s", least < 10, least, most < 10, most,
                csr1->config_kernel, *doubt_of(r) ? doubt_of(r) : doubt_of(csr1));
        return;
    }
    say(", %.*f times as fast as %s; ", digits_of(r, csr1), r->perf_speedup_csr1,
        csr1->config_kernel);
    if (products > 0)
        say("pays off after about %lld product%s", rounded(products), products == 1 ? "" : "s");
    else if (products == 0)
        say("pays off at once");
    else if (ahead > 0)
        say("ahead with its preparation up to about %lld product%s", rounded(ahead),
            ahead == 1 ? "" : "s");
    else
        say("never pays off");
}

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
        if (is_ranked(&results[k]) && are_compared(r, first) &&
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
        if (r == best || !is_ranked(&results[k]) || !are_compared(r, best)) continue;
        const statistics its = record_times(r);
        const double cheapest = r->prep_total_s + (double)products * its.low;
        if ((*doubt_of(best) || *doubt_of(r)) && !(dearest < cheapest)) return true;
    }
    return false;
}

/* Says whether it is surely faster than csr1: by a ratio, or where only a range is known, by all of
 * it. */
static bool is_surely_faster(const result *results, int n, const record *r) {
    const record *csr1 = csr1_beside(results, n, r);
    double least, most;
    if (!csr1) return false;
    return ratio_is_rough(r, csr1, &least, &most) ? least > 1 : r->perf_speedup_csr1 > 1;
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
    if (!is_surely_faster(results, n, last)) return;
    say("  for many products:");
    say_which(results, n, last);
    say_against_csr1(results, n, last);
    say("\n");
}

/* Says it in every state of the caches. */
static void say_fastest_ones(const session *run, const result *results, int n,
                             const char *precision) {
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        bool is_first = r->status && strcmp(r->config_precision, precision) == 0;
        for (int j = 0; j < k && is_first; j++)
            is_first = !results[j].r.status || !are_compared(&results[j].r, r);
        if (is_first) say_fastest(results, n, r, run->o->caches.count > 1, run->o->iters);
    }
}

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

/* Returns how many words from here on give the number of threads: -t 8, -t8, --threads 8,
 * --threads=8. */
static int threads_words(const char *word) {
    bool alone = strcmp(word, "-t") == 0 || strcmp(word, "--threads") == 0;
    return alone ? 2 : strncmp(word, "-t", 2) == 0 || strncmp(word, "--threads=", 10) == 0;
}

/* Writes the command again with flag at the end if that is not empty, which then gives the number
 * of threads. False: it is too long to be read. */
static bool typed_again(const options *o, const char *flag, char *out, size_t size) {
    enum { READABLE = 200 };
    FILE *file = fmemopen(out, size, "w");
    for (int k = 0; file && k < o->argc; k++) {
        int skipped = k && *flag ? threads_words(o->argv[k]) : 0;
        k += skipped ? skipped - 1 : 0;
        if (skipped) continue;
        if (k) fputc(' ', file);
        write_word(o->argv[k], file);
        if (k == 0 && o->command) fprintf(file, " %s", o->command);
    }
    if (file) fputs(flag, file);
    return file && fclose(file) == 0 && *out && strlen(out) < READABLE;
}

/* Where the threads of a team wait for each other by spinning, one that lost its core costs all:
 * no more threads than cores, else waiting that leaves the core to others, else fewer threads. */
static void say_waits(const session *run) {
    const char *policy = getenv("OMP_WAIT_POLICY");
    int threads = spmv_ctx_threads(run->ctx), cores = omp_get_num_procs();
    bool shared = threads > cores, passive = policy && strcasecmp(policy, "passive") == 0;
    int fewer = shared ? cores : threads - 1;
    const char *variable = shared && !passive ? "" : "OMP_WAIT_POLICY=passive ";
    char command[512], flag[16] = "";
    if (passive && fewer < 1) return;
    if (passive || shared) snprintf(flag, sizeof flag, " -t %d", fewer);
    if (!typed_again(run->o, flag, command, sizeof command))
        snprintf(command, sizeof command, "(the same command)%s", flag);
    say("  ! threads that wait for a core disturb the timing; try this");
    if (!*flag && fewer >= 1) say(", with -t %d appended if it does not help", fewer);
    say(":\n");
    say("    %s%s\n", variable, command);
}

/* Kernels take turns, so that the flags of the first disturbed one stand for all. */
static void say_flags(const session *run, const result *results, int n) {
    int first = -1, count = 0, rows = 0;
    bool waits = false, compete = false;
    for (int k = n - 1; k >= 0; k--) {
        rows += is_ok(&results[k]);
        compete |= results[k].r.perf_ranked > 1;
        waits |= results[k].waits && results[k].r.config_threads > 1 &&
                 !results[k].r.gpu_name; /* whose host does not compute */
        if (results[k].nflags) first = k, count++;
    }
    if (first < 0) return;
    say("  ! disturbed, %d of %d row%s:", count, rows, rows == 1 ? "" : "s");
    for (int f = 0; f < results[first].nflags; f++)
        say("%s %s", f ? ";" : "", results[first].flags[f]);
    say("%s\n", count == rows && compete ? "; so none is marked as the fastest (*)" : "");
    if (waits && !run->team) say_waits(run);
}

static void say_unsettled(const session *run, const result *results, int n) {
    int count = 0;
    for (int k = 0; k < n; k++) count += is_ok(&results[k]) && results[k].r.timing_settled == 0;
    if (!count) return;
    say("  ~ not settled, %d row%s: the median is not known to within %g%% yet; --max-time "
        "measures longer, --max-noise asks for less\n",
        count, count == 1 ? "" : "s", 100 * run->o->sampling.max_noise);
}

/* Only for cold samples on a GPU: warm ones hold many products, steady ones are a graph. */
static void say_launch(const result *results, int n) {
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        if (!is_ok(&results[k]) || !r->gpu_name || strcmp(r->config_cache, "cold") != 0) continue;
        say("  every time includes one kernel launch (%.1f us when empty)\n",
            1e6 * r->timing_launch_s);
        return;
    }
}

void explain_results(const session *run, const result *results, int n, bool blurred) {
    bool tied = false, rated = false;
    for (int k = 0; k < n; k++) tied |= results[k].r.perf_tied == 1;
    for (int b = 0; spmv_backends[b]; b++) rated |= run->rated[b];
    if (blurred)
        say("  nearly all are tied with the fastest (*), their quartiles overlap: the noise is "
            "larger than the differences; 'spmv doctor' says what disturbs\n");
    else if (tied)
        say("  = tied with the fastest (*): their quartiles overlap\n");
    if (any(results, n, "in cache"))
        say("  in cache: the last-level cache holds all or part of the working set; use "
            "--cache=cold or steady to measure memory\n");
    if (any(results, n, "above probe"))
        say("  above probe: up to a quarter faster than the probed memory bandwidth allows: the "
            "probe was too low, or fewer bytes moved than counted; 'spmv probe' measures again\n");
    if (any(results, n, "suspect"))
        say("  SUSPECT: more than a quarter faster than the probed memory bandwidth allows, and so "
            "not ranked; 'spmv probe' measures again\n");
    if (any_unchecked(results, n))
        say("  check off: nobody compared these results with the reference, so they are not "
            "ranked\n");
    say_flags(run, results, n);
    say_unsettled(run, results, n);
    say_launch(results, n);
    say_fastest_ones(run, results, n, "f64");
    say_fastest_ones(run, results, n, "f32");
    if (!rated && !run->team && !(run->o->probe && strcmp(run->o->probe, "off") == 0))
        say("  this machine's limits are not known for %d thread%s: 'spmv probe' measures them, "
            "once\n",
            spmv_ctx_threads(run->ctx), spmv_ctx_threads(run->ctx) == 1 ? "" : "s");
}
