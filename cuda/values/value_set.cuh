/* value_set.cuh: encodes values on the GPU, as src/formats/value_set.h does on the host: collects
 * the distinct values of a matrix, makes a codebook if they are few enough, and writes encoded
 * values. For the builders of formats. */
#pragma once

#include "cuda/csell/csell_rows.cuh"
#include <cfloat>

enum { SET_SIZE = 1024 }; /* slots of a set; at most half of them are used */

typedef struct value_set {
    unsigned long long bits[SET_SIZE]; /* EMPTY: a free slot */
    int has_empty;                     /* the value whose bits are EMPTY is in the set */
    int count;
    int has_long; /* some row is longer than the cut; its values do not count */
} value_set;
static const unsigned long long EMPTY = ~0ull;

/* Inserts the bits of a value. Returns whether they are new. */
static __device__ bool insert(unsigned long long *set, int *has_empty, unsigned long long bits) {
    if (bits == EMPTY) return *has_empty == 0 && atomicExch(has_empty, 1) == 0;
    unsigned at = (unsigned)((bits ^ bits >> 32) * 0x9e3779b97f4a7c15u >> 54);
    for (int tries = 0; tries < SET_SIZE; tries++, at = (at + 1) % SET_SIZE) {
        unsigned long long there = *(volatile unsigned long long *)(set + at);
        if (there == EMPTY) there = atomicCAS(set + at, EMPTY, bits);
        if (there == EMPTY) return true;
        if (there == bits) return false;
    }
    return true; /* the set is full: counts as a new value */
}

static __global__ void empty_set(value_set *set) {
    for (int k = threadIdx.x; k < SET_SIZE; k += blockDim.x) set->bits[k] = EMPTY;
    if (threadIdx.x == 0) set->has_empty = set->count = set->has_long = 0;
}

static __device__ __forceinline__ bool is_full(const int *count) {
    return *(volatile const int *)count > VALUE_CODEBOOK_SIZE;
}

static __global__ void find_long(rows A, value_set *all) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < A.rows; i += stride)
        if (A.row_ptr[i + 1] - A.row_ptr[i] > A.cut) all->has_long = 1;
}

typedef struct block_set { /* the set of one block, in shared memory */
    unsigned long long bits[SET_SIZE];
    int has_empty, count;
} block_set;

/* Collects this warp's share of n successive values. A lane skips a value that it saw last. */
static __device__ void collect_segment(const real *value, int64_t n, int64_t first, int64_t stride,
                                       const value_set *all, block_set *mine) {
    enum { TOGETHER = 4 };
    const int lane = threadIdx.x % WARP;
    unsigned long long last = 0;
    bool any = false;
    for (int64_t k = first * TOGETHER * WARP;
         k < n && __all_sync(ALL_LANES, !is_full(&mine->count) && !is_full(&all->count));
         k += stride * TOGETHER * WARP) { /* all lanes leave together */
        real seen[TOGETHER];
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) {
            int64_t at = k + u * WARP + lane;
            seen[u] = value[at < n ? at : n - 1];
        }
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) {
            unsigned long long bits = bits_of(seen[u]);
            if (any && bits == last) continue;
            any = true, last = bits;
            if (!is_full(&mine->count) && insert(mine->bits, &mine->has_empty, bits))
                atomicAdd(&mine->count, 1);
        }
    }
}

/* Collects the distinct values of all blocks (rule 5). If values are arbitrary, the first ones
 * already exceed a codebook, and all blocks stop. */
static __global__ void collect_values(rows A, int64_t nslices, value_set *all) {
    __shared__ block_set mine;
    for (int k = threadIdx.x; k < SET_SIZE; k += blockDim.x) mine.bits[k] = EMPTY;
    if (threadIdx.x == 0) mine.has_empty = mine.count = 0;
    __syncthreads();
    int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
    int64_t warp = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (!all->has_long) {
        collect_segment(A.value, A.nnz, warp, warps, all, &mine);
    } else {
        for (int64_t s = warp;
             s < nslices && __all_sync(ALL_LANES, !is_full(&mine.count) && !is_full(&all->count));
             s += warps) {
            lane_row r = row_of(A, s);
            int nnz = warp_total(r.length), segments = segments_of(A, r);
            for (int l = 0; l < segments; l++) {
                segment t = segment_of(r, nnz, segments, l);
                collect_segment(A.value + t.begin, t.length, 0, 1, all, &mine);
            }
        }
    }
    __syncthreads();
    if (mine.count > VALUE_CODEBOOK_SIZE) {
        if (threadIdx.x == 0) atomicMax(&all->count, VALUE_CODEBOOK_SIZE + 1);
        return;
    }
    for (int k = threadIdx.x; k < SET_SIZE; k += blockDim.x)
        if (mine.bits[k] != EMPTY && !is_full(&all->count) &&
            insert(all->bits, &all->has_empty, mine.bits[k]))
            atomicAdd(&all->count, 1);
    if (threadIdx.x == 0 && mine.has_empty && insert(all->bits, &all->has_empty, EMPTY))
        atomicAdd(&all->count, 1);
}

/* One thread per slot. Values are sorted by their bits. */
static __global__ void sort_codebook(value_set *set, real *codebook) {
    __shared__ unsigned long long bits[SET_SIZE];
    int t = threadIdx.x;
    bits[t] = set->bits[t];
    __syncthreads();
    if (t < VALUE_CODEBOOK_SIZE) codebook[t] = 0;
    bool none = set->count > VALUE_CODEBOOK_SIZE;
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
        codebook[place] = value;
    }
    if (t == 0 && set->has_empty) {
        mine = EMPTY;
        memcpy(&value, &mine, sizeof value);
        codebook[set->count - 1] = value;
    }
}

/* Collects the set and makes the codebook, if the values fit one. */
static inline spmv_status collect_codebook(spmv_device *d, const rows &A, value_set *set,
                                           real *codebook) {
    enum { THREADS = 256, BLOCKS = 4 }; /* blocks per multiprocessor */
    cudaStream_t stream = ((const cuda_state *)d->state)->stream;
    int sms = 0;
    CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
    unsigned blocks = (unsigned)(BLOCKS * sms);
    find_long<<<blocks, THREADS, 0, stream>>>(A, set);
    collect_values<<<blocks, THREADS, 0, stream>>>(A, blocks_for(A.rows, CSELL_ROWS), set);
    sort_codebook<<<1, SET_SIZE, 0, stream>>>(set, codebook);
    return launched(d);
}

/* ---- one encoding for all values of a matrix ------------------------------------------------- */

/* Returns whether VALUE_F32 represents the value, as spmv_is_float does. */
static __device__ __forceinline__ bool is_float(double value) {
    const bool is_small = fabs(value) < FLT_MIN && value != 0;
    return __double_as_longlong((double)(float)value) == __double_as_longlong(value) && !is_small;
}

typedef struct value_facts {
    int misfits, values; /* some value is no float; number of distinct values, 0: too many */
} value_facts;

/* A block stops when it or another block has found a misfit. Only one thread of the block writes
 * found->misfits: thousands of writes would be serialized. */
static __global__ void find_misfits(rows A, value_facts *found) {
    enum { TOGETHER = 4 };
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    /* first entry of this step, uniform in the block */
    const int64_t begin = (int64_t)blockIdx.x * blockDim.x;
    for (int64_t k = begin; k < A.nnz; k += TOGETHER * stride) {
        bool fits = true;
#pragma unroll
        for (int u = 0; u < TOGETHER; u++)
            fits = fits && is_float(A.value[min(k + threadIdx.x + u * stride, A.nnz - 1)]);
        const bool known = threadIdx.x == 0 && *(volatile int *)&found->misfits;
        if (__syncthreads_count(!fits || known) == 0) continue;
        if (threadIdx.x == 0 && !known) found->misfits = 1;
        return;
    }
}

static __global__ void tell_values(const value_set *set, value_facts *found) {
    found->values = set->count;
}

/* Finds the distinct values and whether all are floats. *found must be 0 before. */
static inline spmv_status find_values(spmv_device *d, const rows &A, value_set *set,
                                      value_facts *found, real *codebook) {
    enum { THREADS = 256 };
    cudaStream_t stream = ((const cuda_state *)d->state)->stream;
    int sms = 0;
    CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
    empty_set<<<1, THREADS, 0, stream>>>(set);
    TRY(collect_codebook(d, A, set, codebook));
    tell_values<<<1, 1, 0, stream>>>(set, found);
    if (sizeof(real) > sizeof(float))
        find_misfits<<<(unsigned)(8 * sms), THREADS, 0, stream>>>(A, found);
    return launched(d);
}

static inline int code_for(const value_facts *found) {
    return found->values > 1                                 ? VALUE_CODEBOOK
           : found->values == 1                              ? VALUE_ONE
           : sizeof(real) > sizeof(float) && !found->misfits ? VALUE_F32
                                                             : VALUE_RAW;
}

/* ---- writing values -------------------------------------------------------------------------- */

static __device__ __forceinline__ int place_of(const real *codebook, int count,
                                               unsigned long long bits) {
    int low = 0, high = count;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        unsigned long long there = 0;
        memcpy(&there, codebook + middle, sizeof *codebook);
        if (there <= bits)
            low = middle;
        else
            high = middle;
    }
    return low;
}

typedef struct coded { /* destination and encoding of values */
    uint8_t *to;
    const real *codebook;
    int code, count;
} coded;

static __device__ __forceinline__ void put_coded(const coded &c, int64_t at, real value) {
    if (c.code == VALUE_RAW) ((real *)c.to)[at] = value;
    if (c.code == VALUE_F32) ((float *)c.to)[at] = (float)value;
    if (c.code == VALUE_CODEBOOK) c.to[at] = (uint8_t)place_of(c.codebook, c.count, bits_of(value));
}

/* Writes padding, whose bits are all 0. */
static __device__ __forceinline__ void put_padding(const coded &c, int64_t at) {
    if (c.code == VALUE_RAW) ((real *)c.to)[at] = 0;
    if (c.code == VALUE_F32) ((float *)c.to)[at] = 0;
    if (c.code == VALUE_CODEBOOK) c.to[at] = 0;
}
