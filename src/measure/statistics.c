/* statistics.c: order statistics of samples. */
#include "statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Linear between order statistics, as NumPy's and Python's inclusive method. */
static double quantile(const double *sorted, int n, double q) {
    double at = q * (n - 1);
    int low = (int)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

statistics statistics_of(const double *sample, int n) {
    statistics s = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double *sorted = malloc((size_t)n * sizeof *sorted), sum = 0, squares = 0;
    if (!sorted || n == 0) goto done;
    memcpy(sorted, sample, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    for (int k = 0; k < n; k++) sum += sorted[k];
    s.mean = sum / n;
    for (int k = 0; k < n; k++) squares += (sorted[k] - s.mean) * (sorted[k] - s.mean);
    s.stdev = n > 1 ? sqrt(squares / (n - 1)) : 0;
    s.min = sorted[0];
    s.q1 = quantile(sorted, n, 0.25);
    s.median = quantile(sorted, n, 0.5);
    s.q3 = quantile(sorted, n, 0.75);
    s.max = sorted[n - 1];
done:
    free(sorted);
    return s;
}
