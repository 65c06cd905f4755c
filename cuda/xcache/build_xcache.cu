/* build_xcache.cu: builds the format xcache on the GPU from compressed rows in its memory, with the
 * bytes that src/formats/xcache/format_xcache.c makes.
 *
 * Source   src/formats/xcache/format_xcache.c.
 * Reads    row_ptr, col_idx and values of the store of compressed rows.
 * Work     A first kernel finds where blocks of rows begin. In the later kernels a block of threads
 *          has a block of rows. The second cuts rows into segments, sorts them by length in shared
 *          memory, and finds the range of their columns. The third marks these columns in a bitmap
 *          in shared memory and counts the marks. A scan finds where slots and column lists begin.
 *          The fourth marks again; the index of a column in the list is the number of marks before
 *          it.
 */
#include "cuda/build.cuh"
#include "xcache.cuh"
#include "formats/csr/csr.h"

enum { SPLIT_THREADS = 128 };

typedef struct facts {
    spmv_xcache_facts most;
    int64_t kept, segments; /* columns and cut segments per block, at most; all segments */
    int64_t slots, units;
    value_facts of;
} facts;

typedef struct job { /* memory that build_on frees, and its arguments */
    spmv_device *device;
    spmv_store *from; /* the store that owns the arrays of A */
    rows A;
    value_set *set;
    facts *found;
    int64_t *place; /* [2 (nblocks + 1)] slots, then list units; prefix sums after a scan */
} job;

static __device__ __forceinline__ void keep_most(int64_t value, int64_t *most) {
    if (value > *(volatile int64_t *)most) atomicMax((long long *)most, (long long)value);
}

/* ---- where blocks begin ---------------------------------------------------------------------- */

/* Returns the first row before which nonzeros + weight * rows reach `much`. */
static __device__ int64_t row_behind(const rows &A, int64_t weight, int64_t much) {
    int64_t low = 0, high = A.rows;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A.row_ptr[middle] + weight * middle < much)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Splits as spmv_xcache_split does: one thread per block of rows. */
static __global__ void split_rows(rows A, int64_t weight, spmv_xcache_shape shape,
                                  xcache_block *block) {
    const int64_t b = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, n = shape.nblocks;
    if (b >= n) return;
    const int64_t all = A.row_ptr[A.rows] + weight * A.rows, size = all / n, rest = all % n;
    const int64_t row = b ? row_behind(A, weight, b * size + min(b, rest)) : 0;
    const int64_t end =
        b + 1 < n ? row_behind(A, weight, (b + 1) * size + min(b + 1, rest)) : A.rows;
    const int64_t cuts = (A.row_ptr[row] + shape.cut - 1) / shape.cut;
    xcache_block mine = {};
    mine.segment = row + cuts, mine.cut = cuts + b;
    mine.row = (idx)row, mine.rows = (idx)(end - row);
    block[b] = mine;
}

/* ---- what blocks take ------------------------------------------------------------------------ */

typedef struct segments { /* segments of a block, in the order of its rows */
    uint8_t length[XCACHE_SEGMENTS];
    uint16_t order[XCACHE_SEGMENTS];
} segments;

/* Counts a block's segments and lists at most XCACHE_SEGMENTS. Every thread of the block calls. */
static __device__ void list_segments(const rows &A, int cut, xcache_block *block, uint32_t *cuts,
                                     segments *out) {
    unsigned count = 0, in_cuts = 0, ncuts = 0, total;
    for (int top = 0; top < block->rows; top += XCACHE_THREADS) {
        int r = top + (int)threadIdx.x;
        int64_t n = 0, p = 0;
        if (r < block->rows) {
            n = A.row_ptr[block->row + r + 1] - A.row_ptr[block->row + r];
            p = n > cut ? (n + cut - 1) / cut : 1;
        }
        int64_t at = count + block_before((unsigned)p, &total);
        count += total;
        unsigned q0 = in_cuts + block_before(p > 1 ? (unsigned)p : 0, &total);
        in_cuts += total;
        unsigned c = ncuts + block_before(p > 1, &total);
        ncuts += total;
        for (int64_t q = 0; q < p && at + q < XCACHE_SEGMENTS; q++) {
            out->length[at + q] = (uint8_t)((n - q + p - 1) / p);
            out->order[at + q] = (uint16_t)(p > 1 ? block->rows + q0 + q : r);
        }
        if (p > 1) cuts[c] = (uint32_t)r | q0 << 16;
    }
    if (threadIdx.x == 0) cuts[ncuts] = in_cuts << 16;
    block->segments = (int)count, block->cuts = (int)ncuts, block->cut_segments = (int)in_cuts;
    __syncthreads();
}

/* Returns the number of columns from the first that the block needs to the last; *base: the first.
 * Every thread of the block calls. */
static __device__ int64_t find_span(const rows &A, const xcache_block &block, idx *base) {
    idx least = INT32_MAX, most = -1;
    for (int r = (int)threadIdx.x; r < block.rows; r += XCACHE_THREADS) {
        int64_t begin = A.row_ptr[block.row + r], end = A.row_ptr[block.row + r + 1];
        if (begin == end) continue;
        least = min(least, A.col[begin]);
        most = max(most, A.col[end - 1]);
    }
    least = INT32_MAX - block_greatest(INT32_MAX - least), most = block_greatest(most);
    *base = most < 0 ? 0 : least;
    return most < 0 ? 0 : (int64_t)most - least + 1;
}

/* Sets a block's count to its range of columns, which count_columns replaces. */
static __global__ void __launch_bounds__(XCACHE_THREADS)
    order_segments(rows A, xcache_rows B, int64_t *slots, facts *found) {
    __shared__ segments list;
    __shared__ uint16_t order[XCACHE_SEGMENTS], counts[DIGITS * XCACHE_WARPS];
    int64_t b = blockIdx.x;
    xcache_block block = B.block[b];
    list_segments(A, (int)B.cut, &block, B.cuts + block.cut, &list);
    int64_t span = find_span(A, block, &block.base);
    if (threadIdx.x == 0) {
        block.count = (idx)min(span, (int64_t)INT32_MAX);
        B.block[b] = block;
        keep_most(block.segments, &found->most.segments);
        atomicAdd((unsigned long long *)&found->segments, (unsigned long long)block.segments);
        keep_most(span, &found->most.span);
    }
    if (block.segments > XCACHE_SEGMENTS) return; /* build refuses this height */
    sort_by_length(list.length, block.segments, counts, order);
    for (int i = (int)threadIdx.x; i < block.segments; i += XCACHE_THREADS) {
        B.order[block.segment + i] = list.order[order[i]];
        B.length[block.segment + i] = list.length[order[i]];
    }
    int s = (int)threadIdx.x; /* slice; a block has at most as many as threads */
    unsigned width = s * XCACHE_SLICE < block.segments ? list.length[order[s * XCACHE_SLICE]] : 0,
             total;
    unsigned before = block_before(width * XCACHE_SLICE, &total);
    if (s * XCACHE_SLICE < block.segments) B.slice[block.segment / XCACHE_SLICE + b + s] = before;
    if (s == 0) slots[b] = total;
}

static __global__ void __launch_bounds__(XCACHE_THREADS)
    count_columns(rows A, xcache_rows B, int64_t *units, facts *found) {
    extern __shared__ unsigned bits[];
    int64_t b = blockIdx.x;
    xcache_block block = B.block[b];
    idx span = block.count;
    if (span > XCACHE_SPAN) return; /* build refuses this height */
    int words = (span + WORD - 1) / WORD;
    unsigned count;
    mark_columns(A.col, A.row_ptr[block.row], A.row_ptr[block.row + block.rows], block.base, words,
                 bits);
    block_before(count_marks(bits, share_of(words)), &count);
    if (threadIdx.x) return;
    bool wide = span > UINT16_MAX + 1;
    B.block[b].count = (idx)count;
    B.block[b].wide = wide;
    units[b] = wide ? 2 * (int64_t)count : ((int64_t)count + 1) / 2 * 2;
    keep_most(count, &found->most.columns);
    keep_most((int64_t)count + block.cut_segments, &found->kept);
}

/* ---- fill ------------------------------------------------------------------------------------ */

/* Lists columns; before[w]: the number in earlier words. Every thread of the block calls. */
static __device__ void list_columns(const unsigned *bits, int words, bool wide, uint16_t *need,
                                    uint16_t *before) {
    word_share mine = share_of(words);
    unsigned total, at = block_before(count_marks(bits, mine), &total);
    for (int w = mine.begin; w < mine.end; w++) {
        before[w] = (uint16_t)at;
        for (unsigned rest = bits[w]; rest; rest &= rest - 1, at++) {
            unsigned distance = (unsigned)(w * WORD + __ffs((int)rest) - 1);
            if (wide)
                ((uint32_t *)need)[at] = distance;
            else
                need[at] = (uint16_t)distance;
        }
    }
    if (threadIdx.x == 0 && total % 2 && !wide) need[total] = 0;
    __syncthreads();
}

/* One lane per segment. Entries begin at `from`, `step` apart, and are read a few at a time. */
static __device__ void fill_slice(const rows &A, const coded &c, const unsigned *bits,
                                  const uint16_t *before, idx base, int64_t from, int step,
                                  int length, int width, int64_t at, uint16_t *place) {
#pragma unroll 4
    for (int k = 0; k < width; k++, at += XCACHE_SLICE, from += step) {
        bool on = k < length;
        place[at] = on ? place_in(bits, before, (unsigned)(A.col[from] - base)) : 0;
        if (on && c.code != VALUE_ONE)
            put_coded(c, at, A.value[from]);
        else
            put_padding(c, at);
    }
}

/* nwords: bitmap words of the widest block. */
static __global__ void __launch_bounds__(XCACHE_THREADS)
    fill_blocks(rows A, xcache_rows B, const int64_t *place, int nwords, int nvalues) {
    extern __shared__ unsigned bits[];
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    uint16_t *before = (uint16_t *)(bits + nwords);
    int64_t b = blockIdx.x;
    xcache_block block = B.block[b];
    int lane = threadIdx.x % WARP;
    if (threadIdx.x < VALUE_CODEBOOK_SIZE) codebook[threadIdx.x] = B.codebook[threadIdx.x];
    block.slot = place[b], block.need = place[B.nblocks + 1 + b] - place[B.nblocks + 1];
    if (threadIdx.x == 0) B.block[b].slot = block.slot, B.block[b].need = block.need;
    mark_columns(A.col, A.row_ptr[block.row], A.row_ptr[block.row + block.rows], block.base, nwords,
                 bits);
    list_columns(bits, nwords, block.wide, B.need + block.need, before);
    coded c = {B.values, codebook, B.value_code, nvalues};
    for (int s = (int)threadIdx.x / WARP; s * XCACHE_SLICE < block.segments; s += XCACHE_WARPS) {
        int i = s * XCACHE_SLICE + lane, length = 0;
        xcache_entries segment = {0, 0, 1};
        if (i < block.segments) {
            segment = xcache_entries_of(&block, B.cuts + block.cut, B.order[block.segment + i]);
            length = B.length[block.segment + i];
        }
        fill_slice(A, c, bits, before, block.base,
                   A.row_ptr[block.row + segment.row] + segment.first, segment.step, length,
                   __shfl_sync(ALL_LANES, length, 0),
                   block.slot + B.slice[block.segment / XCACHE_SLICE + b + s] + lane, B.place);
    }
}

/* Writes only the values, to the same slots as fill_blocks. */
static __global__ void __launch_bounds__(XCACHE_THREADS) refill_blocks(rows A, xcache_rows B) {
    const int64_t b = blockIdx.x;
    const xcache_block block = B.block[b];
    const int lane = threadIdx.x % WARP;
    real *values = (real *)B.values;
    for (int s = (int)threadIdx.x / WARP; s * XCACHE_SLICE < block.segments; s += XCACHE_WARPS) {
        int i = s * XCACHE_SLICE + lane, length = 0;
        xcache_entries segment = {0, 0, 1};
        if (i < block.segments) {
            segment = xcache_entries_of(&block, B.cuts + block.cut, B.order[block.segment + i]);
            length = B.length[block.segment + i];
        }
        const int width = __shfl_sync(ALL_LANES, length, 0);
        const real *from = A.value + A.row_ptr[block.row + segment.row] + segment.first;
        int64_t at = block.slot + B.slice[block.segment / XCACHE_SLICE + b + s] + lane;
#pragma unroll 4
        for (int k = 0; k < width; k++, at += XCACHE_SLICE, from += segment.step)
            values[at] = k < length ? *from : 0;
    }
}

/* ---- the format ------------------------------------------------------------------------------ */

static spmv_status allow_shared(spmv_device *d, const void *kernel, size_t bytes) {
    int room = 0;
    TRY(shared_room(d, &room));
    if (bytes > (size_t)room)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "xcache is built with %zu bytes of shared memory, this GPU has %d", bytes,
                         room);
    CU(d->ctx,
       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return SPMV_OK;
}

/* place: a job's, after the scan. */
static __global__ void tell_sizes(int64_t nblocks, const int64_t *place, facts *found) {
    found->slots = place[nblocks], found->units = place[2 * nblocks + 1] - place[nblocks];
}

static spmv_status describe_blocks(job *j, const xcache_rows *copy) {
    spmv_device *d = j->device;
    const size_t bitmap = XCACHE_SPAN / WORD * sizeof(unsigned);
    cudaStream_t stream = stream_of(d);
    const int64_t n = copy->nblocks;
    CU(d->ctx, cudaMemsetAsync(j->place, 0, (size_t)(2 * (n + 1)) * sizeof *j->place, stream));
    if (n) {
        TRY(allow_shared(d, (const void *)count_columns, bitmap));
        order_segments<<<(unsigned)n, XCACHE_THREADS, 0, stream>>>(j->A, *copy, j->place, j->found);
        count_columns<<<(unsigned)n, XCACHE_THREADS, bitmap, stream>>>(j->A, *copy,
                                                                       j->place + n + 1, j->found);
        TRY(launched(d));
    }
    TRY(sum_before(d, 2 * (n + 1), j->place));
    tell_sizes<<<1, 1, 0, stream>>>(n, j->place, j->found);
    return launched(d);
}

/* If values are stored unencoded and the compressed rows are temporary (passing), their columns are
 * freed before the values are allocated. */
static spmv_status fill(job *j, const facts *found, xcache_rows *head, xcache_rows *copy) {
    spmv_device *d = j->device;
    int words = (int)blocks_for(found->most.span, WORD);
    size_t shared = (size_t)words * (sizeof(unsigned) + sizeof(uint16_t));
    head->value_code = copy->value_code = code_for(&found->of);
    head->value_bytes = copy->value_bytes = coded_bytes(copy->value_code);
    head->s.values = copy->s.values = code_word(copy->value_code);
    head->most = copy->most = found->kept;
    head->segments = copy->segments = found->segments;
    const bool apart = j->from->passing && copy->value_code == VALUE_RAW;
    const unsigned blocks = (unsigned)copy->nblocks;
    TRY(BUILD_ARRAY(d, head, copy, need, copy->units));
    TRY(BUILD_ARRAY(d, head, copy, place, copy->s.slots));
    if (!apart) TRY(BUILD_ARRAY(d, head, copy, values, copy->s.slots * copy->value_bytes));
    xcache_rows first = *copy;
    if (apart) first.value_code = VALUE_ONE; /* so that fill_blocks writes no values */
    if (blocks) {
        TRY(allow_shared(d, (const void *)fill_blocks, shared));
        fill_blocks<<<blocks, XCACHE_THREADS, shared, stream_of(d)>>>(j->A, first, j->place, words,
                                                                      found->of.values);
        TRY(launched(d));
    }
    if (!apart) return SPMV_OK;
    done_with(d, j->from, j->A.col);
    TRY(BUILD_ARRAY(d, head, copy, values, copy->s.slots * copy->value_bytes));
    if (blocks) refill_blocks<<<blocks, XCACHE_THREADS, 0, stream_of(d)>>>(j->A, *copy);
    return launched(d);
}

static spmv_status clear(job *j, void *memory, size_t bytes) {
    CU(j->device->ctx, cudaMemsetAsync(memory, 0, bytes, stream_of(j->device)));
    return SPMV_OK;
}
#define CLEAR_ARRAY(j, at, count) clear(j, at, (size_t)(count) * sizeof *(at))

/* Allocates the arrays whose size the shape bounds, clears them, and writes where blocks begin. */
static spmv_status take_room(job *j, const spmv_csr_view *A, const spmv_xcache_shape *shape,
                             xcache_rows *head, xcache_rows *copy) {
    spmv_device *d = j->device;
    TRY(BUILD_ARRAY(d, head, copy, block, shape->nblocks));
    TRY(BUILD_ARRAY(d, head, copy, slice, shape->slices));
    TRY(BUILD_ARRAY(d, head, copy, cuts, shape->cuts));
    TRY(BUILD_ARRAY(d, head, copy, order, shape->segments));
    TRY(BUILD_ARRAY(d, head, copy, length, shape->segments));
    TRY(BUILD_ARRAY(d, head, copy, codebook, VALUE_CODEBOOK_SIZE));
    TRY(CLEAR_ARRAY(j, copy->slice, shape->slices));
    TRY(CLEAR_ARRAY(j, copy->cuts, shape->cuts));
    TRY(CLEAR_ARRAY(j, copy->order, shape->segments));
    TRY(CLEAR_ARRAY(j, copy->length, shape->segments));
    TRY(CLEAR_ARRAY(j, copy->codebook, VALUE_CODEBOOK_SIZE));
    TRY(CLEAR_ARRAY(j, j->found, 1));
    if (shape->nblocks)
        split_rows<<<(unsigned)blocks_for(shape->nblocks, SPLIT_THREADS), SPLIT_THREADS, 0,
                     stream_of(d)>>>(j->A, spmv_xcache_weight(A, shape->height), *shape,
                                     copy->block);
    return launched(d);
}

static spmv_status build(job *j, const spmv_csr_view *A, const spmv_xcache_shape *shape, bool codes,
                         xcache_rows *head, xcache_rows *copy) {
    spmv_device *d = j->device;
    facts found;
    TRY(take_room(j, A, shape, head, copy));
    if (codes) TRY(find_values(d, j->A, j->set, &j->found->of, copy->codebook));
    TRY(describe_blocks(j, copy));
    TRY(d->backend->get(d, &found, j->found, sizeof found));
    head->s.slots = copy->s.slots = found.slots;
    head->units = copy->units = found.units;
    if (!codes) found.of.misfits = 1; /* stored unencoded */
    TRY(spmv_xcache_fits(d->ctx, copy->height, &found.most));
    return fill(j, &found, head, copy);
}

/* Returns the bytes of a job's arrays. The height is taken as the lowest that may be chosen. */
static size_t room_of(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t least = c->value[SPMV_height] ? c->value[SPMV_height] : XCACHE_LEAST;
    size_t blocks = (size_t)blocks_for(A->rows, least);
    return sizeof(value_set) + sizeof(facts) + 2 * (blocks + 1) * sizeof(int64_t);
}

static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 20 }; /* CUB's temporary memory */
    return room_of(A, c) + TEMPORARY;
}

/* With height 0 the rows are read to choose one. */
static bool reads_rows(const spmv_choice *c) {
    return c->value[SPMV_height] == 0;
}

/* head: the store's bytes without its arrays; copy: the store on the device. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *from,
                            const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out,
                            double *upload_s) {
    const csr *there = (const csr *)from;
    void *room = NULL;
    *upload_s = 0;
    TRY(spmv_store_new(d->ctx, "xcache", sizeof(xcache_rows), A, head_out));
    TRY(spmv_store_new(d->ctx, "xcache", sizeof(xcache_rows), A, copy_out));
    xcache_rows *head = (xcache_rows *)*head_out, *copy = (xcache_rows *)*copy_out;
    const spmv_xcache_shape shape = spmv_xcache_shape_for(A, c);
    head->height = copy->height = shape.height;
    head->nblocks = copy->nblocks = shape.nblocks;
    head->cut = copy->cut = shape.cut;
    TRY(d->backend->alloc(d, room_of(A, c), &room));
    job j = {d, from, {A->rows, A->nnz, INT64_MAX}};
    j.A.row_ptr = there->row_ptr, j.A.col = there->col_idx, j.A.value = there->values;
    j.set = (value_set *)room;
    j.found = (facts *)(j.set + 1);
    j.place = (int64_t *)(j.found + 1);
    spmv_status status = build(&j, A, &shape, c->value[SPMV_codes] != 0, head, copy);
    d->backend->release(d, room);
    return status;
}

/* ---- other values ---------------------------------------------------------------------------- */

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const xcache_rows *B = (const xcache_rows *)copy;
    rows A = {B->s.rows, B->s.nnz, INT64_MAX, (const ofs *)row_ptr, NULL, (const real *)values};
    if (B->nblocks) refill_blocks<<<(unsigned)B->nblocks, XCACHE_THREADS, 0, stream_of(d)>>>(A, *B);
    return launched(d);
}

EXPORT_NARROW_BUILDER(xcache) = {
    .name = "xcache",
    .working = working,
    .build = build_on,
    .refill = refill_on,
    .reads_rows = reads_rows,
};
