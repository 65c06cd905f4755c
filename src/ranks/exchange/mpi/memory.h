/* memory.h: memory shared by the ranks of one host, and counters in it that ranks wait for. */
#ifndef SPMV_RANKS_MEMORY_H
#define SPMV_RANKS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SHARED_LINE = 64 }; /* bytes of a cache line */

typedef struct shared_counter { /* wraps around */
    _Alignas(SHARED_LINE) _Atomic uint32_t value;
    _Atomic uint32_t sleepers; /* threads that wait for another value */
} shared_counter;

typedef struct shared_offer { /* identifies the memory to other processes */
    pid_t pid;
    int file; /* descriptor in process `pid`; -1: none */
    size_t bytes;
    uint64_t token; /* random number, also stored in the first 8 bytes of the memory */
} shared_offer;

/* Allocates at least 8 bytes of shared memory, zero except for the token in the first 8, and fills
 * *offer. The caller closes offer->file after others have mapped the memory, and frees the memory
 * with munmap. NULL on failure; offer->file may be open even then. */
void *shared_make(size_t bytes, shared_offer *offer);
/* Maps memory that another process has made; returns NULL if that fails. */
void *shared_open(const shared_offer *offer);

static inline size_t shared_lines(size_t bytes) {
    return (bytes + SHARED_LINE - 1) / SHARED_LINE * SHARED_LINE;
}

/* the last two exchanges in which a rank had no x, indexed by parity */
typedef struct shared_lack {
    _Atomic uint32_t in[2];
} shared_lack;

/* Records that this rank has no x in an exchange, before the exchange is posted. */
static inline void shared_lacks(shared_lack *l, uint32_t exchange) {
    l->in[exchange & 1] = exchange;
}
static inline bool shared_is_lacking(const shared_lack *l, uint32_t exchange) {
    return l->in[exchange & 1] == exchange;
}

struct shared_host;
/* Waits until the counter is at least `least`. Progresses MPI messages meanwhile: another rank may
 * need one of them before it can post the value. */
void shared_wait(shared_counter *c, uint32_t least, const struct shared_host *host);
/* Sets the counter and wakes all waiters (release: they see all earlier writes). */
void shared_post(shared_counter *c, uint32_t value);

#endif
