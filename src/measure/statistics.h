/* statistics.h: order statistics of samples. */
#ifndef SPMV_STATISTICS_H
#define SPMV_STATISTICS_H

typedef struct statistics {
    double min, q1, median, q3, max, mean, stdev;
} statistics;
/* Sorts nothing in place: works on a copy. */
statistics statistics_of(const double *sample, int n);
#endif
