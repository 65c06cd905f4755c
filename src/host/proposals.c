/* proposals.c: the list of kernels that a backend proposes for a matrix. */
#include "spmv_propose.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

spmv_proposal *spmv_propose_cost(spmv_proposals *all, const spmv_cost *costs, const char *kernel,
                                 const double *term, double setup_unit) {
    while (strcmp(costs->kernel, kernel) != 0) costs++;
    double cost = term[0] + costs->factor * term[1];
    double baseline = all->baseline > 0 ? all->baseline : 1;
    spmv_proposal *p = spmv_propose_kernel(all, costs->kernel, costs->setup * setup_unit,
                                           baseline / cost, "predicted");
    memcpy(p->term, term, sizeof p->term);
    return p;
}

double spmv_value_bytes(const spmv_features *f) {
    return f->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
}

double spmv_coded_bytes(const spmv_features *f) {
    const bool is_known = f->distinct > 0;
    return f->distinct == 1                             ? 0
           : is_known && f->distinct <= SPMV_FEW_VALUES ? 1
           : f->exact_f32 == 1                          ? sizeof(float)
                                                        : spmv_value_bytes(f);
}

void spmv_proposal_why(spmv_proposal *p, const char *why, ...) {
    va_list args;
    va_start(args, why);
    vsnprintf(p->why, sizeof p->why, why, args);
    va_end(args);
}
