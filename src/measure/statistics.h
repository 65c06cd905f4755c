/* statistics.h: order statistics of samples, and how well they know the median. */
#ifndef SPMV_STATISTICS_H
#define SPMV_STATISTICS_H

#include <stdbool.h>

typedef struct statistics {
    double min, q1, median, q3, max, mean, stdev;
    double low, high; /* the median's 95 % confidence interval; NaN: of fewer than six samples */
} statistics;
void sort_samples(double *sample, int n);
/* Describes samples in the order in which they were taken. More of them make the interval narrower;
 * those that resemble those beside them, as in a drift, count for fewer. NaN if there are none. */
statistics statistics_of(const double *sample, int n);
/* The distance from the median to the farther end of its interval, as a share of the median; NaN:
 * not known. */
double median_noise(const statistics *s);
/* The same of the ratio of two medians; what is not known is not added. */
double ratio_noise(const statistics *a, const statistics *b);
/* The ratio of a's time to b's at least and at most, where the intervals of the medians cannot be
 * relied on: each reaches over the middle half of the samples, too. */
void ratio_range(const statistics *a, const statistics *b, double *least, double *most);
/* Says whether a is faster than b by more than that share. If not, and neither is b, they are tied:
 * that is where their quartiles overlap. */
bool is_faster(const statistics *a, const statistics *b, double share);
#endif
