/* taken.h: threads take chunks of a product's shares dynamically. Each thread has one share. Equal
 * shares take unequal times if other programs use a processor, or the other hardware thread of a
 * core: the slowest thread made products take 1.2 to 1.6 times as long. Therefore shares are
 * divided into chunks, and a thread that has finished its own takes chunks of others. */
#pragma once

#include "carry.h"

/* Returns the number of chunks per share for a store of `bytes` bytes. A chunk has at least 32 KiB
 * on average, long enough for hardware prefetchers; a share of fewer than four is not divided. */
static inline int64_t count_chunks(int64_t bytes, int64_t nshares) {
    enum { MOST_CHUNKS = 32, FEWEST_CHUNKS = 4, CHUNK_BYTES = 1 << 15 };
    int64_t count = bytes / nshares / CHUNK_BYTES;
    if (count > MOST_CHUNKS) count = MOST_CHUNKS;
    if (count > MOST_SHARES / nshares) count = MOST_SHARES / nshares;
    return count < FEWEST_CHUNKS ? 1 : count;
}

/* Number of chunks of each share that have been taken, on the caller's stack. */
typedef struct taken_chunks {
    int64_t nshares, per_share;
    int64_t apart; /* stride of the counters: a cache line if possible */
    int64_t of[MOST_SHARES] __attribute__((aligned(64)));
} taken_chunks;

/* Resets the counters, before the team begins. */
static inline void begin_chunks(taken_chunks *t, int64_t nshares, int64_t per_share) {
    enum { LINE = 64 / sizeof t->of[0] };
    t->nshares = nshares;
    t->per_share = per_share;
    t->apart = nshares * LINE <= MOST_SHARES ? LINE : 1;
    memset(t->of, 0, (size_t)(nshares * t->apart) * sizeof *t->of);
}

/* Returns the next chunk of a share, or -1 if all are taken. */
static inline int64_t take_chunk_of(taken_chunks *t, int64_t share) {
    int64_t *next = t->of + share * t->apart;
    if (__atomic_load_n(next, __ATOMIC_RELAXED) >= t->per_share) return -1;
    const int64_t chunk = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
    return chunk < t->per_share ? chunk : -1;
}

/* Returns the next chunk for a thread of the team: of its own share `share`, then of the following
 * shares; counted from the first chunk of share 0; -1: none is left. *finished: number of shares
 * that the thread knows to be finished, initially 0. */
static inline int64_t take_chunk(taken_chunks *t, int64_t share, int64_t *finished) {
    for (; *finished < t->nshares; ++*finished) {
        const int64_t of = (share + *finished) % t->nshares, chunk = take_chunk_of(t, of);
        if (chunk >= 0) return of * t->per_share + chunk;
    }
    return -1;
}

/* Multiplies one chunk, numbered as by take_chunk. */
typedef void chunk_function(const void *job, int64_t chunk);

/* Called by all threads of a team of any size: multiplies every chunk once. */
static inline void take_chunks(taken_chunks *t, chunk_function *multiply, const void *job) {
    int64_t finished = 0, chunk;
    if (t->per_share > 1)
        while ((chunk = take_chunk(t, omp_get_thread_num(), &finished)) >= 0) multiply(job, chunk);
    else
#pragma omp for schedule(static, 1) nowait
        for (int64_t s = 0; s < t->nshares; s++) multiply(job, s);
}
