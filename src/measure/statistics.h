/* statistics.h: order statistics of samples, and how well they know the median. */
#ifndef SPMV_STATISTICS_H
#define SPMV_STATISTICS_H

typedef struct statistics {
    double min, q1, median, q3, max, mean, stdev;
} statistics;
void sort_samples(double *sample, int n);
/* Sorts nothing in place: works on a copy. */
statistics statistics_of(const double *sample, int n);

typedef struct estimate { /* a value, and the 95 % confidence interval about it */
    double value, low, high;
} estimate;
/* The median of samples in the order in which they were taken. More samples make its interval
 * narrower; samples that resemble those beside them, as in a drift, count for fewer. Of fewer than
 * six samples it is not known: NaN. */
estimate median_of(const double *sample, int n);
/* The distance from the value to the farther end, as a share of the value; NaN: not known. */
double estimate_noise(const estimate *e);
#endif
