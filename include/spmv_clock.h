/* spmv_clock.h: the one clock of the library and the program, in seconds. */
#ifndef SPMV_CLOCK_H
#define SPMV_CLOCK_H

#include <time.h>

/* Returns the seconds that a clock shows. */
static inline double spmv_clock_s(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the seconds of the monotonic clock. */
static inline double spmv_now(void) {
    return spmv_clock_s(CLOCK_MONOTONIC);
}

/* Returns the seconds of processor time of the calling thread. */
static inline double spmv_thread_now(void) {
    return spmv_clock_s(CLOCK_THREAD_CPUTIME_ID);
}

#endif
