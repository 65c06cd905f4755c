/* packed_table.cuh: the table of a packed store: all values, if few; for build_packed.cu. */
#ifndef SPMV_CUDA_PACKED_TABLE_CUH
#define SPMV_CUDA_PACKED_TABLE_CUH

#include "packed_rows.cuh"

enum { SET_SIZE = 1024 }; /* slots of a set; more than half full it is too many values */

typedef struct value_set {
    unsigned long long bits[SET_SIZE]; /* EMPTY: no value */
    int has_empty;                     /* the value whose pattern EMPTY is */
    int count;
} value_set;
static const unsigned long long EMPTY = ~0ull;

/* Returns whether the value is new. */
static __device__ bool insert(unsigned long long *set, int *has_empty, unsigned long long bits) {
    if (bits == EMPTY) return *has_empty == 0 && atomicExch(has_empty, 1) == 0;
    unsigned at = (unsigned)((bits ^ bits >> 32) * 0x9e3779b97f4a7c15u >> 54);
    for (int tries = 0; tries < SET_SIZE; tries++, at = (at + 1) % SET_SIZE) {
        unsigned long long there = *(volatile unsigned long long *)(set + at);
        if (there == EMPTY) there = atomicCAS(set + at, EMPTY, bits);
        if (there == EMPTY) return true;
        if (there == bits) return false;
    }
    return true; /* full: counted as one too many */
}

static __global__ void empty_set(value_set *set) {
    for (int k = threadIdx.x; k < SET_SIZE; k += blockDim.x) set->bits[k] = EMPTY;
    if (threadIdx.x == 0) set->has_empty = set->count = 0;
}

static __device__ __forceinline__ bool is_full(const int *count) {
    return *(volatile const int *)count > PACKED_TABLE_SIZE;
}

/* Rule 5. Where values are arbitrary the first entries tell, and all blocks stop: also those that
 * are in the middle of slices of very long rows. */
static __global__ void collect_values(rows A, int64_t nslices, value_set *all) {
    enum { TOGETHER = 16 * WARP };
    __shared__ unsigned long long set[SET_SIZE];
    __shared__ int has_empty, count;
    for (int k = threadIdx.x; k < SET_SIZE; k += blockDim.x) set[k] = EMPTY;
    if (threadIdx.x == 0) has_empty = count = 0;
    __syncthreads();
    int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
    unsigned long long last = 0;
    bool any = false;
    for (int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
         s < nslices && __all_sync(ALL_LANES, !is_full(&count) && !is_full(&all->count));
         s += warps) { /* all lanes stay together */
        lane_row r = row_of(A, s);
        int nnz = warp_total(r.length), stretches = stretches_of(A, r);
        for (int l = 0; l < stretches; l++) {
            stretch t = stretch_of(r, nnz, stretches, l);
            for (int top = 0; top < t.length && !is_full(&count); top += TOGETHER) {
                int end = min(top + TOGETHER, t.length);
#pragma unroll 4
                for (int k = top + (int)threadIdx.x % WARP; k < end; k += WARP) {
                    unsigned long long bits = bits_of(A.value[t.begin + k]);
                    if (any && bits == last) continue;
                    any = true, last = bits;
                    if (!is_full(&count) && insert(set, &has_empty, bits)) atomicAdd(&count, 1);
                }
            }
        }
    }
    __syncthreads();
    if (count > PACKED_TABLE_SIZE) {
        if (threadIdx.x == 0) atomicMax(&all->count, PACKED_TABLE_SIZE + 1);
        return;
    }
    for (int k = threadIdx.x; k < SET_SIZE; k += blockDim.x)
        if (set[k] != EMPTY && !is_full(&all->count) && insert(all->bits, &all->has_empty, set[k]))
            atomicAdd(&all->count, 1);
    if (threadIdx.x == 0 && has_empty && insert(all->bits, &all->has_empty, EMPTY))
        atomicAdd(&all->count, 1);
}

/* A thread a slot: its value's place is the number of smaller ones. */
static __global__ void sort_table(value_set *set, real *table) {
    __shared__ unsigned long long bits[SET_SIZE];
    int t = threadIdx.x;
    bits[t] = set->bits[t];
    __syncthreads();
    if (t < PACKED_TABLE_SIZE) table[t] = 0;
    bool none = set->count > PACKED_TABLE_SIZE;
    __syncthreads();
    if (none) {
        if (t == 0) set->count = 0;
        return;
    }
    int place = 0;
    for (int k = 0; k < SET_SIZE; k++) place += bits[k] < bits[t];
    real value;
    unsigned long long mine = bits[t];
    if (mine != EMPTY) {
        memcpy(&value, &mine, sizeof value);
        table[place] = value;
    }
    if (t == 0 && set->has_empty) {
        mine = EMPTY;
        memcpy(&value, &mine, sizeof value);
        table[set->count - 1] = value;
    }
}

static __device__ __forceinline__ int place_of(const real *table, int count,
                                               unsigned long long bits) {
    int low = 0, high = count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        unsigned long long there = 0;
        memcpy(&there, table + middle, sizeof *table);
        if (there <= bits)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
