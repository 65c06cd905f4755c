/* product.h: one product of a plan in steps, for what repeats them under a clock. */
#ifndef SPMV_PRODUCT_H
#define SPMV_PRODUCT_H

#include "matrix/matrix.h"

/* Returns the factor of a plan's matrix in a product by op: the transpose of a skew-symmetric one
 * is its negative, and a plan of the matrix itself multiplies by it. */
static inline double spmv_plan_sign(const spmv_plan *plan, spmv_op op) {
    return op == SPMV_TRANSPOSE && plan->matrix->coo.symmetry == SPMV_SKEW_SYMMETRIC ? -1 : 1;
}
/* Returns the operands of y <- alpha op(A) x + beta y, by op of the plan, where the plan's device
 * orders its own operations. */
static inline spmv_operands spmv_in_place(const spmv_plan *plan, double alpha, const void *x,
                                          double beta, void *y) {
    return (spmv_operands){.alpha = spmv_plan_sign(plan, plan->op) * alpha,
                           .beta = beta,
                           .x = x,
                           .y = y,
                           .z = y,
                           .stream = plan->device->stream,
                           .k = 1,
                           .ldx = plan->cols,
                           .ldy = plan->rows,
                           .ldz = plan->rows,
                           .layout = SPMV_COLUMNS};
}

/* Refuses operands that are missing, overlap, or belong to a freed matrix (SPMV_E_ARG). The text
 * names the call and what it calls the vector that is written. */
spmv_status spmv_product_check(const spmv_plan *plan, const char *call, const char *written,
                               const spmv_operands *v);
/* Says that products of the plan run until spmv_product_unclaim, with what they need for
 * themselves: where other threads have all there is of it, waits; on a GPU SPMV_E_ARG. */
spmv_status spmv_product_claim(const spmv_plan *plan, const char *call, spmv_operands *v);
void spmv_product_unclaim(const spmv_plan *plan, const spmv_operands *v);
/* Says whether the kernel multiplies k vectors in that layout with the help of the plan's panel.
 * One vector with gaps, which is in rows, is packed for other libraries: asked for several,
 * cuSPARSE of CUDA 13.0 was wrong. */
static inline bool spmv_kernel_packs(const spmv_kernel *kernel, spmv_layout layout, int64_t k) {
    if (layout != SPMV_ROWS) return k > 1 && kernel->traits & SPMV_PANEL;
    return !kernel->run_rows || (k == 1 && kernel->traits & SPMV_PEER);
}
/* Allocates the panel that products of several vectors in rows need of this plan, unless it is
 * there. */
spmv_status spmv_product_make_room(spmv_plan *plan);
/* Runs a product that was checked, of a plan that was claimed. On a GPU it is launched, and ends
 * later. */
spmv_status spmv_product_run(const spmv_plan *plan, const spmv_operands *v);
/* Claims, runs and unclaims a product that was checked, and computes the sums that are wanted of
 * it. waits: for its end on a GPU; on a host it has ended in any case, and its sync only looks
 * whether other processes use the cores. */
spmv_status spmv_product_launch(const spmv_plan *plan, const char *call, spmv_operands *v,
                                const spmv_sums *sums, bool waits);

#endif
