/* limits.h: how fast the machine could have been. */
#ifndef SPMV_LIMITS_H
#define SPMV_LIMITS_H

#include "app/run/results/result.h"
#include "app/run/session.h"
#include "reads_of_x.h"

void describe_limits(const session *run, result *out, const spmv_backend *backend,
                     const reads_of_x *reads);

#endif
