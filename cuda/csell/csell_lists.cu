/* csell_lists: compressed SELL (delta-indexed, dictionary-coded slices of 32 rows, one lane per
 * row) in which many slices share one list of column deltas.
 *
 * Source   this project; patterns shared by rows are RPCSR's (Willcock and Lumsdaine, ICS'06) and
 *          CSX's (Kourtis et al., PPoPP'11): here by 32 rows at a time.
 * Reads    csell_lists: slices and values; the lists of steps (distance from the diagonal, mask),
 *          which stay in the L1 cache; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once.
 * Work     On grids nearly all slices have one of a few lists (poisson2d:4000: 9, fem3d:60: 69),
 *          which a slice's head of 16 bytes refers to. A warp multiplies several slices one after
 *          the other and loads the next head meanwhile; a lane loads the values and the entries of
 *          x of AHEAD steps before it uses the first. Dictionary-coded values are padded to whole
 *          steps, four in a word. A slice without a list (its columns are stored, or the lists have
 *          more than 65,536 steps) is read one step at a time. If nearly all slices have the same
 *          number of steps, at most 8, a specialised kernel multiplies two neighbouring slices with
 *          the same list at once and keeps the list in registers.
 * Cost     2 nnz flop; the bytes of heads and values + (cols + rows) sizeof real if x is read once.
 *          On an H200, f64, cold, arbitrary values reach 83 (fem3d) to 91 (poisson2d) percent of
 *          4.65 TB/s; with few distinct values and long lists the throughput of the L1 cache is the
 *          limit. Attempts without gain: docs/notebook/experiments.md.
 * Weak     Slices without a list take several times as long. If few slices have many steps,
 *          csell_warp is faster, since it divides each slice among several warps; so it is for f32
 *          with arbitrary values (by 5 to 20 percent).
 * Repeats  bitwise: yes; the bits of csell_warp with warps = 1, whatever the encodings.
 * Params   block: threads per block, a power of two (256).
 */
#include "listed.cuh"

enum { GROUP = 8, MOST_THREADS = 256 };

/* Resident blocks of a multiprocessor, with 64 and 40 registers per thread. */
enum { LARGE_BLOCKS = 4, SMALL_BLOCKS = 6 };

typedef struct way { /* variant of the kernel */
    int group;       /* slices per warp */
    bool has_codebook, few, small_blocks;
    cache_policy policy;
} way;

/* ---- lists of any length --------------------------------------------------------------------- */

template <int VALUE, bool WHOLE>
static __device__ __forceinline__ real add_list(const csell_lists &A, const operand &o, int list,
                                                int nsteps, const uint8_t *value) {
    real sum = 0;
    int k = 0;
#pragma unroll 1
    for (; nsteps - k >= AHEAD; k += AHEAD)
        sum = add_batch<VALUE, WHOLE, AHEAD>(A, o, list, k, value, sum);
    switch (nsteps - k) {
    case 1: return add_batch<VALUE, WHOLE, 1>(A, o, list, k, value, sum);
    case 2: return add_batch<VALUE, WHOLE, 2>(A, o, list, k, value, sum);
    case 3: return add_batch<VALUE, WHOLE, 3>(A, o, list, k, value, sum);
    case 4: return add_batch<VALUE, WHOLE, 4>(A, o, list, k, value, sum);
    case 5: return add_batch<VALUE, WHOLE, 5>(A, o, list, k, value, sum);
    case 6: return add_batch<VALUE, WHOLE, 6>(A, o, list, k, value, sum);
    case 7: return add_batch<VALUE, WHOLE, 7>(A, o, list, k, value, sum);
    default: return sum;
    }
}

template <int VALUE>
static __device__ __forceinline__ real add_valued(const csell_lists &A, const operand &o,
                                                  const csell_listed &s) {
    const int nsteps = (int)(s.what >> 3);
    if (s.what & 4) return add_list<VALUE, false>(A, o, s.list, nsteps, A.values + s.value);
    return add_list<VALUE, true>(A, o, s.list, nsteps, A.values + s.value);
}

/* Multiplies one slice. FEW: no slice has RAW or F32 values. */
template <bool FEW>
static __device__ __forceinline__ real multiply_slice(const csell_lists &A, const csell_listed &h,
                                                      const operand &o) {
    const int MAIN = FEW ? VALUE_CODEBOOK : VALUE_RAW, code = h.what & 3;
    if (h.list < 0) return add_alone(A, h, o);
    if (code == MAIN) return add_valued<MAIN>(A, o, h);
    if (!FEW && code == VALUE_F32) return add_valued<VALUE_F32>(A, o, h);
    return add_valued<CSELL_VALUE_STEP>(A, o, h);
}

template <bool FEW, int BLOCKS>
static __global__ void __launch_bounds__(MOST_THREADS, BLOCKS)
    multiply(const __grid_constant__ csell_lists A, const __grid_constant__ way W,
             const real *__restrict__ x, const __grid_constant__ result out) {
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    const unsigned at = take_codebook(A, W.has_codebook, codebook);
    const int warp = (int)((blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / WARP);
    int s = warp * W.group;
    const int end = min(s + W.group, (int)A.nslices);
    if (s >= end) return;
    csell_listed next = head_at(A, s);
#pragma unroll 1
    for (; s < end; s++) {
        const csell_listed h = next;
        if (s + 1 < end) next = head_at(A, s + 1);
        const idx i = s * CSELL_ROWS + (idx)(threadIdx.x % WARP);
        const operand o = operand_of(x, i, at, W.policy);
        real sum = multiply_slice<FEW>(A, h, o);
        if (i < A.s.rows) put_row(out, i, sum);
    }
}

/* ---- lists of one length --------------------------------------------------------------------- */

/* Bytes of a whole slice's values, if adjacent to those of the next slice. */
template <int VALUE, int N> static __host__ __device__ constexpr int whole_bytes() {
    return VALUE == CSELL_VALUE_STEP ? 0 : N * WARP * csell_value_size(VALUE);
}

template <int VALUE, int N> struct short_list { /* a list of N steps in registers */
    idx j[N];
    real a[VALUE == CSELL_VALUE_STEP ? N : 1];

    __device__ __forceinline__ short_list(const csell_lists &A, int list) {
#pragma unroll
        for (int u = 0; u < N; u++) {
            j[u] = __ldg(A.base + list + u);
            if (VALUE == CSELL_VALUE_STEP) a[u] = __ldg(A.step_value + list + u);
        }
    }
};

typedef struct whole_run { /* a lane's state for consecutive whole slices with one list */
    const real *x;         /* address of x for the lane's row in the first slice */
    idx i;                 /* the lane's row in the first slice */
    const uint8_t *value;
    int slices;
} whole_run;

/* Multiplies MANY slices at once. */
template <int VALUE, int N, int MANY>
static __device__ __forceinline__ void
put_slices(const short_list<VALUE, N> &list, const operand &o, const result &out, whole_run *r) {
    const int lane = threadIdx.x % WARP;
    unsigned code[MANY][N];
    csell_raw<VALUE> raw[MANY][N];
    real xj[MANY][N];
#pragma unroll
    for (int m = 0; m < MANY; m++) {
        const uint8_t *value = r->value + m * whole_bytes<VALUE, N>();
        if (VALUE == VALUE_CODEBOOK) load_codes<N>(value, 0, o.policy, code[m]);
        if (VALUE == VALUE_RAW || VALUE == VALUE_F32)
#pragma unroll
            for (int u = 0; u < N; u++) raw[m][u].load(value, u * WARP + lane, o.policy);
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
                     : VALUE == VALUE_CODEBOOK ? decoded<VALUE_CODEBOOK>(code[m][u], o.codebook)
                                               : raw[m][u].value(o.codebook);
            sum = fma(a, xj[m][u], sum);
        }
        put_row(out, r->i + m * WARP, sum);
    }
    r->x += MANY * WARP, r->i += MANY * WARP, r->value += MANY * whole_bytes<VALUE, N>();
    r->slices -= MANY;
}

/* Multiplies one of the few other slices: smaller code, with more waiting. */
template <int VALUE>
static __device__ __forceinline__ real add_other(const csell_lists &A, const csell_listed &h,
                                                 const operand &o) {
    enum { SOME = 4 };
    const int nsteps = (int)(h.what >> 3);
    const uint8_t *value = A.values + h.value;
    real sum = 0;
    int k = 0;
    if (h.list < 0) return add_alone(A, h, o);
#pragma unroll 1
    for (; nsteps - k >= SOME; k += SOME)
        sum = add_batch<VALUE, false, SOME>(A, o, h.list, k, value, sum);
#pragma unroll 1
    for (; k < nsteps; k++) sum = add_batch<VALUE, false, 1>(A, o, h.list, k, value, sum);
    return sum;
}

/* Broadcasts the head that one lane holds. */
static __device__ __forceinline__ csell_listed head_of(const csell_listed &mine, int lane) {
    return {(int64_t)__shfl_sync(ALL_LANES, (unsigned long long)mine.value, lane),
            __shfl_sync(ALL_LANES, mine.list, lane), __shfl_sync(ALL_LANES, mine.what, lane)};
}

/* Resident blocks of a multiprocessor by value code and steps: short lists use fewer registers. */
static constexpr int even_blocks(int value, int steps) {
    enum { LISTED = 4 };
    const int room[][LISTED] = {{5, 5, 5, 4}, {5, 5, 5, 4}, {6, 6, 5, 4}, {6, 5, 4, 5}};
    return steps <= LISTED ? room[value][steps - 1] : LARGE_BLOCKS;
}

/* Kernel for matrices in which nearly all slices have N steps. Each lane holds one slice's head;
 * adjacent whole slices with the same list are a run, whose list stays in registers. */
template <int VALUE, int N>
static __global__ void __launch_bounds__(MOST_THREADS, even_blocks(VALUE, N))
    multiply_even(const __grid_constant__ csell_lists A, const __grid_constant__ way W,
                  const real *__restrict__ x, const __grid_constant__ result out) {
    /* with 2, registers spill */
    enum { WHOLE = N << 3 | VALUE, TOGETHER = N < CSELL_SHORT ? 2 : 1 };
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    const unsigned at = take_codebook(A, W.has_codebook, codebook);
    const int lane = threadIdx.x % WARP;
    const int first = (int)((blockIdx.x * (int64_t)blockDim.x + threadIdx.x) / WARP) * W.group;
    const int count = min(W.group, (int)A.nslices - first);
    csell_listed mine = {0, -1, 0};
    if (count <= 0) return;
    if (lane < count) mine = head_at(A, first + lane);
#pragma unroll 1
    for (int k = 0; k < count;) {
        const csell_listed h = head_of(mine, k);
        const idx i = (first + k) * CSELL_ROWS + lane;
        const operand o = operand_of(x, i, at, W.policy);
        const uint8_t *value = A.values + h.value;
        if (h.what == WHOLE) {
            bool goes_on = mine.what == WHOLE && mine.list == h.list &&
                           (VALUE == CSELL_VALUE_STEP ||
                            mine.value == h.value + (lane - k) * whole_bytes<VALUE, N>());
            unsigned ends = ~(__ballot_sync(ALL_LANES, goes_on) >> k);
            whole_run r = {o.x, i, value, ends ? __ffs((int)ends) - 1 : WARP};
            const short_list<VALUE, N> list(A, h.list);
            k += r.slices;
#pragma unroll 1
            while (r.slices >= TOGETHER) put_slices<VALUE, N, TOGETHER>(list, o, out, &r);
#pragma unroll 1
            while (r.slices > 0) put_slices<VALUE, N, 1>(list, o, out, &r);
            continue;
        }
        real sum = h.what == (WHOLE | 4) ? add_batch<VALUE, false, N>(A, o, h.list, 0, value, 0)
                                         : add_other<VALUE>(A, h, o);
        if (i < (idx)A.s.rows) put_row(out, i, sum);
        k++;
    }
}

/* ---- launch ---------------------------------------------------------------------------------- */

typedef void (*multiplier)(const csell_lists, const way, const real *, const result);

template <int VALUE> static multiplier even_multiplier(int steps) {
    switch (steps) {
    case 1: return multiply_even<VALUE, 1>;
    case 2: return multiply_even<VALUE, 2>;
    case 3: return multiply_even<VALUE, 3>;
    case 4: return multiply_even<VALUE, 4>;
    case 5: return multiply_even<VALUE, 5>;
    case 6: return multiply_even<VALUE, 6>;
    case 7: return multiply_even<VALUE, 7>;
    default: return multiply_even<VALUE, CSELL_SHORT>;
    }
}

static multiplier choose_multiplier(const csell_lists *A, const way *W) {
    if (A->even) switch (A->even_code) {
        case VALUE_RAW: return even_multiplier<VALUE_RAW>(A->even);
        case VALUE_F32: return even_multiplier<FLOATS>(A->even);
        case VALUE_CODEBOOK: return even_multiplier<VALUE_CODEBOOK>(A->even);
        default: return even_multiplier<CSELL_VALUE_STEP>(A->even);
        }
    if (W->small_blocks) return multiply<true, SMALL_BLOCKS>;
    return W->few ? multiply<true, LARGE_BLOCKS> : multiply<false, LARGE_BLOCKS>;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csell_lists *A = (const csell_lists *)p->store;
    const way *W = (const way *)p->scratch;
    int block = (int)p->choice.value[SPMV_block];
    int64_t blocks = blocks_for(A->nslices, (int64_t)(block / WARP) * W->group);
    if (blocks == 0) return SPMV_OK;
    choose_multiplier(A, W)<<<(unsigned)blocks, (unsigned)block, 0, stream_of(v)>>>(
        *A, *W, (const real *)v->x, result_of(v));
    return launched(p);
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Chooses the number of slices per warp. Slices of few steps are combined while there are enough
 * warps: nearly all resident warps must have work at least twice. */
static int choose_group(const csell_lists *A, int64_t resident) {
    enum { STEPS = 24 };
    int group = 1;
    while (group < GROUP && group * A->nsteps < STEPS * A->nslices &&
           8 * A->nslices >= 7 * 2 * group * resident)
        group *= 2;
    return group;
}

/* Chooses the variant. Smaller blocks of registers give more warps if there are few values, but not
 * with short lists, whose loads are issued at once. H200, with 64 and 40 registers: poisson2d:4000
 * few:8 158 and 160 us, box27:120 few:8 60 and 54, fem3d:60 few:8 70 and 69. */
static spmv_status prepare(spmv_plan *p) {
    enum { FEW_STEPS = 6 };
    spmv_device *d = p->device;
    const csell_lists *A = (const csell_lists *)p->store;
    way *W = (way *)calloc(1, sizeof *W);
    int sms = 0;
    if (!W) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = W;
    CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
    /* a codebook implies `few`: no slice is RAW or F32 */
    W->has_codebook = A->value_codes >> VALUE_CODEBOOK & 1;
    W->few = !(A->value_codes & (1 << VALUE_RAW | 1 << VALUE_F32));
    W->small_blocks = W->few && !A->even && A->nsteps > FEW_STEPS * A->nslices;
    W->group = choose_group(A, (int64_t)sms * (W->small_blocks ? SMALL_BLOCKS : LARGE_BLOCKS) *
                                   (MOST_THREADS / WARP));
    W->policy = policy_for(p);
    return load_kernel(p, (const void *)choose_multiplier(A, W));
}

static void release(spmv_plan *p) {
    free(p->scratch);
}

static const spmv_param params[] = {{SPMV_block, 256, 32, MOST_THREADS, WARP, true},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(csell_lists) = {
    .name = "csell_lists",
    .format = "csell_lists",
    .summary = "a warp some slices of csell values that share lists of columns",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .prepare = prepare,
    .run = run,
    .release = release,
};
