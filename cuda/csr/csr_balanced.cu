/* csr_balanced: a block of threads multiplies a tile, an equal share of the nonzeros regardless of
 * row boundaries; one launch.
 *
 * Source   Baxter, moderngpu, 2013, and Merrill and Garland, SC'16, "Merge-based SpMV": equal
 *          shares of both lists, and a segmented sum. Here tiles are equal shares of the nonzeros,
 *          divided further only where thousands of rows are empty, and blocks that share a row
 *          combine their sums in pairs instead of in another kernel.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz], order[rows] if rows are in another
 *          order; the plan's list of tiles; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element once, by a block that has the row's end; a row of several blocks
 *          by the block that adds the last sum.
 * Work     A tile has 896 nonzeros, aligned to a cache line, and the row ends behind them. Each of
 *          128 threads loads 7 nonzeros, 128 apart, before it uses the first; the block also loads
 *          up to 128 nonzeros of its first row from the tile before. Products are stored in shared
 *          memory; each thread then sums 7 adjacent products between row ends, shuffles combine the
 *          threads' sums of a row, and the sum replaces the row's last product. Then adjacent
 *          threads write adjacent rows. A small matrix is prefetched, and read before the previous
 *          product has ended (ahead.cuh).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once, and 16 + sizeof real per tile.
 * Weak     Rows of about equal lengths: csr_lanes and SELL need no shared memory.
 * Repeats  bitwise: yes, but for the bits of a NaN.
 * Params   order: of the rows in the store.
 */
#include "cuda/ahead.cuh"
#include "formats/csr/csr.h"
#include "spmv_order.h"
#include <limits.h>

enum {
    THREADS = 128,            /* threads per block */
    ENTRIES = 7,              /* nonzeros per thread; odd, to avoid bank conflicts */
    TILE = ENTRIES * THREADS, /* nonzeros per tile: whole cache lines */
    TILE_ROWS = 4096          /* maximum number of row ends per tile */
};

/* Maximum resident threads of a multiprocessor, and the number for which registers must suffice: in
 * f32 all, with 32 registers each, enough for whole tiles; in f64 as many as fit with 48. */
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

/* start of a tile in the merged list of all nonzeros and row ends, in which a row's end follows its
 * nonzeros */
typedef struct __align__(16) place {
    int64_t entry;
    idx row;    /* the first row whose end follows */
    int before; /* nonzeros of this row before the tile; INT_MAX if more */
}
place;

template <int BYTES> struct bits;
template <> struct bits<sizeof(float)> { typedef unsigned type; };
template <> struct bits<sizeof(double)> { typedef unsigned long long type; };
typedef bits<sizeof(real)>::type real_bits;

/* Marks an element of `cut` without a sum. As a number it is a NaN that no sum has. */
static const real_bits NOTHING = ~(real_bits)0;

typedef struct tiles { /* begin and cut are one allocation */
    int64_t n;
    place *begin;   /* [n + 1] */
    real_bits *cut; /* [n] sum of a row, waiting behind a tile for the other summand: join_sums */
} tiles;

typedef struct operands {
    const ofs *row_ptr;
    const idx *col;
    const real *value, *x;
    const idx *order; /* rows of y of the rows of the store; NULL: the same */
    result out;
} operands;

template <bool ORDERED>
static __device__ __forceinline__ void put_sum(const operands &o, int64_t row, real sum) {
    put_row(o.out, ORDERED ? o.order[row] : row, sum);
}

/* ---- planning -------------------------------------------------------------------------------- */

/* Finds the row of a nonzero by a warp: a search for the last row that begins at or before it, in
 * which each lane tests another of the remaining rows. */
static __device__ int64_t row_of(const ofs *row_ptr, int64_t rows, int64_t entry) {
    const int lane = threadIdx.x % WARP;
    int64_t low = 0, high = rows; /* row `low` begins at or before the entry, row `high` behind
                                     it */
    while (high - low > 1) {
        const int64_t left = high - low, mine = low + left * (lane + 1) / (WARP + 1);
        const int before = __popc(__ballot_sync(ALL_LANES, row_ptr[mine] <= entry));
        if (before < WARP) high = low + left * (before + 1) / (WARP + 1);
        low += left * before / (WARP + 1);
    }
    return low;
}

/* Lists the starts of tiles: every TILE-th nonzero and every TILE_ROWS-th row, so that tiles of
 * empty rows are short. A warp finds one start of either kind, and its index in the list. If few
 * rows end between two starts of the first kind, a start of the second kind moves to the first of
 * them: the tile before is then empty, instead of two partial tiles. */
static __global__ void find_tiles(const ofs *row_ptr, int64_t rows, int64_t nnz, const tiles all) {
    const int64_t w = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    const int64_t by_row = (rows + TILE_ROWS - 1) / TILE_ROWS;
    int64_t t = w, row = rows, entry = nnz; /* the last start, behind all */
    if (w > all.n) return;                  /* the whole warp returns */
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

/* Inclusive segmented sum: lane l gets the sum of lanes k to l, where k is the last lane up to l
 * with a bit in `starts`, or 0. Must be called by every lane of the warp. */
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

/* Exclusive segmented sum over the threads of a block. sum: each thread's sum behind the last row
 * end among its nonzeros, or of all if no row ends there. Returns the sum of earlier threads for
 * the row with which this thread's nonzeros begin. *open: the block's sum of the unfinished row at
 * its end. Must be called by every thread of the block. */
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

/* Returns the tile that contains a nonzero of this row. */
static __device__ __forceinline__ int tile_of(const tiles &all, idx row, int64_t entry) {
    int t = (int)(entry / TILE) + row / TILE_ROWS;
    while (all.begin[t + 1].entry <= entry) t++; /* starts that have moved forward */
    return t;
}

/* Combines two sums in an element of `cut`. The first of two threads stores its sum and gets false;
 * the second one removes that sum, adds it to *sum, and gets true. The sum itself is the signal, so
 * no memory fence is needed. */
static __device__ __forceinline__ bool join_sums(real_bits *at, real *sum) {
    union {
        real number;
        real_bits bits;
    } mine, other;
    mine.number = *sum;
    if (mine.bits == NOTHING) mine.bits >>= 1; /* replaced by another NaN */
    other.bits = atomicExch(at, mine.bits);
    if (other.bits == NOTHING) return false;
    *at = NOTHING;
    *sum += other.number;
    return true;
}

/* Adds tile t's sum of a row in tiles first to last; called by one thread of each block with such a
 * tile. Sums are combined in a binary tree: of two blocks the second to arrive continues with both
 * sums, and the last one writes the row. The result does not depend on the order of blocks, no
 * block waits for another, and every product adds the same sums. Two groups of tiles combine at the
 * element between the groups, cut[t] behind tile t. */
template <bool ORDERED>
static __device__ __forceinline__ void join_tiles(const operands &o, const tiles &all, int t,
                                                  idx row, real sum) {
    const int last = tile_of(all, row, (int64_t)o.row_ptr[row + 1] - 1);
    int first = tile_of(all, row, o.row_ptr[row]);
    /* this tile also reads the nonzeros before it */
    if (all.begin[first + 1].before <= THREADS) first++;
    for (int size = 1; size <= last - first; size *= 2) { /* size of the groups to combine */
        const int left = first + (t - first) / (2 * size) * (2 * size), right = left + size;
        if (right > last) continue; /* no partner */
        if (!join_sums(&all.cut[right - 1], &sum)) return;
    }
    put_sum<ORDERED>(o, row, sum);
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

/* Returns the end of row [begin, end) in the tile that begins at `first`, relative to `first`:
 * behind its last nonzero in the tile. 0: the row has no nonzero in the tile. */
static __device__ __forceinline__ int end_here(ofs begin, ofs end, ofs first) {
    return end > max(begin, first) ? (int)(end - first) : 0;
}

/* Keeps an address in a register; otherwise the compiler recomputes it for every load. */
template <class T> static __device__ __forceinline__ const T *held(const T *at) {
    asm("" : "+l"(at));
    return at;
}

/* shared memory of a block */
typedef struct shared {
    real product[TILE];
    real sum_in_front[THREADS / WARP]; /* sum of each warp's nonzeros before the tile */
    unsigned ends[THREADS];            /* bit u of each thread's word: a row ends with its
                                          nonzero u */
} shared;

/* Computes the products of a tile. WHOLE: the tile has TILE nonzeros; else zeros follow. Returns
 * the slot behind the last nonzero of row `threadIdx.x`; 0: the row has none in this tile. */
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
    asm volatile(""
                 : "+r"(j_front)); /* otherwise the compiler would wait for this load before
                                         the others */
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

template <bool ORDERED>
static __global__ void __launch_bounds__(THREADS, RESIDENT / THREADS)
    multiply(const __grid_constant__ ahead read, const __grid_constant__ tiles all,
             const __grid_constant__ operands o) {
    __shared__ shared tile;
    prefetch_ahead(read, threadIdx.x);
    const cache_policy policy = read.policy;
    const int me = threadIdx.x, t = blockIdx.x;
    const place begin = place_at(all.begin + t), end = place_at(all.begin + t + 1);
    const int rows = end.row - begin.row;
    /* nonzeros before the tile that the block reads too */
    const int in_front = begin.before <= THREADS ? begin.before : 0;
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
    if (me == 0 && end.before > THREADS) join_tiles<ORDERED>(o, all, t, end.row, open);
    if (me == 0 && rows > 0 && begin.before > THREADS)
        join_tiles<ORDERED>(o, all, t, begin.row, product[behind - 1]);
    else if (me < rows)
        put_sum<ORDERED>(o, (int64_t)begin.row + me, behind ? product[behind - 1] : 0);
#pragma unroll 1
    for (int r = THREADS; r + me < rows; r += THREADS) {
        const ofs *at = o.row_ptr + begin.row + me + r;
        const int last = end_here(at[0], at[1], (ofs)begin.entry) - 1;
        put_sum<ORDERED>(o, (int64_t)begin.row + r + me, last >= 0 ? product[last] : 0);
    }
}

/* ---- on the host ----------------------------------------------------------------------------- */

static int64_t tiles_of(int64_t nnz, int64_t rows) {
    return blocks_for(rows, TILE_ROWS) + (nnz > 0 ? blocks_for(nnz, TILE) - 1 : 0);
}

/* Bytes on the device: starts of tiles, then `cut`. */
static size_t list_bytes(int64_t n) {
    return (size_t)(n + 1) * sizeof(place) + (size_t)n * sizeof(real_bits);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return sizeof(tiles) + list_bytes(tiles_of(A->nnz, A->rows));
}

/* Asks the driver for the shared memory of 12 resident blocks; the rest remains L1 cache. In f32 on
 * an H200 this saves 4 to 7 % of the time if x is small and accessed irregularly (4 of 20
 * matrices); on the others, and in f64, times agree within 3 %. More blocks, for which there are
 * registers, gain less than the cache they cost. */
static spmv_status leave_cache(const spmv_device *d, const void *kernel) {
    cudaFuncAttributes loaded;
    int all;
    CU(d->ctx,
       cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, d->number));
    CU(d->ctx, cudaFuncGetAttributes(&loaded, kernel));
    /* The driver reserves 1 KB per block; a block's share is a multiple of 128 bytes. */
    const int block = ((int)loaded.sharedSizeBytes + 1024 + 127) / 128 * 128;
    CU(d->ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                    min(100 * 12 * block / all + 1, 100)));
    return SPMV_OK;
}

static const void *kernel_for(const csr *A) {
    return A->s.order ? (const void *)multiply<true> : (const void *)multiply<false>;
}

static spmv_status prepare(spmv_plan *p) {
    enum { PLANNING = 256 }; /* threads per block */
    const csr *A = (const csr *)p->store;
    tiles *all = (tiles *)calloc(1, sizeof *all);
    p->scratch = all;
    if (!all) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *all;
    all->n = tiles_of(A->s.nnz, A->s.rows);
    TRY(load_kernel(p, (const void *)find_tiles));
    TRY(load_kernel(p, kernel_for(A)));
    if (sizeof(real) == sizeof(float)) TRY(leave_cache(p->device, kernel_for(A)));
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
    operands o = {A->row_ptr, A->col_idx, A->values, (const real *)v->x, A->s.order, result_of(v)};
    if (all.n == 0) return SPMV_OK;
    ahead read = ahead_of(p, A->row_ptr, (size_t)(A->s.rows + 1) * sizeof *A->row_ptr, A->col_idx,
                          A->values, A->s.nnz, o.x, A->s.cols, (unsigned)all.n);
    void *arguments[] = {&read, &all, &o};
    return launch_overlapping(p, stream_of(v), kernel_for(A), (unsigned)all.n, dim3(THREADS), 0,
                              arguments);
}

static const spmv_param params[] = {SPMV_PARAM_ORDER, SPMV_NO_MORE_PARAMS};

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
