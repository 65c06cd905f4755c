/* kernel.h: shared by the OpenMP kernels: dot product of a segment of a row, store of its sum, loop
 * schedule. */
#pragma once

#include "spmv_kernel.h"
#include <omp.h>
#include <stdlib.h>

/* Returns the sum of values[k] x[col_idx[k]] for begin <= k < end; simd allows reordering. */
static inline real dot(const real *values, const idx *col_idx, const real *x, int64_t begin,
                       int64_t end, bool simd) {
    real sum = 0;
    if (simd) {
#pragma omp simd reduction(+ : sum)
        for (int64_t k = begin; k < end; k++) sum += values[k] * x[col_idx[k]];
    } else {
        for (int64_t k = begin; k < end; k++) sum += values[k] * x[col_idx[k]];
    }
    return sum;
}

/* *y <- alpha sum + beta *y; beta = 0 never reads *y, which may hold anything. */
static inline void put_row(real *y, real alpha, real sum, real beta) {
    *y = beta == 0 ? alpha * sum : alpha * sum + beta * *y;
}

/* *y <- beta *y, before kernels add to y in several steps; beta = 0 never reads *y. */
static inline void scale_row(real *y, real beta) {
    *y = beta == 0 ? 0 : beta * *y;
}

/* Returns whether OpenMP may give a team fewer threads than the plan has. Libraries that divide
 * work by that number would then leave some of it undone. */
static inline bool may_lack_threads(const spmv_plan *p) {
    return omp_get_dynamic() || p->device->threads > omp_get_thread_limit();
}

typedef struct schedule {
    omp_sched_t kind;
    int chunk;
} schedule;

/* Sets schedule(runtime), for a loop of that many iterations, to the plan's choice, or
 * OMP_SCHEDULE, or `otherwise`. Returns the previous schedule, the caller's, for restore_schedule.
 * The default dynamic chunk is the paper's fair chunk with folding 4: four chunks per thread. */
static inline schedule set_schedule_or(const spmv_plan *p, int64_t iterations, schedule otherwise) {
    schedule before;
    int64_t chunk = p->choice.value[SPMV_chunk], fair = iterations / (4 * p->device->threads);
    omp_sched_t kind = (omp_sched_t)p->choice.value[SPMV_schedule];
    omp_get_schedule(&before.kind, &before.chunk);
    if (kind == 0) {
        const char *users = getenv("OMP_SCHEDULE");
        const bool from_user = users && *users;
        if (from_user && chunk == 0) return before; /* the user's setting applies */
        kind = from_user ? before.kind : otherwise.kind;
        if (chunk == 0) chunk = otherwise.chunk;
    }
    if (chunk == 0 && kind == omp_sched_dynamic) chunk = fair > 0 ? fair : 1;
    omp_set_schedule(kind, chunk > INT32_MAX ? INT32_MAX : (int)chunk);
    return before;
}

static inline schedule set_schedule(const spmv_plan *p, int64_t iterations) {
    return set_schedule_or(p, iterations, (schedule){omp_sched_static, 0});
}

/* For loops of few iterations that differ much in time: each goes to the next free thread. */
static inline schedule set_dynamic_schedule(const spmv_plan *p, int64_t iterations) {
    return set_schedule_or(p, iterations, (schedule){omp_sched_dynamic, 1});
}

static inline void restore_schedule(schedule before) {
    omp_set_schedule(before.kind, before.chunk);
}

/* Final reduction of a tiled product: y_i <- alpha (sum of row i's ncols partial sums, left to
 * right) + beta y_i. partial: [rows x ncols], row-major. */
static inline void reduce_partials(const spmv_plan *p, const real *partial, int64_t ncols,
                                   real alpha, real beta, real *y) {
    int64_t rows = p->host->rows;
#pragma omp parallel for schedule(static) num_threads(p->device->threads)
    for (int64_t i = 0; i < rows; i++) {
        real sum = 0;
        for (int64_t j = 0; j < ncols; j++) sum += partial[i * ncols + j];
        put_row(y + i, alpha, sum, beta);
    }
}

enum { MOST_BLOCKS = 1 << 20 };
#define PARAMS_SCHEDULE \
    {SPMV_schedule, 0, 0, 3, 1, false}, { \
        SPMV_chunk, 0, 0, INT32_MAX, 1, false \
    }
#define PARAM_SIMD \
    { SPMV_simd, 0, 0, 1, 1, false }
#define PARAM_ROWLENS \
    { SPMV_rowlens, 1, 0, 1, 1, false }
#define PARAM_GRID_ROWS \
    { SPMV_grid_rows, 0, 0, MOST_BLOCKS, 1, false }
#define PARAM_GRID_COLS \
    { SPMV_grid_cols, 4, 1, 4096, 1, false }
