/* sample.cu: takes the sample of a matrix whose CSR is in GPU memory, equal to that of
 * src/matrix/sample.c. One kernel gathers all parts into one buffer, each part by its own blocks;
 * the host copies the buffer. */
#include "backend.cuh"
#include "device.cuh"
#include "spmv_sample.h"
#include <stdlib.h>

enum { THREADS = 256 };

typedef struct totals { /* initially 0 */
    unsigned long long entries, slots, pairs, mirrored;
    unsigned taken; /* entries gathered, of all slices */
    unsigned unused;
} totals;

typedef struct gathered_slice {
    int place; /* index of the slice's first entry in the buffer; its rows follow each other */
    int len[SAMPLE_ROWS];
} gathered_slice;

/* Offsets in the buffer, which has room for `room` entries of slices. */
typedef struct layout {
    int64_t room;
    size_t ptr, values, slice, column, middle, columns, bytes;
} layout;

typedef struct parts { /* blocks of threads for each part of the kernel */
    unsigned lengths, slices, columns, middle;
} parts;

template <class P, class V> struct source {
    int64_t rows, cols, nnz;
    const P *ptr;
    const int32_t *idx;
    const V *values;
};

typedef struct target { /* addresses in the buffer */
    totals *all;
    gathered_slice *slice;
    int32_t *column, *middle, *columns;
    int64_t *ptr;
    double *values;
    int64_t room; /* length of values and columns; further entries are only counted */
} target;

/* ---- on the GPU ------------------------------------------------------------------------------ */

/* See spmv_split. */
static __device__ __forceinline__ int64_t split(int64_t n, int64_t parts, int64_t k) {
    const int64_t size = n / parts, rest = n % parts;
    return k * size + min(k, rest);
}

/* Adds entries and slots of slices whose row lengths are read, one warp per slice. */
template <class P, class V>
static __device__ void read_lengths(const source<P, V> &A, const sample_size &size, unsigned block,
                                    totals *all) {
    const int64_t k = ((int64_t)block * THREADS + threadIdx.x) / WARP;
    if (k >= size.lengths) return; /* the whole warp returns */
    const int64_t first = split(size.slices, size.lengths, k) * SAMPLE_ROWS;
    const int64_t i = first + threadIdx.x % WARP, rows = min((int64_t)SAMPLE_ROWS, A.rows - first);
    const int64_t len = i < A.rows ? (int64_t)A.ptr[i + 1] - A.ptr[i] : 0;
    /* fits int, because a row is at most as long as the number of columns */
    const int longest = warp_greatest((int)len);
    long long entries = len;
    for (int step = WARP / 2; step > 0; step /= 2)
        entries += __shfl_xor_sync(ALL_LANES, entries, step);
    if (threadIdx.x % WARP) return;
    atomicAdd(&all->entries, (unsigned long long)entries);
    atomicAdd(&all->slots, (unsigned long long)(longest * rows));
}

/* Returns the index of entry (i, j), whose row's columns ascend, or -1. */
template <class P, class V>
static __device__ int64_t find_entry(const source<P, V> &A, int64_t i, int64_t j) {
    int64_t low = A.ptr[i], end = A.ptr[i + 1], high = end;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A.idx[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && A.idx[low] == j ? low : -1;
}

static __device__ __forceinline__ unsigned long long bits(double value) {
    return (unsigned long long)__double_as_longlong(value);
}

/* See look_up in src/matrix/sample.c; n-th entry. */
template <class P, class V>
static __device__ void look_up(const source<P, V> &A, int64_t first, int rows, int n, totals *all) {
    const int64_t i = first + n * rows / SAMPLE_LOOKED_UP;
    const int len = (int)min((int64_t)A.ptr[i + 1] - A.ptr[i], (int64_t)SAMPLE_TAKEN);
    if (len == 0) return;
    const int64_t k = (int64_t)A.ptr[i] + n * (len - 1) / SAMPLE_LOOKED_UP, j = A.idx[k];
    if (j == i) return;
    const int64_t other = find_entry(A, j, i);
    atomicAdd(&all->pairs, 1ull);
    if (other >= 0 && bits((double)A.values[other]) == bits((double)A.values[k]))
        atomicAdd(&all->mirrored, 1ull);
}

/* Gathers the entries of a slice, with one block of threads; each warp copies a row at a time. */
template <class P, class V>
static __device__ void take_slice(const source<P, V> &A, const sample_size &size, unsigned n,
                                  const target &to) {
    __shared__ int len[SAMPLE_ROWS], before[SAMPLE_ROWS], place;
    const int64_t slice = (2 * (int64_t)n + 1) * size.slices / (2 * (int64_t)size.taken);
    const int64_t first = slice * SAMPLE_ROWS;
    const int rows = (int)min((int64_t)SAMPLE_ROWS, A.rows - first), r = (int)threadIdx.x;
    if (r < SAMPLE_ROWS) { /* the first warp */
        const int64_t all = r < rows ? (int64_t)A.ptr[first + r + 1] - A.ptr[first + r] : 0;
        int sum = len[r] = (int)min(all, (int64_t)SAMPLE_TAKEN);
        for (int step = 1; step < WARP; step *= 2) {
            int other = __shfl_up_sync(ALL_LANES, sum, step);
            if (r >= step) sum += other;
        }
        before[r] = sum - len[r];
        to.slice[n].len[r] = len[r];
        if (r == WARP - 1) {
            place = (int)atomicAdd(&to.all->taken, (unsigned)sum);
            to.slice[n].place = place;
        }
    }
    __syncthreads();
    for (int row = r / WARP; row < rows; row += THREADS / WARP)
        for (int k = r % WARP; k < len[row]; k += WARP) {
            const int64_t from = (int64_t)A.ptr[first + row] + k, at = place + before[row] + k;
            if (at < to.room) to.columns[at] = A.idx[from], to.values[at] = (double)A.values[from];
        }
    if (size.mirrored && A.rows == A.cols && r < SAMPLE_LOOKED_UP)
        look_up(A, first, rows, r, to.all);
}

/* Gathers rows from the middle of the matrix on, with offsets relative to the first of them. There
 * are threads for size.in_middle entries, which exceed SAMPLE_MIDDLE unless 0. */
template <class P, class V>
static __device__ void take_middle(const source<P, V> &A, unsigned block, const sample_size &size,
                                   const target &to) {
    const int64_t t = (int64_t)block * THREADS + threadIdx.x, first = A.rows / 2;
    const int64_t begin = A.ptr[first];
    if (t <= SAMPLE_MIDDLE && first + t <= A.rows) to.ptr[t] = (int64_t)A.ptr[first + t] - begin;
    if (t < size.in_middle && begin + t < A.nnz) to.middle[t] = A.idx[begin + t];
}

template <class P, class V>
static __global__ void __launch_bounds__(THREADS)
    gather(source<P, V> A, sample_size size, parts part, target to) {
    unsigned block = blockIdx.x;
    if (block < part.slices) {
        take_slice(A, size, block, to);
        return;
    }
    block -= part.slices;
    if (block < part.lengths) {
        read_lengths(A, size, block, to.all);
        return;
    }
    block -= part.lengths;
    const int64_t k = (int64_t)block * THREADS + threadIdx.x;
    if (block >= part.columns)
        take_middle(A, block - part.columns, size, to);
    else if (k < size.columns)
        to.column[k] = A.idx[split(A.nnz, size.columns, k)];
}

/* ---- on the host ----------------------------------------------------------------------------- */

/* Arrays of 8-byte elements come first. */
static layout layout_of(const sample_size *size, int64_t room) {
    layout at = {room};
    at.ptr = sizeof(totals);
    at.values = at.ptr + (SAMPLE_MIDDLE + 1) * sizeof(int64_t);
    at.slice = at.values + (size_t)room * sizeof(double);
    at.column = at.slice + (size_t)size->taken * sizeof(gathered_slice);
    at.middle = at.column + (size_t)size->columns * sizeof(int32_t);
    at.columns = at.middle + (size_t)size->in_middle * sizeof(int32_t);
    at.bytes = at.columns + (size_t)room * sizeof(int32_t);
    return at;
}

static target target_in(char *buffer, const layout *at) {
    return {(totals *)buffer,
            (gathered_slice *)(buffer + at->slice),
            (int32_t *)(buffer + at->column),
            (int32_t *)(buffer + at->middle),
            (int32_t *)(buffer + at->columns),
            (int64_t *)(buffer + at->ptr),
            (double *)(buffer + at->values),
            at->room};
}

template <class P, class V>
static spmv_status launch(spmv_device *d, const spmv_store *rows, const void *const *array,
                          const sample_size &size, const target &to) {
    const source<P, V> A = {
        rows->rows,         rows->cols, rows->nnz, (const P *)array[0], (const int32_t *)array[1],
        (const V *)array[2]};
    const parts part = {(unsigned)blocks_for((int64_t)size.lengths * WARP, THREADS),
                        (unsigned)size.taken, (unsigned)blocks_for(size.columns, THREADS),
                        (unsigned)blocks_for(size.in_middle, THREADS)};
    const unsigned blocks = part.lengths + part.slices + part.columns + part.middle;
    CU(d->ctx, cudaMemsetAsync(to.all, 0, sizeof *to.all, stream_of(d)));
    gather<P, V><<<blocks, THREADS, 0, stream_of(d)>>>(A, size, part, to);
    return launched(d);
}

static spmv_status launch_any(spmv_device *d, const spmv_store *rows, const sample_size &size,
                              const target &to) {
    const void *array[3];
    for (int k = 0; k < 3; k++)
        memcpy(&array[k], (const char *)rows + rows->array[k].offset, sizeof array[k]);
    const bool wide = rows->array[0].bytes > (size_t)(rows->rows + 1) * sizeof(int32_t);
    const bool is_f32 = rows->array[2].bytes == (size_t)rows->nnz * sizeof(float);
    if (wide)
        return is_f32 ? launch<int64_t, float>(d, rows, array, size, to)
                      : launch<int64_t, double>(d, rows, array, size, to);
    return is_f32 ? launch<int32_t, float>(d, rows, array, size, to)
                  : launch<int32_t, double>(d, rows, array, size, to);
}

/* Returns 1.5 times the expected number of sampled entries, if rows have the mean length. */
static int64_t room_for(const spmv_store *rows, const sample_size *size) {
    const int64_t mean = rows->nnz / rows->rows + 1;
    const int64_t taken = mean < SAMPLE_TAKEN ? mean : SAMPLE_TAKEN;
    const int64_t most = (int64_t)size->taken * SAMPLE_ROWS * SAMPLE_TAKEN;
    const int64_t room = size->taken * SAMPLE_ROWS * taken * 3 / 2;
    return room < most ? room : most;
}

/* Runs the kernel and copies the buffer to *here + behind, which the caller frees. */
static spmv_status gather_once(spmv_device *d, const spmv_store *rows, const sample_size &size,
                               size_t behind, const layout &at, char **here) {
    void *there = NULL;
    *here = (char *)malloc(behind + at.bytes);
    if (!*here) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory for a sample");
    TRY(d->backend->alloc(d, at.bytes, &there));
    spmv_status status = launch_any(d, rows, size, target_in((char *)there, &at));
    if (status == SPMV_OK) status = d->backend->get(d, *here + behind, there, at.bytes);
    d->backend->release(d, there);
    return status;
}

/* Describes the rows in the middle whose entries were gathered. */
static void describe_middle(const spmv_store *rows, const target &from, const sample_size &size,
                            spmv_csr_view *out) {
    const int64_t n = sample_middle(&size, from.ptr, rows->rows - rows->rows / 2);
    *out = {sizeof *out, n, rows->cols, 0, from.ptr, from.middle, NULL};
}

static void describe_slice(const spmv_store *rows, const target &from, int n, const sample_size &s,
                           sample_slice *out) {
    const gathered_slice *gathered = from.slice + n;
    const int64_t first = sample_slice_at(&s, n) * SAMPLE_ROWS;
    int64_t begin = gathered->place;
    memset(out, 0, sizeof *out);
    out->first = first, out->col_idx = from.columns, out->values = from.values;
    out->rows = (int)(rows->rows - first < SAMPLE_ROWS ? rows->rows - first : SAMPLE_ROWS);
    for (int r = 0; r < out->rows; r++) {
        const int len = gathered->len[r];
        out->begin[r] = begin, out->len[r] = len;
        begin += len, out->entries += len;
        if (len > out->longest) out->longest = len;
    }
}

spmv_status spmv_sample_gpu(spmv_device *d, const spmv_store *rows, spmv_sample *out) {
    const sample_size size = out->size;
    const size_t slices = (size_t)size.taken * sizeof *out->slice;
    layout at = layout_of(&size, room_for(rows, &size));
    char *here = NULL;
    spmv_status status = gather_once(d, rows, size, slices, at, &here);
    const int64_t taken = status == SPMV_OK ? ((const totals *)(here + slices))->taken : 0;
    if (taken > at.room) { /* rows are longer than expected */
        free(here);
        at = layout_of(&size, taken);
        status = gather_once(d, rows, size, slices, at, &here);
    }
    if (status != SPMV_OK) {
        free(here);
        return status;
    }
    const target from = target_in(here + slices, &at);
    *out = {};
    out->size = size;
    out->owned = here;
    out->slice = (sample_slice *)here;
    out->column = from.column;
    out->entries = (int64_t)from.all->entries, out->slots = (int64_t)from.all->slots;
    out->pairs = (int64_t)from.all->pairs, out->mirrored = (int64_t)from.all->mirrored;
    for (int n = 0; n < size.taken; n++) describe_slice(rows, from, n, size, &out->slice[n]);
    describe_middle(rows, from, size, &out->middle);
    return SPMV_OK;
}
