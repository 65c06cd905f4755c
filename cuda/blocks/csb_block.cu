/* csb_block: one block of threads multiplies one row of blocks of a CSB matrix; each warp
 * multiplies an equal share of its nonzeros, with its own sums in shared memory.
 *
 * Source   "CSB" of the third paper, which gives no kernel; the format: Buluc and others, SPAA'09.
 * Reads    csb: local[nnz], values[nnz]; instead of block_ptr a list of the blocks that have
 *          nonzeros: first[block_rows + 1], begin[listed + 1], column[listed]; x[cols]; y[rows]
 *          only if beta != 0.
 * Writes   y[rows], each element once: the warps' sums, added in order.
 * Work     A warp multiplies 4 x 32 nonzeros per step. 5 shuffles sum adjacent nonzeros of equal
 *          row; the last lane of these adds the result to the warp's sum of the row. If 32 nonzeros
 *          span two blocks, a row may have two results, which are added one after the other.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + listed (sizeof ofs + 4) + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     tile sizeof real bytes of shared memory per warp: large tiles leave few warps; if none
 *          fits, the matrix is refused. A very long row occupies one block of threads.
 * Repeats  bitwise: yes, for an equal block.
 * Params   tile: of the format; block: threads per block, a multiple of 32 (128), at most as many
 *          as fit into shared memory.
 */
#include "cuda/device.cuh"
#include "formats/csb/csb.h"
#include <stdlib.h>

enum { STEPS = 4 }; /* number of loads in flight per lane */

/* List of the blocks that have entries, in device memory. */
typedef struct block_list {
    ofs *first;  /* [block_rows + 1] index of each row of blocks in the list */
    ofs *begin;  /* [listed + 1] first entry of each block */
    idx *column; /* [listed] first column of each block */
    int warps;   /* warps per block of threads */
} block_list;

static size_t list_bytes(int64_t block_rows, int64_t listed) {
    return sizeof(block_list) + (size_t)(block_rows + 1 + listed + 1) * sizeof(ofs) +
           (size_t)listed * sizeof(idx);
}

/* Upper bound, as if every block that can have an entry had one. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t tile = csb_tile(A->rows, A->cols, c->value[SPMV_tile]);
    int64_t block_rows = blocks_for(A->rows, tile),
            nblocks = block_rows * blocks_for(A->cols, tile);
    return list_bytes(block_rows, nblocks < A->nnz ? nblocks : A->nnz);
}

static void release(spmv_plan *p) {
    block_list *t = (block_list *)p->scratch;
    p->device->backend->release(p->device, t->first);
    p->device->backend->release(p->device, t->begin);
    p->device->backend->release(p->device, t->column);
    free(t);
}

static size_t sums_bytes(const csb *A) {
    return (size_t)(A->tile < A->s.rows ? A->tile : A->s.rows) * sizeof(real);
}

/* Fills a list in host memory, which must be large enough. */
static void list_blocks(const csb *A, block_list *host) {
    ofs n = 0;
    for (int64_t b = 0; b < A->block_rows; b++) {
        const ofs *ptr = A->block_ptr + b * A->block_cols;
        host->first[b] = n;
        for (int64_t c = 0; c < A->block_cols; c++) {
            if (ptr[c] == ptr[c + 1]) continue;
            host->begin[n] = ptr[c];
            host->column[n++] = (idx)(c * A->tile);
        }
    }
    host->first[A->block_rows] = n;
    host->begin[n] = (ofs)A->s.nnz;
}

static int64_t count_blocks(const csb *A, int threads) {
    int64_t listed = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : listed)
    for (int64_t b = 0; b < A->block_rows * A->block_cols; b++)
        listed += A->block_ptr[b] < A->block_ptr[b + 1];
    return listed;
}

static spmv_status put_list(spmv_plan *p, const csb *A, int64_t listed, block_list *out) {
    size_t first_bytes = (size_t)(A->block_rows + 1) * sizeof(ofs);
    size_t begin_bytes = (size_t)(listed + 1) * sizeof(ofs);
    size_t column_bytes = (size_t)listed * sizeof(idx);
    char *memory = (char *)spmv_host_alloc(first_bytes + begin_bytes + column_bytes);
    if (!memory) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for the blocks");
    block_list host = {(ofs *)memory, (ofs *)(memory + first_bytes),
                       (idx *)(memory + first_bytes + begin_bytes), 0};
    list_blocks(A, &host);
    spmv_status status = put_scratch(p, host.first, first_bytes, (void **)&out->first);
    if (status == SPMV_OK) status = put_scratch(p, host.begin, begin_bytes, (void **)&out->begin);
    if (status == SPMV_OK)
        status = put_scratch(p, host.column, column_bytes, (void **)&out->column);
    spmv_host_free(memory);
    return status;
}

/* Sums values of adjacent lanes with equal rows, and adds the results to `sums`. row -1: none. Must
 * be called by every lane of the warp. */
static __device__ __forceinline__ void add_rows(int row, real sum, real *sums) {
    int lane = threadIdx.x % WARP;
    int row_before = __shfl_up_sync(ALL_LANES, row, 1);
    unsigned heads = __ballot_sync(ALL_LANES, lane == 0 || row != row_before);
    int head = WARP - 1 - __clz((int)(heads << (WARP - 1 - lane) >> (WARP - 1 - lane)));
    for (int step = 1; step < WARP; step *= 2) {
        real sum_before = __shfl_up_sync(ALL_LANES, sum, step);
        if (lane - step >= head) sum += sum_before;
    }
    bool is_last = row >= 0 && (lane == WARP - 1 || heads >> (lane + 1) & 1);
    int turn = 0;
    /* two blocks adjoin: rows are not ascending */
    if (__any_sync(ALL_LANES, lane > 0 && row >= 0 && row < row_before)) {
        unsigned same = __match_any_sync(ALL_LANES, is_last ? row : -1 - lane);
        turn = __popc(same & ((1u << lane) - 1));
    }
    for (int t = 0; __any_sync(ALL_LANES, is_last && turn >= t); t++) {
        if (is_last && turn == t) sums[row] += sum;
        __syncwarp();
    }
}

/* Returns the block, in [first, end), that contains entry k: the last with begin <= k. */
static __device__ __forceinline__ ofs find_block(const ofs *begin, ofs first, ofs end, ofs k) {
    while (end - first > 1) {
        ofs middle = first + (end - first) / 2;
        if (begin[middle] <= k)
            first = middle;
        else
            end = middle;
    }
    return first;
}

static __global__ void multiply(idx rows, idx tile, idx height, const ofs *__restrict__ first,
                                const ofs *__restrict__ begin, const idx *__restrict__ column,
                                const uint32_t *__restrict__ local, const real *__restrict__ values,
                                const real *__restrict__ x, result out) {
    extern __shared__ real shared[]; /* [warps x height] */
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, nwarps = blockDim.x / WARP;
    real *sums = shared + (int64_t)warp * height;
    for (int i = threadIdx.x; i < nwarps * height; i += blockDim.x) shared[i] = 0;
    __syncthreads();
    ofs listed = first[blockIdx.x], listed_end = first[blockIdx.x + 1];
    int64_t n = begin[listed_end] - begin[listed];
    int64_t share = begin[listed] + n * warp / nwarps;
    int64_t share_end = begin[listed] + n * (warp + 1) / nwarps;
    ofs block = listed;
    if (share + lane < share_end)
        block = find_block(begin, listed, listed_end, (ofs)(share + lane));
    for (; share < share_end; share += STEPS * WARP) {
        uint32_t at[STEPS];
        real product[STEPS];
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            int64_t k = share + s * WARP + lane;
            at[s] = k < share_end ? local[k] : 0;
            product[s] = k < share_end ? values[k] : 0;
        }
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            int64_t k = share + s * WARP + lane;
            if (k >= share_end) continue;
            while (begin[block + 1] <= k) block++;
            product[s] *= x[column[block] + (int64_t)(at[s] & 0xffff)];
        }
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            int64_t k = share + s * WARP + lane;
            add_rows(k < share_end ? (int)(at[s] >> 16) : -1, product[s], sums);
        }
    }
    __syncthreads();
    int64_t row0 = (int64_t)blockIdx.x * tile;
    for (int i = threadIdx.x; i < tile && row0 + i < rows; i += blockDim.x) {
        real sum = 0;
        for (int w = 0; w < nwarps; w++) sum += shared[w * height + i];
        put_row(out, row0 + i, sum);
    }
}

static spmv_status prepare(spmv_plan *p) {
    const csb *A = (const csb *)p->host;
    spmv_ctx *ctx = p->device->ctx;
    block_list *t = (block_list *)calloc(1, sizeof *t);
    int room = 0;
    p->scratch = t;
    if (!t) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    p->choice.value[SPMV_tile] = A->tile;
    if (A->s.rows == 0) return SPMV_OK;
    CU(ctx, cudaSetDevice(p->device->number));
    CU(ctx,
       cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, p->device->number));
    CU(ctx, cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    t->warps = (int)p->choice.value[SPMV_block] / WARP;
    if ((size_t)t->warps > (size_t)room / sums_bytes(A)) t->warps = room / (int)sums_bytes(A);
    if (t->warps == 0)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "a tile of %lld rows takes %zu bytes of shared memory a warp, a block has "
                         "%d: choose a smaller tile",
                         (long long)A->tile, sums_bytes(A), room);
    p->choice.value[SPMV_block] = t->warps * WARP;
    int64_t listed = count_blocks(A, p->device->threads);
    p->scratch_bytes = sizeof *t;
    TRY(put_list(p, A, listed, t));
    p->traffic_bytes = (size_t)A->s.nnz * (sizeof(uint32_t) + sizeof(real)) + p->scratch_bytes;
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csb *A = (const csb *)p->store;
    const block_list *t = (const block_list *)p->scratch;
    if (A->s.rows == 0) return SPMV_OK;
    idx height = (idx)(sums_bytes(A) / sizeof(real));
    multiply<<<(unsigned)A->block_rows, t->warps * WARP, t->warps * sums_bytes(A), stream_of(v)>>>(
        (idx)A->s.rows, (idx)A->tile, height, t->first, t->begin, t->column, A->local, A->values,
        (const real *)v->x, result_of(v));
    return launched(p);
}

static const spmv_param params[] = {{SPMV_block, 128, 32, 1024, WARP, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csb_block) = {
    .name = "csb_block",
    .format = "csb",
    .summary = "one block of threads per row of blocks, a warp's sums in shared memory",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PAPER,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
