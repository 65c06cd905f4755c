/* scaling.h: how times scale with the number of threads. */
#ifndef SPMV_APP_SCALING_H
#define SPMV_APP_SCALING_H

#include "app/run/session.h"

/* Returns the cell of cell k's configuration with the fewest threads. */
int fewest_threads(const session *run, int k);
/* Prints the time of each configuration by its number of threads, and its speed-up over the fewest.
 * median_s(of, k): of cell k; NaN: none. */
void print_scaling(const session *run, double (*median_s)(const void *of, int k), const void *of,
                   FILE *file);

#endif
