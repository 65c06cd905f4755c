/* slow.c: preloaded by bench/verdicts.py: the clock for timing products runs SLOW times as fast, so
 * that every kernel appears slower by this factor. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t which, struct timespec *t) {
    const char *slow = getenv("SLOW");
    const long code = syscall(SYS_clock_gettime, which, t);
    if (code == 0 && slow && which == CLOCK_MONOTONIC) {
        const double now = strtod(slow, NULL) * ((double)t->tv_sec + 1e-9 * (double)t->tv_nsec);
        t->tv_sec = (time_t)now;
        t->tv_nsec = (long)(1e9 * (now - (double)t->tv_sec));
    }
    return (int)code;
}
