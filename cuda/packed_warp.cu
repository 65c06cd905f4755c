/* packed_warp: a warp multiplies a slice of 32 rows of a packed matrix, a lane a row.
 *
 * Source   ours; the slice is SELL-32's (Monakov et al., HiPEAC'10; Kreutzer et al., 2014), its codes
 *          are those of bandwidth-reducing formats (BRO-ELL, Tang et al., TPDS'15), byte-aligned.
 * Reads    packed: all of it; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once.
 * Work     lane k loads step k of the slice, a scan of the popcounts says where each step's entries
 *          begin; the lanes then ask for AHEAD steps at once, before the first is used. With `warps`
 *          above 1 a slice's steps are cut among so many warps, whose sums are added in order. The
 *          long part is cut into equal segments, a warp each; the last warp to finish a row adds its
 *          parts in order. One launch.
 * Cost     2 nnz flop; the bytes of the store + (cols + rows) sizeof real if x is read once.
 * Weak     slices of rows of very different lengths: a step is as long as its longest row's lane; x
 *          outside the cache; columns that have no locality.
 * Repeats  bitwise: yes, for equal warps; the same bits whatever the codes.
 * Params   block: threads per block, a power of two (256); warps: warps a slice, a power of two
 *          (0: 1 where there are slices enough to fill the GPU, else more).
 */
#include "device.cuh"
#include "packed.cuh"

enum {
    AHEAD = 8,      /* steps asked for before the first is used */
    GROUP = 1,      /* slices a warp multiplies one after another, at most */
    STAGE = 64,     /* steps in shared memory, a warp */
    MOST_WARPS = 8, /* of a block */
    LEAST_SEGMENT = 512,
    MOST_SEGMENT = 4096 /* entries of the long part a warp takes */
};

typedef struct packed_scratch {
    int sms, warps, group; /* warps a slice; slices a warp */
    bool has_table;
    ofs segment;    /* entries of the long part a warp takes */
    idx nsegments;  /* such warps */
    uint32_t *skip; /* [nslices] rows of the slice that are in the long part; NULL: none is */
    idx *first;     /* [nsegments] place in long_row of the row that the segment begins in */
    real *sums;     /* [2 * nsegments] what it has of that row, and of the row that it ends in */
    int *done;      /* [long_rows] segments that finished their part of the row; 0 between runs */
} packed_scratch;

/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct __align__(16) staged_step { /* in shared memory, read as one piece */
    int32_t base;
    uint32_t mask;
    int32_t before, unused; /* entries of the staged steps before it */
}
staged_step;

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
        if (c * WARP >= nsteps) break;
        int total, before = sum_before(__popc((unsigned)loaded[c].y), lane, &total);
        *(int4 *)(out + c * WARP + lane) = {loaded[c].x, loaded[c].y, entries + before, 0};
        entries += total;
    }
    __syncwarp();
    return entries;
}

typedef struct operand { /* what every lane multiplies by */
    idx i;               /* its row */
    const real *x, *table;
} operand;

/* AHEAD steps, or with PART the nsteps that are left: all loads of a kind, then all of the next, so
 * that nothing waits until all are on their way. A lane without an entry asks for nothing and adds 0
 * times 0. What is not loaded is set, or the compiler would keep a register for it throughout. */
template <int COLUMN, int VALUE, bool FULL, bool PART>
static __device__ __forceinline__ real add_batch(const staged_step *step, int nsteps,
                                                 const uint8_t *column, const uint8_t *value,
                                                 operand o, real sum) {
    const int lane = threadIdx.x % WARP;
    packed_raw<VALUE> a[AHEAD];
    real xj[AHEAD];
    idx j[AHEAD];
    unsigned on = 0;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        int4 s = *(const int4 *)(step + u);
        int at = FULL ? u * WARP : s.z + __popc((unsigned)s.y & ((1u << lane) - 1));
        bool is_on = (FULL || ((unsigned)s.y >> lane & 1)) && (!PART || u < nsteps);
        on |= (unsigned)is_on << u;
        idx code = COLUMN == PACKED_DIAGONAL ? o.i : 0;
        if (COLUMN != PACKED_DIAGONAL && is_on) code = packed_column<COLUMN>(column, at);
        j[u] = s.x + code;
        a[u].none();
        if (is_on) a[u].load(value, VALUE == PACKED_VALUE_STEP ? u : at);
    }
    __syncwarp(); /* or the compiler would wait for the first column before it loads the last */
#pragma unroll
    for (int u = 0; u < AHEAD; u++) {
        xj[u] = 0;
        if (on >> u & 1) xj[u] = __ldg(o.x + j[u]);
    }
#pragma unroll
    for (int u = 0; u < AHEAD; u++) sum += a[u].value(o.table) * xj[u];
    return sum;
}

template <int COLUMN, int VALUE, bool FULL>
static __device__ __forceinline__ real add_steps(const staged_step *step, int nsteps,
                                                 const uint8_t *column, const uint8_t *value,
                                                 operand o, real sum) {
    if (FULL) column += threadIdx.x % WARP * packed_column_size(COLUMN);
    if (FULL && VALUE != PACKED_VALUE_STEP) value += threadIdx.x % WARP * packed_value_size(VALUE);
#pragma unroll 1
    for (; nsteps >= AHEAD; nsteps -= AHEAD, step += AHEAD) {
        sum = add_batch<COLUMN, VALUE, FULL, false>(step, AHEAD, column, value, o, sum);
        if (FULL) column += AHEAD * WARP * packed_column_size(COLUMN);
        if (VALUE == PACKED_VALUE_STEP)
            value += AHEAD * packed_value_size(VALUE);
        else if (FULL)
            value += AHEAD * WARP * packed_value_size(VALUE);
    }
    if (nsteps == 0) return sum;
    return add_batch<COLUMN, VALUE, FULL, true>(step, nsteps, column, value, o, sum);
}

/* Runs of entries in adjacent columns: a step's first entries, then its second, ... */
static __device__ __noinline__ real add_runs(const staged_step *step, int nsteps, packed_codes c,
                                             const uint8_t *column, const uint8_t *value, operand o,
                                             real sum) {
    const int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int k = 0; k < nsteps; k++) {
        int rank = __popc(step[k].mask & ((1u << lane) - 1)), many = __popc(step[k].mask);
        if (!(step[k].mask >> lane & 1)) continue;
        idx j = step[k].base + packed_column(c, column, step[k].before + rank, o.i);
#pragma unroll 4
        for (int q = 0; q < c.run; q++) {
            int at = c.value == PACKED_VALUE_STEP ? k * c.run + q
                                                  : step[k].before * c.run + q * many + rank;
            sum += packed_value(c, value, at, o.table) * __ldg(o.x + j + q);
        }
    }
    return sum;
}

template <int COLUMN, int VALUE>
static __device__ __forceinline__ real add_coded(const staged_step *step, int nsteps,
                                                 packed_codes c, const uint8_t *column,
                                                 const uint8_t *value, operand o, real sum) {
    if (c.full) return add_steps<COLUMN, VALUE, true>(step, nsteps, column, value, o, sum);
    return add_steps<COLUMN, VALUE, false>(step, nsteps, column, value, o, sum);
}

template <int COLUMN>
static __device__ __forceinline__ real add_valued(const staged_step *step, int nsteps,
                                                  packed_codes c, const uint8_t *column,
                                                  const uint8_t *value, operand o, real sum) {
    switch (c.value) { /* the same for the whole warp */
    case PACKED_VALUE_RAW:
        return add_coded<COLUMN, PACKED_VALUE_RAW>(step, nsteps, c, column, value, o, sum);
    case PACKED_VALUE_F32:
        return add_coded<COLUMN, PACKED_VALUE_F32>(step, nsteps, c, column, value, o, sum);
    case PACKED_VALUE_TABLE:
        return add_coded<COLUMN, PACKED_VALUE_TABLE>(step, nsteps, c, column, value, o, sum);
    default: return add_coded<COLUMN, PACKED_VALUE_STEP>(step, nsteps, c, column, value, o, sum);
    }
}

static __device__ __forceinline__ real add_staged(const staged_step *step, int nsteps,
                                                  packed_codes c, const uint8_t *column,
                                                  const uint8_t *value, operand o, real sum) {
    if (c.run > 1) return add_runs(step, nsteps, c, column, value, o, sum);
    switch (c.column) {
    case PACKED_DIAGONAL:
        return add_valued<PACKED_DIAGONAL>(step, nsteps, c, column, value, o, sum);
    case PACKED_COLUMN_8:
        return add_valued<PACKED_COLUMN_8>(step, nsteps, c, column, value, o, sum);
    case PACKED_COLUMN_16:
        return add_valued<PACKED_COLUMN_16>(step, nsteps, c, column, value, o, sum);
    default: return add_valued<PACKED_COLUMN_32>(step, nsteps, c, column, value, o, sum);
    }
}

/* ---- slices ---------------------------------------------------------------------------------- */

typedef struct part { /* of a slice: the steps that a warp multiplies */
    const packed_step *step;
    const uint8_t *column, *value; /* of the first of them */
    int nsteps;
    packed_codes codes;
} part;

/* here: where the steps are staged already, else NULL and they are staged in room. */
static __device__ __forceinline__ real sum_part(part p, const staged_step *here, staged_step *room,
                                                operand o) {
    real sum = 0;
#pragma unroll 1
    for (;;) {
        int count = min(p.nsteps, (int)STAGE), entries = 0;
        if (!here) entries = stage(p.step, count, room);
        sum = add_staged(here ? here : room, count, p.codes, p.column, p.value, o, sum);
        if (here || p.nsteps <= STAGE) return sum;
        p.step += count, p.nsteps -= count;
        p.column += entries * packed_column_size(p.codes.column);
        p.value += (p.codes.value == PACKED_VALUE_STEP ? count : entries) * p.codes.run *
                   packed_value_size(p.codes.value);
    }
}

static __device__ __forceinline__ packed_codes codes_of(const packed_slice &s) {
    return {s.column_code, s.value_code, s.run, (s.flags & PACKED_FULL) != 0};
}

typedef struct result { /* of a product: y <- alpha A x + beta y */
    real alpha, beta;
    real *y;
} result;

static __device__ __forceinline__ bool has_row(const packed &A, const packed_scratch &S, idx i) {
    return i < A.s.rows && !(S.skip && S.skip[i / PACKED_ROWS] >> (i % PACKED_ROWS) & 1);
}

/* The w-th of `warps` equal runs of steps. Where its entries begin is what the warps before it count:
 * every warp of the block calls. */
static __device__ __forceinline__ part cut_slice(const packed &A, const packed_slice &s, int w,
                                                 int warps, int *counts) {
    int first = (int)((int64_t)s.nsteps * w / warps);
    int end = (int)((int64_t)s.nsteps * (w + 1) / warps);
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, count = 0;
    const packed_step *step = A.step + s.step;
    bool full = s.flags & PACKED_FULL;
    if (!full) {
        for (int k = first + lane; k < end; k += WARP) count += __popc(step[k].mask);
        count = __reduce_add_sync(ALL_LANES, count);
    }
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    int64_t before = full ? (int64_t)first * WARP : 0;
    for (int v = warp - w; v < warp; v++) before += counts[v];
    int64_t places = s.value_code == PACKED_VALUE_STEP ? first : before;
    return {step + first, A.columns + s.column + before * packed_column_size(s.column_code),
            A.values + s.value + places * s.run * packed_value_size(s.value_code), end - first,
            codes_of(s)};
}

/* Some warps a slice. */
static __device__ __forceinline__ void multiply_cut(const packed &A, const packed_scratch &S,
                                                    int64_t block, staged_step *room, operand o,
                                                    result r) {
    __shared__ int counts[MOST_WARPS];
    __shared__ real sums[MOST_WARPS][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, w = warp % S.warps;
    int64_t s = (block * (blockDim.x / WARP) + warp) / S.warps;
    packed_slice head = {0, 0, 0, 0, 0, 0, 1, PACKED_FULL}; /* behind the last */
    if (s < A.nslices) head = packed_head(A.slice, s);
    part p = cut_slice(A, head, w, S.warps, counts);
    o.i = (idx)s * PACKED_ROWS + lane;
    sums[warp][lane] = sum_part(p, NULL, room, o);
    __syncthreads();
    if (w != 0 || s >= A.nslices || !has_row(A, S, o.i)) return;
    real sum = 0;
    for (int v = warp; v < warp + S.warps; v++) sum += sums[v][lane];
    put_row(r.y + o.i, r.alpha, sum, r.beta);
}

/* GROUP slices a warp, one after another. Their heads are loaded together, and their steps, which
 * follow each other, if they fit. */
static __device__ __forceinline__ void multiply_whole(const packed &A, const packed_scratch &S,
                                                      int64_t block, staged_step *room, operand o,
                                                      result r) {
    enum { PIECES = sizeof(packed_slice) / sizeof(int4) };
    __shared__ __align__(16) packed_slice all_heads[MOST_WARPS][GROUP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int64_t s = (block * (blockDim.x / WARP) + warp) * S.group;
    int count = (int)min((int64_t)S.group, A.nslices - s);
    if (count <= 0) return; /* the whole warp */
    packed_slice *head = all_heads[warp];
    if (lane < count * PIECES) ((int4 *)head)[lane] = __ldcs((const int4 *)(A.slice + s) + lane);
    __syncwarp();
    int64_t first = head[0].step, nsteps = head[count - 1].step + head[count - 1].nsteps - first;
    if (nsteps <= STAGE) stage(A.step + first, (int)nsteps, room);
    o.i = (idx)s * PACKED_ROWS + lane;
#pragma unroll 1
    for (; count > 0; count--, head++, o.i += PACKED_ROWS) {
        part p = {A.step + head->step, A.columns + head->column, A.values + head->value,
                  head->nsteps, codes_of(*head)};
        const staged_step *here = nsteps <= STAGE ? room + (head->step - first) : NULL;
        if (here && head->nsteps && !(p.codes.full && p.codes.run == 1)) {
            p.column -=
                here->before * packed_column_size(p.codes.column); /* of the group's first */
            if (p.codes.value != PACKED_VALUE_STEP)
                p.value -= here->before * p.codes.run * packed_value_size(p.codes.value);
        }
        real sum = sum_part(p, here, room, o);
        if (has_row(A, S, o.i)) put_row(r.y + o.i, r.alpha, sum, r.beta);
    }
}

/* ---- the long part --------------------------------------------------------------------------- */

static __device__ __forceinline__ real sum_entries(const packed &A, ofs begin, ofs end,
                                                   const real *__restrict__ x) {
    real sum = 0;
#pragma unroll 1
    for (ofs k = begin + threadIdx.x % WARP; k < end; k += AHEAD * WARP) {
        idx j[AHEAD];
        real a[AHEAD], xj[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (k + u * WARP < end) {
                j[u] = __ldcs(A.long_col + k + u * WARP);
                a[u] = __ldcs(A.long_values + k + u * WARP);
            }
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (k + u * WARP < end) xj[u] = __ldg(x + j[u]);
#pragma unroll
        for (int u = 0; u < AHEAD; u++)
            if (k + u * WARP < end) sum += a[u] * xj[u];
    }
    return __shfl_sync(ALL_LANES, warp_sum(sum), 0);
}

/* A row that several segments hold: each leaves its part, the last to come adds them in order. */
static __device__ __forceinline__ void add_part(const packed &A, const packed_scratch &S, idx row,
                                                ofs begin, ofs end, int64_t place, real sum,
                                                result r) {
    int lane = threadIdx.x % WARP, before = 0;
    int64_t first = begin / S.segment, last = (end - 1) / S.segment;
    if (lane == 0) {
        S.sums[place] = sum;
        __threadfence();
        before = atomicAdd(S.done + row, 1);
    }
    if (__shfl_sync(ALL_LANES, before, 0) < last - first) return;
    __threadfence();
    real all = 0; /* the first segment holds the row's beginning as the row that it ends in */
#pragma unroll 8
    for (int64_t g = first + lane; g <= last; g += WARP)
        all += __ldcg(S.sums + 2 * g + (g == first));
    all = warp_sum(all);
    if (lane != 0) return;
    S.done[row] = 0;
    put_row(r.y + A.long_row[row], r.alpha, all, r.beta);
}

static __device__ __forceinline__ void multiply_segment(const packed &A, const packed_scratch &S,
                                                        int64_t g, const real *x, result r) {
    if (g >= S.nsegments) return;
    ofs begin = (ofs)g * S.segment;
    ofs end = (ofs)min((int64_t)begin + S.segment, A.long_nnz);
#pragma unroll 1
    for (idx row = S.first[g]; row < A.long_rows && A.long_ptr[row] < end; row++) {
        ofs row_begin = A.long_ptr[row], row_end = A.long_ptr[row + 1];
        real sum = sum_entries(A, max(begin, row_begin), min(end, row_end), x);
        if (row_begin < begin || row_end > end)
            add_part(A, S, row, row_begin, row_end, 2 * g + (row_begin >= begin), sum, r);
        else if (threadIdx.x % WARP == 0)
            put_row(r.y + A.long_row[row], r.alpha, sum, r.beta);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The first blocks take the long part: it must not be what the others wait for at the end. */
template <bool CUT>
static __global__ void __launch_bounds__(MOST_WARPS *WARP, 1024 / (MOST_WARPS * WARP))
    multiply(packed A, packed_scratch S, const real *__restrict__ x, real alpha, real beta,
             real *y) {
    __shared__ real table[PACKED_TABLE_SIZE + 1]; /* and 0 */
    __shared__ staged_step rooms[MOST_WARPS][STAGE + AHEAD];
    int warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    int64_t long_blocks = (S.nsegments + warps - 1) / warps, block = blockIdx.x;
    if (block < long_blocks) {
        multiply_segment(A, S, block * warps + warp, x, {alpha, beta, y});
        return;
    }
    if (S.has_table) {
        for (int k = threadIdx.x; k <= PACKED_TABLE_SIZE; k += blockDim.x)
            table[k] = k < PACKED_TABLE_SIZE ? A.table[k] : 0;
        __syncthreads();
    }
    if (CUT)
        multiply_cut(A, S, block - long_blocks, rooms[warp], {0, x, table}, {alpha, beta, y});
    else
        multiply_whole(A, S, block - long_blocks, rooms[warp], {0, x, table}, {alpha, beta, y});
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const packed *A = (const packed *)p->store;
    const packed_scratch *S = (const packed_scratch *)p->scratch;
    int block = (int)p->choice.value[SPMV_block], warps = block / WARP;
    int64_t blocks = blocks_for(A->nslices * S->warps, (int64_t)warps * S->group) +
                     blocks_for(S->nsegments, warps);
    if (blocks == 0) return SPMV_OK;
    auto kernel = S->warps > 1 ? multiply<true> : multiply<false>;
    kernel<<<(unsigned)blocks, (unsigned)block, 0, stream_of(p)>>>(
        *A, *S, (const real *)x, (real)alpha, (real)beta, (real *)y);
    return launched(p);
}

/* ---- preparation ----------------------------------------------------------------------------- */

static __global__ void find_table(packed A, int *has_table) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s < A.nslices && A.slice[s].value_code == PACKED_VALUE_TABLE) *has_table = 1;
}

static __global__ void mark_long_rows(packed A, packed_scratch S) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= A.long_rows) return;
    idx row = A.long_row[k];
    atomicOr(S.skip + row / PACKED_ROWS, 1u << row % PACKED_ROWS);
}

/* The last row that does not begin behind the segment's first entry; no long row is empty. */
static __global__ void find_first_rows(packed A, packed_scratch S) {
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

static spmv_status make(spmv_plan *p, size_t bytes, void **out) {
    TRY(p->device->backend->alloc(p->device, bytes, out));
    p->scratch_bytes += bytes;
    CU(p->device->ctx, cudaMemsetAsync(*out, 0, bytes, stream_of(p)));
    return SPMV_OK;
}

static spmv_status prepare_long(spmv_plan *p, const packed *A, packed_scratch *S) {
    enum { THREADS = 256, WARPS_AN_SM = 16 };
    int64_t segment = A->long_nnz / ((int64_t)S->sms * WARPS_AN_SM) / WARP * WARP;
    segment = segment < LEAST_SEGMENT ? LEAST_SEGMENT : segment;
    S->segment = (ofs)(segment > MOST_SEGMENT ? MOST_SEGMENT : segment);
    S->nsegments = (idx)blocks_for(A->long_nnz, S->segment);
    if (A->long_rows == 0) return SPMV_OK;
    TRY(make(p, (size_t)A->nslices * sizeof *S->skip, (void **)&S->skip));
    TRY(make(p, (size_t)S->nsegments * sizeof *S->first, (void **)&S->first));
    TRY(make(p, 2 * (size_t)S->nsegments * sizeof *S->sums, (void **)&S->sums));
    TRY(make(p, (size_t)A->long_rows * sizeof *S->done, (void **)&S->done));
    mark_long_rows<<<(unsigned)blocks_for(A->long_rows, THREADS), THREADS, 0, stream_of(p)>>>(*A,
                                                                                              *S);
    TRY(launched(p));
    find_first_rows<<<(unsigned)blocks_for(S->nsegments, THREADS), THREADS, 0, stream_of(p)>>>(*A,
                                                                                               *S);
    return launched(p);
}

/* With fewer than WARPS_AN_SM warps a multiprocessor, some times what it holds at once, the last to
 * finish are too long alone; a warp needs some steps to be worth its start. */
static void choose_warps(spmv_plan *p, const packed *A, packed_scratch *S) {
    enum { WARPS_AN_SM = 192, LEAST_STEPS = 8 };
    int64_t *warps = &p->choice.value[SPMV_warps], room = p->choice.value[SPMV_block] / WARP;
    int64_t enough = (int64_t)S->sms * WARPS_AN_SM;
    if (*warps == 0)
        for (*warps = 1; 2 * *warps <= room && *warps * A->nslices < enough &&
                         A->nsteps >= 2 * *warps * A->nslices * LEAST_STEPS;)
            *warps *= 2;
    while (*warps > room || room % *warps) *warps /= 2;
    S->warps = (int)*warps;
    S->group = 1;
    while (S->warps == 1 && S->group < GROUP && A->nslices > 2 * S->group * enough) S->group *= 2;
}

static spmv_status prepare(spmv_plan *p) {
    enum { THREADS = 256 };
    const packed *A = (const packed *)p->store;
    packed_scratch *S = (packed_scratch *)calloc(1, sizeof *S);
    if (!S) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = S;
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&S->sms, cudaDevAttrMultiProcessorCount, p->device->number));
    choose_warps(p, A, S);
    int has_table = 0, *flag = NULL;
    TRY(p->device->backend->alloc(p->device, sizeof *flag, (void **)&flag));
    spmv_status status = p->device->backend->put(p->device, flag, &has_table, sizeof *flag);
    if (status == SPMV_OK && A->nslices) {
        find_table<<<(unsigned)blocks_for(A->nslices, THREADS), THREADS, 0, stream_of(p)>>>(*A,
                                                                                            flag);
        status = launched(p);
    }
    if (status == SPMV_OK)
        status = p->device->backend->get(p->device, &has_table, flag, sizeof *flag);
    p->device->backend->release(p->device, flag);
    S->has_table = has_table != 0;
    return status == SPMV_OK ? prepare_long(p, A, S) : status;
}

static void release(spmv_plan *p) {
    packed_scratch *S = (packed_scratch *)p->scratch;
    p->device->backend->release(p->device, S->skip);
    p->device->backend->release(p->device, S->first);
    p->device->backend->release(p->device, S->sums);
    p->device->backend->release(p->device, S->done);
    free(S);
}

static const spmv_param params[] = {{SPMV_block, 256, 32, MOST_WARPS *WARP, WARP, true},
                                    {SPMV_warps, 0, 0, MOST_WARPS, 1, true},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(packed_warp) = {
    /* name, alias  */ "packed_warp",
    NULL,
    /* format       */ "packed",
    /* summary      */ "a warp a slice of packed columns and values",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ NULL,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
