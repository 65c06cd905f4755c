/* taken.h: lets threads take the chunks of a product's shares. Each thread has one share. Equal
 * shares do not take equally long where other programs use a processor, or the other half of a
 * core: on such hosts the slowest thread made products take 1.2 to 1.6 times as long. So shares are
 * cut into chunks, and a thread that has finished its own takes chunks of the others'. */
#pragma once

#include "carry.h"

/* Says how many chunks a share of a store of so many bytes is cut into. A chunk has 32 KiB and more
 * on average, which is still long for a hardware prefetcher. A share that would have fewer than
 * four is not cut. */
static inline int64_t count_chunks(int64_t bytes, int64_t nshares) {
    enum { MOST_CHUNKS = 32, FEWEST_CHUNKS = 4, CHUNK_BYTES = 1 << 15 };
    int64_t count = bytes / nshares / CHUNK_BYTES;
    if (count > MOST_CHUNKS) count = MOST_CHUNKS;
    if (count > MOST_SHARES / nshares) count = MOST_SHARES / nshares;
    return count < FEWEST_CHUNKS ? 1 : count;
}

/* Counts how many chunks of each share a product has taken, on its caller's stack. */
typedef struct taken_chunks {
    int64_t nshares, per_share;
    int64_t apart; /* from one share's counter to the next: a cache line, where there is room */
    int64_t of[MOST_SHARES] __attribute__((aligned(64)));
} taken_chunks;

/* Is called before the team begins: no chunk is taken yet. */
static inline void begin_chunks(taken_chunks *t, int64_t nshares, int64_t per_share) {
    enum { LINE = 64 / sizeof t->of[0] };
    t->nshares = nshares;
    t->per_share = per_share;
    t->apart = nshares * LINE <= MOST_SHARES ? LINE : 1;
    memset(t->of, 0, (size_t)(nshares * t->apart) * sizeof *t->of);
}

/* Returns the next chunk of a share; -1: all are taken. */
static inline int64_t take_chunk_of(taken_chunks *t, int64_t share) {
    int64_t *next = t->of + share * t->apart;
    if (__atomic_load_n(next, __ATOMIC_RELAXED) >= t->per_share) return -1;
    const int64_t chunk = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    return chunk < t->per_share ? chunk : -1;
}

/* A thread of the team takes the chunks of share `share` in order, then those that are left of the
 * shares behind it. Returns the next chunk, counted from the first of share 0; -1: none is left.
 * finished: how many shares the thread knows to have none left, 0 at first. */
static inline int64_t take_chunk(taken_chunks *t, int64_t share, int64_t *finished) {
    for (; *finished < t->nshares; ++*finished) {
        const int64_t of = (share + *finished) % t->nshares, chunk = take_chunk_of(t, of);
        if (chunk >= 0) return of * t->per_share + chunk;
    }
    return -1;
}

/* Multiplies one chunk, counted likewise. */
typedef void chunk_function(const void *job, int64_t chunk);

/* All threads of the team call this, whatever the size of the team: every chunk is multiplied once.
 */
static inline void take_chunks(taken_chunks *t, chunk_function *multiply, const void *job) {
    int64_t finished = 0, chunk;
    if (t->per_share > 1)
        while ((chunk = take_chunk(t, omp_get_thread_num(), &finished)) >= 0) multiply(job, chunk);
    else
#pragma omp for schedule(static, 1) nowait
        for (int64_t s = 0; s < t->nshares; s++) multiply(job, s);
}
