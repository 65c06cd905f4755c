/* mirror.h: shared by kernels that multiply every nonzero of half a matrix twice, as itself and as
 * its mirror (transposed entry): ranges of rows, with windows for mirrors in rows before them. */
#pragma once

#include "omp/kernel.h"

enum { MOST_RANGES = 1024 };

typedef struct range { /* rows first, ..., last - 1; low: least column */
    int64_t first, last, low;
    int64_t begin, end; /* slices, if the kernel multiplies slices */
    real *window;       /* [first - low] sums for rows low, ..., first - 1, of slot 0 */
} range;

typedef struct ranges {
    int64_t count, cells; /* cells: elements of all windows of a slot */
    range range[MOST_RANGES];
    real windows[];
} ranges;

typedef struct product product;

/* Multiplies the rows of a range, and writes its window. */
typedef void multiply_range(const product *m, const range *s);

/* Divides a store into `count` ranges. */
typedef void cut_ranges(const spmv_store *store, int64_t count, range *out);

static inline int64_t most_window_cells(int64_t rows, int64_t nnz) {
    return rows + nnz / 4;
}

static inline size_t estimate_ranges(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return sizeof(ranges) + (size_t)most_window_cells(A->rows, A->nnz) * sizeof(real);
}

static inline int64_t count_cells(const ranges *t, int64_t count) {
    int64_t cells = 0;
    for (int64_t s = 0; s < count; s++) cells += t->range[s].first - t->range[s].low;
    return cells;
}

/* Returns the number of ranges per thread; threads take them dynamically, as in taken.h. */
static inline int64_t count_ranges_per_thread(const spmv_plan *p, int64_t threads) {
    enum { MOST_PER_THREAD = 8, RANGE_BYTES = 1 << 16 };
    int64_t each =
        MOST_RANGES / threads < MOST_PER_THREAD ? MOST_RANGES / threads : MOST_PER_THREAD;
    bool small = (int64_t)spmv_store_bytes(p->store) < each * threads * RANGE_BYTES;
    return threads == 1 || small ? 1 : each;
}

/* Returns the number of window elements whose traffic is small compared with that of the store. */
static inline int64_t few_cells(const spmv_plan *p) {
    enum { LITTLE = 64 };
    return (int64_t)(spmv_store_bytes(p->store) / LITTLE / (2 * sizeof(real)));
}

/* Plans several ranges per thread if their windows are small; otherwise one per thread, or fewer if
 * even those windows exceed the limit. */
static inline spmv_status prepare_ranges(spmv_plan *p, cut_ranges *cut) {
    int64_t most = most_window_cells(p->store->rows, p->store->nnz);
    int64_t threads = p->device->threads < MOST_RANGES ? p->device->threads : MOST_RANGES;
    int64_t count = threads * count_ranges_per_thread(p, threads);
    ranges planned = {.count = 0};
    cut(p->store, count, planned.range);
    if (count > threads && count_cells(&planned, count) > few_cells(p))
        cut(p->store, count = threads, planned.range);
    for (; count_cells(&planned, count) > most; cut(p->store, count, planned.range))
        count = (count + 1) / 2; /* one range has no window */
    planned.count = count;
    planned.cells = count_cells(&planned, count);
    p->slots = planned.cells > 0 ? p->most_slots : 0;
    p->scratch_bytes = sizeof planned + (size_t)(p->slots * planned.cells) * sizeof(real);
    ranges *t = spmv_host_take(p->device->ctx, p->scratch_bytes);
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    memcpy(t, &planned, sizeof planned);
    real *window = t->windows;
    for (int64_t s = 0; s < count; s++) {
        t->range[s].window = window;
        window += t->range[s].first - t->range[s].low;
    }
    return SPMV_OK;
}

static inline void release_ranges(spmv_plan *p) {
    spmv_host_give(p->device->ctx, p->scratch);
}

/* Adds the windows of later ranges to the rows of this one, in order. apart: offset of the slot's
 * windows from those of slot 0. */
static inline void add_windows(const ranges *t, int64_t own, int64_t apart, real *y) {
    const range *s = &t->range[own];
    for (int64_t n = own + 1; n < t->count; n++) {
        const range *w = &t->range[n];
        int64_t begin = w->low > s->first ? w->low : s->first;
        int64_t end = w->first < s->last ? w->first : s->last;
        for (int64_t i = begin; i < end; i++) y[i] += w->window[apart + i - w->low];
    }
}

static inline spmv_status multiply_ranges(const ranges *t, const product *m, int64_t threads,
                                          multiply_range *multiply, int slot, real *y) {
    int64_t team = t->count < threads ? t->count : threads;
    const int64_t apart = slot * t->cells;
#pragma omp parallel num_threads((int)team)
    {
#pragma omp for schedule(dynamic, 1)
        for (int64_t s = 0; s < t->count; s++) {
            range own = t->range[s];
            own.window += apart;
            multiply(m, &own);
        }
#pragma omp for schedule(static, 1)
        for (int64_t s = 0; s < t->count; s++) add_windows(t, s, apart, y);
    }
    return SPMV_OK;
}
