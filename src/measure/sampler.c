/* sampler.c: runs a product once for the check and many times for timing. */
#include "spmv_clock.h"
#include "matrix/stores/stored.h"
#include "sampler.h"
#include <math.h>
#include <stdlib.h>

/* Returns the number of elements of k vectors of length n. */
static int64_t numbers_of(const problem *p, int64_t n) {
    return p->k > 1 ? p->k * n : n;
}

static size_t bytes_of(const problem *p, int64_t n) {
    const size_t width = p->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    return (size_t)numbers_of(p, n) * width;
}

size_t problem_vector_bytes(spmv_precision precision, int64_t n) {
    const size_t line = 256;
    const problem p = {.precision = precision};
    return (bytes_of(&p, n) + line - 1) / line * line;
}

static size_t borrowed_bytes(const problem *p, int64_t n) {
    return problem_vector_bytes(p->precision, numbers_of(p, n));
}

/* ---- vectors, and copies of them ------------------------------------------------------------ */

static spmv_status make_vectors(problem *p, int k) {
    spmv_product *product = &p->product[k];
    void *x = NULL, *y = NULL;
    if (p->borrowed_x) {
        product->x = p->borrowed_x + (size_t)k * borrowed_bytes(p, p->cols);
        product->y = p->borrowed_y + (size_t)k * borrowed_bytes(p, p->rows);
        return SPMV_OK;
    }
    TRY(spmv_plan_alloc(p->plan, bytes_of(p, p->cols), &x));
    product->x = x;
    TRY(spmv_plan_alloc(p->plan, bytes_of(p, p->rows), &y));
    product->y = y;
    TRY(spmv_plan_put(p->plan, x, p->x, bytes_of(p, p->cols)));
    return spmv_plan_put(p->plan, y, p->y0, bytes_of(p, p->rows));
}

spmv_status problem_copies(problem *p, int count) {
    spmv_product *grown = realloc(p->product, (size_t)count * sizeof *grown);
    if (!grown) return spmv_fail(p->plan->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->product = grown;
    bool *negated = realloc(p->negated, (size_t)count * sizeof *negated);
    if (!negated) return spmv_fail(p->plan->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->negated = negated;
    while (p->nproducts < count) {
        int k = p->nproducts;
        spmv_plan *copy = NULL;
        if (k > 0) TRY(spmv_plan_copy(p->plan, &copy));
        p->product[k] =
            (spmv_product){.plan = copy ? copy : p->plan, .k = p->k, .layout = p->layout};
        p->negated[k] = false;
        p->nproducts++; /* problem_close frees this one, too */
        TRY(make_vectors(p, k));
    }
    return SPMV_OK;
}

spmv_status problem_open(problem *p) {
    double start = spmv_now();
    spmv_status status = problem_copies(p, 1);
    p->vectors_s = spmv_now() - start;
    return status;
}

void problem_close(problem *p) {
    spmv_batch_free(p->batch);
    for (int k = 0; k < p->nproducts; k++) {
        spmv_product *product = &p->product[k];
        if (!p->borrowed_x) spmv_plan_release(p->plan, (void *)(uintptr_t)product->x);
        if (!p->borrowed_x) spmv_plan_release(p->plan, product->y);
        if (k > 0) spmv_plan_free((spmv_plan *)(uintptr_t)product->plan);
    }
    free(p->product);
    free(p->negated);
    p->product = NULL;
    p->negated = NULL;
    p->nproducts = 0;
    p->batch = NULL;
}

static spmv_status reset_y(problem *p) {
    for (int k = 0; k < p->nproducts; k++)
        TRY(spmv_plan_put(p->plan, p->product[k].y, p->y0, bytes_of(p, p->rows)));
    return SPMV_OK;
}

spmv_status problem_result(problem *p, int k, void *y) {
    return spmv_plan_get(p->plan, y, p->product[k].y, bytes_of(p, p->rows));
}

/* ---- looks between samples ------------------------------------------------------------------ */

/* Negates the x of product k: sets it to -p->x, or back to p->x. */
static spmv_status negate_x(problem *p, int k) {
    enum { PIECE = 1 << 15 };
    char *x = (char *)(uintptr_t)p->product[k].x;
    const bool is_f64 = p->precision == SPMV_F64;
    const size_t width = is_f64 ? sizeof(double) : sizeof(float);
    const int64_t n = numbers_of(p, p->cols);
    p->negated[k] = !p->negated[k];
    if (!p->negated[k]) return spmv_plan_put(p->plan, x, p->x, bytes_of(p, p->cols));
    void *piece = malloc(PIECE * width);
    spmv_status status = piece ? SPMV_OK : SPMV_E_NOMEM;
    for (int64_t j = 0; status == SPMV_OK && j < n; j += PIECE) {
        const int64_t count = n - j < PIECE ? n - j : PIECE;
        for (int64_t i = 0; i < count; i++)
            if (is_f64)
                ((double *)piece)[i] = -((const double *)p->x)[j + i];
            else
                ((float *)piece)[i] = -((const float *)p->x)[j + i];
        status = spmv_plan_put(p->plan, x + (size_t)j * width, piece, (size_t)count * width);
    }
    free(piece);
    return status == SPMV_E_NOMEM ? spmv_fail(p->plan->device->ctx, status, "out of memory")
                                  : status;
}

/* Returns a nonzero hash of the bits of y, with all NaN equal. Uses four independent sums for
 * instruction-level parallelism. */
static uint64_t bits_of(const problem *p, const void *y) {
    const bool is_f64 = p->precision == SPMV_F64;
    const int64_t n = numbers_of(p, p->rows);
    uint64_t sum[4] = {1, 2, 3, 4};
    for (int64_t i = 0; i < n; i++) {
        const double value = is_f64 ? ((const double *)y)[i] : (double)((const float *)y)[i];
        const uint64_t word = isnan(value) ? UINT64_MAX : spmv_bits(value);
        sum[i & 3] = (sum[i & 3] ^ word) * 0x9e3779b97f4a7c15u;
        sum[i & 3] ^= sum[i & 3] >> 32;
    }
    return spmv_mix(spmv_mix(spmv_mix(sum[0]) ^ sum[1]) ^ spmv_mix(sum[2] ^ spmv_mix(sum[3]))) | 1;
}

spmv_status problem_look(problem *p, void *y, bool *negated, problem_bits *bits) {
    const unsigned traits = p->plan->kernel->traits;
    const bool repeats = (traits & SPMV_DETERMINISTIC) && !(traits & SPMV_PEER);
    const int k = p->next_look;
    p->looks++;
    p->next_look = (k + 1) % p->nproducts;
    *negated = p->negated[k];
    TRY(problem_result(p, k, y));
    uint64_t *before = &p->bits[*negated], now = repeats ? bits_of(p, y) : 0;
    *bits = !repeats || !*before ? NEW_BITS : *before == now ? SAME_BITS : OTHER_BITS;
    if (!*before) *before = now;
    return negate_x(p, k);
}

/* --------------------------------------------------------------------------------------------- */

spmv_status problem_once(problem *p, void *y) {
    double seconds;
    TRY(reset_y(p));
    TRY(problem_single(p, &seconds));
    return problem_result(p, 0, y);
}

/* ---- what a sample is ----------------------------------------------------------------------- */

/* Evicts a product's data from the caches; returns false if that is impossible. Small scratch
 * memory is left in the caches, because only the kernel knows which parts of it are used. */
static bool evict(const problem *p) {
    enum { LITTLE = 32, TABLES = 1 << 16 };
    const spmv_plan *plan = p->plan;
    const spmv_backend *backend = plan->device->backend;
    size_t x = borrowed_bytes(p, p->cols), y = borrowed_bytes(p, p->rows),
           all = spmv_store_bytes(plan->store) + x + y;
    if (!backend->evict || p->nproducts > 1 || all > p->flush) return false;
    if (plan->scratch_bytes > TABLES && plan->scratch_bytes > all / LITTLE) return false;
    return spmv_store_evict(backend, plan->device, plan->store) &&
           backend->evict(plan->device, p->product->x, x) &&
           backend->evict(plan->device, p->product->y, y);
}

/* For short products: reads enough to evict code and page tables from the near caches, for so long
 * that vector units power down (after 0.7 ms without use; waking takes 20 us). */
static spmv_status forget_near(const problem *p) {
    const double asleep_s = 1e-3;
    const size_t near = (size_t)p->plan->device->threads << 22;
    double start = spmv_now();
    do {
        TRY(spmv_plan_flush(p->plan, near < p->flush ? near : p->flush));
    } while (spmv_now() - start < asleep_s);
    return SPMV_OK;
}

static spmv_status empty_caches(const problem *p) {
    spmv_device *device = p->plan->device;
    const bool host = device->backend->host; /* waiting for a core is not counted */
    const double start = host ? spmv_thread_now() : spmv_now();
    if (!p->emptying_s) return spmv_plan_flush(p->plan, p->flush);
    if (!evict(p))
        TRY(spmv_plan_flush(p->plan, p->flush));
    else if (p->product_s > 0 && is_sensitive(p->product_s))
        TRY(forget_near(p));
    TRY(device->backend->sync(device));
    *p->emptying_s += (host ? spmv_thread_now() : spmv_now()) - start;
    return SPMV_OK;
}

spmv_status problem_single(const problem *p, double *seconds) {
    return spmv_exec_timed(p->product, 1, p->alpha, p->beta, seconds);
}

/* If beta != 0, resets y before the sample, because each product changes it. */
static spmv_status sample(problem *p, double *seconds) {
    if (p->beta != 0) TRY(reset_y(p));
    if (p->flush) TRY(empty_caches(p));
    return p->batch ? spmv_batch_time(p->batch, seconds) : problem_single(p, seconds);
}

spmv_status timing_add(const problem *p, timing *t, double seconds) {
    if (t->nsamples == t->capacity) {
        int more = t->capacity ? 2 * t->capacity : 256;
        double *grown = realloc(t->sample_s, (size_t)more * sizeof *grown);
        if (!grown) return spmv_fail(p->plan->device->ctx, SPMV_E_NOMEM, "out of memory");
        t->sample_s = grown;
        t->capacity = more;
    }
    t->sample_s[t->nsamples++] = seconds;
    return SPMV_OK;
}

spmv_status problem_sample(problem *p, timing *t) {
    double seconds;
    TRY(sample(p, &seconds));
    return timing_add(p, t, seconds / t->inner);
}

/* Warms up page tables and clocks: at least two products, and 20 ms. *once: the least time. Without
 * time to measure, only two. */
static spmv_status warm_up(problem *p, const sampling *how, timing *t, double *once) {
    double end = spmv_now() + fmin(0.02, how->max_time_s), seconds;
    *once = INFINITY;
    do {
        TRY(sample(p, &seconds));
        *once = fmin(*once, seconds);
        t->warmup++;
    } while (t->warmup < 2 || (spmv_now() < end && t->warmup < 1000));
    return SPMV_OK;
}

static int ratio(double total, double part, int least, int most) {
    double n = part > 0 ? ceil(total / part) : most;
    return n < least ? least : n > most ? most : (int)n;
}

static size_t free_bytes(const problem *p) {
    spmv_device *device = p->plan->device;
    return device->backend->free_bytes(device);
}

/* Returns the bytes to read in order to flush the caches: eight times their size, because they may
 * keep some lines longer (an H200 keeps 100 MB but reports 63). At most a quarter of the free
 * memory. */
static size_t flush_bytes(const problem *p) {
    const size_t least = p->host ? (size_t)64 << 20 : (size_t)512 << 20, line = 4096;
    size_t bytes = 8 * p->cache > least ? 8 * p->cache : least;
    const size_t quarter = free_bytes(p) / 4;
    if (bytes > quarter) bytes = quarter;
    return bytes / line * line;
}

spmv_status problem_batch(problem *p, timing *t, int inner) {
    t->inner = inner;
    p->next_look = 0; /* the copies have no results yet */
    return spmv_batch_create(p->product, p->nproducts, inner, p->alpha, p->beta, &p->batch);
}

/* Makes copies of plan, x and y until they exceed the caches four times, or a sample has one per
 * launch. *covered: the fraction of the target reached; below 1 the caches must be flushed. */
static spmv_status make_copies(problem *p, int most, double *covered) {
    double target = 4 * (double)p->cache, least = p->host ? 64e6 : 512e6;
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    TRY(spmv_plan_info(p->plan, &facts));
    double each = (double)(facts.store_bytes + facts.scratch_bytes + bytes_of(p, p->cols) +
                           bytes_of(p, p->rows));
    if (target < least) target = least;
    int count = ratio(target, (double)p->bytes, 1, most);
    const double half = 0.5 * (double)free_bytes(p);
    if (each * count > half) count = ratio(half, each, 2, count) - 1;
    *covered = (double)p->bytes * count / target;
    return problem_copies(p, count);
}

/* Returns enough products per sample to hide the clock's resolution and a GPU's launch time. */
static int warm_products(const problem *p, const sampling *how, double once) {
    if (p->beta != 0 || how->max_time_s == 0) return 1;
    return p->host ? ratio(1e-4, once, 1, 10000) : ratio(1e-3, once, 1, 1000);
}

static spmv_status steady_products(problem *p, double once, int *out) {
    int launches =
        p->host ? ratio(1e-4, once, 1, 20) : ratio(2e-4, once, ratio(2e-2, once, 2, 20), 100);
    double covered;
    TRY(make_copies(p, p->host ? 20 : launches, &covered));
    *out = p->nproducts;
    if (covered < 1)
        p->flush = flush_bytes(p);
    else if (p->beta == 0)
        *out *= (launches + p->nproducts - 1) / p->nproducts;
    return SPMV_OK;
}

/* Sets launch_s to the median time of an empty launch. */
static spmv_status time_nothing(problem *p) {
    double samples[11];
    for (int k = 0; k < 11; k++) TRY(spmv_plan_time_nothing(p->plan, &samples[k]));
    p->launch_s = statistics_of(samples, 11).median;
    return SPMV_OK;
}

spmv_status problem_ready(problem *p, const sampling *how, timing *t) {
    double once;
    int inner = 1;
    *t = (timing){.next_look_s = how->min_time_s};
    TRY(warm_up(p, how, t, &once));
    if (how->cache == SPMV_WARM) inner = warm_products(p, how, once);
    if (how->cache == SPMV_COLD) p->flush = flush_bytes(p);
    if (how->cache == SPMV_STEADY) TRY(steady_products(p, once, &inner));
    TRY(time_nothing(p));
    return problem_batch(p, t, inner);
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* Called rarely, because it sorts. Strict inequality: a coarse clock may give equal samples, whose
 * median has an interval of width 0. */
static bool is_settled(timing *t, double max_noise) {
    t->s = statistics_of(t->sample_s, t->nsamples);
    return !t->waiting && median_noise(&t->s) < max_noise;
}

/* Returns whether the next sample should be the last. */
static bool is_last(timing *t, const sampling *how) {
    enum { MOST_SAMPLES = 20000 }; /* limits tiny products with beta != 0, one per sample */
    bool full = t->nsamples >= MOST_SAMPLES;
    if (t->nsamples + 1 < how->min_samples || (t->spent_s < t->next_look_s && !full)) return false;
    t->next_look_s = t->spent_s * 1.1;
    return t->nsamples == 0 || t->spent_s >= how->max_time_s || full ||
           is_settled(t, how->max_noise);
}

/* Fills a GPU's L2 cache. On an H100 and an H200 products run up to 1.8 times as fast, for as long
 * as they continue, if much of the cache was unused before. */
spmv_status problem_fill_caches(const problem *p, size_t bytes) {
    spmv_device *device = p->plan->device;
    if (device->backend->host || bytes == 0) return SPMV_OK;
    if (bytes > device->backend->free_bytes(device) / 4) return SPMV_OK;
    const spmv_status status = spmv_plan_flush(p->plan, bytes);
    return status == SPMV_E_NOMEM ? SPMV_OK : status;
}

/* Other kernels ran in between: an untimed sample brings the matrix back into the caches. */
static spmv_status bring_back(problem *p, const sampling *how) {
    double lost_s;
    if (!p->host && how->max_time_s > 0) TRY(problem_fill_caches(p, flush_bytes(p)));
    return sample(p, &lost_s);
}

spmv_status problem_turn(problem *p, const sampling *how, timing *t, double slice_s) {
    double start = spmv_now(), before = start;
    if (how->cache == SPMV_WARM) TRY(bring_back(p, how));
    do {
        t->done = t->last || is_last(t, how);
        /* Resets y to NaN before the last sample, so that a product that writes nothing cannot pass
         * the check with an older y. */
        if (t->done) TRY(reset_y(p));
        TRY(problem_sample(p, t));
        double after = spmv_now();
        t->spent_s += after - before;
        before = after;
    } while (!t->done && before - start < slice_s);
    if (!t->done) return SPMV_OK;
    t->settled = is_settled(t, how->max_noise);
    t->converged = t->s.q3 - t->s.q1 < how->max_noise * t->s.median;
    return SPMV_OK;
}
