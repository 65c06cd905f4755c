/* plan_row_blocks.cuh: plans the row blocks and segments of row_blocks.cuh on the GPU. Where a row
 * block begins is known only when the one before it ends; so the rows are cut into chunks of about
 * equal numbers of nonzeros and rows, which depend on the matrix alone, and one warp goes through
 * each chunk, once to count and once to list. On the host the same plan would keep an H200 waiting
 * for 0.4 to 1 ms, most of it to wake the host's threads and to send the list. */
#ifndef SPMV_CUDA_PLAN_ROW_BLOCKS_CUH
#define SPMV_CUDA_PLAN_ROW_BLOCKS_CUH

#include "row_blocks.cuh"
#include "formats/csr/csr.h"

enum {
    PLAN_THREADS = 256, /* of a chunk; all but a warp only fetch its rows to the first cache */
    CHUNK_BLOCKS = 64,  /* row blocks of a chunk, about; its last one is cut short */
    MOST_OF_CHUNK = 1 << 16
};

typedef struct row_block_counts {
    int64_t blocks, segments, cuts;
} row_block_counts;

typedef struct chunk {
    int64_t begin, end;     /* rows */
    row_block_counts count; /* of its own; then of those before it */
} chunk;

typedef struct row_block_plan {
    row_block_sizes size;
    int64_t nchunks;
    chunk *list, *host; /* [nchunks] on the device, and what the host has of it */
    row_block_counts all;
} row_block_plan;

/* ---- on the GPU ------------------------------------------------------------------------------ */

/* The first row that has so many entries and rows in front of it; every thread of the block calls.
 * Each looks at one place of the range that is left, and all count who is in front. */
static __device__ __forceinline__ int64_t row_at(const ofs *row_ptr, int64_t rows, int64_t place) {
    int64_t low = 0, high = rows;
    while (low < high) {
        int64_t left = high - low, mine = low + left * threadIdx.x / PLAN_THREADS;
        int before = __syncthreads_count(row_ptr[mine] + mine < place);
        if (before == 0) return low;
        if (before < PLAN_THREADS) high = low + left * before / PLAN_THREADS;
        low += left * (before - 1) / PLAN_THREADS + 1;
    }
    return low;
}

/* Behind the last row of the row block that begins with this one: each lane looks at another of
 * the rows that may follow. */
static __device__ __forceinline__ int64_t end_of_row_block(const ofs *row_ptr, int64_t row,
                                                           int64_t end, int64_t most) {
    const int64_t last = min(row + most, end), first = row_ptr[row];
    for (int64_t top = row + 2;; top += WARP) { /* row + 1 is in any case */
        const int64_t mine = top + threadIdx.x;
        const unsigned fits =
            __ballot_sync(ALL_LANES, mine <= last && row_ptr[min(mine, last)] - first <= most);
        if (fits != ALL_LANES) return top + __popc(fits) - 1;
    }
}

/* Equal segments of a row, each a multiple of WARP_ENTRIES long, a lane one at a time. */
static __device__ __forceinline__ void list_segments(int64_t begin, int64_t end, int64_t row,
                                                     int64_t most, row_segment *out,
                                                     row_block_counts *n) {
    int64_t step = (end - begin + MOST_SEGMENTS - 1) / MOST_SEGMENTS;
    step = max((step + WARP_ENTRIES - 1) / WARP_ENTRIES * WARP_ENTRIES, most);
    const int64_t first = n->segments, segments = (end - begin + step - 1) / step;
    for (int64_t q = threadIdx.x; out && q < segments; q += WARP) {
        const int64_t k = begin + q * step;
        out[first + q] = {
            k, (idx)row, (idx)min(end - k, step), (idx)segments, (idx)first, (idx)n->cuts, 0};
    }
    n->segments += segments;
    n->cuts += segments > 1;
}

/* Lists rows row..end - 1, or only counts if blocks and segments are NULL; a warp calls. n: how
 * many there are in front of them; afterwards, also with them. */
static __device__ __forceinline__ void list_rows(const ofs *row_ptr, int64_t row, int64_t end,
                                                 const row_block_sizes &size, row_block *blocks,
                                                 row_segment *segments, row_block_counts *n) {
    while (row < end) {
        int64_t first = row_ptr[row], begun = row;
        if (row_ptr[row + 1] - first > size.row) {
            list_segments(first, row_ptr[row + 1], row, size.segment, segments, n);
            row++;
            continue;
        }
        row = end_of_row_block(row_ptr, row, end, size.block);
        if (blocks && threadIdx.x == 0)
            blocks[n->blocks] = {first, (idx)begun, (uint16_t)(row - begun),
                                 (uint16_t)(row_ptr[row] - first)};
        n->blocks++;
    }
}

/* What one warp is about to go through comes to its multiprocessor's cache by all. */
static __device__ __forceinline__ void fetch_rows(const ofs *row_ptr, int64_t begin, int64_t end,
                                                  ofs *never) {
    ofs seen = 0;
#pragma unroll 8
    for (int64_t i = begin + threadIdx.x; i <= end; i += PLAN_THREADS) seen |= row_ptr[i];
    if (seen < 0) *never = seen; /* or they would not be read */
    __syncthreads();
}

static __global__ void __launch_bounds__(PLAN_THREADS)
    count_row_blocks(const ofs *row_ptr, int64_t rows, int64_t entries_and_rows,
                     row_block_sizes size, chunk *list) {
    __shared__ ofs never;
    int64_t c = blockIdx.x, begin = 0, end = rows;
    if (c > 0) begin = row_at(row_ptr, rows, c * entries_and_rows);
    if (c + 1 < gridDim.x) end = row_at(row_ptr, rows, (c + 1) * entries_and_rows);
    fetch_rows(row_ptr, begin, end, &never);
    if (threadIdx.x >= WARP) return;
    chunk mine = {begin, end, {0, 0, 0}};
    list_rows(row_ptr, begin, end, size, NULL, NULL, &mine.count);
    if (threadIdx.x == 0) list[c] = mine;
}

static __global__ void __launch_bounds__(PLAN_THREADS)
    list_row_blocks(const ofs *row_ptr, row_block_sizes size, const chunk *list, row_block *blocks,
                    row_segment *segments) {
    __shared__ ofs never;
    chunk mine = list[blockIdx.x];
    fetch_rows(row_ptr, mine.begin, mine.end, &never);
    if (threadIdx.x < WARP)
        list_rows(row_ptr, mine.begin, mine.end, size, blocks, segments, &mine.count);
}

/* ---- on the host ----------------------------------------------------------------------------- */

static inline int64_t places_of_chunk(const row_block_sizes *size) {
    int64_t places = CHUNK_BLOCKS * size->block;
    return places < MOST_OF_CHUNK ? places : MOST_OF_CHUNK;
}

/* Bytes that are allocated, at most: two adjacent row blocks have more nonzeros than one may have,
 * or the first of them all the rows, or a long row or a chunk's end is between. */
static inline size_t row_blocks_bytes(const spmv_csr_view *A, const row_block_sizes *size) {
    int64_t chunks = (A->nnz + A->rows) / places_of_chunk(size) + 1;
    int64_t blocks = 3 * (A->nnz / size->block + 1) + A->rows / size->block + chunks;
    int64_t segments = A->nnz / size->row + A->nnz / size->segment + 1;
    return (size_t)blocks * sizeof(row_block) + (size_t)chunks * sizeof(chunk) +
           (size_t)segments * (sizeof(row_segment) + sizeof(real) + sizeof(int));
}

/* What each chunk has becomes what is in front of it. */
static inline void add_up(row_block_plan *t) {
    t->all = {};
    for (int64_t c = 0; c < t->nchunks; c++) {
        row_block_counts own = t->host[c].count;
        t->host[c].count = t->all;
        t->all.blocks += own.blocks, t->all.segments += own.segments;
        t->all.cuts += own.cuts;
    }
}

/* How many there will be. *t is for plan_free, whatever is returned. */
static inline spmv_status plan_row_blocks(spmv_plan *p, const csr *A, const row_block_sizes *size,
                                          row_block_plan *t) {
    spmv_device *d = p->device;
    int64_t places = places_of_chunk(size);
    *t = {*size, (A->s.nnz + A->s.rows) / places + 1};
    size_t bytes = (size_t)t->nchunks * sizeof *t->host;
    t->host = (chunk *)malloc(bytes);
    if (!t->host) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    TRY(d->backend->alloc(d, bytes, (void **)&t->list));
    count_row_blocks<<<(unsigned)t->nchunks, PLAN_THREADS, 0, stream_of(p)>>>(
        A->row_ptr, A->s.rows, places, *size, t->list);
    TRY(launched(p));
    TRY(d->backend->get(d, t->host, t->list, bytes));
    add_up(t);
    return SPMV_OK;
}

/* On failure *out is for row_blocks_free. */
static inline spmv_status plan_list(spmv_plan *p, const csr *A, const row_block_plan *t,
                                    row_blocks *out) {
    spmv_device *d = p->device;
    out->nrow_blocks = t->all.blocks, out->nsegments = t->all.segments, out->ncuts = t->all.cuts;
    out->team = t->size.team;
    TRY(take_scratch(p, (size_t)out->nrow_blocks * sizeof *out->block, (void **)&out->block));
    TRY(take_scratch(p, (size_t)out->nsegments * sizeof *out->segment, (void **)&out->segment));
    TRY(take_scratch(p, (size_t)out->nsegments * sizeof *out->sum, (void **)&out->sum));
    TRY(clear_scratch(p, (size_t)out->ncuts * sizeof *out->done, (void **)&out->done));
    TRY(d->backend->put(d, t->list, t->host, (size_t)t->nchunks * sizeof *t->host));
    list_row_blocks<<<(unsigned)t->nchunks, PLAN_THREADS, 0, stream_of(p)>>>(
        A->row_ptr, t->size, t->list, out->block, out->segment);
    return launched(p);
}

static inline void plan_free(spmv_device *d, row_block_plan *t) {
    d->backend->release(d, t->list);
    free(t->host);
}

static inline spmv_status row_blocks_make(spmv_plan *p, const csr *A, const row_block_sizes *size,
                                          row_blocks *out) {
    row_block_plan plan;
    spmv_status status = plan_row_blocks(p, A, size, &plan);
    if (status == SPMV_OK) status = plan_list(p, A, &plan, out);
    plan_free(p->device, &plan);
    return status;
}
#endif
