/* memory.h: memory that ranks of one host share, and counters in it that they wait for. */
#ifndef SPMV_RANKS_MEMORY_H
#define SPMV_RANKS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SHARED_LINE = 64 }; /* bytes that cores take from each other at once */

typedef struct shared_counter { /* it wraps around */
    _Alignas(SHARED_LINE) _Atomic uint32_t value;
    _Atomic uint32_t sleepers; /* threads that wait for another value */
} shared_counter;

typedef struct shared_offer { /* how others find the memory */
    pid_t pid;
    int file; /* -1: there is none */
    size_t bytes;
    uint64_t token; /* a random number, which is the first one in it */
} shared_offer;

/* Returns memory of so many bytes, at least 8, all 0 but the first 8, and fills the offer, whose
 * file the caller closes once others have the memory; munmap frees it. NULL: the system has none;
 * there may be a file to close. */
void *shared_make(size_t bytes, shared_offer *offer);
/* Returns memory that another process has made, or NULL: it cannot be had. */
void *shared_open(const shared_offer *offer);

static inline size_t shared_lines(size_t bytes) {
    return (bytes + SHARED_LINE - 1) / SHARED_LINE * SHARED_LINE;
}

typedef struct shared_lack { /* the last two exchanges in which a rank had no x, by parity */
    _Atomic uint32_t in[2];
} shared_lack;

/* Notes it, before the exchange is posted; others ask once it was. */
static inline void shared_lacks(shared_lack *l, uint32_t exchange) {
    l->in[exchange & 1] = exchange;
}
static inline bool shared_is_lacking(const shared_lack *l, uint32_t exchange) {
    return l->in[exchange & 1] == exchange;
}

struct shared_host;
/* Waits until the value is at least so much. Messages of MPI go on meanwhile: another rank may wait
 * for one of them before it comes as far as this one. */
void shared_wait(shared_counter *c, uint32_t least, const struct shared_host *host);
/* Sets the value, and wakes those who sleep. What was written before is there for them. */
void shared_post(shared_counter *c, uint32_t value);

#endif
