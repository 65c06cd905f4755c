/* knee.h: the effective cache size of the machine. */
#ifndef SPMV_APP_KNEE_H
#define SPMV_APP_KNEE_H

#include "spmv_backend.h"

/* Returns the size up to which random reads are half as fast again as from memory; 0: no rates. */
size_t knee_of(const spmv_rates *r);
/* Measured in some tenths of a second. */
size_t knee_now(size_t reported, int threads);

#endif
