/* probe.c: measures the best rates of this host with the team of the kernels: streams from memory
 * and from the last-level cache, and random reads. Every rate is the best of several passes,
 * because it serves as a limit; memory is read in several ways, at the start and at the end,
 * because the speed of a shared host varies. */
#include "backend.h"
#include "spmv_helpers.h"
#include <omp.h>

enum { WORD = sizeof(double), LINE = 8 /* words */, PASSES = 8 };
/* Seconds after which passes end: over all parts of the probe less than half a minute. */
static const double LONG_READ = 3, LONG_PASS = 1;

typedef struct streams {
    double *a, *b, *c; /* [n] */
    size_t n;
    int threads;
} streams;

/* Returns the start of a thread's part of 0..n-1, in whole cache lines. */
static size_t part(size_t n, int thread, int threads) {
    return (size_t)spmv_split((int64_t)(n / LINE), threads, thread) * LINE;
}

static void fill(const streams *s) {
#pragma omp parallel num_threads(s->threads)
    {
        size_t from = part(s->n, omp_get_thread_num(), omp_get_num_threads());
        size_t to = part(s->n, omp_get_thread_num() + 1, omp_get_num_threads());
        for (size_t k = from; k < to; k++) s->a[k] = s->b[k] = s->c[k] = 1;
    }
}

/* The way in which a thread reads its part. The fastest depends on the processor, whose prefetchers
 * follow a few streams at a time, each up to the end of a page. */
typedef struct way {
    int count;  /* number of concurrent streams */
    bool ahead; /* prefetches lines */
} way;
static const way ways[] = {{1, false}, {2, false}, {4, false}, {2, true}, {3, true}, {4, true}};
enum { WAYS = sizeof ways / sizeof *ways };

typedef double line __attribute__((vector_size(LINE * sizeof(double)), aligned(64)));

/* count and ahead are constants in the calls. */
static inline __attribute__((always_inline)) double sum_in(const double *a, size_t n, int count,
                                                           bool ahead) {
    enum { AHEAD = 32 }; /* lines */
    size_t each = n / LINE / (size_t)count;
    const line *p = (const line *)a;
    line sum[4] = {{0}};
    for (size_t k = 0; k < each; k++)
        for (int s = 0; s < count; s++) {
            const line *at = p + (size_t)s * each + k;
            if (ahead) __builtin_prefetch(at + AHEAD);
            sum[s] += *at;
        }
    sum[0] += sum[1] + sum[2] + sum[3];
    double all = 0;
    for (int l = 0; l < LINE; l++) all += sum[0][l];
    return all;
}

static double sum_of(const double *a, size_t n, way how) {
    switch (how.count + (how.ahead ? 8 : 0)) {
    case 1: return sum_in(a, n, 1, false);
    case 2: return sum_in(a, n, 2, false);
    case 4: return sum_in(a, n, 4, false);
    case 8 + 2: return sum_in(a, n, 2, true);
    case 8 + 3: return sum_in(a, n, 3, true);
    default: return sum_in(a, n, 4, true);
    }
}

/* Reads the first n entries, in chunks that threads take dynamically: on a shared host the slowest
 * of equal shares would not represent the memory. */
static double read_all(const streams *s, size_t n, way how) {
    enum { CHUNKS = 16 /* per thread */ };
    double sum = 0;
#pragma omp parallel for num_threads(s->threads) schedule(dynamic, 1) reduction(+ : sum)
    for (int k = 0; k < CHUNKS * s->threads; k++) {
        size_t from = part(n, k, CHUNKS * s->threads), to = part(n, k + 1, CHUNKS * s->threads);
        sum += sum_of(s->a + from, to - from, how);
    }
    return sum;
}

/* Each thread reads its part of the first n entries `times` times. */
static double read_again(const streams *s, size_t n, int times, way how) {
    double sum = 0;
#pragma omp parallel num_threads(s->threads) reduction(+ : sum)
    {
        size_t from = part(n, omp_get_thread_num(), omp_get_num_threads());
        size_t to = part(n, omp_get_thread_num() + 1, omp_get_num_threads());
        for (int t = 0; t < times; t++) {
            sum += sum_of(s->a + from, to - from, how);
            __asm__ volatile("" ::: "memory"); /* prevents merging of the passes */
        }
    }
    return sum;
}

static void copy_all(const streams *s) {
#pragma omp parallel num_threads(s->threads)
    {
        size_t from = part(s->n, omp_get_thread_num(), omp_get_num_threads());
        size_t to = part(s->n, omp_get_thread_num() + 1, omp_get_num_threads());
        const double *restrict a = s->a;
        double *restrict c = s->c;
        for (size_t k = from; k < to; k++) c[k] = a[k] + 0.0; /* prevents a call of memcpy */
    }
}

static void triad_all(const streams *s) {
#pragma omp parallel num_threads(s->threads)
    {
        size_t from = part(s->n, omp_get_thread_num(), omp_get_num_threads());
        size_t to = part(s->n, omp_get_thread_num() + 1, omp_get_num_threads());
        const double *restrict a = s->a, *restrict b = s->b;
        double *restrict c = s->c;
        for (size_t k = from; k < to; k++) c[k] = a[k] + 3.0 * b[k];
    }
}

/* Loads into four sums, because a gather instruction can be several times slower. */
static double gather_part(const double *x, const uint32_t *at, size_t n) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (size_t k = 0; k + 4 <= n; k += 4) {
        s0 += x[at[k]];
        s1 += x[at[k + 1]];
        s2 += x[at[k + 2]];
        s3 += x[at[k + 3]];
    }
    return s0 + s1 + s2 + s3;
}

static double gather_all(const streams *s, const uint32_t *at, size_t n) {
    double sum = 0;
#pragma omp parallel num_threads(s->threads) reduction(+ : sum)
    {
        size_t from = part(n, omp_get_thread_num(), omp_get_num_threads());
        size_t to = part(n, omp_get_thread_num() + 1, omp_get_num_threads());
        sum += gather_part(s->a, at + from, to - from);
    }
    return sum;
}

/* ---- the clock ------------------------------------------------------------------------------ */

typedef enum pass { COPY, TRIAD, GATHER } pass;

/* Writes the seconds of the fastest of PASSES passes. n: entries of at. */
static spmv_status best_of(spmv_device *d, const streams *s, pass what, const uint32_t *at,
                           size_t n, double *out) {
    volatile double kept; /* prevents removal of the sums */
    *out = 0;
    double spent = 0, seconds = 0;
    for (int k = 0; k < PASSES && spent + seconds < LONG_PASS; k++) {
        TRY(d->backend->tick(d));
        switch (what) {
        case COPY: copy_all(s); break;
        case TRIAD: triad_all(s); break;
        case GATHER: kept = gather_all(s, at, n); break;
        }
        TRY(d->backend->tock(d, &seconds));
        if (k == 0 || seconds < *out) *out = seconds;
        spent += seconds;
    }
    (void)kept;
    return SPMV_OK;
}

/* Raises *rate, in bytes per second, to the best of all ways to read the first n entries. */
static spmv_status best_read(spmv_device *d, const streams *s, size_t n, int times, double *rate) {
    volatile double kept;
    double spent = 0, seconds = 0;
    for (int k = 0; k < PASSES * WAYS && spent + seconds < LONG_READ; k++) {
        TRY(d->backend->tick(d));
        kept =
            times == 1 ? read_all(s, n, ways[k % WAYS]) : read_again(s, n, times, ways[k % WAYS]);
        TRY(d->backend->tock(d, &seconds));
        double found = (double)(n * WORD) * times / seconds;
        if (seconds > 0 && found > *rate) *rate = found;
        spent += seconds;
    }
    (void)kept;
    return SPMV_OK;
}

static spmv_status measure_streams(spmv_device *d, const streams *s, spmv_rates *out) {
    double seconds, bytes = (double)s->n * WORD;
    TRY(best_read(d, s, s->n, 1, &out->read));
    TRY(best_of(d, s, COPY, NULL, 0, &seconds));
    out->copy = 2 * bytes / seconds;
    TRY(best_of(d, s, TRIAD, NULL, 0, &seconds));
    out->triad = 3 * bytes / seconds;
    return best_read(d, s, out->cache_bytes / WORD, 8, &out->cache_read);
}

static spmv_status measure_gathers(spmv_device *d, const streams *s, uint32_t *at, size_t n,
                                   spmv_rates *out) {
    for (size_t bytes = 1 << 15; bytes <= s->n * WORD && out->ngathers < SPMV_GATHERS; bytes *= 4) {
        uint64_t mask = bytes / WORD - 1;
        double seconds;
        for (size_t k = 0; k < n; k++) at[k] = (uint32_t)(spmv_mix(k + 1) & mask);
        TRY(best_of(d, s, GATHER, at, n, &seconds));
        out->gather_bytes[out->ngathers] = bytes;
        out->gathers[out->ngathers++] = (double)n / seconds;
    }
    return SPMV_OK;
}

spmv_status spmv_probe_host(spmv_device *d, size_t cache, spmv_rates *out) {
    size_t room = d->backend->free_bytes(d) / 8, bytes = (size_t)128 << 20, places = 1 << 22;
    while (bytes < 4 * cache && bytes < room) bytes *= 2;
    if (bytes > room) bytes = room;
    streams s = {.n = bytes / WORD, .threads = d->threads};
    uint32_t *at = spmv_host_alloc(places * sizeof *at);
    *out = (spmv_rates){.cache_bytes = cache / 2 < bytes ? cache / 2 : bytes};
    if (out->cache_bytes == 0) out->cache_bytes = 1 << 20; /* size of the cache unknown */
    s.a = spmv_host_alloc(bytes);
    s.b = spmv_host_alloc(bytes);
    s.c = spmv_host_alloc(bytes);
    spmv_status status = SPMV_OK;
    if (!at || !s.a || !s.b || !s.c)
        status = spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory: three times %.1f MB to probe",
                           1e-6 * (double)bytes);
    if (status == SPMV_OK) {
        fill(&s);
        status = measure_streams(d, &s, out);
    }
    if (status == SPMV_OK) status = measure_gathers(d, &s, at, places, out);
    if (status == SPMV_OK) status = best_read(d, &s, s.n, 1, &out->read);
    spmv_host_free(at);
    spmv_host_free(s.a);
    spmv_host_free(s.b);
    spmv_host_free(s.c);
    return status;
}
