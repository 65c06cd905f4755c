/* vectors.cuh: operands of kernels for several vectors: positions of their elements, and storing
 * the result of a row. */
#pragma once

#include "device.cuh"

enum { SIDE = 16 / sizeof(real) /* elements of a row of x that a lane loads at once */ };

typedef struct strides { /* elements from row to row and from vector to vector */
    int64_t row, vector;
} strides;

typedef struct vectors { /* operands of one launch */
    const real *x;
    result out;
    strides at_x, at_y, at_z;
    uint32_t row_bytes; /* distance between rows of x in bytes, if x_whole */
    bool x_whole;       /* SIDE elements of a row of x are adjacent and aligned to 16 bytes */
    bool whole;         /* the same holds for rows of y and of z */
    int count;
} vectors;

static __device__ __forceinline__ void put_number(const vectors &v, int64_t row, int c, real sum) {
    const result &out = v.out;
    real *z = out.z + row * v.at_z.row + c * v.at_z.vector;
    const real *y = out.y + row * v.at_y.row + c * v.at_y.vector;
    const real alpha = out.alpha_at ? out.alpha * *out.alpha_at : out.alpha;
    const real beta = out.alpha_at ? *out.beta_at : out.beta;
    const real scaled = alpha * sum;
    *z = beta == 0 ? scaled : fma(beta, *y, scaled);
}

/* Stores the existing ones of SUMS elements of a row, 16 bytes at a time if possible: a store of
 * half a sector takes the L2 cache as long as one of a whole sector. */
template <int SUMS>
static __device__ __forceinline__ void put_numbers(const vectors &v, int64_t row, int c,
                                                   const real *sum) {
    if (SUMS == SIDE && v.whole && c + SIDE <= v.count) {
        const result &out = v.out;
        const real alpha = out.alpha_at ? out.alpha * *out.alpha_at : out.alpha;
        const real beta = out.alpha_at ? *out.beta_at : out.beta;
        __align__(16) real z[SIDE], y[SIDE];
        if (beta != 0) *(int4 *)y = *(const int4 *)(out.y + row * v.at_y.row + c);
#pragma unroll
        for (int s = 0; s < SIDE; s++) {
            z[s] = alpha * sum[s];
            if (beta != 0) z[s] = fma(beta, y[s], z[s]);
        }
        *(int4 *)(out.z + row * v.at_z.row + c) = *(const int4 *)z;
    } else {
#pragma unroll
        for (int s = 0; s < SUMS; s++)
            if (c + s < v.count) put_number(v, row, c + s, sum[s]);
    }
}

/* Ways in which a lane loads its elements of a row of x: SIDE at once; all of them one by one; only
 * those that exist. */
enum loading { AT_ONCE, EACH_ONE, WHAT_IS_THERE };

/* Returns the address of a lane's elements in row 0 of x, from vector c on. The number of lanes is
 * a power of two: lanes beyond the last vector load the first elements, so that they do not read
 * past the end of x. */
static __device__ __forceinline__ const real *x_of_lane(const vectors &v, int c) {
    return v.x + (c < v.count ? c : 0) * v.at_x.vector;
}

/* Loads SUMS elements of row j. x: address in row 0. */
template <int SUMS, loading HOW>
static __device__ __forceinline__ void load_numbers(const vectors &v, const real *x, idx j, int c,
                                                    real *out) {
    if (HOW == AT_ONCE) {
        *(int4 *)out = *(const int4 *)((const char *)x + (uint64_t)(uint32_t)j * v.row_bytes);
    } else {
        x += j * v.at_x.row;
#pragma unroll
        for (int s = 0; s < SUMS; s++)
            out[s] = HOW == EACH_ONE || c + s < v.count ? x[s * v.at_x.vector] : 0;
    }
}

/* Sets x to vectors in rows with leading dimension ld. */
static inline void set_rows(vectors *v, const real *x, int64_t ld) {
    const uint64_t bytes = (uint64_t)ld * sizeof(real);
    v->x = x;
    v->at_x = {ld, 1};
    v->row_bytes = (uint32_t)bytes;
    v->x_whole = bytes <= UINT32_MAX && (bytes | (uintptr_t)x) % 16 == 0;
}

/* Returns the operands of a product, with count unset. */
static inline vectors vectors_of(const spmv_operands *o) {
    const bool in_rows = o->layout == SPMV_ROWS;
    const auto at = [in_rows](int64_t ld) { return in_rows ? strides{ld, 1} : strides{1, ld}; };
    vectors v = {(const real *)o->x, result_of(o), at(o->ldx), at(o->ldy), at(o->ldz)};
    if (in_rows) set_rows(&v, (const real *)o->x, o->ldx);
    v.x_whole = v.x_whole && o->k % SIDE == 0; /* no lane reads past the end of a row */
    v.whole = in_rows && ((o->ldy | o->ldz) % SIDE | ((uintptr_t)o->y | (uintptr_t)o->z) % 16) == 0;
    return v;
}

/* Advances the operands by v->count vectors. */
static inline void go_on(vectors *v) {
    v->x += v->count * v->at_x.vector;
    v->out.y += v->count * v->at_y.vector;
    v->out.z += v->count * v->at_z.vector;
}

/* Multiplies v.count vectors in one launch. */
typedef spmv_status (*run_counted)(const spmv_plan *, const vectors &, cudaStream_t);

/* Multiplies all vectors, at most `most` per launch. */
static inline spmv_status run_in_batches(const spmv_plan *p, const spmv_operands *all, int64_t most,
                                         run_counted run_some) {
    vectors v = vectors_of(all);
    for (int64_t j = 0; p->rows > 0 && j < all->k; j += v.count, go_on(&v)) {
        v.count = (int)min(all->k - j, most);
        TRY(run_some(p, v, stream_of(all)));
    }
    return SPMV_OK;
}

/* Returns the exponent of the least power of two that is at least n. */
static inline int exponent_of(int64_t n) {
    int exponent = 0;
    while (((int64_t)1 << exponent) < n) exponent++;
    return exponent;
}

/* Multiplies vectors in columns: transposes some columns of x at a time to rows in the plan's
 * panel. */
static inline spmv_status run_in_rows(const spmv_plan *p, const spmv_operands *v, run_counted run) {
    const int64_t cols = p->cols, panel = SPMV_PANEL_VECTORS;
    const int64_t most = p->rows < cols ? panel : 2 * panel, panels = blocks_for(v->k, most);
    vectors some = vectors_of(v);
    for (int64_t j = 0, n = 0; n < panels; n++, j += some.count) {
        some.count = (int)min(v->k - j, most);
        const int64_t row = blocks_for(some.count, SIDE) * SIDE;
        TRY(p->device->backend->turn(p->device, v->stream, sizeof(real), some.count, cols,
                                     (const real *)v->x + j * v->ldx, v->ldx, (real *)p->panel,
                                     row));
        set_rows(&some, (const real *)p->panel, row);
        TRY(run(p, some, stream_of(v)));
        some.out.y += some.count * some.at_y.vector;
        some.out.z += some.count * some.at_z.vector;
    }
    return SPMV_OK;
}
