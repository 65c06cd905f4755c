/* packed_lists: packed slices of 32 rows, a lane a row, where many slices have the same steps.
 *
 * Source   ours; patterns that rows share are RPCSR's (Willcock and Lumsdaine, ICS'06) and CSX's
 *          (Kourtis et al., PPoPP'11): here of 32 rows at a time.
 * Reads    packed: slices and values; the distinct lists of steps (distance from the diagonal,
 *          mask), which stay in the first cache; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once.
 * Work     On grids nearly all slices have one of a few lists (poisson2d:4000: 9, fem3d:60: 69).
 *          They are found when the plan is made: hashed, compared step by step, and copied once;
 *          a slice then is a head of 16 bytes that names its list. A warp takes some slices one
 *          after the other, the next one's head on its way; a lane asks for the values and the
 *          entries of x of AHEAD steps before it uses the first. Codes of values in a table are
 *          padded to whole steps, four in a word. A slice without a list (columns that are stored,
 *          more than 8,192 lists) is read from the packed matrix, a step at a time.
 * Cost     2 nnz flop; the bytes of heads and values + (cols + rows) sizeof real if x is read once.
 *          H200, f64, cold: arbitrary values 79 (poisson2d) to 86 (box27) percent of 4.65 TB/s;
 *          with few values the first cache's pipe binds. Slower, by percent: short lists kept in
 *          registers from slice to slice, 17 to 20 (they spill; a kernel of one length alone is 5
 *          to 18 faster); the next steps' entries always on their way, 10 to 60; codes of 4 bits
 *          chosen by byte permutations, 6 to 25.
 * Weak     slices that share nothing; those without a list take several times as long; few slices
 *          with many steps, of which packed_warp cuts each among some warps; f32 with arbitrary
 *          values (5 to 20 percent slower than packed_warp).
 * Repeats  bitwise: yes; the bits of packed_warp with warps = 1, whatever the codes.
 * Params   block: threads per block, a power of two (256).
 */
#include "lists.cuh"

enum { GROUP = 8, MOST_THREADS = 256 };

/* On a multiprocessor, by registers: 64 and 40 a thread. */
enum { LARGE_BLOCKS = 4, SMALL_BLOCKS = 6 };

typedef struct lists_scratch {
    lists L;
    int group; /* slices a warp */
    bool has_table, few, small_blocks;
} lists_scratch;

typedef struct operand { /* of a lane */
    const real *x;       /* that of its row on the main diagonal */
    idx none;            /* x[none] is the first entry */
    unsigned table;      /* in shared memory */
} operand;

/* ---- lists ----------------------------------------------------------------------------------- */

/* The places in the table of DEEP steps. */
template <int DEEP>
static __device__ __forceinline__ void load_codes(const uint8_t *value, int k, unsigned *code) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int u = 0; u + 4 <= DEEP; u += 4) {
        unsigned word = __ldcs((const unsigned *)value + (k + u) / 4 * WARP + lane);
#pragma unroll
        for (int v = 0; v < 4; v++) code[u + v] = word >> 8 * v & 255;
    }
#pragma unroll
    for (int u = DEEP / 4 * 4; u < DEEP; u++) code[u] = __ldcs(value + (k + u) * WARP + lane);
}

/* DEEP steps of a list, all loads of a kind, then all of the next: as in packed.cuh. */
template <int VALUE, bool WHOLE, int DEEP>
static __device__ __forceinline__ real add_batch(const lists &L, const operand &o, int list, int k,
                                                 const uint8_t *value, real sum) {
    const int lane = threadIdx.x % WARP;
    const unsigned bit = 1u << lane;
    idx j[DEEP];
    int at[DEEP];
    unsigned on[DEEP], code[DEEP];
    packed_raw<VALUE> raw[DEEP];
    real xj[DEEP];
    if (WHOLE) {
#pragma unroll
        for (int u = 0; u < DEEP; u += 4) {
            int4 four = __ldg((const int4 *)(L.base + list + k + u));
            j[u] = four.x;
            if (u + 1 < DEEP) j[u + 1] = four.y;
            if (u + 2 < DEEP) j[u + 2] = four.z;
            if (u + 3 < DEEP) j[u + 3] = four.w;
        }
#pragma unroll
        for (int u = 0; u < DEEP; u++) on[u] = 1, at[u] = (k + u) * WARP + lane;
    } else {
#pragma unroll
        for (int u = 0; u < DEEP; u++) {
            int4 s = __ldg(L.step + list + k + u);
            on[u] = (unsigned)s.y & bit;
            j[u] = on[u] ? s.x : o.none;
            at[u] = s.z + __popc((unsigned)s.y & (bit - 1));
        }
    }
    if (VALUE == PACKED_VALUE_TABLE) load_codes<DEEP>(value, k, code);
    if (VALUE == PACKED_VALUE_RAW || VALUE == PACKED_VALUE_F32)
#pragma unroll
        for (int u = 0; u < DEEP; u++) raw[u].load(value, at[u]);
    __syncwarp(); /* or the compiler would wait for the first step before it asks for the last */
#pragma unroll
    for (int u = 0; u < DEEP; u++) xj[u] = __ldg(o.x + j[u]);
    __syncwarp(); /* or for the first value before it asks for the last entry of x */
#pragma unroll
    for (int u = 0; u < DEEP; u++) {
        real a = VALUE == PACKED_VALUE_STEP    ? __ldg(L.step_value + list + k + u)
                 : VALUE == PACKED_VALUE_TABLE ? packed_entry(o.table, code[u])
                                               : raw[u].value(o.table);
        if (WHOLE)
            sum += a * xj[u];
        else
            add_product(&sum, a, xj[u], on[u]);
    }
    return sum;
}

template <int VALUE, bool WHOLE>
static __device__ __forceinline__ real add_list(const lists &L, const operand &o, int list,
                                                int nsteps, const uint8_t *value) {
    real sum = 0;
    int k = 0;
#pragma unroll 1
    for (; nsteps - k >= AHEAD; k += AHEAD)
        sum = add_batch<VALUE, WHOLE, AHEAD>(L, o, list, k, value, sum);
    switch (nsteps - k) {
    case 1: return add_batch<VALUE, WHOLE, 1>(L, o, list, k, value, sum);
    case 2: return add_batch<VALUE, WHOLE, 2>(L, o, list, k, value, sum);
    case 3: return add_batch<VALUE, WHOLE, 3>(L, o, list, k, value, sum);
    case 4: return add_batch<VALUE, WHOLE, 4>(L, o, list, k, value, sum);
    case 5: return add_batch<VALUE, WHOLE, 5>(L, o, list, k, value, sum);
    case 6: return add_batch<VALUE, WHOLE, 6>(L, o, list, k, value, sum);
    case 7: return add_batch<VALUE, WHOLE, 7>(L, o, list, k, value, sum);
    default: return sum;
    }
}

template <int VALUE>
static __device__ __forceinline__ real add_valued(const lists &L, const operand &o,
                                                  const listed_slice &s) {
    const int nsteps = (int)(s.what >> 3);
    if (s.what & 4) return add_list<VALUE, false>(L, o, s.list, nsteps, s.value);
    return add_list<VALUE, true>(L, o, s.list, nsteps, s.value);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* A slice from the packed matrix, a step at a time. */
static __device__ __forceinline__ real add_alone(const packed &A, int64_t slice, operand o) {
    const unsigned bit = 1u << threadIdx.x % WARP;
    const packed_slice s = packed_head(A.slice, slice);
    const packed_codes codes = {s.column_code, s.value_code, s.run};
    const real *x = s.column_code == PACKED_DIAGONAL ? o.x : o.x + o.none;
    int place = 0; /* of the step's first run */
    real sum = 0;
#pragma unroll 1
    for (int k = 0; k < s.nsteps; k++) {
        const int2 step = __ldg((const int2 *)(A.step + s.step + k));
        const unsigned mask = (unsigned)step.y;
        const int rank = __popc(mask & (bit - 1)), many = __popc(mask);
        if (mask & bit) {
            idx j = step.x + packed_column(codes, A.columns + s.column, place + rank);
#pragma unroll 1
            for (int q = 0; q < s.run; q++) {
                int at = s.value_code == PACKED_VALUE_STEP ? k * s.run + q
                                                           : place * s.run + q * many + rank;
                sum += packed_value(codes, A.values + s.value, at, o.table) * __ldg(x + j + q);
            }
        }
        place += many;
    }
    return sum;
}

/* FEW: no slice has RAW or F32 values. */
template <bool FEW>
static __device__ __forceinline__ real multiply_slice(const packed &A, const lists &L, int64_t s,
                                                      const listed_slice &h, const operand &o) {
    const int MAIN = FEW ? PACKED_VALUE_TABLE : PACKED_VALUE_RAW, code = h.what & 3;
    if (h.list == NO_LIST) return add_alone(A, s, o);
    if (code == MAIN) return add_valued<MAIN>(L, o, h);
    if (!FEW && code == PACKED_VALUE_F32) return add_valued<PACKED_VALUE_F32>(L, o, h);
    return add_valued<PACKED_VALUE_STEP>(L, o, h);
}

static __device__ __forceinline__ listed_slice head_at(const lists &L, int64_t s) {
    union {
        int4 loaded;
        listed_slice head;
    } u;
    u.loaded = __ldg((const int4 *)(L.slice + s));
    return u.head;
}

template <bool FEW, int BLOCKS>
static __global__ void __launch_bounds__(MOST_THREADS, BLOCKS)
    multiply(const __grid_constant__ packed A, const __grid_constant__ lists_scratch S,
             const real *__restrict__ x, real alpha, real beta, real *y) {
    __shared__ real table[PACKED_TABLE_SIZE];
    if (S.has_table) {
        for (int k = threadIdx.x; k < PACKED_TABLE_SIZE; k += blockDim.x) table[k] = A.table[k];
        __syncthreads();
    }
    unsigned at = (unsigned)__cvta_generic_to_shared(table);
    asm("" : "+r"(at));
    const int warp = (int)((blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / WARP);
    int s = warp * S.group;
    const int end = (int)min((int64_t)s + S.group, A.nslices);
    if (s >= end) return;
    listed_slice next = head_at(S.L, s);
#pragma unroll 1
    for (; s < end; s++) {
        const listed_slice h = next;
        if (s + 1 < end) next = head_at(S.L, s + 1);
        const idx i = s * PACKED_ROWS + (idx)(threadIdx.x % WARP);
        const operand o = {x + i, -i, at};
        real sum = multiply_slice<FEW>(A, S.L, s, h, o);
        if (i < A.s.rows) put_row(y + i, alpha, sum, beta);
    }
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const packed *A = (const packed *)p->store;
    const lists_scratch *S = (const lists_scratch *)p->scratch;
    int block = (int)p->choice.value[SPMV_block];
    int64_t blocks = blocks_for(A->nslices, (int64_t)(block / WARP) * S->group);
    if (blocks == 0) return SPMV_OK;
    auto kernel = S->small_blocks ? multiply<true, SMALL_BLOCKS>
                  : S->few        ? multiply<true, LARGE_BLOCKS>
                                  : multiply<false, LARGE_BLOCKS>;
    kernel<<<(unsigned)blocks, (unsigned)block, 0, stream_of(p)>>>(
        *A, *S, (const real *)x, (real)alpha, (real)beta, (real *)y);
    return launched(p);
}

/* ---- preparation ----------------------------------------------------------------------------- */

enum { THREADS = 256 };

static unsigned warp_blocks(int64_t n) {
    return (unsigned)blocks_for(n, THREADS / WARP);
}

/* Padded codes take so much at most; where masks have few bits slices with codes get no list. */
static size_t most_codes(int64_t nnz) {
    enum { PADDED = 2, SPARE = 1 << 20 };
    return PADDED * (size_t)nnz + SPARE;
}

/* Slices of few steps are taken some at a time, as long as there are warps enough. */
static int choose_group(const packed *A, int64_t resident) {
    enum { STEPS = 24 };
    int group = 1;
    while (group < GROUP && group * A->nsteps < STEPS * A->nslices &&
           A->nslices >= 2 * group * resident)
        group *= 2;
    return group;
}

typedef struct found { /* of list_set, behind the places */
    int64_t steps;
    int lists, codes;
} found;

static spmv_status gather(spmv_plan *p, const packed *A, lists_scratch *S, list_set *set, int *slot,
                          const found *f) {
    size_t steps = (size_t)(f->steps < MOST_STEPS ? f->steps : MOST_STEPS);
    size_t codes = (size_t)A->nsteps * WARP;
    TRY(take_scratch(p, (size_t)A->nslices * sizeof *S->L.slice, (void **)&S->L.slice));
    TRY(take_scratch(p, steps * sizeof *S->L.step, (void **)&S->L.step));
    TRY(take_scratch(p, steps * sizeof *S->L.base, (void **)&S->L.base));
    TRY(take_scratch(p, steps * sizeof *S->L.step_value, (void **)&S->L.step_value));
    if (S->has_table && codes <= most_codes(A->s.nnz))
        TRY(take_scratch(p, codes, (void **)&S->L.code));
    gather_lists<<<warp_blocks(SLOTS), THREADS, 0, stream_of(p)>>>(*A, set, S->L);
    TRY(launched(p));
    name_lists<<<(unsigned)blocks_for(A->nslices, THREADS), THREADS, 0, stream_of(p)>>>(*A, set,
                                                                                        slot, S->L);
    TRY(launched(p));
    if (S->L.code) pad_codes<<<warp_blocks(A->nslices), THREADS, 0, stream_of(p)>>>(*A, S->L);
    p->traffic_bytes = p->scratch_bytes + (S->L.code ? 0 : (size_t)A->value_bytes);
    return launched(p);
}

static spmv_status find(spmv_plan *p, const packed *A, list_set *set, int *slot, found *out) {
    spmv_device *d = p->device;
    CU(d->ctx, cudaMemsetAsync(set->owner, 0xff, sizeof set->owner, stream_of(p)));
    CU(d->ctx,
       cudaMemsetAsync(&set->lists, 0, sizeof *set - offsetof(list_set, lists), stream_of(p)));
    find_codes<<<(unsigned)blocks_for(A->nslices, THREADS), THREADS, 0, stream_of(p)>>>(*A, set);
    TRY(launched(p));
    find_lists<<<warp_blocks(A->nslices), THREADS, 0, stream_of(p)>>>(*A, set, slot);
    TRY(launched(p));
    measure_lists<<<SLOTS / THREADS + 1, THREADS, 0, stream_of(p)>>>(*A, set);
    TRY(launched(p));
    TRY(sum_before(d, SLOTS + 1, set->first));
    return d->backend->get(d, out, set->first + SLOTS, sizeof *out);
}

/* With few values more warps of fewer registers, but not where lists are short, which are asked for
 * at once. H200, with 64 and 40 registers: poisson2d:4000 few:8 158 and 160 us, box27:120 few:8 60
 * and 54, fem3d:60 few:8 70 and 69. */
static spmv_status prepare(spmv_plan *p) {
    enum { SHORT_LIST = 6 };
    spmv_device *d = p->device;
    const packed *A = (const packed *)p->store;
    lists_scratch *S = (lists_scratch *)calloc(1, sizeof *S);
    list_set *set = NULL;
    int *slot = NULL, sms = 0;
    found f = {};
    if (!S) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = S;
    S->group = 1;
    if (A->long_rows)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "packed_lists: %lld rows have more than %lld entries, which are in no "
                         "slice: -k packed_warp, or a larger --cut",
                         (long long)A->long_rows, (long long)A->cut);
    if (A->nslices == 0) return SPMV_OK;
    CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
    spmv_status status = d->backend->alloc(d, sizeof *set, (void **)&set);
    if (status == SPMV_OK)
        status = d->backend->alloc(d, (size_t)A->nslices * sizeof *slot, (void **)&slot);
    if (status == SPMV_OK) status = find(p, A, set, slot, &f);
    S->has_table = f.codes >> PACKED_VALUE_TABLE & 1; /* then few: no slice is raw or F32 */
    S->few = !(f.codes & (1 << PACKED_VALUE_RAW | 1 << PACKED_VALUE_F32));
    S->small_blocks = S->few && A->nsteps > SHORT_LIST * A->nslices;
    S->group = choose_group(A, (int64_t)sms * (S->small_blocks ? SMALL_BLOCKS : LARGE_BLOCKS) *
                                   (MOST_THREADS / WARP));
    if (status == SPMV_OK) status = gather(p, A, S, set, slot, &f);
    d->backend->release(d, set);
    d->backend->release(d, slot);
    return status;
}

/* At most. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    size_t slices = (size_t)blocks_for(A->rows, PACKED_ROWS);
    (void)c;
    return slices * (sizeof(listed_slice) + sizeof(int)) + sizeof(list_set) +
           MOST_STEPS * (sizeof(int4) + sizeof(idx) + sizeof(real)) + most_codes(A->nnz);
}

static void release(spmv_plan *p) {
    lists_scratch *S = (lists_scratch *)p->scratch;
    p->device->backend->release(p->device, S->L.slice);
    p->device->backend->release(p->device, S->L.step);
    p->device->backend->release(p->device, S->L.base);
    p->device->backend->release(p->device, S->L.step_value);
    p->device->backend->release(p->device, S->L.code);
    free(S);
}

static const spmv_param params[] = {{SPMV_block, 256, 32, MOST_THREADS, WARP, true},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(packed_lists) = {
    /* name, alias  */ "packed_lists",
    NULL,
    /* format       */ "packed",
    /* summary      */ "a warp some slices of packed values that share lists of columns",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
