/* clock.h: the one clock of the library, in seconds. */
#ifndef SPMV_CLOCK_H
#define SPMV_CLOCK_H

#include <time.h>

/* Returns the seconds of a clock that nobody sets. */
static inline double spmv_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the seconds that the calling thread had a core so far. */
static inline double spmv_thread_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
