/* rounds.h: all cells on a matrix are checked and timed in turns. */
#ifndef SPMV_ROUNDS_H
#define SPMV_ROUNDS_H

#include "app/run/results/describe.h"

/* Counts and logs a final row; returns an exit code, after printing what is wrong. */
int keep_result(session *run, result *out);
/* Fills and logs one result per cell; returns an exit code, after printing what is wrong. */
int run_rounds(session *run, spmv_mat *mat, inputs *in, result *results);

/* Shuffles the places of n candidates; those of one backend, precision and state of the caches
 * follow each other, as only they are compared. */
void order_turns(const session *run, const candidate *candidates, int *order, int n, uint64_t seed);
/* Remembers the turn of the next round: the samples from the first on, of a turn that was to take
 * slice_s. */
void add_turn(candidate *e, int first, double seconds, double slice_s);
void turns_add(turns *t, double median_s);

#endif
