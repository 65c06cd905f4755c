/* bars.h: compares a measured value of a benchmark with its target. */
#ifndef SPMV_TEST_BARS_H
#define SPMV_TEST_BARS_H

#include <stdbool.h>
#include <stdio.h>

/* Prints a target that is an upper limit; returns whether it is missed. */
static inline bool misses_bar(const char *what, double measured, double most) {
    const bool is_missed = !(measured <= most);
    printf("  bar: %-58s %8.3f, at most %5.2f: %s\n", what, measured, most,
           is_missed ? "MISSED" : "met");
    fflush(stdout);
    return is_missed;
}

/* Prints a target that is a lower limit; returns whether it is missed. */
static inline bool misses_least(const char *what, double measured, double least) {
    const bool is_missed = !(measured >= least);
    printf("  bar: %-58s %8.3f, at least %4.2f: %s\n", what, measured, least,
           is_missed ? "MISSED" : "met");
    fflush(stdout);
    return is_missed;
}

#endif
