/* waiting.h: how the threads of a team wait for each other: awake, or asleep where other processes
 * use the same cores. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Holds what the process has used up to a moment; times in nanoseconds. */
typedef struct spmv_usage {
    int64_t now;      /* CLOCK_MONOTONIC_COARSE */
    int64_t cpu;      /* of all threads */
    int64_t switches; /* times that a thread of the process lost its core against its will */
} spmv_usage;

typedef struct spmv_waiting {
    int64_t look_at;    /* when the next look is due; INT64_MAX: never */
    int looking;        /* a thread looks at this moment */
    int asleep;         /* the threads sleep while they wait */
    spmv_usage looked;  /* what the last look saw */
    bool crowded;       /* the threads had too little of their cores before it */
    int64_t until;      /* when threads that sleep are to try without it */
    int64_t hold, left; /* how long they slept the last time, and when that ended; 0: never */
    void *quiet;        /* what makes them sleep: waiting.c */
} spmv_waiting;

/* The threads of this process use OpenMP's default policy of waiting: begin to look. */
void spmv_waiting_open(spmv_waiting *w);
void spmv_waiting_close(spmv_waiting *w);
/* Is called after each product of that many threads: nearly always reads a clock, no more. */
void spmv_waiting_look(spmv_waiting *w, int threads);
/* Says whether the threads should sleep from now on, by what the process used since the last look;
 * for tests. */
bool spmv_waiting_decide(spmv_waiting *w, spmv_usage now, int threads);
