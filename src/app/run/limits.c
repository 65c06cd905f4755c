/* limits.c: how fast the machine could have been: what a product must stream, and what it must read
 * at random places of x, over the rates that `spmv probe` measured. */
#include "session.h"
#include <math.h>
#include <stdlib.h>

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
        if (rates->cache_read > rates->read) r->perf_cache_Bps = rates->cache_read;
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
