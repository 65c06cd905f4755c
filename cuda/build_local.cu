/* build_local.cu: the format local, built on the GPU from compressed rows in its memory: the bytes
 * that src/format_local.c makes.
 *
 * Source     src/format_local.c.
 * Reads      row_ptr, col_idx and values of the store of compressed rows.
 * Work       a block of threads a block of rows sorts them by length, digit by digit, in shared
 *            memory, and finds the span of their columns; another marks these in a bitmap there
 *            and counts the marks; a scan places slots and lists; a third marks again, and a
 *            column's place is the number of marks before it.
 */
#include "build.cuh"
#include "local.cuh"

typedef struct facts {
    spmv_local_facts most;
    value_facts of;
} facts;

typedef struct job { /* what is freed at its end */
    spmv_device *device;
    rows A;
    value_set *set;
    facts *found;
    int64_t *place; /* [2 (nblocks + 1)] slots, then units of the lists; then where they begin */
} job;

static __device__ __forceinline__ void keep_most(int64_t value, int64_t *most) {
    if (value > *(volatile int64_t *)most) atomicMax((long long *)most, (long long)value);
}

/* ---- what blocks take ------------------------------------------------------------------------ */

static __global__ void __launch_bounds__(LOCAL_THREADS)
    order_rows(rows A, local_rows B, int64_t *slots, facts *found) {
    __shared__ uint16_t length[LOCAL_HIGHEST], order[2][LOCAL_HIGHEST];
    __shared__ uint16_t counts[DIGITS * LOCAL_WARPS];
    int64_t b = blockIdx.x, first = b * B.height;
    int n = (int)min(B.height, A.rows - first), from = 0;
    idx least = INT32_MAX, most = -1;
    int64_t longest = 0;
    for (int r = (int)threadIdx.x; r < n; r += LOCAL_THREADS) {
        int64_t begin = A.row_ptr[first + r], end = A.row_ptr[first + r + 1];
        longest = max(longest, end - begin);
        length[r] = (uint16_t)min(end - begin, (int64_t)LOCAL_LONGEST);
        order[0][r] = (uint16_t)r;
        if (begin == end) continue;
        least = min(least, A.col[begin]);
        most = max(most, A.col[end - 1]);
    }
    longest = block_greatest((int)min(longest, (int64_t)INT32_MAX));
    least = INT32_MAX - block_greatest(INT32_MAX - least), most = block_greatest(most);
    for (int shift = 0; shift < 16; shift += 8, from = 1 - from) {
        if (shift && longest < DIGITS) break; /* the key's upper digit is the same for all */
        sort_by_digit(order[from], length, n, shift, counts, order[1 - from]);
    }
    for (int r = (int)threadIdx.x; r < n; r += LOCAL_THREADS) {
        B.order[first + r] = order[from][r];
        B.length[first + r] = length[order[from][r]];
    }
    int s = (int)threadIdx.x; /* a slice; no more than threads */
    unsigned width = s * LOCAL_SLICE < n ? length[order[from][s * LOCAL_SLICE]] : 0, total;
    unsigned before = block_before(width * LOCAL_SLICE, &total);
    if (s < B.slices) B.slice[b * B.slices + s] = before;
    if (threadIdx.x) return;
    int64_t span = most < 0 ? 0 : (int64_t)most - least + 1;
    slots[b] = total;
    B.block[b] = {0, 0, most < 0 ? 0 : least, (idx)min(span, (int64_t)INT32_MAX), 0, 0};
    keep_most(longest, &found->most.longest);
    keep_most(span, &found->most.span);
}

/* The count of a block is the span until here. */
static __global__ void __launch_bounds__(LOCAL_THREADS)
    count_columns(rows A, local_rows B, int64_t *units, facts *found) {
    extern __shared__ unsigned bits[];
    int64_t b = blockIdx.x, first = b * B.height, end = min(first + B.height, A.rows);
    idx base = B.block[b].base, span = B.block[b].count;
    if (span > LOCAL_SPAN) return; /* refused */
    int words = (span + WORD - 1) / WORD;
    unsigned count;
    mark_columns(A.col, A.row_ptr[first], A.row_ptr[end], base, words, bits);
    block_before(count_marks(bits, share_of(words)), &count);
    if (threadIdx.x) return;
    bool wide = span > UINT16_MAX + 1;
    B.block[b].count = (idx)count;
    B.block[b].wide = wide;
    units[b] = wide ? 2 * (int64_t)count : ((int64_t)count + 1) / 2 * 2;
    keep_most(count, &found->most.columns);
}

/* ---- fill ------------------------------------------------------------------------------------ */

/* Every thread of the block calls: the list, and how many columns are in the words before. */
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

/* A lane a row, a few of its entries at a time so that what is read is near. */
static __device__ void fill_slice(const rows &A, const coded &c, const unsigned *bits,
                                  const uint16_t *before, idx base, int64_t row, int length,
                                  int width, int64_t at, uint16_t *place) {
    int64_t from = length ? A.row_ptr[row] : 0;
#pragma unroll 4
    for (int k = 0; k < width; k++, at += LOCAL_SLICE) {
        bool on = k < length;
        place[at] = on ? place_in(bits, before, (unsigned)(A.col[from + k] - base)) : 0;
        if (c.code != NARROW_ONE) put_value(c, at, on, on ? A.value[from + k] : 0);
    }
}

/* words: of the widest block. */
static __global__ void __launch_bounds__(LOCAL_THREADS)
    fill_blocks(rows A, local_rows B, const int64_t *place, int nwords, int nvalues) {
    extern __shared__ unsigned bits[];
    __shared__ real table[PACKED_TABLE_SIZE];
    uint16_t *before = (uint16_t *)(bits + nwords);
    int64_t b = blockIdx.x, first = b * B.height, end = min(first + B.height, A.rows);
    local_block block = B.block[b];
    int n = (int)(end - first), lane = threadIdx.x % WARP;
    if (threadIdx.x < PACKED_TABLE_SIZE) table[threadIdx.x] = B.table[threadIdx.x];
    block.slot = place[b], block.need = place[B.nblocks + 1 + b] - place[B.nblocks + 1];
    if (threadIdx.x == 0) B.block[b].slot = block.slot, B.block[b].need = block.need;
    mark_columns(A.col, A.row_ptr[first], A.row_ptr[end], block.base, nwords, bits);
    list_columns(bits, nwords, block.wide, B.need + block.need, before);
    coded c = {B.values, table, B.value_code, nvalues};
    for (int s = (int)threadIdx.x / WARP; s * LOCAL_SLICE < n; s += LOCAL_WARPS) {
        int r = s * LOCAL_SLICE + lane;
        int length = r < n ? B.length[first + r] : 0;
        int64_t row = first + (r < n ? B.order[first + r] : 0);
        fill_slice(A, c, bits, before, block.base, row, length, __shfl_sync(ALL_LANES, length, 0),
                   block.slot + B.slice[b * B.slices + s] + lane, B.place);
    }
}

/* ---- the format ------------------------------------------------------------------------------ */

static cudaStream_t stream_on(const spmv_device *d) {
    return ((const cuda_state *)d->state)->stream;
}

static spmv_status allow_shared(spmv_device *d, const void *kernel, size_t bytes) {
    int room = 0;
    TRY(shared_room(d, &room));
    if (bytes > (size_t)room)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "local is built with %zu bytes of shared memory, this GPU has %d", bytes,
                         room);
    CU(d->ctx,
       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return SPMV_OK;
}

static spmv_status look_at_blocks(job *j, local_rows *head, local_rows *copy) {
    spmv_device *d = j->device;
    const size_t bitmap = LOCAL_SPAN / WORD * sizeof(unsigned);
    cudaStream_t stream = stream_on(d);
    const int64_t n = copy->nblocks;
    int64_t ends[2] = {0, 0};
    CU(d->ctx, cudaMemsetAsync(j->place, 0, (size_t)(2 * (n + 1)) * sizeof *j->place, stream));
    if (n) {
        TRY(allow_shared(d, (const void *)count_columns, bitmap));
        order_rows<<<(unsigned)n, LOCAL_THREADS, 0, stream>>>(j->A, *copy, j->place, j->found);
        count_columns<<<(unsigned)n, LOCAL_THREADS, bitmap, stream>>>(j->A, *copy, j->place + n + 1,
                                                                      j->found);
        CU(d->ctx, cudaGetLastError());
    }
    TRY(sum_before(d, 2 * (n + 1), j->place));
    TRY(d->backend->get(d, ends, j->place + n, sizeof ends[0]));
    TRY(d->backend->get(d, ends + 1, j->place + 2 * n + 1, sizeof ends[1]));
    head->s.slots = copy->s.slots = ends[0];
    head->units = copy->units = ends[1] - ends[0];
    return SPMV_OK;
}

static spmv_status fill(job *j, const facts *found, local_rows *head, local_rows *copy) {
    spmv_device *d = j->device;
    int words = (int)blocks_for(found->most.span, WORD);
    size_t shared = (size_t)words * (sizeof(unsigned) + sizeof(uint16_t));
    head->value_code = copy->value_code = code_for(&found->of);
    head->value_bytes = copy->value_bytes = coded_bytes(copy->value_code);
    head->most = copy->most = found->most.columns;
    TRY(BUILD_ARRAY(d, head, copy, need, copy->units));
    TRY(BUILD_ARRAY(d, head, copy, place, copy->s.slots));
    TRY(BUILD_ARRAY(d, head, copy, values, copy->s.slots * copy->value_bytes));
    if (copy->nblocks == 0) return SPMV_OK;
    TRY(allow_shared(d, (const void *)fill_blocks, shared));
    fill_blocks<<<(unsigned)copy->nblocks, LOCAL_THREADS, shared, stream_on(d)>>>(
        j->A, *copy, j->place, words, found->of.values);
    CU(d->ctx, cudaGetLastError());
    return SPMV_OK;
}

static spmv_status build(job *j, bool codes, local_rows *head, local_rows *copy) {
    spmv_device *d = j->device;
    facts found;
    TRY(BUILD_ARRAY(d, head, copy, block, copy->nblocks));
    TRY(BUILD_ARRAY(d, head, copy, slice, copy->nblocks * copy->slices));
    TRY(BUILD_ARRAY(d, head, copy, order, copy->s.rows));
    TRY(BUILD_ARRAY(d, head, copy, length, copy->s.rows));
    TRY(BUILD_ARRAY(d, head, copy, table, PACKED_TABLE_SIZE));
    CU(d->ctx, cudaMemsetAsync(copy->table, 0, PACKED_TABLE_SIZE * sizeof(real), stream_on(d)));
    CU(d->ctx, cudaMemsetAsync(j->found, 0, sizeof *j->found, stream_on(d)));
    if (codes) TRY(look_at_values(d, j->A, j->set, &j->found->of, copy->table));
    TRY(look_at_blocks(j, head, copy));
    TRY(d->backend->get(d, &found, j->found, sizeof found));
    if (!codes) found.of.misfits = 1; /* were not looked at: as they are */
    TRY(spmv_local_fits(d->ctx, copy->height, &found.most));
    return fill(j, &found, head, copy);
}

/* Of a job. No block has fewer than LOCAL_SLICE rows: the height need not be found for it. */
static size_t room_of(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t least = c->value[SPMV_height] ? c->value[SPMV_height] : LOCAL_SLICE;
    size_t blocks = (size_t)blocks_for(A->rows, least);
    return sizeof(value_set) + sizeof(facts) + 2 * (blocks + 1) * sizeof(int64_t);
}

static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 20 }; /* of CUB */
    return room_of(A, c) + TEMPORARY;
}

/* The store's bytes without its memory, and its copy on the device. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *from,
                            const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out,
                            double *upload_s) {
    const csr *there = (const csr *)from;
    void *room = NULL;
    *upload_s = 0;
    TRY(spmv_store_new(d->ctx, "local", sizeof(local_rows), A, head_out));
    TRY(spmv_store_new(d->ctx, "local", sizeof(local_rows), A, copy_out));
    local_rows *head = (local_rows *)*head_out, *copy = (local_rows *)*copy_out;
    head->height = copy->height = spmv_local_height_for(A, c);
    head->nblocks = copy->nblocks = blocks_for(A->rows, copy->height);
    head->slices = copy->slices = blocks_for(copy->height, LOCAL_SLICE);
    TRY(d->backend->alloc(d, room_of(A, c), &room));
    job j = {d, {A->rows, A->nnz, INT64_MAX}};
    j.A.row_ptr = there->row_ptr, j.A.col = there->col_idx, j.A.value = there->values;
    j.set = (value_set *)room;
    j.found = (facts *)(j.set + 1);
    j.place = (int64_t *)(j.found + 1);
    spmv_status status = build(&j, c->value[SPMV_codes] != 0, head, copy);
    d->backend->release(d, room);
    return status;
}

extern "C" const spmv_device_format V(cuda_build_local);
extern "C" const spmv_device_format V(cuda_build_local) = {"local", working, build_on};
