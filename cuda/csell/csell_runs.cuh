/* csell_runs.cuh: multiplies slices of csell with runs of entries in adjacent columns, as in finite
 * elements with several unknowns per node. Loads of x depend on columns, so the columns of the next
 * batch of steps are loaded while a batch is multiplied. 3 x 3 blocks at irregular positions, H200,
 * 80 registers: 193 us entry by entry, 84 with a loop for each length of run, 75 with columns
 * loaded ahead; SELL takes 95. */
#pragma once

#include "csell.cuh"

/* The 32-bit word that contains a column, and the column's position in it: one load for all
 * encodings. */
typedef struct csell_word {
    uint32_t word;
    unsigned shift;
} csell_word;

template <int DEEP> struct columns_ahead {
    csell_word column[DEEP];
    /* Loads the columns of steps k to k + DEEP - 1; repeats the last step behind the end. size:
     * bytes per column. */
    __device__ __forceinline__ void load(const span &p, int k, int size) {
        const unsigned before = (1u << threadIdx.x % WARP) - 1;
#pragma unroll
        for (int u = 0; u < DEEP; u++) {
            const staged_step *step = p.step + min(k + u, p.nsteps - 1);
            const int place = step->place + __popc(step->mask & before);
            uintptr_t at = (uintptr_t)(p.column + place * size);
            column[u] = {load_once((const uint32_t *)(at & ~(uintptr_t)3), p.policy),
                         (unsigned)(at & 3) * 8};
        }
    }
};

/* Multiplies DEEP steps of runs of RUN entries; a step stores the first entries of all runs, then
 * the second, ... FULL: all steps exist and have all lanes. Otherwise the last step is loaded again
 * behind the end, and a lane without an entry loads the next lane's entry and x[0]; neither is
 * added. */
template <int VALUE, bool FULL, int RUN, int DEEP>
static __device__ __forceinline__ real add_run_batch(const span &p, int k, uint32_t most,
                                                     const columns_ahead<DEEP> &ahead, real sum) {
    const unsigned lane = threadIdx.x % WARP, bit = 1u << lane;
    csell_raw<VALUE> raw[DEEP * RUN];
    real xj[DEEP * RUN];
    unsigned on[DEEP];
#pragma unroll
    for (int u = 0; u < DEEP; u++) {
        const int v = FULL ? k + u : min(k + u, p.nsteps - 1);
        const int4 s = *(const int4 *)(p.step + v);
        const int rank = FULL ? (int)lane : __popc((unsigned)s.y & (bit - 1));
        const int many = VALUE == CSELL_VALUE_STEP ? 1 : FULL ? WARP : __popc((unsigned)s.y);
        const int at = VALUE == CSELL_VALUE_STEP ? v * RUN : s.z * RUN + rank;
        const idx j = s.x + (idx)(ahead.column[u].word >> ahead.column[u].shift & most);
        on[u] = FULL ? bit : k + u < p.nsteps ? (unsigned)s.y & bit : 0;
        const real *x = p.x + (FULL || on[u] ? j : 0);
#pragma unroll
        for (int q = 0; q < RUN; q++) {
            xj[u * RUN + q] = __ldg(x + (FULL || on[u] ? q : 0));
            raw[u * RUN + q].load(p.value, at + q * many, p.policy);
        }
    }
    __syncwarp(); /* otherwise the compiler would wait for the first value before it loads the
                     last */
#pragma unroll
    for (int u = 0; u < DEEP; u++)
#pragma unroll
        for (int q = 0; q < RUN; q++) {
            real a = raw[u * RUN + q].value(p.codebook), x = xj[u * RUN + q];
            if (FULL)
                sum = fma(a, x, sum);
            else
                add_product(&sum, a, x, on[u]);
        }
    return sum;
}

template <int VALUE, int RUN>
static __device__ __forceinline__ real add_runs(const span &p, real sum) {
    const int DEEP = RUN == 2 ? 4 : RUN == 3 ? 3 : RUN == 4 ? 2 : 1;
    const int size = csell_column_size(p.codes.column);
    const uint32_t most = ~0u >> (32 - 8 * size);
    const unsigned all = (1u << DEEP) - 1;
    columns_ahead<DEEP> now, next;
    if (p.nsteps == 0) return sum; /* a slice divided among more warps than it has steps */
    next.load(p, 0, size);
#pragma unroll 1
    for (int k = 0; k < p.nsteps; k += DEEP) {
        now = next;
        next.load(p, k + DEEP, size);
        if (k + DEEP <= p.nsteps && (p.step[k].full & all) == all)
            sum = add_run_batch<VALUE, true, RUN, DEEP>(p, k, most, now, sum);
        else
            sum = add_run_batch<VALUE, false, RUN, DEEP>(p, k, most, now, sum);
    }
    return sum;
}

template <int VALUE> static __device__ __forceinline__ real add_any_run(const span &p, real sum) {
    switch (p.codes.run) { /* uniform in a warp */
    case 2: return add_runs<VALUE, 2>(p, sum);
    case 3: return add_runs<VALUE, 3>(p, sum);
    case 4: return add_runs<VALUE, 4>(p, sum);
    case 5: return add_runs<VALUE, 5>(p, sum);
    case 6: return add_runs<VALUE, 6>(p, sum);
    case 7: return add_runs<VALUE, 7>(p, sum);
    default: return add_runs<VALUE, 8>(p, sum);
    }
}

static __device__ __forceinline__ real add_span_of_runs(const span &p, real sum) {
    switch (p.codes.value) {
    case VALUE_RAW: return add_any_run<VALUE_RAW>(p, sum);
    case VALUE_F32: return add_any_run<VALUE_F32>(p, sum);
    case VALUE_CODEBOOK: return add_any_run<VALUE_CODEBOOK>(p, sum);
    default: return add_any_run<CSELL_VALUE_STEP>(p, sum);
    }
}
