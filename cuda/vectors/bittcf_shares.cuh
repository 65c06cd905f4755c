/* bittcf_shares.cuh: divides the tiles of a BitTCF matrix among warps into nearly equal shares, and
 * finds the windows that several shares multiply in parts. The plan owns the lists, as scratch
 * memory on the device. */
#pragma once

#include "cuda/build.cuh"
#include "formats/bittcf/bittcf.h"

enum {
    N_TILE = 8,                /* vectors that one mma multiplies */
    MOST_COLUMNS = 8 * N_TILE, /* vectors of one launch */
    LEAST_SHARE = 8,           /* tiles per share, at least */
    MOST_SHARE = 48,           /* at most, for up to FEW_VECTORS vectors; half for twice as many,
                                  a quarter for more, so that the warps of a multiprocessor read
                                  rows of x that are near each other */
    FEW_VECTORS = 16,
    LONG = 8,          /* in shares: longer windows are cut */
    WARPS_PER_SM = 64, /* shares that keep a multiprocessor busy */
    THREADS = 256      /* threads per block of the kernels here */
};

/* start of a share */
typedef struct share {
    ofs tile, value; /* index of its first tile and first value */
    idx window;      /* the window in which the first tile lies */
    uint32_t part;   /* 2 * parts in front + 1 if the window began in an earlier share */
} share;

typedef struct cut_window { /* a window that several shares multiply in parts */
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

static const int64_t A_CUT = (int64_t)1 << 32; /* unit of the upper half of a count; the lower
                                                  half counts parts */

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

/* Returns the start of share s: a multiple of all.size tiles, or the end of the window that
 * contains this tile, unless the window is long. */
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

/* Counts for each share s: in the lower half the parts of windows that begin in s, in the upper
 * half the windows that are first cut at its end. */
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

/* Returns the number of tiles per share: fewer for fewer tiles, so that all multiprocessors have
 * work, but not fewer than a mean window has. */
static int64_t share_size(int64_t tiles, int64_t windows, int64_t sms, int64_t vectors) {
    const int64_t even = tiles / (sms * WARPS_PER_SM),
                  window = blocks_for(tiles, max(windows, (int64_t)1));
    const int64_t most = MOST_SHARE >> ((vectors > FEW_VECTORS) + (vectors > 2 * FEW_VECTORS));
    const int64_t size = min(max(even, (int64_t)LEAST_SHARE), most);
    const int64_t whole = min(window, min(2 * most, (int64_t)MOST_SHARE));
    return blocks_for(max(size, whole), LEAST_SHARE) * LEAST_SHARE;
}
