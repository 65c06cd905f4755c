/* proposals.c: the list in which a backend names the kernels that should be fast on a matrix. */
#include "spmv_kernel.h"
#include <stdarg.h>
#include <stdio.h>

spmv_proposal *spmv_propose_kernel(spmv_proposals *all, const char *kernel, double setup,
                                   double speedup, const char *why, ...) {
    spmv_proposal *p = &all->list[all->n++];
    va_list args;
    *p = (spmv_proposal){.kernel = kernel, .predicted_setup = setup, .predicted_speedup = speedup};
    va_start(args, why);
    vsnprintf(p->why, sizeof p->why, why, args);
    va_end(args);
    return p;
}
