/* xcache_block: explicit caching of x: a block of threads copies the x that a block of rows needs
 * into shared memory, and multiplies the rows from there.
 *
 * Source   similar to Chen, Explicit Caching HYB (EHYB), arXiv 2204.06666: x of a partition in
 *          shared memory, 16-bit columns. EHYB partitions a graph and reads the x of other
 *          partitions from global memory; here rows keep their order, a block has successive rows,
 *          and all columns that it needs are listed.
 * Reads    xcache: its lists, order and length of the segments, places, values; x[cols]; y[rows]
 *          only if beta != 0.
 * Writes   y[rows], each entry once and scattered inside the block: by the thread of its row, or,
 *          for a row that is cut, by a team of threads that adds its segments.
 * Work     The block's threads copy the x of its list to shared memory, each number once. Then a
 *          warp takes the next 32 stored segments, one per thread, DEPTH slots at a time, longest
 *          first, so that warps end together. The sums of a row's segments are kept in shared
 *          memory and added in order. Either two blocks share a multiprocessor, so that one
 *          multiplies while the other waits for its x, or a block of 1024 threads has it alone. A
 *          thread has 64 registers; 40 if the threads of two blocks have one segment each; 32 with
 *          encoded values.
 * Cost     2 nnz flop; nnz (2 + bytes of a value) + 2 or 4 bytes per listed column + 3.125 rows +
 *          (cols + rows) sizeof real bytes; the x of a column in several lists is read for each
 *          list.
 * Weak     Rows that share few columns; very short rows; a row that needs more columns than fit
 *          shared memory; few rows.
 * Repeats  bitwise: yes, for an equal cut.
 * Params   height: mean rows of a block (auto: one or two blocks per multiprocessor at once); cut:
 *          nonzeros of a segment, at most (auto: by a thread's share of a block); codes (1); block:
 *          threads (auto: 512, 768 or 1024).
 */
#include "cuda/cache_policy.cuh"
#include "cuda/values/value_codes.cuh"
#include "formats/xcache/xcache.h"

enum { DEPTH = 8, HEAD_WORDS = sizeof(xcache_block) / sizeof(int4) };

typedef struct operands {
    const xcache_block *block;
    const uint32_t *slice, *cuts;
    const uint16_t *order;
    const uint8_t *length;
    const uint16_t *need, *place;
    const uint8_t *values;
    const real *codebook, *x;
    result out;
    cache_policy policy;
} operands;

typedef struct stored_segment {
    unsigned at;   /* its first slot, counted from the block's first */
    unsigned what; /* order | length << 16 in one register, because registers are few */
} stored_segment;

enum { NO_SEGMENT = UINT16_MAX };

static __device__ __forceinline__ stored_segment segment_at(const operands &A,
                                                            const xcache_block &b, int slice) {
    stored_segment t = {0, NO_SEGMENT};
    int i = slice * XCACHE_SLICE + (int)threadIdx.x % WARP;
    if (i >= b.segments) return t;
    t.at = __ldg(A.slice + b.segment / XCACHE_SLICE + blockIdx.x + slice) + threadIdx.x % WARP;
    t.what = load_once(A.order + b.segment + i, A.policy) |
             (unsigned)load_once(A.length + b.segment + i, A.policy) << 16;
    return t;
}

/* Copies the x of a list to shared memory, a few entries at a time. */
template <typename COLUMN>
static __device__ __forceinline__ void fetch_x(const COLUMN *need, int count, const real *x,
                                               cache_policy policy, real *near) {
    enum { TOGETHER = 4 };
    const int threads = (int)blockDim.x;
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < count; k += threads * TOGETHER) {
        unsigned j[TOGETHER];
        real v[TOGETHER];
#pragma unroll
        for (int u = 0; u < TOGETHER; u++)
            j[u] = k + u * threads < count ? load_once(need + k + u * threads, policy) : 0;
#pragma unroll
        for (int u = 0; u < TOGETHER; u++) v[u] = __ldg(x + j[u]);
#pragma unroll
        for (int u = 0; u < TOGETHER; u++)
            if (k + u * threads < count) near[k + u * threads] = v[u];
    }
}

/* Slots that are loaded together. */
template <int CODE> struct step {
    unsigned place[DEPTH];
    typename stored<CODE>::loaded value[CODE == VALUE_ONE ? 1 : DEPTH];
};

template <int CODE>
static __device__ __forceinline__ real value_of(const step<CODE> &s, int u, const real *codebook) {
    return decoded<CODE>(s.value[CODE == VALUE_ONE ? 0 : u], codebook);
}

template <int CODE>
static __device__ __forceinline__ void ask(const uint16_t *place, const uint8_t *values,
                                           unsigned at, int left, cache_policy policy,
                                           step<CODE> *s) {
    typedef typename stored<CODE>::one one;
#pragma unroll
    for (int u = 0; u < DEPTH; u++) {
        unsigned k = at + (unsigned)min(u, left - 1) * XCACHE_SLICE;
        s->place[u] = load_once(place + k, policy);
        if (CODE != VALUE_ONE)
            s->value[CODE == VALUE_ONE ? 0 : u] = load_once((const one *)values + k, policy);
    }
}

/* Adds the sums of a cut row's segments in order, with a team of threads per row. */
static __device__ __forceinline__ void add_segments(const operands &A, const xcache_block &b,
                                                    const real *sums) {
    enum { TEAM = 8 };
    const uint32_t *cuts = A.cuts + b.cut;
    const int member = (int)threadIdx.x % TEAM, teams = (int)blockDim.x / TEAM;
    /* all lanes of a warp must reach the shuffles */
    const int most = (b.cuts + teams - 1) / teams * teams;
    for (int c = (int)threadIdx.x / TEAM; c < most; c += teams) {
        const unsigned mine = c < b.cuts ? __ldg(cuts + c) : 0;
        const int end = c < b.cuts ? (int)(__ldg(cuts + c + 1) >> 16) : 0;
        real sum = 0;
#pragma unroll 4
        for (int q = (int)(mine >> 16) + member; q < end; q += TEAM) sum += sums[q];
        for (int step = TEAM / 2; step > 0; step /= 2)
            sum += __shfl_down_sync(ALL_LANES, sum, step, TEAM);
        if (member == 0 && c < b.cuts) put_row(A.out, b.row + (mine & 0xffff), sum);
    }
}

template <int CODE, int THREADS, int RESIDENT>
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    multiply(const __grid_constant__ operands A) {
    extern __shared__ __align__(16) unsigned char room[];
    __shared__ int taken; /* number of slices that warps have taken */
    real *codebook = (real *)room;
    real *near = codebook + (CODE == VALUE_CODEBOOK ? VALUE_CODEBOOK_SIZE : 0);
    union {
        int4 words[HEAD_WORDS];
        xcache_block b;
    } head;
#pragma unroll
    for (int k = 0; k < HEAD_WORDS; k++)
        head.words[k] = __ldg((const int4 *)(A.block + blockIdx.x) + k);
    const xcache_block b = head.b;
    const uint16_t *place = A.place + b.slot, *need = A.need + b.need;
    const uint8_t *values = A.values + b.slot * stored_bytes(CODE);
    real *sums = near + b.count;
    int slice = (int)threadIdx.x / WARP;
    stored_segment segment = segment_at(A, b, slice);
    if (threadIdx.x == 0) taken = (int)blockDim.x / WARP;
    if (CODE == VALUE_CODEBOOK)
        for (int k = (int)threadIdx.x; k < VALUE_CODEBOOK_SIZE; k += (int)blockDim.x)
            codebook[k] = A.codebook[k];
    const real one = CODE == VALUE_ONE ? __ldg(A.codebook) : 0;
    if (b.wide)
        fetch_x((const uint32_t *)need, b.count, A.x + b.base, A.policy, near);
    else
        fetch_x(need, b.count, A.x + b.base, A.policy, near);
    __syncthreads();
#pragma unroll 1
    while (slice * XCACHE_SLICE < b.segments) {
        const stored_segment t = segment;
        const int length = (int)(t.what >> 16), order = (int)(t.what & UINT16_MAX);
        if (threadIdx.x % WARP == 0) slice = atomicAdd(&taken, 1);
        slice = __shfl_sync(ALL_LANES, slice, 0);
        segment = segment_at(A, b, slice);
        real sum = 0;
#pragma unroll 1
        for (int k = 0; k < length; k += DEPTH) {
            step<CODE> s;
            ask<CODE>(place, values, t.at + (unsigned)k * XCACHE_SLICE, length - k, A.policy, &s);
            /* with 32 registers the compiler would otherwise wait for the first load before it
             * issues the last; H200, onehot_bins in f32: 26 us instead of 21 */
            if (CODE == VALUE_ONE) __syncwarp(__activemask());
#pragma unroll
            for (int u = 0; u < DEPTH; u++)
                if (k + u < length)
                    sum += (CODE == VALUE_ONE ? one : value_of<CODE>(s, u, codebook)) *
                           near[s.place[u]];
        }
        if (order < b.rows)
            put_row(A.out, b.row + order, sum);
        else if (order != NO_SEGMENT)
            sums[order - b.rows] = sum;
    }
    if (b.cuts == 0) return;
    __syncthreads();
    add_segments(A, b, sums);
}

/* ---- launch ---------------------------------------------------------------------------------- */

enum { FEW = 512, SOME = 768, MANY = 1024 }; /* threads of a block, at most */

/* Returns the kernel with 64 registers per thread, or 40 between FEW and SOME threads. */
template <int CODE> static const void *of_values(int64_t threads) {
    if (threads > FEW && threads <= SOME) return (const void *)multiply<CODE, SOME, 2>;
    return (const void *)multiply<CODE, MANY, 1>;
}

static const void *kernel_for(const xcache_rows *A, int64_t threads) {
    switch (A->value_code) {
    case VALUE_RAW: return of_values<VALUE_RAW>(threads);
    case VALUE_F32: return of_values<FLOATS>(threads);
    case VALUE_CODEBOOK: return (const void *)multiply<VALUE_CODEBOOK, MANY, 2>;
    default: return (const void *)multiply<VALUE_ONE, MANY, 2>;
    }
}

static size_t shared_bytes(const xcache_rows *A) {
    int64_t codebook = A->value_code == VALUE_CODEBOOK ? VALUE_CODEBOOK_SIZE : 0;
    return (size_t)(A->most + codebook) * sizeof(real);
}

/* A block alone on a multiprocessor has the most threads. If two blocks share it, a thread has 64
 * registers, or 40 if threads then have about one segment each; encoded values need only 32. */
static spmv_status choose_threads(spmv_plan *p, const xcache_rows *A, int room) {
    bool is_coded = A->value_code == VALUE_CODEBOOK || A->value_code == VALUE_ONE;
    int sms = 0;
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, p->device->number));
    bool is_alone = A->nblocks <= sms || shared_bytes(A) > (size_t)room / 2;
    p->choice.value[SPMV_block] = is_coded || is_alone               ? MANY
                                  : A->segments <= A->nblocks * SOME ? SOME
                                                                     : FEW;
    return SPMV_OK;
}

/* Padding does not count, because it is not read. */
static size_t traffic_of(const xcache_rows *A) {
    size_t entry = sizeof *A->place + (size_t)A->value_bytes;
    size_t segment = sizeof *A->order + sizeof *A->length,
           slices = (size_t)A->segments / XCACHE_SLICE;
    return (size_t)A->s.nnz * entry + (size_t)A->segments * segment + slices * sizeof *A->slice +
           (size_t)A->nblocks * sizeof *A->block + (size_t)A->units * sizeof *A->need;
}

static spmv_status prepare(spmv_plan *p) {
    const xcache_rows *A = (const xcache_rows *)p->store;
    int room = 0;
    const size_t bytes = shared_bytes(A);
    TRY(shared_room(p->device, &room));
    if (bytes > (size_t)room)
        return spmv_fail(
            p->device->ctx, SPMV_E_UNSUITABLE,
            "xcache_block: %lld rows keep %lld numbers, %zu bytes; this GPU shares %d: "
            "a lower height",
            (long long)A->height, (long long)A->most, bytes, room);
    p->choice.value[SPMV_height] = A->height;
    p->choice.value[SPMV_cut] = A->cut;
    if (p->choice.value[SPMV_block] == 0) TRY(choose_threads(p, A, room));
    CU(p->device->ctx, cudaFuncSetAttribute(kernel_for(A, p->choice.value[SPMV_block]),
                                            cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    p->traffic_bytes = traffic_of(A);
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const xcache_rows *A = (const xcache_rows *)p->store;
    const int64_t threads = p->choice.value[SPMV_block];
    operands all = {A->block,     A->slice,     A->cuts,   A->order,    A->length,
                    A->need,      A->place,     A->values, A->codebook, (const real *)v->x,
                    result_of(v), policy_for(p)};
    void *arguments[] = {&all};
    if (A->nblocks == 0) return SPMV_OK;
    CU(p->device->ctx,
       cudaLaunchKernel(kernel_for(A, threads), dim3((unsigned)A->nblocks), dim3((unsigned)threads),
                        arguments, shared_bytes(A), stream_of(v)));
    return SPMV_OK;
}

static const spmv_param params[] = {{SPMV_block, 0, 0, 1024, WARP, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(xcache_block) = {
    .name = "xcache_block",
    .format = "xcache",
    .summary = "a block of rows, its x in shared memory, 16-bit columns",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .prepare = prepare,
    .run = run,
};
