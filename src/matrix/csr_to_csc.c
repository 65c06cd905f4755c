/* csr_to_csc.c: converts CSR to CSC and back by counting sort. The result does not depend on the
 * number of threads. */
#include "host/context.h"
#include "host/host.h"
#include "csr_to_csc.h"

typedef struct counting { /* counting sort; each thread handles consecutive lines */
    const spmv_csc_conversion *t;
    int threads;
    int32_t *before; /* [threads][places] entries of this place in the shares of earlier threads */
} counting;

/* Returns the first line of a thread's share; shares have about equally many entries. */
static int64_t first_line(const counting *c, int thread) {
    const spmv_csc_conversion *t = c->t;
    const int64_t entry = spmv_split(t->nnz, c->threads, thread);
    int64_t low = 0, high = t->lines;
    if (thread == c->threads) return t->lines;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (t->ptr[middle] < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int32_t *counts_of(const counting *c, int thread) {
    return c->before + (size_t)thread * (size_t)c->t->places;
}

static void count_places(const counting *c, int thread) {
    const spmv_csc_conversion *t = c->t;
    int32_t *count = counts_of(c, thread);
    const int64_t end = t->ptr[first_line(c, thread + 1)];
    memset(count, 0, (size_t)t->places * sizeof *count);
    for (int64_t k = t->ptr[first_line(c, thread)]; k < end; k++) count[t->idx[k] - t->base]++;
}

/* Exclusive prefix sum over threads of the counts of place j; returns the total. */
static int64_t add_up(const counting *c, int64_t j) {
    int32_t sum = 0;
    for (int thread = 0; thread < c->threads; thread++) {
        int32_t *count = counts_of(c, thread) + j;
        const int32_t own = *count;
        *count = sum;
        sum += own;
    }
    return sum;
}

static double value_at(const spmv_csc_conversion *t, int64_t k) {
    if (!t->values) return 1;
    return t->precision == SPMV_F32 ? ((const float *)t->values)[k]
                                    : ((const double *)t->values)[k];
}

static void place_lines(const counting *c, int thread) {
    const spmv_csc_conversion *t = c->t;
    int32_t *before = counts_of(c, thread);
    const int64_t end = first_line(c, thread + 1);
    for (int64_t i = first_line(c, thread); i < end; i++)
        for (int64_t k = t->ptr[i]; k < t->ptr[i + 1]; k++) {
            const int64_t j = t->idx[k] - t->base, at = t->out_ptr[j] + before[j]++;
            if (t->out_idx) t->out_idx[at] = (int32_t)i;
            if (t->out_values) t->out_values[at] = value_at(t, k);
            if (t->from) t->from[at] = (uint32_t)k;
            if (t->to) t->to[k] = (uint32_t)at;
        }
}

/* Returns the number of threads. Each thread has counters for all places, so their number is
 * limited: the counters take no more memory than the entries. */
static int team_for(spmv_ctx *ctx, const spmv_csc_conversion *t) {
    const int most = spmv_threads_for(ctx, t->nnz + t->places);
    const int64_t fit = 1 + 3 * t->nnz / (t->places + 1);
    return fit < most ? (int)fit : most;
}

spmv_status spmv_csr_to_csc(spmv_ctx *ctx, const spmv_csc_conversion *t) {
    counting c = {.t = t, .threads = team_for(ctx, t)};
    c.before = spmv_host_alloc((size_t)c.threads * (size_t)t->places * sizeof *c.before);
    if (!c.before)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for counts of %lld rows or columns",
                         (long long)t->places);
#pragma omp parallel num_threads(c.threads)
    {
#pragma omp for schedule(static, 1)
        for (int thread = 0; thread < c.threads; thread++) count_places(&c, thread);
#pragma omp for schedule(static)
        for (int64_t j = 0; j < t->places; j++) t->out_ptr[j + 1] = add_up(&c, j);
#pragma omp single
        {
            t->out_ptr[0] = 0;
            for (int64_t j = 0; j < t->places; j++) t->out_ptr[j + 1] += t->out_ptr[j];
        }
#pragma omp for schedule(static, 1)
        for (int thread = 0; thread < c.threads; thread++) place_lines(&c, thread);
    }
    spmv_host_free(c.before);
    return SPMV_OK;
}
