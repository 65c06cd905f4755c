/* reads_of_x.h: the random reads of x in a product. */
#ifndef SPMV_READS_OF_X_H
#define SPMV_READS_OF_X_H

#include "spmv.h"
#include <stdbool.h>

enum { X_LINE = 8 }; /* elements of x in a cache line */

typedef struct reads_of_x { /* sampled */
    double jumps; /* share of nonzeros whose cache line of x is not near those read before */
    double lines; /* number of lines that those are spread over */
} reads_of_x;

bool find_reads_of_x(const spmv_csr_view *A, reads_of_x *out); /* false: out of memory */

#endif
