/* listed.cuh: multiplies slices that share lists of steps, several steps or one step at a time; and
 * other functions that the kernels of csell_lists share. */
#pragma once

#include "csell.cuh"
#include "formats/csell_lists/csell_lists.h"

typedef struct operand { /* operands of a lane */
    const real *x;       /* address of x for its row: x + i */
    idx none;            /* x[none] is the first element of x */
    unsigned codebook;   /* address in shared memory */
    cache_policy policy;
} operand;

/* Returns the operand of row i. The pointer is hidden from the compiler, which would compute x + (i
 * + j) by three more instructions per entry. */
static __device__ __forceinline__ operand operand_of(const real *x, idx i, unsigned codebook,
                                                     cache_policy policy) {
    const real *mine = x + i;
    asm("" : "+l"(mine));
    return {mine, -i, codebook, policy};
}

/* Loads the codebook indices of DEEP steps. */
template <int DEEP>
static __device__ __forceinline__ void load_codes(const uint8_t *value, int k, cache_policy policy,
                                                  unsigned *code) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int u = 0; u + 4 <= DEEP; u += 4) {
        unsigned word = load_once((const unsigned *)value + (k + u) / 4 * WARP + lane, policy);
#pragma unroll
        for (int v = 0; v < 4; v++) code[u + v] = word >> 8 * v & 255;
    }
#pragma unroll
    for (int u = DEEP / 4 * 4; u < DEEP; u++)
        code[u] = load_once(value + (k + u) * WARP + lane, policy);
}

/* Multiplies DEEP steps of a list. As in csell.cuh, all loads of one kind are issued before the
 * next kind. */
template <int VALUE, bool WHOLE, int DEEP>
static __device__ __forceinline__ real add_batch(const csell_lists &A, const operand &o, int list,
                                                 int k, const uint8_t *value, real sum) {
    const int lane = threadIdx.x % WARP;
    const unsigned bit = 1u << lane;
    idx j[DEEP];
    int at[DEEP];
    unsigned on[DEEP], code[DEEP];
    csell_raw<VALUE> raw[DEEP];
    real xj[DEEP];
    if (WHOLE) {
#pragma unroll
        for (int u = 0; u < DEEP; u += 4) {
            int4 four = __ldg((const int4 *)(A.base + list + k + u));
            j[u] = four.x;
            if (u + 1 < DEEP) j[u + 1] = four.y;
            if (u + 2 < DEEP) j[u + 2] = four.z;
            if (u + 3 < DEEP) j[u + 3] = four.w;
        }
#pragma unroll
        for (int u = 0; u < DEEP; u++) on[u] = 1, at[u] = (k + u) * WARP + lane;
    } else {
#pragma unroll
        for (int u = 0; u < DEEP; u++) {
            int4 s = __ldg((const int4 *)(A.list + list + k + u));
            on[u] = (unsigned)s.y & bit;
            j[u] = on[u] ? s.x : o.none;
            at[u] = s.z + __popc((unsigned)s.y & (bit - 1));
        }
    }
    if (VALUE == VALUE_CODEBOOK) load_codes<DEEP>(value, k, o.policy, code);
    if (VALUE == VALUE_RAW || VALUE == VALUE_F32)
#pragma unroll
        for (int u = 0; u < DEEP; u++) raw[u].load(value, at[u], o.policy);
    __syncwarp(); /* otherwise the compiler would wait for the first step before it loads the
                     last */
#pragma unroll
    for (int u = 0; u < DEEP; u++) xj[u] = __ldg(o.x + j[u]);
    __syncwarp(); /* otherwise the compiler would wait for the first value before it loads the
                     last element of x */
#pragma unroll
    for (int u = 0; u < DEEP; u++) {
        real a = VALUE == CSELL_VALUE_STEP ? __ldg(A.step_value + list + k + u)
                 : VALUE == VALUE_CODEBOOK ? decoded<VALUE_CODEBOOK>(code[u], o.codebook)
                                           : raw[u].value(o.codebook);
        if (WHOLE)
            sum = fma(a, xj[u], sum);
        else
            add_product(&sum, a, xj[u], on[u]);
    }
    return sum;
}

/* Multiplies a slice without a list, one step at a time. */
static __device__ __forceinline__ real add_alone(const csell_lists &A, const csell_listed &slice,
                                                 operand o) {
    const unsigned bit = 1u << threadIdx.x % WARP;
    const csell_slice s = csell_head(A.rest, ~slice.list);
    const csell_codes codes = {s.column_code, s.value_code, s.run};
    const real *x = s.column_code == CSELL_DIAGONAL ? o.x : o.x + o.none;
    int place = 0; /* index of the step's first run */
    real sum = 0;
#pragma unroll 1
    for (int k = 0; k < s.nsteps; k++) {
        const int2 step = __ldg((const int2 *)(A.rest_step + s.step + k));
        const unsigned mask = (unsigned)step.y;
        const int rank = __popc(mask & (bit - 1)), many = __popc(mask);
        if (mask & bit) {
            idx j = step.x + csell_column(codes, A.columns + s.column, place + rank, o.policy);
#pragma unroll 1
            for (int q = 0; q < s.run; q++) {
                int at = s.value_code == CSELL_VALUE_STEP ? k * s.run + q
                                                          : place * s.run + q * many + rank;
                const real a = csell_value(codes, A.values + s.value, at, o.policy, o.codebook);
                sum = fma(a, __ldg(x + j + q), sum);
            }
        }
        place += many;
    }
    return sum;
}

static __device__ __forceinline__ csell_listed head_at(const csell_lists &A, int64_t s) {
    union {
        int4 loaded;
        csell_listed head;
    } u;
    u.loaded = __ldg((const int4 *)(A.slice + s));
    return u.head;
}

/* Copies the codebook to shared memory; returns its address there. Must be called by every thread
 * of the block. */
static __device__ __forceinline__ unsigned take_codebook(const csell_lists &A, bool has_codebook,
                                                         real *codebook) {
    if (has_codebook) {
        for (int k = threadIdx.x; k < VALUE_CODEBOOK_SIZE; k += blockDim.x)
            codebook[k] = A.codebook[k];
        __syncthreads();
    }
    unsigned at = (unsigned)__cvta_generic_to_shared(codebook);
    asm("" : "+r"(at));
    return at;
}
