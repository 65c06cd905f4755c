/* limits.h: how fast the machine could have been. */
#ifndef SPMV_LIMITS_H
#define SPMV_LIMITS_H

#include "reads_of_x.h"
#include "app/run/session.h"

/* Returns the size up to which random reads are half as fast again as from memory; 0: no rates. */
size_t knee_of(const spmv_rates *r);
/* Measured in some tenths of a second. */
size_t knee_now(size_t reported, int threads);

void describe_limits(const session *run, result *out, const spmv_backend *backend,
                     const reads_of_x *reads);

#endif
