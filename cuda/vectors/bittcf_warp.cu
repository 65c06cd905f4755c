/* bittcf_warp: several vectors times tiles of BitTCF by tensor cores: a warp multiplies a share of
 * the tiles.
 *
 * Source   Wang, Feng and Ding, USENIX ATC 2023, "TC-GNN": windows whose columns are listed once;
 *          Fan, Wang and Chu, ASPLOS 2024, "DTC-SpMM"; Zhao and others, PPoPP 2025, "Acc-SpMM": bit
 *          masks and packed values. Here in f64, with equal shares, and exact for infinite x.
 * Reads    bittcf: tile_ptr[windows + 1], col_idx[4 tiles], mask[tiles], values[nnz]; x[cols x k];
 *          y[rows x k] only if beta != 0; the plan's list of shares.
 * Writes   y[rows x k], each entry once.
 * Work     A warp has the tiles of some windows of 8 rows and 8, 16, 32 or 64 vectors. Of each tile
 *          (8 x 4) it loads values where the mask has bits, four rows of x, and multiplies them by
 *          mma.m8n8k4 in f64, also if values are f32. Long windows are cut, and another launch
 *          adds their parts, in order. A slot without a value multiplies x by 0; where that gave
 *          NaN, because x is not finite, the rest of the share is summed value by value. Columns
 *          of x become rows first.
 * Cost     2 k nnz flop; nnz sizeof real + 20 tiles + k (cols + rows) sizeof real bytes if x is
 *          read once; a row of x is read once for each window that uses it.
 * Weak     Windows whose rows share no columns: tiles have four values each; one vector.
 * Repeats  bitwise: yes.
 * Params   block: threads per block (128).
 */
#include "bittcf_shares.cuh"
#include "cuda/cache_policy.cuh"
#include "cuda/vectors.cuh"
#include <limits.h>
#include <type_traits>

enum {
    CHUNK = WARP,      /* tiles whose masks and columns a warp loads at once, one per lane */
    TURNS = 16,        /* threads per vector that add the parts of a row */
    MOST_THREADS = 128 /* threads per block of the product, at most */
};

typedef struct operands { /* operands of one launch */
    bittcf A;
    vectors v;
    shares all;
    cache_policy policy;
} operands;

/* Ways to load a row of x: PAIRS: aligned pairs of whole tiles; NUMBERS: element by element;
 * FAR_NUMBERS: element by element with 64-bit offsets, for rows over 4 GB apart. */
enum reading { PAIRS, NUMBERS, FAR_NUMBERS };

template <class T> struct pair_of;
template <> struct pair_of<double> { typedef double2 type; };
template <> struct pair_of<float> { typedef float2 type; };

/* shared memory of a warp: the current chunk of tiles */
typedef struct __align__(16) chunk {
    idx col[BITTCF_COLS][CHUNK];
    uint32_t mask[CHUNK], value[CHUNK]; /* mask, and index of the first value relative to the
                                           share, of each tile */
}
chunk;

/* C += A B for one tile. If q = lane / 4 and r = lane % 4, a lane has A[q][r], B[r][q], c[i] =
 * C[q][2r + i]. */
static __device__ __forceinline__ void multiply_tile(double (&c)[2], double a, double b) {
    NV_IF_TARGET(NV_PROVIDES_SM_80,
                 (asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, "
                      "{%0, %1};"
                      : "+d"(c[0]), "+d"(c[1])
                      : "d"(a), "d"(b));))
}

/* Returns the vector in column lane / 4 of tile n. Columns of two tiles alternate, so that a lane
 * loads pairs. */
template <int N> static __device__ __forceinline__ int column_of(int n, int lane) {
    return N == 1 ? lane / 4 : n / 2 * 2 * N_TILE + lane / 4 * 2 + n % 2;
}

/* Loads a lane's elements of row j of x. at[n]: address of element n of row 0; PAIRS: at[0]
 * only. */
template <int N, reading HOW, int LOADS>
static __device__ __forceinline__ void load_row(const vectors &v, const char *const (&at)[LOADS],
                                                idx j, double (&b)[N]) {
    typedef typename pair_of<real>::type pair;
    if (HOW == PAIRS && N > 1) {
        const pair *from = (const pair *)(at[0] + (uint64_t)(uint32_t)j * v.row_bytes);
#pragma unroll
        for (int n = 0; n < N / 2; n++) {
            const pair both = __ldg(from + n * N_TILE);
            b[2 * n] = (double)both.x, b[2 * n + 1] = (double)both.y;
        }
    } else {
#pragma unroll
        for (int n = 0; n < LOADS; n++)
            b[n] = (double)__ldg((const real *)(HOW == FAR_NUMBERS
                                                    ? at[n] + j * v.at_x.row * sizeof(real)
                                                    : at[n] + (uint64_t)(uint32_t)j * v.row_bytes));
    }
}

/* Sums the values in row `row` of tiles first to end - 1, times vector c, without empty slots. */
static __device__ double sum_values(const operands &o, int64_t first, int64_t end, int row, int c) {
    const real *x = o.v.x + c * o.v.at_x.vector;
    double sum = 0;
    for (int64_t t = first; t < end; t++) {
        const uint32_t mask = o.A.mask[t];
        const real *value =
            o.A.values + o.A.value_ptr[t] + __popc(mask & ((1u << row * BITTCF_COLS) - 1));
        for (int q = 0; q < BITTCF_COLS; q++)
            if (mask >> (row * BITTCF_COLS + q) & 1)
                sum = fma((double)*value++,
                          (double)x[o.A.col_idx[t * BITTCF_COLS + q] * o.v.at_x.row], sum);
    }
    return sum;
}

/* Returns the index of the part that share s has of a cut window. */
static __device__ __forceinline__ int64_t part_of(const operands &o, int64_t s, idx window) {
    const share begin = o.all.list[s];
    return begin.part / 2 + (begin.part % 2 && window > begin.window);
}

/* Multiplies share s value by value from window `window` on, so that slots without a value cannot
 * turn infinite x into NaN. */
static __device__ __attribute__((noinline)) void finish_exactly(const operands &o, int64_t s,
                                                                idx window) {
    const int lane = threadIdx.x % WARP, r = lane / 4;
    const int64_t end = o.all.list[s + 1].tile;
    int64_t first = max(o.all.list[s].tile, o.A.tile_ptr[window]);
    for (; first < end; window++) {
        const int64_t begin = o.A.tile_ptr[window], behind = o.A.tile_ptr[window + 1];
        const int64_t last = min(behind, end), row = bittcf_row(&o.A, window, r);
        for (int c = lane % 4; c < o.v.count && row < o.A.s.rows; c += 4) {
            const double sum = sum_values(o, first, last, r, c);
            if (begin < first || behind > end)
                o.all.partial[(part_of(o, s, window) * BITTCF_ROWS + r) * MOST_COLUMNS + c] = sum;
            else
                put_number(o.v, row, c, (real)sum);
        }
        first = last;
    }
}

/* Writes a lane's sums of a row of a window to z, or to the partial sums if share s has only a part
 * of the window; then sets the sums to 0. If a sum is NaN, only returns false. */
template <int N>
static __device__ __forceinline__ bool put_window(const operands &o, double (&sum)[N][2],
                                                  idx window, int64_t row, bool is_part,
                                                  int64_t s) {
    enum { EACH = N == 1 ? 2 : 4, APART = N == 1 ? N_TILE : 2 * N_TILE };
    const int lane = threadIdx.x % WARP, r = lane / 4;
    bool is_nan = false;
#pragma unroll
    for (int k = 0; k < 2 * N; k++) is_nan |= sum[k / 2][k % 2] != sum[k / 2][k % 2];
    if (__any_sync(ALL_LANES, is_nan)) return false;
    double *partial = NULL;
    if (is_part) partial = o.all.partial + (part_of(o, s, window) * BITTCF_ROWS + r) * MOST_COLUMNS;
#pragma unroll
    for (int k = 0; k < 2 * N; k += EACH) {
        const int c = k / EACH * APART + lane % 4 * EACH;
        double out[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) out[i] = N == 1 ? sum[0][i] : sum[k / 4 * 2 + i % 2][i / 2];
        if (is_part) {
#pragma unroll
            for (int i = 0; i < EACH; i++) partial[c + i] = out[i];
        } else if (row < o.A.s.rows) {
            enum { TOGETHER = EACH < SIDE ? EACH : SIDE };
#pragma unroll
            for (int i = 0; i < EACH; i += TOGETHER) {
                real some[TOGETHER];
#pragma unroll
                for (int s = 0; s < TOGETHER; s++) some[s] = (real)out[i + s];
                put_numbers<TOGETHER>(o.v, row, c + i, some);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < 2 * N; k++) sum[k / 2][k % 2] = 0;
    return true;
}

/* Returns a bit mask of the tiles from `first` on with which a window ends. The first tile belongs
 * to `window`. */
static __device__ __forceinline__ uint32_t ends_of_windows(const bittcf &A, int64_t window,
                                                           ofs first, int lane) {
    const uint64_t end = window + lane < A.windows
                             ? (uint64_t)__ldg(A.tile_ptr + window + lane + 1) - first - 1
                             : CHUNK;
    return (uint32_t)warp_total(end < CHUNK ? (int)(1u << end) : 0);
}

/* position of a warp in its share */
typedef struct position {
    int64_t share;
    idx window;
    idx part;           /* window that began in an earlier share; -1: none */
    idx near, near_row; /* near_row: rows of the windows from `near` on, one per lane */
} position;

static __device__ __forceinline__ void load_rows(const bittcf &A, position *at, int lane) {
    const int64_t i = (int64_t)at->window * BITTCF_ROWS + lane;
    at->near = at->window;
    at->near_row = A.s.order && i < A.s.rows ? __ldg(A.s.order + i) : INT_MAX;
}

/* Returns the lane's row of the current window; a value of at least A.s.rows if there is no row. */
static __device__ __forceinline__ int64_t row_of(const bittcf &A, position *at, int lane) {
    if (!A.s.order) return (int64_t)at->window * BITTCF_ROWS + lane / 4;
    if (at->window - at->near >= WARP / BITTCF_ROWS) load_rows(A, at, lane);
    return __shfl_sync(ALL_LANES, at->near_row, (at->window - at->near) * BITTCF_ROWS + lane / 4);
}

/* Writes a window's sums and advances to the next window. Returns false if a sum was NaN: the whole
 * rest of the share has then been multiplied value by value. */
template <int N>
static __device__ __forceinline__ bool end_window(const operands &o, position *at,
                                                  double (&sum)[N][2], bool is_part, int lane) {
    if (!put_window<N>(o, sum, at->window, row_of(o.A, at, lane), is_part, at->share)) {
        finish_exactly(o, at->share, at->window);
        return false;
    }
    at->window++;
    return true;
}

/* Loads the chunk from tile `first` on, which has `left` tiles; lanes beyond them repeat the last
 * tile's columns. value: values of the share before the chunk. Returns the chunk's values. */
static __device__ __forceinline__ uint32_t load_chunk(const operands &o, chunk *c, ofs first,
                                                      int left, uint32_t value, int lane) {
    const int64_t t = (int64_t)first + min(lane, left - 1);
    const uint32_t mask = lane < left ? load_once(o.A.mask + t, o.policy) : 0;
    const int4 col = load_once((const int4 *)o.A.col_idx + t, o.policy);
    uint32_t before = __popc(mask);
#pragma unroll
    for (int step = 1; step < CHUNK; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, before, step);
        if (lane >= step) before += other;
    }
    __syncwarp(); /* all lanes have read the last chunk */
    c->mask[lane] = mask, c->value[lane] = value + before - __popc(mask);
    c->col[0][lane] = col.x, c->col[1][lane] = col.y;
    c->col[2][lane] = col.z, c->col[3][lane] = col.w;
    __syncwarp();
    return __shfl_sync(ALL_LANES, before, WARP - 1);
}

/* Copies 32-bit words, two or four at a time. */
template <class T, int DEPTH>
static __device__ __forceinline__ void copy_words(const T *from, T (&to)[DEPTH]) {
    typedef typename std::conditional<DEPTH % 4 == 0, int4, int2>::type words;
    static_assert(sizeof(T) == 4 && DEPTH % 2 == 0, "8 or 16 bytes at a time");
#pragma unroll
    for (int u = 0; u < DEPTH; u += (int)(sizeof(words) / 4))
        *(words *)(to + u) = *(const words *)(from + u);
}

/* Returns the resident blocks of a multiprocessor that leave enough registers to avoid spills. More
 * warps are faster, since warps wait for rows of x. */
static constexpr int blocks_per_sm(int n) {
    return n == 1 ? 6 : n == 2 ? 7 : n == 4 ? 6 : 4;
}

/* Loads a lane's value of a tile (0: empty slot) and its elements of the rows of x. */
template <int N, reading HOW, int LOADS>
static __device__ __forceinline__ void
load_operands(const operands &o, const char *const (&x)[LOADS], const real *values, idx col,
              uint32_t mask, uint32_t value, uint32_t bit, uint32_t below, double *a,
              double (&b)[N]) {
    load_row<N, HOW, LOADS>(o.v, x, col, b);
    *a = 0;
    if (mask & bit) *a = (double)load_once(values + (value + __popc(mask & below)), o.policy);
}

/* Multiplies shares of tiles. Lanes beyond the last vector load vector 0, which always exists. If
 * WAITS, DEPTH tiles in which two windows end are multiplied one by one, which leaves registers for
 * writing the sums. */
template <int N, int DEPTH, reading HOW>
static __global__ void __launch_bounds__(MOST_THREADS, blocks_per_sm(N))
    multiply(const __grid_constant__ operands o) {
    enum { LOADS = HOW == PAIRS ? 1 : N, WAITS = N == 2 };
    extern __shared__ chunk chunks[]; /* one for each warp */
    const int lane = threadIdx.x % WARP;
    position at;
    at.share = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP;
    if (at.share >= o.all.n) return; /* the whole warp */
    const share begin = o.all.list[at.share];
    const int tiles = (int)(o.all.list[at.share + 1].tile - begin.tile);
    if (tiles == 0) return;
    at.window = begin.window;
    at.part = begin.part % 2 ? begin.window : -1;
    load_rows(o.A, &at, lane);

    const char *x[LOADS];
#pragma unroll
    for (int n = 0; n < LOADS; n++) {
        const int c = column_of<N>(n, lane);
        x[n] = (const char *)(o.v.x + (c < o.v.count ? c : 0));
    }
    double sum[N][2];
#pragma unroll
    for (int k = 0; k < 2 * N; k++) sum[k / 2][k % 2] = 0;
    uint32_t bit = 1u << lane, below = bit - 1;
    const real *values = o.A.values + begin.value;
    asm("" : "+l"(values)); /* computed once: the compiler would add begin.value to each index */
    asm("" : "+r"(bit), "+r"(below));
    chunk &c = chunks[threadIdx.x / WARP];
    const idx *col = c.col[lane % BITTCF_COLS];
    uint32_t value = 0, ends = 0;
#pragma unroll 1
    for (int t = 0; t < tiles; t += CHUNK) {
        const int left = min(tiles - t, (int)CHUNK);
        ends = ends_of_windows(o.A, at.window, begin.tile + t, lane) & ALL_LANES >> (CHUNK - left);
        value += load_chunk(o, &c, begin.tile + t, left, value, lane);
#pragma unroll 1 /* larger code exceeds the instruction cache and takes a third longer */
        for (int h = 0; h < left; h += DEPTH) {
            const uint32_t ends_here = ends >> h & ((1u << DEPTH) - 1);
            if (WAITS && ends_here & (ends_here - 1)) {
#pragma unroll 1
                for (int k = h; k < h + DEPTH; k++) {
                    double a, b[N];
                    load_operands<N, HOW, LOADS>(o, x, values, col[k], c.mask[k], c.value[k], bit,
                                                 below, &a, b);
#pragma unroll
                    for (int n = 0; n < N; n++) multiply_tile(sum[n], a, b[n]);
                    if (ends >> k & 1 && !end_window<N>(o, &at, sum, at.window == at.part, lane))
                        return;
                }
                continue;
            }
            double a[DEPTH], b[DEPTH][N], done[WAITS ? N : 1][2];
            __align__(16) idx j[DEPTH];
            __align__(16) uint32_t m[DEPTH], v[DEPTH];
            copy_words(col + h, j);
            copy_words(c.mask + h, m);
            copy_words(c.value + h, v);
#pragma unroll
            for (int u = 0; u < DEPTH; u++)
                load_operands<N, HOW, LOADS>(o, x, values, j[u], m[u], v[u], bit, below, &a[u],
                                             b[u]);
#pragma unroll
            for (int u = 0; u < DEPTH; u++) {
#pragma unroll
                for (int n = 0; n < N; n++) multiply_tile(sum[n], a[u], b[u][n]);
                if (!(ends_here >> u & 1)) continue;
                if (!WAITS) {
                    if (!end_window<N>(o, &at, sum, at.window == at.part, lane)) return;
                    continue;
                }
                asm volatile(""); /* forces a branch instead of predicated moves */
#pragma unroll
                for (int k = 0; k < (WAITS ? 2 * N : 0); k++) {
                    done[k / 2][k % 2] = sum[k / 2][k % 2];
                    sum[k / 2][k % 2] = 0;
                }
            }
            if (WAITS && ends_here && !end_window(o, &at, done, at.window == at.part, lane)) return;
        }
    }
    if (!(ends >> (tiles - 1) % CHUNK & 1)) end_window<N>(o, &at, sum, true, lane);
}

/* Writes the rows of a matrix without nonzeros, for which x may have no rows. */
static __global__ void put_empty_rows(const __grid_constant__ operands o) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < o.A.s.rows * o.v.count) put_number(o.v, i / o.v.count, (int)(i % o.v.count), 0);
}

/* Adds the parts of a row of a cut window, in a fixed order. */
static __global__ void join_parts(const __grid_constant__ operands o) {
    __shared__ double some[TURNS][MOST_COLUMNS];
    const int c = threadIdx.x, turn = threadIdx.y, r = blockIdx.x % BITTCF_ROWS;
    const cut_window cut = o.all.cut[blockIdx.x / BITTCF_ROWS];
    const int64_t row = bittcf_row(&o.A, cut.window, r);
    const double *from = o.all.partial + ((int64_t)cut.first * BITTCF_ROWS + r) * MOST_COLUMNS + c;
    double sum = 0;
#pragma unroll 8
    for (uint32_t q = turn; q < cut.parts; q += TURNS)
        sum += from[(int64_t)q * BITTCF_ROWS * MOST_COLUMNS];
    some[turn][c] = sum;
    __syncthreads();
    if (turn > 0 || c >= o.v.count || row >= o.A.s.rows) return;
    for (int q = 1; q < TURNS; q++) sum += some[q][c];
    put_number(o.v, row, c, (real)sum);
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Upper bound of the workspace: the smallest shares, each with a part of a cut window. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    const int64_t tiles = bittcf_most_tiles(A->rows, A->nnz);
    (void)c;
    const size_t n = (size_t)blocks_for(tiles, LEAST_SHARE);
    const size_t part = BITTCF_ROWS * MOST_COLUMNS * sizeof(double);
    return sizeof(shares) + (n + 1) * sizeof(share) + n * (sizeof(cut_window) + 2 * part);
}

static spmv_status prepare(spmv_plan *p) {
    const bittcf *A = (const bittcf *)p->store;
    const int capability = ((const cuda_state *)p->device->state)->capability;
    shares *all = (shares *)calloc(1, sizeof *all);
    int64_t *count = NULL;
    int sms;
    p->scratch = all;
    if (!all) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *all;
    if (capability < 800)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "bittcf_warp multiplies f64 on tensor cores, which sm_80 and newer GPUs "
                         "have; this one is sm_%d: csr_vectors",
                         capability / 10);
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, p->device->number));
    all->size = share_size(A->tiles, A->windows, sms, p->vectors);
    all->n = blocks_for(A->tiles, all->size);
    if (all->n == 0) return SPMV_OK;
    TRY(take_scratch(p, (size_t)(all->n + 1) * sizeof *all->list, (void **)&all->list));
    TRY(p->device->backend->alloc(p->device, (size_t)(all->n + 1) * sizeof *count,
                                  (void **)&count));
    const spmv_status status = find_parts(p, all, count);
    p->device->backend->release(p->device, count);
    return status;
}

static void release(spmv_plan *p) {
    shares *all = (shares *)p->scratch;
    if (!all) return;
    p->device->backend->release(p->device, all->list);
    p->device->backend->release(p->device, all->cut);
    p->device->backend->release(p->device, all->partial);
    free(all);
}

template <int N, int DEPTH>
static spmv_status launch(const spmv_plan *p, operands o, cudaStream_t stream) {
    const int threads = (int)p->choice.value[SPMV_block];
    const uint64_t row_bytes = (uint64_t)o.v.at_x.row * sizeof(real);
    const bool is_far = row_bytes > UINT32_MAX;
    o.v.row_bytes = (uint32_t)row_bytes; /* a single vector is a column, whose rows are single
                                            elements */
    const unsigned blocks = (unsigned)blocks_for(o.all.n, threads / WARP);
    auto kernel = o.v.x_whole && o.v.count == N * N_TILE ? multiply<N, DEPTH, PAIRS>
                  : is_far                               ? multiply<N, DEPTH, FAR_NUMBERS>
                                                         : multiply<N, DEPTH, NUMBERS>;
    const size_t shared = (size_t)(threads / WARP) * sizeof(chunk);
    kernel<<<blocks, (unsigned)threads, shared, stream>>>(o);
    if (o.all.cuts > 0)
        join_parts<<<(unsigned)(o.all.cuts * BITTCF_ROWS),
                     dim3((unsigned)(1 << exponent_of(o.v.count)), TURNS), 0, stream>>>(o);
    return launched(p);
}

/* Multiplies the v.count vectors of v. */
static spmv_status run_some(const spmv_plan *p, const vectors &v, cudaStream_t stream) {
    const operands o = {*(const bittcf *)p->store, v, *(const shares *)p->scratch, policy_for(p)};
    if (o.A.s.nnz == 0) {
        put_empty_rows<<<blocks_of(o.A.s.rows * v.count), THREADS, 0, stream>>>(o);
        return launched(p);
    }
    return v.count <= N_TILE       ? launch<1, 8>(p, o, stream)
           : v.count <= 2 * N_TILE ? launch<2, 4>(p, o, stream)
           : v.count <= 4 * N_TILE ? launch<4, 2>(p, o, stream)
                                   : launch<8, 2>(p, o, stream);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    return run_in_batches(p, v, MOST_COLUMNS, run_some);
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    return run_in_rows(p, v, run_some);
}

static const spmv_param params[] = {{SPMV_block, 128, WARP, MOST_THREADS, WARP, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(bittcf_warp) = {
    .name = "bittcf_warp",
    .format = "bittcf",
    .summary = "several vectors by tensor cores: rows of x are read once a window of 8 rows",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PANEL,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .run_columns = run_columns,
    .run_rows = run,
    .release = release,
};
