/* in_place: multiplies a caller's volatile arrays (SPMV_VOLATILE) in GPU memory, which may change
 * between products; derives nothing from them.
 *
 * Source   our own; gathering as in csr_lanes, scattering by atomic additions.
 * Reads    arrays: ptr[lines + 1] or line[nnz], idx[nnz], values[nnz], as given; x[cols]; y[rows]
 *          only if beta != 0. A line is a compressed row or column.
 * Writes   y[rows]. If lines are rows of the product, they are gathered: each element of y once.
 *          Otherwise, and for coordinates, entries are scattered: one launch stores beta y, the
 *          next one adds to it.
 * Work     a group of lanes has a line; each lane multiplies four nonzeros at a time, scattered
 *          one. The size of the group, up to a warp, depends on the mean line. For several vectors
 *          in rows, lanes also extend along the vectors; vectors in columns are multiplied one by
 *          one. A line of more than 128 nonzeros is multiplied by the whole warp, one of more than
 *          4096 by the block. Consecutive coordinates of one row are added by shuffles first.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (lines + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once; scattered, an atomic addition for each entry and vector.
 * Weak     a line of a million nonzeros is multiplied by one block; atomic additions to few rows
 *          are serialized.
 * Repeats  bitwise: gathered, yes; scattered, no.
 * Params   none.
 */
#include "cuda/vectors.cuh"

enum {
    THREADS = 256,
    MOST_BLOCKS = 65535, /* CUDA's limit of a grid in y */
    DEPTH = 4,           /* nonzeros that a lane loads at a time */
    LONG = 4 * WARP,     /* lines with more nonzeros are multiplied by a warp */
    HUGE_LINE = 4096     /* lines with more nonzeros are multiplied by the block */
};

typedef struct product {
    const ofs *ptr;
    const idx *at, *line;
    const real *values;
    int64_t lines, nnz; /* nnz: length of the arrays */
    vectors v;          /* v.count: number of vectors */
    int side;           /* 2^side adjacent lanes have different vectors */
    int lanes;          /* 2^lanes lanes have a line, or an entry */
    int64_t rows;       /* rows of the product */
} product;

/* Clamps offsets to the arrays, because the caller may have written wrong ones. */
static __device__ __forceinline__ int64_t begin_of(const product &p, int64_t i) {
    return max((int64_t)p.ptr[i], (int64_t)0);
}

static __device__ __forceinline__ int64_t end_of(const product &p, int64_t i) {
    return min((int64_t)p.ptr[i + 1], p.nnz);
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* Sums the entries first, first + step, ... times column c of x. */
static __device__ __forceinline__ real sum_entries(const product &p, int64_t first, int64_t end,
                                                   int step, int c) {
    const real *x = p.v.x + c * p.v.at_x.vector;
    real sum = 0;
    for (int64_t k = first; k < end; k += DEPTH * step) {
        idx j[DEPTH];
        real a[DEPTH];
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            const bool is_there = k + u * step < end;
            j[u] = is_there ? p.at[k + u * step] : 0;
            a[u] = is_there ? p.values[k + u * step] : 0;
        }
#pragma unroll
        for (int u = 0; u < DEPTH; u++)
            if (k + u * step < end) sum += a[u] * x[j[u] * p.v.at_x.row];
    }
    return sum;
}

/* Sums over lanes that are multiples of `from` apart, in groups of `to` lanes. Every lane must
 * call. */
static __device__ __forceinline__ real add_lanes(real sum, int from, int to) {
    for (int step = from; step < to; step *= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return sum;
}

/* Lines of the block that are too long for a warp. */
typedef struct waiting {
    int n;
    int64_t line[THREADS];
} waiting;

static __device__ __forceinline__ void gather_by_block(const product &p, int64_t i, int c) {
    __shared__ real part[THREADS / WARP][WARP];
    const int side = 1 << p.side, lane = threadIdx.x % WARP;
    real sum = 0;
    if (c < p.v.count)
        sum = sum_entries(p, begin_of(p, i) + threadIdx.x / side, end_of(p, i), THREADS / side, c);
    sum = add_lanes(sum, side, WARP);
    __syncthreads();
    part[threadIdx.x / WARP][lane] = sum;
    __syncthreads();
    if (threadIdx.x < side && c < p.v.count) {
        sum = 0;
        for (int w = 0; w < THREADS / WARP; w++) sum += part[w][threadIdx.x];
        put_number(p.v, i, c, sum);
    }
}

/* Block y of the grid multiplies vectors y 2^side, ..., (y + 1) 2^side - 1. */
static __global__ void __launch_bounds__(THREADS) gather(const product p) {
    __shared__ waiting huge;
    const int side = 1 << p.side, lanes = 1 << p.lanes, lane = threadIdx.x % WARP;
    const int mine = lane % lanes, c = blockIdx.y * side + lane % side;
    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
    const bool is_line = i < p.lines, is_vector = c < p.v.count;
    const int64_t begin = is_line ? begin_of(p, i) : 0, end = is_line ? end_of(p, i) : 0;
    const bool is_huge = end - begin > HUGE_LINE, is_long = lanes < WARP && end - begin > LONG;
    if (threadIdx.x == 0) huge.n = 0;
    __syncthreads();
    if (is_huge && mine == 0) huge.line[atomicAdd(&huge.n, 1)] = i;
    real sum = 0;
    if (!is_huge && !is_long && is_vector)
        sum = sum_entries(p, begin + mine / side, end, lanes / side, c);
    sum = add_lanes(sum, side, lanes);
    unsigned todo = __ballot_sync(ALL_LANES, is_long && !is_huge && mine == 0);
    for (; todo; todo &= todo - 1) {
        const int owner = __ffs((int)todo) - 1;
        const int64_t first = __shfl_sync(ALL_LANES, begin, owner);
        const int64_t last = __shfl_sync(ALL_LANES, end, owner);
        real whole = is_vector ? sum_entries(p, first + lane / side, last, WARP / side, c) : 0;
        whole = add_lanes(whole, side, WARP);
        if (lane / lanes == owner / lanes) sum = whole;
    }
    if (is_line && is_vector && !is_huge && mine < side) put_number(p.v, i, c, sum);
    __syncthreads();
    for (int n = 0; n < huge.n; n++) gather_by_block(p, huge.line[n], c);
}

/* ---- scattering ------------------------------------------------------------------------------ */

static __device__ __forceinline__ real alpha_of(const result &out) {
    return out.alpha_at ? out.alpha * *out.alpha_at : out.alpha;
}

/* z <- alpha 0 + beta y: the result of empty lines, and the initial value of others. */
static __global__ void __launch_bounds__(THREADS) begin_sums(const product p) {
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= p.rows * p.v.count) return;
    const bool in_rows = p.v.at_z.vector == 1;
    const int64_t row = in_rows ? n / p.v.count : n % p.rows;
    const int64_t c = in_rows ? n % p.v.count : n / p.rows;
    put_number(p.v, row, (int)c, 0);
}

static __device__ __forceinline__ void add_number(const product &p, int64_t row, int c, real sum) {
    atomicAdd(p.v.out.z + row * p.v.at_z.row + c * p.v.at_z.vector, sum);
}

/* A group of lanes multiplies a line by one row of x. */
static __global__ void __launch_bounds__(THREADS) scatter_lines(const product p) {
    const int side = 1 << p.side, lanes = 1 << p.lanes;
    const int mine = threadIdx.x % lanes, c = blockIdx.y * side + mine % side;
    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
    if (i >= p.lines || c >= p.v.count) return;
    const int64_t end = end_of(p, i);
    const real x = alpha_of(p.v.out) * p.v.x[i * p.v.at_x.row + c * p.v.at_x.vector];
    for (int64_t k = begin_of(p, i) + mine / side; k < end; k += lanes / side)
        add_number(p, p.at[k], c, p.values[k] * x);
}

/* A thread has an entry and a vector. turned: exchanges rows and columns. A run of lanes with the
 * same row is summed, and its last lane adds the sum to the row. */
static __global__ void __launch_bounds__(THREADS) scatter_entries(const product p, bool turned) {
    const int side = 1 << p.side, lane = threadIdx.x % WARP;
    const int c = blockIdx.y * side + lane % side;
    const int64_t k = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / side;
    const bool is_there = k < p.nnz && c < p.v.count;
    const idx row = !is_there ? -1 : turned ? p.at[k] : p.line[k];
    real sum = 0;
    if (is_there) {
        const int64_t j = turned ? p.line[k] : p.at[k];
        sum = p.values[k] * p.v.x[j * p.v.at_x.row + c * p.v.at_x.vector];
    }
    const int before_row = __shfl_up_sync(ALL_LANES, row, side);
    bool begins = lane < side || before_row != row; /* at the start of a run */
    for (int step = side; step < WARP; step *= 2) {
        const real other = __shfl_up_sync(ALL_LANES, sum, step);
        const bool has_begun = __shfl_up_sync(ALL_LANES, (int)begins, step);
        if (lane >= step && !begins) sum += other, begins = has_begun;
    }
    const int next_row = __shfl_down_sync(ALL_LANES, row, side);
    const bool ends = lane >= WARP - side || next_row != row;
    if (is_there && ends) add_number(p, row, c, alpha_of(p.v.out) * sum);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static const spmv_arrays *arrays_of(const spmv_plan *p) {
    return &((const spmv_volatile *)p->store)->arrays;
}

static spmv_status run(const spmv_plan *plan, const spmv_operands *o) {
    const spmv_arrays *a = arrays_of(plan);
    const int64_t lines = spmv_volatile_lines(a),
                  mean = a->line ? 1 : blocks_for(a->nnz, lines + 1);
    product p = {(const ofs *)a->ptr, a->idx, a->line, (const real *)a->values, lines, a->nnz,
                 vectors_of(o)};
    if (plan->rows == 0) return SPMV_OK;
    p.rows = plan->rows;
    p.v.count = (int)o->k;
    const bool gathers = !a->line && !plan->transposes;
    p.side = o->layout == SPMV_ROWS || o->k > MOST_BLOCKS
                 ? min(exponent_of(o->k), exponent_of(WARP))
                 : 0;
    p.lanes =
        min(p.side + exponent_of(gathers ? blocks_for(mean, DEPTH) : mean), exponent_of(WARP));
    const unsigned columns = (unsigned)blocks_for(o->k, (int64_t)1 << p.side);
    const int64_t items = a->line ? a->nnz << p.side : lines << p.lanes;
    const dim3 grid((unsigned)blocks_for(items, THREADS), columns);
    if (gathers)
        gather<<<grid, THREADS, 0, stream_of(o)>>>(p);
    else {
        const unsigned numbers = (unsigned)blocks_for(p.rows * o->k, THREADS);
        begin_sums<<<numbers, THREADS, 0, stream_of(o)>>>(p);
        if (items == 0) return launched(plan);
        if (a->line)
            scatter_entries<<<grid, THREADS, 0, stream_of(o)>>>(p, plan->transposes);
        else
            scatter_lines<<<grid, THREADS, 0, stream_of(o)>>>(p);
    }
    return launched(plan);
}

/* Counts indices outside the matrix. */
static __global__ void count_outside(const product p, int64_t places, int *outside) {
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t used = p.ptr ? min((int64_t)p.ptr[p.lines], p.nnz) : p.nnz;
    bool is_outside = false;
    if (k < used) {
        const int64_t line = p.line ? p.line[k] : 0;
        is_outside = p.at[k] < 0 || p.at[k] >= places || line < 0 || (p.line && line >= p.rows);
    }
    if (is_outside) atomicAdd(outside, 1);
}

static spmv_status prepare(spmv_plan *plan) {
    const spmv_arrays *a = arrays_of(plan);
    spmv_device *d = plan->device;
    const product p = {(const ofs *)a->ptr,
                       a->idx,
                       a->line,
                       NULL,
                       spmv_volatile_lines(a),
                       a->nnz,
                       {},
                       0,
                       0,
                       a->by_columns ? a->cols : a->rows};
    int outside = 0;
    void *count = NULL;
    TRY(d->backend->order(d, NULL, false)); /* waits for the work that fills the arrays */
    TRY(d->backend->alloc(d, sizeof outside, &count));
    spmv_status status = d->backend->fill(d, count, 0, sizeof outside);
    if (status == SPMV_OK && a->nnz > 0) {
        count_outside<<<(unsigned)blocks_for(a->nnz, THREADS), THREADS, 0, stream_of(d)>>>(
            p, a->by_columns ? a->rows : a->cols, (int *)count);
        status = launched(d);
    }
    if (status == SPMV_OK) status = d->backend->sync(d);
    if (status == SPMV_OK) status = d->backend->get(d, &outside, count, sizeof outside);
    d->backend->release(d, count);
    if (status != SPMV_OK || outside == 0) return status;
    return spmv_fail(d->ctx, SPMV_E_ARG, "%d entr%s outside the %lld x %lld matrix", outside,
                     outside == 1 ? "y lies" : "ies lie", (long long)a->rows, (long long)a->cols);
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(in_place) = {
    .name = "in_place",
    .format = "csr",
    .summary = "arrays that may change, read as they are",
    .params = params,
    .prepare = prepare,
    .run = run,
    .run_columns = run,
    .run_rows = run,
};
