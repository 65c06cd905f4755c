/* statistics.h: order statistics of samples, and the confidence interval of the median. */
#ifndef SPMV_STATISTICS_H
#define SPMV_STATISTICS_H

#include <stdbool.h>

typedef struct statistics {
    double min, q1, median, q3, max, mean, stdev;
    double low, high; /* 95 % confidence interval of the median; NaN for fewer than six samples */
} statistics;
void sort_samples(double *sample, int n);
/* Computes the statistics of samples in the order taken; all NaN if n = 0. Correlated samples, as
 * in a drift, widen the interval. */
statistics statistics_of(const double *sample, int n);
/* Returns the larger distance from the median to an end of its interval, over the median; or
 * NaN. */
double median_noise(const statistics *s);
/* Returns the relative noise of the ratio of two medians; an unknown noise counts as 0. */
double ratio_noise(const statistics *a, const statistics *b);
/* Bounds the ratio of a's time to b's, when the intervals of the medians are unreliable: each is
 * widened to the interquartile range. */
void ratio_range(const statistics *a, const statistics *b, double *least, double *most);
/* Returns whether a is faster than b by more than `share`, with disjoint quartiles. If neither is
 * faster, a and b are tied. */
bool is_faster(const statistics *a, const statistics *b, double share);
#endif
