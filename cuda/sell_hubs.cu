/* sell_hubs: one lane multiplies one row of slices sorted by length; x of the columns used most is
 * kept in shared memory.
 *
 * Source   ours; that few columns of a graph take most of the gathers is in Zhang et al., "Making
 *          caches work for graph analytics", 2017; the slices are SELL-C-sigma's with sigma = all.
 * Reads    sell: values, row_len, perm; columns of its own, a hub's being ~(its place among the
 *          hubs); x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, in the order of perm.
 * Work     a first kernel collects x of the hubs; then one block a multiprocessor copies them to
 *          its shared memory and its warps take tasks: a slice's slots, at most MOST_STEPS a row,
 *          AHEAD at once. Slices of more are several tasks; the last to finish adds the sums in
 *          order.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + rows (8 + sizeof real) + cols sizeof real bytes and
 *          24 a task; gathers of x from the cache only where the column is no hub.
 * Weak     columns all used alike, where the hubs hold nothing; small matrices, for filling shared
 *          memory; building: all rows are sorted.
 * Repeats  bitwise: yes.
 * Params   hubs: columns kept, at most (0: as many as fit); sigma (all), slice (32).
 */
#include "device.cuh"
#include <stdlib.h>

enum {
    THREADS = 1024,      /* one block a multiprocessor */
    AHEAD = 8,           /* slots of a row asked for before the first is used */
    MOST_STEPS = 128,    /* of a task */
    SPARE_SHARED = 2048, /* bytes the system keeps of a block's shared memory */
    MOST_DEGREE = 8192   /* degrees are told apart up to here */
};

SPMV_LINKAGE const spmv_format V(sell_format);

typedef struct __align__(16) task {
    int64_t first;       /* slot of its first row */
    int32_t slice, from; /* the rows; the first slot of each */
    int32_t steps, part; /* slots a row; which of the slice's tasks */
    int32_t parts, sums; /* how many the slice has; where their sums begin, in slices */
}
task;

typedef struct hubs {
    idx *col;    /* [slots] */
    task *tasks; /* [ntasks] */
    real *sums;  /* [32 a task of a slice that has several] */
    int *done;   /* [nslices] tasks that are done; 0 between runs */
    idx *hub;    /* [nhubs] the columns */
    real *hub_x; /* [nhubs] */
    idx nhubs, ntasks;
    int blocks;
} hubs;

/* ---- the product ----------------------------------------------------------------------------- */

static __global__ void collect_hubs(hubs H, const real *__restrict__ x) {
    idx h = (idx)(blockIdx.x * blockDim.x + threadIdx.x);
    if (h < H.nhubs) H.hub_x[h] = x[H.hub[h]];
}

/* This lane's row: entries from .. end - 1 of it, of slots that are height apart. */
static __device__ __forceinline__ real sum_slots(const idx *col, const real *values, int count,
                                                 int height, const real *__restrict__ x,
                                                 const real *hub_x) {
    real sum = 0;
#pragma unroll 1
    for (int k = 0; __any_sync(ALL_LANES, k < count); k += AHEAD) {
        idx j[AHEAD];
        real a[AHEAD], xj[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            j[u] = 0, a[u] = 0;
            if (k + u < count) j[u] = __ldcs(col + u * height), a[u] = __ldcs(values + u * height);
        }
        __syncwarp(); /* or the compiler would wait for the first column before it loads the last */
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            xj[u] = 0;
            if (k + u < count && j[u] >= 0) xj[u] = __ldg(x + j[u]);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            if (k + u < count && j[u] < 0) xj[u] = hub_x[~j[u]];
            sum += a[u] * xj[u];
        }
        col += AHEAD * height, values += AHEAD * height;
    }
    return sum;
}

static __device__ __forceinline__ task load_task(const task *t) {
    union {
        int4 loaded[2];
        task t;
    } u;
    u.loaded[0] = __ldg((const int4 *)t);
    u.loaded[1] = __ldg((const int4 *)t + 1);
    return u.t;
}

/* The sums of all tasks of the slice, in the last that comes; false in the others. */
static __device__ __forceinline__ bool add_parts(const hubs &H, const task &t, real *sum) {
    int lane = threadIdx.x % WARP, before = 0;
    H.sums[(int64_t)(t.sums + t.part) * WARP + lane] = *sum;
    __threadfence();
    __syncwarp();
    if (lane == 0) before = atomicAdd(H.done + t.slice, 1);
    if (__shfl_sync(ALL_LANES, before, 0) < t.parts - 1) return false;
    __threadfence();
    *sum = 0;
#pragma unroll 4
    for (int q = 0; q < t.parts; q++) *sum += __ldcg(H.sums + (int64_t)(t.sums + q) * WARP + lane);
    if (lane == 0) H.done[t.slice] = 0;
    return true;
}

static __global__ void __launch_bounds__(THREADS, 1)
    multiply(hubs H, sell A, const real *__restrict__ x, real alpha, real beta, real *y) {
    extern __shared__ double room[];
    real *hub_x = (real *)room;
    for (idx h = (idx)threadIdx.x; h < H.nhubs; h += THREADS) hub_x[h] = H.hub_x[h];
    __syncthreads();
    int lane = threadIdx.x % WARP;
    idx warps = (idx)gridDim.x * (THREADS / WARP);
    idx at = (idx)(threadIdx.x / WARP) * (idx)gridDim.x + (idx)blockIdx.x;
    if (at >= H.ntasks) return; /* the whole warp */
    task next = load_task(H.tasks + at);
    for (; at < H.ntasks; at += warps) {
        task t = next;
        if (at + warps < H.ntasks) next = load_task(H.tasks + at + warps);
        int64_t i = (int64_t)t.slice * WARP + lane;
        bool is_row = i < A.s.rows;
        int height = (int)min((int64_t)WARP, A.s.rows - (int64_t)t.slice * WARP);
        int count = is_row ? min(__ldcs(A.row_len + i) - t.from, t.steps) : 0;
        int64_t first = t.first + (int64_t)t.from * height + lane;
        idx row = is_row ? (A.perm ? __ldcs(A.perm + i) : (idx)i) : 0;
        real sum = sum_slots(H.col + first, A.values + first, count, height, x, hub_x);
        if (t.parts > 1 && !add_parts(H, t, &sum)) continue;
        if (is_row) put_row(y + row, alpha, sum, beta);
    }
}

static size_t shared_bytes(const hubs *H) {
    return (size_t)H->nhubs * sizeof(real);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const hubs *H = (const hubs *)p->scratch;
    const sell *A = (const sell *)p->store;
    if (A->s.rows == 0) return SPMV_OK;
    if (H->nhubs)
        collect_hubs<<<(unsigned)blocks_for(H->nhubs, 256), 256, 0, stream_of(p)>>>(
            *H, (const real *)x);
    multiply<<<(unsigned)H->blocks, THREADS, shared_bytes(H), stream_of(p)>>>(
        *H, *A, (const real *)x, (real)alpha, (real)beta, (real *)y);
    return launched(p);
}

/* ---- preparation: hubs ----------------------------------------------------------------------- */

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
        if (d > 1) atomicAdd(columns + d, 1u); /* what is used once is no hub */
    }
}

/* Columns of at least `least`, as many as are hubs; a hub's degree becomes the complement of its
 * place. */
static __global__ void take_hubs(int64_t cols, unsigned least, idx most, int *degree, idx *hub,
                                 int *nhubs) {
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= cols) return;
    int place = -1;
    if ((unsigned)degree[j] >= least) place = atomicAdd(nhubs, 1);
    if (place >= most) place = -1;
    if (place >= 0) hub[place] = (idx)j;
    degree[j] = place;
}

static __global__ void name_columns(int64_t nnz, const idx *__restrict__ from,
                                    const int *__restrict__ place, idx *col) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += stride)
        col[k] = place[from[k]] >= 0 ? ~place[from[k]] : from[k];
}

static spmv_status make(spmv_plan *p, size_t bytes, void **out) {
    TRY(p->device->backend->alloc(p->device, bytes, out));
    p->scratch_bytes += bytes;
    CU(p->device->ctx, cudaMemsetAsync(*out, 0, bytes, stream_of(p)));
    return SPMV_OK;
}

/* The least degree of a hub, so that there are at most `most`. */
static spmv_status find_least(spmv_plan *p, const unsigned *columns, idx most, unsigned *least) {
    unsigned *counts = (unsigned *)malloc((MOST_DEGREE + 1) * sizeof *counts);
    if (!counts) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    spmv_status status =
        p->device->backend->get(p->device, counts, columns, (MOST_DEGREE + 1) * sizeof *counts);
    unsigned n = 0;
    *least = MOST_DEGREE + 1;
    while (status == SPMV_OK && *least > 2 && n + counts[*least - 1] <= (unsigned)most)
        n += counts[--*least];
    free(counts);
    return status;
}

static spmv_status choose_hubs(spmv_plan *p, const sell *A, idx most, int *degree,
                               unsigned *columns, int *count, hubs *H) {
    enum { BLOCKS = 4096, BLOCK = 256 };
    unsigned least = 0;
    int found = 0;
    cudaStream_t stream = stream_of(p);
    count_columns<<<BLOCKS, BLOCK, 0, stream>>>(A->s.slots, A->col_idx, (unsigned *)degree);
    count_degrees<<<BLOCKS, BLOCK, 0, stream>>>(A->s.cols, (const unsigned *)degree, columns);
    TRY(launched(p));
    TRY(find_least(p, columns, most, &least));
    take_hubs<<<(unsigned)blocks_for(A->s.cols + 1, BLOCK), BLOCK, 0, stream>>>(
        A->s.cols, least, most, degree, H->hub, count);
    name_columns<<<BLOCKS, BLOCK, 0, stream>>>(A->s.slots, A->col_idx, degree, H->col);
    TRY(launched(p));
    TRY(p->device->backend->get(p->device, &found, count, sizeof found));
    H->nhubs = found < most ? found : most;
    return SPMV_OK;
}

static spmv_status prepare_hubs(spmv_plan *p, const sell *A, hubs *H) {
    spmv_device *d = p->device;
    int shared = 0;
    void *work[3] = {NULL};
    CU(d->ctx, cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->number));
    idx most = (idx)((size_t)(shared - SPARE_SHARED) / sizeof(real));
    if (p->choice.value[SPMV_hubs] && p->choice.value[SPMV_hubs] < most)
        most = (idx)p->choice.value[SPMV_hubs];
    TRY(make(p, (size_t)A->s.slots * sizeof *H->col, (void **)&H->col));
    TRY(make(p, (size_t)most * sizeof *H->hub, (void **)&H->hub));
    TRY(make(p, (size_t)most * sizeof *H->hub_x, (void **)&H->hub_x));
    size_t kept = p->scratch_bytes;
    spmv_status status = make(p, (size_t)A->s.cols * sizeof(int), &work[0]);
    if (status == SPMV_OK) status = make(p, (MOST_DEGREE + 1) * sizeof(unsigned), &work[1]);
    if (status == SPMV_OK) status = make(p, sizeof(int), &work[2]);
    if (status == SPMV_OK)
        status = choose_hubs(p, A, most, (int *)work[0], (unsigned *)work[1], (int *)work[2], H);
    for (int k = 0; k < 3; k++) d->backend->release(d, work[k]);
    p->scratch_bytes = kept;
    if (status != SPMV_OK) return status;
    /* What plans of other matrices need, too: the most. */
    CU(d->ctx, cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    shared - SPARE_SHARED));
    return SPMV_OK;
}

/* ---- preparation: tasks ---------------------------------------------------------------------- */

static idx parts_of(const sell *A, int64_t s) {
    int64_t height = A->s.rows - s * WARP < WARP ? A->s.rows - s * WARP : WARP;
    int64_t steps = ((int64_t)A->slice_ptr[s + 1] - (int64_t)A->slice_ptr[s]) / height;
    return steps > MOST_STEPS ? (idx)blocks_for(steps, MOST_STEPS) : 1;
}

/* Of tasks, and of sums that are added. */
static void count_tasks(const sell *A, int64_t *ntasks, int64_t *nsums) {
    *ntasks = *nsums = 0;
    for (int64_t s = 0; s < A->nslices; s++) {
        idx parts = parts_of(A, s);
        *ntasks += parts;
        if (parts > 1) *nsums += parts;
    }
}

static void list_tasks(const sell *A, task *out) {
    int32_t sums = 0;
    for (int64_t s = 0; s < A->nslices; s++) {
        idx parts = parts_of(A, s);
        for (idx part = 0; part < parts; part++)
            *out++ = {(int64_t)A->slice_ptr[s],
                      (int32_t)s,
                      part * MOST_STEPS,
                      MOST_STEPS,
                      part,
                      parts,
                      sums};
        if (parts > 1) sums += parts;
    }
}

/* A: its slice_ptr in host memory. */
static spmv_status put_tasks(spmv_plan *p, const sell *A, hubs *H) {
    int64_t ntasks, nsums;
    count_tasks(A, &ntasks, &nsums);
    task *tasks = (task *)spmv_host_alloc((size_t)ntasks * sizeof *tasks);
    if (!tasks) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for tasks");
    list_tasks(A, tasks);
    H->ntasks = (idx)ntasks;
    spmv_status status = put_scratch(p, tasks, (size_t)ntasks * sizeof *tasks, (void **)&H->tasks);
    spmv_host_free(tasks);
    if (status != SPMV_OK) return status;
    TRY(make(p, (size_t)nsums * WARP * sizeof *H->sums, (void **)&H->sums));
    return make(p, (size_t)A->nslices * sizeof *H->done, (void **)&H->done);
}

static spmv_status prepare_tasks(spmv_plan *p, hubs *H) {
    sell A = *(const sell *)p->store;
    size_t bytes = (size_t)(A.nslices + 1) * sizeof(ofs);
    ofs *slice_ptr = (ofs *)spmv_host_alloc(bytes);
    if (!slice_ptr) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for tasks");
    spmv_status status = p->device->backend->get(p->device, slice_ptr, A.slice_ptr, bytes);
    A.slice_ptr = slice_ptr;
    if (status == SPMV_OK) status = put_tasks(p, &A, H);
    spmv_host_free(slice_ptr);
    return status;
}

/* Rows sorted all together pad their slices by one longest row a lane of a slice, together: what a
 * slice's first row has more than its last, the slices behind have not. Other orders are the
 * format's to forecast. */
static int64_t most_slots(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    if (c->value[SPMV_sigma] == 0 || c->value[SPMV_sigma] >= A->rows)
        return A->nnz + WARP * longest;
    return (int64_t)(V(sell_format).estimate(A, c) / (sizeof(idx) + sizeof(real)));
}

/* At most: shared memory is taken to be MOST_SHARED, more than any GPU has. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    enum { MOST_SHARED = 256 << 10, MOST_HUBS = MOST_SHARED / (int)sizeof(real) };
    int64_t longest = 0, nslices = blocks_for(A->rows, WARP);
    for (int64_t i = 0; i < A->rows; i++)
        longest = max(longest, A->row_ptr[i + 1] - A->row_ptr[i]);
    int64_t slots = most_slots(A, c, longest);
    int64_t cuts = (slots / WARP + longest) / MOST_STEPS; /* full tasks of all slices */
    return (size_t)slots * sizeof(idx) + (size_t)MOST_HUBS * (sizeof(idx) + sizeof(real)) +
           (size_t)(nslices + cuts) * sizeof(task) + (size_t)nslices * sizeof(int) +
           2 * (size_t)cuts * WARP * sizeof(real);
}

static spmv_status prepare(spmv_plan *p) {
    hubs *H = (hubs *)calloc(1, sizeof *H);
    if (!H) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = H;
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&H->blocks, cudaDevAttrMultiProcessorCount, p->device->number));
    TRY(prepare_hubs(p, (const sell *)p->store, H));
    TRY(prepare_tasks(p, H));
    p->traffic_bytes = (size_t)p->host->nnz * (sizeof(real) + sizeof(idx)) +
                       2 * (size_t)p->host->rows * sizeof(idx) + (size_t)H->ntasks * sizeof(task);
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    hubs *H = (hubs *)p->scratch;
    void *owned[] = {H->col, H->tasks, H->sums, H->done, H->hub, H->hub_x};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        p->device->backend->release(p->device, owned[k]);
    free(H);
}

static const spmv_param params[] = {{SPMV_hubs, 0, 0, 1 << 20, 1, false},
                                    {SPMV_slice, WARP, WARP, WARP, 1, false},
                                    {SPMV_sigma, 0, 0, INT32_MAX, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sell_hubs) = {
    /* name, alias  */ "sell_hubs",
    NULL,
    /* format       */ "sell",
    /* summary      */
    "slices of rows sorted by length, x of the most used columns in shared memory",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
