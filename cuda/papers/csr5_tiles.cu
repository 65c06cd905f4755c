/* csr5_tiles: CSR5 with a warp per tile, and rows combined by a segmented sum over the lanes.
 *
 * Source   Liu and Vinter, ICS'15, "CSR5: An Efficient Storage Format for Cross-Platform Sparse
 *          Matrix-Vector Multiplication", from the description. Here the lanes' sums of a segment
 *          are added by a tree: the difference of two prefix sums, as published, would let a row's
 *          rounding error, infinity or NaN into its neighbours.
 * Reads    csr5: tile_ptr[tiles + 1], tile_desc[tiles x words x 32], col_idx[nnz], values[nnz],
 *          row_ptr once per tile and for the tail, and all of it if there are empty rows; empty_ptr
 *          and empty_offset of tiles with empty rows; tail_row; x[cols]; y[rows] if beta != 0, and
 *          of rows that several tiles hold.
 * Writes   y[rows]: each row by the tile in which it begins; carry[tiles + 1], the paper's
 *          calibrator: the sum that a tile, or the tail, has of a row that begins before it; a
 *          second kernel adds the carries; a third one stores empty rows if there are any.
 * Work     step j of a tile is one aligned read of 32 values and columns. A tile within one row is
 *          a dot product (the paper's fast track). Otherwise a lane stores the sums of rows that
 *          begin and end in it; other sums are combined between lanes by shuffles. The tail after
 *          the last whole tile is multiplied by a warp per row.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + tiles (128 words + 4 + sizeof ofs + sizeof real) +
 *          (cols + rows) sizeof real bytes if x is read once, without 128 words for a tile within
 *          one row, and (rows + 1) sizeof ofs if there are empty rows.
 * Weak     a warp reads x for 32 nonzeros that are `height` apart; lanes write y one by one, which
 *          are separate transactions if rows are short; up to three launches.
 * Repeats  bitwise: yes, for an equal height.
 * Params   block: threads per block, a multiple of 32 (256); lanes: 32, a warp (the paper's omega);
 *          height: steps of a tile, of the format (sigma), 0: 4 to 32 by the mean row length.
 */
#include "cuda/segments.cuh"
#include "formats/papers/csr5/csr5.h"

enum { BATCH = 4, EMPTY_THREADS = 256 }; /* BATCH: steps that are loaded together */

typedef struct parts {
    idx *tail_row; /* [ntail] rows of the tail's entries; device memory */
    int64_t ntail;
    split_rows split;
} parts;

/* ---- preparing ------------------------------------------------------------------------------- */

/* The last argument of csr5_shape_of, a CPU's vector length, is not used here. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    const csr5_shape shape = csr5_shape_of(A, c, 0);
    const int64_t size = csr5_tile_size(&shape), tiles = A->nnz / size;
    return sizeof(parts) + split_rows_bytes(tiles + 1) + (size_t)size * sizeof(idx);
}

static void release(spmv_plan *p) {
    parts *t = (parts *)p->scratch;
    p->device->backend->release(p->device, t->tail_row);
    split_rows_free(p->device, &t->split);
    free(t);
}

/* For each tile, and the tail: its first row if that begins before the tile, otherwise -1. */
static void find_open_rows(const csr5 *A, int threads, idx *open_row) {
    const int64_t size = csr5_tile_size(&A->shape);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t t = 0; t <= A->tiles; t++) {
        const idx row = A->tile_ptr[t] & ~CSR5_HAS_EMPTY;
        open_row[t] = t * size < A->s.nnz && A->row_ptr[row] != t * size ? row : -1;
    }
}

/* Lists the nonempty rows of the tail, which are fewer than the entries of a tile. */
static int64_t find_tail_rows(const csr5 *A, idx *tail_row) {
    int64_t k = A->tiles * csr5_tile_size(&A->shape), n = 0;
    for (int64_t i = A->tile_ptr[A->tiles]; k < A->s.nnz; k = A->row_ptr[++i])
        if (A->row_ptr[i + 1] > k) tail_row[n++] = (idx)i;
    return n;
}

static spmv_status prepare(spmv_plan *p) {
    const csr5 *A = (const csr5 *)p->host;
    parts *t = (parts *)calloc(1, sizeof *t);
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->choice.value[SPMV_height] = A->shape.height;
    p->scratch_bytes = sizeof *t;
    const size_t n = (size_t)(A->tiles + 1 + csr5_tile_size(&A->shape));
    idx *open_row = (idx *)spmv_host_alloc(n * sizeof *open_row);
    if (!open_row) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for open rows");
    idx *tail_row = open_row + A->tiles + 1;
    find_open_rows(A, p->device->threads, open_row);
    t->ntail = find_tail_rows(A, tail_row);
    spmv_status status =
        put_scratch(p, tail_row, (size_t)t->ntail * sizeof *tail_row, (void **)&t->tail_row);
    if (status == SPMV_OK) status = split_rows_make(p, open_row, A->tiles + 1, &t->split);
    spmv_host_free(open_row);
    p->traffic_bytes = csr5_bytes_read(A) + (size_t)t->split.count * 2 * sizeof(real);
    return status;
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef struct operands { /* operands of a product, in device memory */
    csr5_shape shape;
    int64_t tiles, ntail;
    const ofs *row_ptr, *empty_ptr;
    const int32_t *tile_ptr, *empty_offset;
    const uint32_t *tile_desc;
    const idx *tail_row;
    real *carry;
    result out;
} operands;

/* Stores tile t's sum of `row`, whose entries in the tile (or in the tail, the last) begin at k: as
 * the row if it begins at k, otherwise as a carry. */
static __device__ __forceinline__ void put_first(const operands *o, int64_t t, int64_t k, idx row,
                                                 real sum) {
    if (o->row_ptr[row] == k)
        put_row(o->out, row, sum);
    else
        o->carry[t] = sum;
}

static __device__ __forceinline__ void put_segment(const operands *o, int64_t t, int64_t k,
                                                   int32_t tile_ptr, int segment, real sum) {
    const idx row = tile_ptr & ~CSR5_HAS_EMPTY;
    if (segment == 0)
        put_first(o, t, k, row, sum);
    else
        put_row(o->out, row + (tile_ptr < 0 ? o->empty_offset[o->empty_ptr[t] + segment] : segment),
                sum);
}

/* Returns, in lane l, the sum over lanes l, ..., l + following. following: seg_offset of the
 * format, which decreases by one from lane to lane. Every lane must call. */
static __device__ __forceinline__ real segment_sum(real sum, int following) {
    for (int step = 1; step < WARP; step *= 2) {
        const real more = __shfl_down_sync(ALL_LANES, sum, step);
        if (step <= following) sum += more;
    }
    return sum;
}

/* Computes a lane's products of steps j, ..., j + BATCH - 1; 0 beyond the last step. */
static __device__ __forceinline__ void multiply_steps(const idx *__restrict__ col_idx,
                                                      const real *__restrict__ values,
                                                      const real *__restrict__ x, int j, int height,
                                                      real *product) {
#pragma unroll
    for (int b = 0; b < BATCH; b++)
        product[b] = j + b < height ? values[(j + b) * WARP] * x[col_idx[(j + b) * WARP]] : 0;
}

static __device__ __forceinline__ void multiply_row(const operands *o, const idx *col_idx,
                                                    const real *values, const real *x, int64_t t) {
    const idx row = o->tail_row[t - o->tiles];
    const int64_t tail = o->tiles * o->shape.height * WARP, row_begin = o->row_ptr[row];
    const int64_t begin = row_begin > tail ? row_begin : tail, end = o->row_ptr[row + 1];
    real sum = 0;
    for (int64_t k = begin + threadIdx.x % WARP; k < end; k += WARP)
        sum += values[k] * x[col_idx[k]];
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) put_first(o, o->tiles, begin, row, sum);
}

/* Multiplies a tile within one row. */
static __device__ __forceinline__ void multiply_dense(const operands *o, const idx *col_idx,
                                                      const real *values, const real *x, int64_t t,
                                                      int64_t k) {
    real sum = 0, product[BATCH];
    for (int j = 0; j < o->shape.height; j += BATCH) {
        multiply_steps(col_idx, values, x, j, o->shape.height, product);
#pragma unroll
        for (int b = 0; b < BATCH; b++) sum += product[b];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % WARP == 0) put_first(o, t, k, o->tile_ptr[t] & ~CSR5_HAS_EMPTY, sum);
}

static __device__ __forceinline__ uint64_t descriptor(const operands *o, int64_t t, int lane) {
    const uint32_t *desc = o->tile_desc + t * o->shape.words * WARP + lane;
    return o->shape.words == 1 ? desc[0] : desc[0] | (uint64_t)desc[WARP] << 32;
}

/* Multiplies a tile of several rows. top: the lane's sum before the first segment that begins in
 * it, which belongs to an earlier lane; a lane in which no segment begins has only such a sum. */
static __device__ __forceinline__ void multiply_segments(const operands *o, const idx *col_idx,
                                                         const real *values, const real *x,
                                                         int64_t t, int64_t k) {
    const int lane = threadIdx.x % WARP, height = o->shape.height;
    const uint64_t desc = descriptor(o, t, lane);
    const int32_t tile_ptr = o->tile_ptr[t];
    const int following = (int)(desc >> o->shape.seg_shift) & (WARP - 1);
    int segment = (int)(desc >> o->shape.y_shift);
    bool begun = false;
    real sum = 0, top = 0, product[BATCH];
    for (int j = 0; j < height; j += BATCH) {
        multiply_steps(col_idx, values, x, j, height, product);
#pragma unroll
        for (int b = 0; b < BATCH; b++) {
            if (j + b < height && desc >> (j + b) & 1) {
                if (begun)
                    put_segment(o, t, k, tile_ptr, segment++, sum);
                else
                    top = sum;
                begun = true;
                sum = 0;
            }
            sum += product[b];
        }
    }
    real below = __shfl_down_sync(ALL_LANES, begun ? top : sum, 1);
    if (lane == WARP - 1) below = 0;
    below = segment_sum(below, following);
    if (begun) put_segment(o, t, k, tile_ptr, segment, sum + below);
}

/* A warp per tile, then a warp per row of the tail. */
static __global__ void multiply(const __grid_constant__ operands o, const idx *__restrict__ col_idx,
                                const real *__restrict__ values, const real *__restrict__ x) {
    const int64_t t = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    const int64_t k = t * o.shape.height * WARP, at = k + threadIdx.x % WARP;
    if (t >= o.tiles + o.ntail) return; /* the whole warp returns */
    if (t >= o.tiles)
        multiply_row(&o, col_idx, values, x, t);
    else if ((o.tile_ptr[t] & ~CSR5_HAS_EMPTY) == (o.tile_ptr[t + 1] & ~CSR5_HAS_EMPTY))
        multiply_dense(&o, col_idx + at, values + at, x, t, k);
    else
        multiply_segments(&o, col_idx + at, values + at, x, t, k);
}

static __global__ void scale_empty_rows(idx rows, const ofs *__restrict__ row_ptr, result out) {
    const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && row_ptr[row] == row_ptr[row + 1]) put_row(out, row, 0);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csr5 *A = (const csr5 *)p->store;
    const parts *t = (const parts *)p->scratch;
    const int block = (int)p->choice.value[SPMV_block];
    const operands o = {A->shape,     A->tiles,       t->ntail,        A->row_ptr,
                        A->empty_ptr, A->tile_ptr,    A->empty_offset, A->tile_desc,
                        t->tail_row,  t->split.carry, result_of(v)};
    if (A->s.nnz) {
        multiply<<<(unsigned)blocks_for((A->tiles + t->ntail) * WARP, block), block, 0,
                   stream_of(v)>>>(o, A->col_idx, A->values, (const real *)v->x);
        TRY(launched(p));
        TRY(split_rows_add(p, &t->split, v));
    }
    if (A->empty_rows == 0) return SPMV_OK;
    scale_empty_rows<<<(unsigned)blocks_for(A->s.rows, EMPTY_THREADS), EMPTY_THREADS, 0,
                       stream_of(v)>>>((idx)A->s.rows, A->row_ptr, result_of(v));
    return launched(p);
}

static const spmv_param params[] = {
    PARAM_BLOCK_WARP, {SPMV_lanes, WARP, WARP, WARP, WARP, true}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr5_tiles) = {
    .name = "csr5_tiles",
    .alias = "csr5",
    .format = "csr5",
    .summary = "a warp per tile of entries, rows put together by a segmented sum",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
