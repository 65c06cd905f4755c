/* calls.h: the three functions that multiply, for tests and benchmarks of all of them. */
#ifndef SPMV_TEST_CALLS_H
#define SPMV_TEST_CALLS_H

#include "spmv.h"

typedef enum call { EXEC, EXEC_ASYNC, APPLY, CALLS } call;

/* to = A from, vectors of the plan's columns and rows in host memory. */
static inline spmv_status multiply_by(call how, const spmv_plan *plan, const double *from,
                                      double *to) {
    const spmv_call product = {.size = sizeof product, .x = from, .z = to};
    return how == EXEC         ? spmv_exec(plan, 1, from, 0, to)
           : how == EXEC_ASYNC ? spmv_exec_async(plan, 1, from, 0, to, NULL)
                               : spmv_apply(plan, &product, NULL);
}
#endif
