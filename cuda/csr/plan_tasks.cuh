/* plan_tasks.cuh: the tasks of tasks.cuh, planned on the GPU: which rows make a group is known only
 * when the group before it is, so that rows are cut into chunks of about as many entries and rows,
 * which the matrix alone decides, and a thread goes through each; once to count, once to list. The
 * host takes 0.4 to 1 ms of an H200's time for it: most of that is waking its threads and sending
 * the list. */
#ifndef SPMV_CUDA_PLAN_TASKS_CUH
#define SPMV_CUDA_PLAN_TASKS_CUH

#include "tasks.cuh"
#include "formats/csr/csr.h"

enum {
    PLAN_THREADS = 256, /* of a chunk; all but one only fetch its rows to the first cache */
    CHUNK_GROUPS = 64,  /* of a chunk, about; its last one is cut short */
    MOST_OF_CHUNK = 1 << 16
};

typedef struct task_counts {
    int64_t groups, parts, cuts;
    int64_t entries; /* in parts */
} task_counts;

typedef struct chunk {
    int64_t begin, end; /* rows */
    task_counts count;  /* of its own; then of those before it */
} chunk;

typedef struct task_plan {
    task_sizes size;
    int64_t nchunks;
    chunk *list, *host; /* [nchunks] on the device, and what the host has of it */
    task_counts all;
} task_plan;

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

/* Behind the last row of the group that begins with this one. */
static __device__ __forceinline__ int64_t end_of_group(const ofs *row_ptr, int64_t row, int64_t end,
                                                       int64_t most) {
    int64_t low = row + 1, high = min(row + most, end), first = row_ptr[row];
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (row_ptr[middle] - first <= most)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Equal parts, in whole pieces. */
static __device__ __forceinline__ void list_parts(int64_t begin, int64_t end, int64_t row,
                                                  int64_t most, part *out, task_counts *n) {
    int64_t step = (end - begin + MOST_PARTS - 1) / MOST_PARTS;
    step = max((step + PIECE - 1) / PIECE * PIECE, most);
    int64_t first = n->parts, parts = (end - begin + step - 1) / step;
    for (int64_t q = 0, k = begin; out && q < parts; q++, k += step)
        out[first + q] = {
            k, (idx)row, (idx)min(end - k, step), (idx)parts, (idx)first, (idx)n->cuts, 0};
    n->parts += parts;
    n->cuts += parts > 1;
    n->entries += end - begin;
}

/* From row to end. group and part are NULL: only counted. n: in front of them, then behind. */
static __device__ __forceinline__ void list_rows(const ofs *row_ptr, int64_t row, int64_t end,
                                                 const task_sizes &size, group *groups, part *parts,
                                                 task_counts *n) {
    while (row < end) {
        int64_t first = row_ptr[row], begun = row;
        if (row_ptr[row + 1] - first > size.row) {
            list_parts(first, row_ptr[row + 1], row, size.part, parts, n);
            row++;
            continue;
        }
        row = end_of_group(row_ptr, row, end, size.group);
        if (groups)
            groups[n->groups] = {first, (idx)begun, (uint16_t)(row - begun),
                                 (uint16_t)(row_ptr[row] - first)};
        n->groups++;
    }
}

/* What one thread is about to go through comes to its multiprocessor's cache by all. */
static __device__ __forceinline__ void fetch_rows(const ofs *row_ptr, int64_t begin, int64_t end,
                                                  ofs *never) {
    ofs seen = 0;
#pragma unroll 8
    for (int64_t i = begin + threadIdx.x; i <= end; i += PLAN_THREADS) seen |= row_ptr[i];
    if (seen < 0) *never = seen; /* or they would not be read */
    __syncthreads();
}

static __global__ void __launch_bounds__(PLAN_THREADS)
    count_tasks(const ofs *row_ptr, int64_t rows, int64_t entries_and_rows, task_sizes size,
                chunk *list) {
    __shared__ ofs never;
    int64_t c = blockIdx.x, begin = 0, end = rows;
    if (c > 0) begin = row_at(row_ptr, rows, c * entries_and_rows);
    if (c + 1 < gridDim.x) end = row_at(row_ptr, rows, (c + 1) * entries_and_rows);
    fetch_rows(row_ptr, begin, end, &never);
    if (threadIdx.x) return;
    chunk mine = {begin, end, {0, 0, 0, 0}};
    list_rows(row_ptr, begin, end, size, NULL, NULL, &mine.count);
    list[c] = mine;
}

static __global__ void __launch_bounds__(PLAN_THREADS)
    list_tasks(const ofs *row_ptr, task_sizes size, const chunk *list, group *groups, part *parts) {
    __shared__ ofs never;
    chunk mine = list[blockIdx.x];
    fetch_rows(row_ptr, mine.begin, mine.end, &never);
    if (threadIdx.x == 0)
        list_rows(row_ptr, mine.begin, mine.end, size, groups, parts, &mine.count);
}

/* ---- on the host ----------------------------------------------------------------------------- */

static inline int64_t places_of_chunk(const task_sizes *size) {
    int64_t places = CHUNK_GROUPS * size->group;
    return places < MOST_OF_CHUNK ? places : MOST_OF_CHUNK;
}

/* Of what is allocated, at most: two groups next to each other have more entries than one may have,
 * or the first of them all the rows, or a long row or a chunk's end is between. */
static inline size_t tasks_bytes(const spmv_csr_view *A, const task_sizes *size) {
    int64_t chunks = (A->nnz + A->rows) / places_of_chunk(size) + 1;
    int64_t groups = 3 * (A->nnz / size->group + 1) + A->rows / size->group + chunks;
    int64_t parts = A->nnz / size->row + A->nnz / size->part + 1;
    return (size_t)groups * sizeof(group) + (size_t)chunks * sizeof(chunk) +
           (size_t)parts * (sizeof(part) + sizeof(real) + sizeof(int));
}

/* What each chunk has becomes what is in front of it. */
static inline void add_up(task_plan *t) {
    t->all = {};
    for (int64_t c = 0; c < t->nchunks; c++) {
        task_counts own = t->host[c].count;
        t->host[c].count = t->all;
        t->all.groups += own.groups, t->all.parts += own.parts;
        t->all.cuts += own.cuts, t->all.entries += own.entries;
    }
}

/* How many there will be. *t is for plan_free, whatever is returned. */
static inline spmv_status plan_tasks(spmv_plan *p, const csr *A, const task_sizes *size,
                                     task_plan *t) {
    spmv_device *d = p->device;
    int64_t places = places_of_chunk(size);
    *t = {*size, (A->s.nnz + A->s.rows) / places + 1};
    size_t bytes = (size_t)t->nchunks * sizeof *t->host;
    t->host = (chunk *)malloc(bytes);
    if (!t->host) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    TRY(d->backend->alloc(d, bytes, (void **)&t->list));
    count_tasks<<<(unsigned)t->nchunks, PLAN_THREADS, 0, stream_of(p)>>>(A->row_ptr, A->s.rows,
                                                                         places, *size, t->list);
    TRY(launched(p));
    TRY(d->backend->get(d, t->host, t->list, bytes));
    add_up(t);
    return SPMV_OK;
}

/* On failure *out is for tasks_free. */
static inline spmv_status plan_list(spmv_plan *p, const csr *A, const task_plan *t, tasks *out) {
    spmv_device *d = p->device;
    out->ngroups = t->all.groups, out->nparts = t->all.parts, out->ncuts = t->all.cuts;
    out->team = t->size.team;
    TRY(take_scratch(p, (size_t)out->ngroups * sizeof *out->group, (void **)&out->group));
    TRY(take_scratch(p, (size_t)out->nparts * sizeof *out->part, (void **)&out->part));
    TRY(take_scratch(p, (size_t)out->nparts * sizeof *out->sum, (void **)&out->sum));
    TRY(clear_scratch(p, (size_t)out->ncuts * sizeof *out->done, (void **)&out->done));
    TRY(d->backend->put(d, t->list, t->host, (size_t)t->nchunks * sizeof *t->host));
    list_tasks<<<(unsigned)t->nchunks, PLAN_THREADS, 0, stream_of(p)>>>(
        A->row_ptr, t->size, t->list, out->group, out->part);
    return launched(p);
}

static inline void plan_free(spmv_device *d, task_plan *t) {
    d->backend->release(d, t->list);
    free(t->host);
}

static inline spmv_status tasks_make(spmv_plan *p, const csr *A, const task_sizes *size,
                                     tasks *out) {
    task_plan plan;
    spmv_status status = plan_tasks(p, A, size, &plan);
    if (status == SPMV_OK) status = plan_list(p, A, &plan, out);
    plan_free(p->device, &plan);
    return status;
}
#endif
