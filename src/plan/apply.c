/* apply.c: spmv_apply: checks a caller's spmv_call and converts it to spmv_operands. */
#include "blocks.h"
#include "host/context.h"
#include "host/host.h"
#include "matrix/stores/stored.h"
#include "plan.h"
#include "product.h"

/* scalars of a call in host or device memory, in the plan's precision; NULL: alpha = 1, beta = 0 */
typedef struct scalars {
    const void *alpha, *beta;
} scalars;

/* Selects the scalars of the plan's precision. Fails if a scalar of the other precision is set. */
static spmv_status scalars_of(const spmv_plan *plan, const spmv_call *call, scalars *out) {
    const bool is_f32 = spmv_plan_is_f32(plan);
    const scalars f64 = {call->alpha, call->beta}, f32 = {call->alpha_f32, call->beta_f32};
    const scalars other = is_f32 ? f64 : f32;
    const char *name = other.alpha ? "alpha" : "beta";
    *out = is_f32 ? f32 : f64;
    if (!other.alpha && !other.beta) return SPMV_OK;
    return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                     "spmv_apply: %s%s is set, but the plan is in %s: set %s%s", name,
                     is_f32 ? "" : "_f32", is_f32 ? "f32" : "f64", name, is_f32 ? "_f32" : "");
}

/* Reads a scalar in host memory in the plan's precision. NULL: returns `otherwise`. */
static double number_at(const spmv_plan *plan, const void *at, double otherwise) {
    if (!at) return otherwise;
    return spmv_plan_is_f32(plan) ? *(const float *)at : *(const double *)at;
}

/* Converts a call to operands; 0 in k, layout, ldx, ldy and ldz is replaced. Scalars in GPU memory
 * are passed as pointers. y is z if beta is 0 or NULL. sign: factor of the matrix in this product,
 * 1 or -1. */
static spmv_operands operands_of(const spmv_plan *plan, const spmv_call *call, scalars s,
                                 double sign, void *stream) {
    spmv_operands v = {.alpha = sign,
                       .x = call->x,
                       .y = call->z,
                       .z = call->z,
                       .stream = stream,
                       .k = call->k > 0 ? call->k : 1,
                       .layout = call->layout ? call->layout : plan->layout};
    if (plan->one_zero && (s.alpha || s.beta)) {
        v.alpha_at = s.alpha ? s.alpha : plan->one_zero;
        v.beta_at = s.beta ? s.beta : (const char *)plan->one_zero + spmv_plan_width(plan);
    } else {
        v.alpha = sign * number_at(plan, s.alpha, 1);
        v.beta = number_at(plan, s.beta, 0);
    }
    if (s.beta && (v.beta_at || v.beta != 0)) v.y = call->y;
    v.ldx = ld_of(&v, plan->cols, call->ldx);
    v.ldz = ld_of(&v, plan->rows, call->ldz);
    v.ldy = v.y != call->y ? v.ldz : ld_of(&v, plan->rows, call->ldy);
    return v;
}

/* Checks a leading dimension of vectors of length n: vectors must not overlap, and the address of
 * the last element must not overflow. */
static spmv_status check_ld(const spmv_plan *plan, const spmv_operands *v, const char *name,
                            int64_t n, int64_t ld) {
    const int64_t least = least_ld(v, n), lines = v->layout == SPMV_ROWS ? n : v->k;
    const int64_t most = INT64_MAX / (int64_t)spmv_plan_width(plan);
    int64_t numbers;
    if (ld < least)
        return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                         "spmv_apply: %s is %lld, must be %lld or more", name, (long long)ld,
                         (long long)least);
    if (lines > 0 && (__builtin_mul_overflow(lines, ld, &numbers) || numbers > most))
        return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                         "spmv_apply: %s is %lld: %lld times that are more than memory can have",
                         name, (long long)ld, (long long)lines);
    return SPMV_OK;
}

/* A scalar in GPU memory must not lie in z: kernels read the scalar while they write z. */
static spmv_status check_scalar(const spmv_plan *plan, const char *name, const void *scalar,
                                const block *z) {
    const block one = {scalar, 1, 1, 1};
    if (!scalar || !meet(&one, z, spmv_plan_width(plan))) return SPMV_OK;
    return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                     "spmv_apply: %s, at %p on the device, lies in z, at %p", name, scalar, z->at);
}

static spmv_status check_y(const spmv_plan *plan, const spmv_call *call, const spmv_operands *v,
                           const block *z) {
    spmv_ctx *ctx = plan->device->ctx;
    const int64_t ldy = ld_of(v, plan->rows, call->ldy);
    const block y = block_of(v, call->y, plan->rows, ldy);
    if (!call->y) return spmv_fail(ctx, SPMV_E_ARG, "spmv_apply: y is NULL, and beta is not");
    if (call->y == call->z && (ldy == v->ldz || z->lines == 1)) return SPMV_OK;
    if (!meet(&y, z, spmv_plan_width(plan))) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "spmv_apply: y and z, %lld numbers at %p and %p, overlap in part",
                     (long long)plan->rows * v->k, call->y, call->z);
}

/* Checks all members of a call that do not depend on addresses: k, layout and op. */
static spmv_status check_call(const spmv_plan *plan, const spmv_call *call) {
    spmv_ctx *ctx = plan->device->ctx;
    if (call->k < 0)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_apply: k is %lld, must be 0 or more",
                         (long long)call->k);
    TRY(spmv_check_layout(ctx, "spmv_call", call->layout));
    if (call->op != 0 && call->op != SPMV_AS_IS && call->op != SPMV_TRANSPOSE)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_apply: op is %d, must be 0, SPMV_AS_IS (%d) or SPMV_TRANSPOSE (%d)",
                         call->op, SPMV_AS_IS, SPMV_TRANSPOSE);
    if (call->op == 0 || call->op == plan->op || plan->op == SPMV_BOTH) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "spmv_apply: op is %s, but the plan was made for %s: make it for SPMV_BOTH",
                     call->op == SPMV_TRANSPOSE ? "SPMV_TRANSPOSE" : "SPMV_AS_IS",
                     plan->op == SPMV_TRANSPOSE ? "SPMV_TRANSPOSE" : "SPMV_AS_IS");
}

static spmv_status check_operands(const spmv_plan *plan, const spmv_call *call, scalars s,
                                  const spmv_operands *v) {
    const block z = block_of(v, call->z, plan->rows, v->ldz);
    TRY(check_ld(plan, v, "ldx", plan->cols, v->ldx));
    TRY(check_ld(plan, v, "ldz", plan->rows, v->ldz));
    if (s.beta) TRY(check_ld(plan, v, "ldy", plan->rows, ld_of(v, plan->rows, call->ldy)));
    if (plan->rows == 0) return SPMV_OK;
    if (plan->scalars == SPMV_DEVICE) {
        TRY(check_scalar(plan, "alpha", s.alpha, &z));
        TRY(check_scalar(plan, "beta", s.beta, &z));
    }
    return s.beta ? check_y(plan, call, v, &z) : SPMV_OK;
}

static spmv_sums sums_of(const spmv_plan *plan, const spmv_call *call, const spmv_operands *v) {
    const bool in_rows = v->layout == SPMV_ROWS;
    const int64_t ldw = ld_of(v, plan->rows, call->ldw);
    return (spmv_sums){.width = spmv_plan_width(plan),
                       .n = plan->rows,
                       .k = v->k,
                       .w = call->w,
                       .z = v->z,
                       .w_row = in_rows ? ldw : 1,
                       .w_vector = in_rows ? 1 : ldw,
                       .z_row = in_rows ? v->ldz : 1,
                       .z_vector = in_rows ? 1 : v->ldz,
                       .wz = call->dot_wz,
                       .zz = call->dot_zz};
}

static spmv_status check_w(const spmv_plan *plan, const spmv_call *call, const spmv_operands *v,
                           const block *w, const block *z) {
    spmv_ctx *ctx = plan->device->ctx;
    if (!call->w && plan->rows > 0)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_apply: w is NULL, and dot_wz is not");
    TRY(check_ld(plan, v, "ldw", plan->rows, w->ld));
    if (call->w == call->z && (w->ld == v->ldz || z->lines == 1)) return SPMV_OK;
    if (!meet(w, z, spmv_plan_width(plan))) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG,
                     "spmv_apply: w and z, %lld numbers at %p and %p, overlap in part",
                     (long long)plan->rows * v->k, call->w, call->z);
}

/* `dot_wz` and `dot_zz` must not overlap w, z or each other: the backend writes the sums while it
 * reads w and z. */
static spmv_status check_sums(const spmv_plan *plan, const spmv_call *call,
                              const spmv_operands *v) {
    const size_t width = spmv_plan_width(plan);
    const block z = block_of(v, call->z, plan->rows, v->ldz),
                w = block_of(v, call->w, plan->rows, ld_of(v, plan->rows, call->ldw)),
                dots[] = {{call->dot_wz, 1, v->k, v->k}, {call->dot_zz, 1, v->k, v->k}};
    static const char *const name[] = {"dot_wz", "dot_zz"};
    if (call->dot_wz) TRY(check_w(plan, call, v, &w, &z));
    for (int d = 0; d < 2; d++) {
        const char *other = !dots[d].at                                 ? NULL
                            : meet(&dots[d], &z, width)                 ? "z"
                            : call->dot_wz && meet(&dots[d], &w, width) ? "w"
                            : d == 1 && meet(&dots[0], &dots[1], width) ? "dot_wz"
                                                                        : NULL;
        if (other)
            return spmv_fail(plan->device->ctx, SPMV_E_ARG,
                             "spmv_apply: %s, %lld numbers at %p, overlaps %s", name[d],
                             (long long)v->k, dots[d].at, other);
    }
    return SPMV_OK;
}

spmv_status spmv_apply(const spmv_plan *plan, const spmv_call *call, void *stream) {
    spmv_call known = SPMV_OPTS(spmv_call);
    GIVEN(NULL, plan);
    GIVEN(plan->device->ctx, call);
    TRY(spmv_read_opts(plan->device->ctx, "spmv_call", &known, sizeof known, call));
    scalars s;
    TRY(scalars_of(plan, &known, &s));
    TRY(check_call(plan, &known));
    const spmv_op op = known.op ? known.op : plan->op;
    const spmv_plan *by = op == SPMV_TRANSPOSE && plan->other ? plan->other : plan;
    spmv_operands v = operands_of(by, &known, s, spmv_plan_sign(by, op), stream);
    TRY(check_operands(by, &known, s, &v));
    TRY(spmv_product_check(by, __func__, "z", &v));
    TRY(check_sums(by, &known, &v));
    const spmv_sums sums = sums_of(by, &known, &v);
    return spmv_product_launch(by, __func__, &v, &sums, false);
}
