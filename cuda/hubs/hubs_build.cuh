/* hubs_build.cuh: builds the slices of the kernel hubs on the GPU from compressed rows: it counts
 * the nonzeros of columns, marks those in hot columns, sorts rows by their shapes, and measures and
 * fills the slices. */
#ifndef SPMV_CUDA_HUBS_BUILD_CUH
#define SPMV_CUDA_HUBS_BUILD_CUH

#include "cuda/build.cuh"
#include "cuda/coded.cuh"
#include "hubs.cuh"
#include <math.h>

enum {
    MOST_DEGREE = 8192, /* degrees are told apart up to here */
    PAYS = 8,        /* multiprocessors that copy x of a hot column, per nonzero of it, at most */
    CLASSES = 7,     /* of rows: those in segments, those of 32 lanes, 16, ... 1 */
    CLASS_SHIFT = 10 /* in a key: below are the steps, five bits each */
};

/* Where the rows of each class are in the order, and their slices; class CLASSES: behind all. */
typedef struct row_classes {
    int64_t row[CLASSES + 1], slice[CLASSES + 1];
} row_classes;

static __host__ __device__ __forceinline__ int lanes_of(int c) {
    return WARP >> (c - 1);
}

static __device__ __forceinline__ int class_of(const row_shape &s) {
    return s.segments > 1 ? 0 : 7 - __ffs(s.lanes);
}

/* ---- which columns are hot ------------------------------------------------------------------- */

static __global__ void count_columns(int64_t nnz, const idx *__restrict__ col, unsigned *degree) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += stride)
        atomicAdd(degree + col[k], 1u);
}

static __global__ void count_degrees(int64_t cols, const unsigned *__restrict__ degree,
                                     unsigned *columns) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += stride) {
        unsigned d = min(degree[j], (unsigned)MOST_DEGREE);
        if (d > 1) atomicAdd(columns + d, 1u); /* what is used once is not hot */
    }
}

/* Hot are the columns of at least `least` nonzeros, which all fit, and the first `ties` of those
 * that have one less, by their numbers: which ones must not depend on the schedule, or a row's
 * entries would be added in another order the next time. Degrees from MOST_DEGREE on count as
 * that. */
typedef struct hot_rule {
    unsigned least;
    int64_t ties;
} hot_rule;

enum { ABOVE_SHIFT = 32 }; /* one sum counts both: the hot ones above, and below them the ties */

static __device__ __forceinline__ int64_t kind_of_column(const hot_rule &rule, unsigned degree) {
    unsigned d = min(degree, (unsigned)MOST_DEGREE);
    return d >= rule.least ? (int64_t)1 << ABOVE_SHIFT : d + 1 == rule.least;
}

static __global__ void flag_hubs(int64_t cols, hot_rule rule, const int *__restrict__ degree,
                                 int64_t *before) {
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < cols) before[j] = kind_of_column(rule, (unsigned)degree[j]);
}

/* Hot columns stand in the order of their numbers. A degree becomes 1 + such a place, or 0. */
static __global__ void take_hubs(int64_t cols, hot_rule rule, const int64_t *__restrict__ before,
                                 int *degree, idx *hot) {
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= cols) return;
    int64_t kind = kind_of_column(rule, (unsigned)degree[j]), above = before[j] >> ABOVE_SHIFT;
    int64_t ties = before[j] & UINT32_MAX, place = above + min(ties, rule.ties);
    bool is_hot = kind > 1 || (kind == 1 && ties < rule.ties);
    if (is_hot) hot[place] = (idx)j;
    degree[j] = is_hot ? (int)place + 1 : 0;
}

/* ---- which entries are in them --------------------------------------------------------------- */

typedef struct marks { /* of the entries in hot columns; a word more than they take */
    int64_t words;
    uint32_t *bits;
    int64_t *before; /* how many there are in the words before */
} marks;

static __global__ void mark_entries(int64_t nnz, const idx *__restrict__ col,
                                    const int *__restrict__ place, marks m) {
    int lane = threadIdx.x % WARP;
    int64_t warps = (int64_t)gridDim.x * blockDim.x / WARP;
    for (int64_t w = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP; w < m.words;
         w += warps) {
        int64_t k = w * WARP + lane;
        unsigned on = __ballot_sync(ALL_LANES, k < nnz && place[col[k]] != 0);
        if (lane) continue;
        m.bits[w] = on;
        m.before[w] = __popc(on);
    }
}

static __device__ __forceinline__ int64_t marks_before(const marks &m, int64_t k) {
    return m.before[k / WARP] + __popc(m.bits[k / WARP] & ((1u << k % WARP) - 1));
}

typedef struct row_entries {
    int64_t begin, marked, hot, rest; /* marked: before the row */
} row_entries;

static __device__ __forceinline__ row_entries entries_of(const rows &A, const marks &m, idx row) {
    int64_t begin = A.row_ptr[row], end = A.row_ptr[row + 1];
    int64_t marked = marks_before(m, begin), hot = marks_before(m, end) - marked;
    return {begin, marked, hot, end - begin - hot};
}

/* ---- rows, segments, slices ------------------------------------------------------------------ */

static __global__ void sort_keys(rows A, marks m, uint64_t *key, unsigned *count) {
    __shared__ unsigned mine[CLASSES];
    if (threadIdx.x < CLASSES) mine[threadIdx.x] = 0;
    __syncthreads();
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < A.rows) {
        row_entries e = entries_of(A, m, (idx)row);
        row_shape s = shape_of(e.hot, e.rest);
        int c = class_of(s);
        key[row] = c ? (uint64_t)(c << CLASS_SHIFT | (31 - s.pairs) << 5 | (31 - s.rest)) : 0;
        atomicAdd(mine + c, 1u);
    }
    __syncthreads();
    if (threadIdx.x < CLASSES && mine[threadIdx.x])
        atomicAdd(count + threadIdx.x, mine[threadIdx.x]);
}

static __global__ void place_rows(int64_t rows, const idx *__restrict__ order, idx *at) {
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < rows) at[order[p]] = (idx)p;
}

static __global__ void count_segments(rows A, marks m, int64_t ncuts, const idx *__restrict__ order,
                                      int64_t *first) {
    int64_t p = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (p > ncuts) return;
    first[p] = 0;
    if (p == ncuts) return;
    row_entries e = entries_of(A, m, order[p]);
    first[p] = shape_of(e.hot, e.rest).segments;
}

static __global__ void list_segments(int64_t ncuts, const idx *__restrict__ order,
                                     const int64_t *__restrict__ first, hot_segment *segment) {
    int64_t p = (int64_t)blockIdx.x;
    int n = (int)(first[p + 1] - first[p]);
    for (int q = (int)threadIdx.x; q < n; q += (int)blockDim.x)
        segment[first[p] + q] = {order[p], (idx)first[p], n, (int)p};
}

/* One warp per slice: its steps, and how many words and values these take. */
static __global__ void measure_slices(rows A, marks m, row_classes all, hubs H, int64_t *size) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP, c = 0, rest = 0, pairs = 0;
    if (s >= H.nslices) return;
    while (s >= all.slice[c + 1]) c++;
    hot_slice t = {0, 0, (uint32_t)s, 0, 0, 0, 1};
    if (c) {
        int64_t each = WARP / lanes_of(c), first = all.row[c] + (s - all.slice[c]) * each;
        t.row = (uint32_t)first, t.lanes = (uint8_t)lanes_of(c);
        t.rows = (uint8_t)min(each, all.row[c + 1] - first);
        if (lane < t.rows) {
            row_entries e = entries_of(A, m, H.order[first + lane]);
            row_shape shape = shape_of(e.hot, e.rest);
            rest = shape.rest, pairs = shape.pairs;
        }
        rest = warp_greatest(rest), pairs = warp_greatest(pairs);
    } else {
        hot_segment segment = H.segment[s];
        row_entries e = entries_of(A, m, segment.row);
        int64_t q = s - segment.first, n = segment.segments;
        rest =
            (int)rounded_up(segment_begins(e.rest, n, q + 1) - segment_begins(e.rest, n, q), WARP);
        pairs = (int)rounded_up(segment_begins(e.hot, n, q + 1) - segment_begins(e.hot, n, q),
                                2 * WARP);
    }
    t.rest = (uint8_t)rest, t.pairs = (uint8_t)pairs;
    if (lane) return;
    H.slice[s] = t;
    size[s] = rest + pairs;
    size[H.nslices + 1 + s] = rest + 2 * pairs;
}

static __global__ void place_slices(hubs H, const int64_t *__restrict__ size) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= H.nslices) return;
    H.slice[s].word = (uint32_t)size[s];
    H.slice[s].value = (uint32_t)(size[H.nslices + 1 + s] - size[H.nslices + 1]);
}

/* ---- entries --------------------------------------------------------------------------------- */

typedef struct fill_job {
    rows A;
    marks m;
    row_classes all;
    hubs H;
    const idx *at;                /* [rows] place of a row in the order */
    const int64_t *first_segment; /* [ncuts + 1] */
    const int *place;             /* [cols] 0, or 1 + a hot column's place */
    int nvalues;
} fill_job;

/* The row of entry k: the last that begins there or before, of low .. high. */
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

/* The slice of an entry, its lane there, and its step; rank: among the row's entries of its kind,
 * of which there are so many. */
static __device__ __forceinline__ hot_slice find_place(const fill_job &j, idx row,
                                                       const row_shape &shape, int64_t rank,
                                                       int64_t many, int *lane, int *step) {
    int64_t p = j.at[row], s;
    int c = class_of(shape), first_lane = 0;
    if (c == 0) {
        int64_t q = ((rank + 1) * shape.segments - 1) / many;
        s = j.first_segment[p] + q, rank -= segment_begins(many, shape.segments, q);
    } else {
        int64_t each = WARP / shape.lanes, behind = p - j.all.row[c];
        s = j.all.slice[c] + behind / each, first_lane = (int)(behind % each) * shape.lanes;
    }
    *lane = first_lane + (int)(rank % shape.lanes);
    *step = (int)(rank / shape.lanes);
    return j.H.slice[s];
}

static __device__ __forceinline__ void put_entry(const fill_job &j, const coded &c, idx row,
                                                 int64_t k) {
    row_entries e = entries_of(j.A, j.m, row);
    row_shape shape = shape_of(e.hot, e.rest);
    int64_t hubs_before = marks_before(j.m, k) - e.marked, at;
    bool is_hot = j.m.bits[k / WARP] >> k % WARP & 1;
    int64_t rank = is_hot ? hubs_before : k - e.begin - hubs_before;
    int lane, step;
    hot_slice t = find_place(j, row, shape, rank, is_hot ? e.hot : e.rest, &lane, &step);
    if (is_hot) {
        int64_t word = ((int64_t)t.word + t.rest + step / 2) * WARP + lane;
        ((uint16_t *)j.H.word)[2 * word + step % 2] = (uint16_t)j.place[j.A.col[k]];
        at = ((int64_t)t.value + t.rest + step / 2 * 2) * WARP + 2 * lane + step % 2;
    } else {
        j.H.word[((int64_t)t.word + step) * WARP + lane] = (uint32_t)j.A.col[k] + 1;
        at = ((int64_t)t.value + step) * WARP + lane;
    }
    put_value(c, at, true, j.A.value[k]);
}

enum { CHUNK = 256 }; /* entries of a warp that come one behind the other */

static __global__ void fill_entries(const __grid_constant__ fill_job j) {
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    for (int k = (int)threadIdx.x; k < VALUE_CODEBOOK_SIZE; k += (int)blockDim.x)
        codebook[k] = j.H.codebook[k];
    __syncthreads();
    const coded c = {j.H.value, codebook, j.H.code, j.nvalues};
    int64_t warp = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP, first = warp * CHUNK;
    int64_t end = min(first + CHUNK, j.A.nnz);
    if (first >= end) return;
    idx low = row_with(j.A, first, 0, (idx)j.A.rows - 1);
    idx high = row_with(j.A, end - 1, low, (idx)j.A.rows - 1);
    for (int64_t k = first + threadIdx.x % WARP; k < end; k += WARP)
        put_entry(j, c, row_with(j.A, k, low, high), k);
}

/* ---- the host ------------------------------------------------------------------------------ */

typedef struct counts { /* what the host is told */
    unsigned columns[MOST_DEGREE + 1], rows[CLASSES];
    value_facts of;
} counts;

enum { WORK = 10, BLOCK = 256, BLOCKS = 4096 };

typedef struct job {
    spmv_plan *plan;
    rows A;
    int64_t cols;
    hubs *H;
    void *work[WORK]; /* freed at its end */
    int nwork;
    counts *found; /* on the device; told: what was last asked for */
    counts told;
    value_set *set;
    int *place;
    marks m;
    row_classes all;
    idx *at;
    int64_t *first_segment;
} job;

static spmv_status take_work(job *j, size_t bytes, bool clear, void **out) {
    spmv_plan *p = j->plan;
    TRY(p->device->backend->alloc(p->device, bytes, out));
    j->work[j->nwork++] = *out;
    if (clear) CU(p->device->ctx, cudaMemsetAsync(*out, 0, bytes, stream_of(p)));
    return SPMV_OK;
}

static spmv_status ask_counts(job *j) {
    spmv_device *d = j->plan->device;
    return d->backend->get(d, &j->told, j->found, sizeof j->told);
}

/* So that there are at most `most` hot columns, and none that does not pay; how many there are. */
static int64_t rule_for(const unsigned *columns, int64_t most, unsigned pays, hot_rule *rule) {
    int64_t n = 0;
    *rule = {MOST_DEGREE + 1, 0};
    if (pays < 2) pays = 2;
    while (rule->least > pays && n + columns[rule->least - 1] <= most) n += columns[--rule->least];
    if (rule->least > pays) rule->ties = most - n; /* more have one entry less than there is room */
    return n + rule->ties;
}

static spmv_status choose_hubs(job *j, int64_t most) {
    spmv_plan *p = j->plan;
    hubs *H = j->H;
    hot_rule rule;
    int64_t *before = NULL;
    cudaStream_t stream = stream_of(p);
    const unsigned grid = (unsigned)blocks_for(j->cols, BLOCK);
    TRY(take_scratch(p, (size_t)most * sizeof *H->hot, (void **)&H->hot));
    TRY(take_scratch(p, hubs_bytes(most), (void **)&H->hot_x));
    TRY(take_work(j, (size_t)j->cols * sizeof *j->place, true, (void **)&j->place));
    TRY(take_work(j, sizeof *j->found, true, (void **)&j->found));
    count_columns<<<BLOCKS, BLOCK, 0, stream>>>(j->A.nnz, j->A.col, (unsigned *)j->place);
    count_degrees<<<BLOCKS, BLOCK, 0, stream>>>(j->cols, (const unsigned *)j->place,
                                                j->found->columns);
    TRY(launched(p));
    TRY(ask_counts(j));
    const unsigned pays = p->choice.value[SPMV_hubs] ? 2 : (unsigned)H->blocks / PAYS;
    H->nhubs = (idx)rule_for(j->told.columns, most, pays, &rule);
    if (j->cols == 0) return SPMV_OK;
    TRY(take_work(j, (size_t)j->cols * sizeof *before, false, (void **)&before));
    flag_hubs<<<grid, BLOCK, 0, stream>>>(j->cols, rule, j->place, before);
    TRY(launched(p));
    TRY(sum_before(p->device, j->cols, before));
    take_hubs<<<grid, BLOCK, 0, stream>>>(j->cols, rule, before, j->place, H->hot);
    return launched(p);
}

static spmv_status mark(job *j) {
    spmv_plan *p = j->plan;
    marks *m = &j->m;
    m->words = j->A.nnz / WARP + 1;
    TRY(take_work(j, (size_t)m->words * sizeof *m->bits, false, (void **)&m->bits));
    TRY(take_work(j, (size_t)m->words * sizeof *m->before, false, (void **)&m->before));
    mark_entries<<<BLOCKS, BLOCK, 0, stream_of(p)>>>(j->A.nnz, j->A.col, j->place, *m);
    TRY(launched(p));
    return sum_before(p->device, m->words, m->before);
}

static spmv_status sort_rows(job *j) {
    spmv_plan *p = j->plan;
    hubs *H = j->H;
    uint64_t *key = NULL;
    const unsigned grid = (unsigned)blocks_for(j->A.rows, BLOCK);
    TRY(take_scratch(p, (size_t)j->A.rows * sizeof *H->order, (void **)&H->order));
    TRY(take_work(j, (size_t)j->A.rows * sizeof *j->at, false, (void **)&j->at));
    TRY(take_work(j, (size_t)j->A.rows * sizeof *key, false, (void **)&key));
    sort_keys<<<grid, BLOCK, 0, stream_of(p)>>>(j->A, j->m, key, j->found->rows);
    TRY(launched(p));
    TRY(order_by_key(p->device, j->A.rows, key, CLASS_SHIFT + 3, H->order));
    place_rows<<<grid, BLOCK, 0, stream_of(p)>>>(j->A.rows, H->order, j->at);
    TRY(launched(p));
    return ask_counts(j);
}

static spmv_status make_segments(job *j) {
    spmv_plan *p = j->plan;
    hubs *H = j->H;
    H->ncuts = j->told.rows[0];
    TRY(take_work(j, (size_t)(H->ncuts + 1) * sizeof *j->first_segment, false,
                  (void **)&j->first_segment));
    count_segments<<<(unsigned)blocks_for(H->ncuts + 1, BLOCK), BLOCK, 0, stream_of(p)>>>(
        j->A, j->m, H->ncuts, H->order, j->first_segment);
    TRY(launched(p));
    TRY(sum_before(p->device, H->ncuts + 1, j->first_segment));
    TRY(p->device->backend->get(p->device, &H->nsegments, j->first_segment + H->ncuts,
                                sizeof H->nsegments));
    TRY(take_scratch(p, (size_t)H->nsegments * sizeof *H->segment, (void **)&H->segment));
    TRY(take_scratch(p, (size_t)H->nsegments * sizeof *H->sum, (void **)&H->sum));
    TRY(clear_scratch(p, (size_t)H->ncuts * sizeof *H->done, (void **)&H->done));
    if (H->ncuts)
        list_segments<<<(unsigned)H->ncuts, BLOCK, 0, stream_of(p)>>>(H->ncuts, H->order,
                                                                      j->first_segment, H->segment);
    return launched(p);
}

static void place_classes(job *j) {
    row_classes *all = &j->all;
    *all = {};
    all->row[1] = j->H->ncuts, all->slice[1] = j->H->nsegments;
    for (int c = 1; c < CLASSES; c++) {
        all->row[c + 1] = all->row[c] + j->told.rows[c];
        all->slice[c + 1] = all->slice[c] + blocks_for(j->told.rows[c], WARP / lanes_of(c));
    }
    j->H->nslices = all->slice[CLASSES];
}

static spmv_status make_slices(job *j) {
    spmv_plan *p = j->plan;
    spmv_device *d = p->device;
    hubs *H = j->H;
    int64_t *size = NULL, ends[3] = {0, 0, 0};
    place_classes(j);
    const int64_t n = H->nslices;
    TRY(take_scratch(p, (size_t)n * sizeof *H->slice, (void **)&H->slice));
    TRY(take_work(j, 2 * (size_t)(n + 1) * sizeof *size, true, (void **)&size));
    measure_slices<<<(unsigned)blocks_for(n * WARP, BLOCK), BLOCK, 0, stream_of(p)>>>(
        j->A, j->m, j->all, *H, size);
    TRY(launched(p));
    TRY(sum_before(d, 2 * (n + 1), size));
    place_slices<<<(unsigned)blocks_for(n, BLOCK), BLOCK, 0, stream_of(p)>>>(*H, size);
    TRY(launched(p));
    TRY(d->backend->get(d, ends, size + n, 2 * sizeof *ends));
    TRY(d->backend->get(d, ends + 2, size + 2 * n + 1, sizeof *ends));
    H->words = ends[0], H->values = ends[2] - ends[1];
    return SPMV_OK;
}

/* Slices are padded with 0 times 0, or 0 times the first value of the codebook if that is finite.
 */
static bool is_finite(const real *codebook, int n) {
    for (int k = 0; k < n; k++)
        if (!isfinite(codebook[k])) return false;
    return true;
}

static spmv_status choose_code(job *j) {
    spmv_plan *p = j->plan;
    hubs *H = j->H;
    real codebook[VALUE_CODEBOOK_SIZE];
    TRY(clear_scratch(p, sizeof codebook, (void **)&H->codebook));
    H->code = VALUE_RAW;
    if (!p->choice.value[SPMV_codes]) return SPMV_OK;
    TRY(take_work(j, sizeof *j->set, false, (void **)&j->set));
    TRY(look_at_values(p->device, j->A, j->set, &j->found->of, H->codebook));
    TRY(ask_counts(j));
    H->code = code_for(&j->told.of);
    TRY(p->device->backend->get(p->device, codebook, H->codebook, sizeof codebook));
    if (!is_finite(codebook, j->told.of.values)) H->code = VALUE_RAW;
    return SPMV_OK;
}

static spmv_status fill(job *j) {
    spmv_plan *p = j->plan;
    hubs *H = j->H;
    size_t words = (size_t)H->words * WARP * sizeof *H->word;
    size_t values = (size_t)H->values * WARP * (size_t)coded_bytes(H->code);
    TRY(clear_scratch(p, words, (void **)&H->word));
    TRY(clear_scratch(p, values, (void **)&H->value));
    p->traffic_bytes = words + values + (size_t)H->nslices * sizeof(hot_slice) +
                       (size_t)j->A.rows * sizeof *H->order;
    fill_job f = {j->A, j->m, j->all, *H, j->at, j->first_segment, j->place, j->told.of.values};
    if (j->A.nnz)
        fill_entries<<<(unsigned)blocks_for(j->A.nnz, CHUNK * BLOCK / WARP), BLOCK, 0,
                       stream_of(p)>>>(f);
    return launched(p);
}

/* Loading their code takes longer than running them on a small graph. */
static spmv_status load_builders(spmv_plan *p) {
    const void *const builders[] = {
        (const void *)count_columns,  (const void *)count_degrees,  (const void *)flag_hubs,
        (const void *)take_hubs,      (const void *)mark_entries,   (const void *)sort_keys,
        (const void *)place_rows,     (const void *)count_segments, (const void *)list_segments,
        (const void *)measure_slices, (const void *)place_slices,   (const void *)fill_entries,
        (const void *)empty_set,      (const void *)find_long,      (const void *)collect_values,
        (const void *)sort_codebook,  (const void *)tell_values,    (const void *)find_misfits};
    for (size_t k = 0; k < sizeof builders / sizeof *builders; k++)
        TRY(load_kernel(p, builders[k]));
    return SPMV_OK;
}

static spmv_status build(job *j, int64_t most) {
    if (j->A.rows == 0) return SPMV_OK;
    TRY(load_builders(j->plan));
    TRY(choose_hubs(j, most));
    TRY(mark(j));
    TRY(sort_rows(j));
    TRY(make_segments(j));
    TRY(make_slices(j));
    TRY(choose_code(j));
    return fill(j);
}
#endif
