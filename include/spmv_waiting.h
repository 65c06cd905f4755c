/* spmv_waiting.h: how the threads of a team wait for each other: awake, or asleep where others use
 * the same cores. */
#pragma once

#include "spmv_variant.h"
#include <stdbool.h>
#include <stdint.h>

/* Holds what the process has used up to a moment; times in nanoseconds. */
typedef struct spmv_usage {
    int64_t now;      /* CLOCK_MONOTONIC_COARSE */
    int64_t cpu;      /* of all threads */
    int64_t switches; /* times that a thread of the process lost its core against its will */
} spmv_usage;

typedef struct spmv_waiting {
    int64_t look_at;     /* when the next look is due; INT64_MAX: never */
    int looking;         /* not 0: a thread looks, of the process after that many forks - 1 */
    int asleep;          /* the threads sleep while they wait */
    spmv_usage looked;   /* what the last look saw */
    bool crowded;        /* the threads had too little of their cores before it */
    int64_t until;       /* when threads that sleep are to try without it */
    int64_t hold, left;  /* how long they slept the last time, and when that ended; 0: never */
    void *quiet;         /* what makes them sleep: waiting.c */
    bool has_team;       /* the caller has one already */
    int64_t ran, waited; /* what spmv_waiting_prepare saw of the calling thread: waiting.c */
} spmv_waiting;

/* The threads of this process use OpenMP's default policy of waiting: begin to look. */
SPMV_LINKAGE void spmv_waiting_open(spmv_waiting *w);
SPMV_LINKAGE void spmv_waiting_close(spmv_waiting *w);
/* Is called after each product of that many threads: nearly always reads a clock, no more. */
SPMV_LINKAGE void spmv_waiting_look(spmv_waiting *w, int threads);
/* Is called before a team prepares something: where the calling thread had to wait for its core
 * lately, the team's threads sleep from the start. Reads a file of /proc, which takes 5 us. */
SPMV_LINKAGE void spmv_waiting_prepare(spmv_waiting *w, int threads);
/* Says whether a thread that ran and waited for a core that long, by all it did so far, shares the
 * core: by what came since the last time, if that is long enough; for tests. */
SPMV_LINKAGE bool spmv_waiting_shares_core(spmv_waiting *w, int64_t ran, int64_t waited);
/* Says whether the threads should sleep from now on, by what the process used since the last look;
 * for tests. */
SPMV_LINKAGE bool spmv_waiting_decide(spmv_waiting *w, spmv_usage now, int threads);

struct spmv_ctx;
/* Returns the context's, whose teams are all libgomp's. */
SPMV_LINKAGE spmv_waiting *spmv_ctx_waiting(struct spmv_ctx *ctx);
