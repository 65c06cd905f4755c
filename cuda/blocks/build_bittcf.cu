/* build_bittcf.cu: builds BitTCF on the GPU from compressed rows there, and writes new values. The
 * store equals that of src/formats/bittcf/format_bittcf.c byte by byte.
 *
 * Source     src/formats/bittcf/format_bittcf.c.
 * Reads      csr: row_ptr, col_idx, values, on the GPU.
 * Work       Rows get sort keys, computed by 8 lanes per row, and are sorted. Of several orders the
 *            one whose sampled windows have the fewest columns is chosen. 8 lanes merge the rows of
 *            a window: the least of their next columns is listed next. Windows of more than SEGMENT
 *            nonzeros are divided into segments by column, for load balance. One pass counts
 *            columns; after scans another pass lists columns and sets masks. Values: a warp writes
 *            the values of SPAN tiles; lane l handles bit l of each mask, which is the next value
 *            of its row. The number of a row's values before a span is counted: directly if the
 *            window has few tiles before the span, else by scans over all spans.
 */
#include "bittcf_merge.cuh"
#include "bittcf_order.cuh"

enum {
    SEGMENT = 1024, /* approximate number of nonzeros per segment of a window */
    SPAN = 32,      /* tiles per warp when values are written */
    FEW = 16 * WARP /* maximum number of tiles before its span that a warp counts directly */
};

/* ---- columns and masks ----------------------------------------------------------------------- */

/* Counts the entries of a window's rows. */
static __device__ int64_t entries_of(const csr &A, const idx *order, int64_t window) {
    const int64_t first = window * BITTCF_ROWS, end = min(first + BITTCF_ROWS, A.s.rows);
    if (!order) return (int64_t)A.row_ptr[end] - A.row_ptr[first];
    int64_t n = 0;
    for (int64_t i = first; i < end; i++) n += A.row_ptr[order[i] + 1] - A.row_ptr[order[i]];
    return n;
}

static __global__ void count_segments(csr A, const idx *order, int64_t windows, int64_t *count) {
    const int64_t w = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (w > windows) return;
    count[w] = w < windows ? max(entries_of(A, order, w) / SEGMENT, (int64_t)1) : 0;
}

/* Spreads 8 bits: bit r moves to bit 4 r. */
static __device__ __forceinline__ uint32_t spread(uint32_t bits) {
    bits = (bits | bits << 12) & 0x000f000fu;
    bits = (bits | bits << 6) & 0x03030303u;
    return (bits | bits << 3) & 0x11111111u;
}

/* Counts the columns of each segment or, if FILL, lists the columns and sets masks, which are 0 on
 * entry. before[p]: number of columns in segments before p. */
template <bool FILL>
static __global__ void merge_rows(csr A, bittcf B, const int64_t *first_segment, int64_t segments,
                                  int64_t *count, const int64_t *before) {
    const int64_t p = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / GROUP;
    const int lane = threadIdx.x % GROUP, shift = threadIdx.x % WARP / GROUP * GROUP;
    merge m = {0, 0, 0, 0, 1};
    if (p < segments) m = merge_of(A, B.s.order, B.windows, first_segment, p);
    __syncwarp();
    int64_t n = 0, slot = 0;
    if (FILL && p < segments) {
        const int64_t first = first_segment ? first_segment[m.window] : m.window;
        slot = (int64_t)B.tile_ptr[m.window] * BITTCF_COLS + before[p] - before[first];
    }
    uint32_t mask = 0;
    idx last = 0, col = m.next < m.end ? A.col_idx[m.next] : NO_COLUMN;
    idx behind = m.next + 1 < m.end ? A.col_idx[m.next + 1] : NO_COLUMN;
    for (;;) {
        const idx least = least_of_group(col);
        if (!__any_sync(ALL_LANES, least != NO_COLUMN)) break;
        const bool is_here = col == least;
        const uint32_t rows = __ballot_sync(ALL_LANES, is_here) >> shift & 0xffu;
        if (least == NO_COLUMN) continue; /* other groups of the warp may have columns left */
        n++;
        if (is_here) {
            m.next++;
            col = behind;
            behind = m.next + 1 < m.end ? A.col_idx[m.next + 1] : NO_COLUMN;
        }
        if (!FILL) continue;
        last = least;
        mask |= spread(rows) << slot % BITTCF_COLS;
        if (lane == 0) {
            B.col_idx[slot] = least;
            if (slot % BITTCF_COLS == BITTCF_COLS - 1)
                atomicOr(B.mask + slot / BITTCF_COLS, mask), mask = 0;
        }
        slot++;
    }
    if (!FILL && lane == 0 && p < segments) count[p] = n;
    if (!FILL || lane > 0 || p >= segments) return;
    if (mask) atomicOr(B.mask + slot / BITTCF_COLS, mask);
    if (m.segment == m.segments - 1)
        for (; slot < (int64_t)B.tile_ptr[m.window + 1] * BITTCF_COLS; slot++)
            B.col_idx[slot] = last;
}

/* Counts the tiles of each window. columns: exclusive prefix sum over segments. count[windows + 1]
 * receives the maximum. */
static __global__ void count_tiles(int64_t windows, const int64_t *first_segment,
                                   const int64_t *columns, int64_t *count) {
    const int64_t w = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int tiles = 0;
    if (w < windows) {
        const int64_t begin = first_segment ? first_segment[w] : w;
        const int64_t end = first_segment ? first_segment[w + 1] : w + 1;
        tiles = (int)((columns[end] - columns[begin] + BITTCF_COLS - 1) / BITTCF_COLS);
        tiles = max(tiles, 1);
    }
    if (w <= windows) count[w] = tiles;
    const int longest = warp_greatest(tiles);
    if (threadIdx.x % WARP == 0) atomicMax((long long *)count + windows + 1, (long long)longest);
}

static __global__ void count_values(int64_t tiles, const uint32_t *mask, int64_t *count) {
    const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (t <= tiles) count[t] = t < tiles ? __popc(mask[t]) : 0;
}

static __global__ void narrow(int64_t n, const int64_t *number, ofs *out) {
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (k < n) out[k] = (ofs)number[k];
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Counts values per row in tiles begin to end - 1: lane l handles row l % 8 in every fourth
 * tile. */
static __device__ __forceinline__ int64_t count_in_row(const bittcf &B, int64_t begin,
                                                       int64_t end) {
    const int lane = threadIdx.x % WARP, row = lane % BITTCF_ROWS;
    int64_t n = 0;
    for (int64_t t = begin + lane / BITTCF_ROWS; t < end; t += WARP / BITTCF_ROWS)
        n += __popc(B.mask[t] >> row * BITTCF_COLS & 0xfu);
    n += __shfl_xor_sync(ALL_LANES, n, BITTCF_ROWS);
    return n + __shfl_xor_sync(ALL_LANES, n, 2 * BITTCF_ROWS);
}

/* Counts values per row of windows in each span: count[row][span]. */
static __global__ void count_spans(bittcf B, int64_t spans, int64_t *count) {
    const int64_t s = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    const int lane = threadIdx.x % WARP;
    if (s >= spans) return; /* the whole warp returns */
    const int64_t n = count_in_row(B, s * SPAN, min((s + 1) * SPAN, B.tiles));
    if (lane < BITTCF_ROWS) count[lane * spans + s] = n;
}

/* Writes values in the order of tiles. before: prefix sums of count_spans over spans, row by row;
 * NULL: no window has more than FEW tiles. */
static __global__ void write_values(bittcf B, const ofs *__restrict__ row_ptr,
                                    const real *__restrict__ value, int64_t spans,
                                    const int64_t *before) {
    const int64_t s = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    const int lane = threadIdx.x % WARP, r = lane / BITTCF_COLS;
    if (s >= spans) return; /* the whole warp returns */
    const int64_t first = s * SPAN, end = min(first + SPAN, B.tiles);
    int64_t window = last_until(B.tile_ptr, B.windows, first);
    const int64_t begin = B.tile_ptr[window];
    int64_t in_front = 0; /* values of row lane % 8 in the window before the span */
    if (!before || first - begin <= FEW) {
        in_front = count_in_row(B, begin, first);
    } else {
        const int64_t *of_row = before + lane % BITTCF_ROWS * spans, from = begin / SPAN;
        in_front = of_row[s] - of_row[from] - count_in_row(B, from * SPAN, begin);
    }
    in_front = __shfl_sync(ALL_LANES, in_front, r);
    const uint32_t mask = first + lane < end ? B.mask[first + lane] : 0;
    const int64_t rows = B.s.rows;
    int64_t next = row_ptr[min(bittcf_row(&B, window, r), rows)] + in_front;
    int64_t to = B.value_ptr[first], behind = B.tile_ptr[window + 1];
    for (int64_t t = first; t < end; t++) {
        if (t == behind) {
            window++;
            behind = B.tile_ptr[window + 1];
            next = row_ptr[min(bittcf_row(&B, window, r), rows)];
        }
        const uint32_t m = __shfl_sync(ALL_LANES, mask, (int)(t - first));
        const uint32_t below = (1u << lane) - 1, of_row = 0xfu << r * BITTCF_COLS;
        if (m >> lane & 1)
            B.values[to + __popc(m & below)] = value[next + __popc(m & of_row & below)];
        next += __popc(m & of_row);
        to += __popc(m);
    }
}

static spmv_status put_values(spmv_device *d, const ofs *row_ptr, const real *values,
                              const bittcf *B, int64_t *count) {
    const int64_t spans = blocks_for(B->tiles, SPAN);
    const unsigned blocks = blocks_of(spans * WARP);
    cudaStream_t stream = stream_of(d);
    if (count) {
        count_spans<<<blocks, THREADS, 0, stream>>>(*B, spans, count);
        TRY(launched(d));
        TRY(sum_before(d, spans * BITTCF_ROWS, count));
    }
    write_values<<<blocks, THREADS, 0, stream>>>(*B, row_ptr, values, spans, count);
    return launched(d);
}

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const bittcf *B = (const bittcf *)copy;
    const int64_t spans = blocks_for(B->tiles, SPAN);
    int64_t *count = NULL;
    if (B->s.nnz == 0) return SPMV_OK;
    if (B->longest > FEW)
        TRY(d->backend->alloc(d, (size_t)spans * BITTCF_ROWS * sizeof *count, (void **)&count));
    const spmv_status status = put_values(d, (const ofs *)row_ptr, (const real *)values, B, count);
    d->backend->release(d, count);
    return status;
}

/* ---- the format ------------------------------------------------------------------------------ */

typedef struct job {        /* temporary memory, freed at the end */
    int64_t *first_segment; /* [windows + 1]; NULL: one segment per window */
    int64_t *columns;       /* [segments + 1] exclusive prefix sum of the segments' columns */
    int64_t *count;         /* counts of tiles, values or spans */
    int64_t segments;
} job;

static spmv_status allocate(spmv_device *d, int64_t n, int64_t **out) {
    return d->backend->alloc(d, (size_t)n * sizeof **out, (void **)out);
}

static void end_job(spmv_device *d, job *j) {
    d->backend->release(d, j->first_segment);
    d->backend->release(d, j->columns);
    d->backend->release(d, j->count);
}

static spmv_status find_segments(spmv_device *d, const csr *A, const idx *order, int64_t windows,
                                 job *j) {
    TRY(allocate(d, windows + 1, &j->first_segment));
    count_segments<<<blocks_of(windows + 1), THREADS, 0, stream_of(d)>>>(*A, order, windows,
                                                                         j->first_segment);
    TRY(launched(d));
    TRY(sum_before(d, windows + 1, j->first_segment));
    TRY(d->backend->get(d, &j->segments, j->first_segment + windows, sizeof j->segments));
    if (j->segments > windows) return SPMV_OK;
    d->backend->release(d, j->first_segment);
    j->first_segment = NULL;
    return SPMV_OK;
}

template <bool FILL>
static spmv_status merge_all(spmv_device *d, const csr *A, const bittcf *B, const job *j) {
    if (j->segments == 0) return SPMV_OK;
    merge_rows<FILL><<<blocks_of(j->segments * GROUP), THREADS, 0, stream_of(d)>>>(
        *A, *B, j->first_segment, j->segments, j->columns, j->columns);
    return launched(d);
}

static spmv_status place_tiles(spmv_device *d, const csr *A, job *j, bittcf *head, bittcf *copy) {
    const int64_t windows = copy->windows;
    int64_t found[2]; /* number of all tiles; of the longest window */
    cudaStream_t stream = stream_of(d);
    TRY(find_segments(d, A, copy->s.order, windows, j));
    TRY(allocate(d, j->segments + 1, &j->columns));
    CU(d->ctx, cudaMemsetAsync(j->columns + j->segments, 0, sizeof *j->columns, stream));
    TRY(merge_all<false>(d, A, copy, j));
    TRY(sum_before(d, j->segments + 1, j->columns));
    TRY(allocate(d, windows + 2, &j->count));
    CU(d->ctx, cudaMemsetAsync(j->count + windows + 1, 0, sizeof *j->count, stream));
    count_tiles<<<blocks_of(windows + 1), THREADS, 0, stream>>>(windows, j->first_segment,
                                                                j->columns, j->count);
    TRY(launched(d));
    TRY(sum_before(d, windows + 1, j->count));
    narrow<<<blocks_of(windows + 1), THREADS, 0, stream>>>(windows + 1, j->count, copy->tile_ptr);
    TRY(launched(d));
    TRY(d->backend->get(d, found, j->count + windows, sizeof found));
    head->tiles = copy->tiles = found[0];
    head->longest = copy->longest = found[1];
    d->backend->release(d, j->count);
    j->count = NULL;
    return SPMV_OK;
}

/* Computes tile_ptr and the number of tiles, and allocates the store. */
static spmv_status begin(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows, job *j,
                         spmv_store **head_out, spmv_store **copy_out) {
    TRY(spmv_store_new(d->ctx, "bittcf", sizeof(bittcf), A, head_out));
    TRY(spmv_store_new(d->ctx, "bittcf", sizeof(bittcf), A, copy_out));
    bittcf *head = (bittcf *)*head_out, *copy = (bittcf *)*copy_out;
    head->s.slots = copy->s.slots = A->nnz;
    head->windows = copy->windows = bittcf_windows(A->rows);
    TRY(order_rows(d, (const csr *)rows, head, copy));
    TRY(BUILD_ARRAY(d, head, copy, tile_ptr, copy->windows + 1));
    return place_tiles(d, (const csr *)rows, j, head, copy);
}

static spmv_status fill(spmv_device *d, spmv_store *rows, job *j, bittcf *head, bittcf *copy) {
    const csr *A = (const csr *)rows;
    const int64_t tiles = copy->tiles;
    cudaStream_t stream = stream_of(d);
    TRY(BUILD_ARRAY(d, head, copy, value_ptr, tiles + 1));
    TRY(BUILD_ARRAY(d, head, copy, col_idx, tiles * BITTCF_COLS));
    TRY(BUILD_ARRAY(d, head, copy, mask, tiles));
    CU(d->ctx, cudaMemsetAsync(copy->mask, 0, (size_t)tiles * sizeof *copy->mask, stream));
    TRY(merge_all<true>(d, A, copy, j));
    done_with(d, rows, A->col_idx);
    TRY(allocate(d, tiles + 1, &j->count));
    count_values<<<blocks_of(tiles + 1), THREADS, 0, stream>>>(tiles, copy->mask, j->count);
    TRY(launched(d));
    TRY(sum_before(d, tiles + 1, j->count));
    narrow<<<blocks_of(tiles + 1), THREADS, 0, stream>>>(tiles + 1, j->count, copy->value_ptr);
    TRY(launched(d));
    TRY(BUILD_ARRAY(d, head, copy, values, copy->s.nnz));
    return refill_on(d, A->row_ptr, A->values, &copy->s);
}

static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                            const spmv_choice *c, spmv_store **head, spmv_store **copy,
                            double *upload_s) {
    (void)c;
    *upload_s = 0;
    job j = {};
    spmv_status status = begin(d, A, rows, &j, head, copy);
    if (status == SPMV_OK) status = fill(d, rows, &j, (bittcf *)*head, (bittcf *)*copy);
    end_job(d, &j);
    return status;
}

static spmv_status measure_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              size_t *bytes) {
    (void)c;
    job j = {};
    const spmv_status status = begin(d, A, rows, &j, head, copy);
    end_job(d, &j);
    TRY(status);
    const bittcf *B = (const bittcf *)*copy;
    *bytes = bittcf_bytes(A->rows, A->nnz, B->tiles, B->s.order != NULL);
    return SPMV_OK;
}

/* Returns the bytes of temporary memory: counts of segments and tiles, values of tiles or spans,
 * and CUB's workspace; or, if larger, keys and orders per row and CUB's workspace for sorting. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 22 };
    (void)c;
    const size_t windows = (size_t)bittcf_windows(A->rows), nnz = (size_t)A->nnz;
    const size_t tiles = (size_t)bittcf_most_tiles(A->rows, A->nnz);
    const size_t a_row = 3 * sizeof(uint64_t) + 6 * sizeof(idx);
    const size_t orders = (size_t)A->rows * a_row + windows * sizeof(idx);
    const size_t counts = (3 * windows + nnz / SEGMENT + tiles + 8) * sizeof(int64_t);
    return max(orders, counts) + TEMPORARY;
}

EXPORT_BUILDER(bittcf) = {
    .name = "bittcf",
    .working = working,
    .build = build_on,
    .refill = refill_on,
    .measure = measure_on,
};
