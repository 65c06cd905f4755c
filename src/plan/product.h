/* product.h: the steps of one product of a plan, separately callable for timed repetitions. */
#ifndef SPMV_PRODUCT_H
#define SPMV_PRODUCT_H

#include "matrix/matrix.h"

/* Returns the factor of the plan's matrix in a product with op: -1 for the transpose of a
 * skew-symmetric matrix, whose transpose is its negative; else 1. */
static inline double spmv_plan_sign(const spmv_plan *plan, spmv_op op) {
    return op == SPMV_TRANSPOSE && plan->matrix->coo.symmetry == SPMV_SKEW_SYMMETRIC ? -1 : 1;
}
/* Returns the operands of y <- alpha op(A) x + beta y with the plan's op, in the stream of the
 * plan's device. */
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

/* Fails with SPMV_E_ARG if operands are missing or overlap, or if the matrix was freed. call,
 * written: names of the function and of z in the message. */
spmv_status spmv_product_check(const spmv_plan *plan, const char *call, const char *written,
                               const spmv_operands *v);
/* Allocates a workspace slot for products of the plan until spmv_product_unclaim. If other threads
 * use all slots, a host waits; a GPU fails with SPMV_E_ARG. */
spmv_status spmv_product_claim(const spmv_plan *plan, const char *call, spmv_operands *v);
void spmv_product_unclaim(const spmv_plan *plan, const spmv_operands *v);
/* Returns whether the kernel multiplies k vectors in this layout through the plan's panel. Peers
 * pack a single strided vector too: cuSPARSE of CUDA 13.0 gives wrong results for one such vector
 * in its function for several. */
static inline bool spmv_kernel_packs(const spmv_kernel *kernel, spmv_layout layout, int64_t k) {
    if (layout != SPMV_ROWS) return k > 1 && kernel->traits & SPMV_PANEL;
    return !kernel->run_rows || (k == 1 && kernel->traits & SPMV_PEER);
}
/* Allocates the plan's panel for products of several vectors in rows, unless it exists. */
spmv_status spmv_product_make_room(spmv_plan *plan);
/* Runs a checked product of a claimed plan. On a GPU the product is launched and completes
 * later. */
spmv_status spmv_product_run(const spmv_plan *plan, const spmv_operands *v);
/* Claims, runs and unclaims a checked product, and computes the requested dot products. waits:
 * waits for completion on a GPU. On a host the product is complete in any case; the backend's sync
 * then only checks whether other processes use the cores. */
spmv_status spmv_product_launch(const spmv_plan *plan, const char *call, spmv_operands *v,
                                const spmv_sums *sums, bool waits);

#endif
