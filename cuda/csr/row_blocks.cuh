/* row_blocks.cuh: the rows of a matrix divided as CSR-Adaptive does (Greathouse and Daga, SC'14): a
 * row block is a group of successive rows with a bounded number of nonzeros, which one warp
 * multiplies; a longer row is cut into segments, each for a warp or a block of threads. No sum is
 * added atomically: the team that finishes last adds up the row's segments, in order. */
#ifndef SPMV_CUDA_ROW_BLOCKS_CUH
#define SPMV_CUDA_ROW_BLOCKS_CUH

#include "cuda/ahead.cuh"
#include <stdlib.h>

enum {
    ENTRIES = 7, /* nonzeros that a lane loads at once; odd, so that lanes read different banks */
    WARP_ENTRIES = ENTRIES * WARP, /* nonzeros that a warp loads at once */
    MOST_SEGMENTS = 1024,          /* of a row */
    MOST_OF_BLOCK = 1 << 15,       /* nonzeros of a row block, and its rows */
    MOST_WARPS = 32                /* of a block of threads */
};

typedef struct __align__(16) row_block {
    int64_t first; /* nonzero */
    idx row;
    uint16_t rows, entries;
}
row_block;

typedef struct __align__(16) row_segment {
    int64_t first; /* nonzero */
    idx row, entries;
    idx segments, first_segment; /* of the row */
    idx cut, unused;             /* which of the rows that have several segments */
}
row_segment;

typedef struct row_blocks {
    int64_t nrow_blocks, nsegments, ncuts;
    int team;             /* warps that share a segment: 1, or all of a block */
    row_block *block;     /* [nrow_blocks] */
    row_segment *segment; /* [nsegments] */
    real *sum;            /* [nsegments] */
    int *done;            /* [ncuts] how many segments are; 0 between products */
} row_blocks;

typedef struct row_block_sizes { /* nonzeros, at most */
    int64_t block;               /* of a block of several rows, and as many rows */
    int64_t row;                 /* of a row that a warp takes alone */
    int64_t segment;
    int team;
} row_block_sizes;

/* A row that a warp takes alone is not so long that others are done before it; nor is a segment. */
static inline row_block_sizes sizes_of(int64_t nnz, int64_t rounds, int team) {
    enum { AT_ONCE = 8192 }; /* warps, about, that a GPU has */
    row_block_sizes size = {rounds * WARP_ENTRIES,
                            blocks_for(nnz / AT_ONCE, WARP_ENTRIES) * WARP_ENTRIES, 0, team};
    if (size.row > MOST_OF_BLOCK) size.row = MOST_OF_BLOCK;
    if (size.row < size.block) size.row = size.block;
    size.segment = team * size.row;
    return size;
}

static inline void row_blocks_free(spmv_device *d, row_blocks *t) {
    d->backend->release(d, t->block);
    d->backend->release(d, t->segment);
    d->backend->release(d, t->sum);
    d->backend->release(d, t->done);
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct warp_room { /* shared memory of a warp */
    real product[WARP_ENTRIES];
    int ended[WARP_ENTRIES]; /* 1 + the row that ends with the nonzero, counted from the first */
} warp_room;

typedef struct operands {
    const ofs *row_ptr;
    const idx *col;
    const real *value, *x;
    result out;
} operands;

/* Keeps an address in a register; the compiler would work it out again for every load. */
template <class T> static __device__ __forceinline__ const T *held(const T *at) {
    asm("" : "+l"(at));
    return at;
}

/* This lane's entries first + lane, + 32, ... of count, times x; 0 behind them. begins: these are
 * the warp's first, x was not read before. */
static __device__ __forceinline__ void load_products(const operands &o, int64_t first, int count,
                                                     bool begins, real *product) {
    int lane = threadIdx.x % WARP;
    const idx *col = held(o.col + first + lane);
    const real *value = held(o.value + first + lane), *x = held(o.x);
    idx j[ENTRIES];
    real a[ENTRIES], xj[ENTRIES];
#pragma unroll
    for (int u = 0; u < ENTRIES; u++) {
        j[u] = 0, a[u] = 0;
        if (u * WARP + lane < count) j[u] = __ldcs(col + u * WARP), a[u] = __ldcs(value + u * WARP);
    }
    __syncwarp(); /* or the compiler would wait for the first before it asks for the last */
    if (begins) {
        begin_product();
        let_next_start(); /* not before: its blocks would be where those of this one are to be */
    }
#pragma unroll
    for (int u = 0; u < ENTRIES; u++) {
        xj[u] = 0;
        if (u * WARP + lane < count) xj[u] = x[j[u]];
    }
    __syncwarp();
#pragma unroll
    for (int u = 0; u < ENTRIES; u++) product[u] = a[u] * xj[u];
}

/* The sum, in lane 0, of this warp's nonzeros: WARP_ENTRIES from first on, then as many `step`
 * further on, and so on up to end. */
static __device__ __forceinline__ real sum_entries(const operands &o, int64_t first, int64_t end,
                                                   int64_t step) {
    real sum = 0, product[ENTRIES];
    bool begins = true;
#pragma unroll 1
    for (; first < end; first += step, begins = false) {
        load_products(o, first, (int)min((int64_t)WARP_ENTRIES, end - first), begins, product);
#pragma unroll
        for (int u = 0; u < ENTRIES; u++) sum += product[u];
    }
    if (begins) begin_product(); /* of a row without entries y is written, too */
    return warp_sum(sum);
}

/* ---- a row block, by a warp ------------------------------------------------------------------ */

typedef struct row_front { /* how far the rows of a row block have ended */
    unsigned row, end;     /* the next one; behind the last */
    ofs begun;             /* where row begins */
} row_front;

/* Where rows end, the front's and those behind it, a warp's width apart; `many` of them. */
static __device__ __forceinline__ void load_ends(const operands &o, const row_front &f,
                                                 unsigned many, ofs *ends) {
#pragma unroll
    for (int u = 0; u < ENTRIES; u++) {
        unsigned k = u * WARP + threadIdx.x % WARP;
        ends[u] = 0;
        if (k < many) ends[u] = o.row_ptr[(int64_t)f.row + k + 1];
    }
}

/* Marks the entries between first and end with which rows end, of the `many` in ends, and writes
 * those without entries. False: rows behind these may end there, too. */
static __device__ __forceinline__ bool mark_rows(const operands &o, int *ended, unsigned row0,
                                                 int64_t first, int64_t end, unsigned many,
                                                 const ofs *ends, row_front *f) {
    int lane = threadIdx.x % WARP, n = WARP;
    unsigned row = f->row + lane, behind = f->row + many;
#pragma unroll
    for (int u = 0; u < ENTRIES; u++, row += WARP) {
        if (u * WARP >= many || n < WARP) break;
        ofs mine = ends[u], begin = __shfl_up_sync(ALL_LANES, mine, 1);
        if (lane == 0) begin = f->begun;
        bool here = row < behind && mine <= end;
        if (here && mine > begin) ended[mine - 1 - first] = (int)(row - row0 + 1);
        if (here && mine == begin) put_row(o.out, row, 0);
        n = __popc(__ballot_sync(ALL_LANES, here));
        if (n) f->begun = __shfl_sync(ALL_LANES, mine, n - 1);
        f->row += n;
    }
    return f->row < behind || f->row == f->end;
}

/* Adds up WARP_ENTRIES products row by row, and writes the rows that end among them. carry: the sum
 * that earlier calls left of the unfinished row, and then what this one leaves. */
static __device__ __forceinline__ void add_rows(const operands &o, warp_room *w, int64_t row0,
                                                real *carry) {
    int lane = threadIdx.x % WARP, first = 0;
    real sum = 0, first_sum = 0;
#pragma unroll
    for (int u = 0; u < ENTRIES; u++) {
        int at = lane * ENTRIES + u, row = w->ended[at];
        sum += w->product[at];
        if (row == 0) continue;
        w->ended[at] = 0;
        if (first == 0)
            first = row, first_sum = sum;
        else
            put_row(o.out, row0 + row - 1, sum);
        sum = 0;
    }
    unsigned ends = __ballot_sync(ALL_LANES, first != 0);
    unsigned before = ends & ((1u << lane) - 1), upto = ends & (ALL_LANES >> (WARP - 1 - lane));
    int start = upto ? WARP - 1 - __clz((int)upto) : 0;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) { /* of the lanes since a row ended */
        real other = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane - step >= start) sum += other;
    }
    real in_front = __shfl_up_sync(ALL_LANES, sum, 1), all = __shfl_sync(ALL_LANES, sum, WARP - 1);
    if (lane == 0) in_front = 0;
    if (before == 0) in_front += *carry;
    if (first) put_row(o.out, row0 + first - 1, in_front + first_sum);
    *carry = ends ? all : *carry + all;
}

static __device__ __forceinline__ void multiply_rows(const operands &o, const row_block &g,
                                                     warp_room *w) {
    int lane = threadIdx.x % WARP;
    int64_t first = g.first, end = g.first + g.entries;
    row_front f = {(unsigned)g.row, (unsigned)g.row + g.rows, (ofs)g.first};
    real carry = 0, product[ENTRIES];
    ofs ends[ENTRIES];
#pragma unroll 1
    do {
        int left = (int)(end - first), count = min(left, (int)WARP_ENTRIES);
        unsigned many = f.end - f.row; /* all, or what should be enough */
        if (left > WARP_ENTRIES) many = min(many, many * WARP_ENTRIES / left + WARP);
        many = min(many, (unsigned)WARP_ENTRIES);
        load_ends(o, f, many, ends);
        load_products(o, first, count, first == g.first, product);
#pragma unroll 1
        while (!mark_rows(o, w->ended, (unsigned)g.row, first, first + count, many, ends, &f)) {
            many = min(f.end - f.row, (unsigned)WARP_ENTRIES);
            load_ends(o, f, many, ends);
        }
#pragma unroll
        for (int u = 0; u < ENTRIES; u++) w->product[u * WARP + lane] = product[u];
        __syncwarp();
        add_rows(o, w, g.row, &carry);
        __syncwarp();
        first += WARP_ENTRIES;
    } while (first < end);
}

static __device__ __forceinline__ void clear_room(warp_room *w) {
    for (int k = threadIdx.x % WARP; k < WARP_ENTRIES; k += WARP) w->ended[k] = 0;
    __syncwarp();
}

/* ---- a segment, by a warp or a block --------------------------------------------------------- */

/* What others of this grid read once they see the count. */
static __device__ __forceinline__ int count_done(int *done) {
    int before;
    asm volatile("atom.release.gpu.global.add.s32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(done)
                 : "memory");
    return before;
}

/* The sum of all warps' sums, in lane 0 of the first; every thread of the block calls. */
static __device__ __forceinline__ real block_sum(real sum) {
    __shared__ real warp_sums[MOST_WARPS];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();
    sum = lane < (int)blockDim.x / WARP ? warp_sums[lane] : 0;
    __syncthreads(); /* before the next segment's sums */
    return warp_sum(sum);
}

/* The sum of a row's segment, in lane 0; true in the team's warp that has the row's whole sum. */
static __device__ __forceinline__ bool join_segments(const row_blocks &all, int at,
                                                     const row_segment &t, real *sum) {
    int lane = threadIdx.x % WARP, before = 0;
    if (all.team > 1) *sum = block_sum(*sum);
    if (all.team > 1 && threadIdx.x >= WARP) return false;
    if (t.segments == 1) return true;
    if (lane == 0) {
        all.sum[at] = *sum;
        before = count_done(all.done + t.cut);
    }
    if (__shfl_sync(ALL_LANES, before, 0) < t.segments - 1) return false;
    __threadfence();
    real joined = 0;
#pragma unroll 8
    for (idx q = lane; q < t.segments; q += WARP) joined += __ldcg(all.sum + t.first_segment + q);
    *sum = warp_sum(joined);
    if (lane == 0) all.done[t.cut] = 0;
    return true;
}

/* Segments are numbered first, row blocks after them: multiplies number `at`. Every thread of a
 * segment's team calls this, or every lane of a row block's warp; the room's `ended` is 0 before
 * and after. */
static __device__ __forceinline__ void
multiply_block_or_segment(const operands &o, const row_blocks &all, int at, warp_room *w) {
    union {
        int4 loaded[2];
        row_segment t;
        row_block g;
    } u;
    bool is_segment = at < (int)all.nsegments;
    int64_t first, end, row;
    if (is_segment) {
        u.loaded[0] = __ldg((const int4 *)(all.segment + at));
        u.loaded[1] = __ldg((const int4 *)(all.segment + at) + 1);
        first = u.t.first, end = u.t.first + u.t.entries, row = u.t.row;
        if (all.team > 1) first += threadIdx.x / WARP * WARP_ENTRIES;
    } else {
        u.loaded[0] = __ldg((const int4 *)(all.block + (at - (int)all.nsegments)));
        first = u.g.first, end = u.g.first + u.g.entries, row = u.g.row;
        if (u.g.rows > 1) {
            multiply_rows(o, u.g, w);
            return;
        }
    }
    real sum = sum_entries(o, first, end, (int64_t)(is_segment ? all.team : 1) * WARP_ENTRIES);
    if (is_segment && !join_segments(all, at, u.t, &sum)) return;
    if (threadIdx.x % WARP == 0) put_row(o.out, row, sum);
}
#endif
