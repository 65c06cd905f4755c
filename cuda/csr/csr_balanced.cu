/* csr_balanced: a block of threads multiplies an equal share of the nonzeros, a tile, wherever rows
 * begin; one launch.
 *
 * Source   Baxter, moderngpu, 2013, and Merrill and Garland, SC'16, "Merge-based SpMV": equal
 *          shares of both lists, and a segmented sum; here tiles are equal shares of the nonzeros,
 *          cut again only where thousands of rows are empty, and blocks that share a row join
 *          their sums in pairs instead of by another kernel.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; the plan's list of tiles; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by a block that has the row's end; of a row that several
 *          blocks have, by the block that adds the last sum.
 * Work     A tile is 896 nonzeros, which begin with a line of the cache, and the row ends behind
 *          them. Each of 128 threads asks for 7 of them, 128 apart, before it uses the first, and
 *          the block also for up to 128 of its first row that the tile before it has. Products go
 *          to shared memory; from there each thread takes 7 successive ones and adds them up
 *          between the ends of rows; shuffles join the threads' sums of a row, and the sum takes
 *          the place of the row's last product. Then successive threads write successive rows. A
 *          small matrix is prefetched, and read before the previous product has ended (ahead.cuh).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once, and 16 + sizeof real per tile.
 * Weak     Where rows have about equal lengths csr_lanes and SELL do the same without shared
 *          memory.
 * Repeats  bitwise: yes, but for the bits of a NaN.
 * Params   none.
 */
#include "cuda/ahead.cuh"
#include "formats/csr/csr.h"
#include <limits.h>

enum {
    THREADS = 128,            /* of a block */
    ENTRIES = 7,              /* nonzeros of a thread; odd, so that threads read different banks */
    TILE = ENTRIES * THREADS, /* nonzeros of a tile: whole lines of the cache */
    TILE_ROWS = 4096          /* the most row ends of a tile */
};

/* Threads that a multiprocessor can have at once, and those that its registers shall have room for:
 * in f32 all, with 32 registers each, which do where a tile is whole; in f64 as many as have 48. */
#ifdef __CUDA_ARCH__
enum {
    MOST_THREADS = __CUDA_ARCH__ == 750                             ? 1024
                   : __CUDA_ARCH__ % 100 > 0 && __CUDA_ARCH__ < 900 ? 1536
                   : __CUDA_ARCH__ < 1100                           ? 2048
                                                                    : 1536
};
#else
enum { MOST_THREADS = 2048 };
#endif
enum { RESIDENT = sizeof(real) == sizeof(float) || MOST_THREADS < 1280 ? MOST_THREADS : 1280 };

/* Says where a tile begins in the list of all nonzeros and, behind those of each row, its end. */
typedef struct __align__(16) place {
    int64_t entry;
    idx row;    /* that ends behind it */
    int before; /* nonzeros of this row in front of it, INT_MAX if they are more */
}
place;

template <int BYTES> struct bits;
template <> struct bits<sizeof(float)> { typedef unsigned type; };
template <> struct bits<sizeof(double)> { typedef unsigned long long type; };
typedef bits<sizeof(real)>::type real_bits;

/* Is what `cut` has where no sum waits; as a number it is a NaN that no sum is. */
static const real_bits NOTHING = ~(real_bits)0;

typedef struct tiles { /* begin, and cut behind it, are one allocation */
    int64_t n;
    place *begin;   /* [n + 1] */
    real_bits *cut; /* [n] the sum of a row that waits behind a tile for another: join_sums */
} tiles;

typedef struct operands {
    const ofs *row_ptr;
    const idx *col;
    const real *value, *x;
    result out;
} operands;

/* ---- planning -------------------------------------------------------------------------------- */

/* A warp finds the row of a nonzero: it narrows down the last row that begins there or in front,
 * each lane looking at another row of those that are left. */
static __device__ int64_t row_of(const ofs *row_ptr, int64_t rows, int64_t entry) {
    const int lane = threadIdx.x % WARP;
    int64_t low = 0, high = rows; /* row `low` begins there or in front, row `high` behind */
    while (high - low > 1) {
        const int64_t left = high - low, mine = low + left * (lane + 1) / (WARP + 1);
        const int before = __popc(__ballot_sync(ALL_LANES, row_ptr[mine] <= entry));
        if (before < WARP) high = low + left * (before + 1) / (WARP + 1);
        low += left * before / (WARP + 1);
    }
    return low;
}

/* A tile begins at every TILE-th nonzero, and at every TILE_ROWS-th row, so that one of empty rows
 * is short. A warp finds a place of the one kind or the other, and its index in their order. Where
 * few rows end between two of the first kind, one of the second moves to where the first of them
 * is: the tile in front is empty then, instead of two that are not whole. */
static __global__ void find_tiles(const ofs *row_ptr, int64_t rows, int64_t nnz, const tiles all) {
    const int64_t w = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    const int64_t by_row = (rows + TILE_ROWS - 1) / TILE_ROWS;
    int64_t t = w, row = rows, entry = nnz; /* of the last, behind all */
    if (w > all.n) return;                  /* the whole warp */
    if (w < by_row) {
        row = w * TILE_ROWS, entry = row_ptr[row];
        const int64_t whole = entry / TILE * TILE, next = whole + TILE;
        t = w + max((entry + TILE - 1) / TILE - 1, (int64_t)0);
        if (w > 0 && entry > whole) {
            const int64_t first = whole > 0 ? row_of(row_ptr, rows, whole) : 0;
            const int64_t last = next < nnz ? row_of(row_ptr, rows, next) : rows;
            if (last - first <= TILE_ROWS) row = first, entry = whole;
        }
    } else if (w < all.n) {
        entry = (w - by_row + 1) * TILE, row = row_of(row_ptr, rows, entry);
        t = entry / TILE + row / TILE_ROWS;
    }
    if (threadIdx.x % WARP > 0) return;
    if (w < all.n) all.cut[w] = NOTHING;
    all.begin[t] = {entry, (idx)row, (int)min(entry - row_ptr[row], (int64_t)INT_MAX)};
}

/* ---- sums of rows ---------------------------------------------------------------------------- */

/* Lane l gets the sum of what lanes k .. l have, where k is the last up to l that is marked in
 * `starts`, or 0. Every lane of the warp calls. */
static __device__ __forceinline__ real segmented_sum(real sum, unsigned starts) {
    const int lane = threadIdx.x % WARP;
    const unsigned upto = starts & (ALL_LANES >> (WARP - 1 - lane));
    const int start = upto ? WARP - 1 - __clz((int)upto) : 0;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const real other = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane - step >= start) sum += other;
    }
    return sum;
}

/* Every thread of the block calls, with its sum behind the last row end among its nonzeros, or of
 * all of them if no row ends there. Returns what the threads before it have of the row that its
 * nonzeros begin with; *open: what the block has of the row that it ends in the middle of. */
static __device__ __forceinline__ real sum_before(real sum, bool has_end, real *open) {
    enum { WARPS = THREADS / WARP };
    __shared__ real warp_sum[WARPS];
    __shared__ bool warp_has_end[WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const unsigned ends = __ballot_sync(ALL_LANES, has_end);
    sum = segmented_sum(sum, ends);
    if (lane == WARP - 1) warp_sum[warp] = sum, warp_has_end[warp] = ends != 0;
    real before = __shfl_up_sync(ALL_LANES, sum, 1), all = 0, warps_before = 0;
    if (lane == 0) before = 0;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
        if (w == warp) warps_before = all;
        all = (warp_has_end[w] ? 0 : all) + warp_sum[w];
    }
    *open = all;
    return (ends & ((1u << lane) - 1)) == 0 ? before + warps_before : before;
}

/* Says which tile a nonzero of that row is in. */
static __device__ __forceinline__ int tile_of(const tiles &all, idx row, int64_t entry) {
    int t = (int)(entry / TILE) + row / TILE_ROWS;
    while (all.begin[t + 1].entry <= entry) t++; /* which has moved in front of it */
    return t;
}

/* The first of two threads that bring a sum to the same place in a product leaves its own there,
 * false; the second takes that away, true: *sum is that of both. The sum itself says that it has
 * come, so nothing else need be seen in order. */
static __device__ __forceinline__ bool join_sums(real_bits *at, real *sum) {
    union {
        real number;
        real_bits bits;
    } mine, other;
    mine.number = *sum;
    if (mine.bits == NOTHING) mine.bits >>= 1; /* another NaN */
    other.bits = atomicExch(at, mine.bits);
    if (other.bits == NOTHING) return false;
    *at = NOTHING;
    *sum += other.number;
    return true;
}

/* Adds a row that the tiles first .. last have; this is tile t's sum of it. One thread of each of
 * their blocks calls. The sums are joined two by two, then these, and so on: of two blocks the one
 * that comes second goes on with both sums, and the last one writes the row. So the order of blocks
 * does not matter, none waits for another, and the same sums are added in every product. The place
 * where two groups of tiles join is that between them, cut[t] behind tile t. */
static __device__ __forceinline__ void join_tiles(const operands &o, const tiles &all, int t,
                                                  idx row, real sum) {
    const int last = tile_of(all, row, (int64_t)o.row_ptr[row + 1] - 1);
    int first = tile_of(all, row, o.row_ptr[row]);
    if (all.begin[first + 1].before <= THREADS) first++;  /* which reads those in front of it */
    for (int size = 1; size <= last - first; size *= 2) { /* of the groups that are joined */
        const int left = first + (t - first) / (2 * size) * (2 * size), right = left + size;
        if (right > last) continue; /* there is no other */
        if (!join_sums(&all.cut[right - 1], &sum)) return;
    }
    put_row(o.out, row, sum);
}

/* ---- the product ----------------------------------------------------------------------------- */

static __device__ __forceinline__ place place_at(const place *at) {
    union {
        int4 loaded;
        place p;
    } u;
    u.loaded = __ldg((const int4 *)at);
    return u.p;
}

/* Returns the end of a row between these two places: behind its last nonzero in the tile that
 * begins at `first`, counted from there; 0: it has none in it. */
static __device__ __forceinline__ int end_here(ofs begin, ofs end, ofs first) {
    return end > max(begin, first) ? (int)(end - first) : 0;
}

/* Keeps an address in a register; the compiler would work it out again for every load. */
template <class T> static __device__ __forceinline__ const T *held(const T *at) {
    asm("" : "+l"(at));
    return at;
}

/* Holds what the threads of a block share. */
typedef struct shared {
    real product[TILE];
    real sum_in_front[THREADS / WARP]; /* of each warp's part */
    unsigned ends[THREADS];            /* of each thread: bit u: a row ends with its nonzero u */
} shared;

/* Fills `tile`; WHOLE: it has TILE nonzeros, else 0s stand behind them. Returns the slot behind the
 * last nonzero of row `me`; 0: it has none here. */
template <bool WHOLE>
static __device__ __forceinline__ int multiply_nonzeros(shared &tile, const operands &o,
                                                        cache_policy policy, const place &begin,
                                                        const place &end, int in_front) {
    const int me = threadIdx.x, rows = end.row - begin.row;
    const int left = (int)(end.entry - begin.entry) - me;
    const ofs first = (ofs)begin.entry, *row_ptr = o.row_ptr + begin.row + me;
    const idx *col = held(o.col + begin.entry + me);
    const real *value = held(o.value + begin.entry + me);
    idx j[ENTRIES], j_front = 0;
    real a[ENTRIES], xj[ENTRIES], a_front = 0;
    ofs row_begin, row_end;
#pragma unroll
    for (int u = 0; u < ENTRIES; u++)
        if (WHOLE || u * THREADS < left)
            j[u] = load_once(col + u * THREADS, policy),
            a[u] = load_once(value + u * THREADS, policy);
    if (me < rows) row_begin = row_ptr[0], row_end = row_ptr[1];
    if (me < in_front)
        j_front = load_once(col - in_front, policy), a_front = load_once(value - in_front, policy);
    tile.ends[me] = 0;
    __syncthreads();
    asm volatile("" : "+r"(j_front)); /* or the compiler would wait for it before the others */
    begin_product();
    let_next_start();
#pragma unroll
    for (int u = 0; u < ENTRIES; u++)
        if (WHOLE || u * THREADS < left) xj[u] = o.x[j[u]];
    int behind = 0;
    if (me < rows) behind = end_here(row_begin, row_end, first);
    if (behind) atomicOr(&tile.ends[(behind - 1) / ENTRIES], 1u << (behind - 1) % ENTRIES);
#pragma unroll 1
    for (int r = THREADS; r + me < rows; r += THREADS) {
        const int last = end_here(row_ptr[r], row_ptr[r + 1], first) - 1;
        if (last >= 0) atomicOr(&tile.ends[last / ENTRIES], 1u << last % ENTRIES);
    }
    if (me / WARP * WARP < in_front) { /* the whole warp */
        if (me < in_front) a_front *= o.x[j_front];
        a_front = warp_sum(a_front);
        if (me % WARP == 0) tile.sum_in_front[me / WARP] = a_front;
    }
#pragma unroll
    for (int u = 0; u < ENTRIES; u++)
        tile.product[u * THREADS + me] = WHOLE || u * THREADS < left ? a[u] * xj[u] : 0;
    __syncthreads();
    return behind;
}

static __global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    multiply(const __grid_constant__ ahead read, const __grid_constant__ tiles all,
             const __grid_constant__ operands o) {
    __shared__ shared tile;
    ask_ahead(read, threadIdx.x);
    const cache_policy policy = read.policy;
    const int me = threadIdx.x, t = blockIdx.x;
    const place begin = place_at(all.begin + t), end = place_at(all.begin + t + 1);
    const int rows = end.row - begin.row;
    const int in_front = begin.before <= THREADS ? begin.before : 0; /* that it reads, too */
    const int behind = end.entry - begin.entry == TILE
                           ? multiply_nonzeros<true>(tile, o, policy, begin, end, in_front)
                           : multiply_nonzeros<false>(tile, o, policy, begin, end, in_front);
    real *const product = tile.product;
    const unsigned my_ends = tile.ends[me];
    real *mine = product + me * ENTRIES, sum = 0, open;
    if (me == 0)
        for (int w = 0; w * WARP < in_front; w++) sum += tile.sum_in_front[w];
#pragma unroll
    for (int u = 0; u < ENTRIES; u++) {
        sum += mine[u];
        mine[u] = sum;
        if (my_ends >> u & 1) sum = 0;
    }
    const real before = sum_before(sum, my_ends != 0, &open);
    if (my_ends) mine[__ffs((int)my_ends) - 1] += before;
    __syncthreads();
    if (me == 0 && end.before > THREADS) join_tiles(o, all, t, end.row, open);
    if (me == 0 && rows > 0 && begin.before > THREADS)
        join_tiles(o, all, t, begin.row, product[behind - 1]);
    else if (me < rows)
        put_row(o.out, (int64_t)begin.row + me, behind ? product[behind - 1] : 0);
#pragma unroll 1
    for (int r = THREADS; r + me < rows; r += THREADS) {
        const ofs *at = o.row_ptr + begin.row + me + r;
        const int last = end_here(at[0], at[1], (ofs)begin.entry) - 1;
        put_row(o.out, (int64_t)begin.row + r + me, last >= 0 ? product[last] : 0);
    }
}

/* ---- on the host ----------------------------------------------------------------------------- */

static int64_t tiles_of(int64_t nnz, int64_t rows) {
    return blocks_for(rows, TILE_ROWS) + (nnz > 0 ? blocks_for(nnz, TILE) - 1 : 0);
}

/* Counts the bytes on the device: the places, and behind them what waits at each. */
static size_t list_bytes(int64_t n) {
    return (size_t)(n + 1) * sizeof(place) + (size_t)n * sizeof(real_bits);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return sizeof(tiles) + list_bytes(tiles_of(A->nnz, A->rows));
}

/* Asks the driver to divide a multiprocessor's memory so that 12 blocks have their shared part: the
 * rest is first-level cache. In f32 on an H200 this saves 4 to 7 % of the time where x is small and
 * scattered (four of 20 matrices); on the others the two times are within 3 %, in f64 on all. More
 * blocks, for which there are registers, are not worth that cache. */
static spmv_status leave_cache(const spmv_device *d) {
    cudaFuncAttributes loaded;
    int all;
    CU(d->ctx,
       cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, d->number));
    CU(d->ctx, cudaFuncGetAttributes(&loaded, (const void *)multiply));
    /* The driver has 1 KB of each block's part, which is a multiple of 128 bytes. */
    const int block = ((int)loaded.sharedSizeBytes + 1024 + 127) / 128 * 128;
    CU(d->ctx,
       cudaFuncSetAttribute((const void *)multiply, cudaFuncAttributePreferredSharedMemoryCarveout,
                            min(100 * 12 * block / all + 1, 100)));
    return SPMV_OK;
}

static spmv_status prepare(spmv_plan *p) {
    enum { PLANNING = 256 }; /* threads of a block */
    const csr *A = (const csr *)p->store;
    tiles *all = (tiles *)calloc(1, sizeof *all);
    p->scratch = all;
    if (!all) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *all;
    all->n = tiles_of(A->s.nnz, A->s.rows);
    TRY(load_kernel(p, (const void *)find_tiles));
    TRY(load_kernel(p, (const void *)multiply));
    if (sizeof(real) == sizeof(float)) TRY(leave_cache(p->device));
    TRY(take_scratch(p, list_bytes(all->n), (void **)&all->begin));
    all->cut = (real_bits *)(all->begin + all->n + 1);
    find_tiles<<<(unsigned)blocks_for((all->n + 1) * WARP, PLANNING), PLANNING, 0, stream_of(p)>>>(
        A->row_ptr, A->s.rows, A->s.nnz, *all);
    TRY(launched(p));
    p->traffic_bytes += p->scratch_bytes;
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    tiles *all = (tiles *)p->scratch;
    p->device->backend->release(p->device, all->begin);
    free(all);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    tiles all = *(const tiles *)p->scratch;
    operands o = {A->row_ptr, A->col_idx, A->values, (const real *)v->x, result_of(v)};
    if (all.n == 0) return SPMV_OK;
    ahead read = ahead_of(p, A->row_ptr, (size_t)(A->s.rows + 1) * sizeof *A->row_ptr, A->col_idx,
                          A->values, A->s.nnz, o.x, A->s.cols, (unsigned)all.n);
    void *arguments[] = {&read, &all, &o};
    return launch_overlapping(p, stream_of(v), (const void *)multiply, (unsigned)all.n,
                              dim3(THREADS), 0, arguments);
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_balanced) = {
    .name = "csr_balanced",
    .format = "csr",
    .summary = "a block of threads takes an equal share of the nonzeros, wherever rows begin",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
