/* ranking.c: who is fastest, who is tied with it, and what changing over from csr1 costs. */
#include "app/record/record.h"
#include "app/record/write_table.h"
#include "ranking.h"
#include "result.h"
#include <math.h>
#include <string.h>

bool is_ok(const result *out) {
    return out->r.status && strcmp(out->r.status, "ok") == 0;
}

bool is_checked(const result *out) {
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

bool are_ranked_together(const record *a, const record *b) {
    return strcmp(a->config_precision, b->config_precision) == 0 &&
           strcmp(a->config_cache, b->config_cache) == 0 &&
           a->config_vectors == b->config_vectors && a->omp_threads == b->omp_threads &&
           (a->config_vectors <= 1 || strcmp(a->config_layout, b->config_layout) == 0);
}

/* Single precision moves half the bytes, cold caches are slower, and several vectors take longer:
 * each precision, state, number of vectors and layout has a best of its own. */
const record *best_beside(const result *results, int n, const record *r) {
    const record *best = NULL;
    bool calm = false;
    for (int k = 0; k < n; k++) {
        if (!is_ranked(&results[k]) || !are_ranked_together(&results[k].r, r)) continue;
        calm |= !is_disturbed(&results[k]);
        if (!best || results[k].r.timing_median_s < best->timing_median_s) best = &results[k].r;
    }
    return calm ? best : NULL; /* if all were disturbed, none is the fastest */
}

int ranked_with(const result *results, int n, const record *r) {
    int count = 0;
    for (int k = 0; k < n; k++)
        count += is_ranked(&results[k]) && are_ranked_together(&results[k].r, r);
    return count;
}

/* By name comes before what auto chose, then the faster before the slower. */
static bool is_better_csr1(const record *a, const record *b) {
    return is_chosen(a) != is_chosen(b) ? is_chosen(b) : a->timing_median_s < b->timing_median_s;
}

const record *csr1_beside(const result *results, int n, const record *r) {
    const record *csr1 = NULL;
    for (int k = 0; k < n; k++) {
        const record *other = &results[k].r;
        if (is_ok(&results[k]) && are_ranked_together(other, r) && other->config_alias &&
            strcmp(other->config_alias, "csr1") == 0 &&
            strcmp(other->config_backend, r->config_backend) == 0 &&
            (!csr1 || is_better_csr1(other, csr1)))
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
