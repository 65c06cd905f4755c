/* limits.c: how fast the machine could have been: what a product must stream, and what it must read
 * at random places of x, over the rates that `spmv doctor --probe` measured. */
#include "app/record/record.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include "knee.h"
#include "limits.h"
#include "rates.h"
#include "reads_of_x.h"
#include <math.h>
#include <string.h>

/* A little over the limit is the noise of two measurements. Some more is a probe that was too low:
 * the machine was slower then, or a product reads memory better than the probe's loops do, or moves
 * fewer bytes than are counted, as a library whose store nobody can look into may. That is fast,
 * and ranked; what is beyond it no such thing explains. */
static const double OVER = 1.1, TOO_LOW = 1.25;

/* Returns the least time that memory and a warm cache together allow: the cache gives the part of
 * the working set that it holds at its own rate. NaN: the cache is unknown or too small. */
static double least_time(const record *r, const spmv_rates *rates) {
    double held = 1 / r->store_llc_ratio, bytes = (double)r->perf_bytes_min_B;
    if (!(rates->cache_read > rates->read) || !(held > 0.25)) return NAN;
    return bytes * (held / rates->cache_read + (1 - held) / rates->read);
}

/* A cache that is said to hold the whole working set, but was measured to hold a quarter at most,
 * counts only if the product is faster than memory. */
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
    if (backend->host && r->omp_threads >= 0 && r->omp_threads < spmv_ctx_threads(run->ctx))
        rates = NULL; /* fewer threads read less */
    if (rates) {
        r->perf_bw_peak_Bps = rates->read;
        r->perf_bw_peak_source = rates->others > 0 ? "measured-beside" : "measured-read";
        if (!(rates->others > 0) && rates->cache_read > rates->read)
            r->perf_cache_Bps = rates->cache_read;
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
    r->matrix_x_jump_B = (whole)(reads->lines * X_LINE * width);
    r->perf_limit_gather_s =
        jumps > 0 ? jumps / gather_rate(rates, reads->lines * X_LINE * width, width) : 0;
    r->perf_limit_binds = r->perf_limit_gather_s > r->perf_limit_stream_s ? "gather" : "stream";
    r->perf_gather_fraction = r->perf_limit_gather_s / r->timing_median_s;
    if (r->timing_median_s >= 0 && !(rates->others > 0))
        r->perf_verdict = verdict_of(r, rates, backend->host);
}
