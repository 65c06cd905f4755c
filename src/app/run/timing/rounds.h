/* rounds.h: all cells on a matrix are checked and timed in turns. */
#ifndef SPMV_ROUNDS_H
#define SPMV_ROUNDS_H

#include "app/run/inputs.h"
#include "app/run/results/result.h"
#include "app/run/session.h"

/* Counts and logs a final row; returns an exit code, after printing what is wrong. */
int keep_result(session *run, result *out);
/* Fills and logs one result per cell; returns an exit code, after printing what is wrong. */
int run_rounds(session *run, spmv_mat *mat, inputs *in, result *results);

#endif
