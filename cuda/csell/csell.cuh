/* csell.cuh: decodes columns and values of csell on a GPU, for one step and for several steps at
 * once. */
#pragma once

#include "cuda/cache_policy.cuh"
#include "cuda/values/value_codes.cuh"
#include "formats/csell/csell.h"
#include <stdlib.h>

enum {
    AHEAD = 8, /* steps, or entries, loaded before the first is used */
    STAGE = 64 /* maximum number of staged steps (in shared memory) per warp */
};

static __host__ __device__ constexpr int csell_column_size(int code) {
    return code == CSELL_DIAGONAL    ? 0
           : code == CSELL_COLUMN_8  ? 1
           : code == CSELL_COLUMN_16 ? 2
                                     : 4;
}

/* Returns the bytes of an entry's value; for CSELL_VALUE_STEP, of a step's value. */
static __host__ __device__ constexpr int csell_value_size(int code) {
    return code == VALUE_CODEBOOK ? 1 : code == VALUE_F32 ? (int)sizeof(float) : (int)sizeof(real);
}

template <int COLUMN>
static __device__ __forceinline__ idx csell_column(const uint8_t *columns, int at,
                                                   cache_policy policy) {
    if (COLUMN == CSELL_DIAGONAL) return 0;
    if (COLUMN == CSELL_COLUMN_8) return load_once(columns + at, policy);
    if (COLUMN == CSELL_COLUMN_16) return load_once((const uint16_t *)columns + at, policy);
    return (idx)load_once((const uint32_t *)columns + at, policy);
}

/* A value as stored. It is decoded when it is used: decoding at once would wait for the load. */
template <int VALUE> struct csell_raw {
    enum { CODE = VALUE == CSELL_VALUE_STEP ? VALUE_RAW : VALUE };
    typedef typename stored<CODE>::one one;
    typename stored<CODE>::loaded raw;
    __device__ __forceinline__ void load(const uint8_t *values, int at, cache_policy policy) {
        raw = VALUE == CSELL_VALUE_STEP ? __ldg((const one *)values + at)
                                        : load_once((const one *)values + at, policy);
    }
    __device__ __forceinline__ real value(unsigned codebook) const {
        return decoded<CODE>(raw, codebook);
    }
};

/* Adds a x to *sum if `wanted` is not 0. Predicated assembly: the compiler would add first and then
 * select. */
static __device__ __forceinline__ void add_product(double *sum, double a, double x,
                                                   unsigned wanted) {
    asm("{.reg .pred p; setp.ne.u32 p, %3, 0; @p fma.rn.f64 %0, %1, %2, %0;}"
        : "+d"(*sum)
        : "d"(a), "d"(x), "r"(wanted));
}
static __device__ __forceinline__ void add_product(float *sum, float a, float x, unsigned wanted) {
    asm("{.reg .pred p; setp.ne.u32 p, %3, 0; @p fma.rn.f32 %0, %1, %2, %0;}"
        : "+f"(*sum)
        : "f"(a), "f"(x), "r"(wanted));
}

/* Encodings known only at run time. */
typedef struct csell_codes {
    uint8_t column, value, run;
} csell_codes;

static __device__ __forceinline__ idx csell_column(csell_codes c, const uint8_t *columns, int at,
                                                   cache_policy policy) {
    switch (c.column) {
    case CSELL_DIAGONAL: return 0;
    case CSELL_COLUMN_8: return csell_column<CSELL_COLUMN_8>(columns, at, policy);
    case CSELL_COLUMN_16: return csell_column<CSELL_COLUMN_16>(columns, at, policy);
    default: return csell_column<CSELL_COLUMN_32>(columns, at, policy);
    }
}

static __device__ __forceinline__ real csell_value(csell_codes c, const uint8_t *values, int at,
                                                   cache_policy policy, unsigned codebook) {
    switch (c.value) {
    case VALUE_F32:
        return decoded<VALUE_F32>(load_once((const float *)values + at, policy), codebook);
    case VALUE_CODEBOOK: return decoded<VALUE_CODEBOOK>(load_once(values + at, policy), codebook);
    default: return decoded<VALUE_RAW>(load_once((const real *)values + at, policy), codebook);
    }
}

/* Reads the head of a slice by two 16-byte loads. */
static __device__ __forceinline__ csell_slice csell_head(const csell_slice *slice, int64_t s) {
    union {
        int4 loaded[2];
        csell_slice head;
    } u;
    u.loaded[0] = __ldg((const int4 *)(slice + s));
    u.loaded[1] = __ldg((const int4 *)(slice + s) + 1);
    return u.head;
}
/* ---- staging: the next steps in shared memory ----------------------------------------------- */

typedef struct __align__(16) staged_step { /* loaded at once */
    int32_t base;
    uint32_t mask;
    int32_t place; /* index of its first entry, relative to the first staged step */
    uint32_t full; /* bit u: step k + u has all lanes; valid for u < AHEAD at least */
}
staged_step;

/* Exclusive prefix sum over lanes; *total: sum of all lanes. */
static __device__ __forceinline__ int sum_before(int count, int *total) {
    int sum = count;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        int before = __shfl_up_sync(ALL_LANES, sum, step);
        if ((int)threadIdx.x % WARP >= step) sum += before;
    }
    *total = __shfl_sync(ALL_LANES, sum, WARP - 1);
    return sum - count;
}

/* Copies up to STAGE steps to shared memory; returns their number of entries. */
static __device__ __forceinline__ int stage(const csell_step *step, int nsteps, cache_policy policy,
                                            staged_step *out) {
    const int lane = threadIdx.x % WARP;
    int entries = 0;
    int2 loaded[STAGE / WARP];
    unsigned full[STAGE / WARP + 1];
#pragma unroll
    for (int c = 0; c < STAGE / WARP; c++) {
        loaded[c] = {0, 0};
        if (c * WARP + lane < nsteps)
            loaded[c] = load_once((const int2 *)step + c * WARP + lane, policy);
    }
    full[STAGE / WARP] = 0;
#pragma unroll
    for (int c = 0; c < STAGE / WARP; c++)
        full[c] = __ballot_sync(ALL_LANES, (unsigned)loaded[c].y == ALL_LANES);
#pragma unroll
    for (int c = 0; c < STAGE / WARP; c++) {
        unsigned mask = (unsigned)loaded[c].y;
        int before = lane * WARP, total = __popc(full[c]) * WARP;
        if (__any_sync(ALL_LANES, mask != 0 && mask != ALL_LANES))
            before = sum_before(__popc(mask), &total);
        *(int4 *)(out + c * WARP + lane) = {loaded[c].x, loaded[c].y, entries + before,
                                            (int)__funnelshift_r(full[c], full[c + 1], lane)};
        entries += total;
    }
    __syncwarp();
    return entries;
}

/* ---- batches: AHEAD steps -------------------------------------------------------------------- */

typedef struct span { /* staged steps of one slice, and the operands of this lane */
    const staged_step *step;
    int nsteps;
    csell_codes codes;
    const uint8_t *column, *value; /* of entry 0; with CSELL_VALUE_STEP value: of step 0 */
    const real *x;                 /* address of x[0]; on diagonals of x[i] */
    idx none;                      /* x[none] is the first element of x */
    unsigned codebook;             /* address in shared memory */
    cache_policy policy;
} span;

/* Multiplies DEEP steps. Issues all loads of one kind before loads of the next kind, so that no
 * load waits for another. FULL: every step has all lanes, so that one index gives all positions.
 * ODD: the last step does not exist. A lane without an entry loads the next lane's entry and x[0],
 * and adds nothing: conditional loads would need more predicates than there are. */
template <int COLUMN, int VALUE, bool FULL, int DEEP>
static __device__ __forceinline__ real add_batch(const span &p, int k, bool odd, real sum) {
    const unsigned bit = 1u << threadIdx.x % WARP;
    const staged_step *step = p.step + k;
    const int first = FULL ? step->place + (int)threadIdx.x % WARP : 0;
    csell_raw<VALUE> raw[DEEP];
    idx j[DEEP];
    real xj[DEEP];
    unsigned on[DEEP];
#pragma unroll
    for (int u = 0; u < DEEP; u++) {
        int v = u, at = first + u * WARP;
        if (FULL) {
            j[u] = step[v].base;
        } else {
            if (u == DEEP - 1 && odd) v--; /* loads the step before again */
            int4 s = *(const int4 *)(step + v);
            j[u] = s.x;
            on[u] = v == u ? (unsigned)s.y & bit : 0;
            at = s.z + __popc((unsigned)s.y & (bit - 1));
        }
        j[u] += csell_column<COLUMN>(p.column, at, p.policy);
        raw[u].load(p.value, VALUE == CSELL_VALUE_STEP ? k + v : at, p.policy);
    }
    /* otherwise the compiler would wait for the first column before it loads the last */
    if (COLUMN != CSELL_DIAGONAL) __syncwarp();
#pragma unroll
    for (int u = 0; u < DEEP; u++) xj[u] = __ldg(p.x + (FULL || on[u] ? j[u] : p.none));
    __syncwarp(); /* otherwise the compiler would wait for the first value before it loads the
                     last element of x */
#pragma unroll
    for (int u = 0; u < DEEP; u++) {
        if (FULL)
            sum = fma(raw[u].value(p.codebook), xj[u], sum);
        else
            add_product(&sum, raw[u].value(p.codebook), xj[u], on[u]);
    }
    return sum;
}

template <int COLUMN, int VALUE>
static __device__ __forceinline__ real add_steps(const span &p, real sum) {
    int k = 0;
    unsigned all = (1u << AHEAD) - 1;
#pragma unroll 1
    for (; p.nsteps - k >= AHEAD; k += AHEAD)
        if ((p.step[k].full & all) == all)
            sum = add_batch<COLUMN, VALUE, true, AHEAD>(p, k, false, sum);
        else
            sum = add_batch<COLUMN, VALUE, false, AHEAD>(p, k, false, sum);
    int left = p.nsteps - k;
    if (left == 0) return sum;
    all = (1u << left) - 1;
    if ((p.step[k].full & all) != all) switch ((left + 1) / 2) {
        case 1: return add_batch<COLUMN, VALUE, false, 2>(p, k, left < 2, sum);
        case 2: return add_batch<COLUMN, VALUE, false, 4>(p, k, left < 4, sum);
        case 3: return add_batch<COLUMN, VALUE, false, 6>(p, k, left < 6, sum);
        default: return add_batch<COLUMN, VALUE, false, 8>(p, k, true, sum);
        }
    switch (left) {
    case 1: return add_batch<COLUMN, VALUE, true, 1>(p, k, false, sum);
    case 2: return add_batch<COLUMN, VALUE, true, 2>(p, k, false, sum);
    case 3: return add_batch<COLUMN, VALUE, true, 3>(p, k, false, sum);
    case 4: return add_batch<COLUMN, VALUE, true, 4>(p, k, false, sum);
    case 5: return add_batch<COLUMN, VALUE, true, 5>(p, k, false, sum);
    case 6: return add_batch<COLUMN, VALUE, true, 6>(p, k, false, sum);
    default: return add_batch<COLUMN, VALUE, true, 7>(p, k, false, sum);
    }
}

template <int COLUMN> static __device__ __forceinline__ real add_valued(const span &p, real sum) {
    switch (p.codes.value) { /* uniform in a warp */
    case VALUE_RAW: return add_steps<COLUMN, VALUE_RAW>(p, sum);
    case VALUE_F32: return add_steps<COLUMN, VALUE_F32>(p, sum);
    case VALUE_CODEBOOK: return add_steps<COLUMN, VALUE_CODEBOOK>(p, sum);
    default: return add_steps<COLUMN, CSELL_VALUE_STEP>(p, sum);
    }
}

/* Multiplies runs of entries in adjacent columns: a step stores the first entries of all runs, then
 * the second entries, ... */
static __device__ __forceinline__ real add_runs(const span &p, real sum) {
    const unsigned bit = 1u << threadIdx.x % WARP;
    const int run = p.codes.run;
#pragma unroll 1
    for (int k = 0; k < p.nsteps; k++) {
        int4 s = *(const int4 *)(p.step + k);
        int rank = __popc((unsigned)s.y & (bit - 1)), many = __popc((unsigned)s.y);
        if (!((unsigned)s.y & bit)) continue;
        idx j = s.x + csell_column(p.codes, p.column, s.z + rank, p.policy);
#pragma unroll 1
        for (int q = 0; q < run; q++) {
            int at = p.codes.value == CSELL_VALUE_STEP ? k * run + q : s.z * run + q * many + rank;
            const real a = csell_value(p.codes, p.value, at, p.policy, p.codebook);
            sum = fma(a, __ldg(p.x + j + q), sum);
        }
    }
    return sum;
}

/* Selects the loop for the encodings; each combination has its own loop. */
static __device__ __forceinline__ real add_span(const span &p, real sum) {
    if (p.codes.run > 1) return add_runs(p, sum);
    switch (p.codes.column) {
    case CSELL_DIAGONAL: return add_valued<CSELL_DIAGONAL>(p, sum);
    case CSELL_COLUMN_8: return add_valued<CSELL_COLUMN_8>(p, sum);
    case CSELL_COLUMN_16: return add_valued<CSELL_COLUMN_16>(p, sum);
    default: return add_valued<CSELL_COLUMN_32>(p, sum);
    }
}
