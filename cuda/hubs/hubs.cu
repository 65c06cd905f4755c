/* hubs: hot-column caching: x of the columns with the most nonzeros (the hubs of a graph) is kept
 * in shared memory; warps multiply equal shares of the nonzeros.
 *
 * Source   this project; that few columns of a graph receive most of the gathers is in Zhang et
 *          al., "Making caches work for graph analytics", 2017. Several lanes per row as in
 *          csr_lanes; segments of long rows as in CSR-Adaptive (Greathouse and Daga, SC'14).
 * Reads    hubs: the slices, order, words and values: a nonzero in a hot column takes 2 bytes,
 *          another 4, a value as many as its encoding; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by the first lane of its row, or the warp that finishes the
 *          row's last segment.
 * Work     a first kernel collects x of the hot columns. In the second, one block of threads per
 *          multiprocessor copies these to shared memory, and its warps take slices of rows
 *          dynamically: first the nonzeros whose x is in global memory, then those in hot columns.
 * Cost     2 nnz flop; per nonzero its encoded value and 2 (hot column) or 4 bytes, with some 10 %
 *          padding, 16 per slice, (cols + rows) sizeof real + 4 rows bytes; a sector of x from the
 *          cache for every nonzero outside of hot columns.
 * Weak     if all columns have about equally many nonzeros, few are in hot ones; small matrices do
 *          not repay the filling of shared memory; sorting separates neighbouring rows that share
 *          columns. An H200 gathers 145 e9 elements per second from an x of 8 MB in its L2 cache,
 *          125 e9 from 32 MB, but half as many with less than 60 kB of L1 cache, which is therefore
 *          left free.
 * Repeats  bitwise: yes.
 * Params   block: threads per block (1024); of the format: hubs: most hot columns (auto: as many as
 *          leave 60 kB of the L1 cache); codes: encode values in fewer bytes (1).
 */
#include "hubs.cuh"
#include "cuda/ahead.cuh"

enum { MOST_THREADS = 1024, PAIRS_AT_ONCE = 4 };

typedef struct parts { /* arrays of a store and of a plan; the plan's scratch has only its own */
    int64_t nslices;
    idx nhubs;
    int blocks, code;
    cache_policy policy;
    const hubs_segment *segment;
    const hubs_slice *slice;
    const idx *order;
    const uint32_t *word;
    const uint8_t *value;
    const real *codebook;
    real *sum; /* [nsegments] */
    int *done; /* [ncuts] finished segments of each row; 0 between products */
    const idx *hot;
    real *hot_x; /* [nhubs + 1] 0, then x of the hot columns; padded to 16 bytes */
} parts;

typedef struct factors {
    const real *x;
    result out;
} factors;

/* ---- the product ----------------------------------------------------------------------------- */

/* Collects x of the hot columns; the padding of the last 16 bytes is 0. */
static __global__ void collect_hubs(const __grid_constant__ parts H, const real *x) {
    idx h = (idx)(blockIdx.x * blockDim.x + threadIdx.x);
    let_next_start();
    begin_product();
    if (h < (idx)(hubs_bytes(H.nhubs) / sizeof(real)))
        H.hot_x[h] = h > 0 && h <= H.nhubs ? x[H.hot[h - 1]] : 0;
}

/* Column 0 marks padding, for which x[-1] is not read. */
template <int CODE>
static __device__ __forceinline__ real add_rest(const uint32_t *word, const uint8_t *values,
                                                int steps, const real *x, const real *codebook,
                                                cache_policy policy, real sum) {
    typedef typename stored<CODE>::one one;
    const one *value = (const one *)values;
#pragma unroll 1
    for (int k = 0; k < steps; k += HUBS_REST, word += HUBS_REST * WARP) {
        uint32_t j[HUBS_REST];
        one a[HUBS_REST];
        real xj[HUBS_REST];
#pragma unroll
        for (int u = 0; u < HUBS_REST; u++) {
            j[u] = 0, a[u] = 0;
            if (k + u >= steps) continue;
            j[u] = load_once(word + u * WARP, policy);
            if (CODE != VALUE_ONE) a[u] = load_once(value + (k + u) * WARP, policy);
        }
        /* prevents the compiler from waiting for the first load before it issues the last */
        __syncwarp();
#pragma unroll
        for (int u = 0; u < HUBS_REST; u++) {
            xj[u] = 0;
            if (j[u]) xj[u] = x[(int64_t)j[u] - 1];
        }
        __syncwarp();
#pragma unroll
        for (int u = 0; u < HUBS_REST; u++) sum += decoded<CODE>(a[u], codebook) * xj[u];
    }
    return sum;
}

template <int CODE>
static __device__ __forceinline__ real add_pairs(const uint32_t *word, const uint8_t *values,
                                                 int pairs, const real *near, const real *codebook,
                                                 cache_policy policy, real sum) {
    typedef typename stored<CODE>::two two;
    const two *value = (const two *)values;
#pragma unroll 1
    for (int k = 0; k < pairs; k += PAIRS_AT_ONCE) {
        uint32_t j[PAIRS_AT_ONCE];
        two a[PAIRS_AT_ONCE];
#pragma unroll
        for (int u = 0; u < PAIRS_AT_ONCE; u++) {
            j[u] = 0, a[u].x = 0, a[u].y = 0;
            if (k + u >= pairs) continue;
            j[u] = load_once(word + (k + u) * WARP, policy);
            if (CODE != VALUE_ONE) a[u] = load_once(value + (k + u) * WARP, policy);
        }
        __syncwarp();
#pragma unroll
        for (int u = 0; u < PAIRS_AT_ONCE; u++) {
            if (k + u >= pairs) continue;
            sum += decoded<CODE>(a[u].x, codebook) * near[j[u] & 0xffff];
            sum += decoded<CODE>(a[u].y, codebook) * near[j[u] >> 16];
        }
    }
    return sum;
}

/* Increments the counter with release semantics: who sees the count sees earlier writes. */
static __device__ __forceinline__ int count_done(int *done) {
    int before;
    asm volatile("atom.release.gpu.global.add.s32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(done)
                 : "memory");
    return before;
}

/* Stores a segment's sum, which is in lane 0. Returns true in the warp that finishes the row's last
 * segment, with the sum of the row. */
static __device__ __forceinline__ bool join_segments(const parts &H, const hubs_segment &t,
                                                     uint32_t at, real *sum) {
    int lane = threadIdx.x % WARP, before = 0;
    if (lane == 0) {
        H.sum[at] = *sum;
        before = count_done(H.done + t.cut);
    }
    if (__shfl_sync(ALL_LANES, before, 0) < t.segments - 1) return false;
    __threadfence();
    real joined = 0;
#pragma unroll 8
    for (int q = lane; q < t.segments; q += WARP) joined += __ldcg(H.sum + t.first + q);
    *sum = warp_sum(joined);
    if (lane == 0) H.done[t.cut] = 0;
    return true;
}

static __device__ __forceinline__ hubs_slice slice_at(const parts &H, unsigned s) {
    union {
        int4 loaded;
        hubs_slice t;
    } u;
    u.loaded = {0, 0, 0, 0};
    if (s < H.nslices) u.loaded = __ldg((const int4 *)H.slice + s);
    return u.t;
}

/* Returns the row whose sum this lane will have; -1: none. */
static __device__ __forceinline__ idx row_of_lane(const parts &H, const hubs_slice &t) {
    unsigned lane = threadIdx.x % WARP, lanes = t.lanes ? t.lanes : WARP;
    if (lane % lanes || lane / lanes >= t.rows) return -1;
    return t.lanes ? __ldg(H.order + t.row + lane / lanes) : __ldg(&H.segment[t.row].row);
}

/* The functions below copy x of the hot columns to shared memory; from sm_90 on one thread starts a
 * bulk copy, and threads wait only when they need it. */
static __device__ __forceinline__ void copy_by_threads(const parts &H, real *near) {
    enum { TOGETHER = 5 };
    const int units = (int)(hubs_bytes(H.nhubs) / sizeof(int4)), threads = (int)blockDim.x;
    const int4 *from = (const int4 *)H.hot_x;
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < units; k += TOGETHER * threads) {
        int4 v[TOGETHER];
#pragma unroll
        for (int u = 0; u < TOGETHER; u++)
            if (k + u * threads < units) v[u] = __ldcg(from + k + u * threads);
#pragma unroll
        for (int u = 0; u < TOGETHER; u++)
            if (k + u * threads < units) ((int4 *)near)[k + u * threads] = v[u];
    }
}

static __device__ __forceinline__ void copy_in_bulk(const parts &H, real *near, unsigned arrived) {
    const unsigned bytes = (unsigned)hubs_bytes(H.nhubs);
    const unsigned to = (unsigned)__cvta_generic_to_shared(near);
    NV_IF_TARGET(NV_PROVIDES_SM_90,
                 (asm volatile("fence.proxy.async.global;\n\t"
                               "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n\t"
                               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                               " [%2], [%3], %1, [%0];" ::"r"(arrived),
                               "r"(bytes), "r"(to), "l"(H.hot_x)
                               : "memory");))
}

static __device__ __forceinline__ bool copies_in_bulk() {
    NV_IF_ELSE_TARGET(NV_PROVIDES_SM_90, (return true;), (return false;))
}

/* Every thread calls expect_hubs, fetch_hubs and wait_for_hubs, in this order. arrived: address
 * of a barrier in shared memory. */
static __device__ __forceinline__ void expect_hubs(unsigned arrived) {
    if (threadIdx.x == 0)
        NV_IF_TARGET(NV_PROVIDES_SM_90,
                     (asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                                   "fence.mbarrier_init.release.cluster;" ::"r"(arrived)
                                   : "memory");))
    __syncthreads();
}

static __device__ __forceinline__ void fetch_hubs(const parts &H, real *near, unsigned arrived) {
    if (!copies_in_bulk())
        copy_by_threads(H, near);
    else if (threadIdx.x == 0)
        copy_in_bulk(H, near, arrived);
}

static __device__ __forceinline__ void wait_for_hubs(unsigned arrived) {
    unsigned done = !copies_in_bulk();
    if (done) __syncthreads();
    while (!done)
        NV_IF_TARGET(NV_PROVIDES_SM_90,
                     (asm volatile("{.reg .pred p;\n\t"
                                   "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\t"
                                   "selp.u32 %0, 1, 0, p;}"
                                   : "=r"(done)
                                   : "r"(arrived)
                                   : "memory");))
}

template <int CODE>
static __global__ void __launch_bounds__(MOST_THREADS, 1)
    multiply(const __grid_constant__ parts H, const __grid_constant__ factors o) {
    extern __shared__ int4 room[];
    __shared__ uint64_t barrier;
    __shared__ int taken; /* number of slices taken by this block, which are gridDim apart */
    __shared__ real codebook[CODE == VALUE_CODEBOOK ? VALUE_CODEBOOK_SIZE : 1];
    real *near = (real *)room;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    unsigned s = (unsigned)warp * gridDim.x + blockIdx.x;
    hubs_slice t = slice_at(H, s);
    const unsigned arrived = (unsigned)__cvta_generic_to_shared(&barrier);
    bool ready = false;
    if (threadIdx.x == 0) taken = (int)blockDim.x / WARP;
    for (int k = (int)threadIdx.x; k < (int)(sizeof codebook / sizeof *codebook);
         k += (int)blockDim.x)
        codebook[k] = __ldg(H.codebook + k);
    expect_hubs(arrived);
    begin_product();
    let_next_start();
    fetch_hubs(H, near, arrived);
    while (s < H.nslices) {
        int next = 0;
        if (lane == 0) next = atomicAdd(&taken, 1);
        s = (unsigned)__shfl_sync(ALL_LANES, next, 0) * gridDim.x + blockIdx.x;
        hubs_slice after = slice_at(H, s);
        idx row = row_of_lane(H, t);
        const uint32_t *word = H.word + (size_t)t.word * WARP + lane;
        const size_t bytes = CODE == VALUE_ONE ? 0 : sizeof(typename stored<CODE>::one);
        const uint8_t *value = H.value + (size_t)t.value * WARP * bytes;
        real sum = add_rest<CODE>(word, value + lane * bytes, t.rest, o.x, codebook, H.policy, 0);
        if (!ready) wait_for_hubs(arrived);
        ready = true;
        value += ((size_t)t.rest * WARP + 2 * (size_t)lane) * bytes;
        sum = add_pairs<CODE>(word + t.rest * WARP, value, t.pairs, near, codebook, H.policy, sum);
        for (int step = (t.lanes ? t.lanes : WARP) / 2; step > 0; step /= 2)
            sum += __shfl_down_sync(ALL_LANES, sum, step);
        if (t.lanes == 0 && !join_segments(H, H.segment[t.row], t.row, &sum)) row = -1;
        if (row >= 0) put_row(o.out, row, sum);
        t = after;
    }
    if (!ready) wait_for_hubs(arrived);
}

static const void *kernel_for(int code) {
    return code == VALUE_CODEBOOK ? (const void *)multiply<VALUE_CODEBOOK>
           : code == VALUE_ONE    ? (const void *)multiply<VALUE_ONE>
           : code == VALUE_F32    ? (const void *)multiply<FLOATS>
                                  : (const void *)multiply<VALUE_RAW>;
}

static parts parts_of(const spmv_plan *p) {
    const hubs *A = (const hubs *)p->store;
    parts H = *(const parts *)p->scratch;
    H.nslices = A->nslices, H.nhubs = (idx)A->nhubs, H.code = A->value_code;
    H.segment = A->segment, H.slice = A->slice, H.order = A->order, H.hot = A->hot;
    H.word = A->word, H.value = A->value, H.codebook = A->codebook;
    H.policy = policy_for(p);
    return H;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const parts H = parts_of(p);
    factors o = {(const real *)v->x, result_of(v)};
    void *collected[] = {(void *)&H, (void *)&v->x}, *multiplied[] = {(void *)&H, (void *)&o};
    const unsigned threads = (unsigned)p->choice.value[SPMV_block];
    const int64_t copied = (int64_t)(hubs_bytes(H.nhubs) / sizeof(real));
    if (p->store->rows == 0) return SPMV_OK;
    TRY(launch_overlapping(p, stream_of(v), (const void *)collect_hubs,
                           (unsigned)blocks_for(copied, 256), dim3(256), 0, collected));
    return launch_overlapping(p, stream_of(v), kernel_for(H.code), (unsigned)H.blocks,
                              dim3(threads), hubs_bytes(H.nhubs), multiplied);
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Requests all shared memory that a block can have, because another plan may need more than this
 * one. */
static spmv_status take_room(spmv_plan *p, const hubs *A) {
    int64_t most = 0;
    TRY(hubs_fitting(p->device, &most));
    if (A->nhubs > most)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "x of %lld hot columns does not fit this GPU's shared memory: hubs=%lld",
                         (long long)A->nhubs, (long long)most);
    CU(p->device->ctx,
       cudaFuncSetAttribute(kernel_for(A->value_code), cudaFuncAttributeMaxDynamicSharedMemorySize,
                            (int)hubs_bytes(most)));
    return SPMV_OK;
}

static spmv_status prepare(spmv_plan *p) {
    const hubs *A = (const hubs *)p->store;
    parts *H = (parts *)calloc(1, sizeof *H);
    if (!H) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = H;
    p->scratch_bytes = sizeof *H;
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&H->blocks, cudaDevAttrMultiProcessorCount, p->device->number));
    TRY(load_kernel(p, (const void *)collect_hubs));
    TRY(load_kernel(p, kernel_for(A->value_code)));
    TRY(take_room(p, A));
    TRY(take_scratch(p, (size_t)A->nsegments * sizeof *H->sum, (void **)&H->sum));
    TRY(clear_scratch(p, (size_t)A->ncuts * sizeof *H->done, (void **)&H->done));
    return take_scratch(p, hubs_bytes(A->nhubs), (void **)&H->hot_x);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    const size_t segments = (size_t)A->nnz / (WARP * HUBS_REST), cuts = segments / HUBS_GROWS;
    return sizeof(parts) + segments * sizeof(real) + cuts * sizeof(int) + hubs_bytes(hubs_most(c));
}

static void release(spmv_plan *p) {
    parts *H = (parts *)p->scratch;
    p->device->backend->release(p->device, H->sum);
    p->device->backend->release(p->device, H->done);
    p->device->backend->release(p->device, H->hot_x);
    free(H);
}

static const spmv_param params[] = {{SPMV_block, MOST_THREADS, 32, MOST_THREADS, WARP, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(hubs) = {
    .name = "hubs",
    .format = "hubs",
    .summary =
        "hot-column caching: x of the columns used most in shared memory, rows in equal slices",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
