/* packed.cuh: how the packed format's codes are read on a GPU, a step and a batch of steps. */
#ifndef SPMV_CUDA_PACKED_CUH
#define SPMV_CUDA_PACKED_CUH

#include "device.cuh"
#include <stdlib.h>

enum {
    AHEAD = 8, /* steps, or entries, asked for before the first is used */
    STAGE = 64 /* steps in shared memory, a warp */
};

static __host__ __device__ constexpr int packed_column_size(int code) {
    return code == PACKED_DIAGONAL    ? 0
           : code == PACKED_COLUMN_8  ? 1
           : code == PACKED_COLUMN_16 ? 2
                                      : 4;
}

/* Of an entry; of a step for PACKED_VALUE_STEP. */
static __host__ __device__ constexpr int packed_value_size(int code) {
    return code == PACKED_VALUE_TABLE ? 1
           : code == PACKED_VALUE_F32 ? (int)sizeof(float)
                                      : (int)sizeof(real);
}

/* The matrix is read once and leaves the cache first, so that x stays. */
template <int COLUMN>
static __device__ __forceinline__ idx packed_column(const uint8_t *columns, int at) {
    if (COLUMN == PACKED_COLUMN_8) return __ldcs(columns + at);
    if (COLUMN == PACKED_COLUMN_16) return __ldcs((const uint16_t *)columns + at);
    return (idx)__ldcs((const uint32_t *)columns + at);
}

/* A value as stored: decoded only when it is used, or the load would be waited for. */
template <int VALUE> struct packed_raw {
    real raw;
    __device__ __forceinline__ void none() {
        raw = 0;
    }
    __device__ __forceinline__ void load(const uint8_t *values, int at) {
        raw = VALUE == PACKED_VALUE_STEP ? __ldg((const real *)values + at)
                                         : __ldcs((const real *)values + at);
    }
    __device__ __forceinline__ real value(const real *) const {
        return raw;
    }
};
template <> struct packed_raw<PACKED_VALUE_F32> {
    float raw;
    __device__ __forceinline__ void none() {
        raw = 0;
    }
    __device__ __forceinline__ void load(const uint8_t *values, int at) {
        raw = __ldcs((const float *)values + at);
    }
    __device__ __forceinline__ real value(const real *) const {
        return (real)raw;
    }
};
template <> struct packed_raw<PACKED_VALUE_TABLE> {
    uint32_t raw;
    __device__ __forceinline__ void none() {
        raw = PACKED_TABLE_SIZE;
    }
    __device__ __forceinline__ void load(const uint8_t *values, int at) {
        raw = __ldcs(values + at);
    }
    __device__ __forceinline__ real value(const real *table) const {
        return table[raw];
    }
};

/* The same where the codes are known at run time only. */
typedef struct packed_codes {
    uint8_t column, value, run;
    bool full;
} packed_codes;

static __device__ __forceinline__ idx packed_column(packed_codes c, const uint8_t *columns, int at,
                                                    idx i) {
    switch (c.column) {
    case PACKED_DIAGONAL: return i;
    case PACKED_COLUMN_8: return packed_column<PACKED_COLUMN_8>(columns, at);
    case PACKED_COLUMN_16: return packed_column<PACKED_COLUMN_16>(columns, at);
    default: return packed_column<PACKED_COLUMN_32>(columns, at);
    }
}

static __device__ __forceinline__ real packed_value(packed_codes c, const uint8_t *values, int at,
                                                    const real *table) {
    switch (c.value) {
    case PACKED_VALUE_F32: return (real)__ldcs((const float *)values + at);
    case PACKED_VALUE_TABLE: return table[__ldcs(values + at)];
    default: return __ldcs((const real *)values + at);
    }
}

/* In two loads of 16 bytes. */
static __device__ __forceinline__ packed_slice packed_head(const packed_slice *slice, int64_t s) {
    union {
        int4 loaded[2];
        packed_slice head;
    } u;
    u.loaded[0] = __ldg((const int4 *)(slice + s));
    u.loaded[1] = __ldg((const int4 *)(slice + s) + 1);
    return u.head;
}
/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct __align__(16) staged_step { /* in shared memory, read as one piece */
    int32_t base;
    uint32_t mask;
    int32_t value, column; /* place of its first entry, counted from a span's first */
}
staged_step;

typedef struct span { /* staged steps and what their places are counted from */
    const staged_step *step;
    const uint8_t *column, *value;
    int nsteps;
    packed_codes codes;
} span;

typedef struct operand { /* what every lane multiplies by */
    idx i;               /* its row */
    const real *x, *table;
} operand;

/* Of the lanes before this one, and of all. */
static __device__ __forceinline__ int sum_before(int count, int lane, int *total) {
    int sum = count;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        int before = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane >= step) sum += before;
    }
    *total = __shfl_sync(ALL_LANES, sum, WARP - 1);
    return sum - count;
}

/* At most STAGE steps; returns how many entries they hold. */
static __device__ __forceinline__ int stage(const packed_step *step, int nsteps, staged_step *out) {
    int lane = threadIdx.x % WARP, entries = 0;
    int2 loaded[STAGE / WARP];
    __syncwarp(); /* what was staged before has been read */
#pragma unroll
    for (int c = 0; c < STAGE / WARP; c++) {
        loaded[c] = {0, 0};
        if (c * WARP + lane < nsteps) loaded[c] = __ldcs((const int2 *)step + c * WARP + lane);
    }
#pragma unroll
    for (int c = 0; c < STAGE / WARP; c++) {
        int total, before = sum_before(__popc((unsigned)loaded[c].y), lane, &total);
        *(int4 *)(out + c * WARP + lane) = {loaded[c].x, loaded[c].y, entries + before,
                                            entries + before};
        entries += total;
    }
    __syncwarp();
    return entries;
}

/* The places of values that are one a step. */
static __device__ __forceinline__ void count_steps(staged_step *step) {
    for (int k = threadIdx.x % WARP; k < STAGE; k += WARP) step[k].value = k;
    __syncwarp();
}

/* ---- batches: AHEAD steps -------------------------------------------------------------------- */

/* Loads this lane's values and entries of x: all loads of a kind, then all of the next, so that
 * nothing waits until all are on their way. PART: only nsteps are left. A lane without an entry
 * asks for nothing and has 0 and 0. What is not loaded is set, or the compiler would keep a
 * register for it throughout. */
template <int COLUMN, int VALUE, bool FULL, bool PART>
static __device__ __forceinline__ void load_batch(const span &p, int k, operand o, real *a,
                                                  real *xj) {
    const int lane = threadIdx.x % WARP;
    packed_raw<VALUE> raw[AHEAD];
    idx j[AHEAD];
    unsigned on = 0;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        int4 s = *(const int4 *)(p.step + k + u);
        int rank = FULL ? lane : __popc((unsigned)s.y & ((1u << lane) - 1));
        bool is_on = (FULL || ((unsigned)s.y >> lane & 1)) && (!PART || k + u < p.nsteps);
        on |= (unsigned)is_on << u;
        idx code = COLUMN == PACKED_DIAGONAL ? o.i : 0;
        if (COLUMN != PACKED_DIAGONAL && is_on) code = packed_column<COLUMN>(p.column, s.w + rank);
        j[u] = s.x + code;
        raw[u].none();
        if (is_on) raw[u].load(p.value, s.z + (VALUE == PACKED_VALUE_STEP ? 0 : rank));
    }
    __syncwarp(); /* or the compiler would wait for the first column before it loads the last */
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        xj[u] = 0;
        if (on >> u & 1) xj[u] = __ldg(o.x + j[u]);
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++) a[u] = raw[u].value(o.table);
}

template <int COLUMN, int VALUE>
static __device__ __forceinline__ void load_coded(const span &p, int k, operand o, real *a,
                                                  real *xj) {
    if (p.codes.full && p.nsteps - k >= AHEAD)
        load_batch<COLUMN, VALUE, true, false>(p, k, o, a, xj);
    else
        load_batch<COLUMN, VALUE, false, true>(p, k, o, a, xj);
}

template <int COLUMN>
static __device__ __forceinline__ void load_valued(const span &p, int k, operand o, real *a,
                                                   real *xj) {
    switch (p.codes.value) { /* the same for the whole warp */
    case PACKED_VALUE_RAW: return load_coded<COLUMN, PACKED_VALUE_RAW>(p, k, o, a, xj);
    case PACKED_VALUE_F32: return load_coded<COLUMN, PACKED_VALUE_F32>(p, k, o, a, xj);
    case PACKED_VALUE_TABLE: return load_coded<COLUMN, PACKED_VALUE_TABLE>(p, k, o, a, xj);
    default: return load_coded<COLUMN, PACKED_VALUE_STEP>(p, k, o, a, xj);
    }
}

static __device__ __forceinline__ void load_steps(const span &p, int k, operand o, real *a,
                                                  real *xj) {
    switch (p.codes.column) {
    case PACKED_DIAGONAL: return load_valued<PACKED_DIAGONAL>(p, k, o, a, xj);
    case PACKED_COLUMN_8: return load_valued<PACKED_COLUMN_8>(p, k, o, a, xj);
    case PACKED_COLUMN_16: return load_valued<PACKED_COLUMN_16>(p, k, o, a, xj);
    default: return load_valued<PACKED_COLUMN_32>(p, k, o, a, xj);
    }
}

/* Runs of entries in adjacent columns: a step's first entries, then its second, ... */
static __device__ __noinline__ real add_runs(span p, operand o, real sum) {
    const int lane = threadIdx.x % WARP, run = p.codes.run;
#pragma unroll 1
    for (int k = 0; k < p.nsteps; k++) {
        staged_step s = p.step[k];
        int rank = __popc(s.mask & ((1u << lane) - 1)), many = __popc(s.mask);
        if (!(s.mask >> lane & 1)) continue;
        idx j = s.base + packed_column(p.codes, p.column, s.column + rank, o.i);
#pragma unroll 4
        for (int q = 0; q < run; q++) {
            int at = p.codes.value == PACKED_VALUE_STEP ? s.value * run + q
                                                        : s.value * run + q * many + rank;
            sum += packed_value(p.codes, p.value, at, o.table) * __ldg(o.x + j + q);
        }
    }
    return sum;
}

/* All steps are one slice's. */
static __device__ __forceinline__ real add_span(const span &p, operand o, real sum) {
    if (p.codes.run > 1) return add_runs(p, o, sum);
#pragma unroll 1
    for (int k = 0; k < p.nsteps; k += AHEAD) {
        real a[AHEAD], xj[AHEAD];
        load_steps(p, k, o, a, xj);
#pragma unroll
        for (int u = 0; u < AHEAD; u++) sum += a[u] * xj[u];
    }
    return sum;
}

#endif
