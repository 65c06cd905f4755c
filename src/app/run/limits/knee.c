/* knee.c: how much the caches hold of what a product reads again. A virtual machine may report the
 * whole host's cache, of which other machines use the most: what counts is where reads get slow. */
#include "knee.h"
#include "spmv_clock.h"
#include "spmv_helpers.h"
#include <omp.h>
#include <string.h>

enum { WORD = sizeof(uint64_t), CHAIN = 1 << 16, TRIES = 3 };

size_t knee_of(const spmv_rates *r) {
    int k = r->ngathers - 1;
    if (k < 0) return 0;
    double slow = r->gathers[k];
    while (k > 0 && r->gathers[k] < 1.5 * slow) k--;
    return r->gather_bytes[k];
}

/* Reads a thread's part in order, and then CHAIN words at random, each place known only when the
 * word before has come. words: a power of 2, all 0. */
static uint64_t read_part(const uint64_t *part, uint64_t words, double *seconds) {
    uint64_t sum = 0, at = 1;
    for (uint64_t k = 0; k < words; k += 8) sum += part[k];
    const double start = spmv_now();
    for (uint64_t k = 0; k < CHAIN; k++)
        at = spmv_mix(at + part[at & (words - 1)]) + (sum & 1); /* the sum is 0 */
    *seconds = spmv_now() - start;
    return at;
}

/* Reads per second of one thread while each of a team reads a part of its own. */
static double chain_rate(const uint64_t *memory, uint64_t words, int threads) {
    volatile uint64_t kept;
    double best = 0;
    for (int t = 0; t < TRIES; t++) {
        uint64_t ends = 0;
        double total = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total) reduction(^ : ends)
        {
            double seconds;
            ends ^= read_part(memory + words * (uint64_t)omp_get_thread_num(), words, &seconds);
            total += seconds;
        }
        kept = ends; /* or nobody would read */
        if (total > 0 && CHAIN * (double)threads / total > best)
            best = CHAIN * (double)threads / total;
    }
    (void)kept;
    return best;
}

static void fill_parts(uint64_t *memory, uint64_t words, int threads) {
#pragma omp parallel num_threads(threads)
    memset(memory + words * (uint64_t)omp_get_thread_num(), 0, words * WORD);
}

/* Searches up to twice the reported size, and to so much that it takes some tenths of a second. */
size_t knee_now(size_t reported, int threads) {
    size_t most = (size_t)256 << 20, part = 1 << 20;
    if ((size_t)threads << 24 > most) most = (size_t)threads << 24;
    while (2 * part * (size_t)threads <= most && part * (size_t)threads < 2 * reported) part *= 2;
    uint64_t *memory = spmv_host_alloc(part * (size_t)threads);
    spmv_rates found = {.ngathers = 0};
    if (!memory) return reported;
    fill_parts(memory, part / WORD, threads);
    for (size_t small = part / 32; small <= part && found.ngathers < SPMV_GATHERS; small *= 2) {
        found.gather_bytes[found.ngathers] = small * (size_t)threads;
        found.gathers[found.ngathers++] = chain_rate(memory, small / WORD, threads);
    }
    spmv_host_free(memory);
    return knee_of(&found);
}
