/* lists.cuh: the distinct lists of steps of a csell matrix's slices: found, exactly compared and
 * gathered on the GPU when a plan of csell_lists is made. */
#ifndef SPMV_CUDA_LISTS_CUH
#define SPMV_CUDA_LISTS_CUH

#include "cuda/build.cuh"
#include "csell.cuh"

enum {
    SLOT_BITS = 14,
    SLOTS = 1 << SLOT_BITS,
    MOST_LISTS = SLOTS / 2,
    MOST_TRIES = 64,
    MOST_STEPS = 1 << 16, /* of all lists */
    LIST_ALIGN = 4,       /* steps: bases are loaded four at a time */
    NO_LIST = -1,
    SHORT_LIST = 8, /* steps at most, where lists of one length have a kernel */
    SHORT_KINDS = (SHORT_LIST + 1) << 3
};

typedef struct __align__(16) listed_slice { /* read at once */
    const uint8_t *value;                   /* its first; with VALUE_CODEBOOK of the padded codes */
    int32_t list;  /* where its list begins; NO_LIST: read the slice itself */
    uint32_t what; /* steps << 3 | not every lane has all << 2 | value code; without list 0 */
}
listed_slice;

typedef struct lists {
    listed_slice *slice; /* [nslices] */
    int4 *step;          /* [steps of all lists] base, mask, place of its first entry, 0 */
    idx *base;           /* the same, alone */
    real *step_value;    /* of slices that have one value a step */
    uint8_t *code;       /* [nsteps * WARP] codebook places: a word of four steps per lane, then
                            bytes; a lane without an entry has 0. NULL: no slice has such codes */
} lists;

typedef struct list_set {     /* open addressing */
    int owner[SLOTS];         /* a slice that has the list; NO_LIST: none */
    int64_t first[SLOTS + 1]; /* where the list begins among all; the last: how many steps */
    int lists, codes;         /* codes: bit c: a slice has value code c */
    int kind[SHORT_KINDS];    /* slices on diagonals by listed_slice's what, those of few steps */
} list_set;

static __device__ __forceinline__ bool has_list(const csell_slice &s) {
    return s.column_code == CSELL_DIAGONAL && s.nsteps <= MOST_STEPS;
}

static __device__ __forceinline__ uint32_t what_of(const csell_slice &s) {
    return (uint32_t)s.nsteps << 3 | (uint32_t) !(s.flags & CSELL_FULL) << 2 | s.value_code;
}

static __device__ __forceinline__ unsigned long long value_bits(const csell &A,
                                                                const csell_slice &s, int k) {
    unsigned long long bits = 0;
    memcpy(&bits, (const real *)(A.values + s.value) + k, sizeof(real));
    return bits;
}

static __device__ __forceinline__ int2 step_at(const csell &A, const csell_slice &s, int k) {
    return __ldg((const int2 *)(A.step + s.step + k));
}

static __device__ unsigned hash_of(const csell &A, const csell_slice &s) {
    unsigned sum = 0;
    for (int k = threadIdx.x % WARP; k < s.nsteps; k += WARP) {
        int2 step = step_at(A, s, k);
        unsigned h = (unsigned)step.x * 0x9e3779b1u ^ (unsigned)step.y * 0x85ebca6bu;
        if (s.value_code == CSELL_VALUE_STEP) {
            unsigned long long bits = value_bits(A, s, k);
            h ^= (unsigned)(bits ^ bits >> 32) * 0xc2b2ae35u;
        }
        h = (h ^ h >> 15) * (2 * (unsigned)k + 0x27d4eb2fu);
        sum += h ^ h >> 13;
    }
    return ((unsigned)warp_total((int)sum) + (unsigned)s.nsteps) * 0x9e3779b1u;
}

static __device__ bool same_list(const csell &A, const csell_slice &s, const csell_slice &t) {
    const bool valued = s.value_code == CSELL_VALUE_STEP;
    if (s.nsteps != t.nsteps || valued != (t.value_code == CSELL_VALUE_STEP)) return false;
    for (int k = threadIdx.x % WARP; k - (int)threadIdx.x % WARP < s.nsteps; k += WARP) {
        bool same = true;
        if (k < s.nsteps) {
            int2 a = step_at(A, s, k), b = step_at(A, t, k);
            same = a.x == b.x && a.y == b.y;
            if (valued) same = same && value_bits(A, s, k) == value_bits(A, t, k);
        }
        if (!__all_sync(ALL_LANES, same)) return false;
    }
    return true;
}

/* Who owns the slot, if nobody did now the slice; NO_LIST: there are lists enough. */
static __device__ __forceinline__ int claim(list_set *set, unsigned at, int64_t slice) {
    int owner = 0;
    if (threadIdx.x % WARP == 0) {
        owner = *(volatile int *)(set->owner + at);
        if (owner == NO_LIST && *(volatile int *)&set->lists < MOST_LISTS) {
            owner = atomicCAS(set->owner + at, NO_LIST, (int)slice);
            if (owner == NO_LIST) atomicAdd(&set->lists, 1), owner = (int)slice;
        }
    }
    return __shfl_sync(ALL_LANES, owner, 0);
}

/* One warp per slice: the slot of its list. The lists, and so all products, do not depend on who
 * comes first, unless there are too many; then only where a slice's steps are read. */
static __global__ void find_lists(csell A, list_set *set, int *slot) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= A.nslices) return; /* the whole warp */
    const csell_slice mine = csell_head(A.slice, s);
    int found = NO_LIST;
    if (has_list(mine)) {
        unsigned at = hash_of(A, mine) >> (32 - SLOT_BITS);
        for (int tries = 0; tries < MOST_TRIES; tries++, at = (at + 1) % SLOTS) {
            int owner = claim(set, at, s);
            if (owner == NO_LIST) break;
            if (owner != (int)s && !same_list(A, mine, csell_head(A.slice, owner))) continue;
            found = (int)at;
            break;
        }
    }
    if (threadIdx.x % WARP == 0) slot[s] = found;
}

/* Slices beside each other are mostly of one kind: a warp adds them at once. */
static __global__ void count_kinds(csell A, list_set *set) {
    __shared__ int codes, kind[SHORT_KINDS];
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < SHORT_KINDS; k += blockDim.x) kind[k] = 0;
    if (threadIdx.x == 0) codes = 0;
    __syncthreads();
    if (s < A.nslices) {
        const csell_slice mine = csell_head(A.slice, s);
        uint32_t what = has_list(mine) ? what_of(mine) : SHORT_KINDS;
        unsigned same = __match_any_sync(__activemask(), what | (uint32_t)mine.value_code << 30);
        if (__ffs((int)same) - 1 == (int)threadIdx.x % WARP) {
            atomicOr(&codes, 1 << mine.value_code);
            if (what < SHORT_KINDS) atomicAdd(kind + what, __popc(same));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicOr(&set->codes, codes);
    for (int k = threadIdx.x; k < SHORT_KINDS; k += blockDim.x)
        if (kind[k]) atomicAdd(set->kind + k, kind[k]);
}

static __global__ void measure_lists(csell A, list_set *set) {
    int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k > SLOTS) return;
    int owner = k < SLOTS ? set->owner[k] : NO_LIST;
    int steps = owner == NO_LIST ? 0 : A.slice[owner].nsteps;
    set->first[k] = (steps + LIST_ALIGN - 1) / LIST_ALIGN * LIST_ALIGN;
}

/* A warp a slot. */
static __global__ void gather_lists(csell A, const list_set *set, lists L) {
    const int lane = threadIdx.x % WARP;
    int at = (int)(((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP), before = 0;
    if (at >= SLOTS || set->owner[at] == NO_LIST || set->first[at + 1] > MOST_STEPS) return;
    const csell_slice s = csell_head(A.slice, set->owner[at]);
    const int64_t first = set->first[at];
    const int end = (int)(set->first[at + 1] - first);
    for (int k = lane; k - lane < end; k += WARP) {
        int2 step = {0, 0};
        int total;
        if (k < s.nsteps) step = step_at(A, s, k);
        int place = before + sum_before(__popc((unsigned)step.y), &total);
        before += total;
        if (k >= end) continue;
        L.step[first + k] = {step.x, step.y, place, 0};
        L.base[first + k] = step.x;
        if (s.value_code == CSELL_VALUE_STEP && k < s.nsteps)
            L.step_value[first + k] = ((const real *)(A.values + s.value))[k];
    }
}

static __global__ void name_lists(csell A, const list_set *set, const int *slot, lists L) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= A.nslices) return;
    const csell_slice mine = csell_head(A.slice, s);
    const bool is_coded = mine.value_code == VALUE_CODEBOOK;
    int at = slot[s];
    if (at != NO_LIST && set->first[at + 1] > MOST_STEPS) at = NO_LIST;
    if (is_coded && !L.code) at = NO_LIST;
    L.slice[s] = {is_coded ? L.code + mine.step * WARP : A.values + mine.value,
                  at == NO_LIST ? NO_LIST : (int32_t)set->first[at],
                  at == NO_LIST ? 0 : what_of(mine)};
}

/* One warp per slice. */
static __global__ void pad_codes(csell A, lists L) {
    const int lane = threadIdx.x % WARP;
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= A.nslices) return; /* the whole warp */
    const csell_slice mine = csell_head(A.slice, s);
    const int list = L.slice[s].list;
    uint8_t *out = L.code + mine.step * WARP;
    const uint8_t *from = A.values + mine.value;
    if (list == NO_LIST || mine.value_code != VALUE_CODEBOOK) return;
    for (int k = 0; k < mine.nsteps; k += 4) {
        uint32_t word = 0;
#pragma unroll
        for (int u = 0; u < 4; u++) {
            int4 step = L.step[list + k + u];
            unsigned mask = (unsigned)step.y;
            if (mask >> lane & 1)
                word |= (uint32_t)from[step.z + __popc(mask & ((1u << lane) - 1))] << 8 * u;
        }
        if (k + 4 <= mine.nsteps)
            ((uint32_t *)out)[k / 4 * WARP + lane] = word;
        else
            for (int u = 0; u < mine.nsteps - k; u++)
                out[(k + u) * WARP + lane] = (uint8_t)(word >> 8 * u);
    }
}

#endif
