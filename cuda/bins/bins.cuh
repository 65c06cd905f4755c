/* bins.cuh: the entries of a matrix in two orders, for bins: by blocks of columns, and by bins
 * of rows. A tile is what a block of columns and a bin have in common; it is filled up to whole
 * sectors of memory, since writing products to incomplete sectors takes half again as long. Which
 * entry of a tile comes first is left to chance: each is multiplied alone, and a bin puts its
 * products in the order of the rows before it adds them up. */
#ifndef SPMV_CUDA_BINS_CUH
#define SPMV_CUDA_BINS_CUH

#include "cuda/build.cuh"
#include "cuda/csr/plan_row_blocks.cuh"
#include "formats/csr/csr.h"

enum {
    BIN = 8192,             /* entries, and rows, at most */
    SKEW = 16,              /* entries; rows as long would all begin in one bank */
    MOST_COLUMNS = 1 << 15, /* of a block: one bit of 16 says that a tile begins */
    TILE_BEGINS = 1 << 15,  /* that bit */
    MOST_BLOCKS = 6000,     /* of columns: counters of them all are in shared memory */
    FEW_TILES = 1 << 20,    /* are always allowed */
    BUILD_THREADS = 512,
    SECTOR = 32 / (int)sizeof(real), /* slots: entries and what fills up a tile */
    NO_PLACE = UINT16_MAX            /* of a slot without an entry */
};

typedef struct share {   /* of a block of columns, for a block of threads */
    unsigned first, end; /* slots in the order of columns */
    idx column, columns; /* the block's first; how many */
} share;

typedef struct bins {
    row_blocks all; /* the row blocks are the bins; a row longer than a bin has segments */
    int64_t entries, slots, nblocks, ntiles, nshares;
    share *shares;    /* [nshares] */
    uint16_t *column; /* [slots] within the block, and TILE_BEGINS; in the order of columns */
    real *value;      /* [slots] */
    unsigned *tile; /* [slots / 32] that the warp's first slot is in; one less if it begins there */
    unsigned *shift; /* [ntiles] from a slot's place there to that of its product */
    int64_t *begin;  /* [bins + 1] of a bin's products */
    real *product;   /* [slots] bin by bin, of each tile by tile */
    uint16_t *place; /* [slots] of such a product among the bin's entries, row by row */
} bins;

/* Where a bin's k-th entry is in shared memory. */
static __device__ __forceinline__ int skewed(int k) {
    return k + k / SKEW;
}

/* ---- building -------------------------------------------------------------------------------- */

static __device__ __forceinline__ void count_blocks(const idx *col, int entries, idx columns,
                                                    int nblocks, int *count) {
    for (int b = threadIdx.x; b < nblocks; b += blockDim.x) count[b] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < entries; k += blockDim.x)
        atomicAdd(count + (unsigned)col[k] / (unsigned)columns, 1);
    __syncthreads();
}

static __host__ __device__ __forceinline__ int whole_sectors(int entries) {
    return (entries + SECTOR - 1) / SECTOR * SECTOR;
}

/* A bin's tiles: slots in the low half, and 1 in the high half if there are any; block of columns
 * by block, of each bin by bin. And the bin's slots. */
static __global__ void count_tiles(const bins B, const idx *__restrict__ col, idx columns,
                                   int64_t *tiles) {
    extern __shared__ int count[];
    __shared__ int slots;
    int nblocks = (int)B.nblocks, mine = 0;
    row_block g = B.all.block[blockIdx.x];
    if (threadIdx.x == 0) slots = 0;
    count_blocks(col + g.first, g.entries, columns, nblocks, count);
    for (int b = threadIdx.x; b < nblocks; b += blockDim.x) {
        int here = whole_sectors(count[b]);
        tiles[b * B.all.nrow_blocks + blockIdx.x] = here + ((int64_t)(here > 0) << 32);
        mine += here;
    }
    atomicAdd(&slots, mine);
    __syncthreads();
    if (threadIdx.x == 0) B.begin[blockIdx.x] = slots;
}

/* Each of n numbers becomes the sum of those before it. */
static __device__ __forceinline__ void sum_counts(int n, int *count) {
    __shared__ int sums[MOST_WARPS];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, each = (n - 1) / blockDim.x + 1;
    int first = min(n, (int)threadIdx.x * each), end = min(n, first + each), sum = 0;
    for (int k = first; k < end; k++) sum += count[k];
    int before = sum;
    for (int step = 1; step < WARP; step *= 2) {
        int other = __shfl_up_sync(ALL_LANES, before, step);
        if (lane >= step) before += other;
    }
    if (lane == WARP - 1) sums[warp] = before;
    __syncthreads();
    before -= sum;
    for (int w = 0; w < warp; w++) before += sums[w];
    for (int k = first; k < end; k++) {
        int here = count[k];
        count[k] = before;
        before += here;
    }
    __syncthreads();
}

static __global__ void place_entries(const bins B, const csr A, idx columns,
                                     const int64_t *__restrict__ tiles) {
    extern __shared__ int before[]; /* [nblocks] slots of the bin in blocks before */
    int nblocks = (int)B.nblocks, *taken = before + nblocks;
    row_block g = B.all.block[blockIdx.x];
    unsigned begin = (unsigned)B.begin[blockIdx.x];
    count_blocks(A.col_idx + g.first, g.entries, columns, nblocks, before);
    for (int b = threadIdx.x; b < nblocks; b += blockDim.x)
        before[b] = whole_sectors(before[b]), taken[b] = 0;
    __syncthreads();
    sum_counts(nblocks, before);
    for (int k = threadIdx.x; k < g.entries; k += blockDim.x) {
        unsigned col = (unsigned)A.col_idx[g.first + k], b = col / (unsigned)columns;
        int64_t tile = tiles[b * B.all.nrow_blocks + blockIdx.x];
        unsigned rank = (unsigned)atomicAdd(taken + b, 1), at = (unsigned)tile + rank;
        unsigned to = begin + (unsigned)before[b] + rank;
        B.column[at] = (uint16_t)(col - b * columns + (rank ? 0 : TILE_BEGINS));
        B.value[at] = A.values[g.first + k];
        B.place[to] = (uint16_t)skewed(k);
        if (rank == 0) B.shift[tile >> 32] = to - at;
        if (at % WARP == 0) B.tile[at / WARP] = (unsigned)(tile >> 32) - (rank == 0);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < nblocks;
         b += blockDim.x) /* no sector begins with what fills it */
        for (int rank = taken[b]; rank < whole_sectors(taken[b]); rank++) {
            unsigned at = (unsigned)tiles[b * B.all.nrow_blocks + blockIdx.x] + (unsigned)rank;
            B.column[at] = 0, B.value[at] = 0;
            B.place[begin + (unsigned)(before[b] + rank)] = NO_PLACE;
        }
}

/* Where blocks of columns begin, and where the last one ends. */
static __global__ void find_blocks(int64_t nbins, int nblocks, const int64_t *__restrict__ tiles,
                                   unsigned *begin) {
    int b = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (b <= nblocks) begin[b] = (unsigned)tiles[b * nbins];
}

/* Equal shares of those blocks that have more than most. */
static inline int64_t list_shares(const unsigned *begin, int64_t nblocks, idx columns, idx cols,
                                  share *out) {
    int64_t n = 0, fair = begin[nblocks] / nblocks * 5 / 4 + MOST_WARPS * WARP;
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t entries = (int64_t)begin[b + 1] - begin[b], parts = blocks_for(entries, fair);
        idx column = (idx)(b * columns), width = columns < cols - column ? columns : cols - column;
        for (int64_t k = 0; k < parts; k++, n++)
            if (out)
                out[n] = {begin[b] + (unsigned)spmv_split(entries, parts, k),
                          begin[b] + (unsigned)spmv_split(entries, parts, k + 1), column, width};
    }
    return n;
}

static inline spmv_status make_shares(spmv_plan *p, const unsigned *begin, idx columns, idx cols,
                                      bins *B) {
    B->nshares = list_shares(begin, B->nblocks, columns, cols, NULL);
    share *list = (share *)malloc((size_t)B->nshares * sizeof *list + 1);
    if (!list) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    list_shares(begin, B->nblocks, columns, cols, list);
    spmv_status status =
        put_scratch(p, list, (size_t)B->nshares * sizeof *list, (void **)&B->shares);
    free(list);
    return status;
}

/* The tiles are counted: what is known by that. */
static inline spmv_status make_arrays(spmv_plan *p, const csr *A, idx columns, const int64_t *tiles,
                                      unsigned *begin, bins *B) {
    enum { THREADS = 256 };
    spmv_device *d = p->device;
    size_t begins = (size_t)B->nblocks + 1;
    int64_t total = 0;
    unsigned *host = (unsigned *)malloc(begins * sizeof *host);
    if (!host) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    find_blocks<<<(unsigned)blocks_for(begins, THREADS), THREADS, 0, stream_of(p)>>>(
        B->all.nrow_blocks, (int)B->nblocks, tiles, begin);
    spmv_status status = d->backend->get(d, host, begin, begins * sizeof *host);
    if (status == SPMV_OK) status = make_shares(p, host, columns, (idx)A->s.cols, B);
    free(host);
    TRY(status);
    TRY(d->backend->get(d, &total, tiles + B->nblocks * B->all.nrow_blocks, sizeof total));
    B->ntiles = total >> 32, B->slots = total & UINT32_MAX;
    size_t n = (size_t)B->slots;
    TRY(take_scratch(p, n * sizeof *B->column, (void **)&B->column));
    TRY(take_scratch(p, n * sizeof *B->value, (void **)&B->value));
    TRY(take_scratch(p, (n / WARP + 1) * sizeof *B->tile, (void **)&B->tile));
    TRY(take_scratch(p, (size_t)B->ntiles * sizeof *B->shift, (void **)&B->shift));
    TRY(take_scratch(p, n * sizeof *B->product, (void **)&B->product));
    return take_scratch(p, n * sizeof *B->place, (void **)&B->place);
}

static inline spmv_status build_tiles(spmv_plan *p, const csr *A, idx columns, int64_t *tiles,
                                      unsigned *begin, bins *B) {
    int64_t nbins = B->all.nrow_blocks, ntiles = B->nblocks * nbins;
    size_t counters = (size_t)B->nblocks * sizeof(int);
    cudaStream_t stream = stream_of(p);
    TRY(take_scratch(p, (size_t)(nbins + 1) * sizeof *B->begin, (void **)&B->begin));
    CU(p->device->ctx, cudaMemsetAsync(tiles + ntiles, 0, sizeof *tiles, stream));
    CU(p->device->ctx, cudaMemsetAsync(B->begin + nbins, 0, sizeof *B->begin, stream));
    count_tiles<<<(unsigned)nbins, BUILD_THREADS, counters, stream>>>(*B, A->col_idx, columns,
                                                                      tiles);
    TRY(launched(p));
    TRY(sum_before(p->device, ntiles + 1, tiles));
    TRY(sum_before(p->device, nbins + 1, B->begin));
    TRY(make_arrays(p, A, columns, tiles, begin, B));
    place_entries<<<(unsigned)nbins, BUILD_THREADS, 2 * counters, stream>>>(*B, *A, columns, tiles);
    return launched(p);
}

/* all, entries and nblocks are there. */
static inline spmv_status bins_build(spmv_plan *p, const csr *A, idx columns, bins *B) {
    spmv_device *d = p->device;
    void *work[2] = {NULL};
    size_t tiles = (size_t)(B->nblocks * B->all.nrow_blocks + 1) * sizeof(int64_t);
    spmv_status status = d->backend->alloc(d, tiles, &work[0]);
    if (status == SPMV_OK)
        status = d->backend->alloc(d, (size_t)(B->nblocks + 1) * sizeof(unsigned), &work[1]);
    if (status == SPMV_OK)
        status = build_tiles(p, A, columns, (int64_t *)work[0], (unsigned *)work[1], B);
    for (int k = 0; k < 2; k++) d->backend->release(d, work[k]);
    return status;
}
#endif
