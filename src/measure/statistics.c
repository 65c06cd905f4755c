/* statistics.c: order statistics of samples, and the confidence interval of the median. */
#include "statistics.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

void sort_samples(double *sample, int n) {
    qsort(sample, (size_t)n, sizeof *sample, compare);
}

/* Linear interpolation between order statistics, as NumPy's default method. */
static double quantile(const double *sorted, int n, double q) {
    double at = q * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

/* Returns an allocated sorted copy, or NULL if n = 0 or memory is lacking. */
static double *sorted_copy(const double *sample, int n) {
    double *sorted = n > 0 ? malloc((size_t)n * sizeof *sorted) : NULL;
    if (!sorted) return NULL;
    memcpy(sorted, sample, (size_t)n * sizeof *sorted);
    sort_samples(sorted, n);
    return sorted;
}

/* ---- the median and its interval ------------------------------------------------------------ */

/* 97.5 % quantiles of Student's t distribution, by degrees of freedom. */
static const double student[] = {INFINITY, 12.706, 4.303, 3.182, 2.776,
                                 2.571,    2.447,  2.365, 2.306, 2.262};

/* Returns the standard error of the share of samples below the median. The samples, in the order
 * taken, are divided into equal stretches. If samples were independent, the share below the median
 * in a stretch would scatter like tossed coins; more scatter means drift or bursts of other
 * programs' work. The error is computed from the stretches, but is never less than that of coins.
 * Ties with the median count half. */
static double share_error(const double *sample, int n, double median, int stretches) {
    double squares = 0;
    for (int s = 0; s < stretches; s++) {
        int from = (int)((int64_t)n * s / stretches), to = (int)((int64_t)n * (s + 1) / stretches);
        double below = 0;
        for (int k = from; k < to; k++)
            below += sample[k] < median ? 1 : sample[k] == median ? 0.5 : 0;
        double off = below / (to - from) - 0.5;
        squares += off * off;
    }
    return fmax(sqrt(squares / (stretches * (stretches - 1))), 0.5 / sqrt(n));
}

/* Returns half the number of ranks in the interval: the maximum over ten and five stretches. Five
 * detect slower changes; ten estimate their scatter better. */
static double ranks_around(const double *sample, int n, double median) {
    static const int parts[] = {10, 5};
    double most = 0;
    for (int k = 0; k < 2; k++) {
        int stretches = n < parts[k] ? n : parts[k];
        double error = share_error(sample, n, median, stretches);
        most = fmax(most, n * student[stretches - 1] * error);
    }
    return most;
}

/* Sets the interval of the median from the ranks around n / 2. Fewer than six samples do not
 * determine a 95 % interval, not even by their least and greatest. */
static void find_ends(statistics *s, const double *sample, const double *sorted, int n) {
    if (n < 6) return;
    double ranks = ranks_around(sample, n, s->median);
    int low = (int)floor(0.5 * n - ranks), high = (int)ceil(0.5 * n + ranks) - 1;
    s->low = sorted[low > 0 ? low : 0];
    s->high = sorted[high < n - 1 ? high : n - 1];
}

/* ---- the whole ------------------------------------------------------------------------------ */

statistics statistics_of(const double *sample, int n) {
    statistics s = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double *sorted = sorted_copy(sample, n), sum = 0, squares = 0;
    if (!sorted) return s;
    for (int k = 0; k < n; k++) sum += sorted[k];
    s.mean = sum / n;
    for (int k = 0; k < n; k++) squares += (sorted[k] - s.mean) * (sorted[k] - s.mean);
    s.stdev = n > 1 ? sqrt(squares / (n - 1)) : 0;
    s.min = sorted[0];
    s.q1 = quantile(sorted, n, 0.25);
    s.median = quantile(sorted, n, 0.5);
    s.q3 = quantile(sorted, n, 0.75);
    s.max = sorted[n - 1];
    find_ends(&s, sample, sorted, n);
    free(sorted);
    return s;
}

double median_noise(const statistics *s) {
    return fmax(s->high - s->median, s->median - s->low) / s->median;
}

/* Treats an unknown noise as zero. */
static double known(double share) {
    return isfinite(share) ? share : 0;
}

double ratio_noise(const statistics *a, const statistics *b) {
    return hypot(known(median_noise(a)), known(median_noise(b)));
}

void ratio_range(const statistics *a, const statistics *b, double *least, double *most) {
    /* An unknown end is NaN, which fmin and fmax ignore. */
    *least = fmin(a->q1, a->low) / fmax(b->q3, b->high);
    *most = fmax(a->q3, a->high) / fmin(b->q1, b->low);
}

bool is_faster(const statistics *a, const statistics *b, double share) {
    return a->median < (1 - share) * b->median && a->q3 < b->q1;
}
