/* csell_warp: compressed SELL (delta-indexed, dictionary-coded): a warp multiplies a slice of 32
 * rows of a csell matrix, one lane per row.
 *
 * Source   this project; the slice is SELL-32's (Monakov et al., HiPEAC'10; Kreutzer et al., 2014),
 *          its encodings are those of CSR-DU and CSR-VI (Kourtis et al., CF'08) and of BRO-ELL
 *          (Tang et al., TPDS'15), byte-aligned.
 * Reads    csell: all of it; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once.
 * Work     A warp multiplies up to GROUP slices, with at most STAGE steps in all. Lane k loads step
 *          k into shared memory, and a prefix sum of popcounts gives the first nonzero of each
 *          step. Each pair of encodings has its own loop: a lane loads the values and the entries
 *          of x of AHEAD steps before it uses the first; remaining steps have a loop of their
 *          number. Steps with all lanes need no popcounts. If more than a quarter of the slices
 *          have runs of adjacent columns, another instance of the kernel has loops for runs
 *          (csell_runs.cuh). The heads and steps of later warps are prefetched into L2. With
 *          `warps` above 1 a slice's steps are divided among that many warps, whose sums are added
 *          in order. Long rows are divided into equal segments, one per warp; the last warp to
 *          finish a row adds its parts in order. One launch.
 * Cost     2 nnz flop; the bytes of the store + (cols + rows) sizeof real if x is read once. H200,
 *          f64, cold: arbitrary values 75 (poisson2d) to 85 (banded) percent of 4.65 TB/s; a kernel
 *          that only reads and writes as much reaches 90. Latency is the limit: 7 warps per
 *          scheduler (64 registers) wait for loads 15 to 20 cycles per instruction. With few values
 *          the L1 cache is the limit; its pipeline is 70 percent busy. Attempts without gain:
 *          docs/notebook/experiments.md.
 * Weak     slices of rows of very different lengths: the longest row determines the number of
 *          steps; x outside the cache; irregular columns: 32 cache lines per load. In f32 the
 *          kernel refuses matrices with runs of adjacent columns in more than a quarter of the
 *          slices: other kernels are faster.
 * Repeats  bitwise: yes, for equal warps; the same bits whatever the encodings.
 * Params   block: threads per block, a power of two (256); warps: warps per slice, a power of two
 *          (0: 1 if there are enough slices to fill the GPU, else more; 1 alone in f32 and for
 *          runs).
 */
#include "csell_runs.cuh"
#include <math.h>

enum {
    GROUP = 8,      /* maximum number of slices per warp */
    MOST_WARPS = 8, /* maximum number of warps per block */
    RESIDENT = 32,  /* resident warps of a multiprocessor, by registers */
    RUNS_RESIDENT = 24,
    LEAST_SEGMENT = 512,
    MOST_SEGMENT = 4096 /* entries of long rows per warp */
};

/* Which variants are compiled. On 22 application matrices, H200, other kernels were 1.3 to
 * 3.7 times as fast as divided slices in f32 or with runs, and 1.25 to 5.6 times as fast as slices
 * of runs in f32. */
static const bool CUTS = sizeof(real) > sizeof(float), HAS_RUNS = CUTS;

typedef struct csell_scratch {
    int sms, warps, group;       /* warps per slice; slices per warp */
    bool has_codebook, has_runs; /* has_runs: in more than a quarter of the slices */
    int64_t later, later_steps;  /* distances at which heads and steps are prefetched */
    ofs segment;                 /* entries of long rows per warp */
    idx nsegments;               /* number of these warps */
    uint32_t *skip;              /* [nslices] mask of the slice's rows that are long; NULL: none */
    idx *first; /* [nsegments] index in long_row of the row in which the segment begins */
    real *sums; /* [2 * nsegments] the segment's sums of its first row and of its last row */
    int *done;  /* [long_rows] number of segments that have finished their part of the row; 0
                   between products */
    cache_policy policy;
} csell_scratch;

typedef struct operand { /* operands of all lanes; codebook: address in shared memory */
    const real *x;
    unsigned codebook;
    cache_policy policy;
} operand;

/* ---- slices ---------------------------------------------------------------------------------- */

static __device__ __forceinline__ void put_sum(const csell &A, const csell_scratch &S, idx i,
                                               real sum, const result &r) {
    if (i < A.s.rows && !(S.skip && S.skip[i / CSELL_ROWS] >> (i % CSELL_ROWS) & 1))
        put_row(r, i, sum);
}

/* Work of a warp: a slice like csell_slice, with offsets relative to the staged steps. */
typedef struct __align__(16) staged_slice {
    const uint8_t *column, *value;
    int step, nsteps;
    csell_codes codes;
    bool ends; /* the slice ends here */
}
staged_slice;

typedef struct room { /* a warp's shared memory */
    csell_slice head[GROUP];
    staged_slice staged[GROUP];
    staged_step step[STAGE + AHEAD];
} room;

/* Returns the staged part of slice l in lane l < count: its steps among `done` to `until` - 1.
 * before: entries of the first slice that were staged earlier. */
static __device__ __forceinline__ staged_slice staged_slice_of(const csell &A, const csell_slice &s,
                                                               int64_t first, int done, int until,
                                                               int before,
                                                               const staged_step *staged) {
    int begin = (int)(s.step - first), from = max(begin, done), end = begin + s.nsteps;
    int place = (begin < done ? before : 0) - staged[from - done].place;
    int value = s.value_code == CSELL_VALUE_STEP ? from - begin : place;
    return {A.columns + s.column + (int64_t)place * csell_column_size(s.column_code),
            A.values + s.value + (int64_t)value * s.run * csell_value_size(s.value_code),
            from - done,
            min(end, until) - from,
            {s.column_code, s.value_code, s.run},
            end <= until};
}

/* Multiplies the slices of m->head or, with CUT, part of one slice. Stages and multiplies as many
 * slices at a time as fit, long slices in several rounds. With CUT the sum is only returned. */
template <bool CUT, bool RUNS>
static __device__ __forceinline__ real multiply_slices(const csell &A, const csell_scratch &S,
                                                       int count, room *m, idx i, operand o,
                                                       const result &r) {
    const int lane = threadIdx.x % WARP;
    const int64_t first = m->head[0].step;
    const csell_slice &mine = m->head[min(lane, count - 1)];
    const int end = (int)(mine.step - first) + mine.nsteps;
    int done = 0, next = 0, before = 0;
    real sum = 0;
#pragma unroll 1
    while (next < count) {
        int fit = __popc(__ballot_sync(ALL_LANES, lane < count && end <= done + STAGE));
        int until = fit > next ? __shfl_sync(ALL_LANES, end, fit - 1) : done + STAGE;
        int entries = stage(A.step + first + done, until - done, o.policy, m->step);
        if (lane >= next && lane < max(fit, next + 1))
            m->staged[lane] =
                staged_slice_of(A, m->head[lane], first, done, until, before, m->step);
        __syncwarp();
        before = fit > next ? 0 : before + entries;
        done = until;
#pragma unroll 1
        for (const int stop = max(fit, next + 1); next < stop; next++) {
            const staged_slice t = m->staged[next];
            idx from = t.codes.column == CSELL_DIAGONAL ? i : 0;
            const real *x = o.x + from;
            asm("" : "+l"(x)); /* computed once; otherwise the compiler adds i to every column */
            const span steps = {m->step + t.step, t.nsteps, t.codes, t.column, t.value, x, -from,
                                o.codebook,       o.policy};
            if (RUNS && t.codes.run > 1)
                sum = add_span_of_runs(steps, sum);
            else
                sum = add_span(steps, sum);
            if (!t.ends) break;
            if (!CUT) put_sum(A, S, i, sum, r), sum = 0, i += CSELL_ROWS;
        }
        __syncwarp(); /* all lanes have read the staged steps */
    }
    return sum;
}

/* ---- several warps per slice ----------------------------------------------------------------- */

/* Counts the entries before share w of `warps` equal shares of steps. Must be called by every warp
 * of the block. */
static __device__ __forceinline__ int64_t entries_before(const csell_step *step, int first, int end,
                                                         int w, int *counts) {
    int warp = threadIdx.x / WARP, count = 0;
    int64_t before = 0;
    for (int k = first + threadIdx.x % WARP; k < end; k += WARP) count += __popc(step[k].mask);
    count = warp_total(count);
    if (threadIdx.x % WARP == 0) counts[warp] = count;
    __syncthreads();
    for (int v = warp - w; v < warp; v++) before += counts[v];
    return before;
}

static __device__ __forceinline__ void multiply_cut(const csell &A, const csell_scratch &S,
                                                    int64_t block, room *m, operand o,
                                                    const result &r) {
    __shared__ int counts[MOST_WARPS];
    __shared__ real sums[MOST_WARPS][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, w = warp % S.warps;
    int64_t s = (block * (blockDim.x / WARP) + warp) / S.warps;
    csell_slice head = {0, 0, 0, 0, 0, 0, 1, 0}; /* an empty slice, for warps behind the last */
    if (s < A.nslices) head = csell_head(A.slice, s);
    int first = (int)((int64_t)head.nsteps * w / S.warps);
    int end = (int)((int64_t)head.nsteps * (w + 1) / S.warps);
    int64_t before = entries_before(A.step + head.step, first, end, w, counts);
    int64_t values = head.value_code == CSELL_VALUE_STEP ? first : before;
    head.step += first;
    head.nsteps = end - first;
    head.column += before * csell_column_size(head.column_code);
    head.value += values * head.run * csell_value_size(head.value_code);
    if (lane == 0) m->head[0] = head;
    __syncwarp();
    idx i = (idx)s * CSELL_ROWS + lane;
    sums[warp][lane] = multiply_slices<true, false>(A, S, 1, m, i, o, r);
    __syncthreads();
    if (w != 0 || s >= A.nslices) return;
    real sum = 0;
    for (int v = warp; v < warp + S.warps; v++) sum += sums[v][lane];
    put_sum(A, S, i, sum, r);
}

/* ---- some slices a warp ---------------------------------------------------------------------- */

/* Prefetches into L2 the heads and steps of a warp that comes later. */
static __device__ __forceinline__ void prefetch_later(const csell &A, const csell_scratch &S,
                                                      int64_t s, const csell_slice *head) {
    enum { SECTOR = 32 };
    int lane = threadIdx.x % WARP;
    int64_t later = s + S.later, step = head->step + S.later_steps + lane * (SECTOR / 8);
    if (later + lane < A.nslices && lane < S.group)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(A.slice + later + lane));
    if (step < A.nsteps && lane * (SECTOR / 8) < STAGE)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(A.step + step));
}

template <bool RUNS>
static __device__ __forceinline__ void multiply_whole(const csell &A, const csell_scratch &S,
                                                      int64_t block, room *m, operand o,
                                                      const result &r) {
    enum { WORDS = sizeof(csell_slice) / sizeof(int4) };
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int64_t s = (block * (blockDim.x / WARP) + warp) * S.group;
    int count = (int)min((int64_t)S.group, A.nslices - s);
    if (count <= 0) return; /* the whole warp returns */
    if (lane < count * WORDS)
        ((int4 *)m->head)[lane] = load_once((const int4 *)(A.slice + s) + lane, o.policy);
    __syncwarp();
    prefetch_later(A, S, s, m->head);
    multiply_slices<false, RUNS>(A, S, count, m, (idx)s * CSELL_ROWS + lane, o, r);
}

/* ---- the long part --------------------------------------------------------------------------- */

static __device__ __forceinline__ real sum_entries(const csell &A, ofs begin, ofs end,
                                                   const operand &o) {
    real sum = 0;
#pragma unroll 1
    for (ofs k = begin + threadIdx.x % WARP; k < end; k += AHEAD * WARP) {
        idx j[AHEAD];
        real a[AHEAD], xj[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            if (k + u * WARP >= end) continue;
            j[u] = load_once(A.long_col + k + u * WARP, o.policy);
            a[u] = load_once(A.long_values + k + u * WARP, o.policy);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (k + u * WARP < end) xj[u] = __ldg(o.x + j[u]);
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (k + u * WARP < end) sum = fma(a[u], xj[u], sum);
    }
    return __shfl_sync(ALL_LANES, warp_sum(sum), 0);
}

/* Adds a row that is divided among several segments: each segment stores its part; the last one to
 * arrive adds the parts in order. */
static __device__ __forceinline__ void add_part(const csell &A, const csell_scratch &S, idx row,
                                                ofs begin, ofs end, int64_t place, real sum,
                                                const result &r) {
    int lane = threadIdx.x % WARP, before = 0;
    int64_t first = begin / S.segment, last = (end - 1) / S.segment;
    if (lane == 0) {
        S.sums[place] = sum;
        __threadfence();
        before = atomicAdd(S.done + row, 1);
    }
    if (__shfl_sync(ALL_LANES, before, 0) < last - first) return;
    __threadfence();
    real all = 0; /* the first segment's part is the sum of its last row */
#pragma unroll 8
    for (int64_t g = first + lane; g <= last; g += WARP)
        all += __ldcg(S.sums + 2 * g + (g == first));
    all = warp_sum(all);
    if (lane != 0) return;
    S.done[row] = 0;
    put_row(r, A.long_row[row], all);
}

static __device__ __forceinline__ void multiply_segment(const csell &A, const csell_scratch &S,
                                                        int64_t g, operand o, const result &r) {
    if (g >= S.nsegments) return;
    ofs begin = (ofs)g * S.segment, end = (ofs)min((int64_t)begin + S.segment, A.long_nnz);
#pragma unroll 1
    for (idx row = S.first[g]; row < A.long_rows && A.long_ptr[row] < end; row++) {
        ofs row_begin = A.long_ptr[row], row_end = A.long_ptr[row + 1];
        real sum = sum_entries(A, max(begin, row_begin), min(end, row_end), o);
        if (row_begin < begin || row_end > end)
            add_part(A, S, row, row_begin, row_end, 2 * g + (row_begin >= begin), sum, r);
        else if (threadIdx.x % WARP == 0)
            put_row(r, A.long_row[row], sum);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The first blocks multiply the long rows, which would otherwise delay the end. */
template <bool CUT, bool RUNS>
static __global__ void __launch_bounds__(MOST_WARPS *WARP,
                                         (RUNS ? RUNS_RESIDENT : RESIDENT) / MOST_WARPS)
    multiply(csell A, csell_scratch S, const real *__restrict__ x, result out) {
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    __shared__ room rooms[MOST_WARPS];
    const int warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    int64_t long_blocks = (S.nsegments + warps - 1) / warps, block = blockIdx.x;
    operand o = {x, (unsigned)__cvta_generic_to_shared(codebook), S.policy};
    if (block < long_blocks) {
        multiply_segment(A, S, block * warps + warp, o, out);
        return;
    }
    if (S.has_codebook) {
        for (int k = threadIdx.x; k < VALUE_CODEBOOK_SIZE; k += blockDim.x)
            codebook[k] = A.codebook[k];
        __syncthreads();
    }
    asm("" : "+r"(o.codebook));
    if (CUT)
        multiply_cut(A, S, block - long_blocks, rooms + warp, o, out);
    else
        multiply_whole<RUNS>(A, S, block - long_blocks, rooms + warp, o, out);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csell *A = (const csell *)p->store;
    const csell_scratch *S = (const csell_scratch *)p->scratch;
    int block = (int)p->choice.value[SPMV_block], warps = block / WARP;
    int64_t blocks = blocks_for(A->nslices * S->warps, (int64_t)warps * S->group) +
                     blocks_for(S->nsegments, warps);
    if (blocks == 0) return SPMV_OK;
    auto kernel = S->has_runs    ? multiply<false, HAS_RUNS>
                  : S->warps > 1 ? multiply<CUTS, false>
                                 : multiply<false, false>;
    kernel<<<(unsigned)blocks, (unsigned)block, 0, stream_of(v)>>>(*A, *S, (const real *)v->x,
                                                                   result_of(v));
    return launched(p);
}

/* ---- preparation ----------------------------------------------------------------------------- */

typedef struct codes_used {
    int codebook, runs; /* whether a slice has a codebook; slices with runs */
} codes_used;

static __global__ void find_codes(csell A, codes_used *out) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    bool there = s < A.nslices;
    if (there && A.slice[s].value_code == VALUE_CODEBOOK) out->codebook = 1;
    int runs = __syncthreads_count(there && A.slice[s].run > 1);
    if (threadIdx.x == 0 && runs) atomicAdd(&out->runs, runs);
}

static __global__ void mark_long_rows(csell A, csell_scratch S) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= A.long_rows) return;
    idx row = A.long_row[k];
    atomicOr(S.skip + row / CSELL_ROWS, 1u << row % CSELL_ROWS);
}

/* Finds the row in which each segment begins, by binary search; no long row is empty. */
static __global__ void find_first_rows(csell A, csell_scratch S) {
    int64_t g = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (g >= S.nsegments) return;
    idx low = 0, high = (idx)A.long_rows;
    while (high - low > 1) {
        idx middle = low + (high - low) / 2;
        if (A.long_ptr[middle] <= (ofs)g * S.segment)
            low = middle;
        else
            high = middle;
    }
    S.first[g] = low;
}

static spmv_status prepare_long(spmv_plan *p, const csell *A, csell_scratch *S) {
    enum { THREADS = 256, WARPS_PER_SM = 16 };
    int64_t segment = A->long_nnz / ((int64_t)S->sms * WARPS_PER_SM) / WARP * WARP;
    segment = segment < LEAST_SEGMENT ? LEAST_SEGMENT : segment;
    S->segment = (ofs)(segment > MOST_SEGMENT ? MOST_SEGMENT : segment);
    S->nsegments = (idx)blocks_for(A->long_nnz, S->segment);
    if (A->long_rows == 0) return SPMV_OK;
    TRY(clear_scratch(p, (size_t)A->nslices * sizeof *S->skip, (void **)&S->skip));
    TRY(clear_scratch(p, (size_t)S->nsegments * sizeof *S->first, (void **)&S->first));
    TRY(clear_scratch(p, 2 * (size_t)S->nsegments * sizeof *S->sums, (void **)&S->sums));
    TRY(clear_scratch(p, (size_t)A->long_rows * sizeof *S->done, (void **)&S->done));
    const unsigned rows = (unsigned)blocks_for(A->long_rows, THREADS);
    const unsigned segments = (unsigned)blocks_for(S->nsegments, THREADS);
    mark_long_rows<<<rows, THREADS, 0, stream_of(p)>>>(*A, *S);
    TRY(launched(p));
    find_first_rows<<<segments, THREADS, 0, stream_of(p)>>>(*A, *S);
    return launched(p);
}

/* Returns the number of slices per warp that minimizes the estimated time. The slices' steps must
 * fit into shared memory. In batches of AHEAD steps, a warp takes START to begin and half a batch
 * more per slice; if there are only a few rounds of resident warps, the last one counts fully.
 * H200, mesh:300000:3: 71, 68, 64, 70 us for 1, 2, 3, 4 slices per warp, with 8.9, 4.4, 3.0 and 2.2
 * rounds. */
static int best_group(const csell *A, int64_t resident) {
    const double START = 2.5, SLICE = 0.5;
    enum { FEW_TURNS = 4 };
    double steps = (double)A->nsteps / (double)A->nslices, least = INFINITY;
    double batches = SLICE + ceil(steps / AHEAD);
    int best = 1;
    for (int g = 1; g <= GROUP && (g == 1 || g * steps <= STAGE); g++) {
        double turns = (double)A->nslices / (double)(g * resident);
        turns = turns < FEW_TURNS ? ceil(turns) : turns + SLICE;
        double cost = turns * (START + g * batches);
        if (cost < least) least = cost, best = g;
    }
    return best;
}

/* Chooses the number of warps per slice. Slices of many steps are divided until there are
 * WARPS_PER_SM warps per multiprocessor, about the number of resident warps; dividing further costs
 * 16 % on fem3d:50 (H200). */
static spmv_status choose_warps(spmv_plan *p, const csell *A, bool cuts, csell_scratch *S) {
    enum { WARPS_PER_SM = 30, LEAST_STEPS = 8 };
    int64_t *warps = &p->choice.value[SPMV_warps], room = p->choice.value[SPMV_block] / WARP;
    int64_t enough = (int64_t)S->sms * WARPS_PER_SM;
    int64_t resident = (int64_t)S->sms * (S->has_runs ? RUNS_RESIDENT : RESIDENT);
    if (*warps > 1 && !cuts)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "csell_warp: slices %s have one warp each, not %lld: warps=1",
                         CUTS ? "of runs of adjacent columns" : "in f32", (long long)*warps);
    if (*warps == 0)
        for (*warps = 1; cuts && 2 * *warps <= room && *warps * A->nslices < enough &&
                         A->nsteps >= 2 * *warps * A->nslices * LEAST_STEPS;)
            *warps *= 2;
    while (*warps > room || room % *warps) *warps /= 2;
    S->warps = (int)*warps;
    S->group = S->warps == 1 && A->nslices ? best_group(A, resident) : 1;
    S->later = resident * S->group;
    S->later_steps = A->nslices ? A->nsteps / A->nslices * S->later : 0;
    return SPMV_OK;
}

/* Finds which encodings occur in the slices. */
static spmv_status find_codes(spmv_plan *p, const csell *A, codes_used *used) {
    enum { THREADS = 256 };
    const spmv_backend *backend = p->device->backend;
    codes_used *found = NULL;
    *used = {0, 0};
    TRY(backend->alloc(p->device, sizeof *used, (void **)&found));
    spmv_status status = backend->put(p->device, found, used, sizeof *used);
    if (status == SPMV_OK && A->nslices) {
        find_codes<<<(unsigned)blocks_for(A->nslices, THREADS), THREADS, 0, stream_of(p)>>>(*A,
                                                                                            found);
        status = launched(p);
    }
    if (status == SPMV_OK) status = backend->get(p->device, used, found, sizeof *used);
    backend->release(p->device, found);
    return status;
}

static spmv_status prepare(spmv_plan *p) {
    const csell *A = (const csell *)p->store;
    csell_scratch *S = (csell_scratch *)calloc(1, sizeof *S);
    codes_used used;
    if (!S) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = S;
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&S->sms, cudaDevAttrMultiProcessorCount, p->device->number));
    TRY(find_codes(p, A, &used));
    S->has_codebook = used.codebook != 0;
    S->has_runs = 4 * (int64_t)used.runs > A->nslices;
    if (S->has_runs && !HAS_RUNS)
        return spmv_fail(
            p->device->ctx, SPMV_E_UNSUITABLE,
            "csell_warp: more than a quarter of the slices hold runs of adjacent "
            "columns, which it multiplies in f64 only: take xcache_block or csr_lanes");
    TRY(choose_warps(p, A, CUTS && !S->has_runs, S));
    S->policy = policy_for(p);
    return prepare_long(p, A, S);
}

/* Upper bound of the workspace: the maximum number of long rows that the format may have, with as
 * many entries as possible. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    enum { LEAST_CUT = 64 }; /* least length of long rows that the format chooses */
    int64_t cut = c->value[SPMV_cut] ? c->value[SPMV_cut] : LEAST_CUT;
    int64_t long_rows = min(A->nnz / (cut + 1), A->rows);
    size_t segments = (size_t)blocks_for(A->nnz, LEAST_SEGMENT);
    if (long_rows == 0) return 0;
    return (size_t)blocks_for(A->rows, CSELL_ROWS) * sizeof(uint32_t) +
           segments * (sizeof(idx) + 2 * sizeof(real)) + (size_t)long_rows * sizeof(int);
}

static void release(spmv_plan *p) {
    csell_scratch *S = (csell_scratch *)p->scratch;
    p->device->backend->release(p->device, S->skip);
    p->device->backend->release(p->device, S->first);
    p->device->backend->release(p->device, S->sums);
    p->device->backend->release(p->device, S->done);
    free(S);
}

static const spmv_param params[] = {{SPMV_block, 256, 32, MOST_WARPS *WARP, WARP, true},
                                    {SPMV_warps, 0, 0, MOST_WARPS, 1, true},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(csell_warp) = {
    .name = "csell_warp",
    .format = "csell",
    .summary = "one warp per slice of csell; in f64 several where slices are few and hold no runs",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
