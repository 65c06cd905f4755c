/* bittcf_warp: several vectors times tiles of BitTCF by tensor cores: a warp multiplies a share of
 * the tiles.
 *
 * Source   Wang, Feng and Ding, USENIX ATC 2023, "TC-GNN": windows whose columns are listed once;
 *          Fan, Wang and Chu, ASPLOS 2024, "DTC-SpMM"; Zhao and others, PPoPP 2025, "Acc-SpMM": bit
 *          masks and packed values. Here in f64, with equal shares, and exact for infinite x.
 * Reads    bittcf: tile_ptr[windows + 1], col_idx[4 tiles], mask[tiles], values[nnz]; x[cols x k];
 *          y[rows x k] only if beta != 0; the plan's list of shares.
 * Writes   y[rows x k], each entry once.
 * Work     A warp has the tiles of some windows of 8 rows and 8, 16 or 32 vectors; other warps
 *          have the other vectors. Of each tile (8 x 4) it loads values where the mask has bits,
 *          four rows of x, and multiplies them by mma.m8n8k4 in f64, also if values are f32. Long
 *          windows are cut, and another launch adds their parts, in order. A slot without a value
 *          multiplies x by 0; where that gave NaN, because x is not finite, the rest of the share
 *          is summed value by value. Columns of x become rows first.
 * Cost     2 k nnz flop; nnz sizeof real + 20 tiles + k (cols + rows) sizeof real bytes if x is
 *          read once; a row of x is read once for each window that uses it.
 * Weak     Windows whose rows share no columns: tiles have four values each; one vector.
 * Repeats  bitwise: yes.
 * Params   block: threads per block (64); tile: vectors of a warp, 8, 16 or 32 (0: 8 or 16, by k);
 *          chunk: tiles of a share (0: by their number).
 */
#include "cuda/build.cuh"
#include "cuda/cache_policy.cuh"
#include "cuda/vectors.cuh"
#include "formats/bittcf/bittcf.h"
#include <limits.h>

enum {
    CHUNK = 8,                   /* tiles whose masks and columns a warp loads at once */
    SLOTS = CHUNK * BITTCF_COLS, /* columns of these tiles: one per lane */
    N_TILE = 8,                  /* vectors that one mma multiplies */
    MOST_COLUMNS = 64,           /* vectors of one launch */
    LEAST_SHARE = CHUNK,         /* tiles per share, at least and at most */
    MOST_SHARE = 8 * CHUNK,
    LONG = 2,           /* in shares: a longer window is cut */
    WARPS_PER_SM = 64,  /* shares that keep a multiprocessor busy */
    TURNS = 16,         /* threads that add the parts of a row, for each vector */
    MOST_THREADS = 128, /* threads per block of the product, at most */
    THREADS = 256       /* threads per block of the kernel that lists shares */
};

/* Says where a share begins. */
typedef struct share {
    ofs tile, value; /* first ones */
    idx window;      /* the window in which the first tile lies */
    uint32_t part;   /* 2 * parts in front + 1 if the window began in an earlier share */
} share;

typedef struct cut_window { /* a window whose parts several shares have */
    uint32_t first, parts;
    idx window;
} cut_window;

typedef struct shares {
    int64_t n, size; /* shares; tiles per share, unless a window end is near */
    share *list;     /* [n + 1] */
    int64_t parts, cuts;
    cut_window *cut; /* [cuts] */
    double *partial; /* [parts x BITTCF_ROWS x MOST_COLUMNS] sums of the parts */
} shares;

typedef struct operands { /* operands of one launch */
    bittcf A;
    vectors v;
    shares all;
    int slices; /* warps that multiply the same tiles by different vectors */
    cache_policy policy;
} operands;

/* Loads of a row of x: aligned pairs; one by one; one by one from rows over 4 GB apart. */
enum reading { PAIRS, NUMBERS, FAR_NUMBERS };

template <class T> struct pair_of;
template <> struct pair_of<double> { typedef double2 type; };
template <> struct pair_of<float> { typedef float2 type; };

/* What the lanes of a warp exchange about a chunk. */
typedef struct __align__(16) chunk {
    idx col[BITTCF_COLS][CHUNK];
    uint32_t mask[WARP], value[WARP]; /* [CHUNK] in use: a tile's mask and first value */
}
chunk;

/* C += A B. If q = lane / 4, r = lane % 4, a lane has A[q][r], B[r][q], c[i] = C[q][2r + i]. */
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

/* Loads a lane's numbers of row j of x. at[n]: address of number or pair n of row 0. */
template <int N, reading HOW, int LOADS>
static __device__ __forceinline__ void load_row(const vectors &v, const char *const (&at)[LOADS],
                                                idx j, double (&b)[N]) {
#pragma unroll
    for (int n = 0; n < LOADS; n++) {
        const char *from = HOW == FAR_NUMBERS ? at[n] + j * v.at_x.row * sizeof(real)
                                              : at[n] + (uint64_t)(uint32_t)j * v.row_bytes;
        if (LOADS == N) {
            b[n] = (double)__ldg((const real *)from);
        } else {
            const typename pair_of<real>::type both =
                __ldg((const typename pair_of<real>::type *)from);
            b[2 * n] = (double)both.x, b[2 * n + 1] = (double)both.y;
        }
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

/* Multiplies share s value by value from window `window` on, for vectors c0 to c1 - 1, so that
 * slots without a value cannot turn infinite x into NaN. */
static __device__ __attribute__((noinline)) void finish_exactly(const operands &o, int64_t s,
                                                                int c0, int c1, idx window) {
    const int lane = threadIdx.x % WARP, r = lane / 4;
    const int64_t end = o.all.list[s + 1].tile;
    int64_t first = max(o.all.list[s].tile, o.A.tile_ptr[window]);
    c1 = min(c1, o.v.count);
    for (; first < end; window++) {
        const int64_t begin = o.A.tile_ptr[window], behind = o.A.tile_ptr[window + 1];
        const int64_t last = min(behind, end), row = (int64_t)window * BITTCF_ROWS + r;
        for (int c = c0 + lane % 4; c < c1 && row < o.A.s.rows; c += 4) {
            const double sum = sum_values(o, first, last, r, c);
            if (begin < first || behind > end)
                o.all.partial[(part_of(o, s, window) * BITTCF_ROWS + r) * MOST_COLUMNS + c] = sum;
            else
                put_number(o.v, row, c, (real)sum);
        }
        first = last;
    }
}

/* Writes a lane's sums of a window, for vectors from c0 on, to z, or to the partial sums if share s
 * has only a part of the window; then sets the sums to 0. If a sum is NaN, only returns false. */
template <int N>
static __device__ __forceinline__ bool put_window(const operands &o, double (&sum)[N][2], int c0,
                                                  idx window, bool is_part, int64_t s) {
    enum { EACH = N == 1 ? 2 : 4, APART = N == 1 ? N_TILE : 2 * N_TILE };
    const int lane = threadIdx.x % WARP, r = lane / 4;
    const int64_t row = (int64_t)window * BITTCF_ROWS + r;
    bool is_nan = false;
#pragma unroll
    for (int k = 0; k < 2 * N; k++) is_nan |= sum[k / 2][k % 2] != sum[k / 2][k % 2];
    if (__any_sync(ALL_LANES, is_nan)) return false;
    double *partial = NULL;
    if (is_part) partial = o.all.partial + (part_of(o, s, window) * BITTCF_ROWS + r) * MOST_COLUMNS;
#pragma unroll
    for (int k = 0; k < 2 * N; k += EACH) {
        const int c = c0 + k / EACH * APART + lane % 4 * EACH;
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

/* Returns where a window ends, in tiles from `first` on; INT_MAX if there is no such window. */
static __device__ __forceinline__ int end_of_window(const bittcf &A, int64_t window, ofs first) {
    return window < A.windows
               ? (int)min((int64_t)__ldg(A.tile_ptr + window + 1) - first, (int64_t)INT_MAX)
               : INT_MAX;
}

/* Load a lane's mask and column of the chunk from tile `first` on; only `left` tiles exist. */
static __device__ __forceinline__ uint32_t load_mask(const operands &o, ofs first, int left,
                                                     int lane) {
    return lane < min(left, (int)CHUNK) ? load_once(o.A.mask + first + lane, o.policy) : 0;
}
static __device__ __forceinline__ idx load_column(const operands &o, ofs first, int left,
                                                  int lane) {
    return lane < left * BITTCF_COLS
               ? load_once(o.A.col_idx + (int64_t)first * BITTCF_COLS + lane, o.policy)
               : 0;
}

/* Copies numbers of 32 bits, four at a time. */
template <class T, int DEPTH>
static __device__ __forceinline__ void copy_words(const T *from, T (&to)[DEPTH]) {
    static_assert(sizeof(T) == 4 && DEPTH % 4 == 0, "16 bytes at a time");
#pragma unroll
    for (int u = 0; u < DEPTH; u += 4) *(int4 *)(to + u) = *(const int4 *)(from + u);
}

/* Returns how many of the largest blocks share a multiprocessor's registers without spills. */
static constexpr int blocks_per_sm(int n) {
    return n == 1 ? 6 : n == 2 ? 5 : 4;
}

/* Lanes beyond the last vector load vector 0, which always exists. */
template <int N, int DEPTH, reading HOW>
static __global__ void __launch_bounds__(MOST_THREADS, blocks_per_sm(N))
    multiply(const __grid_constant__ operands o) {
    enum { LOADS = HOW == PAIRS ? (N + 1) / 2 : N };
    extern __shared__ chunk chunks[]; /* two per warp */
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    const int64_t s = (int64_t)(blockIdx.x / o.slices) * warps + threadIdx.x / WARP;
    const int c0 = blockIdx.x % o.slices * N * N_TILE;
    if (s >= o.all.n) return; /* the whole warp returns */
    const share begin = o.all.list[s];
    const ofs end = o.all.list[s + 1].tile;
    if (begin.tile == end) return;

    const char *x[LOADS];
#pragma unroll
    for (int n = 0; n < LOADS; n++) {
        const int c = c0 + column_of<N>(N / LOADS * n, lane);
        x[n] = (const char *)(o.v.x + (c < o.v.count ? c : 0));
    }
    double sum[N][2];
#pragma unroll
    for (int k = 0; k < 2 * N; k++) sum[k / 2][k % 2] = 0;
    uint32_t bit = 1u << lane, below = bit - 1;
    const real *values = o.A.values + begin.value;
    asm("" : "+l"(values)); /* computed once: the compiler would add begin.value to each index */
    asm("" : "+r"(bit), "+r"(below));
    const int tiles = (int)(end - begin.tile);
    int t = 0; /* the first tile of the chunk */
    uint32_t value = 0;
    idx window = begin.window, listed = window;
    const idx part = begin.part % 2 ? window : -1; /* the window that began in an earlier share */
    int window_end = end_of_window(o.A, listed + lane, begin.tile);
    uint32_t mask = load_mask(o, begin.tile, tiles, lane);
    idx col = load_column(o, begin.tile, tiles, lane);
    int ends;
#pragma unroll 1
    for (;; t += CHUNK) {
        chunk &c = chunks[threadIdx.x / WARP * 2 + t / CHUNK % 2];
        const int left = tiles - t;
        uint32_t before = __popc(mask);
#pragma unroll
        for (int step = 1; step < CHUNK; step *= 2) {
            const uint32_t other = __shfl_up_sync(ALL_LANES, before, step);
            if (lane >= step) before += other;
        }
        c.mask[lane] = mask, c.value[lane] = value + before - __popc(mask);
        c.col[lane % BITTCF_COLS][lane / BITTCF_COLS] = col;
        value += __shfl_sync(ALL_LANES, before, CHUNK - 1);
        const unsigned ends_at = (unsigned)(window_end - 1 - t);
        ends = warp_total(ends_at < min(left, (int)CHUNK) ? 1 << ends_at : 0);
        mask = load_mask(o, begin.tile + t + CHUNK, left - CHUNK, lane);
        col = load_column(o, begin.tile + t + CHUNK, left - CHUNK, lane);
        __syncwarp();
#pragma unroll 1
        for (int h = 0; h < CHUNK; h += DEPTH) {
            double a[DEPTH], b[DEPTH][N];
            __align__(16) idx j[DEPTH];
            __align__(16) uint32_t m[DEPTH], at[DEPTH];
            copy_words(c.col[lane % BITTCF_COLS] + h, j);
            copy_words(c.mask + h, m);
            copy_words(c.value + h, at);
#pragma unroll
            for (int u = 0; u < DEPTH; u++) {
                load_row<N, HOW, LOADS>(o.v, x, j[u], b[u]);
                a[u] = 0;
                if (m[u] & bit)
                    a[u] = (double)load_once(values + (at[u] + __popc(m[u] & below)), o.policy);
            }
            const int ends_here = ends >> h & ((1 << DEPTH) - 1);
            if (ends_here == 0) {
#pragma unroll
                for (int u = 0; u < DEPTH; u++)
#pragma unroll
                    for (int n = 0; n < N; n++) multiply_tile(sum[n], a[u], b[u][n]);
                continue;
            }
            for (int from = 0, stop;; from = stop + 1) { /* over the windows that end here */
                stop = DEPTH;
#pragma unroll
                for (int u = 0; u < DEPTH; u++) {
                    if (u < from) continue;
#pragma unroll
                    for (int n = 0; n < N; n++) multiply_tile(sum[n], a[u], b[u][n]);
                    if (!(ends_here >> u & 1)) continue;
                    stop = u;
                    break;
                }
                if (stop == DEPTH) break;
                if (!put_window<N>(o, sum, c0, window, window == part, s)) {
                    finish_exactly(o, s, c0, c0 + N * N_TILE, window);
                    return;
                }
                window++;
            }
        }
        if (left <= CHUNK) break;
        if (window - listed > WARP - CHUNK) {
            listed = window;
            window_end = end_of_window(o.A, listed + lane, begin.tile);
        }
    }
    if (ends >> (tiles - 1 - t) & 1) return;
    if (!put_window<N>(o, sum, c0, window, true, s))
        finish_exactly(o, s, c0, c0 + N * N_TILE, window);
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
    const int64_t row = (int64_t)cut.window * BITTCF_ROWS + r;
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

static const int64_t A_CUT = (int64_t)1 << 32; /* in a number whose lower half counts parts */

/* Returns the window in which tile t lies. */
static __device__ int64_t window_of(const bittcf &A, int64_t t) {
    int64_t low = 0, high = A.windows - 1; /* the first window that ends behind t is among these */
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (A.tile_ptr[middle + 1] > t)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Returns where share s begins: at a multiple of all.size, or behind the window in which that tile
 * lies, unless the window is long. */
static __device__ share begin_of(const bittcf &A, const shares &all, int64_t s) {
    int64_t t = s * all.size, window = A.windows;
    bool in_window = false;
    if (t < A.tiles) {
        window = window_of(A, t);
        const int64_t begin = A.tile_ptr[window], end = A.tile_ptr[window + 1];
        in_window = begin < t && end - begin > LONG * all.size;
        if (begin < t && !in_window) t = end, window++;
    } else {
        t = A.tiles;
    }
    return {(ofs)t, A.value_ptr[t], (idx)window, in_window};
}

/* Counts, in the lower half, the parts of windows that begin in share s, and in the upper half the
 * windows that are first cut at its end. */
static __global__ void find_shares(bittcf A, shares all, int64_t *count) {
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s > all.n) return;
    const share begin = begin_of(A, all, s);
    all.list[s] = begin;
    count[s] = 0;
    if (s == all.n) return;
    const share next = begin_of(A, all, s + 1);
    const bool cuts = next.part && !(begin.part && begin.window == next.window);
    count[s] = (begin.part + cuts) + cuts * A_CUT;
}

static __global__ void list_cuts(bittcf A, shares all, const int64_t *before) {
    const int64_t s = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (s > all.n) return;
    const int64_t parts = before[s] % A_CUT, cuts = before[s] / A_CUT;
    if (s < all.n && before[s + 1] / A_CUT > cuts) {
        const uint32_t first = (uint32_t)(before[s + 1] % A_CUT - 1);
        const idx window = all.list[s + 1].window;
        const int64_t last = (A.tile_ptr[window + 1] - 1) / all.size;
        all.cut[cuts] = {first, (uint32_t)(last - s + 1), window};
    }
    all.list[s].part += (uint32_t)(2 * parts);
}

static unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

static spmv_status find_parts(spmv_plan *p, shares *all, int64_t *count) {
    const bittcf *A = (const bittcf *)p->store;
    const spmv_backend *backend = p->device->backend;
    int64_t counted;
    find_shares<<<blocks_of(all->n + 1), THREADS, 0, stream_of(p)>>>(*A, *all, count);
    TRY(launched(p));
    TRY(sum_before(p->device, all->n + 1, count));
    TRY(backend->get(p->device, &counted, count + all->n, sizeof counted));
    all->parts = counted % A_CUT, all->cuts = counted / A_CUT;
    if (all->parts > 0) {
        TRY(take_scratch(p, (size_t)all->cuts * sizeof *all->cut, (void **)&all->cut));
        TRY(take_scratch(p, (size_t)all->parts * BITTCF_ROWS * MOST_COLUMNS * sizeof *all->partial,
                         (void **)&all->partial));
    }
    list_cuts<<<blocks_of(all->n + 1), THREADS, 0, stream_of(p)>>>(*A, *all, count);
    return launched(p);
}

/* Returns the tiles per share: fewer for fewer tiles, so that all multiprocessors have work. */
static int64_t share_size(const spmv_choice *c, int64_t tiles, int64_t sms) {
    const int64_t chunk = c->value[SPMV_chunk], even = tiles / (sms * WARPS_PER_SM);
    const int64_t size =
        chunk > 0 ? chunk : min(max(even, (int64_t)LEAST_SHARE), (int64_t)MOST_SHARE);
    return blocks_for(size, CHUNK) * CHUNK;
}

/* Returns an upper bound: the smallest shares, each of which has a part of a cut window. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    const int64_t tiles = bittcf_most_tiles(A->rows, A->nnz);
    const size_t n = (size_t)blocks_for(tiles, share_size(c, 0, 1));
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
    all->size = share_size(&p->choice, A->tiles, sms);
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
    o.v.row_bytes = (uint32_t)row_bytes; /* a single vector is a column, whose rows are numbers */
    o.slices = (int)blocks_for(o.v.count, N * N_TILE);
    const unsigned blocks = (unsigned)(blocks_for(o.all.n, threads / WARP) * o.slices);
    auto kernel = o.v.x_whole ? multiply<N, DEPTH, PAIRS>
                  : is_far    ? multiply<N, DEPTH, FAR_NUMBERS>
                              : multiply<N, DEPTH, NUMBERS>;
    const size_t shared = (size_t)(threads / WARP) * 2 * sizeof(chunk);
    kernel<<<blocks, (unsigned)threads, shared, stream>>>(o);
    if (o.all.cuts > 0)
        join_parts<<<(unsigned)(o.all.cuts * BITTCF_ROWS),
                     dim3((unsigned)(1 << exponent_of(o.v.count)), TURNS), 0, stream>>>(o);
    return launched(p);
}

/* Multiplies the v.count vectors of v. */
static spmv_status run_some(const spmv_plan *p, const vectors &v, cudaStream_t stream) {
    const operands o = {*(const bittcf *)p->store, v, *(const shares *)p->scratch, 0,
                        policy_for(p)};
    const int64_t tile = p->choice.value[SPMV_tile];
    const int64_t columns = tile > 0 ? tile : min(v.count, 2 * N_TILE);
    if (o.A.s.nnz == 0) {
        put_empty_rows<<<blocks_of(o.A.s.rows * v.count), THREADS, 0, stream>>>(o);
        return launched(p);
    }
    return columns <= N_TILE       ? launch<1, 8>(p, o, stream)
           : columns <= 2 * N_TILE ? launch<2, 8>(p, o, stream)
                                   : launch<4, 4>(p, o, stream);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *all) {
    vectors v = vectors_of(all);
    for (int64_t j = 0; p->rows > 0 && j < all->k; j += v.count, go_on(&v)) {
        v.count = (int)min(all->k - j, (int64_t)MOST_COLUMNS);
        TRY(run_some(p, v, stream_of(all)));
    }
    return SPMV_OK;
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    return run_turned(p, v, run_some);
}

static const spmv_param params[] = {{SPMV_block, 64, WARP, MOST_THREADS, WARP, false},
                                    {SPMV_tile, 0, 0, 4 * N_TILE, 1, true},
                                    {SPMV_chunk, 0, 0, 1 << 20, 1, false},
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
