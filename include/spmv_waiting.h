/* spmv_waiting.h: how the threads of a team wait for each other: spinning, or sleeping if other
 * processes use the same cores. */
#pragma once

#include "spmv_variant.h"
#include <stdbool.h>
#include <stdint.h>

/* Resources that the process has used up to a moment; times in ns. */
typedef struct spmv_usage {
    int64_t now;      /* CLOCK_MONOTONIC_COARSE */
    int64_t cpu;      /* CPU time of all threads */
    int64_t switches; /* involuntary context switches of the process's threads */
} spmv_usage;

typedef struct spmv_waiting {
    int64_t look_at;     /* when the next check is due; INT64_MAX: never */
    int looking;         /* 1 + number of forks of the process that is checking; 0: none */
    int asleep;          /* the threads sleep while they wait */
    spmv_usage looked;   /* usage at the last check */
    bool crowded;        /* the last check found competition for the cores */
    int64_t until;       /* when sleeping threads try spinning again */
    int64_t hold, left;  /* duration and end of the last period of sleeping; 0: never */
    void *quiet;         /* helper that makes threads sleep (waiting.c) */
    bool has_team;       /* the caller has a team already */
    int64_t ran, waited; /* schedule of the calling thread at the last spmv_waiting_prepare */
} spmv_waiting;

/* Starts checking, unless the user has chosen how OpenMP threads wait. */
SPMV_LINKAGE void spmv_waiting_open(spmv_waiting *w);
SPMV_LINKAGE void spmv_waiting_close(spmv_waiting *w);
/* Called after each product of that many threads; usually reads only a clock. */
SPMV_LINKAGE void spmv_waiting_look(spmv_waiting *w, int threads);
/* Called before a team prepares something: makes the team's threads sleep if the calling thread had
 * to wait for its core lately. Reads a file of /proc, which takes 5 us. */
SPMV_LINKAGE void spmv_waiting_prepare(spmv_waiting *w, int threads);
/* Returns whether a thread that has run and waited for a core for these times (in total, ns) shares
 * its core, judging by the times since the last call if these are long enough. Public for tests. */
SPMV_LINKAGE bool spmv_waiting_shares_core(spmv_waiting *w, int64_t ran, int64_t waited);
/* Returns whether threads should sleep, judging by the usage since the last check. For tests. */
SPMV_LINKAGE bool spmv_waiting_decide(spmv_waiting *w, spmv_usage now, int threads);

struct spmv_ctx;
/* Returns the context's state of waiting; all its teams belong to libgomp. */
SPMV_LINKAGE spmv_waiting *spmv_ctx_waiting(struct spmv_ctx *ctx);
