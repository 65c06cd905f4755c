/* bins: propagation blocking: blocks of columns multiply their nonzeros by x in shared memory and
 * write the products into bins, one per block of rows; then each bin adds up its rows.
 *
 * Source   Beamer, Asanovic, Patterson, "Reducing Pagerank communication via propagation blocking",
 *          IPDPS'17; segments of long rows as in csr_adaptive.
 * Reads    csr: row_ptr[rows + 1]; its copy of the matrix by column blocks: columns (16 bits,
 *          within the block), values, and each nonzero's place in its bin; for rows longer than a
 *          bin, col_idx and values in segments (row_blocks.cuh); x[cols]; y[rows] only if beta !=
 *          0.
 * Writes   product[slots]; y[rows], each entry once.
 * Work     In the first kernel a block of threads copies a block of columns of x into shared memory
 *          and goes through the block's nonzeros, 4 per thread at a time. A tile is the nonzeros
 *          that a column block and a bin have in common; their products go to the tile's place in
 *          the bin. A bit of the stored column marks where a tile begins, and a warp counts these
 *          bits to find the tile. In the second kernel a block of threads reads a bin's products
 *          and puts them into shared memory row by row, and lanes add up the rows; the warps of its
 *          first blocks multiply the segments of longer rows.
 * Cost     2 nnz flop; slots (3 sizeof real + 4) + slots / 32 x 4 + tiles x 4 + (rows + 1) sizeof
 *          ofs + (cols + rows) sizeof real bytes; slots: the nonzeros, each tile padded to a
 *          multiple of 32 bytes. Nothing is gathered from memory.
 * Weak     Where the columns of a row are near each other, or the caches hold x, the nonzeros are
 *          moved twice for nothing.
 * Repeats  bitwise: yes.
 * Params   tile: columns of a block (0: as many as fit, so that all multiprocessors have equally
 *          many blocks).
 */
#include "bins.cuh"

enum {
    AT_ONCE = 4, /* entries of a thread in the first kernel, */
    LOADS = 4,   /* pairs in the second, */
    ROWS = 4,    /* and rows */
    COLUMN_THREADS = 1024,
    BIN_THREADS = 512,
    BIN_BYTES = (BIN + BIN / SKEW) * (int)sizeof(real)
};

/* ---- the product ----------------------------------------------------------------------------- */

typedef struct batch { /* of a thread's entries, a warp's width apart */
    unsigned column[AT_ONCE], tile[AT_ONCE];
    real value[AT_ONCE];
} batch;

static __device__ __forceinline__ batch load_batch(const bins &B, unsigned at, unsigned end) {
    batch t;
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
        unsigned k = at + u * WARP;
        t.column[u] = 0, t.value[u] = 0, t.tile[u] = 0;
        if (k < end) t.column[u] = __ldcs(B.column + k), t.value[u] = __ldcs(B.value + k);
        if (k < end) t.tile[u] = __ldg(B.tile + k / WARP);
    }
    return t;
}

/* Between first and end. An entry's place and its shift add up modulo 2^32. */
static __device__ __forceinline__ void put_products(const bins &B, const batch &t, unsigned at,
                                                    unsigned first, unsigned end,
                                                    const real *near) {
    const unsigned upto = ALL_LANES >> (WARP - 1 - threadIdx.x % WARP);
    unsigned to[AT_ONCE];
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
        unsigned begun = __ballot_sync(ALL_LANES, t.column[u] & TILE_BEGINS) & upto;
        unsigned k = at + u * WARP;
        to[u] = k;
        if (k >= first && k < end) to[u] += __ldg(B.shift + (t.tile[u] + __popc(begun)));
    }
    __syncwarp(); /* or the compiler would wait for each before it asks for the next */
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
        unsigned k = at + u * WARP;
        if (k >= first && k < end) B.product[to[u]] = t.value[u] * near[t.column[u] & ~TILE_BEGINS];
    }
}

static __global__ void __launch_bounds__(COLUMN_THREADS, 1)
    multiply_columns(const __grid_constant__ bins B, const real *__restrict__ x) {
    extern __shared__ double room[];
    real *near = (real *)room;
    const share s = B.shares[blockIdx.x];
    unsigned lane = threadIdx.x % WARP, step = COLUMN_THREADS * AT_ONCE;
    unsigned at = s.first / WARP * WARP + threadIdx.x / WARP * WARP * AT_ONCE + lane;
    batch now = load_batch(B, at, s.end);
#pragma unroll 8
    for (idx j = (idx)threadIdx.x; j < s.columns; j += COLUMN_THREADS) near[j] = x[s.column + j];
    __syncthreads();
#pragma unroll 1
    for (; at - lane < s.end; at += step) {
        batch next = load_batch(B, at + step, s.end);
        put_products(B, now, at, s.first, s.end, near);
        now = next;
    }
}

typedef struct __align__(2 * sizeof(real)) two { /* neighbours, for one load */
    real x, y;
}
two;

/* The products of a bin into shared memory, row by row. */
static __device__ __forceinline__ void load_bin(const real *from, const uint16_t *place, int slots,
                                                real *product) {
    two a[LOADS];
    ushort2 to[LOADS];
#pragma unroll 1
    for (int at = (int)threadIdx.x * 2; at < slots; at += BIN_THREADS * LOADS * 2) {
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            int k = at + u * BIN_THREADS * 2;
            to[u] = {NO_PLACE, NO_PLACE};
            if (k < slots)
                a[u] = *(const two *)(from + k), to[u] = __ldcs((const ushort2 *)(place + k));
        }
#pragma unroll
        for (int u = 0; u < LOADS; u++) {
            if (to[u].x != NO_PLACE) product[to[u].x] = a[u].x;
            if (to[u].y != NO_PLACE) product[to[u].y] = a[u].y;
        }
    }
}

/* `lanes`, a power of two, share a row. */
static __device__ __forceinline__ void add_rows_of(const operands &o, const row_block &g, int lanes,
                                                   const real *product) {
    int lane = (int)threadIdx.x % lanes, step = BIN_THREADS / lanes;
#pragma unroll 1
    for (int r = (int)threadIdx.x / lanes; r - r % (WARP / lanes) < g.rows; r += ROWS * step) {
        int k[ROWS], end[ROWS];
#pragma unroll
        for (int u = 0; u < ROWS; u++) {
            const ofs *row = o.row_ptr + g.row + r + u * step;
            k[u] = 0, end[u] = 0;
            if (r + u * step < g.rows)
                k[u] = (int)(row[0] - g.first) + lane, end[u] = (int)(row[1] - g.first);
        }
#pragma unroll
        for (int u = 0; u < ROWS; u++) {
            real sum = 0;
            for (int at = k[u]; at < end[u]; at += lanes) sum += product[skewed(at)];
            for (int s = lanes / 2; s > 0; s /= 2)
                sum += __shfl_down_sync(ALL_LANES, sum, s, lanes);
            if (r + u * step < g.rows && lane == 0)
                put_row(o.y + g.row + r + u * step, o.alpha, sum, o.beta);
        }
    }
}

static __global__ void __launch_bounds__(BIN_THREADS, 3)
    add_bins(const __grid_constant__ bins B, const __grid_constant__ operands o, int segment_blocks,
             int lanes) {
    extern __shared__ double room[];
    real *product = (real *)room;
    int warp = threadIdx.x / WARP, warps = BIN_THREADS / WARP, block = blockIdx.x;
    if (block < segment_blocks) {
        if (block * warps + warp < (int)B.all.nsegments)
            multiply_block_or_segment(o, B.all, block * warps + warp, NULL);
        return;
    }
    union {
        int4 loaded;
        row_block g;
    } u;
    u.loaded = __ldg((const int4 *)(B.all.block + (block - segment_blocks)));
    if (B.slots) {
        const int64_t *begin = B.begin + (block - segment_blocks), first = begin[0];
        load_bin(B.product + first, B.place + first, (int)(begin[1] - first), product);
    }
    __syncthreads();
    add_rows_of(o, u.g, lanes, product);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const bins *B = (const bins *)p->scratch;
    const csr *A = (const csr *)p->store;
    const int64_t warps = BIN_THREADS / WARP;
    size_t near = (size_t)p->choice.value[SPMV_tile] * sizeof(real);
    operands o = {A->row_ptr,  A->col_idx, A->values, (const real *)x,
                  (real)alpha, (real)beta, (real *)y};
    if (A->s.rows == 0) return SPMV_OK;
    int lanes = 1;
    while (lanes < WARP && B->entries > 3 * lanes * A->s.rows) lanes *= 2;
    int segment_blocks = (int)blocks_for(B->all.nsegments, warps);
    if (B->nshares)
        multiply_columns<<<(unsigned)B->nshares, COLUMN_THREADS, near, stream_of(p)>>>(*B, o.x);
    add_bins<<<(unsigned)(segment_blocks + B->all.nrow_blocks), BIN_THREADS, BIN_BYTES,
               stream_of(p)>>>(*B, o, segment_blocks, lanes);
    return launched(p);
}

/* ---- preparation ----------------------------------------------------------------------------- */

static row_block_sizes sizes_of_bins(int64_t nnz) {
    row_block_sizes size = sizes_of(nnz, 1, 1);
    size.block = size.row = BIN;
    return size;
}

/* Bins are counted as row_blocks_bytes counts row blocks; a tile has one nonzero at least. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    enum { LEAST_COLUMNS = 4096, MOST_MULTIPROCESSORS = 512 }; /* of any GPU */
    row_block_sizes size = sizes_of_bins(A->nnz);
    size_t n = (size_t)A->nnz, nbins = 3 * (n / BIN + 1) + (size_t)A->rows / BIN;
    nbins += (n + (size_t)A->rows) / (size_t)places_of_chunk(&size) + 1;
    size_t tile = (size_t)c->value[SPMV_tile];
    size_t nblocks =
        tile ? (size_t)A->cols / tile + 1 : MOST_MULTIPROCESSORS + (size_t)A->cols / LEAST_COLUMNS;
    size_t tiles = nbins * nblocks < n ? nbins * nblocks : n, slots = n + (SECTOR - 1) * tiles;
    size_t most = n > FEW_TILES ? n : FEW_TILES, counted = nbins * nblocks; /* while it is built */
    if (counted > most) counted = most; /* or check_size refuses */
    size_t work = (counted + 1) * sizeof(int64_t) + (nblocks + 1) * sizeof(unsigned);
    return work + sizeof(bins) + slots * 2 * (sizeof(uint16_t) + sizeof(real)) +
           (tiles + slots / WARP + 1) * sizeof(unsigned) + (nbins + 1) * sizeof(int64_t) +
           (size_t)MOST_BLOCKS * 3 * sizeof(share) + row_blocks_bytes(A, &size);
}

/* Columns of a block: so many at most; all multiprocessors have as many blocks, since each takes
 * the shared memory of one. */
static spmv_status choose_columns(spmv_plan *p, int64_t cols, idx *columns) {
    spmv_device *d = p->device;
    int room = 0, sms = 1;
    int64_t most = 0;
    TRY(shared_room(d, &room));
    CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
    if (BIN_BYTES > room)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "bins: a bin takes %d bytes of shared memory, a block of this GPU has "
                         "%d: choose another kernel",
                         (int)BIN_BYTES, room);
    TRY(columns_that_fit(p, MOST_COLUMNS, room, &most));
    int64_t wanted = p->choice.value[SPMV_tile];
    if (cols < 1) cols = 1;
    if (!wanted) wanted = blocks_for(cols, sms * blocks_for(cols, sms * most));
    *columns = (idx)(wanted < cols ? wanted : cols);
    p->choice.value[SPMV_tile] = *columns;
    CU(d->ctx,
       cudaFuncSetAttribute(multiply_columns, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    CU(d->ctx,
       cudaFuncSetAttribute(add_bins, cudaFuncAttributeMaxDynamicSharedMemorySize, BIN_BYTES));
    return SPMV_OK;
}

static spmv_status check_size(spmv_plan *p, const bins *B, int64_t nbins, int64_t nnz) {
    spmv_ctx *ctx = p->device->ctx;
    int64_t tiles = B->nblocks * nbins, least = tiles < nnz ? tiles : nnz;
    if (nnz + (SECTOR - 1) * least > INT32_MAX)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "bins takes fewer than 2^31 slots, not %lld entries in %lld tiles",
                         (long long)nnz, (long long)tiles);
    if (B->nblocks > MOST_BLOCKS)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "bins: %lld blocks of columns, it takes %d: choose a larger tile",
                         (long long)B->nblocks, MOST_BLOCKS);
    if (tiles > FEW_TILES && tiles > nnz)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "bins: %lld tiles for %lld entries: choose another kernel",
                         (long long)tiles, (long long)nnz);
    return SPMV_OK;
}

/* Products are written and read. */
static size_t traffic(const bins *B, const spmv_csr_view *A) {
    size_t slot = 2 * sizeof(uint16_t) + 3 * sizeof(real), whole = (size_t)(A->nnz - B->entries);
    return (size_t)B->slots * slot + (size_t)(B->slots / WARP + B->ntiles) * sizeof(unsigned) +
           (size_t)B->all.nrow_blocks * (sizeof(row_block) + sizeof *B->begin) +
           (size_t)(A->rows + 1) * sizeof(ofs) + whole * (sizeof(real) + sizeof(idx));
}

static spmv_status prepare(spmv_plan *p) {
    spmv_csr_view A;
    idx columns = 1;
    bins *B = (bins *)calloc(1, sizeof *B);
    if (!B) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = B;
    p->scratch_bytes = sizeof *B;
    spmv_mat_rows(p->matrix, &A);
    row_block_sizes size = sizes_of_bins(A.nnz);
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    TRY(choose_columns(p, A.cols, &columns));
    B->nblocks = blocks_for(A.cols, columns);
    row_block_plan plan;
    const csr *rows = (const csr *)p->store;
    spmv_status status = plan_row_blocks(p, rows, &size, &plan);
    if (status == SPMV_OK)
        status = check_size(p, B, plan.all.blocks, A.nnz); /* before it is made */
    if (status == SPMV_OK) status = plan_list(p, rows, &plan, &B->all);
    plan_free(p->device, &plan);
    TRY(status);
    B->entries = A.nnz - plan.all.entries;
    if (B->entries) TRY(bins_build(p, rows, columns, B));
    p->traffic_bytes = traffic(B, &A);
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    bins *B = (bins *)p->scratch;
    void *owned[] = {B->shares, B->column, B->value,   B->tile,
                     B->shift,  B->begin,  B->product, B->place};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        p->device->backend->release(p->device, owned[k]);
    row_blocks_free(p->device, &B->all);
    free(B);
}

static const spmv_param params[] = {{SPMV_tile, 0, 0, MOST_COLUMNS, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(bins) = {
    /* name, alias  */ "bins",
    NULL,
    /* format       */ "csr",
    /* summary      */
    "propagation blocking: blocks of columns make the products, bins of rows add them up",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
