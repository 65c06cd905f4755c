/* build_hubs.cu: builds the format hubs from CSR in the GPU's memory, byte for byte as
 * src/formats/hubs/format_hubs.c does.
 *
 * Source   src/formats/hubs/format_hubs.c.
 * Reads    row_ptr, col_idx and values of the CSR.
 * Work     counts the nonzeros of columns, selects the hot ones, marks the nonzeros in them, sorts
 *          rows by shape, computes the sizes of slices with a warp each, and stores all nonzeros at
 *          once: a nonzero's slot follows from the marks before it in its row.
 */
#include "hot_columns.cuh"
#include "cuda/build.cuh"
#include "formats/csr/csr.h"

/* ---- rows, segments, slices ------------------------------------------------------------------ */

static __global__ void sort_keys(rows A, marks m, uint64_t *key, unsigned *count) {
    __shared__ unsigned mine[HUBS_CLASSES];
    if (threadIdx.x < HUBS_CLASSES) mine[threadIdx.x] = 0;
    __syncthreads();
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < A.rows) {
        row_entries e = entries_of(A, m, (idx)row);
        hubs_shape s = hubs_shape_of(e.hot, e.rest);
        key[row] = (uint64_t)hubs_key_of(&s);
        atomicAdd(mine + hubs_class_of(&s), 1u);
    }
    __syncthreads();
    if (threadIdx.x < HUBS_CLASSES && mine[threadIdx.x])
        atomicAdd(count + threadIdx.x, mine[threadIdx.x]);
}

static __global__ void place_rows(int64_t rows, const idx *__restrict__ order, idx *at) {
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < rows) at[order[p]] = (idx)p;
}

static __global__ void count_segments(rows A, marks m, int64_t ncuts, const idx *__restrict__ order,
                                      hubs_cut *cut, int64_t *first) {
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p > ncuts) return;
    first[p] = 0;
    if (p == ncuts) return;
    row_entries e = entries_of(A, m, order[p]);
    cut[p] = {e.hot, e.rest};
    first[p] = hubs_shape_of(e.hot, e.rest).segments;
}

static __global__ void list_segments(int64_t ncuts, const idx *__restrict__ order,
                                     const int64_t *__restrict__ first, hubs_segment *segment) {
    int64_t p = (int64_t)blockIdx.x;
    int n = (int)(first[p + 1] - first[p]);
    for (int q = (int)threadIdx.x; q < n; q += (int)blockDim.x)
        segment[first[p] + q] = {order[p], (idx)first[p], n, (int)p};
}

/* Computes the steps of each slice, one warp per slice, and their numbers of words and values. */
static __global__ void measure_slices(rows A, marks m, hubs_classes all, hubs B, int64_t *size) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP, c = 0, rest = 0, pairs = 0;
    if (s >= B.nslices) return;
    while (s >= all.slice[c + 1]) c++;
    hubs_slice t = {0, 0, (uint32_t)s, 0, 0, 0, 1};
    if (c) {
        int64_t each = WARP / hubs_lanes_of(c), first = all.row[c] + (s - all.slice[c]) * each;
        t.row = (uint32_t)first, t.lanes = (uint8_t)hubs_lanes_of(c);
        t.rows = (uint8_t)min(each, all.row[c + 1] - first);
        if (lane < t.rows) {
            row_entries e = entries_of(A, m, B.order[first + lane]);
            hubs_shape shape = hubs_shape_of(e.hot, e.rest);
            rest = shape.rest, pairs = shape.pairs;
        }
        rest = warp_greatest(rest), pairs = warp_greatest(pairs);
    } else {
        hubs_segment segment = B.segment[s];
        hubs_cut e = B.cut[segment.cut];
        int64_t q = s - segment.first, n = segment.segments;
        rest = (int)hubs_rounded_up(
            hubs_segment_begins(e.rest, n, q + 1) - hubs_segment_begins(e.rest, n, q), WARP);
        pairs = (int)hubs_rounded_up(
            hubs_segment_begins(e.hot, n, q + 1) - hubs_segment_begins(e.hot, n, q), 2 * WARP);
    }
    t.rest = (uint8_t)rest, t.pairs = (uint8_t)pairs;
    if (lane) return;
    B.slice[s] = t;
    size[s] = rest + pairs;
    size[B.nslices + 1 + s] = rest + 2 * pairs;
}

static __global__ void place_slices(hubs B, const int64_t *__restrict__ size) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= B.nslices) return;
    B.slice[s].word = (uint32_t)size[s];
    B.slice[s].value = (uint32_t)(size[B.nslices + 1 + s] - size[B.nslices + 1]);
}

/* ---- entries --------------------------------------------------------------------------------- */

typedef struct fill_job {
    rows A;
    marks m;
    hubs_classes all;
    hubs B;
    const idx *at;                /* [rows] index of a row in the order */
    const int64_t *first_segment; /* [ncuts + 1] */
    const int *place;             /* [cols] 0, or 1 + the index of a hot column */
    int nvalues;
} fill_job;

/* Returns the row of entry k, which is in low, ..., high. */
static __device__ __forceinline__ idx row_with(const rows &A, int64_t k, idx low, idx high) {
    while (low < high) {
        idx middle = low + (high - low + 1) / 2;
        if (A.row_ptr[middle] <= k)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static __device__ __forceinline__ hubs_row find_row(const fill_job &j, idx row,
                                                    const row_entries &e) {
    const hubs_shape shape = hubs_shape_of(e.hot, e.rest);
    const int64_t p = j.at[row];
    const int c = hubs_class_of(&shape);
    hubs_row r = {0, shape.segments, e.hot, e.rest, row, 0, shape.lanes};
    if (c == 0) {
        r.slice = j.first_segment[p];
    } else {
        int64_t each = WARP / shape.lanes, behind = p - j.all.row[c];
        r.slice = j.all.slice[c] + behind / each;
        r.first_lane = (int)(behind % each) * shape.lanes;
    }
    return r;
}

template <bool WORDS, bool VALUES>
static __device__ __forceinline__ void put_entry(const fill_job &j, const coded &c, idx row,
                                                 int64_t k) {
    const row_entries e = entries_of(j.A, j.m, row);
    const hubs_row r = find_row(j, row, e);
    int64_t hubs_before = marks_before(j.m, k) - e.marked;
    bool is_hot = j.m.bits[k / WARP] >> k % WARP & 1;
    const hubs_slot at =
        hubs_slot_of(&j.B, &r, is_hot, is_hot ? hubs_before : k - e.begin - hubs_before);
    if (VALUES) put_coded(c, at.value, j.A.value[k]);
    if (!WORDS) return;
    if (is_hot)
        ((uint16_t *)j.B.word)[2 * at.word + at.half] = (uint16_t)j.place[j.A.col[k]];
    else
        j.B.word[at.word] = (uint32_t)j.A.col[k] + 1;
}

enum { CHUNK = 256 }; /* consecutive entries per warp */

template <bool WORDS, bool VALUES>
static __global__ void fill_entries(const __grid_constant__ fill_job j) {
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    for (int k = (int)threadIdx.x; k < VALUE_CODEBOOK_SIZE; k += (int)blockDim.x)
        codebook[k] = j.B.codebook[k];
    __syncthreads();
    const coded c = {j.B.value, codebook, j.B.value_code, j.nvalues};
    int64_t warp = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP, first = warp * CHUNK;
    int64_t end = min(first + CHUNK, j.A.nnz);
    if (first >= end) return;
    idx low = row_with(j.A, first, 0, (idx)j.A.rows - 1);
    idx high = row_with(j.A, end - 1, low, (idx)j.A.rows - 1);
    for (int64_t k = first + threadIdx.x % WARP; k < end; k += WARP)
        put_entry<WORDS, VALUES>(j, c, row_with(j.A, k, low, high), k);
}

/* ---- the host ------------------------------------------------------------------------------ */

typedef struct counts { /* results copied to the host */
    unsigned columns[HUBS_DEGREE + 1], rows[HUBS_CLASSES];
    value_facts of;
} counts;

enum { WORK = 10, BLOCK = 256, BLOCKS = 4096 };

typedef struct job {
    spmv_device *device;
    spmv_store *from; /* owner of A's arrays */
    rows A;
    int64_t cols;
    hubs *head, *copy;
    void *work[WORK]; /* temporary arrays */
    int nwork;
    counts *found; /* found: on the device; told: its last copy */
    counts told;
    int *place;
    marks m;
    hubs_classes all;
    idx *at;
    int64_t *first_segment;
} job;

static spmv_status clear(const spmv_device *d, void *memory, size_t bytes) {
    CU(d->ctx, cudaMemsetAsync(memory, 0, bytes, stream_of(d)));
    return SPMV_OK;
}

static spmv_status take_work(job *j, size_t bytes, void **out) {
    TRY(j->device->backend->alloc(j->device, bytes, out));
    j->work[j->nwork++] = *out;
    return SPMV_OK;
}
#define TAKE_WORK(j, at, count) take_work(j, (size_t)(count) * sizeof *(at), (void **)&(at))

static void done_with_work(job *j, void *memory) {
    int k = 0;
    while (j->work[k] != memory) k++;
    j->work[k] = j->work[--j->nwork];
    j->device->backend->release(j->device, memory);
}

static spmv_status fetch_counts(job *j) {
    spmv_device *d = j->device;
    return d->backend->get(d, &j->told, j->found, sizeof j->told);
}

static spmv_status choose_hubs(job *j, bool given) {
    spmv_device *d = j->device;
    hubs *copy = j->copy;
    int64_t *before = NULL;
    cudaStream_t stream = stream_of(d);
    const unsigned grid = (unsigned)blocks_for(j->cols, BLOCK);
    TRY(TAKE_WORK(j, j->place, j->cols));
    TRY(TAKE_WORK(j, j->found, 1));
    TRY(clear(d, j->place, (size_t)j->cols * sizeof *j->place));
    TRY(clear(d, j->found, sizeof *j->found));
    if (j->A.nnz) {
        count_columns<<<BLOCKS, BLOCK, 0, stream>>>(j->A.nnz, j->A.col, (unsigned *)j->place);
        /* Few blocks, because each finally adds up to a thousand counts of its own. */
        count_degrees<<<BLOCKS / 8, BLOCK, 0, stream>>>(j->cols, (const unsigned *)j->place,
                                                        j->found->columns);
    }
    TRY(launched(d));
    TRY(fetch_counts(j));
    const hubs_rule rule = hubs_rule_for(j->told.columns, copy->most, given);
    j->head->nhubs = copy->nhubs = rule.nhubs;
    TRY(BUILD_ARRAY(d, j->head, copy, hot, copy->nhubs));
    if (j->cols == 0) return SPMV_OK;
    TRY(TAKE_WORK(j, before, j->cols));
    flag_hubs<<<grid, BLOCK, 0, stream>>>(j->cols, rule, j->place, before);
    TRY(launched(d));
    TRY(sum_before(d, j->cols, before));
    take_hubs<<<grid, BLOCK, 0, stream>>>(j->cols, rule, before, j->place, copy->hot);
    done_with_work(j, before);
    return launched(d);
}

static spmv_status mark(job *j) {
    marks *m = &j->m;
    m->words = j->A.nnz / WARP + 1;
    TRY(TAKE_WORK(j, m->bits, m->words));
    TRY(TAKE_WORK(j, m->before, m->words));
    mark_entries<<<BLOCKS, BLOCK, 0, stream_of(j->device)>>>(j->A.nnz, j->A.col, j->place, *m);
    TRY(launched(j->device));
    return sum_before(j->device, m->words, m->before);
}

static spmv_status sort_rows(job *j) {
    spmv_device *d = j->device;
    idx *order = NULL;
    uint64_t *key = NULL;
    const unsigned grid = (unsigned)blocks_for(j->A.rows, BLOCK);
    TRY(BUILD_ARRAY(d, j->head, j->copy, order, j->A.rows));
    order = j->copy->order;
    TRY(TAKE_WORK(j, j->at, j->A.rows));
    TRY(TAKE_WORK(j, key, j->A.rows));
    if (j->A.rows == 0) return SPMV_OK;
    sort_keys<<<grid, BLOCK, 0, stream_of(d)>>>(j->A, j->m, key, j->found->rows);
    TRY(launched(d));
    TRY(order_by_key(d, j->A.rows, key, HUBS_KEY_BITS, order));
    done_with_work(j, key);
    place_rows<<<grid, BLOCK, 0, stream_of(d)>>>(j->A.rows, order, j->at);
    TRY(launched(d));
    return fetch_counts(j);
}

static spmv_status make_segments(job *j) {
    spmv_device *d = j->device;
    hubs *copy = j->copy;
    const int64_t n = j->told.rows[0];
    cudaStream_t stream = stream_of(d);
    j->head->ncuts = copy->ncuts = n;
    TRY(BUILD_ARRAY(d, j->head, copy, cut, n));
    TRY(TAKE_WORK(j, j->first_segment, n + 1));
    count_segments<<<(unsigned)blocks_for(n + 1, BLOCK), BLOCK, 0, stream>>>(
        j->A, j->m, n, copy->order, copy->cut, j->first_segment);
    TRY(launched(d));
    TRY(sum_before(d, n + 1, j->first_segment));
    TRY(d->backend->get(d, &copy->nsegments, j->first_segment + n, sizeof copy->nsegments));
    j->head->nsegments = copy->nsegments;
    TRY(BUILD_ARRAY(d, j->head, copy, segment, copy->nsegments));
    if (n)
        list_segments<<<(unsigned)n, BLOCK, 0, stream>>>(n, copy->order, j->first_segment,
                                                         copy->segment);
    return launched(d);
}

static spmv_status make_slices(job *j) {
    spmv_device *d = j->device;
    hubs *copy = j->copy;
    int64_t *size = NULL, ends[3] = {0, 0, 0};
    j->all = hubs_place_classes(j->told.rows, copy->nsegments);
    const int64_t n = j->all.slice[HUBS_CLASSES];
    j->head->nslices = copy->nslices = n;
    TRY(BUILD_ARRAY(d, j->head, copy, slice, n));
    if (n == 0) return SPMV_OK;
    TRY(TAKE_WORK(j, size, 2 * (n + 1)));
    TRY(clear(d, size, 2 * (size_t)(n + 1) * sizeof *size));
    measure_slices<<<(unsigned)blocks_for(n * WARP, BLOCK), BLOCK, 0, stream_of(d)>>>(
        j->A, j->m, j->all, *copy, size);
    TRY(launched(d));
    TRY(sum_before(d, 2 * (n + 1), size));
    place_slices<<<(unsigned)blocks_for(n, BLOCK), BLOCK, 0, stream_of(d)>>>(*copy, size);
    TRY(launched(d));
    TRY(d->backend->get(d, ends, size + n, 2 * sizeof *ends));
    TRY(d->backend->get(d, ends + 2, size + 2 * n + 1, sizeof *ends));
    done_with_work(j, size);
    j->head->words = copy->words = ends[0];
    j->head->values = copy->values = ends[2] - ends[1];
    j->head->s.slots = copy->s.slots = copy->values * WARP;
    return SPMV_OK;
}

/* Chooses the code of the values and fills the codebook, with 0 if the code has none. */
static spmv_status choose_code(job *j, bool codes) {
    spmv_device *d = j->device;
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set *set = NULL;
    int code = VALUE_RAW;
    TRY(BUILD_ARRAY(d, j->head, j->copy, codebook, VALUE_CODEBOOK_SIZE));
    if (codes) {
        TRY(TAKE_WORK(j, set, 1));
        TRY(find_values(d, j->A, set, &j->found->of, j->copy->codebook));
        TRY(fetch_counts(j));
        TRY(d->backend->get(d, codebook, j->copy->codebook, sizeof codebook));
        code = hubs_code(code_for(&j->told.of), codebook, j->told.of.values);
    }
    if (code == VALUE_RAW || code == VALUE_F32) TRY(clear(d, j->copy->codebook, sizeof codebook));
    j->head->value_code = j->copy->value_code = code;
    j->head->value_bytes = j->copy->value_bytes = coded_bytes(code);
    j->head->s.values = j->copy->s.values = code_word(code);
    return SPMV_OK;
}

template <bool WORDS, bool VALUES> static spmv_status fill_with(job *j) {
    fill_job f = {
        j->A, j->m, j->all, *j->copy, j->at, j->first_segment, j->place, j->told.of.values};
    if (j->A.nnz)
        fill_entries<WORDS, VALUES><<<(unsigned)blocks_for(j->A.nnz, CHUNK * BLOCK / WARP), BLOCK,
                                      0, stream_of(j->device)>>>(f);
    return launched(j->device);
}

/* If values are stored unencoded, frees the columns of temporary rows before the values are
 * allocated. */
static spmv_status fill(job *j) {
    spmv_device *d = j->device;
    hubs *copy = j->copy;
    const int64_t words = copy->words * WARP, bytes = copy->s.slots * copy->value_bytes;
    TRY(BUILD_ARRAY(d, j->head, copy, word, words));
    TRY(clear(d, copy->word, (size_t)words * sizeof *copy->word));
    const bool apart = j->from->passing && copy->value_code == VALUE_RAW;
    if (apart) {
        TRY((fill_with<true, false>(j)));
        done_with(d, j->from, j->A.col);
        done_with_work(j, j->place);
    }
    TRY(BUILD_ARRAY(d, j->head, copy, value, bytes));
    TRY(clear(d, copy->value, (size_t)bytes));
    return apart ? fill_with<false, true>(j) : fill_with<true, true>(j);
}

static spmv_status build(job *j, const spmv_choice *c) {
    TRY(choose_hubs(j, c->value[SPMV_hubs] != 0));
    TRY(mark(j));
    TRY(sort_rows(j));
    TRY(make_segments(j));
    TRY(make_slices(j));
    TRY(choose_code(j, c->value[SPMV_codes] != 0));
    return fill(j);
}

/* Returns the bytes of temporary arrays, with a second copy of keys and rows for CUB's sort. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 20 /* other temporary storage of CUB */, ARRAYS = 3 };
    const size_t n = (size_t)A->nnz, r = (size_t)A->rows, slices = hubs_most_slices(A);
    (void)c;
    return (size_t)A->cols * (sizeof(int) + sizeof(int64_t)) + sizeof(counts) + sizeof(value_set) +
           (n / WARP + 1) * (sizeof(uint32_t) + sizeof(int64_t)) +
           ARRAYS * r * (sizeof(uint64_t) + sizeof(idx)) +
           (hubs_most_segments(A) + 1) * sizeof(int64_t) + 2 * (slices + 1) * sizeof(int64_t) +
           TEMPORARY;
}

/* Builds the store's header (without arrays) and the store on the device. A GPU with less shared
 * memory than "auto" assumes has fewer hot columns than the host's store. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *from,
                            const spmv_choice *c, spmv_store **head, spmv_store **copy,
                            double *upload_s) {
    const csr *there = (const csr *)from;
    int64_t fitting = 0;
    *upload_s = 0;
    TRY(spmv_store_new(d->ctx, "hubs", sizeof(hubs), A, head));
    TRY(spmv_store_new(d->ctx, "hubs", sizeof(hubs), A, copy));
    job j = {d, from, {A->rows, A->nnz, INT64_MAX, there->row_ptr, there->col_idx, there->values}};
    j.cols = A->cols;
    j.head = (hubs *)*head, j.copy = (hubs *)*copy;
    TRY(hubs_fitting(d, &fitting));
    j.head->most = j.copy->most = min(hubs_most(c), fitting);
    spmv_status status = build(&j, c);
    for (int k = 0; k < j.nwork; k++) d->backend->release(d, j.work[k]);
    return status;
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Returns how many of the row's entries, in hot columns or in others, have columns < j. */
static __device__ int64_t entries_below(const hubs &B, const hubs_row &r, bool is_hot, idx j) {
    int64_t low = 0, high = is_hot ? r.hot : r.rest;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        const idx there = hubs_column_of(&B, &r, is_hot, middle);
        if (there >= 0 && there < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets the lane's entries of one kind (hot or rest), from the row's k-th of that kind on. */
static __device__ void refill_lane(const hubs &B, const hubs_row &r, bool is_hot, int64_t k,
                                   int64_t end, const real *from) {
    for (; k < end; k += r.lanes) {
        const idx j = hubs_column_of(&B, &r, is_hot, k);
        if (j < 0) return;
        ((real *)B.value)[hubs_slot_of(&B, &r, is_hot, k).value] =
            from[k + entries_below(B, r, !is_hot, j)];
    }
}

/* One warp per slice. Columns of both kinds ascend, so an entry's index in its row follows from the
 * columns. */
static __global__ void refill_slices(const __grid_constant__ hubs B,
                                     const ofs *__restrict__ row_ptr,
                                     const real *__restrict__ values) {
    const int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    const int lane = threadIdx.x % WARP;
    if (s >= B.nslices) return;
    const hubs_slice t = B.slice[s];
    const int n = t.lanes ? lane / t.lanes : 0;
    if (n >= t.rows) return;
    const hubs_row r = hubs_row_in(&B, s, n);
    const real *from = values + row_ptr[r.row];
    const int64_t q = s - r.slice;
    for (int is_hot = 0; is_hot < 2; is_hot++) {
        const int64_t all = is_hot ? r.hot : r.rest;
        const int64_t first = hubs_segment_begins(all, r.segments, q);
        const int64_t end = hubs_segment_begins(all, r.segments, q + 1);
        refill_lane(B, r, is_hot, first + lane - r.first_lane, end, from);
    }
}

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const hubs *B = (const hubs *)copy;
    if (B->nslices)
        refill_slices<<<(unsigned)blocks_for(B->nslices * WARP, BLOCK), BLOCK, 0, stream_of(d)>>>(
            *B, (const ofs *)row_ptr, (const real *)values);
    return launched(d);
}

EXPORT_BUILDER(hubs) = {
    .name = "hubs",
    .working = working,
    .build = build_on,
    .refill = refill_on,
};
