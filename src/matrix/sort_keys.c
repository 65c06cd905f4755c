/* sort_keys.c: sorts numbers by keys, by radix. */
#include "ordering.h"
#include "spmv_helpers.h"

enum { DIGIT = 11, BINS = 1 << DIGIT, KEY_BITS = 64 };

spmv_status spmv_keys_take(spmv_ctx *ctx, int64_t n, int threads, spmv_keys *out) {
    const size_t count = (size_t)n, bins = (size_t)threads * BINS;
    *out = (spmv_keys){.key = spmv_host_alloc(count * sizeof(uint64_t)),
                       .other_key = spmv_host_alloc(count * sizeof(uint64_t)),
                       .number = spmv_host_alloc(count * sizeof(idx)),
                       .other_number = spmv_host_alloc(count * sizeof(idx)),
                       .before = spmv_host_alloc(bins * sizeof(int64_t))};
    if (out->key && out->other_key && out->number && out->other_number && out->before)
        return SPMV_OK;
    spmv_keys_free(out);
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: ordering rows takes %.1f MB",
                     1e-6 * (double)n * 2 * (sizeof(uint64_t) + sizeof(idx)));
}

void spmv_keys_free(spmv_keys *keys) {
    spmv_host_free(keys->key);
    spmv_host_free(keys->other_key);
    spmv_host_free(keys->number);
    spmv_host_free(keys->other_number);
    spmv_host_free(keys->before);
    *keys = (spmv_keys){.key = NULL};
}

/* Returns the bits in which keys differ. */
static uint64_t differing_bits(const uint64_t *key, int64_t n, int threads) {
    uint64_t differ = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(| : differ)
    for (int64_t i = 1; i < n; i++) differ |= key[i] ^ key[0];
    return differ;
}

static inline int64_t bin_of(uint64_t key, int shift) {
    return (int64_t)(key >> shift & (BINS - 1));
}

/* Each thread counts the digits of its part of the keys; then bins follow each other, and inside a
 * bin the threads' parts. */
static void sort_by_digit(spmv_keys *k, int64_t n, int shift, int threads) {
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static, 1)
        for (int t = 0; t < threads; t++) {
            int64_t *count = k->before + (int64_t)t * BINS;
            const int64_t end = spmv_split(n, threads, t + 1);
            memset(count, 0, BINS * sizeof *count);
            for (int64_t i = spmv_split(n, threads, t); i < end; i++)
                count[bin_of(k->key[i], shift)]++;
        }
#pragma omp single
        for (int64_t bin = 0, sum = 0; bin < BINS; bin++)
            for (int t = 0; t < threads; t++) {
                int64_t *at = k->before + (int64_t)t * BINS + bin, own = *at;
                *at = sum;
                sum += own;
            }
#pragma omp for schedule(static, 1)
        for (int t = 0; t < threads; t++) {
            int64_t *next = k->before + (int64_t)t * BINS;
            const int64_t end = spmv_split(n, threads, t + 1);
            for (int64_t i = spmv_split(n, threads, t); i < end; i++) {
                const int64_t to = next[bin_of(k->key[i], shift)]++;
                k->other_key[to] = k->key[i];
                k->other_number[to] = k->number[i];
            }
        }
    }
    uint64_t *key = k->key;
    idx *number = k->number;
    k->key = k->other_key, k->other_key = key;
    k->number = k->other_number, k->other_number = number;
}

void spmv_keys_sort(spmv_keys *keys, int64_t n, int threads) {
    const uint64_t differ = n > 0 ? differing_bits(keys->key, n, threads) : 0;
    for (int shift = 0; shift < KEY_BITS; shift += DIGIT)
        if (differ >> shift & (BINS - 1)) sort_by_digit(keys, n, shift, threads);
}
