/* csell_lists: compressed SELL (delta-indexed, dictionary-coded slices of 32 rows, one lane per
 * row) where many slices share one list of column deltas.
 *
 * Source   this project; patterns that rows share are RPCSR's (Willcock and Lumsdaine, ICS'06) and
 *          CSX's (Kourtis et al., PPoPP'11): here of 32 rows at a time.
 * Reads    csell: slices and values; the distinct lists of steps (distance from the diagonal,
 *          mask), which stay in the first cache; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once.
 * Work     On grids nearly all slices have one of a few lists (poisson2d:4000: 9, fem3d:60: 69).
 *          When the plan is made, lists are hashed, compared step by step, and copied once; a slice
 *          is then a head of 16 bytes that names its list. A warp takes several slices one after
 *          the other and loads the next head meanwhile; a lane loads the values and the entries of
 *          x of AHEAD steps before it uses the first. Dictionary-coded values are padded to whole
 *          steps, four in a word. A slice without a list (its columns are stored, or there are more
 *          than 8,192 lists) is read from the csell matrix, a step at a time. Where nearly all
 *          slices have the same number of steps, at most 8, a specialised kernel multiplies two
 *          neighbouring slices with the same list at once and keeps the list in registers.
 * Cost     2 nnz flop; the bytes of heads and values + (cols + rows) sizeof real if x is read once.
 *          On an H200, f64, cold, arbitrary values reach 83 (fem3d) to 91 (poisson2d) percent of
 *          4.65 TB/s; with few distinct values and long lists the first-level cache's throughput is
 *          the limit. What was tried and lost: docs/experiments.md.
 * Weak     Slices without a list take several times as long. Where few slices have many steps,
 *          csell_warp is faster, as it cuts each among several warps; so it is for f32 with
 *          arbitrary values (by 5 to 20 percent).
 * Repeats  bitwise: yes; the bits of csell_warp with warps = 1, whatever the encodings.
 * Params   block: threads per block, a power of two (256).
 */
#include "listed.cuh"

enum { GROUP = 8, MOST_THREADS = 256 };

/* Blocks that a multiprocessor has room for, with 64 and 40 registers per thread. */
enum { LARGE_BLOCKS = 4, SMALL_BLOCKS = 6 };

typedef struct lists_scratch {
    lists L;
    int group;      /* slices per warp */
    int even, code; /* the steps of nearly all slices, 0: no such number; and their value code */
    bool has_codebook, few, small_blocks;
} lists_scratch;

/* ---- lists of any length --------------------------------------------------------------------- */

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

/* FEW: no slice has RAW or F32 values. */
template <bool FEW>
static __device__ __forceinline__ real multiply_slice(const csell &A, const lists &L, int64_t s,
                                                      const listed_slice &h, const operand &o) {
    const int MAIN = FEW ? VALUE_CODEBOOK : VALUE_RAW, code = h.what & 3;
    if (h.list == NO_LIST) return add_alone(A, s, o);
    if (code == MAIN) return add_valued<MAIN>(L, o, h);
    if (!FEW && code == VALUE_F32) return add_valued<VALUE_F32>(L, o, h);
    return add_valued<CSELL_VALUE_STEP>(L, o, h);
}

template <bool FEW, int BLOCKS>
static __global__ void __launch_bounds__(MOST_THREADS, BLOCKS)
    multiply(const __grid_constant__ csell A, const __grid_constant__ lists_scratch S,
             const real *__restrict__ x, const __grid_constant__ result out) {
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    const unsigned at = take_codebook(A, S.has_codebook, codebook);
    const int warp = (int)((blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / WARP);
    int s = warp * S.group;
    const int end = min(s + S.group, (int)A.nslices);
    if (s >= end) return;
    listed_slice next = head_at(S.L, s);
#pragma unroll 1
    for (; s < end; s++) {
        const listed_slice h = next;
        if (s + 1 < end) next = head_at(S.L, s + 1);
        const idx i = s * CSELL_ROWS + (idx)(threadIdx.x % WARP);
        const operand o = operand_of(x, i, at);
        real sum = multiply_slice<FEW>(A, S.L, s, h, o);
        if (i < A.s.rows) put_row(out, i, sum);
    }
}

/* ---- lists of one length --------------------------------------------------------------------- */

/* Bytes of the values of a whole slice, if they are beside those of the next. */
template <int VALUE, int N> static __host__ __device__ constexpr int whole_bytes() {
    return VALUE == CSELL_VALUE_STEP ? 0 : N * WARP * csell_value_size(VALUE);
}

template <int VALUE, int N> struct short_list { /* in registers */
    idx j[N];
    real a[VALUE == CSELL_VALUE_STEP ? N : 1];

    __device__ __forceinline__ short_list(const lists &L, int list) {
#pragma unroll
        for (int u = 0; u < N; u++) {
            j[u] = __ldg(L.base + list + u);
            if (VALUE == CSELL_VALUE_STEP) a[u] = __ldg(L.step_value + list + u);
        }
    }
};

typedef struct whole_run { /* slices that are whole and have one list; of a lane */
    const real *x;         /* of its row of the first, on the main diagonal */
    idx i;                 /* that row */
    const uint8_t *value;
    int slices;
} whole_run;

/* MANY of them at once. */
template <int VALUE, int N, int MANY>
static __device__ __forceinline__ void
put_slices(const short_list<VALUE, N> &list, unsigned codebook, const result &out, whole_run *r) {
    const int lane = threadIdx.x % WARP;
    unsigned code[MANY][N];
    csell_raw<VALUE> raw[MANY][N];
    real xj[MANY][N];
#pragma unroll
    for (int m = 0; m < MANY; m++) {
        const uint8_t *value = r->value + m * whole_bytes<VALUE, N>();
        if (VALUE == VALUE_CODEBOOK) load_codes<N>(value, 0, code[m]);
        if (VALUE == VALUE_RAW || VALUE == VALUE_F32)
#pragma unroll
            for (int u = 0; u < N; u++) raw[m][u].load(value, u * WARP + lane);
    }
#pragma unroll
    for (int u = 0; u < N; u++)
#pragma unroll
        for (int m = 0; m < MANY; m++) xj[m][u] = __ldg(r->x + list.j[u] + m * WARP);
#pragma unroll
    for (int m = 0; m < MANY; m++) {
        real sum = 0;
#pragma unroll
        for (int u = 0; u < N; u++) {
            real a = VALUE == CSELL_VALUE_STEP ? list.a[u]
                     : VALUE == VALUE_CODEBOOK ? decoded<VALUE_CODEBOOK>(code[m][u], codebook)
                                               : raw[m][u].value(codebook);
            sum += a * xj[m][u];
        }
        put_row(out, r->i + m * WARP, sum);
    }
    r->x += MANY * WARP, r->i += MANY * WARP, r->value += MANY * whole_bytes<VALUE, N>();
    r->slices -= MANY;
}

/* The others are few: less code for them, with more pauses. */
template <int VALUE>
static __device__ __forceinline__ real add_other(const csell &A, const lists &L, int64_t s,
                                                 const listed_slice &h, const operand &o) {
    enum { SOME = 4 };
    const int nsteps = (int)(h.what >> 3);
    real sum = 0;
    int k = 0;
    if (h.list == NO_LIST || (h.what & 3) != VALUE) return add_alone(A, s, o);
#pragma unroll 1
    for (; nsteps - k >= SOME; k += SOME)
        sum = add_batch<VALUE, false, SOME>(L, o, h.list, k, h.value, sum);
#pragma unroll 1
    for (; k < nsteps; k++) sum = add_batch<VALUE, false, 1>(L, o, h.list, k, h.value, sum);
    return sum;
}

/* That of one lane, in all. */
static __device__ __forceinline__ listed_slice head_of(const listed_slice &mine, int lane) {
    union {
        uint64_t place;
        const uint8_t *value;
    } u;
    u.value = mine.value;
    u.place = __shfl_sync(ALL_LANES, u.place, lane);
    return {u.value, __shfl_sync(ALL_LANES, mine.list, lane),
            __shfl_sync(ALL_LANES, mine.what, lane)};
}

/* Where nearly all slices have N steps. A lane has a slice's head; slices beside each other that
 * are whole and have the same list are a run: its list stays in registers. */
template <int VALUE, int N>
static __global__ void __launch_bounds__(MOST_THREADS, LARGE_BLOCKS)
    multiply_even(const __grid_constant__ csell A, const __grid_constant__ lists_scratch S,
                  const real *__restrict__ x, const __grid_constant__ result out) {
    enum { WHOLE = N << 3 | VALUE, TOGETHER = N < SHORT_LIST ? 2 : 1 /* or registers spill */ };
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    const unsigned at = take_codebook(A, S.has_codebook, codebook);
    const int lane = threadIdx.x % WARP;
    const int first = (int)((blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / WARP) * S.group;
    const int count = min(S.group, (int)A.nslices - first);
    listed_slice mine = {NULL, NO_LIST, 0};
    if (count <= 0) return;
    if (lane < count) mine = head_at(S.L, first + lane);
#pragma unroll 1
    for (int k = 0; k < count;) {
        const listed_slice h = head_of(mine, k);
        const idx i = (first + k) * CSELL_ROWS + lane;
        const operand o = operand_of(x, i, at);
        if (h.what == WHOLE) {
            bool goes_on = mine.what == WHOLE && mine.list == h.list &&
                           (VALUE == CSELL_VALUE_STEP ||
                            mine.value == h.value + (lane - k) * whole_bytes<VALUE, N>());
            unsigned ends = ~(__ballot_sync(ALL_LANES, goes_on) >> k);
            whole_run r = {o.x, i, h.value, ends ? __ffs((int)ends) - 1 : WARP};
            const short_list<VALUE, N> list(S.L, h.list);
            k += r.slices;
#pragma unroll 1
            while (r.slices >= TOGETHER) put_slices<VALUE, N, TOGETHER>(list, at, out, &r);
#pragma unroll 1
            while (r.slices > 0) put_slices<VALUE, N, 1>(list, at, out, &r);
            continue;
        }
        real sum = h.what == (WHOLE | 4) ? add_batch<VALUE, false, N>(S.L, o, h.list, 0, h.value, 0)
                                         : add_other<VALUE>(A, S.L, first + k, h, o);
        if (i < (idx)A.s.rows) put_row(out, i, sum);
        k++;
    }
}

/* ---- launch ---------------------------------------------------------------------------------- */

typedef void (*multiplier)(const csell, const lists_scratch, const real *, const result);

template <int VALUE> static multiplier even_multiplier(int steps) {
    switch (steps) {
    case 1: return multiply_even<VALUE, 1>;
    case 2: return multiply_even<VALUE, 2>;
    case 3: return multiply_even<VALUE, 3>;
    case 4: return multiply_even<VALUE, 4>;
    case 5: return multiply_even<VALUE, 5>;
    case 6: return multiply_even<VALUE, 6>;
    case 7: return multiply_even<VALUE, 7>;
    default: return multiply_even<VALUE, SHORT_LIST>;
    }
}

static multiplier choose_multiplier(const lists_scratch *S) {
    if (S->even) switch (S->code) {
        case VALUE_RAW: return even_multiplier<VALUE_RAW>(S->even);
        case VALUE_F32: return even_multiplier<FLOATS>(S->even);
        case VALUE_CODEBOOK: return even_multiplier<VALUE_CODEBOOK>(S->even);
        default: return even_multiplier<CSELL_VALUE_STEP>(S->even);
        }
    if (S->small_blocks) return multiply<true, SMALL_BLOCKS>;
    return S->few ? multiply<true, LARGE_BLOCKS> : multiply<false, LARGE_BLOCKS>;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csell *A = (const csell *)p->store;
    const lists_scratch *S = (const lists_scratch *)p->scratch;
    int block = (int)p->choice.value[SPMV_block];
    int64_t blocks = blocks_for(A->nslices, (int64_t)(block / WARP) * S->group);
    if (blocks == 0) return SPMV_OK;
    choose_multiplier(S)<<<(unsigned)blocks, (unsigned)block, 0, stream_of(v)>>>(
        *A, *S, (const real *)v->x, result_of(v));
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

/* Slices of few steps are taken some at a time, as long as there are warps enough: once nearly all
 * that the GPU holds are better than twice, the second time fewer. */
static int choose_group(const csell *A, int64_t resident) {
    enum { STEPS = 24 };
    int group = 1;
    while (group < GROUP && group * A->nsteps < STEPS * A->nslices &&
           8 * A->nslices >= 7 * 2 * group * resident)
        group *= 2;
    return group;
}

typedef struct found { /* of list_set, behind the places */
    int64_t steps;
    int lists, codes, kind[SHORT_KINDS];
} found;

static spmv_status gather(spmv_plan *p, const csell *A, lists_scratch *S, list_set *set, int *slot,
                          const found *f) {
    size_t steps = (size_t)(f->steps < MOST_STEPS ? f->steps : MOST_STEPS);
    size_t codes = (size_t)A->nsteps * WARP;
    TRY(take_scratch(p, (size_t)A->nslices * sizeof *S->L.slice, (void **)&S->L.slice));
    TRY(take_scratch(p, steps * sizeof *S->L.step, (void **)&S->L.step));
    TRY(take_scratch(p, steps * sizeof *S->L.base, (void **)&S->L.base));
    TRY(take_scratch(p, steps * sizeof *S->L.step_value, (void **)&S->L.step_value));
    if (S->has_codebook && codes <= most_codes(A->s.nnz))
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

/* Whether nearly all slices have one number of steps and one code, most of them whole. */
static void choose_even(const csell *A, const found *f, lists_scratch *S) {
    int most = 0;
    for (int what = 1 << 3; what < SHORT_KINDS; what++)
        if (!(what & 4) && f->kind[what] > f->kind[most]) most = what;
    int64_t whole = f->kind[most], all = whole + f->kind[most | 4];
    if (2 * whole > A->nslices && 16 * all > 15 * A->nslices) S->even = most >> 3;
    S->code = most & 3;
}

static spmv_status find(spmv_plan *p, const csell *A, list_set *set, int *slot, found *out) {
    spmv_device *d = p->device;
    CU(d->ctx, cudaMemsetAsync(set->owner, 0xff, sizeof set->owner, stream_of(p)));
    CU(d->ctx,
       cudaMemsetAsync(&set->lists, 0, sizeof *set - offsetof(list_set, lists), stream_of(p)));
    count_kinds<<<(unsigned)blocks_for(A->nslices, THREADS), THREADS, 0, stream_of(p)>>>(*A, set);
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
    enum { FEW_STEPS = 6 };
    spmv_device *d = p->device;
    const csell *A = (const csell *)p->store;
    lists_scratch *S = (lists_scratch *)calloc(1, sizeof *S);
    list_set *set = NULL;
    int *slot = NULL, sms = 0;
    found f = {};
    if (!S) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = S;
    S->group = 1;
    if (A->long_rows)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "csell_lists: rows of more than %lld entries, here %lld, are in no slice: "
                         "-k csell_warp, or a larger --cut",
                         (long long)A->cut, (long long)A->long_rows);
    if (A->nslices == 0) return SPMV_OK;
    CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
    spmv_status status = d->backend->alloc(d, sizeof *set, (void **)&set);
    if (status == SPMV_OK)
        status = d->backend->alloc(d, (size_t)A->nslices * sizeof *slot, (void **)&slot);
    if (status == SPMV_OK) status = find(p, A, set, slot, &f);
    S->has_codebook = f.codes >> VALUE_CODEBOOK & 1; /* then few: no slice is raw or F32 */
    S->few = !(f.codes & (1 << VALUE_RAW | 1 << VALUE_F32));
    choose_even(A, &f, S);
    S->small_blocks = S->few && !S->even && A->nsteps > FEW_STEPS * A->nslices;
    S->group = choose_group(A, (int64_t)sms * (S->small_blocks ? SMALL_BLOCKS : LARGE_BLOCKS) *
                                   (MOST_THREADS / WARP));
    if (status == SPMV_OK) status = gather(p, A, S, set, slot, &f);
    if (status == SPMV_OK) status = load_kernel(p, (const void *)choose_multiplier(S));
    d->backend->release(d, set);
    d->backend->release(d, slot);
    return status;
}

/* At most. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    size_t slices = (size_t)blocks_for(A->rows, CSELL_ROWS);
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

SPMV_EXPORT_ANY_OFFSETS_KERNEL(csell_lists) = {
    /* name, alias  */ "csell_lists",
    NULL,
    /* format       */ "csell",
    /* summary      */ "a warp some slices of csell values that share lists of columns",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC | SPMV_KEEPS_CODES,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
