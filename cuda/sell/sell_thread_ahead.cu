/* sell_thread_ahead: one thread multiplies one row of a SELL matrix, loading 4 or 8 slots ahead.
 *
 * Source   sell_thread; Volkov, GTC 2010: hide latency by loads in flight. On an H200 a loop that
 *          waits for each slot reached 72 to 78 percent of the bandwidth at 5 to 7 nonzeros per
 *          row; this loop reached 85 to 93.
 * Reads    sell: slice_ptr[slices + 1], col_idx[slots], values[slots], row_len[rows] with rowlens,
 *          perm[rows] if sigma is not 1 and order[rows] if the store has one, as one list; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows], each entry once; if sigma is not 1, scattered inside a window.
 * Work     Thread i multiplies stored row i in steps of DEPTH slots: it loads DEPTH columns, then
 *          values, then entries of x, and sums in order; past the end of the row it loads the last
 *          slot again and does not add it. DEPTH is 4 if the mean row, padding included, has at
 *          most 4 slots, or at most 10 in a matrix of more than 500,000 slots; otherwise 8. If it
 *          has more than 4, the columns of the next step are loaded before the thread waits for x
 *          (H200: pwtk 48 to 44 us, mesh:300000 20 to 18), but not where a smaller matrix has at
 *          most 10 (poisson2d:200 would take 6.1 us instead of 5.4). If rows have at most 3 slots
 *          in the mean and there are 2 million or more, a thread multiplies two rows, one entry of
 *          each at a time. If all slices are equally wide, no thread loads where its row begins. A
 *          small matrix is prefetched at the start, and the first slots are read before the
 *          previous product has ended (ahead.cuh), except where blocks are few and long, because
 *          the blocks of the next product would occupy multiprocessors that this one needs
 *          (twin:cant, steady: 20 us instead of 16).
 * Cost     2 nnz flop; slots (sizeof real + 4) + (slices + 1) sizeof ofs + (cols + rows) sizeof
 *          real bytes; with rowlens nnz for slots, and 4 rows; 4 rows more if sigma is not 1.
 * Weak     40 to 64 registers per thread; empty rows beside long rows; one thread multiplies even a
 *          very long row.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256); rowlens (1); order: of the rows in the
 *          store, inside which sigma sorts.
 */
#include "cuda/ahead.cuh"
#include "sell.cuh"
#include "spmv_order.h"
#include <stdlib.h>

enum { MANY_ROWS = 1 << 21, ROWS_PER_THREAD = 2, MANY_BLOCKS = 512 };

/* Loads DEPTH columns from `col` on, `height` apart. If fewer exist (`there`), it repeats the
 * last. */
template <int DEPTH>
static __device__ __forceinline__ void load_columns(const idx *col, int there, unsigned height,
                                                    cache_policy policy, idx *j) {
#pragma unroll
    for (int u = 0; u < DEPTH; u++)
        j[u] = load_once(col + (unsigned)min(u, there - 1) * height, policy);
}

/* EQUAL: all slices have `steps` slots per row, so that no load is needed to find the row. EARLY:
 * columns are loaded one step ahead. The launch bounds let the compiler use 64 registers: otherwise
 * it uses 32 and waits for each load. */
template <int DEPTH, bool EQUAL, bool EARLY>
static __global__ void __launch_bounds__(1024, 1)
    multiply(const __grid_constant__ ahead all, unsigned rows, unsigned slice, unsigned steps,
             const ofs *__restrict__ slice_ptr, const idx *__restrict__ row_len,
             const idx *__restrict__ perm, const idx *__restrict__ col_idx,
             const real *__restrict__ values, const real *x, result out) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x; /* does not overflow: rows + block < 2^32 */
    if (all.blocks || gridDim.x >= MANY_BLOCKS) let_next_start();
    prefetch_ahead(all, threadIdx.x);
    const cache_policy policy = all.policy;
    if (i >= rows) return;
    sell_row row;
    if (EQUAL)
        row = sell_equal_row(i, rows, slice, steps, row_len);
    else
        row = sell_row_of(i, rows, slice, slice_ptr, row_len);
    const idx *col = col_idx + row.first;
    const real *value = values + row.first;
    int left = (int)row.count, stored = EQUAL ? (int)steps : left;
    bool begun = false;
    real sum = 0;
    idx next[DEPTH];
    if (EARLY && stored > 0)
        load_columns<DEPTH>(col, EQUAL ? stored : left, row.height, policy, next);
#pragma unroll 1
    for (; stored > 0; stored -= DEPTH, left -= DEPTH) {
        idx j[DEPTH];
        real a[DEPTH], xj[DEPTH];
        const int there = EQUAL ? stored : left;
        if (!EARLY) load_columns<DEPTH>(col, there, row.height, policy, j);
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            if (EARLY) j[u] = next[u];
            a[u] = load_once(value + (unsigned)min(u, there - 1) * row.height, policy);
        }
        col += (int64_t)DEPTH * row.height;
        value += (int64_t)DEPTH * row.height;
        if (EARLY && stored > DEPTH)
            load_columns<DEPTH>(col, there - DEPTH, row.height, policy, next);
        if (!begun) begin_product();
        begun = true;
#pragma unroll
        for (int u = 0; u < DEPTH; u++) xj[u] = EQUAL && u >= left ? 0 : x[j[u]];
#pragma unroll
        for (int u = 0; u < DEPTH; u++)
            if (u < left) sum += a[u] * xj[u];
    }
    if (!begun) begin_product();
    put_row(out, perm ? perm[i] : i, sum);
}

/* For many rows of a few entries: a thread multiplies ROWS_PER_THREAD rows, blockDim.x apart, one
 * entry of each row at a time. */
template <bool EQUAL>
static __global__ void __launch_bounds__(1024, 1)
    multiply_short(const __grid_constant__ ahead all, unsigned rows, unsigned slice, unsigned steps,
                   const ofs *__restrict__ slice_ptr, const idx *__restrict__ row_len,
                   const idx *__restrict__ perm, const idx *__restrict__ col_idx,
                   const real *__restrict__ values, const real *x, result out) {
    unsigned i0 = blockIdx.x * blockDim.x * ROWS_PER_THREAD + threadIdx.x, most = 0;
    sell_row row[ROWS_PER_THREAD];
    real sum[ROWS_PER_THREAD];
    const cache_policy policy = all.policy;
    let_next_start();
#pragma unroll
    for (int r = 0; r < ROWS_PER_THREAD; r++) {
        unsigned i = i0 + (unsigned)r * blockDim.x;
        row[r] = {0, 0, 0}, sum[r] = 0;
        if (i >= rows) continue;
        if (EQUAL)
            row[r] = sell_equal_row(i, rows, slice, steps, row_len);
        else
            row[r] = sell_row_of(i, rows, slice, slice_ptr, row_len);
    }
#pragma unroll
    for (int r = 0; r < ROWS_PER_THREAD; r++) most = max(most, row[r].count);
    begin_product();
#pragma unroll 1
    for (unsigned k = 0; k < most; k++) {
        idx j[ROWS_PER_THREAD];
        real a[ROWS_PER_THREAD];
#pragma unroll
        for (int r = 0; r < ROWS_PER_THREAD; r++) {
            int64_t at = row[r].first + (int64_t)k * row[r].height;
            j[r] = 0, a[r] = 0;
            if (k < row[r].count)
                j[r] = load_once(col_idx + at, policy), a[r] = load_once(values + at, policy);
        }
#pragma unroll
        for (int r = 0; r < ROWS_PER_THREAD; r++)
            if (k < row[r].count) sum[r] += a[r] * x[j[r]];
    }
#pragma unroll
    for (int r = 0; r < ROWS_PER_THREAD; r++) {
        unsigned i = i0 + (unsigned)r * blockDim.x;
        if (i < rows) put_row(out, perm ? perm[i] : i, sum[r]);
    }
}

typedef struct variant {
    const void *of_any, *of_equal; /* kernels for any slices, and for equally wide ones */
} variant;

#define VARIANT(depth, early) \
    { (const void *)multiply<depth, false, early>, (const void *)multiply<depth, true, early> }

static bool are_short(const sell *A) {
    return A->s.slots <= 3 * A->s.rows && A->s.rows >= MANY_ROWS;
}

static variant variant_for(const sell *A) {
    enum { FEW = 4, SOME = 10, MANY_SLOTS = 1 << 19 }; /* slots per row; slots of the matrix */
    const variant of_short = {(const void *)multiply_short<false>,
                              (const void *)multiply_short<true>};
    const variant four = VARIANT(4, false), eight = VARIANT(8, false);
    const variant four_early = VARIANT(4, true), eight_early = VARIANT(8, true);
    if (are_short(A)) return of_short;
    if (A->s.slots <= FEW * A->s.rows) return four;
    if (A->s.slots > SOME * A->s.rows) return eight_early;
    return A->s.slots > MANY_SLOTS ? four_early : eight;
}

/* No slice is wider than the longest row: slots == rows * longest only if all are equally wide. */
static const void *kernel_for(const sell *A, int64_t longest) {
    variant kernels = variant_for(A);
    return A->s.slots == A->s.rows * longest ? kernels.of_equal : kernels.of_any;
}

typedef struct prepared { /* a plan's scratch memory */
    const void *kernel;
    unsigned steps; /* slots per row of every slice, if equal */
    idx *places;    /* [rows] order[perm[i]], owned, if the store has both; else NULL */
} prepared;

static bool has_both(const spmv_choice *c) {
    return c->value[SPMV_order] != SPMV_ROWS_KEEP && c->value[SPMV_sigma] != 1;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return sizeof(prepared) + (has_both(c) ? (size_t)A->rows * sizeof(idx) : 0);
}

static __global__ void join_orders(idx rows, const idx *order, const idx *perm, idx *places) {
    const idx i = (idx)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < rows) places[i] = order[perm[i]];
}

/* Lists where y has the stored rows, if the store sorts rows of another order. */
static spmv_status list_places(spmv_plan *p, idx **places) {
    enum { THREADS = 256 };
    const sell *A = (const sell *)p->store;
    const idx rows = (idx)A->s.rows;
    if (!A->s.order || !A->perm || rows == 0) return SPMV_OK;
    TRY(take_scratch(p, (size_t)rows * sizeof **places, (void **)places));
    join_orders<<<(unsigned)blocks_for(rows, THREADS), THREADS, 0, stream_of(p)>>>(
        rows, A->s.order, A->perm, *places);
    return launched(p);
}

static spmv_status prepare(spmv_plan *p) {
    prepared *t = (prepared *)calloc(1, sizeof *t);
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    TRY(sell_prepare(p));
    t->kernel = kernel_for((const sell *)p->host, spmv_longest(p->matrix));
    t->steps = (unsigned)spmv_longest(p->matrix);
    p->scratch_bytes = sizeof *t;
    TRY(list_places(p, &t->places));
    return load_kernel(p, t->kernel);
}

static void release(spmv_plan *p) {
    p->device->backend->release(p->device, ((prepared *)p->scratch)->places);
    free(p->scratch);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    sell A = *(const sell *)p->store;
    prepared t = *(const prepared *)p->scratch;
    unsigned block = (unsigned)p->choice.value[SPMV_block];
    unsigned grid = (unsigned)blocks_for(A.s.rows, are_short(&A) ? ROWS_PER_THREAD * block : block);
    unsigned rows = (unsigned)A.s.rows, slice = (unsigned)A.slice;
    const idx *row_len = p->choice.value[SPMV_rowlens] ? A.row_len : NULL;
    const idx *perm = t.places ? t.places : A.s.order ? A.s.order : A.perm;
    result out = result_of(v);
    if (rows == 0) return SPMV_OK;
    ahead all = ahead_of(p, A.slice_ptr, (size_t)(A.nslices + 1) * sizeof *A.slice_ptr, A.col_idx,
                         A.values, A.s.slots, (const real *)v->x, A.s.cols, grid);
    void *arguments[] = {&all,  &rows,      &slice,    &t.steps,      &A.slice_ptr, &row_len,
                         &perm, &A.col_idx, &A.values, (void *)&v->x, &out};
    return launch_overlapping(p, stream_of(v), t.kernel, grid, dim3(block), 0, arguments);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, PARAM_ROWLENS, SPMV_PARAM_ORDER,
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(sell_thread_ahead) = {
    .name = "sell_thread_ahead",
    .format = "sell",
    .summary = "one thread per row of a slice, 4 or 8 slots loaded ahead",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PADS,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
