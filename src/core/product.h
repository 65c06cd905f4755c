/* product.h: one product of a plan in steps, for what repeats them under a clock. */
#ifndef SPMV_PRODUCT_H
#define SPMV_PRODUCT_H

#include "internal.h"

/* Returns the operands of y <- alpha A x + beta y where the plan's device orders its own
 * operations. */
static inline spmv_operands spmv_in_place(const spmv_plan *plan, double alpha, const void *x,
                                          double beta, void *y) {
    return (spmv_operands){
        .alpha = alpha, .beta = beta, .x = x, .y = y, .z = y, .stream = plan->device->stream};
}

/* Refuses operands that are missing, overlap, or belong to a freed matrix (SPMV_E_ARG). The text
 * names the call and what it calls the vector that is written. */
spmv_status spmv_product_check(const spmv_plan *plan, const char *call, const char *written,
                               const spmv_operands *v);
/* Says that products of the plan run until spmv_product_unclaim: SPMV_E_ARG if one does already in
 * another thread. */
spmv_status spmv_product_claim(const spmv_plan *plan, const char *call);
void spmv_product_unclaim(const spmv_plan *plan);
/* Runs a product that was checked, of a plan that was claimed. On a GPU it is launched, and ends
 * later. */
spmv_status spmv_product_run(const spmv_plan *plan, const spmv_operands *v);

#endif
